//! Who is who: the token in a request, or the address it came from, made into a [`Caller`].
//!
//! A token carries its number, so nothing is searched; its secret is hashed and compared on every call, and what never
//! changes about a caller (line, rights, allowance) is made once per token as it stands.

use std::net::IpAddr;
use std::sync::Arc;

use dashmap::DashMap;
use parley_actors::desk::Shelves;
use parley_actors::human::{Hash, Human, SESSIONS_MAX};
use parley_actors::registry::now;
use parley_language::Rights;
use parley_language::desk::Token;
use subtle::ConstantTimeEq;

use crate::caller::{Caller, Holder};
use crate::config::LimitSettings;
use crate::rate::{Addresses, Allowance};
use crate::token;

/// The id in the operator's key, where a token has its number.
pub const OPERATOR: &str = "operator";

/// The line of the human.
pub const HUMAN: &str = "human:operator";

struct Known {
    token: Arc<Token>,
    caller: Caller,
}

/// Who is who.
pub struct Callers {
    known: DashMap<u64, Known>,
    human: Caller,
    operator_hash: [u8; 32],
    sessions: DashMap<Hash, Caller>,
    addresses: Addresses,
    limits: LimitSettings,
}

impl Callers {
    /// With the hash of the operator's key, and how often a caller and an address may call.
    pub fn new(operator_hash: [u8; 32], limits: &LimitSettings) -> Self {
        let (anonymous, applications) =
            (limits.requests_per_minute_anonymous, limits.token_requests_per_hour);
        let address =
            move || Allowance::per_minute(anonymous).with_applications_per_hour(applications);
        let holder = Holder {
            line: Arc::from(HUMAN),
            rights: Rights::READ,
            token: None,
            allowance: Arc::new(named(limits)),
            csrf: None,
        };
        Self {
            known: DashMap::new(),
            sessions: DashMap::new(),
            human: Caller::Human(Arc::new(holder)),
            operator_hash,
            addresses: Addresses::each(address),
            limits: limits.clone(),
        }
    }

    /// Who holds this bearer token; the operator's key is the human.
    pub fn caller(&self, shelves: &Shelves, bearer: &str) -> Option<Caller> {
        let (id, secret) = token::parse(bearer)?;
        let hash = token::hash(secret);
        if id == OPERATOR {
            return bool::from(hash.ct_eq(&self.operator_hash)).then(|| self.human.clone());
        }
        // A number is written in one way only, so that one token is one text.
        let number: u64 = id.parse().ok().filter(|_| !id.starts_with(['0', '+']))?;
        let token = shelves.token(number).filter(|token| !token.revoked)?;
        if !bool::from(hash.ct_eq(&token.secret_hash)) {
            return None;
        }
        if let Some(known) = self.known.get(&number)
            && Arc::ptr_eq(&known.token, &token)
        {
            return Some(known.caller.clone());
        }
        Some(self.learn(number, token))
    }

    /// A token that is new, or that stands otherwise than before; what it has used of its minute stays used.
    fn learn(&self, number: u64, token: Arc<Token>) -> Caller {
        let allowance = match self.known.get(&number).map(|known| known.caller.clone()) {
            Some(Caller::Token(holder)) => Arc::clone(&holder.allowance),
            Some(Caller::Nobody(_) | Caller::Human(_)) | None => Arc::new(named(&self.limits)),
        };
        let holder = Holder {
            line: Arc::clone(&token.line),
            rights: token.rights,
            token: Some(number),
            allowance,
            csrf: None,
        };
        let caller = Caller::Token(Arc::new(holder));
        self.known.insert(number, Known { token, caller: caller.clone() });
        caller
    }

    /// The same caller as it stands now; nobody once its token was revoked.
    pub fn still(&self, shelves: &Shelves, caller: &Caller) -> Option<Caller> {
        let Caller::Token(holder) = caller else { return Some(caller.clone()) };
        let number = holder.token?;
        let token = shelves.token(number).filter(|token| !token.revoked)?;
        if token.rights == holder.rights {
            return Some(caller.clone());
        }
        Some(self.learn(number, token))
    }

    /// The human with the operator's key.
    pub fn human(&self) -> Caller {
        self.human.clone()
    }

    /// The human in a session, by the secret in its cookie. Each session has an allowance of its own.
    pub fn session(&self, human: &Human, secret: &str) -> Option<Caller> {
        let hash = token::hash(secret);
        if human.session(&hash, now()).is_none() {
            self.sessions.remove(&hash);
            return None;
        }
        if let Some(known) = self.sessions.get(&hash) {
            return Some(known.clone());
        }
        if self.sessions.len() >= SESSIONS_MAX {
            self.sessions.retain(|hash, _| human.session(hash, now()).is_some());
        }
        let holder = Holder {
            line: Arc::from(HUMAN),
            rights: Rights::READ,
            token: None,
            allowance: Arc::new(named(&self.limits)),
            csrf: Some(csrf(secret)),
        };
        let caller = Caller::Human(Arc::new(holder));
        self.sessions.insert(hash, caller.clone());
        Some(caller)
    }

    /// The allowance of an address that calls without a token.
    pub fn anonymous(&self, address: IpAddr) -> Arc<Allowance> {
        self.addresses.allowance(address)
    }

    /// The allowance of a token.
    pub fn requests_per_minute(&self) -> u32 {
        self.limits.requests_per_minute
    }
}

/// The allowance of somebody with a name.
fn named(limits: &LimitSettings) -> Allowance {
    Allowance::per_minute(limits.requests_per_minute)
        .with_applications_per_hour(limits.token_requests_per_hour)
}

/// What a session's page sends with its writes: it follows from the session's secret, and that does not follow from it.
fn csrf(secret: &str) -> Arc<str> {
    let hash = token::hash(&format!("csrf {secret}"));
    hash[..20].iter().map(|byte| format!("{byte:02x}")).collect::<String>().into()
}
