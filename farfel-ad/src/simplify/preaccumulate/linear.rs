//! Expressions that are linear in tangents.

use super::coefficient::{Coefficient, Factor};
use super::decimal::Decimal;
use farfel_lang::ir::{BinOp, Class, Expr, ExprKind, SymId, Type, UnOp, Unit};
use farfel_lang::source::Span;
use farfel_lang::types::type_of;
use std::collections::HashSet;

/// `constant + sum of coefficient * atom`
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Linear {
    /// The part without a tangent.
    pub constant: Coefficient,
    /// Tangents with their coefficients, in the order in which they were added; no atom occurs twice, and no
    /// coefficient is zero.
    pub parts: Vec<(Atom, Coefficient)>,
}

/// What is multiplied by a coefficient.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Atom {
    /// A tangent, or an expression with tangents that is not linear. Without source places.
    Opaque(Expr),
    /// A sum of tangents that stays together, over a divisor without tangents if there is one.
    Sum(Box<Linear>, Option<Expr>),
}

/// The side of a product that a factor goes to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Side {
    Left,
    Right,
}

impl Atom {
    /// The tangent variable, if the atom is one.
    pub fn variable(&self) -> Option<SymId> {
        match self {
            Atom::Opaque(e) => match e.kind {
                ExprKind::Var(s) => Some(s),
                _ => None,
            },
            Atom::Sum(..) => None,
        }
    }

    fn for_each_symbol(&self, f: &mut dyn FnMut(SymId)) {
        match self {
            Atom::Opaque(e) => e.for_each_symbol(f),
            Atom::Sum(terms, divisor) => {
                terms.for_each_symbol(f);
                divisor.iter().for_each(|d| d.for_each_symbol(f));
            }
        }
    }
}

impl Linear {
    pub const ZERO: Linear = Linear {
        constant: Coefficient::ZERO,
        parts: Vec::new(),
    };

    fn atom(atom: Atom) -> Self {
        Linear {
            constant: Coefficient::ZERO,
            parts: vec![(atom, Coefficient::constant(Decimal::ONE))],
        }
    }

    fn coefficient(constant: Coefficient) -> Self {
        Linear {
            constant,
            parts: Vec::new(),
        }
    }

    fn is_zero(&self) -> bool {
        self.constant.is_zero() && self.parts.is_empty()
    }

    /// The sum; `None` if a constant cannot be folded.
    pub fn add(mut self, other: &Linear) -> Option<Self> {
        self.constant = self.constant.add(&other.constant)?;
        for (atom, c) in &other.parts {
            match self.parts.iter().position(|(a, _)| a == atom) {
                Some(at) => {
                    let sum = std::mem::replace(&mut self.parts[at].1, Coefficient::ZERO).add(c)?;
                    if sum.is_zero() {
                        self.parts.remove(at);
                    } else {
                        self.parts[at].1 = sum;
                    }
                }
                None => self.parts.push((atom.clone(), c.clone())),
            }
        }
        Some(self)
    }

    /// Multiplies every coefficient by a literal.
    fn scaled(&self, k: Decimal) -> Option<Self> {
        self.times(&Coefficient::constant(k), Side::Left)
    }

    /// Multiplies by `c`, which goes to the left or right of the coefficients.
    ///
    /// Coefficients are multiplied only by literals: the product of two variables that the program does not
    /// multiply might overflow where the tangent is small or zero. Otherwise the sum stays together, as an
    /// atom. A sum `c` that would be written more than once becomes a group, which the writer can factor out
    /// again.
    pub fn times(&self, c: &Coefficient, side: Side) -> Option<Self> {
        if c.is_zero() {
            return Some(Self::ZERO);
        }
        let literal = |x: &Coefficient| x.as_constant().is_some();
        if !(literal(c) || literal(&self.constant) && self.parts.iter().all(|(_, x)| literal(x))) {
            return kept(self.clone(), None)?.times(c, side);
        }
        let single = self.parts.len() + usize::from(!self.constant.is_zero()) <= 1;
        let c = if single {
            c.clone()
        } else {
            c.clone().grouped()
        };
        let product = |x: &Coefficient| match side {
            Side::Left => c.mul(x),
            Side::Right => x.mul(&c),
        };
        Some(Linear {
            constant: product(&self.constant)?,
            parts: self
                .parts
                .iter()
                .map(|(a, x)| Some((a.clone(), product(x)?)))
                .collect::<Option<_>>()?,
        })
    }

