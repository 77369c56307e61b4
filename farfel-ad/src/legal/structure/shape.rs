//! Converts a graph of basic blocks to structured statements.
//!
//! Loops come first: every strongly connected component of the graph becomes a DO WHILE with a
//! single entry, a single exit and a single back edge; if there are several, a variable records
//! which one was taken. The rest has no cycles. There, the statements that are only reachable
//! through one arm of a branch go into that arm, and if the arms lead to more than one place behind
//! them, a variable records which one.
//!
//! No condition is evaluated twice, and a statement is only copied where that is shorter than the variable, so the
//! result has the size of the source. The method is that of Bahmann, Reissmann, Jahre and Meyer, "Perfect reconstructability
//! of control flow from demand dependence graphs" (ACM TACO 11, 2015), sections 4.1 and 4.2.

use super::emit::{DEEPEST, Names, truth};
use super::tree::is_harmless;
use farfel_lang::Span;
use farfel_lang::ir::{
    BinOp, Block, BlockDelimiter, Case, DoControl, Expr, ExprKind, Select, Stmt, StmtId, StmtKind,
    SymId, Type,
};
use farfel_lang::types::type_of;
use fixedbitset::FixedBitSet;
use std::collections::BTreeMap;

/// A basic block, by its position in the graph.
pub(super) type Id = usize;

/// The lines that go with a variable for the targets of arms where there are two: an IF in each sweep, and what records
/// the variable.
const LINES_OF_A_CHOICE: usize = 7;

/// How control leaves a basic block.
#[derive(Debug, Clone, Default)]
pub(super) enum Term {
    /// Not known yet.
    #[default]
    Open,
    Jump(Id),
    /// Goes to the first block if the condition is true, otherwise to the second one.
    Branch(Expr, Id, Id),
    /// Goes to the block for the value of an expression, or to the last one.
    Switch(Expr, Vec<(Vec<Expr>, Id)>, Id),
}

impl Term {
    fn targets(&self) -> Vec<Id> {
        match self {
            Term::Open => Vec::new(),
            Term::Jump(a) => vec![*a],
            Term::Branch(_, a, b) => vec![*a, *b],
            Term::Switch(_, cases, d) => cases.iter().map(|(_, t)| *t).chain([*d]).collect(),
        }
    }

    fn targets_mut(&mut self) -> Vec<&mut Id> {
        match self {
            Term::Open => Vec::new(),
            Term::Jump(a) => vec![a],
            Term::Branch(_, a, b) => vec![a, b],
            Term::Switch(_, cases, d) => cases.iter_mut().map(|(_, t)| t).chain([d]).collect(),
        }
    }
}

#[derive(Debug, Default)]
struct BasicBlock {
    stmts: Block,
    term: Term,
    span: Span,
}

impl BasicBlock {
    /// Whether nothing is executed before the branch.
    fn only_branches(&self) -> bool {
        let mut all = self.stmts.iter();
        all.all(|s| matches!(s.kind, StmtKind::Comment(_)))
    }
}

/// A graph of basic blocks.
#[derive(Debug, Default)]
pub(super) struct Graph {
    blocks: Vec<BasicBlock>,
}

impl Graph {
    /// Adds an empty block.
    pub fn add(&mut self) -> Id {
        self.blocks.push(BasicBlock::default());
        self.blocks.len() - 1
    }

    /// Adds a statement to a block that has not been ended.
    pub fn push(&mut self, at: Id, stmt: Stmt) {
        self.blocks[at].stmts.push(stmt);
    }

    /// Ends a block, unless it has been ended.
    pub fn end(&mut self, at: Id, term: Term, span: Span) {
        let b = &mut self.blocks[at];
        if matches!(b.term, Term::Open) {
            b.term = term;
            b.span = span;
        }
    }

    fn block(&mut self, stmts: Block, term: Term, span: Span) -> Id {
        self.blocks.push(BasicBlock { stmts, term, span });
        self.blocks.len() - 1
    }

