//! What readers see of a thread: an immutable picture, published after an event is durable. Cloning it shares
//! everything, so publishing costs the same for a thread of two messages and of a hundred thousand.

use std::sync::Arc;

use imbl::{HashSet, Vector};
use parley_journal::Position;
use parley_language::event::{Event, Fact, Mark, Message, Standing};
use parley_language::thread::Summary;
use parley_language::words::State;
use parley_language::{Author, MessageId, Time};

/// A thread at one moment, messages included.
#[derive(Debug, Clone)]
pub struct View {
    /// Its line in lists.
    pub summary: Arc<Summary>,
    /// Its messages, oldest first.
    pub said: Vector<Said>,
    /// Its state history, oldest first; the first entry is the opening.
    pub changes: Vector<Arc<Change>>,
    /// Messages that tokens may not react to.
    pub llm_forbidden: HashSet<MessageId>,
}

/// One message with what the server set.
#[derive(Debug, Clone)]
pub struct Said {
    /// The event that said it.
    event: Arc<Event>,
}

impl Said {
    /// The message of an event, if it has one.
    pub fn of(event: &Arc<Event>) -> Option<Self> {
        match &event.fact {
            Fact::Opened { .. } | Fact::Posted { .. } => Some(Self { event: Arc::clone(event) }),
            Fact::Marked { .. } | Fact::Pinned { .. } | Fact::LlmReply { .. } => None,
        }
    }

    /// The message.
    pub fn message(&self) -> &Arc<Message> {
        match &self.event.fact {
            Fact::Opened { message, .. } | Fact::Posted { message, .. } => message,
            Fact::Marked { .. } | Fact::Pinned { .. } | Fact::LlmReply { .. } => {
                unreachable!("Said is only made of events with a message")
            }
        }
    }

    /// Who said it.
    pub fn by(&self) -> &Author {
        &self.event.by
    }

    /// When.
    pub fn at(&self) -> Time {
        self.event.at
    }
}

/// One change of a thread's state (section 11, `event`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Where it stands in the journal.
    pub position: Position,
    /// The state before; absent for the opening.
    pub from: Option<State>,
    /// The standing after.
    pub to: Standing,
    /// The line that made the change.
    pub by: Arc<str>,
    /// The message that made it, if one did.
    pub message: Option<MessageId>,
    /// When.
    pub at: Time,
}

impl View {
    /// The picture after a log. `log` holds at least the opening.
    pub fn replay(
        summary: &Arc<Summary>,
        log: impl IntoIterator<Item = (Position, Arc<Event>)>,
    ) -> Self {
        let mut view = Self {
            summary: Arc::clone(summary),
            said: Vector::new(),
            changes: Vector::new(),
            llm_forbidden: HashSet::new(),
        };
        for (position, event) in log {
            view.tell(position, &event, summary);
        }
        view
    }

    /// Adds a durable event, and the thread's line after it.
    pub fn tell(&mut self, position: Position, event: &Arc<Event>, summary: &Arc<Summary>) {
        self.summary = Arc::clone(summary);
        if let Some(said) = Said::of(event) {
            self.said.push_back(said);
        }
        let change = match &event.fact {
            Fact::Opened { message, .. } => {
                let to = Standing::born(event);
                Some((None, to, Some(message.id)))
            }
            Fact::Posted { message, mark: Some(Mark { from, to, .. }), .. } => {
                Some((Some(*from), to.clone(), Some(message.id)))
            }
            Fact::Marked { mark: Mark { from, to, .. } } => Some((Some(*from), to.clone(), None)),
            Fact::LlmReply { allowed, message: Some(message) } => {
                if *allowed {
                    self.llm_forbidden.remove(message);
                } else {
                    self.llm_forbidden.insert(*message);
                }
                None
            }
            Fact::Posted { mark: None, .. }
            | Fact::Pinned { .. }
            | Fact::LlmReply { message: None, .. } => None,
        };
        if let Some((from, to, message)) = change {
            let change = Change {
                position,
                from,
                to,
                by: Arc::clone(&event.by.line),
                message,
                at: event.at,
            };
            self.changes.push_back(Arc::new(change));
        }
    }
}
