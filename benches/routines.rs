//! What derivatives of real code cost: the routines of `tests/corpora/derivatives`, unchanged,
//! from SciPy, LAPACK and CalculiX, with their tangents and adjoints.
//!
//! `cargo bench -p farfel-benches --bench routines`; `README.md` says what is measured. The
//! corpora must be there (`cargo run -p farfel-tests --bin corpora` gets them). Environment
//! variables: `FARFEL_BENCH_TURNS`, how often each routine takes its turn (15);
//! `FARFEL_BENCH_ONLY`, a part of a program's name; `FARFEL_BENCH_KEEP`, a folder to leave the
//! programs in; `FARFEL_BENCH_LEVEL`, the one level of optimisation to measure.
//!
//! Ends with 1 when the dot products of tangents and adjoints differ, or when the medians
//! exceed their limits. Without `--bench`, it compiles one program and looks at the products.

// The table is what this program is for.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use farfel_benches::exit_code;
use farfel_build::{Config, ExpandStage, expand, toolchain};
use farfel_tests::corpora::obtain;
use farfel_tests::corpora::routines::{PROGRAMS, files};
use std::collections::HashMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// `-O`, other flags, and how many times as long as the routine tangents and adjoints may
/// take, in the median.
const FLAGS: [(&str, &[&str], [f64; 2]); 2] = [
    ("2", &[], [1.6, 3.0]),
    ("3", &["-march=native"], [1.6, 3.0]),
];

/// The subroutines of `programs/routines.ff` that measure.
const MEASURING: [&str; 9] = [
    "ROUTIN", "VECFWD", "SCALAR", "VECTOR", "POINTS", "COUNTS", "PRIMAL", "FORWRD", "REVERS",
];

/// How far the dot products may be off, relative to the terms of their sums.
const TOLERANCE: f64 = 1e-11;

type Failure = Box<dyn std::error::Error>;

/// What was measured of one routine.
struct Row {
    name: String,
    /// Nanoseconds of a call: of the routine, of its tangent, of its adjoint if there is one.
    times: [Option<f64>; 3],
    /// The difference of the dot products.
    error: f64,
}

impl Row {
    fn ratio(&self, which: usize) -> Option<f64> {
        Some(self.times[which]? / self.times[0]?)
    }
}

fn main() -> ExitCode {
    let bench = std::env::args().any(|a| a == "--bench");
    if obtain::NAMES.into_iter().any(|n| !obtain::is_there(n)) {
        println!("The corpora are not there; `cargo run -p farfel-tests --bin corpora` gets them");
        return ExitCode::SUCCESS;
    }
    exit_code(if bench { measure() } else { check() })
}

