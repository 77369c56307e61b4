//! COMMON blocks that units divide into different variables, although what they use would allow the same ones.
//!
//! ```fortran
//!       SUBROUTINE A(X)                  SUBROUTINE B(X)
//!       COMMON /S/ UNUSED(14), H, N      COMMON /S/ RATE, EL(13), H, N
//! ```
//!
//! To analyses, such a block is one variable: its values are saved and its derivatives are set to zero as a whole.
//! If A does not use UNUSED, it can declare RATE and EL as well. So all units get the variables that any of them
//! uses, and placeholders for the storage between these.
//!
//! A block stays as it is if the units use the same bytes as different variables, or if EQUIVALENCE puts variables
//! into it.

use super::common_sizes::{Declared, members, symbol, unknown};
use farfel_lang::Span;
use farfel_lang::callgraph::ReachableUnits;
use farfel_lang::ir::{
    Attributes, Entity, Name, Program, Spec, SpecKind, StorageClass, SymId, Unit, UnitKind,
};
use farfel_lang::lower::used_in;
use farfel_lang::storage::constant::{Constants, extents};
use farfel_lang::storage::{Area, UnitStorage};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Whether there are such blocks below the heads. `named` are the variables of the heads that the caller refers to, which
/// count as used.
pub(crate) fn differ(program: &Program, heads: &[&str], named: &[&str]) -> bool {
    !divisions(program, heads, named).is_empty()
}

/// Divides them in the same way in all units below the heads.
pub(crate) fn with_equal_divisions(program: &mut Program, heads: &[&str], named: &[&str]) {
    let divisions = divisions(program, heads, named);
    for unit in &mut program.units {
        let storage = UnitStorage::of(unit);
        for area in storage.areas() {
            let block = area.block.as_ref();
            if let Some((block, (units, variables))) =
                block.and_then(|b| divisions.get_key_value(b))
                && units.contains(&unit.name)
            {
                divide(unit, block, area, variables);
            }
        }
    }
}

/// A block as a unit declares it.
struct Declaration<'p> {
    unit: &'p Unit,
    area: Area,
    members: Option<Vec<Declared>>,
}

