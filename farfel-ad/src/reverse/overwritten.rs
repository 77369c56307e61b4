//! Which arrays procedures overwrite before they read them, so that a call can be executed again without their old values.
//!
//! ```fortran
//!       SUBROUTINE STEP(ME)
//!       COMMON /C/ W(100, 4)
//!       DO 20 J = FIRST(ME), LAST(ME)
//!         DO 10 I = 1, 100
//!    10   W(I, J) = 0.0
//!         CALL ADD(J)              ! which reads W(:, J)
//!    20 CONTINUE
//! ```
//!
//! A call of STEP does not read what W has before. Models have many such arrays, which each time step computes anew, tile by
//! tile. Whether there is an iteration for every tile is often known at run time only: here if `FIRST(ME) <= 1` and
//! `LAST(ME) >= 4`. Then the array need not be saved.
//!
//! For each unit, from callees to callers, this finds the slices of arrays that it reads with their values from before, and
//! those that it overwrites on all paths, each perhaps under conditions on what it does not change.

use super::effects::{Effects, SideEffects, StatementEffects};
use super::slices::{
    Caller, Shape, Slice, Subscript, SubscriptOfCaller, Upper, shape, unchanged_argument,
};
use crate::legal::structure::jumps;
use crate::locations::{Commons, Set, Space};
use farfel_lang::Span;
use farfel_lang::callgraph::ReachableUnits;
use farfel_lang::ir::{
    Block, Class, Do, DoControl, Expr, ExprKind, Name, Origin, Stmt, StmtKind, StorageClass, SymId,
    Type, Unit, walk_block,
};
use farfel_lang::storage::constant::Constants;
use std::collections::{BTreeSet, HashMap};

/// The maximum number of conditions under which an array is overwritten.
const MOST_CONDITIONS: usize = 4;

/// The maximum number of elements and slices that are followed in a unit at a time.
const MOST_WRITTEN: usize = 1000;

/// A number that a procedure does not change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Value {
    Number(i64),
    /// The argument at a position.
    Argument(usize),
    /// A COMMON variable, by number, or the element of it with these subscripts.
    Common(usize, Vec<Value>),
}

impl Value {
    /// The subscripts, if it is an element.
    fn subscripts(&self) -> Option<Vec<Value>> {
        match self {
            Value::Common(_, s) if !s.is_empty() => Some(s.clone()),
            _ => None,
        }
    }
}

/// The condition that a loop from `first` to `last` covers the numbers from `from` to `to`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Covers {
    pub first: Value,
    pub last: Value,
    pub from: i64,
    pub to: i64,
}

pub(super) type Conditions = BTreeSet<Covers>;

/// A loop that executes an iteration for each number between two others.
struct Bounds {
    var: SymId,
    first: Value,
    last: Value,
}

impl Bounds {
    /// The condition under which the loop covers a dimension, if it does not in any case. `None` if it does not, or if that is
    /// not known.
    fn covers(&self, (low, high): (i64, Upper)) -> Option<Option<Covers>> {
        let begins = match self.first {
            Value::Number(n) => Some(n <= low),
            _ => None,
        };
        let ends = match (&self.last, high) {
            (Value::Number(n), Upper::Number(high)) => Some(*n >= high),
            (Value::Argument(i), Upper::Argument(high)) => (*i == high).then_some(true),
            _ => None,
        };
        match (begins, ends) {
            (Some(false), _) | (_, Some(false)) => None,
            (Some(true), Some(true)) => Some(None),
            _ => Some(Some(Covers {
                first: self.first.clone(),
                last: self.last.clone(),
                from: low,
                to: high.number()?,
            })),
        }
    }
}

/// What a procedure may read of an array before it overwrites it.
#[derive(Debug, Clone)]
struct Read {
    /// `None` for anything.
    slice: Option<Slice>,
    /// It is not read if all of these hold; without any, it is read anyway.
    unless: Conditions,
}

/// What a procedure overwrites of an array on all paths, if all conditions hold.
#[derive(Debug, Clone)]
struct Write {
    slice: Slice,
    conditions: Conditions,
}

