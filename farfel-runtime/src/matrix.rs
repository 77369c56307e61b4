//! Matrices in Fortran's column-major order: [`Matrix`] and [`MatrixMut`] borrow their elements,
//! [`OwnedMatrix`] owns them.
//!
//! The features `ndarray`, `nalgebra` and `faer` add conversions from and to the matrices of these crates.

use crate::Error;
use std::fmt;
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

/// A matrix that owns its elements, as functions return it. The order is column-major, without gaps
/// between columns: element (i, j), counted from 0, is `as_slice()[i + j*rows]`.
///
/// ```
/// use farfel_runtime::OwnedMatrix;
/// let mut a = OwnedMatrix::new(vec![1.0, 2.0, 3.0, 4.0], 2, 2)?;
/// a[(0, 1)] = 5.0;
/// assert_eq!(a.column(1), [5.0, 4.0]);
/// assert_eq!(format!("{a:?}"), "[[1.0, 5.0], [2.0, 4.0]]");
/// assert_eq!(a.into_vec(), [1.0, 2.0, 5.0, 4.0]);
/// # Ok::<(), farfel_runtime::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct OwnedMatrix<T> {
    data: Vec<T>,
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

impl<T> OwnedMatrix<T> {
    /// Creates a matrix from its elements, one column after another.
    ///
    /// # Errors
    ///
    /// [`Error::Shape`] if the number of elements does not match the shape.
    pub fn new(data: Vec<T>, rows: usize, columns: usize) -> Result<Self, Error> {
        let function = "OwnedMatrix::new";
        let shape = Shape::of(function, data.len(), rows, columns, None)?;
        // Only a matrix without elements can be larger; `ndarray` does not accept that.
        let bytes = rows.max(1).saturating_mul(columns.max(1));
        let bytes = bytes.saturating_mul(size_of::<T>().max(1));
        if isize::try_from(bytes).is_err() {
            return Err(Error::Shape {
                function,
                argument: "data",
                what: "rows",
                got: rows,
                wanted: format!("fewer, with {columns} columns"),
            });
        }
        Ok(OwnedMatrix { data, shape })
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.shape.rows
    }

    /// Returns the number of columns.
    pub fn columns(&self) -> usize {
        self.shape.columns
    }

    /// Borrows the matrix, as an argument of a function.
    ///
    /// ```
    /// use farfel_runtime::{Matrix, OwnedMatrix};
    /// fn trace(a: Matrix<'_, f64>) -> f64 {
    ///     (0..a.rows()).map(|i| a[(i, i)]).sum()
    /// }
    /// let a = OwnedMatrix::new(vec![1.0, 2.0, 3.0, 4.0], 2, 2)?;
    /// assert_eq!(trace(a.view()), 5.0);
    /// assert_eq!(trace((&a).into()), 5.0);
    /// # Ok::<(), farfel_runtime::Error>(())
    /// ```
    pub fn view(&self) -> Matrix<'_, T> {
        Matrix {
            data: &self.data,
            shape: self.shape,
        }
    }

    /// Borrows the matrix mutably, as an argument of a function that changes it.
    pub fn view_mut(&mut self) -> MatrixMut<'_, T> {
        MatrixMut {
            data: &mut self.data,
            shape: self.shape,
        }
    }

    /// Returns the elements of a column, counted from 0.
    ///
    /// # Panics
    ///
    /// If there is no such column.
    pub fn column(&self, j: usize) -> &[T] {
        let Shape { rows, columns, .. } = self.shape;
        assert!(
            j < columns,
            "there is no column {j} in a matrix of {rows} rows and {columns} columns"
        );
        &self.data[j * rows..][..rows]
    }

    /// Returns all elements, one column after another.
    pub fn as_slice(&self) -> &[T] {
        &self.data
    }

    /// Returns all elements mutably, one column after another.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.data
    }

    /// Returns all elements, one column after another, without a copy.
    pub fn into_vec(self) -> Vec<T> {
        self.data
    }
}

impl<T> Index<(usize, usize)> for OwnedMatrix<T> {
    type Output = T;

    fn index(&self, at: (usize, usize)) -> &T {
        &self.data[self.shape.at(at)]
    }
}

