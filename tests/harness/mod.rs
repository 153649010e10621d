//! A real server and the people who use it. Tests speak to it over HTTP or MCP, like everybody else.

pub(crate) mod child;
pub(crate) mod raw;
mod reply;

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use parley::client::{Client, Era, Mcp, NoAnswer};
use parley::config::Config;
use parley::local::Local;
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) use reply::Reply;

/// A server in this process, on a folder that goes away with it, and everybody who is anybody.
pub(crate) struct World {
    people: HashMap<&'static str, Person>,
    server: Local,
    config: Config,
    _folder: TempDir,
}

/// The people with a token and what it may do.
const TOKENS: [(&str, &[&str]); 8] = [
    ("reader", &[]),
    ("writer", &["write"]),
    ("other", &["write"]),
    ("locker", &["write", "lock"]),
    ("verifier", &["write", "verify"]),
    ("verifier2", &["write", "verify"]),
    ("granter", &["write", "grant"]),
    ("pinner", &["write", "pin"]),
];

impl World {
    /// With the shipped settings, but a rate that no test reaches.
    pub(crate) fn start() -> Self {
        Self::start_with(|_| {})
    }

    /// The same, with settings of the test's own.
    pub(crate) fn start_with(change: impl FnOnce(&mut Config)) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let mut config = Config::shipped();
        config.server.listen = ([127, 0, 0, 1], 0).into();
        config.server.workers = 2;
        config.storage.data_dir = folder.path().join("data");
        config.limits.requests_per_minute = 1_000_000;
        config.limits.requests_per_minute_anonymous = 1_000_000;
        change(&mut config);
        let server = Local::start(config.clone()).expect("the server starts");
        let human = human(&server.origin(), &server.operator_key_path);
        let mut people: HashMap<_, _> =
            TOKENS.iter().map(|(name, rights)| (*name, human.issues(name, rights))).collect();
        people.insert("nobody", Person::new("nobody", Client::new(server.origin())));
        people.insert("human", human);
        Self { people, server, config, _folder: folder }
    }

    /// The same server and people after a restart.
    pub(crate) fn restart(self) -> Self {
        self.restart_after(|_| {})
    }

    /// The same, and something happens to the data directory in between.
    pub(crate) fn restart_after(self, happens: impl FnOnce(&Path)) -> Self {
        let Self { people, server, config, _folder: folder } = self;
        server.stop().expect("the server stops");
        happens(&config.storage.data_dir);
        let server = Local::start(config.clone()).expect("the server starts again");
        let origin = server.origin();
        let people = people.into_iter().map(|(name, person)| (name, person.at(&origin))).collect();
        Self { people, server, config, _folder: folder }
    }

    /// The same server and people after a restart with other settings.
    pub(crate) fn restart_with(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(&mut self.config);
        self.restart()
    }

    /// Where everything durable is.
    pub(crate) fn data_dir(&self) -> &Path {
        &self.config.storage.data_dir
    }

    /// The server's address.
    pub(crate) fn addr(&self) -> std::net::SocketAddr {
        self.server.addr
    }

    /// One of: nobody, reader, writer, other, locker, verifier, granter, pinner, human.
    pub(crate) fn person(&self, name: &str) -> &Person {
        &self.people[name]
    }

    /// The events of a stream until `count` of them came: id, type, data.
    pub(crate) fn events(
        &self,
        query: &str,
        headers: &str,
        count: usize,
    ) -> Vec<(String, String, Value)> {
        let mut stream = TcpStream::connect(self.addr()).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time limit");
        write!(stream, "GET /api/v1/events{query} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n")
            .expect("it takes a request");
        let mut found = Vec::new();
        let (mut id, mut kind) = (String::new(), String::new());
        for line in BufReader::new(stream).lines() {
            let line = line.expect("the stream goes on");
            if let Some(rest) = line.strip_prefix("id: ") {
                id = rest.to_owned();
            } else if let Some(rest) = line.strip_prefix("event: ") {
                kind = rest.to_owned();
            } else if let Some(rest) = line.strip_prefix("data: ") {
                let data = serde_json::from_str(rest).expect("data is JSON");
                found.push((id.clone(), kind.clone(), data));
                if found.len() == count {
                    return found;
                }
            }
        }
        panic!("the stream ended after {found:?}");
    }

    /// Where the server is.
    pub(crate) fn origin(&self) -> String {
        self.server.origin()
    }
}

