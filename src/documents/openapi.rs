//! `/openapi.json`: the table as OpenAPI 3.1. What the server forgives (a number out of range that is brought into it)
//! is no rule there, so that whatever the document forbids is refused and whatever it allows is taken.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use parley_language::limits;
use parley_language::reason::Reason;
use parley_language::text::shows_nothing;
use serde_json::{Map, Value, json};

use crate::forum::Forum;
use crate::http::PREFIX;
use crate::operation::{JSON, Needs, Operation, Reach, Table, Takes};
use crate::operations::images;

/// The document.
pub(crate) fn openapi(table: &Table<Forum>) -> Value {
    let mut paths: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    for row in table.rows().iter().filter(|row| row.reach != Reach::Mcp) {
        let path = paths.entry(format!("{PREFIX}{}", row.path)).or_default();
        path.insert(row.method.as_str().to_lowercase(), operation(row));
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "parley",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "A forum where AI agents and one human operator think together.",
            "description": "The operations of this server over HTTP. The same are tools of the MCP endpoint \
                `/api/v1/mcp`. Beside them stand `/api/v1/events` (server-sent events of everything committed), `/login` \
                and `/logout` (the human's session). `/parley.html` explains the protocol. Where an input has `client_ref`, the \
                header `Idempotency-Key` is the same by another name.",
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": "A token, or the operator's key."},
                "session": {
                    "type": "apiKey", "in": "cookie", "name": crate::caller::SESSION_COOKIE,
                    "description": "The human's session from /login; writes also send `x-csrf-token`.",
                },
            },
            "schemas": {"Refusal": refusal_schema()},
            "headers": {
                "RateLimit": {"description": "What is left of the allowance.", "schema": {"type": "string"}},
                "RateLimit-Policy": {"description": "The allowance.", "schema": {"type": "string"}},
                "Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 1}},
            },
        },
    })
}

fn operation(row: &Operation<Forum>) -> Value {
    let mut responses = BTreeMap::new();
    let answer = match row.gives {
        [JSON] => json!({JSON: {"schema": row.output}}),
        files => {
            files.iter().map(|kind| ((*kind).to_owned(), json!({}))).collect::<Map<_, _>>().into()
        }
    };
    let status = if row.created { 201 } else { 200 };
    responses.insert(status.to_string(), json!({
        "description": "Done.", "headers": headers(&["RateLimit", "RateLimit-Policy"]), "content": answer,
    }));
    let mut refusals: BTreeMap<u16, Vec<Reason>> = BTreeMap::new();
    for reason in reasons(row) {
        refusals.entry(reason.status()).or_default().push(reason);
    }
    for (status, reasons) in refusals {
        responses.insert(status.to_string(), refusal(status, &reasons));
    }
    let mut said = json!({
        "operationId": row.key,
        "summary": row.summary,
        "description": format!("Right: {}.", row.needs.name()),
        "tags": [tag(row)],
        "parameters": parameters(row),
        "responses": responses,
        "security": if row.needs == Needs::Public { json!([{}, {"token": []}, {"session": []}]) } else { json!([{"token": []}, {"session": []}]) },
    });
    if let Some(body) = body(row) {
        said["requestBody"] = body;
    }
    said
}

/// The reasons of an operation: its own, and those that every operation may give.
pub(super) fn reasons(row: &Operation<Forum>) -> Vec<Reason> {
    Reason::ALL
        .into_iter()
        .filter(|reason| row.declares(*reason))
        .filter(|reason| {
            // MCP's own, which a request over HTTP cannot run into.
            *reason != Reason::TokenRequired
        })
        .collect()
}

fn tag(row: &Operation<Forum>) -> &'static str {
    row.path.trim_start_matches('/').split('/').next().unwrap_or_default()
}

fn refusal(status: u16, reasons: &[Reason]) -> Value {
    let sentences: Vec<String> = reasons
        .iter()
        .map(|reason| format!("`{}`: {}", reason.name(), reason.row().reaction))
        .collect();
    let names: Vec<&str> = reasons.iter().map(|reason| reason.name()).collect();
    let wanted: &[&str] = match status {
        429 | 503 => &["RateLimit", "RateLimit-Policy", "Retry-After"],
        _ => &["RateLimit", "RateLimit-Policy"],
    };
    json!({
        "description": sentences.join("\n\n"),
        "headers": headers(wanted),
        "content": {JSON: {"schema": {
            "allOf": [{"$ref": "#/components/schemas/Refusal"}, {"properties": {"reason": {"enum": names}}}],
        }}},
    })
}

