//! Statements that make room for several values.

use super::arrays::{added, checked_and_counted};
use farfel_lang::ir::{BinOp, Expr, Stmt, SymId, Type, Unit};
use farfel_lang::types::type_of;

/// Room that is made on a tape, by a check and a counter.
pub(super) struct Room {
    /// The number of values, of type INTEGER.
    pub number: Expr,
    pub top: SymId,
}

/// The room that a check and a counter at the beginning of some statements make.
pub(super) fn made(unit: &Unit, block: &[Stmt]) -> Option<Room> {
    let (top, after) = checked_and_counted(block, &Expr::clone)?;
    let number = added(after, top, BinOp::Add)?.clone();
    (type_of(unit, &number) == Some(Type::INTEGER)).then_some(Room { number, top })
}
