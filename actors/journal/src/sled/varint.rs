//! Unsigned LEB128 integers and a cursor over bytes that may be anything.
//!
//! Everything read back from disk goes through [`Cursor`], so that torn or foreign bytes end in an error and never in
//! a panic or in an allocation of their choosing.

use crate::ReadError;

/// Appends a number in groups of seven bits, lowest first.
pub(super) fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push((number as u8) | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// What is still unread of some bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a>(pub(super) &'a [u8]);

impl<'a> Cursor<'a> {
    /// The next `count` bytes.
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], ReadError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or_else(short)?;
        self.0 = rest;
        Ok(taken)
    }

    /// The next bytes as an array.
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], ReadError> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or_else(short)?;
        self.0 = rest;
        Ok(*taken)
    }

    /// The next byte.
    pub(super) fn byte(&mut self) -> Result<u8, ReadError> {
        Ok(self.array::<1>()?[0])
    }

    /// The next number written by [`put`].
    pub(super) fn number(&mut self) -> Result<u64, ReadError> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(ReadError("a number is too long".into()))
    }

    /// The next number as a length or an index in memory.
    pub(super) fn size(&mut self) -> Result<usize, ReadError> {
        usize::try_from(self.number()?).map_err(|_| ReadError("a length is too large".into()))
    }
}

fn short() -> ReadError {
    ReadError("the bytes end too early".into())
}
