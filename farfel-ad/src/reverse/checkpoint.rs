//! Loops with `!farfel: checkpoint(n)`: time stepping whose states do not all fit into memory.
//!
//! The forward sweep saves the *state*, which is what an iteration reads from earlier ones, at up to n
//! iterations, and has no tape. The reverse sweep handles the iterations in reverse order: starting from the
//! last saved state, it executes the iterations up to the one at hand, saving states on the way if there is
//! room again, then executes this one with a tape and goes back over it. The iterations at which states are
//! saved are determined at run time by the binomial rule, which needs the fewest repetitions.
//!
//! Source: A. Griewank and A. Walther, *Algorithm 799: revolve*, ACM TOMS 26(1), 2000.

use super::disk::DiskVars;
use super::fixed_point::FixedPointEnd;
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
        let directive = d.directive.as_deref()?;
        // Their sweeps depend on the statements of an iteration's.
        let needs_only = std::mem::replace(&mut self.needs_only, false);
        let made = self.marked_with(directive, d, control, span, needs);
        self.needs_only = needs_only;
        made
    }

    fn marked_with(
        &mut self,
        directive: &LoopDirective,
        d: &Do,
        control: Option<Control>,
        span: Span,
        needs: &mut Needs,
    ) -> Option<Sweeps> {
        let LoopDirective { kind, span: at } = directive;
        if let (LoopDirectiveKind::Parallel(clauses), Some(control)) = (kind, control) {
            return Some(self.parallel(d, clauses, control, *at, span, needs));
        }
        if !self.has_derivatives(&d.body) {
            return None;
        }
        match (kind, control) {
            (LoopDirectiveKind::Checkpoint { memory, disk }, Some(control)) => {
                self.checkpointed(d, control, (*memory, *disk), *at, span, needs)
            }
            (LoopDirectiveKind::Checkpoint { .. }, None) => {
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
                    variables,
                },
                control,
            ) => {
                let end = FixedPointEnd {
                    tolerance: tolerance.as_deref(),
                    iterations: *iterations,
                    variables,
                };
                self.fixed_point(d, control, end, *at, span, needs)
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
        most: (u32, u32),
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
        let touched_derivatives = touched.assigned.clone();
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
        let files = (most.1 > 0).then(|| {
            let mut inputs = touched.read.clone();
            inputs.difference_with(&assigned);
            inputs.difference_with(&derivatives);
            inputs.set(own_loc, false);
            inputs.union_with(&state);
            let mut cotangents = touched.read.clone();
            cotangents.union_with(&touched_derivatives);
            cotangents.intersect_with(&derivatives);
            let members = self.disk_members([&inputs, &assigned, &cotangents], at);
            (self.disk_variables(), members)
        });
        let first = self.setting_out(
            &vars,
            files.as_ref().map(|f| &f.0),
            (from, to, step),
            most,
            span,
        );
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
        // The number of states in memory, and that of their numbers and places.
        let (in_memory, entries) = match &files {
            None => (vars.slots, x(vars.slots)),
            Some((disk, _)) => (disk.room, product(Expr::int(2, span), x(vars.slots))),
        };
        out.extend(storage.reserve(&mut self.builder, &mut self.tapes, x(in_memory), span));
        let places = TapeKind::Integer(4);
        out.extend(
            self.tapes
                .reserve(&mut self.builder, places, vars.base, entries.clone(), span),
        );
        let numbers = self.tapes.vars(&mut self.builder, places).values();
        // A state is saved in memory or in a file, and restored from there.
        let slot = files.as_ref().map_or(vars.kept, |(disk, _)| disk.held);
        let copy = |sweeper: &mut Self, back: bool| {
            let (builder, tapes) = (&mut sweeper.builder, &mut sweeper.tapes);
            storage.copy(builder, tapes, x(slot), back, &all, span)
        };
        let (save, mut fetch) = (copy(self, false), copy(self, true));
        let number_and_place = |sweeper: &Self, save: Block| {
            let keep = Keep {
                kept: vars.kept,
                copy: save,
                numbers,
                base: vars.base,
                step: vars.step,
            };
            keep.block(&sweeper.builder.unit.symbols, span)
        };
        let (mut keep, mut keep_again) = (Vec::new(), Vec::new());
        let (mut begin, mut finish) = (Vec::new(), Vec::new());
        match &files {
            None => {
                keep = number_and_place(self, save);
                keep_again.clone_from(&keep);
            }
            Some((disk, members)) => {
                let file = (x(disk.filed), x(vars.step));
                let write = disk.write(&mut self.builder, file, &storage.members, span);
                let read = disk.read(&mut self.builder, x(disk.filed), &storage.members, span);
                for (into, memory_first) in [(&mut keep, false), (&mut keep_again, true)] {
                    let place = Place {
                        numbers,
                        base: vars.base,
                        slots: vars.slots,
                        kept: vars.kept,
                        held: disk.held,
                        filed: disk.filed,
                        in_file: match memory_first {
                            false => binary(BinOp::Lt, x(disk.filed), x(disk.disk)),
                            true => binary(BinOp::Ge, x(disk.held), x(disk.room)),
                        },
                        write: write.clone(),
                        save: save.clone(),
                    };
                    let place = place.block(&self.builder.unit.symbols, span);
                    *into = number_and_place(self, place);
                }
                let quoted = Fetch {
                    numbers,
                    base: vars.base,
                    slots: vars.slots,
                    kept: vars.kept,
                    read: read.clone(),
                    copy: fetch,
                };
                fetch = quoted.block(&self.builder.unit.symbols, span);
                let begins = [from.clone(), step.cloned().unwrap_or_else(one)];
                let limits = [
                    x(vars.steps),
                    Expr::int(i64::from(most.0), span),
                    Expr::int(i64::from(most.1), span),
                ];
                let name = &self.builder.unit.symbols[vars.step].name;
                let name = format!("{} {name}", self.builder.unit.name);
                let open = disk.open(&mut self.builder, name, limits, begins, members, span);
                let element = |at: Expr| Expr::element(numbers, vec![at], span);
                let numbers_at = sum(x(vars.base), one());
                let places_at = sum(sum(x(vars.base), x(vars.slots)), one());
                let found = vec![element(numbers_at), element(places_at)];
                let quoted = Continue {
                    kept: vars.kept,
                    filed: disk.filed,
                    first: disk.first,
                    step: vars.step,
                    steps: vars.steps,
                    open,
                    found: vec![disk.call(&mut self.builder, "FOUND", found, span)],
                    read_end: disk.read_end(&mut self.builder, members, span),
                    read,
                    choose: self.binomial(&vars, vars.steps, span),
                };
                let quoted = quoted.block(&self.builder.unit.symbols, span);
                begin.extend(
                    [disk.handle, disk.held, disk.filed].map(|s| set(s, Expr::int(0, span))),
                );
                begin.push(set(disk.first, one()));
                begin.extend(when(disk.is_used(span), quoted, Vec::new(), span));
                let incomplete = binary(BinOp::Le, x(disk.first), x(vars.steps));
                let end = disk.write_end(&mut self.builder, x(vars.steps), members, span);
                finish = when(
                    binary(BinOp::And, disk.is_used(span), incomplete),
                    end,
                    Vec::new(),
                    span,
                );
            }
        }
        let primal = self.primal(&d.body);
        let quoted = Forward {
            kept: vars.kept,
            next: vars.next,
            step: vars.step,
            steps: vars.steps,
            slots: vars.slots,
            first: files.as_ref().map_or_else(one, |(disk, _)| x(disk.first)),
            begin,
            keep,
            choose: self.binomial(&vars, vars.steps, span),
            go: vec![go(x(vars.step))],
            primal: primal.clone(),
        };
        out.extend(quoted.block(&self.builder.unit.symbols, span));
        out.push(go(sum(x(vars.steps), one())));
        out.append(&mut finish);
        // What the reverse sweep must know.
        let passed = match &files {
            None => vec![vars.kept],
            Some((disk, _)) => vec![disk.held, disk.filed, disk.handle],
        };
        for v in &passed {
            out.extend(self.tapes.push(&mut self.builder, places, x(*v), span));
        }
        forward.append(&mut out);

        // Backward.
        let mut backward = first;
        backward.extend(storage.sizes(span));
        for v in passed.iter().rev() {
            backward.extend(self.tapes.pop(&mut self.builder, places, x(*v), span));
        }
        let top = x(self.tapes.vars(&mut self.builder, places).top());
        backward.push(set(vars.base, difference(top, entries)));
        backward.extend(storage.find(
            &mut self.builder,
            &mut self.tapes,
            x(in_memory),
            (places, vars.base),
            span,
        ));
        // After the adjoint of an iteration with a saved state, that is no longer needed.
        let mut done = Vec::new();
        let mut from_last = x(vars.steps);
        if let Some((disk, members)) = &files {
            from_last = x(disk.first);
            backward.push(set(vars.kept, sum(x(disk.held), x(disk.filed))));
            backward.push(set(disk.first, x(vars.steps)));
            let [resume, read] = disk.resume(&mut self.builder, members, span);
            let leave = |sweeper: &Self, in_file: Block| {
                let quoted = Leave {
                    numbers,
                    base: vars.base,
                    slots: vars.slots,
                    kept: vars.kept,
                    held: disk.held,
                    filed: disk.filed,
                    in_file,
                };
                quoted.block(&sweeper.builder.unit.symbols, span)
            };
            let quoted = Resume {
                numbers,
                base: vars.base,
                kept: vars.kept,
                first: disk.first,
                steps: vars.steps,
                resume,
                read,
                leave: leave(self, Vec::new()),
            };
            let quoted = quoted.block(&self.builder.unit.symbols, span);
            backward.extend(when(disk.is_used(span), quoted, Vec::new(), span));
            let mut keep_cotangents =
                disk.write_cotangents(&mut self.builder, x(vars.last), members, span);
            let filed = vec![x(disk.filed)];
            keep_cotangents.push(disk.call(&mut self.builder, "DROP", filed, span));
            done = leave(self, keep_cotangents);
        }
        done.push(set(vars.kept, difference(x(vars.kept), one())));
        let quoted = Backward {
            kept: vars.kept,
            next: vars.next,
            step: vars.step,
            last: vars.last,
            again: vars.again,
            numbers,
            base: vars.base,
            fetch,
            choose: self.binomial(&vars, vars.last, span),
            go_again: vec![go(x(vars.again))],
            primal,
            keep: keep_again,
            done,
            from_last,
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
            let mut again = storage.copy(
                &mut self.builder,
                &mut self.tapes,
                one(),
                true,
                &|s| which.contains(&s),
                span,
            );
            if let Some((disk, _)) = &files {
                // The first state is in a file if any is.
                let read = disk.read(&mut self.builder, one(), &storage.members, span);
                again = when(disk.is_used(span), read, again, span);
            }
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
        if let Some((disk, _)) = &files {
            let close = vec![disk.call(&mut self.builder, "CLOSE", Vec::new(), span)];
            backward.extend(when(disk.is_used(span), close, Vec::new(), span));
        }
        backward.extend(pop);
        backward.extend(restore);
        if self.trial == 0 {
            self.replays.insert(
                vars.step,
                Replay {
                    slots: most.0,
                    filed: most.1,
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

    /// Sets the number of iterations and the maximum numbers of saved states.
    fn setting_out(
        &mut self,
        vars: &CheckpointVars,
        disk: Option<&DiskVars>,
        (from, to, step): (&Expr, &Expr, Option<&Expr>),
        most: (u32, u32),
        span: Span,
    ) -> Block {
        let trips = self.trips(from, to, step, span);
        let x = |s: SymId| Expr::var(s, span);
        let mut out = vec![Stmt::assign(x(vars.steps), trips, span)];
        let mut least = |sweeper: &mut Self, into: SymId, n: u32| {
            let args = vec![Expr::int(i64::from(n), span), x(vars.steps)];
            let least = sweeper.builder.call("MIN", args, span);
            out.push(Stmt::assign(x(into), least, span));
        };
        least(self, vars.slots, most.0 + most.1);
        if let Some(disk) = disk {
            least(self, disk.room, most.0);
            let rest = difference(x(vars.slots), x(disk.room));
            out.push(Stmt::assign(x(disk.disk), rest, span));
        }
        out
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
        kept: SymId, next: SymId, step: SymId, steps: SymId, slots: SymId, first: Expr,
        begin: Block, keep: Block, choose: Block, go: Block, primal: Block,
    }
    "
    kept = 0
    next = 1
    call begin
    do step = first, steps
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
        kept: SymId, next: SymId, step: SymId, last: SymId, again: SymId,
        numbers: SymId, base: SymId,
        fetch: Block, choose: Block, go_again: Block, primal: Block, keep: Block, go_last: Block,
        once: Block, done: Block, from_last: Expr,
    }
    "
    do last = from_last, 1, -1
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
        call done
      end if
    end do
    "
}

farfel_lang::quote! {
    /// Saves a state in a file or in memory. The entry at `base + slots + kept` says where it is: 0 for a file.
    struct Place {
        numbers: SymId, base: SymId, slots: SymId, kept: SymId, held: SymId, filed: SymId,
        in_file: Expr, write: Block, save: Block,
    }
    "
    if (in_file) then
      filed = filed + 1
      numbers(base + slots + kept) = 0
      call write
    else
      held = held + 1
      numbers(base + slots + kept) = 1
      call save
    end if
    "
}

farfel_lang::quote! {
    /// Restores the last saved state.
    struct Fetch {
        numbers: SymId, base: SymId, slots: SymId, kept: SymId, read: Block, copy: Block,
    }
    "
    if (numbers(base + slots + kept) == 0) then
      call read
    else
      call copy
    end if
    "
}

farfel_lang::quote! {
    /// Continues the forward sweep of an earlier process, if there was one.
    struct Continue {
        kept: SymId, filed: SymId, first: SymId, step: SymId, steps: SymId,
        open: Block, found: Block, read_end: Block, read: Block, choose: Block,
    }
    "
    call open
    if (filed > 0) then
      kept = filed
      call found
      if (first > steps) then
        call read_end
      else
        call read
        step = first
        call choose
      end if
    end if
    "
}

farfel_lang::quote! {
    /// Continues the reverse sweep of an earlier process, if there was one.
    struct Resume {
        numbers: SymId, base: SymId, kept: SymId, first: SymId, steps: SymId,
        resume: Block, read: Block, leave: Block,
    }
    "
    call resume
    if (first < steps) then
      call read
      do while (kept > 1 .and. numbers(base + kept) > first)
        call leave
        kept = kept - 1
      end do
    end if
    "
}

farfel_lang::quote! {
    /// The last saved state is no longer needed.
    struct Leave {
        numbers: SymId, base: SymId, slots: SymId, kept: SymId, held: SymId, filed: SymId,
        in_file: Block,
    }
    "
    if (numbers(base + slots + kept) == 0) then
      call in_file
      filed = filed - 1
    else
      held = held - 1
    end if
    "
}
