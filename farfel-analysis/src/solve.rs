//! The solver for all dataflow problems.
//!
//! A problem assigns facts to the nodes of a graph: what holds before a statement (forward) or
//! after it (backward). Facts form a lattice: [`Fact::join`] combines the facts from several edges.
//! A transfer function maps the fact at a node to the fact beyond it. [`forward`] and [`backward`]
//! find the least solution: sets of what may hold only grow ([`May`], by union), sets of what must
//! hold only shrink ([`Must`], by intersection).
//!
//! Nodes are visited in reverse postorder (of the reversed graph, if backward), so that most of
//! them are visited after those that they depend on: G. A. Kildall, *A unified approach to global
//! program optimization*, POPL 1973; J. B. Kam and J. D. Ullman, *Global data flow analysis and
//! iterative algorithms*, JACM 23 (1976).
//!
//! ```
//! use farfel_analysis::solve::{Graph, May, forward};
//!
//! // 0 → 1 → 2, and 2 → 1: node 1 adds the element 7.
//! let successors = [vec![1], vec![2], vec![1]];
//! let graph = Graph::new(&successors);
//! let start = May::with_capacity(8);
//! let found = forward(&graph, 0, start, &mut |node, fact: &mut May| {
//!     if node == 1 {
//!         fact.insert(7);
//!     }
//! });
//! assert!(found[1].as_ref().is_some_and(|f| f.contains(7)));
//! assert!(found[0].as_ref().is_some_and(|f| !f.contains(7)));
//! ```

use fixedbitset::FixedBitSet;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A dataflow fact: what holds at a node.
pub trait Fact: Clone {
    /// Joins the fact from another edge into this one. Returns whether that changed it.
    fn join(&mut self, other: &Self) -> bool;
}

/// What may hold: sets are joined by union.
pub type May = FixedBitSet;

impl Fact for FixedBitSet {
    fn join(&mut self, other: &Self) -> bool {
        if other.is_subset(self) {
            return false;
        }
        self.union_with(other);
        true
    }
}

/// What holds on every path: sets are joined by intersection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Must(pub FixedBitSet);

impl Fact for Must {
    fn join(&mut self, other: &Self) -> bool {
        if self.0.is_subset(&other.0) {
            return false;
        }
        self.0.intersect_with(&other.0);
        true
    }
}

impl<A: Fact, B: Fact> Fact for (A, B) {
    fn join(&mut self, other: &Self) -> bool {
        let first = self.0.join(&other.0);
        self.1.join(&other.1) || first
    }
}

/// A graph on which to solve dataflow problems, given by the successors of its nodes.
#[derive(Debug)]
pub struct Graph<'g> {
    successors: &'g [Vec<usize>],
    predecessors: std::borrow::Cow<'g, [Vec<usize>]>,
}

impl<'g> Graph<'g> {
    /// Creates a graph from the successors of each node.
    pub fn new(successors: &'g [Vec<usize>]) -> Self {
        let mut predecessors = vec![Vec::new(); successors.len()];
        for (from, list) in successors.iter().enumerate() {
            for to in list {
                predecessors[*to].push(from);
            }
        }
        Graph {
            successors,
            predecessors: predecessors.into(),
        }
    }

    /// Returns the graph of the control flow of a unit.
    pub fn of(flow: &'g farfel_ir::flow::FlowGraph) -> Self {
        Graph {
            successors: &flow.successors,
            predecessors: flow.predecessors.as_slice().into(),
        }
    }

    /// Returns the number of nodes.
    fn len(&self) -> usize {
        self.successors.len()
    }
}

/// Returns what holds before each node, if `start` holds before the node `entry`. `None` for nodes
/// that are unreachable from the entry.
pub fn forward<F: Fact>(
    graph: &Graph,
    entry: usize,
    start: F,
    transfer: &mut dyn FnMut(usize, &mut F),
) -> Vec<Option<F>> {
    // Of the edges of a loop, that to its body comes before that to what follows it.
    let order = reverse_postorder(graph.successors, [entry], Follow::LastFirst);
    let mut facts = vec![None; graph.len()];
    facts[entry] = Some(start);
    iterate(graph.successors, &order, &mut facts, [entry], transfer);
    facts
}

