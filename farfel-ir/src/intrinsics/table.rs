//! Intrinsic functions that compute a value and have no side effects.

use super::{Intrinsic, Op, ResultType, Shape};
use crate::scalar::Type;

const I: Type = Type::INTEGER;
const R: Type = Type::REAL;
const D: Type = Type::DOUBLE;
const C: Type = Type::COMPLEX;
const Z: Type = Type::Complex(8);
const L: Type = Type::LOGICAL;
const I8: Type = Type::Integer(8);
const CH: Type = Type::Character;

/// A function's generic name.
const fn generic(name: &'static str, op: Op, args: (u8, u8), result: ResultType) -> Intrinsic {
    Intrinsic {
        name,
        op,
        args,
        takes: None,
        result,
        generic: true,
        standard: true,
        shape: Shape::Elemental,
        kind_at: None,
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
        standard: true,
        shape: Shape::Elemental,
        kind_at: None,
    }
}

impl Intrinsic {
    /// Marks the function as not being part of FORTRAN 77.
    const fn later(self) -> Self {
        Intrinsic {
            standard: false,
            ..self
        }
    }

    /// Marks the argument at this position as a possible KIND.
    const fn kind(self, position: u8) -> Self {
        Intrinsic {
            kind_at: Some(position),
            ..self
        }
    }

    const fn takes(self, ty: Type) -> Self {
        Intrinsic {
            takes: Some(ty),
            ..self
        }
    }

    const fn shaped(self, shape: Shape) -> Self {
        Intrinsic { shape, ..self }
    }
}

/// A function that is not part of FORTRAN 77 and has nothing to differentiate.
const fn other(name: &'static str, args: (u8, u8), result: ResultType) -> Intrinsic {
    generic(name, Op::Other, args, result).later()
}

/// A function of Fortran 90 on whole arrays.
const fn array(
    name: &'static str,
    op: Op,
    args: (u8, u8),
    result: ResultType,
    shape: Shape,
) -> Intrinsic {
    generic(name, op, args, result).later().shaped(shape)
}

/// An inquiry about the type or shape of its argument.
const fn inquiry(name: &'static str, args: (u8, u8), result: ResultType) -> Intrinsic {
    array(name, Op::Other, args, result, Shape::Scalar)
}

use ResultType::{ComplexOf, First, Fixed, RealOf, RealPart, Same, Second};
const MANY: u8 = u8::MAX;

