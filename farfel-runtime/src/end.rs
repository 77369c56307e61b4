//! Ending a call of Fortran code before its END without ending the process.
//!
//! In a library, whatever would end the process is compiled to a call of [`farfel_end_v1_`] or
//! [`farfel_bounds_v1_`], which unwinds through the Fortran frames to [`catch_end`] in the
//! generated function.

use crate::formats::problem_of_format;
use crate::{Error, memory};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// The payload of the unwinding.
struct EndPayload(Error);

/// `CALL FARFEL_END_V1(KIND, CODE, TEXT, PLACE)`: the replacement for STOP and for anything else
/// that would end the process. The number in the name is the version of this calling sequence, so
/// that two versions of this crate can be linked into one program.
///
/// KIND is 1 for STOP, 2 for PAUSE, 3 for input and output (CODE is the IOSTAT), 4 for memory, 5
/// for a division by zero, 6 for a step of zero, 7 for floating-point exceptions. PLACE is
/// `src/a.f:12`.
///
/// In a program built with `panic = "abort"` unwinding is impossible, and the process ends as a
/// Fortran program does.
///
/// # Safety
///
/// `kind` and `code` must point to INTEGERs, `text` and `place` to as many characters as their
/// lengths say, as in a Fortran call.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C-unwind" fn farfel_end_v1_(
    kind: *const i32,
    code: *const i32,
    text: *const u8,
    place: *const u8,
    text_length: usize,
    place_length: usize,
) -> ! {
    // SAFETY: the caller is Fortran code that Farfel generated; it passes two INTEGERs, and two CHARACTERs with their
    // lengths.
    let (kind, code, text, place) = unsafe {
        (
            *kind,
            *code,
            std::slice::from_raw_parts(text, text_length),
            std::slice::from_raw_parts(place, place_length),
        )
    };
    let text = String::from_utf8_lossy(text).trim_end().to_owned();
    let (file, line) = place_of(&String::from_utf8_lossy(place));
    let said = (!text.is_empty()).then(|| text.clone());
    end(match kind {
        1 => Error::Stop {
            code,
            message: said,
            file,
            line,
        },
        2 => Error::Pause {
            message: said.or_else(|| (code != 0).then(|| code.to_string())),
            file,
            line,
        },
        3 => Error::Io {
            code,
            message: text,
            file,
            line,
        },
        4 => Error::Memory {
            statement: text,
            file,
            line,
        },
        5 => Error::DivisionByZero {
            expression: text,
            file,
            line,
        },
        7 => Error::Float {
            what: text,
            file,
            line,
        },
        _ => Error::ZeroStep {
            expression: text,
            file,
            line,
        },
    })
}

/// `CALL FARFEL_BOUNDS_V1(KIND, COUNT, SUBSCRIPTS, ELEMENT, ELEMENTS, WHAT)`: called by a bounds
/// check that fails. `WHAT` is `X(I) at src/a.f:12`.
///
/// In a program built with `panic = "abort"` it ends the process with the message.
///
/// # Safety
///
/// `subscripts` must point to `count` INTEGER*8, `what` to `length` characters, and the others to
/// INTEGERs, of which `elements` has eight bytes.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C-unwind" fn farfel_bounds_v1_(
    kind: *const i32,
    count: *const i32,
    subscripts: *const i64,
    _element: *const i64,
    elements: *const i64,
    what: *const u8,
    length: usize,
) -> ! {
    // SAFETY: the caller is Fortran code that Farfel generated; it passes these.
    let (kind, error) = unsafe { (*kind, outside(count, subscripts, elements, what, length)) };
    end(match error {
        Error::Bounds {
            reference: arrays,
            subscripts,
            elements,
            file,
            line,
        } if kind == DIFFERENT_SHAPES => Error::Conform {
            arrays,
            extents: [subscripts.first().copied().unwrap_or(0), elements],
            file,
            line,
        },
        other => other,
    })
}

/// The kind of a check that compares two extents.
const DIFFERENT_SHAPES: i32 = 5;

/// Returns the error for a failed check.
///
/// # Safety
///
/// As for [`farfel_bounds_v1_`].
#[allow(unsafe_code)]
unsafe fn outside(
    count: *const i32,
    subscripts: *const i64,
    elements: *const i64,
    what: *const u8,
    length: usize,
) -> Error {
    // SAFETY: guaranteed by the caller.
    let (subscripts, elements, what) = unsafe {
        (
            std::slice::from_raw_parts(subscripts, usize::try_from(*count).unwrap_or(0)),
            *elements,
            std::slice::from_raw_parts(what, length),
        )
    };
    let what = String::from_utf8_lossy(what);
    let (reference, place) = what.rsplit_once(" at ").unwrap_or((&what, ""));
    let (file, line) = place_of(place);
    Error::Bounds {
        reference: reference.to_owned(),
        subscripts: subscripts.to_vec(),
        elements,
        file,
        line,
    }
}

