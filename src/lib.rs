//! Parley's server: what stands between the wire and the forum.

pub mod caller;
pub mod http;
pub mod json;
pub mod mcp;
pub mod operation;
pub mod operations;
pub mod rate;
pub mod shape;
pub mod surface;
