#![forbid(unsafe_code)]

mod fortran {
    farfel_runtime::include_bindings!();
}

use farfel_runtime::{Error, Matrix, MatrixMut};
use fortran::raw;

fn said<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    result.unwrap_err().to_string()
}

fn main() {
    // Sizes.
    assert_eq!(fortran::dot(&[1.0, 2.0], &[3.0, 4.0]), Ok(11.0));
    assert_eq!(fortran::dot(&[], &[]), Ok(0.0));
    assert_eq!(raw::dot(1, &[1.0, 2.0], &[3.0, 4.0]), Ok(3.0));
    assert_eq!(
        said(fortran::dot(&[1.0, 2.0], &[3.0, 4.0, 5.0])),
        "dot: argument `y` has 3 elements, and must have 2, as `x` has"
    );
    assert_eq!(
        said(raw::dot(2, &[1.0, 2.0], &[3.0])),
        "dot: argument `y` has 1 elements, at least 2 are needed"
    );

    // Results.
    let stats = fortran::stats(&[1.0, 2.0, 3.0, 6.0]).unwrap();
    assert_eq!((stats.mean, stats.sd), (3.0, 3.5f64.sqrt()));
    assert_eq!(stats.clone(), fortran::StatsOutput { ..stats });
    let signs = fortran::signs(&[1, -2, 3]).unwrap();
    assert_eq!(signs.pos, [true, false, true]);
    assert_eq!((signs.all, signs.word.as_str(), signs.r#type), (false, "mixed", 3));
    assert!(fortran::signs(&[1]).unwrap().word == "positive");
    assert_eq!(fortran::r#loop(&[1.0, 5.0]), Ok(5.0));

    // A way of returning, and a closure.
    let found = fortran::finds(&[5, 7], 7).unwrap();
    assert!(found.returned == fortran::FindsReturn::Normal && found.r#where == 2);
    let found = fortran::finds(&[5, 7], 8).unwrap();
    assert!(found.returned == fortran::FindsReturn::Alternate1 && found.r#where == 0);
    let mut calls = 0;
    let area = fortran::area(
        |x| {
            calls += 1;
            x * x
        },
        0.0,
        1.0,
        1000,
    );
    assert!((area - 1.0 / 3.0).abs() < 1e-5 && calls == 1001);

    // Workspaces, and what says how it went.
    let circle = |_: i32, x: &mut [f64], f: &mut [f64]| {
        f[0] = x[0] * x[0] + x[1] * x[1] - 1.0;
        f[1] = x[0] - x[1];
    };
    let mut x = [1.0, 0.5];
    let f = fortran::hybrd1(circle, &mut x, 1e-10).unwrap();
    assert!(f.len() == 2 && f.iter().all(|f| f.abs() <= 1e-10));
    assert!(x.iter().all(|x| (x - 0.5f64.sqrt()).abs() < 1e-9));
    let never = |_: i32, x: &mut [f64], f: &mut [f64]| f[0] = x[0] * x[0] + 1.0;
    let failed = fortran::hybrd1(never, &mut [1.1], 1e-10).unwrap_err();
    assert_eq!(failed.to_string(), "hybrd1: `info` is 2: there were too many iterations.");
    assert!(matches!(failed, Error::Status { function: "hybrd1", argument: "info", value: 2, .. }));
    assert_eq!(
        said(fortran::hybrd1(circle, &mut [], 1e-10)),
        "hybrd1: `info` is 0: improper input parameters."
    );

    // Matrices.
    let mut a = [2.0, 4.0, 1.0, 3.0];
    let mut b = [4.0, 10.0, 1.0, 1.0];
    let ipiv = fortran::dgesv(
        MatrixMut::new(&mut a, 2, 2).unwrap(),
        MatrixMut::new(&mut b, 2, 2).unwrap(),
    );
    assert_eq!((ipiv, b), (Ok(vec![2, 2]), [1.0, 2.0, 1.0, -1.0]));
    // The upper rows of a larger one.
    let mut a = [2.0, 4.0, 0.0, 1.0, 3.0, 0.0];
    let mut b = [4.0, 10.0];
    let part = MatrixMut::with_leading_dimension(&mut a, 2, 2, 3).unwrap();
    let ipiv = fortran::dgesv(part, MatrixMut::new(&mut b, 2, 1).unwrap());
    assert!(ipiv.is_ok() && b == [1.0, 2.0] && a[2] == 0.0);
    let (mut a, mut b) = ([1.0, 2.0, 2.0, 4.0], [1.0, 1.0]);
    let mut solve = |rows: usize| {
        let a = MatrixMut::new(&mut a, 2, 2).unwrap();
        fortran::dgesv(a, MatrixMut::new(&mut b[..rows], rows, 1).unwrap())
    };
    let singular = "dgesv: `info` is 2: if INFO = i, U(i,i) is exactly zero, so there is no solution.";
    assert_eq!(said(solve(2)), singular);
    assert_eq!(
        said(solve(1)),
        "dgesv: argument `b` has 1 rows, and must have 2, as `a` has"
    );
    let mut oblong = [0.0; 6];
    let oblong = MatrixMut::new(&mut oblong, 2, 3).unwrap();
    assert_eq!(
        said(fortran::dgesv(oblong, MatrixMut::new(&mut b, 2, 1).unwrap())),
        "dgesv: argument `a` has 3 columns, and must have 2, as `a` has rows"
    );
    let points = [1.0, 1.0, 1.0, 0.0, 1.0, 2.0];
    let a = Matrix::new(&points, 3, 2).unwrap();
    let line = fortran::nearest(a, &[1.0, 3.0, 5.0]).unwrap();
    assert!((line.x[0] - 1.0).abs() < 1e-12 && (line.x[1] - 2.0).abs() < 1e-12);
    assert!(line.square < 1e-20);
    assert_eq!(
        said(fortran::nearest(a, &[1.0])),
        "nearest: argument `b` has 1 elements, and must have 3, as `a` has rows"
    );
    let upper = Matrix::with_leading_dimension(&points, 2, 2, 3).unwrap();
    assert_eq!(
        said(fortran::nearest(upper, &[1.0, 3.0])),
        "nearest: argument `a` has 3 elements from column to column, and must have 2, as it has rows: copy the columns together"
    );

    let square = fortran::gram(a).unwrap();
    assert_eq!((square.rows(), square.columns()), (2, 2));
    assert_eq!(square.as_slice(), [3.0, 3.0, 3.0, 5.0]);
    // One that is returned is one that is given.
    let again = fortran::gram(square.view()).unwrap();
    assert_eq!((again[(0, 1)], again.column(1)), (24.0, &[24.0, 34.0][..]));
    assert_eq!(fortran::gram((&square).into()), Ok(again));
    // Rust counts from 0 whatever Fortran does, and what has more dimensions is flat.
    let table = fortran::table(2).unwrap();
    assert_eq!(format!("{:?}", table.t), "[[-1, 0, 1], [9, 10, 11], [19, 20, 21]]");
    assert!(table.even[(0, 1)] && !table.even[(1, 2)]);
    assert_eq!((table.l.extents(), table.l.as_slice()), ([2; 3], &[1; 8][..]));
    assert_eq!(fortran::table(-3).unwrap().t.rows(), 0);

    // Derivatives take over what is said of the function.
    let cost = fortran::cost_gradient(&[1.0, 2.0], 3.0).unwrap();
    assert_eq!((cost.value, &cost.x_gradient[..]), (15.0, &[6.0, 12.0][..]));
    let model = fortran::model_jacobian(&[1.0, 2.0], 3).unwrap();
    assert_eq!(model.f, [5.0, 10.0, 15.0]);
    assert_eq!((model.f_by_x.rows(), model.f_by_x.columns()), (3, 2));
    assert_eq!(model.f_by_x.as_slice(), [2.0, 4.0, 6.0, 4.0, 8.0, 12.0]);
    let frob = fortran::frob_gradient(a).unwrap();
    assert_eq!((frob.value, frob.a_gradient.rows()), (8.0, 3));
    assert_eq!(frob.a_gradient.column(1), [0.0, 2.0, 4.0]);
    let hvp = fortran::cost_hvp(&[1.0, 2.0], 3.0, &[1.0, 0.0]).unwrap();
    assert_eq!(hvp.x_hvp, [6.0, 0.0]);
    assert_eq!(
        said(fortran::cost_hvp(&[1.0, 2.0], 3.0, &[1.0])),
        "cost_hvp: argument `x_direction` has 1 elements, and must have 2, as `x` has"
    );

    // What ends a call ends this one.
    let mut x = [0.0];
    assert_eq!(fortran::counts(&mut x), Ok(1));
    assert!(said(fortran::counts(&mut x)).starts_with("X(K) with subscript 2 is outside"));
    println!("fine");
}
