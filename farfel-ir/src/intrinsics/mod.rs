//! The intrinsic procedures of FORTRAN 77 (ANSI X3.9-1978, table 5), of Fortran 90 and
//! later as far as old programs use them, and those that compilers added: what gfortran
//! knows under `-std=legacy`.
//!
//! | module | what |
//! |---|---|
//! | `table` | functions without side effects, by specific and generic name |
//! | `vendor` | subroutines, and functions that do more than compute a value |

mod table;
mod vendor;

use crate::scalar::Type;

pub use table::ALL;
pub use vendor::{Vendor, is_vendor_procedure, vendor};

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
    /// With the sign of the first argument (MOD).
    Mod,
    /// With the sign of the second argument (MODULO).
    Modulo,
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
    /// Linear in the first argument: SUM, TRANSPOSE, RESHAPE, …
    Linear,
    /// Linear in each of two arguments: DOT_PRODUCT, MATMUL.
    Bilinear,
    /// MERGE: the first or the second argument, as the third says.
    Merge,
    /// Has a derivative, which is not known here: Bessel functions, PRODUCT, TRANSFER, …
    Opaque,
    /// Character and bit functions, inquiries: nothing to differentiate.
    Other,
}

/// The shape of the result of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Element by element: the shape of the arguments.
    Elemental,
    /// A scalar, whatever the arguments.
    Scalar,
    /// A scalar; with DIM, one dimension less than the first argument: SUM.
    Reduced,
    /// As many elements as the first argument has dimensions, or a scalar with DIM: LBOUND.
    Bounds,
    /// As many elements as the first argument has dimensions; with DIM one dimension less
    /// than it: MAXLOC.
    Location,
    /// One dimension: PACK, SHAPE.
    Vector,
    /// As the first argument: CSHIFT, TRANSPOSE.
    First,
    /// One dimension more than the first argument: SPREAD.
    More,
    /// MATMUL.
    Product,
    /// As many dimensions as the second argument has elements: RESHAPE.
    Reshaped,
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
    /// The type of the first argument.
    First,
    /// The type of the second argument (TRANSFER).
    Second,
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
    /// FORTRAN 77 knows it. Of others, a program may have a function of its own.
    pub standard: bool,
    /// The shape of the result.
    pub shape: Shape,
    /// Position of the argument KIND, if it may have one.
    pub kind_at: Option<u8>,
}

impl Intrinsic {
    /// The intrinsic function of a name in upper case.
    ///
    /// ```
    /// # use farfel_ir::intrinsics::{Intrinsic, Op};
    /// assert_eq!(Intrinsic::find("DSQRT").unwrap().op, Op::Sqrt);
    /// assert!(Intrinsic::find("ROOT").is_none());
    /// ```
    pub fn find(name: &str) -> Option<&'static Intrinsic> {
        static BY_NAME: std::sync::LazyLock<
            std::collections::HashMap<&'static str, &'static Intrinsic>,
        > = std::sync::LazyLock::new(|| ALL.iter().map(|i| (i.name, i)).collect());
        BY_NAME.get(name).copied()
    }

    /// Is it a function of what its argument is, not of its value?
    pub fn asks_for_shape(&self) -> bool {
        const ALL: [&str; 7] = [
            "LEN", "SIZE", "LBOUND", "UBOUND", "SHAPE", "KIND", "BIT_SIZE",
        ];
        ALL.contains(&self.name)
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
            ResultType::First => args.first().copied().unwrap_or(Type::REAL),
            ResultType::Second => args.get(1).copied().unwrap_or(Type::REAL),
            ResultType::ComplexOf => match args.first() {
                Some(Type::Complex(n) | Type::Real(n)) => Type::Complex(*n),
                _ => Type::COMPLEX,
            },
        }
    }
}
