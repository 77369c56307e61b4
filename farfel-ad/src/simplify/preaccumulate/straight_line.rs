//! Rewrites stretches of assignments that are executed one after the other.

use super::coefficient::{Coefficient, Factor};
use super::emit::{Writer, cost};
use super::linear::{Linear, Reader, has_calls};
use super::{Pass, assignment};
use crate::activity::is_pop;
use farfel_lang::ir::{Expr, ExprKind, Stmt, StmtKind, SymId, Type, Unit};
use farfel_lang::types::type_of;
use std::collections::{HashMap, HashSet};

/// Tangents with more terms than this are not put into others: the statements would become long, and few
/// terms would merge.
const MOST_TERMS: usize = 8;

/// The maximum cost up to which a statement takes in tangents: beyond, it would become long.
const MOST_COST: usize = 60;

/// Sums with more terms than this keep their groups closed, for the same reason as [`MOST_PARTS`].
const MOST_OPENED: usize = 50;

/// Expressions with more parts than this are left alone: the time of the pass grows faster than their size.
const MOST_PARTS: usize = 1000;

fn is_large(e: &Expr) -> bool {
    let mut parts = 0;
    e.walk(&mut |_| parts += 1);
    parts > MOST_PARTS
}

/// The number of statements from the first on that form one stretch.
///
/// Only the first may have a label: that is where jumps enter.
pub(crate) fn len(unit: &Unit, block: &[Stmt]) -> usize {
    let straight = |s: &Stmt| match &s.kind {
        StmtKind::Comment(_) => true,
        StmtKind::Assign(target, value) => !has_calls(unit, target) && !has_calls(unit, value),
        _ => false,
    };
    block
        .iter()
        .enumerate()
        .take_while(|(i, s)| straight(s) && (*i == 0 || s.label.is_none()))
        .count()
}

/// Calls `f` on every variable that an assignment reads.
pub(crate) fn for_each_read(stmt: &Stmt, f: &mut dyn FnMut(SymId)) {
    if let Some((target, value)) = assignment(stmt) {
        value.for_each_symbol(f);
        for subscript in target.children() {
            subscript.for_each_symbol(f);
        }
        // Assigning an element or a section keeps the rest.
        if !matches!(target.kind, ExprKind::Var(_)) {
            target.base().into_iter().for_each(f);
        }
    }
}

/// The scalar variable that an assignment assigns.
pub(crate) fn scalar_target(unit: &Unit, stmt: &Stmt) -> Option<SymId> {
    match assignment(stmt)?.0.kind {
        ExprKind::Var(s) if !unit.symbols[s].is_array() => Some(s),
        _ => None,
    }
}

/// The known value of a variable at some point of a stretch.
#[derive(Debug, Clone)]
enum Value {
    Tangent(Linear),
    Primal(Coefficient),
}

impl Value {
    fn for_each_symbol(&self, f: &mut dyn FnMut(SymId)) {
        match self {
            Value::Tangent(l) => l.for_each_symbol(f),
            Value::Primal(a) => a.for_each_symbol(f),
        }
    }
}

/// The values of scalars that are still valid: nothing that they name has been assigned since.
#[derive(Debug, Default)]
struct KnownValues {
    values: HashMap<SymId, Value>,
    /// For each variable, the scalars whose values name it; some of these values may be gone.
    naming: HashMap<SymId, Vec<SymId>>,
}

impl KnownValues {
    fn set(&mut self, s: SymId, value: Value) {
        value.for_each_symbol(&mut |v| self.naming.entry(v).or_default().push(s));
        self.values.insert(s, value);
    }

    fn forget(&mut self, changed: SymId) {
        self.values.remove(&changed);
        for s in self.naming.remove(&changed).unwrap_or_default() {
            // The entry may belong to an older value, so that a newer one need not be forgotten. Forgetting
            // too much is safe.
            self.values.remove(&s);
        }
    }

