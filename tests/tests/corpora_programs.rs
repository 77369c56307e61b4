//! Programs from real Fortran: their printed form computes the same as the original.
//!
//! LAPACK's and BLAS's own tests, with their own input, and a small driver for each of the other packages.
//! Without `FARFEL_CORPORA_ALL=1`, only one program of each kind is tested. With it, files that are known to
//! compile to the same code (from `tests/corpora.rs`) are not compiled again, and a program of only such
//! files is not run again: all of LAPACK's would take hours.

// Ignored tests report why.
#![allow(clippy::print_stderr)]

use std::path::PathBuf;
use std::process::ExitCode;

use farfel_lang::syntax::Form;
use farfel_tests::corpora::build::{Program, Variant};
use farfel_tests::corpora::{directory, long_run, obtain};
use farfel_tests::repository;
use libtest_mimic::{Arguments, Failed, Trial};

/// The folders that LAPACK's tests need besides their own. Its clocks are replaced by ones that stand still,
/// so that two runs print the same.
const LAPACK: [&str; 12] = [
    "lapack/TESTING/MATGEN/",
    "lapack/SRC/",
    "lapack/BLAS/SRC/",
    "lapack/INSTALL/LAPACK_version.f",
    "lapack/INSTALL/dlamch.f",
    "lapack/INSTALL/droundup_lwork.f",
    "lapack/INSTALL/dsecnd_NONE.f",
    "lapack/INSTALL/ilaver.f",
    "lapack/INSTALL/lsame.f",
    "lapack/INSTALL/second_NONE.f",
    "lapack/INSTALL/slamch.f",
    "lapack/INSTALL/sroundup_lwork.f",
];

/// Input files for the tests of eigenvalue problems, for all types and for one.
const EIG: [&str; 9] = [
    "nep", "sep", "se2", "svd", "glm", "gqr", "gsv", "csd", "lse",
];
const EIG_OF_TYPE: [&str; 11] = [
    "ec", "ed", "gg", "gd", "sb", "sg", "bal", "bak", "gbal", "gbak", "bb",
];

/// Input on which LAPACK's own original crashes: `csyl01.f` and `zsyl01.f` have an array `D` of MIN(MAXM,
/// MAXN) elements and set MAXN of them (in 3.11; `ssyl01.f` has MAX).
const CRASHES: [&str; 2] = ["cec", "zec"];

/// The drivers in `tests/corpora/drivers`, with the packages that they call.
const DRIVERS: [(&str, &[&str]); 8] = [
    ("minpack", &["scipy/scipy/optimize/minpack/"]),
    (
        "quadpack",
        &[
            "scipy/scipy/integrate/quadpack/",
            "scipy/scipy/integrate/mach/",
        ],
    ),
    ("fitpack", &["scipy/scipy/interpolate/fitpack/"]),
    (
        "odepack",
        &[
            "scipy/scipy/integrate/odepack/",
            "scipy/scipy/integrate/mach/",
            "lapack/SRC/",
            "lapack/BLAS/SRC/",
            "lapack/INSTALL/dlamch.f",
            "lapack/INSTALL/lsame.f",
        ],
    ),
    (
        "lbfgsb",
        &[
            "scipy/scipy/optimize/lbfgsb_src/",
            "lapack/BLAS/SRC/",
            "lapack/INSTALL/dlamch.f",
            "lapack/INSTALL/lsame.f",
        ],
    ),
    (
        "amos",
        &["scipy/scipy/special/amos/", "scipy/scipy/special/mach/"],
    ),
    ("specfun", &["scipy/scipy/special/specfun/"]),
    (
        "arpack",
        &[
            "lapack/INSTALL/second_NONE.f",
            "scipy/scipy/sparse/linalg/_eigen/arpack/ARPACK/",
            "lapack/SRC/",
            "lapack/BLAS/SRC/",
            "lapack/INSTALL/dlamch.f",
            "lapack/INSTALL/lsame.f",
            "lapack/INSTALL/slamch.f",
        ],
    ),
];

