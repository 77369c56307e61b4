//! Removes statements whose results are not used: much of a forward sweep, if the values of the function
//! itself are not wanted.
//!
//! A variable is live if its value is used for something that matters: a derivative, a condition, a call, an
//! argument that the caller reads. A value that is used only for dead variables does not make its operands
//! live (strong liveness: R. Giegerich, U. Möncke and R. Wilhelm, *Invariance of approximative semantics with
//! respect to program transformations*, GI 1981).

use super::effects::{Effects, SideEffects, StatementEffects};
use super::element_reads::ElementReads;
use super::generated::GeneratedUnit;
use super::{AdjointEngine, Part};
use crate::flow::FlowGraph;
use crate::locations::{Commons, Set, Space};
use crate::simplify::empty_arms::{as_if, without_empty_arms, without_empty_cases};
use farfel_lang::dataflow::Intents;
use farfel_lang::ir::{
    Block, Class, DoControl, Expr, ExprKind, Name, Origin, Program, Stmt, StmtId, StmtKind,
    StorageClass, SymId, Unit, for_each_reference, walk_block,
};
use farfel_lang::solve::{Graph, backward_each};
use std::collections::{BTreeSet, HashMap, HashSet};

/// What is read after calls of a unit, at any call site.
#[derive(Debug, Clone, Default)]
pub(super) struct LiveAfterCalls {
    /// Positions of arguments.
    pub args: HashSet<usize>,
    /// COMMON variables.
    pub commons: Set,
}

/// Removes statements of tangents whose values no derivative needs, before sweeps are made of them: what is not
/// computed overwrites nothing, so that nothing is recorded for it either. A loop `X = A*X` in a subprogram of
/// which only the derivative is wanted leaves X as it is, without a tape.
///
/// Derivatives that are differentiated again keep all their statements, and so do subprograms below the heads unless
/// `below_heads` is set: their adjoints then have a forward sweep of their own, with another name.
pub(super) fn remove_unneeded_values(
    engine: &mut AdjointEngine,
    closure: &Program,
    below_heads: bool,
) {
    if has_derivatives(closure) {
        return;
    }
    let passed = passed_as_arguments(&engine.parts);
    let mut all_commons = Set::with_capacity(engine.commons.vars.len());
    all_commons.insert_range(..);
    let whole = |p: &Part| Unit {
        body: p.body.clone(),
        ..p.builder.unit.clone()
    };
    let wanted = |p: &Part| below_heads || p.root && p.is_called_from_outside;
    let mut all = closure.clone();
    // The forward sweep of a parallel loop calls the subroutine itself, which may read more than its derivative: nothing
    // is known about what such calls ignore.
    let iterations = crate::parallel::iterations(closure);
    let parts = engine.parts.iter();
    let parts = parts.filter(|p| !iterations.contains(&p.of));
    all.units.extend(parts.map(whole));
    let intents = Intents::of(&all);
    drop(all);
    let made = engine.parts.iter().filter(|p| wanted(p)).map(|p| {
        let unit = whole(p);
        let is_head = p.root && p.is_called_from_outside;
        let state = engine.state.get(&p.of).cloned();
        GeneratedUnit {
            of: p.of.clone(),
            live_after: match is_head {
                true => HashSet::new(),
                false => unit.symbols.ids().collect(),
            },
            commons: match is_head {
                // Derivatives in COMMON, which the head need not declare, are results as well.
                true => {
                    let mut read = state.unwrap_or_default();
                    read.union_with(&engine.derivative_commons);
                    read
                }
                false => all_commons.clone(),
            },
            forward: !is_head && !passed.contains(&p.name),
            derivatives: p.builder.derivatives.clone(),
            primals: Vec::new(),
            reverse_start: None,
            tapes: p.builder.derivatives.clone(),
            unit,
        }
    });
    let mut made: Vec<GeneratedUnit> = made.collect();
    let about = (&engine.effects, &intents);
    remove_with(engine, &mut made, about, true, true);
    let parts = engine.parts.iter_mut().filter(|p| wanted(p));
    for (p, m) in parts.zip(made) {
        p.computes_less = assignments(&m.unit.body) < assignments(&p.body);
        p.body = m.unit.body;
        p.builder.unit.stmt_ids = m.unit.stmt_ids;
    }
}

