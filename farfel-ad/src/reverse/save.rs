//! Code that saves variables on tapes and restores them.

use super::direct_addressing::{ConstantStepLoop, address_directly};
use super::tape::{TapeKind, Tapes};
use super::unit_builder::UnitBuilder;
use crate::affine::Affine;
use crate::subscripts::is_open;
use farfel_lang::Span;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::ir::build::{count, difference, sum};
use farfel_lang::ir::{Block, Dim, Expr, ExprKind, Stmt, SymId, Symbol, Type, Unit};
use farfel_lang::storage::constant::{self, Constants};

/// Returns the statements that save a variable and those that restore it; for an array, only a section, if
/// one is given.
pub(super) fn save(
    builder: &mut UnitBuilder,
    tapes: &mut Tapes,
    e: &Expr,
    section: Option<&[(Affine, Affine)]>,
    span: Span,
) -> Result<(Block, Block), Diagnostic> {
    let Some(s) = e.base() else {
        return Ok((Vec::new(), Vec::new()));
    };
    let symbol = builder.unit.symbols[s].clone();
    let Some(kind) = symbol.ty.map(TapeKind::of) else {
        return Ok((Vec::new(), Vec::new()));
    };
    let whole = match &e.kind {
        ExprKind::Var(_) => symbol.is_array(),
        _ => farfel_lang::types::rank(&builder.unit, e) > 0,
    };
    let of = match whole {
        true => Expr::var(s, span),
        false => e.clone(),
    };
    let places = characters(builder, &of);
    if !whole && places.is_none() {
        let push = tapes.push(builder, kind, e.clone(), span);
        let pop = tapes.pop(builder, kind, e.clone(), span);
        return Ok((push, pop));
    }
    let mut bounds = Vec::new();
    if whole {
        let Some(known) = dims(builder, s, span) else {
            return Err(cannot(&symbol, span));
        };
        bounds = known;
    }
    // Stay within the array: the section may come from the bounds of a loop that is not executed.
    for (bound, (low, high)) in bounds.iter_mut().zip(section.unwrap_or(&[])) {
        let within = |builder: &mut UnitBuilder, name: &str, of: &Expr, wanted: &Affine| {
            let wanted = wanted.to_expr(span);
            match (of.kind == wanted.kind, &of.kind, &wanted.kind) {
                (true, ..) => wanted,
                (_, ExprKind::Int(a), ExprKind::Int(b)) => match name {
                    "MAX" => Expr::int(*a.max(b), span),
                    _ => Expr::int(*a.min(b), span),
                },
                _ => builder.call(name, vec![of.clone(), wanted], span),
            }
        };
        let low = within(builder, "MAX", &bound.0, low);
        let high = within(builder, "MIN", &bound.1, high);
        *bound = (low, high);
    }
    if let Some(saved) = save_whole(builder, tapes, kind, s, &bounds, span) {
        return Ok(saved);
    }
    let text = places.is_some();
    bounds.splice(..0, places);
    let counters = builder.take_counters(bounds.len());
    let element = value_at(of, &counters, text, span);
    let mut push = tapes.push(builder, kind, element.clone(), span);
    let mut pop = tapes.pop(builder, kind, element, span);
    builder.free_counters(bounds.len());
    for (i, (c, (low, high))) in counters.iter().zip(bounds).enumerate() {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        if i == 0 {
            let l = ConstantStepLoop {
                var: *c,
                from: &low,
                to: &high,
                step: 1,
            };
            let placed = address_directly(builder, tapes, kind, &l, [&mut push, &mut pop], span);
            (before, after) = placed.unwrap_or_default();
        }
        let down = Expr::int(-1, span);
        before.extend(count(*c, low.clone(), high.clone(), None, push, span));
        push = before;
        pop = count(*c, high, low, Some(down), pop, span)
            .into_iter()
            .chain(after)
            .collect();
    }
    Ok((push, pop))
}

