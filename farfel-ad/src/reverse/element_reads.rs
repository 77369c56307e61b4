//! Which assignments to elements of an array the reads of its elements can see.
//!
//! Liveness follows whole variables: it takes a value of `C` for used if any element of `C` is read later. In
//!
//! ```fortran
//!       DO J = 1, N
//!         DO I = 1, M
//!           C_G(I, J) = BETA*C_G(I, J) + C(I, J)*BETA_G
//!           C(I, J) = BETA*C(I, J)
//!         END DO
//!       END DO
//! ```
//!
//! the derivative reads each element before its assignment, and later iterations read other elements. So the
//! assignment is not needed for it. Here each statement that reads an array by its elements gets a location of
//! its own, and [`ElementReads::follows`] says whether it can read what an assignment has set: the subscripts
//! determine the iterations in which they name the same element, and these determine which of the two is
//! executed first.

use super::effects::{Effects, StatementEffects};
use crate::affine::Affine;
use crate::flow::FlowGraph;
use crate::locations::{Set, Space};
use farfel_lang::ir::{Class, DoControl, Expr, ExprKind, Stmt, StmtKind, SymId, UnOp, Unit};
use std::collections::{HashMap, HashSet};

/// The number of statements that read an array, at most: each assignment to its elements is compared with all of them.
const MOST_READS: usize = 300;

/// The statements that read arrays by their elements.
pub(super) struct ElementReads<'f> {
    flow: &'f FlowGraph<'f>,
    /// The first location of a read.
    base: usize,
    /// The reads, in the order of their locations.
    reads: Vec<Read>,
    /// The reads of each statement.
    by_node: HashMap<usize, Vec<usize>>,
    /// The reads of each array.
    by_array: HashMap<usize, Vec<usize>>,
    /// The blocks around each statement, outermost first: the statement that they belong to, and which of its
    /// blocks.
    around: Vec<Vec<(usize, usize)>>,
    /// The subscripts of each assignment to an element.
    targets: HashMap<usize, Vec<Affine>>,
    /// The variables that the unit assigns, other than as variables of loops.
    assigned: HashSet<SymId>,
}

/// All elements of one array that a statement reads.
struct Read {
    node: usize,
    array: usize,
    /// The subscripts of each.
    elements: Vec<Vec<Affine>>,
}

/// The affine forms of the subscripts of an element.
fn subscripts(unit: &Unit, e: &Expr) -> Option<Vec<Affine>> {
    match &e.kind {
        ExprKind::Element(_, subscripts) => {
            subscripts.iter().map(|s| Affine::of(unit, s)).collect()
        }
        _ => None,
    }
}

impl<'f> ElementReads<'f> {
    /// Finds the reads in a unit without jumps; in one with jumps, or if they are not `wanted`, there are none.
    pub fn of(
        unit: &'f Unit,
        space: &Space,
        flow: &'f FlowGraph,
        effects: &Effects,
        wanted: bool,
    ) -> Self {
        let mut found = ElementReads {
            flow,
            base: space.len + unit.symbols.len(),
            reads: Vec::new(),
            by_node: HashMap::new(),
            by_array: HashMap::new(),
            around: vec![Vec::new(); flow.stmts.len()],
            targets: HashMap::new(),
            assigned: HashSet::new(),
        };
        let jumps = |s: &&Stmt| {
            let leaves = matches!(
                s.kind,
                StmtKind::AssignedGoto(..)
                    | StmtKind::Cycle(_)
                    | StmtKind::Exit(_)
                    | StmtKind::Entry(_)
            );
            leaves || !s.kind.jumps().is_empty()
        };
        if !wanted || flow.stmts.iter().any(jumps) {
            return found;
        }
        for (i, s) in flow.stmts.iter().enumerate() {
            let within = found.around[i].clone();
            let mut at = i + 1;
            for (number, block) in s.blocks().into_iter().enumerate() {
                for inner in block {
                    found.around[at] = within.clone();
                    found.around[at].push((i, number));
                    at = flow.nodes_within(at).end;
                    debug_assert!(at <= flow.stmts.len(), "{:?}", inner.kind);
                }
            }
            if let StmtKind::LogicalIf(..) = &s.kind {
                found.around[i + 1] = within;
                found.around[i + 1].push((i, 0));
            }
        }
        let mut touched = StatementEffects::nothing(found.base);
        let counts = |s: &Stmt| matches!(&s.kind, StmtKind::Do(d) if matches!(d.control, DoControl::Count { .. }));
        for (i, s) in flow.stmts.iter().enumerate() {
            if !counts(s) {
                effects.own(unit, space, s, &mut touched);
            }
            if let StmtKind::Assign(target, _) = &s.kind
                && let Some(array) = target.base()
                && !flow.masked[i]
                && found.around[i].iter().any(|(n, _)| counts(flow.stmts[*n]))
                && let Some(of) = subscripts(unit, target)
                && !space.tangled.contains(space.loc(array))
            {
                found.targets.insert(i, of);
            }
        }
        let variables = unit.symbols.iter().filter(|(_, s)| s.is_variable());
        let assigned = variables.filter(|(id, _)| {
            let loc = space.loc(*id);
            touched.assigned.contains(loc) || space.tangled.contains(loc)
        });
        found.assigned = assigned.map(|(id, _)| id).collect();
        let target = |i: &usize| match &flow.stmts[*i].kind {
            StmtKind::Assign(target, _) => target.base().map(|s| space.loc(s)),
            _ => None,
        };
        let arrays: HashSet<usize> = found.targets.keys().filter_map(target).collect();
        let mut counts: HashMap<usize, usize> = HashMap::new();
        for i in 0..flow.stmts.len() {
            found.add(unit, space, i, &arrays, &mut counts);
        }
        found.reads.retain(|r| counts[&r.array] <= MOST_READS);
        for (number, r) in found.reads.iter().enumerate() {
            found.by_node.entry(r.node).or_default().push(number);
            found.by_array.entry(r.array).or_default().push(number);
        }
        found
    }

