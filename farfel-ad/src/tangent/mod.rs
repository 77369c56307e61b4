//! Forward mode: tangents.
//!
//! # What is generated
//!
//! The derivative of the head has the head's arguments; each argument that the request pairs is followed by
//! its derivative. Below the head, each subprogram through which derivatives flow is copied once for each
//! *context*: which of its inputs have a derivative, and which of its outputs' derivatives are used. In such
//! a copy each active argument is followed by its derivative. A FUNCTION becomes a SUBROUTINE whose last
//! arguments are the result and, if it is active, the result's derivative. Calls without derivatives go to
//! the original.
//!
//! The derivative in the first context of FOO is named FOO plus the suffix; further ones get a number. Once a
//! unit has [`MOST_CONTEXTS`] of them, later calls that would need another one share a copy in which
//! everything is active that can be.
//!
//! A COMMON block with active variables gets a companion block of derivatives, named after the block and the suffix.

mod allocate;
mod arrays;
mod blocks;
mod commons;
mod custom_rules;
mod entry_zeros;
mod expr;
mod factor;
mod functions;
mod generator;
mod interface;
mod io;
mod needs;
mod pattern;
mod possible;
mod powers;
mod registry;
mod rules;
mod special;
mod stmt;
mod symbols;
mod taylor;
mod values;
mod vector;

pub use crate::custom_rules::rules::UserDerivative;
use crate::custom_rules::{bundled, mpi, rules::Rules};
use crate::depend::Dependence;
use crate::flow::FlowGraph;
use crate::layout::{Contexts, Layout};
use crate::legal::argument_sizes::{ArrayArgument, pass_sizes};
use crate::legal::called::CalledSubprograms;
use crate::locations::{Commons, Context, Set, Space};
use crate::parallel::{self, DerivativeUnit};
use crate::passes::{self, Form, Forms, Goal};
use farfel_lang::Span;
use farfel_lang::callgraph::{CallGraph, ReachableUnits, UnitIndex, references};
use farfel_lang::diagnostic::Diagnostic;
use farfel_lang::ir::{Block, Name, OneDirection, Program, Request, SymId, Symbols, Unit};
use farfel_lang::verify::Primals;
use registry::DerivativeRegistry;
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};

/// The number of contexts after which a unit's later calls share one copy.
pub const MOST_CONTEXTS: usize = 8;

/// The forms that tangents of AD blocks are made from. If derivatives have one more dimension than values,
/// tapes must not grow. Patterns do not depend on which element is the largest.
const FORMS: Forms = Forms::of(&[
    Form::ElementsByName,
    Form::MessagesCalled,
    Form::ReductionsCalled,
    Form::CalledBodies,
]);
const FORMS_OF_SEVERAL: Forms = Forms::of(&[
    Form::FixedTapes,
    Form::ElementsByName,
    Form::MessagesCalled,
    Form::ReductionsCalled,
    Form::CalledBodies,
]);
const FORMS_OF_PATTERNS: Forms =
    Forms::of(&[Form::FixedTapes, Form::MessagesCalled, Form::CalledBodies]);

/// The forms without which some tangents cannot be made ([`needs`]).
const AT_NEED: Forms = Forms::of(&[
    Form::PlainCounters,
    Form::PlainConditions,
    Form::EqualBlocks,
    Form::Elements,
]);

