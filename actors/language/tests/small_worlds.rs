//! Every history over a small alphabet, completely: four people, five kinds of message with and without a parent, and
//! the acts that are no messages. After every event the invariants hold, the live thread is the replay of its log, and
//! a second, naive reading of section 4 agrees on who owes what; where an act is refused, nothing has changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use parley_language::author::{Author, Rights, Speaker};
use parley_language::envelope::Draft;
use parley_language::event::{Event, Mark, Message};
use parley_language::invariant;
use parley_language::thread::{Act, Due, Fresh, SideState, Thread};
use parley_language::words::{Kind, Origin, Right, State};
use parley_language::{MessageId, Reason, ThreadId, Time};

const THREAD: ThreadId = ThreadId::new(1);

/// Acts after the opening. Slow builds look less deep.
const DEPTH: usize = if cfg!(debug_assertions) { 3 } else { 4 };

#[test]
fn every_short_history_keeps_every_promise() {
    let mut world = World { alphabet: alphabet(), log: Vec::new(), histories: 0, refusals: 0 };
    for opener in [ann(), human()] {
        for kind in [Kind::Ask, Kind::Note] {
            let open = Act::Open { board: 1, draft: draft(kind, None), client_ref: None };
            let event = Thread::decide(None, &opener, open, Time(0), fresh(&[]));
            let event = event.expect("nothing forbids an opening").expect("an opening is an event");
            let thread = Thread::open(THREAD, &event);
            world.log.push(event);
            world.explore(&thread, DEPTH);
            world.log.pop();
        }
    }
    println!(
        "{} histories, {} refusals, depth {DEPTH} after the opening",
        world.histories, world.refusals
    );
    assert!(world.histories > 10_000, "the world is too small to mean anything");
}

struct World {
    alphabet: Vec<(Speaker, Act)>,
    log: Vec<Event>,
    histories: u64,
    refusals: u64,
}

impl World {
    fn explore(&mut self, thread: &Thread, depth: usize) {
        self.histories += 1;
        if let Err(why) = self.check(thread) {
            panic!("{why}\nafter {:#?}", self.log);
        }
        if depth == 0 {
            return;
        }
        let untouched = thread.clone();
        for at in 0..self.alphabet.len() {
            let (speaker, act) = self.alphabet[at].clone();
            let now = Time(self.log.len() as u64);
            let locked = thread.standing().locked
                && !matches!(act, Act::Reopen | Act::Confirm | Act::Revert);
            match Thread::decide(Some(thread), &speaker, act, now, fresh(&self.log)) {
                Ok(Some(event)) => {
                    assert!(!locked, "a locked thread took {event:?}");
                    let mut next = thread.clone();
                    next.apply(&event);
                    self.log.push(event);
                    self.explore(&next, depth - 1);
                    self.log.pop();
                }
                Ok(None) => assert!(!locked, "a locked thread said yes"),
                Err(refusal) => {
                    self.refusals += 1;
                    assert!(
                        !locked || refusal.reason == Reason::ThreadClosed,
                        "locked, but {}",
                        refusal.reason
                    );
                }
            }
        }
        assert!(*thread == untouched, "deciding changed the thread after {:#?}", self.log);
    }

    fn check(&self, thread: &Thread) -> Result<(), String> {
        let log = &*self.log;
        let summary = thread.summary();
        invariant::nothing_after_a_confirmed_close(log)?;
        invariant::live_equals_replay(THREAD, thread, log)?;
        invariant::one_is_due(&summary)?;
        invariant::forward_only(log)?;
        invariant::nobody_answers_itself(log)?;
        invariant::only_a_confirmed_close_locks(&summary)?;
        marks_are_confirmed_by_confirmers(log)?;

        let naive = Naive::read(log);
        let owed: Vec<MessageId> = summary.open_acts.iter().map(|open| open.message).collect();
        let live = (summary.awaiting, owed, summary.due(), summary.standing.state);
        let read = (naive.awaiting, naive.owed, naive.due, naive.state);
        if live == read {
            Ok(())
        } else {
            Err(format!("the thread says {live:?}, section 4 says {read:?}"))
        }
    }
}

/// The one rule: a confirmer's mark is confirmed, any other is a proposal. A revert restores what once was confirmed.
fn marks_are_confirmed_by_confirmers(log: &[Event]) -> Result<(), String> {
    for (at, event) in log.iter().enumerate() {
        let Some(mark) = mark(event) else { continue };
        let by_confirmer = *event.by.line == *"human:operator" || *event.by.line == *"parley:lou";
        let confirmed = mark.to.confirmed_at.is_some();
        if confirmed != by_confirmer {
            return Err(format!("event {at} is confirmed: {confirmed}"));
        }
        if !mark.reverted && (mark.to.by != event.by.line || mark.to.origin != event.by.origin) {
            return Err(format!("event {at} is not ascribed to who made it"));
        }
    }
    Ok(())
}

/// What section 4 and 13.4 say of a log, read word by word and from the beginning each time.
struct Naive {
    state: State,
    awaiting: bool,
    owed: Vec<MessageId>,
    due: Due,
}

