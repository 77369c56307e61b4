//! Values of constants, and the operators and intrinsic functions on them.

use crate::encoding;
use crate::ir::{BinOp, Type, UnOp};
use std::cmp::Ordering;

/// The value of a constant expression. Numbers are kinds in bytes, as in [`Type`].
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// INTEGER
    Integer(i64, u8),
    /// REAL or DOUBLE PRECISION, rounded to its kind.
    Real(f64, u8),
    /// COMPLEX: its parts and their kind.
    Complex(f64, f64, u8),
    /// LOGICAL
    Logical(bool),
    /// CHARACTER, with one character per byte.
    Character(String),
}

/// Why an operation on constants has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoValue {
    /// The result does not fit its type.
    Overflow(Type),
    /// Division by zero, or zero to a negative power.
    DivisionByZero,
}

/// A value, or `None` if this module cannot compute it, or the reason why there is none.
pub(super) type EvaluationResult = Result<Option<Value>, NoValue>;

impl Value {
    /// Returns the value of an INTEGER.
    pub fn integer(&self) -> Option<i64> {
        match self {
            Value::Integer(n, _) => Some(*n),
            _ => None,
        }
    }

    /// Returns the type of the value.
    pub fn ty(&self) -> Type {
        match self {
            Value::Integer(_, k) => Type::Integer(*k),
            Value::Real(_, k) => Type::Real(*k),
            Value::Complex(_, _, k) => Type::Complex(*k),
            Value::Logical(_) => Type::LOGICAL,
            Value::Character(_) => Type::Character,
        }
    }

    /// Returns the value of an INTEGER or REAL as a floating-point number.
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Value::Integer(n, _) => Some(*n as f64),
            Value::Real(x, _) => Some(*x),
            _ => None,
        }
    }

    /// Whether a numeric value is zero, for the steps of loops.
    pub(super) fn is_zero(&self) -> bool {
        self.number() == Some(0.0)
    }
}

/// Returns an INTEGER of a kind, or an error if it does not fit.
pub(super) fn integer(n: i128, kind: u8) -> EvaluationResult {
    let bits = 8 * u32::from(Type::bytes(kind).clamp(1, 8));
    let limit = 1i128 << (bits - 1);
    match i64::try_from(n) {
        Ok(small) if (-limit..limit).contains(&n) => Ok(Some(Value::Integer(small, kind))),
        _ => Err(NoValue::Overflow(Type::Integer(kind))),
    }
}

/// Returns a REAL of a kind, rounded. Kinds other than 4 and 8 are not computed.
pub(super) fn real(x: f64, kind: u8) -> EvaluationResult {
    let rounded = match kind {
        4 | Type::FOUR_BYTES => f64::from(x as f32),
        8 => x,
        _ => return Ok(None),
    };
    match rounded.is_finite() {
        true => Ok(Some(Value::Real(rounded, kind))),
        false => Err(NoValue::Overflow(Type::Real(kind))),
    }
}

fn complex(re: f64, im: f64, kind: u8) -> EvaluationResult {
    let part = |x| Ok(real(x, kind)?.and_then(|v| v.number()));
    Ok(match (part(re)?, part(im)?) {
        (Some(re), Some(im)) => Some(Value::Complex(re, im, kind)),
        _ => None,
    })
}

/// Converts a value as an assignment to a variable of this type does (ANSI X3.9-1978, table 4).
/// `length` is the length of a CHARACTER, where it is known.
pub(super) fn convert(v: Value, ty: Type, length: Option<i64>) -> EvaluationResult {
    match (ty, v) {
        (Type::Integer(k), Value::Integer(n, _)) => integer(n.into(), k),
        (Type::Integer(k), Value::Real(x, _) | Value::Complex(x, _, _)) => {
            integer(x.trunc() as i128, k)
        }
        (Type::Real(k), Value::Complex(x, _, _)) => real(x, k),
        (Type::Real(k), v) => v.number().map_or(Ok(None), |x| real(x, k)),
        (Type::Complex(k), Value::Complex(x, y, _)) => complex(x, y, k),
        (Type::Complex(k), v) => v.number().map_or(Ok(None), |x| complex(x, 0.0, k)),
        (Type::Logical(_), Value::Logical(b)) => Ok(Some(Value::Logical(b))),
        (Type::Character, Value::Character(s)) => Ok(Some(Value::Character(match length {
            Some(n) => {
                let n = usize::try_from(n).unwrap_or(0);
                let kept: String = s.chars().take(n).collect();
                let blanks = n.saturating_sub(kept.chars().count());
                // An implausible length would only waste memory.
                if blanks > 1 << 12 {
                    return Ok(None);
                }
                kept + &" ".repeat(blanks)
            }
            None => s,
        }))),
        _ => Ok(None),
    }
}

