//! The engine on disk: group commit on sled.
//!
//! One thread, the committer, takes the appends that wait, stores them as one group (one record of the tree `journal`,
//! or several when it is large), flushes once and answers them all; meanwhile the next ones gather. The indexes (streams, references, numbers) are kept in
//! memory and written down behind the committer's back at checkpoints; a start reads the journal from the last
//! checkpoint on to have them again.

mod checkpointer;
mod committer;
mod draft;
mod filter;
pub mod group;
mod index;
mod queue;
mod recent;
mod shared;
mod table;
mod varint;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{Builder, sleep};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;

use self::checkpointer::Checkpointer;
use self::committer::Committer;
use self::index::{FORMAT, Trees};
use self::queue::{Ending, Queue, Waiter};
use self::shared::{Shared, lock, read, write};
use crate::{
    Answers, Append, AppendError, Durability, Engine, Journal, Note, Numbered, Position, ReadError,
    Reference, Settings, Stored, Stream, Waiting,
};

/// sled writes a value that is larger than a quarter of a segment into a file of its own, with a flush of its own.
/// Groups and pages of groups are to stay below that.
const SEGMENT_BYTES: usize = 8 << 20;

/// What a journal has done since it was opened, for tests of its shape and for `/health`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Groups stored.
    pub groups: u64,
    /// Flushes the committer waited for.
    pub flushes: u64,
    /// Records stored.
    pub records: u64,
    /// Bytes of the stored groups.
    pub bytes: u64,
    /// Checkpoints written beside the committer.
    pub checkpoints: u64,
}

/// A journal in a folder.
#[derive(Debug)]
pub struct SledJournal {
    shared: Arc<Shared>,
    settings: Settings,
}

impl SledJournal {
    /// Opens or creates the journal of a folder. Blocks: it reads what came after the last checkpoint.
    ///
    /// # Errors
    ///
    /// The folder is in use by another journal, cannot be read, is of another format, or its records are damaged.
    pub fn open(settings: Settings) -> Result<Self, ReadError> {
        let folder = settings.folder.display().to_string();
        let within = |error: ReadError| ReadError(format!("{folder}: {}", error.0));
        let db = ::sled::Config::new()
            .path(&settings.folder)
            .cache_capacity(settings.cache_bytes)
            .segment_size(SEGMENT_BYTES)
            .mode(::sled::Mode::HighThroughput)
            .flush_every_ms(None)
            .open()
            .map_err(|error| within(explained(&error)))?;
        let trees = Trees::open(db).map_err(within)?;
        let device = match settings.durability {
            Durability::Process => None,
            Durability::Power => {
                let file = File::open(settings.folder.join("db"));
                Some(file.map_err(|error| within(ReadError(error.to_string())))?)
            }
        };
        let shared = Arc::new(Shared::new(Queue::new(&settings), trees.clone(), device));
        shared.recover(&trees).map_err(within)?;
        let checkpointer =
            Checkpointer::start(Arc::clone(&shared), trees.clone(), settings.checkpoint_records)?;
        let committer = Committer::new(Arc::clone(&shared), trees, checkpointer);
        let thread = Builder::new()
            .name("parley-committer".into())
            .spawn(move || committer.run())
            .map_err(|error| ReadError(format!("no thread for the committer: {error}")))?;
        *lock(&shared.committer) = Some(thread);
        Ok(Self { shared, settings })
    }

    /// What was done since the start.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let counts = &self.shared.counts;
        Counters {
            groups: counts.groups.load(Ordering::Relaxed),
            flushes: counts.flushes.load(Ordering::Relaxed),
            records: counts.records.load(Ordering::Relaxed),
            bytes: counts.bytes.load(Ordering::Relaxed),
            checkpoints: counts.checkpoints.load(Ordering::Relaxed),
        }
    }
}

/// A lock that is taken is the one error an operator can do something about.
fn explained(error: &::sled::Error) -> ReadError {
    let text = error.to_string();
    if text.contains("could not acquire lock") {
        return ReadError("it is in use by another journal, in this process or in another".into());
    }
    ReadError(text)
}

/// Runs something that reads the disk where it may block. Outside of a runtime the caller's thread is such a place.
async fn blocking<T, F>(shared: Arc<Shared>, work: F) -> Result<T, ReadError>
where
    T: Send + 'static,
    F: FnOnce(&Shared, &Trees) -> Result<T, ReadError> + Send + 'static,
{
    let work = move || match &*read(&shared.trees) {
        Some(trees) => work(&shared, trees),
        None => Err(ReadError("it is closed".into())),
    };
    match Handle::try_current() {
        Ok(handle) => handle
            .spawn_blocking(work)
            .await
            .unwrap_or_else(|error| Err(ReadError(format!("the reader failed: {error}")))),
        Err(_) => work(),
    }
}

/// Ends the journal and waits until its files are free. Blocks.
fn end(shared: &Shared, folder: &Path, ending: Ending) {
    shared.queue.end(ending);
    // Whoever comes second waits here for the first.
    let mut committer = lock(&shared.committer);
    let Some(thread) = committer.take() else { return };
    if thread.join().is_err() {
        shared.fail("the committer panicked at its end");
    }
    *write(&shared.trees) = None;
    // Threads of sled's own pool may hold its file for a moment longer.
    let Ok(file) = File::open(folder.join("db")) else { return };
    for _ in 0..200 {
        if file.try_lock().is_ok() {
            return;
        }
        sleep(Duration::from_millis(10));
    }
    tracing::warn!(folder = %folder.display(), "the files of a closed journal are still in use");
}

