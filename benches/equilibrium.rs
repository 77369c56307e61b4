//! The paper's game: Farfel's generated code compared with the best hand-written Fortran.
//!
//! `cargo bench -p farfel-benches --bench equilibrium`; `README.md` explains what is compared and how to read
//! the table. Environment variables: `FARFEL_BENCH_N`, the number of iterations at each of the three levels
//! (400; the work grows as its cube), and `FARFEL_BENCH_TURNS`, the number of times that each program runs
//! (5).
//!
//! Exits with 1 when a result is wrong, when the time does not grow with the work, or when generated code
//! takes more than 1.2 times as long. Without `--bench`, as under `cargo test --benches`, it only checks the
//! results, with little work.

// Printing a table is the purpose of this program.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use farfel_benches::{Run, exit_code, run, take_turns};
use farfel_driver::{Config, Session, toolchain};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The maximum time of generated code, relative to the hand-written code.
const LIMIT: f64 = 1.2;

/// The minimum growth of the time with twice the iterations at each of three levels. The work grows
/// eightfold; a factor of four would mean that the compiler removed a level.
const GROWTH: f64 = 6.0;

/// The equilibrium: the reply to A is B = 99.95 - 0.999*A, the reply to B is A = 100 - B.
const EQUILIBRIUM: [f64; 2] = [50.0, 50.0];

/// Where the iterations start.
const START: [f64; 2] = [45.0, 47.0];

/// The kind of REAL to compile, and the accuracy of the result with it. The replies are nearly the same line
/// (0.999 is nearly 1), which costs three digits.
struct Precision {
    name: &'static str,
    real_kind: u8,
    flags: &'static [&'static str],
    tolerance: f64,
}

const PRECISIONS: [Precision; 2] = [
    Precision {
        name: "single",
        real_kind: 4,
        flags: &[],
        tolerance: 2e-2,
    },
    Precision {
        name: "double",
        real_kind: 8,
        flags: &["-fdefault-real-8", "-fdefault-double-8"],
        tolerance: 1e-8,
    },
];

/// Values of `-O`.
const LEVELS: [&str; 3] = ["2", "3", "fast"];

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let outcome = if std::env::args().any(|a| a == "--bench") {
        bench()
    } else {
        check()
    };
    exit_code(outcome)
}

/// Times everything and prints the table. Returns the violations.
fn bench() -> Result<Vec<String>, Failure> {
    let n: u32 = setting("FARFEL_BENCH_N", 400)?;
    let turns: usize = setting("FARFEL_BENCH_TURNS", 5)?;
    let dir = tempfile::tempdir()?;
    println!("The equilibrium of the paper's game, {n} iterations at each of three levels");
    println!("{}", machine()?);
    println!("Nanoseconds for a step of the innermost iteration, best of {turns} turns\n");
    println!(
        "{:8}{:8}{:>11}{:>9}{:>7}   {:18}{:24}by hand",
        "REAL", "flags", "generated", "by hand", "ratio", "growth (8)", "generated result"
    );
    let mut errors = Vec::new();
    for precision in &PRECISIONS {
        for level in LEVELS {
            let pair = build(precision, level, dir.path())?;
            let programs = [pair.generated.as_path(), pair.by_hand.as_path()];
            let half = take_turns(&programs, &input(n / 2), turns)?;
            let whole = take_turns(&programs, &input(n), turns)?;
            let growth = [0, 1].map(|i| seconds(&whole[i]) / seconds(&half[i]));
            let ratio = seconds(&whole[0]) / seconds(&whole[1]);
            let step = |run: &Run| seconds(run) / f64::from(n).powi(3) * 1e9;
            println!(
                "{:8}{:8}{:>11.2}{:>9.2}{ratio:>7.2}   {:18}{:24}{}",
                precision.name,
                format!("-O{level}"),
                step(&whole[0]),
                step(&whole[1]),
                format!("{:.1}, {:.1}", growth[0], growth[1]),
                shown(&whole[0].result),
                shown(&whole[1].result),
            );

            let of = format!("{}, -O{level}", precision.name);
            errors.extend(wrong(&whole, precision.tolerance).map(|w| format!("{of}: {w}")));
            if growth.iter().any(|g| *g < GROWTH) {
                errors.push(format!("{of}: the time does not grow with the cube of N"));
            }
            if ratio > LIMIT {
                errors.push(format!(
                    "{of}: generated code takes {ratio:.2} times as long, more than {LIMIT}"
                ));
            }
        }
    }
    Ok(errors)
}