    /// Adds the reads of a statement, of some arrays, and counts them by array.
    fn add(
        &mut self,
        unit: &Unit,
        space: &Space,
        node: usize,
        arrays: &HashSet<usize>,
        counts: &mut HashMap<usize, usize>,
    ) {
        let s = self.flow.stmts[node];
        // A function may read more of an array than the element that is passed to it.
        let mut calls = false;
        s.for_each_own_expr(&mut |e| {
            e.walk(&mut |e| {
                if let ExprKind::Call(f, _) = &e.kind {
                    calls |= !matches!(unit.symbols[*f].class, Class::Intrinsic(_));
                }
            });
        });
        if calls {
            return;
        }
        let target = match &s.kind {
            StmtKind::Assign(target, _) => Some(target),
            StmtKind::If(_) | StmtKind::LogicalIf(..) => None,
            _ => return,
        };
        let mut elements: HashMap<usize, Option<Vec<Vec<Affine>>>> = HashMap::new();
        let mut look = |e: &Expr| {
            e.walk(&mut |e| {
                let Some(loc) = e
                    .base()
                    .map(|s| space.loc(s))
                    .filter(|l| arrays.contains(l))
                else {
                    return;
                };
                let known = elements.entry(loc).or_insert_with(|| Some(Vec::new()));
                match (subscripts(unit, e), known.as_mut()) {
                    (Some(of), Some(known)) => known.push(of),
                    _ => *known = None,
                }
            });
        };
        s.for_each_own_expr(&mut |e| {
            // The element that is assigned is not read, but its subscripts are.
            match target.is_some_and(|t| std::ptr::eq(t, e)) {
                true => e.children().into_iter().for_each(&mut look),
                false => look(e),
            }
        });
        let mut elements: Vec<_> = elements.into_iter().collect();
        elements.sort_unstable_by_key(|(loc, _)| *loc);
        for (array, elements) in elements {
            let Some(elements) = elements else { continue };
            *counts.entry(array).or_default() += 1;
            self.reads.push(Read {
                node,
                array,
                elements,
            });
        }
    }

    /// The number of locations, with those of the reads.
    pub fn len(&self) -> usize {
        self.base + self.reads.len()
    }

    /// Whether a statement reads arrays by their elements.
    pub fn are_read_by(&self, node: usize) -> bool {
        self.by_node.contains_key(&node)
    }

    /// Replaces the locations of arrays that a statement reads only by elements.
    pub fn replace(&self, node: usize, read: &mut Set) {
        for number in self.by_node.get(&node).into_iter().flatten() {
            let array = self.reads[*number].array;
            if read.contains(array) {
                read.set(array, false);
                read.grow(self.len());
                read.insert(self.base + number);
            }
        }
    }

    /// Whether a location, or an element of the array there, is live.
    pub fn is_live(&self, loc: usize, live: &Set) -> bool {
        let mut reads = self.by_array.get(&loc).into_iter().flatten();
        live.contains(loc) || reads.any(|n| live.contains(self.base + n))
    }

