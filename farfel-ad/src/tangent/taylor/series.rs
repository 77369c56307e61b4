//! Truncated Taylor series of expressions.
//!
//! If `x(t) = x0 + x1*t + x2*t**2 + …`, the coefficients of `f(x(t))` follow from those of `x` by the
//! recurrences in A. Griewank and A. Walther, *Evaluating Derivatives*, 2nd edition, SIAM 2008, section 13.2:
//! a product is a convolution, and for a function with `f' = g`, where `g` is known, `k*f(k)` is the sum of
//! `j*x(j)*g(k-j)` for j from 1 to k.

use super::generator::{Series, TaylorUnit};
use super::varied::variable;
use farfel_lang::intrinsics::{Intrinsic, Op};
use farfel_lang::ir::build::{grouped, negative, paren};
use farfel_lang::ir::{BinOp, Block, Class, Expr, ExprKind, Stmt, SymId, Type, UnOp};
use farfel_lang::storage::constant;
use farfel_lang::types::type_of;

/// The largest constant exponent that is written as products.
const LARGEST_POWER: u64 = 64;

impl Series {
    fn is_constant(&self) -> bool {
        self.terms.iter().all(Option::is_none)
    }

    /// Coefficient `k`, where 0 is the value.
    fn at(&self, k: usize) -> Option<&Expr> {
        match k {
            0 => Some(&self.value),
            k => self.terms.get(k - 1).and_then(Option::as_ref),
        }
    }
}

