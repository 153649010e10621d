//! The script: who says what, which answer it must get, and what must be true at the end.

use parley::client::{Answer, Client, Era, NoAnswer};
use parley::local::Local;
use serde_json::{Value, json};

use super::agent::Agent;
use super::stage::{Stage, mark};
use crate::cli::Failure;

const QUESTION: &str =
    "The nightly import takes 50 minutes, its window is 45. What do we change first?";
const GUESS: &str = "I suppose the parser.";
const ANSWER: &str =
    "The index: it is updated row by row. Load first and build it once at the end.";
const PROPOSAL: &str = "Then we drop the index before the load and build it after. Until it is back, lookups are slow for \
     about five minutes. Acceptable?";
const AGREED: &str = "Yes: nobody looks anything up at that hour.";
const DECISION: &str = "We load first and build the index once, from tonight on.";
const LATE: &str = "One more thought about the parser …";

/// Plays it; an error says what was not as it must be.
pub(super) fn play(stage: &Stage, server: &Local) -> Result<(), Failure> {
    let key = std::fs::read_to_string(&server.operator_key_path).map_err(Failure::new)?;
    let operator = Client::new(server.origin()).with_token(key.trim());
    let human = Agent::over_http("human", operator.clone());
    let (scout, tools) = Agent::over_mcp("scout", token(&operator, "scout")?, Era::Handshake)
        .map_err(Failure::new)?;
    let mason = token(&operator, "mason")?;
    let (mason_mcp, _) =
        Agent::over_mcp("mason", mason.clone(), Era::Stateless).map_err(Failure::new)?;
    let mason = Agent::over_http("mason", mason);
    stage.tells(&format!(
        "A server at {}, on a temporary folder. Two agents have a token: scout speaks MCP with a handshake and \
         found {tools} tools, mason speaks plain HTTP and MCP without one. The human holds the operator's key.",
        server.origin()
    ));

    let mut thread = opening(stage, &scout, &mason)?;
    settling(stage, &mut thread, &scout, &mason_mcp)?;
    closing(stage, &thread, &scout, &human, &mason)?;
    reading(stage, &thread, &human)
}

/// A question, an answer to oneself that is refused, and an answer that counts.
fn opening(stage: &Stage, scout: &Agent, mason: &Agent) -> Result<Thread, Failure> {
    let opened = scout.opens("lobby", json!({"kind": "ask", "body": QUESTION}));
    let opened = granted(opened, "open")?;
    stage.said(scout, "ask", QUESTION, &opened["thread"]);
    let mut thread =
        Thread { id: text(&opened["thread"]["id"])?, last: text(&opened["message"]["id"])? };

    stage.tells("Nobody answers itself, so two models cannot be one model talking in circles.");
    let guess = scout.posts(&thread.id, json!({"kind": "answer", "body": GUESS}));
    stage.refused(scout, "answer", GUESS, &refused(guess, "self_reply")?);

    stage.tells("A state that a model sets is a proposal.");
    thread.says(stage, mason, "answer", ANSWER, "answered proposal")?;
    Ok(thread)
}

/// A proposal, agreement, and a decision by the thread's creator.
fn settling(
    stage: &Stage,
    thread: &mut Thread,
    scout: &Agent,
    mason: &Agent,
) -> Result<(), Failure> {
    thread.says(stage, scout, "propose", PROPOSAL, "answered proposal")?;
    thread.says(stage, mason, "answer", AGREED, "answered proposal")?;
    stage.tells("Only the thread's creator, a moderator or the human may decide.");
    let foreign = mason.posts(&thread.id, json!({"kind": "decide", "body": DECISION}));
    stage.refused(mason, "decide", DECISION, &refused(foreign, "thread_authority_missing")?);
    thread.says(stage, scout, "decide", DECISION, "decided proposal")
}

/// The creator proposes to close; the human confirms, and that locks.
fn closing(
    stage: &Stage,
    thread: &Thread,
    scout: &Agent,
    human: &Agent,
    mason: &Agent,
) -> Result<(), Failure> {
    let closed = granted(scout.closes(&thread.id), "closed proposal")?;
    stage.said(scout, "close", "", &closed["thread"]);
    stage.tells(
        "A state that the human sets or confirms holds. A confirmed close locks the thread.",
    );
    let confirmed = granted(human.confirms(&thread.id), "closed confirmed locked")?;
    stage.said(human, "confirm", "", &confirmed["thread"]);
    let late = mason.posts(&thread.id, json!({"kind": "note", "body": LATE}));
    stage.refused(mason, "note", LATE, &refused(late, "thread_closed")?);
    Ok(())
}

/// What counts is what the server gives back.
fn reading(stage: &Stage, thread: &Thread, human: &Agent) -> Result<(), Failure> {
    let read = granted(human.reads(&thread.id), "closed confirmed locked")?;
    stage.tells("The thread, read back:");
    stage.shows(&read);
    let kinds = kinds(&read["messages"]);
    match kinds == ["ask", "answer", "propose", "answer", "decide"] {
        true => Ok(()),
        false => Err(Failure::new(format!("the thread read back has the messages {kinds:?}"))),
    }
}

/// The thread of the story, and the message that the next one answers.
struct Thread {
    id: String,
    last: String,
}

impl Thread {
    fn says(
        &mut self,
        stage: &Stage,
        who: &Agent,
        kind: &str,
        body: &str,
        expected: &str,
    ) -> Result<(), Failure> {
        let envelope = json!({"kind": kind, "body": body, "parent": self.last});
        let said = granted(who.posts(&self.id, envelope), expected)?;
        self.last = text(&said["message"]["id"])?;
        stage.said(who, kind, body, &said["thread"]);
        Ok(())
    }
}

/// A token for an agent, issued by the operator.
fn token(operator: &Client, label: &str) -> Result<Client, Failure> {
    let issued = operator.post("/tokens", &json!({"label": label, "rights": ["write"]}));
    let issued = issued.map_err(Failure::new)?;
    Ok(operator.with_token(text(&issued.json["token"])?))
}

/// The answer of an act that must succeed and leave the thread in the state that begins so.
fn granted(answer: Result<Answer, NoAnswer>, state: &str) -> Result<Value, Failure> {
    let answer = answer.map_err(Failure::new)?;
    match answer.is_success() && mark(&answer.json["thread"]).starts_with(state) {
        true => Ok(answer.json),
        false => Err(Failure::new(format!("expected a thread {state}, got {}", answer.json))),
    }
}

/// The answer of an act that must be refused for this reason.
fn refused(answer: Result<Answer, NoAnswer>, reason: &str) -> Result<Value, Failure> {
    let answer = answer.map_err(Failure::new)?;
    match answer.reason() == Some(reason) {
        true => Ok(answer.json),
        false => Err(Failure::new(format!("expected {reason}, got {}", answer.json))),
    }
}

/// The kinds of all messages, in the order of the tree.
fn kinds(messages: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for message in messages.as_array().into_iter().flatten() {
        found.push(message["kind"].as_str().unwrap_or_default().to_owned());
        found.extend(kinds(&message["replies"]));
    }
    found
}

fn text(value: &Value) -> Result<String, Failure> {
    let text = value.as_str().map(str::to_owned);
    text.ok_or_else(|| {
        Failure::new(format!("the server's answer lacks a text where {value} stands"))
    })
}
