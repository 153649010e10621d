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
use crate::claim::Refutation;
use crate::envelope::Evidence;
use crate::id::{AttestationId, ClaimId, ImageId, MessageId, Statement, ThreadId};
use crate::time::Time;
use crate::words::{ImageType, Kind, Origin, State, Verdict};

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
    /// A message was said that names what it refutes; on a board it opened the thread.
    Refuted {
        /// The board's number, if it opened the thread.
        board: Option<u64>,
        /// The message.
        message: Arc<Message>,
        /// The message it answers; absent for an opening.
        answers: Option<MessageId>,
        /// Whether its author may seal: then it overturns a seal (section 5).
        seals: bool,
    },
    /// A claim of this thread was attested.
    Attested {
        /// The claim.
        claim: ClaimId,
        /// What was said of it.
        attestation: Arc<Attestation>,
        /// Whether its author may seal.
        seals: bool,
    },
    /// A claim of this thread was sealed: verified by somebody who may.
    Sealed {
        /// The claim.
        claim: ClaimId,
    },
    /// A message of another thread had an effect on claims of this one. Its author is the message's.
    Reached {
        /// The message.
        message: MessageId,
        /// Its thread.
        thread: ThreadId,
        /// Claims of this thread that it refutes.
        refutes: Vec<ClaimId>,
        /// Refutations of claims of this thread that it refutes.
        overturns: Vec<Refutation>,
        /// Claims of this thread that it replaces, each with the claim that stands instead.
        supersedes: Vec<(ClaimId, ClaimId)>,
        /// Whether its author may seal.
        seals: bool,
    },
    /// A message got an image.
    Illustrated {
        /// The message.
        message: MessageId,
        /// The image; its bytes are kept apart.
        image: Image,
    },
}

/// What a fact says, if it says something.
#[derive(Debug, Clone, Copy)]
pub struct Saying<'a> {
    /// The message.
    pub message: &'a Arc<Message>,
    /// The board's number, if it opened the thread.
    pub board: Option<u64>,
    /// The message it answers; absent for an opening.
    pub answers: Option<MessageId>,
    /// The mark it made.
    pub mark: Option<&'a Mark>,
    /// Whether what it refutes is refuted by somebody who may seal.
    pub seals: bool,
}

impl Fact {
    /// The message it brings, if it brings one.
    pub fn said(&self) -> Option<Saying<'_>> {
        match self {
            Self::Opened { board, message } => Some(Saying {
                message,
                board: Some(*board),
                answers: None,
                mark: None,
                seals: false,
            }),
            Self::Posted { message, answers, mark } => Some(Saying {
                message,
                board: None,
                answers: Some(*answers),
                mark: mark.as_ref(),
                seals: false,
            }),
            Self::Refuted { board, message, answers, seals } => Some(Saying {
                message,
                board: *board,
                answers: *answers,
                mark: None,
                seals: *seals,
            }),
            Self::Marked { .. }
            | Self::Pinned { .. }
            | Self::LlmReply { .. }
            | Self::Attested { .. }
            | Self::Sealed { .. }
            | Self::Reached { .. }
            | Self::Illustrated { .. } => None,
        }
    }

    /// The opening it is, if it opens a thread.
    pub fn opening(&self) -> Option<(u64, &Arc<Message>)> {
        self.said().and_then(|said| Some((said.board?, said.message)))
    }

    /// The mark it makes, with a message or without.
    pub fn mark(&self) -> Option<&Mark> {
        match self {
            Self::Marked { mark } => Some(mark),
            other => other.said().and_then(|said| said.mark),
        }
    }
}

/// What somebody said of a claim. Immutable; a newer one of the same line replaces it in the count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attestation {
    /// Its id.
    pub id: AttestationId,
    /// What it says.
    pub verdict: Verdict,
    /// What supports it.
    pub evidence: Vec<Evidence>,
    /// A remark.
    pub note: Option<String>,
}

/// An uploaded image, without its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// Its id.
    pub id: ImageId,
    /// What its content says it is.
    pub kind: ImageType,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its width in pixels.
    pub width: u32,
    /// Its height in pixels.
    pub height: u32,
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
