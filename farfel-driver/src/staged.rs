//! Lowered programs whose derivatives have not been computed yet.

use crate::copies::Copies;
use crate::derivative_checks::DerivativeChecks;
use crate::read::{CheckedProgram, finish_report};
use crate::{Error, Report};
use farfel_ad::AdTool;
use farfel_ad::schedule::Derivatives;
use farfel_lang::Diagnostic;
use farfel_lang::callgraph::CallGraph;
use farfel_lang::diagnostic::rules;
use farfel_lang::ir::{Name, Program, Request};
use farfel_lang::lints::Lints;
use farfel_lang::lower::{Lowered, Stage, lower_with};
use farfel_lang::openmp;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// A lowered program that calls derivatives which do not exist yet.
pub(crate) struct Staged {
    pub program: Program,
    /// The requested derivatives, in an order in which they can be computed.
    pub requests: Vec<Request>,
    /// The units that are kept, whoever calls them.
    pub roots: HashSet<Name>,
    pub references: References,
    pub report: Report,
    pub lints: Lints,
    /// The checks to be made while the program runs, if any.
    pub verify: Option<DerivativeChecks>,
    /// The procedures and COMMON blocks that C knows by name.
    pub by_name: BTreeSet<Name>,
    /// The subprograms in pass-through files, each with its file.
    pub passed_subprograms: BTreeMap<Name, String>,
}

impl Staged {
    pub(crate) fn new(lowered: Lowered, report: Report, lints: Lints) -> Staged {
        let Lowered {
            program,
            roots,
            requests,
            ..
        } = lowered;
        Staged {
            references: References::of(&program, &requests),
            program,
            requests,
            roots,
            report,
            lints,
            verify: None,
            by_name: BTreeSet::new(),
            passed_subprograms: BTreeMap::new(),
        }
    }

    /// Adds help to diagnostics about procedures that cannot be differentiated because they are in
    /// pass-through files: it names the file.
    pub(crate) fn explain(&self, diagnostics: &mut [Diagnostic]) {
        let unknown = |d: &&mut Diagnostic| d.rule == &rules::AD_UNKNOWN_PROCEDURE;
        for d in diagnostics.iter_mut().filter(unknown) {
            let words = d.message.split(|c: char| !c.is_alphanumeric() && c != '_');
            let mut files = words.filter_map(|w| Some((w, self.passed_subprograms.get(w)?)));
            if let Some((name, file)) = files.next() {
                d.help = Some(format!(
                    "{name} is in {file}, which gfortran compiles as it is: write it in FORTRAN 77 in a file of its                      own, or give its derivative by hand with `!farfel: derivative({name}(…), tangent = …, in = …, out = …)`"
                ));
            }
        }
    }

    /// Returns the program's derivatives, none of which has been computed yet.
    pub(crate) fn derivatives<'a>(&'a self, tool: &'a dyn AdTool) -> Derivatives<'a> {
        let graph = self.references.graph();
        let mut derivatives = Derivatives::new(tool, &self.program, &self.requests, graph);
        if let Some(plan) = &self.verify {
            let optional = (0..self.requests.len()).filter(|r| plan.is_optional(*r));
            optional.for_each(|r| derivatives.set_optional(r));
        }
        derivatives
    }
}

/// The call graph of a staged program, including requested derivatives.
pub(crate) struct References {
    graph: CallGraph,
    /// The index of the head unit of each request.
    pub heads: Vec<usize>,
}

impl References {
    pub(crate) fn of(program: &Program, requests: &[Request]) -> References {
        let graph = CallGraph::staged(program, requests);
        References {
            heads: requests
                .iter()
                .map(|r| graph.index(&r.head).unwrap_or_default())
                .collect(),
            graph,
        }
    }

    pub(crate) fn graph(&self) -> &CallGraph {
        &self.graph
    }

    /// Returns the units that a unit calls.
    pub(crate) fn callees(&self, unit: usize) -> &[usize] {
        self.graph.callees(unit)
    }

    /// Returns the requests whose derivatives a unit calls.
    pub(crate) fn requests(&self, unit: usize) -> &[usize] {
        self.graph.requests(unit)
    }

    /// Returns all units that the given units reach, including themselves, through calls and through the
    /// derivatives that they request.
    pub(crate) fn reached(&self, from: impl IntoIterator<Item = usize>) -> BTreeSet<usize> {
        self.graph.reached(from).into_iter().collect()
    }
}

/// Lowers a program to a stage. `exports` are the subprograms that must stay callable from outside; `None`
/// means all that can be, or the main program if there is one. The returned requests are those that the stage
/// leaves to the AD tool; the diagnostics are in the report.
pub(crate) fn lower_to(
    read: CheckedProgram,
    stage: Stage,
    exports: Option<&[String]>,
) -> Result<(Lowered, Report), Error> {
    let options = read.options(exports);
    let mut lowered = lower_with(read.program, stage, &options);
    let mut diagnostics = read.report.diagnostics;
    diagnostics.append(&mut lowered.diagnostics);
    diagnostics.extend(openmp::complete(&mut lowered.program));
    let report = finish_report(read.report.sources, diagnostics, &read.lints)?;
    Ok((lowered, report))
}

/// Lowers a program up to its derivatives.
pub(crate) fn stage(read: CheckedProgram, exports: Option<&[String]>) -> Result<Staged, Error> {
    let lints = read.lints.clone();
    let by_name = read.by_name.iter().cloned().collect();
    let passed_subprograms = read.passed_subprograms.clone();
    let (lowered, report) = lower_to(read, Stage::Stage, exports)?;
    Ok(Staged {
        by_name,
        passed_subprograms,
        ..Staged::new(lowered, report, lints)
    })
}

/// Explains which copies of subprograms a program needs, and why.
pub(crate) fn explain(
    read: CheckedProgram,
    exports: Option<&[String]>,
) -> Result<(Copies, Report), Error> {
    let options = read.options(exports);
    let (explanation, new_diagnostics) = farfel_lang::lower::explain(read.program, &options);
    let mut diagnostics = read.report.diagnostics;
    diagnostics.extend(new_diagnostics);
    let report = finish_report(read.report.sources, diagnostics, &read.lints)?;
    let copies = Copies::of(&explanation, &report.sources);
    Ok((copies, report))
}
