//! Flow-sensitive analysis: what procedures do with their arguments, and which variables are read
//! before they can have a value. Follows the values of variables along the control flow of each
//! unit, callees before callers.
//!
//! [`procedures`] and [`Intents::of`] compute a fixed point that includes COMMON blocks, ENTRY
//! points and dummy procedures. The search for errors in the program ([`analyse`]) leaves out
//! COMMON variables and visits each unit once: the summary of a procedure that calls itself,
//! directly or indirectly, is unknown where it is called recursively, so that it may do anything.

mod commons;
mod events;
mod procedures;
mod unit;

use farfel_ir::callgraph::CallGraph;
use farfel_ir::ir::{Name, Program, SymId, Unit};
use farfel_ir::source::Span;
pub use procedures::{Argument, CommonUse, Procedure, procedures};
use std::collections::HashMap;
pub use unit::{DoubtfulRead, Findings};

/// What a procedure does with a dummy argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VariableUse {
    /// Whether it may need the value that the caller passes.
    pub reads: bool,
    /// Whether it may assign it.
    pub writes: bool,
    /// Whether a statement assigns it, here or in a called procedure; otherwise only a procedure
    /// without source may.
    pub assigned: bool,
    /// Whether all of it is assigned on every path to the end (true if no path leads there); arrays
    /// only by whole-array assignment.
    pub always: bool,
}

impl VariableUse {
    /// Returns the INTENT that corresponds to this use, or `unused`.
    pub fn intent(self) -> &'static str {
        match (self.reads, self.writes) {
            (false, false) => "unused",
            (true, false) => "in",
            (false, true) => "out",
            (true, true) => "inout",
        }
    }
}

impl VariableUse {
    /// Adds uses that may happen in addition, at any time.
    fn also(&mut self, other: VariableUse) {
        self.reads |= other.reads;
        self.writes |= other.writes;
        self.assigned |= other.assigned;
    }
}

/// What a procedure does with its arguments and with pieces of COMMON blocks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Summary {
    args: Vec<VariableUse>,
    /// Sorted by piece.
    pieces: Vec<(u32, VariableUse)>,
}

impl Summary {
    /// Combines this with an alternative callee that has the same number of arguments.
    fn join(&mut self, other: &Summary) {
        for (ours, theirs) in self.args.iter_mut().zip(&other.args) {
            ours.always &= theirs.always;
            ours.also(*theirs);
        }
        let mut pieces: std::collections::BTreeMap<u32, VariableUse> =
            self.pieces.drain(..).collect();
        let theirs: HashMap<u32, VariableUse> = other.pieces.iter().copied().collect();
        for (piece, ours) in &mut pieces {
            ours.always &= theirs.get(piece).is_some_and(|t| t.always);
        }
        for (piece, used) in theirs {
            let fresh = VariableUse {
                always: false,
                ..used
            };
            pieces.entry(piece).or_insert(fresh).also(used);
        }
        self.pieces = pieces.into_iter().collect();
    }
}

/// What each top-level procedure does with its arguments.
#[derive(Debug, Default)]
pub struct Intents {
    by_name: HashMap<Name, Summary>,
}

impl Intents {
    /// Computes the uses of a program whose names are resolved: a fixed point, like [`procedures`].
    pub fn of(program: &Program) -> Self {
        procedures::intents(program)
    }

    /// Whether a unit, which need not be part of the program, reads a variable before assigning it.
    /// True for variables that cannot be tracked.
    pub fn reads_first(&self, unit: &Unit, s: SymId) -> bool {
        let used = unit::follow(unit, self).used;
        used.get(&s).is_none_or(|u| u.reads)
    }

    /// Returns what the procedure does with its arguments, in order; `None` if its source is not
    /// available.
    pub fn get(&self, procedure: &str) -> Option<&[VariableUse]> {
        self.by_name.get(procedure).map(|s| s.args.as_slice())
    }

    /// Returns the summary of a procedure if it has this number of arguments.
    fn known(&self, procedure: &str, args: usize) -> Option<&Summary> {
        let known = self.by_name.get(procedure);
        known.filter(|k| k.args.len() == args)
    }
}

/// A variable that is read where nothing can have given it a value.
#[derive(Debug, Clone, Copy)]
pub struct UnsetRead {
    /// The variable.
    pub sym: farfel_ir::ir::SymId,
    /// The position of the read.
    pub span: Span,
    /// Whether the unit assigns it elsewhere.
    pub set_elsewhere: bool,
}

/// Follows the values of all units. Calls `found` with the findings for each unit, including nested
/// ones, and with the position of the top-level unit.
pub fn analyse<'p>(
    program: &'p Program,
    found: &mut dyn FnMut(usize, &'p Unit, &Findings<'p>),
) -> Intents {
    let graph = CallGraph::of(program);
    let mut intents = Intents::default();
    for i in graph.callees_first(0..program.units.len()) {
        let unit = &program.units[i];
        let findings = unit::follow(unit, &intents);
        found(i, unit, &findings);
        // Of two units with the same name (a reported error) the first counts.
        intents
            .by_name
            .entry(unit.name.clone())
            .or_insert_with(|| Summary {
                args: findings.args,
                pieces: Vec::new(),
            });
        nested(i, unit, &intents, found);
    }
    intents
}

/// Calls `found` with the doubtful reads of each top-level unit, assuming that procedures set
/// everything that they may set.
pub fn doubtful_reads<'p>(
    program: &'p Program,
    found: &mut dyn FnMut(usize, &'p Unit, Vec<DoubtfulRead>),
) -> Intents {
    let graph = CallGraph::of(program);
    let mut intents = Intents::default();
    let mut recursive: Option<Intents> = None;
    let mut done = vec![false; program.units.len()];
    for i in graph.callees_first(0..program.units.len()) {
        // Recursive callees that have not been visited yet are taken from the fixed point.
        for callee in graph.callees(i).iter().filter(|c| !done[**c]) {
            let name = &program.units[*callee].name;
            let all = recursive.get_or_insert_with(|| Intents::of(program));
            let args = all.get(name).map(<[VariableUse]>::to_vec);
            let pieces = Vec::new();
            let known = args.map(|args| (name.clone(), Summary { args, pieces }));
            intents.by_name.extend(known);
        }
        let unit = &program.units[i];
        let findings = unit::follow_assuming_set(unit, &intents);
        found(i, unit, findings.doubtful);
        let summary = Summary {
            args: findings.args,
            pieces: Vec::new(),
        };
        done[i] = true;
        // Of two units with the same name (a reported error) the first counts.
        if graph.index(&unit.name) == Some(i) {
            intents.by_name.insert(unit.name.clone(), summary);
        }
    }
    intents
}

fn nested<'p>(
    top: usize,
    unit: &'p Unit,
    intents: &Intents,
    found: &mut dyn FnMut(usize, &'p Unit, &Findings<'p>),
) {
    for n in &unit.nested {
        found(top, n, &unit::follow(n, intents));
        nested(top, n, intents, found);
    }
}
