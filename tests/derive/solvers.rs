//! Solvers with closures, differentiated as a whole, against finite differences.

use crate::fortran;
use farfel_runtime::dual::DualNum;
use farfel_runtime::{Complex, Matrix};
trait Num: DualNum<Primitive = f64> + Copy {}
impl<T: DualNum<Primitive = f64> + Copy> Num for T {}

#[track_caller]
fn close(a: f64, b: f64, tol: f64) {
    assert!((a - b).abs() <= tol * (1.0 + b.abs()), "{a} is not {b}");
}
fn diff(f: impl Fn(f64) -> f64, h: f64) -> f64 {
    (8.0 * (f(h) - f(-h)) - (f(2.0 * h) - f(-2.0 * h))) / (12.0 * h)
}

struct F;
struct G;
struct Wave(f64);
struct Res;
struct Obj;
struct Norm;
struct Inner;
struct Fix;
fn f<D: Num>(t: D) -> D {
    (t * 0.5).exp()
}
fn g<D: Num>(x: D, i: i32) -> D {
    x.sin() * f64::from(i) + x * x
}
impl fortran::procedures::TwoF for F {
    fn call<D: Num>(&mut self, t: D) -> D {
        f(t)
    }
}
impl fortran::procedures::TwoG for G {
    fn call<D: Num>(&mut self, x: D, i: i32) -> D {
        g(x, i)
    }
}
impl fortran::procedures::SimpsonF for Wave {
    fn call<D: Num>(&mut self, x: D) -> D {
        (x * self.0).sin() * x
    }
}
fn res<D: Num>(x: &[D], p: &[D], r: &mut [D]) {
    r[0] = x[0] * x[0] + x[1] * p[0] - 2.0;
    r[1] = x[1].exp() * p[1] + x[0] * 0.3 - p[2];
}
impl fortran::procedures::RootsRes for Res {
    fn call<D: Num>(&mut self, _n: i32, x: &[D], p: &[D], r: &mut [D]) {
        res(x, p, r)
    }
}
impl fortran::procedures::MisfitRes for Res {
    fn call<D: Num>(&mut self, _n: i32, x: &[D], p: &[D], r: &mut [D]) {
        res(x, p, r)
    }
}
fn obj<D: Num>(x: &[D]) -> D {
    x[0].sin() * x[1] + x[1] * x[1]
}
impl fortran::procedures::MisfitObj for Obj {
    fn call<D: Num>(&mut self, _n: i32, x: &[D]) -> D {
        obj(x)
    }
}
fn norm<D: Num>(m: i32, a: &mut [D], s: &mut D) {
    let mut t = D::zero();
    for i in 0..m as usize {
        t += a[i] * a[i] * f64::from(i as i32 + 1);
        a[i] = a[i] * 2.0;
    }
    *s = t.sqrt();
}
impl fortran::procedures::ColsNorm for Norm {
    fn call<D: Num>(&mut self, m: i32, a: &mut [D], s: &mut D) {
        norm(m, a, s)
    }
}
fn inner<D: Num>(t: D, y: D) -> D {
    t * y.cos() + t * t
}
impl fortran::procedures::SharedF for Inner {
    fn call<D: Num>(&mut self, t: D, y: D) -> D {
        inner(t, y)
    }
}
fn fix<D: Num>(x: D, p: D) -> D {
    (x * p).cos()
}
impl fortran::procedures::FixedF for Fix {
    fn call<D: Num>(&mut self, x: D, p: D) -> D {
        fix(x, p)
    }
}

