//! What a caller is told when its act was not made.

use std::sync::atomic::{AtomicU64, Ordering};

use parley_journal::AppendError;
use parley_language::reason::Details;
use parley_language::{MessageId, Reason, Refusal, ThreadId};

use super::now;
use crate::thread::Outcome;

pub(super) fn not_found(thread: ThreadId) -> Refusal {
    Refusal::new(
        Reason::ThreadNotFound,
        format!("there is no {thread}; list threads with get_threads"),
    )
    .then("get_threads", vec![])
}

pub(super) fn not_found_message(message: MessageId) -> Refusal {
    Refusal::new(Reason::NotFound, format!("there is no {message}; read its thread"))
}

pub(super) fn no(outcome: Outcome) -> Refusal {
    match outcome {
        Outcome::Refused(refusal) => refusal,
        Outcome::Unavailable(why) => unavailable(&why),
        Outcome::Unknown(why) => unknown(&why),
        Outcome::Made { .. } | Outcome::Unchanged { .. } | Outcome::Duplicate { .. } => {
            unknown("an answer to another question")
        }
    }
}

/// What is said of an append that was not acknowledged.
pub(super) fn stored(error: AppendError) -> Refusal {
    match error {
        AppendError::Unknown(why) => unknown(&why),
        AppendError::Conflict { .. } | AppendError::Duplicate { .. } | AppendError::Refused(_) => {
            unavailable(&error.to_string())
        }
    }
}

/// `unavailable` promises that nothing was stored.
pub(super) fn unavailable(why: &str) -> Refusal {
    Refusal::new(
        Reason::Unavailable,
        format!("{why}; nothing was stored, repeat the call a little later"),
    )
    .with(Details {
        outcome: Some("not_stored"),
        retry_after_seconds: Some(1),
        ..Details::default()
    })
}

/// The outcome is unknown: `internal`, with the id under which the log has it.
pub(super) fn unknown(why: &str) -> Refusal {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let log_id = format!("f{:x}-{}", now().0, COUNT.fetch_add(1, Ordering::Relaxed));
    tracing::error!(log_id, why, "the outcome of a write is unknown");
    Refusal::new(Reason::Internal, "the outcome of this write is unknown; repeat it with the same client_ref, or read the thread")
        .with(Details { outcome: Some("unknown"), log_id: Some(log_id), ..Details::default() })
}
