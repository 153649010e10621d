//! `GET /api/v1/events` (section 10): server-sent events of everything committed, in the order of the journal.
//!
//! A stream reads the feed at its own pace and holds nothing but its place, so a slow reader costs nothing. One that
//! was up to date and falls too far behind is told `resync` and let go, never silently skipped. It is no operation,
//! because its answer does not end.

mod render;
mod tickets;

use std::collections::VecDeque;
use std::time::Duration;

use actix_web::http::{Method, StatusCode, header};
use actix_web::web::{self, Bytes};
use actix_web::{HttpRequest, HttpResponse};
use futures_util::{Stream, stream};
use parley_journal::Position;
use parley_language::reason::{Details, Reason, Refusal};
use parley_language::{BoardId, ThreadId};
use tokio::time::timeout;

pub use tickets::{TICKET_SECONDS, Tickets};

use crate::caller::Caller;
use crate::cursor;
use crate::forum::Forum;
use crate::http::{Admitted, PREFIX, Turned, pairs};
use crate::operation::Needs;
use crate::surface::Surface;
pub(crate) use render::{Telling, Told};

/// A comment is sent when nothing else was for so long.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// How many records a stream that was up to date may fall behind.
const BEHIND_MAX: Position = 8_192;
/// How many records are read in one go.
const STEP: usize = 64;

/// Which events a stream shows.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Filter {
    pub(crate) board: Option<u64>,
    pub(crate) thread: Option<ThreadId>,
}

/// One reader.
struct Reader {
    forum: Forum,
    caller: Caller,
    filter: Filter,
    /// Everything up to here was told.
    position: Position,
    /// How many events of the next record were told already.
    skip: usize,
    /// Whether it was up to date once.
    live: bool,
    ready: VecDeque<Bytes>,
    over: bool,
}

/// Adds the route.
pub fn configure(config: &mut web::ServiceConfig, surface: &Surface<Forum>) {
    let surface = surface.clone();
    let path = format!("{PREFIX}/events");
    config.service(web::resource(path).to(move |request: HttpRequest| {
        let surface = surface.clone();
        async move { answer(&surface, &request) }
    }));
}

fn answer(surface: &Surface<Forum>, request: &HttpRequest) -> HttpResponse {
    if request.method() != Method::GET {
        return surface.only(request, &[Method::GET]);
    }
    let _inside = surface.enter_house();
    let mut response = match open(surface, request) {
        Ok((reader, standing)) => {
            let mut response = surface.accept(StatusCode::OK, Vec::new(), &standing);
            let headers = response.headers_mut();
            let kind = header::HeaderValue::from_static("text/event-stream");
            headers.insert(header::CONTENT_TYPE, kind);
            let unbuffered = header::HeaderName::from_static("x-accel-buffering");
            headers.insert(unbuffered, header::HeaderValue::from_static("no"));
            response.map_body(|_, _| {
                actix_web::body::BoxBody::new(actix_web::body::BodyStream::new(reader.events()))
            })
        }
        Err(turned) => surface.refuse(&turned.refusal, &turned.standing),
    };
    surface.share(request, &mut response);
    response
}

/// Who reads, and from where.
fn open(
    surface: &Surface<Forum>,
    request: &HttpRequest,
) -> Result<(Reader, crate::rate::Standing), Turned> {
    let forum = surface.state();
    let query = request.uri().query().unwrap_or_default();
    let field = |name: &str| pairs(query).find(|(key, _)| key == name).map(|(_, value)| value);
    let Admitted { mut caller, mut standing } = surface.admit(request)?;
    if let (Caller::Nobody(_), Some(ticket)) = (&caller, field("ticket")) {
        // A ticket is a caller's, and so is the request.
        let holder = forum
            .tickets()
            .take(&ticket)
            .ok_or_else(|| Turned { refusal: no_ticket(), standing: standing.clone() })?;
        standing = match holder.allowance().check() {
            Ok(standing) => standing,
            Err(out) => return Err(Turned { refusal: out.refusal(), standing: out.standing }),
        };
        caller = holder;
    }
    let read = || -> Result<(Filter, Position, usize), Refusal> {
        Needs::Read.admit(&caller)?;
        for (name, _) in pairs(query) {
            if !["ticket", "board", "thread"].contains(&name.as_str()) {
                let error = format!("`{name}` is no filter; use `board`, `thread`, `ticket`");
                return Err(Refusal::field(name, "unknown_field", error));
            }
        }
        let filter = Filter {
            thread: field("thread").map(|text| known_thread(forum, &text)).transpose()?,
            board: field("board").map(|text| known_board(forum, &text)).transpose()?,
        };
        let now = forum.registry().feed().position();
        let last = request.headers().get("last-event-id").map(|id| id.to_str().unwrap_or("?"));
        let (position, skip) = match last {
            None | Some("") => (now, 0),
            Some(id) => cursor::read_event(id)
                .filter(|(position, _)| *position <= now)
                .ok_or_else(|| cursor::never_issued("Last-Event-ID"))?,
        };
        Ok((filter, position, skip))
    };
    match read() {
        Err(refusal) => Err(Turned { refusal, standing }),
        Ok((filter, position, skip)) => {
            let (forum, ready) = (forum.clone(), VecDeque::from([Bytes::from("retry: 2000\n\n")]));
            let reader =
                Reader { forum, caller, filter, position, skip, live: false, ready, over: false };
            Ok((reader, standing))
        }
    }
}

