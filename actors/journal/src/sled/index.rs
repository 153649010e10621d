//! The trees on disk: the groups, and the indexes as of the last checkpoint.
//!
//! * `journal`: position of a group's first record → the group
//! * `streams`: stream → length and newest note
//! * `stream_positions`: stream and sequence number → the places of the records from there on
//! * `references`: first byte and where a checkpoint began → its references of that byte, each with stream and
//!   sequence number. References have no order in time, and one entry each would cost a page each
//! * `numbers`: series and block number → the streams of [`BLOCK`] numbers in a row
//! * `meta`: the format, the position of the checkpoint, the highest number per series
//!
//! A checkpoint writes the position last. Ending in between is harmless: the next start reads the journal again from
//! the old position on, and writing the same indexes once more changes nothing.

use std::collections::{BTreeMap, HashMap};

use ::sled::{Db, IVec, Tree};

use super::table::{Place, Table};
use super::varint::{Cursor, put};
use crate::{Note, Numbered, Position, ReadError, Reference, Stream};

/// The version of everything on disk.
pub(super) const FORMAT: u32 = 1;

/// How many numbers share an entry of the tree `numbers`.
const BLOCK: u64 = 512;
const PRESENT: usize = BLOCK as usize / 8;
const BLOCK_BYTES: usize = PRESENT + BLOCK as usize * 8;

/// The trees. Clones are handles to the same trees; the files are released with the last one.
#[derive(Debug, Clone)]
pub(super) struct Trees {
    pub(super) db: Db,
    pub(super) journal: Tree,
    streams: Tree,
    positions: Tree,
    references: Tree,
    numbers: Tree,
    meta: Tree,
}

pub(super) fn failed(error: &::sled::Error) -> ReadError {
    ReadError(error.to_string())
}

fn stream_key(stream: Stream) -> [u8; 9] {
    let mut key = [stream.kind; 9];
    key[1..].copy_from_slice(&stream.number.to_be_bytes());
    key
}

fn run_key(stream: Stream, first: u64) -> [u8; 17] {
    let mut key = [0; 17];
    key[..9].copy_from_slice(&stream_key(stream));
    key[9..].copy_from_slice(&first.to_be_bytes());
    key
}

fn block_key(series: u8, block: u64) -> [u8; 9] {
    stream_key(Stream { kind: series, number: block })
}

fn highest_key(series: u8) -> [u8; 9] {
    let mut key = *b"highest:\0";
    key[8] = series;
    key
}

fn stream_of(rest: &mut Cursor<'_>) -> Result<Stream, ReadError> {
    Ok(Stream { kind: rest.byte()?, number: u64::from_be_bytes(rest.array()?) })
}

/// A position used as a key.
pub(super) fn position_of(key: &[u8]) -> Result<Position, ReadError> {
    Ok(u64::from_be_bytes(Cursor(key).array()?))
}

impl Trees {
    /// Opens the trees, and writes or checks the format.
    pub(super) fn open(db: Db) -> Result<Self, ReadError> {
        let tree = |name| db.open_tree(name).map_err(|error| failed(&error));
        let trees = Self {
            journal: tree("journal")?,
            streams: tree("streams")?,
            positions: tree("stream_positions")?,
            references: tree("references")?,
            numbers: tree("numbers")?,
            meta: tree("meta")?,
            db,
        };
        match trees.get(&trees.meta, b"format")? {
            Some(bytes) => {
                let format = u32::from_le_bytes(Cursor(&bytes).array()?);
                if format != FORMAT {
                    return Err(ReadError(format!("its format is {format}, known is {FORMAT}")));
                }
            }
            None if !trees.journal.is_empty() => {
                return Err(ReadError("it has records and no format".into()));
            }
            None => {
                trees.put(&trees.meta, b"format", &FORMAT.to_le_bytes())?;
                trees.flush()?;
            }
        }
        Ok(trees)
    }

    fn get(&self, tree: &Tree, key: &[u8]) -> Result<Option<IVec>, ReadError> {
        tree.get(key).map_err(|error| failed(&error))
    }

    fn put(&self, tree: &Tree, key: &[u8], value: &[u8]) -> Result<(), ReadError> {
        tree.insert(key, value).map(drop).map_err(|error| failed(&error))
    }

    /// Makes durable what was written.
    pub(super) fn flush(&self) -> Result<(), ReadError> {
        self.db.flush().map(drop).map_err(|error| failed(&error))
    }

    /// The position up to which the indexes are written down.
    pub(super) fn checkpoint(&self) -> Result<Position, ReadError> {
        self.get(&self.meta, b"checkpoint")?.map_or(Ok(0), |bytes| position_of(&bytes))
    }

