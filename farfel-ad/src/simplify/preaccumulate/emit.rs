//! Writes sums of tangents as expressions.
//!
//! Compilers keep the order of additions at -O2. So the order decides how much of a coefficient can be moved
//! out of a loop, and how long the chain of operations is that depends on the values that vary fastest: the
//! constant comes first, then what varies least, and the variable whose tangent is multiplied comes last. A
//! sum does not begin with the negative of a product: that costs an operation, which a negative literal does
//! not.

use super::coefficient::{Coefficient, Factor, Monomial};
use super::decimal::Decimal;
use super::linear::{Atom, Linear};
use farfel_lang::ir::{BinOp, Expr, ExprKind, SymId};
use farfel_lang::source::Span;
use std::collections::{HashMap, HashSet};

/// Writes expressions of one kind of REAL.
pub(super) struct Writer<'a> {
    /// The size of the REAL in bytes.
    pub bytes: u8,
    /// The variable of each tangent, if it is known.
    pub variables: &'a HashMap<SymId, SymId>,
    /// All variables that have tangents.
    pub active: &'a HashSet<SymId>,
    /// The place of everything that is written.
    pub span: Span,
}

/// One term of a sum.
struct Item {
    negative: bool,
    /// The value without the sign.
    value: Expr,
    /// The negative of the value, if it can be written without a minus in front of a product.
    negated: Option<Expr>,
}

impl Item {
    fn positive(value: Expr) -> Self {
        Item {
            negative: false,
            value,
            negated: None,
        }
    }
}

