//! The control flow of a unit as a graph over its statements.
//!
//! A node is a statement, numbered by its position in textual order (preorder). [`FlowGraph::node`]
//! maps a statement of a numbered unit to its node. Two additional nodes represent the entry and
//! the exit of the unit.

use crate::ir::{
    Block, DoControl, DoEnd, Expr, ExprKind, Label, Name, Stmt, StmtId, StmtKind, SymId, Unit,
    walk_block,
};
use std::collections::HashMap;
use std::ops::Range;

/// The control flow graph of a unit.
#[derive(Debug)]
pub struct FlowGraph<'a> {
    /// The statements in textual order: node `i` is `stmts[i]`.
    pub stmts: Vec<&'a Stmt>,
    /// The nodes to which control may go from each node.
    pub successors: Vec<Vec<usize>>,
    /// The nodes from which control may reach each node.
    pub predecessors: Vec<Vec<usize>>,
    /// The node before the first statement.
    pub entry: usize,
    /// The node to which RETURN and END lead. STOP has no successors.
    pub exit: usize,
    /// For each node whether the statement is inside WHERE, and affects only some elements.
    pub masked: Vec<bool>,
    /// The node to which a jump to each label leads.
    pub labels: HashMap<Label, usize>,
    /// The node of each statement, by statement id.
    nodes: Vec<usize>,
}

/// Returns the number of nodes of a statement and everything inside it.
fn size(stmt: &Stmt) -> usize {
    let mut n = 0;
    stmt.walk(&mut |_| n += 1);
    n
}

impl<'a> FlowGraph<'a> {
    /// Returns the node of a statement.
    ///
    /// # Panics
    ///
    /// Panics if the unit was not numbered ([`Unit::number`]), or the statement is not part of the
    /// unit.
    pub fn node(&self, id: StmtId) -> usize {
        let node = self.nodes[id.index()];
        assert!(self.stmts[node].id == id, "a statement of another unit");
        node
    }

    /// Returns the nodes of a statement, given by its node, and of everything inside it.
    pub fn nodes_within(&self, node: usize) -> Range<usize> {
        node..node + self.stmts.get(node).map_or(1, |s| size(s))
    }

    /// Returns the nodes that may be executed before a node, including the node itself if it may be
    /// executed again.
    pub fn before(&self, node: usize) -> Vec<bool> {
        let mut found = vec![false; self.len()];
        let mut open = self.predecessors[node].clone();
        while let Some(n) = open.pop() {
            if !std::mem::replace(&mut found[n], true) {
                open.extend(&self.predecessors[n]);
            }
        }
        found
    }

    /// Builds the graph of a unit's statements.
    pub fn of(unit: &'a Unit) -> Self {
        let mut stmts = Vec::new();
        walk_block(&unit.body, &mut |s| stmts.push(s));
        let n = stmts.len();
        let last = stmts.iter().map(|s| s.id.index()).max();
        let mut nodes = vec![usize::MAX; last.map_or(0, |last| last + 1)];
        for (i, s) in stmts.iter().enumerate() {
            if s.id != StmtId::NONE {
                debug_assert_eq!(nodes[s.id.index()], usize::MAX, "an id twice");
                nodes[s.id.index()] = i;
            }
        }
        let mut masked = vec![false; n];
        for (i, s) in stmts.iter().enumerate() {
            if matches!(s.kind, StmtKind::Where(_)) {
                masked[i + 1..i + size(s)].fill(true);
            }
        }
        let mut b = Builder {
            successors: vec![Vec::new(); n + 2],
            labels: HashMap::new(),
            assigned: Vec::new(),
            constructs: Vec::new(),
            exit: n + 1,
        };
        for s in &stmts {
            if let StmtKind::AssignLabel(l, _) = s.kind {
                b.assigned.push(l);
            }
        }
        b.labels_of(&unit.body, 0, n + 1);
        let first = b.block(&unit.body, 0, n + 1);
        b.successors[n].push(first);
        for (i, s) in stmts.iter().enumerate() {
            // Each ENTRY is an additional way into the unit.
            if matches!(s.kind, StmtKind::Entry(_)) {
                b.successors[n].push(i);
            }
        }
        let mut predecessors = vec![Vec::new(); n + 2];
        for (from, list) in b.successors.iter_mut().enumerate() {
            list.sort_unstable();
            list.dedup();
            for to in list {
                predecessors[*to].push(from);
            }
        }
        FlowGraph {
            stmts,
            masked,
            successors: b.successors,
            predecessors,
            entry: n,
            exit: n + 1,
            labels: b.labels,
            nodes,
        }
    }

