//! What the C interface of a library needs: `farfel export` generates one function for C for each Rust
//! function, and these functions call what is here.
//!
//! A call from C has the guarantees of a call from Rust, as far as C allows: NULL, arrays that overlap and
//! texts that are not UTF-8 are errors, and nothing unwinds into C. A call returns a number, and the message
//! is kept for the thread until its next call.

use crate::Error;
use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, TryLockError};

/// The reason why a call from C failed.
#[derive(Debug)]
pub enum Failure {
    /// An error of the Rust function.
    Error(Error),
    /// An argument that only C can pass, with the message.
    Argument(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Error(error)
    }
}

/// The names of the results, in the order of their numbers: 0 is success.
pub const RESULTS: [&str; 15] = [
    "OK",
    "ARGUMENT",
    "EXTENT",
    "BOUNDS",
    "STOP",
    "PAUSE",
    "IO",
    "MEMORY",
    "DIVISION_BY_ZERO",
    "ZERO_STEP",
    "FLOAT",
    "BUSY",
    "CALLBACK",
    "STATUS",
    "PANIC",
];

/// The last error of a thread.
#[derive(Debug, Default)]
struct LastError {
    message: CString,
    file: CString,
    line: c_int,
    code: c_int,
}

thread_local! {
    static LAST: RefCell<LastError> = RefCell::default();
}

/// The payload of the unwinding that a callback asks for.
struct Refused {
    procedure: &'static str,
    status: c_int,
}

/// Runs the body of a C function, and returns its number.
pub fn call(body: impl FnOnce() -> Result<(), Failure>) -> c_int {
    let (number, last) = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => (0, LastError::default()),
        Ok(Err(Failure::Argument(message))) => (1, said(&message)),
        Ok(Err(Failure::Error(error))) => of_error(&error),
        Err(payload) => of_panic(&*payload),
    };
    LAST.with_borrow_mut(|kept| *kept = last);
    number
}

fn said(message: &str) -> LastError {
    LastError {
        message: text(message),
        ..LastError::default()
    }
}

/// A text for C, without the bytes that end one.
fn text(message: &str) -> CString {
    CString::new(message.replace('\0', " ")).unwrap_or_default()
}

fn of_error(error: &Error) -> (c_int, LastError) {
    let (number, file, line, code) = match error {
        Error::Extent { .. } | Error::Shape { .. } => (2, "", 0, 0),
        Error::Bounds { file, line, .. } | Error::Conform { file, line, .. } => {
            (3, file.as_str(), *line, 0)
        }
        Error::Stop {
            code, file, line, ..
        } => (4, file.as_str(), *line, *code),
        Error::Pause { file, line, .. } => (5, file.as_str(), *line, 0),
        Error::Io {
            code, file, line, ..
        } => (6, file.as_str(), *line, *code),
        Error::Memory { file, line, .. } => (7, file.as_str(), *line, 0),
        Error::DivisionByZero { file, line, .. } => (8, file.as_str(), *line, 0),
        Error::ZeroStep { file, line, .. } => (9, file.as_str(), *line, 0),
        Error::Float { file, line, .. } => (10, file.as_str(), *line, 0),
        Error::Busy { .. } => (11, "", 0, 0),
        Error::Status { value, .. } => (13, "", 0, c_int::try_from(*value).unwrap_or(c_int::MAX)),
    };
    let last = LastError {
        message: text(&error.to_string()),
        file: text(file),
        line: c_int::try_from(line).unwrap_or(0),
        code,
    };
    (number, last)
}

fn of_panic(payload: &(dyn Any + Send)) -> (c_int, LastError) {
    if let Some(Refused { procedure, status }) = payload.downcast_ref() {
        let message = format!("the procedure passed for `{procedure}` returned {status}");
        let last = LastError {
            code: *status,
            ..said(&message)
        };
        return (12, last);
    }
    let message = match (payload.downcast_ref::<&str>(), payload.downcast_ref()) {
        (Some(message), _) => (*message).to_owned(),
        (None, Some(message)) => String::clone(message),
        (None, None) => "the call failed for an unknown reason".to_owned(),
    };
    (14, said(&message))
}

/// Ends the call if a callback returned a number other than 0.
pub fn called(procedure: &'static str, status: c_int) {
    if status != 0 {
        resume_unwind(Box::new(Refused { procedure, status }));
    }
}

