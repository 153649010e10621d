//! The one who writes: takes what waits, checks it, stores it as one group, flushes once, and publishes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ::sled::IVec;

use super::checkpointer::Checkpointer;
use super::draft::{Draft, Verdict};
use super::index::{Trees, failed};
use super::queue::{Command, Ending, Waiter};
use super::shared::{Shared, lock, write};
use super::table::Place;
use crate::{AppendError, Position, ReadError, Stream};

/// The state of the committer's thread.
pub(super) struct Committer {
    shared: Arc<Shared>,
    checkpointer: Checkpointer,
    draft: Draft,
    batch: Vec<Command>,
    verdicts: Vec<Verdict>,
    next: Position,
}

impl Committer {
    /// A committer that goes on behind the tip.
    pub(super) fn new(shared: Arc<Shared>, trees: Trees, checkpointer: Checkpointer) -> Self {
        let next = *shared.tip.borrow() + 1;
        let draft = Draft::new(Arc::clone(&shared), trees);
        Self { shared, checkpointer, draft, batch: Vec::new(), verdicts: Vec::new(), next }
    }

    /// Works until the journal ends. A panic is a defect, but must not leave anyone without an answer.
    pub(super) fn run(mut self) {
        let ending = loop {
            if let Some(ending) = self.shared.queue.take(&mut self.batch) {
                break ending;
            }
            if catch_unwind(AssertUnwindSafe(|| self.commit())).is_err() {
                self.shared.fail("the committer panicked");
            }
            // Only a panic has left something here.
            for command in self.batch.drain(..) {
                if let Command::Append(waiter) = command {
                    waiter.answer(Err(AppendError::Unknown("the committer panicked".into())));
                }
            }
        };
        self.checkpointer.finish(&self.shared);
        if ending == Ending::Close && self.shared.trouble.get().is_none() {
            let table = write(&self.shared.generations).freeze();
            let written = table.map_or(Ok(()), |table| self.draft.trees.write(&table));
            if let Err(error) = written.and_then(|()| self.draft.trees.flush()) {
                tracing::warn!(%error, "the last checkpoint failed; the next start reads more");
            }
        }
    }

    fn commit(&mut self) {
        self.draft.clear();
        self.verdicts.clear();
        for command in &self.batch {
            if let Command::Append(waiter) = command {
                self.verdicts.push(self.draft.accept(&waiter.append));
            }
        }
        let stored = if self.draft.builder.records() == 0 { Ok(()) } else { self.store() };
        let failure = stored.err().map(|error| error.0);
        if let Some(failure) = &failure {
            self.shared.fail(failure);
        }
        self.answer(failure.as_deref());
        self.checkpointer.consider(&self.shared);
    }

    /// Writes the group and flushes it; then everybody may see it.
    fn store(&mut self) -> Result<(), ReadError> {
        let first = self.next;
        let records = self.draft.builder.records();
        let bytes = IVec::from(self.draft.builder.finish());
        let size = bytes.len() as u64;
        let trees = &self.draft.trees;
        let inserted = trees.journal.insert(first.to_be_bytes(), bytes.clone());
        inserted.map_err(|error| failed(&error))?;
        self.shared.flush(trees)?;
        self.next += u64::from(records);

        let counts = &self.shared.counts;
        counts.groups.fetch_add(1, Ordering::Relaxed);
        counts.records.fetch_add(u64::from(records), Ordering::Relaxed);
        counts.bytes.fetch_add(size, Ordering::Relaxed);
        self.publish(first);
        lock(&self.shared.recent).push(first, records, bytes);
        self.shared.tip.send_replace(self.next - 1);
        Ok(())
    }

    fn publish(&mut self, first: Position) {
        let mut generations = write(&self.shared.generations);
        let table = &mut generations.active;
        table.last = self.next - 1;
        let appends = self.batch.iter_mut().filter_map(|command| match command {
            Command::Append(waiter) => Some(&mut waiter.append),
            Command::Settle(_) | Command::Annotate { .. } => None,
        });
        for (append, verdict) in appends.zip(&self.verdicts) {
            let Ok(begin) = *verdict else { continue };
            let tail = table.tail(append.stream, append.expected);
            for (index, _) in (begin..).zip(&append.records) {
                tail.places.push(Place { position: first + u64::from(index), index });
            }
            tail.note = append.note.take();
            for (seq, record) in (append.expected..).zip(&append.records) {
                let numbers = record.numbers.iter().copied();
                table.index(append.stream, seq, record.reference, numbers.clone());
                numbers.for_each(|numbered| self.shared.raise(numbered));
            }
        }
    }

    /// Answers in the order of the queue. After a failed write nobody can say what became of the accepted appends,
    /// and what was refused because of them is refused for the failure.
    fn answer(&mut self, failure: Option<&str>) {
        // Only meaningful when the group was stored, and only used then.
        let first = self.next.saturating_sub(u64::from(self.draft.builder.records()));
        let mut verdicts = self.verdicts.drain(..);
        for command in self.batch.drain(..) {
            match command {
                Command::Append(waiter) => {
                    let Some(verdict) = verdicts.next() else { continue };
                    let result = match (verdict, failure) {
                        (Ok(index), None) => Ok(first + u64::from(index)),
                        (Ok(_), Some(failure)) => Err(AppendError::Unknown(failure.into())),
                        (Err(error), None) => Err(error),
                        (Err(_), Some(failure)) => Err(AppendError::Refused(failure.into())),
                    };
                    Waiter::answer(&waiter, result);
                }
                Command::Settle(waiter) => {
                    let _ = waiter.send(());
                }
                Command::Annotate { stream, length, note } => {
                    annotate(&self.shared, &mut self.draft, stream, length, note);
                }
            }
        }
    }
}

fn annotate(shared: &Shared, draft: &mut Draft, stream: Stream, length: u64, note: Vec<u8>) {
    // A length that cannot be read now costs the next start a reading, nothing more.
    if length > 0 && draft.head(stream).is_ok_and(|actual| actual == length) {
        let mut generations = write(&shared.generations);
        generations.active.tail(stream, length).note = Some(note);
        generations.active.weight += 1;
    }
}
