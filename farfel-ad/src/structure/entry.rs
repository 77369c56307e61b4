//! Statements that jump by what they find out: calls with alternate returns, input and
//! output with END= and ERR=.

use farfel_lang::ir::{Expr, Stmt};

/// Statements to execute, and then a choice by a value.
#[derive(Debug)]
pub(super) struct Jumping<T> {
    /// What to execute.
    pub stmts: Vec<Stmt>,
    /// What decides.
    pub selector: Expr,
    /// Values of it (constants and ranges), and where they lead. All others go on.
    pub cases: Vec<(Vec<Expr>, T)>,
}

impl<T> Jumping<T> {
    /// The same with other targets.
    pub fn map<U>(self, f: &mut dyn FnMut(&T) -> U) -> Jumping<U> {
        Jumping {
            stmts: self.stmts,
            selector: self.selector,
            cases: self.cases.into_iter().map(|(v, t)| (v, f(&t))).collect(),
        }
    }
}
