//! Inboxes (section 6): threads with open acts that are due to somebody, read from the directory's lines.

use std::sync::Arc;

use parley_journal::Position;
use parley_language::thread::{OpenAct, Summary};
use parley_language::{Author, MessageId, ThreadId};

use super::debts::{Part, Place};
use super::{Directory, KEYS_PER_LOOK, Line};

/// Whose inbox, and how much of it.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Whose: a line with its sub-line. Its own acts are never in it.
    pub author: Author,
    /// Only acts that became open after this position.
    pub since: Position,
    /// Also what is due to other lines.
    pub all: bool,
}

/// Where in an inbox to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// The part: 0 due to the line, 1 due to anyone, 2 due to others.
    pub part: u8,
    /// The position that made the last act open.
    pub opened: Position,
    /// The last act.
    pub message: MessageId,
}

/// A thread with what is owed in it.
#[derive(Debug, Clone)]
pub struct Item {
    /// The thread.
    pub summary: Arc<Summary>,
    /// The acts that are wanted, oldest first.
    pub acts: Vec<OpenAct>,
    /// The position that made the newest of them open.
    pub position: Position,
}

const PARTS: [Part; 3] = [Part::Line, Part::Anyone, Part::All];

impl Directory {
    /// How many acts are due to this author or to anyone, acknowledged or not, its own left out.
    pub fn owed(&self, author: &Author) -> u64 {
        self.shelves().ledger.owed(author)
    }

    /// Whether [`Directory::inbox`] would find something.
    pub fn has_new(&self, wanted: &Wanted) -> bool {
        self.shelves().ledger.is_new(wanted)
    }

    /// At most `limit` threads with wanted acts behind `after`: those due to the line first, then those due to anyone,
    /// then, if all are wanted, those due to others; newest first in each part. And where to go on, if there is more.
    pub fn inbox(
        &self,
        wanted: &Wanted,
        after: Option<Mark>,
        limit: usize,
    ) -> (Vec<Item>, Option<Mark>) {
        let mut items = Vec::new();
        let mut last = None;
        let begin = after.map_or(0, |mark| usize::from(mark.part));
        let parts = if wanted.all { 3 } else { 2 };
        for (at, part) in PARTS.into_iter().enumerate().take(parts).skip(begin) {
            let mut place =
                after.filter(|_| at == begin).map(|mark| Place::new(mark.opened, mark.message));
            loop {
                let places = self.look(part, wanted, place);
                let seen = places.len();
                for (next, thread) in places {
                    place = Some(next);
                    let Some(item) = self.item(part, wanted, next, thread) else { continue };
                    if items.len() == limit {
                        return (items, last);
                    }
                    items.push(item);
                    let (opened, message) = (next.opened(), next.message());
                    last = Some(Mark { part: at as u8, opened, message });
                }
                if seen < KEYS_PER_LOOK {
                    break;
                }
            }
        }
        (items, None)
    }

    fn look(&self, part: Part, wanted: &Wanted, after: Option<Place>) -> Vec<(Place, ThreadId)> {
        self.shelves()
            .ledger
            .behind(part, &wanted.author.line, after)
            .take_while(|(place, _)| place.opened() > wanted.since)
            .take(KEYS_PER_LOOK)
            .collect()
    }

    /// The thread of an act, if the act stands for it: the newest wanted one of the first part that has any.
    fn item(&self, part: Part, wanted: &Wanted, place: Place, thread: ThreadId) -> Option<Item> {
        let Line { summary, opened, .. } = self.lines.get(&thread.number)?.clone();
        let line = &wanted.author.line;
        let part_of = |act: &OpenAct| match &act.due {
            Some(due) if due == line => Part::Line,
            None => Part::Anyone,
            Some(_) => Part::All,
        };
        let acts: Vec<(&OpenAct, Position)> = summary
            .open_acts
            .iter()
            .zip(opened.iter().copied())
            .filter(|(act, opened)| {
                *opened > wanted.since
                    && act.by != wanted.author
                    && (wanted.all || part_of(act) != Part::All)
            })
            .collect();
        let first = acts.iter().map(|(act, _)| part_of(act)).min()?;
        let newest = acts
            .iter()
            .filter(|(act, _)| part_of(act) == first)
            .map(|(act, opened)| Place::new(*opened, act.message))
            .min()?;
        if first != part || newest != place {
            return None;
        }
        let position = acts.iter().map(|(_, opened)| *opened).max()?;
        let acts = acts.into_iter().map(|(act, _)| act.clone()).collect();
        Some(Item { acts, position, summary: Arc::clone(&summary) })
    }

    /// The lines whose turn the event at this position made it, and whether anyone's.
    pub(crate) fn called_at(&self, thread: ThreadId, position: Position) -> (Vec<Arc<str>>, bool) {
        let Some(line) = self.lines.get(&thread.number).map(|line| line.clone()) else {
            return (Vec::new(), false);
        };
        let acts = line.summary.open_acts.iter().zip(&*line.opened);
        let called = acts.filter(|(_, opened)| **opened == position).map(|(act, _)| &act.due);
        let lines = called.clone().flatten().map(Arc::clone).collect();
        (lines, called.clone().any(Option::is_none))
    }
}
