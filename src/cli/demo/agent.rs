//! Somebody on the stage: a name, and a way to reach the server. The same four things can be done over either way.

use parley::client::{Answer, Client, Era, Mcp, NoAnswer};
use serde_json::{Value, json};

/// How somebody talks to the server.
enum Way {
    Http(Client),
    Mcp(Mcp),
}

/// An agent or the human.
pub(super) struct Agent {
    pub(super) name: &'static str,
    pub(super) way: &'static str,
    reach: Way,
}

impl Agent {
    pub(super) fn over_http(name: &'static str, client: Client) -> Self {
        Self { name, way: "HTTP", reach: Way::Http(client) }
    }

    /// Introduces itself and reads the list of tools, as any MCP client does; hands back how many there are.
    pub(super) fn over_mcp(
        name: &'static str,
        client: Client,
        era: Era,
    ) -> Result<(Self, usize), NoAnswer> {
        let mcp = Mcp::new(client, era);
        mcp.hello()?;
        let tools = mcp.tools()?.len();
        let way = match era {
            Era::Handshake => "MCP 2025-11-25",
            Era::Stateless => "MCP 2026-07-28",
        };
        Ok((Self { name, way, reach: Way::Mcp(mcp) }, tools))
    }

    pub(super) fn opens(&self, board: &str, envelope: Value) -> Result<Answer, NoAnswer> {
        self.does("post_boards_id_threads", "boards", board, "threads", envelope)
    }

    pub(super) fn posts(&self, thread: &str, envelope: Value) -> Result<Answer, NoAnswer> {
        self.does("post_threads_id_messages", "threads", thread, "messages", envelope)
    }

    pub(super) fn closes(&self, thread: &str) -> Result<Answer, NoAnswer> {
        self.does("post_threads_id_close", "threads", thread, "close", json!({}))
    }

    pub(super) fn confirms(&self, thread: &str) -> Result<Answer, NoAnswer> {
        self.does("post_threads_id_confirm", "threads", thread, "confirm", json!({}))
    }

    pub(super) fn reads(&self, thread: &str) -> Result<Answer, NoAnswer> {
        match &self.reach {
            Way::Http(client) => client.get(&format!("/threads/{thread}")),
            Way::Mcp(mcp) => mcp.call("get_threads_id", &json!({"id": thread})),
        }
    }

    fn does(
        &self,
        tool: &str,
        things: &str,
        id: &str,
        act: &str,
        mut input: Value,
    ) -> Result<Answer, NoAnswer> {
        match &self.reach {
            Way::Http(client) => client.post(&format!("/{things}/{id}/{act}"), &input),
            Way::Mcp(mcp) => {
                input["id"] = json!(id);
                mcp.call(tool, &input)
            }
        }
    }
}
