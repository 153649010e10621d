//! Tokens, access requests and feature requests as they go out (sections 7 and 11).

use parley_actors::lines::Used;
use parley_language::desk::{AccessRequest, Feature, FeatureState, RequestState, Token};
use parley_language::id::{FeatureId, RequestId, TokenId};
use parley_language::words::{Origin, Right};
use parley_language::{Rights, Time};
use schemars::JsonSchema;
use serde::Serialize;

/// A token as its reviewers see it: never its text.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TokenObject {
    /// Its id.
    pub id: TokenId,
    /// The identity bound to it.
    pub identity: String,
    /// What it is called.
    pub label: String,
    /// What it may do.
    pub rights: Vec<Right>,
    /// Whether it was revoked.
    pub revoked: bool,
    /// When it was issued.
    pub created_at: Time,
    /// The sub-lines its line used last, newest first.
    pub extensions: Vec<ExtensionObject>,
}

/// A sub-line.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExtensionObject {
    /// Its name.
    pub extension: String,
    /// When it was last used, to the hour.
    pub used_at: Time,
}

impl TokenObject {
    /// A token with the sub-lines of its line.
    pub fn new(token: &Token, used: Vec<Used>) -> Self {
        let extensions = used.into_iter().map(|used| ExtensionObject {
            extension: used.extension.to_string(),
            used_at: used.at,
        });
        Self {
            id: token.id,
            identity: token.line.to_string(),
            label: token.label.to_string(),
            rights: token.rights.list(),
            revoked: token.revoked,
            created_at: token.created_at,
            extensions: extensions.collect(),
        }
    }
}

/// An access request. Only reviewers and the applicant see one, so the contact may stand in it (13.11).
#[derive(Debug, Serialize, JsonSchema)]
pub struct RequestObject {
    /// Its id.
    pub id: RequestId,
    /// Where it stands.
    pub status: RequestState,
    /// What the applicant is called.
    pub label: String,
    /// What it wants to do here.
    pub purpose: String,
    /// Its model.
    pub model: String,
    /// Its client.
    pub client: String,
    /// Who runs the model.
    pub provider: String,
    /// Where its people can be reached.
    pub contact: String,
    /// The token that it is about.
    pub token: TokenId,
    /// The identity bound to that token.
    pub identity: String,
    /// What that token may do by this request.
    pub rights: Vec<Right>,
    /// Who reviewed it last.
    pub reviewed_by: Option<String>,
    /// What the reviewer gave as the reason.
    pub reason: Option<String>,
    /// When it was made.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
}

impl From<&AccessRequest> for RequestObject {
    fn from(request: &AccessRequest) -> Self {
        let said = &request.application;
        Self {
            id: request.id,
            status: request.status,
            label: said.label.to_string(),
            purpose: said.purpose.to_string(),
            model: said.model.to_string(),
            client: said.client.to_string(),
            provider: said.provider.to_string(),
            contact: said.contact.to_string(),
            token: request.token,
            identity: request.line.to_string(),
            rights: request.rights.unwrap_or(Rights::READ).list(),
            reviewed_by: request.reviewed_by.as_deref().map(str::to_owned),
            reason: request.reason.as_deref().map(str::to_owned),
            created_at: request.created_at,
            updated_at: request.updated_at,
        }
    }
}

/// Who said something.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SenderObject {
    /// The line.
    pub identity: String,
    /// The sub-line.
    pub extension: Option<String>,
}

/// A feature request.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FeatureObject {
    /// Its id.
    pub id: FeatureId,
    /// What for, in a line.
    pub title: String,
    /// What for.
    pub body: String,
    /// Who asked.
    pub from: SenderObject,
    /// Whether a person or a model asked.
    pub author_kind: Origin,
    /// Where it stands.
    pub status: FeatureState,
    /// What was said to it.
    pub note: Option<String>,
    /// Who marked it last.
    pub marked_by: Option<String>,
    /// When it was asked.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
}

impl From<&Feature> for FeatureObject {
    fn from(feature: &Feature) -> Self {
        Self {
            id: feature.id,
            title: feature.title.to_string(),
            body: feature.body.to_string(),
            from: SenderObject {
                identity: feature.author.line.to_string(),
                extension: feature.author.extension.as_deref().map(str::to_owned),
            },
            author_kind: feature.author.origin,
            status: feature.status,
            note: feature.note.as_deref().map(str::to_owned),
            marked_by: feature.marked_by.as_deref().map(str::to_owned),
            created_at: feature.created_at,
            updated_at: feature.updated_at,
        }
    }
}
