//! Finds how many values a forward sweep records at most, as far as this is known when it begins.
//!
//! A tape that is exactly as large as required costs next to nothing. A tape that is large enough for
//! everything takes address space from the system and gives it back, which takes longer than a small
//! subprogram altogether.

use super::sweep_data::{Replay, Sweeps};
use super::tape::{TapeKind, Tapes};
use super::unit_builder::UnitBuilder;
use super::{AdjointEngine, counted_down};
use crate::locations::Set;
use farfel_lang::Span;
use farfel_lang::diagnostic::Diagnostic;
use farfel_lang::ir::build;
use farfel_lang::ir::{
    BinOp, Block, Class, Do, DoControl, Expr, ExprKind, Name, Stmt, StmtKind, StorageClass, SymId,
    Type, UnOp, Unit,
};
use farfel_lang::storage::constant;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

/// The maximum size in bytes of a tape that is not an ALLOCATABLE array: requesting memory from the system
/// takes longer than a small subprogram.
pub(super) const SMALL_BYTES: i64 = 4096;

/// The maximum depth of calls that are followed.
const MOST_CALLS: usize = 12;

/// A sum of more terms than this is not worth computing.
const MOST_TERMS: usize = 40;

/// What counts for a quantity that is not known when the head begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Unknown {
    /// Nothing: then the size is not known.
    Nothing,
    /// This number.
    Guess(i64),
    /// Of the number of iterations of a loop that may end early, the maximum.
    Maximum,
}

impl Unknown {
    fn guess(self) -> Option<i64> {
        match self {
            Unknown::Guess(n) => Some(n),
            Unknown::Nothing | Unknown::Maximum => None,
        }
    }
}

/// An INTEGER that is known when the unit begins.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Bound {
    Number(i64),
    /// An argument that is never assigned.
    Argument(SymId),
    Sum(Box<Bound>, Box<Bound>),
    Difference(Box<Bound>, Box<Bound>),
    Multiple(i64, Box<Bound>),
    Quotient(Box<Bound>, i64),
    Most(Vec<Bound>),
    Least(Vec<Bound>),
}

/// A product of a number and the trip counts of enclosing loops.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Term {
    number: i64,
    trips: Vec<Bound>,
}

/// The sweeps of a unit, with facts that the text of its forward sweep does not show.
pub(super) struct SweptUnit {
    pub builder: UnitBuilder,
    pub tapes: Tapes,
    pub made: Sweeps,
    pub replays: HashMap<SymId, Replay>,
    /// The COMMON variables, by number, that the unit must name but does not declare.
    pub undeclared: BTreeSet<usize>,
    /// The subprograms whose calls overwrite values that the unit cannot save.
    pub unsavable_calls: BTreeSet<Name>,
    pub open_arguments: BTreeSet<Name>,
    pub errors: Vec<Diagnostic>,
    /// Results of [`tape_usage`] for its tapes.
    pub usage_cache: RefCell<HashMap<(TapeKind, Unknown), TapeUsage>>,
}

/// The values that are on one tape at the same time.
#[derive(Debug, Clone, Default)]
pub(super) struct TapeUsage {
    /// Those that the forward sweep records.
    pub recorded: Vec<Term>,
    /// Those that the reverse sweep records in addition when it executes something again. Only one of these
    /// lists applies at a time.
    pub replayed: Vec<Vec<Term>>,
}

impl TapeUsage {
    /// The maximum number of values at any time.
    pub fn peak(self) -> Vec<Term> {
        let mut all = self.recorded;
        let mut most = 0;
        for terms in self.replayed {
            match number(&terms) {
                Some(n) => most = most.max(n),
                // It is not known which of them is the largest.
                None => terms.into_iter().for_each(|t| match t.trips.is_empty() {
                    true => add(&mut all, t.number),
                    false => all.push(t),
                }),
            }
        }
        if most > 0 {
            add(&mut all, most);
        }
        all
    }
}

