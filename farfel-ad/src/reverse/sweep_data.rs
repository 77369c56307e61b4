//! Facts that the passes over the parts of a request share.

use super::slices::Slice;
use super::tape::TapeKind;
use super::tbr::Needs;
use crate::locations::Set;
use farfel_lang::Span;
use farfel_lang::ir::{Block, Expr, Stmt, SymId};
use std::collections::{BTreeMap, BTreeSet};

/// What the units of one request must know about a unit.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct UnitFacts {
    /// The slots whose values after the forward sweep are needed.
    pub(super) exit: Set,
    /// Slices of arrays among them to which this is restricted.
    pub(super) exit_slices: BTreeMap<usize, Slice>,
    /// The slots whose values before the call are needed by some caller.
    pub(super) entry: Set,
    /// The tapes that the unit and its callees use.
    pub(super) tapes: BTreeSet<TapeKind>,
    /// Whether the unit has a forward sweep: it records something, or computes less than the subprogram.
    pub(super) forward: bool,
}

/// The two sweeps of some statements.
#[derive(Debug, Default)]
pub(super) struct Sweeps {
    pub forward: Block,
    pub backward: Block,
}

impl Sweeps {
    /// Stands for sweeps whose statements nobody asks for, with or without a reverse sweep.
    pub fn unwritten(reverses: bool) -> Self {
        let backward = reverses.then(|| Stmt::continues(Span::NONE));
        Sweeps {
            forward: Block::new(),
            backward: backward.into_iter().collect(),
        }
    }
}

/// What is needed around a loop.
#[derive(Debug, Clone)]
pub(super) struct LoopNeeds {
    /// What is needed after the loop.
    pub asked: Needs,
    /// What is needed after each iteration.
    pub after: Needs,
    /// What is needed before each iteration.
    pub before: Needs,
    /// Whether an iteration has a reverse sweep.
    pub reverses: bool,
}

/// A variable of a saved state, with its bounds if it is an array.
#[derive(Debug, Clone)]
pub(super) struct StateVariable {
    pub var: SymId,
    pub kind: TapeKind,
    pub bounds: Vec<(Expr, Expr)>,
}

/// What a loop records besides what the text of its forward sweep shows. It is needed to determine the sizes
/// of tapes.
#[derive(Debug, Clone)]
pub(super) struct Replay {
    /// The maximum number of saved states in memory.
    pub slots: u32,
    /// The maximum number of saved states in files.
    pub filed: u32,
    /// The start, end and step of the loop, which give the number of iterations.
    pub steps: [Expr; 3],
    pub state: Vec<StateVariable>,
    /// The iteration that the reverse sweep executes with a tape.
    pub body: Block,
}
