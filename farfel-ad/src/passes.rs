//! All passes, and what runs them.
//!
//! ```text
//! legalise → analyse → generate → simplify
//! ```
//!
//! *Legalise* brings the program into forms that the generator takes; what it computes stays the
//! same. *Analyse* finds facts and changes nothing. *Generate* writes derivatives. *Simplify* makes
//! them fast; what they compute stays the same, but for the order in which sums of derivatives are
//! added.
//!
//! | kind | pass | where |
//! |---|---|---|
//! | legalise | | `LEGALISE` |
//! | analyse | which outputs of a subprogram depend on which inputs | `depend` |
//! | | what is varied and whose derivatives are live, for each context | `activity` |
//! | generate | tangents: each statement with its derivative | `tangent/stmt.rs` |
//! | simplify | the tangents of one direction | `OF_TANGENTS` |
//! | generate | several directions: loops over them | `tangent/vector.rs` |
//! | simplify | what runs | `OF_ALL` |
//!
//! For adjoints, tangents stay as they are generated, and go on:
//!
//! | kind | pass | where |
//! |---|---|---|
//! | generate | linear statements in their normal form | `reverse/normal.rs`, `reverse/gather.rs` |
//! | analyse | what calls read and assign, what has to be recorded, how large tapes are | `reverse/effects.rs`, `needed.rs`, `room.rs` |
//! | generate | forward and backward sweeps | `reverse/sweep.rs` |
//! | | calls that pass one cotangent twice | `reverse/aliased_arguments.rs` |
//! | simplify | what forward sweeps compute for nobody is taken out | `reverse/dead_code.rs` |
//! | | what runs | `OF_ALL` |
//!
//! A pass says which [`Form`]s it requires and which it establishes. Each mode names the forms that
//! it wants, and so do those who differentiate by another tool, or by the engine behind the command
//! line of one. [`legalise`] adds what these require, and runs the passes that establish them, in the
//! order of `LEGALISE`, as far as the program has something for them to do. After each, the verifier
//! looks at what it has changed, where passes are verified.

use crate::custom_rules::functions::{call_functions, has_reductions};
pub use crate::legal::called::Called;
use crate::legal::entry_bounds::{has_bounds, with_entry_bounds};
use crate::legal::loop_control::{
    Which, has_fixed_points, has_loops, with_conditions, written_as_statements,
};
use crate::legal::regions::{has_allocations, without_allocations};
use crate::legal::scalarize::{by_elements, has_arrays};
pub use crate::legal::structure::kept_by_divided_units;
use crate::legal::structure::{
    calls_entries, has_alternate_returns, has_entries, has_jumps, has_open_saves, name_all_saved,
    split_entries, without_alternate_returns, without_jumps,
};
use crate::legal::{
    cleared, common_sizes, fixed_tapes, input_output, one_name, reroll, shared_elements,
};
use crate::simplify::loops::speed_up;
use crate::simplify::one_direction::in_one_direction;
use crate::simplify::preaccumulate::collect;
use crate::simplify::reciprocals::use_reciprocals;
use crate::simplify::signs::turn_differences;
use crate::verify;
use farfel_lang::Span;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::ir::{Level, Name, Program, Request, StmtKind, SymId, Unit, walk_block};
use farfel_lang::timing;
use farfel_lang::verify::Verifier;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// What can hold of a program, so that whoever comes later has fewer cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// Tapes of adjoints in the program do not grow.
    FixedTapes,
    /// No scalar is another name of an element of an array that the unit uses, too.
    ElementsByName,
    /// No input, output, STOP or PAUSE.
    Silent,
    /// PRODUCT, MAXVAL and MINVAL of whole arrays are calls of functions in Fortran.
    ReductionsCalled,
    /// Fixed-point loops end with whole iterations: they are DO WHILE.
    WholeIterations,
    /// No loop counts by a real variable between bounds that vary.
    PlainCounters,
    /// No condition of DO WHILE calls a procedure.
    PlainConditions,
    /// Nothing below the heads calls an ENTRY that derivatives may go through.
    NoCalledEntries,
    /// No ENTRY.
    NoEntries,
    /// No alternate returns.
    NoAlternateReturns,
    /// Nothing jumps: assignments, calls, IF, SELECT CASE, counted loops and DO WHILE.
    NoJumps,
    /// No subprogram below the heads changes what the bounds of its arrays are made of.
    EntryBounds,
    /// Loops that were unrolled by hand are rolled up.
    Rolled,
    /// Array statements whose derivative does not go element by element are DO loops.
    Elements,
    /// No call passes an array by two arguments, one of which is assigned, where that can be.
    OneName,
    /// What ALLOCATE makes are local arrays of subroutines.
    LocalArrays,
    /// Tapes of adjoints in the program end with what says that they do.
    TapesEnd,
    /// All units that declare a COMMON block declare all of it.
    EqualBlocks,
    /// SAVE names its variables.
    SavedByName,
}