/// Returns the message of the last call of this thread: empty if it succeeded. Valid until the next call.
pub fn error_message() -> *const c_char {
    LAST.with_borrow(|last| last.message.as_ptr())
}

/// Returns the file of the last error, as named in the build; empty if there is none.
pub fn error_file() -> *const c_char {
    LAST.with_borrow(|last| last.file.as_ptr())
}

/// Returns the line of the last error; 0 if there is none.
pub fn error_line() -> c_int {
    LAST.with_borrow(|last| last.line)
}

/// Returns the code of STOP, the IOSTAT, the status or what a callback returned.
pub fn error_code() -> c_int {
    LAST.with_borrow(|last| last.code)
}

/// The memory that the arguments of a call use.
#[derive(Debug)]
pub struct Arguments {
    function: &'static str,
    areas: Vec<Area>,
}

#[derive(Debug)]
struct Area {
    argument: &'static str,
    start: usize,
    bytes: usize,
    assigned: bool,
}

impl Arguments {
    /// The arguments of a function, none so far.
    pub fn new(function: &'static str) -> Arguments {
        Arguments {
            function,
            areas: Vec::new(),
        }
    }

    /// An error about an argument.
    fn wrong(&self, argument: &str, why: &str) -> Failure {
        Failure::Argument(format!("{}: argument `{argument}` {why}", self.function))
    }

    /// Adds an argument with `count` elements from `start`.
    ///
    /// # Errors
    ///
    /// There is no such memory: NULL, a number for which no memory is large enough, or an address where no T
    /// can be.
    pub fn add<T>(
        &mut self,
        argument: &'static str,
        start: *const T,
        count: usize,
        assigned: bool,
    ) -> Result<(), Failure> {
        if count == 0 {
            return Ok(());
        }
        if start.is_null() {
            return Err(self.wrong(argument, "is NULL"));
        }
        let bytes = count
            .checked_mul(size_of::<T>())
            .filter(|b| isize::try_from(*b).is_ok());
        let start_at = start.addr();
        let Some(bytes) = bytes.filter(|b| start_at.checked_add(*b).is_some()) else {
            return Err(self.wrong(argument, "has more elements than memory can have"));
        };
        if !start.is_aligned() {
            return Err(self.wrong(argument, "is not aligned"));
        }
        self.areas.push(Area {
            argument,
            start: start_at,
            bytes,
            assigned,
        });
        Ok(())
    }

    /// Checks that no argument that is assigned overlaps another one.
    ///
    /// # Errors
    ///
    /// It does.
    pub fn apart(&self) -> Result<(), Failure> {
        let mut areas: Vec<&Area> = self.areas.iter().collect();
        areas.sort_by_key(|a| a.start);
        // The area before that extends farthest, and the one among those assigned.
        let (mut any, mut assigned): (Option<&Area>, Option<&Area>) = (None, None);
        let end = |a: &Area| a.start + a.bytes;
        for area in areas {
            let before = if area.assigned { any } else { assigned };
            if let Some(before) = before.filter(|b| end(b) > area.start) {
                let why = format!(
                    "overlaps `{}`, and one of them is assigned",
                    before.argument
                );
                return Err(self.wrong(area.argument, &why));
            }
            let farther = |old: Option<&Area>| old.is_none_or(|old| end(area) > end(old));
            if farther(any) {
                any = Some(area);
            }
            if area.assigned && farther(assigned) {
                assigned = Some(area);
            }
        }
        Ok(())
    }

    /// Returns a text.
    ///
    /// # Errors
    ///
    /// It is not UTF-8.
    pub fn text<'a>(&self, argument: &str, bytes: &'a [u8]) -> Result<&'a str, Failure> {
        std::str::from_utf8(bytes).map_err(|_| self.wrong(argument, "is not UTF-8"))
    }

    /// Returns the text in a variable of at least `least` bytes, without trailing blanks.
    ///
    /// # Errors
    ///
    /// It is shorter, or not UTF-8.
    pub fn variable(&self, argument: &str, bytes: &[u8], least: usize) -> Result<String, Failure> {
        if bytes.len() < least {
            let why = format!(
                "has {} characters, at least {least} are needed",
                bytes.len()
            );
            return Err(self.wrong(argument, &why));
        }
        Ok(self.text(argument, bytes)?.trim_end_matches(' ').to_owned())
    }

    /// Returns a procedure.
    ///
    /// # Errors
    ///
    /// It is NULL.
    pub fn procedure<F>(&self, argument: &str, procedure: Option<F>) -> Result<F, Failure> {
        procedure.ok_or_else(|| self.wrong(argument, "is NULL"))
    }
}

