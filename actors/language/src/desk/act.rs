//! What can be asked of the desk, and the facts that come of it.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::feature::{Feature, FeatureMark, Marked};
use super::request::{AccessRequest, Application, Review, Reviewed};
use super::{Board, Token};
use crate::author::{Author, Rights, Speaker};
use crate::id::{FeatureId, RequestId, TokenId};
use crate::time::Time;

/// One fact of the desk's history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeskEvent {
    /// A board was made.
    BoardMade(Board),
    /// A token was issued.
    TokenIssued(Token),
    /// Somebody applied; the token that came with it can read.
    AccessRequested {
        /// The request.
        request: AccessRequest,
        /// The token.
        token: Token,
    },
    /// An access request was reviewed; when it was approved, its token has the rights.
    RequestReviewed(Reviewed),
    /// The applicant took an access request back.
    RequestWithdrawn {
        /// The request.
        id: RequestId,
        /// When.
        at: Time,
    },
    /// The human changed what a token may do.
    RightsChanged {
        /// The token.
        id: TokenId,
        /// What it may do now.
        rights: Rights,
    },
    /// The human revoked a token; a request of it that was not decided is rejected with it.
    TokenRevoked {
        /// The token.
        id: TokenId,
        /// When.
        at: Time,
    },
    /// Somebody asked for a feature.
    FeatureAsked(Feature),
    /// A feature request was marked.
    FeatureMarked(Marked),
}

/// What can be asked of the desk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeskAct {
    /// Make a board.
    MakeBoard {
        /// Its slug; made from the title if absent.
        slug: Option<String>,
        /// Its title.
        title: String,
        /// What it is for.
        description: String,
    },
    /// Issue a token.
    IssueToken {
        /// The realm its identity is in.
        realm: String,
        /// What it is called; its identity is made from it.
        label: String,
        /// What it may do.
        rights: Rights,
        /// SHA-256 of the secret.
        secret_hash: [u8; 32],
    },
    /// Apply for rights, with a token that can read.
    Apply {
        /// The realm its identity is in.
        realm: String,
        /// What the applicant says of itself.
        application: Application,
        /// SHA-256 of the secret.
        secret_hash: [u8; 32],
        /// How many requests may wait for a decision.
        pending_max: usize,
    },
    /// Review an access request.
    Review {
        /// The request.
        id: RequestId,
        /// Who reviews: a `grant` holder or the human, which the door has seen to.
        by: Speaker,
        /// What is said.
        review: Review,
    },
    /// Take an access request back.
    Withdraw {
        /// The request.
        id: RequestId,
        /// Who.
        by: Speaker,
    },
    /// Change what a token may do.
    SetRights {
        /// The token.
        id: TokenId,
        /// What it may do from now on.
        rights: Rights,
    },
    /// Revoke a token.
    Revoke {
        /// The token.
        id: TokenId,
    },
    /// Ask for a feature.
    AskFeature {
        /// Who.
        by: Author,
        /// What for, in a line.
        title: String,
        /// What for.
        body: String,
    },
    /// Mark a feature request.
    MarkFeature {
        /// The request.
        id: FeatureId,
        /// Who: a `grant` holder or the human, which the door has seen to.
        by: Speaker,
        /// As what.
        mark: FeatureMark,
        /// What is said to it.
        note: Option<String>,
    },
}
