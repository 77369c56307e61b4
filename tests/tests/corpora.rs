//! Real Fortran: SciPy, LAPACK, CalculiX and SLALIB, nearly two million lines.
//!
//! Every file that gfortran accepts is read without errors; when the printed text is read and printed again,
//! the result is the same; the printed text compiles, and to the same machine code. `farfel fmt` formats
//! files in both forms, idempotently, and its output compiles. Reading and printing are tested for all files,
//! gfortran only for a sample unless `FARFEL_CORPORA_ALL=1`. The corpora are not in this repository: `cargo
//! run -p farfel-tests --bin corpora` downloads them, and without them these tests are ignored.
//!
//! Files that Farfel rejects for a reason are listed in `tests/corpora/refused.txt`.

// Ignored tests report why.
#![allow(clippy::print_stderr)]

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use farfel_tests::corpora::check::{Depth, Outcome, check};
use farfel_tests::corpora::files::{File, files};
use farfel_tests::corpora::{layout, long_run, obtain};
use libtest_mimic::{Arguments, Failed, Trial};

/// Parts of the corpora, to use two processors. A file belongs to the first part whose name is a prefix of
/// its own.
const PARTS: [&str; 9] = [
    "lapack/SRC/c",
    "lapack/SRC/d",
    "lapack/SRC/s",
    "lapack/SRC/",
    "lapack/TESTING/",
    "lapack/",
    "calculix/",
    "pyslalib/",
    "scipy/",
];

/// Files whose code may differ when they are printed, with the reasons.
const OTHER_CODE: [(&str, &str); 1] = [(
    "calculix/inviscidpre.f",
    "`A - B*-(C)` is printed as `A - B*(-(C))`, which gfortran does not take for `A + B*C`",
)];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let missing: Vec<_> = obtain::NAMES
        .into_iter()
        .filter(|name| !obtain::is_there(name))
        .collect();
    if !missing.is_empty() {
        eprintln!(
            "NOTICE: the corpora {} are not there, their tests are ignored; \
             `cargo run -p farfel-tests --bin corpora` gets them",
            missing.join(", ")
        );
    }
    let refused = refused();
    let mut trials = Vec::new();
    for (i, part) in PARTS.into_iter().enumerate() {
        let ignored = missing.iter().any(|name| part.starts_with(name));
        let mut files = files(part);
        files.retain(|f| !PARTS[..i].iter().any(|p| f.name.starts_with(p)));
        let sample = |so_many| -> Vec<File> {
            files
                .iter()
                .filter(|f| long_run() || f.is_in_sample(so_many))
                .filter(|f| !refused.contains_key(&f.name))
                .cloned()
                .collect()
        };
        let laid_out = sample(4);
        let known = refused.clone();
        let name = format!(
            "{}::is_laid_out",
            part.trim_end_matches('/').replace('/', "::")
        );
        let trial = Trial::test(name, move || all_laid_out(&laid_out, &known));
        trials.push(trial.with_ignored_flag(ignored));
        let steps = [
            ("compiles_when_printed", sample(4), Depth::Compiles),
            ("is_the_same_code", sample(8), Depth::SameCode),
            ("is_read", files, Depth::Read),
        ];
        for (step, mut files, depth) in steps {
            if depth == Depth::SameCode {
                files.retain(|f| !has_other_code(f));
            } else if depth == Depth::Compiles && long_run() {
                // Files with the same code need not be compiled.
                files.retain(has_other_code);
            }
            let refused = refused.clone();
            let name = format!("{}::{step}", part.trim_end_matches('/').replace('/', "::"));
            let trial = Trial::test(name, move || all_good(&files, depth, &refused));
            trials.push(trial.with_ignored_flag(ignored));
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn has_other_code(file: &File) -> bool {
    OTHER_CODE.iter().any(|(name, _)| *name == file.name)
}

/// The files that Farfel is known to reject: file, code and reason.
fn refused() -> BTreeMap<String, (String, String)> {
    include_str!("../corpora/refused.txt")
        .lines()
        .filter(|l| !l.is_empty() && !l.starts_with('#'))
        .filter_map(|l| {
            let mut words = l.splitn(3, ' ');
            let entry = (words.next()?, words.next()?, words.next()?);
            Some((entry.0.to_owned(), (entry.1.to_owned(), entry.2.to_owned())))
        })
        .collect()
}

/// Files are formatted in both forms, and the results compile.
fn all_laid_out(
    files: &[File],
    refused: &BTreeMap<String, (String, String)>,
) -> Result<(), Failed> {
    let errors: Vec<String> = files
        .iter()
        .filter(|f| !refused.contains_key(&f.name))
        .filter_map(|f| {
            let compiled = long_run() || f.is_in_sample(16);
            let why = layout::check(f, compiled).err()?;
            Some(format!("{}: {why}", f.name))
        })
        .collect();
    match errors.is_empty() {
        true => Ok(()),
        false => Err(format!("{} files\n{}", errors.len(), errors.join("\n")).into()),
    }
}

fn all_good(
    files: &[File],
    depth: Depth,
    refused: &BTreeMap<String, (String, String)>,
) -> Result<(), Failed> {
    let mut errors: BTreeSet<String> = BTreeSet::new();
    for file in files {
        let outcome = check(file, depth);
        let expected = refused.get(&file.name);
        match (outcome, expected) {
            (
                Outcome::Bad {
                    class: "refused",
                    why,
                },
                Some((code, _)),
            ) if why.contains(code.as_str()) => {}
            (Outcome::Bad { class, why }, _) => {
                errors.insert(format!("{}: {class}: {why}", file.name));
            }
            (_, Some(_)) => {
                errors.insert(format!(
                    "{}: stands in tests/corpora/refused.txt, but is accepted",
                    file.name
                ));
            }
            (Outcome::Good | Outcome::NotFortran, None) => {}
        }
    }
    if errors.is_empty() {
        return Ok(());
    }
    // The list would be long if something were wrong with all files.
    let shown: Vec<String> = errors.iter().take(40).cloned().collect();
    Err(format!("{} files\n{}", errors.len(), shown.join("\n")).into())
}
