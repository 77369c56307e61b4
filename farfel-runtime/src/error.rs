//! The errors that a call of Fortran code can return.

use std::fmt;

/// The reason why a call of a Fortran subprogram failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// An array is shorter than its declaration in the subprogram requires. The subprogram was not
    /// called.
    Extent {
        /// The Rust name of the function.
        function: &'static str,
        /// The Rust name of the argument.
        argument: &'static str,
        /// The number of elements that the declaration requires, with the current values of its
        /// bounds.
        needed: usize,
        /// The number of elements in the array.
        got: usize,
    },
    /// The shapes of slices do not agree, so a size that is not passed as an argument cannot be
    /// determined. The subprogram was not called.
    Shape {
        /// The Rust name of the function.
        function: &'static str,
        /// The Rust name of the argument.
        argument: &'static str,
        /// The unit of the counts: `elements`, `rows`, `columns`.
        what: &'static str,
        /// The actual count.
        got: usize,
        /// The required count and the reason: ``3, as `x` has``.
        wanted: String,
    },
    /// The subprogram reported failure through a status argument. Its assignments up to then remain
    /// in effect.
    Status {
        /// The Rust name of the function.
        function: &'static str,
        /// The Rust name of the argument.
        argument: &'static str,
        /// The value of the argument.
        value: i64,
        /// The meaning of this value according to the comments of the subprogram; empty if they do
        /// not give one.
        meaning: &'static str,
    },
    /// A reference was outside an array or a character string. Assignments made before it remain in
    /// effect.
    Bounds {
        /// The reference in Fortran: `X(IDX(I))`.
        reference: String,
        /// The values of the subscripts. For a section, the numbers of its first and last element;
        /// for a substring, its first and last position; for a whole array, the number of elements
        /// it should have.
        subscripts: Vec<i64>,
        /// The number of elements available. For an array that starts inside another, those from
        /// there to its end.
        elements: i64,
        /// The source file, as named in the build.
        file: String,
        /// The line in the file; 0 if unknown.
        line: u32,
    },
    /// Two arrays in one statement have different numbers of elements in a dimension. The statement was not
    /// executed.
    Conform {
        /// The arrays in Fortran: `X and Y(1:N)`.
        arrays: String,
        /// Their numbers of elements.
        extents: [i64; 2],
        /// The source file, as named in the build.
        file: String,
        /// The line in the file; 0 if unknown.
        line: u32,
    },
    /// The program executed STOP or `CALL EXIT`. Assignments made before it remain in effect, here
    /// and in all variants below.
    Stop {
        /// The stop code: 3 for `STOP 3`; 0 for a STOP with text or without a code.
        code: i32,
        /// The text of `STOP 'text'`.
        message: Option<String>,
        /// The source file, as named in the build.
        file: String,
        /// The line in the file; 0 if unknown.
        line: u32,
    },
    /// The program executed PAUSE, and nobody can resume it.
    Pause {
        /// The text of `PAUSE 'text'`, or the number of `PAUSE 3`.
        message: Option<String>,
        /// The source file, as named in the build.
        file: String,
        /// The line in the file; 0 if unknown.
        line: u32,
    },
    /// A READ, WRITE, OPEN or other I/O statement failed and has neither IOSTAT nor an error label.
    /// The unit remains usable.
    Io {
        /// The value that IOSTAT would have: -1 at end of file, positive for errors.
        code: i32,
        /// The message of gfortran's run-time library.
        message: String,
        /// The source file, as named in the build.
        file: String,
        /// The line in the file; 0 if unknown.
        line: u32,
    },
    /// There is no memory for an array or a character string, ALLOCATE was applied to something
    /// already allocated, or DEALLOCATE to something not allocated.
    Memory {
        /// The Fortran source: `ALLOCATE (W(N))`, or the declaration `W(N)`.
        statement: String,
        /// The source file, as named in the build.
        file: String,
        /// The line in the file; 0 if unknown.
        line: u32,
    },
    /// An INTEGER was divided by zero, or zero was raised to a negative power.
    DivisionByZero {
        /// The Fortran source: `I/J`, `MOD(I, J)`, `I**J`.
        expression: String,
        /// The source file, as named in the build.
        file: String,
        /// The line in the file; 0 if unknown.
        line: u32,
    },
    /// The step of a loop or of a section was zero.
    ZeroStep {
        /// The step as written in Fortran.
        expression: String,
        /// The source file, as named in the build.
        file: String,
        /// The line in the file; 0 if unknown.
        line: u32,
    },
    /// A floating-point exception occurred that the setting `float-errors` makes an error.
    /// Assignments made by the subprogram remain in effect.
    Float {
        /// `a division by zero`, `an overflow`, `an invalid operation`, `an underflow`.
        what: String,
        /// The file of the subprogram that was called, as named in the build.
        file: String,
        /// The line where it begins; 0 if unknown.
        line: u32,
    },
    /// Another thread holds the lock on the library's COMMON and saved variables and has been in a
    /// single call of a closure for so long that it is presumably waiting for this thread. The
    /// subprogram was not called.
    Busy {
        /// How long this thread has waited for that closure, in seconds.
        seconds: u64,
    },
}

/// The location of an error, in parentheses.
struct Location<'a>(&'a str, u32);