fn no_ticket() -> Refusal {
    let error = "this ticket is used up or too old; get a new one with post_events_ticket";
    Refusal::new(Reason::Unauthenticated, error).then("post_events_ticket", vec![])
}

fn known_thread(forum: &Forum, text: &str) -> Result<ThreadId, Refusal> {
    let id = ThreadId::parse(text).ok_or_else(|| {
        Refusal::field("thread", "pattern", "`thread` is no thread; write it like th_12")
            .with(Details { allowed: vec!["th_12".into()], ..field_of("thread") })
    })?;
    forum.registry().known(id).map(|line| line.id)
}

fn field_of(name: &str) -> Details {
    Details { field: Some(name.into()), rule: Some("pattern".into()), ..Details::default() }
}

fn known_board(forum: &Forum, text: &str) -> Result<u64, Refusal> {
    let id: Result<BoardId, _> = serde_json::from_value(serde_json::Value::from(text));
    let id = id.map_err(|_| {
        Refusal::field("board", "pattern", "`board` is no board; use its number or slug")
    })?;
    forum.board(&id).map(|board| board.number)
}

/// An event as it is sent.
fn as_bytes((id, kind, object): Telling) -> Bytes {
    Bytes::from(format!("id: {id}\nevent: {kind}\ndata: {}\n\n", serde_json::Value::Object(object)))
}

impl Reader {
    fn events(self) -> impl Stream<Item = Result<Bytes, actix_web::Error>> {
        stream::unfold(self, |mut reader| async move {
            loop {
                if let Some(bytes) = reader.ready.pop_front() {
                    return Some((Ok(bytes), reader));
                }
                if reader.over {
                    return None;
                }
                reader.turn().await;
            }
        })
    }

    /// Gets something ready to be sent, or comes to an end.
    async fn turn(&mut self) {
        let feed = self.forum.registry().feed();
        let mut position = feed.follow();
        let mut closed = feed.closed();
        let newest = *position.borrow_and_update();
        // Whoever lost its token, or the right to see, is let go with the next event.
        let Some(caller) = self.forum.still(&self.caller) else {
            self.over = true;
            return;
        };
        self.caller = caller;
        if self.position >= newest {
            self.live = true;
            let more = async {
                tokio::select! {
                    _ = position.changed() => false,
                    _ = closed.wait_for(|closed| *closed) => true,
                }
            };
            match timeout(HEARTBEAT, more).await {
                Ok(over) => self.over = over,
                Err(_) => self.ready.push_back(Bytes::from_static(b": still here\n\n")),
            }
            return;
        }
        if self.live && newest - self.position > BEHIND_MAX {
            self.resync(newest);
            return;
        }
        match feed.after(self.position, STEP).await {
            Ok(batch) => {
                let told = Told { forum: &self.forum, caller: &self.caller, filter: self.filter };
                for stored in batch {
                    let events = told.events(&stored).await;
                    self.ready.extend(events.into_iter().skip(self.skip).map(as_bytes));
                    self.skip = 0;
                    self.position = stored.position;
                }
            }
            Err(error) => {
                tracing::error!(%error, "an event stream cannot read the journal");
                self.resync(newest);
            }
        }
    }

    /// Says that something was left out, and where to go on after reading anew.
    fn resync(&mut self, newest: Position) {
        let id = cursor::position(newest);
        let data = format!(r#"{{"position":"{id}"}}"#);
        let event = format!("id: {id}\nevent: resync\ndata: {data}\n\n");
        self.ready.push_back(Bytes::from(event));
        self.over = true;
    }
}
