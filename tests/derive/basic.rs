//! Subprograms that take closures, and their derivatives, against finite differences.

use crate::fortran;
use farfel_runtime::dual::DualNum;

struct Kepler;
fn kepler<D: DualNum<Primitive = f64> + Copy>(x: D, c: D) -> D {
    x - x.sin() * c - 1.0
}
impl fortran::procedures::NewtonF for Kepler {
    fn call<D: DualNum<Primitive = f64> + Copy>(&mut self, x: D, c: D) -> D {
        kepler(x, c)
    }
}
impl fortran::procedures::TwiceF for Kepler {
    fn call<D: DualNum<Primitive = f64> + Copy>(&mut self, x: D, c: D) -> D {
        kepler(x, c)
    }
}

struct Sine(f64);
fn wave<D: DualNum<Primitive = f64> + Copy>(x: D) -> D {
    (x * 2.0).sin() * x
}
macro_rules! one { ($($t:path),*) => { $(impl $t for Sine { fn call<D: DualNum<Primitive = f64> + Copy>(&mut self, x: D) -> D { self.0 += 1.0; wave(x) } })* } }
one!(fortran::procedures::AreaF);

struct Decay;
impl fortran::procedures::StepsRhs for Decay {
    fn call<D: DualNum<Primitive = f64> + Copy>(&mut self, n: i32, t: D, y: &[D], dy: &mut [D]) {
        decay(n, t, y, dy)
    }
}
fn decay<D: DualNum<Primitive = f64> + Copy>(_n: i32, t: D, y: &[D], dy: &mut [D]) {
    dy[0] = y[1] * y[0] + t;
    dy[1] = -y[0].sin();
}

struct Pair;
fn pair<D: DualNum<Primitive = f64> + Copy>(a: D, b: D) -> D {
    ((a - b).powi(2) + 1.0).recip() + a * b * b
}
impl fortran::procedures::EnergyPair for Pair {
    fn call<D: DualNum<Primitive = f64> + Copy>(&mut self, a: D, b: D) -> D {
        pair(a, b)
    }
}

fn swirl<D: DualNum<Primitive = f64> + Copy>(n: usize, z: &mut [D], p: &mut [D], q: &mut D) {
    let first = z[0];
    for i in 0..n {
        let next = if i + 1 < n { z[i + 1] } else { first };
        z[i] = z[i] * p[2 * i] + (next * p[2 * i + 1]).sin();
    }
    *q = *q * z[0] * 0.1;
}
struct Swirl;
impl fortran::procedures::FlowRhs for Swirl {
    fn call<D: DualNum<Primitive = f64> + Copy>(
        &mut self,
        n: i32,
        z: &mut [D],
        p: &mut [D],
        q: &mut D,
    ) {
        swirl(n as usize, z, p, q)
    }
}

struct Cube;
impl fortran::procedures::SingleF for Cube {
    fn call<D: DualNum<Primitive = f32> + Copy>(&mut self, x: D) -> D {
        x.powi(3)
    }
}

#[track_caller]
fn close(a: f64, b: f64, tol: f64) {
    assert!((a - b).abs() <= tol * (1.0 + b.abs()), "{a} is not {b}");
}
fn diff(f: impl Fn(f64) -> f64, h: f64) -> f64 {
    (8.0 * (f(h) - f(-h)) - (f(2.0 * h) - f(-2.0 * h))) / (12.0 * h)
}

