//! Statements that make room for several values.

use super::arrays::added;
use farfel_lang::ir::{BinOp, Expr, ExprKind, Stmt, StmtKind, SymId, Type, Unit};
use farfel_lang::types::type_of;

/// Room that is made on a tape, by a check and a counter.
pub(super) struct Room {
    /// The number of values, of type INTEGER.
    pub number: Expr,
    pub top: SymId,
}

/// The room that a check and a counter at the beginning of some statements make.
pub(super) fn made(unit: &Unit, block: &[Stmt]) -> Option<Room> {
    let [check, counted, ..] = block else {
        return None;
    };
    let (StmtKind::LogicalIf(full, _), StmtKind::Assign(top, after)) = (&check.kind, &counted.kind)
    else {
        return None;
    };
    let (ExprKind::Binary(BinOp::Gt, need, _), ExprKind::Var(top)) = (&full.kind, &top.kind) else {
        return None;
    };
    let number = added(after, *top, BinOp::Add)?;
    let same = counted.label.is_none()
        && need.equals_ignoring_spans(after)
        && type_of(unit, number) == Some(Type::INTEGER);
    same.then(|| Room {
        number: number.clone(),
        top: *top,
    })
}
