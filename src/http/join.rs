//! Path, query, body and `Idempotency-Key` become the one object that an MCP client would have sent.

use actix_web::http::header::HeaderMap;
use parley_language::Refusal;
use parley_language::reason::{Details, Reason};
use serde_json::{Map, Value};

use crate::json;
use crate::shape::{Shape, refuse_field};

/// The header that is `client_ref` by another name.
pub(crate) const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// Joins what a request says.
///
/// # Errors
/// `invalid_json` for a body that is none, `invalid_body` for a field that is given twice, and for a query where the
/// operation writes: texts in addresses end up in logs.
pub(crate) fn join(
    shape: &Shape,
    params: &matchit::Params<'_, '_>,
    query: &str,
    reads: bool,
    body: &[u8],
    headers: &HeaderMap,
) -> Result<Value, Refusal> {
    let mut input = match body {
        [] => Map::new(),
        bytes => match json::parse(bytes)? {
            Value::Object(map) => map,
            _ => return Err(no_object()),
        },
    };
    for (name, text) in params.iter() {
        if input.contains_key(name) {
            return Err(twice(shape, name));
        }
        input.insert(name.to_owned(), shape.value_of_text(name, percent_decoded(text)));
    }
    for (name, text) in pairs(query) {
        if !reads {
            let error =
                format!("`{name}` stands in the query; what is sent here goes into the body");
            return Err(refuse_field(&name, "query", error));
        }
        if input.contains_key(&name) {
            return Err(twice(shape, &name));
        }
        let value = shape.value_of_text(&name, text);
        input.insert(name, value);
    }
    if let Some(key) = headers.get(IDEMPOTENCY_KEY)
        && shape.has("client_ref")
    {
        let key = String::from_utf8_lossy(key.as_bytes());
        match input.get("client_ref") {
            None | Some(Value::Null) => {
                input.insert("client_ref".into(), Value::String(key.into_owned()));
            }
            Some(Value::String(same)) if *same == key => {}
            Some(_) => {
                let error = "`client_ref` and the header Idempotency-Key differ; send one of them, or the same";
                return Err(refuse_field("client_ref", "mismatch", error));
            }
        }
    }
    Ok(Value::Object(input))
}

fn no_object() -> Refusal {
    let details =
        Details { rule: Some("type".into()), allowed: vec!["object".into()], ..Details::default() };
    Refusal::new(Reason::InvalidBody, "the body must be one JSON object").with(details)
}

/// A field that stands in two places. An envelope's `id` is the server's to give, wherever else an id stands (13.2).
fn twice(shape: &Shape, name: &str) -> Refusal {
    if shape.is_server_set(name) {
        return refuse_field(
            name,
            "server_set",
            format!("`{name}` is set by the server; leave it out of the body"),
        );
    }
    refuse_field(name, "duplicate", format!("`{name}` is given twice; send it once"))
}

/// The pairs of a query, decoded; what is no UTF-8 becomes the replacement character and then no valid value.
pub(crate) fn pairs(query: &str) -> impl Iterator<Item = (String, String)> {
    query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let plain = |text: &str| percent_decoded(&text.replace('+', " "));
        (plain(name), plain(value))
    })
}

/// Decodes `%41`; a `%` that begins no such thing stands for itself.
pub(crate) fn percent_decoded(text: &str) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let digit = |at: usize| bytes.get(at).and_then(|b| char::from(*b).to_digit(16));
        match (bytes[at], digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push((high * 16 + low) as u8);
                at += 3;
            }
            (byte, _, _) => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8(decoded)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_decoded_and_never_break() {
        let read = |query| pairs(query).collect::<Vec<_>>();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            read("a=1&b=x+y%20%C5%BE&&c"),
            [pair("a", "1"), pair("b", "x y ž"), pair("c", "")]
        );
        assert_eq!(read("%=%zz%4"), [pair("%", "%zz%4")]);
        assert_eq!(read("a=%FF"), [pair("a", "\u{FFFD}")]);
    }
}
