//! Finds elements that iterations of a loop do not share.

use super::counted::{AccessAnalyser, CountedLoop, same_place};
use crate::simplify::preaccumulate::named_in_specs;
use farfel_lang::ir::{
    BinOp, DoControl, Expr, ExprKind, Stmt, StmtKind, StorageClass, SymId, UnOp, Unit, walk_exprs,
};
use farfel_lang::print::print_expr;
use std::collections::{BTreeMap, HashSet};

/// A linear combination of expressions, identified by their text, and a constant.
struct LinearTerms {
    times: BTreeMap<String, i64>,
    number: i64,
}

impl LinearTerms {
    /// The terms of an INTEGER expression whose value is the same in all iterations, apart from the loop's variable.
    fn of(analyser: &AccessAnalyser, e: &Expr) -> Option<LinearTerms> {
        let mut terms = LinearTerms {
            times: BTreeMap::new(),
            number: 0,
        };
        terms.add(analyser, e, 1)?;
        terms.times.retain(|_, n| *n != 0);
        Some(terms)
    }

    fn add(&mut self, analyser: &AccessAnalyser, e: &Expr, times: i64) -> Option<()> {
        match &e.kind {
            ExprKind::Int(n) => {
                self.number = self.number.checked_add(n.checked_mul(times)?)?;
            }
            ExprKind::Paren(a) | ExprKind::Unary(UnOp::Plus, a) => self.add(analyser, a, times)?,
            ExprKind::Unary(UnOp::Minus, a) => self.add(analyser, a, times.checked_neg()?)?,
            ExprKind::Binary(BinOp::Add, a, b) => {
                self.add(analyser, a, times)?;
                self.add(analyser, b, times)?;
            }
            ExprKind::Binary(BinOp::Sub, a, b) => {
                self.add(analyser, a, times)?;
                self.add(analyser, b, times.checked_neg()?)?;
            }
            _ => {
                if !analyser.is_var(e) && !analyser.is_steady(e) {
                    return None;
                }
                let n = self.times.entry(print_expr(analyser.unit, e)).or_default();
                *n = n.checked_add(times)?;
            }
        }
        Some(())
    }

    /// `self - other`, if that is a constant.
    fn minus(&self, other: &LinearTerms) -> Option<i64> {
        match self.times == other.times {
            true => self.number.checked_sub(other.number),
            false => None,
        }
    }
}

/// The subscripts of `b` minus those of `a`, where these are constants.
fn distances(analyser: &AccessAnalyser, a: &[Expr], b: &[Expr]) -> Vec<Option<i64>> {
    let terms = |e| LinearTerms::of(analyser, e);
    a.iter()
        .zip(b)
        .map(|(a, b)| terms(b)?.minus(&terms(a)?))
        .collect()
}

/// Whether an element that all iterations have in common differs from another one, which each iteration has
/// for itself or which all have in common as well.
pub(super) fn are_distinct(
    analyser: &AccessAnalyser,
    l: &CountedLoop,
    fixed: &Expr,
    other: &Expr,
) -> bool {
    let (ExprKind::Element(_, a), ExprKind::Element(_, b)) = (&fixed.kind, &other.kind) else {
        return false;
    };
    if a.len() != b.len() {
        return false;
    }
    let differs = |d: &Option<i64>| d.is_some_and(|d| d != 0);
    if distances(analyser, a, b).iter().any(differs) {
        return true;
    }
    // The first subscript of the other element runs from `from` to `to`.
    let (Some(a), Some(b)) = (a.first(), b.first()) else {
        return false;
    };
    if analyser.coefficient(b) != Some(1) {
        return false;
    }
    let end = |e: &Expr| {
        let mut b = b.clone();
        b.rewrite(&mut |x| {
            if analyser.is_var(x) {
                *x = e.clone();
            }
        });
        LinearTerms::of(analyser, &b)?.minus(&LinearTerms::of(analyser, a)?)
    };
    end(l.from).is_some_and(|d| d > 0) || end(l.to).is_some_and(|d| d < 0)
}

/// Whether the iterations can be executed in another order, given that sums of derivatives can be reordered.
pub(super) fn independent(
    analyser: &AccessAnalyser,
    l: &CountedLoop,
    sums: &[(usize, Expr)],
) -> bool {
    l.body.iter().enumerate().all(|(i, s)| {
        let StmtKind::Assign(target, _) = &s.kind else {
            return true;
        };
        if sums.iter().any(|(at, _)| *at == i) {
            return true;
        }
        let Some(base) = target.base() else {
            return false;
        };
        let mut free = analyser.storage.is_own(base);
        walk_exprs(l.body, &mut |e| {
            if e.base() == Some(base) {
                free &= same_place(e, target) || never_later(analyser, l, target, e);
            }
        });
        free
    })
}

/// Whether no iteration accesses as `other` what a different iteration accesses as `target`.
fn never_later(analyser: &AccessAnalyser, l: &CountedLoop, target: &Expr, other: &Expr) -> bool {
    let (ExprKind::Element(_, a), ExprKind::Element(_, b)) = (&target.kind, &other.kind) else {
        return false;
    };
    if a.len() != b.len() {
        return false;
    }
    let first = |e: &[Expr]| e.first().and_then(|e| analyser.coefficient(e));
    match (first(a), first(b)) {
        (Some(1), Some(1)) => {
            let d = distances(analyser, a, b);
            let behind = d.first().copied().flatten();
            behind.is_some_and(|d| d == 0 || d % l.step != 0)
                || d.iter().skip(1).any(|d| d.is_some_and(|d| d != 0))
        }
        (Some(1), Some(0)) => are_distinct(analyser, l, other, target),
        _ => false,
    }
}

/// The loop variables whose values are not used outside of their loops.
pub(super) fn pure_counters(unit: &Unit, body: &[Stmt]) -> HashSet<SymId> {
    let mut counts = HashSet::new();
    let mut named = HashSet::new();
    outside(body, &mut Vec::new(), &mut counts, &mut named);
    named_in_specs(unit, &mut named);
    counts.retain(|s| {
        let symbol = &unit.symbols[*s];
        symbol.storage_class == StorageClass::Local && !symbol.saved && !named.contains(s)
    });
    counts
}

/// Collects the variables of loops, and all variables that are named outside of the loops that count them.
fn outside(
    block: &[Stmt],
    within: &mut Vec<SymId>,
    counts: &mut HashSet<SymId>,
    named: &mut HashSet<SymId>,
) {
    for s in block {
        let counting = match &s.kind {
            StmtKind::Do(d) => match &d.control {
                DoControl::Count { var, .. } => Some(*var),
                _ => None,
            },
            _ => None,
        };
        let mut seen = HashSet::new();
        s.for_each_own_symbol(&mut |x| {
            if Some(x) != counting {
                seen.insert(x);
            }
        });
        s.for_each_own_expr(&mut |e| {
            e.for_each_symbol(&mut |x| {
                seen.insert(x);
            });
        });
        counts.extend(counting);
        named.extend(seen.into_iter().filter(|x| !within.contains(x)));
        within.extend(counting);
        match &s.kind {
            StmtKind::LogicalIf(_, inner) => {
                outside(std::slice::from_ref(inner), within, counts, named);
            }
            _ => {
                for b in s.blocks() {
                    outside(b, within, counts, named);
                }
            }
        }
        if counting.is_some() {
            within.pop();
        }
    }
}
