//! What the tests of the journal share.

use std::path::Path;

use parley_journal::sled::SledJournal;
use parley_journal::{
    Answers, Append, AppendError, Appended, Journal, Position, Record, Settings, Stream,
    append_and_wait,
};
use tokio::sync::mpsc;

/// A stream of kind 1.
pub(crate) fn stream(number: u64) -> Stream {
    Stream { kind: 1, number }
}

/// A record with nothing but bytes.
pub(crate) fn record(body: &str) -> Record {
    Record { body: body.as_bytes().to_vec(), ..Record::default() }
}

/// An append of one record.
pub(crate) fn one(stream: Stream, expected: u64, body: &str) -> Append {
    Append { stream, expected, records: vec![record(body)], note: None }
}

/// Appends and waits.
pub(crate) async fn put(journal: &dyn Journal, append: Append) -> Result<Position, AppendError> {
    append_and_wait(journal, append).await
}

/// A channel for answers.
pub(crate) fn channel() -> (Answers, mpsc::UnboundedReceiver<Appended>) {
    mpsc::unbounded_channel()
}

/// The bodies of a stream.
pub(crate) async fn bodies(journal: &dyn Journal, stream: Stream, from: u64) -> Vec<String> {
    let read = journal.read(stream, from).await.unwrap();
    read.iter().map(|stored| String::from_utf8(stored.body.to_vec()).unwrap()).collect()
}

/// Opens the journal of a folder.
pub(crate) fn open(folder: &Path) -> SledJournal {
    SledJournal::open(Settings::new(folder)).unwrap()
}
