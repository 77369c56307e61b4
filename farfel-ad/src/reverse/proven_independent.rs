//! Loops without a directive whose iterations are proven to be independent.
//!
//! Such a loop gets the adjoint of [`super::independent`] if that is cheaper: if its forward sweep would
//! record values on a tape, and if the iterations are cheap to execute again. A loop that records nothing
//! cannot become cheaper, and for a loop that calls a subprogram the cost is not known. A single iteration
//! must not need a tape. Then the adjoint can be differentiated in reverse mode again, which requires that
//! tapes are written only once.

use super::normal::has_calls;
use super::recompute::Control;
use super::sweep::Sweeper;
use super::sweep_data::{Replay, Sweeps};
use super::tape::{self, Tapes};
use super::tbr::Needs;
use super::transpose::is_derivative;
use super::unit_builder;
use crate::locations::Set;
use farfel_lang::ir::{
    BinOp, Block, Class, Do, DoControl, Expr, ExprKind, Stmt, StmtId, StmtKind, SymId, walk_block,
};
use farfel_lang::storage::constant;
use std::collections::HashMap;

/// The maximum number of operations that are executed again to avoid recording one value. Recording costs a
/// check, two memory accesses and two counter updates, and a loop with a tape is not vectorised. With one
/// value for one EXP (20, see below), adjoints take 1.1 times as long at `-O2` and 0.6 times as long at
/// `-O3 -march=native`.
const OPERATIONS: f64 = 25.0;

/// The number of iterations used for an unknown loop.
const TRIPS: f64 = 100.0;

/// The state of a sweeper at some point.
struct SweeperState {
    builder: unit_builder::BuilderState,
    tapes: tape::TapesState,
    branch: Option<SymId>,
    replays: HashMap<SymId, Replay>,
    errors: usize,
    needed_on_entry: usize,
    first_backward: usize,
}

/// What a sweeper has made after that point, and has undone.
struct UndoneSweeps {
    builder: unit_builder::UndoneSymbols,
    tapes: tape::UndoneOperations,
    branch: Option<SymId>,
    replays: HashMap<SymId, Replay>,
}

