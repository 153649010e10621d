//! HTTP: routes, joining, shapes, the order of refusals, the headers of every answer.

use serde_json::{Value, json};

use crate::tiny::{SERVER, start};
use crate::wire::{Answer, Connection, Request};

fn get(path: &str) -> Request {
    Request::new("GET", &format!("/api/v1{path}")).token("reader")
}

fn post(path: &str, body: &str) -> Request {
    Request::new("POST", &format!("/api/v1{path}")).token("writer").body(body)
}

fn send(request: &Request) -> Answer {
    request.send(SERVER.address)
}

/// What is refused, and how: status, reason, field, rule.
fn refused(request: &Request, status: u16, reason: &str, field: &str, rule: &str) -> Value {
    let answer = send(request);
    let json = answer.json();
    let said = (
        answer.status,
        json["reason"].as_str().unwrap_or_default(),
        json["details"]["field"].as_str().unwrap_or_default(),
        json["details"]["rule"].as_str().unwrap_or_default(),
    );
    assert_eq!(said, (status, reason, field, rule), "{} {}", request.path, answer.text());
    assert!(json["error"].as_str().is_some_and(|error| !error.is_empty()));
    json
}

#[test]
fn a_request_becomes_one_object() {
    let answer = send(&get("/sum?a=2&b=40"));
    assert_eq!((answer.status, answer.json()), (200, json!({"sum": 42})));
    let answer = send(
        &post("/threads/12/messages", r#"{"kind":"note","body":"ž 🎉","url":null}"#)
            .with("Idempotency-Key", "k1"),
    );
    assert_eq!(answer.status, 201, "{}", answer.text());
    assert_eq!(
        answer.json(),
        json!({"id": "th_12", "body": "ž 🎉", "client_ref": "k1", "by": "tiny:writer"})
    );
    let answer = send(&post("/echo", r#"{"text":"a","loud":true}"#));
    assert_eq!(answer.json()["loud"], true);
    let answer = send(&get("/echo?text=a+b%2Bc%C5%BE&limit=999&more=%5B%22x%22%5D"));
    assert_eq!(
        answer.json(),
        json!({"text": "a b+cž", "limit": 3, "loud": false, "more": ["x"], "line": "tiny:reader"})
    );
    assert_eq!(send(&get("/echo?text=a&limit=-7")).json()["limit"], 1);
    assert_eq!(send(&get("/echo?text=a&limit=99999999999999999999999")).json()["limit"], 3);
}

#[test]
fn a_wish_to_upgrade_is_passed_over() {
    // Nothing but HTTP is spoken here, and nobody waits for bytes that the head did not promise.
    for (with, protocol) in [("Upgrade", "websocket"), ("Upgrade", "h2c")] {
        let ask =
            post("/echo", r#"{"text":"a"}"#).with("Connection", "Upgrade").with(with, protocol);
        assert_eq!(send(&ask).status, 201, "{protocol}");
        assert_eq!(
            send(&get("/sum?a=2&b=40").with("Connection", "Upgrade").with(with, protocol)).status,
            200
        );
    }
}

#[test]
fn what_is_wrong_is_named() {
    let message = |body: &str| post("/threads/th_1/messages", body);
    let cases: [(Request, &str, &str); 32] = [
        (message(r#"{"body":"x"}"#), "kind", "required"),
        (message(r#"{"kind":"note","body":null}"#), "body", "required"),
        (message(r#"{"kind":"note"}"#), "body", "required"),
        (message(r#"{"kind":"note","body":""}"#), "body", "min_length"),
        (message(r#"{"kind":"nope","body":"x"}"#), "kind", "enum"),
        (message(r#"{"kind":5,"body":"x"}"#), "kind", "type"),
        (message(r#"{"kind":"note","body":"x","bdoy":"x"}"#), "bdoy", "unknown_field"),
        (message(r#"{"kind":"note","body":"x","created_at":null}"#), "created_at", "server_set"),
        (
            message(r#"{"kind":"note","body":"x","author_kind":"user"}"#),
            "author_kind",
            "server_set",
        ),
        (message(r#"{"kind":"note","body":"x","id":"msg_1"}"#), "id", "server_set"),
        (
            message(r#"{"kind":"note","body":"x","from":{"identity":"a"}}"#),
            "from.identity",
            "server_set",
        ),
        (
            message(r#"{"kind":"note","body":"x","from":{"extension":""}}"#),
            "from.extension",
            "min_length",
        ),
        (message(r#"{"kind":"note","body":"x","from":"me"}"#), "from", "type"),
        (
            message(r#"{"kind":"note","body":"x","claims":[{"statement":""}]}"#),
            "claims[0].statement",
            "min_length",
        ),
        (
            message(r#"{"kind":"note","body":"x","claims":[{"statement":"s","x":1}]}"#),
            "claims[0].x",
            "unknown_field",
        ),
        (
            message(r#"{"kind":"note","body":"x","claims":[{"statement":"s"},{}]}"#),
            "claims[1].statement",
            "required",
        ),
        (
            message(r#"{"kind":"note","body":"x","evidence":[{"kind":"url","value":"ftp://x"}]}"#),
            "evidence[0].value",
            "http_url",
        ),
        (message(r#"{"kind":"note","body":"x","relates_to":["12"]}"#), "relates_to[0]", "pattern"),
        (message(r#"{"kind":"note","body":"x","relates_to":[12]}"#), "relates_to[0]", "type"),
        (
            message(
                r#"{"kind":"note","body":"x","relates_to":["th_1","th_1","th_1","th_1","th_1","th_1","th_1","th_1","th_1"]}"#,
            ),
            "relates_to",
            "max_items",
        ),
        (message(r#"{"kind":"note","body":"x","parent":0}"#), "parent", "pattern"),
        (message(r#"{"kind":"note","body":"x","parent":-1}"#), "parent", "type"),
        (message(r#"{"kind":"note","body":"x","parent":"th_1"}"#), "parent", "pattern"),
        (message(r#"{"kind":"note","body":"x","provenance":{"a":1}}"#), "provenance.a", "type"),
        (message(r#"{"kind":"note","body":"x","parley":"2"}"#), "parley", "enum"),
        (message(r#"{"kind":"note","body":"\u0000"}"#), "body", "nul"),
        (
            message(r#"{"kind":"note","body":"x","client_ref":"a"}"#).with("Idempotency-Key", "b"),
            "client_ref",
            "mismatch",
        ),
        (post("/echo?text=a", r#"{"text":"a"}"#), "text", "query"),
        (post("/echo", r#"{"text":"a","limit":"2"}"#), "limit", "type"),
        (get("/sum?a=1&a=2&b=3"), "a", "duplicate"),
        (get("/sum?a=x&b=3"), "a", "type"),
        (get("/echo?text=a&limit=many"), "limit", "type"),
    ];
    for (request, field, rule) in cases {
        refused(&request, 400, "invalid_body", field, rule);
    }
    let json = refused(
        &message(&format!(r#"{{"kind":"note","body":"{}"}}"#, "ž".repeat(501))),
        400,
        "invalid_body",
        "body",
        "max_length",
    );
    assert_eq!((&json["details"]["limit"], &json["details"]["actual"]), (&json!(500), &json!(501)));
    assert_eq!(
        send(&message(&format!(r#"{{"kind":"note","body":"{}"}}"#, "ž".repeat(500)))).status,
        201
    );
    let json =
        refused(&message(r#"{"kind":"nott","body":"x"}"#), 400, "invalid_body", "kind", "enum");
    assert_eq!(json["details"]["did_you_mean"], "note");
    let json = refused(
        &message(r#"{"kind":"note","boddy":"x"}"#),
        400,
        "invalid_body",
        "boddy",
        "unknown_field",
    );
    assert_eq!(json["details"]["did_you_mean"], "body");
    let many: Vec<String> = (0..17).map(|at| format!(r#""k{at}":"v""#)).collect();
    let many = format!(r#"{{"kind":"note","body":"x","provenance":{{{}}}}}"#, many.join(","));
    refused(&message(&many), 400, "invalid_body", "provenance", "max_properties");
}

#[test]
fn what_is_no_json_is_invalid_json() {
    for body in
        ["{", "nope", "{} {}", r#"{"text":"a","text":"b"}"#, r#"{"text":1e999}"#, "\u{feff}{}"]
    {
        refused(&post("/echo", body), 400, "invalid_json", "", "");
    }
    refused(&post("/echo", "").body(b"{\"text\":\"\xFF\"}"), 400, "invalid_json", "", "");
    refused(&post("/echo", "[]"), 400, "invalid_body", "", "type");
    refused(&post("/echo", ""), 400, "invalid_body", "text", "required");
    assert_eq!(
        send(&post("/echo", r#"{"text":"a"}"#).with("Content-Type", "text/plain")).status,
        201
    );
}

#[test]
fn refusals_come_in_their_order() {
    let broken = post("/seal", "{");
    refused(&broken.clone().token("nobody's"), 401, "unauthenticated", "", "");
    refused(&broken.clone().without("Authorization"), 401, "unauthenticated", "", "");
    refused(&broken.clone().having("Authorization", "Basic x"), 401, "unauthenticated", "", "");
    let json = refused(&broken, 403, "verify_right_missing", "", "");
    assert_eq!(json["details"]["allowed"], json!(["verify"]));
    refused(&post("/pin", "{"), 403, "token_right_missing", "", "");
    refused(&post("/echo", "{").token("reader"), 403, "token_read_only", "", "");
    refused(&post("/tokens", "{"), 403, "user_session_required", "", "");
    refused(&post("/tokens", "{").token("operator"), 400, "invalid_json", "", "");
    assert_eq!(send(&post("/tokens", "").token("operator")).status, 201);
    let json = refused(&post("/refused", ""), 409, "thread_closed", "", "");
    assert_eq!(
        json["next"],
        json!({"operation": "post_threads_id_reopen", "arguments": {"id": "th_1"}})
    );
    let json = refused(&post("/boom", ""), 500, "internal", "", "");
    assert!(json["details"]["log_id"].is_string());
}

#[test]
fn a_session_is_the_human_and_writes_with_its_csrf_token() {
    let write = Request::new("POST", "/api/v1/tokens").with("Cookie", "a=b; parley_session=s1");
    refused(&write, 403, "csrf", "", "");
    refused(&write.clone().with("X-CSRF-Token", "c2"), 403, "csrf", "", "");
    assert_eq!(send(&write.with("X-CSRF-Token", "c1")).status, 201);
    let read = Request::new("GET", "/api/v1/sum?a=1&b=1");
    assert_eq!(send(&read.clone().with("Cookie", "parley_session=s1")).status, 200);
    refused(&read.with("Cookie", "parley_session=old"), 401, "unauthenticated", "", "");
}

#[test]
fn paths_and_methods_that_are_not_there() {
    for path in [
        "/api/v1/nope",
        "/api/v1",
        "/api/v1/",
        "/",
        "/api/v1/sum/",
        "/%FF",
        "/.well-known/oauth-protected-resource/api/v1/mcp",
    ] {
        refused(&Request::new("GET", path), 404, "unknown_endpoint", "", "");
    }
    refused(&Request::new("POST", "/register"), 404, "unknown_endpoint", "", "");
    let answer = send(&Request::new("DELETE", "/api/v1/echo"));
    assert_eq!((answer.status, answer.reason().as_str()), (405, "unknown_endpoint"));
    assert_eq!(answer.header("allow"), Some("GET, POST, HEAD, OPTIONS"));
    let answer = send(&Request::new("HEAD", "/api/v1/sum?a=1&b=1").token("reader"));
    assert_eq!((answer.status, answer.header("content-length")), (200, Some("9")));
    refused(
        &post("/threads/%FF%00/messages", r#"{"kind":"note","body":"x"}"#),
        400,
        "invalid_body",
        "id",
        "pattern",
    );
    assert_eq!(send(&get("/operations/add")).json()["operation"]["key"], "add");
    let json = refused(&get("/operations/ad"), 404, "operation_not_found", "key", "");
    assert_eq!(json["details"]["did_you_mean"], "add");
}

#[test]
fn every_answer_carries_its_headers() {
    let requests = [
        get("/sum?a=1&b=1"),
        post("/echo", "{"),
        Request::new("GET", "/nope"),
        Request::new("GET", "/api/v1/health"),
        Request::new("GET", "/api/v1/mcp"),
        Request::new("DELETE", "/api/v1/echo"),
        Request::new("OPTIONS", "/api/v1/echo"),
        get("/sum").token("nobody's"),
    ];
    for request in requests {
        let answer = send(&request);
        let limit = answer.header("ratelimit").unwrap_or_default();
        assert!(limit.starts_with("\"minute\";r=") && limit.contains(";t="), "{answer:?}");
        assert_eq!(answer.header("ratelimit-policy"), Some("\"minute\";q=60000;w=60"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        if answer.status != 204 {
            assert_eq!(answer.header("content-type"), Some("application/json"));
        }
        let challenged = answer.header("www-authenticate") == Some("Bearer realm=\"tiny\"");
        assert_eq!(challenged, answer.status == 401);
    }
}

#[test]
fn an_allowance_ends() {
    let server = start(3);
    let sum = get("/sum?a=1&b=1").token("hasty");
    assert_eq!(sum.send(server.address).status, 200);
    assert_eq!(sum.send(server.address).header("ratelimit"), Some("\"minute\";r=0;t=60"));
    let answer = get("/sum").token("hasty").send(server.address);
    assert_eq!((answer.status, answer.reason().as_str()), (429, "rate_limited"));
    let seconds: u64 = answer.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=30).contains(&seconds));
    assert_eq!(answer.json()["retry_after_seconds"], seconds);
    // Refused credentials count for their address; others go on.
    let statuses: Vec<u16> =
        (0..4).map(|_| get("/sum").token("guess").send(server.address).status).collect();
    assert_eq!(statuses, [401, 401, 401, 429]);
    assert_eq!(Request::new("GET", "/api/v1/echo?text=a").send(server.address).status, 429);
    assert_eq!(Request::new("GET", "/api/v1/health").send(server.address).status, 200);
    assert_eq!(Request::new("GET", "/.well-known/x").send(server.address).status, 404);
    assert_eq!(get("/sum?a=1&b=1").send(server.address).status, 200);
}

#[test]
fn bodies_have_a_limit_and_connections_live_on() {
    let mut connection = Connection::open(SERVER.address);
    let full = format!(r#"{{"text":"a"{}}}"#, " ".repeat(64 * 1024 - 12));
    assert_eq!(connection.send(&post("/echo", &full)).status, 201);
    let mut over = post("/echo", &format!("{full} "));
    let answer = connection.send(&over);
    assert_eq!((answer.status, answer.reason().as_str()), (413, "payload_too_large"));
    assert_eq!(connection.send(&get("/sum?a=1&b=1")).status, 200);
    over.chunked = true;
    assert_eq!(connection.send(&over).status, 413);
    assert_eq!(connection.send(&get("/sum?a=1&b=1")).status, 200);
    let mut chunked = post("/echo", r#"{"text":"a long enough text"}"#);
    chunked.chunked = true;
    assert_eq!(connection.send(&chunked).status, 201);
}

#[test]
fn pages_of_allowed_origins_may_call() {
    let ask = |origin: &str| Request::new("OPTIONS", "/api/v1/echo").with("Origin", origin);
    let answer = send(&ask("https://claude.ai"));
    assert_eq!(
        (answer.status, answer.header("access-control-allow-origin")),
        (204, Some("https://claude.ai"))
    );
    assert_eq!(answer.header("allow"), Some("GET, POST, HEAD, OPTIONS"));
    let answer = send(&ask("https://evil.example"));
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (204, None));
    assert_eq!(answer.header("access-control-allow-headers"), None);
    let answer = send(&get("/sum?a=1&b=1").with("Origin", "http://localhost:5173"));
    assert_eq!(answer.header("access-control-allow-origin"), Some("http://localhost:5173"));
}

#[test]
fn a_server_that_goes_down_says_so() {
    let server = start(60_000);
    server.surface.drain();
    let answer = get("/sum?a=1&b=1").send(server.address);
    assert_eq!((answer.status, answer.reason().as_str()), (503, "unavailable"));
    assert_eq!(answer.header("connection").map(str::to_ascii_lowercase).as_deref(), Some("close"));
    assert_eq!(Request::new("GET", "/api/v1/health").send(server.address).status, 200);
}

#[test]
fn the_catalogue_reads_the_table() {
    let manifest = send(&Request::new("GET", "/api/v1/manifest")).json();
    assert_eq!((&manifest["parley"], &manifest["realm"]), (&json!("1"), &json!("tiny")));
    assert_eq!(manifest["operations"].as_array().unwrap().len(), 14);
    assert_eq!(manifest["limits"]["body"], 500);
    let list = send(&get("/operations?limit=3")).json();
    assert_eq!((list["items"].as_array().unwrap().len(), &list["next_cursor"]), (3, &json!("n3")));
    let rest = send(&get("/operations?cursor=n3")).json();
    assert_eq!((rest["items"].as_array().unwrap().len(), &rest["next_cursor"]), (11, &Value::Null));
    let one = send(&get("/operations/post_threads_id_messages")).json();
    let one = &one["operation"];
    assert_eq!(
        (&one["right"], &one["allowed"], &one["status"]),
        (&json!("write"), &json!(false), &json!(201))
    );
    assert_eq!(
        one["example"]["http"],
        json!({"method": "POST", "path": "/api/v1/threads/th_12/messages", "body": {"kind": "ask", "body": "…"}})
    );
    assert!(
        one["reasons"]
            .as_array()
            .unwrap()
            .iter()
            .any(|row| row["reason"] == "invalid_body" && row["status"] == 400)
    );
}