/// The operator, by the key in its file.
pub(crate) fn human(origin: &str, operator_key_path: &Path) -> Person {
    let key = fs::read_to_string(operator_key_path).expect("the operator's key");
    Person::new("human", Client::new(origin).with_token(key.trim()))
}

/// Somebody with, or without, a token.
#[derive(Clone)]
pub(crate) struct Person {
    pub(crate) name: String,
    pub(crate) client: Client,
}

impl Person {
    pub(crate) fn new(name: &str, client: Client) -> Self {
        Self { name: name.to_owned(), client }
    }

    /// The operator gives somebody a token.
    pub(crate) fn issues(&self, label: &str, rights: &[&str]) -> Self {
        let issued = self.post("/tokens", &json!({"label": label, "rights": rights})).expect(201);
        let token = issued["token"].as_str().expect("a token");
        Self::new(label, self.client.with_token(token))
    }

    /// The same person at another address, as after a restart.
    pub(crate) fn at(&self, origin: &str) -> Self {
        Self { name: self.name.clone(), client: self.client.at(origin) }
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.try_get(path).expect("an answer")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Reply {
        self.try_post(path, body).expect("an answer")
    }

    pub(crate) fn try_get(&self, path: &str) -> Result<Reply, NoAnswer> {
        Ok(Reply::new(format!("{} GET {path}", self.name), self.client.get(path)?))
    }

    pub(crate) fn try_post(&self, path: &str, body: &Value) -> Result<Reply, NoAnswer> {
        Ok(Reply::new(format!("{} POST {path} {body}", self.name), self.client.post(path, body)?))
    }

    /// Calls a tool over MCP, in the given era; a protocol error is under `error`.
    pub(crate) fn calls(&self, era: Era, tool: &str, arguments: &Value) -> Reply {
        let answer = Mcp::new(self.client.clone(), era).call(tool, arguments).expect("an answer");
        Reply::new(format!("{} calls {tool} {arguments}", self.name), answer)
    }

    pub(crate) fn opens(&self, envelope: &Value) -> Reply {
        self.post("/boards/lobby/threads", envelope)
    }

    pub(crate) fn posts(&self, thread: &str, envelope: &Value) -> Reply {
        self.post(&format!("/threads/{thread}/messages"), envelope)
    }

    pub(crate) fn closes(&self, thread: &str) -> Reply {
        self.post(&format!("/threads/{thread}/close"), &json!({}))
    }

    /// The thread and all its messages, oldest first, page by page.
    pub(crate) fn reads(&self, thread: &str) -> (Value, Vec<Value>) {
        let mut messages = Vec::new();
        let mut after = String::new();
        loop {
            let path = format!("/threads/{thread}?flat=true&limit=100{after}");
            let page = self.get(&path).expect(200);
            messages.extend(page["messages"].as_array().expect("messages").iter().cloned());
            match page["next_cursor"].as_str() {
                Some(cursor) => after = format!("&cursor={cursor}"),
                None => return (page["thread"].clone(), messages),
            }
        }
    }

    /// The thread's changes of state, oldest first.
    pub(crate) fn reads_events(&self, thread: &str) -> Vec<Value> {
        let page = self.get(&format!("/threads/{thread}/events?limit=100")).expect(200);
        page["items"].as_array().expect("items").clone()
    }
}

/// The text in a field, such as an id.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("a text, not {value}")).to_owned()
}

/// Random numbers, from `PARLEY_SEED` or a fresh seed, which is printed.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new() -> Self {
        use std::hash::{BuildHasher, RandomState};
        let given = std::env::var("PARLEY_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or_else(|| RandomState::new().hash_one("seed"));
        println!("PARLEY_SEED={seed}");
        Self(seed)
    }

    /// Another source that goes its own way, for another thread.
    pub(crate) fn split(&mut self) -> Self {
        Self(self.next())
    }

    /// Below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).expect("below a usize")
    }

    /// splitmix64.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
