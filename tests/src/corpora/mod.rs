//! Real Fortran for tests: the sources of SciPy, LAPACK and CalculiX.
//!
//! They are not part of this repository. [`obtain`](obtain::obtain) downloads them once, through pip and apt;
//! without them the tests that need them are ignored, with a message.
//!
//! | module | contents |
//! |---|---|
//! | [`obtain`] | downloads and unpacks the packages |
//! | [`files`] | lists the files, and the sample of a short run |
//! | [`compiler`] | queries to gfortran about a text |
//! | [`known`] | its stored answers |
//! | [`assembler`] | normalises the code of programs for comparison |
//! | [`check`] | properties that must hold for a file |
//! | [`layout`] | properties that must hold for a formatted file |
//! | [`build`] | programs built from many files, original or printed |
//! | [`routines`] | the routines that are differentiated |

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

/// Returns the folder of the corpora: `FARFEL_CORPORA`, or `target/corpora` of this repository.
pub fn directory() -> PathBuf {
    match std::env::var_os("FARFEL_CORPORA") {
        Some(directory) if !directory.is_empty() => directory.into(),
        _ => crate::repository().join("target/corpora"),
    }
}

/// Whether to test everything, which takes many minutes, or only a sample.
pub fn long_run() -> bool {
    std::env::var_os("FARFEL_CORPORA_ALL").is_some_and(|v| v != "0")
}

/// Applies `work` to all `items` on all processors. The results are in the order of the items.
///
/// # Panics
///
/// If `work` panics.
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
