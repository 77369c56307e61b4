//! Measures how long each pass takes.
//!
//! The code that runs passes reports to this module, from all threads. Times accumulate for the
//! whole process; to get those of a single build, take the difference from an earlier table
//! ([`since`]).

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The number of runs of a pass and their total time, excluding passes that the pass itself ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PassTime {
    /// The number of runs.
    pub runs: u64,
    /// The total time.
    pub time: Duration,
}

/// The time spent in each pass, by name.
pub type PassTimes = BTreeMap<&'static str, PassTime>;

static TABLE: Mutex<PassTimes> = Mutex::new(PassTimes::new());

thread_local! {
    /// The time of the passes that the current pass has run.
    static WITHIN: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// Runs a pass and records its time.
///
/// ```
/// use farfel_lang::timing;
/// let before = timing::table();
/// assert_eq!(timing::pass("addition", || 1 + 1), 2);
/// assert_eq!(timing::since(&before)["addition"].runs, 1);
/// ```
pub fn pass<T>(name: &'static str, run: impl FnOnce() -> T) -> T {
    let outer = WITHIN.replace(Duration::ZERO);
    let begin = Instant::now();
    let result = run();
    let took = begin.elapsed();
    add(name, took.saturating_sub(WITHIN.get()));
    WITHIN.set(outer + took);
    result
}

/// Records the time of one run of a pass.
pub fn add(name: &'static str, time: Duration) {
    let mut table = TABLE.lock().unwrap_or_else(PoisonError::into_inner);
    let spent = table.entry(name).or_default();
    spent.runs += 1;
    spent.time += time;
}

/// Returns the times so far.
pub fn table() -> PassTimes {
    let table = TABLE.lock().unwrap_or_else(PoisonError::into_inner);
    table.clone()
}

/// Returns the times since an earlier table.
pub fn since(before: &PassTimes) -> PassTimes {
    let mut now = table();
    now.retain(|name, spent| {
        let old = before.get(name).copied().unwrap_or_default();
        spent.runs -= old.runs.min(spent.runs);
        spent.time = spent.time.saturating_sub(old.time);
        spent.runs > 0
    });
    now
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(least: Duration) {
        let begin = Instant::now();
        while begin.elapsed() < least {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn what_a_pass_runs_counts_for_itself() {
        let before = table();
        let (long, short) = (Duration::from_millis(40), Duration::from_millis(1));
        let begin = Instant::now();
        pass("timed outer", || {
            work(short);
            for _ in 0..2 {
                pass("timed inner", || work(long));
            }
        });
        let all = begin.elapsed();
        let spent = since(&before);
        let (outer, inner) = (spent["timed outer"], spent["timed inner"]);
        assert_eq!((outer.runs, inner.runs), (1, 2));
        assert!(inner.time >= 2 * long && outer.time >= short, "{spent:?}");
        // No time is counted twice.
        assert!(outer.time + inner.time <= all, "{spent:?} in {all:?}");
        let later = since(&table());
        assert!(!later.contains_key("timed inner"), "{later:?}");
    }
}
