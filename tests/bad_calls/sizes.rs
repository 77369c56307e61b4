//! Sizes that no integer holds, shapes that differ, calls that never end, and old ways to name storage.

use crate::calls::{fenced, wrong};
use crate::fortran::raw as f;

const HUGE: i32 = i32::MAX;

pub fn all() {
    sizes();
    recursion();
    shapes();
    jumps();
    storage();
    subscripts();
    text();
}

fn sizes() {
    fenced(0.0, 9.0, 8, |x| {
        wrong("cubez", || f::cubez(1 << 22, x));
        wrong("cubez more", || f::cubez(3_000_000, x));
        wrong("cubez less", || f::cubez(3, x));
        wrong("cubey", || f::cubey(1 << 22, x));
        wrong("quadz", || f::quadz(1 << 22, 1 << 20, 2, 1, x));
        wrong("quadz wraps", || f::quadz(3_000_000, 1 << 20, 1, 2, x));
        wrong("quadz far", || f::quadz(HUGE, 4, 1, 2, x));
        wrong("longb", || f::longb(-(1 << 62) - 1, (1 << 62) + 5, x));
        wrong("longb all", || f::longb(i64::MIN, i64::MAX, x));
        wrong("longb lowest", || f::longb(i64::MIN, 3, x));
        wrong("longb less", || f::longb(-1, 7, x));
        f::longb(i64::MAX, i64::MIN, x).unwrap();
    });
    wrong("autoc", || f::autoc(1 << 40, 1 << 30, 2, &mut 0.0));
    wrong("autoc wraps", || f::autoc(1 << 62, 4, 2, &mut 0.0));
    wrong("autoc negative", || f::autoc(-5, 4, 2, &mut 0.0));
    wrong("autod", || f::autod(HUGE, HUGE, 2, &mut 0.0));
    wrong("autod outside", || f::autod(5, 3, 4, &mut 0.0));
    f::autod(5, 3, 2, &mut 0.0).unwrap();
}

fn recursion() {
    wrong("recur1", || f::recur1(&mut -1));
    wrong("descnd", || f::descnd(-1));
    let thread = std::thread::spawn(|| {
        wrong("recur1 in a thread", || f::recur1(&mut -1));
        wrong("descnd in a thread", || f::descnd(-1));
    });
    thread.join().unwrap();
    assert_eq!(f::descnd(1000), Ok(1000));
}

fn shapes() {
    let (mut x, y) = ([1.0, 2.0, 3.0], [4.0, 5.0]);
    let mut v = 0.0;
    f::resize(3, 2, &x, &y, 2, &mut v).unwrap();
    assert_eq!(v, 5.0);
    wrong("resize", || f::resize(3, 2, &x, &y, 3, &mut v));
    wrong("resize first", || f::resize(3, 0, &x, &[], 4, &mut v));
    wrong("resizl", || f::resizl(3, &x, 2, &mut v));
    wrong("resizl far", || f::resizl(3, &x, HUGE, &mut v));
    wrong("shaped", || f::shaped(3, 2, &mut x, &y));
    wrong("shaped empty", || f::shaped(3, 0, &mut x, &[]));
    wrong("sliced", || f::sliced(1, 3, 3, &mut x, &y));
    wrong("sliced far", || f::sliced(1, HUGE, i32::MIN, &mut x, &y));
    wrong("masked", || f::masked(3, 2, &[true; 2], &mut x));
    wrong("masks", || f::masks(3, 2, &[true; 3], &[true; 2], &mut x));
    wrong("dotted", || f::dotted(3, 2, &x, &y));
    wrong("prodct", || {
        f::prodct(2, 3, 3, &[1.0; 6], &[1.0; 9], &mut [0.0; 4])
    });
    wrong("innerd", || {
        f::innerd(2, 3, &[1.0; 6], &[1.0; 6], &mut [0.0; 6])
    });
    wrong("turned", || f::turned(2, 3, &[1.0; 6], &mut [0.0; 6]));
    f::shaped(2, 2, &mut x, &y).unwrap();
    assert_eq!(x, [4.0, 5.0, 3.0]);
    f::masked(3, 3, &[true, false, true], &mut x).unwrap();
    assert_eq!(x, [1.0, 5.0, 1.0]);
    assert_eq!(f::dotted(2, 2, &x, &y), Ok(29.0));
    let mut b = [0.0; 4];
    f::turned(2, 2, &[1.0, 2.0, 3.0, 4.0], &mut b).unwrap();
    assert_eq!(b, [1.0, 3.0, 2.0, 4.0]);
}

