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
    /// The program executed STOP. What the subprogram had assigned until then stands.
    Stop {
        /// `3` for `STOP 3`; 0 for a STOP with text or without anything.
        code: i32,
        /// The text of `STOP 'text'`.
        message: Option<String>,
    },
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
            Error::Stop {
                code,
                message: Some(text),
            } if *code == 0 => write!(f, "Fortran program stopped: {text}"),
            Error::Stop {
                code,
                message: Some(text),
            } => write!(f, "Fortran program stopped with code {code}: {text}"),
            Error::Stop { code: 0, .. } => f.write_str("Fortran program stopped"),
            Error::Stop { code, .. } => write!(f, "Fortran program stopped with code {code}"),
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
            }
            .to_string()
        };
        assert_eq!(stop(0, None), "Fortran program stopped");
        assert_eq!(stop(3, None), "Fortran program stopped with code 3");
        assert_eq!(stop(0, Some("NO ROOT")), "Fortran program stopped: NO ROOT");
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
