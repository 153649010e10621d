//! The desk: boards, tokens, access requests and feature requests. The same manner as a thread: decide says yes or no, apply cannot fail.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec;

use serde::{Deserialize, Serialize};

mod act;
mod feature;
mod request;

pub use act::{DeskAct, DeskEvent};
pub use feature::{Feature, FeatureMark, FeatureState, Marked};
pub use request::{AccessRequest, Application, Decision, RequestState, Review, Reviewed};

use crate::author::Rights;
use crate::id::{FeatureId, RequestId, TokenId, is_slug};
use crate::limits;
use crate::reason::{Reason, Refusal};
use crate::text::first_line;
use crate::time::Time;

/// A board as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Board {
    /// Its number, from 1.
    pub number: u64,
    /// Its slug, unique.
    pub slug: Arc<str>,
    /// Its title.
    pub title: Arc<str>,
    /// What it is for.
    pub description: Arc<str>,
    /// When it was made.
    pub created_at: Time,
}

/// A token as it is kept: never the secret, only its hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// Its id.
    pub id: TokenId,
    /// The identity bound to it.
    pub line: Arc<str>,
    /// What it is called.
    pub label: Arc<str>,
    /// What it may do.
    pub rights: Rights,
    /// SHA-256 of the secret.
    pub secret_hash: [u8; 32],
    /// When it was issued.
    pub created_at: Time,
    /// Whether it still opens the door.
    pub revoked: bool,
}

/// All boards, tokens, access requests and feature requests.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Desk {
    boards: BTreeMap<u64, Board>,
    slugs: BTreeMap<Arc<str>, u64>,
    tokens: BTreeMap<u64, Token>,
    lines: BTreeMap<Arc<str>, TokenId>,
    requests: BTreeMap<u64, AccessRequest>,
    /// The request that a token came with.
    applied: BTreeMap<TokenId, RequestId>,
    undecided: usize,
    features: BTreeMap<u64, Feature>,
}

impl Desk {
    /// Yes or no. Changes nothing.
    ///
    /// # Errors
    /// `conflict` for a slug that is taken and for rights of a revoked token, `invalid_body` for a slug that is none and
    /// rights that a decision does not give, `request_not_found`, `request_forbidden`, `request_decided`,
    /// `token_right_missing` for a right the reviewer cannot give, `not_found`, `unavailable` when too many wait.
    pub fn decide(&self, act: DeskAct, at: Time) -> Result<DeskEvent, Refusal> {
        match act {
            DeskAct::MakeBoard { slug, title, description } => {
                self.make_board(slug, &title, &description, at)
            }
            DeskAct::IssueToken { realm, label, rights, secret_hash } => {
                let token = self.new_token(&realm, &label.into(), rights, secret_hash, at);
                Ok(DeskEvent::TokenIssued(token))
            }
            DeskAct::Apply { realm, application, secret_hash, pending_max } => {
                if self.undecided >= pending_max {
                    let error = format!("{pending_max} applications wait already; try again later");
                    return Err(Refusal::new(Reason::Unavailable, error));
                }
                let token =
                    self.new_token(&realm, &application.label, Rights::READ, secret_hash, at);
                let request = AccessRequest {
                    id: RequestId::new(next(&self.requests)),
                    token: token.id,
                    line: Arc::clone(&token.line),
                    application,
                    status: RequestState::Pending,
                    rights: None,
                    reason: None,
                    reviewed_by: None,
                    created_at: at,
                    updated_at: at,
                };
                Ok(DeskEvent::AccessRequested { request, token })
            }
            DeskAct::Review { id, by, review } => {
                Ok(DeskEvent::RequestReviewed(self.request(id)?.review(&by, review, at)?))
            }
            DeskAct::Withdraw { id, by } => {
                self.request(id)?.withdraw(&by)?;
                Ok(DeskEvent::RequestWithdrawn { id, at })
            }
            DeskAct::SetRights { id, rights } => {
                if self.token(id)?.revoked {
                    let error = format!("{id} is revoked for good; issue another token");
                    return Err(Refusal::new(Reason::Conflict, error));
                }
                Ok(DeskEvent::RightsChanged { id, rights })
            }
            DeskAct::Revoke { id } => {
                self.token(id)?;
                Ok(DeskEvent::TokenRevoked { id, at })
            }
            DeskAct::AskFeature { by, title, body } => Ok(DeskEvent::FeatureAsked(Feature {
                id: FeatureId::new(next(&self.features)),
                author: by,
                title: title.into(),
                body: body.into(),
                status: FeatureState::Open,
                note: None,
                marked_by: None,
                created_at: at,
                updated_at: at,
            })),
            DeskAct::MarkFeature { id, by, mark, note } => {
                if !self.features.contains_key(&id.number) {
                    let error =
                        format!("there is no feature request {id}; look with `get_features`");
                    return Err(Refusal::new(Reason::NotFound, error).then("get_features", vec![]));
                }
                let (by, note) = (by.author.line, note.map(Arc::from));
                Ok(DeskEvent::FeatureMarked(Marked { id, mark, note, by, at }))
            }
        }
    }

