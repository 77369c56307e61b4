//! NLEQ1: the nodes of Chebyshev's quadrature, the example of its authors.
#![forbid(unsafe_code)]
mod fortran {
    farfel_runtime::include_bindings!();
}
use farfel_runtime::Error;
use fortran as f;

/// The mean of each Chebyshev polynomial over the nodes is its integral from 0 to 1.
fn equations(x: &[f64], values: &mut [f64]) {
    let n = x.len();
    values.fill(0.0);
    for x in x {
        let (mut before, mut this) = (1.0, 2.0 * x - 1.0);
        for value in values.iter_mut() {
            *value += this / n as f64;
            (before, this) = (this, (4.0 * x - 2.0) * this - before);
        }
    }
    for (k, value) in (1..).zip(values) {
        if k % 2 == 0 {
            *value += 1.0 / f64::from(k * k - 1);
        }
    }
}

fn solve(x: &mut [f64], iterations: i32) -> Result<i32, Error> {
    let n = x.len();
    let mut options = [0; 50];
    // Numerical derivatives, and a problem that is highly nonlinear.
    (options[2], options[30]) = (2, 3);
    let mut scale = vec![0.0; n];
    let (mut iwork, mut rwork) = (vec![0; n + 50], vec![0.0; (n + 23) * n + 61]);
    iwork[30] = iterations;
    let mut tolerance = 1e-10;
    f::nleq1(
        |_, x, values, _| equations(x, values),
        |_, _, _, _, _| panic!("the derivatives are numerical"),
        x, &mut scale, &mut tolerance, &mut options, &mut iwork, &mut rwork,
    )
}

fn main() {
    for n in [2, 3, 4, 7] {
        let mut x: Vec<f64> = (1..=n).map(|i| f64::from(i) / f64::from(n + 1)).collect();
        let ended = solve(&mut x, 200).unwrap();
        println!("{n} {ended} {x:.9?}");
    }
    // An error of its list.
    let ended = solve(&mut [0.1, 0.2, 0.3, 0.9], 1);
    assert!(matches!(ended, Err(Error::Status { value: 2, .. })), "{ended:?}");
}
