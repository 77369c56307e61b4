//! QUADPACK: known integrals.
#![forbid(unsafe_code)]
mod bindings {
    farfel_runtime::include_bindings!();
}
use bindings::raw as f;

fn main() {
    let (mut value, mut error, mut calls, mut ier, mut last) = (0.0, 0.0, 0, 0, 0);
    let (mut iwork, mut work) = ([0; 100], [0.0; 400]);
    let mut seen = 0;
    f::dqags(
        |x| {
            seen += 1;
            x.ln() / x.sqrt()
        },
        0.0, 1.0, 0.0, 1e-10, &mut value, &mut error, &mut calls, &mut ier, 100, 400, &mut last, &mut iwork,
        &mut work,
    )
    .unwrap();
    assert_eq!((ier, calls), (0, seen));
    println!("{value:.9}");
    f::dqagi(
        |x: f64| (-x * x).exp(), 0.0, 2, 0.0, 1e-10, &mut value, &mut error, &mut calls, &mut ier, 100, 400,
        &mut last, &mut iwork, &mut work,
    )
    .unwrap();
    println!("{:.9}", value * value);
    f::dqng(f64::exp, 0.0, 1.0, 0.0, 1e-10, &mut value, &mut error, &mut calls, &mut ier).unwrap();
    println!("{value:.9}");
    // The stated size is larger than the array.
    let short = f::dqags(
        |x| x, 0.0, 1.0, 0.0, 1e-10, &mut value, &mut error, &mut calls, &mut ier, 100, 400, &mut last,
        &mut iwork[..50], &mut work,
    );
    println!("{}", short.unwrap_err());
    // An integral in an integral.
    let mut inner = 0.0;
    f::dqng(
        |x| {
            let y = f::dqng(
                |y| x * y, 0.0, x, 0.0, 1e-10, &mut inner, &mut 0.0, &mut 0, &mut 0,
            );
            y.unwrap();
            inner
        },
        0.0, 1.0, 0.0, 1e-10, &mut value, &mut error, &mut calls, &mut ier,
    )
    .unwrap();
    println!("{value:.9}");
    // Without work arrays.
    let found = bindings::dqags(|x| x.ln() / x.sqrt(), 0.0, 1.0, 0.0, 1e-10, 100).unwrap();
    println!("{:.9} {}", found.result, found.last < 100);
    let ended = bindings::dqags(|x| x.ln() / x.sqrt(), 0.0, 1.0, 0.0, 1e-10, 2);
    println!("{}", ended.unwrap_err());
}
