//! Who calls whom.

use crate::calls::calls;
use farfel_lang::ir::{Name, Place, Program, Unit, walk_block};
use std::collections::{HashMap, HashSet};

/// The names of the top-level units that a unit calls.
pub fn callees(program: &Program, unit: &Unit) -> Vec<Name> {
    let mut found: Vec<Name> = Vec::new();
    walk_block(&unit.body, &mut |s| {
        for (call, _) in calls(unit, s) {
            let callee = &unit.symbols[call.callee];
            if callee.place == Place::Global
                && !found.contains(&callee.name)
                && program.unit(&callee.name).is_some()
            {
                found.push(callee.name.clone());
            }
        }
    });
    // What a statement function calls, it calls wherever it is referenced.
    for (_, s) in unit.symbols.iter() {
        if let farfel_lang::ir::Class::StatementFunction(_, value) = &s.class {
            value.for_each_symbol(&mut |x| {
                let x = &unit.symbols[x];
                if x.place == Place::Global
                    && x.class.is_procedure()
                    && !found.contains(&x.name)
                    && program.unit(&x.name).is_some()
                {
                    found.push(x.name.clone());
                }
            });
        }
    }
    found
}

/// What can be reached from some units by calls.
#[derive(Debug)]
pub struct CallGraph<'a> {
    /// The units, each after what it calls, as far as recursion allows.
    pub units: Vec<&'a Unit>,
    /// For each unit, the positions of those that call it.
    pub callers: Vec<Vec<usize>>,
}

impl<'a> CallGraph<'a> {
    /// The part of a program's call graph that can be reached from a unit.
    pub fn below(program: &'a Program, head: &str) -> Self {
        Self::below_all(program, [head])
    }

    /// The part of a program's call graph that can be reached from some units.
    pub fn below_all<'h>(
        program: &'a Program,
        heads: impl IntoIterator<Item = &'h str>,
    ) -> Self {
        let mut edges: HashMap<Name, Vec<Name>> = HashMap::new();
        let mut units: Vec<&'a Unit> = Vec::new();
        let mut seen: HashSet<Name> = HashSet::new();
        // Each entry: a unit, and how many of its callees have been followed.
        let mut path: Vec<(&'a Unit, usize)> = Vec::new();
        for head in heads {
            if seen.insert(head.into()) {
                path.extend(program.unit(head).map(|u| (u, 0)));
            }
            while let Some((unit, next)) = path.pop() {
                let called = edges
                    .entry(unit.name.clone())
                    .or_insert_with(|| callees(program, unit));
                match called.get(next) {
                    Some(name) => {
                        path.push((unit, next + 1));
                        if seen.insert(name.clone())
                            && let Some(callee) = program.unit(name)
                        {
                            path.push((callee, 0));
                        }
                    }
                    None => units.push(unit),
                }
            }
        }
        let place: HashMap<&Name, usize> = units
            .iter()
            .enumerate()
            .map(|(i, u)| (&u.name, i))
            .collect();
        let mut callers = vec![Vec::new(); units.len()];
        for (i, u) in units.iter().enumerate() {
            for callee in edges.get(&u.name).into_iter().flatten() {
                if let Some(j) = place.get(callee) {
                    callers[*j].push(i);
                }
            }
        }
        CallGraph { units, callers }
    }

    /// Calls `update` on each unit (by its position), callees first, and again on those who
    /// call a unit for which it returned true, until it returns false everywhere.
    pub fn fixed_point(&self, mut update: impl FnMut(usize) -> bool) {
        let mut stale = vec![true; self.units.len()];
        while stale.contains(&true) {
            for i in 0..self.units.len() {
                if std::mem::take(&mut stale[i]) && update(i) {
                    for &c in &self.callers[i] {
                        stale[c] = true;
                    }
                }
            }
        }
    }
}
