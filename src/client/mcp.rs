//! The same client speaking MCP, in either era: with the older handshake, or with 2026-07-28 where every request
//! carries its version.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use super::{Answer, Client, NoAnswer};

const PATH: &str = "/api/v1/mcp";
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// Which generation of the protocol is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// `initialize` first; 2025-11-25.
    Handshake,
    /// No handshake, `_meta` on every request; 2026-07-28.
    Stateless,
}

impl Era {
    /// The revision spoken.
    pub const fn revision(self) -> &'static str {
        match self {
            Self::Handshake => "2025-11-25",
            Self::Stateless => "2026-07-28",
        }
    }
}

/// A caller over MCP.
#[derive(Debug, Clone)]
pub struct Mcp {
    client: Client,
    era: Era,
    ids: Arc<AtomicU64>,
}

impl Mcp {
    /// A caller that has not said anything yet. `client` carries the token.
    pub fn new(client: Client, era: Era) -> Self {
        Self { client, era, ids: Arc::default() }
    }

    /// Introduces itself: `initialize` and its notification, or `server/discover`. Hands back the server's result.
    pub fn hello(&self) -> Result<Answer, NoAnswer> {
        match self.era {
            Era::Handshake => {
                let client = json!({"name": "parley-client", "version": env!("CARGO_PKG_VERSION")});
                let params = json!({"protocolVersion": self.era.revision(), "capabilities": {}, "clientInfo": client});
                let answer = self.ask("initialize", params)?;
                let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
                let header = [("mcp-protocol-version", self.era.revision())];
                self.client.send("POST", PATH, &header, Some(note.to_string().into_bytes()))?;
                Ok(answer)
            }
            Era::Stateless => self.ask("server/discover", json!({})),
        }
    }

    /// The tools the server lists.
    pub fn tools(&self) -> Result<Vec<Value>, NoAnswer> {
        let answer = self.ask("tools/list", json!({}))?;
        Ok(answer.json["result"]["tools"].as_array().cloned().unwrap_or_default())
    }

    /// Calls a tool. `json` of the answer is the tool's own object, `status` the HTTP status of the exchange; a
    /// refusal is told by [`Answer::reason`]. A protocol error comes as it is, under `error`.
    pub fn call(&self, tool: &str, arguments: &Value) -> Result<Answer, NoAnswer> {
        let mut answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}))?;
        if let Some(content) = answer.json["result"].get("structuredContent") {
            answer.json = content.clone();
        }
        Ok(answer)
    }

    /// Sends one request of any method.
    pub fn ask(&self, method: &str, mut params: Value) -> Result<Answer, NoAnswer> {
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        let mut headers = vec![("accept", "application/json, text/event-stream")];
        if self.era == Era::Stateless {
            params["_meta"] = json!({VERSION: self.era.revision(), CAPABILITIES: {}});
            headers.push(("mcp-method", method));
            if method == "tools/call" {
                headers.push(("mcp-name", &name));
            }
        }
        if method != "initialize" {
            headers.push(("mcp-protocol-version", self.era.revision()));
        }
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.client.send("POST", PATH, &headers, Some(request.to_string().into_bytes()))
    }
}
