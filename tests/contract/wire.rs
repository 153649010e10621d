//! HTTP by hand: what is sent is exactly what the test says.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// A request in the making.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) chunked: bool,
}

impl Request {
    pub(crate) fn new(method: &'static str, path: &str) -> Self {
        Self { method, path: path.into(), headers: Vec::new(), body: Vec::new(), chunked: false }
    }

    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
        self
    }

    /// The same with another value for a header.
    pub(crate) fn having(self, name: &'static str, value: &str) -> Self {
        self.without(name).with(name, value)
    }

    pub(crate) fn token(self, token: &str) -> Self {
        self.having("Authorization", &format!("Bearer {token}"))
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = format!("{} {} HTTP/1.1\r\n", self.method, self.path).into_bytes();
        if !self.headers.iter().any(|(name, _)| *name == "Host") {
            bytes.extend(b"Host: localhost\r\n");
        }
        for (name, value) in &self.headers {
            bytes.extend(format!("{name}: {value}\r\n").into_bytes());
        }
        if self.chunked {
            bytes.extend(b"Transfer-Encoding: chunked\r\n\r\n");
            for chunk in self.body.chunks(7) {
                bytes.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
                bytes.extend(chunk);
                bytes.extend(b"\r\n");
            }
            bytes.extend(b"0\r\n\r\n");
        } else {
            bytes.extend(format!("Content-Length: {}\r\n\r\n", self.body.len()).into_bytes());
            bytes.extend(&self.body);
        }
        bytes
    }

    pub(crate) fn send(&self, to: SocketAddr) -> Answer {
        Connection::open(to).send(self)
    }
}

/// One connection that is kept.
pub(crate) struct Connection(BufReader<TcpStream>);

impl Connection {
    pub(crate) fn open(to: SocketAddr) -> Self {
        let stream = TcpStream::connect(to).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        Self(BufReader::new(stream))
    }

    pub(crate) fn send(&mut self, request: &Request) -> Answer {
        self.0.get_mut().write_all(&request.bytes()).unwrap();
        self.read(request.method == "HEAD")
    }

    fn read(&mut self, headless: bool) -> Answer {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        let status = line.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no status in {line:?}"));
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            self.0.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        let mut answer = Answer { status, headers, body: Vec::new() };
        let length = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
        if !headless {
            answer.body = vec![0; length];
            self.0.read_exact(&mut answer.body).unwrap();
        }
        answer
    }
}

/// What came back.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub(crate) fn reason(&self) -> String {
        self.json()["reason"].as_str().unwrap_or_default().to_owned()
    }
}
