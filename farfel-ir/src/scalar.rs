//! Types of scalars.

use std::fmt;

/// The type of a scalar, or of the elements of an array. Numbers are kinds in bytes *as written*:
/// `REAL` is `Real(4)` even where the compiler is told to make it larger. There, `REAL*4` has the kind
/// [`Type::FOUR_BYTES`], and `REAL*8` is `REAL`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Type {
    /// INTEGER, 1, 2, 4 or 8 bytes.
    Integer(u8),
    /// REAL (4), DOUBLE PRECISION (8) or REAL*16.
    Real(u8),
    /// COMPLEX; the number is the size of *one part*: `Complex(4)` is COMPLEX (COMPLEX*8).
    Complex(u8),
    /// LOGICAL.
    Logical(u8),
    /// CHARACTER; the length is in the symbol.
    Character,
}

impl Type {
    /// The kind of REAL*4, INTEGER*4 and the like where the default kind takes eight bytes. It is less than that of the
    /// default, as it should be in promotion.
    pub const FOUR_BYTES: u8 = 3;
    /// Default INTEGER.
    pub const INTEGER: Type = Type::Integer(4);
    /// Default REAL.
    pub const REAL: Type = Type::Real(4);
    /// DOUBLE PRECISION.
    pub const DOUBLE: Type = Type::Real(8);
    /// Default COMPLEX.
    pub const COMPLEX: Type = Type::Complex(4);
    /// Default LOGICAL.
    pub const LOGICAL: Type = Type::Logical(4);

    /// Returns the type that this one has where a default REAL takes `bytes` bytes: with 8, REAL
    /// and DOUBLE PRECISION are one type.
    #[must_use]
    pub fn with_real(self, bytes: u8) -> Type {
        match self {
            Type::Real(4) => Type::Real(bytes),
            Type::Complex(4) => Type::Complex(bytes),
            Type::Real(Type::FOUR_BYTES) => Type::Real(4),
            Type::Complex(Type::FOUR_BYTES) => Type::Complex(4),
            other => other,
        }
    }

    /// The size of a value of a kind in bytes, if the default kind takes four.
    pub fn bytes(kind: u8) -> u8 {
        match kind {
            Type::FOUR_BYTES => 4,
            other => other,
        }
    }

    /// Whether values of this type can have a tangent: REAL, DOUBLE PRECISION or COMPLEX.
    pub fn is_differentiable(self) -> bool {
        matches!(self, Type::Real(_) | Type::Complex(_))
    }

    /// Whether this is INTEGER, REAL or COMPLEX of any size.
    pub fn is_numeric(self) -> bool {
        matches!(self, Type::Integer(_) | Type::Real(_) | Type::Complex(_))
    }

    /// Returns the same type with another kind; for [`Type::Complex`] that is the size of one part.
    /// CHARACTER is returned unchanged.
    #[must_use]
    pub fn with_kind(self, kind: u8) -> Type {
        match self {
            Type::Integer(_) => Type::Integer(kind),
            Type::Real(_) => Type::Real(kind),
            Type::Complex(_) => Type::Complex(kind),
            Type::Logical(_) => Type::Logical(kind),
            Type::Character => Type::Character,
        }
    }

    /// Returns the type of an arithmetic operation on two numeric types (ANSI X3.9-1978, 6.1.4).
    ///
    /// ```
    /// # use farfel_ir::ir::Type;
    /// assert_eq!(Type::INTEGER.promote(Type::REAL), Type::REAL);
    /// assert_eq!(Type::COMPLEX.promote(Type::DOUBLE), Type::Complex(8));
    /// ```
    #[must_use]
    pub fn promote(self, other: Type) -> Type {
        use Type::{Complex, Integer, Real};
        match (self, other) {
            (Integer(a), Integer(b)) => Integer(a.max(b)),
            (Real(a), Real(b)) => Real(a.max(b)),
            (Complex(a), Complex(b) | Real(b)) | (Real(a), Complex(b)) => Complex(a.max(b)),
            (Integer(_), t) => t,
            (t, _) => t,
        }
    }
}

/// The sizes of the default types in bytes, 4 or 8. A compiler makes them larger with options like `-fdefault-real-8`.
/// They decide what REAL*4 is: the same as REAL, or another type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DefaultSizes {
    /// REAL; a part of COMPLEX.
    pub real: u8,
    /// INTEGER and LOGICAL.
    pub integer: u8,
}

impl Default for DefaultSizes {
    fn default() -> Self {
        DefaultSizes {
            real: 4,
            integer: 4,
        }
    }
}

impl DefaultSizes {
    /// Returns the type with a size that the program writes, for [`Type::Complex`] that of one part. `REAL*8` is `REAL`
    /// where that takes eight bytes: the word is right for any compiler, while `DOUBLE PRECISION` may take more there.
    ///
    /// ```
    /// # use farfel_ir::ir::{DefaultSizes, Type};
    /// let sizes = DefaultSizes { real: 8, integer: 4 };
    /// assert_eq!(sizes.written(Type::REAL, 8), Type::REAL);
    /// assert_eq!(sizes.written(Type::REAL, 4).to_string(), "REAL*4");
    /// assert_eq!(sizes.written(Type::INTEGER, 4), Type::INTEGER);
    /// ```
    pub fn written(self, ty: Type, bytes: u8) -> Type {
        let default = match ty {
            Type::Real(_) | Type::Complex(_) => self.real,
            _ => self.integer,
        };
        ty.with_kind(match bytes {
            n if n == default => 4,
            4 => Type::FOUR_BYTES,
            n => n,
        })
    }

    /// Returns the type with the size of its values as its kind.
    pub fn stored(self, ty: Type) -> Type {
        match ty {
            Type::Real(4) | Type::Complex(4) => ty.with_kind(self.real),
            Type::Integer(4) | Type::Logical(4) => ty.with_kind(self.integer),
            Type::Integer(k) | Type::Real(k) | Type::Complex(k) | Type::Logical(k) => {
                ty.with_kind(Type::bytes(k))
            }
            Type::Character => ty,
        }
    }
}

/// Formats the type as in a declaration: `DOUBLE PRECISION`, `REAL`, `INTEGER*8`, …
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Type::Integer(4) => f.write_str("INTEGER"),
            Type::Integer(n) => write!(f, "INTEGER*{}", Type::bytes(n)),
            Type::Real(4) => f.write_str("REAL"),
            Type::Real(8) => f.write_str("DOUBLE PRECISION"),
            Type::Real(n) => write!(f, "REAL*{}", Type::bytes(n)),
            Type::Complex(4) => f.write_str("COMPLEX"),
            Type::Complex(n) => write!(f, "COMPLEX*{}", 2 * u16::from(Type::bytes(n))),
            Type::Logical(4) => f.write_str("LOGICAL"),
            Type::Logical(n) => write!(f, "LOGICAL*{}", Type::bytes(n)),
            Type::Character => f.write_str("CHARACTER"),
        }
    }
}
