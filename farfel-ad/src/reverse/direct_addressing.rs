//! Loops that record the same number of values in each iteration: the places of the values on the tape are
//! known in advance, so that a single check for room is enough.
//!
//! ```fortran
//!       IF (TOP + MAX(N, 0) .GT. MOST) STOP '…'       DO I = N, 1, -1
//!       TOP = TOP + MAX(N, 0)                           X(I) = TAPE(TOP - N + I)
//!       DO I = 1, N                                     ...
//!         TAPE(TOP - N + I) = X(I)                    END DO
//!         ...                                         TOP = TOP - MAX(N, 0)
//!       END DO
//! ```
//!
//! Pushing values one by one makes each iteration depend on the previous one, and compilers do not optimise
//! such loops. If an iteration records several values, each of them gets its own stretch of the tape, so that
//! iterations go through all arrays side by side. This requires a loop variable that counts by one. With
//! another step, the values of an iteration lie next to each other, and only the check for room moves in
//! front of the loop. If the step equals the number of values (a loop that was unrolled by hand), the place
//! of each value follows from the loop variable again.
//!
//! A loop that records values only in a branch, in an inner loop or in a subprogram, or whose number of
//! iterations is not known, pushes them one by one.

use super::tape::{TapeKind, TapeOp, TapeVars, Tapes};
use super::unit_builder::UnitBuilder;
use crate::affine::is_simple;
use farfel_lang::Span;
use farfel_lang::ir::build::{binary, difference, paren, product, sum};
use farfel_lang::ir::{BinOp, Block, Expr, ExprKind, Stmt, StmtKind, SymId, Type};
use farfel_lang::types::type_of;

/// The control of a counted loop: its variable, start, end, and step, which is a constant.
pub(super) struct ConstantStepLoop<'a> {
    pub var: SymId,
    pub from: &'a Expr,
    pub to: &'a Expr,
    pub step: i64,
}

/// Gives the values that the body of a loop records on one tape fixed places. Returns the statements that go
/// before the loop of the forward sweep, and those after the loop of the reverse sweep. Changes nothing and
/// returns `None` if this is not possible.
pub(super) fn address_directly(
    builder: &mut UnitBuilder,
    tapes: &mut Tapes,
    kind: TapeKind,
    l: &ConstantStepLoop,
    [forward, backward]: [&mut Block; 2],
    span: Span,
) -> Option<(Block, Block)> {
    let tape = &tapes.vars(builder, kind);
    let pushes = places(tapes, forward, TapeOp::Push(kind));
    let pops = places(tapes, backward, TapeOp::Pop(kind));
    let number = pushes.len();
    let all = number > 0
        && number == pops.len()
        && !names_it_besides(forward, &pushes, 3, tape)
        && !names_it_besides(backward, &pops, 2, tape);
    let unit = &builder.unit;
    let whole = |e: &Expr| matches!(type_of(unit, e), Some(Type::Integer(_)));
    let simple = [l.from, l.to]
        .iter()
        .all(|e| is_simple(unit, e) && whole(e));
    if !all || l.step == 0 || !simple || !whole(&Expr::var(l.var, span)) || jumps(forward) {
        return None;
    }
    let k = i64::try_from(number).ok()?;
    let top = || Expr::var(tape.top(), span);
    let (low, high) = match l.step > 0 {
        true => (l.from, l.to),
        false => (l.to, l.from),
    };
    // The absolute value of the step.
    let way = l.step.checked_abs()?;
    let length = match (&low.kind, &high.kind) {
        (ExprKind::Int(a), ExprKind::Int(b)) => Expr::int(b.checked_sub(*a)?, span),
        _ => difference(high.clone(), low.clone()),
    };
    let trips = match (&low.kind, &length.kind, way) {
        (ExprKind::Int(1), _, 1) => high.clone(),
        (.., 1) if trips_until(low, high).is_some() => trips_until(low, high)?.clone(),
        (_, ExprKind::Int(n), _) => Expr::int(n.checked_add(way)?.checked_div(way)?, span),
        (_, _, 1) => sum(length, Expr::int(1, span)),
        _ => binary(
            BinOp::Div,
            paren(sum(length, Expr::int(way, span))),
            Expr::int(way, span),
        ),
    };
    let at_least_none = match trips.kind {
        ExprKind::Int(n) => Expr::int(n.max(0), span),
        _ => builder.call("MAX", vec![trips.clone(), Expr::int(0, span)], span),
    };
    let values = match (k, &at_least_none.kind) {
        (1, _) => at_least_none,
        (_, ExprKind::Int(n)) => Expr::int(n.checked_mul(k)?, span),
        _ => product(times(k, span), at_least_none),
    };
    let v = || Expr::var(l.var, span);
    // The place of the `j`-th value of an iteration, from 1, if it follows from the loop variable.
    let place = |j: i64| -> Option<Expr> {
        if way == 1 {
            // The stretches of later values come after its own.
            let behind = match k - j {
                0 => top(),
                n => {
                    let all = match trips.kind {
                        ExprKind::Int(t) => Expr::int(n.checked_mul(t)?, span),
                        _ => binary(BinOp::Mul, times(n, span), paren(trips.clone())),
                    };
                    difference(top(), all)
                }
            };
            return Some(match l.step {
                1 => sum(difference(behind, l.to.clone()), v()),
                _ => sum(difference(behind, l.from.clone()), v()),
            });
        }
        // Places increase by as much as the variable does.
        if l.step == k {
            let all = binary(BinOp::Mul, paren(trips.clone()), Expr::int(k, span));
            let begin = difference(difference(top(), all), l.from.clone());
            return Some(sum(sum(begin, Expr::int(j, span)), v()));
        }
        None
    };
    let need = binary(BinOp::Add, top(), paren(values.clone()));
    if place(1).is_none() {
        // The values lie next to each other: only the check moves.
        remove(forward, &pushes, 1);
        return Some((
            vec![tapes.capacity_check(builder, kind, need, span)],
            Vec::new(),
        ));
    }
    for (j, i) in pushes.iter().enumerate() {
        set_place(forward.get_mut(*i + 2)?, &place(j as i64 + 1)?, true);
    }
    for (j, i) in pops.iter().enumerate() {
        // The last value is popped first.
        set_place(backward.get_mut(*i)?, &place(k - j as i64)?, false);
    }
    remove(forward, &pushes, 2);
    let downs: Vec<usize> = pops.iter().map(|i| i + 1).collect();
    remove(backward, &downs, 1);
    let move_top = |op| Stmt::assign(top(), binary(op, top(), paren(values.clone())), span);
    Some((
        vec![
            tapes.capacity_check(builder, kind, need, span),
            move_top(BinOp::Add),
        ],
        vec![move_top(BinOp::Sub)],
    ))
}

