//! What is generated for the parts of a request: their sweeps, and the units made from these.

use super::sweep_data::UnitFacts;
use super::tape::TapeKind;
use super::tape_size::{SweptUnit, Term};
use crate::locations::Set;
use farfel_lang::diagnostic::Diagnostic;
use farfel_lang::ir::{Name, SymId, Unit};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// For each head, its tapes and their sizes, where these are known.
pub(super) type TapeSizes = BTreeMap<usize, (BTreeSet<TapeKind>, Vec<Option<Vec<Term>>>)>;

/// What the units of a request must preserve for each other, and their sweeps.
pub(super) struct SweepResults {
    pub facts: Vec<UnitFacts>,
    pub swept: Vec<SweptUnit>,
    /// Errors that no sweep has found.
    pub errors: Vec<Diagnostic>,
}

impl SweepResults {
    /// The results without any errors but those of the sweeps.
    pub fn new(facts: Vec<UnitFacts>, swept: Vec<SweptUnit>) -> Self {
        SweepResults {
            facts,
            swept,
            errors: Vec::new(),
        }
    }

    /// Whether there are errors.
    pub fn has_errors(&self) -> bool {
        !self.errors.is_empty() || self.swept.iter().any(|s| !s.errors.is_empty())
    }

    /// Whether there are errors, or sizes of arrays that the units do not know.
    pub fn lacks_something(&self) -> bool {
        let lacks = |s: &SweptUnit| !s.open_arguments.is_empty() || s.builder.has_asked_sizes();
        self.has_errors() || self.swept.iter().any(lacks)
    }
}

/// A generated unit, and the variables that are read after it.
#[derive(Clone)]
pub(super) struct GeneratedUnit {
    /// The subprogram that it is the derivative of.
    pub(super) of: Name,
    pub(super) unit: Unit,
    /// Symbols that hold cotangents.
    pub(super) derivatives: HashSet<SymId>,
    /// Pairs of a cotangent and its variable.
    pub(super) primals: Vec<(SymId, SymId)>,
    /// The arguments and declared COMMON variables that are read after the unit.
    pub(super) live_after: HashSet<SymId>,
    /// The COMMON variables, by number, that are read after the unit.
    pub(super) commons: Set,
    /// Whether it is a forward sweep below the head.
    pub(super) forward: bool,
    /// For a head, the index in its body where the reverse sweep begins.
    pub(super) reverse_start: Option<usize>,
    /// The variables of its tapes.
    pub(super) tapes: HashSet<SymId>,
}
