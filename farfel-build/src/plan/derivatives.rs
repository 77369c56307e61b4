//! Carrying out the requests of a staged program.

use super::groups::References;
use super::workers::Workers;
use crate::Report;
use crate::verify::Plan;
use farfel_ad::AdTool;
use farfel_lang::Diagnostic;
use farfel_lang::ir::{Name, Program, Request, Unit};
use farfel_lang::lints::Lints;
use std::collections::{BTreeSet, HashMap};
use std::sync::OnceLock;

/// A lowered program that calls derivatives which are not made yet.
pub(crate) struct Staged {
    pub program: Program,
    /// In an order in which they can be carried out.
    pub requests: Vec<Request>,
    pub references: References,
    pub report: Report,
    pub lints: Lints,
    /// What is checked while the program runs, if it is to be.
    pub verify: Option<Plan>,
}

impl Staged {
    pub(crate) fn new(
        program: Program,
        requests: Vec<Request>,
        report: Report,
        lints: Lints,
    ) -> Staged {
        Staged {
            references: References::of(&program, &requests),
            program,
            requests,
            report,
            lints,
            verify: None,
        }
    }
}

/// A shareable AD tool.
pub(crate) type Tool = dyn AdTool + Send + Sync;

/// The derivatives of a program, as far as they have been made.
///
/// Each request sees exactly what its head reaches, so that what comes out does not depend
/// on what else has been made before.
pub(crate) struct Derivatives<'a> {
    staged: &'a Staged,
    tool: &'a Tool,
    /// For each request the units that its head reaches, and the requests among their
    /// calls.
    below: Vec<(BTreeSet<usize>, BTreeSet<usize>)>,
    made: Vec<OnceLock<Made>>,
}

/// What a request gave.
struct Made {
    units: Result<Vec<Unit>, Vec<Diagnostic>>,
    warnings: Vec<Diagnostic>,
}

impl<'a> Derivatives<'a> {
    pub(crate) fn new(staged: &'a Staged, tool: &'a Tool) -> Self {
        let references = &staged.references;
        let below = references
            .heads
            .iter()
            .map(|head| {
                let units = references.reached([*head]);
                let requests = units
                    .iter()
                    .flat_map(|u| references.requests(*u).iter().copied())
                    .collect();
                (units, requests)
            })
            .collect();
        Derivatives {
            staged,
            tool,
            below,
            made: staged.requests.iter().map(|_| OnceLock::new()).collect(),
        }
    }

    /// The requests that must be carried out before this one.
    pub(crate) fn needs(&self, request: usize) -> &BTreeSet<usize> {
        &self.below[request].1
    }

    /// Carries a request out; those that it needs must have been. Returns whether it went
    /// well.
    pub(crate) fn make(&self, request: usize) -> bool {
        let program = self.seen_by(request);
        let mut warnings = Vec::new();
        let made = Made {
            units: self.tool.differentiate_warning(
                &program,
                &self.staged.requests[request],
                &mut warnings,
            ),
            warnings,
        };
        self.made[request].get_or_init(|| made).units.is_ok() || self.is_optional(request)
    }

    /// Do others do without it, where it cannot be made?
    fn is_optional(&self, request: usize) -> bool {
        let plan = self.staged.verify.as_ref();
        plan.is_some_and(|p| p.is_optional(request))
    }

    /// Carries out all requests.
    pub(crate) fn make_all(&self, workers: &Workers) {
        let needs: Vec<Vec<usize>> = (0..self.staged.requests.len())
            .map(|r| self.needs(r).iter().copied().collect())
            .collect();
        workers.run(&needs, &|request, _| self.make(request));
    }

    /// What a request sees, once those that it needs have been carried out.
    pub(crate) fn seen_by(&self, request: usize) -> Program {
        let (units, needs) = &self.below[request];
        self.program(units, needs)
    }

    /// Some units of the program, and the derivatives that some requests made.
    pub(crate) fn program<'u>(
        &self,
        units: impl IntoIterator<Item = &'u usize>,
        requests: &BTreeSet<usize>,
    ) -> Program {
        let all = &self.staged.program.units;
        let mut program = Program {
            units: units.into_iter().map(|i| all[*i].clone()).collect(),
        };
        let mut places: HashMap<Name, usize> = program
            .units
            .iter()
            .enumerate()
            .map(|(i, u)| (u.name.clone(), i))
            .collect();
        for request in requests {
            let Some(Ok(units)) = self.made[*request].get().map(|m| &m.units) else {
                continue;
            };
            for unit in units {
                match places.get(&unit.name) {
                    Some(at) => program.units[*at] = unit.clone(),
                    None => {
                        places.insert(unit.name.clone(), program.units.len());
                        program.units.push(unit.clone());
                    }
                }
            }
        }
        program
    }

    /// What the tool had to say about some requests, each fault once.
    pub(crate) fn said(&self, requests: impl IntoIterator<Item = usize>) -> Vec<Diagnostic> {
        let mut said: Vec<Diagnostic> = Vec::new();
        let said_of = requests.into_iter().filter(|r| !self.is_optional(*r));
        for made in said_of.filter_map(|r| self.made[r].get()) {
            let faults = made.units.as_ref().err();
            for d in made.warnings.iter().chain(faults.into_iter().flatten()) {
                // Other contexts and requests meet the same statement again.
                let known = |x: &Diagnostic| match d.is_error() {
                    true => x == d,
                    false => x.rule == d.rule && x.span == d.span,
                };
                if !said.iter().any(known) {
                    said.push(d.clone());
                }
            }
        }
        let whole = |d| farfel_ad::with_way_in(d, &self.staged.program);
        said.into_iter().map(whole).collect()
    }
}
