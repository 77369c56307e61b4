//! Which flags guard the assignments of procedures, so that the reverse sweep need not keep an array where nothing is assigned.
//!
//! ```fortran
//!       SUBROUTINE STEP
//!       COMMON /FLAGS/ ICE
//!       COMMON /C/ H(1000)
//!       LOGICAL ICE
//!       IF (ICE) CALL GROW(H)
//! ```
//!
//! A call of STEP leaves `H` as it is if `ICE` is false. A model has many such packages, few of which are in use at a time.
//! A flag is a LOGICAL variable in COMMON that the procedure does not change. If it calls something of which nothing is known, it
//! may change any.

use super::effects::{Effect, Effects, SideEffects, StatementEffects};
use crate::locations::{Commons, Space};
use farfel_lang::callgraph::ReachableUnits;
use farfel_lang::ir::{
    BinOp, Expr, ExprKind, Name, Origin, Stmt, StmtKind, StorageClass, Type, UnOp, Unit,
};
use std::collections::{BTreeSet, HashMap};

/// The number of a COMMON variable, and the value for which something happens.
pub(super) type Flag = (usize, bool);

/// The flags that guard all assignments to the variables of procedures, by their slots.
#[derive(Debug, Default)]
pub(super) struct Guards(HashMap<Name, HashMap<usize, BTreeSet<Flag>>>);

impl Guards {
    /// Finds the flags of units.
    pub fn of(graph: &ReachableUnits, commons: &Commons, effects: &Effects) -> Self {
        let mut all = Guards::default();
        for unit in (graph.units.iter()).filter(|u| u.origin != Origin::Derivative) {
            let space = Space::of(unit, commons);
            let mut finder = Finder {
                all: &all,
                unit,
                space: &space,
                commons,
                effects,
                found: HashMap::new(),
                entries: false,
            };
            finder.block(&unit.body, &BTreeSet::new());
            let found = finder.slots();
            if !found.is_empty() {
                all.0.insert(unit.name.clone(), found);
            }
        }
        all
    }

    /// The flags that guard what a call assigns, by location; other locations may be assigned whatever flags say.
    pub fn passed(
        &self,
        space: &Space,
        effects: &Effects,
        procedure: &Name,
        args: &[Expr],
    ) -> HashMap<usize, BTreeSet<Flag>> {
        let mut found: HashMap<usize, BTreeSet<Flag>> = HashMap::new();
        let (Some(known), Some(effect)) = (self.0.get(procedure), effects.get(procedure)) else {
            return found;
        };
        let nothing = BTreeSet::new();
        for slot in effect.assigned.ones() {
            let loc = match slot.checked_sub(effect.args + 1) {
                Some(k) => Some(space.common(k)),
                None => args.get(slot).and_then(Expr::base).map(|s| space.loc(s)),
            };
            let flags = known.get(&slot).unwrap_or(&nothing);
            if let Some(loc) = loc {
                add(&mut found, loc, flags);
            }
        }
        found.retain(|_, flags| !flags.is_empty());
        found
    }
}

/// Adds an assignment under some flags: those remain that guard all assignments.
fn add(found: &mut HashMap<usize, BTreeSet<Flag>>, loc: usize, flags: &BTreeSet<Flag>) {
    found
        .entry(loc)
        .and_modify(|known| known.retain(|f| flags.contains(f)))
        .or_insert_with(|| flags.clone());
}

struct Finder<'a> {
    all: &'a Guards,
    unit: &'a Unit,
    space: &'a Space,
    commons: &'a Commons,
    effects: &'a Effects,
    /// By location.
    found: HashMap<usize, BTreeSet<Flag>>,
    entries: bool,
}

impl Finder<'_> {
    fn block(&mut self, block: &[Stmt], flags: &BTreeSet<Flag>) {
        for s in block {
            self.stmt(s, flags);
        }
    }

    fn stmt(&mut self, s: &Stmt, flags: &BTreeSet<Flag>) {
        self.entries |= matches!(s.kind, StmtKind::Entry(_));
        let mut touched = StatementEffects::nothing(self.space.len + self.unit.symbols.len());
        self.effects.own(self.unit, self.space, s, &mut touched);
        let of_call = match &s.kind {
            StmtKind::Call(callee, args) => {
                let callee = &self.unit.symbols[*callee];
                let global = callee.storage_class == StorageClass::Global;
                let all = self.all;
                let passed = || all.passed(self.space, self.effects, &callee.name, args);
                global.then(passed).unwrap_or_default()
            }
            _ => HashMap::new(),
        };
        for loc in touched.assigned.ones() {
            let mut under = flags.clone();
            under.extend(of_call.get(&loc).into_iter().flatten());
            add(&mut self.found, loc, &under);
        }
        match &s.kind {
            StmtKind::LogicalIf(condition, inner) => {
                let mut under = flags.clone();
                self.flags(condition, true, &mut under);
                self.stmt(inner, &under);
            }
            StmtKind::If(b) => {
                let mut before = flags.clone();
                for (condition, block) in &b.arms {
                    let mut under = before.clone();
                    self.flags(condition, true, &mut under);
                    self.block(block, &under);
                    self.flags(condition, false, &mut before);
                }
                if let Some(otherwise) = &b.otherwise {
                    self.block(otherwise, &before);
                }
            }
            _ => s.blocks().into_iter().for_each(|b| self.block(b, flags)),
        }
    }

    /// Adds the flags whose values are known where a condition has a value.
    fn flags(&self, condition: &Expr, value: bool, to: &mut BTreeSet<Flag>) {
        match &condition.kind {
            ExprKind::Paren(e) => self.flags(e, value, to),
            ExprKind::Unary(UnOp::Not, e) => self.flags(e, !value, to),
            ExprKind::Binary(op @ (BinOp::And | BinOp::Or), a, b)
                if value == (*op == BinOp::And) =>
            {
                self.flags(a, value, to);
                self.flags(b, value, to);
            }
            ExprKind::Var(v) => {
                let symbol = &self.unit.symbols[*v];
                let loc = self.space.loc(*v);
                let number = (self.space.common_at(loc)).filter(|k| *k < self.commons.vars.len());
                let plain = matches!(symbol.ty, Some(Type::Logical(_)))
                    && !symbol.is_array()
                    && !self.space.tangled.contains(loc);
                to.extend(number.filter(|_| plain).map(|k| (k, value)));
            }
            _ => {}
        }
    }

    /// What is guarded, by slot.
    fn slots(self) -> HashMap<usize, BTreeSet<Flag>> {
        let effect = self.effects.get(&self.unit.name);
        let known = |e: &&Effect| !self.entries && e.side_effects != SideEffects::Once;
        let Some(effect) = effect.filter(known) else {
            return HashMap::new();
        };
        let fixed = |(k, _): &Flag| !effect.assigned.contains(effect.args + 1 + *k);
        let slots = effect.assigned.ones().filter_map(|slot| {
            let flags = self.found.get(&self.space.slot(slot)?)?;
            let flags: BTreeSet<Flag> = flags.iter().copied().filter(fixed).collect();
            (!flags.is_empty()).then_some((slot, flags))
        });
        slots.collect()
    }
}
