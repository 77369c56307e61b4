//! How far a build is, for whoever shows it.
//!
//! A build notes what it does; nothing waits for those who look. What counts as a step is what takes long:
//! an object file, a derivative, a part of a large library.

use crate::timings::From;
use serde::Serialize;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a build notes of itself.
#[derive(Debug, Default)]
pub struct Progress {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    done: usize,
    kept: usize,
    steps: usize,
    /// What each worker does now.
    running: Vec<Option<String>>,
}

/// How far a build is at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Now {
    /// The steps that are done.
    pub done: usize,
    /// Those that are known of, done or not. More may come to be known.
    pub steps: usize,
    /// Those of the done ones whose result was there already, in a cache or from the last build.
    pub kept: usize,
    /// What is being done.
    pub running: Vec<String>,
}

impl Progress {
    /// How far it is.
    pub fn now(&self) -> Now {
        let state = self.lock();
        Now {
            done: state.done,
            steps: state.steps.max(state.done),
            kept: state.kept,
            running: state.running.iter().flatten().cloned().collect(),
        }
    }

    /// There are more steps to do.
    pub(crate) fn announce(&self, steps: usize) {
        self.lock().steps += steps;
    }

    /// A worker begins something.
    pub(crate) fn begin(&self, worker: usize, what: String) {
        let running = &mut self.lock().running;
        if running.len() <= worker {
            running.resize(worker + 1, None);
        }
        running[worker] = Some(what);
    }

    /// It is over.
    pub(crate) fn end(&self, worker: usize) {
        if let Some(place) = self.lock().running.get_mut(worker) {
            *place = None;
        }
    }

    /// A step is done.
    pub(crate) fn done(&self, from: From) {
        let mut state = self.lock();
        state.done += 1;
        state.kept += usize::from(from != From::Ran);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Now {
    /// On one line: `12 of 40 steps, 3 from the cache: compiling SOLVE, differentiating F`.
    pub fn text(&self) -> String {
        let Now {
            done,
            steps,
            kept,
            running,
        } = self;
        let mut text = String::new();
        if *steps > 0 {
            text = format!("{done} of {steps} steps");
            if *kept > 0 {
                text += &format!(", {kept} from the cache");
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

    #[test]
    fn steps_are_counted_and_what_runs_is_named() {
        let progress = Progress::default();
        assert_eq!(progress.now().text(), "");
        progress.begin(0, "reading sources".into());
        assert_eq!(progress.now().text(), "reading sources");
        progress.end(0);
        progress.announce(3);
        progress.done(From::Cache);
        progress.begin(1, "compiling B".into());
        progress.begin(0, "compiling A".into());
        assert_eq!(
            progress.now().text(),
            "1 of 3 steps, 1 from the cache: compiling A, compiling B"
        );
        progress.end(0);
        progress.done(From::Ran);
        assert_eq!(progress.now().running, ["compiling B"]);
        let now = progress.now();
        assert_eq!((now.done, now.steps, now.kept), (2, 3, 1));
    }
}
