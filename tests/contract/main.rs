//! The surface against its contract, on a real socket, with a server of a few operations instead of the forum.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod http;
mod mcp;
mod rpc;
mod tiny;
mod tools;
mod wire;
