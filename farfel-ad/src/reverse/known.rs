//! What the passes over the parts of a request tell each other.

use super::tape::Kind;
use crate::locations::Set;
use farfel_lang::ir::{Block, Expr, SymId};
use std::collections::BTreeSet;

/// What the units of one request find out about each other.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Facts {
    /// Slots that are needed after the forward sweep.
    pub(super) exit: Set,
    /// Slots that some caller needs as they are before the call.
    pub(super) entry: Set,
    /// Tapes that the unit and what it calls use.
    pub(super) tapes: BTreeSet<Kind>,
    /// There is a forward sweep that keeps something.
    pub(super) forward: bool,
}

/// The two sweeps of some statements.
#[derive(Debug, Default)]
pub(super) struct Sweeps {
    pub forward: Block,
    pub backward: Block,
}

/// A variable of a state, with the bounds of an array.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub var: SymId,
    pub kind: Kind,
    pub bounds: Vec<(Expr, Expr)>,
}

/// What a forward sweep keeps for a loop besides what its text says: needed to know how large
/// tapes must be.
#[derive(Debug, Clone)]
pub(super) struct Replay {
    /// How many states are kept at most.
    pub slots: u32,
    /// The number of iterations.
    pub steps: [Expr; 3],
    pub state: Vec<Member>,
    /// The iteration that the backward sweep carries out with a tape.
    pub body: Block,
}
