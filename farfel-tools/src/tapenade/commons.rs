//! COMMON blocks that callees use.
//!
//! The tool only saves, restores and zeroes what the calling unit declares: for a COMMON block that
//! only the callee declares, it issues a warning and generates incorrect code. So in the copy that
//! it reads, every unit declares the blocks of all its callees.

use super::units::called;
use farfel_lang::ir::{Entity, Expr, Name, SpecKind, StorageClass, Symbol, Unit};
use farfel_lang::storage::constant;
use std::collections::{BTreeMap, HashMap};

/// The variables of a block, with constant bounds.
type Block = Vec<Symbol>;

/// Declares in each of `units`, which have to come after their callees, the blocks of the units
/// that it calls.
pub(super) fn declare(units: &mut [Unit]) {
    let mut below: HashMap<Name, BTreeMap<Name, Block>> = HashMap::new();
    for unit in units {
        let mut blocks: BTreeMap<Name, Block> = BTreeMap::new();
        for name in called(unit) {
            for (block, members) in below.get(&name).into_iter().flatten() {
                blocks
                    .entry(block.clone())
                    .or_insert_with(|| members.clone());
            }
        }
        let own = own_blocks(unit);
        for (name, members) in &blocks {
            if !own.contains_key(name) {
                add(unit, name, members);
            }
        }
        for (name, members) in own {
            if let Some(members) = members {
                blocks.insert(name, members);
            }
        }
        below.insert(unit.name.clone(), blocks);
    }
}

/// Returns the blocks that a unit declares; `None` if a bound or length is not constant.
fn own_blocks(unit: &Unit) -> BTreeMap<Name, Option<Block>> {
    let mut found: BTreeMap<Name, Option<Block>> = BTreeMap::new();
    for spec in &unit.specs {
        let SpecKind::Common(blocks) = &spec.kind else {
            continue;
        };
        for (name, list) in blocks {
            let more: Option<Block> = list.iter().map(|e| plain(unit, e.sym)).collect();
            match (found.get_mut(name), more) {
                (Some(Some(members)), Some(more)) => members.extend(more),
                (Some(members), None) => *members = None,
                (Some(None), _) => {}
                (None, more) => {
                    found.insert(name.clone(), more);
                }
            }
        }
    }
    found
}

/// Returns a variable with constant bounds and length, which refer to no other symbol.
fn plain(unit: &Unit, sym: farfel_lang::ir::SymId) -> Option<Symbol> {
    let mut s = unit.symbols[sym].clone();
    let constant = |e: &Expr| constant::integer(unit, e).map(|n| Expr::int(n, e.span));
    s.dims = constant::bounds(unit, &s.dims)?;
    s.length = match &s.length {
        Some(e) => Some(constant(e)?),
        None => None,
    };
    Some(s)
}

/// Declares a block in a unit.
fn add(unit: &mut Unit, block: &Name, members: &[Symbol]) {
    let span = unit.span;
    let mut list = Vec::new();
    for m in members {
        let name = unit.symbols.unused(&m.name, &|_| false);
        let id = unit.symbols.add(Symbol {
            name,
            span,
            typed: true,
            storage_class: StorageClass::Common(block.clone()),
            ..m.clone()
        });
        unit.declare(id);
        list.push(Entity {
            sym: id,
            dims: false,
        });
    }
    unit.add_spec(SpecKind::Common(vec![(block.clone(), list)]), span);
}
