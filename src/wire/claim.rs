//! A claim as it goes out (section 11).

use parley_actors::view::View;
use parley_language::claim::Entry;
use parley_language::envelope::Evidence;
use parley_language::words::{ClaimState, Verdict};
use parley_language::{AttestationId, ClaimId, MessageId, ThreadId, Time};
use schemars::JsonSchema;
use serde::Serialize;

/// A claim with everything that was said of it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ClaimObject {
    /// Its id.
    pub id: ClaimId,
    /// The thread that asserted it.
    pub thread: ThreadId,
    /// The message that asserted it.
    pub message: MessageId,
    /// What is claimed.
    pub statement: String,
    /// Where it stands.
    pub state: ClaimState,
    /// Whether it is verified and a refutation stands all the same.
    pub contested: bool,
    /// The line that asserted it.
    pub by: String,
    /// What supports it.
    pub evidence: Vec<Evidence>,
    /// What was said of it, oldest first.
    pub attestations: Vec<AttestationObject>,
    /// The claim that replaced it.
    pub superseded_by: Option<ClaimId>,
    /// The line that sealed it.
    pub verified_by: Option<String>,
    /// When it was sealed.
    pub verified_at: Option<Time>,
}

/// One word on a claim: an attestation, or a message that refutes it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AttestationObject {
    /// Its id; null for a message.
    pub id: Option<AttestationId>,
    /// The message that refutes; null for an attestation.
    pub message: Option<MessageId>,
    /// The line that said it.
    pub by: String,
    /// What it says.
    pub verdict: Verdict,
    /// What supports it; a message carries its own.
    pub evidence: Vec<Evidence>,
    /// A remark.
    pub note: Option<String>,
    /// When.
    pub at: Time,
    /// Whether it counts: the newest word of its line, not the asserter's, not itself refuted.
    pub counts: bool,
}

impl ClaimObject {
    /// A claim of this thread, as its picture shows it.
    ///
    /// # Panics
    /// When the claim is none of the thread's.
    pub fn of(thread: ThreadId, view: &View, id: ClaimId) -> Self {
        let entry: &Entry = view.book.get(id).expect("the claim was found in this thread");
        let standing = view.book.standing(entry);
        let claim = entry.claim();
        let words = entry.words.iter().zip(&standing.counts);
        let attestations = words.map(|(word, counts)| {
            let told = word.attestation.as_deref();
            AttestationObject {
                id: told.map(|told| told.id),
                message: word.message(),
                by: word.by.line.to_string(),
                verdict: word.verdict,
                evidence: told.map(|told| told.evidence.clone()).unwrap_or_default(),
                note: told.and_then(|told| told.note.clone()),
                at: word.at,
                counts: *counts,
            }
        });
        Self {
            id,
            thread,
            message: entry.message.id,
            statement: claim.statement.clone(),
            state: standing.state,
            contested: standing.contested,
            by: entry.by.line.to_string(),
            evidence: claim.evidence.clone(),
            attestations: attestations.collect(),
            superseded_by: entry.superseded_by,
            verified_by: entry.seal.as_ref().map(|seal| seal.by.to_string()),
            verified_at: entry.seal.as_ref().map(|seal| seal.at),
        }
    }
}
