//! Reverse mode: adjoints.
//!
//! An adjoint is the transpose of a tangent. [`crate::tangent`] makes of each subprogram one
//! with primal statements and statements that are linear in derivatives. Here its primal
//! statements become the *forward sweep*, which keeps on a tape what it overwrites and what
//! the linear statements will read; the linear statements, transposed and last first, become
//! the *backward sweep*. So all rules of differentiation are those of forward mode.
//!
//! # What is generated
//!
//! | source | derivative |
//! |---|---|
//! | the head | one subroutine with both sweeps and the arguments of its tangent |
//! | a subprogram below it, with suffix `_G1` | `NAME_F_G1`, the forward sweep, if that keeps anything; else it is called as it is |
//! | | `NAME_G1`, the backward sweep, with the arguments of its tangent |
//!
//! Both get the tapes as more arguments at the end.
//!
//! # What is kept
//!
//! A value is kept only where it is *needed* (`needed`) and overwritten. It is not kept if
//! the assignment can be undone (`I = I + K`), or if it is cheap to compute again where it is
//! needed. What the forward sweep computes for nobody is taken out (`dead`).
//!
//! Sources: Griewank and Walther, *Evaluating Derivatives*, chapters 3, 6 and 7; L. Hascoët,
//! U. Naumann and V. Pascual, *"To be recorded" analysis in reverse-mode automatic
//! differentiation*, FGCS 21(8), 2005.

mod affine;
mod branches;
mod build;
mod calls;
mod checkpoint;
mod dead;
mod effects;
mod fixed_point;
mod given;
mod heads;
mod independent;
mod loops;
mod maker;
pub mod memory;
mod merge;
mod needed;
mod normal;
mod prepare;
mod recorded;
mod replay;
pub(crate) mod retry;
mod room;
mod sweep;
mod tape;
mod transpose;

use crate::given::shipped;
use crate::locations::{Commons, Set, Space};
use crate::loops::speed_up;
use crate::tangent::{self, DummyProcedure, Tangent};
use effects::{Effects, Touched};
use farfel_lang::Span;
use farfel_lang::callgraph::Below;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::ir::{
    Arg, Block, Class, Expr, ExprKind, Name, Place, Program, Request, SpecKind, Stmt, StmtKind,
    SymId, Type, Unit, UnitKind, for_each_symbol, unused_name,
};
pub use heads::{Adjoint, Adjoints, differentiate_heads};
use heads::{Members, Order};
use maker::{Maker, zero};
use needed::Needs;
use normal::Normalizer;
pub(crate) use recorded::{Recorded, recorded};
use room::Swept;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use sweep::{Sweeper, Sweeps};
use tape::{Kind, Tapes, Vars, keep};

