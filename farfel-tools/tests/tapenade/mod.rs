//! Helpers for the tests of the Tapenade adapter.
#![allow(dead_code)]

pub mod canned;
pub mod program;
pub mod support;
pub mod tool;
