//! Rerolls manually unrolled loops.
//!
//! ```fortran
//!       DO I = M, N, 2                   DO I = M, M + (N - M + 2)/2*2 - 1
//!         X(I) = A*X(I)                    X(I) = A*X(I)
//!         X(I + 1) = A*X(I + 1)          END DO
//!       END DO
//! ```
//!
//! The same statements are executed in the same order, and the variable ends with the same value.
//! Compilers reroll simple loops themselves, but not their adjoints, with several sums and taped
//! values: the adjoint of DAXPY takes 13 times as long as DAXPY if the loop stays unrolled (`-O3`),
//! and 3.5 times if it is rerolled. In addition, each iteration then tapes the same number of
//! values (`stretch`).

use crate::affine::Affine;
use crate::affine::is_simple;
use farfel_lang::ir::build::{binary, difference, paren, sum};
use farfel_lang::ir::{
    BinOp, Block, Class, DoControl, Expr, ExprKind, Program, Stmt, StmtKind, SymId, Type, Unit,
};
use farfel_lang::storage::constant;
use farfel_lang::types::type_of;

/// Rerolls the loops of a program.
pub(crate) fn reroll(program: &mut Program) {
    for unit in &mut program.units {
        let mut body = std::mem::take(&mut unit.body);
        block(unit, &mut body);
        unit.body = body;
    }
}

fn block(unit: &Unit, stmts: &mut Block) {
    for s in stmts {
        for b in s.blocks_mut() {
            block(unit, b);
        }
        if let StmtKind::Do(d) = &mut s.kind
            && d.directive.is_none()
            && let DoControl::Count {
                var,
                from,
                to,
                step: step @ Some(_),
            } = &mut d.control
            && let Some(n) = step.as_ref().and_then(|e| constant::integer(unit, e))
            && let Some(first) = first_of(unit, &d.body, *var, n)
            && is_simple(unit, from)
            && is_simple(unit, to)
        {
            let span = to.span;
            let by = || Expr::int(n, span);
            let way = paren(sum(difference(to.clone(), from.clone()), by()));
            let all = binary(BinOp::Mul, binary(BinOp::Div, way, by()), by());
            *to = difference(sum(from.clone(), all), Expr::int(1, span));
            *step = None;
            d.body = first;
        }
    }
}

/// Returns the statements for the first value of the variable, if the body consists of `n` copies
/// of them, one for each of `n` consecutive values.
fn first_of(unit: &Unit, body: &[Stmt], var: SymId, n: i64) -> Option<Block> {
    let whole = matches!(unit.symbols[var].ty, Some(Type::Integer(_)));
    let groups = usize::try_from(n).ok().filter(|n| *n > 1 && whole)?;
    let stmts: Vec<&Stmt> = body
        .iter()
        .filter(|s| !matches!(s.kind, StmtKind::Comment(_)))
        .collect();
    let size = stmts.len() / groups;
    if size == 0 || size * groups != stmts.len() {
        return None;
    }
    let (first, others) = stmts.split_at(size);
    let alike = |(group, s): (usize, &&Stmt)| {
        let (at, by) = (group % size, group / size + 1);
        let pair = first.get(at).map(|f| (&f.kind, &s.kind));
        match pair {
            Some((StmtKind::Assign(t, v), StmtKind::Assign(u, w))) => {
                let by = i64::try_from(by).unwrap_or(i64::MAX);
                t.base() != Some(var)
                    && is_moved(unit, t, u, var, by)
                    && is_moved(unit, v, w, var, by)
            }
            _ => false,
        }
    };
    let plain = stmts.iter().all(|s| s.label.is_none());
    let all = plain && others.iter().enumerate().all(alike);
    all.then(|| first.iter().map(|s| (*s).clone()).collect())
}

/// Whether the second expression is the first one with the variable increased by a constant.
fn is_moved(unit: &Unit, a: &Expr, b: &Expr, var: SymId, by: i64) -> bool {
    let same = |a: &Expr, b: &Expr| is_moved(unit, a, b, var, by);
    let all = |a: &[Expr], b: &[Expr]| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_moved(unit, a, b, var, by))
    };
    if matches!(type_of(unit, a), Some(Type::Integer(_)))
        && let (Some(x), Some(y)) = (Affine::of(unit, a), Affine::of(unit, b))
    {
        let to = Affine::var(var).plus(&Affine::number(by), 1);
        return to.and_then(|to| x.with(var, &to)) == Some(y);
    }
    match (&a.kind, &b.kind) {
        (ExprKind::Var(x), ExprKind::Var(y)) => x == y,
        (ExprKind::Element(x, s), ExprKind::Element(y, t)) => x == y && all(s, t),
        (ExprKind::Paren(x), ExprKind::Paren(y)) => same(x, y),
        (ExprKind::Unary(p, x), ExprKind::Unary(q, y)) => p == q && same(x, y),
        (ExprKind::Binary(p, x, s), ExprKind::Binary(q, y, t)) => {
            p == q && same(x, y) && same(s, t)
        }
        (ExprKind::Call(f, s), ExprKind::Call(g, t)) => {
            f == g && matches!(unit.symbols[*f].class, Class::Intrinsic(_)) && all(s, t)
        }
        (ExprKind::Int(_) | ExprKind::Real(_) | ExprKind::Logical(_), _) => a.kind == b.kind,
        _ => false,
    }
}
