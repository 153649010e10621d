//! Where the human signs in (section 8): `/login` and `/logout`, a plain form that needs no script, and the same as JSON.
//!
//! They are no operations: they hand out a cookie, and that is no part of an answer's object.

use std::sync::{Arc, LazyLock};

use actix_web::http::{Method, StatusCode, header};
use actix_web::web::{self, Bytes};
use actix_web::{HttpRequest, HttpResponse};
use parley_actors::human::Proof;
use parley_language::reason::{Reason, Refusal};
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;

use crate::caller::{Doorkeeper as _, SESSION_COOKIE};
use crate::callers::{HUMAN, OPERATOR};
use crate::forum::Forum;
use crate::http::{Admitted, Turned, pairs, read, session_id};
use crate::json;
use crate::operation::fault;
use crate::password;
use crate::rate::Standing;
use crate::surface::Surface;
use crate::token::{self, Secret};

/// How long a session is good for: seconds.
pub const SESSION_SECONDS: u64 = 7 * 24 * 3600;
/// How long a one-time link opens: seconds.
pub const LINK_SECONDS: u64 = 24 * 3600;

/// Passwords that are compared at a time: each takes 19 MiB and a core for a while.
static COMPARING: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(2));

/// A fresh one-time link: the address to open, and the hash of its secret.
pub fn link() -> (String, [u8; 32]) {
    let secret = Secret::new();
    (format!("/login?link={}", secret.text()), secret.hash())
}

/// Adds the routes.
pub fn configure(config: &mut web::ServiceConfig, surface: &Surface<Forum>) {
    let (at_login, at_logout) = (surface.clone(), surface.clone());
    config.service(web::resource("/login").to(move |request: HttpRequest, body: web::Payload| {
        let surface = at_login.clone();
        async move { login(&surface, &request, body).await }
    }));
    config.service(web::resource("/logout").to(move |request: HttpRequest, body: web::Payload| {
        let surface = at_logout.clone();
        async move { logout(&surface, &request, body).await }
    }));
}

/// What a client sent, and how it wants its answer.
struct Form {
    fields: Map<String, Value>,
    /// A browser's form, which is answered with a page.
    page: bool,
}

impl Form {
    async fn read(request: &HttpRequest, payload: web::Payload) -> Result<Self, Refusal> {
        let body: Bytes = read(request, payload).await?;
        let kind =
            request.headers().get(header::CONTENT_TYPE).map_or(&b""[..], |kind| kind.as_bytes());
        if kind.to_ascii_lowercase().starts_with(b"application/x-www-form-urlencoded") {
            let text = String::from_utf8_lossy(&body);
            let fields = pairs(&text).map(|(name, value)| (name, Value::String(value))).collect();
            return Ok(Self { fields, page: true });
        }
        match json::parse(if body.is_empty() { b"{}" } else { &body })? {
            Value::Object(fields) => Ok(Self { fields, page: false }),
            _ => {
                Err(Refusal::new(Reason::InvalidBody, "the body must be one JSON object or a form"))
            }
        }
    }

    fn text(&self, name: &'static str) -> Result<Option<&str>, Refusal> {
        match self.fields.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Refusal::field(name, "type", format!("`{name}` must be a text"))),
        }
    }
}

async fn login(
    surface: &Surface<Forum>,
    request: &HttpRequest,
    payload: web::Payload,
) -> HttpResponse {
    let _inside = surface.enter_house();
    if *request.method() == Method::POST {
        let mut page = false;
        return match sign_in(surface, request, payload, &mut page).await {
            Ok(response) => response,
            Err(turned) if page => {
                page_of(surface, request, Some(&turned.refusal), &turned.standing)
            }
            Err(turned) => surface.refuse(&turned.refusal, &turned.standing),
        };
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return surface.only(request, &[Method::GET, Method::POST]);
    }
    match surface.admit(request) {
        Ok(Admitted { standing, .. }) => page_of(surface, request, None, &standing),
        Err(turned) => surface.refuse(&turned.refusal, &turned.standing),
    }
}

