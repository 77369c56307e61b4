//! Derivatives of unedited solvers whose right-hand sides and models are written once in Rust: DLSODE and DOPRI5
//! with respect to initial values and parameters, and SETULB with the gradient of an objective in Fortran that calls
//! a closure.
#![forbid(unsafe_code)]
mod fortran {
    #![allow(dead_code)]
    farfel_runtime::include_bindings!();
}
use farfel_runtime::dual::DualNum;
use num_dual::Dual64;

trait Number: DualNum<Primitive = f64> + Copy {}
impl<D: DualNum<Primitive = f64> + Copy> Number for D {}

#[track_caller]
fn close(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{a} is not {b}");
}

fn main() {
    dlsode();
    dopri5();
    lbfgsb();
    println!("right");
}

/// Three reactions; the rates of two of them follow the concentrations in Y, as DLSODE's documentation proposes.
fn reactions<D: Number>(y: &[D], dy: &mut [D]) {
    dy[0] = -y[3] * y[0] + y[4] * y[1] * y[2];
    dy[2] = y[1] * y[1] * 30.0;
    dy[1] = -dy[0] - dy[2];
}

/// Their Jacobian, in a matrix with this number of rows: a full one has 3 rows, one of bands has 7.
fn jacobian<D: Number>(y: &[D], rows: usize, pd: &mut [D]) {
    let zero = D::from(0.0);
    let first = [-y[3], y[4] * y[2], y[4] * y[1]];
    let third = [zero, y[1] * 60.0, zero];
    for j in 0..3 {
        let before = j * rows + if rows == 3 { 0 } else { 2 - j };
        pd[before] = first[j];
        pd[before + 1] = -first[j] - third[j];
        pd[before + 2] = third[j];
    }
}

struct Reactions;

impl fortran::procedures::DlsodeF for Reactions {
    fn call<D: Number>(&mut self, _: &[i32], _: D, y: &[D], dy: &mut [D]) {
        reactions(y, dy);
    }
}

impl fortran::procedures::DlsodeJac for Reactions {
    fn call<D: Number>(&mut self, _: &[i32], _: D, y: &[D], _: i32, _: i32, pd: &mut [D], rows: i32) {
        jacobian(y, rows as usize, pd);
    }
}

/// The solution at `END`, and its derivative in a direction by the sensitivity equations s' = J s + df/dp.
fn with_sensitivity(start: [f64; 5], direction: [f64; 5]) -> ([f64; 3], [f64; 3]) {
    let (mut t, mut state) = (0.0, 1);
    let mut y = [0.0; 6];
    y[..3].copy_from_slice(&start[..3]);
    y[3..].copy_from_slice(&direction[..3]);
    let rates = |y: &[f64], dy: &mut [f64]| {
        let number = |i: usize| match i {
            0..3 => Dual64::new(y[i], y[i + 3]),
            _ => Dual64::new(start[i], direction[i]),
        };
        let mut found = [Dual64::from(0.0); 3];
        reactions(&[0, 1, 2, 3, 4].map(number), &mut found);
        for i in 0..3 {
            (dy[i], dy[i + 3]) = (found[i].re, found[i].eps);
        }
    };
    let (mut rwork, mut iwork) = ([0.0; 200], [0; 30]);
    fortran::dlsode(
        |_, _, y, dy| rates(y, dy), &[6], &mut y, &mut t, END, 1, &[1e-13], &[1e-13], 1, &mut state, 0, &mut rwork,
        &mut iwork, |_, _, _, _, _, _, _| (), 10,
    )
    .unwrap();
    assert_eq!(state, 2);
    ([y[0], y[1], y[2]], [y[3], y[4], y[5]])
}

const END: f64 = 2.0;

