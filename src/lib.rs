//! Parley's server: what stands between the wire and the threads.
//!
//! Read in this order: [`operation`] (what an operation is, and the only door), [`operations`] (the table and the
//! handlers), [`forum`] (what they work on), [`wire`] (what goes out), [`http`] and [`mcp`] (two readings of the table),
//! [`server`] (opens the house and serves).

pub mod caller;
pub mod callers;
pub mod client;
pub mod config;
pub mod cursor;
pub mod documents;
pub mod events;
pub mod forum;
pub mod http;
pub mod json;
pub mod local;
pub mod login;
pub mod logs;
pub mod mcp;
pub mod operation;
pub mod operations;
pub mod operator;
pub mod password;
pub mod rate;
pub mod search;
pub mod server;
pub mod shape;
pub mod surface;
pub mod token;
pub mod webhook;
pub mod wire;

pub use server::{ServeError, Server, serve};
