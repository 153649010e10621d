//! A walk over the table: every operation as everybody, every key as its path says, every reason on both surfaces.

#[expect(dead_code, reason = "each test file uses its part of the harness")]
mod harness;

use std::collections::BTreeSet;

use harness::{World, text};
use parley::client::Era;
use parley::forum::Forum;
use parley::mcp::tools::{CORE_BYTES, INSTRUCTIONS, INSTRUCTIONS_CHARS, TOOLS_BYTES, Tools};
use parley::operation::{JSON, Needs, Operation, Reach, Table, Takes};
use parley::operations;
use parley_language::words::Right;
use serde_json::{Value, json};

/// Keys that no path gives, by name.
const NAMED: [&str; 5] =
    ["wait", "search", "list_api_operations", "get_api_operation", "call_api_operation"];

fn key_of(row: &Operation<Forum>) -> String {
    let path = row.path.replace(['{', '}'], "").replace('-', "_");
    let words = path.split('/').filter(|word| !word.is_empty());
    std::iter::once(row.method.as_str().to_lowercase())
        .chain(words.map(String::from))
        .collect::<Vec<_>>()
        .join("_")
}

#[test]
fn a_key_is_its_method_and_path() {
    for row in Table::new(operations::table).rows() {
        if !NAMED.contains(&row.key) {
            assert_eq!(row.key, key_of(row));
        }
    }
}

#[test]
fn every_input_and_every_field_says_what_it_is() {
    for row in Table::new(operations::table).rows() {
        assert!(!row.summary.is_empty(), "{}", row.key);
        for (field, schema) in row.input["properties"].as_object().into_iter().flatten() {
            assert!(schema["description"].is_string(), "{}.{field}", row.key);
        }
    }
}

#[test]
fn the_tool_lists_stay_within_their_budgets() {
    let tools = Tools::new(&Table::new(operations::table), "parley", "0");
    println!("tools/list: {} bytes, core {} bytes", tools.all.len(), tools.core.len());
    assert!(tools.all.len() <= TOOLS_BYTES && tools.core.len() <= CORE_BYTES);
}

#[test]
fn the_instructions_are_short_and_name_only_tools_that_exist() {
    assert!(INSTRUCTIONS.chars().count() <= INSTRUCTIONS_CHARS);
    let table = Table::new(operations::table);
    let words = INSTRUCTIONS.split('`').skip(1).step_by(2);
    for word in words.filter(|word| {
        word.starts_with("get_") || word.starts_with("post_") || word.ends_with("_operation")
    }) {
        assert!(table.get(word).is_some(), "{word}");
    }
}

/// What the door says to somebody without this need, first of all.
fn turned_away(needs: Needs, person: &str) -> Option<&'static str> {
    let rights: &[Right] = match person {
        "nobody" => return (needs != Needs::Public).then_some("unauthenticated"),
        "human" => return None,
        "writer" => &[Right::Write],
        "locker" => &[Right::Write, Right::Lock],
        "verifier" => &[Right::Write, Right::Verify],
        "granter" => &[Right::Write, Right::Grant],
        _ => &[],
    };
    match needs {
        Needs::Public | Needs::Read => None,
        Needs::Human => Some("user_session_required"),
        Needs::Write | Needs::Authority | Needs::Confirmer => {
            (!rights.contains(&Right::Write)).then_some("token_read_only")
        }
        Needs::Right(Right::Verify) => {
            (!rights.contains(&Right::Verify)).then_some("verify_right_missing")
        }
        Needs::Right(right) => (!rights.contains(&right)).then_some("token_right_missing"),
    }
}

