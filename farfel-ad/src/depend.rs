//! Dependence analysis: the assignments that a statement makes, and for each unit, which of its
//! outputs depend on which of its inputs.
//!
//! "Depends" always means: with a derivative that may be nonzero. A value that passes through an
//! INTEGER, a condition or a subscript does not depend on its origin.

use crate::calls::{CallSite, calls};
use crate::custom_rules::rules::{ProcedureDescription, Rule, Rules};
use crate::flow::FlowGraph;
use crate::locations::{Commons, Set, Space, differentiable};
use crate::matrix::Matrix;
pub(crate) use crate::matrix::{Move, Moves};
use farfel_lang::access::{self, Access, AccessKind, NewValue};
use farfel_lang::callgraph::ReachableUnits;
use farfel_lang::effects::{Effect, Effects, EffectsOptions, Locations, StatementEffects};
use farfel_lang::intrinsics::Op;
use farfel_lang::ir::{Class, Expr, ExprKind, Name, Stmt, StorageClass, SymId, Symbol, Type, Unit};
use farfel_lang::solve::{Graph, forward_each};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

/// For each slot of a unit, the slots on which its value on exit depends.
///
/// Of thousands of COMMON variables, a unit changes few. All others depend on themselves, and are
/// not stored.
#[derive(Debug, Clone, PartialEq)]
pub struct SlotDependences {
    slots: usize,
    /// The slot of the result, which has no value on entry.
    result: usize,
    others: BTreeMap<usize, Set>,
}

impl SlotDependences {
    /// Creates the dependence for a unit where each slot keeps its value.
    fn unchanged(slots: usize, result: usize) -> Self {
        SlotDependences {
            slots,
            result,
            others: BTreeMap::new(),
        }
    }

    /// Returns the number of slots.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Returns the slots on which a slot depends.
    pub fn of(&self, slot: usize) -> Cow<'_, Set> {
        if let Some(set) = self.others.get(&slot) {
            return Cow::Borrowed(set);
        }
        let mut set = Set::with_capacity(self.slots);
        set.set(slot, slot != self.result);
        Cow::Owned(set)
    }

    /// Whether a slot depends on another one.
    pub fn has(&self, slot: usize, on: usize) -> bool {
        match self.others.get(&slot) {
            Some(set) => set.contains(on),
            None => slot == on && slot != self.result,
        }
    }

    /// Whether a slot depends on any of a set of slots.
    pub fn meets(&self, slot: usize, some: &Set) -> bool {
        match self.others.get(&slot) {
            Some(set) => !set.is_disjoint(some),
            None => slot != self.result && some.contains(slot),
        }
    }

    /// Adds the slots on which a slot depends to a set.
    pub fn add_to(&self, slot: usize, out: &mut Set) {
        match self.others.get(&slot) {
            Some(set) => out.union_with(set),
            None => out.extend((slot != self.result).then_some(slot)),
        }
    }

    /// Adds the dependences of another one. Returns whether that changed anything.
    fn join(&mut self, other: &SlotDependences) -> bool {
        let mut changed = false;
        for (slot, set) in &mut self.others {
            let before = set.count_ones(..);
            other.add_to(*slot, set);
            changed |= set.count_ones(..) > before;
        }
        for (slot, set) in &other.others {
            if !self.others.contains_key(slot) {
                let own = self.of(*slot);
                if !set.is_subset(&own) {
                    let mut own = own.into_owned();
                    own.union_with(set);
                    self.others.insert(*slot, own);
                    changed = true;
                }
            }
        }
        changed
    }
}

/// What one unit does, as seen by its callers.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// For each slot, the slots on which its value on exit depends.
    pub depends: SlotDependences,
    /// The slots that may be assigned.
    pub assigned: Set,
    /// The dummy arguments that are arrays.
    pub arrays: Set,
    /// For each slot, the assumed-size dummy arguments through which its value may have passed:
    /// callers that want its derivative have to pass the derivatives of these arguments, as nobody
    /// else knows their size.
    pub through: Vec<Set>,
    /// The number of arguments.
    pub args: usize,
}

/// The summaries of all units that are reachable from a head.
#[derive(Debug)]
pub struct Dependence {
    /// The COMMON variables.
    pub commons: Commons,
    /// The given derivatives.
    pub rules: Rules,
    /// Subroutines of which calls without derivatives are generated like those with derivatives, so
    /// that reverse sweeps can undo them: only the subroutines know what they overwrite
    /// ([`crate::reverse`]).
    pub self_restoring: HashSet<Name>,
    summaries: HashMap<Name, Summary>,
}

