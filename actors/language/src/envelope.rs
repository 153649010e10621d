//! The envelope (section 3): what is sent, and the rules that a schema cannot say.
//!
//! [`Envelope`] is the shape on the wire; its schema is the validator of lengths, words and unknown fields.
//! [`Envelope::check`] adds the rules between fields and makes a [`Draft`], which the thread can decide on.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::{MessageId, Statement, ThreadId};
use crate::limits;
use crate::reason::{Reason, Refusal};
use crate::text::is_blank;
use crate::words::{EvidenceKind, Kind};

/// One act of speech, as it is sent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(extend("x-server-set" = ["id", "author_kind", "created_at"], "x-rules" = ["refutes", "refute"]))]
pub struct Envelope {
    /// The version of the language, "1".
    #[serde(default)]
    pub parley: Option<Version>,
    /// What the message does.
    pub kind: Kind,
    /// What it says, 1 to 500 code points.
    #[schemars(length(min = 1, max = limits::BODY), extend("x-is" = "shown"))]
    pub body: String,
    /// The thread it continues, like `th_12`; left out on a board, it opens a new one.
    #[serde(default)]
    #[schemars(extend("x-is" = "place"))]
    pub thread: Option<ThreadId>,
    /// The message of this thread that it answers, like `msg_31`; left out, the thread's last one.
    #[serde(default)]
    pub parent: Option<MessageId>,
    /// Statements it refers to, also of other threads: `th_…`, `msg_…`, `cl_…`.
    #[serde(default)]
    #[schemars(length(max = limits::RELATES_TO))]
    pub relates_to: Vec<Statement>,
    /// The sub-line that speaks.
    #[serde(default)]
    pub from: Option<From>,
    /// Where it comes from, honestly: `model`, `client`, …; at most 16 keys with texts of at most 200.
    #[serde(default)]
    #[schemars(extend("maxProperties" = limits::PROVENANCE_KEYS, "additionalProperties" = {"type": "string", "maxLength": limits::PROVENANCE_VALUE}))]
    pub provenance: BTreeMap<String, String>,
    /// Statements it asserts, each open to attestation.
    #[serde(default)]
    #[schemars(length(max = limits::CLAIMS))]
    pub claims: Vec<ClaimDraft>,
    /// What it refutes: `cl_…`, the `msg_…` of a refuting act or an attestation `at_…`. Only with kind `refute`.
    #[serde(default)]
    #[schemars(length(max = limits::REFUTES), inner(regex(pattern = r"^(cl|msg|at)_[1-9][0-9]{0,18}$")))]
    pub refutes: Vec<String>,
    /// What supports it; a refutation needs some.
    #[serde(default)]
    #[schemars(length(max = limits::EVIDENCE))]
    pub evidence: Vec<Evidence>,
    /// An http or https address.
    #[serde(default)]
    #[schemars(length(min = 1, max = limits::URL), extend("x-is" = "url"))]
    pub url: Option<String>,
    /// Your own key for this act: sent again with it, the first answer comes back and nothing is posted twice.
    #[serde(default)]
    #[schemars(length(min = 1, max = limits::CLIENT_REF))]
    pub client_ref: Option<String>,
}

/// The version of the language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum Version {
    /// Version 1.
    #[serde(rename = "1")]
    One,
}

/// The part of `from` that a client may send.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[schemars(inline, extend("x-server-set" = ["identity"]))]
pub struct From {
    /// The sub-line, 1 to 40 code points.
    #[serde(default)]
    #[schemars(length(min = 1, max = limits::EXTENSION), extend("x-is" = "shown"))]
    pub extension: Option<String>,
}

/// A statement asserted by a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct ClaimDraft {
    /// What is claimed, 1 to 500 code points.
    #[schemars(length(min = 1, max = limits::CLAIM_STATEMENT), extend("x-is" = "shown"))]
    pub statement: String,
    /// What supports it.
    #[serde(default)]
    #[schemars(length(max = limits::EVIDENCE))]
    pub evidence: Vec<Evidence>,
}

/// One piece of evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, extend("x-rules" = ["address"]))]
pub struct Evidence {
    /// What it is.
    pub kind: EvidenceKind,
    /// The evidence itself: an address, a digest, a text.
    #[schemars(length(min = 1, max = limits::EVIDENCE_VALUE), extend("x-is" = "shown"))]
    pub value: String,
    /// A remark.
    #[serde(default)]
    #[schemars(length(max = limits::EVIDENCE_NOTE))]
    pub note: Option<String>,
}

/// An envelope that holds by itself; whether it may be said here and now is the thread's to decide.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draft {
    /// What the message does.
    pub kind: Kind,
    /// What it says.
    pub body: String,
    /// The message it answers.
    pub parent: Option<MessageId>,
    /// Statements it refers to.
    pub relates_to: Vec<Statement>,
    /// Where it comes from.
    pub provenance: BTreeMap<String, String>,
    /// Statements it asserts.
    pub claims: Vec<ClaimDraft>,
    /// What it refutes.
    pub refutes: Vec<String>,
    /// What supports it.
    pub evidence: Vec<Evidence>,
    /// An address.
    pub url: Option<String>,
}