impl<T> IndexMut<(usize, usize)> for OwnedMatrix<T> {
    fn index_mut(&mut self, at: (usize, usize)) -> &mut T {
        &mut self.data[self.shape.at(at)]
    }
}

/// Shows the rows, as they are written on paper.
impl<T: fmt::Debug> fmt::Debug for OwnedMatrix<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        struct Row<'a, T>(&'a OwnedMatrix<T>, usize);
        impl<T: fmt::Debug> fmt::Debug for Row<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let Row(matrix, i) = *self;
                let columns = 0..matrix.columns();
                f.debug_list()
                    .entries(columns.map(|j| &matrix[(i, j)]))
                    .finish()
            }
        }
        // A shape without elements may have any number of rows.
        let rows = if self.data.is_empty() { 0 } else { self.rows() };
        f.debug_list()
            .entries((0..rows).map(|i| Row(self, i)))
            .finish()
    }
}

impl<'a, T> From<&'a OwnedMatrix<T>> for Matrix<'a, T> {
    fn from(matrix: &'a OwnedMatrix<T>) -> Self {
        matrix.view()
    }
}

impl<'a, T> From<&'a mut OwnedMatrix<T>> for MatrixMut<'a, T> {
    fn from(matrix: &'a mut OwnedMatrix<T>) -> Self {
        matrix.view_mut()
    }
}

/// Conversions from column-major `ndarray` arrays, such as `Array2::zeros((m, n).f())`, without a
/// copy.
#[cfg(feature = "ndarray")]
mod from_ndarray {
    use super::{Error, Matrix, MatrixMut, OwnedMatrix};
    use ndarray::{Array2, ArrayBase, Data, DataMut, Ix2, ShapeBuilder};

