//! The calls and the inputs of a statement.

use farfel_lang::access::{self, Access, Call};
use farfel_lang::ir::{Expr, ExprKind, Stmt, SymId, Unit};

/// A call in a statement.
#[derive(Debug, Clone, Copy)]
pub struct CallSite<'e> {
    /// The procedure's symbol.
    pub callee: SymId,
    /// Its actual arguments.
    pub args: &'e [Expr],
    /// Where the call stands in a statement function: with which arguments the statement names that.
    pub within: Option<&'e [Expr]>,
}

impl<'e> CallSite<'e> {
    /// A call that stands in the statement itself.
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

/// The calls that a statement itself makes to anything but intrinsic and statement
/// functions, also in the statement functions that it names, in their order; with false where one may also
/// not happen.
pub fn calls<'e>(unit: &'e Unit, stmt: &'e Stmt) -> Vec<(CallSite<'e>, bool)> {
    let mut found = Vec::new();
    access::own(unit, stmt, false, &mut |a| {
        if let Access::Call(c) = a {
            found.push((c.into(), c.certain));
        }
    });
    found
}

/// The calls in an expression, in the same way.
pub fn calls_in<'e>(unit: &'e Unit, e: &'e Expr, f: &mut dyn FnMut(CallSite<'e>)) {
    access::value(unit, e, &mut |a| {
        if let Access::Call(c) = a {
            f(c.into());
        }
    });
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
