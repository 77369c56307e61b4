//! Runs the whole compiler in this process with the built-in engine, from Farfel text to the output
//! of the compiled program.

use crate::interpreter::{Outcome, Printed};
use farfel_ad::{Bounded, differentiate_all};
use farfel_lang::diagnostic::rules;
use farfel_lang::ir::Program;
use farfel_lang::lower::{Stage, lower};
use farfel_lang::print::{Options, print_program};
use farfel_lang::resolve::resolve;
use farfel_lang::syntax::{NoIncludes, parse};
use farfel_lang::{Diagnostic, Sources, Span};
use std::fmt::Write;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// The maximum running time and output size of a program, far more than programs here need.
const LONGEST: Duration = Duration::from_secs(60);
const MOST: u64 = 64 << 20;

/// A parsed program with its text.
pub struct ParsedProgram {
    /// The resolved program.
    pub program: Program,
    sources: Sources,
}

impl ParsedProgram {
    /// Returns the line of a place, counted from 1.
    pub fn line(&self, span: Span) -> u32 {
        let file = self.sources.get(span.file);
        file.map_or(0, |f| f.line_column(span.start).line as u32)
    }
}

/// Parses text and resolves its names.
///
/// # Errors
///
/// The errors, one per line.
pub fn read(text: &str) -> Result<ParsedProgram, String> {
    let mut sources = Sources::new();
    let file = sources.add("test.ff", text);
    let parsed = parse(&mut sources, file, None, &mut NoIncludes);
    let mut program = parsed.program;
    errors(&parsed.diagnostics, &sources)?;
    errors(&resolve(&mut program), &sources)?;
    Ok(ParsedProgram { program, sources })
}

/// Whether the compiler warns that a subprogram may treat one variable as two (F0204). The compiled
/// program then need not do what the source means.
pub fn shares_arguments(read: &ParsedProgram) -> bool {
    let program = read.program.clone();
    // Compiling the program reports the panics that are caught here.
    let lowered = caught(|| Ok(lower(program, Stage::Stage).diagnostics));
    let mut said = lowered.iter().flatten();
    said.any(|d| d.rule.code == rules::SHARED_ARGUMENT.code)
}

/// Returns the Fortran text with all derivatives.
///
/// # Errors
///
/// The errors, one per line.
pub fn expand(read: ParsedProgram) -> Result<String, String> {
    caught(|| expand_here(read))
}

/// Runs `f` and returns a panic as an error. In debug builds, a pass that breaks an invariant
/// panics.
pub fn caught<T>(f: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let unwinding = std::panic::AssertUnwindSafe(f);
    std::panic::catch_unwind(unwinding).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
        Err(format!("panic: {}", text.unwrap_or_default()))
    })
}

fn expand_here(read: ParsedProgram) -> Result<String, String> {
    let lowered = lower(read.program, Stage::Stage);
    errors(&lowered.diagnostics, &read.sources)?;
    // Steps are bounded, and so is the size of tapes; adjoints of adjoints may set a whole tape to
    // zero.
    let tool = Bounded { tape: 4 << 20 };
    match differentiate_all(&tool, lowered.program, &lowered.requests) {
        Ok(p) => Ok(print_program(&p, &Options::default())),
        Err(d) => Err(errors(&d, &read.sources).err().unwrap_or_default()),
    }
}

fn errors(diagnostics: &[Diagnostic], sources: &Sources) -> Result<(), String> {
    let mut out = String::new();
    for d in diagnostics.iter().filter(|d| d.is_error()) {
        let file = sources.get(d.span.file);
        let line = file.map_or(0, |f| f.line_column(d.span.start).line);
        let _ = writeln!(out, "{} line {line}: {}", d.rule.code, d.message);
    }
    match out.is_empty() {
        true => Ok(()),
        false => Err(out),
    }
}

