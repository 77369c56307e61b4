//! Closures that stand for procedures which Fortran code calls. For generated code.
//!
//! Fortran calls a procedure by its address, with nothing besides that a closure could be found
//! by. So the generated functions leave its address in a [`Slot`] of the thread while the call
//! that got it lasts.

use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::size_of;
use std::ptr;
use std::thread::LocalKey;

/// Where the closure is that stands for a dummy procedure, in the innermost call that is under
/// way in a thread.
///
/// Calls end in the reverse order of their beginning, also where STOP or a panic ends them, so
/// Fortran code that is running always finds the closure that it was given. While a closure runs,
/// its slot is empty: nothing can call it a second time meanwhile.
#[derive(Debug)]
pub struct Slot {
    now: Cell<*mut ()>,
}

impl Default for Slot {
    fn default() -> Self {
        Self::new()
    }
}

impl Slot {
    /// An empty one.
    pub const fn new() -> Self {
        Slot {
            now: Cell::new(ptr::null_mut()),
        }
    }

    /// Runs what needs the closure in a slot.
    ///
    /// Ends the process with a message where there is none: Fortran code has then called the
    /// procedure in a thread of its own (OpenMP), and there is no way back from there.
    ///
    /// # Safety
    ///
    /// The slot must have been filled by [`Given::new`] with an `F`.
    #[allow(unsafe_code)]
    pub unsafe fn with<F, R>(slot: &'static LocalKey<Slot>, run: impl FnOnce(&mut F) -> R) -> R {
        struct Back(&'static LocalKey<Slot>, *mut ());
        impl Drop for Back {
            fn drop(&mut self) {
                self.0.with(|s| s.now.set(self.1));
            }
        }
        let closure = slot.with(|s| s.now.replace(ptr::null_mut()));
        if closure.is_null() {
            use std::io::Write as _;
            // Nothing can be done where standard error is closed.
            let _ = writeln!(
                std::io::stderr(),
                "farfel: Fortran code called a closure in another thread than the one that gave it"
            );
            std::process::abort();
        }
        let _back = Back(slot, closure);
        // SAFETY: the closure is an F, lives until its Given is dropped, and nobody else has it:
        // the slot is empty meanwhile.
        run(unsafe { &mut *closure.cast::<F>() })
    }
}

/// Has a closure in a [`Slot`] until it is dropped.
#[derive(Debug)]
pub struct Given<'a> {
    slot: &'static LocalKey<Slot>,
    before: *mut (),
    closure: PhantomData<&'a mut ()>,
}

impl<'a> Given<'a> {
    /// Puts a closure into a slot of this thread.
    #[must_use = "the closure is taken out when this is dropped"]
    pub fn new<F>(slot: &'static LocalKey<Slot>, closure: &'a mut F) -> Given<'a> {
        let closure = ptr::from_mut(closure).cast();
        Given {
            slot,
            before: slot.with(|s| s.now.replace(closure)),
            closure: PhantomData,
        }
    }
}

impl Drop for Given<'_> {
    fn drop(&mut self) {
        self.slot.with(|s| s.now.set(self.before));
    }
}

/// Memory that Fortran code passes to a closure.
#[derive(Debug, Clone, Copy)]
pub struct Area {
    start: usize,
    bytes: usize,
    assigned: bool,
}

impl Area {
    /// That of `count` elements, which the closure may assign or only read.
    pub fn of<T>(at: *const T, count: usize, assigned: bool) -> Area {
        Area {
            start: at.addr(),
            bytes: count.saturating_mul(size_of::<T>()),
            assigned,
        }
    }

    /// Ends the call where a closure would get memory twice that it may assign: in Fortran no
    /// procedure may assign such, and in Rust none may even have it.
    ///
    /// # Panics
    ///
    /// With a message that says which closure, for the caller of the function.
    pub fn apart(function: &str, closure: &str, areas: &[Area]) {
        let end = |a: &Area| a.start.saturating_add(a.bytes);
        let meet =
            |a: &Area, b: &Area| a.bytes > 0 && b.bytes > 0 && a.start < end(b) && b.start < end(a);
        for (i, a) in areas.iter().enumerate() {
            for b in &areas[..i] {
                assert!(
                    !((a.assigned || b.assigned) && meet(a, b)),
                    "{function}: the Fortran code passes one variable twice to `{closure}`"
                );
            }
        }
    }

