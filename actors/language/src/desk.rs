//! The desk: boards and tokens. The same manner as a thread: decide says yes or no, apply cannot fail.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec;

use serde::{Deserialize, Serialize};

use crate::author::Rights;
use crate::id::{TokenId, is_slug};
use crate::limits;
use crate::reason::{Reason, Refusal};
use crate::text::first_line;
use crate::time::Time;

/// A board as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Board {
    /// Its number, from 1.
    pub number: u64,
    /// Its slug, unique.
    pub slug: Arc<str>,
    /// Its title.
    pub title: Arc<str>,
    /// What it is for.
    pub description: Arc<str>,
    /// When it was made.
    pub created_at: Time,
}

/// A token as it is kept: never the secret, only its hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// Its id.
    pub id: TokenId,
    /// The identity bound to it.
    pub line: Arc<str>,
    /// What it is called.
    pub label: Arc<str>,
    /// What it may do.
    pub rights: Rights,
    /// SHA-256 of the secret.
    pub secret_hash: [u8; 32],
    /// When it was issued.
    pub created_at: Time,
    /// Whether it still opens the door.
    pub revoked: bool,
}

/// One fact of the desk's history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeskEvent {
    /// A board was made.
    BoardMade(Board),
    /// A token was issued.
    TokenIssued(Token),
}

/// What can be asked of the desk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeskAct {
    /// Make a board.
    MakeBoard {
        /// Its slug; made from the title if absent.
        slug: Option<String>,
        /// Its title.
        title: String,
        /// What it is for.
        description: String,
    },
    /// Issue a token.
    IssueToken {
        /// The realm its identity is in.
        realm: String,
        /// What it is called; its identity is made from it.
        label: String,
        /// What it may do.
        rights: Rights,
        /// SHA-256 of the secret.
        secret_hash: [u8; 32],
    },
}

/// All boards and tokens.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Desk {
    boards: BTreeMap<u64, Board>,
    slugs: BTreeMap<Arc<str>, u64>,
    tokens: BTreeMap<u64, Token>,
    lines: BTreeMap<Arc<str>, TokenId>,
}

impl Desk {
    /// Yes or no. Changes nothing.
    ///
    /// # Errors
    /// `conflict` for a slug that is taken, `invalid_body` for a slug that is none.
    pub fn decide(&self, act: DeskAct, at: Time) -> Result<DeskEvent, Refusal> {
        match act {
            DeskAct::MakeBoard { slug, title, description } => {
                let slug: Arc<str> = match slug {
                    Some(slug) if !is_slug(&slug) => return Err(no_slug(&slug)),
                    Some(slug) => slug.into(),
                    None => self
                        .free(&slugify(&title, "board"), |slug| self.slugs.contains_key(slug))
                        .into(),
                };
                if let Some(number) = self.slugs.get(&slug) {
                    let error = format!("a board `{slug}` exists; use it, or choose another slug");
                    return Err(Refusal::new(Reason::Conflict, error)
                        .then("get_boards_id", vec![("id", number.to_string())]));
                }
                let number = self.boards.last_key_value().map_or(1, |(last, _)| last + 1);
                let (title, description) = (title.into(), description.into());
                Ok(DeskEvent::BoardMade(Board { number, slug, title, description, created_at: at }))
            }
            DeskAct::IssueToken { realm, label, rights, secret_hash } => {
                let id = TokenId::new(self.tokens.last_key_value().map_or(1, |(last, _)| last + 1));
                let taken =
                    |slug: &str| self.lines.contains_key(format!("{realm}:{slug}").as_str());
                let line =
                    format!("{realm}:{}", self.free(&slugify(&label, "agent"), taken)).into();
                let label = label.into();
                Ok(DeskEvent::TokenIssued(Token {
                    id,
                    line,
                    label,
                    rights,
                    secret_hash,
                    created_at: at,
                    revoked: false,
                }))
            }
        }
    }

    /// Makes a fact so.
    pub fn apply(&mut self, event: &DeskEvent) {
        match event {
            DeskEvent::BoardMade(board) => {
                self.slugs.insert(Arc::clone(&board.slug), board.number);
                self.boards.insert(board.number, board.clone());
            }
            DeskEvent::TokenIssued(token) => {
                self.lines.insert(Arc::clone(&token.line), token.id);
                self.tokens.insert(token.id.number, token.clone());
            }
        }
    }

    /// The first free name: the slug, or the slug with a number behind it.
    fn free(&self, slug: &str, taken: impl Fn(&str) -> bool) -> String {
        if !taken(slug) {
            return slug.to_string();
        }
        // Names that were counted up before are in the way of counting from 2 each time, but labels rarely repeat
        // more than a few times; a doubling search keeps even thousands of equal labels cheap.
        let named = |count: u64| {
            let tail = format!("-{count}");
            let head: String = slug.chars().take(limits::SLUG - tail.len()).collect();
            format!("{}{tail}", head.trim_end_matches('-'))
        };
        let mut high = 2;
        while taken(&named(high)) {
            high *= 2;
        }
        let mut low = high / 2;
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            if taken(&named(middle)) { low = middle } else { high = middle }
        }
        named(high)
    }

    /// All boards, by number.
    pub fn boards(&self) -> impl Iterator<Item = &Board> {
        self.boards.values()
    }

    /// All tokens, by number.
    pub fn tokens(&self) -> impl Iterator<Item = &Token> {
        self.tokens.values()
    }
}

fn no_slug(slug: &str) -> Refusal {
    Refusal::field(
        "slug",
        "slug",
        format!("`{slug}` is no slug; use a-z, 0-9 and hyphens, at most 40, not only digits"),
    )
}

/// A slug made of a text: its letters and digits in lower case, hyphens between.
fn slugify(text: &str, or: &str) -> String {
    let mut slug = String::new();
    for c in first_line(text, limits::LABEL).chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() == limits::SLUG {
            break;
        }
    }
    let slug = slug.trim_matches('-');
    if is_slug(slug) { slug.to_string() } else { or.to_string() }
}