/// `CALL FARFEL_LATER_V1(COUNT, SUBSCRIPTS, ELEMENT, ELEMENTS, WHAT)`: like [`farfel_bounds_v1_`],
/// for a statement that must be completed first. [`farfel_leave_v1_`] then ends the call.
///
/// # Safety
///
/// As for [`farfel_bounds_v1_`].
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn farfel_later_v1_(
    count: *const i32,
    subscripts: *const i64,
    _element: *const i64,
    elements: *const i64,
    what: *const u8,
    length: usize,
) {
    // SAFETY: the caller is Fortran code that Farfel generated; it passes these.
    let error = unsafe { outside(count, subscripts, elements, what, length) };
    LATER.with_borrow_mut(|first| {
        first.get_or_insert(error);
    });
}

/// Splits a place such as `src/a.f:12` into file and line.
fn place_of(place: &str) -> (String, u32) {
    let place = place.trim_end();
    match place.rsplit_once(':') {
        Some((file, line)) => (file.to_owned(), line.parse().unwrap_or(0)),
        None => (place.to_owned(), 0),
    }
}

/// The units that calls left locked when they ended. gfortran's run-time library would wait for
/// them forever.
static LOST: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());
static ANY_LOST: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// The units of the I/O statements that this thread is executing, from the outermost to the
    /// innermost.
    static ENTERED: RefCell<Vec<i32>> = const { RefCell::new(Vec::new()) };

    /// The first check that failed in one of these statements.
    static LATER: RefCell<Option<Error>> = const { RefCell::new(None) };
}

/// `CALL FARFEL_ENTER_V1(UNIT)`: begins a statement in which a call may end.
///
/// # Safety
///
/// `unit` must point to an INTEGER.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn farfel_enter_v1_(unit: *const i32) {
    // SAFETY: the caller is Fortran code that Farfel generated.
    let unit = unsafe { *unit };
    ENTERED.with_borrow_mut(|e| e.push(unit));
}

/// `CALL FARFEL_LEAVE_V1`: ends such a statement. Ends the call if a check failed in it.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub extern "C-unwind" fn farfel_leave_v1_() {
    ENTERED.with_borrow_mut(|e| e.pop());
    if let Some(error) = LATER.take() {
        end(error)
    }
}

/// `CALL FARFEL_UNIT_V2(UNIT, PLACE)`: precedes a statement that uses a file. UNIT is -1 if the statement
/// looks for a file by name, or uses all files; gfortran's run-time library then goes through all open files. Ends
/// the call if the library would wait for ever: for a file that an earlier call has left locked, or that a statement
/// of this thread is using.
///
/// # Safety
///
/// `unit` must point to an INTEGER, `place` to as many characters as its length says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C-unwind" fn farfel_unit_v2_(
    unit: *const i32,
    place: *const u8,
    place_length: usize,
) {
    // SAFETY: the caller is Fortran code that Farfel generated; it passes an INTEGER, and a CHARACTER with its length.
    let (unit, place) = unsafe { (*unit, std::slice::from_raw_parts(place, place_length)) };
    let used = ENTERED.with_borrow(|e| match unit {
        -1 => e.last().copied(),
        _ => e.iter().copied().find(|u| *u == unit),
    });
    let message = match used {
        Some(used) => format!(
            "unit {used} is in use, by a statement that has called a procedure in which the unit is used again: call \
             the procedure before the statement"
        ),
        None => match lost(unit) {
            Some(message) => message,
            None => return,
        },
    };
    let (file, line) = place_of(&String::from_utf8_lossy(place));
    end(Error::Io {
        code: 1,
        message,
        file,
        line,
    })
}

/// Returns the message for a unit that cannot be used any more.
fn lost(unit: i32) -> Option<String> {
    if !ANY_LOST.load(Ordering::Acquire) {
        return None;
    }
    let lost = LOST.lock().unwrap_or_else(PoisonError::into_inner);
    match (unit, lost.first()) {
        (-1, Some(first)) => Some(format!(
            "an earlier call ended in the midst of a statement with unit {first}: no file can be opened any more"
        )),
        _ if lost.contains(&unit) => Some(format!(
            "an earlier call ended in the midst of a statement with unit {unit}, which cannot be used any more"
        )),
        _ => None,
    }
}