/// Returns the tangent of a request's head and of the active subprograms below it.
pub(crate) fn differentiate(
    program: &Program,
    request: &Request,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Vec<Unit>, Vec<Diagnostic>> {
    let (legal, mut changed, mut found) = legal(program, request)?;
    warnings.append(&mut found);
    let (legal, mut made) = with_sizes(legal, request, &mut changed, warnings, &mut |_, _| ())?;
    settle_parallel(&mut made, &legal, warnings);
    let mut units: Vec<Unit> = made.into_iter().map(|t| t.unit).collect();
    if let Some(unit) = units.iter_mut().find(|u| u.name == request.derivative) {
        unit.one_direction = taylor::first_order(program, request).map(Box::new);
    }
    let called = CalledSubprograms {
        legal: &legal,
        added: &|n| !n.starts_with(bundled::PREFIX) && program.unit(n).is_none(),
        changed: &|n| changed.contains(n),
    };
    called.add_to(&mut units, &request.suffix);
    parallel::settle_originals(&mut units);
    let bundled = bundled::needed(program, &units);
    units.extend(bundled);
    // The forms are not those of the program, whose units are called as well: verify again against it.
    if !changed.is_empty() {
        crate::verify::generated_units("tangent", program, &units, &Primals::default())?;
    }
    Ok(units)
}

/// Decides what the parallel loops of tangents need.
fn settle_parallel(made: &mut [Tangent], legal: &Program, warnings: &mut Vec<Diagnostic>) {
    let mut units: Vec<DerivativeUnit> = (made.iter_mut())
        .map(|t| DerivativeUnit {
            of: &t.of,
            unit: &mut t.unit,
            derivatives: &t.derivatives,
            primals: &t.primals,
        })
        .collect();
    parallel::settle(&mut units, legal, warnings);
}

/// Returns the program in the forms that the tangents of a request need, the units that get tapes of their
/// callers which no longer grow, and warnings.
#[allow(clippy::type_complexity)]
fn legal<'p>(
    program: &'p Program,
    request: &Request,
) -> Result<(Cow<'p, Program>, HashSet<Name>, Vec<Diagnostic>), Vec<Diagnostic>> {
    let goal = Goal {
        heads: &[request.head.as_str()],
        request: Some(request),
        named: &[],
        tag: "",
    };
    let layout = Layout::of_request(request);
    let forms = match (layout.pattern, layout.vector) {
        (true, _) => FORMS_OF_PATTERNS,
        (false, true) => FORMS_OF_SEVERAL,
        (false, false) => FORMS,
    };
    let at_need = AT_NEED.union(Forms::of(&[Form::NoEntries]));
    let legal = passes::legalise(Cow::Borrowed(program), forms, &goal)?;
    let (resized, warnings) = (legal.notes.resized, legal.notes.warnings);
    let legal = with_needed(legal.program, at_need, &goal, &|program, lacks| {
        let graph = ReachableUnits::of(program, goal.heads.iter().copied());
        let dependence = Dependence::with(&graph, Rules::of(program));
        let engine = Engine::new(program, &layout, dependence, request.span);
        let head = program.unit(&request.head);
        let roots = head.map(|h| (h.name.clone(), engine.root(h, request).context));
        needs::needed(&engine, roots.as_slice(), lacks)
    })?;
    Ok((legal, resized, warnings))
}

/// Returns the program in those of the forms `at_need` that it needs. `needed` says which of the forms that a
/// program lacks it needs.
fn with_needed<'p>(
    program: Cow<'p, Program>,
    at_need: Forms,
    goal: &Goal,
    needed: &dyn Fn(&Program, Forms) -> Forms,
) -> Result<Cow<'p, Program>, Vec<Diagnostic>> {
    let (mut legal, mut left) = (program, at_need);
    // Other needs may become visible: without ENTRY points, for instance, more is known.
    loop {
        let mut wanted = passes::lacking(&legal, left, goal);
        if !wanted.is_empty() {
            wanted = needed(&legal, wanted);
        }
        if wanted.is_empty() {
            return Ok(legal);
        }
        legal = passes::legalise(legal, wanted, goal)?.program;
        left = left.difference(wanted);
    }
}

/// Lets `inspect` inspect the engine after all tangents of a request have been made.
pub(crate) fn inspect_tangents(
    program: &Program,
    request: &Request,
    inspect: Inspect,
) -> Result<(), Vec<Diagnostic>> {
    let (legal, ..) = legal(program, request)?;
    with_sizes(
        legal,
        request,
        &mut HashSet::new(),
        &mut Vec::new(),
        inspect,
    )
    .map(|_| ())
}

/// Like [`inspect_tangents`], for the tangents that an adjoint is made from, of a program in the required
/// forms.
pub(crate) fn inspect_linear_tangents(
    program: &Program,
    request: &Request,
    inspect: Inspect,
) -> Result<(), Vec<Diagnostic>> {
    let self_restoring = HashSet::new();
    let sizes = &mut Sizes::default();
    run(
        program,
        request,
        Some(&self_restoring),
        sizes,
        &mut Vec::new(),
        inspect,
    )
    .map(|_| ())
}

