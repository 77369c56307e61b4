//! Shared by the tests of differentiation: from Farfel text to the output of the compiled program.

pub mod by_columns;
pub mod differences;
pub mod jacobian;

use farfel_ad::{AdTool, Builtin, differentiate_all_warning};
use farfel_lang::lower::{self, Stage, lower_with, prune_differentiated};
use farfel_lang::print::{Options, print_program};
use farfel_lang::resolve::resolve;
use farfel_lang::syntax::{Form, NoIncludes, parse};
use farfel_lang::{Diagnostic, Sources};
use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;

/// Flags for optimisation, as users would set them.
pub const FAST: &[&str] = &["-O3", "-march=native"];
/// Flags for every check that the compiler has.
pub const CHECKED: &[&str] = &[
    "-O0",
    "-fcheck=all",
    "-ffpe-trap=invalid",
    "-finit-real=snan",
    "-finit-derived",
];

/// Returns the Fortran text with all derivatives, or the errors as `CODE line:column message`.
pub fn expand(source: &str) -> Result<String, String> {
    expand_warning(source).map(|(text, _)| text)
}

/// Like [`expand`], with the warnings.
pub fn expand_warning(source: &str) -> Result<(String, String), String> {
    expand_with(source, &Builtin)
}

/// Like [`expand_warning`], with another AD tool.
pub fn expand_with(source: &str, tool: &dyn AdTool) -> Result<(String, String), String> {
    expand_exports(source, tool, None)
}

