//! Array extents and LOGICAL arrays.

use crate::Error;

/// Returns the number of elements of an array with these bounds, a lower and an upper one for each
/// dimension. A dimension whose upper bound is less than its lower bound has extent zero.
///
/// ```
/// use farfel_runtime::elements;
/// assert_eq!(elements(&[(1, 3), (0, 4)]), 15);
/// assert_eq!(elements(&[(1, 3), (1, -1)]), 0);
/// ```
pub fn elements(bounds: &[(i64, i64)]) -> usize {
    bounds
        .iter()
        .map(|&(lower, upper)| {
            let extent = upper.saturating_sub(lower).saturating_add(1).max(0);
            usize::try_from(extent).unwrap_or(usize::MAX)
        })
        .fold(1, usize::saturating_mul)
}

/// Returns `base**exponent` in Fortran's integers, for bounds of arrays: a negative exponent divides, and what
/// is too large is the largest number.
///
/// ```
/// use farfel_runtime::power;
/// assert_eq!(power(2, 10), 1024);
/// assert_eq!(power(2, -1), 0);
/// assert_eq!(power(-1, -3), -1);
/// assert_eq!(power(10, 5_000_000_000), i64::MAX);
/// ```
pub fn power(base: i64, exponent: i64) -> i64 {
    match (base, exponent) {
        (1, _) => 1,
        (-1, n) if n % 2 == 0 => 1,
        (-1, _) => -1,
        // Zero to a negative power ends a Fortran program.
        (0, n) if n < 0 => i64::MAX,
        (_, n) if n < 0 => 0,
        (_, n) => base.saturating_pow(u32::try_from(n).unwrap_or(u32::MAX)),
    }
}

/// Checks that an array argument has at least as many elements as its declaration requires.
///
/// # Errors
///
/// [`Error::Extent`] if `got` is less than [`elements`] of the bounds.
pub fn check_extent(
    function: &'static str,
    argument: &'static str,
    got: usize,
    bounds: &[(i64, i64)],
) -> Result<(), Error> {
    let needed = elements(bounds);
    if got < needed {
        return Err(Error::Extent {
            function,
            argument,
            needed,
            got,
        });
    }
    Ok(())
}

/// The representation of a LOGICAL: an integer of the same size, 0 for false.
pub trait LogicalKind: Copy {
    /// Converts a truth value to its representation.
    fn from_bool(value: bool) -> Self;
    /// Converts a representation to its truth value.
    fn to_bool(self) -> bool;
}

macro_rules! logical_kinds {
    ($($t:ty),*) => {$(
        impl LogicalKind for $t {
            fn from_bool(value: bool) -> Self {
                Self::from(value)
            }
            fn to_bool(self) -> bool {
                self != 0
            }
        }
    )*};
}
logical_kinds!(i8, i16, i32, i64);

/// Converts truth values to a Fortran LOGICAL array.
pub fn to_logicals<L: LogicalKind>(values: &[bool]) -> Vec<L> {
    values.iter().map(|v| L::from_bool(*v)).collect()
}

/// Copies truth values back from a Fortran LOGICAL array.
pub fn from_logicals<L: LogicalKind>(from: &[L], to: &mut [bool]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = from.to_bool();
    }
}

/// Converts a Fortran LOGICAL array to truth values.
pub fn truths<L: LogicalKind>(values: &[L]) -> Vec<bool> {
    values.iter().map(|v| v.to_bool()).collect()
}

/// Copies truth values into a Fortran LOGICAL array.
pub fn into_logicals<L: LogicalKind>(from: &[bool], to: &mut [L]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = L::from_bool(*from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_bounds_saturate() {
        assert_eq!(elements(&[(i64::MIN, i64::MAX), (1, 4)]), usize::MAX);
        assert!(check_extent("f", "x", 10, &[(1, i64::MAX)]).is_err());
        assert!(check_extent("f", "x", 10, &[(0, 9)]).is_ok());
        assert!(check_extent("f", "x", 10, &[(0, 10)]).is_err());
    }

    #[test]
    fn logicals_there_and_back() {
        let there: Vec<i32> = to_logicals(&[true, false, true]);
        assert_eq!(there, [1, 0, 1]);
        let mut back = [false; 3];
        from_logicals(&[0i8, 1, -1], &mut back);
        assert_eq!(back, [false, true, true]);
    }
}
