//! Which loops to rewrite.

use super::facts::Facts;
use super::form::is_zero;
use crate::flow::size;
use farfel_lang::ir::{Class, Expr, ExprKind, Label, Stmt, StmtKind, SymId};
use std::collections::{HashMap, HashSet};

/// Loops that assign more tangents than this are left alone: the search takes time for each.
const MOST_TANGENTS: usize = 50;

/// How many tangents are tried as the one that others are multiples of.
const MOST_TRIED: usize = 5;

/// How much more often the statements of an inner loop are carried out than those around it.
const ITERATIONS: i64 = 8;

/// A tangent that is a multiple of another one.
pub(super) struct Multiple {
    pub(super) tangent: SymId,
    /// The derivative that it has before the loop, where that is used.
    pub(super) begin: Option<Expr>,
    /// The loop assigns it.
    pub(super) changes: bool,
}

/// A loop to rewrite.
pub(super) struct Plan {
    /// The number of the loop's statement.
    pub(super) node: usize,
    /// The tangent that the others are multiples of.
    pub(super) one: SymId,
    /// Those.
    pub(super) multiples: Vec<Multiple>,
    /// Those that are used behind the loop.
    pub(super) after: Vec<SymId>,
    /// The statement behind the loop bears this label, to which only the loop jumps.
    pub(super) label: Option<Label>,
}

