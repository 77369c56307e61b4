//! DO and DO WHILE: the reverse sweep executes the iterations in reverse order.

use super::direct_addressing::{ConstantStepLoop, address_directly};
use super::elements::Elements;
use super::sweep::Sweeper;
use super::sweep_data::{LoopNeeds, Sweeps};
use super::tape::TapeKind;
use super::tbr::Needs;
use crate::affine::{Affine, LoopRange};
use farfel_lang::Span;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::ir::build::{binary, count};
use farfel_lang::ir::{BinOp, Block, Do, Expr, ExprKind, Stmt, StmtId, SymId, Type};

impl Sweeper<'_> {
    /// Computes the fixed point of what is needed after each iteration of a loop. `saved` returns what
    /// earlier iterations may have saved, given the needs before an iteration: this is assumed, and then
    /// confirmed.
    fn needs_of_iteration(
        &mut self,
        id: StmtId,
        body: &[Stmt],
        needs: &Needs,
        next: &dyn Fn(&mut Needs),
        saved: &dyn Fn(&Needs) -> Vec<(usize, Elements)>,
    ) -> LoopNeeds {
        let mut after = needs.clone();
        // Enclosing loops ask many times, mostly with the same needs.
        if let Some(known) = self.loop_needs.get(&id) {
            if known.asked == *needs {
                return known.clone();
            }
            if known.asked.is_within(needs) {
                after.union_with(&known.after);
            }
        }
        let mut round = 0;
        let found = loop {
            let mut before = after.clone();
            let reverses = self.try_block(body, &mut before);
            let earlier = match round {
                0 => saved(&before),
                _ => Vec::new(),
            };
            let mut s = before.clone();
            next(&mut s);
            if s.is_within(&after) && earlier.is_empty() {
                break LoopNeeds {
                    asked: needs.clone(),
                    after,
                    before,
                    reverses,
                };
            }
            if round >= 4 {
                s.coarsen();
            }
            after.union_with(&s);
            // There are no earlier iterations before the first.
            after.add_saved(&earlier);
            round += 1;
        };
        self.loop_needs.insert(id, found.clone());
        found
    }

    /// Determines the needs before some statements, without generating anything. Returns whether they have a reverse
    /// sweep.
    fn try_block(&mut self, body: &[Stmt], needs: &mut Needs) -> bool {
        let saved = (
            self.builder.state(),
            self.tapes.state(),
            self.branch,
            self.errors.len(),
        );
        self.trial += 1;
        let needs_only = std::mem::replace(&mut self.needs_only, true);
        let reverses = !self.block(body, needs).backward.is_empty();
        self.needs_only = needs_only;
        self.trial -= 1;
        // Undo everything that the trial run has made.
        self.errors.truncate(saved.3);
        self.builder.roll_back(&saved.0);
        self.tapes.roll_back(&saved.1);
        self.branch = saved.2;
        reverses
    }

    /// Returns the sweeps of an iteration, and what is needed before it.
    fn iteration(&mut self, body: &[Stmt], found: LoopNeeds) -> (Sweeps, Needs) {
        if self.needs_only {
            return (Sweeps::unwritten(found.reverses), found.before);
        }
        let mut state = found.after;
        let made = self.block(body, &mut state);
        (made, state)
    }

    /// Removes arrays of which all elements have been saved, and not been read since.
    fn remove_saved(&self, needs: &mut Needs) {
        let unit = &self.builder.unit;
        let fixed = |s: SymId| !self.assigned.contains(self.space.loc(s));
        let is_all = |e: &Elements| {
            let dims = &unit.symbols[e.array].dims;
            dims.len() == e.ranges.len()
                && dims.iter().zip(&e.ranges).all(|(dim, range)| {
                    let low = match &dim.lower {
                        Some(low) => Affine::of(unit, low),
                        None => Some(Affine::number(1)),
                    };
                    let high = dim.upper.as_ref().and_then(|u| Affine::of(unit, u));
                    let is = |declared: Option<Affine>, saved: &Option<Affine>| {
                        declared.is_some() && declared == *saved
                    };
                    let steady =
                        |a: &Option<Affine>| a.as_ref().is_some_and(|a| a.all_vars(&fixed));
                    steady(&low) && steady(&high) && is(low, &range.low) && is(high, &range.high)
                })
        };
        needs.remove_saved(&is_all);
    }

    /// Enters a loop: whatever its body assigns, a later iteration may assign.
    fn enter(&mut self, body: &[Stmt]) {
        let assigned = self
            .engine
            .assigned_in(&self.builder.unit, self.space, body);
        self.assigned_later.push(assigned);
    }

    pub(super) fn count_loop(
        &mut self,
        s: &Stmt,
        d: &Do,
        (var, from, to, step): (SymId, &Expr, &Expr, Option<&Expr>),
        needs: &mut Needs,
    ) -> Sweeps {
        let span = s.span;
        if let Some(made) = self.marked(d, Some((var, from, to, step)), span, needs) {
            return made;
        }
        let v = Expr::var(var, span);
        let (mut forward, restore) = self.overwrite(&v, needs, span);
        needs.changed(var);
        let unit = &self.builder.unit;
        let known = step.map_or(Some(1), |s| {
            farfel_lang::storage::constant::integer(unit, s)
        });
        let unit_step = known.filter(|s| s.abs() == 1);
        // The body does not change what the bounds read: `normal` ensures this.
        let first = Affine::of(unit, from);
        let end = Affine::of(unit, to);
        let (low, high) = match known {
            Some(k) if k > 0 => (first.clone(), end.clone()),
            Some(k) if k < 0 => (end.clone(), first.clone()),
            _ => (None, None),
        };
        self.enclosing_loops.push(LoopRange { var, low, high });
        self.loop_vars.push(var);
        self.loop_depth += 1;
        // Of other variables at its location, values are still needed.
        let loc = Some(self.space.loc(var)).filter(|l| !self.space.tangled.contains(*l));
        let next = |n: &mut Needs| {
            loc.into_iter().for_each(|l| n.remove(l));
            n.next_iteration(var, &first, unit_step);
        };
        let before = |n: &Needs| n.saved().before(var, &first, unit_step);
        self.enter(&d.body);
        let found = self.needs_of_iteration(s.id, &d.body, needs, &next, &before);
        let (mut made, mut state) = self.iteration(&d.body, found);
        let saved = state.saved().by_loop(var, &first, &end, unit_step);
        let mut moved = Vec::new();
        if let Some(step) = known.filter(|_| self.trial == 0) {
            let l = ConstantStepLoop {
                var,
                from,
                to,
                step,
            };
            let kinds: Vec<TapeKind> = self.tapes.used.keys().copied().collect();
            for kind in kinds {
                let blocks = [&mut made.forward, &mut made.backward];
                let placed =
                    address_directly(&mut self.builder, &mut self.tapes, kind, &l, blocks, span);
                if let Some((before, after)) = placed {
                    forward.extend(before);
                    moved.extend(after);
                }
            }
        }
        self.assigned_later.pop();
        self.loop_depth -= 1;
        self.loop_vars.pop();
        self.enclosing_loops.pop();
        loc.into_iter().for_each(|l| state.remove(l));
        state.after_loop(var, &first, &end, unit_step);
        state.changed(var);
        needs.union_with(&state);
        needs.add_saved(&saved);
        self.remove_saved(needs);
        let reverses = !made.backward.is_empty();
        if reverses {
            for e in [from, to].into_iter().chain(step) {
                self.read(e, needs);
            }
        }
        if self.needs_only {
            return Sweeps::unwritten(reverses || !restore.is_empty());
        }
        forward.push(Stmt::repeat(
            Do {
                body: made.forward,
                directive: None,
                ..d.clone()
            },
            span,
        ));
        let mut backward = Vec::new();
        if reverses {
            let (last, down) = backwards(from, to, step, known, span);
            backward.extend(count(var, last, from.clone(), down, made.backward, span));
        }
        backward.extend(moved);
        backward.extend(restore);
        Sweeps { forward, backward }
    }

    pub(super) fn while_loop(
        &mut self,
        id: StmtId,
        c: &Expr,
        body: &Block,
        span: Span,
        needs: &mut Needs,
    ) -> Sweeps {
        // The condition is evaluated before each iteration.
        let (mut forward, restore) = self.conditions(&[c], span, needs);
        if !restore.is_empty() && self.trial == 0 {
            self.errors.push(
                Diagnostic::error(
                    &rules::AD_CONTROL,
                    c.span,
                    "a function in the condition of DO WHILE changes what the reverse sweep needs",
                )
                .help("assign the function's value to a variable, before the loop and at its end"),
            );
        }
        self.loop_depth += 1;
        self.enter(body);
        let nothing = |_: &Needs| Vec::new();
        let found = self.needs_of_iteration(id, body, needs, &|_| {}, &nothing);
        let (made, state) = self.iteration(body, found);
        self.assigned_later.pop();
        self.loop_depth -= 1;
        needs.union_with(&state);
        if self.needs_only {
            return Sweeps::unwritten(!made.backward.is_empty() || !restore.is_empty());
        }
        if made.backward.is_empty() {
            forward.push(Stmt::do_while(c.clone(), made.forward, span));
            return Sweeps {
                forward,
                backward: restore,
            };
        }
        let number = self.builder.variable("TRIPS", Type::INTEGER);
        let counter = self.builder.variable("TRIP", Type::INTEGER);
        let n = || Expr::var(number, span);
        let quoted = Counting {
            number,
            condition: c.clone(),
            body: made.forward,
        };
        forward.extend(quoted.block(&self.builder.unit.symbols, span));
        let (push, mut backward) = self.save_number(number, number, span);
        forward.extend(push);
        let one = Expr::int(1, span);
        backward.extend(count(counter, one, n(), None, made.backward, span));
        backward.extend(restore);
        Sweeps { forward, backward }
    }
}