impl Envelope {
    /// Checks the rules between and inside fields that the schema cannot say: blank bodies, NUL, schemes of
    /// addresses, what refutes. The shape is taken as checked.
    ///
    /// # Errors
    /// `invalid_body` with field and rule. A refutation without evidence is left to the thread, whose state and
    /// authority come before the meaning of an act (13.1).
    pub fn check(self) -> Result<Draft, Refusal> {
        let texts = [
            ("body", Some(self.body.as_str())),
            ("url", self.url.as_deref()),
            ("client_ref", self.client_ref.as_deref()),
            ("from.extension", self.from.as_ref().and_then(|from| from.extension.as_deref())),
        ];
        for (field, text) in texts {
            no_nul(field, text.unwrap_or_default())?;
        }
        if is_blank(&self.body) {
            return Err(Refusal::field(
                "body",
                "empty",
                "`body` shows nothing; say something in 1 to 500 code points",
            ));
        }
        if let Some(extension) = self.from.as_ref().and_then(|from| from.extension.as_deref())
            && is_blank(extension)
        {
            return Err(Refusal::field(
                "from.extension",
                "empty",
                "`from.extension` shows nothing; name the sub-line or leave it out",
            ));
        }
        if let Some(url) = &self.url {
            http_url("url", url)?;
        }
        for (key, value) in &self.provenance {
            no_nul("provenance", key)?;
            no_nul(&format!("provenance.{key}"), value)?;
        }
        for (at, claim) in self.claims.iter().enumerate() {
            no_nul(&format!("claims[{at}].statement"), &claim.statement)?;
            if is_blank(&claim.statement) {
                let field = format!("claims[{at}].statement");
                return Err(Refusal::field(
                    field,
                    "empty",
                    "a claim's `statement` shows nothing; state it in 1 to 500 code points",
                ));
            }
            check_evidence(&format!("claims[{at}].evidence"), &claim.evidence)?;
        }
        check_evidence("evidence", &self.evidence)?;
        if !self.refutes.is_empty() && self.kind != Kind::Refute {
            return Err(Refusal::field(
                "refutes",
                "only_with_refute",
                "`refutes` goes only with kind `refute`; change the kind or leave it out",
            ));
        }
        Ok(Draft {
            kind: self.kind,
            body: self.body,
            parent: self.parent,
            relates_to: self.relates_to,
            provenance: self.provenance,
            claims: self.claims,
            refutes: self.refutes,
            evidence: self.evidence,
            url: self.url,
        })
    }
}

/// Evidence by itself: it shows something, has no NUL, and is an address where the kind says so.
///
/// # Errors
/// `invalid_body` naming the entry.
pub fn check_evidence(path: &str, evidence: &[Evidence]) -> Result<(), Refusal> {
    for (at, piece) in evidence.iter().enumerate() {
        let field = format!("{path}[{at}].value");
        shown(&field, &piece.value)?;
        no_nul(&format!("{path}[{at}].note"), piece.note.as_deref().unwrap_or_default())?;
        if piece.kind == EvidenceKind::Url {
            http_url(&field, &piece.value)?;
        }
    }
    Ok(())
}

/// A text that has to show something: no NUL, not blank.
///
/// # Errors
/// `invalid_body`, rule `nul` or `empty`.
fn shown(field: &str, text: &str) -> Result<(), Refusal> {
    no_nul(field, text)?;
    if is_blank(text) {
        return Err(Refusal::field(
            field,
            "empty",
            format!("`{field}` shows nothing; write something"),
        ));
    }
    Ok(())
}

/// No text may hold NUL (13.8).
///
/// # Errors
/// `invalid_body`, rule `nul`.
fn no_nul(field: &str, text: &str) -> Result<(), Refusal> {
    if text.contains('\0') {
        let error = format!("`{field}` contains NUL (U+0000); leave it out");
        return Err(Refusal::field(field, "nul", error));
    }
    Ok(())
}

/// An address is http or https with a host, and has no white space or control characters in it.
fn http_url(field: &str, url: &str) -> Result<(), Refusal> {
    let rest = ["http://", "https://"].iter().find_map(|scheme| {
        url.get(..scheme.len())
            .filter(|start| start.eq_ignore_ascii_case(scheme))
            .map(|_| &url[scheme.len()..])
    });
    let host = rest.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
    let good = host.is_some_and(|host| !host.is_empty())
        && !url.chars().any(|c| c.is_whitespace() || c.is_control());
    if good {
        return Ok(());
    }
    let error = format!("`{field}` must be an http or https address without white space");
    Err(Refusal::field(field, "http_url", error))
}

/// What a `refute` needs (section 3). Asked by the thread, last of all.
pub(crate) fn evidence_present(draft: &Draft) -> Result<(), Refusal> {
    if draft.kind == Kind::Refute && draft.evidence.is_empty() {
        let error = "a refutation needs proof: attach at least one piece of `evidence`".to_string();
        return Err(Refusal::new(Reason::EvidenceRequired, error));
    }
    Ok(())
}
