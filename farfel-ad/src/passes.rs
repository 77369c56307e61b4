//! The list of all passes, and the code that runs them.
//!
//! ```text
//! legalise → analyse → generate → simplify
//! ```
//!
//! *Legalise* brings the program into forms that the generator accepts, without changing what it
//! computes. *Analyse* computes facts and changes nothing. *Generate* writes derivatives.
//! *Simplify* makes them fast without changing what they compute, except for the order in which
//! sums of derivatives are added.
//!
//! | kind | pass | where |
//! |---|---|---|
//! | legalise | | `LEGALISE` |
//! | analyse | which outputs of a subprogram depend on which inputs | `depend` |
//! | | which variables are varied and whose derivatives are live, for each context | `activity` |
//! | generate | tangents: each statement with its derivative | `tangent/stmt.rs` |
//! | | tangents of tangents in one direction: Taylor series | `tangent/taylor` |
//! | simplify | the tangents of one direction | `OF_TANGENTS` |
//! | generate | several directions: loops over them | `tangent/vector.rs` |
//! | simplify | derivatives that will be executed | `OF_ALL` |
//!
//! For adjoints, the tangents are not simplified but processed further:
//!
//! | kind | pass | where |
//! |---|---|---|
//! | generate | linear statements in their normal form | `reverse/normal.rs`, `reverse/gather.rs` |
//! | simplify | removal of values that no derivative needs | `reverse/dead_code.rs` |
//! | analyse | what calls read and assign, what has to be recorded, the sizes of tapes | `reverse/effects.rs`, `reverse/tbr.rs`, `reverse/tape_size.rs` |
//! | generate | forward and reverse sweeps | `reverse/sweep.rs` |
//! | | zeros of local adjoints, where they are used | `reverse/placed_zeros.rs` |
//! | | calls that pass one adjoint twice | `reverse/aliased_arguments.rs` |
//! | simplify | adjoints that are known to be zero | `reverse/known_zeros.rs` |
//! | | removal of dead code from forward sweeps | `reverse/dead_code.rs` |
//! | | derivatives that will be executed | `OF_ALL` |
//!
//! A pass declares which [`Form`]s it requires and which it establishes. Each mode lists the forms
//! that it needs, and so do the adapters of other AD tools and the drop-in command for one.
//! [`legalise`] adds the forms that these require, and runs the passes that establish them, in the
//! order of `LEGALISE`, if the program contains anything for them to do. After each pass, the
//! verifier checks what it has changed, if verification is enabled.

