//! Popular solvers, from unmodified sources in SciPy and other packages: called from Rust, with closures, in
//! crates that forbid unsafe code. Their results are compared with those published by their authors.

// Ignored tests report why.
#![allow(clippy::print_stderr)]

#[allow(dead_code)] // it uses some of it
mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use farfel_tests::corpora::{directory, obtain};
use libtest_mimic::{Arguments, Failed, Trial};
use support::Project;

/// A package: its program in `tests/solvers`, and the location of its sources.
struct Case {
    name: &'static str,
    main: &'static str,
    sources: &'static [&'static str],
    /// Whether it calls LAPACK and BLAS; otherwise it has its own.
    lapack: bool,
    settings: &'static str,
    /// The functions for which one takes it: their signatures are kept as snapshots.
    functions: &'static [&'static str],
    /// Whether it uses variables without a value, which valgrind is not to report.
    undefined: bool,
    expected: &'static str,
}

/// LAPACK's solution of linear equations, and what it needs.
const LU: [&str; 25] = [
    "lapack/SRC/dgbtf2.f",
    "lapack/SRC/dgbtrf.f",
    "lapack/SRC/dgbtrs.f",
    "lapack/SRC/dgetrf.f",
    "lapack/SRC/dgetrf2.f",
    "lapack/SRC/dgetrs.f",
    "lapack/SRC/dgtsv.f",
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

/// Closures that may change everything, as the tests of incorrect ones do; according to the comments of LSODA
/// they only read most of it.
const LSODA: &str = "[package.metadata.farfel.signature.lsoda.closures]
f = ['inout', 'inout', 'inout', 'out']
jac = ['inout', 'inout', 'inout', 'in', 'in', 'out', 'inout']";

/// What comments do not say in a way that farfel understands: which values of INFO are good enough, and, "if the
/// numerical solution is altered in SOLOUT", what else is not.
const PACKAGES: &str = r#"
[package.metadata.farfel.signature]
hybrd1 = { errors = { info = "/= 1" } }
lmder1 = { errors = { info = ["< 1", "> 3"] } }
lmdif1 = { errors = { info = ["< 1", "> 3"] } }

[package.metadata.farfel.signature.dop853.closures]
solout = ["in", "in", "in", "inout", "in", "in", "in", "in", "inout", "inout", "inout"]

[package.metadata.farfel.signature.dopri5.closures]
solout = ["in", "in", "in", "inout", "in", "in", "in", "in", "inout", "inout", "inout"]
"#;

const CASES: [Case; 10] = [
    Case {
        name: "lsoda",
        main: include_str!("../solvers/lsoda.rs"),
        sources: &[ODEPACK, "scipy/scipy/integrate/mach/d1mach.f"],
        lapack: true,
        settings: LSODA,
        functions: &[],
        undefined: false,
        // The first twelve lines are from ODEPACK's documentation.
        expected: include_str!("../solvers/lsoda.txt"),
    },
    Case {
        name: "lsoda-instances",
        main: include_str!("../solvers/lsoda_instances.rs"),
        sources: &[ODEPACK, "scipy/scipy/integrate/mach/d1mach.f"],
        lapack: true,
        settings: "instance = \"Lsoda\"",
        functions: &[],
        undefined: false,
        expected: include_str!("../solvers/lsoda_instances.txt"),
    },
    Case {
        name: "dvode",
        main: include_str!("../solvers/dvode.rs"),
        sources: &["scipy/scipy/integrate/odepack/vode.f"],
        lapack: true,
        settings: "",
        functions: &["dvode"],
        undefined: false,
        // The output of the Fortran program in its documentation; a Cray agreed to three digits.
        expected: include_str!("../solvers/dvode.txt"),
    },
    Case {
        name: "quadpack",
        main: include_str!("../solvers/quadpack.rs"),
        sources: &["scipy/scipy/integrate/quadpack/", MACH],
        lapack: true,
        settings: "",
        functions: &[
            "dqng", "dqag", "dqags", "dqagi", "dqagp", "dqawo", "dqawf", "dqaws", "dqawc",
        ],
        undefined: false,
        // -4, pi, e - 1, and 1/8.
        expected: include_str!("../solvers/quadpack.txt"),
    },
    Case {
        name: "lbfgsb",
        main: include_str!("../solvers/lbfgsb.rs"),
        sources: &["scipy/scipy/optimize/lbfgsb_src/"],
        lapack: true,
        settings: "",
        functions: &["setulb"],
        undefined: false,
        // The first line is the output of the authors' own driver.
        expected: include_str!("../solvers/lbfgsb.txt"),
    },
    Case {
        name: "cdflib",
        main: include_str!("../solvers/cdflib.rs"),
        sources: &["scipy/scipy/special/cdflib/"],
        lapack: true,
        settings: "",
        functions: &[],
        undefined: false,
        expected: include_str!("../solvers/cdflib.txt"),
    },
    Case {
        name: "slsqp",
        main: include_str!("../solvers/slsqp.rs"),
        sources: &["scipy/scipy/optimize/slsqp/"],
        lapack: true,
        settings: "",
        functions: &["slsqp"],
        undefined: false,
        expected: include_str!("../solvers/slsqp.txt"),
    },
    Case {
        name: "odepack",
        main: include_str!("../solvers/odepack.rs"),
        sources: &["assimulo/odepack/"],
        lapack: false,
        settings: "",
        functions: &[
            "dlsode", "dlsodes", "dlsoda", "dlsodar", "dlsodpk", "dlsodkr", "dlsodi", "dlsoibt",
            "dlsodis", "dintdy", "dsrcom",
        ],
        // DLSODPK passes IER to JAC without a value.
        undefined: true,
        // From its documentation.
        expected: include_str!("../solvers/odepack.txt"),
    },
    Case {
        name: "packages",
        main: include_str!("../solvers/packages.rs"),
        sources: &[
            "scipy/scipy/optimize/minpack/",
            "scipy/scipy/interpolate/fitpack/",
            "scipy/scipy/special/amos/",
            "scipy/scipy/integrate/dop/",
            "octave/dassl/",
            // It has the error messages and the machine constants of SLATEC.
            "calculix/ddeabm.f",
        ],
        lapack: true,
        settings: PACKAGES,
        functions: &[
            "hybrd", "hybrd1", "hybrj", "hybrj1", "lmder", "lmder1", "lmdif", "lmdif1", "lmstr1",
            "chkder", "curfit", "percur", "parcur", "surfit", "regrid", "splev", "splder",
            "splint", "sproot", "bispev", "zbesj", "zbesy", "zbesi", "zbesk", "zbesh", "zairy",
            "zbiry", "dop853", "contd8", "dopri5", "contd5", "ddassl",
        ],
        undefined: false,
        // From the publications that the program names.
        expected: include_str!("../solvers/packages.txt"),
    },
    Case {
        name: "nleq2",
        main: include_str!("../solvers/nleq2.rs"),
        sources: &["pysces/"],
        lapack: false,
        settings: "",
        functions: &["nleq2"],
        // DECCON compares T, which it sets for some ranks only.
        undefined: true,
        // The zeros in the publication that the program names.
        expected: include_str!("../solvers/nleq2.txt"),
    },
];

/// NLEQ1, which has the same interface as NLEQ2, but no package distributes it; its authors' page is
/// <http://www.zib.de/en/numerik/software/ant/nleq1.html>. `FARFEL_NLEQ1` names a folder with its files, including those
/// for linear equations, but no main program. Without it, this is not tested.
const NLEQ1: Case = Case {
    name: "nleq1",
    main: include_str!("../solvers/nleq1.rs"),
    sources: &[],
    lapack: false,
    settings: "",
    functions: &["nleq1"],
    undefined: false,
    // The zeros of a Chebyshev polynomial.
    expected: include_str!("../solvers/nleq1.txt"),
};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let missing = |case: &Case| {
        let folders = case.sources.iter().filter_map(|s| s.split('/').next());
        let mut folders = folders.chain(["lapack"]);
        folders.any(|n| !obtain::is_there(n))
    };
    if CASES.iter().any(missing) {
        eprintln!(
            "NOTICE: not all corpora are there, some solvers are ignored; \
             `cargo run -p farfel-tests --bin corpora` gets them"
        );
    }
    let trials = CASES
        .iter()
        .map(|case| Trial::test(case.name, || check(case, None)).with_ignored_flag(missing(case)));
    let nleq1 = std::env::var_os("FARFEL_NLEQ1").map(PathBuf::from);
    if nleq1.is_none() {
        eprintln!("ignored: FARFEL_NLEQ1 does not name the folder with the source of NLEQ1");
    }
    let ignored = nleq1.is_none();
    let nleq1 = move || check(&NLEQ1, nleq1.as_deref());
    let trials = trials.chain([Trial::test(NLEQ1.name, nleq1).with_ignored_flag(ignored)]);
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

/// `folder` has Fortran files that are not among the corpora.
fn check(case: &Case, folder: Option<&Path>) -> Result<(), Failed> {
    let p = Project::new(&format!("solver-{}", case.name), case.name);
    let lu: &[&str] = if case.lapack { &LU } else { &[] };
    for source in case.sources.iter().chain(lu) {
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
    if let Some(folder) = folder {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|e| e == "f") {
                copy(&p, &path)?;
            }
        }
    }
    let settings = format!("[package.metadata.farfel]\n{}\n", case.settings);
    p.append("Cargo.toml", &settings);
    p.file("src/main.rs", case.main);
    let printed = p.run();
    same("what it prints", &printed, case.expected)?;
    if !case.functions.is_empty() {
        insta::assert_snapshot!(case.name, signatures(&p.bindings(), case.functions));
    }
    if Command::new("valgrind").arg("--version").output().is_ok() {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("target");
        let program = target.join("debug").join(case.name);
        let ran = Command::new("valgrind")
            .args(["-q", "--error-exitcode=9", "--leak-check=no"])
            .args(case.undefined.then_some("--undef-value-errors=no"))
            .arg(program)
            .output()?;
        if !ran.status.success() {
            return Err(String::from_utf8_lossy(&ran.stderr).into_owned().into());
        }
    }
    Ok(())
}

