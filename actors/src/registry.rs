//! The registry: finds, starts, replaces and sends away thread actors, and is the only one who talks to them.
//!
//! Here time enters, once per act. Here queues are bounded: an act takes one of its thread's permits, and without one
//! the answer is `unavailable`, not a longer wait.

mod answer;
mod claims;
mod courier;
mod desk;
mod human;
mod images;
mod inbox;
mod opening;
mod bookmark;
mod posting;
mod reaching;
mod start;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use actix::Addr;
use dashmap::DashMap;
use parley_journal::{Journal, Reference};
use parley_language::thread::{Act, Summary};
use parley_language::{Refusal, Speaker, ThreadId, Time};
use tokio::sync::{Mutex, OnceCell, Semaphore, oneshot};

pub use self::bookmark::Bookmark;
pub use self::images::Picture;

use self::answer::{no, not_found, unavailable};
use self::opening::Log;
use crate::desk::{DeskActor, Shelves};
use crate::directory::Directory;
use crate::feed::Feed;
use crate::human::Human;
use crate::lines::Lines;
use crate::thread::{Ask, Ids, Outcome, Reply, Retire, Shelf, ThreadActor};
use crate::view::{Said, View};

/// How the registry keeps house.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Acts of one thread that may wait at a time.
    pub queue_per_thread_max: usize,
    /// How long an actor may be idle before it is sent away.
    pub idle_until_passivation: Duration,
    /// Actors awake at a time; beyond it the longest idle leave.
    pub active_max: usize,
    /// Access requests that may wait for a decision.
    pub token_requests_pending_max: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            queue_per_thread_max: 1_024,
            idle_until_passivation: Duration::from_secs(300),
            active_max: 100_000,
            token_requests_pending_max: 10_000,
        }
    }
}

/// A message that was said, as its author is told.
#[derive(Debug, Clone)]
pub struct Posted {
    /// The message with what the server set.
    pub said: Said,
    /// The thread after it.
    pub summary: Arc<Summary>,
    /// Whether this is the first answer again.
    pub replayed: bool,
}

/// The registry. Clones share everything.
#[derive(Clone)]
pub struct Registry(Arc<Inner>);

struct Inner {
    journal: Arc<dyn Journal>,
    directory: Arc<Directory>,
    shelves: Arc<Shelves>,
    desk: Addr<DeskActor>,
    ids: Arc<Ids>,
    lines: Lines,
    human: Human,
    feed: Feed,
    awake: DashMap<u64, Arc<OnceCell<Place>>>,
    references: DashMap<Reference, Arc<Mutex<()>>>,
    settings: Settings,
    born: Instant,
}

/// A thread actor that is awake.
struct Place {
    addr: Addr<ThreadActor>,
    shelf: Arc<Shelf>,
    permits: Arc<Semaphore>,
    /// Milliseconds after the registry's birth when it was last used.
    used: AtomicU64,
}

impl Registry {
    /// Every thread's line.
    pub fn directory(&self) -> &Directory {
        &self.0.directory
    }

    /// Boards and tokens.
    pub fn shelves(&self) -> &Shelves {
        &self.0.shelves
    }

    /// The journal below.
    pub fn journal(&self) -> &Arc<dyn Journal> {
        &self.0.journal
    }

    /// Everything committed, in order.
    pub fn feed(&self) -> &Feed {
        &self.0.feed
    }

    /// How many thread actors are awake.
    pub fn awake(&self) -> usize {
        self.0.awake.len()
    }

    /// An act that is no message.
    ///
    /// # Errors
    /// The language's refusals, `thread_not_found`, `unavailable`, `internal`.
    pub async fn act(
        &self,
        thread: ThreadId,
        speaker: Speaker,
        act: Act,
    ) -> Result<Arc<Summary>, Refusal> {
        self.known(thread)?;
        match self.ask(thread, speaker, act, None).await? {
            Outcome::Made { summary, .. } | Outcome::Unchanged { summary } => Ok(summary),
            other => Err(no(other)),
        }
    }

    /// The newest durable picture of a thread.
    ///
    /// # Errors
    /// `thread_not_found`, `unavailable` when the journal cannot be read.
    pub async fn view(&self, thread: ThreadId) -> Result<Arc<View>, Refusal> {
        self.known(thread)?;
        let shelf = self.with_place(thread, Log::Stored, |place| Arc::clone(&place.shelf)).await?;
        shelf.view.load_full().ok_or_else(|| not_found(thread))
    }

    /// A thread's line.
    ///
    /// # Errors
    /// `thread_not_found`.
    pub fn known(&self, thread: ThreadId) -> Result<Arc<Summary>, Refusal> {
        self.0.directory.line(thread).ok_or_else(|| not_found(thread))
    }

    /// Sends idle actors away, for ever. To be spawned once.
    pub fn keep_house(&self) -> impl Future<Output = ()> + use<> {
        let house = Arc::downgrade(&self.0);
        let every = (self.0.settings.idle_until_passivation / 4)
            .clamp(Duration::from_millis(50), Duration::from_secs(15));
        async move {
            loop {
                tokio::time::sleep(every).await;
                let Some(inner) = house.upgrade() else { return };
                Self(inner).passivate();
            }
        }
    }

