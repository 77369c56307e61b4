//! Explains the result of specialization.

use super::calls::KnownProcedure;
use super::copies::SubprogramCopy;
use super::naming::text;
use super::passed_procedures::PassedProcedures;
use super::{Options, Stage, lower_with, recursion, roots};
use crate::diagnostic::{Diagnostic, any_errors};
use crate::ir::{Name, Program};
use std::collections::HashSet;

/// The copies that a program needs, and the reasons why there are no others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Explanation {
    /// The copies that are reachable, and the copies from which they were made, in the order of
    /// creation.
    pub copies: Vec<SubprogramCopy>,
    /// The dummy procedures that were not bound in copies.
    pub kept: Vec<UncopiedDummy>,
    /// Groups of subprograms that call themselves, directly or through each other.
    pub recursive: Vec<Vec<Name>>,
}

/// A dummy procedure that required no copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UncopiedDummy {
    /// The subprogram.
    pub unit: Name,
    /// Its dummy procedure.
    pub dummy: Name,
    /// The procedures for which it stands: one that is the same in all calls, or none if none is
    /// known.
    pub procedures: Vec<Name>,
    /// Whether code outside of the program may pass others.
    pub outside: bool,
}

/// Explains the copies of a program in which [`resolve`](crate::resolve::resolve) found no errors.
/// If the diagnostics contain errors, the copies are those made up to then.
pub fn explain(program: Program, options: &Options) -> (Explanation, Vec<Diagnostic>) {
    let roots = roots(&program, options);
    let lowered = lower_with(program, Stage::Prune, options);
    let mut explanation = Explanation::default();
    if any_errors(&lowered.diagnostics) {
        explanation.copies = lowered.copies;
        return (explanation, lowered.diagnostics);
    }
    let program = &lowered.program;
    let mut copies = lowered.copies;
    let there: HashSet<&Name> = program.units.iter().map(|u| &u.name).collect();
    // The originals of needed copies are needed, too.
    let mut needed: HashSet<Name> = there.iter().map(|n| (*n).clone()).collect();
    for copy in copies.iter().rev() {
        if needed.contains(&copy.name) {
            needed.insert(copy.of.clone());
        }
    }
    copies.retain(|c| needed.contains(&c.name));
    for copy in &mut copies {
        copy.reached = there.contains(&copy.name);
        copy.uses
            .retain(|u| !copy.reached || there.contains(&u.unit));
    }
    explanation.copies = copies;
    let values = PassedProcedures::of(program, &vec![true; program.units.len()]).values(&roots);
    for unit in &program.units {
        for (position, dummy) in crate::effects::procedure_dummies(unit) {
            let found = values.get(&(unit.name.clone(), position));
            let known = found.into_iter().flatten();
            explanation.kept.push(UncopiedDummy {
                unit: unit.name.clone(),
                dummy: unit.symbols[dummy].name.clone(),
                procedures: known
                    .filter(|c| **c != KnownProcedure::Outside)
                    .map(text)
                    .collect(),
                outside: found.is_some_and(|f| f.contains(&KnownProcedure::Outside)),
            });
        }
    }
    explanation.recursive = recursion::recursive(program);
    (explanation, lowered.diagnostics)
}