    /// Returns the blocks that are reachable from a block without going through `exit`, excluding
    /// `exit` itself.
    fn reached(&self, from: Id, exit: Id) -> FixedBitSet {
        let mut seen = FixedBitSet::with_capacity(self.blocks.len());
        let mut open = vec![from];
        while let Some(at) = open.pop() {
            if at != exit && !seen.put(at) {
                open.extend(self.blocks[at].term.targets());
            }
        }
        seen
    }

    /// Redirects edges past empty blocks.
    fn thread(&mut self, exit: Id) {
        let past = |blocks: &[BasicBlock], mut at: Id| {
            for _ in 0..blocks.len() {
                match &blocks[at] {
                    BasicBlock {
                        stmts,
                        term: Term::Jump(to),
                        ..
                    } if stmts.is_empty() && at != exit => at = *to,
                    _ => break,
                }
            }
            at
        };
        for i in 0..self.blocks.len() {
            let mut term = std::mem::take(&mut self.blocks[i].term);
            for t in term.targets_mut() {
                *t = past(&self.blocks, *t);
            }
            self.blocks[i].term = term;
        }
    }
}

/// Returns the statements of a graph with a single entry and a single exit.
pub(super) fn shape(graph: &mut Graph, entry: Id, exit: Id, names: &mut Names) -> Block {
    graph.thread(exit);
    // Some empty blocks remain: those to which the entry leads.
    let mut shaper = Shaper {
        graph,
        names,
        depth: 0,
    };
    shaper.all(entry, exit)
}

struct Shaper<'a, 'u> {
    graph: &'a mut Graph,
    names: &'a mut Names<'u>,
    /// The current nesting depth of branches.
    depth: usize,
}

impl Shaper<'_, '_> {
    fn all(&mut self, entry: Id, exit: Id) -> Block {
        self.depth += 1;
        if self.depth > DEEPEST {
            self.names.too_deep = true;
            return Vec::new();
        }
        for part in self.cycles(entry, exit) {
            self.cycle(part, entry, exit);
        }
        let made = self.sequence(entry, exit);
        self.depth -= 1;
        made
    }

    /// Returns the strongly connected components that are loops (Tarjan's algorithm with an
    /// explicit stack).
    fn cycles(&self, entry: Id, exit: Id) -> Vec<Vec<Id>> {
        const NEW: usize = usize::MAX;
        let n = self.graph.blocks.len();
        let (mut number, mut low) = (vec![NEW; n], vec![0; n]);
        let mut on_stack = FixedBitSet::with_capacity(n);
        let (mut stack, mut found, mut count) = (Vec::new(), Vec::new(), 0);
        let next = |at: Id| -> Vec<Id> {
            let all = self.graph.blocks[at].term.targets().into_iter();
            all.filter(|t| *t != exit).collect()
        };
        if entry == exit {
            return found;
        }
        let mut path = vec![(entry, next(entry), 0)];
        number[entry] = 0;
        while let Some((at, to, done)) = path.pop() {
            if done == 0 {
                number[at] = count;
                low[at] = count;
                count += 1;
                stack.push(at);
                on_stack.insert(at);
            }
            if let Some(&t) = to.get(done) {
                path.push((at, to, done + 1));
                if number[t] == NEW {
                    let after = next(t);
                    path.push((t, after, 0));
                } else if on_stack.contains(t) {
                    low[at] = low[at].min(number[t]);
                }
                continue;
            }
            if let Some((parent, ..)) = path.last() {
                low[*parent] = low[*parent].min(low[at]);
            }
            if low[at] == number[at] {
                let mut part = Vec::new();
                while let Some(b) = stack.pop() {
                    on_stack.set(b, false);
                    part.push(b);
                    if b == at {
                        break;
                    }
                }
                part.sort_unstable();
                if part.len() > 1 || to.contains(&at) {
                    found.push(part);
                }
            }
        }
        found
    }

