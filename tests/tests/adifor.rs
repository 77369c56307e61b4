//! ADIFOR 2, by way of the stand-in that obeys its conventions.

use farfel_ad::adifor::{Adifor, Options, Version, job};
use farfel_ad::external::{Job, Ran, RunError, Runner};
use farfel_ad::{AdTool, differentiate_all_warning};
use farfel_lang::ir::{Program, Request};
use farfel_lang::lower::{Stage, lower};
use farfel_lang::print::print_program;
use farfel_lang::resolve::resolve;
use farfel_lang::syntax::{Form, NoIncludes, parse};
use farfel_lang::{Diagnostic, Sources};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const PAPER: &str = include_str!("../../example-project/fortran-main/paper.ff");

/// Runs the stand-in, and remembers what it was asked for.
struct StandIn {
    fault: Option<&'static str>,
    limit: Duration,
    jobs: Mutex<Vec<Job>>,
}

impl StandIn {
    fn new(fault: Option<&'static str>) -> Arc<StandIn> {
        Arc::new(StandIn {
            fault,
            limit: Duration::from_secs(if fault.is_some() { 2 } else { 60 }),
            jobs: Mutex::new(Vec::new()),
        })
    }
}

impl Runner for StandIn {
    fn run(&self, job: &Job) -> Result<Ran, RunError> {
        self.jobs.lock().unwrap().push(job.clone());
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in &job.inputs {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        let said = dir.path().join("said");
        let mut command = Command::new(env!("CARGO_BIN_EXE_adifor-stand-in"));
        command
            .args(&job.args)
            .current_dir(dir.path())
            .stdin(Stdio::null())
            .stdout(std::fs::File::create(&said).unwrap());
        if let Some(f) = self.fault {
            command.env("ADIFOR_STAND_IN_FAULT", f);
        }
        let mut child = command.spawn().unwrap();
        let start = Instant::now();
        let status = loop {
            if let Some(s) = child.try_wait().unwrap() {
                break Some(s);
            }
            if start.elapsed() > self.limit {
                child.kill().unwrap();
                child.wait().unwrap();
                break None;
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let said_text = std::fs::read_to_string(&said).unwrap();
        std::fs::remove_file(&said).unwrap();
        let said = said_text;
        let Some(status) = status else {
            let seconds = self.limit.as_secs();
            return Err(RunError::TimedOut { seconds, said });
        };
        if !status.success() {
            let status = status.to_string();
            return Err(RunError::Failed { status, said });
        }
        let mut files = BTreeMap::new();
        gather(dir.path(), dir.path(), &mut files);
        files.retain(|f, _| job.inputs.iter().all(|(i, _)| i != f));
        if let Some(file) = job.outputs.iter().find(|o| !files.contains_key(*o)) {
            let file = file.clone();
            return Err(RunError::Missing { file, said });
        }
        Ok(Ran { said, files })
    }
}

fn gather(root: &Path, dir: &Path, files: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            gather(root, &path, files);
        } else {
            let name = path.strip_prefix(root).unwrap().to_string_lossy();
            let bytes = std::fs::read(&path).unwrap();
            files.insert(
                name.into_owned(),
                String::from_utf8_lossy(&bytes).into_owned(),
            );
        }
    }
}

/// A source lowered to what the AD tool gets.
fn lowered(source: &str) -> (Program, Vec<Request>, Sources) {
    let mut sources = Sources::new();
    let file = sources.add("test.ff", source);
    let parsed = parse(&mut sources, file, Some(Form::Fixed), &mut NoIncludes);
    let none = |d: Vec<Diagnostic>| {
        let errors: Vec<Diagnostic> = d.into_iter().filter(Diagnostic::is_error).collect();
        assert!(errors.is_empty(), "{errors:?}\n{source}");
    };
    none(parsed.diagnostics);
    let mut program = parsed.program;
    none(resolve(&mut program));
    let l = lower(program, Stage::Stage);
    none(l.diagnostics);
    (l.program, l.requests, sources)
}

/// What went wrong, as `line:column CODE message / help`.
fn show(found: &[Diagnostic], sources: &Sources) -> String {
    let lines: Vec<String> = found
        .iter()
        .map(|d| {
            let file = sources.get(d.span.file).expect("a place in the source");
            let place = file.line_column(d.span.start);
            let help = d.help.as_deref().map_or(String::new(), |h| format!(" / {h}"));
            format!("{}:{} {} {}{help}", place.line, place.column, d.rule.code, d.message)
        })
        .collect();
    lines.join("\n")
}

fn tool(runner: Arc<StandIn>, options: Options) -> Adifor {
    Adifor {
        version: Version { major: 2, minor: 1 },
        options,
        runner,
    }
}

/// All derivatives by the stand-in: Fortran and warnings, or the faults.
fn expand_with(source: &str, fault: Option<&'static str>, options: Options) -> Result<(String, String), String> {
    let (program, requests, sources) = lowered(source);
    let tool = tool(StandIn::new(fault), options);
    let mut warnings = Vec::new();
    match differentiate_all_warning(&tool, program, &requests, &mut warnings) {
        Ok(p) => Ok((print_program(&p, &Default::default()), show(&warnings, &sources))),
        Err(d) => Err(show(&d, &sources)),
    }
}

fn expand(source: &str) -> String {
    let (text, warnings) =
        expand_with(source, None, Options::default()).unwrap_or_else(|e| panic!("{e}\n{source}"));
    assert_eq!(warnings, "");
    text
}

/// Compiles and runs; each line of the output is `name value expected`.
fn check_text(fortran: &str, flags: &[&str], tolerance: f64) {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("test.f");
    std::fs::write(&source, fortran).unwrap();
    let exe = dir.path().join("test");
    let compiled = Command::new("gfortran")
        .args(["-std=legacy", "-Werror=line-truncation"])
        .args(flags)
        .arg(&source)
        .arg("-o")
        .arg(&exe)
        .output()
        .expect("the tests need gfortran");
    let errors = String::from_utf8_lossy(&compiled.stderr).into_owned();
    assert!(compiled.status.success(), "{errors}\n{fortran}");
    let ran = Command::new(&exe).output().unwrap();
    let out = String::from_utf8_lossy(&ran.stdout).into_owned();
    let errors = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "{out}{errors}\n{fortran}");
    let mut lines = 0;
    for line in out.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, value, expected] = words[..] else {
            panic!("cannot read {line:?}");
        };
        let (v, x): (f64, f64) = (value.parse().unwrap(), expected.parse().unwrap());
        let close = (v - x).abs() <= tolerance * x.abs().max(1.0);
        assert!(close, "{name}: {v} but expected {x}\n{fortran}");
        lines += 1;
    }
    assert!(lines > 0, "the program printed nothing\n{fortran}");
}