    /// The arrays of which elements are live.
    pub fn live_arrays(&self, live: &Set) -> impl Iterator<Item = usize> {
        let reads = self.reads.iter().enumerate();
        let live = reads.filter(|(n, _)| live.contains(self.base + n));
        live.map(|(_, r)| r.array)
    }

    /// Whether what an assignment sets at a location is live.
    pub fn is_seen(&self, node: usize, loc: usize, live: &Set) -> bool {
        let mut reads = self.by_array.get(&loc).into_iter().flatten();
        live.contains(loc)
            || reads.any(|n| live.contains(self.base + n) && self.follows(&self.reads[*n], node))
    }

    /// A location gets another value as a whole.
    pub fn remove(&self, loc: usize, live: &mut Set) {
        live.set(loc, false);
        for n in self.by_array.get(&loc).into_iter().flatten() {
            live.set(self.base + n, false);
        }
    }

    /// Whether a read can see the element that an assignment sets.
    fn follows(&self, read: &Read, node: usize) -> bool {
        let Some(target) = self.targets.get(&node) else {
            return true;
        };
        read.elements
            .iter()
            .any(|element| self.element_follows(read.node, element, node, target))
    }

    fn element_follows(
        &self,
        read: usize,
        element: &[Affine],
        node: usize,
        target: &[Affine],
    ) -> bool {
        if element.len() != target.len() {
            return true;
        }
        let (at_read, at_target) = (&self.around[read], &self.around[node]);
        // Variables with the same value at both.
        let mut same: HashSet<SymId> = HashSet::new();
        // The difference of two subscripts, without a variable, if it is known.
        let difference = |same: &HashSet<SymId>, without: Option<SymId>, d: usize| {
            let drop = |a: &Affine| match without {
                Some(v) => a.clone().with(v, &Affine::number(0)),
                None => Some(a.clone()),
            };
            let (a, b) = (drop(&target[d])?, drop(&element[d])?);
            let steady =
                |v: SymId| same.contains(&v) || !self.assigned.contains(&v) && !self.counts(v);
            if !a.all_vars(&steady) || !b.all_vars(&steady) {
                return None;
            }
            a.plus(&b, -1)?.value()
        };
        let differ = |same: &HashSet<SymId>| {
            (0..target.len()).any(|d| difference(same, None, d).is_some_and(|n| n != 0))
        };
        if differ(&same) {
            return false;
        }
        let common = at_read.iter().zip(at_target).take_while(|(a, b)| a == b);
        let common = common.map(|(a, _)| a.0).collect::<Vec<_>>();
        for around in &common {
            let StmtKind::Do(l) = &self.flow.stmts[*around].kind else {
                continue;
            };
            let DoControl::Count { var, step, .. } = &l.control else {
                return true;
            };
            // The iteration of the read minus that of the assignment.
            let distance = (0..target.len()).find_map(|d| {
                let factor = target[d].factor(*var);
                (factor != 0 && factor == element[d].factor(*var)).then_some(())?;
                Some((difference(&same, Some(*var), d)?, factor))
            });
            let Some((apart, factor)) = distance else {
                return true;
            };
            if apart % factor != 0 {
                return false;
            }
            let forward = match step.as_ref().map(|s| &s.kind) {
                None => Some(1),
                Some(ExprKind::Int(n)) => Some(n.signum()),
                Some(ExprKind::Unary(UnOp::Minus, n)) => match n.kind {
                    ExprKind::Int(n) => Some(-n.signum()),
                    _ => None,
                },
                Some(_) => None,
            };
            match (apart / factor).signum() * forward.unwrap_or(0) {
                _ if apart == 0 => {}
                -1 => return false,
                _ => return true,
            }
            same.insert(*var);
        }
        if differ(&same) {
            return false;
        }
        // In the same iteration of all loops around both: other arms exclude each other.
        let exclusive = match (at_read.get(common.len()), at_target.get(common.len())) {
            (Some(a), Some(b)) => a.0 == b.0,
            _ => false,
        };
        // A statement reads before it assigns, and a condition before what depends on it.
        !exclusive && read > node
    }

    /// Whether a variable counts a loop.
    fn counts(&self, v: SymId) -> bool {
        self.flow.stmts.iter().any(|s| match &s.kind {
            StmtKind::Do(d) => matches!(&d.control, DoControl::Count { var, .. } if *var == v),
            _ => false,
        })
    }
}
