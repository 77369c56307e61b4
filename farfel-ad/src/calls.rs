//! The calls and the inputs of a statement.

use farfel_lang::ir::{Class, Expr, ExprKind, Stmt, StmtKind, SymId, Unit};

/// A call in a statement.
#[derive(Debug, Clone, Copy)]
pub struct CallSite<'e> {
    /// The procedure's symbol.
    pub callee: SymId,
    /// Its actual arguments.
    pub args: &'e [Expr],
}

/// The calls that a statement itself makes to anything but intrinsic and statement
/// functions, innermost first; with false where it may also not happen (ELSE IF).
pub fn calls<'e>(unit: &Unit, stmt: &'e Stmt) -> Vec<(CallSite<'e>, bool)> {
    let mut found = Vec::new();
    let mut number = 0;
    stmt.for_each_own_expr(&mut |e| {
        let certain = number == 0 || !matches!(stmt.kind, StmtKind::If(_));
        number += 1;
        calls_in(unit, e, &mut |c| found.push((c, certain)));
    });
    if let StmtKind::Call(callee, args) = &stmt.kind {
        found.push((
            CallSite {
                callee: *callee,
                args,
            },
            true,
        ));
    }
    found
}

/// The calls in an expression, innermost first.
pub fn calls_in<'e>(unit: &Unit, e: &'e Expr, f: &mut dyn FnMut(CallSite<'e>)) {
    for c in e.children() {
        calls_in(unit, c, f);
    }
    if let ExprKind::Call(s, args) = &e.kind
        && !matches!(
            unit.symbols[*s].class,
            Class::Intrinsic(_) | Class::StatementFunction(..)
        )
    {
        f(CallSite { callee: *s, args });
    }
}

/// Calls `f` on each variable that an item of READ assigns; with true when all of it is.
pub fn read_targets(item: &Expr, f: &mut dyn FnMut(SymId, bool)) {
    match &item.kind {
        ExprKind::ImpliedDo(d) => d
            .items
            .iter()
            .for_each(|i| read_targets(i, &mut |s, _| f(s, false))),
        ExprKind::Var(s) => f(*s, true),
        _ => item.base().into_iter().for_each(|s| f(s, false)),
    }
}