/// Times everything and prints the tables. Returns what is not as it should be.
fn measure() -> Result<Vec<String>, Failure> {
    let turns: usize = match std::env::var("FARFEL_BENCH_TURNS") {
        Ok(text) => text.parse()?,
        Err(_) => 15,
    };
    let only = std::env::var("FARFEL_BENCH_ONLY").unwrap_or_default();
    let dir = tempfile::tempdir()?;
    let dir = match std::env::var_os("FARFEL_BENCH_KEEP") {
        Some(kept) => PathBuf::from(kept),
        None => dir.path().to_owned(),
    };
    let level = std::env::var("FARFEL_BENCH_LEVEL").unwrap_or_default();
    let levels: Vec<_> = (FLAGS.iter())
        .filter(|(l, ..)| level.is_empty() || *l == level)
        .collect();
    println!("Nanoseconds of a call, best of {turns} turns; derivatives in multiples of it\n");
    let mut tables: Vec<Vec<Row>> = levels.iter().map(|_| Vec::new()).collect();
    let mut faults = Vec::new();
    for (name, folders) in PROGRAMS.iter().filter(|(n, _)| n.contains(&only)) {
        let texts = texts(name, folders)?;
        for ((level, flags, _), table) in levels.iter().copied().zip(&mut tables) {
            let program = build(name, &texts, level, flags, &dir)?;
            let rows = run(&program, turns.max(1))?;
            faults.extend(wrong(&rows));
            table.extend(rows);
        }
    }
    print!("{:20}", "");
    for (level, flags, _) in &levels {
        print!("{:^36}", format!("-O{level} {}", flags.join(" ")));
    }
    println!();
    let shown = |r: Option<f64>| r.map_or_else(|| "-".to_owned(), |r| format!("{r:.2}"));
    for (i, row) in tables.first().into_iter().flatten().enumerate() {
        print!("{:20}", row.name);
        for row in tables.iter().filter_map(|t| t.get(i)) {
            let [tangent, adjoint] = [1, 2].map(|w| shown(row.ratio(w)));
            print!("{:>12}{tangent:>12}{adjoint:>12}", shown(row.times[0]));
        }
        println!();
    }
    for ((level, flags, limits), table) in levels.iter().copied().zip(&tables) {
        for (w, name) in ["tangents", "adjoints"].into_iter().enumerate() {
            let mut ratios: Vec<f64> = table.iter().filter_map(|r| r.ratio(w + 1)).collect();
            ratios.sort_by(f64::total_cmp);
            let at = |part: f64| {
                let i = ((ratios.len() as f64 - 1.0) * part).round() as usize;
                ratios.get(i).copied().unwrap_or(0.0)
            };
            let flags = format!("-O{level} {}", flags.join(" "));
            println!(
                "{flags:20}{} {name}: median {:.2} (limit {}), quartiles {:.2} and {:.2}, worst {:.2}",
                ratios.len(),
                at(0.5),
                limits[w],
                at(0.25),
                at(0.75),
                at(1.0)
            );
            if only.is_empty() && at(0.5) > limits[w] {
                faults.push(format!(
                    "{flags}: {name} take {:.2} times as long as the routines, more than {}",
                    at(0.5),
                    limits[w]
                ));
            }
        }
    }
    Ok(faults)
}

/// Looks at the products of one program.
fn check() -> Result<Vec<String>, Failure> {
    let dir = tempfile::tempdir()?;
    let (name, folders) = PROGRAMS[6];
    let program = build(name, &texts(name, folders)?, "1", &[], dir.path())?;
    Ok(wrong(&run(&program, 1)?))
}

/// A program as text, in two files: what measures, and what is measured.
///
/// The compiler does not look from one into the other, so that a routine and its derivatives are
/// called as from any program, however small they are.
fn texts(name: &str, folders: &[&str]) -> Result<[String; 2], Failure> {
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/routines.ff");
    let files = files(name, folders, &library)?;
    let mut config = Config::default();
    config.cache.enabled = false;
    let (text, _) = expand(&files, ExpandStage::Final, &config)?;
    let mut units = vec![Vec::new()];
    for line in statements(&text) {
        let ends = line.trim() == "END" && line.starts_with(' ');
        if let Some(unit) = units.last_mut() {
            unit.push(line);
        }
        if ends {
            units.push(Vec::new());
        }
    }
    // What TANGEN and ADJOIN call.
    let mut generated = HashMap::new();
    for unit in &units {
        let Some(name) = unit.iter().find_map(|s| subroutine(s)) else {
            continue;
        };
        for s in unit {
            if let Some((callee, args)) = call(s)
                && ["TANGEN", "ADJOIN"].iter().any(|n| callee.starts_with(n))
                && callee
                    .rsplit('_')
                    .next()
                    .is_some_and(|s| s.starts_with('G'))
            {
                generated.insert(name.to_owned(), (callee.to_owned(), args));
            }
        }
    }
    let mut parts = [String::new(), String::new()];
    for unit in units {
        let first = unit
            .iter()
            .find(|s| !s.starts_with(['C', '!']) && !s.trim().is_empty());
        let name = unit
            .iter()
            .find_map(|s| subroutine(s))
            .unwrap_or_default()
            .to_owned();
        // Those that the lowering made copies of have more behind an underscore.
        let original = name.split('_').next().unwrap_or_default();
        let measures = MEASURING.contains(&original)
            || first.is_some_and(|s| s.trim_start().starts_with("PROGRAM"));
        for mut s in unit {
            if measures
                && ["FORWRD", "REVERS"].contains(&original)
                && let Some(at) = s.find("CALL TANGEN").or_else(|| s.find("CALL ADJOIN"))
                && let Some((callee, _)) = call(&s)
            {
                let (callee, args) = generated.get(callee).ok_or("a derivative is missing")?;
                let args: Option<Vec<&str>> = args.iter().map(|a| actual(a, original)).collect();
                // With more arguments, the whole block is timed.
                if let Some(args) = args {
                    s.replace_range(at.., &format!("CALL {callee}({})", args.join(", ")));
                }
            }
            let part = &mut parts[usize::from(!measures)];
            part.push_str(&s);
            part.push('\n');
        }
    }
    Ok(parts)
}

