//! Statements that make room for several values.

use super::arrays::{added, checked_and_counted};
use farfel_lang::ir::{BinOp, Expr, ExprKind, Stmt, SymId, Type, Unit};
use farfel_lang::types::type_of;

/// Room that is made on a tape, by a check and a counter.
pub(super) struct Room {
    /// The number of values, of type INTEGER or INTEGER*8.
    pub number: Expr,
    pub top: SymId,
}

/// The room that a check and a counter at the beginning of some statements make.
pub(super) fn made(unit: &Unit, block: &[Stmt]) -> Option<Room> {
    let (top, after) = checked_and_counted(block, &Expr::clone)?;
    let number = match added(after, top, BinOp::Add)?.clone() {
        Expr {
            kind: ExprKind::Paren(inner),
            ..
        } => *inner,
        other => other,
    };
    let known = matches!(
        type_of(unit, &number),
        Some(Type::INTEGER | Type::Integer(8))
    );
    known.then_some(Room { number, top })
}

/// A number of type INTEGER or INTEGER*8 as one of type INTEGER*8.
pub(super) fn wide(unit: &Unit, number: Expr) -> Expr {
    let span = number.span;
    match (type_of(unit, &number), &number.kind) {
        (Some(Type::Integer(8)), _) => number,
        (_, ExprKind::Int(n)) => Expr::long(*n, span),
        (_, ExprKind::Binary(op, ..)) if *op != BinOp::Mul => {
            Expr::binary(BinOp::Mul, Expr::long(1, span), Expr::parens(number, span))
        }
        _ => Expr::binary(BinOp::Mul, Expr::long(1, span), number),
    }
}
