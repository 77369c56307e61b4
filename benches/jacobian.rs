//! A Jacobian in one sweep with n directions, compared with n sweeps with one direction.
//!
//! `cargo bench -p farfel-benches --bench jacobian`; `README.md` explains what is compared.
//! `FARFEL_BENCH_TURNS` is the number of times that each program runs (5).
//!
//! Exits with 1 when the two disagree, or when one sweep takes more than [`LIMIT`] of the time of n sweeps.
//! Without `--bench`, as under `cargo test --benches`, it only compares results.

// Printing a table is the purpose of this program.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use farfel_benches::{Run, exit_code, run};
use farfel_driver::{Config, Session};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The maximum time of one sweep, relative to n sweeps, in the geometric mean.
const LIMIT: f64 = 0.6;

const PROBLEMS: [&str; 3] = [
    "trigonometric",
    "discrete integral equation",
    "Broyden banded",
];

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    exit_code(match std::env::args().any(|a| a == "--bench") {
        true => bench(),
        false => check(),
    })
}

fn bench() -> Result<Vec<String>, Failure> {
    let turns = match std::env::var("FARFEL_BENCH_TURNS") {
        Ok(text) => text.parse()?,
        Err(_) => 5,
    };
    let dir = tempfile::tempdir()?;
    println!("Microseconds for a Jacobian of n by n, best of {turns} turns\n");
    println!(
        "{:28}{:>4}  {:6}{:>9}{:>11}{:>10}{:>8}",
        "problem", "n", "flags", "values", "one sweep", "n sweeps", "ratio"
    );
    let mut errors = Vec::new();
    let mut logs = Vec::new();
    for level in ["2", "3"] {
        let program = build(level, dir.path())?;
        for (p, name) in PROBLEMS.iter().enumerate() {
            for n in [20, 35, 50] {
                let times = 200_000_000 / (n * n * n);
                let mut best: Vec<Run> = Vec::new();
                for turn in 0..turns {
                    for mode in 0..3 {
                        let ran = run(&program, &input(p, n, mode, times))?;
                        match best.get_mut(mode) {
                            Some(b) if turn > 0 => b.time = b.time.min(ran.time),
                            _ => best.push(ran),
                        }
                    }
                }
                let seconds = |m: usize| best[m].time.as_secs_f64();
                let each = |m: usize| seconds(m) / times as f64 * 1e6;
                let ratio = seconds(1) / seconds(2);
                logs.push(ratio.ln());
                println!(
                    "{name:28}{n:>4}  {:6}{:>9.2}{:>11.2}{:>10.2}{ratio:>8.2}",
                    format!("-O{level}"),
                    each(0),
                    each(1),
                    each(2)
                );
                if differ(&best[1], &best[2]) {
                    errors.push(format!("{name}, n = {n}, -O{level}: the Jacobians differ"));
                }
            }
        }
    }
    let mean = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
    println!("\ngeometric mean of the ratios: {mean:.2}");
    if mean > LIMIT {
        errors.push(format!(
            "one sweep takes {mean:.2} of n sweeps, more than {LIMIT}"
        ));
    }
    Ok(errors)
}

/// Compares results only.
fn check() -> Result<Vec<String>, Failure> {
    let dir = tempfile::tempdir()?;
    let program = build("2", dir.path())?;
    let mut errors = Vec::new();
    for (p, name) in PROBLEMS.iter().enumerate() {
        let [one, n] = [1, 2].map(|mode| run(&program, &input(p, 20, mode, 3)));
        if differ(&one?, &n?) {
            errors.push(format!("{name}: the Jacobians differ"));
        }
    }
    Ok(errors)
}

fn build(level: &str, dir: &Path) -> Result<PathBuf, Failure> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/jacobian.ff");
    let mut config = Config {
        opt_level: Some(level.to_owned()),
        ..Config::default()
    };
    config.cache.enabled = false;
    let program = dir.join(format!("jacobian-{level}"));
    Session::of_files(&[source], &config)?.build_program(&program)?;
    Ok(program)
}

fn input(problem: usize, n: usize, mode: usize, times: usize) -> String {
    format!("{} {n} {mode} {times}\n", problem + 1)
}

fn differ(a: &Run, b: &Run) -> bool {
    let near = |(x, y): (&f64, &f64)| (x - y).abs() <= 1e-10 * y.abs().max(1.0);
    a.result.len() != b.result.len() || !a.result.iter().zip(&b.result).all(near)
}
