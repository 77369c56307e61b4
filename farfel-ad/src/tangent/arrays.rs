//! Array constructors and their derivatives.

use super::generator::{Generator, Value};
use farfel_lang::Span;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::effects::is_constant;
use farfel_lang::ir::{ArrayConstructor, Expr, ExprKind, ImpliedDo, Stmt, Type};

impl Generator<'_> {
    /// An array constructor: the elements of its derivative are the derivatives of its elements.
    pub(super) fn constructor(&mut self, e: &Expr, a: &ArrayConstructor) -> Value {
        let ty = self.ty(e);
        let (values, derivatives) = self.elements(&a.items, ty);
        let like = |items| {
            let array = ArrayConstructor { items, ..a.clone() };
            Expr::array(array, e.span)
        };
        Value {
            p: like(values),
            d: Some(like(derivatives)),
        }
    }

    fn elements(&mut self, items: &[Expr], ty: Type) -> (Vec<Expr>, Vec<Expr>) {
        items.iter().map(|i| self.element(i, ty)).unzip()
    }

    fn element(&mut self, item: &Expr, ty: Type) -> (Expr, Expr) {
        if let ExprKind::ImpliedDo(d) = &item.kind {
            let before = self.pre.len();
            let (values, derivatives) = self.elements(&d.items, ty);
            if self.pre.len() > before {
                // Before the statement, the loop variable has no value yet.
                self.element_unsupported(
                    item.span,
                    "the derivative of this implied DO needs statements before it",
                    "assign the elements in a DO loop",
                );
            }
            let like = |items| {
                let made = ImpliedDo {
                    items,
                    ..(**d).clone()
                };
                Expr::implied_do(made, item.span)
            };
            return (like(values), like(derivatives));
        }
        let v = self.tangent(item);
        let d = v.d.unwrap_or_else(|| self.zero(ty));
        // The derivative of an array whose elements have the same derivative is a scalar.
        let d = match self.is_array_valued(item) && !self.is_array_valued(&d) {
            true => self.repeated(d, v.p.clone()),
            false => d,
        };
        (v.p, d)
    }

    /// The derivative of an array expression, as an array of the same size. If it may be `changed`, it is not
    /// made of constants: compilers put constant arrays into read-only memory.
    pub(super) fn array_like(&mut self, v: Value, ty: Type, changed: bool) -> Expr {
        let mut d = v.d.unwrap_or_else(|| self.zero(ty));
        if self.is_array_valued(&d) {
            return d;
        }
        let span = v.p.span;
        if changed && is_constant(&self.unit, &d) {
            let t = Expr::var(self.temporary(ty, true), span);
            self.pre.push(Stmt::assign(t.clone(), d, span));
            d = t;
        }
        let made = ArrayConstructor {
            items: vec![self.repeated(d, v.p)],
            ty: None,
            length: None,
        };
        Expr::array(made, span)
    }

    /// A value, repeated as many times as an array has elements.
    fn repeated(&mut self, value: Expr, array: Expr) -> Expr {
        let span = array.span;
        let to = self.call("SIZE", vec![array]);
        let made = ImpliedDo {
            items: vec![value],
            var: self.counters(1)[0],
            from: Expr::int(1, span),
            to,
            step: None,
        };
        Expr::implied_do(made, span)
    }

    fn element_unsupported(&mut self, span: Span, message: &str, help: &str) {
        let error = Diagnostic::error(&rules::AD_UNSUPPORTED, span, message).help(help);
        self.errors.push(error);
    }
}
