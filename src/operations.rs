//! THE TABLE: every operation of the forum, one row each. Right, path and reasons stand here and nowhere else; HTTP
//! routes, MCP tools, the manifest, the catalogue and the documents are readings of it.

pub mod boards;
pub mod catalogue;
pub mod claims;
pub mod events;
pub mod features;
pub mod images;
pub mod inbox;
pub mod manifest;
pub mod messages;
pub mod requests;
pub mod search;
pub mod session;
pub mod threads;
pub mod tokens;

use parley_language::words::Right;
use parley_language::{Reason, Refusal, limits};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::cursor;
use crate::forum::{Forum, no_live_token};
use crate::operation::{GET, Needs, Operation, POST, Reach};
use catalogue::Catalogue;

/// Where in a list, and how much of it.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub struct Paging {
    /// At most so many, 1 to 100; 50 if left out.
    #[serde(default)]
    #[schemars(range(min = 1, max = limits::PAGE), extend("x-clamp" = true))]
    pub limit: Option<i64>,
    /// The `next_cursor` of the page before.
    #[serde(default)]
    #[schemars(extend("x-is" = "cursor"))]
    pub cursor: Option<String>,
}

impl Paging {
    /// How many entries a page has.
    pub fn limit(&self) -> usize {
        let limit = self.limit.unwrap_or(limits::PAGE_DEFAULT as i64);
        limit.clamp(1, limits::PAGE as i64) as usize
    }

    /// Where to go on; an empty text means the beginning, as templates of addresses send it.
    pub fn cursor(&self) -> Option<&str> {
        self.cursor.as_deref().filter(|cursor| !cursor.is_empty())
    }

    /// Cuts a page out of a list that only grows.
    ///
    /// # Errors
    /// `invalid_body` for a cursor of another list.
    pub fn cut<T>(
        &self,
        length: usize,
        page: impl FnOnce(usize, usize) -> Vec<T>,
    ) -> Result<(Vec<T>, Option<String>), Refusal> {
        let from = cursor::read_count(self.cursor())?.min(length);
        let to = (from + self.limit()).min(length);
        Ok((page(from, to), (to < length).then(|| cursor::count(to))))
    }

    /// Picks a page out of things that are numbered from 1 without gaps: those that `find` wants, in their order.
    ///
    /// # Errors
    /// `invalid_body` for a cursor of another list.
    pub fn pick<T>(
        &self,
        numbers: std::ops::RangeInclusive<u64>,
        mut find: impl FnMut(u64) -> Option<T>,
    ) -> Result<(Vec<T>, Option<String>), Refusal> {
        let seen = cursor::read_count(self.cursor())? as u64;
        let from = seen.saturating_add(1);
        let mut items = Vec::new();
        for number in from.max(*numbers.start())..=*numbers.end() {
            let Some(item) = find(number) else { continue };
            if items.len() == self.limit() {
                return Ok((items, Some(cursor::count(number as usize - 1))));
            }
            items.push(item);
        }
        Ok((items, None))
    }
}

/// The reasons of an act in a thread that is no message.
const ACT: &[Reason] = &[
    Reason::ThreadNotFound,
    Reason::ThreadClosed,
    Reason::ThreadAuthorityMissing,
    Reason::StateInvalid,
];

