#![forbid(unsafe_code)]

mod fortran {
    farfel_runtime::include_bindings!();
}

fn main() {
    // A line through four points.
    let (t, y) = ([0.0, 1.0, 2.0, 3.0], [1.0, 3.0, 5.0, 7.0]);
    let line = |_: i32, _: i32, x: &mut [f64], f: &mut [f64], _: &mut i32| {
        for i in 0..4 {
            f[i] = x[0] + x[1] * t[i] - y[i];
        }
    };
    let mut x = [0.0, 0.0];
    let f = fortran::lmdif1(line, 4, &mut x, 1e-8).unwrap();
    assert!((x[0] - 1.0).abs() < 1e-6 && (x[1] - 2.0).abs() < 1e-6);
    assert!(f.len() == 4 && fortran::enorm(&f).unwrap() < 1e-6);
    let failed = fortran::lmdif1(line, 1, &mut x, 1e-8).unwrap_err();
    assert_eq!(failed.to_string(), "lmdif1: `info` is 0: improper input parameters.");
    println!("fine");
}
