//! Swaps the operands of differences instead of changing signs.
//!
//! The rules give `-(R_G*X - T*Y_G)*(1.0D0/A)`, which costs a change of sign that `(T*Y_G - R_G*X)*(1.0D0/A)`
//! does not. Compilers keep it for the sake of the sign of zero.

use farfel_lang::ir::{BinOp, Expr, ExprKind, StmtKind, SymId, UnOp, Unit, walk_block_mut};
use std::collections::HashSet;

/// Rewrites what is assigned to some variables, which hold derivatives.
pub(crate) fn turn_differences(unit: &mut Unit, derivatives: &HashSet<SymId>) {
    walk_block_mut(&mut unit.body, &mut |s| {
        if let StmtKind::Assign(target, value) = &mut s.kind
            && target.base().is_some_and(|t| derivatives.contains(&t))
        {
            value.rewrite(&mut |e| {
                if let ExprKind::Unary(UnOp::Minus, a) = &e.kind
                    && let Some(turned) = turned(a)
                {
                    *e = turned;
                }
            });
            // An assigned value needs no parentheses.
            if let ExprKind::Paren(a) = &value.kind
                && matches!(a.kind, ExprKind::Binary(BinOp::Sub, ..))
            {
                *value = (**a).clone();
            }
        }
    });
}

/// Returns the negative of a value whose first factor is a sum with a subtracted term.
fn turned(e: &Expr) -> Option<Expr> {
    let kind = match &e.kind {
        ExprKind::Binary(op @ (BinOp::Mul | BinOp::Div), a, b) => {
            ExprKind::Binary(*op, Box::new(turned(a)?), b.clone())
        }
        ExprKind::Paren(a) => ExprKind::Paren(Box::new(turned(a)?)),
        ExprKind::Binary(BinOp::Add | BinOp::Sub, ..) => {
            let mut terms = Vec::new();
            terms_of(e, true, &mut terms);
            let first = terms.iter().position(|(plus, _)| !plus)?;
            let (_, first) = terms.remove(first);
            return Some(terms.into_iter().fold(first, |sum, (plus, term)| {
                let op = if plus { BinOp::Sub } else { BinOp::Add };
                Expr::binary(op, sum, term)
            }));
        }
        _ => return None,
    };
    Some(Expr::new(kind, e.span))
}

/// Collects the terms of a sum, each with whether it is added.
pub(super) fn terms_of(e: &Expr, plus: bool, found: &mut Vec<(bool, Expr)>) {
    match &e.kind {
        ExprKind::Binary(op @ (BinOp::Add | BinOp::Sub), a, b) => {
            terms_of(a, plus, found);
            found.push((plus == (*op == BinOp::Add), (**b).clone()));
        }
        ExprKind::Unary(UnOp::Minus, a) => found.push((!plus, (**a).clone())),
        _ => found.push((plus, e.clone())),
    }
}
