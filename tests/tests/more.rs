//! The test problems of Moré, Garbow and Hillstrom: derivatives of both modes, compared with formulas derived
//! by hand. The programs in `tests/more` check themselves; they stop with a number if an error is above
//! 1e-12, relative to the size of the terms.

use std::path::PathBuf;
use std::process::Command;

use farfel_driver::{Config, Session};
use farfel_tests::{repository, sandbox};

/// Builds a program from files in `tests/more` and returns the lines that it prints for its problems.
fn problems(files: &[&str]) -> Vec<String> {
    let folder = repository().join("tests/more");
    let files: Vec<PathBuf> = files.iter().map(|f| folder.join(f)).collect();
    let dir = sandbox();
    let mut config = Config {
        root: folder,
        flags: vec!["-O1".into(), "-fcheck=all".into()],
        ..Config::default()
    };
    // Results of earlier test runs must not be used.
    config.cache.enabled = false;
    let program = dir.path().join("program");
    Session::of_files(&files, &config)
        .and_then(|s| s.build_program(&program))
        .unwrap_or_else(|e| panic!("{e}"));
    let ran = Command::new(&program).output().unwrap();
    let printed = String::from_utf8_lossy(&ran.stdout).into_owned();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{printed}{said}");
    printed.lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn unconstrained_minimisation() {
    let lines = problems(&[
        "unconstrained.ff",
        "library.ff",
        "functions1.ff",
        "functions2.ff",
    ]);
    // Eighteen problems, two points each.
    assert_eq!(lines.len(), 36, "{lines:#?}");
}

#[test]
fn nonlinear_equations() {
    let lines = problems(&["equations.ff", "library.ff", "systems.ff", "functions1.ff"]);
    assert_eq!(lines.len(), 28, "{lines:#?}");
}