/// Adds the effects of a statement on derivatives. Some constant statements leave derivatives
/// unchanged.
fn own(
    effects: &Effects,
    unit: &Unit,
    at: &dyn Locations,
    s: &Stmt,
    touched: &mut StatementEffects,
) {
    if !unit.leaves_derivatives {
        effects.statement(unit, at, s, touched);
    }
}

/// The variables of a unit that can have a derivative.
struct Differentiable<'u>(&'u Unit, &'u Space);

impl Locations for Differentiable<'_> {
    fn loc(&self, s: SymId) -> Option<usize> {
        differentiable(&self.0.symbols[s]).then(|| self.1.loc(s))
    }

    fn common(&self, number: usize) -> Option<usize> {
        Some(self.1.common(number))
    }
}

impl Dependence {
    /// Analyses the units of a call graph: a least fixed point. Of the given derivatives, only
    /// constant procedures are taken into account.
    pub fn of(graph: &ReachableUnits) -> Self {
        Self::with(graph, Rules::without_derivatives(&graph.units))
    }

    /// Like [`Self::of`], with procedures whose derivatives are given: the rules take precedence
    /// over the source.
    pub fn with(graph: &ReachableUnits, rules: Rules) -> Self {
        let commons = Commons::of(&graph.units);
        let mut d = Dependence {
            commons,
            rules,
            self_restoring: HashSet::new(),
            summaries: HashMap::new(),
        };
        let parts: Vec<(&Unit, Space, FlowGraph)> = graph
            .units
            .iter()
            .map(|u| (*u, Space::of(u, &d.commons), FlowGraph::of(u)))
            .collect();
        for (u, space, _) in &parts {
            let is = |f: &dyn Fn(&Symbol) -> bool| {
                let mut set = Set::with_capacity(space.slots);
                set.extend(
                    u.args
                        .iter()
                        .enumerate()
                        .filter(|(_, a)| a.sym().is_some_and(|s| f(&u.symbols[s])))
                        .map(|(i, _)| i),
                );
                set
            };
            d.summaries.insert(
                u.name.clone(),
                Summary {
                    depends: SlotDependences::unchanged(space.slots, space.result_slot()),
                    assigned: Set::with_capacity(space.slots),
                    arrays: is(&Symbol::is_array),
                    through: Vec::new(),
                    args: u.args.len(),
                },
            );
        }
        d.add_unknown();
        // First the assigned variables: they determine which old values survive a call.
        let effects = d.effects(&parts);
        for (u, ..) in &parts {
            if let (Some(summary), Some(effect)) =
                (d.summaries.get_mut(&u.name), effects.get(&u.name))
            {
                summary.assigned.union_with(&effect.assigned);
            }
        }
        // Then dependence, as a least fixed point: assigned variables initially depend on nothing,
        // and the sets only grow.
        for summary in d.summaries.values_mut() {
            let (slots, depends) = (summary.depends.slots, &mut summary.depends.others);
            for i in summary.assigned.ones() {
                depends
                    .entry(i)
                    .or_insert_with(|| Set::with_capacity(slots));
            }
        }
        graph.fixed_point(|i| {
            let (unit, space, flow) = &parts[i];
            let mut new = d.dependence(unit, space, flow);
            if let Some(rule) = d.rules.get(&unit.name) {
                for slot in 0..space.slots {
                    if let Some(given) = rule.depends(slot, space.slots) {
                        new.others.insert(slot, given);
                    }
                }
            }
            let old = d.summaries.get_mut(&unit.name);
            old.is_some_and(|old| old.depends.join(&new))
        });
        graph.fixed_point(|i| {
            let (unit, space, flow) = &parts[i];
            let new = d.through(unit, space, flow);
            match d.summaries.get_mut(&unit.name) {
                Some(old) if old.through != new => {
                    old.through = new;
                    true
                }
                _ => false,
            }
        });
        d
    }

