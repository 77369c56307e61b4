//! Helpers for the tests of the Tapenade adapter.

pub mod canned;
pub mod program;
pub mod support;
pub mod tool;