/// The adjoint of a request's head and of what is active below it. A tape has at most
/// `most_tape` bytes.
///
/// # Errors
///
/// What cannot be differentiated, at its place in the source.
pub fn differentiate(
    program: &Program,
    request: &Request,
    most_tape: u64,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Vec<Unit>, Vec<Diagnostic>> {
    let closure = prepare::prepare(program, request)?;
    warnings.extend(tangent::warnings_of_output(program, request));
    let tangents = tangent::linear(&closure.program, request, warnings)?;
    let order = Order::of(request, &closure.program);
    let mut world = World::of(&closure.program, tangents, order)?;
    world.most_tape = most_tape;
    let facts = world.facts();
    let made = world.units(&closure.program, &facts)?;
    let mut made: Vec<Unit> = made.into_iter().map(|m| m.unit).collect();
    closure.finish(&mut made, &request.suffix);
    let shipped = shipped::needed(program, &made);
    made.extend(shipped);
    Ok(made)
}

/// The most bytes of one tape, where nobody says so. Memory that is not used is never touched, so it
/// costs nothing.
pub(crate) const MOST_TAPE: u64 = 1 << 30;

/// The program that the tangents are made of which become a request's adjoint.
///
/// # Errors
///
/// What cannot be brought into the form that adjoints need, at its place in the source.
pub(crate) fn prepared(program: &Program, request: &Request) -> Result<Program, Vec<Diagnostic>> {
    Ok(prepare::prepare(program, request)?.program)
}

/// A tangent unit that is going to be transposed.
struct Part {
    /// The name of the tangent.
    name: Name,
    /// The name of the backward sweep; of the head, that of both.
    backward_name: Name,
    /// The name of the forward sweep.
    forward_name: Name,
    /// What it is the derivative of.
    of: Name,
    /// The type of its result, if that is a function.
    result: Option<Type>,
    /// The argument that its value has become.
    value: Option<SymId>,
    /// The unit without its statements.
    make: Maker,
    body: Block,
    space: Space,
    /// Which arguments are derivatives.
    derivative_args: Vec<bool>,
    /// Which of these are no derivatives, but belong to backward sweeps only.
    added_args: Vec<bool>,
    /// The derivatives of dummy procedures that are called.
    dummies: HashMap<SymId, DummyProcedure>,
    /// What an adjoint of a head begins with.
    zero: Block,
    /// Derivatives in COMMON that it finds set.
    given_in_common: Members,
    /// Which arguments are scalars.
    scalar_args: Vec<bool>,
    root: bool,
    /// Its head is called from outside, whatever it is itself.
    is_called_from_outside: bool,
}

/// What the units of one request find out about each other.
#[derive(Debug, Clone, PartialEq, Default)]
struct Facts {
    /// Slots that are needed after the forward sweep.
    exit: Set,
    /// Slots that some caller needs as they are before the call.
    entry: Set,
    /// Tapes that the unit and what it calls use.
    tapes: BTreeSet<Kind>,
    /// There is a forward sweep that keeps something.
    forward: bool,
}

/// Everything that the units of one request share.
struct World {
    parts: Vec<Part>,
    index: HashMap<Name, usize>,
    /// Which arguments of tangents are scalars.
    scalars: HashMap<Name, Vec<bool>>,
    effects: Effects,
    /// What the adjoints are for, with the derivatives that are given.
    order: Order,
    commons: Commons,
    /// COMMON variables that are derivatives.
    derivative_commons: Set,
    /// Some unit assigns local variables that keep their values.
    keeps_state: bool,
    /// The most bytes of one tape.
    most_tape: u64,
}

fn scalar_args(unit: &Unit) -> Vec<bool> {
    unit.args
        .iter()
        .map(|a| a.sym().is_some_and(|s| !unit.symbols[s].is_array()))
        .collect()
}

impl World {
    fn of(
        closure: &Program,
        tangents: Vec<Tangent>,
        order: Order,
    ) -> Result<Self, Vec<Diagnostic>> {
        let mut all = closure.clone();
        all.units.extend(tangents.iter().map(|t| t.unit.clone()));
        let names: Vec<Name> = all.units.iter().map(|u| u.name.clone()).collect();
        let graph = Below::of(&all, names.iter().map(Name::as_str));
        let commons = Commons::of(&graph.units);
        let mut effects = Effects::of(&graph, &commons);
        effects.add_given(&order.rules, commons.vars.len());
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
        let mut world = World {
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
            order,
            commons,
            derivative_commons,
            keeps_state: false,
            most_tape: MOST_TAPE,
        };
        world.keeps_state = retry::keeps_state(&world, &graph.units);
        let mut errors = Vec::new();
        let mut parts = Vec::new();
        let mut taken: HashSet<Name> = names.into_iter().collect();
        let called = heads::called(&tangents);
        let both = |t: &Tangent| {
            let name = &t.unit.name;
            let root = world.order.roots.contains(name);
            (root, !root || called.contains(name))
        };
        let mut places: Vec<(&Tangent, bool)> = Vec::new();
        for t in &tangents {
            let (root, below) = both(t);
            places.extend(root.then_some((t, true)));
            places.extend(below.then_some((t, false)));
        }
        let mut index = HashMap::new();
        for (t, root) in places {
            let mut part = world.part(closure, t.clone(), root, &mut errors);
            // The adjoint of a function X_F has the name that the forward sweep of X would have.
            if !root {
                part.forward_name = unused_name(&part.forward_name, &|n| taken.contains(n));
                taken.insert(part.forward_name.clone());
            }
            if root {
                part.forward_name = Name::default();
                part.given_in_common = heads::given_in_common(&tangents, t);
            }
            part.is_called_from_outside = both(t).0;
            index.insert(part.name.clone(), parts.len());
            parts.push(part);
        }
        world.index = index;
        world.parts = parts;
        match errors.is_empty() {
            true => Ok(world),
            false => Err(world.faults(errors)),
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
        let mut make = Maker::new(unit, self.order.suffix.clone(), t.derivatives);
        let space = Space::of(&make.unit, &self.commons);
        let body = Normalizer {
            world: self,
            make: &mut make,
            space: &space,
            errors,
        }
        .block(body);
        // The normal form has more symbols.
        let space = Space::of(&make.unit, &self.commons);
        for d in &make.derivatives {
            if space.saved.contains(space.loc(*d)) {
                let s = &make.unit.symbols[*d];
                errors.push(
                    Diagnostic::error(
                        &rules::AD_UNSUPPORTED,
                        make.unit.span,
                        format!("{} would keep its cotangent from call to call", s.name),
                    )
                    .help("put the variable into a COMMON block"),
                );
            }
        }
        let assigned = self.assigned_in(&make.unit, &space, &body);
        for s in bound_variables(&make.unit) {
            if !root && assigned.contains(space.loc(s)) {
                let s = &make.unit.symbols[s];
                errors.push(
                    Diagnostic::error(
                        &rules::AD_UNSUPPORTED,
                        s.span,
                        format!(
                            "bounds of arrays depend on {}, which {} changes: its backward sweep would have other ones",
                            s.name, t.of
                        ),
                    )
                    .help("change a copy of the variable"),
                );
            }
        }
        Part {
            forward_name: self.order.forward_name(&t.of, &name),
            backward_name: name.clone(),
            value: source
                .filter(|u| u.kind == UnitKind::Function)
                .and_then(|u| u.result),
            root,
            is_called_from_outside: root,
            added_args,
            dummies: t.dummies,
            zero: t.zero,
            given_in_common: Members::new(),
            name,
            of: t.of,
            result,
            make,
            body,
            space,
            derivative_args,
            scalar_args,
        }
    }

    fn faults(&self, mut errors: Vec<Diagnostic>) -> Vec<Diagnostic> {
        errors.sort_by_key(|d| (d.span.file, d.span.start));
        errors.dedup();
        errors
            .into_iter()
            .map(|d| match self.order.span {
                Span::NONE => d,
                span => d.related(span, "for this AD block"),
            })
            .collect()
    }

    /// The number of the tangent of a name.
    fn part_of(&self, name: &str) -> Option<usize> {
        self.index.get(name).copied()
    }

    fn touched_in(&self, unit: &Unit, space: &Space, block: &[Stmt]) -> Touched {
        let mut touched = Touched {
            assigned: Set::with_capacity(space.len),
            read: Set::with_capacity(space.len),
            other: false,
        };
        // Symbols that were added since are nobody's location yet.
        touched.assigned.grow(space.len + unit.symbols.len());
        touched.read.grow(space.len + unit.symbols.len());
        for s in block {
            s.walk(&mut |s| self.effects.own(unit, space, s, &mut touched));
        }
        touched
    }

    /// The locations that some statements assign.
    fn assigned_in(&self, unit: &Unit, space: &Space, block: &[Stmt]) -> Set {
        self.touched_in(unit, space, block).assigned
    }

    /// Finds out what units must keep for each other: from the head down what callers need,
    /// from below up what is needed after a call, until nothing changes.
    fn facts(&self) -> Vec<Facts> {
        let mut facts: Vec<Facts> = self
            .parts
            .iter()
            .map(|p| Facts {
                exit: Set::with_capacity(p.space.slots),
                entry: Set::with_capacity(p.space.slots),
                ..Facts::default()
            })
            .collect();
        let callees: Vec<BTreeSet<usize>> = self.parts.iter().map(|p| self.called_by(p)).collect();
        let n = self.parts.len();
        // What is to be looked at again: without what callers need, and with it. What the head
        // calls comes last, so that callees are often ready before their callers.
        let mut again = vec![[true, true]; n];
        let mut at = n;
        let mut quiet = 0;
        while quiet < n {
            at = if at == 0 { n - 1 } else { at - 1 };
            let [alone, called] = std::mem::take(&mut again[at]);
            quiet = if alone || called { 0 } else { quiet + 1 };
            let mut entries = Vec::new();
            let mut exits = Vec::new();
            let mut tapes = Vec::new();
            if alone {
                let (sweeper, _, exit) = self.sweep(&facts, at, false);
                entries.extend(sweeper.entries);
                let space = &self.parts[at].space;
                exits.extend(
                    (0..space.slots).filter(|s| space.slot(*s).is_some_and(|l| exit.has(l))),
                );
            }
            if called {
                let (sweeper, _, _) = self.sweep(&facts, at, true);
                entries.extend(sweeper.entries);
                tapes.extend(sweeper.tapes.used.into_keys());
            }
            let own = &mut facts[at];
            let mut changed = false;
            for slot in exits {
                changed |= !own.exit.contains(slot);
                own.exit.insert(slot);
            }
            for kind in tapes {
                changed |= own.tapes.insert(kind);
                own.forward = true;
            }
            if changed {
                for (caller, callees) in callees.iter().enumerate() {
                    if callees.contains(&at) {
                        again[caller] = [true, true];
                    }
                }
            }
            for (part, slot) in entries {
                if !facts[part].entry.contains(slot) {
                    facts[part].entry.insert(slot);
                    again[part][1] = true;
                }
            }
        }
        facts
    }

    /// The parts that a part calls.
    fn called_by(&self, p: &Part) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        for s in &p.body {
            s.walk(&mut |s| {
                if let StmtKind::Call(callee, _) = &s.kind {
                    found.extend(self.part_of(&p.make.unit.symbols[*callee].name));
                }
            });
        }
        found
    }

    /// Sweeps a unit. `called`: with what callers need, and with its own variables kept at
    /// the end.
    fn sweep<'w>(
        &'w self,
        facts: &'w [Facts],
        i: usize,
        called: bool,
    ) -> (Sweeper<'w>, Sweeps, Needs) {
        let p = &self.parts[i];
        let mut sweeper = Sweeper::new(self, facts, i);
        let mut needs = Needs::default();
        if called && !p.root {
            for slot in facts[i].entry.ones() {
                p.space.slot(slot).into_iter().for_each(|l| {
                    needs.add_all(l);
                });
            }
            for l in p
                .space
                .saved
                .ones()
                .filter(|l| sweeper.assigned.contains(*l))
            {
                needs.add_all(l);
            }
        }
        let mut made = sweeper.block(&p.body, &mut needs);
        if !p.root {
            // Arrays get their bounds anew when the backward sweep begins.
            for s in bound_variables(&p.make.unit) {
                needs.add_all(p.space.loc(s));
            }
        }
        let mut first = std::mem::take(&mut sweeper.first_backward);
        first.append(&mut made.backward);
        made.backward = first;
        if called && !p.root {
            self.keep_own(&mut sweeper, &mut made, &needs);
        }
        (sweeper, made, needs)
    }

    /// Local variables are gone when the backward sweep begins: what is needed of them is
    /// kept at the end of the forward sweep.
    fn keep_own(&self, sweeper: &mut Sweeper, made: &mut Sweeps, needs: &Needs) {
        let mut first = Vec::new();
        let own: Vec<SymId> = sweeper
            .make
            .unit
            .symbols
            .iter()
            .filter(|(id, s)| {
                let loc = sweeper.space.loc(*id);
                s.is_variable()
                    && s.place == Place::Local
                    && !sweeper.make.derivatives.contains(id)
                    && needs.has(loc)
                    && !sweeper.space.saved.contains(loc)
                    && sweeper.assigned.contains(loc)
            })
            .map(|(id, _)| id)
            .collect();
        for s in own {
            let e = Expr::var(s, Span::NONE);
            match keep(&mut sweeper.make, &mut sweeper.tapes, &e, Span::NONE) {
                Ok((push, pop)) => {
                    made.forward.extend(push);
                    first.push(pop);
                }
                Err(d) => sweeper.errors.push(d),
            }
        }
        let mut all: Block = first.into_iter().rev().flatten().collect();
        all.append(&mut made.backward);
        made.backward = all;
    }

    /// The units of all parts.
    fn units(&self, closure: &Program, facts: &[Facts]) -> Result<Vec<Made>, Vec<Diagnostic>> {
        let mut out: Vec<Made> = Vec::new();
        let mut errors = Vec::new();
        let swept = self.all_swept(facts, &mut errors);
        // Of each head, its tapes and how large they have to be.
        let mut all_rooms = BTreeMap::new();
        for (i, _) in self.parts.iter().enumerate().filter(|(_, p)| p.root) {
            let mut kinds = facts[i].tapes.clone();
            kinds.extend(swept[i].tapes.used.keys());
            let rooms = self.rooms(&swept, &kinds, i);
            all_rooms.insert(i, (kinds, rooms));
        }
        // Which tapes count on where they are full, since the head tries again.
        let (open, state) = retry::open(self, &swept, &all_rooms);
        for (i, (p, s)) in self.parts.iter().zip(swept).enumerate() {
            let (mut make, mut tapes, mut made) = (s.make, s.tapes, s.made);
            // Tapes that only what it calls uses.
            let used = all_rooms
                .get(&i)
                .map_or(&facts[i].tapes, |(kinds, _)| kinds);
            for kind in used {
                tapes.vars(&mut make, *kind);
            }
            if state.is_some() {
                let vars: Vec<Vars> = open
                    .iter()
                    .filter_map(|k| tapes.used.get(k))
                    .copied()
                    .collect();
                retry::count_on(&mut made.forward, &vars);
            }
            let derivatives = make.derivatives.clone();
            let mut all = Set::with_capacity(self.commons.vars.len());
            if p.root {
                let rooms = all_rooms.get(&i).map(|(_, rooms)| rooms.clone());
                let rooms = rooms.unwrap_or_default();
                let state = state.as_deref();
                out.push(Made {
                    unit: self.root(p, make, tapes, made, rooms, state),
                    of: p.of.clone(),
                    derivatives: derivatives.clone(),
                    wanted: derivatives,
                    commons: self.derivative_commons.clone(),
                    forward: false,
                    tapes: HashSet::new(),
                });
                continue;
            }
            all.insert_range(..);
            if facts[i].forward {
                out.push(Made {
                    of: p.of.clone(),
                    derivatives: HashSet::new(),
                    unit: self.forward(p, make.clone(), &tapes, made.forward),
                    wanted: make.unit.symbols.ids().collect(),
                    commons: all,
                    forward: true,
                    tapes: tapes.symbols().collect(),
                });
            }
            // Callers find again what they need; the other primal values are nobody's.
            let mut wanted = derivatives;
            wanted.extend(tapes.symbols());
            let n = p.derivative_args.len();
            let mut commons = self.derivative_commons.clone();
            for slot in facts[i].entry.ones() {
                if slot < n {
                    wanted.extend(make.unit.args.get(slot).and_then(|a| a.sym()));
                } else if slot > n {
                    commons.insert(slot - n - 1);
                }
            }
            let locs: HashSet<usize> = wanted.iter().map(|s| p.space.loc(*s)).collect();
            wanted.extend(
                make.unit
                    .symbols
                    .ids()
                    .filter(|s| locs.contains(&p.space.loc(*s))),
            );
            out.push(Made {
                of: p.of.clone(),
                derivatives: make.derivatives.clone(),
                unit: self.backward(p, make, &tapes, made.backward),
                wanted,
                commons,
                forward: false,
                tapes: HashSet::new(),
            });
        }
        merge::merge(self, closure, &mut out, &mut errors);
        if !errors.is_empty() {
            return Err(self.faults(errors));
        }
        // What was made does something else than the tangents of the same names.
        let mut all = closure.clone();
        all.units.extend(out.iter().map(|m| m.unit.clone()));
        let names: Vec<Name> = all.units.iter().map(|u| u.name.clone()).collect();
        let graph = Below::of(&all, names.iter().map(Name::as_str));
        let effects = Effects::of(&graph, &self.commons);
        dead::remove_all(self, &mut out, &effects);
        for m in &mut out {
            tidy(&mut m.unit);
            speed_up(&mut m.unit, &m.derivatives);
        }
        Ok(out)
    }

    /// How many values a unit and what it calls put on each tape, where that is known.
    fn rooms(
        &self,
        swept: &[Swept],
        kinds: &BTreeSet<Kind>,
        i: usize,
    ) -> Vec<Option<Vec<room::Term>>> {
        kinds
            .iter()
            .map(|k| room::room(self, swept, i, *k, 0))
            .collect()
    }

    /// All units, swept once more.
    fn all_swept(&self, facts: &[Facts], errors: &mut Vec<Diagnostic>) -> Vec<Swept> {
        let one = |i| {
            let (mut sweeper, made, _) = self.sweep(facts, i, true);
            errors.append(&mut sweeper.errors);
            Swept {
                make: sweeper.make,
                tapes: sweeper.tapes,
                made,
                replays: sweeper.replays,
            }
        };
        (0..self.parts.len()).map(one).collect()
    }

    /// Sets the cotangents of local variables to zero.
    fn zeros(&self, make: &Maker, backward: &Block) -> Block {
        let mut used = HashSet::new();
        for_each_symbol(backward, &mut |s| {
            used.insert(s);
        });
        let mut out = Vec::new();
        for (id, s) in make.unit.symbols.iter() {
            let zeroed = s.place == Place::Local && !s.tape && used.contains(&id);
            if make.derivatives.contains(&id) && zeroed {
                let ty = s.ty.unwrap_or(Type::REAL);
                out.push(Stmt::assign(
                    Expr::var(id, Span::NONE),
                    zero(ty, Span::NONE),
                    Span::NONE,
                ));
            }
        }
        out
    }

    fn root(
        &self,
        p: &Part,
        mut make: Maker,
        tapes: Tapes,
        made: Sweeps,
        rooms: Vec<Option<Vec<room::Term>>>,
        state: Option<&[SymId]>,
    ) -> Unit {
        let mut open = Vec::new();
        let again = state.is_some().then_some(&mut open);
        let mut body = tapes.be_local(&mut make, rooms, self.most_tape, again);
        match state {
            Some(state) => {
                let sizes = retry::Sizes {
                    all: tapes.used.values().copied().collect(),
                    open,
                    most: self.most_tape,
                };
                body.extend(retry::repeated(&mut make, made.forward, &sizes, state));
            }
            None => body.extend(made.forward),
        }
        body.extend(p.zero.iter().cloned());
        body.extend(self.zero_commons(&mut make, p));
        body.extend(self.zeros(&make, &made.backward));
        body.extend(made.backward);
        make.unit.body = body;
        make.unit.comments = vec![title("Adjoint", &make.unit.comments)];
        if self.order.units.is_some() {
            heads::hide_result(&mut make.unit, p.value);
        }
        make.unit
    }

    fn forward(&self, p: &Part, mut make: Maker, tapes: &Tapes, body: Block) -> Unit {
        make.unit.name = p.forward_name.clone();
        let args = std::mem::take(&mut make.unit.args);
        make.unit.args = args
            .into_iter()
            .zip(&p.derivative_args)
            .filter(|(_, d)| !**d)
            .map(|(a, _)| a)
            .collect();
        tapes.be_arguments(&mut make);
        make.unit.body = body;
        make.unit.comments = vec![format!(
            " {} with what its adjoint will need on the tape",
            p.of
        )];
        // Derivatives have no part in it.
        let added = p.added_args.iter().zip(&p.make.unit.args);
        let added: Vec<SymId> = added
            .filter(|(a, _)| **a)
            .filter_map(|(_, a)| a.sym())
            .collect();
        for d in make.derivatives.iter().chain(&added) {
            make.unit.undeclare(*d);
            make.unit.symbols[*d].place = Place::Local;
        }
        let derivatives = make.derivatives.clone();
        for spec in &mut make.unit.specs {
            match &mut spec.kind {
                SpecKind::Common(blocks) => {
                    for (_, members) in blocks.iter_mut() {
                        members.retain(|e| !derivatives.contains(&e.sym));
                    }
                    blocks.retain(|(_, members)| !members.is_empty());
                }
                SpecKind::Equivalence(groups) => {
                    groups.retain(|g| {
                        !g.iter()
                            .filter_map(Expr::base)
                            .any(|s| derivatives.contains(&s))
                    });
                }
                _ => {}
            }
        }
        make.unit.specs.retain(|s| match &s.kind {
            SpecKind::Common(blocks) => !blocks.is_empty(),
            SpecKind::Equivalence(groups) => !groups.is_empty(),
            _ => true,
        });
        make.unit
    }

    fn backward(&self, p: &Part, mut make: Maker, tapes: &Tapes, backward: Block) -> Unit {
        tapes.be_arguments(&mut make);
        let mut body = self.zeros(&make, &backward);
        body.extend(backward);
        make.unit.name = p.backward_name.clone();
        make.unit.body = body;
        make.unit.comments = vec![title("Adjoint", &make.unit.comments)];
        make.unit
    }

    /// In the beginning nobody has added to the cotangents of COMMON variables.
    fn zero_commons(&self, make: &mut Maker, root: &Part) -> Block {
        let mut out = Vec::new();
        let mut done: HashSet<Name> = HashSet::new();
        for p in heads::reached(&self.parts, root, &self.index) {
            for (block, members) in crate::locations::common_members(&p.make.unit) {
                let theirs: Vec<SymId> = members
                    .iter()
                    .copied()
                    .filter(|s| p.make.derivatives.contains(s))
                    .collect();
                if theirs.is_empty() || !done.insert(block.clone()) {
                    continue;
                }
                let own = crate::locations::common_members(&make.unit)
                    .remove(&block)
                    .unwrap_or_else(|| import(make, &p.make.unit, &block, &members));
                for (position, s) in own.into_iter().enumerate() {
                    if root.given_in_common.contains(&(block.clone(), position)) {
                        continue;
                    }
                    let ty = make.unit.symbols[s].ty.unwrap_or(Type::REAL);
                    let to = Expr::var(s, Span::NONE);
                    out.push(Stmt::assign(to, zero(ty, Span::NONE), Span::NONE));
                }
            }
        }
        out
    }
}

