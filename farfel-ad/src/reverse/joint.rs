//! Calls with joint sweeps: they have no values on the tape until the reverse sweep reaches them.
//!
//! For a *split* call, the forward sweep of the callee is part of the caller's forward sweep, and its
//! reverse sweep part of the caller's reverse sweep: nothing is executed twice, but its tape exists all the
//! time. For a *joint* call, the forward sweep saves the variables that the subprogram reads and changes, and
//! calls the original. The reverse sweep restores them, executes the subprogram once more, now with a tape,
//! and immediately runs its reverse sweep. In a chain of joint calls, only one at a time has a tape.
//!
//! Each level of nested joint calls costs one more run of everything below it. [`super::cost`] decides which
//! calls are joint.
//!
//! Source: Griewank and Walther, *Evaluating Derivatives*, chapter 12.

use super::call_changes::ChangedPart;
use super::effects::{SideEffects, StatementEffects};
use super::elements::Elements;
use super::saved_variables::SavedVariables;
use super::sweep::Sweeper;
use super::sweep_data::{Replay, Sweeps};
use super::tape::TapeKind;
use super::tbr::Needs;
use super::{AdjointEngine, Part};
use crate::flow::FlowGraph;
use crate::legal::entry_bounds::bound_variables;
use crate::locations::Set;
use farfel_lang::Span;
use farfel_lang::ir::{
    BinOp, Expr, ExprKind, Name, Stmt, StmtId, StorageClass as Storage, SymId, Type, Unit,
};
use farfel_lang::solve::{Graph, forward};
use std::collections::{BTreeSet, HashMap};

/// A variable that a call reads or changes.
pub(super) struct AccessedVariable {
    pub target: Expr,
    pub loc: usize,
    /// The element, or `None` for the whole variable.
    pub element: Option<Elements>,
    pub assigned: bool,
    pub read: bool,
    /// The test of whether it is overwritten before it is read after all.
    pub overwritten: Option<Expr>,
}

impl AdjointEngine {
    /// Whether calls of a part can be executed again.
    pub(super) fn can_be_joint(&self, p: &Part) -> bool {
        let most = match self.goal.heads {
            true => SideEffects::Report,
            // An AD block does not know what procedures without source do besides.
            false => SideEffects::Nothing,
        };
        let effect = self.effects.get(&p.name);
        let keeps_state = self.keep_state.contains(&p.name) || self.keep_state.contains(&p.of);
        !p.root && !keeps_state && effect.is_some_and(|e| e.side_effects <= most)
    }
}

