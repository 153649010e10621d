//! The journal: streams of opaque records, durable before they are answered.
//!
//! A journal knows nobody: not Parley, not actors, not HTTP. It keeps records in streams, in one global order of
//! commitment, and promises five things, checked for every engine by `tests/contract.rs`:
//!
//! * **J1 one order.** Every record has a position, `1, 2, 3, …` without gaps over all streams. Within a stream the
//!   sequence numbers are `0, 1, 2, …` without gaps, in the order of the positions.
//! * **J2 fence.** An append names the sequence number it expects its first record to get. Another number:
//!   [`AppendError::Conflict`], nothing stored. Appends of one stream that were queued behind a failed one therefore
//!   fail too.
//! * **J3 durable first.** An append is answered, shown to a reader or to a follower only after it survived a flush.
//! * **J4 one batch.** Everything an append brings (records, references, numbers) is there as a whole or not at all.
//! * **J5 reads queue.** A read of a stream that begins after an append was handed in sees that append's outcome.
//!
//! Appends from all streams that wait at the same moment share one flush (group commit): the next group fills while
//! one is being flushed.

pub mod faulty;
pub mod memory;
pub mod sled;

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::{mpsc, watch};

/// The kind of a stream, one byte; the journal gives it no meaning.
pub type Kind = u8;

/// The name of a stream: a kind and a number of the caller's choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stream {
    /// What sort of stream it is; threads, rooms and desks have different kinds.
    pub kind: Kind,
    /// Which one of that sort.
    pub number: u64,
}

/// A place in the journal's global order. The first record has position 1; 0 stands before everything.
pub type Position = u64;

/// A caller-chosen key that may be stored once, ever: the digest of an idempotency key.
pub type Reference = [u8; 16];

/// A numbered thing that a record brought into the world, so that [`Journal::locate`] finds its stream again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Numbered {
    /// The series the number belongs to (messages, claims, …).
    pub series: u8,
    /// The number; series are expected to be dense, ascending from 1.
    pub number: u64,
}

/// One record to be stored.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Record {
    /// The bytes, opaque to the journal.
    pub body: Vec<u8>,
    /// An idempotency reference. Stored once: a second append with it is [`AppendError::Duplicate`].
    pub reference: Option<Reference>,
    /// The numbered things this record introduces.
    pub numbers: Vec<Numbered>,
}

/// One atomic append to one stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Append {
    /// The stream it goes to.
    pub stream: Stream,
    /// The sequence number the first record is to get, that is the number of records the stream has before it.
    pub expected: u64,
    /// The records, at least one.
    pub records: Vec<Record>,
    /// What the stream's newest state is in the caller's words: kept beside the stream, newest wins, handed back by
    /// [`Journal::notes`] without reading the stream.
    pub note: Option<Vec<u8>>,
}

/// A record as it stands in the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Its place in the global order.
    pub position: Position,
    /// Its stream.
    pub stream: Stream,
    /// Its number in the stream, from 0.
    pub seq: u64,
    /// The bytes.
    pub body: Arc<[u8]>,
}

/// Why an append was not acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// The stream does not end where the append expected. Nothing was stored.
    #[error("the stream has {actual} records")]
    Conflict {
        /// How many records the stream has.
        actual: u64,
    },
    /// A reference in it is taken. Nothing was stored.
    #[error("the reference is taken by record {seq} of {stream:?}")]
    Duplicate {
        /// The stream that holds the reference.
        stream: Stream,
        /// The record that brought it.
        seq: u64,
    },
    /// The journal takes no writes at present (full queue, failed disk, closing). Nothing was stored.
    #[error("the journal takes no writes: {0}")]
    Refused(String),
    /// The append may or may not be stored. Only reading the stream tells.
    #[error("the outcome is unknown: {0}")]
    Unknown(String),
}

/// Why a read failed: the disk, or bytes that are not what was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the journal cannot be read: {0}")]
pub struct ReadError(pub String);

/// The answer to one append, sent to the channel handed in with it. Answers of one stream arrive in the order of its
/// appends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// The `expected` of the append, so that the caller knows which one it was.
    pub expected: u64,
    /// The position of its first record, or why there is none.
    pub result: Result<Position, AppendError>,
}

/// Where answers to appends go. Unbounded, because the caller bounds what it has in flight.
pub type Answers = mpsc::UnboundedSender<Appended>;