/// All intrinsic functions.
pub static ALL: &[Intrinsic] = &[
    generic("INT", Op::Convert, (1, 2), Fixed(I)).kind(1),
    specific("IFIX", Op::Convert, (1, 1), R, I),
    specific("IDINT", Op::Convert, (1, 1), D, I),
    generic("REAL", Op::Convert, (1, 2), RealOf).kind(1),
    specific("FLOAT", Op::Convert, (1, 1), I, R),
    specific("SNGL", Op::Convert, (1, 1), D, R),
    generic("DBLE", Op::Convert, (1, 1), Fixed(D)),
    specific("DFLOAT", Op::Convert, (1, 1), I, D).later(),
    specific("DREAL", Op::Convert, (1, 1), Z, D).later(),
    generic("CMPLX", Op::Convert, (1, 3), Fixed(C)).kind(2),
    generic("DCMPLX", Op::Convert, (1, 2), Fixed(Z)).later(),
    generic("AINT", Op::Aint, (1, 2), Same).kind(1),
    specific("DINT", Op::Aint, (1, 1), D, D),
    generic("ANINT", Op::Anint, (1, 2), Same).kind(1),
    specific("DNINT", Op::Anint, (1, 1), D, D),
    generic("NINT", Op::Nint, (1, 2), Fixed(I)).kind(1),
    specific("IDNINT", Op::Nint, (1, 1), D, I),
    generic("ABS", Op::Abs, (1, 1), RealPart),
    specific("IABS", Op::Abs, (1, 1), I, I),
    specific("DABS", Op::Abs, (1, 1), D, D),
    specific("CABS", Op::Abs, (1, 1), C, R),
    specific("CDABS", Op::Abs, (1, 1), Z, D).later(),
    specific("ZABS", Op::Abs, (1, 1), Z, D).later(),
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
    generic("IMAG", Op::Aimag, (1, 1), RealPart).later(),
    specific("DIMAG", Op::Aimag, (1, 1), Z, D).later(),
    generic("CONJG", Op::Conjg, (1, 1), ComplexOf),
    specific("DCONJG", Op::Conjg, (1, 1), Z, Z).later(),
    generic("SQRT", Op::Sqrt, (1, 1), Same),
    specific("DSQRT", Op::Sqrt, (1, 1), D, D),
    specific("CSQRT", Op::Sqrt, (1, 1), C, C),
    specific("CDSQRT", Op::Sqrt, (1, 1), Z, Z).later(),
    specific("ZSQRT", Op::Sqrt, (1, 1), Z, Z).later(),
    generic("EXP", Op::Exp, (1, 1), Same),
    specific("DEXP", Op::Exp, (1, 1), D, D),
    specific("CEXP", Op::Exp, (1, 1), C, C),
    specific("CDEXP", Op::Exp, (1, 1), Z, Z).later(),
    specific("ZEXP", Op::Exp, (1, 1), Z, Z).later(),
    generic("LOG", Op::Log, (1, 1), Same),
    specific("ALOG", Op::Log, (1, 1), R, R),
    specific("DLOG", Op::Log, (1, 1), D, D),
    specific("CLOG", Op::Log, (1, 1), C, C),
    specific("CDLOG", Op::Log, (1, 1), Z, Z).later(),
    specific("ZLOG", Op::Log, (1, 1), Z, Z).later(),
    generic("LOG10", Op::Log10, (1, 1), Same),
    specific("ALOG10", Op::Log10, (1, 1), R, R),
    specific("DLOG10", Op::Log10, (1, 1), D, D),
    generic("SIN", Op::Sin, (1, 1), Same),
    specific("DSIN", Op::Sin, (1, 1), D, D),
    specific("CSIN", Op::Sin, (1, 1), C, C),
    specific("CDSIN", Op::Sin, (1, 1), Z, Z).later(),
    specific("ZSIN", Op::Sin, (1, 1), Z, Z).later(),
    generic("COS", Op::Cos, (1, 1), Same),
    specific("DCOS", Op::Cos, (1, 1), D, D),
    specific("CCOS", Op::Cos, (1, 1), C, C),
    specific("CDCOS", Op::Cos, (1, 1), Z, Z).later(),
    specific("ZCOS", Op::Cos, (1, 1), Z, Z).later(),
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
    generic("ERF", Op::Erf, (1, 1), Same).later(),
    specific("DERF", Op::Erf, (1, 1), D, D).later(),
    generic("ERFC", Op::Erfc, (1, 1), Same).later(),
    specific("DERFC", Op::Erfc, (1, 1), D, D).later(),
    generic("GAMMA", Op::Gamma, (1, 1), Same).later(),
    generic("LOG_GAMMA", Op::LogGamma, (1, 1), Same).later(),
    specific("LEN", Op::Other, (1, 2), CH, I)
        .kind(1)
        .shaped(Shape::Scalar),
    specific("LEN_TRIM", Op::Other, (1, 2), CH, I)
        .later()
        .kind(1),
    specific("TRIM", Op::Other, (1, 1), CH, CH)
        .later()
        .shaped(Shape::Scalar),
    specific("INDEX", Op::Other, (2, 4), CH, I).kind(3),
    specific("ICHAR", Op::Other, (1, 2), CH, I).kind(1),
    specific("CHAR", Op::Other, (1, 2), I, CH).kind(1),
    specific("LGE", Op::Other, (2, 2), CH, L),
    specific("LGT", Op::Other, (2, 2), CH, L),
    specific("LLE", Op::Other, (2, 2), CH, L),
    specific("LLT", Op::Other, (2, 2), CH, L),
    generic("IAND", Op::Other, (2, 2), Same).later(),
    generic("IOR", Op::Other, (2, 2), Same).later(),
    generic("IEOR", Op::Other, (2, 2), Same).later(),
    generic("NOT", Op::Other, (1, 1), Same).later(),
    generic("ISHFT", Op::Other, (2, 2), First).later(),
    generic("IBSET", Op::Other, (2, 2), First).later(),
    generic("IBCLR", Op::Other, (2, 2), First).later(),
    specific("BTEST", Op::Other, (2, 2), I, L).later(),
    // Conversions.
    generic("INT2", Op::Convert, (1, 1), Fixed(Type::Integer(2))).later(),
    generic("INT8", Op::Convert, (1, 1), Fixed(I8)).later(),
    generic("REALPART", Op::Convert, (1, 1), RealPart)
        .later()
        .takes(C),
    generic("IMAGPART", Op::Aimag, (1, 1), RealPart)
        .later()
        .takes(C),
    generic("COMPLEX", Op::Opaque, (2, 2), ComplexOf).later(),
    other("LOGICAL", (1, 2), Fixed(L)).kind(1),
    other("CEILING", (1, 2), Fixed(I)).kind(1),
    other("FLOOR", (1, 2), Fixed(I)).kind(1),
    generic("MODULO", Op::Modulo, (2, 2), Same).later(),
    // Mathematics.
    generic("ASINH", Op::Opaque, (1, 1), Same).later(),
    generic("ACOSH", Op::Opaque, (1, 1), Same).later(),
    generic("ATANH", Op::Opaque, (1, 1), Same).later(),
    generic("BESJ0", Op::Opaque, (1, 1), Same).later(),
    generic("BESJ1", Op::Opaque, (1, 1), Same).later(),
    generic("BESY0", Op::Opaque, (1, 1), Same).later(),
    generic("BESY1", Op::Opaque, (1, 1), Same).later(),
    generic("BESSEL_J0", Op::Opaque, (1, 1), Same).later(),
    generic("BESSEL_J1", Op::Opaque, (1, 1), Same).later(),
    generic("BESSEL_Y0", Op::Opaque, (1, 1), Same).later(),
    generic("BESSEL_Y1", Op::Opaque, (1, 1), Same).later(),
    generic("ERFC_SCALED", Op::Opaque, (1, 1), Same).later(),
    generic("LGAMMA", Op::LogGamma, (1, 1), Same).later(),
    generic("ALGAMA", Op::LogGamma, (1, 1), Same).later(),
    specific("DGAMMA", Op::Gamma, (1, 1), D, D).later(),
    specific("DLGAMA", Op::LogGamma, (1, 1), D, D).later(),
    specific("DASINH", Op::Opaque, (1, 1), D, D).later(),
    specific("DACOSH", Op::Opaque, (1, 1), D, D).later(),
    specific("DATANH", Op::Opaque, (1, 1), D, D).later(),
    specific("DBESJ0", Op::Opaque, (1, 1), D, D).later(),
    specific("DBESJ1", Op::Opaque, (1, 1), D, D).later(),
    specific("DBESY0", Op::Opaque, (1, 1), D, D).later(),
    specific("DBESY1", Op::Opaque, (1, 1), D, D).later(),
    generic("BESJN", Op::Opaque, (2, 2), Second).later(),
    generic("BESYN", Op::Opaque, (2, 2), Second).later(),
    generic("BESSEL_JN", Op::Opaque, (2, 3), Second).later(),
    generic("BESSEL_YN", Op::Opaque, (2, 3), Second).later(),
    generic("DBESJN", Op::Opaque, (2, 2), Fixed(D)).later(),
    generic("DBESYN", Op::Opaque, (2, 2), Fixed(D)).later(),
    generic("HYPOT", Op::Opaque, (2, 2), Same).later(),
    generic("COTAN", Op::Opaque, (1, 1), Same).later(),
    generic("SIND", Op::Opaque, (1, 1), Same).later(),
    generic("COSD", Op::Opaque, (1, 1), Same).later(),
    generic("TAND", Op::Opaque, (1, 1), Same).later(),
    generic("ASIND", Op::Opaque, (1, 1), Same).later(),
    generic("ACOSD", Op::Opaque, (1, 1), Same).later(),
    generic("ATAND", Op::Opaque, (1, 1), Same).later(),
    generic("COTAND", Op::Opaque, (1, 1), Same).later(),
    specific("DCOTAN", Op::Opaque, (1, 1), D, D).later(),
    specific("DSIND", Op::Opaque, (1, 1), D, D).later(),
    specific("DCOSD", Op::Opaque, (1, 1), D, D).later(),
    specific("DTAND", Op::Opaque, (1, 1), D, D).later(),
    specific("DASIND", Op::Opaque, (1, 1), D, D).later(),
    specific("DACOSD", Op::Opaque, (1, 1), D, D).later(),
    specific("DATAND", Op::Opaque, (1, 1), D, D).later(),
    specific("DCOTAND", Op::Opaque, (1, 1), D, D).later(),
    generic("ATAN2D", Op::Opaque, (2, 2), Same).later(),
    specific("DATAN2D", Op::Opaque, (2, 2), D, D).later(),
    // Numbers and their parts.
    inquiry("EPSILON", (1, 1), First),
    inquiry("HUGE", (1, 1), First),
    inquiry("TINY", (1, 1), First),
    inquiry("DIGITS", (1, 1), Fixed(I)),
    inquiry("RADIX", (1, 1), Fixed(I)),
    inquiry("RANGE", (1, 1), Fixed(I)),
    inquiry("PRECISION", (1, 1), Fixed(I)),
    inquiry("MAXEXPONENT", (1, 1), Fixed(I)),
    inquiry("MINEXPONENT", (1, 1), Fixed(I)),
    inquiry("BIT_SIZE", (1, 1), First),
    inquiry("KIND", (1, 1), Fixed(I)),
    inquiry("SELECTED_INT_KIND", (1, 1), Fixed(I)),
    inquiry("SELECTED_CHAR_KIND", (1, 1), Fixed(I)),
    inquiry("SELECTED_REAL_KIND", (0, 3), Fixed(I)),
    other("EXPONENT", (1, 1), Fixed(I)),
    generic("FRACTION", Op::Opaque, (1, 1), First).later(),
    generic("SET_EXPONENT", Op::Opaque, (2, 2), First).later(),
    generic("NEAREST", Op::Opaque, (2, 2), First).later(),
    generic("RRSPACING", Op::Opaque, (1, 1), First).later(),
    other("SPACING", (1, 1), First),
    generic("SCALE", Op::Linear, (2, 2), First).later(),
    other("ISNAN", (1, 1), Fixed(L)),
    // Bits.
    other("AND", (2, 2), Same),
    other("OR", (2, 2), Same),
    other("XOR", (2, 2), Same),
    other("RSHIFT", (2, 2), First),
    other("LSHIFT", (2, 2), First),
    other("SHIFTA", (2, 2), First),
    other("SHIFTL", (2, 2), First),
    other("SHIFTR", (2, 2), First),
    other("ISHFTC", (2, 3), First),
    other("IBITS", (3, 3), First),
    other("DSHIFTL", (3, 3), First),
    other("DSHIFTR", (3, 3), First),
    other("MERGE_BITS", (3, 3), First),
    other("LEADZ", (1, 1), Fixed(I)),
    other("TRAILZ", (1, 1), Fixed(I)),
    other("POPCNT", (1, 1), Fixed(I)),
    other("POPPAR", (1, 1), Fixed(I)),
    other("MASKL", (1, 2), Fixed(I)).kind(1),
    other("MASKR", (1, 2), Fixed(I)).kind(1),
    other("BGE", (2, 2), Fixed(L)),
    other("BGT", (2, 2), Fixed(L)),
    other("BLE", (2, 2), Fixed(L)),
    other("BLT", (2, 2), Fixed(L)),
    // Characters.
    other("SCAN", (2, 4), Fixed(I)).kind(3),
    other("VERIFY", (2, 4), Fixed(I)).kind(3),
    other("ADJUSTL", (1, 1), Fixed(CH)),
    other("ADJUSTR", (1, 1), Fixed(CH)),
    array("REPEAT", Op::Other, (2, 2), Fixed(CH), Shape::Scalar),
    other("ACHAR", (1, 2), Fixed(CH)),
    other("IACHAR", (1, 2), Fixed(I)).kind(1),
    inquiry("LNBLNK", (1, 1), Fixed(I)),
    inquiry("NEW_LINE", (1, 1), Fixed(CH)),
    // Arrays.
    array("SUM", Op::Linear, (1, 3), First, Shape::Reduced),
    array("PRODUCT", Op::Opaque, (1, 3), First, Shape::Reduced),
    array("MAXVAL", Op::Opaque, (1, 3), First, Shape::Reduced),
    array("MINVAL", Op::Opaque, (1, 3), First, Shape::Reduced),
    array("NORM2", Op::Opaque, (1, 2), First, Shape::Reduced),
    array("IALL", Op::Other, (1, 3), First, Shape::Reduced),
    array("IANY", Op::Other, (1, 3), First, Shape::Reduced),
    array("IPARITY", Op::Other, (1, 3), First, Shape::Reduced),
    array("ANY", Op::Other, (1, 2), Fixed(L), Shape::Reduced),
    array("ALL", Op::Other, (1, 2), Fixed(L), Shape::Reduced),
    array("PARITY", Op::Other, (1, 2), Fixed(L), Shape::Reduced),
    array("COUNT", Op::Other, (1, 3), Fixed(I), Shape::Reduced).kind(2),
    array("MAXLOC", Op::Other, (1, 5), Fixed(I), Shape::Location),
    array("MINLOC", Op::Other, (1, 5), Fixed(I), Shape::Location),
    array("FINDLOC", Op::Other, (2, 6), Fixed(I), Shape::Location),
    array("DOT_PRODUCT", Op::Bilinear, (2, 2), Same, Shape::Scalar),
    array("MATMUL", Op::Bilinear, (2, 2), Same, Shape::Product),
    array("TRANSPOSE", Op::Linear, (1, 1), First, Shape::First),
    array("RESHAPE", Op::Linear, (2, 4), First, Shape::Reshaped),
    array("SPREAD", Op::Linear, (3, 3), First, Shape::More),
    array("PACK", Op::Linear, (2, 3), First, Shape::Vector),
    array("UNPACK", Op::Opaque, (3, 3), First, Shape::More),
    array("CSHIFT", Op::Linear, (2, 3), First, Shape::First),
    array("EOSHIFT", Op::Linear, (2, 4), First, Shape::First),
    generic("MERGE", Op::Merge, (3, 3), First).later(),
    array("SIZE", Op::Other, (1, 3), Fixed(I), Shape::Scalar).kind(2),
    array("SHAPE", Op::Other, (1, 2), Fixed(I), Shape::Vector).kind(1),
    array("LBOUND", Op::Other, (1, 3), Fixed(I), Shape::Bounds).kind(2),
    array("UBOUND", Op::Other, (1, 3), Fixed(I), Shape::Bounds).kind(2),
    inquiry("ALLOCATED", (1, 1), Fixed(L)),
    inquiry("PRESENT", (1, 1), Fixed(L)),
    // Storage.
    inquiry("LOC", (1, 1), Fixed(I8)),
    inquiry("SIZEOF", (1, 1), Fixed(I8)),
    inquiry("STORAGE_SIZE", (1, 2), Fixed(I)).kind(1),
    array("TRANSFER", Op::Opaque, (2, 3), Second, Shape::Scalar),
    other("IS_IOSTAT_END", (1, 1), Fixed(L)),
    other("IS_IOSTAT_EOR", (1, 1), Fixed(L)),
];

#[cfg(test)]
mod tests {
    #[test]
    fn no_name_is_listed_twice() {
        let mut names: Vec<_> = super::ALL.iter().map(|i| i.name).collect();
        names.sort_unstable();
        assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
    }
}
