//! The only way in which tests run the compiler.

pub mod any_text;

use farfel_lang::ir::Program;
use farfel_lang::lower::{Lowered, Stage, lower};
use farfel_lang::{Sources, print, resolve::resolve, syntax};
use std::process::Command;

/// Parses, resolves and lowers a program that must be correct.
pub fn lowered(source: &str, stage: Stage) -> Lowered {
    let (sources, program) = read(source);
    let lowered = lower(program, stage);
    assert!(
        lowered.diagnostics.is_empty(),
        "{}",
        shown(&sources, &lowered.diagnostics)
    );
    lowered
}

/// Parses and resolves a program that must be correct so far.
pub fn resolved(source: &str) -> Program {
    read(source).1
}

fn read(source: &str) -> (Sources, Program) {
    let mut sources = Sources::new();
    let file = sources.add("test.ff", source);
    let mut parsed = syntax::parse(&mut sources, file, None, &mut syntax::NoIncludes);
    assert!(
        parsed.diagnostics.is_empty(),
        "{}",
        shown(&sources, &parsed.diagnostics)
    );
    let found = resolve(&mut parsed.program);
    assert!(found.is_empty(), "{}", shown(&sources, &found));
    (sources, parsed.program)
}

/// Parses, resolves and lowers a program; `None` if it has errors.
pub fn try_lowered(source: &str, stage: Stage) -> Option<Lowered> {
    use farfel_lang::diagnostic::any_errors;
    let mut sources = Sources::new();
    let file = sources.add("test.ff", source);
    let mut parsed = syntax::parse(&mut sources, file, None, &mut syntax::NoIncludes);
    let found = resolve(&mut parsed.program);
    if any_errors(&parsed.diagnostics) || any_errors(&found) {
        return None;
    }
    let lowered = lower(parsed.program, stage);
    (!any_errors(&lowered.diagnostics)).then_some(lowered)
}

/// Returns the text of a program after a stage.
pub fn printed(source: &str, stage: Stage) -> String {
    print::print_program(&lowered(source, stage).program, &print::Options::default())
}

/// Returns the diagnostics for a program, one per line: `line:column code message`; for a warning,
/// that word precedes the code.
pub fn errors(source: &str) -> String {
    let mut sources = Sources::new();
    let file = sources.add("test.ff", source);
    let mut parsed = syntax::parse(&mut sources, file, None, &mut syntax::NoIncludes);
    let mut found = parsed.diagnostics;
    let more = match farfel_lang::diagnostic::any_errors(&found) {
        true => farfel_lang::resolve::resolve_readable(
            &mut parsed.program,
            &found,
            &farfel_lang::lints::Lints::default(),
        ),
        false => resolve(&mut parsed.program),
    };
    found.extend(more);
    if !farfel_lang::diagnostic::any_errors(&found) {
        found.extend(lower(parsed.program, Stage::Stage).diagnostics);
    }
    shown(&sources, &found)
}

fn shown(sources: &Sources, diagnostics: &[farfel_lang::Diagnostic]) -> String {
    let lines = diagnostics.iter().map(|d| {
        let place = sources
            .get(d.span.file)
            .map(|f| f.line_column(d.span.start));
        let place = place.map_or_else(|| "-".into(), |p| format!("{}:{}", p.line, p.column));
        let help = d
            .help
            .as_ref()
            .map_or_else(String::new, |h| format!(" | {h}"));
        let kind = if d.is_error() { "" } else { "warning " };
        format!("{place} {kind}{} {}{help}", d.rule.code, d.message)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Compiles Fortran with gfortran, runs it, and returns its standard output.
pub fn run(fortran: &str) -> Result<String, String> {
    let dir = tempfile::tempdir().map_err(|e| e.to_string())?;
    let (source, program) = (dir.path().join("p.f"), dir.path().join("p"));
    std::fs::write(&source, fortran).map_err(|e| e.to_string())?;
    let compiled = Command::new("gfortran")
        .args(["-std=legacy", "-w", "-fcheck=all", "-o"])
        .args([&program, &source])
        .output()
        .map_err(|e| format!("gfortran does not start: {e}"))?;
    if !compiled.status.success() {
        return Err(String::from_utf8_lossy(&compiled.stderr).into_owned());
    }
    let ran = Command::new(&program).output().map_err(|e| e.to_string())?;
    if !ran.status.success() {
        return Err(String::from_utf8_lossy(&ran.stderr).into_owned());
    }
    Ok(String::from_utf8_lossy(&ran.stdout).into_owned())
}
