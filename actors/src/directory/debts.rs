//! What is owed, in the order in which inboxes show it: every open act under the line whose turn it is, newest first.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use parley_journal::Position;
use parley_language::thread::OpenAct;
use parley_language::{Author, MessageId, ThreadId};

use super::inbox::Wanted;

/// The place of an open act: newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// The position that made it open, counted down.
    below: u64,
    message: MessageId,
}

impl Place {
    pub(super) fn new(opened: Position, message: MessageId) -> Self {
        Self { below: u64::MAX - opened, message }
    }

    pub(super) fn opened(self) -> Position {
        u64::MAX - self.below
    }

    pub(super) fn message(self) -> MessageId {
        self.message
    }
}

/// What stands at a place.
#[derive(Debug, Clone)]
pub(super) struct Debt {
    pub(super) thread: ThreadId,
    by: Author,
}

type Debts = BTreeMap<Place, Debt>;

/// All open acts.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    all: Debts,
    /// By the line whose turn it is.
    lines: HashMap<Arc<str>, Debts>,
    /// Those that anyone may answer.
    anyone: Debts,
    /// How many of those each author asks itself: it owes them to nobody.
    asked: HashMap<Author, u64>,
}

/// Part of the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// What is due to one line.
    Line,
    /// What anyone may answer.
    Anyone,
    /// Everything.
    All,
}

impl Ledger {
    pub(super) fn add(&mut self, thread: ThreadId, opened: Position, act: &OpenAct) {
        let place = Place::new(opened, act.message);
        let debt = Debt { thread, by: act.by.clone() };
        match &act.due {
            Some(line) => {
                self.lines.entry(Arc::clone(line)).or_default().insert(place, debt.clone());
            }
            None => {
                *self.asked.entry(act.by.clone()).or_default() += 1;
                self.anyone.insert(place, debt.clone());
            }
        }
        self.all.insert(place, debt);
    }

    pub(super) fn take(&mut self, opened: Position, act: &OpenAct) {
        let place = Place::new(opened, act.message);
        self.all.remove(&place);
        match &act.due {
            Some(line) => {
                if let Some(debts) = self.lines.get_mut(line) {
                    debts.remove(&place);
                    if debts.is_empty() {
                        self.lines.remove(line);
                    }
                }
            }
            None => {
                self.anyone.remove(&place);
                if let Some(asked) = self.asked.get_mut(&act.by) {
                    *asked -= 1;
                    if *asked == 0 {
                        self.asked.remove(&act.by);
                    }
                }
            }
        }
    }

    fn part(&self, part: Part, line: &str) -> Option<&Debts> {
        match part {
            Part::Line => self.lines.get(line),
            Part::Anyone => Some(&self.anyone),
            Part::All => Some(&self.all),
        }
    }

    /// Places of a part behind one, newest first.
    pub(super) fn behind(
        &self,
        part: Part,
        line: &str,
        after: Option<Place>,
    ) -> impl Iterator<Item = (Place, ThreadId)> {
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.part(part, line)
            .into_iter()
            .flat_map(move |debts| debts.range((after, Bound::Unbounded)))
            .map(|(place, debt)| (*place, debt.thread))
    }

    /// How many acts are due to this author or to anyone, its own left out.
    pub(super) fn owed(&self, author: &Author) -> u64 {
        let own = self.asked.get(author).copied().unwrap_or_default();
        let due = self.lines.get(&author.line).map_or(0, BTreeMap::len);
        (due + self.anyone.len()) as u64 - own
    }

    /// Whether something that is wanted became open.
    pub(super) fn is_new(&self, wanted: &Wanted) -> bool {
        let Wanted { author, since, all } = wanted;
        let newest = self.lines.get(&author.line).and_then(|debts| debts.keys().next());
        let others = if *all { &self.all } else { &self.anyone };
        newest.is_some_and(|place| place.opened() > *since)
            || others
                .iter()
                .take_while(|(place, _)| place.opened() > *since)
                .any(|(_, debt)| debt.by != *author)
    }
}
