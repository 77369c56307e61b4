//! What is made of the parts of a request, from their sweeps to units.

use super::known::Facts;
use super::tape::Kind;
use super::tape_size::{Swept, Term};
use crate::locations::Set;
use farfel_lang::diagnostic::Diagnostic;
use farfel_lang::ir::{Name, SymId, Unit};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The tapes of heads, and how large they have to be.
pub(super) type Rooms = BTreeMap<usize, (BTreeSet<Kind>, Vec<Option<Vec<Term>>>)>;

/// What the units of a request keep for each other, and their sweeps.
pub(super) struct Known {
    pub facts: Vec<Facts>,
    pub swept: Vec<Swept>,
    pub errors: Vec<Diagnostic>,
}

/// A generated unit, and what is read after it.
#[derive(Clone)]
pub(super) struct Made {
    /// What it is the derivative of.
    pub(super) of: Name,
    pub(super) unit: Unit,
    /// Symbols that hold cotangents.
    pub(super) derivatives: HashSet<SymId>,
    /// Which of them is the cotangent of which variable.
    pub(super) primals: Vec<(SymId, SymId)>,
    /// Arguments and COMMON variables that it declares.
    pub(super) wanted: HashSet<SymId>,
    /// COMMON variables, by number.
    pub(super) commons: Set,
    /// It is a forward sweep below the head.
    pub(super) forward: bool,
    /// Of a head: where its backward sweep begins, as a position in its body.
    pub(super) turn: Option<usize>,
    /// The variables of its tapes.
    pub(super) tapes: HashSet<SymId>,
}
