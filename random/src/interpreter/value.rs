//! Values, their types and the operations on them.

use super::Halt;
use super::number::{Function, Number, Precision, apply};
use farfel_lang::ir::{BinOp, Label, Type};

/// A value of some type.
#[derive(Clone)]
pub enum Value {
    /// An INTEGER of this many bytes.
    Integer(u8, i64),
    /// REAL or DOUBLE PRECISION.
    Real(Precision, Number),
    /// A COMPLEX, as real and imaginary part.
    Complex(Precision, Number, Number),
    /// A LOGICAL of this many bytes.
    Logical(u8, bool),
    /// CHARACTER.
    Text(Vec<u8>),
    /// The label that ASSIGN stores in an INTEGER variable.
    Label(Label),
}

/// Returns the precision of a REAL of this many bytes.
pub fn precision(kind: u8) -> Result<Precision, Halt> {
    match kind {
        4 => Ok(Precision::Single),
        8 => Ok(Precision::Double),
        _ => Err(Halt::not_interpreted(format!("REAL*{kind}"))),
    }
}

fn bytes(precision: Precision) -> u8 {
    match precision {
        Precision::Single => 4,
        Precision::Double => 8,
    }
}

impl Value {
    /// Creates a default INTEGER.
    pub fn integer(i: i64) -> Self {
        Value::Integer(4, i)
    }

    /// Creates a default LOGICAL.
    pub fn logical(l: bool) -> Self {
        Value::Logical(4, l)
    }

    /// Returns the type.
    pub fn ty(&self) -> Type {
        match self {
            Value::Integer(kind, _) => Type::Integer(*kind),
            Value::Real(p, _) => Type::Real(bytes(*p)),
            Value::Complex(p, ..) => Type::Complex(bytes(*p)),
            Value::Logical(kind, _) => Type::Logical(*kind),
            Value::Text(_) => Type::Character,
            Value::Label(_) => Type::INTEGER,
        }
    }

    /// Returns the value of an INTEGER.
    pub fn as_integer(&self) -> Result<i64, Halt> {
        match self {
            Value::Integer(_, i) => Ok(*i),
            _ => Err(Halt::invalid(format!("{} in place of INTEGER", self.ty()))),
        }
    }

    /// Returns the value of a LOGICAL.
    pub fn as_logical(&self) -> Result<bool, Halt> {
        match self {
            Value::Logical(_, l) => Ok(*l),
            _ => Err(Halt::invalid(format!("{} in place of LOGICAL", self.ty()))),
        }
    }

    /// Returns the number of a REAL or INTEGER.
    pub fn as_real(&self) -> Result<Number, Halt> {
        match self {
            Value::Integer(_, i) => Ok(Number::Plain(*i as f64)),
            Value::Real(_, x) => Ok(x.clone()),
            _ => Err(Halt::invalid(format!("{} in place of REAL", self.ty()))),
        }
    }

    /// Returns the real and imaginary part of any number.
    pub fn as_complex(&self) -> Result<(Number, Number), Halt> {
        match self {
            Value::Complex(_, re, im) => Ok((re.clone(), im.clone())),
            _ => Ok((self.as_real()?, Number::ZERO)),
        }
    }

    /// Returns the characters of a CHARACTER.
    pub fn as_text(&self) -> Result<&[u8], Halt> {
        match self {
            Value::Text(t) => Ok(t),
            _ => Err(Halt::invalid(format!(
                "{} in place of CHARACTER",
                self.ty()
            ))),
        }
    }

    /// Applies a function to every real number in the value.
    pub fn map(self, f: &dyn Fn(&Number) -> Number) -> Value {
        match self {
            Value::Real(p, x) => Value::Real(p, f(&x)),
            Value::Complex(p, re, im) => Value::Complex(p, f(&re), f(&im)),
            other => other,
        }
    }

