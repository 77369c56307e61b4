//! Removes unreachable units.

use crate::callgraph::CallGraph;
use crate::ir::{Name, Program, UnitKind};
use std::collections::HashSet;

/// Keeps the roots, the units that they reach, and BLOCK DATA.
pub(super) fn prune(program: &mut Program, roots: &HashSet<Name>) {
    let mut reached = reached(&CallGraph::of_names(program, &[]), roots).into_iter();
    program
        .units
        .retain(|u| reached.next() == Some(true) || u.kind == UnitKind::BlockData);
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
