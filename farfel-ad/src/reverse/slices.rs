//! Which slices of arrays procedures assign, so that the reverse sweep need not keep the whole array for each call.
//!
//! ```fortran
//!       SUBROUTINE COUNT(K)
//!       COMMON /C/ N(100, 100)
//!       DO 10 I = 1, 100
//!    10 N(I, K) = ...
//! ```
//!
//! A call of COUNT overwrites `N(:, K)`. A model whose levels and tiles are handled by subprograms has many such calls, each
//! in loops over what it passes as K. The slice of an array is known if all assignments to it in a procedure have the same
//! unchanged argument, or the same constant, as a subscript.

use super::effects::{Effects, StatementEffects};
use crate::locations::{Commons, Space};
use farfel_lang::callgraph::ReachableUnits;
use farfel_lang::ir::{
    Expr, ExprKind, Name, Origin, Stmt, StmtKind, StorageClass, SymId, Type, Unit,
    for_each_reference, walk_block,
};
use farfel_lang::storage::constant::{self, Constants};
use std::collections::{BTreeSet, HashMap};

/// What all assignments to an array have as a subscript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subscript {
    /// Anything.
    Any,
    /// The argument at a position, which the procedure does not change.
    Argument(usize),
    /// A number.
    Number(i64),
}

/// A slice of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Slice {
    pub subscripts: Vec<Subscript>,
    /// The lower bound and the extent of each dimension.
    pub shape: Vec<(i64, i64)>,
}

impl Slice {
    fn any(&self) -> bool {
        self.subscripts.iter().all(|s| *s == Subscript::Any)
    }
}

/// The slices that procedures assign, by their slots.
#[derive(Debug, Default)]
pub(super) struct Slices(HashMap<Name, HashMap<usize, Slice>>);

impl Slices {
    /// Finds the slices that units assign.
    pub fn of(graph: &ReachableUnits, commons: &Commons, effects: &Effects) -> Self {
        let mut all = Slices::default();
        for unit in graph
            .units
            .iter()
            .filter(|u| u.origin != Origin::Derivative)
        {
            let space = Space::of(unit, commons);
            let of_unit = Finder {
                all: &all,
                unit,
                space: &space,
                effects,
            };
            let found = of_unit.find();
            if !found.is_empty() {
                all.0.insert(unit.name.clone(), found);
            }
        }
        all
    }

    /// The slices that a procedure assigns, by their slots; of other slots, it may assign anything.
    pub fn get(&self, procedure: &Name) -> Option<&HashMap<usize, Slice>> {
        self.0.get(procedure)
    }
}

/// The lower bound and the extent of each dimension of an array, if they are constants.
pub(super) fn shape(unit: &Unit, array: SymId) -> Option<Vec<(i64, i64)>> {
    let extents = constant::extents(unit, &unit.symbols[array].dims)?;
    let constants = Constants::of(unit);
    let of = |(i, extent)| Some((constants.bounds(array, i).0?, extent));
    extents.into_iter().enumerate().map(of).collect()
}

struct Finder<'a> {
    all: &'a Slices,
    unit: &'a Unit,
    space: &'a Space,
    effects: &'a Effects,
}