/// Like [`save`], for an array of several dimensions whose size is known: its values go to the tape in the order in which
/// they are stored.
fn save_whole(
    builder: &mut UnitBuilder,
    tapes: &mut Tapes,
    kind: TapeKind,
    s: SymId,
    bounds: &[(Expr, Expr)],
    span: Span,
) -> Option<(Block, Block)> {
    if bounds.len() < 2 || kind == TapeKind::Character {
        return None;
    }
    let tape = tapes.vars(builder, kind);
    let counters = builder.take_counters(bounds.len());
    builder.free_counters(bounds.len());
    let ranges: Vec<Counter> = (counters.iter().zip(bounds))
        .map(|(c, (low, high))| (*c, low, high))
        .collect();
    let (place, number) = places_of_whole(&builder.unit, s, &ranges, tape.top())?;
    let subscripts = counters.iter().map(|c| Expr::var(*c, span)).collect();
    let element = Expr::element(s, subscripts, span);
    let on_tape = Expr::element(tape.values(), vec![place.to_expr(span)], span);
    let nest = |copy: Stmt| {
        let loops = counters.iter().zip(bounds);
        loops.fold(copy, |inner, (c, (low, high))| {
            Stmt::count(*c, [low.clone(), high.clone()], None, vec![inner], span)
        })
    };
    let push = nest(Stmt::assign(on_tape.clone(), element.clone(), span));
    let pop = nest(Stmt::assign(element, on_tape, span));
    let top = || Expr::var(tape.top(), span);
    let after = sum(top(), Expr::int(number, span));
    let check = tapes.capacity_check(builder, kind, after.clone(), span);
    let before = difference(top(), Expr::int(number, span));
    Some((
        vec![check, Stmt::assign(top(), after, span), push],
        vec![pop, Stmt::assign(top(), before, span)],
    ))
}

/// A loop variable, and its smallest and largest value.
pub(super) type Counter<'a> = (SymId, &'a Expr, &'a Expr);

/// The place on a tape of the element of an array at some counters, and the number of its elements, which are at the top
/// of the tape in the order in which they are stored. `None` if the counters do not go through the whole array, or
/// its size is not known. The first counter is that of the first subscript.
pub(super) fn places_of_whole(
    unit: &Unit,
    array: SymId,
    counters: &[Counter],
    top: SymId,
) -> Option<(Affine, i64)> {
    let symbol = &unit.symbols[array];
    if symbol.dims.len() != counters.len() || is_open(symbol) {
        return None;
    }
    let extents = constant::extents(unit, &symbol.dims)?;
    let constants = Constants::of(unit);
    let mut place = Affine::var(top).plus(&Affine::number(1), 1)?;
    let mut number = 1i64;
    for (i, ((var, low, high), extent)) in counters.iter().zip(extents).enumerate() {
        let (low, high) = (constants.integer(low)?, constants.integer(high)?);
        let all = constants.bounds(array, i).0 == Some(low) && high.checked_sub(low)? + 1 == extent;
        all.then_some(())?;
        let from_low = Affine::var(*var).plus(&Affine::number(low), -1)?;
        place = place.plus(&from_low, number)?;
        number = number.checked_mul(extent)?;
    }
    let place = place.plus(&Affine::number(number), -1)?;
    (number > 0 && i32::try_from(number).is_ok()).then_some((place, number))
}

/// Returns the statements that save a number or logical value in a variable of its own, and those that restore
/// it; `None` for an array or a text.
pub(super) fn save_once(builder: &mut UnitBuilder, e: &Expr, span: Span) -> Option<(Block, Block)> {
    let symbol = &builder.unit.symbols[e.base()?];
    let (ty, wanted) = (symbol.ty?, format!("OLD_{}", symbol.name));
    let whole = matches!(e.kind, ExprKind::Var(_)) && symbol.is_array();
    let text = ty == Type::Character || symbol.length.is_some();
    if whole || text || farfel_lang::types::rank(&builder.unit, e) > 0 {
        return None;
    }
    let old = builder.variable(&wanted, ty);
    builder.kept.insert(old);
    let old = Expr::var(old, span);
    let keep = Stmt::assign(old.clone(), e.clone(), span);
    Some((vec![keep], vec![Stmt::assign(e.clone(), old, span)]))
}