use crate::custom_rules::functions::{call_functions, has_reductions};
pub use crate::legal::called::CalledSubprograms;
use crate::legal::entry_bounds::{has_bounds, with_entry_bounds};
use crate::legal::loop_control::{
    LoopSelection, has_fixed_points, has_loops, with_conditions, written_as_statements,
};
use crate::legal::regions::{has_allocations, without_allocations};
use crate::legal::scalarize::{by_elements, has_arrays};
pub use crate::legal::structure::kept_by_divided_units;
use crate::legal::structure::{
    calls_entries, has_alternate_returns, has_entries, has_jumps, has_open_saves, name_all_saved,
    split_entries, without_alternate_returns, without_jumps,
};
use crate::legal::{
    cleared, common_division, common_sizes, fixed_tapes, input_output, messages, one_name,
    parallel, reroll, shared_elements,
};
use crate::simplify::copies::merge_copies;
use crate::simplify::increments::join_increments;
use crate::simplify::loops::rewrite_inner_loops;
use crate::simplify::one_direction::in_one_direction;
use crate::simplify::preaccumulate::preaccumulate;
use crate::simplify::reciprocals::{share_reciprocals, use_reciprocals};
use crate::simplify::shorter::{TapeSubprograms, shorten};
use crate::simplify::signs::turn_differences;
use crate::simplify::sums::add_terms_in_turn;
use crate::verify;
use farfel_lang::Span;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::ir::{AdMode, Level, Name, Program, Request, StmtKind, SymId, Unit, walk_block};
use farfel_lang::timing;
use farfel_lang::verify::Verifier;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// A property of a program that reduces the number of cases for later passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// Tapes of adjoints in the program have a fixed size.
    FixedTapes,
    /// No scalar shares storage with an element of an array that the unit uses, too.
    ElementsByName,
    /// No input, output, STOP or PAUSE.
    Silent,
    /// Messages with real numbers are sent and received by procedures that have derivatives.
    MessagesCalled,
    /// PRODUCT, MAXVAL and MINVAL of whole arrays are calls of Fortran functions.
    ReductionsCalled,
    /// Fixed-point loops only end after complete iterations: they are DO WHILE loops.
    WholeIterations,
    /// No loop has a real variable as its counter between bounds that are varied.
    PlainCounters,
    /// No condition of a DO WHILE calls a procedure.
    PlainConditions,
    /// No code below the heads calls an ENTRY through which derivatives may propagate.
    NoCalledEntries,
    /// No ENTRY.
    NoEntries,
    /// No alternate returns.
    NoAlternateReturns,
    /// There are no jumps: only assignments, calls, IF, SELECT CASE, counted loops and DO WHILE.
    NoJumps,
    /// No subprogram below the heads changes variables in the bounds of its arrays.
    EntryBounds,
    /// Manually unrolled loops are rerolled.
    Rolled,
    /// Array statements whose derivatives are not elementwise are DO loops.
    Elements,
    /// No call passes an array as two arguments of which one is assigned, where that can be
    /// avoided.
    OneName,
    /// Allocated arrays are local arrays of subroutines.
    LocalArrays,
    /// The bodies of parallel loops of OpenMP are calls, and there are no other directives of OpenMP.
    CalledBodies,
    /// The end of use of tapes of adjoints in the program is marked.
    TapesEnd,
    /// All units that declare a COMMON block declare it completely, and divide it into the same variables where
    /// what they use allows that.
    EqualBlocks,
    /// SAVE statements name their variables.
    SavedByName,
}

/// A set of forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Forms(u32);

impl Forms {
    /// Creates a set of forms.
    pub const fn of(forms: &[Form]) -> Self {
        let mut all = 0;
        let mut i = 0;
        while i < forms.len() {
            all |= 1 << forms[i] as u32;
            i += 1;
        }
        Forms(all)
    }

    /// Whether a form is in the set.
    pub const fn has(self, form: Form) -> bool {
        self.0 & (1 << form as u32) != 0
    }

    /// Returns the union of two sets.
    pub const fn union(self, other: Forms) -> Self {
        Forms(self.0 | other.0)
    }

    /// Returns the intersection of two sets.
    pub const fn intersection(self, other: Forms) -> Self {
        Forms(self.0 & other.0)
    }

    /// Returns the forms that are not in the other set.
    pub const fn difference(self, other: Forms) -> Self {
        Forms(self.0 & !other.0)
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether the sets have a form in common.
    const fn intersects(self, other: Forms) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether this is a subset of the other set.
    const fn is_subset(self, other: Forms) -> bool {
        self.0 & !other.0 == 0
    }
}

/// The [`Goal::tag`] of adjoints.
pub(crate) const REVERSE_TAG: &str = "B";

/// The purpose for which a program is legalised.
#[derive(Debug, Clone, Copy)]
pub struct Goal<'a> {
    /// The subprograms to differentiate.
    pub heads: &'a [&'a str],
    /// The request of an AD block, if there is one. Without one, input and output are kept.
    pub request: Option<&'a Request>,
    /// The names of variables of the heads that the caller refers to.
    pub named: &'a [&'a str],
    /// What the names of new units end in if there is no request.
    pub tag: &'a str,
}

impl Goal<'_> {
    /// Whether the request is for a sparsity pattern instead of values.
    fn is_pattern(&self) -> bool {
        self.request.is_some_and(|r| r.directions.pattern)
    }

    /// Returns the suffix for the names of new units, which is unique among requests.
    fn suffix(&self) -> &str {
        self.request.map_or(self.tag, |r| r.suffix.as_str())
    }
}

/// A program in the required forms.
#[derive(Debug)]
pub struct Legal<'p> {
    /// The program.
    pub program: Cow<'p, Program>,
    /// What the passes report about it.
    pub notes: Notes,
}

