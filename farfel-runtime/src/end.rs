//! STOP without ending the process.
//!
//! In a library, `STOP` is compiled to a call of [`farfel_stop_v1_`], which unwinds through
//! the Fortran frames to [`catch_stop`] in the generated function.

use crate::Error;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// What STOP throws.
struct Stopped {
    code: i32,
    message: Option<String>,
}

/// What a check throws that fails.
struct Outside(Error);

/// `CALL FARFEL_STOP_V1(CODE, TEXT)`: what STOP becomes. The number in the name is that of
/// this calling sequence, so that two versions of this crate can be linked into one
/// program.
///
/// In a program built with `panic = "abort"` there is no way back, and STOP ends the
/// process as it does in a Fortran program.
///
/// # Safety
///
/// `code` must point to an INTEGER and `text` to `length` characters, as a Fortran call
/// gives them.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C-unwind" fn farfel_stop_v1_(
    code: *const i32,
    text: *const u8,
    length: usize,
) -> ! {
    // SAFETY: the caller is Fortran code that Farfel generated; it passes an INTEGER, a
    // CHARACTER and its length.
    let (code, text) = unsafe { (*code, std::slice::from_raw_parts(text, length)) };
    let text = String::from_utf8_lossy(text);
    let text = text.trim_end();
    let message = (!text.is_empty()).then(|| text.to_owned());
    if cfg!(panic = "abort") {
        use std::io::Write as _;
        // Nothing can be done where standard error is closed.
        let _ = match &message {
            Some(text) => writeln!(std::io::stderr(), "STOP {text}"),
            None => writeln!(std::io::stderr(), "STOP {code}"),
        };
        std::process::exit(code);
    }
    // Not `panic!`: the program's panic hook has nothing to report.
    resume_unwind(Box::new(Stopped { code, message }))
}

/// `CALL FARFEL_BOUNDS_V1(KIND, COUNT, SUBSCRIPTS, ELEMENT, ELEMENTS, WHAT)`: what a check calls that
/// fails. `WHAT` is `X(I) at src/a.f:12`.
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
    _kind: *const i32,
    count: *const i32,
    subscripts: *const i64,
    _element: *const i64,
    elements: *const i64,
    what: *const u8,
    length: usize,
) -> ! {
    // SAFETY: the caller is Fortran code that Farfel generated; it passes these.
    let (subscripts, elements, what) = unsafe {
        (
            std::slice::from_raw_parts(subscripts, usize::try_from(*count).unwrap_or(0)),
            *elements,
            std::slice::from_raw_parts(what, length),
        )
    };
    let what = String::from_utf8_lossy(what);
    let (reference, place) = what.rsplit_once(" at ").unwrap_or((&what, ""));
    let (file, line) = match place.rsplit_once(':') {
        Some((file, line)) => (file, line.trim_end().parse().unwrap_or(0)),
        None => (place.trim_end(), 0),
    };
    let error = Error::Bounds {
        reference: reference.to_owned(),
        subscripts: subscripts.to_vec(),
        elements,
        file: file.to_owned(),
        line,
    };
    if cfg!(panic = "abort") {
        use std::io::Write as _;
        // Nothing can be done where standard error is closed.
        let _ = writeln!(std::io::stderr(), "{error}");
        std::process::exit(2);
    }
    // Not `panic!`: the program's panic hook has nothing to report.
    resume_unwind(Box::new(Outside(error)))
}

/// Calls Fortran code and turns its STOP, or a check that fails, into an error. For generated code.
///
/// # Errors
///
/// [`Error::Stop`] when the code executes STOP, [`Error::Bounds`] when it leaves an array.
pub fn catch_stop<T>(call: impl FnOnce() -> T) -> Result<T, Error> {
    // What the call changes is what Fortran code changes before STOP: it stays.
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| match payload.downcast::<Stopped>() {
        Ok(stopped) => Error::Stop {
            code: stopped.code,
            message: stopped.message,
        },
        Err(other) => match other.downcast::<Outside>() {
            Ok(outside) => outside.0,
            Err(other) => resume_unwind(other),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(unsafe_code)]
    fn stop_becomes_an_error() {
        let result = catch_stop(|| {
            let text = b"NO ROOT ";
            // SAFETY: an integer and a text of the given length.
            unsafe { farfel_stop_v1_(&3, text.as_ptr(), text.len()) }
        });
        assert_eq!(
            result,
            Err(Error::Stop {
                code: 3,
                message: Some("NO ROOT".into())
            })
        );
        assert_eq!(catch_stop(|| 7), Ok(7));
    }

    #[test]
    fn other_panics_go_on() {
        let result = catch_unwind(|| catch_stop(|| resume_unwind(Box::new(5i32))));
        assert_eq!(*result.unwrap_err().downcast::<i32>().unwrap(), 5);
    }
}
