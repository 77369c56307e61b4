//! Polynomials with integer coefficients in variables of a unit: the form in which subscripts and loop bounds
//! can be compared before a loop begins.

use farfel_lang::Span;
use farfel_lang::ir::{BinOp, Expr, SymId};
use std::collections::BTreeMap;

/// A sum of products of variables with coefficients. Its expression has type INTEGER*8, as all its variables
/// have.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Poly(BTreeMap<Vec<SymId>, i128>);

/// Products of more variables are not considered: nothing can be said about their size.
const MOST_FACTORS: usize = 2;

/// Larger coefficients count as unknown; this is far below where the arithmetic itself would overflow.
const LARGEST: i128 = 1 << 100;

impl Poly {
    pub(super) fn constant(value: i128) -> Poly {
        let mut p = Poly::default();
        p.put(Vec::new(), value);
        p
    }

    pub(super) fn variable(sym: SymId) -> Poly {
        let mut p = Poly::default();
        p.put(vec![sym], 1);
        p
    }

    fn put(&mut self, product: Vec<SymId>, factor: i128) {
        let sum = self.0.entry(product.clone()).or_default();
        *sum = sum.saturating_add(factor);
        if *sum == 0 {
            self.0.remove(&product);
        }
    }

    pub(super) fn plus(&self, other: &Poly) -> Poly {
        let mut sum = self.clone();
        for (product, factor) in &other.0 {
            sum.put(product.clone(), *factor);
        }
        sum
    }

    pub(super) fn times_number(&self, by: i128) -> Poly {
        let mut made = Poly::default();
        for (product, factor) in &self.0 {
            made.put(product.clone(), factor.saturating_mul(by));
        }
        made
    }

    pub(super) fn minus(&self, other: &Poly) -> Poly {
        self.plus(&other.times_number(-1))
    }

    /// Returns the product, if it is not too complicated.
    pub(super) fn times(&self, other: &Poly) -> Option<Poly> {
        let mut made = Poly::default();
        for (a, x) in &self.0 {
            for (b, y) in &other.0 {
                let mut product = [a.as_slice(), b.as_slice()].concat();
                product.sort();
                if product.len() > MOST_FACTORS {
                    return None;
                }
                made.put(product, x.checked_mul(*y).filter(|f| f.abs() < LARGEST)?);
            }
        }
        Some(made)
    }

    /// Returns the value, if the polynomial contains no variable.
    pub(super) fn value(&self) -> Option<i128> {
        match self.0.len() {
            0 => Some(0),
            1 => self.0.get(&Vec::new()).copied(),
            _ => None,
        }
    }

    /// Returns the constant term.
    pub(super) fn number(&self) -> i128 {
        self.0.get(&Vec::new()).copied().unwrap_or_default()
    }

    /// Splits the polynomial into `a` and `b` such that it is `a*sym + b`; `None` if `sym` is squared.
    pub(super) fn split(&self, sym: SymId) -> Option<(Poly, Poly)> {
        let (mut a, mut b) = (Poly::default(), Poly::default());
        for (product, factor) in &self.0 {
            match product.iter().filter(|s| **s == sym).count() {
                0 => b.put(product.clone(), *factor),
                1 => {
                    let others = product.iter().copied().filter(|s| *s != sym);
                    a.put(others.collect(), *factor);
                }
                _ => return None,
            }
        }
        Some((a, b))
    }

    /// Iterates over its variables, each once for each product that contains it.
    pub(super) fn variables(&self) -> impl Iterator<Item = SymId> {
        self.0.keys().flatten().copied()
    }

    /// Iterates over the coefficients of its products.
    pub(super) fn factors(&self) -> impl Iterator<Item = i128> {
        self.0.values().copied()
    }

    /// Checks that its absolute value, and that of each partial result, fits into an INTEGER*8, if each
    /// variable has at most as many bits as `bits` says. Returns `None` if it may not fit.
    pub(super) fn fits(&self, bits: &dyn Fn(SymId) -> u32) -> Option<()> {
        let mut sum: i128 = 0;
        for (product, factor) in &self.0 {
            let size: u32 = product.iter().map(|s| bits(*s)).sum();
            let most = 1i128.checked_shl(size).filter(|_| size < 64)?;
            sum = sum.checked_add(factor.abs().checked_mul(most)?)?;
        }
        (sum < 1 << 63).then_some(())
    }

    /// Returns the polynomial as a Fortran expression.
    pub(super) fn expr(&self, span: Span) -> Expr {
        let mut made: Option<Expr> = None;
        // Positive terms come first, and the constant last.
        let order = |(product, factor): &(&Vec<SymId>, &i128)| (product.is_empty(), **factor < 0);
        let mut parts: Vec<(&Vec<SymId>, &i128)> = self.0.iter().collect();
        parts.sort_by_key(order);
        for (product, factor) in parts {
            let size = i64::try_from(factor.abs()).unwrap_or(i64::MAX);
            let mut term: Option<Expr> = None;
            for s in product {
                let next = Expr::var(*s, span);
                term = Some(match term {
                    Some(t) => Expr::binary(BinOp::Mul, t, next),
                    None => next,
                });
            }
            let term = match term {
                None => Expr::long(size, span),
                Some(t) if size == 1 => t,
                Some(t) => Expr::binary(BinOp::Mul, Expr::long(size, span), t),
            };
            made = Some(match (made, *factor < 0) {
                (Some(sum), true) => Expr::binary(BinOp::Sub, sum, term),
                (Some(sum), false) => Expr::binary(BinOp::Add, sum, term),
                (None, true) => Expr::minus(term, span),
                (None, false) => term,
            });
        }
        made.unwrap_or_else(|| Expr::long(0, span))
    }
}

#[cfg(test)]
mod tests {
    use super::Poly;
    use farfel_lang::ir::SymId;

    #[test]
    fn sums_and_products() {
        let [x, y] = [SymId(0), SymId(1)].map(Poly::variable);
        let one = Poly::constant(1);
        // (x + 1)*(y - 1) = x*y - x + y - 1
        let p = x.plus(&one).times(&y.minus(&one)).unwrap();
        let (a, b) = p.split(SymId(0)).unwrap();
        assert_eq!((a, b), (y.minus(&one), y.minus(&one)));
        assert_eq!(p.number(), -1);
        assert_eq!(p.minus(&p).value(), Some(0));
        assert_eq!(p.value(), None);
        assert!(p.times(&x).is_none(), "three factors");
        assert!(x.times(&x).unwrap().split(SymId(0)).is_none());
        assert!(p.fits(&|_| 31).is_some());
        assert!(p.fits(&|_| 32).is_none());
        assert!(p.times_number(8).fits(&|_| 30).is_none());
    }
}
