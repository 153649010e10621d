//! Yes or no to what is done with claims and images of a thread (section 5, 13.6, 13.7).

use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec;

use super::Thread;
use crate::author::Speaker;
use crate::claim::{Entry, Target, targets};
use crate::event::{Attestation, Fact, Image};
use crate::id::{ClaimId, MessageId};
use crate::reason::{Details, Reason, Refusal};
use crate::words::{ClaimState, Verdict};

impl Thread {
    /// An attestation is a reaction: where the human forbade those, a token's is refused like its message.
    pub(super) fn attest(
        &self,
        speaker: &Speaker,
        claim: ClaimId,
        attestation: Attestation,
    ) -> Result<Fact, Refusal> {
        let entry = self.claim(claim)?;
        self.unlocked()?;
        let place = self.place(entry.message.id).expect("a claim's message is in its thread");
        self.llm_allowed(speaker, &self.said[place])?;
        if attestation.verdict == Verdict::Refutes && attestation.evidence.is_empty() {
            let error = "a refutation needs proof: attach at least one piece of `evidence`";
            return Err(Refusal::new(Reason::EvidenceRequired, error));
        }
        current(claim, entry)?;
        let attestation = Arc::new(attestation);
        Ok(Fact::Attested { claim, attestation, seals: speaker.may_seal() })
    }

    /// Sealing. That the speaker may seal at all is asked at the door; here, whether it is independent: neither the
    /// asserting line nor one that ever supported the claim. The human always is.
    pub(super) fn seal(&self, speaker: &Speaker, claim: ClaimId) -> Result<Option<Fact>, Refusal> {
        let entry = self.claim(claim)?;
        self.unlocked()?;
        current(claim, entry)?;
        let line = &*speaker.author.line;
        let part = match () {
            () if speaker.is_human() => None,
            () if *entry.by.line == *line => Some("asserted"),
            () if entry.was_supported_by(line) => Some("supported"),
            () => None,
        };
        if let Some(part) = part {
            let error =
                format!("{line} {part} {claim}; another `verify` holder or the human seals it");
            return Err(Refusal::new(Reason::Forbidden, error));
        }
        let standing = self.book.standing(entry);
        let sealed = standing.state == ClaimState::Verified && !standing.contested;
        Ok((!sealed).then_some(Fact::Sealed { claim }))
    }

    /// What a message of another thread does here. It is said already, so nobody is refused: in a locked thread
    /// nothing happens, because the lock came first, and what was told once is not told again.
    pub(super) fn reached(&self, message: MessageId, fact: Fact) -> Option<Fact> {
        (!self.standing.locked && !self.book.knows(message, &fact)).then_some(fact)
    }

    /// An image for one's own message.
    pub(super) fn illustrate(
        &self,
        speaker: &Speaker,
        message: MessageId,
        image: Image,
    ) -> Result<Fact, Refusal> {
        let said = self.place(message).map(|place| &self.said[place]).ok_or_else(|| {
            Refusal::new(Reason::NotFound, format!("{message} is no message of {}", self.id))
        })?;
        self.unlocked()?;
        illustrable(message, &said.by.line, said.shows, speaker)?;
        Ok(Fact::Illustrated { message, image })
    }

    /// Whether every claim of this thread that a message refutes is the newest word of its author.
    pub(super) fn refutes_current(&self, refutes: &[String]) -> Result<(), Refusal> {
        targets(refutes).try_for_each(|target| match target {
            Target::Claim(claim) => {
                self.book.get(claim).map_or(Ok(()), |entry| current(claim, entry))
            }
            Target::Refutation(_) => Ok(()),
        })
    }

    fn claim(&self, claim: ClaimId) -> Result<&Entry, Refusal> {
        self.book.get(claim).map(|entry| &**entry).ok_or_else(|| {
            Refusal::new(Reason::ClaimNotFound, format!("{claim} is no claim of {}", self.id))
                .then("get_threads_id_claims", vec![("id", self.id.to_string())])
        })
    }
}

/// Whether a message of this line can be given an image by this speaker.
///
/// # Errors
/// `conflict` for one that has a `url` or an image, `forbidden` for another's.
pub fn illustrable(
    message: MessageId,
    by: &str,
    shows: bool,
    speaker: &Speaker,
) -> Result<(), Refusal> {
    if shows {
        let error = format!("{message} has a `url` or an image, and never both or two");
        return Err(Refusal::new(Reason::Conflict, error));
    }
    if by != &*speaker.author.line {
        let error = format!("{message} is {by}'s; only its author adds an image");
        return Err(Refusal::new(Reason::Forbidden, error));
    }
    Ok(())
}

/// Whether a claim was not replaced.
///
/// # Errors
/// `claim_superseded`, naming the newer one.
pub fn current(claim: ClaimId, entry: &Entry) -> Result<(), Refusal> {
    let Some(newer) = entry.superseded_by else { return Ok(()) };
    let error = format!("{claim} was replaced by {newer}; use that one");
    Err(Refusal::new(Reason::ClaimSuperseded, error)
        .with(Details { existing: Some(newer.to_string()), ..Details::default() })
        .then("get_claims_id", vec![("id", newer.to_string())]))
}
