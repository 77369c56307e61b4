//! Shares the state of a subprogram between all its copies.
//!
//! A variable with SAVE or with an initial value keeps its value between calls. When a subprogram
//! is copied, for a closure or for its derivative, every copy would keep a value of its own. So its
//! saved variables are first moved to COMMON, each to a block of its own, and their initial values
//! to a BLOCK DATA unit. Those that share storage through EQUIVALENCE move together.

use super::compact::ChangedUnits;
use super::import::Import;
use super::naming::taken_names;
use crate::effects::Assigned;
use crate::ir::{
    Class, DataSet, Entity, Expr, ExprKind, Name, Program, SaveItem, Spec, SpecKind, StorageClass,
    SymId, Symbol, Unit, UnitKind, unused_name,
};
use crate::storage::{Area, Constants, UnitStorage};
use std::collections::{BTreeSet, HashSet};

/// Variables that move to COMMON: individually, or together with those to which EQUIVALENCE ties
/// them.
#[derive(Default)]
struct MovedVariables {
    alone: BTreeSet<SymId>,
    /// EQUIVALENCE classes; the first variable of each is at the start of the storage.
    classes: Vec<Vec<SymId>>,
}

impl MovedVariables {
    fn is_empty(&self) -> bool {
        self.alone.is_empty() && self.classes.is_empty()
    }

    fn all(&self) -> BTreeSet<SymId> {
        let tied = self.classes.iter().flatten();
        self.alone.iter().chain(tied).copied().collect()
    }
}

/// Moves the saved variables of the units that `which` selects, by index, to COMMON. Adds the names
/// of the units that it changes or adds to `changed`.
pub(super) fn share(program: &mut Program, which: &[bool], changed: &mut ChangedUnits) {
    let mut open: Vec<(usize, MovedVariables)> = Vec::new();
    for (i, unit) in program.units.iter().enumerate() {
        if which[i] && unit.kind != UnitKind::Program {
            let saved = saved(unit);
            if !saved.is_empty() {
                open.push((i, saved));
            }
        }
    }
    if open.is_empty() {
        return;
    }
    let mut taken = taken_names(program);
    let mut new = Vec::new();
    for (i, saved) in open {
        changed.insert(program.units[i].name.clone());
        new.extend(share_one(&mut program.units[i], &saved, "", &mut taken));
    }
    changed.extend(new.iter().map(|u| u.name.clone()));
    program.units.extend(new);
}

/// Whether a subprogram keeps values between calls that [`share`] moves.
pub(super) fn keeps_values(unit: &Unit) -> bool {
    unit.kind != UnitKind::Program && !saved(unit).is_empty()
}

/// Whether a subprogram changes any of these, so that a copy of it would have a state of its own.
pub(super) fn keeps_state(unit: &Unit, assigned: &Assigned) -> bool {
    if !keeps_values(unit) {
        return false;
    }
    let assigned = assigned.in_unit(unit);
    saved(unit).all().iter().any(|s| assigned.contains(s))
}

/// Moves the saved variables of a unit to COMMON. Returns the BLOCK DATA unit with the initial
/// values, if there are any.
pub(super) fn share_unit(unit: &mut Unit, taken: &mut HashSet<Name>) -> Option<Unit> {
    let saved = saved(unit);
    match saved.is_empty() || unit.kind == UnitKind::Program {
        true => None,
        false => share_one(unit, &saved, "", taken),
    }
}

/// Moves the EQUIVALENCE classes of these areas of a unit to COMMON, like [`share_unit`].
pub(super) fn share_classes(
    unit: &mut Unit,
    areas: &[&Area],
    taken: &mut HashSet<Name>,
) -> Option<Unit> {
    let moving = MovedVariables {
        alone: BTreeSet::new(),
        classes: areas.iter().map(|a| class(a)).collect(),
    };
    share_one(unit, &moving, "", taken)
}

