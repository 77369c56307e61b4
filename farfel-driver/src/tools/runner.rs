//! Runs an AD tool in a directory of its own.

use crate::files::{Scratch, private_directory};
use crate::process::{self, Limits, Output, ProcessError};
use farfel_lang::encoding::{decode, encode};
use farfel_tools::external::{Job, RunError, RunResult, Runner};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Runs a tool, each time in a fresh directory that is removed afterwards.
///
/// The tool reads and writes files in this directory, which is its working directory; `HOME` and the
/// directory for temporary files are beside it. Standard input is empty. At the time limit, and when this
/// process ends, the tool is killed with all processes that it started, on Linux including those in the
/// background.
///
/// Only the necessary part of the environment is passed on, so that equal jobs have equal results: `PATH`
/// (without relative directories, which would be inside the run's directory), `LD_LIBRARY_PATH` and
/// `DYLD_LIBRARY_PATH`, `JAVA_HOME`, `TAPENADE_HOME`, `AD_HOME`, `AD_LIB` and `AD_OS`; on Windows also what
/// every program needs there. `LC_ALL` is `C` and `TZ` is `UTC`.
#[derive(Debug, Clone)]
pub struct ToolRunner {
    program: PathBuf,
    prefix: Vec<String>,
    timeout: Duration,
}

/// The environment variables that are passed on.
const PASSED: &[&str] = &[
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "JAVA_HOME",
    "TAPENADE_HOME",
    "AD_HOME",
    "AD_LIB",
    "AD_OS",
    "SystemRoot",
    "SystemDrive",
    "windir",
    "ComSpec",
    "PATHEXT",
];

/// The maximum number of bytes kept of a tool's output.
const SAID: usize = 16 << 20;

/// The maximum number of files taken from a run, and the maximum of their total size in bytes.
const MOST_FILES: usize = 10_000;
const MOST_BYTES: u64 = 256 << 20;

/// The maximum depth below the run's directory from which files are taken.
const DEPTH: usize = 2;

impl ToolRunner {
    /// Creates a runner of `program` that gives up after `timeout`. `prefix` are arguments that precede those
    /// of the job.
    pub fn new(
        program: impl Into<PathBuf>,
        prefix: impl IntoIterator<Item = String>,
        timeout: Duration,
    ) -> ToolRunner {
        ToolRunner {
            program: program.into(),
            prefix: prefix.into_iter().collect(),
            timeout,
        }
    }

    fn limits(&self) -> Limits {
        Limits {
            time: self.timeout,
            output: SAID,
            together: true,
            strays: true,
        }
    }

    fn command(&self, job: &Job, at: &Directories) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.prefix)
            .args(&job.args)
            .current_dir(&at.run)
            .env_clear()
            .env("PATH", absolute_path())
            .env("LC_ALL", "C")
            .env("TZ", "UTC")
            .env("HOME", &at.home);
        for name in ["TMPDIR", "TMP", "TEMP"] {
            command.env(name, &at.home);
        }
        for name in PASSED {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command
    }
}

impl Runner for ToolRunner {
    fn run(&self, job: &Job) -> Result<RunResult, RunError> {
        let started = |why: String| RunError::NotStarted(why);
        check(job).map_err(started)?;
        let mut scratch = Scratch::new().map_err(|e| started(e.to_string()))?;
        let at = Directories::new(scratch.path(), job).map_err(started)?;
        let mut command = self.command(job, &at);
        let ran = process::run_watched(&mut command, &self.limits(), scratch.watch());
        let Output { status, stdout, .. } = match ran {
            Ok(output) => output,
            Err(ProcessError::NotStarted(e)) => {
                return Err(started(format!("{}: {e}", self.program.display())));
            }
            Err(ProcessError::TimedOut {
                limit,
                output: said,
            }) => {
                return Err(RunError::TimedOut {
                    seconds: limit.as_secs(),
                    output: decode(said),
                });
            }
            Err(e @ ProcessError::Lost(_)) => {
                return Err(RunError::Failed {
                    status: e.to_string(),
                    output: String::new(),
                });
            }
        };
        let said = decode(stdout);
        let failed = |status: String, said: &str| RunError::Failed {
            status,
            output: said.to_owned(),
        };
        if !status.success() {
            return Err(failed(status.to_string(), &said));
        }
        let files = collect(&at.run, job).map_err(|why| failed(why, &said))?;
        match job.outputs.iter().find(|o| !files.contains_key(*o)) {
            Some(file) => Err(RunError::Missing {
                file: file.clone(),
                output: said,
            }),
            None => Ok(RunResult {
                output: said,
                files,
            }),
        }
    }
}

