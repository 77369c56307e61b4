//! Functions of later standards and of compilers that have special rules: hyperbolic inverses, Bessel
//! functions, trigonometry in degrees.

use super::generator::{Generator, Value};
use farfel_lang::intrinsics::{Intrinsic, Op};
use farfel_lang::ir::{BinOp, Class, Expr, ExprKind, SymId, Type};

/// One degree in radians, with the digits of quadruple precision.
const DEGREE: &str = "0.0174532925199432957692369076848861271";
/// One radian in degrees.
const RADIAN: &str = "57.2957795130823208767981548141051703";

impl Generator<'_> {
    /// Applies a rule by the name that [`possible::special`](super::possible::special) gives it.
    pub(super) fn special(
        &mut self,
        i: &Intrinsic,
        rule: &str,
        mut values: Vec<Value>,
        types: &[Type],
        ty: Type,
        rebuild: &dyn Fn(Vec<Expr>) -> Expr,
    ) -> Value {
        match rule {
            "JN" | "YN" => {
                let of = values.remove(1);
                let order = values.remove(0);
                let order = self.share(order.p);
                let x = self.share(of.p);
                let p = rebuild(vec![order.clone(), x.clone()]);
                let d = of.d.map(|d| {
                    let factor = self.bessel_slope(i.name, order, x, ty);
                    self.mul(factor, d)
                });
                return Value { p, d };
            }
            "HYPOT" => {
                let b = values.remove(1);
                let a = values.remove(0);
                let (x, y) = (self.share(a.p), self.share(b.p));
                let p = self.share_always(rebuild(vec![x.clone(), y.clone()]));
                let left = a.d.map(|d| self.mul(x.clone(), d));
                let right = b.d.map(|d| self.mul(y.clone(), d));
                let d = self.add(left, right).map(|d| self.div(d, p.clone()));
                let d = match (d, self.is_array_valued(&p)) {
                    (Some(d), false) => {
                        let zero = self.zero(ty);
                        let condition = self.bin(BinOp::Ne, p.clone(), zero);
                        Some(self.guarded(condition, d, ty))
                    }
                    (d, _) => d,
                };
                return Value { p, d };
            }
            "ATAN2D" => {
                let b = values.remove(1);
                let a = values.remove(0);
                let (x, y) = (self.share(a.p), self.share(b.p));
                let left = a.d.map(|d| self.mul(y.clone(), d));
                let right = b.d.map(|d| self.mul(x.clone(), d));
                let (sx, sy) = (self.power(x.clone(), 2), self.power(y.clone(), 2));
                let norm = self.bin(BinOp::Add, sx, sy);
                let unit = self.constant_of(RADIAN, ty);
                let scale = self.bin(BinOp::Div, unit, norm);
                let d = self.sub(left, right).map(|d| self.mul(scale, d));
                return Value {
                    p: rebuild(vec![x, y]),
                    d,
                };
            }
            "NORM2" => {
                let of = values.remove(0);
                let primal = rebuild(vec![of.p.clone()]);
                let p = self.share_always(primal);
                let Some(d) = of.d else {
                    return Value { p, d: None };
                };
                let product = self.bin(BinOp::Mul, of.p, d);
                let sum = self.call("SUM", vec![product]);
                let d = self.div(sum, p.clone());
                let zero = self.zero(ty);
                let condition = self.bin(BinOp::Ne, p.clone(), zero);
                let d = self.guarded(condition, d, ty);
                return Value { p, d: Some(d) };
            }
            "COMPLEX" => {
                let part = |v: Value, of: Type| match (v.d, of) {
                    (Some(d), _) => d,
                    (None, Type::Integer(_)) => self.literal("0.0", Type::REAL),
                    (None, of) => self.zero(of),
                };
                let p = rebuild(values.iter().map(|v| v.p.clone()).collect());
                let parts = values.into_iter().zip(types);
                let d = rebuild(parts.map(|(v, t)| part(v, *t)).collect());
                return Value { p, d: Some(d) };
            }
            _ => {}
        }
        let of = values.remove(0);
        let x = self.share(of.p);
        if rule == "NEAREST" {
            let to = values.remove(0).p;
            return Value {
                p: rebuild(vec![x, to]),
                d: of.d,
            };
        }
        let primal = rebuild(vec![x.clone()]);
        let Some(d) = of.d else {
            return Value { p: primal, d: None };
        };
        let one = self.literal("1.0", ty);
        // (1-x)(1+x) keeps its digits near one, where 1-x**2 loses them.
        let less = self.bin(BinOp::Sub, one.clone(), x.clone());
        let more = self.bin(BinOp::Add, one.clone(), x.clone());
        let square = self.power(x.clone(), 2);
        let (p, d) = match rule {
            "ASINH" => {
                let sum = self.bin(BinOp::Add, square, one);
                let root = self.call("SQRT", vec![sum]);
                (primal, self.div(d, root))
            }
            "ACOSH" => {
                let less = self.bin(BinOp::Sub, x, one);
                let (less, more) = (self.call("SQRT", vec![less]), self.call("SQRT", vec![more]));
                let root = self.bin(BinOp::Mul, less, more);
                (primal, self.div(d, root))
            }
            "ATANH" => {
                let product = self.bin(BinOp::Mul, less, more);
                (primal, self.div(d, product))
            }
            "ERFC_SCALED" => {
                let p = self.share_always(primal);
                let two_x = self.scale("2.0", ty, x);
                let product = self.bin(BinOp::Mul, two_x, p.clone());
                let c = self.constant_of("1.12837916709551257389615890312154517", ty);
                let factor = self.bin(BinOp::Sub, product, c);
                (p, self.mul(factor, d))
            }
            "SIND" | "COSD" => {
                let other = if rule == "SIND" { "COSD" } else { "SIND" };
                let other = self.call(other, vec![x]);
                let unit = self.constant_of(DEGREE, ty);
                let factor = self.bin(BinOp::Mul, unit, other);
                let d = self.mul(factor, d);
                (primal, if rule == "COSD" { self.neg(d) } else { d })
            }
            "TAND" | "COTAN" | "COTAND" => {
                let p = self.share_always(primal);
                let square = self.power(p.clone(), 2);
                let mut factor = self.bin(BinOp::Add, one, square);
                if rule != "COTAN" {
                    let unit = self.constant_of(DEGREE, ty);
                    factor = self.bin(BinOp::Mul, unit, factor);
                }
                let d = self.mul(factor, d);
                (p, if rule == "TAND" { d } else { self.neg(d) })
            }
            "ASIND" | "ACOSD" | "ATAND" => {
                let unit = self.constant_of(RADIAN, ty);
                let scale = if rule == "ATAND" {
                    let norm = self.bin(BinOp::Add, one, square);
                    self.bin(BinOp::Div, unit, norm)
                } else {
                    let product = self.bin(BinOp::Mul, less, more);
                    let root = self.call("SQRT", vec![product]);
                    self.bin(BinOp::Div, unit, root)
                };
                let d = self.mul(scale, d);
                (primal, if rule == "ACOSD" { self.neg(d) } else { d })
            }
            "J0" | "Y0" => {
                let next = i.name.replace('0', "1");
                let next = self.call(&next, vec![x]);
                let d = self.mul(next, d);
                (primal, self.neg(d))
            }
            // J1 and Y1: half the difference of the neighbours, which is finite at zero, too.
            _ => {
                let before = i.name.replace('1', "0");
                let before = self.call(&before, vec![x.clone()]);
                let two = Expr::int(2, self.span);
                let after = self.call(&i.name.replace('1', "N"), vec![two, x]);
                let difference = self.bin(BinOp::Sub, before, after);
                let factor = self.scale("0.5", ty, difference);
                (primal, self.mul(factor, d))
            }
        };
        Value { p, d: Some(d) }
    }

    /// Half the difference of the neighbours; the one before order 0 is minus the one of order 1.
    fn bessel_slope(&mut self, function: &str, order: Expr, x: Expr, ty: Type) -> Expr {
        let one = |span| Expr::int(1, span);
        let span = self.span;
        let less = self.bin(BinOp::Sub, order.clone(), one(span));
        let more = self.bin(BinOp::Add, order, one(span));
        // The sign for a negative order, which compilers need not accept.
        let sign = self.call("SIGN", vec![one(span), less.clone()]);
        let size = self.call("ABS", vec![less]);
        let before = self.call(function, vec![size, x.clone()]);
        let before = self.bin(BinOp::Mul, sign, before);
        let after = self.call(function, vec![more, x]);
        let difference = self.bin(BinOp::Sub, before, after);
        self.scale("0.5", ty, difference)
    }

    /// A constant with all the digits of its type.
    fn constant_of(&self, digits: &str, ty: Type) -> Expr {
        let keep = match ty {
            Type::Real(16) | Type::Complex(16) => digits.len(),
            // More than REAL has: the compiler may be told to make REAL larger.
            _ => digits.len().min(20),
        };
        self.literal(digits.get(..keep).unwrap_or(digits), ty)
    }

    /// GAMMA and LOG_GAMMA, by the digamma function, which is shipped with the derivative.
    pub(super) fn gamma(
        &mut self,
        e: &Expr,
        i: &'static Intrinsic,
        v: Value,
        ty: Type,
        rebuild: &dyn Fn(Vec<Expr>) -> Expr,
    ) -> Value {
        let Some(d) = v.d else {
            return Value {
                p: rebuild(vec![v.p]),
                d: None,
            };
        };
        let function = match ty {
            Type::Real(4) => "FARFEL_SPSI",
            Type::Real(8) => "FARFEL_DPSI",
            _ => {
                return self.not_known(
                    e,
                    i,
                    "is known of REAL and DOUBLE PRECISION only",
                    "convert the argument",
                );
            }
        };
        let x = self.share(v.p);
        let Some(psi) = self.bundled(function, ty) else {
            return self.not_known(
                e,
                i,
                "needs the digamma function",
                "write the function in Fortran, for instance by its asymptotic series; then it can be differentiated",
            );
        };
        let psi = Expr::call(psi, vec![x.clone()], self.span);
        let primal = rebuild(vec![x]);
        if i.op == Op::LogGamma {
            return Value {
                p: primal,
                d: Some(self.mul(psi, d)),
            };
        }
        let p = self.share_always(primal);
        let factor = self.bin(BinOp::Mul, p.clone(), psi);
        Value {
            p,
            d: Some(self.mul(factor, d)),
        }
    }

    /// The symbol of a bundled function; `None` if the user has to provide everything that is called.
    fn bundled(&mut self, name: &str, ty: Type) -> Option<SymId> {
        let known = crate::custom_rules::bundled::unit(name).is_some();
        (known && self.engine.layout.bundled).then(|| {
            crate::custom_rules::functions::symbol(&mut self.unit, name, Class::Function, Some(ty))
        })
    }

    /// MAX and MIN of arrays, element by element.
    pub(super) fn extremum_of_arrays(
        &mut self,
        e: &Expr,
        op: Op,
        values: Vec<Value>,
        ty: Type,
    ) -> Value {
        let ExprKind::Call(function, _) = &e.kind else {
            return Value {
                p: e.clone(),
                d: None,
            };
        };
        let better = if op == Op::Max { BinOp::Gt } else { BinOp::Lt };
        let mut so_far: Option<(Expr, Expr)> = None;
        for v in values {
            let d = v.d.unwrap_or_else(|| self.zero(ty));
            let p = self.calls_once(v.p);
            so_far = Some(match so_far {
                None => (p, d),
                Some((best, best_d)) => {
                    let condition = self.bin(better, p.clone(), best.clone());
                    let d = self.call("MERGE", vec![d, best_d, condition]);
                    (Expr::call(*function, vec![best, p], e.span), d)
                }
            });
        }
        match so_far {
            Some((p, d)) => Value { p, d: Some(d) },
            None => Value {
                p: e.clone(),
                d: None,
            },
        }
    }
}
