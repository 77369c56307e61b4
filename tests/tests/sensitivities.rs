//! Derivatives of unmodified solvers from SciPy and ODEPACK, whose right-hand sides and models are in Rust.

// It reports what is not tested.
#![allow(clippy::print_stderr)]

use crate::support::Project;
use farfel_tests::corpora::{directory, obtain};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const SETTINGS: &str = "
[dependencies.num-dual]
version = '0.15.1'
default-features = false

[package.metadata.farfel]
exports = ['dlsode', 'xsetf', 'dopri5', 'setulb', 'misfit']

[package.metadata.farfel.derive]
dlsode_jvp = { jvp = 'dlsode', of = 'y(5)', by = 'y(5)' }
dlsode_vjp = { vjp = 'dlsode', of = 'y(5)', by = 'y(5)' }
dlsode_jacobian = { jacobian = 'dlsode', of = 'y(5)', by = 'y(5)' }
dopri5_jvp = { jvp = 'dopri5', of = 'y', by = ['y', 'rpar(2)'] }
dopri5_vjp = { vjp = 'dopri5', of = 'y', by = ['y', 'rpar(2)'] }
misfit_gradient = { gradient = 'misfit', by = 'p' }

# DOPRI5 says in prose what its procedures may change.
[package.metadata.farfel.signature.dopri5.closures]
fcn = ['in', 'in', 'in', 'out', 'in', 'in']
solout = ['in', 'in', 'in', 'in', 'in', 'in', 'in', 'in', 'in', 'in', 'inout']
";

/// ODEPACK has the parts of BLAS that L-BFGS-B calls.
const FOLDERS: [&str; 2] = ["assimulo/odepack", "scipy/scipy/optimize/lbfgsb_src"];

const FILES: [&str; 3] = [
    "scipy/scipy/integrate/dop/dopri5.f",
    "lapack/INSTALL/dlamch.f",
    "lapack/BLAS/SRC/lsame.f",
];

#[test]
fn solvers_and_models_are_one_program() {
    if !["assimulo", "scipy", "lapack"]
        .into_iter()
        .all(obtain::is_there)
    {
        eprintln!("NOTICE: not tested; `cargo run -p farfel-tests --bin corpora` gets the solvers");
        return;
    }
    let p = Project::new("sensitivities", "sensitivities");
    let manifest = fs::read_to_string(p.directory.join("Cargo.toml")).unwrap();
    let runtime = "farfel-runtime' }";
    assert!(manifest.contains(runtime));
    let features = "farfel-runtime', features = ['num-dual'] }";
    p.file("Cargo.toml", manifest.replace(runtime, features) + SETTINGS);
    let mut sources: Vec<PathBuf> = FILES.iter().map(|f| directory().join(f)).collect();
    for folder in FOLDERS {
        let files = fs::read_dir(directory().join(folder)).unwrap();
        let files = files.map(|e| e.unwrap().path());
        sources.extend(files.filter(|f| f.extension().is_some_and(|e| e == "f")));
    }
    for source in sources {
        let name = source.file_name().and_then(|n| n.to_str()).unwrap();
        p.file(&format!("fortran/{name}"), fs::read(&source).unwrap());
    }
    p.file(
        "fortran/misfit.f",
        include_str!("../sensitivities/misfit.f"),
    )
    .file("src/main.rs", include_str!("../sensitivities/main.rs"));
    assert_eq!(p.run(), "right\n");
    if Command::new("valgrind").arg("--version").output().is_ok() {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("target");
        let ran = Command::new("valgrind")
            .args(["-q", "--error-exitcode=9", "--leak-check=no"])
            .arg(target.join("debug/sensitivities"))
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{stderr}");
    }
}