/// The positions of the first and the last character of a text; `None` for a single character and for
/// anything that is not a text.
fn characters(builder: &mut UnitBuilder, e: &Expr) -> Option<(Expr, Expr)> {
    let span = e.span;
    let (text, from, to) = match &e.kind {
        ExprKind::Substring(text, from, to) => (text.as_ref(), from.as_deref(), to.as_deref()),
        _ => (e, None, None),
    };
    let s = text.base()?;
    if builder.unit.symbols[s].ty != Some(Type::Character) {
        return None;
    }
    let from = from.cloned().unwrap_or_else(|| Expr::int(1, span));
    let to = match (to, Constants::of(&builder.unit).element_size(s)) {
        (Some(to), _) => to.clone(),
        (None, Some(n)) => Expr::int(n, span),
        (None, None) => builder.call("LEN", vec![text.clone()], span),
    };
    (!from.equals_ignoring_spans(&to)).then_some((from, to))
}

/// The bounds of an array, where they are known or the user defines them.
fn dims(builder: &mut UnitBuilder, s: SymId, span: Span) -> Option<Vec<(Expr, Expr)>> {
    let symbol = builder.unit.symbols[s].clone();
    let mut all = Vec::new();
    for (i, d) in symbol.dims.iter().enumerate() {
        let open = i + 1 == symbol.dims.len() && is_open(&symbol);
        // Without an upper bound, the array is allocated at run time.
        let upper = d.upper.clone()?;
        let high = match open || upper.kind == ExprKind::Star {
            true => builder.size_of_user(s, i, span)?,
            false => upper,
        };
        let low = d.lower.clone().unwrap_or_else(|| Expr::int(1, span));
        all.push((low, high));
    }
    Some(all)
}

/// The bounds of an array, where they are known.
fn known_dims(s: &Symbol, span: Span) -> Option<Vec<(Expr, Expr)>> {
    if is_open(s) {
        return None;
    }
    let all = s.dims.iter().map(|d| {
        let high = d.upper.clone().filter(|u| u.kind != ExprKind::Star)?;
        let low = d.lower.clone().unwrap_or_else(|| Expr::int(1, span));
        Some((low, high))
    });
    all.collect()
}

/// The bounds of a variable, where they are known: first those of its characters, then those of the array.
pub(super) fn bounds(builder: &mut UnitBuilder, s: SymId, span: Span) -> Option<Vec<(Expr, Expr)>> {
    let mut all = known_dims(&builder.unit.symbols[s], span)?;
    all.splice(..0, characters(builder, &Expr::var(s, span)));
    Some(all)
}

/// The value of a variable at some counters, one for each of its [`bounds`].
pub(super) fn value(builder: &UnitBuilder, s: SymId, counters: &[SymId], span: Span) -> Expr {
    let text = counters.len() > builder.unit.symbols[s].dims.len();
    value_at(Expr::var(s, span), counters, text, span)
}

/// Like [`value`], for a variable, an element or a substring. `text` says that the first counter runs over
/// the characters.
fn value_at(of: Expr, counters: &[SymId], text: bool, span: Span) -> Expr {
    let (character, subscripts) = counters.split_at(usize::from(text));
    let subscripts: Vec<Expr> = subscripts.iter().map(|c| Expr::var(*c, span)).collect();
    let mut value = match of.kind {
        ExprKind::Substring(base, ..) => *base,
        ExprKind::Var(s) if !subscripts.is_empty() => Expr::element(s, subscripts, span),
        _ => of,
    };
    for c in character {
        let place = Expr::var(*c, span);
        value = Expr::substring(value, place.clone(), place, span);
    }
    value
}

fn cannot(symbol: &Symbol, span: Span) -> Diagnostic {
    let star = |d: &Dim| d.upper.as_ref().is_some_and(|e| e.kind == ExprKind::Star);
    let has = match is_open(symbol) && !symbol.dims.last().is_some_and(star) {
        true => "the last bound 1, which may stand for any size",
        false => symbol.missing_bounds(),
    };
    Diagnostic::error(
        &rules::AD_SIZE,
        span,
        format!(
            "the reverse sweep needs a value of {} that is overwritten here, and cannot keep it, which has {}",
            symbol.name, has
        ),
    )
    .related(symbol.span, "declared here")
    .help(format!("declare the bounds of {}", symbol.name))
}
