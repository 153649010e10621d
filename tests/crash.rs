//! The real program, killed in the middle of its work, again and again. What clients were told before must be true
//! after: nothing acknowledged is lost, nothing is there twice, nothing unconfirmed is shown as confirmed, nothing
//! follows a confirmed close.
//!
//! `PARLEY_CRASH_ROUNDS` sets the number of rounds, `PARLEY_SEED` repeats a run's choices.

#[expect(dead_code, reason = "each test file uses its part of the harness")]
mod harness;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use harness::child::Child;
use harness::{Person, Random, human, text};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Agents that post at the same time, each with a token of its own.
const WRITERS: usize = 4;
/// The most acknowledged acts of a round; it is killed somewhere before.
const ACTS_MAX: usize = 160;
/// A machine that gets nothing acknowledged for so long is stuck.
const STUCK: Duration = Duration::from_secs(20);

/// What somebody tried to say, and what came of it.
#[derive(Clone)]
struct Said {
    by: usize,
    path: String,
    envelope: Value,
    told: Told,
}

#[derive(Clone)]
enum Told {
    /// It is stored: this is the message, and its thread.
    Stored { message: String, thread: String },
    /// It was refused: it must not be there.
    Refused,
    /// No answer: it may be there, once.
    Nothing,
}

/// What is known about a thread.
#[derive(Default, Clone)]
struct Known {
    /// Whether the human tried to close it; only then may it be closed and confirmed.
    close_tried: bool,
    /// How many messages it had when the human was told that it is closed.
    closed_with: Option<u64>,
}

#[derive(Default)]
struct Ledger {
    said: Vec<Said>,
    threads: BTreeMap<String, Known>,
}

type Shared = Arc<Mutex<Ledger>>;

#[test]
fn what_was_told_before_a_kill_is_true_after_it() {
    let rounds = std::env::var("PARLEY_CRASH_ROUNDS").ok().and_then(|rounds| rounds.parse().ok());
    let rounds: usize = rounds.unwrap_or(8);
    let mut random = Random::new();
    let folder = TempDir::new().expect("a temporary folder");
    let mut server = Child::start(folder.path());
    let operator = human(&server.origin(), &server.operator_key_path());
    let writers: Vec<Person> = (0..WRITERS)
        .map(|number| operator.issues(&format!("writer-{number}"), &["write"]))
        .collect();
    let mut all = Ledger::default();
    for round in 0..rounds {
        let mut ledger = one_life(server, round, &operator, &writers, &all, &mut random);
        server = Child::start(folder.path());
        let (human, writers) = at(&server, &operator, &writers);
        ask_again(&mut ledger, &writers);
        all.threads.extend(ledger.threads.clone());
        all.said.extend(ledger.said.iter().cloned());
        let ours = |path: &str| ledger.threads.keys().any(|thread| path == thread);
        let (stored, _) = check(&human, &all, ours);
        assert!(stored > 0, "round {round} was killed before anything was stored");
    }
    let (human, _) = at(&server, &operator, &writers);
    let (messages, confirmed) = check(&human, &all, |_| true);
    let lost = all.said.iter().filter(|said| matches!(said.told, Told::Nothing)).count();
    assert_eq!(lost, 0, "everything was asked again");
    println!(
        "{rounds} rounds, {} threads, {messages} messages verified, {confirmed} confirmed closes",
        all.threads.len()
    );
}

fn at(server: &Child, operator: &Person, writers: &[Person]) -> (Person, Vec<Person>) {
    let origin = server.origin();
    (operator.at(&origin), writers.iter().map(|writer| writer.at(&origin)).collect())
}

/// Everybody works until so many acts were acknowledged; then the server is killed under them.
fn one_life(
    server: Child,
    round: usize,
    operator: &Person,
    writers: &[Person],
    all: &Ledger,
    random: &mut Random,
) -> Ledger {
    let (human, writers) = at(&server, operator, writers);
    let shared = Shared::default();
    let older = all.threads.iter().rfind(|(_, known)| !known.close_tried);
    if let Some((thread, known)) = older {
        shared.lock().expect("unpoisoned").threads.insert(thread.clone(), known.clone());
    }
    let (done, acts) = mpsc::channel();
    let mut working = Vec::new();
    for (number, writer) in writers.into_iter().enumerate() {
        let (shared, done, random) = (Arc::clone(&shared), done.clone(), random.split());
        let write = move || write(&writer, number, round, &shared, &done, random);
        working.push(thread::spawn(write));
    }
    let (closing, split) = (Arc::clone(&shared), random.split());
    working.push(thread::spawn(move || close(&human, &closing, &done, split)));
    for _ in 0..=random.below(ACTS_MAX) {
        acts.recv_timeout(STUCK).expect("the server acknowledges something");
    }
    server.kill();
    for worker in working {
        worker.join().expect("a client does not panic");
    }
    std::mem::take(&mut *shared.lock().expect("unpoisoned"))
}

