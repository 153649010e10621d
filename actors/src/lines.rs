//! What a line has: how far each of its sub-lines has read (section 6), and which sub-lines it used last (section 1).
//!
//! Every line has a stream of its own, whose note is its whole state, so that the start reads no history.

use std::collections::BTreeMap;
use std::sync::Arc;

use dashmap::DashMap;
use parley_journal::{
    Append, AppendError, Journal, Note, Position, ReadError, Record, Stream, append_and_wait,
};
use parley_language::{Author, Time};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::sync::Mutex;

use crate::record;

/// How many sub-lines of a line are remembered with what they acknowledged. Beyond it the one that is silent longest
/// is forgotten, which shows it everything again.
pub const ACKNOWLEDGED_MAX: usize = 256;
/// How many of the last used sub-lines of a line are listed.
pub const USED_MAX: usize = 32;
/// A sub-line that is used again is written down again only after so long.
const USED_AGAIN_MS: u64 = 3_600_000;

/// One fact of a line's history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum LineEvent {
    /// An author has read its inbox up to a position.
    Acknowledged {
        /// The sub-line.
        extension: Option<Arc<str>>,
        /// The position.
        cursor: Position,
        /// When.
        at: Time,
    },
    /// A sub-line was used.
    Used {
        /// The sub-line.
        extension: Arc<str>,
        /// When.
        at: Time,
    },
}

/// A sub-line and when it was last used, to the hour.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Used {
    /// The sub-line.
    pub extension: Arc<str>,
    /// When.
    pub at: Time,
}

/// What a line has.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LineState {
    line: Arc<str>,
    acknowledged: BTreeMap<Option<Arc<str>>, (Position, Time)>,
    /// The last one is the newest.
    used: Vec<Used>,
}

impl LineState {
    fn apply(&mut self, event: &LineEvent) {
        match event {
            LineEvent::Acknowledged { extension, cursor, at } => {
                self.acknowledged.insert(extension.clone(), (*cursor, *at));
                if self.acknowledged.len() > ACKNOWLEDGED_MAX {
                    let named = self.acknowledged.iter().filter(|(name, _)| name.is_some());
                    let silent = named.min_by_key(|(_, (_, at))| *at).map(|(name, _)| name.clone());
                    silent.map(|silent| self.acknowledged.remove(&silent));
                }
            }
            LineEvent::Used { extension, at } => {
                self.used.retain(|used| used.extension != *extension);
                self.used.push(Used { extension: Arc::clone(extension), at: *at });
                if self.used.len() > USED_MAX {
                    self.used.remove(0);
                }
            }
        }
    }
}

/// All lines.
#[derive(Default)]
pub(crate) struct Lines {
    states: DashMap<Arc<str>, Arc<LineState>>,
    /// Who writes to a line's stream, and how many records that has.
    writers: DashMap<u64, Arc<Mutex<u64>>>,
}

/// A line's stream: its number is a digest of its name, so that a line needs no number of its own.
fn stream(line: &str) -> Stream {
    let hash: [u8; 32] = Sha256::digest(line.as_bytes()).into();
    let number = u64::from_be_bytes(std::array::from_fn(|at| hash[at]));
    Stream { kind: record::LINES, number }
}

impl Lines {
    /// Takes in the note of a line's stream at the start.
    pub(crate) async fn open(&self, journal: &dyn Journal, note: Note) -> Result<(), ReadError> {
        let state = note.note.as_deref().map(record::decode::<LineState>);
        let state = match state {
            Some(Ok(state)) => state,
            Some(Err(_)) | None => read(journal, note.stream).await?,
        };
        self.writers.insert(note.stream.number, Arc::new(Mutex::new(note.length)));
        self.states.insert(Arc::clone(&state.line), Arc::new(state));
        Ok(())
    }

    /// How far an author has read.
    pub(crate) fn acknowledged(&self, author: &Author) -> Position {
        let state = self.states.get(&author.line);
        state
            .and_then(|state| state.acknowledged.get(&author.extension).copied())
            .map_or(0, |(cursor, _)| cursor)
    }

    /// The sub-lines that a line used last, newest first.
    pub(crate) fn used(&self, line: &str) -> Vec<Used> {
        let state = self.states.get(line);
        state.map_or_else(Vec::new, |state| state.used.iter().rev().cloned().collect())
    }

    /// Whether a use is worth a record.
    pub(crate) fn is_new_use(&self, author: &Author, at: Time) -> bool {
        let Some(extension) = &author.extension else { return false };
        let state = self.states.get(&author.line);
        let used = state.and_then(|state| {
            state.used.iter().find(|used| used.extension == *extension).map(|used| used.at)
        });
        used.is_none_or(|used| at.0.saturating_sub(used.0) >= USED_AGAIN_MS)
    }

    /// Stores a fact of a line, durable when it returns. One at a time for each line.
    pub(crate) async fn write(
        &self,
        journal: &dyn Journal,
        line: &Arc<str>,
        event: &LineEvent,
    ) -> Result<(), AppendError> {
        let stream = stream(line);
        let writer = Arc::clone(&*self.writers.entry(stream.number).or_default());
        let mut length = writer.lock().await;
        let mut state = self.states.get(line).map_or_else(
            || LineState { line: Arc::clone(line), ..LineState::default() },
            |state| LineState::clone(&state),
        );
        state.apply(event);
        let body = record::encode(&(Arc::clone(line), event.clone()));
        let records = vec![Record { body, ..Record::default() }];
        let note = Some(record::encode(&state));
        let append = Append { stream, expected: *length, records, note };
        match append_and_wait(journal, append).await {
            Ok(_) => {
                *length += 1;
                self.states.insert(Arc::clone(line), Arc::new(state));
                Ok(())
            }
            Err(error) => {
                // What is stored may differ from what is known: read it before the next one writes.
                if let Ok(log) = journal.read(stream, 0).await {
                    *length = log.len() as u64;
                    if let Some(state) = replay(log.iter().map(|stored| &*stored.body)) {
                        self.states.insert(Arc::clone(line), Arc::new(state));
                    }
                }
                Err(error)
            }
        }
    }
}

async fn read(journal: &dyn Journal, stream: Stream) -> Result<LineState, ReadError> {
    let log = journal.read(stream, 0).await?;
    replay(log.iter().map(|stored| &*stored.body))
        .ok_or_else(|| ReadError(format!("{stream:?} holds what is no history of a line")))
}

fn replay<'a>(bodies: impl Iterator<Item = &'a [u8]>) -> Option<LineState> {
    let mut state = LineState::default();
    for body in bodies {
        let (line, event): (Arc<str>, LineEvent) = record::decode(body).ok()?;
        state.line = line;
        state.apply(&event);
    }
    (!state.line.is_empty()).then_some(state)
}
