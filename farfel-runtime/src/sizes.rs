//! What short functions do before they call the one with all arguments: they find sizes, and make arrays.

use crate::Error;
use crate::elements;

/// A size as Fortran has it.
///
/// ```
/// assert_eq!(farfel_runtime::size::<i32>("norm", "x", "elements", 3), Ok(3));
/// ```
///
/// # Errors
///
/// [`Error::Shape`] when the integer is too small for it.
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

/// An integer with a largest value.
pub trait Largest {
    /// It.
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

/// Checks that an argument is as large as another one says that has the same size.
///
/// # Errors
///
/// [`Error::Shape`] when it is not.
pub fn agree(
    function: &'static str,
    argument: &'static str,
    what: &'static str,
    got: usize,
    wanted: usize,
    with: &'static str,
) -> Result<(), Error> {
    match got == wanted {
        true => Ok(()),
        false => Err(Error::Shape {
            function,
            argument,
            what,
            got,
            wanted: format!("{wanted}, as `{with}` has"),
        }),
    }
}

/// An array with these bounds, of zeros.
///
/// # Errors
///
/// [`Error::Memory`] when there is no memory for it. `declaration` is how Fortran declares it: `W(N)`.
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
        Err(_) => Err(Error::Memory {
            statement: declaration.to_owned(),
            file: String::new(),
            line: 0,
        }),
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
        assert_eq!(agree("dot", "y", "elements", 3, 3, "x"), Ok(()));
        let other = agree("dot", "y", "elements", 4, 3, "x").unwrap_err();
        assert_eq!(
            other.to_string(),
            "dot: argument `y` has 4 elements, and must have 3, as `x` has"
        );
    }

    #[test]
    fn arrays_of_zeros() {
        assert_eq!(zeros::<f64>("W(N, 2)", &[(1, 3), (1, 2)]), Ok(vec![0.0; 6]));
        assert_eq!(zeros::<bool>("W(N)", &[(1, -1)]), Ok(vec![]));
        let large = zeros::<f64>("W(N)", &[(1, i64::MAX)]).unwrap_err();
        assert_eq!(large.to_string(), "W(N) failed");
    }
}