/// The tapes of heads, and how large they have to be.
type Rooms = BTreeMap<usize, (BTreeSet<Kind>, Vec<Option<Vec<room::Term>>>)>;

/// A generated unit, and what is read after it.
#[derive(Clone)]
struct Made {
    /// What it is the derivative of.
    of: Name,
    unit: Unit,
    /// Symbols that hold cotangents.
    derivatives: HashSet<SymId>,
    /// Arguments and COMMON variables that it declares.
    wanted: HashSet<SymId>,
    /// COMMON variables, by number.
    commons: Set,
    /// It is a forward sweep below the head.
    forward: bool,
    /// The variables of its tapes.
    tapes: HashSet<SymId>,
}

/// Declares a COMMON block of another unit.
fn import(make: &mut Maker, from: &Unit, block: &Name, members: &[SymId]) -> Vec<SymId> {
    let span = Span::NONE;
    let mut entities = Vec::new();
    for m in members {
        let of = &from.symbols[*m];
        let constant = |e: &Option<Expr>| {
            let e = e.as_ref()?;
            if let Some(n) = farfel_lang::storage::constant::integer(from, e) {
                return Some(Expr::int(n, span));
            }
            // The most directions, which the user defines where it is included.
            let ExprKind::Var(s) = e.kind else {
                return None;
            };
            let own = make.unit.symbols.find(&from.symbols[s].name)?;
            Some(Expr::var(own, span))
        };
        let dims = of
            .dims
            .iter()
            .map(|d| farfel_lang::ir::Dim {
                lower: constant(&d.lower),
                upper: constant(&d.upper),
            })
            .collect();
        let name = make.unused(&of.name);
        let s = make.declare(farfel_lang::ir::Symbol {
            ty: of.ty,
            dims,
            class: Class::Variable,
            place: Place::Common(block.clone()),
            ..farfel_lang::ir::Symbol::new(name, span)
        });
        make.derivatives.insert(s);
        entities.push(s);
    }
    let list = entities
        .iter()
        .map(|s| farfel_lang::ir::Entity {
            sym: *s,
            dims: false,
        })
        .collect();
    make.unit
        .add_spec(SpecKind::Common(vec![(block.clone(), list)]), span);
    entities
}

