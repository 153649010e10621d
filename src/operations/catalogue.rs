//! The operations about operations: the manifest, the health, the list, one contract, and a call by key.
//!
//! They read the table itself and the language's own tables, so they cannot disagree with what is served.

use std::pin::Pin;
use std::sync::{Arc, Weak};

use parley_language::reason::{Details, Reason, Refusal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::Paging;
use super::manifest::{GetManifest, Manifest, ReasonRow, manifest, reason_row};
use crate::caller::{Caller, Doorkeeper};
use crate::operation::{COMMON, JSON, Operation, Reach, Table, Takes, fault};
use crate::shape::{Manner, nearest, refuse_field, schema};

/// What the catalogue asks of the server's state.
pub trait Instance: Doorkeeper {
    /// The allowance of a token.
    fn requests_per_minute(&self) -> u32;

    /// How the server is.
    fn health(&self) -> Health;

    /// Addresses beside the API and MCP, by name, like `("protocol", "/parley.html")`.
    fn endpoints(&self) -> Vec<(&'static str, &'static str)> {
        Vec::new()
    }
}

/// How the server is.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Health {
    /// The program's version.
    pub version: &'static str,
    /// The version of the records on disk.
    pub schema_version: u32,
    /// Where the history is kept.
    pub storage: Storage,
    /// Seconds since the start.
    pub uptime_seconds: u64,
    /// Whether it takes writes.
    pub ready: bool,
}

/// Where the history is kept.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Storage {
    /// The engine's name.
    pub engine: &'static str,
    /// What it is set to.
    pub settings: Map<String, Value>,
}

/// Makes the handlers that read the table.
pub struct Catalogue<S> {
    table: Weak<Table<S>>,
}

/// Say how the server is: version, storage, uptime, readiness.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct GetHealth {}

/// List every operation: key, method, path, right, purpose, and whether you hold the right.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ListApiOperations {
    /// Only operations whose key or purpose has this text.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub q: Option<String>,
    /// Where and how much.
    #[serde(flatten)]
    pub paging: Paging,
}

/// Show the full contract of one operation: schemas, right, reasons with reactions, an example.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct GetApiOperation {
    /// Its key, like `post_threads_id_close`.
    #[schemars(length(min = 1, max = 100))]
    pub key: String,
}

/// Call any operation by key; rights and checks are those of the operation itself.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct CallApiOperation {
    /// Its key, from `list_api_operations`.
    #[schemars(length(min = 1, max = 100))]
    pub key: String,
    /// Its arguments, as `get_api_operation` describes them.
    #[serde(default)]
    pub arguments: Map<String, Value>,
}

/// A page of operations.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Operations {
    items: Vec<Line>,
    next_cursor: Option<String>,
}

/// One operation in short.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Line {
    key: &'static str,
    method: Option<String>,
    path: Option<String>,
    mcp: bool,
    right: &'static str,
    allowed: bool,
    purpose: String,
}

/// One operation in full.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Contract {
    operation: Box<Full>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Full {
    #[serde(flatten)]
    line: Line,
    status: u16,
    input_schema: Value,
    output_schema: Value,
    reasons: Vec<ReasonRow>,
    example: Value,
}

/// The answer of another operation, as it wrote it.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct Raw(Box<RawValue>);

impl JsonSchema for Raw {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "answer".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "object", "description": "The answer of the operation that was called."})
    }
}

type Ready<T> = std::future::Ready<Result<T, Refusal>>;
type Later<T> = Pin<Box<dyn Future<Output = Result<T, Refusal>> + Send>>;

/// Answers `get_health`.
#[expect(clippy::needless_pass_by_value, reason = "a handler is given its state")]
pub fn health<S: Instance>(state: S, _: Caller, _: GetHealth) -> Ready<Health> {
    std::future::ready(Ok(state.health()))
}

impl<S: Clone + Send + 'static> Catalogue<S> {
    pub(crate) fn new(table: Weak<Table<S>>) -> Self {
        Self { table }
    }

    fn table(&self) -> impl Fn() -> Arc<Table<S>> + Send + Sync + use<S> {
        let table = Weak::clone(&self.table);
        // A handler is reached through the table that owns it.
        move || table.upgrade().expect("a table that is being called is there")
    }

    /// Answers `get_manifest`.
    pub fn manifest(
        &self,
    ) -> impl Fn(S, Caller, GetManifest) -> Ready<Manifest> + Send + Sync + use<S>
    where
        S: Instance,
    {
        let table = self.table();
        move |state, _, _| std::future::ready(Ok(manifest(&state, &table())))
    }

    /// Answers `list_api_operations`.
    pub fn list(
        &self,
    ) -> impl Fn(S, Caller, ListApiOperations) -> Ready<Operations> + Send + Sync + use<S> {
        let table = self.table();
        move |_, caller, input| std::future::ready(list(&table(), &caller, &input))
    }

    /// Answers `get_api_operation`.
    pub fn get(
        &self,
    ) -> impl Fn(S, Caller, GetApiOperation) -> Ready<Contract> + Send + Sync + use<S> {
        let table = self.table();
        move |_, caller, input| {
            let table = table();
            std::future::ready(
                find(&table, &input.key).map(|operation| contract(operation, &caller)),
            )
        }
    }

    /// Answers `call_api_operation`: the door of the operation named.
    pub fn call(
        &self,
    ) -> impl Fn(S, Caller, CallApiOperation) -> Later<Raw> + Send + Sync + use<S> {
        let table = self.table();
        move |state, caller, input| {
            let table = table();
            Box::pin(async move {
                let operation = find(&table, &input.key)?;
                if operation.reach == Reach::Mcp {
                    let error = "`call_api_operation` calls other operations, not itself";
                    return Err(refuse_field("key", "recursion", error));
                }
                if operation.takes != Takes::Json || operation.gives != [JSON] {
                    let error =
                        format!("`{}` takes or gives a file; send it over HTTP", operation.key);
                    return Err(refuse_field("key", "http_only", error));
                }
                let bytes = operation
                    .call(state, caller, Value::Object(input.arguments), Manner::Lenient)
                    .await?;
                let text = String::from_utf8(bytes).map_err(|error| fault(&error))?;
                RawValue::from_string(text).map(Raw).map_err(|error| fault(&error))
            })
        }
    }
}

