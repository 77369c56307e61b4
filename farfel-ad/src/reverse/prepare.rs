//! Prepares the program that an adjoint is made from.

use crate::legal::argument_sizes::{ArrayArgument, pass_sizes};
use crate::legal::called::{CalledSubprograms, called};
use crate::parallel;
use crate::passes::{self, Form, Forms, Goal};
use crate::simplify::loops::drop_directives;
use farfel_lang::callgraph::CallGraph;
use farfel_lang::diagnostic::Diagnostic;
use farfel_lang::ir::{Name, Program, Request, StorageClass, Unit, UnitKind, for_each_symbol};
use farfel_lang::lower::{compact, without_unused};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};

/// The units below a head, in the form that reverse mode works on.
pub(super) struct Closure {
    pub program: Program,
    /// The units that differ from the program's units of the same names.
    changed: HashSet<Name>,
    /// The units that the program does not have.
    added: HashSet<Name>,
    /// Warnings about the program.
    pub warnings: Vec<Diagnostic>,
    /// The array arguments that got sizes.
    pub sizes: BTreeSet<ArrayArgument>,
}

/// The forms that adjoints need.
const FORMS: Forms = Forms::of(&[
    Form::FixedTapes,
    Form::ElementsByName,
    Form::MessagesCalled,
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
    Form::CalledBodies,
    Form::TapesEnd,
    Form::EqualBlocks,
    Form::SavedByName,
]);

/// Copies the units that are reachable from the head of a request. The copy has no input, output or STOP: the
/// primal run has executed these already.
pub(super) fn prepare(program: &Program, request: &Request) -> Result<Closure, Vec<Diagnostic>> {
    let goal = Goal {
        heads: &[request.head.as_str()],
        request: Some(request),
        named: &[],
        tag: "",
    };
    // Includes units that are called through their ENTRY points.
    let graph = CallGraph::of(program);
    let below = graph.callees_first(graph.index(&request.head));
    let units = below.iter().filter_map(|u| program.units.get(*u));
    let mut units: Vec<Unit> = units.cloned().collect();
    remove_unused_declarations(&mut units, &|_| false);
    let forms = FORMS.union(Forms::of(&[Form::Silent]));
    closure(program, units, &goal, forms)
}

/// Copies the units that are reachable from some heads, including their input and output.
pub(super) fn prepare_heads(program: &Program, heads: &[&str]) -> Result<Closure, Vec<Diagnostic>> {
    let goal = Goal {
        heads,
        request: None,
        named: &[],
        tag: passes::REVERSE_TAG,
    };
    let graph = CallGraph::of(program);
    let below = graph.reached(heads.iter().filter_map(|h| graph.index(h)));
    let units = below.iter().filter_map(|u| program.units.get(*u));
    closure(program, units.cloned().collect(), &goal, FORMS)
}

/// Removes from subprograms the declarations of what they do not use. The heads with the given names are not
/// changed, since their contexts are determined later.
pub fn remove_unused_below(program: &mut Program, heads: &[&str]) {
    let stays = |u: &Unit| {
        !matches!(u.kind, UnitKind::Subroutine | UnitKind::Function)
            || heads.contains(&u.name.as_str())
    };
    remove_unused_declarations(&mut program.units, &stays);
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
    // The callers of a changed unit change as well, even if it got a new name when jumps were removed.
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
        sizes: BTreeSet::new(),
    })
}

/// Removes unused declarations, so that later passes handle only what is used: in large models, INCLUDE files
/// declare thousands of COMMON variables everywhere. A block whose variables a call may change is kept, since
/// sweeps may have to record them. Units for which `stays` returns true are not changed.
fn remove_unused_declarations(units: &mut [Unit], stays: &dyn Fn(&Unit) -> bool) {
    let index: HashMap<Name, usize> = (units.iter().enumerate())
        .map(|(i, u)| (u.name.clone(), i))
        .collect();
    // The blocks that each unit uses, its callees, and whether it calls anything without source text.
    let mut blocks: Vec<HashSet<Name>> = Vec::new();
    let mut calls: Vec<HashSet<usize>> = Vec::new();
    let mut anything: Vec<bool> = Vec::new();
    for unit in units.iter() {
        let (mut own, mut called, mut any) = (HashSet::new(), HashSet::new(), false);
        for_each_symbol(&unit.body, &mut |s| {
            let s = &unit.symbols[s];
            match &s.storage_class {
                StorageClass::Common(block) => {
                    own.insert(block.clone());
                }
                _ if s.class.is_procedure() => match index.get(&s.name) {
                    Some(i) if s.storage_class == StorageClass::Global => {
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
    // Add what the units below them use.
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
    for (i, unit) in units.iter_mut().enumerate().filter(|(_, u)| !stays(u)) {
        let may_go = |block: &Name| !anything[i] && !blocks[i].contains(block);
        without_unused(unit, &may_go);
        compact(unit);
    }
}

impl Closure {
    /// Passes the sizes of some array arguments, each given by its subprogram and its name. Returns false if none of them
    /// is known.
    pub fn pass_sizes(&mut self, wanted: &BTreeSet<ArrayArgument>, head: &str) -> bool {
        let changed = pass_sizes(&mut self.program, wanted, head, &mut self.sizes);
        let any = !changed.is_empty();
        self.changed.extend(changed);
        any
    }

    /// Adds copies of the changed units that the generated ones call.
    pub fn finish(&self, made: &mut Vec<Unit>, suffix: &Name) {
        let own = made.len();
        let called = CalledSubprograms {
            legal: &self.program,
            added: &|n| self.added.contains(n),
            changed: &|n| self.changed.contains(n),
        };
        called.add_to(made, suffix);
        let copies = made.iter_mut().skip(own);
        copies.for_each(|u| drop_directives(&mut u.body));
        parallel::settle_originals(made);
    }
}