    fn tangent(&self, s: SymId) -> Option<&Linear> {
        match self.values.get(&s)? {
            Value::Tangent(l) => Some(l),
            Value::Primal(_) => None,
        }
    }

    fn primal(&self, s: SymId) -> Option<&Coefficient> {
        match self.values.get(&s)? {
            Value::Primal(a) => Some(a),
            Value::Tangent(_) => None,
        }
    }
}

/// Which statements of a stretch read which values.
struct Uses {
    /// For each statement that assigns a scalar tangent, the statements that read this value.
    readers: Vec<HashSet<usize>>,
    /// Whether the value outlives the stretch.
    escapes: Vec<bool>,
    /// For each statement, the assignments whose values it reads.
    reads: Vec<HashSet<usize>>,
}

impl Uses {
    fn of(pass: &Pass, stmts: &[Stmt]) -> Self {
        let mut uses = Uses {
            readers: vec![HashSet::new(); stmts.len()],
            escapes: vec![false; stmts.len()],
            reads: vec![HashSet::new(); stmts.len()],
        };
        let mut latest: HashMap<SymId, usize> = HashMap::new();
        for (i, stmt) in stmts.iter().enumerate() {
            uses.add(i, stmt, &latest);
            if let Some(s) = scalar_target(pass.unit, stmt)
                && pass.tangents.contains(&s)
            {
                latest.insert(s, i);
            }
        }
        for (s, i) in latest {
            uses.escapes[i] = !pass.local.contains(&s);
        }
        uses
    }

    fn add(&mut self, i: usize, stmt: &Stmt, latest: &HashMap<SymId, usize>) {
        for_each_read(stmt, &mut |s| {
            if let Some(at) = latest.get(&s) {
                self.readers[*at].insert(i);
                self.reads[i].insert(*at);
            }
        });
    }

    fn remove(&mut self, i: usize) {
        for at in std::mem::take(&mut self.reads[i]) {
            self.readers[at].remove(&i);
        }
    }

    /// Whether the value that statement `at` assigns would be dead if neither `i` nor the statements in
    /// `gone` read it.
    fn only_for(&self, at: usize, i: usize, gone: &[usize]) -> bool {
        !self.escapes[at] && self.readers[at].iter().all(|r| *r == i || gone.contains(r))
    }
}

/// A possible new text of a statement.
struct Trial {
    linear: Linear,
    /// Whether a tangent has been replaced by its value.
    substituted: bool,
    /// The assignments that nothing would read any more.
    absorbed: Vec<usize>,
    allowance: usize,
}