    /// Replaces a tangent by its value, except in atoms that are not linear in it.
    pub fn substituted(&self, tangent: SymId, value: &Linear) -> Option<Self> {
        let mut new = Linear::coefficient(self.constant.clone());
        for (atom, c) in &self.parts {
            let part = match atom {
                _ if atom.variable() == Some(tangent) => value.times(c, Side::Left)?,
                Atom::Sum(terms, d) => {
                    kept(terms.substituted(tangent, value)?, d.as_ref())?.times(c, Side::Left)?
                }
                Atom::Opaque(_) => Linear {
                    constant: Coefficient::ZERO,
                    parts: vec![(atom.clone(), c.clone())],
                },
            };
            new = new.add(&part)?;
        }
        Some(new)
    }

    /// Calls `f` on every coefficient, even in sums that stay together; `f` may change it.
    pub fn for_each_coefficient_mut(&mut self, f: &mut dyn FnMut(&mut Coefficient)) {
        f(&mut self.constant);
        for (atom, c) in &mut self.parts {
            f(c);
            if let Atom::Sum(n, _) = atom {
                n.for_each_coefficient_mut(f);
            }
        }
    }

    /// Removes the parts whose coefficients have become zero. This includes sums that stay together and have
    /// become empty.
    pub fn without_zeros(mut self) -> Self {
        for (atom, c) in &mut self.parts {
            if let Atom::Sum(n, _) = atom {
                let numerator = std::mem::replace(&mut **n, Linear::ZERO);
                **n = numerator.without_zeros();
                if n.is_zero() {
                    *c = Coefficient::ZERO;
                }
            }
        }
        self.parts.retain(|(_, c)| !c.is_zero());
        self
    }

    /// Collects the tangent variables that can be replaced by a value.
    pub fn variables(&self, found: &mut Vec<SymId>) {
        for (atom, _) in &self.parts {
            match atom {
                Atom::Sum(n, _) => n.variables(found),
                Atom::Opaque(_) => {
                    if let Some(s) = atom.variable()
                        && !found.contains(&s)
                    {
                        found.push(s);
                    }
                }
            }
        }
    }

    /// Whether there is an atom for which `f` holds, even in sums that stay together.
    pub fn any_atom(&self, f: &mut dyn FnMut(&Atom) -> bool) -> bool {
        self.parts.iter().any(|(atom, _)| match atom {
            Atom::Sum(n, _) => n.any_atom(f) || f(atom),
            Atom::Opaque(_) => f(atom),
        })
    }

    /// Whether both have an atom in common.
    pub fn shares_atom(&self, other: &Linear) -> bool {
        self.any_atom(&mut |a| other.any_atom(&mut |b| a == b))
    }

    pub fn for_each_symbol(&self, f: &mut dyn FnMut(SymId)) {
        self.constant.for_each_symbol(f);
        for (atom, c) in &self.parts {
            atom.for_each_symbol(f);
            c.for_each_symbol(f);
        }
    }

    pub fn mentions(&self, sym: SymId) -> bool {
        let mut found = false;
        self.for_each_symbol(&mut |s| found |= s == sym);
        found
    }

    /// The number of terms of all coefficients.
    pub fn len(&self) -> usize {
        let parts = self.parts.iter().map(|(atom, c)| {
            c.len()
                + match atom {
                    Atom::Sum(n, _) => n.len(),
                    Atom::Opaque(_) => 0,
                }
        });
        self.constant.len() + parts.sum::<usize>()
    }

    /// Whether there is a coefficient with enough terms for their order to matter.
    pub fn has_order(&self) -> bool {
        let long = |c: &Coefficient| c.clone().ungrouped().len() > 2;
        self.parts.iter().any(|(atom, c)| {
            long(c)
                || match atom {
                    Atom::Sum(n, _) => n.has_order(),
                    Atom::Opaque(_) => false,
                }
        })
    }