/// A set of forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Forms(u32);

impl Forms {
    /// The set of some forms.
    pub const fn of(forms: &[Form]) -> Self {
        let mut all = 0;
        let mut i = 0;
        while i < forms.len() {
            all |= 1 << forms[i] as u32;
            i += 1;
        }
        Forms(all)
    }

    /// Is a form in the set?
    pub const fn has(self, form: Form) -> bool {
        self.0 & (1 << form as u32) != 0
    }

    /// The forms of either set.
    pub const fn and(self, other: Forms) -> Self {
        Forms(self.0 | other.0)
    }

    /// The forms that another set has too.
    pub const fn but_only(self, other: Forms) -> Self {
        Forms(self.0 & other.0)
    }

    /// The forms that another set has not.
    pub const fn without(self, other: Forms) -> Self {
        Forms(self.0 & !other.0)
    }

    /// Is it the empty set?
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Have two sets something in common?
    const fn meets(self, other: Forms) -> bool {
        self.0 & other.0 != 0
    }

    /// Are all forms in another set?
    const fn is_within(self, other: Forms) -> bool {
        self.0 & !other.0 == 0
    }
}

/// What a program is brought into forms for.
#[derive(Debug, Clone, Copy)]
pub struct Goal<'a> {
    /// The subprograms to differentiate.
    pub heads: &'a [&'a str],
    /// The request of an AD block, if one asks for it. Input and output stay without.
    pub request: Option<&'a Request>,
}

impl Goal<'_> {
    /// Is asked which depends on which, whatever the numbers?
    fn is_pattern(&self) -> bool {
        self.request.is_some_and(|r| r.directions.pattern)
    }

    /// What the names of new units end in: requests do not know each other's.
    fn suffix(&self) -> &str {
        self.request.map_or("", |r| r.suffix.as_str())
    }
}

/// A program in the forms that somebody wants.
#[derive(Debug)]
pub struct Legal<'p> {
    /// The program.
    pub program: Cow<'p, Program>,
    /// What the passes tell of it.
    pub notes: Notes,
}

/// What passes tell of a program that they bring into forms.
#[derive(Debug, Default)]
pub struct Notes {
    /// The subprogram that stands for each ENTRY point of what was taken apart.
    pub entries: HashMap<Name, Name>,
    /// The units that did input or output, or stopped.
    pub silenced: HashSet<Name>,
    /// The units whose arguments are tapes that do not grow any more: they take others than callers of the
    /// program itself pass.
    pub resized: HashSet<Name>,
    /// Warnings about the program, where it does not say what derivatives take it to say.
    pub warnings: Vec<Diagnostic>,
}

/// A pass from program to program.
struct Pass {
    /// What messages call it.
    name: &'static str,
    /// What must hold before.
    requires: Forms,
    /// What holds after.
    establishes: Forms,
    /// Is there something for it to do?
    applies: fn(&Program, &Goal) -> bool,
    /// Does it, and adds the faults of what cannot be done.
    run: fn(&mut Program, &Goal, &mut Notes, &mut Vec<Diagnostic>),
}

/// A pass that makes a derivative faster.
struct Simplification {
    /// What messages call it.
    name: &'static str,
    /// Rewrites the unit.
    run: fn(&mut Derivative),
}

