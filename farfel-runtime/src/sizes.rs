//! Support for short functions: before they call the function with all arguments, they determine
//! sizes and create arrays.

use crate::elements;
use crate::{Error, OwnedArray, OwnedMatrix};

/// Converts a size to a Fortran INTEGER.
///
/// ```
/// assert_eq!(farfel_runtime::size::<i32>("norm", "x", "elements", 3), Ok(3));
/// ```
///
/// # Errors
///
/// [`Error::Shape`] if the integer type is too small for the size.
pub fn size<T: TryFrom<usize> + Largest>(
    function: &'static str,
    argument: &'static str,
    what: &'static str,
    got: usize,
) -> Result<T, Error> {
    T::try_from(got).map_err(|_| Error::Shape {
        function,
        argument,
        what,
        got,
        wanted: format!("{} at most", T::LARGEST),
    })
}

/// An integer type with its largest value.
pub trait Largest {
    /// The largest value of the type.
    const LARGEST: i64;
}

macro_rules! largest {
    ($($t:ty),*) => {$(
        impl Largest for $t {
            const LARGEST: i64 = <$t>::MAX as i64;
        }
    )*};
}
largest!(i8, i16, i32, i64);

/// Checks that two arguments with a common size agree in it. Each is given as its name, the unit of
/// the count, and the count.
///
/// # Errors
///
/// [`Error::Shape`] if they disagree.
pub fn agree(
    function: &'static str,
    (argument, what, got): (&'static str, &'static str, usize),
    (other, of_other, wanted): (&'static str, &'static str, usize),
) -> Result<(), Error> {
    let of_other = match what == of_other {
        true => String::new(),
        false => format!(" {of_other}"),
    };
    match got == wanted {
        true => Ok(()),
        false => Err(Error::Shape {
            function,
            argument,
            what,
            got,
            wanted: format!("{wanted}, as `{other}` has{of_other}"),
        }),
    }
}

/// Checks that an extent of an array, such as the rows of a matrix, is what its declaration says.
///
/// # Errors
///
/// [`Error::Shape`] if it is not.
pub fn fits(
    function: &'static str,
    (argument, what, got): (&'static str, &'static str, usize),
    bounds: &[(i64, i64)],
    declaration: &'static str,
) -> Result<(), Error> {
    let wanted = elements(bounds);
    match got == wanted {
        true => Ok(()),
        false => Err(Error::Shape {
            function,
            argument,
            what,
            got,
            wanted: format!("{wanted}, for {declaration}"),
        }),
    }
}

/// Checks that the columns of a matrix are contiguous.
///
/// # Errors
///
/// [`Error::Shape`] if there are gaps between columns.
pub fn dense(
    function: &'static str,
    argument: &'static str,
    rows: usize,
    leading: usize,
) -> Result<(), Error> {
    match leading == rows {
        true => Ok(()),
        false => Err(Error::Shape {
            function,
            argument,
            what: "elements from column to column",
            got: leading,
            wanted: format!("{rows}, as it has rows: copy the columns together"),
        }),
    }
}

/// Returns an array of zeros with these bounds.
///
/// # Errors
///
/// [`Error::Memory`] if there is no memory for it. `declaration` is the Fortran declaration:
/// `W(N)`.
pub fn zeros<T: Clone + Default>(
    declaration: &'static str,
    bounds: &[(i64, i64)],
) -> Result<Vec<T>, Error> {
    let count = elements(bounds);
    let mut values = Vec::new();
    match values.try_reserve_exact(count) {
        Ok(()) => {
            values.resize(count, T::default());
            Ok(values)
        }
        Err(_) => Err(no_memory(declaration)),
    }
}

/// Returns a matrix of zeros with these bounds: those of the rows, and those of the columns.
///
/// ```
/// let c = farfel_runtime::zero_matrix::<f64>("C(0:M, N)", [(0, 2), (1, 4)])?;
/// assert_eq!((c.rows(), c.columns(), c[(2, 3)]), (3, 4, 0.0));
/// # Ok::<(), farfel_runtime::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Memory`] if there is no memory for it. `declaration` is the Fortran declaration.
pub fn zero_matrix<T: Clone + Default>(
    declaration: &'static str,
    [rows, columns]: [(i64, i64); 2],
) -> Result<OwnedMatrix<T>, Error> {
    let data = zeros(declaration, &[rows, columns])?;
    OwnedMatrix::new(data, elements(&[rows]), elements(&[columns]))
        .map_err(|_| no_memory(declaration))
}

