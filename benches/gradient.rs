//! A gradient with a million inputs, in bounded memory.
//!
//! `cargo bench -p farfel-benches --bench gradient`; `README.md` explains what is computed.
//!
//! Exits with 1 when the gradient is wrong, takes more than [`TIMES`] times as long as the function, or more
//! memory than [`MEMORY`]. Without `--bench`, as under `cargo test --benches`, it computes a small gradient
//! and checks only its value.

// Printing a table is the purpose of this program.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use farfel_benches::{exit_code, run};
use farfel_driver::{Config, Session};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The maximum time of a gradient, relative to the function.
const TIMES: f64 = 12.0;

/// The maximum memory of a gradient in bytes: twenty arrays of a million values. The tape of all steps would
/// take 1.6 GB.
const MEMORY: f64 = 160e6;

/// The number of points on a side of the plate, and of time steps.
const LARGE: (usize, usize) = (1000, 200);

type Failure = Box<dyn std::error::Error>;

/// The output of a run of the program.
struct Measurement {
    seconds: f64,
    bytes: f64,
    derivative: f64,
    difference: f64,
}

fn main() -> ExitCode {
    exit_code(match std::env::args().any(|a| a == "--bench") {
        true => bench(),
        false => check(),
    })
}

fn bench() -> Result<Vec<String>, Failure> {
    let turns: usize = match std::env::var("FARFEL_BENCH_TURNS") {
        Ok(text) => text.parse()?,
        Err(_) => 2,
    };
    let dir = tempfile::tempdir()?;
    let (n, steps) = LARGE;
    println!("Heat in a plate, {} inputs, {steps} time steps\n", n * n);
    println!(
        "{:8}{:>12}{:>12}{:>8}{:>14}{:>14}",
        "flags", "function s", "gradient s", "ratio", "function MB", "gradient MB"
    );
    let mut errors = Vec::new();
    for level in ["2", "3"] {
        let program = build(level, dir.path())?;
        let mut function = measure(&program, LARGE, false)?;
        let mut gradient = measure(&program, LARGE, true)?;
        for _ in 1..turns {
            let [f, g] = [false, true].map(|g| measure(&program, LARGE, g));
            function.seconds = function.seconds.min(f?.seconds);
            gradient.seconds = gradient.seconds.min(g?.seconds);
        }
        let ratio = gradient.seconds / function.seconds;
        println!(
            "{:8}{:>12.2}{:>12.2}{ratio:>8.2}{:>14.0}{:>14.0}",
            format!("-O{level}"),
            function.seconds,
            gradient.seconds,
            function.bytes / 1e6,
            gradient.bytes / 1e6
        );
        errors.extend(wrong(&gradient));
        if ratio > TIMES {
            errors.push(format!(
                "-O{level}: a gradient takes {ratio:.2} times as long as the function, more than {TIMES}"
            ));
        }
        if gradient.bytes > MEMORY {
            errors.push(format!(
                "-O{level}: a gradient takes {} bytes, more than {MEMORY}",
                gradient.bytes
            ));
        }
    }
    Ok(errors)
}

fn check() -> Result<Vec<String>, Failure> {
    let dir = tempfile::tempdir()?;
    let program = build("2", dir.path())?;
    Ok(wrong(&measure(&program, (20, 30), true)?)
        .into_iter()
        .collect())
}

/// Compares the gradient with finite differences.
fn wrong(gradient: &Measurement) -> Option<String> {
    let Measurement {
        derivative,
        difference,
        ..
    } = gradient;
    let near = (derivative - difference).abs() <= 1e-6 * difference.abs() && *difference != 0.0;
    (!near).then(|| format!("the gradient says {derivative}, differences say {difference}"))
}

fn measure(
    program: &Path,
    (n, steps): (usize, usize),
    gradient: bool,
) -> Result<Measurement, Failure> {
    let ran = run(program, &format!("{n} {steps} {}\n", u8::from(gradient)))?;
    match ran.result[..] {
        [seconds, kilobytes, derivative, difference] => Ok(Measurement {
            seconds,
            bytes: kilobytes * 1024.0,
            derivative,
            difference,
        }),
        _ => Err(format!("{:?}", ran.result).into()),
    }
}

fn build(level: &str, dir: &Path) -> Result<PathBuf, Failure> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/gradient.ff");
    let mut config = Config {
        opt_level: Some(level.to_owned()),
        ..Config::default()
    };
    config.cache.enabled = false;
    let program = dir.join(format!("gradient-{level}"));
    Session::of_files(&[source], &config)?.build_program(&program)?;
    Ok(program)
}
