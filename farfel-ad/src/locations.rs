//! Variables as locations, in one unit and across units.
//!
//! Inside one unit, a *location* represents a variable or a whole array: location `i` is symbol
//! `i`, unless that symbol is in COMMON; then it is one of the program's COMMON variables, which
//! follow the symbols. Variables that EQUIVALENCE makes overlap are one location, and so is a
//! COMMON block that units divide differently, or in which EQUIVALENCE puts one variable over
//! several.
//!
//! To its callers, a unit has *slots*: its arguments in order, its result, and all COMMON variables
//! of the program.

use crate::calls::read_targets;
use crate::numbers::NumberLayout;
pub use crate::numbers::differentiable;
use farfel_lang::effects::Locations;
use farfel_lang::ir::{Name, SaveItem, SpecKind, StorageClass, SymId, Type, Unit};
use farfel_lang::storage::constant::{Constants, extents};
use farfel_lang::storage::{Area, Member, UnitStorage};
use fixedbitset::FixedBitSet;
use std::collections::{BTreeMap, HashMap, HashSet};

/// A set of locations or of slots.
pub type Set = FixedBitSet;

/// The context in which a unit's derivative is needed: which inputs have a derivative, and which
/// outputs' derivatives are used. Both are sets of slots.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Context {
    /// The inputs whose derivatives are read.
    pub inputs: Set,
    /// The outputs whose derivatives are computed.
    pub outputs: Set,
}

impl Context {
    /// Whether the variable of a slot is accompanied by its derivative.
    pub fn active(&self, slot: usize) -> bool {
        self.inputs.contains(slot) || self.outputs.contains(slot)
    }
}

/// A variable in a COMMON block, as declared by the first unit that has the block.
#[derive(Debug, Clone)]
pub struct CommonVar {
    /// The block; the name is empty for blank COMMON.
    pub block: Name,
    /// Its position in the block, from 0.
    pub position: usize,
    /// The unit that declares it.
    pub unit: Name,
    /// Its symbol there.
    pub sym: SymId,
    /// Whether it is an array, or the location of a whole block that units divide differently.
    pub array: bool,
    /// Whether it can have a derivative.
    pub differentiable: bool,
}

/// The COMMON variables of a program.
#[derive(Debug, Default)]
pub struct Commons {
    /// All variables, grouped by block.
    pub vars: Vec<CommonVar>,
    by_place: HashMap<(Name, usize), usize>,
    /// The blocks that units divide into different variables.
    pub irregular: HashSet<Name>,
    /// The blocks that no COMMON statement covers completely, or whose size differs between units:
    /// the parallel block of derivatives could not be set to zero as a whole.
    pub unfit: HashSet<Name>,
    /// The numbers that units see in the irregular blocks.
    pub numbers: HashMap<Name, NumberLayout>,
}

/// Returns the members of a unit's COMMON blocks, in order.
pub fn common_members(unit: &Unit) -> BTreeMap<Name, Vec<SymId>> {
    let mut blocks: BTreeMap<Name, Vec<SymId>> = BTreeMap::new();
    for spec in &unit.specs {
        if let SpecKind::Common(list) = &spec.kind {
            for (name, members) in list {
                blocks
                    .entry(name.clone())
                    .or_default()
                    .extend(members.iter().map(|e| e.sym));
            }
        }
    }
    blocks
}

impl Commons {
    /// Collects the COMMON variables of some units.
    pub fn of(units: &[&Unit]) -> Self {
        // The type, the size of an element, and the extents.
        type Shape = (Option<Type>, Option<i64>, Option<Vec<i64>>);
        let mut shapes: BTreeMap<Name, Vec<Shape>> = BTreeMap::new();
        let mut owner: BTreeMap<Name, (Name, Vec<SymId>)> = BTreeMap::new();
        let mut commons = Commons::default();
        let mut sizes: HashMap<Name, i64> = HashMap::new();
        for unit in units {
            let storage = UnitStorage::of(unit);
            for area in storage.areas() {
                let Some(block) = &area.block else { continue };
                let size = *sizes.entry(block.clone()).or_insert(area.size);
                let named = area.members.iter().filter(|m| m.named);
                let end = named.map(|m| m.start.saturating_add(m.size)).max();
                let text = |m: &Member| unit.symbols[m.sym].ty == Some(Type::Character);
                let odd = area.members.iter().any(text);
                if size != area.size || end != Some(area.size) || odd || !area.exact {
                    commons.unfit.insert(block.clone());
                }
            }
            let tangled = storage.areas().iter().filter(|a| is_odd(unit, a));
            let names = tangled.filter_map(|a| a.block.clone());
            commons.irregular.extend(names);
            for (block, members) in common_members(unit) {
                let constants = Constants::of(unit);
                let shape: Vec<Shape> = members
                    .iter()
                    .map(|id| {
                        let s = &unit.symbols[*id];
                        let size = constants.element_size(*id);
                        (s.ty, size, extents(unit, &s.dims))
                    })
                    .collect();
                match shapes.get(&block) {
                    None => {
                        shapes.insert(block.clone(), shape);
                        owner.insert(block, (unit.name.clone(), members));
                    }
                    Some(first) if *first != shape => {
                        commons.irregular.insert(block);
                    }
                    Some(_) => {}
                }
            }
        }
        for unit in units {
            let storage = UnitStorage::of(unit);
            for area in storage.areas() {
                let block = area.block.as_ref();
                if let Some(block) = block.filter(|b| commons.irregular.contains(*b)) {
                    let numbers = commons.numbers.entry(block.clone()).or_default();
                    numbers.add_area(unit, area);
                }
            }
        }
        for (block, (unit_name, members)) in owner {
            let Some(unit) = units.iter().find(|u| u.name == unit_name) else {
                continue;
            };
            let irregular = commons.irregular.contains(&block);
            for (position, sym) in members.iter().enumerate() {
                if irregular && position > 0 {
                    break;
                }
                let s = &unit.symbols[*sym];
                commons
                    .by_place
                    .insert((block.clone(), position), commons.vars.len());
                commons.vars.push(CommonVar {
                    block: block.clone(),
                    position,
                    unit: unit_name.clone(),
                    sym: *sym,
                    array: irregular || s.is_array(),
                    differentiable: irregular || differentiable(s),
                });
            }
        }
        commons
    }

