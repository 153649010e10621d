//! Inboxes: what is owed, how far an author has read, and waiting for more.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use parley_journal::{Position, Stream};
use parley_language::{Author, Refusal, ThreadId};

use super::answer::stored;
use super::{Registry, now};
use crate::desk::Refresh;
use crate::lines::{LineEvent, Used};
use crate::record;

impl Registry {
    /// How far an author has acknowledged its inbox; 0 if never.
    pub fn acknowledged(&self, author: &Author) -> Position {
        self.0.lines.acknowledged(author)
    }

    /// Remembers how far an author has read, durably. It never goes back: of two acknowledgements the later place
    /// holds, in whatever order they come in. Answers what is remembered.
    ///
    /// # Errors
    /// `invalid_body` for a position that was never shown to anybody; `unavailable`, `internal`.
    pub async fn acknowledge(
        &self,
        author: &Author,
        cursor: Position,
    ) -> Result<Position, Refusal> {
        if cursor > self.0.feed.caught_up().await {
            let error = "`cursor` was never issued here; send the `cursor` of an inbox";
            return Err(Refusal::field("cursor", "cursor", error));
        }
        let acknowledged = self.acknowledged(author);
        if cursor <= acknowledged {
            return Ok(acknowledged);
        }
        let extension = author.extension.clone();
        let event = LineEvent::Acknowledged { extension, cursor, at: now() };
        self.0.lines.write(&*self.0.journal, &author.line, &event).await.map_err(stored)?;
        Ok(self.acknowledged(author))
    }

    /// The sub-lines that a line used last, newest first.
    pub fn extensions(&self, line: &str) -> Vec<Used> {
        self.0.lines.used(line)
    }

    /// Remembers that a sub-line was used, beside the caller's way.
    pub(super) fn note_use(&self, author: &Author) {
        let at = now();
        let Some(extension) = author.extension.clone() else { return };
        if !self.0.lines.is_new_use(author, at) {
            return;
        }
        let (registry, line) = (self.clone(), Arc::clone(&author.line));
        actix::spawn(async move {
            let event = LineEvent::Used { extension, at };
            let written = registry.0.lines.write(&*registry.0.journal, &line, &event).await;
            if let Err(error) = written {
                tracing::warn!(%line, %error, "a sub-line is not remembered");
            }
        });
    }

    /// Follows the journal for the feed, for ever. To be spawned once.
    pub fn keep_feed(&self) -> impl Future<Output = ()> + use<> {
        let house = Arc::downgrade(&self.0);
        let mut tip = self.0.journal.tip();
        async move {
            loop {
                let Some(inner) = house.upgrade() else { return };
                let registry = Self(inner);
                let open = async |stream: Stream| match stream.kind {
                    record::DESK => drop(registry.0.desk.send(Refresh).await),
                    _ => drop(registry.view(ThreadId::new(stream.number)).await),
                };
                match registry.0.feed.step(open).await {
                    Ok(()) if *tip.borrow_and_update() > registry.0.feed.position() => continue,
                    Ok(()) => {}
                    Err(error) => {
                        tracing::error!(%error, "the feed cannot read the journal");
                        tokio::time::sleep(Duration::from_millis(500)).await;
                        continue;
                    }
                }
                drop(registry);
                if tip.changed().await.is_err() {
                    return;
                }
            }
        }
    }
}
