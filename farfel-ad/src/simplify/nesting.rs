//! Joins branches in branches where nothing else is executed between them.
//!
//! | before | after |
//! |---|---|
//! | `IF (A) THEN X ELSE IF (B) THEN Y END IF END IF` | `IF (A) THEN X ELSE IF (B) THEN Y END IF` |
//! | `IF (A) THEN IF (B) THEN X END IF END IF` | `IF (A .AND. B) THEN X END IF` |
//!
//! The second condition is then evaluated although the first one is false, so it must be one that can always be evaluated.

use super::increments::lines_of;
use crate::legal::structure::is_harmless;
use farfel_lang::ir::build::binary;
use farfel_lang::ir::{BinOp, Block, Expr, ExprKind, IfBlock, Origin, Stmt, StmtKind, Type, Unit};
use farfel_lang::print::print_expr;
use farfel_lang::types::type_of;

/// Joins branches in the branches of a statement, whose blocks have been treated before.
pub(super) fn join_branches(unit: &Unit, s: &mut Stmt, indent: usize) {
    let StmtKind::If(b) = &mut s.kind else {
        return;
    };
    if !is_plain(b) {
        return;
    }
    if let Some(inner) = b.otherwise.as_mut().and_then(alone) {
        b.arms.append(&mut inner.arms);
        b.otherwise = inner.otherwise.take();
        b.marks.clear();
    }
    let [(first, body)] = b.arms.as_mut_slice() else {
        return;
    };
    if b.otherwise.is_some() {
        return;
    }
    let Some(inner) = alone(body).filter(|inner| inner.otherwise.is_none()) else {
        return;
    };
    let [(second, inner)] = inner.arms.as_mut_slice() else {
        return;
    };
    if !is_harmless(first) || !can_come_early(unit, second) {
        return;
    }
    let both = binary(BinOp::And, first.clone(), second.clone());
    let text = |e: &Expr| lines_of("IF () THEN".len() + print_expr(unit, e).len(), indent);
    if text(&both) < text(first) + text(second) + 1 {
        let inner = std::mem::take(inner);
        *first = both;
        *body = inner;
    }
}

/// The IF that is the only statement of a block.
fn alone(block: &mut Block) -> Option<&mut IfBlock> {
    match block.as_mut_slice() {
        [
            Stmt {
                kind: StmtKind::If(b),
                label: None,
                ..
            },
        ] if is_plain(b) => Some(b),
        _ => None,
    }
}

/// Whether an IF has no name and no labels.
fn is_plain(b: &IfBlock) -> bool {
    b.name.is_none() && b.end_label.is_none() && b.marks.iter().all(|m| m.label.is_none())
}

/// Whether a condition can be evaluated where another one is false: it only reads variables of the source, as generated ones may
/// have no value there, and it has no products of integers, which may be too large there.
fn can_come_early(unit: &Unit, condition: &Expr) -> bool {
    let mut can = is_harmless(condition);
    condition.for_each_symbol(&mut |s| can &= unit.symbols[s].origin == Origin::Written);
    condition.walk(&mut |e| {
        if let ExprKind::Binary(BinOp::Mul, ..) = e.kind {
            can &= !matches!(type_of(unit, e), Some(Type::Integer(_)));
        }
    });
    can
}
