#![forbid(unsafe_code)]
//! Floating-point exceptions are errors.

mod fortran {
    farfel_runtime::include_bindings!();
}
use farfel_runtime::Error;
use fortran::raw::*;
use std::hint::black_box;

fn said<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    result.unwrap_err().to_string()
}

fn main() {
    assert_eq!(quot(6.0, 3.0), Ok(2.0));
    // Computations in Rust do not count.
    assert!((black_box(1.0f64) / black_box(0.0f64)).is_infinite());
    assert_eq!(quot(6.0, 4.0), Ok(1.5));
    assert_eq!(
        said(quot(1.0, 0.0)),
        "a division by zero in floating-point arithmetic (fortran/floats.f:1)"
    );
    let invalid = "an invalid operation in floating-point arithmetic (fortran/floats.f:1)";
    assert_eq!(said(quot(0.0, 0.0)), invalid);
    // Underflow is allowed.
    assert_eq!(quot(1e-300, 1e300), Ok(0.0));

    let mut x = [4.0, -1.0, 9.0];
    let Err(Error::Float { what, line: 5, .. }) = roots(3, &mut x) else {
        unreachable!()
    };
    assert_eq!(what, "an invalid operation");
    // Assignments remain.
    assert_eq!((x[0], x[2]), (2.0, 3.0));
    assert_eq!(roots(1, &mut x), Ok(()));

    let mut y = 2.0;
    assert_eq!(grows(&mut y), Ok(GrowsReturn::Normal));
    assert_eq!(y, 512.0);
    y = 1e9;
    assert!(said(grows(&mut y)).starts_with("an overflow"));
    y = -1.0;
    assert_eq!(grows(&mut y), Ok(GrowsReturn::Alternate1));

    assert_eq!(area(|x| x, 4), Ok(0.625));
    assert!(area(|x| 1.0 / black_box(x - x), 4).is_err());
    println!("fine");
}
