#![forbid(unsafe_code)]

mod fortran {
    farfel_runtime::include_bindings!();
}

use farfel_runtime::{Error, Matrix, MatrixMut};

fn said<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    result.unwrap_err().to_string()
}

fn main() {
    // What the subprogram does not set, the caller keeps.
    let mut y = [7.0; 3];
    assert_eq!(fortran::almost(&[1.0, 2.0, 4.0], &mut y), Ok(()));
    assert_eq!(y, [1.0, 2.0, 7.0]);
    let (mut n, mut y) = (4, [7.0; 4]);
    assert_eq!(fortran::half(&mut n, &mut y), Ok(()));
    assert_eq!((n, y), (2, [1.0, 2.0, 7.0, 7.0]));
    let (mut n, mut y) = (3, [7.0; 3]);
    assert_eq!(fortran::third(&mut n, &mut y), Ok(()));
    assert_eq!((n, y), (1, [1.0, 7.0, 7.0]));
    let (mut k, mut y) = (5, [7.0; 2]);
    assert_eq!(fortran::some(-1.0, &mut y, &mut k), Ok(()));
    assert_eq!((k, y), (5, [7.0; 2]));
    assert_eq!(fortran::some(1.0, &mut y, &mut k), Ok(()));
    assert_eq!((k, y), (2, [1.0; 2]));
    let (mut s, mut y) = (10.0, [7.0; 2]);
    assert_eq!(fortran::adds(&[1.0, 2.0], &mut y, &mut s), Ok(()));
    assert_eq!((s, y), (13.0, [8.0, 9.0]));
    let (mut k, mut y) = (5, [7.0; 3]);
    assert_eq!(fortran::early(&[1.0; 3], &mut y, &mut k), Ok(()));
    assert_eq!((k, y), (5, [7.0; 3]));
    let (mut k, mut y) = (5, [7.0; 3]);
    assert_eq!(fortran::inner(&mut y, &mut k), Ok(26.0));
    assert_eq!((k, y), (3, [0.0; 3]));

    // One array by two names, and a size in COMMON.
    assert_eq!(fortran::alias(&[1.0, 2.0]), Ok(vec![2.0, 4.0]));
    let mut y = [7.0; 3];
    fortran::resize(2);
    fortran::shared(&mut y).unwrap();
    assert_eq!(y, [1.0, 2.0, 7.0]);

    // Few, and too many.
    assert_eq!(fortran::filled(2), Ok(vec![1.0, 2.0]));
    assert_eq!(fortran::filled(0), Ok(vec![]));
    assert_eq!(fortran::filled(-5), Ok(vec![]));
    assert_eq!(fortran::filled(i32::MIN), Ok(vec![]));
    let none = fortran::square(-1).unwrap();
    assert_eq!((none.a.rows(), none.a.columns(), none.l.as_slice().len()), (0, 0, 0));
    assert_eq!(said(fortran::square(i32::MAX)), "A(N, N) failed");
    assert_eq!(said(fortran::long(i64::MAX)), "A(N, N) failed");
    assert_eq!(said(fortran::needs(i32::MAX)), "WORK(N, N) failed");
    assert!(said(fortran::needs(0)).contains("is outside"));
    let sum = fortran::three(&[], &[], Matrix::new(&[], 0, 3).unwrap());
    assert_eq!(sum, Ok(0.0));

    // Slices and matrices that do not agree.
    let data = [1.0; 6];
    let a = Matrix::new(&data, 3, 2).unwrap();
    assert_eq!(fortran::three(&data[..3], &data[..3], a), Ok(6.0));
    assert_eq!(
        said(fortran::three(&data[..3], &data[..2], a)),
        "three: argument `y` has 2 elements, and must have 3, as `x` has"
    );
    assert_eq!(
        said(fortran::three(&data[..2], &data[..2], a)),
        "three: argument `a` has 3 rows, and must have 2, as `x` has elements"
    );

    // Columns that begin closer together than there are rows.
    assert_eq!(
        said(Matrix::with_leading_dimension(&data, 3, 2, 2)),
        "Matrix::with_leading_dimension: argument `data` has 3 rows, and must have 2 at most, as columns begin that far apart"
    );
    assert_eq!(fortran::upper(2, a), Ok(4.0));
    assert!(said(fortran::upper(4, a)).contains("is outside"));
    assert_eq!(fortran::kept(2, a, 3), Ok(4.0));
    assert_eq!(
        said(fortran::kept(2, a, 2)),
        "kept: argument `a` has 3 elements from column to column, and must have 2, for A(LDA)"
    );
    assert!(MatrixMut::with_leading_dimension(&mut [1.0; 6], 1, 2, 0).is_err());

    // An error in the middle.
    let counted = fortran::counts(&[1.0, 2.0]).unwrap();
    assert_eq!((counted.k, counted.r), (1, 0.5));
    assert_eq!(counted.a.column(0), [1.0, 2.0]);
    assert!(said(fortran::counts(&[1.0])).contains("is outside"));
    println!("fine");
}