/// Whether a program contains derivatives, which are differentiated again. Cotangents of values on their tapes are
/// assigned where these are popped, whether anything needs them or not.
pub(super) fn has_derivatives(program: &Program) -> bool {
    let derivative = |u: &Unit| u.origin == Origin::Derivative;
    let tape = |u: &Unit| u.symbols.iter().any(|(_, s)| s.tape);
    program.units.iter().any(|u| derivative(u) || tape(u))
}

/// The number of assignments, calls and loops.
fn assignments(body: &[Stmt]) -> usize {
    let mut found = 0;
    walk_block(body, &mut |s| {
        found += usize::from(matches!(
            s.kind,
            StmtKind::Assign(..) | StmtKind::Call(..) | StmtKind::Do(_)
        ));
    });
    found
}

/// The names of all procedures that parts pass as arguments: it is not known what their callers read.
fn passed_as_arguments(parts: &[Part]) -> HashSet<Name> {
    let mut found = HashSet::new();
    for p in parts {
        let symbols = &p.builder.unit.symbols;
        for_each_reference(&p.body, &mut |call| {
            let named = call.args.iter().filter_map(Expr::base);
            let procedures = named.filter(|s| symbols[*s].class.is_procedure());
            found.extend(procedures.map(|s| symbols[s].name.clone()));
        });
    }
    found
}

/// Removes dead statements from all units. Callers are processed before the forward sweeps that they call:
/// these need not compute what no caller reads afterwards.
/// `intents` says what all procedures do with their arguments.
pub(super) fn remove_all(
    engine: &AdjointEngine,
    closure: &Program,
    made: &mut [GeneratedUnit],
    effects: &Effects,
    intents: &Intents,
) {
    remove_with(
        engine,
        made,
        (effects, intents),
        false,
        !has_derivatives(closure),
    );
}

/// The same; statements that assign derivatives stay if `keeps_derivatives` is set. With `by_elements`, elements
/// of arrays are told apart.
fn remove_with(
    engine: &AdjointEngine,
    made: &mut [GeneratedUnit],
    (effects, intents): (&Effects, &Intents),
    keeps_derivatives: bool,
    by_elements: bool,
) {
    let nothing = HashSet::new();
    let index: HashMap<Name, usize> = made
        .iter()
        .enumerate()
        .map(|(i, m)| (m.unit.name.clone(), i))
        .collect();
    let mut waits = vec![0; made.len()];
    let mut callees: Vec<Vec<usize>> = vec![Vec::new(); made.len()];
    for (i, m) in made.iter().enumerate() {
        let mut called: BTreeSet<usize> = BTreeSet::new();
        for s in &m.unit.body {
            s.walk(&mut |s| {
                if let StmtKind::Call(callee, _) = &s.kind {
                    called.extend(index.get(&m.unit.symbols[*callee].name));
                }
            });
        }
        called.iter().for_each(|c| waits[*c] += 1);
        callees[i].extend(called);
    }
    let mut after: HashMap<Name, LiveAfterCalls> = HashMap::new();
    let mut left: Vec<usize> = (0..made.len()).rev().collect();
    while !left.is_empty() {
        // Among units that call each other, none comes first.
        let ready = left.iter().rposition(|i| waits[*i] == 0);
        let i = left.remove(ready.unwrap_or(left.len() - 1));
        let m = &mut made[i];
        if let Some(after) = after
            .get(&m.unit.name)
            .filter(|_| m.forward && ready.is_some())
        {
            let args = after.args.iter().filter_map(|a| m.unit.args.get(*a)?.sym());
            let read: HashSet<SymId> = args.collect();
            let tape = |s: &SymId| m.tapes.contains(s);
            m.live_after.retain(|s| read.contains(s) || tape(s));
            m.commons = after.commons.clone();
        }
        let live_after = |s: SymId| m.live_after.contains(&s);
        let calls = remove(
            &mut m.unit,
            &engine.commons,
            effects,
            intents,
            &live_after,
            &m.commons,
            match keeps_derivatives {
                true => &m.derivatives,
                false => &nothing,
            },
            by_elements,
        );
        for (name, more) in calls {
            let all = after.entry(name).or_default();
            all.args.extend(more.args);
            all.commons.union_with(&more.commons);
        }
        for c in &callees[i] {
            waits[*c] -= 1;
        }
    }
}