impl Sweeper<'_> {
    /// Returns both sweeps of a counted loop.
    pub(super) fn counted(
        &mut self,
        s: &Stmt,
        d: &Do,
        control: Control,
        needs: &mut Needs,
    ) -> Sweeps {
        if d.directive.is_some() || !self.is_proven_independent(s.id, d, control.0) {
            return self.count_loop(s, d, control, needs);
        }
        // Enclosing loops ask several times, the last time to get the statements: these must fit the needs.
        let decided = self.replay_decisions.get(&s.id).into_iter().flatten();
        let decided = decided.rev().find(|(asked, _)| asked == needs);
        let decided = decided.map(|(_, again)| *again);
        if decided == Some(false) {
            return self.count_loop(s, d, control, needs);
        }
        if self.needs_only {
            let mut before = needs.clone();
            if decided == Some(true) {
                if let Some(made) = self.executed_again(s, d, control, &mut before) {
                    *needs = before;
                    return made;
                }
            } else {
                // Most loops are not worth it because of what is needed: that takes no statements.
                let made = self.count_loop(s, d, control, &mut before);
                if !self.can_be_executed_again(d, control.0, needs, &before) {
                    self.decide(s.id, std::mem::replace(needs, before), false);
                    return made;
                }
            }
        }
        let needs_only = std::mem::replace(&mut self.needs_only, false);
        let made = self.cheaper(s, d, control, decided, needs);
        self.needs_only = needs_only;
        made
    }

    /// Returns the usual sweeps of a loop, or those that execute its iterations again if these are cheaper. What has
    /// been decided for the same needs is not decided again.
    fn cheaper(
        &mut self,
        s: &Stmt,
        d: &Do,
        control: Control,
        decided: Option<bool>,
        needs: &mut Needs,
    ) -> Sweeps {
        let start = self.state();
        let asked = needs.clone();
        let usual = self.count_loop(s, d, control, needs);
        let again = || {
            self.can_be_executed_again(d, control.0, &asked, needs)
                && self.is_costly_to_record(d, &usual)
        };
        if self.errors.len() > start.errors || !decided.unwrap_or_else(again) {
            self.decide(s.id, asked, false);
            return usual;
        }
        let before = std::mem::replace(needs, asked.clone());
        let first = self.roll_back(&start);
        let errors = self.errors.len();
        match self.executed_again(s, d, control, needs) {
            Some(made) if self.errors.len() == errors && !pushes(&made.backward, &self.tapes) => {
                self.decide(s.id, asked, true);
                made
            }
            _ => {
                self.roll_back(&start);
                self.redo(first);
                *needs = before;
                self.decide(s.id, asked, false);
                usual
            }
        }
    }

    fn decide(&mut self, id: StmtId, asked: Needs, again: bool) {
        let decisions = self.replay_decisions.entry(id).or_default();
        decisions.push((asked, again));
    }

    /// Returns the sweeps that execute the iterations of a loop again.
    fn executed_again(
        &mut self,
        s: &Stmt,
        d: &Do,
        control: Control,
        needs: &mut Needs,
    ) -> Option<Sweeps> {
        // What is found for inner loops with this one around them is something else.
        self.forget_loops(&d.body);
        let made = self.independent(d, control, s.span, s.span, needs);
        self.forget_loops(&d.body);
        made
    }

    /// Forgets what was found for the loops of a block.
    fn forget_loops(&mut self, block: &Block) {
        walk_block(block, &mut |s| {
            if matches!(s.kind, StmtKind::Do(_)) {
                self.loop_needs.remove(&s.id);
            }
        });
    }

    fn state(&self) -> SweeperState {
        SweeperState {
            builder: self.builder.state(),
            tapes: self.tapes.state(),
            branch: self.branch,
            replays: self.replays.clone(),
            errors: self.errors.len(),
            needed_on_entry: self.needed_on_entry.len(),
            first_backward: self.first_backward.len(),
        }
    }

    /// Undoes what was made since `state`. Calls and statements at the beginning of the reverse sweep do not
    /// occur in these loops.
    fn roll_back(&mut self, state: &SweeperState) -> UndoneSweeps {
        self.errors.truncate(state.errors);
        self.needed_on_entry.truncate(state.needed_on_entry);
        self.first_backward.truncate(state.first_backward);
        UndoneSweeps {
            builder: self.builder.roll_back(&state.builder),
            tapes: self.tapes.roll_back(&state.tapes),
            branch: std::mem::replace(&mut self.branch, state.branch),
            replays: std::mem::replace(&mut self.replays, state.replays.clone()),
        }
    }

    /// Redoes what was undone.
    fn redo(&mut self, added: UndoneSweeps) {
        self.builder.redo(added.builder);
        self.tapes.redo(added.tapes);
        self.branch = added.branch;
        self.replays = added.replays;
    }

    /// Whether the iterations of a loop are proven to be independent and consist of known statements only.
    fn is_proven_independent(&mut self, id: StmtId, d: &Do, var: SymId) -> bool {
        if let Some(known) = self.independent_loops.get(&id) {
            return *known;
        }
        let found = self.is_plain(&d.body)
            && self.has_derivatives(&d.body)
            && self.dependences(d, var).is_empty();
        self.independent_loops.insert(id, found);
        found
    }

    /// Whether a body has only assignments, IFs, SELECT CASEs and counted loops, without calls.
    fn is_plain(&self, body: &Block) -> bool {
        let mut plain = true;
        walk_block(body, &mut |s| {
            plain &= match &s.kind {
                StmtKind::Assign(..)
                | StmtKind::If(_)
                | StmtKind::LogicalIf(..)
                | StmtKind::Select(_)
                | StmtKind::Comment(_)
                | StmtKind::Continue => true,
                StmtKind::Do(d) => {
                    d.directive.is_none() && matches!(d.control, DoControl::Count { .. })
                }
                _ => false,
            };
            s.for_each_own_expr(&mut |e| plain &= !has_calls(&self.builder, e));
        });
        plain
    }

    /// Whether the tape of a loop costs more than executing its iterations again.
    fn is_costly_to_record(&self, d: &Do, usual: &Sweeps) -> bool {
        let loops = usual.forward.iter().filter_map(|s| match &s.kind {
            StmtKind::Do(d) => Some(&d.body),
            _ => None,
        });
        let kept: f64 = loops.map(|body| self.values_kept(body)).sum();
        kept != 0.0 && self.operations(&d.body) <= OPERATIONS * kept
    }

    /// Whether nothing more must be saved for a loop if its iterations are executed again, given what is needed after
    /// it and before it.
    fn can_be_executed_again(&self, d: &Do, var: SymId, after: &Needs, before: &Needs) -> bool {
        let touched = self
            .engine
            .touched_in(&self.builder.unit, self.space, &d.body);
        let derivatives = self.derivative_locs();
        let symbols = self.builder.unit.symbols.iter();
        let arrays = symbols.filter(|(_, s)| s.is_array());
        let arrays: Set = arrays.map(|(id, _)| self.space.loc(id)).collect();
        let is_array = |loc: usize| {
            self.space.tangled.contains(loc)
                || arrays.contains(loc)
                || self.space.common_at(loc).is_some()
        };
        let whole = touched
            .assigned
            .ones()
            .any(|loc| !derivatives.contains(loc) && after.has(loc) && is_array(loc));
        let around = self.loop_vars.iter().chain([&var]);
        let around: Vec<usize> = around.map(|v| self.space.loc(*v)).collect();
        let free = |loc: usize| match (self.assigned.contains(loc), is_array(loc)) {
            _ if touched.assigned.contains(loc) || around.contains(&loc) => true,
            _ if derivatives.contains(loc) => true,
            (true, true) => before.has_all(loc),
            (true, false) => before.has(loc),
            (false, true) => self.root || before.has(loc),
            (false, false) => true,
        };
        !whole && touched.read.ones().all(free)
    }

    /// Estimates how many values a block puts on tapes.
    fn values_kept(&self, block: &[Stmt]) -> f64 {
        let mut sum = 0.0;
        for s in block {
            if let StmtKind::Assign(target, _) = &s.kind {
                let tape = |b: SymId| self.tapes.used.values().any(|v| v.values() == b);
                sum += f64::from(u8::from(target.base().is_some_and(tape)));
            }
            let times = self.times(s);
            let inner = s.blocks().into_iter();
            sum += times * inner.map(|b| self.values_kept(b)).sum::<f64>();
        }
        sum
    }

    /// Estimates the number of operations in the statements of the source.
    fn operations(&self, block: &[Stmt]) -> f64 {
        let mut sum = 0.0;
        for s in block {
            if matches!(&s.kind, StmtKind::Assign(t, _) if is_derivative(&self.builder.derivatives, t))
            {
                continue;
            }
            s.for_each_own_expr(&mut |e| e.walk(&mut |e| sum += self.operation(e)));
            let times = self.times(s);
            let inner = s.blocks().into_iter();
            sum += times * inner.map(|b| self.operations(b)).sum::<f64>();
        }
        sum
    }

    fn times(&self, s: &Stmt) -> f64 {
        let StmtKind::Do(d) = &s.kind else {
            return 1.0;
        };
        let DoControl::Count { from, to, step, .. } = &d.control else {
            return TRIPS;
        };
        let number = |e: &Expr| constant::integer(&self.builder.unit, e);
        match (number(from), number(to), step) {
            (Some(from), Some(to), None) => to.saturating_sub(from).saturating_add(1).max(0) as f64,
            _ => TRIPS,
        }
    }

    /// The cost of one operation.
    pub(super) fn operation(&self, e: &Expr) -> f64 {
        match &e.kind {
            ExprKind::Binary(BinOp::Div, ..) => 4.0,
            ExprKind::Binary(BinOp::Pow, _, n) => match n.kind {
                ExprKind::Int(_) => 2.0,
                _ => 40.0,
            },
            ExprKind::Binary(..) => 1.0,
            ExprKind::Call(f, _) => match &self.builder.unit.symbols[*f].class {
                Class::Intrinsic(_) if self.is_cheap_call(e) => 2.0,
                _ => 20.0,
            },
            _ => 0.0,
        }
    }
}

/// Whether a block records anything on these tapes.
fn pushes(block: &[Stmt], tapes: &Tapes) -> bool {
    let values: Vec<SymId> = tapes.used.values().map(|v| v.values()).collect();
    let mut found = false;
    for s in block {
        s.walk(&mut |s| {
            if let StmtKind::Assign(target, _) = &s.kind {
                found |= target.base().is_some_and(|s| values.contains(&s));
            }
        });
    }
    found
}
