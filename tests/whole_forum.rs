//! Claims, inboxes, waiting, search and events end to end, on a server that is restarted in between.

#[expect(dead_code, reason = "each test file uses its part of the harness")]
mod harness;

use std::time::{Duration, Instant};

use harness::{Person, World, text};
use serde_json::{Value, json};

fn asserts(person: &Person, thread: Option<&str>, kind: &str, more: &Value) -> Value {
    let mut said =
        json!({"kind": kind, "body": "so it is", "claims": [{"statement": "It holds."}]});
    let more = more.as_object().expect("an object").clone();
    said.as_object_mut().expect("an object").extend(more);
    match thread {
        None => person.opens(&said).expect(201),
        Some(thread) => person.posts(thread, &said).expect(201),
    }
}

fn claim(person: &Person, id: &str) -> Value {
    person.get(&format!("/claims/{id}")).expect(200)["claim"].clone()
}

fn refutation(target: &str) -> Value {
    let evidence = json!([{"kind": "log", "value": "seen"}]);
    json!({"kind": "refute", "body": "not so", "refutes": [target], "evidence": evidence})
}

#[test]
fn a_claim_is_moved_from_other_threads_and_stands_as_before_after_a_restart() {
    let world = World::start();
    let (writer, other, human) =
        (world.person("writer"), world.person("other"), world.person("human"));
    let verifier = world.person("verifier");
    let asserted = asserts(writer, None, "note", &json!({}));
    let (id, home) = (text(&asserted["message"]["claims"][0]), text(&asserted["thread"]["id"]));
    let supports = json!({"verdict": "supports", "note": "checked", "from": {"extension": "w1"}});
    let attested = other.post(&format!("/claims/{id}/attest"), &supports).expect(201);
    assert_eq!(attested["claim"]["state"], "supported");
    assert_eq!(attested["claim"]["attestations"][0]["counts"], true);

    // From a thread of its own, and back by a refutation of that in a third.
    let refuted = other.opens(&refutation(&id)).expect(201);
    assert_eq!(claim(writer, &id)["state"], "refuted");
    let message = text(&refuted["message"]["id"]);
    writer.opens(&refutation(&message)).expect(201);
    // The newest word of `other` is its refutation, which fell.
    assert_eq!(claim(writer, &id)["state"], "unverified");

    verifier.post(&format!("/claims/{id}/verify"), &json!({})).expect(200);
    assert_eq!(claim(writer, &id)["state"], "verified");
    let again = other.opens(&refutation(&id)).expect(201);
    assert_eq!(claim(writer, &id)["contested"], true);
    assert!(again["message"]["refutes"][0] == json!(id));
    // Somebody who may seal overturns it, from an opening too.
    world.person("verifier2").opens(&refutation(&id)).expect(201);
    assert_eq!(claim(writer, &id)["state"], "refuted");

    // A locked thread is not moved from anywhere.
    human.closes(&home).expect(200);
    other.opens(&refutation(&id)).expect_refused("thread_closed");
    other.opens(&refutation(&message)).expect_refused("thread_closed");
    human.post(&format!("/threads/{home}/reopen"), &json!({})).expect(200);
    let replaced = asserts(writer, None, "refine", &json!({"relates_to": [&id]}));
    let newer = text(&replaced["message"]["claims"][0]);
    let before = claim(writer, &id);
    assert_eq!((&before["state"], &before["superseded_by"]), (&json!("superseded"), &json!(newer)));
    other.opens(&refutation(&id)).expect_refused("claim_superseded");
    other.opens(&refutation("at_999")).expect_refused("not_found");

    let world = world.restart();
    assert_eq!(claim(world.person("writer"), &id), before);
}