    /// Replaces a cycle by a single block.
    fn cycle(&mut self, part: Vec<Id>, entry: Id, exit: Id) {
        let reached = self.graph.reached(entry, exit);
        let inside = |b: &Id| part.binary_search(b).is_ok();
        // Nothing jumps to the entry of a region, so it is not in a cycle.
        let mut entries: Vec<Id> = Vec::new();
        let outside: Vec<Id> = reached.ones().filter(|b| !inside(b)).collect();
        for b in &outside {
            let to = self.graph.blocks[*b].term.targets();
            entries.extend(to.into_iter().filter(inside));
        }
        entries.sort_unstable();
        entries.dedup();
        // The exits, as edges.
        let mut exits: Vec<(Id, Id)> = Vec::new();
        for b in &part {
            let to = self.graph.blocks[*b].term.targets();
            exits.extend(to.into_iter().filter(|t| !inside(t)).map(|t| (*b, t)));
        }
        let mut places: Vec<Id> = exits.iter().map(|(_, t)| *t).collect();
        places.sort_unstable();
        places.dedup();
        let Some(&first) = entries.first() else {
            return;
        };
        let span = self.graph.blocks[first].span;
        let tail = self.graph.add();
        let head = &self.graph.blocks[first];
        let single = entries.len() == 1 && head.only_branches();
        if let (true, Term::Branch(c, yes, no)) = (single, &head.term)
            && inside(yes) != inside(no)
            && !self.names.calls(c)
        {
            let (stay, out) = if inside(yes) {
                (*yes, *no)
            } else {
                (*no, *yes)
            };
            let condition = match inside(yes) {
                true => c.clone(),
                false => self.names.not(c.clone()),
            };
            let only = exits.iter().all(|(from, _)| *from == first);
            if only || is_harmless(c) {
                let others: Vec<Id> = places.iter().copied().filter(|p| *p != out).collect();
                self.tested_first(&part, first, stay, out, &others, condition, tail, only);
                return;
            }
        }
        self.any_loop(&part, &entries, &places, tail, span);
    }

    /// Writes `DO WHILE (condition)` for a cycle whose first block only tests the condition.
    #[allow(clippy::too_many_arguments)]
    fn tested_first(
        &mut self,
        part: &[Id],
        head: Id,
        stay: Id,
        out: Id,
        others: &[Id],
        condition: Expr,
        tail: Id,
        only: bool,
    ) {
        let span = self.graph.blocks[head].span;
        let inside = |b: &Id| part.binary_search(b).is_ok();
        let mut before = std::mem::take(&mut self.graph.blocks[head].stmts);
        let left = (!only).then(|| self.leaving(others.len() + 1, span));
        for b in part.iter().filter(|b| **b != head) {
            self.redirect(*b, &|t| (t == head).then_some((tail, 0)), &left);
            self.redirect(
                *b,
                &|t| match inside(&t) || t == tail {
                    true => None,
                    false => {
                        let place = others.iter().position(|o| *o == t);
                        Some((tail, place.map_or(others.len() + 1, |p| p + 1)))
                    }
                },
                &left,
            );
        }
        let stay = if stay == head { tail } else { stay };
        let start = self.graph.block(Vec::new(), Term::Jump(stay), span);
        let body = self.all(start, tail);
        let mut term = Term::Jump(out);
        let mut condition = condition;
        if let Some(left) = &left {
            before.push(left.start(span));
            let go_on = left.goes_on(span);
            condition = Expr::binary(BinOp::And, go_on, condition);
            if !others.is_empty() {
                term = left.choice(others, Some(out), span);
            }
        }
        before.push(Stmt::do_while(condition, body, span));
        let b = &mut self.graph.blocks[head];
        b.stmts = before;
        b.term = term;
    }