impl TaylorUnit<'_> {
    /// The series of an expression. `None` if its derivatives are not known here.
    pub(super) fn series(&mut self, e: &Expr) -> Option<Series> {
        if !self.is_active(e) {
            return Some(self.constant(self.primal(e)));
        }
        let span = e.span;
        match &e.kind {
            ExprKind::Var(s) => match self.bound.get(s) {
                Some(bound) => Some(bound.clone()),
                None => self.designated(e),
            },
            ExprKind::Element(..) => self.designated(e),
            ExprKind::Paren(a) => {
                let mut a = self.series(a)?;
                a.value = paren(a.value);
                Some(a)
            }
            ExprKind::Unary(UnOp::Minus, a) => {
                let a = self.series(a)?;
                Some(Series {
                    value: Expr::minus(grouped(a.value), span),
                    terms: a.terms.into_iter().map(|t| t.map(minus)).collect(),
                })
            }
            ExprKind::Unary(UnOp::Plus, a) => self.series(a),
            ExprKind::Binary(op, a, b) => self.operation(e, *op, a, b),
            ExprKind::Call(s, args) => match self.source.symbols[*s].class.clone() {
                Class::Intrinsic(i) => self.intrinsic_series(e, i, *s, args),
                Class::StatementFunction(dummies, value) => {
                    self.statement_function(*s, &dummies, &value, args)
                }
                _ => self.function(*s, args),
            },
            _ => None,
        }
    }

    /// The series of a variable or an element.
    fn designated(&mut self, e: &Expr) -> Option<Series> {
        let value = self.primal(e);
        let of = variable(e)?;
        if self.unchanged == Some(of) {
            let mut x = self.constant(value);
            x.terms[0] = Some(self.number(1, self.ty(e)?));
            return Some(x);
        }
        let terms = self.coefficients.get(&of)?.clone();
        let term = |s: &SymId| {
            let mut same = value.clone();
            if let ExprKind::Var(v) | ExprKind::Element(v, _) = &mut same.kind {
                *v = *s;
            }
            Some(same)
        };
        let terms = terms.iter().map(term).collect();
        Some(Series { value, terms })
    }

    fn operation(&mut self, e: &Expr, op: BinOp, a: &Expr, b: &Expr) -> Option<Series> {
        let ty = self.ty(e)?;
        if op == BinOp::Pow {
            return self.power(e, a, b, ty);
        }
        let (a, b) = (self.series(a)?, self.series(b)?);
        match op {
            BinOp::Add | BinOp::Sub => {
                let value = Expr::binary(op, a.value, b.value).at(e.span);
                let pairs = a.terms.into_iter().zip(b.terms);
                let terms = pairs.map(|(a, b)| match (op, b) {
                    (_, None) => a,
                    (BinOp::Add, b) => plus(a, b),
                    (_, Some(b)) => plus(a, Some(minus(b))),
                });
                Some(Series {
                    value,
                    terms: terms.collect(),
                })
            }
            BinOp::Mul => Some(self.product(&a, &b, ty)),
            BinOp::Div => Some(self.quotient(a, b, ty)),
            _ => None,
        }
    }

    /// The product of two series, as expressions of their coefficients.
    pub(super) fn product(&mut self, a: &Series, b: &Series, ty: Type) -> Series {
        let same = a.value.equals_ignoring_spans(&b.value)
            && a.terms.iter().zip(&b.terms).all(|(x, y)| match (x, y) {
                (Some(x), Some(y)) => x.equals_ignoring_spans(y),
                (x, y) => x.is_none() && y.is_none(),
            });
        let (a, b) = match (same, a.is_constant(), b.is_constant()) {
            (true, ..) => {
                let a = self.stored(a.clone(), ty);
                (a.clone(), a)
            }
            (_, false, false) => (self.stored(a.clone(), ty), self.stored(b.clone(), ty)),
            // Its coefficients are used once each.
            (_, false, true) => (a.clone(), self.stored(b.clone(), ty)),
            (_, true, _) => (self.stored(a.clone(), ty), b.clone()),
        };
        let value = Expr::binary(BinOp::Mul, a.value.clone(), b.value.clone()).at(self.span);
        let terms = (1..=self.order).map(|k| match same {
            true => self.half_convolution(&a, k, ty),
            false => self.convolution(&a, &b, 0, k),
        });
        let terms = terms.collect();
        Series { value, terms }
    }

    /// The sum of `a(j)*b(k-j)` for j from `from` to k.
    fn convolution(&self, a: &Series, b: &Series, from: usize, k: usize) -> Option<Expr> {
        let terms = (from..=k).map(|j| Some(times(a.at(j)?.clone(), b.at(k - j)?.clone())));
        terms.fold(None, plus)
    }

    /// Coefficient `k` of a square.
    fn half_convolution(&self, a: &Series, k: usize, ty: Type) -> Option<Expr> {
        let pairs = (0..k.div_ceil(2)).map(|j| Some(times(a.at(j)?.clone(), a.at(k - j)?.clone())));
        let pairs = pairs.fold(None, plus);
        let twice = pairs.map(|p| times(self.number(2, ty), p));
        let middle = k
            .is_multiple_of(2)
            .then(|| a.at(k / 2))
            .flatten()
            .map(|m| times(m.clone(), m.clone()));
        plus(twice, middle)
    }

    /// The sum of `j*a(j)*b(k-j)` for j from 1 to `to`, divided by k.
    fn integral(&self, a: &Series, b: &Series, k: usize, to: usize, ty: Type) -> Option<Expr> {
        let terms = (1..=to).map(|j| {
            let product = times(a.at(j)?.clone(), b.at(k - j)?.clone());
            Some(match j {
                1 => product,
                j => times(self.number(j, ty), product),
            })
        });
        let sum = terms.fold(None, plus)?;
        Some(match k {
            1 => sum,
            k => over(sum, self.number(k, ty)),
        })
    }

    fn quotient(&mut self, a: Series, b: Series, ty: Type) -> Series {
        let b = self.stored(b, ty);
        let divisor = b.value.clone();
        if b.is_constant() {
            let value = Expr::binary(BinOp::Div, a.value, divisor.clone()).at(self.span);
            let terms = a.terms.into_iter();
            let terms = terms.map(|t| t.map(|t| over(t, divisor.clone())));
            return Series {
                value,
                terms: terms.collect(),
            };
        }
        let quotient = Expr::binary(BinOp::Div, a.value.clone(), divisor.clone()).at(self.span);
        let mut c = self.constant(quotient);
        c.value = self.keep(c.value, ty);
        for k in 1..=self.order {
            let rest = self.convolution(&b, &c, 1, k).map(minus);
            let sum = plus(a.at(k).cloned(), rest);
            c.terms[k - 1] = sum.map(|s| self.keep(over(s, divisor.clone()), ty));
        }
        c
    }

    /// The series whose derivative is that of `a` divided by `h`, with this value.
    fn integral_of_quotient(&mut self, value: Expr, a: &Series, h: &Series, ty: Type) -> Series {
        let mut c = self.constant(value);
        for k in 1..=self.order {
            let rest = self.integral(&c, h, k, k - 1, ty).map(minus);
            let sum = plus(a.at(k).cloned(), rest);
            c.terms[k - 1] = sum.map(|s| self.keep(over(s, h.value.clone()), ty));
        }
        c
    }

    /// The square root of a series; `root` is its value, which is not zero.
    fn root(&mut self, root: Expr, a: &Series, ty: Type) -> Series {
        let mut c = self.constant(root.clone());
        for k in 1..=self.order {
            let products = (1..k).map(|j| Some(times(c.at(j)?.clone(), c.at(k - j)?.clone())));
            let rest = products.fold(None, plus).map(minus);
            let sum = plus(a.at(k).cloned(), rest);
            let twice = times(self.number(2, ty), root.clone());
            c.terms[k - 1] = sum.map(|s| self.keep(over(s, paren(twice.clone())), ty));
        }
        c
    }

    /// Two functions, each of which is the derivative of the other one, up to the sign: SIN and COS.
    fn pair(&mut self, values: [Expr; 2], signs: [bool; 2], a: &Series, ty: Type) -> [Series; 2] {
        let mut both = values.map(|v| self.constant(v));
        for b in &mut both {
            b.value = self.keep(b.value.clone(), ty);
        }
        for k in 1..=self.order {
            let next = [1, 0].map(|other| self.integral(a, &both[other], k, k, ty));
            for (i, next) in next.into_iter().enumerate() {
                let next = next.map(|n| if signs[i] { minus(n) } else { n });
                both[i].terms[k - 1] = next.map(|n| self.keep(n, ty));
            }
        }
        both
    }

    /// Powers. Those with a constant whole exponent are products, which are right for a zero base.
    fn power(&mut self, e: &Expr, a: &Expr, b: &Expr, ty: Type) -> Option<Series> {
        if self.is_active(b) {
            let base = number(a).filter(|x| *x > 0.0 && !self.is_active(a))?;
            let b = self.series(b)?;
            let b = self.stored(b, ty);
            let value = Expr::binary(BinOp::Pow, self.primal(a), b.value.clone()).at(e.span);
            let log = Expr::real(literal_of(base.ln(), ty)?, self.span);
            let terms = b.terms.iter().map(|t| Some(times(log.clone(), t.clone()?)));
            let exponent = Series {
                terms: terms.collect(),
                ..b.clone()
            };
            let exponent = self.stored(exponent, ty);
            return Some(self.exponential(value, &exponent, ty));
        }
        let whole = constant::integer(self.source, b);
        let real = number(b);
        let whole = whole.or_else(|| {
            real.filter(|r| r.fract() == 0.0 && r.abs() <= LARGEST_POWER as f64)
                .map(|r| r as i64)
        });
        let base = self.series(a)?;
        let base = self.stored(base, ty);
        let value = Expr::binary(BinOp::Pow, base.value.clone(), self.primal(b)).at(e.span);
        if let Some(n) = whole {
            if n.unsigned_abs() > LARGEST_POWER {
                return None;
            }
            if n == 0 {
                return Some(self.constant(value));
            }
            let product = self.whole_power(&base, n.unsigned_abs(), ty);
            if n > 0 {
                return Some(Series { value, ..product });
            }
            let one = self.constant(self.number(1, ty));
            let reciprocal = self.quotient(one, product, ty);
            return Some(Series {
                value,
                ..reciprocal
            });
        }
        match (real, self.ty(b)?) {
            (Some(exponent), _) => self.real_power(value, &base, exponent, ty),
            (None, Type::Integer(4)) => self.variable_power(value, &base, self.primal(b), ty),
            _ => None,
        }
    }

    /// `a**n` where n is a variable: the sum of `binomial(n, j)*a(0)**(n-j)*h**j`, where h is the series
    /// without its value. That is right for a zero base and any sign of n.
    fn variable_power(&mut self, value: Expr, a: &Series, n: Expr, ty: Type) -> Option<Series> {
        let span = self.span;
        let int = |n: usize| Expr::int(n as i64, span);
        let n = self.keep(n, Type::INTEGER);
        // Below this no exponent is needed: 0 for n >= 0, where binomials are zero beyond n.
        let negative = self.call("MIN", vec![n.clone(), int(0)])?;
        let least = times(negative, int(self.order + 1));
        let least = self.keep(least, Type::INTEGER);
        let mut c = self.constant(value);
        let rest = Series {
            value: self.number(0, ty),
            terms: a.terms.clone(),
        };
        let mut power = rest.clone();
        let mut binomial: Option<Expr> = None;
        for j in 1..=self.order {
            if j > 1 {
                // The coefficients of h**j begin with that of order j.
                let terms = (1..=self.order).map(|k| {
                    let products = (1..k).map(|i| {
                        let (x, y) = (rest.at(i)?.clone(), power.at(k - i)?.clone());
                        Some(times(x, y))
                    });
                    (k >= j).then(|| products.fold(None, plus)).flatten()
                });
                let terms = terms.collect();
                let next = Series {
                    value: self.number(0, ty),
                    terms,
                };
                power = self.stored(next, ty);
            }
            let factor = match &binomial {
                None => Expr::binary(BinOp::Mul, self.number(1, ty), n.clone()),
                Some(b) => {
                    let less = paren(Expr::binary(BinOp::Sub, n.clone(), int(j - 1)));
                    over(times(b.clone(), less), self.number(j, ty))
                }
            };
            let factor = self.keep(factor, ty);
            binomial = Some(factor.clone());
            let less = Expr::binary(BinOp::Sub, n.clone(), int(j));
            let exponent = self.call("MAX", vec![less, least.clone()])?;
            let outer = Expr::binary(BinOp::Pow, a.value.clone(), exponent);
            let outer = self.keep(times(factor, outer), ty);
            for k in j..=self.order {
                let term = power.at(k).map(|p| times(outer.clone(), p.clone()));
                c.terms[k - 1] = plus(c.terms[k - 1].take(), term);
            }
        }
        Some(c)
    }

    /// `a**n` by repeated squaring.
    fn whole_power(&mut self, a: &Series, n: u64, ty: Type) -> Series {
        let mut result: Option<Series> = None;
        let mut square = a.clone();
        let mut left = n;
        loop {
            if left % 2 == 1 {
                result = Some(match result {
                    None => square.clone(),
                    Some(r) => self.product(&r, &square, ty),
                });
            }
            left /= 2;
            match (left, result) {
                (0, Some(r)) => return r,
                (_, r) => result = r,
            }
            let stored = self.stored(square, ty);
            square = self.product(&stored, &stored, ty);
            square = self.stored(square, ty);
        }
    }

    /// `a**r` where r is not whole: `k*a(0)*c(k)` is the sum of `(r*j - (k-j))*a(j)*c(k-j)` for j from 1 to k.
    /// At zero the terms below r are zero, and those above infinite.
    fn real_power(&mut self, value: Expr, a: &Series, r: f64, ty: Type) -> Option<Series> {
        let value = self.keep(value, ty);
        let mut c = self.constant(value);
        let outer = std::mem::take(&mut self.before);
        let mut formulas = Vec::new();
        for k in 1..=self.order {
            let mut sum = None;
            for j in 1..=k {
                let factor = r * j as f64 - (k - j) as f64;
                if let (Some(x), Some(y)) = (a.at(j), c.at(k - j)) {
                    let product = times(x.clone(), y.clone());
                    let size = Expr::real(literal_of(factor.abs(), ty)?, self.span);
                    let term = times(size, product);
                    sum = plus(sum, Some(if factor < 0.0 { minus(term) } else { term }));
                }
            }
            if let Some(sum) = sum {
                let t = self.temporary(ty);
                let divisor = match k {
                    1 => a.value.clone(),
                    k => paren(times(self.number(k, ty), a.value.clone())),
                };
                formulas.push(Stmt::assign(t.clone(), over(sum, divisor), self.span));
                c.terms[k - 1] = Some(t);
            }
        }
        let mut at_zero = Vec::new();
        let mut binomial = 1.0;
        for k in 1..=self.order {
            binomial *= (r - (k - 1) as f64) / k as f64;
            let Some(t) = c.at(k) else { continue };
            let term = if (k as f64) < r {
                self.number(0, ty)
            } else {
                let power = literal_of(k as f64 - r, ty)?;
                let power = Expr::minus(Expr::real(power, self.span), self.span);
                let power = Expr::binary(BinOp::Pow, a.value.clone(), paren(power));
                let first = a.at(1).cloned()?;
                let first = Expr::binary(BinOp::Pow, first, Expr::int(k as i64, self.span));
                let size = Expr::real(literal_of(binomial.abs(), ty)?, self.span);
                let term = times(times(size, power), first);
                if binomial < 0.0 { minus(term) } else { term }
            };
            at_zero.push(Stmt::assign(t.clone(), term, self.span));
        }
        self.before = outer;
        let condition = Expr::binary(BinOp::Ne, a.value.clone(), self.number(0, ty));
        self.before.push(Stmt::either(condition, formulas, at_zero));
        Some(c)
    }

    fn exponential(&mut self, value: Expr, a: &Series, ty: Type) -> Series {
        let mut c = self.constant(value);
        c.value = self.keep(c.value, ty);
        for k in 1..=self.order {
            let next = self.integral(a, &c, k, k, ty);
            c.terms[k - 1] = next.map(|n| self.keep(n, ty));
        }
        c
    }

    fn intrinsic_series(
        &mut self,
        e: &Expr,
        i: &'static Intrinsic,
        s: SymId,
        args: &[Expr],
    ) -> Option<Series> {
        let ty = self.ty(e).filter(|t| matches!(t, Type::Real(_)))?;
        let span = e.span;
        if args.iter().any(|a| matches!(a.kind, ExprKind::Keyword(..))) {
            return None;
        }
        let mut values = Vec::new();
        for a in args {
            if !matches!(self.ty(a)?, Type::Real(_) | Type::Integer(_)) {
                return None;
            }
            values.push(self.series(a)?);
        }
        let types: Vec<Option<Type>> = args.iter().map(|a| self.ty(a)).collect();
        let real = |t: Option<Type>| t.filter(|t| matches!(t, Type::Real(_)));
        if i.op == Op::Convert {
            let mut rest = values.split_off(1);
            let a = values.pop()?;
            let mut call = |x: Expr| {
                let mut all = vec![x];
                all.extend(rest.iter().map(|r| r.value.clone()));
                Expr::call(s, all, span)
            };
            let value = call(a.value);
            let terms = a.terms.into_iter().map(|t| t.map(&mut call)).collect();
            rest.clear();
            return Some(Series { value, terms });
        }
        let of = real(*types.first()?)?;
        let mut operands = Vec::new();
        for (v, t) in values.into_iter().zip(&types) {
            operands.push(self.stored(v, real(*t)?));
        }
        let call = |args: &[&Series]| {
            let args = args.iter().map(|a| a.value.clone()).collect();
            Expr::call(s, args, span)
        };
        match (i.op, &operands[..]) {
            (Op::Max | Op::Min, all) => Some(self.extremum(i.op, all, ty)),
            (Op::Abs, [a]) => {
                let sign = self.call("SIGN", vec![self.number(1, ty), a.value.clone()])?;
                Some(scaled(call(&[a]), sign, a))
            }
            (Op::Sign, [a, b]) => {
                let one = self.number(1, ty);
                let of_a = self.call("SIGN", vec![one.clone(), a.value.clone()])?;
                let of_b = self.call("SIGN", vec![one, b.value.clone()])?;
                let sign = self.keep(times(of_a, of_b), ty);
                Some(scaled(call(&[a, b]), sign, a))
            }
            (Op::Mod, [a, b]) => {
                let value = call(&[a, b]);
                if b.is_constant() {
                    return Some(Series { value, ..a.clone() });
                }
                let quotient = Expr::binary(BinOp::Div, a.value.clone(), b.value.clone());
                let whole = self.call("AINT", vec![quotient])?;
                let whole = self.keep(whole, ty);
                let pairs = a.terms.iter().zip(&b.terms);
                let terms = pairs.map(|(a, b)| {
                    let part = b.clone().map(|b| minus(times(whole.clone(), b)));
                    plus(a.clone(), part)
                });
                Some(Series {
                    value,
                    terms: terms.collect(),
                })
            }
            (Op::Dim, [a, b]) => {
                let zero = self.constant(self.number(0, ty));
                let pairs = a.terms.iter().zip(&b.terms);
                let terms = pairs.map(|(a, b)| plus(a.clone(), b.clone().map(minus)));
                let value = Expr::binary(BinOp::Sub, a.value.clone(), b.value.clone());
                let difference = Series {
                    value,
                    terms: terms.collect(),
                };
                let above = Expr::binary(BinOp::Gt, a.value.clone(), b.value.clone());
                let chosen = self.either(above, (difference, Vec::new()), zero, ty);
                Some(Series {
                    value: call(&[a, b]),
                    ..chosen
                })
            }
            (Op::Dprod, [a, b]) => {
                let double = |unit: &mut Self, x: &Series| {
                    let mut terms = Vec::new();
                    for t in &x.terms {
                        terms.push(match t {
                            Some(t) => Some(unit.call("DBLE", vec![t.clone()])?),
                            None => None,
                        });
                    }
                    let value = unit.call("DBLE", vec![x.value.clone()])?;
                    Some(Series { value, terms })
                };
                let (x, y) = (double(self, a)?, double(self, b)?);
                let product = self.product(&x, &y, ty);
                Some(Series {
                    value: call(&[a, b]),
                    ..product
                })
            }
            (Op::Atan2, [a, b]) => {
                // The derivative is (b*a' - a*b')/(a**2 + b**2).
                let aa = self.product(a, a, ty);
                let bb = self.product(b, b, ty);
                let norm = Series {
                    value: Expr::binary(BinOp::Add, aa.value, bb.value),
                    terms: aa
                        .terms
                        .into_iter()
                        .zip(bb.terms)
                        .map(|(x, y)| plus(x, y))
                        .collect(),
                };
                let norm = self.stored(norm, ty);
                let mut numerator = self.constant(self.number(0, ty));
                for k in 1..=self.order {
                    let left = self.integral(a, b, k, k, ty);
                    let right = self.integral(b, a, k, k, ty).map(minus);
                    numerator.terms[k - 1] = plus(left, right);
                }
                Some(self.integral_of_quotient(call(&[a, b]), &numerator, &norm, ty))
            }
            (op, [a]) => self.of_one(op, a, call(&[a]), of),
            _ => None,
        }
    }

    /// Functions of one argument. `value` is the value.
    fn of_one(&mut self, op: Op, a: &Series, value: Expr, ty: Type) -> Option<Series> {
        let x = a.value.clone();
        let one = self.number(1, ty);
        Some(match op {
            Op::Exp => self.exponential(value, a, ty),
            Op::Log => self.integral_of_quotient(value, a, a, ty),
            Op::Log10 => {
                let natural = self.integral_of_quotient(x, a, a, ty);
                let scale = match ty {
                    Type::Real(16) => "2.30258509299404568401799145468436421",
                    _ => "2.302585092994045684",
                };
                let scale = farfel_lang::ir::build::literal(scale, ty, self.span);
                let terms = natural.terms.into_iter();
                let terms = terms.map(|t| t.map(|t| over(t, scale.clone())));
                Series {
                    value,
                    terms: terms.collect(),
                }
            }
            Op::Sqrt => {
                // Zero at zero, like the first derivative.
                let root = self.keep(value, ty);
                let zero = self.constant(root.clone());
                let outer = std::mem::take(&mut self.before);
                let series = self.root(root.clone(), a, ty);
                let formulas = std::mem::replace(&mut self.before, outer);
                let positive = Expr::binary(BinOp::Ne, root.clone(), self.number(0, ty));
                let chosen = self.either(positive, (series, formulas), zero, ty);
                Series {
                    value: root,
                    ..chosen
                }
            }
            Op::Sin | Op::Cos => {
                let sine = self.call("SIN", vec![x.clone()])?;
                let cosine = self.call("COS", vec![x])?;
                let [s, c] = self.pair([sine, cosine], [false, true], a, ty);
                if op == Op::Sin { s } else { c }
            }
            Op::Sinh | Op::Cosh => {
                let sine = self.call("SINH", vec![x.clone()])?;
                let cosine = self.call("COSH", vec![x])?;
                let [s, c] = self.pair([sine, cosine], [false, false], a, ty);
                if op == Op::Sinh { s } else { c }
            }
            Op::Tan | Op::Tanh => {
                // The derivative of TAN is 1 + TAN**2, that of TANH is 1 - TANH**2, which would lose all
                // digits where TANH is near one.
                let mut t = self.constant(value);
                t.value = self.keep(t.value, ty);
                let slope = match op {
                    Op::Tan => {
                        Expr::binary(BinOp::Add, one, times(t.value.clone(), t.value.clone()))
                    }
                    _ => {
                        let c = self.call("COSH", vec![x])?;
                        over(one, Expr::binary(BinOp::Pow, c, Expr::int(2, self.span)))
                    }
                };
                let mut w = self.constant(slope);
                w.value = self.keep(w.value, ty);
                for k in 1..=self.order {
                    let next = self.integral(a, &w, k, k, ty);
                    t.terms[k - 1] = next.map(|n| self.keep(n, ty));
                    if k < self.order {
                        let square = self.half_convolution(&t, k, ty);
                        let square = if op == Op::Tan {
                            square
                        } else {
                            square.map(minus)
                        };
                        w.terms[k - 1] = square.map(|n| self.keep(n, ty));
                    }
                }
                t
            }
            Op::Atan => {
                let square = self.product(a, a, ty);
                let norm = Series {
                    value: Expr::binary(BinOp::Add, one, square.value),
                    terms: square.terms,
                };
                let norm = self.stored(norm, ty);
                self.integral_of_quotient(value, a, &norm, ty)
            }
            Op::Asin | Op::Acos => {
                let less = Expr::binary(BinOp::Sub, one.clone(), x.clone());
                let more = Expr::binary(BinOp::Add, one, x);
                let root = self.call("SQRT", vec![times(paren(less), paren(more))])?;
                let root = self.keep(root, ty);
                let mut inside = self.constant(self.number(1, ty));
                for k in 1..=self.order {
                    inside.terms[k - 1] = self.half_convolution(a, k, ty).map(minus);
                }
                let root = self.root(root, &inside, ty);
                let arc = self.integral_of_quotient(value, a, &root, ty);
                match op {
                    Op::Asin => arc,
                    _ => Series {
                        value: arc.value,
                        terms: arc.terms.into_iter().map(|t| t.map(minus)).collect(),
                    },
                }
            }
            Op::Erf | Op::Erfc => {
                let scale = match ty {
                    Type::Real(16) => "1.12837916709551257389615890312154517",
                    _ => "1.128379167095512574",
                };
                let scale = farfel_lang::ir::build::literal(scale, ty, self.span);
                let square = self.product(a, a, ty);
                let exponent = Series {
                    value: minus(square.value),
                    terms: square.terms.into_iter().map(|t| t.map(minus)).collect(),
                };
                let exponent = self.stored(exponent, ty);
                let bell = self.call("EXP", vec![exponent.value.clone()])?;
                let bell = self.exponential(bell, &exponent, ty);
                let mut c = self.constant(value);
                for k in 1..=self.order {
                    let next = self.integral(a, &bell, k, k, ty);
                    let next = next.map(|n| times(scale.clone(), paren(n)));
                    c.terms[k - 1] = next.map(|n| if op == Op::Erfc { minus(n) } else { n });
                }
                c
            }
            _ => return None,
        })
    }

    /// MAX and MIN: of equal arguments, the first one.
    fn extremum(&mut self, op: Op, all: &[Series], ty: Type) -> Series {
        let better = if op == Op::Max { BinOp::Gt } else { BinOp::Lt };
        let best = Series {
            value: self.temporary(ty),
            terms: (0..self.order).map(|_| Some(self.temporary(ty))).collect(),
        };
        for (i, a) in all.iter().enumerate() {
            let set = self.set(&best, a, ty);
            if i == 0 {
                self.before.extend(set);
            } else {
                let condition = Expr::binary(better, a.value.clone(), best.value.clone());
                self.before
                    .push(Stmt::branches(vec![(condition, set)], None, self.span));
            }
        }
        best
    }

    /// One of two series: the first, which takes some statements to compute, if a condition holds.
    fn either(
        &mut self,
        condition: Expr,
        (first, statements): (Series, Block),
        second: Series,
        ty: Type,
    ) -> Series {
        let chosen = Series {
            value: self.temporary(ty),
            terms: (0..self.order).map(|_| Some(self.temporary(ty))).collect(),
        };
        let mut then = statements;
        then.extend(self.set(&chosen, &first, ty));
        let otherwise = self.set(&chosen, &second, ty);
        self.before.push(Stmt::either(condition, then, otherwise));
        chosen
    }

    /// Statements that set variables to a series.
    fn set(&self, to: &Series, from: &Series, ty: Type) -> Block {
        let mut out = Vec::new();
        for k in (0..=self.order).rev() {
            if let Some(t) = to.at(k) {
                let value = from.at(k).cloned();
                let value = value.unwrap_or_else(|| self.number(0, ty));
                out.push(Stmt::assign(t.clone(), value, self.span));
            }
        }
        out
    }

    /// A statement function, which is expanded.
    fn statement_function(
        &mut self,
        s: SymId,
        dummies: &[SymId],
        value: &Expr,
        args: &[Expr],
    ) -> Option<Series> {
        let mut bound = Vec::new();
        for (dummy, a) in dummies.iter().zip(args) {
            let ty = self.source.symbols[*dummy].ty?;
            let series = self.series(a)?;
            // The dummy argument has a type of its own.
            let series = match type_of(&self.unit, &series.value) == Some(ty) {
                true => self.stored(series, ty),
                false => Series {
                    value: self.keep(series.value, ty),
                    terms: match ty {
                        Type::Real(_) => {
                            let terms = series.terms.into_iter();
                            terms.map(|t| t.map(|t| self.keep(t, ty))).collect()
                        }
                        _ => vec![None; self.order],
                    },
                },
            };
            bound.push((*dummy, series));
        }
        let outer = std::mem::replace(&mut self.bound, bound.into_iter().collect());
        let made = self.series(value);
        self.bound = outer;
        let made = made?;
        let ty = self.source.symbols[s].ty?;
        if type_of(&self.unit, &made.value) == Some(ty) {
            return Some(Series {
                value: paren(made.value),
                ..made
            });
        }
        Some(Series {
            value: self.keep(made.value, ty),
            terms: match ty {
                Type::Real(_) => made
                    .terms
                    .into_iter()
                    .map(|t| t.map(|t| self.keep(t, ty)))
                    .collect(),
                _ => vec![None; self.order],
            },
        })
    }

    /// A function reference: a call before the statement.
    fn function(&mut self, callee: SymId, args: &[Expr]) -> Option<Series> {
        let ty = self.source.symbols[callee].ty?;
        let (procedure, mut actuals) = self.call_of(callee, args)?;
        let result = Series {
            value: self.temporary(ty),
            terms: (0..self.order).map(|_| Some(self.temporary(ty))).collect(),
        };
        actuals.push(result.value.clone());
        actuals.extend(result.terms.iter().flatten().cloned());
        self.before.push(Stmt::call(procedure, actuals, self.span));
        Some(result)
    }

    /// A series whose coefficients are variables or constants, so that they can be used several times.
    pub(super) fn stored(&mut self, series: Series, ty: Type) -> Series {
        let value_type = type_of(&self.unit, &series.value).unwrap_or(ty);
        let mut store = |e: Expr, ty: Type| match is_cheap(&e) {
            true => e,
            false => self.keep(e, ty),
        };
        Series {
            value: store(series.value, value_type),
            terms: series
                .terms
                .into_iter()
                .map(|t| t.map(|t| store(t, ty)))
                .collect(),
        }
    }
}