/// Returns what holds after each node, if `end` holds after the node `exit`, and `nothing` where a
/// path ends otherwise (STOP) or never ends.
pub fn backward<F: Fact>(
    graph: &Graph,
    exit: usize,
    end: F,
    nothing: &F,
    transfer: &mut dyn FnMut(usize, &mut F),
) -> Vec<F> {
    let n = graph.len();
    let ends = (0..n).filter(|i| graph.successors[*i].is_empty());
    let roots = std::iter::once(exit).chain(ends).chain((0..n).rev());
    let order = reverse_postorder(&graph.predecessors, roots, Follow::FirstFirst);
    let mut facts = vec![Some(nothing.clone()); n];
    if let Some(Some(at)) = facts.get_mut(exit) {
        *at = end;
    }
    let start: Vec<usize> = (0..n).collect();
    iterate(&graph.predecessors, &order, &mut facts, start, transfer);
    let known = facts.into_iter();
    known
        .map(|f| f.unwrap_or_else(|| nothing.clone()))
        .collect()
}

/// Calls `visit` with what holds before each node that is reachable from the entry. Like
/// [`forward`], for large facts that are needed only once each: they are stored per basic block
/// only.
pub fn forward_each<F: Fact>(
    graph: &Graph,
    entry: usize,
    start: F,
    transfer: &mut dyn FnMut(usize, &mut F),
    visit: &mut dyn FnMut(usize, &F),
) {
    let blocks = BasicBlocks::of(graph, entry);
    let pieces = Graph::new(&blocks.successors);
    let facts = forward(&pieces, blocks.of_node[entry], start, &mut |b, fact| {
        blocks.nodes[b].iter().for_each(|n| transfer(*n, fact));
    });
    for (block, fact) in blocks.nodes.iter().zip(facts) {
        let Some(mut fact) = fact else { continue };
        for &n in block {
            visit(n, &fact);
            transfer(n, &mut fact);
        }
    }
}

/// Calls `visit` with what holds after each node: relates to [`backward`] as [`forward_each`] to
/// [`forward`].
pub fn backward_each<F: Fact>(
    graph: &Graph,
    exit: usize,
    end: F,
    nothing: &F,
    transfer: &mut dyn FnMut(usize, &mut F),
    visit: &mut dyn FnMut(usize, &F),
) {
    // The exit ends its block anyway: nothing follows it.
    let blocks = BasicBlocks::of(graph, graph.len());
    let pieces = Graph::new(&blocks.successors);
    let last = blocks.of_node[exit];
    let facts = backward(&pieces, last, end, nothing, &mut |b, fact| {
        blocks.nodes[b]
            .iter()
            .rev()
            .for_each(|n| transfer(*n, fact));
    });
    for (block, mut fact) in blocks.nodes.iter().zip(facts) {
        for &n in block.iter().rev() {
            visit(n, &fact);
            transfer(n, &mut fact);
        }
    }
}

/// The basic blocks of a graph: sequences of nodes that are always executed together.
#[derive(Debug)]
pub struct BasicBlocks {
    /// The nodes of each block, in their order.
    pub nodes: Vec<Vec<usize>>,
    /// The successors of each block.
    pub successors: Vec<Vec<usize>>,
    /// The block of each node.
    pub of_node: Vec<usize>,
}

impl BasicBlocks {
    /// Computes the blocks of a graph; `entry` begins a block.
    pub fn of(graph: &Graph, entry: usize) -> Self {
        // Whether the node always follows one particular other node.
        let follows = |n: usize| match graph.predecessors[n][..] {
            [before] => n != entry && graph.successors[before].len() == 1,
            _ => false,
        };
        let mut nodes: Vec<Vec<usize>> = Vec::new();
        let mut of_node = vec![usize::MAX; graph.len()];
        // In an unreachable cycle, every node may follow another one.
        let begins = (0..graph.len()).filter(|n| !follows(*n));
        for first in begins.chain(0..graph.len()) {
            let mut block = Vec::new();
            let mut next = Some(first).filter(|n| of_node[*n] == usize::MAX);
            while let Some(node) = next {
                of_node[node] = nodes.len();
                block.push(node);
                next = match graph.successors[node][..] {
                    [after] if follows(after) && of_node[after] == usize::MAX => Some(after),
                    _ => None,
                };
            }
            if !block.is_empty() {
                nodes.push(block);
            }
        }
        let last = |b: &Vec<usize>| b.last().map_or(&[][..], |n| &graph.successors[*n]);
        let successors = nodes
            .iter()
            .map(|b| last(b).iter().map(|n| of_node[*n]).collect());
        BasicBlocks {
            successors: successors.collect(),
            nodes,
            of_node,
        }
    }
}

