//! A house that was lived in is the same house after `kill -9` and after a stop: whatever can be read is compared, as
//! everybody, for every operation of the table that reads.

#[expect(dead_code, reason = "each test file uses its part of the harness")]
mod harness;

use std::collections::{BTreeMap, BTreeSet};

use harness::child::Child;
use harness::raw::Raw;
use harness::{Person, human, text};
use parley::client::Client;
use parley::forum::Forum;
use parley::operation::{GET, Reach, Table};
use parley::operations;
use serde_json::{Value, json};
use tempfile::TempDir;

/// An image that takes several records.
fn gif() -> Vec<u8> {
    let mut gif = b"GIF89a\x03\0\x04\0\0\0\0;".to_vec();
    gif.extend((0..700_000_u32).map(|at| (at % 251) as u8));
    gif
}

fn raw(person: &Person, line: &str, body: &[u8]) -> Raw {
    let address = person.client.origin().trim_start_matches("http://");
    let token = person.client.token().expect("a token");
    Raw::send(address, line, &format!("Authorization: Bearer {token}\r\n"), body)
}

/// What the house holds, by name, for the paths below.
struct House {
    people: Vec<Person>,
    ids: BTreeMap<&'static str, String>,
}

fn application(label: &str) -> Value {
    json!({"label": label, "purpose": "p", "model": "m", "client": "c", "provider": "x", "contact": "ops@example.org"})
}

impl House {
    fn person(&self, name: &str) -> &Person {
        self.people.iter().find(|person| person.name == name).expect("somebody")
    }

