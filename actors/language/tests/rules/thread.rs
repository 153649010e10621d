//! Rows about threads: people speak and act, and the thread becomes what the row says.

use std::collections::BTreeMap;
use std::sync::Arc;

use parley_language::author::{Author, Rights, Speaker};
use parley_language::claim::{self, Entry, Target};
use parley_language::envelope::{Draft, Envelope, Evidence};
use parley_language::event::{Event, Fact, Image};
use parley_language::invariant;
use parley_language::thread::{Act, Due, Fresh, SideState, Summary, Thread};
use parley_language::words::{EvidenceKind, ImageType, Kind, Origin, Right, State, Verdict};
use parley_language::{
    AttestationId, ClaimId, ImageId, MessageId, Reason, Refusal, ThreadId, Time,
};
use serde_json::json;

use crate::table::{Outcome, Row};

#[derive(Default)]
struct World {
    threads: BTreeMap<ThreadId, (Thread, Vec<Event>)>,
    messages: u64,
    claims: u64,
    attestations: u64,
    /// Row `n` of a world happens at moment `n`.
    now: u64,
    refused: Option<Reason>,
}

/// What a row gave.
struct Given {
    /// Nothing if everything already was as asked.
    event: Option<Event>,
    thread: Thread,
    summary: Summary,
}

pub(crate) fn check(rows: &[Row]) -> Vec<Result<Outcome, String>> {
    let mut world = World::default();
    rows.iter().map(|row| world.row(row)).collect()
}

pub(crate) fn speaker(name: &str) -> Speaker {
    let (name, extension) = name.split_once('/').map_or((name, None), |(name, w)| (name, Some(w)));
    let (line, origin) = match name {
        "human" => ("human:operator".to_string(), Origin::User),
        _ => (format!("parley:{name}"), Origin::Llm),
    };
    let rights = match name {
        "ann" | "bob" | "cid" | "dan" | "human" => Rights::of([Right::Write]),
        "val" | "vic" => Rights::of([Right::Write, Right::Verify]),
        "lou" | "lea" => Rights::of([Right::Write, Right::Lock]),
        _ => panic!("nobody is called {name}"),
    };
    let author = Author { line: line.into(), extension: extension.map(Arc::from), origin };
    Speaker { author, rights }
}

impl World {
    fn row(&mut self, row: &Row) -> Result<Outcome, String> {
        self.now += 1;
        let [thread, who, act @ ..] = &*row.left else { panic!("{}: who does what?", row.place) };
        let id = ThreadId::new(number("th", thread));
        let given = self.ask(id, &speaker(who), act)?;
        let previous =
            std::mem::replace(&mut self.refused, given.as_ref().err().map(|no| no.reason));
        match (given, row.right.split_first()) {
            (Err(refusal), Some((word, right))) if word == "refused" => {
                refused(&refusal, right, previous)
            }
            (Err(refusal), _) => Err(format!("refused {}: {}", refusal.reason, refusal.error)),
            (Ok(given), Some((word, _))) if word == "refused" => {
                Err(format!("not refused: {}", shown(&given.summary)))
            }
            (Ok(given), _) => expect(&given, &row.right).map(|()| Outcome::default()),
        }
    }

    /// One act, and what is true of every act.
    fn ask(
        &mut self,
        id: ThreadId,
        by: &Speaker,
        words: &[String],
    ) -> Result<Result<Given, Refusal>, String> {
        let before = self.threads.get(&id).cloned();
        let thread = before.as_ref().map(|(thread, _)| thread);
        let fresh = Fresh {
            message: self.messages + 1,
            claims: self.claims + 1,
            attestation: self.attestations + 1,
        };
        let decision = self
            .act(thread.is_some(), words)
            .and_then(|act| Thread::decide(thread, by, act, Time(self.now), fresh));
        if self.threads.get(&id) != before.as_ref() {
            return Err("deciding changed the thread".into());
        }
        let event = match decision {
            Err(refusal) => return Ok(Err(refusal)),
            Ok(event) => event,
        };
        if let Some(event) = &event {
            self.keep(id, event)?;
        }
        let (thread, _) = &self.threads[&id];
        Ok(Ok(Given { event, summary: thread.summary(), thread: thread.clone() }))
    }

