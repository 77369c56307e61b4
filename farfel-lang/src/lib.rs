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
//! | module | besides |
//! |---|---|
//! | [`given`], `marks` | what comments say of derivatives and of loops |
//! | [`packages`] | programs of several packages in one |
//! | [`lints`] | which warnings are shown |
//! | [`mod@quote`] | generated statements, written as Fortran |
//! | [`mod@format`] | source text, laid out anew |
//! | [`verify`] | a program, looked at after each pass |
//! | [`timing`] | how long each pass takes |
//! | `spelling` | names that may have been meant |
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

pub mod format;
pub mod given;
pub mod lints;
pub mod lower;
mod marks;
pub mod packages;
pub mod print;
pub mod quote;
pub mod resolve;
pub mod spelling;
pub mod syntax;
pub mod timing;
pub mod verify;

// One door: whoever uses the compiler finds the representation and its analyses here too.
pub use farfel_analysis::{access, dataflow, effects, solve};
pub use farfel_ir::{
    callgraph, diagnostic, encoding, flow, intrinsics, ir, source, storage, targets, types,
};

pub use diagnostic::{Diagnostic, Severity};
pub use source::{FileId, Sources, Span};
