//! Evaluates intrinsic functions.

use super::number::{Function, Number, Precision, apply};
use super::scope::Frame;
use super::value::{Value, binary, compare_texts, integer, precision};
use super::{Halt, Machine, Run};
use farfel_lang::intrinsics::{Intrinsic, Op, ResultType};
use farfel_lang::ir::{BinOp, Expr, ExprKind, Type};
use std::rc::Rc;

impl<'p> Machine<'p> {
    /// Evaluates a reference to an intrinsic function.
    pub fn intrinsic(
        &self,
        f: &Rc<Frame<'p>>,
        i: &'static Intrinsic,
        args: &'p [Expr],
        at: Option<usize>,
    ) -> Run<Value> {
        if args.iter().any(|a| matches!(a.kind, ExprKind::Keyword(..))) {
            return Err(Halt::not_interpreted("keywords"));
        }
        let array_in = |e: &'p Expr| -> Run<&'p Expr> {
            let none = || Halt::not_interpreted(format!("{} of no array", i.name));
            self.array_in(f, e).ok_or_else(none)
        };
        let all = |e: &'p Expr| -> Run<Vec<Value>> {
            let count = self.count_of(f, array_in(e)?)?;
            self.each(f, e, 0..count)
        };
        // The result if there are no elements.
        let nothing = |e: &'p Expr, value: i64| {
            let s = array_in(e)?.base();
            let s = s.ok_or_else(|| Halt::not_interpreted("this array"))?;
            let (owner, s) = f.owner(s)?;
            let (ty, _) = self.kind_of(&owner, &owner.unit.symbols[s])?;
            Value::integer(value).convert(ty)
        };
        let fold = |values: Vec<Value>, op: BinOp, nothing: Run<Value>| {
            let mut values = values.into_iter();
            match values.next() {
                Some(first) => values.try_fold(first, |all, v| binary(op, &all, &v)),
                None => nothing,
            }
        };
        match (i.name, args) {
            ("LEN", [e]) => match &e.kind {
                // Its value does not matter and need not be defined.
                ExprKind::Var(_) | ExprKind::Element(..) | ExprKind::Substring(..) => {
                    integer(4, i64::try_from(self.place(f, e)?.length).ok())
                }
                _ => integer(4, self.eval(f, e, at)?.as_text()?.len().try_into().ok()),
            },
            ("SIZE", [e]) => {
                let count = self.count_of(f, array_in(e)?)?;
                integer(4, i64::try_from(count).ok())
            }
            // Only the type matters.
            ("HUGE", [e]) => match self.place(f, e)?.ty {
                Type::Real(8) => Ok(Value::Real(Precision::Double, Number::Plain(f64::MAX))),
                _ => Err(unknown(i)),
            },
            ("SUM", [e]) => fold(all(e)?, BinOp::Add, nothing(e, 0)),
            ("PRODUCT", [e]) => fold(all(e)?, BinOp::Mul, nothing(e, 1)),
            ("DOT_PRODUCT", [a, b]) => {
                let products = all(a)?.into_iter().zip(all(b)?);
                let products = products.map(|(a, b)| binary(BinOp::Mul, &a, &b));
                fold(products.collect::<Run<_>>()?, BinOp::Add, nothing(a, 0))
            }
            ("MAXVAL" | "MINVAL", [e]) => {
                let values = all(e)?;
                if values.is_empty() {
                    return Err(Halt::not_interpreted(format!("{} of nothing", i.name)));
                }
                let op = match i.name {
                    "MAXVAL" => BinOp::Gt,
                    _ => BinOp::Lt,
                };
                self.depending(best(op, &values)?, &values)
            }
            ("MERGE", [a, b, mask]) => {
                let (a, b) = (self.eval(f, a, at)?, self.eval(f, b, at)?);
                let chosen = match self.eval(f, mask, at)?.as_logical()? {
                    true => a.clone(),
                    false => b.clone(),
                };
                self.depending(chosen, &[a, b])
            }
            _ => {
                let values: Run<Vec<Value>> = args.iter().map(|a| self.eval(f, a, at)).collect();
                let values = values?;
                let value = self.elemental(i, &values)?;
                let complex = values.iter().flat_map(|v| match v {
                    Value::Complex(p, re, im) => {
                        vec![Value::Real(*p, re.clone()), Value::Real(*p, im.clone())]
                    }
                    _ => Vec::new(),
                });
                self.depending(value, &complex.collect::<Vec<_>>())
            }
        }
    }

    /// In patterns, the result of a selection depends on all values that could have been selected,
    /// and a part of a complex number on whatever the other part depends on.
    fn depending(&self, value: Value, on: &[Value]) -> Run<Value> {
        if !self.pattern.get() || !matches!(value, Value::Real(..)) {
            return Ok(value);
        }
        let nothing = |v: &Value| binary(BinOp::Mul, v, &Value::integer(0));
        on.iter()
            .try_fold(value, |all, v| binary(BinOp::Add, &all, &nothing(v)?))
    }

    /// Evaluates a function of scalars.
    pub fn elemental(&self, i: &Intrinsic, args: &[Value]) -> Run<Value> {
        let types: Vec<Type> = args.iter().map(Value::ty).collect();
        if !matches!(types.first(), Some(Type::Integer(_) | Type::Character)) {
            self.coverage.note(i.name);
        }
        let first = args.first().ok_or_else(|| unknown(i))?;
        let mut common = first.ty();
        for ty in &types[1..] {
            if common.is_numeric() && ty.is_numeric() {
                common = common.promote(*ty);
            }
        }
        let result = match i.result {
            ResultType::Fixed(ty) => self.ty(ty),
            ResultType::RealOf => match first.ty() {
                Type::Complex(kind) => Type::Real(kind),
                _ => self.ty(Type::REAL),
            },
            _ => common,
        };
        let plain = || -> Run<f64> { Ok(first.as_real()?.plain()) };
        match i.op {
            Op::Convert if i.name == "CMPLX" || i.name == "DCMPLX" => {
                let im = args.get(1).map_or(Ok(Number::ZERO), |v| v.as_real())?;
                let re = first.as_complex()?;
                let im = if args.len() > 1 { im } else { re.1 };
                Value::Complex(Precision::Double, re.0, im).convert(result)
            }
            Op::Convert if args.len() == 1 => first.clone().convert(result),
            Op::Aint => {
                Value::Real(Precision::Double, Number::Plain(plain()?.trunc())).convert(result)
            }
            Op::Anint => {
                Value::Real(Precision::Double, Number::Plain(plain()?.round())).convert(result)
            }
            Op::Nint => {
                Value::Real(Precision::Double, Number::Plain(plain()?.round())).convert(result)
            }
            Op::Abs => absolute(first),
            Op::Sign => {
                let size = absolute(first)?;
                match args[1].as_real()?.plain().is_sign_negative() {
                    true => super::value::negative(&size),
                    false => Ok(size),
                }
            }
            Op::Dim => {
                let more = binary(BinOp::Gt, first, &args[1])?.as_logical()?;
                match more {
                    true => binary(BinOp::Sub, first, &args[1]),
                    false => self.depending(Value::integer(0).convert(result)?, args),
                }
            }
            Op::Dprod => {
                let wide = |v: &Value| v.clone().convert(Type::DOUBLE);
                binary(BinOp::Mul, &wide(first)?, &wide(&args[1])?)
            }
            Op::Mod => match common {
                Type::Integer(kind) => {
                    let (a, b) = (first.as_integer()?, args[1].as_integer()?);
                    match a.checked_rem(b) {
                        Some(r) => integer(kind, Some(r)),
                        None => Err(Halt::invalid("MOD by zero")),
                    }
                }
                _ => two(Function::Mod, common, args),
            },
            Op::Max | Op::Min => {
                let op = if i.op == Op::Max {
                    BinOp::Gt
                } else {
                    BinOp::Lt
                };
                let all: Run<Vec<Value>> = args.iter().map(|v| v.clone().convert(common)).collect();
                let all = all?;
                self.depending(best(op, &all)?, &all)?.convert(result)
            }
            Op::Aimag => match first {
                Value::Complex(p, _, im) => Ok(Value::Real(*p, im.clone())),
                _ => Err(unknown(i)),
            },
            Op::Conjg => match first {
                Value::Complex(p, re, im) => {
                    let minus = apply(Function::Neg, &[im], *p);
                    Ok(Value::Complex(*p, re.clone(), minus))
                }
                _ => Err(unknown(i)),
            },
            Op::Sqrt => self.real_function(Function::Sqrt, first),
            Op::Exp if matches!(common, Type::Complex(_)) => complex_exp(first),
            Op::Exp => self.real_function(Function::Exp, first),
            Op::Log => self.real_function(Function::Log, first),
            Op::Log10 => self.real_function(Function::Log10, first),
            Op::Sin => self.real_function(Function::Sin, first),
            Op::Cos => self.real_function(Function::Cos, first),
            Op::Tan => self.real_function(Function::Tan, first),
            Op::Asin => self.real_function(Function::Asin, first),
            Op::Acos => self.real_function(Function::Acos, first),
            Op::Atan => self.real_function(Function::Atan, first),
            Op::Atan2 => two(Function::Atan2, common, args),
            Op::Sinh => self.real_function(Function::Sinh, first),
            Op::Cosh => self.real_function(Function::Cosh, first),
            Op::Tanh => self.real_function(Function::Tanh, first),
            _ => other(i, args),
        }
    }
}

