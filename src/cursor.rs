//! Opaque cursors: where to go on in a list. A cursor of one list is refused by another.

use parley_actors::directory::Key;
use parley_language::{Reason, Refusal, reason::Details};

/// A place in the journal.
pub fn position(position: u64) -> String {
    format!("p{position:x}")
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
    cursor.strip_prefix('n').and_then(|hex| usize::from_str_radix(hex, 16).ok()).ok_or_else(invalid)
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
        let hex = |text: &str| u64::from_str_radix(text, 16).ok();
        Some(Key { settled, age: hex(age)?, below: hex(below)? })
    };
    read().map(Some).ok_or_else(invalid)
}

fn invalid() -> Refusal {
    let error = "`cursor` was not issued by this list; send a `next_cursor` of it, or leave it out to begin anew";
    Refusal::new(Reason::InvalidBody, error).with(Details {
        field: Some("cursor".into()),
        rule: Some("cursor".into()),
        ..Details::default()
    })
}