/// The number of values that a unit records on one tape, in terms of its own arguments.
pub(super) fn tape_usage(
    engine: &AdjointEngine,
    sweeps: &[SweptUnit],
    part: usize,
    kind: TapeKind,
    unknown: Unknown,
    depth: usize,
) -> Option<TapeUsage> {
    if depth > MOST_CALLS {
        return None;
    }
    let SweptUnit {
        builder,
        tapes,
        made,
        replays,
        usage_cache,
        ..
    } = sweeps.get(part)?;
    if let Some(known) = usage_cache.borrow().get(&(kind, unknown)) {
        return Some(known.clone());
    }
    let p = &engine.parts[part];
    let assigned = engine.assigned_in(&builder.unit, &p.space, &p.body);
    let mut counter = Counter {
        engine,
        sweeps,
        builder,
        values: tapes.used.get(&kind).map(|v| v.values()),
        kind,
        assigned,
        part,
        body: &made.forward,
        replays,
        loops: Vec::new(),
        asked: Vec::new(),
        replayed: Vec::new(),
        unknown,
        depth,
    };
    let mut recorded = Vec::new();
    counter.block(&made.forward, &mut recorded)?;
    let replayed = counter.replayed;
    let found = TapeUsage { recorded, replayed };
    usage_cache
        .borrow_mut()
        .insert((kind, unknown), found.clone());
    Some(found)
}

/// Expresses such numbers in terms of the head's arguments, if a unit is the last call of a head (`last`).
/// Returns `None` if the arguments do not determine them.
pub(super) fn seen_from_head(
    engine: &AdjointEngine,
    sweeps: &[SweptUnit],
    mut part: usize,
    mut terms: Vec<Term>,
) -> Option<(usize, Vec<Term>)> {
    while engine.parts[part].is_last_call {
        let (caller, args) = engine.only_call_of(part)?;
        let SweptUnit {
            builder,
            replays,
            made,
            ..
        } = sweeps.get(caller)?;
        let p = &engine.parts[caller];
        let counter = Counter {
            engine,
            sweeps,
            builder,
            values: None,
            kind: TapeKind::Integer(4),
            assigned: engine.assigned_in(&builder.unit, &p.space, &p.body),
            part: caller,
            body: &made.forward,
            replays,
            loops: Vec::new(),
            asked: Vec::new(),
            replayed: Vec::new(),
            unknown: Unknown::Nothing,
            depth: 0,
        };
        let dummies = engine.parts[part].builder.unit.args.iter();
        let dummies = dummies.zip(args).filter_map(|(d, a)| Some((d.sym()?, a)));
        let (dummies, args): (Vec<SymId>, Vec<Expr>) = dummies.map(|(d, a)| (d, a.clone())).unzip();
        for t in &mut terms {
            for b in &mut t.trips {
                *b = counter.translated(b, &dummies, &args)?;
            }
        }
        part = caller;
    }
    Some((part, terms))
}

impl Term {
    /// The constant factor.
    pub fn number(&self) -> i64 {
        self.number
    }

    /// The trip counts of enclosing loops.
    pub fn trips(&self) -> &[Bound] {
        &self.trips
    }

    /// The value, with `guess` for every argument; `None` if there is an argument and no guess.
    fn estimate(&self, guess: Option<i64>) -> Option<i64> {
        self.trips.iter().try_fold(self.number, |n, trips| {
            Some(n.saturating_mul(trips.estimate(guess)?.max(0)))
        })
    }
}

impl Bound {
    fn estimate(&self, guess: Option<i64>) -> Option<i64> {
        let of = |b: &Bound| b.estimate(guess);
        let all = |l: &[Bound]| l.iter().map(of).collect::<Option<Vec<i64>>>();
        Some(match self {
            Bound::Number(n) => *n,
            Bound::Argument(_) => guess?,
            Bound::Sum(a, b) => of(a)?.saturating_add(of(b)?),
            // If both ends are guesses, the distance between them is another guess.
            Bound::Difference(a, b) => match (a.estimate(None), b.estimate(None)) {
                (Some(a), Some(b)) => a.saturating_sub(b),
                (None, None) => guess?,
                _ => of(a)?.saturating_sub(of(b)?),
            },
            Bound::Multiple(k, a) => k.saturating_mul(of(a)?),
            Bound::Quotient(a, k) => of(a)?.checked_div(*k).unwrap_or(0),
            Bound::Most(l) => all(l)?.into_iter().max().unwrap_or(0),
            Bound::Least(l) => all(l)?.into_iter().min().unwrap_or(0),
        })
    }
}

