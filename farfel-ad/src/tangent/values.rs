//! Actual arguments that are expressions.
//!
//! `CALL S(X, (X), R)` passes the value of X, and S may change this argument without changing X. The
//! derivative of the call does the same with the value and with its tangent: no two arguments share a
//! variable if one of them is assigned, and none that is assigned gets a constant.

use super::generator::{Generator, Value};
use crate::calls::CallSite;
use crate::locations::Context;
use farfel_lang::effects::is_constant;
use farfel_lang::ir::{Class, Expr, ExprKind, Stmt, SymId, Type};
use farfel_lang::types::type_of;

impl Generator<'_> {
    /// Whether an actual argument is a variable that the callee can assign.
    pub(super) fn is_designator(&self, a: &Expr) -> bool {
        match &a.kind {
            ExprKind::Var(s) => {
                !matches!(self.source.symbols[*s].class, Class::Parameter(_))
                    && !self.bound.contains_key(s)
            }
            ExprKind::Element(..) | ExprKind::Substring(..) => true,
            ExprKind::Percent(_, a) => self.is_designator(a),
            _ => false,
        }
    }

    /// Whether the callee may assign its argument at a position, which is a number that can have a
    /// derivative. An unknown callee may.
    fn assigns(&self, callee: SymId, position: usize) -> bool {
        let summary = self.engine.dependence.callee(self.source, callee);
        summary.is_none_or(|s| s.assigned.contains(position))
    }

    /// Returns what is passed for an argument with the value `p`: for an expression, a value.
    pub(super) fn value_argument(&mut self, call: CallSite, position: usize, p: Expr) -> Expr {
        let a = &call.args[position];
        let own = match &a.kind {
            ExprKind::Closure(..) | ExprKind::AltReturn(_) | ExprKind::Percent(..) => true,
            ExprKind::Var(s) => self.source.symbols[*s].class.is_procedure(),
            _ => false,
        };
        if own || self.is_designator(a) {
            return p;
        }
        let number = type_of(&self.unit, &p).is_some_and(|t| t != Type::Character);
        // Compilers put constants into read-only memory. It is not known whether a procedure without source
        // text assigns its argument; most do not.
        let constant = number && is_constant(&self.unit, &p) && !self.is_array_valued(&p);
        let summary = self.engine.dependence.callee(self.source, call.callee);
        if constant && summary.is_some_and(|s| s.assigned.contains(position)) {
            return self.store_again(p);
        }
        let kept = !self.assigns(call.callee, position);
        match p.kind {
            ExprKind::Var(s) if self.is_temporary(s) && kept => p,
            ExprKind::Var(_) | ExprKind::Element(..) => {
                let span = p.span;
                Expr::parens(p, span)
            }
            _ => p,
        }
    }

    /// Returns what is passed for the tangent of an argument that is an expression.
    pub(super) fn tangent_argument(
        &mut self,
        call: CallSite,
        position: usize,
        v: Value,
        context: &Context,
    ) -> Expr {
        let a = &call.args[position];
        let changed = context.outputs.contains(position) || self.assigns(call.callee, position);
        let ty = self.ty(a);
        if self.is_array_valued(a) {
            let mut d = self.array_like(v, ty, changed);
            if !self.is_of_type(&d, ty) {
                d = self.converted(d, ty);
            }
            return match d.kind {
                ExprKind::Var(t) | ExprKind::Element(t, _)
                    if changed || self.is_changed(call, t, context) =>
                {
                    Expr::parens(d, self.span)
                }
                _ => d,
            };
        }
        let d = match v.d {
            None if !changed && !self.engine.layout.vector => return self.zero(ty),
            None => self.zero(ty),
            Some(d) => d,
        };
        if let ExprKind::Var(t) = d.kind
            && self.is_of_type(&d, ty)
            && !changed
            && !self.is_changed(call, t, context)
        {
            return d;
        }
        let t = Expr::var(self.temporary(ty, true), self.span);
        self.pre.push(Stmt::assign(t.clone(), d, self.span));
        t
    }

    /// Whether a derivative has the type of the value that it belongs to. That of `X + 1D0` is the tangent of
    /// X, which may be of type REAL.
    fn is_of_type(&self, d: &Expr, ty: Type) -> bool {
        let real = self.engine.layout.real;
        let own = type_of(&self.unit, d).filter(|t| t.is_differentiable());
        own.is_none_or(|own| own.with_real(real) == ty.with_real(real))
    }

    /// Converts a number to another type that can have a derivative.
    pub(super) fn converted(&mut self, e: Expr, ty: Type) -> Expr {
        let span = e.span;
        match ty {
            Type::Complex(8) => self.call("DCMPLX", vec![e]),
            Type::Complex(_) => self.call("CMPLX", vec![e]),
            Type::Real(8) => self.call("DBLE", vec![e]),
            Type::Real(n @ (16 | Type::FOUR_BYTES)) => {
                let kind = Expr::int(Type::bytes(n).into(), span);
                self.call("REAL", vec![e, kind])
            }
            _ => self.call("REAL", vec![e]),
        }
    }

    /// Whether a call may change a tangent variable that is passed for an argument that the callee does not
    /// assign. It may do so through another argument or through COMMON.
    fn is_changed(&self, call: CallSite, tangent: SymId, context: &Context) -> bool {
        if self.is_temporary(tangent) {
            return false;
        }
        let Some((of, _)) = self.derivatives.iter().find(|(_, d)| **d == tangent) else {
            return true;
        };
        let loc = self.space.loc(*of);
        if self.space.tangled.contains(loc) || self.tied.contains(&loc) {
            return true;
        }
        let summary = self.engine.dependence.callee(self.source, call.callee);
        // Adjoints add to the cotangents of all that is read.
        let adds = self.engine.linear;
        if let Some(k) = self.space.common_at(loc)
            && (adds || summary.is_none_or(|s| s.assigned.contains(s.args + 1 + k)))
        {
            return true;
        }
        let mut others = call.args.iter().enumerate();
        others.any(|(j, other)| {
            self.is_designator(other)
                && other.base().is_some_and(|s| self.space.loc(s) == loc)
                && (adds || context.outputs.contains(j) || self.assigns(call.callee, j))
        })
    }

    pub(super) fn is_temporary(&self, s: SymId) -> bool {
        self.temporaries.values().any(|list| list.contains(&s))
    }
}
