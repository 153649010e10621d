//! The start: everything that is known without reading history, and what history alone can tell.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use actix::Actor;
use dashmap::DashMap;
use parley_journal::{Journal, Note, Position, ReadError};
use parley_language::ThreadId;
use parley_language::thread::Summary;

use super::opening::open_seat;
use super::{Inner, Registry, Settings};
use crate::desk::{DeskActor, Shelves};
use crate::directory::Directory;
use crate::feed::Feed;
use crate::human::Human;
use crate::lines::Lines;
use crate::record;
use crate::thread::Ids;

impl Registry {
    /// Opens the house: reads the lines of all threads, what each line of authors has read, and the desk. Reads whole
    /// threads only where a line was not written down before the last end. Must run in an actix system.
    ///
    /// # Errors
    /// What the journal cannot read.
    pub async fn open(journal: Arc<dyn Journal>, settings: Settings) -> Result<Self, ReadError> {
        let shelves = Arc::new(Shelves::default());
        let desk = DeskActor::open(Arc::clone(&journal), Arc::clone(&shelves)).await?.start();
        let next = |series| AtomicU64::new(journal.highest(series));
        let ids = Ids {
            threads: next(record::THREAD_NUMBERS),
            messages: next(record::MESSAGE_NUMBERS),
            claims: next(record::CLAIM_NUMBERS),
            attestations: next(record::ATTESTATION_NUMBERS),
            images: next(record::IMAGE_NUMBERS),
        };
        let directory = Arc::new(Directory::default());
        let lines = Lines::default();
        let human = Human::default();
        let mut known = Vec::new();
        for note in journal.notes().await? {
            match note.stream.kind {
                record::THREADS => known.extend(thread(&*journal, &directory, note).await?),
                record::LINES => lines.open(&*journal, note).await?,
                record::HUMAN => human.open(&*journal, note).await?,
                _ => {}
            }
        }
        publish(&*journal, &directory, known).await?;
        let feed = Feed::new(Arc::clone(&journal), Arc::clone(&directory), Arc::clone(&shelves));
        Ok(Self(Arc::new(Inner {
            journal,
            directory,
            shelves,
            desk,
            ids: Arc::new(ids),
            lines,
            human,
            feed,
            awake: DashMap::new(),
            references: DashMap::new(),
            settings,
            born: Instant::now(),
        })))
    }
}

/// A thread's line from its note; one whose note is missing is read, and published at once.
async fn thread(
    journal: &dyn Journal,
    directory: &Directory,
    note: Note,
) -> Result<Option<Arc<Summary>>, ReadError> {
    if let Some(Ok(line)) = note.note.as_deref().map(record::decode::<Summary>) {
        return Ok(Some(Arc::new(line)));
    }
    let id = ThreadId::new(note.stream.number);
    let (seat, view, positions) = open_seat(journal, id).await?;
    if let (Some(view), Some(upto)) = (view, positions.last()) {
        journal.annotate(note.stream, seat.length(), record::encode(&*view.summary));
        let position = |seq| positions.get(usize::try_from(seq).ok()?).copied();
        directory.publish(&view.summary, *upto, position);
    }
    Ok(None)
}

/// Publishes lines from notes. What a note cannot tell is where in the journal its open acts became open.
async fn publish(
    journal: &dyn Journal,
    directory: &Directory,
    lines: Vec<Arc<Summary>>,
) -> Result<(), ReadError> {
    let mut opened: Vec<_> = lines
        .iter()
        .flat_map(|line| line.open_acts.iter().map(|act| (record::stream(line.id), act.since)))
        .collect();
    opened.dedup();
    let positions = journal.positions(opened.clone()).await?;
    let positions: HashMap<_, Option<Position>> = opened.into_iter().zip(positions).collect();
    for line in lines {
        let stream = record::stream(line.id);
        let position = |seq| positions.get(&(stream, seq)).copied().flatten();
        directory.publish(&line, 0, position);
    }
    Ok(())
}
