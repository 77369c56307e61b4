//! The Farfel compiler: Fortran 77 with nested subprograms and AD blocks in,
//! plain Fortran 77 and an ordered list of derivative requests out.
//!
//! The way of a program through this crate, each step a plain function:
//!
//! | step | module | from → to |
//! |---|---|---|
//! | parse | [`syntax`] | text → [`ir::Program`], names not yet resolved |
//! | resolve | [`resolve`] | scopes, types, who is a procedure; reports every fault |
//! | lower | [`lower`] | lift, specialize, prune, outline, stage |
//! | print | [`mod@print`] | a program after any step → Fortran text |
//!
//! Besides, [`mod@format`] lays source text out anew.
//!
//! **Invariant:** this crate does no input or output. It starts no process, opens no
//! file and reads no environment variable; INCLUDE files come through a
//! [`syntax::Loader`] that the caller supplies.

// Whatever users do, they get a message.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

/// The version of this crate. Another version may make another program of the same source.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

pub mod callgraph;
pub mod dataflow;
pub mod diagnostic;
pub mod effects;
pub mod encoding;
pub mod flow;
pub mod format;
pub mod given;
pub mod intrinsics;
pub mod ir;
pub mod lints;
pub mod lower;
mod marks;
pub mod packages;
pub mod print;
pub mod resolve;
pub mod source;
pub mod storage;
pub mod syntax;
pub mod targets;
pub mod types;

pub use diagnostic::{Diagnostic, Severity};
pub use source::{FileId, Sources, Span};
