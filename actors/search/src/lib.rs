//! Full-text search: an index of texts that can be thrown away and fed again.
//!
//! The index knows neither HTTP nor actors nor the journal. It is told documents, each once, and at every commit the
//! place in the caller's journal up to which it has been told everything. It promises four things:
//!
//! * **S1 found at once.** What [`Index::commit`] has returned from is found by the next [`Searcher::search`].
//! * **S2 exactly once.** Documents and position become durable together. After a crash the index stands at the
//!   position of its last commit and knows nothing later, so feeding it from there neither loses nor doubles.
//! * **S3 never in the way.** Files that are damaged, missing or of another format are thrown away, and the index
//!   starts anew at position 0. Nothing in it exists only here.
//! * **S4 one order.** Best score first, of equal scores the newest; paging over an index that is not fed meanwhile
//!   gives every hit once.
//!
//! How a text falls into words, and which spellings count as one, is told in [`words`].

mod best;
mod index;
mod searcher;
mod snippet;
pub mod words;

pub use index::Index;
pub use searcher::{Filter, Hit, Hits, MAX_HITS, MAX_QUERY_WORDS, NotAPlace, Place, Searcher};
pub use snippet::MAX_SNIPPET;

use std::path::PathBuf;

/// What a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A message; its text is the body, its number that of `msg_N`.
    Message,
    /// A claim; its text is the statement, its number that of `cl_N`.
    Claim,
    /// A thread; its text is the title, its number that of `th_N`.
    Thread,
}

impl Kind {
    /// The number that stands for the kind on disk and in a [`Place`]; part of the format.
    fn code(self) -> u64 {
        match self {
            Self::Message => 0,
            Self::Claim => 1,
            Self::Thread => 2,
        }
    }

    /// The kind a number stands for, if any.
    fn from_code(code: u64) -> Option<Self> {
        [Self::Message, Self::Claim, Self::Thread].into_iter().find(|kind| kind.code() == code)
    }
}

/// A text to be found. It is added once and never changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// What it is.
    pub kind: Kind,
    /// Its number, unique within the kind.
    pub number: u64,
    /// The number of the thread it belongs to; a thread belongs to itself.
    pub thread: u64,
    /// The number of the board of that thread.
    pub board: u64,
    /// The text, of any length and script. It is kept, for snippets.
    pub text: String,
    /// When it was said, in milliseconds since 1970; of equal scores the later one comes first.
    pub time: u64,
}

/// Why the index cannot go on. None of these is about what was searched for.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another [`Index`], in this process or another, has the folder open. Nothing was touched.
    #[error("the search index in {0} is in use")]
    Busy(PathBuf),
    /// The folder could not be made, read or emptied.
    #[error("the folder of the search index cannot be used")]
    Folder(#[from] std::io::Error),
    /// The engine failed, as a rule because the disk did. An [`Index`] that has said so is to be opened again.
    #[error("the search engine failed")]
    Engine(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl From<tantivy::TantivyError> for Error {
    fn from(error: tantivy::TantivyError) -> Self {
        Self::Engine(Box::new(error))
    }
}
