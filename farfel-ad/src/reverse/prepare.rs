//! The program that an adjoint is made of.

use crate::legal::called::{Called, called};
use crate::passes::{self, Form, Forms, Goal};
use crate::simplify::loops::drop_directives;
use farfel_lang::callgraph::CallGraph;
use farfel_lang::diagnostic::Diagnostic;
use farfel_lang::ir::{Name, Program, Request, Unit};
use std::borrow::Cow;
use std::collections::HashSet;

/// The units below a head, as reverse mode sees them.
pub(super) struct Closure {
    pub program: Program,
    /// The units that are not what the program calls by these names.
    changed: HashSet<Name>,
    /// The units that the program has not got.
    added: HashSet<Name>,
}

/// The forms that adjoints need.
const FORMS: Forms = Forms::of(&[
    Form::FixedTapes,
    Form::ReductionsCalled,
    Form::WholeIterations,
    Form::PlainCounters,
    Form::NoEntries,
    Form::NoAlternateReturns,
    Form::NoJumps,
    Form::EntryBounds,
    Form::Rolled,
    Form::Elements,
    Form::LocalArrays,
    Form::TapesEnd,
    Form::EqualBlocks,
    Form::SavedByName,
]);

/// Copies what the head of a request reaches. The copy has no input, output and STOP: the primal
/// run has done that.
pub(super) fn prepare(program: &Program, request: &Request) -> Result<Closure, Vec<Diagnostic>> {
    let goal = Goal {
        heads: &[request.head.as_str()],
        request: Some(request),
    };
    // With the units that are called by their ENTRY points.
    let graph = CallGraph::of(program);
    let below = graph.callees_first(graph.index(&request.head));
    let forms = FORMS.and(Forms::of(&[Form::Silent]));
    closure(program, &below, &goal, forms)
}

/// Copies what some heads reach, with all that it reads and writes.
pub(super) fn prepare_heads(program: &Program, heads: &[&str]) -> Result<Closure, Vec<Diagnostic>> {
    let goal = Goal {
        heads,
        request: None,
    };
    let graph = CallGraph::of(program);
    let below = graph.reached(heads.iter().filter_map(|h| graph.index(h)));
    closure(program, &below, &goal, FORMS)
}

fn closure(
    program: &Program,
    below: &[usize],
    goal: &Goal,
    forms: Forms,
) -> Result<Closure, Vec<Diagnostic>> {
    let units = below.iter().filter_map(|u| program.units.get(*u));
    let below = Program {
        units: units.cloned().collect(),
    };
    let made = passes::legalise(Cow::Owned(below), forms, goal)?;
    let (legal, mut changed) = (made.program.into_owned(), made.notes.silenced);
    let resized = made.notes.resized;
    let known: HashSet<&Name> = program.units.iter().map(|u| &u.name).collect();
    let units = legal.units.iter().map(|u| &u.name);
    let added: HashSet<Name> = units.filter(|n| !known.contains(n)).cloned().collect();
    // Whoever calls a changed unit is changed as well, also by a name that it got without jumps.
    let mut again = !changed.is_empty();
    while again {
        again = false;
        for u in &legal.units {
            let silent = |n: Name| changed.contains(&n) || added.contains(&n);
            if !changed.contains(&u.name) && called(u).any(silent) {
                changed.insert(u.name.clone());
                again = true;
            }
        }
    }
    changed.extend(resized);
    Ok(Closure {
        program: legal,
        changed,
        added,
    })
}

impl Closure {
    /// Adds copies of changed units that the generated ones call.
    pub fn finish(&self, made: &mut Vec<Unit>, suffix: &Name) {
        let own = made.len();
        let called = Called {
            legal: &self.program,
            added: &|n| self.added.contains(n),
            changed: &|n| self.changed.contains(n),
        };
        called.add_to(made, suffix);
        let copies = made.iter_mut().skip(own);
        copies.for_each(|u| drop_directives(&mut u.body));
    }
}