    /// Writes a loop that tests somewhere in its body whether to continue.
    fn any_loop(&mut self, part: &[Id], entries: &[Id], places: &[Id], tail: Id, span: Span) {
        let inside = |b: &Id| part.binary_search(b).is_ok();
        let left = self.leaving(places.len(), span);
        let way_in =
            (entries.len() > 1).then(|| self.names.variable("IENTRY", Type::INTEGER, span));
        let number = |list: &[Id], t: Id| list.iter().position(|e| *e == t).map(|i| i + 1);
        // The first block of the body.
        let (start, made) = match way_in {
            None => {
                let first = entries[0];
                let b = std::mem::take(&mut self.graph.blocks[first]);
                (self.graph.block(b.stmts, b.term, b.span), first)
            }
            Some(q) => {
                let (last, others) = match entries.split_last() {
                    Some((last, others)) => (*last, others),
                    None => return,
                };
                let cases = (1_i64..).zip(others);
                let cases = cases.map(|(i, e)| (vec![Expr::int(i, span)], *e)).collect();
                let selector = Expr::var(q, span);
                let start = self
                    .graph
                    .block(Vec::new(), Term::Switch(selector, cases, last), span);
                (start, self.graph.add())
            }
        };
        let blocks: Vec<Id> = part.iter().copied().filter(|b| *b != made).collect();
        for b in blocks.into_iter().chain([start]) {
            if b == start && way_in.is_some() {
                continue;
            }
            let ways = self.graph.blocks[b].term.targets();
            for t in ways {
                if let Some(i) = number(entries, t) {
                    let mut stmts = Vec::new();
                    if let Some(q) = way_in {
                        stmts.push(set(q, Expr::int(i as i64, span), span));
                    }
                    let back = match stmts.is_empty() {
                        true => tail,
                        false => self.graph.block(stmts, Term::Jump(tail), span),
                    };
                    self.replace(b, t, back);
                } else if !inside(&t)
                    && t != tail
                    && let Some(i) = number(places, t)
                {
                    let leave = vec![left.leave(i, span)];
                    let out = self.graph.block(leave, Term::Jump(tail), span);
                    self.replace(b, t, out);
                }
            }
        }
        if let Some(q) = way_in {
            // All edges from outside record the entry. The body is no longer reachable from there.
            let all = self.graph.blocks.len();
            for (i, e) in (1_i64..).zip(entries) {
                let set = set(q, Expr::int(i, span), span);
                let enter = self.graph.block(vec![set], Term::Jump(made), span);
                for b in 0..all {
                    if !inside(&b) && b != start {
                        self.replace(b, *e, enter);
                    }
                }
            }
        }
        let mut body = self.all(start, tail);
        let control = DoControl::While(left.goes_on(span));
        left.shorten(&mut body, self.names);
        let stmts = vec![left.start(span), Stmt::do_loop(control, body, span)];
        let term = match places {
            [] => Term::Open,
            [one] => Term::Jump(*one),
            several => left.choice(several, None, span),
        };
        self.graph.blocks[made].stmts = stmts;
        self.graph.blocks[made].term = term;
        self.graph.blocks[made].span = span;
    }

    /// Returns the variable in which a loop records by which of its exits it is left.
    fn leaving(&mut self, ways: usize, span: Span) -> Leaving {
        if ways > 1 {
            Leaving::Number(self.names.variable("ISTATE", Type::INTEGER, span))
        } else {
            Leaving::Flag(self.names.variable("AGAIN", Type::LOGICAL, span))
        }
    }

    /// Redirects edges from the end of block `b` for which `to` returns a new target, and records
    /// the number of the exit.
    fn redirect(&mut self, b: Id, to: &dyn Fn(Id) -> Option<(Id, usize)>, left: &Option<Leaving>) {
        let span = self.graph.blocks[b].span;
        for t in self.graph.blocks[b].term.targets() {
            let new = match (to(t), left) {
                (None, _) => continue,
                (Some((tail, way)), Some(left)) if way > 0 => {
                    let leave = left.leave(way, span);
                    self.graph.block(vec![leave], Term::Jump(tail), span)
                }
                (Some((tail, _)), _) => tail,
            };
            self.replace(b, t, new);
        }
    }

