//! What calls change of arrays: only a slice ([`super::slices`]), or nothing unless some flags are set ([`super::guards`]). And
//! what they overwrite before they read it ([`super::overwritten`]).

use super::elements::{Elements, Range};
use super::overwritten::{Conditions, ReadOnEntry, Value};
use super::recompute::when;
use super::save::save;
use super::saved_variables::SavedVariables;
use super::slices::{self, Caller, Slice, Subscript, SubscriptOfCaller};
use super::sweep::Sweeper;
use super::tbr::{Condition, Needs};
use crate::affine::Affine;
use farfel_lang::Span;
use farfel_lang::ir::build::binary;
use farfel_lang::ir::{
    Arg, BinOp, Block, Expr, ExprKind, Name, Stmt, StmtKind, StorageClass, SymId, Type,
};
use farfel_lang::storage::constant::{self, Constants};
use std::collections::HashMap;

/// Smaller arrays are kept whatever the flags say: a test would cost more lines than it is worth.
const LEAST_GUARDED: i64 = 512;

/// The maximum number of flags that are tested.
const MOST_FLAGS: usize = 2;

/// What a call may change of an array.
#[derive(Debug, Clone)]
pub(super) struct ChangedPart {
    array: SymId,
    /// The smallest and the largest subscripts; `None` for the whole array.
    section: Option<Vec<(Affine, Affine)>>,
    /// The conditions without any of which nothing is changed.
    flags: Vec<Expr>,
}

impl ChangedPart {
    /// The condition without which nothing is changed.
    pub fn test(&self) -> Option<Expr> {
        let flags = self.flags.iter().cloned();
        flags.reduce(|a, b| Expr::binary(BinOp::And, a, b))
    }

    /// The same, as flags and their values.
    pub fn condition(&self) -> Condition {
        let of = |e: &Expr| match &e.kind {
            ExprKind::Unary(_, flag) => Some((flag.base()?, false)),
            _ => Some((e.base()?, true)),
        };
        let mut found: Condition = self.flags.iter().filter_map(of).collect();
        found.sort_unstable();
        found
    }

    /// Whether the condition decides about the whole array.
    pub fn is_conditional(&self) -> bool {
        self.section.is_none() && !self.flags.is_empty()
    }

    /// The number of elements in most cases; half as many if a flag decides. `None` if it is not known.
    pub fn elements(&self, sweeper: &Sweeper) -> Option<f64> {
        let unit = &sweeper.builder.unit;
        let extents = constant::extents(unit, &unit.symbols[self.array].dims)?;
        let one = |i: usize, extent: i64| match &self.section {
            Some(s) if s.get(i).is_some_and(|(low, high)| low == high) => 1.0,
            _ => extent as f64,
        };
        let all: f64 = (extents.iter().enumerate())
            .map(|(i, n)| one(i, *n))
            .product();
        Some(match self.flags.is_empty() {
            true => all,
            false => all / 2.0,
        })
    }
}

/// The locations that a call assigns, each with its slice of the array there, if that is known.
type AssignedSlices = Vec<(usize, Option<Slice<SubscriptOfCaller>>)>;

