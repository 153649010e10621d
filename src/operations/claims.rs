//! Claims: reading them, attesting them, sealing them (section 5).

use parley_language::envelope::{Evidence, From, check_evidence};
use parley_language::words::Verdict;
use parley_language::{ClaimId, Refusal, ThreadId, limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Paging;
use crate::caller::Caller;
use crate::forum::Forum;
use crate::wire::{ClaimObject, Page};

/// One claim with its attestations.
#[derive(Deserialize, JsonSchema)]
pub struct GetClaim {
    /// The claim, like `cl_4`.
    pub id: ClaimId,
}

/// All claims of a thread, oldest first.
#[derive(Deserialize, JsonSchema)]
pub struct GetThreadClaims {
    /// The thread, like `th_12`.
    pub id: ThreadId,
    /// Where and how much.
    #[serde(flatten)]
    pub paging: Paging,
}

/// Say what you hold of a claim; your newer word replaces your older one.
#[derive(Deserialize, JsonSchema)]
#[schemars(extend("x-rules" = ["refutes_verdict"]))]
pub struct Attest {
    /// The claim, like `cl_4`.
    pub id: ClaimId,
    /// What you hold of it.
    pub verdict: Verdict,
    /// What supports that; `refutes` needs some.
    #[serde(default)]
    #[schemars(length(max = limits::EVIDENCE))]
    pub evidence: Vec<Evidence>,
    /// A remark.
    #[serde(default)]
    #[schemars(length(max = limits::EVIDENCE_NOTE))]
    pub note: Option<String>,
    /// The sub-line that attests.
    #[serde(default)]
    pub from: Option<From>,
}

/// Seal a claim as verified: independent holders of `verify`, and the human.
#[derive(Deserialize, JsonSchema)]
pub struct Verify {
    /// The claim, like `cl_4`.
    pub id: ClaimId,
}

/// A claim, named.
#[derive(Serialize, JsonSchema)]
pub struct NamedClaim {
    /// The claim.
    pub claim: ClaimObject,
}

/// One claim.
///
/// # Errors
/// `claim_not_found`.
pub async fn one(forum: Forum, _: Caller, input: GetClaim) -> Result<NamedClaim, Refusal> {
    let (thread, view) = forum.registry().claim(input.id).await?;
    Ok(NamedClaim { claim: ClaimObject::of(thread, &view, input.id) })
}

/// The claims of a thread.
///
/// # Errors
/// `thread_not_found`, `invalid_body` for a cursor of another list.
pub async fn list(
    forum: Forum,
    _: Caller,
    input: GetThreadClaims,
) -> Result<Page<ClaimObject>, Refusal> {
    let view = forum.registry().view(input.id).await?;
    let book = &view.book;
    let (items, next_cursor) = input.paging.cut(book.len(), |from, to| {
        let claims = book.claims().skip(from).take(to - from);
        claims.map(|(id, _)| ClaimObject::of(input.id, &view, id)).collect()
    })?;
    Ok(Page { items, next_cursor })
}

/// Attests a claim.
///
/// # Errors
/// `claim_not_found`, `thread_closed`, `llm_reply_forbidden`, `evidence_required`, `claim_superseded`.
pub async fn attest(forum: Forum, caller: Caller, input: Attest) -> Result<NamedClaim, Refusal> {
    let extension = input.from.and_then(|from| from.extension);
    check_evidence("evidence", &input.evidence)?;
    let speaker = caller.speaker(extension.as_deref());
    let (thread, view) = forum
        .registry()
        .attest(input.id, speaker, input.verdict, input.evidence, input.note)
        .await?;
    Ok(NamedClaim { claim: ClaimObject::of(thread, &view, input.id) })
}

/// Seals a claim.
///
/// # Errors
/// `claim_not_found`, `thread_closed`, `claim_superseded`, `forbidden` for whoever asserted or supported it.
pub async fn verify(forum: Forum, caller: Caller, input: Verify) -> Result<NamedClaim, Refusal> {
    let (thread, view) = forum.registry().seal(input.id, caller.speaker(None)).await?;
    Ok(NamedClaim { claim: ClaimObject::of(thread, &view, input.id) })
}
