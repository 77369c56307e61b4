//! Tapenade: derivatives by an external program.
//!
//! For each request the tool gets the closure of the head in the call graph as one file, and one
//! command line. Its output is parsed, adapted to the calls in the program, and added to the
//! program like any other units, so that it can be differentiated again.
//!
//! | module | contents |
//! |---|---|
//! | `version` | versions and their capabilities |
//! | `input` | the copy of the closure that the tool reads |
//! | `silence` | input, output and STOP in that copy |
//! | `intrinsics` | intrinsic functions that the tool handles incorrectly |
//! | `mixed` | conversions of results |
//! | `functions` | statement functions |
//! | `jumps` | computed and assigned GOTO |
//! | `sizes` | arrays of assumed size |
//! | `commons` | COMMON blocks that callees use |
//! | `aliases` | one variable as two arguments |
//! | `parts` | parts of arrays as arguments |
//! | `command` | the command line |
//! | `messages` | the tool's messages, as diagnostics |
//! | `output` | the files that it writes |
//! | `adapt`, `fit` | names, arguments, copies |
//! | `units` | calls and names of units, and units from our own source |
//! | `vector` | vector mode |
//! | `stack` | the run-time support of adjoints |

mod adapt;
mod aliases;
mod argument_list;
mod array_sections;
mod check;
mod command;
mod commons;
mod functions;
mod hide;
mod input;
mod intrinsics;
mod jumps;
mod messages;
mod mixed;
mod output;
mod sizes;
mod stack;
mod units;
mod vector;
mod version;

pub use version::{NoVersion, Version};

use crate::external::{Job, RunError, Runner};
use farfel_ad::AdTool;
use farfel_lang::diagnostic::{Diagnostic, any_errors, rules};
use farfel_lang::ir::{Program, Request, Unit};
use std::sync::Arc;

/// The run-time support of adjoints, in C: a build compiles and links it if [`needs_support`]
/// returns true and Tapenade's own `ADFirstAidKit/adStack.c` is not available.
pub const SUPPORT: &str = include_str!("support/adstack.c");

/// Options for running Tapenade, in addition to the request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// Additional command-line options. If REAL has eight bytes, `-r8` is needed.
    pub extra: Vec<String>,
    /// Options for the Java virtual machine: `-mx1g`.
    pub java: Vec<String>,
    /// Procedures that may be unknown, and subprograms in which a derivative may be lost: errors
    /// there are reduced to warnings.
    pub allow_unknown: Vec<String>,
    /// Whether the tool supports ALLOCATE in FORTRAN 77, as our drop-in command does: then it can
    /// differentiate adjoints from the built-in engine, whose tapes are arrays.
    pub allocates: bool,
}

/// A version of the tool, with its options and a runner.
#[derive(Clone)]
pub struct Tapenade {
    /// Its version.
    pub version: Version,
    /// Its options.
    pub options: Options,
    /// The runner that starts it.
    pub runner: Arc<dyn Runner>,
}

impl std::fmt::Debug for Tapenade {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tapenade")
            .field("version", &self.version)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// Returns the job for a request.
///
/// # Errors
///
/// Code that Tapenade could not differentiate, or would differentiate incorrectly.
pub fn job(
    program: &Program,
    request: &Request,
    version: Version,
    options: &Options,
) -> Result<Job, Vec<Diagnostic>> {
    let mut found = Vec::new();
    let prepared = input::prepare(program, request, &mut found);
    if any_errors(&found) {
        return Err(found);
    }
    match prepared.head() {
        Some(head) => Ok(command::job(version, options, request, head, &prepared)),
        None => Err(vec![no_head(request)]),
    }
}

/// Whether something in the program calls the run-time support of adjoints.
pub fn needs_support(program: &Program) -> bool {
    program.units.iter().any(|u| {
        stack::calls(u)
            .iter()
            .any(|name| program.unit(name).is_none())
    })
}

fn no_head(request: &Request) -> Diagnostic {
    Diagnostic::error(
        &rules::AD_TOOL,
        request.span,
        format!("there is no {} to differentiate", request.head),
    )
}

impl AdTool for Tapenade {
    fn name(&self) -> &str {
        "tapenade"
    }

    fn differentiate_warning(
        &self,
        program: &Program,
        request: &Request,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Vec<Unit>, Vec<Diagnostic>> {
        if request.directions.pattern {
            // Which tangents can be nonzero does not depend on the tool.
            return farfel_ad::Builtin.differentiate_warning(program, request, warnings);
        }
        let Some(_) = program.unit(&request.head) else {
            return Err(vec![no_head(request)]);
        };
        if request.independents.is_empty() || request.dependents.is_empty() {
            return argument_list::passive(program, request);
        }
        let mut found = Vec::new();
        let prepared = input::prepare(program, request, &mut found);
        check::check(&prepared, request, &self.options, &mut found);
        split(&mut found, warnings)?;
        let Some(head) = prepared.head() else {
            return Err(vec![no_head(request)]);
        };
        let job = command::job(self.version, &self.options, request, head, &prepared);
        let files = command::files(self.version, request);
        let ran = match self.runner.run(&job) {
            Ok(ran) => ran,
            Err(e) => {
                if let RunError::Missing { output, .. } = &e
                    && output.contains("(AD06)")
                {
                    return argument_list::passive(program, request);
                }
                let (output, what) = failure(&e);
                let mut found =
                    messages::diagnostics(&prepared, request, &self.options, output, "");
                found.retain(Diagnostic::is_error);
                found.insert(0, output::broken(&prepared, request, what));
                return Err(found);
            }
        };
        let file = ran.files.get(&files.messages).map_or("", String::as_str);
        let mut found = messages::diagnostics(&prepared, request, &self.options, &ran.output, file);
        split(&mut found, warnings)?;
        let text = output::text(&ran, &files.input);
        if text.trim().is_empty() && (ran.output.contains("(AD06)") || file.contains("(AD06)")) {
            self.runner.accept(&job, &ran);
            return argument_list::passive(program, request);
        }
        let made = output::read(&prepared, request, &text)?;
        let units = adapt::adapt(program, request, &prepared, made)?;
        self.runner.accept(&job, &ran);
        Ok(units)
    }
}

/// Returns the diagnostics as an error if one of them is an error, and otherwise adds them to the
/// warnings.
fn split(
    found: &mut Vec<Diagnostic>,
    warnings: &mut Vec<Diagnostic>,
) -> Result<(), Vec<Diagnostic>> {
    if any_errors(found) {
        return Err(std::mem::take(found));
    }
    warnings.append(found);
    Ok(())
}

/// Returns the tool's output, and what went wrong.
fn failure(e: &RunError) -> (&str, String) {
    match e {
        RunError::NotStarted(why) => ("", format!("Tapenade could not be started: {why}")),
        RunError::TimedOut { seconds, output } => (
            output,
            format!("Tapenade was not done after {seconds} s{}", last(output)),
        ),
        RunError::Failed { status, output } => (
            output,
            format!("Tapenade failed ({status}){}", last(output)),
        ),
        RunError::Missing { file, output } => (
            output,
            format!("Tapenade did not write {file}{}", last(output)),
        ),
    }
}

/// Returns the most informative line of the output: the first exception, otherwise the last line.
fn last(output: &str) -> String {
    let lines = || {
        output
            .lines()
            .map(str::trim)
            .filter(|l| !l.is_empty() && !l.starts_with("@@") && !l.starts_with("at "))
    };
    lines()
        .find(|l| l.contains("Exception") || l.contains("Error"))
        .or_else(|| lines().next_back())
        .map_or_else(String::new, |l| format!("; it said: {l}"))
}