    fn make_board(
        &self,
        slug: Option<String>,
        title: &str,
        description: &str,
        at: Time,
    ) -> Result<DeskEvent, Refusal> {
        let slug: Arc<str> = match slug {
            Some(slug) if !is_slug(&slug) => return Err(no_slug(&slug)),
            Some(slug) => slug.into(),
            None => {
                self.free(&slugify(title, "board"), |slug| self.slugs.contains_key(slug)).into()
            }
        };
        if let Some(number) = self.slugs.get(&slug) {
            let error = format!("a board `{slug}` exists; use it, or choose another slug");
            return Err(Refusal::new(Reason::Conflict, error)
                .then("get_boards_id", vec![("id", number.to_string())]));
        }
        let (title, description) = (title.into(), description.into());
        let number = next(&self.boards);
        Ok(DeskEvent::BoardMade(Board { number, slug, title, description, created_at: at }))
    }

    fn new_token(
        &self,
        realm: &str,
        label: &Arc<str>,
        rights: Rights,
        secret_hash: [u8; 32],
        at: Time,
    ) -> Token {
        let taken = |slug: &str| self.lines.contains_key(format!("{realm}:{slug}").as_str());
        Token {
            id: TokenId::new(next(&self.tokens)),
            line: format!("{realm}:{}", self.free(&slugify(label, "agent"), taken)).into(),
            label: Arc::clone(label),
            rights,
            secret_hash,
            created_at: at,
            revoked: false,
        }
    }

    fn request(&self, id: RequestId) -> Result<&AccessRequest, Refusal> {
        self.find_request(id).ok_or_else(|| {
            let error = format!("there is no access request {id}; look with `get_token_requests`");
            Refusal::new(Reason::RequestNotFound, error).then("get_token_requests", vec![])
        })
    }

    fn token(&self, id: TokenId) -> Result<&Token, Refusal> {
        self.find_token(id).ok_or_else(|| {
            let error = format!("there is no token {id}; look with `get_tokens`");
            Refusal::new(Reason::NotFound, error).then("get_tokens", vec![])
        })
    }

    /// Makes a fact so.
    pub fn apply(&mut self, event: &DeskEvent) {
        match event {
            DeskEvent::BoardMade(board) => {
                self.slugs.insert(Arc::clone(&board.slug), board.number);
                self.boards.insert(board.number, board.clone());
            }
            DeskEvent::TokenIssued(token) => self.hold(token),
            DeskEvent::AccessRequested { request, token } => {
                self.hold(token);
                self.requests.insert(request.id.number, request.clone());
                self.applied.insert(request.token, request.id);
                self.undecided += 1;
            }
            DeskEvent::RequestReviewed(reviewed) => {
                self.settle(reviewed.id.number, |request| request.settle(reviewed));
                if let (Some(rights), Some(request)) =
                    (reviewed.rights, self.requests.get(&reviewed.id.number))
                    && let Some(token) = self.tokens.get_mut(&request.token.number)
                {
                    token.rights = rights;
                }
            }
            DeskEvent::RequestWithdrawn { id, at } => self.settle(id.number, |request| {
                request.status = RequestState::Withdrawn;
                request.updated_at = *at;
            }),
            DeskEvent::RightsChanged { id, rights } => {
                if let Some(token) = self.tokens.get_mut(&id.number) {
                    token.rights = *rights;
                }
            }
            DeskEvent::TokenRevoked { id, at } => {
                if let Some(token) = self.tokens.get_mut(&id.number) {
                    token.revoked = true;
                }
                if let Some(number) = self.request_of(*id).map(|request| request.id.number) {
                    self.settle(number, |request| {
                        if !request.status.is_final() {
                            request.status = RequestState::Rejected;
                            request.reason = Some("its token was revoked".into());
                            request.updated_at = *at;
                        }
                    });
                }
            }
            DeskEvent::FeatureAsked(feature) => {
                self.features.insert(feature.id.number, feature.clone());
            }
            DeskEvent::FeatureMarked(marked) => {
                if let Some(feature) = self.features.get_mut(&marked.id.number) {
                    feature.settle(marked);
                }
            }
        }
    }