/// A future of a journal.
pub type Waiting<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What an engine says of itself, for `/health` and for logs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Engine {
    /// Its name, such as `sled`.
    pub name: &'static str,
    /// The version of the bytes it writes.
    pub format: u32,
    /// Its settings in force, name and value with the unit in the name.
    pub settings: Vec<(&'static str, String)>,
}

/// What [`Journal::notes`] hands back for one stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The stream.
    pub stream: Stream,
    /// How many records it has.
    pub length: u64,
    /// The note of its newest append; `None` when the note has to be made anew by reading the stream (it was not
    /// written down before the process ended).
    pub note: Option<Vec<u8>>,
}

/// The one interface to durable storage. See the crate's promises J1 to J5.
pub trait Journal: Send + Sync + 'static {
    /// Hands in an append and returns at once; never blocks on the disk. The answer goes to `answers`, always exactly
    /// once, also when the journal is closing. A full queue answers [`AppendError::Refused`].
    fn append(&self, append: Append, answers: &Answers);

    /// The records of a stream from `from` on, behind all appends already handed in (J5).
    fn read(&self, stream: Stream, from: u64) -> Waiting<'_, Result<Vec<Stored>, ReadError>>;

    /// Where a reference is kept: the stream and the sequence number of its record.
    fn find(&self, reference: Reference) -> Waiting<'_, Result<Option<(Stream, u64)>, ReadError>>;

    /// The number of the stream in which a numbered thing was introduced. The kind is the caller's knowledge.
    fn locate(&self, numbered: Numbered) -> Waiting<'_, Result<Option<u64>, ReadError>>;

    /// The highest number of a series that was ever stored, 0 if none.
    fn highest(&self, series: u8) -> u64;

    /// The positions of records, each named by its stream and sequence number; `None` for one that is not there.
    fn positions(
        &self,
        records: Vec<(Stream, u64)>,
    ) -> Waiting<'_, Result<Vec<Option<Position>>, ReadError>>;

    /// At most `limit` committed records of all streams after `after`, in the order of positions; empty at the tip.
    fn after(&self, after: Position, limit: usize) -> Waiting<'_, Result<Vec<Stored>, ReadError>>;

    /// The position of the newest durable record; changes wake followers.
    fn tip(&self) -> watch::Receiver<Position>;

    /// Every stream with its length and newest note, in the order of streams. Costs the number of streams, not of
    /// records. Meant for the start, before the first append.
    fn notes(&self) -> Waiting<'_, Result<Vec<Note>, ReadError>>;

    /// Hands back a note that [`Journal::notes`] lacked, made anew by reading. Taken only while the stream still has
    /// that length; it saves the next start the reading and is never the only copy of anything.
    fn annotate(&self, stream: Stream, length: u64, note: Vec<u8>);

    /// What the engine is and how it is set.
    fn engine(&self) -> Engine;

    /// `None` while writes are taken, else why not.
    fn trouble(&self) -> Option<String>;

    /// Takes no further appends, answers what was handed in, writes down what makes the next start quick, and
    /// releases the files.
    fn close(&self) -> Waiting<'_, ()>;
}

/// Hands in one append and waits for its answer, over a channel of its own.
///
/// # Errors
///
/// As the journal answers; [`AppendError::Unknown`] if it ends without an answer.
pub async fn append_and_wait(
    journal: &dyn Journal,
    append: Append,
) -> Result<Position, AppendError> {
    let (sender, mut answers) = mpsc::unbounded_channel();
    journal.append(append, &sender);
    drop(sender);
    match answers.recv().await {
        Some(answer) => answer.result,
        None => Err(AppendError::Unknown("the journal ended".into())),
    }
}

/// What an answered append survives (J3).
///
/// sled's own flush on Linux is `sync_file_range`: the bytes are with the device, but neither the file's length nor
/// the device's cache is made permanent. That is proof against the death of the process, and not against a power cut
/// within the file system's commit interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The death of the process: sled's flush.
    Process,
    /// A power cut as well: sled's flush and an `fdatasync` per group, shared by all
    /// that wait.
    #[default]
    Power,
}

/// Settings of a journal on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The folder of its files.
    pub folder: PathBuf,
    /// Appends that may wait for the committer; more are refused.
    pub queue_appends_max: usize,
    /// Records that share one flush at most.
    pub group_records_max: usize,
    /// Bytes of bodies that share one flush at most (one larger append goes alone).
    pub group_bytes_max: usize,
    /// Records after which the indexes kept in memory are written down; bounds what a start has to read again.
    pub checkpoint_records: usize,
    /// The engine's page cache in bytes.
    pub cache_bytes: u64,
    /// What an answered append survives.
    pub durability: Durability,
}

impl Settings {
    /// The defaults for a folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            queue_appends_max: 16_384,
            group_records_max: 1_024,
            group_bytes_max: 1 << 20,
            checkpoint_records: 16_384,
            cache_bytes: 64 << 20,
            durability: Durability::default(),
        }
    }
}
