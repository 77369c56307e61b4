//! How the front end grows with the program: 25,000, 50,000 and 100,000 lines.
//!
//! `cargo bench -p farfel-benches --bench scale`. A made-up program with an AD request for
//! every hundred lines is parsed, resolved, lowered and printed. Times are processor times,
//! the least of three runs.
//!
//! Ends with 1 when four times the text takes more than [`GROWTH`] times the time, or
//! takes more memory than [`MEMORY`]. The number of instructions grows by 4.0 (`valgrind
//! --tool=callgrind`); how much longer they take when the program no longer fits into the
//! processor's caches, depends on the machine and on what else it does. Without `--bench`, as under `cargo test --benches`, it
//! only checks that the passes accept a small program of the kind.

// The table is what this program is for.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use farfel_benches::generate::{Generated, Project};
use farfel_benches::{Clock, exit_code};
use farfel_lang::ir::Program;
use farfel_lang::lower::{Options, Stage, lower_with};
use farfel_lang::syntax::{NoIncludes, parse};
use farfel_lang::{Diagnostic, Sources, print, resolve::resolve};
use std::process::ExitCode;
use std::time::Duration;

/// Lines of the programs.
const SIZES: [usize; 3] = [25_000, 50_000, 100_000];

/// The steps in order.
const STEPS: [&str; 4] = ["parse", "resolve", "lower", "print"];

/// How much longer four times the text may take. What looks at every pair of units would
/// take 16 times as long.
const GROWTH: f64 = 8.0;

/// How many bytes the process may take at most.
const MEMORY: u64 = 500_000_000;

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let outcome = if std::env::args().any(|a| a == "--bench") {
        bench()
    } else {
        steps(&Project::new(2_000, 20).generate(), 20).map(|_| Vec::new())
    };
    exit_code(outcome)
}

fn bench() -> Result<Vec<String>, Failure> {
    println!("Microseconds of processor time for a line, best of 3 runs\n");
    print!("{:>8}{:>10}", "lines", "requests");
    for step in STEPS {
        print!("{step:>10}");
    }
    println!("{:>10}{:>10}{:>10}", "all", "seconds", "MB");
    let mut totals = Vec::new();
    for wanted in SIZES {
        let requests = wanted / 100;
        let program = Project::new(wanted, requests).generate();
        let lines = program.lines();
        let mut best = steps(&program, requests)?;
        for _ in 1..3 {
            for (best, again) in best.iter_mut().zip(steps(&program, requests)?) {
                *best = again.min(*best);
            }
        }
        print!("{lines:>8}{requests:>10}");
        for t in best {
            print!("{:>10.2}", t.as_secs_f64() * 1e6 / lines as f64);
        }
        let total = best.iter().sum::<Duration>().as_secs_f64();
        // The most that the process ever took, and sizes ascend.
        println!(
            "{:>10.2}{total:>10.3}{:>10.0}",
            total * 1e6 / lines as f64,
            peak_memory()? as f64 / 1e6
        );
        totals.push(total / lines as f64);
    }
    let mut faults = Vec::new();
    if let [small, .., large] = totals[..] {
        let growth = 4.0 * large / small;
        println!("\nFour times the text takes {growth:.2} times the time.");
        if growth > GROWTH {
            faults.push(format!(
                "four times the text takes {growth:.2} times the time, more than {GROWTH}"
            ));
        }
    }
    let memory = peak_memory()?;
    if memory > MEMORY {
        faults.push(format!("{memory} bytes were in use, more than {MEMORY}"));
    }
    Ok(faults)
}

/// Runs all steps and gives the time that each took.
fn steps(project: &Generated, requests: usize) -> Result<[Duration; STEPS.len()], Failure> {
    let mut sources = Sources::new();
    let files: Vec<_> = project
        .files
        .iter()
        .map(|(name, text)| sources.add(name.as_str(), text.as_str()))
        .collect();
    let mut clock = Clock::new()?;
    let mut program = Program::default();
    for file in files {
        let parsed = parse(&mut sources, file, None, &mut NoIncludes);
        none(&parsed.diagnostics)?;
        program.units.extend(parsed.program.units);
    }
    let parsing = clock.lap()?;
    none(&resolve(&mut program))?;
    let resolving = clock.lap()?;
    let options = Options {
        exports: Some(project.exports.iter().map(|e| e.as_str().into()).collect()),
        ..Options::default()
    };
    let lowered = lower_with(program, Stage::Stage, &options);
    let lowering = clock.lap()?;
    none(&lowered.diagnostics)?;
    if lowered.requests.len() != requests {
        return Err(format!("{} requests", lowered.requests.len()).into());
    }
    clock.lap()?;
    let text = print::print_program(&lowered.program, &print::Options::default());
    let printing = clock.lap()?;
    if text.lines().count() < project.lines() / 2 {
        return Err("most of the program is gone".into());
    }
    Ok([parsing, resolving, lowering, printing])
}

/// The most memory that this process ever had in use, in bytes.
fn peak_memory() -> Result<u64, Failure> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kilobytes: u64 = line
        .and_then(|l| l.trim().strip_suffix("kB"))
        .ok_or("the system does not tell how much memory was in use")?
        .trim()
        .parse()?;
    Ok(kilobytes * 1024)
}

/// The programs have no faults, so a fault is one of the steps.
fn none(found: &[Diagnostic]) -> Result<(), Failure> {
    match found.iter().find(|d| d.is_error()) {
        Some(d) => Err(format!("{}: {}", d.rule.code, d.message).into()),
        None => Ok(()),
    }
}
