//! The interface to AD tools that are separate programs: what an adapter wants to be run, and what
//! it gets back.
//!
//! An adapter is pure: it creates a [`Job`] from a request and reads the result. The [`Runner`],
//! which owns processes and files, is implemented elsewhere. The job contains everything that a run
//! reads, so equal jobs have equal results, and a runner may cache them.

use farfel_lang::ir::DefaultSizes;
use farfel_lang::syntax::{Form, ReadOptions};
use std::collections::BTreeMap;

/// One run of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Job {
    /// The files that the run reads: names without directories, and contents. The run starts in a
    /// directory that contains these and nothing else.
    pub inputs: Vec<(String, String)>,
    /// The command-line arguments. They never pass through a shell.
    pub args: Vec<String>,
    /// The files that a successful run creates; if any is missing, the run has failed.
    pub outputs: Vec<String>,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunResult {
    /// Its standard output and standard error.
    pub output: String,
    /// The files that were not there before, by name relative to the directory of the run, with
    /// slashes. Bytes that are not UTF-8 are read as Latin-1.
    pub files: BTreeMap<String, String>,
}

/// Why a run has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunError {
    /// It could not be started.
    NotStarted(String),
    /// It was stopped after the time limit.
    TimedOut {
        /// The limit in seconds.
        seconds: u64,
        /// Its output until then.
        output: String,
    },
    /// It ended with a status other than success, or was killed by a signal.
    Failed {
        /// The status in words: `exit status: 1`.
        status: String,
        /// Its output.
        output: String,
    },
    /// It succeeded but did not create all of [`Job::outputs`].
    Missing {
        /// The first file that is missing.
        file: String,
        /// Its output.
        output: String,
    },
}

/// Runs a tool.
pub trait Runner: Send + Sync {
    /// Runs the tool once, in a fresh directory.
    ///
    /// # Errors
    ///
    /// See [`RunError`].
    fn run(&self, job: &Job) -> Result<RunResult, RunError>;

    /// Called when the adapter has read the result of a run and found it complete: from now on it
    /// may be cached. A tool that writes half a file and exits successfully is only found out by
    /// reading, so nothing may be cached before.
    fn accept(&self, job: &Job, ran: &RunResult) {
        let _ = (job, ran);
    }
}

/// How the source text of a run is read, given the size of a default REAL in bytes.
pub(crate) fn fixed_form(real: u8) -> ReadOptions {
    ReadOptions {
        form: Some(Form::Fixed),
        sizes: DefaultSizes {
            real,
            ..DefaultSizes::default()
        },
        ..ReadOptions::default()
    }
}
