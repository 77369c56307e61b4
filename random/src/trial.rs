//! Compiles programs in several ways and checks whether the results print what the programs mean.

use crate::compiled::{self, Tolerance, compare, expand, read, run};
use crate::generated::{Case, Driver, Kind, program};
use crate::interpreter::{self, Options, Outcome, Printed};
use crate::sandbox;
use farfel_lang::syntax::NoIncludes;
use farfel_tools::dropin;
use farfel_tools::dropin::options::{Action, parse};
use std::collections::BTreeSet;
use std::fmt::Write;

/// The ways to compile a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Translation {
    /// Fortran with derivatives, by the compiler.
    Compiled,
    /// Patterns, by the compiler.
    Pattern,
    /// The program without its AD blocks, which tests lowering only.
    Lowered,
    /// Derivatives from Tapenade's command line, beside the unchanged program.
    Tapenade(Driver),
}

impl Translation {
    /// Returns all ways that apply to programs of a kind.
    pub fn all(kind: Kind) -> Vec<Translation> {
        match kind.flat {
            false => vec![Translation::Compiled, Translation::Lowered],
            true => Driver::ALL
                .into_iter()
                .map(|d| match d {
                    Driver::Blocks => Translation::Compiled,
                    Driver::Pattern => Translation::Pattern,
                    d => Translation::Tapenade(d),
                })
                .collect(),
        }
    }

    /// Returns the name for messages.
    pub fn name(self) -> String {
        match self {
            Translation::Compiled => "compiler".into(),
            Translation::Pattern => "pattern".into(),
            Translation::Lowered => "lowering".into(),
            Translation::Tapenade(d) => {
                let all = match d {
                    Driver::TangentOfAll | Driver::AdjointOfAll => " of all",
                    _ => "",
                };
                format!("tapenade {}{all}", d.options().join(" "))
            }
        }
    }
}

/// The ways to run Fortran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Execution {
    /// By the interpreter, which checks most.
    Interpreted,
    /// By gfortran without optimization, with all of its checks, and with conspicuous values in
    /// variables that were not set.
    Checked,
    /// By gfortran with all its optimizations.
    Fast,
}

impl Execution {
    /// Returns gfortran's options; none for the interpreter.
    pub fn flags(self) -> &'static [&'static str] {
        match self {
            Execution::Interpreted => &[],
            Execution::Checked => &[
                "-O0",
                "-fcheck=all",
                "-finit-integer=-99999",
                "-finit-real=snan",
            ],
            Execution::Fast => &["-O3", "-march=native"],
        }
    }
}

/// Returns a case together with the driver that calls it.
pub fn whole(case: &Case, kind: Kind, translation: Translation) -> Case {
    let driven = |driver: Driver| {
        let mut case = case.clone();
        case.units.push(driver.driver(&case, true));
        case
    };
    match translation {
        Translation::Compiled if kind.flat => driven(Driver::Blocks),
        Translation::Compiled => case.clone(),
        Translation::Pattern => driven(Driver::Pattern),
        Translation::Lowered => case.without_blocks(),
        Translation::Tapenade(driver) => driven(driver),
    }
}

/// Returns the source text of cases, which defines the expected output.
pub fn source(cases: &[&Case], kind: Kind, translation: Translation) -> String {
    let all: Vec<Case> = cases.iter().map(|c| whole(c, kind, translation)).collect();
    program(&all)
}

/// Returns the Fortran text made from cases.
///
/// # Errors
///
/// The messages of the compiler.
pub fn fortran(cases: &[&Case], kind: Kind, translation: Translation) -> Result<String, String> {
    let Translation::Tapenade(driver) = translation else {
        return read(&source(cases, kind, translation)).and_then(expand);
    };
    // One by one, so that the rejection of one case does not affect others.
    let mut all = String::new();
    let mut helpers = BTreeSet::new();
    for case in cases {
        let text = case.text();
        let derivatives = tapenade(case, driver, &text)?;
        all += &text;
        all += &without_known(&derivatives, &mut helpers);
    }
    let drivers: Vec<Case> = cases
        .iter()
        .map(|c| Case {
            name: c.name.clone(),
            units: vec![driver.driver(c, false)],
        })
        .collect();
    Ok(format!("{}{all}", program(&drivers)))
}

/// Returns a file without the support procedures of the engine that another file already contains.
fn without_known(text: &str, known: &mut BTreeSet<String>) -> String {
    let mut out = String::new();
    let mut unit = String::new();
    for line in text.lines() {
        unit.push_str(line);
        unit.push('\n');
        if line.trim() != "END" {
            continue;
        }
        let header = unit.lines().find(|l| l.starts_with("      "));
        let header = header.unwrap_or_default().to_owned();
        if !header.contains(" FARFEL_") || known.insert(header) {
            out += &unit;
        }
        unit.clear();
    }
    out + &unit
}