/// Builds everything and checks the results only.
fn check() -> Result<Vec<String>, Failure> {
    let dir = tempfile::tempdir()?;
    let mut errors = Vec::new();
    for precision in &PRECISIONS {
        for level in LEVELS {
            let pair = build(precision, level, dir.path())?;
            let runs = [
                run(&pair.generated, &input(30))?,
                run(&pair.by_hand, &input(30))?,
            ];
            errors.extend(
                wrong(&runs, precision.tolerance)
                    .map(|w| format!("{}, -O{level}: {w}", precision.name)),
            );
        }
    }
    Ok(errors)
}

/// Two equivalent executables.
struct Executables {
    generated: PathBuf,
    by_hand: PathBuf,
}

/// Builds the paper's program with Farfel, and the hand-written one with the same compiler and the same
/// optimisation.
fn build(precision: &Precision, level: &str, dir: &Path) -> Result<Executables, Failure> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let paper = here.join("../example-project/fortran-main/paper.ff");
    let mut config = Config {
        real_kind: precision.real_kind,
        opt_level: Some(level.to_owned()),
        ..Config::default()
    };
    config.cache.enabled = false;
    let generated = dir.join(format!("generated-{}-{level}", precision.name));
    Session::of_files(&[paper], &config)?.build_program(&generated)?;

    let source = here.join("programs/equilibrium_by_hand.f");
    let by_hand = dir.join(format!("by-hand-{}-{level}", precision.name));
    let status = Command::new(toolchain::find(&config)?.path)
        .args([&format!("-O{level}"), "-fwhole-program"])
        .args(precision.flags)
        .arg("-o")
        .args([&by_hand, &source])
        .status()?;
    if !status.success() {
        return Err(format!("gfortran refuses {}: {status}", source.display()).into());
    }
    Ok(Executables { generated, by_hand })
}

/// Returns the input of the programs.
fn input(n: u32) -> String {
    format!("{}\n{}\n{n}\n", START[0], START[1])
}

/// Returns messages for the results that are not the equilibrium.
fn wrong(runs: &[Run], tolerance: f64) -> impl Iterator<Item = String> {
    let near = move |result: &[f64]| {
        result.len() == EQUILIBRIUM.len()
            && result
                .iter()
                .zip(EQUILIBRIUM)
                .all(|(got, want)| (got - want).abs() <= tolerance)
    };
    runs.iter()
        .zip(["generated", "hand-written"])
        .filter(move |(run, _)| !near(&run.result))
        .map(move |(run, name)| {
            format!(
                "the {name} program's result {:?} is not within {tolerance:e} of {EQUILIBRIUM:?}",
                run.result
            )
        })
}

fn seconds(run: &Run) -> f64 {
    run.time.as_secs_f64()
}

fn shown(result: &[f64]) -> String {
    let numbers: Vec<String> = result.iter().map(|x| format!("{x:.6}")).collect();
    numbers.join(" ")
}

/// Returns a number from the environment, at least 1.
fn setting<T>(variable: &str, default: T) -> Result<T, Failure>
where
    T: std::str::FromStr + PartialOrd + From<u8>,
{
    match std::env::var(variable) {
        Err(_) => Ok(default),
        Ok(text) => match text.parse() {
            Ok(n) if n >= T::from(1) => Ok(n),
            _ => Err(format!("{variable} is `{text}`, not a whole number from 1 up").into()),
        },
    }
}

/// Describes the processor and the compiler, for the head of the table.
fn machine() -> Result<String, Failure> {
    let cpu = std::fs::read_to_string("/proc/cpuinfo")
        .ok()
        .and_then(|text| {
            let line = text.lines().find(|line| line.starts_with("model name"))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        });
    let compiler = toolchain::find(&Config::default())?;
    Ok(format!(
        "{}, {} {}",
        cpu.as_deref().unwrap_or("unknown processor"),
        compiler.path.display(),
        compiler.version
    ))
}