impl Journal for SledJournal {
    fn append(&self, append: Append, answers: &Answers) {
        let bytes = append.records.iter().map(|record| record.body.len()).sum();
        let waiter = Waiter { append, bytes, answers: answers.clone() };
        if let Err((waiter, reason)) = self.shared.queue.append(waiter) {
            waiter.answer(Err(AppendError::Refused(reason)));
        }
    }

    fn read(&self, stream: Stream, from: u64) -> Waiting<'_, Result<Vec<Stored>, ReadError>> {
        let settled = self.shared.queue.settle();
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            if let Some(settled) = settled {
                // A committer that is gone has settled everything.
                let _ = settled.await;
            }
            blocking(shared, move |shared, trees| shared.stream(trees, stream, from)).await
        })
    }

    fn find(&self, reference: Reference) -> Waiting<'_, Result<Option<(Stream, u64)>, ReadError>> {
        Box::pin(async move {
            if let Ok(known) = self.shared.recall(&reference) {
                return Ok(known);
            }
            let shared = Arc::clone(&self.shared);
            blocking(shared, move |shared, trees| shared.find(trees, &reference)).await
        })
    }

    fn locate(&self, numbered: Numbered) -> Waiting<'_, Result<Option<u64>, ReadError>> {
        Box::pin(async move {
            if numbered.number > self.shared.highest(numbered.series) {
                return Ok(None);
            }
            let recent = read(&self.shared.generations).locate(numbered);
            if recent.is_some() {
                return Ok(recent);
            }
            let shared = Arc::clone(&self.shared);
            blocking(shared, move |shared, trees| {
                let recent = read(&shared.generations).locate(numbered);
                if recent.is_some() { Ok(recent) } else { trees.locate(numbered) }
            })
            .await
        })
    }

    fn highest(&self, series: u8) -> u64 {
        self.shared.highest(series)
    }

    fn positions(
        &self,
        records: Vec<(Stream, u64)>,
    ) -> Waiting<'_, Result<Vec<Option<Position>>, ReadError>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(blocking(shared, move |shared, trees| {
            records.into_iter().map(|(stream, seq)| shared.position(trees, stream, seq)).collect()
        }))
    }

    fn after(&self, after: Position, limit: usize) -> Waiting<'_, Result<Vec<Stored>, ReadError>> {
        Box::pin(async move {
            let tip = *self.shared.tip.borrow();
            if after >= tip || limit == 0 {
                return Ok(Vec::new());
            }
            let recent = lock(&self.shared.recent).after(after, limit);
            let Some(groups) = recent else {
                let shared = Arc::clone(&self.shared);
                let from_disk =
                    move |_: &Shared, trees: &Trees| Shared::after(trees, after, tip, limit);
                return blocking(shared, from_disk).await;
            };
            let mut found = Vec::new();
            for (first, bytes) in groups {
                recent::collect(&mut found, first, &bytes, after, tip, limit)?;
            }
            Ok(found)
        })
    }

    fn tip(&self) -> watch::Receiver<Position> {
        self.shared.tip.subscribe()
    }

    fn notes(&self) -> Waiting<'_, Result<Vec<Note>, ReadError>> {
        let settled = self.shared.queue.settle();
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            if let Some(settled) = settled {
                let _ = settled.await;
            }
            blocking(shared, notes).await
        })
    }

    fn annotate(&self, stream: Stream, length: u64, note: Vec<u8>) {
        self.shared.queue.annotate(stream, length, note);
    }

    fn engine(&self) -> Engine {
        let settings = &self.settings;
        Engine {
            name: "sled",
            format: FORMAT,
            settings: vec![
                ("queue_appends_max", settings.queue_appends_max.to_string()),
                ("group_records_max", settings.group_records_max.to_string()),
                ("group_bytes_max", settings.group_bytes_max.to_string()),
                ("checkpoint_records", settings.checkpoint_records.to_string()),
                ("cache_bytes", settings.cache_bytes.to_string()),
                ("durability", format!("{:?}", settings.durability).to_lowercase()),
            ],
        }
    }

    fn trouble(&self) -> Option<String> {
        self.shared.trouble.get().cloned()
    }

    fn close(&self) -> Waiting<'_, ()> {
        // Takes no further appends from the call on, not only from the first poll.
        self.shared.queue.end(Ending::Close);
        let shared = Arc::clone(&self.shared);
        let folder = self.settings.folder.clone();
        Box::pin(async move {
            let work = move || end(&shared, &folder, Ending::Close);
            match Handle::try_current() {
                Ok(handle) => {
                    if let Err(error) = handle.spawn_blocking(work).await {
                        tracing::error!(%error, "closing the journal failed");
                    }
                }
                Err(_) => work(),
            }
        })
    }
}

impl Drop for SledJournal {
    /// Settles what was handed in and stops the threads, without a checkpoint.
    fn drop(&mut self) {
        end(&self.shared, &self.settings.folder, Ending::Drop);
    }
}

/// Memory over trees. A tree may be newer than what was copied from memory before; the longer stream is right.
fn notes(shared: &Shared, trees: &Trees) -> Result<Vec<Note>, ReadError> {
    let mut notes: BTreeMap<Stream, Note> = BTreeMap::new();
    let mut merge = |note: Note| {
        let known = notes.entry(note.stream).or_insert_with(|| note.clone());
        if note.length > known.length || (note.length == known.length && known.note.is_none()) {
            *known = note;
        }
    };
    for table in read(&shared.generations).each() {
        for (stream, tail) in &table.streams {
            merge(Note { stream: *stream, length: tail.length(), note: tail.note.clone() });
        }
    }
    for note in trees.notes() {
        merge(note?);
    }
    Ok(notes.into_values().collect())
}

#[cfg(test)]
mod tests;
