//! The program that an adjoint is made of.

use crate::legal::called::{Called, called};
use crate::passes::{self, Form, Forms, Goal};
use crate::simplify::loops::drop_directives;
use farfel_lang::callgraph::CallGraph;
use farfel_lang::diagnostic::Diagnostic;
use farfel_lang::ir::{Name, Place, Program, Request, Unit, UnitKind, for_each_symbol};
use farfel_lang::lower::{compact, without_unused};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// The units below a head, as reverse mode sees them.
pub(super) struct Closure {
    pub program: Program,
    /// The units that are not what the program calls by these names.
    changed: HashSet<Name>,
    /// The units that the program has not got.
    added: HashSet<Name>,
    /// What is to be said of the program.
    pub warnings: Vec<Diagnostic>,
}

/// The forms that adjoints need.
const FORMS: Forms = Forms::of(&[
    Form::FixedTapes,
    Form::ElementsByName,
    Form::ReductionsCalled,
    Form::WholeIterations,
    Form::PlainCounters,
    Form::NoEntries,
    Form::NoAlternateReturns,
    Form::NoJumps,
    Form::EntryBounds,
    Form::Rolled,
    Form::Elements,
    Form::OneName,
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
    let units = below.iter().filter_map(|u| program.units.get(*u));
    let units = without_unused_declarations(&units.collect::<Vec<_>>(), &|_| false);
    let forms = FORMS.and(Forms::of(&[Form::Silent]));
    closure(program, units, &goal, forms)
}

/// Copies what some heads reach, with all that it reads and writes.
pub(super) fn prepare_heads(program: &Program, heads: &[&str]) -> Result<Closure, Vec<Diagnostic>> {
    let goal = Goal {
        heads,
        request: None,
    };
    let graph = CallGraph::of(program);
    let below = graph.reached(heads.iter().filter_map(|h| graph.index(h)));
    let units = below.iter().filter_map(|u| program.units.get(*u));
    closure(program, units.cloned().collect(), &goal, FORMS)
}

/// A copy of a program without what its subprograms declare and do not use, but for those of these names: the heads
/// whose contexts are found then.
pub fn without_unused_below(program: &Program, heads: &[&str]) -> Program {
    let units: Vec<&Unit> = program.units.iter().collect();
    let stays = |u: &Unit| {
        !matches!(u.kind, UnitKind::Subroutine | UnitKind::Function)
            || heads.contains(&u.name.as_str())
    };
    Program {
        units: without_unused_declarations(&units, &stays),
    }
}

fn closure(
    program: &Program,
    units: Vec<Unit>,
    goal: &Goal,
    forms: Forms,
) -> Result<Closure, Vec<Diagnostic>> {
    let below = Program { units };
    let made = passes::legalise(Cow::Owned(below), forms, goal)?;
    let (legal, mut changed) = (made.program.into_owned(), made.notes.silenced);
    let (resized, warnings) = (made.notes.resized, made.notes.warnings);
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
        warnings,
    })
}

/// Copies of units without what they declare and do not use, so that whatever comes is made for what they do use: in large
/// models, INCLUDE files declare thousands of COMMON variables everywhere. Where a call may change
/// variables of a block, it stays: sweeps may have to keep them. Some units are left as they are.
fn without_unused_declarations(units: &[&Unit], stays: &dyn Fn(&Unit) -> bool) -> Vec<Unit> {
    let index: HashMap<Name, usize> = (units.iter().enumerate())
        .map(|(i, u)| (u.name.clone(), i))
        .collect();
    // The blocks that each unit uses, what it calls, and whether it calls what has no text.
    let mut blocks: Vec<HashSet<Name>> = Vec::new();
    let mut calls: Vec<HashSet<usize>> = Vec::new();
    let mut anything: Vec<bool> = Vec::new();
    for unit in units {
        let (mut own, mut called, mut any) = (HashSet::new(), HashSet::new(), false);
        for_each_symbol(&unit.body, &mut |s| {
            let s = &unit.symbols[s];
            match &s.place {
                Place::Common(block) => {
                    own.insert(block.clone());
                }
                _ if s.class.is_procedure() => match index.get(&s.name) {
                    Some(i) if s.place == Place::Global => {
                        called.insert(*i);
                    }
                    _ => any = true,
                },
                _ => {}
            }
        });
        blocks.push(own);
        calls.push(called);
        anything.push(any);
    }
    // With what the units below do.
    let mut again = true;
    while again {
        again = false;
        for (i, called) in calls.iter().enumerate() {
            for c in called.iter().filter(|c| **c != i) {
                let theirs: Vec<Name> = blocks[*c].difference(&blocks[i]).cloned().collect();
                again |= !theirs.is_empty() || anything[*c] && !anything[i];
                anything[i] |= anything[*c];
                blocks[i].extend(theirs);
            }
        }
    }
    let copies = units.iter().enumerate().map(|(i, unit)| {
        let mut copy = (*unit).clone();
        if stays(unit) {
            return copy;
        }
        let may_go = |block: &Name| !anything[i] && !blocks[i].contains(block);
        without_unused(&mut copy, &may_go);
        compact(&mut copy);
        copy
    });
    copies.collect()
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