/// Computes the least solution for the units of a call graph, or for any other nodes that depend on
/// each other: calls `update` on every node until it returns false for all of them; where it
/// returns true, the nodes that depend on it (`dependents`) are updated again. `order` is the order
/// of priority.
pub fn fixed_point(
    order: &[usize],
    dependents: &[Vec<usize>],
    update: &mut dyn FnMut(usize) -> bool,
) {
    let mut work = Worklist::new(order, dependents.len());
    order.iter().for_each(|n| work.add(*n));
    while let Some(node) = work.next() {
        if update(node) {
            dependents[node].iter().for_each(|d| work.add(*d));
        }
    }
}

fn iterate<F: Fact>(
    edges: &[Vec<usize>],
    order: &[usize],
    facts: &mut [Option<F>],
    start: impl IntoIterator<Item = usize>,
    transfer: &mut dyn FnMut(usize, &mut F),
) {
    let mut work = Worklist::new(order, edges.len());
    start.into_iter().for_each(|n| work.add(n));
    while let Some(node) = work.next() {
        let Some(mut fact) = facts[node].clone() else {
            continue;
        };
        transfer(node, &mut fact);
        for &to in &edges[node] {
            let changed = match &mut facts[to] {
                Some(there) => there.join(&fact),
                none => {
                    *none = Some(fact.clone());
                    true
                }
            };
            if changed {
                work.add(to);
            }
        }
    }
}

/// A worklist; the node that comes first in the order is visited first.
struct Worklist<'o> {
    order: &'o [usize],
    /// The position of each node in the order.
    position: Vec<usize>,
    heap: BinaryHeap<Reverse<usize>>,
    queued: FixedBitSet,
}

impl<'o> Worklist<'o> {
    fn new(order: &'o [usize], nodes: usize) -> Self {
        let mut position = vec![usize::MAX; nodes];
        for (i, node) in order.iter().enumerate() {
            position[*node] = i;
        }
        Worklist {
            order,
            position,
            heap: BinaryHeap::new(),
            queued: FixedBitSet::with_capacity(order.len()),
        }
    }

    /// Adds a node. Nodes that are not in the order are ignored.
    fn add(&mut self, node: usize) {
        let at = self.position[node];
        if at < self.order.len() && !self.queued.put(at) {
            self.heap.push(Reverse(at));
        }
    }

    fn next(&mut self) -> Option<usize> {
        let Reverse(at) = self.heap.pop()?;
        self.queued.set(at, false);
        Some(self.order[at])
    }
}

/// Which edge of a node is followed first.
#[derive(Clone, Copy)]
enum Follow {
    FirstFirst,
    LastFirst,
}

