//! Automatic differentiation of Fortran 77 programs.
//!
//! [`AdTool`] is the one interface: a program and a [`Request`] in, derivative units out.
//! [`Builtin`] is the engine of this crate. It works on the program representation, so
//! that what it generates joins the program as ordinary units, which can be
//! differentiated again: that is all there is to nested AD.
//!
//! | module | what |
//! |---|---|
//! | [`flow`] | control flow graph of a unit |
//! | [`locations`] | variables, COMMON and EQUIVALENCE as locations |
//! | [`calls`] | the calls that a statement makes |
//! | [`depend`] | what statements assign, which outputs depend on which inputs |
//! | [`activity`] | which derivatives are needed where, for one unit in one context |
//! | [`analysis`] | what all this finds out, to be looked at |
//! | [`tangent`] | forward mode |
//! | [`reverse`] | reverse mode |
//! | [`structure`] | units without jumps, for reverse mode |
//! | [`given`] | derivatives that do not come from the text of a procedure |
//! | [`layout`] | how derivatives are named and laid out |
//! | [`dropin`] | the engine behind Tapenade's command line |
//! | [`external`] | AD tools that are programs of their own |
//! | [`adifor`] | ADIFOR 2 |
//! | [`tapenade`] | one of them: Tapenade |
//! | [`loops`] | inner loops in the form that compilers make fast code of |
//! | [`collect`] | tangents of straight stretches as sums with affine coefficients |

// Whatever users do, they get a message.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

/// The version of this crate. Another version may make another program of the same source.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

pub mod activity;
pub mod adifor;
pub mod analysis;
pub mod calls;
pub mod collect;
mod common_sizes;
pub mod depend;
pub mod dropin;
mod elements;
pub mod external;
pub mod given;
pub mod layout;
pub mod locations;
mod loop_control;
pub mod loops;
mod matrix;
mod numbers;
mod path;
mod refuse;
mod regions;
pub mod reverse;
pub mod spans;
pub mod structure;
pub mod tangent;
pub mod tapenade;
mod tapes;

use farfel_lang::callgraph::CallGraph;
use farfel_lang::diagnostic::Diagnostic;
pub use farfel_lang::flow;
use farfel_lang::ir::{AdMode, Name, Program, Request, Unit};
pub use path::with_way_in;
use std::collections::{BTreeSet, HashMap};

/// Something that differentiates programs.
pub trait AdTool {
    /// Its name, as users choose it.
    fn name(&self) -> &str;

    /// New units to add to the program: the derivative of `request.head` and of all below
    /// it that is active. A unit that bears the name of one in the program replaces it. Adds to
    /// `warnings` what is worth knowing: where a derivative is dropped silently.
    ///
    /// # Errors
    ///
    /// What cannot be differentiated, at its place in the source.
    fn differentiate_warning(
        &self,
        program: &Program,
        request: &Request,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Vec<Unit>, Vec<Diagnostic>>;

    /// [`AdTool::differentiate_warning`] for those who do not ask for warnings.
    ///
    /// # Errors
    ///
    /// Those of [`AdTool::differentiate_warning`].
    fn differentiate(
        &self,
        program: &Program,
        request: &Request,
    ) -> Result<Vec<Unit>, Vec<Diagnostic>> {
        self.differentiate_warning(program, request, &mut Vec::new())
    }
}

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
    let simple = reverse::retry::once(program);
    let program = simple.as_ref().unwrap_or(program);
    match request.mode {
        AdMode::Forward => tangent::differentiate(program, request, warnings),
        AdMode::Reverse => reverse::differentiate(program, request, tape, warnings),
    }
}

/// Carries requests out in order; each sees what the earlier ones generated.
///
/// # Errors
///
/// The faults of the first request that fails.
pub fn differentiate_all(
    tool: &dyn AdTool,
    program: Program,
    requests: &[Request],
) -> Result<Program, Vec<Diagnostic>> {
    differentiate_all_warning(tool, program, requests, &mut Vec::new())
}

/// Like [`differentiate_all`], and adds the tool's warnings to `warnings`, each once.
///
/// # Errors
///
/// Those of [`differentiate_all`].
pub fn differentiate_all_warning(
    tool: &dyn AdTool,
    mut program: Program,
    requests: &[Request],
    warnings: &mut Vec<Diagnostic>,
) -> Result<Program, Vec<Diagnostic>> {
    let mut found: Vec<Diagnostic> = Vec::new();
    let mut places: HashMap<Name, usize> = program
        .units
        .iter()
        .enumerate()
        .map(|(i, u)| (u.name.clone(), i))
        .collect();
    // A tool gets what the head reaches, not all of a large program.
    let graph = CallGraph::staged(&program, requests);
    let mut made: Vec<Vec<usize>> = Vec::with_capacity(requests.len());
    for request in requests {
        let mut reads: BTreeSet<usize> = graph
            .reached(graph.index(&request.head))
            .into_iter()
            .collect();
        let needs: Vec<usize> = reads
            .iter()
            .flat_map(|u| graph.requests(*u))
            .copied()
            .collect();
        reads.extend(needs.iter().filter_map(|r| made.get(*r)).flatten());
        let below = Program {
            units: reads.iter().map(|i| program.units[*i].clone()).collect(),
        };
        let mut ours = Vec::new();
        for unit in tool.differentiate_warning(&below, request, &mut found)? {
            let at = *places
                .entry(unit.name.clone())
                .or_insert(program.units.len());
            match program.units.get_mut(at) {
                Some(old) => *old = unit,
                None => program.units.push(unit),
            }
            ours.push(at);
        }
        made.push(ours);
    }
    for w in found {
        // Other contexts and requests meet the same statement again.
        if !warnings
            .iter()
            .any(|x| x.rule == w.rule && x.span == w.span)
        {
            warnings.push(w);
        }
    }
    Ok(program)
}
