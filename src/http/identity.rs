//! Who calls, from what a request carries: a bearer token, else a session's cookie, else nobody.

use actix_web::HttpRequest;
use actix_web::http::Method;
use actix_web::http::header::{self, HeaderMap, HeaderValue};
use parley_language::reason::{Reason, Refusal};

use crate::caller::{Caller, Doorkeeper, SESSION_COOKIE};
use crate::operation::unauthenticated;
use crate::rate::Standing;
use crate::surface::Surface;

/// A caller who was let in, and what is left of its allowance.
pub struct Admitted {
    /// Who calls.
    pub caller: Caller,
    /// What is left of its allowance.
    pub standing: Standing,
}

/// A caller who was turned away: why, and what is left of the allowance that counted it.
pub struct Turned {
    /// Why.
    pub refusal: Refusal,
    /// What is left.
    pub standing: Standing,
}

/// What a request shows at the door.
pub(crate) enum Credential<'a> {
    /// `Authorization: Bearer …`
    Bearer(&'a str),
    /// An `Authorization` that is no bearer token.
    Other,
    /// No `Authorization`.
    None,
}

/// Reads the `Authorization` header. The scheme is case-insensitive; tokens in addresses are never looked for.
pub(crate) fn credential(headers: &HeaderMap) -> Credential<'_> {
    let Some(value) = headers.get(header::AUTHORIZATION) else { return Credential::None };
    let bearer = value.to_str().ok().and_then(|value| value.trim().split_once(' '));
    match bearer {
        Some((scheme, token))
            if scheme.eq_ignore_ascii_case("bearer") && !token.trim().is_empty() =>
        {
            Credential::Bearer(token.trim())
        }
        _ => Credential::Other,
    }
}

impl<S: Doorkeeper> Surface<S> {
    /// Identity, then rate.
    pub(super) fn enter(&self, request: &HttpRequest, metered: bool) -> Result<Admitted, Turned> {
        let caller = match credential(request.headers()) {
            Credential::Bearer(token) => self
                .state
                .caller(token)
                .ok_or_else(|| self.turn_away(request, unauthenticated()))?,
            Credential::Other => return Err(self.turn_away(request, unauthenticated())),
            Credential::None => match self.session(request)? {
                Some(caller) => caller,
                None => Caller::Nobody(self.state.anonymous(self.address(request))),
            },
        };
        let allowance = caller.allowance();
        let counted = if metered { allowance.check() } else { Ok(allowance.note()) };
        match counted {
            Ok(standing) => Ok(Admitted { caller, standing }),
            Err(out) => Err(Turned { refusal: out.refusal(), standing: out.standing }),
        }
    }

    /// A credential that opens nothing counts for its address, so guessing ends soon.
    pub(crate) fn turn_away(&self, request: &HttpRequest, refusal: Refusal) -> Turned {
        match self.state.anonymous(self.address(request)).check() {
            Ok(standing) => Turned { refusal, standing },
            Err(out) => Turned { refusal: out.refusal(), standing: out.standing },
        }
    }

    /// The human, by a session's cookie. A session that is over is no credential; one that writes proves its page.
    fn session(&self, request: &HttpRequest) -> Result<Option<Caller>, Turned> {
        let id = session_id(request.headers());
        let Some(caller) = id.and_then(|id| self.state.session(id)) else { return Ok(None) };
        let reads = matches!(*request.method(), Method::GET | Method::HEAD);
        let given = request.headers().get("x-csrf-token").map_or(&[][..], HeaderValue::as_bytes);
        if !reads && !caller.is_proved_by(given) {
            let error = "a signed-in page writes with the header `x-csrf-token`; GET /api/v1/session tells it";
            let standing = caller.allowance().note();
            return Err(Turned { refusal: Refusal::new(Reason::Csrf, error), standing });
        }
        Ok(Some(caller))
    }
}

/// The value of a session's cookie.
pub(crate) fn session_id(headers: &HeaderMap) -> Option<&str> {
    headers.get_all(header::COOKIE).filter_map(|value| value.to_str().ok()).find_map(|cookies| {
        cookies.split(';').find_map(|cookie| {
            let (name, value) = cookie.trim().split_once('=')?;
            (name == SESSION_COOKIE).then_some(value)
        })
    })
}