/// `CALL FARFEL_FORMAT_V1(FORMAT, PLACE)`: precedes a statement whose format is a variable. Ends the
/// call if the format would harm gfortran's run-time library; the library itself rejects all others
/// that are wrong.
///
/// # Safety
///
/// `format` and `place` must point to as many characters as their lengths say.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C-unwind" fn farfel_format_v1_(
    format: *const u8,
    place: *const u8,
    format_length: usize,
    place_length: usize,
) {
    // SAFETY: the caller is Fortran code that Farfel generated; it passes two CHARACTERs with their lengths.
    let (format, place) = unsafe {
        (
            std::slice::from_raw_parts(format, format_length),
            std::slice::from_raw_parts(place, place_length),
        )
    };
    check_format(format, place);
}

/// `CALL FARFEL_FORMAT_ARRAY_V1(ADDRESS, COUNT, BYTES, PLACE)`: like [`farfel_format_v1_`], for a format that is an
/// array at ADDRESS with COUNT elements of BYTES bytes, all INTEGER*8.
///
/// # Safety
///
/// `address`, `count` and `bytes` must point to INTEGER*8 that describe an array, and `place` to as many characters
/// as its length says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C-unwind" fn farfel_format_array_v1_(
    address: *const usize,
    count: *const i64,
    bytes: *const i64,
    place: *const u8,
    place_length: usize,
) {
    // SAFETY: the caller is Fortran code that Farfel generated; it passes a whole array, whose size has been checked.
    let (format, place) = unsafe {
        let length = usize::try_from((*count).saturating_mul(*bytes)).unwrap_or(0);
        let format = match length {
            0 => &[],
            _ => std::slice::from_raw_parts(std::ptr::with_exposed_provenance(*address), length),
        };
        (format, std::slice::from_raw_parts(place, place_length))
    };
    check_format(format, place);
}

fn check_format(format: &[u8], place: &[u8]) {
    let Some(message) = problem_of_format(format) else {
        return;
    };
    let (file, line) = place_of(&String::from_utf8_lossy(place));
    end(Error::Io {
        code: 1,
        message,
        file,
        line,
    })
}

/// `CALL FARFEL_STACK_V1(BYTES, TEXT, PLACE)`: begins a subprogram that may call itself. Ends the call if fewer
/// bytes of the stack are left.
///
/// # Safety
///
/// `bytes` must point to an INTEGER*8, `text` and `place` to as many characters as their lengths say.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C-unwind" fn farfel_stack_v1_(
    bytes: *const i64,
    text: *const u8,
    place: *const u8,
    text_length: usize,
    place_length: usize,
) {
    // SAFETY: the caller is Fortran code that Farfel generated.
    let bytes = usize::try_from(unsafe { *bytes }).unwrap_or(usize::MAX);
    if crate::stack::left().is_none_or(|left| left >= bytes) {
        return;
    }
    // SAFETY: likewise; it passes two CHARACTERs with their lengths.
    let (text, place) = unsafe {
        (
            std::slice::from_raw_parts(text, text_length),
            std::slice::from_raw_parts(place, place_length),
        )
    };
    let (file, line) = place_of(&String::from_utf8_lossy(place));
    end(Error::Memory {
        statement: String::from_utf8_lossy(text).trim_end().to_owned(),
        file,
        line,
    })
}

/// `CALL FARFEL_ROOM_V1(BYTES, TEXT, PLACE)`: precedes a statement whose temporary values need this memory, which the
/// compiler takes without asking whether it is there. Ends the call if it is not.
///
/// # Safety
///
/// `bytes` must point to an INTEGER*8, `text` and `place` to as many characters as their lengths say.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C-unwind" fn farfel_room_v1_(
    bytes: *const i64,
    text: *const u8,
    place: *const u8,
    text_length: usize,
    place_length: usize,
) {
    // SAFETY: the caller is Fortran code that Farfel generated.
    let bytes = usize::try_from(unsafe { *bytes }).unwrap_or(usize::MAX);
    if crate::memory::is_there(bytes) {
        return;
    }
    // SAFETY: likewise; it passes two CHARACTERs with their lengths.
    let (text, place) = unsafe {
        (
            std::slice::from_raw_parts(text, text_length),
            std::slice::from_raw_parts(place, place_length),
        )
    };
    let (file, line) = place_of(&String::from_utf8_lossy(place));
    let bytes = bytes.div_ceil(1 << 20);
    end(Error::Memory {
        statement: format!(
            "making room for {}, up to {bytes} MB,",
            String::from_utf8_lossy(text).trim_end()
        ),
        file,
        line,
    })
}

