//! Stretches of assignments that are executed one after the other.

use super::affine::{Affine, Factor};
use super::emit::{Writer, cost};
use super::linear::{Linear, Reader, has_calls};
use super::{Pass, assignment};
use crate::activity::is_pop;
use farfel_lang::ir::{Expr, ExprKind, Stmt, StmtKind, SymId, Type, Unit};
use farfel_lang::types::type_of;
use std::collections::{HashMap, HashSet};

/// Tangents of more terms than this are not put into others: their statements would get
/// long, and little of it would merge.
const MOST_TERMS: usize = 8;

/// A statement does not take tangents in beyond this cost: it would get long.
const MOST_COST: usize = 60;

/// Sums of more terms than this keep their groups closed, for the same reason as
/// [`MOST_PARTS`].
const MOST_OPENED: usize = 50;

/// Expressions of more parts than this are left alone: the time that the pass takes grows
/// faster than they do.
const MOST_PARTS: usize = 1000;

fn is_large(e: &Expr) -> bool {
    let mut parts = 0;
    e.walk(&mut |_| parts += 1);
    parts > MOST_PARTS
}

/// How many statements from the first on make one stretch.
///
/// Only the first may bear a label: that is where a jump comes in.
pub(super) fn len(unit: &Unit, block: &[Stmt]) -> usize {
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
pub(super) fn for_each_read(stmt: &Stmt, f: &mut dyn FnMut(SymId)) {
    if let Some((target, value)) = assignment(stmt) {
        value.for_each_symbol(f);
        for subscript in target.children() {
            subscript.for_each_symbol(f);
        }
        // Assigning an element or a part keeps the rest.
        if !matches!(target.kind, ExprKind::Var(_)) {
            target.base().into_iter().for_each(f);
        }
    }
}

/// The scalar variable that an assignment gives a new value.
pub(super) fn scalar_target(unit: &Unit, stmt: &Stmt) -> Option<SymId> {
    match assignment(stmt)?.0.kind {
        ExprKind::Var(s) if !unit.symbols[s].is_array() => Some(s),
        _ => None,
    }
}

/// What is known about a variable at some place of a stretch.
#[derive(Debug, Clone)]
enum Value {
    Tangent(Linear),
    Primal(Affine),
}

impl Value {
    fn for_each_symbol(&self, f: &mut dyn FnMut(SymId)) {
        match self {
            Value::Tangent(l) => l.for_each_symbol(f),
            Value::Primal(a) => a.for_each_symbol(f),
        }
    }
}

/// Values of scalars that still hold: nothing that they name has been assigned since.
#[derive(Debug, Default)]
struct Known {
    values: HashMap<SymId, Value>,
    /// Whose values name a variable; some of them may be gone.
    naming: HashMap<SymId, Vec<SymId>>,
}

impl Known {
    fn set(&mut self, s: SymId, value: Value) {
        value.for_each_symbol(&mut |v| self.naming.entry(v).or_default().push(s));
        self.values.insert(s, value);
    }

    fn forget(&mut self, changed: SymId) {
        self.values.remove(&changed);
        for s in self.naming.remove(&changed).unwrap_or_default() {
            // An entry may be left of an older value, which is no reason to keep a newer
            // one: forgetting too much is safe.
            self.values.remove(&s);
        }
    }

    fn tangent(&self, s: SymId) -> Option<&Linear> {
        match self.values.get(&s)? {
            Value::Tangent(l) => Some(l),
            Value::Primal(_) => None,
        }
    }

    fn primal(&self, s: SymId) -> Option<&Affine> {
        match self.values.get(&s)? {
            Value::Primal(a) => Some(a),
            Value::Tangent(_) => None,
        }
    }
}

/// Who reads what in a stretch.
struct Uses {
    /// For each statement that assigns a scalar tangent: the statements that read that
    /// value.
    readers: Vec<HashSet<usize>>,
    /// Does the value outlive the stretch?
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

    /// Would the value that statement `at` assigns be dead if neither `i` nor those in
    /// `gone` read it?
    fn only_for(&self, at: usize, i: usize, gone: &[usize]) -> bool {
        !self.escapes[at] && self.readers[at].iter().all(|r| *r == i || gone.contains(r))
    }
}

/// A text that a statement could have.
struct Trial {
    linear: Linear,
    /// Has a tangent been replaced by its value?
    substituted: bool,
    /// Assignments that nothing would read any more.
    absorbed: Vec<usize>,
    allowance: usize,
}

impl Pass<'_> {
    /// Rewrites a stretch; which of its statements can go.
    pub(super) fn stretch(&self, stmts: &mut [Stmt], changed: &mut bool) -> Vec<bool> {
        let mut known = Known::default();
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
                    let place = Place {
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
                    // What is taken from a tape stands alone: where this is differentiated again, its derivative
                    // must come with it, whether it is used or not.
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

    /// A scalar variable or array element, not a whole array or section.
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

    /// A value can be put in place of the name if it does not name itself, is short, and
    /// nothing else can change what it names unseen.
    fn is_worth_knowing(&self, s: SymId, value: &Value) -> bool {
        let mut own = false;
        value.for_each_symbol(&mut |v| own |= v == s || self.storage.overlap(v, s));
        let terms = match value {
            Value::Tangent(l) => l.len(),
            Value::Primal(a) => a.len(),
        };
        !own && terms <= MOST_TERMS
    }

    /// The best text for a tangent's assignment; `None` to leave it.
    fn rewritten(&self, place: &Place, reader: &Reader, target: &Expr) -> Option<(Expr, Trial)> {
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
        // At the same cost, there are a shorter chain of operations and a better order of
        // terms to gain; but not for moving operations from one statement to another.
        let free = |at: &usize| cost_of(&place.stmts[*at]) == 0;
        let pays = after < before
            || after == before
                && trial.absorbed.iter().all(free)
                && (trial.substituted || trial.linear.has_order())
                && !reader.groups_tangents(value);
        let affordable = after <= trial.allowance && trial.linear.in_range_of(reader.bytes);
        (pays && affordable).then_some((text, trial))
    }

    /// One more tangent replaced by its value, if that pays.
    fn one_substituted(
        &self,
        place: &Place,
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
            // Where no term can merge, now or when another tangent is replaced too, it
            // would only move from one statement to the other.
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

    /// Marks the assignments to scalar tangents that nothing reads.
    fn remove_dead(&self, stmts: &[Stmt], removed: &mut [bool]) {
        // What is dead: at the end, what does not leave stretches.
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
struct Place<'a> {
    stmts: &'a [Stmt],
    i: usize,
    known: &'a Known,
    uses: &'a Uses,
    /// The latest assignment to each scalar tangent.
    latest: &'a HashMap<SymId, usize>,
    allowances: &'a [usize],
}

/// Opens groups of which a term merges with one outside, or that cost more closed.
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

/// Puts the values of variables in their place, where a term merges and the whole stays
/// within the allowance.
fn merged_values(
    mut linear: Linear,
    known: &Known,
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

/// All that can be made of a sum by putting the value of one factor in its place, or of
/// two in one coefficient, and whether that merges like terms.
fn openings(linear: &Linear, value: &dyn Fn(&Factor) -> Option<Affine>) -> Vec<(Linear, bool)> {
    let mut coefficients = Vec::new();
    linear
        .clone()
        .for_each_coefficient_mut(&mut |c| coefficients.push(c.clone()));
    let mut found = Vec::new();
    for (nth, c) in coefficients.iter().enumerate() {
        let mut offer = |new: &Affine, merges: bool| {
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
        let values: Vec<(usize, Affine)> = c
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
                // The first in the sum was opened last, so the place of this one holds.
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

/// What an assignment costs.
fn cost_of(stmt: &Stmt) -> usize {
    assignment(stmt).map_or(0, |(target, value)| cost(target) + cost(value))
}

/// Do they read the same?
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
