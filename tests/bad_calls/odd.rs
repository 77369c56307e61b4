//! Odd subprograms.

use crate::calls::{fenced, wrong};
use crate::fortran::raw as f;

const HUGE: i32 = i32::MAX;
const LOWEST: i32 = i32::MIN;
const FAR: [i32; 4] = [HUGE, LOWEST, -1, 1 << 16];

pub fn all() {
    bounds();
    sections();
    jumps();
    texts();
    storage();
    loops();
    derivatives();
    threads();
}

fn bounds() {
    let mut v = 0.0;
    let x = [1.0; 6];
    f::oddset(2, 1);
    f::oddcom(|_| (), &mut 0.clone(), &x, &mut v).unwrap();
    assert_eq!(v, 4.0);
    wrong("oddcom", || f::oddcom(|_| (), &mut 5.clone(), &x, &mut v));
    for k in FAR {
        f::oddset(3, 1);
        wrong(&format!("oddcom closure {k}"), || {
            f::oddcom(|_| f::oddset(2, k), &mut 0.clone(), &x, &mut v)
        });
        f::oddset(k, 2);
        // With the lowest, the sum is negative, and there is nothing to add up.
        let call = || f::oddcom(|_| (), &mut HUGE.clone(), &x, &mut v);
        match k {
            LOWEST => f::oddcom(|_| (), &mut HUGE.clone(), &x, &mut v).unwrap(),
            _ => wrong(&format!("oddcom {k}"), call),
        }
    }
    fenced(1.0, 9.0, 4, |x| {
        wrong("oddadj", || f::oddadj(&mut 3, x, &mut v));
        wrong("oddadj twice", || f::oddadj(&mut HUGE.clone(), x, &mut v));
        f::oddadj(&mut 2, x, &mut v).unwrap();
    });
    fenced(0.0, 9.0, 6, |x| {
        f::odddim(1, 0, x).unwrap();
        for (n, k) in [(3, 3), (HUGE, 1), (1, HUGE), (-2, 1), (HUGE, HUGE)] {
            wrong(&format!("odddim {n} {k}"), || f::odddim(n, k, x));
        }
    });
}

fn sections() {
    let mut k = 0;
    fenced(0.0, 9.0, 6, |x| {
        wrong("oddwhl", || f::oddwhl(6, x, &mut k));
    });
    let mut x = [5.0; 6];
    f::oddwhl(6, &mut x, &mut k).unwrap();
    let mut v = 0.0;
    f::oddels(1, 2, &x, &mut v).unwrap();
    assert_eq!(v, 11.0);
    f::oddels(2, 2, &[-1.0, 1.0], &mut v).unwrap();
    assert_eq!(v, 3.0);
    f::oddels(-5, 0, &[], &mut v).unwrap_or(());
    for k in [3, HUGE, 0, LOWEST] {
        wrong(&format!("oddels {k}"), || {
            f::oddels(k, 2, &[0.0; 2], &mut v)
        });
    }
    let mut l = true;
    f::oddand(3, HUGE, &[1.0; 3], &mut l).unwrap();
    assert!(!l);
    fenced(1.0, 9.0, 5, |x| {
        for (i, j) in [(0, 2), (3, 6), (1, HUGE), (LOWEST, HUGE), (LOWEST, LOWEST)] {
            wrong(&format!("oddsec {i} {j}"), || f::oddsec(i, j, x, &[1.0; 5]));
        }
        f::oddsec(4, 2, x, &[]).unwrap();
        f::oddsec(2, 5, x, &[1.0; 5]).unwrap();
    });
    fenced(1, 9, 4, |ix| {
        ix.copy_from_slice(&[2, 1, 4, 3]);
        let mut call = |name: &str, n, first| {
            ix[0] = first;
            wrong(name, || f::oddvec(n, 4, ix, &[1.0; 4], &mut v));
        };
        call("oddvec", 5, 2);
        for far in FAR {
            call(&format!("oddvec {far}"), 4, far);
        }
        call("oddvec huge", HUGE, 2);
    });
    let (mut a, mut b) = ([1.0; 6], [1.0; 6]);
    wrong("oddtrn", || f::oddtrn(2, 3, &mut a, &mut b[..5]));
    wrong("oddtrn huge", || f::oddtrn(HUGE, HUGE, &mut a, &mut b));
    f::oddtrn(2, 3, &mut a, &mut b).unwrap();
    f::oddtrn(0, 1000, &mut a, &mut b).unwrap();
}

fn jumps() {
    fenced(0.0, 9.0, 2, |x| {
        for k in FAR.into_iter().chain([0, 3]) {
            wrong(&format!("oddent {k}"), || f::oddent(k, x));
            if k != -1 && k != 0 {
                wrong(&format!("odden2 {k}"), || f::odden2(x, k));
            }
        }
        f::oddent(1, x).unwrap();
        f::odden2(x, 0).unwrap();
    });
    wrong("oddfun", || f::oddfun(1));
    wrong("oddfu2", || f::oddfu2(0));
    wrong("oddfu2 power", || f::oddfu2(2));
    f::oddfu2(LOWEST).unwrap();
    fenced(0.0, 9.0, 3, |x| {
        for k in FAR.into_iter().chain([0, -4]) {
            wrong(&format!("oddari {k}"), || f::oddari(k, x));
        }
        wrong("oddasg", || f::oddasg(&mut 0, x));
        wrong("oddasg above", || f::oddasg(&mut 4, x));
        f::oddasg(&mut 3, x).unwrap();
    });
}

