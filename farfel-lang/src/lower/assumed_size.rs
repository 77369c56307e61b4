//! Gives bounds to arrays of assumed size that AD blocks assign or differentiate with respect to.
//!
//! The derivatives of such arrays require storage, so their size must be known. The caller knows
//! it: `SUBROUTINE S(X)` with `X(*)` becomes `S(X, X_N)` with `X(X_N)`, and `CALL S(A(2))` with
//! `A(10)` becomes `CALL S(A(2), 9)`. This happens if all calls are known and give a size;
//! otherwise the array does not change, and a later pass reports what is missing.

use super::calls::{for_each_call, for_each_call_mut, global};
use super::compact::ChangedUnits;
use super::naming::taken_names;
use crate::effects::Assigned;
use crate::ir::{
    AdItem, Arg, BinOp, Class, Dim, Entity, Expr, ExprKind, Name, Program, Spec, SpecKind,
    StmtKind, StorageClass, SymId, Symbol, Type, Unit, walk_block,
};
use crate::source::Span;
use crate::storage::constant::integer;
use crate::types::rank;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Arguments, by unit and position.
type Arguments = BTreeSet<(Name, usize)>;

/// Gives bounds to such arrays. Adds the names of the units that it changes to `changed`.
pub(super) fn give_bounds(
    program: &mut Program,
    roots: &HashSet<Name>,
    changed: &mut ChangedUnits,
) {
    let mut wanted = named_in_blocks(program);
    if wanted.is_empty() {
        return;
    }
    // Add the arguments of callers whose size the callers must know in turn.
    loop {
        let more = known_to_callers(program, &wanted);
        let before = wanted.len();
        wanted.extend(more);
        if wanted.len() == before {
            break;
        }
    }
    let fixed = with_fixed_arguments(program, roots);
    wanted.retain(|(unit, _)| !fixed.contains(unit));
    while let Some(lost) = without_size(program, &wanted) {
        wanted.remove(&lost);
    }
    add_size_arguments(program, &wanted, changed);
}

/// Whether a variable is an argument whose last bound is `*` and whose type is differentiable.
fn is_open(unit: &Unit, s: SymId) -> bool {
    let s = &unit.symbols[s];
    let star = |d: &Dim| d.upper.as_ref().is_some_and(|u| u.kind == ExprKind::Star);
    s.storage_class == StorageClass::Dummy
        && s.ty.is_some_and(Type::is_differentiable)
        && s.dims.last().is_some_and(star)
}

fn position(unit: &Unit, s: SymId) -> Option<usize> {
    unit.args.iter().position(|a| a.sym() == Some(s))
}

/// Returns the arguments that blocks of their units assign, or name in openings and closings.
fn named_in_blocks(program: &Program) -> Arguments {
    let mut found = Arguments::new();
    let mut assigned = None;
    for unit in &program.units {
        let any = unit
            .args
            .iter()
            .any(|a| a.sym().is_some_and(|s| is_open(unit, s)));
        if !any {
            continue;
        }
        walk_block(&unit.body, &mut |s| {
            let StmtKind::Ad(block) = &s.kind else { return };
            let assigned = assigned.get_or_insert_with(|| Assigned::of(program));
            let mut all = assigned.in_block(unit, &block.body);
            all.extend(AdItem::bases(&block.opening));
            all.extend(AdItem::bases(&block.closing));
            let open = all.into_iter().filter(|s| is_open(unit, *s));
            found.extend(open.filter_map(|s| Some((unit.name.clone(), position(unit, s)?))));
        });
    }
    found
}

/// Returns the arguments of callers that are passed for the wanted ones.
fn known_to_callers(program: &Program, wanted: &Arguments) -> Arguments {
    let mut found = Arguments::new();
    for caller in &program.units {
        for_each_call(&caller.body, &mut |callee, args| {
            let Some(name) = global(&caller.symbols, callee) else {
                return;
            };
            for (i, a) in args.iter().enumerate() {
                if let Some(s) = a.base()
                    && wanted.contains(&(name.clone(), i))
                    && is_open(caller, s)
                {
                    found.extend(position(caller, s).map(|p| (caller.name.clone(), p)));
                }
            }
        });
    }
    found
}

/// Returns the units whose arguments cannot change because others rely on them, or that are called
/// in a way that this pass does not follow.
fn with_fixed_arguments(program: &Program, roots: &HashSet<Name>) -> HashSet<Name> {
    let mut fixed = roots.clone();
    for unit in &program.units {
        let mut passed = |e: &Expr| {
            if let ExprKind::Var(s) = e.kind {
                fixed.extend(global(&unit.symbols, s).cloned());
            }
        };
        walk_block(&unit.body, &mut |s| {
            s.for_each_own_expr(&mut |e| e.walk(&mut passed));
        });
        let mut entries = false;
        walk_block(&unit.body, &mut |s| {
            entries |= matches!(s.kind, StmtKind::Entry(_))
        });
        if entries {
            fixed.insert(unit.name.clone());
        }
        for (_, s) in unit.symbols.iter() {
            if let Class::StatementFunction(_, value) = &s.class {
                value.for_each_symbol(&mut |s| fixed.extend(global(&unit.symbols, s).cloned()));
            }
        }
    }
    fixed
}

