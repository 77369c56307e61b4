//! Lowered programs, before their derivatives are made.

use crate::checks::Plan;
use crate::copies::Copies;
use crate::read::{Read, settle};
use crate::{Error, Report};
use farfel_ad::AdTool;
use farfel_ad::schedule::Derivatives;
use farfel_lang::Diagnostic;
use farfel_lang::callgraph::CallGraph;
use farfel_lang::diagnostic::rules;
use farfel_lang::ir::{Name, Program, Request};
use farfel_lang::lints::Lints;
use farfel_lang::lower::{Stage, lower_with};
use std::collections::{BTreeMap, BTreeSet};

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
    /// The procedures and COMMON blocks that C knows by their names.
    pub by_name: BTreeSet<Name>,
    /// The subprograms in files that gfortran gets as they are, each with its file.
    pub passed: BTreeMap<Name, String>,
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
            by_name: BTreeSet::new(),
            passed: BTreeMap::new(),
        }
    }

    /// Says of procedures that derivatives would go through in which file they are, where that is one
    /// that gfortran gets as it is.
    pub(crate) fn explain(&self, diagnostics: &mut [Diagnostic]) {
        let unknown = |d: &&mut Diagnostic| d.rule == &rules::AD_UNKNOWN_PROCEDURE;
        for d in diagnostics.iter_mut().filter(unknown) {
            let words = d.message.split(|c: char| !c.is_alphanumeric() && c != '_');
            let mut files = words.filter_map(|w| Some((w, self.passed.get(w)?)));
            if let Some((name, file)) = files.next() {
                d.help = Some(format!(
                    "{name} is in {file}, which gfortran compiles as it is: write it in FORTRAN 77 in a file of its                      own, or give its derivative by hand with `!farfel: derivative({name}(…), tangent = …, in = …, out = …)`"
                ));
            }
        }
    }

    /// Its derivatives, none of which is made yet.
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

/// Who refers to whom in a staged program.
pub(crate) struct References {
    graph: CallGraph,
    /// For each request its head.
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

    /// The units that a unit calls.
    pub(crate) fn callees(&self, unit: usize) -> &[usize] {
        self.graph.callees(unit)
    }

    /// The requests whose derivatives a unit calls.
    pub(crate) fn requests(&self, unit: usize) -> &[usize] {
        self.graph.requests(unit)
    }

    /// All units that some units reach, themselves included: by calls, and through the
    /// derivatives that they ask for.
    pub(crate) fn reached(&self, from: impl IntoIterator<Item = usize>) -> BTreeSet<usize> {
        self.graph.reached(from).into_iter().collect()
    }
}

/// Lowers a program to a stage. `exports` are the subprograms that must stay callable from
/// outside; `None` for all that can be, or for the main program where there is one. The
/// requests are what that stage leaves to the AD tool.
pub(crate) fn lower_to(
    read: Read,
    stage: Stage,
    exports: Option<&[String]>,
) -> Result<(Program, Vec<Request>, Report), Error> {
    let options = read.options(exports);
    let lowered = lower_with(read.program, stage, &options);
    let mut diagnostics = read.report.diagnostics;
    diagnostics.extend(lowered.diagnostics);
    let report = settle(read.report.sources, diagnostics, &read.lints)?;
    Ok((lowered.program, lowered.requests, report))
}

/// Lowers a program up to its derivatives.
pub(crate) fn stage(read: Read, exports: Option<&[String]>) -> Result<Staged, Error> {
    let lints = read.lints.clone();
    let by_name = read.by_name.iter().cloned().collect();
    let passed = read.passed.clone();
    let (program, requests, report) = lower_to(read, Stage::Stage, exports)?;
    Ok(Staged {
        by_name,
        passed,
        ..Staged::new(program, requests, report, lints)
    })
}

/// Says which copies a program needs, and why.
pub(crate) fn explain(read: Read, exports: Option<&[String]>) -> Result<(Copies, Report), Error> {
    let options = read.options(exports);
    let (explanation, said) = farfel_lang::lower::explain(read.program, &options);
    let mut diagnostics = read.report.diagnostics;
    diagnostics.extend(said);
    let report = settle(read.report.sources, diagnostics, &read.lints)?;
    let copies = Copies::of(&explanation, &report.sources);
    Ok((copies, report))
}
