//! Facts about the tangents of a unit at its statements.

use super::multiples::{MultipleRecogniser, has_calls, is_zero};
use crate::flow::FlowGraph;
use crate::locations::Set;
use farfel_lang::ir::{
    Expr, ExprKind, SpecKind, Stmt, StmtId, StmtKind, StorageClass, SymId, Symbol, Type, Unit,
};
use farfel_lang::storage::UnitStorage;
use farfel_lang::types::type_of;
use std::collections::{HashMap, HashSet};

/// The assumed number of iterations of a loop.
const ITERATIONS: f64 = 8.0;

/// The maximum number of statements before a loop that are searched for a tangent's value on entry.
const MOST_BEFORE: usize = 200;

/// Facts about the statements of a unit.
pub(super) struct TangentFacts<'a> {
    pub(super) unit: &'a Unit,
    pub(super) tangents: &'a HashSet<SymId>,
    pub(super) flow: FlowGraph<'a>,
    storage: UnitStorage,
    /// The estimated execution frequency of each statement.
    pub(super) often: Vec<f64>,
    /// The scalar tangents that can be followed from statement to statement, with their numbers.
    pub(super) plain: HashMap<SymId, usize>,
    /// For each statement, which of them have a value before it that is used later.
    live: Vec<Set>,
}

impl<'a> TangentFacts<'a> {
    /// Returns `None` if there is nothing to do in the unit.
    pub(super) fn of(
        unit: &'a Unit,
        tangents: &'a HashSet<SymId>,
        fixed: &HashSet<SymId>,
    ) -> Option<Self> {
        let storage = UnitStorage::of(unit);
        let mut plain: Vec<SymId> = tangents.iter().copied().collect();
        plain.retain(|t| {
            let s = &unit.symbols[*t];
            s.is_variable()
                && !s.is_array()
                && matches!(s.ty, Some(Type::Real(4 | 8)))
                && matches!(
                    s.storage_class,
                    StorageClass::Local | StorageClass::Dummy | StorageClass::Result
                )
                && storage.is_own(*t)
                && !fixed.contains(t)
        });
        // Nested subprograms may name tangents, too.
        if plain.len() < 2 || !unit.nested.is_empty() {
            return None;
        }
        plain.sort_unstable();
        let plain = plain.into_iter().zip(0..).collect();
        let mut facts = TangentFacts {
            unit,
            tangents,
            flow: FlowGraph::of(unit),
            storage,
            often: Vec::new(),
            plain,
            live: Vec::new(),
        };
        facts.often = vec![1.0; facts.flow.len()];
        frequencies(&facts.flow, &unit.body, 1.0, &mut facts.often);
        facts.liveness();
        Some(facts)
    }

    /// The plain tangent that a statement assigns, and the value.
    pub(super) fn assigned(&self, node: usize) -> Option<(SymId, &'a Expr)> {
        match &self.flow.stmts.get(node)?.kind {
            StmtKind::Assign(target, value) => match target.kind {
                ExprKind::Var(t) if self.plain.contains_key(&t) => Some((t, value)),
                _ => None,
            },
            _ => None,
        }
    }

    fn liveness(&mut self) {
        let n = self.flow.len();
        let stays =
            |s: &Symbol, all: bool| s.storage_class != StorageClass::Local || s.saved || all;
        let all = self
            .unit
            .specs
            .iter()
            .any(|s| matches!(&s.kind, SpecKind::Save(l) if l.is_empty()));
        let mut live = vec![Set::with_capacity(self.plain.len()); n];
        for (t, i) in &self.plain {
            live[self.flow.exit].set(*i, stays(&self.unit.symbols[*t], all));
        }
        let mut reads = vec![Set::with_capacity(self.plain.len()); self.flow.stmts.len()];
        for (node, s) in self.flow.stmts.iter().enumerate() {
            let mut add = |t: SymId| {
                if let Some(i) = self.plain.get(&t) {
                    reads[node].insert(*i);
                }
            };
            match (self.assigned(node), &s.kind) {
                (Some((_, value)), _) => value.for_each_symbol(&mut add),
                _ => s.for_each_own_expr(&mut |e| e.for_each_symbol(&mut add)),
            }
        }
        let mut waiting: Vec<usize> = (0..n).collect();
        while let Some(node) = waiting.pop() {
            if node == self.flow.exit {
                continue;
            }
            let mut before = Set::with_capacity(self.plain.len());
            for next in &self.flow.successors[node] {
                before.union_with(&live[*next]);
            }
            if let Some(i) = self.assigned(node).and_then(|(t, _)| self.plain.get(&t)) {
                before.set(*i, false);
            }
            if let Some(reads) = reads.get(node) {
                before.union_with(reads);
            }
            if before != live[node] {
                live[node] = before;
                waiting.extend(&self.flow.predecessors[node]);
            }
        }
        self.live = live;
    }

