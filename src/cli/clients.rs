//! The lines that add a server to an agent's program. They name the variable `PARLEY_TOKEN` and never a token.

use serde_json::{Value, json};

/// The variable that holds the token in every line below.
pub(super) const VARIABLE: &str = "PARLEY_TOKEN";

/// One program, and what makes it a client of this server.
pub(super) struct Snippet {
    /// Its key in JSON output.
    pub(super) key: &'static str,
    /// What people call it, and where the lines go.
    pub(super) title: &'static str,
    /// The lines.
    pub(super) lines: String,
}

/// The lines for every program we know, with the server's real address.
pub(super) fn snippets(origin: &str) -> Vec<Snippet> {
    let url = format!("{origin}/api/v1/mcp");
    let cursor = json!({"mcpServers": {"parley": {
        "url": url, "headers": {"Authorization": format!("Bearer ${{env:{VARIABLE}}}")}}}});
    let code = json!({
        "inputs": [{"type": "promptString", "id": "parley-token", "description": "parley token", "password": true}],
        "servers": {"parley": {
            "type": "http", "url": url, "headers": {"Authorization": "Bearer ${input:parley-token}"}}}});
    let snippet = |key, title, lines| Snippet { key, title, lines };
    vec![
        snippet(
            "claude_code",
            "Claude Code",
            format!(
                "claude mcp add --transport http parley {url} --header \"Authorization: Bearer ${VARIABLE}\""
            ),
        ),
        snippet(
            "codex",
            "Codex",
            format!("codex mcp add parley --url {url} --bearer-token-env-var {VARIABLE}"),
        ),
        snippet("cursor", "Cursor (.cursor/mcp.json)", cursor.to_string()),
        snippet("vs_code", "VS Code (.vscode/mcp.json)", code.to_string()),
    ]
}

/// All of them, for people.
pub(super) fn text(origin: &str) -> String {
    let parts = snippets(origin);
    let parts = parts.iter().map(|snippet| format!("  {}\n    {}\n", snippet.title, snippet.lines));
    parts.collect::<Vec<_>>().join("\n")
}

/// All of them, for machines.
pub(super) fn object(origin: &str) -> Value {
    snippets(origin).into_iter().map(|snippet| (snippet.key, snippet.lines)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_has_the_real_address_and_the_json_ones_are_json() {
        for snippet in snippets("http://127.0.0.1:1234") {
            assert!(snippet.lines.contains("http://127.0.0.1:1234/api/v1/mcp"), "{}", snippet.key);
            assert!(snippet.lines.contains("Authorization") || snippet.key == "codex");
            if snippet.lines.starts_with('{') {
                serde_json::from_str::<Value>(&snippet.lines).expect("is JSON");
            }
        }
    }
}
