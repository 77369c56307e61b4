//! What the tests of the Tapenade adapter share.
#![allow(dead_code)]

pub mod canned;
pub mod program;
pub mod support;
pub mod tool;
