//! Posting: a message is said once, however often its author asks.
//!
//! An author's `client_ref` is reserved and looked up before anything is decided, because a retry would otherwise be
//! refused for what its first try has changed.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use parley_journal::Reference;
use parley_language::desk::Board;
use parley_language::envelope::Draft;
use parley_language::event::{ClientRef, Event};
use parley_language::reason::Details;
use parley_language::thread::{Act, Fresh, Thread};
use parley_language::{Author, Reason, Refusal, Speaker, ThreadId};
use sha2::{Digest, Sha256};
use tokio::sync::OwnedMutexGuard;

use super::answer::{no, unavailable, unknown};
use super::courier::reaches;
use super::opening::decode_log;
use super::{Posted, Registry, now};
use crate::record;
use crate::thread::Outcome;
use crate::view::Said;

impl Registry {
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
            self.statements_exist(target.thread(), &speaker, &draft).await?;
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
            self.statements_exist(target.thread(), &speaker, &draft).await?;
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
                self.note_use(&event.by);
                self.deliver_now(thread, &event).await;
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

    /// What the message does elsewhere is done when its author is answered. Where that fails the courier does it later:
    /// the message is said, and nothing else may be answered.
    async fn deliver_now(&self, thread: ThreadId, event: &Event) {
        let Some(said) = event.fact.said().filter(reaches) else { return };
        if let Err(refusal) = self.deliver(thread, &event.by, said).await {
            tracing::warn!(%thread, error = refusal.error, "an effect on another thread is late");
        }
    }

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

impl Target {
    /// The thread it goes to, if that exists.
    fn thread(self) -> Option<ThreadId> {
        match self {
            Self::Board(_) => None,
            Self::Thread(thread) => Some(thread),
        }
    }
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