/// A function that inspects a run and its results.
type Inspect<'l> = &'l mut dyn FnMut(&Engine, &[Tangent]);

/// The sizes of array arguments in a program.
#[derive(Default)]
struct Sizes {
    /// The arguments to which they are passed.
    known: BTreeSet<ArrayArgument>,
    /// The arguments of which a run needed one that it did not know.
    wanted: BTreeSet<ArrayArgument>,
}

/// Makes the tangents of a request. Where they need the size of an array argument, `X(*)`, callers pass it, if it is
/// known there. Returns the program with these arguments, and adds the units that differ to `changed`.
fn with_sizes<'p>(
    mut legal: Cow<'p, Program>,
    request: &Request,
    changed: &mut HashSet<Name>,
    warnings: &mut Vec<Diagnostic>,
    inspect: Inspect,
) -> Result<(Cow<'p, Program>, Vec<Tangent>), Vec<Diagnostic>> {
    let mut sizes = Sizes::default();
    loop {
        let mut found = Vec::new();
        sizes.wanted.clear();
        let made = run(&legal, request, None, &mut sizes, &mut found, inspect);
        if made.is_err() && !sizes.wanted.is_empty() {
            let Sizes { known, wanted } = &mut sizes;
            let more = pass_sizes(legal.to_mut(), wanted, &request.head, known);
            if !more.is_empty() {
                changed.extend(more);
                continue;
            }
        }
        warnings.append(&mut found);
        return made.map(|tangents| (legal, tangents));
    }
}

fn run(
    program: &Program,
    request: &Request,
    linear: Option<&HashSet<Name>>,
    sizes: &mut Sizes,
    warnings: &mut Vec<Diagnostic>,
    inspect: Inspect,
) -> Result<Vec<Tangent>, Vec<Diagnostic>> {
    let layout = Layout::of_request(request);
    let graph = ReachableUnits::of(program, [request.head.as_str()]);
    let mut engine = Engine::new(
        program,
        &layout,
        Dependence::with(&graph, Rules::of(program)),
        request.span,
    );
    engine.head = request.head.clone();
    engine.linear = linear.is_some();
    engine.dependence.self_restoring = linear.cloned().unwrap_or_default();
    engine.sizes.clone_from(&sizes.known);
    engine.registry.borrow_mut().reserve(&request.derivative);
    let Some(head) = program.unit(&request.head) else {
        return Ok(Vec::new());
    };
    let mut made = GeneratedTangents {
        errors: engine.unsupported_constructs(&graph),
        ..GeneratedTangents::default()
    };
    let root = engine.root(head, request);
    made.add(engine.unit(head, &root, Some(&request.paired)));
    engine.generate_requested(&mut made);
    warnings.append(&mut engine.warnings.borrow_mut());
    sizes.wanted = engine.open_arguments.take();
    let mut tangents = made.tangents()?;
    entry_zeros::remove_unneeded_zeros(&mut tangents);
    tangents.iter_mut().for_each(|t| t.unit.number());
    verified(program, &tangents)?;
    inspect(&engine, &tangents);
    Ok(tangents)
}

/// Verifies that the generated units form a consistent program.
fn verified(program: &Program, made: &[Tangent]) -> Result<(), Vec<Diagnostic>> {
    if !farfel_lang::verify::is_on() {
        return Ok(());
    }
    let units: Vec<Unit> = made.iter().map(|t| t.unit.clone()).collect();
    let primals = made
        .iter()
        .map(|t| (t.unit.name.clone(), t.primals.clone()));
    crate::verify::generated_units("tangent", program, &units, &Primals::of_tangents(primals))
}

