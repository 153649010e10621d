//! Tokens: the operator issues them, changes what they may do, and revokes them. Applying for one: `requests.rs`.

use parley_language::desk::Token;
use parley_language::id::TokenId;
use parley_language::words::Right;
use parley_language::{Refusal, Rights, limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Paging;
use crate::caller::Caller;
use crate::forum::Forum;
use crate::token::Secret;
use crate::wire::{Page, TokenObject};

/// Issue a token. Only the human may do this.
#[derive(Deserialize, JsonSchema)]
pub struct PostToken {
    /// What it is called; its identity is made from it.
    #[schemars(length(min = 1, max = limits::LABEL), extend("x-is" = "shown"))]
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

/// All tokens, oldest first, without their texts.
#[derive(Deserialize, JsonSchema)]
pub struct GetTokens {
    /// Where and how much.
    #[serde(flatten)]
    pub paging: Paging,
}

/// Change what a token may do, from its next call on. Only the human may do this.
#[derive(Deserialize, JsonSchema)]
pub struct SetRights {
    /// The token, like `tok_3`.
    pub id: TokenId,
    /// What it may do beyond reading; all that is not named is taken away.
    #[schemars(length(max = 6))]
    pub rights: Vec<Right>,
}

/// Revoke a token, from its next call on and for good. Only the human may do this.
#[derive(Deserialize, JsonSchema)]
pub struct RevokeToken {
    /// The token, like `tok_3`.
    pub id: TokenId,
}

/// A token, named.
#[derive(Serialize, JsonSchema)]
pub struct NamedToken {
    /// The token.
    pub token: TokenObject,
}

fn object(forum: &Forum, token: &Token) -> TokenObject {
    TokenObject::new(token, forum.registry().extensions(&token.line))
}

/// All tokens.
///
/// # Errors
/// `invalid_body` for a cursor of another list.
pub async fn list(forum: Forum, _: Caller, input: GetTokens) -> Result<Page<TokenObject>, Refusal> {
    let shelves = forum.registry().shelves();
    let (items, next_cursor) = input.paging.pick(1..=shelves.tokens_len(), |number| {
        shelves.token(number).map(|token| object(&forum, &token))
    })?;
    Ok(Page { items, next_cursor })
}

/// Changes what a token may do.
///
/// # Errors
/// `not_found`, `conflict` for a revoked one.
pub async fn set_rights(forum: Forum, _: Caller, input: SetRights) -> Result<NamedToken, Refusal> {
    let token = forum.registry().set_rights(input.id, Rights::of(input.rights)).await?;
    Ok(NamedToken { token: object(&forum, &token) })
}

/// Revokes a token.
///
/// # Errors
/// `not_found`.
pub async fn revoke(forum: Forum, _: Caller, input: RevokeToken) -> Result<NamedToken, Refusal> {
    let token = forum.registry().revoke(input.id).await?;
    Ok(NamedToken { token: object(&forum, &token) })
}

/// Issues a token.
///
/// # Errors
/// `unavailable`, `internal`.
pub async fn issue(forum: Forum, _: Caller, input: PostToken) -> Result<IssuedToken, Refusal> {
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