    /// Restricts the graph to one way in: an ENTRY statement, or the beginning of the unit for
    /// `None`.
    pub fn enter_at(&mut self, at: Option<SymId>) {
        let (stmts, entry) = (&self.stmts, self.entry);
        let is_way = |node: usize| {
            let entry = match stmts.get(node).map(|s| &s.kind) {
                Some(StmtKind::Entry(e)) => Some(e.name),
                _ => None,
            };
            match (at, entry) {
                (Some(at), Some(name)) => at == name,
                (None, Some(_)) => node == 0,
                (at, None) => at.is_none(),
            }
        };
        let (ways, others): (Vec<usize>, Vec<usize>) =
            self.successors[entry].iter().partition(|n| is_way(**n));
        for n in others {
            self.predecessors[n].retain(|p| *p != entry);
        }
        self.successors[entry] = ways;
    }

    /// Returns the statements that can be reached from the entry, in textual order.
    pub fn reached(&self) -> impl Iterator<Item = &'a Stmt> {
        let mut reached = vec![false; self.len()];
        let mut open = vec![self.entry];
        while let Some(node) = open.pop() {
            if !std::mem::replace(&mut reached[node], true) {
                open.extend(&self.successors[node]);
            }
        }
        let stmts = self.stmts.iter().zip(reached);
        stmts.filter(|(_, reached)| *reached).map(|(s, _)| *s)
    }

    /// Returns the number of nodes, including entry and exit.
    pub fn len(&self) -> usize {
        self.successors.len()
    }

    /// Always false: there are always an entry and an exit.
    pub fn is_empty(&self) -> bool {
        false
    }
}

/// A construct that EXIT or CYCLE may refer to.
struct Construct {
    name: Option<Name>,
    /// The node to which CYCLE leads; `None` if the construct is not a loop.
    head: Option<usize>,
    after: usize,
}

struct Builder {
    successors: Vec<Vec<usize>>,
    labels: HashMap<Label, usize>,
    assigned: Vec<Label>,
    constructs: Vec<Construct>,
    exit: usize,
}

impl Builder {
    /// Records where each label leads. `after` is the node that follows the block.
    fn labels_of(&mut self, block: &Block, start: usize, after: usize) {
        let mut at = start;
        for (i, s) in block.iter().enumerate() {
            let next = at + size(s);
            let follow = if i + 1 < block.len() { next } else { after };
            if let Some(l) = s.label {
                self.labels.insert(l, at);
            }
            match &s.kind {
                StmtKind::Do(d) => {
                    self.labels_of(&d.body, at + 1, at);
                    if let DoEnd::EndDo(Some(l)) = d.end {
                        self.labels.insert(l, at);
                    }
                }
                StmtKind::If(b) => {
                    let mut inner = at + 1;
                    for blk in s.blocks() {
                        self.labels_of(blk, inner, follow);
                        inner += blk.iter().map(size).sum::<usize>();
                    }
                    if let Some(l) = b.end_label {
                        self.labels.insert(l, follow);
                    }
                }
                StmtKind::Select(b) => {
                    let mut inner = at + 1;
                    for blk in s.blocks() {
                        self.labels_of(blk, inner, follow);
                        inner += blk.iter().map(size).sum::<usize>();
                    }
                    if let Some(l) = b.end.label {
                        self.labels.insert(l, follow);
                    }
                }
                _ => {}
            }
            at = next;
        }
    }

    fn goto(&self, label: Label, to: &mut Vec<usize>) {
        to.extend(self.labels.get(&label));
    }

    /// Adds the edges of a block and returns its first node.
    fn block(&mut self, block: &Block, start: usize, after: usize) -> usize {
        let mut at = start;
        for (i, s) in block.iter().enumerate() {
            let next = at + size(s);
            let follow = if i + 1 < block.len() { next } else { after };
            let to = self.stmt(s, at, follow);
            self.successors[at].extend(to);
            at = next;
        }
        if block.is_empty() { after } else { start }
    }