impl Sweeper<'_> {
    pub(super) fn joint_call(
        &mut self,
        id: StmtId,
        part: usize,
        args: &[Expr],
        span: Span,
        needs: &mut Needs,
    ) -> Sweeps {
        let callee = &self.engine.parts[part];
        let set = self.defined_before(id);
        let mut accessed = self.accessed_variables(part, args, needs, span);
        // An undefined variable need not be saved, whatever the call would do with it.
        if let Some(set) = set {
            accessed
                .iter_mut()
                .for_each(|p| p.read &= set.contains(p.loc));
        }
        // `needed`: values from before the call that are needed anyway. `state`: values that the second
        // execution starts from. `both`: both, which stay on the tape until the end.
        let (mut needed, mut state, mut both) = (
            SavedVariables::default(),
            SavedVariables::default(),
            SavedVariables::default(),
        );
        let mut tapes_of_both: BTreeSet<TapeKind> = BTreeSet::new();
        let procedure_args = self.procedure_args(part, args);
        let slices = self.assigned_slices(&callee.of, &procedure_args);
        let parts = self.changed_parts(&callee.of, &procedure_args, &slices, span);
        let elements = self.changed_elements(&slices);
        let mut assigned = Set::with_capacity(self.space.len + self.builder.unit.symbols.len());
        let mut done: Vec<&Expr> = Vec::new();
        // Arrays of which only a part is saved, but that may be read outside of it.
        let mut rest = Vec::new();
        // Arrays that are saved only under a condition, and must stay as they are if it does not hold.
        let mut unchanged: Vec<(usize, ChangedPart)> = Vec::new();
        for p in accessed.iter().filter(|p| p.assigned) {
            assigned.insert(p.loc);
            if done.iter().any(|d| d.equals_ignoring_spans(&p.target)) {
                continue;
            }
            done.push(&p.target);
            // It is read under another name for the same storage, or both as an argument and in COMMON.
            let also_read = |q: &AccessedVariable| {
                q.read
                    && (q.target.equals_ignoring_spans(&p.target)
                        || self.space.tangled.contains(p.loc))
            };
            let mut readers = accessed.iter().filter(|q| q.loc == p.loc && also_read(q));
            let reader = readers.next();
            let read = reader.is_some();
            let unread = reader.and_then(|q| q.overwritten.clone());
            let unread = unread.filter(|_| readers.next().is_none());
            let whole = p.element.is_none();
            let elements = elements.get(&p.loc).filter(|_| whole);
            let mut is_needed = needs.has_some(p.loc, elements, &self.enclosing_loops);
            if let Some(changed) = parts.get(&p.loc).filter(|_| whole) {
                // Elsewhere, the variable below would not exist in both sweeps.
                let is_conditional = self.root && changed.is_conditional();
                if is_conditional {
                    if is_needed && needs.has_unless(p.loc, &changed.condition()) {
                        let made = self.save_part(changed, &Needs::default(), span);
                        let relied = Expr::var(self.relied_on_without(changed, span), span);
                        let test = changed.test().map(|t| Expr::binary(BinOp::And, t, relied));
                        needed.add(test, made.unwrap_or_default());
                        is_needed = false;
                    }
                    if read {
                        unchanged.push((p.loc, changed.clone()));
                    }
                }
                let made = match (is_needed, read) {
                    (false, false) => continue,
                    (true, false) => self.save_part(changed, needs, span),
                    (_, true) => self.save_part(changed, &Needs::default(), span),
                };
                if let Some(made) = made {
                    match (is_needed, read) {
                        (true, true) => {
                            tapes_of_both.extend(self.tape_of(&p.target));
                            both.add(changed.test(), made);
                        }
                        (true, false) => needed.add(changed.test(), made),
                        (false, _) => state.add(changed.test(), made),
                    }
                    self.read_to_select(changed, needs, span);
                    let outside = read
                        && !is_conditional
                        && !self.has_only_part(&callee.of, &procedure_args, p.loc, &accessed);
                    rest.extend(outside.then_some(p.loc));
                    continue;
                }
            }
            let own = match is_needed || elements.is_none() {
                true => self.overwrite(&p.target, needs, span),
                false => Default::default(),
            };
            match (own.0.is_empty(), read) {
                (true, true) => {
                    let made = self.save(&p.target, &Needs::default(), span);
                    let test = unread.map(|overwritten| Expr::not(overwritten, span));
                    state.add(test, made);
                }
                (false, true) => {
                    // The whole variable, even if only a section of it is needed.
                    let made = self.save(&p.target, &Needs::default(), span);
                    tapes_of_both.extend(self.tape_of(&p.target));
                    both.add(None, made);
                }
                (false, false) => needed.add(None, own),
                (true, false) => {}
            }
        }
        self.changed(&assigned, needs);
        rest.into_iter().for_each(|loc| needs.add_all(loc));
        let mut reliances = Vec::new();
        for (loc, part) in unchanged {
            needs.add_all_unless(loc, &part.condition());
            let relied = self.relied_on_without(&part, span);
            let seen = reliances.iter().any(|(r, _)| *r == relied);
            let test = part.test().filter(|_| !seen);
            reliances.extend(test.map(|t| (relied, t)));
        }
        for p in accessed.iter().filter(|p| p.read && !p.assigned) {
            match p.element.clone() {
                Some(e) => needs.add(p.loc, e, &self.enclosing_loops),
                None => {
                    needs.add_all(p.loc);
                }
            }
        }
        self.read_to_pass(callee, args, needs);
        let (sweep, tapes) = self.forward_call(part, args, span);
        let primals = self.primals(part, args);
        let mark = self.builder.variable("AGAIN", Type::INTEGER);
        if both.has_tests() && !self.happens_once() {
            tapes_of_both.insert(TapeKind::Integer(4));
        }
        let (mut forward, needed) = needed.sweeps(self, span);
        let (push, both) = both.sweeps(self, span);
        forward.extend(push);
        let (push, mut backward) = state.sweeps(self, span);
        forward.extend(push);
        for (relied, test) in reliances {
            let set = Stmt::assign(Expr::var(relied, span), Expr::logical(true, span), span);
            forward.push(Stmt::logical_if(Expr::not(test, span), set, span));
        }
        // Tells `tape_size` that the reverse sweep records something later.
        forward.push(Stmt::assign(
            Expr::var(mark, span),
            Expr::int(0, span),
            span,
        ));
        forward.push(self.primal_call(part, primals, span));
        let rerun = vec![sweep];
        let mut put_back = Vec::new();
        for kind in tapes_of_both {
            let top = Expr::var(self.tapes.vars(&mut self.builder, kind).top(), span);
            let kept = Expr::var(self.builder.variable("KEPT", Type::Integer(8)), span);
            backward.push(Stmt::assign(kept.clone(), top.clone(), span));
            put_back.push(Stmt::assign(top, kept, span));
        }
        backward.extend(self.tapes.copy(&mut self.builder, &both));
        backward.extend(put_back);
        backward.extend(rerun.iter().cloned());
        backward.extend(self.backward_call(part, args, tapes, span));
        backward.extend(both);
        backward.extend(needed);
        if self.trial == 0 {
            let one = || Expr::int(1, span);
            let replay = Replay {
                slots: 0,
                filed: 0,
                steps: [one(), one(), one()],
                state: Vec::new(),
                body: rerun,
            };
            self.replays.insert(mark, replay);
        }
        Sweeps { forward, backward }
    }

    /// Whether a procedure gets at a variable only by one argument that is the part that it changes.
    fn has_only_part(
        &self,
        procedure: &Name,
        args: &[Expr],
        loc: usize,
        accessed: &[AccessedVariable],
    ) -> bool {
        let is_it = |a: &Expr| a.base().is_some_and(|b| self.space.loc(b) == loc);
        let mut places = args.iter().enumerate().filter(|(_, a)| is_it(a));
        let (Some((slot, a)), None) = (places.next(), places.next()) else {
            return false;
        };
        let slices = self.engine.slices.get(procedure);
        let slice = slices.and_then(|s| s.get(&slot));
        matches!(a.kind, ExprKind::Element(..))
            && slice.is_some_and(|s| s.is_whole())
            && accessed.iter().filter(|q| q.loc == loc).count() == 1
    }

    /// The variable that tells whether an earlier call relies on arrays that a call changes only under a condition. The
    /// call that did not change them has not saved them, as the condition did not hold then.
    fn relied_on_without(&mut self, part: &ChangedPart, span: Span) -> SymId {
        let condition = part.condition();
        let known = self.relied_on_without.iter().find(|(c, _)| *c == condition);
        if let Some((_, known)) = known {
            return *known;
        }
        let made = self.builder.variable("RELIED", Type::LOGICAL);
        if self.trial == 0 {
            self.relied_on_without.push((condition, made));
            let unset = Expr::logical(false, span);
            self.first_forward
                .push(Stmt::assign(Expr::var(made, span), unset, span));
        }
        made
    }

    /// The tape on which a variable is saved, unless it is saved in another variable.
    fn tape_of(&self, e: &Expr) -> Option<TapeKind> {
        let symbol = &self.builder.unit.symbols[e.base()?];
        let whole = matches!(e.kind, ExprKind::Var(_)) && symbol.is_array();
        let on_tape = !self.happens_once() || whole || symbol.length.is_some();
        symbol.ty.filter(|_| on_tape).map(TapeKind::of)
    }

    /// The locations whose values on entry a part reads; other locations are set before they are read. The
    /// result has no value on entry.
    fn read_on_entry(&mut self, part: usize) -> Set {
        if let Some(known) = self.read_on_entry.get(&part) {
            return known.clone();
        }
        let callee = &self.engine.parts[part];
        let mut found = Sweeper::new(self.engine, self.facts, part).exposed(&callee.body);
        if let Some(result) = callee.value {
            found.set(callee.space.loc(result), false);
        }
        // Bounds in declarations are read before all statements.
        let bounds = bound_variables(&callee.builder.unit);
        found.extend(bounds.into_iter().map(|s| callee.space.loc(s)));
        self.read_on_entry.insert(part, found.clone());
        found
    }

    /// The locations that may be defined when a statement begins; `None` if that is not known.
    pub(super) fn defined_before(&mut self, id: StmtId) -> Option<Set> {
        let all = self.defined_before.take();
        let all = all.unwrap_or_else(|| defined_before(self.engine, self.part));
        let set = all.get(&id).cloned();
        self.defined_before = Some(all);
        set
    }

    /// The variables that a call reads or assigns, in the order of the callee's slots.
    pub(super) fn accessed_variables(
        &mut self,
        part: usize,
        args: &[Expr],
        needs: &Needs,
        span: Span,
    ) -> Vec<AccessedVariable> {
        let callee = &self.engine.parts[part];
        let n = callee.derivative_args.len();
        let mut accessed = Vec::new();
        let Some(effect) = self.engine.effects.get(&callee.name) else {
            return accessed;
        };
        let before = self.read_on_entry(part);
        let procedure_args = self.procedure_args(part, args);
        // The slot of the procedure itself.
        let passed_before = |i: usize| {
            let given = callee.derivative_args.iter().take(i);
            given.filter(|derivative| !**derivative).count()
        };
        let own_slot = |slot: usize| match slot.checked_sub(n) {
            None => passed_before(slot),
            Some(k) => procedure_args.len() + k,
        };
        let is_read = |slot: usize| {
            let within = callee.space.slot(slot);
            let read = effect.read.contains(slot) && within.is_none_or(|l| before.contains(l));
            match read {
                true => self.reads_unless(&callee.of, own_slot(slot), &procedure_args, span),
                false => (false, None),
            }
        };
        let slots = 0..=n + self.engine.commons.vars.len();
        let reads: Vec<(bool, Option<Expr>)> = slots.map(is_read).collect();
        for (i, a) in args.iter().enumerate().take(n) {
            let derivative = callee.derivative_args.get(i).copied().unwrap_or(false);
            let Some(base) = a.base().filter(|_| !derivative) else {
                continue;
            };
            let loc = self.space.loc(base);
            let scalar = callee.scalar_args.get(i).copied().unwrap_or(false);
            let element = match scalar && !self.space.tangled.contains(loc) {
                true => Elements::of(&self.builder.unit, a),
                false => None,
            };
            let (read, overwritten) = reads[i].clone();
            let overwritten = overwritten.filter(|_| self.is_worth_a_test(base));
            accessed.push(AccessedVariable {
                target: match &element {
                    Some(_) => a.clone(),
                    None => Expr::var(base, span),
                },
                loc,
                element,
                assigned: effect.assigned.contains(i),
                read,
                overwritten,
            });
        }
        for k in 0..self.engine.commons.vars.len() {
            let slot = n + 1 + k;
            let assigned = effect.assigned.contains(slot);
            let (read, overwritten) = reads[slot].clone();
            if !assigned && !read || self.engine.derivative_commons.contains(k) {
                continue;
            }
            let loc = self.space.common(k);
            let symbols = self.builder.unit.symbols.iter();
            let here: Vec<_> = symbols
                .filter(|(id, s)| {
                    s.is_variable()
                        && self.space.loc(*id) == loc
                        && !self.builder.derivatives.contains(id)
                })
                .map(|(id, _)| id)
                .collect();
            if here.is_empty() && assigned && (read || needs.has(loc)) {
                let why = format!(
                    "{} cannot be carried out again: it changes a COMMON variable",
                    callee.of
                );
                self.undeclared(loc, &why, span);
            }
            let place = |target: Expr| AccessedVariable {
                loc,
                element: None,
                assigned,
                read,
                overwritten: (overwritten.clone())
                    .filter(|_| target.base().is_some_and(|a| self.is_worth_a_test(a))),
                target,
            };
            if here.is_empty() {
                accessed.push(place(Expr::int(0, span)));
            }
            // A block that units divide differently is one location with several variables.
            accessed.extend(here.into_iter().map(|s| place(Expr::var(s, span))));
        }
        accessed
    }
}

