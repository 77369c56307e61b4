//! ADIFOR 2: derivatives by a program that is not ours.
//!
//! For each request the adapter prints what the head reaches (`input`), has ADIFOR run on
//! it, reads what it wrote and makes of it the subroutine that the program calls
//! (`output`).
//!
//! | convention of ADIFOR 2 | here |
//! |---|---|
//! | `Adifor2.1 AD_SCRIPT=x.adf`; the script names a composition file, that the sources | [`job`] makes all three |
//! | what is made of `x.f` stands in `g_x.f` | one source, so one file comes back, or the run has failed |
//! | `g` can be another prefix (AD_PREFIX) | the first letter from G on with which no name of the closure begins, so derivatives of derivatives never clash |
//! | `g_f(g_p_, x, g_x, ldg_x, …)`; with AD_SCALAR_GRADIENTS `g_f(x, g_x, …)` | scalar for one direction; the long form for several |
//! | arguments that carry no derivative have none | they get one, so that the program can rely on [`Request::paired`] |
//! | functions become subroutines | nothing to do: heads are subroutines |
//! | COMMON `/c/` has `/g_c/` beside it; who calls sets it to zero | the head does, by a subroutine that is added |
//! | locals that hold derivatives are saved | they are not: nothing reads them before they are set |
//! | names as long as the compilers of its time allowed | longer ones than are known to work are replaced, and put back |
//!
//! There is no reverse mode in ADIFOR 2.

mod input;
mod names;
mod output;
mod place;
mod zero;

use crate::external::{Job, Ran, RunError, Runner};
use farfel_ad::AdTool;
use farfel_lang::diagnostic::{Diagnostic, any_errors, rules};
use farfel_lang::ir::{AdMode, Program, Request, Unit};
use std::fmt;
use std::sync::Arc;

/// How many directions one run of vector code can have, unless AD_PMAX is among
/// [`Options::extra`]. The code itself stops with a message when it gets more.
pub const MOST_DIRECTIONS: u32 = 32;

/// Which ADIFOR it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version {
    /// 2
    pub major: u32,
    /// 0 or 1
    pub minor: u32,
}

impl Version {
    /// The version in what the tool prints, or in the name of its command: the first
    /// number of the form `2.1` on a line that names ADIFOR.
    ///
    /// ```
    /// use farfel_tools::adifor::Version;
    /// assert_eq!(Version::find("This is ADIFOR 2.0 revision D"), Some(Version { major: 2, minor: 0 }));
    /// assert_eq!(Version::find("Adifor2.1"), Some(Version { major: 2, minor: 1 }));
    /// assert_eq!(Version::find("java 17.0"), None);
    /// ```
    pub fn find(said: &str) -> Option<Version> {
        said.lines().find_map(|line| {
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

/// What the user may say about how ADIFOR is run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// More lines `KEY = value` for the script. Those that decide what the generated code
    /// looks like to its callers cannot be set.
    pub extra: Vec<String>,
    /// Procedures without text whose derivatives are taken to be zero; in any case.
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
    /// Which one.
    pub version: Version,
    /// How it is run.
    pub options: Options,
    /// Who runs it.
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
            // Which tangents can be other than zero is the same for every tool.
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
            .map_err(|faults| with_words(faults, &ran))?;
        self.runner.accept(&prepared.job, &ran);
        warnings.append(&mut found);
        Ok(units)
    }
}

/// What ADIFOR has to be run on for a request. Equal closures of the head give equal jobs.
///
/// # Errors
///
/// What ADIFOR could not differentiate, at its place in the source.
pub fn job(
    program: &Program,
    request: &Request,
    options: &Options,
) -> Result<Job, Vec<Diagnostic>> {
    input::prepare(program, request, options).map(|p| p.job)
}

/// The derivative units in what a run of [`job`] has left, fit to join the program, and
/// into `warnings` what ADIFOR had to say about it.
///
/// # Errors
///
/// Why the run is of no use: it has not made what was asked for.
pub fn read(
    program: &Program,
    request: &Request,
    options: &Options,
    ran: &Ran,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Vec<Unit>, Vec<Diagnostic>> {
    let prepared = input::prepare(program, request, options)?;
    output::read(program, request, options, &prepared, ran, warnings)
}

/// ADR needs a tool that has a reverse mode.
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

/// A run that gave nothing.
fn failed(error: &RunError, request: &Request) -> Diagnostic {
    let (message, said) = match error {
        RunError::NotStarted(why) => (format!("ADIFOR could not be started: {why}"), ""),
        RunError::TimedOut { seconds, said } => {
            let limit = format!("ADIFOR was given up after {seconds} s");
            (limit, said.as_str())
        }
        RunError::Failed { status, said } => {
            let what = telling(said).map_or_else(|| status.clone(), clean);
            (format!("ADIFOR failed: {what}"), said.as_str())
        }
        RunError::Missing { file, said } => {
            let message = format!("ADIFOR ended well, but has not written {file}");
            (message, said.as_str())
        }
    };
    let d = Diagnostic::error(&rules::AD_TOOL, request.span, message)
        .label("derivative asked for here");
    add_words(d, said)
}

/// Adds what the tool said to errors about what it wrote.
fn with_words(mut faults: Vec<Diagnostic>, ran: &Ran) -> Vec<Diagnostic> {
    if any_errors(&faults)
        && let Some(first) = faults.first_mut()
        && first.rule == &rules::AD_TOOL
        && first.help.is_none()
    {
        *first = add_words(first.clone(), &ran.said);
    }
    faults
}

/// Adds what the tool said, as far as somebody may want to read it.
fn add_words(d: Diagnostic, said: &str) -> Diagnostic {
    const MOST_LINES: usize = 12;
    let lines: Vec<String> = said.lines().map(clean).filter(|l| !l.is_empty()).collect();
    if lines.is_empty() {
        return d;
    }
    // What ended the run stands at its end.
    let from = lines.len().saturating_sub(MOST_LINES);
    let text = lines[from..].join("\n");
    d.help(format!("ADIFOR said:\n{text}"))
}

/// A line for people: no control characters, not endless.
fn clean(line: &str) -> String {
    const MOST: usize = 200;
    line.chars()
        .filter(|c| !c.is_control())
        .take(MOST)
        .collect::<String>()
        .trim_end()
        .to_owned()
}

/// The line in what the tool said that tells why it failed.
fn telling(said: &str) -> Option<&str> {
    let has = |l: &&str| {
        let l = l.to_ascii_lowercase();
        ["error", "fatal", "cannot", "abort"]
            .iter()
            .any(|w| l.contains(w))
    };
    said.lines().map(str::trim).find(has)
}
