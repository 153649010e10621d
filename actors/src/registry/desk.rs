//! What is asked of the desk.

use std::sync::Arc;

use parley_language::desk::{
    AccessRequest, Application, Board, DeskAct, DeskEvent, Feature, FeatureMark, Review, Token,
};
use parley_language::id::{FeatureId, RequestId, TokenId};
use parley_language::{Author, Refusal, Rights, Speaker};

use super::answer::{unavailable, unknown};
use super::{Registry, now};
use crate::desk::{AskDesk, No};

impl Registry {
    /// Makes a board.
    ///
    /// # Errors
    /// The desk's refusals, `unavailable`, `internal`.
    pub async fn make_board(
        &self,
        slug: Option<String>,
        title: String,
        description: String,
    ) -> Result<Board, Refusal> {
        match self.ask_desk(DeskAct::MakeBoard { slug, title, description }).await? {
            DeskEvent::BoardMade(board) => Ok(board),
            _ => Err(astray()),
        }
    }

    /// Issues a token of which only the hash is kept.
    ///
    /// # Errors
    /// `unavailable`, `internal`.
    pub async fn issue_token(
        &self,
        realm: String,
        label: String,
        rights: Rights,
        secret_hash: [u8; 32],
    ) -> Result<Token, Refusal> {
        match self.ask_desk(DeskAct::IssueToken { realm, label, rights, secret_hash }).await? {
            DeskEvent::TokenIssued(token) => Ok(token),
            _ => Err(astray()),
        }
    }

    /// Takes an application, and makes the token that it is about: it can read.
    ///
    /// # Errors
    /// `unavailable` when as many as may wait do, `internal`.
    pub async fn apply(
        &self,
        realm: String,
        application: Application,
        secret_hash: [u8; 32],
    ) -> Result<AccessRequest, Refusal> {
        let pending_max = self.0.settings.token_requests_pending_max;
        let act = DeskAct::Apply { realm, application, secret_hash, pending_max };
        match self.ask_desk(act).await? {
            DeskEvent::AccessRequested { request, .. } => Ok(request),
            _ => Err(astray()),
        }
    }

    /// Reviews an access request.
    ///
    /// # Errors
    /// `request_not_found`, `request_forbidden` for one's own, `request_decided`, `token_right_missing` for a right the
    /// reviewer cannot give, `invalid_body` for rights with another decision than `approved`.
    pub async fn review(
        &self,
        id: RequestId,
        by: Speaker,
        review: Review,
    ) -> Result<Arc<AccessRequest>, Refusal> {
        self.ask_desk(DeskAct::Review { id, by, review }).await?;
        self.shelves().request(id).ok_or_else(|| unknown("a request without a place"))
    }

    /// Takes an access request back.
    ///
    /// # Errors
    /// `request_not_found`, `request_forbidden` for another's, `request_decided`.
    pub async fn withdraw(
        &self,
        id: RequestId,
        by: Speaker,
    ) -> Result<Arc<AccessRequest>, Refusal> {
        self.ask_desk(DeskAct::Withdraw { id, by }).await?;
        self.shelves().request(id).ok_or_else(|| unknown("a request without a place"))
    }

    /// Changes what a token may do, from its next call on.
    ///
    /// # Errors
    /// `not_found`, `conflict` for a revoked one.
    pub async fn set_rights(&self, id: TokenId, rights: Rights) -> Result<Arc<Token>, Refusal> {
        self.ask_desk(DeskAct::SetRights { id, rights }).await?;
        self.shelves().token(id.number).ok_or_else(|| unknown("a token without a place"))
    }

    /// Revokes a token, from its next call on and for good.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn revoke(&self, id: TokenId) -> Result<Arc<Token>, Refusal> {
        let shown = || self.shelves().token(id.number);
        if let Some(revoked) = shown().filter(|token| token.revoked) {
            return Ok(revoked);
        }
        self.ask_desk(DeskAct::Revoke { id }).await?;
        shown().ok_or_else(|| unknown("a token without a place"))
    }

    /// Asks for a feature.
    ///
    /// # Errors
    /// `unavailable`, `internal`.
    pub async fn ask_feature(
        &self,
        by: Author,
        title: String,
        body: String,
    ) -> Result<Feature, Refusal> {
        match self.ask_desk(DeskAct::AskFeature { by, title, body }).await? {
            DeskEvent::FeatureAsked(feature) => Ok(feature),
            _ => Err(astray()),
        }
    }

    /// Marks a feature request.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn mark_feature(
        &self,
        id: FeatureId,
        by: Speaker,
        mark: FeatureMark,
        note: Option<String>,
    ) -> Result<Arc<Feature>, Refusal> {
        self.ask_desk(DeskAct::MarkFeature { id, by, mark, note }).await?;
        self.shelves().feature(id).ok_or_else(|| unknown("a feature request without a place"))
    }

    async fn ask_desk(&self, act: DeskAct) -> Result<DeskEvent, Refusal> {
        match self.0.desk.send(AskDesk { act, at: now() }).await {
            Ok(Ok(event)) => Ok(event),
            Ok(Err(No::Refused(refusal))) => Err(refusal),
            Ok(Err(No::Unavailable(why))) => Err(unavailable(&why)),
            Ok(Err(No::Unknown(why))) => Err(unknown(&why)),
            Err(mailbox) => Err(unknown(&mailbox.to_string())),
        }
    }
}

/// The desk answers what it was asked; anything else is a fault of ours.
fn astray() -> Refusal {
    unknown("the desk answered something else")
}