    fn keep(&mut self, id: ThreadId, event: &Event) -> Result<(), String> {
        if let Some(said) = event.fact.said() {
            self.messages += 1;
            self.claims += said.message.claims.len() as u64;
        }
        self.attestations += u64::from(matches!(event.fact, Fact::Attested { .. }));
        let (thread, log) = match self.threads.remove(&id) {
            None => (Thread::open(id, event), vec![event.clone()]),
            Some((mut thread, mut log)) => {
                thread.apply(event);
                log.push(event.clone());
                (thread, log)
            }
        };
        let summary = thread.summary();
        invariant::live_equals_replay(id, &thread, &log)?;
        invariant::nothing_after_a_confirmed_close(&log)?;
        invariant::forward_only(&log)?;
        invariant::nobody_answers_itself(&log)?;
        invariant::one_is_due(&summary)?;
        invariant::only_a_confirmed_close_locks(&summary)?;
        self.threads.insert(id, (thread, log));
        Ok(())
    }

    fn act(&self, opened: bool, words: &[String]) -> Result<Act, Refusal> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        Ok(match &*words {
            ["close"] => Act::Close,
            ["reopen"] => Act::Reopen,
            ["set", state] => {
                Act::Settle(State::parse(state).and_then(SideState::of).expect("a side state"))
            }
            ["pin"] => Act::Pin(true),
            ["unpin"] => Act::Pin(false),
            ["confirm"] => Act::Confirm,
            ["revert"] => Act::Revert,
            ["forbid"] => Act::LlmReply { allowed: false, message: None },
            ["allow"] => Act::LlmReply { allowed: true, message: None },
            ["forbid", of] => Act::LlmReply { allowed: false, message: Some(message_id(of)) },
            ["allow", of] => Act::LlmReply { allowed: true, message: Some(message_id(of)) },
            ["attest", claim, verdict, evidence @ ..] => Act::Attest {
                claim: claim_id(claim),
                verdict: Verdict::ALL
                    .into_iter()
                    .find(|known| known.name() == *verdict)
                    .expect("a verdict"),
                evidence: match evidence {
                    ["evidence"] => vec![Evidence {
                        kind: EvidenceKind::Note,
                        value: "seen".into(),
                        note: None,
                    }],
                    other => {
                        assert!(other.is_empty(), "what is {other:?}?");
                        Vec::new()
                    }
                },
                note: None,
            },
            ["seal", claim] => Act::Seal(claim_id(claim)),
            ["picture", message] => Act::Illustrate {
                message: message_id(message),
                image: Image {
                    id: ImageId::new(1),
                    kind: ImageType::Png,
                    bytes: 1,
                    width: 1,
                    height: 1,
                },
            },
            // A message of another thread bears on this one.
            ["reached", by, how, what @ ..] => reach(message_id(by), how, what),
            ["open", rest @ ..] => Act::Open { board: 1, draft: draft(rest)?, client_ref: None },
            ["post", rest @ ..] => Act::Post { draft: draft(rest)?, client_ref: None },
            rest if opened => Act::Post { draft: draft(rest)?, client_ref: None },
            rest => Act::Open { board: 1, draft: draft(rest)?, client_ref: None },
        })
    }
}

fn message_id(name: &str) -> MessageId {
    MessageId::new(number("m", name))
}

fn claim_id(name: &str) -> ClaimId {
    ClaimId::new(number("c", name))
}

/// A name of a row as the key it stands for: `c1`, `m2`, `at3`; a key stands for itself.
fn key(name: &str) -> String {
    let of = |series: &str, prefix: &str| {
        let number: u64 = name.strip_prefix(series)?.parse().ok()?;
        Some(format!("{prefix}_{number}"))
    };
    of("at", "at").or_else(|| of("c", "cl")).or_else(|| of("m", "msg")).unwrap_or(name.into())
}

