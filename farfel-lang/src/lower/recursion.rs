//! Marks subprograms as RECURSIVE that lowering has made recursive.
//!
//! Fortran 77 has no nested subprograms, so no RECURSIVE was required of one that calls itself, nor
//! of a subprogram that calls itself through a procedure that is passed to it. Local variables of
//! both must be new in each activation. SAVE and initial values keep their meaning. Top-level
//! subprograms that call each other by name are left as they are: they mean what their text says, and
//! a warning points out the missing RECURSIVE.

use super::naming::Families;
use crate::callgraph::{CallGraph, cycles};
use crate::ir::{Name, Program, UnitKind};

/// Marks the recursive groups in which a subprogram was lifted or copied.
pub(super) fn mark(program: &mut Program, families: &Families) {
    if families.is_empty() {
        return;
    }
    for group in groups(program) {
        let lowered = |i: &usize| {
            let name = &program.units[*i].name;
            families.is_member(name)
        };
        if !group.iter().any(lowered) {
            continue;
        }
        for i in group {
            let unit = &mut program.units[i];
            unit.recursive |= matches!(unit.kind, UnitKind::Function | UnitKind::Subroutine);
        }
    }
}

/// Returns the groups of subprograms that call themselves, directly or through each other.
pub(super) fn recursive(program: &Program) -> Vec<Vec<Name>> {
    let groups = groups(program).into_iter();
    groups
        .map(|g| g.iter().map(|i| program.units[*i].name.clone()).collect())
        .collect()
}

fn groups(program: &Program) -> Vec<Vec<usize>> {
    let graph = CallGraph::of_calls(program);
    let callees: Vec<Vec<usize>> = (0..graph.len())
        .map(|i| graph.callees(i).to_vec())
        .collect();
    cycles(&callees)
}
