//! Arrays with three or more dimensions, in Fortran's column-major order: [`Array`] and [`ArrayMut`]
//! borrow their elements, [`OwnedArray`] owns them. Those with two dimensions are a
//! [`Matrix`](crate::Matrix), which may have gaps between columns.
//!
//! The feature `ndarray` adds conversions from and to the arrays of this crate.

use crate::Error;
use std::ops::{Index, IndexMut};

/// A read-only array with `N` dimensions: a slice with extents. The order is column-major, so
/// element (i, j, k), counted from 0, is `data[i + extents[0]*(j + extents[1]*k)]`.
///
/// ```
/// use farfel_runtime::Array;
/// let data: Vec<f64> = (0..24).map(f64::from).collect();
/// let a = Array::new(&data, [2, 3, 4])?;
/// assert_eq!((a.extents(), a[[1, 0, 0]], a[[0, 0, 1]]), ([2, 3, 4], 1.0, 6.0));
/// # Ok::<(), farfel_runtime::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Array<'a, T, const N: usize> {
    data: &'a [T],
    extents: [usize; N],
}

/// A mutable array with `N` dimensions; see [`Array`].
///
/// ```
/// use farfel_runtime::ArrayMut;
/// let mut data = vec![0.0; 24];
/// let mut a = ArrayMut::new(&mut data, [2, 3, 4])?;
/// a[[1, 2, 3]] = 7.0;
/// assert_eq!(data[23], 7.0);
/// # Ok::<(), farfel_runtime::Error>(())
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct ArrayMut<'a, T, const N: usize> {
    data: &'a mut [T],
    extents: [usize; N],
}

/// An array with `N` dimensions that owns its elements, as functions return it; see [`Array`].
///
/// ```
/// use farfel_runtime::OwnedArray;
/// let mut a = OwnedArray::new(vec![0; 8], [2, 2, 2])?;
/// a[[0, 1, 1]] = 5;
/// assert_eq!(a.view()[[0, 1, 1]], 5);
/// assert_eq!(a.into_vec(), [0, 0, 0, 0, 0, 0, 5, 0]);
/// # Ok::<(), farfel_runtime::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedArray<T, const N: usize> {
    data: Vec<T>,
    extents: [usize; N],
}

/// Checks that an array has as many elements as its extents say.
fn check(function: &'static str, got: usize, extents: &[usize]) -> Result<(), Error> {
    let needed = extents.iter().copied().fold(1, usize::saturating_mul);
    match got == needed {
        true => Ok(()),
        false => Err(Error::Shape {
            function,
            argument: "data",
            what: "elements",
            got,
            wanted: format!("{needed}, for the extents {extents:?}"),
        }),
    }
}

/// Returns the offset of an element. Panics if it is out of range, as slices do.
fn offset<const N: usize>(extents: [usize; N], at: [usize; N]) -> usize {
    assert!(
        extents.iter().zip(&at).all(|(extent, i)| i < extent),
        "there is no element {at:?} in an array with the extents {extents:?}"
    );
    let both = extents.iter().zip(&at).rev();
    both.fold(0, |offset, (extent, i)| offset * extent + i)
}

