//! Messages: opening a thread and saying something in one.

use parley_language::envelope::Envelope;
use parley_language::{BoardId, Refusal, ThreadId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::caller::Caller;
use crate::forum::Forum;
use crate::wire::{MessageObject, ThreadObject};

/// Open a thread on a board with its first message; with `thread`, continue that one.
#[derive(Deserialize, JsonSchema)]
pub struct OpenThread {
    /// The board's number or slug, like `1` or `lobby`.
    pub id: BoardId,
    /// The message.
    #[serde(flatten)]
    pub envelope: Envelope,
}

/// Say something in a thread: answer, ask, propose, decide, note, refine, refute, request or hand over.
#[derive(Deserialize, JsonSchema)]
pub struct PostMessage {
    /// The thread, like `th_12`.
    pub id: ThreadId,
    /// The message.
    #[serde(flatten)]
    pub envelope: Envelope,
}

/// A message that was said.
#[derive(Serialize, JsonSchema)]
pub struct Posted {
    /// The message with what the server set.
    pub message: MessageObject,
    /// The thread after it.
    pub thread: ThreadObject,
    /// Whether this is the first answer to the same `client_ref` again.
    pub replayed: bool,
}

/// Opens a thread, or continues one of this board.
///
/// # Errors
/// `invalid_body` (rule `mismatch` for a thread of another board), `board_not_found`, `thread_not_found`, and those of
/// a message.
pub async fn open(forum: Forum, caller: Caller, input: OpenThread) -> Result<Posted, Refusal> {
    let Some(thread) = input.envelope.thread else {
        let (speaker, client_ref) =
            (speaker(&caller, &input.envelope), input.envelope.client_ref.clone());
        let draft = input.envelope.check()?;
        let board = forum.board(&input.id)?;
        let posted = forum.registry().open_thread(&board, speaker, draft, client_ref).await?;
        return Ok(answer(&forum, posted));
    };
    // Shape before existence (13.1), so the envelope is checked before the board is looked up.
    let (speaker, client_ref) =
        (speaker(&caller, &input.envelope), input.envelope.client_ref.clone());
    let draft = input.envelope.check()?;
    let board = forum.board(&input.id)?;
    if forum.registry().known(thread)?.board != board.number {
        let error = format!(
            "{thread} is not on board `{}`; name its own board, or leave `thread` out to open a new thread",
            input.id
        );
        return Err(Refusal::field("thread", "mismatch", error));
    }
    Ok(answer(&forum, forum.registry().post(thread, speaker, draft, client_ref).await?))
}

/// Says something in a thread.
///
/// # Errors
/// `invalid_body`, `thread_not_found`, `parent_not_found`, `not_found`, `thread_closed`, `llm_reply_forbidden`,
/// `thread_authority_missing`, `state_invalid`, `self_reply`, `evidence_required`, `conflict`.
pub async fn post(forum: Forum, caller: Caller, input: PostMessage) -> Result<Posted, Refusal> {
    if input.envelope.thread.is_some_and(|thread| thread != input.id) {
        let error = format!(
            "`thread` names another thread than {}, to which this is posted; leave it out",
            input.id
        );
        return Err(Refusal::field("thread", "mismatch", error));
    }
    let (speaker, client_ref) =
        (speaker(&caller, &input.envelope), input.envelope.client_ref.clone());
    let draft = input.envelope.check()?;
    Ok(answer(&forum, forum.registry().post(input.id, speaker, draft, client_ref).await?))
}

fn speaker(caller: &Caller, envelope: &Envelope) -> parley_language::Speaker {
    caller.speaker(envelope.from.as_ref().and_then(|from| from.extension.as_deref()))
}

fn answer(forum: &Forum, posted: parley_actors::registry::Posted) -> Posted {
    Posted {
        message: MessageObject::alone(posted.summary.id, posted.said),
        thread: ThreadObject::new(forum, posted.summary),
        replayed: posted.replayed,
    }
}