/// The sum, with `guess` for every argument; `None` if there is an argument and no guess.
pub(super) fn estimate(terms: &[Term], guess: Option<i64>) -> Option<i64> {
    terms.iter().try_fold(0i64, |sum, t| {
        Some(sum.saturating_add(t.estimate(guess)?.max(0)))
    })
}

/// Adds a product. Known trip counts are multiplied into its number.
fn add_product(out: &mut Vec<Term>, mut number: i64, mut trips: Vec<Bound>) {
    trips.retain(|t| match t.estimate(None) {
        Some(n) => {
            number = number.saturating_mul(n.max(0));
            false
        }
        None => true,
    });
    match trips.is_empty() {
        true if number == 0 => {}
        true => add(out, number),
        false => match out.iter_mut().find(|t| t.trips == trips) {
            Some(t) => t.number = t.number.saturating_add(number),
            None => out.push(Term { number, trips }),
        },
    }
}

struct Counter<'a> {
    engine: &'a AdjointEngine,
    sweeps: &'a [SweptUnit],
    builder: &'a UnitBuilder,
    /// The array of the tape.
    values: Option<SymId>,
    kind: TapeKind,
    /// Locations that the unit assigns.
    assigned: Set,
    part: usize,
    body: &'a Block,
    replays: &'a HashMap<SymId, Replay>,
    /// The variables of the enclosing loops, with their minimum and maximum values.
    loops: Vec<(SymId, [Option<Bound>; 2])>,
    /// The variables whose values are being determined.
    asked: Vec<SymId>,
    /// What the reverse sweep records in addition.
    replayed: Vec<Vec<Term>>,
    unknown: Unknown,
    depth: usize,
}

