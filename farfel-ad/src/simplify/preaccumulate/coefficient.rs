//! Coefficients: sums of products with literal factors.

use super::decimal::Decimal;
use farfel_lang::ir::{Expr, SymId};

/// A sum of terms: the coefficient of a tangent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Coefficient {
    /// The terms in the order in which they were added; no two are alike, and none is zero.
    pub terms: Vec<Monomial>,
}

/// `k * factors`
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Monomial {
    pub k: Decimal,
    /// Empty in the constant of a sum.
    pub factors: Vec<Factor>,
}

/// A factor that is not taken apart.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Factor {
    /// A variable, an element, or an expression of another form. Without source places, so that equal
    /// expressions are equal values.
    Opaque(Expr),
    /// A sum or product in parentheses. It stays together unless one of its terms merges with a term outside.
    Group(Box<Coefficient>),
}

impl Factor {
    /// Whether the factor names a symbol.
    pub fn mentions(&self, sym: SymId) -> bool {
        let mut found = false;
        self.for_each_symbol(&mut |s| found |= s == sym);
        found
    }

    pub fn for_each_symbol(&self, f: &mut dyn FnMut(SymId)) {
        match self {
            Factor::Opaque(e) => e.for_each_symbol(f),
            Factor::Group(a) => a.for_each_symbol(f),
        }
    }
}

impl Monomial {
    /// Whether the term has exactly these factors, in any order.
    pub fn has_factors(&self, factors: &[Factor]) -> bool {
        same_factors(&self.factors, factors)
    }

    pub fn mentions(&self, sym: SymId) -> bool {
        self.factors.iter().any(|f| f.mentions(sym))
    }
}

fn same_factors(a: &[Factor], b: &[Factor]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut left: Vec<&Factor> = b.iter().collect();
    a.iter().all(|f| match left.iter().position(|g| *g == f) {
        Some(at) => {
            left.swap_remove(at);
            true
        }
        None => false,
    })
}

impl Coefficient {
    pub const ZERO: Coefficient = Coefficient { terms: Vec::new() };

    pub fn constant(k: Decimal) -> Self {
        if k.is_zero() {
            return Self::ZERO;
        }
        Self::monomial(Monomial {
            k,
            factors: Vec::new(),
        })
    }

    /// A single factor.
    pub fn factor(factor: Factor) -> Self {
        Self::monomial(Monomial {
            k: Decimal::ONE,
            factors: vec![factor],
        })
    }

    pub fn monomial(term: Monomial) -> Self {
        Coefficient { terms: vec![term] }
    }

    /// Returns it as a single factor: a single term stays as it is, a sum becomes a group.
    pub fn grouped(self) -> Self {
        if self.len() > 1 {
            Self::factor(Factor::Group(Box::new(self)))
        } else {
            self
        }
    }

    /// Returns it as a single factor, even if it is a product: what is in parentheses is multiplied first.
    pub fn kept(self) -> Self {
        match &self.terms[..] {
            [Monomial { k, factors }] if factors.len() > 1 => {
                let product = Self::monomial(Monomial {
                    k: Decimal::ONE,
                    factors: factors.clone(),
                });
                Self::monomial(Monomial {
                    k: *k,
                    factors: vec![Factor::Group(Box::new(product))],
                })
            }
            _ => self.grouped(),
        }
    }

    /// Returns the contents of a group, if it is nothing else.
    pub fn ungrouped(self) -> Self {
        match &self.as_monomial() {
            Some(Monomial { k, factors }) if *k == Decimal::ONE => match &factors[..] {
                [Factor::Group(g)] => (**g).clone(),
                _ => self,
            },
            _ => self,
        }
    }

    pub fn is_zero(&self) -> bool {
        self.terms.is_empty()
    }

    /// The constant that it is, if it has no factors.
    pub fn as_constant(&self) -> Option<Decimal> {
        match &self.terms[..] {
            [] => Some(Decimal::ZERO),
            [m] if m.factors.is_empty() => Some(m.k),
            _ => None,
        }
    }

    /// The only term, if there is one.
    pub fn as_monomial(&self) -> Option<&Monomial> {
        match &self.terms[..] {
            [m] => Some(m),
            _ => None,
        }
    }

    /// The number of terms.
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    pub fn for_each_symbol(&self, f: &mut dyn FnMut(SymId)) {
        for m in &self.terms {
            m.factors.iter().for_each(|x| x.for_each_symbol(f));
        }
    }

    /// The sum, with like terms merged; `None` if a constant cannot be folded.
    pub fn add(mut self, other: &Coefficient) -> Option<Self> {
        for m in &other.terms {
            self.add_term(m)?;
        }
        Some(self)
    }

    fn add_term(&mut self, term: &Monomial) -> Option<()> {
        match self.terms.iter().position(|m| m.has_factors(&term.factors)) {
            Some(at) => {
                let k = self.terms[at].k.add(term.k)?;
                if k.is_zero() {
                    self.terms.remove(at);
                } else {
                    self.terms[at].k = k;
                }
            }
            None => self.terms.push(term.clone()),
        }
        Some(())
    }

    /// Multiplies every term by a literal.
    pub fn scale(&self, k: Decimal) -> Option<Self> {
        if k.is_zero() {
            return Some(Self::ZERO);
        }
        Some(Coefficient {
            terms: self
                .terms
                .iter()
                .map(|m| {
                    Some(Monomial {
                        k: m.k.mul(k)?,
                        factors: m.factors.clone(),
                    })
                })
                .collect::<Option<_>>()?,
        })
    }

    /// The product. Only literals are multiplied into sums: in any other product, a sum becomes a group.
    pub fn mul(&self, other: &Coefficient) -> Option<Self> {
        if self.is_zero() || other.is_zero() {
            return Some(Self::ZERO);
        }
        if let Some(k) = self.as_constant() {
            return other.scaled_group(k);
        }
        if let Some(k) = other.as_constant() {
            return self.scaled_group(k);
        }
        let (a, b) = (self.clone().grouped(), other.clone().grouped());
        let (a, b) = (a.as_monomial()?, b.as_monomial()?);
        Some(Self::monomial(Monomial {
            k: a.k.mul(b.k)?,
            factors: a.factors.iter().chain(&b.factors).cloned().collect(),
        }))
    }

    /// Multiplies by a literal; a sum becomes a group unless the literal is 1 or -1.
    fn scaled_group(&self, k: Decimal) -> Option<Self> {
        if k.is_unit() {
            self.scale(k)
        } else {
            self.clone().grouped().scale(k)
        }
    }

    /// Replaces the term at an index by the value of its factor: `k * f` becomes `k * value`.
    pub fn opened(&self, at: usize, value: &Coefficient) -> Option<Self> {
        let mut rest = self.clone();
        let k = rest.terms.remove(at).k;
        // Insert it at the same place, so that the order of terms is kept.
        let tail = rest.terms.split_off(at);
        let mut new = rest.add(&value.scale(k)?)?;
        for m in &tail {
            new.add_term(m)?;
        }
        Some(new)
    }
}
