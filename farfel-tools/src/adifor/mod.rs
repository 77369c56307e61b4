//! ADIFOR 2: derivatives by an external program.
//!
//! For each request the adapter prints the closure of the head (`input`), has ADIFOR run on it,
//! reads the output and turns it into the subroutine that the program calls (`output`).
//!
//! | convention of ADIFOR 2 | treatment |
//! |---|---|
//! | `Adifor2.1 AD_SCRIPT=x.adf`; the script refers to a composition file, and that to the sources | [`job`] creates all three |
//! | the derivatives of `x.f` are in `g_x.f` | there is one source, so one file comes back, or the run has failed |
//! | `g` can be another prefix (AD_PREFIX) | the first letter from G on with which no name of the closure begins, so derivatives of derivatives never clash |
//! | `g_f(g_p_, x, g_x, ldg_x, …)`; with AD_SCALAR_GRADIENTS `g_f(x, g_x, …)` | scalar for one direction; the long form for several |
//! | passive arguments have no derivative | one is added, so that the program can rely on [`Request::paired`] |
//! | functions become subroutines | nothing to do: heads are subroutines |
//! | COMMON `/c/` has `/g_c/` beside it, which the caller sets to zero | the head does, by a subroutine that is added |
//! | local variables with derivatives are saved | they are not: nothing reads them before they are set |
//! | names as long as the compilers of its time allowed | names that are longer than what is known to work are replaced, and restored |
//!
//! There is no reverse mode in ADIFOR 2.

mod input;
mod names;
mod output;
mod place;
mod zero;

use crate::external::{Job, RunError, RunResult, Runner};
use farfel_ad::AdTool;
use farfel_lang::diagnostic::{Diagnostic, any_errors, rules};
use farfel_lang::ir::{AdMode, Program, Request, Unit};
use std::fmt;
use std::sync::Arc;

/// The maximum number of directions in one run of vector code, unless AD_PMAX is among
/// [`Options::extra`]. The generated code stops with a message if it gets more.
pub const MOST_DIRECTIONS: u32 = 32;

/// A version of ADIFOR.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version {
    /// 2
    pub major: u32,
    /// 0 or 1
    pub minor: u32,
}

