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
//!
//! ```fortran
//!       CALL COUNT(N(1, K))       ! SUBROUTINE COUNT(M), with M(100)
//! ```
//!
//! This call overwrites no more than `N(:, K)` either, as M has no more elements.

use super::effects::{Effects, StatementEffects};
use crate::locations::{Commons, Space};
use farfel_lang::Span;
use farfel_lang::callgraph::ReachableUnits;
use farfel_lang::ir::{
    Dim, Expr, ExprKind, Name, Origin, Stmt, StmtKind, StorageClass, SymId, Type, Unit,
    for_each_reference, walk_block,
};
use farfel_lang::storage::constant::Constants;
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

/// The upper bound of a dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Upper {
    Number(i64),
    /// The argument at a position, with its value on entry.
    Argument(usize),
}

impl Upper {
    pub fn number(self) -> Option<i64> {
        match self {
            Upper::Number(n) => Some(n),
            Upper::Argument(_) => None,
        }
    }
}

/// The bounds of each dimension of an array.
pub(super) type Shape = Vec<(i64, Upper)>;

/// A slice of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Slice<S = Subscript> {
    pub subscripts: Vec<S>,
    pub shape: Shape,
}

/// A subscript of a slice that a call assigns, to the caller: `None` stands for anything.
pub(super) type SubscriptOfCaller = Option<Expr>;

impl Slice {
    /// The whole array.
    fn whole(shape: Shape) -> Self {
        Slice {
            subscripts: vec![Subscript::Any; shape.len()],
            shape,
        }
    }

    /// Both slices as one; `None` for arrays of different shapes.
    pub fn joined(mut self, other: &Slice) -> Option<Slice> {
        (self.shape == other.shape).then_some(())?;
        for (a, b) in self.subscripts.iter_mut().zip(&other.subscripts) {
            if *a != *b {
                *a = Subscript::Any;
            }
        }
        Some(self)
    }

    pub fn is_whole(&self) -> bool {
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

/// The bounds of an array, if they are constants or arguments.
pub(super) fn shape(unit: &Unit, array: SymId) -> Option<Shape> {
    let constants = Constants::of(unit);
    let symbol = &unit.symbols[array];
    let of = |(i, d): (usize, &Dim)| {
        let (low, high) = constants.bounds(array, i);
        let high = match high {
            Some(n) => Upper::Number(n),
            None => Upper::Argument(position(unit, variable(d.upper.as_ref()?)?)?),
        };
        Some((low?, high))
    };
    symbol.dims.iter().enumerate().map(of).collect()
}

fn variable(e: &Expr) -> Option<SymId> {
    match e.kind {
        ExprKind::Var(v) => Some(v),
        _ => None,
    }
}

/// The position of a dummy argument.
fn position(unit: &Unit, v: SymId) -> Option<usize> {
    unit.args.iter().position(|a| a.sym() == Some(v))
}

/// The position of an argument that is a whole number and that the unit does not change.
pub(super) fn unchanged_argument(
    unit: &Unit,
    space: &Space,
    effects: &Effects,
    v: SymId,
) -> Option<usize> {
    let symbol = &unit.symbols[v];
    let effect = effects.get(&unit.name)?;
    let at = position(unit, v)?;
    let unchanged = symbol.ty == Some(Type::INTEGER)
        && !symbol.is_array()
        && !space.tangled.contains(space.loc(v))
        && !effect.assigned.contains(at);
    unchanged.then_some(at)
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
                    (Some(new), Some(old)) => match new.joined(old) {
                        Some(joined) => *old = joined,
                        None => drop(whole.insert(loc)),
                    },
                }
            }
        });
        if entries {
            return HashMap::new();
        }
        let slots = 0..self.space.slots;
        let of_slot = |slot: usize| {
            let loc = self.space.slot(slot)?;
            let known = !whole.contains(&loc) && !self.space.tangled.contains(loc);
            if let Some(slice) = found.get(&loc).filter(|s| known && !s.is_whole()) {
                return Some((slot, slice.clone()));
            }
            // Callers may pass an element.
            let assigned = found.contains_key(&loc) || whole.contains(&loc);
            let dummy = self.unit.args.get(slot)?.sym()?;
            let apart = assigned && !self.space.tangled.contains(loc);
            let shape = shape(self.unit, dummy).filter(|_| apart)?;
            Some((slot, Slice::whole(shape)))
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
            ExprKind::Var(v) => unchanged_argument(self.unit, self.space, self.effects, v)
                .map_or(Subscript::Any, Subscript::Argument),
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
        let caller = Caller {
            unit: self.unit,
            space: self.space,
            effects: self.effects,
        };
        for (loc, slice) in caller.assigned(known, &symbol.name, args) {
            let slice = slice.map(|s| Slice {
                subscripts: (s.subscripts.iter())
                    .map(|e| e.as_ref().map_or(Subscript::Any, |e| self.subscript(e)))
                    .collect(),
                shape: s.shape,
            });
            made.entry(loc).and_modify(|s| *s = None).or_insert(slice);
        }
        made
    }
}