/// Returns the command line for a case in a file.
pub fn command(case: &Case, driver: Driver) -> Vec<String> {
    let mut line: Vec<String> = driver.options().iter().map(|o| (*o).to_owned()).collect();
    line.extend(["-fixinterface", "-noisize", "-nbdirsmax", "2", "-o", "p"].map(str::to_owned));
    line.push("-head".into());
    line.push(driver.heads(case));
    line.push("p.f".into());
    line
}

fn tapenade(case: &Case, driver: Driver, text: &str) -> Result<String, String> {
    let asked = parse(&command(case, driver)).map_err(|e| e.to_string())?;
    let Action::Differentiate(options) = asked else {
        return Err("options that ask for nothing".into());
    };
    let files = [("p.f".to_owned(), text.into())];
    let made = compiled::caught(|| Ok(dropin::run(&options, &files, &mut NoIncludes)))?;
    let mut errors = String::new();
    for d in made.diagnostics.iter().filter(|d| d.is_error()) {
        let file = made.sources.get(d.span.file);
        let line = file.map_or(0, |f| f.line_column(d.span.start).line);
        let _ = writeln!(errors, "{} line {line}: {}", d.rule.code, d.message);
    }
    // The message says that users must supply a derivative.
    let ask = made.general_messages.iter().find(|s| s.contains("(AD09)"));
    if let Some(ask) = ask {
        return Err(format!(
            "AD09: {}",
            ask.rsplit(") ").next().unwrap_or_default()
        ));
    }
    match made.files.is_empty() {
        _ if !errors.is_empty() => Err(errors),
        true => Err("no files, and no errors".into()),
        false => Ok(made.files.into_iter().map(|f| f.text).collect()),
    }
}

fn options(kind: Kind) -> Options {
    Options {
        wide: kind.real,
        steps: if kind.flat { 60_000 } else { 20_000 },
        ..Options::default()
    }
}

/// The result of running a program in the interpreter.
pub enum Verdict {
    /// The program should print this.
    Fine(Outcome),
    /// The program takes too long, or is beyond the interpreter or the language.
    Skipped(String),
    /// The program is not valid.
    Wrong(String),
}

/// Determines what a program means.
pub fn examine(case: &Case, kind: Kind, translation: Translation) -> Verdict {
    let read = match read(&source(&[case], kind, translation)) {
        Ok(read) => read,
        Err(e) => return Verdict::Wrong(format!("not read: {e}")),
    };
    let outcome = interpreter::run(&read.program, &options(kind)).map_err(|f| {
        let line = f.span.map_or(0, |s| read.line(s));
        format!("{f} (line {line})")
    });
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(e) if e.contains("not interpreted") || e.contains("too long") => {
            return Verdict::Skipped(e);
        }
        // A dummy procedure that a unit only passes on to itself: nothing shows that it is one.
        Err(e) if e.contains("is no variable") => {
            let why = e.split_once(' ').map_or("", |(_, why)| why);
            return Verdict::Skipped(format!("a name {why}"));
        }
        Err(e) => return Verdict::Wrong(e),
    };
    let number = |p: &Printed| matches!(p, Printed::Real(x, _) if !x.is_finite());
    if outcome.output.iter().flatten().any(number) {
        return Verdict::Wrong("a number that is none".into());
    }
    match compiled::shares_arguments(&read) {
        true => Verdict::Skipped("one variable under two names, F0204".into()),
        false => Verdict::Fine(outcome),
    }
}

/// Single-precision values affect all others, and derivatives of single-precision variables have
/// single precision in compiled code but double precision in the interpreter.
fn tolerance(kind: Kind) -> Tolerance {
    Tolerance {
        double: if kind.mixed { 1e-3 } else { 1e-9 },
        single: 1e-3,
    }
}

/// Checks whether a Fortran text prints what it should.
///
/// # Errors
///
/// The first difference, or the reason why the program does not run.
pub fn prints(
    fortran: &str,
    expected: &Outcome,
    kind: Kind,
    execution: Execution,
) -> Result<(), String> {
    let agrees = |printed: Result<String, String>| compare(expected, &printed?, tolerance(kind));
    if execution == Execution::Interpreted {
        return agrees(interpreted(fortran, kind));
    }
    let mut flags = execution.flags().to_vec();
    if kind.real {
        flags.extend(["-fdefault-real-8", "-fdefault-double-8"]);
    }
    // The driver compiles it so as well: gfortran 12 uses wrong elements of such sections.
    if fortran.contains(":-") {
        flags.push("-fno-tree-loop-vectorize");
    }
    let dir = sandbox();
    let first = agrees(run(fortran, &flags, "", dir.path()));
    match &first {
        // gfortran 12 does not recognize function results under SAVE.
        Err(e) if e.contains("cannot have an initializer") => {
            flags.retain(|f| !f.starts_with("-finit"));
        }
        // It loses statements when it merges calls of a function, and ASSIGN is one of them.
        Err(_) if execution == Execution::Fast && fortran.contains("ASSIGN ") => {
            flags.push("-fno-frontend-optimize");
        }
        _ => return first,
    }
    agrees(run(fortran, &flags, "", dir.path()))
}

