//! A small client of the HTTP API, for the command line, the demo and the tests. Blocking, plain HTTP, and no part of
//! the server: it knows the wire and nothing behind it.

mod mcp;

use std::time::Duration;

use serde_json::Value;
use ureq::http::Request;

pub use mcp::{Era, Mcp};

/// The longest answer that is read: bytes.
const ANSWER_BYTES_MAX: u64 = 64 << 20;

/// One caller: where the server is, and which token is sent.
#[derive(Debug, Clone)]
pub struct Client {
    agent: ureq::Agent,
    origin: String,
    token: Option<String>,
}

/// What the server answered.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body; null when there was none.
    pub json: Value,
}

/// No answer came, or one that is no JSON. Whether the request was carried out is unknown.
#[derive(Debug, thiserror::Error)]
#[error("{method} {url}: {cause}")]
pub struct NoAnswer {
    /// The method of the request.
    pub method: String,
    /// Its address.
    pub url: String,
    /// What went wrong.
    pub cause: String,
}

impl Client {
    /// A caller without a token. `origin` is like `http://127.0.0.1:7464`.
    pub fn new(origin: impl Into<String>) -> Self {
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .timeout_global(Some(Duration::from_secs(60)))
            .build()
            .new_agent();
        let origin: String = origin.into();
        Self { agent, origin: origin.trim_end_matches('/').to_owned(), token: None }
    }

    /// The same with a token.
    pub fn with_token(&self, token: impl Into<String>) -> Self {
        Self { token: Some(token.into()), ..self.clone() }
    }

    /// The same caller at another address.
    pub fn at(&self, origin: &str) -> Self {
        Self { token: self.token.clone(), ..Self::new(origin) }
    }

    /// The server's address.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The token that is sent.
    pub fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// Reads `path`, which begins behind `/api/v1`.
    pub fn get(&self, path: &str) -> Result<Answer, NoAnswer> {
        self.send("GET", &format!("/api/v1{path}"), &[], None)
    }

    /// Sends `body` to `path`, which begins behind `/api/v1`.
    pub fn post(&self, path: &str, body: &Value) -> Result<Answer, NoAnswer> {
        self.send("POST", &format!("/api/v1{path}"), &[], Some(body.to_string().into_bytes()))
    }

    /// Sends any request; a body goes as JSON.
    pub fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<Vec<u8>>,
    ) -> Result<Answer, NoAnswer> {
        let url = format!("{}{path}", self.origin);
        self.exchange(method, &url, headers, body).map_err(|cause| NoAnswer {
            method: method.to_owned(),
            url,
            cause: cause.to_string(),
        })
    }

    fn exchange(
        &self,
        method: &str,
        url: &str,
        headers: &[(&str, &str)],
        body: Option<Vec<u8>>,
    ) -> Result<Answer, ureq::Error> {
        let mut request = Request::builder().method(method).uri(url);
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut response = match body {
            Some(body) => self.agent.run(request.body(body)?)?,
            None => self.agent.run(request.body(())?)?,
        };
        let text = response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_vec()?;
        let json = if text.is_empty() { Value::Null } else { serde_json::from_slice(&text)? };
        let headers = response.headers().iter().filter_map(|(name, value)| {
            Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
        });
        Ok(Answer { status: response.status().as_u16(), headers: headers.collect(), json })
    }
}

impl Answer {
    /// Whether the server did what was asked.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The reason of a refusal.
    pub fn reason(&self) -> Option<&str> {
        self.json["reason"].as_str()
    }

    /// The first header of that name, written in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}
