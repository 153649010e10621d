//! Tickets: a browser's EventSource cannot send a header, and a token never stands in an address. A ticket opens one
//! stream, once, within 30 seconds.

use std::time::{Duration, Instant};

use dashmap::DashMap;

use crate::caller::Caller;
use crate::token::Secret;

/// How long a ticket is good: seconds.
pub const TICKET_SECONDS: u64 = 30;
/// How many tickets may be out at a time; the oldest go first.
const TICKETS_MAX: usize = 16_384;

/// The tickets that are out. Only their hashes are kept.
#[derive(Default)]
pub struct Tickets(DashMap<[u8; 32], (Caller, Instant)>);

impl Tickets {
    /// A new ticket for this caller.
    pub fn issue(&self, caller: Caller) -> String {
        let now = Instant::now();
        if self.0.len() >= TICKETS_MAX {
            self.0.retain(|_, (_, until)| *until > now);
        }
        if self.0.len() >= TICKETS_MAX {
            let oldest = self.0.iter().min_by_key(|entry| entry.1).map(|entry| *entry.key());
            oldest.map(|oldest| self.0.remove(&oldest));
        }
        let secret = Secret::new();
        self.0.insert(secret.hash(), (caller, now + Duration::from_secs(TICKET_SECONDS)));
        secret.token("ticket")
    }

    /// Whose ticket it is. It is used up now.
    pub fn take(&self, ticket: &str) -> Option<Caller> {
        let (id, secret) = crate::token::parse(ticket)?;
        let (_, (caller, until)) =
            self.0.remove(&crate::token::hash(secret)).filter(|_| id == "ticket")?;
        (until > Instant::now()).then_some(caller)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::rate::Allowance;

    #[test]
    fn a_ticket_is_good_once() {
        let tickets = Tickets::default();
        let nobody = || Caller::Nobody(Arc::new(Allowance::per_minute(1)));
        let ticket = tickets.issue(nobody());
        assert!(tickets.take("parley_ticket_nothing").is_none());
        assert!(tickets.take(&ticket).is_some());
        assert!(tickets.take(&ticket).is_none());
        for _ in 0..TICKETS_MAX + 10 {
            tickets.issue(nobody());
        }
        assert!(tickets.0.len() <= TICKETS_MAX);
    }
}
