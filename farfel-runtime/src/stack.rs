//! How much of a thread's stack is left.

/// Returns the number of bytes of this thread's stack that are left; `None` if that is unknown.
pub(crate) fn left() -> Option<usize> {
    let here = 0_u8;
    let here = std::ptr::from_ref(&here).addr();
    let lowest = lowest()?;
    Some(here.saturating_sub(lowest))
}

/// Returns the lowest address of this thread's stack.
#[cfg(all(target_os = "linux", not(miri)))]
fn lowest() -> Option<usize> {
    thread_local! {
        static LOWEST: Option<usize> = ask();
    }
    LOWEST.with(|lowest| *lowest)
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn lowest() -> Option<usize> {
    None
}

/// Asks the C library for it.
#[cfg(all(target_os = "linux", not(miri)))]
#[allow(unsafe_code)]
fn ask() -> Option<usize> {
    use std::ffi::{c_int, c_void};

    /// At least as large as a `pthread_attr_t` of any C library for Linux.
    #[repr(C, align(16))]
    struct Attributes([u8; 256]);

    unsafe extern "C" {
        fn pthread_self() -> usize;
        fn pthread_getattr_np(thread: usize, attributes: *mut Attributes) -> c_int;
        fn pthread_attr_getstack(
            attributes: *const Attributes,
            address: *mut *mut c_void,
            size: *mut usize,
        ) -> c_int;
        fn pthread_attr_destroy(attributes: *mut Attributes) -> c_int;
    }

    let mut attributes = Attributes([0; 256]);
    let mut address = std::ptr::null_mut();
    let mut size = 0_usize;
    // SAFETY: the first call initialises the attributes, which have enough room; the others get them only then.
    let found = unsafe {
        if pthread_getattr_np(pthread_self(), &raw mut attributes) != 0 {
            return None;
        }
        let found = pthread_attr_getstack(&raw const attributes, &raw mut address, &raw mut size);
        pthread_attr_destroy(&raw mut attributes);
        found
    };
    (found == 0).then(|| address.addr())
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use super::*;

    #[inline(never)]
    fn deeper(levels: usize) -> usize {
        let room = std::hint::black_box([0_u8; 4096]);
        let below = match levels {
            0 => left().unwrap(),
            _ => deeper(levels - 1),
        };
        std::hint::black_box(room);
        below
    }

    #[test]
    fn calls_use_the_stack() {
        let size = 1 << 20;
        let thread = std::thread::Builder::new().stack_size(size);
        let (top, below) = thread
            .spawn(|| (left().unwrap(), deeper(50)))
            .unwrap()
            .join()
            .unwrap();
        // The C library rounds sizes, and uses the upper end itself.
        assert!(top > size / 2 && top < 2 * size, "{top}");
        assert!(top - below >= 50 * 4096, "{top} {below}");
    }
}
