//! What can go wrong in a call of Fortran code.

use std::fmt;

/// Why a call of a Fortran subprogram gave no result.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// An array is shorter than its declaration in the subprogram asks for. Nothing was
    /// called.
    Extent {
        /// The function, as Rust names it.
        function: &'static str,
        /// The argument, as Rust names it.
        argument: &'static str,
        /// How many elements the declaration asks for, with the bounds' present values.
        needed: usize,
        /// How many elements there are.
        got: usize,
    },
    /// Slices do not fit together, so that a size which is left out of the arguments has no value. Nothing was called.
    Shape {
        /// The function, as Rust names it.
        function: &'static str,
        /// The argument, as Rust names it.
        argument: &'static str,
        /// What is counted: `elements`, `rows`, `columns`.
        what: &'static str,
        /// How many there are.
        got: usize,
        /// How many there must be, and why: ``3, as `x` has``.
        wanted: String,
    },
    /// An argument by which the subprogram says how it went says that it failed. What the subprogram had assigned stands.
    Status {
        /// The function, as Rust names it.
        function: &'static str,
        /// The argument, as Rust names it.
        argument: &'static str,
        /// Its value.
        value: i64,
        /// What the comments of the subprogram say of this value; empty where they do not.
        meaning: &'static str,
    },
    /// The program left an array or a text: it used an element that is not there. What the
    /// subprogram had assigned until then stands.
    Bounds {
        /// What the program says, in Fortran: `X(IDX(I))`.
        reference: String,
        /// The values of the subscripts; of a section the numbers of its first and last element, of a
        /// substring its first and last place, of a whole array how many elements it should have.
        subscripts: Vec<i64>,
        /// How many elements there are. An array that starts inside another has those that are left.
        elements: i64,
        /// The file, as the build names it.
        file: String,
        /// The line in it; 0 where it is not known.
        line: u32,
    },
    /// The program executed STOP, or `CALL EXIT`. What the subprogram had assigned until then stands, here and in all
    /// that follow.
    Stop {
        /// `3` for `STOP 3`; 0 for a STOP with text or without anything.
        code: i32,
        /// The text of `STOP 'text'`.
        message: Option<String>,
        /// The file, as the build names it.
        file: String,
        /// The line in it; 0 where it is not known.
        line: u32,
    },
    /// The program executed PAUSE: there is nobody to let it go on.
    Pause {
        /// The text of `PAUSE 'text'`, or the number of `PAUSE 3`.
        message: Option<String>,
        /// The file, as the build names it.
        file: String,
        /// The line in it; 0 where it is not known.
        line: u32,
    },
    /// A READ, WRITE, OPEN or the like failed, and has neither IOSTAT nor a label for that. The unit can be used on.
    Io {
        /// What IOSTAT would be: -1 at the end of the file, positive for errors.
        code: i32,
        /// What gfortran's run-time library says.
        message: String,
        /// The file, as the build names it.
        file: String,
        /// The line in it; 0 where it is not known.
        line: u32,
    },
    /// There is no memory for an array or a text; or what ALLOCATE shall make is there already, or what DEALLOCATE shall
    /// free is not.
    Memory {
        /// What the program says, in Fortran: `ALLOCATE (W(N))`, or the declaration `W(N)`.
        statement: String,
        /// The file, as the build names it.
        file: String,
        /// The line in it; 0 where it is not known.
        line: u32,
    },
    /// An INTEGER was divided by zero, or zero raised to a negative power.
    DivisionByZero {
        /// What the program says, in Fortran: `I/J`, `MOD(I, J)`, `I**J`.
        expression: String,
        /// The file, as the build names it.
        file: String,
        /// The line in it; 0 where it is not known.
        line: u32,
    },
    /// The step of a loop or of a section was zero.
    ZeroStep {
        /// The step, in Fortran.
        expression: String,
        /// The file, as the build names it.
        file: String,
        /// The line in it; 0 where it is not known.
        line: u32,
    },
    /// A floating-point operation had no result of use, and the settings make that an error (`float-errors`). What the subprogram
    /// had assigned stands.
    Float {
        /// `a division by zero`, `an overflow`, `an invalid operation`, `an underflow`.
        what: String,
        /// The file of the subprogram that was called, as the build names it.
        file: String,
        /// The line where it begins; 0 where that is not known.
        line: u32,
    },
    /// Another thread holds the library's COMMON and saved variables, and has been in one call of a closure for so long that
    /// it seems to wait for this one. Nothing was called.
    Busy {
        /// For how long this thread has waited for that closure.
        seconds: u64,
    },
}

/// The place of an error, in parentheses.
struct At<'a>(&'a str, u32);

impl fmt::Display for At<'_> {
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
                let is = match subscripts.len() {
                    1 if reference.contains('(') => "with subscript",
                    1 => "of size",
                    _ => "with",
                };
                write!(
                    f,
                    "{reference} {is} {values} is outside: there are {elements} elements{}",
                    At(file, *line)
                )
            }
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
                write!(f, "{}", At(file, *line))
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
                write!(f, "{}", At(file, *line))
            }
            Error::Io {
                message,
                file,
                line,
                ..
            } => write!(f, "input or output failed: {message}{}", At(file, *line)),
            Error::Memory {
                statement,
                file,
                line,
            } => write!(f, "{statement} failed{}", At(file, *line)),
            Error::DivisionByZero {
                expression,
                file,
                line,
            } => write!(f, "{expression} divides by zero{}", At(file, *line)),
            Error::ZeroStep {
                expression,
                file,
                line,
            } => write!(f, "the step {expression} is zero{}", At(file, *line)),
            Error::Float { what, file, line } => {
                write!(f, "{what} in floating-point arithmetic{}", At(file, *line))
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
