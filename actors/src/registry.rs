//! The registry: finds, starts, replaces and sends away thread actors, and is the only one who talks to them.
//!
//! Here time enters, once per act. Here queues are bounded: an act takes one of its thread's permits, and without one
//! the answer is `unavailable`, not a longer wait. Here an author's `client_ref` is looked up before anything is
//! decided, because a retry would otherwise be refused for what its first try has changed.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use actix::{Actor, Addr};
use dashmap::DashMap;
use parley_journal::{Journal, Numbered, Position, ReadError, Reference, Stored};
use parley_language::desk::{Board, DeskAct, DeskEvent, Token};
use parley_language::envelope::Draft;
use parley_language::event::{ClientRef, Event, Fact};
use parley_language::id::Statement;
use parley_language::reason::Details;
use parley_language::thread::{Act, Fresh, Summary, Thread};
use parley_language::{Author, Reason, Refusal, Speaker, ThreadId, Time};
use sha2::{Digest, Sha256};
use tokio::sync::{Mutex, OnceCell, OwnedMutexGuard, Semaphore, oneshot};

use crate::desk::{AskDesk, DeskActor, No, Shelves};
use crate::directory::Directory;
use crate::record;
use crate::seat::Seat;
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
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            queue_per_thread_max: 1_024,
            idle_until_passivation: Duration::from_secs(300),
            active_max: 100_000,
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
    /// Opens the house: reads the lines of all threads and the desk. Reads whole threads only where a line was not
    /// written down before the last end. Must run in an actix system.
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
        };
        let directory = Arc::new(Directory::default());
        for note in journal.notes().await? {
            if note.stream.kind != record::THREADS {
                continue;
            }
            let line = note.note.as_deref().map(record::decode::<Summary>);
            match line {
                Some(Ok(line)) => directory.publish(&Arc::new(line)),
                Some(Err(_)) | None => {
                    let id = ThreadId::new(note.stream.number);
                    let (seat, view) = open_seat(&*journal, id).await?;
                    if let Some(view) = view {
                        journal.annotate(
                            note.stream,
                            seat.length(),
                            record::encode(&*view.summary),
                        );
                        directory.publish(&view.summary);
                    }
                }
            }
        }
        Ok(Self(Arc::new(Inner {
            journal,
            directory,
            shelves,
            desk,
            ids: Arc::new(ids),
            awake: DashMap::new(),
            references: DashMap::new(),
            settings,
            born: Instant::now(),
        })))
    }

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

    /// How many thread actors are awake.
    pub fn awake(&self) -> usize {
        self.0.awake.len()
    }

    /// A new thread on a board.
    ///
    /// # Errors
    /// The language's refusals, `not_found` for a statement it relates to, `unavailable`, `internal`.
    pub async fn open_thread(
        &self,
        board: &Board,
        speaker: Speaker,
        draft: Draft,
        client_ref: Option<String>,
    ) -> Result<Posted, Refusal> {
        self.post_to(Target::Board(board.number), speaker, draft, client_ref).await
    }

    /// A message in a thread.
    ///
    /// # Errors
    /// As [`Registry::open_thread`], and `thread_not_found`.
    pub async fn post(
        &self,
        thread: ThreadId,
        speaker: Speaker,
        draft: Draft,
        client_ref: Option<String>,
    ) -> Result<Posted, Refusal> {
        self.known(thread)?;
        self.post_to(Target::Thread(thread), speaker, draft, client_ref).await
    }

    async fn post_to(
        &self,
        target: Target,
        speaker: Speaker,
        draft: Draft,
        client_ref: Option<String>,
    ) -> Result<Posted, Refusal> {
        let Some(text) = client_ref else {
            self.statements_exist(&draft).await?;
            return self.say(target, speaker, draft, None).await;
        };
        // In a task of its own: a caller that hangs up and asks again waits behind its first try, whatever became of
        // that, because the reservation ends with the act and not with the caller.
        let registry = self.clone();
        let task =
            actix::spawn(async move { registry.post_once(target, speaker, draft, text).await });
        task.await.unwrap_or_else(|error| Err(unknown(&error.to_string())))
    }

    /// A message with its author's own key: the first answer again, if there is one.
    async fn post_once(
        &self,
        target: Target,
        speaker: Speaker,
        draft: Draft,
        text: String,
    ) -> Result<Posted, Refusal> {
        let reference = reference_of(&speaker.author, &text);
        let digest = digest_of(&draft, target);
        let _reservation = self.reserve(reference).await;
        let found = self
            .0
            .journal
            .find(reference)
            .await
            .map_err(|error| unavailable(&error.to_string()))?;
        let Some((stream, seq)) = found else {
            self.statements_exist(&draft).await?;
            return self
                .say(target, speaker, draft, Some((ClientRef { text, digest }, reference)))
                .await;
        };
        let posted = self.replay(ThreadId::new(stream.number), seq).await?;
        let first = posted.said.message();
        if first.client_ref.as_ref().is_some_and(|first| first.digest == digest) {
            return Ok(posted);
        }
        let id = first.id;
        let error = format!("`client_ref` was used for {id} with another envelope; use a new one");
        let details = Details {
            field: Some("client_ref".into()),
            existing: Some(id.to_string()),
            ..Details::default()
        };
        Err(Refusal::new(Reason::Conflict, error).with(details))
    }

    async fn say(
        &self,
        target: Target,
        speaker: Speaker,
        draft: Draft,
        key: Option<(ClientRef, Reference)>,
    ) -> Result<Posted, Refusal> {
        let (client_ref, reference) = key.unzip();
        let (thread, act) = match target {
            Target::Thread(thread) => (thread, Act::Post { draft, client_ref }),
            Target::Board(board) => {
                let act = Act::Open { board, draft, client_ref };
                // Decided once before a number is drawn, so that refused openings leave no gap.
                Thread::decide(None, &speaker, act.clone(), now(), Fresh::default())?;
                (ThreadId::new(self.0.ids.threads.fetch_add(1, Ordering::Relaxed) + 1), act)
            }
        };
        match self.ask(thread, speaker, act, reference).await? {
            Outcome::Made { event, summary } => {
                let said = Said::of(&event).expect("posting makes a message");
                Ok(Posted { said, summary, replayed: false })
            }
            // The reservation makes this rare: only when an actor died with the first try in flight.
            Outcome::Duplicate { stream, seq } => {
                self.replay(ThreadId::new(stream.number), seq).await
            }
            other => Err(no(other)),
        }
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

    /// Makes a board.
    ///
    /// # Errors
    /// The desk's refusals, `unavailable`, `internal`.
    pub async fn make_board(
        &self,
        slug: Option<String>,
        title: String,
        description: String,
    ) -> Result<Board, Refusal> {
        match self.ask_desk(DeskAct::MakeBoard { slug, title, description }).await? {
            DeskEvent::BoardMade(board) => Ok(board),
            DeskEvent::TokenIssued(_) => unreachable!("the desk answers what it was asked"),
        }
    }

    /// Issues a token of which only the hash is kept.
    ///
    /// # Errors
    /// `unavailable`, `internal`.
    pub async fn issue_token(
        &self,
        realm: String,
        label: String,
        rights: parley_language::Rights,
        secret_hash: [u8; 32],
    ) -> Result<Token, Refusal> {
        match self.ask_desk(DeskAct::IssueToken { realm, label, rights, secret_hash }).await? {
            DeskEvent::TokenIssued(token) => Ok(token),
            DeskEvent::BoardMade(_) => unreachable!("the desk answers what it was asked"),
        }
    }

    async fn ask_desk(&self, act: DeskAct) -> Result<DeskEvent, Refusal> {
        match self.0.desk.send(AskDesk { act, at: now() }).await {
            Ok(Ok(event)) => Ok(event),
            Ok(Err(No::Refused(refusal))) => Err(refusal),
            Ok(Err(No::Unavailable(why))) => Err(unavailable(&why)),
            Ok(Err(No::Unknown(why))) => Err(unknown(&why)),
            Err(mailbox) => Err(unknown(&mailbox.to_string())),
        }
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
            | Act::LlmReply { .. } => 0,
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

    // The reference of an act: reserved, replayed.

    async fn reserve(&self, reference: Reference) -> Reservation {
        let lock = Arc::clone(&*self.0.references.entry(reference).or_default());
        let guard = lock.lock_owned().await;
        Reservation { guard: Some(guard), reference, registry: self.clone() }
    }

    /// The first answer to a record, made again from the log up to it.
    async fn replay(&self, thread: ThreadId, seq: u64) -> Result<Posted, Refusal> {
        let log = self
            .0
            .journal
            .read(record::stream(thread), 0)
            .await
            .map_err(|error| unavailable(&error.to_string()))?;
        let upto = log.partition_point(|stored| stored.seq <= seq);
        let (_, events) =
            decode_log(&log[..upto]).map_err(|error| unavailable(&error.to_string()))?;
        let state = Thread::replay(thread, &events)
            .ok_or_else(|| unknown("a reference names an empty thread"))?;
        let event =
            events.last().map(|event| Arc::new(event.clone())).expect("the thread has a record");
        let said = Said::of(&event)
            .ok_or_else(|| unknown("a reference names a record without a message"))?;
        Ok(Posted { said, summary: Arc::new(state.summary()), replayed: true })
    }

    /// Whether everything the draft relates to exists. Existence never ends, so it may be asked before the decision.
    async fn statements_exist(&self, draft: &Draft) -> Result<(), Refusal> {
        for (at, statement) in draft.relates_to.iter().enumerate() {
            let numbered = |series, number| self.0.journal.locate(Numbered { series, number });
            let found = match statement {
                Statement::Thread(id) => Ok(self.0.directory.line(*id).map(|line| line.id.number)),
                Statement::Message(id) => numbered(record::MESSAGE_NUMBERS, id.number).await,
                Statement::Claim(id) => numbered(record::CLAIM_NUMBERS, id.number).await,
            };
            if found.map_err(|error| unavailable(&error.to_string()))?.is_none() {
                let error =
                    format!("{statement} does not exist; name statements that do, or leave it out");
                let details =
                    Details { field: Some(format!("relates_to[{at}]")), ..Details::default() };
                return Err(Refusal::new(Reason::NotFound, error).with(details));
            }
        }
        Ok(())
    }
}

impl Inner {
    fn now_ms(&self) -> u64 {
        self.born.elapsed().as_millis() as u64
    }

    async fn start(&self, thread: ThreadId, log: Log) -> Result<Place, ReadError> {
        // Behind all appends in flight for this thread (J5): a replacement cannot overtake its predecessor.
        let (seat, view) = match log {
            Log::Stored => open_seat(&*self.journal, thread).await?,
            Log::None => (Seat::open(thread, &[]), None),
        };
        if let Some(view) = &view {
            self.directory.publish(&view.summary);
        }
        let queue = self.settings.queue_per_thread_max;
        let (actor, shelf) = ThreadActor::new(
            seat,
            view,
            thread,
            Arc::clone(&self.journal),
            Arc::clone(&self.directory),
            Arc::clone(&self.ids),
            queue,
        );
        let used = AtomicU64::new(self.now_ms());
        Ok(Place { addr: actor.start(), shelf, permits: Arc::new(Semaphore::new(queue)), used })
    }
}

/// Whether a thread has a log to be read. A number that was just drawn has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Log {
    None,
    Stored,
}

