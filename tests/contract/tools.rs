//! MCP: the numbered cases of the contract (mcp.md, section 8) about tools.

use serde_json::{Value, json};

use crate::rpc::*;
use crate::tiny::{SERVER, start};
use crate::wire::Request;

pub(crate) fn tools(path: &str) -> Vec<Value> {
    let mut request = q("tools/list", &json!({}));
    request.path = path.into();
    send(&request).json()["result"]["tools"].as_array().unwrap().clone()
}

#[test]
fn the_tool_list() {
    let bare = send(&u(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#));
    assert_eq!(bare.text(), send(&q("tools/list", &json!({}))).text(), "cases 83, 86");
    assert!(!bare.text().contains("nextCursor"), "case 84");
    let tools_all = tools(PATH);
    let mut names: Vec<&str> =
        tools_all.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(!names.contains(&"post_tokens") && !names.contains(&"get_health"));
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), tools_all.len(), "case 86");
    for tool in &tools_all {
        let name = tool["name"].as_str().unwrap();
        assert!(
            name.len() <= 40 && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'),
            "case 87"
        );
        let described = tool["description"].as_str().unwrap();
        assert!(!described.is_empty() && described.chars().count() < 2048, "case 87: {name}");
        assert!(tool.get("outputSchema").is_none(), "case 90");
        assert_eq!(
            (&tool["inputSchema"]["type"], &tool["inputSchema"]["additionalProperties"]),
            (&json!("object"), &json!(false))
        );
        assert!(tool["inputSchema"]["properties"].is_object(), "{name}");
        assert_eq!(tool["annotations"].as_object().unwrap().len(), 4);
        plain(&tool["inputSchema"], name);
    }
    let core = tools("/api/v1/mcp?tools=core");
    let names: Vec<&str> = core.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["get_manifest", "call_api_operation", "post_threads_id_messages"]);
    assert!(SERVER.surface.tool_list(false).len() <= parley::mcp::tools::TOOLS_BYTES);
    check(0, &send(&q("tools/list", &json!({"cursor": ""}))), &Error(200, -32602));
}

