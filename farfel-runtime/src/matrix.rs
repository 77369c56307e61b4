//! Matrices in Fortran's column-major order.
//!
//! The feature `ndarray` adds conversions from arrays of that crate. Crates whose matrices are
//! always column-major need no feature: `Matrix::new(m.as_slice(), m.nrows(), m.ncols())` converts
//! a matrix of `nalgebra`.

use crate::Error;
use std::ops::{Index, IndexMut};

/// A read-only matrix: a slice with a shape. The order is column-major: element (i, j), counted
/// from 0, is `data[i + j*leading_dimension]`.
///
/// ```
/// use farfel_runtime::Matrix;
/// let a = Matrix::new(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2, 3)?;
/// assert_eq!((a.rows(), a.columns(), a[(1, 0)]), (2, 3, 2.0));
/// # Ok::<(), farfel_runtime::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Matrix<'a, T> {
    data: &'a [T],
    shape: Shape,
}

/// A mutable matrix; see [`Matrix`].
///
/// ```
/// use farfel_runtime::MatrixMut;
/// let mut data = vec![0.0; 6];
/// let mut a = MatrixMut::new(&mut data, 2, 3)?;
/// a[(1, 2)] = 7.0;
/// assert_eq!(data[5], 7.0);
/// # Ok::<(), farfel_runtime::Error>(())
/// ```
#[derive(Debug, PartialEq)]
pub struct MatrixMut<'a, T> {
    data: &'a mut [T],
    shape: Shape,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape {
    rows: usize,
    columns: usize,
    leading: usize,
}

impl Shape {
    /// Of data with so many elements.
    fn of(
        function: &'static str,
        elements: usize,
        rows: usize,
        columns: usize,
        leading: Option<usize>,
    ) -> Result<Shape, Error> {
        let error = |argument, what, got, wanted| Error::Shape {
            function,
            argument,
            what,
            got,
            wanted,
        };
        let apart = leading.unwrap_or(rows);
        if apart < rows {
            let wanted = format!("{apart} at most, as columns begin that far apart");
            return Err(error("data", "rows", rows, wanted));
        }
        let needed = apart.saturating_mul(columns);
        let fits = match leading {
            Some(_) => elements >= needed,
            None => elements == needed,
        };
        if !fits {
            let least = if leading.is_some() { " at least" } else { "" };
            let wanted = format!("{needed}{least}, for {columns} columns of {apart}");
            return Err(error("data", "elements", elements, wanted));
        }
        Ok(Shape {
            rows,
            columns,
            leading: apart,
        })
    }

    /// Returns the offset of an element. Panics if it is out of range, as slices do.
    fn at(self, (i, j): (usize, usize)) -> usize {
        assert!(
            i < self.rows && j < self.columns,
            "there is no element ({i}, {j}) in a matrix of {} rows and {} columns",
            self.rows,
            self.columns
        );
        i + j * self.leading
    }
}

macro_rules! shape {
    ($name:ident) => {
        impl<T> $name<'_, T> {
            /// Returns the number of rows.
            pub fn rows(&self) -> usize {
                self.shape.rows
            }

            /// Returns the number of columns.
            pub fn columns(&self) -> usize {
                self.shape.columns
            }

            /// Returns the distance between the starts of consecutive columns, in elements.
            pub fn leading_dimension(&self) -> usize {
                self.shape.leading
            }
        }

        impl<T> Index<(usize, usize)> for $name<'_, T> {
            type Output = T;

            fn index(&self, at: (usize, usize)) -> &T {
                &self.data[self.shape.at(at)]
            }
        }
    };
}
shape!(Matrix);
shape!(MatrixMut);

impl<T> IndexMut<(usize, usize)> for MatrixMut<'_, T> {
    fn index_mut(&mut self, at: (usize, usize)) -> &mut T {
        &mut self.data[self.shape.at(at)]
    }
}