    /// Returns the number of the variable at a position of a block.
    pub fn find(&self, block: &Name, position: usize) -> Option<usize> {
        let position = if self.irregular.contains(block) {
            0
        } else {
            position
        };
        self.by_place.get(&(block.clone(), position)).copied()
    }
}

/// The locations of one unit.
#[derive(Debug)]
pub struct Space {
    of_symbol: Vec<usize>,
    symbols: usize,
    args: usize,
    /// The number of locations.
    pub len: usize,
    /// The number of slots of the unit.
    pub slots: usize,
    /// Arrays and the like, where an assignment preserves a part of the old value.
    pub weak: Set,
    /// Locations of several variables: EQUIVALENCE, irregular COMMON.
    pub tangled: Set,
    /// Tangled locations whose derivatives would have no storage of the same layout: those in
    /// COMMON blocks that are [unfit](Commons::unfit).
    pub unfit: Set,
    /// The same for derivatives in several directions: `NumberLayout::uneven`.
    pub uneven: Set,
    /// Local variables that keep their values between calls.
    pub saved: Set,
    slot_locs: Vec<Option<usize>>,
}

impl Space {
    /// Computes the locations of a unit.
    pub fn of(unit: &Unit, commons: &Commons) -> Self {
        let symbols = unit.symbols.len();
        let len = symbols + commons.vars.len();
        let mut of_symbol: Vec<usize> = (0..symbols).collect();
        for (block, members) in common_members(unit) {
            for (position, s) in members.iter().enumerate() {
                if let Some(k) = commons.find(&block, position) {
                    of_symbol[s.0 as usize] = symbols + k;
                }
            }
        }
        let mut weak = Set::with_capacity(len);
        let mut tangled = Set::with_capacity(len);
        let mut saved = Set::with_capacity(len);
        for (k, v) in commons.vars.iter().enumerate() {
            weak.set(symbols + k, v.array);
            tangled.set(symbols + k, commons.irregular.contains(&v.block));
        }
        for (id, s) in unit.symbols.iter() {
            if s.is_array() {
                weak.insert(of_symbol[id.0 as usize]);
            }
        }
        let mut uneven = Set::with_capacity(len);
        let storage = UnitStorage::of(unit);
        for group in storage.overlap_groups() {
            tie(&group, &mut of_symbol, symbols, &mut weak, &mut tangled);
            let all = storage.areas().iter().flat_map(|a| &a.members);
            let members = all.filter(|m| group.contains(&m.sym));
            if let Some(one) = group.first()
                && NumberLayout::of(unit, members).uneven
            {
                uneven.insert(of_symbol[one.0 as usize]);
            }
        }
        for (k, v) in commons.vars.iter().enumerate() {
            if commons.numbers.get(&v.block).is_some_and(|n| n.uneven) {
                uneven.insert(symbols + k);
            }
        }
        for spec in &unit.specs {
            match &spec.kind {
                SpecKind::Save(items) if items.is_empty() => {
                    saved.extend(
                        unit.symbols
                            .iter()
                            .filter(|(_, s)| {
                                s.is_variable() && s.storage_class == StorageClass::Local
                            })
                            .map(|(id, _)| of_symbol[id.0 as usize]),
                    );
                }
                SpecKind::Save(items) => {
                    saved.extend(items.iter().filter_map(|i| match i {
                        SaveItem::Var(s) => Some(of_symbol[s.0 as usize]),
                        SaveItem::Common(_) => None,
                    }));
                }
                SpecKind::Data(sets) => {
                    // The variable of an implied DO is a different one, even if it has the same
                    // name.
                    for t in sets.iter().flat_map(|s| &s.targets) {
                        read_targets(t, &mut |s, _| {
                            if unit.symbols[s].is_variable()
                                && unit.symbols[s].storage_class == StorageClass::Local
                            {
                                saved.insert(of_symbol[s.0 as usize]);
                            }
                        });
                    }
                }
                _ => {}
            }
        }
        // Variables are also saved by an initial value or SAVE in their declaration.
        for (id, s) in unit.symbols.iter() {
            if s.saved && s.is_variable() && s.storage_class == StorageClass::Local {
                saved.insert(of_symbol[id.0 as usize]);
            }
        }
        // COMMON keeps its values anyway.
        saved.remove_range_from(symbols);
        let mut unfit = Set::with_capacity(len);
        unfit.extend(tangled.ones().filter(|l| {
            let var = l.checked_sub(symbols).and_then(|k| commons.vars.get(k));
            var.is_some_and(|v| commons.unfit.contains(&v.block))
        }));
        let args = unit.args.len();
        let mut slot_locs: Vec<Option<usize>> = unit
            .args
            .iter()
            .map(|a| {
                a.sym()
                    .filter(|s| unit.symbols[*s].is_variable())
                    .map(|s| of_symbol[s.0 as usize])
            })
            .collect();
        slot_locs.push(unit.result.map(|s| of_symbol[s.0 as usize]));
        slot_locs.extend((symbols..len).map(Some));
        Space {
            of_symbol,
            symbols,
            args,
            len,
            slots: slot_locs.len(),
            weak,
            tangled,
            unfit,
            uneven,
            saved,
            slot_locs,
        }
    }

