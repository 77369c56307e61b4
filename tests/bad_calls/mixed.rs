//! ENTRY points, alternate returns, COMPLEX and LOGICAL arrays, closures, derivatives, and loops in loops.

use crate::calls::{fenced, outcome, report, wrong};
use crate::fortran::raw as f;
use farfel_runtime::Complex;
use std::sync::Barrier;

const HUGE: i32 = i32::MAX;
const LOWEST: i32 = i32::MIN;
const Z: Complex<f64> = Complex::new(1.0, -2.0);
const C: Complex<f32> = Complex::new(0.5, 3.0);

pub fn all() {
    loops();
    complex();
    logical();
    alternate_returns();
    closures();
    derivatives();
    threads();
}

fn loops() {
    let a = [1.0; 10];
    let mut b = [0.0; 10];
    f::stridd(4, 2, 2, &a, &mut b).unwrap();
    assert_eq!(b, [0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
    f::strid8(4, 2, &a, &mut b).unwrap();
    assert_eq!(b, [0.0, 2.0, 2.0, 1.0, 1.0, 2.0, 2.0, 1.0, 1.0, 0.0]);
    let mut b = [0.0; 12];
    f::nest3(3, 2, 3, &mut b).unwrap();
    assert_eq!(b, [1.0; 12]);
    let mut l = [3, 1, 4];
    let mut b = [0.0; 4];
    f::fromar(2, -1, &mut l, &mut b).unwrap();
    assert_eq!(b, [2.0, 2.0, 2.0, 2.0]);
    fenced(0.0, 9.0, 10, |b| {
        wrong("stridd", || f::stridd(4, 2, 4, &a, b));
        wrong("stridd far", || f::stridd(4, 2, 1_000_000, &a, b));
        wrong("stridd before", || f::stridd(4, 2, -1, &a, b));
        wrong("stridd short", || f::stridd(4, 2, 2, &a[..6], b));
        wrong("stridd step", || f::stridd(4, 0, 2, &a, b));
        wrong("stridd back", || f::stridd(-40, -7, 1, &a, b));
        wrong("strid8", || f::strid8(5, 3, &a, b));
        wrong("strid8 huge", || f::strid8(i64::MAX, 1, &a, b));
        wrong("strid8 lowest", || f::strid8(2, LOWEST, &a, b));
        wrong("nest3", || f::nest3(4, 1, 3, b));
        wrong("nest3 huge", || f::nest3(HUGE, 3, HUGE, b));
        wrong("nest3 step", || f::nest3(HUGE, HUGE, 5, b));
        wrong("fromar", || f::fromar(2, -1, &mut [9, 11, 12], b));
        wrong("fromar lowest", || f::fromar(2, -1, &mut [LOWEST, LOWEST, 1], b));
        wrong("fromar short", || f::fromar(3, -2, &mut [1, 2, 3], b));
    });
}

fn complex() {
    fenced(Z, Complex::new(9.0, 9.0), 4, |z| {
        f::cscale(2, -2, z, Complex::new(0.0, 1.0)).unwrap();
        wrong("cscale", || f::cscale(3, 2, z, Z));
        wrong("cscale back", || f::cscale(3, -2, z, Z));
        wrong("cscale huge", || f::cscale(HUGE, HUGE, z, Z));
        wrong("cscale lowest", || f::cscale(2, LOWEST, z, Z));
        wrong("cscale empty", || f::cscale(1, 1, &mut [], Z));
        let mut x = [0.0; 8];
        let first = z[0];
        f::cparts(4, 8, z, &mut x).unwrap();
        assert_eq!((x[0], x[1], z[3].im), (first.re, first.im, 1.0));
        wrong("cparts", || f::cparts(4, 9, z, &mut [0.0; 9]));
        wrong("cparts short", || f::cparts(4, 8, z, &mut x[..7]));
        wrong("cparts few", || f::cparts(3, 8, &mut z[..3], &mut x));
        wrong("cparts none", || f::cparts(4, 0, z, &mut []));
        wrong("cparts negative", || f::cparts(4, -8, z, &mut x));
        let mut b = [Z; 4];
        wrong("crows", || f::crows(2, 3, z, &mut b));
        wrong("crows short", || f::crows(2, 2, z, &mut b[..3]));
        wrong("crows none", || f::crows(2, 0, z, &mut b));
        wrong("crows huge", || f::crows(1 << 16, 1 << 16, z, &mut b));
    });
    let mut v = 0.0;
    f::cequiv(6, &mut v).unwrap();
    assert_eq!(v, 50f64.sqrt());
    for k in [0, 7, -1, HUGE, LOWEST] {
        wrong(&format!("cequiv {k}"), || f::cequiv(k, &mut 0.0));
    }
    fenced(C, Complex::new(9.0, 9.0), 3, |w| {
        assert_eq!(f::cgive(w, 3, 1), Ok(C.conj()));
        assert_eq!(f::ctake(1, w), Ok(C.conj() * C));
        wrong("ctake", || f::ctake(3, w));
        wrong("ctake zero", || f::ctake(0, w));
        wrong("ctake huge", || f::ctake(HUGE, w));
        wrong("ctake empty", || f::ctake(1, &[]));
        wrong("cgive", || f::cgive(w, 3, 3));
        wrong("cgive wraps", || f::cgive(w, HUGE, -1));
        wrong("cgive far", || f::cgive(w, 7, 5));
        wrong("cgive empty", || f::cgive(&mut [], 1, 0));
    });
}

fn logical() {
    let mut x = [0.0; 4];
    fenced(true, false, 4, |l| {
        f::lwhere(4, l, &mut x).unwrap();
        assert_eq!(x, [1.0; 4]);
        wrong("lwhere", || f::lwhere(5, l, &mut x));
        wrong("lwhere short", || f::lwhere(4, &mut l[..3], &mut x));
        wrong("lwhere values", || f::lwhere(4, l, &mut x[..2]));
        wrong("lwhere none", || f::lwhere(0, l, &mut x));
        wrong("lwhere negative", || f::lwhere(LOWEST, l, &mut x));
        l.fill(true);
        f::lpack(4, 4, l, &x, &mut [0.0; 4]).unwrap();
        wrong("lpack", || f::lpack(4, 3, l, &x, &mut [0.0; 3]));
        wrong("lpack far", || f::lpack(5, 4, l, &x, &mut [0.0; 4]));
        wrong("lpack short", || f::lpack(4, 4, l, &x[..3], &mut [0.0; 4]));
        wrong("lpack result", || f::lpack(4, 4, l, &x, &mut [0.0; 3]));
        wrong("lpack huge", || f::lpack(HUGE, HUGE, l, &x, &mut [0.0; 4]));
        f::lelem(4, 1, l).unwrap();
        assert_eq!(l, [true, true, true, false]);
        wrong("lelem", || f::lelem(5, 1, l));
        wrong("lelem from", || f::lelem(1, 0, l));
        wrong("lelem lowest", || f::lelem(LOWEST, HUGE, l));
        wrong("lelem empty", || f::lelem(1, 1, &mut []));
        assert_eq!(f::lany(2, l, &[4, 1]), Ok(true));
        wrong("lany", || f::lany(2, l, &[4, 5]));
        wrong("lany zero", || f::lany(2, l, &[0, 1]));
        wrong("lany short", || f::lany(2, l, &[1]));
        wrong("lany long", || f::lany(5, l, &[1; 5]));
        wrong("llast", || f::llast(|_, _| false, 4, l));
        wrong("llast counts", || f::llast(|_, k| k > 4, 4, l));
        wrong("llast panics", || f::llast(|_, k| panic!("at {k}"), 4, l));
        wrong("llast short", || f::llast(|_, _| true, 4, &mut l[..2]));
    });
}

fn alternate_returns() {
    fenced(0.0, 9.0, 3, |x| {
        assert_eq!(f::altgo(3, x), Ok(crate::fortran::AltgoReturn::Normal));
        for k in [0, 4, -2, HUGE, LOWEST] {
            wrong(&format!("altgo {k}"), || f::altgo(k, x));
            wrong(&format!("altcal {k}"), || f::altcal(k, x));
        }
        wrong("altgo short", || f::altgo(1, &mut x[..2]));
        f::altcal(2, x).unwrap();
        wrong("altcal first", || f::altcal(1, x));
        x.fill(0.0);
        assert_eq!(f::altgo2(x, 3), Ok(crate::fortran::Altgo2Return::Normal));
        wrong("altgo2", || f::altgo2(x, 4));
        wrong("altgo2 one", || f::altgo2(x, 1));
        wrong("altgo2 none", || f::altgo2(x, 0));
        wrong("altgo2 lowest", || f::altgo2(x, LOWEST));
        wrong("altclo", || f::altclo(|_, _| (), &mut 4, x));
        wrong("altclo moves", || f::altclo(|k, _| *k = 5, &mut 2, x));
        wrong("altclo lowest", || f::altclo(|k, _| *k = LOWEST, &mut 2, x));
        wrong("altclo part", || f::altclo(|_, x| x[2] = 1.0, &mut 2, x));
        wrong("altclo empty", || f::altclo(|_, _| (), &mut 1, &mut []));
    });
}

fn closures() {
    fenced(Z, Complex::new(9.0, 9.0), 3, |z| {
        let mut v = Z;
        let at = |re: f64, im: f64| move |_: &[Complex<f64>], _| Complex::new(re, im);
        f::closez(at(3.0, 1.0), 3, z, &mut v).unwrap();
        wrong("closez", || f::closez(at(4.0, 1.0), 3, z, &mut v));
        wrong("closez to", || f::closez(at(1.0, 0.0), 3, z, &mut v));
        wrong("closez nan", || f::closez(at(f64::NAN, 1.0), 3, z, &mut v));
        wrong("closez infinite", || f::closez(at(1.0, f64::INFINITY), 3, z, &mut v));
        wrong("closez huge", || f::closez(at(1e300, -1e300), 3, z, &mut v));
        wrong("closez short", || f::closez(at(1.0, 1.0), 4, z, &mut v));
        wrong("closez none", || f::closez(at(1.0, 1.0), 0, &mut [], &mut v));
        wrong("closez reads", || f::closez(|z, n| z[n as usize], 3, z, &mut v));
    });
    fenced(false, true, 3, |l| {
        let mut x = [0.0; 3];
        wrong("closel", || f::closel(|_, l, _| l[3] = true, 3, l, &mut x));
        wrong("closel values", || f::closel(|_, _, x| x[1] = 1.0, 3, l, &mut x));
        wrong("closel short", || f::closel(|_, l, _| l.fill(true), 3, &mut l[..2], &mut x));
        wrong("closel behind", || f::closel(|_, l, _| l.fill(true), 3, l, &mut x[..2]));
        // X(0) is no element.
        f::closel(|_, l, x| assert!(l.is_empty() && x.is_empty()), 0, &mut [], &mut x).unwrap();
        wrong("closel none", || f::closel(|_, _, x| x[0] = 1.0, 0, &mut [], &mut x));
    });
}

/// The rates for MIXSUM, and the adjoint of their sum.
fn rates(n: i32, x: &mut [f64], w: &mut [f64]) {
    (0..n as usize).for_each(|i| w[i] = x[i] * x[i]);
}

fn adjoint(n: i32, x: &[f64], xb: &mut [f64], _: &[f64], wb: &mut [f64]) {
    for i in 0..n as usize {
        xb[i] += 2.0 * x[i] * wb[i];
        wb[i] = 0.0;
    }
}

fn derivatives() {
    let x = [0.5, -0.25, 0.75];
    let run = |n, x: &mut [f64], w: &mut [f64], lw, g: &mut [f64]| {
        f::mixsum_gradient(
            rates,
            adjoint,
            n, x, w, lw, &mut 0.0, g,
        )
    };
    fenced(0.0, 9.0, 3, |g| {
        let mut x = x;
        let x = &mut x[..];
        run(3, x, &mut [0.0; 9], 9, g).unwrap();
        wrong("mixsum_gradient", || run(3, x, &mut [0.0; 3], 3, g));
        wrong("mixsum_gradient work", || run(3, x, &mut [0.0; 3], 9, g));
        wrong("mixsum_gradient no work", || run(3, x, &mut [], 0, g));
        wrong("mixsum_gradient negative work", || run(3, x, &mut [0.0; 9], -9, g));
        wrong("mixsum_gradient short", || run(3, x, &mut [0.0; 9], 9, &mut g[..2]));
        wrong("mixsum_gradient long", || run(4, x, &mut [0.0; 9], 9, g));
        wrong("mixsum_gradient huge", || run(HUGE, x, &mut [0.0; 9], 9, g));
        wrong("mixsum_gradient changes", || {
            let rates = |_, _: &mut [f64], w: &mut [f64]| w[9] = 1.0;
            f::mixsum_gradient(rates, adjoint, 3, x, &mut [0.0; 9], 9, &mut 0.0, g)
        });
        wrong("mixsum_gradient adjoint", || {
            let adjoint = |_, _: &[f64], xb: &mut [f64], _: &[f64], _: &mut [f64]| xb[3] = 1.0;
            f::mixsum_gradient(rates, adjoint, 3, x, &mut [0.0; 9], 9, &mut 0.0, g)
        });
        wrong("mixsum_gradient cotangent", || {
            let adjoint = |_, _: &[f64], _: &mut [f64], _: &[f64], wb: &mut [f64]| wb[9] = 1.0;
            f::mixsum_gradient(rates, adjoint, 3, x, &mut [0.0; 9], 9, &mut 0.0, g)
        });
    });
    let mut y = [0.0; 2];
    let x = &x[..];
    wrong("mixcpx_vjp", || f::mixcpx_vjp(3, 2, x, &mut y, &[1.0], &mut [0.0; 3]));
    wrong("mixcpx_vjp same", || f::mixcpx_vjp(4, 4, x, &mut [0.0; 4], x, &mut [0.0; 4]));
    wrong("mixcpx_vjp result", || f::mixcpx_vjp(3, 2, x, &mut y, x, &mut [0.0; 2]));
    wrong("mixcpx_vjp none", || f::mixcpx_vjp(0, 2, &[], &mut y, x, &mut []));
    wrong("mixcpx_vjp no result", || f::mixcpx_vjp(3, 0, x, &mut [], &[], &mut [0.0; 3]));
    wrong("mixcpx_jvp", || f::mixcpx_jvp(3, 2, x, &mut y, &x[..2], &mut [0.0; 2]));
    wrong("mixcpx_jvp far", || f::mixcpx_jvp(4, 2, &[1.0; 4], &mut y, &[1.0; 4], &mut [0.0; 2]));
    wrong("mixcpx_jvp lowest", || f::mixcpx_jvp(LOWEST, 2, x, &mut y, x, &mut [0.0; 2]));
    wrong("mixent_vjp", || f::mixent_vjp(x, 3, 4, &mut [0.0; 4], &[1.0; 4], &mut [0.0; 3]));
    wrong("mixent_vjp zero", || f::mixent_vjp(x, 3, 0, &mut [], &[], &mut [0.0; 3]));
    wrong("mixent_vjp short", || f::mixent_vjp(x, 3, 2, &mut y, &x[..1], &mut [0.0; 3]));
}

/// Eight threads at once.
fn threads() {
    let begin = Barrier::new(8);
    let run = |t: usize| {
        let mut x = [0.5; 4];
        let (mut l, mut z) = ([false; 4], [Z; 4]);
        let mut ended = Vec::new();
        begin.wait();
        ended.push(outcome("llast", || f::llast(|_, k| k as usize > 4 + t, 4, &mut l)));
        ended.push(outcome("closez", || f::closez(|_, _| Complex::new(5.0 + t as f64, 1.0), 4, &mut z, &mut { Z })));
        ended.push(outcome("closel", || f::closel(|_, l, _| l[4 + t] = true, 4, &mut l, &mut x)));
        ended.push(outcome("altclo", || f::altclo(|k, _| *k = 5 + t as i32, &mut 1, &mut x)));
        let mut g = [0.0; 4];
        ended.push(outcome("mixsum_gradient", || {
            let rates = |n, x: &mut [f64], w: &mut [f64]| {
                rates(n, x, w);
                assert!(t == 8, "thread {t}");
            };
            f::mixsum_gradient(rates, adjoint, 4, &mut x, &mut [0.0; 9], 9, &mut 0.0, &mut g)
        }));
        for _ in 0..20 {
            f::mixsum_gradient(rates, adjoint, 4, &mut x, &mut [0.0; 9], 9, &mut 0.0, &mut g).unwrap();
        }
        assert!(g[0] > 0.0 && g.iter().all(|v| *v == g[0]), "{g:?}");
        ended
    };
    let ended: Vec<_> = std::thread::scope(|s| {
        let threads: Vec<_> = (0..8).map(|t| s.spawn(move || run(t))).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    for (t, ended) in ended.into_iter().enumerate() {
        for (k, ended) in ended.into_iter().enumerate() {
            report(&format!("mixed {k} in thread {t}"), ended);
        }
    }
}
