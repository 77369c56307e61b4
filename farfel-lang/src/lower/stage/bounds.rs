//! Bounds of arrays that depend on variables which change.
//!
//! An array keeps the bounds that it has on entry to its unit. What loops over its elements
//! later must not see other ones, so the variables that they depend on are kept.

use super::Stager;
use crate::effects::Assigned;
use crate::ir::{
    Arg, Attributes, Class, Dim, Expr, Name, Place, Program, Stmt, StmtKind, SymId, Symbol, Unit,
};
use crate::lower::calls::has_ad_blocks;
use std::collections::{BTreeMap, HashMap, HashSet};

/// For units with AD blocks, the variables that bounds of arrays depend on and that the unit
/// may change, directly or by calls.
pub(in crate::lower) fn changing(program: &Program) -> HashMap<Name, HashSet<SymId>> {
    let with_blocks = program.units.iter().filter(|u| has_ad_blocks(&u.body));
    let concerned: Vec<(&Unit, HashSet<SymId>)> = with_blocks
        .map(|u| (u, bounds(u)))
        .filter(|(_, bounds)| !bounds.is_empty())
        .collect();
    if concerned.is_empty() {
        return HashMap::new();
    }
    let assigned = Assigned::of(program);
    concerned
        .into_iter()
        .map(|(unit, mut bounds)| {
            let changed = assigned.in_unit(unit);
            // Callees may change COMMON variables.
            bounds.retain(|s| {
                changed.contains(s) || matches!(unit.symbols[*s].place, Place::Common(_))
            });
            (unit.name.clone(), bounds)
        })
        .collect()
}

/// The variables that the bounds of an array depend on.
pub(in crate::lower) fn bound_variables(s: &Symbol) -> Vec<SymId> {
    let mut found = Vec::new();
    for e in s.dims.iter().flat_map(|d| d.lower.iter().chain(&d.upper)) {
        e.for_each_symbol(&mut |s| found.push(s));
    }
    found
}

/// A new local variable that keeps what `s` is when the unit is entered.
pub(in crate::lower) fn value_on_entry(unit: &mut Unit, s: SymId, taken: &HashSet<Name>) -> SymId {
    let of = unit.symbols[s].clone();
    let wanted = format!("{}_B", of.name);
    let name = unit.symbols.unused(&wanted, &|n| taken.contains(n));
    let kept = unit.symbols.add(Symbol {
        name,
        place: Place::Local,
        saved: false,
        init: None,
        attributes: Attributes::default(),
        typed: false,
        ..of
    });
    unit.declare(kept);
    kept
}

/// Adds the statements that keep bounds to the statements of a unit: at the beginning, and
/// behind each ENTRY.
pub(in crate::lower) fn keep_bounds(
    unit: &Unit,
    kept: &BTreeMap<SymId, SymId>,
    body: Vec<Stmt>,
) -> Vec<Stmt> {
    if kept.is_empty() {
        return body;
    }
    let keep = |args: &[Arg]| -> Vec<Stmt> {
        let there = |s: SymId| args.iter().any(|a| a.sym() == Some(s));
        let kept = kept
            .iter()
            .filter(|(of, _)| unit.symbols[**of].place != Place::Dummy || there(**of));
        kept.map(|(of, copy)| {
            let span = unit.symbols[*of].span;
            Stmt::assign(Expr::var(*copy, span), Expr::var(*of, span), span)
        })
        .collect()
    };
    let mut out = keep(&unit.args);
    for s in body {
        let entry = match &s.kind {
            StmtKind::Entry(e) => keep(&e.args),
            _ => Vec::new(),
        };
        out.push(s);
        out.extend(entry);
    }
    out
}

/// The variables that bounds depend on.
fn bounds(unit: &Unit) -> HashSet<SymId> {
    let mut found = HashSet::new();
    for (_, s) in unit.symbols.iter() {
        for e in s.dims.iter().flat_map(|d| d.lower.iter().chain(&d.upper)) {
            e.for_each_symbol(&mut |s| {
                if unit.symbols[s].class == Class::Variable {
                    found.insert(s);
                }
            });
        }
    }
    found
}

impl Stager<'_> {
    /// The bounds of an array, as they are since the unit was entered.
    pub(super) fn dims(&mut self, s: SymId) -> Vec<Dim> {
        let mut dims = self.unit.symbols[s].dims.clone();
        for e in dims
            .iter_mut()
            .flat_map(|d| d.lower.iter_mut().chain(&mut d.upper))
        {
            e.for_each_symbol_mut(&mut |s| {
                if self.changing.contains(s) {
                    *s = self.value_on_entry(*s);
                }
            });
        }
        dims
    }

    /// The variable that keeps what `s` is when the unit is entered.
    fn value_on_entry(&mut self, s: SymId) -> SymId {
        if let Some(kept) = self.kept.get(&s) {
            return *kept;
        }
        let kept = value_on_entry(self.unit, s, self.taken);
        self.kept.insert(s, kept);
        kept
    }

    /// Adds the statements that keep bounds to the statements of the unit: at the beginning,
    /// and behind each ENTRY.
    pub(super) fn keep_bounds(&self, body: Vec<Stmt>) -> Vec<Stmt> {
        keep_bounds(self.unit, &self.kept, body)
    }
}
