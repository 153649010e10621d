//! Rows about the desk: boards, tokens, access requests and feature requests.

use parley_language::author::{Author, Rights, Speaker};
use parley_language::desk::{Application, Desk, DeskAct, DeskEvent, Review};
use parley_language::words::Origin;
use parley_language::{Refusal, Time};
use serde::de::DeserializeOwned;

use crate::table::{Outcome, Row};

/// `board "Title" slug s -> board 1 s`, `token "Label" in realm -> line`, `apply Label in realm -> request 1 line state`,
/// `review req_1 by line with rights.. : decision rights.. -> request 1 line state rights..` and so on.
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
                    shown(&desk, event)
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
        ["apply", label, "in", realm, rest @ ..] => DeskAct::Apply {
            realm: (*realm).to_string(),
            application: application(label),
            secret_hash: [0; 32],
            pending_max: match rest {
                ["waiting", max] => max.parse().expect("a number"),
                _ => 100,
            },
        },
        ["review", id, "by", rest @ ..] => {
            let mut halves = rest.split(|word| *word == ":");
            let by = speaker(halves.next().unwrap_or_default());
            let said = halves.next().unwrap_or_default();
            let rights = (said.len() > 1).then(|| rights(&said[1..]));
            let review = Review { decision: word(said[0]), rights, reason: None };
            DeskAct::Review { id: word(id), by, review }
        }
        ["withdraw", id, "by", rest @ ..] => DeskAct::Withdraw { id: word(id), by: speaker(rest) },
        ["rights", id, rest @ ..] => DeskAct::SetRights { id: word(id), rights: rights(rest) },
        ["revoke", id] => DeskAct::Revoke { id: word(id) },
        ["feature", title, "by", rest @ ..] => DeskAct::AskFeature {
            by: speaker(rest).author,
            title: (*title).to_string(),
            body: "b".into(),
        },
        ["mark", id, mark] => DeskAct::MarkFeature {
            id: word(id),
            by: speaker(&["human"]),
            mark: word(mark),
            note: None,
        },
        other => panic!("{}: what is {other:?}?", row.place),
    }
}

/// A word of the contract.
fn word<T: DeserializeOwned>(text: &str) -> T {
    serde_json::from_value(text.into()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn rights(words: &[&str]) -> Rights {
    Rights::of(words.iter().map(|right| word(right)))
}

fn speaker(words: &[&str]) -> Speaker {
    let (line, origin) = match words[0] {
        "human" => ("human:operator", Origin::User),
        line => (line, Origin::Llm),
    };
    let author = Author { line: line.into(), extension: None, origin };
    Speaker { author, rights: rights(words.get(2..).unwrap_or_default()) }
}

fn application(label: &str) -> Application {
    let text = || "text".into();
    Application {
        label: label.into(),
        purpose: text(),
        model: text(),
        client: text(),
        provider: text(),
        contact: text(),
    }
}

fn shown(desk: &Desk, event: &DeskEvent) -> String {
    let names = |rights: Rights| {
        rights.list().into_iter().map(|right| format!(" {}", right.name())).collect::<String>()
    };
    let name = |value: serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let request = |id| {
        let request = desk.find_request(id).expect("a request");
        let status = name(serde_json::to_value(request.status).expect("a word"));
        let granted = request.rights.map(names).unwrap_or_default();
        let token = desk.find_token(request.token).expect("a token");
        assert_eq!(token.rights, request.rights.unwrap_or(Rights::READ), "the token has it");
        format!("request {} {} {status}{granted}", id.number, request.line)
    };
    let feature = |id| {
        let feature = desk.find_feature(id).expect("a feature request");
        let status = name(serde_json::to_value(feature.status).expect("a word"));
        format!("feature {} {status}", id.number)
    };
    match event {
        DeskEvent::BoardMade(board) => format!("board {} {}", board.number, board.slug),
        DeskEvent::TokenIssued(token) => format!("token {} {}", token.id.number, token.line),
        DeskEvent::AccessRequested { request: asked, .. } => request(asked.id),
        DeskEvent::RequestReviewed(reviewed) => request(reviewed.id),
        DeskEvent::RequestWithdrawn { id, .. } => request(*id),
        DeskEvent::RightsChanged { id, .. } => {
            let token = desk.find_token(*id).expect("a token");
            format!("token {}{}", id.number, names(token.rights))
        }
        DeskEvent::TokenRevoked { id, .. } => {
            assert!(desk.find_token(*id).expect("a token").revoked, "it is");
            format!("token {} revoked", id.number)
        }
        DeskEvent::FeatureAsked(asked) => feature(asked.id),
        DeskEvent::FeatureMarked(marked) => feature(marked.id),
    }
}

fn no(refusal: &Refusal) -> String {
    let details = refusal.details.as_deref();
    let rule = details.and_then(|details| {
        Some(format!(" {} {}", details.field.as_ref()?, details.rule.as_ref()?))
    });
    format!("refused {}{}", refusal.reason, rule.unwrap_or_default())
}