/// What the subroutines that measure pass for an argument of a generated one.
fn actual(dummy: &str, which: &str) -> Option<&'static str> {
    let derivative = dummy.contains("_G");
    Some(match (dummy.split('_').next()?, derivative, which) {
        ("N", false, _) => "N",
        ("M", false, _) => "M",
        ("X", false, _) => "W(1, J)",
        ("Y", false, _) => "Y(1, J)",
        ("X", true, "FORWRD") => "V",
        ("Y", true, "FORWRD") => "D(1, J)",
        ("X", true, _) => "G(1, J)",
        ("Y", true, _) => "U",
        _ => return None,
    })
}

/// The lines of a text in fixed form, each with its continuation lines.
fn statements(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("     +"), out.last_mut()) {
            (Some(rest), Some(last)) => {
                last.push(' ');
                last.push_str(rest.trim_start());
            }
            _ => out.push(line.to_owned()),
        }
    }
    out
}

/// The name of a subroutine that begins here.
fn subroutine(statement: &str) -> Option<&str> {
    let rest = statement.strip_prefix("      SUBROUTINE ")?;
    rest.split('(').next()
}

/// The name and the arguments of a call.
fn call(statement: &str) -> Option<(&str, Vec<String>)> {
    if statement.starts_with('C') {
        return None;
    }
    let (_, rest) = statement.split_once("CALL ")?;
    let (name, args) = rest.split_once('(')?;
    let args = args.strip_suffix(')')?;
    Some((name, args.split(", ").map(str::to_owned).collect()))
}

/// Compiles and links the texts.
fn build(
    name: &str,
    texts: &[String; 2],
    level: &str,
    flags: &[&str],
    dir: &Path,
) -> Result<PathBuf, Failure> {
    let program = dir.join(format!("{name}-O{level}"));
    let mut sources = Vec::new();
    for (text, part) in texts.iter().zip(["times", "derivatives"]) {
        let path = dir.join(format!("{name}-{part}.f"));
        std::fs::write(&path, text)?;
        sources.push(path);
    }
    let compiler = toolchain::find(&Config::default())?.path;
    let status = Command::new(&compiler)
        .args([
            &format!("-O{level}"),
            "-w",
            "-std=legacy",
            "-ffixed-line-length-none",
        ])
        .args(flags)
        .arg("-o")
        .arg(&program)
        .args(&sources)
        .status()?;
    match status.success() {
        true => Ok(program),
        false => Err(format!("{} refuses {name}: {status}", compiler.display()).into()),
    }
}

/// What a program measures.
fn run(program: &Path, turns: usize) -> Result<Vec<Row>, Failure> {
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    if let Some(mut input) = child.stdin.take() {
        writeln!(input, "{turns}")?;
    }
    let ended = child.wait_with_output()?;
    if !ended.status.success() {
        return Err(format!("{} ended with {}", program.display(), ended.status).into());
    }
    let mut rows = Vec::new();
    for line in String::from_utf8(ended.stdout)?.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name @ .., primal, tangent, adjoint, error] = words.as_slice() else {
            return Err(format!("{} wrote {line:?}", program.display()).into());
        };
        let time = |text: &str| -> Result<Option<f64>, Failure> {
            Ok(Some(text.parse::<f64>()?).filter(|t| *t >= 0.0))
        };
        rows.push(Row {
            name: name.join(" "),
            times: [time(primal)?, time(tangent)?, time(adjoint)?],
            error: error.parse()?,
        });
    }
    Ok(rows)
}

/// The routines whose dot products differ.
fn wrong(rows: &[Row]) -> Vec<String> {
    rows.iter()
        .filter(|r| r.error.is_nan() || r.error > TOLERANCE)
        .map(|r| format!("{}: the products differ by {:e}", r.name, r.error))
        .collect()
}
