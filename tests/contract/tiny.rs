//! A server whose forum is a handful of operations.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, LazyLock, mpsc};

use actix_web::{App, HttpServer};
use parley::caller::{Caller, Doorkeeper, Holder};
use parley::http;
use parley::operation::{GET, Needs, Operation, POST, Table};
use parley::operations::catalogue::{self, Health, Instance, Storage};
use parley::rate::{Addresses, Allowance};
use parley::surface::{Settings, Surface};
use parley_language::envelope::Envelope;
use parley_language::words::Right;
use parley_language::{Reason, Refusal, Rights, ThreadId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The state: who holds which token.
#[derive(Clone)]
pub(crate) struct Tiny(Arc<People>);

struct People {
    writer: Caller,
    reader: Caller,
    hasty: Caller,
    human: Caller,
    session: Caller,
    addresses: Addresses,
}

/// The allowance of the session, by which it is known.
const SESSION: u32 = 70_000;

impl Tiny {
    pub(crate) fn new(anonymous: u32) -> Self {
        let holder = |line: &str, rights, requests| {
            Arc::new(Holder {
                line: line.into(),
                token: None,
                rights,
                allowance: Arc::new(Allowance::per_minute(requests)),
                csrf: (requests == SESSION).then(|| "c1".into()),
            })
        };
        Self(Arc::new(People {
            writer: Caller::Token(holder("tiny:writer", Rights::of([Right::Write]), 60_000)),
            reader: Caller::Token(holder("tiny:reader", Rights::READ, 60_000)),
            hasty: Caller::Token(holder("tiny:hasty", Rights::READ, 2)),
            human: Caller::Human(holder("human:operator", Rights::READ, 60_000)),
            session: Caller::Human(holder("human:operator", Rights::READ, SESSION)),
            addresses: Addresses::each(move || Allowance::per_minute(anonymous)),
        }))
    }
}

impl Doorkeeper for Tiny {
    fn caller(&self, bearer: &str) -> Option<Caller> {
        match bearer {
            "writer" => Some(self.0.writer.clone()),
            "reader" => Some(self.0.reader.clone()),
            "hasty" => Some(self.0.hasty.clone()),
            "operator" => Some(self.0.human.clone()),
            _ => None,
        }
    }

    fn anonymous(&self, address: IpAddr) -> Arc<Allowance> {
        self.0.addresses.allowance(address)
    }

    fn realm(&self) -> &str {
        "tiny"
    }

    fn session(&self, id: &str) -> Option<Caller> {
        (id == "s1").then(|| self.0.session.clone())
    }
}

impl Instance for Tiny {
    fn requests_per_minute(&self) -> u32 {
        60_000
    }

    fn health(&self) -> Health {
        let storage = Storage { engine: "none", settings: serde_json::Map::new() };
        Health { version: "0", schema_version: 1, storage, uptime_seconds: 1, ready: true }
    }
}

/// Add two numbers.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Add {
    /// The first.
    a: i64,
    /// The second.
    b: i64,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i64,
}

/// Say a text again.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Echo {
    /// The text.
    #[schemars(length(min = 1, max = 500))]
    text: String,
    /// How often, at most 3.
    #[serde(default)]
    #[schemars(range(min = 1, max = 3), extend("x-clamp" = true))]
    limit: Option<u32>,
    /// Whether to shout.
    #[serde(default)]
    loud: Option<bool>,
    /// More texts.
    #[serde(default)]
    #[schemars(length(max = 2), inner(length(min = 1, max = 5)))]
    more: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct Echoed {
    text: String,
    limit: Option<u32>,
    loud: bool,
    more: Vec<String>,
    line: Option<String>,
}

/// Post a message to a thread.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct PostMessage {
    /// The thread, like `th_12`.
    id: ThreadId,
    /// What is said.
    #[serde(flatten)]
    envelope: Envelope,
}

#[derive(Serialize, JsonSchema)]
struct Posted {
    id: ThreadId,
    body: String,
    client_ref: Option<String>,
    by: String,
}

/// Refuse, always.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Nothing {}

async fn add(_: Tiny, _: Caller, input: Add) -> Result<Sum, Refusal> {
    Ok(Sum { sum: input.a.saturating_add(input.b) })
}

