//! Reverse mode: adjoints.
//!
//! An adjoint is the transpose of a tangent. [`crate::tangent`] turns each subprogram into one with primal
//! statements and statements that are linear in derivatives. Here the primal statements become the *forward
//! sweep*, which records on a tape the values that it overwrites and the linear statements will read; the
//! linear statements, transposed and in reverse order, become the *reverse sweep*. All differentiation rules
//! are therefore those of forward mode.
//!
//! # What is generated
//!
//! | source | derivative |
//! |---|---|
//! | the head | one subroutine with both sweeps and the arguments of its tangent |
//! | a subprogram below it, with suffix `_G1` | `NAME_F_G1`, the forward sweep, if it records anything; otherwise the original is called |
//! | | `NAME_G1`, the reverse sweep, with the arguments of its tangent |
//! | the subprogram that the head calls last (`last_call`) | `NAME_G1`, both sweeps, with tapes of its own |
//!
//! `NAME_F_G1` and `NAME_G1` get the tapes as additional arguments at the end.
//!
//! # What is recorded
//!
//! Values that no derivative needs are not even computed: the statements are removed before sweeps are made
//! (`dead_code`, `element_reads`). A value is recorded only if it is *needed* (`tbr`) and overwritten; sections of arrays
//! that have been recorded are not needed again before a derivative reads their new values (`tbr_sections`). A value is
//! not recorded if the assignment can be undone (`I = I + K`), or if it is cheap to recompute where it is needed.
//! Scalars that are overwritten once in a call of a head, outside of its loops, are kept in variables instead of a
//! tape, and so are the numbers of arms and iterations. Statements of the forward sweep whose results are never used
//! are removed (`dead_code`).
//!
//! A branch is evaluated again if its conditions have the same values then. Otherwise a number is recorded: that of the
//! arm, or the variable that decides the branch or that the arms set (`branches`).
//!
//! A call without derivatives is part of the forward sweep, and the values that it overwrites are recorded
//! before it (`call_changes`): in loops over slices of an array, only the slice that it overwrites, if that is known
//! (`slices`), and nothing if the flag is not set without which it leaves the array as it is (`guards`). For an
//! `A(*)` argument only the callee knows the size: if such a value is needed, the callee gets sweeps like a subprogram
//! with derivatives, and its reverse sweep restores what it has overwritten. A procedure without text gets no sweeps:
//! callers pass the size to where it is called (`argument_sizes`).
//!
//! Sources: Griewank and Walther, *Evaluating Derivatives*, chapters 3, 6 and 7; L. Hascoët,
//! U. Naumann and V. Pascual, *"To be recorded" analysis in reverse-mode automatic
//! differentiation*, FGCS 21(8), 2005.

mod aliased_arguments;
mod branches;
mod call_changes;
mod calls;
mod checkpoint;
mod computed_again;
mod cost;
mod counted_down;
mod custom_rules;
mod dead_code;
mod direct_addressing;
pub(crate) mod disk;
mod effects;
mod element_reads;
mod elements;
mod facts;
mod fixed_point;
mod gather;
mod generated;
mod groups;
mod growing;
mod guards;
mod heads;
mod independent;
mod joint;
mod known_zeros;
mod last_call;
mod loops;
pub mod memory;
mod normal;
mod overwritten;
mod parallel;
mod placed_zeros;
mod prepare;
mod proven_independent;
mod recompute;
mod recorded;
mod repeated_calls;
mod save;
mod saved_variables;
mod slices;
mod state;
mod sweep;
mod sweep_data;
mod tape;
mod tape_calls;
mod tape_size;
mod tbr;
mod tbr_sections;
mod transpose;
mod unit_builder;
mod units;

use crate::custom_rules::bundled;
use crate::custom_rules::rules::Rules;
use crate::layout::MOST_TAPE;
use crate::legal::entry_bounds::bound_variables;
use crate::locations::{Commons, Set, Space};
use crate::tangent::{self, DummyProcedure, Tangent};
use effects::{Effects, KnownDummy, StatementEffects};
use farfel_lang::Span;
use farfel_lang::access::{self, Access};
use farfel_lang::callgraph::ReachableUnits;
use farfel_lang::dataflow::Intents;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::effects::communicates;
use farfel_lang::ir::{
    Arg, Attribute, Block, Name, Program, Request, Stmt, StmtKind, StorageClass, SymId, Type, Unit,
    UnitKind, unused_name, walk_block,
};
use farfel_lang::targets::CallTargets;
use farfel_lang::verify::Primals;
pub use fixed_point::NOT_REDUCED;
use generated::SweepResults;
use guards::Guards;
pub use heads::{Adjoint, Adjoints, differentiate_heads, tangents_of_heads};
use heads::{AdjointGoal, CommonMembers};
use normal::Normalizer;
use overwritten::Overwritten;
pub use prepare::remove_unused_below;
pub(crate) use recorded::{Recorded, recorded};
pub use repeated_calls::ExecutedOnce;
use slices::Slices;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use unit_builder::UnitBuilder;

