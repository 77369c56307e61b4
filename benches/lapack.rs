//! The cost of a change in a large library: the double precision part of LAPACK and BLAS, 550 subprograms, called
//! from Rust.
//!
//! `cargo run -p farfel-tests --bin corpora` downloads LAPACK; then `cargo bench -p farfel-benches --bench
//! lapack`. It builds a package with `cargo build`, changes a statement of `dgetrf.f`, and builds it again. All
//! processor time counts: that of cargo, of the build script and what it starts, of rustc and of the linker. The
//! package's bindings are listed in one case (`include_bindings!(dgesv, …)`), and complete in the other.
//!
//! Exits with 1 when a figure exceeds its limit; see [`CASES`]. Without `--bench`, as under `cargo test
//! --benches`, it does nothing.

// Printing a table is the purpose of this program.
#![allow(clippy::print_stdout)]

use farfel_benches::{children_time, exit_code};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

type Failure = Box<dyn std::error::Error>;

/// The program, with its name and the maximum seconds of processor time for a build after a change.
const CASES: [(&str, &str, f64); 2] = [
    (
        "four functions listed",
        "mod lapack { farfel_runtime::include_bindings!(dgesv, dsyev, dpotrf, dgemm); }\n\n\
         fn main() { let _ = lapack::dgesv; }\n",
        2.0,
    ),
    (
        "all functions",
        "mod lapack { farfel_runtime::include_bindings!(); }\n\n\
         fn main() { let _ = lapack::dgesv; }\n",
        5.0,
    ),
];

/// The number of changes for each case, of which the cheapest build counts.
const CHANGES: usize = 3;

/// The folders of LAPACK in the package.
const FOLDERS: [(&str, &str); 3] = [("BLAS/SRC", "BLAS"), ("SRC", "SRC"), ("INSTALL", "INSTALL")];

/// Whether a file is for double precision, or for all types.
fn is_part(folder: &str, name: &str) -> bool {
    let beginnings: &[&str] = match folder {
        "BLAS" => &["d", "idamax", "lsame", "xerbla"],
        "SRC" => &["d", "ila", "iparmq", "ieeeck"],
        _ => &["dlamch.f", "droundup_lwork"],
    };
    name.ends_with(".f")
        && beginnings.iter().any(|b| name.starts_with(b))
        && !SINGLE.contains(&name)
        && !name.contains("xblas")
}

/// The files that call single precision.
const SINGLE: [&str; 4] = ["dsgesv.f", "dsposv.f", "dlag2s.f", "dlat2s.f"];

/// The files that gfortran compiles as they are, as `farfel init` proposes.
const PASSED: [&str; 6] = [
    "SRC/dgees.f",
    "SRC/dgeesx.f",
    "SRC/dgges.f",
    "SRC/dgges3.f",
    "SRC/dggesx.f",
    "SRC/ieeeck.f",
];

fn main() -> ExitCode {
    let outcome = match std::env::args().any(|a| a == "--bench") {
        true => bench(),
        false => Ok(Vec::new()),
    };
    exit_code(outcome)
}

fn bench() -> Result<Vec<String>, Failure> {
    let lapack = match std::env::var_os("FARFEL_CORPORA") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/corpora"),
    }
    .join("lapack");
    if !lapack.is_dir() {
        println!("There is no LAPACK; `cargo run -p farfel-tests --bin corpora` downloads it.");
        return Ok(Vec::new());
    }
    let dir = tempfile::tempdir()?;
    write_package(dir.path(), &lapack)?;
    let mut errors = Vec::new();
    println!("Seconds of processor time of `cargo build`\n");
    println!(
        "{:>8}{:>16}{:>8}  bindings",
        "cold", "after a change", "limit"
    );
    for (name, program, limit) in CASES {
        fs::write(dir.path().join("src/main.rs"), program)?;
        let cold = build(dir.path())?;
        let mut changed = Duration::MAX;
        for _ in 0..CHANGES {
            change(&dir.path().join("SRC/dgetrf.f"))?;
            changed = changed.min(build(dir.path())?);
        }
        let changed = changed.as_secs_f64();
        println!(
            "{:>8.1}{changed:>16.2}{limit:>8.1}  {name}",
            cold.as_secs_f64()
        );
        if changed > limit {
            errors.push(format!(
                "{name}: a build after a change takes {changed:.2} s"
            ));
        }
    }
    Ok(errors)
}

/// Copies the sources into a package.
fn write_package(directory: &Path, lapack: &Path) -> Result<(), Failure> {
    for (from, to) in FOLDERS {
        fs::create_dir_all(directory.join(to))?;
        for entry in fs::read_dir(lapack.join(from))? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if is_part(to, &name) {
                fs::copy(&path, directory.join(to).join(&*name))?;
            }
        }
    }
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .canonicalize()?;
    let repository = repository.display();
    fs::create_dir_all(directory.join("src"))?;
    fs::write(
        directory.join("Cargo.toml"),
        format!(
            "[package]\nname = \"whole-lapack\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
             [package.metadata.farfel]\nsources = [\"BLAS\", \"SRC\", \"INSTALL\"]\nopt-level = 0\npass-through = {PASSED:?}\n\n\
             [dependencies]\nfarfel-runtime = {{ path = \"{repository}/farfel-runtime\" }}\n\n\
             [build-dependencies]\nfarfel-build = {{ path = \"{repository}/farfel-build\" }}\n"
        ),
    )?;
    fs::write(
        directory.join("build.rs"),
        "fn main() {\n    farfel_build::compile();\n}\n",
    )?;
    Ok(())
}

/// Changes a statement of a file, so that its object file must be compiled again.
fn change(file: &Path) -> Result<(), Failure> {
    let text = fs::read_to_string(file)?;
    let end = text.trim_end().rfind('\n').ok_or("a file of one line")?;
    let (before, rest) = text.split_at(end + 1);
    fs::write(file, format!("{before}      INFO = INFO + 0\n{rest}"))?;
    Ok(())
}

/// Builds the package, and returns the processor time.
fn build(directory: &Path) -> Result<Duration, Failure> {
    let before = children_time()?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["build", "--quiet"])
        .current_dir(directory)
        .env(
            "CARGO_TARGET_DIR",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("lapack"),
        )
        .env("FARFEL_CACHE_DIR", directory.join("cache"))
        .env("FARFEL", env!("CARGO_BIN_EXE_farfel-benched"))
        // As cargo builds for those who work on a program.
        .env_remove("CARGO_INCREMENTAL")
        .env_remove("CARGO_MAKEFLAGS")
        .env_remove("MAKEFLAGS")
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(children_time()?.saturating_sub(before))
}
