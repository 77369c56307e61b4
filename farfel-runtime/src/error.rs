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
                    "{reference} {is} {values} is outside: there are {elements} elements ({file}"
                )?;
                match line {
                    0 => f.write_str(")"),
                    line => write!(f, ":{line})"),
                }
            }
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
