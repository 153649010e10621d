//! Writes frozen generations to the trees, beside the committer's way.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::{Builder, JoinHandle};

use super::index::Trees;
use super::shared::{Shared, write};
use super::table::Table;
use crate::ReadError;

/// How many times the checkpoint's size may gather in memory before the committer waits for the writer. This bounds
/// what a start reads again when the disk is slower than the appends.
const SIZES_MAX: usize = 8;

/// The committer's end of the checkpoint thread.
#[derive(Debug)]
pub(super) struct Checkpointer {
    due: usize,
    work: Option<Sender<Arc<Table>>>,
    done: Receiver<()>,
    busy: bool,
    thread: Option<JoinHandle<()>>,
}

impl Checkpointer {
    /// Starts the thread.
    pub(super) fn start(shared: Arc<Shared>, trees: Trees, due: usize) -> Result<Self, ReadError> {
        let (work, tables) = channel();
        let (tell, done) = channel();
        let thread = Builder::new()
            .name("parley-checkpoint".into())
            .spawn(move || write_all(&shared, &trees, &tables, &tell))
            .map_err(|error| ReadError(format!("no thread for checkpoints: {error}")))?;
        let thread = Some(thread);
        Ok(Self { due: due.max(1), work: Some(work), done, busy: false, thread })
    }

    /// Begins a checkpoint if enough has gathered and the last one is through.
    pub(super) fn consider(&mut self, shared: &Shared) {
        let weight = super::shared::read(&shared.generations).active.weight;
        if weight < self.due || shared.trouble.get().is_some() {
            return;
        }
        if self.busy {
            let waits = weight >= self.due.saturating_mul(SIZES_MAX);
            let done = if waits {
                self.done.recv().map_err(|_| TryRecvError::Disconnected)
            } else {
                self.done.try_recv()
            };
            match done {
                Ok(()) => self.busy = false,
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => {
                    shared.fail("the checkpoint thread has ended");
                    return;
                }
            }
        }
        let frozen = write(&shared.generations).freeze();
        if let (Some(table), Some(work)) = (frozen, &self.work) {
            self.busy = work.send(table).is_ok();
        }
    }

    /// Waits for what is being written and ends the thread.
    pub(super) fn finish(&mut self, shared: &Shared) {
        self.work = None;
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            shared.fail("the checkpoint thread panicked");
        }
    }
}

/// The thread. A generation that could not be written stays frozen, so that lookups still find what is in it.
fn write_all(shared: &Shared, trees: &Trees, tables: &Receiver<Arc<Table>>, tell: &Sender<()>) {
    // Before the first generation, so that the filter misses nothing.
    if let Err(error) = fill(shared, trees) {
        tracing::warn!(%error, "every reference is looked for on disk from now on");
    }
    for table in tables {
        if let Err(error) = trees.write(&table) {
            shared.fail(&format!("a checkpoint failed: {error}"));
            return;
        }
        shared.filter.add(table.references.keys());
        write(&shared.generations).frozen = None;
        shared.counts.checkpoints.fetch_add(1, Ordering::Relaxed);
        if tell.send(()).is_err() {
            return;
        }
    }
}

fn fill(shared: &Shared, trees: &Trees) -> Result<(), ReadError> {
    for references in trees.references() {
        if shared.queue.is_ending() {
            return Ok(());
        }
        shared.filter.add(references?.iter());
    }
    shared.filter.complete();
    Ok(())
}
