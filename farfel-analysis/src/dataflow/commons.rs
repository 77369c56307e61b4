//! COMMON blocks divided into pieces that all units agree on.

use super::{Intents, Summary};
use farfel_ir::ir::{Arg, Name, Program, SymId, Unit};
use farfel_ir::source::Span;
use farfel_ir::storage::StorageLayout;
use farfel_ir::targets::CallTargets;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

/// The COMMON blocks of a program, cut at every byte where a variable of any unit begins or ends.
pub(super) struct Commons {
    pub blocks: BTreeMap<Name, CommonPieces>,
    /// For each unit, including nested ones, identified by name and position: its variables and
    /// their pieces.
    variables: HashMap<(Name, Span), Vec<VariablePieces>>,
}

/// A variable, its block, and the pieces that it covers.
pub(super) type VariablePieces = (SymId, Name, Range<u32>);

pub(super) struct CommonPieces {
    /// The number of the block's first piece.
    first: u32,
    /// The first byte of each piece, and the end of the last one.
    cuts: Vec<i64>,
}

impl CommonPieces {
    pub fn pieces(&self) -> Range<u32> {
        self.first..self.first + self.cuts.len().saturating_sub(1) as u32
    }

    /// Returns the pieces for a range of bytes that begins and ends at cuts.
    fn of(&self, bytes: Range<i64>) -> Range<u32> {
        let at = |byte: i64| self.first + self.cuts.partition_point(|c| *c < byte) as u32;
        at(bytes.start)..at(bytes.end)
    }
}

impl Commons {
    pub fn of(program: &Program, real: u8) -> Self {
        let layout = StorageLayout::with_real(program, real);
        let mut units = Vec::new();
        program.units.iter().for_each(|u| flatten(u, &mut units));
        let mut blocks = BTreeMap::new();
        let mut next = 0;
        for (name, block) in layout.blocks() {
            let parts = block.layouts.iter().flat_map(|s| &s.members);
            let ends = parts.flat_map(|p| [p.start, p.start.saturating_add(p.size)]);
            let cuts: BTreeSet<i64> = ends.collect();
            let block = CommonPieces {
                first: next,
                cuts: cuts.into_iter().collect(),
            };
            next = block.pieces().end;
            blocks.insert(name.clone(), block);
        }
        let mut variables = HashMap::new();
        for ((_, _, storage), unit) in layout.units().zip(units) {
            let mut list = Vec::new();
            for area in storage.areas() {
                let Some((name, block)) = area.block.as_ref().and_then(|n| blocks.get_key_value(n))
                else {
                    continue;
                };
                for m in &area.members {
                    let range = block.of(m.start..m.start.saturating_add(m.size));
                    list.push((m.sym, name.clone(), range));
                }
            }
            variables.insert((unit.name.clone(), unit.span), list);
        }
        Commons { blocks, variables }
    }

    pub fn declared(&self, unit: &Unit) -> &[VariablePieces] {
        let list = self.variables.get(&(unit.name.clone(), unit.span));
        list.map_or(&[], Vec::as_slice)
    }

    /// Returns the variables of a unit that are in COMMON blocks, and their pieces.
    pub fn variables(&self, unit: &Unit) -> impl Iterator<Item = (SymId, Range<u32>)> {
        let list = self.declared(unit).iter();
        list.map(|(s, _, range)| (*s, range.clone()))
    }
}

/// Information about the whole program, needed to follow everything that procedures do.
pub(super) struct WholeProgram<'a> {
    pub commons: &'a Commons,
    pub targets: &'a CallTargets,
    /// Whether all procedures that are passed as arguments are known.
    pub closed: bool,
}

impl WholeProgram<'_> {
    /// Returns the combined summary of all procedures that a dummy procedure of a unit can be, if
    /// it is known.
    pub fn dummy(
        &self,
        unit: &Unit,
        callee: SymId,
        intents: &Intents,
        args: usize,
    ) -> Option<Summary> {
        let position = unit.args.iter().position(|a| *a == Arg::Dummy(callee))?;
        let targets = self.targets.of_dummy(&unit.name, position);
        if !self.closed || targets.is_empty() {
            return None;
        }
        let mut all = targets.iter().map(|t| intents.known(&t.name, args));
        let mut joined = all.next()??.clone();
        for one in all {
            joined.join(one?);
        }
        Some(joined)
    }
}

/// Appends a unit and its nested units, in the order of a [`StorageLayout`].
pub(super) fn flatten<'p>(unit: &'p Unit, found: &mut Vec<&'p Unit>) {
    found.push(unit);
    unit.nested.iter().for_each(|n| flatten(n, found));
}