fn texts() {
    fenced(b'A', b'z', 6, |s| {
        for n in [HUGE, -1, 1 << 16, 0, 7] {
            fenced(b'B', b'z', 4, |t| {
                wrong(&format!("oddtxt {n}"), || f::oddtxt(n, s, t));
            });
        }
        fenced(b'B', b'z', 4, |t| f::oddtxt(4, s, t).unwrap());
    });
    let mut k = 1;
    for i in FAR {
        wrong(&format!("oddchr {i}"), || {
            f::oddchr(i, "abc", &mut [b' '; 5])
        });
        wrong(&format!("oddstf {i}"), || f::oddstf(i, "abc", &mut k));
    }
    f::oddchr(4, "abc", &mut []).unwrap_or(());
    let mut t = ["1.0".to_owned(), "2".to_owned(), "3".to_owned()];
    for n in FAR.into_iter().chain([0, 3]) {
        wrong(&format!("oddint {n}"), || f::oddint(n, &mut t, &[1.0; 3]));
    }
    for text in [
        "&ODDN K=4 /",
        "&ODDN A(4)=1 /",
        "&ODDN K=-99999 /",
        "&ODDN A=1,2,3,4,5 /",
        "",
    ] {
        // flang's library leaves out what does not fit.
        if cfg!(feature = "gnu") || !text.contains('5') {
            wrong(&format!("oddnml {text}"), || {
                f::oddnml(text, &mut k, &mut 0.0)
            });
        }
    }
}

fn storage() {
    let mut v = 0.0;
    for k in FAR {
        wrong(&format!("oddeqv {k}"), || f::oddeqv(k, 1, &mut v));
        wrong(&format!("oddeqv value {k}"), || f::oddeqv(1, k, &mut v));
    }
    for i in [4, 1, HUGE, LOWEST, 0] {
        // The saved subscript stays where the first call has left it.
        let _ = f::oddsav(3, i, &mut v);
    }
    wrong("oddsav", || f::oddsav(3, 0, &mut v));
    let mut seen = 0;
    f::oddrec(
        |n, w| {
            seen += n;
            w[0] = 1.0;
        },
        3,
        &[1.0; 3],
        &mut v,
    )
    .unwrap();
    assert_eq!(seen, 6);
    for n in [4, HUGE] {
        wrong(&format!("oddrec {n}"), || {
            f::oddrec(|_, _| (), n, &[1.0; 3], &mut 0.0)
        });
    }
    wrong("oddrec panics", || {
        f::oddrec(|n, _| assert_ne!(n, 1, "the last"), 3, &[1.0; 3], &mut 0.0)
    });
    wrong("oddrec itself", || {
        f::oddrec(
            |n, w| f::oddrec(|_, _| (), n + 1, w, &mut 0.0).unwrap(),
            3,
            &[1.0; 3],
            &mut 0.0,
        )
    });
}

fn loops() {
    fenced(0.0, 9.0, 5, |x| {
        for (i, j, k) in [
            (1, 5, 1),
            (5, 1, -1),
            (1, 5, 0),
            (HUGE, HUGE, 1),
            (LOWEST, HUGE, HUGE),
            (1, LOWEST, LOWEST),
            (5, LOWEST, -1),
        ] {
            wrong(&format!("oddlop {i} {j} {k}"), || f::oddlop(i, j, k, x));
        }
        f::oddlop(1, 4, 1, x).unwrap();
    });
    fenced(0.0, 9.0, 6, |y| {
        for (n, m) in [(3, 3), (2, HUGE)] {
            wrong(&format!("oddnst {n} {m}"), || f::oddnst(n, m, &[1.0; 4], y));
        }
        f::oddnst(2, 2, &[1.0; 4], y).unwrap();
        f::oddnst(HUGE, 2, &[1.0; 4], y).unwrap();
        f::oddnst(0, LOWEST, &[], y).unwrap();
    });
}

fn derivatives() {
    let x = [1.0, 0.5, 1.5];
    let mut g = [0.0; 3];
    for k in [0, 4, -1, HUGE, LOWEST] {
        wrong(&format!("odddif {k}"), || f::odddif(3, k, &x, &mut 0.0));
        wrong(&format!("odddif_gradient {k}"), || {
            f::odddif_gradient(3, k, &x, &mut 0.0, &mut g)
        });
        wrong(&format!("odddif_jvp {k}"), || {
            f::odddif_jvp(3, k, &x, &mut 0.0, &[1.0; 3], &mut 0.0)
        });
    }
    let value = |x: &[f64]| {
        let mut y = 0.0;
        f::odddif(3, 2, x, &mut y).unwrap();
        y
    };
    f::odddif_gradient(3, 2, &x, &mut 0.0, &mut g).unwrap();
    for (k, slope) in g.into_iter().enumerate() {
        let moved = |h: f64| {
            let mut x = x;
            x[k] += h;
            value(&x)
        };
        let difference = (moved(1e-6) - moved(-1e-6)) / 2e-6;
        assert!((difference - slope).abs() < 1e-6, "{difference} {slope}");
    }
}

/// Calls that share a saved variable, COMMON and closures, and others, at the same time.
fn threads() {
    std::thread::scope(|scope| {
        for thread in 0..8 {
            scope.spawn(move || {
                for k in 0..50 {
                    let mut v = 0.0;
                    f::oddset(thread, k);
                    let _ = f::oddcom(|_| (), &mut k.clone(), &[1.0; 6], &mut v);
                    let _ = f::oddsav(k, thread, &mut v);
                    let _ = f::oddels(k, 3, &[1.0; 3], &mut v);
                    let mut ix = [2, 1, 4, k];
                    let _ = f::oddvec(4, 4, &mut ix, &[1.0; 4], &mut v);
                }
            });
        }
    });
}
