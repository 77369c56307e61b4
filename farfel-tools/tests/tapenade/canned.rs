//! A tool whose messages and output a test determines.

use farfel_tools::external::{Job, RunError, RunResult, Runner};
use farfel_tools::tapenade::{Options, Tapenade, Version};
use std::sync::{Arc, Mutex};

/// Gives every job the same answer, and records the jobs.
pub struct Canned {
    answer: Result<RunResult, RunError>,
    pub jobs: Mutex<Vec<Job>>,
}

impl Runner for Canned {
    fn run(&self, job: &Job) -> Result<RunResult, RunError> {
        self.jobs.lock().unwrap().push(job.clone());
        self.answer.clone()
    }
}

pub fn answering(answer: Result<RunResult, RunError>) -> Tapenade {
    Tapenade {
        version: Version {
            major: 3,
            minor: 16,
        },
        options: Options::default(),
        runner: Arc::new(Canned {
            answer,
            jobs: Mutex::default(),
        }),
    }
}

/// Returns a tool that writes this derivative of HEAD and these messages.
pub fn writing(text: &str, messages: &str) -> Tapenade {
    answering(Ok(RunResult {
        output: String::new(),
        files: [
            ("head_g1.f".to_owned(), text.to_owned()),
            ("head_g1.msg".to_owned(), messages.to_owned()),
        ]
        .into(),
    }))
}