/// What the legalising passes report about a program.
#[derive(Debug, Default)]
pub struct Notes {
    /// The subprogram that replaces each ENTRY point of the units that were split.
    pub entries: HashMap<Name, Name>,
    /// The units from which input, output or STOP were removed, or whose messages are remembered for a
    /// reverse sweep: forward sweeps must not call those of the program in their place.
    pub silenced: HashSet<Name>,
    /// The units with tape arguments that no longer grow: their arguments differ from those that
    /// callers in the original program pass.
    pub resized: HashSet<Name>,
    /// Warnings about properties that derivatives assume and that the program does not guarantee.
    pub warnings: Vec<Diagnostic>,
}

/// A legalising pass: it transforms a program.
struct Pass {
    /// The name for messages.
    name: &'static str,
    /// The forms that must hold before it runs.
    requires: Forms,
    /// The forms that hold afterwards.
    establishes: Forms,
    /// Whether there is anything for it to do.
    applies: fn(&Program, &Goal) -> bool,
    /// Runs the pass, and appends an error for anything that cannot be transformed.
    run: fn(&mut Program, &Goal, &mut Notes, &mut Vec<Diagnostic>),
}

/// A pass that makes derivatives faster.
struct Simplification {
    /// The name for messages.
    name: &'static str,
    /// Rewrites the unit.
    run: fn(&mut Derivative),
}

/// A derivative, with information about its variables.
pub(crate) struct Derivative<'u> {
    /// The derivative.
    pub unit: &'u mut Unit,
    /// The variables that hold derivatives.
    pub tangents: &'u HashSet<SymId>,
    /// The variable that each is the derivative of, if it is that of a single variable.
    pub primal: &'u HashMap<SymId, SymId>,
    /// Variables that passes have added for intermediate derivatives.
    pub parts: HashSet<SymId>,
    /// The subprograms for tapes that it calls.
    pub tape_subprograms: &'u TapeSubprograms,
}

impl Derivative<'_> {
    fn all(&self) -> HashSet<SymId> {
        self.parts.union(self.tangents).copied().collect()
    }
}

/// The passes that simplify newly generated tangents, for one direction.
const OF_TANGENTS: &[Simplification] = &[
    Simplification {
        name: "preaccumulate",
        run: |d| preaccumulate(d.unit, d.tangents),
    },
    Simplification {
        name: "reciprocals",
        run: |d| use_reciprocals(d.unit, d.tangents),
    },
    Simplification {
        name: "one direction",
        run: |d| d.parts = in_one_direction(d.unit, d.tangents, d.primal),
    },
    Simplification {
        name: "signs",
        run: |d| turn_differences(d.unit, &d.all()),
    },
    Simplification {
        name: "sums",
        run: |d| add_terms_in_turn(d.unit, &d.all()),
    },
];

/// The passes that simplify all derivatives that will be executed.
const OF_ALL: &[Simplification] = &[
    Simplification {
        name: "shared reciprocals",
        run: |d| share_reciprocals(d.unit, &d.all()),
    },
    Simplification {
        name: "loops",
        run: |d| rewrite_inner_loops(d.unit, &d.all()),
    },
    Simplification {
        name: "increments",
        run: |d| join_increments(d.unit, &d.all()),
    },
    Simplification {
        name: "copies",
        run: |d| merge_copies(d.unit),
    },
    Simplification {
        name: "shorter text",
        run: |d| shorten(d.unit, d.tape_subprograms),
    },
];

/// Simplifies a newly generated tangent.
///
/// # Errors
///
/// The verifier finds that a pass has broken an invariant.
pub(crate) fn simplify_tangent(derivative: &mut Derivative) -> Result<(), Vec<Diagnostic>> {
    let reads = verify::TapeReads::of(derivative.unit);
    simplify(OF_TANGENTS, derivative)?;
    reads.verify("simplify", derivative.unit)
}

/// Simplifies a derivative that will be executed.
///
/// # Errors
///
/// The verifier finds that a pass has broken an invariant.
pub(crate) fn simplify_derivative(derivative: &mut Derivative) -> Result<(), Vec<Diagnostic>> {
    simplify(OF_ALL, derivative)
}

