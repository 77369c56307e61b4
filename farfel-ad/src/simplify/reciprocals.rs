//! Replaces divisions in tangents by multiplications by reciprocals.
//!
//! The tangent of `Q = A/B` is `(A_G - Q*B_G)/B`: a second division, which has to wait for the first. In
//! `(A_G - Q*B_G)*(1.0/B)` the reciprocal depends only on B, so that both divisions can run at the same time.
//! Compilers compute it once for all tangents over the same B, even if the program itself contains it, and
//! move it in front of a loop in which B does not change.
//!
//! The program's own computations keep their divisions. A tangent may differ in its last bit. The reciprocal
//! is infinite where B is nearly zero: less than 5.6E-309 in DOUBLE PRECISION, 2.9E-39 in REAL, which are
//! denormal numbers.

use farfel_lang::ir::{BinOp, Expr, ExprKind, StmtKind, SymId, Type, Unit, walk_block_mut};
use farfel_lang::types::type_of;
use std::collections::HashSet;

/// Rewrites the divisions in what is assigned to `tangents`.
pub(crate) fn use_reciprocals(unit: &mut Unit, tangents: &HashSet<SymId>) {
    let mut body = std::mem::take(&mut unit.body);
    walk_block_mut(&mut body, &mut |s| {
        if let StmtKind::Assign(target, value) = &mut s.kind
            && target.base().is_some_and(|t| tangents.contains(&t))
        {
            value.rewrite(&mut |e| rewrite(unit, e));
        }
    });
    unit.body = body;
}

fn rewrite(unit: &Unit, e: &mut Expr) {
    let ty = type_of(unit, e);
    let ExprKind::Binary(op @ BinOp::Div, a, b) = &mut e.kind else {
        return;
    };
    let one = match ty {
        Some(Type::Real(4)) => "1.0",
        Some(Type::Real(8)) => "1.0D0",
        _ => return,
    };
    let mut names = false;
    b.for_each_symbol(&mut |_| names = true);
    if !names || matches!(a.kind, ExprKind::Real(_) | ExprKind::Int(_)) {
        return;
    }
    let span = b.span;
    let one = Expr::real(one, span);
    let divisor = std::mem::replace(&mut **b, one.clone());
    let quotient = Expr::binary(BinOp::Div, one, divisor).at(span);
    **b = Expr::parens(quotient, span);
    *op = BinOp::Mul;
}
