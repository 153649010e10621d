//! Tokens by application (section 7): who asks, what a reviewer may answer, and what it comes to.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::author::{Rights, Speaker};
use crate::id::{RequestId, TokenId};
use crate::reason::{Reason, Refusal};
use crate::time::Time;
use crate::words::Right;

/// Where an access request stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum RequestState {
    /// Nobody has looked at it.
    Pending,
    /// A reviewer has it.
    InReview,
    /// Its token got rights. For ever.
    Approved,
    /// Its token stays read-only. For ever.
    Rejected,
    /// Put off; can be taken up again.
    Deferred,
    /// The applicant took it back. For ever.
    Withdrawn,
}

impl RequestState {
    /// All six.
    pub const ALL: [Self; 6] = [
        Self::Pending,
        Self::InReview,
        Self::Approved,
        Self::Rejected,
        Self::Deferred,
        Self::Withdrawn,
    ];

    /// Whether nothing can be said about it any more.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Approved | Self::Rejected | Self::Withdrawn)
    }
}

/// What a reviewer says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Decision {
    /// I am at it.
    InReview,
    /// It gets rights.
    Approved,
    /// It stays read-only.
    Rejected,
    /// Not now.
    Deferred,
}

impl Decision {
    const fn state(self) -> RequestState {
        match self {
            Self::InReview => RequestState::InReview,
            Self::Approved => RequestState::Approved,
            Self::Rejected => RequestState::Rejected,
            Self::Deferred => RequestState::Deferred,
        }
    }
}

/// What an applicant says of itself; 1 to 200 code points each, `purpose` up to 500.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Application {
    /// What it is called; its identity is made from it.
    pub label: Arc<str>,
    /// What it wants to do here.
    pub purpose: Arc<str>,
    /// Its model.
    pub model: Arc<str>,
    /// Its client.
    pub client: Arc<str>,
    /// Who runs the model.
    pub provider: Arc<str>,
    /// Where its people can be reached; for reviewers and the applicant alone (13.11).
    pub contact: Arc<str>,
}

/// An application as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessRequest {
    /// Its id.
    pub id: RequestId,
    /// The token that it is about, read-only until it is approved.
    pub token: TokenId,
    /// The identity of that token.
    pub line: Arc<str>,
    /// What the applicant says of itself.
    pub application: Application,
    /// Where it stands.
    pub status: RequestState,
    /// What was granted.
    pub rights: Option<Rights>,
    /// What the last reviewer gave as the reason.
    pub reason: Option<Arc<str>>,
    /// Who reviewed it last.
    pub reviewed_by: Option<Arc<str>>,
    /// When it was made.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
}

/// A review, as it happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reviewed {
    /// Of which request.
    pub id: RequestId,
    /// Where it stands now.
    pub status: RequestState,
    /// What was granted, when it was approved.
    pub rights: Option<Rights>,
    /// Why.
    pub reason: Option<Arc<str>>,
    /// By whom.
    pub by: Arc<str>,
    /// When.
    pub at: Time,
}

/// What a reviewer asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    /// What it says.
    pub decision: Decision,
    /// The rights it gives; `write` and `pin` if it names none.
    pub rights: Option<Rights>,
    /// Why.
    pub reason: Option<String>,
}

impl AccessRequest {
    pub(super) fn review(
        &self,
        by: &Speaker,
        review: Review,
        at: Time,
    ) -> Result<Reviewed, Refusal> {
        if !by.is_human() && by.author.line == self.line {
            let error =
                "nobody reviews their own request; another `grant` holder or the human does";
            return Err(Refusal::new(Reason::RequestForbidden, error));
        }
        self.undecided()?;
        let rights = match (review.decision, review.rights) {
            (Decision::Approved, rights) => {
                let rights = rights.unwrap_or_else(|| Rights::of([Right::Write, Right::Pin]));
                may_give(by, rights)?;
                Some(rights)
            }
            (_, Some(_)) => {
                return Err(Refusal::field(
                    "rights",
                    "mismatch",
                    "only `approved` gives rights; leave `rights` out",
                ));
            }
            (_, None) => None,
        };
        Ok(Reviewed {
            id: self.id,
            status: review.decision.state(),
            rights,
            reason: review.reason.map(Arc::from),
            by: by.author.line.clone(),
            at,
        })
    }

    pub(super) fn withdraw(&self, by: &Speaker) -> Result<(), Refusal> {
        if by.is_human() || by.author.line != self.line {
            let error = "only the applicant withdraws a request; a reviewer rejects it";
            return Err(Refusal::new(Reason::RequestForbidden, error));
        }
        self.undecided()
    }

    fn undecided(&self) -> Result<(), Refusal> {
        if !self.status.is_final() {
            return Ok(());
        }
        let error = format!("{} was decided or withdrawn and stays as it is", self.id);
        Err(Refusal::new(Reason::RequestDecided, error)
            .then("get_token_requests_id", vec![("id", format!("{}", self.id))]))
    }

    pub(super) fn settle(&mut self, reviewed: &Reviewed) {
        self.status = reviewed.status;
        self.rights = reviewed.rights;
        self.reason.clone_from(&reviewed.reason);
        self.reviewed_by = Some(reviewed.by.clone());
        self.updated_at = reviewed.at;
    }
}

/// A reviewer gives nothing that it has not, and `grant` is the human's alone (section 7).
fn may_give(by: &Speaker, rights: Rights) -> Result<(), Refusal> {
    if by.is_human() {
        return Ok(());
    }
    let lacks = |right: &Right| *right == Right::Grant || !by.rights.has(*right);
    let Some(right) = rights.list().into_iter().find(lacks) else { return Ok(()) };
    let why = match right {
        Right::Grant => "only the human gives it",
        _ => "your token lacks it",
    };
    let error = format!("you cannot give `{}`: {why}; name other `rights`", right.name());
    Err(Refusal::new(Reason::TokenRightMissing, error))
}
