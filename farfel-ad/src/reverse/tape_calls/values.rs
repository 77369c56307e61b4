//! Statements that push and pop single values.

use super::super::tape::TapeKind;
use super::arrays::added;
use super::with_room_after;
use farfel_lang::ir::{BinOp, Expr, ExprKind, Stmt, StmtKind, SymId, Type, Unit};
use farfel_lang::types::type_of;

/// A value that is pushed on a tape or popped.
pub(in super::super) struct Value {
    pub value: Expr,
    pub tape: SymId,
    pub top: SymId,
    pub push: bool,
}

impl Value {
    /// The kind of its tape.
    pub fn kind(&self, unit: &Unit) -> Option<TapeKind> {
        unit.symbols[self.tape].ty.map(TapeKind::of)
    }
}

/// The value that a check, a counter and an assignment at the beginning of some statements push.
pub(in super::super) fn pushed(unit: &Unit, block: &[Stmt]) -> Option<Value> {
    pushed_after(
        unit,
        block,
        &|full, top| matches!(&full.kind, ExprKind::Binary(BinOp::Ge, a, _) if is_var(a, top)),
    )
}

/// Like [`pushed`], if the check leaves room for what follows.
pub(super) fn pushed_with_room(unit: &Unit, block: &[Stmt]) -> Option<Value> {
    pushed_after(unit, block, &|full, top| match &full.kind {
        ExprKind::Binary(BinOp::Gt, need, _) => {
            let one = Expr::int(1, need.span);
            let after = Expr::binary(BinOp::Add, Expr::var(top, need.span), one);
            need.equals_ignoring_spans(&with_room_after(&after))
        }
        _ => false,
    })
}

fn pushed_after(
    unit: &Unit,
    block: &[Stmt],
    is_check: &dyn Fn(&Expr, SymId) -> bool,
) -> Option<Value> {
    let [check, counted, store, ..] = block else {
        return None;
    };
    let (
        StmtKind::LogicalIf(full, _),
        StmtKind::Assign(top, after),
        StmtKind::Assign(place, value),
    ) = (&check.kind, &counted.kind, &store.kind)
    else {
        return None;
    };
    let ExprKind::Var(top) = top.kind else {
        return None;
    };
    let one = added(after, top, BinOp::Add)?.kind == ExprKind::Int(1);
    let plain = counted.label.is_none() && store.label.is_none();
    (one && plain && is_check(full, top)).then_some(())?;
    on_tape(unit, place, value, top, true)
}

/// The value that an assignment and a counter at the beginning of some statements pop.
pub(in super::super) fn popped(unit: &Unit, block: &[Stmt]) -> Option<Value> {
    let [load, counted, ..] = block else {
        return None;
    };
    let (StmtKind::Assign(value, place), StmtKind::Assign(top, after)) =
        (&load.kind, &counted.kind)
    else {
        return None;
    };
    let ExprKind::Var(top) = top.kind else {
        return None;
    };
    let one = added(after, top, BinOp::Sub)?.kind == ExprKind::Int(1);
    (one && counted.label.is_none()).then_some(())?;
    on_tape(unit, place, value, top, false)
}

fn on_tape(unit: &Unit, place: &Expr, value: &Expr, top: SymId, push: bool) -> Option<Value> {
    let ExprKind::Element(tape, subscripts) = &place.kind else {
        return None;
    };
    let [at] = subscripts.as_slice() else {
        return None;
    };
    let ty = unit.symbols[*tape].ty?;
    let mut named = false;
    value.for_each_symbol(&mut |s| named |= s == *tape || s == top);
    let same = unit.symbols[*tape].tape
        && is_var(at, top)
        && ty != Type::Character
        && type_of(unit, value) == Some(ty)
        && !named;
    same.then(|| Value {
        value: value.clone(),
        tape: *tape,
        top,
        push,
    })
}

fn is_var(e: &Expr, s: SymId) -> bool {
    matches!(e.kind, ExprKind::Var(x) if x == s)
}
