//! The length of adjoints: lines of `farfel tapenade -b` beside Tapenade's, for the routines of
//! `tests/corpora/derivatives`, each with what it calls, everything active.
//!
//! `cargo bench -p farfel-benches --bench lines`, with `TAPENADE_HOME`, the location of Tapenade. The corpora must
//! exist (`cargo run -p farfel-tests --bin corpora` downloads them). `FARFEL_BENCH_ONLY` is a part of the names
//! PROGRAM/ROUTINE that are counted, `FARFEL_BENCH_KEEP` a folder to leave the adjoints in.
//!
//! All lines of a file count, except comments and empty ones. A routine that Tapenade or Farfel rejects is not counted.
//! Exits with 1 when the median or the sum of all exceeds its limit. Without `--bench`, it counts the lines of ours for one program.

// Printing a table is the purpose of this program.
#![allow(clippy::print_stdout)]

use farfel_benches::exit_code;
use farfel_tests::corpora::routines::{PROGRAMS, are_there, files_of, one_by_one};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// The most lines beside Tapenade's: in the median, in the sum, and in the sum without the subprograms that push, pop and
/// enlarge tapes, which Tapenade has in its library.
const MOST: [f64; 3] = [0.98, 1.0, 0.98];

/// The seconds that a tool has for one routine. Tapenade does not end with some.
const LONGEST: &str = "100";

type Failure = Box<dyn std::error::Error>;

/// The lines of ours and of Tapenade's.
struct Row {
    name: String,
    lines: [usize; 2],
    /// Those of ours that are in subprograms for tapes.
    of_tapes: usize,
}

impl Row {
    fn ratio(&self) -> f64 {
        self.lines[0] as f64 / self.lines[1] as f64
    }
}

fn main() -> ExitCode {
    let bench = std::env::args().any(|a| a == "--bench");
    if !PROGRAMS.iter().all(|(_, folders)| are_there(folders)) {
        println!("The corpora are not there; `cargo run -p farfel-tests --bin corpora` gets them");
        return ExitCode::SUCCESS;
    }
    let tapenade =
        std::env::var_os("TAPENADE_HOME").map(|home| PathBuf::from(home).join("bin/tapenade"));
    exit_code(match (bench, tapenade) {
        (true, Some(tapenade)) => compare(&tapenade),
        (true, None) => {
            println!("TAPENADE_HOME is not set");
            Ok(Vec::new())
        }
        (false, _) => check(),
    })
}

