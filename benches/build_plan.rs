//! The cost of a build, and of builds when little or nothing has changed.
//!
//! `cargo bench -p farfel-benches --bench build_plan`. It generates a project with 200 AD requests, each in a
//! separate exported subprogram above a tree of functions. The package around it is created by `farfel new
//! --lib`, and cargo builds it; its build script runs the command of this package. The build script is
//! measured by running it again as cargo runs it. All of its work counts: the processor time of the script
//! and of the processes that it starts.
//!
//! Exits with 1 when a figure exceeds its limit; see [`LIMITS`]. Without `--bench`, as under `cargo test
//! --benches`, it uses a small project, measures no times, and only checks that each build performs the
//! expected steps.

// Printing a table is the purpose of this program.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use farfel_benches::children_time;
use farfel_benches::generate::{self, Generated};
use farfel_driver::timings::{StepOrigin, Timings};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// The number of requests of the project, and of the one that is only checked: enough for several objects.
const REQUESTS: (usize, usize) = (200, 10);

/// The number of parallel processes, for which the limits are given.
const JOBS: usize = 2;

/// The percentage of processor time that other processes may take for the machine to count as idle.
const MOST_DISTURBANCE: f64 = 8.0;

/// The measured figures with their limits.
const LIMITS: [(&str, Limit); 4] = [
    (
        "nothing changed: ms over cargo's own no-op",
        Limit::Most(30.0),
    ),
    (
        "one leaf changed: % of the cold build's work",
        Limit::Most(1.0),
    ),
    ("cold build: % of two processors", Limit::Least(85.0)),
    ("cache hit: % of the run that it saves", Limit::Most(2.0)),
];

#[derive(Clone, Copy)]
enum Limit {
    Most(f64),
    Least(f64),
}

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let timed = std::env::args().any(|a| a == "--bench");
    let outcome = if timed {
        bench()
    } else {
        check().map(|()| true)
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::from(2)
        }
    }
}

/// Measures everything and prints the table. Returns whether all figures are within their limits.
fn bench() -> Result<bool, Failure> {
    let turns: usize = match std::env::var("FARFEL_BENCH_TURNS") {
        Ok(turns) => turns.parse()?,
        Err(_) => 3,
    };
    let project = Project::generate(REQUESTS.0)?;
    project.cargo_build()?;
    let script = Script {
        program: project.built_script()?,
        project: &project,
        host: host()?,
    };
    let turns = turns.max(1);
    let over = project.over_cargo(7 * turns)?;
    let mut leaf = f64::INFINITY;
    let mut busy: f64 = 0.0;
    let mut hit = f64::INFINITY;
    let mut steps = f64::INFINITY;
    let mut disturbed = false;
    let mut cold_time = Vec::new();
    for turn in 0..turns {
        project.write(None)?;
        let cold = script.cold()?;
        // Changes another one each time; every eighth family has one request.
        project.write(Some(8 * (turn % 3)))?;
        let changed = script.run()?;
        // If other processes are at work, only the build itself knows whether its workers were busy.
        busy = busy.max(match cold.alone {
            true => percent(cold.work, cold.wall * JOBS as u32),
            false => 100.0 * cold.timings.parallelism(),
        });
        disturbed |= !cold.alone;
        steps = steps.min(percent_of_steps(&changed.timings, &cold.timings));
        leaf = leaf.min(percent(changed.work, cold.work));
        let again = script.taken_from_cache()?;
        hit = hit.min(hits(&again.timings));
        cold_time.push((cold, changed, again));
    }
    println!(
        "A project of {} AD requests, {JOBS} at once, best of {turns} turns\n",
        REQUESTS.0
    );
    for (cold, changed, again) in &cold_time {
        println!(
            "  cold {:.2} s (work {:.2} s), one leaf changed {:.3} s (work {:.3} s), all from the cache {:.3} s (work {:.3} s)",
            cold.wall.as_secs_f64(),
            cold.work.as_secs_f64(),
            changed.wall.as_secs_f64(),
            changed.work.as_secs_f64(),
            again.wall.as_secs_f64(),
            again.work.as_secs_f64()
        );
    }
    println!("\nOf differentiation and compilation alone, a changed leaf redoes {steps:.2} %.");
    if disturbed {
        println!(
            "Other processes were at work: use of the processors is the part of the time in which \
             the workers had something to do."
        );
    }
    println!("\n{:>10}  {:>8}", "measured", "limit");
    let mut good = true;
    for ((what, limit), measured) in LIMITS.into_iter().zip([over, leaf, busy, hit]) {
        let (sign, bound, holds) = match limit {
            Limit::Most(bound) => ("<=", bound, measured <= bound),
            Limit::Least(bound) => (">=", bound, measured >= bound),
        };
        let mark = if holds { "" } else { "   NOT KEPT" };
        println!("{measured:>10.2}  {sign} {bound:>5}  {what}{mark}");
        good &= holds;
    }
    Ok(good)
}