fn simplify(passes: &[Simplification], derivative: &mut Derivative) -> Result<(), Vec<Diagnostic>> {
    derivative.unit.number();
    for pass in passes {
        timing::pass(pass.name, || (pass.run)(derivative));
        derivative.unit.number();
        verify::unit(pass.name, derivative.unit)?;
    }
    Ok(())
}

use Form::{
    CalledBodies, Elements, ElementsByName, EntryBounds, EqualBlocks, FixedTapes, LocalArrays,
    MessagesCalled, NoAlternateReturns, NoCalledEntries, NoEntries, NoJumps, OneName,
    PlainConditions, PlainCounters, ReductionsCalled, Rolled, SavedByName, Silent, TapesEnd,
    WholeIterations,
};

/// The legalising passes, in order.
const LEGALISE: &[Pass] = &[
    Pass {
        name: "fixed tapes",
        requires: Forms::of(&[]),
        establishes: Forms::of(&[FixedTapes]),
        applies: |p, _| fixed_tapes::grows(p),
        run: |p, _, notes, _| notes.resized.extend(fixed_tapes::fix(p)),
    },
    Pass {
        name: "shared elements",
        requires: Forms::of(&[]),
        establishes: Forms::of(&[ElementsByName]),
        applies: |p, _| shared_elements::has_shared_elements(p),
        run: |p, _, _, _| shared_elements::by_element(p),
    },
    Pass {
        name: "input and output",
        requires: Forms::of(&[]),
        establishes: Forms::of(&[Silent]),
        applies: |p, _| p.units.iter().any(input_output::has_input_output),
        run: |p, goal, notes, errors| {
            let Some(request) = goal.request else { return };
            for unit in &mut p.units {
                if input_output::without_input_output(unit, request, errors) {
                    notes.silenced.insert(unit.name.clone());
                }
            }
        },
    },
    Pass {
        name: "messages",
        requires: Forms::of(&[]),
        establishes: Forms::of(&[MessagesCalled]),
        applies: |p, goal| goal.request.is_some() && messages::has_messages(p),
        run: |p, goal, notes, errors| {
            if let Some(request) = goal.request {
                let changed = messages::with_derivatives(p, request, errors);
                notes.silenced.extend(changed);
            }
        },
    },
    Pass {
        name: "reductions",
        requires: Forms::of(&[]),
        establishes: Forms::of(&[ReductionsCalled]),
        applies: |p, goal| has_reductions(p, goal.heads),
        run: |p, goal, _, _| call_functions(p, goal.heads),
    },
    Pass {
        name: "whole iterations",
        requires: Forms::of(&[]),
        establishes: Forms::of(&[WholeIterations]),
        applies: |p, _| has_fixed_points(p),
        run: |p, _, _, _| with_conditions(p),
    },
    Pass {
        name: "loop counters",
        requires: Forms::of(&[]),
        establishes: Forms::of(&[PlainCounters]),
        applies: |p, _| has_loops(p, LoopSelection::Counting),
        run: |p, _, _, _| written_as_statements(p, LoopSelection::Counting),
    },
    Pass {
        name: "loop conditions",
        requires: Forms::of(&[]),
        establishes: Forms::of(&[PlainConditions]),
        applies: |p, _| has_loops(p, LoopSelection::Conditions),
        run: |p, _, _, _| written_as_statements(p, LoopSelection::Conditions),
    },
    Pass {
        name: "called entries",
        requires: Forms::of(&[]),
        establishes: Forms::of(&[NoCalledEntries]),
        applies: |p, goal| calls_entries(p, goal.heads),
        run: split_entry_points,
    },
    Pass {
        name: "entries",
        requires: Forms::of(&[]),
        establishes: Forms::of(&[NoEntries]),
        applies: |p, _| has_entries(p),
        run: split_entry_points,
    },
    Pass {
        name: "alternate returns",
        requires: Forms::of(&[NoEntries]),
        establishes: Forms::of(&[NoAlternateReturns]),
        applies: |p, _| has_alternate_returns(p),
        run: |p, goal, _, errors| without_alternate_returns(p, goal.heads, goal.suffix(), errors),
    },
    Pass {
        name: "jumps",
        requires: Forms::of(&[WholeIterations, PlainCounters, NoAlternateReturns]),
        establishes: Forms::of(&[NoJumps]),
        applies: |p, goal| has_jumps(p, goal.heads),
        run: remove_jumps_keeping_directives,
    },
    Pass {
        name: "entry bounds",
        requires: Forms::of(&[NoJumps]),
        establishes: Forms::of(&[EntryBounds]),
        applies: |p, _| has_bounds(p),
        run: |p, goal, _, _| with_entry_bounds(p, goal.heads, goal.suffix()),
    },
    Pass {
        name: "reroll",
        requires: Forms::of(&[NoJumps]),
        establishes: Forms::of(&[Rolled]),
        applies: |_, _| true,
        run: |p, _, _, _| reroll::reroll(p),
    },
    Pass {
        name: "scalarize",
        requires: Forms::of(&[]),
        establishes: Forms::of(&[Elements]),
        applies: |p, _| has_arrays(p),
        run: |p, goal, _, _| by_elements(p, goal.is_pattern()),
    },
    Pass {
        name: "one name",
        requires: Forms::of(&[EntryBounds, Elements]),
        establishes: Forms::of(&[OneName]),
        applies: |p, _| one_name::has_arrays_twice(p),
        run: |p, goal, notes, _| {
            let twice = one_name::with_one_name(p, goal.suffix());
            notes.warnings.extend(twice);
        },
    },
    Pass {
        name: "local arrays",
        requires: Forms::of(&[NoJumps, Elements]),
        establishes: Forms::of(&[LocalArrays]),
        applies: |p, _| has_allocations(p),
        run: |p, goal, _, _| without_allocations(p, goal.suffix()),
    },
    Pass {
        name: "parallel loops",
        requires: Forms::of(&[]),
        establishes: Forms::of(&[CalledBodies]),
        applies: |p, goal| parallel::has_directives(p, goal.heads),
        run: |p, goal, notes, _| {
            let reverse = match goal.request {
                Some(request) => request.mode == AdMode::Reverse,
                None => goal.tag == REVERSE_TAG,
            };
            let warnings = &mut notes.warnings;
            parallel::with_called_bodies(p, goal.heads, goal.suffix(), reverse, warnings);
        },
    },
    Pass {
        name: "ends of tapes",
        requires: Forms::of(&[]),
        establishes: Forms::of(&[TapesEnd]),
        applies: |p, _| cleared::has_tapes(p),
        run: |p, _, _, _| cleared::clear(p),
    },
    Pass {
        name: "equal blocks",
        requires: Forms::of(&[]),
        establishes: Forms::of(&[EqualBlocks]),
        applies: |p, goal| {
            common_sizes::differ(p) || common_division::differ(p, goal.heads, goal.named)
        },
        run: |p, goal, _, _| {
            common_division::with_equal_divisions(p, goal.heads, goal.named);
            common_sizes::with_equal_blocks(p);
        },
    },
    Pass {
        name: "saved by name",
        requires: Forms::of(&[]),
        establishes: Forms::of(&[SavedByName]),
        applies: |p, _| has_open_saves(p),
        run: |p, _, _, _| name_all_saved(p),
    },
];

