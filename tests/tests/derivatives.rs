//! Derivatives of unmodified real routines: special functions, splines, quadrature, linear algebra,
//! differential and differential-algebraic equations, and element routines of the corpora.
//!
//! The programs in `tests/corpora/derivatives` call each routine through a small subroutine and check its
//! derivatives with the library there. They print a line for each, and the errors.
//!
//! Adjoints of some of them by Tapenade's command line must not become longer.

// Ignored tests report why.
#![allow(clippy::print_stderr)]

use std::process::{Command, ExitCode};

use farfel_driver::{Config, Session};
use farfel_tests::corpora::routines::{PROGRAMS, are_there, drivers, files};
use farfel_tests::corpora::{directory, obtain};
use farfel_tests::sandbox;
use farfel_tests::tapenade::tapenade;
use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    if !PROGRAMS.iter().all(|(_, folders)| are_there(folders)) {
        eprintln!(
            "NOTICE: not all corpora are there, derivatives of their routines are not tested; \
             `cargo run -p farfel-tests --bin corpora` gets them"
        );
    }
    let lines = LINES.into_iter().map(|(file, most)| {
        let missing = !obtain::is_there(file.split('/').next().unwrap_or_default());
        Trial::test(format!("lines of {file}"), move || lines(file, most))
            .with_ignored_flag(missing)
    });
    let trials = PROGRAMS
        .into_iter()
        .map(|(name, folders)| {
            let missing = !are_there(folders);
            Trial::test(name, || check(name, folders)).with_ignored_flag(missing)
        })
        .chain(lines)
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn check(name: &str, folders: &[&str]) -> Result<(), Failed> {
    let text = std::fs::read_to_string(drivers().join(format!("{name}.ff")))?;
    let files = files(name, folders, &drivers().join("library.ff"))?;
    let mut config = Config {
        flags: vec!["-O0".into()],
        ..Config::default()
    };
    // Results of earlier test runs must not be used.
    config.cache.enabled = false;
    let dir = sandbox();
    let program = dir.path().join(name);
    Session::of_files(&files, &config)
        .and_then(|s| s.build_program(&program))
        .map_err(|e| e.to_string())?;
    let ran = Command::new(&program).output()?;
    let printed = String::from_utf8_lossy(&ran.stdout);
    let said = String::from_utf8_lossy(&ran.stderr);
    let calls = ["CALL VECTOR(", "CALL SCALAR(", "CALL VECFWD("];
    let wanted: usize = calls.iter().map(|c| text.matches(c).count()).sum();
    // A line of three numbers for each routine, and nothing else.
    let right = |line: &str| {
        let words = line.split_whitespace().rev().take(3);
        let numbers = |w: &str| w == "forward" || w.parse::<f64>().is_ok();
        words.filter(|w| numbers(w)).count() == 3
    };
    let rows = printed.lines().filter(|l| right(l)).count();
    match ran.status.success() && rows == wanted && printed.lines().count() == wanted {
        true => Ok(()),
        false => Err(format!("{wanted} routines, {}\n{printed}{said}", ran.status).into()),
    }
}

/// Files with one subprogram, and how many lines its adjoint may have, without comments and empty lines: with
/// tapes that grow and that do not, for numbers, whole arrays and branches, without a tape, and with sums that
/// are added in lanes.
const LINES: [(&str, usize); 8] = [
    ("lapack/BLAS/SRC/dgbmv.f", 266),
    ("lapack/BLAS/SRC/dtrsm.f", 825),
    ("lapack/SRC/dpttrf.f", 266),
    ("calculix/shape8q.f", 388),
    ("calculix/hcrit.f", 223),
    ("scipy/scipy/interpolate/fitpack/insert.f", 152),
    ("scipy/scipy/interpolate/fitpack/splder.f", 413),
    ("scipy/scipy/optimize/minpack/qrfac.f", 373),
];

fn lines(file: &str, most: usize) -> Result<(), Failed> {
    let dir = sandbox();
    let path = directory().join(file);
    let head = path.file_stem().and_then(|s| s.to_str());
    let head = head.unwrap_or_default();
    let source = path.to_string_lossy();
    tapenade(dir.path(), &["-b", "-head", head, "-o", "out", &source]).success();
    let text = std::fs::read(dir.path().join("out_b.f"))?;
    let text = String::from_utf8_lossy(&text);
    let code = |l: &&str| !l.trim().is_empty() && !l.starts_with(['C', 'c', '*', '!']);
    let count = text.lines().filter(code).count();
    match count <= most {
        true => Ok(()),
        false => Err(format!("{count} lines, more than {most}").into()),
    }
}
