//! The desk actor: boards and tokens, one act at a time. Its stream is short, so it is read whole at the start.
//!
//! Readers never ask the actor: they look at [`Shelves`], which it fills after an event is durable.

use std::sync::Arc;

use actix::{Actor, ActorFutureExt, AtomicResponse, Context, Handler, Message, WrapFuture};
use dashmap::DashMap;
use parley_journal::{Append, AppendError, Journal, ReadError, Record, append_and_wait};
use parley_language::desk::{Board, Desk, DeskAct, DeskEvent, Token};
use parley_language::{BoardId, Refusal, Time};

use crate::record;

/// What readers see of the desk.
#[derive(Debug, Default)]
pub struct Shelves {
    boards: DashMap<u64, Arc<Board>>,
    slugs: DashMap<Arc<str>, u64>,
    tokens: DashMap<u64, Arc<Token>>,
}

impl Shelves {
    /// A board by number or slug.
    pub fn board(&self, id: &BoardId) -> Option<Arc<Board>> {
        let number = match id {
            BoardId::Number(number) => *number,
            BoardId::Slug(slug) => *self.slugs.get(slug.as_str())?,
        };
        self.boards.get(&number).map(|board| Arc::clone(&board))
    }

    /// All boards in the order of their numbers.
    pub fn boards(&self) -> Vec<Arc<Board>> {
        let mut boards: Vec<_> = self.boards.iter().map(|board| Arc::clone(&board)).collect();
        boards.sort_unstable_by_key(|board| board.number);
        boards
    }

    /// A token by the number in it.
    pub fn token(&self, number: u64) -> Option<Arc<Token>> {
        self.tokens.get(&number).map(|token| Arc::clone(&token))
    }

    fn tell(&self, event: &DeskEvent) {
        match event {
            DeskEvent::BoardMade(board) => {
                self.boards.insert(board.number, Arc::new(board.clone()));
                // The slug last: whoever finds it finds the board.
                self.slugs.insert(Arc::clone(&board.slug), board.number);
            }
            DeskEvent::TokenIssued(token) => {
                self.tokens.insert(token.id.number, Arc::new(token.clone()));
            }
        }
    }
}

/// One act for the desk.
#[derive(Message)]
#[rtype(result = "Outcome")]
pub(crate) struct AskDesk {
    pub(crate) act: DeskAct,
    pub(crate) at: Time,
}

/// What became of it.
pub(crate) type Outcome = Result<DeskEvent, No>;

/// Why it did not happen.
#[derive(Debug)]
pub(crate) enum No {
    Refused(Refusal),
    Unavailable(String),
    Unknown(String),
}

pub(crate) struct DeskActor {
    desk: Desk,
    length: u64,
    /// The last append failed: what is stored has to be read before the next act.
    stale: bool,
    journal: Arc<dyn Journal>,
    shelves: Arc<Shelves>,
}

impl DeskActor {
    pub(crate) async fn open(
        journal: Arc<dyn Journal>,
        shelves: Arc<Shelves>,
    ) -> Result<Self, ReadError> {
        let (desk, length) = read(&*journal, &shelves).await?;
        Ok(Self { desk, length, stale: false, journal, shelves })
    }
}

async fn read(journal: &dyn Journal, shelves: &Shelves) -> Result<(Desk, u64), ReadError> {
    let mut desk = Desk::default();
    let log = journal.read(record::desk_stream(), 0).await?;
    for stored in &log {
        let event: DeskEvent =
            record::decode(&stored.body).map_err(|error| ReadError(error.to_string()))?;
        desk.apply(&event);
        shelves.tell(&event);
    }
    Ok((desk, log.len() as u64))
}

impl Actor for DeskActor {
    type Context = Context<Self>;
}

impl Handler<AskDesk> for DeskActor {
    /// One act at a time, without blocking the arbiter's thread while the disk works.
    type Result = AtomicResponse<Self, Outcome>;

    fn handle(&mut self, ask: AskDesk, _: &mut Self::Context) -> Self::Result {
        let stale = self.stale;
        let (journal, shelves) = (Arc::clone(&self.journal), Arc::clone(&self.shelves));
        let fresh = async move { if stale { Some(read(&*journal, &shelves).await) } else { None } };
        let asked = fresh.into_actor(self).then(move |fresh, desk, _| {
            let decided = desk
                .refresh(fresh)
                .and_then(|()| desk.desk.decide(ask.act, ask.at).map_err(No::Refused));
            let (journal, length) = (Arc::clone(&desk.journal), desk.length);
            let stored = async move {
                let event = decided?;
                let record = Record { body: record::encode(&event), ..Record::default() };
                let append = Append {
                    stream: record::desk_stream(),
                    expected: length,
                    records: vec![record],
                    note: None,
                };
                let answer = append_and_wait(&*journal, append).await;
                Ok((event, answer))
            };
            stored.into_actor(desk).map(|stored, desk, _| desk.settle(stored))
        });
        AtomicResponse::new(Box::pin(asked))
    }
}

impl DeskActor {
    fn refresh(&mut self, fresh: Option<Result<(Desk, u64), ReadError>>) -> Result<(), No> {
        match fresh {
            None => Ok(()),
            Some(Ok((desk, length))) => {
                (self.desk, self.length, self.stale) = (desk, length, false);
                Ok(())
            }
            Some(Err(error)) => Err(No::Unavailable(error.to_string())),
        }
    }

    fn settle(&mut self, stored: Result<(DeskEvent, Result<u64, AppendError>), No>) -> Outcome {
        let (event, answer) = stored?;
        if let Err(error) = answer {
            self.stale = true;
            return Err(match error {
                AppendError::Unknown(why) => No::Unknown(why),
                other => No::Unavailable(other.to_string()),
            });
        }
        self.desk.apply(&event);
        self.length += 1;
        self.shelves.tell(&event);
        Ok(event)
    }
}
