//! The calls in a statement, and the variables that READ assigns.

use farfel_lang::access::{self, Access, Call};
use farfel_lang::ir::{Expr, ExprKind, Stmt, SymId, Unit};

/// A call in a statement.
#[derive(Debug, Clone, Copy)]
pub struct CallSite<'e> {
    /// The procedure's symbol.
    pub callee: SymId,
    /// Its actual arguments.
    pub args: &'e [Expr],
    /// If the call is in a statement function: the actual arguments with which the statement refers
    /// to it.
    pub within: Option<&'e [Expr]>,
}

impl<'e> CallSite<'e> {
    /// Creates a call that is in the statement itself.
    pub fn new(callee: SymId, args: &'e [Expr]) -> Self {
        CallSite {
            callee,
            args,
            within: None,
        }
    }
}

impl<'e> From<Call<'e>> for CallSite<'e> {
    fn from(call: Call<'e>) -> Self {
        CallSite {
            callee: call.callee,
            args: call.args,
            within: call.within,
        }
    }
}

/// Returns the calls in a statement itself, except of intrinsic and statement functions, but
/// including those in statement functions that it refers to, in order. The flag is false for calls
/// that may not be executed.
pub fn calls<'e>(unit: &'e Unit, stmt: &'e Stmt) -> Vec<(CallSite<'e>, bool)> {
    let mut found = Vec::new();
    access::statement(unit, stmt, false, &mut |a| {
        if let Access::Call(c) = a {
            found.push((c.into(), c.certain));
        }
    });
    found
}

/// Calls `f` for the calls in an expression, as in [`calls`].
pub fn calls_in<'e>(unit: &'e Unit, e: &'e Expr, f: &mut dyn FnMut(CallSite<'e>)) {
    access::expression(unit, e, &mut |a| {
        if let Access::Call(c) = a {
            f(c.into());
        }
    });
}

/// Calls `f` for each variable that an item of READ assigns; the flag is true if all of it is
/// assigned.
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