macro_rules! methods {
    ($name:ident<$($lifetime:lifetime,)? T>) => {
        impl<T, const N: usize> $name<$($lifetime,)? T, N> {
            /// Returns the extents: the number of elements in each dimension.
            pub fn extents(&self) -> [usize; N] {
                self.extents
            }
        }

        impl<T, const N: usize> Index<[usize; N]> for $name<$($lifetime,)? T, N> {
            type Output = T;

            fn index(&self, at: [usize; N]) -> &T {
                &self.data[offset(self.extents, at)]
            }
        }
    };
}
methods!(Array<'_, T>);
methods!(ArrayMut<'_, T>);
methods!(OwnedArray<T>);

impl<T, const N: usize> IndexMut<[usize; N]> for ArrayMut<'_, T, N> {
    fn index_mut(&mut self, at: [usize; N]) -> &mut T {
        &mut self.data[offset(self.extents, at)]
    }
}

impl<T, const N: usize> IndexMut<[usize; N]> for OwnedArray<T, N> {
    fn index_mut(&mut self, at: [usize; N]) -> &mut T {
        &mut self.data[offset(self.extents, at)]
    }
}

impl<'a, T, const N: usize> Array<'a, T, N> {
    /// Creates an array from its elements, in Fortran's order.
    ///
    /// # Errors
    ///
    /// [`Error::Shape`] if the number of elements does not match the extents.
    pub fn new(data: &'a [T], extents: [usize; N]) -> Result<Self, Error> {
        check("Array::new", data.len(), &extents)?;
        Ok(Array { data, extents })
    }

    /// Returns all elements, in Fortran's order.
    pub fn data(self) -> &'a [T] {
        self.data
    }
}

impl<'a, T, const N: usize> ArrayMut<'a, T, N> {
    /// Creates an array from its elements, in Fortran's order.
    ///
    /// # Errors
    ///
    /// [`Error::Shape`] if the number of elements does not match the extents.
    pub fn new(data: &'a mut [T], extents: [usize; N]) -> Result<Self, Error> {
        check("ArrayMut::new", data.len(), &extents)?;
        Ok(ArrayMut { data, extents })
    }

    /// Reborrows the array for a shorter lifetime, so that it can be used again afterwards.
    pub fn reborrow(&mut self) -> ArrayMut<'_, T, N> {
        ArrayMut {
            data: self.data,
            extents: self.extents,
        }
    }

    /// Returns all elements, in Fortran's order.
    pub fn data(self) -> &'a mut [T] {
        self.data
    }
}

impl<T, const N: usize> OwnedArray<T, N> {
    /// Creates an array from its elements, in Fortran's order.
    ///
    /// # Errors
    ///
    /// [`Error::Shape`] if the number of elements does not match the extents.
    pub fn new(data: Vec<T>, extents: [usize; N]) -> Result<Self, Error> {
        let function = "OwnedArray::new";
        check(function, data.len(), &extents)?;
        // Only an array without elements can be larger; `ndarray` does not accept that.
        let bytes = extents.iter().map(|e| (*e).max(1));
        let bytes = bytes.fold(size_of::<T>().max(1), usize::saturating_mul);
        if isize::try_from(bytes).is_err() {
            return Err(Error::Shape {
                function,
                argument: "data",
                what: "elements",
                got: data.len(),
                wanted: format!("smaller extents than {extents:?}"),
            });
        }
        Ok(OwnedArray { data, extents })
    }

    /// Borrows the array, as an argument of a function.
    pub fn view(&self) -> Array<'_, T, N> {
        Array {
            data: &self.data,
            extents: self.extents,
        }
    }

    /// Borrows the array mutably, as an argument of a function that changes it.
    pub fn view_mut(&mut self) -> ArrayMut<'_, T, N> {
        ArrayMut {
            data: &mut self.data,
            extents: self.extents,
        }
    }

    /// Returns all elements, in Fortran's order.
    pub fn as_slice(&self) -> &[T] {
        &self.data
    }

    /// Returns all elements mutably, in Fortran's order.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.data
    }

    /// Returns all elements, in Fortran's order, without a copy.
    pub fn into_vec(self) -> Vec<T> {
        self.data
    }
}

impl<'a, T, const N: usize> From<&'a OwnedArray<T, N>> for Array<'a, T, N> {
    fn from(array: &'a OwnedArray<T, N>) -> Self {
        array.view()
    }
}

impl<'a, T, const N: usize> From<&'a mut OwnedArray<T, N>> for ArrayMut<'a, T, N> {
    fn from(array: &'a mut OwnedArray<T, N>) -> Self {
        array.view_mut()
    }
}

