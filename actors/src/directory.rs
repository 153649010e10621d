//! Every thread's line, whether its actor is awake or not: what lists, counters and existence are answered from.
//!
//! Lines are published by thread actors after an event is durable, and handed back by the journal at the start.

mod debts;
mod inbox;

use std::collections::{BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use dashmap::DashMap;
use parley_journal::Position;
use parley_language::thread::Summary;
use parley_language::words::State;
use parley_language::{ThreadId, Time};
use tokio::sync::Notify;

use debts::Ledger;
pub use inbox::{Item, Mark, Wanted};

/// How many keys are looked at before the lock is given up for a moment.
const KEYS_PER_LOOK: usize = 1_024;

/// The order of lists: waiting first, then the newest change, then the newest thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Settled threads come after waiting ones.
    pub settled: bool,
    /// Milliseconds, counted down.
    pub age: u64,
    /// The thread's number, counted down.
    pub below: u64,
}

impl Key {
    /// The place of a thread.
    pub fn of(summary: &Summary) -> Self {
        Self {
            settled: summary.open_acts.is_empty(),
            age: u64::MAX - summary.updated_at.0,
            below: u64::MAX - summary.id.number,
        }
    }

    fn thread(self) -> u64 {
        u64::MAX - self.below
    }
}

/// The counters of a board (section 11, `board`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Threads on it.
    pub threads: u64,
    /// Threads in state `open`.
    pub open: u64,
    /// Threads that await a reply.
    pub awaiting: u64,
    /// Messages in all its threads.
    pub messages: u64,
    /// The newest change in any of them.
    pub updated_at: Option<Time>,
}

#[derive(Debug, Default)]
struct Shelf {
    order: BTreeSet<Key>,
    counters: Counters,
}

#[derive(Debug, Default)]
struct Shelves {
    all: BTreeSet<Key>,
    boards: HashMap<u64, Shelf>,
    ledger: Ledger,
}

/// A thread's line, and where in the journal it stands.
#[derive(Debug, Clone)]
struct Line {
    summary: Arc<Summary>,
    /// The position of the newest event in it; 0 if it was handed back at the start.
    upto: Position,
    /// The positions that made its open acts open, in their order.
    opened: Arc<[Position]>,
}

/// The lines of all threads, ordered.
#[derive(Debug, Default)]
pub struct Directory {
    lines: DashMap<u64, Line>,
    shelves: RwLock<Shelves>,
    published: Notify,
}

impl Directory {
    /// Publishes a thread's newest line, the position of its newest event, and the positions of its newest events by
    /// their number in the thread: what made an open act open is among them, or was published before.
    pub fn publish(
        &self,
        summary: &Arc<Summary>,
        upto: Position,
        positions: impl Fn(u64) -> Option<Position>,
    ) {
        let new = Key::of(summary);
        let mut shelves = self.shelves.write().unwrap_or_else(PoisonError::into_inner);
        let old = self.lines.get(&summary.id.number).map(|line| line.clone());
        let opened_before = |message| {
            let old = old.as_ref()?;
            let mut acts = old.summary.open_acts.iter().zip(&*old.opened);
            acts.find(|(act, _)| (act.message, act.since) == message).map(|(_, opened)| *opened)
        };
        let opened: Arc<[Position]> = summary
            .open_acts
            .iter()
            .map(|act| {
                let known = positions(act.since);
                known.or_else(|| opened_before((act.message, act.since))).unwrap_or(upto)
            })
            .collect();
        let line = Line { summary: Arc::clone(summary), upto, opened };
        self.lines.insert(summary.id.number, line.clone());
        let Shelves { all, boards, ledger } = &mut *shelves;
        let shelf = boards.entry(summary.board).or_default();
        if let Some(old) = &old {
            let key = Key::of(&old.summary);
            all.remove(&key);
            shelf.order.remove(&key);
            shelf.counters.take(&old.summary);
            for (act, opened) in old.summary.open_acts.iter().zip(&*old.opened) {
                ledger.take(*opened, act);
            }
        }
        all.insert(new);
        shelf.order.insert(new);
        shelf.counters.add(summary);
        for (act, opened) in summary.open_acts.iter().zip(&*line.opened) {
            ledger.add(summary.id, *opened, act);
        }
        drop(shelves);
        self.published.notify_waiters();
    }

    /// A thread's line.
    pub fn line(&self, thread: ThreadId) -> Option<Arc<Summary>> {
        self.lines.get(&thread.number).map(|line| Arc::clone(&line.summary))
    }

    /// Waits until a thread's line holds the event at a position.
    pub(crate) async fn holds(&self, thread: ThreadId, position: Position) {
        loop {
            let published = self.published.notified();
            tokio::pin!(published);
            // Registered before it is asked, so that nothing is missed in between.
            published.as_mut().enable();
            if self.lines.get(&thread.number).is_some_and(|line| line.upto >= position) {
                return;
            }
            published.await;
        }
    }

    /// How many threads there are.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// A board's counters.
    pub fn counters(&self, board: u64) -> Counters {
        self.shelves().boards.get(&board).map(|shelf| shelf.counters).unwrap_or_default()
    }

    /// At most `limit` lines behind `after` that pass the filter, of one board or of all, waiting first; and the key to
    /// go on from if there may be more. A thread that moves while somebody pages may be met again or be missed on a
    /// later page, never twice on one.
    pub fn page(
        &self,
        board: Option<u64>,
        after: Option<Key>,
        limit: usize,
        wanted: impl Fn(&Summary) -> bool,
    ) -> (Vec<Arc<Summary>>, Option<Key>) {
        let mut lines = Vec::new();
        let mut after = after.map_or(Bound::Unbounded, Bound::Excluded);
        loop {
            let keys: Vec<Key> = {
                let shelves = self.shelves();
                let order = match board {
                    None => Some(&shelves.all),
                    Some(board) => shelves.boards.get(&board).map(|shelf| &shelf.order),
                };
                order
                    .into_iter()
                    .flat_map(|order| order.range((after, Bound::Unbounded)))
                    .take(KEYS_PER_LOOK)
                    .copied()
                    .collect()
            };
            let seen = keys.len();
            if let Some(last) = keys.last() {
                after = Bound::Excluded(*last);
            }
            for key in keys {
                let line = self.line(ThreadId::new(key.thread()));
                let Some(line) = line.filter(|line| Key::of(line) == key && wanted(line)) else {
                    continue;
                };
                if lines.len() == limit {
                    let last = lines.last().map(|line: &Arc<Summary>| Key::of(line));
                    return (lines, last);
                }
                lines.push(line);
            }
            if seen < KEYS_PER_LOOK {
                return (lines, None);
            }
        }
    }

    fn shelves(&self) -> RwLockReadGuard<'_, Shelves> {
        self.shelves.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counters {
    fn add(&mut self, line: &Summary) {
        self.threads += 1;
        self.open += u64::from(line.standing.state == State::Open);
        self.awaiting += u64::from(line.awaiting);
        self.messages += line.messages;
        self.updated_at = self.updated_at.max(Some(line.updated_at));
    }

    fn take(&mut self, line: &Summary) {
        self.threads -= 1;
        self.open -= u64::from(line.standing.state == State::Open);
        self.awaiting -= u64::from(line.awaiting);
        self.messages -= line.messages;
    }
}
