//! Programs with the run-time support of adjoints.

use farfel_tools::tapenade::SUPPORT;
use std::path::Path;
use std::process::Command;

/// Compiles our own support library into `dir`.
pub fn library(dir: &Path) -> std::path::PathBuf {
    let source = dir.join("adstack.c");
    std::fs::write(&source, SUPPORT).unwrap();
    let object = dir.join("adstack.o");
    let compiled = Command::new("gcc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", "-c"])
        .arg(&source)
        .arg("-o")
        .arg(&object)
        .output()
        .expect("the tests need gcc");
    assert!(
        compiled.status.success(),
        "{}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    object
}

/// Compiles Fortran text, links it with our support library and runs it. Returns its output.
pub fn run(fortran: &str, flags: &[&str]) -> String {
    let dir = tempfile::tempdir().unwrap();
    run_with(fortran, flags, &library(dir.path()))
}

/// Like [`run`], with another support library.
pub fn run_with(fortran: &str, flags: &[&str], library: &Path) -> String {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("test.f");
    std::fs::write(&source, fortran).unwrap();
    let exe = dir.path().join("test");
    let compiled = Command::new("gfortran")
        .args(["-std=legacy", "-w", "-Werror=line-truncation"])
        .args(flags)
        .arg(&source)
        .arg(library)
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