/// Whether a constant is one, as [`TaylorUnit::number`] writes it.
fn is_one(text: &str) -> bool {
    matches!(text, "1.0" | "1.0D0" | "1.0Q0")
}

fn scaled(value: Expr, factor: Expr, a: &Series) -> Series {
    let terms = a.terms.iter();
    let terms = terms.map(|t| t.clone().map(|t| times(factor.clone(), t)));
    Series {
        value,
        terms: terms.collect(),
    }
}

fn is_cheap(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Var(_) | ExprKind::Int(_) | ExprKind::Real(_) => true,
        ExprKind::Element(_, subscripts) => subscripts.iter().all(is_cheap),
        ExprKind::Binary(BinOp::Add | BinOp::Sub, a, b) => {
            matches!(a.kind, ExprKind::Var(_)) && matches!(b.kind, ExprKind::Int(_))
        }
        _ => false,
    }
}

fn plus(a: Option<Expr>, b: Option<Expr>) -> Option<Expr> {
    match (a, b) {
        (a, None) => a,
        (None, b) => b,
        (Some(a), Some(b)) => Some(match b.kind {
            ExprKind::Unary(UnOp::Minus, b) => Expr::binary(BinOp::Sub, a, grouped(*b)),
            kind => Expr::binary(BinOp::Add, a, Expr::new(kind, b.span)),
        }),
    }
}