impl Declaration<'_> {
    fn is_divided_like(&self, other: &Declaration) -> bool {
        match (&self.members, &other.members) {
            (Some(a), Some(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
            _ => false,
        }
    }
}

/// Whether two members of a block in different units are the same variable.
fn same(a: &Declared, b: &Declared) -> bool {
    let shape = |m: &Declared| (m.start, m.size, m.element, m.symbol.ty);
    shape(a) == shape(b) && constant_extents(a) == constant_extents(b)
}

fn constant_extents(m: &Declared) -> Option<Vec<i64>> {
    extents(&empty_unit(), &m.symbol.dims)
}

fn empty_unit() -> Unit {
    Unit::new(UnitKind::BlockData, Name::default(), Span::NONE)
}

/// The units that declare a block, and the variables that they get.
type Division = (HashSet<Name>, Vec<Declared>);

fn divisions(program: &Program, heads: &[&str], named: &[&str]) -> BTreeMap<Name, Division> {
    let mut blocks: BTreeMap<Name, Vec<Declaration>> = BTreeMap::new();
    for unit in ReachableUnits::of(program, heads.iter().copied()).units {
        for area in UnitStorage::of(unit).areas() {
            if let Some(block) = &area.block {
                blocks.entry(block.clone()).or_default().push(Declaration {
                    unit,
                    area: area.clone(),
                    members: members(unit, area),
                });
            }
        }
    }
    blocks.retain(|_, all| !all.iter().all(|d| d.is_divided_like(&all[0])));
    let mut used = HashMap::new();
    let divided = blocks.into_iter().filter_map(|(block, all)| {
        let variables = division(&all, &mut used, heads, named)?;
        let units = all.iter().map(|d| d.unit.name.clone()).collect();
        Some((block, (units, variables)))
    });
    divided.collect()
}

/// Returns the variables of a block in order: those that any unit uses, and what is between them. `used` remembers
/// which variables each unit uses.
fn division(
    declarations: &[Declaration],
    used: &mut HashMap<Name, Vec<bool>>,
    heads: &[&str],
    named: &[&str],
) -> Option<Vec<Declared>> {
    let mut variables: BTreeMap<i64, Declared> = BTreeMap::new();
    let mut known: Vec<(usize, SymId, i64)> = Vec::new();
    for (i, d) in declarations.iter().enumerate() {
        let simple = d.area.exact && !d.area.has_overlaps && d.unit.nested.is_empty();
        if !simple || d.area.members.iter().any(|m| !m.named) {
            return None;
        }
        let used = (used.entry(d.unit.name.clone())).or_insert_with(|| used_in(d.unit));
        let is_head = heads.contains(&d.unit.name.as_str());
        for m in d.members.as_ref()? {
            let symbol = &d.unit.symbols[m.sym];
            if symbol.attributes != Attributes::default() {
                return None;
            }
            let is_named = is_head && named.contains(&symbol.name.as_str());
            if used[m.sym.0 as usize] || is_named {
                known.push((i, m.sym, m.start));
                let variable = variables.entry(m.start).or_insert_with(|| m.clone());
                if !same(variable, m) {
                    return None;
                }
            }
        }
    }
    let longest = declarations.iter().rev().max_by_key(|d| d.area.size)?;
    let mut all = Vec::new();
    let mut at = 0;
    for m in variables.into_values() {
        if m.start < at {
            return None;
        }
        all.extend(between(longest, at, m.start));
        at = m.end();
        all.push(m);
    }
    all.extend(between(longest, at, longest.area.size));
    has_places(&all, declarations, &known).then_some(all)
}

/// Returns placeholders for the storage between two bytes.
fn between(longest: &Declaration, from: i64, to: i64) -> Vec<Declared> {
    if from >= to {
        return Vec::new();
    }
    let members = longest.members.iter().flatten();
    let parts = members.filter(|m| m.start < to && from < m.end());
    let parts: Option<Vec<Declared>> = parts.map(|m| m.part(from, to)).collect();
    parts.unwrap_or_else(|| {
        let symbol = unknown(from, to - from);
        vec![Declared {
            start: from,
            size: to - from,
            element: 1,
            sym: SymId(0),
            symbol,
        }]
    })
}

/// Whether compilers put the variables that units use where they were in these units, whatever the size of a default
/// REAL. `known` has the number of a declaration, the variable there and its first byte for each of them.
fn has_places(
    all: &[Declared],
    declarations: &[Declaration],
    known: &[(usize, SymId, i64)],
) -> bool {
    let block = Name::from("B");
    let mut unit = empty_unit();
    let entities: Vec<Entity> = (all.iter())
        .map(|m| symbol(&mut unit, &block, m.symbol.clone()))
        .collect();
    let kind = SpecKind::Common(vec![(block.clone(), entities.clone())]);
    let span = Span::NONE;
    unit.specs.push(Spec { kind, span });
    [4, 8].into_iter().all(|real| {
        let storage = |unit: &Unit| UnitStorage::within(&Constants::of(unit).with_real(real));
        let made = storage(&unit);
        let new: HashMap<i64, Option<i64>> = (all.iter().zip(&entities))
            .map(|(m, e)| (m.start, made.range(e.sym).map(|r| r.start)))
            .collect();
        let old: Vec<UnitStorage> = declarations.iter().map(|d| storage(d.unit)).collect();
        known.iter().all(|(i, own, start)| {
            let place = old[*i].range(*own).map(|r| r.start);
            place.is_some() && new.get(start) == Some(&place)
        })
    })
}

/// Lets a unit declare a block with these variables.
fn divide(unit: &mut Unit, block: &Name, area: &Area, variables: &[Declared]) {
    let own = members(unit, area).unwrap_or_default();
    let own: HashMap<i64, Declared> = own.into_iter().map(|m| (m.start, m)).collect();
    let written: HashMap<SymId, Entity> = entities(unit, block).map(|e| (e.sym, *e)).collect();
    let (mut new, mut all) = (Vec::new(), Vec::new());
    for v in variables {
        let kept = own.get(&v.start).filter(|m| same(m, v));
        all.push(match kept.and_then(|m| written.get(&m.sym)) {
            Some(e) => *e,
            None => {
                let entity = symbol(unit, block, v.symbol.clone());
                new.push(entity.sym);
                entity
            }
        });
    }
    let stay: HashSet<SymId> = all.iter().map(|e| e.sym).collect();
    let gone: HashSet<SymId> = written.into_keys().filter(|s| !stay.contains(s)).collect();
    for s in &gone {
        unit.symbols[*s].storage_class = StorageClass::Local;
    }
    unit.undeclare_all(&|s| gone.contains(&s));
    let mut all = Some(all);
    for spec in &mut unit.specs {
        if let SpecKind::Common(blocks) = &mut spec.kind {
            for (_, list) in blocks.iter_mut().filter(|(name, _)| name == block) {
                *list = all.take().unwrap_or_default();
            }
            blocks.retain(|(_, list)| !list.is_empty());
        }
    }
    (unit.specs).retain(|s| !matches!(&s.kind, SpecKind::Common(blocks) if blocks.is_empty()));
    unit.declare_all(new);
}

/// Returns the variables of a block as COMMON names them.
fn entities<'u>(unit: &'u Unit, block: &'u Name) -> impl Iterator<Item = &'u Entity> {
    let blocks = unit.specs.iter().flat_map(|s| match &s.kind {
        SpecKind::Common(blocks) => blocks.as_slice(),
        _ => &[],
    });
    blocks
        .filter(move |(name, _)| name == block)
        .flat_map(|(_, list)| list)
}