/// Brings a program into the wanted forms, and into those that the passes for them require.
/// Afterwards all its statements have ids.
///
/// # Errors
///
/// Code that cannot be brought into a form, with its position in the source. The errors of all
/// passes that can run, because their requirements hold, are collected.
pub fn legalise<'p>(
    program: Cow<'p, Program>,
    wanted: Forms,
    goal: &Goal,
) -> Result<Legal<'p>, Vec<Diagnostic>> {
    let mut program = program;
    if !program.is_numbered() {
        program.to_mut().number();
    }
    let mut have = Forms::default();
    let (mut notes, mut errors) = (Notes::default(), Vec::new());
    let mut verifier = Verifier::of(&program);
    for pass in chosen(wanted) {
        if !pass.requires.is_subset(have) {
            continue;
        }
        let before = errors.len();
        if (pass.applies)(&program, goal) {
            let legal = program.to_mut();
            timing::pass(pass.name, || {
                (pass.run)(legal, goal, &mut notes, &mut errors)
            });
            legal.number();
            if errors.len() == before {
                let found = verifier.after(pass.name, &program, Level::Staged);
                found.map_err(|error| vec![error])?;
            }
        }
        if errors.len() == before {
            have = have.union(pass.establishes);
        }
    }
    match errors.is_empty() {
        true => Ok(Legal { program, notes }),
        false => Err(errors),
    }
}