farfel_lang::quote! {
    /// Counts iterations.
    struct Counting { number: SymId, condition: Expr, body: Block }
    "
    number = 0
    do while (condition)
      number = number + 1
      call body
    end do
    "
}

/// The first value and the step of a loop that runs in reverse; `None` stands for a step of 1.
pub(super) fn backwards(
    from: &Expr,
    to: &Expr,
    step: Option<&Expr>,
    known: Option<i64>,
    span: Span,
) -> (Expr, Option<Expr>) {
    let (last, down) = match known {
        Some(1) => (to.clone(), Expr::int(-1, span)),
        Some(-1) => (to.clone(), Expr::int(1, span)),
        _ => {
            // from + (trips - 1)*step, which lies before `from` if there are no iterations.
            let step = step.cloned().unwrap_or_else(|| Expr::int(1, span));
            let length = binary(BinOp::Sub, to.clone(), from.clone());
            let length = binary(BinOp::Add, length, step.clone());
            let trips = binary(BinOp::Div, length, step.clone());
            let before = binary(BinOp::Sub, trips, Expr::int(1, span));
            let way = binary(BinOp::Mul, before, step.clone());
            let last = binary(BinOp::Add, from.clone(), way);
            (last, farfel_lang::ir::build::negative(step))
        }
    };
    let down = match down.kind {
        ExprKind::Int(1) => None,
        _ => Some(down),
    };
    (last, down)
}
