//! The thread actor: actix glue around a seat. It exists so that one thread's acts happen one at a time: it decides,
//! hands in the append, and when that is durable publishes the new picture and answers, in this order.
//!
//! It never waits: the disk is the journal's affair, and answers come back as a stream. Nothing is written in
//! `stopped` or `Drop`, because both also run after a panic and would see half-changed state.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use actix::{Actor, ActorContext, AsyncContext, Context, Handler, Message, StreamHandler};
use arc_swap::ArcSwapOption;
use parley_journal::{
    Answers, Append, AppendError, Appended, Journal, Position, Record, Reference, Stream,
};
use parley_language::event::Event;
use parley_language::thread::{Act, Fresh, Summary};
use parley_language::{Refusal, Speaker, ThreadId, Time};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};

use crate::directory::Directory;
use crate::record;
use crate::seat::{Held, Seat, Step};
use crate::view::View;

/// One act for one thread.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Ask {
    pub(crate) speaker: Speaker,
    pub(crate) act: Act,
    /// How many claims the act asserts.
    pub(crate) claims: u64,
    pub(crate) at: Time,
    pub(crate) reference: Option<Reference>,
    pub(crate) reply: Reply,
}

/// Leave: nothing is in flight and the registry has forgotten this actor.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Retire;

/// Whom to answer, and the place in the thread's queue that the answer frees.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) sender: oneshot::Sender<Outcome>,
    pub(crate) permit: OwnedSemaphorePermit,
}

impl Reply {
    fn send(self, outcome: Outcome) {
        // A caller that hung up does not undo the work; it may ask again with its client_ref.
        drop(self.sender.send(outcome));
        drop(self.permit);
    }
}

/// What became of an act.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It is durable.
    Made { event: Arc<Event>, summary: Arc<Summary> },
    /// Everything was as asked.
    Unchanged { summary: Arc<Summary> },
    /// No.
    Refused(Refusal),
    /// Its reference was taken meanwhile by this record.
    Duplicate { stream: Stream, seq: u64 },
    /// Nothing was stored.
    Unavailable(String),
    /// It may or may not be stored.
    Unknown(String),
}

/// Numbers that nobody has yet.
#[derive(Debug)]
pub(crate) struct Ids {
    pub(crate) threads: AtomicU64,
    pub(crate) messages: AtomicU64,
    pub(crate) claims: AtomicU64,
    pub(crate) attestations: AtomicU64,
    pub(crate) images: AtomicU64,
}

/// What the registry and the actor share.
#[derive(Debug)]
pub(crate) struct Shelf {
    /// The newest durable picture; absent until a new thread's opening is durable.
    pub(crate) view: ArcSwapOption<View>,
    /// The actor takes no more acts: an append failed.
    pub(crate) failed: AtomicBool,
}

pub(crate) struct ThreadActor {
    id: ThreadId,
    seat: Option<Seat<Reply>>,
    /// What a dissolved seat still held; answered as the journal answers.
    remains: VecDeque<Held<Reply>>,
    journal: Arc<dyn Journal>,
    directory: Arc<Directory>,
    ids: Arc<Ids>,
    shelf: Arc<Shelf>,
    view: Option<View>,
    answers: Answers,
    incoming: Option<mpsc::UnboundedReceiver<Appended>>,
    /// A message number that was drawn for an act that was refused.
    spare: Option<u64>,
    queue_max: usize,
}

impl ThreadActor {
    pub(crate) fn new(
        seat: Seat<Reply>,
        view: Option<View>,
        id: ThreadId,
        journal: Arc<dyn Journal>,
        directory: Arc<Directory>,
        ids: Arc<Ids>,
        queue_max: usize,
    ) -> (Self, Arc<Shelf>) {
        let (answers, incoming) = mpsc::unbounded_channel();
        let shelf = Arc::new(Shelf {
            view: ArcSwapOption::from(view.clone().map(Arc::new)),
            failed: AtomicBool::new(false),
        });
        let actor = Self {
            id,
            seat: Some(seat),
            remains: VecDeque::new(),
            journal,
            directory,
            ids,
            shelf: Arc::clone(&shelf),
            view,
            answers,
            incoming: Some(incoming),
            spare: None,
            queue_max,
        };
        (actor, shelf)
    }

    fn hand_in(
        &self,
        event: &Event,
        expected: u64,
        summary: &Summary,
        reference: Option<Reference>,
    ) {
        let record = Record {
            body: record::encode(event),
            reference,
            numbers: record::numbers(self.id, event),
        };
        let append = Append {
            stream: record::stream(self.id),
            expected,
            records: vec![record],
            note: Some(record::encode(summary)),
        };
        self.journal.append(append, &self.answers);
    }

    /// One append is durable: publish first, then answer.
    fn settle(
        &mut self,
        position: Position,
        seq: u64,
        settled: &mut Vec<(Reply, Outcome)>,
        told: &mut Vec<(u64, Position)>,
    ) {
        let Some(seat) = &mut self.seat else {
            self.settle_remains(Ok(position));
            return;
        };
        told.push((seq, position));
        let view = &mut self.view;
        seat.appended(|held| match held {
            Held::Event { event, summary, reply } => {
                match view {
                    Some(view) => view.tell(position, &event, &summary),
                    None => {
                        *view = Some(View::replay(&summary, [(position, Arc::clone(&event))]));
                    }
                }
                settled.push((reply, Outcome::Made { event, summary }));
            }
            Held::Answer { answer, reply } => settled.push((reply, unmoved(answer))),
        });
    }