impl Sweeper<'_> {
    /// The slices that a call of a procedure assigns; none if nothing is known of its slices.
    pub(super) fn assigned_slices(&self, procedure: &Name, args: &[Expr]) -> AssignedSlices {
        match self.engine.slices.get(procedure) {
            Some(slices) => self.caller().assigned(Some(slices), procedure, args),
            None => Vec::new(),
        }
    }

    /// The arrays of which a call of a procedure changes only a part, by location.
    pub(super) fn changed_parts(
        &self,
        procedure: &Name,
        args: &[Expr],
        assigned: &AssignedSlices,
        span: Span,
    ) -> HashMap<usize, ChangedPart> {
        let engine = self.engine;
        let mut parts = HashMap::new();
        let guards = engine
            .guards
            .passed(self.space, &engine.effects, procedure, args);
        for (loc, flags) in guards {
            let tests = flags
                .iter()
                .filter_map(|(k, value)| self.flag(*k, *value, span));
            let flags: Vec<Expr> = tests.take(MOST_FLAGS).collect();
            if let Some(array) = self.array_at(loc).filter(|a| self.is_worth_a_test(*a))
                && !flags.is_empty()
            {
                let part = ChangedPart {
                    array,
                    section: None,
                    flags,
                };
                parts.insert(loc, part);
            }
        }
        let changed: Vec<usize> = assigned.iter().map(|(loc, _)| *loc).collect();
        for (loc, slice) in assigned {
            let once = assigned.iter().filter(|(other, _)| other == loc).count() == 1;
            if let Some(slice) = slice.as_ref().filter(|_| once)
                && let Some((array, section)) = self.section_of(*loc, slice, &changed)
            {
                let part = parts.entry(*loc).or_insert_with(|| ChangedPart {
                    array,
                    section: None,
                    flags: Vec::new(),
                });
                part.section = Some(section);
            }
        }
        parts
    }

    /// The elements that a call may change, by location; others may be changed as a whole.
    pub(super) fn changed_elements(&self, assigned: &AssignedSlices) -> HashMap<usize, Elements> {
        let mut found: HashMap<usize, Option<Elements>> = HashMap::new();
        for (loc, slice) in assigned {
            let elements = (slice.as_ref()).and_then(|s| self.elements_of(*loc, s));
            found
                .entry(*loc)
                .and_modify(|e| *e = None)
                .or_insert(elements);
        }
        found
            .into_iter()
            .filter_map(|(loc, e)| Some((loc, e?)))
            .collect()
    }

    /// The elements of an array in a slice.
    fn elements_of(&self, loc: usize, slice: &Slice<SubscriptOfCaller>) -> Option<Elements> {
        let unit = &self.builder.unit;
        let array = self.array_at(loc)?;
        (slices::shape(unit, array)? == slice.shape).then_some(())?;
        let subscripts = slice.subscripts.iter().zip(&slice.shape);
        let ranges = subscripts.map(|(s, (low, high))| match s {
            None => Range {
                low: Some(Affine::number(*low)),
                high: high.number().map(Affine::number),
            },
            Some(s) => {
                let at = Affine::of(unit, s);
                Range {
                    low: at.clone(),
                    high: at,
                }
            }
        });
        let ranges = ranges.collect();
        Some(Elements { array, ranges })
    }

    /// The elements of an array that the reverse sweep of a part reads after a call, with the values that they have then;
    /// `None` for all of them.
    pub(super) fn read_after(
        &self,
        slice: &Slice,
        slot: usize,
        loc: usize,
        args: &[Expr],
    ) -> Option<Elements> {
        let slice = self.caller().slice(slice, args.get(slot), args)?;
        self.elements_of(loc, &slice)
    }

    /// The slice to which everything is restricted that the reverse sweep reads of an array that it shares with callers.
    pub(super) fn exit_slice(&self, loc: usize, needs: &Needs) -> Option<Slice> {
        let unit = &self.builder.unit;
        let array = self.array_at(loc)?;
        let shape = slices::shape(unit, array)?;
        let mut slice: Option<Slice> = None;
        for e in needs.elements(loc)? {
            (e.array == array && e.ranges.len() == shape.len()).then_some(())?;
            let subscripts = e.ranges.iter().map(|r| self.subscript_of(r)).collect();
            let shape = shape.clone();
            let one = Slice { subscripts, shape };
            slice = match slice {
                Some(s) => Some(s.joined(&one)?),
                None => Some(one),
            };
        }
        slice
    }

    /// What a range is to the callers of the unit.
    fn subscript_of(&self, range: &Range) -> Subscript {
        let Some(at) = range.low.as_ref().filter(|_| range.low == range.high) else {
            return Subscript::Any;
        };
        if let Some(n) = at.value() {
            return Subscript::Number(n);
        }
        let unit = &self.builder.unit;
        let is_it = |a: &Arg| {
            let s = a.sym()?;
            let symbol = &unit.symbols[s];
            let fixed = symbol.ty == Some(Type::INTEGER)
                && !symbol.is_array()
                && !self.assigned.contains(self.space.loc(s))
                && !self.space.tangled.contains(self.space.loc(s));
            (fixed && *at == Affine::var(s)).then_some(())
        };
        let position = unit.args.iter().position(|a| is_it(a).is_some());
        position.map_or(Subscript::Any, Subscript::Argument)
    }

    /// Saves the parts of arrays that a call overwrites, where only a part of an array is changed. Returns their locations as
    /// well. The rest of the arrays is needed as before.
    pub(super) fn overwrite_parts(
        &mut self,
        s: &Stmt,
        needs: &mut Needs,
    ) -> (SavedVariables, Vec<usize>) {
        let mut saved = SavedVariables::default();
        let mut locs = Vec::new();
        let StmtKind::Call(callee, args) = &s.kind else {
            return (saved, locs);
        };
        let callee = &self.builder.unit.symbols[*callee];
        if callee.storage_class != StorageClass::Global {
            return (saved, locs);
        }
        let name = callee.name.clone();
        // What is needed of some arrays is not changed.
        let assigned = self.assigned_slices(&name, args);
        for (loc, elements) in self.changed_elements(&assigned) {
            if !needs.has_some(loc, Some(&elements), &self.enclosing_loops) {
                locs.push(loc);
            }
        }
        let mut parts: Vec<(usize, ChangedPart)> = (self
            .changed_parts(&name, args, &assigned, s.span))
        .into_iter()
        .filter(|(loc, _)| needs.has(*loc) && !locs.contains(loc))
        .collect();
        parts.sort_by_key(|(loc, _)| *loc);
        for (loc, part) in parts {
            if let Some(made) = self.save_part(&part, needs, s.span) {
                saved.add(part.test(), made);
                locs.push(loc);
                self.read_to_select(&part, needs, s.span);
            }
        }
        (saved, locs)
    }

    /// Returns the statements that save and restore a part that a call changes, or as much of it as is needed.
    pub(super) fn save_part(
        &mut self,
        part: &ChangedPart,
        needs: &Needs,
        span: Span,
    ) -> Option<(Block, Block)> {
        let array = Expr::var(part.array, span);
        match &part.section {
            None => Some(self.save(&array, needs, span)),
            Some(section) => {
                let (builder, tapes) = (&mut self.builder, &mut self.tapes);
                save(builder, tapes, &array, Some(section), span).ok()
            }
        }
    }

    /// Returns statements that save variables if a condition holds, and those that restore them then. Whether it held is
    /// recorded: procedures without source may change flags in COMMON. If one sets a flag between both executions of a call
    /// that is executed again, the second one may change an array that was not saved.
    pub(super) fn guarded(
        &mut self,
        test: Expr,
        mut push: Block,
        pop: Block,
        span: Span,
    ) -> (Block, Block) {
        let number = self.branch();
        let set = |n: i64| Stmt::assign(Expr::var(number, span), Expr::int(n, span), span);
        push.push(set(1));
        let mut forward = vec![set(0)];
        forward.extend(when(test, push, Vec::new(), span));
        let (record, mut backward) = self.save_number(number, number, span);
        forward.extend(record);
        let held = binary(BinOp::Eq, Expr::var(number, span), Expr::int(1, span));
        backward.extend(when(held, pop, Vec::new(), span));
        (forward, backward)
    }

    /// The reverse sweep selects the part by the same values.
    pub(super) fn read_to_select(&self, part: &ChangedPart, needs: &mut Needs, span: Span) {
        for (low, _) in part.section.iter().flatten() {
            self.read(&low.to_expr(span), needs);
        }
    }

    fn caller(&self) -> Caller<'_> {
        Caller {
            unit: &self.builder.unit,
            space: self.space,
            effects: &self.engine.effects,
        }
    }

    /// Whether a call of a procedure reads the array in a slot with its value from before, and a test that tells that it does
    /// not after all.
    pub(super) fn reads_unless(
        &self,
        procedure: &Name,
        slot: usize,
        args: &[Expr],
        span: Span,
    ) -> (bool, Option<Expr>) {
        match self.engine.overwritten.read_on_entry(procedure, slot) {
            ReadOnEntry::Never => (false, None),
            ReadOnEntry::Always => (true, None),
            ReadOnEntry::Unless(conditions) => (true, self.test_of(conditions, args, span)),
        }
    }

    /// The test of all conditions of a call, before it. `None` if the unit does not declare a variable of them.
    fn test_of(&self, conditions: &Conditions, args: &[Expr], span: Span) -> Option<Expr> {
        let mut parts = Vec::new();
        for c in conditions {
            let number = |n: i64| Expr::int(n, span);
            for (op, value, limit) in [(BinOp::Le, &c.first, c.from), (BinOp::Ge, &c.last, c.to)] {
                if !matches!(value, Value::Number(_)) {
                    parts.push(binary(op, self.value_of(value, args, span)?, number(limit)));
                }
            }
        }
        let all = parts.into_iter();
        all.reduce(|a, b| binary(BinOp::And, a, b))
    }

    fn value_of(&self, value: &Value, args: &[Expr], span: Span) -> Option<Expr> {
        match value {
            Value::Number(n) => Some(Expr::int(*n, span)),
            Value::Argument(i) => {
                let actual = args.get(*i)?;
                let simple = matches!(actual.kind, ExprKind::Var(_) | ExprKind::Int(_));
                simple.then(|| actual.clone())
            }
            Value::Common(k, subscripts) => {
                let loc = self.space.common(*k);
                let [variable] = *self.variables.get(&loc)?.as_slice() else {
                    return None;
                };
                let subscripts = subscripts.iter().map(|s| self.value_of(s, args, span));
                let subscripts: Vec<Expr> = subscripts.collect::<Option<_>>()?;
                let symbol = &self.builder.unit.symbols[variable];
                let fits = symbol.ty == Some(Type::INTEGER)
                    && symbol.dims.len() == subscripts.len()
                    && !self.space.tangled.contains(loc);
                fits.then(|| match subscripts.is_empty() {
                    true => Expr::var(variable, span),
                    false => Expr::element(variable, subscripts, span),
                })
            }
        }
    }

    /// The test of a COMMON variable, if the unit declares it.
    fn flag(&self, k: usize, value: bool, span: Span) -> Option<Expr> {
        let [flag] = self.variables.get(&self.space.common(k))?.as_slice() else {
            return None;
        };
        let (flag, symbol) = (*flag, &self.builder.unit.symbols[*flag]);
        let plain = matches!(symbol.ty, Some(Type::Logical(_))) && !symbol.is_array();
        let test = Expr::var(flag, span);
        plain.then(|| match value {
            true => test,
            false => Expr::not(test, span),
        })
    }

    /// The only variable at a location, if it is an array.
    fn array_at(&self, loc: usize) -> Option<SymId> {
        let [array] = *self.variables.get(&loc)?.as_slice() else {
            return None;
        };
        let plain = !self.space.tangled.contains(loc);
        Some(array).filter(|a| plain && self.builder.unit.symbols[*a].is_array())
    }

    pub(super) fn is_worth_a_test(&self, array: SymId) -> bool {
        let unit = &self.builder.unit;
        let Some(extents) = constant::extents(unit, &unit.symbols[array].dims) else {
            return true;
        };
        extents.iter().fold(1, |n: i64, e| n.saturating_mul(*e)) >= LEAST_GUARDED
    }

    /// The array at a location, and the section of it that a slice is, for a call that changes some locations. `None` if
    /// the section cannot be restored, or if the array is small and the section not one of several in enclosing loops.
    fn section_of(
        &self,
        loc: usize,
        slice: &Slice<SubscriptOfCaller>,
        changed: &[usize],
    ) -> Option<(SymId, Vec<(Affine, Affine)>)> {
        let unit = &self.builder.unit;
        let array = self.array_at(loc)?;
        (slices::shape(unit, array)? == slice.shape).then_some(())?;
        let mut repeats = self.is_worth_a_test(array);
        let mut section = Vec::new();
        for (subscript, (low, high)) in slice.subscripts.iter().zip(&slice.shape) {
            let Some(subscript) = subscript else {
                section.push((Affine::number(*low), Affine::number(high.number()?)));
                continue;
            };
            let at = match (Constants::of(unit).integer(subscript), &subscript.kind) {
                (Some(n), _) => Affine::number(n),
                (None, ExprKind::Var(v)) => {
                    let symbol = &unit.symbols[*v];
                    let number = !symbol.is_array() && symbol.ty == Some(Type::INTEGER);
                    number.then_some(())?;
                    let counts = self.loop_vars.contains(v);
                    // It is needed from now on, so that it has this value again.
                    let at = self.space.loc(*v);
                    let known = !changed.contains(&at) && !self.space.tangled.contains(at);
                    (counts || known).then_some(())?;
                    repeats |= counts;
                    Affine::var(*v)
                }
                _ => return None,
            };
            section.push((at.clone(), at));
        }
        let is_part = slice.subscripts.iter().any(Option::is_some);
        (repeats && is_part).then_some((array, section))
    }
}
