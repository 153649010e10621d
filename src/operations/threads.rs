//! Threads: reading them, and every act that is no message.

use std::sync::Arc;

use parley_language::thread::{Act, SideState, Summary};
use parley_language::words::{Kind, State};
use parley_language::{BoardId, MessageId, Reason, Refusal, ThreadId, Time, reason::Details};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Paging;
use crate::caller::Caller;
use crate::cursor;
use crate::forum::Forum;
use crate::wire::{EventObject, MessageObject, Page, ThreadObject};

/// List threads of all boards, waiting first; every filter narrows.
#[derive(Deserialize, JsonSchema)]
pub struct GetThreads {
    /// Only of this board: number or slug.
    #[serde(default)]
    pub board: Option<BoardId>,
    /// Only in this state.
    #[serde(default)]
    pub state: Option<State>,
    /// Only those that await a reply, or only those that do not.
    #[serde(default)]
    pub awaiting: Option<bool>,
    /// Only with a confirmed state, or only with a proposed one.
    #[serde(default)]
    pub confirmed: Option<bool>,
    /// Only opened by this line, like `parley:scout`.
    #[serde(default)]
    pub creator: Option<String>,
    /// Only opened by this kind of message.
    #[serde(default)]
    pub kind: Option<Kind>,
    /// Only pinned ones, or only others.
    #[serde(default)]
    pub pinned: Option<bool>,
    /// Only those that changed at or after this time, RFC 3339.
    #[serde(default)]
    #[schemars(extend("x-is" = "time"))]
    pub since: Option<String>,
    /// Where and how much.
    #[serde(flatten)]
    pub paging: Paging,
}

impl GetThreads {
    fn wants(&self, board: Option<u64>, since: Option<Time>, line: &Summary) -> bool {
        board.is_none_or(|board| line.board == board)
            && self.state.is_none_or(|state| line.standing.state == state)
            && self.awaiting.is_none_or(|awaiting| line.awaiting == awaiting)
            && self
                .confirmed
                .is_none_or(|confirmed| line.standing.confirmed_at.is_some() == confirmed)
            && self.creator.as_deref().is_none_or(|creator| &*line.creator == creator)
            && self.kind.is_none_or(|kind| line.kind == kind)
            && self.pinned.is_none_or(|pinned| line.pinned == pinned)
            && since.is_none_or(|since| line.updated_at >= since)
    }
}

/// Threads across boards.
///
/// # Errors
/// `board_not_found`, `invalid_body` for a cursor of another list or a time that is none.
pub async fn list(
    forum: Forum,
    _: Caller,
    input: GetThreads,
) -> Result<Page<ThreadObject>, Refusal> {
    let since = input.since.as_deref().map(read_time).transpose()?;
    let after = cursor::read_key(input.paging.cursor())?;
    let board =
        input.board.as_ref().map(|id| forum.board(id)).transpose()?.map(|board| board.number);
    let wanted = |line: &Summary| input.wants(board, since, line);
    let (lines, next) =
        forum.registry().directory().page(board, after, input.paging.limit(), wanted);
    let items = lines.into_iter().map(|line| ThreadObject::new(&forum, line)).collect();
    Ok(Page { items, next_cursor: next.map(cursor::key) })
}

fn read_time(text: &str) -> Result<Time, Refusal> {
    Time::parse(text).ok_or_else(|| {
        Refusal::field(
            "since",
            "date_time",
            "`since` is no RFC 3339 time; write it like 2026-11-30T12:00:00.000Z",
        )
    })
}

/// One thread with its messages as a tree.
#[derive(Deserialize, JsonSchema)]
pub struct GetThread {
    /// The thread, like `th_12`.
    pub id: ThreadId,
    /// Messages as a list, oldest first, instead of a tree.
    #[serde(default)]
    pub flat: Option<bool>,
    /// Where and how much.
    #[serde(flatten)]
    pub paging: Paging,
}

/// A thread and a page of its messages.
#[derive(Serialize, JsonSchema)]
pub struct WholeThread {
    /// The thread.
    pub thread: ThreadObject,
    /// Its messages, oldest first; in a tree, each under its parent where that is on the same page.
    pub messages: Vec<MessageObject>,
    /// Where to go on; null on the last page.
    pub next_cursor: Option<String>,
}

/// One thread.
///
/// # Errors
/// `thread_not_found`, `invalid_body` for a cursor of another list.
pub async fn one(forum: Forum, _: Caller, input: GetThread) -> Result<WholeThread, Refusal> {
    let view = forum.registry().view(input.id).await?;
    let page = |from: usize, to: usize| {
        view.said.iter().skip(from).take(to - from).cloned().collect::<Vec<_>>()
    };
    let (said, next_cursor) = input.paging.cut(view.said.len(), page)?;
    let messages = if input.flat.unwrap_or(false) {
        said.into_iter().map(|said| MessageObject::of(&view, said)).collect()
    } else {
        MessageObject::tree(&view, said)
    };
    Ok(WholeThread {
        thread: ThreadObject::new(&forum, Arc::clone(&view.summary)),
        messages,
        next_cursor,
    })
}

/// The history of a thread's state, oldest first.
#[derive(Deserialize, JsonSchema)]
pub struct GetThreadEvents {
    /// The thread, like `th_12`.
    pub id: ThreadId,
    /// Where and how much.
    #[serde(flatten)]
    pub paging: Paging,
}

/// The history of a thread's state.
///
/// # Errors
/// `thread_not_found`, `invalid_body` for a cursor of another list.
pub async fn events(
    forum: Forum,
    _: Caller,
    input: GetThreadEvents,
) -> Result<Page<EventObject>, Refusal> {
    let view = forum.registry().view(input.id).await?;
    let page = |from: usize, to: usize| {
        view.changes
            .iter()
            .skip(from)
            .take(to - from)
            .map(|change| EventObject::new(input.id, change))
            .collect()
    };
    let (items, next_cursor) = input.paging.cut(view.changes.len(), page)?;
    Ok(Page { items, next_cursor })
}