/// Conversions from column-major `ndarray` arrays, such as `Array3::zeros((l, m, n).f())`, without a
/// copy.
#[cfg(feature = "ndarray")]
mod with_ndarray {
    use super::{Array, ArrayMut, Error, OwnedArray};
    use ndarray::{ArrayBase, Data, DataMut, Dim, Dimension, OwnedRepr, ShapeBuilder};

    /// Without a copy. The array is column-major, as `Array3::zeros((l, m, n).f())` is.
    impl<T, const N: usize> From<OwnedArray<T, N>> for ArrayBase<OwnedRepr<T>, Dim<[usize; N]>>
    where
        Dim<[usize; N]>: Dimension,
    {
        fn from(array: OwnedArray<T, N>) -> Self {
            let mut shape = Dim::<[usize; N]>::zeros(N);
            shape.slice_mut().copy_from_slice(&array.extents);
            let made = ArrayBase::from_shape_vec(shape.f(), array.into_vec());
            // `ndarray` asks for no more than what `OwnedArray::new` checks.
            made.unwrap_or_else(|e| unreachable!("an array with extents that it cannot have: {e}"))
        }
    }

    /// Returns the extents of an array, and an error that says why its layout does not suit Fortran, for the
    /// case that it does not.
    fn layout<const N: usize>(
        function: &'static str,
        shape: &[usize],
        strides: &[isize],
    ) -> ([usize; N], Error) {
        let mut extents = [0; N];
        extents.copy_from_slice(shape);
        let mut wanted: usize = 1;
        let mut got = 1;
        for (extent, stride) in shape.iter().zip(strides) {
            got = stride.unsigned_abs();
            if *extent > 1 && *stride != wanted.cast_signed() {
                break;
            }
            wanted = wanted.saturating_mul(*extent);
        }
        let error = Error::Shape {
            function,
            argument: "array",
            what: "elements between neighbours in a dimension",
            got,
            wanted: format!(
                "{wanted}, as Fortran has: make it with `.f()`, as `Array3::zeros((l, m, n).f())`"
            ),
        };
        (extents, error)
    }

    impl<'a, T, S, const N: usize> TryFrom<&'a ArrayBase<S, Dim<[usize; N]>>> for Array<'a, T, N>
    where
        S: Data<Elem = T>,
        Dim<[usize; N]>: Dimension,
    {
        type Error = Error;

        fn try_from(array: &'a ArrayBase<S, Dim<[usize; N]>>) -> Result<Self, Error> {
            let (extents, error) = layout("Array::try_from", array.shape(), array.strides());
            match array.view().reversed_axes().to_slice() {
                Some(data) => Array::new(data, extents),
                None => Err(error),
            }
        }
    }