    /// Adds summaries of procedures without source, from their rules.
    fn add_unknown(&mut self) {
        let unknown = self.rules.iter().filter(|(_, r)| !r.constant);
        for (name, rule) in unknown {
            let slots = rule.args + 1 + self.commons.vars.len();
            let mut assigned = Set::with_capacity(slots);
            assigned.extend(rule.outputs.iter().copied());
            let of = |slot| {
                let mut set = rule.depends(slot, slots)?;
                set.extend((slot != rule.args && !assigned.contains(slot)).then_some(slot));
                Some((slot, set))
            };
            let summary = Summary {
                depends: SlotDependences {
                    others: (0..slots).filter_map(of).collect(),
                    ..SlotDependences::unchanged(slots, rule.args)
                },
                assigned,
                arrays: Set::with_capacity(slots),
                through: Vec::new(),
                args: rule.args,
            };
            self.summaries.entry(name.clone()).or_insert(summary);
        }
    }

    /// Computes which differentiable variables the units assign; for those without source, from
    /// their rules.
    fn effects(&self, parts: &[(&Unit, Space, FlowGraph)]) -> Effects {
        let commons = self.commons.vars.len();
        let without_source = self.rules.iter().map(|(name, rule)| {
            let mut effect = Effect::nothing(rule.args, commons);
            if !rule.constant {
                effect.assigned.extend(rule.outputs.iter().copied());
            }
            (name.clone(), effect)
        });
        // Callees last.
        let parts = parts.iter().rev();
        let followed: Vec<_> = parts.map(|(u, s, _)| Differentiable(u, s)).collect();
        let units = followed.iter().map(|f| (f.0, f as &dyn Locations));
        let question = EffectsOptions {
            commons,
            without_source: without_source.collect(),
            find_effects: own,
            ..EffectsOptions::default()
        };
        Effects::of(&units.collect::<Vec<_>>(), question)
    }

    /// Returns the rule for a procedure that a unit calls.
    pub fn rule(&self, unit: &Unit, s: SymId) -> Option<&Rule> {
        let s = &unit.symbols[s];
        (s.storage_class == StorageClass::Global)
            .then(|| self.rules.get(&s.name))
            .flatten()
    }

