//! Every limit of the manifest: what is as large as it may be is taken, what is larger by one is not. Texts are counted in
//! code points, whatever they look like.

#[expect(dead_code, reason = "each test file uses its part of the harness")]
mod harness;

use std::time::{Duration, Instant};

use harness::{Person, World, text};
use serde_json::{Value, json};

/// One code point each, a family of five that looks like one, and letters with an accent of their own.
const ALPHABETS: [&str; 4] = ["x", "🎉", "👩\u{200d}👩\u{200d}👧", "e\u{301}"];

/// So many code points of an alphabet.
fn points(alphabet: &str, count: usize) -> String {
    alphabet.chars().cycle().take(count).collect()
}

/// An envelope that is all right but for what the test puts in.
fn envelope(more: &Value) -> Value {
    let mut envelope = json!({"kind": "ask", "body": "?"});
    let more = more.as_object().expect("an object").clone();
    envelope.as_object_mut().expect("an object").extend(more);
    envelope
}

/// The field with a text of so many code points.
fn with_text(limit: &str, alphabet: &str, count: usize) -> Value {
    let said = points(alphabet, count);
    let part = match limit {
        "body" => json!({"body": said}),
        "url" => {
            let start = "https://example.org/";
            json!({"url": format!("{start}{}", points(alphabet, count - start.len()))})
        }
        "extension" => json!({"from": {"extension": said}}),
        "claim_statement" => json!({"claims": [{"statement": said}]}),
        "evidence_value" => json!({"evidence": [{"kind": "log", "value": said}]}),
        "evidence_note" => json!({"evidence": [{"kind": "log", "value": "v", "note": said}]}),
        "provenance_value" => json!({"provenance": {"model": said}}),
        "client_ref" => json!({"client_ref": said}),
        other => panic!("{other} is no text"),
    };
    envelope(&part)
}

/// The field with so many entries.
fn with_entries(limit: &str, count: usize, thread: &str) -> Value {
    let each = |entry: &dyn Fn(usize) -> Value| (0..count).map(entry).collect::<Vec<_>>();
    let part = match limit {
        "relates_to" => json!({"relates_to": each(&|_| json!(thread))}),
        "claims" => json!({"claims": each(&|at| json!({"statement": format!("claim {at}")}))}),
        "evidence" => {
            json!({"evidence": each(&|at| json!({"kind": "log", "value": format!("{at}")}))})
        }
        "provenance_keys" => {
            let keys = (0..count).map(|at| (format!("key{at}"), json!("v")));
            json!({"provenance": keys.collect::<serde_json::Map<_, _>>()})
        }
        other => panic!("{other} is no list"),
    };
    envelope(&part)
}

const TEXTS: [&str; 8] = [
    "body",
    "url",
    "extension",
    "claim_statement",
    "evidence_value",
    "evidence_note",
    "provenance_value",
    "client_ref",
];
const LISTS: [&str; 4] = ["relates_to", "claims", "evidence", "provenance_keys"];
/// Covered by tests of their own: below, and in tests/images.rs.
const OTHERS: [&str; 5] =
    ["image_bytes", "request_bytes", "requests_per_minute", "wait_seconds", "page"];

fn limits(person: &Person) -> serde_json::Map<String, Value> {
    let manifest = person.get("/manifest").expect(200);
    manifest["limits"].as_object().expect("limits").clone()
}