/// Returns what the interpreter prints for a Fortran text.
fn interpreted(fortran: &str, kind: Kind) -> Result<String, String> {
    let read = read(fortran).map_err(|e| format!("Fortran is not read: {e}"))?;
    let options = Options {
        steps: 10_000_000,
        unset: true,
        // What programs in Fortran 77 do is their own responsibility.
        strict: !kind.flat,
        ..options(kind)
    };
    let outcome = interpreter::run(&read.program, &options).map_err(|f| {
        let line = f.span.map_or(0, |s| read.line(s));
        format!("{f} (line {line} of the Fortran)")
    })?;
    Ok(outcome.text())
}

/// Checks whether the compiled form of a case does what the case means.
///
/// # Errors
///
/// The difference. It is correct for the compiler to reject a case.
pub fn agrees(
    case: &Case,
    kind: Kind,
    translation: Translation,
    execution: Execution,
) -> Result<(), String> {
    let expected = match examine(case, kind, translation) {
        Verdict::Fine(expected) => expected,
        Verdict::Skipped(_) => return Ok(()),
        Verdict::Wrong(e) => return Err(format!("invalid: {e}")),
    };
    match fortran(&[case], kind, translation) {
        Ok(f) => match prints(&f, &expected, kind, execution) {
            // A bug in gfortran itself says nothing about the case.
            Err(e) if e.contains("internal compiler error") => Ok(()),
            printed => printed,
        },
        Err(e) if is_refusal(&e) => Ok(()),
        Err(e) => Err(e),
    }
}

/// Whether gfortran alone also gets the program without its blocks wrong, with all its
/// optimizations. Only plain Fortran can show that.
pub fn is_gfortrans(case: &Case, kind: Kind, translation: Translation) -> bool {
    let plain = whole(case, kind, translation).without_blocks();
    let mut text = program(&[plain]);
    if kind.flat {
        // Nothing else has a value without the blocks.
        let print = format!("      PRINT *, '{}', ", case.name);
        let lines = text.lines().map(|l| match l.strip_prefix(&print) {
            Some(_) => format!("{print}YO\n"),
            None => format!("{l}\n"),
        });
        text = lines.collect();
    }
    let Ok(read) = read(&text) else {
        return false;
    };
    let Ok(expected) = interpreter::run(&read.program, &options(kind)) else {
        return false;
    };
    let said = prints(&text, &expected, kind, Execution::Fast);
    said.is_err_and(|e| !e.starts_with("gfortran"))
}

/// Whether an error says that something is not supported. A bug in Farfel itself (F0901) is not a
/// rejection.
pub fn is_refusal(error: &str) -> bool {
    !error.starts_with("F09") && (error.starts_with("F0") || error.starts_with("AD"))
}

/// Classifies a failure, so that a reduced program is known to fail in the same way.
pub fn sort(error: &str) -> String {
    if error.starts_with("invalid: ") {
        return "invalid".into();
    }
    let words = [
        "panic",
        "gfortran:",
        "signal",
        "does not end",
        "exit status",
        "not read",
        "NaN",
        "expected",
        "also printed",
    ];
    if let Some((_, said)) = error.split_once("Error: ") {
        // Without the names in it.
        let said = said.split(['\'', '‘', '(']).next().unwrap_or_default();
        return format!("gfortran: {said}");
    }
    if error.contains("undefined reference") {
        let names = error.split("undefined reference to `").skip(1);
        let names = names.filter_map(|n| n.split('\'').next());
        let names: BTreeSet<&str> = names.collect();
        return format!("undefined reference {names:?}");
    }
    // A difference beyond rounding is a class of its own.
    if let Some((_, numbers)) = error.split_once(": expected ")
        && let Some((a, b)) = numbers.split_once(", compiled ")
        && let (Ok(a), Ok(b)) = (a.parse::<f64>(), b.trim().parse::<f64>())
        && (a - b).abs() > 1e-3 * a.abs().max(1.0)
    {
        return "other number".into();
    }
    let known = words.iter().find(|w| error.contains(**w));
    if let Some(known) = known {
        return (*known).to_owned();
    }
    // The interpreter's message, without places.
    let said = error.split(" (line").next().unwrap_or_default();
    let lower = |w: &&str| {
        !w.chars()
            .any(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
    };
    said.split(' ').filter(lower).collect::<Vec<_>>().join(" ")
}
