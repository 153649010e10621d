//! JSON-RPC answers, written by hand around bytes that are JSON already: an operation's answer is never read again.

use serde::Serialize;
use serde_json::Value;

use super::era::Era;

/// `{"jsonrpc":"2.0","id":…,"result":…}`
pub(super) fn result(id: &str, result: &str) -> Vec<u8> {
    let mut reply = opened(Some(id), result.len());
    reply.extend_from_slice(b",\"result\":");
    reply.extend_from_slice(result.as_bytes());
    reply.push(b'}');
    reply
}

/// The result of a tool: the same JSON as structured content and as text.
pub(super) fn tool(
    id: Option<&str>,
    era: Era,
    body: &[u8],
    is_error: bool,
    modern_tail: &str,
) -> Vec<u8> {
    debug_assert!(body.starts_with(b"{"), "an answer is an object");
    // Quotes are escaped in the text, so it is a good deal longer than the JSON.
    let mut reply = opened(id, body.len() * 5 / 2 + modern_tail.len());
    reply.extend_from_slice(b",\"result\":{\"content\":[{\"type\":\"text\",\"text\":");
    write(&mut reply, &String::from_utf8_lossy(body));
    reply.extend_from_slice(b"}],\"structuredContent\":");
    reply.extend_from_slice(body);
    if is_error {
        reply.extend_from_slice(b",\"isError\":true");
    }
    if era == Era::Modern {
        reply.extend_from_slice(modern_tail.as_bytes());
    }
    reply.extend_from_slice(b"}}");
    reply
}

/// A protocol error. An id that could not be read is left out.
pub(super) fn error(id: Option<&str>, code: i32, message: &str, data: Option<&Value>) -> Vec<u8> {
    let mut reply = opened(id, message.len());
    reply.extend_from_slice(b",\"error\":{\"code\":");
    write(&mut reply, &code);
    reply.extend_from_slice(b",\"message\":");
    write(&mut reply, message);
    if let Some(data) = data {
        reply.extend_from_slice(b",\"data\":");
        write(&mut reply, data);
    }
    reply.extend_from_slice(b"}}");
    reply
}

fn opened(id: Option<&str>, more: usize) -> Vec<u8> {
    let id = id.map(str::as_bytes);
    let mut reply = Vec::with_capacity(128 + id.map_or(0, <[u8]>::len) + more);
    reply.extend_from_slice(b"{\"jsonrpc\":\"2.0\"");
    if let Some(id) = id {
        reply.extend_from_slice(b",\"id\":");
        reply.extend_from_slice(id);
    }
    reply
}

fn write<T: Serialize + ?Sized>(reply: &mut Vec<u8>, value: &T) {
    serde_json::to_writer(reply, value).expect("texts and numbers can always be written");
}