impl<'a, T> Matrix<'a, T> {
    /// Creates a matrix whose columns are contiguous, one after another.
    ///
    /// # Errors
    ///
    /// [`Error::Shape`] if the number of elements does not match the shape.
    pub fn new(data: &'a [T], rows: usize, columns: usize) -> Result<Self, Error> {
        let shape = Shape::of("Matrix::new", data.len(), rows, columns, None)?;
        Ok(Matrix { data, shape })
    }

    /// Creates a matrix whose columns begin `leading` elements apart: the upper rows of a larger
    /// matrix.
    ///
    /// # Errors
    ///
    /// [`Error::Shape`] if `leading` is less than `rows`, or there are not enough elements for all
    /// columns.
    pub fn with_leading_dimension(
        data: &'a [T],
        rows: usize,
        columns: usize,
        leading: usize,
    ) -> Result<Self, Error> {
        let function = "Matrix::with_leading_dimension";
        let shape = Shape::of(function, data.len(), rows, columns, Some(leading))?;
        Ok(Matrix { data, shape })
    }

    /// Returns all elements, including those between columns.
    pub fn data(self) -> &'a [T] {
        self.data
    }
}

impl<'a, T> MatrixMut<'a, T> {
    /// Creates a matrix whose columns are contiguous, one after another.
    ///
    /// # Errors
    ///
    /// [`Error::Shape`] if the number of elements does not match the shape.
    pub fn new(data: &'a mut [T], rows: usize, columns: usize) -> Result<Self, Error> {
        let shape = Shape::of("MatrixMut::new", data.len(), rows, columns, None)?;
        Ok(MatrixMut { data, shape })
    }

    /// Creates a matrix whose columns begin `leading` elements apart: the upper rows of a larger
    /// matrix.
    ///
    /// # Errors
    ///
    /// [`Error::Shape`] if `leading` is less than `rows`, or there are not enough elements for all
    /// columns.
    pub fn with_leading_dimension(
        data: &'a mut [T],
        rows: usize,
        columns: usize,
        leading: usize,
    ) -> Result<Self, Error> {
        let function = "MatrixMut::with_leading_dimension";
        let shape = Shape::of(function, data.len(), rows, columns, Some(leading))?;
        Ok(MatrixMut { data, shape })
    }

    /// Reborrows the matrix for a shorter lifetime, so that it can be used again afterwards.
    pub fn reborrow(&mut self) -> MatrixMut<'_, T> {
        MatrixMut {
            data: self.data,
            shape: self.shape,
        }
    }

    /// Returns all elements, including those between columns.
    pub fn data(self) -> &'a mut [T] {
        self.data
    }
}

/// Conversions from column-major `ndarray` arrays, such as `Array2::zeros((m, n).f())`, without a
/// copy.
#[cfg(feature = "ndarray")]
mod from_ndarray {
    use super::{Error, Matrix, MatrixMut};
    use ndarray::{ArrayBase, Data, DataMut, Ix2};

    /// Returns the reason why the layout of an array does not suit Fortran.
    fn error(function: &'static str, rows: usize, strides: &[isize]) -> Error {
        let stride = |i: usize| strides.get(i).map_or(0, |s| s.unsigned_abs());
        let (what, got, wanted) = match stride(0) {
            1 => (
                "elements from column to column",
                stride(1),
                format!("{rows}, as it has rows: copy the columns together"),
            ),
            other => (
                "elements from row to row",
                other,
                "1, as Fortran has: make it with `.f()`, as `Array2::zeros((m, n).f())`".to_owned(),
            ),
        };
        Error::Shape {
            function,
            argument: "array",
            what,
            got,
            wanted,
        }
    }

    impl<'a, T, S: Data<Elem = T>> TryFrom<&'a ArrayBase<S, Ix2>> for Matrix<'a, T> {
        type Error = Error;

