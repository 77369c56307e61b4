//! Derivatives of subprograms whose arguments are results, with ENTRY points and alternate returns, against
//! finite differences and by hand.
#![forbid(unsafe_code)]
mod fortran {
    #![allow(dead_code)]
    farfel_runtime::include_bindings!();
}
use farfel_runtime::Complex;
use farfel_runtime::dual::DualNum;
use fortran::{EscapeHessianReturn, EscapeJvpReturn, EscapeReturn, EscapeRowsReturn, EscapeVjpReturn};
use fortran::{LeaveJvpReturn, LeaveVjpReturn};

#[track_caller]
fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-7 * (1.0 + b.abs()), "{a} is not {b}");
}

/// The derivative of `f` at 0.
fn slope(f: impl Fn(f64) -> f64) -> f64 {
    let h = 1e-3;
    (8.0 * (f(h) - f(-h)) - (f(2.0 * h) - f(-2.0 * h))) / (12.0 * h)
}

fn main() {
    arguments_and_results();
    entry_points();
    alternate_returns();
    procedures_of_procedures();
    numbers_of_two_types();
    complex_numbers();
    println!("right");
}

/// E and X after FLOW.
fn flow(z: [f64; 4]) -> [f64; 4] {
    let (mut e, mut x) = (z[0], [z[1], z[2], z[3]]);
    fortran::flow(&mut x, &mut e).unwrap();
    [e, x[0], x[1], x[2]]
}

fn gradient(z: [f64; 4]) -> [f64; 4] {
    let (mut e, mut x) = (z[0], [z[1], z[2], z[3]]);
    let g = fortran::flow_gradient(&mut x, &mut e).unwrap();
    assert_eq!([e, x[0], x[1], x[2]], flow(z));
    [g.e_gradient, g.x_gradient[0], g.x_gradient[1], g.x_gradient[2]]
}

fn arguments_and_results() {
    // E, and X.
    let z = [0.7, 0.3, -0.5, 1.1];
    let moved = |j: usize, h: f64| {
        let mut z = z;
        z[j] += h;
        z
    };
    let by = |i: usize, j: usize| slope(|h| flow(moved(j, h))[i]);
    let second = |i: usize, j: usize| slope(|h| gradient(moved(j, h))[i]);
    let v = [0.3, -0.4, 0.8, 1.5];
    let (mut e, mut x) = (z[0], [z[1], z[2], z[3]]);
    let found = fortran::flow_jvp(&mut x, &mut e, v[0], &v[1..]).unwrap();
    assert_eq!([e, x[0], x[1], x[2]], flow(z));
    let tangents = [&[found.e_result_tangent], &found.x_result_tangent[..]].concat();
    let (mut e, mut x) = (z[0], [z[1], z[2], z[3]]);
    let found = fortran::flow_vjp(&mut x, &mut e, v[0], &v[1..]).unwrap();
    assert_eq!([e, x[0], x[1], x[2]], flow(z));
    let cotangents = [&[found.e_cotangent], &found.x_cotangent[..]].concat();
    let (mut e, mut x) = (z[0], [z[1], z[2], z[3]]);
    let columns = fortran::flow_jacobian(&mut x, &mut e).unwrap();
    assert_eq!([e, x[0], x[1], x[2]], flow(z));
    let (mut e, mut x) = (z[0], [z[1], z[2], z[3]]);
    let rows = fortran::flow_rows(&mut x, &mut e).unwrap();
    assert_eq!([e, x[0], x[1], x[2]], flow(z));
    let (mut e, mut x) = (z[0], [z[1], z[2], z[3]]);
    let product = fortran::flow_hvp(&mut x, &mut e, v[0], &v[1..]).unwrap();
    assert_eq!([e, x[0], x[1], x[2]], flow(z));
    let products = [&[product.e_hvp], &product.x_hvp[..]].concat();
    let (mut e, mut x) = (z[0], [z[1], z[2], z[3]]);
    let hessian = fortran::flow_hessian(&mut x, &mut e).unwrap();
    assert_eq!([e, x[0], x[1], x[2]], flow(z));
    for i in 0..4 {
        close(tangents[i], (0..4).map(|j| by(i, j) * v[j]).sum());
        close(cotangents[i], (0..4).map(|j| by(j, i) * v[j]).sum());
        close(gradient(z)[i], by(0, i));
        close(products[i], (0..4).map(|j| second(i, j) * v[j]).sum());
        for j in 0..4 {
            let of = |e_e: f64, e_x: &[f64], x_e: &[f64], x_x: &farfel_runtime::OwnedMatrix<f64>| match (i, j) {
                (0, 0) => e_e,
                (0, j) => e_x[j - 1],
                (i, 0) => x_e[i - 1],
                (i, j) => x_x[(i - 1, j - 1)],
            };
            close(of(columns.e_by_e, &columns.e_by_x, &columns.x_by_e, &columns.x_by_x), by(i, j));
            close(of(rows.e_by_e, &rows.e_by_x, &rows.x_by_e, &rows.x_by_x), by(i, j));
            if i > 0 && j > 0 {
                close(hessian.x_hessian[(i - 1, j - 1)], second(i, j));
            }
        }
    }

    // Results are returned although nothing proves that they are assigned.
    let (y0, h, m) = ([0.4, -0.2, 0.9], 0.1, 3);
    let steps = |t: f64| {
        let mut y = [y0[0] + t, y0[1] - 2.0 * t, y0[2] + 0.5 * t];
        fortran::steps(&mut y, h + 0.3 * t, m).unwrap();
        y
    };
    let mut y = y0;
    let tangent: Vec<f64> = fortran::steps_jvp(&mut y, h, m, &[1.0, -2.0, 0.5], 0.3).unwrap();
    assert_eq!(y, steps(0.0));
    (0..3).for_each(|i| close(tangent[i], slope(|t| steps(t)[i])));
    let mut y = y0;
    let weights = [0.2, 0.7, -0.6];
    let found = fortran::steps_vjp(&mut y, h, m, &weights).unwrap();
    let transposed = found.y_cotangent[0] - 2.0 * found.y_cotangent[1] + 0.5 * found.y_cotangent[2];
    let product: f64 = (0..3).map(|i| tangent[i] * weights[i]).sum();
    close(transposed + 0.3 * found.h_cotangent, product);
}