/// The variables that bounds of a unit's arrays depend on.
fn bound_variables(unit: &Unit) -> BTreeSet<SymId> {
    let mut found = BTreeSet::new();
    for (_, s) in unit.symbols.iter() {
        for e in s.dims.iter().flat_map(|d| d.lower.iter().chain(&d.upper)) {
            e.for_each_symbol(&mut |s| {
                if unit.symbols[s].is_variable() {
                    found.insert(s);
                }
            });
        }
    }
    found
}

/// `Tangent of F: …` as the title of an adjoint.
fn title(kind: &str, comments: &[String]) -> String {
    let first = comments.first().map_or("", |c| c.as_str());
    match first.trim_start().strip_prefix("Tangent") {
        Some(rest) => format!(" {kind}{rest}"),
        None => first.to_owned(),
    }
}

/// Takes back the declarations of what is not there any more.
fn tidy(unit: &mut Unit) {
    let mut used: HashSet<SymId> = HashSet::new();
    for_each_symbol(&unit.body, &mut |s| {
        used.insert(s);
    });
    let mut add = |e: &Expr| {
        e.for_each_symbol(&mut |s| {
            used.insert(s);
        })
    };
    for (_, s) in unit.symbols.iter() {
        match &s.class {
            Class::Parameter(e) => add(e),
            Class::StatementFunction(dummies, e) => {
                add(e);
                dummies.iter().for_each(|d| add(&Expr::var(*d, Span::NONE)));
            }
            _ => {}
        }
        s.length.iter().for_each(&mut add);
        for d in &s.dims {
            d.lower.iter().chain(&d.upper).for_each(&mut add);
        }
    }
    for spec in &unit.specs {
        match &spec.kind {
            SpecKind::Equivalence(groups) => groups.iter().flatten().for_each(&mut add),
            SpecKind::Data(sets) => sets.iter().flat_map(|s| &s.targets).for_each(&mut add),
            _ => {}
        }
    }
    for spec in &unit.specs {
        match &spec.kind {
            SpecKind::Common(blocks) => {
                used.extend(blocks.iter().flat_map(|(_, l)| l).map(|e| e.sym));
            }
            SpecKind::Namelist(s) | SpecKind::StatementFunction(s) => {
                used.insert(*s);
            }
            _ => {}
        }
    }
    used.extend(unit.args.iter().filter_map(|a| Arg::sym(*a)));
    used.extend(unit.result);
    let gone: Vec<SymId> = unit
        .symbols
        .iter()
        .filter(|(id, s)| {
            !used.contains(id)
                && (s.class.is_procedure() && s.place == Place::Global
                    || s.is_variable() && s.place == Place::Local)
        })
        .map(|(id, _)| id)
        .collect();
    for s in gone {
        unit.undeclare(s);
    }
}
