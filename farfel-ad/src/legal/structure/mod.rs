//! Programs without jumps.
//!
//! Reverse mode executes a program backwards, and therefore wants to know where control came
//! from. [`without_jumps`] rewrites the units below a head so that nothing jumps: they consist of
//! assignments, calls and the like, IF, SELECT CASE, counted loops and DO WHILE, all of which
//! are entered at their beginning and left at their end. What such a unit computes is the
//! same, in the same order; no condition is evaluated more than once.
//!
//! A counted loop that nothing jumps out of stays one, and so does every other statement
//! that no jump crosses. The rest is taken to pieces and put together anew:
//!
//! | module | what |
//! |---|---|
//! | `target` | where jumps lead |
//! | `tree` | statements, with that of each jump |
//! | `entries` | a subprogram for each ENTRY point |
//! | `alternate` | copies of subprograms with alternate returns |
//! | `asks` | statements that jump by what they find out |
//! | `graph` | what stays as it is; basic blocks of everything else |
//! | `shape` | loops and branches of basic blocks |
//! | `emit` | conditions and new variables |

mod alternate;
mod asks;
mod emit;
mod entries;
mod graph;
mod shape;
mod target;
mod tree;

pub(crate) use alternate::{has_alternate_returns, without_alternate_returns};
use emit::Names;
pub use entries::kept_by_divided as kept_by_divided_units;
pub(crate) use entries::{are_called as calls_entries, has_entries, split as split_entries};
use farfel_lang::callgraph::Below;
use farfel_lang::diagnostic::Diagnostic;
use farfel_lang::ir::{Attribute, Name, Place, Program, SaveItem, SpecKind, SymId, Unit};
use farfel_lang::storage::UnitStorage;
use graph::Maker;
use std::collections::HashSet;
use target::{Target, unsupported};
use tree::Tree;

/// Is there a jump below some heads?
pub(crate) fn has_jumps(program: &Program, heads: &[&str]) -> bool {
    let below = Below::of(program, heads.iter().copied());
    below.units.iter().any(|u| !graph::is_structured(u))
}

/// Writes the units below some heads without jumps.
pub(crate) fn without_jumps(program: &mut Program, heads: &[&str], errors: &mut Vec<Diagnostic>) {
    let taken = taken_names(program);
    let below = Below::of(program, heads.iter().copied());
    let reached: HashSet<Name> = below.units.iter().map(|u| u.name.clone()).collect();
    for unit in &mut program.units {
        if reached.contains(&unit.name) && !graph::is_structured(unit) {
            structure_unit(unit, &taken, errors);
        }
    }
}

/// The names of units and COMMON blocks.
pub(crate) fn taken_names(program: &Program) -> HashSet<Name> {
    let mut taken = HashSet::new();
    for u in &program.units {
        taken.insert(u.name.clone());
        for (_, s) in u.symbols.iter() {
            if let Place::Common(block) = &s.place {
                taken.insert(block.clone());
            }
        }
    }
    taken
}

/// Rewrites a unit.
fn structure_unit(unit: &mut Unit, taken: &HashSet<Name>, errors: &mut Vec<Diagnostic>) {
    let body = std::mem::take(&mut unit.body);
    let mut found = Vec::new();
    let mut names = Names::of(unit, taken);
    let tree = Tree::of(body, &mut names, &mut found);
    if found.is_empty() {
        let formats = tree.formats;
        let mut maker = Maker {
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

/// Declares new variables, which nobody may keep from call to call where units call
/// themselves.
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

/// Is there a SAVE without a list?
pub(crate) fn has_open_saves(program: &Program) -> bool {
    let open = |s: &farfel_lang::ir::Spec| matches!(&s.kind, SpecKind::Save(l) if l.is_empty());
    program.units.iter().any(|u| u.specs.iter().any(open))
}

/// Names what SAVE without a list means: what is added later is not kept from call to call.
pub(crate) fn name_all_saved(program: &mut Program) {
    for u in &mut program.units {
        name_saved(u, &[]);
    }
}

/// Writes SAVE without a list as one that names the variables of a unit, but for `new` ones: what
/// is added later is not kept from call to call.
pub(crate) fn name_saved(unit: &mut Unit, new: &[SymId]) {
    let everything = unit
        .specs
        .iter()
        .position(|s| matches!(&s.kind, SpecKind::Save(l) if l.is_empty()));
    if let Some(at) = everything {
        let storage = UnitStorage::of(unit);
        let saved = unit.symbols.iter().filter(|(id, s)| {
            s.is_variable()
                && s.place == Place::Local
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
