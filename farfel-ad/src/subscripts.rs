//! The positions of elements in their arrays.

use farfel_lang::Span;
use farfel_lang::ir::build::binary;
use farfel_lang::ir::{BinOp, Dim, Expr, ExprKind, StorageClass, Symbol, Unit};

/// Whether two arguments begin at the same element.
pub(crate) fn begin_alike(unit: &Unit, a: &Expr, b: &Expr) -> bool {
    a.equals_ignoring_spans(b) || a.base() == b.base() && begins(unit, a) && begins(unit, b)
}

/// Whether an argument begins where its variable does.
pub(crate) fn begins(unit: &Unit, a: &Expr) -> bool {
    match &a.kind {
        ExprKind::Var(_) => true,
        ExprKind::Element(s, subscripts) => {
            let dims = unit.symbols[*s].dims.iter();
            let mut pairs = subscripts.iter().zip(dims);
            pairs.all(|(s, d)| s.equals_ignoring_spans(&lower(d, a.span)))
        }
        _ => false,
    }
}

/// Returns the lower bound of a dimension.
pub(crate) fn lower(d: &Dim, span: Span) -> Expr {
    d.lower.clone().unwrap_or_else(|| Expr::int(1, span))
}

/// Parenthesises an operand of a product or a difference, if necessary.
pub(crate) fn paren(e: Expr) -> Expr {
    match e.kind {
        ExprKind::Var(_) | ExprKind::Int(_) | ExprKind::Element(..) | ExprKind::Paren(_) => e,
        kind => {
            let span = e.span;
            Expr::parens(Expr::new(kind, span), span)
        }
    }
}

/// Returns a difference of INTEGERs.
pub(crate) fn minus(a: Expr, b: Expr) -> Expr {
    match (&a.kind, &b.kind) {
        (_, ExprKind::Int(0)) => a,
        (ExprKind::Int(x), ExprKind::Int(y)) if x >= y => Expr::int(x - y, a.span),
        _ => binary(BinOp::Sub, paren(a), paren(b)),
    }
}

/// Returns a sum of INTEGERs.
pub(crate) fn plus(a: Expr, b: Expr) -> Expr {
    match (&a.kind, &b.kind) {
        (_, ExprKind::Int(0)) => a,
        (_, ExprKind::Int(n)) if *n < 0 => minus(a, Expr::int(-n, b.span)),
        _ => binary(BinOp::Add, a, b),
    }
}

/// Returns the number of elements along a dimension.
pub(crate) fn extent(d: &Dim, span: Span) -> Expr {
    let upper = d.upper.clone().unwrap_or_else(|| Expr::int(1, span));
    let low = lower(d, span);
    match low.kind {
        ExprKind::Int(1) => upper,
        _ => plus(minus(upper, low), Expr::int(1, span)),
    }
}

/// Returns the number of elements before the one with these subscripts. `None` if the extent of a
/// dimension is unknown.
pub(crate) fn elements_before(dims: &[Dim], subscripts: &[Expr], span: Span) -> Option<Expr> {
    let closed = |d: &Dim| d.upper.as_ref().is_some_and(|u| u.kind != ExprKind::Star);
    let (_, leading) = dims.split_last()?;
    if dims.len() != subscripts.len() || !leading.iter().all(closed) {
        return None;
    }
    let mut sum = Expr::int(0, span);
    for (k, (s, d)) in subscripts.iter().zip(dims).enumerate() {
        let mut steps = minus(s.clone(), lower(d, span));
        if steps.kind == ExprKind::Int(0) {
            continue;
        }
        for d in &dims[..k] {
            steps = binary(BinOp::Mul, paren(steps), paren(extent(d, span)));
        }
        sum = match sum.kind {
            ExprKind::Int(0) => steps,
            _ => plus(sum, steps),
        };
    }
    Some(sum)
}

/// Whether the last bound of an array is open. Old programs write `X(1)` for arguments of any size.
pub(crate) fn is_open(symbol: &Symbol) -> bool {
    let is_one = |e: &Expr| e.kind == ExprKind::Int(1);
    symbol.dims.last().is_some_and(|d| match &d.upper {
        Some(e) if is_one(e) => {
            symbol.storage_class == StorageClass::Dummy && d.lower.iter().all(is_one)
        }
        Some(e) => e.kind == ExprKind::Star,
        None => false,
    })
}