    /// Whether a REAL of this many bytes can hold all constants.
    pub fn in_range_of(&self, bytes: u8) -> bool {
        fn affine(a: &Coefficient, bytes: u8) -> bool {
            a.terms.iter().all(|m| {
                m.k.in_range_of(bytes)
                    && m.factors.iter().all(|f| match f {
                        Factor::Opaque(_) => true,
                        Factor::Group(g) => affine(g, bytes),
                    })
            })
        }
        affine(&self.constant, bytes)
            && self.parts.iter().all(|(atom, c)| {
                affine(c, bytes)
                    && match atom {
                        Atom::Opaque(_) => true,
                        Atom::Sum(n, _) => n.in_range_of(bytes),
                    }
            })
    }
}

/// A sum of tangents that stays together, over a divisor if there is one. A literal factor stays outside, so
/// that sums that differ only in it are equal.
fn kept(mut terms: Linear, divisor: Option<&Expr>) -> Option<Linear> {
    if terms.is_zero() {
        return Some(Linear::ZERO);
    }
    let mut k = Decimal::ONE;
    if terms.constant.is_zero()
        && let [(_, c)] = &mut terms.parts[..]
        && let [m] = &mut c.terms[..]
    {
        k = std::mem::replace(&mut m.k, Decimal::ONE);
        if m.factors.is_empty() && divisor.is_none() {
            return terms.scaled(k);
        }
    }
    if terms.parts.is_empty() {
        // Without tangents, it should have been read as a coefficient.
        return None;
    }
    Linear::atom(Atom::Sum(Box::new(terms), divisor.cloned())).scaled(k)
}

/// Reads expressions of one kind of REAL.
///
/// Everything that it takes apart is of exactly that kind: a subexpression of another type is computed in its
/// own type before it is converted, so it stays whole, together with the operation that converts it. Literals
/// of another type count as being of this kind only if both types hold them exactly.
pub(super) struct Reader<'a> {
    pub unit: &'a Unit,
    pub tangents: &'a HashSet<SymId>,
    /// The size of the REAL in bytes.
    pub bytes: u8,
}

