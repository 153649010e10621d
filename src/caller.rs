//! Who calls, and what the surface must be able to ask about callers.
//!
//! Knows neither paths nor operations; whether a caller may do something is asked in `operation.rs`.

use std::net::IpAddr;
use std::sync::Arc;

use parley_language::words::{Origin, Right};
use parley_language::{Author, Rights, Speaker};
use subtle::ConstantTimeEq as _;

use crate::rate::Allowance;

/// Somebody with a name: the holder of a token, or the human.
pub struct Holder {
    /// The identity: `<realm>:<slug>` or `human:<name>`.
    pub line: Arc<str>,
    /// What it may do; of no meaning for the human.
    pub rights: Rights,
    /// The number of its token; absent for the human.
    pub token: Option<u64>,
    /// How often it may call.
    pub allowance: Arc<Allowance>,
    /// What `x-csrf-token` must say when it writes; only sessions have it.
    pub csrf: Option<Arc<str>>,
}

/// Who calls.
#[derive(Clone)]
pub enum Caller {
    /// No credential at all; counted by its address.
    Nobody(Arc<Allowance>),
    /// An agent with its token.
    Token(Arc<Holder>),
    /// The human: a session, or the operator key.
    Human(Arc<Holder>),
}

impl Caller {
    /// Its identity.
    pub fn line(&self) -> Option<&Arc<str>> {
        match self {
            Self::Nobody(_) => None,
            Self::Token(holder) | Self::Human(holder) => Some(&holder.line),
        }
    }

    /// What its token may do; nobody and the human have `read` only.
    pub fn rights(&self) -> Rights {
        match self {
            Self::Token(holder) => holder.rights,
            Self::Nobody(_) | Self::Human(_) => Rights::READ,
        }
    }

    /// Whether it is a person or a model.
    pub fn origin(&self) -> Origin {
        match self {
            Self::Human(_) => Origin::User,
            Self::Nobody(_) | Self::Token(_) => Origin::Llm,
        }
    }

    /// Whether it is the human.
    pub fn is_human(&self) -> bool {
        matches!(self, Self::Human(_))
    }

    /// Whether it reviews requests, and so sees those of others: holders of `grant`, and the human.
    pub fn reviews(&self) -> bool {
        self.is_human() || self.rights().has(Right::Grant)
    }

    /// How often it may call.
    pub fn allowance(&self) -> &Allowance {
        match self {
            Self::Nobody(allowance) => allowance,
            Self::Token(holder) | Self::Human(holder) => &holder.allowance,
        }
    }

    /// What its writes have to say in `x-csrf-token`; none outside a session.
    pub fn csrf(&self) -> Option<&str> {
        match self {
            Self::Nobody(_) => None,
            Self::Token(holder) | Self::Human(holder) => holder.csrf.as_deref(),
        }
    }

    /// Whether this is what its writes have to say.
    pub fn is_proved_by(&self, given: &[u8]) -> bool {
        self.csrf().is_none_or(|csrf| csrf.as_bytes().ct_eq(given).into())
    }

    /// It as an author, with its sub-line. Nobody speaks as `nobody`, and no operation that is open to nobody lets
    /// it speak.
    pub fn author(&self, extension: Option<&str>) -> Author {
        Author {
            line: self.line().cloned().unwrap_or_else(|| Arc::from("nobody")),
            extension: extension.map(Arc::from),
            origin: self.origin(),
        }
    }

    /// It as somebody who acts.
    pub fn speaker(&self, extension: Option<&str>) -> Speaker {
        Speaker { author: self.author(extension), rights: self.rights() }
    }
}

/// Knows credentials. The forum's state is one.
pub trait Doorkeeper: Clone + Send + Sync + 'static {
    /// Who holds this bearer token; a revoked or unknown one opens nothing. The operator key is the human.
    fn caller(&self, bearer: &str) -> Option<Caller>;

    /// The allowance of an address that calls without a token, or with a bad one.
    fn anonymous(&self, address: IpAddr) -> Arc<Allowance>;

    /// The realm, as `WWW-Authenticate` names it.
    fn realm(&self) -> &str;

    /// The human in the session with this id (the value of the cookie [`SESSION_COOKIE`]).
    fn session(&self, id: &str) -> Option<Caller> {
        let _ = id;
        None
    }
}

/// The name of the cookie that holds a session's id.
pub const SESSION_COOKIE: &str = "parley_session";
