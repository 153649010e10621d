//! JSON-RPC requests as the contract abbreviates them (mcp.md, section 8), and what a case expects.

use serde_json::{Value, json};

use crate::tiny::SERVER;
use crate::wire::{Answer, Request};

pub(crate) const PATH: &str = "/api/v1/mcp";
pub(crate) const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
pub(crate) const OWN: &str = "https://tiny.example";

/// `U`: a POST with a valid token and the usual headers.
pub(crate) fn u(body: impl Into<Vec<u8>>) -> Request {
    Request::new("POST", PATH)
        .token("writer")
        .with("Content-Type", "application/json")
        .with("Accept", "application/json, text/event-stream")
        .body(body)
}

/// `q(m, p)`
pub(crate) fn q(method: &str, params: &Value) -> Request {
    u(json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string())
}

/// `M(m, p)`
pub(crate) fn m(method: &str, params: &Value) -> Request {
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

pub(crate) fn call(name: &str, arguments: &Value) -> Request {
    q("tools/call", &json!({"name": name, "arguments": arguments}))
}

pub(crate) fn ping() -> Request {
    q("ping", &json!({}))
}

/// What a case expects.
pub(crate) enum Expect {
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
pub(crate) use Expect::{Error, Refusal, Silence, Status, Success, Turned};

pub(crate) fn check(case: u32, answer: &Answer, expect: &Expect) {
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
pub(crate) fn same_twice(result: &Value, said: &str) {
    if let Some(content) = result.get("content") {
        assert_eq!(content[0]["type"], "text", "{said}");
        let text: Value = serde_json::from_str(content[0]["text"].as_str().unwrap()).unwrap();
        assert!(text.is_object() && text == result["structuredContent"], "{said}");
    }
}

pub(crate) fn check_all(cases: Vec<(u32, Request, Expect)>) {
    for (case, request, expect) in cases {
        check(case, &request.send(SERVER.address), &expect);
        // Whatever it was, the server lives.
        check(case, &ping().send(SERVER.address), &Success);
    }
}

pub(crate) fn send(request: &Request) -> Answer {
    request.send(SERVER.address)
}