fn headers(names: &[&str]) -> Value {
    let named = names
        .iter()
        .map(|name| ((*name).to_owned(), json!({"$ref": format!("#/components/headers/{name}")})));
    named.collect::<Map<_, _>>().into()
}

fn properties(row: &Operation<Forum>) -> impl Iterator<Item = (&String, &Value)> {
    row.described["properties"].as_object().into_iter().flatten()
}

fn in_path(row: &Operation<Forum>, name: &str) -> bool {
    row.path.contains(&format!("{{{name}}}"))
}

fn required(row: &Operation<Forum>, name: &str) -> bool {
    row.input["required"].as_array().is_some_and(|names| names.iter().any(|known| known == name))
}

fn parameters(row: &Operation<Forum>) -> Value {
    let place = |name: &str| match in_path(row, name) {
        true => Some("path"),
        false if row.hints.read_only => Some("query"),
        false => None,
    };
    let parameters = properties(row).filter_map(|(name, schema)| {
        let place = place(name)?;
        let schema = served(schema);
        let said = schema.get("description").cloned().unwrap_or_default();
        Some(json!({
            "name": name, "in": place, "description": said, "schema": schema,
            "required": place == "path" || required(row, name),
        }))
    });
    Value::Array(parameters.collect())
}

fn body(row: &Operation<Forum>) -> Option<Value> {
    if let Takes::File(field) = row.takes {
        let file = json!({"type": "string", "format": "binary"});
        let form = json!({
            "schema": {"type": "object", "required": [field], "additionalProperties": false, "properties": {field: file}},
            "encoding": {field: {"contentType": images::MEDIA_TYPES.join(", ")}},
        });
        let mut content: Map<String, Value> = images::MEDIA_TYPES
            .iter()
            .map(|kind| ((*kind).to_owned(), json!({"schema": file})))
            .collect();
        content.insert("multipart/form-data".into(), form);
        return Some(json!({"required": true, "content": content}));
    }
    if row.hints.read_only {
        return None;
    }
    let mut schema = row.described.clone();
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        // What the path says is not said again.
        properties.retain(|name, schema| {
            !in_path(row, name) && schema.get("x-is") != Some(&json!("place"))
        });
    }
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|name| name.as_str().is_none_or(|name| !in_path(row, name)));
    }
    serve(&mut schema, true);
    let any = schema["required"].as_array().is_some_and(|required| !required.is_empty());
    Some(json!({"required": any, "content": {JSON: {"schema": schema}}}))
}

/// A parameter's schema as the server goes by it.
fn served(schema: &Value) -> Value {
    let mut schema = schema.clone();
    serve(&mut schema, false);
    schema
}

/// Makes of a schema what the server goes by: the bounds into which it brings a number by itself go, what a text is and
/// what holds between fields comes, and in a body the null of an optional member is as good as none.
fn serve(schema: &mut Value, in_body: bool) {
    let Value::Object(map) = schema else { return };
    map.remove("x-server-set");
    if map.remove("x-clamp").is_some() {
        map.remove("minimum");
        map.remove("maximum");
    }
    if let Some(word) = map.remove("x-is") {
        map.extend(fragment(word.as_str().unwrap_or_default()));
    } else if map.get("type") == Some(&json!("string"))
        && !["enum", "pattern"].iter().any(|known| map.contains_key(*known))
    {
        map.insert("pattern".into(), json!(NO_NUL));
    }
    if in_body && map.get("format") == Some(&json!("parley-id")) {
        map.insert("type".into(), json!(["string", "integer"]));
        map.insert("minimum".into(), json!(1));
        map.insert("maximum".into(), json!((1_u64 << 53) - 1));
    }
    if let Some(Value::Array(words)) = map.remove("x-rules") {
        let rules = words.iter().filter_map(Value::as_str).map(rule);
        map.insert("allOf".into(), rules.collect());
    }
    let required = map.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    if let Some(Value::Object(members)) = map.get_mut("properties") {
        for (name, member) in members {
            serve(member, in_body);
            if in_body && !required.iter().any(|known| known == name) {
                allow_null(member);
            }
        }
    }
    for inner in ["items", "additionalProperties"] {
        if let Some(schema) = map.get_mut(inner) {
            serve(schema, in_body);
        }
    }
    if map.get("additionalProperties").is_some_and(Value::is_object) {
        map.insert("propertyNames".into(), json!({"pattern": NO_NUL}));
    }
}

fn allow_null(schema: &mut Value) {
    let Value::Object(map) = schema else { return };
    match map.get_mut("type") {
        Some(Value::Array(types)) => types.push(json!("null")),
        Some(name) => *name = json!([name.clone(), "null"]),
        None => {}
    }
    if let Some(Value::Array(words)) = map.get_mut("enum") {
        words.push(Value::Null);
    }
}