/// An agent: opens threads, answers, decides and remarks, until nobody answers any more.
fn write(
    writer: &Person,
    number: usize,
    round: usize,
    shared: &Shared,
    done: &mpsc::Sender<()>,
    mut random: Random,
) {
    for act in 0.. {
        let threads: Vec<String> =
            shared.lock().expect("unpoisoned").threads.keys().cloned().collect();
        let open = threads.is_empty() || random.below(12) == 0;
        let path = match open {
            true => "/boards/lobby/threads".to_owned(),
            false => format!("/threads/{}/messages", threads[random.below(threads.len())]),
        };
        let kind = match random.below(8) {
            _ if open => "ask",
            0 => "answer",
            1 => "decide",
            _ => "note",
        };
        // The extension changes with every act, so that nobody is refused for answering itself.
        let name = format!("r{round}-w{number}-a{act}");
        let envelope =
            json!({"kind": kind, "body": name, "client_ref": name, "from": {"extension": name}});
        let reply = writer.try_post(&path, &envelope);
        let told = match &reply {
            Ok(reply) if reply.is_success() => stored_as(&reply.json),
            Ok(reply) if reply.reason() == Some("internal") => Told::Nothing,
            Ok(_) => Told::Refused,
            Err(_) => Told::Nothing,
        };
        let stored = matches!(told, Told::Stored { .. });
        let mut ledger = shared.lock().expect("unpoisoned");
        if let Ok(reply) = &reply
            && stored
        {
            ledger.threads.entry(text(&reply.json["thread"]["id"])).or_default();
        }
        ledger.said.push(Said { by: number, path, envelope, told });
        drop(ledger);
        if stored && done.send(()).is_err() || reply.is_err() {
            return;
        }
    }
}

/// The human: closes a thread now and then.
fn close(human: &Person, shared: &Shared, done: &mpsc::Sender<()>, mut random: Random) {
    loop {
        let open: Vec<String> = {
            let ledger = shared.lock().expect("unpoisoned");
            let open = ledger.threads.iter().filter(|(_, known)| !known.close_tried);
            open.map(|(thread, _)| thread.clone()).collect()
        };
        // Mostly it only looks, so that threads can grow.
        if open.len() < 3 || random.below(30) != 0 {
            if human.try_get("/boards/lobby").is_err() {
                return;
            }
            continue;
        }
        let thread = open[random.below(open.len())].clone();
        let known = |change: &dyn Fn(&mut Known)| {
            change(shared.lock().expect("unpoisoned").threads.entry(thread.clone()).or_default());
        };
        known(&|known| known.close_tried = true);
        let Ok(reply) = human.try_post(&format!("/threads/{thread}/close"), &json!({})) else {
            return;
        };
        if reply.is_success() {
            known(&|known| known.closed_with = reply.json["thread"]["messages"].as_u64());
            if done.send(()).is_err() {
                return;
            }
        }
    }
}

/// Who got no answer sends the same again, as a client does: it is stored now, or was before, but never twice.
fn ask_again(ledger: &mut Ledger, writers: &[Person]) {
    for said in &mut ledger.said {
        if !matches!(said.told, Told::Nothing) {
            continue;
        }
        let reply = writers[said.by].post(&said.path, &said.envelope);
        said.told = match reply.is_success() {
            true => stored_as(&reply.json),
            false => Told::Refused,
        };
        if reply.is_success() {
            ledger.threads.entry(text(&reply.json["thread"]["id"])).or_default();
        }
    }
}

fn stored_as(told: &Value) -> Told {
    Told::Stored { message: text(&told["message"]["id"]), thread: text(&told["thread"]["id"]) }
}

/// Compares what the server shows of some threads with what was told; hands back how many messages and confirmed
/// closes it saw.
fn check(human: &Person, all: &Ledger, which: impl Fn(&str) -> bool) -> (usize, usize) {
    let mut shown: BTreeMap<String, String> = BTreeMap::new();
    let mut confirmed = 0;
    for (thread, known) in all.threads.iter().filter(|(thread, _)| which(thread)) {
        let (state, messages) = human.reads(thread);
        assert_eq!(state["messages"], messages.len(), "{thread} counts right");
        for message in &messages {
            let before = shown.insert(text(&message["body"]), text(&message["id"]));
            assert_eq!(before, None, "{thread} has {} once", message["body"]);
        }
        let ids: Vec<u64> = messages.iter().map(number).collect();
        assert!(ids.is_sorted_by(|one, next| one < next), "{thread} is in order: {ids:?}");
        confirmed += usize::from(check_state(thread, known, &state));
    }
    let bodies: BTreeSet<&str> =
        all.said.iter().filter_map(|said| said.envelope["body"].as_str()).collect();
    assert!(shown.keys().all(|body| bodies.contains(body.as_str())), "nothing that nobody said");
    for said in &all.said {
        let body = said.envelope["body"].as_str().expect("a body");
        match &said.told {
            Told::Stored { message, thread } if which(thread) => {
                assert_eq!(shown.get(body), Some(message), "{body} of {thread} was acknowledged");
            }
            Told::Stored { .. } => {}
            Told::Refused => assert!(!shown.contains_key(body), "{body} was refused and is there"),
            Told::Nothing => {}
        }
    }
    (shown.len(), confirmed)
}

/// Whether the thread is closed and confirmed, after checking that it is exactly when it must be.
fn check_state(thread: &str, known: &Known, state: &Value) -> bool {
    let confirmed = state["state_confirmed_at"].is_string();
    let closed = state["state"] == "closed" && confirmed;
    if let Some(messages) = known.closed_with {
        assert!(closed && state["locked"] == true, "{thread} was told to be closed: {state}");
        assert_eq!(state["messages"], messages, "{thread} has nothing after its close");
    }
    if !known.close_tried {
        let born = state["state"] == "open" && state["state_confirmed_at"] == state["created_at"];
        assert!(born || !confirmed, "{thread} was confirmed by nobody: {state}");
    }
    closed
}

fn number(message: &Value) -> u64 {
    let id = text(&message["id"]);
    id.strip_prefix("msg_").and_then(|number| number.parse().ok()).expect("msg_ and a number")
}