/// Removes dead statements from a unit. `live_after` says which arguments and COMMON variables are read after
/// the unit; `commons_wanted` has those COMMON variables that the unit does not declare. Whatever assigns one
/// of the variables `kept` stays. Returns what is read after the calls in it.
#[expect(clippy::too_many_arguments, reason = "each is about something else")]
fn remove(
    unit: &mut Unit,
    commons: &Commons,
    effects: &Effects,
    intents: &Intents,
    live_after: &dyn Fn(SymId) -> bool,
    commons_wanted: &Set,
    kept: &HashSet<SymId>,
    by_elements: bool,
) -> HashMap<Name, LiveAfterCalls> {
    loop {
        unit.number();
        let space = Space::of(unit, commons);
        let mut exit = Set::with_capacity(space.len);
        for (id, s) in unit.symbols.iter() {
            let local =
                s.storage_class == StorageClass::Local && !space.saved.contains(space.loc(id));
            if s.is_variable() && !local && (space.saved.contains(space.loc(id)) || live_after(id))
            {
                exit.insert(space.loc(id));
            }
        }
        exit.extend(commons_wanted.ones().map(|k| space.common(k)));
        let mut always = Set::with_capacity(space.len);
        always.extend(kept.iter().map(|s| space.loc(*s)));
        let live = LiveAtEnd {
            exit,
            always,
            by_elements,
        };
        let mut calls = HashMap::new();
        let dead = dead(unit, &space, effects, intents, live, &mut calls);
        let mut body = std::mem::take(&mut unit.body);
        let changed = prune(&mut body, &dead, unit, effects);
        unit.body = body;
        if !changed {
            return calls;
        }
    }
}

fn pure_calls(unit: &Unit, e: &Expr, effects: &Effects) -> bool {
    let mut pure = true;
    e.walk(&mut |x| {
        if let ExprKind::Call(s, _) = &x.kind {
            pure &= match &unit.symbols[*s].class {
                Class::Intrinsic(_) => true,
                _ => effects.get(&unit.symbols[*s].name).is_some_and(|f| {
                    f.side_effects == SideEffects::Nothing
                        && f.assigned.ones().all(|slot| slot == f.args)
                }),
            };
        }
    });
    pure
}

/// The locations that a call assigns, if it has no other effects.
fn call_targets(unit: &Unit, space: &Space, s: &Stmt, effects: &Effects) -> Option<Set> {
    let StmtKind::Call(callee, args) = &s.kind else {
        return None;
    };
    let effect = effects.get(&unit.symbols[*callee].name)?;
    if effect.side_effects != SideEffects::Nothing
        || !args.iter().all(|a| pure_calls(unit, a, effects))
    {
        return None;
    }
    let mut touched = StatementEffects::nothing(space.len);
    effects.own(unit, space, s, &mut touched);
    (touched.side_effects == SideEffects::Nothing).then_some(touched.assigned)
}

