#![forbid(unsafe_code)]

mod fortran {
    farfel_runtime::include_bindings!();
}

use farfel_runtime::{Matrix, MatrixMut, OwnedMatrix};

fn main() {
    let mut a = OwnedMatrix::new(vec![1.0, 4.0, 2.0, 3.0], 2, 2).unwrap();
    assert_eq!(fortran::dlange("M", a.view()), Ok(4.0));
    assert_eq!(fortran::dgetrf(a.view_mut()), Ok(vec![2, 2]));
    assert_eq!(a.as_slice(), [4.0, 0.25, 3.0, 1.25]);
    let mut singular = [1.0, 2.0, 2.0, 4.0];
    let failed = fortran::dgetrf(MatrixMut::new(&mut singular, 2, 2).unwrap());
    assert_eq!(
        failed.unwrap_err().to_string(),
        "dgetrf: `info` is 2: if INFO = i, U(i,i) is exactly zero. The factorization has been completed, but the factor U is \
         exactly singular."
    );
    let mut symmetric = [2.0, 1.0, 1.0, 2.0];
    let mut w = fortran::dsyev("V", "L", MatrixMut::new(&mut symmetric, 2, 2).unwrap()).unwrap();
    w.sort_by(f64::total_cmp);
    assert!((w[0] - 1.0).abs() < 1e-12 && (w[1] - 3.0).abs() < 1e-12);
    let b = [1.0, 2.0, 3.0, 4.0];
    let mut y = [1.0, 1.0];
    let b = Matrix::new(&b, 2, 2).unwrap();
    fortran::dgemv(1.0, b, &[1.0, 1.0], 1, 1.0, &mut y, 1).unwrap();
    assert_eq!(y, [5.0, 7.0]);
    let copied = fortran::dlacpy("U", b).unwrap();
    assert_eq!(copied.as_slice(), [1.0, 0.0, 3.0, 4.0]);
    println!("fine");
}