    fn hold(&mut self, token: &Token) {
        self.lines.insert(Arc::clone(&token.line), token.id);
        self.tokens.insert(token.id.number, token.clone());
    }

    /// Changes a request, and keeps count of those that wait for a decision.
    fn settle(&mut self, number: u64, change: impl FnOnce(&mut AccessRequest)) {
        let Some(request) = self.requests.get_mut(&number) else { return };
        let waited = !request.status.is_final();
        change(request);
        if waited && request.status.is_final() {
            self.undecided -= 1;
        }
    }

    /// The first free name: the slug, or the slug with a number behind it.
    fn free(&self, slug: &str, taken: impl Fn(&str) -> bool) -> String {
        if !taken(slug) {
            return slug.to_string();
        }
        // Names that were counted up before are in the way of counting from 2 each time, but labels rarely repeat
        // more than a few times; a doubling search keeps even thousands of equal labels cheap.
        let named = |count: u64| {
            let tail = format!("-{count}");
            let head: String = slug.chars().take(limits::SLUG - tail.len()).collect();
            format!("{}{tail}", head.trim_end_matches('-'))
        };
        let mut high = 2;
        while taken(&named(high)) {
            high *= 2;
        }
        let mut low = high / 2;
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            if taken(&named(middle)) { low = middle } else { high = middle }
        }
        named(high)
    }

    /// All boards, by number.
    pub fn boards(&self) -> impl Iterator<Item = &Board> {
        self.boards.values()
    }

    /// All tokens, by number.
    pub fn tokens(&self) -> impl Iterator<Item = &Token> {
        self.tokens.values()
    }

    /// All access requests, by number.
    pub fn requests(&self) -> impl Iterator<Item = &AccessRequest> {
        self.requests.values()
    }

    /// A token.
    pub fn find_token(&self, id: TokenId) -> Option<&Token> {
        self.tokens.get(&id.number)
    }

    /// An access request.
    pub fn find_request(&self, id: RequestId) -> Option<&AccessRequest> {
        self.requests.get(&id.number)
    }

    /// A feature request.
    pub fn find_feature(&self, id: FeatureId) -> Option<&Feature> {
        self.features.get(&id.number)
    }

    /// The request that a token came with; a token that was issued directly has none.
    pub fn request_of(&self, token: TokenId) -> Option<&AccessRequest> {
        self.find_request(*self.applied.get(&token)?)
    }

    /// All feature requests, by number.
    pub fn features(&self) -> impl Iterator<Item = &Feature> {
        self.features.values()
    }
}

/// The number after the last.
fn next<T>(numbered: &BTreeMap<u64, T>) -> u64 {
    numbered.last_key_value().map_or(1, |(last, _)| last + 1)
}

fn no_slug(slug: &str) -> Refusal {
    Refusal::field(
        "slug",
        "slug",
        format!("`{slug}` is no slug; use a-z, 0-9 and hyphens, at most 40, not only digits"),
    )
}

/// A slug made of a text: its letters and digits in lower case, hyphens between.
fn slugify(text: &str, or: &str) -> String {
    let mut slug = String::new();
    for c in first_line(text, limits::LABEL).chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() == limits::SLUG {
            break;
        }
    }
    let slug = slug.trim_matches('-');
    if is_slug(slug) { slug.to_string() } else { or.to_string() }
}
