//! Statements that go over all elements of an array, in FORTRAN 77.

use crate::ir::{Dim, Do, DoControl, DoEnd, Expr, Stmt, StmtKind, SymId, Symbol, Type, Unit};
use crate::source::Span;

/// Loops over the elements of an array with these bounds. The first index runs fastest.
pub(super) fn over(dims: &[Dim], indices: &[SymId], mut body: Vec<Stmt>, span: Span) -> Vec<Stmt> {
    for (i, d) in indices.iter().zip(dims) {
        let bound = |e: &Option<Expr>| e.clone().unwrap_or_else(|| Expr::int(1, span));
        let control = DoControl::Count {
            var: *i,
            from: bound(&d.lower),
            to: bound(&d.upper),
            step: None,
        };
        body = vec![count(control, body, span)];
    }
    body
}

/// A DO loop that ends with END DO.
pub(super) fn count(control: DoControl, body: Vec<Stmt>, span: Span) -> Stmt {
    let the_loop = Do {
        name: None,
        control,
        body,
        end: DoEnd::EndDo(None),
        end_span: Span::NONE,
        mark: None,
    };
    Stmt::new(StmtKind::Do(Box::new(the_loop)), span)
}

/// The loop variable for the dimension `k`, shared by all such loops of the unit.
pub(super) fn index(unit: &mut Unit, k: usize, taken: &dyn Fn(&str) -> bool) -> SymId {
    let wanted = format!("I{k}_G");
    if let Some(s) = unit.symbols.find(&wanted)
        && unit.symbols[s].span.is_none()
    {
        return s;
    }
    let name = unit.symbols.unused(&wanted, taken);
    let variable = Symbol::variable(name, Type::INTEGER, Span::NONE);
    let id = unit.symbols.add(variable);
    unit.declare(id);
    id
}