    /// Without a copy. The array is column-major, as `Array2::zeros((m, n).f())` is.
    impl<T> From<OwnedMatrix<T>> for Array2<T> {
        fn from(matrix: OwnedMatrix<T>) -> Self {
            let shape = (matrix.rows(), matrix.columns());
            let made = Array2::from_shape_vec(shape.f(), matrix.into_vec());
            // `ndarray` asks for no more than what `OwnedMatrix::new` checks.
            made.unwrap_or_else(|e| unreachable!("a matrix with a shape that it cannot have: {e}"))
        }
    }

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
        fn owned_ones_become_arrays() {
            let m = OwnedMatrix::new((0..6).collect(), 2, 3).unwrap();
            let address = m.as_slice().as_ptr();
            let a = Array2::from(m);
            assert_eq!(a, ndarray::array![[0, 2, 4], [1, 3, 5]]);
            assert_eq!((a.as_ptr(), a.strides()), (address, &[1, 2][..]));
            assert_eq!(Matrix::try_from(&a).unwrap()[(0, 2)], 4);
            for shape in [
                (0, 3),
                (3, 0),
                (0, 0),
                (usize::MAX >> 4, 0),
                (0, usize::MAX >> 4),
            ] {
                let m = OwnedMatrix::<f64>::new(vec![], shape.0, shape.1).unwrap();
                assert_eq!(Array2::from(m).dim(), shape);
            }
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

/// Conversions from and to matrices of `nalgebra`, without a copy. Those that it stores are
/// column-major, without gaps between columns.
#[cfg(feature = "nalgebra")]
mod with_nalgebra {
    use super::{Matrix, MatrixMut, OwnedMatrix, Shape};
    use nalgebra::{DMatrix, Dim, Dyn, IsContiguous, RawStorage, RawStorageMut, VecStorage};

    fn shape<R: Dim, C: Dim>((rows, columns): (R, C)) -> Shape {
        Shape {
            rows: rows.value(),
            columns: columns.value(),
            leading: rows.value(),
        }
    }

    impl<'a, T, R, C, S> From<&'a nalgebra::Matrix<T, R, C, S>> for Matrix<'a, T>
    where
        R: Dim,
        C: Dim,
        S: RawStorage<T, R, C> + IsContiguous,
    {
        fn from(matrix: &'a nalgebra::Matrix<T, R, C, S>) -> Self {
            Matrix {
                data: matrix.as_slice(),
                shape: shape(matrix.shape_generic()),
            }
        }
    }

    impl<'a, T, R, C, S> From<&'a mut nalgebra::Matrix<T, R, C, S>> for MatrixMut<'a, T>
    where
        R: Dim,
        C: Dim,
        S: RawStorageMut<T, R, C> + IsContiguous,
    {
        fn from(matrix: &'a mut nalgebra::Matrix<T, R, C, S>) -> Self {
            let shape = shape(matrix.shape_generic());
            MatrixMut {
                data: matrix.as_mut_slice(),
                shape,
            }
        }
    }

    impl<T> From<OwnedMatrix<T>> for DMatrix<T> {
        fn from(matrix: OwnedMatrix<T>) -> Self {
            let (rows, columns) = (Dyn(matrix.rows()), Dyn(matrix.columns()));
            DMatrix::from_data(VecStorage::new(rows, columns, matrix.into_vec()))
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use nalgebra::{Matrix2x3, Vector3};

        #[test]
        fn matrices_are_lent() {
            let mut a = DMatrix::from_row_slice(2, 3, &[1, 2, 3, 4, 5, 6]);
            MatrixMut::from(&mut a)[(1, 2)] = 7;
            let m = Matrix::from(&a);
            assert_eq!((m.rows(), m.columns(), m[(0, 1)], m[(1, 2)]), (2, 3, 2, 7));
            assert_eq!(Matrix::from(&a.column(1)).data(), [2, 5]);
            let b = Matrix2x3::from_columns(&[[1, 2].into(), [3, 4].into(), [5, 6].into()]);
            assert_eq!(Matrix::from(&b).data(), [1, 2, 3, 4, 5, 6]);
            assert_eq!(Matrix::from(&Vector3::new(1, 2, 3)).rows(), 3);
        }

        #[test]
        fn owned_ones_become_theirs() {
            let m = OwnedMatrix::new((0..6).collect(), 2, 3).unwrap();
            let address = m.as_slice().as_ptr();
            let a = DMatrix::from(m);
            assert_eq!(a, DMatrix::from_row_slice(2, 3, &[0, 2, 4, 1, 3, 5]));
            assert_eq!(a.as_ptr(), address);
            let none = OwnedMatrix::<f64>::new(vec![], usize::MAX >> 4, 0).unwrap();
            assert_eq!(DMatrix::from(none).shape(), (usize::MAX >> 4, 0));
        }
    }
}

/// Conversions from and to matrices of `faer`. It borrows those of this crate; but its own have gaps of no defined value
/// between columns, so that they are copied.
#[cfg(feature = "faer")]
mod with_faer {
    use super::{Matrix, MatrixMut, OwnedMatrix};
    use faer::{Mat, MatMut, MatRef};

    impl<'a, T> From<Matrix<'a, T>> for MatRef<'a, T> {
        fn from(matrix: Matrix<'a, T>) -> Self {
            let (rows, columns) = (matrix.rows(), matrix.columns());
            let apart = matrix.leading_dimension();
            MatRef::from_column_major_slice_with_stride(matrix.data, rows, columns, apart)
        }
    }

    impl<'a, T> From<MatrixMut<'a, T>> for MatMut<'a, T> {
        fn from(matrix: MatrixMut<'a, T>) -> Self {
            let (rows, columns) = (matrix.rows(), matrix.columns());
            let apart = matrix.leading_dimension();
            MatMut::from_column_major_slice_with_stride_mut(matrix.data, rows, columns, apart)
        }
    }

    impl<'a, T> From<&'a OwnedMatrix<T>> for MatRef<'a, T> {
        fn from(matrix: &'a OwnedMatrix<T>) -> Self {
            matrix.view().into()
        }
    }

