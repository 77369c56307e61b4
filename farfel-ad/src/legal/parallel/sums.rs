//! Statements that add to a variable: `S = S + …`.

use farfel_lang::ir::{BinOp, Expr, ExprKind, Stmt, StmtKind, SymId, UnOp, walk_block};

/// A term of a sum, and whether it is subtracted.
type Term<'e> = (&'e Expr, bool);

/// Returns what a statement adds to its target: terms that do not mention the target's variable.
pub(crate) fn added<'e>(target: &Expr, value: &'e Expr) -> Option<Vec<Term<'e>>> {
    let base = target.base()?;
    let mut terms = Vec::new();
    collect(value, false, &mut terms);
    let own = |(e, negative): &Term| !negative && e.equals_ignoring_spans(target);
    let at = terms.iter().position(own)?;
    terms.remove(at);
    let mut mentions = false;
    for (e, _) in &terms {
        e.for_each_symbol(&mut |s| mentions |= s == base);
    }
    for e in target.children() {
        e.for_each_symbol(&mut |s| mentions |= s == base);
    }
    (!mentions && !terms.is_empty()).then_some(terms)
}

fn collect<'e>(e: &'e Expr, negative: bool, out: &mut Vec<Term<'e>>) {
    match &e.kind {
        ExprKind::Binary(BinOp::Add, a, b) => {
            collect(a, negative, out);
            collect(b, negative, out);
        }
        ExprKind::Binary(BinOp::Sub, a, b) => {
            collect(a, negative, out);
            collect(b, !negative, out);
        }
        ExprKind::Unary(UnOp::Minus, a) => collect(a, !negative, out),
        ExprKind::Unary(UnOp::Plus, a) | ExprKind::Paren(a) => collect(a, negative, out),
        _ => out.push((e, negative)),
    }
}

/// Whether a statement adds to its target.
pub(crate) fn is_update(s: &Stmt) -> bool {
    match &s.kind {
        StmtKind::Assign(target, value) => added(target, value).is_some(),
        _ => false,
    }
}

/// Whether a block uses a variable only in statements that add to it.
pub(crate) fn only_updates(body: &[Stmt], variable: SymId) -> bool {
    let mut only = true;
    walk_block(body, &mut |s| {
        if let StmtKind::Assign(target, _) = &s.kind
            && target.base() == Some(variable)
        {
            only &= is_update(s);
            return;
        }
        match &s.kind {
            // The clauses of inner loops do not matter here.
            StmtKind::Do(d) => {
                if let farfel_lang::ir::DoControl::Count { var, .. } = d.control {
                    only &= var != variable;
                }
            }
            _ => s.for_each_own_symbol(&mut |x| only &= x != variable),
        }
        s.for_each_own_expr(&mut |e| e.for_each_symbol(&mut |x| only &= x != variable));
    });
    only
}
