//! What an operation is, and `call`, the only door to it.
//!
//! HTTP, MCP, pages and `call_api_operation` all come through here, after the rate and before any handler: the right,
//! then the shape, then the handler. It knows no path and no protocol.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use actix_web::http::Method;
use futures_util::FutureExt as _;
use parley_language::reason::{Details, Reason, Refusal};
use parley_language::words::Right;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::caller::Caller;
use crate::operations::catalogue::Catalogue;
use crate::shape::{Manner, Shape, schema};

/// Reads.
pub const GET: Method = Method::GET;
/// Acts.
pub const POST: Method = Method::POST;

/// What a caller must hold. Standing in a thread is the language's affair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Nothing, not even a token.
    Public,
    /// Any token, or the human.
    Read,
    /// The right `write`.
    Write,
    /// `write` here; authority over the thread is decided where the thread is.
    Authority,
    /// `write` here; whether its mark counts is decided where the thread is.
    Confirmer,
    /// One of the rights `pin`, `lock`, `verify`, `grant`.
    Right(Right),
    /// The human.
    Human,
}

/// Where an operation can be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Over HTTP and as an MCP tool.
    Both,
    /// Over HTTP.
    Http,
    /// As an MCP tool.
    Mcp,
}

/// What an MCP client is told about a tool's effects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hints {
    /// It changes nothing.
    pub read_only: bool,
    /// It may undo or take away something.
    pub destructive: bool,
    /// Calling it twice does what calling it once does.
    pub idempotent: bool,
}

/// Reasons that every operation may give and no row repeats.
pub const COMMON: &[Reason] = &[
    Reason::Unauthenticated,
    Reason::TokenRequired,
    Reason::Csrf,
    Reason::RateLimited,
    Reason::TokenReadOnly,
    Reason::TokenRightMissing,
    Reason::VerifyRightMissing,
    Reason::UserSessionRequired,
    Reason::PayloadTooLarge,
    Reason::InvalidJson,
    Reason::InvalidBody,
    Reason::Unavailable,
    Reason::Internal,
];

type Answer = Pin<Box<dyn Future<Output = Result<Vec<u8>, Refusal>> + Send>>;
type Handler<S> = Box<dyn Fn(S, Caller, Value) -> Answer + Send + Sync>;

/// One operation: its row of the table, its schemas and its handler.
pub struct Operation<S> {
    /// Its name, which is also the name of its MCP tool.
    pub key: &'static str,
    /// Its method over HTTP.
    pub method: Method,
    /// Its path under the prefix of the API, like `/threads/{id}`.
    pub path: &'static str,
    /// What a caller must hold.
    pub needs: Needs,
    /// Its own reasons; the [`COMMON`] ones go without saying.
    pub refuses: &'static [Reason],
    /// Whether it answers 201.
    pub created: bool,
    /// Where it can be reached.
    pub reach: Reach,
    /// Whether its calls count.
    pub metered: bool,
    /// What it does to the world.
    pub hints: Hints,
    /// What it is for: the doc comment of its input.
    pub summary: String,
    /// The plain JSON schema of its input.
    pub input: Value,
    /// The JSON schema of its answer.
    pub output: Value,
    shape: Shape,
    guard: Option<Guard<S>>,
    trailer: Option<Trailer<S>>,
    handler: Handler<S>,
}

/// A rule for inputs that needs the state and belongs to their shape.
type Guard<S> = fn(&S, &Value) -> Result<(), Refusal>;

/// What an answer says besides its own: asked with the caller and the sub-line that speaks.
type Trailer<S> = fn(&S, &Caller, Option<&str>) -> Option<Value>;

/// Where [`Trailer`] stands in an answer.
const TRAILER: &str = "inbox";

