//! Closures that stand for procedures which Fortran code calls. For generated code.
//!
//! Fortran calls a procedure by its address, with nothing besides that a closure could be found
//! by. So the generated functions leave its address in a [`Slot`] of the thread while the call
//! that got it lasts.

use crate::lock::Inside;
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
        let _inside = Inside::new();
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

/// The closure that another one may call while it runs.
///
/// It may do so from within a further call of the same function, which has its own closure in the slot.
#[derive(Debug)]
pub struct Lent {
    slot: &'static LocalKey<Slot>,
    closure: *mut (),
}

impl Lent {
    /// What is in a slot of this thread, for as long as the call lasts that put it there.
    pub fn of(slot: &'static LocalKey<Slot>) -> Lent {
        Lent {
            slot,
            closure: slot.with(|s| s.now.get()),
        }
    }

    /// Has it in its slot while something runs.
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
    /// One variable, which the closure may assign or only read.
    pub fn one<T>(at: *const T, assigned: bool) -> Area {
        Area {
            start: at.addr(),
            bytes: size_of::<T>(),
            assigned,
            open: false,
        }
    }

    /// An array of `count` elements, which the closure may assign or only read. `open`: that is all that
    /// is left of the storage, and other arguments may lie in it.
    ///
    /// # Safety
    ///
    /// `count` must point to an INTEGER*8.
    #[allow(unsafe_code)]
    pub unsafe fn array<T>(at: *const T, count: *const i64, assigned: bool, open: bool) -> Area {
        // SAFETY: what the caller promises.
        let count = usize::try_from(unsafe { *count }).unwrap_or(0);
        Area {
            start: at.addr(),
            bytes: count.saturating_mul(size_of::<T>()),
            assigned,
            open,
        }
    }

    /// How many elements like the one at `_at` there are.
    pub fn count_of<T>(&self, _at: *const T) -> usize {
        self.bytes / size_of::<T>().max(1)
    }

    /// Sees to it that a closure gets no memory twice that it may assign: what is all that is left of
    /// a storage ends where the next argument begins, as in Fortran code that cuts a work array into pieces.
    ///
    /// Ends the call where that is not enough. In Fortran no procedure may assign such, and in Rust none
    /// may even have it.
    ///
    /// # Panics
    ///
    /// With a message that says which closure, for the caller of the function.
    pub fn apart(function: &str, closure: &str, areas: &mut [Area]) {
        for i in 1..areas.len() {
            let (before, rest) = areas.split_at_mut(i);
            let b = &mut rest[0];
            before
                .iter_mut()
                .for_each(|a| Area::part(function, closure, a, b));
        }
    }

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

    /// Gives a variable another value.
    ///
    /// # Safety
    ///
    /// It must be there.
    #[allow(unsafe_code)]
    pub unsafe fn assign<T: Copy>(at: *mut T, value: T) {
        // SAFETY: what the caller promises.
        unsafe { at.write_unaligned(value) }
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

/// The elements of an array that others may reach while a closure has it: of a COMMON block, which the closure may
/// change by a further call.
#[derive(Debug)]
pub struct Copied<T> {
    before: Vec<T>,
    now: Vec<T>,
}

impl<T: Copy + PartialEq> Copied<T> {
    /// A copy of so many elements.
    ///
    /// # Safety
    ///
    /// They must be there.
    #[allow(unsafe_code)]
    pub unsafe fn of(at: *const T, count: usize) -> Copied<T> {
        // SAFETY: what the caller promises.
        let element = |i| unsafe { at.add(i).read_unaligned() };
        let before: Vec<T> = (0..count).map(element).collect();
        Copied {
            now: before.clone(),
            before,
        }
    }

    /// What the closure reads.
    pub fn values(&self) -> &[T] {
        &self.now
    }

    /// What the closure may assign.
    pub fn values_mut(&mut self) -> &mut [T] {
        &mut self.now
    }

    /// Gives the array the elements that are others now. What was changed in another way stays.
    ///
    /// # Safety
    ///
    /// It must be that of which this is the copy.
    #[allow(unsafe_code)]
    pub unsafe fn put_back(&self, at: *mut T) {
        for (i, (now, before)) in self.now.iter().zip(&self.before).enumerate() {
            if now != before {
                // SAFETY: what the caller promises.
                unsafe { at.add(i).write_unaligned(*now) }
            }
        }
    }
}
