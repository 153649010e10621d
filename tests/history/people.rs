//! Who asks, and for what.

use std::collections::BTreeMap;

use parley_language::author::{Author, Rights, Speaker};
use parley_language::envelope::Draft;
use parley_language::event::ClientRef;
use parley_language::thread::{Act, SideState};
use parley_language::words::{Kind, Origin, Right};
use parley_language::{MessageId, ThreadId};

use crate::dice::Dice;

/// How many threads there are.
pub(crate) const THREADS: usize = 3;

/// What somebody wants: one message, or one other act, once.
#[derive(Debug, Clone)]
pub(crate) struct Intent {
    pub(crate) thread: usize,
    /// The place of who wants it in [`people`].
    pub(crate) who: usize,
    pub(crate) what: What,
    /// The author's own key; its number is of one author only.
    pub(crate) reference: Option<usize>,
    /// Tells envelopes under one reference apart.
    pub(crate) envelope: u8,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum What {
    Open(Kind),
    Say(Kind, Option<MessageId>),
    /// An act that is no message.
    Act(Box<Act>),
}

impl Intent {
    pub(crate) fn is_message(&self) -> bool {
        !matches!(self.what, What::Act(_))
    }

    /// What is asked of the thread. A mistaken client leaves its key out.
    pub(crate) fn act(&self, with_key: bool) -> Act {
        let key = self.reference.filter(|_| with_key);
        let client_ref =
            key.map(|key| ClientRef { text: key.to_string(), digest: [self.envelope; 16] });
        match &self.what {
            What::Open(kind) => Act::Open { board: 1, draft: self.draft(*kind, None), client_ref },
            What::Say(kind, parent) => Act::Post { draft: self.draft(*kind, *parent), client_ref },
            What::Act(act) => Act::clone(act),
        }
    }

    fn draft(&self, kind: Kind, parent: Option<MessageId>) -> Draft {
        Draft {
            kind,
            body: format!("envelope {}", self.envelope),
            parent,
            relates_to: Vec::new(),
            provenance: BTreeMap::new(),
            claims: Vec::new(),
            refutes: Vec::new(),
            evidence: Vec::new(),
            url: None,
        }
    }
}

pub(crate) fn thread_id(thread: usize) -> ThreadId {
    ThreadId::new(thread as u64 + 1)
}

/// Two writers, an extension of one, a lock holder, the human.
pub(crate) fn people() -> Vec<Speaker> {
    let speaker = |line: &str, extension: Option<&str>, origin, right| Speaker {
        author: Author { line: line.into(), extension: extension.map(Into::into), origin },
        rights: Rights::of([Right::Write, right]),
    };
    vec![
        speaker("parley:ann", None, Origin::Llm, Right::Write),
        speaker("parley:ann", Some("w1"), Origin::Llm, Right::Write),
        speaker("parley:bob", None, Origin::Llm, Right::Pin),
        speaker("parley:lou", None, Origin::Llm, Right::Lock),
        speaker("human:operator", None, Origin::User, Right::Write),
    ]
}

const HUMAN: usize = 4;

/// Something that somebody may want of a thread, whose first message is `first` once it is open. `known` is what was
/// wanted before: now and then a reference is used again, for the same envelope or for another.
pub(crate) fn wish(
    dice: &mut Dice,
    known: &[Intent],
    first: impl Fn(usize) -> Option<MessageId>,
) -> Intent {
    if dice.happens(8)
        && let Some(earlier) = known.get(dice.roll(known.len()))
        && earlier.reference.is_some()
    {
        let again = u8::from(dice.happens(50));
        return Intent { envelope: earlier.envelope ^ again, ..earlier.clone() };
    }
    // The first thread is the hottest.
    let thread = if dice.happens(40) { 0 } else { dice.roll(THREADS) };
    let who = dice.roll(HUMAN + 1);
    let kinds =
        [Kind::Ask, Kind::Answer, Kind::Propose, Kind::Decide, Kind::Note, Kind::Note, Kind::Ask];
    let kind = kinds[dice.roll(kinds.len())];
    let what = match first(thread) {
        None => What::Open(kind),
        Some(_) if dice.happens(1) => What::Open(kind),
        Some(first) if dice.happens(65) => {
            What::Say(kind, Some(first).filter(|_| dice.happens(30)))
        }
        Some(_) if who == HUMAN && dice.happens(20) => {
            What::Act(Box::new(Act::LlmReply { allowed: dice.happens(75), message: None }))
        }
        Some(_) => {
            let pin = Act::Pin(dice.happens(50));
            let acts = [
                Act::Close,
                Act::Reopen,
                Act::Reopen,
                Act::Settle(SideState::Deferred),
                Act::Settle(SideState::Rejected),
                pin,
                Act::Confirm,
                Act::Revert,
            ];
            What::Act(Box::new(acts[dice.roll(acts.len())].clone()))
        }
    };
    let is_message = !matches!(what, What::Act(_));
    let reference = (is_message && dice.happens(80)).then_some(known.len());
    Intent { thread, who, what, reference, envelope: 0 }
}