    /// Returns the description of a procedure without source that a unit calls.
    pub fn described(&self, unit: &Unit, s: SymId) -> ProcedureDescription<'_> {
        let s = &unit.symbols[s];
        match s.storage_class {
            StorageClass::Global => self.rules.described(&s.name),
            // It is not known which procedure it is.
            _ => self.rules.described(""),
        }
    }

    /// Returns the summary of a top-level unit.
    pub fn summary(&self, unit: &str) -> Option<&Summary> {
        self.summaries.get(unit)
    }

    /// Returns the summary of a procedure that a unit calls; `None` if its source is not available.
    pub fn callee<'s>(&'s self, unit: &Unit, s: SymId) -> Option<&'s Summary> {
        let s = &unit.symbols[s];
        (s.storage_class == StorageClass::Global)
            .then(|| self.summaries.get(&s.name))
            .flatten()
    }

    /// Adds the locations on which the value of an expression depends.
    pub fn depends(&self, unit: &Unit, space: &Space, e: &Expr, out: &mut Set) {
        match &e.kind {
            ExprKind::Var(s) | ExprKind::Element(s, _) if differentiable(&unit.symbols[*s]) => {
                out.insert(space.loc(*s));
            }
            ExprKind::Array(a) => {
                for item in &a.items {
                    self.depends(unit, space, item, out);
                }
            }
            ExprKind::ImpliedDo(d) => {
                for item in &d.items {
                    self.depends(unit, space, item, out);
                }
            }
            ExprKind::Paren(a)
            | ExprKind::Unary(_, a)
            | ExprKind::Percent(_, a)
            | ExprKind::Keyword(_, a) => self.depends(unit, space, a, out),
            ExprKind::Binary(op, a, b) if op.is_arithmetic() => {
                self.depends(unit, space, a, out);
                self.depends(unit, space, b, out);
            }
            ExprKind::Call(s, args) => match &unit.symbols[*s].class {
                Class::Intrinsic(i) => {
                    let n = match i.op {
                        Op::Aint | Op::Anint | Op::Nint | Op::Other => 0,
                        Op::Sign => 1,
                        Op::Convert | Op::Max | Op::Min
                            if matches!(
                                i.result,
                                farfel_lang::intrinsics::ResultType::Fixed(Type::Integer(_))
                            ) =>
                        {
                            0
                        }
                        _ => args.len(),
                    };
                    for a in args.iter().take(n) {
                        self.depends(unit, space, a, out);
                    }
                }
                Class::StatementFunction(_, value) => {
                    for a in args {
                        self.depends(unit, space, a, out);
                    }
                    self.depends(unit, space, value, out);
                }
                _ => {
                    let constant = self.rule(unit, *s).is_some_and(|r| r.constant);
                    if constant || !unit.symbols[*s].ty.is_some_and(Type::is_differentiable) {
                        return;
                    }
                    match self.callee(unit, *s) {
                        Some(summary) => {
                            let from = summary.depends.of(summary.args);
                            let call = CallSite::new(*s, args);
                            self.slots_to_locs(unit, space, summary, call, &from, out);
                        }
                        None => {
                            let described = self.described(unit, *s);
                            let read = args.iter().enumerate().filter(|(i, _)| described.reads(*i));
                            for (_, a) in read {
                                self.depends(unit, space, a, out);
                            }
                        }
                    }
                }
            },
            _ => {}
        }
    }

    /// Adds the locations on which the actual arguments for some slots of a callee depend.
    fn slots_to_locs(
        &self,
        unit: &Unit,
        space: &Space,
        callee: &Summary,
        call: CallSite,
        slots: &Set,
        out: &mut Set,
    ) {
        for j in slots.ones() {
            if j < callee.args {
                self.argument(unit, space, call, j, out);
            } else if j > callee.args {
                out.insert(space.common(j - callee.args - 1));
            }
        }
    }

    /// Adds the locations on which the actual argument at a position of a call depends. If the call
    /// is in a statement function, its dummy arguments are replaced by all actual arguments of the
    /// reference.
    pub fn argument(&self, unit: &Unit, space: &Space, call: CallSite, i: usize, out: &mut Set) {
        let Some(a) = call.args.get(i) else { return };
        for a in call.within.into_iter().flatten().chain([a]) {
            self.depends(unit, space, a, out);
        }
    }

    /// Returns the simultaneous assignments of one call.
    pub fn call_moves(&self, unit: &Unit, space: &Space, call: CallSite) -> Vec<Move> {
        let mut moves = Vec::new();
        let target = |a: &Expr| match &a.kind {
            ExprKind::Var(s) | ExprKind::Element(s, _) if differentiable(&unit.symbols[*s]) => {
                let loc = space.loc(*s);
                Some((
                    loc,
                    matches!(a.kind, ExprKind::Var(_)) && !space.weak.contains(loc),
                ))
            }
            _ => None,
        };
        let Some(callee) = self.callee(unit, call.callee) else {
            if self.rule(unit, call.callee).is_some_and(|r| r.constant) {
                // Without source or a list of outputs it does not change anything that has a
                // derivative.
                return moves;
            }
            let described = self.described(unit, call.callee);
            let mut from = Set::with_capacity(space.len);
            for i in (0..call.args.len()).filter(|i| described.reads(*i)) {
                self.argument(unit, space, call, i, &mut from);
            }
            let written = call.args.iter().enumerate();
            let written = written.filter(|(i, _)| described.writes(*i));
            for (target, _) in written.filter_map(|(_, a)| target(a)) {
                moves.push(Move {
                    target,
                    strong: false,
                    from: from.clone(),
                });
            }
            return moves;
        };
        for o in callee.assigned.ones() {
            let (target, strong) = if o < callee.args {
                match call.args.get(o).and_then(target) {
                    Some(t) => t,
                    None => continue,
                }
            } else if o > callee.args {
                let loc = space.common(o - callee.args - 1);
                (loc, !space.weak.contains(loc))
            } else {
                continue;
            };
            let mut from = Set::with_capacity(space.len);
            self.slots_to_locs(unit, space, callee, call, &callee.depends.of(o), &mut from);
            moves.push(Move {
                target,
                strong,
                from,
            });
        }
        moves
    }

    /// Returns the assignments of a statement itself: consecutive groups of simultaneous
    /// assignments. `masked`: whether it is in a WHERE.
    pub fn moves(&self, unit: &Unit, space: &Space, stmt: &Stmt, masked: bool) -> Vec<Moves> {
        let mut groups = Vec::new();
        access::statement(unit, stmt, masked, &mut |a| match a {
            Access::Call(call) => {
                let mut group = self.call_moves(unit, space, call.into());
                if !call.certain {
                    group.iter_mut().for_each(|m| m.strong = false);
                }
                if !group.is_empty() {
                    groups.push(Moves { group, own: false });
                }
            }
            Access::Variable {
                sym, kind, value, ..
            } if kind.changes() && differentiable(&unit.symbols[sym]) => {
                let mut from = Set::with_capacity(space.len);
                match value {
                    NewValue::Value(e) => self.depends(unit, space, e, &mut from),
                    NewValue::Count { from: first, step } => {
                        for e in std::iter::once(first).chain(step) {
                            self.depends(unit, space, e, &mut from);
                        }
                    }
                    NewValue::Elsewhere => {}
                }
                let target = space.loc(sym);
                let array = unit.symbols[sym].is_array();
                let alone =
                    !space.weak.contains(target) || array && !space.tangled.contains(target);
                let own = Move {
                    target,
                    strong: kind == AccessKind::Write && alone,
                    from,
                };
                groups.push(Moves {
                    group: vec![own],
                    own: true,
                });
            }
            _ => {}
        });
        groups
    }

    /// Returns the assignments of each statement of a unit.
    pub fn moves_of(&self, unit: &Unit, space: &Space, flow: &FlowGraph) -> Vec<Vec<Moves>> {
        let stmts = flow.stmts.iter().zip(&flow.masked);
        let moves = stmts.map(|(s, masked)| self.moves(unit, space, s, *masked));
        moves.collect()
    }

    /// Returns, for each slot of a unit, the assumed-size arguments through which its value may
    /// have passed, with statements in any order. Empty if there are no such arguments.
    fn through(&self, unit: &Unit, space: &Space, flow: &FlowGraph) -> Vec<Set> {
        let Some(summary) = self.summary(&unit.name) else {
            return Vec::new();
        };
        let open = |i: &usize| {
            let symbol = unit.args.get(*i).and_then(|a| a.sym());
            symbol.is_some_and(|s| has_open_size(&unit.symbols[s]))
        };
        let open: Vec<usize> = summary.assigned.ones().filter(open).collect();
        if open.is_empty() {
            return Vec::new();
        }
        // The targets of the value of each location, and of what passes through each argument.
        let mut next: Vec<Vec<usize>> = vec![Vec::new(); space.len];
        let mut starts: HashMap<usize, Vec<usize>> = HashMap::new();
        for (s, masked) in flow.stmts.iter().zip(&flow.masked) {
            let moves = self.moves(unit, space, s, *masked);
            for m in moves.iter().flat_map(|m| &m.group) {
                m.from.ones().for_each(|loc| next[loc].push(m.target));
            }
            for (call, _) in calls(unit, s) {
                let Some(callee) = self.callee(unit, call.callee) else {
                    continue;
                };
                for (slot, through) in callee.through.iter().enumerate() {
                    let to: Vec<usize> = match slot {
                        _ if slot > callee.args => vec![space.common(slot - callee.args - 1)],
                        _ if slot < callee.args => {
                            let base = call.args.get(slot).and_then(Expr::base);
                            base.map(|s| space.loc(s)).into_iter().collect()
                        }
                        // The value of a function flows to the targets of the statement, or to
                        // whatever the statement passes it to.
                        _ => {
                            let all = moves.iter().flat_map(|m| &m.group);
                            all.map(|m| m.target).collect()
                        }
                    };
                    for q in through.ones() {
                        if let Some(s) = call.args.get(q).and_then(Expr::base) {
                            starts.entry(space.loc(s)).or_default().extend(&to);
                        }
                    }
                }
            }
        }
        let mut through = vec![Set::with_capacity(unit.args.len()); space.slots];
        for i in open {
            let Some(own) = space.slot(i) else { continue };
            let mut reached = Set::with_capacity(space.len);
            let mut open = next[own].clone();
            open.extend(starts.get(&own).into_iter().flatten());
            while let Some(loc) = open.pop() {
                if !reached.put(loc) {
                    open.extend(&next[loc]);
                }
            }
            for (slot, set) in through.iter_mut().enumerate() {
                if slot != i && space.slot(slot).is_some_and(|l| reached.contains(l)) {
                    set.insert(i);
                }
            }
        }
        through
    }

    /// Returns, for each slot of a unit, the slots on which its value on exit depends.
    fn dependence(&self, unit: &Unit, space: &Space, flow: &FlowGraph) -> SlotDependences {
        let mut depends = SlotDependences::unchanged(space.slots, space.result_slot());
        let moves = self.moves_of(unit, space, flow);
        let concerned = MovedLocations::of(space, &moves);
        let moves: Vec<Vec<Vec<Move>>> = (moves.iter())
            .map(|all| all.iter().map(|m| concerned.moves(&m.group)).collect())
            .collect();
        // The state: for each location, the slots on which it depends.
        let mut entry = Matrix::new(concerned.locs.len(), concerned.slots.len());
        for (column, slot) in concerned.slots.iter().enumerate() {
            if *slot != space.result_slot()
                && let Some(row) = space.slot(*slot).and_then(|loc| concerned.row(loc))
            {
                entry.insert(row, column);
            }
        }
        let exit = loop {
            let mut exit = None;
            forward_each(
                &Graph::of(flow),
                flow.entry,
                entry.clone(),
                &mut |n, state: &mut Matrix| {
                    let groups = moves.get(n).into_iter().flatten();
                    groups.for_each(|group| state.assign(group));
                },
                &mut |n, state| {
                    if n == flow.exit {
                        exit = Some(state.clone());
                    }
                },
            );
            let Some(exit) = exit else {
                // The unit never returns.
                let nothing = |slot| (slot, Set::with_capacity(space.slots));
                depends.others = (0..space.slots).map(nothing).collect();
                return depends;
            };
            let mut changed = false;
            for row in space.saved.ones().filter_map(|loc| concerned.row(loc)) {
                changed |= entry.union_row(row, &exit);
            }
            if !changed {
                break exit;
            }
        };
        for slot in &concerned.slots {
            if let Some(loc) = space.slot(*slot)
                && let Some(row) = concerned.row(loc)
            {
                let mut set = Set::with_capacity(space.slots);
                set.extend(exit.row(row).map(|column| concerned.slots[column]));
                if space.weak.contains(loc) && *slot != space.result_slot() {
                    // The caller's array may be larger.
                    set.insert(*slot);
                }
                depends.others.insert(*slot, set);
            }
        }
        depends
    }
}

