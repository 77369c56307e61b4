//! Chooses the loops and other stretches of statements to rewrite.

use super::facts::TangentFacts;
use super::multiples::is_zero;
use farfel_lang::ir::{Class, Expr, ExprKind, Label, Name, Stmt, StmtId, StmtKind, SymId};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// If more tangents than this are assigned, nothing is done: the search takes time for each.
const MOST_TANGENTS: usize = 50;

/// The maximum number of tangents that are tried as the one that others are multiples of.
const MOST_TRIED: usize = 5;

/// A tangent that is a multiple of another one.
pub(super) struct Multiple {
    pub(super) tangent: SymId,
    /// The derivative that it has before the stretch, if that is used.
    pub(super) begin: Option<Expr>,
    /// Whether the stretch assigns it.
    pub(super) changes: bool,
}

/// A stretch to rewrite: consecutive statements of one block.
pub(super) struct RewritePlan {
    /// Its first statement.
    pub(super) first: StmtId,
    /// Its last one.
    pub(super) last: StmtId,
    /// The nodes of its statements and of everything inside them.
    nodes: Range<usize>,
    /// The tangent that the others are multiples of.
    pub(super) base_tangent: SymId,
    /// These other tangents.
    pub(super) multiples: Vec<Multiple>,
    /// Those of them that are used after the stretch.
    pub(super) after: Vec<SymId>,
    /// The statement after it has a label to which only the stretch jumps.
    pub(super) takes_label: bool,
    /// Those of them that are used when the subprogram returns.
    pub(super) results: Vec<SymId>,
    /// The estimated number of multiplications that are saved.
    gain: f64,
}

/// A stretch that may be rewritten.
struct Candidate {
    first: StmtId,
    last: StmtId,
    nodes: Range<usize>,
    /// The nodes that control reaches from its end.
    falls: Vec<usize>,
    /// The label of the statement after it.
    label: Option<Label>,
}