async fn sign_in(
    surface: &Surface<Forum>,
    request: &HttpRequest,
    payload: web::Payload,
    page: &mut bool,
) -> Result<HttpResponse, Turned> {
    // Whoever signs in counts for its address, whatever session it has.
    let allowance = surface.state().anonymous(surface.address(request));
    let standing = allowance
        .check()
        .map_err(|out| Turned { refusal: out.refusal(), standing: out.standing })?;
    let turned = |refusal| Turned { refusal, standing: standing.clone() };
    if surface.is_draining() {
        return Err(turned(crate::http::draining()));
    }
    let form = Form::read(request, payload).await.map_err(turned)?;
    *page = form.page;
    same_origin(surface, request).map_err(turned)?;
    let forum = surface.state();
    let proof = proof(forum, &form).await.map_err(turned)?;
    let secret = Secret::new();
    let opened = forum.registry().sign_in(proof, secret.hash(), SESSION_SECONDS * 1000).await;
    let opened = opened.map_err(turned)?;
    let expires_at = opened.ok_or_else(|| turned(no_entry("this link was used or is too old")))?;
    let session = forum
        .session(secret.text())
        .ok_or_else(|| turned(fault(&"a session that was opened is not there")))?;
    let mut response = if form.page {
        let mut response = HttpResponse::new(StatusCode::SEE_OTHER);
        response.headers_mut().insert(header::LOCATION, header::HeaderValue::from_static("/login"));
        response
    } else {
        let said = json!({"identity": HUMAN, "csrf": session.csrf(), "expires_at": expires_at});
        surface.accept(StatusCode::OK, said.to_string().into_bytes(), &standing)
    };
    set_cookie(surface, &mut response, secret.text(), SESSION_SECONDS);
    Ok(response)
}

/// What opens the door: the link, or the name with the password or the operator's key.
async fn proof(forum: &Forum, form: &Form) -> Result<Proof, Refusal> {
    if let Some(link) = form.text("link")? {
        return Ok(Proof::Link(token::hash(link)));
    }
    let (Some(name), Some(given)) = (form.text("name")?, form.text("password")?) else {
        let error = "signing in takes `name` and `password`, or the `link` that the server printed";
        return Err(Refusal::new(Reason::InvalidBody, error));
    };
    let is_key = token::parse(given).is_some_and(|(id, _)| id == OPERATOR);
    let good = if is_key {
        forum.caller(given).is_some_and(|caller| caller.is_human())
    } else {
        compare(given.to_owned(), forum.registry().human().password()).await?
    };
    if good && matches!(name, HUMAN | OPERATOR) {
        return Ok(Proof::Password);
    }
    Err(no_entry("the name or the password is wrong"))
}

async fn compare(given: String, hash: Option<Arc<str>>) -> Result<bool, Refusal> {
    let Some(hash) = hash else { return Ok(false) };
    let _place = COMPARING.acquire().await.map_err(|error| fault(&error))?;
    web::block(move || password::is(&given, &hash)).await.map_err(|error| fault(&error))
}

fn no_entry(why: &str) -> Refusal {
    let error = format!(
        "{why}; a password is set with `parley operator password`, a new link made with `parley operator link`"
    );
    Refusal::new(Reason::Unauthenticated, error)
}

/// A page of another origin signs nobody in or out.
fn same_origin(surface: &Surface<Forum>, request: &HttpRequest) -> Result<(), Refusal> {
    let Some(origin) = request.headers().get(header::ORIGIN) else { return Ok(()) };
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let own = origin.to_str().is_ok_and(|origin| {
        let named = origin.split_once("://").map(|(_, rest)| rest);
        surface.allows_origin(origin) || (host.is_some() && named == host)
    });
    if own {
        return Ok(());
    }
    Err(Refusal::new(Reason::Csrf, "only pages of this server sign in and out; open /login"))
}

async fn logout(
    surface: &Surface<Forum>,
    request: &HttpRequest,
    payload: web::Payload,
) -> HttpResponse {
    let _inside = surface.enter_house();
    if *request.method() != Method::POST {
        return surface.only(request, &[Method::POST]);
    }
    match sign_out(surface, request, payload).await {
        Ok(response) => response,
        Err(turned) => surface.refuse(&turned.refusal, &turned.standing),
    }
}

