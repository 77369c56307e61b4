//! Joins assignments to the same derivative: `X_B = X_B + A` and, some statements later, `X_B = X_B + B` become
//! `X_B = X_B + A + B`.
//!
//! A reverse sweep adds to an adjoint wherever its variable was read, one statement at a time. Joined, such
//! statements load and store an element once, are shorter, and add the same terms in the same order. The
//! earlier assignment moves to the later one, if nothing between them reads or assigns the element, or assigns
//! what the moved value is computed from; otherwise the later one moves to the earlier one, under the same
//! conditions. An assignment of another value is joined as well: `X_B = 0.0` and `X_B = X_B + A` become
//! `X_B = A`.
//!
//! Statements are only joined where the text becomes shorter: long ones would need more lines.

use super::preaccumulate::stretch_len;
use crate::affine::Affine;
use farfel_lang::ir::{BinOp, Block, Expr, ExprKind, Stmt, StmtKind, SymId, Unit};
use farfel_lang::print::print_expr;
use farfel_lang::storage::UnitStorage;
use farfel_lang::types::type_of;
use std::collections::HashSet;

/// The number of columns for a statement in fixed form.
pub(super) const WIDTH: usize = 66;

/// The additional indentation of a block, and of continuation lines.
pub(super) const INDENT: [usize; 2] = [2, 4];

/// How many statements may be between two assignments that are joined.
const FARTHEST: usize = 60;

/// Joins the assignments to some variables, which hold derivatives.
pub(crate) fn join_increments(unit: &mut Unit, derivatives: &HashSet<SymId>) {
    let mut body = std::mem::take(&mut unit.body);
    let pass = Pass {
        unit,
        derivatives,
        storage: UnitStorage::of(unit),
    };
    pass.block(&mut body, 0);
    unit.body = body;
}

/// Which of two assignments moves to the place of the other.
enum Moves {
    Earlier,
    Later,
}

struct Pass<'a> {
    unit: &'a Unit,
    derivatives: &'a HashSet<SymId>,
    storage: UnitStorage,
}

impl Pass<'_> {
    fn block(&self, block: &mut Block, indent: usize) {
        let mut from = 0;
        let mut removed = HashSet::new();
        while from < block.len() {
            let len = stretch_len(self.unit, &block[from..]);
            if len > 0 {
                let own = self.stretch(&mut block[from..from + len], indent);
                removed.extend(own.into_iter().map(|i| from + i));
                from += len;
                continue;
            }
            if !matches!(block[from].kind, StmtKind::Where(_)) {
                for inner in block[from].blocks_mut() {
                    self.block(inner, indent + INDENT[0]);
                }
            }
            from += 1;
        }
        let mut at = 0;
        block.retain(|_| {
            at += 1;
            !removed.contains(&(at - 1))
        });
    }

    /// Joins assignments of a stretch. Returns the indices of those that have moved into others.
    fn stretch(&self, stmts: &mut [Stmt], indent: usize) -> HashSet<usize> {
        let mut removed = HashSet::new();
        for later in 1..stmts.len() {
            if let Some((earlier, moves)) = self.earlier(stmts, &removed, later)
                && let Some(joined) = self.joined(&stmts[earlier], &stmts[later], indent)
            {
                let (place, gone) = match moves {
                    Moves::Earlier => (later, earlier),
                    Moves::Later => (earlier, later),
                };
                stmts[place].kind = joined;
                removed.insert(gone);
            }
        }
        removed
    }

    /// The assignment that can be joined with a later one of the same variable or element, and which of the two
    /// moves.
    fn earlier(
        &self,
        stmts: &[Stmt],
        removed: &HashSet<usize>,
        later: usize,
    ) -> Option<(usize, Moves)> {
        let (target, value) = assignment(&stmts[later])?;
        let base = target.base()?;
        if !self.derivatives.contains(&base)
            || !self.storage.is_own(base)
            || self.unit.symbols[base].is_array() && !matches!(target.kind, ExprKind::Element(..))
        {
            return None;
        }
        // Only the first term is the previous value.
        first_term(value).filter(|first| same(first, target))?;
        let mut before = 0;
        value.walk(&mut |e| {
            before += usize::from(e.base() == Some(base) && !is_subscripted_base(e))
        });
        if before != 1 {
            return None;
        }
        // What the statements between them assign.
        let mut between: Vec<&Expr> = Vec::new();
        for earlier in (later.saturating_sub(FARTHEST)..later).rev() {
            let Some((other, moved)) = assignment(&stmts[earlier]) else {
                continue;
            };
            if removed.contains(&earlier) {
                continue;
            }
            if same(other, target) {
                let free = |e: &Expr| between.iter().all(|b| !self.may_share(b, e));
                if stmts[earlier].label.is_none() && all_places(moved, &free) {
                    return Some((earlier, Moves::Earlier));
                }
                // What it adds does not read the element, as was checked above.
                let moves = stmts[later].label.is_none() && all_places(value, &free);
                return moves.then_some((earlier, Moves::Later));
            }
            // Does it touch the element, or change where it is?
            let apart = |e: &Expr| !self.may_share(e, target);
            let steady = |e: &Expr| !self.may_share(other, e);
            let subscripts = |e: &Expr| e.children().into_iter().all(|c| all_places(c, &apart));
            if !apart(other)
                || !subscripts(other)
                || !all_places(moved, &apart)
                || !target
                    .children()
                    .into_iter()
                    .all(|c| all_places(c, &steady))
            {
                return None;
            }
            between.push(other);
        }
        None
    }

    fn may_share(&self, a: &Expr, b: &Expr) -> bool {
        may_share(self.unit, &self.storage, a, b)
    }
    /// The joined assignment, if its text is shorter than the texts of both.
    fn joined(&self, earlier: &Stmt, later: &Stmt, indent: usize) -> Option<StmtKind> {
        let (target, moved) = assignment(earlier)?;
        let (_, value) = assignment(later)?;
        let ty = type_of(self.unit, target);
        if type_of(self.unit, moved) != ty || type_of(self.unit, value) != ty {
            return None;
        }
        let value = with_first_term(value, moved)?;
        let lines = |e: &Expr| lines(self.unit, target, e, indent);
        let (_, old) = assignment(later)?;
        let shorter = lines(&value) < lines(moved) + lines(old);
        shorter.then(|| StmtKind::Assign(target.clone(), value))
    }
}