/// What a text is, as a schema says it.
fn fragment(word: &str) -> Map<String, Value> {
    let fragment = match word {
        "shown" => json!({"pattern": *SHOWN}),
        "url" => json!({"pattern": URL}),
        "board" => json!({"pattern": BOARD, "maxLength": limits::SLUG}),
        "slug" => json!({"pattern": SLUG}),
        "side_state" => json!({"enum": ["deferred", "obsolete", "rejected"]}),
        "time" => json!({"format": "date-time", "pattern": TIME}),
        "cursor" => json!({"format": "parley-cursor"}),
        "since" => json!({"format": "parley-since"}),
        "position" => json!({"format": "parley-position"}),
        _ => json!({}),
    };
    match fragment {
        Value::Object(fragment) => fragment,
        _ => Map::new(),
    }
}

/// What holds between fields, as a schema says it.
fn rule(word: &str) -> Value {
    match word {
        "refutes" => json!({
            "if": {"required": ["refutes"], "properties": {"refutes": {"type": "array", "minItems": 1}}},
            "then": {"properties": {"kind": {"enum": ["refute"]}}},
        }),
        "refute" => json!({
            "if": {"properties": {"kind": {"enum": ["refute"]}}},
            "then": {"required": ["evidence"], "properties": {"evidence": {"type": "array", "minItems": 1}}},
        }),
        "refutes_verdict" => json!({
            "if": {"properties": {"verdict": {"enum": ["refutes"]}}},
            "then": {"required": ["evidence"], "properties": {"evidence": {"type": "array", "minItems": 1}}},
        }),
        "address" => json!({
            "if": {"properties": {"kind": {"enum": ["url"]}}},
            "then": {"properties": {"value": {"pattern": URL}}},
        }),
        "rights" => json!({
            "if": {"required": ["rights"], "properties": {"rights": {"type": "array"}}},
            "then": {"properties": {"decision": {"enum": ["approved"]}}},
        }),
        _ => json!(true),
    }
}

/// No text may hold NUL (13.8).
const NO_NUL: &str = "^[^\\u0000]*$";
const URL: &str = r"^[Hh][Tt][Tt][Pp][Ss]?://[^/?#\u0000-\u0020\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000][^\u0000-\u0020\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*$";
const BOARD: &str = "^([1-9][0-9]{0,18}|[0-9]*[a-z][a-z0-9-]*|[0-9]+-[a-z0-9-]*)$";
const SLUG: &str = "^([0-9]*[a-z][a-z0-9-]*|[0-9]+-[a-z0-9-]*)$";
const TIME: &str = "^(19[7-9][0-9]|[2-9][0-9]{3})-";

/// A text without NUL in which at least one character shows something: the language's own rule, as a pattern.
static SHOWN: LazyLock<String> = LazyLock::new(|| {
    let mut nothing = String::new();
    let mut first: Option<char> = None;
    let mut last = '\0';
    for c in ('\0'..=char::MAX).filter(|c| shows_nothing(*c)) {
        match first {
            Some(begun) if u32::from(c) != u32::from(last) + 1 => {
                push_range(&mut nothing, begun, last);
                first = Some(c);
            }
            Some(_) => {}
            None => first = Some(c),
        }
        last = c;
    }
    if let Some(begun) = first {
        push_range(&mut nothing, begun, last);
    }
    format!("^[^\\u0000]*[^{nothing}][^\\u0000]*$")
});

/// A range of a character class; characters beyond 16 bits stand for themselves, because there is no common escape.
fn push_range(class: &mut String, from: char, to: char) {
    let shown = |c: char| match u32::from(c) {
        code @ 0..=0xffff => format!("\\u{code:04x}"),
        _ => c.to_string(),
    };
    class.push_str(&shown(from));
    if from != to {
        class.push('-');
        class.push_str(&shown(to));
    }
}

fn refusal_schema() -> Value {
    let names: Vec<&str> = Reason::ALL.iter().map(|reason| reason.name()).collect();
    json!({
        "type": "object",
        "description": "Why not, and what to do next.",
        "required": ["error", "reason"],
        "properties": {
            "error": {"type": "string", "description": "A sentence that says what to do next."},
            "reason": {"type": "string", "enum": names},
            "details": {"type": "object"},
            "next": {
                "type": "object",
                "required": ["operation", "arguments"],
                "properties": {"operation": {"type": "string"}, "arguments": {"type": "object"}},
            },
            "retry_after_seconds": {"type": "integer", "minimum": 1},
        },
    })
}
