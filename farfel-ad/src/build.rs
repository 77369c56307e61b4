//! Small pieces of generated statements.

use farfel_lang::Span;
use farfel_lang::ir::{
    BinOp, Block, Class, Expr, ExprKind, IfBlock, Stmt, StmtKind, SymId, UnOp, Unit,
};

pub(crate) fn binary(op: BinOp, a: Expr, b: Expr) -> Expr {
    Expr::binary(op, a, b)
}

/// `-a`
pub(crate) fn negative(a: Expr) -> Expr {
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
pub(crate) fn increment(to: Expr, what: Expr, span: Span) -> Stmt {
    let (op, what) = match what.kind {
        ExprKind::Unary(UnOp::Minus, inner) => (BinOp::Sub, *inner),
        kind => (BinOp::Add, Expr::new(kind, what.span)),
    };
    let sum = binary(op, to.clone(), what);
    Stmt::assign(to, sum, span)
}

/// A loop; nothing where its body is empty.
pub(crate) fn count(
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
pub(crate) fn choice(arms: Vec<(Expr, Block)>, otherwise: Block, span: Span) -> Option<Stmt> {
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

pub(crate) fn paren(e: Expr) -> Expr {
    match e.kind {
        ExprKind::Binary(..) | ExprKind::Unary(..) => {
            let span = e.span;
            Expr::new(ExprKind::Paren(Box::new(e)), span)
        }
        _ => e,
    }
}

pub(crate) fn sum(a: Expr, b: Expr) -> Expr {
    binary(BinOp::Add, a, paren(b))
}

pub(crate) fn difference(a: Expr, b: Expr) -> Expr {
    binary(BinOp::Sub, a, paren(b))
}

pub(crate) fn product(a: Expr, b: Expr) -> Expr {
    binary(BinOp::Mul, paren(a), paren(b))
}

/// What a program ends with when a tape is full.
pub(crate) fn full_stop(span: Span) -> StmtKind {
    StmtKind::Stop(Some(Expr::new(
        ExprKind::Char("Farfel: the tape of an ADR block is full".into()),
        span,
    )))
}

/// Arithmetic on variables and numbers, and intrinsic functions, which may stand in a subscript.
pub(crate) fn is_simple(unit: &Unit, e: &Expr) -> bool {
    let own = match &e.kind {
        ExprKind::Int(_) | ExprKind::Var(_) | ExprKind::Paren(_) | ExprKind::Unary(..) => true,
        ExprKind::Binary(op, ..) => op.is_arithmetic() && *op != BinOp::Pow,
        ExprKind::Call(f, _) => matches!(unit.symbols[*f].class, Class::Intrinsic(_)),
        _ => false,
    };
    own && e.children().into_iter().all(|c| is_simple(unit, c))
}
