//! Tokens by application, rights and revocation, feature requests (section 7), on a server that is restarted in between.

#[expect(dead_code, reason = "each test file uses its part of the harness")]
mod harness;

use harness::{Person, World, text};
use parley::client::Client;
use serde_json::{Value, json};

const STATES: [&str; 6] = ["pending", "in_review", "approved", "rejected", "deferred", "withdrawn"];

fn application(label: &str) -> Value {
    json!({
        "label": label, "purpose": "To settle questions.", "model": "m-1", "client": "cli", "provider": "somebody",
        "contact": "ops@example.org",
    })
}

/// Somebody new: the person, its token and its request.
fn applies(world: &World, label: &str) -> (Person, String) {
    let applied = world.person("nobody").post("/tokens/request", &application(label)).expect(201);
    assert_eq!((&applied["rights"], &applied["status"]), (&json!(["read"]), &json!("pending")));
    let client = Client::new(world.origin()).with_token(text(&applied["token"]));
    (Person::new(label, client), text(&applied["request_id"]))
}

fn review(by: &Person, request: &str, body: &Value) -> harness::Reply {
    by.post(&format!("/token-requests/{request}/review"), body)
}

fn ids(list: &Value) -> Vec<String> {
    list["items"].as_array().expect("items").iter().map(|item| text(&item["id"])).collect()
}

#[test]
fn an_applicant_reads_at_once_and_writes_from_its_approval_on() {
    let world = World::start();
    let (human, granter) = (world.person("human"), world.person("granter"));
    let (codex, request) = applies(&world, "Codex");
    let ask = json!({"kind": "ask", "body": "?"});
    codex.get("/boards").expect(200);
    codex.opens(&ask).expect_refused("token_read_only");
    // Its own request, and nobody else's.
    let (amp, other) = applies(&world, "Amp");
    let shown = codex.get(&format!("/token-requests/{request}")).expect(200)["request"].clone();
    assert_eq!(
        (&shown["identity"], &shown["contact"]),
        (&json!("parley:codex"), &json!("ops@example.org"))
    );
    codex.get(&format!("/token-requests/{other}")).expect_refused("request_forbidden");
    assert_eq!(ids(&codex.get("/token-requests").expect(200)), [&*request]);
    assert_eq!(ids(&world.person("writer").get("/token-requests").expect(200)), [""; 0]);
    assert_eq!(ids(&granter.get("/token-requests").expect(200)), [&*request, &*other]);
    let first = granter.get("/token-requests?limit=1").expect(200);
    let next = format!("/token-requests?limit=1&cursor={}", text(&first["next_cursor"]));
    assert_eq!(
        (ids(&first), ids(&granter.get(&next).expect(200))),
        (vec![request.clone()], vec![other.clone()])
    );
    // A reviewer with `write` and `grant` gives `write`, and takes nothing back.
    review(&codex, &request, &json!({"decision": "approved"}))
        .expect_refused("token_right_missing");
    review(granter, &request, &json!({"decision": "approved"}))
        .expect_refused("token_right_missing");
    review(granter, &request, &json!({"decision": "in_review"})).expect(200);
    let approve = json!({"decision": "approved", "rights": ["write"], "reason": "welcome"});
    let approved = review(granter, &request, &approve).expect(200)["request"].clone();
    assert_eq!(
        (&approved["status"], &approved["rights"]),
        (&json!("approved"), &json!(["read", "write"]))
    );
    assert_eq!(
        (&approved["reviewed_by"], &approved["reason"]),
        (&json!("parley:granter"), &json!("welcome"))
    );
    codex.opens(&ask).expect(201);
    amp.post(&format!("/token-requests/{request}/withdraw"), &json!({}))
        .expect_refused("request_forbidden");
    amp.post(&format!("/token-requests/{other}/withdraw"), &json!({})).expect(200);
    amp.post(&format!("/token-requests/{other}/withdraw"), &json!({}))
        .expect_refused("request_decided");
    // Nobody reviews its own request, whatever rights it was given since.
    let token = text(&approved["token"]);
    human
        .post(&format!("/tokens/{token}/rights"), &json!({"rights": ["write", "grant"]}))
        .expect(200);
    review(&codex, &request, &approve).expect_refused("request_forbidden");
    review(human, &other, &json!({"decision": "approved"})).expect_refused("request_decided");
    let world = world.restart();
    let codex = codex.at(&world.origin());
    codex.opens(&ask).expect(201);
    let human = world.person("human");
    for state in STATES {
        let found = ids(&human.get(&format!("/token-requests?status={state}")).expect(200));
        let expected = match state {
            "approved" => vec![request.clone()],
            "withdrawn" => vec![other.clone()],
            _ => Vec::new(),
        };
        assert_eq!(found, expected, "{state}");
    }
    human.get("/token-requests?status=lost").expect_refused("invalid_body");
    // A cursor beyond everything is an empty page, however large it is.
    let end = human.get("/token-requests?cursor=nffffffffffffffff").expect(200);
    assert_eq!(ids(&end), [""; 0]);
}