fn entry_points() {
    fortran::prepare(2.0);
    let a = [0.5, -1.5];
    let found = fortran::scaled_gradient(&a).unwrap();
    close(found.s, 2.0 * (0.125 - 3.375));
    (0..2).for_each(|i| close(found.a_gradient[i], 6.0 * a[i] * a[i]));
    let found = fortran::scaled_hvp(&a, &[1.0, 0.5]).unwrap();
    close(found.a_hvp[0], 12.0 * a[0]);
    close(found.a_hvp[1], 6.0 * a[1]);
    close(fortran::direct_jvp(&a, &[2.0, 1.0]).unwrap().y_tangent, 2.0 * (0.5 * 2.0 - 1.5));
    let found = fortran::twice_jvp(&a, &[2.0, 1.0]).unwrap();
    close(found.y_tangent, 2.0 * -1.5 + 0.5);
    let (x, z) = (1.3f64, 0.4f64);
    let found = fortran::power_jvp(x, z, 0.7, -0.2);
    close(found.value, x.powi(3) * z.sin());
    close(found.power_jvp_tangent, 0.7 * 3.0 * x * x * z.sin() - 0.2 * x.powi(3) * z.cos());
}

/// F for LEAVE.
struct Sine;

impl fortran::procedures::LeaveF for Sine {
    fn call<D: DualNum<Primitive = f64> + Copy>(&mut self, x: D) -> D {
        x.sin()
    }
}

