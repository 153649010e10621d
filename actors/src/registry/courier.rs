//! The courier: tells threads what messages elsewhere do to their claims, when the author's own call could not.
//!
//! It follows the feed, so it sees every message again; telling twice is telling once. How far it has come is written
//! down now and then, and what came after is looked at again after a start.

use std::future::Future;
use std::time::Duration;

use parley_journal::{Position, Stored};
use parley_language::ThreadId;
use parley_language::claim::related_claims;
use parley_language::event::{Event, Saying};
use parley_language::words::Kind;

use super::{Bookmark, Registry};
use crate::record;

/// After how many records the courier writes down how far it is.
const RECORDS_PER_NOTE: u64 = 4_096;
impl Registry {
    /// Delivers, for ever. To be spawned once.
    pub fn keep_courier(&self) -> impl Future<Output = ()> + use<> {
        let house = std::sync::Arc::downgrade(&self.0);
        let mut feed = self.0.feed.follow();
        async move {
            let mut mark = None;
            loop {
                let Some(inner) = house.upgrade() else { return };
                let registry = Self(inner);
                let upto = *feed.borrow_and_update();
                if let Err(error) = registry.carry(&mut mark, upto).await {
                    tracing::warn!(error, "an effect on another thread is delivered later");
                    drop(registry);
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    continue;
                }
                drop(registry);
                if feed.changed().await.is_err() {
                    return;
                }
            }
        }
    }

    async fn carry(&self, mark: &mut Option<Bookmark>, upto: Position) -> Result<(), String> {
        let mark = match mark {
            Some(mark) => mark,
            None => mark.insert(self.bookmark(record::COURIER).await?),
        };
        while mark.reached < upto {
            let batch = self.0.feed.after(mark.reached, 512).await.map_err(|e| e.to_string())?;
            if batch.is_empty() {
                return Ok(());
            }
            for stored in &batch {
                self.carry_one(stored).await?;
                mark.reached = stored.position;
            }
        }
        if mark.ahead() >= RECORDS_PER_NOTE {
            self.write_bookmark(mark).await;
        }
        Ok(())
    }

    async fn carry_one(&self, stored: &Stored) -> Result<(), String> {
        if stored.stream.kind != record::THREADS {
            return Ok(());
        }
        let event: Event = record::decode(&stored.body).map_err(|error| error.to_string())?;
        let Some(said) = event.fact.said().filter(reaches) else { return Ok(()) };
        let home = ThreadId::new(stored.stream.number);
        self.deliver(home, &event.by, said).await.map_err(|refusal| refusal.error)
    }
}

/// Whether a message may do something to claims of other threads.
pub(super) fn reaches(said: &Saying<'_>) -> bool {
    let message = said.message;
    let replaces = message.kind == Kind::Refine && !message.claims.is_empty();
    !message.refutes.is_empty()
        || (replaces && related_claims(&message.relates_to).next().is_some())
}