/// A thread, named.
#[derive(Serialize, JsonSchema)]
pub struct NamedThread {
    /// The thread after the act.
    pub thread: ThreadObject,
}

/// Close a thread. The creator's close is a proposal; the human's and a `lock` holder's is confirmed and locks.
#[derive(Deserialize, JsonSchema)]
pub struct CloseThread {
    /// The thread, like `th_12`.
    pub id: ThreadId,
}

/// Closes a thread.
///
/// # Errors
/// `thread_not_found`, `thread_closed`, `thread_authority_missing`, `state_invalid`.
pub async fn close(
    forum: Forum,
    caller: Caller,
    input: CloseThread,
) -> Result<NamedThread, Refusal> {
    act(&forum, &caller, input.id, Act::Close).await
}

/// Open a closed thread again, or one that was set aside.
#[derive(Deserialize, JsonSchema)]
pub struct ReopenThread {
    /// The thread, like `th_12`.
    pub id: ThreadId,
}

/// Reopens a thread.
///
/// # Errors
/// `thread_not_found`, `thread_authority_missing`, `state_invalid`.
pub async fn reopen(
    forum: Forum,
    caller: Caller,
    input: ReopenThread,
) -> Result<NamedThread, Refusal> {
    act(&forum, &caller, input.id, Act::Reopen).await
}

/// Set a thread aside: `deferred`, `obsolete` or `rejected`.
#[derive(Deserialize, JsonSchema)]
pub struct SetThreadState {
    /// The thread, like `th_12`.
    pub id: ThreadId,
    /// `deferred`, `obsolete` or `rejected`.
    #[schemars(extend("x-is" = "side_state", "examples" = ["deferred"]))]
    pub state: String,
}

/// Sets a thread aside.
///
/// # Errors
/// `state_not_settable` for any other word, `thread_not_found`, `thread_closed`, `thread_authority_missing`,
/// `state_invalid`.
pub async fn set_state(
    forum: Forum,
    caller: Caller,
    input: SetThreadState,
) -> Result<NamedThread, Refusal> {
    let side = State::parse(&input.state).and_then(SideState::of).ok_or_else(|| {
        let error = "only `deferred`, `obsolete` and `rejected` are set this way; use close, reopen or a message for the others";
        Refusal::new(Reason::StateNotSettable, error).with(Details {
            field: Some("state".into()),
            allowed: ["deferred", "obsolete", "rejected"].map(String::from).to_vec(),
            ..Details::default()
        })
    })?;
    act(&forum, &caller, input.id, Act::Settle(side)).await
}

/// Pin a thread, or no longer.
#[derive(Deserialize, JsonSchema)]
pub struct PinThread {
    /// The thread, like `th_12`.
    pub id: ThreadId,
    /// `false` takes the pin off; `true` if left out.
    #[serde(default)]
    pub pinned: Option<bool>,
}

/// Pins a thread.
///
/// # Errors
/// `thread_not_found`, `thread_closed`.
pub async fn pin(forum: Forum, caller: Caller, input: PinThread) -> Result<NamedThread, Refusal> {
    act(&forum, &caller, input.id, Act::Pin(input.pinned.unwrap_or(true))).await
}

/// Confirm the pending proposal of a thread.
#[derive(Deserialize, JsonSchema)]
pub struct ConfirmThread {
    /// The thread, like `th_12`.
    pub id: ThreadId,
}

/// Confirms a proposal.
///
/// # Errors
/// `thread_not_found`, `thread_authority_missing`, `nothing_to_confirm`.
pub async fn confirm(
    forum: Forum,
    caller: Caller,
    input: ConfirmThread,
) -> Result<NamedThread, Refusal> {
    act(&forum, &caller, input.id, Act::Confirm).await
}

/// Drop the pending proposal of a thread and fall back to the last confirmed state.
#[derive(Deserialize, JsonSchema)]
pub struct RevertThread {
    /// The thread, like `th_12`.
    pub id: ThreadId,
}

/// Reverts a proposal.
///
/// # Errors
/// `thread_not_found`, `thread_authority_missing`, `nothing_to_confirm`.
pub async fn revert(
    forum: Forum,
    caller: Caller,
    input: RevertThread,
) -> Result<NamedThread, Refusal> {
    act(&forum, &caller, input.id, Act::Revert).await
}

/// Allow or forbid AI reactions to a thread, or to one message of it.
#[derive(Deserialize, JsonSchema)]
pub struct SetLlmReply {
    /// The thread, like `th_12`.
    pub id: ThreadId,
    /// Whether tokens may react.
    pub allowed: bool,
    /// Only to this message, like `msg_31`.
    #[serde(default)]
    pub message: Option<MessageId>,
}

/// Allows or forbids AI reactions.
///
/// # Errors
/// `thread_not_found`, `not_found` for a message of another thread.
pub async fn llm_reply(
    forum: Forum,
    caller: Caller,
    input: SetLlmReply,
) -> Result<NamedThread, Refusal> {
    act(&forum, &caller, input.id, Act::LlmReply { allowed: input.allowed, message: input.message })
        .await
}

async fn act(
    forum: &Forum,
    caller: &Caller,
    thread: ThreadId,
    act: Act,
) -> Result<NamedThread, Refusal> {
    let summary = forum.registry().act(thread, caller.speaker(None), act).await?;
    Ok(NamedThread { thread: ThreadObject::new(forum, summary) })
}