/// Checks that each kind of build performs the expected steps and no more.
fn check() -> Result<(), Failure> {
    let project = Project::generate(REQUESTS.1)?;
    let script = Script {
        program: env!("CARGO_BIN_EXE_build-script-benched").into(),
        project: &project,
        host: host()?,
    };
    let ran = |timings: &Timings, kind: &str| {
        let steps = timings.steps.iter();
        steps
            .filter(|s| s.kind == kind && s.from == StepOrigin::Ran)
            .count()
    };
    let cold = script.cold()?.timings;
    project.write(Some(0))?;
    let changed = script.run()?.timings;
    let unchanged = script.run()?.timings;
    let found = [&cold, &changed, &unchanged].map(|t| (ran(t, "request"), ran(t, "compile")));
    if found[0].0 != REQUESTS.1 || found[1] != (1, 1) || found[2] != (0, 0) {
        return Err(format!(
            "requests and compilations of a cold build, one with a changed leaf and one with \
             no change: {found:?}"
        )
        .into());
    }
    Ok(())
}

fn percent(part: Duration, of: Duration) -> f64 {
    100.0 * part.as_secs_f64() / of.as_secs_f64()
}

/// Returns the time for differentiation, writing and compilation, as a percentage of another build's.
fn percent_of_steps(part: &Timings, of: &Timings) -> f64 {
    let made = |timings: &Timings| -> f64 {
        let steps = timings.steps.iter().filter(|s| {
            s.from == StepOrigin::Ran
                && ["request", "generate", "compile"].contains(&s.kind.as_str())
        });
        steps
            .map(farfel_driver::timings::StepTime::duration_ms)
            .sum()
    };
    100.0 * made(part) / made(of)
}

/// Returns the time for the cache hits of a build, as a percentage of the time that they saved.
fn hits(timings: &Timings) -> f64 {
    let hits = timings.steps.iter().filter(|s| s.from == StepOrigin::Cache);
    let (took, saved) = hits.fold((0.0, 0.0), |(took, saved), s| {
        (
            took + s.duration_ms(),
            saved + s.saved_ms.unwrap_or_default(),
        )
    });
    // Without a hit nothing was saved, and there is no percentage.
    if saved > 0.0 {
        100.0 * took / saved
    } else {
        f64::INFINITY
    }
}

/// Generates a program with these requests, and about a hundred lines for each.
fn program(requests: usize, changed_leaf: Option<usize>) -> Generated {
    let program = generate::Project::new(100 * requests, requests);
    match changed_leaf {
        Some(family) => program.change_leaf(family).generate(),
        None => program.generate(),
    }
}

/// A project in a temporary directory; cargo's target directory is permanent, so that dependencies are
/// compiled only once.
struct Project {
    _dir: tempfile::TempDir,
    directory: PathBuf,
    requests: usize,
    target: PathBuf,
}

impl Project {
    fn generate(requests: usize) -> Result<Project, Failure> {
        let dir = tempfile::tempdir()?;
        let repository = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("..")
            .canonicalize()?;
        let exports: Vec<String> = program(requests, None)
            .exports
            .iter()
            .map(|name| format!("{name:?}"))
            .collect();
        let directory = dir.path().join("planned");
        run(Command::new(env!("CARGO_BIN_EXE_farfel-benched"))
            .args(["new", "-q", "--lib", "--vcs", "none", "--farfel-path"])
            .args([&repository, &directory]))?;
        let manifest = fs::read_to_string(directory.join("Cargo.toml"))?;
        let exports = format!(
            "\n[package.metadata.farfel]\nexports = [{}]\n",
            exports.join(", ")
        );
        // Replaces the sources of the template by the generated ones.
        fs::remove_dir_all(directory.join("fortran"))?;
        let project = Project {
            target: Path::new(env!("CARGO_TARGET_TMPDIR")).join("build-plan"),
            requests,
            directory,
            _dir: dir,
        };
        let root = &project.directory;
        for folder in ["fortran", "out", "cache"] {
            fs::create_dir(root.join(folder))?;
        }
        fs::write(root.join("Cargo.toml"), manifest + &exports)?;
        fs::write(
            root.join("src/lib.rs"),
            "farfel_runtime::include_bindings!();\n",
        )?;
        project.write(None)?;
        Ok(project)
    }

    /// Writes the sources, with a change in the named leaf, if any.
    fn write(&self, changed_leaf: Option<usize>) -> std::io::Result<()> {
        for (name, text) in program(self.requests, changed_leaf).files {
            fs::write(self.directory.join("fortran").join(name), text)?;
        }
        Ok(())
    }

    fn in_it(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(&self.directory)
            .env("CARGO_TARGET_DIR", &self.target)
            .env("FARFEL_CACHE_DIR", self.directory.join("cache"))
            .env("FARFEL", env!("CARGO_BIN_EXE_farfel-benched"))
            .stdin(Stdio::null());
        command
    }

    fn cargo_build(&self) -> Result<(), Failure> {
        run(self.in_it(&cargo()).arg("build"))
    }

