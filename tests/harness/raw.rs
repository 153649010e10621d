//! Requests and answers as bytes, for what a JSON client does not show.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use super::World;

/// An answer as it came.
pub(crate) struct Raw {
    pub(crate) status: u16,
    /// In lower case but for what follows a header's name.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Raw {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The value of a header, the first if there are several.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    pub(crate) fn refused(&self, reason: &str) {
        assert_eq!(self.json()["reason"], reason, "{}", self.text());
        assert!(self.header("ratelimit").is_some(), "{}", self.head);
    }
}

impl World {
    /// Sends a request on a connection of its own.
    pub(crate) fn send(&self, line: &str, headers: &str, body: &[u8]) -> Raw {
        Raw::send(&self.addr().to_string(), line, headers, body)
    }
}

impl Raw {
    /// Sends a request on a connection of its own: its first line without the version, further headers, a body.
    pub(crate) fn send(address: &str, line: &str, headers: &str, body: &[u8]) -> Self {
        let mut stream = TcpStream::connect(address).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time limit");
        let head = format!(
            "{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n",
            body.len(),
        );
        stream.write_all(head.as_bytes()).expect("it takes a head");
        // A server may answer and close before it has read everything.
        let _ = stream.write_all(body);
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an answer");
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("a whole head");
        let head = String::from_utf8_lossy(&answer[..end]).into_owned();
        let head = head.lines().map(|line| match line.split_once(':') {
            Some((name, value)) => format!("{}:{value}", name.to_lowercase()),
            None => line.to_owned(),
        });
        let head = head.collect::<Vec<_>>().join("\n");
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
        Raw { status, head, body: answer[end + 4..].to_vec() }
    }
}