fn reach(message: MessageId, how: &str, what: &[&str]) -> Act {
    let (mut refutes, mut overturns, mut supersedes) = (Vec::new(), Vec::new(), Vec::new());
    let seals = how == "seals";
    match (how, what) {
        ("refutes" | "seals", [what]) => match Target::parse(&key(what)).expect("a target") {
            Target::Claim(claim) => refutes.push(claim),
            Target::Refutation(refutation) => overturns.push(refutation),
        },
        ("replaces", [old, new]) => supersedes.push((claim_id(old), claim_id(new))),
        other => panic!("what is {other:?}?"),
    }
    Act::Reach { message, thread: ThreadId::new(9), refutes, overturns, supersedes, seals }
}

fn number(series: &str, name: &str) -> u64 {
    let number = name.strip_prefix(series).and_then(|number| number.parse().ok());
    number.unwrap_or_else(|| panic!("{name} is not like {series}1"))
}

/// A message as it would be sent, from its kind and what follows: a body, `re m1`, `evidence`, `claims 2`.
fn draft(words: &[&str]) -> Result<Draft, Refusal> {
    let (kind, mut rest) = words.split_first().expect("a kind");
    let mut sent = json!({"kind": kind, "body": "…"});
    while let Some((word, after)) = rest.split_first() {
        rest = after;
        let mut next = || {
            let (word, after) = rest.split_first().expect("a word follows");
            rest = after;
            *word
        };
        match *word {
            "re" => sent["parent"] = json!(message_id(next()).to_string()),
            "evidence" => sent["evidence"] = json!([{"kind": "note", "value": "seen"}]),
            "url" => sent["url"] = json!("https://example.org/"),
            "refutes" => sent["refutes"] = json!([key(next())]),
            "relates" => sent["relates_to"] = json!([key(next())]),
            "claims" => {
                let count = next().parse().expect("how many claims");
                sent["claims"] = json!(vec![json!({"statement": "it is so"}); count]);
            }
            body => sent["body"] = json!(body),
        }
    }
    serde_json::from_value::<Envelope>(sent).expect("an envelope of the right shape").check()
}

fn refused(
    refusal: &Refusal,
    right: &[String],
    previous: Option<Reason>,
) -> Result<Outcome, String> {
    let reason = refusal.reason;
    let mut outcome = Outcome { reason: Some(reason), ..Outcome::default() };
    if right.first().map(String::as_str) != Some(reason.name()) {
        return Err(format!("refused {reason}: {}", refusal.error));
    }
    match right.get(1..).unwrap_or_default() {
        [] => {}
        // The row before runs into the other reason alone, so this one runs into both.
        [over, loser] if over == "over" => match previous {
            Some(previous) if previous.name() == loser => outcome.over = Some((reason, previous)),
            _ => return Err(format!("the row before is not refused {loser}")),
        },
        other => panic!("what is {other:?}?"),
    }
    Ok(outcome)
}

