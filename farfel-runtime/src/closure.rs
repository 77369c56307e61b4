//! Closures passed for the dummy procedures of Fortran code. For generated code.
//!
//! Fortran calls a procedure through a bare address, with no context pointer through which to find
//! a closure. The generated functions therefore keep the closure's address in a [`Slot`] of the
//! thread for the duration of the call that received it.

use crate::lock::ClosureRunning;
use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::size_of;
use std::ptr;
use std::thread::LocalKey;

/// The address of the closure passed for a dummy procedure, in the innermost call in progress on a
/// thread.
///
/// Calls end in the reverse order of their start, even if STOP or a panic ends them, so running
/// Fortran code always finds the closure that was passed to it. While a closure runs, its slot is
/// empty, so it cannot be called a second time meanwhile.
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
    /// Creates an empty slot.
    pub const fn new() -> Self {
        Slot {
            now: Cell::new(ptr::null_mut()),
        }
    }

    /// Runs a function with the closure in a slot.
    ///
    /// Ends the process with a message if the slot is empty: Fortran code has then called the
    /// procedure on a thread of its own (OpenMP), from which there is no way back.
    ///
    /// # Safety
    ///
    /// The slot must have been filled by [`Given::new`] with an `F`.
    #[allow(unsafe_code)]
    #[inline]
    pub unsafe fn with<F, R>(slot: &'static LocalKey<Slot>, run: impl FnOnce(&mut F) -> R) -> R {
        struct Back(&'static LocalKey<Slot>, *mut ());
        impl Drop for Back {
            #[inline]
            fn drop(&mut self) {
                self.0.with(|s| s.now.set(self.1));
            }
        }
        let closure = slot.with(|s| s.now.replace(ptr::null_mut()));
        if closure.is_null() {
            empty();
        }
        let _back = Back(slot, closure);
        let _closure_running = ClosureRunning::new();
        // SAFETY: the closure is an F and lives until its Given is dropped, and nobody else can
        // reach it, since the slot is empty meanwhile.
        run(unsafe { &mut *closure.cast::<F>() })
    }
}

/// Ends the process, because Fortran code has called a closure that its thread does not have.
#[cold]
fn empty() -> ! {
    use std::io::Write as _;
    // If standard error is closed, there is nothing to be done.
    let _ = writeln!(
        std::io::stderr(),
        "farfel: Fortran code called a closure in another thread than the one that gave it"
    );
    std::process::abort()
}

/// Keeps a closure in a [`Slot`] until it is dropped.
#[derive(Debug)]
pub struct Given<'a> {
    slot: &'static LocalKey<Slot>,
    before: *mut (),
    closure: PhantomData<&'a mut ()>,
}

impl<'a> Given<'a> {
    /// Puts a closure into a slot of this thread.
    #[must_use = "the closure is taken out when this is dropped"]
    #[inline]
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
    #[inline]
    fn drop(&mut self) {
        self.slot.with(|s| s.now.set(self.before));
    }
}

/// A closure that another closure may call while it runs.
///
/// The other closure may run within a further call of the same function, which has its own closure
/// in the slot.
#[derive(Debug)]
pub struct Lent {
    slot: &'static LocalKey<Slot>,
    closure: *mut (),
}

impl Lent {
    /// Returns the content of a slot of this thread. It is valid for the duration of the call that
    /// put it there.
    #[inline]
    pub fn of(slot: &'static LocalKey<Slot>) -> Lent {
        Lent {
            slot,
            closure: slot.with(|s| s.now.get()),
        }
    }

    /// Puts the closure into its slot while `run` runs.
    #[inline]
    pub fn during<R>(&self, run: impl FnOnce() -> R) -> R {
        let _back = Given {
            slot: self.slot,
            before: self.slot.with(|s| s.now.replace(self.closure)),
            closure: PhantomData,
        };
        run()
    }
}

/// Memory that Fortran code passes to a closure.
#[derive(Debug, Clone, Copy)]
pub struct Area {
    start: usize,
    bytes: usize,
    assigned: bool,
    open: bool,
}