fn alternate_returns() {
    // Y is X**2, and X**6 without an alternate return; X becomes X**3.
    for n in 0..3 {
        let (from, power) = (1.2f64, if n == 0 { 6 } else { 2 });
        let (value, d) = (from.powi(power), f64::from(power) * from.powi(power - 1));
        let dd = f64::from(power * (power - 1)) * from.powi(power - 2);
        let mut x = from;
        let found = fortran::escape(&mut x, n);
        let wanted = [EscapeReturn::Normal, EscapeReturn::Alternate1, EscapeReturn::Alternate2];
        assert_eq!(found.returned, wanted[n as usize]);
        close(found.y, value);

        let mut x = from;
        let found = fortran::escape_jvp(&mut x, n, 0.5);
        let wanted = [EscapeJvpReturn::Normal, EscapeJvpReturn::Alternate1, EscapeJvpReturn::Alternate2];
        assert_eq!(found.returned, wanted[n as usize]);
        close(x, from.powi(3));
        close(found.y, value);
        close(found.y_tangent, 0.5 * d);
        close(found.x_result_tangent, 1.5 * from * from);

        let mut x = from;
        let found = fortran::escape_vjp(&mut x, n, 0.3, -0.7);
        let wanted = [EscapeVjpReturn::Normal, EscapeVjpReturn::Alternate1, EscapeVjpReturn::Alternate2];
        assert_eq!(found.returned, wanted[n as usize]);
        close(x, from.powi(3));
        close(found.y, value);
        close(found.x_cotangent, 0.3 * 3.0 * from * from - 0.7 * d);

        let mut x = from;
        let found = fortran::escape_hessian(&mut x, n);
        let wanted =
            [EscapeHessianReturn::Normal, EscapeHessianReturn::Alternate1, EscapeHessianReturn::Alternate2];
        assert_eq!(found.returned, wanted[n as usize]);
        close(found.x_gradient, d);
        close(found.x_hessian, dd);

        let mut x = from;
        let found = fortran::escape_rows(&mut x, n);
        let wanted = [EscapeRowsReturn::Normal, EscapeRowsReturn::Alternate1, EscapeRowsReturn::Alternate2];
        assert_eq!(found.returned, wanted[n as usize]);
        close(found.y_by_x, d);
        close(found.x_by_x, 3.0 * from * from);
    }
    for x in [0.6f64, 1.4] {
        let tangent = |x: f64, xd: f64, y: &mut f64, yd: &mut f64| (*y, *yd) = (x.sin(), x.cos() * xd);
        let found = fortran::leave_jvp(f64::sin, |x, xd, y, yd| tangent(x, xd, y, yd), x, 2.0);
        let d = x.sin() + x * x.cos();
        close(found.y_tangent, 2.0 * d);
        close(found.y, x * x.sin() + if x > 1.0 { 0.0 } else { 1.0 });
        let left = matches!(found.returned, LeaveJvpReturn::Alternate1);
        assert_eq!(left, x > 1.0);
        let found = fortran::leave_vjp(f64::sin, |x, xb, _, yb| *xb += x.cos() * std::mem::take(yb), x, 2.0);
        close(found.x_cotangent, 2.0 * d);
        assert_eq!(matches!(found.returned, LeaveVjpReturn::Alternate1), x > 1.0);
    }
}

/// F for DRIVE and TURN: an element, and the one that IP names.
struct Pairs;

fn pairs<D: DualNum<Primitive = f64> + Copy>(y: &[D], d: &mut [D], ip: &[i32]) {
    for i in 0..d.len() {
        d[i] = y[i].sin() * y[ip[i] as usize - 1];
    }
}

macro_rules! pairs {
    ($($procedure:ident),*) => {
        $(impl fortran::procedures::$procedure for Pairs {
            fn call<D: DualNum<Primitive = f64> + Copy>(&mut self, _: i32, y: &[D], d: &mut [D], ip: &[i32]) {
                pairs(y, d, ip);
            }
        })*
    };
}
pairs!(DriveF, TurnF);

fn procedures_of_procedures() {
    let (start, v, w) = ([0.4, -0.7, 1.2], [1.0, -0.5, 0.3], [0.6, 0.2, -0.9]);
    let ip = [3, 1, 1];
    let moved = |t: f64| [0, 1, 2].map(|i| start[i] + t * v[i]);
    let f = |_: i32, y: &[f64], d: &mut [f64], ip: &[i32]| pairs(y, d, ip);
    for turn in [false, true] {
        let value = |t: f64| {
            let mut y = moved(t);
            match turn {
                false => fortran::drive(f, &mut y, &ip).unwrap(),
                true => fortran::turn(f, &mut y, &ip).unwrap(),
            }
            y
        };
        let mut y = start;
        let tangent = match turn {
            false => fortran::drive_jvp::generic(Pairs, &mut y, &ip, &v).unwrap(),
            true => fortran::turn_jvp::generic(Pairs, &mut y, &ip, &v).unwrap(),
        };
        assert_eq!(y, value(0.0));
        (0..3).for_each(|i| close(tangent[i], slope(|t| value(t)[i])));
        let mut y = start;
        let cotangent = match turn {
            false => fortran::drive_vjp::generic(Pairs, &mut y, &ip, &w).unwrap(),
            true => fortran::turn_vjp::generic(Pairs, &mut y, &ip, &w).unwrap(),
        };
        assert_eq!(y, value(0.0));
        let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        close(product(&cotangent, &v), product(&tangent, &w));
    }
}

/// F for MIXED, of which R is a REAL.
struct Product;