#[test]
fn an_inbox_shows_what_is_owed_until_it_is_answered_or_acknowledged() {
    let world = World::start();
    let (writer, other) = (world.person("writer"), world.person("other"));
    let thread =
        text(&writer.opens(&json!({"kind": "ask", "body": "Why?"})).expect(201)["thread"]["id"]);
    let inbox = |person: &Person, query: &str| person.get(&format!("/inbox{query}")).expect(200);
    let seen = inbox(other, "");
    assert_eq!((&seen["open"], &seen["items"][0]["thread"]["id"]), (&json!(1), &json!(thread)));
    let open = &seen["items"][0]["open"][0];
    assert_eq!(
        (&open["due"], &open["asks"], &open["kind"]),
        (&json!("anyone"), &json!("Why?"), &json!("ask"))
    );
    // Its own act is nobody's debt to itself; another sub-line may answer.
    assert_eq!(inbox(writer, "")["open"], 0);
    assert_eq!(inbox(writer, "?extension=w1")["open"], 1);
    // Neither reading nor a note changes anything.
    assert_eq!(inbox(other, "")["items"], seen["items"]);
    let noted = other.posts(&thread, &json!({"kind": "note", "body": "hm"})).expect(201);
    assert_eq!(noted["inbox"]["open"], 1);
    let cursor = text(&inbox(other, "")["cursor"]);
    other.post("/inbox/ack", &json!({"cursor": cursor})).expect(200);
    let acknowledged = inbox(other, "");
    assert_eq!((&acknowledged["open"], &acknowledged["items"]), (&json!(1), &json!([])));
    assert_eq!(inbox(other, "?since=start")["items"][0]["thread"]["id"], json!(thread));
    assert_eq!(inbox(other, "?extension=w1")["items"][0]["thread"]["id"], json!(thread));

    // What is asked back is due to the asker, and comes first.
    let asked =
        other.posts(&thread, &json!({"kind": "ask", "body": "Which?", "parent": 1})).expect(201);
    assert_eq!(asked["thread"]["due"], "parley:writer");
    other.opens(&json!({"kind": "propose", "body": "Let us."})).expect(201);
    let items = inbox(writer, "")["items"].clone();
    assert_eq!(items[0]["open"][0]["due"], "you");
    assert_eq!(items[1]["open"][0]["due"], "anyone");
    assert_eq!(
        inbox(world.person("locker"), "?scope=all")["items"].as_array().map(Vec::len),
        Some(2)
    );
    assert_eq!(inbox(world.person("locker"), "")["items"].as_array().map(Vec::len), Some(1));
    // Page by page the same.
    let first = inbox(writer, "?limit=1");
    let next = text(&first["next_cursor"]);
    let second = inbox(writer, &format!("?limit=1&cursor={next}"));
    assert_eq!(json!([first["items"][0], second["items"][0]]), items);
    assert_eq!(second["next_cursor"], Value::Null);

    let world = world.restart();
    let (writer, other) = (world.person("writer"), world.person("other"));
    assert_eq!(inbox(writer, "")["items"], items);
    assert_eq!(inbox(other, "")["items"], json!([]));
    assert_eq!(
        other.post("/inbox/ack", &json!({"cursor": "p1"})).expect(200)["cursor"],
        json!(cursor)
    );
    for wrong in ["pffffff", "p01", "x1", ""] {
        let refused =
            other.post("/inbox/ack", &json!({"cursor": wrong})).expect_refused("invalid_body");
        assert_eq!(refused["details"]["field"], "cursor", "{wrong}");
    }

    // A close hides the debt, a reopen brings it back as new.
    let done = text(&inbox(writer, "")["cursor"]);
    writer.post("/inbox/ack", &json!({"cursor": done})).expect(200);
    assert_eq!(inbox(writer, "")["items"], json!([]));
    writer.closes(&thread).expect(200);
    writer.post(&format!("/threads/{thread}/reopen"), &json!({})).expect(200);
    assert_eq!(inbox(writer, "")["items"][0]["thread"]["id"], json!(thread));
}

#[test]
fn who_waits_is_told_at_once_and_goes_home_when_the_time_is_up() {
    let world = World::start();
    let (writer, other) = (world.person("writer"), world.person("other"));
    let began = Instant::now();
    let empty = other.get("/wait?timeout=0.2").expect(200);
    assert_eq!(empty["items"], json!([]));
    assert!(began.elapsed() >= Duration::from_millis(200));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| other.get("/wait?timeout=50").expect(200));
        std::thread::sleep(Duration::from_millis(300));
        let asked = writer.opens(&json!({"kind": "ask", "body": "Who?"})).expect(201);
        let told = waiting.join().expect("the wait ends");
        assert_eq!(told["items"][0]["thread"]["id"], asked["thread"]["id"]);
    });
    // What is there already is not waited for; its own acts are nothing new.
    assert_eq!(
        other.get("/wait?timeout=50").expect(200)["items"].as_array().map(Vec::len),
        Some(1)
    );
    assert_eq!(writer.get("/wait?timeout=0").expect(200)["items"], json!([]));
    assert!(began.elapsed() < Duration::from_secs(45));
}

