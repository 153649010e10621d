//! The search: an index of its own, fed from the journal by a thread of its own.
//!
//! What it knows can be thrown away: it says up to which position it was fed, and is fed from there.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parley_actors::{Registry, record};
use parley_journal::{Position, Stored};
use parley_language::event::Event;
use parley_language::{Refusal, ThreadId};
use parley_search::{Document, Error, Filter, Hits, Index, Kind, Place, Searcher};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::operation::fault;

/// How many records are fed before the index is committed at the latest.
const STEP: usize = 512;
/// How long a search waits for the index to come to what was acknowledged before it.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a commit waits for more, so that a busy server commits some together.
const GATHER: Duration = Duration::from_millis(20);

/// The search. Clones share everything.
#[derive(Clone)]
pub struct Search {
    searcher: Searcher,
    registry: Registry,
    position: watch::Receiver<Position>,
    _feeding: Arc<Feeding>,
}

/// The feeding ends with the last handle.
struct Feeding(Arc<AtomicBool>);

impl Drop for Feeding {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Search {
    /// Opens the index in a folder and feeds it from now on. Must run in an actix system.
    ///
    /// # Errors
    /// A folder that is in use or cannot be used.
    pub fn open(registry: Registry, folder: &Path) -> Result<Self, Error> {
        let (mut index, mut from) = Index::open(folder)?;
        if from > registry.feed().position() {
            tracing::warn!(from, "the search index is of another journal, it is made anew");
            drop(index);
            std::fs::remove_dir_all(folder)?;
            (index, from) = Index::open(folder)?;
        }
        let searcher = index.searcher();
        let (fed, position) = watch::channel(from);
        let over = Arc::new(AtomicBool::new(false));
        actix_web::rt::spawn(feed(registry.clone(), index, fed, Arc::clone(&over)));
        Ok(Self { searcher, registry, position, _feeding: Arc::new(Feeding(over)) })
    }

    /// Finds texts. What was acknowledged before the call is found, unless the index is far behind.
    ///
    /// # Errors
    /// `internal` when the index cannot be read.
    pub async fn find(
        &self,
        query: String,
        filter: Filter,
        limit: usize,
        after: Option<Place>,
    ) -> Result<Hits, Refusal> {
        let now = self.registry.feed().caught_up().await;
        let mut position = self.position.clone();
        let come = position.wait_for(|position| *position >= now);
        if !matches!(timeout(PATIENCE, come).await, Ok(Ok(_))) {
            tracing::warn!("the search index is behind");
        }
        let searcher = self.searcher.clone();
        let found =
            tokio::task::spawn_blocking(move || searcher.search(&query, filter, limit, after));
        match found.await {
            Ok(Ok(hits)) => Ok(hits),
            Ok(Err(error)) => Err(fault(&error)),
            Err(error) => Err(fault(&error)),
        }
    }
}

/// Feeds the index, until nobody holds the search any more.
async fn feed(
    registry: Registry,
    mut index: Index,
    fed: watch::Sender<Position>,
    over: Arc<AtomicBool>,
) {
    let mut news = registry.feed().follow();
    while !over.load(Ordering::SeqCst) {
        let from = *fed.borrow();
        let newest = *news.borrow_and_update();
        if from >= newest {
            if timeout(Duration::from_secs(1), news.changed()).await.is_ok_and(|it| it.is_err()) {
                return;
            }
            tokio::time::sleep(GATHER).await;
            continue;
        }
        let batch = match registry.feed().after(from, STEP).await {
            Ok(batch) => batch,
            Err(error) => {
                tracing::error!(%error, "the search cannot read the journal");
                tokio::time::sleep(Duration::from_secs(1)).await;
                continue;
            }
        };
        let Some(last) = batch.last().map(|stored| stored.position) else { continue };
        let documents: Vec<Document> =
            batch.iter().flat_map(|stored| documents(&registry, stored)).collect();
        let written = tokio::task::spawn_blocking(move || {
            for document in documents {
                index.add(document)?;
            }
            index.commit(last)?;
            Ok::<Index, Error>(index)
        });
        match written.await {
            Ok(Ok(written)) => index = written,
            Ok(Err(error)) => {
                tracing::error!(%error, "the search stands still until the next start");
                return;
            }
            Err(error) => {
                tracing::error!(%error, "the search stands still until the next start");
                return;
            }
        }
        fed.send_replace(last);
    }
}

/// What a record brings to be found: a title, a body, claims.
fn documents(registry: &Registry, stored: &Stored) -> Vec<Document> {
    if stored.stream.kind != record::THREADS {
        return Vec::new();
    }
    let thread = ThreadId::new(stored.stream.number);
    let Ok(event) = record::decode::<Event>(&stored.body) else { return Vec::new() };
    let (Some(said), Ok(line)) = (event.fact.said(), registry.known(thread)) else {
        return Vec::new();
    };
    let document = |kind, number, text: &str| Document {
        kind,
        number,
        thread: thread.number,
        board: line.board,
        text: text.to_owned(),
        time: event.at.0,
    };
    let message = said.message;
    let mut documents = vec![document(Kind::Message, message.id.number, &message.body)];
    if said.board.is_some() {
        documents.push(document(Kind::Thread, thread.number, &line.title));
    }
    documents.extend(
        message.claims.iter().map(|claim| document(Kind::Claim, claim.id.number, &claim.statement)),
    );
    documents
}