impl Counter<'_> {
    fn unit(&self) -> &Unit {
        &self.builder.unit
    }

    fn block(&mut self, block: &[Stmt], out: &mut Vec<Term>) -> Option<()> {
        for (i, s) in block.iter().enumerate() {
            self.stmt(s, &block[..i], out)?;
            if out.len() > MOST_TERMS {
                return None;
            }
        }
        Some(())
    }

    /// Counts what a statement records; `before`: those before it in its block.
    fn stmt(&mut self, s: &Stmt, before: &[Stmt], out: &mut Vec<Term>) -> Option<()> {
        match &s.kind {
            StmtKind::Assign(target, _) => {
                let base = target.base();
                if base.is_some() && base == self.values {
                    add(out, 1);
                } else if let Some(replay) = base.and_then(|s| self.replays.get(&s)) {
                    // This assignment marks the start of a loop whose reverse sweep needs the tape.
                    return self.replay(replay, out);
                }
            }
            StmtKind::Do(d) => {
                if let DoControl::Count { var, .. } = &d.control
                    && let Some(replay) = self.replays.get(var)
                {
                    return self.replay(replay, out);
                }
                let mut inner = Vec::new();
                let around = match &d.control {
                    DoControl::Count {
                        var,
                        from,
                        to,
                        step,
                    } => Some((*var, self.around(from, to, step.as_ref()))),
                    _ => None,
                };
                if let Some((var, (ends, _))) = &around {
                    self.loops.push((*var, ends.clone()));
                }
                let counted = self.block(&d.body, &mut inner);
                if around.is_some() {
                    self.loops.pop();
                }
                counted?;
                if inner.is_empty() {
                    return Some(());
                }
                let trips = match around {
                    Some((_, (_, trips))) => trips,
                    None if s.label.is_none() => self.most_iterations(d, before),
                    None => None,
                };
                let trips = self.or_guess(trips)?;
                for mut t in inner {
                    t.trips.push(trips.clone());
                    add_product(out, t.number, t.trips);
                }
            }
            StmtKind::LogicalIf(_, inner) => self.stmt(inner, &[], out)?,
            StmtKind::If(_) | StmtKind::Select(_) => {
                // Only one arm is executed: of numbers of the same iterations, the largest counts.
                let mut most: Vec<Term> = Vec::new();
                for b in s.blocks() {
                    let mut arm = Vec::new();
                    self.block(b, &mut arm)?;
                    for t in arm {
                        match most.iter_mut().find(|m| m.trips == t.trips) {
                            Some(m) => m.number = m.number.max(t.number),
                            None => most.push(t),
                        }
                    }
                }
                for t in most {
                    add_product(out, t.number, t.trips);
                }
            }
            StmtKind::Call(callee, args) => self.call(*callee, args, out)?,
            _ => {}
        }
        Some(())
    }

    fn or_guess(&self, known: Option<Bound>) -> Option<Bound> {
        known.or_else(|| self.unknown.guess().map(Bound::Number))
    }

    /// The maximum number of iterations of a loop that may end early, if that is what counts; `before`: the
    /// statements before the loop in its block.
    fn most_iterations(&mut self, d: &Do, before: &[Stmt]) -> Option<Bound> {
        if self.unknown != Unknown::Maximum {
            return None;
        }
        let control = counted_down::control(self.unit(), d)?;
        // Nothing else changes the variables.
        let mut all = control.flags.iter().chain([&control.counter]);
        if !all.all(|s| self.values_of(*s).is_some()) {
            return None;
        }
        self.end(counted_down::last_value(before, control.counter)?, true)
    }

    /// Counts what a loop with repeated iterations records: the states, and one iteration. The latter is
    /// recorded in the reverse sweep only.
    fn replay(&mut self, replay: &Replay, out: &mut Vec<Term>) -> Option<()> {
        if self.unknown == Unknown::Maximum {
            // `values_of` does not know what is executed again.
            return None;
        }
        let others = std::mem::take(&mut self.replayed);
        let mut once = Vec::new();
        self.block(&replay.body, &mut once)?;
        let inner = TapeUsage {
            recorded: once,
            replayed: std::mem::replace(&mut self.replayed, others),
        };
        let most = inner.peak();
        if !most.is_empty() && !self.replayed.contains(&most) {
            self.replayed.push(most);
        }
        let [from, to, step] = &replay.steps;
        if replay.slots == 0 {
            return Some(());
        }
        let (_, trips) = self.around(from, to, Some(step));
        let most = Bound::Number(i64::from(replay.slots));
        let slots = match trips {
            Some(trips) => Bound::Least(vec![most, trips]),
            None => most,
        };
        if self.kind == TapeKind::Integer(4) {
            let all = match (replay.filed, &slots) {
                (0, _) => slots.clone(),
                (filed, Bound::Least(of)) => {
                    let all = i64::from(replay.slots) + i64::from(filed);
                    let mut of = of.clone();
                    of[0] = Bound::Number(all);
                    Bound::Least(of)
                }
                (filed, _) => Bound::Number(i64::from(replay.slots) + i64::from(filed)),
            };
            add_product(out, 1 + i64::from(replay.filed > 0), vec![all]);
        }
        let kind = self.kind;
        for m in replay.state.iter().filter(|m| m.kind == kind) {
            let mut trips = vec![slots.clone()];
            for (low, high) in &m.bounds {
                let extent = self.around(low, high, None).1;
                trips.push(self.or_guess(extent)?);
            }
            add_product(out, 1, trips);
        }
        Some(())
    }

    fn call(&mut self, callee: SymId, args: &[Expr], out: &mut Vec<Term>) -> Option<()> {
        let name = &self.unit().symbols[callee].name;
        let parts = &self.engine.parts;
        let Some(part) = parts.iter().position(|p| p.forward_name == *name) else {
            if crate::custom_rules::bundled::writes_checkpoints(&self.unit().symbols[callee]) {
                return Some(());
            }
            let tape = |a: &Expr| a.base().is_some() && a.base() == self.values;
            return (!args.iter().any(tape)).then_some(());
        };
        let dummies: Vec<SymId> = parts[part]
            .builder
            .unit
            .args
            .iter()
            .zip(&parts[part].derivative_args)
            .filter(|(_, derivative)| !**derivative)
            .filter_map(|(a, _)| a.sym())
            .collect();
        let of = tape_usage(
            self.engine,
            self.sweeps,
            part,
            self.kind,
            self.unknown,
            self.depth + 1,
        )?;
        for t in self.in_caller(of.recorded, &dummies, args)? {
            add_product(out, t.number, t.trips);
        }
        for terms in of.replayed {
            let terms = self.in_caller(terms, &dummies, args)?;
            if !self.replayed.contains(&terms) {
                self.replayed.push(terms);
            }
        }
        Some(())
    }

    /// Expresses what a callee records in terms of the caller's variables.
    fn in_caller(&self, terms: Vec<Term>, dummies: &[SymId], args: &[Expr]) -> Option<Vec<Term>> {
        let one = |t: Term| {
            let trips = t.trips.iter();
            let trips = trips.map(|b| self.or_guess(self.translated(b, dummies, args)));
            Some(Term {
                number: t.number,
                trips: trips.collect::<Option<Vec<Bound>>>()?,
            })
        };
        terms.into_iter().map(one).collect()
    }

    /// Expresses a bound of a callee in terms of the caller's variables.
    fn translated(&self, b: &Bound, dummies: &[SymId], args: &[Expr]) -> Option<Bound> {
        let one = |b: &Bound| self.translated(b, dummies, args).map(Box::new);
        let all = |l: &[Bound]| {
            l.iter()
                .map(|b| self.translated(b, dummies, args))
                .collect::<Option<Vec<Bound>>>()
        };
        Some(match b {
            Bound::Number(n) => Bound::Number(*n),
            Bound::Argument(s) => {
                let actual = args.get(dummies.iter().position(|d| d == s)?)?;
                match (constant::integer(self.unit(), actual), &actual.kind) {
                    (Some(n), _) => Bound::Number(n),
                    (None, ExprKind::Var(s)) if self.is_fixed(*s) => Bound::Argument(*s),
                    _ => return None,
                }
            }
            Bound::Sum(a, b) => Bound::Sum(one(a)?, one(b)?),
            Bound::Difference(a, b) => Bound::Difference(one(a)?, one(b)?),
            Bound::Multiple(k, a) => Bound::Multiple(*k, one(a)?),
            Bound::Quotient(a, k) => Bound::Quotient(one(a)?, *k),
            Bound::Most(l) => Bound::Most(all(l)?),
            Bound::Least(l) => Bound::Least(all(l)?),
        })
    }

    /// Whether a symbol is an INTEGER argument that keeps its value from entry.
    fn is_fixed(&self, s: SymId) -> bool {
        let symbol = &self.unit().symbols[s];
        symbol.is_variable()
            && !symbol.is_array()
            && symbol.storage_class == StorageClass::Dummy
            && matches!(symbol.ty, Some(Type::Integer(_)))
            && !self
                .assigned
                .contains(self.engine.parts[self.part].space.loc(s))
    }

    /// The minimum and maximum values of a loop's variable, and the maximum number of iterations.
    fn around(
        &mut self,
        from: &Expr,
        to: &Expr,
        step: Option<&Expr>,
    ) -> ([Option<Bound>; 2], Option<Bound>) {
        let step = match step {
            None => Some(1),
            Some(e) => match constant::integer(self.unit(), e) {
                Some(0) => return ([None, None], None),
                Some(n) => Some(n),
                None => {
                    return ([None, None], self.strided(from, to, e));
                }
            },
        };
        let Some(step) = step else {
            return ([None, None], None);
        };
        let (first, last) = match step > 0 {
            true => (from, to),
            false => (to, from),
        };
        let ends = [self.end(first, false), self.end(last, true)];
        let trips = match &ends {
            [Some(low), Some(high)] => {
                let length = Bound::Difference(Box::new(high.clone()), Box::new(low.clone()));
                let length = match step.abs() {
                    1 => length,
                    k => Bound::Quotient(Box::new(length), k),
                };
                Some(Bound::Sum(Box::new(length), Box::new(Bound::Number(1))))
            }
            _ => None,
        };
        (ends, trips)
    }

    /// The number of iterations of a loop that runs from a constant to a variable with the value `n*step`, in
    /// steps of `step`.
    fn strided(&mut self, from: &Expr, to: &Expr, step: &Expr) -> Option<Bound> {
        let from = constant::integer(self.unit(), from)?;
        let ExprKind::Var(step) = step.kind else {
            return None;
        };
        let ExprKind::Var(last) = to.kind else {
            return None;
        };
        if !self.is_fixed(step) {
            return None;
        }
        let is_step = |e: &Expr| matches!(e.kind, ExprKind::Var(s) if s == step);
        let mut most = Vec::new();
        for value in self.values_of(last)? {
            let ExprKind::Binary(BinOp::Mul, a, b) = &value.kind else {
                return None;
            };
            let times = match (is_step(a), is_step(b)) {
                (_, true) => a,
                (true, _) => b,
                _ => return None,
            };
            most.push(self.end(times, true)?);
        }
        let more = Bound::Number(from.saturating_abs().saturating_add(1));
        Some(Bound::Sum(Box::new(Bound::Most(most)), Box::new(more)))
    }

    /// All values that the unit gives a local variable, if there are any, and if it gives them by assignments
    /// only.
    fn values_of(&self, s: SymId) -> Option<Vec<Expr>> {
        let symbol = &self.unit().symbols[s];
        if symbol.is_array() || symbol.storage_class != StorageClass::Local || symbol.saved {
            return None;
        }
        let space = &self.engine.parts[self.part].space;
        if space.tangled.contains(space.loc(s)) {
            return None;
        }
        let mut values = Vec::new();
        let mut only = true;
        for stmt in self.body {
            stmt.walk(&mut |x| {
                match &x.kind {
                    StmtKind::Assign(t, value) if matches!(t.kind, ExprKind::Var(v) if v == s) => {
                        values.push(value.clone());
                    }
                    StmtKind::Do(d) => {
                        if let DoControl::Count { var, .. } = &d.control {
                            only &= *var != s;
                        }
                    }
                    StmtKind::Call(_, args) => {
                        only &= !args.iter().any(|a| a.base() == Some(s));
                    }
                    StmtKind::Assign(..)
                    | StmtKind::If(_)
                    | StmtKind::LogicalIf(..)
                    | StmtKind::Select(_)
                    | StmtKind::Comment(_)
                    | StmtKind::Continue
                    | StmtKind::Stop(_) => {}
                    _ => x.for_each_own_expr(&mut |e| {
                        e.for_each_symbol(&mut |v| only &= v != s);
                    }),
                }
                x.for_each_own_expr(&mut |e| {
                    e.walk(&mut |c| {
                        if let ExprKind::Call(f, args) = &c.kind {
                            let intrinsic =
                                matches!(self.unit().symbols[*f].class, Class::Intrinsic(_));
                            only &= intrinsic || !args.iter().any(|a| a.base() == Some(s));
                        }
                    });
                });
            });
        }
        (only && !values.is_empty()).then_some(values)
    }

    /// The maximum value that an expression can have, or the minimum.
    fn end(&mut self, e: &Expr, up: bool) -> Option<Bound> {
        if let Some(n) = constant::integer(self.unit(), e) {
            return Some(Bound::Number(n));
        }
        Some(match &e.kind {
            ExprKind::Paren(a) | ExprKind::Unary(UnOp::Plus, a) => self.end(a, up)?,
            ExprKind::Unary(UnOp::Minus, a) => Bound::Multiple(-1, Box::new(self.end(a, !up)?)),
            ExprKind::Binary(BinOp::Add, a, b) => {
                Bound::Sum(Box::new(self.end(a, up)?), Box::new(self.end(b, up)?))
            }
            ExprKind::Binary(BinOp::Sub, a, b) => {
                Bound::Difference(Box::new(self.end(a, up)?), Box::new(self.end(b, !up)?))
            }
            ExprKind::Binary(BinOp::Mul, a, b) => {
                let number = |e| constant::integer(self.unit(), e);
                let (k, other) = match (number(a), number(b)) {
                    (Some(k), _) => (k, b),
                    (_, Some(k)) => (k, a),
                    _ => return None,
                };
                Bound::Multiple(k, Box::new(self.end(other, up == (k >= 0))?))
            }
            ExprKind::Binary(BinOp::Div, a, b) => {
                let k = constant::integer(self.unit(), b).filter(|k| *k > 0)?;
                Bound::Quotient(Box::new(self.end(a, up)?), k)
            }
            ExprKind::Call(f, args) => {
                let symbol = &self.unit().symbols[*f];
                if !matches!(symbol.class, Class::Intrinsic(_)) {
                    return None;
                }
                let name = symbol.name.clone();
                match (name.as_str(), args.as_slice()) {
                    ("MOD", [_, b]) => {
                        let k = constant::integer(self.unit(), b).filter(|k| *k > 0)?;
                        Bound::Number(if up { k - 1 } else { 1 - k })
                    }
                    ("MAX" | "MAX0" | "MIN" | "MIN0", args) => {
                        let list = args
                            .iter()
                            .map(|a| self.end(a, up))
                            .collect::<Option<Vec<Bound>>>()?;
                        match name.starts_with("MAX") {
                            true => Bound::Most(list),
                            false => Bound::Least(list),
                        }
                    }
                    _ => return None,
                }
            }
            ExprKind::Var(s) => {
                if let Some((_, ends)) = self.loops.iter().rev().find(|(v, _)| v == s) {
                    return ends[usize::from(up)].clone();
                }
                if self.is_fixed(*s) {
                    return Some(Bound::Argument(*s));
                }
                if !matches!(self.unit().symbols[*s].ty, Some(Type::Integer(_)))
                    || self.asked.contains(s)
                {
                    return None;
                }
                let mut values = self.values_of(*s)?;
                if self.unknown == Unknown::Maximum {
                    // Steps away from the end do not matter.
                    let away = |n: i64| if up { n <= 0 } else { n >= 0 };
                    let step = |v: &Expr| counted_down::step(self.unit(), *s, v);
                    values.retain(|v| !step(v).is_some_and(away));
                    if values.is_empty() {
                        return None;
                    }
                }
                self.asked.push(*s);
                // The current loops do not enclose the assignments.
                let loops = std::mem::take(&mut self.loops);
                let list = values
                    .iter()
                    .map(|v| self.end(v, up))
                    .collect::<Option<Vec<Bound>>>();
                self.loops = loops;
                self.asked.pop();
                let mut list = list?;
                match (list.len(), up) {
                    (1, _) => list.remove(0),
                    (_, true) => Bound::Most(list),
                    (_, false) => Bound::Least(list),
                }
            }
            _ => return None,
        })
    }
}