/// The local scalars that a call does not read, although it gets them. Those with `true` it assigns on every path, the
/// others it only hands on to calls that ignore them, or ignores them itself.
fn unread(unit: &Unit, space: &Space, s: &Stmt, intents: &Intents) -> Vec<(usize, bool)> {
    let StmtKind::Call(callee, args) = &s.kind else {
        return Vec::new();
    };
    let callee = &unit.symbols[*callee];
    if callee.storage_class == StorageClass::Dummy {
        return Vec::new();
    }
    let known = intents.get(&callee.name);
    let Some(known) = known.filter(|k| k.len() == args.len()) else {
        return Vec::new();
    };
    // It may also be a subscript of another argument.
    let passed = |s: SymId| {
        let mut count = 0;
        for a in args {
            a.for_each_symbol(&mut |x| count += usize::from(x == s));
        }
        count
    };
    let mut found = Vec::new();
    for (arg, used) in args.iter().zip(known) {
        if let ExprKind::Var(v) = arg.kind
            && !used.reads
            && (used.always || !used.writes)
            && unit.symbols[v].storage_class == StorageClass::Local
            && !unit.symbols[v].is_array()
            && passed(v) == 1
        {
            let loc = space.loc(v);
            if !space.tangled.contains(loc) && !space.weak.contains(loc) {
                found.push((loc, used.always));
            }
        }
    }
    found
}

/// What counts as read, whatever the unit itself reads.
struct LiveAtEnd {
    /// After the unit.
    exit: Set,
    /// After each statement.
    always: Set,
    /// Whether elements of arrays are told apart.
    by_elements: bool,
}