/// A derivative, and what its variables are.
pub(crate) struct Derivative<'u> {
    /// The derivative.
    pub unit: &'u mut Unit,
    /// The variables that hold derivatives.
    pub tangents: &'u HashSet<SymId>,
    /// Which variable each is the derivative of, where it is that of one.
    pub primal: &'u HashMap<SymId, SymId>,
    /// Variables that passes have added for parts of derivatives.
    pub parts: HashSet<SymId>,
}

impl Derivative<'_> {
    fn all(&self) -> HashSet<SymId> {
        self.parts.union(self.tangents).copied().collect()
    }
}

/// The passes that simplify tangents as they are generated, for one direction.
const OF_TANGENTS: &[Simplification] = &[
    Simplification {
        name: "preaccumulate",
        run: |d| collect(d.unit, d.tangents),
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
];

/// The passes that simplify all derivatives that are carried out.
const OF_ALL: &[Simplification] = &[Simplification {
    name: "loops",
    run: |d| speed_up(d.unit, &d.all()),
}];

/// Simplifies a tangent as it is generated.
///
/// # Errors
///
/// What a pass has broken.
pub(crate) fn simplify_tangent(derivative: &mut Derivative) -> Result<(), Vec<Diagnostic>> {
    let reads = verify::Reads::of(derivative.unit);
    simplify(OF_TANGENTS, derivative)?;
    reads.verify("simplify", derivative.unit)
}

/// Simplifies a derivative that is carried out.
///
/// # Errors
///
/// What a pass has broken.
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
    Elements, ElementsByName, EntryBounds, EqualBlocks, FixedTapes, LocalArrays,
    NoAlternateReturns, NoCalledEntries, NoEntries, NoJumps, OneName, PlainConditions,
    PlainCounters, ReductionsCalled, Rolled, SavedByName, Silent, TapesEnd, WholeIterations,
};

/// The passes that legalise.
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
        applies: |p, _| shared_elements::are_there(p),
        run: |p, _, _, _| shared_elements::by_element(p),
    },
    Pass {
        name: "input and output",
        requires: Forms::of(&[]),
        establishes: Forms::of(&[Silent]),
        applies: |p, _| p.units.iter().any(input_output::is_there),
        run: |p, goal, notes, faults| {
            let Some(request) = goal.request else { return };
            for unit in &mut p.units {
                if input_output::without_input_output(unit, request, faults) {
                    notes.silenced.insert(unit.name.clone());
                }
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
        applies: |p, _| has_loops(p, Which::Counting),
        run: |p, _, _, _| written_as_statements(p, Which::Counting),
    },
    Pass {
        name: "loop conditions",
        requires: Forms::of(&[]),
        establishes: Forms::of(&[PlainConditions]),
        applies: |p, _| has_loops(p, Which::Conditions),
        run: |p, _, _, _| written_as_statements(p, Which::Conditions),
    },
    Pass {
        name: "called entries",
        requires: Forms::of(&[]),
        establishes: Forms::of(&[NoCalledEntries]),
        applies: |p, goal| calls_entries(p, goal.heads),
        run: apart,
    },
    Pass {
        name: "entries",
        requires: Forms::of(&[]),
        establishes: Forms::of(&[NoEntries]),
        applies: |p, _| has_entries(p),
        run: apart,
    },
    Pass {
        name: "alternate returns",
        requires: Forms::of(&[NoEntries]),
        establishes: Forms::of(&[NoAlternateReturns]),
        applies: |p, _| has_alternate_returns(p),
        run: |p, goal, _, faults| without_alternate_returns(p, goal.heads, goal.suffix(), faults),
    },
    Pass {
        name: "jumps",
        requires: Forms::of(&[WholeIterations, PlainCounters, NoAlternateReturns]),
        establishes: Forms::of(&[NoJumps]),
        applies: |p, goal| has_jumps(p, goal.heads),
        run: keeping_marks,
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
        applies: |p, _| common_sizes::differ(p),
        run: |p, _, _, _| common_sizes::with_equal_blocks(p),
    },
    Pass {
        name: "saved by name",
        requires: Forms::of(&[]),
        establishes: Forms::of(&[SavedByName]),
        applies: |p, _| has_open_saves(p),
        run: |p, _, _, _| name_all_saved(p),
    },
];

/// Brings a program into forms, and into those that the passes which establish them require. All its
/// statements have ids then.
///
/// # Errors
///
/// What cannot be brought into a form, at its place in the source: the faults of all passes that
/// can run, since they have what they require.
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
    let (mut notes, mut faults) = (Notes::default(), Vec::new());
    let mut verifier = Verifier::of(&program);
    for pass in chosen(wanted) {
        if !pass.requires.is_within(have) {
            continue;
        }
        let before = faults.len();
        if (pass.applies)(&program, goal) {
            let legal = program.to_mut();
            timing::pass(pass.name, || {
                (pass.run)(legal, goal, &mut notes, &mut faults)
            });
            legal.number();
            if faults.len() == before {
                let found = verifier.after(pass.name, &program, Level::Staged);
                found.map_err(|fault| vec![fault])?;
            }
        }
        if faults.len() == before {
            have = have.and(pass.establishes);
        }
    }
    match faults.is_empty() {
        true => Ok(Legal { program, notes }),
        false => Err(faults),
    }
}

