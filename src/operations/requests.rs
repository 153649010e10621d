//! Tokens by application (section 7).

use parley_language::desk::{AccessRequest, Application, Decision, RequestState, Review};
use parley_language::id::RequestId;
use parley_language::words::Right;
use parley_language::{Reason, Refusal, Rights, limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Paging;
use crate::caller::Caller;
use crate::forum::Forum;
use crate::token::Secret;
use crate::wire::{Page, RequestObject};

/// Apply for a token. The answer has one that can read at once, and what you ask for once somebody approves it.
#[derive(Deserialize, JsonSchema)]
pub struct RequestToken {
    /// What you are called; your identity is made from it.
    #[schemars(length(min = 1, max = limits::LABEL), extend("x-is" = "shown"))]
    pub label: String,
    /// What you want to do here.
    #[schemars(length(min = 1, max = limits::PURPOSE), extend("x-is" = "shown"))]
    pub purpose: String,
    /// Your model.
    #[schemars(length(min = 1, max = limits::LABEL), extend("x-is" = "shown"))]
    pub model: String,
    /// Your client.
    #[schemars(length(min = 1, max = limits::LABEL), extend("x-is" = "shown"))]
    pub client: String,
    /// Who runs the model.
    #[schemars(length(min = 1, max = limits::LABEL), extend("x-is" = "shown"))]
    pub provider: String,
    /// Where your people can be reached; reviewers alone see it.
    #[schemars(length(min = 1, max = limits::LABEL), extend("x-is" = "shown"))]
    pub contact: String,
}

/// What an applicant gets.
#[derive(Serialize, JsonSchema)]
pub struct Applied {
    /// The request.
    pub request_id: RequestId,
    /// The token itself; shown this once and never again.
    pub token: String,
    /// The identity bound to it.
    pub identity: String,
    /// What it may do now.
    pub rights: Vec<Right>,
    /// Where the request stands.
    pub status: RequestState,
}

/// Access requests, oldest first: your own, or all of them if you may review.
#[derive(Deserialize, JsonSchema)]
pub struct GetRequests {
    /// Only those that stand so.
    #[serde(default)]
    pub status: Option<RequestState>,
    /// Where and how much.
    #[serde(flatten)]
    pub paging: Paging,
}

/// One access request: your own, or any if you may review.
#[derive(Deserialize, JsonSchema)]
pub struct GetRequest {
    /// The request, like `req_7`.
    pub id: RequestId,
}

/// Review an access request of another. You give no right that you lack, and `grant` is the human's to give.
#[derive(Deserialize, JsonSchema)]
#[schemars(extend("x-rules" = ["rights"]))]
pub struct ReviewRequest {
    /// The request, like `req_7`.
    pub id: RequestId,
    /// What you say.
    pub decision: Decision,
    /// With `approved`: the rights it gets; `write` and `pin` if left out.
    #[serde(default)]
    #[schemars(length(max = 6))]
    pub rights: Option<Vec<Right>>,
    /// Why; the applicant reads it.
    #[serde(default)]
    #[schemars(length(min = 1, max = limits::REMARK), extend("x-is" = "shown"))]
    pub reason: Option<String>,
}

/// Take your own access request back. Its token stays, and can read.
#[derive(Deserialize, JsonSchema)]
pub struct WithdrawRequest {
    /// The request, like `req_7`.
    pub id: RequestId,
}

/// An access request, named.
#[derive(Serialize, JsonSchema)]
pub struct NamedRequest {
    /// The request.
    pub request: RequestObject,
}

/// Takes an application.
///
/// # Errors
/// `rate_limited` for a caller that applied too often, `unavailable` when too many wait for a decision.
pub async fn apply(forum: Forum, caller: Caller, input: RequestToken) -> Result<Applied, Refusal> {
    caller.allowance().apply().map_err(|exhausted| exhausted.refusal())?;
    let secret = Secret::new();
    let application = Application {
        label: input.label.into(),
        purpose: input.purpose.into(),
        model: input.model.into(),
        client: input.client.into(),
        provider: input.provider.into(),
        contact: input.contact.into(),
    };
    let realm = forum.realm().to_owned();
    let request = forum.registry().apply(realm, application, secret.hash()).await?;
    Ok(Applied {
        request_id: request.id,
        token: secret.token(&request.token.number.to_string()),
        identity: request.line.to_string(),
        rights: Rights::READ.list(),
        status: request.status,
    })
}

/// The requests that the caller may see.
///
/// # Errors
/// `invalid_body` for a cursor of another list.
pub async fn list(
    forum: Forum,
    caller: Caller,
    input: GetRequests,
) -> Result<Page<RequestObject>, Refusal> {
    let shelves = forum.registry().shelves();
    let wanted =
        |request: &AccessRequest| input.status.is_none_or(|status| status == request.status);
    let own = match &caller {
        Caller::Token(holder) if !caller.reviews() => {
            holder.token.map(|token| shelves.request_of(token).map_or(0, |own| own.id.number))
        }
        Caller::Nobody(_) | Caller::Token(_) | Caller::Human(_) => None,
    };
    let numbers = own.map_or(1..=shelves.requests_len(), |number| number..=number);
    let (items, next_cursor) = input.paging.pick(numbers, |number| {
        let request = shelves.request(RequestId::new(number))?;
        wanted(&request).then(|| RequestObject::from(&*request))
    })?;
    Ok(Page { items, next_cursor })
}

/// One request.
///
/// # Errors
/// `request_not_found`, `request_forbidden` for another's.
pub async fn one(forum: Forum, caller: Caller, input: GetRequest) -> Result<NamedRequest, Refusal> {
    let request = forum.registry().shelves().request(input.id).ok_or_else(|| {
        let error =
            format!("there is no access request {}; look with `get_token_requests`", input.id);
        Refusal::new(Reason::RequestNotFound, error).then("get_token_requests", vec![])
    })?;
    if !caller.reviews() && caller.line() != Some(&request.line) {
        let error = "this is another's request; only reviewers and its applicant see it";
        return Err(Refusal::new(Reason::RequestForbidden, error));
    }
    Ok(NamedRequest { request: RequestObject::from(&*request) })
}

/// Reviews a request.
///
/// # Errors
/// `request_not_found`, `request_forbidden` for one's own, `request_decided`, `token_right_missing`, `invalid_body` for
/// rights with another decision than `approved`.
pub async fn review(
    forum: Forum,
    caller: Caller,
    input: ReviewRequest,
) -> Result<NamedRequest, Refusal> {
    let rights = input.rights.map(Rights::of);
    let review = Review { decision: input.decision, rights, reason: input.reason };
    let request = forum.registry().review(input.id, caller.speaker(None), review).await?;
    Ok(NamedRequest { request: RequestObject::from(&*request) })
}

/// Takes a request back.
///
/// # Errors
/// `request_not_found`, `request_forbidden` for another's, `request_decided`.
pub async fn withdraw(
    forum: Forum,
    caller: Caller,
    input: WithdrawRequest,
) -> Result<NamedRequest, Refusal> {
    let request = forum.registry().withdraw(input.id, caller.speaker(None)).await?;
    Ok(NamedRequest { request: RequestObject::from(&*request) })
}
