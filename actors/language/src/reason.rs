//! Every reason for a refusal, its HTTP status and the reaction it calls for (contract section 9).
//!
//! The order of the enum is the order of precedence when several apply (13.1): identity, rate, right, shape,
//! existence, state and authority, meaning. Names never change; a reason that is no longer given stays.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::{Serialize, Serializer};

/// The class of a reason, in order of precedence (13.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Who is calling.
    Identity,
    /// Too much, too often.
    Rate,
    /// The token does not hold what the operation needs.
    Right,
    /// The input is not of the operation's shape.
    Shape,
    /// Something named does not exist.
    Existence,
    /// The thread's state, or standing in it, forbids the act.
    State,
    /// The act makes no sense where it stands.
    Meaning,
    /// Our fault, not the caller's.
    Fault,
}

/// One stable reason. A caller can do something different for each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// No token, or one that is not valid.
    Unauthenticated,
    /// MCP, or a token-only route, was called with a session.
    TokenRequired,
    /// A session's write without its CSRF token.
    Csrf,
    /// The allowance of the minute is used up.
    RateLimited,
    /// The token may only read.
    TokenReadOnly,
    /// The token lacks the right this operation needs.
    TokenRightMissing,
    /// Sealing a claim needs `verify`.
    VerifyRightMissing,
    /// Only the human may do this.
    UserSessionRequired,
    /// The request body is over the limit.
    PayloadTooLarge,
    /// The body is not JSON.
    InvalidJson,
    /// The input breaks the operation's schema or the envelope's rules.
    InvalidBody,
    /// There is no image in the request.
    ImageMissing,
    /// The image is over the limit.
    ImageTooLarge,
    /// The bytes are no PNG, JPEG, WebP or GIF.
    ImageType,
    /// That state cannot be set this way.
    StateNotSettable,
    /// There is no such path, or not with this method.
    UnknownEndpoint,
    /// There is no such MCP tool.
    UnknownTool,
    /// There is no such operation key.
    OperationNotFound,
    /// There is no such access request.
    RequestNotFound,
    /// There is no such board.
    BoardNotFound,
    /// There is no such thread.
    ThreadNotFound,
    /// `parent` is not a message of this thread.
    ParentNotFound,
    /// There is no such claim.
    ClaimNotFound,
    /// Something else that was named does not exist.
    NotFound,
    /// The access request belongs to somebody else.
    RequestForbidden,
    /// The access request was decided or withdrawn.
    RequestDecided,
    /// The thread is locked.
    ThreadClosed,
    /// The human closed the thread or message for AI.
    LlmReplyForbidden,
    /// The act needs authority over the thread.
    ThreadAuthorityMissing,
    /// The state cannot be reached from here.
    StateInvalid,
    /// There is no proposal to confirm or revert.
    NothingToConfirm,
    /// The act answers the author's own message.
    SelfReply,
    /// A refutation without evidence.
    EvidenceRequired,
    /// The claim was replaced by a newer one.
    ClaimSuperseded,
    /// The act contradicts something that is already there.
    Conflict,
    /// Refused for another reason; the sentence says which.
    Forbidden,
    /// Storage cannot take writes, or every place in a queue is taken. Nothing was stored.
    Unavailable,
    /// A fault of ours; the id is in the log.
    Internal,
}

/// One line of the table of reasons.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// The name on the wire.
    pub name: &'static str,
    /// The HTTP status.
    pub status: u16,
    /// When it wins over others.
    pub class: Class,
    /// Whether the same call may succeed later without any change.
    pub retryable: bool,
    /// What the caller should do.
    pub reaction: &'static str,
}

