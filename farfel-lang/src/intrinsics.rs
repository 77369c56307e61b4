//! The intrinsic functions of FORTRAN 77 (ANSI X3.9-1978, table 5) and the common
//! extensions, by specific and generic name.

use crate::ir::Type;

/// What an intrinsic function computes, whatever the type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Op {
    /// Conversion to the result type (INT, REAL, DBLE, FLOAT, SNGL, IFIX, IDINT, CMPLX…).
    Convert,
    /// Truncation to a whole number of the same type (AINT).
    Aint,
    /// Rounding to a whole number of the same type (ANINT).
    Anint,
    /// Rounding to INTEGER (NINT).
    Nint,
    Abs,
    Mod,
    Sign,
    Dim,
    /// DPROD: product of two REALs in double precision.
    Dprod,
    Max,
    Min,
    /// Imaginary part (AIMAG).
    Aimag,
    Conjg,
    Sqrt,
    Exp,
    Log,
    Log10,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Atan2,
    Sinh,
    Cosh,
    Tanh,
    Erf,
    Erfc,
    Gamma,
    LogGamma,
    /// Character and bit functions, inquiries: nothing to differentiate.
    Other,
}

/// How the type of the result follows from the arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResultType {
    /// The promoted type of the arguments.
    Same,
    /// Always this type.
    Fixed(Type),
    /// The real type of the parts of a complex argument, else the argument's own.
    RealPart,
    /// REAL, but of a complex argument the type of its parts.
    RealOf,
    /// COMPLEX of the parts' size.
    ComplexOf,
}

/// One name of one intrinsic function.
#[derive(Debug, PartialEq, Eq)]
pub struct Intrinsic {
    /// The name.
    pub name: &'static str,
    /// What it computes.
    pub op: Op,
    /// Least and most number of arguments.
    pub args: (u8, u8),
    /// The type that a specific name wants of its arguments; `None` for generic names.
    pub takes: Option<Type>,
    /// The type of its result.
    pub result: ResultType,
    /// May be an actual argument when named in INTRINSIC (specific names only).
    pub generic: bool,
}

impl Intrinsic {
    /// The intrinsic function of a name in upper case.
    ///
    /// ```
    /// # use farfel_lang::intrinsics::{Intrinsic, Op};
    /// assert_eq!(Intrinsic::find("DSQRT").unwrap().op, Op::Sqrt);
    /// assert!(Intrinsic::find("ROOT").is_none());
    /// ```
    pub fn find(name: &str) -> Option<&'static Intrinsic> {
        static BY_NAME: std::sync::LazyLock<
            std::collections::HashMap<&'static str, &'static Intrinsic>,
        > = std::sync::LazyLock::new(|| ALL.iter().map(|i| (i.name, i)).collect());
        BY_NAME.get(name).copied()
    }

    /// The type of the result for arguments of these types.
    pub fn result_type(&self, args: &[Type]) -> Type {
        match self.result {
            ResultType::Fixed(t) => t,
            ResultType::Same => args
                .iter()
                .copied()
                .reduce(Type::promote)
                .unwrap_or(Type::REAL),
            ResultType::RealPart => match args.first() {
                Some(Type::Complex(n)) => Type::Real(*n),
                Some(t) => *t,
                None => Type::REAL,
            },
            ResultType::RealOf => match args.first() {
                Some(Type::Complex(n)) => Type::Real(*n),
                _ => Type::REAL,
            },
            ResultType::ComplexOf => match args.first() {
                Some(Type::Complex(n) | Type::Real(n)) => Type::Complex(*n),
                _ => Type::COMPLEX,
            },
        }
    }
}

/// True for the procedures that compilers add to the language and old programs call
/// without declaring them: gfortran has them under `-std=legacy`. (Sorted.)
///
/// ```
/// # use farfel_lang::intrinsics::is_vendor_procedure;
/// assert!(is_vendor_procedure("GETARG") && !is_vendor_procedure("DGEMM"));
/// ```
pub fn is_vendor_procedure(name: &str) -> bool {
    VENDOR.binary_search(&name).is_ok()
}

static VENDOR: &[&str] = &[
    "ABORT",
    "ALARM",
    "CHDIR",
    "CHMOD",
    "CPU_TIME",
    "CTIME",
    "DATE_AND_TIME",
    "DTIME",
    "ETIME",
    "EXIT",
    "FDATE",
    "FGET",
    "FGETC",
    "FLUSH",
    "FNUM",
    "FPUT",
    "FPUTC",
    "FSEEK",
    "FSTAT",
    "FTELL",
    "GERROR",
    "GETARG",
    "GETCWD",
    "GETENV",
    "GETGID",
    "GETLOG",
    "GETPID",
    "GETUID",
    "GMTIME",
    "HOSTNM",
    "IARGC",
    "IDATE",
    "IERRNO",
    "IRAND",
    "ISATTY",
    "ITIME",
    "KILL",
    "LINK",
    "LNBLNK",
    "LSTAT",
    "LTIME",
    "MCLOCK",
    "PERROR",
    "RAN",
    "RAND",
    "RANDOM_NUMBER",
    "RANDOM_SEED",
    "RENAME",
    "SECNDS",
    "SECOND",
    "SIGNAL",
    "SLEEP",
    "SRAND",
    "STAT",
    "SYMLNK",
    "SYSTEM",
    "SYSTEM_CLOCK",
    "TIME",
    "TIME8",
    "TTYNAM",
    "UMASK",
    "UNLINK",
];

