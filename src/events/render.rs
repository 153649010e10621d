//! A record as the events it tells: `{position, type, …the object}` (13.13).

use std::sync::Arc;

use parley_actors::record;
use parley_actors::view::{Change, Said, View};
use parley_journal::Stored;
use parley_language::desk::DeskEvent;
use parley_language::event::{Event, Fact, Standing};
use parley_language::id::{FeatureId, RequestId};
use parley_language::{ClaimId, ThreadId};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::Filter;
use crate::caller::Caller;
use crate::cursor;
use crate::forum::Forum;
use crate::wire::{
    AttestationObject, BoardObject, ClaimObject, EventObject, FeatureObject, MessageObject,
    RequestObject, ThreadObject,
};

/// To whom, and what of it.
pub(crate) struct Told<'a> {
    pub(crate) forum: &'a Forum,
    pub(crate) caller: &'a Caller,
    pub(crate) filter: Filter,
}

/// An event: its id, its type, and its object, in which both stand too.
pub(crate) type Telling = (String, &'static str, Map<String, Value>);

/// An event without its place.
type Draft = (&'static str, Map<String, Value>);

impl Told<'_> {
    /// The events of a record that this reader may and wants to see. Their ids are the record's position; all but the
    /// last say which they are, so that a reader who was cut off between them goes on at the next one.
    pub(crate) async fn events(&self, stored: &Stored) -> Vec<Telling> {
        let drafts = match stored.stream.kind {
            record::THREADS => self.thread(stored).await,
            record::DESK => self.desk(stored),
            _ => Vec::new(),
        };
        let last = drafts.len().saturating_sub(1);
        let event = |(nth, (kind, mut object)): (usize, Draft)| {
            let id = match nth {
                nth if nth == last => cursor::position(stored.position),
                nth => cursor::event(stored.position, nth),
            };
            object.insert("position".into(), json!(id));
            object.insert("type".into(), json!(kind));
            (id, kind, object)
        };
        drafts.into_iter().enumerate().map(event).collect()
    }

    async fn thread(&self, stored: &Stored) -> Vec<Draft> {
        let thread = ThreadId::new(stored.stream.number);
        let registry = self.forum.registry();
        let Ok(line) = registry.known(thread) else { return Vec::new() };
        if self.filter.thread.is_some_and(|wanted| wanted != thread)
            || self.filter.board.is_some_and(|wanted| wanted != line.board)
        {
            return Vec::new();
        }
        let Ok(event) = record::decode::<Event>(&stored.body) else { return Vec::new() };
        let event = Arc::new(event);
        let mut drafts = Vec::new();
        if event.fact.opening().is_some() || matches!(event.fact, Fact::LlmReply { .. }) {
            drafts.push(draft("thread", &ThreadObject::new(self.forum, line)));
        }
        if let Some(said) = Said::of(&event) {
            drafts.push(draft("message", &MessageObject::alone(thread, said)));
        }
        if let Some(change) = change(stored.position, &event) {
            drafts.push(draft("state", &EventObject::new(thread, &change)));
        }
        if let Fact::Pinned { pinned } = event.fact {
            let by = &*event.by.line;
            let pin = json!({"thread": thread, "pinned": pinned, "by": by, "at": event.at});
            drafts.push(draft("pin", &pin));
        }
        let illustrated = match &event.fact {
            Fact::Illustrated { message, .. } => Some(*message),
            _ => None,
        };
        if !parley_language::claim::Book::concerns(&event.fact) && illustrated.is_none() {
            return drafts;
        }
        // What a claim has come to, and what a message looks like now, only the thread's picture tells.
        let Ok(view) = registry.view(thread).await else { return drafts };
        if let Some(message) = illustrated
            && let Ok(at) = view.said.binary_search_by_key(&message, |said| said.message().id)
        {
            drafts.push(draft("message", &MessageObject::of(&view, view.said[at].clone())));
        }
        if let Fact::Attested { claim, attestation, .. } = &event.fact {
            drafts.extend(attested(thread, &view, *claim, attestation.id));
        }
        let touched = view.book.touched(&event.fact);
        drafts.extend(
            touched.into_iter().map(|claim| draft("claim", &ClaimObject::of(thread, &view, claim))),
        );
        drafts
    }

    fn desk(&self, stored: &Stored) -> Vec<Draft> {
        if self.filter.thread.is_some() || self.filter.board.is_some() {
            return Vec::new();
        }
        let Ok(event) = record::decode::<DeskEvent>(&stored.body) else { return Vec::new() };
        match &event {
            DeskEvent::BoardMade(board) => {
                let counters = self.forum.registry().directory().counters(board.number);
                vec![draft("board", &BoardObject::new(board, counters))]
            }
            DeskEvent::AccessRequested { request, .. } => self.request(request.id),
            DeskEvent::RequestReviewed(reviewed) => self.request(reviewed.id),
            DeskEvent::RequestWithdrawn { id, .. } => self.request(*id),
            DeskEvent::FeatureAsked(feature) => self.feature(feature.id),
            DeskEvent::FeatureMarked(marked) => self.feature(marked.id),
            DeskEvent::TokenIssued(_)
            | DeskEvent::RightsChanged { .. }
            | DeskEvent::TokenRevoked { .. } => Vec::new(),
        }
    }

    /// An access request is for reviewers and its applicant (13.11).
    fn request(&self, id: RequestId) -> Vec<Draft> {
        let request = self.forum.registry().shelves().request(id);
        let request = request.filter(|request| self.may_see(&request.line));
        let object = request.map(|request| RequestObject::from(&*request));
        object.iter().map(|object| draft("token_request", object)).collect()
    }

    /// A feature request is for reviewers and whoever asked (13.11).
    fn feature(&self, id: FeatureId) -> Vec<Draft> {
        let feature = self.forum.registry().shelves().feature(id);
        let feature = feature.filter(|feature| self.may_see(&feature.author.line));
        let object = feature.map(|feature| FeatureObject::from(&*feature));
        object.iter().map(|object| draft("feature", object)).collect()
    }

    fn may_see(&self, line: &Arc<str>) -> bool {
        self.caller.reviews() || self.caller.line() == Some(line)
    }
}

fn attested(
    thread: ThreadId,
    view: &View,
    claim: ClaimId,
    id: parley_language::AttestationId,
) -> Option<Draft> {
    let told = ClaimObject::of(thread, view, claim).attestations;
    let told: AttestationObject = told.into_iter().find(|told| told.id == Some(id))?;
    let (kind, mut object) = draft("attestation", &told);
    object.insert("claim".into(), json!(claim));
    object.insert("thread".into(), json!(thread));
    Some((kind, object))
}

fn change(position: u64, event: &Event) -> Option<Change> {
    let message = event.fact.said().map(|said| said.message.id);
    let (from, to) = match event.fact.mark() {
        Some(mark) => (Some(mark.from), mark.to.clone()),
        None => event.fact.opening().map(|_| (None, Standing::born(event)))?,
    };
    Some(Change { position, from, to, by: Arc::clone(&event.by.line), message, at: event.at })
}

/// An object as the data of an event.
pub(crate) fn draft<T: Serialize>(kind: &'static str, object: &T) -> Draft {
    match serde_json::to_value(object) {
        Ok(Value::Object(object)) => (kind, object),
        Ok(_) | Err(_) => (kind, Map::new()),
    }
}