    fn live_in(server: &Child) -> Self {
        let origin = server.origin();
        let operator = human(&origin, &server.operator_key_path());
        let nobody = Person::new("nobody", Client::new(&origin));
        let issued = [
            operator.issues("writer", &["write", "pin"]),
            operator.issues("other", &["write"]),
            operator.issues("verifier", &["write", "verify"]),
            operator.issues("granter", &["write", "grant"]),
        ];
        let applies = |label: &'static str| {
            let applied = nobody.post("/tokens/request", &application(label)).expect(201);
            let client = Client::new(&origin).with_token(text(&applied["token"]));
            (Person::new(label, client), text(&applied["request_id"]))
        };
        let (codex, request) = applies("codex");
        let (amp, withdrawn) = applies("amp");
        let (aider, pending) = applies("aider");
        let mut people = vec![operator, codex, amp, aider];
        people.extend(issued);
        let mut house = Self { people, ids: BTreeMap::new() };
        house.desk(&request, &withdrawn);
        house.talk();
        house.ids.insert("request", request);
        house.ids.insert("pending", pending);
        house
    }

    fn desk(&mut self, request: &str, withdrawn: &str) {
        let (operator, granter) = (self.person("human"), self.person("granter"));
        operator
            .post("/boards", &json!({"slug": "lab", "title": "The lab", "description": "d"}))
            .expect(201);
        let review = json!({"decision": "approved", "rights": ["write"], "reason": "welcome"});
        granter.post(&format!("/token-requests/{request}/review"), &review).expect(200);
        let amp = self.person("amp");
        amp.post(&format!("/token-requests/{withdrawn}/withdraw"), &json!({})).expect(200);
        let gone = operator.post("/tokens", &json!({"label": "gone", "rights": []})).expect(201);
        operator.post(&format!("/tokens/{}/revoke", text(&gone["id"])), &json!({})).expect(200);
        let changed =
            operator.post("/tokens", &json!({"label": "changed", "rights": []})).expect(201);
        operator
            .post(&format!("/tokens/{}/rights", text(&changed["id"])), &json!({"rights": ["lock"]}))
            .expect(200);
        let wish = json!({"title": "Dark mode", "body": "For the night."});
        let feature = self.person("writer").post("/features", &wish).expect(201);
        let status = format!("/features/{}/status", text(&feature["feature"]["id"]));
        granter.post(&status, &json!({"status": "accepted", "note": "soon"})).expect(200);
        self.person("other").post("/features", &wish).expect(201);
    }

    fn talk(&mut self) {
        let (operator, writer, other) =
            (self.person("human"), self.person("writer"), self.person("other"));
        let asks = json!({
            "kind": "ask", "body": "Does POL-358 hold? 中文", "from": {"extension": "worker-2"}, "client_ref": "r1",
            "provenance": {"model": "m"}, "claims": [{"statement": "It holds.", "evidence": [{"kind": "log", "value": "v"}]}],
        });
        let opened = writer.opens(&asks).expect(201);
        let (thread, message) = (text(&opened["thread"]["id"]), text(&opened["message"]["id"]));
        let claim = text(&opened["message"]["claims"][0]);
        other.post(&format!("/claims/{claim}/attest"), &json!({"verdict": "supports"})).expect(201);
        self.person("verifier").post(&format!("/claims/{claim}/verify"), &json!({})).expect(200);
        other
            .posts(&thread, &json!({"kind": "answer", "body": "yes", "parent": message}))
            .expect(201);
        operator.post(&format!("/threads/{thread}/confirm"), &json!({})).expect(200);
        writer.post(&format!("/threads/{thread}/pin"), &json!({"pinned": true})).expect(200);
        let refutation = json!({"kind": "refute", "body": "no", "refutes": [claim], "evidence": [{"kind": "log", "value": "w"}]});
        other.post("/boards/lab/threads", &refutation).expect(201);
        let closed = writer.opens(&json!({"kind": "ask", "body": "closed?"})).expect(201);
        operator.closes(&text(&closed["thread"]["id"])).expect(200);
        let aside = writer.opens(&json!({"kind": "propose", "body": "aside?"})).expect(201);
        let aside = text(&aside["thread"]["id"]);
        writer.post(&format!("/threads/{aside}/state"), &json!({"state": "deferred"})).expect(200);
        operator
            .post(&format!("/threads/{aside}/llm_reply"), &json!({"allowed": false}))
            .expect(200);
        for body in ["one", "two", "three"] {
            writer.opens(&json!({"kind": "request", "body": body})).expect(201);
        }
        let cursor = other.get("/inbox?limit=1").expect(200)["cursor"].clone();
        other.post("/inbox/ack", &json!({"cursor": cursor})).expect(200);
        let worker = json!({"cursor": cursor, "extension": "worker-9"});
        other.post("/inbox/ack", &worker).expect(200);
        writer.opens(&json!({"kind": "request", "body": "after the mark"})).expect(201);
        let line = format!("POST /api/v1/messages/{message}/image");
        let uploaded = raw(writer, &line, &gif()).json();
        self.ids.insert("image", text(&uploaded["image"]["id"]));
        self.ids.extend([
            ("thread", thread),
            ("aside", aside),
            ("message", message),
            ("claim", claim),
        ]);
    }

    /// Every path that is read, with the operation it is of.
    fn paths(&self) -> Vec<(&'static str, String)> {
        let id = |name: &str| &self.ids[name];
        let mut paths: Vec<(&'static str, String)> = [
            ("get_boards", "/boards"),
            ("get_boards_id", "/boards/lab"),
            ("get_boards_id_threads", "/boards/1/threads?limit=2"),
            ("get_threads", "/threads?limit=100"),
            ("get_threads", "/threads?pinned=true"),
            ("get_inbox", "/inbox"),
            ("get_inbox", "/inbox?since=start&scope=all"),
            ("get_inbox", "/inbox?extension=worker-9"),
            ("search", "/search?q=POL-358"),
            ("search", "/search?q=%E4%B8%AD%E6%96%87"),
            ("get_token_requests", "/token-requests"),
            ("get_features", "/features"),
            ("get_tokens", "/tokens?limit=100"),
            ("get_session", "/session"),
            ("get_manifest", "/manifest"),
            ("list_api_operations", "/operations?limit=100"),
            ("get_api_operation", "/operations/get_threads_id"),
        ]
        .map(|(key, path)| (key, path.to_owned()))
        .into();
        for thread in ["thread", "aside"] {
            paths.push(("get_threads_id", format!("/threads/{}", id(thread))));
            paths.push(("get_threads_id_events", format!("/threads/{}/events", id(thread))));
        }
        paths.push(("get_threads_id_claims", format!("/threads/{}/claims", id("thread"))));
        paths.push(("get_claims_id", format!("/claims/{}", id("claim"))));
        paths.push(("get_token_requests_id", format!("/token-requests/{}", id("request"))));
        paths.push(("get_token_requests_id", format!("/token-requests/{}", id("pending"))));
        paths
    }

    /// Everything that can be read, as everybody.
    fn picture(&self) -> BTreeMap<String, Value> {
        let paths = self.paths();
        let mut picture = BTreeMap::new();
        for person in &self.people {
            for (_, path) in &paths {
                let mut said = person.get(path).json;
                if let Some(said) = said.as_object_mut() {
                    // The moment at which an inbox was read.
                    said.remove("as_of");
                }
                picture.insert(format!("{} {path}", person.name), said);
            }
        }
        picture
    }

    /// The bytes of the image, as anybody with a token gets them.
    fn image(&self) -> Vec<u8> {
        let got =
            raw(self.person("other"), &format!("GET /api/v1/images/{}", self.ids["image"]), b"");
        assert_eq!(got.status, 200, "{}", got.text());
        got.body
    }

    fn at(self, origin: &str) -> Self {
        Self { people: self.people.into_iter().map(|person| person.at(origin)).collect(), ..self }
    }
}

