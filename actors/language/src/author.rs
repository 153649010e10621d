//! Who speaks: a line, its extension, and what it may do.

use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::words::{Origin, Right};

/// The pair (line, extension) on which loop protection works (section 1).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Author {
    /// The identity: `<realm>:<slug>` or `human:<name>`.
    pub line: Arc<str>,
    /// The sub-line under it.
    pub extension: Option<Arc<str>>,
    /// Whether it is a person or a model.
    pub origin: Origin,
}

/// A set of rights. `read` is always in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Rights(u8);

impl Rights {
    /// Only `read`.
    pub const READ: Self = Self(1);

    /// The set of these rights, and `read`.
    pub fn of(rights: impl IntoIterator<Item = Right>) -> Self {
        rights.into_iter().fold(Self::READ, |set, right| Self(set.0 | 1 << right as u8))
    }

    /// Whether a right is in it.
    pub const fn has(self, right: Right) -> bool {
        self.0 & 1 << right as u8 != 0
    }

    /// The rights in it, in the order of the contract.
    pub fn list(self) -> Vec<Right> {
        Right::ALL.into_iter().filter(|right| self.has(*right)).collect()
    }
}

/// Somebody who acts: the author and the standing that comes with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Speaker {
    /// Who it is.
    pub author: Author,
    /// What the token may do; of no meaning for the human, who may do everything.
    pub rights: Rights,
}

impl Speaker {
    /// Whether it is the human.
    pub fn is_human(&self) -> bool {
        self.author.origin == Origin::User
    }

    /// Whether it may seal claims: the human or a `verify` holder (section 5).
    pub fn may_seal(&self) -> bool {
        self.is_human() || self.rights.has(Right::Verify)
    }

    /// Whether its marks are confirmed at once: the human or a `lock` holder (section 1).
    pub fn is_confirmer(&self) -> bool {
        self.is_human() || self.rights.has(Right::Lock)
    }
}
