//! MCP: the numbered cases of the contract (mcp.md, section 8) that a server of tools alone can show.

use serde_json::{Value, json};

use crate::tiny::{SERVER, start};
use crate::wire::{Answer, Connection, Request};

const PATH: &str = "/api/v1/mcp";
const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const OWN: &str = "https://tiny.example";

/// `U`: a POST with a valid token and the usual headers.
fn u(body: impl Into<Vec<u8>>) -> Request {
    Request::new("POST", PATH)
        .token("writer")
        .with("Content-Type", "application/json")
        .with("Accept", "application/json, text/event-stream")
        .body(body)
}

/// `q(m, p)`
fn q(method: &str, params: &Value) -> Request {
    u(json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string())
}

/// `M(m, p)`
fn m(method: &str, params: &Value) -> Request {
    let mut with_meta = params.clone();
    with_meta["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let request =
        q(method, &with_meta).with("MCP-Protocol-Version", "2026-07-28").with("Mcp-Method", method);
    match params["name"].as_str() {
        Some(name) => request.with("Mcp-Name", name),
        None => request,
    }
}

fn call(name: &str, arguments: &Value) -> Request {
    q("tools/call", &json!({"name": name, "arguments": arguments}))
}

fn ping() -> Request {
    q("ping", &json!({}))
}

/// What a case expects.
enum Expect {
    /// This status, whatever the body.
    Status(u16),
    /// This status and no body at all.
    Silence(u16),
    /// `E(s, c)`
    Error(u16, i64),
    /// 200 and a result that is no error.
    Success,
    /// *refusal*, with this reason.
    Refusal(&'static str),
    /// A JSON body with this status and reason, outside JSON-RPC.
    Turned(u16, &'static str),
}
use Expect::{Error, Refusal, Silence, Status, Success, Turned};

fn check(case: u32, answer: &Answer, expect: &Expect) {
    let said = format!("case {case}: {} {}", answer.status, answer.text());
    assert!(answer.header("mcp-session-id").is_none(), "case 29: {said}");
    assert!(answer.header("ratelimit").is_some(), "{said}");
    match expect {
        Status(status) => assert_eq!(answer.status, *status, "{said}"),
        Silence(status) => assert_eq!((answer.status, answer.body.len()), (*status, 0), "{said}"),
        Error(status, code) => {
            assert_eq!(answer.status, *status, "{said}");
            let json = answer.json();
            assert_eq!(json["error"]["code"], *code, "{said}");
            assert!(json["error"]["message"].is_string() && json.get("result").is_none(), "{said}");
            assert_ne!(json.get("id"), Some(&Value::Null), "case 65: {said}");
        }
        Success => {
            assert_eq!(answer.status, 200, "{said}");
            let json = answer.json();
            assert!(
                json["result"].is_object() && json["result"].get("isError").is_none(),
                "{said}"
            );
            same_twice(&json["result"], &said);
        }
        Refusal(reason) => {
            assert_eq!(answer.status, 200, "{said}");
            let json = answer.json();
            assert_eq!(json["result"]["isError"], true, "{said}");
            assert_eq!(json["result"]["structuredContent"]["reason"], *reason, "{said}");
            same_twice(&json["result"], &said);
        }
        Turned(status, reason) => {
            assert_eq!((answer.status, answer.reason().as_str()), (*status, *reason), "{said}");
        }
    }
}

/// Case 95: the text is the JSON of the structured content.
fn same_twice(result: &Value, said: &str) {
    if let Some(content) = result.get("content") {
        assert_eq!(content[0]["type"], "text", "{said}");
        let text: Value = serde_json::from_str(content[0]["text"].as_str().unwrap()).unwrap();
        assert!(text.is_object() && text == result["structuredContent"], "{said}");
    }
}

fn check_all(cases: Vec<(u32, Request, Expect)>) {
    for (case, request, expect) in cases {
        check(case, &request.send(SERVER.address), &expect);
        // Whatever it was, the server lives.
        check(case, &ping().send(SERVER.address), &Success);
    }
}

fn send(request: &Request) -> Answer {
    request.send(SERVER.address)
}

#[test]
fn transport() {
    let bare = |method, path: &str| Request::new(method, path);
    let mut chunked = ping();
    chunked.chunked = true;
    let mut slash = ping();
    slash.path.push('/');
    check_all(vec![
        (2, bare("GET", PATH), Turned(405, "unknown_endpoint")),
        (3, bare("DELETE", PATH).with("Mcp-Session-Id", "x"), Turned(405, "unknown_endpoint")),
        (5, slash, Success),
        (
            6,
            bare("GET", "/.well-known/oauth-protected-resource/api/v1/mcp"),
            Turned(404, "unknown_endpoint"),
        ),
        (8, bare("POST", "/register"), Turned(404, "unknown_endpoint")),
        (9, ping().without("Authorization"), Turned(401, "unauthenticated")),
        (11, ping().having("Authorization", "bearer writer"), Success),
        (12, ping().having("Authorization", "Basic d3JpdGVyOg=="), Turned(401, "unauthenticated")),
        (14, u("{").without("Authorization"), Turned(401, "unauthenticated")),
        (
            15,
            u(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).without("Authorization"),
            Turned(401, "unauthenticated"),
        ),
        (17, ping().with("Origin", "null"), Turned(403, "forbidden")),
        (
            17,
            ping().with("Origin", "http://evil.example.com").having("Host", "evil.example.com"),
            Turned(403, "forbidden"),
        ),
        (18, ping().with("Origin", OWN), Success),
        (18, ping().with("Origin", "http://127.0.0.1:7464"), Success),
        (18, ping().with("Origin", "https://claude.ai"), Success),
        (21, ping().having("Content-Type", "text/plain"), Error(415, -32600)),
        (21, ping().having("Content-Type", "application/json; charset=utf-8"), Success),
        (23, ping().without("Accept"), Success),
        (24, ping().having("Accept", "*/*"), Success),
        (26, ping().having("Accept", "text/event-stream, application/json"), Success),
        (27, ping().having("Accept", "text/event-stream"), Success),
        (27, ping().having("Accept", "text/html"), Error(406, -32600)),
        (30, q("tools/list", &json!({})).with("Mcp-Session-Id", "stale-123"), Success),
        (32, chunked, Success),
        (33, u(vec![b' '; 5 * 1024 * 1024]), Turned(413, "payload_too_large")),
        // A session or the operator key is not an agent.
        (
            0,
            ping().without("Authorization").with("Cookie", "parley_session=s1"),
            Turned(401, "token_required"),
        ),
        (0, ping().token("operator"), Turned(401, "token_required")),
        (0, bare("GET", PATH).with("Origin", "null"), Turned(403, "forbidden")),
    ]);
    let get = send(&bare("GET", PATH));
    assert_eq!(
        (get.header("allow"), get.header("www-authenticate")),
        (Some("POST, OPTIONS"), None)
    );
    let challenge = send(&ping().without("Authorization"));
    assert_eq!(challenge.header("www-authenticate"), Some("Bearer realm=\"tiny\""));
}

#[test]
fn case_20_preflight() {
    let asked = ["authorization", "content-type", "mcp-protocol-version", "mcp-method", "mcp-name"];
    let answer = send(
        &Request::new("OPTIONS", PATH)
            .with("Origin", OWN)
            .with("Access-Control-Request-Method", "POST")
            .with("Access-Control-Request-Headers", &asked.join(",")),
    );
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (204, Some(OWN)));
    let allowed = answer.header("access-control-allow-headers").unwrap().to_ascii_lowercase();
    assert!(asked.iter().all(|name| allowed.split(", ").any(|other| other == *name)), "{allowed}");
    assert_eq!(send(&Request::new("OPTIONS", PATH).with("Origin", "null")).status, 403);
    assert_eq!(send(&Request::new("OPTIONS", PATH)).status, 204);
}

#[test]
fn case_35_one_connection() {
    let mut connection = Connection::open(SERVER.address);
    check(35, &connection.send(&u("{")), &Error(400, -32700));
    check(
        35,
        &connection.send(&u(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)),
        &Silence(202),
    );
    check(35, &connection.send(&ping()), &Success);
    // Case 138: each by its own rules.
    check(138, &connection.send(&m("ping", &json!({}))), &Error(404, -32601));
    check(138, &connection.send(&ping()), &Success);
    check(138, &connection.send(&m("server/discover", &json!({}))), &Success);
    check(138, &connection.send(&q("no/such", &json!({}))), &Error(200, -32601));
}

#[test]
fn json_rpc() {
    let id = |id: &str| u(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#));
    check_all(vec![
        (36, u(""), Error(400, -32700)),
        (38, u(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\xFFng\"}"), Error(400, -32700)),
        (39, u("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"), Success),
        (
            41,
            u(r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":NaN}}"#),
            Error(400, -32700),
        ),
        (42, u(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#), Error(400, -32600)),
        (44, u("\"hi\""), Error(400, -32600)),
        (45, u(r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#), Error(400, -32600)),
        (45, u(r#"{"id":1,"method":"ping"}"#), Error(400, -32600)),
        (47, u(r#"{"jsonrpc":"2.0","id":1,"method":5}"#), Error(400, -32600)),
        (47, u(r#"{"jsonrpc":"2.0","id":1}"#), Error(400, -32600)),
        (48, id("null"), Error(400, -32600)),
        (48, id("true"), Error(400, -32600)),
        (48, id("1.5"), Error(400, -32600)),
        (48, id("1e3"), Error(400, -32600)),
        (50, id(r#"{"a":1}"#), Error(400, -32600)),
        (51, id("[1]"), Error(400, -32600)),
        (0, u(r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#), Error(400, -32600)),
        (0, u(r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#), Error(400, -32602)),
        (0, u(r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":null}"#), Error(400, -32602)),
        (59, q("no/such", &json!({})), Error(200, -32601)),
        (60, u(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#), Silence(202)),
        (
            62,
            u(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}"#),
            Silence(202),
        ),
        (
            63,
            u(r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"post_boom"}}"#),
            Silence(202),
        ),
        (0, u(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), Silence(202)),
        (
            0,
            u(r#"{"jsonrpc":"2.0","method":"x"}"#).with("MCP-Protocol-Version", "2099-01-01"),
            Error(400, -32022),
        ),
    ]);
    for (case, raw) in [
        (53, "0"),
        (54, "-5"),
        (56, "\"\""),
        (56, "\"é世\""),
        (57, "9007199254740993"),
        (56, r#""a\u00e9\"b""#),
    ] {
        let answer = send(&id(raw));
        assert!(
            answer.text().contains(&format!("\"id\":{raw},")),
            "case {case}: {}",
            answer.text()
        );
    }
    assert_eq!(send(&q("no/such", &json!({}))).json()["id"], 1, "case 65");
}

#[test]
fn handshake_era() {
    let initialize = |version: &str| {
        q(
            "initialize",
            &json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}),
        )
    };
    for version in LEGACY {
        assert_eq!(
            send(&initialize(version)).json()["result"]["protocolVersion"],
            version,
            "case 66"
        );
    }
    let result = &send(&initialize("2025-11-25")).json()["result"];
    assert_eq!(result["serverInfo"], json!({"name": "tiny", "version": "0.0.1"}), "case 66");
    assert!(result["capabilities"]["tools"].is_object(), "case 66");
    assert!(result["instructions"].as_str().unwrap().chars().count() <= 1_800);
    for version in ["2026-07-28", "2099-01-01", "1.0", ""] {
        let answer = send(&initialize(version).with("MCP-Protocol-Version", "2026-07-28"));
        assert_eq!(answer.json()["result"]["protocolVersion"], "2025-11-25", "cases 68, 69");
    }
    check_all(vec![
        (71, initialize("2025-11-25").with("MCP-Protocol-Version", "2025-11-25"), Success),
        (72, q("initialize", &json!({"protocolVersion": "2025-11-25"})), Success),
        (72, u(r#"{"jsonrpc":"2.0","id":0,"method":"initialize"}"#), Success),
        (74, q("tools/list", &json!({})), Success),
        (75, q("tools/list", &json!({})).with("MCP-Protocol-Version", "2099-01-01"), Status(400)),
        (77, call("add", &json!({"a": 1, "b": 2})), Success),
        (81, q("logging/setLevel", &json!({"level": "debug"})), Error(200, -32601)),
        (0, q("server/discover", &json!({})), Error(200, -32601)),
    ]);
    assert_eq!(send(&ping()).json(), json!({"jsonrpc": "2.0", "id": 1, "result": {}}), "case 78");
    for (method, member) in [
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
    ] {
        assert_eq!(send(&q(method, &json!({}))).json()["result"], json!({member: []}), "case 80");
    }
}

fn tools(path: &str) -> Vec<Value> {
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
fn modern_era() {
    let discover = send(&m("server/discover", &json!({}))).json();
    let result = &discover["result"];
    assert!(
        result["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")),
        "case 114"
    );
    assert!(result["capabilities"]["tools"].is_object() && result["ttlMs"].is_u64(), "case 114");
    assert_eq!(
        (&result["resultType"], &result["cacheScope"]),
        (&json!("complete"), &json!("private")),
        "case 114"
    );
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "tiny");
    let list = send(&m("tools/list", &json!({}))).json();
    assert_eq!(list["result"]["tools"], json!(tools(PATH)), "case 116");
    assert!(
        list["result"]["resultType"] == "complete" && list["result"]["ttlMs"].is_u64(),
        "case 116"
    );
    let called = send(&m("tools/call", &json!({"name": "get_manifest"}))).json();
    assert_eq!(called["result"]["resultType"], "complete", "case 117");
    let refused = send(&m("tools/call", &json!({"name": "post_refused"}))).json();
    assert_eq!(
        (&refused["result"]["resultType"], &refused["result"]["isError"]),
        (&json!("complete"), &json!(true))
    );

    let add = || m("tools/call", &json!({"name": "add", "arguments": {"a": 1, "b": 2}}));
    let list = || m("tools/list", &json!({}));
    let lower = list().without("Mcp-Method").with("mcp-method", "tools/list");
    let upper = list().without("Mcp-Method").with("MCP-METHOD", "tools/list");
    let manifest = || m("tools/call", &json!({"name": "get_manifest"}));
    let meta =
        |meta: Value| q("tools/list", &json!({"_meta": meta})).with("Mcp-Method", "tools/list");
    let version = "io.modelcontextprotocol/protocolVersion";
    let capabilities = "io.modelcontextprotocol/clientCapabilities";
    check_all(vec![
        (119, lower, Success),
        (119, upper, Success),
        (120, list().without("Mcp-Method"), Error(400, -32020)),
        (122, list().having("Mcp-Method", "tools/call"), Error(400, -32020)),
        (122, list().having("Mcp-Method", "Tools/List"), Error(400, -32020)),
        (123, add().without("Mcp-Name"), Error(400, -32020)),
        (123, add().having("Mcp-Name", "get_manifest"), Error(400, -32020)),
        (125, manifest().having("Mcp-Name", "=?base64?Z2V0X21hbmlmZXN0?="), Success),
        (125, manifest().having("Mcp-Name", "=?base64?!!?="), Error(400, -32020)),
        (126, manifest().having("Mcp-Name", "  get_manifest  "), Success),
        (128, list().having("MCP-Protocol-Version", "2025-11-25"), Error(400, -32020)),
        (128, list().without("MCP-Protocol-Version"), Error(400, -32020)),
        (
            129,
            q("tools/list", &json!({})).with("MCP-Protocol-Version", "2026-07-28"),
            Error(400, -32602),
        ),
        (
            131,
            meta(json!({capabilities: {}})).with("MCP-Protocol-Version", "2026-07-28"),
            Error(400, -32602),
        ),
        (
            131,
            meta(json!({version: "2026-07-28"})).with("MCP-Protocol-Version", "2026-07-28"),
            Error(400, -32602),
        ),
        (
            131,
            meta(json!({version: null, capabilities: {}}))
                .with("MCP-Protocol-Version", "2026-07-28"),
            Error(400, -32602),
        ),
        (
            132,
            meta(json!({version: "2099-01-01", capabilities: {}}))
                .with("MCP-Protocol-Version", "2099-01-01"),
            Error(400, -32022),
        ),
        (134, m("subscriptions/listen", &json!({})), Error(404, -32601)),
        (134, m("initialize", &json!({"protocolVersion": "2026-07-28"})), Error(404, -32601)),
        (134, m("logging/setLevel", &json!({})), Error(404, -32601)),
        (135, m("tools/call", &json!({"name": "nope"})), Error(200, -32602)),
        (
            137,
            u(r#"{"jsonrpc":"2.0","method":"notifications/x"}"#)
                .with("MCP-Protocol-Version", "2026-07-28"),
            Silence(202),
        ),
        (140, list().without("Authorization"), Turned(401, "unauthenticated")),
    ]);
    let unserved = meta(json!({version: "2099-01-01", capabilities: {}}))
        .with("MCP-Protocol-Version", "2099-01-01");
    let data = &send(&unserved).json()["error"]["data"];
    assert_eq!(data["requested"], "2099-01-01", "case 132");
    assert_eq!(data["supported"], result["supportedVersions"], "case 132");
    let string_id = u(m("server/discover", &json!({})).body)
        .with("MCP-Protocol-Version", "2026-07-28")
        .with("Mcp-Method", "server/discover");
    let body =
        String::from_utf8(string_id.body.clone()).unwrap().replace("\"id\":1", "\"id\":\"d1\"");
    assert_eq!(send(&string_id.body(body)).json()["id"], "d1", "case 114");
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
