//! A thread actor without the actor: what one thread decides, and what waits for the disk.
//!
//! A seat decides on a *tentative* state that already holds the events on their way to the disk, so that the appends
//! of one thread can be in flight together. Nobody sees that state: an answer that rests on it, a refusal too, is held
//! until everything before it is durable. There is no method for repairing a seat: when an append fails the seat is
//! dissolved, and a new one is opened from the log. The simulator runs these same lines.

use std::collections::VecDeque;
use std::sync::Arc;

use parley_language::event::Event;
use parley_language::thread::{Act, Fresh, Summary, Thread};
use parley_language::{Refusal, Speaker, ThreadId, Time};

/// One thread's state machine at work. `R` is whatever the host needs to answer one request.
#[derive(Debug)]
pub struct Seat<R> {
    id: ThreadId,
    tentative: Option<Thread>,
    /// How many events the tentative state rests on: the sequence number of the next one.
    length: u64,
    held: VecDeque<Held<R>>,
}

/// What waits for the disk, in the order in which it was asked.
#[derive(Debug)]
pub enum Held<R> {
    /// An event in flight, and what the thread is once it is durable.
    Event {
        /// The event.
        event: Arc<Event>,
        /// The thread after it.
        summary: Arc<Summary>,
        /// Whom to answer.
        reply: R,
    },
    /// An answer without an event, which rests on the events before it.
    Answer {
        /// The answer.
        answer: Unmoved,
        /// Whom to answer.
        reply: R,
    },
}

/// An answer that changes nothing: everything is already as asked, or no.
pub type Unmoved = Result<Arc<Summary>, Refusal>;

/// What the host has to do next.
#[derive(Debug)]
pub enum Step<R> {
    /// Append this event at this sequence number; the reply is held.
    Append {
        /// The event.
        event: Arc<Event>,
        /// Its sequence number in the thread.
        expected: u64,
        /// The thread after it: the stream's note.
        summary: Arc<Summary>,
    },
    /// Answer now: nothing is in flight.
    Answer {
        /// The answer.
        answer: Unmoved,
        /// Whom to answer.
        reply: R,
    },
    /// Nothing: the answer waits for what is in flight.
    Hold,
}

impl<R> Seat<R> {
    /// A seat is the replay of its log, nothing else. An empty log is a thread that is about to be opened.
    pub fn open(id: ThreadId, log: &[Event]) -> Self {
        Self {
            id,
            tentative: Thread::replay(id, log),
            length: log.len() as u64,
            held: VecDeque::new(),
        }
    }

    /// Decides. `at` is brought up to the thread's last moment, so that time never runs backward in a thread.
    pub fn ask(
        &mut self,
        speaker: &Speaker,
        act: Act,
        at: Time,
        fresh: Fresh,
        reply: R,
    ) -> Step<R> {
        let at = self.tentative.as_ref().map_or(at, |thread| at.max(thread.updated_at()));
        match Thread::decide(self.tentative.as_ref(), speaker, act, at, fresh) {
            Ok(Some(event)) => self.append(event, reply),
            Ok(None) => {
                let thread =
                    self.tentative.as_ref().expect("an act that changes nothing found a thread");
                let answer = Ok(Arc::new(thread.summary()));
                self.answer(answer, reply)
            }
            Err(refusal) => self.answer(Err(refusal), reply),
        }
    }

    fn append(&mut self, event: Event, reply: R) -> Step<R> {
        match &mut self.tentative {
            None => self.tentative = Some(Thread::open(self.id, &event)),
            Some(thread) => thread.apply(&event),
        }
        let thread = self.tentative.as_ref().expect("it was just opened or was there");
        let summary = Arc::new(thread.summary());
        debug_assert_eq!(parley_language::invariant::one_is_due(&summary), Ok(()));
        debug_assert_eq!(
            parley_language::invariant::only_a_confirmed_close_locks(&summary),
            Ok(())
        );
        let event = Arc::new(event);
        let expected = self.length;
        self.length += 1;
        self.held.push_back(Held::Event {
            event: Arc::clone(&event),
            summary: Arc::clone(&summary),
            reply,
        });
        Step::Append { event, expected, summary }
    }

    fn answer(&mut self, answer: Unmoved, reply: R) -> Step<R> {
        if self.held.is_empty() {
            return Step::Answer { answer, reply };
        }
        self.held.push_back(Held::Answer { answer, reply });
        Step::Hold
    }

    /// The oldest append in flight is durable: hands out its event, then the answers that rested on it, in order.
    pub fn appended(&mut self, mut tell: impl FnMut(Held<R>)) {
        let oldest = self.held.pop_front();
        debug_assert!(
            matches!(oldest, Some(Held::Event { .. })),
            "an append was answered that nobody made"
        );
        oldest.into_iter().for_each(&mut tell);
        while let Some(answer @ Held::Answer { .. }) =
            self.held.pop_front_if(|held| matches!(held, Held::Answer { .. }))
        {
            tell(answer);
        }
    }

    /// The end of a seat whose append failed: what it still held, for the host to answer.
    pub fn dissolve(self) -> VecDeque<Held<R>> {
        self.held
    }

    /// Whether nothing is in flight.
    pub fn is_idle(&self) -> bool {
        self.held.is_empty()
    }

    /// The tentative thread, for checks.
    pub fn thread(&self) -> Option<&Thread> {
        self.tentative.as_ref()
    }

    /// How many events it rests on.
    pub fn length(&self) -> u64 {
        self.length
    }
}
