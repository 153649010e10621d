//! What can be asked of a thread.

use alloc::string::String;
use alloc::vec::Vec;

use crate::claim::Refutation;
use crate::envelope::{Draft, Evidence};
use crate::event::{ClientRef, Image};
use crate::id::{ClaimId, MessageId, ThreadId};
use crate::words::{State, Verdict};

/// A side state: an endpoint beside the main line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SideState {
    /// Set aside for later.
    Deferred,
    /// No longer of interest.
    Obsolete,
    /// Turned down.
    Rejected,
}

impl SideState {
    /// The side state of that name, if it is one.
    pub fn of(state: State) -> Option<Self> {
        match state {
            State::Deferred => Some(Self::Deferred),
            State::Obsolete => Some(Self::Obsolete),
            State::Rejected => Some(Self::Rejected),
            State::Open | State::Answered | State::Decided | State::Closed => None,
        }
    }

    /// The state it is.
    pub const fn state(self) -> State {
        match self {
            Self::Deferred => State::Deferred,
            Self::Obsolete => State::Obsolete,
            Self::Rejected => State::Rejected,
        }
    }
}

/// One thing asked of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Begin it with a message on a board.
    Open {
        /// The board's number.
        board: u64,
        /// The opening message.
        draft: Draft,
        /// The author's own key for it.
        client_ref: Option<ClientRef>,
    },
    /// Say something in it.
    Post {
        /// The message.
        draft: Draft,
        /// The author's own key for it.
        client_ref: Option<ClientRef>,
    },
    /// Close it.
    Close,
    /// Open it again.
    Reopen,
    /// Set it aside.
    Settle(SideState),
    /// Pin it, or no longer.
    Pin(bool),
    /// Confirm the pending proposal.
    Confirm,
    /// Fall back to the last confirmed state.
    Revert,
    /// Allow or forbid AI reactions to it, or to one message.
    LlmReply {
        /// Which of the two.
        allowed: bool,
        /// The message; the whole thread if absent.
        message: Option<MessageId>,
    },
    /// Say what one holds of a claim of it.
    Attest {
        /// The claim.
        claim: ClaimId,
        /// What is said.
        verdict: Verdict,
        /// What supports it.
        evidence: Vec<Evidence>,
        /// A remark.
        note: Option<String>,
    },
    /// Seal a claim of it.
    Seal(ClaimId),
    /// Let a durable message of another thread take effect on claims of this one.
    Reach {
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
    /// Give a message of it an image whose bytes are stored.
    Illustrate {
        /// The message.
        message: MessageId,
        /// The image.
        image: Image,
    },
}

/// Numbers that nobody has, for what the act brings into the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fresh {
    /// For the message.
    pub message: u64,
    /// For the first of its claims; the others count on from it.
    pub claims: u64,
    /// For the attestation.
    pub attestation: u64,
}