/// The locations between which the statements of a unit move values, and those of several slots.
/// All others keep the values of their slots.
struct MovedLocations {
    /// The locations, in order.
    locs: Vec<usize>,
    /// The index of each location in the list.
    rows: HashMap<usize, usize>,
    /// Their slots.
    slots: Vec<usize>,
}

impl MovedLocations {
    fn of(space: &Space, moves: &[Vec<Moves>]) -> Self {
        let mut all = Set::with_capacity(space.len);
        for m in moves.iter().flatten().flat_map(|m| &m.group) {
            all.insert(m.target);
            all.union_with(&m.from);
        }
        let mut seen = Set::with_capacity(space.len);
        for (slot, loc) in (0..space.slots).filter_map(|s| Some((s, space.slot(s)?))) {
            if seen.put(loc) || slot == space.result_slot() {
                all.insert(loc);
            }
        }
        let locs: Vec<usize> = all.ones().collect();
        let rows = locs.iter().enumerate().map(|(row, loc)| (*loc, row));
        let concerned = |slot: &usize| space.slot(*slot).is_some_and(|loc| all.contains(loc));
        MovedLocations {
            rows: rows.collect(),
            slots: (0..space.slots).filter(concerned).collect(),
            locs,
        }
    }

    /// Returns the index of a location in the list.
    fn row(&self, loc: usize) -> Option<usize> {
        self.rows.get(&loc).copied()
    }