/// When a procedure reads an array that it has not overwritten before.
pub(super) enum ReadOnEntry<'a> {
    Always,
    Never,
    /// Not if all conditions hold.
    Unless(&'a Conditions),
}

/// What a procedure does with its arrays, by slot.
#[derive(Debug, Default)]
struct Summary {
    /// The slots that are arrays.
    arrays: Set,
    reads: HashMap<usize, Vec<Read>>,
    writes: HashMap<usize, Vec<Write>>,
}

/// What procedures overwrite before they read it.
#[derive(Debug, Default)]
pub(super) struct Overwritten(HashMap<Name, Summary>);

impl Overwritten {
    /// Analyses all units. Adjoints of procedures without source may read the COMMON variables `read_elsewhere`, by number.
    pub fn of(
        graph: &ReachableUnits,
        commons: &Commons,
        effects: &Effects,
        read_elsewhere: &Set,
    ) -> Self {
        let mut all = Overwritten::default();
        for unit in (graph.units.iter()).filter(|u| u.origin != Origin::Derivative) {
            let space = Space::of(unit, commons);
            let effect = effects.get(&unit.name);
            if effect.is_none_or(|e| e.side_effects == SideEffects::Once) {
                continue;
            }
            let mut finder = Finder {
                all: &all,
                unit,
                space: &space,
                commons,
                effects,
                changed: Set::with_capacity(space.len + unit.symbols.len()),
                read_elsewhere,
                reads: HashMap::new(),
                at_returns: None,
                unknown: false,
                certain: true,
                evaluated: BTreeSet::new(),
            };
            let end = finder.block(&unit.body, Vec::new());
            let all_ends = joined(end, finder.at_returns.take());
            if !finder.unknown {
                let summary = finder.summary(all_ends.unwrap_or_default());
                all.0.insert(unit.name.clone(), summary);
            }
        }
        all
    }

    /// Whether a procedure reads the array in a slot with its value from before.
    pub fn read_on_entry(&self, procedure: &Name, slot: usize) -> ReadOnEntry<'_> {
        let summary = self.0.get(procedure);
        let Some(summary) = summary.filter(|s| s.arrays.contains(slot)) else {
            return ReadOnEntry::Always;
        };
        match summary.reads.get(&slot).map(Vec::as_slice) {
            None | Some([]) => ReadOnEntry::Never,
            Some([one]) if !one.unless.is_empty() => ReadOnEntry::Unless(&one.unless),
            Some(_) => ReadOnEntry::Always,
        }
    }
}

/// Elements of an array that are written on all paths to the current statement.
#[derive(Debug, Clone, PartialEq)]
struct Written {
    loc: usize,
    slice: Slice<SubscriptOfCaller>,
    conditions: Conditions,
}

impl Written {
    /// Whether a subscript changes with a variable of some locations.
    fn changes_with(&self, space: &Space, locs: &Set) -> bool {
        let mut variables = self.slice.subscripts.iter().flatten().filter_map(variable);
        variables.any(|v| locs.contains(space.loc(v)))
    }
}

/// Adds what is written now.
fn add(done: &mut Vec<Written>, new: impl IntoIterator<Item = Written>) {
    for w in new {
        if done.len() < MOST_WRITTEN && !done.contains(&w) {
            done.push(w);
        }
    }
}

/// What is written on both of two paths; `None` is a path that ends.
fn joined(a: Option<Vec<Written>>, b: Option<Vec<Written>>) -> Option<Vec<Written>> {
    match (a, b) {
        (Some(mut a), Some(b)) => {
            // Conditions of one path may have no value on the other.
            a.retain(|w| b.contains(w));
            Some(a)
        }
        (a, b) => a.or(b),
    }
}

fn same_subscript(a: &SubscriptOfCaller, b: &SubscriptOfCaller) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => a.equals_ignoring_spans(b),
        _ => false,
    }
}

