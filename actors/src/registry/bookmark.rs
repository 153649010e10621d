//! How far something has come that follows the feed and must miss nothing over restarts: the courier, the webhook.

use parley_journal::{Append, Kind, Position, Record, Stream, append_and_wait};

use super::Registry;
use crate::record;

/// How far something has come. It has a stream of its own, whose last record says so.
#[derive(Debug)]
pub struct Bookmark {
    /// Everything up to here is done.
    pub reached: Position,
    noted: Position,
    length: u64,
    stream: Stream,
}

impl Bookmark {
    /// How far it has come since it was last written down.
    pub fn ahead(&self) -> u64 {
        self.reached.saturating_sub(self.noted)
    }

    /// Whether it was never written down.
    pub fn is_new(&self) -> bool {
        self.length == 0
    }
}

impl Registry {
    /// Where something was when it was last written down; the beginning if it never was.
    ///
    /// # Errors
    /// What the journal cannot read.
    pub async fn bookmark(&self, kind: Kind) -> Result<Bookmark, String> {
        let stream = Stream { kind, number: 1 };
        let log = self.0.journal.read(stream, 0).await.map_err(|error| error.to_string())?;
        let noted = match log.last() {
            None => 0,
            Some(last) => record::decode(&last.body).map_err(|error| error.to_string())?,
        };
        Ok(Bookmark { reached: noted, noted, length: log.len() as u64, stream })
    }

    /// Writes down how far something has come. If that fails, a later start only does some of it again.
    pub async fn write_bookmark(&self, mark: &mut Bookmark) {
        let record = Record { body: record::encode(&mark.reached), ..Record::default() };
        let append = Append {
            stream: mark.stream,
            expected: mark.length,
            records: vec![record],
            note: None,
        };
        match append_and_wait(&*self.0.journal, append).await {
            Ok(_) => {
                mark.length += 1;
                mark.noted = mark.reached;
            }
            Err(error) => {
                tracing::warn!(%error, stream = ?mark.stream, "a mark is not written down");
                if let Ok(stored) = self.bookmark(mark.stream.kind).await {
                    (mark.noted, mark.length) = (stored.noted, stored.length);
                }
            }
        }
    }
}