/// Returns an array of zeros with these bounds, a pair for each dimension.
///
/// ```
/// let c = farfel_runtime::zero_array::<f64, 3>("C(0:L, M, N)", [(0, 2), (1, 4), (1, 5)])?;
/// assert_eq!((c.extents(), c[[2, 3, 4]]), ([3, 4, 5], 0.0));
/// # Ok::<(), farfel_runtime::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Memory`] if there is no memory for it. `declaration` is the Fortran declaration.
pub fn zero_array<T: Clone + Default, const N: usize>(
    declaration: &'static str,
    bounds: [(i64, i64); N],
) -> Result<OwnedArray<T, N>, Error> {
    let data = zeros(declaration, &bounds)?;
    let extents = bounds.map(|pair| elements(&[pair]));
    OwnedArray::new(data, extents).map_err(|_| no_memory(declaration))
}

pub(crate) fn no_memory(declaration: &'static str) -> Error {
    Error::Memory {
        statement: declaration.to_owned(),
        file: String::new(),
        line: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_fit() {
        assert_eq!(size::<i8>("f", "x", "elements", 127), Ok(127));
        let long = size::<i8>("f", "x", "elements", 128).unwrap_err();
        assert_eq!(
            long.to_string(),
            "f: argument `x` has 128 elements, and must have 127 at most"
        );
        let of = |name, count| (name, "elements", count);
        assert_eq!(agree("dot", of("y", 3), of("x", 3)), Ok(()));
        let other = agree("dot", of("y", 4), of("x", 3)).unwrap_err();
        assert_eq!(
            other.to_string(),
            "dot: argument `y` has 4 elements, and must have 3, as `x` has"
        );
    }

    #[test]
    fn shapes_that_fit() {
        let a = ("a", "rows", 3);
        let other = agree("solve", a, ("a", "columns", 2)).unwrap_err();
        assert_eq!(
            other.to_string(),
            "solve: argument `a` has 3 rows, and must have 2, as `a` has columns"
        );
        assert_eq!(fits("f", a, &[(0, 2)], "A(0:2, N)"), Ok(()));
        let other = fits("f", a, &[(1, 2)], "A(2, N)").unwrap_err();
        assert_eq!(
            other.to_string(),
            "f: argument `a` has 3 rows, and must have 2, for A(2, N)"
        );
        assert!(dense("f", "a", 3, 3).is_ok() && dense("f", "a", 3, 4).is_err());
    }

    #[test]
    fn arrays_of_zeros() {
        assert_eq!(zeros::<f64>("W(N, 2)", &[(1, 3), (1, 2)]), Ok(vec![0.0; 6]));
        assert_eq!(zeros::<bool>("W(N)", &[(1, -1)]), Ok(vec![]));
        let large = zeros::<f64>("W(N)", &[(1, i64::MAX)]).unwrap_err();
        assert_eq!(large.to_string(), "W(N) failed");
        let none = zero_matrix::<f64>("C(M, N)", [(1, 3), (1, -1)]).unwrap();
        assert_eq!((none.rows(), none.columns()), (3, 0));
        let large = |n| zero_matrix::<f64>("C(N, M)", [(1, i64::MAX), (1, n)]);
        assert!(large(0).is_err() && large(i64::MAX).is_err());
        let large = |n| zero_array::<f64, 3>("C(N, N, M)", [(1, n), (1, i64::MAX), (1, 0)]);
        assert!(large(0).is_err() && large(i64::MAX).is_err());
        let none = zero_array::<f64, 3>("C(L, M, N)", [(1, 3), (1, -1), (0, 2)]).unwrap();
        assert_eq!(none.extents(), [3, 0, 3]);
    }
}
