//! The speed of Farfel itself: from source text to the Fortran that is compiled.
//!
//! `cargo bench -p farfel-benches --bench front_end`. The source consists of many copies of the paper's
//! example, each with its own names: nested subprograms and nested AD blocks in every one. Times of the
//! passes are the minimum of at least three runs.
//!
//! Exits with 1 when a pass takes much longer per line of a large program than per line of a small one.
//! Without `--bench`, as under `cargo test --benches`, it only checks that the passes accept the programs.

// Printing a table is the purpose of this program.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use farfel_ad::{Builtin, differentiate_all};
use farfel_benches::{Clock, exit_code};
use farfel_lang::lower::{Stage, lower};
use farfel_lang::syntax::{NoIncludes, parse};
use farfel_lang::{Diagnostic, Sources, print, resolve::resolve};
use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Duration;

/// The paper's program without its main program.
const PAPER: &str = include_str!("../example-project/fortran-main/paper.ff");

/// The top-level subprograms in it.
const UNITS: [&str; 7] = [
    "EQLBRM", "ROOT", "DERIV2", "ARGMAX", "DERIV1", "GMBIGA", "GMBIGB",
];

/// The number of copies in the programs.
const SIZES: [usize; 3] = [5, 20, 80];

/// The passes in order.
const PASSES: [&str; 5] = ["parse", "resolve", "lower", "differentiate", "print"];

/// The maximum time per line of the largest program, relative to that of the smallest.
const GROWTH: f64 = 4.0;

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let outcome = if std::env::args().any(|a| a == "--bench") {
        bench()
    } else {
        passes(&source(2)).map(|_| Vec::new())
    };
    exit_code(outcome)
}

/// Times everything and prints the table. Returns the violations.
fn bench() -> Result<Vec<String>, Failure> {
    println!("Microseconds of processor time for a line of the source, best of 3 runs or more\n");
    print!("{:>8}", "lines");
    for pass in PASSES {
        print!("{pass:>15}");
    }
    println!("{:>15}{:>10}", "all", "seconds");
    let mut of_sizes = Vec::new();
    for copies in SIZES {
        let source = source(copies);
        let lines = source.lines().count();
        let mut best = passes(&source)?;
        // Short runs suffer more from other load on the machine.
        for _ in 1..(240 / copies).max(3) {
            for (best, again) in best.iter_mut().zip(passes(&source)?) {
                *best = again.min(*best);
            }
        }
        let of_line = best.map(|t| t.as_secs_f64() * 1e6 / lines as f64);
        print!("{lines:>8}");
        for t in of_line {
            print!("{t:>15.2}");
        }
        println!(
            "{:>15.2}{:>10.3}",
            of_line.iter().sum::<f64>(),
            best.iter().sum::<Duration>().as_secs_f64()
        );
        of_sizes.push(of_line);
    }
    let mut errors = Vec::new();
    if let [small, .., large] = &of_sizes[..] {
        for ((pass, small), large) in PASSES.iter().zip(small).zip(large) {
            if *large > GROWTH * small {
                errors.push(format!(
                    "{pass} takes {:.1} times as long for a line of the largest program",
                    large / small
                ));
            }
        }
    }
    Ok(errors)
}

/// Returns this many copies of the paper's program.
fn source(copies: usize) -> String {
    let library = PAPER.split("      PROGRAM MAIN").next().unwrap_or_default();
    let mut text = String::new();
    for i in 0..copies {
        let mut copy = library.to_owned();
        for unit in UNITS {
            copy = copy.replace(unit, &format!("{unit}{i}"));
        }
        text += &copy;
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "      SUBROUTINE PLAY{i}(ASTAR, BSTAR, N)
      CALL EQLBRM{i}(GMBIGA{i}, GMBIGB{i}, ASTAR, BSTAR, N)
      END
"
        );
    }
    text
}

/// Runs all passes and returns the time that each took.
fn passes(source: &str) -> Result<[Duration; PASSES.len()], Failure> {
    let mut sources = Sources::new();
    let file = sources.add("copies.ff", source);
    let mut clock = Clock::new()?;
    let mut parsed = parse(&mut sources, file, None, &mut NoIncludes);
    let parsing = clock.lap()?;
    none(&parsed.diagnostics)?;
    let found = resolve(&mut parsed.program);
    let resolving = clock.lap()?;
    none(&found)?;
    let lowered = lower(parsed.program, Stage::Stage);
    let lowering = clock.lap()?;
    none(&lowered.diagnostics)?;
    let done = differentiate_all(&Builtin, lowered.program, &lowered.requests);
    let differentiating = clock.lap()?;
    let program = done.map_err(|d| first(&d))?;
    let text = print::print_program(&program, &print::Options::default());
    let printing = clock.lap()?;
    if text.len() < source.len() {
        return Err("the generated program is shorter than its source".into());
    }
    Ok([parsing, resolving, lowering, differentiating, printing])
}

/// The sources have no errors, so any error comes from a pass.
fn none(found: &[Diagnostic]) -> Result<(), Failure> {
    let errors: Vec<Diagnostic> = found.iter().filter(|d| d.is_error()).cloned().collect();
    if errors.is_empty() {
        Ok(())
    } else {
        Err(first(&errors).into())
    }
}

fn first(errors: &[Diagnostic]) -> String {
    errors
        .first()
        .map_or_else(String::new, |d| format!("{}: {}", d.rule.code, d.message))
}