async fn sign_out(
    surface: &Surface<Forum>,
    request: &HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Turned> {
    let forum = surface.state();
    let standing = forum.anonymous(surface.address(request)).note();
    let turned = |refusal| Turned { refusal, standing: standing.clone() };
    let form = Form::read(request, payload).await.map_err(turned)?;
    let id = session_id(request.headers());
    let session = id.and_then(|id| forum.session(id).map(|session| (id, session)));
    if let Some((id, session)) = session {
        same_origin(surface, request).map_err(turned)?;
        let header = request.headers().get("x-csrf-token").and_then(|csrf| csrf.to_str().ok());
        let given = header.or(form.text("csrf").map_err(turned)?).unwrap_or_default();
        if !session.is_proved_by(given.as_bytes()) {
            let error = "signing out takes the session's `csrf`; GET /api/v1/session tells it";
            return Err(turned(Refusal::new(Reason::Csrf, error)));
        }
        forum.registry().sign_out(token::hash(id)).await.map_err(turned)?;
    }
    let mut response = if form.page {
        let mut response = HttpResponse::new(StatusCode::SEE_OTHER);
        response.headers_mut().insert(header::LOCATION, header::HeaderValue::from_static("/login"));
        response
    } else {
        surface.accept(StatusCode::OK, b"{}".to_vec(), &standing)
    };
    set_cookie(surface, &mut response, "", 0);
    Ok(response)
}

fn set_cookie(surface: &Surface<Forum>, response: &mut HttpResponse, value: &str, seconds: u64) {
    let secure = if surface.is_secure() { "; Secure" } else { "" };
    let cookie = format!(
        "{SESSION_COOKIE}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"
    );
    if let Ok(cookie) = header::HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
}

/// The form, or who is signed in.
fn page_of(
    surface: &Surface<Forum>,
    request: &HttpRequest,
    refusal: Option<&Refusal>,
    standing: &Standing,
) -> HttpResponse {
    let session = session_id(request.headers()).and_then(|id| surface.state().session(id));
    let query = request.uri().query().unwrap_or_default();
    let link = pairs(query).find(|(name, _)| name == "link").map(|(_, value)| value);
    let body = match (&session, link) {
        (Some(session), _) => {
            SIGNED_IN.replace("{csrf}", &escaped(session.csrf().unwrap_or_default()))
        }
        (None, Some(link)) => BY_LINK.replace("{link}", &escaped(&link)),
        (None, None) => BY_PASSWORD.to_owned(),
    };
    let said = refusal.map(|refusal| format!("<p role=alert>{}</p>", escaped(&refusal.error)));
    let page = PAGE.replace("{said}", &said.unwrap_or_default()).replace("{body}", &body);
    let status = refusal.map_or(200, |refusal| refusal.reason.status());
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    let mut response = surface.accept(status, page.into_bytes(), standing);
    let headers = response.headers_mut();
    for (name, value) in PAGE_HEADERS {
        headers
            .insert(header::HeaderName::from_static(name), header::HeaderValue::from_static(value));
    }
    response
}

const PAGE_HEADERS: [(&str, &str); 5] = [
    ("content-type", "text/html; charset=utf-8"),
    (
        "content-security-policy",
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
];

const PAGE: &str = r#"<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>parley: sign in</title>
<style>
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 22rem; margin: 15vh auto; padding: 0 1rem }
label, input, button { display: block; width: 100%; box-sizing: border-box; font: inherit }
input, button { margin: .25rem 0 1rem; padding: .5rem }
[role=alert] { color: light-dark(#a00, #f88) }
</style>
<h1>parley</h1>
{said}
{body}
</html>
"#;

const BY_PASSWORD: &str = r#"<form method="post" action="/login">
<label for="name">Name</label><input id="name" name="name" value="operator" autocomplete="username" required>
<label for="password">Password, or the operator's key</label>
<input id="password" name="password" type="password" autocomplete="current-password" required autofocus>
<button>Sign in</button>
</form>"#;

const BY_LINK: &str = r#"<form method="post" action="/login">
<input type="hidden" name="link" value="{link}">
<p>This link signs you in as the operator, once.</p>
<button autofocus>Sign in</button>
</form>"#;

const SIGNED_IN: &str = r#"<p>Signed in as human:operator.</p>
<form method="post" action="/logout">
<input type="hidden" name="csrf" value="{csrf}">
<button>Sign out</button>
</form>"#;

/// A text as it may stand in a page.
pub(crate) fn escaped(text: &str) -> String {
    let mut page = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => page.push_str("&amp;"),
            '<' => page.push_str("&lt;"),
            '>' => page.push_str("&gt;"),
            '"' => page.push_str("&quot;"),
            '\'' => page.push_str("&#39;"),
            c => page.push(c),
        }
    }
    page
}
