//! The derivatives of intrinsic functions.
//!
//! Where a function has no derivative, the following values are used. They are never NaN by themselves:
//!
//! | function | at | derivative |
//! |---|---|---|
//! | ABS(x), SIGN(x, y) | x = 0 | that of the side x > 0 |
//! | ABS(z), complex | z = 0 | 0 |
//! | SQRT(x) | x = 0 | 0 |
//! | MAX, MIN | equal arguments | that of the first of them |
//! | DIM(x, y) | x = y | 0 |
//! | AINT, ANINT, INT, NINT | jumps | 0 |
//! | MOD(x, y) | jumps | that of x - AINT(x/y)*y with AINT held |
//! | MODULO(x, y) | jumps | that of x - FLOOR(x/y)*y with FLOOR held |

use super::generator::{Generator, Value};
use super::possible::{Obstacle, Operand, linear_in, obstacle, special};
use farfel_lang::intrinsics::{Intrinsic, Op, Shape};
use farfel_lang::ir::{BinOp, Expr, ExprKind, IfBlock, Stmt, SymId, Type};

impl Generator<'_> {
    pub(super) fn intrinsic_tangent(
        &mut self,
        e: &Expr,
        i: &'static Intrinsic,
        s: SymId,
        args: &[Expr],
    ) -> Value {
        let ty = self.ty(e);
        let span = e.span;
        let rebuild = |args: Vec<Expr>| Expr::call(s, args, span);
        if !ty.is_differentiable() {
            return Value {
                p: self.primal(e),
                d: None,
            };
        }
        let mut values: Vec<Value> = args.iter().map(|a| self.actual_tangent(a)).collect();
        let types: Vec<Type> = args.iter().map(|a| self.ty(a)).collect();
        if values.iter().all(|v| v.d.is_none()) {
            return Value {
                p: rebuild(values.into_iter().map(|v| v.p).collect()),
                d: None,
            };
        }
        let operands = values.iter().map(|v| Operand {
            keyword: Operand::keyword_of(&v.p),
            array: self.is_array_valued(&v.p),
            tangent: v.d.as_ref().map(|d| self.is_array_valued(d)),
        });
        let operands: Vec<Operand> = operands.collect();
        let pattern = self.engine.layout.pattern;
        if let Some(obstacle) = obstacle(i, &operands, self.is_array_valued(e), pattern) {
            return self.refused(e, i, obstacle);
        }
        let arrays = operands.iter().any(|o| o.array);
        if pattern && arrays && i.shape != Shape::Elemental {
            return self.pattern_of_arrays(values, &rebuild);
        }
        match i.op {
            Op::Linear => {
                let of = linear_in(&operands);
                self.linear(of, values, &rebuild)
            }
            Op::Bilinear => self.bilinear(values, &rebuild),
            Op::Merge => self.merge(values, ty, &rebuild),
            Op::Opaque => match special(i, values.len()) {
                Some(rule) => self.special(i, rule, values, &types, ty, &rebuild),
                None => self.refused(e, i, Obstacle::NoRule),
            },
            Op::Aint | Op::Anint | Op::Nint | Op::Other => Value {
                p: rebuild(values.into_iter().map(|v| v.p).collect()),
                d: None,
            },
            Op::Convert => self.conversion(e, i, s, values, &types),
            Op::Max | Op::Min => self.extremum(e, i.op, values, ty),
            Op::Mod | Op::Modulo => {
                let b = values.remove(1);
                let a = values.remove(0);
                match b.d {
                    None => Value {
                        p: rebuild(vec![a.p, b.p]),
                        d: a.d,
                    },
                    Some(bd) => {
                        let (ap, bp) = (self.share(a.p), self.share(b.p));
                        let whole = if i.op == Op::Mod {
                            let quotient = self.bin(BinOp::Div, ap.clone(), bp.clone());
                            self.call("AINT", vec![quotient])
                        } else {
                            // FLOOR would return an INTEGER, which may be too small.
                            let rest = rebuild(vec![ap.clone(), bp.clone()]);
                            let multiple = self.bin(BinOp::Sub, ap.clone(), rest);
                            let quotient = self.bin(BinOp::Div, multiple, bp.clone());
                            self.call("ANINT", vec![quotient])
                        };
                        let part = self.mul(whole, bd);
                        Value {
                            p: rebuild(vec![ap, bp]),
                            d: self.sub(a.d, Some(part)),
                        }
                    }
                }
            }
            Op::Sign => {
                let b = values.remove(1);
                let a = values.remove(0);
                let Some(ad) = a.d else {
                    return Value {
                        p: rebuild(vec![a.p, b.p]),
                        d: None,
                    };
                };
                let (ap, bp) = (self.share(a.p), self.share(b.p));
                let one = self.literal("1.0", ty);
                let of_a = self.call("SIGN", vec![one.clone(), ap.clone()]);
                // SIGN(SIGN(1,a), …) would be wrong: the sign of the result is that of b.
                let of_b = self.call("SIGN", vec![one, bp.clone()]);
                let factor = self.mul(of_a, of_b);
                Value {
                    d: Some(self.mul(factor, ad)),
                    p: rebuild(vec![ap, bp]),
                }
            }
            Op::Dim => {
                let b = values.remove(1);
                let a = values.remove(0);
                let (ap, bp) = (self.share(a.p), self.share(b.p));
                let condition = self.bin(BinOp::Gt, ap.clone(), bp.clone());
                let d = self.sub(a.d, b.d).map(|d| self.guarded(condition, d, ty));
                Value {
                    p: rebuild(vec![ap, bp]),
                    d,
                }
            }
            Op::Dprod => {
                let b = values.remove(1);
                let a = values.remove(0);
                let (ap, bp) = (self.share(a.p), self.share(b.p));
                let left = a.d.map(|ad| rebuild(vec![ad, bp.clone()]));
                let right = b.d.map(|bd| rebuild(vec![ap.clone(), bd]));
                Value {
                    p: rebuild(vec![ap, bp]),
                    d: self.add(left, right),
                }
            }
            Op::Atan2 => {
                let b = values.remove(1);
                let a = values.remove(0);
                let (ap, bp) = (self.share(a.p), self.share(b.p));
                let left = a.d.map(|ad| self.mul(bp.clone(), ad));
                let right = b.d.map(|bd| self.mul(ap.clone(), bd));
                let (sa, sb) = (self.power(ap.clone(), 2), self.power(bp.clone(), 2));
                let norm = self.bin(BinOp::Add, sa, sb);
                Value {
                    d: self.sub(left, right).map(|n| self.div(n, norm)),
                    p: rebuild(vec![ap, bp]),
                }
            }
            Op::Aimag | Op::Conjg => {
                let a = values.remove(0);
                Value {
                    d: a.d.map(|d| rebuild(vec![d])),
                    p: rebuild(vec![a.p]),
                }
            }
            Op::Gamma | Op::LogGamma => {
                let x = values.remove(0);
                self.gamma(e, i, x, ty, &rebuild)
            }
            _ => {
                let a = values.remove(0);
                match a.d {
                    Some(d) => self.of_one(i.op, a.p, d, types[0], ty, &rebuild),
                    None => Value {
                        p: rebuild(vec![a.p]),
                        d: None,
                    },
                }
            }
        }
    }

    /// The tangent of a function of one argument.
    fn of_one(
        &mut self,
        op: Op,
        x: Expr,
        d: Expr,
        arg: Type,
        ty: Type,
        rebuild: &dyn Fn(Vec<Expr>) -> Expr,
    ) -> Value {
        let x = self.share(x);
        let primal = rebuild(vec![x.clone()]);
        let one = self.literal("1.0", ty);
        let (p, d) = match op {
            Op::Exp => {
                let p = self.share_always(primal);
                (p.clone(), self.mul(p, d))
            }
            Op::Sqrt => {
                let p = self.share_always(primal);
                let twice = self.scale("2.0", ty, p.clone());
                let d = self.div(d, twice);
                let d = if self.is_array_valued(&p) {
                    d
                } else {
                    let zero = self.zero(ty);
                    let condition = self.bin(BinOp::Ne, p.clone(), zero);
                    self.guarded(condition, d, ty)
                };
                (p, d)
            }
            Op::Log => (primal, self.div(d, x)),
            Op::Log10 => {
                // More digits than REAL has: the compiler may be told to make REAL larger.
                let ln10 = match ty {
                    Type::Real(16) => "2.30258509299404568401799145468436421",
                    _ => "2.302585092994045684",
                };
                let scaled = self.scale(ln10, ty, x);
                (primal, self.div(d, scaled))
            }
            Op::Sin => {
                let c = self.call("COS", vec![x]);
                (primal, self.mul(c, d))
            }
            Op::Cos => {
                let s = self.call("SIN", vec![x]);
                let d = self.mul(s, d);
                (primal, self.neg(d))
            }
            Op::Tan => {
                let p = self.share_always(primal);
                let square = self.power(p.clone(), 2);
                let factor = self.bin(BinOp::Add, one, square);
                (p, self.mul(factor, d))
            }
            Op::Tanh => {
                // 1-TANH(X)**2 would lose all digits where TANH(X) is near one.
                let c = self.call("COSH", vec![x]);
                let square = self.power(c, 2);
                (primal, self.div(d, square))
            }
            Op::Asin | Op::Acos => {
                // (1-x)(1+x) keeps its digits near one, where 1-x**2 loses them.
                let less = self.bin(BinOp::Sub, one.clone(), x.clone());
                let more = self.bin(BinOp::Add, one, x);
                let product = self.bin(BinOp::Mul, less, more);
                let root = self.call("SQRT", vec![product]);
                let d = self.div(d, root);
                (primal, if op == Op::Acos { self.neg(d) } else { d })
            }
            Op::Atan => {
                let square = self.power(x, 2);
                let norm = self.bin(BinOp::Add, one, square);
                (primal, self.div(d, norm))
            }
            Op::Sinh => {
                let c = self.call("COSH", vec![x]);
                (primal, self.mul(c, d))
            }
            Op::Cosh => {
                let s = self.call("SINH", vec![x]);
                (primal, self.mul(s, d))
            }
            Op::Erf | Op::Erfc => {
                let two_over_root_pi = match ty {
                    Type::Real(16) => "1.12837916709551257389615890312154517",
                    _ => "1.128379167095512574",
                };
                let square = self.power(x, 2);
                let minus = self.neg(square);
                let bell = self.call("EXP", vec![minus]);
                let factor = self.scale(two_over_root_pi, ty, bell);
                let d = self.mul(factor, d);
                (primal, if op == Op::Erfc { self.neg(d) } else { d })
            }
            Op::Abs if matches!(arg, Type::Complex(_)) => {
                let p = self.share_always(primal);
                let (re, im) = match arg {
                    Type::Complex(8) => ("DBLE", "DIMAG"),
                    _ => ("REAL", "AIMAG"),
                };
                let d = self.share(d);
                let left = self.call(re, vec![x.clone()]);
                let left_d = self.call(re, vec![d.clone()]);
                let right = self.call(im, vec![x]);
                let right_d = self.call(im, vec![d]);
                let left = self.mul(left, left_d);
                let right = self.mul(right, right_d);
                let sum = self.bin(BinOp::Add, left, right);
                let d = self.div(sum, p.clone());
                let zero = self.zero(ty);
                let condition = self.bin(BinOp::Ne, p.clone(), zero);
                (p, self.guarded(condition, d, ty))
            }
            Op::Abs => {
                let sign = self.call("SIGN", vec![one, x]);
                (primal, self.mul(sign, d))
            }
            // Constant wherever they have a derivative.
            Op::Aint | Op::Anint | Op::Nint | Op::Other
            // These have rules of their own, above.
            | Op::Convert | Op::Mod | Op::Modulo | Op::Sign | Op::Dim | Op::Dprod | Op::Max | Op::Min
            | Op::Aimag | Op::Conjg | Op::Atan2 | Op::Gamma | Op::LogGamma
            | Op::Linear | Op::Bilinear | Op::Merge | Op::Opaque => {
                return Value { p: primal, d: None };
            }
        };
        Value { p, d: Some(d) }
    }

    /// The tangent of REAL, DBLE, CMPLX and similar functions.
    fn conversion(
        &mut self,
        e: &Expr,
        i: &'static Intrinsic,
        s: SymId,
        values: Vec<Value>,
        types: &[Type],
    ) -> Value {
        let rebuild = |args: Vec<Expr>| Expr::call(s, args, e.span);
        // REAL(x, kind), CMPLX(x, y, kind): the kind is the same for the derivative.
        let parts = match i.result {
            farfel_lang::intrinsics::ResultType::Fixed(Type::Complex(_)) => 2,
            _ => 1,
        };
        let mut p = Vec::new();
        let mut d = Vec::new();
        let mut any = false;
        for (k, v) in values.into_iter().enumerate() {
            p.push(v.p.clone());
            if k >= parts {
                d.push(v.p);
                continue;
            }
            any |= v.d.is_some();
            d.push(match v.d {
                Some(d) => d,
                None => match types[k] {
                    Type::Integer(_) => self.literal("0.0", Type::REAL),
                    t => self.zero(t),
                },
            });
        }
        // A conversion of one argument that already has the type.
        let trivial = parts == 1 && d.len() == 1 && types[0] == self.ty(e);
        Value {
            d: match (any, trivial) {
                (false, _) => None,
                (true, true) => d.pop(),
                (true, false) => Some(rebuild(d)),
            },
            p: rebuild(p),
        }
    }

    /// The tangent of MAX and MIN with any number of arguments: the value and the derivative of the chosen
    /// one, by a chain of comparisons before the statement.
    fn extremum(&mut self, e: &Expr, op: Op, values: Vec<Value>, ty: Type) -> Value {
        if values.iter().any(|v| self.is_array_valued(&v.p)) {
            return self.extremum_of_arrays(e, op, values, ty);
        }
        let span = self.span;
        if self.engine.layout.pattern {
            // Any of them may be the chosen one elsewhere.
            let (p, d): (Vec<Expr>, Vec<_>) = values.into_iter().map(|v| (v.p, v.d)).unzip();
            let mut same = e.clone();
            if let ExprKind::Call(_, args) = &mut same.kind {
                *args = p;
            }
            return Value {
                p: same,
                d: d.into_iter().fold(None, |all, d| self.add(all, d)),
            };
        }
        let p = Expr::var(self.temporary(ty, false), span);
        let d = Expr::var(self.temporary(ty, true), span);
        let better = if op == Op::Max { BinOp::Gt } else { BinOp::Lt };
        for (k, v) in values.into_iter().enumerate() {
            let value = if k == 0 { v.p } else { self.share(v.p) };
            let derivative = v.d.unwrap_or_else(|| self.zero(ty));
            let set = vec![
                Stmt::assign(d.clone(), derivative, span),
                Stmt::assign(p.clone(), value.clone(), span),
            ];
            if k == 0 {
                self.pre.extend(set);
            } else {
                let condition = self.bin(better, value, p.clone());
                self.pre.push(Stmt::block_if(
                    IfBlock {
                        arms: vec![(condition, set)],
                        otherwise: None,
                        ..IfBlock::default()
                    },
                    span,
                ));
            }
        }
        Value { p, d: Some(d) }
    }
}
