//! The settings: their names, units, defaults and ranges, read from files, the environment and the command line.
//! Never prints, never exits, and knows no other part of the server.

mod layers;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use ipnet::IpNet;
use serde::Deserialize;

use layers::Layers;

/// The shipped `config.toml`: the defaults, and the list of what can be set at all.
pub const SHIPPED: &str = include_str!("../config.toml");

/// Every setting, checked. Built by [`Config::shipped`] or [`Config::load`].
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// How the server meets the network.
    pub server: ServerSettings,
    /// Whose identities these are.
    pub realm: RealmSettings,
    /// Where and how things are kept.
    pub storage: StorageSettings,
    /// What a caller may ask for.
    pub limits: LimitSettings,
    /// How thread actors live.
    pub threads: ThreadSettings,
    /// Where the operator is told of requests.
    pub webhook: WebhookSettings,
    /// What is logged.
    pub logs: LogSettings,
}

/// The section `server`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerSettings {
    /// Where to listen.
    pub listen: SocketAddr,
    /// Whether a proxy in front speaks TLS; without one only loopback is allowed.
    pub behind_tls_proxy: bool,
    /// Whose `X-Forwarded-For` is believed when `behind_tls_proxy` is set: addresses or networks.
    pub trusted_proxies: Vec<String>,
    /// How the outside reaches the server; empty when it is the address listened on.
    pub public_origin: String,
    /// Further allowed values of the `Origin` header.
    pub allowed_origins: Vec<String>,
    /// HTTP threads; 0 means one per core, see [`ServerSettings::threads`].
    pub workers: usize,
    /// How long a stop waits for requests under way.
    pub drain_seconds_max: u64,
}

impl ServerSettings {
    /// How many HTTP threads to start.
    pub fn threads(&self) -> usize {
        match self.workers {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            workers => workers,
        }
    }

    /// The networks whose `X-Forwarded-For` is believed.
    pub fn proxies(&self) -> Vec<IpNet> {
        let networks = self.trusted_proxies.iter().filter_map(|text| layers::network(text));
        networks.filter(|_| self.behind_tls_proxy).collect()
    }

    /// The address to give to people and clients, once the server listens on `bound`.
    pub fn origin(&self, bound: SocketAddr) -> String {
        if !self.public_origin.is_empty() {
            return self.public_origin.clone();
        }
        let loopback = match bound {
            SocketAddr::V4(_) => "127.0.0.1".to_owned(),
            SocketAddr::V6(_) => "[::1]".to_owned(),
        };
        match bound.ip().is_unspecified() {
            true => format!("http://{loopback}:{}", bound.port()),
            false => format!("http://{bound}"),
        }
    }
}

/// The section `realm`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RealmSettings {
    /// The prefix of every line but the human's.
    pub name: String,
}

/// The section `storage`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StorageSettings {
    /// The folder of everything durable.
    pub data_dir: PathBuf,
    /// Appends that may wait for the disk.
    pub queue_appends_max: usize,
    /// Records that share one flush at most.
    pub group_records_max: usize,
    /// Bytes that share one flush at most.
    pub group_bytes_max: usize,
    /// Records between two checkpoints of the indexes.
    pub checkpoint_records: usize,
    /// The engine's page cache.
    pub cache_bytes: u64,
    /// What an acknowledged write survives.
    pub durability: Durability,
}

/// What an acknowledged write survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// Power cuts too.
    Power,
    /// The death of the process, but not a power cut of the next seconds.
    Process,
}

impl StorageSettings {
    /// The same for the journal, which lives in a folder of its own inside the data directory.
    pub fn journal(&self) -> parley_journal::Settings {
        parley_journal::Settings {
            folder: self.data_dir.join("journal"),
            queue_appends_max: self.queue_appends_max,
            group_records_max: self.group_records_max,
            group_bytes_max: self.group_bytes_max,
            checkpoint_records: self.checkpoint_records,
            cache_bytes: self.cache_bytes,
            durability: match self.durability {
                Durability::Power => parley_journal::Durability::Power,
                Durability::Process => parley_journal::Durability::Process,
            },
        }
    }