impl Pass<'_> {
    /// Rewrites a stretch. Returns which of its statements can be removed.
    pub(super) fn stretch(&self, stmts: &mut [Stmt], changed: &mut bool) -> Vec<bool> {
        let mut known = KnownValues::default();
        let mut uses = Uses::of(self, stmts);
        let mut latest: HashMap<SymId, usize> = HashMap::new();
        let mut allowances: Vec<usize> = stmts.iter().map(cost_of).collect();
        let mut removed = vec![false; stmts.len()];
        for i in 0..stmts.len() {
            let Some((target, value)) = assignment(&stmts[i]) else {
                continue;
            };
            let target = target.clone();
            let Some(base) = target.base() else {
                continue;
            };
            let mut learnt = None;
            if let Some(Type::Real(bytes)) = type_of(self.unit, &target)
                && self.is_scalar(&target)
            {
                let reader = Reader {
                    unit: self.unit,
                    tangents: self.tangents,
                    bytes,
                };
                if self.tangents.contains(&base) {
                    let place = StatementContext {
                        stmts,
                        i,
                        known: &known,
                        uses: &uses,
                        latest: &latest,
                        allowances: &allowances,
                    };
                    if let Some((text, trial)) = self.rewritten(&place, &reader, &target) {
                        *changed |= !same_text(&text, value);
                        let StmtKind::Assign(_, value) = &mut stmts[i].kind else {
                            continue;
                        };
                        *value = text;
                        allowances[i] = trial.allowance;
                        for at in trial.absorbed {
                            removed[at] = true;
                            uses.remove(at);
                        }
                        uses.remove(i);
                        uses.add(i, &stmts[i], &latest);
                    }
                    // A value that is popped from a tape is not put elsewhere: if this code is differentiated
                    // again, its derivative must be popped with it, whether it is used or not.
                    if let Some((_, value)) = assignment(&stmts[i])
                        && !is_pop(self.unit, value)
                        && reader.is_native(value)
                        && !is_large(value)
                    {
                        learnt = reader.linear(value).map(Value::Tangent);
                    }
                } else if !is_pop(self.unit, value)
                    && reader.is_native(value)
                    && !is_large(value)
                    && !self.reads_tangents(value)
                {
                    learnt = reader.affine(value).map(|a| Value::Primal(a.ungrouped()));
                }
            }
            known.forget(base);
            for s in self.storage.overlapping(base) {
                known.forget(s);
            }
            if let ExprKind::Var(s) = target.kind {
                if self.tangents.contains(&s) && !self.unit.symbols[s].is_array() {
                    latest.insert(s, i);
                }
                if let Some(v) = learnt
                    && self.is_worth_knowing(s, &v)
                {
                    known.set(s, v);
                }
            }
        }
        self.remove_dead(stmts, &mut removed);
        removed
    }

    /// Whether a target is a scalar variable or array element, not a whole array or section.
    fn is_scalar(&self, target: &Expr) -> bool {
        match &target.kind {
            ExprKind::Var(s) => !self.unit.symbols[*s].is_array(),
            ExprKind::Element(_, subscripts) => subscripts.iter().all(|s| {
                matches!(type_of(self.unit, s), Some(Type::Integer(_))) && !self.names_array(s)
            }),
            _ => false,
        }
    }

    fn names_array(&self, e: &Expr) -> bool {
        let mut found = false;
        e.walk(&mut |x| {
            found |= match &x.kind {
                ExprKind::Var(s) => self.unit.symbols[*s].is_array(),
                ExprKind::Range(..) => true,
                _ => false,
            }
        });
        found
    }

    fn reads_tangents(&self, e: &Expr) -> bool {
        let mut found = false;
        e.for_each_symbol(&mut |s| found |= self.tangents.contains(&s));
        found
    }

    /// Whether a value can be put in place of the name: it does not name itself, it is short, and nothing
    /// that it names can change unnoticed.
    fn is_worth_knowing(&self, s: SymId, value: &Value) -> bool {
        let mut own = false;
        value.for_each_symbol(&mut |v| own |= v == s || self.storage.overlap(v, s));
        let terms = match value {
            Value::Tangent(l) => l.len(),
            Value::Primal(a) => a.len(),
        };
        !own && terms <= MOST_TERMS
    }

    /// Returns the best text for the assignment of a tangent; `None` to leave it as it is.
    fn rewritten(
        &self,
        place: &StatementContext,
        reader: &Reader,
        target: &Expr,
    ) -> Option<(Expr, Trial)> {
        let (_, value) = assignment(&place.stmts[place.i])?;
        if !reader.is_native(value) || self.names_array(value) || is_large(value) {
            return None;
        }
        let writer = Writer {
            bytes: reader.bytes,
            variables: &self.variables,
            active: &self.active,
            span: place.stmts[place.i].span,
        };
        let price = |l: &Linear| cost(target) + cost(&writer.linear(l));
        let mut trial = Trial {
            linear: merged_groups(reader.linear(value)?, &price),
            substituted: false,
            absorbed: Vec::new(),
            allowance: place.allowances[place.i],
        };
        while let Some(better) = self.one_substituted(place, &trial, target, &price) {
            trial = better;
        }
        trial.linear = merged_values(trial.linear, place.known, trial.allowance, &price);
        let text = writer.linear(&trial.linear);
        let spared = trial.absorbed.iter().map(|at| cost_of(&place.stmts[*at]));
        let before = cost_of(&place.stmts[place.i]) + spared.sum::<usize>();
        let after = cost(target) + cost(&text);
        // At the same cost, a shorter chain of operations and a better order of terms are worth it, but not
        // if operations only move from one statement to another.
        let free = |at: &usize| cost_of(&place.stmts[*at]) == 0;
        let pays = after < before
            || after == before
                && trial.absorbed.iter().all(free)
                && (trial.substituted || trial.linear.has_order())
                && !reader.groups_tangents(value);
        let affordable = after <= trial.allowance && trial.linear.in_range_of(reader.bytes);
        (pays && affordable).then_some((text, trial))
    }

    /// Replaces one more tangent by its value, if that pays.
    fn one_substituted(
        &self,
        place: &StatementContext,
        trial: &Trial,
        target: &Expr,
        price: &dyn Fn(&Linear) -> usize,
    ) -> Option<Trial> {
        let mut candidates = Vec::new();
        trial.linear.variables(&mut candidates);
        candidates.retain(|t| place.known.tangent(*t).is_some());
        let before = price(&trial.linear);
        candidates.iter().find_map(|&t| {
            let value = place.known.tangent(t)?;
            let at = *place.latest.get(&t)?;
            // If no term can merge, now or when another tangent is replaced as well, terms would only move
            // from one statement to the other.
            let merges = trial.linear.shares_atom(value)
                || candidates
                    .iter()
                    .filter(|u| **u != t)
                    .filter_map(|u| place.known.tangent(*u))
                    .any(|other| other.shares_atom(value));
            let free = merges || cost_of(&place.stmts[at]) == 0;
            let linear = merged_groups(trial.linear.substituted(t, value)?, price);
            let mut read = linear.mentions(t);
            for subscript in target.children() {
                subscript.for_each_symbol(&mut |s| read |= s == t);
            }
            let dead = !read
                && self.storage.is_own(t)
                && place.stmts[at].label.is_none()
                && place.uses.only_for(at, place.i, &trial.absorbed);
            let spared = if dead { cost_of(&place.stmts[at]) } else { 0 };
            let after = price(&linear);
            let pays = after < before + spared || free && after == before + spared;
            if !pays || after > before.max(MOST_COST) {
                return None;
            }
            let mut absorbed = trial.absorbed.clone();
            let mut allowance = trial.allowance;
            if dead {
                absorbed.push(at);
                allowance += place.allowances[at];
            }
            Some(Trial {
                linear,
                substituted: true,
                absorbed,
                allowance,
            })
        })
    }

    /// Marks the assignments to scalar tangents whose values are not read.
    fn remove_dead(&self, stmts: &[Stmt], removed: &mut [bool]) {
        // At the end, the tangents that do not leave stretches are dead.
        let mut dead: HashSet<SymId> = self.local.clone();
        for (i, stmt) in stmts.iter().enumerate().rev() {
            if removed[i] {
                continue;
            }
            if let Some(s) = scalar_target(self.unit, stmt)
                && self.tangents.contains(&s)
                && self.storage.is_own(s)
            {
                if dead.contains(&s) && stmt.label.is_none() {
                    removed[i] = true;
                    continue;
                }
                dead.insert(s);
            }
            for_each_read(stmt, &mut |s| {
                dead.remove(&s);
            });
        }
    }
}

