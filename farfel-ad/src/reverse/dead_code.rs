//! Removes statements whose results are not used: much of a forward sweep, if the values of the function
//! itself are not wanted.
//!
//! A variable is live if its value is used for something that matters: a derivative, a condition, a call, an
//! argument that the caller reads. A value that is used only for dead variables does not make its operands
//! live (strong liveness: R. Giegerich, U. Möncke and R. Wilhelm, *Invariance of approximative semantics with
//! respect to program transformations*, GI 1981).

use super::AdjointEngine;
use super::effects::{Effects, SideEffects, StatementEffects};
use super::generated::GeneratedUnit;
use crate::flow::FlowGraph;
use crate::legal::structure::negation;
use crate::locations::{Commons, Set, Space};
use farfel_lang::dataflow::Intents;
use farfel_lang::ir::{
    Block, Class, DoControl, Expr, ExprKind, IfBlock, Name, Stmt, StmtId, StmtKind, StorageClass,
    SymId, Unit,
};
use farfel_lang::solve::{Graph, backward_each};
use std::collections::{BTreeSet, HashMap, HashSet};

/// What is read after calls of a unit, at any call site.
#[derive(Debug, Clone, Default)]
pub(super) struct LiveAfterCalls {
    /// Positions of arguments.
    pub args: HashSet<usize>,
    /// COMMON variables.
    pub commons: HashSet<usize>,
}

/// Removes dead statements from all units. Callers are processed before the forward sweeps that they call:
/// these need not compute what no caller reads afterwards.
/// `intents` says what all procedures do with their arguments.
pub(super) fn remove_all(
    engine: &AdjointEngine,
    made: &mut [GeneratedUnit],
    effects: &Effects,
    intents: &Intents,
) {
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
            m.commons = Set::with_capacity(engine.commons.vars.len());
            m.commons.extend(after.commons.iter().copied());
        }
        let live_after = |s: SymId| m.live_after.contains(&s);
        let calls = remove(
            &mut m.unit,
            &engine.commons,
            effects,
            intents,
            &live_after,
            &m.commons,
        );
        for (name, more) in calls {
            let all = after.entry(name).or_default();
            all.args.extend(more.args);
            all.commons.extend(more.commons);
        }
        for c in &callees[i] {
            waits[*c] -= 1;
        }
    }
}

/// Removes dead statements from a unit. `live_after` says which arguments and COMMON variables are read after
/// the unit; `commons_wanted` has those COMMON variables that the unit does not declare. Returns what is read
/// after the calls in it.
pub(super) fn remove(
    unit: &mut Unit,
    commons: &Commons,
    effects: &Effects,
    intents: &Intents,
    live_after: &dyn Fn(SymId) -> bool,
    commons_wanted: &Set,
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
        let mut calls = HashMap::new();
        let dead = dead(unit, &space, effects, intents, exit, &mut calls);
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

/// The local scalars that a call assigns on every path, and does not read before.
fn overwritten(unit: &Unit, space: &Space, s: &Stmt, intents: &Intents) -> Vec<usize> {
    let StmtKind::Call(callee, args) = &s.kind else {
        return Vec::new();
    };
    let known = intents.get(&unit.symbols[*callee].name);
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
            && used.always
            && !used.reads
            && unit.symbols[v].storage_class == StorageClass::Local
            && !unit.symbols[v].is_array()
            && passed(v) == 1
        {
            let loc = space.loc(v);
            if !space.tangled.contains(loc) && !space.weak.contains(loc) {
                found.push(loc);
            }
        }
    }
    found
}