#[test]
fn every_operation_admits_whom_its_row_names_on_both_surfaces() {
    const RIGHTS: [&str; 5] = [
        "unauthenticated",
        "token_read_only",
        "token_right_missing",
        "verify_right_missing",
        "user_session_required",
    ];
    let world = World::start();
    for row in Table::new(operations::table).rows() {
        for person in ["nobody", "reader", "writer", "locker", "verifier", "granter", "human"] {
            let expected = turned_away(row.needs, person);
            let at = format!("{} as {person}", row.key);
            let somebody = world.person(person);
            if row.reach != Reach::Mcp {
                // What the path names does not exist: whoever is let in changes nothing.
                let path = row.path.replace("{id}", "999999").replace("{key}", "nothing");
                let path = if row.key == "wait" { "/wait?timeout=0".into() } else { path };
                let reply = match row.method.as_str() {
                    "GET" => somebody.get(&path),
                    _ => somebody.post(&path, &json!({"nothing": 1})),
                };
                let said = reply.reason().filter(|reason| RIGHTS.contains(reason));
                assert_eq!(said, expected, "{at} over HTTP: {}", reply.json);
            }
            // Nobody and the human are turned away by MCP itself.
            if row.reach != Reach::Http && !matches!(person, "nobody" | "human") {
                for era in [Era::Handshake, Era::Stateless] {
                    let reply = somebody.calls(era, row.key, &json!({"nothing": 1}));
                    let said = reply.reason().filter(|reason| RIGHTS.contains(reason));
                    assert_eq!(said, expected, "{at} over MCP: {}", reply.json);
                }
            }
        }
    }
}

/// What somebody says who applies.
fn application(label: &str) -> Value {
    json!({"label": label, "purpose": "To help.", "model": "m", "client": "c", "provider": "p", "contact": "x@example.org"})
}

