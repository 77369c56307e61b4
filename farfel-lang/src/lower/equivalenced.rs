//! EQUIVALENCE in the hosts of nested subprograms.
//!
//! Two names for the same storage would become two arguments of the lifted subprogram, and Fortran
//! forbids assigning either. COMMON variables are not passed as arguments, even though EQUIVALENCE
//! may add others to a block. So an EQUIVALENCE class of which nested subprograms use two names is
//! moved to COMMON first.

use super::naming::taken_names;
use super::saved_variables;
use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{Expr, Name, Program, SpecKind, StorageClass, SymId, Unit};
use crate::storage::{Constants, UnitStorage};
use std::collections::{BTreeSet, HashSet};

/// Moves the EQUIVALENCE classes of which nested subprograms use several names to COMMON.
pub(super) fn share(program: &mut Program, diagnostics: &mut Vec<Diagnostic>) {
    if !program.units.iter().any(concerned) {
        return;
    }
    let taken = taken_names(program);
    let mut sharer = Sharer {
        taken,
        data: Vec::new(),
        diagnostics,
    };
    for unit in &mut program.units {
        if concerned(unit) {
            sharer.unit(unit, None);
        }
    }
    program.units.extend(sharer.data);
}

fn concerned(unit: &Unit) -> bool {
    let ties = |u: &Unit| !u.nested.is_empty() && groups(u).next().is_some();
    ties(unit) || unit.nested.iter().any(concerned)
}

/// Returns the groups of the EQUIVALENCE statements of a unit.
pub(super) fn groups(unit: &Unit) -> impl Iterator<Item = &Vec<Expr>> {
    let all = unit.specs.iter().filter_map(|s| match &s.kind {
        SpecKind::Equivalence(groups) => Some(groups),
        _ => None,
    });
    all.flatten()
}

/// Returns the variables of a unit that EQUIVALENCE puts into COMMON.
pub(super) fn in_common(unit: &Unit) -> HashSet<SymId> {
    let mut found = HashSet::new();
    let common = |s: SymId| matches!(unit.symbols[s].storage_class, StorageClass::Common(_));
    loop {
        let before = found.len();
        for group in groups(unit) {
            let bases: Vec<SymId> = group.iter().filter_map(Expr::base).collect();
            if bases.iter().any(|s| common(*s) || found.contains(s)) {
                found.extend(bases.into_iter().filter(|s| !common(*s)));
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

struct Sharer<'d> {
    taken: HashSet<Name>,
    data: Vec<Unit>,
    diagnostics: &'d mut Vec<Diagnostic>,
}

impl Sharer<'_> {
    fn unit(&mut self, unit: &mut Unit, around: Option<&Constants>) {
        let mut nested = std::mem::take(&mut unit.nested);
        let constants = match around {
            Some(around) => around.nested(unit),
            None => Constants::of(unit),
        };
        for n in &mut nested {
            self.unit(n, Some(&constants));
        }
        let links: BTreeSet<SymId> = nested
            .iter()
            .flat_map(|n| n.symbols.iter())
            .filter_map(|(_, s)| match s.storage_class {
                StorageClass::Host(outer) => Some(outer),
                _ => None,
            })
            .collect();
        let storage = UnitStorage::within(&constants);
        let moving: Vec<_> = storage
            .areas()
            .iter()
            .filter(|a| a.block.is_none())
            .filter_map(|a| {
                let twice = |s: &SymId| {
                    links.contains(s) && storage.overlapping(*s).any(|o| links.contains(&o))
                };
                let seen = a.members.iter().map(|m| m.sym).find(twice)?;
                Some((a, seen))
            })
            .collect();
        if unit.recursive {
            for (_, seen) in &moving {
                let s = &unit.symbols[*seen];
                self.diagnostics.push(
                    Diagnostic::error(
                        &rules::UNSUPPORTED,
                        s.span,
                        format!(
                            "nested subprograms of {}, which is RECURSIVE, use the storage of {} under two names",
                            unit.name, s.name
                        ),
                    )
                    .help("use one name for it in the nested subprograms"),
                );
            }
        } else if !moving.is_empty() {
            let areas: Vec<_> = moving.into_iter().map(|(a, _)| a).collect();
            self.data.extend(saved_variables::share_classes(
                unit,
                &areas,
                &mut self.taken,
            ));
        }
        unit.nested = nested;
    }
}