/// The statements whose results are not read.
fn dead(
    unit: &Unit,
    space: &Space,
    effects: &Effects,
    intents: &Intents,
    live: LiveAtEnd,
    calls: &mut HashMap<Name, LiveAfterCalls>,
) -> HashSet<StmtId> {
    let LiveAtEnd {
        exit,
        mut always,
        by_elements,
    } = live;
    let flow = FlowGraph::of(unit);
    let elements = ElementReads::of(unit, space, &flow, effects, by_elements);
    always.grow(elements.len());
    let mut exit = exit;
    exit.union_with(&always);
    let reads = |e: &Expr, live: &mut Set| effects.value(unit, space, e, live);
    // Makes what is live after a statement what is live before it.
    let before = |i: usize, live: &mut Set| {
        let Some(s) = flow.stmts.get(i) else { return };
        match &s.kind {
            StmtKind::Assign(target, value) => {
                let Some(t) = target.base() else { return };
                let loc = space.loc(t);
                let needed = elements.is_seen(i, loc, live)
                    || crate::activity::is_pop(unit, value)
                    || !pure_calls(unit, value, effects)
                    || !pure_calls(unit, target, effects);
                if !needed {
                    return;
                }
                let whole = matches!(target.kind, ExprKind::Var(_))
                    && !flow.masked[i]
                    && !space.tangled.contains(loc)
                    && (!space.weak.contains(loc) || unit.symbols[t].is_array());
                if whole {
                    elements.remove(loc, live);
                }
                let read_all = |read: &mut Set| {
                    reads(value, read);
                    target.children().into_iter().for_each(|c| reads(c, read));
                };
                if elements.are_read_by(i) {
                    let mut read = Set::with_capacity(elements.len());
                    read_all(&mut read);
                    elements.replace(i, &mut read);
                    live.union_with(&read);
                } else {
                    read_all(live);
                }
            }
            StmtKind::Call(..) => {
                if let Some(targets) = call_targets(unit, space, s, effects)
                    && !targets.ones().any(|l| elements.is_live(l, live))
                {
                    return;
                }
                let unread: Vec<(usize, bool)> = (unread(unit, space, s, intents).into_iter())
                    .map(|(loc, overwritten)| (loc, !overwritten && live.contains(loc)))
                    .collect();
                let mut touched = StatementEffects::nothing(space.len);
                effects.own(unit, space, s, &mut touched);
                // Of the others, it may assign only a part, or nothing.
                live.union_with(&touched.assigned);
                effects.reads(unit, space, s, live);
                for (loc, stays) in unread {
                    live.set(loc, stays);
                }
            }
            _ => {
                let mut touched = StatementEffects::nothing(space.len);
                effects.own(unit, space, s, &mut touched);
                if let StmtKind::Do(d) = &s.kind
                    && let DoControl::Count { var, .. } = d.control
                    && !space.tangled.contains(space.loc(var))
                {
                    touched.read.set(space.loc(var), false);
                    // The loop itself assigns it.
                    live.set(space.loc(var), false);
                }
                elements.replace(i, &mut touched.read);
                live.union_with(&touched.read);
            }
        }
        live.union_with(&always);
    };
    let nothing = always.clone();
    let mut found = HashSet::new();
    let mut look = |i: usize, live: &Set| {
        let Some(s) = flow.stmts.get(i) else { return };
        if let StmtKind::Call(callee, args) = &s.kind {
            let name = &unit.symbols[*callee].name;
            let after = calls.entry(name.clone()).or_default();
            let is_live = |s: SymId| elements.is_live(space.loc(s), live);
            let read = |a: &Expr| a.base().is_some_and(is_live);
            let args = args.iter().enumerate().filter(|(_, a)| read(a));
            after.args.extend(args.map(|(n, _)| n));
            let whole = (space.common(0)..space.len).filter(|l| live.contains(*l));
            let locs = whole.chain(elements.live_arrays(live));
            after
                .commons
                .extend(locs.filter_map(|l| space.common_at(l)));
        }
        let gone = match &s.kind {
            StmtKind::Assign(target, value) => {
                // A value that was pushed on a tape is popped, whether it is used or not.
                target
                    .base()
                    .is_some_and(|t| !elements.is_seen(i, space.loc(t), live))
                    && !crate::activity::is_pop(unit, value)
                    && pure_calls(unit, value, effects)
                    && pure_calls(unit, target, effects)
            }
            StmtKind::Call(..) => call_targets(unit, space, s, effects)
                .is_some_and(|targets| !targets.ones().any(|l| elements.is_live(l, live))),
            StmtKind::Do(d) => match &d.control {
                DoControl::Count {
                    var,
                    from,
                    to,
                    step,
                } => {
                    d.body.iter().all(|s| matches!(s.kind, StmtKind::Comment(_)))
                        // The state after the loop is also the state before its body, which is empty.
                        && !live.contains(space.loc(*var))
                        && [from, to]
                            .into_iter()
                            .chain(step)
                            .all(|e| pure_calls(unit, e, effects))
                }
                // It is not known whether the loop ends.
                _ => false,
            },
            StmtKind::If(b) => {
                b.blocks()
                    .into_iter()
                    .all(|b| b.iter().all(|s| matches!(s.kind, StmtKind::Comment(_))))
                    && b.arms.iter().all(|(c, _)| pure_calls(unit, c, effects))
            }
            StmtKind::Select(b) => {
                b.cases.iter().all(|c| c.body.is_empty()) && pure_calls(unit, &b.selector, effects)
            }
            StmtKind::Continue => s.label.is_none(),
            _ => false,
        };
        if gone && s.label.is_none() {
            found.insert(s.id);
        }
    };
    backward_each(
        &Graph::of(&flow),
        flow.exit,
        exit,
        &nothing,
        &mut |i, live: &mut Set| before(i, live),
        &mut look,
    );
    found
}

/// Removes the given statements. Returns true if anything was removed.
fn prune(block: &mut Block, dead: &HashSet<StmtId>, unit: &Unit, effects: &Effects) -> bool {
    let mut changed = false;
    let mut out = Vec::with_capacity(block.len());
    for mut s in std::mem::take(block) {
        let gone = match &s.kind {
            StmtKind::LogicalIf(c, inner) if dead.contains(&inner.id) => {
                pure_calls(unit, c, effects)
            }
            _ => dead.contains(&s.id),
        };
        if gone {
            changed = true;
            continue;
        }
        if !matches!(s.kind, StmtKind::Where(_)) {
            for b in s.blocks_mut() {
                changed |= prune(b, dead, unit, effects);
            }
            match &mut s.kind {
                StmtKind::If(b) => {
                    changed |= without_empty_arms(unit, b, &|c| pure_calls(unit, c, effects));
                }
                StmtKind::Select(select) => {
                    changed |= without_empty_cases(select);
                    if let Some(simpler) = as_if(select) {
                        s.kind = simpler;
                        changed = true;
                    }
                }
                _ => {}
            }
        }
        out.push(s);
    }
    *block = out;
    changed
}