/// One way to every reason that a row declares: who, which operation, with what.
fn provocations(world: &World) -> Vec<(&'static str, &'static str, &'static str, Value)> {
    let (writer, other, human) =
        (world.person("writer"), world.person("other"), world.person("human"));
    let ask = json!({"kind": "ask", "body": "?"});
    let open = text(&writer.opens(&ask).expect(201)["thread"]["id"]);
    let locked = text(&writer.opens(&ask).expect(201)["thread"]["id"]);
    human.closes(&locked).expect(200);
    let side = text(&writer.opens(&ask).expect(201)["thread"]["id"]);
    human.post(&format!("/threads/{side}/state"), &json!({"state": "deferred"})).expect(200);
    let silent = text(&writer.opens(&ask).expect(201)["thread"]["id"]);
    human.post(&format!("/threads/{silent}/llm_reply"), &json!({"allowed": false})).expect(200);
    other.posts(&open, &json!({"kind": "note", "body": "n", "client_ref": "used"})).expect(201);
    let asserts = |person: &str, thread: &str, kind: &str, more: Value| {
        let mut said = json!({"kind": kind, "body": "so", "claims": [{"statement": "It is so."}]});
        let more = more.as_object().expect("an object").clone();
        said.as_object_mut().expect("an object").extend(more);
        let person = world.person(person);
        let posted =
            if thread.is_empty() { person.opens(&said) } else { person.posts(thread, &said) };
        let message = posted.expect(201)["message"].clone();
        (text(&message["claims"][0]), text(&message["thread"]))
    };
    let none = || json!({});
    let (claim, _) = asserts("writer", "", "note", none());
    let (verifiers_claim, _) = asserts("verifier", "", "note", none());
    let (locked_claim, thread) = asserts("writer", "", "note", none());
    human.closes(&thread).expect(200);
    let (silent_claim, thread) = asserts("writer", "", "note", none());
    human.post(&format!("/threads/{thread}/llm_reply"), &json!({"allowed": false})).expect(200);
    let (replaced, _) = asserts("writer", "", "note", none());
    asserts("writer", "", "refine", json!({"relates_to": [&replaced]}));
    let applied = world.person("nobody").post("/tokens/request", &application("Codex")).expect(201);
    let request = text(&applied["request_id"]);
    let decided = world.person("nobody").post("/tokens/request", &application("Amp")).expect(201);
    let decided = text(&decided["request_id"]);
    human
        .post(&format!("/token-requests/{decided}/review"), &json!({"decision": "rejected"}))
        .expect(200);
    let revoked = text(&human.post("/tokens", &json!({"label": "gone"})).expect(201)["id"]);
    human.post(&format!("/tokens/{revoked}/revoke"), &json!({})).expect(200);
    let proposed = text(&writer.opens(&ask).expect(201)["thread"]["id"]);
    other.posts(&proposed, &json!({"kind": "answer", "body": "so"})).expect(201);
    let saying = |id: &str, more: Value| {
        let mut said = json!({"id": id, "kind": "note", "body": "x"});
        let more = more.as_object().expect("an object").clone();
        said.as_object_mut().expect("an object").extend(more);
        said
    };
    let refutes = |target: &str| json!({"kind": "refute", "refutes": [target], "evidence": [{"kind": "log", "value": "v"}]});
    let (begin, state) = ("post_boards_id_threads", "post_threads_id_state");
    let (post, attest) = ("post_threads_id_messages", "post_claims_id_attest");
    vec![
        (
            "claim_not_found",
            "writer",
            post,
            json!({"id": open, "kind": "refute", "body": "x", "refutes": ["cl_999999"], "evidence": [{"kind": "log", "value": "v"}]}),
        ),
        ("thread_not_found", "writer", post, json!({"id": 999_999, "kind": "note", "body": "x"})),
        ("claim_not_found", "writer", attest, json!({"id": "cl_999999", "verdict": "supports"})),
        ("thread_closed", "writer", attest, json!({"id": locked_claim, "verdict": "supports"})),
        (
            "llm_reply_forbidden",
            "other",
            attest,
            json!({"id": silent_claim, "verdict": "supports"}),
        ),
        ("evidence_required", "writer", attest, json!({"id": claim, "verdict": "refutes"})),
        ("claim_superseded", "other", attest, json!({"id": replaced, "verdict": "supports"})),
        ("forbidden", "verifier", "post_claims_id_verify", json!({"id": verifiers_claim})),
        ("verify_right_missing", "writer", "post_claims_id_verify", json!({"id": claim})),
        ("invalid_body", "reader", "post_inbox_ack", json!({"cursor": "pffffffffffff"})),
        ("request_not_found", "reader", "get_token_requests_id", json!({"id": "req_999999"})),
        ("request_forbidden", "writer", "get_token_requests_id", json!({"id": request})),
        ("request_forbidden", "writer", "post_token_requests_id_withdraw", json!({"id": request})),
        (
            "request_decided",
            "granter",
            "post_token_requests_id_review",
            json!({"id": decided, "decision": "approved"}),
        ),
        (
            "token_right_missing",
            "granter",
            "post_token_requests_id_review",
            json!({"id": request, "decision": "approved", "rights": ["lock"]}),
        ),
        (
            "not_found",
            "granter",
            "post_features_id_status",
            json!({"id": "ft_999999", "status": "done"}),
        ),
        ("board_not_found", "writer", "get_boards_id", json!({"id": "nowhere"})),
        ("token_read_only", "reader", begin, saying("lobby", json!({}))),
        ("user_session_required", "writer", "post_tokens", json!({"label": "x"})),
        ("board_not_found", "reader", "get_threads", json!({"board": "nowhere"})),
        ("board_not_found", "reader", "search", json!({"q": "x", "board": "nowhere"})),
        ("thread_not_found", "reader", "search", json!({"q": "x", "thread": "th_999999"})),
        ("claim_superseded", "other", post, saying(&open, refutes(&replaced))),
        ("thread_authority_missing", "other", post, saying(&open, json!({"kind": "decide"}))),
        ("claim_not_found", "writer", begin, saying("lobby", refutes("cl_999999"))),
        ("claim_superseded", "other", begin, saying("lobby", refutes(&replaced))),
        ("thread_closed", "other", begin, saying("lobby", refutes(&locked_claim))),
        ("llm_reply_forbidden", "other", begin, saying("lobby", refutes(&silent_claim))),
        ("evidence_required", "other", begin, saying("lobby", json!({"kind": "refute"}))),
        ("parent_not_found", "other", begin, saying("lobby", json!({"parent": "msg_1"}))),
        ("not_found", "other", begin, saying("lobby", json!({"relates_to": ["msg_999999"]}))),
        ("conflict", "other", begin, saying("lobby", json!({"client_ref": "used"}))),
        ("thread_closed", "verifier", "post_claims_id_verify", json!({"id": locked_claim})),
        ("claim_superseded", "verifier", "post_claims_id_verify", json!({"id": replaced})),
        ("state_invalid", "writer", "post_threads_id_close", json!({"id": side})),
        ("thread_closed", "writer", "post_threads_id_close", json!({"id": locked})),
        ("thread_closed", "pinner", "post_threads_id_pin", json!({"id": locked, "pinned": true})),
        ("thread_authority_missing", "other", "post_threads_id_confirm", json!({"id": proposed})),
        ("thread_authority_missing", "other", "post_threads_id_revert", json!({"id": proposed})),
        ("nothing_to_confirm", "locker", "post_threads_id_revert", json!({"id": open})),
        ("thread_authority_missing", "other", "post_threads_id_reopen", json!({"id": locked})),
        ("state_invalid", "writer", state, json!({"id": side, "state": "rejected"})),
        ("thread_authority_missing", "other", state, json!({"id": open, "state": "rejected"})),
        ("thread_closed", "writer", state, json!({"id": locked, "state": "rejected"})),
        (
            "not_found",
            "human",
            "post_threads_id_llm_reply",
            json!({"id": open, "allowed": false, "message": "msg_999999"}),
        ),
        ("conflict", "human", "post_tokens_id_rights", json!({"id": revoked, "rights": []})),
        (
            "parent_not_found",
            "writer",
            post,
            json!({"id": open, "kind": "note", "body": "x", "parent": 999_999}),
        ),
        (
            "not_found",
            "writer",
            post,
            json!({"id": open, "kind": "note", "body": "x", "relates_to": ["msg_999999"]}),
        ),
        ("thread_closed", "writer", post, json!({"id": locked, "kind": "note", "body": "x"})),
        ("llm_reply_forbidden", "other", post, json!({"id": silent, "kind": "note", "body": "x"})),
        ("thread_authority_missing", "other", "post_threads_id_close", json!({"id": open})),
        ("state_invalid", "other", post, json!({"id": side, "kind": "answer", "body": "x"})),
        ("state_invalid", "writer", "post_threads_id_reopen", json!({"id": open})),
        ("nothing_to_confirm", "locker", "post_threads_id_confirm", json!({"id": open})),
        ("self_reply", "other", post, json!({"id": open, "kind": "note", "body": "x"})),
        ("evidence_required", "writer", post, json!({"id": open, "kind": "refute", "body": "x"})),
        (
            "conflict",
            "other",
            post,
            json!({"id": open, "kind": "note", "body": "other words", "client_ref": "used"}),
        ),
        ("conflict", "writer", "post_boards", json!({"slug": "lobby", "title": "Again"})),
        (
            "state_not_settable",
            "writer",
            "post_threads_id_state",
            json!({"id": open, "state": "answered"}),
        ),
        ("operation_not_found", "writer", "get_api_operation", json!({"key": "get_nothing"})),
        (
            "invalid_body",
            "writer",
            post,
            json!({"id": open, "kind": "note", "body": "x", "boddy": 1}),
        ),
        ("invalid_body", "writer", post, json!({"id": open, "kind": "note", "body": "\u{200b}"})),
    ]
}

