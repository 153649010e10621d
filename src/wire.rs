//! The objects of section 11 as they go out. Field names are exact: they may grow, never be renamed.

mod claim;
mod desk;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use parley_actors::directory::Counters;
use parley_actors::view::{Change, Said, View};
use parley_language::desk::Board;
use parley_language::envelope::Evidence;
use parley_language::id::Statement;
use parley_language::thread::{Due, Summary};
use parley_language::words::{Kind, Origin, State};
use parley_language::{ClaimId, ImageId, MessageId, ThreadId, Time};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::forum::Forum;

pub use claim::{AttestationObject, ClaimObject};
pub use desk::{ExtensionObject, FeatureObject, RequestObject, TokenObject};

/// A page of a list.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Page<T> {
    /// What is on this page.
    pub items: Vec<T>,
    /// Where to go on; null on the last page.
    pub next_cursor: Option<String>,
}

/// Declares that an object goes out as another type shows it.
fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    T::json_schema(generator)
}

/// A thread.
#[derive(Debug, Clone)]
pub struct ThreadObject {
    summary: Arc<Summary>,
    board: Arc<Board>,
}

impl ThreadObject {
    /// A thread's line with its board.
    pub fn new(forum: &Forum, summary: Arc<Summary>) -> Self {
        let board = forum
            .registry()
            .shelves()
            .board(&parley_language::BoardId::Number(summary.board))
            .expect("a thread is opened on a board that exists, and boards stay");
        Self { summary, board }
    }
}

#[derive(Serialize, JsonSchema)]
struct ThreadWire<'a> {
    /// Its id.
    id: ThreadId,
    /// The board it is on.
    board: BoardName<'a>,
    /// The kind of its opening message.
    kind: Kind,
    /// The first 80 code points of the opening body, on one line.
    title: &'a str,
    /// Where it stands.
    state: State,
    /// Whether a human or a model set the state.
    state_origin: Origin,
    /// When the state was confirmed; null for a proposal.
    state_confirmed_at: Option<Time>,
    /// The line that set, or confirmed, the state.
    state_by: &'a str,
    /// Whether nothing may be said until it is reopened.
    locked: bool,
    /// Whether the last message expects a reply.
    awaiting: bool,
    /// Whose turn it is: a line, `anyone`, or null.
    due: Option<Cow<'a, str>>,
    /// What is owed, oldest first.
    open_acts: Vec<MessageId>,
    /// Whether it is pinned.
    pinned: bool,
    /// Whether tokens may react to it.
    llm_reply: bool,
    /// The line that opened it.
    creator: &'a str,
    /// When it was opened.
    created_at: Time,
    /// When it last changed.
    updated_at: Time,
    /// How many messages it has.
    messages: u64,
    /// How many claims were asserted in it.
    claims: u64,
}

#[derive(Serialize, JsonSchema)]
struct BoardName<'a> {
    /// Its number.
    id: u64,
    /// Its slug.
    slug: &'a str,
}

/// The line that is due, as the wire names it.
pub fn due(summary: &Summary) -> Option<Cow<'_, str>> {
    match summary.due() {
        Due::Nobody => None,
        Due::Anyone => Some(Cow::Borrowed("anyone")),
        Due::Line(line) => Some(Cow::Owned(line.to_string())),
    }
}

impl Serialize for ThreadObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let line = &*self.summary;
        ThreadWire {
            id: line.id,
            board: BoardName { id: self.board.number, slug: &self.board.slug },
            kind: line.kind,
            title: &line.title,
            state: line.standing.state,
            state_origin: line.standing.origin,
            state_confirmed_at: line.standing.confirmed_at,
            state_by: &line.standing.by,
            locked: line.standing.locked,
            awaiting: line.awaiting,
            due: due(line),
            open_acts: line.open_acts.iter().map(|open| open.message).collect(),
            pinned: line.pinned,
            llm_reply: line.llm_reply,
            creator: &line.creator,
            created_at: line.created_at,
            updated_at: line.updated_at,
            messages: line.messages,
            claims: line.claims,
        }
        .serialize(serializer)
    }
}

impl JsonSchema for ThreadObject {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Thread".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        schema_of::<ThreadWire<'static>>(generator)
    }
}

/// A message, with the replies to it where a tree is asked for.
#[derive(Debug, Clone)]
pub struct MessageObject {
    thread: ThreadId,
    said: Said,
    image: Option<ImageId>,
    replies: Option<Vec<MessageObject>>,
}

impl MessageObject {
    /// A message alone.
    pub fn alone(thread: ThreadId, said: Said) -> Self {
        Self { thread, said, image: None, replies: None }
    }

    /// A message as it stands in a thread's picture.
    pub fn of(view: &View, said: Said) -> Self {
        let image = view.images.get(&said.message().id).map(|image| image.id);
        Self { thread: view.summary.id, said, image, replies: None }
    }