/// Returns the nodes that are reachable from some roots, most of them after their predecessors.
///
/// What is reached over a node's last followed edge comes before the others. That should be the body of a loop: if
/// what follows a loop came before its body, a sequence of loops would take a time that grows with the square of their
/// number. Uses an explicit stack, because paths may be long.
fn reverse_postorder(
    edges: &[Vec<usize>],
    roots: impl IntoIterator<Item = usize>,
    follow: Follow,
) -> Vec<usize> {
    let mut seen = FixedBitSet::with_capacity(edges.len());
    let mut order = Vec::with_capacity(edges.len());
    // Each entry: a node, and how many of its edges have been followed.
    let mut path = Vec::new();
    for root in roots {
        if !seen.put(root) {
            path.push((root, 0));
        }
        while let Some((node, followed)) = path.pop() {
            let list = &edges[node];
            let to = match follow {
                Follow::FirstFirst => list.get(followed),
                Follow::LastFirst => list.iter().rev().nth(followed),
            };
            match to {
                Some(to) => {
                    path.push((node, followed + 1));
                    if !seen.put(*to) {
                        path.push((*to, 0));
                    }
                }
                None => order.push(node),
            }
        }
    }
    order.reverse();
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(elements: &[usize]) -> May {
        let mut s = May::with_capacity(8);
        s.extend(elements.iter().copied());
        s
    }

    /// 0 branches to 1 and 2, which meet in 3; nothing leads to 4.
    fn diamond() -> Vec<Vec<usize>> {
        vec![vec![1, 2], vec![3], vec![3], vec![], vec![3]]
    }

    #[test]
    fn may_is_a_union_and_must_an_intersection() {
        let edges = diamond();
        let graph = Graph::new(&edges);
        let start = (set(&[]), Must(set(&[])));
        let found = forward(&graph, 0, start, &mut |node, f: &mut (May, Must)| {
            // 1 sets a and b, 2 sets b and c.
            for x in [node, node + 1] {
                if node == 1 || node == 2 {
                    f.0.insert(x);
                    f.1.0.insert(x);
                }
            }
        });
        assert_eq!(found[3], Some((set(&[1, 2, 3]), Must(set(&[2])))));
        assert_eq!(found[4], None);
    }

    #[test]
    fn backward_facts_come_from_ends_that_are_no_exit() {
        // 0 leads to the exit 1 or stops in 2, which reads x.
        let edges = vec![vec![1, 2], vec![], vec![]];
        let graph = Graph::new(&edges);
        let found = backward(&graph, 1, set(&[5]), &set(&[]), &mut |node, f: &mut May| {
            if node == 2 {
                f.insert(6);
            }
        });
        assert_eq!(found, [set(&[5, 6]), set(&[5]), set(&[])]);
    }

    /// A sequence of loops: header 2i, body 2i + 1.
    #[test]
    fn a_sequence_of_loops_takes_linear_time() {
        const LOOPS: usize = 100;
        let node = |i| match i % 2 {
            0 => vec![i + 1, i + 2],
            _ => vec![i - 1],
        };
        let mut edges: Vec<Vec<usize>> = (0..2 * LOOPS).map(node).collect();
        edges.push(Vec::new());
        let graph = Graph::new(&edges);
        let mut visits = 0;
        let all = |fact: &mut May, node: usize| fact.insert(node);
        let start = || May::with_capacity(edges.len());
        forward(&graph, 0, start(), &mut |node, f| {
            visits += 1;
            all(f, node);
        });
        assert!(visits <= 3 * edges.len(), "{visits} visits forward");
        visits = 0;
        let nothing = start();
        backward(&graph, 2 * LOOPS, start(), &nothing, &mut |node, f| {
            visits += 1;
            all(f, node);
        });
        assert!(visits <= 4 * edges.len(), "{visits} visits backward");
    }

    #[test]
    fn each_node_is_visited_with_what_holds_there() {
        // 0 → 1 → 2 → 3 → 1, 2 → 4 → 5; 6 → 7 → 6, to which nothing leads.
        let edges = vec![
            vec![1],
            vec![2],
            vec![3, 4],
            vec![1],
            vec![5],
            vec![],
            vec![7],
            vec![6],
        ];
        let graph = Graph::new(&edges);
        let mut transfer = |node: usize, f: &mut May| f.insert(node);
        let all = forward(&graph, 0, set(&[]), &mut transfer);
        let mut seen = vec![None; 8];
        forward_each(&graph, 0, set(&[]), &mut transfer, &mut |n, f: &May| {
            seen[n] = Some(f.clone());
        });
        assert_eq!(seen, all);
        let all = backward(&graph, 5, set(&[3]), &set(&[]), &mut transfer);
        let mut seen = vec![set(&[]); 8];
        let end = set(&[3]);
        backward_each(&graph, 5, end, &set(&[]), &mut transfer, &mut |n, f| {
            seen[n] = f.clone();
        });
        assert_eq!(seen, all);
    }

    #[test]
    fn a_fact_goes_around_a_loop_until_nothing_changes() {
        // 0 → 1 → 2 → 3 → 1, and each adds one more than it was given.
        let edges = vec![vec![1], vec![2], vec![3], vec![1]];
        let graph = Graph::new(&edges);
        let found = forward(&graph, 0, set(&[0]), &mut |_, f: &mut May| {
            let most = f.ones().next_back().unwrap_or(0);
            f.insert((most + 1).min(7));
        });
        assert_eq!(found[1], Some(set(&[0, 1, 2, 3, 4, 5, 6, 7])));
    }

    #[test]
    fn dependents_are_updated_until_nothing_changes() {
        // 2 depends on 1, 1 on 0, 0 on 2: the values grow to 3 together.
        let dependents = vec![vec![1], vec![2], vec![0]];
        let mut values = [0, 0, 0];
        fixed_point(&[0, 1, 2], &dependents, &mut |n| {
            let before: usize = values[(n + 2) % 3];
            let new = (before + 1).min(3).max(values[n]);
            std::mem::replace(&mut values[n], new) != new
        });
        assert_eq!(values, [3, 3, 3]);
    }
}
