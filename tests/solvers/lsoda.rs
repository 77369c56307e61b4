//! LSODA: three reactions of very different speed (H. H. Robertson), as in its own example.
#![forbid(unsafe_code)]
mod bindings {
    farfel_runtime::include_bindings!();
}
use bindings::raw as f;
use farfel_runtime::Error;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};

/// The arguments of a call, except the closure.
struct Run {
    y: [f64; 3],
    t: f64,
    istate: i32,
    rwork: Vec<f64>,
    iwork: Vec<i32>,
}

impl Run {
    fn new(rwork: usize, iwork: usize) -> Run {
        let y = [1.0, 0.0, 0.0];
        Run { y, t: 0.0, istate: 1, rwork: vec![0.0; rwork], iwork: vec![0; iwork] }
    }

    /// Integrates to `tout`; the lengths are those that the caller states, correct or not.
    fn to(
        &mut self,
        tout: f64,
        said: (i32, i32),
        rates: impl FnMut(&mut [i32], &mut f64, &mut [f64], &mut [f64]),
        jacobian: Option<&mut dyn FnMut(&[f64], &mut [f64], usize)>,
    ) -> Result<(), Error> {
        let jt = if jacobian.is_some() { 1 } else { 2 };
        let mut jacobian = jacobian;
        let jac = |_: &mut [i32], _: &mut f64, y: &mut [f64], _, _, pd: &mut [f64], rows: &mut i32| {
            if let Some(j) = &mut jacobian {
                j(y, pd, *rows as usize);
            }
        };
        f::lsoda(
            rates, &mut [3], &mut self.y, &mut self.t, tout, 2, &[1e-4], &[1e-6, 1e-10, 1e-6], 1,
            &mut self.istate, 0, &mut self.rwork, said.0, &mut self.iwork, said.1, jac, jt,
        )
    }
}

fn rates(y: &[f64], dy: &mut [f64]) {
    dy[0] = -0.04 * y[0] + 1e4 * y[1] * y[2];
    dy[2] = 3e7 * y[1] * y[1];
    dy[1] = -dy[0] - dy[2];
}

fn main() {
    f::xsetf(0);
    let mut run = Run::new(70, 23);
    let mut lengths = std::collections::BTreeSet::new();
    for k in 0..12 {
        let f = |neq: &mut [i32], _: &mut f64, y: &mut [f64], dy: &mut [f64]| {
            lengths.insert((neq.len(), y.len(), dy.len()));
            rates(y, dy);
        };
        run.to(0.4 * 10f64.powi(k), (70, 23), f, None).unwrap();
        println!("{:.0e} {:.3e} {:.3e} {:.3e} {}", run.t, run.y[0], run.y[1], run.y[2], run.istate);
    }
    // Rates are stored in parts of the work array, whose lengths are those of the rest of it.
    assert!(lengths.iter().all(|l| l.0 == 1 && l.1 == 3 && (3..=70).contains(&l.2)), "{lengths:?}");
    assert!(lengths.len() > 1, "{lengths:?}");

    // The same with a Jacobian; the distance between its columns is the one that LSODA passes.
    let mut exact = Run::new(70, 23);
    let mut asked = 0;
    let mut jacobian = |y: &[f64], pd: &mut [f64], n: usize| {
        asked += 1;
        (pd[0], pd[n], pd[2 * n]) = (-0.04, 1e4 * y[2], 1e4 * y[1]);
        (pd[2], pd[2 + n], pd[2 + 2 * n]) = (0.0, 6e7 * y[1], 0.0);
        for j in [0, n, 2 * n] {
            pd[1 + j] = -pd[j] - pd[2 + j];
        }
    };
    for k in 0..12 {
        let f = |_: &mut [i32], _: &mut f64, y: &mut [f64], dy: &mut [f64]| rates(y, dy);
        exact.to(0.4 * 10f64.powi(k), (70, 23), f, Some(&mut jacobian)).unwrap();
    }
    assert_eq!(exact.istate, 2);
    assert!((exact.y[2] - 1.0).abs() < 1e-5 && asked > 5, "{:?} {asked}", exact.y);

    // Incorrect calls: work arrays that are shorter than stated, or than needed.
    let good = |_: &mut [i32], _: &mut f64, y: &mut [f64], dy: &mut [f64]| rates(y, dy);
    for (rwork, iwork, said) in [(69, 23, (70, 23)), (70, 22, (70, 23)), (0, 0, (70, 23))] {
        let ended = Run::new(rwork, iwork).to(0.4, said, good, None);
        assert!(matches!(ended, Err(Error::Extent { .. })), "{ended:?}");
    }
    let mut small = Run::new(20, 23);
    small.to(0.4, (20, 23), good, None).unwrap();
    assert_eq!(small.istate, -3);
    let mut neq = [30];
    let ended = f::lsoda(
        |_, _, y, dy| (0..30).for_each(|i| dy[i] = -y[i % y.len()]),
        &mut neq, &mut [1.0; 3], &mut 0.0, 1.0, 1, &[1e-4], &[1e-6], 1, &mut 1, 0, &mut [0.0; 2000], 2000,
        &mut [0; 60], 60, |_, _, _, _, _, _, _| (), 2,
    );
    println!("{}", ended.unwrap_err());

    // Incorrect closures: one accesses elements past the end of its slice; others change data that LSODA is
    // using.
    set_hook(Box::new(|_| {}));
    let behind = catch_unwind(AssertUnwindSafe(|| {
        Run::new(70, 23).to(0.4, (70, 23), |_, _, y, dy| dy[y.len() + 70] = 0.0, None)
    }));
    assert!(behind.is_err());
    let ended = Run::new(70, 23).to(
        0.4,
        (70, 23),
        |neq, _, y, dy| {
            neq[0] = 1_000_000;
            dy[0] = y[0];
        },
        None,
    );
    println!("neq changed: {}", ended.is_ok());
    // The whole rest of the work array, and not only the rates.
    let filled = |_: &mut [i32], _: &mut f64, y: &mut [f64], dy: &mut [f64]| {
        y.fill(f64::NAN);
        dy.fill(f64::NAN);
    };
    let ended = Run::new(70, 23).to(0.4, (70, 23), filled, None);
    println!("filled: {}", ended.is_ok());
    // From another call of LSODA, which shares COMMON with the active one.
    let inside = Run::new(70, 23).to(
        0.4,
        (70, 23),
        |_, _, y, dy| {
            let _ = Run::new(70, 23).to(0.4, (70, 23), |_, _, y, dy| rates(y, dy), None);
            rates(y, dy);
        },
        None,
    );
    println!("inside: {}", inside.is_ok());
    // Everything works afterwards.
    let mut again = Run::new(70, 23);
    again.to(0.4, (70, 23), good, None).unwrap();
    println!("again {:.3e}", again.y[0]);
}
