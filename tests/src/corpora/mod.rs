//! Real Fortran to test on: the sources of SciPy, LAPACK and CalculiX.
//!
//! They are no part of this repository. [`obtain`](obtain::obtain) gets them once, through
//! pip and apt; without them the tests that want them are ignored and say so.
//!
//! | module | what |
//! |---|---|
//! | [`obtain`] | gets and unpacks the packages |
//! | [`files`] | which files there are, and which belong to the sample of a short run |
//! | [`compiler`] | what gfortran thinks of a text |
//! | [`known`] | what it said before |
//! | [`assembler`] | what two programs that mean the same have in common |
//! | [`check`] | what must hold for a file |
//! | [`layout`] | what must hold for a file that is laid out anew |
//! | [`build`] | programs made of many files, original or printed |
//! | [`routines`] | which routines are differentiated |

pub mod assembler;
pub mod build;
pub mod check;
pub mod compiler;
pub mod files;
pub mod known;
pub mod layout;
pub mod obtain;
pub mod routines;

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Where the corpora are: `FARFEL_CORPORA`, or `target/corpora` of this repository.
pub fn directory() -> PathBuf {
    match std::env::var_os("FARFEL_CORPORA") {
        Some(directory) if !directory.is_empty() => directory.into(),
        _ => crate::repository().join("target/corpora"),
    }
}

/// Whether everything is to be tested, which takes many minutes, or only a sample.
pub fn long_run() -> bool {
    std::env::var_os("FARFEL_CORPORA_ALL").is_some_and(|v| v != "0")
}

/// Applies `work` to all `items` on all processors. The results are in the order of the
/// items, whoever was faster.
///
/// # Panics
///
/// `work` has panicked.
pub fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(items.len()));
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((i, item)) = {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    items.get(i).map(|item| (i, item))
                } {
                    let result = work(item);
                    done.lock()
                        .expect("no worker has panicked")
                        .push((i, result));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no worker has panicked");
    done.sort_by_key(|(i, _)| *i);
    done.into_iter().map(|(_, result)| result).collect()
}