/// Counts everything and prints the tables. Returns the violations.
fn compare(tapenade: &Path) -> Result<Vec<String>, Failure> {
    let only = std::env::var("FARFEL_BENCH_ONLY").unwrap_or_default();
    let dir = tempfile::tempdir()?;
    let dir = match std::env::var_os("FARFEL_BENCH_KEEP") {
        Some(kept) => PathBuf::from(kept),
        None => dir.path().to_owned(),
    };
    let ours = ours();
    let mut tables: Vec<(&str, Vec<Row>)> = Vec::new();
    let mut rejected = Vec::new();
    for (program, folders) in PROGRAMS {
        let mut rows = Vec::new();
        for (head, file) in heads(program, folders, &dir)? {
            let name = format!("{program}/{head}");
            if !name.contains(&only) {
                continue;
            }
            let dir = dir.join(program);
            let own = lines(&ours, &dir.join("ours"), &head, &file)?;
            let other = lines(&[tapenade.as_os_str()], &dir.join("tapenade"), &head, &file)?;
            match (own, other) {
                (Some((own, of_tapes)), Some((other, _))) => rows.push(Row {
                    name,
                    lines: [own, other],
                    of_tapes,
                }),
                (own, _) => rejected.push((name, own.is_none())),
            }
        }
        tables.push((program, rows));
    }
    println!("| subprograms of | number | lines | median | sum |\n|---|---|---|---|---|");
    let mut all = Vec::new();
    for (program, rows) in tables {
        if !rows.is_empty() {
            summary(program, &rows);
        }
        all.extend(rows);
    }
    let [median, sum] = summary("all", &all);
    let [own, other] = [0, 1].map(|i| all.iter().map(|r| r.lines[i]).sum::<usize>());
    let of_tapes: usize = all.iter().map(|r| r.of_tapes).sum();
    let without = (own - of_tapes) as f64 / other as f64;
    println!("\nWithout the subprograms for tapes, {of_tapes} lines: {without:.3} in the sum");
    let first_ten = |what: &str, all: &[Row]| {
        println!("\n{what}:");
        for r in all.iter().take(10) {
            let [own, other] = r.lines;
            println!("{} {:.2} ({own} / {other})", r.name, r.ratio());
        }
    };
    all.sort_by(|a, b| b.ratio().total_cmp(&a.ratio()));
    first_ten("The worst ten", &all);
    all.sort_by_key(|r| r.lines[1] as i64 - r.lines[0] as i64);
    first_ten("The ten with the most lines more", &all);
    for (name, by_us) in &rejected {
        println!(
            "{name}: no adjoint by {}",
            if *by_us { "Farfel" } else { "Tapenade" }
        );
    }
    let mut violations = Vec::new();
    let limits = [
        ("the median", median, MOST[0]),
        ("the sum", sum, MOST[1]),
        ("the sum without subprograms for tapes", without, MOST[2]),
    ];
    for (of, ratio, most) in limits {
        if ratio > most && only.is_empty() {
            violations.push(format!("lines in {of}: {ratio:.3}, at most {most}"));
        }
    }
    Ok(violations)
}

/// Our command.
fn ours() -> [&'static OsStr; 2] {
    [env!("CARGO_BIN_EXE_farfel-benched"), "tapenade"].map(OsStr::new)
}

/// Prints a row of the table. Returns the median and the sum, in multiples of Tapenade's.
fn summary(name: &str, rows: &[Row]) -> [f64; 2] {
    let mut ratios: Vec<f64> = rows.iter().map(Row::ratio).collect();
    ratios.sort_by(f64::total_cmp);
    let median = ratios.get(ratios.len() / 2).copied().unwrap_or(f64::NAN);
    let all = |i: usize| rows.iter().map(|r| r.lines[i]).sum::<usize>();
    let sum = all(0) as f64 / all(1) as f64;
    println!(
        "| {name} | {} | {} / {} | {median:.2} | {sum:.3} |",
        rows.len(),
        all(0),
        all(1)
    );
    [median, sum]
}

/// Counts ours for one program.
fn check() -> Result<Vec<String>, Failure> {
    let dir = tempfile::tempdir()?;
    let (program, folders) = PROGRAMS[0];
    let Some((head, file)) = heads(program, folders, dir.path())?.pop_first() else {
        return Ok(vec![format!("{program} has no routines")]);
    };
    let ours = ours();
    let own = lines(&ours, dir.path(), &head, &file)?;
    Ok(match own {
        Some((n, _)) if n > 10 => Vec::new(),
        _ => vec![format!("{head} has no adjoint")],
    })
}

/// The subprograms of the corpora that a program calls in its routines, each with a file of all that it needs.
fn heads(
    program: &str,
    folders: &[&str],
    dir: &Path,
) -> Result<BTreeMap<String, PathBuf>, Failure> {
    let dir = dir.join(program);
    std::fs::create_dir_all(&dir)?;
    let (main, library) = (dir.join("main.ff"), dir.join("library.ff"));
    std::fs::write(
        &library,
        "      SUBROUTINE SCALAR\n      ENTRY VECTOR\n      ENTRY VECFWD\n      END\n",
    )?;
    let mut all = BTreeMap::new();
    for (_, text) in one_by_one(program)? {
        std::fs::write(&main, &text)?;
        let mut files = files_of(&main, folders, &library)?;
        files.retain(|f| *f != main && *f != library);
        let files: Vec<Source> = (files.iter())
            .map(|f| Source::read(f))
            .collect::<Result<_, _>>()?;
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let named: BTreeSet<String> = words.map(str::to_ascii_uppercase).collect();
        let defined: BTreeSet<String> = files.iter().flat_map(|f| f.defined.clone()).collect();
        for head in named.intersection(&defined) {
            let file = dir.join(format!("{head}.f"));
            std::fs::write(&file, with_called(head, &files))?;
            all.insert(head.clone(), file);
        }
    }
    Ok(all)
}

