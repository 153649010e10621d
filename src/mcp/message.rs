//! One JSON-RPC message, read without touching what it means: ids and arguments stay raw.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::json;

/// The bytes are no JSON.
pub(super) const PARSE_ERROR: i32 = -32700;
/// The JSON is no request.
pub(super) const INVALID_REQUEST: i32 = -32600;
/// There is no such method.
pub(super) const METHOD_NOT_FOUND: i32 = -32601;
/// The parameters are not the method's.
pub(super) const INVALID_PARAMS: i32 = -32602;

/// What a client sent.
pub(super) enum Message<'a> {
    /// Wants an answer.
    Request { id: &'a str, method: Cow<'a, str>, params: Params<'a> },
    /// Wants none.
    Notification,
    /// Answers a question we never ask.
    Response,
}

/// Why a message cannot be served.
pub(super) struct Broken<'a> {
    /// The id, if it could be read.
    pub(super) id: Option<&'a str>,
    /// The JSON-RPC code.
    pub(super) code: i32,
    /// What is wrong.
    pub(super) message: &'static str,
}

/// The parameters that any method of ours looks at.
#[derive(Default, Deserialize)]
pub(super) struct Params<'a> {
    #[serde(borrow, default)]
    pub(super) name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) cursor: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "protocolVersion")]
    pub(super) protocol_version: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

/// The part of `_meta` that says which era a request is of.
#[derive(Default, Deserialize)]
pub(super) struct Meta<'a> {
    #[serde(
        borrow,
        default,
        rename = "io.modelcontextprotocol/protocolVersion",
        deserialize_with = "present"
    )]
    pub(super) version: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/clientCapabilities")]
    pub(super) capabilities: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Members<'a> {
    #[serde(borrow, default)]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// Keeps a null apart from an absence.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Reads a message (mcp.md, section 3, steps 9 to 11).
pub(super) fn read(bytes: &[u8]) -> Result<Message<'_>, Broken<'_>> {
    let broken = |id, code, message| Broken { id, code, message };
    let text = std::str::from_utf8(json::without_bom(bytes))
        .map_err(|_| broken(None, PARSE_ERROR, "the body is not UTF-8"))?;
    let whole: &RawValue = serde_json::from_str(text)
        .map_err(|_| broken(None, PARSE_ERROR, "the body is not JSON"))?;
    if whole.get().starts_with('[') {
        return Err(broken(None, INVALID_REQUEST, "batches are not supported; send one message"));
    }
    let members: Members<'_> = serde_json::from_str(whole.get()).map_err(|_| {
        broken(None, INVALID_REQUEST, "a message is one object with each member once")
    })?;
    let id = match members.id.map(RawValue::get) {
        Some(id) if !is_id(id) => {
            return Err(broken(None, INVALID_REQUEST, "`id` must be a string or an integer"));
        }
        id => id,
    };
    if members.jsonrpc.map(RawValue::get) != Some("\"2.0\"") {
        return Err(broken(id, INVALID_REQUEST, "`jsonrpc` must be \"2.0\""));
    }
    let Some(method) = members.method else {
        if members.result.is_some() || members.error.is_some() {
            return Ok(Message::Response);
        }
        return Err(broken(id, INVALID_REQUEST, "`method` is missing"));
    };
    let Some(method) = string(method) else {
        return Err(broken(id, INVALID_REQUEST, "`method` must be a string"));
    };
    let params = match members.params.map(RawValue::get) {
        None => Params::default(),
        Some(params) if params.starts_with('{') => serde_json::from_str(params)
            .map_err(|_| broken(id, INVALID_PARAMS, "`params` has a member twice"))?,
        Some(_) => return Err(broken(id, INVALID_PARAMS, "`params` must be an object")),
    };
    match id {
        Some(id) => Ok(Message::Request { id, method, params }),
        None => Ok(Message::Notification),
    }
}

impl<'a> Params<'a> {
    /// The part of `_meta` we look at; what is no object says nothing.
    pub(super) fn meta(&self) -> Meta<'a> {
        self.meta.and_then(|meta| serde_json::from_str(meta.get()).ok()).unwrap_or_default()
    }
}

/// Ids are strings or integers; anything else would come back changed from somebody.
fn is_id(raw: &str) -> bool {
    match raw.as_bytes() {
        // An escape that is no character would be echoed into an answer that nobody can read.
        [b'"', ..] => serde_json::from_str::<String>(raw).is_ok(),
        number => number.iter().all(|b| b.is_ascii_digit() || *b == b'-'),
    }
}

/// A raw value as a string, if it is one.
pub(super) fn string(raw: &RawValue) -> Option<Cow<'_, str>> {
    let inner = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        serde_json::from_str(raw.get()).ok().map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(inner))
    }
}