/// Returns the program with the saved variables of some units moved to COMMON, and the names of the
/// new blocks, which end with `tag`. It shares no state with the original program.
pub fn with_own_state(
    program: &Program,
    which: &dyn Fn(&Unit) -> bool,
    tag: &str,
) -> (Program, HashSet<Name>) {
    let mut program = program.clone();
    let old = taken_names(&program);
    let mut taken = old.clone();
    let mut data = Vec::new();
    for unit in &mut program.units {
        let saved = saved(unit);
        if which(unit) && unit.kind != UnitKind::Program && !saved.is_empty() {
            data.extend(share_one(unit, &saved, tag, &mut taken));
        }
    }
    let is_data = |n: &Name| data.iter().any(|d| d.name == *n);
    let blocks = taken.difference(&old).filter(|n| !is_data(n));
    let blocks = blocks.cloned().collect();
    program.units.extend(data);
    (program, blocks)
}

/// Returns the variables of an EQUIVALENCE class. The first is the longest one at the start of the
/// storage.
fn class(area: &Area) -> Vec<SymId> {
    let mut members = area.members.clone();
    members.sort_by_key(|m| (m.start, -m.size));
    members.iter().map(|m| m.sym).collect()
}

/// Returns the local variables of a unit that keep their values.
fn saved(unit: &Unit) -> MovedVariables {
    let everything = unit
        .specs
        .iter()
        .any(|s| matches!(&s.kind, SpecKind::Save(l) if l.is_empty()));
    let is_saved = |s: &Symbol| {
        s.class == Class::Variable
            && s.storage_class == StorageClass::Local
            && (s.saved || everything)
    };
    let storage = UnitStorage::of(unit);
    let constants = Constants::of(unit);
    let alone = unit
        .symbols
        .iter()
        .filter(|(id, s)| {
            is_saved(s) && storage.range(*id).is_none() && constants.count(*id).is_some()
        })
        .map(|(id, _)| id)
        .collect();
    let classes = storage
        .areas()
        .iter()
        .filter(|a| a.block.is_none() && a.exact)
        .filter(|a| a.members.iter().any(|m| is_saved(&unit.symbols[m.sym])))
        .map(class)
        .collect();
    MovedVariables { alone, classes }
}

