//! Lowering: from Farfel to Fortran 77 and derivative requests.
//!
//! The passes in order, each from program to program, with what holds after it:
//!
//! 1. `lift` — no nested subprograms; a lifted subprogram that is passed on is an
//!    [`ExprKind::Closure`](crate::ir::ExprKind::Closure). Before it, `regions` turns
//!    regions that are constant for differentiation, or executed again, into nested subroutines, `statement_functions`
//!    turns statement functions that refer to such subprograms into functions, `divisions` divides
//!    once where there are several divisors, if that is asked for, `entries` splits
//!    nested subprograms with ENTRY points, and `redeclared_commons` and `equivalenced` decide
//!    which names of the host's storage go through COMMON.
//! 2. `specialize` — no closures; copies take the captured variables instead. A remaining dummy
//!    procedure receives the same procedure from every caller.
//! 3. `prune` — only what the main program or the exported subprograms reach.
//! 4. `outline` — the body of every AD block is a single call. Before it, `assumed_size` gives
//!    assumed-size arrays a bound where blocks need one.
//! 5. `propagate` — the remaining dummy procedures are gone (stage `Stage`, as for the next pass).
//!    With it, `companions` gives the dummy procedures of exported subprograms, and the procedures
//!    that compute their derivatives, to all units that need them; `values` passes copies of arguments where compilers would not.
//! 6. `stage` — no AD blocks, but calls of derivatives, and the requests for these in an order in
//!    which they can be carried out.
//!
//! `naming` chooses the names of everything new.
//!
//! Closure conversion follows Radul, Pearlmutter and Siskind, "AD in Fortran:
//! Implementation via Preprocessor" (2012), section 3.

mod aliased_captures;
mod assumed_size;
mod bounds;
mod boz;
mod calls;
mod compact;
mod companions;
mod copies;
mod divisions;
mod elements;
mod entries;
mod equivalenced;
mod explain;
mod explicit;
mod import;
mod lift;
mod naming;
mod outline;
mod passed_procedures;
mod procedure_activity;
mod propagate;
mod prune;
mod recursion;
mod redeclared_commons;
mod regions;
mod saved_variables;
mod specialize;
mod stage;
mod statement_functions;
mod unfit_calls;
mod values;

pub use compact::{compact, join_declarations, used_in, without_unused};
pub use companions::{Threaded, as_dummies, as_globals};
pub use copies::{BoundDummy, CapturedVariable, CopyUse, SubprogramCopy};
pub use divisions::combine_divisions;
pub use entries::split_units as split_entries;
pub use explain::{Explanation, UncopiedDummy, explain};
pub use explicit::declare_all;
pub use prune::prune_differentiated;
pub use saved_variables::with_own_state;
pub use specialize::bind_passed;
pub use values::pass_values;

use crate::diagnostic::{Diagnostic, any_errors};
use crate::ir::{Level, Name, Program, Request, StorageClass, UnitKind};
use crate::timing;
use crate::verify::Verifier;
use std::collections::HashSet;
use std::time::Instant;

/// How far to lower.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// Not at all: the program after name resolution.
    Parse,
    /// Nested subprograms are lifted.
    Lift,
    /// Subprograms are copied for the closures they receive.
    Specialize,
    /// Unreachable units are removed.
    Prune,
    /// The bodies of AD blocks are calls.
    Outline,
    /// AD blocks are calls of derivatives, which are requested.
    Stage,
}

/// The settings of lowering.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The subprograms that must stay callable from outside, in upper case; `None` for all without
    /// dummy procedures. A main program is always kept, and if there is one, `None` means that
    /// nothing else is needed.
    pub exports: Option<Vec<Name>>,
    /// Whether this is a part of a larger program. New names are then chosen as they would be for
    /// the whole program.
    pub part: bool,
    /// The maximum number of copies of one subprogram; `None` for [`MOST_COPIES`].
    pub most_copies: Option<usize>,
    /// The size of a default REAL in bytes; `None` for 4.
    pub real: Option<u8>,
    /// Whether quotients are computed with one division each: see [`combine_divisions`].
    pub combine_divisions: bool,
    /// The exported subprograms that may get additional arguments: procedures that compute the
    /// derivatives of their dummy procedures, where AD blocks need them.
    pub companions: Vec<Name>,
}