pub fn check() {
    fortran::setp(0.7);
    let x = [0.3, 0.9, -0.4];
    let two = |x: [f64; 3]| fortran::two(f::<f64>, |x, i| g(x, i), &x).unwrap();
    let along = |i: usize, t: f64| {
        let mut y = x;
        y[i] += t;
        y
    };
    let gr = |x: [f64; 3]| fortran::two_gradient::generic(F, G, &x).unwrap().x_gradient;
    for i in 0..3 {
        close(gr(x)[i], diff(|t| two(along(i, t)), 1e-3), 1e-9);
    }
    let h = fortran::two_hvp::generic(F, G, &x, &[1.0, 0.5, -2.0]).unwrap();
    for i in 0..3 {
        close(
            h.x_hvp[i],
            diff(|t| gr([x[0] + t, x[1] + 0.5 * t, x[2] - 2.0 * t])[i], 1e-3),
            1e-9,
        );
    }
    let s = |a, b| fortran::simpson(|x: f64| (x * 2.0).sin() * x, a, b, 1e-6).unwrap();
    let j = fortran::simpson_jvp::generic(Wave(2.0), 0.1, 1.3, 1e-6, 0.4, 1.0).unwrap();
    close(
        j.simpson_jvp_tangent,
        diff(|t| s(0.1 + 0.4 * t, 1.3 + t), 1e-3),
        1e-9,
    );
    let gsi = fortran::simpson_gradient::generic(Wave(2.0), 0.1, 1.3, 1e-6).unwrap();
    close(
        gsi.a_gradient * 0.4 + gsi.b_gradient,
        j.simpson_jvp_tangent,
        1e-12,
    );
    // The roots: implicit function theorem by differences.
    let p = [0.5, 1.2, 1.7];
    let roots = |p: [f64; 3]| {
        // By hand: Newton in Rust.
        let mut x = [1.0, 1.0];
        for _ in 0..60 {
            let mut r = [0.0; 2];
            res(&x, &p, &mut r);
            let (a, b, c, d) = (2.0 * x[0], p[0], 0.3, x[1].exp() * p[1]);
            let det = a * d - b * c;
            x = [
                x[0] - (d * r[0] - b * r[1]) / det,
                x[1] - (a * r[1] - c * r[0]) / det,
            ];
        }
        x
    };
    let pa = |j: usize, t: f64| {
        let mut q = p;
        q[j] += t;
        q
    };
    let mut xs = [0.0; 2];
    let jf = fortran::roots_jacobian::generic(Res, &p, &mut xs, 20).unwrap();
    let jr = fortran::roots_rows::generic(Res, &p, &mut xs, 20).unwrap();
    for i in 0..2 {
        close(xs[i], roots(p)[i], 1e-12);
        for j in 0..3 {
            let d = diff(|t| roots(pa(j, t))[i], 1e-3);
            close(jf[(i, j)], d, 1e-9);
            close(jr[(i, j)], d, 1e-9);
        }
    }
    let g1 = |p: [f64; 3]| {
        fortran::misfit_gradient::generic(Res, Obj, 2, &p, 20)
            .unwrap()
            .p_gradient
    };
    let h = fortran::misfit_hessian::generic(Res, Obj, 2, &p, 20).unwrap();
    for i in 0..3 {
        close(g1(p)[i], diff(|t| obj(&roots(pa(i, t))), 1e-3), 1e-9);
        for j in 0..3 {
            close(h.p_hessian[(i, j)], diff(|t| g1(pa(j, t))[i], 1e-3), 1e-8);
        }
    }
    // COMPLEX: F(z) = z^2 + c; w = z F(z) + F(F(z)).
    type C = Complex<f64>;
    let c = |re: f64, im: f64| C { re, im };
    let mul = |a: C, b: C| c(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
    let add = |a: C, b: C| c(a.re + b.re, a.im + b.im);
    let k = c(0.2, -0.1);
    let z = c(0.6, 0.7);
    let sq = |z: C| add(mul(z, z), k);
    let w = |z: C| add(mul(sq(z), z), sq(sq(z)));
    let j = fortran::cplx_jvp(
        sq,
        |z, zd, y, yd| {
            *y = sq(z);
            *yd = mul(c(2.0, 0.0), mul(z, zd));
        },
        z,
        c(0.3, 0.5),
    );
    let d = |h: f64| w(c(0.6 + 0.3 * h, 0.7 + 0.5 * h));
    close(j.w_tangent.re, diff(|h| d(h).re, 1e-3), 1e-9);
    close(j.w_tangent.im, diff(|h| d(h).im, 1e-3), 1e-9);
    let conj = |z: C| c(z.re, -z.im);
    let v = fortran::cplx_vjp(
        sq,
        |z, zb, _, yb| {
            *zb = add(*zb, mul(conj(mul(c(2.0, 0.0), z)), *yb));
            *yb = c(0.0, 0.0);
        },
        z,
        c(1.0, 0.4),
    );
    close(
        v.z_cotangent.re * 0.3 + v.z_cotangent.im * 0.5,
        j.w_tangent.re + 0.4 * j.w_tangent.im,
        1e-12,
    );
    // INTEGER.
    let step = |y: &mut f64, k: &mut i32| {
        *k = 2 * *k + 1;
        *y = *y * *y * f64::from(*k);
    };
    let val = |x: f64| fortran::count(step, x).s;
    let j = fortran::count_jvp(
        step,
        |y, yd, k| {
            *k = 2 * *k + 1;
            *yd = 2.0 * *y * *yd * f64::from(*k);
            *y = *y * *y * f64::from(*k);
        },
        0.8,
        1.0,
    );
    close(j.s_tangent, diff(|t| val(0.8 + t), 1e-4), 1e-9);
    let v = fortran::count_vjp(
        step,
        |y, yb, k| {
            let k = 2 * k + 1;
            *yb = 2.0 * y * *yb * f64::from(k);
        },
        0.8,
        1.0,
    );
    close(v.x_cotangent, j.s_tangent, 1e-12);
    assert_eq!(v.knt, 7);
    let a = [0.3, 0.4, -0.5, 0.2, 0.9, 0.1];
    let cols = |a: [f64; 6]| {
        let mut s = [0.0; 2];
        fortran::cols(
            |m, a: &mut [f64], s: &mut f64| norm(m, a, s),
            Matrix::new(&a, 3, 2).unwrap(),
            &mut s,
        )
        .unwrap();
        s
    };
    let mut s = [0.0; 2];
    let at = |i: usize, t: f64| {
        let mut b = a;
        b[i] += t;
        b
    };
    let v = fortran::cols_vjp::generic(Norm, Matrix::new(&a, 3, 2).unwrap(), &mut s, &[0.6, -0.3])
        .unwrap();
    let j = fortran::cols_jacobian::generic(Norm, Matrix::new(&a, 3, 2).unwrap(), &mut s).unwrap();
    for i in 0..6 {
        let d: Vec<f64> = (0..2).map(|k| diff(|t| cols(at(i, t))[k], 1e-3)).collect();
        close(v.as_slice()[i], 0.6 * d[0] - 0.3 * d[1], 1e-9);
        for k in 0..2 {
            close(j.as_slice()[k + 2 * i], d[k], 1e-9);
        }
    }
    let sh = |x: [f64; 2]| fortran::shared(inner::<f64>, &x).unwrap();
    let v = fortran::shared_gradient::generic(Inner, &[0.4, 0.9]).unwrap();
    close(v.x_gradient[0], diff(|t| sh([0.4 + t, 0.9]), 1e-3), 1e-9);
    close(v.x_gradient[1], diff(|t| sh([0.4, 0.9 + t]), 1e-3), 1e-9);
    let fx = |p: f64| {
        let mut x = 0.5;
        for _ in 0..400 {
            x = fix(x, p);
        }
        x * p
    };
    let v = fortran::fixed_gradient::generic(Fix, 0.8);
    close(v.p_gradient, diff(|t| fx(0.8 + t), 1e-3), 1e-9);
    // A panic in a derivative; then the library works again.
    std::panic::set_hook(Box::new(|_| {}));
    for _ in 0..3 {
        let caught =
            std::panic::catch_unwind(|| fortran::cplx_jvp(sq, |_, _, _, _| panic!("no"), z, z));
        assert!(caught.is_err());
        let caught =
            std::panic::catch_unwind(|| fortran::count_vjp(step, |_, _, _| panic!("no"), 0.8, 1.0));
        assert!(caught.is_err());
    }
    let _ = std::panic::take_hook();
    close(
        fortran::fixed_gradient::generic(Fix, 0.8).p_gradient,
        v.p_gradient,
        1e-15,
    );
    std::thread::scope(|s| {
        for k in 0..8 {
            s.spawn(move || {
                for _ in 0..20 {
                    let q = [0.5 + 0.01 * f64::from(k), 1.2, 1.7];
                    let h = fortran::misfit_hessian::generic(Res, Obj, 2, &q, 20).unwrap();
                    close(h.p_hessian[(0, 1)], h.p_hessian[(1, 0)], 1e-10);
                }
            });
        }
    });
}
