//! The committer's queue: appends up to a bound, and a few cheap commands that are never refused.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::{Answers, Append, AppendError, Appended, Stream};

/// An append and where its answer goes.
#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) append: Append,
    pub(super) bytes: usize,
    pub(super) answers: Answers,
}

impl Waiter {
    /// Sends the answer. Nobody may be there any more to take it, which is the caller's business.
    pub(super) fn answer(&self, result: Result<u64, AppendError>) {
        let _ = self.answers.send(Appended { expected: self.append.expected, result });
    }
}

/// What the committer is asked.
#[derive(Debug)]
pub(super) enum Command {
    /// Store something.
    Append(Waiter),
    /// Say when everything before this is settled.
    Settle(oneshot::Sender<()>),
    /// Keep a note that was made anew.
    Annotate { stream: Stream, length: u64, note: Vec<u8> },
}

/// How the journal ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// Settle what waits and write the indexes down.
    Close,
    /// Settle what waits.
    Drop,
}

#[derive(Debug, Default)]
struct State {
    commands: VecDeque<Command>,
    appends: usize,
    sleeping: bool,
    busy: bool,
    ending: Option<Ending>,
}

/// The queue itself: one lock, held for moments, and a wake-up only when the committer sleeps.
#[derive(Debug)]
pub(super) struct Queue {
    state: Mutex<State>,
    wake: Condvar,
    appends_max: usize,
    records_max: usize,
    bytes_max: usize,
}

impl Queue {
    /// An empty queue with the bounds of the settings.
    pub(super) fn new(settings: &crate::Settings) -> Self {
        Self {
            state: Mutex::default(),
            wake: Condvar::new(),
            appends_max: settings.queue_appends_max.max(1),
            records_max: settings.group_records_max.max(1),
            bytes_max: settings.group_bytes_max.max(1),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, mut state: MutexGuard<'_, State>, command: Command) {
        state.commands.push_back(command);
        let wake = std::mem::take(&mut state.sleeping);
        drop(state);
        if wake {
            self.wake.notify_one();
        }
    }

    /// Hands in an append, or hands it back with the reason.
    pub(super) fn append(&self, waiter: Waiter) -> Result<(), (Waiter, String)> {
        let mut state = self.state();
        if state.ending.is_some() {
            return Err((waiter, "it is closed".into()));
        }
        if state.appends >= self.appends_max {
            return Err((waiter, format!("its queue of {} appends is full", self.appends_max)));
        }
        state.appends += 1;
        self.push(state, Command::Append(waiter));
        Ok(())
    }

    /// A receiver that is told when all appends handed in before are settled; `None` when they are already.
    pub(super) fn settle(&self) -> Option<oneshot::Receiver<()>> {
        let state = self.state();
        if state.commands.is_empty() && !state.busy {
            return None;
        }
        let (sender, receiver) = oneshot::channel();
        self.push(state, Command::Settle(sender));
        Some(receiver)
    }

    /// Hands in a note.
    pub(super) fn annotate(&self, stream: Stream, length: u64, note: Vec<u8>) {
        let state = self.state();
        if state.ending.is_none() {
            self.push(state, Command::Annotate { stream, length, note });
        }
    }

    /// Takes no further appends. The first ending counts.
    pub(super) fn end(&self, ending: Ending) {
        let mut state = self.state();
        state.ending.get_or_insert(ending);
        state.sleeping = false;
        drop(state);
        self.wake.notify_one();
    }

    /// Whether no further appends are taken.
    pub(super) fn is_ending(&self) -> bool {
        self.state().ending.is_some()
    }

    /// Waits for commands and takes as many as make a group. Says how it ends once nothing is left.
    pub(super) fn take(&self, batch: &mut Vec<Command>) -> Option<Ending> {
        let mut state = self.state();
        state.busy = false;
        while state.commands.is_empty() {
            if state.ending.is_some() {
                return state.ending;
            }
            state.sleeping = true;
            state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.sleeping = false;
        state.busy = true;
        let (mut records, mut bytes, mut appends) = (0_usize, 0_usize, 0_usize);
        while let Some(command) = state.commands.front() {
            if let Command::Append(waiter) = command {
                let count = waiter.append.records.len();
                let full =
                    records + count > self.records_max || bytes + waiter.bytes > self.bytes_max;
                if full && appends > 0 {
                    break;
                }
                records += count;
                bytes += waiter.bytes;
                appends += 1;
            }
            batch.extend(state.commands.pop_front());
        }
        state.appends -= appends;
        None
    }
}