    /// The highest number of every series as of the checkpoint or later.
    pub(super) fn highest(&self) -> Result<Vec<Numbered>, ReadError> {
        let mut highest = Vec::new();
        for item in self.meta.scan_prefix(b"highest:") {
            let (key, value) = item.map_err(|error| failed(&error))?;
            let mut rest = Cursor(&key);
            rest.take(8)?;
            highest.push(Numbered { series: rest.byte()?, number: position_of(&value)? });
        }
        Ok(highest)
    }

    /// The group of that key.
    pub(super) fn group(&self, first: Position) -> Result<Option<IVec>, ReadError> {
        self.get(&self.journal, &first.to_be_bytes())
    }

    /// The last group that begins at or before a position.
    pub(super) fn group_at(
        &self,
        position: Position,
    ) -> Result<Option<(Position, IVec)>, ReadError> {
        match self.journal.range(..=position.to_be_bytes()).next_back() {
            None => Ok(None),
            Some(Err(error)) => Err(failed(&error)),
            Some(Ok((key, bytes))) => Ok(Some((position_of(&key)?, bytes))),
        }
    }

    /// The groups that begin at `first` or later.
    pub(super) fn groups_from(
        &self,
        first: Position,
    ) -> impl Iterator<Item = Result<(Position, IVec), ReadError>> {
        self.journal.range(first.to_be_bytes()..).map(|item| {
            let (key, bytes) = item.map_err(|error| failed(&error))?;
            Ok((position_of(&key)?, bytes))
        })
    }

    /// The length of a stream as of the checkpoint or later; 0 if it is not there.
    pub(super) fn length(&self, stream: Stream) -> Result<u64, ReadError> {
        match self.get(&self.streams, &stream_key(stream))? {
            None => Ok(0),
            Some(bytes) => Cursor(&bytes).number(),
        }
    }

    /// All streams, in order.
    pub(super) fn notes(&self) -> impl Iterator<Item = Result<Note, ReadError>> {
        self.streams.iter().map(|item| {
            let (key, value) = item.map_err(|error| failed(&error))?;
            let stream = stream_of(&mut Cursor(&key))?;
            let mut rest = Cursor(&value);
            let length = rest.number()?;
            let note = (rest.byte()? == 1).then(|| rest.0.to_vec());
            Ok(Note { stream, length, note })
        })
    }

    /// Where a reference is kept; the newest ones are found first.
    pub(super) fn find(&self, reference: &Reference) -> Result<Option<(Stream, u64)>, ReadError> {
        for item in self.references.scan_prefix([reference[0]]).rev() {
            let (_, value) = item.map_err(|error| failed(&error))?;
            for entry in referenced(&value) {
                let (other, place) = entry?;
                if other == *reference {
                    return Ok(Some(place));
                }
            }
        }
        Ok(None)
    }

    /// All references that are written down, some together.
    pub(super) fn references(&self) -> impl Iterator<Item = Result<Vec<Reference>, ReadError>> {
        self.references.iter().map(|item| {
            let (_, value) = item.map_err(|error| failed(&error))?;
            referenced(&value).map(|entry| Ok(entry?.0)).collect()
        })
    }

    /// Which stream introduced a numbered thing.
    pub(super) fn locate(&self, numbered: Numbered) -> Result<Option<u64>, ReadError> {
        let key = block_key(numbered.series, numbered.number / BLOCK);
        let Some(block) = self.get(&self.numbers, &key)? else { return Ok(None) };
        if block.len() != BLOCK_BYTES {
            return Err(ReadError("a block of numbers has a wrong length".into()));
        }
        let slot = (numbered.number % BLOCK) as usize;
        if block[slot / 8] & (1 << (slot % 8)) == 0 {
            return Ok(None);
        }
        let mut rest = Cursor(&block);
        rest.take(PRESENT + slot * 8)?;
        Ok(Some(u64::from_le_bytes(rest.array()?)))
    }

    /// The places of a stream's records `from..until`; `until` is `None` for all that are written down.
    pub(super) fn places(
        &self,
        stream: Stream,
        from: u64,
        until: Option<u64>,
    ) -> Result<Vec<Place>, ReadError> {
        let until = until.unwrap_or(u64::MAX);
        if from >= until {
            return Ok(Vec::new());
        }
        let before = self.positions.range(..=run_key(stream, from)).next_back();
        let begin = match before {
            Some(Ok((key, _))) if key.starts_with(&stream_key(stream)) => key,
            Some(Err(error)) => return Err(failed(&error)),
            _ => IVec::from(&run_key(stream, from)),
        };
        let mut places = Vec::new();
        let mut next = None;
        for item in self.positions.range(begin..IVec::from(&run_key(stream, until))) {
            let (key, value) = item.map_err(|error| failed(&error))?;
            let mut rest = Cursor(&key);
            stream_of(&mut rest)?;
            let first = u64::from_be_bytes(rest.array()?);
            if next.is_some_and(|next| next != first) {
                return Err(ReadError(format!("the index of {stream:?} has a gap before {first}")));
            }
            let run = unpack(&value)?;
            next = Some(first + run.len() as u64);
            let wanted = (first..until).zip(run).filter(|(seq, _)| *seq >= from);
            places.extend(wanted.map(|(_, place)| place));
        }
        Ok(places)
    }