/// Returns those of some forms whose passes would find something to do in a program.
pub(crate) fn lacking(program: &Program, forms: Forms, goal: &Goal) -> Forms {
    let passes = LEGALISE.iter().filter(|p| p.establishes.intersects(forms));
    passes
        .filter(|p| (p.applies)(program, goal))
        .fold(Forms::default(), |all, p| all.union(p.establishes))
}

/// Returns the passes for some forms and for what they require, in order.
fn chosen(wanted: Forms) -> impl Iterator<Item = &'static Pass> {
    let mut wanted = wanted;
    for pass in LEGALISE.iter().rev() {
        if pass.establishes.intersects(wanted) {
            wanted = wanted.union(pass.requires);
        }
    }
    let wants = move |p: &&Pass| p.establishes.intersects(wanted);
    LEGALISE.iter().filter(wants)
}

/// Creates a subprogram for each ENTRY point below the heads.
fn split_entry_points(
    program: &mut Program,
    goal: &Goal,
    notes: &mut Notes,
    errors: &mut Vec<Diagnostic>,
) {
    let new = split_entries(program, goal.heads, goal.suffix(), errors);
    notes.entries.extend(new);
}

/// Removes jumps. Reports an error if a loop with a directive is lost.
fn remove_jumps_keeping_directives(
    program: &mut Program,
    goal: &Goal,
    _: &mut Notes,
    errors: &mut Vec<Diagnostic>,
) {
    let before = marks(program);
    let found = errors.len();
    without_jumps(program, goal.heads, errors);
    if errors.len() == found {
        let left = marks(program);
        let lost = before.into_iter().filter(|m| !left.contains(m));
        errors.extend(lost.map(jumps_out));
    }
}

/// Returns the positions of directives on loops.
fn marks(program: &Program) -> Vec<Span> {
    let mut found = Vec::new();
    for u in &program.units {
        walk_block(&u.body, &mut |s| {
            if let StmtKind::Do(d) = &s.kind
                && let Some(mark) = &d.directive
            {
                found.push(mark.span);
            }
        });
    }
    found
}

/// The error for a loop with a directive that can be left by a jump.
fn jumps_out(mark: Span) -> Diagnostic {
    Diagnostic::error(
        &rules::AD_LOOP,
        mark,
        "something jumps out of this loop, so that its adjoint cannot be made as the directive says",
    )
    .help("write the loop as DO WHILE, or take the directive out")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_pass_requires_comes_before_it() {
        let mut have = Forms::default();
        for pass in LEGALISE {
            assert!(pass.requires.is_subset(have), "{}", pass.name);
            assert!(!pass.establishes.intersects(have), "{}", pass.name);
            have = have.union(pass.establishes);
        }
    }

    #[test]
    fn the_readme_has_the_same_list() {
        let text = include_str!("../README.md");
        let (_, table) = text.split_once("| pass | form").unwrap();
        let (table, _) = table.split_once("\n\n").unwrap();
        let rows = table.lines().skip(2);
        let listed: Vec<&str> = rows.map(|l| l.split('|').nth(1).unwrap().trim()).collect();
        let names: Vec<&str> = LEGALISE.iter().map(|p| p.name).collect();
        assert_eq!(listed, names);
    }

    #[test]
    fn forms_bring_what_their_passes_require() {
        let names = |forms| -> Vec<&str> { chosen(forms).map(|p| p.name).collect() };
        assert_eq!(names(Forms::of(&[EqualBlocks])), ["equal blocks"]);
        assert_eq!(
            names(Forms::of(&[Rolled])),
            [
                "whole iterations",
                "loop counters",
                "entries",
                "alternate returns",
                "jumps",
                "reroll"
            ]
        );
    }
}