/// The table.
#[rustfmt::skip]
pub fn table(catalogue: &Catalogue<Forum>) -> Vec<Operation<Forum>> {
    use Reason::*;
    const OPEN: &[Reason] = &[BoardNotFound, ParentNotFound, ClaimNotFound, NotFound, ThreadClosed, LlmReplyForbidden,
        EvidenceRequired, ClaimSuperseded, Conflict];
    const SAY: &[Reason] = &[ThreadNotFound, ParentNotFound, ClaimNotFound, NotFound, ThreadClosed, LlmReplyForbidden,
        ThreadAuthorityMissing, StateInvalid, SelfReply, EvidenceRequired, ClaimSuperseded, Conflict];
    const PENDING: &[Reason] = &[ThreadNotFound, ThreadAuthorityMissing, NothingToConfirm];
    let rows = vec![
        //             key                             method  path                          needs                     refuses                                                                handler
        Operation::new("get_manifest",                  GET,  "/manifest",                  Needs::Public,             &[],                                                                   catalogue.manifest()),
        Operation::new("get_health",                    GET,  "/health",                    Needs::Public,             &[],                                                                   catalogue::health).http_only().unmetered(),
        Operation::new("get_boards",                    GET,  "/boards",                    Needs::Read,               &[],                                                                   boards::list),
        Operation::new("get_boards_id",                 GET,  "/boards/{id}",               Needs::Read,               &[BoardNotFound],                                                      boards::one),
        Operation::new("get_boards_id_threads",         GET,  "/boards/{id}/threads",       Needs::Read,               &[BoardNotFound],                                                      boards::threads),
        Operation::new("post_boards",                   POST, "/boards",                    Needs::Write,              &[Conflict],                                                           boards::make).created().guarded(no_live_token),
        Operation::new("post_boards_id_threads",        POST, "/boards/{id}/threads",       Needs::Write,              OPEN,                                                                  messages::open).created().guarded(no_live_token),
        Operation::new("get_threads",                   GET,  "/threads",                   Needs::Read,               &[BoardNotFound],                                                      threads::list),
        Operation::new("get_threads_id",                GET,  "/threads/{id}",              Needs::Read,               &[ThreadNotFound],                                                     threads::one),
        Operation::new("post_threads_id_messages",      POST, "/threads/{id}/messages",     Needs::Write,              SAY,                                                                   messages::post).created().guarded(no_live_token),
        Operation::new("get_threads_id_events",         GET,  "/threads/{id}/events",       Needs::Read,               &[ThreadNotFound],                                                     threads::events),
        Operation::new("post_threads_id_close",         POST, "/threads/{id}/close",        Needs::Authority,          ACT,                                                                   threads::close).idempotent(),
        Operation::new("post_threads_id_reopen",        POST, "/threads/{id}/reopen",       Needs::Authority,          &[ThreadNotFound, ThreadAuthorityMissing, StateInvalid],              threads::reopen),
        Operation::new("post_threads_id_state",         POST, "/threads/{id}/state",        Needs::Authority,          &[StateNotSettable, ThreadNotFound, ThreadClosed, ThreadAuthorityMissing, StateInvalid], threads::set_state),
        Operation::new("post_threads_id_pin",           POST, "/threads/{id}/pin",          Needs::Right(Right::Pin),  &[ThreadNotFound, ThreadClosed],                                       threads::pin).idempotent(),
        Operation::new("post_threads_id_confirm",       POST, "/threads/{id}/confirm",      Needs::Confirmer,          PENDING,                                                               threads::confirm),
        Operation::new("post_threads_id_revert",        POST, "/threads/{id}/revert",       Needs::Confirmer,          PENDING,                                                               threads::revert).destructive(),
        Operation::new("post_threads_id_llm_reply",     POST, "/threads/{id}/llm_reply",    Needs::Human,              &[ThreadNotFound, NotFound],                                           threads::llm_reply).idempotent(),
        Operation::new("get_inbox",                     GET,  "/inbox",                     Needs::Read,               &[],                                                                   inbox::get),
        Operation::new("post_inbox_ack",                POST, "/inbox/ack",                 Needs::Read,               &[],                                                                   inbox::ack).idempotent(),
        Operation::new("wait",                          GET,  "/wait",                      Needs::Read,               &[],                                                                   inbox::wait),
        Operation::new("get_claims_id",                 GET,  "/claims/{id}",               Needs::Read,               &[ClaimNotFound],                                                      claims::one),
        Operation::new("get_threads_id_claims",         GET,  "/threads/{id}/claims",       Needs::Read,               &[ThreadNotFound],                                                     claims::list),
        Operation::new("post_claims_id_attest",         POST, "/claims/{id}/attest",        Needs::Write,              &[ClaimNotFound, ThreadClosed, LlmReplyForbidden, EvidenceRequired, ClaimSuperseded], claims::attest).created().guarded(no_live_token),
        Operation::new("post_claims_id_verify",         POST, "/claims/{id}/verify",        Needs::Right(Right::Verify), &[ClaimNotFound, ThreadClosed, ClaimSuperseded, Forbidden],          claims::verify).idempotent(),
        Operation::upload("post_messages_id_image",           "/messages/{id}/image",       Needs::Write,              &[ImageMissing, ImageType, ImageTooLarge, NotFound, ThreadClosed, Conflict, Forbidden], "image",                      images::add).created(),
        Operation::download("get_images_id",                  "/images/{id}",               Needs::Read,               &[NotFound],                                     images::MEDIA_TYPES,  images::one),
        Operation::new("search",                        GET,  "/search",                    Needs::Read,               &[BoardNotFound, ThreadNotFound],                                      search::find),
        Operation::new("post_events_ticket",            POST, "/events/ticket",             Needs::Read,               &[],                                                                   events::ticket).created(),
        Operation::new("post_tokens",                   POST, "/tokens",                    Needs::Human,              &[],                                                                   tokens::issue).created().guarded(no_live_token),
        Operation::new("get_tokens",                    GET,  "/tokens",                    Needs::Right(Right::Grant), &[],                                                                  tokens::list),
        Operation::new("post_tokens_id_rights",         POST, "/tokens/{id}/rights",        Needs::Human,              &[NotFound, Conflict],                                                 tokens::set_rights).idempotent(),
        Operation::new("post_tokens_id_revoke",         POST, "/tokens/{id}/revoke",        Needs::Human,              &[NotFound],                                                           tokens::revoke).idempotent().destructive(),
        Operation::new("post_tokens_request",           POST, "/tokens/request",            Needs::Public,             &[],                                                                   requests::apply).created().guarded(no_live_token),
        Operation::new("get_token_requests",            GET,  "/token-requests",            Needs::Read,               &[],                                                                   requests::list),
        Operation::new("get_token_requests_id",         GET,  "/token-requests/{id}",       Needs::Read,               &[RequestNotFound, RequestForbidden],                                  requests::one),
        Operation::new("post_token_requests_id_review", POST, "/token-requests/{id}/review", Needs::Right(Right::Grant), &[RequestNotFound, RequestForbidden, RequestDecided],                requests::review).guarded(no_live_token),
        Operation::new("post_token_requests_id_withdraw", POST, "/token-requests/{id}/withdraw", Needs::Read,         &[RequestNotFound, RequestForbidden, RequestDecided],                  requests::withdraw).destructive(),
        Operation::new("post_features",                 POST, "/features",                  Needs::Write,              &[],                                                                   features::ask).created().guarded(no_live_token),
        Operation::new("get_features",                  GET,  "/features",                  Needs::Read,               &[],                                                                   features::list),
        Operation::new("post_features_id_status",       POST, "/features/{id}/status",      Needs::Right(Right::Grant), &[NotFound],                                                          features::mark).guarded(no_live_token),
        Operation::new("get_session",                   GET,  "/session",                   Needs::Read,               &[],                                                                   session::get).http_only(),
        Operation::new("post_operator_password",        POST, "/operator/password",         Needs::Human,              &[],                                                                   session::set_password).http_only(),
        Operation::new("post_operator_link",            POST, "/operator/link",             Needs::Human,              &[],                                                                   session::make_link).created().http_only(),
        Operation::new("list_api_operations",           GET,  "/operations",                Needs::Read,               &[],                                                                   catalogue.list()),
        Operation::new("get_api_operation",             GET,  "/operations/{key}",          Needs::Read,               &[OperationNotFound],                                                  catalogue.get()),
        Operation::new("call_api_operation",            POST, "",                           Needs::Read,               &Reason::ALL,                                                          catalogue.call()).mcp_only(),
    ];
    // Every write tells how the caller's inbox stands; what a call by key says is the called one's to add.
    let writes = |row: &Operation<Forum>| row.method == POST && row.reach != Reach::Mcp;
    rows.into_iter().map(|row| if writes(&row) { row.followed(inbox::hint) } else { row }).collect()
}
