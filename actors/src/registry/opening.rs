//! Opening: a thread actor begins as the replay of its log.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use actix::Actor;
use parley_journal::{Journal, Position, ReadError, Stored};
use parley_language::ThreadId;
use parley_language::event::Event;
use tokio::sync::Semaphore;

use super::{Inner, Place};
use crate::record;
use crate::seat::Seat;
use crate::thread::{Reply, ThreadActor};
use crate::view::View;

impl Inner {
    pub(super) fn now_ms(&self) -> u64 {
        self.born.elapsed().as_millis() as u64
    }

    pub(super) async fn start(&self, thread: ThreadId, log: Log) -> Result<Place, ReadError> {
        // Behind all appends in flight for this thread (J5): a replacement cannot overtake its predecessor.
        let (seat, view, positions) = match log {
            Log::Stored => open_seat(&*self.journal, thread).await?,
            Log::None => (Seat::open(thread, &[]), None, Vec::new()),
        };
        if let (Some(view), Some(upto)) = (&view, positions.last()) {
            let position = |seq| positions.get(usize::try_from(seq).ok()?).copied();
            self.directory.publish(&view.summary, *upto, position);
        }
        let queue = self.settings.queue_per_thread_max;
        let (actor, shelf) = ThreadActor::new(
            seat,
            view,
            thread,
            Arc::clone(&self.journal),
            Arc::clone(&self.directory),
            Arc::clone(&self.ids),
            queue,
        );
        let used = AtomicU64::new(self.now_ms());
        Ok(Place { addr: actor.start(), shelf, permits: Arc::new(Semaphore::new(queue)), used })
    }
}

/// Whether a thread has a log to be read. A number that was just drawn has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Log {
    None,
    Stored,
}

impl Place {
    pub(super) fn is_well(&self) -> bool {
        self.addr.connected() && !self.shelf.failed.load(Ordering::Acquire)
    }
}

/// A seat, the picture after its log, and the positions of the log.
pub(super) type Opened = (Seat<Reply>, Option<View>, Vec<Position>);

pub(super) async fn open_seat(
    journal: &dyn Journal,
    thread: ThreadId,
) -> Result<Opened, ReadError> {
    const INLINE_MAX: usize = 64;
    let log = journal.read(record::stream(thread), 0).await?;
    let is_short = log.len() <= INLINE_MAX;
    let replay = move || -> Result<Opened, ReadError> {
        let (positions, events) = decode_log(&log)?;
        let seat = Seat::open(thread, &events);
        let view = seat.thread().map(|state| {
            let log = positions.iter().copied().zip(events.into_iter().map(Arc::new));
            View::replay(&Arc::new(state.summary()), log)
        });
        Ok((seat, view, positions))
    };
    if is_short {
        return replay();
    }
    // A long log is replayed beside the arbiter's thread, which serves the thread's neighbours.
    tokio::task::spawn_blocking(replay)
        .await
        .map_err(|error| ReadError(format!("a log cannot be replayed: {error}")))?
}

pub(super) fn decode_log(log: &[Stored]) -> Result<(Vec<Position>, Vec<Event>), ReadError> {
    let mut events = Vec::with_capacity(log.len());
    let mut positions = Vec::with_capacity(log.len());
    for (expected, stored) in log.iter().enumerate() {
        if stored.seq != expected as u64 {
            return Err(ReadError(format!("{:?} lacks record {expected}", stored.stream)));
        }
        let event: Event = record::decode(&stored.body)
            .map_err(|error| ReadError(format!("{:?}: {error}", stored.stream)))?;
        if (expected == 0) != event.fact.opening().is_some() {
            return Err(ReadError(format!("{:?} does not begin with its opening", stored.stream)));
        }
        events.push(event);
        positions.push(stored.position);
    }
    Ok((positions, events))
}