fn find<'a, S: Clone + Send + 'static>(
    table: &'a Table<S>,
    key: &str,
) -> Result<&'a Operation<S>, Refusal> {
    table.get(key).ok_or_else(|| {
        let error = format!("there is no operation {key:?}; look it up with list_api_operations");
        let did_you_mean = nearest(key, table.rows().iter().map(|row| row.key));
        Refusal::new(Reason::OperationNotFound, error)
            .with(Details { field: Some("key".into()), did_you_mean, ..Details::default() })
            .then("list_api_operations", Vec::new())
    })
}

fn list<S: Clone + Send + 'static>(
    table: &Table<S>,
    caller: &Caller,
    input: &ListApiOperations,
) -> Result<Operations, Refusal> {
    let wanted = input.q.as_deref().unwrap_or_default().to_lowercase();
    let finds = |row: &&Operation<S>| {
        row.key.contains(&wanted) || row.summary.to_lowercase().contains(&wanted)
    };
    let found: Vec<&Operation<S>> = table.rows().iter().filter(finds).collect();
    let (items, next_cursor) = input.paging.cut(found.len(), |from, to| {
        found[from..to].iter().map(|row| line(row, caller)).collect()
    })?;
    Ok(Operations { items, next_cursor })
}

fn line<S: Clone + Send + 'static>(operation: &Operation<S>, caller: &Caller) -> Line {
    let (method, path) = route(operation);
    Line {
        key: operation.key,
        method,
        path,
        mcp: operation.reach != Reach::Http,
        right: operation.needs.name(),
        allowed: operation.needs.admit(caller).is_ok(),
        purpose: operation.summary.clone(),
    }
}

pub(super) fn route<S>(operation: &Operation<S>) -> (Option<String>, Option<String>) {
    match operation.reach {
        Reach::Both | Reach::Http => {
            (Some(operation.method.to_string()), Some(format!("/api/v1{}", operation.path)))
        }
        Reach::Mcp => (None, None),
    }
}

fn contract<S: Clone + Send + 'static>(operation: &Operation<S>, caller: &Caller) -> Contract {
    let own = operation.refuses.iter().filter(|reason| !COMMON.contains(reason));
    let arguments = schema::example(&operation.input);
    let mut example = Map::new();
    if operation.reach != Reach::Mcp {
        example.insert("http".into(), http_example(operation, &arguments));
    }
    if operation.reach != Reach::Http {
        example.insert("mcp".into(), json!({"name": operation.key, "arguments": arguments}));
    }
    Contract {
        operation: Box::new(Full {
            line: line(operation, caller),
            status: if operation.created { 201 } else { 200 },
            input_schema: operation.input.clone(),
            output_schema: operation.output.clone(),
            reasons: own.chain(COMMON).map(|reason| reason_row(*reason)).collect(),
            example: Value::Object(example),
        }),
    }
}

/// The example as a request: what stands in the path leaves the body.
fn http_example<S>(operation: &Operation<S>, arguments: &Value) -> Value {
    let mut path = format!("/api/v1{}", operation.path);
    let mut body = arguments.as_object().cloned().unwrap_or_default();
    body.retain(|name, value| {
        let slot = format!("{{{name}}}");
        let in_path = path.contains(&slot);
        if in_path {
            path = path.replace(&slot, value.as_str().unwrap_or_default());
        }
        !in_path
    });
    if operation.hints.read_only && !body.is_empty() {
        let query: Vec<String> = body
            .iter()
            .map(|(name, value)| {
                format!(
                    "{name}={}",
                    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
                )
            })
            .collect();
        return json!({"method": operation.method.as_str(), "path": format!("{path}?{}", query.join("&"))});
    }
    if operation.hints.read_only {
        return json!({"method": operation.method.as_str(), "path": path});
    }
    json!({"method": operation.method.as_str(), "path": path, "body": body})
}
