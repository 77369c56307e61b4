//! Subprograms that push and pop whole arrays and sections, on tapes that grow.
//!
//! ```fortran
//!       CALL F_PUSH_R8(Y, N, TAPE, TOP, MOST)         CALL F_POP_R8(Y, N, TAPE, TOP)
//! ```
//!
//! They take the place of a check for room, a counter, and a loop or a nest of loops. A program has them if enough
//! arrays are saved. Where the tape does not grow, or the unit has parallel loops, loops remain.
//!
//! Analyses know loops better than calls, so that these come last. [`groups`](super::groups) leaves the checks of such
//! arrays where they are, and removes those of single values after them.

use super::growing::Growers;
use super::save::{Counter, places_of_whole};
use super::tape::TapeKind;
use super::tape_size::SweptUnit;
use super::unit_builder::UnitBuilder;
use super::{AdjointEngine, Part};
use crate::affine::{Affine, counted_by_one};
use crate::parallel;
use farfel_lang::Span;
use farfel_lang::ir::build::{difference, sum};
use farfel_lang::ir::{
    Arg, Attribute, BinOp, Block, Class, Dim, Expr, ExprKind, Name, Program, Stmt, StmtKind,
    StorageClass, SymId, Symbol, Type, Unit, UnitKind, unused_name,
};
use farfel_lang::storage::constant;
use farfel_lang::types::type_of;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The number of loops that push arrays on one tape at least, if subprograms are to do it: these have 20 lines, and each loop
/// that they replace has two more.
const LEAST: usize = 9;

/// An array of fewer elements, if their number is known, is faster without a call.
const LEAST_VALUES: i64 = 16;

/// The number of values that there is room for after an array has been pushed: what follows needs no check.
pub(super) const ROOM_AFTER: usize = 64;

/// The names of the subprograms that push and pop arrays.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ArraySubprograms {
    pub push: Name,
    pub pop: Name,
}

/// The subprograms of each tape that has them.
pub(super) type ArrayCalls = BTreeMap<TapeKind, ArraySubprograms>;

impl AdjointEngine {
    /// For each part, the subprograms that push and pop arrays.
    pub(super) fn array_calls(
        &self,
        closure: &Program,
        swept: &[SweptUnit],
        growers: &[Growers],
    ) -> Vec<ArrayCalls> {
        let sequential = |p: &Part| !parallel::has_loops_in(&p.body);
        let parts = || self.parts.iter().zip(growers);
        let blocks = (swept.iter().zip(parts()))
            .filter(|(_, (p, _))| sequential(p))
            .map(|(s, (_, grow))| (&s.builder.unit, grow, [&s.made.forward, &s.made.backward]));
        let named = named(blocks, &|n| self.has_unit(closure, n));
        let of_part = |(p, grow): (&Part, &Growers)| match sequential(p) {
            true => (grow.iter())
                .filter_map(|(kind, grower)| Some((*kind, named.get(grower)?.clone())))
                .collect(),
            false => ArrayCalls::new(),
        };
        parts().map(of_part).collect()
    }

    /// The subprograms that push and pop arrays.
    pub(super) fn array_subprograms(&self, growers: &[Growers], calls: &[ArrayCalls]) -> Vec<Unit> {
        let mut all = BTreeSet::new();
        for (grow, calls) in growers.iter().zip(calls) {
            all.extend((calls.iter()).filter_map(|(k, names)| Some((k, grow.get(k)?, names))));
        }
        let units =
            (all.into_iter()).flat_map(|(kind, grower, names)| subprograms(*kind, grower, names));
        units.collect()
    }
}