impl fortran::procedures::MixedF for Product {
    fn call<D: DualNum<Primitive = f64> + Copy>(&mut self, x: D, r: D) -> D {
        x.sin() * r * r
    }
}

/// G for MIXED, which assigns a REAL.
struct Sum;

impl fortran::procedures::MixedG for Sum {
    fn call<D: DualNum<Primitive = f64> + Copy>(&mut self, t: &mut [D], s: &mut D) {
        *s = t[0] + t[1] * t[1];
    }
}

fn numbers_of_two_types() {
    let (x, r) = (0.75f64, 1.5f32);
    let by_hand = |x: f64, r: f64| (x.sin() * r * r).powi(2) + (x + 4.0 * x * x) * x;
    let wide = f64::from(r);
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-6 * (1.0 + b.abs()), "{a} is not {b}");
    let by_x = slope(|h| by_hand(x + h, wide));
    let by_r = slope(|h| by_hand(x, wide + h));
    let found = fortran::mixed_gradient::generic(Product, Sum, x, r).unwrap();
    near(found.value, by_hand(x, wide));
    near(found.x_gradient, by_x);
    near(found.r_gradient.into(), by_r);
    let found = fortran::mixed_jvp::generic(Product, Sum, x, r, 0.5, -2.0).unwrap();
    near(found.mixed_jvp_tangent, 0.5 * by_x - 2.0 * by_r);
    let found = fortran::mixed_hvp::generic(Product, Sum, x, r, 1.0, 0.0).unwrap();
    let slope_at = |x: f64| slope(|h| by_hand(x + h, wide));
    near(found.x_hvp, slope(|h| slope_at(x + h)));
}

/// F and G for WAVE.
struct Turned;
struct Spread;

impl fortran::procedures::WaveF for Turned {
    fn call<D: DualNum<Primitive = f64> + Copy>(&mut self, w: &[Complex<D>], a: Complex<D>, s: D) -> Complex<D> {
        assert_eq!(w.len(), 2);
        w[0] * a * s + w[1] * w[1] * w[0].conj()
    }
}

impl fortran::procedures::WaveG for Spread {
    fn call<D: DualNum<Primitive = f64> + Copy>(
        &mut self,
        z: &mut Complex<D>,
        w: &mut [Complex<D>],
        a: &mut Complex<D>,
        r: &mut Complex<D>,
    ) {
        w[0] = w[0] * *z + *a;
        w[1] = Complex::new(z.re.sin() * w[1].im, z.im.cos()) / w[1];
        *a = *a * *a + w[1].conj();
        *r = Complex::new(w[1].norm_sqr().sqrt(), a.re * z.im);
    }
}

fn complex_numbers() {
    let by_hand = |x: [f64; 2]| {
        let mut z = Complex::new(x[0], x[1]);
        let mut w = [z * z, Complex::new(0.5, x[0])];
        let mut a = Complex::new(0.3, -0.2) * x[1];
        let mut r = Complex::default();
        fortran::procedures::WaveG::call::<f64>(&mut Spread, &mut z, &mut w, &mut a, &mut r);
        let f = fortran::procedures::WaveF::call::<f64>(&mut Turned, &w, a, 1.5 * x[0]);
        (f * z.conj()).re + a.im * r.im
    };
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-6 * (1.0 + b.abs()), "{a} is not {b}");
    let x = [0.8, -0.45];
    let by = |x: [f64; 2], k: usize| {
        let mut moved = [0.0; 2];
        moved[k] = 1.0;
        slope(|h| by_hand([x[0] + h * moved[0], x[1] + h * moved[1]]))
    };
    let found = fortran::wave_gradient::generic(Turned, Spread, &x).unwrap();
    near(found.value, by_hand(x));
    (0..2).for_each(|k| near(found.x_gradient[k], by(x, k)));
    let v = [0.7, -1.2];
    let found = fortran::wave_jvp::generic(Turned, Spread, &x, &v).unwrap();
    near(found.wave_jvp_tangent, v[0] * by(x, 0) + v[1] * by(x, 1));
    let found = fortran::wave_jacobian::generic(Turned, Spread, &x).unwrap();
    (0..2).for_each(|k| near(found.wave_jacobian_by_x[k], by(x, k)));
    let found = fortran::wave_hvp::generic(Turned, Spread, &x, &v).unwrap();
    for k in 0..2 {
        near(found.x_hvp[k], slope(|h| by([x[0] + h * v[0], x[1] + h * v[1]], k)));
    }
}