/// `op a`
pub(super) fn unary(op: UnOp, a: Value) -> EvaluationResult {
    Ok(match (op, a) {
        (UnOp::Plus, v) => Some(v),
        (UnOp::Minus, Value::Integer(n, k)) => return integer(-i128::from(n), k),
        (UnOp::Minus, Value::Real(x, k)) => Some(Value::Real(-x, k)),
        (UnOp::Minus, Value::Complex(x, y, k)) => Some(Value::Complex(-x, -y, k)),
        (UnOp::Not, Value::Logical(b)) => Some(Value::Logical(!b)),
        _ => None,
    })
}

/// `a op b`
pub(super) fn binary(op: BinOp, a: Value, b: Value) -> EvaluationResult {
    if op.is_relational() {
        return Ok(compare(op, &a, &b).map(Value::Logical));
    }
    let ty = a.ty().promote(b.ty());
    match (a, b) {
        (Value::Logical(a), Value::Logical(b)) => Ok(match op {
            BinOp::And => Some(a && b),
            BinOp::Or => Some(a || b),
            BinOp::Eqv => Some(a == b),
            BinOp::Neqv => Some(a != b),
            _ => None,
        }
        .map(Value::Logical)),
        (Value::Character(a), Value::Character(b)) if op == BinOp::Concat => {
            Ok((a.len() + b.len() < 1 << 16).then(|| Value::Character(a + &b)))
        }
        (Value::Integer(a, k), Value::Integer(b, l)) => {
            let (a, b) = (i128::from(a), i128::from(b));
            let n = match op {
                BinOp::Add => a + b,
                BinOp::Sub => a - b,
                BinOp::Mul => a * b,
                BinOp::Div if b == 0 => return Err(NoValue::DivisionByZero),
                BinOp::Div => a / b,
                BinOp::Pow => return integer(power(a, b)?, k.max(l)),
                _ => return Ok(None),
            };
            integer(n, k.max(l))
        }
        (Value::Complex(x, y, _), b) => match parts(&b) {
            Some(b) => complex_binary(op, (x, y), b, ty),
            None => Ok(None),
        },
        (a, Value::Complex(x, y, _)) => match parts(&a) {
            Some(a) => complex_binary(op, a, (x, y), ty),
            None => Ok(None),
        },
        (a, b) => real_binary(op, &a, &b, ty),
    }
}

fn parts(v: &Value) -> Option<(f64, f64)> {
    match v {
        Value::Complex(x, y, _) => Some((*x, *y)),
        _ => Some((v.number()?, 0.0)),
    }
}

fn complex_binary(op: BinOp, (a, b): (f64, f64), (c, d): (f64, f64), ty: Type) -> EvaluationResult {
    let Type::Complex(kind) = ty else {
        return Ok(None);
    };
    match op {
        BinOp::Add => complex(a + c, b + d, kind),
        BinOp::Sub => complex(a - c, b - d, kind),
        BinOp::Mul => complex(a * c - b * d, a * d + b * c, kind),
        BinOp::Div if c == 0.0 && d == 0.0 => Err(NoValue::DivisionByZero),
        BinOp::Div => {
            let n = c * c + d * d;
            complex((a * c + b * d) / n, (b * c - a * d) / n, kind)
        }
        _ => Ok(None),
    }
}

fn real_binary(op: BinOp, a: &Value, b: &Value, ty: Type) -> EvaluationResult {
    let (Some(x), Some(y), Type::Real(kind)) = (a.number(), b.number(), ty) else {
        return Ok(None);
    };
    let value = match op {
        BinOp::Add => x + y,
        BinOp::Sub => x - y,
        BinOp::Mul => x * y,
        BinOp::Div if y == 0.0 => return Err(NoValue::DivisionByZero),
        BinOp::Div => x / y,
        BinOp::Pow if x == 0.0 && y < 0.0 => return Err(NoValue::DivisionByZero),
        BinOp::Pow => match b.integer().and_then(|n| i32::try_from(n).ok()) {
            Some(n) => x.powi(n),
            None => x.powf(y),
        },
        _ => return Ok(None),
    };
    if value.is_nan() {
        return Ok(None);
    }
    real(value, kind)
}

