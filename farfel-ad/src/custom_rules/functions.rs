//! Intrinsic functions that are differentiated as functions written in Fortran.

use super::bundled;
use farfel_lang::callgraph::{ReachableUnits, references};
use farfel_lang::intrinsics::Intrinsic;
use farfel_lang::ir::build::zero;
use farfel_lang::ir::{
    Class, Expr, ExprKind, Name, Program, StorageClass, SymId, Symbol, Type, Unit, rewrite_exprs,
    walk_exprs,
};
use farfel_lang::types::{rank, type_of};
use std::collections::HashSet;

/// Whether there are references to PRODUCT, MAXVAL or MINVAL below some heads.
pub(crate) fn has_reductions(program: &Program, heads: &[&str]) -> bool {
    !affected(program, heads).is_empty()
}

/// Returns the units below some heads that have such references.
fn affected(program: &Program, heads: &[&str]) -> HashSet<Name> {
    let below = ReachableUnits::of(program, heads.iter().copied());
    let has = |u: &&&Unit| {
        let mut found = false;
        walk_exprs(&u.body, &mut |e| found |= function(u, e).is_some());
        found
    };
    let units = below.units.iter().filter(has);
    units.map(|u| u.name.clone()).collect()
}

/// Replaces references to PRODUCT, MAXVAL and MINVAL below some heads by references to bundled
/// Fortran functions.
pub(crate) fn call_functions(program: &mut Program, heads: &[&str]) {
    let affected = affected(program, heads);
    let mut needed: HashSet<_> = HashSet::new();
    for unit in &mut program.units {
        if affected.contains(&unit.name) {
            replace(unit);
            needed.extend(references(unit));
        }
    }
    let missing = |name: &&Name| program.unit(name).is_none();
    let mut names: Vec<_> = needed.iter().filter(missing).collect();
    names.sort();
    let units: Vec<Unit> = names
        .into_iter()
        .filter_map(|n| bundled::unit(n))
        .cloned()
        .collect();
    program.units.extend(units);
}

/// Returns the name of the function that an expression should call instead.
fn function(unit: &Unit, e: &Expr) -> Option<String> {
    let ExprKind::Call(s, args) = &e.kind else {
        return None;
    };
    let Class::Intrinsic(i) = unit.symbols[*s].class else {
        return None;
    };
    let [array] = args.as_slice() else {
        return None;
    };
    if !matches!(i.name, "PRODUCT" | "MAXVAL" | "MINVAL")
        || matches!(array.kind, ExprKind::Keyword(..))
        || shape(unit, array).is_none()
    {
        return None;
    }
    let letter = match type_of(unit, array)? {
        Type::Real(4) => 'S',
        Type::Real(8) => 'D',
        Type::Complex(4) => 'C',
        Type::Complex(8) => 'Z',
        _ => return None,
    };
    let name = format!("{}{letter}{}", bundled::PREFIX, i.name);
    let size = unit.symbols.find("SIZE").map(|s| &unit.symbols[s].class);
    let free = size.is_none_or(|c| matches!(c, Class::Intrinsic(_)));
    (free && bundled::unit(&name).is_some()).then_some(name)
}

fn replace(unit: &mut Unit) {
    let mut body = std::mem::take(&mut unit.body);
    rewrite_exprs(&mut body, &mut |e| {
        let Some(name) = function(unit, e) else {
            return;
        };
        let ty = type_of(unit, e);
        let Some(size) = Intrinsic::find("SIZE") else {
            return;
        };
        let size = symbol(unit, "SIZE", Class::Intrinsic(size), None);
        let function = symbol(unit, &name, Class::Function, ty);
        if let ExprKind::Call(s, args) = &mut e.kind {
            *s = function;
            let shapes = args.iter().filter_map(|a| shape(unit, a)).collect();
            let size = Expr::call(size, shapes, e.span);
            args.insert(0, size);
        }
    });
    unit.body = body;
}

/// Returns an array expression of the same shape that calls no procedures, as these may have side
/// effects. `None` if a result of a call determines the shape.
fn shape(unit: &Unit, array: &Expr) -> Option<Expr> {
    let calls = |e: &Expr| {
        let mut found = false;
        e.walk(&mut |e| found |= calls_unit(unit, e));
        found
    };
    let mut sizes = true;
    array.walk(&mut |e| match &e.kind {
        ExprKind::Range(..) => sizes &= !calls(e),
        ExprKind::ImpliedDo(d) => {
            sizes &= ![&d.from, &d.to].into_iter().chain(&d.step).any(&calls);
        }
        _ => {}
    });
    let mut shape = array.clone();
    shape.rewrite(&mut |e| {
        if calls_unit(unit, e) {
            let ty = type_of(unit, e).filter(|_| rank(unit, e) == 0);
            *e = match ty {
                Some(ty @ (Type::Real(_) | Type::Complex(_))) => zero(ty, e.span),
                Some(Type::Integer(4)) => Expr::int(1, e.span),
                Some(Type::Integer(8)) => Expr::long(1, e.span),
                Some(Type::Logical(4)) => Expr::logical(true, e.span),
                _ => {
                    sizes = false;
                    return;
                }
            };
        }
    });
    sizes.then_some(shape)
}

/// Whether this calls a function that is not intrinsic, or a statement function, which may call
/// one.
fn calls_unit(unit: &Unit, e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Call(s, _) if !matches!(unit.symbols[s].class, Class::Intrinsic(_)))
}

/// Returns the symbol of a global procedure, adding and declaring it if necessary.
pub(crate) fn symbol(unit: &mut Unit, name: &str, class: Class, ty: Option<Type>) -> SymId {
    if let Some(s) = unit.symbols.find(name) {
        return s;
    }
    let ours = class.is_procedure();
    let s = unit.symbols.add(Symbol {
        class,
        ty,
        typed: ty.is_some(),
        external: ours,
        storage_class: StorageClass::Global,
        ..Symbol::new(name.into(), farfel_lang::Span::NONE)
    });
    if ours {
        unit.declare(s);
    }
    s
}