fn jumps() {
    wrong("entb", || f::entb(&mut [0.0; 1]));
    wrong("entb then", || {
        f::enta(1, &mut [0.0; 1]).and_then(|()| f::entb(&mut [0.0; 1]))
    });
    wrong("enta", || f::enta(0, &mut []));
    for (k, n) in [(0, 3), (0, -1), (3, HUGE), (1, 1), (i32::MIN, 0)] {
        if k != 1 {
            wrong(&format!("altuse {k} {n}"), || {
                f::altuse(k, n, &mut [0.0; 2])
            });
        }
    }
    wrong("altuse second", || f::altuse(2, 3, &mut [0.0; 2]));
    for k in [3, -1, HUGE, i32::MIN] {
        wrong(&format!("assgo {k}"), || f::assgo(k, &mut 0));
    }
    wrong("setlit", || f::setlit(&mut [0.0; 2]));
    wrong("stopf", || f::stopf(|_| assert!(f::stopf(|_| ()).is_err())));
}

fn storage() {
    for k in [0, -1, 100, HUGE, i32::MIN] {
        wrong(&format!("equiv {k}"), || f::equiv(k, 1, &mut 0.0));
        wrong(&format!("equiv text {k}"), || f::equiv(1, k, &mut 0.0));
        wrong(&format!("coma {k}"), || f::coma(k, 1.0));
        wrong(&format!("comb {k}"), || f::comb(k, 1.0));
        if k != HUGE {
            wrong(&format!("comc {k}"), || f::comc(k));
        }
    }
    f::coma(10, 1.0).unwrap();
    f::comb(3, 1.0).unwrap();
    f::comc(39).unwrap();
    wrong("coma end", || f::coma(11, 1.0));
    wrong("comb end", || f::comb(4, 1.0));
    wrong("comc end", || f::comc(40));
}

fn subscripts() {
    fenced(0.0, 9.0, 200, |x| {
        wrong("mulovf", || f::mulovf(65_536, 65_536, x));
        wrong("mulovf below", || f::mulovf(46_341, 46_341, x));
        wrong("shorti", || f::shorti(256, x));
        wrong("shorti lowest", || f::shorti(i16::MIN, x));
        wrong("bits", || f::bits(1, 9, x));
        wrong("bits far", || f::bits(-1, -1, x));
        wrong("tinydo", || f::tinydo(5, &mut x[..4]));
        wrong("moddo", || f::moddo(3, x));
    });
    wrong("logsub", || f::logsub(true, &mut [0.0; 2]));
    wrong("maxl", || f::maxl(3, &[1.0, 2.0, 3.0], &mut [0.0; 2]));
    wrong("maxl none", || f::maxl(0, &[], &mut [0.0; 2]));
}

fn text() {
    wrong("stfn", || f::stfn(4, 4, &[0.0; 4], &mut 0.0));
    wrong("stfn below", || f::stfn(0, 4, &[0.0; 4], &mut 0.0));
    wrong("stfn huge", || f::stfn(HUGE, 4, &[0.0; 4], &mut 0.0));
    wrong("stfn2", || f::stfn2("abc", 4, &mut 0));
    wrong("stfn2 empty", || f::stfn2("", 1, &mut 0));
    for (i, j) in [(0, 3), (3, 0), (HUGE, HUGE), (i32::MIN, HUGE), (5, 5)] {
        fenced(b' ', b'z', 3, |t| {
            wrong(&format!("substr {i} {j}"), || f::substr("abcd", i, j, t));
        });
    }
    for n in [0, i32::MIN] {
        fenced(b' ', b'z', 3, |t| {
            wrong(&format!("growc {n}"), || f::growc(n, t));
        });
    }
}