/// A statement of a stretch and what is known there.
struct StatementContext<'a> {
    stmts: &'a [Stmt],
    i: usize,
    known: &'a KnownValues,
    uses: &'a Uses,
    /// The latest assignment to each scalar tangent.
    latest: &'a HashMap<SymId, usize>,
    allowances: &'a [usize],
}

/// Opens groups if one of their terms merges with a term outside, or if they cost more closed.
fn merged_groups(mut linear: Linear, price: &dyn Fn(&Linear) -> usize) -> Linear {
    loop {
        if linear.len() > MOST_OPENED {
            return linear;
        }
        let before = price(&linear);
        let found = openings(&linear, &|f| match f {
            Factor::Group(g) => Some((**g).clone()),
            Factor::Opaque(_) => None,
        })
        .into_iter()
        .find(|(new, merges)| {
            let after = price(new);
            after < before || *merges && after <= before
        });
        match found {
            Some((new, _)) => linear = new,
            None => return linear,
        }
    }
}

/// Replaces variables by their values, if a term merges and the total cost stays within the allowance.
fn merged_values(
    mut linear: Linear,
    known: &KnownValues,
    allowance: usize,
    price: &dyn Fn(&Linear) -> usize,
) -> Linear {
    loop {
        let found = openings(&linear, &|f| match f {
            Factor::Opaque(Expr {
                kind: ExprKind::Var(s),
                ..
            }) => known.primal(*s).cloned(),
            _ => None,
        })
        .into_iter()
        .filter(|(_, merges)| *merges)
        .map(|(new, _)| merged_groups(new, price))
        .find(|new| price(new) <= allowance);
        match found {
            Some(new) => linear = new,
            None => return linear,
        }
    }
}