/// The statements whose results are not read.
fn dead(
    unit: &Unit,
    space: &Space,
    effects: &Effects,
    intents: &Intents,
    exit: Set,
    calls: &mut HashMap<Name, LiveAfterCalls>,
) -> HashSet<StmtId> {
    let flow = FlowGraph::of(unit);
    let reads = |e: &Expr, live: &mut Set| effects.value(unit, space, e, live);
    let before = |i: usize, after: &Set| -> Set {
        let mut live = after.clone();
        let Some(s) = flow.stmts.get(i) else {
            return live;
        };
        match &s.kind {
            StmtKind::Assign(target, value) => {
                let Some(t) = target.base() else { return live };
                let loc = space.loc(t);
                let needed = after.contains(loc)
                    || crate::activity::is_pop(unit, value)
                    || !pure_calls(unit, value, effects)
                    || !pure_calls(unit, target, effects);
                if !needed {
                    return live;
                }
                let whole = matches!(target.kind, ExprKind::Var(_))
                    && !flow.masked[i]
                    && !space.tangled.contains(loc)
                    && (!space.weak.contains(loc) || unit.symbols[t].is_array());
                if whole {
                    live.remove(loc);
                }
                reads(value, &mut live);
                target
                    .children()
                    .into_iter()
                    .for_each(|c| reads(c, &mut live));
            }
            StmtKind::Call(..) => {
                if let Some(targets) = call_targets(unit, space, s, effects)
                    && targets.is_disjoint(after)
                {
                    return live;
                }
                let mut touched = StatementEffects::nothing(space.len);
                effects.own(unit, space, s, &mut touched);
                // Of the others, it may assign only a part, or nothing.
                live.union_with(&touched.assigned);
                effects.reads(unit, space, s, &mut live);
                for loc in overwritten(unit, space, s, intents) {
                    live.set(loc, false);
                }
            }
            _ => {
                let mut touched = StatementEffects::nothing(space.len);
                effects.own(unit, space, s, &mut touched);
                if let StmtKind::Do(d) = &s.kind
                    && let DoControl::Count { var, .. } = d.control
                {
                    touched.read.set(space.loc(var), false);
                    // The loop itself assigns it.
                    live.set(space.loc(var), false);
                }
                live.union_with(&touched.read);
            }
        }
        live
    };
    let nothing = Set::with_capacity(space.len);
    let mut found = HashSet::new();
    let mut look = |i: usize, live: &Set| {
        let Some(s) = flow.stmts.get(i) else { return };
        if let StmtKind::Call(callee, args) = &s.kind {
            let name = &unit.symbols[*callee].name;
            let after = calls.entry(name.clone()).or_default();
            let read = |a: &Expr| a.base().is_some_and(|s| live.contains(space.loc(s)));
            let args = args.iter().enumerate().filter(|(_, a)| read(a));
            after.args.extend(args.map(|(n, _)| n));
            let commons = live.ones().filter_map(|l| space.common_at(l));
            after.commons.extend(commons);
        }
        let gone = match &s.kind {
            StmtKind::Assign(target, value) => {
                // A value that was pushed on a tape is popped, whether it is used or not.
                target.base().is_some_and(|t| !live.contains(space.loc(t)))
                    && !crate::activity::is_pop(unit, value)
                    && pure_calls(unit, value, effects)
                    && pure_calls(unit, target, effects)
            }
            StmtKind::Call(..) => call_targets(unit, space, s, effects)
                .is_some_and(|targets| targets.is_disjoint(live)),
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
        &mut |i, live: &mut Set| *live = before(i, live),
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
            if let StmtKind::If(b) = &mut s.kind {
                changed |= without_empty_arms(b, unit, effects);
            }
        }
        out.push(s);
    }
    *block = out;
    changed
}

/// Removes empty arms: the ELSE, the last ELSE IF, and an IF with nothing but an ELSE. Returns true if anything
/// was removed.
fn without_empty_arms(b: &mut IfBlock, unit: &Unit, effects: &Effects) -> bool {
    let mut changed = false;
    if b.otherwise.as_ref().is_some_and(Vec::is_empty) {
        b.otherwise = None;
        changed = true;
    }
    while b.otherwise.is_none()
        && b.arms.len() > 1
        && let Some((condition, last)) = b.arms.last()
        && last.is_empty()
        && pure_calls(unit, condition, effects)
    {
        b.arms.pop();
        changed = true;
    }
    if let [(condition, then)] = b.arms.as_mut_slice()
        && then.is_empty()
        && let Some(otherwise) = b.otherwise.take()
    {
        *then = otherwise;
        *condition = negation(unit, condition.clone());
        changed = true;
    }
    let arms = b.arms.len() - 1 + usize::from(b.otherwise.is_some());
    b.marks.truncate(arms);
    changed
}