/// `a**b` of INTEGERs; a value larger than any kind can hold if the result is too large.
fn power(a: i128, b: i128) -> Result<i128, NoValue> {
    match (a, b) {
        (0, ..0) => Err(NoValue::DivisionByZero),
        (1, _) => Ok(1),
        (-1, _) => Ok(if b % 2 == 0 { 1 } else { -1 }),
        (_, ..0) => Ok(0),
        (0, _) => Ok(i128::from(b == 0)),
        _ => Ok(u32::try_from(b)
            .ok()
            .and_then(|b| a.checked_pow(b))
            .unwrap_or(i128::MAX)),
    }
}

fn compare(op: BinOp, a: &Value, b: &Value) -> Option<bool> {
    let order = match (a, b) {
        (Value::Integer(a, _), Value::Integer(b, _)) => a.cmp(b),
        (Value::Character(a), Value::Character(b)) => {
            // The shorter string is padded with blanks.
            let n = a.chars().count().max(b.chars().count());
            let filled = |s: &str| s.chars().chain(std::iter::repeat(' ')).take(n).collect();
            let (a, b): (Vec<char>, Vec<char>) = (filled(a), filled(b));
            a.cmp(&b)
        }
        (Value::Complex(..), _) | (_, Value::Complex(..)) => {
            let equal = parts(a)? == parts(b)?;
            return match op {
                BinOp::Eq => Some(equal),
                BinOp::Ne => Some(!equal),
                _ => None,
            };
        }
        _ => a.number()?.partial_cmp(&b.number()?)?,
    };
    Some(match op {
        BinOp::Lt => order == Ordering::Less,
        BinOp::Le => order != Ordering::Greater,
        BinOp::Eq => order == Ordering::Equal,
        BinOp::Ne => order != Ordering::Equal,
        BinOp::Gt => order == Ordering::Greater,
        BinOp::Ge => order != Ordering::Less,
        _ => return None,
    })
}

/// SELECTED_REAL_KIND
pub(super) fn real_kind(digits: i64, range: i64) -> Value {
    let kind = match (digits, range) {
        (..=6, ..=37) => 4,
        (..=15, ..=307) => 8,
        (..=18, ..=4931) => 10,
        (..=33, ..=4931) => 16,
        _ => -1,
    };
    Value::Integer(kind, 4)
}

