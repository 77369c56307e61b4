//! Values that are multiples of one tangent.

use farfel_lang::ir::{BinOp, Class, Expr, ExprKind, SymId, Type, UnOp, Unit};
use farfel_lang::types::type_of;
use std::collections::{HashMap, HashSet};

/// Recognises sums and multiples of tangents.
pub(super) struct MultipleRecogniser<'a> {
    pub(super) unit: &'a Unit,
    pub(super) tangents: &'a HashSet<SymId>,
    pub(super) base_tangent: SymId,
    pub(super) multiples: &'a [SymId],
}

impl MultipleRecogniser<'_> {
    /// Whether a value is a multiple of `base_tangent`. `Some(false)`: it names no tangent. `None`: neither.
    pub(super) fn is_multiple(&self, e: &Expr) -> Option<bool> {
        match &e.kind {
            ExprKind::Var(s) if *s == self.base_tangent || self.multiples.contains(s) => Some(true),
            ExprKind::Paren(a) | ExprKind::Unary(UnOp::Minus | UnOp::Plus, a) => {
                self.is_multiple(a)
            }
            ExprKind::Binary(BinOp::Add | BinOp::Sub, a, b) => {
                let (a, b) = (self.is_multiple(a)?, self.is_multiple(b)?);
                (a == b).then_some(a)
            }
            ExprKind::Binary(BinOp::Mul, a, b) => {
                match (self.is_multiple(a)?, self.is_multiple(b)?) {
                    (true, true) => None,
                    (a, b) => Some(a || b),
                }
            }
            ExprKind::Binary(BinOp::Div, a, b) => match self.is_multiple(b)? {
                true => None,
                false => self.is_multiple(a),
            },
            _ => {
                let mut names = false;
                e.for_each_symbol(&mut |s| names |= self.tangents.contains(&s));
                (!names).then_some(false)
            }
        }
    }

    /// Divides a multiple of `base_tangent` by it. `by` has the variables that replace the other tangents.
    /// The number of multiplications that are saved is added to `saved`.
    pub(super) fn by(&self, e: &Expr, by: &HashMap<SymId, SymId>, saved: &mut i32) -> Expr {
        let is_one = |e: &Expr| matches!(e.kind, ExprKind::Var(s) if s == self.base_tangent);
        let as_it = |e: &Expr| type_of(self.unit, e) == self.unit.symbols[self.base_tangent].ty;
        let kind = match &e.kind {
            ExprKind::Var(s) if *s == self.base_tangent => {
                let one = match self.unit.symbols[*s].ty {
                    Some(Type::Real(4)) => "1.0",
                    _ => "1.0D0",
                };
                ExprKind::Real(one.into())
            }
            ExprKind::Var(s) => ExprKind::Var(by.get(s).copied().unwrap_or(*s)),
            ExprKind::Binary(BinOp::Mul, a, b) if is_one(b) && as_it(a) => {
                *saved += 1;
                return (**a).clone();
            }
            ExprKind::Binary(BinOp::Mul, a, b) if is_one(a) && as_it(b) => {
                *saved += 1;
                return (**b).clone();
            }
            ExprKind::Paren(a) => ExprKind::Paren(Box::new(self.by(a, by, saved))),
            ExprKind::Unary(op, a) => ExprKind::Unary(*op, Box::new(self.by(a, by, saved))),
            ExprKind::Binary(op, a, b) => {
                let part = |e: &Expr, saved: &mut i32| match self.is_multiple(e) {
                    Some(true) => self.by(e, by, saved),
                    _ => e.clone(),
                };
                let a = part(a, saved);
                ExprKind::Binary(*op, Box::new(a), Box::new(part(b, saved)))
            }
            other => other.clone(),
        };
        Expr::new(kind, e.span)
    }
}

/// Whether an expression is the constant zero, as tangents are set to it.
pub(super) fn is_zero(e: &Expr) -> bool {
    matches!(&e.kind, ExprKind::Real(text) if text.chars().all(|c| matches!(c, '0' | '.' | 'D' | 'E')))
}

pub(super) fn has_calls(unit: &Unit, e: &Expr) -> bool {
    let mut found = false;
    e.walk(&mut |e| {
        found |= matches!(&e.kind, ExprKind::Call(f, _)
            if !matches!(unit.symbols[*f].class, Class::Intrinsic(_)));
    });
    found
}