async fn echo(_: Tiny, caller: Caller, input: Echo) -> Result<Echoed, Refusal> {
    Ok(Echoed {
        text: input.text,
        limit: input.limit,
        loud: input.loud.unwrap_or_default(),
        more: input.more,
        line: caller.line().map(|line| line.to_string()),
    })
}

async fn post(_: Tiny, caller: Caller, input: PostMessage) -> Result<Posted, Refusal> {
    let extension = input.envelope.from.as_ref().and_then(|from| from.extension.as_deref());
    let by = caller.author(extension).line.to_string();
    let client_ref = input.envelope.client_ref.clone();
    let draft = input.envelope.check()?;
    Ok(Posted { id: input.id, body: draft.body, client_ref, by })
}

async fn refuse(_: Tiny, _: Caller, _: Nothing) -> Result<Sum, Refusal> {
    Err(Refusal::new(Reason::ThreadClosed, "thread th_1 is closed; reopen it first")
        .then("post_threads_id_reopen", vec![("id", "th_1".into())]))
}

async fn boom(_: Tiny, _: Caller, _: Nothing) -> Result<Sum, Refusal> {
    panic!("on purpose")
}

async fn sum_of_nothing(_: Tiny, _: Caller, _: Nothing) -> Result<Sum, Refusal> {
    Ok(Sum { sum: 0 })
}

#[rustfmt::skip]
pub(crate) fn table() -> Arc<Table<Tiny>> {
    Table::new(|catalogue| vec![
        Operation::new("get_manifest",             GET,  "/manifest",              Needs::Public,                 &[],                     catalogue.manifest()),
        Operation::new("get_health",               GET,  "/health",                Needs::Public,                 &[],                     catalogue::health).http_only().unmetered(),
        Operation::new("list_api_operations",      GET,  "/operations",            Needs::Read,                   &[],                     catalogue.list()),
        Operation::new("get_api_operation",        GET,  "/operations/{key}",      Needs::Read,                   &[Reason::OperationNotFound], catalogue.get()),
        Operation::new("call_api_operation",       POST, "",                       Needs::Read,                   &Reason::ALL,            catalogue.call()).mcp_only(),
        Operation::new("add",                      GET,  "/sum",                   Needs::Read,                   &[],                     add),
        Operation::new("get_echo",                 GET,  "/echo",                  Needs::Public,                 &[],                     echo),
        Operation::new("post_echo",                POST, "/echo",                  Needs::Write,                  &[],                     echo).created(),
        Operation::new("post_threads_id_messages", POST, "/threads/{id}/messages", Needs::Write,                  &[],                     post).created(),
        Operation::new("post_refused",             POST, "/refused",               Needs::Read,                   &[Reason::ThreadClosed], refuse),
        Operation::new("post_boom",                POST, "/boom",                  Needs::Read,                   &[],                     boom),
        Operation::new("post_seal",                POST, "/seal",                  Needs::Right(Right::Verify),   &[],                     sum_of_nothing),
        Operation::new("post_pin",                 POST, "/pin",                   Needs::Right(Right::Pin),      &[],                     sum_of_nothing),
        Operation::new("post_tokens",              POST, "/tokens",                Needs::Human,                  &[],                     sum_of_nothing).created(),
    ])
}

/// A running server.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) surface: Surface<Tiny>,
}

/// The server that tests share when they do not change it.
pub(crate) static SERVER: LazyLock<Server> = LazyLock::new(|| start(60_000));

/// Starts a server on a free port. It ends with the process.
pub(crate) fn start(anonymous: u32) -> Server {
    let settings = Settings {
        name: "tiny".into(),
        version: "0.0.1".into(),
        public_origin: Some("https://tiny.example".into()),
        allowed_origins: vec!["https://claude.ai".into()],
        behind_tls_proxy: true,
        trusted_proxies: vec!["127.0.0.2/32".parse().expect("a network")],
    };
    let surface = Surface::new(Tiny::new(anonymous), table(), settings);
    let (tell, told) = mpsc::channel();
    let served = surface.clone();
    std::thread::spawn(move || {
        actix_web::rt::System::new().block_on(async move {
            let server = HttpServer::new(move || {
                App::new().configure(|config| http::configure(config, &served))
            })
            .workers(1)
            .bind(("127.0.0.1", 0))
            .unwrap();
            tell.send(server.addrs()[0]).unwrap();
            server.run().await
        })
    });
    Server { address: told.recv().unwrap(), surface }
}
