//! Records the timings of the steps.

use super::groups::WHOLE;
use crate::progress::Progress;
use crate::timings::{PassTime, StepOrigin, StepTime, Timings};
use farfel_lang::timing;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// The steps of the running build.
pub(crate) struct Recorder {
    start: Instant,
    steps: Mutex<Vec<StepTime>>,
    /// The times of the passes when it began.
    passes: timing::PassTimes,
    /// The progress of the build.
    pub progress: Arc<Progress>,
}

/// A running step.
pub(crate) struct Step {
    start: Instant,
    kind: &'static str,
    name: String,
    worker: usize,
    reason: Option<String>,
    pub saved_ms: Option<f64>,
}

impl Recorder {
    pub(crate) fn new() -> Recorder {
        Recorder {
            start: Instant::now(),
            steps: Mutex::new(Vec::new()),
            passes: timing::table(),
            progress: Arc::default(),
        }
    }

    /// Begins a step.
    pub(crate) fn begin(&self, kind: &'static str, name: impl Into<String>, worker: usize) -> Step {
        let name = name.into();
        self.progress.begin(worker, doing(kind, &name));
        Step {
            start: Instant::now(),
            kind,
            name,
            worker,
            reason: None,
            saved_ms: None,
        }
    }

    /// The result of a step is neither in the cache nor left from the last build, for this reason: a tool
    /// makes it.
    pub(crate) fn works(&self, step: &mut Step, reason: String) {
        step.reason = Some(reason);
        self.progress.works();
    }

    /// Ends a step. Returns its duration in milliseconds.
    pub(crate) fn end(&self, step: Step, from: StepOrigin) -> f64 {
        self.progress.end(step.worker);
        self.progress.over(step.kind, &step.name);
        if counts(step.kind) {
            self.progress.done(from);
        }
        let since = |t: Instant| t.duration_since(self.start).as_secs_f64() * 1e3;
        let step = StepTime {
            name: step.name,
            kind: step.kind.to_owned(),
            start_ms: since(step.start),
            end_ms: since(Instant::now()),
            from,
            worker: step.worker,
            reason: step.reason,
            saved_ms: step.saved_ms,
        };
        let took = step.duration_ms();
        self.steps
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(step);
        took
    }

    /// Returns the timings of all steps so far, in the order in which they began.
    pub(crate) fn timings(&self, jobs: usize) -> Timings {
        let mut steps = self
            .steps
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        steps.sort_by(|a, b| a.start_ms.total_cmp(&b.start_ms));
        Timings {
            steps,
            jobs,
            total_ms: self.start.elapsed().as_secs_f64() * 1e3,
            passes: self.passes(),
        }
    }

    /// Returns the times of the passes since the beginning, the longest first.
    fn passes(&self) -> Vec<PassTime> {
        let spent = timing::since(&self.passes).into_iter();
        let mut passes: Vec<PassTime> = spent
            .map(|(name, spent)| PassTime {
                name: name.to_owned(),
                runs: spent.runs,
                total_ms: spent.time.as_secs_f64() * 1e3,
            })
            .collect();
        passes.sort_by(|a, b| b.total_ms.total_cmp(&a.total_ms));
        passes
    }
}

/// Whether [`Progress`] counts steps of this kind, so that they must be announced.
fn counts(kind: &str) -> bool {
    matches!(kind, "request" | "compile")
}

/// Returns the description shown to people while a step is running.
fn doing(kind: &str, name: &str) -> String {
    let verb = match kind {
        "parse" => "reading",
        "lower" => "lowering",
        "preprocess" => "preprocessing",
        "request" => "differentiating",
        "generate" => "writing",
        "compile" => "compiling",
        "archive" => "archiving",
        kind => kind,
    };
    match name {
        // The whole program needs no name.
        WHOLE => verb.to_owned(),
        _ => format!("{verb} {name}"),
    }
}