/// A source file.
struct Source {
    text: String,
    /// The subprograms in it, in upper case.
    defined: BTreeSet<String>,
    /// All words in it, in upper case.
    words: BTreeSet<String>,
}

impl Source {
    fn read(file: &Path) -> Result<Source, Failure> {
        let text = String::from_utf8_lossy(&std::fs::read(file)?).into_owned();
        let upper = text.to_ascii_uppercase();
        let code = upper.lines().filter(is_code);
        let words = code.flat_map(|l| l.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'));
        Ok(Source {
            defined: upper.lines().filter_map(defined_by).collect(),
            words: words.map(str::to_owned).collect(),
            text,
        })
    }
}

/// The files with a subprogram and what it calls.
fn with_called(head: &str, files: &[Source]) -> String {
    let mut wanted = BTreeSet::from([head]);
    let mut taken = vec![false; files.len()];
    let mut text = String::new();
    while let Some(i) = (0..files.len()).find(|i| {
        !taken[*i]
            && files[*i]
                .defined
                .iter()
                .any(|d| wanted.contains(d.as_str()))
    }) {
        taken[i] = true;
        wanted.extend(files[i].words.iter().map(String::as_str));
        text.push_str(&files[i].text);
        text.push('\n');
    }
    text
}

/// Whether a line is neither a comment nor empty.
fn is_code(line: &&str) -> bool {
    !line.starts_with(['C', 'c', '*', '!']) && !line.trim().is_empty()
}

/// The subprogram that a line in upper case begins.
fn defined_by(line: &str) -> Option<String> {
    let statement = line.strip_prefix("      ")?;
    let before = ["SUBROUTINE ", "FUNCTION "];
    let (_, rest) = before.iter().find_map(|b| statement.split_once(b))?;
    let name = rest
        .trim_start()
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .next();
    name.filter(|n| !n.is_empty()).map(str::to_owned)
}

/// The lines of the adjoint of a subprogram, and those of them that are in subprograms for tapes; `None` if there is none.
fn lines(
    tool: &[&OsStr],
    dir: &Path,
    head: &str,
    file: &Path,
) -> Result<Option<(usize, usize)>, Failure> {
    std::fs::create_dir_all(dir)?;
    let made = dir.join(format!("{head}_b.f"));
    let mut command = Command::new("timeout");
    command
        .arg(LONGEST)
        .args(tool)
        .args(["-b", "-head", head, "-o", head, "-O"])
        .arg(dir)
        .arg(file);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status()?;
    if !made.exists() {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&std::fs::read(made)?).into_owned();
    let code: Vec<&str> = text.lines().filter(is_code).collect();
    Ok(Some((code.len(), of_tapes(&code))))
}

/// The number of lines in subprograms that push, pop, make room and enlarge tapes.
fn of_tapes(code: &[&str]) -> usize {
    let words = ["_GROW_", "_PUSH_", "_PUSHN_", "_POP_", "_POPN_", "_ROOM_"];
    let begins =
        |l: &str| l.starts_with("      SUBROUTINE ") && words.iter().any(|w| l.contains(w));
    let mut inside = false;
    let mut found = 0;
    for line in code {
        inside |= begins(line);
        found += usize::from(inside);
        inside &= line.trim() != "END";
    }
    found
}