/// A program, its input files (or none), the forms in which to print it, and a text in its output if it
/// succeeds.
struct Case {
    name: String,
    program: Program,
    inputs: Vec<Option<PathBuf>>,
    forms: &'static [Form],
    expected: &'static str,
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let missing = ["lapack", "scipy"].iter().any(|n| !obtain::is_there(n));
    if missing {
        eprintln!(
            "NOTICE: the corpora are not there, their programs are ignored; \
             `cargo run -p farfel-tests --bin corpora` gets them"
        );
    }
    let trials = cases()
        .into_iter()
        .map(|case| {
            let name = case.name.clone();
            Trial::test(name, move || check(&case)).with_ignored_flag(missing)
        })
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for letter in ["s", "d", "c", "z"] {
        for level in 1..=3 {
            let main = format!("lapack/BLAS/TESTING/{letter}blat{level}.f");
            let input = directory().join(main.replace(".f", ".in"));
            cases.push(Case {
                name: format!("blas::{letter}blat{level}"),
                program: Program {
                    main,
                    folders: vec!["lapack/BLAS/SRC/".into()],
                },
                inputs: vec![(level > 1).then_some(input)],
                forms: &[Form::Fixed, Form::Free],
                // "CALLS FAILED" has no such word.
                expected: "PASS",
            });
        }
    }
    for letter in ["s", "d", "c", "z"] {
        if letter == "d" || long_run() {
            let input = format!("{letter}test_rfp");
            cases.push(lapack("LIN", &format!("{letter}chkrfp"), &[&input]));
        }
        if long_run() {
            let input = format!("{letter}test");
            cases.push(lapack("LIN", &format!("{letter}chkaa"), &[&input]));
        }
        if letter == "s" || long_run() {
            let of_all = EIG.iter().map(|n| (*n).to_owned());
            let of_type = EIG_OF_TYPE.iter().map(|n| format!("{letter}{n}"));
            let mut inputs: Vec<String> = of_all.chain(of_type).collect();
            if !long_run() {
                inputs.retain(|n| ["nep", "svd", "glm", "sbal"].contains(&n.as_str()));
            }
            inputs.retain(|n| !CRASHES.contains(&n.as_str()));
            let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
            let mut case = lapack("EIG", &format!("{letter}chkee"), &inputs);
            if !long_run() {
                // There are nearly a thousand files.
                case.forms = &[Form::Fixed];
            }
            cases.push(case);
        }
    }
    for (name, folders) in DRIVERS {
        let path = repository().join(format!("tests/corpora/drivers/{name}.f"));
        cases.push(Case {
            name: format!("drivers::{name}"),
            program: Program {
                main: path.to_string_lossy().into_owned(),
                folders: folders.iter().map(|f| (*f).to_owned()).collect(),
            },
            inputs: vec![None],
            forms: &[Form::Fixed, Form::Free],
            expected: "ALL RIGHT",
        });
    }
    cases
}

fn lapack(folder: &str, main: &str, inputs: &[&str]) -> Case {
    let testing = format!("lapack/TESTING/{folder}/");
    let file = [".F", ".f"]
        .map(|e| format!("{testing}{main}{e}"))
        .into_iter()
        .find(|f| directory().join(f).exists());
    let mut folders = vec![testing];
    folders.extend(LAPACK.map(str::to_owned));
    let input = |name: &&str| {
        let path = directory().join(format!("lapack/TESTING/{name}.in"));
        path.exists().then_some(Some(path))
    };
    Case {
        name: format!("{}::{main}", folder.to_lowercase()),
        program: Program {
            main: file.unwrap_or_default(),
            folders,
        },
        inputs: inputs.iter().filter_map(input).collect(),
        forms: &[Form::Fixed, Form::Free],
        expected: "End of tests",
    }
}

fn check(case: &Case) -> Result<(), Failed> {
    let sources = case.program.sources()?;
    let original = sources.link(Variant::Original)?;
    let printed: Vec<_> = case
        .forms
        .iter()
        .map(|form| (form, sources.link(Variant::Printed(*form))))
        .collect();
    for input in &case.inputs {
        let of = input
            .as_ref()
            .map_or_else(String::new, |i| i.display().to_string());
        let wanted = original
            .output(input.as_deref())
            .map_err(|e| format!("the original, {of}: {e}"))?;
        if !wanted.contains(case.expected) {
            return Err(format!("the original does not do what it should, {of}:\n{wanted}").into());
        }
        for (form, program) in &printed {
            let program = program.as_ref().map_err(|e| format!("{form:?}: {e}"))?;
            if program.is_same_as(&original) {
                continue;
            }
            let got = program
                .output(input.as_deref())
                .map_err(|e| format!("{form:?}, {of}: {e}"))?;
            if got != wanted {
                let differs = wanted.lines().zip(got.lines()).find(|(a, b)| a != b);
                return Err(format!("{form:?}, {of}: other output: {differs:?}").into());
            }
        }
    }
    if case.inputs.is_empty() {
        return Err("there is no input".into());
    }
    Ok(())
}
