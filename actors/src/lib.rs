//! One actor per thread, the registry that supervises them, and the desk.
//!
//! This crate knows the language and the journal. It does not know HTTP, MCP, tokens as text, or JSON.
//!
//! Read in this order: [`record`] (bytes), [`seat`] (a thread actor without the actor), [`view`] (what readers see),
//! [`directory`] (every thread's line), [`feed`] (what is committed, in order), [`lines`] (what each line has read),
//! `thread` and [`desk`] (actix glue), [`registry`] (find, start, replace).

pub mod desk;
pub mod directory;
pub mod feed;
pub mod human;
pub mod lines;
pub mod record;
pub mod registry;
pub mod seat;
pub mod view;

mod thread;

pub use registry::Registry;