    /// Translates moves to these indices.
    fn moves(&self, group: &[Move]) -> Vec<Move> {
        let moved = group.iter().filter_map(|m| {
            let mut from = Set::with_capacity(self.locs.len());
            from.extend(m.from.ones().filter_map(|loc| self.row(loc)));
            Some(Move {
                target: self.row(m.target)?,
                strong: m.strong,
                from,
            })
        });
        moved.collect()
    }
}

/// Applies a group of simultaneous assignments to a set of varied locations.
pub fn apply_varied(varied: &mut Set, group: &[Move]) {
    let hit: Vec<bool> = group.iter().map(|m| !m.from.is_disjoint(varied)).collect();
    for m in group {
        if m.strong && group.iter().filter(|x| x.target == m.target).count() == 1 {
            varied.remove(m.target);
        }
    }
    for (m, hit) in group.iter().zip(hit) {
        if hit {
            varied.insert(m.target);
        }
    }
}

/// Whether only the caller knows the size of the array. Before FORTRAN 77 `X(1)` was written for
/// `X(*)`, and many libraries still do so.
fn has_open_size(s: &Symbol) -> bool {
    s.dims.last().is_some_and(|d| {
        let open = |u: &Expr| matches!(u.kind, ExprKind::Star | ExprKind::Int(1));
        d.upper.as_ref().is_none_or(open)
    })
}
