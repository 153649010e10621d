//! The bytes of a group record: all appends that shared one flush, under the position of their first record.
//!
//! ```text
//! version u8 = 1 | records u32 LE | CRC-32 u32 LE over everything else | records
//! record: kind u8 | flags u8 | number | seq | [reference 16 bytes] | [numbers] | length | body
//! numbers: count | count × (series u8 | number)
//! ```
//!
//! Numbers without a given width are LEB128. Flag 1 says that a reference follows, flag 2 that numbers follow. The
//! module is public so that committed bytes (`tests/golden`) can pin the format from outside.

use super::varint::{Cursor, put};
use crate::{Numbered, Position, ReadError, Record, Reference, Stored, Stream};

/// The version of the bytes written here, the first byte of every group.
pub const VERSION: u8 = 1;

const HEADER: usize = 9;
const REFERENCE: u8 = 1;
const NUMBERS: u8 = 2;

/// A group being written. Its buffer is kept from group to group, so that the committer allocates nothing per record.
#[derive(Debug)]
pub struct Builder {
    bytes: Vec<u8>,
    records: u32,
}

impl Builder {
    /// An empty group.
    #[must_use]
    pub fn new() -> Self {
        let mut builder = Self { bytes: Vec::new(), records: 0 };
        builder.clear();
        builder
    }

    /// Empties the group and keeps its buffer, unless one very large append has blown it up.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(4 << 20);
        self.bytes.resize(HEADER, 0);
        self.records = 0;
    }

    /// How many records the group has.
    #[must_use]
    pub fn records(&self) -> u32 {
        self.records
    }

    /// Adds a record of a stream.
    pub fn push(&mut self, stream: Stream, seq: u64, record: &Record) {
        let bytes = &mut self.bytes;
        let reference = if record.reference.is_some() { REFERENCE } else { 0 };
        let numbers = if record.numbers.is_empty() { 0 } else { NUMBERS };
        bytes.extend_from_slice(&[stream.kind, reference | numbers]);
        put(bytes, stream.number);
        put(bytes, seq);
        if let Some(reference) = &record.reference {
            bytes.extend_from_slice(reference);
        }
        if !record.numbers.is_empty() {
            put(bytes, record.numbers.len() as u64);
            for numbered in &record.numbers {
                bytes.push(numbered.series);
                put(bytes, numbered.number);
            }
        }
        put(bytes, record.body.len() as u64);
        bytes.extend_from_slice(&record.body);
        self.records += 1;
    }

    /// The finished bytes.
    pub fn finish(&mut self) -> &[u8] {
        self.bytes[0] = VERSION;
        self.bytes[1..5].copy_from_slice(&self.records.to_le_bytes());
        let sum = checksum(&self.bytes[..5], &self.bytes[HEADER..]);
        self.bytes[5..HEADER].copy_from_slice(&sum.to_le_bytes());
        &self.bytes
    }
}

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

/// A group whose checksum was found right.
#[derive(Debug, Clone, Copy)]
pub struct Group<'a> {
    records: u32,
    rest: Cursor<'a>,
}

impl<'a> Group<'a> {
    /// Looks at a group.
    ///
    /// # Errors
    ///
    /// The bytes are not a group of this version, or not as they were written.
    pub fn open(bytes: &'a [u8]) -> Result<Self, ReadError> {
        let mut rest = Cursor(bytes);
        let head: [u8; 5] = rest.array()?;
        if head[0] != VERSION {
            return Err(ReadError(format!("a group has version {}, known is {VERSION}", head[0])));
        }
        let sum = u32::from_le_bytes(rest.array()?);
        if sum != checksum(&head, rest.0) {
            return Err(ReadError("a group has a wrong checksum".into()));
        }
        let records = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
        if records == 0 {
            return Err(ReadError("a group has no records".into()));
        }
        Ok(Self { records, rest })
    }

    /// How many records it has.
    #[must_use]
    pub fn records(&self) -> u32 {
        self.records
    }

    /// Its records in order; the first error ends them.
    #[must_use]
    pub fn views(self) -> Views<'a> {
        Views { left: self.records, rest: self.rest }
    }
}

/// The records of a group, one after the other.
#[derive(Debug, Clone)]
pub struct Views<'a> {
    left: u32,
    rest: Cursor<'a>,
}

