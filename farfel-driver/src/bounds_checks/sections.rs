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
            if !self.each_dimension(sym, subscripts, array, length, shown, span) {
                self.reason(format!("the section {shown} is not simple"));
            }
            return;
        };
        let first: Vec<Expr> = bounds.iter().map(|b| b.lowest.clone()).collect();
        let last: Vec<Expr> = bounds.iter().map(|b| b.highest.clone()).collect();
        let count = self.section_count(&bounds, subscripts, true, span);
        let what = self.what(shown, span);
        let (e, f) = (number(&first, array, span), number(&last, array, span));
        self.fails = true;
        // The section itself stays as it is, so that compilers recognise it where it occurs twice.
        if self.holds_before(subscripts) {
            let args = vec![e, f, length.expr(span), count, what];
            let check = self.call_statement(Support::Within, args, span);
            self.before.push(check);
            return;
        }
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

    /// Whether the bounds of a section can be checked before the current statement.
    pub(super) fn holds_before(&self, subscripts: &[Expr]) -> bool {
        self.undisturbed
            && !self.decides
            && subscripts.iter().all(|s| match &s.kind {
                ExprKind::Range(from, to, step) => {
                    let mut given = [from, to, step].into_iter().flatten();
                    given.all(|e| self.is_known_before(e))
                }
                _ => rank(&self.unit, s) == 0 && self.is_known_before(s),
            })
    }

    /// Checks the subscripts of a section one by one, where they are used: those in arrays, which a function in the same
    /// statement could change, element by element. Returns whether that is possible.
    fn each_dimension(
        &mut self,
        sym: SymId,
        subscripts: &mut [Expr],
        array: &Array,
        length: &Poly,
        shown: &str,
        span: Span,
    ) -> bool {
        // Functions in input and output statements are called before them.
        if self.transfers {
            return false;
        }
        let dimensions = subscripts.len();
        let alone = dimensions == 1;
        let mut extents = Vec::new();
        for k in 0..dimensions {
            let last = k + 1 == dimensions;
            let assumed = matches!(
                self.unit.symbols[sym].dims.get(k).map(|d| &d.upper),
                Some(Some(e)) if e.kind == ExprKind::Star
            );
            extents.push(match (alone, last && assumed) {
                (true, _) => length.expr(span),
                // The complete columns.
                (false, true) => {
                    let args = vec![array.strides[k].expr(span), Expr::long(1, span)];
                    let Some(max) = intrinsic(&mut self.unit, "MAX") else {
                        return false;
                    };
                    let stride = Expr::call(max, args, span);
                    Expr::binary(BinOp::Div, Expr::parens(length.expr(span), span), stride)
                }
                (false, false) => match self.size_of_dimension(sym, k) {
                    Some(size) => size,
                    None => return false,
                },
            });
        }
        let ranges = subscripts
            .iter()
            .filter(|s| matches!(s.kind, ExprKind::Range(..)));
        // Their bounds are evaluated twice.
        if !ranges.clone().all(|s| is_plain(&self.unit, s)) {
            return false;
        }
        let what = self.what(shown, span);
        let mut checked = Vec::new();
        for (k, (s, extent)) in subscripts.iter().zip(extents).enumerate() {
            let lower = array.lowers[k].expr(span);
            let ExprKind::Range(from, to, step) = &s.kind else {
                let several = rank(&self.unit, s) > 0;
                let support = if several {
                    Support::Each
                } else {
                    Support::Subscript
                };
                let args = vec![long(s.clone()), lower, extent, what.clone()];
                checked.push(self.call_support(support, args, span));
                continue;
            };
            if (from, to, step) == (&None, &None, &None) {
                checked.push(s.clone());
                continue;
            }
            let mut range = vec![s.clone()];
            let Some(bounds) = self.range_bounds(sym, k, s, array, span) else {
                return false;
            };
            let count = self.section_count(std::slice::from_ref(&bounds), &range, true, span);
            let number = |e: &Expr| {
                let way = Expr::binary(
                    BinOp::Sub,
                    long(e.clone()),
                    Expr::parens(lower.clone(), span),
                );
                Expr::binary(BinOp::Add, way, Expr::long(1, span))
            };
            let args = vec![
                long(bounds.from.clone()),
                number(&bounds.lowest),
                number(&bounds.highest),
                extent,
                count,
                what.clone(),
            ];
            let first = self.call_support(Support::Section, args, span);
            if let ExprKind::Range(from, ..) = &mut range[0].kind {
                *from = Some(Box::new(first));
            }
            checked.append(&mut range);
        }
        self.fails = true;
        // Then each dimension is within the array.
        self.whole(sym, span);
        for (s, checked) in subscripts.iter_mut().zip(checked) {
            *s = checked;
        }
        true
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
        let changes = !self.undisturbed || (self.transfers && self.is_assigned(subscript));
        if changes || !(small || alone) {
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
        for (k, s) in subscripts.iter().enumerate() {
            if !is_plain(&self.unit, s) {
                return None;
            }
            bounds.push(match s.kind {
                ExprKind::Range(..) => self.range_bounds(sym, k, s, array, span)?,
                _ if rank(&self.unit, s) == 0 => Bounds::one(s),
                _ => self.vector_bounds(s, subscripts.len() == 1, span)?,
            });
        }
        Some(bounds)
    }

    /// Returns the bounds of a range in dimension `k`, counted from 0.
    fn range_bounds(
        &mut self,
        sym: SymId,
        k: usize,
        range: &Expr,
        array: &Array,
        span: Span,
    ) -> Option<Bounds> {
        let ExprKind::Range(from, to, step) = &range.kind else {
            return None;
        };
        let ubound = match to {
            None => intrinsic(&mut self.unit, "UBOUND"),
            Some(_) => None,
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
        Some(match step {
            None | Some((Some(1), _)) => Bounds::of(from, to),
            // Compilers themselves reject the constant 0.
            Some((Some(0), _)) => return None,
            Some((_, step)) => self.stepped(from, to, step, span),
        })
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