#[test]
fn rights_and_revocation_hold_from_the_next_call_on() {
    let world = World::start();
    let human = world.person("human");
    let issued = human.post("/tokens", &json!({"label": "Aider", "rights": []})).expect(201);
    let aider =
        Person::new("aider", Client::new(world.origin()).with_token(text(&issued["token"])));
    let id = text(&issued["id"]);
    let ask = json!({"kind": "ask", "body": "?", "from": {"extension": "worker-7"}});
    aider.opens(&ask).expect_refused("token_read_only");
    let rights = format!("/tokens/{id}/rights");
    let token =
        human.post(&rights, &json!({"rights": ["write", "lock"]})).expect(200)["token"].clone();
    assert_eq!(token["rights"], json!(["read", "write", "lock"]));
    aider.opens(&ask).expect(201);
    human.post(&rights, &json!({"rights": []})).expect(200);
    aider.opens(&ask).expect_refused("token_read_only");
    human.post("/tokens/tok_999/rights", &json!({"rights": []})).expect_refused("not_found");
    aider.post(&rights, &json!({"rights": ["lock"]})).expect_refused("user_session_required");
    // The list shows who it is and which sub-lines it used, and never a secret.
    let listed = world.person("granter").get("/tokens?limit=100").expect(200);
    let shown = listed["items"].as_array().expect("items").iter().find(|token| token["id"] == id);
    let shown = shown.expect("it is listed").clone();
    assert_eq!((&shown["identity"], &shown["revoked"]), (&json!("parley:aider"), &json!(false)));
    assert_eq!(shown["extensions"][0]["extension"], "worker-7");
    assert!(!listed.to_string().contains("secret") && !listed.to_string().contains("parley_"));
    // Revoked is revoked, twice is once, and no rights bring it back.
    let (asker, request) = applies(&world, "Late");
    let late =
        text(&human.get(&format!("/token-requests/{request}")).expect(200)["request"]["token"]);
    for token in [&id, &late] {
        for _ in 0..2 {
            let revoked = human.post(&format!("/tokens/{token}/revoke"), &json!({})).expect(200);
            assert_eq!(revoked["token"]["revoked"], true);
        }
    }
    for gone in [&aider, &asker] {
        gone.get("/boards").expect_refused("unauthenticated");
    }
    human.post(&rights, &json!({"rights": ["write"]})).expect_refused("conflict");
    review(human, &request, &json!({"decision": "approved"})).expect_refused("request_decided");
    let world = world.restart();
    aider.at(&world.origin()).get("/boards").expect_refused("unauthenticated");
}

#[test]
fn applications_are_bounded_by_the_hour_and_by_those_that_wait() {
    let world = World::start_with(|config| {
        config.limits.token_requests_per_hour = 3;
        config.limits.token_requests_pending_max = 5;
    });
    for _ in 0..3 {
        applies(&world, "Swarm");
    }
    let nobody = world.person("nobody");
    let refused =
        nobody.post("/tokens/request", &application("Swarm")).expect_refused("rate_limited");
    assert!(refused["details"]["retry_after_seconds"].as_u64().is_some_and(|wait| wait > 60));
    // A form that is filled in wrongly costs nothing, and the allowance for the rest is another.
    nobody.get("/manifest").expect(200);
    let writer = world.person("writer");
    writer.post("/tokens/request", &json!({"label": "x"})).expect_refused("invalid_body");
    for _ in 0..2 {
        writer.post("/tokens/request", &application("Swarm")).expect(201);
    }
    writer.post("/tokens/request", &application("Swarm")).expect_refused("unavailable");
    review(world.person("human"), "req_1", &json!({"decision": "rejected"})).expect(200);
    world.person("other").post("/tokens/request", &application("Swarm")).expect(201);
}