impl Facts<'_> {
    /// The loops to rewrite, none inside of another one.
    pub(super) fn plans(&self) -> Vec<Plan> {
        let mut jumps: HashMap<Label, Vec<usize>> = HashMap::new();
        for (node, s) in self.flow.stmts.iter().enumerate() {
            for label in s.kind.jumps() {
                jumps.entry(label).or_default().push(node);
            }
            // Where an assigned GOTO leads nobody knows.
            if let StmtKind::AssignLabel(label, _) = s.kind {
                jumps.entry(label).or_default().push(usize::MAX);
            }
        }
        let mut found = Vec::new();
        self.look_into(&self.unit.body, &mut 0, &jumps, &mut found);
        found
    }

    /// Looks at the loops of a block, inner ones first. True: there is a plan in it.
    fn look_into(
        &self,
        block: &[Stmt],
        node: &mut usize,
        jumps: &HashMap<Label, Vec<usize>>,
        found: &mut Vec<Plan>,
    ) -> bool {
        let mut any = false;
        for (i, s) in block.iter().enumerate() {
            let own = *node;
            *node += 1;
            if let StmtKind::LogicalIf(_, inner) = &s.kind {
                *node += size(inner);
            }
            let mut inside = false;
            for inner in s.blocks() {
                inside |= self.look_into(inner, node, jumps, found);
            }
            if let (StmtKind::Do(_), false) = (&s.kind, inside) {
                let comments = block[i + 1..]
                    .iter()
                    .take_while(|s| matches!(s.kind, StmtKind::Comment(_)))
                    .count();
                let next = block.get(i + 1 + comments);
                let next = next.map(|s| (*node + comments, s.label));
                if let Some(plan) = self.plan(own, *node, next, jumps) {
                    found.push(plan);
                    inside = true;
                }
            }
            any |= inside;
        }
        any
    }

    /// What to make of the loop whose statements are those from `head` to `end`. `next`: the
    /// statement behind it in its block, with its label.
    fn plan(
        &self,
        head: usize,
        end: usize,
        next: Option<(usize, Option<Label>)>,
        jumps: &HashMap<Label, Vec<usize>>,
    ) -> Option<Plan> {
        let inside = |n: usize| (head..end).contains(&n);
        let enters = |n: usize| self.flow.predecessors[n].iter().any(|p| !inside(*p));
        let own = self.flow.stmts[head].label;
        if (head + 1..end).any(enters) || own.is_some_and(|l| jumps.contains_key(&l)) {
            return None;
        }
        let mut exits: Vec<usize> = (head..end)
            .flat_map(|n| self.flow.successors[n].iter().copied())
            .filter(|n| !inside(*n))
            .collect();
        exits.sort_unstable();
        exits.dedup();
        let head_exits = self.flow.successors[head].iter().copied();
        let falls = head_exits
            .chain(next.map(|(n, _)| n))
            .find(|n| !inside(*n))?;
        // Jumps to what follows have to pass what is put between.
        let label = next.filter(|(n, _)| *n == falls).and_then(|(_, l)| l);
        let mut label = label.filter(|l| jumps.contains_key(l));
        let mut only_falls = true;
        if let Some(from) = label.and_then(|l| jumps.get(&l)) {
            let some = from.iter().any(|n| inside(*n));
            let all = from.iter().all(|n| inside(*n));
            only_falls = !some || all;
            label = label.filter(|_| some && all);
        } else if next.is_none_or(|(n, _)| n != falls) {
            // What follows is at the end of an outer block: a jump there passes by.
            let target = self.flow.stmts.get(falls).and_then(|s| s.label);
            let from = target.and_then(|l| jumps.get(&l));
            only_falls = from.is_none_or(|from| !from.iter().any(|n| inside(*n)));
        }
        let others = |t: SymId| exits.iter().any(|n| *n != falls && self.is_live(t, *n));
        let used_after = |t: SymId| self.is_live(t, falls);
        let mut multiples = self.multiples_in(head, end)?;
        multiples.retain(|t| !others(*t) && (only_falls || !used_after(*t)));
        let invariants = self.invariants_in(head, end);
        let mut best: Option<(i64, Plan)> = None;
        for one in &invariants {
            let others = invariants.iter().copied().filter(|t| t != one).collect();
            let (gain, multiples) = self.multiples_of(*one, multiples.clone(), others, head, end);
            let after: Vec<SymId> = multiples
                .iter()
                .filter(|m| m.changes)
                .map(|m| m.tangent)
                .filter(|t| used_after(*t))
                .collect();
            let gain = gain - i64::try_from(after.len()).unwrap_or(i64::MAX);
            if gain > 0 && best.as_ref().is_none_or(|(g, _)| *g < gain) {
                let plan = Plan {
                    node: head,
                    one: *one,
                    multiples,
                    label: label.filter(|_| !after.is_empty()),
                    after,
                };
                best = Some((gain, plan));
            }
        }
        best.map(|(_, plan)| plan)
    }

    /// The tangents that only assignments in the loop name. `None`: there are none, or many.
    fn multiples_in(&self, head: usize, end: usize) -> Option<Vec<SymId>> {
        let mut assigned: Vec<SymId> = (head..end)
            .filter_map(|n| self.assigned(n).map(|(t, _)| t))
            .collect();
        assigned.sort_unstable();
        assigned.dedup();
        let elsewhere = self.named_elsewhere(head, end);
        assigned.retain(|t| !elsewhere.contains(t));
        (1..=MOST_TANGENTS)
            .contains(&assigned.len())
            .then_some(assigned)
    }

    /// The plain tangents that the loop reads and does not change.
    fn invariants_in(&self, head: usize, end: usize) -> Vec<SymId> {
        let mut read = Vec::new();
        let mut changed = self.named_elsewhere(head, end);
        for n in head..end {
            if let Some((t, value)) = self.assigned(n) {
                changed.insert(t);
                value.for_each_symbol(&mut |s| read.push(s));
            }
        }
        read.retain(|s| self.plain.contains_key(s) && !changed.contains(s));
        let mut often: HashMap<SymId, usize> = HashMap::new();
        for s in read {
            *often.entry(s).or_default() += 1;
        }
        let mut found: Vec<SymId> = often.keys().copied().collect();
        found.sort_unstable_by_key(|s| (std::cmp::Reverse(often[s]), *s));
        found.truncate(MOST_TRIED);
        found
    }

    /// What other statements than assignments name in a loop, subscripts and subprograms too.
    fn named_elsewhere(&self, head: usize, end: usize) -> HashSet<SymId> {
        let mut found = HashSet::new();
        for s in &self.flow.stmts[head..end] {
            let StmtKind::Assign(target, value) = &s.kind else {
                s.for_each_own_symbol(&mut |s| {
                    found.insert(s);
                });
                s.for_each_own_expr(&mut |e| {
                    e.for_each_symbol(&mut |s| {
                        found.insert(s);
                    });
                });
                continue;
            };
            let mut add = |e: &Expr| {
                e.for_each_symbol(&mut |s| {
                    found.insert(s);
                });
            };
            target.children().into_iter().for_each(&mut add);
            value.walk(&mut |e| match &e.kind {
                ExprKind::Element(_, list) => list.iter().for_each(&mut add),
                ExprKind::Call(f, list)
                    if !matches!(self.unit.symbols[*f].class, Class::Intrinsic(_)) =>
                {
                    list.iter().for_each(&mut add);
                }
                _ => {}
            });
        }
        found
    }

    /// Which of some tangents are multiples of `one` from before the loop on, and how many
    /// multiplications that saves.
    fn multiples_of(
        &self,
        one: SymId,
        mut multiples: Vec<SymId>,
        mut others: Vec<SymId>,
        head: usize,
        end: usize,
    ) -> (i64, Vec<Multiple>) {
        let ty = self.unit.symbols[one].ty;
        let mut begins: HashMap<SymId, Option<Expr>> = HashMap::new();
        for (list, changes) in [(&mut multiples, true), (&mut others, false)] {
            list.retain(|t| {
                let begin = match changes && !self.is_live(*t, head) {
                    true => Some(None),
                    false => self.on_entry(*t, one, head, end).map(Some),
                };
                let known = begin.filter(|_| self.unit.symbols[*t].ty == ty);
                let keep = known.is_some();
                begins.extend(known.map(|b| (*t, b)));
                keep
            });
        }
        // Those that stay the same in the loop are multiples if they are when it begins.
        let same = others.clone();
        multiples.append(&mut others);
        loop {
            let form = self.form(one, &multiples);
            let mut gone: HashSet<SymId> = HashSet::new();
            for n in head..end {
                if let Some((t, value)) = self.assigned(n)
                    && !is_zero(value)
                    && form.is_multiple(value) != Some(true)
                {
                    gone.insert(t);
                }
            }
            let before = multiples.len();
            multiples.retain(|t| !gone.contains(t));
            if multiples.len() == before {
                break;
            }
        }
        let mut named = HashSet::new();
        for n in head..end {
            if let Some((t, value)) = self.assigned(n)
                && multiples.contains(&t)
            {
                named.insert(t);
                value.for_each_symbol(&mut |s| {
                    named.insert(s);
                });
            }
        }
        multiples.retain(|t| named.contains(t));
        let changes = |t: &SymId| multiples.contains(t) && !same.contains(t);
        let form = self.form(one, &multiples);
        let mut gain = 0;
        for n in head..end {
            let StmtKind::Assign(target, value) = &self.flow.stmts[n].kind else {
                continue;
            };
            let often = ITERATIONS.pow((self.depth[n] - self.depth[head]).min(4));
            let mut saved = 0;
            match target.kind {
                ExprKind::Var(t) if multiples.contains(&t) => {
                    form.by(value, &HashMap::new(), &mut saved);
                }
                _ if form.is_multiple(value) == Some(true) => {
                    let mut names = false;
                    value.for_each_symbol(&mut |s| names |= changes(&s));
                    if names {
                        form.by(value, &HashMap::new(), &mut saved);
                        saved -= 1;
                    }
                }
                _ => value.for_each_symbol(&mut |s| saved -= i64::from(changes(&s))),
            }
            gain += saved * often;
        }
        let multiple = |t: &SymId| Multiple {
            tangent: *t,
            begin: begins.remove(t).flatten(),
            changes: !same.contains(t),
        };
        (gain, multiples.iter().map(multiple).collect())
    }
}
