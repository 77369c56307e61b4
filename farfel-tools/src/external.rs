//! AD tools that are programs of their own: what an adapter asks to be run, and what it
//! gets back.
//!
//! An adapter is pure: it makes a [`Job`] of a request and reads what came back. Somebody
//! else, who owns processes and files, is the [`Runner`]. Everything that a run reads is in
//! the job, so equal jobs have equal results, and a runner may remember them.

use std::collections::BTreeMap;

/// One run of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Job {
    /// The files that it reads: names without directories, and texts. The run starts in a
    /// directory that has these and nothing else.
    pub inputs: Vec<(String, String)>,
    /// Its arguments, in order. They never pass through a shell.
    pub args: Vec<String>,
    /// The files that a good run leaves; one that leaves not all of them has failed.
    pub outputs: Vec<String>,
}

/// What a run left.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ran {
    /// What it wrote to standard output and standard error.
    pub said: String,
    /// The files that were not there before, by name relative to the directory of the run,
    /// with slashes. Bytes that are no UTF-8 are read as Latin-1.
    pub files: BTreeMap<String, String>,
}

/// Why a run gave nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunError {
    /// It could not be started.
    NotStarted(String),
    /// It was given up after so many seconds.
    TimedOut {
        /// The limit.
        seconds: u64,
        /// What it had said.
        said: String,
    },
    /// It ended with a status that is not success, or by a signal.
    Failed {
        /// The status in words: `exit status: 1`.
        status: String,
        /// What it had said.
        said: String,
    },
    /// It ended well and left not all of [`Job::outputs`].
    Missing {
        /// The first file that is not there.
        file: String,
        /// What it had said.
        said: String,
    },
}

/// Runs a tool.
pub trait Runner: Send + Sync {
    /// Runs the tool once, in a directory of its own.
    ///
    /// # Errors
    ///
    /// Whatever [`RunError`] says.
    fn run(&self, job: &Job) -> Result<Ran, RunError>;

    /// The adapter has read what a run left, and it is whole: from here on it may be
    /// remembered. A tool that writes half a file and ends as if all were well is found out
    /// by reading only, so nothing is to be remembered before.
    fn accept(&self, job: &Job, ran: &Ran) {
        let _ = (job, ran);
    }
}