/// The directories of a run, beside each other in its scratch directory.
struct Directories {
    run: PathBuf,
    home: PathBuf,
}

impl Directories {
    /// Creates the directories, with the inputs of a job.
    fn new(scratch: &Path, job: &Job) -> Result<Directories, String> {
        let at = Directories {
            run: scratch.join("run"),
            home: scratch.join("home"),
        };
        for directory in [&at.run, &at.home] {
            private_directory(directory).map_err(|e| format!("{}: {e}", directory.display()))?;
        }
        for (name, text) in &job.inputs {
            fs::write(at.run.join(name), encode(text)).map_err(|e| format!("input {name}: {e}"))?;
        }
        Ok(at)
    }
}

/// Rejects names of inputs that are not plain file names.
fn check(job: &Job) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for (name, _) in &job.inputs {
        let strange = |c: char| c.is_control() || matches!(c, '/' | '\\' | ':');
        if name.is_empty()
            || name.starts_with('-')
            || [".", ".."].contains(&name.as_str())
            || name.contains(strange)
        {
            return Err(format!(
                "`{}` is not a valid name for an input",
                name.escape_debug()
            ));
        }
        if !seen.insert(name) {
            return Err(format!("the input {name} is given twice"));
        }
    }
    Ok(())
}

/// Returns `PATH` without relative directories: a tool runs in a directory with files derived from sources,
/// none of which must be mistaken for a program.
fn absolute_path() -> OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let absolute = std::env::split_paths(&path).filter(|d| d.is_absolute());
    // Joining only fails for parts that splitting cannot produce.
    std::env::join_paths(absolute).unwrap_or_default()
}

/// Returns the files that a run has left, except its inputs. Their names must have no odd characters, their
/// contents must be text, and links are not followed.
fn collect(run: &Path, job: &Job) -> Result<BTreeMap<String, String>, String> {
    let mut files = BTreeMap::new();
    let mut left = MOST_BYTES;
    // The directory itself may have been replaced by a link.
    if !fs::symlink_metadata(run).is_ok_and(|m| m.is_dir()) {
        return Ok(files);
    }
    let walk = walkdir::WalkDir::new(run)
        .max_depth(DEPTH + 1)
        .sort_by_file_name();
    for entry in walk {
        let entry = entry.map_err(|e| format!("what it left cannot be read: {e}"))?;
        let Some(name) = name_below(run, entry.path()) else {
            continue;
        };
        // Skip links, pipes and devices.
        if !entry.file_type().is_file() || job.inputs.iter().any(|(input, _)| *input == name) {
            continue;
        }
        if files.len() == MOST_FILES {
            return Err(format!("it left more than {MOST_FILES} files"));
        }
        let bytes = fs::File::open(entry.path())
            .and_then(|file| {
                let mut bytes = Vec::new();
                file.take(left + 1).read_to_end(&mut bytes)?;
                Ok(bytes)
            })
            .map_err(|e| format!("{name}, which it left, cannot be read: {e}"))?;
        let Some(rest) = left.checked_sub(bytes.len() as u64) else {
            return Err(format!("it left more than {} MiB", MOST_BYTES >> 20));
        };
        left = rest;
        if !bytes.contains(&0) {
            files.insert(name, decode(bytes));
        } else if job.outputs.contains(&name) {
            return Err(format!("{name}, which it left, is not text"));
        }
    }
    Ok(files)
}

/// Returns the path of a file relative to the run's directory, with slashes; `None` if a part of it has
/// control characters or is not UTF-8.
fn name_below(run: &Path, path: &Path) -> Option<String> {
    let parts: Option<Vec<&str>> = path
        .strip_prefix(run)
        .ok()?
        .components()
        .map(|c| c.as_os_str().to_str())
        .collect();
    let name = parts?.join("/");
    (!name.is_empty() && !name.contains(char::is_control)).then_some(name)
}