impl<'a> Iterator for Views<'a> {
    type Item = Result<View<'a>, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        let mut view = View::parse(&mut self.rest);
        if self.left == 0 && view.is_ok() && !self.rest.0.is_empty() {
            view = Err(ReadError("a group has bytes behind its records".into()));
        }
        if view.is_err() {
            self.left = 0;
        }
        Some(view)
    }
}

/// A record inside a group, nothing copied.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// Its stream.
    pub stream: Stream,
    /// Its number in the stream.
    pub seq: u64,
    /// The reference it brought.
    pub reference: Option<Reference>,
    /// The bytes.
    pub body: &'a [u8],
    numbers: Cursor<'a>,
}

impl<'a> View<'a> {
    fn parse(rest: &mut Cursor<'a>) -> Result<Self, ReadError> {
        let [kind, flags] = rest.array()?;
        if flags & !(REFERENCE | NUMBERS) != 0 {
            return Err(ReadError(format!("a record has unknown flags {flags}")));
        }
        let number = rest.number()?;
        let seq = rest.number()?;
        let reference = if flags & REFERENCE != 0 { Some(rest.array()?) } else { None };
        let mut numbers = Cursor(&[]);
        if flags & NUMBERS != 0 {
            let count = rest.number()?;
            let before = rest.0;
            for _ in 0..count {
                rest.byte()?;
                rest.number()?;
            }
            numbers = Cursor(&before[..before.len() - rest.0.len()]);
        }
        let length = rest.size()?;
        let body = rest.take(length)?;
        Ok(Self { stream: Stream { kind, number }, seq, reference, body, numbers })
    }

    /// The numbered things it introduced.
    pub fn numbers(&self) -> impl Iterator<Item = Numbered> + use<'a> {
        let mut rest = self.numbers;
        std::iter::from_fn(move || {
            let series = rest.byte().ok()?;
            Some(Numbered { series, number: rest.number().ok()? })
        })
    }

    /// The record as readers get it.
    #[must_use]
    pub fn stored(&self, position: Position) -> Stored {
        Stored { position, stream: self.stream, seq: self.seq, body: self.body.into() }
    }
}

fn checksum(head: &[u8], records: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(head);
    hasher.update(records);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<u8> {
        let mut builder = Builder::new();
        for seq in 0..5_u64 {
            let numbers = (0..seq).map(|number| Numbered { series: 2, number: number << 40 });
            let record = Record {
                body: vec![b'x'; seq as usize * 40],
                reference: seq.is_multiple_of(2).then_some([seq as u8; 16]),
                numbers: numbers.collect(),
            };
            builder.push(Stream { kind: 3, number: u64::MAX - seq }, seq, &record);
        }
        builder.finish().to_vec()
    }

    fn drain(bytes: &[u8]) -> Result<usize, ReadError> {
        let mut seen = 0;
        for view in Group::open(bytes)?.views() {
            seen += 1 + view?.numbers().count();
        }
        Ok(seen)
    }

    /// The same bytes with a checksum that fits, so that the parser behind it is reached.
    fn resealed(mut bytes: Vec<u8>) -> Vec<u8> {
        if bytes.len() >= HEADER {
            let sum = checksum(&bytes[..5], &bytes[HEADER..]);
            bytes[5..HEADER].copy_from_slice(&sum.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn whole_groups_are_read() {
        assert_eq!(drain(&sample()), Ok(5 + 10));
    }

    #[test]
    fn truncated_bytes_are_errors() {
        let whole = sample();
        for end in 0..whole.len() {
            assert!(drain(&whole[..end]).is_err());
            assert!(drain(&resealed(whole[..end].to_vec())).is_err());
        }
    }

    #[test]
    fn flipped_bits_are_errors_and_never_panic() {
        let whole = sample();
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(drain(&bytes).is_err(), "bit {bit}");
            // With a fitting checksum it may be read as something else; it must only not panic.
            let _ = drain(&resealed(bytes));
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic() {
        let mut state = 7_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        };
        for round in 0..20_000_usize {
            let mut bytes: Vec<u8> = (0..round % 120).map(|_| random()).collect();
            let _ = drain(&bytes);
            if bytes.len() > HEADER + 1 {
                bytes[0] = VERSION;
                bytes[1..5].copy_from_slice(&3_u32.to_le_bytes());
                bytes[HEADER + 1] &= 3;
            }
            let _ = drain(&resealed(bytes));
        }
    }
}