impl Naive {
    fn read(log: &[Event]) -> Self {
        let said: Vec<(usize, &Event, &Message)> = log
            .iter()
            .enumerate()
            .filter_map(|(at, event)| Some((at, event, message(event)?)))
            .collect();
        let state = log.iter().rev().find_map(mark).map_or(State::Open, |mark| mark.to.state);
        let may_answer = matches!(state, State::Open | State::Answered | State::Decided);
        let awaits = |kind: Kind| {
            [Kind::Ask, Kind::Propose, Kind::Refute, Kind::Request, Kind::Handover].contains(&kind)
        };
        // "The message answered is `parent`, or, without one, the thread's last message."
        let answered =
            |nth: usize| -> MessageId { said[nth].2.parent.unwrap_or_else(|| said[nth - 1].2.id) };
        let line_of = |id: MessageId| {
            said.iter().find(|(_, _, said)| said.id == id).map(|(_, event, _)| &event.by.line)
        };

        // "The awaiting acts since the last `decide` that no other author has answered (a message whose answered
        // message it is, other than `note`), while the thread is neither closed nor in a side state."
        let settled = said
            .iter()
            .rposition(|(at, _, message)| message.kind == Kind::Decide && !is_reverted(log, *at))
            .unwrap_or(0);
        let is_open = |(nth, (_, asked, message)): &(usize, &(usize, &Event, &Message))| {
            awaits(message.kind)
                && *nth >= settled
                && !(nth + 1..said.len()).any(|later| {
                    let (at, answer, by) = said[later];
                    by.kind != Kind::Note
                        && answered(later) == message.id
                        && answer.by != asked.by
                        && !is_reverted(log, at)
                })
        };
        let open: Vec<&(usize, &Event, &Message)> = said
            .iter()
            .enumerate()
            .filter(|_| may_answer)
            .filter(is_open)
            .map(|(_, said)| said)
            .collect();

        // "The line of the explicit parent's author, if that is another line than the act's author; else the thread's
        // creator, if another line; else anyone." Of the newest open act.
        let due = match open.last() {
            None => Due::Nobody,
            Some((_, event, message)) => {
                let other = |line: &&Arc<str>| **line != event.by.line;
                let parent = message.parent.and_then(line_of).filter(other);
                parent
                    .or(Some(&log[0].by.line).filter(other))
                    .map_or(Due::Anyone, |line| Due::Line(Arc::clone(line)))
            }
        };
        let awaiting = may_answer && said.last().is_some_and(|(_, _, last)| awaits(last.kind));
        Self {
            state,
            awaiting,
            owed: open.into_iter().map(|(_, _, message)| message.id).collect(),
            due,
        }
    }
}

/// 13.3: "Revert brings back the last confirmed state […] and the open acts as they were." So what was said since
/// then no longer settles or answers anything: from it to the revert, the standing was never confirmed.
fn is_reverted(log: &[Event], act: usize) -> bool {
    let confirmed_after = |at: usize| {
        log[..=at].iter().rev().find_map(mark).is_none_or(|mark| mark.to.confirmed_at.is_some())
    };
    (act + 1..log.len()).any(|revert| {
        mark(&log[revert]).is_some_and(|mark| mark.reverted) && !(act..revert).any(confirmed_after)
    })
}

fn message(event: &Event) -> Option<&Message> {
    event.fact.said().map(|said| &**said.message)
}

fn mark(event: &Event) -> Option<&Mark> {
    event.fact.mark()
}

fn alphabet() -> Vec<(Speaker, Act)> {
    let mut alphabet = Vec::new();
    for speaker in [ann(), bob(), lou(), human()] {
        for kind in [Kind::Ask, Kind::Answer, Kind::Propose, Kind::Decide, Kind::Note] {
            for parent in [None, Some(MessageId::new(1))] {
                alphabet.push((
                    speaker.clone(),
                    Act::Post { draft: draft(kind, parent), client_ref: None },
                ));
            }
        }
        let deferred = Act::Settle(SideState::Deferred);
        let rejected = Act::Settle(SideState::Rejected);
        for act in
            [Act::Close, Act::Reopen, deferred, rejected, Act::Pin(true), Act::Confirm, Act::Revert]
        {
            alphabet.push((speaker.clone(), act));
        }
    }
    alphabet
}

fn draft(kind: Kind, parent: Option<MessageId>) -> Draft {
    Draft {
        kind,
        body: "…".into(),
        parent,
        relates_to: Vec::new(),
        provenance: BTreeMap::new(),
        claims: Vec::new(),
        refutes: Vec::new(),
        evidence: Vec::new(),
        url: None,
    }
}

fn fresh(log: &[Event]) -> Fresh {
    Fresh { message: log.len() as u64 + 1, claims: 1, attestation: 1 }
}

fn ann() -> Speaker {
    speaker("parley:ann", Origin::Llm, [Right::Write])
}

fn bob() -> Speaker {
    speaker("parley:bob", Origin::Llm, [Right::Write])
}

fn lou() -> Speaker {
    speaker("parley:lou", Origin::Llm, [Right::Lock])
}

fn human() -> Speaker {
    speaker("human:operator", Origin::User, [Right::Write])
}

fn speaker(line: &str, origin: Origin, rights: [Right; 1]) -> Speaker {
    Speaker {
        author: Author { line: line.into(), extension: None, origin },
        rights: Rights::of(rights),
    }
}