/// Writes a text into a variable, with blanks after it.
pub fn put_text(text: &str, variable: &mut [u8]) {
    let bytes = text.as_bytes();
    let count = bytes.len().min(variable.len());
    let (used, rest) = variable.split_at_mut(count);
    used.copy_from_slice(&bytes[..count]);
    rest.fill(b' ');
}

/// Returns an array that C passed.
///
/// # Safety
///
/// [`Arguments::add`] has accepted it, and C does not change it during the call.
#[allow(unsafe_code)]
pub unsafe fn slice<'a, T>(start: *const T, count: usize) -> &'a [T] {
    match count {
        0 => &[],
        // SAFETY: guaranteed by the caller.
        _ => unsafe { std::slice::from_raw_parts(start, count) },
    }
}

/// Returns an array that C passed and that the subprogram assigns.
///
/// # Safety
///
/// [`Arguments::add`] and [`Arguments::apart`] have accepted it, and C does not use it during the call.
#[allow(unsafe_code)]
pub unsafe fn slice_mut<'a, T>(start: *mut T, count: usize) -> &'a mut [T] {
    match count {
        0 => &mut [],
        // SAFETY: guaranteed by the caller.
        _ => unsafe { std::slice::from_raw_parts_mut(start, count) },
    }
}

/// Returns a variable that C passed and that the subprogram assigns.
///
/// # Safety
///
/// As for [`slice_mut`], with one element.
#[allow(unsafe_code)]
pub unsafe fn variable<'a, T>(place: *mut T) -> &'a mut T {
    // SAFETY: guaranteed by the caller.
    unsafe { &mut *place }
}

/// The state of a library, which C holds by a pointer.
#[derive(Debug)]
pub struct Handle<T>(Mutex<T>);

impl<T> Handle<T> {
    /// Gives a value to C.
    pub fn give(value: T) -> *mut Handle<T> {
        Box::into_raw(Box::new(Handle(Mutex::new(value))))
    }

    /// Takes a value back and drops it. NULL is accepted.
    ///
    /// # Safety
    ///
    /// C got it from [`Handle::give`], and does not use it any more.
    #[allow(unsafe_code)]
    pub unsafe fn free(handle: *mut Handle<T>) {
        if !handle.is_null() {
            // SAFETY: guaranteed by the caller.
            drop(unsafe { Box::from_raw(handle) });
        }
    }

    /// Runs `body` with the value.
    ///
    /// # Errors
    ///
    /// The handle is NULL, or another call is using it: of another thread, or of this one, which then
    /// comes from a callback.
    ///
    /// # Safety
    ///
    /// C got it from [`Handle::give`] and has not freed it.
    #[allow(unsafe_code)]
    pub unsafe fn with<R>(
        handle: *const Handle<T>,
        body: impl FnOnce(&mut T) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        // SAFETY: guaranteed by the caller.
        let Some(handle) = (unsafe { handle.as_ref() }) else {
            return Err(Failure::Argument("the instance is NULL".into()));
        };
        let mut held = match handle.0.try_lock() {
            Ok(held) => held,
            // A call that ends early leaves it as Rust would: with the assignments made until then.
            Err(TryLockError::Poisoned(held)) => held.into_inner(),
            Err(TryLockError::WouldBlock) => {
                let why = "the instance is in use by another call: a call needs it for itself";
                return Err(Failure::Argument(why.into()));
            }
        };
        body(&mut held)
    }
}

