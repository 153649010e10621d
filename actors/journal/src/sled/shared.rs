//! What the committer, the checkpoint thread and the readers share.

use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{
    Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
};
use std::thread::JoinHandle;

use tokio::sync::watch;

use super::filter::Filter;
use super::index::Trees;
use super::queue::Queue;
use super::recent::Recent;
use super::table::Generations;
use crate::{Numbered, Position, ReadError, Reference, Stored, Stream};

/// Locks; a holder that panicked has left nothing half done that would matter more than going on.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks for reading, like [`lock`].
pub(super) fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

/// Locks for writing, like [`lock`].
pub(super) fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

/// What was done since the start.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) groups: AtomicU64,
    pub(super) flushes: AtomicU64,
    pub(super) records: AtomicU64,
    pub(super) bytes: AtomicU64,
    pub(super) checkpoints: AtomicU64,
}

/// The shared part of a journal.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) queue: Queue,
    pub(super) generations: RwLock<Generations>,
    pub(super) filter: Filter,
    pub(super) recent: Mutex<Recent>,
    pub(super) tip: watch::Sender<Position>,
    pub(super) trouble: OnceLock<String>,
    pub(super) counts: Counts,
    /// The readers' trees; gone once the journal is closed. A reader holds the lock while it reads, so that closing
    /// waits for it.
    pub(super) trees: RwLock<Option<Trees>>,
    pub(super) committer: Mutex<Option<JoinHandle<()>>>,
    /// The file to sync after sled's own flush, when a flush is to reach the device.
    device: Option<File>,
    highest: Box<[AtomicU64; 256]>,
    #[cfg(test)]
    pub(super) broken: std::sync::atomic::AtomicBool,
}

impl Shared {
    /// The shared part as it is after opening.
    pub(super) fn new(queue: Queue, trees: Trees, device: Option<File>) -> Self {
        Self {
            queue,
            generations: RwLock::default(),
            filter: Filter::default(),
            recent: Mutex::default(),
            tip: watch::Sender::new(0),
            trouble: OnceLock::new(),
            counts: Counts::default(),
            trees: RwLock::new(Some(trees)),
            committer: Mutex::new(None),
            device,
            highest: Box::new([const { AtomicU64::new(0) }; 256]),
            #[cfg(test)]
            broken: false.into(),
        }
    }

    /// Takes no writes any more. The first reason counts.
    pub(super) fn fail(&self, reason: &str) {
        if self.trouble.set(reason.to_owned()).is_ok() {
            tracing::error!(reason, "the journal takes no writes any more");
        }
    }

    /// The committer's flush: once per group.
    pub(super) fn flush(&self, trees: &Trees) -> Result<(), ReadError> {
        #[cfg(test)]
        if self.broken.load(Ordering::Relaxed) {
            return Err(ReadError("broken for a test".into()));
        }
        self.counts.flushes.fetch_add(1, Ordering::Relaxed);
        trees.flush()?;
        let synced = self.device.as_ref().map_or(Ok(()), File::sync_data);
        synced.map_err(|error| ReadError(format!("the disk does not sync: {error}")))
    }

    /// The highest number of a series.
    pub(super) fn highest(&self, series: u8) -> u64 {
        self.highest[usize::from(series)].load(Ordering::Acquire)
    }

    /// Notes that a number was stored.
    pub(super) fn raise(&self, numbered: Numbered) {
        self.highest[usize::from(numbered.series)].fetch_max(numbered.number, Ordering::AcqRel);
    }

    /// Where a reference is kept, as far as memory can say: `Err` when only the disk knows.
    pub(super) fn recall(&self, reference: &Reference) -> Result<Option<(Stream, u64)>, ()> {
        // Memory first: what leaves it meanwhile is in the filter by then.
        match read(&self.generations).find(reference) {
            Some(place) => Ok(Some(place)),
            None if self.filter.may_hold(reference) => Err(()),
            None => Ok(None),
        }
    }

    /// Where a reference is kept, the disk included.
    pub(super) fn find(
        &self,
        trees: &Trees,
        reference: &Reference,
    ) -> Result<Option<(Stream, u64)>, ReadError> {
        self.recall(reference).or_else(|()| trees.find(reference))
    }

