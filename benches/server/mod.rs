//! A server in a process of its own, for the benches: started, asked, ended with its owner.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

/// A server in a process of its own.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) address: String,
    pub(crate) key: String,
    _dir: Option<tempfile::TempDir>,
}

impl Server {
    /// Runs a command and waits until it says where it listens. With a folder it is a forum, whose key stands there.
    pub(crate) fn start(mut command: Command, dir: Option<tempfile::TempDir>) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let address = loop {
            let line =
                lines.next().expect("the server says where it listens").expect("it speaks UTF-8");
            if let Some(rest) = line.split("http://").nth(1) {
                break rest.split(['/', ' ']).next().unwrap_or_default().to_owned();
            }
        };
        // What it prints later is not read; a full pipe must not stop it.
        std::thread::spawn(move || lines.for_each(drop));
        let key = dir.as_ref().map(|dir| {
            std::fs::read_to_string(dir.path().join("operator.key"))
                .expect("a first start makes a key")
        });
        Self { child, address, _dir: dir, key: key.unwrap_or_default().trim().to_owned() }
    }

    /// A forum without a limit that matters. On the disk, not in memory: a flush has to be one.
    pub(crate) fn forum(mut command: Command) -> Self {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))
            .expect("the target folder takes a folder");
        command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(dir.path());
        command.env("PARLEY_LIMITS_REQUESTS_PER_MINUTE", "1000000000");
        Self::start(command, Some(dir))
    }

    /// A fresh token that can write.
    pub(crate) fn token(&self, label: &str) -> String {
        let body = format!(r#"{{"label":"{label}","rights":["write"]}}"#);
        let issued = call(&self.address, &self.key, "/api/v1/tokens", &body);
        issued["token"].as_str().expect("a token is issued").to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// One request on a connection of its own.
pub(crate) fn call(address: &str, token: &str, path: &str, body: &str) -> serde_json::Value {
    let mut stream = TcpStream::connect(address).expect("the server listens");
    write!(stream, "POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len())
        .expect("the request goes out");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer comes back");
    let body = answer.split_once("\r\n\r\n").expect("it has a body").1;
    serde_json::from_str(body).unwrap_or_else(|_| panic!("{path}: {answer}"))
}
