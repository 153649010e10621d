//! The feed: everything committed, in the order of the journal, told after every reader can see it.
//!
//! A thread publishes its picture by itself, so pictures of different threads may appear in another order than their
//! records stand in the journal. The feed goes through the journal in order and waits at each record until its thread,
//! or the desk, shows it. Its position is therefore a promise: whatever stands at or before it is in lists, inboxes and
//! views. That is what makes a position a cursor which skips nothing. Waiters, event streams and the search read here.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use dashmap::DashMap;
use parley_journal::{Journal, Position, ReadError, Stored, Stream};
use parley_language::ThreadId;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, timeout, timeout_at};

use crate::desk::Shelves;
use crate::directory::{Directory, Wanted};
use crate::record;

/// How many records the feed keeps for readers that follow it closely, and how many bytes of them at most.
const RECENT_RECORDS: usize = 8_192;
const RECENT_BYTES: usize = 16 << 20;
/// How many records are looked at in one go.
const STEP: usize = 512;
/// How long a thread may take to show what is durable before it is opened anew.
const PATIENCE: Duration = Duration::from_millis(250);

/// The feed.
pub struct Feed {
    journal: Arc<dyn Journal>,
    directory: Arc<Directory>,
    shelves: Arc<Shelves>,
    recent: RwLock<Recent>,
    position: watch::Sender<Position>,
    bells: Bells,
}

#[derive(Default)]
struct Recent {
    records: VecDeque<Stored>,
    bytes: usize,
}

/// What wakes those who wait.
struct Bells {
    lines: DashMap<Arc<str>, Arc<Notify>>,
    anyone: Notify,
    everyone: Notify,
    closed: watch::Sender<bool>,
}

impl Feed {
    pub(crate) fn new(
        journal: Arc<dyn Journal>,
        directory: Arc<Directory>,
        shelves: Arc<Shelves>,
    ) -> Self {
        let now = *journal.tip().borrow();
        Self {
            journal,
            directory,
            shelves,
            recent: RwLock::default(),
            position: watch::Sender::new(now),
            bells: Bells {
                lines: DashMap::new(),
                anyone: Notify::new(),
                everyone: Notify::new(),
                closed: watch::Sender::new(false),
            },
        }
    }

    /// Up to where everything is visible.
    pub fn position(&self) -> Position {
        *self.position.borrow()
    }

    /// Follows [`Feed::position`].
    pub fn follow(&self) -> watch::Receiver<Position> {
        self.position.subscribe()
    }

    /// The feed's position once it has come to where the journal is now: what was acknowledged before the call is
    /// visible after it.
    pub async fn caught_up(&self) -> Position {
        let now = *self.journal.tip().borrow();
        let mut position = self.position.subscribe();
        let come = position.wait_for(|position| *position >= now);
        match timeout(PATIENCE * 4, come).await {
            Ok(Ok(position)) => *position,
            Ok(Err(_)) | Err(_) => self.position(),
        }
    }

    /// At most `limit` records after a position, up to the feed's own.
    ///
    /// # Errors
    /// What the journal cannot read.
    pub async fn after(&self, after: Position, limit: usize) -> Result<Vec<Stored>, ReadError> {
        let upto = self.position();
        if let Some(found) = self.recent_after(after, limit) {
            return Ok(found);
        }
        let mut found = self.journal.after(after, limit).await?;
        found.retain(|stored| stored.position <= upto);
        Ok(found)
    }

    fn recent_after(&self, after: Position, limit: usize) -> Option<Vec<Stored>> {
        let recent = self.recent.read().unwrap_or_else(PoisonError::into_inner);
        let first = recent.records.front()?.position;
        if after + 1 < first {
            return None;
        }
        let skipped = usize::try_from(after + 1 - first).ok()?;
        Some(recent.records.iter().skip(skipped).take(limit).cloned().collect())
    }

