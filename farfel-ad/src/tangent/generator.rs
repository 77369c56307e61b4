//! What the parts of the generator share while they make one derivative unit.

use super::Engine;
use super::possible::Here;
use crate::activity::{Activity, Problem};
use crate::depend::Moves;
use crate::locations::{Set, Space};
use farfel_lang::Span;
use farfel_lang::diagnostic::Diagnostic;
use farfel_lang::ir::{Expr, Label, Name, Stmt, SymId, Type, Unit};
use std::collections::{HashMap, HashSet};

/// A value and its derivative; `None` is a derivative that is zero.
#[derive(Debug, Clone)]
pub(super) struct Value {
    pub p: Expr,
    pub d: Option<Expr>,
}

/// The generator of one derivative unit.
pub(super) struct Gen<'a> {
    pub engine: &'a Engine<'a>,
    pub source: &'a Unit,
    pub space: &'a Space,
    pub activity: &'a Activity,
    pub problem: &'a Problem<'a>,
    /// The unit under construction. It begins as a copy, so that symbols keep their
    /// handles.
    pub unit: Unit,
    pub derivatives: HashMap<SymId, SymId>,
    /// All that [`Gen::pair`] was told, for the verifier.
    pub pairs: Vec<(SymId, SymId)>,
    pub imported: HashMap<usize, SymId>,
    /// What stands in a block of derivatives for variables that have none, and in EQUIVALENCE.
    pub placeholders: HashMap<SymId, SymId>,
    /// All that stands in blocks of derivatives which other units declare, or which are laid out
    /// by numbers.
    pub whole_blocks: HashMap<Name, Vec<SymId>>,
    /// Locations whose derivatives share their storage as they do.
    pub tied: HashSet<usize>,
    /// Derivatives that are called.
    pub called: HashSet<SymId>,
    /// The derivatives of dummy procedures, which are dummy procedures too.
    pub procedures: HashMap<SymId, SymId>,
    /// Those that are called: the dummy procedure, and how many arguments that has.
    pub dummy_calls: HashMap<SymId, (SymId, usize)>,
    /// Constants for the sizes of arrays that the unit does not tell.
    pub sizes: HashMap<Name, SymId>,
    /// Loop variables for setting arrays to zero.
    pub counters: Vec<SymId>,
    pub temporaries: HashMap<(Type, bool), Vec<SymId>>,
    pub temporaries_used: HashMap<(Type, bool), usize>,
    pub errors: Vec<Diagnostic>,
    /// Values of the dummy arguments of a statement function that is being expanded.
    pub bound: HashMap<SymId, Value>,
    /// The tangent of each variable is one: see [`super::factor`].
    pub unit_tangents: bool,
    /// Inside of WHERE, whose statements share what is carried out before all of it.
    pub in_where: bool,
    /// Statements to carry out before the one at hand.
    pub pre: Vec<Stmt>,
    /// The place of the statement at hand.
    pub span: Span,
    /// Locations of which something gets a value and its derivative does not, which is zero.
    pub left_zero: Set,
    /// Varied while the statement at hand is carried out.
    pub varied: Set,
    /// Live derivatives after it, or after one of the calls in it.
    pub live: Set,
    /// Where the flow of control has the statement at hand.
    pub node: usize,
    /// What it moves.
    pub moves: Vec<Moves>,
    pub jumped_to: HashSet<Label>,
    pub labels: HashSet<Label>,
    pub moved_labels: HashMap<Label, Label>,
    /// The argument that says how many directions there are.
    pub count: Option<SymId>,
    /// What loops over directions count by.
    pub direction: Option<SymId>,
}

impl Gen<'_> {
    /// The statement at hand, and what is active there.
    pub fn here(&self) -> Here<'_> {
        Here {
            problem: self.problem,
            varied: &self.varied,
            after: &self.activity.live[self.node],
            live: &self.live,
        }
    }
}