impl Finder<'_> {
    /// The slices that the unit assigns.
    fn find(&self) -> HashMap<usize, Slice> {
        let mut found: HashMap<usize, Slice> = HashMap::new();
        let mut whole: BTreeSet<usize> = BTreeSet::new();
        let mut entries = false;
        walk_block(&self.unit.body, &mut |s| {
            entries |= matches!(s.kind, StmtKind::Entry(_));
            for (loc, slice) in self.assigned(s) {
                match (slice, found.get_mut(&loc)) {
                    (None, _) => {
                        whole.insert(loc);
                    }
                    (Some(new), None) => {
                        found.insert(loc, new);
                    }
                    (Some(new), Some(old)) if old.shape == new.shape => {
                        for (a, b) in old.subscripts.iter_mut().zip(new.subscripts) {
                            if *a != b {
                                *a = Subscript::Any;
                            }
                        }
                    }
                    (Some(_), Some(_)) => {
                        whole.insert(loc);
                    }
                }
            }
        });
        if entries {
            return HashMap::new();
        }
        let slots = 0..self.space.slots;
        let of_slot = |slot: usize| {
            let loc = self.space.slot(slot)?;
            let slice = found.get(&loc)?;
            let known = !whole.contains(&loc) && !self.space.tangled.contains(loc);
            (known && !slice.any()).then(|| (slot, slice.clone()))
        };
        slots.filter_map(of_slot).collect()
    }

    /// The arrays that a statement itself assigns, each with the slice of it, if that is known.
    fn assigned(&self, s: &Stmt) -> Vec<(usize, Option<Slice>)> {
        let mut calls = false;
        for_each_reference(std::slice::from_ref(s), &mut |_| calls = true);
        if let (StmtKind::Assign(to, _), false) = (&s.kind, calls) {
            let Some(base) = to.base() else {
                return Vec::new();
            };
            let slice = self.unit.symbols[base]
                .is_array()
                .then(|| self.of_target(to));
            return slice
                .map(|s| (self.space.loc(base), s))
                .into_iter()
                .collect();
        }
        if !calls && !s.blocks().is_empty() {
            // A loop sets a scalar, and an IF nothing.
            return Vec::new();
        }
        let mut touched = StatementEffects::nothing(self.space.len + self.unit.symbols.len());
        self.effects.own(self.unit, self.space, s, &mut touched);
        let of_call = match &s.kind {
            StmtKind::Call(callee, args) => self.of_call(*callee, args),
            _ => HashMap::new(),
        };
        let locs = touched
            .assigned
            .ones()
            .filter(|l| self.space.weak.contains(*l));
        locs.map(|l| (l, of_call.get(&l).cloned().flatten()))
            .collect()
    }

    /// The slice of an array to which an element belongs.
    fn of_target(&self, to: &Expr) -> Option<Slice> {
        let ExprKind::Element(array, subscripts) = &to.kind else {
            return None;
        };
        let shape = shape(self.unit, *array)?;
        let subscripts: Vec<Subscript> = subscripts.iter().map(|s| self.subscript(s)).collect();
        (shape.len() == subscripts.len()).then_some(Slice { subscripts, shape })
    }

    /// What an expression is to the callers of the unit.
    fn subscript(&self, e: &Expr) -> Subscript {
        match e.kind {
            ExprKind::Int(n) => Subscript::Number(n),
            ExprKind::Var(v) => {
                let position = self.unit.args.iter().position(|a| a.sym() == Some(v));
                let symbol = &self.unit.symbols[v];
                let effect = self.effects.get(&self.unit.name);
                let fixed = |i: &usize| {
                    symbol.ty == Some(Type::INTEGER)
                        && !symbol.is_array()
                        && !self.space.tangled.contains(self.space.loc(v))
                        && effect.is_some_and(|e| !e.assigned.contains(*i))
                };
                let position = position.filter(fixed);
                position.map_or(Subscript::Any, Subscript::Argument)
            }
            _ => Subscript::Any,
        }
    }

    /// The slices that a call assigns; `None` for locations that it assigns under two names.
    fn of_call(&self, callee: SymId, args: &[Expr]) -> HashMap<usize, Option<Slice>> {
        let symbol = &self.unit.symbols[callee];
        let known = (symbol.storage_class == StorageClass::Global)
            .then(|| self.all.get(&symbol.name))
            .flatten();
        let mut made = HashMap::new();
        for (loc, slice) in passed(
            self.unit,
            self.space,
            self.effects,
            known,
            &symbol.name,
            args,
        ) {
            let of_caller = |s: &Subscript| match s {
                Subscript::Argument(i) => {
                    args.get(*i).map_or(Subscript::Any, |a| self.subscript(a))
                }
                other => *other,
            };
            let slice = slice.map(|s| Slice {
                subscripts: s.subscripts.iter().map(of_caller).collect(),
                shape: s.shape.clone(),
            });
            made.entry(loc).and_modify(|s| *s = None).or_insert(slice);
        }
        made
    }
}

/// The locations that a call of a procedure assigns, each with its slice of the array there, if that is known.
pub(super) fn passed<'s>(
    unit: &Unit,
    space: &Space,
    effects: &Effects,
    slices: Option<&'s HashMap<usize, Slice>>,
    procedure: &Name,
    args: &[Expr],
) -> Vec<(usize, Option<&'s Slice>)> {
    let Some(effect) = effects.get(procedure) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for slot in effect.assigned.ones() {
        let slice = slices.and_then(|s| s.get(&slot));
        if slot > effect.args {
            found.push((space.common(slot - effect.args - 1), slice));
        } else if let Some(base) = args.get(slot).and_then(Expr::base) {
            let whole = args
                .get(slot)
                .is_some_and(|a| matches!(a.kind, ExprKind::Var(_)));
            let same = |s: &&Slice| whole && shape(unit, base).is_some_and(|own| own == s.shape);
            found.push((space.loc(base), slice.filter(same)));
        }
    }
    found
}