impl Version {
    /// Finds the version in the tool's output, or in the name of its command: the first number of
    /// the form `2.1` on a line that mentions ADIFOR.
    ///
    /// ```
    /// use farfel_tools::adifor::Version;
    /// assert_eq!(Version::find("This is ADIFOR 2.0 revision D"), Some(Version { major: 2, minor: 0 }));
    /// assert_eq!(Version::find("Adifor2.1"), Some(Version { major: 2, minor: 1 }));
    /// assert_eq!(Version::find("java 17.0"), None);
    /// ```
    pub fn find(output: &str) -> Option<Version> {
        output.lines().find_map(|line| {
            let at = line.to_ascii_lowercase().find("adifor")?;
            line[at + "adifor".len()..]
                .split(|c: char| !c.is_ascii_digit() && c != '.')
                .find_map(|word| {
                    let (major, rest) = word.split_once('.')?;
                    let minor = rest.split('.').next()?;
                    Some(Version {
                        major: major.parse().ok()?,
                        minor: minor.parse().ok()?,
                    })
                })
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The user's options for running ADIFOR.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// Additional lines `KEY = value` for the script. Those that determine the interface of the
    /// generated code cannot be set.
    pub extra: Vec<String>,
    /// Procedures without source whose derivatives are assumed to be zero. Case does not matter.
    pub allow_unknown: Vec<String>,
}

impl Options {
    fn allows(&self, name: &str) -> bool {
        self.allow_unknown
            .iter()
            .any(|a| a.eq_ignore_ascii_case(name))
    }
}

/// ADIFOR 2 as an [`AdTool`].
#[derive(Clone)]
pub struct Adifor {
    /// The version.
    pub version: Version,
    /// The options.
    pub options: Options,
    /// The runner that starts it.
    pub runner: Arc<dyn Runner>,
}

impl AdTool for Adifor {
    fn name(&self) -> &str {
        "adifor"
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
        if self.version.major != 2 {
            return Err(vec![
                Diagnostic::error(
                    &rules::AD_TOOL,
                    request.span,
                    format!(
                        "this is ADIFOR {}, and Farfel knows the conventions of ADIFOR 2",
                        self.version
                    ),
                )
                .label("derivative asked for here")
                .help("install ADIFOR 2.0 or 2.1, or leave `ad-tool` out"),
            ]);
        }
        let prepared = input::prepare(program, request, &self.options)?;
        if request.independents.is_empty() || request.dependents.is_empty() {
            return output::passive(program, request, &self.options, &prepared);
        }
        let ran = self
            .runner
            .run(&prepared.job)
            .map_err(|e| vec![failed(&e, request)])?;
        let mut found = Vec::new();
        let units = output::read(program, request, &self.options, &prepared, &ran, &mut found)
            .map_err(|errors| with_output(errors, &ran))?;
        self.runner.accept(&prepared.job, &ran);
        warnings.append(&mut found);
        Ok(units)
    }
}

/// Returns the job for a request. Equal closures of the head give equal jobs.
///
/// # Errors
///
/// Code that ADIFOR could not differentiate, with its position in the source.
pub fn job(
    program: &Program,
    request: &Request,
    options: &Options,
) -> Result<Job, Vec<Diagnostic>> {
    input::prepare(program, request, options).map(|p| p.job)
}

/// Returns the derivative units from the result of a run of [`job`], adapted to the program. Adds
/// ADIFOR's messages to `warnings`.
///
/// # Errors
///
/// The result is unusable: it does not contain the requested derivatives.
pub fn read(
    program: &Program,
    request: &Request,
    options: &Options,
    ran: &RunResult,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Vec<Unit>, Vec<Diagnostic>> {
    let prepared = input::prepare(program, request, options)?;
    output::read(program, request, options, &prepared, ran, warnings)
}

/// ADR needs a tool with a reverse mode.
fn no_reverse_mode(request: &Request) -> Option<Diagnostic> {
    (request.mode == AdMode::Reverse).then(|| {
        Diagnostic::error(
            &rules::AD_OTHER_TOOL,
            request.span,
            "ADIFOR 2 has no reverse mode",
        )
        .label("ADR block")
        .help("set `ad-tool = \"tapenade\"`, or write the block with ADF")
    })
}

/// The error for a run without a result.
fn failed(error: &RunError, request: &Request) -> Diagnostic {
    let (message, output) = match error {
        RunError::NotStarted(why) => (format!("ADIFOR could not be started: {why}"), ""),
        RunError::TimedOut { seconds, output } => {
            let limit = format!("ADIFOR was given up after {seconds} s");
            (limit, output.as_str())
        }
        RunError::Failed { status, output } => {
            let what = failure_line(output).map_or_else(|| status.clone(), clean);
            (format!("ADIFOR failed: {what}"), output.as_str())
        }
        RunError::Missing { file, output } => {
            let message = format!("ADIFOR ended well, but has not written {file}");
            (message, output.as_str())
        }
    };
    let d = Diagnostic::error(&rules::AD_TOOL, request.span, message)
        .label("derivative asked for here");
    add_output(d, output)
}

/// Adds the tool's output to errors in what it has written.
fn with_output(mut errors: Vec<Diagnostic>, ran: &RunResult) -> Vec<Diagnostic> {
    if any_errors(&errors)
        && let Some(first) = errors.first_mut()
        && first.rule == &rules::AD_TOOL
        && first.help.is_none()
    {
        *first = add_output(first.clone(), &ran.output);
    }
    errors
}

/// Adds the last lines of the tool's output.
fn add_output(d: Diagnostic, output: &str) -> Diagnostic {
    const MOST_LINES: usize = 12;
    let lines: Vec<String> = output
        .lines()
        .map(clean)
        .filter(|l| !l.is_empty())
        .collect();
    if lines.is_empty() {
        return d;
    }
    // The reason for a failure is at the end.
    let from = lines.len().saturating_sub(MOST_LINES);
    let text = lines[from..].join("\n");
    d.help(format!("ADIFOR said:\n{text}"))
}

/// Cleans a line for display: no control characters, and a limited length.
fn clean(line: &str) -> String {
    const MOST: usize = 200;
    line.chars()
        .filter(|c| !c.is_control())
        .take(MOST)
        .collect::<String>()
        .trim_end()
        .to_owned()
}

/// Returns the line of the tool's output that tells why it failed.
fn failure_line(output: &str) -> Option<&str> {
    let has = |l: &&str| {
        let l = l.to_ascii_lowercase();
        ["error", "fatal", "cannot", "abort"]
            .iter()
            .any(|w| l.contains(w))
    };
    output.lines().map(str::trim).find(has)
}