impl<S: Clone + Send + 'static> Operation<S> {
    /// One row of the table.
    pub fn new<I, O, F, Fut>(
        key: &'static str,
        method: Method,
        path: &'static str,
        needs: Needs,
        refuses: &'static [Reason],
        handler: F,
    ) -> Self
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        O: Serialize + JsonSchema,
        F: Fn(S, Caller, I) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, Refusal>> + Send + 'static,
    {
        let input = schema::input::<I>();
        let reads = method == Method::GET;
        Self {
            key,
            path,
            needs,
            refuses,
            created: false,
            reach: Reach::Both,
            metered: true,
            hints: Hints { read_only: reads, destructive: false, idempotent: reads },
            summary: input
                .get("description")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            output: schema::output::<O>(),
            shape: Shape::new(&input),
            guard: None,
            trailer: None,
            input,
            method,
            handler: Box::new(move |state, caller, input| {
                match serde_json::from_value::<I>(input) {
                    Ok(input) => {
                        let answer = handler(state, caller, input);
                        Box::pin(async move { encode(&answer.await?) })
                    }
                    Err(error) => Box::pin(std::future::ready(Err(undecodable(&error)))),
                }
            }),
        }
    }

    /// It makes something: 201.
    #[must_use]
    pub fn created(mut self) -> Self {
        self.created = true;
        self
    }

    /// It is no MCP tool.
    #[must_use]
    pub fn http_only(mut self) -> Self {
        self.reach = Reach::Http;
        self
    }

    /// It has no route.
    #[must_use]
    pub fn mcp_only(mut self) -> Self {
        self.reach = Reach::Mcp;
        self
    }

    /// Its calls do not count, and it answers while the server drains.
    #[must_use]
    pub fn unmetered(mut self) -> Self {
        self.metered = false;
        self
    }

    /// It may undo or take away something.
    #[must_use]
    pub fn destructive(mut self) -> Self {
        self.hints.destructive = true;
        self
    }

    /// Calling it twice does what calling it once does.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.hints.idempotent = true;
        self
    }

    /// Its input is also looked at by this rule, after the shape.
    #[must_use]
    pub fn guarded(mut self, guard: fn(&S, &Value) -> Result<(), Refusal>) -> Self {
        self.guard = Some(guard);
        self
    }

    /// Its answer also says how the caller's inbox stands.
    #[must_use]
    pub fn followed(mut self, trailer: Trailer<S>) -> Self {
        self.trailer = Some(trailer);
        if let Some(properties) = self.output.get_mut("properties").and_then(Value::as_object_mut) {
            properties.insert(TRAILER.into(), json!({"type": ["object", "null"]}));
        }
        self
    }

    /// The compiled input schema.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The only door: the right, the shape, the handler. The rate comes before it, once for each request.
    ///
    /// # Errors
    /// The refusal of whichever said no first.
    pub async fn call(
        &self,
        state: S,
        caller: Caller,
        mut input: Value,
        manner: Manner,
    ) -> Result<Vec<u8>, Refusal> {
        self.needs.admit(&caller)?;
        self.shape.check(&mut input, manner)?;
        if let Some(guard) = self.guard {
            guard(&state, &input)?;
        }
        let trailer = self.trailer.map(|trailer| {
            let extension = input.pointer("/from/extension").or_else(|| input.get("extension"));
            let extension = extension.and_then(Value::as_str).map(str::to_owned);
            (trailer, state.clone(), caller.clone(), extension)
        });
        let outcome = AssertUnwindSafe(async { (self.handler)(state, caller, input).await })
            .catch_unwind()
            .await
            .unwrap_or_else(|_| Err(fault(&format_args!("the handler of {} panicked", self.key))))
            .map(|mut answer| {
                let trailer = trailer.and_then(|(trailer, state, caller, extension)| {
                    trailer(&state, &caller, extension.as_deref())
                });
                append(&mut answer, trailer);
                answer
            });
        if let Err(refusal) = &outcome {
            debug_assert!(
                self.declares(refusal.reason),
                "{} did not declare {}",
                self.key,
                refusal.reason
            );
        }
        outcome
    }

    /// Whether this reason may come from it.
    pub fn declares(&self, reason: Reason) -> bool {
        self.refuses.contains(&reason) || COMMON.contains(&reason)
    }
}

impl Needs {
    /// Whether a caller holds what is needed.
    ///
    /// # Errors
    /// The reason that names what is missing.
    pub fn admit(self, caller: &Caller) -> Result<(), Refusal> {
        let holder = match (self, caller) {
            (Self::Public, _) | (_, Caller::Human(_)) => return Ok(()),
            (_, Caller::Nobody(_)) => return Err(unauthenticated()),
            (_, Caller::Token(holder)) => holder,
        };
        match self {
            Self::Public | Self::Read => Ok(()),
            Self::Write | Self::Authority | Self::Confirmer if holder.rights.has(Right::Write) => {
                Ok(())
            }
            Self::Write | Self::Authority | Self::Confirmer => {
                Err(lacks(Reason::TokenReadOnly, Right::Write))
            }
            Self::Right(right) if holder.rights.has(right) => Ok(()),
            Self::Right(Right::Verify) => Err(lacks(Reason::VerifyRightMissing, Right::Verify)),
            Self::Right(right) => Err(lacks(Reason::TokenRightMissing, right)),
            Self::Human => {
                let error = "only the human may do this, signed in; leave it to them";
                Err(Refusal::new(Reason::UserSessionRequired, error))
            }
        }
    }