    /// Converts the value as an assignment to a variable of type `ty` does.
    pub fn convert(self, ty: Type) -> Result<Value, Halt> {
        Ok(match (ty, self) {
            (Type::Integer(_), Value::Label(l)) => Value::Label(l),
            (Type::Integer(kind), Value::Integer(_, i)) => integer(kind, Some(i))?,
            (Type::Integer(kind), v @ (Value::Real(..) | Value::Complex(..))) => {
                let x = v.as_complex()?.0.plain().trunc();
                let fits = x.abs() < 9e18;
                integer(kind, fits.then_some(x as i64))?
            }
            (Type::Real(kind), v) => {
                let p = precision(kind)?;
                Value::Real(p, v.as_complex()?.0.round(p))
            }
            (Type::Complex(kind), v) => {
                let (p, (re, im)) = (precision(kind)?, v.as_complex()?);
                Value::Complex(p, re.round(p), im.round(p))
            }
            (Type::Logical(kind), Value::Logical(_, l)) => Value::Logical(kind, l),
            (Type::Character, Value::Text(t)) => Value::Text(t),
            (ty, v) => return Err(Halt::invalid(format!("{} is assigned to {ty}", v.ty()))),
        })
    }
}

/// Creates an INTEGER of this many bytes, which must be large enough.
pub fn integer(kind: u8, i: Option<i64>) -> Result<Value, Halt> {
    let bits = u32::from(kind) * 8;
    match i {
        Some(i) if bits >= 64 || i.unsigned_abs() < (1 << (bits - 1)) => {
            Ok(Value::Integer(kind, i))
        }
        _ => Err(Halt::invalid(format!(
            "a value does not fit into INTEGER*{kind}"
        ))),
    }
}

/// Computes `-x`.
pub fn negative(x: &Value) -> Result<Value, Halt> {
    Ok(match x {
        Value::Integer(kind, i) => integer(*kind, i.checked_neg())?,
        Value::Real(p, x) => Value::Real(*p, apply(Function::Neg, &[x], *p)),
        Value::Complex(p, re, im) => {
            let neg = |x| apply(Function::Neg, &[x], *p);
            Value::Complex(*p, neg(re), neg(im))
        }
        _ => return Err(Halt::invalid("the negative of what is no number")),
    })
}

/// Computes `a op b`.
pub fn binary(op: BinOp, a: &Value, b: &Value) -> Result<Value, Halt> {
    match op {
        BinOp::Concat => Ok(Value::Text([a.as_text()?, b.as_text()?].concat())),
        BinOp::And => Ok(Value::logical(a.as_logical()? & b.as_logical()?)),
        BinOp::Or => Ok(Value::logical(a.as_logical()? | b.as_logical()?)),
        BinOp::Eqv => Ok(Value::logical(a.as_logical()? == b.as_logical()?)),
        BinOp::Neqv => Ok(Value::logical(a.as_logical()? != b.as_logical()?)),
        _ if op.is_relational() => compare(op, a, b).map(Value::logical),
        _ => arithmetic(op, a, b),
    }
}

fn compare(op: BinOp, a: &Value, b: &Value) -> Result<bool, Halt> {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let order = match (a, b) {
        (Value::Text(a), Value::Text(b)) => Some(compare_texts(a, b)),
        (Value::Integer(_, a), Value::Integer(_, b)) => Some(a.cmp(b)),
        (Value::Complex(..), _) | (_, Value::Complex(..)) => {
            let ((a, ai), (b, bi)) = (a.as_complex()?, b.as_complex()?);
            let equal = a.plain() == b.plain() && ai.plain() == bi.plain();
            return match op {
                BinOp::Eq => Ok(equal),
                BinOp::Ne => Ok(!equal),
                _ => Err(Halt::invalid("COMPLEX numbers have no order")),
            };
        }
        // In the common type of both, for example of a DOUBLE PRECISION and an INTEGER.
        _ => {
            let Type::Real(kind) = a.ty().promote(b.ty()) else {
                return Err(Halt::invalid("what is no number is compared"));
            };
            let p = precision(kind)?;
            let plain = |v: &Value| Ok::<f64, Halt>(v.as_real()?.round(p).plain());
            plain(a)?.partial_cmp(&plain(b)?)
        }
    };
    Ok(match op {
        BinOp::Lt => order == Some(Less),
        BinOp::Le => matches!(order, Some(Less | Equal)),
        BinOp::Eq => order == Some(Equal),
        BinOp::Ne => order != Some(Equal),
        BinOp::Gt => order == Some(Greater),
        _ => matches!(order, Some(Greater | Equal)),
    })
}

