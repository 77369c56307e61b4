//! What procedures do with their arguments, and which variables are read before they can
//! have a value: the values of variables followed along the control flow of each unit,
//! callees before callers.
//!
//! [`procedures`] and [`Intents::of`] find a fixed point, COMMON blocks, ENTRY points and dummy procedures
//! included. Where only faults of the program are looked for ([`analyse`]), variables of COMMON blocks are left out,
//! and each unit is looked at once: what a procedure does that calls itself, directly or through
//! others, is not known where it is called on the way, so that it may do anything.

mod commons;
mod events;
mod procedures;
mod unit;

use farfel_ir::callgraph::CallGraph;
use farfel_ir::ir::{Name, Program, SymId, Unit};
use farfel_ir::source::Span;
pub use procedures::{Argument, CommonUse, Procedure, procedures};
use std::collections::HashMap;
pub use unit::{Doubtful, Findings};

/// What a procedure does with a dummy argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Use {
    /// It may need the value that the caller gives.
    pub reads: bool,
    /// It may give it a value.
    pub writes: bool,
    /// A statement gives it a value, here or in a procedure that is called; without this,
    /// only a procedure without text may.
    pub assigned: bool,
    /// On every way to the end (also when none leads there) all of it gets a value; of arrays only by whole-array
    /// assignment.
    pub always: bool,
}

impl Use {
    /// The INTENT that would say so, as far as one can.
    pub fn intent(self) -> &'static str {
        match (self.reads, self.writes) {
            (false, false) => "unused",
            (true, false) => "in",
            (false, true) => "out",
            (true, true) => "inout",
        }
    }
}

impl Use {
    /// Adds what may be done besides, at any time.
    fn also(&mut self, other: Use) {
        self.reads |= other.reads;
        self.writes |= other.writes;
        self.assigned |= other.assigned;
    }
}

/// What a procedure does with its arguments and with pieces of COMMON blocks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Summary {
    args: Vec<Use>,
    /// Ascending.
    pieces: Vec<(u32, Use)>,
}

impl Summary {
    /// Either this or another procedure is called, with as many arguments.
    fn join(&mut self, other: &Summary) {
        for (ours, theirs) in self.args.iter_mut().zip(&other.args) {
            ours.always &= theirs.always;
            ours.also(*theirs);
        }
        let mut pieces: std::collections::BTreeMap<u32, Use> = self.pieces.drain(..).collect();
        let theirs: HashMap<u32, Use> = other.pieces.iter().copied().collect();
        for (piece, ours) in &mut pieces {
            ours.always &= theirs.get(piece).is_some_and(|t| t.always);
        }
        for (piece, used) in theirs {
            let fresh = Use {
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
    /// Of a program whose names are resolved: a fixed point, like [`procedures`].
    pub fn of(program: &Program) -> Self {
        procedures::intents(program)
    }

    /// Does a unit, which need not be one of the program, read a variable before it has given it a value?
    /// True of what cannot be followed.
    pub fn reads_first(&self, unit: &Unit, s: SymId) -> bool {
        let used = unit::follow(unit, self).used;
        used.get(&s).is_none_or(|u| u.reads)
    }

    /// What the procedure does with its arguments, in order; `None` for one without text.
    pub fn get(&self, procedure: &str) -> Option<&[Use]> {
        self.by_name.get(procedure).map(|s| s.args.as_slice())
    }

    /// The same, if the number of arguments is right.
    fn known(&self, procedure: &str, args: usize) -> Option<&Summary> {
        let known = self.by_name.get(procedure);
        known.filter(|k| k.args.len() == args)
    }
}

/// A variable that is read where nothing can have given it a value.
#[derive(Debug, Clone, Copy)]
pub struct Unset {
    /// Which.
    pub sym: farfel_ir::ir::SymId,
    /// Where it is read.
    pub span: Span,
    /// The unit gives it a value elsewhere.
    pub set_elsewhere: bool,
}

/// Follows the values of all units, and calls `found` with what was found in each, nested
/// ones included, and with the position of the top-level unit.
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
        // Of two units with one name (a fault that is reported) the first counts.
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

/// Calls `found` with the doubtful reads of each top-level unit, where procedures set what they may
/// set.
pub fn doubts<'p>(
    program: &'p Program,
    found: &mut dyn FnMut(usize, &'p Unit, Vec<Doubtful>),
) -> Intents {
    let graph = CallGraph::of(program);
    let mut intents = Intents::default();
    let mut recursive: Option<Intents> = None;
    let mut done = vec![false; program.units.len()];
    for i in graph.callees_first(0..program.units.len()) {
        // Of what is called on the way to itself, the fixed point is known.
        for callee in graph.callees(i).iter().filter(|c| !done[**c]) {
            let name = &program.units[*callee].name;
            let all = recursive.get_or_insert_with(|| Intents::of(program));
            let args = all.get(name).map(<[Use]>::to_vec);
            let pieces = Vec::new();
            let known = args.map(|args| (name.clone(), Summary { args, pieces }));
            intents.by_name.extend(known);
        }
        let unit = &program.units[i];
        let findings = unit::follow_trusting(unit, &intents);
        found(i, unit, findings.doubtful);
        let summary = Summary {
            args: findings.args,
            pieces: Vec::new(),
        };
        done[i] = true;
        // Of two units with one name (a fault that is reported) the first counts.
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
