//! The intrinsic procedures of FORTRAN 77 (ANSI X3.9-1978, table 5), of Fortran 90 and later as far
//! as old programs use them, and vendor extensions: what gfortran accepts under `-std=legacy`.
//!
//! | module | contents |
//! |---|---|
//! | `table` | functions without side effects, by specific and generic name |
//! | `vendor` | subroutines, and functions that do more than compute a value |

mod table;
mod vendor;

use crate::scalar::Type;

pub use table::ALL;
pub use vendor::{Vendor, is_vendor_procedure, vendor};

/// What an intrinsic function computes, independent of the type.
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
    /// Remainder with the sign of the first argument (MOD).
    Mod,
    /// Remainder with the sign of the second argument (MODULO).
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
    /// MERGE: the first or the second argument, selected by the third.
    Merge,
    /// Differentiable, but the derivative is not known here: Bessel functions, PRODUCT, TRANSFER, …
    Opaque,
    /// Nothing to differentiate: character and bit functions, inquiries.
    Other,
}

/// The shape of the result of an intrinsic function.
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
    /// The shape of the first argument: CSHIFT, TRANSPOSE.
    First,
    /// One dimension more than the first argument: SPREAD.
    More,
    /// The shape of a matrix product: MATMUL.
    Product,
    /// As many dimensions as the second argument has elements: RESHAPE.
    Reshaped,
}

/// How the type of the result depends on the arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResultType {
    /// The promoted type of the arguments.
    Same,
    /// Always this type.
    Fixed(Type),
    /// The real type of the parts of a complex argument, otherwise the argument's own type.
    RealPart,
    /// REAL, or for a complex argument the type of its parts.
    RealOf,
    /// COMPLEX with parts of the argument's size.
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
    /// The smallest and largest number of arguments.
    pub args: (u8, u8),
    /// The type of the arguments that a specific name requires; `None` for generic names.
    pub takes: Option<Type>,
    /// The type of its result.
    pub result: ResultType,
    /// Whether this is a generic name. Only specific names can be actual arguments.
    pub generic: bool,
    /// Whether it is part of FORTRAN 77. A program may define a function of its own with the name
    /// of any other.
    pub standard: bool,
    /// The shape of the result.
    pub shape: Shape,
    /// The position of the argument KIND, if it can have one.
    pub kind_at: Option<u8>,
}

impl Intrinsic {
    /// Returns the intrinsic function with this name (in upper case).
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

    /// Whether it inquires about properties of its argument and not its value.
    pub fn is_inquiry(&self) -> bool {
        const ALL: [&str; 7] = [
            "LEN", "SIZE", "LBOUND", "UBOUND", "SHAPE", "KIND", "BIT_SIZE",
        ];
        ALL.contains(&self.name)
    }

    /// Returns the type of the result for arguments of these types.
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