fn dlsode() {
    fortran::xsetf(0);
    let start = [1.0, 0.1, 0.05, 0.4, 1.5];
    let direction = [0.3, -0.2, 0.5, 0.7, -0.4];
    let weights = [0.8, -1.3, 0.4, 0.9, -0.7];
    let (right, sensitivity) = with_sensitivity(start, direction);
    // Adams and BDF; functional iteration, a Jacobian that the user gives or the solver computes, full, diagonal or in bands.
    // With 13, the iterations for the values end before their derivatives have four digits.
    for method in [10, 11, 12, 14, 15, 20, 21, 22, 23, 24, 25] {
        let (mut y, mut t, mut state) = (start, 0.0, 1);
        let (mut rwork, mut iwork) = ([0.0; 100], [0; 30]);
        iwork[..2].fill(2);
        let tangent = fortran::dlsode_jvp::generic(
            Reactions, &[3], &mut y, &mut t, END, 1, &[1e-11], &[1e-11], 1, &mut state, 0, &mut rwork, &mut iwork,
            Reactions, method, &direction,
        )
        .unwrap();
        assert_eq!((t, state), (END, 2));
        for i in 0..3 {
            close(y[i], right[i], 1e-8);
            close(tangent[i], sensitivity[i], 1e-5);
        }
        assert_eq!(tangent[3..], direction[3..]);
        // All columns of the Jacobian in one forward sweep.
        let (mut y, mut t, mut state) = (start, 0.0, 1);
        let (mut rwork, mut iwork) = ([0.0; 100], [0; 30]);
        iwork[..2].fill(2);
        let columns = fortran::dlsode_jacobian::generic(
            Reactions, &[3], &mut y, &mut t, END, 1, &[1e-11], &[1e-11], 1, &mut state, 0, &mut rwork, &mut iwork,
            Reactions, method,
        )
        .unwrap();
        assert_eq!((t, state), (END, 2));
        for i in 0..5 {
            let product: f64 = (0..5).map(|k| columns[(i, k)] * direction[k]).sum();
            close(product, tangent[i], 1e-11);
        }
        // All derivatives of a weighted sum in one reverse sweep.
        let (mut y, mut t, mut state) = (start, 0.0, 1);
        let (mut rwork, mut iwork) = ([0.0; 100], [0; 30]);
        iwork[..2].fill(2);
        let cotangent = fortran::dlsode_vjp::generic(
            Reactions, &[3], &mut y, &mut t, END, 1, &[1e-11], &[1e-11], 1, &mut state, 0, &mut rwork, &mut iwork,
            Reactions, method, &weights,
        )
        .unwrap();
        assert_eq!((t, state), (END, 2));
        (0..3).for_each(|i| close(y[i], right[i], 1e-8));
        let transposed: f64 = cotangent.iter().zip(direction).map(|(a, b)| a * b).sum();
        let product: f64 = tangent.iter().zip(weights).map(|(a, b)| a * b).sum();
        close(transposed, product, 1e-11);
        for k in 0..5 {
            let mut unit = [0.0; 5];
            unit[k] = 1.0;
            let (_, by_k) = with_sensitivity(start, unit);
            let own = if k < 3 { 0.0 } else { weights[k] };
            let sum: f64 = by_k.iter().zip(weights).map(|(a, b)| a * b).sum();
            close(cotangent[k], sum + own, 1e-5);
        }
    }
}

/// Two decays, y0 to y1 to nothing, of which the exact solution is known.
struct Decays;

impl fortran::procedures::Dopri5Fcn for Decays {
    fn call<D: Number>(&mut self, _: i32, _: D, y: &[D], dy: &mut [D], rpar: &[D], _: &[i32]) {
        dy[0] = -rpar[0] * y[0];
        dy[1] = rpar[0] * y[0] - rpar[1] * y[1];
    }
}

fn exact<D: Number>(y: [D; 2], p: [D; 2]) -> [D; 2] {
    let (a, b) = ((-p[0] * END).exp(), (-p[1] * END).exp());
    [y[0] * a, y[1] * b + y[0] * p[0] / (p[1] - p[0]) * (a - b)]
}

