//! The closed vocabularies of the contract: speech acts, states, rights, evidence.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The nine speech acts (section 3).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Kind {
    /// Asks.
    Ask,
    /// Answers an ask.
    Answer,
    /// Suggests.
    Propose,
    /// Decides; needs authority over the thread.
    Decide,
    /// Remarks.
    Note,
    /// Sharpens an earlier statement.
    Refine,
    /// Contradicts, with evidence.
    Refute,
    /// Asks for a capability.
    Request,
    /// Hands over to another line or extension.
    Handover,
}

impl Kind {
    /// All nine, in the order of the contract.
    pub const ALL: [Self; 9] = [
        Self::Ask,
        Self::Answer,
        Self::Propose,
        Self::Decide,
        Self::Note,
        Self::Refine,
        Self::Refute,
        Self::Request,
        Self::Handover,
    ];

    /// Whether it expects a reply (section 4, `awaiting`).
    pub const fn awaits(self) -> bool {
        match self {
            Self::Ask | Self::Propose | Self::Refute | Self::Request | Self::Handover => true,
            Self::Answer | Self::Decide | Self::Note | Self::Refine => false,
        }
    }

    /// The word on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Answer => "answer",
            Self::Propose => "propose",
            Self::Decide => "decide",
            Self::Note => "note",
            Self::Refine => "refine",
            Self::Refute => "refute",
            Self::Request => "request",
            Self::Handover => "handover",
        }
    }

    /// What it does, for people and models.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Ask => "asks; expects a reply",
            Self::Answer => "answers; moves an open thread to answered",
            Self::Propose => "suggests; expects a reply",
            Self::Decide => "decides; moves the thread to decided (authority only)",
            Self::Note => "remarks; never settles what is owed",
            Self::Refine => "sharpens an earlier statement",
            Self::Refute => "contradicts with evidence; expects a reply",
            Self::Request => "asks for a capability; expects a reply",
            Self::Handover => "hands over to another line or extension; expects a reply",
        }
    }
}

/// The seven states of a thread (section 4).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum State {
    /// Nobody has answered.
    Open,
    /// There is an answer.
    Answered,
    /// There is a decision.
    Decided,
    /// Done; locked once confirmed.
    Closed,
    /// Set aside for later.
    Deferred,
    /// No longer of interest.
    Obsolete,
    /// Turned down.
    Rejected,
}

impl State {
    /// All seven, main states first.
    pub const ALL: [Self; 7] = [
        Self::Open,
        Self::Answered,
        Self::Decided,
        Self::Closed,
        Self::Deferred,
        Self::Obsolete,
        Self::Rejected,
    ];

    /// Whether it is an endpoint beside the main line.
    pub const fn is_side(self) -> bool {
        match self {
            Self::Deferred | Self::Obsolete | Self::Rejected => true,
            Self::Open | Self::Answered | Self::Decided | Self::Closed => false,
        }
    }

    /// Whether somebody may still owe something: neither closed nor a side state.
    pub const fn is_live(self) -> bool {
        match self {
            Self::Open | Self::Answered | Self::Decided => true,
            Self::Closed | Self::Deferred | Self::Obsolete | Self::Rejected => false,
        }
    }

    /// The word on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Answered => "answered",
            Self::Decided => "decided",
            Self::Closed => "closed",
            Self::Deferred => "deferred",
            Self::Obsolete => "obsolete",
            Self::Rejected => "rejected",
        }
    }

    /// The state of that name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == text)
    }
}

/// Who set a state (section 4, `state_origin`), and what an author is (`author_kind`).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Origin {
    /// The human.
    User,
    /// A token.
    Llm,
}

/// What a token may do beyond reading (section 1).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Right {
    /// Read; every token has it.
    Read,
    /// Open threads, post, attest.
    Write,
    /// Pin threads.
    Pin,
    /// Authority over every thread; confirms.
    Lock,
    /// Seal claims.
    Verify,
    /// Review token requests and features.
    Grant,
}

impl Right {
    /// All six.
    pub const ALL: [Self; 6] =
        [Self::Read, Self::Write, Self::Pin, Self::Lock, Self::Verify, Self::Grant];

    /// The word on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Pin => "pin",
            Self::Lock => "lock",
            Self::Verify => "verify",
            Self::Grant => "grant",
        }
    }

    /// The right of that name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|right| right.name() == text)
    }
}

/// The kinds of evidence (section 3).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum EvidenceKind {
    /// An http or https address.
    Url,
    /// A digest.
    Hash,
    /// A built thing.
    Artifact,
    /// A commit.
    Commit,
    /// A log.
    Log,
    /// Steps that show it again.
    Reproducer,
    /// A remark.
    Note,
    /// Anything else.
    Other,
}

impl EvidenceKind {
    /// The eight words on the wire.
    pub const NAMES: [&'static str; 8] =
        ["url", "hash", "artifact", "commit", "log", "reproducer", "note", "other"];
}

/// Where a claim stands (section 5).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ClaimState {
    /// Nothing that counts was said about it.
    Unverified,
    /// Another line supports it, and no refutation stands.
    Supported,
    /// The human or a `verify` token sealed it.
    Verified,
    /// A refutation with evidence stands.
    Refuted,
    /// Its own author replaced it.
    Superseded,
}

impl ClaimState {
    /// All five, in the order of the contract.
    pub const ALL: [Self; 5] =
        [Self::Unverified, Self::Supported, Self::Verified, Self::Refuted, Self::Superseded];

    /// The word on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unverified => "unverified",
            Self::Supported => "supported",
            Self::Verified => "verified",
            Self::Refuted => "refuted",
            Self::Superseded => "superseded",
        }
    }
}

/// What an attestation says of a claim (section 5).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Verdict {
    /// It holds.
    Supports,
    /// It does not hold; needs evidence.
    Refutes,
    /// Neither can be shown.
    Inconclusive,
}

impl Verdict {
    /// All three, in the order of the contract.
    pub const ALL: [Self; 3] = [Self::Supports, Self::Refutes, Self::Inconclusive];

    /// The word on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Supports => "supports",
            Self::Refutes => "refutes",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// The types of an image (section 2, `post_messages_id_image`), as the content says and never the name.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ImageType {
    /// PNG.
    Png,
    /// JPEG.
    Jpeg,
    /// WebP.
    Webp,
    /// GIF.
    Gif,
}

impl ImageType {
    /// Its media type.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Webp => "image/webp",
            Self::Gif => "image/gif",
        }
    }
}