fn unknown(i: &Intrinsic) -> Halt {
    Halt::not_interpreted(format!("the function {}", i.name))
}

fn two(f: Function, ty: Type, args: &[Value]) -> Run<Value> {
    let Type::Real(kind) = ty else {
        return Err(Halt::not_interpreted(format!("{f:?} of {ty}")));
    };
    let p = precision(kind)?;
    let (a, b) = (args[0].as_real()?, args[1].as_real()?);
    Ok(Value::Real(p, apply(f, &[&a, &b], p)))
}

/// Returns the first value than which no other is better.
fn best(op: BinOp, values: &[Value]) -> Run<Value> {
    let mut best = &values[0];
    for v in &values[1..] {
        if binary(op, v, best)?.as_logical()? {
            best = v;
        }
    }
    Ok(best.clone())
}

/// Returns the absolute value. At zero it has the slope of the side that the sign of the zero
/// indicates.
fn absolute(x: &Value) -> Run<Value> {
    match x {
        Value::Complex(p, re, im) => {
            let square = |x| apply(Function::PowInt(2), &[x], *p);
            let sum = apply(Function::Add, &[&square(re), &square(im)], *p);
            Ok(Value::Real(*p, apply(Function::Sqrt, &[&sum], *p)))
        }
        Value::Real(_, n) if n.plain().is_sign_negative() => super::value::negative(x),
        _ if x.as_real()?.plain() < 0.0 => super::value::negative(x),
        _ => Ok(x.clone()),
    }
}

