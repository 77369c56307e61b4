//! The memory of an instance of a library: its COMMON and saved variables. Without instances, copies of COMMON
//! blocks.

/// The memory for the state of a library, large enough and aligned for all of its variables. For
/// generated code.
///
/// A clone has the same contents.
#[derive(Clone)]
pub struct State {
    /// Elements of the type with the strictest alignment, so that all others fit.
    memory: Box<[u128]>,
}

impl State {
    /// Creates a state of zeros. The system provides zeroed pages, so unused parts cost nothing.
    pub fn new(bytes: i64) -> State {
        let bytes = usize::try_from(bytes).unwrap_or(0);
        State {
            memory: vec![0; bytes.div_ceil(size_of::<u128>())].into_boxed_slice(),
        }
    }

    /// Returns the address of the first byte.
    pub fn as_mut_ptr(&mut self) -> *mut i8 {
        self.memory.as_mut_ptr().cast()
    }

    /// Returns the variable at a byte offset.
    ///
    /// # Safety
    ///
    /// A complete `T` must lie there, and any bytes must be a valid `T`.
    #[allow(unsafe_code)]
    pub unsafe fn at<T>(&self, start: i64) -> &T {
        let place = self.place(start, size_of::<T>());
        // SAFETY: guaranteed by the caller; the memory is owned and initialized.
        unsafe { &*self.memory.as_ptr().cast::<u8>().add(place).cast() }
    }

    /// Returns the variable at a byte offset for modification.
    ///
    /// # Safety
    ///
    /// As for [`State::at`]; in addition, any value of `T` may be stored there.
    #[allow(unsafe_code)]
    pub unsafe fn at_mut<T>(&mut self, start: i64) -> &mut T {
        let place = self.place(start, size_of::<T>());
        // SAFETY: as above.
        unsafe { &mut *self.memory.as_mut_ptr().cast::<u8>().add(place).cast() }
    }

    fn place(&self, start: i64, bytes: usize) -> usize {
        let place = usize::try_from(start).unwrap_or(usize::MAX);
        let end = place.checked_add(bytes);
        assert!(
            end.is_some_and(|end| end <= size_of_val(&*self.memory)),
            "a COMMON block lies outside of the instance"
        );
        place
    }
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bytes = size_of_val(&*self.memory);
        f.debug_struct("State").field("bytes", &bytes).finish()
    }
}

/// Returns a copy of a COMMON block of `bytes` bytes. For generated code.
///
/// # Safety
///
/// The bytes must exist and be a valid `T`, perhaps without padding at its end, and nobody may change them
/// meanwhile.
#[allow(unsafe_code)]
pub unsafe fn common_values<T>(block: *const T, bytes: usize) -> Box<T> {
    // A block may be larger than the stack.
    let mut values = Box::<T>::new_uninit();
    let bytes = bytes.min(size_of::<T>());
    // SAFETY: guaranteed by the caller; a block need not be aligned like a `T`.
    unsafe {
        values
            .as_mut_ptr()
            .cast::<u8>()
            .copy_from_nonoverlapping(block.cast(), bytes);
        values.assume_init()
    }
}

/// Sets a COMMON block of `bytes` bytes. For generated code.
///
/// # Safety
///
/// The bytes must exist, any value of `T` may be stored there, and nobody may use them meanwhile.
#[allow(unsafe_code)]
pub unsafe fn set_common_values<T>(block: *mut T, values: &T, bytes: usize) {
    let bytes = bytes.min(size_of::<T>());
    let values = std::ptr::from_ref(values).cast::<u8>();
    // SAFETY: guaranteed by the caller. Only padding at the end of a `T` may be uninitialized, which is not
    // part of the block.
    unsafe { block.cast::<u8>().copy_from_nonoverlapping(values, bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_aligned_and_zero_and_has_clones() {
        let mut state = State::new(33);
        assert_eq!(state.memory.len(), 3);
        assert_eq!(state.as_mut_ptr().addr() % 16, 0);
        assert!(state.memory.iter().all(|m| *m == 0));
        let copy = state.clone();
        state.memory[1] = 7;
        assert_eq!(copy.memory[1], 0);
        assert_eq!(format!("{copy:?}"), "State { bytes: 48 }");
        assert_eq!(State::new(0).memory.len(), 0);
        assert_eq!(State::new(-1).memory.len(), 0);
    }
}