/// The maximum number of copies of one subprogram, unless [`Options::most_copies`] says otherwise.
/// A program that needs more grows faster than its text.
pub const MOST_COPIES: usize = 500;

/// A lowered program.
#[derive(Debug, Clone)]
pub struct Lowered {
    /// The program after the last pass.
    pub program: Program,
    /// The units that must be kept, whoever calls them: the main program, and what is called from outside.
    pub roots: HashSet<Name>,
    /// The derivatives that it calls, in the order in which to generate them.
    pub requests: Vec<Request>,
    /// The copies made of subprograms, in order of creation, including those that turn out to be
    /// unreachable.
    pub copies: Vec<SubprogramCopy>,
    /// Errors and warnings. If there are errors, the program is that of the last pass without any.
    pub diagnostics: Vec<Diagnostic>,
}

/// Turns the regions that are constant for differentiation into subroutines, as lowering does, and
/// leaves the rest of the program as it is. For adjoints, regions that are executed again become subroutines, too.
/// Returns the names of these subroutines, which end in `suffix`.
///
/// # Errors
///
/// The errors in the comments that mark the regions.
pub fn regions(
    program: &mut Program,
    suffix: &str,
    adjoint: bool,
) -> Result<Vec<Name>, Vec<Diagnostic>> {
    let mut diagnostics = Vec::new();
    regions::to_subroutines(program, suffix, adjoint, &mut diagnostics);
    if any_errors(&diagnostics) {
        return Err(diagnostics);
    }
    if program.units.iter().all(|u| u.nested.is_empty()) {
        return Ok(Vec::new());
    }
    let known: HashSet<Name> = program.units.iter().map(|u| u.name.clone()).collect();
    let families = lift::lift(program, &mut diagnostics);
    recursion::mark(program, &families);
    program.number();
    if any_errors(&diagnostics) {
        return Err(diagnostics);
    }
    let new = program.units.iter().map(|u| u.name.clone());
    Ok(new.filter(|n| !known.contains(n)).collect())
}

/// Lowers a program in which [`resolve`](crate::resolve::resolve) found no errors.
pub fn lower(program: Program, until: Stage) -> Lowered {
    lower_with(program, until, &Options::default())
}