/// Compiles Fortran text, runs it, and returns its output.
///
/// # Errors
///
/// The messages of the compiler or the program, if it failed.
pub fn run(fortran: &str, flags: &[&str], input: &str, dir: &Path) -> Result<String, String> {
    let (source, program) = (dir.join("program.f"), dir.join("program"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    std::fs::write(&source, fortran).map_err(|e| e.to_string())?;
    std::fs::write(dir.join("input"), input).map_err(|e| e.to_string())?;
    let compiled = Command::new("gfortran")
        .args(["-std=legacy", "-w", "-Werror=line-truncation"])
        .args(flags)
        .arg(&source)
        .arg("-o")
        .arg(&program)
        .output()
        .map_err(|e| format!("gfortran: {e}"))?;
    if !compiled.status.success() {
        return Err(format!("gfortran: {}", text(&compiled.stderr)));
    }
    let output = |name: &str| std::fs::File::create(dir.join(name)).map_err(|e| e.to_string());
    let printed = |name: &str| std::fs::read(dir.join(name)).unwrap_or_default();
    let mut child = loop {
        let input = std::fs::File::open(dir.join("input")).map_err(|e| e.to_string())?;
        let mut command = Command::new(&program);
        command.stdin(input);
        command.stdout(output("output")?).stderr(output("said")?);
        match command.spawn() {
            // A process that another test is just starting may have the file open for a moment.
            Err(e) if e.kind() == std::io::ErrorKind::ExecutableFileBusy => {}
            child => break child.map_err(|e| e.to_string())?,
        }
    };
    let Some(status) = ended(&mut child, &dir.join("output")).map_err(|e| e.to_string())? else {
        return Err("it does not end".into());
    };
    let out = text(&printed("output"));
    match status.success() {
        true => Ok(out),
        false => Err(format!("{status}: {}\n{out}", text(&printed("said")))),
    }
}

/// Waits for a program, with a limit on its time and its output. Returns its exit status if it
/// ended.
fn ended(child: &mut Child, output: &Path) -> std::io::Result<Option<ExitStatus>> {
    let begin = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        let printed = std::fs::metadata(output).map_or(0, |m| m.len());
        if begin.elapsed() > LONGEST || printed > MOST {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(pause);
        pause = (2 * pause).min(Duration::from_millis(20));
    }
}

/// The tolerances for numbers, relative to their size or, below one, absolute.
#[derive(Debug, Clone, Copy)]
pub struct Tolerance {
    /// For DOUBLE PRECISION.
    pub double: f64,
    /// For REAL.
    pub single: f64,
}

/// Compares the output of the interpreter with that of the compiled program, record by record.
///
/// # Errors
///
/// The first difference.
pub fn compare(outcome: &Outcome, printed: &str, tolerance: Tolerance) -> Result<(), String> {
    let blanks = |c: char| c.is_whitespace() || "(),".contains(c);
    let mut words = printed.split(blanks).filter(|w| !w.is_empty());
    for (number, record) in outcome.output.iter().enumerate() {
        for item in record {
            let differs = |expected: &dyn std::fmt::Debug, found: &str| {
                let record = number + 1;
                Err(format!(
                    "record {record}: expected {expected:?}, compiled {found}"
                ))
            };
            match item {
                Printed::Text(text) => {
                    for expected in text.split(blanks).filter(|w| !w.is_empty()) {
                        match words.next() {
                            Some(found) if found == expected => {}
                            found => return differs(&text, found.unwrap_or("nothing")),
                        }
                    }
                }
                Printed::Real(x, single) => {
                    let found = words.next().unwrap_or("nothing");
                    let value: f64 = found.replace('D', "E").parse().unwrap_or(f64::NAN);
                    let within = if *single {
                        tolerance.single
                    } else {
                        tolerance.double
                    };
                    let close = (value - x).abs() <= within * x.abs().max(1.0);
                    if !(close || value == *x || value.is_nan() && x.is_nan() && found != "nothing")
                    {
                        return differs(x, found);
                    }
                }
            }
        }
    }
    match words.next() {
        None => Ok(()),
        Some(word) => Err(format!("compiled also printed {word}")),
    }
}
