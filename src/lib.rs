//! Parley's server: what stands between the wire and the threads.
//!
//! Read in this order: [`operation`] (what an operation is, and the only door), [`operations`] (the table and the
//! handlers), [`forum`] (what they work on), [`wire`] (what goes out), [`http`] and [`mcp`] (two readings of the table),
//! [`server`] (opens the house and serves).

pub mod operation;
pub mod operations;
pub mod forum;
pub mod wire;
pub mod cursor;
pub mod caller;
pub mod callers;
pub mod token;
pub mod rate;
pub mod shape;
pub mod json;
pub mod surface;
pub mod http;
pub mod mcp;
pub mod operator;
pub mod config;
pub mod logs;
pub mod server;
pub mod local;
pub mod client;

pub use server::{ServeError, Server, serve};