/// Returns all sums that result from replacing one factor by its value, or two factors in one coefficient,
/// each with whether this merges like terms.
fn openings(
    linear: &Linear,
    value: &dyn Fn(&Factor) -> Option<Coefficient>,
) -> Vec<(Linear, bool)> {
    let mut coefficients = Vec::new();
    linear
        .clone()
        .for_each_coefficient_mut(&mut |c| coefficients.push(c.clone()));
    let mut found = Vec::new();
    for (nth, c) in coefficients.iter().enumerate() {
        let mut offer = |new: &Coefficient, merges: bool| {
            let mut opened = linear.clone();
            let mut n = 0;
            opened.for_each_coefficient_mut(&mut |c| {
                if n == nth {
                    *c = new.clone();
                }
                n += 1;
            });
            found.push((opened.without_zeros(), merges));
        };
        let values: Vec<(usize, Coefficient)> = c
            .terms
            .iter()
            .enumerate()
            .filter_map(|(at, m)| match &m.factors[..] {
                [factor] => Some((at, value(factor)?)),
                _ => None,
            })
            .collect();
        for (i, (at, v)) in values.iter().enumerate() {
            let Some(one) = c.opened(*at, v) else {
                continue;
            };
            let separate = c.len() + v.len() - 1;
            offer(&one, one.len() < separate);
            for (second, w) in &values[..i] {
                // The first of them in the sum is opened last, so that its index is still valid.
                if let Some(two) = one.opened(*second, w)
                    && two.len() < one.len() + w.len() - 1
                {
                    offer(&two, true);
                }
            }
        }
    }
    found
}

/// The cost of an assignment.
fn cost_of(stmt: &Stmt) -> usize {
    assignment(stmt).map_or(0, |(target, value)| cost(target) + cost(value))
}

/// Whether two expressions have the same text.
fn same_text(a: &Expr, b: &Expr) -> bool {
    let kinds = match (&a.kind, &b.kind) {
        (ExprKind::Int(x), ExprKind::Int(y)) => x == y,
        (ExprKind::Real(x), ExprKind::Real(y)) => x == y,
        (ExprKind::Unary(x, _), ExprKind::Unary(y, _)) => x == y,
        (ExprKind::Binary(x, ..), ExprKind::Binary(y, ..)) => x == y,
        (ExprKind::Var(x), ExprKind::Var(y)) => x == y,
        (ExprKind::Element(x, _), ExprKind::Element(y, _)) => x == y,
        (ExprKind::Call(x, _), ExprKind::Call(y, _)) => x == y,
        (ExprKind::Paren(_), ExprKind::Paren(_)) => true,
        _ => return a.kind == b.kind,
    };
    let (x, y) = (a.children(), b.children());
    kinds && x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same_text(x, y))
}
