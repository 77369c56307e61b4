//! Loops with `!farfel: independent`: no iteration reads what another one computes.
//!
//! The forward sweep records nothing for them. The reverse sweep executes each iteration once more, with a
//! tape for this iteration only, and immediately goes back over it. That no value goes from one iteration to
//! another is proven here. Sums that nothing else in the loop reads are allowed.

use super::loops::backwards;
use super::recompute::Control;
use super::sweep::Sweeper;
use super::sweep_data::{Replay, Sweeps};
use super::tbr::Needs;
use super::transpose::is_derivative;
use crate::affine::{Affine, LoopRange};
use farfel_lang::Span;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::ir::build::count;
use farfel_lang::ir::{Do, Expr, Stmt, StmtKind, StorageClass, SymId, Type};

impl Sweeper<'_> {
    pub(super) fn independent(
        &mut self,
        d: &Do,
        (var, from, to, step): Control,
        at: Span,
        span: Span,
        needs: &mut Needs,
    ) -> Option<Sweeps> {
        let known = step.map_or(Some(1), |s| {
            farfel_lang::storage::constant::integer(&self.builder.unit, s)
        });
        let around = LoopRange {
            var,
            low: None::<Affine>,
            high: None,
        };
        let (once, _) = self.one_iteration(Some(around), &d.body)?;
        self.refuse_unrepeatable(&d.body, at);
        let touched = self
            .engine
            .touched_in(&self.builder.unit, self.space, &d.body);
        let derivatives = self.derivative_locs();
        let own_loc = self.space.loc(var);
        let mut assigned = touched.assigned;
        assigned.difference_with(&derivatives);
        assigned.set(own_loc, false);
        for loc in self.dependences(d, var) {
            let ids: Vec<SymId> = self.builder.unit.symbols.ids().collect();
            let symbols = &self.builder.unit.symbols;
            let found = ids
                .into_iter()
                .map(|id| (id, &symbols[id]))
                .find(|(id, s)| s.is_variable() && self.space.loc(*id) == loc)
                .map(|(_, s)| (s.name.clone(), s.span));
            let why = match &found {
                Some((name, _)) => format!("one may read what another assigns to {name}"),
                None => "what they call changes a COMMON variable and reads it".to_owned(),
            };
            self.depends(at, &why, found.map(|(_, span)| span));
        }

        let (mut forward, mut restore) = self.overwrite(&Expr::var(var, span), needs, span);
        needs.changed(var);
        let (push, pop) = self.overwrite_all(&assigned, needs, span);
        forward.extend(push);
        self.changed(&assigned, needs);
        for loc in touched.read.ones() {
            if !assigned.contains(loc) && !derivatives.contains(loc) && loc != own_loc {
                needs.add_all(loc);
            }
        }
        for e in [from, to].into_iter().chain(step) {
            self.read(e, needs);
        }
        if self.needs_only {
            return Some(Sweeps::unwritten(true));
        }
        // Tells `tape_size` where the loop is.
        let mark = self.builder.variable("AGAIN", Type::INTEGER);
        let zero = Expr::int(0, span);
        forward.push(Stmt::assign(Expr::var(mark, span), zero, span));
        forward.push(Stmt::repeat(
            Do {
                body: self.primal(&d.body),
                directive: None,
                ..d.clone()
            },
            span,
        ));
        let (last, down) = backwards(from, to, step, known, span);
        let mut body = once.forward.clone();
        body.extend(once.backward);
        let mut backward = Vec::new();
        backward.extend(count(var, last, from.clone(), down, body, span));
        backward.extend(pop);
        backward.append(&mut restore);
        if self.trial == 0 {
            let one = || Expr::int(1, span);
            self.replays.insert(
                mark,
                Replay {
                    slots: 0,
                    filed: 0,
                    steps: [one(), one(), one()],
                    state: Vec::new(),
                    body: once.forward,
                },
            );
        }
        Some(Sweeps { forward, backward })
    }

    /// The locations whose values from another iteration an iteration may read.
    pub(super) fn dependences(&self, d: &Do, var: SymId) -> Vec<usize> {
        let mut assigned = self
            .engine
            .assigned_in(&self.builder.unit, self.space, &d.body);
        assigned.difference_with(&self.derivative_locs());
        let loc = self.space.loc(var);
        if !self.space.tangled.contains(loc) {
            assigned.set(loc, false);
        }
        let mut state = self.exposed(&d.body);
        state.intersect_with(&assigned);
        let state = state.ones();
        state.filter(|loc| !self.is_sum(*loc, &d.body)).collect()
    }

    /// Whether a location is used only to compute its own new values.
    fn is_sum(&self, loc: usize, body: &[Stmt]) -> bool {
        let is = |s: SymId| self.space.loc(s) == loc;
        let mut symbols = self.builder.unit.symbols.iter();
        let plain = symbols.all(|(id, s)| {
            !is(id) || s.is_variable() && !matches!(s.storage_class, StorageClass::Common(_))
        });
        let mut only = plain && !self.space.tangled.contains(loc);
        for s in body {
            s.walk(&mut |x| match &x.kind {
                StmtKind::Assign(target, _)
                    if target.base().is_some_and(is)
                        && !is_derivative(&self.builder.derivatives, target) =>
                {
                    for c in target.children() {
                        c.for_each_symbol(&mut |s| only &= !is(s));
                    }
                }
                _ => {
                    x.for_each_own_expr(&mut |e| e.for_each_symbol(&mut |s| only &= !is(s)));
                    x.for_each_own_symbol(&mut |s| only &= !is(s));
                }
            });
        }
        only
    }

    /// Reports that iterations are not proven to be independent.
    pub(super) fn depends(&mut self, at: Span, why: &str, declared: Option<Span>) {
        if self.trial > 0 {
            return;
        }
        let mut error = Diagnostic::error(
            &rules::AD_LOOP,
            at,
            format!("these iterations are not proven to be independent: {why}"),
        )
        .help("take the directive out; `checkpoint(n)` bounds the memory of any counted loop");
        if let Some(span) = declared {
            error = error.related(span, "declared here");
        }
        self.errors.push(error);
    }
}