    fn replace(&mut self, b: Id, old: Id, new: Id) {
        for t in self.graph.blocks[b].term.targets_mut() {
            if *t == old {
                *t = new;
            }
        }
    }

    /// Returns the statements from a block to `end`, to which all paths lead.
    fn sequence(&mut self, from: Id, end: Id) -> Block {
        let mut out = Vec::new();
        let mut at = from;
        self.depth += 1;
        if self.depth > DEEPEST {
            // The recursion has to end; the statements are discarded.
            self.names.too_deep = true;
            at = end;
        }
        while at != end {
            let b = std::mem::take(&mut self.graph.blocks[at]);
            out.extend(b.stmts);
            let span = b.span;
            let targets = b.term.targets();
            let (Some(&first), Some(_)) = (targets.first(), targets.get(1)) else {
                match targets.first() {
                    Some(t) => at = *t,
                    // Control never gets to the end.
                    None => break,
                }
                continue;
            };
            if targets.iter().all(|t| *t == first) {
                if let Term::Branch(c, ..) | Term::Switch(c, ..) = b.term {
                    self.names.drop_value(c, span, &mut out);
                }
                at = first;
                continue;
            }
            let (term, next) = self.join(b.term, end, span);
            self.choice(term, next, span, &mut out);
            at = next;
        }
        self.depth -= 1;
        out
    }

    /// Makes all paths from a branch lead to a single block, which it returns.
    fn join(&mut self, mut term: Term, end: Id, span: Span) -> (Term, Id) {
        let targets = distinct(term.targets());
        let reached: Vec<FixedBitSet> = targets
            .iter()
            .map(|t| self.graph.reached(*t, end))
            .collect();
        let (mut once, mut more) = (FixedBitSet::new(), FixedBitSet::new());
        once.grow(self.graph.blocks.len());
        more.grow(self.graph.blocks.len());
        for r in &reached {
            let mut again = once.clone();
            again.intersect_with(r);
            more.union_with(&again);
            once.union_with(r);
        }
        more.insert(end);
        let mut arms: Vec<Id> = once.ones().filter(|b| !more.contains(*b)).collect();
        // The targets of the arms: blocks that can be reached from more than one of them.
        let mut ends = self.ends(&term, &arms, &more);
        while let Some(short) = self.short_end(&term, &arms, &ends) {
            self.copy_into_arms(short, &mut term, &mut arms);
            ends = self.ends(&term, &arms, &more);
        }
        let next = match ends[..] {
            [] => end,
            [one] => one,
            _ => {
                // The end comes last, because there is nothing left to do.
                ends.sort_by_key(|e| *e == end);
                let way = self.names.variable("IWAY", Type::INTEGER, span);
                let (last, others) = (ends[ends.len() - 1], &ends[..ends.len() - 1]);
                let cases = (1_i64..).zip(others);
                let cases = cases.map(|(i, e)| (vec![Expr::int(i, span)], *e)).collect();
                let choice = Term::Switch(Expr::var(way, span), cases, last);
                let next = self.graph.block(Vec::new(), choice, span);
                let numbers: BTreeMap<Id, i64> = ends.iter().copied().zip(1..).collect();
                let lead = |t: &mut Id, graph: &mut Graph| {
                    if let Some(i) = numbers.get(t) {
                        let note = set(way, Expr::int(*i, span), span);
                        *t = graph.block(vec![note], Term::Jump(next), span);
                    }
                };
                for b in arms {
                    let mut t = std::mem::take(&mut self.graph.blocks[b].term);
                    t.targets_mut()
                        .into_iter()
                        .for_each(|t| lead(t, self.graph));
                    self.graph.blocks[b].term = t;
                }
                for t in term.targets_mut() {
                    lead(t, self.graph);
                }
                next
            }
        };
        (term, next)
    }

    /// The blocks to which the arms of a branch lead, out of those that more than one of them can reach.
    fn ends(&self, term: &Term, arms: &[Id], more: &FixedBitSet) -> Vec<Id> {
        let mut ends = term.targets();
        for b in arms {
            ends.extend(self.graph.blocks[*b].term.targets());
        }
        ends.retain(|t| more.contains(*t));
        distinct(ends)
    }