const CHECKED: &[&str] = &[
    "-O0",
    "-fcheck=all",
    "-ffpe-trap=invalid",
    "-finit-real=snan",
];

fn check(source: &str, tolerance: f64) -> String {
    let fortran = expand(source);
    check_text(&fortran, CHECKED, tolerance);
    check_text(&fortran, &["-O3"], tolerance);
    fortran
}

fn paper() -> String {
    PAPER
        .replace("      READ *, ASTAR\n", "      ASTAR = 0\n")
        .replace("      READ *, BSTAR\n", "      BSTAR = 0\n")
        .replace("      READ *, N\n", "      N = 20\n")
        .replace(
            "      PRINT *, ASTAR, BSTAR\n",
            "      PRINT *, 'A', ASTAR, 50.0\n      PRINT *, 'B', BSTAR, 50.0\n",
        )
}

/// Five runs, the later ones on what the earlier ones made. Single precision is good to
/// about 0.02 here: 4e-4 of 50.
#[test]
fn the_equilibrium_of_the_paper() {
    let fortran = expand(&paper());
    check_text(&fortran, CHECKED, 4e-4);
    check_text(&fortran, &["-O3"], 4e-4);
    check_text(&fortran, &["-O3", "-fdefault-real-8"], 2e-8);
    // The names that the paper has for Tapenade are the ones of the program, whatever the
    // tool calls its own.
    assert!(fortran.contains("SUBROUTINE DERIV2_1_2_ADF4_G4("), "{fortran}");
}

#[test]
fn scripts_and_compositions_of_the_paper() {
    let (program, requests, _) = lowered(&paper());
    let runner = StandIn::new(None);
    let tool = tool(runner.clone(), Options::default());
    differentiate_all_warning(&tool, program, &requests, &mut Vec::new()).unwrap();
    let jobs = runner.jobs.lock().unwrap();
    let mut text = String::new();
    for job in jobs.iter() {
        text += &format!("$ Adifor2.1 {}\n", job.args.join(" "));
        for (name, content) in &job.inputs {
            if !name.ends_with(".f") {
                text += &format!("--- {name}\n{content}");
            }
        }
        text += &format!("=> {}\n\n", job.outputs.join(" "));
    }
    insta::assert_snapshot!("adifor_jobs", text);
}
