//! Times calls of generated functions and of `extern "C"` functions in turns, and prints how many nanoseconds
//! each call of the former takes longer.

mod f {
    farfel_runtime::include_bindings!();
}

use std::hint::black_box;
use std::time::{Duration, Instant};

unsafe extern "C" {
    fn raw_scaled(x: *const f64, y: *const f64) -> f64;
    fn raw_quot(i: *const i32, j: *const i32) -> i32;
    fn raw_pick(i: *const i32, n: *const i32, x: *const f64) -> f64;
    fn raw_total(f: extern "C" fn(*const f64) -> f64, n: *const i32) -> f64;
    fn raw_sweeps(
        rhs: extern "C" fn(*const i32, *const f64, *mut f64),
        n: *const i32,
        y: *mut f64,
        dy: *mut f64,
    );
}

/// The number of calls between two looks at the clock.
const CALLS: i32 = 20_000;

/// Prints the difference of the least times, and the time without bindings, both for one call.
fn show(name: &str, mut runs: [&mut dyn FnMut(); 2]) {
    let mut best = [Duration::MAX; 2];
    for _ in 0..300 {
        for (run, best) in runs.iter_mut().zip(&mut best) {
            let begin = Instant::now();
            run();
            *best = begin.elapsed().min(*best);
        }
    }
    let [ours, raw] = best.map(|b| b.as_secs_f64() * 1e9 / f64::from(CALLS));
    println!("{name} {:.2} {raw:.2}", ours - raw);
}

extern "C" fn plus_one(x: *const f64) -> f64 {
    // SAFETY: Fortran passes a number.
    black_box(unsafe { *x }) + 1.0
}

extern "C" fn double(n: *const i32, y: *const f64, dy: *mut f64) {
    // SAFETY: Fortran passes the number of elements and two arrays.
    let (y, dy) = unsafe {
        let n = *n as usize;
        (
            std::slice::from_raw_parts(y, n),
            std::slice::from_raw_parts_mut(dy, n),
        )
    };
    dy[0] = 2.0 * black_box(y[0]);
}

fn main() {
    let (x, y) = (black_box(1.5), black_box(2.5));
    let mut sums = [0.0; 2];
    let [ours, raw] = &mut sums;
    show(
        "scalar",
        [
            &mut || (0..CALLS).for_each(|_| *ours += f::scaled(black_box(x), black_box(y))),
            // SAFETY: the arguments are numbers.
            &mut || {
                (0..CALLS).for_each(|_| *raw += unsafe { raw_scaled(&black_box(x), &black_box(y)) })
            },
        ],
    );
    assert_eq!(sums[0], sums[1]);

    let (i, j) = (black_box(35), black_box(5));
    let mut sums = [0; 2];
    let [ours, raw] = &mut sums;
    show(
        "result",
        [
            &mut || (0..CALLS).for_each(|_| *ours += f::quot(black_box(i), black_box(j)).unwrap()),
            // SAFETY: the arguments are numbers, and the second one is not zero.
            &mut || {
                (0..CALLS).for_each(|_| *raw += unsafe { raw_quot(&black_box(i), &black_box(j)) })
            },
        ],
    );
    assert_eq!(sums[0], sums[1]);

    let data = black_box(vec![1.0, 2.0, 3.0, 4.0]);
    let mut sums = [0.0; 2];
    let [ours, raw] = &mut sums;
    show(
        "array",
        [
            &mut || (0..CALLS).for_each(|_| *ours += f::pick(black_box(3), 4, &data).unwrap()),
            &mut || {
                // SAFETY: there is a third element.
                (0..CALLS)
                    .for_each(|_| *raw += unsafe { raw_pick(&black_box(3), &4, data.as_ptr()) })
            },
        ],
    );
    assert_eq!(sums[0], sums[1]);

    let mut sums = [0.0; 2];
    let [ours, raw] = &mut sums;
    let one = black_box(1.0);
    show(
        "closure",
        [
            &mut || *ours = f::total(|x| black_box(x) + one, CALLS),
            // SAFETY: the function takes the address of a number.
            &mut || *raw = unsafe { raw_total(plus_one, &CALLS) },
        ],
    );
    assert_eq!(sums[0], sums[1]);

    let mut states = [[1.0, 0.0, 0.0, 0.0]; 2];
    let [ours, raw] = &mut states;
    let (mut first, mut second) = ([0.0; 4], [0.0; 4]);
    show(
        "closure with arrays",
        [
            &mut || {
                ours[0] = 1.0;
                let rhs = |_: i32, y: &mut [f64], dy: &mut [f64]| dy[0] = 2.0 * black_box(y[0]);
                f::sweeps(rhs, CALLS, ours, &mut first);
            },
            &mut || {
                raw[0] = 1.0;
                // SAFETY: the arrays have four elements.
                unsafe { raw_sweeps(double, &CALLS, raw.as_mut_ptr(), second.as_mut_ptr()) };
            },
        ],
    );
    assert_eq!(states[0], states[1]);
}
