//! The Parley language, pure.
//!
//! What may be said in a thread, what follows from it, and why not. This crate is `no_std`: it has no clock, no
//! randomness, no I/O and no async, and it cannot get them. Time and fresh ids are arguments. It knows nobody above it:
//! not the journal, not the actors, not HTTP.
//!
//! Read in this order: [`reason`] (every way to say no), [`limits`] (every number), [`words`] and [`id`] (the
//! vocabulary), [`envelope`] (what is sent), [`event`] (what is kept), [`thread`] (the state machine: decide and
//! apply), [`claim`] (the dialectic), [`desk`] (boards and tokens), [`invariant`] (what must always hold).
#![no_std]

extern crate alloc;

pub mod author;
pub mod claim;
pub mod desk;
pub mod envelope;
pub mod event;
pub mod id;
pub mod invariant;
pub mod limits;
pub mod reason;
pub mod thread;
pub mod time;
pub mod transition;
pub mod words;

pub mod text;

pub use author::{Author, Rights, Speaker};
pub use id::{AttestationId, BoardId, ClaimId, ImageId, MessageId, ThreadId};
pub use reason::{Reason, Refusal};
pub use time::Time;