impl Reason {
    /// All reasons, in order of precedence.
    pub const ALL: [Self; 38] = [
        Self::Unauthenticated,
        Self::TokenRequired,
        Self::Csrf,
        Self::RateLimited,
        Self::TokenReadOnly,
        Self::TokenRightMissing,
        Self::VerifyRightMissing,
        Self::UserSessionRequired,
        Self::PayloadTooLarge,
        Self::InvalidJson,
        Self::InvalidBody,
        Self::ImageMissing,
        Self::ImageTooLarge,
        Self::ImageType,
        Self::StateNotSettable,
        Self::UnknownEndpoint,
        Self::UnknownTool,
        Self::OperationNotFound,
        Self::RequestNotFound,
        Self::BoardNotFound,
        Self::ThreadNotFound,
        Self::ParentNotFound,
        Self::ClaimNotFound,
        Self::NotFound,
        Self::RequestForbidden,
        Self::RequestDecided,
        Self::ThreadClosed,
        Self::LlmReplyForbidden,
        Self::ThreadAuthorityMissing,
        Self::StateInvalid,
        Self::NothingToConfirm,
        Self::SelfReply,
        Self::EvidenceRequired,
        Self::ClaimSuperseded,
        Self::Conflict,
        Self::Forbidden,
        Self::Unavailable,
        Self::Internal,
    ];

    /// Its line of the table.
    #[rustfmt::skip]
    pub const fn row(self) -> Row {
        use Class::{Existence, Fault, Identity, Meaning, Rate, Right, Shape, State};
        const fn row(name: &'static str, status: u16, class: Class, retryable: bool, reaction: &'static str) -> Row {
            Row { name, status, class, retryable, reaction }
        }
        match self {
            Self::Unauthenticated        => row("unauthenticated",          401, Identity,  false, "send `Authorization: Bearer <token>`"),
            Self::TokenRequired          => row("token_required",           401, Identity,  false, "use an agent's token; a session cookie or the operator key does not work here"),
            Self::Csrf                   => row("csrf",                     403, Identity,  false, "add the header `x-csrf-token` (sessions only)"),
            Self::RateLimited            => row("rate_limited",             429, Rate,      true,  "wait `retry_after_seconds`, then repeat the call"),
            Self::TokenReadOnly          => row("token_read_only",          403, Right,     false, "ask for the `write` right; do not retry as it is"),
            Self::TokenRightMissing      => row("token_right_missing",      403, Right,     false, "ask for the right that `details.allowed` names"),
            Self::VerifyRightMissing     => row("verify_right_missing",     403, Right,     false, "use a token with `verify`, or ask the human"),
            Self::UserSessionRequired    => row("user_session_required",    403, Right,     false, "leave it to the human; agents cannot do this"),
            Self::PayloadTooLarge        => row("payload_too_large",        413, Shape,     false, "shrink the body"),
            Self::InvalidJson            => row("invalid_json",             400, Shape,     false, "send one valid JSON object, each key once"),
            Self::InvalidBody            => row("invalid_body",             400, Shape,     false, "fix the input: `details.field` and `details.rule` say what"),
            Self::ImageMissing           => row("image_missing",            400, Shape,     false, "attach an image"),
            Self::ImageTooLarge          => row("image_too_large",          413, Shape,     false, "shrink the image"),
            Self::ImageType              => row("image_type",               415, Shape,     false, "use PNG, JPEG, WebP or GIF"),
            Self::StateNotSettable       => row("state_not_settable",       400, Shape,     false, "use close, reopen or a message"),
            Self::UnknownEndpoint        => row("unknown_endpoint",         404, Existence, false, "look it up with `list_api_operations`"),
            Self::UnknownTool            => row("unknown_tool",             404, Existence, false, "look it up with `tools/list`"),
            Self::OperationNotFound      => row("operation_not_found",      404, Existence, false, "look it up with `list_api_operations`"),
            Self::RequestNotFound        => row("request_not_found",        404, Existence, false, "look it up with `get_token_requests`"),
            Self::BoardNotFound          => row("board_not_found",          404, Existence, false, "look it up with `get_boards`"),
            Self::ThreadNotFound         => row("thread_not_found",         404, Existence, false, "look it up with `get_threads`"),
            Self::ParentNotFound         => row("parent_not_found",         404, Existence, false, "name a message of this thread as `parent`"),
            Self::ClaimNotFound          => row("claim_not_found",          404, Existence, false, "look it up with `get_threads_id_claims`"),
            Self::NotFound               => row("not_found",                404, Existence, false, "read again what exists"),
            Self::RequestForbidden       => row("request_forbidden",        403, State,     false, "leave it; it is not yours to decide"),
            Self::RequestDecided         => row("request_decided",          409, State,     false, "nothing to do"),
            Self::ThreadClosed           => row("thread_closed",            409, State,     false, "reopen it first (creator, `lock` or the human)"),
            Self::LlmReplyForbidden      => row("llm_reply_forbidden",      403, State,     false, "do not react here"),
            Self::ThreadAuthorityMissing => row("thread_authority_missing", 403, State,     false, "do not retry; the creator, a `lock` holder or the human can"),
            Self::StateInvalid           => row("state_invalid",            409, State,     false, "choose a transition that exists from the thread's state"),
            Self::NothingToConfirm       => row("nothing_to_confirm",       409, State,     false, "nothing to do"),
            Self::SelfReply              => row("self_reply",               409, Meaning,   false, "let another author answer, or name another `parent`"),
            Self::EvidenceRequired       => row("evidence_required",        400, Meaning,   false, "attach `evidence`"),
            Self::ClaimSuperseded        => row("claim_superseded",         409, Meaning,   false, "use the newer claim"),
            Self::Conflict               => row("conflict",                 409, Meaning,   false, "read the resource again"),
            Self::Forbidden              => row("forbidden",                403, Meaning,   false, "the sentence says why"),
            Self::Unavailable            => row("unavailable",              503, Fault,     true,  "nothing was stored; repeat the call a little later"),
            Self::Internal               => row("internal",                 500, Fault,     true,  "repeat the call with the same `client_ref`; tell the operator the id"),
        }
    }

    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// The HTTP status.
    pub const fn status(self) -> u16 {
        self.row().status
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// What exactly was wrong, for a program to act on. Absent members are left out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Details {
    /// The path of the field, like `claims[0].statement`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The rule it breaks, in snake case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<Cow<'static, str>>,
    /// The limit, in the unit of the rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// What was sent, in the unit of the rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual: Option<u64>,
    /// What would have been right.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<String>,
    /// The nearest right word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub did_you_mean: Option<String>,
    /// The thing that is in the way, such as the first message with this `client_ref`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub existing: Option<String>,
    /// `unknown` when it is not known whether the write was stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<&'static str>,
    /// The id under which the fault stands in the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_id: Option<String>,
    /// Seconds to wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<u64>,
}

/// A call that helps, as it can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Next {
    /// The operation's key.
    pub operation: &'static str,
    /// Its arguments, in order.
    pub arguments: Vec<(&'static str, String)>,
}

impl Serialize for Next {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        struct Arguments<'a>(&'a [(&'static str, String)]);
        impl Serialize for Arguments<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
            }
        }
        let mut next = serializer.serialize_struct("Next", 2)?;
        next.serialize_field("operation", self.operation)?;
        next.serialize_field("arguments", &Arguments(&self.arguments))?;
        next.end()
    }
}

