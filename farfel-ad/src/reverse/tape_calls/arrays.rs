//! Loops that push and pop arrays.

use super::super::save::{Counter, places_of_whole};
use super::super::tape::TapeKind;
use super::with_room_after;
use crate::affine::{Affine, counted_by_one};
use farfel_lang::Span;
use farfel_lang::ir::{BinOp, Expr, ExprKind, Stmt, StmtKind, SymId, Type, Unit};
use farfel_lang::storage::constant;
use farfel_lang::types::type_of;

/// An array of fewer elements, if their number is known, is faster without a call.
const LEAST_VALUES: i64 = 16;

/// An array, or a section of one, and the part of a tape that it is copied to or from.
pub(in super::super) struct Copied {
    pub array: Expr,
    /// The number of its elements, of type INTEGER; a negative number is as good as zero.
    pub number: Expr,
    pub tape: SymId,
    pub top: SymId,
    /// The depth of the loops.
    pub loops: usize,
}

impl Copied {
    /// The kind of its tape.
    pub fn kind(&self, unit: &Unit) -> Option<TapeKind> {
        unit.symbols[self.tape].ty.map(TapeKind::of)
    }
}

/// The array that a check, a counter and a loop at the beginning of some statements push.
pub(in super::super) fn pushed(unit: &Unit, block: &[Stmt]) -> Option<Copied> {
    pushed_with(unit, block, &Expr::clone)
}

/// Like [`pushed`], if the check leaves room for what follows.
pub(super) fn pushed_with_room(unit: &Unit, block: &[Stmt]) -> Option<Copied> {
    pushed_with(unit, block, &with_room_after)
}

/// Like [`pushed`], if the check is for what `needed` returns for the number of values after the push.
fn pushed_with(unit: &Unit, block: &[Stmt], needed: &dyn Fn(&Expr) -> Expr) -> Option<Copied> {
    let (top, after) = checked_and_counted(block, needed)?;
    copied(
        unit,
        block.get(2)?,
        top,
        added(after, top, BinOp::Add)?,
        true,
    )
}

/// The counter of a tape, and the number of values that it gets, if some statements begin with a check for what
/// `needed` returns for this number, and count.
pub(super) fn checked_and_counted<'b>(
    block: &'b [Stmt],
    needed: &dyn Fn(&Expr) -> Expr,
) -> Option<(SymId, &'b Expr)> {
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
    let same = need.equals_ignoring_spans(&needed(after));
    (same && counted.label.is_none()).then_some((*top, after))
}

/// The array that a loop and a counter at the beginning of some statements pop.
pub(super) fn popped(unit: &Unit, block: &[Stmt]) -> Option<Copied> {
    let [copy, counted, ..] = block else {
        return None;
    };
    let StmtKind::Assign(top, after) = &counted.kind else {
        return None;
    };
    let ExprKind::Var(top) = top.kind else {
        return None;
    };
    if counted.label.is_some() {
        return None;
    }
    copied(unit, copy, top, added(after, top, BinOp::Sub)?, false)
}

/// What is added to a counter, or subtracted from it.
pub(super) fn added(after: &Expr, top: SymId, wanted: BinOp) -> Option<&Expr> {
    let ExprKind::Binary(op, before, number) = &after.kind else {
        return None;
    };
    (*op == wanted && matches!(before.kind, ExprKind::Var(s) if s == top)).then_some(number)
}