impl Area {
    /// A single variable. `assigned`: the closure may assign it.
    #[inline]
    pub fn one<T>(at: *const T, assigned: bool) -> Area {
        Area {
            start: at.addr(),
            bytes: size_of::<T>(),
            assigned,
            open: false,
        }
    }

    /// An array of `count` elements. `assigned`: the closure may assign it. `open`: the array
    /// extends to the end of its storage, in which other arguments may lie.
    ///
    /// # Safety
    ///
    /// `count` must point to an INTEGER*8.
    #[allow(unsafe_code)]
    #[inline]
    pub unsafe fn array<T>(at: *const T, count: *const i64, assigned: bool, open: bool) -> Area {
        // SAFETY: guaranteed by the caller.
        let count = usize::try_from(unsafe { *count }).unwrap_or(0);
        Area {
            start: at.addr(),
            bytes: count.saturating_mul(size_of::<T>()),
            assigned,
            open,
        }
    }

    /// Returns the number of elements of the type of `_at` in the area.
    #[inline]
    pub fn count_of<T>(&self, _at: *const T) -> usize {
        self.bytes / size_of::<T>().max(1)
    }

    /// Ensures that a closure gets no memory twice if it may assign it. An array that extends to
    /// the end of its storage is cut off where the next argument begins, as in Fortran code that
    /// divides a work array into pieces.
    ///
    /// Panics where that does not suffice. In Fortran no procedure may assign aliased arguments,
    /// and in Rust aliased mutable references must not even exist.
    ///
    /// # Panics
    ///
    /// If areas still overlap, with a message for the caller of the function that names the
    /// closure.
    #[inline]
    pub fn apart(function: &str, closure: &str, areas: &mut [Area]) {
        for i in 1..areas.len() {
            let (before, rest) = areas.split_at_mut(i);
            let b = &mut rest[0];
            before
                .iter_mut()
                .for_each(|a| Area::part(function, closure, a, b));
        }
    }

    #[inline]
    fn part(function: &str, closure: &str, a: &mut Area, b: &mut Area) {
        let end = |a: &Area| a.start.saturating_add(a.bytes);
        let meet = a.bytes > 0 && b.bytes > 0 && a.start < end(b) && b.start < end(a);
        if !meet || !(a.assigned || b.assigned) {
            return;
        }
        let (first, second) = if a.start < b.start { (a, b) } else { (b, a) };
        assert!(
            first.open && first.start < second.start,
            "{function}: the Fortran code passes one variable twice to `{closure}`"
        );
        first.bytes = second.start - first.start;
    }

    /// Reads a value.
    ///
    /// # Safety
    ///
    /// The address must be that of a value of this type.
    #[allow(unsafe_code)]
    #[inline]
    pub unsafe fn value<T: Copy>(at: *const T) -> T {
        // SAFETY: guaranteed by the caller. In COMMON and EQUIVALENCE it may be unaligned.
        unsafe { at.read_unaligned() }
    }

    /// Assigns a value to a variable.
    ///
    /// # Safety
    ///
    /// The address must be that of a variable of this type.
    #[allow(unsafe_code)]
    #[inline]
    pub unsafe fn assign<T: Copy>(at: *mut T, value: T) {
        // SAFETY: guaranteed by the caller.
        unsafe { at.write_unaligned(value) }
    }

