//! Loops with `!farfel: checkpoint(n)`: time stepping whose states do not all fit into memory.
//!
//! The forward sweep saves the *state*, which is what an iteration reads from earlier ones, at up to n
//! iterations, and has no tape. The reverse sweep handles the iterations in reverse order: starting from the
//! last saved state, it executes the iterations up to the one at hand, saving states on the way if there is
//! room again, then executes this one with a tape and goes back over it. The iterations at which states are
//! saved are determined at run time by the binomial rule, which needs the fewest repetitions.
//!
//! Source: A. Griewank and A. Walther, *Algorithm 799: revolve*, ACM TOMS 26(1), 2000.

use super::recompute::{Control, SavedStates, when};
use super::sweep::Sweeper;
use super::sweep_data::{Replay, Sweeps};
use super::tape::TapeKind;
use super::tbr::Needs;
use crate::affine::{Affine, LoopRange};
use farfel_lang::Span;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::ir::build::{binary, difference, product, sum};
use farfel_lang::ir::{
    BinOp, Block, Do, Expr, LoopDirective, LoopDirectiveKind, Stmt, StmtKind, SymId, Type,
};

/// The variables of a checkpointed loop.
struct CheckpointVars {
    /// The number of iterations.
    steps: SymId,
    /// The maximum number of saved states.
    slots: SymId,
    /// The current number of saved states.
    kept: SymId,
    /// The number of an iteration.
    step: SymId,
    /// The iteration at which the next state is saved.
    next: SymId,
    /// The iteration that is reversed next.
    last: SymId,
    /// The loop variable for iterations that are executed again.
    again: SymId,
    /// Working variables of the binomial rule.
    few: SymId,
    many: SymId,
    times: SymId,
    /// Where the numbers of the iterations with saved states begin on their tape.
    base: SymId,
}