impl TangentFacts<'_> {
    /// The stretches to rewrite, none inside another one.
    pub(super) fn plans(&self) -> Vec<RewritePlan> {
        let mut jumps: HashMap<Label, Vec<usize>> = HashMap::new();
        for (node, s) in self.flow.stmts.iter().enumerate() {
            for label in s.kind.jumps() {
                jumps.entry(label).or_default().push(node);
            }
            // The target of an assigned GOTO is not known.
            if let StmtKind::AssignLabel(label, _) = s.kind {
                jumps.entry(label).or_default().push(usize::MAX);
            }
        }
        let mut found = Vec::new();
        self.find_plans(&self.unit.body, self.flow.exit, &jumps, &mut found);
        found.sort_by(|a, b| b.gain.total_cmp(&a.gain));
        let mut plans: Vec<RewritePlan> = Vec::new();
        for plan in found {
            let apart = |p: &RewritePlan| {
                p.nodes.end <= plan.nodes.start || plan.nodes.end <= p.nodes.start
            };
            if plans.iter().all(apart) {
                plans.push(plan);
            }
        }
        plans.sort_by_key(|p| p.nodes.start);
        plans
    }

    /// Finds plans in a block, after which control goes to `after`.
    fn find_plans(
        &self,
        block: &[Stmt],
        after: usize,
        jumps: &HashMap<Label, Vec<usize>>,
        found: &mut Vec<RewritePlan>,
    ) {
        let nodes = |s: &Stmt| self.flow.nodes_within(self.flow.node(s.id));
        let places: Vec<Range<usize>> = block.iter().map(nodes).collect();
        for (i, (s, at)) in block.iter().zip(&places).enumerate() {
            let follow = places.get(i + 1).map_or(after, |p| p.start);
            let behind = match s.kind {
                StmtKind::Do(_) => at.start,
                _ => follow,
            };
            // The statements in WHERE are not paths of control.
            if !matches!(s.kind, StmtKind::Where(_)) {
                for b in s.blocks() {
                    self.find_plans(b, behind, jumps, found);
                }
            }
            if let StmtKind::Do(_) = s.kind
                && let Some(stretch) = self.stretch(block, &places, i, i + 1, after)
            {
                let ones = self.invariants_in(at.start, at.end);
                found.extend(self.plan(&stretch, &ones, jumps));
            }
        }
        let (Some(first), Some(last)) = (places.first(), places.last()) else {
            return;
        };
        for base_tangent in self.read_most(first.start, last.end) {
            let mut from = 0;
            for i in 0..=block.len() {
                let ends = places.get(i).is_none_or(|p| self.changes(base_tangent, p));
                if ends && i > from + 1 {
                    let stretch = self.stretch(block, &places, from, i, after);
                    found.extend(stretch.and_then(|s| self.plan(&s, &[base_tangent], jumps)));
                }
                if ends {
                    from = i + 1;
                }
            }
        }
    }

    /// The stretch of some statements of a block, without comments at its ends.
    fn stretch(
        &self,
        block: &[Stmt],
        places: &[Range<usize>],
        mut from: usize,
        mut to: usize,
        after: usize,
    ) -> Option<Candidate> {
        let comment = |i: usize| matches!(block[i].kind, StmtKind::Comment(_));
        while from < to && comment(from) {
            from += 1;
        }
        while from < to && comment(to - 1) {
            to -= 1;
        }
        if from == to {
            return None;
        }
        let mut falls = Vec::new();
        let mut next = to;
        while next < block.len() && comment(next) {
            falls.push(places[next].start);
            next += 1;
        }
        falls.push(places.get(next).map_or(after, |p| p.start));
        Some(Candidate {
            first: block[from].id,
            last: block[to - 1].id,
            nodes: places[from].start..places[to - 1].end,
            falls,
            label: block.get(next).and_then(|s| s.label),
        })
    }

    /// The plain tangents that are read by most assignments between two statements.
    fn read_most(&self, head: usize, end: usize) -> Vec<SymId> {
        let mut often: HashMap<SymId, usize> = HashMap::new();
        for n in head..end {
            if let Some((_, value)) = self.assigned(n) {
                value.for_each_symbol(&mut |s| {
                    if self.plain.contains_key(&s) {
                        *often.entry(s).or_default() += 1;
                    }
                });
            }
        }
        let mut found: Vec<SymId> = often.keys().copied().collect();
        found.retain(|s| often[s] > 1);
        found.sort_unstable_by_key(|s| (std::cmp::Reverse(often[s]), *s));
        found.truncate(MOST_TRIED);
        found
    }

    /// Whether a statement, or one inside it, may change a tangent.
    fn changes(&self, base_tangent: SymId, at: &Range<usize>) -> bool {
        let assigned = |n: usize| self.assigned(n).is_some_and(|(t, _)| t == base_tangent);
        at.clone().any(assigned)
            || self
                .named_elsewhere(at.start, at.end)
                .contains(&base_tangent)
    }

    /// Returns the best plan for a stretch: that with the greatest gain for one of `ones` as the tangent that
    /// others are multiples of.
    fn plan(
        &self,
        stretch: &Candidate,
        ones: &[SymId],
        jumps: &HashMap<Label, Vec<usize>>,
    ) -> Option<RewritePlan> {
        let Range { start: head, end } = stretch.nodes;
        let inside = |n: usize| (head..end).contains(&n);
        let enters = |n: usize| self.flow.predecessors[n].iter().any(|p| !inside(*p));
        let own = self.flow.stmts[head].label;
        if (head + 1..end).any(enters) || own.is_some_and(|l| jumps.contains_key(&l)) {
            return None;
        }
        let (mut falls, mut returns) = (false, 0.0);
        let mut exits = HashSet::new();
        for n in head..end {
            let kind = &self.flow.stmts[n].kind;
            let leaves = self.flow.successors[n].iter().filter(|to| !inside(**to));
            match kind {
                StmtKind::Return(_) => returns += self.often(n, head),
                StmtKind::AssignedGoto(..) => return None,
                _ => leaves.for_each(|to| match stretch.falls.contains(to) {
                    true => falls = true,
                    false => {
                        exits.insert(*to);
                    }
                }),
            }
        }
        // Jumps to what follows have to pass the inserted statements.
        let from = stretch.label.and_then(|l| jumps.get(&l));
        let all = from.is_some_and(|from| from.iter().all(|n| inside(*n)));
        let takes_label = all && from.is_some_and(|from| !from.is_empty());
        let passes = (head..end).any(|n| {
            let leads_there = |to: &usize| stretch.falls.contains(to);
            match &self.flow.stmts[n].kind {
                StmtKind::Cycle(name) | StmtKind::Exit(name) => {
                    let inner = (head..n).any(|around| self.is_loop(around, n, name.as_ref()));
                    !inner && self.flow.successors[n].iter().any(leads_there)
                }
                kind => kind.jumps().iter().any(|l| {
                    let follows = self.flow.labels.get(l).is_none_or(leads_there);
                    follows && !(takes_label && stretch.label == Some(*l))
                }),
            }
        });
        let used_after = |t: SymId| falls && stretch.falls.iter().any(|n| self.is_live(t, *n));
        let returned = |t: SymId| returns > 0.0 && self.is_live(t, self.flow.exit);
        let mut multiples = self.multiples_in(head, end)?;
        let leaks = |t: SymId| exits.iter().any(|n| self.is_live(t, *n));
        multiples.retain(|t| !(leaks(*t) || passes && used_after(*t)));
        let invariants = self.invariants_in(head, end);
        let mut best: Option<RewritePlan> = None;
        for base_tangent in ones {
            let others = invariants
                .iter()
                .copied()
                .filter(|t| t != base_tangent)
                .collect();
            let (saved, multiples) =
                self.multiples_of(*base_tangent, multiples.clone(), others, head, end);
            let changed = || multiples.iter().filter(|m| m.changes).map(|m| m.tangent);
            let after: Vec<SymId> = changed().filter(|t| used_after(*t)).collect();
            let results: Vec<SymId> = changed().filter(|t| returned(*t)).collect();
            #[expect(clippy::cast_precision_loss, reason = "a few")]
            let cost = (after.len() + multiples.len() - changed().count()) as f64
                + returns * results.len() as f64;
            let gain = (saved - cost) * self.often[head];
            if saved - cost >= 1.0 && best.as_ref().is_none_or(|b| b.gain < gain) {
                best = Some(RewritePlan {
                    first: stretch.first,
                    last: stretch.last,
                    nodes: stretch.nodes.clone(),
                    base_tangent: *base_tangent,
                    takes_label: takes_label && !after.is_empty(),
                    multiples,
                    after,
                    results,
                    gain,
                });
            }
        }
        best
    }

    /// Whether a statement is a loop (with this name, if one is given) that contains another statement.
    fn is_loop(&self, around: usize, inner: usize, name: Option<&Name>) -> bool {
        let s = self.flow.stmts[around];
        matches!(&s.kind, StmtKind::Do(d) if name.is_none_or(|n| d.name.as_ref() == Some(n)))
            && self.flow.nodes_within(around).contains(&inner)
    }

    /// The execution frequency of a statement, relative to that of another one.
    fn often(&self, node: usize, head: usize) -> f64 {
        self.often[node] / self.often[head]
    }

    /// The tangents that only assignments in the stretch name. `None` if there are none, or too many.
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

    /// The plain tangents that the stretch reads and does not change.
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

    /// Variables that the stretch names other than in plain assignments, or in subscripts or arguments of
    /// subprograms.
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

    /// Returns the number of multiplications that are saved, and which of some tangents are multiples of
    /// `base_tangent` from before the stretch on.
    fn multiples_of(
        &self,
        base_tangent: SymId,
        mut multiples: Vec<SymId>,
        mut others: Vec<SymId>,
        head: usize,
        end: usize,
    ) -> (f64, Vec<Multiple>) {
        let ty = self.unit.symbols[base_tangent].ty;
        let mut begins: HashMap<SymId, Option<Expr>> = HashMap::new();
        for (list, changes) in [(&mut multiples, true), (&mut others, false)] {
            list.retain(|t| {
                let begin = match changes && !self.is_live(*t, head) {
                    true => Some(None),
                    false => self.on_entry(*t, base_tangent, head, end).map(Some),
                };
                let known = begin.filter(|_| self.unit.symbols[*t].ty == ty);
                let keep = known.is_some();
                begins.extend(known.map(|b| (*t, b)));
                keep
            });
        }
        // Tangents that the stretch does not change are multiples if they are when it begins.
        let same = others.clone();
        multiples.append(&mut others);
        loop {
            let form = self.form(base_tangent, &multiples);
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
        let form = self.form(base_tangent, &multiples);
        let mut gain = 0.0;
        for n in head..end {
            let StmtKind::Assign(target, value) = &self.flow.stmts[n].kind else {
                continue;
            };
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
                _ => value.for_each_symbol(&mut |s| saved -= i32::from(changes(&s))),
            }
            gain += f64::from(saved) * self.often(n, head);
        }
        let multiple = |t: &SymId| Multiple {
            tangent: *t,
            begin: begins.remove(t).flatten(),
            changes: !same.contains(t),
        };
        (gain, multiples.iter().map(multiple).collect())
    }
}
