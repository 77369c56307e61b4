//! Coefficients: sums of products with literal factors.

use super::decimal::Decimal;
use farfel_lang::ir::{Expr, SymId};

/// A sum of terms: what a tangent is multiplied by.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Affine {
    /// Terms in the order in which they came; no two are alike, none is zero.
    pub terms: Vec<Monomial>,
}

/// `k * factors`
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Monomial {
    pub k: Decimal,
    /// None in the constant of a sum.
    pub factors: Vec<Factor>,
}

/// What is not taken apart.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Factor {
    /// A variable, an element, or an expression of another form. Without places, so that
    /// equal expressions are equal values.
    Opaque(Expr),
    /// A sum or product in parentheses. It stays together unless a term of it merges with
    /// one outside.
    Group(Box<Affine>),
}

impl Factor {
    /// Does it name the symbol?
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
    /// Does it have these factors and no others, in whatever order?
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

impl Affine {
    pub const ZERO: Affine = Affine { terms: Vec::new() };

    pub fn constant(k: Decimal) -> Self {
        if k.is_zero() {
            return Self::ZERO;
        }
        Self::monomial(Monomial {
            k,
            factors: Vec::new(),
        })
    }

    /// One factor, once.
    pub fn factor(factor: Factor) -> Self {
        Self::monomial(Monomial {
            k: Decimal::ONE,
            factors: vec![factor],
        })
    }

    pub fn monomial(term: Monomial) -> Self {
        Affine { terms: vec![term] }
    }

    /// It as one factor: alone it stays what it is, a sum becomes a group.
    pub fn grouped(self) -> Self {
        if self.len() > 1 {
            Self::factor(Factor::Group(Box::new(self)))
        } else {
            self
        }
    }

    /// It as one factor, a product too: what is in parentheses is multiplied first.
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

    /// What a group alone holds.
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

    /// The number that it is, if it has no factors.
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

    /// Number of terms.
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    pub fn for_each_symbol(&self, f: &mut dyn FnMut(SymId)) {
        for m in &self.terms {
            m.factors.iter().for_each(|x| x.for_each_symbol(f));
        }
    }

    /// The sum, like terms merged. `None` where a constant cannot be folded.
    pub fn add(mut self, other: &Affine) -> Option<Self> {
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

    /// Every term times a literal.
    pub fn scale(&self, k: Decimal) -> Option<Self> {
        if k.is_zero() {
            return Some(Self::ZERO);
        }
        Some(Affine {
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

    /// The product. Only a literal goes into a sum: any other product with a sum keeps the
    /// sum as a group.
    pub fn mul(&self, other: &Affine) -> Option<Self> {
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

    /// Times a literal; a sum stays together unless the literal is 1 or -1.
    fn scaled_group(&self, k: Decimal) -> Option<Self> {
        if k.is_unit() {
            self.scale(k)
        } else {
            self.clone().grouped().scale(k)
        }
    }

    /// The term at a place replaced by its factor's value: `k * f` becomes `k * value`.
    pub fn opened(&self, at: usize, value: &Affine) -> Option<Self> {
        let mut rest = self.clone();
        let k = rest.terms.remove(at).k;
        // Into the place where it stood, so that the order of terms stays.
        let tail = rest.terms.split_off(at);
        let mut new = rest.add(&value.scale(k)?)?;
        for m in &tail {
            new.add_term(m)?;
        }
        Some(new)
    }
}