    /// Sends away the actors that were idle for too long, and the longest idle of those that are too many.
    pub fn passivate(&self) {
        let inner = &*self.0;
        let now = inner.now_ms();
        let idle = inner.settings.idle_until_passivation.as_millis() as u64;
        let mut idlers: Vec<(u64, u64)> = inner
            .awake
            .iter()
            .filter_map(|entry| {
                entry.value().get().map(|place| (place.used.load(Ordering::Relaxed), *entry.key()))
            })
            .collect();
        let over = idlers.len().saturating_sub(inner.settings.active_max);
        if over > 0 && over < idlers.len() {
            idlers.select_nth_unstable(over);
        }
        for (nth, (used, thread)) in idlers.into_iter().enumerate() {
            if nth < over || now.saturating_sub(used) >= idle {
                self.send_away(thread);
            }
        }
    }

    fn send_away(&self, thread: u64) {
        let inner = &*self.0;
        // Under the entry's lock nobody can take a permit, so no act is on its way to an actor that leaves.
        let gone = inner.awake.remove_if(&thread, |_, cell| {
            cell.get().is_some_and(|place| {
                place.permits.available_permits() == inner.settings.queue_per_thread_max
            })
        });
        if let Some(place) = gone.as_ref().and_then(|(_, cell)| cell.get()) {
            // The mailbox is empty, so there is room; an actor that died has left already.
            drop(place.addr.try_send(Retire));
        }
    }

    /// Puts an act in a thread's queue and waits for what becomes of it.
    async fn ask(
        &self,
        thread: ThreadId,
        speaker: Speaker,
        act: Act,
        reference: Option<Reference>,
    ) -> Result<Outcome, Refusal> {
        let claims = match &act {
            Act::Open { draft, .. } | Act::Post { draft, .. } => draft.claims.len() as u64,
            Act::Close
            | Act::Reopen
            | Act::Settle(_)
            | Act::Pin(_)
            | Act::Confirm
            | Act::Revert
            | Act::LlmReply { .. }
            | Act::Attest { .. }
            | Act::Seal(_)
            | Act::Reach { .. }
            | Act::Illustrate { .. } => 0,
        };
        let log = if matches!(act, Act::Open { .. }) { Log::None } else { Log::Stored };
        let taken = self
            .with_place(thread, log, |place| {
                Arc::clone(&place.permits)
                    .try_acquire_owned()
                    .map(|permit| (place.addr.clone(), permit))
            })
            .await?;
        let Ok((addr, permit)) = taken else {
            return Ok(Outcome::Unavailable(format!("{thread} has too many acts waiting")));
        };
        let (sender, answer) = oneshot::channel();
        let ask =
            Ask { speaker, act, claims, at: now(), reference, reply: Reply { sender, permit } };
        if let Err(error) = addr.try_send(ask) {
            // Neither full nor closed mailboxes have taken the act.
            return Ok(Outcome::Unavailable(format!("{thread} takes no acts: {error}")));
        }
        let outcome =
            answer.await.unwrap_or_else(|_| Outcome::Unknown("the thread's actor died".into()));
        if matches!(outcome, Outcome::Unknown(_)) {
            // What is stored may differ from what readers see: open the thread anew before anybody asks.
            drop(self.with_place(thread, Log::Stored, |_| ()).await);
        }
        Ok(outcome)
    }

    /// Finds the thread's actor, or starts one, and does something short with it under the entry's lock.
    async fn with_place<T>(
        &self,
        thread: ThreadId,
        log: Log,
        look: impl Fn(&Place) -> T,
    ) -> Result<T, Refusal> {
        let inner = &*self.0;
        loop {
            let cell = match inner.awake.get(&thread.number) {
                Some(entry) => {
                    if let Some(place) = entry.get().filter(|place| place.is_well()) {
                        place.used.store(inner.now_ms(), Ordering::Relaxed);
                        return Ok(look(place));
                    }
                    Arc::clone(&entry)
                }
                None => Arc::default(),
            };
            if cell.get().is_some_and(|place| !place.is_well()) {
                // It panicked, or an append of it failed: forget it; the next one reads its log.
                inner.awake.remove_if(&thread.number, |_, other| Arc::ptr_eq(other, &cell));
                continue;
            }
            let cell = Arc::clone(&*inner.awake.entry(thread.number).or_insert(cell));
            let started = cell.get_or_try_init(|| inner.start(thread, log)).await;
            if let Err(error) = started {
                tracing::error!(%thread, %error, "a thread cannot be opened");
                inner.awake.remove_if(&thread.number, |_, other| Arc::ptr_eq(other, &cell));
                return Err(unavailable(&error.to_string()));
            }
        }
    }
}

/// The one place where the clock is read.
#[expect(clippy::disallowed_methods, reason = "time enters here, once per act")]
pub fn now() -> Time {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Time(since.as_millis() as u64)
}
