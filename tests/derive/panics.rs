//! Closures that panic while derivatives are computed, in each of their calls, and STOP there: nothing is lost, and the
//! next call is right, in this thread and in others.
#![forbid(unsafe_code)]
mod fortran {
    #![allow(dead_code)]
    farfel_runtime::include_bindings!();
}
use farfel_runtime::Error;
use farfel_runtime::dual::DualNum;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

thread_local! {
    /// How many calls of closures are left until one of them fails.
    static LEFT: Cell<usize> = const { Cell::new(0) };
    /// Whether it fails by an error of the library that it calls.
    static ERROR: Cell<bool> = const { Cell::new(false) };
}

#[derive(Debug, PartialEq)]
enum Failure {
    Panic,
    Error(Error),
}

fn tick() {
    let left = LEFT.get();
    LEFT.set(left.saturating_sub(1));
    if left == 1 {
        let failure = match ERROR.get() {
            false => Failure::Panic,
            // A subprogram without state can be called again; this one stops.
            true => Failure::Error(fortran::ending(1).unwrap_err()),
        };
        resume_unwind(Box::new(failure));
    }
}

struct Growth;

fn growth<D: DualNum<Primitive = f64> + Copy>(z: &[D], dy: &mut [D]) {
    tick();
    for i in 0..z.len() {
        dy[i] = z[(i + 1) % z.len()].sin();
    }
}

impl fortran::procedures::StepsRhs for Growth {
    fn call<D: DualNum<Primitive = f64> + Copy>(&mut self, _: i32, _: i32, z: &[D], dy: &mut [D]) {
        growth(z, dy);
    }
}

impl fortran::procedures::SquareRhs for Growth {
    fn call<D: DualNum<Primitive = f64> + Copy>(&mut self, _: i32, _: i32, z: &[D], dy: &mut [D]) {
        growth(z, dy);
    }
}

struct Wave;

impl fortran::procedures::InnerF for Wave {
    fn call<D: DualNum<Primitive = f64> + Copy>(&mut self, x: D, c: D) -> D {
        tick();
        x.sin() * c
    }
}

const WAYS: usize = 9;

/// A derivative of each kind.
fn derivative(way: usize, n: usize) -> Result<Vec<f64>, Error> {
    let y: Vec<f64> = (0..n).map(|i| 0.1 + 0.05 * i as f64).collect();
    let v: Vec<f64> = (0..n).map(|i| 1.0 - 0.1 * i as f64).collect();
    let (h, m) = (0.1, 4);
    Ok(match way {
        0 => fortran::steps_jvp::generic(Growth, &y, h, m, &v, 0.5)?.z_tangent,
        1 => fortran::steps_vjp::generic(Growth, &y, h, m, &v)?.y_cotangent,
        2 => fortran::steps_rows::generic(Growth, &y, h, m)?.z_by_y.into_vec(),
        3 => fortran::square_gradient::generic(Growth, &y, h, m)?.y_gradient,
        4 => fortran::square_hvp::generic(Growth, &y, h, m, &v)?.y_hvp,
        5 => fortran::square_hessian::generic(Growth, &y, h, m)?.y_hessian.into_vec(),
        6 => vec![fortran::inner_jvp::generic(Wave, 0.4, 1.0).z_tangent],
        7 => vec![fortran::inner_vjp::generic(Wave, 0.4, 1.0).x_cotangent],
        _ => vec![fortran::inner::generic(Wave, 0.4)],
    })
}

/// Fails in each call of a closure, and returns how often.
fn check(n: usize) -> usize {
    let stopped = fortran::ending(1).unwrap_err();
    let mut failures = 0;
    for way in 0..WAYS {
        LEFT.set(0);
        let right = derivative(way, n).unwrap();
        for call in 1.. {
            ERROR.set(call % 2 == 0);
            LEFT.set(call);
            match catch_unwind(AssertUnwindSafe(|| derivative(way, n))) {
                // There are no more calls.
                Ok(found) => {
                    assert_eq!(found.unwrap(), right);
                    break;
                }
                Err(failure) => {
                    let wanted = match ERROR.get() {
                        false => Failure::Panic,
                        true => Failure::Error(stopped.clone()),
                    };
                    assert_eq!(*failure.downcast::<Failure>().unwrap(), wanted);
                    failures += 1;
                }
            }
            LEFT.set(0);
            assert_eq!(derivative(way, n).unwrap(), right, "{way}");
            assert_eq!(farfel_runtime::memory::usage().in_use, 0);
        }
    }
    // 4 steps of which none, or each once more in reverse mode, is repeated for each number.
    assert!(failures > 60, "{failures}");
    failures
}

fn main() {
    // By hand: z = (x*2*sin(x))'.
    let x = 0.4f64;
    assert!((derivative(8, 0).unwrap()[0] - 2.0 * (x.sin() + x * x.cos())).abs() < 1e-14);
    let failures = check(3);
    assert_eq!(check(3), failures);
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| assert_eq!(check(2), check(2)));
        }
    });
    // Arrays of derivatives that are large enough to be kept between calls.
    LEFT.set(0);
    let large = vec![0.1; 4000];
    let vjp = || fortran::steps_vjp(|_, _, _, dy| { tick(); dy.fill(1.0) }, |_, _, _, _, _, _| tick(), &large, 0.1, 3, &large);
    let right = vjp().unwrap();
    for call in 1..=6 {
        LEFT.set(call);
        ERROR.set(false);
        let failed = catch_unwind(AssertUnwindSafe(vjp));
        assert!(failed.is_err(), "{call}");
        LEFT.set(0);
        let found = vjp().unwrap();
        assert_eq!((found.z, found.y_cotangent), (right.z.clone(), right.y_cotangent.clone()));
        assert_eq!(farfel_runtime::memory::usage().in_use, 0);
    }
    // STOP in a derivative.
    let large = [1e7; 3];
    for way in 0..3 {
        let ended = match way {
            0 => fortran::steps_jvp::generic(Growth, &large, 0.1, 4, &large, 1.0).map(|_| ()),
            1 => fortran::steps_vjp::generic(Growth, &large, 0.1, 4, &large).map(|_| ()),
            _ => fortran::square_hvp::generic(Growth, &large, 0.1, 4, &large).map(|_| ()),
        };
        let said = ended.unwrap_err().to_string();
        assert!(said.starts_with("Fortran program stopped: too large (fortran/panics.ff"), "{said}");
    }
    check(2);
    println!("right");
}
