//! Removes unreachable units: once the copies have been made, and once the derivatives have been generated.

use crate::callgraph::CallGraph;
use crate::ir::{Name, Program, Unit, UnitKind};
use std::collections::HashSet;

/// Keeps the roots, the units that they reach, and BLOCK DATA.
pub(super) fn prune(program: &mut Program, roots: &HashSet<Name>) {
    let graph = CallGraph::of_names(program, &[]);
    retain(program, &reached(&graph, roots));
}

/// Keeps the main program, the roots, the units that they call or pass as arguments, and BLOCK DATA, in a program whose
/// derivatives have been generated: the statements of AD blocks, of which only the derivatives are called, and
/// what only these statements called, are removed.
pub fn prune_differentiated<'a>(program: &mut Program, roots: impl IntoIterator<Item = &'a Name>) {
    let graph = CallGraph::of_executed(program);
    // The main program gets another name if a variable has its name.
    let is_main = |u: &&Unit| u.kind == UnitKind::Program;
    let main = program.units.iter().filter(is_main).map(|u| &u.name);
    let mut kept: HashSet<Name> = main.cloned().collect();
    kept.extend(roots.into_iter().cloned());
    let reached = reached(&graph, &kept);
    retain(program, &reached);
}

fn retain(program: &mut Program, reached: &[bool]) {
    let mut reached = reached.iter();
    program
        .units
        .retain(|u| reached.next() == Some(&true) || u.kind == UnitKind::BlockData);
}

/// Returns, for each unit, whether units with these names reach it.
pub(super) fn reached<'a>(
    graph: &CallGraph,
    roots: impl IntoIterator<Item = &'a Name>,
) -> Vec<bool> {
    let mut found = vec![false; graph.len()];
    for i in graph.reached(roots.into_iter().filter_map(|n| graph.index(n))) {
        found[i] = true;
    }
    found
}
