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

use super::effects::{SideEffects, StatementEffects};
use super::elements::Elements;
use super::sweep::Sweeper;
use super::sweep_data::{Replay, Sweeps};
use super::tbr::Needs;
use super::{AdjointEngine, Part};
use crate::flow::FlowGraph;
use crate::legal::entry_bounds::bound_variables;
use crate::locations::Set;
use farfel_lang::Span;
use farfel_lang::ir::{Block, Expr, Stmt, StmtId, StorageClass as Storage, Type, Unit};
use farfel_lang::solve::{Graph, forward};
use std::collections::HashMap;

/// A variable that a call reads or changes.
pub(super) struct AccessedVariable {
    pub target: Expr,
    pub loc: usize,
    /// The element, or `None` for the whole variable.
    pub element: Option<Elements>,
    pub assigned: bool,
    pub read: bool,
}

/// The statements that save some variables, and those that restore them.
#[derive(Default)]
pub(super) struct SavedVariables {
    pub push: Block,
    pops: Vec<Block>,
}

impl SavedVariables {
    pub fn add(&mut self, (push, pop): (Block, Block)) {
        self.push.extend(push);
        self.pops.push(pop);
    }

    /// The statements that restore the variables, in reverse order of saving.
    pub fn pop(self) -> Block {
        self.pops.into_iter().rev().flatten().collect()
    }
}

impl AdjointEngine {
    /// Whether calls of a part can be executed again.
    pub(super) fn can_be_joint(&self, p: &Part) -> bool {
        let most = match self.goal.heads {
            true => SideEffects::Repeatable,
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
        // execution starts from. `both`: both.
        let (mut needed, mut state, mut both) = (
            SavedVariables::default(),
            SavedVariables::default(),
            SavedVariables::default(),
        );
        let mut assigned = Set::with_capacity(self.space.len + self.builder.unit.symbols.len());
        let mut done: Vec<&Expr> = Vec::new();
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
            let read = accessed.iter().any(|q| q.loc == p.loc && also_read(q));
            let own = self.overwrite(&p.target, needs, span);
            match (own.0.is_empty(), read) {
                (true, true) => {
                    let made = self.save(&p.target, &Needs::default(), span);
                    state.add(made);
                }
                (false, true) => {
                    both.add(own);
                    // The whole variable, even if only a section of it is needed.
                    let made = self.save(&p.target, &Needs::default(), span);
                    state.add(made);
                }
                (false, false) => needed.add(own),
                (true, false) => {}
            }
        }
        self.changed(&assigned, needs);
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
        let mut forward = needed.push.clone();
        forward.extend(state.push.iter().cloned());
        // Tells `tape_size` that the reverse sweep records something later.
        forward.push(Stmt::assign(
            Expr::var(mark, span),
            Expr::int(0, span),
            span,
        ));
        forward.push(self.primal_call(part, primals, span));
        let mut rerun = both.push.clone();
        rerun.push(sweep);
        let mut backward = state.pop();
        backward.extend(rerun.iter().cloned());
        backward.extend(self.backward_call(part, args, tapes, span));
        backward.extend(both.pop());
        backward.extend(needed.pop());
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
        let is_read = |slot: usize| {
            let within = callee.space.slot(slot);
            effect.read.contains(slot) && within.is_none_or(|l| before.contains(l))
        };
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
            accessed.push(AccessedVariable {
                target: match &element {
                    Some(_) => a.clone(),
                    None => Expr::var(base, span),
                },
                loc,
                element,
                assigned: effect.assigned.contains(i),
                read: is_read(i),
            });
        }
        for k in 0..self.engine.commons.vars.len() {
            let slot = n + 1 + k;
            let (assigned, read) = (effect.assigned.contains(slot), is_read(slot));
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
                target,
                loc,
                element: None,
                assigned,
                read,
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
