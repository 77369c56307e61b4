//! Checks that are made once, before a loop begins.
//!
//! A [`Frame`] belongs to a loop. Inside the loop, a subscript is a polynomial in the variables of this loop
//! and of those nested in it, whose bounds are known beforehand, and in variables that the loop does not
//! change. Its minimum and maximum are polynomials in the latter. If these are within the array, no check is
//! needed in the loop: the condition is evaluated once, and if it does not hold, another version of the loop
//! is used that has all checks.
//!
//! Variables are replaced by the values that they have before the loop, in [`Frame::snapshots`]: so it does
//! not matter if a program changes one of them under another name, which Fortran forbids.

use super::poly::Poly;
use farfel_lang::Span;
use farfel_lang::ir::{BinOp, Block, Expr, Stmt, SymId};
use std::collections::{BTreeMap, HashSet};

/// What is known about a loop before it begins.
pub(super) struct Frame {
    /// The variables that it changes, including loop variables.
    pub changed: HashSet<SymId>,
    /// Whether it calls procedures, which may change variables that are not local.
    pub calls: bool,
    /// Whether its own loop has begun, the first one: only the bounds of this one are evaluated before it.
    pub begun: bool,
    /// The loops that enclose the current statement, the outermost first, as far as their bounds are known.
    pub loops: Vec<Loop>,
    /// The values before the loop: variables that hold them, and the expressions.
    pub values: Vec<(SymId, Expr)>,
    /// The conditions: sums of products of variables that must not be negative after adding the number. For
    /// equal sums only the smallest number is kept.
    pub conditions: BTreeMap<Poly, i128>,
    /// The number of references that need no check because of this frame.
    pub proven: usize,
}

/// A loop that encloses the current statement.
pub(super) struct Loop {
    pub var: SymId,
    /// The 64-bit variable that is counted in its place.
    pub wide: SymId,
    pub low: Poly,
    pub high: Poly,
}

/// A loop that is counted in 64 bits.
pub(super) struct WideLoop {
    pub wide: SymId,
    /// Its first and last values.
    pub bounds: [Poly; 2],
}

impl Frame {
    /// Creates the frame of a loop that changes these variables.
    pub(super) fn new(changed: HashSet<SymId>, calls: bool) -> Frame {
        Frame {
            changed,
            calls,
            begun: false,
            loops: Vec::new(),
            values: Vec::new(),
            conditions: BTreeMap::new(),
            proven: 0,
        }
    }

    /// Returns statements to be executed before the loop.
    pub(super) fn snapshots(&self, span: Span) -> Block {
        let set = |(v, e): &(SymId, Expr)| Stmt::assign(Expr::var(*v, span), e.clone(), span);
        self.values.iter().map(set).collect()
    }

    /// Returns the condition to be tested before the loop; `None` if there is none.
    pub(super) fn condition(&self, span: Span) -> Option<Expr> {
        let zero = || Expr::long(0, span);
        let each = self.conditions.iter().map(|(products, number)| {
            let sum = products.plus(&Poly::constant(*number));
            Expr::binary(BinOp::Ge, sum.expr(span), zero())
        });
        each.reduce(|a, b| Expr::binary(BinOp::And, a, b))
    }

    pub(super) fn leave(&mut self, wide: SymId) {
        self.loops.retain(|l| l.wide != wide);
    }
}
