//! The desk actor: boards, tokens, access requests and feature requests, one act at a time. Its stream is short, so it is
//! read whole at the start.
//!
//! Readers never ask the actor: they look at [`Shelves`], which it fills after an event is durable.

use std::sync::Arc;

use actix::{Actor, ActorFutureExt, AtomicResponse, Context, Handler, Message, WrapFuture};
use dashmap::DashMap;
use parley_journal::{Append, AppendError, Journal, ReadError, Record, append_and_wait};
use parley_language::desk::{AccessRequest, Board, Desk, DeskAct, DeskEvent, Feature, Token};
use parley_language::id::{FeatureId, RequestId, TokenId};
use parley_language::{BoardId, Refusal, Time};

use tokio::sync::watch;

use crate::record;

/// What readers see of the desk.
#[derive(Debug, Default)]
pub struct Shelves {
    boards: DashMap<u64, Arc<Board>>,
    slugs: DashMap<Arc<str>, u64>,
    tokens: DashMap<u64, Arc<Token>>,
    requests: DashMap<u64, Arc<AccessRequest>>,
    /// The request that a token came with.
    applied: DashMap<u64, RequestId>,
    features: DashMap<u64, Arc<Feature>>,
    /// How many records of the desk's stream are shown.
    shown: watch::Sender<u64>,
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

    /// An access request.
    pub fn request(&self, id: RequestId) -> Option<Arc<AccessRequest>> {
        self.requests.get(&id.number).map(|request| Arc::clone(&request))
    }

    /// The request that a token came with.
    pub fn request_of(&self, token: u64) -> Option<Arc<AccessRequest>> {
        let id = *self.applied.get(&token)?;
        self.request(id)
    }

    /// A feature request.
    pub fn feature(&self, id: FeatureId) -> Option<Arc<Feature>> {
        self.features.get(&id.number).map(|feature| Arc::clone(&feature))
    }

    /// How many tokens there are; they are numbered from 1 without gaps.
    pub fn tokens_len(&self) -> u64 {
        self.tokens.len() as u64
    }

    /// How many access requests there are; they are numbered from 1 without gaps.
    pub fn requests_len(&self) -> u64 {
        self.requests.len() as u64
    }

    /// How many feature requests there are; they are numbered from 1 without gaps.
    pub fn features_len(&self) -> u64 {
        self.features.len() as u64
    }

    /// Done once a record of the desk's stream is shown.
    pub(crate) async fn shows(&self, seq: u64) {
        // An error would mean that the sender is gone, and it is here.
        let _ = self.shown.subscribe().wait_for(|shown| *shown > seq).await;
    }

    /// Shows everything as it stands, and nothing as it stood before.
    fn show(&self, desk: &Desk) {
        desk.boards().for_each(|board| self.show_board(board));
        desk.tokens().for_each(|token| self.show_token(token));
        desk.requests().for_each(|request| self.show_request(request));
        desk.features().for_each(|feature| self.show_feature(feature));
    }

    /// Shows what an event has changed.
    fn tell(&self, desk: &Desk, event: &DeskEvent) {
        let token =
            |id: TokenId| desk.find_token(id).into_iter().for_each(|it| self.show_token(it));
        let request = |id| desk.find_request(id).into_iter().for_each(|it| self.show_request(it));
        let feature = |id| desk.find_feature(id).into_iter().for_each(|it| self.show_feature(it));
        match event {
            DeskEvent::BoardMade(board) => self.show_board(board),
            DeskEvent::TokenIssued(issued) => self.show_token(issued),
            DeskEvent::AccessRequested { request: asked, .. } => {
                self.show_request(asked);
                token(asked.token);
            }
            DeskEvent::RequestReviewed(reviewed) => {
                if let Some(asked) = desk.find_request(reviewed.id) {
                    token(asked.token);
                }
                request(reviewed.id);
            }
            DeskEvent::RequestWithdrawn { id, .. } => request(*id),
            DeskEvent::RightsChanged { id, .. } => token(*id),
            DeskEvent::TokenRevoked { id, .. } => {
                token(*id);
                desk.request_of(*id).into_iter().for_each(|it| self.show_request(it));
            }
            DeskEvent::FeatureAsked(asked) => feature(asked.id),
            DeskEvent::FeatureMarked(marked) => feature(marked.id),
        }
    }

    fn show_board(&self, board: &Board) {
        self.boards.insert(board.number, Arc::new(board.clone()));
        // The slug last: whoever finds it finds the board.
        self.slugs.insert(Arc::clone(&board.slug), board.number);
    }

    fn show_token(&self, token: &Token) {
        self.tokens.insert(token.id.number, Arc::new(token.clone()));
    }

    fn show_request(&self, request: &AccessRequest) {
        self.requests.insert(request.id.number, Arc::new(request.clone()));
        self.applied.insert(request.token.number, request.id);
    }

    fn show_feature(&self, feature: &Feature) {
        self.features.insert(feature.id.number, Arc::new(feature.clone()));
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
    }
    shelves.show(&desk);
    shelves.shown.send_replace(log.len() as u64);
    Ok((desk, log.len() as u64))
}

impl Actor for DeskActor {
    type Context = Context<Self>;
}

impl Handler<AskDesk> for DeskActor {
    /// One act at a time, without blocking the arbiter's thread while the disk works.
    type Result = AtomicResponse<Self, Outcome>;

    fn handle(&mut self, ask: AskDesk, _: &mut Self::Context) -> Self::Result {
        let asked = self.fresh().into_actor(self).then(move |fresh, desk, _| {
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

/// Reads what is stored, if that may differ from what is shown.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Refresh;

impl Handler<Refresh> for DeskActor {
    type Result = AtomicResponse<Self, ()>;

    fn handle(&mut self, _: Refresh, _: &mut Self::Context) -> Self::Result {
        // If it cannot be read, the next act says so.
        let done = self.fresh().into_actor(self).map(|fresh, desk, _| drop(desk.refresh(fresh)));
        AtomicResponse::new(Box::pin(done))
    }
}

/// The desk and how many records it has, read anew; none if what is known is what is stored.
type Fresh = Option<Result<(Desk, u64), ReadError>>;

impl DeskActor {
    fn fresh(&self) -> impl Future<Output = Fresh> + use<> {
        let stale = self.stale;
        let (journal, shelves) = (Arc::clone(&self.journal), Arc::clone(&self.shelves));
        async move { if stale { Some(read(&*journal, &shelves).await) } else { None } }
    }

    fn refresh(&mut self, fresh: Fresh) -> Result<(), No> {
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
        self.shelves.tell(&self.desk, &event);
        self.shelves.shown.send_replace(self.length);
        Ok(event)
    }
}
