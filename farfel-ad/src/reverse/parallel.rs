//! Parallel loops of OpenMP.
//!
//! [`crate::legal::parallel`] has made the body of such a loop a call of a subroutine. Its adjoint is one
//! subroutine with both sweeps, like that of a head's last call ([`super::last_call`]), with a tape of its
//! own. The forward sweep of the loop is the loop itself; the reverse sweep is a loop of calls of the adjoint,
//! each of which executes its iteration once more and goes back over it. So no tape exists outside of an
//! iteration, and it does not matter which thread executes which iteration.
//!
//! For this, the variables that iterations read must have their values from before the loop. Those that the
//! loop also assigns are saved before the loop and restored before the reverse sweep.

use super::loops::backwards;
use super::recompute::Control;
use super::saved_variables::SavedVariables;
use super::sweep::Sweeper;
use super::sweep_data::{Replay, Sweeps};
use super::tbr::Needs;
use super::transpose::is_derivative;
use crate::locations::Set;
use farfel_lang::Span;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::ir::build::count;
use farfel_lang::ir::{
    Block, Do, Expr, LoopDirective, LoopDirectiveKind, Parallel, Stmt, StmtId, StmtKind,
    StorageClass, SymId, Type,
};
use farfel_lang::storage::constant;
use std::collections::HashSet;

/// The call of a derivative in the body of a loop.
struct IterationCall<'d> {
    id: StmtId,
    part: usize,
    args: &'d [Expr],
}

