//! Subscripts that are compared once, before a loop begins.
//!
//! A [`Frame`] belongs to a loop. Inside it a subscript is a polynomial in the variables of the loop
//! and of those in it, which run between bounds that are known before, and in variables that the loop
//! does not change. Its smallest and largest value are polynomials in the latter. Where they lie inside
//! the array there is no check in the loop: what must hold is asked for once, and where it does not
//! hold, another version of the loop has all checks.
//!
//! Variables stand for the values that they have before the loop, in [`Frame::snapshots`]: so it does
//! not matter that a program may change one under another name, which Fortran forbids.

use super::poly::Poly;
use farfel_lang::Span;
use farfel_lang::ir::{BinOp, Block, Expr, Stmt, SymId};
use std::collections::{BTreeMap, HashSet};

/// What is known in a loop before it begins.
pub(super) struct Frame {
    /// The variables that it changes, those of loops too.
    pub changed: HashSet<SymId>,
    /// It calls procedures, which may change what is not its own.
    pub calls: bool,
    /// The loops that are under way, the outermost first.
    pub loops: Vec<Loop>,
    /// Values before the loop: the variables that have them, and what they are values of.
    pub values: Vec<(SymId, Expr)>,
    /// What must not be negative: products of variables, and the least number behind them.
    pub conditions: BTreeMap<Poly, i128>,
    /// How many references have no check because of it.
    pub proven: usize,
}

/// A loop that is under way.
pub(super) struct Loop {
    pub var: SymId,
    /// The variable that counts in its place.
    pub wide: SymId,
    pub low: Poly,
    pub high: Poly,
}

/// A loop that counts in 64 bits.
pub(super) struct Counted {
    pub wide: SymId,
    /// Its first and its last value.
    pub bounds: [Poly; 2],
}

impl Frame {
    /// One of a loop that changes these variables.
    pub(super) fn new(changed: HashSet<SymId>, calls: bool) -> Frame {
        Frame {
            changed,
            calls,
            loops: Vec::new(),
            values: Vec::new(),
            conditions: BTreeMap::new(),
            proven: 0,
        }
    }

    /// Statements for before the loop.
    pub(super) fn snapshots(&self, span: Span) -> Block {
        let set = |(v, e): &(SymId, Expr)| Stmt::assign(Expr::var(*v, span), e.clone(), span);
        self.values.iter().map(set).collect()
    }

    /// What must hold before the loop; `None` for nothing.
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