fn add(out: &mut Vec<Term>, number: i64) {
    match out.iter_mut().find(|t| t.trips.is_empty()) {
        Some(t) => t.number = t.number.saturating_add(number),
        None => out.push(Term {
            number,
            trips: Vec::new(),
        }),
    }
}

/// Whether a tape for a sum can be an array of fixed size.
pub(super) fn is_small(kind: TapeKind, terms: &[Term]) -> bool {
    number(terms).is_some_and(|n| n.saturating_mul(kind.bytes()) <= SMALL_BYTES)
}

/// A sum that is a constant, as one term.
pub(super) fn folded(terms: &[Term]) -> Option<Vec<Term>> {
    let mut out = Vec::new();
    add(&mut out, estimate(terms, None)?);
    Some(out)
}

/// The constant, if no term depends on loops.
pub(super) fn number(terms: &[Term]) -> Option<i64> {
    match terms {
        [] => Some(0),
        [t] if t.trips.is_empty() => Some(t.number),
        _ => None,
    }
}

/// Returns the sum, or `limit` if that is less, as an expression of arguments only, since a reverse sweep
/// may have to allocate the tape again where nothing else is known.
pub(super) fn total(builder: &mut UnitBuilder, terms: &[Term], limit: i64) -> Expr {
    let span = Span::NONE;
    let long = |n| Expr::long(n, span);
    let fixed = terms.iter().find(|t| t.trips.is_empty());
    let mut sum = fixed.map(|t| long(t.number));
    for t in terms.iter().filter(|t| !t.trips.is_empty()) {
        // Numbers of iterations are INTEGER*4, their products and sums may be larger.
        let short = t.number == 1 && t.trips.len() == 1 && sum.is_some();
        let mut product = (!short).then(|| long(t.number));
        for trips in &t.trips {
            let trips = expr(builder, trips);
            let trips = builder.call("MAX", vec![trips, Expr::int(0, span)], span);
            product = Some(match product {
                Some(p) => Expr::binary(BinOp::Mul, p, trips),
                None => trips,
            });
        }
        sum = match (sum, product) {
            (Some(sum), Some(product)) => Some(Expr::binary(BinOp::Add, sum, product)),
            (sum, product) => sum.or(product),
        };
    }
    let sum = sum.unwrap_or_else(|| long(0));
    builder.call("MIN", vec![sum, long(limit)], span)
}

