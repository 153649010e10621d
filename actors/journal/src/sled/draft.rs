//! The group being put together: what is accepted into it, and why the rest is not.

use std::collections::HashMap;
use std::sync::Arc;

use super::group::Builder;
use super::index::Trees;
use super::shared::{Shared, read};
use super::table::QuickMap;
use crate::{Append, AppendError, ReadError, Reference, Stream};

/// How many stream lengths are remembered; beyond, all are forgotten and found again one by one.
const HEADS_MAX: usize = 262_144;

/// What became of an append: its first record's index in the group, or its refusal.
pub(super) type Verdict = Result<u32, AppendError>;

/// The draft. Every check also sees what the same group has taken before.
pub(super) struct Draft {
    shared: Arc<Shared>,
    pub(super) trees: Trees,
    pub(super) builder: Builder,
    /// Lengths of streams, appends of the present group included. After a failed write they are wrong, and nothing is
    /// accepted any more.
    heads: QuickMap<Stream, u64>,
    /// References of the present group.
    taken: HashMap<Reference, (Stream, u64)>,
}

impl Draft {
    /// An empty draft.
    pub(super) fn new(shared: Arc<Shared>, trees: Trees) -> Self {
        let (heads, taken) = (QuickMap::default(), HashMap::new());
        Self { shared, trees, builder: Builder::new(), heads, taken }
    }

    /// Begins the next group.
    pub(super) fn clear(&mut self) {
        self.builder.clear();
        self.taken.clear();
        if self.heads.len() > HEADS_MAX {
            self.heads.clear();
        }
    }

    /// Checks an append (J2 first, then its references) and puts it into the group.
    pub(super) fn accept(&mut self, append: &Append) -> Verdict {
        if let Some(trouble) = self.shared.trouble.get() {
            return Err(AppendError::Refused(trouble.clone()));
        }
        if append.records.is_empty() {
            return Err(AppendError::Refused("an append needs a record".into()));
        }
        let stream = append.stream;
        let actual = self.head(stream).map_err(refused)?;
        if append.expected != actual {
            return Err(AppendError::Conflict { actual });
        }
        for (at, record) in append.records.iter().enumerate() {
            let Some(reference) = &record.reference else { continue };
            let found = match self.taken.get(reference) {
                Some(place) => Ok(Some(*place)),
                None => self.shared.find(&self.trees, reference),
            };
            if let Ok(None) = found {
                self.taken.insert(*reference, (stream, actual + at as u64));
                continue;
            }
            // The append is out, and so are the references it has put down so far.
            for reference in append.records[..at].iter().filter_map(|record| record.reference) {
                self.taken.remove(&reference);
            }
            let place = found.map_err(refused)?;
            let (stream, seq) = place.unwrap_or((stream, actual));
            return Err(AppendError::Duplicate { stream, seq });
        }
        let index = self.builder.records();
        for (seq, record) in (actual..).zip(&append.records) {
            self.builder.push(stream, seq, record);
        }
        self.heads.insert(stream, actual + append.records.len() as u64);
        Ok(index)
    }

    /// The length of a stream.
    pub(super) fn head(&mut self, stream: Stream) -> Result<u64, ReadError> {
        if let Some(length) = self.heads.get(&stream) {
            return Ok(*length);
        }
        let recent = read(&self.shared.generations).length(stream);
        let length = match recent {
            Some(length) => length,
            None => self.trees.length(stream)?,
        };
        self.heads.insert(stream, length);
        Ok(length)
    }
}

fn refused(error: ReadError) -> AppendError {
    AppendError::Refused(error.0)
}
