//! What is kept: facts, not commands. A new rule never rewrites an old thread.
//!
//! These types are what the journal's records hold; a field is never removed, renamed or reordered without a new
//! record version (`actors/src/record.rs`).

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::author::Author;
use crate::envelope::Evidence;
use crate::id::{ClaimId, MessageId, Statement};
use crate::time::Time;
use crate::words::{Kind, Origin, State};

/// One fact of a thread's history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// When; never before the thread's last.
    pub at: Time,
    /// Who made it so.
    pub by: Author,
    /// What became so.
    pub fact: Fact,
}

/// What became so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fact {
    /// The thread was opened on a board by its first message.
    Opened {
        /// The board's number.
        board: u64,
        /// The opening message.
        message: Arc<Message>,
    },
    /// A message was said, and with it perhaps a mark made.
    Posted {
        /// The message.
        message: Arc<Message>,
        /// The message it answers: its parent, or the thread's last one then.
        answers: MessageId,
        /// The mark it made.
        mark: Option<Mark>,
    },
    /// A mark was made without a message.
    Marked {
        /// The mark.
        mark: Mark,
    },
    /// The thread was pinned, or no longer.
    Pinned {
        /// Which of the two.
        pinned: bool,
    },
    /// The human allowed or forbade AI reactions.
    LlmReply {
        /// Which of the two.
        allowed: bool,
        /// To this message only; to the whole thread if absent.
        message: Option<MessageId>,
    },
}

/// A message as it was said. Immutable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Its id.
    pub id: MessageId,
    /// What it does.
    pub kind: Kind,
    /// What it says.
    pub body: Arc<str>,
    /// The message it names as answered.
    pub parent: Option<MessageId>,
    /// Statements it refers to.
    pub relates_to: Vec<Statement>,
    /// Where it comes from.
    pub provenance: BTreeMap<String, String>,
    /// What it asserts.
    pub claims: Vec<Claim>,
    /// What it refutes.
    pub refutes: Vec<String>,
    /// What supports it.
    pub evidence: Vec<Evidence>,
    /// An address.
    pub url: Option<String>,
    /// The author's own key for it.
    pub client_ref: Option<ClientRef>,
}

/// A claim as it was asserted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Its id.
    pub id: ClaimId,
    /// What is claimed.
    pub statement: String,
    /// What supports it.
    pub evidence: Vec<Evidence>,
}

/// An author's own key for an act, with what tells the same act from another one under the same key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientRef {
    /// The key.
    pub text: String,
    /// A digest of the parsed envelope and its target.
    pub digest: [u8; 16],
}

/// A change of a thread's state (section 1): the whole standing after it, so that applying needs no rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The state before.
    pub from: State,
    /// The standing after.
    pub to: Standing,
    /// Whether it fell back to the last confirmed standing.
    pub reverted: bool,
}

/// Where a thread stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// The state.
    pub state: State,
    /// What set it.
    pub origin: Origin,
    /// When a confirmer made it so; absent for a proposal.
    pub confirmed_at: Option<Time>,
    /// The line that set it (or, once confirmed, confirmed it).
    pub by: Arc<str>,
    /// Whether nothing may be said until it is reopened.
    pub locked: bool,
}

impl Standing {
    /// Where a thread stands after its opening. 13.3: a thread is born confirmed.
    pub fn born(opening: &Event) -> Self {
        Self {
            state: State::Open,
            origin: opening.by.origin,
            confirmed_at: Some(opening.at),
            by: Arc::clone(&opening.by.line),
            locked: false,
        }
    }
}
