//! Calls that need more stack than the thread has.

use crate::calls::{outcome, report, wrong};
use crate::fortran::raw as f;
use farfel_runtime::Error;
use std::fmt::Debug;
use std::thread;

pub fn all() {
    let small = [64, 256];
    let usual = [2048];
    on("broad", &small, || f::broad(&mut 1.0, 3));
    on("tower", &small, || f::tower(1.0, 3));
    on("tower_gradient", &small, || {
        f::tower_gradient(1.0, 3, &mut 0.0)
    });
    on("dive", &small, || f::dive(&mut 1.0, 3, 100_000));
    on("dive without end", &usual, || f::dive(&mut 1.0, 3, 0));
    on("plunge", &[64, 256, 2048], || f::plunge(1.0, -1));
    on("plunge_gradient", &[64, 256, 2048], || {
        f::plunge_gradient(1.0, -1, &mut 0.0)
    });
    on("spiral", &[64, 256, 2048], || {
        f::spiral(&mut 1.0, 3, -1)
    });
    on("scratc", &small, || {
        f::scratc(&mut [0.5; 6400], &[0.5; 6400], &mut 0.0)
    });
    on("longer", &small, || f::longer("abc"));
    wrong("textn", || f::textn(1 << 60, "abc"));

    // With enough stack, they return.
    within(4096, || {
        let mut x = 1.0;
        f::broad(&mut x, 3).unwrap();
        assert_eq!(x, 75.0);
        let value = f::tower(1.1, 3).unwrap();
        let (h, mut slope) = (1e-6, 0.0);
        assert_eq!(f::tower_gradient(1.1, 3, &mut slope).unwrap(), value);
        let difference =
            (f::tower(1.1 + h, 3).unwrap() - f::tower(1.1 - h, 3).unwrap()) / (2.0 * h);
        assert!((difference - slope).abs() < 1e-4 * slope.abs(), "{difference} {slope}");
        let mut x = 1.0;
        f::dive(&mut x, 3, 5).unwrap();
        assert_eq!(x, 6.0);
        let mut slope = 0.0;
        f::plunge_gradient(1.0, 5, &mut slope).unwrap();
        f::scratc(&mut [0.5; 6400], &[0.5; 6400], &mut 0.0).unwrap();
        assert_eq!(f::longer("abc"), Ok(3));
    });
    for kilobytes in [64, 256] {
        within(kilobytes, || {
            assert_eq!(f::textn(5, "abc"), Ok(5003));
            assert_eq!(f::textn(-5, "abc"), Ok(0));
            assert_eq!(f::textn(1 << 20, "abc"), Ok(1_048_576_003));
        });
    }
}

/// Makes a call in threads with stacks of these sizes, where it must end with an error.
fn on<T: Debug>(name: &str, kilobytes: &[usize], call: impl Fn() -> Result<T, Error> + Sync) {
    for size in kilobytes {
        let name = format!("{name} on {size} KB");
        report(&name, within(*size, || outcome(&name, &call)));
    }
}

fn within<T: Send>(kilobytes: usize, call: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(kilobytes << 10);
        thread.spawn_scoped(scope, call).unwrap().join().unwrap()
    })
}
