//! Automatic differentiation of Fortran 77 programs.
//!
//! [`AdTool`] is the interface: it takes a program and a [`Request`] and returns the derivative
//! units. [`Builtin`] is the engine of this crate. It works on the program representation, so the
//! generated units are ordinary units of the program, which can be differentiated again: that is
//! how nested AD works.
//!
//! | module | contents |
//! |---|---|
//! | [`schedule`] | carries out all requests of a program, each on exactly the part it depends on |
//! | [`flow`] | the control flow graph of a unit |
//! | [`locations`] | variables, COMMON and EQUIVALENCE as locations |
//! | [`calls`] | the calls in a statement |
//! | [`depend`] | what statements assign, and which outputs depend on which inputs |
//! | `activity` | which derivatives are needed where, for one unit in one context |
//! | [`analysis`] | the results of all these analyses, for inspection |
//! | [`tangent`] | forward mode |
//! | [`reverse`] | reverse mode |
//! | [`passes`] | the list of all passes, and the code that runs them |
//! | `legal` | passes that bring programs into the forms that the modes require |
//! | [`custom_rules`] | derivatives supplied by users, and bundled ones: of BLAS and LAPACK, and of some intrinsic functions |
//! | [`refuse`] | code that cannot be differentiated, whether or not it is active |
//! | [`path`] | the calls by which a block reaches such code |
//! | [`layout`] | the names and argument lists of derivatives |
//! | [`simplify`] | passes that make derivatives fast |
//! | `tool` | the interface, [`AdTool`] |
//! | `parallel` | what parallel loops of derivatives need |
//! | `affine` | affine sums of integer variables |
//! | `numbers` | the positions of differentiable numbers in storage |
//! | `subscripts` | the positions of elements in their arrays |
//! | `user_sizes` | constants for sizes that only users know |
//! | `matrix`, [`spans`] | bit matrices; source positions of whole units |
//! | `verify` | verification of passes and of generated code |

// Whatever users write, they get a diagnostic and never a panic.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

/// The version of this crate. Different versions may generate different code from the same source.
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
mod parallel;
pub mod passes;
pub mod path;
pub mod refuse;
pub mod reverse;
pub use custom_rules::bundled::CHECKPOINT_PREFIX;
pub mod schedule;
pub mod simplify;
pub mod spans;
mod subscripts;
pub mod tangent;
mod tool;
mod user_sizes;
mod verify;

use farfel_lang::diagnostic::Diagnostic;
pub use farfel_lang::flow;
use farfel_lang::ir::{AdMode, Program, Request, Unit};
use farfel_lang::lower::{Threaded, as_dummies, as_globals};
use farfel_lang::timing;
pub use legal::parallel::{errors_of_thread_private, warnings_of_directives, with_divided_regions};
pub use path::with_way_in;
pub use schedule::{differentiate_all, differentiate_all_warning};
use std::borrow::Cow;
pub use tool::AdTool;

/// The engine of this crate.
///
/// The crate's README describes derivatives at points where functions are not differentiable, and
/// the argument lists of generated subprograms.
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

/// [`Builtin`] with a limit on the memory of adjoints.
#[derive(Debug, Clone, Copy)]
pub struct Bounded {
    /// The maximum size of one tape in bytes: there is one tape for each type of values.
    /// [`Builtin`] has a limit of 1 GB.
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

/// A tool for programs whose directives of OpenMP are followed
/// ([`farfel_lang::openmp::read`]). It warns about directives that derivatives do not follow.
#[derive(Debug, Clone, Copy)]
pub struct WithThreads<T>(
    /// The tool that computes the derivatives.
    pub T,
);

impl<T: AdTool> AdTool for WithThreads<T> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn differentiate_warning(
        &self,
        program: &Program,
        request: &Request,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Vec<Unit>, Vec<Diagnostic>> {
        let heads = [request.head.as_str()];
        let errors = errors_of_thread_private(program, &heads);
        if !errors.is_empty() {
            return Err(errors);
        }
        let divided = with_divided_regions(program, &heads);
        let program = divided.as_ref().unwrap_or(program);
        warnings.extend(warnings_of_directives(program, &heads));
        self.0.differentiate_warning(program, request, warnings)
    }
}

fn carry_out(
    program: &Program,
    request: &Request,
    tape: Option<u64>,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Vec<Unit>, Vec<Diagnostic>> {
    let mut seen = Cow::Borrowed(program);
    let threaded = match program.units.iter().any(of_dummies) {
        true => as_globals(seen.to_mut()),
        false => Threaded::default(),
    };
    let made = match request.mode {
        AdMode::Forward => timing::pass("tangent", || {
            tangent::differentiate(&seen, request, warnings)
        }),
        AdMode::Reverse => timing::pass("adjoint", || {
            reverse::differentiate(&seen, request, tape, warnings)
        }),
    };
    let shown = |d: &mut Diagnostic| path::with_shown_names(d, &threaded);
    warnings.iter_mut().for_each(shown);
    match made {
        Ok(mut units) => {
            as_dummies(&mut units, &threaded, request);
            Ok(units)
        }
        Err(mut errors) => {
            errors.iter_mut().for_each(shown);
            Err(errors)
        }
    }
}

/// Whether directives about dummy procedures hold in a unit.
fn of_dummies(unit: &Unit) -> bool {
    unit.directives.iter().any(|g| g.dummy_of.is_some())
}
