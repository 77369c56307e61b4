#![forbid(unsafe_code)]
//! Calls the same subprograms with an instance and under the lock, in turns, and prints the ratio of the
//! fastest times.

mod fortran {
    farfel_runtime::include_bindings!();
}
use std::time::Instant;

fn time(f: &mut dyn FnMut()) -> f64 {
    let begin = Instant::now();
    f();
    begin.elapsed().as_secs_f64()
}

fn compare(name: &str, times: u32, own: &mut dyn FnMut(), locked: &mut dyn FnMut()) {
    let mut best = [f64::INFINITY; 2];
    for _ in 0..15 {
        best[0] = best[0].min(time(&mut || (0..times).for_each(|_| own())));
        best[1] = best[1].min(time(&mut || (0..times).for_each(|_| locked())));
    }
    let nanoseconds = best[0] / f64::from(times) * 1e9;
    println!("{name:<15} {:.2}   {nanoseconds:.1}", best[0] / best[1]);
}

fn main() {
    let mut model = fortran::Model::new();
    model.setup();
    state_locked::setup();
    let step = 1e-4;
    compare(
        "stencil",
        50,
        &mut || model.step(step).unwrap(),
        &mut || state_locked::step(step).unwrap(),
    );
    let mut k = 1;
    let mut j = 1;
    let mut counter = fortran::Model::new();
    compare(
        "counter",
        1_000_000,
        &mut || {
            k = 1;
            counter.counts(&mut k);
        },
        &mut || {
            j = 1;
            state_locked::counts(&mut j);
        },
    );
    assert_eq!(k, j);
}
