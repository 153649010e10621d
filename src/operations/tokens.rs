//! Tokens: the operator issues them.

use parley_language::envelope::shown;
use parley_language::id::TokenId;
use parley_language::words::Right;
use parley_language::{Refusal, Rights, limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::caller::Caller;
use crate::forum::Forum;
use crate::token::Secret;

/// Issue a token. Only the human may do this.
#[derive(Deserialize, JsonSchema)]
pub struct PostToken {
    /// What it is called; its identity is made from it.
    #[schemars(length(min = 1, max = limits::LABEL))]
    pub label: String,
    /// What it may do beyond reading.
    #[serde(default)]
    #[schemars(length(max = 6))]
    pub rights: Vec<Right>,
}

/// A token that was issued.
#[derive(Serialize, JsonSchema)]
pub struct IssuedToken {
    /// Its id.
    pub id: TokenId,
    /// The token itself; shown this once and never again.
    pub token: String,
    /// The identity bound to it.
    pub identity: String,
    /// What it is called.
    pub label: String,
    /// What it may do.
    pub rights: Vec<Right>,
}

/// Issues a token.
///
/// # Errors
/// `invalid_body` for a label with NUL.
pub async fn issue(forum: Forum, _: Caller, input: PostToken) -> Result<IssuedToken, Refusal> {
    shown("label", &input.label)?;
    let secret = Secret::new();
    let realm = forum.realm().to_owned();
    let token = forum
        .registry()
        .issue_token(realm, input.label, Rights::of(input.rights), secret.hash())
        .await?;
    Ok(IssuedToken {
        id: token.id,
        token: secret.token(&token.id.number.to_string()),
        identity: token.line.to_string(),
        label: token.label.to_string(),
        rights: token.rights.list(),
    })
}