impl Place {
    fn is_well(&self) -> bool {
        self.addr.connected() && !self.shelf.failed.load(Ordering::Acquire)
    }
}

/// A reserved reference. Others with the same one wait until this act's outcome is known.
struct Reservation {
    guard: Option<OwnedMutexGuard<()>>,
    reference: Reference,
    registry: Registry,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        drop(self.guard.take());
        // The map's own handle is the last one when nobody waits.
        self.registry
            .0
            .references
            .remove_if(&self.reference, |_, lock| Arc::strong_count(lock) == 1);
    }
}

/// Where a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    /// To a new thread on a board.
    Board(u64),
    /// To a thread.
    Thread(ThreadId),
}

async fn open_seat(
    journal: &dyn Journal,
    thread: ThreadId,
) -> Result<(Seat<Reply>, Option<View>), ReadError> {
    const INLINE_MAX: usize = 64;
    let log = journal.read(record::stream(thread), 0).await?;
    let is_short = log.len() <= INLINE_MAX;
    let replay = move || -> Result<(Seat<Reply>, Option<View>), ReadError> {
        let (positions, events) = decode_log(&log)?;
        let seat = Seat::open(thread, &events);
        let view = seat.thread().map(|state| {
            let log = positions.into_iter().zip(events.into_iter().map(Arc::new));
            View::replay(&Arc::new(state.summary()), log)
        });
        Ok((seat, view))
    };
    if is_short {
        return replay();
    }
    // A long log is replayed beside the arbiter's thread, which serves the thread's neighbours.
    tokio::task::spawn_blocking(replay)
        .await
        .map_err(|error| ReadError(format!("a log cannot be replayed: {error}")))?
}

