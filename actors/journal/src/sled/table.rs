//! The indexes of what came after the last checkpoint, in memory.
//!
//! Two generations exist at most: the active one takes what is committed, the frozen one is being written to the
//! trees. A lookup asks active, frozen, trees, in that order; a generation goes only after the trees have it.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use crate::{Numbered, Position, Reference, Stream};

/// A quick hasher for numbers that the server itself hands out. References come from callers and keep the standard
/// hasher, which nobody outside can aim at.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Quick(u64);

impl Hasher for Quick {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(26) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

/// A map keyed by numbers of the server's own making.
pub(super) type QuickMap<K, V> = HashMap<K, V, BuildHasherDefault<Quick>>;

/// Where a record lies: its position and its index in its group. The group's key is their difference, so that a
/// reader gets at it without searching.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) position: Position,
    pub(super) index: u32,
}

impl Place {
    /// The key of the group, that is the position of its first record.
    pub(super) fn group(self) -> Position {
        self.position - u64::from(self.index)
    }
}

/// The end of a stream, as far as a generation has it.
#[derive(Debug, Default)]
pub(super) struct Tail {
    /// The sequence number of the first record in here.
    pub(super) first: u64,
    /// The records in here. Empty when only a note was handed back.
    pub(super) places: Vec<Place>,
    /// The note of the newest append; `None` when it has none or when it is not known.
    pub(super) note: Option<Vec<u8>>,
}

impl Tail {
    /// The length of the stream.
    pub(super) fn length(&self) -> u64 {
        self.first + self.places.len() as u64
    }
}

/// One generation.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) streams: QuickMap<Stream, Tail>,
    pub(super) references: HashMap<Reference, (Stream, u64)>,
    pub(super) numbers: QuickMap<Numbered, u64>,
    /// The position behind which this generation begins.
    pub(super) begin: Position,
    /// The position of the newest record up to which this generation and the ones before it are complete.
    pub(super) last: Position,
    /// How many records and notes came in; what a checkpoint is due by.
    pub(super) weight: usize,
}

impl Table {
    /// An empty generation behind a position.
    pub(super) fn behind(last: Position) -> Self {
        Self { begin: last, last, ..Self::default() }
    }

    /// The end of a stream, begun at `first` if it is new here.
    pub(super) fn tail(&mut self, stream: Stream, first: u64) -> &mut Tail {
        self.streams.entry(stream).or_insert_with(|| Tail { first, ..Tail::default() })
    }

    /// Takes a record in, apart from its place.
    pub(super) fn index(
        &mut self,
        stream: Stream,
        seq: u64,
        reference: Option<Reference>,
        numbers: impl Iterator<Item = Numbered>,
    ) {
        if let Some(reference) = reference {
            self.references.insert(reference, (stream, seq));
        }
        for numbered in numbers {
            self.numbers.insert(numbered, stream.number);
        }
        self.weight += 1;
    }
}

/// Both generations.
#[derive(Debug, Default)]
pub(super) struct Generations {
    pub(super) active: Table,
    pub(super) frozen: Option<Arc<Table>>,
}

impl Generations {
    /// Newest first.
    pub(super) fn each(&self) -> impl Iterator<Item = &Table> {
        std::iter::once(&self.active).chain(self.frozen.as_deref())
    }

    /// The length of a stream, if it was touched after the last checkpoint.
    pub(super) fn length(&self, stream: Stream) -> Option<u64> {
        self.each().find_map(|table| table.streams.get(&stream)).map(Tail::length)
    }

    /// Where a reference is kept.
    pub(super) fn find(&self, reference: &Reference) -> Option<(Stream, u64)> {
        self.each().find_map(|table| table.references.get(reference)).copied()
    }

    /// Which stream introduced a numbered thing.
    pub(super) fn locate(&self, numbered: Numbered) -> Option<u64> {
        self.each().find_map(|table| table.numbers.get(&numbered)).copied()
    }

    /// The records of a stream from `from` on that are in here, and the sequence number before which the trees know
    /// better.
    pub(super) fn places(&self, stream: Stream, from: u64) -> (Option<u64>, Vec<Place>) {
        let mut first = None;
        let mut places = Vec::new();
        for table in self.frozen.as_deref().into_iter().chain([&self.active]) {
            let Some(tail) = table.streams.get(&stream) else { continue };
            first = first.or(Some(tail.first));
            let skipped = usize::try_from(from.saturating_sub(tail.first)).unwrap_or(usize::MAX);
            places.extend(tail.places.iter().skip(skipped));
        }
        (first, places)
    }

    /// Freezes the active generation, if none is frozen.
    pub(super) fn freeze(&mut self) -> Option<Arc<Table>> {
        if self.frozen.is_some() {
            return None;
        }
        let next = Table::behind(self.active.last);
        let frozen = Arc::new(std::mem::replace(&mut self.active, next));
        self.frozen = Some(Arc::clone(&frozen));
        Some(frozen)
    }
}
