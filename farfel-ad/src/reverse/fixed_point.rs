//! Loops with `!farfel: fixed-point`, which iterate until z = f(z, x).
//!
//! The forward sweep is the loop itself and records nothing about its iterations. At its end z is the fixed
//! point, so that only the Jacobian J of f at this point matters. The reverse sweep executes one more
//! iteration with a tape, and goes back over that tape again and again: the cotangents of z become z̄, Jᵀz̄,
//! (Jᵀ)²z̄, …, while those of x accumulate the contribution of each. The sum of these is the solution of w =
//! z̄ + Jᵀw, which is propagated to x. The adjoint ends when nothing changes any more.
//!
//! Source: B. Christianson, *Reverse accumulation and attractive fixed points*, Optimization
//! Methods and Software 3(4), 1994.

use super::AdjointEngine;
use super::recompute::{Control, SavedStates, when};
use super::sweep::Sweeper;
use super::sweep_data::{Replay, StateVariable, Sweeps};
use super::tape::TapeKind;
use super::tbr::Needs;
use crate::affine::{Affine, LoopRange};
use crate::locations::Set;
use farfel_lang::Span;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::ir::build::binary;
use farfel_lang::ir::{
    BinOp, Block, Do, Expr, LoopDirective, LoopDirectiveKind, Stmt, StmtKind, SymId, Type,
    walk_block,
};
use std::collections::BTreeSet;

/// The default tolerance: smaller changes, relative to the largest one, count as none.
const TOLERANCE: &str = "1D-14";

/// The default number of iterations after which the adjoint gives up.
const ITERATIONS: u32 = 1_000_000;

impl AdjointEngine {
    /// The parts that fixed-point loops call. Their calls are split: the second execution of a joint call would
    /// write over the tape of the iteration, to which the reverse sweep returns.
    pub(super) fn below_fixed_points(&self) -> BTreeSet<usize> {
        let mut called = BTreeSet::new();
        for p in &self.parts {
            walk_block(&p.body, &mut |s| {
                if let StmtKind::Do(d) = &s.kind
                    && is_fixed_point(d)
                {
                    called.extend(self.called_by(&p.builder, &d.body));
                }
            });
        }
        self.with_called(called)
    }
}

/// Whether there is a fixed-point loop among some statements.
pub(super) fn has_fixed_point(block: &Block) -> bool {
    let mut found = false;
    walk_block(block, &mut |s| {
        found |= matches!(&s.kind, StmtKind::Do(d) if is_fixed_point(d));
    });
    found
}

/// Whether a loop is marked as a fixed-point loop.
fn is_fixed_point(d: &Do) -> bool {
    let kind = d.directive.as_ref().map(|d| &d.kind);
    matches!(kind, Some(LoopDirectiveKind::FixedPoint { .. }))
}

