//! Determines which units share variables with other threads.
//!
//! Variables that keep their values between calls are shared: saved ones, those with initial values, large
//! arrays, COMMON. This is harmful only if something may assign them: tables and constants in DATA can be
//! read by any number of threads.

use super::{MemoryModel, is_large};
use farfel_lang::effects::Assigned;
use farfel_lang::ir::{
    Attribute, Class, Expr, ExprKind, Name, Origin, Program, SaveItem, SpecKind, StorageClass,
    SymId, Symbol, Unit,
};
use farfel_lang::storage::{UnitStorage, common_blocks};
use std::collections::HashSet;

/// Returns the names of the units with shared variables of which some may be assigned.
pub(super) fn changing(
    program: &Program,
    assigned: &Assigned,
    memory: MemoryModel,
) -> HashSet<Name> {
    let units = &program.units;
    let named = |units: Vec<&Unit>| units.into_iter().map(|u| u.name.clone()).collect();
    // With the options for static memory, the border subroutines and the compiler's own checks have variables
    // there, too.
    if memory.all_static || units.iter().any(is_opaque) {
        return named(units.iter().filter(|u| has_any(u, memory)).collect());
    }
    let unit_states: Vec<UnitState> = units.iter().map(|u| UnitState::of(u, assigned)).collect();
    let assigned: HashSet<&Name> = unit_states
        .iter()
        .flat_map(|o| &o.assigned_blocks)
        .collect();
    // Derivatives of COMMON variables are in COMMON, too, and do not exist yet.
    let unknown = units.iter().any(|u| u.origin == Origin::Derivative);
    let is_shared = |o: &UnitState| {
        let changes =
            |b: &Name| unknown || memory.known_to_others.contains(b) || assigned.contains(b);
        o.changes || o.blocks.iter().any(changes)
    };
    let shared = units.iter().zip(&unit_states).filter(|(_, o)| is_shared(o));
    named(shared.map(|(u, _)| u).collect())
}

/// Returns the names of the units with variables that do not belong to instances: those that C knows, and
/// those in files that are not available.
pub(super) fn of_others(program: &Program, memory: MemoryModel) -> HashSet<Name> {
    let unknown = |u: &Unit| {
        let mut specs = u.specs.iter();
        specs.any(|s| matches!(s.kind, SpecKind::Use(_) | SpecKind::Include(_)))
    };
    let known = |u: &Unit| {
        let blocks = common_blocks(u);
        blocks.iter().any(|b| memory.known_to_others.contains(b))
    };
    let shared = program.units.iter().filter(|u| unknown(u) || known(u));
    shared.map(|u| u.name.clone()).collect()
}

/// Whether a unit has shared variables, assigned or not.
pub(super) fn has_any(unit: &Unit, memory: MemoryModel) -> bool {
    let declares = unit.specs.iter().any(|s| {
        matches!(
            s.kind,
            SpecKind::Common(_) | SpecKind::Data(_) | SpecKind::Save(_)
        )
    });
    let shares = |s: &Symbol| s.saved || matches!(s.storage_class, StorageClass::Common(_));
    memory.all_static
        || declares
        || unit.symbols.iter().any(|(_, s)| shares(s))
        || !kept(unit, &UnitStorage::of(unit)).is_empty()
}

/// Whether EQUIVALENCE joins variables of a unit outside COMMON.
pub(super) fn has_tied(unit: &Unit) -> bool {
    UnitStorage::of(unit)
        .areas()
        .iter()
        .any(|a| a.block.is_none())
}

/// Whether variables of any unit may be changed without a visible statement.
pub(crate) fn is_opaque(unit: &Unit) -> bool {
    let is_hidden = |s: &Symbol| {
        matches!(s.storage_class, StorageClass::Pointee(_))
            || s.has(Attribute::Volatile)
            || matches!(s.class, Class::Intrinsic(i) if i.name == "LOC")
    };
    // Nested subprograms, which have COMMON of their own, no longer exist after lowering.
    !unit.nested.is_empty()
        || unit.symbols.iter().any(|(_, s)| is_hidden(s))
        || unit.specs.iter().any(|s| {
            matches!(
                s.kind,
                SpecKind::Pointer(_) | SpecKind::Use(_) | SpecKind::Include(_)
            )
        })
}

/// What is known about one unit without the others.
struct UnitState {
    /// Whether it has static variables that it, or a callee, may assign.
    changes: bool,
    /// The COMMON blocks that it declares.
    blocks: HashSet<Name>,
    /// Those of which it, or a callee to which it passes their variables, may assign something.
    assigned_blocks: HashSet<Name>,
}

impl UnitState {
    fn of(unit: &Unit, assigned: &Assigned) -> UnitState {
        let storage = UnitStorage::of(unit);
        let assigned = assigned.in_unit(unit);
        let block = |s: &SymId| match &unit.symbols[*s].storage_class {
            StorageClass::Common(name) => Some(name.clone()),
            _ => storage.common_block(*s).cloned(),
        };
        let named = unit.symbols.ids().filter_map(|s| block(&s));
        UnitState {
            changes: !kept(unit, &storage).is_disjoint(&assigned),
            blocks: named.chain(common_blocks(unit)).collect(),
            assigned_blocks: assigned.iter().filter_map(block).collect(),
        }
    }
}

/// Returns the variables in a unit's own static memory.
pub(crate) fn kept(unit: &Unit, storage: &UnitStorage) -> HashSet<SymId> {
    let declared = declared(unit);
    let everything = unit
        .specs
        .iter()
        .any(|s| matches!(&s.kind, SpecKind::Save(items) if items.is_empty()));
    let is_kept = |id: SymId, s: &Symbol| {
        let own = match s.storage_class {
            StorageClass::Local => true,
            // A function does not keep its result; with RESULT, the function's name may be an ordinary
            // variable.
            StorageClass::Result => s.name != unit.name,
            _ => false,
        };
        let keeps = everything || s.saved || s.init.is_some() || declared.contains(&id);
        s.is_variable() && own && (keeps || is_large(unit, s))
    };
    let mut kept: HashSet<SymId> = unit
        .symbols
        .iter()
        .filter(|(id, s)| is_kept(*id, s))
        .map(|(id, _)| id)
        .collect();
    // Variables joined by EQUIVALENCE are in the same place.
    for area in storage.areas().iter().filter(|a| a.block.is_none()) {
        let large = !area.exact || super::exceeds_stack(area.size.unsigned_abs());
        if large || area.members.iter().any(|m| kept.contains(&m.sym)) {
            kept.extend(area.members.iter().map(|m| m.sym));
        }
    }
    kept
}

/// Returns the variables in DATA and SAVE statements.
fn declared(unit: &Unit) -> HashSet<SymId> {
    let mut found = HashSet::new();
    for spec in &unit.specs {
        match &spec.kind {
            SpecKind::Data(sets) => {
                found.extend(sets.iter().flat_map(|s| &s.targets).flat_map(initialised));
            }
            SpecKind::Save(items) => found.extend(items.iter().filter_map(|i| match i {
                SaveItem::Var(s) => Some(*s),
                SaveItem::Common(_) => None,
            })),
            _ => {}
        }
    }
    found
}

/// Returns the variables that a DATA target initializes; the loop variable is not one of them.
pub(crate) fn initialised(target: &Expr) -> HashSet<SymId> {
    match &target.kind {
        ExprKind::ImpliedDo(d) => d.items.iter().flat_map(initialised).collect(),
        _ => target.base().into_iter().collect(),
    }
}
