//! The progress of a build, for front ends that show it.
//!
//! A build records what it does and never waits for observers. Only the expensive units of work count as
//! steps: an object file, a derivative, a part of a large library.

use crate::timings::{StepOrigin, StepTime, Timings};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The progress that a build records.
#[derive(Default)]
pub struct Progress {
    state: Mutex<State>,
    on_work: Mutex<Option<Call>>,
}

/// What is called once, from any thread.
type Call = Box<dyn FnOnce() + Send>;

#[derive(Debug, Default)]
struct State {
    done: usize,
    kept: usize,
    steps: usize,
    /// What each worker is doing, by its number.
    running: Vec<Option<String>>,
    /// The durations in the last build, in milliseconds, of steps that this build has not finished yet, by
    /// kind and name.
    expected: BTreeMap<(String, String), f64>,
    /// The number of parallel workers.
    jobs: usize,
}

/// A snapshot of a build's progress.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ProgressSnapshot {
    /// The number of finished steps.
    pub done: usize,
    /// The number of known steps, finished or not. It may still grow.
    pub steps: usize,
    /// The number of finished steps whose result already existed, in a cache or from the last build.
    pub kept: usize,
    /// What the workers are doing.
    pub running: Vec<String>,
    /// The estimated remaining time in seconds, from the durations of the remaining steps in the last build.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<u64>,
}

impl Progress {
    /// Returns the current progress.
    pub fn now(&self) -> ProgressSnapshot {
        let state = self.lock();
        ProgressSnapshot {
            done: state.done,
            steps: state.steps.max(state.done),
            kept: state.kept,
            running: state.running.iter().flatten().cloned().collect(),
            left: state.left(),
        }
    }

    /// Calls this when the first step finds nothing to reuse and runs a tool. A build that finds everything in
    /// place never calls it.
    pub fn on_work(&self, call: impl FnOnce() + Send + 'static) {
        *self.on_work.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(call));
    }

    /// A tool runs.
    pub(crate) fn works(&self) {
        let mut call = self.on_work.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(call) = call.take() {
            call();
        }
    }

    /// Sets the expected steps to those of the last build, all of which may have to be repeated.
    pub(crate) fn estimate_from(&self, last: &Timings, jobs: usize) {
        let time = |s: &StepTime| s.saved_ms.unwrap_or_else(|| s.duration_ms());
        let steps = last.steps.iter();
        let mut state = self.lock();
        state.expected = steps
            .map(|s| ((s.kind.clone(), s.name.clone()), time(s)))
            .collect();
        state.jobs = jobs;
    }

    /// Records that a step is over, whether it counts or not.
    pub(crate) fn over(&self, kind: &str, name: &str) {
        let step = (kind.to_owned(), name.to_owned());
        self.lock().expected.remove(&step);
    }

    /// Adds to the number of known steps.
    pub(crate) fn announce(&self, steps: usize) {
        self.lock().steps += steps;
    }

    /// Records that a worker begins something.
    pub(crate) fn begin(&self, worker: usize, what: String) {
        let running = &mut self.lock().running;
        if running.len() <= worker {
            running.resize(worker + 1, None);
        }
        running[worker] = Some(what);
    }

    /// Records that a worker has finished.
    pub(crate) fn end(&self, worker: usize) {
        if let Some(place) = self.lock().running.get_mut(worker) {
            *place = None;
        }
    }

    /// Records that a step is done.
    pub(crate) fn done(&self, from: StepOrigin) {
        let mut state = self.lock();
        state.done += 1;
        state.kept += usize::from(from != StepOrigin::Ran);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Estimates the remaining time in seconds; `None` if it is short.
    fn left(&self) -> Option<u64> {
        const WORTH_SAYING: f64 = 3.0;
        let expected: f64 = self.expected.values().sum();
        let seconds = expected / 1e3 / self.jobs.max(1) as f64;
        let is_over = self.steps > 0 && self.done >= self.steps;
        (seconds >= WORTH_SAYING && !is_over).then_some(seconds as u64)
    }
}

impl ProgressSnapshot {
    /// Formats the remaining time, if known: `about 40 s left`.
    pub fn left_text(&self) -> Option<String> {
        Some(match self.left? {
            seconds if seconds < 100 => format!("about {seconds} s left"),
            seconds => format!("about {} min left", (seconds + 30) / 60),
        })
    }

    /// Formats the progress on one line: `12 of 40 steps, 3 from the cache: compiling SOLVE, differentiating
    /// F`.
    pub fn text(&self) -> String {
        let ProgressSnapshot {
            done,
            steps,
            kept,
            running,
            left: _,
        } = self;
        let mut text = String::new();
        if *steps > 0 {
            text = format!("{done} of {steps} steps");
            if *kept > 0 {
                text += &format!(", {kept} from the cache");
            }
            if let Some(left) = self.left_text() {
                text += &format!(", {left}");
            }
        }
        if !running.is_empty() {
            if !text.is_empty() {
                text += ": ";
            }
            text += &running.join(", ");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn steps_are_counted_and_what_runs_is_named() {
        let progress = Progress::default();
        assert_eq!(progress.now().text(), "");
        progress.begin(0, "reading sources".into());
        assert_eq!(progress.now().text(), "reading sources");
        progress.end(0);
        progress.announce(3);
        progress.done(StepOrigin::Cache);
        progress.begin(1, "compiling B".into());
        progress.begin(0, "compiling A".into());
        assert_eq!(
            progress.now().text(),
            "1 of 3 steps, 1 from the cache: compiling A, compiling B"
        );
        progress.end(0);
        progress.done(StepOrigin::Ran);
        assert_eq!(progress.now().running, ["compiling B"]);
        let now = progress.now();
        assert_eq!((now.done, now.steps, now.kept), (2, 3, 1));
    }

    #[test]
    fn the_first_tool_is_announced_once() {
        let calls = Arc::new(AtomicUsize::new(0));
        let progress = Progress::default();
        let counted = calls.clone();
        progress.on_work(move || {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        progress.done(StepOrigin::Cache);
        assert_eq!(calls.load(Ordering::Relaxed), 0);
        progress.works();
        progress.works();
        assert_eq!(calls.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn what_is_left_is_what_it_took_last_time() {
        let step = |name: &str, ms: f64, saved_ms| StepTime {
            name: name.into(),
            kind: "compile".into(),
            start_ms: 0.0,
            end_ms: ms,
            from: StepOrigin::Ran,
            worker: 0,
            reason: None,
            saved_ms,
        };
        let last = Timings {
            // The second one is up to date.
            steps: vec![
                step("A", 20_000.0, None),
                step("B", 1.0, Some(300_000.0)),
                step("C", 8_000.0, None),
            ],
            ..Timings::default()
        };
        let progress = Progress::default();
        assert_eq!(progress.now().left, None);
        progress.estimate_from(&last, 2);
        progress.announce(3);
        assert_eq!(progress.now().left, Some(164));
        assert_eq!(progress.now().text(), "0 of 3 steps, about 3 min left");
        progress.over("compile", "B");
        assert_eq!(progress.now().text(), "0 of 3 steps, about 14 s left");
        progress.over("parse", "A");
        progress.over("compile", "A");
        assert_eq!(progress.now().left, Some(4));
        progress.over("compile", "C");
        assert_eq!(progress.now().left, None);
    }
}
