//! Loops that keep the same number of values in each iteration: their place on the tape is known
//! before, so that one look at its end is enough.
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
//! Pushes one by one make each iteration wait for the last, and compilers leave such loops as
//! they are. Where an iteration keeps several values, each of them has a stretch of its own, so that
//! iterations go through all arrays side by side. That is so where the variable counts by one. Where it
//! counts otherwise, values lie one behind the other, and only the look at the end comes
//! before the loop; where it counts by as much as there are values (a loop that was unrolled by hand),
//! the place of each follows from the variable again.
//!
//! A loop that keeps values in an arm only, in a loop inside it or in a subprogram, and one whose
//! number of iterations is not known, pushes one by one.

use super::maker::Maker;
use super::tape::{Kind, Op, Tapes, Vars};
use crate::affine::is_simple;
use farfel_lang::Span;
use farfel_lang::ir::build::{binary, difference, paren, product, sum};
use farfel_lang::ir::{BinOp, Block, Expr, ExprKind, Stmt, StmtKind, SymId, Type};
use farfel_lang::types::type_of;

/// What counts a loop: its variable, from, to, step if that is a constant.
pub(super) struct Counted<'a> {
    pub var: SymId,
    pub from: &'a Expr,
    pub to: &'a Expr,
    pub step: i64,
}

/// Gives the values that the body of a loop keeps on one tape their places; returns what comes
/// before the loop of the forward sweep and behind that of the backward sweep. Nothing happens
/// where that cannot be done.
pub(super) fn give_places(
    make: &mut Maker,
    tapes: &mut Tapes,
    kind: Kind,
    l: &Counted,
    [forward, backward]: [&mut Block; 2],
    span: Span,
) -> Option<(Block, Block)> {
    let tape = &tapes.vars(make, kind);
    let pushes = places(tapes, forward, Op::Push(kind));
    let pops = places(tapes, backward, Op::Pop(kind));
    let number = pushes.len();
    let all = number > 0
        && number == pops.len()
        && !names_it_besides(forward, &pushes, 3, tape)
        && !names_it_besides(backward, &pops, 2, tape);
    let unit = &make.unit;
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
    // How far the variable goes.
    let way = l.step.checked_abs()?;
    let length = match (&low.kind, &high.kind) {
        (ExprKind::Int(a), ExprKind::Int(b)) => Expr::int(b.checked_sub(*a)?, span),
        _ => difference(high.clone(), low.clone()),
    };
    let trips = match (&low.kind, &length.kind, way) {
        (ExprKind::Int(1), _, 1) => high.clone(),
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
        _ => make.call("MAX", vec![trips.clone(), Expr::int(0, span)], span),
    };
    let values = match (k, &at_least_none.kind) {
        (1, _) => at_least_none,
        (_, ExprKind::Int(n)) => Expr::int(n.checked_mul(k)?, span),
        _ => product(times(k, span), at_least_none),
    };
    let v = || Expr::var(l.var, span);
    // The place of the value of a number, from 1, where the variable tells it.
    let place = |j: i64| -> Option<Expr> {
        if way == 1 {
            // Its stretch ends where that many values come behind it.
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
        // Places go up by as much as the variable does.
        if l.step == k {
            let all = binary(BinOp::Mul, paren(trips.clone()), Expr::int(k, span));
            let begin = difference(difference(top(), all), l.from.clone());
            return Some(sum(sum(begin, Expr::int(j, span)), v()));
        }
        None
    };
    let need = binary(BinOp::Add, top(), paren(values.clone()));
    if place(1).is_none() {
        // One behind the other: there is only no need to look.
        remove(forward, &pushes, 1);
        return Some((vec![tapes.look(make, kind, need, span)], Vec::new()));
    }
    for (j, i) in pushes.iter().enumerate() {
        set_place(forward.get_mut(*i + 2)?, &place(j as i64 + 1)?, true);
    }
    for (j, i) in pops.iter().enumerate() {
        // The last value comes first.
        set_place(backward.get_mut(*i)?, &place(k - j as i64)?, false);
    }
    remove(forward, &pushes, 2);
    let downs: Vec<usize> = pops.iter().map(|i| i + 1).collect();
    remove(backward, &downs, 1);
    let move_top = |op| Stmt::assign(top(), binary(op, top(), paren(values.clone())), span);
    Some((
        vec![tapes.look(make, kind, need, span), move_top(BinOp::Add)],
        vec![move_top(BinOp::Sub)],
    ))
}

/// Takes `count` statements out at each of some places, which are in order.
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

/// A factor of as many digits as places on tapes have.
fn times(n: i64, span: Span) -> Expr {
    Expr::long(n, span)
}

/// Puts the subscript of a tape in.
fn set_place(s: &mut Stmt, place: &Expr, push: bool) {
    let StmtKind::Assign(target, value) = &mut s.kind else {
        return;
    };
    let e = if push { target } else { value };
    if let ExprKind::Element(_, subscripts) = &mut e.kind {
        *subscripts = vec![place.clone()];
    }
}

/// Where statements do something with a tape.
fn places(tapes: &Tapes, block: &[Stmt], op: Op) -> Vec<usize> {
    let here = |i: &usize| block.get(*i).and_then(|s| tapes.op(s)) == Some(op);
    (0..block.len()).filter(here).collect()
}

/// Do statements name a tape other than the `count` at each of some places, which are in order?
fn names_it_besides(block: &[Stmt], places: &[usize], count: usize, tape: &Vars) -> bool {
    let of_tape = [tape.values(), tape.top(), tape.most()];
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

/// May an iteration end in its middle?
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