impl Reader<'_> {
    /// Reads an expression as a sum of tangents; `None` if a constant cannot be folded.
    pub fn linear(&self, e: &Expr) -> Option<Linear> {
        if !self.has_tangents(e) {
            return Some(Linear::coefficient(self.affine(e)?));
        }
        match &e.kind {
            ExprKind::Paren(a) | ExprKind::Unary(UnOp::Plus, a) if self.is_native(a) => {
                return self.linear(a);
            }
            ExprKind::Unary(UnOp::Minus, a) if self.is_native(a) => {
                return self.linear(a)?.scaled(Decimal::ONE.neg());
            }
            ExprKind::Binary(op, a, b) if self.is_native(a) && self.is_native(b) => match op {
                BinOp::Add => return self.linear(a)?.add(&self.linear(b)?),
                BinOp::Sub => {
                    let minus = self.linear(b)?.scaled(Decimal::ONE.neg())?;
                    return self.linear(a)?.add(&minus);
                }
                BinOp::Mul if !self.has_tangents(a) => {
                    return self.linear(b)?.times(&self.affine(a)?, Side::Left);
                }
                BinOp::Mul if !self.has_tangents(b) => {
                    return self.linear(a)?.times(&self.affine(b)?, Side::Right);
                }
                BinOp::Div if !self.has_tangents(b) => {
                    let n = self.linear(a)?;
                    return match self.literal(b).and_then(Decimal::exact_inverse) {
                        Some(k) => n.scaled(k),
                        None => kept(n, Some(&bare(b))),
                    };
                }
                _ => {}
            },
            _ => {}
        }
        Some(Linear::atom(Atom::Opaque(bare(e))))
    }

    /// Reads an expression without tangents as a sum of terms.
    pub fn affine(&self, e: &Expr) -> Option<Coefficient> {
        if let Some(k) = self.literal(e) {
            return Some(Coefficient::constant(k));
        }
        match &e.kind {
            ExprKind::Paren(a) if self.is_native(a) => return Some(self.affine(a)?.kept()),
            ExprKind::Unary(UnOp::Plus, a) if self.is_native(a) => return self.affine(a),
            ExprKind::Unary(UnOp::Minus, a) if self.is_native(a) => {
                return self.affine(a)?.scale(Decimal::ONE.neg());
            }
            ExprKind::Binary(op, a, b) if self.is_native(a) && self.is_native(b) => match op {
                BinOp::Add => return self.affine(a)?.add(&self.affine(b)?),
                BinOp::Sub => {
                    return self
                        .affine(a)?
                        .add(&self.affine(b)?.scale(Decimal::ONE.neg())?);
                }
                BinOp::Mul => return self.affine(a)?.mul(&self.affine(b)?.kept()),
                BinOp::Div => {
                    if let Some(k) = self.literal(b).and_then(Decimal::exact_inverse) {
                        return self.affine(a)?.mul(&Coefficient::constant(k));
                    }
                }
                _ => {}
            },
            _ => {}
        }
        Some(Coefficient::factor(Factor::Opaque(bare(e))))
    }

    /// Whether an expression is of the kind that is read, or a literal that can count as such.
    pub fn is_native(&self, e: &Expr) -> bool {
        type_of(self.unit, e) == Some(Type::Real(self.bytes)) || self.literal(e).is_some()
    }

    /// The value of a literal in an expression of this kind.
    fn literal(&self, e: &Expr) -> Option<Decimal> {
        match &e.kind {
            ExprKind::Int(n) => Decimal::from_int(*n).filter(|d| d.is_exact_in(self.bytes)),
            ExprKind::Real(text) => {
                let number = Decimal::parse(text)?;
                match type_of(self.unit, e)? {
                    Type::Real(n) if n == self.bytes => Some(number),
                    Type::Real(n) if n < self.bytes && number.is_exact_in(n) => Some(number),
                    _ => None,
                }
            }
            ExprKind::Paren(a) | ExprKind::Unary(UnOp::Plus, a) => self.literal(a),
            ExprKind::Unary(UnOp::Minus, a) => Some(self.literal(a)?.neg()),
            _ => None,
        }
        .filter(|d| d.in_range_of(self.bytes))
    }

    /// Whether an expression has sums of tangents in parentheses, which reading it as one sum would take apart.
    pub fn groups_tangents(&self, e: &Expr) -> bool {
        let mut found = false;
        e.walk(&mut |x| {
            // On the right of a sum or in a product, a sum is in parentheses even if the tree does not say so.
            let operands = match &x.kind {
                ExprKind::Paren(a) | ExprKind::Unary(_, a) => vec![&**a],
                ExprKind::Binary(BinOp::Add | BinOp::Sub, _, b) => vec![&**b],
                ExprKind::Binary(_, a, b) => vec![&**a, &**b],
                _ => Vec::new(),
            };
            found |= operands.iter().any(|o| {
                matches!(o.kind, ExprKind::Binary(BinOp::Add | BinOp::Sub, ..))
                    && self.has_tangents(o)
            });
        });
        found
    }

    fn has_tangents(&self, e: &Expr) -> bool {
        let mut found = false;
        e.for_each_symbol(&mut |s| found |= self.tangents.contains(&s));
        found
    }
}

/// The expression without source places and outer parentheses.
fn bare(e: &Expr) -> Expr {
    let mut inner = e;
    while let ExprKind::Paren(a) = &inner.kind {
        inner = a;
    }
    let mut new = inner.clone();
    new.rewrite(&mut |x| x.span = Span::NONE);
    new
}

/// Whether an expression calls anything but intrinsic functions. Such a call may assign, and a statement
/// function reads variables that the call does not name.
pub(super) fn has_calls(unit: &Unit, e: &Expr) -> bool {
    let mut found = false;
    e.walk(&mut |x| {
        found |= match &x.kind {
            ExprKind::Call(s, _) => !matches!(unit.symbols[*s].class, Class::Intrinsic(_)),
            ExprKind::Apply(..) | ExprKind::Closure(..) => true,
            _ => false,
        };
    });
    found
}