impl fmt::Display for Location<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1 {
            0 if self.0.is_empty() => Ok(()),
            0 => write!(f, " ({})", self.0),
            line => write!(f, " ({}:{line})", self.0),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Extent {
                function,
                argument,
                needed,
                got,
            } => write!(
                f,
                "{function}: argument `{argument}` has {got} elements, at least {needed} are needed"
            ),
            Error::Shape {
                function,
                argument,
                what,
                got,
                wanted,
            } => write!(
                f,
                "{function}: argument `{argument}` has {got} {what}, and must have {wanted}"
            ),
            Error::Status {
                function,
                argument,
                value,
                meaning,
            } => {
                write!(f, "{function}: `{argument}` is {value}")?;
                match meaning.is_empty() {
                    true => Ok(()),
                    false => write!(f, ": {meaning}"),
                }
            }
            Error::Bounds {
                reference,
                subscripts,
                elements,
                file,
                line,
            } => {
                let values: Vec<String> = subscripts.iter().map(i64::to_string).collect();
                let values = values.join(", ");
                let place = Location(file, *line);
                // An argument of an intrinsic function.
                match reference.split_once(" in ") {
                    Some(("dimension", _)) => {
                        return write!(
                            f,
                            "the {reference} is {values}: there are {elements} dimensions{place}"
                        );
                    }
                    Some(("number of copies" | "size", _)) => {
                        let most = elements.saturating_sub(1);
                        return write!(
                            f,
                            "the {reference} is {values}: from 0 to {most} is possible{place}"
                        );
                    }
                    _ => {}
                }
                let is = match subscripts.len() {
                    1 if reference.contains('(') => "with subscript",
                    1 => "of size",
                    _ => "with",
                };
                write!(
                    f,
                    "{reference} {is} {values} is outside: there are {elements} elements{place}"
                )
            }
            Error::Conform {
                arrays,
                extents: [a, b],
                file,
                line,
            } => write!(
                f,
                "{arrays} must have the same shape, but have {a} and {b} elements{}",
                Location(file, *line)
            ),
            Error::Stop {
                code,
                message,
                file,
                line,
            } => {
                f.write_str("Fortran program stopped")?;
                if *code != 0 {
                    write!(f, " with code {code}")?;
                }
                if let Some(text) = message {
                    write!(f, ": {text}")?;
                }
                write!(f, "{}", Location(file, *line))
            }
            Error::Pause {
                message,
                file,
                line,
            } => {
                f.write_str("Fortran program paused")?;
                if let Some(text) = message {
                    write!(f, ": {text}")?;
                }
                write!(f, "{}", Location(file, *line))
            }
            Error::Io {
                message,
                file,
                line,
                ..
            } => write!(
                f,
                "input or output failed: {message}{}",
                Location(file, *line)
            ),
            Error::Memory {
                statement,
                file,
                line,
            } => write!(f, "{statement} failed{}", Location(file, *line)),
            Error::DivisionByZero {
                expression,
                file,
                line,
            } => write!(f, "{expression} divides by zero{}", Location(file, *line)),
            Error::ZeroStep {
                expression,
                file,
                line,
            } => write!(f, "the step {expression} is zero{}", Location(file, *line)),
            Error::Float { what, file, line } => {
                write!(
                    f,
                    "{what} in floating-point arithmetic{}",
                    Location(file, *line)
                )
            }
            Error::Busy { seconds } => write!(
                f,
                "another thread has been in a closure that this library called for {seconds} seconds: closures cannot \
                 wait for threads that call the library"
            ),
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::Error;

    #[test]
    fn messages() {
        let stop = |code, message: Option<&str>| {
            Error::Stop {
                code,
                message: message.map(String::from),
                file: "src/a.f".into(),
                line: 7,
            }
            .to_string()
        };
        let outside = |reference: &str, subscripts: &[i64], line| {
            Error::Bounds {
                reference: reference.into(),
                subscripts: subscripts.to_vec(),
                elements: 10,
                file: "src/a.f".into(),
                line,
            }
            .to_string()
        };
        assert_eq!(
            outside("X(IDX(I))", &[11], 7),
            "X(IDX(I)) with subscript 11 is outside: there are 10 elements (src/a.f:7)"
        );
        assert_eq!(
            outside("A(I, J)", &[1, -3], 0),
            "A(I, J) with 1, -3 is outside: there are 10 elements (src/a.f)"
        );
        assert_eq!(
            outside("W", &[12], 7),
            "W of size 12 is outside: there are 10 elements (src/a.f:7)"
        );
        assert_eq!(
            outside("dimension in SUM(A, K)", &[3], 7),
            "the dimension in SUM(A, K) is 3: there are 10 dimensions (src/a.f:7)"
        );
        assert_eq!(
            outside("number of copies in REPEAT(S, N)", &[-1], 7),
            "the number of copies in REPEAT(S, N) is -1: from 0 to 9 is possible (src/a.f:7)"
        );
        assert_eq!(stop(0, None), "Fortran program stopped (src/a.f:7)");
        assert_eq!(
            stop(3, None),
            "Fortran program stopped with code 3 (src/a.f:7)"
        );
        assert_eq!(
            stop(0, Some("NO ROOT")),
            "Fortran program stopped: NO ROOT (src/a.f:7)"
        );
        let status = |value, meaning| {
            Error::Status {
                function: "solve",
                argument: "info",
                value,
                meaning,
            }
            .to_string()
        };
        assert_eq!(status(-2, ""), "solve: `info` is -2");
        assert_eq!(
            status(1, "the matrix is singular."),
            "solve: `info` is 1: the matrix is singular."
        );
        let short = Error::Extent {
            function: "norm",
            argument: "x",
            needed: 4,
            got: 3,
        };
        assert_eq!(
            short.to_string(),
            "norm: argument `x` has 3 elements, at least 4 are needed"
        );
    }
}