impl Sweeper<'_> {
    /// Returns both sweeps of a parallel loop.
    pub(super) fn parallel(
        &mut self,
        d: &Do,
        clauses: &Parallel,
        (var, from, to, step): Control,
        at: Span,
        span: Span,
        needs: &mut Needs,
    ) -> Sweeps {
        let mut call = None;
        for s in &d.body {
            if let StmtKind::Call(f, args) = &s.kind
                && let Some(part) = self.engine.part_of(&self.builder.unit.symbols[*f].name)
            {
                call = Some(IterationCall {
                    id: s.id,
                    part,
                    args,
                });
            }
        }
        let v = Expr::var(var, span);
        let (mut forward, mut restore) = self.overwrite(&v, needs, span);
        needs.changed(var);
        let derivatives = self.derivative_locs();
        let own = self.space.loc(var);
        let touched = self
            .engine
            .touched_in(&self.builder.unit, self.space, &d.body);
        let Some(call) = call else {
            // Nothing to reverse; only values are saved.
            let mut assigned = touched.assigned;
            assigned.difference_with(&derivatives);
            assigned.set(own, false);
            let (push, mut pop) = self.overwrite_all(&assigned, needs, span);
            self.changed(&assigned, needs);
            forward.extend(push);
            forward.push(Stmt::repeat(d.clone(), span));
            pop.append(&mut restore);
            return Sweeps {
                forward,
                backward: pop,
            };
        };
        // The sums before the loop do not matter for what iterations contribute to them.
        let sums: HashSet<usize> = (clauses.reductions.iter().map(|(_, s)| s))
            .chain(&clauses.atomic)
            .map(|s| self.space.loc(*s))
            .collect();
        let saved = self.saved_for_iterations(&call, &sums, own, needs, span);
        for e in [from, to].into_iter().chain(step) {
            self.read(e, needs);
        }
        let callee = &self.engine.parts[call.part];
        self.read_to_pass(callee, call.args, needs);
        // Tells `tape_size` that the reverse sweep records something later.
        let mark = self.builder.variable("AGAIN", Type::INTEGER);
        let zero = Expr::int(0, span);
        forward.extend(saved.before);
        forward.push(Stmt::assign(Expr::var(mark, span), zero, span));
        let primals = self.primals(call.part, call.args);
        let mut iteration: Block = Vec::new();
        let mut reversed: Vec<Block> = Vec::new();
        for s in &d.body {
            match &s.kind {
                StmtKind::Call(..) if s.id == call.id => {
                    iteration.push(self.primal_call(call.part, primals.clone(), span));
                    reversed.push(self.backward_call(call.part, call.args, Vec::new(), span));
                }
                StmtKind::Comment(_) => {}
                StmtKind::Assign(target, _) if is_derivative(&self.builder.derivatives, target) => {
                    let StmtKind::Assign(target, value) = &s.kind else {
                        continue;
                    };
                    reversed.push(self.linear(target, value, span, needs).backward);
                }
                _ if self.trial == 0 => self.errors.push(
                    Diagnostic::error(
                        &rules::AD_LOOP,
                        at,
                        "reverse mode cannot follow this parallel loop",
                    )
                    .help("take the directive out"),
                ),
                _ => {}
            }
        }
        let mut clauses = clauses.clone();
        let derivative = |s: &SymId| self.builder.derivatives.contains(s);
        clauses.reductions.retain(|(_, s)| !derivative(s));
        forward.push(Stmt::repeat(
            Do {
                body: iteration,
                directive: directive(clauses.clone(), at),
                ..d.clone()
            },
            span,
        ));
        let known = step.map_or(Some(1), |s| constant::integer(&self.builder.unit, s));
        let (last, down) = backwards(from, to, step, known, span);
        let body: Block = reversed.into_iter().rev().flatten().collect();
        let mut loops = count(var, last, from.clone(), down, body, span);
        // Variables in these clauses may have other values now.
        let number = |e: &Expr| constant::integer(&self.builder.unit, e).is_some();
        clauses.reverse = true;
        clauses.condition = None;
        clauses.threads = clauses.threads.filter(number);
        if let Some(schedule) = &mut clauses.schedule {
            schedule.chunk = schedule.chunk.take().filter(number);
        }
        if let Some(s) = &mut loops
            && let StmtKind::Do(d) = &mut s.kind
        {
            d.directive = directive(clauses, at);
        }
        let mut backward = saved.for_iterations;
        backward.extend(saved.again.iter().cloned());
        backward.extend(loops);
        backward.extend(saved.after);
        backward.append(&mut restore);
        if self.trial == 0 {
            let one = || Expr::int(1, span);
            let replay = Replay {
                slots: 0,
                filed: 0,
                steps: [one(), one(), one()],
                state: Vec::new(),
                body: saved.again,
            };
            self.replays.insert(mark, replay);
        }
        Sweeps { forward, backward }
    }

    /// The locations that may be defined when a parallel loop begins; `call` is its body.
    fn defined_before_loop(&self, call: StmtId) -> Set {
        let space = self.space;
        let unit = &self.builder.unit;
        let mut found = self.engine.assigned_in(unit, space, &[]);
        for (id, s) in unit.symbols.iter().filter(|(_, s)| s.is_variable()) {
            if s.storage_class != StorageClass::Local || space.saved.contains(space.loc(id)) {
                found.insert(space.loc(id));
            }
        }
        found.extend((0..self.engine.commons.vars.len()).map(|k| space.common(k)));
        self.add_assigned_before(&self.engine.parts[self.part].body, call, &mut found);
        found
    }

    /// Adds what a block assigns before it reaches the parallel loop with this body.
    fn add_assigned_before(&self, block: &[Stmt], call: StmtId, found: &mut Set) {
        for s in block {
            let mut inside = false;
            s.walk(&mut |x| inside |= x.id == call);
            let is_target = matches!(&s.kind, StmtKind::Do(d) if d.parallel().is_some());
            if inside && is_target {
                return;
            }
            if inside && !matches!(s.kind, StmtKind::Do(_)) {
                for b in s.blocks() {
                    self.add_assigned_before(b, call, found);
                }
                return;
            }
            let one = std::slice::from_ref(s);
            found.union_with(&self.engine.assigned_in(&self.builder.unit, self.space, one));
            if inside {
                return;
            }
        }
    }

    /// Saves what the iterations of a loop assign, and what they start from.
    fn saved_for_iterations(
        &mut self,
        call: &IterationCall,
        sums: &HashSet<usize>,
        counter: usize,
        needs: &mut Needs,
        span: Span,
    ) -> SavedValues {
        let defined = self.defined_before_loop(call.id);
        let mut accessed = self.accessed_variables(call.part, call.args, needs, span);
        // An undefined variable need not be saved.
        accessed
            .iter_mut()
            .for_each(|p| p.read &= defined.contains(p.loc) || !p.assigned);
        // `needed`: values from before the loop that are needed anyway. `state`: values that iterations start
        // from. `both`: both; these are saved again after the state has been restored.
        let (mut needed, mut state, mut both) = (
            SavedVariables::default(),
            SavedVariables::default(),
            SavedVariables::default(),
        );
        let mut assigned = self.engine.assigned_in(&self.builder.unit, self.space, &[]);
        let mut done: Vec<&Expr> = Vec::new();
        for p in accessed.iter().filter(|p| p.assigned && p.loc != counter) {
            assigned.insert(p.loc);
            if done.iter().any(|d| d.equals_ignoring_spans(&p.target)) {
                continue;
            }
            done.push(&p.target);
            let read = !sums.contains(&p.loc) && accessed.iter().any(|q| q.read && q.loc == p.loc);
            let own = self.overwrite(&p.target, needs, span);
            match read {
                true => {
                    both.add(None, own);
                    // The whole variable, even if only a section of it is needed.
                    let made = self.save(&p.target, &Needs::default(), span);
                    state.add(None, made);
                }
                false => needed.add(None, own),
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
        let (mut before, restore_needed) = needed.sweeps(self, span);
        let (push, for_iterations) = state.sweeps(self, span);
        before.extend(push);
        let (again, mut after) = both.sweeps(self, span);
        after.extend(restore_needed);
        SavedValues {
            before,
            for_iterations,
            again,
            after,
        }
    }
}

/// The statements that save values of variables that a loop assigns, and those that restore them.
struct SavedValues {
    /// Before the loop.
    before: Block,
    /// Before the reverse sweep: restores what iterations start from.
    for_iterations: Block,
    /// After that: saves once more what is needed after the reverse sweep.
    again: Block,
    /// After the reverse sweep.
    after: Block,
}

fn directive(clauses: Parallel, span: Span) -> Option<Box<LoopDirective>> {
    Some(Box::new(LoopDirective {
        kind: LoopDirectiveKind::Parallel(Box::new(clauses)),
        span,
    }))
}
