//! Marks what is recursive only since lowering as RECURSIVE.
//!
//! A nested subprogram cannot be seen by Fortran 77, so nobody had to say that it calls
//! itself; nor of a subprogram that calls itself through what is passed to it. Local
//! variables of both must be new in each activation. SAVE and initial values keep their
//! meaning. Top-level subprograms that call each other by name are left as they are: what
//! their text means, and a warning says what is missing.

use super::naming::Families;
use crate::callgraph::{CallGraph, cycles};
use crate::ir::{Name, Program, UnitKind};

/// Marks those of which a part was lifted or copied.
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

/// The subprograms that call themselves, directly or through each other.
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
