//! INTEGER operations without a result, for which processors end the process.

use super::EndReplacer;
use crate::support::{Operation, Support, shortened};
use farfel_lang::intrinsics::Op;
use farfel_lang::ir::{BinOp, Class, Expr, ExprKind, Type, Unit};
use farfel_lang::print::print_expr;
use farfel_lang::storage::constant;
use farfel_lang::types::type_of;

/// Returns the function that performs an operation, if the operation may have no result.
pub(super) fn may_fail(unit: &Unit, e: &Expr) -> Option<Support> {
    let constant = |e: &Expr| constant::integer(unit, e);
    let (operation, [a, b]) = match &e.kind {
        ExprKind::Binary(BinOp::Div, a, b) => (Operation::Quotient, [&**a, &**b]),
        ExprKind::Binary(BinOp::Pow, a, b) => (Operation::Power, [&**a, &**b]),
        ExprKind::Call(f, args) => match (&unit.symbols[*f].class, &args[..]) {
            (Class::Intrinsic(i), [a, b]) => match i.op {
                Op::Mod => (Operation::Remainder, [a, b]),
                Op::Modulo => (Operation::Modulo, [a, b]),
                _ => return None,
            },
            _ => return None,
        },
        _ => return None,
    };
    let safe = match operation {
        Operation::Power => {
            constant(b).is_some_and(|b| b >= 0) || constant(a).is_some_and(|a| a != 0)
        }
        // Compilers themselves refuse to divide by the constant 0.
        _ => constant(b).is_some(),
    };
    let bytes = |e: &Expr| match type_of(unit, e) {
        Some(Type::Integer(n @ (1 | 2 | 4 | 8))) => Some(n),
        _ => None,
    };
    (!safe).then_some(())?;
    Some(Support::Integers(operation, bytes(a)?, bytes(b)?))
}

impl EndReplacer<'_> {
    /// Rewrites an expression with everything in it.
    pub(super) fn expr(&mut self, e: &mut Expr) {
        let found = may_fail(&self.unit, e).map(|s| (s, shown(&self.unit, e)));
        e.children_mut().into_iter().for_each(|c| self.expr(c));
        match &mut e.kind {
            ExprKind::Range(_, _, Some(step)) => self.step(step),
            ExprKind::ImpliedDo(d) => d.step.iter_mut().for_each(|step| self.step(step)),
            _ => {}
        }
        let Some((support, shown)) = found else {
            return;
        };
        let span = e.span;
        let mut args = match &mut e.kind {
            ExprKind::Binary(_, a, b) => [a, b]
                .map(|x| std::mem::replace(&mut **x, Expr::int(0, span)))
                .into(),
            ExprKind::Call(_, args) => std::mem::take(args),
            _ => return,
        };
        args.extend([Expr::text(shown, span), self.place(span)]);
        self.ends.expected = true;
        *e = self.support(support, args, span);
    }

    /// Adds a check to the step of a loop or section, whose expression has already been rewritten.
    pub(super) fn step(&mut self, step: &mut Expr) {
        let known = constant::integer(&self.unit, step).is_some();
        let Some(Type::Integer(bytes @ (1 | 2 | 4 | 8))) = type_of(&self.unit, step) else {
            return;
        };
        if known || matches!(step.kind, ExprKind::Call(f, _) if self.is_step(f)) {
            return;
        }
        let span = step.span;
        let shown = Expr::text(shown(&self.unit, step), span);
        let value = std::mem::replace(step, Expr::int(0, span));
        let args = vec![value, shown, self.place(span)];
        self.ends.expected = true;
        *step = self.support(Support::Step(bytes), args, span);
    }

    fn is_step(&self, function: farfel_lang::ir::SymId) -> bool {
        self.unit.symbols[function].name.starts_with("FARFEL_STEP")
    }
}

/// Formats an expression for messages, without the checks in it.
fn shown(unit: &Unit, e: &Expr) -> String {
    let mut plain = e.clone();
    plain.rewrite(&mut |e| {
        let inner = match &e.kind {
            ExprKind::Call(f, args) => {
                let checked = Support::checked(&unit.symbols[*f].name);
                checked.and_then(|at| args.get(at)).cloned()
            }
            // In the form expected by checks.
            ExprKind::Binary(BinOp::Add, zero, e) if is_long_zero(zero) => Some((**e).clone()),
            ExprKind::Kind(n, 8) => Some((**n).clone()),
            _ => None,
        };
        if let Some(inner) = inner {
            *e = inner;
        }
    });
    shortened(print_expr(unit, &plain))
}

/// Whether an expression is `0_8`, with or without its kind.
fn is_long_zero(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Kind(n, 8) => n.kind == ExprKind::Int(0),
        kind => *kind == ExprKind::Int(0),
    }
}
