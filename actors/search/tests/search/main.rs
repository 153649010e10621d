//! The search index from outside: what is found, and what is kept.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod reopen;
mod shelf;
mod texts;