/// Returns the message of the last call in Rust, for tests.
#[doc(hidden)]
pub fn last_message() -> String {
    let owned = |m: &CStr| m.to_string_lossy().into_owned();
    LAST.with_borrow(|last| owned(&last.message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failing(body: impl FnOnce() -> Result<(), Failure>) -> (&'static str, String) {
        let number = call(body);
        (RESULTS[usize::try_from(number).unwrap()], last_message())
    }

    #[test]
    fn results_have_numbers_and_messages() {
        assert_eq!(failing(|| Ok(())), ("OK", String::new()));
        let stop = Error::Stop {
            code: 3,
            message: None,
            file: "a.f".into(),
            line: 7,
        };
        let (name, message) = failing(|| Err(stop.into()));
        assert_eq!(
            (name, &*message),
            ("STOP", "Fortran program stopped with code 3 (a.f:7)")
        );
        assert_eq!((error_line(), error_code()), (7, 3));
        let (name, message) = failing(|| {
            called("f", 0);
            called("f", 5);
            Ok(())
        });
        assert_eq!(
            (name, &*message),
            ("CALLBACK", "the procedure passed for `f` returned 5")
        );
        assert_eq!((error_line(), error_code()), (0, 5));
        let (name, message) = failing(|| resume_unwind(Box::new("a\0b".to_owned())));
        assert_eq!((name, &*message), ("PANIC", "a b"));
    }

    /// Checks arguments, each with its first element, its number of elements and whether it is assigned.
    fn overlap(areas: &[(usize, usize, bool)]) -> bool {
        let memory = [0.0_f64; 16];
        let mut arguments = Arguments::new("sub");
        for (start, count, assigned) in areas {
            arguments
                .add("x", &raw const memory[*start], *count, *assigned)
                .unwrap();
        }
        arguments.apart().is_err()
    }

    #[test]
    fn arguments_that_overlap() {
        assert!(!overlap(&[(0, 4, true), (4, 4, true), (8, 0, true)]));
        assert!(!overlap(&[(0, 8, false), (2, 4, false), (0, 8, false)]));
        assert!(overlap(&[(0, 5, true), (4, 4, false)]));
        assert!(overlap(&[(4, 4, true), (0, 5, false)]));
        assert!(overlap(&[(0, 16, false), (2, 1, false), (8, 1, true)]));
        assert!(overlap(&[(0, 16, true), (1, 1, false), (8, 1, false)]));
        assert!(!overlap(&[(0, 1, true), (1, 1, false), (1, 1, false)]));
    }

    #[test]
    fn arguments_that_are_not_there() {
        let mut arguments = Arguments::new("sub");
        let mut message = |start: *const f64, count| {
            let added = arguments.add("x", start, count, false);
            failing(|| added).1
        };
        let one = 1.0;
        assert_eq!(message(std::ptr::null(), 0), "");
        assert_eq!(message(std::ptr::null(), 1), "sub: argument `x` is NULL");
        assert_eq!(
            message((&raw const one).wrapping_byte_add(1), 1),
            "sub: argument `x` is not aligned"
        );
        assert_eq!(
            message(&raw const one, usize::MAX / 8),
            "sub: argument `x` has more elements than memory can have"
        );
    }

    #[test]
    fn texts() {
        let arguments = Arguments::new("sub");
        let held = arguments.variable("t", b"ab  ", 3);
        assert_eq!(held.unwrap(), "ab");
        for (bytes, message) in [
            (
                &b"ab"[..],
                "sub: argument `t` has 2 characters, at least 3 are needed",
            ),
            (b"a\xffb", "sub: argument `t` is not UTF-8"),
        ] {
            let error = arguments.variable("t", bytes, 3).unwrap_err();
            assert_eq!(failing(|| Err(error)).1, message);
        }
        let mut variable = *b"xyzw";
        put_text("ab", &mut variable);
        assert_eq!(&variable, b"ab  ");
    }

    #[test]
    #[allow(unsafe_code)]
    fn an_instance_serves_one_call() {
        let handle = Handle::give(1);
        // SAFETY: it is freed at the end.
        unsafe {
            let nested = Handle::with(handle, |_| Handle::with(handle, |_| Ok(())));
            let (_, message) = failing(|| nested);
            assert!(message.contains("in use"), "{message}");
            let value = Handle::with(handle, |v| {
                *v += 1;
                Ok(*v)
            });
            assert_eq!(value.unwrap(), 2);
            assert!(Handle::<i32>::with(std::ptr::null(), |_| Ok(())).is_err());
            Handle::free(handle);
            Handle::<i32>::free(std::ptr::null_mut());
        }
    }
}