fn minus(a: Expr) -> Expr {
    match a.kind {
        ExprKind::Binary(BinOp::Add | BinOp::Sub, ..) => negative(paren(a)),
        _ => negative(a),
    }
}

fn times(a: Expr, b: Expr) -> Expr {
    match (a.kind, b.kind) {
        (ExprKind::Real(one), kind) | (kind, ExprKind::Real(one)) if is_one(&one) => {
            Expr::new(kind, b.span)
        }
        (ExprKind::Unary(UnOp::Minus, a), kind) => minus(times(*a, Expr::new(kind, b.span))),
        (kind, ExprKind::Unary(UnOp::Minus, b)) => minus(times(Expr::new(kind, a.span), *b)),
        (a_kind, b_kind) => Expr::binary(
            BinOp::Mul,
            grouped(Expr::new(a_kind, a.span)),
            grouped(Expr::new(b_kind, b.span)),
        ),
    }
}

fn over(a: Expr, b: Expr) -> Expr {
    match a.kind {
        ExprKind::Unary(UnOp::Minus, a) => minus(over(*a, b)),
        kind => Expr::binary(BinOp::Div, grouped(Expr::new(kind, a.span)), paren(b)),
    }
}

/// The value of a real or whole constant without names.
fn number(e: &Expr) -> Option<f64> {
    match &e.kind {
        ExprKind::Int(n) => Some(*n as f64),
        ExprKind::Real(t) => t.replace(['D', 'Q'], "E").parse().ok(),
        ExprKind::Paren(a) => number(a),
        ExprKind::Unary(UnOp::Minus, a) => Some(-number(a)?),
        _ => None,
    }
}

/// A constant of a type; `None` where it would have too few digits.
fn literal_of(x: f64, ty: Type) -> Option<String> {
    match ty {
        Type::Real(4) => Some(format!("{x:?}").replace('e', "E")),
        Type::Real(8) => {
            let text = format!("{x:?}");
            Some(match text.contains('e') {
                true => text.replace('e', "D"),
                false => format!("{text}D0"),
            })
        }
        _ => None,
    }
}
