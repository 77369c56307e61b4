//! Drops what nothing reaches.

use super::calls::references;
use crate::ir::{Name, Program, StmtKind, UnitKind, walk_block};
use std::collections::{HashMap, HashSet};

/// Keeps the roots, what they reach, and BLOCK DATA.
pub(super) fn prune(program: &mut Program, roots: &HashSet<Name>) {
    let reached = CallGraph::of(program).reached(roots);
    program
        .units
        .retain(|u| u.kind == UnitKind::BlockData || reached.contains(&u.name));
}

/// Who calls (or passes on) whom among the top-level units.
pub(super) struct CallGraph {
    /// The unit of every name that can be called: its own and those of its ENTRY points.
    units: HashMap<Name, usize>,
    names: Vec<Name>,
    references: Vec<Vec<Name>>,
}

impl CallGraph {
    pub fn of(program: &Program) -> Self {
        let mut units = HashMap::new();
        for (i, unit) in program.units.iter().enumerate() {
            units.insert(unit.name.clone(), i);
            walk_block(&unit.body, &mut |s| {
                if let StmtKind::Entry(e) = &s.kind {
                    units.insert(unit.symbols[e.name].name.clone(), i);
                }
            });
        }
        CallGraph {
            units,
            names: program.units.iter().map(|u| u.name.clone()).collect(),
            references: program
                .units
                .iter()
                .map(|u| references(u).into_iter().collect())
                .collect(),
        }
    }

    /// What a unit calls or passes on.
    pub fn references(&self, name: &str) -> &[Name] {
        self.units.get(name).map_or(&[], |i| &self.references[*i])
    }

    /// The names of all units that the roots reach.
    pub fn reached<'a>(&self, roots: impl IntoIterator<Item = &'a Name>) -> HashSet<Name> {
        let mut seen = vec![false; self.names.len()];
        let mut open: Vec<usize> = roots
            .into_iter()
            .filter_map(|n| self.units.get(n))
            .copied()
            .collect();
        let mut reached = HashSet::new();
        while let Some(i) = open.pop() {
            if !std::mem::replace(&mut seen[i], true) {
                reached.insert(self.names[i].clone());
                open.extend(self.references[i].iter().filter_map(|n| self.units.get(n)));
            }
        }
        reached
    }
}