/// Returns the signatures of functions as rustdoc shows them, without their documentation.
fn signatures(bindings: &str, functions: &[&str]) -> String {
    let short = bindings
        .split_once("\npub mod raw {")
        .map_or(bindings, |(short, _)| short);
    let mut text = String::new();
    for name in functions {
        let head = format!("fn {name}(");
        let line = short.lines().find(|l| l.contains(&head));
        let Some(line) = line else {
            text += &format!("{name} is missing\n\n");
            continue;
        };
        let line = line.trim_end_matches(" {");
        let mut line = line.to_owned();
        for path in ["farfel_runtime", "core::result", "std::vec", "std::string"] {
            line = line.replace(&format!("::{path}::"), "");
        }
        let (mut depth, mut angles) = (0, 0);
        let mut last = ' ';
        for c in line.chars() {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                '<' => angles += 1,
                '>' if last != '-' => angles -= 1,
                _ => {}
            }
            last = c;
            match c {
                '(' if depth == 1 => text += "(\n    ",
                ')' if depth == 0 && text.ends_with("(\n    ") => {
                    text.truncate(text.len() - "\n    ".len());
                    text.push(')');
                }
                ')' if depth == 0 => text += ",\n)",
                ',' if depth == 1 && angles == 0 => text += ",\n   ",
                _ => text.push(c),
            }
        }
        text += "\n\n";
    }
    text
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