/// Returns the adjoint of a request's head and of the active subprograms below it. `most_tape` is the limit
/// for the size of one tape in bytes, if the user has set one.
///
/// # Errors
///
/// Returns an error for each construct that cannot be differentiated, with its place in the source.
pub(crate) fn differentiate(
    program: &Program,
    request: &Request,
    most_tape: Option<u64>,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Vec<Unit>, Vec<Diagnostic>> {
    warnings.extend(tangent::warnings_of_output(program, request));
    let (closure, engine, known) = AdjointEngine::prepare(program, request, most_tape, warnings)?;
    let made = engine.units(&closure.program, known, warnings)?;
    let mut made: Vec<Unit> = made.into_iter().map(|m| m.unit).collect();
    closure.finish(&mut made, &request.suffix);
    let bundled = bundled::needed(program, &made);
    made.extend(bundled);
    made.iter_mut().for_each(Unit::number);
    let legal = Some(&closure.program);
    crate::verify::generated_units_of("reverse", program, legal, &made, &Primals::default())?;
    Ok(made)
}

/// Returns the program whose tangents are transposed to give the adjoint of a request.
///
/// # Errors
///
/// Returns an error for each construct that cannot be brought into the form that adjoints need, with its
/// place in the source.
pub(crate) fn prepared(program: &Program, request: &Request) -> Result<Program, Vec<Diagnostic>> {
    Ok(prepare::prepare(program, request)?.program)
}

/// A tangent unit to be transposed.
struct Part {
    /// The name of the tangent.
    name: Name,
    /// The name of the reverse sweep; for the head, that of the unit with both sweeps.
    backward_name: Name,
    /// The name of the forward sweep.
    forward_name: Name,
    /// The subprogram that it is the derivative of.
    of: Name,
    /// The type of the result, if that subprogram is a function.
    result: Option<Type>,
    /// The argument that holds the function's value.
    value: Option<SymId>,
    /// The unit without its body.
    builder: UnitBuilder,
    body: Block,
    /// Pairs of a derivative and its variable.
    primals: Vec<(SymId, SymId)>,
    space: Space,
    /// Which arguments are derivatives.
    derivative_args: Vec<bool>,
    /// Which of these are not derivatives, but occur in reverse sweeps only.
    added_args: Vec<bool>,
    /// The derivatives of dummy procedures that are called.
    dummies: HashMap<SymId, DummyProcedure>,
    /// The statements that the adjoint of a head begins with.
    zero: Block,
    /// Derivatives in COMMON that are already set when the adjoint is called.
    given_in_common: CommonMembers,
    /// Which arguments are scalars.
    scalar_args: Vec<bool>,
    /// Both sweeps are in one unit, which has its own tapes.
    root: bool,
    /// Both sweeps are in one unit because it is the last call of another such unit.
    is_last_call: bool,
    /// Its statements compute less than those of the subprogram, which therefore cannot be called as the forward
    /// sweep.
    computes_less: bool,
    /// Its head is called from outside. This holds for both parts of a head that is also called from inside.
    is_called_from_outside: bool,
}

/// Everything that the units of one request share.
struct AdjointEngine {
    parts: Vec<Part>,
    index: HashMap<Name, usize>,
    /// Which arguments of tangents are scalars.
    scalars: HashMap<Name, Vec<bool>>,
    effects: Effects,
    /// The slices of arrays that procedures of the program assign.
    slices: Slices,
    /// The flags that guard what procedures assign.
    guards: Guards,
    /// What procedures overwrite before they read it.
    overwritten: Overwritten,
    /// What procedures and tangents do with their arguments, if loops with directives depend on it.
    intents: Intents,
    /// The request or heads that the adjoints are made for, with the derivatives that are given.
    goal: AdjointGoal,
    commons: Commons,
    /// COMMON variables that are derivatives.
    derivative_commons: Set,
    /// The units that assign local variables which are saved between calls, and those that call them.
    keep_state: HashSet<Name>,
    /// For each head that is called from outside, by the name of the original subprogram: the COMMON
    /// variables whose values one call leaves for the next ([`state`]).
    state: HashMap<Name, Set>,
    /// The maximum size of one tape in bytes.
    most_tape: u64,
    /// The maximum size of a growing tape in bytes.
    most_growing: u64,
    /// The parts whose calls are joint ([`joint`]).
    joint: BTreeSet<usize>,
    /// Whether local arrays may be computed again ([`computed_again`]). Not if what they are computed from would have to
    /// be saved where that is not possible.
    computes_again: bool,
    /// The parts in which all calls are split: those that are executed again as parts of joint calls, except in time
    /// steps ([`repeated_calls`]), and those that fixed-point loops call ([`fixed_point`]).
    only_split: BTreeSet<usize>,
    /// Whether there are procedures without source: no description says what they do with COMMON.
    lacks_source: bool,
    /// The COMMON variables, by number, that procedures without source are taken to read.
    read_elsewhere: Set,
    /// Why each of these calls is joint, in words.
    reasons: BTreeMap<usize, String>,
}

/// Whether a unit calls procedures that are neither among `units` nor have a derivative that is given, other than
/// those of MPI, those of our own run-time library, and those that end the program.
fn calls_without_source(unit: &Unit, units: &HashSet<&Name>, rules: &Rules) -> bool {
    let known = |n: &Name| {
        units.contains(n)
            || communicates(n)
            || n.starts_with("FARFEL_")
            || matches!(n.as_str(), "EXIT" | "ABORT")
            || rules.get(n).is_some_and(|r| !r.constant)
    };
    let mut symbols = unit.symbols.iter().map(|(_, s)| s);
    symbols.any(|s| {
        s.storage_class == StorageClass::Global && s.class.is_procedure() && !known(&s.name)
    })
}

/// The COMMON variables, by number, that the program assigns and that procedures without source are taken to read:
/// those that have no derivative, like the matrix of a linear solver, and those that nothing else reads.
fn read_elsewhere(program: &Program, tangents: &[Tangent], commons: &Commons) -> Set {
    let mut assigned = Set::with_capacity(commons.vars.len());
    let mut read = assigned.clone();
    for unit in &program.units {
        let space = Space::of(unit, commons);
        let number = |s: SymId| space.common_at(space.loc(s));
        walk_block(&unit.body, &mut |s| {
            access::statement(unit, s, false, &mut |a| match a {
                Access::Variable { sym, kind, .. } => {
                    let found = if kind.reads() {
                        &mut read
                    } else {
                        &mut assigned
                    };
                    found.extend(number(sym));
                }
                Access::Call(call) => {
                    let passed = (0..call.args.len()).filter_map(|i| call.passed_variable(i));
                    let passed: Vec<usize> = passed.filter_map(|p| number(p.sym)).collect();
                    read.extend(passed.iter().copied());
                    assigned.extend(passed);
                }
                Access::Closure { captured, .. } => {
                    let captured: Vec<usize> = captured.iter().filter_map(|s| number(*s)).collect();
                    read.extend(captured.iter().copied());
                    assigned.extend(captured);
                }
                Access::SideEffect(_) => {}
            });
        });
    }
    let mut varied = Set::with_capacity(commons.vars.len());
    for t in tangents {
        let space = Space::of(&t.unit, commons);
        let of = t.primals.iter().map(|(_, variable)| space.loc(*variable));
        varied.extend(of.filter_map(|loc| space.common_at(loc)));
    }
    varied.intersect_with(&read);
    assigned.difference_with(&varied);
    assigned
}

/// The dummy procedures whose possible targets are all known from the program. There are none if a head takes
/// a procedure argument: that comes from outside and may be passed on.
fn known_dummies(closure: &Program, tangents: &[Tangent], goal: &AdjointGoal) -> Vec<KnownDummy> {
    let procedure = |u: &Unit, a: &Arg| {
        let symbol = &u.symbols[a.sym()?];
        symbol.class.is_procedure().then(|| symbol.name.clone())
    };
    let takes = |u: &Unit| u.args.iter().any(|a| procedure(u, a).is_some());
    let head = |t: &&Tangent| goal.roots.contains(&t.unit.name);
    let heads = tangents.iter().filter(head);
    if heads.filter_map(|t| closure.unit(&t.of)).any(takes) {
        return Vec::new();
    }
    let targets = CallTargets::of(closure);
    let mut found = Vec::new();
    for u in &closure.units {
        for (position, a) in u.args.iter().enumerate() {
            let Some(name) = procedure(u, a) else {
                continue;
            };
            let can_be = targets.of_dummy(&u.name, position).iter();
            let can_be: Vec<Name> = can_be.map(|t| t.name.clone()).collect();
            let function = a
                .sym()
                .is_some_and(|s| u.symbols[s].class == farfel_lang::ir::Class::Function);
            let of = |unit: &Name, name: &Name, active| KnownDummy {
                unit: unit.clone(),
                name: name.clone(),
                targets: can_be.clone(),
                active,
                function,
            };
            found.push(of(&u.name, &name, None));
            for t in tangents.iter().filter(|t| t.of == u.name) {
                found.push(of(&t.unit.name, &name, None));
                for (d, dummy) in &t.dummies {
                    if t.unit.symbols[dummy.procedure].name == name {
                        let active = Some((dummy.args, dummy.active.clone()));
                        found.push(of(&t.unit.name, &t.unit.symbols[*d].name, active));
                    }
                }
            }
        }
    }
    found
}

/// Whether a unit has a loop with a directive.
fn has_marked_loop(unit: &Unit) -> bool {
    let mut has = false;
    walk_block(&unit.body, &mut |s| {
        has |= matches!(&s.kind, StmtKind::Do(d) if d.directive.is_some());
    });
    has
}

fn scalar_args(unit: &Unit) -> Vec<bool> {
    unit.args
        .iter()
        .map(|a| a.sym().is_some_and(|s| !unit.symbols[s].is_array()))
        .collect()
}

impl AdjointEngine {
    /// Collects everything that must be known before units are generated.
    fn prepare(
        program: &Program,
        request: &Request,
        most_tape: Option<u64>,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<(prepare::Closure, Self, SweepResults), Vec<Diagnostic>> {
        let mut closure = prepare::prepare(program, request)?;
        let mut self_restoring = HashSet::new();
        loop {
            let mut found = Vec::new();
            let tangents = tangent::linear(
                &closure.program,
                request,
                &self_restoring,
                &closure.sizes,
                &mut found,
            )?;
            let goal = AdjointGoal::of(request, &closure.program);
            let mut engine = AdjointEngine::of(&closure.program, tangents, goal)?;
            dead_code::remove_unneeded_values(&mut engine, &closure.program, true);
            let mut known = engine.choose_joint_and_declare(&closure.program, most_tape);
            if known.lacks_something() {
                engine.computes_again = false;
                known = engine.choose_joint_and_declare(&closure.program, most_tape);
            }
            if AdjointEngine::find_self_restoring(&closure.program, &known, &mut self_restoring) {
                continue;
            }
            if !closure.pass_sizes(&engine.open_arguments(&known), &request.head) {
                warnings.extend(closure.warnings.iter().cloned());
                warnings.append(&mut found);
                return Ok((closure, engine, known));
            }
        }
    }

    /// Decides which calls are joint, after declaring in the units all COMMON blocks whose variables the sweeps must name.
    fn choose_joint_and_declare(
        &mut self,
        closure: &Program,
        most_tape: Option<u64>,
    ) -> SweepResults {
        loop {
            let known = self.choose_joint(closure, most_tape);
            if self.declare(closure, &known.swept).is_empty() {
                return known;
            }
        }
    }

    fn of(
        closure: &Program,
        tangents: Vec<Tangent>,
        goal: AdjointGoal,
    ) -> Result<Self, Vec<Diagnostic>> {
        let mut all = closure.clone();
        all.units.extend(tangents.iter().map(|t| t.unit.clone()));
        let names: Vec<Name> = all.units.iter().map(|u| u.name.clone()).collect();
        let graph = ReachableUnits::of(&all, names.iter().map(Name::as_str));
        let commons = Commons::of(&graph.units);
        let dummies = known_dummies(closure, &tangents, &goal);
        let mut effects = Effects::with_dummies(&graph, &commons, dummies, &goal.rules);
        effects.add_given(&goal.rules, commons.vars.len());
        let slices = Slices::of(&graph, &commons, &effects);
        let guards = Guards::of(&graph, &commons, &effects);
        let read_elsewhere = read_elsewhere(closure, &tangents, &commons);
        let overwritten = Overwritten::of(&graph, &commons, &effects, &read_elsewhere);
        let mut derivative_commons = Set::with_capacity(commons.vars.len());
        for t in &tangents {
            for (block, members) in crate::locations::common_members(&t.unit) {
                for (position, s) in members.iter().enumerate() {
                    if t.derivatives.contains(s)
                        && let Some(k) = commons.find(&block, position)
                    {
                        derivative_commons.insert(k);
                    }
                }
            }
        }
        let known: HashSet<&Name> = names.iter().collect();
        let lacks_source = (all.units.iter()).any(|u| calls_without_source(u, &known, &goal.rules));
        let mut engine = AdjointEngine {
            parts: Vec::new(),
            index: tangents
                .iter()
                .map(|t| (t.unit.name.clone(), usize::MAX))
                .collect(),
            scalars: tangents
                .iter()
                .map(|t| (t.unit.name.clone(), scalar_args(&t.unit)))
                .collect(),
            effects,
            slices,
            guards,
            overwritten,
            intents: match all.units.iter().any(has_marked_loop) {
                true => Intents::of(&all),
                false => Intents::default(),
            },
            goal,
            commons,
            derivative_commons,
            keep_state: HashSet::new(),
            state: HashMap::new(),
            most_tape: MOST_TAPE,
            most_growing: MOST_TAPE,
            joint: BTreeSet::new(),
            computes_again: true,
            only_split: BTreeSet::new(),
            lacks_source,
            read_elsewhere,
            reasons: BTreeMap::new(),
        };
        engine.keep_state = state::keep_state(&engine, &graph.units);
        let mut errors = Vec::new();
        let mut parts = Vec::new();
        let mut taken: HashSet<Name> = names.into_iter().collect();
        let called = heads::called(&tangents);
        let iterations = crate::parallel::iterations(closure);
        let both = |t: &Tangent| {
            let name = &t.unit.name;
            let root = engine.goal.roots.contains(name);
            (root, !root || called.contains(name))
        };
        let mut places: Vec<(&Tangent, bool)> = Vec::new();
        for t in &tangents {
            let (root, below) = both(t);
            places.extend(root.then_some((t, true)));
            places.extend(below.then_some((t, iterations.contains(&t.of))));
        }
        let mut index = HashMap::new();
        for (t, root) in places {
            let mut part = engine.part(closure, t.clone(), root, &mut errors);
            // The adjoint of a function X_F has the name that X's forward sweep would get.
            if !root {
                part.forward_name = unused_name(&part.forward_name, &|n| taken.contains(n));
                taken.insert(part.forward_name.clone());
            }
            if root {
                part.forward_name = Name::default();
            }
            if iterations.contains(&t.of) {
                part.is_last_call = true;
            } else if root {
                part.given_in_common = heads::given_in_common(&tangents, t, &engine.commons);
            }
            part.is_called_from_outside = both(t).0;
            index.insert(part.name.clone(), parts.len());
            parts.push(part);
        }
        engine.index = index;
        engine.parts = parts;
        last_call::join_last_calls(&mut engine, closure);
        engine.only_split = engine.below_fixed_points();
        match errors.is_empty() {
            true => Ok(engine),
            false => Err(engine.errors(errors)),
        }
    }

    fn part(
        &self,
        closure: &Program,
        t: Tangent,
        root: bool,
        errors: &mut Vec<Diagnostic>,
    ) -> Part {
        let mut unit = t.unit;
        let name = unit.name.clone();
        let source = closure.unit(&t.of);
        let result = source
            .filter(|u| u.kind == UnitKind::Function)
            .and_then(|u| u.result.and_then(|s| u.symbols[s].ty));
        let body = std::mem::take(&mut unit.body);
        let derivative_args = unit
            .args
            .iter()
            .map(|a| {
                a.sym()
                    .is_some_and(|s| t.derivatives.contains(&s) || t.added.contains(&s))
            })
            .collect();
        let added = |a: &Arg| a.sym().is_some_and(|s| t.added.contains(&s));
        let added_args = unit.args.iter().map(added).collect();
        let scalar_args = scalar_args(&unit);
        let mut builder = UnitBuilder::new(unit, self.goal.suffix.clone(), t.derivatives)
            .asking_sizes(self.goal.asks_sizes);
        let space = Space::of(&builder.unit, &self.commons);
        let body = Normalizer {
            engine: self,
            builder: &mut builder,
            space: &space,
            errors,
        }
        .block(body);
        let of_source = |name: &str| source.is_some_and(|u| u.symbols.find(name).is_some());
        let mut body = gather::gather(&mut builder, body, &of_source, t.direction);
        builder.unit.stmt_ids.number(&mut body);
        // The normal form has additional symbols.
        let space = Space::of(&builder.unit, &self.commons);
        for d in &builder.derivatives {
            if space.saved.contains(space.loc(*d)) {
                let s = &builder.unit.symbols[*d];
                errors.push(
                    Diagnostic::error(
                        &rules::AD_STORAGE,
                        builder.unit.span,
                        format!("{} would keep its cotangent from call to call", s.name),
                    )
                    .help("put the variable into a COMMON block"),
                );
            }
        }
        errors.extend(allocated_by_assignments(&builder, &body));
        let assigned = self.assigned_in(&builder.unit, &space, &body);
        for s in bound_variables(&builder.unit) {
            if !root && assigned.contains(space.loc(s)) {
                let s = &builder.unit.symbols[s];
                errors.push(
                    Diagnostic::error(
                        &rules::AD_SIZE,
                        s.span,
                        format!(
                            "bounds of arrays depend on {}, which {} changes: its reverse sweep would have other ones",
                            s.name, t.of
                        ),
                    )
                    .help("change a copy of the variable"),
                );
            }
        }
        Part {
            forward_name: self.goal.forward_name(&t.of, &name),
            backward_name: name.clone(),
            value: source
                .filter(|u| u.kind == UnitKind::Function)
                .and_then(|u| u.result),
            root,
            is_last_call: false,
            computes_less: false,
            is_called_from_outside: root,
            added_args,
            dummies: t.dummies,
            primals: t.primals,
            zero: t.zero,
            given_in_common: CommonMembers::new(),
            name,
            of: t.of,
            result,
            builder,
            body,
            space,
            derivative_args,
            scalar_args,
        }
    }

    fn errors(&self, mut errors: Vec<Diagnostic>) -> Vec<Diagnostic> {
        // Errors without a place are consequences of errors with one.
        if errors.iter().any(|d| d.span != Span::NONE) {
            errors.retain(|d| d.span != Span::NONE);
        }
        errors.sort_by_key(|d| (d.span.file, d.span.start));
        errors.dedup();
        errors
            .into_iter()
            .map(|d| match self.goal.span {
                Span::NONE => d,
                span => d.related(span, "for this AD block"),
            })
            .collect()
    }

    /// The index of the part with a given tangent name.
    fn part_of(&self, name: &str) -> Option<usize> {
        self.index.get(name).copied()
    }

    fn touched_in(&self, unit: &Unit, space: &Space, block: &[Stmt]) -> StatementEffects {
        // Symbols that were added later have no locations yet.
        let mut touched = StatementEffects::nothing(space.len + unit.symbols.len());
        for s in block {
            s.walk(&mut |s| self.effects.own(unit, space, s, &mut touched));
        }
        touched
    }

    /// The locations that the statements of a block assign.
    fn assigned_in(&self, unit: &Unit, space: &Space, block: &[Stmt]) -> Set {
        self.touched_in(unit, space, block).assigned
    }
}

/// Reports allocatable arrays that are used without ALLOCATE: assignments give them bounds that a backward
/// sweep would not know.
fn allocated_by_assignments(builder: &UnitBuilder, body: &[Stmt]) -> Vec<Diagnostic> {
    let unit = &builder.unit;
    let mut places: BTreeMap<SymId, Option<Span>> = BTreeMap::new();
    walk_block(body, &mut |stmt| {
        let allocates = matches!(stmt.kind, StmtKind::Allocation(_));
        let mut named = |s: SymId| {
            let symbol = &unit.symbols[s];
            let allocatable =
                symbol.has(Attribute::Allocatable) && symbol.storage_class == StorageClass::Local;
            if allocatable && !symbol.tape && !builder.derivatives.contains(&s) {
                let first = places.entry(s).or_insert(Some(stmt.span));
                // These get another message.
                if allocates {
                    *first = None;
                }
            }
        };
        stmt.for_each_own_expr(&mut |e| e.for_each_symbol(&mut named));
    });
    let named = places.into_iter().filter_map(|(s, at)| Some((s, at?)));
    let error = |(s, at): (SymId, Span)| {
        let name = &unit.symbols[s].name;
        Diagnostic::error(
            &rules::AD_ALLOCATION,
            at,
            format!("reverse mode cannot follow {name}, which is allocated by assignments"),
        )
        .help("ALLOCATE it before, at the same level of IF and DO as DEALLOCATE")
    };
    named.map(error).collect()
}
