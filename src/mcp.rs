//! MCP on one path, both eras: the same operations, called as tools.
//!
//! Stateless: no session, no stream, nothing to set up. The order of the checks is that of the contract (mcp.md,
//! section 3). What a tool does is `operation.rs`; nothing here knows any of them by name.

mod era;
mod message;
mod reply;
pub mod tools;

use actix_web::http::header::{self, HeaderMap, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpRequest, HttpResponse, web};
use parley_language::reason::{Reason, Refusal};
use serde_json::{Map, Value, json};

use crate::caller::{Caller, Doorkeeper};
use crate::http::{self, Credential, EXPOSED, credential};
use crate::json::{self, NotJson};
use crate::operation::{Reach, unauthenticated};
use crate::rate::{Exhausted, Standing};
use crate::shape::Manner;
use crate::surface::Surface;
use era::Era;
use message::{
    Broken, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, Message, PARSE_ERROR, Params, string,
};

const ALLOW: HeaderValue = HeaderValue::from_static("POST, OPTIONS");

/// A status and a body; without a body for what wants no answer.
struct Reply {
    status: u16,
    body: Vec<u8>,
}

impl Reply {
    fn new(status: u16, body: Vec<u8>) -> Self {
        Self { status, body }
    }
}

/// Answers a request to the endpoint.
pub(crate) async fn serve<S: Doorkeeper>(
    surface: &Surface<S>,
    request: &HttpRequest,
    payload: web::Payload,
) -> HttpResponse {
    let origin = request.headers().get(header::ORIGIN);
    let allowed = origin
        .is_none_or(|origin| origin.to_str().is_ok_and(|origin| surface.allows_origin(origin)));
    if !allowed {
        let standing = surface.state.anonymous(surface.address(request)).note();
        let error =
            "pages of this origin may not call; the operator can add it to the allowed origins";
        return surface.refuse(&Refusal::new(Reason::Forbidden, error), &standing);
    }
    let mut response = match *request.method() {
        Method::OPTIONS => http::preflight(surface, request, "/mcp"),
        Method::POST => post(surface, request, payload).await,
        // Before any question of who asks: anything but 405 starts reconnects and logins in clients.
        _ => {
            let standing = surface.state.anonymous(surface.address(request)).note();
            http::method_not_allowed(&ALLOW, &standing)
        }
    };
    if let Some(origin) = origin {
        let headers = response.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
        headers.append(header::VARY, HeaderValue::from_static("Origin"));
    }
    response
}

async fn post<S: Doorkeeper>(
    surface: &Surface<S>,
    request: &HttpRequest,
    payload: web::Payload,
) -> HttpResponse {
    let headers = request.headers();
    let body = match http::read(request, payload).await {
        Ok(body) => body,
        Err(refusal) => {
            let standing = surface.state.anonymous(surface.address(request)).note();
            return surface.refuse(&refusal, &standing);
        }
    };
    let caller = match identify(surface, headers) {
        Ok(caller) => caller,
        Err(refusal) => {
            let turned = surface.turn_away(request, refusal);
            return surface.refuse(&turned.refusal, &turned.standing);
        }
    };
    let standing = match caller.allowance().check() {
        Ok(standing) => standing,
        Err(out) => return flooded(surface, headers, &body, &out),
    };
    if surface.is_draining() {
        return surface.refuse(&http::draining(), &standing);
    }
    let reply = match unfit(headers) {
        Some(reply) => reply,
        None => answer(surface, request, &body, caller).await,
    };
    respond(reply, &standing)
}

fn respond(reply: Reply, standing: &Standing) -> HttpResponse {
    let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::OK);
    if reply.body.is_empty() {
        http::empty(status, standing)
    } else {
        http::json(status, reply.body, standing)
    }
}

