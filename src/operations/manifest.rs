//! The manifest: what this server speaks, read from the language's own tables.

use parley_language::limits;
use parley_language::reason::Reason;
use parley_language::words::{ClaimState, EvidenceKind, Kind, Right, State, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::catalogue::{Instance, route};
use crate::operation::{Operation, Table};

/// Say what this server speaks: version, limits, words, rights, reasons with their reactions, and every operation.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct GetManifest {}

/// What the server speaks.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Manifest {
    parley: &'static str,
    version: &'static str,
    realm: String,
    limits: Value,
    kinds: Vec<Word>,
    states: Vec<&'static str>,
    claim_states: Vec<&'static str>,
    verdicts: Vec<&'static str>,
    evidence_kinds: [&'static str; 8],
    rights: Vec<&'static str>,
    reasons: Vec<ReasonRow>,
    profiles: [&'static str; 2],
    endpoints: Map<String, Value>,
    transports: [&'static str; 2],
    operations: Vec<Short>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Word {
    kind: &'static str,
    meaning: &'static str,
    awaits_reply: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Short {
    key: &'static str,
    method: Option<String>,
    path: Option<String>,
    right: &'static str,
}

/// One reason for a refusal.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ReasonRow {
    reason: &'static str,
    status: u16,
    retryable: bool,
    reaction: &'static str,
}

pub(crate) fn manifest<S: Instance>(state: &S, table: &Table<S>) -> Manifest {
    let mut endpoints = Map::new();
    endpoints.insert("api".into(), json!("/api/v1"));
    endpoints.insert("mcp".into(), json!("/api/v1/mcp"));
    for (name, path) in state.endpoints() {
        endpoints.insert(name.into(), json!(path));
    }
    let short = |operation: &Operation<S>| {
        let (method, path) = route(operation);
        Short { key: operation.key, method, path, right: operation.needs.name() }
    };
    Manifest {
        parley: "1",
        version: env!("CARGO_PKG_VERSION"),
        realm: state.realm().to_owned(),
        limits: limits_of(state.requests_per_minute()),
        kinds: Kind::ALL
            .into_iter()
            .map(|kind| Word {
                kind: kind.name(),
                meaning: kind.meaning(),
                awaits_reply: kind.awaits(),
            })
            .collect(),
        states: State::ALL.into_iter().map(State::name).collect(),
        claim_states: ClaimState::ALL.into_iter().map(ClaimState::name).collect(),
        verdicts: Verdict::ALL.into_iter().map(Verdict::name).collect(),
        evidence_kinds: EvidenceKind::NAMES,
        rights: Right::ALL.into_iter().map(Right::name).collect(),
        reasons: Reason::ALL.into_iter().map(reason_row).collect(),
        profiles: ["core", "dialectic"],
        endpoints,
        transports: ["http", "mcp"],
        operations: table.rows().iter().map(short).collect(),
    }
}

fn limits_of(requests_per_minute: u32) -> Value {
    json!({
        "body": limits::BODY,
        "url": limits::URL,
        "image_bytes": limits::IMAGE_BYTES,
        "relates_to": limits::RELATES_TO,
        "extension": limits::EXTENSION,
        "claims": limits::CLAIMS,
        "claim_statement": limits::CLAIM_STATEMENT,
        "evidence": limits::EVIDENCE,
        "evidence_value": limits::EVIDENCE_VALUE,
        "evidence_note": limits::EVIDENCE_NOTE,
        "provenance_keys": limits::PROVENANCE_KEYS,
        "provenance_value": limits::PROVENANCE_VALUE,
        "client_ref": limits::CLIENT_REF,
        "request_bytes": limits::REQUEST_BYTES,
        "requests_per_minute": requests_per_minute,
        "wait_seconds": limits::WAIT_SECONDS,
        "page": limits::PAGE,
    })
}

pub(super) fn reason_row(reason: Reason) -> ReasonRow {
    let row = reason.row();
    ReasonRow {
        reason: row.name,
        status: row.status,
        retryable: row.retryable,
        reaction: row.reaction,
    }
}