impl Sweeper<'_> {
    /// Returns both sweeps of a loop with a directive; `None` if it is treated like any other loop.
    pub(super) fn marked(
        &mut self,
        d: &Do,
        control: Option<Control>,
        span: Span,
        needs: &mut Needs,
    ) -> Option<Sweeps> {
        let LoopDirective { kind, span: at } = d.directive.as_deref()?;
        if let (LoopDirectiveKind::Parallel(clauses), Some(control)) = (kind, control) {
            return Some(self.parallel(d, clauses, control, *at, span, needs));
        }
        if !self.has_derivatives(&d.body) {
            return None;
        }
        match (kind, control) {
            (LoopDirectiveKind::Checkpoint(slots), Some(control)) => {
                self.checkpointed(d, control, *slots, *at, span, needs)
            }
            (LoopDirectiveKind::Checkpoint(_), None) => {
                if self.trial == 0 {
                    self.errors.push(
                        Diagnostic::error(
                            &rules::AD_LOOP,
                            *at,
                            "the number of iterations of this loop is not known when it begins, so that states cannot be spread over it",
                        )
                        .help("write it as DO with a first and a last value"),
                    );
                }
                None
            }
            (
                LoopDirectiveKind::FixedPoint {
                    tolerance,
                    iterations,
                },
                control,
            ) => {
                let limits = (tolerance.as_deref(), *iterations);
                self.fixed_point(d, control, limits, *at, span, needs)
            }
            (LoopDirectiveKind::Independent, Some(control)) => {
                self.independent(d, control, *at, span, needs)
            }
            (LoopDirectiveKind::Independent, None) => {
                self.depends(
                    *at,
                    "the condition of DO WHILE decides which iterations there are",
                    None,
                );
                None
            }
            (LoopDirectiveKind::Parallel(_), _) => None,
            (LoopDirectiveKind::Replayed, _) => {
                if self.trial == 0 {
                    self.errors.push(
                        Diagnostic::error(
                            &rules::AD_LOOP,
                            *at,
                            "the adjoint of the adjoint of a loop with this directive is not known",
                        )
                        .help("take the directive out, or put an ADF block around the ADR block"),
                    );
                }
                None
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn checkpointed(
        &mut self,
        d: &Do,
        (var, from, to, step): Control,
        most: u32,
        at: Span,
        span: Span,
        needs: &mut Needs,
    ) -> Option<Sweeps> {
        // One iteration, with a tape.
        let known = step.map_or(Some(1), |s| {
            farfel_lang::storage::constant::integer(&self.builder.unit, s)
        });
        let ends = (
            Affine::of(&self.builder.unit, from),
            Affine::of(&self.builder.unit, to),
        );
        let (low, high) = match known {
            Some(k) if k > 0 => ends,
            Some(k) if k < 0 => (ends.1, ends.0),
            _ => (None, None),
        };
        let (once, _) = self.one_iteration(Some(LoopRange { var, low, high }), &d.body)?;
        self.refuse_unrepeatable(&d.body, at);
        let touched = self
            .engine
            .touched_in(&self.builder.unit, self.space, &d.body);
        let derivatives = self.derivative_locs();
        let own_loc = self.space.loc(var);
        let mut assigned = touched.assigned;
        assigned.difference_with(&derivatives);
        assigned.set(own_loc, false);
        let mut state = self.exposed(&d.body);
        state.intersect_with(&assigned);

        // Values that are needed from before the loop are restored with the first state, or saved.
        let v = Expr::var(var, span);
        let (mut forward, restore) = self.overwrite(&v, needs, span);
        needs.changed(var);
        let mut others = assigned.clone();
        others.difference_with(&state);
        let (push, pop) = self.overwrite_all(&others, needs, span);
        forward.extend(push);
        let wanted: Vec<usize> = state.ones().filter(|l| needs.has(*l)).collect();
        for loc in &wanted {
            if !self.space.tangled.contains(*loc) {
                needs.remove(*loc);
            }
        }
        self.changed(&assigned, needs);
        // Since iterations are executed again, whatever they read and do not change must be preserved.
        for loc in touched.read.ones() {
            if !assigned.contains(loc) && !derivatives.contains(loc) && loc != own_loc {
                needs.add_all(loc);
            }
        }
        for e in [from, to].into_iter().chain(step) {
            self.read(e, needs);
        }

        let members = self.members(&state, at);
        let storage = SavedStates::of(&mut self.builder, members);
        let vars = self.checkpoint_variables();
        let first = self.setting_out(&vars, (from, to, step), most, span);
        let go = |s: Expr| -> Stmt {
            // var = from + (s - 1)*step
            let one = Expr::int(1, span);
            let passed = match step {
                None => difference(s, one),
                Some(step) => product(difference(s, one), step.clone()),
            };
            Stmt::assign(Expr::var(var, span), sum(from.clone(), passed), span)
        };
        let x = |s: SymId| Expr::var(s, span);
        let set = |s: SymId, e: Expr| Stmt::assign(Expr::var(s, span), e, span);
        let one = || Expr::int(1, span);
        let all = |_: SymId| true;

        // Forward.
        let mut out = first.clone();
        out.extend(storage.sizes(span));
        out.extend(storage.reserve(&mut self.builder, &mut self.tapes, x(vars.slots), span));
        let places = TapeKind::Integer(4);
        out.extend(
            self.tapes
                .reserve(&mut self.builder, places, vars.base, x(vars.slots), span),
        );
        let numbers = self.tapes.vars(&mut self.builder, places).values();
        let copy = storage.copy(
            &mut self.builder,
            &mut self.tapes,
            x(vars.kept),
            false,
            &all,
            span,
        );
        let keep = Keep {
            kept: vars.kept,
            copy,
            numbers,
            base: vars.base,
            step: vars.step,
        };
        let keep = keep.block(&self.builder.unit.symbols, span);
        let primal = self.primal(&d.body);
        let quoted = Forward {
            kept: vars.kept,
            next: vars.next,
            step: vars.step,
            steps: vars.steps,
            slots: vars.slots,
            keep: keep.clone(),
            choose: self.binomial(&vars, vars.steps, span),
            go: vec![go(x(vars.step))],
            primal: primal.clone(),
        };
        out.extend(quoted.block(&self.builder.unit.symbols, span));
        out.push(go(sum(x(vars.steps), one())));
        out.extend(
            self.tapes
                .push(&mut self.builder, places, x(vars.kept), span),
        );
        forward.append(&mut out);

        // Backward.
        let mut backward = first;
        backward.extend(storage.sizes(span));
        backward.extend(
            self.tapes
                .pop(&mut self.builder, places, x(vars.kept), span),
        );
        let top = x(self.tapes.vars(&mut self.builder, places).top());
        backward.push(set(vars.base, difference(top, x(vars.slots))));
        backward.extend(storage.find(
            &mut self.builder,
            &mut self.tapes,
            x(vars.slots),
            (places, vars.base),
            span,
        ));
        let fetch = storage.copy(
            &mut self.builder,
            &mut self.tapes,
            x(vars.kept),
            true,
            &all,
            span,
        );
        let quoted = Backward {
            kept: vars.kept,
            next: vars.next,
            step: vars.step,
            steps: vars.steps,
            last: vars.last,
            again: vars.again,
            numbers,
            base: vars.base,
            fetch,
            choose: self.binomial(&vars, vars.last, span),
            go_again: vec![go(x(vars.again))],
            primal,
            keep,
            go_last: vec![go(x(vars.last))],
            once: once.forward.iter().cloned().chain(once.backward).collect(),
        };
        let mut whole = quoted.block(&self.builder.unit.symbols, span);
        if let Some(Stmt {
            kind: StmtKind::Do(made),
            ..
        }) = whole.first_mut()
        {
            made.directive = Some(Box::new(LoopDirective {
                kind: LoopDirectiveKind::Replayed,
                span: at,
            }));
        }
        backward.append(&mut whole);
        if !wanted.is_empty() {
            let which: Vec<SymId> = storage
                .members
                .iter()
                .map(|m| m.var)
                .filter(|v| wanted.contains(&self.space.loc(*v)))
                .collect();
            let again = storage.copy(
                &mut self.builder,
                &mut self.tapes,
                one(),
                true,
                &|s| which.contains(&s),
                span,
            );
            backward.extend(when(
                binary(BinOp::Gt, x(vars.steps), Expr::int(0, span)),
                again,
                Vec::new(),
                span,
            ));
        }
        let top = self.tapes.vars(&mut self.builder, places).top();
        backward.push(set(top, x(vars.base)));
        backward.extend(storage.release(&mut self.builder, &mut self.tapes, span));
        backward.extend(pop);
        backward.extend(restore);
        if self.trial == 0 {
            self.replays.insert(
                vars.step,
                Replay {
                    slots: most,
                    steps: [from.clone(), to.clone(), step.cloned().unwrap_or_else(one)],
                    state: storage.members,
                    body: once.forward,
                },
            );
        }
        Some(Sweeps { forward, backward })
    }

    fn checkpoint_variables(&mut self) -> CheckpointVars {
        let mut plain = |name: &str| self.builder.variable(name, Type::INTEGER);
        let (steps, slots, kept) = (plain("STEPS"), plain("SLOTS"), plain("KEPT"));
        let (step, next, last, again) =
            (plain("STEP"), plain("NEXT"), plain("LAST"), plain("AGAIN"));
        let mut long = |name: &str| self.builder.variable(name, Type::Integer(8));
        CheckpointVars {
            steps,
            slots,
            kept,
            step,
            next,
            last,
            again,
            few: long("FEW"),
            many: long("MANY"),
            times: long("TIMES"),
            base: long("BASE"),
        }
    }

    /// Sets the number of iterations and the maximum number of saved states.
    fn setting_out(
        &mut self,
        vars: &CheckpointVars,
        (from, to, step): (&Expr, &Expr, Option<&Expr>),
        most: u32,
        span: Span,
    ) -> Block {
        let trips = self.trips(from, to, step, span);
        let steps = Expr::var(vars.steps, span);
        let slots = self.builder.call(
            "MIN",
            vec![Expr::int(i64::from(most), span), steps.clone()],
            span,
        );
        vec![
            Stmt::assign(steps, trips, span),
            Stmt::assign(Expr::var(vars.slots, span), slots, span),
        ]
    }

    /// Finds the iteration at which the next state is saved, between `step`, where the last state was saved,
    /// and `to`. With s states, including that one, and r repetitions, C(s + r, r) iterations can be
    /// reversed.
    fn binomial(&self, vars: &CheckpointVars, to: SymId, span: Span) -> Block {
        let quoted = Binomial {
            slots: vars.slots,
            kept: vars.kept,
            step: vars.step,
            next: vars.next,
            few: vars.few,
            many: vars.many,
            times: vars.times,
            to,
        };
        quoted.block(&self.builder.unit.symbols, span)
    }
}

farfel_lang::quote! {
    /// See [`Sweeper::binomial`].
    struct Binomial {
        slots: SymId, kept: SymId, step: SymId, next: SymId, few: SymId, many: SymId,
        times: SymId, to: SymId,
    }
    "
    if (kept < slots .and. step < to) then
      many = 1
      few = 1
      times = 0
      ! slots - kept + 1 states are left; this one counts.
      do while (many < (to - step + 1))
        times = times + 1
        few = many
        many = many*(slots - kept + 1 + times)/times
      end do
      ! C(s + r - 2, r - 1) of C(s + r - 1, r - 1). One of them may be of another kind of INTEGER.
      if ((to - step + 1 - (few*(slots - kept + 1)/(slots - kept + 1 + times - 1))) < few) then
        few = to - step + 1 - (few*(slots - kept + 1)/(slots - kept + 1 + times - 1))
      end if
      next = step + few
    else
      next = to
    end if
    "
}

farfel_lang::quote! {
    /// Saves the state before an iteration.
    struct Keep { kept: SymId, copy: Block, numbers: SymId, base: SymId, step: SymId }
    "
    kept = kept + 1
    call copy
    numbers(base + kept) = step
    "
}

farfel_lang::quote! {
    /// The loop without a tape.
    struct Forward {
        kept: SymId, next: SymId, step: SymId, steps: SymId, slots: SymId,
        keep: Block, choose: Block, go: Block, primal: Block,
    }
    "
    kept = 0
    next = 1
    do step = 1, steps
      if (step == next .and. kept < slots) then
        call keep
        call choose
      end if
      call go
      call primal
    end do
    "
}

farfel_lang::quote! {
    /// The iterations in reverse order: each with a tape, starting from the last saved state.
    struct Backward {
        kept: SymId, next: SymId, step: SymId, steps: SymId, last: SymId, again: SymId,
        numbers: SymId, base: SymId,
        fetch: Block, choose: Block, go_again: Block, primal: Block, keep: Block, go_last: Block,
        once: Block,
    }
    "
    do last = steps, 1, -1
      call fetch
      step = numbers(base + kept)
      do while (step < last)
        call choose
        do again = step, next - 1
          call go_again
          call primal
        end do
        step = next
        if (step < last) then
          call keep
        end if
      end do
      call go_last
      call once
      if (numbers(base + kept) == last) then
        kept = kept - 1
      end if
    end do
    "
}
