//! The two eras of the protocol, decided for each request by what it carries.

use std::borrow::Cow;

use actix_web::http::header::HeaderMap;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::value::RawValue;

use super::message::{INVALID_PARAMS, METHOD_NOT_FOUND, Params, string};

/// The revision without a handshake.
pub(super) const MODERN: &str = "2026-07-28";
/// The revisions with one, newest first.
pub(super) const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// All of them, as JSON.
pub(super) const SUPPORTED: &str =
    r#"["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"]"#;

/// A header and the body do not say the same.
const HEADER_MISMATCH: i32 = -32020;
/// The revision is none of ours.
pub(super) const UNSUPPORTED_VERSION: i32 = -32022;

/// Which manners a request has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Era {
    /// `initialize` first; errors of a method travel on 200.
    Legacy,
    /// Everything in each request; statuses mean something.
    Modern,
}

/// Why a request is not of the era it says it is of.
pub(super) struct Mismatch {
    /// The JSON-RPC code.
    pub(super) code: i32,
    /// What is wrong.
    pub(super) message: Cow<'static, str>,
    /// For a version we do not serve: the one that was asked for.
    pub(super) requested: Option<String>,
}

/// The version header, trimmed.
pub(super) fn version(headers: &HeaderMap) -> Option<&str> {
    header(headers, "mcp-protocol-version")
}

/// Whether a version header names a revision we know, or is not there.
pub(super) fn is_known(version: Option<&str>) -> bool {
    version.is_none_or(|version| version == MODERN || LEGACY.contains(&version))
}

/// Decides the era (mcp.md, section 3, step 12).
pub(super) fn of(headers: &HeaderMap, method: &str, params: &Params<'_>) -> Era {
    if params.meta().version.is_some() {
        return Era::Modern;
    }
    match version(headers) {
        Some(version) if !LEGACY.contains(&version) && method != "initialize" => Era::Modern,
        _ => Era::Legacy,
    }
}

/// Checks that headers and body of a modern request agree (step 13).
pub(super) fn check(
    headers: &HeaderMap,
    method: &str,
    params: &Params<'_>,
) -> Result<(), Mismatch> {
    let says = |code, message: &'static str| {
        Err(Mismatch { code, message: Cow::Borrowed(message), requested: None })
    };
    let meta = params.meta();
    let Some(wanted) = meta.version.and_then(string) else {
        return says(
            INVALID_PARAMS,
            "`_meta` must have io.modelcontextprotocol/protocolVersion, a string",
        );
    };
    if !meta.capabilities.is_some_and(|raw| raw.get().starts_with('{')) {
        return says(
            INVALID_PARAMS,
            "`_meta` must have io.modelcontextprotocol/clientCapabilities, an object",
        );
    }
    if version(headers) != Some(&*wanted) {
        return says(
            HEADER_MISMATCH,
            "the header MCP-Protocol-Version must equal the version in `_meta`; a proxy may have dropped it",
        );
    }
    if header(headers, "mcp-method") != Some(method) {
        return says(
            HEADER_MISMATCH,
            "the header Mcp-Method must equal `method`; a proxy may have dropped it",
        );
    }
    if method == "tools/call" && !names_the_tool(headers, params.name) {
        return says(
            HEADER_MISMATCH,
            "the header Mcp-Name must equal `params.name`; a proxy may have dropped it",
        );
    }
    if wanted != MODERN {
        let message = Cow::Owned(format!("protocol version {wanted} is not served this way"));
        return Err(Mismatch {
            code: UNSUPPORTED_VERSION,
            message,
            requested: Some(wanted.into_owned()),
        });
    }
    Ok(())
}

/// The HTTP status of a JSON-RPC error of a method.
pub(super) fn status(era: Era, code: i32) -> u16 {
    match (era, code) {
        (Era::Modern, METHOD_NOT_FOUND) => 404,
        (Era::Modern | Era::Legacy, _) => 200,
    }
}

/// A name that is missing or no string is for the method to refuse; the header must be there in any case.
fn names_the_tool(headers: &HeaderMap, name: Option<&RawValue>) -> bool {
    let Some(given) = header(headers, "mcp-name") else { return false };
    match name.and_then(string) {
        Some(name) => decoded(given).is_some_and(|given| given == name),
        None => true,
    }
}

/// `=?base64?…?=` carries what a header cannot.
fn decoded(value: &str) -> Option<Cow<'_, str>> {
    match value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok().map(Cow::Owned),
        None => Some(Cow::Borrowed(value)),
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim)
}
