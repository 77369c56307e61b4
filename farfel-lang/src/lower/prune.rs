//! Drops what nothing reaches.

use super::calls::references;
use crate::ir::{Name, Program, UnitKind};
use std::collections::HashSet;

/// Keeps the roots, what they reach, and BLOCK DATA.
pub(super) fn prune(program: &mut Program, roots: &HashSet<Name>) {
    let reached = reached(program, roots);
    program
        .units
        .retain(|u| u.kind == UnitKind::BlockData || reached.contains(&u.name));
}

/// The names of all units that the roots reach by calls or by passing them on.
pub(super) fn reached(program: &Program, roots: &HashSet<Name>) -> HashSet<Name> {
    let mut reached = HashSet::new();
    let mut open: Vec<Name> = roots.iter().cloned().collect();
    while let Some(name) = open.pop() {
        if let Some(unit) = program.unit(&name)
            && reached.insert(name)
        {
            open.extend(references(unit));
        }
    }
    reached
}