/// Like [`expand_with`], with the subprograms that code outside of the program calls.
pub fn expand_exports(
    source: &str,
    tool: &dyn AdTool,
    exports: Option<&[&str]>,
) -> Result<(String, String), String> {
    let mut sources = Sources::new();
    let file = sources.add("test.ff", source);
    let parsed = parse(&mut sources, file, Some(Form::Fixed), &mut NoIncludes);
    let fail = |diagnostics: &[Diagnostic], sources: &Sources| {
        let mut out = String::new();
        for d in diagnostics {
            let place = sources
                .get(d.span.file)
                .map(|f| f.line_column(d.span.start));
            let place = place.map_or_else(String::new, |p| format!("{}:{}", p.line, p.column));
            writeln!(out, "{} {place} {}", d.rule.code, d.message).unwrap();
        }
        out
    };
    let mut program = parsed.program;
    let mut errors = fail(&only_errors(parsed.diagnostics), &sources);
    if errors.is_empty() {
        errors = fail(&only_errors(resolve(&mut program)), &sources);
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let exports = exports.map(|l| l.iter().map(|n| (*n).into()).collect());
    let options = lower::Options {
        exports,
        ..lower::Options::default()
    };
    let lowered = lower_with(program, Stage::Stage, &options);
    errors = fail(&only_errors(lowered.diagnostics), &sources);
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut warnings = Vec::new();
    match differentiate_all_warning(tool, lowered.program, &lowered.requests, &mut warnings) {
        Ok(mut p) => {
            prune_differentiated(&mut p, &lowered.roots);
            let text = print_program(&p, &Options::default());
            Ok((text, fail(&warnings, &sources)))
        }
        Err(d) => Err(fail(&d, &sources)),
    }
}

fn only_errors(diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    diagnostics.into_iter().filter(|d| d.is_error()).collect()
}

/// Compiles Fortran text, runs it and returns its output. Panics with all available output if either fails or
/// the compiler warns.
pub fn run(fortran: &str, flags: &[&str]) -> String {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("test.f");
    std::fs::write(&source, fortran).unwrap();
    let exe = dir.path().join("test");
    let compiled = Command::new("gfortran")
        .args([
            "-std=legacy",
            "-fcray-pointer",
            "-fdollar-ok",
            "-Werror=line-truncation",
        ])
        .args(flags)
        .arg(&source)
        .arg("-o")
        .arg(&exe)
        .output()
        .expect("the tests need gfortran");
    assert!(
        compiled.status.success(),
        "{}\n{fortran}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    let ran = Command::new(&exe).output().unwrap();
    let out = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(
        ran.status.success(),
        "{}\n{out}{}\n{fortran}",
        ran.status,
        String::from_utf8_lossy(&ran.stderr)
    );
    out
}

/// The example of the paper with 20 iterations instead of a number that it reads, and with the expected
/// results in its output.
pub fn paper() -> String {
    include_str!("../../../example-project/fortran-main/paper.ff")
        .replace("      READ *, ASTAR\n", "      ASTAR = 0\n")
        .replace("      READ *, BSTAR\n", "      BSTAR = 0\n")
        .replace("      READ *, N\n", "      N = 20\n")
        .replace(
            "      PRINT *, ASTAR, BSTAR\n",
            "      PRINT *, 'A', ASTAR, 50.0\n      PRINT *, 'B', BSTAR, 50.0\n",
        )
}

/// The programs in `tests/programs`, which stop with a number if something is wrong.
pub fn programs_that_check_themselves() -> Vec<(PathBuf, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/programs");
    let entries = std::fs::read_dir(folder).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|e| e.unwrap().path()).collect();
    paths.sort();
    let text = |p: PathBuf| {
        let text = std::fs::read_to_string(&p).unwrap();
        (p, text)
    };
    paths.into_iter().map(text).collect()
}

/// Compiles with LAPACK and BLAS and runs. Returns `None`, with a notice, if these are missing and
/// `FARFEL_TEST_LAPACK` does not require them.
#[allow(clippy::print_stderr)]
pub fn run_with_lapack(fortran: &str, flags: &[&str]) -> Option<String> {
    let probe = "      CALL DGESV(0, 0, A, 1, I, B, 1, J)\n      END\n";
    let link = |text: &str, flags: &[&str]| {
        let dir = tempfile::tempdir().unwrap();
        let source = dir.path().join("test.f");
        std::fs::write(&source, text).unwrap();
        let exe = dir.path().join("test");
        let made = Command::new("gfortran")
            .args(["-std=legacy", "-ffixed-line-length-none", "-w"])
            .args(flags)
            .arg(&source)
            .args(["-llapack", "-lblas", "-o"])
            .arg(&exe)
            .output()
            .expect("the tests need gfortran");
        (dir, exe, made)
    };
    if !link(probe, &[]).2.status.success() {
        assert!(
            std::env::var_os("FARFEL_TEST_LAPACK").is_none(),
            "there is no LAPACK here"
        );
        eprintln!(
            "skipped: there is no LAPACK here (Debian's packages libblas-dev, liblapack-dev)"
        );
        return None;
    }
    let (_dir, exe, made) = link(fortran, flags);
    assert!(
        made.status.success(),
        "{}\n{fortran}",
        String::from_utf8_lossy(&made.stderr)
    );
    let ran = Command::new(&exe).output().unwrap();
    let out = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(
        ran.status.success(),
        "{}\n{out}{}",
        ran.status,
        String::from_utf8_lossy(&ran.stderr)
    );
    Some(out)
}

/// Differentiates, compiles with all checks and with optimisation, and runs. Each line that the program
/// prints is `name value expected` and must agree to `tolerance` (relative, or absolute below one).
pub fn check(source: &str, tolerance: f64) -> String {
    let fortran = expand(source).unwrap_or_else(|e| panic!("{e}\n{source}"));
    for flags in [CHECKED, FAST] {
        let out = run(&fortran, flags);
        compare(&out, tolerance, &fortran);
    }
    fortran
}

/// Compares lines `name value expected`.
pub fn compare(out: &str, tolerance: f64, fortran: &str) {
    compare_by(out, fortran, |_, v, x| {
        (v - x).abs() <= tolerance * x.abs().max(1.0)
    });
}

/// Compares lines `name value expected` by `agree(name, value, expected)`.
pub fn compare_by(out: &str, fortran: &str, agree: impl Fn(&str, f64, f64) -> bool) {
    let mut bad = String::new();
    let mut count = 0;
    for line in out.lines().filter(|l| !l.trim().is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, value, expected] = words[..] else {
            panic!("cannot read {line:?}");
        };
        let (v, x): (f64, f64) = (
            value.replace('D', "E").parse().unwrap_or(f64::NAN),
            expected.replace('D', "E").parse().unwrap_or(f64::NAN),
        );
        count += 1;
        if !agree(name, v, x) {
            writeln!(bad, "{name}: {v} but expected {x}").unwrap();
        }
    }
    assert!(bad.is_empty(), "{bad}\n{fortran}");
    assert!(count > 0, "the program printed nothing\n{fortran}");
}