/// What is not there, for every operation whose path names something: with the arguments of its own example.
fn strangers(
    world: &World,
    table: &Table<Forum>,
) -> Vec<(&'static str, &'static str, &'static str, Value)> {
    let of_nothing = |row: &Operation<Forum>| {
        let reason = match row.path.split('/').nth(1)? {
            "boards" => "board_not_found",
            "threads" => "thread_not_found",
            "claims" => "claim_not_found",
            "token-requests" => "request_not_found",
            "operations" => "operation_not_found",
            _ => "not_found",
        };
        let person = match row.needs {
            Needs::Human => "human",
            Needs::Right(Right::Grant) => "granter",
            Needs::Right(Right::Verify) => "verifier",
            Needs::Right(_) => "pinner",
            _ => "writer",
        };
        let shown = world.person("reader").get(&format!("/operations/{}", row.key)).expect(200);
        let mut arguments = shown["operation"]["example"]["mcp"]["arguments"].clone();
        let (name, nothing) =
            if row.path.contains("{key}") { ("key", "nothing") } else { ("id", "999999") };
        arguments[name] = json!(nothing);
        Some((reason, person, row.key, arguments))
    };
    let named =
        table.rows().iter().filter(|row| row.takes == Takes::Json && row.reach == Reach::Both);
    named.filter(|row| row.path.contains('{')).filter_map(of_nothing).collect()
}

