//! Claims: reading them, attesting and sealing them, each where it was asserted.

use std::sync::Arc;

use parley_language::envelope::Evidence;
use parley_language::event::Image;
use parley_language::thread::Act;
use parley_language::words::Verdict;
use parley_language::{ClaimId, MessageId, Refusal, Speaker, ThreadId};

use super::Registry;
use super::answer::{no, not_found_message};
use crate::record;
use crate::thread::Outcome;
use crate::view::View;

impl Registry {
    /// The picture of the thread that asserted a claim.
    ///
    /// # Errors
    /// `claim_not_found`, `unavailable`.
    pub async fn claim(&self, claim: ClaimId) -> Result<(ThreadId, Arc<View>), Refusal> {
        self.claims_thread(claim).await
    }

    /// Attests a claim.
    ///
    /// # Errors
    /// `claim_not_found`, `thread_closed`, `llm_reply_forbidden`, `evidence_required`, `claim_superseded`;
    /// `unavailable`, `internal`.
    pub async fn attest(
        &self,
        claim: ClaimId,
        speaker: Speaker,
        verdict: Verdict,
        evidence: Vec<Evidence>,
        note: Option<String>,
    ) -> Result<(ThreadId, Arc<View>), Refusal> {
        let author = speaker.author.clone();
        let done = self
            .act_on_claim(claim, speaker, Act::Attest { claim, verdict, evidence, note })
            .await?;
        self.note_use(&author);
        Ok(done)
    }

    /// Seals a claim.
    ///
    /// # Errors
    /// `claim_not_found`, `thread_closed`, `claim_superseded`, `forbidden` for whoever asserted or supported it;
    /// `unavailable`, `internal`.
    pub async fn seal(
        &self,
        claim: ClaimId,
        speaker: Speaker,
    ) -> Result<(ThreadId, Arc<View>), Refusal> {
        self.act_on_claim(claim, speaker, Act::Seal(claim)).await
    }

    async fn act_on_claim(
        &self,
        claim: ClaimId,
        speaker: Speaker,
        act: Act,
    ) -> Result<(ThreadId, Arc<View>), Refusal> {
        let (thread, _) = self.claims_thread(claim).await?;
        match self.ask(thread, speaker, act, None).await? {
            Outcome::Made { .. } | Outcome::Unchanged { .. } => {
                Ok((thread, self.view(thread).await?))
            }
            other => Err(no(other)),
        }
    }

    /// The thread of a message.
    ///
    /// # Errors
    /// `not_found`, `unavailable`.
    pub async fn thread_of(&self, message: MessageId) -> Result<ThreadId, Refusal> {
        let thread = self.locate(record::MESSAGE_NUMBERS, message.number).await?;
        thread.map(ThreadId::new).ok_or_else(|| not_found_message(message))
    }

    /// Gives a message an image whose bytes are stored.
    pub(super) async fn illustrate(
        &self,
        message: MessageId,
        speaker: Speaker,
        image: Image,
    ) -> Result<(), Refusal> {
        let thread = self.thread_of(message).await?;
        self.act(thread, speaker, Act::Illustrate { message, image }).await.map(drop)
    }
}