    /// One step: takes what is new in the journal. `open` opens a thread, or the desk, that does not show what is
    /// durable.
    pub(crate) async fn step(&self, open: impl AsyncFn(Stream)) -> Result<(), ReadError> {
        let batch = self.journal.after(self.position(), STEP).await?;
        let Some(last) = batch.last().map(|stored| stored.position) else { return Ok(()) };
        for stored in &batch {
            let shown = async {
                match stored.stream.kind {
                    record::THREADS => {
                        let thread = ThreadId::new(stored.stream.number);
                        self.directory.holds(thread, stored.position).await;
                    }
                    record::DESK => self.shelves.shows(stored.seq).await,
                    _ => {}
                }
            };
            if timeout(PATIENCE, shown).await.is_err() {
                tracing::warn!(stream = ?stored.stream, position = stored.position, "it is late");
                open(stored.stream).await;
            }
        }
        let called: Vec<_> = batch
            .iter()
            .filter(|stored| stored.stream.kind == record::THREADS)
            .map(|stored| {
                self.directory.called_at(ThreadId::new(stored.stream.number), stored.position)
            })
            .collect();
        self.remember(batch);
        self.position.send_replace(last);
        for (lines, anyone) in called {
            self.bells.ring(&lines, anyone);
        }
        Ok(())
    }

    fn remember(&self, batch: Vec<Stored>) {
        let mut recent = self.recent.write().unwrap_or_else(PoisonError::into_inner);
        for stored in batch {
            recent.bytes += stored.body.len();
            recent.records.push_back(stored);
        }
        while recent.records.len() > RECENT_RECORDS || recent.bytes > RECENT_BYTES {
            let Some(oldest) = recent.records.pop_front() else { return };
            recent.bytes -= oldest.body.len();
        }
    }

    /// Waits until an inbox has something that is wanted; at most until `deadline`. Says whether it has.
    pub async fn wait(&self, wanted: &Wanted, deadline: Instant) -> bool {
        let bell = self.bells.bell(&wanted.author.line);
        // Who wants to see everything hears everything.
        let many = if wanted.all { &self.bells.everyone } else { &self.bells.anyone };
        loop {
            let own = bell.0.notified();
            let anyone = many.notified();
            tokio::pin!(own, anyone);
            own.as_mut().enable();
            anyone.as_mut().enable();
            if self.directory.has_new(wanted) {
                return true;
            }
            if *self.bells.closed.borrow() {
                return false;
            }
            let rung = async {
                tokio::select! {
                    () = own => {}
                    () = anyone => {}
                }
            };
            if timeout_at(deadline, rung).await.is_err() {
                return false;
            }
        }
    }

    /// Becomes true when the server goes down.
    pub fn closed(&self) -> watch::Receiver<bool> {
        self.bells.closed.subscribe()
    }

    /// Sends home all who wait, now and from now on: the server goes down.
    pub fn close(&self) {
        self.bells.closed.send_replace(true);
        self.bells.anyone.notify_waiters();
        self.bells.everyone.notify_waiters();
    }
}

/// A line's bell. With its last listener it is taken down.
struct Bell<'a>(Arc<Notify>, &'a Bells, Arc<str>);

impl Drop for Bell<'_> {
    fn drop(&mut self) {
        // This one and the map's own.
        self.1.lines.remove_if(&self.2, |_, bell| Arc::strong_count(bell) <= 2);
    }
}

impl Bells {
    fn bell(&self, line: &Arc<str>) -> Bell<'_> {
        let notify = Arc::clone(&*self.lines.entry(Arc::clone(line)).or_default());
        Bell(notify, self, Arc::clone(line))
    }

    fn ring(&self, lines: &[Arc<str>], anyone: bool) {
        for line in lines {
            if let Some(bell) = self.lines.get(line).map(|bell| Arc::clone(&bell)) {
                bell.notify_waiters();
            }
        }
        if anyone {
            self.anyone.notify_waiters();
        }
        if anyone || !lines.is_empty() {
            self.everyone.notify_waiters();
        }
    }
}
