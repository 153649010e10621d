//! The bytes of a record: a version, then bincode. The only file that names bincode.
//!
//! Version 1 holds the language's own events. The day an event changes shape, version 1 gets its own copy of the old
//! types and one function that lifts them; `tests/records.rs` keeps bytes of every version that was ever written.

use std::sync::Arc;

use parley_journal::{Kind, Numbered, Position, Stream};
use parley_language::desk::DeskEvent;
use parley_language::event::{Event, Fact, Image};
use parley_language::thread::Summary;
use parley_language::{ThreadId, event::Message};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::human::{HumanEvent, HumanState};
use crate::lines::{LineEvent, LineState};

/// The version of events, in which everything that must last is written.
pub const VERSION: u8 = 1;

/// The most bytes of a record that are read.
const BYTES_MAX: usize = 1 << 20;

/// The kind of the streams of threads.
pub const THREADS: Kind = 1;
/// The kind of the desk's one stream.
pub const DESK: Kind = 2;
/// The kind of the streams of lines: what each has acknowledged, and its sub-lines.
pub const LINES: Kind = 3;
/// The kind of the streams of images, one for each.
pub const IMAGES: Kind = 4;
/// The kind of the courier's one stream: up to where the effects on other threads are delivered.
pub const COURIER: Kind = 5;
/// The kind of the stream of the human's door.
pub const HUMAN: Kind = 6;
/// The kind of the webhook's one stream: up to where the operator was told.
pub const WEBHOOK: Kind = 7;

/// The series of thread numbers.
pub const THREAD_NUMBERS: u8 = 1;
/// The series of message numbers.
pub const MESSAGE_NUMBERS: u8 = 2;
/// The series of claim numbers.
pub const CLAIM_NUMBERS: u8 = 3;
/// The series of attestation numbers.
pub const ATTESTATION_NUMBERS: u8 = 4;
/// The series of image numbers.
pub const IMAGE_NUMBERS: u8 = 5;

/// Bytes that are no record of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable(pub String);

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a record cannot be read: {}", self.0)
    }
}

impl std::error::Error for Unreadable {}

/// What can be a record's content.
pub trait Content: Serialize + DeserializeOwned {
    /// The version of its bytes.
    const VERSION: u8 = VERSION;
}
impl Content for Event {}
impl Content for DeskEvent {}
impl Content for (Arc<str>, LineEvent) {}
/// A note is made anew from its stream when its version is another one, so it may change shape.
impl Content for Summary {
    const VERSION: u8 = 2;
}
impl Content for LineState {}
impl Content for HumanEvent {}
impl Content for HumanState {}
impl Content for Image {}
impl Content for Position {}

/// The stream of a thread.
pub fn stream(thread: ThreadId) -> Stream {
    Stream { kind: THREADS, number: thread.number }
}

/// The desk's stream.
pub const fn desk_stream() -> Stream {
    Stream { kind: DESK, number: 1 }
}

/// The stream of the human's door.
pub const fn human_stream() -> Stream {
    Stream { kind: HUMAN, number: 1 }
}

/// The bytes of a content.
pub fn encode<C: Content>(content: &C) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(256);
    bytes.push(C::VERSION);
    encode_into(content, &mut bytes);
    bytes
}

/// Appends a value's bytes without a version, for digests.
pub fn encode_into<T: Serialize>(value: &T, bytes: &mut Vec<u8>) {
    struct Tail<'a>(&'a mut Vec<u8>);
    impl bincode::enc::write::Writer for Tail<'_> {
        fn write(&mut self, bytes: &[u8]) -> Result<(), bincode::error::EncodeError> {
            self.0.extend_from_slice(bytes);
            Ok(())
        }
    }
    bincode::serde::encode_into_writer(value, Tail(bytes), bincode::config::standard())
        .expect("writing to memory cannot fail, and every type of a record has a form in bincode");
}

/// The content of bytes.
///
/// # Errors
/// [`Unreadable`] for another version, for damage and for bytes left over.
pub fn decode<C: Content>(bytes: &[u8]) -> Result<C, Unreadable> {
    let (version, bytes) = bytes.split_first().ok_or_else(|| Unreadable("it is empty".into()))?;
    if *version != C::VERSION {
        let known = C::VERSION;
        return Err(Unreadable(format!(
            "version {version} is not known, this program reads {known}"
        )));
    }
    // Damaged lengths must not be believed: a record never holds more than a request can bring.
    let config = bincode::config::standard().with_limit::<BYTES_MAX>();
    let (content, length) = bincode::serde::decode_from_slice(bytes, config)
        .map_err(|error| Unreadable(error.to_string()))?;
    if length == bytes.len() {
        Ok(content)
    } else {
        Err(Unreadable(format!("{} bytes are left over", bytes.len() - length)))
    }
}

/// What an event brings into the world, for the journal's number index.
pub fn numbers(thread: ThreadId, event: &Event) -> Vec<Numbered> {
    let of_message = |message: &Message| {
        let mut numbers = Vec::with_capacity(1 + message.claims.len());
        numbers.push(Numbered { series: MESSAGE_NUMBERS, number: message.id.number });
        numbers.extend(
            message
                .claims
                .iter()
                .map(|claim| Numbered { series: CLAIM_NUMBERS, number: claim.id.number }),
        );
        numbers
    };
    let Some(said) = event.fact.said() else {
        return match &event.fact {
            Fact::Attested { attestation, .. } => {
                vec![Numbered { series: ATTESTATION_NUMBERS, number: attestation.id.number }]
            }
            _ => Vec::new(),
        };
    };
    let mut numbers = of_message(said.message);
    if said.board.is_some() {
        numbers.push(Numbered { series: THREAD_NUMBERS, number: thread.number });
    }
    numbers
}