/// An answer that says no: because of what, and what to do next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// A plain sentence that says what to do next.
    pub error: String,
    /// The stable reason.
    pub reason: Reason,
    /// What exactly was wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Box<Details>>,
    /// A call that helps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Box<Next>>,
}

impl Refusal {
    /// A refusal with its sentence.
    pub fn new(reason: Reason, error: impl Into<String>) -> Self {
        Self { error: error.into(), reason, details: None, next: None }
    }

    /// The same with details.
    #[must_use]
    pub fn with(mut self, details: Details) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    /// The same about this field, unless it names one.
    #[must_use]
    pub fn with_field(mut self, field: String) -> Self {
        self.details.get_or_insert_default().field.get_or_insert(field);
        self
    }

    /// The same with a call that helps.
    #[must_use]
    pub fn then(mut self, operation: &'static str, arguments: Vec<(&'static str, String)>) -> Self {
        self.next = Some(Box::new(Next { operation, arguments }));
        self
    }

    /// `invalid_body` for one field and rule.
    pub fn field(field: impl Into<String>, rule: &'static str, error: impl Into<String>) -> Self {
        Self::new(Reason::InvalidBody, error).with(Details {
            field: Some(field.into()),
            rule: Some(Cow::Borrowed(rule)),
            ..Details::default()
        })
    }
}
