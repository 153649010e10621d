//! The thread's state machine (section 4): [`Thread::decide`] says yes or no and changes nothing, [`Thread::apply`]
//! changes the state and cannot fail. Neither knows who called, neither has a clock.
//!
//! Precedence of refusals inside a thread (13.1): existence (`parent_not_found`, `claim_not_found`, `not_found`), then state and
//! authority in the order `thread_closed`, `llm_reply_forbidden`, `thread_authority_missing`, `state_invalid` or
//! `nothing_to_confirm`, then meaning: `self_reply`, `evidence_required`, `claim_superseded`, `conflict`, `forbidden`.

mod act;
mod attest;
mod decide;
mod owed;

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

pub use act::{Act, Fresh, SideState};
pub use attest::{current, illustrable};
pub use decide::Decision;

use crate::author::Author;
use crate::claim::Book;
use crate::event::{Event, Fact, Mark, Message, Standing};
use crate::id::{MessageId, ThreadId};
use crate::limits;
use crate::text::first_line;
use crate::time::Time;
use crate::words::{Kind, Origin};

/// What the state machine has to know of a message; bodies are for readers.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Said {
    id: MessageId,
    by: Author,
    /// Closed for AI by the human.
    llm_forbidden: bool,
    /// It has an address or an image.
    shows: bool,
}

/// An awaiting act that nobody else has answered (section 4, `open_acts`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenAct {
    /// The message.
    pub message: MessageId,
    /// What it does.
    pub kind: Kind,
    /// Who said it.
    pub by: Author,
    /// The first 120 code points of what it asks.
    pub asks: Arc<str>,
    /// The line whose turn it is; absent for anyone (13.4).
    pub due: Option<Arc<str>>,
    /// Which event of the thread made it open, counted from 0: its own, or a reopen or revert that brought it back.
    /// What an inbox calls new is measured by it (13.10).
    pub since: u64,
}

/// Everything a list shows of a thread (section 11, `thread`), without its messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Its id.
    pub id: ThreadId,
    /// The number of its board.
    pub board: u64,
    /// The kind of its opening message.
    pub kind: Kind,
    /// The first 80 code points of its opening body, on one line.
    pub title: Arc<str>,
    /// Where it stands.
    pub standing: Standing,
    /// Whether the last message expects a reply and somebody may still give one.
    pub awaiting: bool,
    /// What is owed, oldest first.
    pub open_acts: Vec<OpenAct>,
    /// Whether it is pinned.
    pub pinned: bool,
    /// Whether tokens may react to it.
    pub llm_reply: bool,
    /// The line that opened it.
    pub creator: Arc<str>,
    /// When it was opened.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
    /// How many messages it has.
    pub messages: u64,
    /// How many claims were asserted in it.
    pub claims: u64,
}

/// Whose turn it is (section 4, `due`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Due {
    /// Nobody's.
    Nobody,
    /// Anyone's but the asking author's.
    Anyone,
    /// This line's.
    Line(Arc<str>),
}

impl Summary {
    /// Whose turn the newest open act makes it. Never more than one.
    pub fn due(&self) -> Due {
        match self.open_acts.last() {
            None => Due::Nobody,
            Some(OpenAct { due: None, .. }) => Due::Anyone,
            Some(OpenAct { due: Some(line), .. }) => Due::Line(Arc::clone(line)),
        }
    }
}

/// A thread that was opened, as far as its rules need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    id: ThreadId,
    board: u64,
    kind: Kind,
    title: Arc<str>,
    creator: Arc<str>,
    created_at: Time,
    updated_at: Time,
    standing: Standing,
    /// The last confirmed standing, and the number of messages settled by a `decide` then.
    confirmed: (Standing, usize),
    said: Vec<Said>,
    last_awaits: bool,
    /// Awaiting acts that nobody else answered, with their place in `said`, whatever a `decide` settled since.
    unanswered: Vec<(usize, OpenAct)>,
    /// Awaiting acts that were answered since the last confirmed standing: a revert makes them owed again.
    answered: Vec<(usize, OpenAct)>,
    /// Acts at places below this were settled by the last `decide`.
    settled: usize,
    pinned: bool,
    llm_reply: bool,
    book: Book,
    /// How many events it rests on.
    events: u64,
}

impl Thread {
    /// The thread that an `Opened` fact begins.
    ///
    /// # Panics
    /// If the event is of another kind: a log begins with its opening, and the journal keeps order (J1).
    pub fn open(id: ThreadId, event: &Event) -> Self {
        let Some((board, message)) = event.fact.opening() else {
            panic!("the first record of {id} does not open it");
        };
        let standing = Standing::born(event);
        let mut thread = Self {
            id,
            board,
            kind: message.kind,
            title: first_line(&message.body, limits::TITLE).into(),
            creator: Arc::clone(&event.by.line),
            created_at: event.at,
            updated_at: event.at,
            confirmed: (standing.clone(), 0),
            standing,
            said: Vec::new(),
            last_awaits: false,
            unanswered: Vec::new(),
            answered: Vec::new(),
            settled: 0,
            pinned: false,
            llm_reply: true,
            book: Book::default(),
            events: 0,
        };
        thread.say(&event.by, message, None);
        thread.book.apply(event);
        thread.events = 1;
        thread
    }

