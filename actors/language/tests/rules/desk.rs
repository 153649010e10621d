//! Rows about the desk: boards are made, tokens are issued.

use parley_language::author::Rights;
use parley_language::desk::{Desk, DeskAct, DeskEvent};
use parley_language::{Refusal, Time};

use crate::table::{Outcome, Row};

/// `board "Title" slug s -> board 1 s`, `token "Label" in realm -> line`.
pub(crate) fn check(rows: &[Row]) -> Vec<Result<Outcome, String>> {
    let mut desk = Desk::default();
    rows.iter()
        .map(|row| {
            let before = desk.clone();
            let decision = desk.decide(act(row), Time(1));
            if desk != before {
                return Err("deciding changed the desk".into());
            }
            let given = match &decision {
                Ok(event) => {
                    desk.apply(event);
                    shown(event)
                }
                Err(refusal) => no(refusal),
            };
            let rule = decision.as_ref().err().and_then(crate::envelope::rule_of);
            let outcome = Outcome { reason: decision.err().map(|no| no.reason), rule, over: None };
            if given == row.right.join(" ") { Ok(outcome) } else { Err(given) }
        })
        .collect()
}

fn act(row: &Row) -> DeskAct {
    let words: Vec<&str> = row.left.iter().map(String::as_str).collect();
    match &*words {
        ["board", title, rest @ ..] => DeskAct::MakeBoard {
            slug: match rest {
                [] => None,
                ["slug", slug] => Some((*slug).to_string()),
                other => panic!("{}: what is {other:?}?", row.place),
            },
            title: (*title).to_string(),
            description: String::new(),
        },
        ["token", label, "in", realm] => DeskAct::IssueToken {
            realm: (*realm).to_string(),
            label: (*label).to_string(),
            rights: Rights::READ,
            secret_hash: [0; 32],
        },
        other => panic!("{}: what is {other:?}?", row.place),
    }
}

fn shown(event: &DeskEvent) -> String {
    match event {
        DeskEvent::BoardMade(board) => format!("board {} {}", board.number, board.slug),
        DeskEvent::TokenIssued(token) => format!("token {} {}", token.id.number, token.line),
    }
}

fn no(refusal: &Refusal) -> String {
    let details = refusal.details.as_deref();
    let rule = details.and_then(|details| {
        Some(format!(" {} {}", details.field.as_ref()?, details.rule.as_ref()?))
    });
    format!("refused {}{}", refusal.reason, rule.unwrap_or_default())
}
