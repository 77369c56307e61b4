//! The program that an adjoint is made of: without input, output and STOP, which the primal
//! run has done, and without jumps.

use super::cleared::clear;
use super::reroll::reroll;
use crate::common_sizes::with_equal_blocks;
use crate::elements::by_elements;
use crate::given::functions::written_out;
use crate::loop_control::{Which, with_conditions, written_as_statements};
use crate::regions::without_allocations;
use crate::structure::{name_saved, structure};
use crate::tapenade::silence::silence;
use farfel_lang::Span;
use farfel_lang::callgraph::CallGraph;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::ir::{
    Name, Place, Program, Request, StmtKind, SymId, Unit, UnitKind, for_each_symbol, walk_block,
};
use std::collections::{BTreeSet, HashSet};

/// The units below a head, as reverse mode sees them.
pub(super) struct Closure {
    pub program: Program,
    /// The units that are not what the program calls by these names.
    changed: HashSet<Name>,
    /// The units that the program has not got.
    added: HashSet<Name>,
}

/// Copies what the head of a request reaches.
pub(super) fn prepare(program: &Program, request: &Request) -> Result<Closure, Vec<Diagnostic>> {
    // With the units that are called by their ENTRY points.
    let graph = CallGraph::of(program);
    let below = graph.callees_first(graph.index(&request.head)).into_iter();
    let mut closure = Closure {
        program: Program {
            units: below
                .filter_map(|u| program.units.get(u))
                .cloned()
                .collect(),
        },
        changed: HashSet::new(),
        added: HashSet::new(),
    };
    let mut faults = Vec::new();
    for u in &mut closure.program.units {
        if silence(u, request, &mut faults) {
            closure.changed.insert(u.name.clone());
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    if let Some(program) = written_out(&closure.program, [request.head.as_str()]) {
        closure.program = program;
    }
    with_conditions(&mut closure.program);
    written_as_statements(&mut closure.program, Which::Counting);
    closure.program = without_jumps(&closure.program, &request.head)?;
    reroll(&mut closure.program);
    by_elements(&mut closure.program, false);
    without_allocations(&mut closure.program, &request.suffix);
    clear(&mut closure.program);
    with_equal_blocks(&mut closure.program);
    name_all_saved(&mut closure.program);
    let known: HashSet<&Name> = program.units.iter().map(|u| &u.name).collect();
    let units = closure.program.units.iter().map(|u| &u.name);
    closure.added = units.filter(|n| !known.contains(n)).cloned().collect();
    // Whoever calls a changed unit is changed as well, also by a name that it got without jumps.
    let mut again = !closure.changed.is_empty();
    while again {
        again = false;
        for u in &closure.program.units {
            let silent = |n: Name| closure.changed.contains(&n) || closure.added.contains(&n);
            if !closure.changed.contains(&u.name) && names(u).any(silent) {
                closure.changed.insert(u.name.clone());
                again = true;
            }
        }
    }
    Ok(closure)
}

/// Copies what some heads reach, with all that it reads and writes.
pub(super) fn prepare_heads(program: &Program, heads: &[&str]) -> Result<Closure, Vec<Diagnostic>> {
    let graph = CallGraph::of(program);
    let mut reached: BTreeSet<usize> = BTreeSet::new();
    for head in heads {
        reached.extend(graph.callees_first(graph.index(head)));
    }
    let mut below = Program {
        units: reached
            .into_iter()
            .filter_map(|u| program.units.get(u))
            .cloned()
            .collect(),
    };
    if let Some(written) = written_out(&below, heads.iter().copied()) {
        below = written;
    }
    with_conditions(&mut below);
    written_as_statements(&mut below, Which::Counting);
    for head in heads {
        below = without_jumps(&below, head)?;
    }
    reroll(&mut below);
    by_elements(&mut below, false);
    without_allocations(&mut below, "");
    clear(&mut below);
    with_equal_blocks(&mut below);
    name_all_saved(&mut below);
    let known: HashSet<&Name> = program.units.iter().map(|u| &u.name).collect();
    let units = below.units.iter().map(|u| &u.name);
    Ok(Closure {
        added: units.filter(|n| !known.contains(n)).cloned().collect(),
        changed: HashSet::new(),
        program: below,
    })
}

/// Neither cotangents nor tapes are kept from call to call because everything else is.
fn name_all_saved(program: &mut Program) {
    for u in &mut program.units {
        name_saved(u, &[]);
    }
}

/// The program without jumps below a head. No loop of which a comment says something gets lost.
fn without_jumps(program: &Program, head: &str) -> Result<Program, Vec<Diagnostic>> {
    let structured = structure(program, head)?;
    let left = marks(&structured);
    let lost = marks(program).into_iter().filter(|m| !left.contains(m));
    let lost: Vec<Diagnostic> = lost.map(jumps).collect();
    match lost.is_empty() {
        true => Ok(structured),
        false => Err(lost),
    }
}

/// Where comments say something of loops.
fn marks(program: &Program) -> Vec<Span> {
    let mut found = Vec::new();
    for u in &program.units {
        walk_block(&u.body, &mut |s| {
            if let StmtKind::Do(d) = &s.kind
                && let Some(mark) = &d.mark
            {
                found.push(mark.span);
            }
        });
    }
    found
}

/// A loop that its end alone does not end.
fn jumps(mark: Span) -> Diagnostic {
    Diagnostic::error(
        &rules::AD_UNSUPPORTED,
        mark,
        "something jumps out of this loop, so that its adjoint cannot be made as the directive says",
    )
    .help("write the loop as DO WHILE, or take the directive out")
}

/// The top-level procedures that a unit names.
fn names(unit: &Unit) -> impl Iterator<Item = Name> + '_ {
    let mut used: BTreeSet<SymId> = BTreeSet::new();
    for_each_symbol(&unit.body, &mut |s| {
        used.insert(s);
    });
    used.into_iter().filter_map(|s| {
        let s = &unit.symbols[s];
        (s.place == Place::Global && s.class.is_procedure()).then(|| s.name.clone())
    })
}

impl Closure {
    /// Adds copies of changed units that the generated ones call.
    pub fn finish(&self, made: &mut Vec<Unit>, suffix: &Name) {
        let silent = |of: &str| Name::from(format!("{of}_S{suffix}"));
        let mut done: HashSet<Name> = HashSet::new();
        let mut i = 0;
        while let Some(unit) = made.get(i) {
            let mut wanted = Vec::new();
            let mut added = Vec::new();
            for name in names(unit).collect::<Vec<_>>() {
                if self.added.contains(&name) {
                    if made.iter().all(|u| u.name != name) {
                        added.push(name);
                    }
                    continue;
                }
                let Some(unit) = made.get_mut(i) else { break };
                // Generated units bear names of their own.
                if self.changed.contains(&name)
                    && let Some(s) = unit.symbols.find(&name)
                {
                    unit.symbols.rename(s, silent(&name));
                    wanted.push(name);
                }
            }
            for name in wanted {
                if let (true, Some(u)) = (done.insert(name.clone()), self.program.unit(&name)) {
                    let mut copy = u.clone();
                    copy.name = silent(&name);
                    if let (UnitKind::Function, Some(result)) = (copy.kind, copy.result)
                        && copy.symbols[result].name == name
                    {
                        copy.symbols.rename(result, silent(&name));
                    }
                    made.push(copy);
                }
            }
            let added = added.into_iter().filter_map(|n| self.program.unit(&n));
            made.extend(added.cloned());
            i += 1;
        }
    }
}