    /// The replay of a log: nothing for an empty one.
    pub fn replay<'a>(id: ThreadId, log: impl IntoIterator<Item = &'a Event>) -> Option<Self> {
        let mut log = log.into_iter();
        let mut thread = Self::open(id, log.next()?);
        for event in log {
            thread.apply(event);
        }
        Some(thread)
    }

    /// Makes an event's fact so. Events come from [`Thread::decide`], directly or through a journal.
    pub fn apply(&mut self, event: &Event) {
        self.updated_at = event.at;
        match &event.fact {
            Fact::Opened { .. } | Fact::Refuted { board: Some(_), .. } => {
                unreachable!("a thread is opened once, by its first record")
            }
            Fact::Posted { .. } | Fact::Refuted { board: None, .. } => self.post_said(event),
            Fact::Marked { mark } => self.mark_alone(mark),
            Fact::Pinned { pinned } => self.pinned = *pinned,
            Fact::LlmReply { allowed, message: None } => self.llm_reply = *allowed,
            Fact::LlmReply { allowed, message: Some(message) } => {
                self.known(*message).llm_forbidden = !allowed;
            }
            Fact::Illustrated { message, .. } => self.known(*message).shows = true,
            Fact::Attested { .. } | Fact::Sealed { .. } | Fact::Reached { .. } => {}
        }
        self.book.apply(event);
        self.events += 1;
    }

    fn post_said(&mut self, event: &Event) {
        let said = event.fact.said().expect("a post says something");
        self.say(&event.by, said.message, said.answers);
        if let Some(mark) = said.mark {
            self.mark(mark);
        }
        if self.standing.confirmed_at.is_some() {
            self.confirmed.1 = self.settled;
            self.answered.clear();
        }
    }

    /// A mark without a message, which may bring debts back: they are new then (13.10).
    fn mark_alone(&mut self, mark: &Mark) {
        let open: Vec<MessageId> = self.open_acts().map(|act| act.message).collect();
        self.mark(mark);
        let (live, settled, since) = (self.standing.state.is_live(), self.settled, self.events);
        for (place, act) in &mut self.unanswered {
            let is_open = live && *place >= settled;
            if is_open && open.binary_search(&act.message).is_err() {
                act.since = since;
            }
        }
    }

    fn known(&mut self, message: MessageId) -> &mut Said {
        let place = self.place(message).expect("decide saw the message in this thread");
        &mut self.said[place]
    }

    fn mark(&mut self, mark: &Mark) {
        self.standing = mark.to.clone();
        if mark.reverted {
            // 13.3: revert brings the open acts back as they were: what was said since the last confirmed standing
            // neither settles nor answers anything any more. Acts that were asked since then stay.
            self.settled = self.confirmed.1;
            self.unanswered.append(&mut self.answered);
            self.unanswered.sort_unstable_by_key(|(place, _)| *place);
        }
        if self.standing.confirmed_at.is_some() {
            self.confirmed = (self.standing.clone(), self.settled);
            self.answered.clear();
        }
    }

    fn say(&mut self, by: &Author, message: &Message, answers: Option<MessageId>) {
        let place = self.said.len();
        if let Some(answers) = answers
            && message.kind != Kind::Note
            && let Ok(at) = self.unanswered.binary_search_by_key(&answers, |(_, owed)| owed.message)
            && self.unanswered[at].1.by != *by
        {
            // Section 4: any other author's act clears the debt, but a note never does.
            self.answered.push(self.unanswered.remove(at));
        }
        if message.kind == Kind::Decide {
            self.settled = place;
        }
        self.last_awaits = message.kind.awaits();
        if self.last_awaits {
            let open = self.owe(by, message);
            self.unanswered.push((place, open));
        }
        let (id, shows) = (message.id, message.url.is_some());
        self.said.push(Said { id, by: by.clone(), llm_forbidden: false, shows });
    }

    fn place(&self, message: MessageId) -> Option<usize> {
        // Ids are given in order within a thread, so they are sorted.
        self.said.binary_search_by_key(&message, |said| said.id).ok()
    }

    /// Its id.
    pub fn id(&self) -> ThreadId {
        self.id
    }

    /// Where it stands.
    pub fn standing(&self) -> &Standing {
        &self.standing
    }

    /// When it last changed: the floor for the time of its next event.
    pub fn updated_at(&self) -> Time {
        self.updated_at
    }

    /// How many events it rests on.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Its claims.
    pub fn book(&self) -> &Book {
        &self.book
    }

    /// How many messages it has.
    pub fn len(&self) -> usize {
        self.said.len()
    }

    /// Never: a thread begins with a message.
    pub fn is_empty(&self) -> bool {
        self.said.is_empty()
    }

    /// The ids of its messages, oldest first.
    pub fn messages(&self) -> impl Iterator<Item = MessageId> + '_ {
        self.said.iter().map(|said| said.id)
    }

    /// What a list shows of it.
    pub fn summary(&self) -> Summary {
        Summary {
            id: self.id,
            board: self.board,
            kind: self.kind,
            title: Arc::clone(&self.title),
            standing: self.standing.clone(),
            awaiting: self.last_awaits && self.standing.state.is_live(),
            open_acts: self.open_acts().cloned().collect(),
            pinned: self.pinned,
            llm_reply: self.llm_reply,
            creator: Arc::clone(&self.creator),
            created_at: self.created_at,
            updated_at: self.updated_at,
            messages: self.said.len() as u64,
            claims: self.book.len() as u64,
        }
    }
}

/// The origin of a mark or message as the wire calls an author's kind.
pub fn author_kind(origin: Origin) -> &'static str {
    match origin {
        Origin::User => "user",
        Origin::Llm => "llm",
    }
}

/// A text cut to what an inbox shows of it.
pub(crate) fn asks(body: &str) -> String {
    body.chars().take(limits::ASKS).collect()
}