/// Returns the value of a reference to the intrinsic function `name`, whose result has type `ty`.
pub(super) fn intrinsic(name: &str, args: &[Value], ty: Type) -> EvaluationResult {
    use Value::{Character, Integer, Logical, Real};
    let ints: Option<Vec<i64>> = args.iter().map(Value::integer).collect();
    let numbers: Option<Vec<f64>> = args.iter().map(Value::number).collect();
    let as_type = |v: Value| convert(v, ty, None);
    // A zero divisor in other functions, or an invalid bit index: the value is unknown, without an
    // error.
    match (name, args, ints.as_deref(), numbers.as_deref()) {
        ("LEN", [Character(s)], ..) => as_type(Integer(s.chars().count() as i64, 8)),
        ("LEN_TRIM", [Character(s)], ..) => {
            as_type(Integer(s.trim_end_matches(' ').chars().count() as i64, 8))
        }
        ("INDEX", [Character(a), Character(b)], ..) => {
            let at = a.find(b.as_str()).map(|at| a[..at].chars().count() + 1);
            as_type(Integer(at.unwrap_or(0) as i64, 8))
        }
        ("ICHAR" | "IACHAR", [Character(s)], ..) => match s.chars().next() {
            Some(c) if c.is_ascii() => as_type(Integer(u32::from(c).into(), 8)),
            Some(c) => match encoding::byte(c) {
                Some(b) if name == "ICHAR" => as_type(Integer(b.into(), 8)),
                _ => Ok(None),
            },
            None => Ok(None),
        },
        ("CHAR" | "ACHAR", _, Some(&[n]), _) => Ok(u8::try_from(n)
            .ok()
            .filter(|b| b.is_ascii() || name == "CHAR")
            .map(|b| Character(encoding::single(b).to_string()))),
        ("TRIM", [Character(s)], ..) => Ok(Some(Character(s.trim_end_matches(' ').to_owned()))),
        ("LGE" | "LGT" | "LLE" | "LLT", [a, b], ..) => {
            let op = match name {
                "LGE" => BinOp::Ge,
                "LGT" => BinOp::Gt,
                "LLE" => BinOp::Le,
                _ => BinOp::Lt,
            };
            Ok(compare(op, a, b).map(Logical))
        }
        ("SELECTED_INT_KIND", _, Some(&[r]), _) => Ok(Some(Integer(
            match r {
                ..=2 => 1,
                3..=4 => 2,
                5..=9 => 4,
                10..=18 => 8,
                19..=38 => 16,
                _ => -1,
            },
            4,
        ))),
        ("IAND", _, Some(&[a, b]), _) => as_type(Integer(a & b, 8)),
        ("IOR", _, Some(&[a, b]), _) => as_type(Integer(a | b, 8)),
        ("IEOR", _, Some(&[a, b]), _) => as_type(Integer(a ^ b, 8)),
        ("NOT", _, Some(&[a]), _) => as_type(Integer(!a, 8)),
        ("BTEST", _, Some(&[a, n @ 0..=63]), _) => Ok(Some(Logical(a >> n & 1 == 1))),
        ("MOD" | "AMOD" | "DMOD", _, Some(&[_, 0]), _) => Err(NoValue::DivisionByZero),
        ("MOD", _, Some(&[a, b]), _) => as_type(Integer(a.wrapping_rem(b), 8)),
        ("MOD" | "AMOD" | "DMOD", _, _, Some(&[a, b])) if b != 0.0 => as_type(Real(a % b, 8)),
        ("ABS" | "IABS", _, Some(&[a]), _) => as_type(Integer(a.saturating_abs(), 8)),
        ("ABS" | "DABS", _, _, Some(&[a])) => as_type(Real(a.abs(), 8)),
        ("SIGN" | "ISIGN", _, Some(&[a, b]), _) => {
            let a = a.saturating_abs();
            as_type(Integer(if b < 0 { -a } else { a }, 8))
        }
        ("SIGN" | "DSIGN", _, _, Some(&[a, b])) => {
            as_type(Real(if b < 0.0 { -a.abs() } else { a.abs() }, 8))
        }
        ("DIM" | "IDIM", _, Some(&[a, b]), _) => as_type(Integer(a.saturating_sub(b).max(0), 8)),
        ("DIM" | "DDIM", _, _, Some(&[a, b])) => as_type(Real((a - b).max(0.0), 8)),
        ("MAX" | "MAX0" | "AMAX0", _, Some(all), _) => all
            .iter()
            .max()
            .map_or(Ok(None), |n| as_type(Integer(*n, 8))),
        ("MIN" | "MIN0" | "AMIN0", _, Some(all), _) => all
            .iter()
            .min()
            .map_or(Ok(None), |n| as_type(Integer(*n, 8))),
        ("MAX" | "AMAX1" | "DMAX1" | "MAX1", _, _, Some(all)) => {
            let max = all.iter().copied().reduce(f64::max);
            max.map_or(Ok(None), |x| as_type(Real(x, 8)))
        }
        ("MIN" | "AMIN1" | "DMIN1" | "MIN1", _, _, Some(all)) => {
            let min = all.iter().copied().reduce(f64::min);
            min.map_or(Ok(None), |x| as_type(Real(x, 8)))
        }
        ("NINT" | "IDNINT", _, _, Some(&[x])) => as_type(Real(x.round(), 8)),
        ("AINT" | "DINT", _, _, Some(&[x])) => as_type(Real(x.trunc(), 8)),
        ("ANINT" | "DNINT", _, _, Some(&[x])) => as_type(Real(x.round(), 8)),
        ("SQRT" | "DSQRT", _, _, Some(&[x])) if x >= 0.0 => as_type(Real(x.sqrt(), 8)),
        ("CMPLX" | "DCMPLX", _, _, Some(&[re, im])) => as_type(Value::Complex(re, im, 8)),
        ("REAL" | "AIMAG" | "IMAG", [Value::Complex(re, im, k)], ..) => {
            as_type(Real(if name == "REAL" { *re } else { *im }, *k))
        }
        (
            "INT" | "IFIX" | "IDINT" | "REAL" | "FLOAT" | "SNGL" | "DBLE" | "DFLOAT" | "CMPLX"
            | "DCMPLX",
            [v],
            ..,
        ) => as_type(v.clone()),
        _ => Ok(None),
    }
}
