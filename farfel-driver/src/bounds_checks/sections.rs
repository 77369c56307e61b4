//! Checks of array sections: the first and the last element that they select must be in the array.

use super::arrays::{Array, is_plain, long, number};
use super::poly::Poly;
use super::rewrite::CheckInserter;
use crate::support::{Support, intrinsic};
use farfel_lang::Span;
use farfel_lang::ir::{BinOp, Expr, ExprKind, SymId, Type};
use farfel_lang::storage::Constants;
use farfel_lang::types::{rank, type_of};
impl CheckInserter<'_> {
    pub(super) fn section(
        &mut self,
        sym: SymId,
        subscripts: &mut [Expr],
        array: &Array,
        length: &Poly,
        shown: &str,
        span: Span,
    ) {
        let Some(bounds) = self.section_bounds(sym, subscripts, array, span) else {
            return self.reason(format!("the section {shown} is not simple"));
        };
        let first: Vec<Expr> = bounds.iter().map(|b| b.lowest.clone()).collect();
        let last: Vec<Expr> = bounds.iter().map(|b| b.highest.clone()).collect();
        let count = self.section_count(&bounds, subscripts, true, span);
        let what = self.what(shown, span);
        let (e, f) = (number(&first, array, span), number(&last, array, span));
        self.fails = true;
        let check = |first: Expr| vec![long(first), e, f, length.expr(span), count, what];
        // The sum is an array of its own, so that the statement cannot change subscripts that have been compared.
        if let Some(vector) = subscripts
            .iter_mut()
            .find(|s| !matches!(s.kind, ExprKind::Range(..)) && rank(&self.unit, s) > 0)
        {
            let zero = self.call_support(Support::Section, check(Expr::long(0, span)), span);
            let values = std::mem::replace(vector, Expr::int(0, span));
            *vector = Expr::binary(BinOp::Add, Expr::parens(values, span), zero);
            return;
        }
        for (s, bounds) in subscripts.iter_mut().zip(bounds) {
            if let ExprKind::Range(from, ..) = &mut s.kind {
                *from = Some(Box::new(self.call_support(
                    Support::Section,
                    check(bounds.from),
                    span,
                )));
                return;
            }
        }
    }

    /// Whether a subscript selects several elements: it is a range or an array.
    pub(super) fn selects_several(&self, subscript: &Expr) -> bool {
        matches!(subscript.kind, ExprKind::Range(..)) || rank(&self.unit, subscript) > 0
    }

    /// Returns the extreme values of a subscript that is an array, and their number as a range from 1.
    fn vector_bounds(&mut self, subscript: &Expr, alone: bool, span: Span) -> Option<Bounds> {
        // Products of larger numbers could overflow.
        let small = matches!(
            type_of(&self.unit, subscript),
            Some(Type::Integer(1 | 2 | 4))
        );
        if !self.undisturbed || !(small || alone) {
            return None;
        }
        let [lowest, highest, size] =
            ["MINVAL", "MAXVAL", "SIZE"].map(|f| intrinsic(&mut self.unit, f));
        let of = |f: SymId| long(Expr::call(f, vec![subscript.clone()], span));
        Some(Bounds {
            lowest: of(lowest?),
            highest: of(highest?),
            from: Expr::long(1, span),
            to: of(size?),
            step: None,
        })
    }

    /// Returns the bounds of a section in each dimension.
    pub(super) fn section_bounds(
        &mut self,
        sym: SymId,
        subscripts: &[Expr],
        array: &Array,
        span: Span,
    ) -> Option<Vec<Bounds>> {
        let mut bounds = Vec::new();
        let ubound = match subscripts
            .iter()
            .any(|s| matches!(s.kind, ExprKind::Range(_, None, _)))
        {
            true => intrinsic(&mut self.unit, "UBOUND"),
            false => None,
        };
        for (k, s) in subscripts.iter().enumerate() {
            if !is_plain(&self.unit, s) {
                return None;
            }
            let ExprKind::Range(from, to, step) = &s.kind else {
                bounds.push(match rank(&self.unit, s) {
                    0 => Bounds::one(s),
                    _ => self.vector_bounds(s, subscripts.len() == 1, span)?,
                });
                continue;
            };
            let constants = Constants::of(&self.unit);
            let step = step.as_ref().map(|s| (constants.integer(s), (**s).clone()));
            let lower = || Some(array.lowers[k].expr(span));
            // The variables in the array's bounds may have changed since the unit was entered.
            let upper = || {
                if let Some(allocated) = self.arrays.allocated.get(&sym) {
                    return Some(Expr::var(*allocated.uppers.get(k)?, span));
                }
                let upper = self.unit.symbols[sym].dims[k].upper.as_ref()?;
                match constants.integer(upper) {
                    Some(n) => Some(Expr::long(n, span)),
                    None if upper.kind == ExprKind::Star => None,
                    None => {
                        let dimension = Expr::int(k as i64 + 1, span);
                        let args = vec![Expr::var(sym, span), dimension, Expr::int(8, span)];
                        Some(Expr::call(ubound?, args, span))
                    }
                }
            };
            let given = |e: &Option<Box<Expr>>| e.as_ref().map(|e| (**e).clone());
            // Correct for either direction.
            let from = given(from).or_else(lower)?;
            let to = given(to).or_else(upper)?;
            bounds.push(match step {
                None | Some((Some(1), _)) => Bounds::of(from, to),
                // Compilers themselves reject the constant 0.
                Some((Some(0), _)) => return None,
                Some((_, step)) => self.stepped(from, to, step, span),
            });
        }
        Some(bounds)
    }

    /// Returns the bounds of a section with a step. The last bound need not be reached.
    fn stepped(&mut self, from: Expr, to: Expr, step: Expr, span: Span) -> Bounds {
        let args = [&from, &to, &step].map(|e| long(e.clone())).to_vec();
        Bounds {
            lowest: self.call_support(Support::Lowest, args.clone(), span),
            highest: self.call_support(Support::Highest, args, span),
            from,
            to,
            step: Some(step),
        }
    }

    /// Returns the number of elements in a section; with `any`, 1 if there are some and 0 if there are none, since
    /// the number itself may be too large for an INTEGER*8.
    pub(super) fn section_count(
        &mut self,
        bounds: &[Bounds],
        subscripts: &[Expr],
        any: bool,
        span: Span,
    ) -> Expr {
        let mut product: Option<Expr> = None;
        for (b, s) in bounds.iter().zip(subscripts) {
            if !self.selects_several(s) {
                continue;
            }
            let mut args = vec![long(b.from.clone()), long(b.to.clone())];
            args.extend(b.step.clone().map(long));
            let support = match (any, &b.step) {
                (true, None) => {
                    args.push(Expr::long(1, span));
                    Support::Any
                }
                (true, Some(_)) => Support::Any,
                (false, Some(_)) => Support::Steps,
                (false, None) => Support::Count,
            };
            let count = self.call_support(support, args, span);
            product = Some(match product {
                Some(p) => Expr::binary(BinOp::Mul, p, count),
                None => count,
            });
        }
        product.unwrap_or_else(|| Expr::long(1, span))
    }
}

/// The bounds of a section in one dimension.
pub(super) struct Bounds {
    /// As written, or the default.
    from: Expr,
    to: Expr,
    /// The step, unless it is 1.
    step: Option<Expr>,
    /// The extreme subscripts that actually occur.
    lowest: Expr,
    highest: Expr,
}

impl Bounds {
    fn one(subscript: &Expr) -> Bounds {
        Bounds::of(subscript.clone(), subscript.clone())
    }

    fn of(from: Expr, to: Expr) -> Bounds {
        Bounds {
            lowest: from.clone(),
            highest: to.clone(),
            from,
            to,
            step: None,
        }
    }
}