    /// The records of a stream from `from` on.
    pub(super) fn stream(
        &self,
        trees: &Trees,
        stream: Stream,
        from: u64,
    ) -> Result<Vec<Stored>, ReadError> {
        // Memory first: what leaves it meanwhile is in the trees by then, and is cut off there.
        let (until, recent) = read(&self.generations).places(stream, from);
        let mut places = trees.places(stream, from, until)?;
        if let Some(until) = until
            && from < until
            && places.len() as u64 != until - from
        {
            return Err(ReadError(format!("the index of {stream:?} ends before {until}")));
        }
        places.extend(recent);
        let mut found = Vec::with_capacity(places.len());
        let mut seqs = from..;
        for run in places.chunk_by(|left, right| left.group() == right.group()) {
            let Some(first) = run.first().map(|place| place.group()) else { continue };
            let recent = lock(&self.recent).get(first);
            let group = match recent {
                Some(bytes) => bytes,
                None => trees
                    .group(first)?
                    .ok_or_else(|| ReadError(format!("the group at {first} is missing")))?,
            };
            let mut wanted = run.iter().peekable();
            for (position, view) in (first..).zip(super::group::Group::open(&group)?.views()) {
                let view = view?;
                if wanted.next_if(|place| place.position == position).is_some() {
                    if view.stream != stream || seqs.next() != Some(view.seq) {
                        return Err(ReadError(format!("{position} is not of {stream:?}")));
                    }
                    found.push(view.stored(position));
                }
                if wanted.peek().is_none() {
                    break;
                }
            }
            if wanted.peek().is_some() {
                return Err(ReadError(format!("the group at {first} is too short")));
            }
        }
        Ok(found)
    }

    /// The position of one record.
    pub(super) fn position(
        &self,
        trees: &Trees,
        stream: Stream,
        seq: u64,
    ) -> Result<Option<Position>, ReadError> {
        // Memory first, as in `stream`.
        let (until, recent) = read(&self.generations).places(stream, seq);
        let place = match until {
            Some(first) if seq >= first => recent.first().copied(),
            _ => trees.places(stream, seq, Some(seq + 1))?.first().copied(),
        };
        Ok(place.map(|place| place.position))
    }

    /// Committed records after a position, from disk.
    pub(super) fn after(
        trees: &Trees,
        after: Position,
        tip: Position,
        limit: usize,
    ) -> Result<Vec<Stored>, ReadError> {
        let mut found = Vec::new();
        let Some((begin, _)) = trees.group_at(after + 1)? else { return Ok(found) };
        for item in trees.groups_from(begin) {
            let (first, bytes) = item?;
            if first > tip || found.len() >= limit {
                break;
            }
            super::recent::collect(&mut found, first, &bytes, after, tip, limit)?;
        }
        Ok(found)
    }

    /// Reads the groups behind the checkpoint again and makes their indexes anew.
    pub(super) fn recover(&self, trees: &Trees) -> Result<(), ReadError> {
        for numbered in trees.highest()? {
            self.raise(numbered);
        }
        let checkpoint = trees.checkpoint()?;
        let mut last = 0;
        if let Some((first, bytes)) = trees.group_at(checkpoint)? {
            last = first + u64::from(super::group::Group::open(&bytes)?.records()) - 1;
        }
        if last != checkpoint {
            return Err(ReadError(format!(
                "positions have a gap: the checkpoint is at {checkpoint}, the groups before it end at {last}"
            )));
        }
        let mut generations = write(&self.generations);
        let table = &mut generations.active;
        for item in trees.groups_from(checkpoint + 1) {
            let (first, bytes) = item?;
            if first != last + 1 {
                return Err(ReadError(format!(
                    "positions have a gap: {last} is followed by {first}"
                )));
            }
            let group = super::group::Group::open(&bytes)
                .map_err(|error| ReadError(format!("the group at {first}: {}", error.0)))?;
            for (index, view) in (0..).zip(group.views()) {
                let view =
                    view.map_err(|error| ReadError(format!("the group at {first}: {}", error.0)))?;
                let tail = table.tail(view.stream, view.seq);
                if tail.length() != view.seq {
                    return Err(ReadError(format!(
                        "{:?} has a gap: record {} at position {}",
                        view.stream,
                        view.seq,
                        first + u64::from(index)
                    )));
                }
                tail.places.push(super::table::Place { position: first + u64::from(index), index });
                table.index(view.stream, view.seq, view.reference, view.numbers());
                view.numbers().for_each(|numbered| self.raise(numbered));
            }
            last += u64::from(group.records());
            let records = group.records();
            lock(&self.recent).push(first, records, bytes);
        }
        table.begin = checkpoint;
        table.last = last;
        self.tip.send_replace(last);
        Ok(())
    }
}
