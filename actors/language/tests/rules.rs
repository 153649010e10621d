//! The rules of the language as rows: `rules/*.txt`, one table per noun, written from the contract (sections 3, 4, 9,
//! 11 and 13).
//!
//! A row reads `thread person act -> what becomes of it`. A blank line begins a new world. People: `ann`, `bob` and
//! `cid` may write, `lou` and `lea` hold `lock`, `human` is the human; `ann/w1` is ann's extension `w1`. `m2` is the
//! second message of the world, `re m2` makes it the parent. The first message in a thread opens it.
//!
//! Beyond what a row says, every row is held to this: deciding changes nothing, a refusal leaves no trace, the live
//! thread is the replay of its log, and the invariants hold.

#[path = "rules/desk.rs"]
mod desk;
#[path = "rules/envelope.rs"]
mod envelope;
#[path = "rules/table.rs"]
mod table;
#[path = "rules/thread.rs"]
mod thread;

use std::collections::BTreeSet;
use std::path::Path;

use parley_language::Reason;
use table::{Outcome, Row};

/// Every reason that the language itself gives, in the order in which they win over each other.
const REASONS: [Reason; 20] = [
    Reason::TokenRightMissing,
    Reason::InvalidBody,
    Reason::RequestNotFound,
    Reason::ThreadNotFound,
    Reason::ParentNotFound,
    Reason::ClaimNotFound,
    Reason::NotFound,
    Reason::RequestForbidden,
    Reason::RequestDecided,
    Reason::ThreadClosed,
    Reason::LlmReplyForbidden,
    Reason::ThreadAuthorityMissing,
    Reason::StateInvalid,
    Reason::NothingToConfirm,
    Reason::SelfReply,
    Reason::EvidenceRequired,
    Reason::ClaimSuperseded,
    Reason::Conflict,
    Reason::Forbidden,
    Reason::Unavailable,
];

/// Every rule under which the language calls a body invalid. Those of the shape are words of JSON Schema.
const RULES: [&str; 6] = ["empty", "http_url", "mismatch", "nul", "only_with_refute", "slug"];

/// Neighbours in the order of refusals (13.1) that one act can run into together.
const PRECEDENCE: [(Reason, Reason); 18] = [
    (Reason::InvalidBody, Reason::ThreadNotFound),
    (Reason::ThreadNotFound, Reason::ParentNotFound),
    (Reason::ParentNotFound, Reason::ThreadClosed),
    (Reason::ParentNotFound, Reason::EvidenceRequired),
    (Reason::ThreadClosed, Reason::LlmReplyForbidden),
    (Reason::ThreadClosed, Reason::ThreadAuthorityMissing),
    (Reason::LlmReplyForbidden, Reason::ThreadAuthorityMissing),
    (Reason::ThreadAuthorityMissing, Reason::StateInvalid),
    (Reason::ThreadAuthorityMissing, Reason::NothingToConfirm),
    (Reason::ThreadAuthorityMissing, Reason::SelfReply),
    (Reason::StateInvalid, Reason::SelfReply),
    (Reason::SelfReply, Reason::EvidenceRequired),
    (Reason::ClaimNotFound, Reason::ThreadClosed),
    (Reason::ThreadClosed, Reason::EvidenceRequired),
    (Reason::LlmReplyForbidden, Reason::EvidenceRequired),
    (Reason::EvidenceRequired, Reason::ClaimSuperseded),
    (Reason::ThreadClosed, Reason::ClaimSuperseded),
    (Reason::Conflict, Reason::Forbidden),
];

/// The one helper: every row of every table gives what it says. Hands back the rows and what they gave.
fn check() -> Vec<(Row, Outcome)> {
    let mut seen = Vec::new();
    let mut wrong = Vec::new();
    for world in table::worlds() {
        let given = match &*world.table {
            "envelope" => world.rows.iter().map(envelope::check).collect(),
            "desk" => desk::check(&world.rows),
            _ => thread::check(&world.rows),
        };
        for (row, outcome) in world.rows.into_iter().zip::<Vec<_>>(given) {
            match outcome {
                Ok(outcome) => seen.push((row, outcome)),
                Err(why) => wrong.push(format!("{}: {}\n    {why}", row.place, row.text)),
            }
        }
    }
    assert!(wrong.is_empty(), "{} rows do not hold:\n{}", wrong.len(), wrong.join("\n"));
    seen
}

#[test]
fn every_row_holds_and_every_reason_is_given() {
    let seen = check();
    println!("{} rows hold", seen.len());

    let given: BTreeSet<Reason> = seen.iter().filter_map(|(_, outcome)| outcome.reason).collect();
    assert_eq!(
        given,
        BTreeSet::from(REASONS),
        "the rows do not give exactly the language's reasons"
    );
    assert!(REASONS.is_sorted(), "the language's reasons are not in the order of precedence");

    let rules: BTreeSet<&str> = seen.iter().filter_map(|(_, outcome)| outcome.rule).collect();
    for rule in RULES {
        assert!(rules.contains(rule), "no row breaks the rule `{rule}`");
    }

    let over: BTreeSet<(Reason, Reason)> =
        seen.iter().filter_map(|(_, outcome)| outcome.over).collect();
    for (winner, loser) in PRECEDENCE {
        assert!(over.contains(&(winner, loser)), "no row shows {winner} over {loser}");
    }
}

/// A reason or rule that is new in the source has to be named above, and then some row has to provoke it.
#[test]
fn the_source_gives_no_other_reason_or_rule() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut reasons = BTreeSet::new();
    let mut rules = BTreeSet::new();
    for file in [
        "envelope.rs",
        "desk.rs",
        "desk/request.rs",
        "thread.rs",
        "thread/act.rs",
        "thread/attest.rs",
        "claim.rs",
        "thread/decide.rs",
        "thread/owed.rs",
    ] {
        let text = std::fs::read_to_string(source.join(file)).expect("the source is there");
        for after in text.split("Reason::").skip(1) {
            reasons.insert(
                after.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_string(),
            );
        }
        for after in text.split("Refusal::field(").skip(1) {
            reasons.insert("InvalidBody".into());
            let rule = after.split_once(',').and_then(|(_, rest)| rest.split('"').nth(1));
            rules.insert(rule.unwrap_or_default().to_string());
        }
    }
    assert_eq!(reasons, REASONS.iter().map(|reason| format!("{reason:?}")).collect());
    assert_eq!(rules, RULES.map(String::from).into());
}
