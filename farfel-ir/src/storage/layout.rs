//! COMMON blocks across program units.

use super::constant::Constants;
use super::unit::{Member, UnitStorage};
use crate::ir::{Name, Program, SymId, Type, Unit};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// A unit in a [`StorageLayout`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UnitId(pub u32);

/// The storage layout of a whole program.
#[derive(Debug, Clone, Default)]
pub struct StorageLayout {
    units: Vec<(Name, UnitStorage)>,
    by_name: HashMap<Name, UnitId>,
    blocks: BTreeMap<Name, CommonBlock>,
    /// The index of each shape in its block's list of shapes.
    shapes: HashMap<(Name, Vec<BlockMember>), usize>,
}

/// A COMMON block as all units see it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommonBlock {
    /// The ways in which units divide it, in the order of their first units.
    pub layouts: Vec<BlockLayout>,
    /// The size of the longest shape in bytes.
    pub size: i64,
}

/// One way to divide a COMMON block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockLayout {
    /// The variables, ordered by their first byte, including those that EQUIVALENCE puts there.
    pub members: Vec<BlockMember>,
    /// The size in bytes.
    pub size: i64,
    /// The units that use it, in the order of the program.
    pub units: Vec<UnitId>,
}

/// A variable of a [`BlockLayout`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BlockMember {
    /// Its name.
    pub name: Name,
    /// Its type.
    pub ty: Option<Type>,
    /// Its first byte, from the start of the block.
    pub start: i64,
    /// Its size in bytes.
    pub size: i64,
    /// Whether the COMMON statement names it; otherwise EQUIVALENCE puts it there.
    pub named: bool,
}

/// A variable that shares storage with the queried one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlap {
    /// The unit of the variable.
    pub unit: UnitId,
    /// The variable.
    pub sym: SymId,
    /// The shared bytes, counted from the start of the queried variable.
    pub ours: Range<i64>,
    /// The first shared byte, counted from the start of this variable.
    pub theirs: i64,
}

impl StorageLayout {
    /// Computes the storage layout of a resolved program.
    pub fn of(program: &Program) -> Self {
        Self::with_real(program, 4)
    }

    /// Like [`Self::of`], with a default REAL of `bytes` bytes.
    pub fn with_real(program: &Program, bytes: u8) -> Self {
        let mut layout = StorageLayout::default();
        for unit in &program.units {
            layout.add_all(&Constants::of(unit).with_real(bytes));
        }
        layout
    }

    fn add_all(&mut self, constants: &Constants) {
        self.add(constants, UnitStorage::build(constants).0);
        for n in &constants.unit.nested {
            self.add_all(&constants.nested(n));
        }
    }

    /// Adds a unit. A unit has to be added before those nested in it.
    pub(super) fn add(&mut self, constants: &Constants, storage: UnitStorage) -> UnitId {
        let unit = constants.unit;
        let id = UnitId(self.units.len() as u32);
        for area in storage.areas() {
            let Some(name) = &area.block else { continue };
            let parts: Vec<BlockMember> = area.members.iter().map(|m| part(unit, m)).collect();
            let block = self.blocks.entry(name.clone()).or_default();
            block.size = block.size.max(area.size);
            let key = (name.clone(), parts);
            match self
                .shapes
                .get(&key)
                .and_then(|i| block.layouts.get_mut(*i))
            {
                Some(shape) => shape.units.push(id),
                None => {
                    block.layouts.push(BlockLayout {
                        members: key.1.clone(),
                        size: area.size,
                        units: vec![id],
                    });
                    self.shapes.insert(key, block.layouts.len() - 1);
                }
            }
        }
        self.units.push((unit.name.clone(), storage));
        // Nested units may have the same names as others.
        self.by_name.entry(unit.name.clone()).or_insert(id);
        id
    }

    /// Returns the unit with this name, or the first of several.
    pub fn find(&self, name: &str) -> Option<UnitId> {
        self.by_name.get(name).copied()
    }

    /// Returns the name of a unit.
    pub fn name(&self, unit: UnitId) -> &str {
        self.units.get(unit.0 as usize).map_or("", |(name, _)| name)
    }

    /// All units, each before those nested in it.
    pub fn units(&self) -> impl Iterator<Item = (UnitId, &Name, &UnitStorage)> {
        let numbered = self.units.iter().enumerate();
        numbered.map(|(i, (name, storage))| (UnitId(i as u32), name, storage))
    }

    /// Returns the storage of one unit.
    pub fn unit(&self, unit: UnitId) -> Option<&UnitStorage> {
        self.units.get(unit.0 as usize).map(|(_, storage)| storage)
    }

    /// All COMMON blocks by name; the name of blank COMMON is empty.
    pub fn blocks(&self) -> &BTreeMap<Name, CommonBlock> {
        &self.blocks
    }

    /// Returns all variables in all units that share storage with the given one: first those of its
    /// own unit, then the others in the order of the program.
    pub fn overlaps(&self, unit: UnitId, sym: SymId) -> Vec<Overlap> {
        let mut found = Vec::new();
        let Some((storage, spot)) = self
            .unit(unit)
            .and_then(|storage| Some((storage, storage.range(sym)?)))
        else {
            return found;
        };
        let mut add = |unit: UnitId, m: &Member| {
            let from = spot.start.max(m.start);
            let to = spot.end.min(m.start.saturating_add(m.size));
            if from < to {
                found.push(Overlap {
                    unit,
                    sym: m.sym,
                    ours: from.saturating_sub(spot.start)..to.saturating_sub(spot.start),
                    theirs: from.saturating_sub(m.start),
                });
            }
        };
        let area = &storage.areas()[spot.area];
        for m in area.members.iter().filter(|m| m.sym != sym) {
            add(unit, m);
        }
        let block = area.block.as_ref().and_then(|name| self.blocks.get(name));
        let mut others: Vec<UnitId> = block
            .iter()
            .flat_map(|b| &b.layouts)
            .flat_map(|s| s.units.iter().copied())
            .filter(|u| *u != unit)
            .collect();
        others.sort_unstable();
        for other in others {
            let area = self
                .unit(other)
                .and_then(|s| s.block(area.block.as_deref()?));
            for m in area.iter().flat_map(|a| &a.members) {
                add(other, m);
            }
        }
        found
    }

    /// Whether two variables occupy exactly the same bytes. Each is given with its unit.
    pub fn same_storage(&self, a: (UnitId, SymId), b: (UnitId, SymId)) -> bool {
        let place = |(unit, sym)| {
            let storage = self.unit(unit)?;
            let spot = storage.range(sym)?;
            let block = storage.areas()[spot.area].block.as_ref();
            // Outside of COMMON, areas of different units are disjoint.
            let area = block.ok_or((unit, spot.area));
            Some((area, spot.start, spot.end))
        };
        a == b || place(a).is_some_and(|p| place(b) == Some(p))
    }
}

fn part(unit: &Unit, m: &Member) -> BlockMember {
    let s = &unit.symbols[m.sym];
    BlockMember {
        name: s.name.clone(),
        ty: s.ty,
        start: m.start,
        size: m.size,
        named: m.named,
    }
}
