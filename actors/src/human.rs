//! The human's door (section 8): the hash of the password, open sessions, and the one-time link.
//!
//! One short stream, whose note is its whole state. Only hashes are kept, so whoever reads the disk cannot sign in.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use parley_journal::{Append, AppendError, Journal, Note, ReadError, Record, append_and_wait};
use parley_language::Time;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use crate::record;

/// How many sessions are open at a time. Beyond it the one that ends first is ended.
pub const SESSIONS_MAX: usize = 64;

/// SHA-256 of a secret.
pub type Hash = [u8; 32];

/// One fact of the door's history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum HumanEvent {
    /// The password was set. Every session and the link are over with that.
    PasswordSet {
        /// The new hash, with its parameters and salt.
        hash: Arc<str>,
        /// When.
        at: Time,
    },
    /// A one-time link was made; an older one is over.
    LinkMade {
        /// The hash of its secret.
        link: Hash,
        /// Until when it opens.
        expires_at: Time,
    },
    /// Somebody signed in.
    SessionOpened {
        /// The hash of the session's secret.
        session: Hash,
        /// Until when it is good.
        expires_at: Time,
        /// Whether the link opened it, which is used up with that.
        by_link: bool,
    },
    /// Somebody signed out.
    SessionEnded {
        /// The hash of the session's secret.
        session: Hash,
    },
}

/// How the door stands.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HumanState {
    password: Option<Arc<str>>,
    link: Option<(Hash, Time)>,
    sessions: BTreeMap<Hash, Time>,
}

impl HumanState {
    fn apply(&mut self, event: &HumanEvent) {
        match event {
            HumanEvent::PasswordSet { hash, .. } => {
                *self = Self { password: Some(Arc::clone(hash)), ..Self::default() };
            }
            HumanEvent::LinkMade { link, expires_at } => self.link = Some((*link, *expires_at)),
            HumanEvent::SessionOpened { session, expires_at, by_link } => {
                if *by_link {
                    self.link = None;
                }
                self.sessions.insert(*session, *expires_at);
                if self.sessions.len() > SESSIONS_MAX {
                    let first = self.sessions.iter().min_by_key(|(_, ends)| **ends);
                    first.map(|(first, _)| *first).map(|first| self.sessions.remove(&first));
                }
            }
            HumanEvent::SessionEnded { session } => {
                self.sessions.remove(session);
            }
        }
    }
}

/// The door.
#[derive(Default)]
pub struct Human {
    state: RwLock<Arc<HumanState>>,
    /// Who writes, and how many records there are.
    length: Mutex<u64>,
}

/// What a session is opened with.
#[derive(Debug, Clone, Copy)]
pub enum Proof {
    /// The password or the operator's key, which was compared already.
    Password,
    /// The link with this hash; it is compared and used up in one step.
    Link(Hash),
}

impl Human {
    /// Takes in the note of the stream at the start.
    pub(crate) async fn open(&self, journal: &dyn Journal, note: Note) -> Result<(), ReadError> {
        let state = note.note.as_deref().map(record::decode::<HumanState>);
        let state = match state {
            Some(Ok(state)) => state,
            Some(Err(_)) | None => read(journal).await?.0,
        };
        *self.length.lock().await = note.length;
        self.show(state);
        Ok(())
    }

    /// The hash of the password, if one was set.
    pub fn password(&self) -> Option<Arc<str>> {
        self.state().password.clone()
    }

    /// Until when a session is good; none if it is over or never was.
    pub fn session(&self, session: &Hash, now: Time) -> Option<Time> {
        self.state().sessions.get(session).copied().filter(|ends| now < *ends)
    }

    /// Opens a session. Says whether the proof opens the door.
    pub(crate) async fn sign_in(
        &self,
        journal: &dyn Journal,
        proof: Proof,
        session: Hash,
        now: Time,
        expires_at: Time,
    ) -> Result<bool, AppendError> {
        let mut length = self.length.lock().await;
        if let Proof::Link(given) = proof {
            let good = |(link, ends): &(Hash, Time)| *link == given && now < *ends;
            if !self.state().link.as_ref().is_some_and(good) {
                return Ok(false);
            }
        }
        let by_link = matches!(proof, Proof::Link(_));
        let event = HumanEvent::SessionOpened { session, expires_at, by_link };
        self.write(journal, &mut length, &event).await.map(|()| true)
    }

    /// Stores a fact, durable when it returns.
    pub(crate) async fn tell(
        &self,
        journal: &dyn Journal,
        event: &HumanEvent,
    ) -> Result<(), AppendError> {
        let mut length = self.length.lock().await;
        self.write(journal, &mut length, event).await
    }

    async fn write(
        &self,
        journal: &dyn Journal,
        length: &mut u64,
        event: &HumanEvent,
    ) -> Result<(), AppendError> {
        let mut state = HumanState::clone(&self.state());
        state.apply(event);
        let append = Append {
            stream: record::human_stream(),
            expected: *length,
            records: vec![Record { body: record::encode(event), ..Record::default() }],
            note: Some(record::encode(&state)),
        };
        match append_and_wait(journal, append).await {
            Ok(_) => {
                *length += 1;
                self.show(state);
                Ok(())
            }
            Err(error) => {
                // What is stored may differ from what is known: read it before the next one writes.
                if let Ok((state, stored)) = read(journal).await {
                    *length = stored;
                    self.show(state);
                }
                Err(error)
            }
        }
    }

    fn state(&self) -> Arc<HumanState> {
        Arc::clone(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn show(&self, state: HumanState) {
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(state);
    }
}

async fn read(journal: &dyn Journal) -> Result<(HumanState, u64), ReadError> {
    let mut state = HumanState::default();
    let log = journal.read(record::human_stream(), 0).await?;
    for stored in &log {
        let event: HumanEvent =
            record::decode(&stored.body).map_err(|error| ReadError(error.to_string()))?;
        state.apply(&event);
    }
    Ok((state, log.len() as u64))
}