    /// Returns an end that leads to another one, and takes no more statements in all arms than numbers that say where
    /// they lead to.
    fn short_end(&self, term: &Term, arms: &[Id], ends: &[Id]) -> Option<Id> {
        let mut edges: BTreeMap<Id, usize> = BTreeMap::new();
        let terms = arms.iter().map(|b| &self.graph.blocks[*b].term);
        for t in terms.chain([term]).flat_map(Term::targets) {
            *edges.entry(t).or_default() += 1;
        }
        let short = |end: Id| {
            let b = &self.graph.blocks[end];
            let Term::Jump(next) = b.term else {
                return false;
            };
            let edges = edges.get(&end).copied().unwrap_or(0);
            // In both sweeps; `None` for statements that are not copied.
            let lines = |s: &Stmt| match &s.kind {
                StmtKind::Comment(_) => Some(0),
                _ if s.label.is_some() => None,
                StmtKind::Assign(to, _) => Some(match type_of(self.names.unit, to) {
                    Some(Type::Integer(_) | Type::Logical(_)) => 1,
                    _ => 4,
                }),
                StmtKind::Call(_, args) => Some(2 + args.len() / 3),
                _ => None,
            };
            let lines = b.stmts.iter().map(lines).sum::<Option<usize>>();
            next != end
                && ends.contains(&next)
                && lines.is_some_and(|n| n * edges <= edges + LINES_OF_A_CHOICE)
        };
        ends.iter().copied().find(|end| short(*end))
    }

    /// Executes the statements of a block where the arms lead to it.
    fn copy_into_arms(&mut self, end: Id, term: &mut Term, arms: &mut Vec<Id>) {
        let mut copies = Vec::new();
        let mut lead = |t: &mut Id, graph: &mut Graph| {
            if *t == end {
                let b = &graph.blocks[end];
                let (mut stmts, term, span) = (b.stmts.clone(), b.term.clone(), b.span);
                stmts.iter_mut().for_each(|s| s.id = StmtId::NONE);
                *t = graph.block(stmts, term, span);
                copies.push(*t);
            }
        };
        for b in arms.iter() {
            let mut t = std::mem::take(&mut self.graph.blocks[*b].term);
            t.targets_mut()
                .into_iter()
                .for_each(|t| lead(t, self.graph));
            self.graph.blocks[*b].term = t;
        }
        for t in term.targets_mut() {
            lead(t, self.graph);
        }
        arms.append(&mut copies);
    }

    /// Writes the statement that executes one of the arms of a branch.
    fn choice(&mut self, term: Term, next: Id, span: Span, out: &mut Block) {
        match term {
            Term::Open | Term::Jump(_) => {}
            Term::Branch(c, yes, no) => {
                let then = self.sequence(yes, next);
                let otherwise = self.sequence(no, next);
                self.names.choice(c, then, otherwise, span, out);
            }
            Term::Switch(selector, cases, default) => {
                // Merge cases that lead to the same block; drop those that lead to the default.
                let mut merged: Vec<(Vec<Expr>, Id)> = Vec::new();
                for (values, t) in cases {
                    match merged.iter_mut().find(|(_, old)| *old == t) {
                        Some((old, _)) => old.extend(values),
                        None if t == default => {}
                        None => merged.push((values, t)),
                    }
                }
                let single = match &merged[..] {
                    [(values, _)] => match &values[..] {
                        [value] => match &value.kind {
                            ExprKind::Int(_) => Some((BinOp::Eq, value.clone())),
                            ExprKind::Range(Some(low), None, None) => {
                                Some((BinOp::Ge, (**low).clone()))
                            }
                            _ => None,
                        },
                        _ => None,
                    },
                    _ => None,
                };
                let mut bodies: Vec<(Vec<Expr>, Block)> = Vec::new();
                for (values, t) in merged {
                    bodies.push((values, self.sequence(t, next)));
                }
                let otherwise = self.sequence(default, next);
                if let Some((op, value)) = single {
                    let is = Expr::binary(op, selector, value);
                    let body = bodies.pop().map(|(_, b)| b).unwrap_or_default();
                    return self.names.choice(is, body, otherwise, span, out);
                }
                if otherwise.is_empty() && bodies.iter().all(|(_, b)| b.is_empty()) {
                    return self.names.drop_value(selector, span, out);
                }
                let mark = BlockDelimiter { label: None, span };
                let mut cases: Vec<Case> = Vec::new();
                for (values, body) in bodies {
                    cases.push(Case {
                        values: Some(values),
                        body,
                        mark,
                    });
                }
                if !otherwise.is_empty() {
                    cases.push(Case {
                        values: None,
                        body: otherwise,
                        mark,
                    });
                }
                let select = Select {
                    name: None,
                    selector,
                    comments: Vec::new(),
                    cases,
                    end: mark,
                };
                out.push(Stmt::select(select, span));
            }
        }
    }
}