/// Writes a bound that is a sum as multiples of different values and one number; `None` if it is no sum or
/// its numbers are too large.
fn sum_of_multiples(b: &Bound) -> Option<(Vec<(i64, &Bound)>, i64)> {
    fn collect<'b>(
        b: &'b Bound,
        factor: i64,
        parts: &mut Vec<(i64, &'b Bound)>,
        number: &mut i64,
    ) -> Option<()> {
        match b {
            Bound::Number(n) => *number = number.checked_add(n.checked_mul(factor)?)?,
            Bound::Sum(x, y) => {
                collect(x, factor, parts, number)?;
                collect(y, factor, parts, number)?;
            }
            Bound::Difference(x, y) => {
                collect(x, factor, parts, number)?;
                collect(y, factor.checked_neg()?, parts, number)?;
            }
            Bound::Multiple(k, x) => collect(x, factor.checked_mul(*k)?, parts, number)?,
            other => match parts.iter_mut().find(|(_, p)| *p == other) {
                Some((k, _)) => *k = k.checked_add(factor)?,
                None => parts.push((factor, other)),
            },
        }
        Some(())
    }
    if !matches!(b, Bound::Sum(..) | Bound::Difference(..)) {
        return None;
    }
    let (mut parts, mut number) = (Vec::new(), 0);
    collect(b, 1, &mut parts, &mut number)?;
    parts.retain(|(k, _)| *k != 0);
    // A sum does not begin with a sign.
    parts.sort_by_key(|(k, _)| *k < 0);
    Some((parts, number))
}

