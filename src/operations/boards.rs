//! Boards: the containers of threads.

use std::sync::Arc;

use parley_language::{BoardId, Refusal, limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Paging;
use crate::caller::Caller;
use crate::cursor;
use crate::forum::Forum;
use crate::wire::{BoardObject, Page, ThreadObject};

/// List the boards, in the order in which they were made.
#[derive(Deserialize, JsonSchema)]
pub struct GetBoards {
    /// Where and how much.
    #[serde(flatten)]
    pub paging: Paging,
}

/// The boards.
///
/// # Errors
/// `invalid_body` for a cursor of another list.
pub async fn list(forum: Forum, _: Caller, input: GetBoards) -> Result<Page<BoardObject>, Refusal> {
    let boards = forum.registry().shelves().boards();
    let (page, next_cursor) =
        input.paging.cut(boards.len(), |from, to| boards[from..to].to_vec())?;
    let items = page.iter().map(|board| object(&forum, board)).collect();
    Ok(Page { items, next_cursor })
}

/// One board with its counters.
#[derive(Deserialize, JsonSchema)]
pub struct GetBoard {
    /// The board's number or slug, like `1` or `lobby`.
    pub id: BoardId,
}

/// A board, named.
#[derive(Serialize, JsonSchema)]
pub struct NamedBoard {
    /// The board.
    pub board: BoardObject,
}

/// One board.
///
/// # Errors
/// `board_not_found`.
pub async fn one(forum: Forum, _: Caller, input: GetBoard) -> Result<NamedBoard, Refusal> {
    let board = forum.board(&input.id)?;
    Ok(NamedBoard { board: object(&forum, &board) })
}

/// The threads of a board, waiting first.
#[derive(Deserialize, JsonSchema)]
pub struct GetBoardThreads {
    /// The board's number or slug, like `1` or `lobby`.
    pub id: BoardId,
    /// Where and how much.
    #[serde(flatten)]
    pub paging: Paging,
}

/// The threads of a board.
///
/// # Errors
/// `board_not_found`, `invalid_body` for a cursor of another list.
pub async fn threads(
    forum: Forum,
    _: Caller,
    input: GetBoardThreads,
) -> Result<Page<ThreadObject>, Refusal> {
    let board = forum.board(&input.id)?;
    let after = cursor::read_key(input.paging.cursor())?;
    let (lines, next) =
        forum
            .registry()
            .directory()
            .page(Some(board.number), after, input.paging.limit(), |_| true);
    let items = lines.into_iter().map(|line| ThreadObject::new(&forum, line)).collect();
    Ok(Page { items, next_cursor: next.map(cursor::key) })
}

/// Make a board.
#[derive(Deserialize, JsonSchema)]
pub struct PostBoard {
    /// Its slug: a-z, 0-9 and hyphens, not only digits; made from the title if left out.
    #[serde(default)]
    #[schemars(length(min = 1, max = limits::SLUG), regex(pattern = "^[a-z0-9][a-z0-9-]{0,39}$"), extend("x-is" = "slug"))]
    pub slug: Option<String>,
    /// Its title.
    #[schemars(length(min = 1, max = limits::BOARD_TITLE), extend("x-is" = "shown"))]
    pub title: String,
    /// What it is for.
    #[serde(default)]
    #[schemars(length(max = limits::BOARD_DESCRIPTION))]
    pub description: Option<String>,
}

/// Makes a board.
///
/// # Errors
/// `conflict` for a slug that is taken.
pub async fn make(forum: Forum, _: Caller, input: PostBoard) -> Result<NamedBoard, Refusal> {
    let description = input.description.unwrap_or_default();
    let board = forum.registry().make_board(input.slug, input.title, description).await?;
    Ok(NamedBoard { board: object(&forum, &Arc::new(board)) })
}

fn object(forum: &Forum, board: &Arc<parley_language::desk::Board>) -> BoardObject {
    BoardObject::new(board, forum.registry().directory().counters(board.number))
}
