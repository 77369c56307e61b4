//! Derivatives of powers.
//!
//! `docs/derivatives.md` describes their values at zero.

use super::generator::{Generator, Value};
use farfel_lang::ir::{BinOp, Expr, Type};
use farfel_lang::storage::constant;

impl Generator<'_> {
    pub(super) fn pow(&mut self, e: &Expr, base: &Expr, exponent: &Expr) -> Value {
        let ty = self.ty(e);
        let exponent_type = self.ty(exponent);
        let (a, b) = (self.tangent(base), self.tangent(exponent));
        let rebuild = |p: Expr, q: Expr| Expr::binary(BinOp::Pow, p, q).at(e.span);
        if let (Some(ad), None) = (&a.d, &b.d) {
            let ad = ad.clone();
            if let Type::Integer(_) = exponent_type {
                return self.integer_power(ty, a.p, ad, b.p, &rebuild);
            }
            if let Some(k) = self.constant(&b.p) {
                let a = self.share(a.p);
                if !is_cheap_power(k - 1.0) && self.is_quotient_rule(e) {
                    let p = self.store(rebuild(a.clone(), b.p.clone()));
                    let slow = self.power_less_one(&a, k, &b.p);
                    let factor = self.power_factor(&a, &b.p, &p, Vec::new(), slow, ty);
                    return Value {
                        d: Some(self.mul(factor, ad)),
                        p,
                    };
                }
                let d = self.constant_power(&a, k, &b.p, ad);
                return Value {
                    p: rebuild(a, b.p),
                    d,
                };
            }
        }
        // The general case: a' b a**(b-1) + b' a**b log(a), each part only where the
        // factor before the power is not zero.
        let (ap, bp) = (self.share(a.p), self.share(b.p));
        let by_quotient = self.is_quotient_rule(e);
        let p = match b.d.is_some() && !self.is_array_valued(e) || by_quotient {
            true => self.store(rebuild(ap.clone(), bp.clone())),
            false => rebuild(ap.clone(), bp.clone()),
        };
        let from_base = a.d.map(|ad| {
            let one = self.literal("1.0", exponent_type);
            let less = self.bin(BinOp::Sub, bp.clone(), one);
            let power = self.bin(BinOp::Pow, ap.clone(), less);
            let slow = self.mul(bp.clone(), power);
            let zero = self.zero(exponent_type);
            let condition = self.bin(BinOp::Ne, bp.clone(), zero);
            let factor = if by_quotient {
                let arms = vec![(condition, slow)];
                let zero = self.zero(ty);
                self.power_factor(&ap, &bp, &p, arms, zero, ty)
            } else {
                self.guarded(condition, slow, ty)
            };
            self.mul(factor, ad)
        });
        let from_exponent = b.d.map(|bd| {
            let positive = self.constant(&ap).is_some_and(|k| k > 0.0);
            // In the type of the power: an INTEGER has no LOG, a REAL has too few digits,
            // and a negative base has a complex logarithm.
            let of = match (self.ty(&ap), ty, self.constant(&ap)) {
                (from, to, _) if from == to => ap.clone(),
                (Type::Integer(_), to, Some(k)) if positive => self.literal(&format!("{k:?}"), to),
                (_, to, _) => self.converted(ap.clone(), to),
            };
            let log = self.call("LOG", vec![of]);
            let factor = self.mul(p.clone(), log);
            let factor = if positive {
                factor
            } else {
                let zero = self.zero(self.ty(&ap));
                let condition = self.bin(BinOp::Ne, ap.clone(), zero);
                self.guarded(condition, factor, ty)
            };
            self.mul(factor, bd)
        });
        Value {
            p,
            d: self.add(from_base, from_exponent),
        }
    }

    /// The tangent of a power with an INTEGER exponent.
    fn integer_power(
        &mut self,
        ty: Type,
        base: Expr,
        d_base: Expr,
        exponent: Expr,
        rebuild: &dyn Fn(Expr, Expr) -> Expr,
    ) -> Value {
        if let Some(n) = constant::integer(&self.unit, &exponent) {
            let base = self.share(base);
            let d = match n {
                0 => None,
                1 => Some(d_base),
                n => {
                    let power = self.power(base.clone(), n - 1);
                    let k = self.literal(&format!("{}.0", n.abs()), ty);
                    let k = if n < 0 { self.neg(k) } else { k };
                    let factor = self.mul(k, power);
                    Some(self.mul(factor, d_base))
                }
            };
            return Value {
                p: rebuild(base, exponent),
                d,
            };
        }
        let base = self.share(base);
        let n = self.share_always(exponent);
        // n-1, but 0 for n = 0: zero times the power of a zero base must not be NaN.
        let magnitude = self.call("ABS", vec![n.clone()]);
        let one = match self.ty(&n) {
            Type::Integer(4) => Expr::int(1, self.span),
            // MIN requires arguments of the same kind.
            _ => self.bin(BinOp::Pow, n.clone(), Expr::int(0, self.span)),
        };
        let step = self.call("MIN", vec![one, magnitude]);
        let less = self.bin(BinOp::Sub, n.clone(), step);
        let power = self.bin(BinOp::Pow, base.clone(), less);
        let factor = self.bin(BinOp::Mul, n.clone(), power);
        let d = self.mul(factor, d_base);
        Value {
            p: rebuild(base, n),
            d: Some(d),
        }
    }

    /// `k * base**(k - 1)`
    fn power_less_one(&self, base: &Expr, k: f64, exponent: &Expr) -> Expr {
        let ty = self.ty(base).promote(self.ty(exponent));
        let exponent_type = self.ty(exponent);
        // Exactly representable in few digits, so that the literal is exact too.
        let exact = |x: f64| x.abs() < 1000.0 && (x * 64.0).fract() == 0.0;
        let power = if k == 2.0 && self.ty(base).promote(exponent_type) == self.ty(base) {
            base.clone()
        } else if exact(k) {
            let less = self.literal(&format!("{:?}", (k - 1.0).abs()), exponent_type);
            let less = if k < 1.0 { self.neg(less) } else { less };
            self.bin(BinOp::Pow, base.clone(), less)
        } else {
            let one = self.literal("1.0", exponent_type);
            let less = self.bin(BinOp::Sub, exponent.clone(), one);
            self.bin(BinOp::Pow, base.clone(), less)
        };
        let factor = if exact(k) {
            let c = self.literal(&format!("{:?}", k.abs()), ty);
            if k < 0.0 { self.neg(c) } else { c }
        } else {
            exponent.clone()
        };
        self.mul(factor, power)
    }

    /// Whether the derivative of a power is computed as `b*(p/a)`.
    fn is_quotient_rule(&self, e: &Expr) -> bool {
        matches!(self.ty(e), Type::Real(4 | 8)) && !self.is_array_valued(e)
    }

    /// The derivative of the power `p = a**b` with respect to its base: `b*(p/a)`, which saves the second
    /// power. Where `p` has lost digits or `a` is zero, it is the value of the first of `arms` whose
    /// condition holds, or `otherwise`.
    fn power_factor(
        &mut self,
        base: &Expr,
        exponent: &Expr,
        p: &Expr,
        arms: Vec<(Expr, Expr)>,
        otherwise: Expr,
        ty: Type,
    ) -> Expr {
        let quotient = self.bin(BinOp::Div, p.clone(), base.clone());
        let grouped = Expr::parens(quotient, self.span);
        let fast = self.mul(exponent.clone(), grouped);
        if self.engine.layout.pattern {
            return fast;
        }
        // Far above the range of denormal numbers.
        let least = if ty == Type::Real(4) {
            "1.0E-30"
        } else {
            "1.0D-290"
        };
        let least = Expr::real(least, self.span);
        let size = self.call("ABS", vec![p.clone()]);
        let large = self.bin(BinOp::Ge, size, least);
        let zero = self.zero(self.ty(base));
        let other = self.bin(BinOp::Ne, base.clone(), zero);
        let mut all = vec![(self.bin(BinOp::And, other, large), fast)];
        all.extend(arms);
        self.choose_among(all, otherwise, ty)
    }

    /// The derivative of a power with a real constant exponent.
    fn constant_power(
        &mut self,
        base: &Expr,
        k: f64,
        exponent: &Expr,
        d_base: Expr,
    ) -> Option<Expr> {
        if k == 0.0 {
            return None;
        }
        if k == 1.0 {
            return Some(d_base);
        }
        let factor = self.power_less_one(base, k, exponent);
        Some(self.mul(factor, d_base))
    }
}

/// Whether compilers multiply instead of calling a function.
fn is_cheap_power(k: f64) -> bool {
    [-1.0, 0.0, 1.0, 2.0].contains(&k)
}