/// For each statement of a part, the locations that may be defined when it begins.
fn defined_before(engine: &AdjointEngine, part: usize) -> HashMap<StmtId, Set> {
    let p = &engine.parts[part];
    let unit = Unit {
        body: p.body.clone(),
        ..p.builder.unit.clone()
    };
    let space = &p.space;
    let flow = FlowGraph::of(&unit);
    // If variables share a location, any of them may be defined on entry.
    let mut entry = Set::with_capacity(space.len);
    for (id, s) in unit.symbols.iter().filter(|(_, s)| s.is_variable()) {
        if s.storage_class != Storage::Local || space.saved.contains(space.loc(id)) {
            entry.insert(space.loc(id));
        }
    }
    entry.extend((0..engine.commons.vars.len()).map(|k| space.common(k)));
    let found = forward(
        &Graph::of(&flow),
        flow.entry,
        entry,
        &mut |n, set: &mut Set| {
            if let Some(s) = flow.stmts.get(n) {
                let mut touched = StatementEffects::nothing(space.len);
                engine.effects.own(&unit, space, s, &mut touched);
                set.union_with(&touched.assigned);
            }
        },
    );
    let stmts = flow.stmts.iter().zip(found);
    stmts.filter_map(|(s, set)| Some((s.id, set?))).collect()
}
