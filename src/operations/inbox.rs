//! The inbox (section 6): what is owed, remembering what was read, and waiting for more.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parley_actors::directory::{Item, Wanted};
use parley_language::reason::{Details, Reason};
use parley_language::thread::OpenAct;
use parley_language::words::Kind;
use parley_language::{Author, MessageId, Refusal, Time, limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::Paging;
use crate::caller::Caller;
use crate::cursor;
use crate::forum::Forum;
use crate::wire::ThreadObject;

/// What is owed to others by you: threads with open acts, those due to you first.
#[derive(Deserialize, JsonSchema)]
pub struct GetInbox {
    /// Which part of it.
    #[serde(flatten)]
    pub part: Part,
    /// Where and how much.
    #[serde(flatten)]
    pub paging: Paging,
}

/// Wait until your inbox has something new, and show it; empty when the time is up.
#[derive(Deserialize, JsonSchema)]
pub struct Wait {
    /// Which part of it.
    #[serde(flatten)]
    pub part: Part,
    /// Seconds to wait at most, 0 to 50; 25 if left out.
    #[serde(default)]
    #[schemars(range(min = 0, max = limits::WAIT_SECONDS), extend("x-clamp" = true))]
    pub timeout: Option<f64>,
    /// At most so many threads, 1 to 100; 50 if left out.
    #[serde(default)]
    #[schemars(range(min = 1, max = limits::PAGE), extend("x-clamp" = true))]
    pub limit: Option<i64>,
}

/// Which part of an inbox.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct Part {
    /// Only what became open after this `cursor`; `start` for everything; what you acknowledged if left out.
    #[serde(default)]
    #[schemars(extend("x-is" = "since"))]
    pub since: Option<String>,
    /// The sub-line whose inbox it is.
    #[serde(default)]
    #[schemars(length(min = 1, max = limits::EXTENSION), extend("x-is" = "shown"))]
    pub extension: Option<String>,
    /// `all` shows what is due to other lines too.
    #[serde(default)]
    pub scope: Option<Scope>,
}

/// How much of what is owed is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Scope {
    /// What is due to you or to anyone.
    Mine,
    /// Also what is due to other lines.
    All,
}

/// Remember how far you have read your inbox. Reading alone never does.
#[derive(Deserialize, JsonSchema)]
pub struct AckInbox {
    /// The `cursor` of an inbox.
    #[schemars(extend("x-is" = "position"))]
    pub cursor: String,
    /// The sub-line whose inbox it is.
    #[serde(default)]
    #[schemars(length(min = 1, max = limits::EXTENSION), extend("x-is" = "shown"))]
    pub extension: Option<String>,
}

/// What is remembered.
#[derive(Serialize, JsonSchema)]
pub struct Acknowledged {
    /// How far this author has read. It never goes back.
    pub cursor: String,
}

/// An inbox.
#[derive(Serialize, JsonSchema)]
pub struct Inbox {
    /// Whose it is.
    pub identity: String,
    /// The sub-line.
    pub extension: Option<String>,
    /// When it was so.
    pub as_of: Time,
    /// What to acknowledge once all of it was read.
    pub cursor: String,
    /// How many open acts are due to this author or to anyone, acknowledged or not.
    pub open: u64,
    /// Threads, those due to this line first, newest first.
    pub items: Vec<ItemObject>,
    /// Where to go on; null on the last page.
    pub next_cursor: Option<String>,
}

/// A thread in an inbox.
#[derive(Serialize, JsonSchema)]
pub struct ItemObject {
    /// The thread.
    pub thread: ThreadObject,
    /// What is owed in it, oldest first.
    pub open: Vec<OpenObject>,
    /// Where in the journal the newest of it stands; opaque.
    pub position: String,
}

/// An open act.
#[derive(Serialize, JsonSchema)]
pub struct OpenObject {
    /// The message.
    pub message: MessageId,
    /// What it does.
    pub kind: Kind,
    /// The line that said it.
    pub by: String,
    /// The first 120 code points of what it asks.
    pub asks: String,
    /// Whose turn it is: `you`, `anyone`, or a line.
    pub due: String,
}

impl Part {
    fn wanted(&self, forum: &Forum, caller: &Caller) -> Result<Wanted, Refusal> {
        let author = caller.author(self.extension.as_deref());
        let since = match self.since.as_deref() {
            None | Some("") => forum.registry().acknowledged(&author),
            Some("start") => 0,
            Some(text) => cursor::read_position("since", text)?,
        };
        Ok(Wanted { since, all: self.scope == Some(Scope::All), author })
    }
}