    /// The folder of the full-text index.
    pub fn search_path(&self) -> PathBuf {
        self.data_dir.join("search")
    }

    /// The key that signs what the webhook is told.
    pub fn webhook_key_path(&self) -> PathBuf {
        self.data_dir.join("webhook.key")
    }

    /// The operator's key: whoever reads this file is the human.
    pub fn operator_key_path(&self) -> PathBuf {
        self.data_dir.join("operator.key")
    }
}

/// The section `limits`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitSettings {
    /// Requests a minute for a token or a session.
    pub requests_per_minute: u32,
    /// Requests a minute for an address without a token.
    pub requests_per_minute_anonymous: u32,
    /// Calls of `wait` at a time.
    pub waits_max: usize,
    /// Applications for tokens an hour from one caller.
    pub token_requests_per_hour: u32,
    /// Applications that may wait for a decision.
    pub token_requests_pending_max: usize,
}

/// The section `threads`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThreadSettings {
    /// Requests that may wait for one thread.
    pub queue_per_thread_max: usize,
    /// Idle time after which a thread's actor leaves memory.
    pub idle_seconds_until_passivation: u64,
    /// Thread actors in memory at most.
    pub active_max: usize,
}

/// The section `webhook`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhookSettings {
    /// Where access and feature requests are told; empty for nowhere.
    pub url: String,
    /// Whether the address may be private or loopback, and plain HTTP.
    pub allow_private_addresses: bool,
}

/// The section `logs`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogSettings {
    /// For whom.
    pub format: LogFormat,
    /// How much: a level, or a filter per module.
    pub level: String,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// For people.
    Human,
    /// One JSON object a line.
    Json,
}

/// What the command line sets on top, as (setting, flag, value).
pub type Flag<'a> = (&'static str, &'static str, &'a str);

impl Config {
    /// The defaults, untouched by the environment.
    pub fn shipped() -> Self {
        Layers::shipped()
            .finish()
            .expect("the shipped config.toml passes its own checks, see tests")
    }

    /// The defaults, then the file, then the environment, then the flags.
    pub fn load(
        file: Option<&Path>,
        environment: impl Iterator<Item = (String, String)>,
        flags: &[Flag<'_>],
    ) -> Result<Self, ConfigError> {
        let mut layers = Layers::shipped();
        if let Some(path) = file {
            let text = std::fs::read_to_string(path).map_err(|error| ConfigError::Unreadable {
                path: path.to_owned(),
                error: error.to_string(),
            })?;
            layers.add_file(&path.display().to_string(), &text)?;
        }
        layers.add_environment(environment)?;
        for (setting, flag, value) in flags {
            layers.add_text(setting, (*flag).to_owned(), value)?;
        }
        layers.finish()
    }
}

/// Why the settings cannot be used. Each sentence says where, what, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The file given with `--config` cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's words.
        error: String,
    },
    /// The file is not TOML.
    #[error("{origin}: this is not TOML: {error}")]
    Syntax {
        /// File and line.
        origin: String,
        /// The parser's words.
        error: String,
    },
    /// No such setting.
    #[error("{origin}: unknown setting `{setting}`; did you mean `{nearest}`?")]
    Unknown {
        /// File and line, or the variable.
        origin: String,
        /// What was written.
        setting: String,
        /// The setting that looks most like it.
        nearest: String,
    },
    /// The value is of the wrong type or out of range.
    #[error("{origin}: {setting} = {actual} cannot be; allowed: {allowed}")]
    Refused {
        /// File and line, variable or flag.
        origin: String,
        /// The setting.
        setting: String,
        /// What was given.
        actual: String,
        /// What may be given.
        allowed: String,
    },
    /// Plain HTTP beyond this machine.
    #[error(
        "{origin}: server.listen = {listen} is reachable from other machines, and parley speaks plain HTTP: tokens would \
         cross the network in the clear. Listen on 127.0.0.1, or put a proxy that speaks TLS in front and set \
         server.behind_tls_proxy = true"
    )]
    Exposed {
        /// Where the address was set.
        origin: String,
        /// The address.
        listen: SocketAddr,
    },
}
