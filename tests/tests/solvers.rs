//! Popular solvers, from SciPy's unmodified sources: called from Rust, with closures, in crates that forbid
//! unsafe code. Their results are compared with those published by their authors.

// Ignored tests report why.
#![allow(clippy::print_stderr)]

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use farfel_tests::corpora::{directory, obtain};
use libtest_mimic::{Arguments, Failed, Trial};
use support::Project;

/// A package: its program in `tests/solvers`, and the location of its sources.
struct Case {
    name: &'static str,
    main: &'static str,
    sources: &'static [&'static str],
    settings: &'static str,
    expected: &'static str,
}

/// The routines that LAPACK's LU factorisation needs.
const LU: [&str; 24] = [
    "lapack/SRC/dgbtf2.f",
    "lapack/SRC/dgbtrf.f",
    "lapack/SRC/dgbtrs.f",
    "lapack/SRC/dgetrf.f",
    "lapack/SRC/dgetrf2.f",
    "lapack/SRC/dgetrs.f",
    "lapack/SRC/dlaswp.f",
    "lapack/SRC/ieeeck.f",
    "lapack/SRC/ilaenv.f",
    "lapack/SRC/iparmq.f",
    "lapack/BLAS/SRC/daxpy.f",
    "lapack/BLAS/SRC/dcopy.f",
    "lapack/BLAS/SRC/ddot.f",
    "lapack/BLAS/SRC/dgemm.f",
    "lapack/BLAS/SRC/dgemv.f",
    "lapack/BLAS/SRC/dger.f",
    "lapack/BLAS/SRC/dscal.f",
    "lapack/BLAS/SRC/dswap.f",
    "lapack/BLAS/SRC/dtbsv.f",
    "lapack/BLAS/SRC/dtrsm.f",
    "lapack/BLAS/SRC/idamax.f",
    "lapack/BLAS/SRC/lsame.f",
    "lapack/BLAS/SRC/xerbla.f",
    "lapack/INSTALL/dlamch.f",
];

const ODEPACK: &str = "scipy/scipy/integrate/odepack/";
const MACH: &str = "scipy/scipy/integrate/mach/";

const CASES: [Case; 7] = [
    Case {
        name: "lsoda",
        main: include_str!("../solvers/lsoda.rs"),
        sources: &[ODEPACK, "scipy/scipy/integrate/mach/d1mach.f"],
        settings: "",
        // The first twelve lines are from ODEPACK's documentation.
        expected: include_str!("../solvers/lsoda.txt"),
    },
    Case {
        name: "lsoda-instances",
        main: include_str!("../solvers/lsoda_instances.rs"),
        sources: &[ODEPACK, "scipy/scipy/integrate/mach/d1mach.f"],
        settings: "instance = \"Lsoda\"",
        expected: include_str!("../solvers/lsoda_instances.txt"),
    },
    Case {
        name: "dvode",
        main: include_str!("../solvers/dvode.rs"),
        sources: &["scipy/scipy/integrate/odepack/vode.f"],
        settings: "",
        // The output of the Fortran program in its documentation; a Cray agreed to three digits.
        expected: include_str!("../solvers/dvode.txt"),
    },
    Case {
        name: "quadpack",
        main: include_str!("../solvers/quadpack.rs"),
        sources: &["scipy/scipy/integrate/quadpack/", MACH],
        settings: "",
        // -4, pi, e - 1, and 1/8.
        expected: include_str!("../solvers/quadpack.txt"),
    },
    Case {
        name: "lbfgsb",
        main: include_str!("../solvers/lbfgsb.rs"),
        sources: &["scipy/scipy/optimize/lbfgsb_src/"],
        settings: "",
        // The first line is the output of the authors' own driver.
        expected: include_str!("../solvers/lbfgsb.txt"),
    },
    Case {
        name: "cdflib",
        main: include_str!("../solvers/cdflib.rs"),
        sources: &["scipy/scipy/special/cdflib/"],
        settings: "",
        expected: include_str!("../solvers/cdflib.txt"),
    },
    Case {
        name: "slsqp",
        main: include_str!("../solvers/slsqp.rs"),
        sources: &["scipy/scipy/optimize/slsqp/"],
        settings: "",
        expected: include_str!("../solvers/slsqp.txt"),
    },
];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let missing = ["lapack", "scipy"].iter().any(|n| !obtain::is_there(n));
    if missing {
        eprintln!(
            "NOTICE: the corpora are not there, solvers are ignored; \
             `cargo run -p farfel-tests --bin corpora` gets them"
        );
    }
    let trials = CASES
        .iter()
        .map(|case| Trial::test(case.name, || check(case)).with_ignored_flag(missing));
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

fn check(case: &Case) -> Result<(), Failed> {
    let p = Project::new(&format!("solver-{}", case.name), case.name);
    for source in case.sources.iter().chain(&LU) {
        let path = directory().join(source);
        if path.is_dir() {
            for entry in fs::read_dir(&path)? {
                let path = entry?.path();
                // DVODE and ZVODE have names in common with LSODA.
                if path.extension().is_some_and(|e| e == "f")
                    && !path.ends_with("vode.f")
                    && !path.ends_with("zvode.f")
                {
                    copy(&p, &path)?;
                }
            }
        } else {
            copy(&p, &path)?;
        }
    }
    let settings = format!("[package.metadata.farfel]\n{}\n", case.settings);
    p.append("Cargo.toml", &settings);
    p.file("src/main.rs", case.main);
    let printed = p.run();
    same("what it prints", &printed, case.expected)?;
    if Command::new("valgrind").arg("--version").output().is_ok() {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("target");
        let program = target.join("debug").join(case.name);
        let ran = Command::new("valgrind")
            .args(["-q", "--error-exitcode=9", "--leak-check=no"])
            .arg(program)
            .output()?;
        if !ran.status.success() {
            return Err(String::from_utf8_lossy(&ran.stderr).into_owned().into());
        }
    }
    Ok(())
}

fn copy(p: &Project, path: &Path) -> Result<(), Failed> {
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    p.file(&format!("fortran/{name}"), fs::read(path)?);
    Ok(())
}

fn same(what: &str, found: &str, expected: &str) -> Result<(), Failed> {
    match found == expected {
        true => Ok(()),
        false => Err(format!("{what} is\n{found}\nand should be\n{expected}").into()),
    }
}
