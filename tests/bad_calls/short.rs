//! Short functions, and matrices.

use crate::calls::wrong;
use crate::fortran;
use farfel_runtime::{Matrix, MatrixMut, OwnedMatrix};

/// Makes the calls.
pub fn all() {
    let data = [1.0; 12];
    let mut work = [1.0; 12];
    wrong("matrix", || Matrix::new(&data, 4, 4).map(|_| ()));
    wrong("matrix wraps", || {
        Matrix::new(&data, usize::MAX, 2).map(|_| ())
    });
    wrong("matrix wraps to 12", || {
        Matrix::new(&data, usize::MAX / 4 + 4, 4).map(|_| ())
    });
    wrong("matrix leading", || {
        Matrix::with_leading_dimension(&data, 4, 3, 3).map(|_| ())
    });
    wrong("matrix leading far", || {
        Matrix::with_leading_dimension(&data, 1, 2, usize::MAX).map(|_| ())
    });
    wrong("matrix element", || Ok(Matrix::new(&data, 4, 3)?[(0, 3)]));
    wrong("matrix row", || Ok(Matrix::new(&data, 4, 3)?[(4, 0)]));
    wrong("matrix element wraps", || {
        Ok(Matrix::new(&data, 4, 3)?[(0, usize::MAX / 4 + 1)])
    });
    wrong("owned column", || {
        Ok(OwnedMatrix::new(data.to_vec(), 4, 3)?.column(3).to_vec())
    });
    wrong("scattr", || fortran::scattr(&[1, 2], &[1.0], &mut work));
    wrong("scattr values", || {
        fortran::scattr(&[1, 13], &[1.0; 2], &mut work)
    });
    wrong("setone", || fortran::setone(&mut [], 1, 1.0));
    wrong("scalem", || {
        fortran::scalem(5, MatrixMut::new(&mut work, 4, 3)?, 2.0)
    });
    wrong("scalem gaps", || {
        let a = MatrixMut::with_leading_dimension(&mut work[..11], 2, 3, 4)?;
        fortran::scalem(5, a, 2.0)
    });
    wrong("opened", || {
        fortran::opened(MatrixMut::new(&mut work, 4, 3)?, 1, 4)
    });
    wrong("corner gaps", || {
        fortran::corner(MatrixMut::with_leading_dimension(&mut work, 3, 3, 4)?)
    });
    wrong("corner empty", || {
        fortran::corner(MatrixMut::new(&mut [], 0, 3)?)
    });
    wrong("smooth", || {
        fortran::smooth(
            Matrix::new(&data, 4, 3)?,
            MatrixMut::new(&mut work, 3, 4)?,
            3,
        )
    });
    wrong("smooth far", || {
        fortran::smooth(
            Matrix::new(&data, 4, 3)?,
            MatrixMut::new(&mut work, 4, 3)?,
            4,
        )
    });
    wrong("solve", || {
        fortran::solve(4, Matrix::new(&data, 4, 3)?, &mut [1.0; 4])
    });
    wrong("store", || {
        fortran::store(5, &[1.0; 5], MatrixMut::new(&mut [0.0; 4], 2, 2)?)
    });
    wrong("steps", || {
        fortran::steps(9, &mut [0.0; 3], MatrixMut::new(&mut [0.0; 12], 4, 3)?)
    });
    wrong("carve", || fortran::carve(2, &[1, 5], 12));
    wrong("column", || {
        fortran::column(5, 3, MatrixMut::new(&mut work, 4, 3)?)
    });
    wrong("model", || fortran::model(&[1, 4, 5], &[1.0; 4]));
    wrong("model_jacobian", || {
        fortran::model_jacobian(&[1, 2, 9], &[1.0; 4])
    });
    wrong("model_jvp", || {
        fortran::model_jvp(&[1, 2], &[1.0; 4], &[1.0; 3])
    });
    wrong("model_vjp", || {
        fortran::model_vjp(&[1, 2], &[1.0; 4], &[1.0; 4])
    });
    wrong("model_rows", || fortran::model_rows(&[1; 6], &[1.0; 4]));
    wrong("cost_hvp", || fortran::cost_hvp(&[1.0; 3], &[1.0; 2]));
    wrong("branch_gradient", || fortran::branch_gradient(&[1.0; 4], 0));
    wrong("march_jvp", || {
        fortran::march_jvp(1, &mut [1.0; 2], &[1.0; 3])
    });
    wrong("apply", || {
        fortran::apply(|_, _, k| k[0] = 0, &mut [0.0; 2], &mut [1, 2])
    });
    wrong("apply lengths", || {
        fortran::apply(|_, _, _| (), &mut [0.0; 2], &mut [1; 3])
    });
    wrong("room", || {
        fortran::whole(i32::MIN)
            .map(|v| assert!(v.is_empty()))
            .and_then(|()| fortran::setone(&mut [0.0], 2, 1.0))
    });
}