/// Removes `count` statements at each of some sorted positions.
fn remove(block: &mut Block, places: &[usize], count: usize) {
    let mut at = 0;
    let mut places = places.iter().copied().peekable();
    block.retain(|_| {
        let here = at;
        at += 1;
        while places.next_if(|p| p + count <= here).is_some() {}
        places.peek().is_none_or(|p| here < *p)
    });
}

/// The `n` of a loop from `low` to `low + n - 1`.
fn trips_until<'e>(low: &Expr, high: &'e Expr) -> Option<&'e Expr> {
    let ExprKind::Binary(BinOp::Sub, end, one) = &high.kind else {
        return None;
    };
    match &end.kind {
        ExprKind::Binary(BinOp::Add, from, n)
            if one.kind == ExprKind::Int(1) && from.equals_ignoring_spans(low) =>
        {
            Some(match &n.kind {
                ExprKind::Paren(n) => n,
                _ => n,
            })
        }
        _ => None,
    }
}

/// A factor of the same integer type as places on tapes.
fn times(n: i64, span: Span) -> Expr {
    Expr::long(n, span)
}

/// Sets the subscript of a tape in a push or pop.
fn set_place(s: &mut Stmt, place: &Expr, push: bool) {
    let StmtKind::Assign(target, value) = &mut s.kind else {
        return;
    };
    let e = if push { target } else { value };
    if let ExprKind::Element(_, subscripts) = &mut e.kind {
        *subscripts = vec![place.clone()];
    }
}

/// The positions of statements with a given tape operation.
fn places(tapes: &Tapes, block: &[Stmt], op: TapeOp) -> Vec<usize> {
    let here = |i: &usize| block.get(*i).and_then(|s| tapes.op(s)) == Some(op);
    (0..block.len()).filter(here).collect()
}

/// Whether statements name a tape, other than the `count` statements at each of some sorted positions.
fn names_it_besides(block: &[Stmt], places: &[usize], count: usize, tape: &TapeVars) -> bool {
    let of_tape = [tape.values(), tape.top(), tape.capacity()];
    let known = |i: usize| {
        let before = places.partition_point(|p| *p <= i);
        before > 0 && i < places[before - 1] + count
    };
    let mut found = false;
    for (_, s) in block.iter().enumerate().filter(|(i, _)| !known(*i)) {
        let one = std::slice::from_ref(s);
        farfel_lang::ir::for_each_symbol(one, &mut |s| found |= of_tape.contains(&s));
    }
    found
}

/// Whether an iteration may end before its last statement.
fn jumps(block: &[Stmt]) -> bool {
    let mut found = false;
    for s in block {
        s.walk(&mut |x| {
            found |= !matches!(
                x.kind,
                StmtKind::Assign(..)
                    | StmtKind::If(_)
                    | StmtKind::LogicalIf(..)
                    | StmtKind::Select(_)
                    | StmtKind::Do(_)
                    | StmtKind::Call(..)
                    | StmtKind::Comment(_)
                    | StmtKind::Format(_)
                    | StmtKind::Continue
                    | StmtKind::Stop(_)
            );
        });
    }
    found
}