    /// An append failed: this seat is over. Its own answer is what the journal said.
    fn fail(&mut self, error: &AppendError, ctx: &mut Context<Self>) {
        if let Some(seat) = self.seat.take() {
            tracing::warn!(thread = %self.id, %error, "append failed, the thread is opened anew from its log");
            self.shelf.failed.store(true, Ordering::Release);
            self.remains = seat.dissolve();
        }
        self.settle_remains(Err(error));
        if self.remains.is_empty() {
            ctx.stop();
        }
    }

    /// Answers the oldest event of a dissolved seat as the journal answered it. Answers that rested on it were never
    /// true of anything stored, so they become `unavailable`: the caller asks again and is told by the new seat.
    fn settle_remains(&mut self, result: Result<Position, &AppendError>) {
        let Some(Held::Event { event, summary, reply }) = self.remains.pop_front() else { return };
        reply.send(match result {
            Ok(_) => Outcome::Made { event, summary },
            Err(AppendError::Duplicate { stream, seq }) => {
                Outcome::Duplicate { stream: *stream, seq: *seq }
            }
            Err(AppendError::Conflict { .. }) => {
                Outcome::Unavailable("the thread was opened anew".into())
            }
            Err(AppendError::Refused(why)) => Outcome::Unavailable(why.clone()),
            Err(AppendError::Unknown(why)) => Outcome::Unknown(why.clone()),
        });
        while let Some(Held::Answer { reply, .. }) =
            self.remains.pop_front_if(|held| matches!(held, Held::Answer { .. }))
        {
            reply.send(Outcome::Unavailable("the thread was opened anew".into()));
        }
    }
}

fn unmoved(answer: Result<Arc<Summary>, Refusal>) -> Outcome {
    match answer {
        Ok(summary) => Outcome::Unchanged { summary },
        Err(refusal) => Outcome::Refused(refusal),
    }
}

impl Actor for ThreadActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(self.queue_max);
        let mut incoming = self.incoming.take().expect("an actor starts once");
        // Answers that arrived together are told together: one picture for all of them.
        let batches = futures_util::stream::poll_fn(move |cx| {
            let mut batch = Vec::new();
            incoming.poll_recv_many(cx, &mut batch, 1_024).map(|count| (count > 0).then_some(batch))
        });
        ctx.add_stream(batches);
    }
}

impl Handler<Ask> for ThreadActor {
    type Result = ();

    fn handle(&mut self, ask: Ask, _: &mut Self::Context) {
        let Some(seat) = &mut self.seat else {
            ask.reply.send(Outcome::Unavailable("the thread is being opened anew".into()));
            return;
        };
        let says = matches!(ask.act, Act::Open { .. } | Act::Post { .. });
        let message = if says {
            self.spare
                .take()
                .unwrap_or_else(|| self.ids.messages.fetch_add(1, Ordering::Relaxed) + 1)
        } else {
            0
        };
        let claims = if ask.claims == 0 {
            0
        } else {
            self.ids.claims.fetch_add(ask.claims, Ordering::Relaxed) + 1
        };
        let attestation = match ask.act {
            Act::Attest { .. } => self.ids.attestations.fetch_add(1, Ordering::Relaxed) + 1,
            _ => 0,
        };
        let fresh = Fresh { message, claims, attestation };
        let step = seat.ask(&ask.speaker, ask.act, ask.at, fresh, ask.reply);
        if says && !matches!(step, Step::Append { .. }) {
            self.spare = Some(message);
        }
        match step {
            Step::Append { event, expected, summary } => {
                self.hand_in(&event, expected, &summary, ask.reference);
            }
            Step::Answer { answer, reply } => reply.send(unmoved(answer)),
            Step::Hold => {}
        }
    }
}

impl StreamHandler<Vec<Appended>> for ThreadActor {
    fn handle(&mut self, batch: Vec<Appended>, ctx: &mut Self::Context) {
        let mut settled = Vec::with_capacity(batch.len());
        let mut told = Vec::with_capacity(batch.len());
        let mut failure = false;
        for appended in batch {
            match appended.result {
                Ok(position) => {
                    self.settle(position, appended.expected, &mut settled, &mut told);
                }
                Err(error) => {
                    failure = true;
                    self.fail(&error, ctx);
                }
            }
        }
        if let (Some(view), Some((_, upto))) = (&self.view, told.last()) {
            let view = Arc::new(view.clone());
            let position = |seq| {
                let at = told.binary_search_by_key(&seq, |(seq, _)| *seq).ok()?;
                Some(told[at].1)
            };
            self.shelf.view.store(Some(Arc::clone(&view)));
            self.directory.publish(&view.summary, *upto, position);
        }
        for (reply, outcome) in settled {
            reply.send(outcome);
        }
        if !failure && self.seat.is_none() && self.remains.is_empty() {
            ctx.stop();
        }
    }
}

impl Handler<Retire> for ThreadActor {
    type Result = ();

    fn handle(&mut self, _: Retire, ctx: &mut Self::Context) {
        debug_assert!(
            self.seat.as_ref().is_none_or(Seat::is_idle),
            "retired with appends in flight"
        );
        ctx.stop();
    }
}