        fn try_from(array: &'a ArrayBase<S, Ix2>) -> Result<Self, Error> {
            let (rows, columns) = array.dim();
            match array.view().reversed_axes().to_slice() {
                Some(data) => Matrix::new(data, rows, columns),
                None => Err(error("Matrix::try_from", rows, array.strides())),
            }
        }
    }

    impl<'a, T, S: DataMut<Elem = T>> TryFrom<&'a mut ArrayBase<S, Ix2>> for MatrixMut<'a, T> {
        type Error = Error;

        fn try_from(array: &'a mut ArrayBase<S, Ix2>) -> Result<Self, Error> {
            let (rows, columns) = array.dim();
            let error = error("MatrixMut::try_from", rows, array.strides());
            match array.view_mut().reversed_axes().into_slice() {
                Some(data) => MatrixMut::new(data, rows, columns),
                None => Err(error),
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use ndarray::{Array2, ShapeBuilder, s};

        #[test]
        fn columns_are_lent() {
            let mut a = Array2::<f64>::zeros((2, 3).f());
            MatrixMut::try_from(&mut a).unwrap()[(1, 2)] = 5.0;
            assert_eq!(a[(1, 2)], 5.0);
            let m = Matrix::try_from(&a).unwrap();
            assert_eq!((m.rows(), m.columns(), m[(1, 2)]), (2, 3, 5.0));
            assert!(Matrix::try_from(&a.slice(s![.., 1..])).is_ok());
            assert!(Matrix::try_from(&Array2::<f64>::zeros((1, 3))).is_ok());
        }

        #[test]
        fn what_fortran_would_read_otherwise() {
            let rows = Array2::<f64>::zeros((2, 3));
            assert_eq!(
                Matrix::try_from(&rows).unwrap_err().to_string(),
                "Matrix::try_from: argument `array` has 3 elements from row to row, and must have 1, as Fortran has: make it \
                 with `.f()`, as `Array2::zeros((m, n).f())`"
            );
            assert!(Matrix::try_from(&rows.t()).is_ok());
            let mut a = Array2::<f64>::zeros((4, 3).f());
            let mut upper = a.slice_mut(s![..2, ..]);
            assert_eq!(
                MatrixMut::try_from(&mut upper).unwrap_err().to_string(),
                "MatrixMut::try_from: argument `array` has 4 elements from column to column, and must have 2, as it has rows: \
                 copy the columns together"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_column_by_column() {
        let data: Vec<i32> = (0..8).collect();
        let a = Matrix::new(&data, 2, 4).unwrap();
        assert_eq!((a[(1, 3)], a[(0, 1)], a.data().len()), (7, 2, 8));
        let upper = Matrix::with_leading_dimension(&data, 1, 4, 2).unwrap();
        assert_eq!((upper[(0, 3)], upper.leading_dimension()), (6, 2));
        let mut data = data.clone();
        let mut b = MatrixMut::new(&mut data, 4, 2).unwrap();
        b.reborrow()[(3, 1)] = 9;
        assert_eq!((b[(3, 1)], b.data()[7]), (9, 9));
    }

    #[test]
    fn what_has_no_such_shape() {
        let short = Matrix::new(&[1, 2, 3], 2, 2).unwrap_err();
        assert_eq!(
            short.to_string(),
            "Matrix::new: argument `data` has 3 elements, and must have 4, for 2 columns of 2"
        );
        assert!(Matrix::with_leading_dimension(&[1, 2, 3], 2, 1, 1).is_err());
        assert!(Matrix::with_leading_dimension(&[1, 2, 3], 1, 2, 2).is_err());
        assert!(Matrix::new(&[0u8; 4], usize::MAX, 2).is_err());
        let empty: [f64; 0] = [];
        assert!(Matrix::new(&empty, 0, 3).is_ok());
        let a = Matrix::new(&[1, 2, 3, 4], 2, 2).unwrap();
        assert!(std::panic::catch_unwind(|| a[(2, 0)]).is_err());
    }
}
