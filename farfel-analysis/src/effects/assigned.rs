//! The most common query: which variables may be assigned.

use super::{DummyAssumptions, EachSymbol, Effects, EffectsOptions, Locations, StatementEffects};
use farfel_ir::flow::FlowGraph;
use farfel_ir::ir::{Program, Stmt, StmtKind, SymId, Unit, walk_block};
use std::collections::HashSet;

/// For every top-level unit, and for each of its ENTRY points, the arguments that it may assign: by the
/// statements that can be reached from there.
///
/// This is [`Effects`] without reads and without COMMON, which take longer to compute.
#[derive(Debug, Default)]
pub struct Assigned(Effects);

impl Assigned {
    /// Analyses a program whose names are resolved. Dummy procedures may assign anything.
    pub fn of(program: &Program) -> Self {
        Self::with(program, DummyAssumptions::Anything)
    }

    /// Like [`Self::of`], with other assumptions about dummy procedures.
    pub fn with(program: &Program, dummies: DummyAssumptions) -> Self {
        let units = program.units.iter();
        let units: Vec<_> = units.map(|u| (u, &EachSymbol as &dyn Locations)).collect();
        let options = EffectsOptions {
            dummies,
            ..EffectsOptions::default()
        };
        let mut assigned = Assigned(Effects::of(&units, options));
        program.units.iter().for_each(|u| assigned.by_way(u));
        assigned
    }

    /// Limits the effect of each way into a unit with ENTRY points to the statements that it can reach.
    fn by_way(&mut self, unit: &Unit) {
        let is_entry = |s: &Stmt| matches!(s.kind, StmtKind::Entry(_));
        if !unit.body.iter().any(is_entry) || !unit.nested.is_empty() {
            return;
        }
        // Passes number the statements that they have inserted only later.
        let mut unit = unit.clone();
        unit.number();
        let unit = &unit;
        for point in unit.entry_points() {
            let mut flow = FlowGraph::of(unit);
            flow.enter_at(point.statement.map(|s| s.name));
            let mut touched = StatementEffects::nothing(unit.symbols.len());
            let mut add = |s: &Stmt| self.0.statement(unit, &EachSymbol, s, &mut touched);
            for s in flow.reached() {
                match s.kind {
                    // The body of an AD block is part of the block, not of the control flow around it.
                    StmtKind::Ad(_) => s.walk(&mut add),
                    _ => add(s),
                }
            }
            let effect = self.0.of_entry(&point, &EachSymbol, 0, &touched);
            self.0.insert(point.name.clone(), effect);
        }
    }

    /// Adds a unit that is new in the program and that no known unit calls yet.
    pub fn add(&mut self, unit: &Unit) {
        let touched = self.0.unit(unit, &EachSymbol, Effects::statement);
        for entry in unit.entry_points() {
            let effect = self.0.of_entry(&entry, &EachSymbol, 0, &touched);
            self.0.insert(entry.name.clone(), effect);
        }
        self.by_way(unit);
    }

    /// Whether the source of the unit or ENTRY point with this name is available.
    pub fn knows(&self, unit: &str) -> bool {
        self.0.get(unit).is_some()
    }

    /// Whether the unit or ENTRY point with this name may assign its argument at `position`. True
    /// for unknown units.
    pub fn argument(&self, unit: &str, position: usize) -> bool {
        let effect = self.0.get(unit).filter(|e| position < e.args);
        effect.is_none_or(|e| e.assigned.contains(position))
    }

    /// Returns the variables that the statements of a unit, or of the subprograms nested in it, may
    /// assign.
    pub fn in_unit(&self, unit: &Unit) -> HashSet<SymId> {
        symbols(&self.0.unit(unit, &EachSymbol, Effects::statement))
    }

    /// Returns the variables that some statements of a unit may assign.
    pub fn in_block(&self, unit: &Unit, block: &[Stmt]) -> HashSet<SymId> {
        let mut touched = StatementEffects::nothing(unit.symbols.len());
        walk_block(block, &mut |s| {
            self.0.statement(unit, &EachSymbol, s, &mut touched)
        });
        symbols(&touched)
    }
}

fn symbols(touched: &StatementEffects) -> HashSet<SymId> {
    touched.assigned.ones().map(|s| SymId(s as u32)).collect()
}
