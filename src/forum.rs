//! What every operation works on: the registry, who is who, and the settings. Cloning it shares everything.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use parley_actors::Registry;
use parley_language::desk::Board;
use parley_language::{BoardId, Reason, Refusal};
use serde_json::Value;

use crate::caller::{Caller, Doorkeeper};
use crate::callers::Callers;
use crate::config::Config;
use crate::documents;
use crate::events::Tickets;
use crate::operations::catalogue::{Health, Instance, Storage};
use crate::rate::Allowance;
use crate::search::Search;
use crate::token;

/// The forum as its operations see it.
#[derive(Clone)]
pub struct Forum(Arc<Inner>);

struct Inner {
    registry: Registry,
    callers: Callers,
    realm: String,
    started: Instant,
    draining: AtomicBool,
    tickets: Tickets,
    search: Search,
    waiting: AtomicUsize,
    waits_max: usize,
}

impl Forum {
    /// A forum over an open registry.
    pub fn new(registry: Registry, callers: Callers, search: Search, config: &Config) -> Self {
        Self(Arc::new(Inner {
            registry,
            callers,
            realm: config.realm.name.clone(),
            started: Instant::now(),
            draining: AtomicBool::new(false),
            tickets: Tickets::default(),
            search,
            waiting: AtomicUsize::new(0),
            waits_max: config.limits.waits_max,
        }))
    }

    /// Threads, boards and tokens.
    pub fn registry(&self) -> &Registry {
        &self.0.registry
    }

    /// The identity namespace of this instance.
    pub fn realm(&self) -> &str {
        &self.0.realm
    }

    /// From now on it is not ready: whoever asks should send new work elsewhere. Those who wait are answered.
    pub fn drain(&self) {
        self.0.draining.store(true, Ordering::Relaxed);
        self.registry().feed().close();
    }

    /// The full-text search.
    pub fn search(&self) -> &Search {
        &self.0.search
    }

    /// Tickets for event streams.
    pub fn tickets(&self) -> &Tickets {
        &self.0.tickets
    }

    /// The same caller as it stands now; nobody once its token was revoked.
    pub fn still(&self, caller: &Caller) -> Option<Caller> {
        self.0.callers.still(self.registry().shelves(), caller)
    }

    /// The human, whoever it is that speaks for it.
    pub fn human(&self) -> Caller {
        self.0.callers.human()
    }

    /// How many callers wait.
    pub fn waiting(&self) -> &AtomicUsize {
        &self.0.waiting
    }

    /// How many callers may wait at a time.
    pub fn waits_max(&self) -> usize {
        self.0.waits_max
    }

    /// A board by number or slug.
    ///
    /// # Errors
    /// `board_not_found`.
    pub fn board(&self, id: &BoardId) -> Result<Arc<Board>, Refusal> {
        self.registry().shelves().board(id).ok_or_else(|| {
            let error = format!("there is no board `{id}`; list boards with get_boards");
            Refusal::new(Reason::BoardNotFound, error).then("get_boards", vec![])
        })
    }
}

impl Doorkeeper for Forum {
    fn caller(&self, bearer: &str) -> Option<Caller> {
        self.0.callers.caller(self.registry().shelves(), bearer)
    }

    fn anonymous(&self, address: IpAddr) -> Arc<Allowance> {
        self.0.callers.anonymous(address)
    }

    fn realm(&self) -> &str {
        &self.0.realm
    }

    fn session(&self, id: &str) -> Option<Caller> {
        self.0.callers.session(self.registry().human(), id)
    }
}

impl Instance for Forum {
    fn requests_per_minute(&self) -> u32 {
        self.0.callers.requests_per_minute()
    }

    fn endpoints(&self) -> Vec<(&'static str, &'static str)> {
        let mut endpoints = vec![("events", "/api/v1/events"), ("login", "/login")];
        endpoints.extend(documents::PLACES);
        endpoints
    }

    fn health(&self) -> Health {
        let journal = self.registry().journal();
        let engine = journal.engine();
        let settings =
            engine.settings.into_iter().map(|(name, value)| (name.to_owned(), value.into()));
        Health {
            version: env!("CARGO_PKG_VERSION"),
            schema_version: u32::from(parley_actors::record::VERSION),
            storage: Storage { engine: engine.name, settings: settings.collect() },
            uptime_seconds: self.0.started.elapsed().as_secs(),
            ready: journal.trouble().is_none() && !self.0.draining.load(Ordering::Relaxed),
        }
    }
}

/// No live token and no operator key may stand in a text (13.12): what is said here is there for all to read.
///
/// # Errors
/// `invalid_body`, rule `contains_token`, naming the field.
pub fn no_live_token(forum: &Forum, input: &Value) -> Result<(), Refusal> {
    fn look(forum: &Forum, value: &Value, at: &str) -> Result<(), Refusal> {
        match value {
            Value::String(text) => {
                match token::candidates(text).find(|found| forum.caller(found).is_some()) {
                    None => Ok(()),
                    Some(_) => Err(Refusal::field(
                        at,
                        "contains_token",
                        "a live token stands in this text; take it out, and tell the operator if others may have seen it",
                    )),
                }
            }
            Value::Array(items) => items
                .iter()
                .enumerate()
                .try_for_each(|(nth, item)| look(forum, item, &format!("{at}[{nth}]"))),
            Value::Object(members) => members.iter().try_for_each(|(name, member)| {
                let at = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
                look(forum, &Value::String(name.clone()), &at)?;
                look(forum, member, &at)
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        }
    }
    look(forum, input, "")
}
