//! Calls from pages of other origins: who may, and the preflight.

use actix_web::http::header::{self, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpRequest, HttpResponse};

use super::answer;
use super::router::Route;
use crate::caller::Doorkeeper;
use crate::rate::Standing;
use crate::surface::Surface;

const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, OPTIONS");
const HEADERS: HeaderValue = HeaderValue::from_static(
    "Authorization, Content-Type, Accept, Idempotency-Key, Last-Event-ID, X-CSRF-Token, Mcp-Protocol-Version, \
     Mcp-Method, Mcp-Name, Mcp-Session-Id",
);
/// The headers that a page may read.
pub(crate) const EXPOSED: HeaderValue =
    HeaderValue::from_static("RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate");

/// Answers `OPTIONS`, for nobody in particular and without a question.
pub(super) fn of_path<S: Doorkeeper>(surface: &Surface<S>, path: &str) -> Option<HeaderValue> {
    // A method nobody has: the answer is the list of those that are there.
    match surface.router.route(&Method::TRACE, path) {
        Route::Method(allow) => Some(allow.clone()),
        Route::Found(..) | Route::Nowhere => None,
    }
}

/// 204 with what a page of an allowed origin may send; without such an origin, only `Allow`.
pub(crate) fn preflight<S: Doorkeeper>(
    surface: &Surface<S>,
    request: &HttpRequest,
    path: &str,
) -> HttpResponse {
    let standing = surface.state.anonymous(surface.address(request)).note();
    let allow = match path {
        "/mcp" | "/mcp/" => Some(HeaderValue::from_static("POST, OPTIONS")),
        path => of_path(surface, path),
    };
    let Some(allow) = allow else {
        let refusal = answer::unknown_endpoint(request.uri().path());
        return answer::refusal(&refusal, &standing, &surface.challenge);
    };
    permit(surface, request, allow, &standing)
}

/// What a page of an allowed origin may send to a path with these methods.
pub(super) fn permit<S: Doorkeeper>(
    surface: &Surface<S>,
    request: &HttpRequest,
    allow: HeaderValue,
    standing: &Standing,
) -> HttpResponse {
    let mut response = answer::empty(StatusCode::NO_CONTENT, standing);
    let headers = response.headers_mut();
    headers.insert(header::ALLOW, allow);
    let origin = request.headers().get(header::ORIGIN);
    if origin
        .and_then(|origin| origin.to_str().ok())
        .is_some_and(|origin| surface.allows_origin(origin))
    {
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HEADERS);
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    }
    response
}

/// Lets the page of an allowed origin read the answer.
pub(crate) fn share<S: Doorkeeper>(
    surface: &Surface<S>,
    origin: &HeaderValue,
    response: &mut HttpResponse,
) {
    let headers = response.headers_mut();
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
    if origin.to_str().is_ok_and(|origin| surface.allows_origin(origin)) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    }
}
