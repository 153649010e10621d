//! What a caller must hold for an operation.

use parley_language::reason::{Details, Reason, Refusal};
use parley_language::words::Right;

use crate::caller::Caller;

/// What a caller must hold. Standing in a thread is the language's affair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Nothing, not even a token.
    Public,
    /// Any token, or the human.
    Read,
    /// The right `write`.
    Write,
    /// `write` here; authority over the thread is decided where the thread is.
    Authority,
    /// `write` here; whether its mark counts is decided where the thread is.
    Confirmer,
    /// One of the rights `pin`, `lock`, `verify`, `grant`.
    Right(Right),
    /// The human.
    Human,
}

impl Needs {
    /// Whether a caller holds what is needed.
    ///
    /// # Errors
    /// The reason that names what is missing.
    pub fn admit(self, caller: &Caller) -> Result<(), Refusal> {
        let holder = match (self, caller) {
            (Self::Public, _) | (_, Caller::Human(_)) => return Ok(()),
            (_, Caller::Nobody(_)) => return Err(unauthenticated()),
            (_, Caller::Token(holder)) => holder,
        };
        match self {
            Self::Public | Self::Read => Ok(()),
            Self::Write | Self::Authority | Self::Confirmer if holder.rights.has(Right::Write) => {
                Ok(())
            }
            Self::Write | Self::Authority | Self::Confirmer => {
                Err(lacks(Reason::TokenReadOnly, Right::Write))
            }
            Self::Right(right) if holder.rights.has(right) => Ok(()),
            Self::Right(Right::Verify) => Err(lacks(Reason::VerifyRightMissing, Right::Verify)),
            Self::Right(right) => Err(lacks(Reason::TokenRightMissing, right)),
            Self::Human => {
                let error = "only the human may do this, signed in; leave it to them";
                Err(Refusal::new(Reason::UserSessionRequired, error))
            }
        }
    }

    /// The word for it, as `get_api_operation` tells it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Read => "read",
            Self::Write => "write",
            Self::Authority => "write and authority over the thread",
            Self::Confirmer => "write and standing as a confirmer",
            Self::Right(right) => right.name(),
            Self::Human => "human",
        }
    }
}

/// The refusal of a missing or unknown credential.
pub(crate) fn unauthenticated() -> Refusal {
    let error = "a valid token is needed: send `Authorization: Bearer <token>`; apply for one with post_tokens_request";
    Refusal::new(Reason::Unauthenticated, error)
}

fn lacks(reason: Reason, right: Right) -> Refusal {
    let error = format!("this token lacks the right `{}`; ask the operator for it", right.name());
    Refusal::new(reason, error)
        .with(Details { allowed: vec![right.name().into()], ..Details::default() })
}