fn decode_log(log: &[Stored]) -> Result<(Vec<Position>, Vec<Event>), ReadError> {
    let mut events = Vec::with_capacity(log.len());
    let mut positions = Vec::with_capacity(log.len());
    for (expected, stored) in log.iter().enumerate() {
        if stored.seq != expected as u64 {
            return Err(ReadError(format!("{:?} lacks record {expected}", stored.stream)));
        }
        let event: Event = record::decode(&stored.body)
            .map_err(|error| ReadError(format!("{:?}: {error}", stored.stream)))?;
        if (expected == 0) != matches!(event.fact, Fact::Opened { .. }) {
            return Err(ReadError(format!("{:?} does not begin with its opening", stored.stream)));
        }
        events.push(event);
        positions.push(stored.position);
    }
    Ok((positions, events))
}

fn reference_of(author: &Author, text: &str) -> Reference {
    let mut hash = Sha256::new();
    // NUL is refused in every text, so the parts cannot run into each other.
    for part in [&*author.line, author.extension.as_deref().unwrap_or("\u{1}"), text] {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    first_half(hash)
}

/// Envelopes are the same when their parsed values and target are (13.8).
fn digest_of(draft: &Draft, target: Target) -> [u8; 16] {
    let target = match target {
        Target::Board(number) => (record::DESK, number),
        Target::Thread(thread) => (record::THREADS, thread.number),
    };
    let mut bytes = Vec::with_capacity(512);
    record::encode_into(&target, &mut bytes);
    record::encode_into(draft, &mut bytes);
    first_half(Sha256::new_with_prefix(&bytes))
}

fn first_half(hash: Sha256) -> [u8; 16] {
    let hash: [u8; 32] = hash.finalize().into();
    std::array::from_fn(|at| hash[at])
}

/// The one place where the clock is read.
#[expect(clippy::disallowed_methods, reason = "time enters here, once per act")]
pub fn now() -> Time {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Time(since.as_millis() as u64)
}

fn not_found(thread: ThreadId) -> Refusal {
    Refusal::new(
        Reason::ThreadNotFound,
        format!("there is no {thread}; list threads with get_threads"),
    )
    .then("get_threads", vec![])
}

fn no(outcome: Outcome) -> Refusal {
    match outcome {
        Outcome::Refused(refusal) => refusal,
        Outcome::Unavailable(why) => unavailable(&why),
        Outcome::Unknown(why) => unknown(&why),
        Outcome::Made { .. } | Outcome::Unchanged { .. } | Outcome::Duplicate { .. } => {
            unknown("an answer to another question")
        }
    }
}

/// `unavailable` promises that nothing was stored.
fn unavailable(why: &str) -> Refusal {
    Refusal::new(
        Reason::Unavailable,
        format!("{why}; nothing was stored, repeat the call a little later"),
    )
    .with(Details {
        outcome: Some("not_stored"),
        retry_after_seconds: Some(1),
        ..Details::default()
    })
}

/// The outcome is unknown: `internal`, with the id under which the log has it.
fn unknown(why: &str) -> Refusal {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let log_id = format!("f{:x}-{}", now().0, COUNT.fetch_add(1, Ordering::Relaxed));
    tracing::error!(log_id, why, "the outcome of a write is unknown");
    Refusal::new(Reason::Internal, "the outcome of this write is unknown; repeat it with the same client_ref, or read the thread")
        .with(Details { outcome: Some("unknown"), log_id: Some(log_id), ..Details::default() })
}