    impl<'a, T> From<&'a mut OwnedMatrix<T>> for MatMut<'a, T> {
        fn from(matrix: &'a mut OwnedMatrix<T>) -> Self {
            matrix.view_mut().into()
        }
    }

    /// A copy.
    impl<T: Clone> From<OwnedMatrix<T>> for Mat<T> {
        fn from(matrix: OwnedMatrix<T>) -> Self {
            Mat::from_fn(matrix.rows(), matrix.columns(), |i, j| {
                matrix[(i, j)].clone()
            })
        }
    }

    /// A copy.
    impl<T: Clone> From<MatRef<'_, T>> for OwnedMatrix<T> {
        fn from(matrix: MatRef<'_, T>) -> Self {
            let (rows, columns) = matrix.shape();
            let columns_of = |j| (0..rows).map(move |i| matrix[(i, j)].clone());
            let data = (0..columns).flat_map(columns_of).collect();
            let made = OwnedMatrix::new(data, rows, columns);
            made.unwrap_or_else(|e| unreachable!("there are as many elements as it has: {e}"))
        }
    }

    /// A copy.
    impl<T: Clone> From<&Mat<T>> for OwnedMatrix<T> {
        fn from(matrix: &Mat<T>) -> Self {
            matrix.as_ref().into()
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn matrices_are_lent() {
            let mut data: Vec<i32> = (0..8).collect();
            let upper = Matrix::with_leading_dimension(&data, 1, 4, 2).unwrap();
            let a = MatRef::from(upper);
            assert_eq!((a.shape(), a[(0, 0)], a[(0, 3)]), ((1, 4), 0, 6));
            assert_eq!(a.as_ptr(), data.as_ptr());
            MatMut::from(MatrixMut::new(&mut data, 4, 2).unwrap())[(3, 1)] = 9;
            assert_eq!(data[7], 9);
            let mut owned = OwnedMatrix::new(data, 2, 4).unwrap();
            MatMut::from(&mut owned)[(1, 0)] = 5;
            assert_eq!((owned[(1, 0)], MatRef::from(&owned)[(1, 3)]), (5, 9));
            for (rows, columns) in [(0, 3), (3, 0), (0, 0), (usize::MAX >> 4, 0)] {
                let none = OwnedMatrix::<f64>::new(vec![], rows, columns).unwrap();
                assert_eq!(MatRef::from(&none).shape(), (rows, columns));
            }
        }

        #[test]
        fn copies_have_the_same_elements() {
            // With gaps between columns.
            let a = Mat::from_fn(5, 3, |i, j| 10 * i + j);
            let owned = OwnedMatrix::from(&a);
            assert_eq!(owned.column(2), [2, 12, 22, 32, 42]);
            assert_eq!(OwnedMatrix::from(a.transpose()).column(4), [40, 41, 42]);
            assert_eq!(Mat::from(owned), a);
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
    fn a_matrix_owns_its_elements() {
        let mut a = OwnedMatrix::new((0..6).collect(), 2, 3).unwrap();
        assert_eq!((a.rows(), a.columns(), a[(1, 2)]), (2, 3, 5));
        assert_eq!((a.column(0), a.column(2)), (&[0, 1][..], &[4, 5][..]));
        a.view_mut()[(0, 1)] = 7;
        MatrixMut::from(&mut a)[(1, 1)] = 8;
        assert_eq!((a.view()[(0, 1)], Matrix::from(&a)[(1, 1)]), (7, 8));
        a.as_mut_slice()[0] = 9;
        assert_eq!(a.as_slice(), [9, 1, 7, 8, 4, 5]);
        assert_eq!(format!("{a:?}"), "[[9, 7, 4], [1, 8, 5]]");
        let other = a.clone();
        assert_eq!(a, other);
        assert_ne!(a, OwnedMatrix::new(other.into_vec(), 3, 2).unwrap());
        for at in [(2, 0), (0, 3)] {
            assert!(std::panic::catch_unwind(|| a[at]).is_err());
        }
        assert!(std::panic::catch_unwind(|| a.column(3).len()).is_err());

        assert!(OwnedMatrix::new(vec![1, 2, 3], 2, 2).is_err());
        let empty = OwnedMatrix::<f64>::new(vec![], 0, 3).unwrap();
        assert!(empty.column(2).is_empty());
        let flat = OwnedMatrix::<f64>::new(vec![], usize::MAX >> 4, 0).unwrap();
        assert_eq!(format!("{empty:?} {flat:?}"), "[] []");
        assert!(OwnedMatrix::<f64>::new(vec![], usize::MAX, 0).is_err());
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
