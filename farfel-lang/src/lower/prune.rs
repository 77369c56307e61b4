//! Drops what nothing reaches.

use crate::callgraph;
use crate::ir::{Name, Program, UnitKind};
use std::collections::HashSet;

/// Keeps the roots, what they reach, and BLOCK DATA.
pub(super) fn prune(program: &mut Program, roots: &HashSet<Name>) {
    let reached = CallGraph::of(program).reached(roots);
    program
        .units
        .retain(|u| u.kind == UnitKind::BlockData || reached.contains(&u.name));
}

/// The call graph by names.
pub(super) struct CallGraph(callgraph::CallGraph);

impl CallGraph {
    pub fn of(program: &Program) -> Self {
        CallGraph(callgraph::CallGraph::of(program))
    }

    /// What a unit calls or passes on.
    pub fn references(&self, name: &str) -> &[Name] {
        self.0.index(name).map_or(&[], |i| self.0.references(i))
    }

    /// The names of all units that the roots reach.
    pub fn reached<'a>(&self, roots: impl IntoIterator<Item = &'a Name>) -> HashSet<Name> {
        self.0
            .reached(roots.into_iter().filter_map(|n| self.0.index(n)))
            .into_iter()
            .map(|i| self.0.name(i).clone())
            .collect()
    }
}