/// Returns one of the wanted arguments for which some call gives no size.
fn without_size(program: &Program, wanted: &Arguments) -> Option<(Name, usize)> {
    let mut lost = None;
    let assigned = Assigned::of(program);
    let known: HashMap<&Name, &Unit> = program.units.iter().map(|u| (&u.name, u)).collect();
    for caller in &program.units {
        let changing = assigned.in_unit(caller);
        for_each_call(&caller.body, &mut |callee, args| {
            let Some(name) = global(&caller.symbols, callee) else {
                return;
            };
            let Some(target) = known.get(name) else {
                return;
            };
            for (unit, i) in wanted.iter().filter(|(unit, _)| unit == name) {
                let dummy = target.args.get(*i).and_then(|a| a.sym());
                let ty = dummy.and_then(|d| target.symbols[d].ty);
                let gives_size = args.len() == target.args.len()
                    && args.get(*i).is_some_and(|a| {
                        let s = a.base().map(|s| &caller.symbols[s]);
                        s.is_some_and(|s| s.ty == ty && s.is_variable())
                            && elements(caller, a, &changing, &|s| {
                                let p = position(caller, s)?;
                                let of = (caller.name.clone(), p);
                                wanted.contains(&of).then(|| Expr::int(1, a.span))
                            })
                            .is_some()
                    });
                if !gives_size {
                    lost = Some((unit.clone(), *i));
                }
            }
        });
    }
    lost
}

fn binary(unit: &Unit, op: BinOp, a: Expr, b: Expr) -> Expr {
    let span = a.span;
    let made = Expr::binary(op, a, b);
    integer(unit, &made).map_or(made, |n| Expr::int(n, span))
}

/// Returns the product of the extents of some dimensions, which must not depend on variables in
/// `changing`.
fn count(unit: &Unit, dims: &[Dim], changing: &HashSet<SymId>, span: Span) -> Option<Expr> {
    let mut all = Expr::int(1, span);
    for d in dims {
        let upper = d.upper.clone().filter(|u| u.kind != ExprKind::Star)?;
        let mut steady = true;
        for e in d.lower.iter().chain([&upper]) {
            e.for_each_symbol(&mut |s| {
                let common = matches!(unit.symbols[s].storage_class, StorageClass::Common(_));
                steady &= !common && !changing.contains(&s);
            });
        }
        let extent = match &d.lower {
            None => upper,
            Some(lower) => {
                let less = binary(unit, BinOp::Sub, upper, lower.clone());
                binary(unit, BinOp::Add, less, Expr::int(1, span))
            }
        };
        all = match all.kind {
            ExprKind::Int(1) => extent,
            _ => binary(unit, BinOp::Mul, all, extent),
        };
        if !steady {
            return None;
        }
    }
    Some(all)
}

/// Returns the number of elements from an actual argument to the end of its array. `open` returns
/// that of an array of assumed size.
fn elements(
    unit: &Unit,
    actual: &Expr,
    changing: &HashSet<SymId>,
    open: &dyn Fn(SymId) -> Option<Expr>,
) -> Option<Expr> {
    let span = actual.span;
    // X(1) was the way to write assumed size before `*` existed.
    let old = |s: &Symbol| {
        let last = s.dims.last().and_then(|d| d.upper.as_ref());
        s.storage_class == StorageClass::Dummy && last.is_some_and(|u| u.kind == ExprKind::Int(1))
    };
    let whole = |s: SymId| match is_open(unit, s) {
        true => open(s),
        false if old(&unit.symbols[s]) => None,
        false => count(unit, &unit.symbols[s].dims, changing, span),
    };
    match &actual.kind {
        ExprKind::Var(s) => whole(*s),
        ExprKind::Element(s, subscripts) => {
            let dims = &unit.symbols[*s].dims;
            let mut left = whole(*s)?;
            let calls = |e: &Expr| {
                let mut found = false;
                e.walk(&mut |e| found |= matches!(e.kind, ExprKind::Call(..)));
                found
            };
            if subscripts.iter().any(calls) {
                return None;
            }
            if subscripts.iter().any(|s| several(unit, s)) {
                return of_section(unit, dims, subscripts, changing, span);
            }
            for (k, at) in subscripts.iter().enumerate() {
                let lower = dims.get(k)?.lower.clone();
                let lower = lower.unwrap_or_else(|| Expr::int(1, span));
                let before = binary(unit, BinOp::Sub, at.clone(), lower);
                let stride = count(unit, &dims[..k], changing, span)?;
                let skipped = match (&before.kind, &stride.kind) {
                    (ExprKind::Int(0), _) => continue,
                    (_, ExprKind::Int(1)) => before,
                    _ => binary(unit, BinOp::Mul, before, stride),
                };
                left = binary(unit, BinOp::Sub, left, skipped);
            }
            Some(left)
        }
        _ => None,
    }
}

/// Whether a subscript selects several elements.
fn several(unit: &Unit, subscript: &Expr) -> bool {
    matches!(subscript.kind, ExprKind::Range(..)) || rank(unit, subscript) > 0
}

