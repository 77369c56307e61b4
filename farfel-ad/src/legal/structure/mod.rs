//! Removes jumps from programs.
//!
//! Reverse mode executes a program backwards, and therefore needs to know where control came from.
//! [`without_jumps`] rewrites the units below a head so that there are no jumps: they consist of
//! assignments, calls and the like, IF, SELECT CASE, counted loops and DO WHILE, all of which are
//! entered at their beginning and left at their end. The rewritten unit computes the same values in
//! the same order; no condition is evaluated more than once.
//!
//! A counted loop without jumps out of it is left as it is, and so is every other statement that no
//! jump crosses. The rest is decomposed into basic blocks and reassembled:
//!
//! | module | contents |
//! |---|---|
//! | `target` | targets of jumps |
//! | `tree` | statements, with the target of each jump |
//! | `entries` | a subprogram for each ENTRY point |
//! | `alternate` | copies of subprograms with alternate returns |
//! | `asks` | statements whose outcome determines a jump |
//! | `graph` | which parts are left as they are; basic blocks of everything else |
//! | `shape` | loops and branches from basic blocks |
//! | `emit` | conditions and new variables |

mod alternate;
mod emit;
mod entries;
mod graph;
mod io_branches;
mod shape;
mod target;
mod tree;

pub(crate) use alternate::{has_alternate_returns, without_alternate_returns};
use emit::Names;
pub(crate) use emit::{calls, jumps, negation};
pub use entries::kept_by_divided as kept_by_divided_units;
pub(crate) use entries::{are_called as calls_entries, has_entries, split as split_entries};
use farfel_lang::callgraph::ReachableUnits;
use farfel_lang::diagnostic::Diagnostic;
use farfel_lang::ir::{Attribute, Name, Program, SaveItem, SpecKind, StorageClass, SymId, Unit};
use farfel_lang::storage::UnitStorage;
use graph::GraphBuilder;
use std::collections::HashSet;
use target::{Target, unsupported};
use tree::Tree;
pub(crate) use tree::is_harmless;

/// Whether there is a jump below some heads.
pub(crate) fn has_jumps(program: &Program, heads: &[&str]) -> bool {
    let below = ReachableUnits::of(program, heads.iter().copied());
    below.units.iter().any(|u| !graph::is_structured(u))
}

/// Rewrites the units below some heads without jumps.
pub(crate) fn without_jumps(program: &mut Program, heads: &[&str], errors: &mut Vec<Diagnostic>) {
    let taken = taken_names(program);
    let below = ReachableUnits::of(program, heads.iter().copied());
    let reached: HashSet<Name> = below.units.iter().map(|u| u.name.clone()).collect();
    for unit in &mut program.units {
        if reached.contains(&unit.name) && !graph::is_structured(unit) {
            structure_unit(unit, &taken, errors);
        }
    }
}

/// Returns the names of all units and COMMON blocks.
pub(crate) fn taken_names(program: &Program) -> HashSet<Name> {
    let mut taken = HashSet::new();
    for u in &program.units {
        taken.insert(u.name.clone());
        for (_, s) in u.symbols.iter() {
            if let StorageClass::Common(block) = &s.storage_class {
                taken.insert(block.clone());
            }
        }
    }
    taken
}

/// Rewrites a unit without jumps.
fn structure_unit(unit: &mut Unit, taken: &HashSet<Name>, errors: &mut Vec<Diagnostic>) {
    let body = std::mem::take(&mut unit.body);
    let mut found = Vec::new();
    let mut names = Names::of(unit, taken);
    let tree = Tree::of(body, &mut names, &mut found);
    if found.is_empty() {
        let formats = tree.formats;
        let mut maker = GraphBuilder {
            jumps: &tree.jumps,
            names: &mut names,
            errors: &mut found,
        };
        let mut body = maker.body(tree.nodes, &[Target::Leave]);
        body.extend(formats);
        let new = std::mem::take(&mut names.new);
        if names.too_deep {
            let what = format!("{} has too many jumps over each other", names.unit.name);
            found.push(unsupported(names.unit.name_span, what));
        }
        unit.body = body;
        declare(unit, &new);
    }
    errors.append(&mut found);
}

/// Declares new variables, which must not be saved from call to call in recursive units.
fn declare(unit: &mut Unit, new: &[SymId]) {
    if new.is_empty() {
        return;
    }
    if unit.recursive {
        name_saved(unit, new);
    }
    for id in new {
        unit.declare(*id);
    }
}

/// Whether there is a SAVE without a list.
pub(crate) fn has_open_saves(program: &Program) -> bool {
    let open = |s: &farfel_lang::ir::Spec| matches!(&s.kind, SpecKind::Save(l) if l.is_empty());
    program.units.iter().any(|u| u.specs.iter().any(open))
}

/// Replaces SAVE without a list by SAVE with explicit names, so that variables added later are not
/// saved.
pub(crate) fn name_all_saved(program: &mut Program) {
    for u in &mut program.units {
        name_saved(u, &[]);
    }
}

/// Replaces SAVE without a list by one that names the variables of a unit, except `new` ones, so
/// that variables added later are not saved.
pub(crate) fn name_saved(unit: &mut Unit, new: &[SymId]) {
    let everything = unit
        .specs
        .iter()
        .position(|s| matches!(&s.kind, SpecKind::Save(l) if l.is_empty()));
    if let Some(at) = everything {
        let storage = UnitStorage::of(unit);
        let saved = unit.symbols.iter().filter(|(id, s)| {
            s.is_variable()
                && s.storage_class == StorageClass::Local
                && !storage.is_in_common(*id)
                && !s.has(Attribute::Automatic)
                && !new.contains(id)
                && s.dims.iter().all(|d| {
                    let mut bounds = d.lower.iter().chain(&d.upper);
                    bounds.all(|e| {
                        let mut fixed = true;
                        e.for_each_symbol(&mut |s| fixed &= !unit.symbols[s].is_variable());
                        fixed
                    })
                })
        });
        let saved: Vec<SaveItem> = saved.map(|(id, _)| SaveItem::Var(id)).collect();
        match saved.is_empty() {
            true => {
                unit.specs.remove(at);
            }
            false => unit.specs[at].kind = SpecKind::Save(saved),
        }
    }
}
