//! The program representation of the Farfel compiler, and what can be said of a program without
//! changing it.
//!
//! | module | what |
//! |---|---|
//! | [`ir`] | programs: units, symbols, statements, expressions; walks over them; a verifier |
//! | [`source`], [`encoding`] | texts, places in them, bytes that are no UTF-8 |
//! | [`diagnostic`] | faults as data, and all rules with their codes |
//! | [`scalar`], [`intrinsics`] | the types of values; the functions that the language brings along |
//! | [`types`] | types and dimensions of expressions |
//! | [`storage`] | where variables lie: constants, COMMON, EQUIVALENCE, DATA |
//! | [`flow`] | which statement may come after which, in a unit |
//! | [`callgraph`], [`targets`] | who calls whom; which procedures a dummy procedure can be |
//!
//! The parser, the passes and the printer are in `farfel-lang`, which shows these modules as its own.
//!
//! **Invariant:** no input or output, and nothing of the text of a program but places in it.

// Whatever users do, they get a message.
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
