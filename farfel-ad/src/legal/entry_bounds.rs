//! Subprograms that change variables in the bounds of their arrays.
//!
//! The bounds are determined at entry, whatever happens to N in `REAL W(N)` afterwards. A reverse
//! sweep begins where the subprogram ends, with the value that N has then. So such a subprogram
//! delegates its work to another one, which receives the values at entry as additional arguments:
//!
//! ```text
//! SUBROUTINE S(W, N)              SUBROUTINE S_E(W, N, N_E)
//! REAL W(*)                       REAL W(N_E)
//! CALL S_E(W, N, (N))             ...
//! END                             END
//! ```

use crate::legal::structure::taken_names;
use farfel_lang::callgraph::CallGraph;
use farfel_lang::effects::Assigned;
use farfel_lang::ir::{
    Arg, Class, Dim, Entity, Expr, ExprKind, Name, Program, Spec, SpecKind, Stmt, StorageClass,
    SymId, Symbol, Type, Unit, UnitKind, unused_name,
};
use farfel_lang::lower::compact;
use farfel_lang::storage::UnitStorage;
use std::collections::BTreeSet;

/// Whether there are arrays whose bounds are not constant.
pub(crate) fn has_bounds(program: &Program) -> bool {
    !program.units.iter().all(|u| bound_variables(u).is_empty())
}

/// Splits all such subprograms, except the heads, whose reverse sweeps follow their forward sweeps
/// directly. The names of the new subprograms end in `suffix`.
pub(crate) fn with_entry_bounds(program: &mut Program, heads: &[&str], suffix: &str) {
    if !has_bounds(program) {
        return;
    }
    let assigned = Assigned::of(program);
    let graph = CallGraph::of(program);
    let mut taken = taken_names(program);
    let mut new = Vec::new();
    for u in &program.units {
        if heads.contains(&u.name.as_str()) || !u.args.iter().all(|a| a.sym().is_some()) {
            continue;
        }
        let own = assigned.in_unit(u);
        let storage = UnitStorage::of(u);
        // Variables in COMMON may be changed by any callee.
        let below = || graph.reached(graph.index(&u.name)).into_iter();
        let in_common = |s: SymId| {
            let StorageClass::Common(block) = &u.symbols[s].storage_class else {
                return false;
            };
            let Some(spot) = storage.range(s) else {
                return true;
            };
            below().filter_map(|i| program.units.get(i)).any(|v| {
                let theirs = UnitStorage::of(v);
                let changed = assigned.in_unit(v);
                theirs.block(block).is_some_and(|area| {
                    let mut members = area.members.iter();
                    members.any(|m| {
                        let overlap = m.start < spot.end && spot.start < m.start + m.size;
                        overlap && changed.contains(&m.sym)
                    })
                })
            })
        };
        let mut changed = bound_variables(u);
        changed.retain(|s| own.contains(s) || in_common(*s));
        if changed.is_empty() {
            continue;
        }
        let name = unused_name(&format!("{}_E{suffix}", u.name), &|n| taken.contains(n));
        taken.insert(name.clone());
        new.push(divided(u, name, &changed));
    }
    for (outer, inner) in new {
        if let Some(at) = program.units.iter().position(|u| u.name == outer.name) {
            program.units[at] = outer;
            program.units.insert(at, inner);
        }
    }
}

/// Returns the variables in the bounds of a unit's arrays, and in the lengths of its strings.
pub(crate) fn bound_variables(unit: &Unit) -> BTreeSet<SymId> {
    let mut found = BTreeSet::new();
    for (_, s) in unit.symbols.iter() {
        let bounds = s.dims.iter().flat_map(|d| d.lower.iter().chain(&d.upper));
        bounds
            .chain(&s.length)
            .for_each(|e| values_read(unit, e, &mut found));
    }
    found
}

/// Collects the variables whose values an expression depends on.
fn values_read(unit: &Unit, e: &Expr, found: &mut BTreeSet<SymId>) {
    match &e.kind {
        ExprKind::Call(f, _) if unit.symbols[*f].class.is_inquiry() => return,
        ExprKind::Var(s) | ExprKind::Element(s, _) if unit.symbols[*s].is_variable() => {
            found.insert(*s);
        }
        _ => {}
    }
    for c in e.children() {
        values_read(unit, c, found);
    }
}