/// The names of the subprograms, by grower, where enough arrays are pushed in `blocks`.
fn named<'a>(
    blocks: impl Iterator<Item = (&'a Unit, &'a Growers, [&'a Block; 2])>,
    is_taken: &dyn Fn(&str) -> bool,
) -> BTreeMap<Name, ArraySubprograms> {
    let mut found: BTreeMap<Name, usize> = BTreeMap::new();
    for (unit, growers, blocks) in blocks {
        if growers.is_empty() {
            continue;
        }
        for block in blocks {
            count(unit, growers, block, &mut found);
        }
    }
    let enough = found.into_iter().filter(|(_, n)| *n >= LEAST);
    let names = enough.map(|(grower, _)| {
        let (head, kind) = grower.rsplit_once("_GROW_").unwrap_or((&grower, ""));
        let name = |what: &str| unused_name(&format!("{head}_{what}_{kind}"), is_taken);
        let names = ArraySubprograms {
            push: name("PUSH"),
            pop: name("POP"),
        };
        (grower, names)
    });
    names.collect()
}

fn count(unit: &Unit, growers: &Growers, block: &[Stmt], found: &mut BTreeMap<Name, usize>) {
    for (i, s) in block.iter().enumerate() {
        if let Some(push) = pushed(unit, &block[i..])
            && let Some(grower) = push.kind(unit).and_then(|k| growers.get(&k))
        {
            *found.entry(grower.clone()).or_default() += push.loops;
        }
        for b in s.blocks() {
            count(unit, growers, b, found);
        }
    }
}

/// An array, or a section of one, and the part of a tape that it is copied to or from.
pub(super) struct Copied {
    array: Expr,
    /// The number of its elements, of type INTEGER; a negative number is as good as zero.
    number: Expr,
    tape: SymId,
    top: SymId,
    /// The depth of the loops.
    loops: usize,
}

impl Copied {
    /// The kind of its tape.
    pub fn kind(&self, unit: &Unit) -> Option<TapeKind> {
        unit.symbols[self.tape].ty.map(TapeKind::of)
    }
}

/// What there must be room for, if a subprogram is to push an array: [`ROOM_AFTER`] values more.
fn with_room_after(after: &Expr) -> Expr {
    let more = i64::try_from(ROOM_AFTER).unwrap_or(0);
    Expr::binary(BinOp::Add, after.clone(), Expr::int(more, after.span))
}

/// Makes a check leave room for what follows the array.
pub(super) fn leave_room_after(check: &mut Stmt) {
    if let StmtKind::LogicalIf(full, _) = &mut check.kind
        && let ExprKind::Binary(BinOp::Gt, need, _) = &mut full.kind
    {
        **need = with_room_after(need);
    }
}

/// The array that a check, a counter and a loop at the beginning of some statements push.
pub(super) fn pushed(unit: &Unit, block: &[Stmt]) -> Option<Copied> {
    pushed_with(unit, block, &Expr::clone)
}

/// Like [`pushed`], if the check is for what `needed` returns for the number of values after the push.
fn pushed_with(unit: &Unit, block: &[Stmt], needed: &dyn Fn(&Expr) -> Expr) -> Option<Copied> {
    let [check, counted, copy, ..] = block else {
        return None;
    };
    let (StmtKind::LogicalIf(full, _), StmtKind::Assign(top, after)) = (&check.kind, &counted.kind)
    else {
        return None;
    };
    let (ExprKind::Binary(BinOp::Gt, need, _), ExprKind::Var(top)) = (&full.kind, &top.kind) else {
        return None;
    };
    if counted.label.is_some() || !need.equals_ignoring_spans(&needed(after)) {
        return None;
    }
    copied(unit, copy, *top, added(after, *top, BinOp::Add)?, true)
}

/// The array that a loop and a counter at the beginning of some statements pop.
fn popped(unit: &Unit, block: &[Stmt]) -> Option<Copied> {
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
fn added(after: &Expr, top: SymId, wanted: BinOp) -> Option<&Expr> {
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

/// Makes the loops that push and pop arrays calls.
pub(super) fn call(unit: &mut Unit, calls: &ArrayCalls) {
    let mut body = std::mem::take(&mut unit.body);
    call_in(unit, calls, &mut body);
    unit.body = body;
}

fn call_in(unit: &mut Unit, calls: &ArrayCalls, block: &mut Block) {
    let mut at = 0;
    while at < block.len() {
        for b in block[at].blocks_mut() {
            call_in(unit, calls, b);
        }
        let push = pushed_with(unit, &block[at..], &with_room_after);
        let pop = popped(unit, &block[at..]);
        let with_room = push.is_some();
        if let Some(made) = push.or(pop)
            && unit.symbols[made.tape].has(Attribute::Growing)
            && let Some(names) = made.kind(unit).and_then(|k| calls.get(&k))
            && block[at].label.is_none()
        {
            let span = block[at].span;
            let var = |s| Expr::var(s, span);
            let mut args = vec![made.array, made.number, var(made.tape), var(made.top)];
            let name = match with_room {
                true => {
                    args.extend(room(&block[at]).cloned());
                    &names.push
                }
                false => &names.pop,
            };
            let Some(subprogram) = procedure(unit, name) else {
                at += 1;
                continue;
            };
            let number = if with_room { 3 } else { 2 };
            block.splice(at..at + number, [Stmt::call(subprogram, args, span)]);
        }
        at += 1;
    }
}

/// The maximum number of values, in a check for room.
fn room(check: &Stmt) -> Option<&Expr> {
    match &check.kind {
        StmtKind::LogicalIf(full, _) => match &full.kind {
            ExprKind::Binary(_, _, most) => Some(most),
            _ => None,
        },
        _ => None,
    }
}

/// The symbol of a subprogram; `None` if something else has its name.
fn procedure(unit: &mut Unit, name: &Name) -> Option<SymId> {
    let Some(found) = unit.symbols.find(name) else {
        return Some(unit.symbols.add(Symbol {
            class: Class::Subroutine,
            storage_class: StorageClass::Global,
            ..Symbol::new(name.clone(), Span::NONE)
        }));
    };
    let symbol = &unit.symbols[found];
    let same = symbol.class == Class::Subroutine && symbol.storage_class == StorageClass::Global;
    same.then_some(found)
}

/// Returns the subprograms that push and pop arrays.
fn subprograms(kind: TapeKind, grower: &Name, names: &ArraySubprograms) -> [Unit; 2] {
    [
        subprogram(kind, &names.push, Some(grower)),
        subprogram(kind, &names.pop, None),
    ]
}

fn subprogram(kind: TapeKind, name: &Name, grower: Option<&Name>) -> Unit {
    let span = Span::NONE;
    let unit = Unit::new(UnitKind::Subroutine, name.clone(), span);
    let mut builder = UnitBuilder::new(unit, Name::default(), HashSet::new());
    let dummy = |name: String, ty: Type, upper: Option<Expr>| Symbol {
        dims: (upper.into_iter())
            .map(|upper| Dim {
                lower: None,
                upper: Some(upper),
            })
            .collect(),
        storage_class: StorageClass::Dummy,
        ..Symbol::variable(name.into(), ty, span)
    };
    let n = builder.declare(dummy("N".to_owned(), Type::INTEGER, None));
    let array = builder.declare(dummy("A".to_owned(), kind.ty(), Some(Expr::var(n, span))));
    let mut tape = Symbol {
        tape: true,
        ..dummy(
            format!("TAPE_{}", kind.letter()),
            kind.ty(),
            Some(Expr::star(span)),
        )
    };
    tape.attributes.insert(Attribute::Growing);
    let tape = builder.declare(tape);
    let top = builder.declare(dummy("TOP".to_owned(), Type::Integer(8), None));
    let var = |s| Expr::var(s, span);
    let zero = Expr::int(0, span);
    let number = builder.call("MAX", vec![var(n), zero], span);
    let mut args = vec![array, n, tape, top];
    let block = match grower {
        Some(grower) => {
            let most = builder.declare(dummy("MOST".to_owned(), Type::Integer(8), None));
            args.push(most);
            let need = with_room_after(&sum(var(top), number.clone()));
            let full = Expr::binary(BinOp::Gt, need.clone(), var(most));
            let grower = builder.procedure(grower, Class::Subroutine, None);
            let grow = Stmt::call(grower, vec![var(tape), var(top), need, var(most)], span);
            let quoted = PushArray {
                array,
                n,
                tape,
                top,
                check: vec![Stmt::logical_if(full, grow, span)],
                after: sum(var(top), number),
            };
            quoted.block(&builder.unit.symbols, span)
        }
        None => {
            let quoted = PopArray {
                array,
                n,
                tape,
                top,
                after: difference(var(top), number),
            };
            quoted.block(&builder.unit.symbols, span)
        }
    };
    builder.unit.args = args.into_iter().map(Arg::Dummy).collect();
    builder.unit.body = block;
    let remark = match grower {
        Some(_) => " Pushes the N elements of an array on a tape with TOP values",
        None => " Pops the N elements of an array from a tape with TOP values",
    };
    builder.unit.comments = vec![remark.into()];
    builder.unit
}

farfel_lang::quote! {
    /// See [`subprogram`].
    struct PushArray { array: SymId, n: SymId, tape: SymId, top: SymId, check: Block, after: Expr }
    "
    call check
    tape(top + 1:top + n) = array(1:n)
    top = after
    "
}

farfel_lang::quote! {
    /// See [`subprogram`].
    struct PopArray { array: SymId, n: SymId, tape: SymId, top: SymId, after: Expr }
    "
    array(1:n) = tape(top - n + 1:top)
    top = after
    "
}
