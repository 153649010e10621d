//! The engine in memory: the same promises without a disk, for tests and for trying out.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::{
    Answers, Append, AppendError, Appended, Engine, Journal, Note, Numbered, Position, ReadError,
    Reference, Stored, Stream, Waiting,
};

#[derive(Debug, Default)]
struct Held {
    places: Vec<usize>,
    note: Option<Vec<u8>>,
}

#[derive(Debug, Default)]
struct State {
    records: Vec<Stored>,
    streams: BTreeMap<Stream, Held>,
    references: HashMap<Reference, (Stream, u64)>,
    numbers: HashMap<Numbered, u64>,
    highest: HashMap<u8, u64>,
    closed: bool,
}

/// A journal that lasts as long as the value. Every append is answered before the call returns.
#[derive(Debug)]
pub struct Memory {
    state: Mutex<State>,
    tip: watch::Sender<Position>,
}

impl Memory {
    /// An empty journal.
    #[must_use]
    pub fn new() -> Self {
        Self { state: Mutex::default(), tip: watch::Sender::new(0) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

impl State {
    fn append(&mut self, append: Append) -> Result<Position, AppendError> {
        let Append { stream, expected, records, note } = append;
        if self.closed {
            return Err(AppendError::Refused("it is closed".into()));
        }
        if records.is_empty() {
            return Err(AppendError::Refused("an append needs a record".into()));
        }
        let actual = self.streams.get(&stream).map_or(0, |held| held.places.len() as u64);
        if expected != actual {
            return Err(AppendError::Conflict { actual });
        }
        let mut fresh = HashMap::new();
        for (seq, record) in (expected..).zip(&records) {
            let Some(reference) = record.reference else { continue };
            if let Some((stream, seq)) =
                self.references.get(&reference).or_else(|| fresh.get(&reference))
            {
                return Err(AppendError::Duplicate { stream: *stream, seq: *seq });
            }
            fresh.insert(reference, (stream, seq));
        }
        self.references.extend(fresh);
        let first = self.records.len() as u64 + 1;
        let held = self.streams.entry(stream).or_default();
        for (seq, record) in (expected..).zip(records) {
            for numbered in record.numbers {
                self.numbers.insert(numbered, stream.number);
                let highest = self.highest.entry(numbered.series).or_default();
                *highest = numbered.number.max(*highest);
            }
            held.places.push(self.records.len());
            let position = self.records.len() as u64 + 1;
            self.records.push(Stored { position, stream, seq, body: record.body.into() });
        }
        held.note = note;
        Ok(first)
    }
}

fn ready<T: Send + 'static>(value: T) -> Waiting<'static, T> {
    Box::pin(std::future::ready(value))
}

fn index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl Journal for Memory {
    fn append(&self, append: Append, answers: &Answers) {
        let expected = append.expected;
        // Answered under the lock, so that the answers of a stream come in the order of its appends.
        let mut state = self.state();
        let result = state.append(append);
        if result.is_ok() {
            self.tip.send_replace(state.records.len() as u64);
        }
        // Nobody may be there any more to take it, which is the caller's business.
        let _ = answers.send(Appended { expected, result });
    }

    fn read(&self, stream: Stream, from: u64) -> Waiting<'_, Result<Vec<Stored>, ReadError>> {
        let state = self.state();
        let places = state.streams.get(&stream).map_or(&[][..], |held| &held.places);
        let wanted = places.get(index(from)..).unwrap_or_default();
        ready(Ok(wanted.iter().map(|place| state.records[*place].clone()).collect()))
    }

    fn find(&self, reference: Reference) -> Waiting<'_, Result<Option<(Stream, u64)>, ReadError>> {
        ready(Ok(self.state().references.get(&reference).copied()))
    }

    fn locate(&self, numbered: Numbered) -> Waiting<'_, Result<Option<u64>, ReadError>> {
        ready(Ok(self.state().numbers.get(&numbered).copied()))
    }

    fn highest(&self, series: u8) -> u64 {
        self.state().highest.get(&series).copied().unwrap_or(0)
    }

    fn positions(
        &self,
        records: Vec<(Stream, u64)>,
    ) -> Waiting<'_, Result<Vec<Option<Position>>, ReadError>> {
        let state = self.state();
        let position = |(stream, seq): (Stream, u64)| {
            state
                .records
                .iter()
                .find(|stored| stored.stream == stream && stored.seq == seq)
                .map(|stored| stored.position)
        };
        ready(Ok(records.into_iter().map(position).collect()))
    }

    fn after(&self, after: Position, limit: usize) -> Waiting<'_, Result<Vec<Stored>, ReadError>> {
        let state = self.state();
        let rest = state.records.get(index(after)..).unwrap_or_default();
        ready(Ok(rest.iter().take(limit).cloned().collect()))
    }

    fn tip(&self) -> watch::Receiver<Position> {
        self.tip.subscribe()
    }

    fn notes(&self) -> Waiting<'_, Result<Vec<Note>, ReadError>> {
        let state = self.state();
        let note = |(stream, held): (&Stream, &Held)| Note {
            stream: *stream,
            length: held.places.len() as u64,
            note: held.note.clone(),
        };
        ready(Ok(state.streams.iter().map(note).collect()))
    }

    fn annotate(&self, stream: Stream, length: u64, note: Vec<u8>) {
        let mut state = self.state();
        if let Some(held) = state.streams.get_mut(&stream)
            && held.places.len() as u64 == length
        {
            held.note = Some(note);
        }
    }

    fn engine(&self) -> Engine {
        Engine { name: "memory", format: 1, settings: Vec::new() }
    }

    fn trouble(&self) -> Option<String> {
        self.state().closed.then(|| "it is closed".into())
    }

    fn close(&self) -> Waiting<'_, ()> {
        self.state().closed = true;
        ready(())
    }
}
