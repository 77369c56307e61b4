//! The speed of reading real Fortran: SciPy's, LAPACK and CalculiX.
//!
//! `cargo run -p farfel-tests --bin corpora` downloads the sources; then `cargo bench -p farfel-benches
//! --bench corpora`. Without them there is nothing to measure, and it says so. Times are processor time on
//! one core, the minimum of five runs; with all files in parallel, wall-clock time.
//!
//! Exits with 1 when a line takes longer than it should, or when memory grows faster than the text. Without
//! `--bench`, as under `cargo test --benches`, it reads a few files.

// Printing a table is the purpose of this program.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use farfel_benches::{Clock, exit_code};
use farfel_lang::resolve::resolve;
use farfel_lang::syntax::{FixedFormLayout, Form, Loader, count_statements, parse};
use farfel_lang::{Sources, diagnostic::any_errors, ir::Program};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The minimum number of lines per second on one core, including name resolution.
const WANTED: f64 = 500_000.0;

/// The maximum growth of memory per line when the text is doubled.
const GROWTH: f64 = 1.25;

/// The number of runs.
const RUNS: usize = 5;

type Failure = Box<dyn std::error::Error>;

struct File {
    name: String,
    text: Arc<str>,
}

/// Loads INCLUDE files from the folder of the including file.
struct Folder;

impl Loader for Folder {
    fn load(&mut self, from: &str, name: &str) -> Result<(String, Arc<str>), String> {
        let folder = Path::new(from).parent().unwrap_or(Path::new("."));
        let path = folder.join(name.trim());
        let text = text_of(&path).map_err(|e| e.to_string())?;
        Ok((path.to_string_lossy().into_owned(), text))
    }
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let outcome = match arguments.next().as_deref() {
        Some("--memory") => memory(arguments.next().and_then(|n| n.parse().ok()).unwrap_or(1)),
        Some("--bench") => bench(),
        _ => trial(),
    };
    exit_code(outcome)
}

/// Returns the same folder as the tests use.
fn folder() -> PathBuf {
    match std::env::var_os("FARFEL_CORPORA") {
        Some(folder) if !folder.is_empty() => folder.into(),
        _ => Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/corpora"),
    }
}

fn text_of(path: &Path) -> std::io::Result<Arc<str>> {
    Ok(farfel_lang::encoding::decode(fs::read(path)?).into())
}

/// Returns all fixed-form files that need no preprocessor, sorted.
fn files() -> Result<Vec<File>, Failure> {
    fn walk(folder: &Path, files: &mut Vec<File>) -> std::io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                walk(&path, files)?;
            } else if path.extension().is_some_and(|e| e == "f") {
                files.push(File {
                    name: path.to_string_lossy().into_owned(),
                    text: text_of(&path)?,
                });
            }
        }
        Ok(())
    }
    let mut files = Vec::new();
    for corpus in ["scipy", "lapack", "calculix"] {
        let folder = folder().join(corpus);
        if folder.is_dir() {
            walk(&folder, &mut files)?;
        }
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}

fn nothing() -> Result<Vec<String>, Failure> {
    eprintln!(
        "NOTICE: the corpora are not there; `cargo run -p farfel-tests --bin corpora` gets them"
    );
    Ok(Vec::new())
}

fn trial() -> Result<Vec<String>, Failure> {
    let files = files()?;
    if files.is_empty() {
        return nothing();
    }
    for file in files.iter().take(20) {
        let (mut program, errors) = parsed(file);
        if !errors {
            resolve(&mut program);
        }
    }
    Ok(Vec::new())
}

fn parsed(file: &File) -> (Program, bool) {
    let mut sources = Sources::new();
    let id = sources.add(file.name.clone(), file.text.clone());
    let parsed = parse(&mut sources, id, Some(Form::Fixed), &mut Folder);
    (parsed.program, any_errors(&parsed.diagnostics))
}

