//! What the audience sees: one block of lines per act for people, one JSON object per act for machines.

use std::io::Write;
use std::time::Duration;

use serde_json::{Value, json};

use super::agent::Agent;
use crate::cli::paint::Paint;

/// Columns of text before a line is wrapped.
const WIDTH: usize = 76;
/// The column where what is said begins.
const INDENT: usize = 20;
/// How long a person gets to read an act.
const PAUSE: Duration = Duration::from_millis(700);

pub(super) struct Stage {
    json: bool,
    paint: Paint,
}

impl Stage {
    pub(super) fn new(json: bool) -> Self {
        Self { json, paint: Paint::for_stdout() }
    }

    /// What the audience should know about what it sees.
    pub(super) fn tells(&self, text: &str) {
        if !self.json {
            self.line("");
            for line in wrap(text) {
                self.line(&self.paint.dim(line));
            }
        }
    }

    /// Somebody said something, and this is the thread's mark after it.
    pub(super) fn said(&self, who: &Agent, kind: &str, body: &str, thread: &Value) {
        if self.json {
            let (state, confirmed) = (&thread["state"], is_confirmed(thread));
            self.line(&json!({"who": who.name, "way": who.way, "kind": kind, "body": body, "state": state,
                "confirmed": confirmed, "locked": thread["locked"]}).to_string());
            return;
        }
        self.act(who, kind, body);
        let mark = mark(thread);
        let painted = match is_confirmed(thread) {
            true => self.paint.green(&mark),
            false => self.paint.yellow(&mark),
        };
        self.line(&format!("{:INDENT$}{} {painted}", "", self.paint.dim("→")));
        self.pause();
    }

    /// Somebody tried something and was refused.
    pub(super) fn refused(&self, who: &Agent, kind: &str, body: &str, refusal: &Value) {
        let (reason, error) = (&refusal["reason"], &refusal["error"]);
        if self.json {
            self.line(&json!({"who": who.name, "way": who.way, "kind": kind, "body": body, "refused": reason,
                "error": error}).to_string());
            return;
        }
        self.act(who, kind, body);
        let reason = self.paint.red(reason.as_str().unwrap_or_default());
        self.line(&format!("{:INDENT$}{} {reason}", "", self.paint.red("✗ refused:")));
        for line in wrap(error.as_str().unwrap_or_default()) {
            self.line(&format!("{:INDENT$}  {}", "", self.paint.dim(line)));
        }
        self.pause();
    }

    /// The thread as the server gives it back.
    pub(super) fn shows(&self, read: &Value) {
        if self.json {
            return self.line(&read.to_string());
        }
        let thread = &read["thread"];
        let title = self.paint.bold(thread["id"].as_str().unwrap_or_default());
        self.line(&format!("\n{title}  {}", self.paint.green(mark(thread))));
        self.branch(&read["messages"], "");
    }

    fn branch(&self, messages: &Value, before: &str) {
        let messages: Vec<&Value> = messages.as_array().into_iter().flatten().collect();
        for (index, message) in messages.iter().enumerate() {
            let last = index + 1 == messages.len();
            let (fork, down) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let who = word(&message["from"]["identity"]);
            let below = format!("{before}{down}");
            let head =
                format!("{} {}", self.paint.cyan(who), self.paint.bold(word(&message["kind"])));
            self.line(&format!("{}{head}", self.paint.dim(format!("{before}{fork}"))));
            for line in wrap(&word(&message["body"])) {
                self.line(&format!("{}{line}", self.paint.dim(&below)));
            }
            self.branch(&message["replies"], &below);
        }
    }

    fn act(&self, who: &Agent, kind: &str, body: &str) {
        let head = format!("{} {}", pad(who.name, 9), pad(kind, 9));
        let painted = head.replacen(who.name, &self.paint.cyan(who.name), 1);
        let painted = match kind.is_empty() {
            true => painted,
            false => painted.replacen(kind, &self.paint.bold(kind), 1),
        };
        let way = self.paint.dim(format!("({})", who.way));
        let mut lines = wrap(body);
        let first = if lines.is_empty() { String::new() } else { lines.remove(0) + " " };
        let rest = lines.pop();
        match rest {
            None => self.line(&format!("\n{painted} {first}{way}")),
            Some(end) => {
                self.line(&format!("\n{painted} {}", first.trim_end()));
                for line in lines {
                    self.line(&format!("{:INDENT$}{line}", ""));
                }
                self.line(&format!("{:INDENT$}{end} {way}", ""));
            }
        }
    }

    /// A reader that went away does not stop the play; its end decides about success.
    fn line(&self, text: &str) {
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "{text}").and_then(|()| out.flush());
    }

    fn pause(&self) {
        if self.paint.is_on() {
            std::thread::sleep(PAUSE);
        }
    }
}

/// A state with everything that qualifies it: `closed confirmed locked`.
pub(super) fn mark(thread: &Value) -> String {
    let state = thread["state"].as_str().unwrap_or("?");
    let confirmed = if is_confirmed(thread) { "confirmed" } else { "proposal" };
    let locked = if thread["locked"] == true { " locked" } else { "" };
    format!("{state} {confirmed}{locked}")
}

pub(super) fn is_confirmed(thread: &Value) -> bool {
    thread["state_confirmed_at"].is_string()
}

fn pad(text: &str, columns: usize) -> String {
    format!("{text:columns$}")
}

fn wrap(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
