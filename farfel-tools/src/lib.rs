//! AD tools other than the engine of `farfel-ad`.
//!
//! An adapter is an [`AdTool`](farfel_ad::AdTool): it makes the input of a program that
//! differentiates, and reads what that program wrote. It starts no process and opens no file:
//! who does that is a [`Runner`](external::Runner).
//!
//! | module | what |
//! |---|---|
//! | [`external`] | one run of a tool: what it reads, and what it leaves |
//! | [`tapenade`] | the adapter for Tapenade |
//! | [`adifor`] | the adapter for ADIFOR 2 |
//! | [`dropin`] | the other way round: the engine behind Tapenade's command line |
//! | `refuse` | what tools that read FORTRAN 77 cannot differentiate |
//! | `tapes` | tapes in Fortran that was read from text |

// Whatever users do, they get a message.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

/// The version of this crate. Another version may make another program of the same source.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

pub mod adifor;
pub mod dropin;
pub mod external;
mod refuse;
pub mod tapenade;
mod tapes;
