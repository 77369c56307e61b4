//! Drops what nothing reaches.

use super::calls::references;
use crate::ir::{Name, Program, StmtKind, Unit, UnitKind, walk_block};
use std::collections::{HashMap, HashSet};

/// Keeps the roots, what they reach, and BLOCK DATA.
pub(super) fn prune(program: &mut Program, roots: &HashSet<Name>) {
    let reached = reached(program, roots);
    program
        .units
        .retain(|u| u.kind == UnitKind::BlockData || reached.contains(&u.name));
}

/// The names of all units that the roots reach by calls or by passing them on.
pub(super) fn reached(program: &Program, roots: &HashSet<Name>) -> HashSet<Name> {
    // Subprograms by their names and those of their ENTRY points.
    let mut units: HashMap<Name, &Unit> = HashMap::new();
    for unit in &program.units {
        units.insert(unit.name.clone(), unit);
        walk_block(&unit.body, &mut |s| {
            if let StmtKind::Entry(e) = &s.kind {
                units.insert(unit.symbols[e.name].name.clone(), unit);
            }
        });
    }
    let mut reached = HashSet::new();
    let mut open: Vec<Name> = roots.iter().cloned().collect();
    while let Some(name) = open.pop() {
        if let Some(unit) = units.get(&name)
            && reached.insert(unit.name.clone())
        {
            open.extend(references(unit));
        }
    }
    reached
}
