//! Wrong calls from eight threads at once.

use crate::calls::{outcome, report, wrong};
use crate::fortran::raw as f;
use farfel_runtime::Error;
use std::sync::Barrier;

/// Makes the calls.
pub fn all() {
    together("tally", |t| f::tally(9 + t, &[1.0; 16]));
    together("tally short", |t| f::tally(8, &vec![1.0; t as usize]));
    together("putc", |_| f::putc(12, 1.0));
    together("countr in threads", |_| {
        f::countr(|_| f::seti(77), &mut [0.0; 4], 4)
    });
    together("panics in threads", |_| {
        f::countr(|_| panic!("in a thread"), &mut [0.0; 4], 4)
    });
    together("eval in threads", |_| {
        Ok(f::eval(|x| f::eval(|_| panic!("at {x}"), x), 1.0))
    });
    together("large in threads", |_| f::large(1_000_000, 1_000_001));
    together("autos in threads", |_| f::autos(1_000_000, 1_000_001));
    together("note in threads", |_| f::note(5, &[1.0; 4], &[1, 1]));
    together("gradients in threads", |_| {
        f::cost_gradient(5, &[1.0; 4], &mut [0.0; 5])
    });
    together("jumps in threads", |_| {
        f::setl(0);
        f::jumps(0, &mut 0)
    });
    wrong("after threads", || f::tally(9, &[1.0; 9]));
    f::tally(8, &[1.0; 8]).unwrap();
}

/// Makes a call in eight threads at once, each of which must end; `call` gets the number of the thread.
fn together<T: std::fmt::Debug>(name: &str, call: impl Fn(i32) -> Result<T, Error> + Sync) {
    let begin = Barrier::new(8);
    let ended: Vec<(bool, String)> = std::thread::scope(|s| {
        let (call, begin) = (&call, &begin);
        let threads: Vec<_> = (0..8)
            .map(|t| {
                s.spawn(move || {
                    begin.wait();
                    outcome(name, || call(t))
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    for (t, ended) in ended.into_iter().enumerate() {
        report(&format!("{name} {t}"), ended);
    }
}