const I: Type = Type::INTEGER;
const R: Type = Type::REAL;
const D: Type = Type::DOUBLE;
const C: Type = Type::COMPLEX;
const Z: Type = Type::Complex(8);
const L: Type = Type::LOGICAL;
const CH: Type = Type::Character;

const fn generic(name: &'static str, op: Op, args: (u8, u8), result: ResultType) -> Intrinsic {
    Intrinsic {
        name,
        op,
        args,
        takes: None,
        result,
        generic: true,
    }
}

const fn specific(
    name: &'static str,
    op: Op,
    args: (u8, u8),
    takes: Type,
    result: Type,
) -> Intrinsic {
    Intrinsic {
        name,
        op,
        args,
        takes: Some(takes),
        result: ResultType::Fixed(result),
        generic: false,
    }
}

use ResultType::{ComplexOf, Fixed, RealOf, RealPart, Same};
const MANY: u8 = u8::MAX;

/// All of them.
pub static ALL: &[Intrinsic] = &[
    generic("INT", Op::Convert, (1, 2), Fixed(I)),
    specific("IFIX", Op::Convert, (1, 1), R, I),
    specific("IDINT", Op::Convert, (1, 1), D, I),
    generic("REAL", Op::Convert, (1, 2), RealOf),
    specific("FLOAT", Op::Convert, (1, 1), I, R),
    specific("SNGL", Op::Convert, (1, 1), D, R),
    generic("DBLE", Op::Convert, (1, 1), Fixed(D)),
    specific("DFLOAT", Op::Convert, (1, 1), I, D),
    specific("DREAL", Op::Convert, (1, 1), Z, D),
    generic("CMPLX", Op::Convert, (1, 3), Fixed(C)),
    generic("DCMPLX", Op::Convert, (1, 2), Fixed(Z)),
    generic("AINT", Op::Aint, (1, 1), Same),
    specific("DINT", Op::Aint, (1, 1), D, D),
    generic("ANINT", Op::Anint, (1, 1), Same),
    specific("DNINT", Op::Anint, (1, 1), D, D),
    generic("NINT", Op::Nint, (1, 1), Fixed(I)),
    specific("IDNINT", Op::Nint, (1, 1), D, I),
    generic("ABS", Op::Abs, (1, 1), RealPart),
    specific("IABS", Op::Abs, (1, 1), I, I),
    specific("DABS", Op::Abs, (1, 1), D, D),
    specific("CABS", Op::Abs, (1, 1), C, R),
    specific("CDABS", Op::Abs, (1, 1), Z, D),
    specific("ZABS", Op::Abs, (1, 1), Z, D),
    generic("MOD", Op::Mod, (2, 2), Same),
    specific("AMOD", Op::Mod, (2, 2), R, R),
    specific("DMOD", Op::Mod, (2, 2), D, D),
    generic("SIGN", Op::Sign, (2, 2), Same),
    specific("ISIGN", Op::Sign, (2, 2), I, I),
    specific("DSIGN", Op::Sign, (2, 2), D, D),
    generic("DIM", Op::Dim, (2, 2), Same),
    specific("IDIM", Op::Dim, (2, 2), I, I),
    specific("DDIM", Op::Dim, (2, 2), D, D),
    specific("DPROD", Op::Dprod, (2, 2), R, D),
    generic("MAX", Op::Max, (2, MANY), Same),
    specific("MAX0", Op::Max, (2, MANY), I, I),
    specific("AMAX1", Op::Max, (2, MANY), R, R),
    specific("DMAX1", Op::Max, (2, MANY), D, D),
    specific("AMAX0", Op::Max, (2, MANY), I, R),
    specific("MAX1", Op::Max, (2, MANY), R, I),
    generic("MIN", Op::Min, (2, MANY), Same),
    specific("MIN0", Op::Min, (2, MANY), I, I),
    specific("AMIN1", Op::Min, (2, MANY), R, R),
    specific("DMIN1", Op::Min, (2, MANY), D, D),
    specific("AMIN0", Op::Min, (2, MANY), I, R),
    specific("MIN1", Op::Min, (2, MANY), R, I),
    generic("AIMAG", Op::Aimag, (1, 1), RealPart),
    generic("IMAG", Op::Aimag, (1, 1), RealPart),
    specific("DIMAG", Op::Aimag, (1, 1), Z, D),
    generic("CONJG", Op::Conjg, (1, 1), ComplexOf),
    specific("DCONJG", Op::Conjg, (1, 1), Z, Z),
    generic("SQRT", Op::Sqrt, (1, 1), Same),
    specific("DSQRT", Op::Sqrt, (1, 1), D, D),
    specific("CSQRT", Op::Sqrt, (1, 1), C, C),
    specific("CDSQRT", Op::Sqrt, (1, 1), Z, Z),
    specific("ZSQRT", Op::Sqrt, (1, 1), Z, Z),
    generic("EXP", Op::Exp, (1, 1), Same),
    specific("DEXP", Op::Exp, (1, 1), D, D),
    specific("CEXP", Op::Exp, (1, 1), C, C),
    specific("CDEXP", Op::Exp, (1, 1), Z, Z),
    specific("ZEXP", Op::Exp, (1, 1), Z, Z),
    generic("LOG", Op::Log, (1, 1), Same),
    specific("ALOG", Op::Log, (1, 1), R, R),
    specific("DLOG", Op::Log, (1, 1), D, D),
    specific("CLOG", Op::Log, (1, 1), C, C),
    specific("CDLOG", Op::Log, (1, 1), Z, Z),
    specific("ZLOG", Op::Log, (1, 1), Z, Z),
    generic("LOG10", Op::Log10, (1, 1), Same),
    specific("ALOG10", Op::Log10, (1, 1), R, R),
    specific("DLOG10", Op::Log10, (1, 1), D, D),
    generic("SIN", Op::Sin, (1, 1), Same),
    specific("DSIN", Op::Sin, (1, 1), D, D),
    specific("CSIN", Op::Sin, (1, 1), C, C),
    specific("CDSIN", Op::Sin, (1, 1), Z, Z),
    specific("ZSIN", Op::Sin, (1, 1), Z, Z),
    generic("COS", Op::Cos, (1, 1), Same),
    specific("DCOS", Op::Cos, (1, 1), D, D),
    specific("CCOS", Op::Cos, (1, 1), C, C),
    specific("CDCOS", Op::Cos, (1, 1), Z, Z),
    specific("ZCOS", Op::Cos, (1, 1), Z, Z),
    generic("TAN", Op::Tan, (1, 1), Same),
    specific("DTAN", Op::Tan, (1, 1), D, D),
    generic("ASIN", Op::Asin, (1, 1), Same),
    specific("DASIN", Op::Asin, (1, 1), D, D),
    generic("ACOS", Op::Acos, (1, 1), Same),
    specific("DACOS", Op::Acos, (1, 1), D, D),
    generic("ATAN", Op::Atan, (1, 1), Same),
    specific("DATAN", Op::Atan, (1, 1), D, D),
    generic("ATAN2", Op::Atan2, (2, 2), Same),
    specific("DATAN2", Op::Atan2, (2, 2), D, D),
    generic("SINH", Op::Sinh, (1, 1), Same),
    specific("DSINH", Op::Sinh, (1, 1), D, D),
    generic("COSH", Op::Cosh, (1, 1), Same),
    specific("DCOSH", Op::Cosh, (1, 1), D, D),
    generic("TANH", Op::Tanh, (1, 1), Same),
    specific("DTANH", Op::Tanh, (1, 1), D, D),
    generic("ERF", Op::Erf, (1, 1), Same),
    specific("DERF", Op::Erf, (1, 1), D, D),
    generic("ERFC", Op::Erfc, (1, 1), Same),
    specific("DERFC", Op::Erfc, (1, 1), D, D),
    generic("GAMMA", Op::Gamma, (1, 1), Same),
    generic("LOG_GAMMA", Op::LogGamma, (1, 1), Same),
    specific("LEN", Op::Other, (1, 1), CH, I),
    specific("LEN_TRIM", Op::Other, (1, 1), CH, I),
    specific("TRIM", Op::Other, (1, 1), CH, CH),
    specific("INDEX", Op::Other, (2, 2), CH, I),
    specific("ICHAR", Op::Other, (1, 1), CH, I),
    specific("CHAR", Op::Other, (1, 1), I, CH),
    specific("LGE", Op::Other, (2, 2), CH, L),
    specific("LGT", Op::Other, (2, 2), CH, L),
    specific("LLE", Op::Other, (2, 2), CH, L),
    specific("LLT", Op::Other, (2, 2), CH, L),
    generic("IAND", Op::Other, (2, 2), Same),
    generic("IOR", Op::Other, (2, 2), Same),
    generic("IEOR", Op::Other, (2, 2), Same),
    generic("NOT", Op::Other, (1, 1), Same),
    generic("ISHFT", Op::Other, (2, 2), Same),
    generic("IBSET", Op::Other, (2, 2), Same),
    generic("IBCLR", Op::Other, (2, 2), Same),
    specific("BTEST", Op::Other, (2, 2), I, L),
];

#[cfg(test)]
mod tests {
    #[test]
    fn vendor_procedures_are_sorted() {
        assert!(super::VENDOR.is_sorted());
    }
}