/// Adds an argument for a bound of arrays, with a name like `wanted`.
pub(crate) fn add_bound(unit: &mut Unit, wanted: &str, ty: Type) -> SymId {
    let span = unit.span;
    let new = unit.symbols.add(Symbol {
        ty: Some(ty),
        typed: true,
        storage_class: StorageClass::Dummy,
        class: Class::Variable,
        ..Symbol::new(unit.symbols.unused(wanted, &|_| false), span)
    });
    unit.args.push(Arg::Dummy(new));
    // Declared before the arrays that have it in their bounds.
    let first = |s: &Spec| {
        !matches!(
            s.kind,
            SpecKind::Comment(_) | SpecKind::Use(_) | SpecKind::Include(_) | SpecKind::Implicit
        )
    };
    let at = unit.specs.iter().position(first);
    let entity = Entity {
        sym: new,
        dims: false,
    };
    let spec = Spec {
        kind: SpecKind::Type(ty, vec![entity]),
        span,
    };
    unit.specs.insert(at.unwrap_or(unit.specs.len()), spec);
    new
}

/// Splits a unit into the subprogram that callers call and the one that does the work.
fn divided(unit: &Unit, name: Name, changed: &BTreeSet<SymId>) -> (Unit, Unit) {
    let span = unit.span;
    let mut inner = unit.clone();
    let mut outer = unit.clone();

    let mut at_entry: Vec<(SymId, SymId)> = Vec::new();
    for s in changed {
        let wanted = format!("{}_E", inner.symbols[*s].name);
        let ty = inner.symbols[*s].ty.unwrap_or(Type::INTEGER);
        at_entry.push((*s, add_bound(&mut inner, &wanted, ty)));
    }
    let replace = |e: &mut Expr| {
        e.rewrite(&mut |e| {
            if let ExprKind::Var(s) = &mut e.kind
                && let Some((_, new)) = at_entry.iter().find(|(old, _)| old == s)
            {
                *s = *new;
            }
        });
    };
    let ids: Vec<SymId> = inner.symbols.ids().collect();
    for id in ids {
        let s = &mut inner.symbols[id];
        let dims = s.dims.iter_mut();
        dims.flat_map(|d| d.lower.iter_mut().chain(&mut d.upper))
            .chain(&mut s.length)
            .for_each(replace);
    }
    if let Some(r) = inner.result
        && inner.symbols[r].name == inner.name
    {
        inner.symbols.rename(r, name.clone());
    }
    inner.name = name.clone();
    if let Some(r) = inner.result {
        inner.declare(r);
    }

    // The outer subprogram only passes the arrays on.
    let callee = outer.symbols.add(Symbol {
        class: match unit.kind {
            UnitKind::Function => Class::Function,
            _ => Class::Subroutine,
        },
        ty: unit.result.and_then(|r| unit.symbols[r].ty),
        length: unit.result.and_then(|r| unit.symbols[r].length.clone()),
        typed: unit.kind == UnitKind::Function,
        storage_class: StorageClass::Global,
        ..Symbol::new(name, span)
    });
    let own = unit.args.iter().filter_map(|a| a.sym());
    let mut args: Vec<Expr> = own.map(|s| Expr::var(s, span)).collect();
    for s in changed {
        let value = Expr::var(*s, span);
        args.push(Expr::parens(value, span));
    }
    outer.body = vec![match unit.result {
        Some(r) => {
            let value = Expr::call(callee, args, span);
            Stmt::assign(Expr::var(r, span), value, span)
        }
        None => Stmt::call(callee, args, span),
    }];
    outer.specs.retain(|s| {
        !matches!(
            s.kind,
            SpecKind::Data(_)
                | SpecKind::Save(_)
                | SpecKind::StatementFunction(_)
                | SpecKind::Namelist(_)
                | SpecKind::Equivalence(_)
                | SpecKind::Format(..)
                | SpecKind::Comment(_)
        )
    });
    let ids: Vec<SymId> = outer.symbols.ids().collect();
    for id in ids {
        let s = &mut outer.symbols[id];
        let depends = |e: &Expr| {
            let mut found = false;
            e.for_each_symbol(&mut |x| found |= changed.contains(&x));
            found
        };
        if s.storage_class == StorageClass::Dummy && s.length.as_ref().is_some_and(depends) {
            s.length = Some(Expr::star(span));
        }
        let mut bounds = s.dims.iter().flat_map(|d| d.lower.iter().chain(&d.upper));
        if bounds.any(depends) {
            s.dims = vec![Dim {
                lower: None,
                upper: Some(Expr::star(span)),
            }];
        }
    }
    outer.comments.clear();
    if unit.kind == UnitKind::Function {
        outer.declare(callee);
    }
    compact(&mut outer);
    (outer, inner)
}