    /// Returns the build script that cargo compiled last.
    fn built_script(&self) -> Result<PathBuf, Failure> {
        let mut newest = None;
        for entry in fs::read_dir(self.target.join("debug/build"))? {
            let path = entry?.path();
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let program = path.join("build-script-build");
            if name.starts_with("planned-") && program.is_file() {
                let time = fs::metadata(&program)?.modified()?;
                newest = newest.max(Some((time, program)));
            }
        }
        Ok(newest.ok_or("cargo has left no build script")?.1)
    }

    /// Returns how much longer `farfel build` takes than `cargo build` when nothing has changed, in
    /// milliseconds: the minimum of each, in turns.
    fn over_cargo(&self, turns: usize) -> Result<f64, Failure> {
        let farfel = PathBuf::from(env!("CARGO_BIN_EXE_farfel-benched"));
        let programs = [farfel, cargo()];
        let mut best = [f64::INFINITY; 2];
        // The first turn only updates what each tool records for the next one.
        for turn in 0..=turns {
            for (program, best) in programs.iter().zip(&mut best) {
                let since = Instant::now();
                run(self.in_it(program).arg("build"))?;
                if turn > 0 {
                    *best = best.min(since.elapsed().as_secs_f64() * 1e3);
                }
            }
        }
        println!(
            "Nothing changed: farfel build {:.1} ms, cargo build {:.1} ms\n",
            best[0], best[1]
        );
        Ok(best[0] - best[1])
    }
}

/// A build script, run as cargo runs it.
struct Script<'a> {
    program: PathBuf,
    project: &'a Project,
    host: String,
}

/// The measurements of one run.
struct Build {
    wall: Duration,
    /// Whether no other process took much processor time meanwhile.
    alone: bool,
    /// The processor time of the script and of the processes that it started.
    work: Duration,
    timings: Timings,
}

impl Script<'_> {
    fn out(&self) -> PathBuf {
        self.project.directory.join("out")
    }

    /// Runs the build without results of earlier builds.
    fn cold(&self) -> Result<Build, Failure> {
        empty(&self.project.directory.join("cache"))?;
        self.taken_from_cache()
    }

    /// Runs the build with the cache, but without other results of earlier builds.
    fn taken_from_cache(&self) -> Result<Build, Failure> {
        empty(&self.out())?;
        self.run()
    }

    fn run(&self) -> Result<Build, Failure> {
        let (since, before, idle_before) = (Instant::now(), children_time()?, idle());
        run(self
            .project
            .in_it(&self.program)
            .env("CARGO_MANIFEST_DIR", &self.project.directory)
            .env("CARGO_PKG_NAME", "planned")
            .env("CARGO_PKG_VERSION", "0.1.0")
            .env("OUT_DIR", self.out())
            .env("HOST", &self.host)
            .env("TARGET", &self.host)
            .env("OPT_LEVEL", "0")
            .env("DEBUG", "true")
            .env("PROFILE", "debug")
            .env("NUM_JOBS", JOBS.to_string())
            // If cargo runs this program, its jobserver is not meant for the script.
            .env_remove("CARGO_MAKEFLAGS")
            .env_remove("MAKEFLAGS"))?;
        let (wall, work) = (since.elapsed(), children_time()?.saturating_sub(before));
        let idle = idle_before
            .zip(idle())
            .map(|(before, now)| now.saturating_sub(before));
        Ok(Build {
            wall,
            alone: idle.is_none_or(|idle| {
                percent(work + idle, wall * JOBS as u32) > 100.0 - MOST_DISTURBANCE
            }),
            work,
            timings: Timings::read(&self.out())?.ok_or("the build has left no timings")?,
        })
    }
}

/// Returns the total idle time of all processors. `None` if that is not known, or if there are more
/// processors than the script may use.
fn idle() -> Option<Duration> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let processors = text.lines().filter(|l| {
        l.strip_prefix("cpu")
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    });
    if processors.count() != JOBS {
        return None;
    }
    // User, nice, system, idle, waiting for input and output: in hundredths of a second.
    let figures: Vec<u64> = text
        .lines()
        .next()?
        .split_whitespace()
        .skip(1)
        .map_while(|f| f.parse().ok())
        .collect();
    Some(Duration::from_millis(
        10 * (figures.get(3)? + figures.get(4)?),
    ))
}

fn empty(dir: &Path) -> std::io::Result<()> {
    fs::remove_dir_all(dir)?;
    fs::create_dir(dir)
}

fn cargo() -> PathBuf {
    std::env::var_os("CARGO").map_or_else(|| "cargo".into(), PathBuf::from)
}

/// Returns the host triple of rustc.
fn host() -> Result<String, Failure> {
    let output = Command::new("rustc").arg("-vV").output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = text.lines().find_map(|l| l.strip_prefix("host: "));
    Ok(host
        .ok_or("rustc does not say what its host is")?
        .to_owned())
}

/// Runs a command that must succeed.
fn run(command: &mut Command) -> Result<(), Failure> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!(
        "{:?} ended with {}: {}{}",
        command.get_program(),
        output.status,
        String::from_utf8_lossy(&output.stderr),
        String::from_utf8_lossy(&output.stdout)
    )
    .into())
}
