//! Automatic differentiation of Fortran 77 programs.
//!
//! [`AdTool`] is the one interface: a program and a [`Request`] in, derivative units out.
//! [`Builtin`] is the engine of this crate. It works on the program representation, so
//! that what it generates joins the program as ordinary units, which can be
//! differentiated again: that is all there is to nested AD.
//!
//! | module | what |
//! |---|---|
//! | [`schedule`] | all requests of a program, each carried out on exactly what it reads |
//! | [`flow`] | control flow graph of a unit |
//! | [`locations`] | variables, COMMON and EQUIVALENCE as locations |
//! | [`calls`] | the calls that a statement makes |
//! | [`depend`] | what statements assign, which outputs depend on which inputs |
//! | `activity` | which derivatives are needed where, for one unit in one context |
//! | [`analysis`] | what all this finds out, to be looked at |
//! | [`tangent`] | forward mode |
//! | [`reverse`] | reverse mode |
//! | [`passes`] | the list of all passes, and what runs them |
//! | `legal` | passes that bring programs into the forms that modes want |
//! | [`custom_rules`] | derivatives that users provide, and those that come along: of BLAS and LAPACK, of some intrinsic functions |
//! | [`refuse`] | what cannot be differentiated whatever is active |
//! | [`path`] | by which calls a block reaches it |
//! | [`layout`] | how derivatives are named and laid out |
//! | [`simplify`] | passes that make derivatives fast |
//! | `tool` | the interface, [`AdTool`] |
//! | `affine` | sums of integer variables |
//! | `numbers` | where in storage numbers lie |
//! | `subscripts` | where elements are in their arrays |
//! | `matrix`, [`spans`] | sets for many rows; places of whole units |
//! | `verify` | what passes have changed and what was generated, looked at |

// Whatever users do, they get a message.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

/// The version of this crate. Another version may make another program of the same source.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

mod activity;
mod affine;
pub mod analysis;
pub mod calls;
pub mod custom_rules;
pub mod depend;
pub mod layout;
mod legal;
pub mod locations;
mod matrix;
mod numbers;
pub mod passes;
pub mod path;
pub mod refuse;
pub mod reverse;
pub mod schedule;
pub mod simplify;
pub mod spans;
mod subscripts;
pub mod tangent;
mod tool;
mod verify;

use farfel_lang::diagnostic::Diagnostic;
pub use farfel_lang::flow;
use farfel_lang::ir::{AdMode, Program, Request, Unit};
use farfel_lang::timing;
pub use path::with_way_in;
pub use schedule::{differentiate_all, differentiate_all_warning};
pub use tool::AdTool;

/// The engine of this crate.
///
/// See the crate's README for what derivatives mean where functions have none, and for
/// the argument lists of what it generates.
#[derive(Debug, Clone, Copy, Default)]
pub struct Builtin;

impl AdTool for Builtin {
    fn name(&self) -> &str {
        "builtin"
    }

    fn differentiate_warning(
        &self,
        program: &Program,
        request: &Request,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Vec<Unit>, Vec<Diagnostic>> {
        carry_out(program, request, None, warnings)
    }
}

/// [`Builtin`] with a bound for the memory of adjoints.
#[derive(Debug, Clone, Copy)]
pub struct Bounded {
    /// The most bytes of one tape: there is one for each type of values. Without a bound, 1 GB.
    pub tape: u64,
}

impl AdTool for Bounded {
    fn name(&self) -> &str {
        Builtin.name()
    }

    fn differentiate_warning(
        &self,
        program: &Program,
        request: &Request,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Vec<Unit>, Vec<Diagnostic>> {
        carry_out(program, request, Some(self.tape), warnings)
    }
}

fn carry_out(
    program: &Program,
    request: &Request,
    tape: Option<u64>,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Vec<Unit>, Vec<Diagnostic>> {
    match request.mode {
        AdMode::Forward => timing::pass("tangent", || {
            tangent::differentiate(program, request, warnings)
        }),
        AdMode::Reverse => timing::pass("adjoint", || {
            reverse::differentiate(program, request, tape, warnings)
        }),
    }
}
