//! The operations.

pub mod catalogue;
pub mod manifest;
