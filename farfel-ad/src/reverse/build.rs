//! Small pieces of generated statements.

use farfel_lang::Span;
use farfel_lang::ir::{BinOp, Block, Expr, ExprKind, IfBlock, Stmt, StmtKind, SymId, UnOp};

pub(super) fn binary(op: BinOp, a: Expr, b: Expr) -> Expr {
    Expr::binary(op, a, b)
}

/// `-a`
pub(super) fn negative(a: Expr) -> Expr {
    match a.kind {
        ExprKind::Unary(UnOp::Minus, inner) => *inner,
        kind => {
            let span = a.span;
            let inner = Expr::new(kind, span);
            Expr::new(ExprKind::Unary(UnOp::Minus, Box::new(inner)), span)
        }
    }
}

/// `to = to + what`, written as a difference where that is shorter.
pub(super) fn increment(to: Expr, what: Expr, span: Span) -> Stmt {
    let (op, what) = match what.kind {
        ExprKind::Unary(UnOp::Minus, inner) => (BinOp::Sub, *inner),
        kind => (BinOp::Add, Expr::new(kind, what.span)),
    };
    let sum = binary(op, to.clone(), what);
    Stmt::assign(to, sum, span)
}

/// A loop; nothing where its body is empty.
pub(super) fn count(
    var: SymId,
    from: Expr,
    to: Expr,
    step: Option<Expr>,
    body: Block,
    span: Span,
) -> Option<Stmt> {
    (!body.is_empty()).then(|| Stmt::count(var, [from, to], step, body, span))
}

/// IF … ELSE …; nothing where all arms are empty.
pub(super) fn choice(arms: Vec<(Expr, Block)>, otherwise: Block, span: Span) -> Option<Stmt> {
    if otherwise.is_empty() && arms.iter().all(|(_, b)| b.is_empty()) {
        return None;
    }
    Some(Stmt::new(
        StmtKind::If(IfBlock {
            arms,
            otherwise: (!otherwise.is_empty()).then_some(otherwise),
            ..IfBlock::default()
        }),
        span,
    ))
}