/// Whether two variables or elements may share storage.
pub(super) fn may_share(unit: &Unit, storage: &UnitStorage, a: &Expr, b: &Expr) -> bool {
    let (Some(x), Some(y)) = (a.base(), b.base()) else {
        return true;
    };
    if x != y {
        // EQUIVALENCE
        return !storage.is_own(x) && !storage.is_own(y);
    }
    let (ExprKind::Element(_, a), ExprKind::Element(_, b)) = (&a.kind, &b.kind) else {
        return true;
    };
    let differ = |(a, b): (&Expr, &Expr)| {
        let a = Affine::of(unit, a)?;
        let b = Affine::of(unit, b)?;
        a.plus(&b, -1)?.value().map(|n| n != 0)
    };
    a.len() != b.len() || !a.iter().zip(b).any(|p| differ(p).unwrap_or(false))
}

/// The number of lines of an assignment, approximately.
pub(super) fn lines(unit: &Unit, target: &Expr, value: &Expr, indent: usize) -> usize {
    lines_of(
        print_expr(unit, target).len() + 3 + print_expr(unit, value).len(),
        indent,
    )
}

/// The number of lines of a statement with `text` characters, approximately.
pub(super) fn lines_of(text: usize, indent: usize) -> usize {
    let indent = indent.min(WIDTH / 2);
    let more = text.saturating_sub(WIDTH - indent);
    1 + more.div_ceil(WIDTH - indent - INDENT[1])
}

pub(super) fn assignment(s: &Stmt) -> Option<(&Expr, &Expr)> {
    match &s.kind {
        StmtKind::Assign(target, value) => Some((target, value)),
        _ => None,
    }
}

/// Whether two expressions are written alike.
fn same(a: &Expr, b: &Expr) -> bool {
    match (&a.kind, &b.kind) {
        (ExprKind::Var(x), ExprKind::Var(y)) => x == y,
        (ExprKind::Int(x), ExprKind::Int(y)) => x == y,
        (ExprKind::Paren(x), ExprKind::Paren(y)) => same(x, y),
        (ExprKind::Unary(o, x), ExprKind::Unary(p, y)) => o == p && same(x, y),
        (ExprKind::Binary(o, x, v), ExprKind::Binary(p, y, w)) => {
            o == p && same(x, y) && same(v, w)
        }
        (ExprKind::Element(x, s), ExprKind::Element(y, t)) => {
            x == y && s.len() == t.len() && s.iter().zip(t).all(|(s, t)| same(s, t))
        }
        _ => false,
    }
}

/// Whether something holds for all variables and elements that a value is computed from.
pub(super) fn all_places(e: &Expr, holds: &dyn Fn(&Expr) -> bool) -> bool {
    let mut all = true;
    e.walk(&mut |e| {
        if matches!(
            e.kind,
            ExprKind::Var(_) | ExprKind::Element(..) | ExprKind::Substring(..)
        ) {
            all &= holds(e);
        }
    });
    all
}

/// Whether this is the first part of a longer name of the same place, as in a substring.
fn is_subscripted_base(e: &Expr) -> bool {
    !matches!(e.kind, ExprKind::Var(_) | ExprKind::Element(..))
}

/// The first term of a sum.
pub(crate) fn first_term(e: &Expr) -> Option<&Expr> {
    match &e.kind {
        ExprKind::Binary(BinOp::Add | BinOp::Sub, a, _) => match &a.kind {
            ExprKind::Binary(BinOp::Add | BinOp::Sub, ..) => first_term(a),
            _ => Some(a),
        },
        _ => None,
    }
}

/// A sum with another first term.
pub(crate) fn with_first_term(e: &Expr, first: &Expr) -> Option<Expr> {
    let ExprKind::Binary(op, a, b) = &e.kind else {
        return None;
    };
    if matches!(a.kind, ExprKind::Binary(BinOp::Add | BinOp::Sub, ..)) {
        let a = with_first_term(a, first)?;
        return Some(Expr::binary(*op, a, (**b).clone()));
    }
    let zero = matches!(&first.kind, ExprKind::Real(_)) && is_zero(first);
    Some(match (zero, op) {
        (true, BinOp::Add) => (**b).clone(),
        (true, _) => Expr::minus((**b).clone(), e.span),
        (false, _) => Expr::binary(*op, first.clone(), (**b).clone()),
    })
}

/// Whether a literal is zero.
pub(crate) fn is_zero(e: &Expr) -> bool {
    let ExprKind::Real(text) = &e.kind else {
        return false;
    };
    let digits = text.split(['d', 'D', 'e', 'E']).next().unwrap_or_default();
    digits.chars().all(|c| c == '0' || c == '.')
}