/// A procedure that calls others, for what slices of them are to it.
#[derive(Clone, Copy)]
pub(super) struct Caller<'a> {
    pub unit: &'a Unit,
    pub space: &'a Space,
    pub effects: &'a Effects,
}

impl Caller<'_> {
    /// The locations that a call of a procedure assigns, each with its slice of the array there, if that is known.
    pub fn assigned(
        &self,
        slices: Option<&HashMap<usize, Slice>>,
        procedure: &Name,
        args: &[Expr],
    ) -> Vec<(usize, Option<Slice<SubscriptOfCaller>>)> {
        let Some(effect) = self.effects.get(procedure) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for slot in effect.assigned.ones() {
            let slice = slices.and_then(|s| s.get(&slot));
            let loc = match slot.checked_sub(effect.args + 1) {
                Some(k) => Some(self.space.common(k)),
                None => args
                    .get(slot)
                    .and_then(Expr::base)
                    .map(|s| self.space.loc(s)),
            };
            let of_caller = |s| self.slice(s, args.get(slot), args);
            found.extend(loc.map(|loc| (loc, slice.and_then(of_caller))));
        }
        found
    }

    /// A slice of an argument, or of an array in COMMON, as one of the array that is passed, or part of which is.
    pub fn slice(
        &self,
        slice: &Slice,
        actual: Option<&Expr>,
        args: &[Expr],
    ) -> Option<Slice<SubscriptOfCaller>> {
        let of = |s: &Subscript| match s {
            Subscript::Any => None,
            Subscript::Argument(i) => args.get(*i).cloned(),
            Subscript::Number(n) => Some(Expr::int(*n, Span::NONE)),
        };
        let bounds = slice.shape.iter();
        let bounds = bounds.map(|(low, high)| Some((*low, self.upper(*high, args)?)));
        let shape: Shape = bounds.collect::<Option<_>>()?;
        let ExprKind::Element(array, first) = (match actual {
            Some(a) => &a.kind,
            None => &ExprKind::Star,
        }) else {
            let same = match actual.map(|a| &a.kind) {
                None => true,
                Some(ExprKind::Var(v)) => self::shape(self.unit, *v)? == shape,
                Some(_) => false,
            };
            let subscripts = slice.subscripts.iter().map(of).collect();
            return same.then_some(Slice { subscripts, shape });
        };
        // The argument begins with the first element of a slice, and has no more elements.
        let size = size_of(&shape)?;
        let shape = self::shape(self.unit, *array).filter(|s| s.len() == first.len())?;
        let constants = Constants::of(self.unit);
        let mut subscripts: Vec<SubscriptOfCaller> = first.iter().cloned().map(Some).collect();
        let mut elements = 1i64;
        for ((subscript, at), (low, high)) in subscripts.iter_mut().zip(first).zip(&shape) {
            if elements >= size {
                break;
            }
            (constants.integer(at)? == *low).then_some(())?;
            elements = elements.checked_mul(high.number()? - low + 1)?;
            *subscript = None;
        }
        (elements >= size).then_some(Slice { subscripts, shape })
    }

    /// The upper bound of an array that is passed.
    fn upper(&self, high: Upper, args: &[Expr]) -> Option<Upper> {
        let Upper::Argument(i) = high else {
            return Some(high);
        };
        let actual = args.get(i)?;
        if let Some(n) = Constants::of(self.unit).integer(actual) {
            return Some(Upper::Number(n));
        }
        let v = variable(actual)?;
        unchanged_argument(self.unit, self.space, self.effects, v).map(Upper::Argument)
    }
}

/// The number of elements of an array, if it is not of any size.
fn size_of(shape: &Shape) -> Option<i64> {
    let open = matches!(shape.last(), None | Some((1, Upper::Number(1))));
    let mut bounds = shape.iter();
    let size = bounds.try_fold(1i64, |n, (low, high)| {
        n.checked_mul(high.number()?.checked_sub(*low)?.checked_add(1)?)
    });
    size.filter(|_| !open)
}
