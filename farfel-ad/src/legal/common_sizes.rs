//! COMMON blocks that units declare with different sizes.
//!
//! The derivatives of a block that units divide differently are in a parallel block, which some
//! unit sets to zero as a whole. Its values are also saved as a whole, whichever part of it a call
//! changes. So every unit has to declare the complete block: additional members, which are not
//! used, are appended to shorter declarations. They have the types that they have in the longest
//! declaration, because compilers assume that storage is not read with another type than it was
//! written with.

use farfel_lang::Span;
use farfel_lang::ir::{
    Dim, Entity, Expr, Name, Program, SpecKind, StorageClass, SymId, Symbol, Type, Unit,
    unused_name,
};
use farfel_lang::storage::constant::{Constants, bounds};
use farfel_lang::storage::{Area, UnitStorage};
use std::collections::HashMap;

/// Whether a unit declares less of a block than another one.
pub(crate) fn differ(program: &Program) -> bool {
    let largest = largest(program);
    program.units.iter().any(|unit| {
        let storage = UnitStorage::of(unit);
        storage.areas().iter().any(|area| {
            let of = area.block.as_ref().and_then(|b| largest.get(b));
            of.is_some_and(|of| missing(area, of.size).is_some())
        })
    })
}

/// The longest declaration of a block.
struct Largest {
    size: i64,
    /// Its members in order, if another unit can declare them.
    members: Option<Vec<Declared>>,
}

/// A member of a block.
#[derive(Debug, Clone)]
pub(super) struct Declared {
    /// Its first byte.
    pub start: i64,
    /// Its size in bytes.
    pub size: i64,
    /// The size of an element in bytes.
    pub element: i64,
    /// The variable of the unit.
    pub sym: SymId,
    /// The variable as another unit can declare it.
    pub symbol: Symbol,
}

impl Declared {
    /// Returns the byte after it.
    pub fn end(&self) -> i64 {
        self.start.saturating_add(self.size)
    }

    /// Returns the part of it between two bytes; `None` if one of them is inside an element.
    pub fn part(&self, from: i64, to: i64) -> Option<Self> {
        let (start, end) = (self.start.max(from), self.end().min(to));
        Some(Declared {
            start,
            size: end.checked_sub(start)?,
            symbol: self.between(start, end)?,
            ..*self
        })
    }

    fn between(&self, from: i64, to: i64) -> Option<Symbol> {
        if (from, to) == (self.start, self.end()) {
            return Some(self.symbol.clone());
        }
        let bytes = to.checked_sub(from)?;
        let number = |n| Some(Expr::int(n, Span::NONE));
        let plain = Symbol::variable(self.symbol.name.clone(), self.symbol.ty?, Span::NONE);
        if self.symbol.ty == Some(Type::Character) {
            let length = number(bytes);
            return Some(Symbol { length, ..plain });
        }
        let upper = number(bytes.checked_div(self.element)?);
        let dims = vec![Dim { lower: None, upper }];
        let whole = (from - self.start) % self.element == 0 && bytes % self.element == 0;
        whole.then_some(Symbol { dims, ..plain })
    }
}

fn largest(program: &Program) -> HashMap<Name, Largest> {
    let mut found: HashMap<Name, Largest> = HashMap::new();
    for unit in &program.units {
        for area in UnitStorage::of(unit).areas() {
            let Some(block) = &area.block else { continue };
            if found.get(block).is_none_or(|of| of.size < area.size) {
                let of = Largest {
                    size: area.size,
                    members: members(unit, area),
                };
                found.insert(block.clone(), of);
            }
        }
    }
    found
}

/// Returns the members that COMMON names, as another unit can declare them.
pub(super) fn members(unit: &Unit, area: &Area) -> Option<Vec<Declared>> {
    let constants = Constants::of(unit);
    let named = area.members.iter().filter(|m| m.named);
    let symbols = named.map(|m| {
        let of = &unit.symbols[m.sym];
        let element = constants.element_size(m.sym)?;
        let text = of.ty == Some(Type::Character);
        let length = text.then(|| Expr::int(element, Span::NONE));
        let symbol = Symbol {
            length,
            dims: bounds(unit, &of.dims)?,
            ..Symbol::variable(of.name.clone(), of.ty?, Span::NONE)
        };
        Some(Declared {
            start: m.start,
            size: m.size,
            element,
            sym: m.sym,
            symbol,
        })
    });
    symbols.collect()
}

/// Appends the missing members. Blocks whose size is not constant are left unchanged.
pub(crate) fn with_equal_blocks(program: &mut Program) {
    let largest = largest(program);
    for unit in &mut program.units {
        let storage = UnitStorage::of(unit);
        for area in storage.areas() {
            let Some(block) = &area.block else { continue };
            let Some(of) = largest.get(block) else {
                continue;
            };
            let Some((from, bytes)) = missing(area, of.size) else {
                continue;
            };
            let rest = of.members.as_ref().and_then(|all| {
                let behind = all.iter().filter(|m| m.end() > from);
                let rest = behind.map(|m| Some(m.part(from, i64::MAX)?.symbol));
                rest.collect::<Option<Vec<_>>>()
            });
            let rest = rest.unwrap_or_else(|| vec![unknown(from, bytes)]);
            rest.into_iter().for_each(|s| add(unit, block, s));
        }
    }
}

/// Returns where the named members end before the end of the block, and how many bytes are missing.
fn missing(area: &Area, size: i64) -> Option<(i64, i64)> {
    if !area.exact {
        return None;
    }
    let named = area.members.iter().filter(|m| m.named);
    let end = named.map(|m| m.start.saturating_add(m.size)).max()?;
    let bytes = size.checked_sub(end).filter(|bytes| *bytes > 0)?;
    Some((end, bytes))
}

/// A member for bytes that cannot be declared as elsewhere: INTEGERs where possible, because
/// CHARACTER would prevent derivatives.
pub(super) fn unknown(from: i64, bytes: i64) -> Symbol {
    let span = Span::NONE;
    let of = |ty| Symbol::variable("LEFT".into(), ty, span);
    match from % 4 == 0 && bytes % 4 == 0 {
        true => Symbol {
            dims: vec![Dim {
                lower: None,
                upper: Some(Expr::int(bytes / 4, span)),
            }],
            ..of(Type::INTEGER)
        },
        false => Symbol {
            length: Some(Expr::int(bytes, span)),
            ..of(Type::Character)
        },
    }
}

/// Adds a symbol for a member of a block that a unit declares.
pub(super) fn symbol(unit: &mut Unit, block: &Name, member: Symbol) -> Entity {
    let name = unused_name(&member.name, &|n| {
        n == unit.name || unit.symbols.find(n).is_some() || n == block.as_str()
    });
    let dims = member.is_array();
    let sym = unit.symbols.add(Symbol {
        name,
        typed: true,
        storage_class: StorageClass::Common(block.clone()),
        ..member
    });
    Entity { sym, dims }
}

fn add(unit: &mut Unit, block: &Name, member: Symbol) {
    let new = symbol(unit, block, member);
    let last = unit.specs.iter_mut().rev().find_map(|s| match &mut s.kind {
        SpecKind::Common(list) => list.iter_mut().rev().find(|(name, _)| name == block),
        _ => None,
    });
    if let Some((_, members)) = last {
        members.push(new);
        // Declares its type, unless the first letter implies it.
        unit.declare(new.sym);
    }
}