/// Not compared here: health and uptime are the process's own, `wait` shows an inbox. Images are bytes and
/// compared beside.
const ELSEWHERE: [&str; 3] = ["get_health", "wait", "get_images_id"];

#[test]
fn everything_is_as_before_after_a_kill_and_after_a_stop() {
    let folder = TempDir::new().expect("a temporary folder");
    let server = Child::start(folder.path());
    let house = House::live_in(&server);
    let table = Table::<Forum>::new(operations::table);
    let reads = table.rows().iter().filter(|row| row.method == GET && row.reach != Reach::Mcp);
    let reads: BTreeSet<&str> =
        reads.map(|row| row.key).filter(|key| !ELSEWHERE.contains(key)).collect();
    let read: BTreeSet<&str> = house.paths().into_iter().map(|(key, _)| key).collect();
    assert_eq!(read, reads, "what reads is compared");

    let before = house.picture();
    assert!(
        before["human /tokens?limit=100"]["items"].as_array().is_some_and(|all| all.len() >= 8)
    );
    assert!(
        before["other /search?q=POL-358"]["items"].as_array().is_some_and(|all| !all.is_empty())
    );
    server.kill();
    let server = Child::start(folder.path());
    let house = house.at(&server.origin());
    same(&before, &house.picture(), "a kill");
    assert!(house.image() == gif(), "the image after a kill");
    server.terminate();
    assert!(server.ended().success());
    let server = Child::start(folder.path());
    let house = house.at(&server.origin());
    same(&before, &house.picture(), "a stop");
    assert!(house.image() == gif(), "the image after a stop");
    // And it goes on where it was: the next numbers, the same answer to a repeated post.
    let again = json!({
        "kind": "ask", "body": "Does POL-358 hold? 中文", "from": {"extension": "worker-2"}, "client_ref": "r1",
        "provenance": {"model": "m"}, "claims": [{"statement": "It holds.", "evidence": [{"kind": "log", "value": "v"}]}],
    });
    let replayed = house.person("writer").opens(&again).expect(201);
    assert_eq!(replayed["message"]["id"], house.ids["message"]);
    let fresh = house.person("codex").opens(&json!({"kind": "note", "body": "new"})).expect(201);
    let numbers: BTreeSet<String> = before["human /threads?limit=100"]["items"]
        .as_array()
        .expect("threads")
        .iter()
        .map(|thread| text(&thread["id"]))
        .collect();
    assert!(!numbers.contains(&text(&fresh["thread"]["id"])));
}

fn same(before: &BTreeMap<String, Value>, after: &BTreeMap<String, Value>, what: &str) {
    for (path, said) in before {
        assert_eq!(&after[path], said, "{path} after {what}");
    }
}
