//! Derivatives of Fortran functions for the crates argmin and num-dual.
#![forbid(unsafe_code)]

mod fortran {
    farfel_runtime::include_bindings!();
}

use argmin::core::{Executor, Hessian, State};
use argmin::solver::linesearch::MoreThuenteLineSearch;
use argmin::solver::quasinewton::LBFGS;
use farfel_runtime::optimize::Cost;
use farfel_runtime::{Error, dual};
use num_dual::{DualNum, first_derivative, second_derivative};

fn minimum() {
    let start = vec![-1.2, 1.0];
    let solver = LBFGS::new(MoreThuenteLineSearch::new(), 7);
    let problem = Cost::new(fortran::rosen)
        .with_gradient(|x| Ok(fortran::rosen_gradient(x)?.x_gradient))
        .with_hessian(|x| Ok(fortran::rosen_hessian(x)?.x_hessian));
    // The Hessian by hand at (0, 0): 2 and 200.
    let hessian = problem.hessian(&vec![0.0; 2]).unwrap();
    assert_eq!(hessian, [[2.0, 0.0], [0.0, 200.0]]);
    let result = Executor::new(problem, solver)
        .configure(|state| state.param(start).max_iters(200))
        .run()
        .unwrap();
    let state = result.state();
    let best = state.get_best_param().unwrap();
    assert!(best.iter().all(|x| (x - 1.0).abs() < 1e-6), "{best:?}");
    assert!(state.get_best_cost() < 1e-12 && state.get_iter() < 100);
}

/// A Rust function with a part in Fortran, which `jvp` differentiates in two directions.
fn mixed<D: DualNum<Primitive = f64>>(x: D) -> Result<D, Error> {
    let y = x.exp() + 1.0;
    let wave = dual::with_gradient(&[x.clone(), y], |v| {
        let along_x = fortran::wave_jvp(v[0], v[1], 1.0, 0.0);
        let along_y = fortran::wave_jvp(v[0], v[1], 0.0, 1.0);
        let gradient = vec![along_x.wave_jvp_tangent, along_y.wave_jvp_tangent];
        Ok::<_, Error>((along_x.value, gradient))
    })?;
    Ok(wave * x.sqrt())
}

/// The same with second derivatives.
fn smooth<D: DualNum<Primitive = f64>>(t: D) -> Result<D, Error> {
    let x = [t.clone(), t.cos(), t.powi(2)];
    let rosen = dual::with_hessian(&x, |x| {
        let found = fortran::rosen_hessian(x)?;
        Ok::<_, Error>((found.value, found.x_gradient, found.x_hessian))
    })?;
    Ok(rosen.ln_1p())
}

/// Both, entirely in Rust.
fn mixed_in_rust<D: DualNum<Primitive = f64>>(x: D) -> D {
    let y = x.exp() + 1.0;
    let mut wave = x.clone() * y.sin();
    for i in 1..=3 {
        wave += (x.clone() * f64::from(i)).cos() / y.clone();
    }
    wave * x.sqrt()
}

fn smooth_in_rust<D: DualNum<Primitive = f64>>(t: D) -> D {
    let x = [t.clone(), t.cos(), t.powi(2)];
    let mut rosen = D::from(0.0);
    for i in 0..2 {
        rosen += (x[i + 1].clone() - x[i].powi(2)).powi(2) * 100.0 + (x[i].clone() - 1.0).powi(2);
    }
    rosen.ln_1p()
}

fn close(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-12 * (1.0 + b.abs()), "{a} is not {b}");
}

fn duals() {
    for x in [0.3, 1.7, 4.2] {
        let (y, slope) = first_derivative(|x| mixed(x), x).unwrap();
        let (expected, expected_slope) = first_derivative(mixed_in_rust, x);
        close(y, expected);
        close(slope, expected_slope);
        close(mixed(x).unwrap(), expected);
        let found = second_derivative(|x| smooth(x), x).unwrap();
        let expected = second_derivative(smooth_in_rust, x);
        close(found.0, expected.0);
        close(found.1, expected.1);
        close(found.2, expected.2);
    }
}

fn main() {
    minimum();
    duals();
    println!("fine");
}