/// Returns the tangents of a request's head and of the active subprograms below it, in the form that reverse
/// mode transposes: each statement is either without derivatives or linear in them.
///
/// `self_restoring` has subroutines that get a tangent even if none of their arguments has a derivative, and
/// `known_sizes` the array arguments to which sizes are passed.
pub(crate) fn linear(
    program: &Program,
    request: &Request,
    self_restoring: &HashSet<Name>,
    known_sizes: &BTreeSet<ArrayArgument>,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Vec<Tangent>, Vec<Diagnostic>> {
    let mut sizes = Sizes {
        known: known_sizes.clone(),
        ..Sizes::default()
    };
    run(
        program,
        request,
        Some(self_restoring),
        &mut sizes,
        warnings,
        &mut |_, _| (),
    )
}

/// Returns the warnings about input and output in what a request reaches. Adjoints are made from a program
/// without these statements.
pub(crate) fn warnings_of_output(program: &Program, request: &Request) -> Vec<Diagnostic> {
    let below = ReachableUnits::of(program, [request.head.as_str()]);
    if !below.units.iter().any(|u| io::writes_to_files(u)) {
        return Vec::new();
    }
    let mut found = Vec::new();
    // The adjoint reports other errors for its own program.
    if let Ok((legal, ..)) = legal(program, request) {
        let _ = with_sizes(
            legal,
            request,
            &mut HashSet::new(),
            &mut found,
            &mut |_, _| (),
        );
    }
    let code = farfel_lang::diagnostic::rules::AD_OUTPUT.code;
    found.retain(|d| d.rule.code == code);
    found
}

/// A subprogram to differentiate, with its dependent and independent variables.
#[derive(Debug, Clone)]
pub struct Head {
    /// The name of the subprogram.
    pub unit: Name,
    /// The slots ([`crate::locations`]) of the independent and the dependent variables. COMMON variables are
    /// numbered as by the [`Dependence`] of the part of the call graph below all heads.
    pub context: Context,
}

/// The tangents of some heads.
#[derive(Debug)]
pub struct Tangents {
    /// The derivatives, heads first.
    pub units: Vec<Tangent>,
    /// Procedures without source text whose derivatives are called.
    pub user_derivatives: Vec<UserDerivative>,
    /// The dependence analysis that slots are numbered by.
    pub dependence: Dependence,
    /// Subprograms that the derivatives call and that the program does not have.
    pub added: Vec<Unit>,
}

/// A dummy procedure whose derivative is called.
#[derive(Debug, Clone)]
pub struct DummyProcedure {
    /// The dummy procedure.
    pub procedure: SymId,
    /// The number of its arguments.
    pub args: usize,
    /// Which of them have a derivative; the index after the last argument is the result.
    pub active: Set,
}

/// The derivative of one subprogram.
#[derive(Debug, Clone)]
pub struct Tangent {
    /// The subprogram that it is the derivative of.
    pub of: Name,
    /// The number of arguments of that subprogram.
    pub args: usize,
    /// The context.
    pub context: Context,
    /// The derivative.
    pub unit: Unit,
    /// The variables of the unit that are derivatives.
    pub derivatives: HashSet<SymId>,
    /// Pairs of a derivative and its variable, for derivatives of a single variable.
    pub primals: Vec<(SymId, SymId)>,
    /// The derivatives of arguments and COMMON variables, with their slots; if variables share storage, the
    /// derivatives of all of them.
    pub by_slot: Vec<(usize, SymId)>,
    /// The variables to which the unit's own statements assign nothing without assigning the derivative.
    pub assigned_in_pairs: HashSet<SymId>,
    /// The derivatives that only the statements with which the unit begins set to zero as a whole.
    pub zeroed_on_entry: HashSet<SymId>,
    /// Arguments that are not derivatives and that the source does not have.
    pub added: HashSet<SymId>,
    /// The variable of loops over directions, if there are any.
    pub direction: Option<SymId>,
    /// Those of the added arguments that are derivatives of dummy procedures and are called.
    pub dummies: HashMap<SymId, DummyProcedure>,
    /// The statements that set the derivatives of those independent variables of the head that are not
    /// dependent variables to zero. Adjoints begin with them, if [`Layout::adjoint`] says that the tangents
    /// are for adjoints.
    pub zero: Block,
}

impl Tangent {
    /// A unit that tangents call and that is none itself.
    fn of_unit(unit: Unit) -> Self {
        Tangent {
            of: unit.name.clone(),
            args: unit.args.len(),
            context: Context {
                inputs: Set::new(),
                outputs: Set::new(),
            },
            unit,
            derivatives: HashSet::new(),
            primals: Vec::new(),
            by_slot: Vec::new(),
            assigned_in_pairs: HashSet::new(),
            zeroed_on_entry: HashSet::new(),
            added: HashSet::new(),
            direction: None,
            dummies: HashMap::new(),
            zero: Vec::new(),
        }
    }
}

/// Returns the tangents of some heads and of the active subprograms below them, each subprogram in one
/// context that suits all its calls.
///
/// # Errors
///
/// Returns an error for each construct that cannot be differentiated, with its place in the source.
pub fn differentiate_heads(
    program: &Program,
    heads: &[Head],
    layout: &Layout,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Tangents, Vec<Diagnostic>> {
    let (mut made, legal) = heads_of_legal(program, heads, layout, &HashSet::new(), warnings)?;
    settle_parallel(&mut made.units, &legal, warnings);
    let mut units: Vec<Unit> = made.units.iter().map(|t| t.unit.clone()).collect();
    let known = units.len();
    let is_iteration = parallel::iterations(&legal);
    let called = CalledSubprograms {
        legal: &legal,
        added: &|n| is_iteration.contains(n) && program.unit(n).is_none(),
        changed: &|_| false,
    };
    called.add_to(&mut units, "");
    parallel::settle_originals(&mut units);
    made.added = units.split_off(known);
    Ok(made)
}

/// Like [`differentiate_heads`]; for adjoints, if [`Layout::adjoint`] says so. `self_restoring` is as for
/// [`linear`].
pub(crate) fn linear_heads(
    program: &Program,
    heads: &[Head],
    layout: &Layout,
    self_restoring: &HashSet<Name>,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Tangents, Vec<Diagnostic>> {
    heads_of_legal(program, heads, layout, self_restoring, warnings).map(|(made, _)| made)
}

/// Like [`linear_heads`]. Also returns the program in the forms that the tangents were made from.
fn heads_of_legal<'p>(
    program: &'p Program,
    heads: &[Head],
    layout: &Layout,
    self_restoring: &HashSet<Name>,
    warnings: &mut Vec<Diagnostic>,
) -> Result<(Tangents, Cow<'p, Program>), Vec<Diagnostic>> {
    let names: Vec<&str> = heads.iter().map(|h| h.unit.as_str()).collect();
    let goal = Goal {
        heads: &names,
        request: None,
        named: &[],
        tag: "D",
    };
    // Adjoints pass a program that is in their forms already.
    let (forms, at_need) = match layout.adjoint {
        true => (Forms::default(), Forms::default()),
        false => (
            Forms::of(&[Form::ElementsByName, Form::CalledBodies]),
            AT_NEED,
        ),
    };
    let legal = passes::legalise(Cow::Borrowed(program), forms, &goal)?;
    warnings.extend(legal.notes.warnings);
    let legal = with_needed(legal.program, at_need, &goal, &|program, lacks| {
        let graph = ReachableUnits::of(program, names.iter().copied());
        let engine = Engine::new(program, layout, Dependence::of(&graph), Span::NONE);
        let root = |h: &Head| (h.unit.clone(), h.context.clone());
        let roots: Vec<(Name, Context)> = heads.iter().map(root).collect();
        needs::needed(&engine, &roots, lacks)
    })?;
    let heads = renumbered(heads, program, &legal);
    let made = of_heads(&legal, &heads, layout, self_restoring, warnings)?;
    Ok((made, legal))
}

/// Converts the heads of a program to those of the same program in other forms. This may have other COMMON
/// variables, so those in the contexts are renumbered. Variables that no longer exist are dropped: nothing
/// depends on them. A block that units used to divide differently was one variable: it becomes all of its variables if
/// they no longer do.
pub(crate) fn renumbered(heads: &[Head], program: &Program, legal: &Program) -> Vec<Head> {
    let commons = |program: &Program| {
        let below = ReachableUnits::of(program, heads.iter().map(|h| h.unit.as_str()));
        Commons::of(&below.units)
    };
    let (from, to) = (commons(program), commons(legal));
    let slots = |h: &Head, program: &Program| {
        let unit = program.unit(&h.unit);
        unit.map_or(0, |u| u.args.len() + 1)
    };
    let made = heads.iter().map(|h| {
        let (first, first_now) = (slots(h, program), slots(h, legal));
        let set = |old: &Set| {
            let mut new = Set::with_capacity(first_now + to.vars.len());
            for slot in old.ones() {
                let Some(var) = slot.checked_sub(first).and_then(|k| from.vars.get(k)) else {
                    new.insert(slot);
                    continue;
                };
                let whole = |commons: &Commons| commons.irregular.contains(&var.block);
                if whole(&from) && !whole(&to) {
                    let of_block = to.vars.iter().enumerate();
                    let of_block =
                        of_block.filter(|(_, v)| v.block == var.block && v.differentiable);
                    new.extend(of_block.map(|(k, _)| first_now + k));
                } else if let Some(k) = to.find(&var.block, var.position) {
                    new.insert(first_now + k);
                }
            }
            new
        };
        Head {
            unit: h.unit.clone(),
            context: Context {
                inputs: set(&h.context.inputs),
                outputs: set(&h.context.outputs),
            },
        }
    });
    made.collect()
}

fn of_heads(
    program: &Program,
    heads: &[Head],
    layout: &Layout,
    self_restoring: &HashSet<Name>,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Tangents, Vec<Diagnostic>> {
    let graph = ReachableUnits::of(program, heads.iter().map(|h| h.unit.as_str()));
    let mut engine = Engine::new(program, layout, Dependence::of(&graph), Span::NONE);
    engine.linear = layout.adjoint;
    engine.dependence.self_restoring.clone_from(self_restoring);
    engine.outermost = heads.iter().map(|h| h.unit.clone()).collect();
    let called = graph.units.iter().flat_map(|u| references(u));
    called.for_each(|name| {
        engine.outermost.remove(&name);
    });
    if layout.adjoint {
        engine.adjoint_of = heads.iter().map(|h| h.unit.clone()).collect();
        engine.begun_anew.clone_from(&engine.outermost);
    }
    let hidden = engine.unsupported_constructs(&graph);
    if !hidden.is_empty() {
        return Err(hidden);
    }
    for h in heads {
        let args = program.unit(&h.unit).map_or(0, |u| u.args.len());
        let mut names = engine.registry.borrow_mut();
        names.request(&h.unit, args, &h.context);
    }
    // The contexts in which units are called result from generating the units. Repeat this until no context
    // grows any more; they cannot grow forever.
    loop {
        engine.registry.borrow_mut().settled();
        engine.warnings.borrow_mut().clear();
        let mut made = GeneratedTangents::default();
        engine.generate_requested(&mut made);
        let settled = engine.registry.borrow_mut().settled();
        if settled || !made.errors.is_empty() {
            warnings.append(&mut engine.warnings.borrow_mut());
            let mut units = made.tangents()?;
            entry_zeros::remove_unneeded_zeros(&mut units);
            verified(program, &units)?;
            let names = engine.registry.into_inner();
            return Ok(Tangents {
                units,
                user_derivatives: names.unknown(),
                dependence: engine.dependence,
                added: Vec::new(),
            });
        }
        engine.grow_contexts();
    }
}

/// The results of one run so far.
#[derive(Default)]
struct GeneratedTangents {
    units: Vec<Tangent>,
    errors: Vec<Diagnostic>,
}

impl GeneratedTangents {
    fn add(&mut self, unit: Result<Tangent, Vec<Diagnostic>>) {
        match unit {
            Ok(made) => self.units.push(made),
            Err(e) => self.errors.extend(e),
        }
    }

    fn tangents(mut self) -> Result<Vec<Tangent>, Vec<Diagnostic>> {
        if self.errors.is_empty() {
            return Ok(self.units);
        }
        self.errors.sort_by_key(|d| (d.span.file, d.span.start));
        self.errors.dedup();
        Err(self.errors)
    }
}

/// A derivative unit to generate.
#[derive(Debug, Clone)]
pub(crate) struct TangentRequest {
    /// The unit to differentiate.
    pub unit: Name,
    /// The number of its arguments.
    pub args: usize,
    /// The context.
    pub context: Context,
    /// The name of the derivative.
    pub name: Name,
}

/// One run of the engine: everything that the units of one request share.
pub(crate) struct Engine<'a> {
    pub program: &'a Program,
    index: UnitIndex,
    pub layout: &'a Layout,
    /// The AD block that requests derivatives, or [`Span::NONE`].
    pub block: Span,
    /// The name of its subroutine; empty if there is no block.
    pub head: Name,
    /// Heads whose tangents will become adjoints that are called from outside.
    pub adjoint_of: HashSet<Name>,
    /// Heads that are called from outside only.
    pub outermost: HashSet<Name>,
    /// Those among them that become adjoints: the derivatives of what they keep from call to call are zero on entry.
    pub begun_anew: HashSet<Name>,
    /// Separate statements without derivatives from linear ones, for reverse mode.
    pub linear: bool,
    /// The array arguments to which sizes are passed ([`crate::legal::argument_sizes`]): the bounds of their derivatives stay
    /// open.
    pub sizes: BTreeSet<ArrayArgument>,
    /// The array arguments whose sizes are needed and not known.
    pub open_arguments: RefCell<BTreeSet<ArrayArgument>>,
    pub dependence: Dependence,
    pub registry: RefCell<DerivativeRegistry>,
    pub warnings: RefCell<Vec<Diagnostic>>,
    /// The Taylor series that have been generated, by unit and order, with their names.
    pub taylor: RefCell<HashMap<(Name, usize), Name>>,
    /// Units that generated tangents call, besides other tangents.
    pub added: RefCell<Vec<Unit>>,
}

impl<'a> Engine<'a> {
    fn new(program: &'a Program, layout: &'a Layout, dependence: Dependence, block: Span) -> Self {
        Engine {
            program,
            index: UnitIndex::of(program),
            layout,
            block,
            head: Name::default(),
            adjoint_of: HashSet::new(),
            outermost: HashSet::new(),
            begun_anew: HashSet::new(),
            linear: false,
            sizes: BTreeSet::new(),
            open_arguments: RefCell::default(),
            registry: RefCell::new(DerivativeRegistry::new(program, layout, &dependence)),
            dependence,
            warnings: RefCell::new(Vec::new()),
            taylor: RefCell::default(),
            added: RefCell::default(),
        }
    }

    /// A name that is used neither in a symbol table nor for any unit or COMMON block.
    pub fn unused_name(&self, symbols: &Symbols, wanted: &str) -> Name {
        let names = self.registry.borrow();
        let numbering = self.layout.numbering;
        numbering.unused_in(symbols, wanted, &|n| names.is_taken(n))
    }

    /// Reports constructs in the units below the heads that derivatives could not follow.
    fn unsupported_constructs(&self, graph: &ReachableUnits) -> Vec<Diagnostic> {
        let units = graph.units.iter();
        let found = units.flat_map(|u| crate::refuse::refuse(u));
        found.map(|d| self.with_ad_block(d)).collect()
    }

    /// The unit with a given name.
    pub fn find(&self, name: &str) -> Option<&'a Unit> {
        self.index.unit(self.program, name)
    }

    /// Adds to an error for which AD block the derivative is needed.
    pub fn with_ad_block(&self, error: Diagnostic) -> Diagnostic {
        if self.block == Span::NONE {
            error
        } else {
            error.related(self.block, "for this AD block")
        }
    }

    /// The derivative of the head, in the context that the request says.
    fn root(&self, head: &Unit, request: &Request) -> TangentRequest {
        let slots = Space::of(head, &self.dependence.commons).slots;
        let set = |positions: &[usize]| {
            let mut s = Set::with_capacity(slots);
            s.extend(positions.iter().copied());
            // Any message may have been sent by another rank, and any may be received there.
            let channel = self.dependence.commons.vars.iter();
            let channel = channel.enumerate().filter(|(_, v)| v.block == mpi::CHANNEL);
            s.extend(channel.map(|(k, _)| head.args.len() + 1 + k));
            s
        };
        TangentRequest {
            unit: head.name.clone(),
            args: head.args.len(),
            context: Context {
                inputs: set(&request.independents),
                outputs: set(&request.dependents),
            },
            name: request.derivative.clone(),
        }
    }

    /// Generates the requested derivatives, and those that they request.
    fn generate_requested(&self, made: &mut GeneratedTangents) {
        for i in 0.. {
            let Some(wanted) = self.registry.borrow().wanted(i) else {
                break;
            };
            if let Some(source) = self.find(&wanted.unit) {
                made.add(self.unit(source, &wanted, None));
                let added = self.added.take().into_iter();
                made.units.extend(added.map(Tangent::of_unit));
                self.registry.borrow_mut().set_generated(i);
            }
        }
    }

    /// Lets contexts grow to a fixed point: generates derivatives again, callers first, that were generated
    /// before their context or that of something they call has grown. Growth of other kinds is left to the
    /// next run.
    fn grow_contexts(&self) {
        let graph = CallGraph::of(self.program);
        let callers = graph.callers();
        let mut places = vec![0; graph.len()];
        let order = graph.callees_first(0..graph.len());
        for (place, unit) in order.into_iter().rev().enumerate() {
            places[unit] = place;
        }
        // Adds derivatives whose contexts have grown and their callers, as far as this has made them
        // outdated, in the order of their units.
        let outdated = |larger: Vec<usize>, open: &mut BTreeSet<(usize, usize)>| {
            let names = self.registry.borrow();
            for i in larger {
                let unit = names.wanted(i).and_then(|w| graph.index(&w.unit));
                let calling = unit.into_iter().flat_map(|u| &callers[u]);
                let calling = calling.filter_map(|c| names.of_unit(graph.name(*c)));
                for c in calling.chain([i]).filter(|c| names.is_outdated(*c, i)) {
                    let unit = names.wanted(c).and_then(|w| graph.index(&w.unit));
                    open.extend(unit.map(|u| (places[u], c)));
                }
            }
        };
        let mut open = BTreeSet::new();
        let larger = self.registry.borrow_mut().take_larger();
        outdated(larger, &mut open);
        while let Some((_, i)) = open.pop_first() {
            let wanted = self.registry.borrow().wanted(i);
            let found = wanted.and_then(|w| Some((self.find(&w.unit)?, w)));
            if let Some((source, wanted)) = found {
                // It is generated once more later, and reports its errors then.
                let _ = self.unit(source, &wanted, None);
                self.registry.borrow_mut().set_generated(i);
            }
            let larger = self.registry.borrow_mut().take_larger();
            outdated(larger, &mut open);
        }
    }

    /// What the arguments of a derivative of higher order are, if it is in the direction of the others.
    fn in_one_direction(
        &self,
        source: &Unit,
        wanted: &TangentRequest,
        root: Option<&[usize]>,
    ) -> Option<OneDirection> {
        let usable = root.is_none()
            && !self.linear
            && !self.layout.vector
            && !self.layout.pattern
            && self.layout.contexts == Contexts::Each;
        usable.then(|| taylor::next_order(source, wanted)).flatten()
    }

    /// Returns the derivative of one unit in one context. `root` is given for the head of a request: those of
    /// its arguments that are followed by a derivative.
    fn unit(
        &self,
        source: &Unit,
        wanted: &TangentRequest,
        root: Option<&[usize]>,
    ) -> Result<Tangent, Vec<Diagnostic>> {
        let in_one_direction = self.in_one_direction(source, wanted, root);
        if let Some(made) = &in_one_direction
            && let Some(mut tangent) = taylor::by_series(self, wanted, made)
        {
            tangent.unit.one_direction = in_one_direction.map(Box::new);
            return Ok(tangent);
        }
        let space = Space::of(source, &self.dependence.commons);
        let flow = FlowGraph::of(source);
        self.registry.borrow_mut().freeze();
        let mut tangent = stmt::generate(self, source, &space, &flow, wanted, root)?;
        tangent.unit.one_direction = in_one_direction.map(Box::new);
        Ok(tangent)
    }
}