/// Reasons that a row declares and nobody provokes here: the same rule of the language as in another row, where it is
/// provoked, or a race. This list only shrinks.
const SAME_RULE: [(&str, &str); 2] = [
    // Only an applicant's own token comes there: tests/desk.rs.
    ("post_token_requests_id_review", "request_forbidden"),
    ("post_token_requests_id_withdraw", "request_decided"),
];

/// Reasons that no row has as its own, and where they are provoked.
const ELSEWHERE: [(&str, &str); 13] = [
    ("csrf", "tests/session.rs; only browsers run into it"),
    ("image_missing", "tests/images.rs; HTTP only"),
    ("image_too_large", "tests/images.rs; HTTP only"),
    ("image_type", "tests/images.rs; HTTP only"),
    ("internal", "tests/contract: a handler that panics"),
    ("invalid_json", "tests/contract, on both surfaces"),
    ("payload_too_large", "tests/limits.rs and tests/contract, on both surfaces"),
    ("rate_limited", "tests/limits.rs and tests/contract, on both surfaces"),
    ("token_required", "tests/session.rs; only MCP says it"),
    ("unauthenticated", "the walk above, on both surfaces"),
    ("unavailable", "tests/desk.rs: too many wait for a decision"),
    ("unknown_endpoint", "tests/contract; HTTP only"),
    ("unknown_tool", "tests/contract; only MCP says it"),
];

