//! Calls of subprograms that are differentiated as well: of their forward sweeps and of their adjoints.

use super::aliased_arguments::{AdjointArguments, aliased_cotangents, has_offset, is_apart};
use super::elements::Elements;
use super::sweep::Sweeper;
use super::sweep_data::Sweeps;
use super::tbr::Needs;
use super::transpose::is_derivative;
use super::unit_builder::zero;
use crate::locations::{Set, Space};
use farfel_lang::Span;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::ir::build::increment;
use farfel_lang::ir::{Block, Class, Expr, ExprKind, Stmt, StmtId, Type};
use farfel_lang::types::{rank, type_of};

impl Sweeper<'_> {
    pub(super) fn tangent_call(
        &mut self,
        id: StmtId,
        part: usize,
        args: &[Expr],
        span: Span,
        needs: &mut Needs,
    ) -> Sweeps {
        let split = self.in_fixed_point > 0 || self.engine.only_split.contains(&self.part);
        if self.engine.joint.contains(&part) && !split {
            return self.joint_call(id, part, args, span, needs);
        }
        let callee = &self.engine.parts[part];
        let facts = &self.facts[part];
        let n = callee.derivative_args.len();
        let Some(effect) = self.engine.effects.get(&callee.name) else {
            return Sweeps::default();
        };
        // Values that are needed and will be overwritten are saved by the callee.
        let scalar_dummy = |slot: usize| callee.scalar_args.get(slot).copied().unwrap_or(false);
        let place = |slot: usize| -> Option<(usize, Option<Elements>)> {
            if slot < n {
                let a = args.get(slot)?;
                let loc = self.space.loc(a.base()?);
                let exact = scalar_dummy(slot) && !self.space.tangled.contains(loc);
                let elements = exact.then(|| Elements::of(&self.builder.unit, a)).flatten();
                Some((loc, elements))
            } else if slot > n {
                Some((self.space.common(slot - n - 1), None))
            } else {
                None
            }
        };
        let is_derivative_slot = |slot: usize| {
            callee.derivative_args.get(slot).copied().unwrap_or(false)
                || slot > n && self.engine.derivative_commons.contains(slot - n - 1)
        };
        let slices = self.assigned_slices(&callee.of, &self.procedure_args(part, args));
        let changed = self.changed_elements(&slices);
        let mut needed_on_entry = Vec::new();
        let mut assigned = Set::with_capacity(self.space.len + self.builder.unit.symbols.len());
        for slot in effect.assigned.ones().filter(|s| !is_derivative_slot(*s)) {
            let Some((loc, elements)) = place(slot) else {
                continue;
            };
            assigned.insert(loc);
            let elements = elements.as_ref().or_else(|| changed.get(&loc));
            if needs.has_some(loc, elements, &self.enclosing_loops) {
                needed_on_entry.push((part, slot));
            }
        }
        self.needed_on_entry.append(&mut needed_on_entry);
        let mut after = Needs::default();
        let exit = (!callee.is_last_call).then(|| facts.exit.ones());
        for slot in exit
            .into_iter()
            .flatten()
            .filter(|s| !is_derivative_slot(*s))
        {
            match place(slot) {
                Some((loc, Some(elements))) => {
                    after.add(loc, elements, &self.enclosing_loops);
                }
                Some((loc, None)) => {
                    let slice = facts.exit_slices.get(&slot);
                    match slice.and_then(|s| self.read_after(s, slot, loc, args)) {
                        Some(elements) => after.add(loc, elements, &self.enclosing_loops),
                        None => after.add_all(loc),
                    }
                }
                None => {}
            }
        }
        self.changed(&assigned, needs);
        self.changed(&assigned, &mut after);
        needs.union_with(&after);
        self.read_to_pass(callee, args, needs);
        if callee.is_last_call {
            // Both sweeps are executed when the reverse sweep gets here.
            let backward = self.backward_call(part, args, Vec::new(), span);
            return Sweeps {
                forward: Vec::new(),
                backward,
            };
        }
        let (call, tapes) = self.forward_call(part, args, span);
        let backward = self.backward_call(part, args, tapes, span);
        Sweeps {
            forward: vec![call],
            backward,
        }
    }

    /// The arguments of a call that are not derivatives.
    pub(super) fn primals(&self, part: usize, args: &[Expr]) -> Vec<Expr> {
        let derivative = &self.engine.parts[part].derivative_args;
        let args = args.iter().zip(derivative);
        args.filter(|(_, d)| !**d).map(|(a, _)| a.clone()).collect()
    }

    /// The arguments of a call, as those of the procedure that a part was made from.
    pub(super) fn procedure_args(&self, part: usize, args: &[Expr]) -> Vec<Expr> {
        let mut primals = self.primals(part, args);
        if self.engine.parts[part].result.is_some() {
            primals.pop();
        }
        primals
    }

    /// Returns the call of a forward sweep, and the tapes among its arguments.
    pub(super) fn forward_call(
        &mut self,
        part: usize,
        args: &[Expr],
        span: Span,
    ) -> (Stmt, Vec<Expr>) {
        let callee = &self.engine.parts[part];
        let facts = &self.facts[part];
        let primals = self.primals(part, args);
        let mut tapes = Vec::new();
        for kind in &facts.tapes {
            tapes.extend(self.tapes.actuals(&mut self.builder, *kind, span));
        }
        if !facts.forward {
            return (self.primal_call(part, primals, span), tapes);
        }
        let f = self
            .builder
            .procedure(&callee.forward_name, Class::Subroutine, None);
        let actuals = primals.into_iter().chain(tapes.iter().cloned()).collect();
        (Stmt::call(f, actuals, span), tapes)
    }

    /// Returns the call of the subprogram that a tangent was made from.
    pub(super) fn primal_call(&mut self, part: usize, mut primals: Vec<Expr>, span: Span) -> Stmt {
        let callee = &self.engine.parts[part];
        match callee.result {
            Some(ty) => {
                let f = self
                    .builder
                    .procedure(&callee.of, Class::Function, Some(ty));
                let result = primals.pop();
                let value = Expr::call(f, primals, span);
                match result {
                    Some(r) => Stmt::assign(r, value, span),
                    None => Stmt::continues(span),
                }
            }
            None => {
                let f = self.builder.procedure(&callee.of, Class::Subroutine, None);
                Stmt::call(f, primals, span)
            }
        }
    }

    /// Returns the call of an adjoint. No two of its arguments may be the same cotangent, since it adds to
    /// both.
    pub(super) fn backward_call(
        &mut self,
        part: usize,
        args: &[Expr],
        tapes: Vec<Expr>,
        span: Span,
    ) -> Block {
        let callee = &self.engine.parts[part];
        let (mut before, mut after) = (Vec::new(), Vec::new());
        let mut actuals = Vec::with_capacity(args.len());
        let mut passed: Vec<(usize, &Expr)> = Vec::new();
        let touches_common = |loc: usize, space: &Space| {
            space.common_at(loc).is_some_and(|k| {
                let slot = callee.derivative_args.len() + 1 + k;
                self.engine
                    .effects
                    .get(&callee.name)
                    .is_some_and(|e| e.assigned.contains(slot) || e.read.contains(slot))
            })
        };
        for (a, derivative) in args.iter().zip(&callee.derivative_args) {
            let added = callee.added_args.get(actuals.len()).copied();
            if !derivative || added.unwrap_or(false) {
                actuals.push(a.clone());
                continue;
            }
            if !is_derivative(&self.builder.derivatives, a) {
                let mut carries = rank(&self.builder.unit, a) > 0;
                a.for_each_symbol(&mut |s| carries |= self.builder.derivatives.contains(&s));
                if carries && self.trial == 0 {
                    let message = "the adjoint of an array expression as an argument is not known";
                    self.errors.push(
                        Diagnostic::error(&rules::AD_ARGUMENT, span, message)
                            .help("assign it to an array first"),
                    );
                }
                // A constant zero: its cotangent is not used.
                let ty = type_of(&self.builder.unit, a).unwrap_or(Type::REAL);
                let t = Expr::var(self.builder.derivative_temporary(ty), span);
                before.push(Stmt::assign(t.clone(), zero(ty, span), span));
                actuals.push(t);
                continue;
            }
            let loc = a.base().map(|s| self.space.loc(s));
            let scalar = callee
                .scalar_args
                .get(actuals.len())
                .copied()
                .unwrap_or(false);
            // If a scalar is an element of an array that is also passed, the scalar is copied.
            let others: Vec<(usize, &Expr)> = match scalar {
                true => args
                    .iter()
                    .zip(&callee.derivative_args)
                    .enumerate()
                    .filter(|(i, (_, d))| **d && *i != actuals.len())
                    .map(|(i, (a, _))| (i, a))
                    .collect(),
                false => passed.clone(),
            };
            // If two arguments overlap, Fortran does not allow the callee to assign either.
            let arguments = AdjointArguments {
                engine: self.engine,
                part: callee,
            };
            let meets = others.iter().any(|(i, p)| {
                let added = [*i, actuals.len()].map(|i| arguments.is_only_added_to(i));
                let added = added == [true, true];
                // For parts of one array there will be a copy of the callee (`aliased_arguments`).
                let has_known_offset = |e: &Expr| has_offset(&self.builder.unit, e);
                let merged = added
                    && !scalar
                    && p.base() == a.base()
                    && has_known_offset(p)
                    && has_known_offset(a);
                let unit = &self.builder.unit;
                let apart = match (scalar, arguments.is_scalar(*i)) {
                    (true, other) => is_apart(unit, a, p, !other),
                    (false, true) => is_apart(unit, p, a, true),
                    (false, false) => false,
                };
                !apart
                    && p.base().map(|s| self.space.loc(s)) == loc
                    && (p.equals_ignoring_spans(a) || added)
                    && !merged
            });
            if !meets && !loc.is_some_and(|l| touches_common(l, self.space)) {
                passed.push((actuals.len(), a));
                actuals.push(a.clone());
                continue;
            }
            match self.own_copy(part, actuals.len(), a, span) {
                Some((copy, set, add)) => {
                    before.extend(set);
                    after.extend(add);
                    actuals.push(copy);
                }
                None => {
                    if self.trial == 0 {
                        self.errors.push(aliased_cotangents(a.span));
                    }
                    actuals.push(a.clone());
                }
            }
        }
        actuals.extend(tapes);
        let f = self
            .builder
            .procedure(&callee.backward_name, Class::Subroutine, None);
        before.push(Stmt::call(f, actuals, span));
        before.append(&mut after);
        before
    }

    /// Makes a separate cotangent for an argument. Returns it with the statements that move the value there,
    /// and those that add it back.
    fn own_copy(
        &mut self,
        part: usize,
        position: usize,
        a: &Expr,
        span: Span,
    ) -> Option<(Expr, Block, Block)> {
        let callee = &self.engine.parts[part];
        let base = a.base()?;
        let symbol = self.builder.unit.symbols[base].clone();
        let ty = symbol.ty?;
        let scalar = callee.scalar_args.get(position).copied().unwrap_or(false);
        if scalar {
            let t = Expr::var(self.builder.derivative_temporary(ty), span);
            let set = vec![
                Stmt::assign(t.clone(), a.clone(), span),
                Stmt::assign(a.clone(), zero(ty, span), span),
            ];
            let add = vec![increment(a.clone(), t.clone(), span)];
            return Some((t, set, add));
        }
        if symbol
            .dims
            .iter()
            .any(|d| !d.upper.as_ref().is_some_and(|u| u.kind != ExprKind::Star))
        {
            return None;
        }
        let name = self.builder.unused("TEMPB");
        let copy = self.builder.declare(farfel_lang::ir::Symbol {
            dims: symbol.dims.clone(),
            ..farfel_lang::ir::Symbol::variable(name, ty, span)
        });
        self.builder.derivatives.insert(copy);
        let whole = Expr::var(copy, span);
        let mut passed = a.clone();
        if let ExprKind::Var(s) | ExprKind::Element(s, _) = &mut passed.kind {
            *s = copy;
        }
        let own = Expr::var(base, span);
        let set = vec![
            Stmt::assign(whole.clone(), own.clone(), span),
            Stmt::assign(own.clone(), zero(ty, span), span),
        ];
        let add = vec![increment(own, whole, span)];
        Some((passed, set, add))
    }
}
