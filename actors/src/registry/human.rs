//! Signing in and out, passwords and links.

use std::sync::Arc;

use parley_language::{Refusal, Time};

use super::answer::stored;
use super::{Registry, now};
use crate::human::{Hash, Human, HumanEvent, Proof};

impl Registry {
    /// The human's door.
    pub fn human(&self) -> &Human {
        &self.0.human
    }

    /// Opens a session that is good for so many milliseconds; none if the link is used up, too old or none.
    ///
    /// # Errors
    /// `unavailable`, `internal`.
    pub async fn sign_in(
        &self,
        proof: Proof,
        session: Hash,
        lasts_ms: u64,
    ) -> Result<Option<Time>, Refusal> {
        let (journal, at) = (&*self.0.journal, now());
        let ends = Time(at.0 + lasts_ms);
        let opened = self.0.human.sign_in(journal, proof, session, at, ends).await;
        opened.map(|opened| opened.then_some(ends)).map_err(stored)
    }

    /// Ends a session.
    ///
    /// # Errors
    /// `unavailable`, `internal`.
    pub async fn sign_out(&self, session: Hash) -> Result<(), Refusal> {
        self.tell_human(HumanEvent::SessionEnded { session }).await
    }

    /// Sets the password by its hash, and ends every session and the link.
    ///
    /// # Errors
    /// `unavailable`, `internal`.
    pub async fn set_password(&self, hash: Arc<str>) -> Result<(), Refusal> {
        self.tell_human(HumanEvent::PasswordSet { hash, at: now() }).await
    }

    /// Makes a one-time link by the hash of its secret; an older one is over.
    ///
    /// # Errors
    /// `unavailable`, `internal`.
    pub async fn make_link(&self, link: Hash, lasts_ms: u64) -> Result<Time, Refusal> {
        let expires_at = Time(now().0 + lasts_ms);
        self.tell_human(HumanEvent::LinkMade { link, expires_at }).await.map(|()| expires_at)
    }

    async fn tell_human(&self, event: HumanEvent) -> Result<(), Refusal> {
        self.0.human.tell(&*self.0.journal, &event).await.map_err(stored)
    }
}