    /// Writes a generation down.
    pub(super) fn write(&self, table: &Table) -> Result<(), ReadError> {
        let mut value = Vec::new();
        let mut streams: Vec<_> = table.streams.iter().collect();
        streams.sort_unstable_by_key(|(stream, _)| **stream);
        for (stream, tail) in streams {
            if !tail.places.is_empty() {
                pack(&mut value, &tail.places);
                self.put(&self.positions, &run_key(*stream, tail.first), &value)?;
            }
            value.clear();
            put(&mut value, tail.length());
            value.push(u8::from(tail.note.is_some()));
            value.extend_from_slice(tail.note.as_deref().unwrap_or_default());
            self.put(&self.streams, &stream_key(*stream), &value)?;
        }
        let mut references: Vec<_> = table.references.iter().collect();
        references.sort_unstable_by_key(|(reference, _)| **reference);
        for run in references.chunk_by(|left, right| left.0[0] == right.0[0]) {
            value.clear();
            for (reference, (stream, seq)) in run {
                value.extend_from_slice(&reference[..]);
                value.push(stream.kind);
                put(&mut value, stream.number);
                put(&mut value, *seq);
            }
            let byte = run.first().map_or(0, |(reference, _)| reference[0]);
            self.put(&self.references, &block_key(byte, table.begin), &value)?;
        }
        self.write_numbers(table)?;
        self.flush()?;
        self.put(&self.meta, b"checkpoint", &table.last.to_be_bytes())
    }

    fn write_numbers(&self, table: &Table) -> Result<(), ReadError> {
        let mut blocks: BTreeMap<(u8, u64), Vec<(usize, u64)>> = BTreeMap::new();
        let mut highest: HashMap<u8, u64> = HashMap::new();
        for (numbered, stream) in &table.numbers {
            let block = blocks.entry((numbered.series, numbered.number / BLOCK)).or_default();
            block.push(((numbered.number % BLOCK) as usize, *stream));
            let highest = highest.entry(numbered.series).or_default();
            *highest = numbered.number.max(*highest);
        }
        for ((series, block), entries) in blocks {
            let key = block_key(series, block);
            let mut bytes = match self.get(&self.numbers, &key)? {
                Some(bytes) if bytes.len() == BLOCK_BYTES => bytes.to_vec(),
                Some(_) => return Err(ReadError("a block of numbers has a wrong length".into())),
                None => vec![0; BLOCK_BYTES],
            };
            for (slot, stream) in entries {
                bytes[slot / 8] |= 1 << (slot % 8);
                let at = PRESENT + slot * 8;
                bytes[at..at + 8].copy_from_slice(&stream.to_le_bytes());
            }
            self.put(&self.numbers, &key, &bytes)?;
        }
        for (series, number) in highest {
            let key = highest_key(series);
            let before = match self.get(&self.meta, &key)? {
                Some(bytes) => position_of(&bytes)?,
                None => 0,
            };
            if number > before {
                self.put(&self.meta, &key, &number.to_be_bytes())?;
            }
        }
        Ok(())
    }
}

/// The references of an entry of their tree, with their places.
fn referenced(value: &[u8]) -> impl Iterator<Item = Result<(Reference, (Stream, u64)), ReadError>> {
    let mut rest = Cursor(value);
    std::iter::from_fn(move || {
        if rest.0.is_empty() {
            return None;
        }
        let mut entry = || {
            let reference = rest.array()?;
            let stream = Stream { kind: rest.byte()?, number: rest.number()? };
            Ok((reference, (stream, rest.number()?)))
        };
        let entry = entry();
        if entry.is_err() {
            rest = Cursor(&[]);
        }
        Some(entry)
    })
}

fn pack(value: &mut Vec<u8>, places: &[Place]) {
    value.clear();
    let mut before = 0;
    for place in places {
        put(value, place.position - before);
        put(value, u64::from(place.index));
        before = place.position;
    }
}

fn unpack(value: &[u8]) -> Result<Vec<Place>, ReadError> {
    let mut rest = Cursor(value);
    let mut places = Vec::new();
    let mut position: u64 = 0;
    while !rest.0.is_empty() {
        let step = rest.number()?;
        let index = u32::try_from(rest.number()?).ok();
        let next = position.checked_add(step).filter(|next| *next > position);
        let place = next.zip(index).filter(|(next, index)| u64::from(*index) < *next);
        let Some((next, index)) = place else {
            return Err(ReadError("the places of a stream are not in order".into()));
        };
        position = next;
        places.push(Place { position, index });
    }
    Ok(places)
}