    /// Adds the edges inside a statement and returns the nodes to which control goes from it.
    fn stmt(&mut self, s: &Stmt, at: usize, follow: usize) -> Vec<usize> {
        let mut to = Vec::new();
        match &s.kind {
            StmtKind::Goto(l) => self.goto(*l, &mut to),
            StmtKind::ComputedGoto(labels, _) => {
                labels.iter().for_each(|l| self.goto(*l, &mut to));
                to.push(follow);
            }
            StmtKind::AssignedGoto(_, labels) => {
                let all = if labels.is_empty() {
                    &self.assigned
                } else {
                    labels
                };
                all.iter().for_each(|l| self.goto(*l, &mut to));
            }
            StmtKind::ArithmeticIf(_, labels) => {
                labels.iter().for_each(|l| self.goto(*l, &mut to));
            }
            StmtKind::Return(_) => to.push(self.exit),
            StmtKind::Stop(_) => {}
            StmtKind::Call(_, args) => {
                for a in args {
                    if let ExprKind::AltReturn(l) = a.kind {
                        self.goto(l, &mut to);
                    }
                }
                to.push(follow);
            }
            StmtKind::Io(io) => {
                for c in &io.control {
                    if let Some(l) = jump_label(c) {
                        self.goto(l, &mut to);
                    }
                }
                to.push(follow);
            }
            StmtKind::LogicalIf(_, inner) => {
                let inside = self.stmt(inner, at + 1, follow);
                self.successors[at + 1].extend(inside);
                to.extend([at + 1, follow]);
            }
            StmtKind::If(b) => {
                self.one_of(s, &b.name, at, follow, &mut to);
                if b.otherwise.is_none() {
                    to.push(follow);
                }
            }
            StmtKind::Select(b) => {
                self.one_of(s, &b.name, at, follow, &mut to);
                if b.cases.iter().all(|c| c.values.is_some()) {
                    to.push(follow);
                }
            }
            StmtKind::Where(_) => {
                // Each arm handles the elements that no preceding arm handled: these may be none or
                // all.
                let mut starts = Vec::new();
                let mut inner = at + 1;
                for blk in s.blocks() {
                    if !blk.is_empty() {
                        starts.push((blk, inner));
                    }
                    inner += blk.iter().map(size).sum::<usize>();
                }
                to.extend(starts.iter().map(|(_, start)| *start));
                for (i, (blk, start)) in starts.iter().enumerate() {
                    self.block(blk, *start, follow);
                    let last =
                        start + blk.iter().map(size).sum::<usize>() - blk.last().map_or(0, size);
                    let later = starts[i + 1..].iter().map(|(_, start)| *start);
                    self.successors[last].extend(later);
                }
                to.push(follow);
            }
            StmtKind::Do(d) => {
                self.constructs.push(Construct {
                    name: d.name.clone(),
                    head: Some(at),
                    after: follow,
                });
                to.push(self.block(&d.body, at + 1, at));
                self.constructs.pop();
                if !matches!(d.control, DoControl::Forever) {
                    to.push(follow);
                }
            }
            StmtKind::Cycle(name) => to.extend(self.construct(name).and_then(|l| l.head)),
            StmtKind::Exit(name) => to.extend(self.construct(name).map(|l| l.after)),
            StmtKind::Comment(_)
            | StmtKind::Assign(..)
            | StmtKind::Continue
            | StmtKind::AssignLabel(..)
            | StmtKind::Pause(_)
            | StmtKind::Format(_)
            | StmtKind::Entry(_)
            | StmtKind::Allocation(_)
            | StmtKind::Ad(_) => to.push(follow),
        }
        to
    }

    /// Adds the edges into and inside the blocks of a statement that executes one of them.
    fn one_of(
        &mut self,
        s: &Stmt,
        name: &Option<Name>,
        at: usize,
        follow: usize,
        to: &mut Vec<usize>,
    ) {
        self.constructs.push(Construct {
            name: name.clone(),
            head: None,
            after: follow,
        });
        let mut inner = at + 1;
        for blk in s.blocks() {
            to.push(self.block(blk, inner, follow));
            inner += blk.iter().map(size).sum::<usize>();
        }
        self.constructs.pop();
    }

    /// Returns the construct that CYCLE or EXIT refers to: the one with this name, or the innermost
    /// loop.
    fn construct(&self, name: &Option<Name>) -> Option<&Construct> {
        self.constructs.iter().rev().find(|c| match name {
            Some(_) => c.name == *name,
            None => c.head.is_some(),
        })
    }
}

/// Returns the label to which an item of an I/O control list jumps: END=, ERR=, EOR=.
fn jump_label(control: &Expr) -> Option<Label> {
    match &control.kind {
        ExprKind::Keyword(name, value) if matches!(name.as_str(), "END" | "ERR" | "EOR") => {
            match value.kind {
                ExprKind::Int(l) => Label::try_from(l).ok(),
                _ => None,
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Span;
    use crate::ir::{Do, UnitKind};

    fn st(label: Option<Label>, kind: StmtKind) -> Stmt {
        Stmt::labelled(label, kind, Span::NONE)
    }

    #[test]
    fn a_jump_to_the_end_of_a_loop_goes_on_with_the_next_iteration() {
        let mut u = Unit::new(UnitKind::Subroutine, "S".into(), Span::NONE);
        u.body = vec![
            st(
                None,
                StmtKind::Do(Box::new(Do {
                    name: None,
                    control: DoControl::Forever,
                    body: vec![st(None, StmtKind::Goto(20)), st(None, StmtKind::Exit(None))],
                    end: DoEnd::EndDo(Some(20)),
                    end_span: Span::NONE,
                    directive: None,
                })),
            ),
            st(None, StmtKind::Return(None)),
        ];
        let f = FlowGraph::of(&u);
        assert_eq!(
            f.successors,
            [vec![1], vec![0], vec![3], vec![5], vec![0], vec![]]
        );
        assert_eq!(f.predecessors[0], [1, 4]);
    }
}
