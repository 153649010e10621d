//! What is held after every tick: P-1 to P-10 of the house, and P-11, that an answer which changes nothing was true of
//! something durable between the question and the answer. Everything here is computed from what is durable, one event
//! at a time; the seats have no say in it.

use std::sync::Arc;

use parley_language::event::Event;
use parley_language::invariant;
use parley_language::thread::{Fresh, Summary, Thread};
use parley_language::{Reason, Speaker};

use crate::disk::Record;
use crate::people::{Intent, thread_id};

/// A broken promise, by its number.
pub(crate) type Kept = Result<(), String>;

/// One thread as the disk has it.
#[derive(Default)]
pub(crate) struct Ledger {
    log: Vec<Event>,
    /// The thread after each of its events.
    states: Vec<Thread>,
    /// How many events somebody was shown, or told of.
    seen: usize,
}

impl Ledger {
    pub(crate) fn len(&self) -> usize {
        self.log.len()
    }

    pub(crate) fn now(&self) -> Option<&Thread> {
        self.states.last()
    }

    /// A record became durable.
    pub(crate) fn grow(&mut self, thread: usize, record: &Record) -> Kept {
        let id = thread_id(thread);
        let event = &record.event;
        let seq = self.log.len();
        hold(record.expected == seq as u64, || {
            format!("P-1: record {seq} of {id} was meant to be {}", record.expected)
        })?;
        let next = match self.states.last() {
            None => Thread::open(id, event),
            Some(thread) => {
                hold(event.at >= thread.updated_at(), || {
                    format!("P-1: time runs backward in {id}")
                })?;
                let mut next = thread.clone();
                next.apply(event);
                next
            }
        };
        self.log.push(Event::clone(event));
        invariant::nothing_after_a_confirmed_close(&self.log)
            .map_err(|why| format!("P-2: {why}"))?;
        invariant::forward_only(&self.log).map_err(|why| format!("P-8: {why}"))?;
        invariant::nobody_answers_itself(&self.log).map_err(|why| format!("P-9: {why}"))?;
        let summary = next.summary();
        invariant::one_is_due(&summary).map_err(|why| format!("P-7: {why}"))?;
        invariant::only_a_confirmed_close_locks(&summary).map_err(|why| format!("P-2: {why}"))?;
        self.states.push(next);
        Ok(())
    }

    /// A seat at rest is the replay of what is durable.
    pub(crate) fn rests(&self, thread: Option<&Thread>) -> Kept {
        hold(thread == self.now(), || "P-4: a seat at rest is not the replay of its log".into())
    }

    /// Somebody is shown the thread after its first `count` events, or told of the last of them.
    pub(crate) fn show(&mut self, count: usize, summary: &Summary) -> Kept {
        let state = count.checked_sub(1).and_then(|last| self.states.get(last));
        let Some(state) = state else {
            return Err(format!("P-5: event {count} was told and {} are durable", self.len()));
        };
        hold(state.summary() == *summary, || {
            format!("P-4: what was told of event {count} is not so")
        })?;
        self.seen = self.seen.max(count);
        Ok(())
    }

    /// A reader sees all that anybody was shown before.
    pub(crate) fn look(&mut self, count: usize, summary: &Summary) -> Kept {
        hold(count >= self.seen, || format!("P-6: {} events were seen, now {count}", self.seen))?;
        hold(count <= self.len(), || {
            format!("P-6: {count} events are shown, {} durable", self.len())
        })?;
        self.show(count, summary)
    }

    /// P-11: no, or "as you asked", was true at some moment since the thread had `from` events.
    pub(crate) fn was_true(
        &self,
        from: usize,
        by: &Speaker,
        wish: &Intent,
        no: Option<Reason>,
    ) -> Kept {
        let held = (from..=self.len()).any(|length| {
            let thread = length.checked_sub(1).map(|last| &self.states[last]);
            let at = thread.map(Thread::updated_at).unwrap_or_default();
            match Thread::decide(thread, by, wish.act(true), at, Fresh::default()) {
                Ok(Some(_)) => false,
                Ok(None) => no.is_none(),
                Err(refusal) => no == Some(refusal.reason),
            }
        });
        hold(held, || format!("P-11: {no:?} was never true of anything durable"))
    }

    /// P-4 from the beginning, for the end.
    pub(crate) fn replays(&self, thread: usize) -> Kept {
        let id = thread_id(thread);
        match self.now() {
            None => Ok(()),
            Some(now) => invariant::live_equals_replay(id, now, &self.log)
                .map_err(|why| format!("P-4: {why}")),
        }
    }
}

/// The promise, or how it was broken.
pub(crate) fn hold(kept: bool, broken: impl FnOnce() -> String) -> Kept {
    if kept { Ok(()) } else { Err(broken()) }
}

/// Whether two handles are of one event.
pub(crate) fn same(one: &Arc<Event>, other: &Arc<Event>) -> bool {
    Arc::ptr_eq(one, other) || one == other
}