/// Only a token opens this door. The operator key and a session's cookie are the human's, and the human is no agent.
fn identify<S: Doorkeeper>(surface: &Surface<S>, headers: &HeaderMap) -> Result<Caller, Refusal> {
    let token_required = || {
        let error = "MCP takes an agent's token: send `Authorization: Bearer <token>`; a session or the operator key does not work here";
        Refusal::new(Reason::TokenRequired, error)
    };
    match credential(headers) {
        Credential::Bearer(token) => match surface.state.caller(token) {
            Some(caller @ Caller::Token(_)) => Ok(caller),
            Some(Caller::Human(_)) => Err(token_required()),
            Some(Caller::Nobody(_)) | None => Err(unauthenticated()),
        },
        Credential::None if headers.contains_key(header::COOKIE) => Err(token_required()),
        Credential::None | Credential::Other => Err(unauthenticated()),
    }
}

/// 429, as a result that says so to the model as well.
fn flooded<S: Doorkeeper>(
    surface: &Surface<S>,
    headers: &HeaderMap,
    body: &[u8],
    out: &Exhausted,
) -> HttpResponse {
    let refusal = out.refusal();
    let Ok(Message::Request { id, method, params }) = message::read(body) else {
        return surface.refuse(&refusal, &out.standing);
    };
    let era = era::of(headers, &method, &params);
    let body =
        reply::tool(Some(id), era, &http::refusal_json(&refusal), true, &surface.tools.modern_tail);
    let mut response = http::json(StatusCode::TOO_MANY_REQUESTS, body, &out.standing);
    if let Some(seconds) = http::retry_after(&refusal) {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// Content type and accepted types (steps 7 and 8): lenient, since real clients are not exact.
fn unfit(headers: &HeaderMap) -> Option<Reply> {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let essence =
        |part: &str| part.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if headers.contains_key(header::CONTENT_TYPE)
        && text(header::CONTENT_TYPE).is_none_or(|value| essence(value) != "application/json")
    {
        let message = "send `Content-Type: application/json`";
        return Some(Reply::new(415, reply::error(None, INVALID_REQUEST, message, None)));
    }
    const SERVED: [&str; 5] =
        ["application/json", "text/event-stream", "*/*", "application/*", "text/*"];
    let accepts = |value: &str| {
        value.trim().is_empty()
            || value.split(',').any(|part| SERVED.contains(&essence(part).as_str()))
    };
    // Clients may send the header several times.
    let mut all = headers.get_all(header::ACCEPT).peekable();
    if all.peek().is_some() && !all.any(|value| value.to_str().is_ok_and(accepts)) {
        let message = "answers are application/json; accept it";
        return Some(Reply::new(406, reply::error(None, INVALID_REQUEST, message, None)));
    }
    None
}

async fn answer<S: Doorkeeper>(
    surface: &Surface<S>,
    request: &HttpRequest,
    body: &[u8],
    caller: Caller,
) -> Reply {
    let headers = request.headers();
    let (id, method, params) = match message::read(body) {
        Ok(Message::Request { id, method, params }) => (id, method, params),
        Ok(Message::Notification | Message::Response) => return accepted(headers),
        Err(Broken { id, code, message }) => {
            return Reply::new(400, reply::error(id, code, message, None));
        }
    };
    let era = era::of(headers, &method, &params);
    let call = Call { surface, era, id, params };
    if era == Era::Modern
        && let Err(mismatch) = era::check(headers, &method, &call.params)
    {
        let data = mismatch.requested.as_deref().map(supported);
        return Reply::new(
            400,
            reply::error(Some(id), mismatch.code, &mismatch.message, data.as_ref()),
        );
    }
    match (&*method, era) {
        ("tools/call", _) => call.tool(caller).await,
        ("tools/list", _) => call.list(request.uri().query().unwrap_or_default()),
        ("server/discover", Era::Modern) => call.result(&surface.tools.discover),
        ("initialize", Era::Legacy) => call.initialize(),
        ("ping", Era::Legacy) => call.result("{}"),
        // Clients ask for what is not declared, and take an error for a broken server.
        ("prompts/list", Era::Legacy) => call.result(r#"{"prompts":[]}"#),
        ("resources/list", Era::Legacy) => call.result(r#"{"resources":[]}"#),
        ("resources/templates/list", Era::Legacy) => call.result(r#"{"resourceTemplates":[]}"#),
        (unknown, _) => {
            let shown: String = unknown.chars().take(100).collect();
            call.error(METHOD_NOT_FOUND, &format!("Method not found: {shown}"), None)
        }
    }
}

fn supported(requested: &str) -> Value {
    // The list is JSON already, and short.
    let supported: Value = serde_json::from_str(era::SUPPORTED).unwrap_or_default();
    json!({"supported": supported, "requested": requested})
}

/// What wants no answer gets none, and nothing is done.
fn accepted(headers: &HeaderMap) -> Reply {
    let version = era::version(headers);
    if era::is_known(version) {
        return Reply::new(202, Vec::new());
    }
    let message = "this protocol version is not served";
    let data = version.map(supported);
    Reply::new(400, reply::error(None, era::UNSUPPORTED_VERSION, message, data.as_ref()))
}

/// One request that is well formed.
struct Call<'a, S> {
    surface: &'a Surface<S>,
    era: Era,
    id: &'a str,
    params: Params<'a>,
}

impl<S: Doorkeeper> Call<'_, S> {
    fn result(&self, result: &str) -> Reply {
        Reply::new(200, reply::result(self.id, result))
    }

    fn error(&self, code: i32, message: &str, data: Option<&Value>) -> Reply {
        Reply::new(era::status(self.era, code), reply::error(Some(self.id), code, message, data))
    }

    /// Echoes a version we serve, else offers our newest with a handshake.
    fn initialize(&self) -> Reply {
        let wanted = self.params.protocol_version.and_then(string);
        let version = era::LEGACY
            .into_iter()
            .find(|version| wanted.as_deref() == Some(*version))
            .unwrap_or(era::LEGACY[0]);
        self.result(&format!(
            "{{\"protocolVersion\":\"{version}\"{}",
            self.surface.tools.initialize_tail
        ))
    }

    fn list(&self, query: &str) -> Reply {
        if self.params.cursor.is_some() {
            return self.error(INVALID_PARAMS, "there is one page; leave `cursor` out", None);
        }
        let core = query.split('&').any(|pair| pair == "tools=core");
        let tools = &self.surface.tools;
        let lists = match self.era {
            Era::Legacy => &tools.legacy_list,
            Era::Modern => &tools.modern_list,
        };
        self.result(&lists[usize::from(core)])
    }

    /// Calls an operation: the arguments are its one object.
    async fn tool(&self, caller: Caller) -> Reply {
        let Some(name) = self.params.name.and_then(string) else {
            return self.error(INVALID_PARAMS, "`name` must be the name of a tool", None);
        };
        let surface = self.surface;
        let Some(operation) = surface.table.get(&name).filter(|row| row.reach != Reach::Http)
        else {
            return self.unknown_tool(&name);
        };
        let arguments = match self.params.arguments.map(|raw| raw.get()) {
            None => Ok(Value::Object(Map::new())),
            Some(text) if text.starts_with('{') => json::parse(text.as_bytes()),
            Some(_) => return self.error(INVALID_PARAMS, "`arguments` must be an object", None),
        };
        let outcome = match arguments {
            Ok(input) => {
                operation.call(surface.state.clone(), caller, input, Manner::Lenient).await
            }
            Err(error @ NotJson::Duplicate(_)) => {
                operation.needs.admit(&caller).and(Err(error.into()))
            }
            Err(NotJson::Syntax(error)) => {
                let message = format!("the body is not JSON: {error}");
                return Reply::new(400, reply::error(Some(self.id), PARSE_ERROR, &message, None));
            }
        };
        let tail = &surface.tools.modern_tail;
        let body = match outcome {
            Ok(bytes) => reply::tool(Some(self.id), self.era, &bytes, false, tail),
            Err(refusal) => {
                reply::tool(Some(self.id), self.era, &http::refusal_json(&refusal), true, tail)
            }
        };
        Reply::new(200, body)
    }

    fn unknown_tool(&self, name: &str) -> Reply {
        let shown: String = name.chars().take(100).collect();
        let data = json!({
            "reason": Reason::UnknownTool.name(),
            "next": {"operation": "list_api_operations", "arguments": {}},
        });
        self.error(INVALID_PARAMS, &format!("Unknown tool: {shown}"), Some(&data))
    }
}