    /// Returns an array that the closure reads.
    ///
    /// # Safety
    ///
    /// The array must have that many elements, and nobody may change them during the lifetime of
    /// the slice.
    ///
    /// # Panics
    ///
    /// If the address of the array is not aligned as Rust requires.
    #[allow(unsafe_code)]
    #[inline]
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
        // SAFETY: guaranteed by the caller, and by the check above.
        unsafe { std::slice::from_raw_parts(at, count) }
    }

    /// Returns an array that the closure may assign.
    ///
    /// # Safety
    ///
    /// The array must have that many elements, and nobody else may use them during the lifetime of
    /// the slice.
    ///
    /// # Panics
    ///
    /// If the address of the array is not aligned as Rust requires.
    #[allow(unsafe_code)]
    #[inline]
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
        // SAFETY: guaranteed by the caller, and by the check above.
        unsafe { std::slice::from_raw_parts_mut(at, count) }
    }

    #[inline]
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
        let area = |from: usize, count: i64, assigned, open| {
            // SAFETY: a number.
            unsafe { Area::array(&raw const x[from], &raw const count, assigned, open) }
        };
        let counts = |mut areas: [Area; 2]| {
            Area::apart("f", "g", &mut areas);
            areas.map(|a| a.count_of::<f64>(&raw const x[0]))
        };
        let apart = counts([area(0, 2, true, false), area(2, 1, true, false)]);
        assert_eq!(apart, [2, 1]);
        let read = counts([area(0, 3, false, true), area(1, 1, false, false)]);
        assert_eq!(read, [3, 1]);
        let empty = counts([area(0, 3, true, false), area(1, 0, false, false)]);
        assert_eq!(empty, [3, 0]);
        assert_eq!(
            counts([area(0, -1, true, false), area(0, 3, true, true)]),
            [0, 3]
        );
        // What is all that is left ends where the next one begins.
        assert_eq!(
            counts([area(0, 3, true, true), area(1, 2, true, true)]),
            [1, 2]
        );
        assert_eq!(
            counts([area(2, 1, false, false), area(0, 3, true, true)]),
            [1, 2]
        );
        let one = Area::one(&raw const x[1], true);
        assert_eq!(counts([area(0, 3, false, true), one]), [1, 1]);
        for twice in [
            [area(0, 2, true, false), area(1, 1, false, false)],
            [area(1, 2, true, true), area(0, 3, false, false)],
            [area(0, 3, true, true), area(0, 3, false, true)],
            [one, area(1, 2, false, true)],
        ] {
            let ended = catch_unwind(|| counts(twice));
            let message = *ended.unwrap_err().downcast::<String>().unwrap();
            assert_eq!(
                message,
                "f: the Fortran code passes one variable twice to `g`"
            );
        }
    }
}

/// A copy of an array that can be reached by other means while a closure has it, such as an array
/// in COMMON that the closure may change through a further call.
#[derive(Debug)]
pub struct Copied<T> {
    before: Vec<T>,
    now: Vec<T>,
}

impl Copied<u8> {
    /// Copies a CHARACTER of `length` bytes.
    ///
    /// # Safety
    ///
    /// The bytes must exist, and `length` must point to an INTEGER*8.
    #[allow(unsafe_code)]
    pub unsafe fn text(at: *const u8, length: *const i64) -> Copied<u8> {
        // SAFETY: guaranteed by the caller.
        let length = usize::try_from(unsafe { length.read_unaligned() }).unwrap_or(0);
        // SAFETY: guaranteed by the caller.
        unsafe { Copied::of(at, length) }
    }
}

impl<T: Copy + PartialEq> Copied<T> {
    /// Copies `count` elements.
    ///
    /// # Safety
    ///
    /// The elements must exist.
    #[allow(unsafe_code)]
    pub unsafe fn of(at: *const T, count: usize) -> Copied<T> {
        // SAFETY: guaranteed by the caller.
        let element = |i| unsafe { at.add(i).read_unaligned() };
        let before: Vec<T> = (0..count).map(element).collect();
        Copied {
            now: before.clone(),
            before,
        }
    }

    /// Returns the elements for the closure to read.
    pub fn values(&self) -> &[T] {
        &self.now
    }

    /// Returns the elements for the closure to assign.
    pub fn values_mut(&mut self) -> &mut [T] {
        &mut self.now
    }

    /// Writes the changed elements back to the array. Other elements are not written, so changes
    /// made to them by other means are kept.
    ///
    /// # Safety
    ///
    /// `at` must be the array that was copied.
    #[allow(unsafe_code)]
    pub unsafe fn put_back(&self, at: *mut T) {
        for (i, (now, before)) in self.now.iter().zip(&self.before).enumerate() {
            if now != before {
                // SAFETY: guaranteed by the caller.
                unsafe { at.add(i).write_unaligned(*now) }
            }
        }
    }
}