impl Writer<'_> {
    /// Returns a sum as an expression.
    pub fn linear(&self, linear: &Linear) -> Expr {
        if linear.parts.is_empty() {
            return self.sum(self.affine_items(&linear.constant, None));
        }
        self.sum(self.items(linear))
    }

    fn items(&self, linear: &Linear) -> Vec<Item> {
        let mut items: Vec<Item> = Vec::new();
        if !linear.constant.is_zero() {
            items.extend(self.one_item(&linear.constant));
        }
        items.extend(self.part_items(&linear.parts));
        items
    }

    /// The terms of a sum of tangents. A coefficient that several of them share, apart from a literal factor,
    /// is written only once.
    fn part_items(&self, parts: &[(Atom, Coefficient)]) -> Vec<Item> {
        let Some(factors) = shared_factors(parts) else {
            return parts.iter().map(|(a, c)| self.part(a, c)).collect();
        };
        let mut sharing = Vec::new();
        let mut others = Vec::new();
        let mut first = 0;
        for (atom, c) in parts {
            match c.as_monomial() {
                Some(m) if m.has_factors(&factors) => {
                    if sharing.is_empty() {
                        first = others.len();
                    }
                    sharing.push((atom.clone(), Coefficient::constant(m.k)));
                }
                _ => others.push((atom.clone(), c.clone())),
            }
        }
        let all_negative = sharing.iter().all(|(_, c)| leads_negative(c));
        let product = |parts: &[(Atom, Coefficient)]| {
            let inner = self.paren(self.sum(self.part_items(parts)));
            self.product(Decimal::ONE, &factors, Some(inner)).value
        };
        let value = product(&sharing);
        let item = if all_negative {
            Item {
                negative: true,
                value: product(&negated(&sharing)),
                negated: Some(value),
            }
        } else {
            Item::positive(value)
        };
        // The others may share factors among themselves, which can only reduce the number of operations.
        let (before, after) = others.split_at(first);
        let mut items = self.part_items(before);
        items.push(item);
        items.extend(self.part_items(after));
        items
    }

    /// `coefficient * atom`
    fn part(&self, atom: &Atom, c: &Coefficient) -> Item {
        if let Some(k) = c.as_constant() {
            return self.scaled_atom(atom, k);
        }
        if let Some(m) = c.as_monomial() {
            if let ([Factor::Group(g)], true) = (&m.factors[..], m.k.is_unit())
                && let Some(c) = g.scale(m.k)
            {
                return self.atom_times_sum(atom, &c);
            }
            let last = self.operand(self.atom(atom));
            return self.product(m.k, &m.factors, Some(last));
        }
        self.atom_times_sum(atom, c)
    }

    fn scaled_atom(&self, atom: &Atom, k: Decimal) -> Item {
        let literal = |k: Decimal| self.operand(k.expr(self.bytes, self.span));
        let times = |k: Decimal| match atom {
            Atom::Sum(n, None) => {
                let n = self.paren(self.numerator(n));
                self.binary(BinOp::Mul, literal(k), n)
            }
            Atom::Sum(n, Some(d)) => match self.numerator(n) {
                n @ Expr {
                    kind: ExprKind::Paren(_),
                    ..
                } => {
                    let q = self.binary(BinOp::Div, n, self.divisor(d));
                    self.binary(BinOp::Mul, literal(k), self.paren(q))
                }
                n => {
                    let n = prepend(literal(k), n);
                    self.binary(BinOp::Div, n, self.divisor(d))
                }
            },
            Atom::Opaque(_) => self.binary(BinOp::Mul, literal(k), self.operand(self.atom(atom))),
        };
        if k.is_unit() {
            let value = self.atom(atom);
            let value = match &value.kind {
                ExprKind::Binary(BinOp::Mul | BinOp::Div, ..) => value,
                _ => self.operand(value),
            };
            return Item {
                negative: k.is_negative(),
                value,
                negated: None,
            };
        }
        Item {
            negative: k.is_negative(),
            value: times(k.abs()),
            negated: Some(times(k.abs().neg())),
        }
    }

    fn atom_times_sum(&self, atom: &Atom, c: &Coefficient) -> Item {
        let variable = atom.variable().and_then(|s| self.variables.get(&s));
        let times = |c: &Coefficient| {
            let sum = self.sum(self.affine_items(c, variable.copied()));
            self.binary(BinOp::Mul, self.operand(self.atom(atom)), self.paren(sum))
        };
        let all_negative = c.terms.iter().all(|m| m.k.is_negative());
        if all_negative && let Some(minus) = c.scale(Decimal::ONE.neg()) {
            return Item {
                negative: true,
                value: times(&minus),
                negated: Some(times(c)),
            };
        }
        Item::positive(times(c))
    }

    fn atom(&self, atom: &Atom) -> Expr {
        match atom {
            Atom::Opaque(e) => self.placed(e),
            Atom::Sum(n, None) => self.numerator(n),
            Atom::Sum(n, Some(d)) => self.binary(BinOp::Div, self.numerator(n), self.divisor(d)),
        }
    }

    fn numerator(&self, n: &Linear) -> Expr {
        let mut items = self.items(n);
        if items.len() == 1
            && let Some(Item {
                negative: false,
                value,
                ..
            }) = items.pop_if(|i| !i.negative)
        {
            return match &value.kind {
                ExprKind::Binary(BinOp::Mul | BinOp::Div, ..) => value,
                _ => self.operand(value),
            };
        }
        let sum = self.sum(items);
        self.operand(sum)
    }

    fn divisor(&self, d: &Expr) -> Expr {
        self.operand(self.placed(d))
    }

    /// A coefficient as one term of a sum.
    fn one_item(&self, c: &Coefficient) -> Option<Item> {
        let mut items = self.affine_items(c, None);
        if items.len() > 1 {
            return Some(Item::positive(self.paren(self.sum(items))));
        }
        items.pop()
    }

    /// The terms of a coefficient of the tangent of `variable`, in the order in which they
    /// are to be added.
    fn affine_items(&self, c: &Coefficient, variable: Option<SymId>) -> Vec<Item> {
        if let Some(Monomial { k, factors }) = c.as_monomial()
            && let [Factor::Group(g)] = &factors[..]
            && k.is_unit()
            && let Some(inner) = g.scale(*k)
        {
            return self.affine_items(&inner, variable);
        }
        let of = |m: &&Monomial| self.product(m.k, &m.factors, None);
        let terms: Vec<&Monomial> = c.terms.iter().collect();
        if may_be_exact(c) {
            return terms.iter().map(of).collect();
        }
        let own = |m: &Monomial| variable.is_some_and(|v| m.mentions(v));
        let is_active = |m: &Monomial| {
            let mut found = false;
            let mut look = |s: SymId| found |= self.active.contains(&s);
            m.factors.iter().for_each(|f| f.for_each_symbol(&mut look));
            found
        };
        let (constant, rest) = partition(terms, |m| m.factors.is_empty());
        let (last, rest) = partition(rest, own);
        let (active, passive) = partition(rest, is_active);
        let mut head: Vec<Item> = [constant, passive, active]
            .iter()
            .flatten()
            .map(of)
            .collect();
        if head.len() > 1 && !last.is_empty() {
            head = vec![Item::positive(self.paren(self.sum(head)))];
        }
        head.extend(last.iter().map(of));
        head
    }

    /// `k * factors * last`
    fn product(&self, k: Decimal, factors: &[Factor], last: Option<Expr>) -> Item {
        let with = |k: Option<Decimal>| {
            k.map(|k| self.operand(k.expr(self.bytes, self.span)))
                .into_iter()
                .chain(factors.iter().map(|f| self.factor(f)))
                .chain(last.clone())
                .reduce(|a, b| self.binary(BinOp::Mul, a, b))
                .unwrap_or_else(|| Decimal::ONE.expr(self.bytes, self.span))
        };
        if factors.is_empty() && last.is_none() {
            return Item {
                negative: k.is_negative(),
                value: k.abs().expr(self.bytes, self.span),
                negated: Some(k.abs().neg().expr(self.bytes, self.span)),
            };
        }
        let unit = k.is_unit();
        Item {
            negative: k.is_negative(),
            value: with((!unit).then(|| k.abs())),
            negated: (!unit).then(|| with(Some(k.abs().neg()))),
        }
    }

    fn factor(&self, factor: &Factor) -> Expr {
        match factor {
            Factor::Opaque(e) => self.operand(self.placed(e)),
            Factor::Group(a) => {
                let terms = a.terms.iter();
                self.paren(self.sum(terms.map(|m| self.product(m.k, &m.factors, None)).collect()))
            }
        }
    }

    /// The sum of the terms. If there is a term without a minus, the first such term goes first.
    fn sum(&self, mut items: Vec<Item>) -> Expr {
        if let Some(at) = items.iter().position(|i| !i.negative) {
            let first = items.remove(at);
            items.insert(0, first);
        }
        let mut items = items.into_iter();
        let Some(first) = items.next() else {
            return Expr::real(Decimal::ZERO.text(self.bytes), self.span);
        };
        let first = match (first.negative, first.negated) {
            (false, _) => first.value,
            (true, Some(negated)) => negated,
            (true, None) => Expr::minus(first.value, self.span),
        };
        items.fold(first, |sum, i| {
            let op = if i.negative { BinOp::Sub } else { BinOp::Add };
            self.binary(op, sum, i.value)
        })
    }

    /// Adds parentheses, unless the expression can be an operand without them.
    fn operand(&self, e: Expr) -> Expr {
        match &e.kind {
            ExprKind::Unary(..) => self.paren(e),
            ExprKind::Binary(op, ..) if *op != BinOp::Pow => self.paren(e),
            _ => e,
        }
    }

    fn paren(&self, e: Expr) -> Expr {
        match &e.kind {
            ExprKind::Unary(..) | ExprKind::Binary(..) => Expr::parens(e, self.span),
            _ => e,
        }
    }

    fn binary(&self, op: BinOp, a: Expr, b: Expr) -> Expr {
        Expr::binary(op, a, b).at(self.span)
    }

    fn placed(&self, e: &Expr) -> Expr {
        let mut e = e.clone();
        e.rewrite(&mut |x| x.span = self.span);
        e
    }
}