impl Sweeper<'_> {
    pub(super) fn fixed_point(
        &mut self,
        d: &Do,
        control: Option<Control>,
        (tolerance, most): (Option<&str>, Option<u32>),
        at: Span,
        span: Span,
        needs: &mut Needs,
    ) -> Option<Sweeps> {
        let around = control.map(|(var, ..)| LoopRange {
            var,
            low: None::<Affine>,
            high: None,
        });
        self.in_fixed_point += 1;
        let iteration = self.one_iteration(around, &d.body);
        self.in_fixed_point -= 1;
        let (once, own) = iteration?;
        let whole = Stmt::repeat(d.clone(), span);
        let whole = std::slice::from_ref(&whole);
        self.refuse_unrepeatable(whole, at);
        let touched = self
            .engine
            .touched_in(&self.builder.unit, self.space, whole);
        let derivatives = self.derivative_locs();
        let var_loc = control.map(|(v, ..)| self.space.loc(v));
        let mut assigned = touched.assigned.clone();
        assigned.difference_with(&derivatives);
        var_loc.into_iter().for_each(|l| assigned.set(l, false));
        let exposed = self.exposed(&d.body);
        let mut changing = touched.assigned;
        changing.intersect_with(&derivatives);
        changing.intersect_with(&exposed);

        // What is needed from before the loop.
        let (mut forward, mut restore) = (Vec::new(), Vec::new());
        if let Some((var, ..)) = control {
            (forward, restore) = self.overwrite(&Expr::var(var, span), needs, span);
            needs.changed(var);
        }
        let (push, pop) = self.overwrite_all(&assigned, needs, span);
        forward.extend(push);
        self.changed(&assigned, needs);
        // The reverse sweep starts from the values after the loop.
        for loc in exposed.ones() {
            if !derivatives.contains(loc) && Some(loc) != var_loc {
                needs.add_all(loc);
            }
        }
        if let Some((_, from, to, step)) = control {
            for e in [from, to].into_iter().chain(step) {
                self.read(e, needs);
            }
        }

        // The values that going back over the tape reads first, and changes.
        let mut end = assigned.clone();
        end = end.ones().filter(|l| own.has(*l)).collect();
        let values = self.members(&end, at);
        let cotangents = self.cotangents(&changing, at);
        let values = SavedStates::of(&mut self.builder, values);
        let cotangents = SavedStates::of(&mut self.builder, cotangents);
        let rounds = self.builder.variable("ROUNDS", Type::INTEGER);
        let change = self.builder.variable("CHANGE", Type::Real(8));
        let largest = self.builder.variable("LARGEST", Type::Real(8));
        let x = |s: SymId| Expr::var(s, span);
        let set = |s: SymId, e: Expr| Stmt::assign(Expr::var(s, span), e, span);
        let one = || Expr::int(1, span);
        let all = |_: SymId| true;

        // Forward.
        forward.push(set(rounds, Expr::int(0, span)));
        forward.push(Stmt::repeat(
            Do {
                body: self.primal(&d.body),
                directive: None,
                ..d.clone()
            },
            span,
        ));

        // Backward.
        let mut back = Vec::new();
        if let Some((var, from, to, step)) = control {
            back.push(set(var, self.last_value(from, to, step, span)));
        }
        for storage in [&values, &cotangents] {
            back.extend(storage.sizes(span));
            back.extend(storage.reserve(&mut self.builder, &mut self.tapes, one(), span));
        }
        back.extend(once.forward.iter().cloned());
        back.extend(values.copy(&mut self.builder, &mut self.tapes, one(), false, &all, span));
        back.extend(cotangents.copy(&mut self.builder, &mut self.tapes, one(), false, &all, span));
        let kinds: Vec<TapeKind> = self.tapes.used.keys().copied().collect();
        let mut begin = Vec::new();
        for kind in kinds {
            let top = self.tapes.vars(&mut self.builder, kind).top();
            let end = self.builder.variable("END", Type::Integer(8));
            back.push(set(end, x(top)));
            begin.push(set(top, x(end)));
        }
        begin.extend(values.copy(&mut self.builder, &mut self.tapes, one(), true, &all, span));
        begin.extend(once.backward);
        let compare = cotangents.compare(&mut self.builder, &mut self.tapes, change, span);
        let quoted = Rounds {
            rounds,
            change,
            largest,
            tolerance: Expr::real(double(tolerance.unwrap_or(TOLERANCE)), span),
            limit: Expr::int(i64::from(most.unwrap_or(ITERATIONS)), span),
            back: begin,
            compare,
        };
        let mut loops = quoted.block(&self.builder.unit.symbols, span);
        if let Some(Stmt {
            kind: StmtKind::Do(made),
            ..
        }) = loops.last_mut()
        {
            made.directive = Some(Box::new(LoopDirective {
                kind: LoopDirectiveKind::Replayed,
                span: at,
            }));
        }
        back.append(&mut loops);
        back.extend(cotangents.release(&mut self.builder, &mut self.tapes, span));
        back.extend(values.release(&mut self.builder, &mut self.tapes, span));
        let mut backward = match control {
            None => back,
            // Without any iteration, z keeps its value.
            Some((_, from, to, step)) => {
                let trips = self.trips(from, to, step, span);
                when(
                    binary(BinOp::Gt, trips, Expr::int(0, span)),
                    back,
                    Vec::new(),
                    span,
                )
            }
        };
        backward.extend(pop);
        backward.extend(restore);
        if self.trial == 0 {
            let mut state = values.members;
            state.extend(cotangents.members);
            self.replays.insert(
                rounds,
                Replay {
                    slots: 1,
                    filed: 0,
                    steps: [one(), one(), one()],
                    state,
                    body: once.forward,
                },
            );
        }
        Some(Sweeps { forward, backward })
    }

    /// The cotangents at some locations, to be saved.
    fn cotangents(&mut self, locs: &Set, at: Span) -> Vec<StateVariable> {
        let mut found = Vec::new();
        let mut errors = Vec::new();
        let mut missing = Vec::new();
        for loc in locs.ones() {
            let mut any = false;
            for id in self.builder.unit.symbols.ids() {
                let s = &self.builder.unit.symbols[id];
                if !s.is_variable()
                    || !self.builder.derivatives.contains(&id)
                    || self.space.loc(id) != loc
                {
                    continue;
                }
                any = true;
                let Some(kind) = s.ty.map(TapeKind::of) else {
                    continue;
                };
                let open = format!("{} has {}", s.name, s.missing_bounds());
                match super::save::bounds(&mut self.builder, id, at) {
                    Some(bounds) => found.push(StateVariable {
                        var: id,
                        kind,
                        bounds,
                    }),
                    None => errors.push((open, "declare the bounds of the array")),
                }
            }
            if !any {
                missing.push(loc);
            }
        }
        for loc in missing {
            let why = "what this loop calls changes the derivative of a COMMON variable";
            self.undeclared(loc, why, at);
        }
        if self.trial == 0 {
            for (why, help) in errors {
                self.errors.push(
                    Diagnostic::error(
                        &rules::AD_LOOP,
                        at,
                        format!(
                            "whether the adjoint of this loop has converged is not known: {why}"
                        ),
                    )
                    .help(help),
                );
            }
        }
        found
    }
}

farfel_lang::quote! {
    /// Goes back over one iteration until nothing changes any more.
    struct Rounds {
        rounds: SymId, change: SymId, largest: SymId, tolerance: Expr, limit: Expr,
        back: Block, compare: Block,
    }
    "
    rounds = 0
    largest = 0.0D0
    change = 1.0D0
    do while (change > tolerance*largest)
      call back
      change = 0.0D0
      call compare
      rounds = rounds + 1
      if (change > largest) then
        largest = change
      end if
      if (rounds >= limit .and. change > tolerance*largest) then
        stop 'Farfel: the adjoint of a fixed-point loop does not come to an end'
      end if
    end do
    "
}

/// A real constant in double precision.
fn double(text: &str) -> String {
    let text = text.replace('E', "D");
    match text.contains('D') {
        true => text,
        false => format!("{text}D0"),
    }
}
