//! MCP: the numbered cases of the contract (mcp.md, section 8) about transport, messages and eras.

use serde_json::{Value, json};

use crate::rpc::*;
use crate::tiny::SERVER;
use crate::tools::tools;
use crate::wire::{Connection, Request};

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