/// Lexes, parses and resolves every file; returns the time for each.
fn passes(files: &[File]) -> Result<[Duration; 3], Failure> {
    let mut statements = 0;
    let mut clock = Clock::new()?;
    for file in files {
        let mut sources = Sources::new();
        let id = sources.add(file.name.clone(), file.text.clone());
        statements += count_statements(&sources, id, Form::Fixed, FixedFormLayout::default());
    }
    let lexing = clock.lap()?;
    let mut programs: Vec<_> = files.iter().map(parsed).collect();
    let reading = clock.lap()?;
    for (program, errors) in &mut programs {
        if !*errors {
            resolve(program);
        }
    }
    let resolving = clock.lap()?;
    if statements < files.len() {
        return Err("there are fewer statements than files".into());
    }
    Ok([lexing, reading, resolving])
}

fn bench() -> Result<Vec<String>, Failure> {
    let files = files()?;
    if files.is_empty() {
        return nothing();
    }
    let lines: usize = files.iter().map(|f| f.text.lines().count()).sum();
    println!(
        "{} files, {lines} lines; least of {RUNS} runs\n",
        files.len()
    );
    let mut best = passes(&files)?;
    for _ in 1..RUNS {
        for (best, again) in best.iter_mut().zip(passes(&files)?) {
            *best = again.min(*best);
        }
    }
    let speed = |time: Duration| lines as f64 / time.as_secs_f64();
    let [lexed, read, resolved] = best;
    println!("{:<42}{:>12.0} lines/s", "lexed", speed(lexed));
    println!("{:<42}{:>12.0} lines/s", "lexed and parsed", speed(read));
    println!("{:<42}{:>12.0} lines/s", "resolved", speed(resolved));
    let all = speed(read + resolved);
    println!(
        "{:<42}{all:>12.0} lines/s",
        "lexed, parsed and resolved, one core"
    );
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let parallel = (0..RUNS).map(|_| in_parallel(&files, workers)).min();
    let parallel = speed(parallel.unwrap_or_default());
    let label = format!("the same with {workers} threads, time that passes");
    println!("{label:<42}{parallel:>12.0} lines/s");
    let mut errors = Vec::new();
    if all < WANTED {
        errors.push(format!(
            "one core reads {all:.0} lines in a second, not {WANTED:.0}"
        ));
    }
    let (once, twice) = (memory_of(1)?, memory_of(2)?);
    println!("\nmemory of the programs, names resolved: {once:.0} bytes a line,");
    println!("{twice:.0} bytes a line of twice the text");
    if twice > GROWTH * once {
        errors.push(format!(
            "memory grows from {once:.0} to {twice:.0} bytes a line"
        ));
    }
    Ok(errors)
}

/// Does everything once more, on several threads.
fn in_parallel(files: &[File], workers: usize) -> Duration {
    let start = Instant::now();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (mut program, errors) = parsed(file);
                    if !errors {
                        resolve(&mut program);
                    }
                }
            });
        }
    });
    start.elapsed()
}

/// Returns the bytes per line that the programs of all files take, with this many copies of each, in a
/// separate process.
fn memory_of(copies: usize) -> Result<f64, Failure> {
    let output = Command::new(std::env::current_exe()?)
        .args(["--memory", &copies.to_string()])
        .output()?;
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

/// Keeps the programs in memory and prints how much the process has grown per line.
fn memory(copies: usize) -> Result<Vec<String>, Failure> {
    let files = files()?;
    let lines: usize = files.iter().map(|f| f.text.lines().count()).sum();
    let before = resident()?;
    let mut programs = Vec::new();
    for _ in 0..copies {
        programs.extend(files.iter().map(parsed));
    }
    for (program, errors) in &mut programs {
        if !*errors {
            resolve(program);
        }
    }
    let after = resident()?;
    let lines = lines * copies;
    println!("{}", after.saturating_sub(before) as f64 / lines as f64);
    drop(programs);
    Ok(Vec::new())
}

/// Returns the resident memory of this process in bytes.
fn resident() -> Result<u64, Failure> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"));
    let number = line.and_then(|l| l.split_whitespace().next());
    let kilobytes: u64 = number.ok_or("no VmRSS")?.parse()?;
    Ok(kilobytes * 1024)
}