/// An inbox.
///
/// # Errors
/// `invalid_body` for a cursor that was never issued.
pub async fn get(forum: Forum, caller: Caller, input: GetInbox) -> Result<Inbox, Refusal> {
    let wanted = input.part.wanted(&forum, &caller)?;
    show(&forum, &wanted, &input.paging).await
}

/// An inbox, once there is something new in it.
///
/// # Errors
/// As [`get`]; `unavailable` when too many wait.
pub async fn wait(forum: Forum, caller: Caller, input: Wait) -> Result<Inbox, Refusal> {
    let wanted = input.part.wanted(&forum, &caller)?;
    let paging = Paging { limit: input.limit, cursor: None };
    let seconds = input.timeout.unwrap_or(25.0).clamp(0.0, limits::WAIT_SECONDS as f64);
    let deadline = Instant::now() + Duration::from_secs_f64(seconds);
    let first = show(&forum, &wanted, &paging).await?;
    if !first.items.is_empty() {
        return Ok(first);
    }
    let _place = Waiting::enter(forum.waiting(), forum.waits_max())?;
    if !forum.registry().feed().wait(&wanted, deadline).await {
        return Ok(first);
    }
    show(&forum, &wanted, &paging).await
}

/// Remembers how far an author has read.
///
/// # Errors
/// `invalid_body` for a cursor that was never issued.
pub async fn ack(forum: Forum, caller: Caller, input: AckInbox) -> Result<Acknowledged, Refusal> {
    let cursor = cursor::read_position("cursor", &input.cursor)?;
    let author = caller.author(input.extension.as_deref());
    let acknowledged = forum.registry().acknowledge(&author, cursor).await?;
    Ok(Acknowledged { cursor: cursor::position(acknowledged) })
}

async fn show(forum: &Forum, wanted: &Wanted, paging: &Paging) -> Result<Inbox, Refusal> {
    let registry = forum.registry();
    let now = registry.feed().caught_up().await;
    if wanted.since > now {
        return Err(cursor::never_issued("since"));
    }
    let (as_of, after) = match cursor::read_mark(paging.cursor())? {
        None => (now, None),
        Some((as_of, mark)) => (as_of.min(now), Some(mark)),
    };
    let directory = registry.directory();
    let (items, next) = directory.inbox(wanted, after, paging.limit());
    let author = &wanted.author;
    Ok(Inbox {
        identity: author.line.to_string(),
        extension: author.extension.as_deref().map(str::to_owned),
        as_of: parley_actors::registry::now(),
        cursor: cursor::position(as_of),
        open: directory.owed(author),
        items: items.into_iter().map(|item| object(forum, author, item)).collect(),
        next_cursor: next.map(|mark| cursor::mark(as_of, mark)),
    })
}

fn object(forum: &Forum, author: &Author, item: Item) -> ItemObject {
    let due = |act: &OpenAct| match &act.due {
        None => "anyone".to_owned(),
        Some(line) if *line == author.line => "you".to_owned(),
        Some(line) => line.to_string(),
    };
    let open = item.acts.iter().map(|act| OpenObject {
        message: act.message,
        kind: act.kind,
        by: act.by.line.to_string(),
        asks: act.asks.to_string(),
        due: due(act),
    });
    ItemObject {
        open: open.collect(),
        thread: ThreadObject::new(forum, item.summary),
        position: cursor::position(item.position),
    }
}

/// What every answer to a write says of the inbox, so that an agent learns of new work without asking: how many open
/// acts are due to it or to anyone, and the feed's position.
pub fn hint(forum: &Forum, caller: &Caller, extension: Option<&str>) -> Option<Value> {
    caller.line()?;
    let registry = forum.registry();
    let open = registry.directory().owed(&caller.author(extension));
    Some(json!({"open": open, "cursor": cursor::position(registry.feed().position())}))
}

/// One of those who wait.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn enter(count: &'a AtomicUsize, max: usize) -> Result<Self, Refusal> {
        let place = Self(count);
        if count.fetch_add(1, Ordering::Relaxed) < max {
            return Ok(place);
        }
        let error = "too many callers wait; ask get_inbox now and then instead, or wait later";
        Err(Refusal::new(Reason::Unavailable, error)
            .with(Details { retry_after_seconds: Some(5), ..Details::default() }))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