    /// Messages as a tree: a message stands under its `parent` where that is among them, else at the root.
    pub fn tree(view: &View, said: Vec<Said>) -> Vec<Self> {
        let place: BTreeMap<MessageId, usize> =
            said.iter().enumerate().map(|(at, said)| (said.message().id, at)).collect();
        let mut roots = Vec::new();
        let mut replies: Vec<Vec<Self>> = said.iter().map(|_| Vec::new()).collect();
        // Parents are older than their replies, so going backward every reply is whole before it is handed up.
        for (at, said) in said.into_iter().enumerate().rev() {
            let parent = said.message().parent.and_then(|parent| place.get(&parent).copied());
            let mut own = std::mem::take(&mut replies[at]);
            own.reverse();
            let message = Self { replies: Some(own), ..Self::of(view, said) };
            match parent {
                Some(parent) => replies[parent].push(message),
                None => roots.push(message),
            }
        }
        roots.reverse();
        roots
    }
}

#[derive(Serialize, JsonSchema)]
struct MessageWire<'a> {
    /// Its id.
    id: MessageId,
    /// Its thread.
    thread: ThreadId,
    /// The message it names as answered.
    parent: Option<MessageId>,
    /// What it does.
    kind: Kind,
    /// What it says.
    body: &'a str,
    /// Who said it.
    from: FromWire<'a>,
    /// Whether a human or a model said it.
    author_kind: Origin,
    /// When.
    created_at: Time,
    /// Statements it refers to.
    relates_to: &'a [Statement],
    /// Where it comes from.
    provenance: &'a BTreeMap<String, String>,
    /// The claims it asserts.
    claims: Vec<ClaimId>,
    /// What it refutes.
    refutes: &'a [String],
    /// What supports it.
    evidence: &'a [Evidence],
    /// An address.
    url: Option<&'a str>,
    /// An uploaded image.
    image: Option<ImageId>,
    /// The messages under it, in a tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<serde_json::Map<String, Value>>>")]
    replies: Option<&'a [MessageObject]>,
}

#[derive(Serialize, JsonSchema)]
struct FromWire<'a> {
    /// The line.
    identity: &'a str,
    /// The sub-line.
    extension: Option<&'a str>,
}

impl Serialize for MessageObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let message = self.said.message();
        let by = self.said.by();
        MessageWire {
            id: message.id,
            thread: self.thread,
            parent: message.parent,
            kind: message.kind,
            body: &message.body,
            from: FromWire { identity: &by.line, extension: by.extension.as_deref() },
            author_kind: by.origin,
            created_at: self.said.at(),
            relates_to: &message.relates_to,
            provenance: &message.provenance,
            claims: message.claims.iter().map(|claim| claim.id).collect(),
            refutes: &message.refutes,
            evidence: &message.evidence,
            url: message.url.as_deref(),
            image: self.image,
            replies: self.replies.as_deref(),
        }
        .serialize(serializer)
    }
}

impl JsonSchema for MessageObject {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Message".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        schema_of::<MessageWire<'static>>(generator)
    }
}

/// One change of a thread's state.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EventObject {
    /// Where it stands in the journal; opaque.
    pub position: String,
    /// The thread.
    pub thread: ThreadId,
    /// The state before; null for the opening.
    pub from: Option<State>,
    /// The state after.
    pub to: State,
    /// Whether a human or a model set it.
    pub origin: Origin,
    /// The line that made the change.
    pub by: String,
    /// When the state was confirmed; null for a proposal.
    pub confirmed_at: Option<Time>,
    /// The message that made the change; null if none did.
    pub message: Option<MessageId>,
    /// When.
    pub at: Time,
}

impl EventObject {
    /// A change of this thread.
    pub fn new(thread: ThreadId, change: &Change) -> Self {
        Self {
            position: crate::cursor::position(change.position),
            thread,
            from: change.from,
            to: change.to.state,
            origin: change.to.origin,
            by: change.by.to_string(),
            confirmed_at: change.to.confirmed_at,
            message: change.message,
            at: change.at,
        }
    }
}

/// A board with its counters.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BoardObject {
    /// Its number.
    pub id: u64,
    /// Its slug.
    pub slug: String,
    /// Its title.
    pub title: String,
    /// What it is for.
    pub description: String,
    /// Threads on it.
    pub threads: u64,
    /// Threads in state `open`.
    pub open: u64,
    /// Threads that await a reply.
    pub awaiting: u64,
    /// Messages in its threads.
    pub messages: u64,
    /// The newest change on it.
    pub updated_at: Time,
}

impl BoardObject {
    /// A board with these counters.
    pub fn new(board: &Board, counters: Counters) -> Self {
        Self {
            id: board.number,
            slug: board.slug.to_string(),
            title: board.title.to_string(),
            description: board.description.to_string(),
            threads: counters.threads,
            open: counters.open,
            awaiting: counters.awaiting,
            messages: counters.messages,
            updated_at: counters.updated_at.unwrap_or(board.created_at).max(board.created_at),
        }
    }
}
