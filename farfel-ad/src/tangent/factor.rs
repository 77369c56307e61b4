//! Computes the derivative of an expression in one variable as one factor.
//!
//! The product rule carries the tangent of X through each step of a polynomial in X, as if each occurrence of
//! X were a different variable: `((A*X_G*X + T*X_G)*X + T1*X_G)`. If an expression varies in one variable
//! only, and this occurs several times, its derivative is computed without the tangent, and multiplied by the
//! tangent at the end: `((A*X + T)*X + T1)*X_G`. That saves a multiplication in each step, and in loops only
//! one multiplication has to wait for the tangent of the previous iteration.
//!
//! A variable that occurs once gains nothing, and `X*A*B` would need the product `A*B`, which the program
//! does not compute. Where a factor is infinite, its product with a zero tangent is NaN.
//!
//! Statements that reverse mode transposes keep the form that the rules give.

use super::generator::{Generator, Value};
use farfel_lang::intrinsics::Op;
use farfel_lang::ir::{BinOp, Class, Expr, ExprKind, Type};
use farfel_lang::types::rank;

impl Generator<'_> {
    /// Returns the value of an expression, and its derivative as a factor times a tangent, if that is cheaper
    /// than the step-by-step result of the rules.
    pub(super) fn by_factor(&mut self, e: &Expr) -> Option<Value> {
        if self.unit_tangents
            || self.engine.linear
            || self.engine.layout.pattern
            || !matches!(e.kind, ExprKind::Binary(..) | ExprKind::Call(..))
        {
            return None;
        }
        let mut only = None;
        if !self.one_variable(e, &mut only) {
            return None;
        }
        let (variable, times) = only?;
        if times < 2 {
            return None;
        }
        let tangent = self.tangent(&variable).d?;
        self.unit_tangents = true;
        let mut v = self.tangent(e);
        self.unit_tangents = false;
        v.d = v.d.map(|factor| self.mul(factor, tangent));
        Some(v)
    }

    /// Whether an expression varies in only one variable, of the same type as the expression, and all steps
    /// have a derivative of one term each. `only` gets the variable and the number of its occurrences.
    fn one_variable(&self, e: &Expr, only: &mut Option<(Expr, usize)>) -> bool {
        if !matches!(self.ty(e), Type::Real(_)) || rank(&self.unit, e) > 0 {
            return !self.is_varied(e);
        }
        match &e.kind {
            ExprKind::Var(_) | ExprKind::Element(..) => {
                if !self.is_varied(e) {
                    return true;
                }
                match only {
                    Some((variable, times)) => {
                        *times += 1;
                        variable.equals_ignoring_spans(e)
                    }
                    None => {
                        *only = Some((e.clone(), 1));
                        !self.has_calls(e)
                    }
                }
            }
            ExprKind::Paren(a) | ExprKind::Unary(_, a) => self.one_variable(a, only),
            ExprKind::Binary(
                BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Div | BinOp::Pow,
                a,
                b,
            ) => {
                let ty = self.ty(e);
                let alike = |x: &Expr| self.ty(x) == ty || !self.is_varied(x);
                alike(a) && alike(b) && self.one_variable(a, only) && self.one_variable(b, only)
            }
            ExprKind::Call(s, args) => match &self.unit.symbols[*s].class {
                Class::Intrinsic(i) if self.is_varied(e) => match (i.op, args.as_slice()) {
                    (
                        Op::Exp
                        | Op::Sqrt
                        | Op::Log
                        | Op::Log10
                        | Op::Sin
                        | Op::Cos
                        | Op::Tan
                        | Op::Tanh
                        | Op::Asin
                        | Op::Acos
                        | Op::Atan
                        | Op::Sinh
                        | Op::Cosh
                        | Op::Erf
                        | Op::Erfc
                        | Op::Abs,
                        [a],
                    ) => self.ty(a) == self.ty(e) && self.one_variable(a, only),
                    _ => false,
                },
                _ => !self.is_varied(e),
            },
            _ => !self.is_varied(e),
        }
    }
}
