//! A real Tapenade, if there is one, and the drop-in in its place.

use farfel_lang::diagnostic::any_errors;
use farfel_lang::syntax::NoIncludes;
use farfel_tools::dropin;
use farfel_tools::dropin::options::{Action, parse};
use farfel_tools::external::{Job, RunError, RunResult, Runner};
use farfel_tools::tapenade::{Options, Tapenade, Version};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// Starts a program in a fresh directory.
pub struct Program(pub PathBuf);

impl Runner for Program {
    fn run(&self, job: &Job) -> Result<RunResult, RunError> {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in &job.inputs {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        let out = Command::new(&self.0)
            .args(&job.args)
            .current_dir(dir.path())
            .output()
            .map_err(|e| RunError::NotStarted(e.to_string()))?;
        let output = String::from_utf8_lossy(&out.stdout).into_owned()
            + &String::from_utf8_lossy(&out.stderr);
        if !out.status.success() {
            return Err(RunError::Failed {
                status: out.status.to_string(),
                output,
            });
        }
        let mut files = BTreeMap::new();
        for entry in std::fs::read_dir(dir.path()).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            if entry.file_type().unwrap().is_file() && !job.inputs.iter().any(|(n, _)| *n == name) {
                let bytes = std::fs::read(entry.path()).unwrap();
                files.insert(name, bytes.iter().map(|b| char::from(*b)).collect());
            }
        }
        if let Some(file) = job.outputs.iter().find(|f| !files.contains_key(*f)) {
            let file = file.clone();
            return Err(RunError::Missing { file, output });
        }
        Ok(RunResult { output, files })
    }
}

/// Executes jobs with the drop-in.
pub struct DropIn;

impl Runner for DropIn {
    fn run(&self, job: &Job) -> Result<RunResult, RunError> {
        let failed = |output: String| RunError::Failed {
            status: "exit status: 1".to_owned(),
            output,
        };
        let options = match parse(&job.args) {
            Ok(Action::Differentiate(options)) => options,
            Ok(other) => return Err(failed(format!("{other:?}"))),
            Err(e) => return Err(failed(e.to_string())),
        };
        let files: Vec<(String, Arc<str>)> = options
            .files
            .iter()
            .map(|path| {
                let name = path.to_string_lossy().into_owned();
                let text = job.inputs.iter().find(|(n, _)| *n == name);
                let text = text.unwrap_or_else(|| panic!("{name} is no input"));
                (name, text.1.as_str().into())
            })
            .collect();
        let outcome = dropin::run(&options, &files, &mut NoIncludes);
        let output = outcome.general_messages.join("\n");
        if any_errors(&outcome.diagnostics) {
            return Err(failed(outcome.messages.text));
        }
        let mut ran = RunResult {
            output,
            ..RunResult::default()
        };
        for file in outcome.files.into_iter().chain([outcome.messages]) {
            ran.files.insert(file.name, file.text);
        }
        match job.outputs.iter().find(|o| !ran.files.contains_key(*o)) {
            Some(file) => Err(RunError::Missing {
                file: file.clone(),
                output: ran.output,
            }),
            None => Ok(ran),
        }
    }
}

/// Returns the drop-in, presented as a version of Tapenade.
pub fn drop_in(version: Version, options: Options) -> Tapenade {
    Tapenade {
        version,
        options: Options {
            allocates: true,
            ..options
        },
        runner: Arc::new(DropIn),
    }
}

/// Returns the tools to test with: always the drop-in, and the real one if there is one.
pub fn tools() -> Vec<Tapenade> {
    let drop_in = drop_in(Version::new(3, 16), Options::default());
    std::iter::once(drop_in)
        .chain(real(Options::default()))
        .collect()
}

/// Returns where the real one is installed.
#[expect(clippy::print_stderr, reason = "says which tests did not run")]
pub fn home() -> Option<PathBuf> {
    let home = std::env::var_os("TAPENADE_HOME").filter(|h| !h.is_empty());
    if home.is_none() {
        eprintln!("skipped: TAPENADE_HOME is not set, so there is no Tapenade to test with");
    }
    home.map(PathBuf::from)
}

/// Returns the real one; `None` with a message on standard error if there is none.
pub fn real(options: Options) -> Option<Tapenade> {
    let program = home()?.join("bin/tapenade");
    Some(Tapenade {
        version: version(&program),
        options,
        runner: Arc::new(Program(program)),
    })
}

fn version(program: &Path) -> Version {
    let out = Command::new(program).arg("-version").output().unwrap();
    let output = String::from_utf8_lossy(&out.stdout).into_owned();
    output.parse().unwrap_or_else(|e| panic!("{e}: {output}"))
}