/// `first * product`, where the first factor of the product is multiplied first, as the text reads without
/// parentheses.
fn prepend(first: Expr, product: Expr) -> Expr {
    let span = product.span;
    match product.kind {
        ExprKind::Binary(op @ (BinOp::Mul | BinOp::Div), a, b) => {
            Expr::binary(op, prepend(first, *a), *b).at(span)
        }
        kind => Expr::binary(BinOp::Mul, first, Expr::new(kind, span)).at(span),
    }
}

fn partition(
    terms: Vec<&Monomial>,
    f: impl Fn(&Monomial) -> bool,
) -> (Vec<&Monomial>, Vec<&Monomial>) {
    terms.into_iter().partition(|m| f(m))
}

/// Whether a sum may be more exact than the size of its terms suggests. `X - X0 + EPS` is if X is close to
/// X0: the difference is exact, and must come first. Products are rounded anyway.
fn may_be_exact(c: &Coefficient) -> bool {
    let exact = |m: &&Monomial| m.factors.is_empty() || m.k.is_unit() && m.factors.len() == 1;
    let mut signs = c.terms.iter().filter(exact).map(|m| m.k.is_negative());
    let first = signs.next();
    c.len() > 2 && signs.any(|s| Some(s) != first)
}

/// Whether a coefficient is written with a leading minus.
fn leads_negative(c: &Coefficient) -> bool {
    c.as_monomial().is_some_and(|m| m.k.is_negative())
}

fn negated(parts: &[(Atom, Coefficient)]) -> Vec<(Atom, Coefficient)> {
    parts
        .iter()
        .map(|(a, c)| {
            let minus = c.scale(Decimal::ONE.neg());
            (a.clone(), minus.unwrap_or_else(|| c.clone()))
        })
        .collect()
}

/// The factors that the coefficients of most tangents share, if at least two do.
fn shared_factors(parts: &[(Atom, Coefficient)]) -> Option<Vec<Factor>> {
    let monomials: Vec<&Monomial> = parts
        .iter()
        .filter_map(|(_, c)| c.as_monomial())
        .filter(|m| !m.factors.is_empty())
        .collect();
    let mut best: Option<(usize, &Monomial)> = None;
    for m in &monomials {
        let count = monomials
            .iter()
            .filter(|o| o.has_factors(&m.factors))
            .count();
        if count > best.map_or(1, |(n, _)| n) {
            best = Some((count, m));
        }
    }
    best.map(|(_, m)| m.factors.clone())
}

/// The approximate number of operations of an expression: additions and multiplications count as one,
/// operations that take several times as long as ten. The sign of a literal is free.
pub(super) fn cost(e: &Expr) -> usize {
    let own = match &e.kind {
        ExprKind::Binary(BinOp::Add | BinOp::Sub | BinOp::Mul, ..) => 1,
        ExprKind::Binary(..) | ExprKind::Call(..) => 10,
        ExprKind::Unary(_, a) => match a.kind {
            ExprKind::Int(_) | ExprKind::Real(_) => 0,
            _ => 1,
        },
        _ => 0,
    };
    own + e.children().into_iter().map(cost).sum::<usize>()
}
