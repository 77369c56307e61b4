//! The memory of an instance of a library: its COMMON and saved variables.

/// As many bytes as the state of a library has, where all of its variables can lie. For generated code.
///
/// A clone has the same contents.
#[derive(Clone)]
pub struct State {
    /// As the type that wants most of an address, so that all others can lie there.
    memory: Box<[u128]>,
}

impl State {
    /// Zeros. The system has them already: what is never used costs nothing.
    pub fn new(bytes: i64) -> State {
        let bytes = usize::try_from(bytes).unwrap_or(0);
        State {
            memory: vec![0; bytes.div_ceil(size_of::<u128>())].into_boxed_slice(),
        }
    }

    /// The first byte.
    pub fn as_mut_ptr(&mut self) -> *mut i8 {
        self.memory.as_mut_ptr().cast()
    }

    /// What lies behind so many bytes.
    ///
    /// # Safety
    ///
    /// All of a `T` lies there, and its bytes are a `T`, whatever they are.
    #[allow(unsafe_code)]
    pub unsafe fn at<T>(&self, start: i64) -> &T {
        let place = self.place(start, size_of::<T>());
        // SAFETY: what the caller promises; the memory is ours, and has been set.
        unsafe { &*self.memory.as_ptr().cast::<u8>().add(place).cast() }
    }

    /// The same, to change it.
    ///
    /// # Safety
    ///
    /// As for [`State::at`], and whatever a `T` can be may stay there.
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