fn complex_exp(z: &Value) -> Run<Value> {
    let Value::Complex(p, re, im) = z else {
        return Err(Halt::invalid("not COMPLEX"));
    };
    let size = apply(Function::Exp, &[re], *p);
    let part = |f| apply(Function::Mul, &[&size, &apply(f, &[im], *p)], *p);
    Ok(Value::Complex(*p, part(Function::Cos), part(Function::Sin)))
}

/// Evaluates functions without derivatives.
fn other(i: &Intrinsic, args: &[Value]) -> Run<Value> {
    match (i.name, args) {
        ("ICHAR" | "IACHAR", [v]) => match v.as_text()? {
            [b, ..] => integer(4, Some((*b).into())),
            [] => Err(unknown(i)),
        },
        ("CHAR" | "ACHAR", [v]) => match u8::try_from(v.as_integer()?) {
            Ok(b) => Ok(Value::Text(vec![b])),
            Err(_) => Err(Halt::invalid("no character has this number")),
        },
        ("INDEX", [a, b]) => {
            let (a, b) = (a.as_text()?, b.as_text()?);
            let found = (0..=a.len()).find(|i| a[*i..].starts_with(b));
            integer(4, Some(found.map_or(0, |i| i as i64 + 1)))
        }
        ("LGE", [a, b]) => Ok(Value::logical(
            compare_texts(a.as_text()?, b.as_text()?).is_ge(),
        )),
        ("LGT", [a, b]) => Ok(Value::logical(
            compare_texts(a.as_text()?, b.as_text()?).is_gt(),
        )),
        ("LLE", [a, b]) => Ok(Value::logical(
            compare_texts(a.as_text()?, b.as_text()?).is_le(),
        )),
        ("LLT", [a, b]) => Ok(Value::logical(
            compare_texts(a.as_text()?, b.as_text()?).is_lt(),
        )),
        _ => Err(unknown(i)),
    }
}
