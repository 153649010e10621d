//! Answers, with the headers that every answer carries.

use actix_web::HttpResponse;
use actix_web::body::BoxBody;
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderName, HeaderValue};
use actix_web::web::Bytes;
use parley_language::reason::{Reason, Refusal};
use serde::Serialize;

use crate::operation::File;
use crate::rate::Standing;

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const IMMUTABLE: HeaderValue = HeaderValue::from_static("private, max-age=31536000, immutable");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// JSON with a status.
pub(crate) fn json(status: StatusCode, body: Vec<u8>, standing: &Standing) -> HttpResponse {
    let mut response = empty(status, standing).set_body(BoxBody::new(Bytes::from(body)));
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}

/// A file that somebody uploaded. It is shown as what it is, and nothing in it is run; it never changes.
pub(crate) fn file(file: File, standing: &Standing) -> HttpResponse {
    let mut response = empty(StatusCode::OK, standing).set_body(BoxBody::new(file.bytes));
    let name = format!("inline; filename=\"{}\"", file.name);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(file.media_type));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; sandbox"),
    );
    headers.insert(
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    );
    headers.insert(header::CACHE_CONTROL, IMMUTABLE);
    if let Ok(name) = HeaderValue::from_str(&name) {
        headers.insert(header::CONTENT_DISPOSITION, name);
    }
    response
}

/// No body.
pub(crate) fn empty(status: StatusCode, standing: &Standing) -> HttpResponse {
    let mut response = HttpResponse::new(status);
    let headers = response.headers_mut();
    headers.insert(RATE_LIMIT, standing.limit());
    headers.insert(RATE_LIMIT_POLICY, standing.policy());
    headers.insert(header::CACHE_CONTROL, NO_STORE);
    response
}

/// A refusal with the status of its reason, and the headers that the status asks for.
pub(crate) fn refusal(
    refusal: &Refusal,
    standing: &Standing,
    challenge: &HeaderValue,
) -> HttpResponse {
    let status = StatusCode::from_u16(refusal.reason.status()).unwrap_or(StatusCode::BAD_REQUEST);
    let mut response = json(status, refusal_json(refusal), standing);
    let headers = response.headers_mut();
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(header::WWW_AUTHENTICATE, challenge.clone());
    }
    if let Some(seconds) = retry_after(refusal) {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// 405 for a path that is there with other methods.
pub(crate) fn method_not_allowed(allow: &HeaderValue, standing: &Standing) -> HttpResponse {
    let allowed = allow.to_str().unwrap_or_default();
    let error = format!("this path does not take this method; it takes {allowed}");
    let refusal = Refusal::new(Reason::UnknownEndpoint, error);
    let mut response = json(StatusCode::METHOD_NOT_ALLOWED, refusal_json(&refusal), standing);
    response.headers_mut().insert(header::ALLOW, allow.clone());
    response
}

/// 404 for a path that is not there.
pub(crate) fn unknown_endpoint(path: &str) -> Refusal {
    let shown: String = path.chars().take(100).collect();
    let error = format!("there is nothing at {shown}; look it up with GET /api/v1/operations");
    Refusal::new(Reason::UnknownEndpoint, error).then("list_api_operations", Vec::new())
}

/// 503 while the server goes down.
pub(crate) fn draining() -> Refusal {
    let error = "the server is going down; nothing was stored, repeat the call a little later";
    Refusal::new(Reason::Unavailable, error)
}

/// Seconds to wait before the same call can succeed.
pub(crate) fn retry_after(refusal: &Refusal) -> Option<u64> {
    match refusal.reason {
        Reason::Unavailable => Some(1),
        _ => refusal.details.as_ref().and_then(|details| details.retry_after_seconds),
    }
}

/// The refusal as JSON. The seconds to wait also stand at the top, where clients look first.
pub(crate) fn refusal_json(refusal: &Refusal) -> Vec<u8> {
    #[derive(Serialize)]
    struct Wire<'a> {
        #[serde(flatten)]
        refusal: &'a Refusal,
        retry_after_seconds: u64,
    }
    let waits = refusal.details.as_ref().and_then(|details| details.retry_after_seconds);
    let written = match waits {
        Some(retry_after_seconds) => serde_json::to_vec(&Wire { refusal, retry_after_seconds }),
        None => serde_json::to_vec(refusal),
    };
    written.expect("texts and numbers can always be written")
}