    pub(super) fn form<'f>(
        &'f self,
        base_tangent: SymId,
        multiples: &'f [SymId],
    ) -> MultipleRecogniser<'f> {
        MultipleRecogniser {
            unit: self.unit,
            tangents: self.tangents,
            base_tangent,
            multiples,
        }
    }

    /// The assignments to some of the tangents whose results are not read.
    pub(super) fn dead(&self, of: &HashSet<SymId>) -> HashSet<StmtId> {
        let all = self.flow.stmts.iter().enumerate();
        all.filter(|(n, _)| {
            self.assigned(*n).is_some_and(|(t, value)| {
                let used = |next: &usize| self.is_live(t, *next);
                of.contains(&t)
                    && !has_calls(self.unit, value)
                    && !self.flow.successors[*n].iter().any(used)
            })
        })
        .map(|(_, s)| s.id)
        .collect()
    }

    /// Whether a tangent's value before a statement is used later.
    pub(super) fn is_live(&self, t: SymId, node: usize) -> bool {
        self.plain
            .get(&t)
            .is_none_or(|i| self.live[node].contains(*i))
    }

    /// The derivative of a tangent with respect to `base_tangent` where a loop begins.
    pub(super) fn on_entry(
        &self,
        t: SymId,
        base_tangent: SymId,
        head: usize,
        end: usize,
    ) -> Option<Expr> {
        let mut between = HashSet::new();
        let from = self.flow.predecessors[head].iter().copied();
        let from = from.filter(|n| !(head..end).contains(n)).collect();
        let found = self.last_value(t, base_tangent, from, &mut between)?;
        let mut names = HashSet::from([base_tangent]);
        found.for_each_symbol(&mut |s| {
            names.insert(s);
        });
        let zero = is_zero(&found);
        let same = |n: &usize| zero || !names.iter().any(|s| self.may_change(*n, *s));
        between.iter().all(same).then_some(found)
    }

    /// The same before other statements; the statements that were passed are added to `between`.
    fn last_value(
        &self,
        t: SymId,
        base_tangent: SymId,
        mut from: Vec<usize>,
        between: &mut HashSet<usize>,
    ) -> Option<Expr> {
        let mut values: Vec<usize> = Vec::new();
        let mut passed = HashSet::new();
        while let Some(n) = from.pop() {
            if n == self.flow.entry || passed.len() > MOST_BEFORE {
                return None;
            }
            if !passed.insert(n) {
                continue;
            }
            match self.assigned(n) {
                Some((s, _)) if s == t => values.push(n),
                _ if self.may_change(n, t) => return None,
                _ => from.extend(&self.flow.predecessors[n]),
            }
        }
        between.extend(passed.iter().filter(|n| !values.contains(n)));
        let value = |n: usize| self.assigned(n).map(|(_, value)| value);
        if values.iter().all(|n| value(*n).is_some_and(is_zero)) {
            return value(*values.first()?).cloned();
        }
        let [only] = values[..] else { return None };
        let value = value(only)?;
        // Another tangent that was just computed.
        if let ExprKind::Var(other) = value.kind
            && other != base_tangent
            && self.plain.contains_key(&other)
            && between.len() < MOST_BEFORE
        {
            let from = self.flow.predecessors[only].clone();
            return self.last_value(other, base_tangent, from, between);
        }
        let form = self.form(base_tangent, &[]);
        let same_type = type_of(self.unit, value) == self.unit.symbols[base_tangent].ty;
        (same_type && form.is_multiple(value) == Some(true) && !has_calls(self.unit, value))
            .then(|| form.by(value, &HashMap::new(), &mut 0))
    }

    /// Whether a statement may give a variable another value.
    fn may_change(&self, node: usize, s: SymId) -> bool {
        let Some(stmt) = self.flow.stmts.get(node) else {
            return false;
        };
        let mut calls = false;
        stmt.for_each_own_expr(&mut |e| calls |= has_calls(self.unit, e));
        match &stmt.kind {
            StmtKind::Assign(target, _) if !calls => target
                .base()
                .is_none_or(|t| t == s || !self.plain.contains_key(&s) && !self.is_apart(t, s)),
            StmtKind::If(_)
            | StmtKind::LogicalIf(..)
            | StmtKind::ArithmeticIf(..)
            | StmtKind::Select(_)
            | StmtKind::ComputedGoto(..)
                if !calls =>
            {
                false
            }
            StmtKind::Continue | StmtKind::Comment(_) | StmtKind::Goto(_) | StmtKind::Format(_) => {
                false
            }
            _ => {
                let place = &self.unit.symbols[s].storage_class;
                let mut named = !matches!(
                    place,
                    StorageClass::Local | StorageClass::Dummy | StorageClass::Result
                );
                stmt.for_each_own_symbol(&mut |t| named |= t == s);
                stmt.for_each_own_expr(&mut |e| e.for_each_symbol(&mut |t| named |= t == s));
                named || !self.plain.contains_key(&s)
            }
        }
    }

    /// Whether two variables certainly do not share storage.
    fn is_apart(&self, a: SymId, b: SymId) -> bool {
        let plain =
            |s: SymId| !matches!(self.unit.symbols[s].storage_class, StorageClass::Pointee(_));
        plain(a) && plain(b) && !self.storage.overlap(a, b)
    }
}

/// Estimates the execution frequency of each statement of a block, by node, given that of the block.
fn frequencies(flow: &FlowGraph, block: &[Stmt], often: f64, found: &mut Vec<f64>) {
    for s in block {
        found[flow.node(s.id)] = often;
        if let StmtKind::LogicalIf(_, inner) = &s.kind {
            found[flow.node(inner.id)] = often / 2.0;
        }
        let inside = match &s.kind {
            StmtKind::Do(_) => often * ITERATIONS,
            StmtKind::If(b) => {
                let arms = u32::try_from(b.arms.len()).unwrap_or(u32::MAX);
                often / f64::from(arms.saturating_add(1))
            }
            _ => often / 2.0,
        };
        s.blocks()
            .iter()
            .for_each(|b| frequencies(flow, b, inside, found));
    }
}
