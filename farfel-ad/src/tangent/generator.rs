//! The state that the parts of the generator share while they generate one derivative unit.

use super::Engine;
use super::possible::StatementActivity;
use crate::activity::{Activity, Problem};
use crate::depend::Moves;
use crate::locations::{Set, Space};
use farfel_lang::Span;
use farfel_lang::diagnostic::Diagnostic;
use farfel_lang::ir::{Expr, Label, Name, Stmt, SymId, Type, Unit};
use std::collections::{HashMap, HashSet};

/// A value and its derivative; `None` stands for a zero derivative.
#[derive(Debug, Clone)]
pub(super) struct Value {
    pub p: Expr,
    pub d: Option<Expr>,
}

/// The generator of one derivative unit.
pub(super) struct Generator<'a> {
    pub engine: &'a Engine<'a>,
    pub source: &'a Unit,
    pub space: &'a Space,
    pub activity: &'a Activity,
    pub problem: &'a Problem<'a>,
    /// The unit under construction. It begins as a copy, so that symbols keep their
    /// handles.
    pub unit: Unit,
    pub derivatives: HashMap<SymId, SymId>,
    /// All pairs given to [`Generator::pair`], for the verifier.
    pub pairs: Vec<(SymId, SymId)>,
    pub imported: HashMap<usize, SymId>,
    /// Placeholders for variables without derivatives, in blocks of derivatives and in EQUIVALENCE.
    pub placeholders: HashMap<SymId, SymId>,
    /// All members of blocks of derivatives that other units declare, or that are laid out by numbers.
    pub whole_blocks: HashMap<Name, Vec<SymId>>,
    /// Locations whose derivatives already share their storage like the variables.
    pub tied: HashSet<usize>,
    /// The derivatives of procedures that are called.
    pub called: HashSet<SymId>,
    /// Those of them that are given, each with the procedure of the source.
    pub given: HashMap<SymId, SymId>,
    /// The derivatives of dummy procedures, which are dummy procedures too.
    pub procedures: HashMap<SymId, SymId>,
    /// Those of them that are called, each with the dummy procedure and the number of its arguments.
    pub dummy_calls: HashMap<SymId, (SymId, usize)>,
    /// User-defined constants for sizes of arrays that the unit does not tell.
    pub sizes: HashMap<Name, SymId>,
    /// Loop variables for setting arrays to zero.
    pub counters: Vec<SymId>,
    pub temporaries: HashMap<(Type, bool), Vec<SymId>>,
    pub temporaries_used: HashMap<(Type, bool), usize>,
    pub errors: Vec<Diagnostic>,
    /// Values of the dummy arguments of a statement function that is being expanded.
    pub bound: HashMap<SymId, Value>,
    /// The tangent of each variable counts as one: see [`super::factor`].
    pub unit_tangents: bool,
    /// Inside WHERE, whose statements share what is executed before the whole of it.
    pub in_where: bool,
    /// Statements to execute before the current one.
    pub pre: Vec<Stmt>,
    /// The place of the current statement.
    pub span: Span,
    /// Locations that are assigned at some point without their derivatives, which are zero already.
    pub left_zero: Set,
    /// The locations that are varied while the current statement is executed.
    pub varied: Set,
    /// The live derivatives after it, or after any of the calls in it.
    pub live: Set,
    /// The node of the current statement in the control flow graph.
    pub node: usize,
    /// The moves of values by the current statement.
    pub moves: Vec<Moves>,
    pub jumped_to: HashSet<Label>,
    pub labels: HashSet<Label>,
    pub moved_labels: HashMap<Label, Label>,
    /// The argument with the number of directions.
    pub count: Option<SymId>,
    /// The variable of loops over directions.
    pub direction: Option<SymId>,
}

impl Generator<'_> {
    /// The current statement, and what is active there.
    pub fn statement_activity(&self) -> StatementActivity<'_> {
        StatementActivity {
            problem: self.problem,
            varied: &self.varied,
            after: &self.activity.live[self.node],
            live: &self.live,
        }
    }
}
