//! Times subprograms with and without checks, in turns, and prints the ratios of the minimum times.

mod bindings {
    farfel_runtime::include_bindings!();
}

use bindings::raw as f;
use std::time::{Duration, Instant};

fn least(turns: u32, mut runs: [&mut dyn FnMut(); 2]) -> [f64; 2] {
    let mut best = [Duration::MAX; 2];
    for _ in 0..turns {
        for (run, best) in runs.iter_mut().zip(&mut best) {
            let begin = Instant::now();
            run();
            *best = begin.elapsed().min(*best);
        }
    }
    best.map(|b| b.as_secs_f64())
}

fn show(name: &str, [checked, raw]: [f64; 2]) {
    println!("{name} {:.3} {:.3}", checked / raw, raw * 1e6);
}

fn main() {
    let n = 300;
    let u: Vec<f64> = (0..n * n).map(|i| (i % 17) as f64).collect();
    let (mut v, mut w) = (vec![0.0; n * n], vec![0.0; n * n]);
    let k = n as i32;
    let times = least(
        2000,
        [
            &mut || f::stencl(&u, &mut v, k, k).unwrap(),
            // SAFETY: the arrays have as many elements.
            &mut || unsafe { f::stencr(&u, &mut w, k, k) }.unwrap(),
        ],
    );
    assert_eq!(v, w);
    show("stencil", times);

    let (mut x, mut y) = (1.0, 1.0);
    let times = least(
        2000,
        [
            &mut || {
                x = 1.0;
                f::fixedc(&mut x);
            },
            &mut || {
                y = 1.0;
                // SAFETY: the subprogram uses only this array, and stays within it.
                unsafe { f::fixedr(&mut y) };
            },
        ],
    );
    assert_eq!(x, y);
    show("proven", times);

    let idx: Vec<i32> = (0..n * n).map(|i| (i * 7919 % (n * n)) as i32 + 1).collect();
    let (mut v, mut w) = (vec![0.0; n * n], vec![0.0; n * n]);
    let count = idx.len() as i32;
    let times = least(
        500,
        [
            &mut || f::gathrc(count, &idx, &u, &mut v).unwrap(),
            // SAFETY: the subscripts are those of `u`.
            &mut || unsafe { f::gathrr(count, &idx, &u, &mut w) },
        ],
    );
    assert_eq!(v, w);
    show("index array", times);
}