fn variable(e: &Expr) -> Option<SymId> {
    match e.kind {
        ExprKind::Var(v) => Some(v),
        _ => None,
    }
}

struct Finder<'a> {
    all: &'a Overwritten,
    unit: &'a Unit,
    space: &'a Space,
    commons: &'a Commons,
    effects: &'a Effects,
    /// The locations that may have been changed before the current statement.
    changed: Set,
    read_elsewhere: &'a Set,
    /// What is read before it is overwritten, by location.
    reads: HashMap<usize, Vec<Read>>,
    /// What is written at all RETURN statements so far.
    at_returns: Option<Vec<Written>>,
    /// There are statements that this does not follow.
    unknown: bool,
    /// Whether the current statement is executed whenever the unit is.
    certain: bool,
    /// Subscripts of elements that are read whenever the unit is executed, as bounds of loops. What a condition reads before a
    /// call must be there even if the procedure does not get that far.
    evaluated: BTreeSet<Vec<Value>>,
}

impl Finder<'_> {
    /// What is written after a block, from what is written before it. `None` if its end is never reached.
    fn block(&mut self, block: &[Stmt], mut done: Vec<Written>) -> Option<Vec<Written>> {
        for s in block {
            done = self.stmt(s, done)?;
        }
        Some(done)
    }

    fn stmt(&mut self, s: &Stmt, mut done: Vec<Written>) -> Option<Vec<Written>> {
        match &s.kind {
            StmtKind::Comment(_) | StmtKind::Continue | StmtKind::Format(_) => Some(done),
            StmtKind::Assign(target, _) => {
                let calls = self.own_reads(s, &done);
                self.forget_changed(s, calls, &mut done);
                add(&mut done, self.written(target));
                Some(done)
            }
            StmtKind::Call(callee, args) => {
                let known = self.call_reads(s, *callee, args, &done);
                if known {
                    add(&mut done, self.written_by_call(*callee, args));
                }
                self.forget_changed(s, true, &mut done);
                self.unknown |= args
                    .iter()
                    .any(|a| matches!(a.kind, ExprKind::AltReturn(_)));
                Some(done)
            }
            StmtKind::LogicalIf(_, inner) => {
                let calls = self.own_reads(s, &done);
                self.forget_changed(s, calls, &mut done);
                let certain = std::mem::take(&mut self.certain);
                let after = self.stmt(inner, done.clone());
                self.certain = certain && !matches!(inner.kind, StmtKind::Return(_));
                joined(after, Some(done))
            }
            StmtKind::If(b) => {
                let calls = self.own_reads(s, &done);
                self.forget_changed(s, calls, &mut done);
                let complete = b.otherwise.is_some();
                self.arms(s.blocks().as_slice(), complete, done)
            }
            StmtKind::Select(b) => {
                let calls = self.own_reads(s, &done);
                self.forget_changed(s, calls, &mut done);
                let complete = b.cases.iter().any(|c| c.values.is_none());
                let arms: Vec<&Block> = b.cases.iter().map(|c| &c.body).collect();
                self.arms(&arms, complete, done)
            }
            StmtKind::Do(d) => Some(self.repeated(s, d, done)),
            StmtKind::Return(_) => {
                self.own_reads(s, &done);
                self.at_returns = joined(self.at_returns.take(), Some(done));
                None
            }
            StmtKind::Stop(_) => {
                self.own_reads(s, &done);
                None
            }
            StmtKind::Io(io) => {
                self.unknown |= jumps(io);
                self.reads_of_effects(s, &done);
                self.forget_changed(s, true, &mut done);
                Some(done)
            }
            _ => {
                self.unknown = true;
                Some(done)
            }
        }
    }

    fn arms(
        &mut self,
        arms: &[&Block],
        complete: bool,
        done: Vec<Written>,
    ) -> Option<Vec<Written>> {
        let mut after = None;
        let certain = std::mem::take(&mut self.certain);
        let mut returns = false;
        for arm in arms {
            let end = self.block(arm, done.clone());
            after = joined(after, end);
            walk_block(arm, &mut |s| {
                returns |= matches!(s.kind, StmtKind::Return(_))
            });
        }
        self.certain = certain && !returns;
        match complete {
            true => after,
            false => joined(after, Some(done)),
        }
    }

    /// A loop.
    fn repeated(&mut self, s: &Stmt, d: &Do, mut done: Vec<Written>) -> Vec<Written> {
        let mut changed = Set::with_capacity(self.space.len + self.unit.symbols.len());
        let mut returns = false;
        walk_block(std::slice::from_ref(s), &mut |s| {
            self.add_changed(s, &mut changed);
            returns |= matches!(s.kind, StmtKind::Return(_));
        });
        if let DoControl::Count { var, from, to, .. } = &d.control {
            self.own_reads(s, &done);
            changed.grow_and_insert(self.space.loc(*var));
            if self.certain {
                let values = [from, to].map(|e| self.value(e));
                self.evaluated
                    .extend(values.into_iter().flatten().filter_map(|v| v.subscripts()));
            }
        }
        let bounds = self.bounds(&d.control);
        self.changed.union_with(&changed);
        done.retain(|w| !w.changes_with(self.space, &changed));
        if !matches!(d.control, DoControl::Count { .. }) {
            // The condition is evaluated after each iteration, too.
            self.own_reads(s, &done);
        }
        let certain = std::mem::take(&mut self.certain);
        let after = self.block(&d.body, done.clone()).unwrap_or_default();
        self.certain = certain && !returns;
        let new = after.into_iter().filter(|w| !done.contains(w));
        let new: Vec<Written> = new
            .filter_map(|w| self.in_all_iterations(w, bounds.as_ref()?, &changed))
            .collect();
        add(&mut done, new);
        done
    }

    /// The bounds of a loop that counts up or down by one.
    fn bounds(&self, control: &DoControl) -> Option<Bounds> {
        let DoControl::Count {
            var,
            from,
            to,
            step,
        } = control
        else {
            return None;
        };
        let constants = Constants::of(self.unit);
        let (first, last) = match step.as_ref().map(|s| constants.integer(s)) {
            None | Some(Some(1)) => (from, to),
            Some(Some(-1)) => (to, from),
            Some(_) => return None,
        };
        let var = (!self.space.tangled.contains(self.space.loc(*var))).then_some(*var)?;
        let (first, last) = (self.value(first)?, self.value(last)?);
        Some(Bounds { var, first, last })
    }

    /// What all iterations of a loop write, from what each of them does.
    fn in_all_iterations(&self, mut w: Written, bounds: &Bounds, changed: &Set) -> Option<Written> {
        let counts = |e: &SubscriptOfCaller| e.as_ref().and_then(variable) == Some(bounds.var);
        let mut dimensions = w
            .slice
            .subscripts
            .iter()
            .enumerate()
            .filter(|(_, e)| counts(e));
        let dimension = dimensions.next().map(|(i, _)| i);
        if dimensions.next().is_some() {
            return None;
        }
        match dimension {
            Some(i) => {
                w.slice.subscripts[i] = None;
                w.conditions.extend(bounds.covers(*w.slice.shape.get(i)?)?);
            }
            // There must be at least one iteration.
            None => match (&bounds.first, &bounds.last) {
                (Value::Number(first), Value::Number(last)) if first <= last => {}
                _ => return None,
            },
        }
        let fits = w.conditions.len() <= MOST_CONDITIONS;
        (fits && !w.changes_with(self.space, changed)).then_some(w)
    }

    /// A number that callers can find out before a call.
    fn value(&self, e: &Expr) -> Option<Value> {
        if let Some(n) = Constants::of(self.unit).integer(e) {
            return Some(Value::Number(n));
        }
        let (v, subscripts) = match &e.kind {
            ExprKind::Var(v) => (*v, None),
            ExprKind::Element(v, subscripts) => (*v, Some(subscripts)),
            ExprKind::Paren(inner) => return self.value(inner),
            _ => return None,
        };
        let (symbol, loc) = (&self.unit.symbols[v], self.space.loc(v));
        let number = symbol.ty == Some(Type::INTEGER) && symbol.is_array() == subscripts.is_some();
        let same = !self.changed.contains(loc) && !self.space.tangled.contains(loc);
        (number && same).then_some(())?;
        if subscripts.is_none()
            && let Some(i) = self.unit.args.iter().position(|a| a.sym() == Some(v))
        {
            return Some(Value::Argument(i));
        }
        let k = self
            .space
            .common_at(loc)
            .filter(|k| *k < self.commons.vars.len())?;
        let subscripts = subscripts.into_iter().flatten().map(|e| self.value(e));
        let value = Value::Common(k, subscripts.collect::<Option<_>>()?);
        Some(value).filter(|v| self.is_evaluated(v))
    }

    /// Whether an element is one that the unit reads in any case.
    fn is_evaluated(&self, v: &Value) -> bool {
        self.certain || v.subscripts().is_none_or(|s| self.evaluated.contains(&s))
    }

    /// What an assignment writes of an array.
    fn written(&self, target: &Expr) -> Option<Written> {
        let array = target.base()?;
        let loc = self.space.loc(array);
        let symbol = &self.unit.symbols[array];
        (symbol.is_array() && !self.space.tangled.contains(loc)).then_some(())?;
        let shape = self.shape(array)?;
        let subscripts = match &target.kind {
            ExprKind::Var(_) => vec![None; shape.len()],
            ExprKind::Element(_, subscripts) => {
                let simple = subscripts.iter().map(|e| self.simple(e));
                simple.map(|e| e.map(Some)).collect::<Option<Vec<_>>>()?
            }
            _ => return None,
        };
        let slice = self.slice(subscripts, shape)?;
        let conditions = Conditions::new();
        Some(Written {
            loc,
            slice,
            conditions,
        })
    }

    /// The bounds of an array, unless it is declared with one element and may have more.
    fn shape(&self, array: SymId) -> Option<Shape> {
        shape(self.unit, array).filter(|s| s.last() != Some(&(1, Upper::Number(1))))
    }

    fn slice(
        &self,
        subscripts: Vec<SubscriptOfCaller>,
        shape: Shape,
    ) -> Option<Slice<SubscriptOfCaller>> {
        (subscripts.len() == shape.len()).then_some(Slice { subscripts, shape })
    }

    /// A subscript that is a number or a variable, from which it can be seen whether it stays the same.
    fn simple(&self, e: &Expr) -> Option<Expr> {
        if let Some(n) = Constants::of(self.unit).integer(e) {
            return Some(Expr::int(n, Span::NONE));
        }
        let v = variable(e)?;
        let symbol = &self.unit.symbols[v];
        let scalar = symbol.is_variable() && !symbol.is_array() && symbol.ty == Some(Type::INTEGER);
        scalar.then_some(Expr::var(v, Span::NONE))
    }

    /// The arrays that a call overwrites.
    fn written_by_call(&self, callee: SymId, args: &[Expr]) -> Vec<Written> {
        let name = &self.unit.symbols[callee].name;
        let (Some(summary), Some(effect)) = (self.all.0.get(name), self.effects.get(name)) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for (slot, writes) in &summary.writes {
            let Some((loc, actual)) = self.passed(*slot, effect.args, args) else {
                continue;
            };
            if self.space.tangled.contains(loc) {
                continue;
            }
            for w in writes {
                let made = self.slice_of_call(&w.slice, actual, args);
                let made = made.filter(|s| !s.shape.is_empty());
                let conditions = self.conditions_of_call(&w.conditions, args);
                if let (Some(slice), Some(conditions)) = (made, conditions) {
                    found.push(Written {
                        loc,
                        slice,
                        conditions,
                    });
                }
            }
        }
        found.sort_by_key(|w| w.loc);
        found
    }

    /// The location in a slot of a call, and the argument, unless it is in COMMON.
    fn passed<'e>(
        &self,
        slot: usize,
        n: usize,
        args: &'e [Expr],
    ) -> Option<(usize, Option<&'e Expr>)> {
        match slot.checked_sub(n + 1) {
            Some(k) => Some((self.space.common(k), None)),
            None => {
                let actual = args.get(slot)?;
                Some((self.space.loc(actual.base()?), Some(actual)))
            }
        }
    }

    /// What a slice of an array in a procedure is of the array that is passed, with simple subscripts.
    fn slice_of_call(
        &self,
        slice: &Slice,
        actual: Option<&Expr>,
        args: &[Expr],
    ) -> Option<Slice<SubscriptOfCaller>> {
        let caller = Caller {
            unit: self.unit,
            space: self.space,
            effects: self.effects,
        };
        let found = caller.slice(slice, actual, args)?;
        let simple = found.subscripts.iter().map(|e| match e {
            None => Some(None),
            Some(e) => self.simple(e).map(Some),
        });
        self.slice(simple.collect::<Option<_>>()?, found.shape)
    }

    /// The conditions of a procedure in a caller; those that always hold are left out. `None` if one never holds, or is not
    /// known.
    fn conditions_of_call(&self, conditions: &Conditions, args: &[Expr]) -> Option<Conditions> {
        let mut found = Conditions::new();
        for c in conditions {
            let (first, last) = (
                self.value_of_call(&c.first, args)?,
                self.value_of_call(&c.last, args)?,
            );
            let holds = match (&first, &last) {
                (Value::Number(first), _) if *first > c.from => return None,
                (_, Value::Number(last)) if *last < c.to => return None,
                (Value::Number(_), Value::Number(_)) => true,
                _ => false,
            };
            if !holds {
                let (from, to) = (c.from, c.to);
                found.insert(Covers {
                    first,
                    last,
                    from,
                    to,
                });
            }
        }
        Some(found)
    }

    fn value_of_call(&self, value: &Value, args: &[Expr]) -> Option<Value> {
        match value {
            Value::Number(n) => Some(Value::Number(*n)),
            Value::Argument(i) => self.value(args.get(*i)?),
            Value::Common(k, subscripts) => {
                (!self.changed.contains(self.space.common(*k))).then_some(())?;
                let subscripts = subscripts.iter().map(|s| self.value_of_call(s, args));
                let value = Value::Common(*k, subscripts.collect::<Option<_>>()?);
                Some(value).filter(|v| self.is_evaluated(v))
            }
        }
    }

    /// Adds what a statement itself changes.
    fn add_changed(&self, s: &Stmt, changed: &mut Set) {
        let mut touched = StatementEffects::nothing(self.space.len + self.unit.symbols.len());
        self.effects.own(self.unit, self.space, s, &mut touched);
        changed.union_with(&touched.assigned);
    }

    /// Forgets elements whose subscripts a statement changes: they now denote other elements.
    fn forget_changed(&mut self, s: &Stmt, calls: bool, done: &mut Vec<Written>) {
        match &s.kind {
            StmtKind::Assign(target, _) if !calls => {
                let Some(loc) = target.base().map(|v| self.space.loc(v)) else {
                    return;
                };
                self.changed.grow_and_insert(loc);
                if self.space.weak.contains(loc) {
                    return;
                }
                let mut changed = Set::with_capacity(loc + 1);
                changed.insert(loc);
                done.retain(|w| !w.changes_with(self.space, &changed));
            }
            _ if !calls => {}
            _ => {
                let mut changed = Set::with_capacity(self.space.len + self.unit.symbols.len());
                self.add_changed(s, &mut changed);
                self.changed.union_with(&changed);
                done.retain(|w| !w.changes_with(self.space, &changed));
            }
        }
    }

    /// Finds what a statement itself reads of arrays. Returns whether it calls something.
    fn own_reads(&mut self, s: &Stmt, done: &[Written]) -> bool {
        let mut found = Vec::new();
        let mut calls = false;
        let mut read = |e: &Expr| calls |= self.reads_in(e, &mut found);
        match &s.kind {
            StmtKind::Assign(target, value) => {
                target.children().into_iter().for_each(&mut read);
                read(value);
            }
            _ => s.for_each_own_expr(&mut read),
        }
        if calls {
            self.reads_of_effects(s, done);
            return true;
        }
        for (loc, slice) in found {
            self.read(loc, slice, &Conditions::new(), done);
        }
        false
    }

    /// Adds the parts of arrays in an expression. Returns whether it calls something.
    fn reads_in(
        &self,
        e: &Expr,
        found: &mut Vec<(usize, Option<Slice<SubscriptOfCaller>>)>,
    ) -> bool {
        let mut calls = false;
        e.walk(&mut |x| match &x.kind {
            ExprKind::Var(v) if self.unit.symbols[*v].is_array() => {
                found.push((self.space.loc(*v), None))
            }
            ExprKind::Element(v, subscripts) => {
                let of = |e: &Expr| self.simple(e);
                let slice = self
                    .shape(*v)
                    .and_then(|shape| self.slice(subscripts.iter().map(of).collect(), shape));
                // A section may go on beyond what a range says.
                let range = |e: &Expr| matches!(e.kind, ExprKind::Range(..));
                let slice = slice.filter(|_| !subscripts.iter().any(range));
                found.push((self.space.loc(*v), slice));
            }
            ExprKind::Call(f, _) => {
                calls |= !matches!(self.unit.symbols[*f].class, Class::Intrinsic(_));
            }
            ExprKind::Closure(..) | ExprKind::Apply(..) => calls = true,
            _ => {}
        });
        calls
    }

    /// Everything that a statement itself reads counts as read as a whole.
    fn reads_of_effects(&mut self, s: &Stmt, done: &[Written]) {
        let mut touched = StatementEffects::nothing(self.space.len + self.unit.symbols.len());
        self.effects.own(self.unit, self.space, s, &mut touched);
        let read = touched.read.ones().filter(|l| self.space.weak.contains(*l));
        for loc in read.collect::<Vec<_>>() {
            self.read(loc, None, &Conditions::new(), done);
        }
        // A function may be one whose adjoint reads more.
        for k in self.read_elsewhere.ones() {
            self.read(self.space.common(k), None, &Conditions::new(), done);
        }
    }

    /// Finds what a call reads of arrays. Returns whether it is known.
    fn call_reads(&mut self, s: &Stmt, callee: SymId, args: &[Expr], done: &[Written]) -> bool {
        let symbol = &self.unit.symbols[callee];
        let all = self.all;
        let effect = self.effects.get(&symbol.name);
        let summary = all.0.get(&symbol.name);
        let known = summary
            .zip(effect)
            .filter(|(_, e)| symbol.storage_class == StorageClass::Global && e.args == args.len());
        let Some((summary, effect)) = known else {
            self.reads_of_effects(s, done);
            return false;
        };
        let mut found = Vec::new();
        let mut calls = false;
        for (slot, a) in args.iter().enumerate() {
            match a.kind {
                ExprKind::Var(v) if self.unit.symbols[v].class.is_procedure() => {}
                // By reference: what is read is known.
                ExprKind::Var(_) if summary.arrays.contains(slot) => {}
                ExprKind::Element(..) if summary.arrays.contains(slot) => {
                    a.children()
                        .into_iter()
                        .for_each(|e| calls |= self.reads_in(e, &mut found));
                }
                _ => calls |= self.reads_in(a, &mut found),
            }
        }
        if calls {
            self.reads_of_effects(s, done);
            return false;
        }
        for (loc, slice) in found {
            self.read(loc, slice, &Conditions::new(), done);
        }
        for (slot, reads) in &summary.reads {
            let Some((loc, actual)) = self.passed(*slot, effect.args, args) else {
                continue;
            };
            for r in reads {
                let slice = r
                    .slice
                    .as_ref()
                    .and_then(|s| self.slice_of_call(s, actual, args));
                // What is not known to hold does not.
                let unless = self.conditions_of_read(&r.unless, args);
                if let Some(unless) = unless {
                    self.read(loc, slice, &unless, done);
                }
            }
        }
        true
    }

    /// The conditions in a caller under which something is not read; `None` if it is never read.
    fn conditions_of_read(&self, unless: &Conditions, args: &[Expr]) -> Option<Conditions> {
        if unless.is_empty() {
            return Some(Conditions::new());
        }
        match self.conditions_of_call(unless, args) {
            Some(c) if c.is_empty() => None,
            Some(c) => Some(c),
            None => Some(Conditions::new()),
        }
    }

    /// Adds that a part of an array is read here, unless it has been overwritten. `None` stands for any part.
    fn read(
        &mut self,
        loc: usize,
        slice: Option<Slice<SubscriptOfCaller>>,
        unless: &Conditions,
        done: &[Written],
    ) {
        let covers = |w: &&Written| {
            let mut subscripts = w.slice.subscripts.iter().enumerate();
            w.loc == loc
                && subscripts.all(|(i, sub)| match (sub, &slice) {
                    (None, _) => true,
                    (_, None) => false,
                    (Some(_), Some(s)) => {
                        s.shape == w.slice.shape
                            && s.subscripts.get(i).is_some_and(|r| same_subscript(sub, r))
                    }
                })
        };
        let written = done.iter().filter(covers).map(|w| &w.conditions);
        let mut unless = unless.clone();
        if let Some(conditions) = written.min_by_key(|c| c.len()) {
            if conditions.is_empty() {
                return;
            }
            unless.extend(conditions.iter().cloned());
        }
        if unless.len() > MOST_CONDITIONS {
            unless.clear();
        }
        let slice = slice.map(|s| Slice {
            subscripts: s.subscripts.iter().map(|e| self.subscript(e)).collect(),
            shape: s.shape,
        });
        let known = self.reads.entry(loc).or_default();
        match known
            .iter_mut()
            .find(|r| r.unless.is_empty() == unless.is_empty())
        {
            Some(r) => {
                r.slice = r.slice.take().zip(slice).and_then(|(a, b)| a.joined(&b));
                r.unless.extend(unless);
                if r.unless.len() > MOST_CONDITIONS {
                    r.unless.clear();
                }
            }
            None => known.push(Read { slice, unless }),
        }
    }

    /// What a subscript is to the callers of the unit.
    fn subscript(&self, e: &SubscriptOfCaller) -> Subscript {
        match e.as_ref().map(|e| &e.kind) {
            Some(ExprKind::Int(n)) => Subscript::Number(*n),
            Some(ExprKind::Var(v)) => unchanged_argument(self.unit, self.space, self.effects, *v)
                .map_or(Subscript::Any, Subscript::Argument),
            _ => Subscript::Any,
        }
    }

    /// What the unit does to its callers, from what is written at its end.
    fn summary(self, end: Vec<Written>) -> Summary {
        let mut summary = Summary::default();
        for slot in 0..self.space.slots {
            let Some(loc) = self.space.slot(slot) else {
                continue;
            };
            if !self.space.weak.contains(loc) || self.space.tangled.contains(loc) {
                continue;
            }
            summary.arrays.grow_and_insert(slot);
            if let Some(reads) = self.reads.get(&loc) {
                summary.reads.insert(slot, reads.clone());
            }
            let writes = end.iter().filter(|w| w.loc == loc).filter_map(|w| {
                let same = |e: &SubscriptOfCaller| match self.subscript(e) {
                    // Any element is not the whole dimension.
                    Subscript::Any if e.is_some() => None,
                    known => Some(known),
                };
                let subscripts = w.slice.subscripts.iter().map(same).collect::<Option<_>>()?;
                let slice = Slice {
                    subscripts,
                    shape: w.slice.shape.clone(),
                };
                let conditions = w.conditions.clone();
                Some(Write { slice, conditions })
            });
            let writes: Vec<Write> = writes.collect();
            if !writes.is_empty() {
                summary.writes.insert(slot, writes);
            }
        }
        summary
    }
}