#[test]
fn every_declared_reason_is_given_alike_on_both_surfaces() {
    let world = World::start();
    let table = Table::new(operations::table);
    let mut given: BTreeSet<(&str, &str)> = BTreeSet::new();
    let all = provocations(&world).into_iter().chain(strangers(&world, &table));
    for (reason, person, key, arguments) in all {
        let row = table.get(key).expect("a row");
        let somebody = world.person(person);
        let mut body = arguments.as_object().cloned().expect("an object");
        let mut path = row.path.to_owned();
        for name in ["id", "key"] {
            if path.contains(&format!("{{{name}}}")) {
                let value = body.remove(name).expect("what the path names");
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                path = path.replace(&format!("{{{name}}}"), &value);
            }
        }
        let http = match row.method.as_str() {
            "GET" => somebody.get(&query(&path, &body)),
            _ => somebody.post(&path, &Value::Object(body)),
        };
        let status = http.status;
        let http = http.expect_refused(reason);
        let row_of_reason = parley_language::Reason::ALL
            .iter()
            .find(|known| known.name() == reason)
            .expect("a reason");
        assert_eq!(status, row_of_reason.status(), "{reason}");
        // Over MCP nobody is the human.
        for era in [Era::Handshake, Era::Stateless].into_iter().filter(|_| person != "human") {
            assert_eq!(
                somebody.calls(era, key, &arguments).expect_refused(reason),
                http,
                "{reason}"
            );
        }
        given.insert((key, reason));
    }
    // What takes or gives a file is provoked in tests/images.rs.
    let declared: BTreeSet<(&str, &str)> = table
        .rows()
        .iter()
        .filter(|row| {
            row.key != "call_api_operation" && row.takes == Takes::Json && row.gives == [JSON]
        })
        .flat_map(|row| row.refuses.iter().map(|reason| (row.key, reason.name())))
        .collect();
    let missing: BTreeSet<_> = declared.difference(&given).copied().collect();
    assert_eq!(missing, SAME_RULE.into(), "declared but never provoked");
    let own: BTreeSet<&str> = given.iter().map(|(_, reason)| *reason).collect();
    let others = parley_language::Reason::ALL.iter().map(|reason| reason.name());
    let others: BTreeSet<&str> = others.filter(|reason| !own.contains(reason)).collect();
    let known: BTreeSet<&str> = ELSEWHERE.iter().map(|(reason, _)| *reason).collect();
    assert_eq!(others, known, "reasons that nobody provokes");
}

/// A path with what is left of the arguments as its query.
fn query(path: &str, arguments: &serde_json::Map<String, Value>) -> String {
    let pairs = arguments.iter().map(|(name, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("{name}={value}")
    });
    format!("{path}?{}", pairs.collect::<Vec<_>>().join("&"))
}

#[test]
fn no_text_takes_a_live_token() {
    let world = World::start();
    let token = text(
        &world.person("human").post("/tokens", &json!({"label": "leaky"})).expect(201)["token"],
    );
    let writer = world.person("writer");
    let evidence = |value: &str, note: &str| json!([{"kind": "log", "value": value, "note": note}]);
    for (field, part) in [
        ("body", json!({"body": format!("use {token}!")})),
        ("provenance.model", json!({"provenance": {"model": token}})),
        ("evidence[0].value", json!({"evidence": evidence(&token, "n")})),
        ("evidence[0].note", json!({"evidence": evidence("v", &token)})),
        ("claims[0].statement", json!({"claims": [{"statement": token}]})),
        ("url", json!({"url": format!("https://example.org/?t={token}")})),
        ("client_ref", json!({"client_ref": token})),
    ] {
        let mut envelope = json!({"kind": "ask", "body": "?"});
        envelope
            .as_object_mut()
            .expect("an object")
            .extend(part.as_object().expect("an object").clone());
        let refusal = writer.opens(&envelope).expect_refused("invalid_body");
        assert_eq!(
            (&refusal["details"]["field"], &refusal["details"]["rule"]),
            (&json!(field), &json!("contains_token"))
        );
    }
    let dead = token.replace("parley_", "parley_9");
    writer.opens(&json!({"kind": "ask", "body": format!("not live: {dead}")})).expect(201);
}

#[actix_web::test]
async fn a_server_that_drains_says_that_it_is_not_ready() {
    use parley::operations::catalogue::Instance;
    let journal = std::sync::Arc::new(parley_journal::memory::Memory::new());
    let registry =
        parley_actors::Registry::open(journal, parley_actors::registry::Settings::default()).await;
    let callers = parley::callers::Callers::new([0; 32], &parley::config::Config::shipped().limits);
    let registry = registry.expect("an empty journal opens");
    let folder = tempfile::tempdir().expect("a folder");
    let search = parley::search::Search::open(registry.clone(), folder.path()).expect("an index");
    let forum = Forum::new(registry, callers, search, &parley::config::Config::shipped());
    assert!(forum.health().ready);
    forum.drain();
    assert!(!forum.health().ready);
}
