//! Closures that panic, call back, keep what they get, and give back what is wrong.

use crate::calls::{fenced, wrong};
use crate::fortran::raw as f;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Makes the calls.
pub fn all() {
    shapes();
    changes();
    panics();
}

/// Slices that closures get.
fn shapes() {
    fenced(1.0, 9.0, 4, |x| {
        let mut seen = Vec::new();
        f::apply2(|a, b| seen.push((a.len(), b.len())), 3, 1, x);
        f::apply2(|a, b| seen.push((a.len(), b.len())), 5, -7, x);
        f::apply2(|a, b| seen.push((a.len(), b.len())), i32::MIN, i32::MAX, x);
        assert_eq!(seen, [(2, 2), (0, 0), (0, 0)]);
        wrong("apply2 twice", || Ok(f::apply2(|_, _| (), 2, 2, x)));
        wrong("apply element", || {
            f::apply(|_, _, k| k[2] = 5, 4, x, &mut [1, 2, 3, 4])
        });
        wrong("apply below", || {
            f::apply(|_, _, k| k[3] = i32::MIN, 4, x, &mut [1, 2, 3, 4])
        });
        wrong("apply short", || {
            f::apply(|_, _, _| panic!("called"), 5, x, &mut [1; 5])
        });
        wrong("apply indices", || {
            f::apply(|_, _, _| panic!("called"), 4, x, &mut [1; 3])
        });
        wrong("apply outside", || {
            f::apply(|n, x, _| x[n as usize] = 0.0, 4, x, &mut [1; 4])
        });
        wrong("apply parts", || {
            f::apply(
                |_, x, k| {
                    std::mem::take(&mut { x })[3] = 2.0;
                    k.fill(9);
                },
                4,
                x,
                &mut [1; 4],
            )
        });
        wrong("pick", || f::pick(|_, _| false, 1, x));
        wrong("pick far", || f::pick(|_, _| false, i32::MAX, x));
        wrong("pick back", || f::pick(|_, _| false, -1, x));
        wrong("indexf", || f::indexf(|_| 5, 1, x));
        wrong("indexf lowest", || {
            f::indexf(|i| if i == 3 { i32::MIN } else { i }, 4, x)
        });
        wrong("loopf", || f::loopf(|k| [1, 5, 1][k as usize - 1], x));
        wrong("loopf zero", || f::loopf(|k| [1, 4, 0][k as usize - 1], x));
        wrong("loopf below", || {
            f::loopf(|k| [4, 0, -1][k as usize - 1], x)
        });
        wrong("swaps", || {
            f::swaps(|idx, _| idx[2] = -9, 3, &mut [1, 2, 3], &mut x[..3])
        });
        wrong("lent", || f::lent(|_| (), 5, x));
    });
    let mut n = 4;
    wrong("commod", || f::commod(|k, _| k[3] = 100, &mut n));
    wrong("commod count", || f::commod(|_, n| *n = 5000, &mut n));
}

/// Closures that change the state of the call that is running, by a further call.
fn changes() {
    fenced(1.0, 9.0, 4, |x| {
        f::setm(2);
        wrong("bound", || f::bound(|_| f::setm(1000), x));
        f::setm(2);
        wrong("bound negative", || f::bound(|_| f::setm(-50), x));
        f::setm(4);
        wrong("adjcom", || f::adjcom(|_| f::setm(5), x));
        f::setm(4);
        wrong("adjcom lowest", || f::adjcom(|_| f::setm(i32::MIN), x));
        f::setm(2);
        wrong("aliasd", || f::aliasd(|_| f::setm(1000), x));
        f::setm(2);
        wrong("aliasd below", || f::aliasd(|_| f::setm(-1000), x));
        f::setm(5);
        wrong("adjcom short", || f::adjcom(|_| (), x));
        wrong("countr", || f::countr(|_| f::seti(1000), x, 4));
        wrong("countr below", || f::countr(|_| f::seti(-1000), x, 4));
        wrong("countr again", || {
            let mut depth = 0;
            f::countr(
                |n| {
                    depth += 1;
                    f::countr(|_| (), &mut [0.0; 9], n + depth + 4).unwrap();
                },
                x,
                4,
            )
        });
    });
}

/// Closures that panic, and calls after that.
fn panics() {
    fenced(1.0, 9.0, 4, |x| {
        wrong("eval", || Ok(f::eval(|_| panic!("text"), 1.0)));
        wrong("eval formatted", || Ok(f::eval(|x| panic!("at {x}"), 1.0)));
        wrong("eval overflow", || {
            Ok(f::eval(
                |x| f64::from(i32::MAX.checked_add(x as i32).unwrap()),
                1.0,
            ))
        });
        wrong("eval error", || {
            Ok(f::eval(|x| f::stops(1, &[-x]).map(|()| x).unwrap(), 1.0))
        });
        wrong("apply panics", || {
            f::apply(|_, x, _| panic!("{} elements", x.len()), 4, x, &mut [1; 4])
        });
        wrong("panic in a panic", || {
            f::apply(
                |_, _, _| {
                    let inner =
                        catch_unwind(AssertUnwindSafe(|| f::eval(|_| panic!("inner"), 1.0)));
                    assert!(inner.is_err());
                    panic!("outer");
                },
                4,
                x,
                &mut [1; 4],
            )
        });
        wrong("countr panics", || {
            f::countr(|_| panic!("with the lock"), x, 4)
        });
        wrong("printf panics", || f::printf(|_| panic!("in WRITE"), 4, x));
        wrong("printf short", || f::printf(|x| x, 5, x));
        // The lock is free, the file is usable, and the slot has no closure of an earlier call.
        f::printf(|x| x + 1.0, 4, x).unwrap();
        f::countr(|_| (), x, 4).unwrap();
        assert_eq!(f::eval(|x| f::eval(|y| y + 1.0, x) * 2.0, 1.0), 4.0);
        wrong("deep", || Ok(deep(50)));
    });
}

/// Calls itself through Fortran, and panics at the bottom.
fn deep(n: u32) -> f64 {
    f::eval(
        |x| {
            if n == 0 {
                panic!("at the bottom")
            } else {
                deep(n - 1) + x
            }
        },
        1.0,
    )
}