fn expr(builder: &mut UnitBuilder, b: &Bound) -> Expr {
    let span = Span::NONE;
    if let Some((parts, number)) = sum_of_multiples(b) {
        let mut sum = None;
        for (k, part) in parts {
            let part = expr(builder, part);
            let size = match k {
                1 | -1 => part,
                _ => build::product(Expr::int(k.saturating_abs(), span), part),
            };
            sum = Some(match sum {
                Some(sum) if k < 0 => build::difference(sum, size),
                Some(sum) => build::sum(sum, size),
                None if k < 0 => Expr::minus(build::paren(size), span),
                None => size,
            });
        }
        return match sum {
            None => Expr::int(number, span),
            Some(sum) if number == 0 => sum,
            Some(sum) if number < 0 => {
                build::difference(sum, Expr::int(number.saturating_neg(), span))
            }
            Some(sum) => build::sum(sum, Expr::int(number, span)),
        };
    }
    match b {
        Bound::Number(n) => Expr::int(*n, span),
        Bound::Argument(s) => Expr::var(*s, span),
        Bound::Sum(a, b) => {
            let (a, b) = (expr(builder, a), expr(builder, b));
            build::sum(a, b)
        }
        Bound::Difference(a, b) => {
            let (a, b) = (expr(builder, a), expr(builder, b));
            build::difference(a, b)
        }
        Bound::Multiple(k, a) => {
            let a = expr(builder, a);
            build::product(Expr::int(*k, span), a)
        }
        Bound::Quotient(a, k) => {
            let a = expr(builder, a);
            Expr::binary(BinOp::Div, build::paren(a), Expr::int(*k, span))
        }
        Bound::Most(list) | Bound::Least(list) => {
            let name = match b {
                Bound::Most(_) => "MAX",
                _ => "MIN",
            };
            let mut args: Vec<Expr> = list.iter().map(|b| expr(builder, b)).collect();
            match args.len() {
                1 => args.remove(0),
                _ => builder.call(name, args, span),
            }
        }
    }
}
