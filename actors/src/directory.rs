//! Every thread's line, whether its actor is awake or not: what lists, counters and existence are answered from.
//!
//! Lines are published by thread actors after an event is durable, and handed back by the journal at the start.

use std::collections::{BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use dashmap::DashMap;
use parley_language::thread::Summary;
use parley_language::words::State;
use parley_language::{ThreadId, Time};

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
}

/// The lines of all threads, ordered.
#[derive(Debug, Default)]
pub struct Directory {
    lines: DashMap<u64, Arc<Summary>>,
    shelves: RwLock<Shelves>,
}

impl Directory {
    /// Publishes a thread's newest line.
    pub fn publish(&self, summary: &Arc<Summary>) {
        let new = Key::of(summary);
        let mut shelves = self.shelves.write().unwrap_or_else(PoisonError::into_inner);
        let old = self.lines.insert(summary.id.number, Arc::clone(summary));
        let shelves = &mut *shelves;
        let shelf = shelves.boards.entry(summary.board).or_default();
        if let Some(old) = old {
            let key = Key::of(&old);
            shelves.all.remove(&key);
            shelf.order.remove(&key);
            shelf.counters.take(&old);
        }
        shelves.all.insert(new);
        shelf.order.insert(new);
        shelf.counters.add(summary);
    }

    /// A thread's line.
    pub fn line(&self, thread: ThreadId) -> Option<Arc<Summary>> {
        self.lines.get(&thread.number).map(|line| Arc::clone(&line))
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
                let line = self.lines.get(&key.thread()).map(|line| Arc::clone(&line));
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
