//! Finds where tangents are dead.

use super::straight_line;
use farfel_lang::ir::{
    Class, Expr, SaveItem, SpecKind, Stmt, StorageClass, SymId, Unit, for_each_symbol,
};
use farfel_lang::storage::UnitStorage;
use std::collections::HashSet;

/// The scalar tangents whose values never leave a stretch: those that are local to the unit and that no
/// stretch or other statement reads before it has assigned them.
pub(super) fn local(
    unit: &Unit,
    body: &[Stmt],
    tangents: &HashSet<SymId>,
    storage: &UnitStorage,
) -> HashSet<SymId> {
    let save_all = unit
        .specs
        .iter()
        .any(|s| matches!(&s.kind, SpecKind::Save(l) if l.is_empty()));
    if save_all {
        return HashSet::new();
    }
    let mut exposed = HashSet::new();
    exposed_in(unit, body, &mut exposed);
    named_in_specs(unit, &mut exposed);
    for nested in &unit.nested {
        captured(nested, &mut exposed);
    }
    tangents
        .iter()
        .copied()
        .filter(|t| {
            let s = &unit.symbols[*t];
            s.is_variable()
                && !s.is_array()
                && s.storage_class == StorageClass::Local
                && !s.saved
                && storage.is_own(*t)
                && !exposed.contains(t)
        })
        .collect()
}

/// The variables of its host that a nested subprogram uses.
pub(super) fn captured(nested: &Unit, found: &mut HashSet<SymId>) {
    for (_, s) in nested.symbols.iter() {
        if let StorageClass::Host(outer) = s.storage_class {
            found.insert(outer);
        }
    }
}

/// Collects the variables that stretches read before they have assigned them, and all variables that other
/// statements name.
fn exposed_in(unit: &Unit, block: &[Stmt], found: &mut HashSet<SymId>) {
    let mut from = 0;
    while from < block.len() {
        let len = straight_line::len(unit, &block[from..]);
        if len > 0 {
            let mut assigned = HashSet::new();
            for stmt in &block[from..from + len] {
                straight_line::for_each_read(stmt, &mut |s| {
                    if !assigned.contains(&s) {
                        found.insert(s);
                    }
                });
                assigned.extend(straight_line::scalar_target(unit, stmt));
            }
            from += len;
            continue;
        }
        let stmt = &block[from];
        if stmt.blocks().is_empty() {
            for_each_symbol(std::slice::from_ref(stmt), &mut |s| {
                found.insert(s);
            });
        } else {
            stmt.for_each_own_symbol(&mut |s| {
                found.insert(s);
            });
            stmt.for_each_own_expr(&mut |e| {
                e.for_each_symbol(&mut |s| {
                    found.insert(s);
                })
            });
            for inner in stmt.blocks() {
                exposed_in(unit, inner, found);
            }
        }
        from += 1;
    }
}

/// The variables that specification statements give a meaning beyond their type, or whose
/// values they use.
pub(crate) fn named_in_specs(unit: &Unit, found: &mut HashSet<SymId>) {
    let mut add = |e: &Expr| {
        e.for_each_symbol(&mut |s| {
            found.insert(s);
        })
    };
    for (_, s) in unit.symbols.iter() {
        for d in &s.dims {
            d.lower.iter().chain(&d.upper).for_each(&mut add);
        }
        s.length.iter().for_each(&mut add);
        match &s.class {
            Class::Parameter(e) | Class::StatementFunction(_, e) => add(e),
            _ => {}
        }
    }
    for spec in &unit.specs {
        match &spec.kind {
            SpecKind::Equivalence(sets) => sets.iter().flatten().for_each(&mut add),
            SpecKind::Data(sets) => sets
                .iter()
                .for_each(|d| d.targets.iter().for_each(&mut add)),
            _ => {}
        }
    }
    for (_, s) in unit.symbols.iter() {
        if let Class::Namelist(members) = &s.class {
            found.extend(members);
        }
    }
    for spec in &unit.specs {
        match &spec.kind {
            SpecKind::Common(blocks) => {
                found.extend(blocks.iter().flat_map(|(_, l)| l).map(|e| e.sym));
            }
            SpecKind::Save(items) => found.extend(items.iter().filter_map(|i| match i {
                SaveItem::Var(s) => Some(*s),
                SaveItem::Common(_) => None,
            })),
            _ => {}
        }
    }
}
