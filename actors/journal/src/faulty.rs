//! A journal that fails by appointment, for tests of whoever stands on a journal.
//!
//! The appends handed in are counted from 1 over all streams; [`Faulty::plan`] says what goes wrong with one of them.
//! Appends behind a failed one reach the inner journal with the expected sequence number they carry, so that J2 does
//! its work: after a lost append they conflict, after a kept one they succeed.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{mpsc, watch};

use crate::{
    Answers, Append, AppendError, Appended, Engine, Journal, Note, Numbered, Position, ReadError,
    Reference, Stored, Stream, Waiting,
};

/// What goes wrong with an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The inner journal never sees it; it is answered [`AppendError::Refused`].
    Refuse,
    /// The inner journal never sees it; it is answered [`AppendError::Unknown`].
    Lose,
    /// The inner journal gets it; it is answered [`AppendError::Unknown`] once that one has answered.
    Keep,
}

/// An answer on its way: from the inner journal or made up here.
#[derive(Debug)]
struct Relayed {
    inner: Option<mpsc::UnboundedReceiver<Appended>>,
    fixed: Option<Appended>,
    answers: Answers,
}

impl Relayed {
    fn send(self, inner: Option<Appended>) {
        if let Some(answer) = self.fixed.or(inner) {
            let _ = self.answers.send(answer);
        }
    }
}

#[derive(Debug, Default)]
struct State {
    seen: u64,
    plans: HashMap<u64, Fault>,
    relay: Option<Sender<Relayed>>,
    /// How many answers the relay's thread still has to pass on.
    waiting: Arc<Mutex<usize>>,
}

/// The wrapper. Answers keep the order of the appends, made-up ones too: while earlier answers are missing, later
/// ones wait behind them. With an inner journal that answers at once, so does this one, without a thread.
#[derive(Debug)]
pub struct Faulty<J: ?Sized> {
    state: Mutex<State>,
    inner: Arc<J>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<J: Journal + ?Sized> Faulty<J> {
    /// A wrapper in which nothing goes wrong yet.
    pub fn new(inner: Arc<J>) -> Self {
        Self { state: Mutex::default(), inner }
    }

    /// Says what goes wrong with the n-th append, counted from 1 since the wrapper was made.
    pub fn plan(&self, nth: u64, fault: Fault) {
        lock(&self.state).plans.insert(nth, fault);
    }

    /// How many appends were handed in so far; the next one is one more.
    pub fn seen(&self) -> u64 {
        lock(&self.state).seen
    }

    /// The journal inside.
    pub fn inner(&self) -> &Arc<J> {
        &self.inner
    }
}

impl State {
    fn pass(&mut self, mut relayed: Relayed) {
        let mut waiting = lock(&self.waiting);
        if *waiting == 0 {
            let answer = relayed.inner.as_mut().map(|inner| inner.try_recv().ok());
            // Nothing is awaited, or it is there already.
            if let None | Some(Some(_)) = answer {
                return relayed.send(answer.flatten());
            }
        }
        *waiting += 1;
        drop(waiting);
        let count = Arc::clone(&self.waiting);
        let relay = self.relay.get_or_insert_with(|| {
            let (relay, queue) = channel();
            std::thread::spawn(move || pass_on(&queue, &count));
            relay
        });
        // The thread lives as long as this sender.
        let _ = relay.send(relayed);
    }
}

fn pass_on(queue: &Receiver<Relayed>, waiting: &Mutex<usize>) {
    for mut relayed in queue {
        let answer = relayed.inner.as_mut().and_then(mpsc::UnboundedReceiver::blocking_recv);
        let mut waiting = lock(waiting);
        relayed.send(answer);
        *waiting -= 1;
    }
}

impl<J: Journal + ?Sized> Journal for Faulty<J> {
    fn append(&self, append: Append, answers: &Answers) {
        let mut state = lock(&self.state);
        state.seen += 1;
        let nth = state.seen;
        let fault = state.plans.remove(&nth);
        let expected = append.expected;
        let fixed = |error: fn(String) -> AppendError| {
            let error = error(format!("append {nth} fails by appointment"));
            Some(Appended { expected, result: Err(error) })
        };
        let fixed = match fault {
            None => None,
            Some(Fault::Refuse) => fixed(AppendError::Refused),
            Some(Fault::Lose | Fault::Keep) => fixed(AppendError::Unknown),
        };
        let mut receiver = None;
        if let None | Some(Fault::Keep) = fault {
            let (sender, inner) = mpsc::unbounded_channel();
            self.inner.append(append, &sender);
            receiver = Some(inner);
        }
        state.pass(Relayed { inner: receiver, fixed, answers: answers.clone() });
    }

    fn read(&self, stream: Stream, from: u64) -> Waiting<'_, Result<Vec<Stored>, ReadError>> {
        self.inner.read(stream, from)
    }

    fn find(&self, reference: Reference) -> Waiting<'_, Result<Option<(Stream, u64)>, ReadError>> {
        self.inner.find(reference)
    }

    fn locate(&self, numbered: Numbered) -> Waiting<'_, Result<Option<u64>, ReadError>> {
        self.inner.locate(numbered)
    }

    fn highest(&self, series: u8) -> u64 {
        self.inner.highest(series)
    }

    fn positions(
        &self,
        records: Vec<(Stream, u64)>,
    ) -> Waiting<'_, Result<Vec<Option<Position>>, ReadError>> {
        self.inner.positions(records)
    }

    fn after(&self, after: Position, limit: usize) -> Waiting<'_, Result<Vec<Stored>, ReadError>> {
        self.inner.after(after, limit)
    }

    fn tip(&self) -> watch::Receiver<Position> {
        self.inner.tip()
    }

    fn notes(&self) -> Waiting<'_, Result<Vec<Note>, ReadError>> {
        self.inner.notes()
    }

    fn annotate(&self, stream: Stream, length: u64, note: Vec<u8>) {
        self.inner.annotate(stream, length, note);
    }

    fn engine(&self) -> Engine {
        self.inner.engine()
    }

    fn trouble(&self) -> Option<String> {
        self.inner.trouble()
    }

    fn close(&self) -> Waiting<'_, ()> {
        self.inner.close()
    }
}