/// What a loop copies, if it copies an array to a tape or back, and `number` values in all.
fn copied(unit: &Unit, s: &Stmt, top: SymId, number: &Expr, push: bool) -> Option<Copied> {
    let mut counters: Vec<Counter> = Vec::new();
    let mut inner = s;
    while let StmtKind::Do(d) = &inner.kind {
        let [only] = d.body.as_slice() else {
            return None;
        };
        if d.name.is_some() || d.directive.is_some() || inner.label.is_some() {
            return None;
        }
        counters.push(counted_by_one(&d.control)?);
        inner = only;
    }
    let StmtKind::Assign(target, value) = &inner.kind else {
        return None;
    };
    let (on_tape, element) = if push {
        (target, value)
    } else {
        (value, target)
    };
    let (ExprKind::Element(tape, place), ExprKind::Element(array, subscripts)) =
        (&on_tape.kind, &element.kind)
    else {
        return None;
    };
    let ([place], Some(ty)) = (place.as_slice(), unit.symbols[*tape].ty) else {
        return None;
    };
    let growing = unit.symbols[*tape].tape && !unit.symbols[*array].tape;
    if !growing
        || ty == Type::Character
        || inner.label.is_some()
        || type_of(unit, element) != Some(ty)
    {
        return None;
    }
    let place = Affine::of(unit, place)?;
    let number = match &number.kind {
        ExprKind::Paren(inner) => inner,
        _ => number,
    };
    let loops = counters.len();
    let (array, number) = match counters.as_slice() {
        [] => return None,
        [counter] => {
            let last = place_of_last(unit, &place, *counter, top)?;
            last.then_some(())?;
            let number = number_of(unit, number, *counter)?;
            (section(unit, *array, subscripts, *counter)?, number)
        }
        _ => {
            counters.reverse();
            let (expected, n) = places_of_whole(unit, *array, &counters, top)?;
            let own = |(e, (var, ..)): (&Expr, &Counter)| e.kind == ExprKind::Var(*var);
            let in_order = subscripts.iter().zip(&counters).all(own);
            let all = in_order && place == expected && constant::integer(unit, number)? == n;
            all.then_some(())?;
            (Expr::var(*array, Span::NONE), Expr::int(n, Span::NONE))
        }
    };
    if matches!(number.kind, ExprKind::Int(n) if n < LEAST_VALUES) {
        return None;
    }
    Some(Copied {
        array,
        number,
        tape: *tape,
        top,
        loops,
    })
}

/// Whether the last value of a loop is at the top of the tape, and the others are before it.
fn place_of_last(unit: &Unit, place: &Affine, (var, _, high): Counter, top: SymId) -> Option<bool> {
    let last = Affine::of(unit, high)?;
    let expected = Affine::var(top)
        .plus(&last, -1)?
        .plus(&Affine::var(var), 1)?;
    Some(*place == expected)
}

/// The number of iterations, if that is what is counted: a constant, or `MAX(n, 0)`.
fn number_of(unit: &Unit, counted: &Expr, (_, low, high): Counter) -> Option<Expr> {
    let trips = Affine::of(unit, high)?.plus(&Affine::of(unit, low)?, -1)?;
    let trips = trips.plus(&Affine::number(1), 1)?;
    if let Some(n) = constant::integer(unit, counted) {
        let fits = i32::try_from(n).is_ok() && n >= 0;
        return (fits && trips.value() == Some(n)).then(|| Expr::int(n, Span::NONE));
    }
    let ExprKind::Call(max, args) = &counted.kind else {
        return None;
    };
    let [n, zero] = args.as_slice() else {
        return None;
    };
    let same = unit.symbols[*max].name == "MAX"
        && zero.kind == ExprKind::Int(0)
        && type_of(unit, n) == Some(Type::INTEGER)
        && Affine::of(unit, n)? == trips;
    same.then(|| n.clone())
}

/// The section of an array whose first subscript goes from the smallest to the largest value of a loop variable.
fn section(unit: &Unit, array: SymId, subscripts: &[Expr], counter: Counter) -> Option<Expr> {
    let (var, low, high) = counter;
    let (first, others) = subscripts.split_first()?;
    let names = |e: &Expr| {
        let mut found = false;
        e.for_each_symbol(&mut |s| found |= s == var);
        found
    };
    let place = Affine::of(unit, first)?;
    if place.factor(var) != 1 || others.iter().any(names) {
        return None;
    }
    let at = |bound: &Expr| place.clone().with(var, &Affine::of(unit, bound)?);
    let (from, to) = (at(low)?, at(high)?);
    let dim = unit.symbols[array].dims.first()?;
    // An array whose shape is not declared may begin anywhere.
    let begin = match (&dim.lower, &dim.upper) {
        (Some(lower), _) => Affine::of(unit, lower),
        (None, Some(_)) => Some(Affine::number(1)),
        (None, None) => None,
    };
    let span = Span::NONE;
    if others.is_empty() && Some(&from) == begin.as_ref() {
        return Some(Expr::var(array, span));
    }
    let range = Expr::range(Some(from.to_expr(span)), Some(to.to_expr(span)), None, span);
    let mut sections = vec![range];
    sections.extend(others.iter().cloned());
    Some(Expr::element(array, sections, span))
}
