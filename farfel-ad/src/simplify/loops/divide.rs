//! Splits loops with several sums into one loop for each.

use super::Pass;
use super::classify::Sums;
use super::counted::{AccessAnalyser, CountedLoop, counted};
use farfel_lang::ir::{DoEnd, Stmt, StmtKind, SymId};
use std::collections::HashSet;

impl Pass<'_> {
    /// Returns the statements before a loop with sums; the loop itself becomes the remainder of the last strips.
    pub(super) fn divided(&mut self, stmt: &mut Stmt, sums: Sums) -> Vec<Stmt> {
        let groups = match counted(self.unit, stmt) {
            Some(l) if sums.targets.len() > 1 && !sums.ordered => self.groups(&l, &sums),
            _ => Vec::new(),
        };
        let mut out = Vec::new();
        let Some((last, others)) = groups.split_last() else {
            return self.strips(stmt, &sums);
        };
        for group in others {
            let (mut part, sums) = only(stmt, &sums, group);
            if let StmtKind::Do(d) = &mut part.kind {
                d.body.retain(|s| matches!(s.kind, StmtKind::Assign(..)));
                d.end = DoEnd::EndDo(None);
            }
            out.extend(self.strips(&mut part, &sums));
            out.push(part);
        }
        let (part, sums) = only(stmt, &sums, last);
        *stmt = part;
        out.extend(self.strips(stmt, &sums));
        out
    }

    /// Groups the statements that can be in loops of their own, with one sum in each group. Returns nothing
    /// if that is not possible.
    fn groups(&self, l: &CountedLoop, sums: &Sums) -> Vec<HashSet<usize>> {
        let analyser = AccessAnalyser {
            unit: self.unit,
            storage: &self.storage,
            var: l.var,
        };
        // The bounds are evaluated again for each loop.
        if !analyser.is_steady(l.from) {
            return Vec::new();
        }
        let mut parts: Vec<Part> = Vec::new();
        for (i, s) in l.body.iter().enumerate() {
            let StmtKind::Assign(target, value) = &s.kind else {
                continue;
            };
            let Some(base) = target.base().filter(|b| self.storage.is_own(*b)) else {
                return Vec::new();
            };
            let mut part = Part {
                stmts: HashSet::from([i]),
                assigned: HashSet::from([base]),
                named: HashSet::new(),
                sums: usize::from(sums.targets.iter().any(|(at, _)| *at == i)),
            };
            for e in [target, value] {
                e.for_each_symbol(&mut |s| {
                    part.named.insert(s);
                });
            }
            // Statements that depend on each other stay together.
            let (mine, others) = parts.into_iter().partition(|p: &Part| p.meets(&part));
            parts = others;
            let mine: Vec<Part> = mine;
            mine.into_iter().for_each(|p| part.join(p));
            parts.push(part);
        }
        parts.sort_by_key(|p| p.stmts.iter().min().copied());
        let streams = parts.iter().filter(|p| p.sums == 0).count();
        let each = streams.div_ceil(sums.targets.len());
        let mut groups: Vec<(Part, usize)> = Vec::new();
        for p in parts {
            let fits = groups.last().is_some_and(|(g, streams)| match p.sums {
                0 => *streams < each,
                n => g.sums + n <= 1,
            });
            let stream = usize::from(p.sums == 0);
            match groups.last_mut() {
                Some((g, streams)) if fits => {
                    g.join(p);
                    *streams += stream;
                }
                _ => groups.push((p, stream)),
            }
        }
        // A group of streams only would need something else than strips.
        if groups.len() < 2 || groups.iter().any(|(g, _)| g.sums == 0) {
            return Vec::new();
        }
        groups.into_iter().map(|(g, _)| g.stmts).collect()
    }
}

/// Statements that stay together.
struct Part {
    stmts: HashSet<usize>,
    assigned: HashSet<SymId>,
    named: HashSet<SymId>,
    sums: usize,
}

impl Part {
    fn meets(&self, other: &Part) -> bool {
        !self.assigned.is_disjoint(&other.named) || !other.assigned.is_disjoint(&self.named)
    }

    fn join(&mut self, other: Part) {
        self.stmts.extend(other.stmts);
        self.assigned.extend(other.assigned);
        self.named.extend(other.named);
        self.sums += other.sums;
    }
}

/// Returns the loop with only some of its assignments.
fn only(stmt: &Stmt, sums: &Sums, group: &HashSet<usize>) -> (Stmt, Sums) {
    let mut part = stmt.clone();
    let mut targets = Vec::new();
    if let StmtKind::Do(d) = &mut part.kind {
        let mut kept = Vec::new();
        for (i, s) in std::mem::take(&mut d.body).into_iter().enumerate() {
            if matches!(s.kind, StmtKind::Assign(..)) && !group.contains(&i) {
                continue;
            }
            if let Some((_, t)) = sums.targets.iter().find(|(at, _)| *at == i) {
                targets.push((kept.len(), t.clone()));
            }
            kept.push(s);
        }
        d.body = kept;
    }
    let sums = Sums {
        targets,
        ordered: sums.ordered,
    };
    (part, sums)
}
