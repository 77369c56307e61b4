//! AD tools other than the engine of `farfel-ad`.
//!
//! An adapter is an [`AdTool`](farfel_ad::AdTool): it prepares the input of an external AD program,
//! and reads the program's output. It starts no processes and opens no files: that is up to a
//! [`Runner`](external::Runner).
//!
//! | module | contents |
//! |---|---|
//! | [`external`] | one run of a tool: its input and its output |
//! | [`tapenade`] | the adapter for Tapenade |
//! | [`adifor`] | the adapter for ADIFOR 2 |
//! | [`dropin`] | the reverse: the engine behind Tapenade's command line |
//! | `refuse` | code that tools for FORTRAN 77 cannot differentiate |
//! | `tapes` | tapes in Fortran source |

// Whatever users write, they get a diagnostic and never a panic.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

/// The version of this crate. Different versions may generate different code from the same source.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

pub mod adifor;
pub mod dropin;
pub mod external;
mod refuse;
pub mod tapenade;
mod tapes;