fn dopri5() {
    let (start, rates) = ([1.0, 0.3], [0.7, 1.9]);
    let direction = [0.4, -1.2, 0.8, 0.3];
    let number = |x: f64, i: usize| Dual64::new(x, direction[i]);
    let right = exact(
        [number(start[0], 0), number(start[1], 1)],
        [number(rates[0], 2), number(rates[1], 3)],
    );
    let (mut work, mut iwork) = ([0.0; 60], [0; 30]);
    let (mut x, mut y, mut steps) = (0.0, start, 0);
    let forward = fortran::dopri5_jvp::generic(
        Decays, &mut x, &mut y, END, &[1e-10], &[1e-10], 0, |_, _, _, _, _, _, _, _, _, _, _| steps += 1, 1,
        &mut work, &mut iwork, &rates, &[0], &direction[..2], &direction[2..],
    )
    .unwrap();
    assert!(steps > 5, "{steps}");
    for i in 0..2 {
        close(y[i], right[i].re, 1e-9);
        close(forward.y_result_tangent[i], right[i].eps, 1e-8);
    }
    // All four derivatives of a weighted sum in one reverse sweep.
    let weights = [0.6, -1.1];
    let (mut work, mut iwork) = ([0.0; 60], [0; 30]);
    let (mut x, mut y) = (0.0, start);
    let reverse = fortran::dopri5_vjp::generic(
        Decays, &mut x, &mut y, END, &[1e-10], &[1e-10], 0, |_, _, _, _, _, _, _, _, _, _, _| (), 0, &mut work,
        &mut iwork, &rates, &[0], &weights,
    )
    .unwrap();
    let found = [&reverse.y_cotangent[..], &reverse.rpar_cotangent[..]].concat();
    for (k, found) in found.iter().enumerate() {
        let seed = |x: f64, i: usize| Dual64::new(x, if i == k { 1.0 } else { 0.0 });
        let by_k = exact(
            [seed(start[0], 0), seed(start[1], 1)],
            [seed(rates[0], 2), seed(rates[1], 3)],
        );
        close(*found, weights[0] * by_k[0].eps + weights[1] * by_k[1].eps, 1e-8);
        close(y[0], right[0].re, 1e-9);
    }
    let transposed: f64 = found.iter().zip(direction).map(|(a, b)| a * b).sum();
    let product: f64 = forward.y_result_tangent.iter().zip(weights).map(|(a, b)| a * b).sum();
    close(transposed, product, 1e-12);
}

/// A model with two parameters, for MISFIT.
struct Saturation;

impl fortran::procedures::MisfitModel for Saturation {
    fn call<D: Number>(&mut self, t: D, p: &[D]) -> D {
        p[0] * (D::from(1.0) - (-p[1] * t).exp())
    }
}

fn lbfgsb() {
    let times: Vec<f64> = (1..=12).map(|i| f64::from(i) * 0.4).collect();
    let wanted = [2.5, 0.8];
    let data: Vec<f64> = times.iter().map(|t| wanted[0] * (1.0 - (-wanted[1] * t).exp())).collect();
    let mut p = [1.0, 1.0];
    let (n, m) = (2, 5);
    let (lower, upper, bounded) = ([0.1; 2], [2.4, 10.0], [2; 2]);
    let (mut value, mut gradient) = (0.0, [0.0; 2]);
    let mut wa = vec![0.0; (2 * m + 5) * n + 11 * m * m + 8 * m];
    let mut iwa = vec![0; 3 * n];
    let (mut task, mut csave) = (String::from("START"), String::new());
    let (mut lsave, mut isave, mut dsave) = ([false; 4], [0; 44], [0.0; 29]);
    let mut calls = 0;
    // Once with a bound that is active, once without.
    for (upper, wanted) in [(upper, None), ([10.0, 10.0], Some(wanted))] {
        task.replace_range(.., "START");
        loop {
            fortran::raw::setulb(
                n as i32, m as i32, &mut p, &lower, &upper, &bounded, &mut value, &mut gradient, 10.0, 1e-9, &mut wa,
                &mut iwa, &mut task, -1, &mut csave, &mut lsave, &mut isave, &mut dsave, 20,
            )
            .unwrap();
            if task.starts_with("FG") {
                calls += 1;
                let found = fortran::misfit_gradient::generic(Saturation, &times, &data, &p).unwrap();
                value = found.value;
                gradient.copy_from_slice(&found.p_gradient);
                check_gradient(&times, &data, p, &found.p_gradient);
            } else if !task.starts_with("NEW_X") {
                break;
            }
        }
        assert!(task.starts_with("CONVERGENCE"), "{task}");
        match wanted {
            Some(wanted) => (0..2).for_each(|i| close(p[i], wanted[i], 1e-6)),
            None => {
                assert_eq!(p[0], 2.4);
                assert!(gradient[0] < 0.0 && gradient[1].abs() < 1e-6, "{gradient:?}");
            }
        }
    }
    assert!(calls < 60, "{calls}");
}

fn check_gradient(times: &[f64], data: &[f64], p: [f64; 2], gradient: &[f64]) {
    for k in 0..2 {
        let at = |h: f64| {
            let mut p = p;
            p[k] += h;
            let model = |t, p: &[f64]| fortran::procedures::MisfitModel::call::<f64>(&mut Saturation, t, p);
            fortran::misfit(model, times, data, &p).unwrap()
        };
        let h = 1e-3;
        let difference = (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h);
        close(gradient[k], difference, 1e-8);
    }
}
