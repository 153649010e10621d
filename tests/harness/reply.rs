//! What somebody was told, and what a test expects of it.

use parley::client::Answer;
use serde_json::Value;

/// An answer, and the request it belongs to for the sentence of a failed test.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) json: Value,
    request: String,
}

impl Reply {
    pub(crate) fn new(request: String, answer: Answer) -> Self {
        Self { status: answer.status, json: answer.json, request }
    }

    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status) && self.reason().is_none()
    }

    /// The reason of a refusal.
    pub(crate) fn reason(&self) -> Option<&str> {
        self.json["reason"].as_str()
    }

    /// The object, if the status is this one.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}: {}", self.request, self.json);
        self.json
    }

    /// The refusal, if it has this reason.
    #[track_caller]
    pub(crate) fn expect_refused(self, reason: &str) -> Value {
        assert_eq!(self.reason(), Some(reason), "{}: {} {}", self.request, self.status, self.json);
        self.json
    }
}
