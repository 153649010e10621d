//! Opaque cursors: where to go on in a list. A cursor of one list is refused by another.

use parley_actors::directory::{Key, Mark};
use parley_language::{MessageId, Refusal};

/// A place in the journal.
pub fn position(position: u64) -> String {
    format!("p{position:x}")
}

/// Reads [`position`].
///
/// # Errors
/// `invalid_body`, rule `cursor`.
pub fn read_position(field: &'static str, text: &str) -> Result<u64, Refusal> {
    text.strip_prefix('p').and_then(hex).ok_or_else(|| never_issued(field))
}

/// An event of several that one position tells: which one it is, from 0.
pub fn event(position: u64, nth: usize) -> String {
    format!("p{position:x}.{nth:x}")
}

/// Reads [`position`] or [`event`]: everything up to a position was told, and how many events of the next one.
pub fn read_event(text: &str) -> Option<(u64, usize)> {
    let text = text.strip_prefix('p')?;
    match text.split_once('.') {
        None => hex(text).map(|position| (position, 0)),
        Some((position, nth)) => {
            let told = usize::try_from(hex(nth)?).ok()?.checked_add(1)?;
            Some((hex(position)?.checked_sub(1)?, told))
        }
    }
}

/// A place in an inbox, and the position as of which it is read.
pub fn mark(as_of: u64, mark: Mark) -> String {
    format!("i{}{as_of:x}-{:x}-{:x}", mark.part, mark.opened, mark.message.number)
}

/// Reads [`mark`].
///
/// # Errors
/// `invalid_body`, rule `cursor`.
pub fn read_mark(cursor: Option<&str>) -> Result<Option<(u64, Mark)>, Refusal> {
    let Some(cursor) = cursor else { return Ok(None) };
    let read = || {
        let rest = cursor.strip_prefix('i')?;
        let part = rest.chars().next()?.to_digit(3)? as u8;
        let mut numbers = rest.get(1..)?.split('-');
        let mut number = || numbers.next().and_then(hex);
        let (as_of, opened, message) = (number()?, number()?, MessageId::new(number()?));
        numbers.next().is_none().then_some((as_of, Mark { part, opened, message }))
    };
    read().map(Some).ok_or_else(invalid)
}

/// A place in a list that only grows: how many entries were seen.
pub fn count(seen: usize) -> String {
    format!("n{seen:x}")
}

/// Reads [`count`]; absent is the beginning.
///
/// # Errors
/// `invalid_body`, rule `cursor`.
pub fn read_count(cursor: Option<&str>) -> Result<usize, Refusal> {
    let Some(cursor) = cursor else { return Ok(0) };
    cursor
        .strip_prefix('n')
        .and_then(hex)
        .and_then(|seen| usize::try_from(seen).ok())
        .ok_or_else(invalid)
}

/// A place in a list of threads.
pub fn key(key: Key) -> String {
    format!("k{}{:x}-{:x}", u8::from(key.settled), key.age, key.below)
}

/// Reads [`key`].
///
/// # Errors
/// `invalid_body`, rule `cursor`.
pub fn read_key(cursor: Option<&str>) -> Result<Option<Key>, Refusal> {
    let Some(cursor) = cursor else { return Ok(None) };
    let read = || {
        let rest = cursor.strip_prefix('k')?;
        let settled = match rest.chars().next()? {
            '0' => false,
            '1' => true,
            _ => return None,
        };
        let (age, below) = rest.get(1..)?.split_once('-')?;
        Some(Key { settled, age: hex(age)?, below: hex(below)? })
    };
    read().map(Some).ok_or_else(invalid)
}

/// Digits as they are written here: no sign, no capitals, no zeros before them.
fn hex(text: &str) -> Option<u64> {
    let number = u64::from_str_radix(text, 16).ok()?;
    (format!("{number:x}") == text).then_some(number)
}

/// The refusal of a cursor of another list.
pub fn invalid() -> Refusal {
    let error = "`cursor` was not issued by this list; send a `next_cursor` of it, or leave it out to begin anew";
    Refusal::field("cursor", "cursor", error)
}

/// The refusal of a position that nobody was told.
pub fn never_issued(field: &'static str) -> Refusal {
    let error =
        format!("`{field}` was never issued here; send the `cursor` of an inbox, or leave it out");
    Refusal::field(field, "cursor", error)
}