/// Those of some forms whose passes would find something to do in a program.
pub(crate) fn lacking(program: &Program, forms: Forms, goal: &Goal) -> Forms {
    let passes = LEGALISE.iter().filter(|p| p.establishes.meets(forms));
    passes
        .filter(|p| (p.applies)(program, goal))
        .fold(Forms::default(), |all, p| all.and(p.establishes))
}

/// The passes for some forms, in order.
fn chosen(wanted: Forms) -> impl Iterator<Item = &'static Pass> {
    let mut wanted = wanted;
    for pass in LEGALISE.iter().rev() {
        if pass.establishes.meets(wanted) {
            wanted = wanted.and(pass.requires);
        }
    }
    let wants = move |p: &&Pass| p.establishes.meets(wanted);
    LEGALISE.iter().filter(wants)
}

/// Makes a subprogram of each ENTRY point below the heads.
fn apart(program: &mut Program, goal: &Goal, notes: &mut Notes, faults: &mut Vec<Diagnostic>) {
    let new = split_entries(program, goal.heads, goal.suffix(), faults);
    notes.entries.extend(new);
}

/// Writes units without jumps. No loop of which a comment says something gets lost.
fn keeping_marks(program: &mut Program, goal: &Goal, _: &mut Notes, faults: &mut Vec<Diagnostic>) {
    let before = marks(program);
    let found = faults.len();
    without_jumps(program, goal.heads, faults);
    if faults.len() == found {
        let left = marks(program);
        let lost = before.into_iter().filter(|m| !left.contains(m));
        faults.extend(lost.map(jumps_out));
    }
}

/// Where comments say something of loops.
fn marks(program: &Program) -> Vec<Span> {
    let mut found = Vec::new();
    for u in &program.units {
        walk_block(&u.body, &mut |s| {
            if let StmtKind::Do(d) = &s.kind
                && let Some(mark) = &d.mark
            {
                found.push(mark.span);
            }
        });
    }
    found
}

/// A loop that its end alone does not end.
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
            assert!(pass.requires.is_within(have), "{}", pass.name);
            assert!(!pass.establishes.meets(have), "{}", pass.name);
            have = have.and(pass.establishes);
        }
    }

    #[test]
    fn the_readme_has_the_same_list() {
        let text = include_str!("../README.md");
        let (_, table) = text.split_once("| pass | form").unwrap();
        let (table, _) = table.split_once("\n\n").unwrap();
        let rows = table.lines().skip(2);
        let said: Vec<&str> = rows.map(|l| l.split('|').nth(1).unwrap().trim()).collect();
        let names: Vec<&str> = LEGALISE.iter().map(|p| p.name).collect();
        assert_eq!(said, names);
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