/// Ends the call that begins if fewer bytes of this thread's stack are left than the subprogram `name` needs, with its
/// callees. For generated code, inside [`catch_end`] or [`expect_no_end`].
pub fn need_stack(bytes: usize, name: &str, place: &str) {
    if crate::stack::left().is_none_or(|left| left >= bytes) {
        return;
    }
    let (file, line) = place_of(place);
    end(Error::Memory {
        statement: format!(
            "making room for {name}, {} KB on the stack of this thread,",
            bytes.div_ceil(1024)
        ),
        file,
        line,
    })
}

/// Records the units that a call left locked when it ended.
fn lose(depth: usize) {
    let lost = ENTERED.with_borrow_mut(|e| e.split_off(depth.min(e.len())));
    LATER.take();
    if !lost.is_empty() {
        LOST.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(lost);
        ANY_LOST.store(true, Ordering::Release);
    }
}

fn end(error: Error) -> ! {
    if cfg!(panic = "abort") {
        use std::io::Write as _;
        // If standard error is closed, there is nothing to be done.
        let _ = writeln!(std::io::stderr(), "{error}");
        std::process::exit(match error {
            Error::Stop { code, .. } => code,
            _ => 2,
        });
    }
    // Not `panic!`, since the program's panic hook must not report this.
    resume_unwind(Box::new(EndPayload(error)))
}

/// Calls Fortran code and converts whatever ends it, such as STOP or a failing check, to an error.
/// For generated code.
///
/// # Errors
///
/// Any [`Error`] except [`Error::Extent`] and [`Error::Busy`], which are detected before the call.
pub fn catch_end<T>(call: impl FnOnce() -> T) -> Result<T, Error> {
    let depth = ENTERED.with_borrow(Vec::len);
    let lent = memory::lent();
    // Unwind safety: changes made before the end of the call persist, as in Fortran before STOP.
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| {
        lose(depth);
        memory::take_back(lent);
        match payload.downcast::<EndPayload>() {
            Ok(ended) => ended.0,
            Err(other) => resume_unwind(other),
        }
    })
}

/// Calls Fortran code that ends a call only where a Rust function would panic: a failing `PRINT *`,
/// or no memory for a tape. For generated code.
///
/// # Panics
///
/// With the message of the error.
#[expect(clippy::panic, reason = "as `print!` does")]
pub fn expect_no_end<T>(call: impl FnOnce() -> T) -> T {
    match catch_end(call) {
        Ok(value) => value,
        Err(error) => panic!("{error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[allow(unsafe_code)]
    fn end_with(kind: i32, code: i32, text: &[u8]) -> Result<(), Error> {
        let place = b"src/a b.f:12";
        catch_end(|| {
            // SAFETY: two integers and two texts of the given lengths.
            unsafe {
                farfel_end_v1_(
                    &kind,
                    &code,
                    text.as_ptr(),
                    place.as_ptr(),
                    text.len(),
                    place.len(),
                )
            }
        })
    }

    #[test]
    fn what_ends_a_call_becomes_an_error() {
        let file = || "src/a b.f".to_owned();
        assert_eq!(
            end_with(1, 3, b"NO ROOT "),
            Err(Error::Stop {
                code: 3,
                message: Some("NO ROOT".into()),
                file: file(),
                line: 12,
            })
        );
        assert_eq!(
            end_with(3, -1, b"End of file"),
            Err(Error::Io {
                code: -1,
                message: "End of file".into(),
                file: file(),
                line: 12,
            })
        );
        assert_eq!(
            end_with(5, 0, b"I/J"),
            Err(Error::DivisionByZero {
                expression: "I/J".into(),
                file: file(),
                line: 12,
            })
        );
        assert_eq!(catch_end(|| 7), Ok(7));
    }

    #[test]
    fn where_nothing_should_end_it_panics() {
        assert_eq!(expect_no_end(|| 7), 7);
        let result = catch_unwind(|| {
            expect_no_end(|| {
                resume_unwind(Box::new(EndPayload(Error::Memory {
                    statement: "ALLOCATE (W(N))".into(),
                    file: "a.f".into(),
                    line: 1,
                })))
            })
        });
        let said = result.unwrap_err().downcast::<String>().unwrap();
        assert_eq!(*said, "ALLOCATE (W(N)) failed (a.f:1)");
    }

    #[test]
    fn other_panics_go_on() {
        let result = catch_unwind(|| catch_end(|| resume_unwind(Box::new(5i32))));
        assert_eq!(*result.unwrap_err().downcast::<i32>().unwrap(), 5);
    }
}
