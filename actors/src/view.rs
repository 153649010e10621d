//! What readers see of a thread: an immutable picture, published after an event is durable. Cloning it shares
//! everything, so publishing costs the same for a thread of two messages and of a hundred thousand.

use std::sync::Arc;

use imbl::{HashMap, HashSet, Vector};
use parley_journal::Position;
use parley_language::claim::Book;
use parley_language::event::{Event, Fact, Image, Mark, Message, Standing};
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
    /// Its claims.
    pub book: Arc<Book>,
    /// The images of its messages.
    pub images: HashMap<MessageId, Image>,
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
        event.fact.said().map(|_| Self { event: Arc::clone(event) })
    }

    /// The message.
    pub fn message(&self) -> &Arc<Message> {
        self.event.fact.said().expect("Said is only made of events with a message").message
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
            book: Arc::default(),
            images: HashMap::new(),
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
        if Book::concerns(&event.fact) {
            Arc::make_mut(&mut self.book).apply(event);
        }
        match &event.fact {
            Fact::LlmReply { allowed: true, message: Some(message) } => {
                self.llm_forbidden.remove(message);
            }
            Fact::LlmReply { allowed: false, message: Some(message) } => {
                self.llm_forbidden.insert(*message);
            }
            Fact::Illustrated { message, image } => {
                self.images.insert(*message, image.clone());
            }
            _ => {}
        }
        let message = event.fact.said().map(|said| said.message.id);
        let change = match event.fact.mark() {
            Some(Mark { from, to, .. }) => Some((Some(*from), to.clone(), message)),
            None if event.fact.opening().is_some() => Some((None, Standing::born(event), message)),
            None => None,
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
