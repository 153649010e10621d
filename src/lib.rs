//! Parley's server: what stands between the wire and the forum.

pub mod caller;
pub mod client;
pub mod config;
pub mod http;
pub mod json;
pub mod local;
pub mod logs;
pub mod mcp;
pub mod operation;
pub mod operations;
pub mod rate;
pub mod shape;
pub mod surface;
