//! The program representation of the Farfel compiler, and analyses of programs that do not change
//! them.
//!
//! | module | contents |
//! |---|---|
//! | [`ir`] | programs: units, symbols, statements, expressions; walks over them; a verifier |
//! | [`source`], [`encoding`] | source texts, positions in them, and bytes that are not UTF-8 |
//! | [`diagnostic`] | errors and warnings as data, and all rules with their codes |
//! | [`scalar`], [`intrinsics`] | the types of values; the intrinsic functions |
//! | [`types`] | types and dimensions of expressions |
//! | [`storage`] | storage layout: constants, COMMON, EQUIVALENCE, DATA |
//! | [`flow`] | the control flow graph of a unit |
//! | [`callgraph`], [`targets`] | who calls whom; which procedures a dummy procedure can be |
//!
//! The parser, the passes and the printer are in `farfel-lang`, which re-exports these modules.
//!
//! **Invariant:** no input or output, and no knowledge of source text other than positions in it.

// Whatever users write, they get a diagnostic and never a panic.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

pub mod callgraph;
pub mod diagnostic;
pub mod encoding;
pub mod flow;
pub mod intrinsics;
pub mod ir;
pub mod scalar;
pub mod source;
pub mod storage;
pub mod targets;
pub mod types;

pub use diagnostic::{Diagnostic, Severity};
pub use source::{FileId, Sources, Span};
