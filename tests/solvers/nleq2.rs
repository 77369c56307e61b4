//! NLEQ2: functions 3 and 27 of Moré, Garbow and Hillstrom, *Testing Unconstrained Optimization Software*, 1981, with
//! numerical and given derivatives.
#![forbid(unsafe_code)]
mod fortran {
    farfel_runtime::include_bindings!();
}
use farfel_runtime::Error;
use fortran as f;

type Values = fn(&[f64], &mut [f64]);
type Derivatives = fn(&[f64], usize, &mut [f64]);

fn powell(x: &[f64], values: &mut [f64]) {
    values[0] = 1e4 * x[0] * x[1] - 1.0;
    values[1] = (-x[0]).exp() + (-x[1]).exp() - 1.0001;
}

fn powell_derivatives(x: &[f64], rows: usize, by: &mut [f64]) {
    (by[0], by[1]) = (1e4 * x[1], -(-x[0]).exp());
    (by[rows], by[rows + 1]) = (1e4 * x[0], -(-x[1]).exp());
}

/// Almost linear.
fn brown(x: &[f64], values: &mut [f64]) {
    let n = x.len();
    let sum: f64 = x.iter().sum();
    for i in 0..n - 1 {
        values[i] = x[i] + sum - (n + 1) as f64;
    }
    values[n - 1] = x.iter().product::<f64>() - 1.0;
}

fn brown_derivatives(x: &[f64], rows: usize, by: &mut [f64]) {
    let n = x.len();
    for j in 0..n {
        for i in 0..n - 1 {
            by[j * rows + i] = if i == j { 2.0 } else { 1.0 };
        }
        let others = x.iter().enumerate().filter(|(k, _)| *k != j);
        by[j * rows + n - 1] = others.map(|(_, x)| x).product();
    }
}

fn solve(x: &mut [f64], values: Values, derivatives: Option<Derivatives>, iterations: i32) -> Result<i32, Error> {
    let n = x.len();
    let mut options = [0; 50];
    // Derivatives that are given or numerical, and a problem that is extremely nonlinear.
    (options[2], options[30]) = (if derivatives.is_some() { 1 } else { 2 }, 4);
    let mut scale = vec![0.0; n];
    let (mut iwork, mut rwork) = (vec![0; n + 52], vec![0.0; (n + 15) * n + 61]);
    iwork[30] = iterations;
    let mut tolerance = 1e-10;
    f::nleq2(
        |_, x, value, _| values(x, value),
        |_, rows, x, by, _| derivatives.expect("they are numerical")(x, rows as usize, by),
        x, &mut scale, &mut tolerance, &mut options, &mut iwork, &mut rwork,
    )
}

fn main() {
    for given in [false, true] {
        let mut x = [0.0, 1.0];
        let ended = solve(&mut x, powell, given.then_some(powell_derivatives as _), 200).unwrap();
        println!("{ended} {:.6e} {:.6}", x[0], x[1]);
        let mut x = [0.5; 5];
        let ended = solve(&mut x, brown, given.then_some(brown_derivatives as _), 200).unwrap();
        println!("{ended} {x:.9?}");
    }
    // An error of its list.
    let ended = solve(&mut [0.0, 1.0], powell, None, 1);
    assert!(matches!(ended, Err(Error::Status { value: 2, .. })), "{ended:?}");
}
