//! What an operation is, and `call`, the only door to it.
//!
//! HTTP, MCP, pages and `call_api_operation` all come through here, after the rate and before any handler: the right,
//! then the shape, then the handler. It knows no path and no protocol.

mod needs;
mod table;

use std::hash::{BuildHasher, RandomState};
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use actix_web::http::Method;
use actix_web::web::Bytes;
use futures_util::FutureExt as _;
use parley_language::reason::{Details, Reason, Refusal};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::caller::Caller;
use crate::shape::{Manner, Shape, schema};

pub use needs::Needs;
pub(crate) use needs::unauthenticated;
pub use table::Table;

/// Reads.
pub const GET: Method = Method::GET;
/// The media type of an object.
pub const JSON: &str = "application/json";

/// Acts.
pub const POST: Method = Method::POST;

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

/// What an operation says.
#[derive(Debug)]
pub enum Answer {
    /// An object, as JSON.
    Json(Vec<u8>),
    /// A file.
    File(File),
}

/// Bytes of a known type.
#[derive(Debug)]
pub struct File {
    /// Their type.
    pub media_type: &'static str,
    /// What to call it.
    pub name: String,
    /// The bytes.
    pub bytes: Bytes,
}

/// What an operation's body over HTTP is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// One JSON object: its input.
    Json,
    /// A file: the body itself, or this field of a multipart form.
    File(&'static str),
}

type Answering = Pin<Box<dyn Future<Output = Result<Answer, Refusal>> + Send>>;
type Handler<S> = Box<dyn Fn(S, Caller, Value, Bytes) -> Answering + Send + Sync>;

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
    /// What its body over HTTP is.
    pub takes: Takes,
    /// The media types of its answer over HTTP.
    pub gives: &'static [&'static str],
    /// The plain JSON schema of its input.
    pub input: Value,
    /// The same with what only the documents say: `x-is` names what a text is, `x-rules` what holds between fields.
    pub described: Value,
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
        Self::row::<I, _, _>(key, method, path, needs, refuses, move |state, caller, input, _| {
            let answer = handler(state, caller, input);
            async move { encode(&answer.await?).map(Answer::Json) }
        })
        .saying(schema::output::<O>())
    }

    /// A row whose body over HTTP is a file. MCP has none.
    pub fn upload<I, O, F, Fut>(
        key: &'static str,
        path: &'static str,
        needs: Needs,
        refuses: &'static [Reason],
        field: &'static str,
        handler: F,
    ) -> Self
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        O: Serialize + JsonSchema,
        F: Fn(S, Caller, I, Bytes) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, Refusal>> + Send + 'static,
    {
        let row = Self::row::<I, _, _>(key, POST, path, needs, refuses, move |s, c, i, file| {
            let answer = handler(s, c, i, file);
            async move { encode(&answer.await?).map(Answer::Json) }
        });
        let row = row.saying(schema::output::<O>()).http_only();
        Self { takes: Takes::File(field), ..row }
    }

    /// A row whose answer over HTTP is a file. MCP has none.
    pub fn download<I, F, Fut>(
        key: &'static str,
        path: &'static str,
        needs: Needs,
        refuses: &'static [Reason],
        media_types: &'static [&'static str],
        handler: F,
    ) -> Self
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(S, Caller, I) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<File, Refusal>> + Send + 'static,
    {
        let row = Self::row::<I, _, _>(key, GET, path, needs, refuses, move |s, c, i, _| {
            let answer = handler(s, c, i);
            async move { Ok(Answer::File(answer.await?)) }
        });
        Self { gives: media_types, ..row.http_only() }
    }

    fn row<I, F, Fut>(
        key: &'static str,
        method: Method,
        path: &'static str,
        needs: Needs,
        refuses: &'static [Reason],
        handler: F,
    ) -> Self
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(S, Caller, I, Bytes) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Answer, Refusal>> + Send + 'static,
    {
        let described = schema::input::<I>();
        let input = schema::without_notes(&described);
        let reads = method == Method::GET;
        let summary = input.get("description").and_then(Value::as_str).unwrap_or_default();
        Self {
            key,
            path,
            needs,
            refuses,
            created: false,
            reach: Reach::Both,
            metered: true,
            hints: Hints { read_only: reads, destructive: false, idempotent: reads },
            summary: summary.to_owned(),
            takes: Takes::Json,
            gives: &[JSON],
            output: json!({}),
            shape: Shape::new(&described),
            guard: None,
            trailer: None,
            input,
            described,
            method,
            handler: Box::new(move |state, caller, input, file| {
                match serde_json::from_value::<I>(input) {
                    Ok(input) => Box::pin(handler(state, caller, input, file)),
                    Err(error) => Box::pin(std::future::ready(Err(undecodable(&error)))),
                }
            }),
        }
    }

    fn saying(self, output: Value) -> Self {
        Self { output, ..self }
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

    /// The door, for an operation without files.
    ///
    /// # Errors
    /// As [`Operation::run`].
    pub async fn call(
        &self,
        state: S,
        caller: Caller,
        input: Value,
        manner: Manner,
    ) -> Result<Vec<u8>, Refusal> {
        match self.run(state, caller, input, manner, Bytes::new()).await? {
            Answer::Json(bytes) => Ok(bytes),
            Answer::File(_) => Err(fault(&format_args!("{} gave a file to MCP", self.key))),
        }
    }

    /// The only door: the right, the shape, the handler. The rate comes before it, once for each request.
    ///
    /// # Errors
    /// The refusal of whichever said no first.
    pub async fn run(
        &self,
        state: S,
        caller: Caller,
        mut input: Value,
        manner: Manner,
        file: Bytes,
    ) -> Result<Answer, Refusal> {
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
        let outcome = AssertUnwindSafe(async { (self.handler)(state, caller, input, file).await })
            .catch_unwind()
            .await
            .unwrap_or_else(|_| Err(fault(&format_args!("the handler of {} panicked", self.key))))
            .map(|mut answer| {
                let trailer = trailer.and_then(|(trailer, state, caller, extension)| {
                    trailer(&state, &caller, extension.as_deref())
                });
                if let Answer::Json(bytes) = &mut answer {
                    append(bytes, trailer);
                }
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
