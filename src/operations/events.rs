//! What an event stream needs beforehand.

use parley_language::{Refusal, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::caller::Caller;
use crate::events::TICKET_SECONDS;
use crate::forum::Forum;

/// Get a ticket that opens one event stream, `GET /api/v1/events?ticket=…`, within 30 seconds.
#[derive(Deserialize, JsonSchema)]
pub struct PostTicket {}

/// A ticket.
#[derive(Serialize, JsonSchema)]
pub struct Ticket {
    /// The ticket; good once.
    pub ticket: String,
    /// When it is good no more.
    pub expires_at: Time,
}

/// Issues a ticket.
///
/// # Errors
/// None of its own.
pub async fn ticket(forum: Forum, caller: Caller, _: PostTicket) -> Result<Ticket, Refusal> {
    let now = parley_actors::registry::now();
    let ticket = forum.tickets().issue(caller);
    Ok(Ticket { ticket, expires_at: Time(now.0 + TICKET_SECONDS * 1_000) })
}
