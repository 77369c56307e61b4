//! How long each pass takes.
//!
//! What runs passes says so here, in all threads. Time is added up for the whole process: who wants to
//! know of one build takes away what there was before ([`since`]).

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often a pass ran, and how long in all, without the passes that it ran itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spent {
    /// How often.
    pub runs: u64,
    /// How long in all.
    pub time: Duration,
}

/// What passes have spent, by their names.
pub type Table = BTreeMap<&'static str, Spent>;

static TABLE: Mutex<Table> = Mutex::new(Table::new());

thread_local! {
    /// What passes have taken that the pass at hand has run.
    static WITHIN: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// Runs a pass.
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

/// A pass has taken some time.
pub fn add(name: &'static str, time: Duration) {
    let mut table = TABLE.lock().unwrap_or_else(PoisonError::into_inner);
    let spent = table.entry(name).or_default();
    spent.runs += 1;
    spent.time += time;
}

/// What passes have spent so far.
pub fn table() -> Table {
    let table = TABLE.lock().unwrap_or_else(PoisonError::into_inner);
    table.clone()
}

/// What passes have spent since the table was as it says.
pub fn since(before: &Table) -> Table {
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
        // Nothing counts twice.
        assert!(outer.time + inner.time <= all, "{spent:?} in {all:?}");
        let later = since(&table());
        assert!(!later.contains_key("timed inner"), "{later:?}");
    }
}