    /// The word for it, as `get_api_operation` tells it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Read => "read",
            Self::Write => "write",
            Self::Authority => "write and authority over the thread",
            Self::Confirmer => "write and standing as a confirmer",
            Self::Right(right) => right.name(),
            Self::Human => "human",
        }
    }
}

/// The refusal of a missing or unknown credential.
pub(crate) fn unauthenticated() -> Refusal {
    let error = "a valid token is needed: send `Authorization: Bearer <token>`; apply for one with post_tokens_request";
    Refusal::new(Reason::Unauthenticated, error)
}

fn lacks(reason: Reason, right: Right) -> Refusal {
    let error = format!("this token lacks the right `{}`; ask the operator for it", right.name());
    Refusal::new(reason, error)
        .with(Details { allowed: vec![right.name().into()], ..Details::default() })
}

/// A fault of ours: logged here under an id, and refused as `internal` with that id.
pub fn fault(error: &dyn std::fmt::Display) -> Refusal {
    static NEXT: LazyLock<AtomicU64> =
        LazyLock::new(|| AtomicU64::new(RandomState::new().hash_one("log id") & 0xFFFF_FFFF_0000));
    let log_id = format!("{:012x}", NEXT.fetch_add(1, Ordering::Relaxed));
    tracing::error!(log_id, %error, "internal fault");
    let said =
        format!("something broke here; repeat the call, and tell the operator the id {log_id}");
    Refusal::new(Reason::Internal, said)
        .with(Details { log_id: Some(log_id), ..Details::default() })
}

fn encode<O: Serialize>(answer: &O) -> Result<Vec<u8>, Refusal> {
    let mut bytes = Vec::with_capacity(1024);
    match serde_json::to_writer(&mut bytes, answer) {
        Ok(()) => Ok(bytes),
        Err(error) => Err(fault(&format_args!("the answer cannot be written: {error}"))),
    }
}

/// Adds the trailer to an answer, which is an object.
fn append(answer: &mut Vec<u8>, trailer: Option<Value>) {
    if let (Some(trailer), Some(b'}')) = (trailer, answer.last()) {
        answer.pop();
        let comma = if answer.last() == Some(&b'{') { "" } else { "," };
        answer.extend_from_slice(format!("{comma}\"{TRAILER}\":{trailer}}}").as_bytes());
    }
}

/// The schema said yes and the type says no: a rule that the schema of this input cannot express.
fn undecodable(error: &serde_json::Error) -> Refusal {
    Refusal::new(Reason::InvalidBody, format!("the input does not fit: {error}"))
        .with(Details { rule: Some("type".into()), ..Details::default() })
}

/// All operations, by key.
pub struct Table<S> {
    rows: Vec<Operation<S>>,
    keys: HashMap<&'static str, usize>,
}

impl<S: Clone + Send + 'static> Table<S> {
    /// The table with these rows. They are made with the [`Catalogue`], whose operations read the table itself.
    ///
    /// # Panics
    /// When two rows have the same key.
    pub fn new(rows: impl FnOnce(&Catalogue<S>) -> Vec<Operation<S>>) -> Arc<Self> {
        Arc::new_cyclic(|table| {
            let rows = rows(&Catalogue::new(table.clone()));
            let keys: HashMap<_, _> =
                rows.iter().enumerate().map(|(at, row)| (row.key, at)).collect();
            assert_eq!(keys.len(), rows.len(), "two operations have the same key");
            Self { rows, keys }
        })
    }

    /// The operation of this key.
    pub fn get(&self, key: &str) -> Option<&Operation<S>> {
        self.keys.get(key).map(|at| &self.rows[*at])
    }

    /// The operation at this place.
    pub(crate) fn at(&self, at: usize) -> &Operation<S> {
        &self.rows[at]
    }

    /// All of them, in the order of the table.
    pub fn rows(&self) -> &[Operation<S>] {
        &self.rows
    }
}