/// Like [`lower`], with options.
pub fn lower_with(program: Program, until: Stage, options: &Options) -> Lowered {
    let roots = roots(&program, options);
    let mut state = Lowered {
        program,
        roots,
        requests: Vec::new(),
        copies: Vec::new(),
        diagnostics: Vec::new(),
    };
    let mut families = naming::Families::default();
    let mut blocks = outline::OutlinedBlocks::new();
    let mut outside = companions::Outside::default();
    let mut verifier = Verifier::of(&state.program);
    for pass in [
        Stage::Lift,
        Stage::Specialize,
        Stage::Prune,
        Stage::Outline,
        Stage::Stage,
    ] {
        if pass > until || any_errors(&state.diagnostics) {
            break;
        }
        let Lowered {
            program,
            roots,
            requests,
            copies,
            diagnostics,
        } = &mut state;
        let mut changed = compact::ChangedUnits::new();
        // A pass begins once the one before it has ended and been verified.
        let mut begin = Instant::now();
        let mut holds = |name, program: &mut Program, diagnostics: &mut Vec<Diagnostic>, level| {
            program.number();
            timing::add(name, begin.elapsed());
            if !any_errors(diagnostics) {
                verifier.record_diagnostics(diagnostics);
                diagnostics.extend(verifier.after(name, program, level).err());
            }
            begin = Instant::now();
        };
        match pass {
            Stage::Parse => {}
            Stage::Lift => {
                let resolved = Level::Resolved;
                boz::convert(program);
                holds("bits", program, diagnostics, resolved);
                regions::to_subroutines(program, "", true, diagnostics);
                holds("regions", program, diagnostics, resolved);
                statement_functions::to_functions(program);
                holds("formulas", program, diagnostics, resolved);
                if options.combine_divisions {
                    divisions::combine_divisions(program);
                    holds("divisions", program, diagnostics, resolved);
                }
                entries::split(program, diagnostics);
                holds("entries", program, diagnostics, resolved);
                redeclared_commons::merge_declarations(program, diagnostics);
                holds("redeclared", program, diagnostics, resolved);
                equivalenced::share(program, diagnostics);
                holds("tied", program, diagnostics, resolved);
                if !any_errors(diagnostics) {
                    families = lift::lift(program, diagnostics);
                    families.part = options.part;
                    recursion::mark(program, &families);
                }
            }
            Stage::Specialize => {
                outside = companions::bind(program, roots, &options.companions);
                let mut called_from_outside = roots.clone();
                called_from_outside.extend(outside.callers());
                *copies = specialize::specialize(
                    program,
                    &called_from_outside,
                    options.most_copies.unwrap_or(MOST_COPIES),
                    &mut families,
                    &mut changed,
                    diagnostics,
                );
                outside.settle(program, copies, &mut changed, diagnostics);
                holds("specialize", program, diagnostics, Level::Specialized);
                aliased_captures::merge_arguments(
                    program,
                    &mut families,
                    &mut changed,
                    diagnostics,
                );
                recursion::mark(program, &families);
            }
            Stage::Prune => prune::prune(program, roots),
            Stage::Outline => {
                // In a part of a program, not all calls are known.
                if !options.part {
                    assumed_size::give_bounds(program, roots, &mut changed);
                    holds("sized", program, diagnostics, Level::Specialized);
                }
                blocks = outline::outline(program, &families, &mut changed, diagnostics);
            }
            Stage::Stage => {
                propagate::propagate(program, roots, &mut changed, diagnostics);
                companions::check(program, diagnostics);
                outside.thread(program, &mut changed, diagnostics);
                holds("propagate", program, diagnostics, Level::Specialized);
                let propagated = !changed.is_empty();
                pass_values(program);
                let real = options.real.unwrap_or(4);
                let staged = stage::stage(program, &blocks, real, &mut changed, diagnostics);
                *requests = stage::order(program, &blocks, staged, propagated, diagnostics);
                naming::make_unit_names_unique(program);
            }
        }
        for unit in &mut program.units {
            if changed.contains(&unit.name) {
                // Copies pass on procedures that used to be dummy procedures.
                calls::declare_procedures(unit, &|s| s.storage_class == StorageClass::Global);
                compact::compact(unit);
            }
        }
        let (name, level) = match pass {
            Stage::Parse => ("parse", Level::Resolved),
            Stage::Lift => ("lift", Level::Lifted),
            Stage::Specialize => ("once", Level::Specialized),
            Stage::Prune => ("prune", Level::Specialized),
            Stage::Outline => ("outline", Level::Specialized),
            Stage::Stage => ("stage", Level::Staged),
        };
        holds(name, program, diagnostics, level);
    }
    state
}

/// Returns the units that must be kept: the main program, otherwise the exported subprograms.
fn roots(program: &Program, options: &Options) -> HashSet<Name> {
    let main: HashSet<Name> = program
        .units
        .iter()
        .filter(|u| u.kind == UnitKind::Program)
        .map(|u| u.name.clone())
        .collect();
    if let Some(exports) = &options.exports {
        return main.into_iter().chain(exports.iter().cloned()).collect();
    }
    if !main.is_empty() {
        return main;
    }
    let complete: HashSet<Name> = program
        .units
        .iter()
        .filter(|u| crate::effects::procedure_dummies(u).next().is_none())
        .map(|u| u.name.clone())
        .collect();
    if complete.iter().any(|n| {
        program
            .unit(n)
            .is_some_and(|u| u.kind != UnitKind::BlockData)
    }) {
        complete
    } else {
        program.units.iter().map(|u| u.name.clone()).collect()
    }
}