#[test]
fn texts_and_lists_are_taken_up_to_their_limit_and_no_further() {
    let world = World::start();
    let writer = world.person("writer");
    let thread = text(&writer.opens(&envelope(&json!({}))).expect(201)["thread"]["id"]);
    let limits = limits(writer);
    let mut covered: Vec<&str> = [&TEXTS[..], &LISTS, &OTHERS].concat();
    covered.sort_unstable();
    assert_eq!(
        covered,
        limits.keys().map(String::as_str).collect::<Vec<_>>(),
        "a limit without cover"
    );
    let most =
        |limit: &str| usize::try_from(limits[limit].as_u64().expect("a number")).expect("it fits");
    for limit in TEXTS {
        for alphabet in ALPHABETS {
            let of = |count| writer.opens(&with_text(limit, alphabet, count));
            of(most(limit)).expect(201);
            let refusal = of(most(limit) + 1).expect_refused("invalid_body");
            let details = &refusal["details"];
            assert_eq!(
                (&details["limit"], &details["actual"]),
                (&json!(most(limit)), &json!(most(limit) + 1)),
                "{limit}"
            );
        }
    }
    for limit in LISTS {
        writer.opens(&with_entries(limit, most(limit), &thread)).expect(201);
        let refusal = writer
            .opens(&with_entries(limit, most(limit) + 1, &thread))
            .expect_refused("invalid_body");
        assert_eq!(refusal["details"]["limit"], most(limit), "{limit}");
    }
    // What was taken is what is shown.
    let said = points("👩\u{200d}👩\u{200d}👧", most("body"));
    let shown = writer.opens(&envelope(&json!({"body": said}))).expect(201);
    assert_eq!(shown["message"]["body"], said);
    assert_eq!(shown["thread"]["title"].as_str().expect("a title").chars().count(), 80);
}

#[test]
fn a_request_is_taken_up_to_its_bytes() {
    let world = World::start();
    let writer = world.person("writer");
    let most = usize::try_from(limits(writer)["request_bytes"].as_u64().expect("a number"))
        .expect("it fits");
    let token = writer.client.token().expect("a token");
    let headers = format!("Authorization: Bearer {token}\r\nContent-Type: application/json\r\n");
    let padded = |bytes: usize| {
        let body = envelope(&json!({})).to_string();
        format!("{body}{}", " ".repeat(bytes - body.len()))
    };
    let send =
        |bytes| world.send("POST /api/v1/boards/lobby/threads", &headers, padded(bytes).as_bytes());
    assert_eq!(send(most).status, 201);
    let over = send(most + 1);
    assert_eq!(over.status, 413);
    over.refused("payload_too_large");
}

#[test]
fn a_token_and_an_address_have_their_requests_a_minute_and_no_more() {
    let world = World::start_with(|config| {
        config.limits.requests_per_minute = 600;
        config.limits.requests_per_minute_anonymous = 60;
    });
    for (person, most) in [("reader", 600_u64), ("nobody", 60)] {
        let person = world.person(person);
        let began = Instant::now();
        let mut taken = 0;
        let refused = loop {
            let reply = person.get("/manifest");
            if reply.reason().is_some() || taken > 10 * most {
                break reply;
            }
            taken += 1;
        };
        refused.expect_refused("rate_limited");
        // What came back while the test ran was used too.
        let back = (began.elapsed().as_secs() + 1) * most / 60 + 1;
        assert!(taken >= most && taken <= most + back, "{taken} of {most}, {back} came back");
    }
}

#[test]
fn a_page_and_a_wait_are_brought_into_range() {
    let world = World::start();
    let writer = world.person("writer");
    let limits = limits(writer);
    let most = usize::try_from(limits["page"].as_u64().expect("a number")).expect("it fits");
    for at in 0..=most {
        writer.post("/boards", &json!({"title": format!("Board {at}")})).expect(201);
    }
    for (asked, given) in [(most, most), (most + 1, most), (1, 1), (0, 1)] {
        let page = writer.get(&format!("/boards?limit={asked}")).expect(200);
        assert_eq!(page["items"].as_array().expect("items").len(), given, "{asked}");
    }
    writer.get("/boards?limit=x").expect_refused("invalid_body");
    // A wait of more than the limit ends at the limit.
    let most = Duration::from_secs(limits["wait_seconds"].as_u64().expect("a number"));
    let began = Instant::now();
    let inbox = writer.get(&format!("/wait?timeout={}", most.as_secs() + 1)).expect(200);
    assert_eq!(inbox["items"], json!([]));
    let waited = began.elapsed();
    assert!(waited >= most && waited < most + Duration::from_secs(1), "{waited:?}");
    writer.get("/wait?timeout=-1").expect(200);
    writer.get("/wait?timeout=soon").expect_refused("invalid_body");
}