/// Compares texts as if the shorter one were padded with blanks.
pub fn compare_texts(a: &[u8], b: &[u8]) -> std::cmp::Ordering {
    let at = |t: &[u8], i: usize| t.get(i).copied().unwrap_or(b' ');
    let differ = (0..a.len().max(b.len())).find(|i| at(a, *i) != at(b, *i));
    differ.map_or(std::cmp::Ordering::Equal, |i| at(a, i).cmp(&at(b, i)))
}

fn arithmetic(op: BinOp, a: &Value, b: &Value) -> Result<Value, Halt> {
    if !a.ty().is_numeric() || !b.ty().is_numeric() {
        return Err(Halt::invalid("arithmetic on what is no number"));
    }
    let f = match op {
        BinOp::Add => Function::Add,
        BinOp::Sub => Function::Sub,
        BinOp::Mul => Function::Mul,
        BinOp::Div => Function::Div,
        _ => return power(a, b),
    };
    match a.ty().promote(b.ty()) {
        Type::Integer(kind) => {
            let (a, b) = (a.as_integer()?, b.as_integer()?);
            let result = match op {
                BinOp::Add => a.checked_add(b),
                BinOp::Sub => a.checked_sub(b),
                BinOp::Mul => a.checked_mul(b),
                _ if b == 0 => return Err(Halt::invalid("division of an INTEGER by zero")),
                _ => a.checked_div(b),
            };
            integer(kind, result)
        }
        Type::Real(kind) => {
            let p = precision(kind)?;
            let (a, b) = (a.as_real()?.round(p), b.as_real()?.round(p));
            Ok(Value::Real(p, apply(f, &[&a, &b], p)))
        }
        Type::Complex(kind) => complex(f, precision(kind)?, &a.as_complex()?, &b.as_complex()?),
        _ => Err(Halt::invalid("arithmetic on what is no number")),
    }
}

fn complex(
    f: Function,
    p: Precision,
    (a, ai): &(Number, Number),
    (b, bi): &(Number, Number),
) -> Result<Value, Halt> {
    let call = |f, x: &Number, y: &Number| apply(f, &[x, y], p);
    let product = |b: &Number, bi: &Number| {
        let re = call(
            Function::Sub,
            &call(Function::Mul, a, b),
            &call(Function::Mul, ai, bi),
        );
        let im = call(
            Function::Add,
            &call(Function::Mul, a, bi),
            &call(Function::Mul, ai, b),
        );
        (re, im)
    };
    let (re, im) = match f {
        Function::Mul => product(b, bi),
        Function::Div => {
            let size = call(
                Function::Add,
                &call(Function::Mul, b, b),
                &call(Function::Mul, bi, bi),
            );
            let (re, im) = product(b, &apply(Function::Neg, &[bi], p));
            (call(f, &re, &size), call(f, &im, &size))
        }
        _ => (call(f, a, b), call(f, ai, bi)),
    };
    Ok(Value::Complex(p, re, im))
}

fn power(a: &Value, b: &Value) -> Result<Value, Halt> {
    match (a, b) {
        (Value::Integer(kind, x), Value::Integer(other, n)) => {
            let result = match (u32::try_from(*n), x) {
                (Ok(n), _) => x.checked_pow(n),
                (Err(_), 0) => return Err(Halt::invalid("0 to a negative power")),
                (Err(_), 1) => Some(1),
                (Err(_), -1) => Some(if n % 2 == 0 { 1 } else { -1 }),
                (Err(_), _) => Some(0),
            };
            integer(*kind.max(other), result)
        }
        (Value::Real(p, x), Value::Integer(_, n)) => {
            Ok(Value::Real(*p, apply(Function::PowInt(*n), &[x], *p)))
        }
        (Value::Complex(p, ..), Value::Integer(_, n)) => {
            let one = Value::Complex(*p, Number::Plain(1.0), Number::ZERO);
            let mut product = one.clone();
            for _ in 0..n.unsigned_abs() {
                product = arithmetic(BinOp::Mul, &product, a)?;
            }
            match n {
                0.. => Ok(product),
                _ => arithmetic(BinOp::Div, &one, &product),
            }
        }
        _ => match a.ty().promote(b.ty()) {
            Type::Real(kind) => {
                let p = precision(kind)?;
                let (a, b) = (a.as_real()?.round(p), b.as_real()?.round(p));
                Ok(Value::Real(p, apply(Function::Pow, &[&a, &b], p)))
            }
            _ => Err(Halt::not_interpreted("a power of COMPLEX numbers")),
        },
    }
}