/// The variable that tells whether a loop continues.
enum Leaving {
    /// True while it continues.
    Flag(SymId),
    /// 0 while it continues, otherwise the number of the exit.
    Number(SymId),
}

impl Leaving {
    fn start(&self, span: Span) -> Stmt {
        match self {
            Leaving::Flag(s) => set(*s, truth(true, span), span),
            Leaving::Number(s) => set(*s, Expr::int(0, span), span),
        }
    }

    fn leave(&self, way: usize, span: Span) -> Stmt {
        match self {
            Leaving::Flag(s) => set(*s, truth(false, span), span),
            Leaving::Number(s) => set(*s, Expr::int(way as i64, span), span),
        }
    }

    fn goes_on(&self, span: Span) -> Expr {
        match self {
            Leaving::Flag(s) => Expr::var(*s, span),
            Leaving::Number(s) => Expr::binary(BinOp::Eq, Expr::var(*s, span), Expr::int(0, span)),
        }
    }

    /// Returns a branch to one of several places. 0, or the last number, leads to `otherwise`, or
    /// to the last place.
    fn choice(&self, places: &[Id], otherwise: Option<Id>, span: Span) -> Term {
        let (Leaving::Flag(s) | Leaving::Number(s)) = self;
        let (listed, default) = match (otherwise, places.split_last()) {
            (Some(d), _) => (places, d),
            (None, Some((last, others))) => (others, *last),
            (None, None) => return Term::Open,
        };
        let cases = (1_i64..).zip(listed);
        let cases = cases.map(|(i, p)| (vec![Expr::int(i, span)], *p)).collect();
        Term::Switch(Expr::var(*s, span), cases, default)
    }

    /// Shortens an `IF (c) flag = .FALSE.` at the end of the body: the flag is true until then.
    fn shorten(&self, body: &mut Block, names: &Names) {
        let Leaving::Flag(flag) = self else { return };
        let is_leave = |b: &Block| {
            matches!(&b[..], [Stmt { kind: StmtKind::Assign(t, _), .. }]
                if t.kind == ExprKind::Var(*flag))
        };
        let shorter = match body.last() {
            Some(Stmt {
                kind: StmtKind::If(b),
                span,
                ..
            }) => match &b.arms[..] {
                [(c, then)] if is_leave(then) && b.otherwise.is_none() => {
                    Some(set(*flag, names.not(c.clone()), *span))
                }
                _ => None,
            },
            _ => None,
        };
        if let (Some(s), Some(last)) = (shorter, body.last_mut()) {
            *last = s;
        }
    }
}

fn set(s: SymId, value: Expr, span: Span) -> Stmt {
    Stmt::assign(Expr::var(s, span), value, span)
}

fn distinct(mut list: Vec<Id>) -> Vec<Id> {
    list.sort_unstable();
    list.dedup();
    list
}