    /// Returns the location of a symbol.
    pub fn loc(&self, s: SymId) -> usize {
        // A symbol that was added after the analysis gets a location after all others.
        let new = (s.0 as usize).checked_sub(self.of_symbol.len());
        match new {
            Some(n) => self.len + n,
            None => self.of_symbol[s.0 as usize],
        }
    }

    /// Returns the location of the COMMON variable with this number.
    pub fn common(&self, k: usize) -> usize {
        self.symbols + k
    }

    /// Returns the number of the COMMON variable at a location.
    pub fn common_at(&self, loc: usize) -> Option<usize> {
        loc.checked_sub(self.symbols)
    }

    /// Returns the slot of the result.
    pub fn result_slot(&self) -> usize {
        self.args
    }

    /// Returns the location of a slot.
    pub fn slot(&self, slot: usize) -> Option<usize> {
        self.slot_locs.get(slot).copied().flatten()
    }

    /// Returns the locations of some slots.
    pub fn locs(&self, slots: &Set) -> Set {
        let mut out = Set::with_capacity(self.len);
        out.extend(slots.ones().filter_map(|s| self.slot(s)));
        out
    }
}

impl Locations for Space {
    fn loc(&self, s: SymId) -> Option<usize> {
        Some(self.loc(s))
    }

    fn common(&self, number: usize) -> Option<usize> {
        Some(self.common(number))
    }
}

trait RemoveFrom {
    fn remove_range_from(&mut self, from: usize);
}

impl RemoveFrom for Set {
    fn remove_range_from(&mut self, from: usize) {
        if from < self.len() {
            self.set_range(from.., false);
        }
    }
}

/// Whether a variable that EQUIVALENCE puts into a COMMON block overlaps several of the block's
/// variables, or has a derivative where they have none.
fn is_odd(unit: &Unit, area: &Area) -> bool {
    let end = |m: &Member| m.start.saturating_add(m.size);
    let over = |a: &Member, b: &Member| a.start < end(b) && b.start < end(a);
    let number = |m: &Member| differentiable(&unit.symbols[m.sym]);
    area.block.is_some()
        && area.members.iter().filter(|m| !m.named).any(|m| {
            let named = area.members.iter().filter(|n| n.named && over(m, n));
            named.clone().count() > 1 || number(m) && !named.clone().all(number)
        })
}

fn tie(
    group: &[SymId],
    of_symbol: &mut [usize],
    symbols: usize,
    weak: &mut Set,
    tangled: &mut Set,
) {
    let locs: Vec<usize> = group.iter().map(|s| of_symbol[s.0 as usize]).collect();
    // Prefer a COMMON location, because other units know it.
    let Some(&one) = locs
        .iter()
        .find(|l| **l >= symbols)
        .or_else(|| locs.first())
    else {
        return;
    };
    for l in of_symbol.iter_mut() {
        if locs.contains(l) {
            *l = one;
        }
    }
    weak.insert(one);
    tangled.insert(one);
}
