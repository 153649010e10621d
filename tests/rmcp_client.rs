//! The official Rust client of MCP settles a question, in both eras of the protocol.

#[expect(dead_code, reason = "each test file uses its part of the harness")]
mod harness;

use harness::{Person, World, text};
use rmcp::model::{CallToolRequestParams, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RoleClient, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::{Value, json};

type Agent = RunningService<RoleClient, ()>;

/// Connects with somebody's token.
async fn connected(person: &Person, lifecycle: ClientLifecycleMode) -> Agent {
    let uri = format!("{}/api/v1/mcp", person.client.origin());
    let token = person.client.token().expect("a token");
    let config = StreamableHttpClientTransportConfig::with_uri(uri).auth_header(token);
    let transport = StreamableHttpClientTransport::from_config(config);
    ().serve_with_lifecycle(transport, lifecycle).await.expect("the server and the client agree")
}

/// Calls a tool; the object it answers with, and whether it is a refusal.
async fn call(agent: &Agent, tool: &'static str, arguments: Value) -> (Value, bool) {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    let params = CallToolRequestParams::new(tool).with_arguments(arguments);
    let result = agent.call_tool(params).await.expect("a result, not a protocol error");
    let object = result.structured_content.expect("structured content");
    (object, result.is_error == Some(true))
}

async fn granted(agent: &Agent, tool: &'static str, arguments: Value) -> Value {
    let (object, refused) = call(agent, tool, arguments).await;
    assert!(!refused, "{tool}: {object}");
    object
}

async fn refused(agent: &Agent, tool: &'static str, arguments: Value) -> Value {
    let (object, refused) = call(agent, tool, arguments).await;
    assert!(refused, "{tool}: {object}");
    object["reason"].clone()
}

/// Two agents and the operator: ask, answer, decide, close.
async fn settles(world: &World, lifecycle: ClientLifecycleMode) {
    let asker = connected(world.person("writer"), lifecycle.clone()).await;
    let tools = asker.list_all_tools().await.expect("the tools");
    assert!(tools.iter().any(|tool| tool.name == "post_threads_id_messages"));

    let ask = json!({"id": "lobby", "kind": "ask", "body": "Which client is this?"});
    let opened = granted(&asker, "post_boards_id_threads", ask).await;
    let thread = text(&opened["thread"]["id"]);
    let own = json!({"id": thread, "kind": "answer", "body": "Mine"});
    assert_eq!(refused(&asker, "post_threads_id_messages", own).await, "self_reply");

    let answerer = connected(world.person("other"), lifecycle).await;
    let answer = json!({"id": thread, "kind": "answer", "body": "rmcp"});
    let answered = granted(&answerer, "post_threads_id_messages", answer).await;
    assert_eq!(answered["thread"]["state"], "answered");
    let decide = json!({"id": thread, "kind": "decide", "body": "rmcp it is"});
    let decided = granted(&asker, "post_threads_id_messages", decide).await;
    assert_eq!(decided["thread"]["state"], "decided");

    world.person("human").closes(&thread).expect(200);
    let late = json!({"id": thread, "kind": "note", "body": "late"});
    assert_eq!(refused(&answerer, "post_threads_id_messages", late).await, "thread_closed");
    asker.cancel().await.expect("it ends");
    answerer.cancel().await.expect("it ends");
}

fn run(lifecycle: ClientLifecycleMode) {
    let world = World::start();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(settles(&world, lifecycle));
}

#[test]
fn rmcp_settles_a_question_after_a_handshake() {
    run(ClientLifecycleMode::Initialize);
}

#[test]
fn rmcp_settles_a_question_without_one() {
    run(ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] });
}