/// Returns the number of elements of a section, which is zero or less if it is empty.
fn of_section(
    unit: &Unit,
    dims: &[Dim],
    subscripts: &[Expr],
    changing: &HashSet<SymId>,
    span: Span,
) -> Option<Expr> {
    let mut all = Expr::int(1, span);
    for (subscript, d) in subscripts.iter().zip(dims) {
        let ExprKind::Range(from, to, step) = &subscript.kind else {
            match several(unit, subscript) {
                true => return None,
                false => continue,
            }
        };
        if from.is_none() || to.is_none() {
            count(unit, std::slice::from_ref(d), changing, span)?;
        }
        let given = |e: &Option<Box<Expr>>| e.as_deref().cloned();
        let from = given(from).or_else(|| d.lower.clone());
        let from = from.unwrap_or_else(|| Expr::int(1, span));
        let to = given(to).or_else(|| d.upper.clone())?;
        let step = given(step).unwrap_or_else(|| Expr::int(1, span));
        let length = binary(unit, BinOp::Sub, to, from);
        let length = binary(unit, BinOp::Add, length, step.clone());
        let extent = match step.kind {
            ExprKind::Int(1) => length,
            _ => binary(unit, BinOp::Div, length, step),
        };
        all = match (&all.kind, &extent.kind) {
            (ExprKind::Int(1), _) => extent,
            (ExprKind::Int(_), ExprKind::Int(n)) => {
                let extent = Expr::int((*n).max(0), span);
                binary(unit, BinOp::Mul, all, extent)
            }
            // Two negative factors would give a positive product for an empty section.
            _ => return None,
        };
    }
    Some(all)
}

/// Adds the arguments for the sizes.
fn add_size_arguments(program: &mut Program, wanted: &Arguments, changed: &mut ChangedUnits) {
    if wanted.is_empty() {
        return;
    }
    let taken = taken_names(program);
    let assigned = Assigned::of(program);
    let mut sizes: BTreeMap<(Name, usize), SymId> = BTreeMap::new();
    for (name, i) in wanted {
        let Some(unit) = program.units.iter_mut().find(|u| u.name == *name) else {
            continue;
        };
        let Some(s) = unit.args.get(*i).and_then(|a| a.sym()) else {
            continue;
        };
        let of = unit.symbols[s].clone();
        let wanted = format!("{}_N", of.name);
        let variable = unit.symbols.unused(&wanted, &|n| taken.contains(n));
        let n = unit.symbols.add(Symbol {
            storage_class: StorageClass::Dummy,
            typed: true,
            ..Symbol::variable(variable, Type::INTEGER, of.span)
        });
        // Its type must be declared before it is used in a bound.
        let implicit = unit
            .specs
            .iter()
            .rposition(|s| s.kind == SpecKind::Implicit);
        let list = vec![Entity {
            sym: n,
            dims: false,
        }];
        unit.specs.insert(
            implicit.map_or(0, |i| i + 1),
            Spec {
                kind: SpecKind::Type(Type::INTEGER, list),
                span: of.span,
            },
        );
        sizes.insert((name.clone(), *i), n);
        changed.insert(name.clone());
    }
    for unit in &mut program.units {
        let changing = assigned.in_unit(unit);
        let mut body = std::mem::take(&mut unit.body);
        for_each_call_mut(&mut body, &mut |callee, args| {
            let Some(name) = global(&unit.symbols, *callee) else {
                return;
            };
            let all = wanted.iter().filter(|(u, _)| u == name);
            let open = |s: SymId| {
                let at = (unit.name.clone(), position(unit, s)?);
                Some(Expr::var(*sizes.get(&at)?, Span::NONE))
            };
            let more: Vec<Expr> = all
                .filter_map(|(_, i)| elements(unit, args.get(*i)?, &changing, &open))
                .collect();
            if !more.is_empty() {
                args.extend(more);
                changed.insert(unit.name.clone());
            }
        });
        unit.body = body;
    }
    for ((name, i), n) in &sizes {
        let Some(unit) = program.units.iter_mut().find(|u| u.name == *name) else {
            continue;
        };
        let Some(s) = unit.args.get(*i).and_then(|a| a.sym()) else {
            continue;
        };
        let span = unit.symbols[s].span;
        let mut dims = unit.symbols[s].dims.clone();
        let last = dims.len().saturating_sub(1);
        let inner = count(unit, &dims[..last], &HashSet::new(), span);
        let size = Expr::var(*n, span);
        let extent = match inner {
            Some(inner) if inner.kind != ExprKind::Int(1) => Expr::binary(BinOp::Div, size, inner),
            _ => size,
        };
        if let Some(d) = dims.last_mut() {
            d.upper = Some(match &d.lower {
                None => extent,
                Some(lower) => {
                    let less = binary(unit, BinOp::Sub, lower.clone(), Expr::int(1, span));
                    Expr::binary(BinOp::Add, extent, less)
                }
            });
        }
        unit.symbols[s].dims = dims;
        unit.args.push(Arg::Dummy(*n));
    }
}
