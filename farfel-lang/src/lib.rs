//! The Farfel compiler: translates Fortran 77 with nested subprograms and AD blocks to plain
//! Fortran 77 and an ordered list of derivative requests.
//!
//! A program passes through this crate in these steps, each a plain function:
//!
//! | step | module | from → to |
//! |---|---|---|
//! | parse | [`syntax`] | text → [`ir::Program`], names not yet resolved |
//! | resolve | [`resolve`] | scopes, types, which names are procedures; reports every error |
//! | lower | [`lower`] | lift, specialize, prune, outline, stage |
//! | print | [`mod@print`] | a program after any step → Fortran text |
//!
//! | module | purpose |
//! |---|---|
//! | [`procedure_directives`], `loop_directives` | directives in comments about derivatives and loops |
//! | [`openmp`] | parallel loops of OpenMP |
//! | [`packages`] | joins the programs of several packages into one |
//! | [`lints`] | lint levels: which warnings are shown |
//! | [`mod@quote`] | generated statements, written as Fortran text |
//! | [`mod@format`] | the source formatter |
//! | [`verify`] | checks the program after each pass |
//! | [`timing`] | how long each pass takes |
//! | `spelling` | suggestions for misspelled names |
//!
//! **Invariant:** this crate does no input or output. It starts no process, opens no
//! file and reads no environment variable; INCLUDE files come through a
//! [`syntax::Loader`] that the caller supplies.

// Users must get a message for every error, never a panic.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

/// The version of this crate. Different versions may generate different programs from the same
/// source.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

pub mod format;
pub mod lints;
mod loop_directives;
pub mod lower;
pub mod openmp;
pub mod packages;
pub mod print;
pub mod procedure_directives;
pub mod quote;
pub mod resolve;
pub mod spelling;
pub mod syntax;
pub mod timing;
pub mod verify;

// Re-exported so that users of the compiler find the representation and its analyses here as well.
pub use farfel_analysis::{access, dataflow, effects, solve};
pub use farfel_ir::{
    callgraph, diagnostic, encoding, flow, intrinsics, ir, source, storage, targets, types,
};

pub use diagnostic::{Diagnostic, Severity};
pub use source::{FileId, Sources, Span};