/// No `$ref`, no union, no combinator, `items` on every array, nothing of ours.
fn plain(schema: &Value, name: &str) {
    let map = schema.as_object().unwrap();
    for (member, value) in map {
        let allowed = [
            "type",
            "description",
            "properties",
            "required",
            "additionalProperties",
            "items",
            "enum",
            "minimum",
            "maximum",
            "minLength",
            "maxLength",
            "minItems",
            "maxItems",
            "maxProperties",
        ];
        assert!(allowed.contains(&member.as_str()), "{name}: {member}");
        assert!(!value.is_null(), "case 89");
    }
    assert!(map["type"].is_string(), "{name}: {schema}");
    assert!(map["type"] != "array" || map["items"].is_object(), "{name}");
    for inner in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
        plain(inner.1, name);
    }
    for inner in ["items", "additionalProperties"].iter().filter_map(|inner| map.get(*inner)) {
        if inner.is_object() {
            plain(inner, name);
        }
    }
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(members) => {
            members.iter().any(|(name, value)| name != "structuredContent" && has_null(value))
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

#[test]
fn tools_are_called() {
    let raw = |params: &str| {
        u(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#))
    };
    let manifest = send(&call("get_manifest", &json!({})));
    for params in [r#"{"name":"get_manifest"}"#, r#"{"name":"get_manifest","arguments":null}"#] {
        assert_eq!(send(&raw(params)).text(), manifest.text(), "case 92");
    }
    for request in [
        q("initialize", &json!({})),
        q("tools/list", &json!({})),
        call("get_echo", &json!({"text": "a"})),
        call("post_refused", &json!({})),
    ] {
        assert!(!has_null(&send(&request).json()), "case 89");
    }
    check_all(vec![
        (92, call("get_manifest", &json!({})), Success),
        (
            93,
            q(
                "tools/call",
                &json!({"name": "add", "arguments": {"a": 1, "b": 2}, "task": {}, "zzz": 1}),
            ),
            Success,
        ),
        (96, raw(r#"{"name":"get_manifest","arguments":[]}"#), Error(200, -32602)),
        (96, raw(r#"{"name":"get_manifest","arguments":"{}"}"#), Error(200, -32602)),
        (98, call("GET_MANIFEST", &json!({})), Error(200, -32602)),
        (98, call("get_health", &json!({})), Error(200, -32602)),
        (99, raw(r#"{"arguments":{}}"#), Error(200, -32602)),
        (99, raw(r#"{"name":5}"#), Error(200, -32602)),
        (101, call("add", &json!({"a": "x", "b": 2})), Refusal("invalid_body")),
        (101, call("add", &json!({"a": 1.5, "b": 2})), Refusal("invalid_body")),
        (104, call("add", &json!({"a": 1, "b": 2, "c": 3})), Refusal("invalid_body")),
        (105, call("post_refused", &json!({})), Refusal("thread_closed")),
        (
            108,
            call("post_threads_id_messages", &json!({"id": 1, "kind": "note", "body": "\u{0}"})),
            Refusal("invalid_body"),
        ),
        (111, call("post_echo", &json!({"text": "a"})).token("reader"), Refusal("token_read_only")),
        (111, q("tools/list", &json!({})).token("reader"), Success),
        (111, call("post_tokens", &json!({})), Refusal("user_session_required")),
        (113, call("post_boom", &json!({})), Refusal("internal")),
        (0, raw(r#"{"name":"add","arguments":{"a":1e400,"b":1}}"#), Error(400, -32700)),
        (0, raw(r#"{"name":"add","arguments":{"a":1,"a":2,"b":1}}"#), Refusal("invalid_json")),
        (0, raw(r#"{"name":"add","name":"add"}"#), Error(400, -32602)),
    ]);
    let unknown = send(&call("GET_MANIFEST", &json!({}))).json();
    assert_eq!(unknown["error"]["data"]["reason"], "unknown_tool");
    assert_eq!(unknown["error"]["data"]["next"]["operation"], "list_api_operations");
    let wrong = send(&call("add", &json!({"a": "x", "b": 2}))).json();
    assert_eq!(wrong["result"]["structuredContent"]["details"]["field"], "a", "case 101");
    let unknown = send(&call("add", &json!({"a": 1, "b": 2, "bb": 3}))).json();
    let details = &unknown["result"]["structuredContent"]["details"];
    assert_eq!(
        (&details["field"], &details["rule"], &details["did_you_mean"]),
        (&json!("bb"), &json!("unknown_field"), &json!("b")),
        "case 104"
    );
}

#[test]
fn what_models_write_is_understood() {
    let content = |request: &Request| send(request).json()["result"]["structuredContent"].clone();
    for (a, b) in
        [(json!("2"), json!(40)), (json!(2.0), json!("40")), (json!(" 2 "), json!("40.0"))]
    {
        assert_eq!(content(&call("add", &json!({"a": a, "b": b}))), json!({"sum": 42}), "case 102");
    }
    let echoed = content(&call(
        "get_echo",
        &json!({"text": "žluť 世界 🎉", "limit": "9", "loud": "true", "more": "[\"x\"]"}),
    ));
    assert_eq!(
        echoed,
        json!({"text": "žluť 世界 🎉", "limit": 3, "loud": true, "more": ["x"], "line": "tiny:writer"}),
        "case 107"
    );
    let echoed = content(&call(
        "get_echo",
        &json!({"text": "a", "limit": null, "loud": null, "more": null}),
    ));
    assert_eq!(echoed["more"], json!([]));
    for id in [json!("th_7"), json!("7"), json!(7), json!(7.0)] {
        let posted = content(&call(
            "post_threads_id_messages",
            &json!({"id": id, "kind": "note", "body": "x", "from": "{\"extension\":\"e\"}"}),
        ));
        assert_eq!((&posted["id"], &posted["by"]), (&json!("th_7"), &json!("tiny:writer")));
    }
    for (arguments, field) in [
        (json!({"text": "a", "more": "x"}), "more"),
        (json!({"text": 5}), "text"),
        (json!({"text": "a", "loud": "yes"}), "loud"),
        (json!({"text": "a", "more": ["toolong"]}), "more[0]"),
    ] {
        assert_eq!(content(&call("get_echo", &arguments))["details"]["field"], field);
    }
}

#[test]
fn any_operation_is_called_by_key() {
    let by_key = |key: &str, arguments: Value| {
        call("call_api_operation", &json!({"key": key, "arguments": arguments}))
    };
    let content = |request: &Request| send(request).json()["result"]["structuredContent"].clone();
    assert_eq!(content(&by_key("add", json!({"a": "2", "b": 3}))), json!({"sum": 5}));
    assert_eq!(content(&by_key("get_health", json!({})))["ready"], true);
    check_all(vec![
        (0, by_key("post_refused", json!({})), Refusal("thread_closed")),
        (0, by_key("add", json!({"a": 1})), Refusal("invalid_body")),
        (0, by_key("post_tokens", json!({})), Refusal("user_session_required")),
        (0, by_key("post_echo", json!({"text": "a"})).token("reader"), Refusal("token_read_only")),
        (0, by_key("nope", json!({})), Refusal("operation_not_found")),
        (0, by_key("call_api_operation", json!({"key": "add"})), Refusal("invalid_body")),
        (0, call("call_api_operation", &json!({"key": "get_manifest"})), Success),
        (
            0,
            call("call_api_operation", &json!({"key": "add", "arguments": "{\"a\":1,\"b\":2}"})),
            Success,
        ),
    ]);
}

#[test]
fn an_allowance_ends_with_a_result_that_says_so() {
    let server = start(60_000);
    let add = call("add", &json!({"a": 1, "b": 2})).token("hasty");
    assert_eq!(add.send(server.address).status, 200);
    assert_eq!(add.send(server.address).status, 200);
    let answer = add.send(server.address);
    assert_eq!(answer.status, 429);
    let seconds: u64 = answer.header("retry-after").unwrap().parse().unwrap();
    let json = answer.json();
    assert_eq!((&json["id"], &json["result"]["isError"]), (&json!(1), &json!(true)));
    let content = &json["result"]["structuredContent"];
    assert_eq!(
        (&content["reason"], &content["retry_after_seconds"]),
        (&json!("rate_limited"), &json!(seconds))
    );
    assert_eq!(answer.header("ratelimit"), Some("\"minute\";r=0;t=60"));
    let broken = u("{").token("hasty").send(server.address);
    assert_eq!((broken.status, broken.reason().as_str()), (429, "rate_limited"));
    server.surface.drain();
    assert_eq!(ping().send(server.address).status, 503);
}