pub fn check() {
    let (a, b, n) = (0.2, 1.7, 13);
    let area = |a: f64, b: f64| fortran::area(|x| wave(x), a, b, n);
    let g = fortran::area_gradient::generic(Sine(0.0), a, b, n);
    close(g.a_gradient, diff(|h| area(a + h, b), 1e-3), 1e-9);
    close(g.b_gradient, diff(|h| area(a, b + h), 1e-3), 1e-9);
    let j = fortran::area_jvp::generic(Sine(0.0), a, b, n, 0.3, -0.7);
    close(
        j.area_jvp_tangent,
        0.3 * g.a_gradient - 0.7 * g.b_gradient,
        1e-12,
    );
    let h = fortran::area_hvp::generic(Sine(0.0), a, b, n, 0.3, -0.7);
    let ga = |t: f64| fortran::area_gradient::generic(Sine(0.0), a + 0.3 * t, b - 0.7 * t, n);
    close(h.a_hvp, diff(|t| ga(t).a_gradient, 1e-3), 1e-9);
    close(h.b_hvp, diff(|t| ga(t).b_gradient, 1e-3), 1e-9);

    // Newton: the root of x - c sin x - 1, dx/dc = sin x/(1 - c cos x).
    let c = 0.3;
    let mut x = 1.0;
    let d = fortran::newton_jvp::generic(Kepler, &mut x, c, 8, 0.0, 1.0);
    close(d, x.sin() / (1.0 - c * x.cos()), 1e-12);
    let mut x = 1.0;
    let v = fortran::newton_vjp::generic(Kepler, &mut x, c, 8, 1.0);
    close(v.c_cotangent, d, 1e-12);
    // z = d(x f(x, 2))/dx = f + x f'; z' = 2 f' + x f''
    let x = 0.8_f64;
    let (f1, f2) = (1.0 - 2.0 * x.cos(), 2.0 * x.sin());
    let t = fortran::twice_jvp::generic(Kepler, x, 1.0);
    close(t.z_tangent, 2.0 * f1 + x * f2, 1e-12);
    let t = fortran::twice_vjp::generic(Kepler, x, 1.0);
    close(t.x_cotangent, 2.0 * f1 + x * f2, 1e-12);

    // Euler steps.
    let w = |i: i32| f64::from(i);
    let steps = |y: [f64; 2], h: f64| {
        let mut y = y;
        fortran::steps(decay::<f64>, w, &mut y, h, 5).unwrap();
        y
    };
    let y0 = [0.4, 0.9];
    let mut y = y0;
    let yt = fortran::steps_jvp::generic(Decay, w, &mut y, 0.1, 5, &[1.0, -2.0], 0.5).unwrap();
    for i in 0..2 {
        close(
            yt[i],
            diff(
                |t| steps([y0[0] + t, y0[1] - 2.0 * t], 0.1 + 0.5 * t)[i],
                1e-3,
            ),
            1e-9,
        );
    }
    let mut y = y0;
    let found = fortran::steps_vjp::generic(Decay, w, &mut y, 0.1, 5, &[0.7, 0.2]).unwrap();
    let yb = found.y_cotangent;
    close(
        yb[0] - 2.0 * yb[1] + 0.5 * found.h_cotangent,
        0.7 * yt[0] + 0.2 * yt[1],
        1e-12,
    );

    // Hessian.
    let x = [0.3, -0.5, 0.9];
    let h = fortran::area_hessian::generic(Pair, &x).unwrap();
    for i in 0..3 {
        for j in 0..3 {
            let g = |t: f64| {
                let mut x = x;
                x[j] += t;
                fortran::area_hessian::generic(Pair, &x).unwrap().x_gradient[i]
            };
            close(h.x_hessian[(i, j)], diff(g, 1e-3), 1e-8);
            let e = |t: f64| {
                let mut x = x;
                x[i] += t;
                fortran::energy(pair::<f64>, &x).unwrap()
            };
            close(h.x_gradient[i], diff(e, 1e-3), 1e-8);
        }
    }
    // Jacobians.
    let y = [0.3, 0.8, -0.4];
    let p = [0.9, 0.4, 1.1, -0.3, 0.7, 0.6];
    let m = 3;
    let flow = |y: [f64; 3], p: [f64; 6]| {
        let mut z = [0.0; 3];
        let mut p = p;
        fortran::raw::flow(
            |n, z: &mut [f64], p: &mut [f64], q: &mut f64| swirl(n as usize, z, p, q),
            3,
            &y,
            &mut p,
            &mut z,
            m,
        )
        .unwrap();
        z
    };
    let mut pp = p;
    let forward = fortran::flow_jacobian::generic(
        Swirl,
        &y,
        farfel_runtime::MatrixMut::new(&mut pp, 2, 3).unwrap(),
        m,
    )
    .unwrap();
    let mut pp = p;
    let rows = fortran::flow_rows::generic(
        Swirl,
        &y,
        farfel_runtime::MatrixMut::new(&mut pp, 2, 3).unwrap(),
        m,
    )
    .unwrap();
    for i in 0..3 {
        for j in 0..3 {
            let d = diff(
                |t| {
                    let mut y = y;
                    y[j] += t;
                    flow(y, p)[i]
                },
                1e-3,
            );
            close(forward.z_by_y[(i, j)], d, 1e-8);
            close(rows.z_by_y[(i, j)], d, 1e-8);
        }
        for k in 0..6 {
            let d = diff(
                |t| {
                    let mut p = p;
                    p[k] += t;
                    flow(y, p)[i]
                },
                1e-3,
            );
            close(forward.z_by_p.as_slice()[i + 3 * k], d, 1e-8);
            close(rows.z_by_p.as_slice()[i + 3 * k], d, 1e-8);
        }
    }
    let s = fortran::single_gradient::generic(Cube, 1.5f32);
    close(s.x_gradient.into(), 6.0 * 1.5f64.powi(5), 1e-5);
    std::thread::scope(|s| {
        for k in 0..8 {
            s.spawn(move || {
                for _ in 0..50 {
                    let x = 0.1 + f64::from(k);
                    let t = fortran::twice_jvp::generic(Kepler, x, 1.0);
                    let (f1, f2) = (1.0 - 2.0 * x.cos(), 2.0 * x.sin());
                    close(t.z_tangent, 2.0 * f1 + x * f2, 1e-12);
                }
            });
        }
    });
}