    impl<'a, T, S, const N: usize> TryFrom<&'a mut ArrayBase<S, Dim<[usize; N]>>> for ArrayMut<'a, T, N>
    where
        S: DataMut<Elem = T>,
        Dim<[usize; N]>: Dimension,
    {
        type Error = Error;

        fn try_from(array: &'a mut ArrayBase<S, Dim<[usize; N]>>) -> Result<Self, Error> {
            let (extents, error) = layout("ArrayMut::try_from", array.shape(), array.strides());
            match array.view_mut().reversed_axes().into_slice() {
                Some(data) => ArrayMut::new(data, extents),
                None => Err(error),
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use ndarray::{Array3, Array4, s};

        #[test]
        fn column_major_arrays_are_lent() {
            let mut a = Array3::<f64>::zeros((2, 3, 4).f());
            ArrayMut::try_from(&mut a).unwrap()[[1, 2, 3]] = 5.0;
            assert_eq!(a[(1, 2, 3)], 5.0);
            let view = Array::try_from(&a).unwrap();
            assert_eq!((view.extents(), view[[1, 2, 3]]), ([2, 3, 4], 5.0));
            assert!(Array::try_from(&a.slice(s![.., .., 1..])).is_ok());
            assert!(Array::try_from(&Array4::<f64>::zeros((1, 1, 1, 3))).is_ok());
            assert!(Array::try_from(&Array3::<f64>::zeros((0, 3, 2))).is_ok());
        }

        #[test]
        fn owned_ones_become_arrays() {
            let own = OwnedArray::new((0..24).collect(), [2, 3, 4]).unwrap();
            let address = own.as_slice().as_ptr();
            let a = Array3::from(own);
            assert_eq!((a[(1, 0, 0)], a[(0, 1, 0)], a[(0, 0, 1)]), (1, 2, 6));
            assert_eq!((a.as_ptr(), a.strides()), (address, &[1, 2, 6][..]));
            for shape in [[0, 3, 2], [3, 0, 0], [usize::MAX >> 5, 2, 0]] {
                let own = OwnedArray::<f64, 3>::new(vec![], shape).unwrap();
                assert_eq!(Array3::from(own).shape(), shape);
            }
        }

        #[test]
        fn what_fortran_would_read_otherwise() {
            let rows = Array3::<f64>::zeros((2, 3, 4));
            assert_eq!(
                Array::try_from(&rows).unwrap_err().to_string(),
                "Array::try_from: argument `array` has 12 elements between neighbours in a dimension, and must have 1, as \
                 Fortran has: make it with `.f()`, as `Array3::zeros((l, m, n).f())`"
            );
            let mut a = Array3::<f64>::zeros((4, 3, 2).f());
            let mut part = a.slice_mut(s![.., ..2, ..]);
            let error = ArrayMut::try_from(&mut part).unwrap_err().to_string();
            assert!(
                error.contains("has 12 elements") && error.contains("must have 8"),
                "{error}"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_subscript_counts_fastest() {
        let data: Vec<usize> = (0..120).collect();
        let a = Array::new(&data, [2, 3, 4, 5]).unwrap();
        for (l, k, j, i) in (0..5)
            .flat_map(|l| (0..4).map(move |k| (l, k)))
            .flat_map(|(l, k)| (0..3).map(move |j| (l, k, j)))
            .flat_map(|(l, k, j)| (0..2).map(move |i| (l, k, j, i)))
        {
            assert_eq!(a[[i, j, k, l]], i + 2 * j + 6 * k + 24 * l);
        }
        let mut data = data;
        let mut b = ArrayMut::new(&mut data, [5, 4, 6]).unwrap();
        b.reborrow()[[4, 3, 5]] = 7;
        assert_eq!((b[[4, 3, 5]], b.data()[119]), (7, 7));
    }

    #[test]
    fn an_array_owns_its_elements() {
        let mut a = OwnedArray::new((0..8).collect(), [2, 2, 2]).unwrap();
        a.view_mut()[[1, 0, 1]] = 9;
        ArrayMut::from(&mut a)[[0, 0, 1]] = 8;
        assert_eq!((a.view()[[1, 0, 1]], Array::from(&a)[[0, 0, 1]]), (9, 8));
        a.as_mut_slice()[0] = 7;
        assert_eq!(a.as_slice(), [7, 1, 2, 3, 8, 9, 6, 7]);
        assert_eq!(a.clone().into_vec().len(), 8);
        for at in [[2, 0, 0], [0, 2, 0], [0, 0, 2]] {
            assert!(std::panic::catch_unwind(|| a[at]).is_err());
        }
    }

    #[test]
    fn what_has_no_such_extents() {
        let short = Array::new(&[1, 2, 3], [2, 2, 2]).unwrap_err();
        assert_eq!(
            short.to_string(),
            "Array::new: argument `data` has 3 elements, and must have 8, for the extents [2, 2, 2]"
        );
        assert!(ArrayMut::new(&mut [0u8; 9], [2, 2, 2]).is_err());
        assert!(Array::new(&[0u8; 4], [usize::MAX, usize::MAX, 2]).is_err());
        let none = [usize::MAX, usize::MAX, 0];
        let empty = Array::<f64, 3>::new(&[], none).unwrap();
        assert!(std::panic::catch_unwind(|| empty[[1, 1, 0]]).is_err());
        assert!(OwnedArray::<f64, 3>::new(vec![], none).is_err());
    }
}