    /// A value.
    ///
    /// # Safety
    ///
    /// There must be one.
    #[allow(unsafe_code)]
    pub unsafe fn value<T: Copy>(at: *const T) -> T {
        // SAFETY: what the caller promises. In COMMON and EQUIVALENCE it may stand anywhere.
        unsafe { at.read_unaligned() }
    }

    /// An array that the closure reads.
    ///
    /// # Safety
    ///
    /// There must be as many elements, and nobody may change them while the slice is there.
    ///
    /// # Panics
    ///
    /// The array begins at an address that Rust does not allow.
    #[allow(unsafe_code)]
    pub unsafe fn shared<'a, T>(
        function: &str,
        closure: &str,
        at: *const T,
        count: usize,
    ) -> &'a [T] {
        if count == 0 {
            return &[];
        }
        Self::check(function, closure, at, count);
        // SAFETY: what the caller promises, and what was checked.
        unsafe { std::slice::from_raw_parts(at, count) }
    }

    /// An array that the closure may assign.
    ///
    /// # Safety
    ///
    /// There must be as many elements, and nobody else may use them while the slice is there.
    ///
    /// # Panics
    ///
    /// The array begins at an address that Rust does not allow.
    #[allow(unsafe_code)]
    pub unsafe fn exclusive<'a, T>(
        function: &str,
        closure: &str,
        at: *mut T,
        count: usize,
    ) -> &'a mut [T] {
        if count == 0 {
            return &mut [];
        }
        Self::check(function, closure, at, count);
        // SAFETY: what the caller promises, and what was checked.
        unsafe { std::slice::from_raw_parts_mut(at, count) }
    }

    fn check<T>(function: &str, closure: &str, at: *const T, count: usize) {
        let bytes = count.checked_mul(size_of::<T>());
        let small = bytes.is_some_and(|b| isize::try_from(b).is_ok());
        assert!(
            !at.is_null() && at.is_aligned() && small,
            "{function}: an array that the Fortran code passes to `{closure}` cannot be a slice"
        );
    }
}

#[cfg(test)]
#[allow(unsafe_code)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

    thread_local!(static SLOT: Slot = const { Slot::new() });

    /// What Fortran code gets, and calls.
    fn entry<F: FnMut(i32) -> i32>(_: &F) -> fn(i32) -> i32 {
        // SAFETY: the slot is filled with an F.
        |x| unsafe { Slot::with::<F, _>(&SLOT, |f| f(x)) }
    }

    /// What stands for the Fortran code: it calls the procedure with 1, 2 and 3.
    fn sum<F: FnMut(i32) -> i32>(mut f: F) -> i32 {
        let code = entry(&f);
        let _given = Given::new(&SLOT, &mut f);
        (1..=3).map(code).sum()
    }

    #[test]
    fn calls_in_calls_find_their_own_closures() {
        let mut seen = Vec::new();
        let total = sum(|x| {
            seen.push(x);
            let inner = sum(|y| 10 * x + y);
            let failed = catch_unwind(AssertUnwindSafe(|| {
                sum(|y| {
                    if y == 2 {
                        resume_unwind(Box::new(y))
                    } else {
                        y
                    }
                })
            }));
            assert_eq!(*failed.unwrap_err().downcast::<i32>().unwrap(), 2);
            inner
        });
        assert_eq!((total, seen), (36 + 66 + 96, vec![1, 2, 3]));
    }

    #[test]
    fn one_variable_cannot_be_passed_twice() {
        let x = [0.0, 1.0, 2.0];
        let area = |from: usize, count, assigned| Area::of(&raw const x[from], count, assigned);
        Area::apart("f", "g", &[area(0, 2, true), area(2, 1, true)]);
        Area::apart("f", "g", &[area(0, 3, false), area(1, 1, false)]);
        Area::apart("f", "g", &[area(0, 3, true), area(1, 0, false)]);
        let twice = catch_unwind(|| {
            Area::apart("f", "g", &[area(0, 2, true), area(1, 1, false)]);
        });
        let message = *twice.unwrap_err().downcast::<String>().unwrap();
        assert_eq!(
            message,
            "f: the Fortran code passes one variable twice to `g`"
        );
    }
}