#[test]
fn every_field_of_an_application_is_needed_and_bounded_in_code_points() {
    let world = World::start_with(|config| config.limits.token_requests_per_hour = 1_000);
    let nobody = world.person("nobody");
    for field in ["label", "purpose", "model", "client", "provider", "contact"] {
        let most = if field == "purpose" { 500 } else { 200 };
        for (value, fits) in [
            (json!("👩‍👩‍👧"), true),
            (json!("é".repeat(most)), true),
            (json!("🎉".repeat(most + 1)), false),
            (json!(""), false),
            (json!(" \u{200b}"), false),
            (json!("a\0b"), false),
            (json!(7), false),
            (Value::Null, false),
        ] {
            let mut form = application("Codex");
            form[field] = value.clone();
            let reply = nobody.post("/tokens/request", &form);
            if fits {
                reply.expect(201);
            } else {
                let refusal = reply.expect_refused("invalid_body");
                assert_eq!(refusal["details"]["field"], field, "{value}");
            }
        }
    }
}

#[test]
fn a_feature_request_is_seen_by_its_author_and_by_reviewers_and_can_be_marked() {
    let world = World::start();
    let (writer, other, granter) =
        (world.person("writer"), world.person("other"), world.person("granter"));
    let wish =
        json!({"title": "Dark mode", "body": "For the night.", "from": {"extension": "owl"}});
    let feature = writer.post("/features", &wish).expect(201)["feature"].clone();
    assert_eq!(
        (&feature["status"], &feature["from"]),
        (&json!("open"), &json!({"identity": "parley:writer", "extension": "owl"}))
    );
    let id = text(&feature["id"]);
    world.person("reader").post("/features", &wish).expect_refused("token_read_only");
    assert_eq!(ids(&writer.get("/features").expect(200)), [&*id]);
    assert_eq!(ids(&granter.get("/features?status=open").expect(200)), [&*id]);
    assert_eq!(ids(&other.get("/features").expect(200)), [""; 0]);
    let status = format!("/features/{id}/status");
    writer.post(&status, &json!({"status": "done"})).expect_refused("token_right_missing");
    granter.post(&status, &json!({"status": "open"})).expect_refused("invalid_body");
    granter.post(&status, &json!({"status": "accepted", "note": "soon"})).expect(200);
    let world = world.restart();
    let shown = world.person("writer").get("/features").expect(200)["items"][0].clone();
    assert_eq!(
        (&shown["status"], &shown["note"], &shown["marked_by"]),
        (&json!("accepted"), &json!("soon"), &json!("parley:granter"))
    );
    world.person("human").post(&status, &json!({"status": "done"})).expect(200);
}

#[test]
fn reviewers_and_the_applicant_are_told_at_once_and_nobody_else() {
    let world = World::start();
    let headers = |person: &Person, start: &str| {
        let token = person.client.token().expect("a token");
        format!("Authorization: Bearer {token}\r\nLast-Event-ID: {start}\r\n")
    };
    let start = text(&world.person("writer").get("/inbox").expect(200)["cursor"]);
    let (codex, request) = applies(&world, "Codex");
    let wish = json!({"title": "Dark mode", "body": "For the night."});
    world.person("writer").post("/features", &wish).expect(201);
    review(world.person("human"), &request, &json!({"decision": "deferred"})).expect(200);
    world.person("writer").post("/boards", &json!({"slug": "last", "title": "Last"})).expect(201);
    let kinds = |person: &Person, count| {
        let told = world.events("", &headers(person, &start), count);
        told.into_iter().map(|(_, kind, _)| kind).collect::<Vec<_>>()
    };
    let all = ["token_request", "feature", "token_request", "board"];
    assert_eq!(kinds(world.person("human"), 4), all);
    assert_eq!(kinds(world.person("granter"), 4), all);
    assert_eq!(kinds(&codex, 3), ["token_request", "token_request", "board"]);
    assert_eq!(kinds(world.person("writer"), 2), ["feature", "board"]);
    assert_eq!(kinds(world.person("other"), 1), ["board"]);
    let told = world.events("", &headers(&codex, &start), 1);
    assert_eq!((&told[0].2["id"], &told[0].2["type"]), (&json!(request), &json!("token_request")));
}
