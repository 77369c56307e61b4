//! COMMON blocks that program units declare with different sizes.
//!
//! Derivatives of a block that units divide differently lie in a block beside it, which somebody
//! sets to zero as a whole. So all units must have all of it: those that declare less get a last
//! member, which nobody uses.

use farfel_lang::Span;
use farfel_lang::ir::{
    Dim, Entity, Expr, Name, Place, Program, SpecKind, SymId, Symbol, Type, Unit, unused_name,
};
use farfel_lang::storage::{Area, UnitStorage};
use std::collections::HashMap;

/// Does a unit declare less of a block than another one?
pub(crate) fn differ(program: &Program) -> bool {
    let sizes = sizes(program);
    program.units.iter().any(|unit| {
        let storage = UnitStorage::of(unit);
        storage.areas().iter().any(|area| {
            let size = area.block.as_ref().and_then(|b| sizes.get(b));
            size.is_some_and(|size| missing(unit, area, *size).is_some())
        })
    })
}

fn sizes(program: &Program) -> HashMap<Name, i64> {
    let mut sizes: HashMap<Name, i64> = HashMap::new();
    for unit in &program.units {
        for area in UnitStorage::of(unit).areas() {
            if let Some(block) = &area.block {
                let size = sizes.entry(block.clone()).or_default();
                *size = area.size.max(*size);
            }
        }
    }
    sizes
}

/// Adds what is missing. Blocks with sizes that are no constants, or whose parts are not those of
/// numbers, stay.
pub(crate) fn with_equal_blocks(program: &mut Program) {
    let sizes = sizes(program);
    for unit in &mut program.units {
        let storage = UnitStorage::of(unit);
        for area in storage.areas() {
            let Some(block) = &area.block else { continue };
            let Some(size) = sizes.get(block) else {
                continue;
            };
            if let Some(words) = missing(unit, area, *size) {
                add(unit, block, words);
            }
        }
    }
}

/// How many words the members that COMMON names leave out at the end of a block.
fn missing(unit: &Unit, area: &Area, size: i64) -> Option<i64> {
    let text = |s: SymId| unit.symbols[s].ty == Some(Type::Character);
    if !area.exact || area.members.iter().any(|m| text(m.sym)) {
        return None;
    }
    let named = area.members.iter().filter(|m| m.named);
    let end = named.map(|m| m.start.saturating_add(m.size)).max()?;
    let bytes = size.checked_sub(end)?;
    (bytes > 0 && bytes % 4 == 0).then_some(bytes / 4)
}

fn add(unit: &mut Unit, block: &Name, words: i64) {
    let name = unused_name("LEFT", &|n| {
        n == unit.name || unit.symbols.find(n).is_some() || n == block.as_str()
    });
    let span = Span::NONE;
    let mut symbol = Symbol::variable(name, Type::INTEGER, span);
    symbol.typed = true;
    symbol.place = Place::Common(block.clone());
    symbol.dims = vec![Dim {
        lower: None,
        upper: Some(Expr::int(words, span)),
    }];
    let sym = unit.symbols.add(symbol);
    let last = unit.specs.iter_mut().rev().find_map(|s| match &mut s.kind {
        SpecKind::Common(list) => list.iter_mut().rev().find(|(name, _)| name == block),
        _ => None,
    });
    if let Some((_, members)) = last {
        members.push(Entity { sym, dims: true });
        // Its type, where the first letter does not tell.
        unit.declare(sym);
    }
}