/// Moves variables to COMMON. Returns the BLOCK DATA unit with the initial values, if there are
/// any. The names of the blocks end with `tag`.
fn share_one(
    unit: &mut Unit,
    moving: &MovedVariables,
    tag: &str,
    taken: &mut HashSet<Name>,
) -> Option<Unit> {
    let saved = &moving.all();
    let data = take_data(unit, saved);
    let inits: Vec<(SymId, Expr)> = saved
        .iter()
        .filter_map(|id| Some((*id, *unit.symbols[*id].init.take()?)))
        .collect();
    for spec in &mut unit.specs {
        if let SpecKind::Save(items) = &mut spec.kind
            && !items.is_empty()
        {
            items.retain(|i| !matches!(i, SaveItem::Var(s) if saved.contains(s)));
            if items.is_empty() {
                spec.kind = SpecKind::Type(crate::ir::Type::REAL, Vec::new());
            }
        }
    }
    unit.specs
        .retain(|s| !matches!(&s.kind, SpecKind::Type(_, l) if l.is_empty()));
    for id in saved {
        unit.symbols[*id].saved = false;
    }
    let starts = moving.classes.iter().filter_map(|c| c.first());
    for id in moving.alone.iter().chain(starts) {
        let wanted = format!("{}_{}{tag}", unit.name, unit.symbols[*id].name);
        let block = unused_name(&wanted, &|n| taken.contains(n));
        taken.insert(block.clone());
        let s = &mut unit.symbols[*id];
        s.storage_class = StorageClass::Common(block.clone());
        let span = s.span;
        let members = vec![(
            block,
            vec![Entity {
                sym: *id,
                dims: false,
            }],
        )];
        unit.add_spec(SpecKind::Common(members), span);
    }
    if data.is_empty() && inits.is_empty() {
        return None;
    }
    let name = unused_name(&format!("{}_DATA{tag}", unit.name), &|n| taken.contains(n));
    taken.insert(name.clone());
    let mut block = Unit::new(UnitKind::BlockData, name, unit.span);
    block.sizes = unit.sizes;
    block.implicit = unit.implicit.clone();
    if !block.implicit.is_empty() {
        block.specs.push(Spec {
            kind: SpecKind::Implicit,
            span: unit.span,
        });
    }
    let mut import = Import::new(unit);
    let mut sets = Vec::new();
    for set in data {
        let targets = set
            .targets
            .into_iter()
            .map(|e| import.expr(&mut block, e))
            .collect();
        let values = set
            .values
            .into_iter()
            .map(|(n, v)| {
                (
                    n.map(|e| import.expr(&mut block, e)),
                    import.expr(&mut block, v),
                )
            })
            .collect();
        sets.push(DataSet { targets, values });
    }
    for (id, value) in inits {
        let value = import.expr(&mut block, value);
        let id = import.symbol(&mut block, id);
        block.undeclare(id);
        block.symbols[id].init = Some(Box::new(value));
        block.declare(id);
    }
    for group in tying(unit, moving) {
        let tied = group.into_iter().map(|e| import.expr(&mut block, e));
        let tied = SpecKind::Equivalence(vec![tied.collect()]);
        block.add_spec(tied, unit.span);
    }
    // Loop variables of the DATA statements are names of their own.
    let ids: Vec<SymId> = block.symbols.ids().collect();
    for id in ids {
        let s = &mut block.symbols[id];
        if matches!(s.storage_class, StorageClass::Dummy | StorageClass::Result) {
            s.storage_class = StorageClass::Local;
        }
    }
    if !sets.is_empty() {
        block.specs.push(Spec {
            kind: SpecKind::Data(sets),
            span: unit.span,
        });
    }
    Some(block)
}

/// Returns the groups of EQUIVALENCE statements that hold the classes together.
fn tying(unit: &Unit, moving: &MovedVariables) -> Vec<Vec<Expr>> {
    let ties = |group: &&Vec<Expr>| {
        let mut bases = group.iter().filter_map(Expr::base);
        bases.any(|s| moving.classes.iter().any(|c| c.contains(&s)))
    };
    let groups = unit.specs.iter().filter_map(|s| match &s.kind {
        SpecKind::Equivalence(groups) => Some(groups),
        _ => None,
    });
    groups.flatten().filter(ties).cloned().collect()
}

/// Takes the initial values of these variables out of the DATA statements.
fn take_data(unit: &mut Unit, saved: &BTreeSet<SymId>) -> Vec<DataSet> {
    let mut taken = Vec::new();
    for spec in &mut unit.specs {
        if let SpecKind::Data(sets) = &mut spec.kind {
            let all = std::mem::take(sets);
            let (ours, others) = all.into_iter().partition(|set: &DataSet| {
                set.targets.iter().all(|t| {
                    let mut inside = true;
                    let mut bases = |e: &Expr| {
                        if let Some(b) = e.base() {
                            inside &= saved.contains(&b);
                        }
                    };
                    match &t.kind {
                        ExprKind::ImpliedDo(d) => implied_targets(d, &mut bases),
                        _ => bases(t),
                    }
                    inside
                })
            });
            taken.extend::<Vec<DataSet>>(ours);
            *sets = others;
        }
    }
    unit.specs
        .retain(|s| !matches!(&s.kind, SpecKind::Data(sets) if sets.is_empty()));
    taken
}

fn implied_targets(d: &crate::ir::ImpliedDo<Expr>, f: &mut dyn FnMut(&Expr)) {
    for item in &d.items {
        match &item.kind {
            ExprKind::ImpliedDo(inner) => implied_targets(inner, f),
            _ => f(item),
        }
    }
}
