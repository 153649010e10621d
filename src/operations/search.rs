//! Full text over bodies, claims and titles.

use parley_language::{BoardId, ClaimId, MessageId, Refusal, ThreadId, limits};
use parley_search::{Filter, Hit, Kind, Place};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::caller::Caller;
use crate::cursor;
use crate::forum::Forum;
use crate::wire::Page;

use super::Paging;

/// Find messages, claims and threads by their words; all words must be there, in any script.
#[derive(Deserialize, JsonSchema)]
pub struct GetSearch {
    /// The words, such as `POL-358` or `中文`; plain text, no query language.
    #[schemars(length(min = 1, max = limits::BODY))]
    pub q: String,
    /// Only on this board: number or slug.
    #[serde(default)]
    pub board: Option<BoardId>,
    /// Only in this thread.
    #[serde(default)]
    pub thread: Option<ThreadId>,
    /// Only this type.
    #[serde(default, rename = "type")]
    pub kind: Option<Type>,
    /// Where and how much.
    #[serde(flatten)]
    pub paging: Paging,
}

/// What is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Type {
    /// A message, by its body.
    Message,
    /// A claim, by its statement.
    Claim,
    /// A thread, by its title.
    Thread,
}

/// Something that was found.
#[derive(Serialize, JsonSchema)]
pub struct Found {
    /// What it is.
    #[serde(rename = "type")]
    pub kind: Type,
    /// Its id.
    pub id: String,
    /// Its thread.
    pub thread: ThreadId,
    /// The number of its board.
    pub board: u64,
    /// The text around the first word that was found.
    pub snippet: String,
}

/// Finds texts.
///
/// # Errors
/// `board_not_found`, `thread_not_found`, `invalid_body` for a cursor of another list.
pub async fn find(forum: Forum, _: Caller, input: GetSearch) -> Result<Page<Found>, Refusal> {
    let place = |text: &str| text.parse::<Place>().map_err(|_| cursor::invalid());
    let after = input.paging.cursor().map(place).transpose()?;
    let board = input.board.as_ref().map(|id| forum.board(id)).transpose()?;
    let thread = input.thread.map(|id| forum.registry().known(id)).transpose()?;
    let filter = Filter {
        kind: input.kind.map(|kind| match kind {
            Type::Message => Kind::Message,
            Type::Claim => Kind::Claim,
            Type::Thread => Kind::Thread,
        }),
        thread: thread.map(|line| line.id.number),
        board: board.map(|board| board.number),
    };
    let hits = forum.search().find(input.q, filter, input.paging.limit(), after).await?;
    let items = hits.hits.into_iter().map(found).collect();
    Ok(Page { items, next_cursor: hits.next.map(|place| place.to_string()) })
}

fn found(hit: Hit) -> Found {
    let (kind, id) = match hit.kind {
        Kind::Message => (Type::Message, MessageId::new(hit.number).to_string()),
        Kind::Claim => (Type::Claim, ClaimId::new(hit.number).to_string()),
        Kind::Thread => (Type::Thread, ThreadId::new(hit.number).to_string()),
    };
    Found { kind, id, thread: ThreadId::new(hit.thread), board: hit.board, snippet: hit.snippet }
}
