//! Many at once, on one thread: somebody wins, everybody sees the same, and nothing follows a confirmed close.

#[expect(dead_code, reason = "each test file uses its part of the harness")]
mod harness;

use std::collections::BTreeSet;
use std::sync::{Barrier, mpsc};
use std::thread;

use harness::{Person, Reply, World, text};
use serde_json::{Value, json};

const TOKENS: usize = 20;
const POSTS_EACH: usize = 10;

/// Runs `act` once for each of `people`, all at the same moment.
fn together<'a>(people: &[&'a Person], act: impl Fn(&'a Person) -> Reply + Sync) -> Vec<Reply> {
    let start = Barrier::new(people.len());
    thread::scope(|scope| {
        let (start, act) = (&start, &act);
        let running = people.iter().map(|person| {
            let person = *person;
            scope.spawn(move || {
                start.wait();
                act(person)
            })
        });
        let running: Vec<_> = running.collect();
        running.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    })
}

fn opened(by: &Person) -> String {
    text(&by.opens(&json!({"kind": "ask", "body": "?"})).expect(201)["thread"]["id"])
}

fn closes_in(events: &[Value]) -> usize {
    events.iter().filter(|event| event["to"] == "closed").count()
}

#[test]
fn of_200_posts_against_a_close_every_accepted_one_is_there_once_and_none_after_it() {
    let world = World::start();
    let human = world.person("human");
    let thread = opened(world.person("writer"));
    let tokens: Vec<Person> =
        (0..TOKENS).map(|number| human.issues(&format!("agent-{number}"), &["write"])).collect();
    let (accepted, acts) = mpsc::channel();
    let (replies, closed) = thread::scope(|scope| {
        let writers: Vec<_> = tokens
            .iter()
            .map(|person| {
                let (accepted, thread) = (accepted.clone(), &thread);
                scope.spawn(move || posts(person, thread, &accepted))
            })
            .collect();
        for _ in 0..TOKENS * POSTS_EACH / 2 {
            acts.recv().expect("posts are accepted");
        }
        let closed = human.closes(&thread).expect(200);
        let replies = writers.into_iter().flat_map(|writer| writer.join().expect("no panic"));
        (replies.collect::<Vec<_>>(), closed)
    });
    assert_eq!(replies.len(), TOKENS * POSTS_EACH);
    let mut stored = BTreeSet::new();
    for (body, reply) in replies {
        match reply.is_success() {
            true => assert!(stored.insert((text(&reply.json["message"]["id"]), body))),
            false => {
                reply.expect_refused("thread_closed");
            }
        }
    }
    let (state, messages) = world.person("reader").reads(&thread);
    let shown: Vec<(String, String)> = messages[1..]
        .iter()
        .map(|message| (text(&message["id"]), text(&message["body"])))
        .collect();
    assert_eq!(shown.len(), stored.len(), "nothing is shown twice, nothing is missing");
    assert_eq!(shown.into_iter().collect::<BTreeSet<_>>(), stored);
    assert_eq!(state["messages"], closed["thread"]["messages"], "nothing followed the close");
    assert_eq!((&state["state"], &state["locked"]), (&json!("closed"), &json!(true)));
    tokens[0]
        .posts(&thread, &json!({"kind": "note", "body": "late"}))
        .expect_refused("thread_closed");
}

/// Ten posts of one token, each under an extension of its own so that none answers itself.
fn posts(person: &Person, thread: &str, accepted: &mpsc::Sender<()>) -> Vec<(String, Reply)> {
    let post = |number: usize| {
        let body = format!("{} {number}", person.name);
        let from = json!({"extension": format!("x{number}")});
        let reply = person.posts(thread, &json!({"kind": "note", "body": body, "from": from}));
        if reply.is_success() {
            accepted.send(()).expect("the test listens");
        }
        (body, reply)
    };
    (0..POSTS_EACH).map(post).collect()
}

#[test]
fn of_two_confirmed_closes_one_wins_and_the_other_sees_it_closed() {
    let world = World::start();
    let (human, locker) = (world.person("human"), world.person("locker"));
    for _ in 0..25 {
        let thread = opened(world.person("writer"));
        let replies = together(&[human, locker], |person| person.closes(&thread));
        let won: Vec<_> = replies.iter().filter(|reply| reply.is_success()).collect();
        assert_eq!(won.len(), 1, "{replies:?}");
        let lost = replies.iter().find(|reply| !reply.is_success()).expect("the other one");
        lost.clone().expect_refused("thread_closed");
        let (state, _) = human.reads(&thread);
        assert_eq!(state, won[0].json["thread"]);
        assert_eq!(closes_in(&human.reads_events(&thread)), 1);
    }
}

#[test]
fn two_closes_by_the_creator_are_one_proposal() {
    let world = World::start();
    let writer = world.person("writer");
    for _ in 0..25 {
        let thread = opened(writer);
        for reply in together(&[writer, writer], |person| person.closes(&thread)) {
            let told = reply.expect(200);
            assert_eq!(told["thread"]["state"], "closed");
            assert!(told["thread"]["state_confirmed_at"].is_null(), "{told}");
        }
        assert_eq!(closes_in(&writer.reads_events(&thread)), 1);
    }
}

#[test]
fn the_same_post_sent_eight_times_at_once_is_one_message() {
    let world = World::start();
    let (writer, other) = (world.person("writer"), world.person("other"));
    let thread = opened(writer);
    for round in 0..10 {
        let envelope = json!({"kind": "note", "body": "once", "client_ref": format!("ref-{round}"),
            "from": {"extension": format!("x{round}")}});
        let replies = together(&[other; 8], |person| person.posts(&thread, &envelope));
        let told: Vec<Value> = replies.into_iter().map(|reply| reply.expect(201)).collect();
        let ids: BTreeSet<String> = told.iter().map(|told| text(&told["message"]["id"])).collect();
        assert_eq!(ids.len(), 1, "{told:?}");
        let first = told.iter().filter(|told| told["replayed"] == false).count();
        assert_eq!(first, 1, "one of them stored it");
    }
    assert_eq!(writer.reads(&thread).1.len(), 11);
}