fn expect(given: &Given, right: &[String]) -> Result<(), String> {
    let Given { event, summary, thread } = given;
    let standing = &summary.standing;
    let mut right = right.iter().map(String::as_str);
    let mut wrong = Vec::new();
    let locked_is_said = right.clone().any(|word| word == "locked");
    while let Some(word) = right.next() {
        let mut next = || right.next().unwrap_or_else(|| panic!("{word} what?"));
        let holds = match word {
            "confirmed" => standing.confirmed_at.is_some(),
            "proposal" => standing.confirmed_at.is_none(),
            "locked" => standing.locked,
            "at" => standing.confirmed_at == next().parse().ok().map(Time),
            "by" => standing.by == speaker(next()).author.line,
            "origin" => format!("{:?}", standing.origin).to_lowercase() == next(),
            "awaiting" => summary.awaiting,
            "quiet" => !summary.awaiting,
            "due" => due(&summary.due()) == next(),
            "owes" => owed(summary) == next(),
            "pinned" => summary.pinned,
            "unpinned" => !summary.pinned,
            "ai" => summary.llm_reply,
            "no-ai" => !summary.llm_reply,
            "unchanged" => event.is_none(),
            "marked" => marks(event),
            "message" => {
                !marks(event) && event.as_ref().is_some_and(|event| event.fact.said().is_some())
            }
            "answers" => answers(event) == Some(message_id(next())),
            "title" => &*summary.title == next(),
            "kind" => summary.kind.name() == next(),
            "creator" => summary.creator == speaker(next()).author.line,
            "messages" => next().parse() == Ok(summary.messages),
            "claims" => next().parse() == Ok(summary.claims),
            "contested" => claim(thread, next()).1.contested,
            "undisputed" => !claim(thread, next()).1.contested,
            "counts" => counts(thread, next()) == Some(true),
            "uncounted" => counts(thread, next()) == Some(false),
            "since" => {
                let act = message_id(next());
                let act = summary.open_acts.iter().find(|open| open.message == act);
                act.map(|open| open.since) == next().parse().ok()
            }
            name if name.len() > 1 && name[1..].parse::<u64>().is_ok() => {
                claim(thread, name).1.state.name() == next()
            }
            state => {
                let state = State::parse(state).unwrap_or_else(|| panic!("what is {state}?"));
                standing.state == state && standing.locked == locked_is_said
            }
        };
        if !holds {
            wrong.push(word);
        }
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(format!("not {}: {}", wrong.join(", not "), shown(summary)))
    }
}

fn marks(event: &Option<Event>) -> bool {
    event.as_ref().is_some_and(|event| event.fact.mark().is_some())
}

fn answers(event: &Option<Event>) -> Option<MessageId> {
    event.as_ref()?.fact.said()?.answers
}

fn claim(thread: &Thread, name: &str) -> (Arc<Entry>, claim::Standing) {
    let entry = thread.book().get(claim_id(name)).expect("a claim of the thread");
    (Arc::clone(entry), thread.book().standing(entry))
}

/// Whether an attestation counts.
fn counts(thread: &Thread, name: &str) -> Option<bool> {
    let id = AttestationId::new(number("at", name));
    thread.book().claims().find_map(|(_, entry)| {
        let told = |word: &claim::Word| word.attestation.as_ref().is_some_and(|it| it.id == id);
        let at = entry.words.iter().position(told)?;
        Some(thread.book().standing(entry).counts[at])
    })
}

fn due(due: &Due) -> String {
    match due {
        Due::Nobody => "nobody".into(),
        Due::Anyone => "anyone".into(),
        Due::Line(line) if **line == *"human:operator" => "human".into(),
        Due::Line(line) => line.trim_start_matches("parley:").into(),
    }
}

fn owed(summary: &Summary) -> String {
    let owed: Vec<_> =
        summary.open_acts.iter().map(|open| format!("m{}", open.message.number)).collect();
    owed.join(" ")
}

fn shown(summary: &Summary) -> String {
    let standing = &summary.standing;
    format!(
        "{} {}{} by {} origin {:?} at {:?} {} due {} owes [{}]",
        standing.state.name(),
        if standing.confirmed_at.is_some() { "confirmed" } else { "proposal" },
        if standing.locked { " locked" } else { "" },
        standing.by,
        standing.origin,
        standing.confirmed_at,
        if summary.awaiting { "awaiting" } else { "quiet" },
        due(&summary.due()),
        owed(summary)
    )
}

/// Every kind is in some row.
#[test]
fn the_tables_know_all_nine_kinds() {
    let rows: Vec<Row> = crate::table::worlds().into_iter().flat_map(|world| world.rows).collect();
    for kind in Kind::ALL {
        let said = rows.iter().any(|row| row.left.iter().any(|word| word == kind.name()));
        assert!(said, "nobody says `{}`", kind.name());
    }
}