#[test]
fn words_of_many_scripts_are_found_and_user_text_is_never_syntax() {
    let world = World::start();
    let writer = world.person("writer");
    let says = |body: &str| {
        text(&writer.opens(&json!({"kind": "note", "body": body})).expect(201)["message"]["id"])
    };
    let ticket = says("Siehe POL-358 und Straße");
    let chinese = says("我们讨论中文搜索");
    let asserted = asserts(writer, None, "note", &json!({"body": "a claim"}));
    let finds = |world: &World, query: &str| -> Vec<(String, String)> {
        let found = world.person("writer").get(&format!("/search?q={query}")).expect(200);
        let items = found["items"].as_array().expect("items").clone();
        items.iter().map(|item| (text(&item["type"]), text(&item["id"]))).collect()
    };
    let message = |id: &str| ("message".to_owned(), id.to_owned());
    assert!(finds(&world, "pol-358").contains(&message(&ticket)));
    assert_eq!(finds(&world, "358-pol"), []);
    assert!(finds(&world, "%E4%B8%AD%E6%96%87").contains(&message(&chinese)));
    assert!(finds(&world, "STRASSE").contains(&message(&ticket)));
    let id = text(&asserted["message"]["claims"][0]);
    assert_eq!(finds(&world, "holds&type=claim"), [("claim".to_owned(), id)]);
    for syntax in ["a%20AND%20(b", "body:POL", "%2A", "%22", "%5C", "OR", "-"] {
        assert_eq!(finds(&world, syntax), [], "{syntax}");
    }
    writer.get("/search?q=x&cursor=n1").expect_refused("invalid_body");
    writer.get("/search?q=x&thread=th_999").expect_refused("thread_not_found");
    writer.get("/search?q=x&board=nowhere").expect_refused("board_not_found");

    // Lost files are made anew.
    let world = world.restart_after(|folder| {
        std::fs::remove_dir_all(folder.join("search")).expect("the index was there");
    });
    assert!(finds(&world, "pol-358").contains(&message(&ticket)));
}

#[test]
fn events_tell_everything_committed_in_order_and_go_on_where_they_stopped() {
    let world = World::start();
    let (writer, other) = (world.person("writer"), world.person("other"));
    let bearer = format!("Authorization: Bearer {}\r\n", writer.client.token().expect("a token"));
    let start = text(&writer.get("/inbox").expect(200)["cursor"]);
    let asserted = asserts(writer, None, "ask", &json!({}));
    let thread = text(&asserted["thread"]["id"]);
    other.posts(&thread, &json!({"kind": "answer", "body": "yes"})).expect(201);
    let id = text(&asserted["message"]["claims"][0]);
    other.post(&format!("/claims/{id}/attest"), &json!({"verdict": "supports"})).expect(201);
    let from = |id: &str| format!("{bearer}Last-Event-ID: {id}\r\n");
    let all = world.events("", &from(&start), 8);
    let kinds: Vec<&str> = all.iter().map(|(_, kind, _)| kind.as_str()).collect();
    assert_eq!(
        kinds,
        ["thread", "message", "state", "claim", "message", "state", "attestation", "claim"]
    );
    for (id, kind, data) in &all {
        assert_eq!((&data["position"], &data["type"]), (&json!(id), &json!(kind)));
    }
    // From every place, the rest; also from between the events of one record.
    for (at, (id, _, _)) in all.iter().enumerate().take(7) {
        assert_eq!(world.events("", &from(id), 7 - at), all[at + 1..]);
    }
    assert_eq!(world.events(&format!("?thread={thread}"), &from(&start), 8), all);
    // A ticket opens one stream, once.
    let ticket = text(&writer.post("/events/ticket", &json!({})).expect(201)["ticket"]);
    let query = format!("?ticket={ticket}");
    assert_eq!(world.events(&query, &format!("Last-Event-ID: {start}\r\n"), 8), all);
    let nobody = world.person("nobody");
    nobody.get(&format!("/events{query}")).expect_refused("unauthenticated");
    nobody.get("/events").expect_refused("unauthenticated");
    writer.get("/events?bord=1").expect_refused("invalid_body");
    writer.get("/events?thread=th_99").expect_refused("thread_not_found");
    writer.post("/events", &json!({})).expect_refused("unknown_endpoint");
}
