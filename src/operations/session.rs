//! The human's door as operations (section 8): who one is, a new password, a new one-time link. Signing in and out is in
//! `login.rs`, because it hands out a cookie.

use actix_web::web;
use parley_language::words::Right;
use parley_language::{Refusal, Time, limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::caller::Caller;
use crate::forum::Forum;
use crate::operation::fault;
use crate::{login, password};

/// Who you are here, and what a signed-in page has to send when it writes.
#[derive(Deserialize, JsonSchema)]
pub struct GetSession {}

/// Set the password of the human. Every session ends with that.
#[derive(Deserialize, JsonSchema)]
pub struct SetPassword {
    /// The new password.
    #[schemars(length(min = limits::PASSWORD_MIN, max = limits::PASSWORD_MAX))]
    pub password: String,
}

/// Make a link that signs the human in once. An older one is over with that.
#[derive(Deserialize, JsonSchema)]
pub struct MakeLink {}

/// Who somebody is.
#[derive(Serialize, JsonSchema)]
pub struct Session {
    /// The identity.
    pub identity: String,
    /// What it may do; the human may do everything.
    pub rights: Vec<Right>,
    /// What the header `x-csrf-token` says when this session writes; null without a session.
    pub csrf: Option<String>,
}

/// The password was set.
#[derive(Serialize, JsonSchema)]
pub struct PasswordSet {
    /// Whose.
    pub identity: String,
}

/// A link.
#[derive(Serialize, JsonSchema)]
pub struct Link {
    /// Its address on this server, shown this once.
    pub path: String,
    /// Until when it opens.
    pub expires_at: Time,
}

/// Who the caller is.
///
/// # Errors
/// None of its own.
pub async fn get(_: Forum, caller: Caller, _: GetSession) -> Result<Session, Refusal> {
    let rights = if caller.is_human() { Right::ALL.to_vec() } else { caller.rights().list() };
    Ok(Session {
        identity: caller.line().map_or_else(String::new, |line| line.to_string()),
        rights,
        csrf: caller.csrf().map(str::to_owned),
    })
}

/// Sets the password.
///
/// # Errors
/// `unavailable`, `internal`.
pub async fn set_password(
    forum: Forum,
    caller: Caller,
    input: SetPassword,
) -> Result<PasswordSet, Refusal> {
    let hash = web::block(move || password::hash(&input.password)).await;
    let hash = hash.map_err(|error| fault(&error))?.map_err(|error| fault(&error))?;
    forum.registry().set_password(hash.into()).await?;
    Ok(PasswordSet { identity: caller.author(None).line.to_string() })
}

/// Makes a link.
///
/// # Errors
/// `unavailable`, `internal`.
pub async fn make_link(forum: Forum, _: Caller, _: MakeLink) -> Result<Link, Refusal> {
    let (path, hash) = login::link();
    let expires_at = forum.registry().make_link(hash, login::LINK_SECONDS * 1000).await?;
    Ok(Link { path, expires_at })
}
