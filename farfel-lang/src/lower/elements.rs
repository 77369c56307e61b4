//! Builds FORTRAN 77 statements that loop over all elements of an array.

use crate::ir::{Dim, Expr, Stmt, SymId, Symbol, Type, Unit};
use crate::source::Span;

/// Builds loops over the elements of an array with these bounds. The first index varies fastest.
pub(super) fn loops_over(
    dims: &[Dim],
    indices: &[SymId],
    mut body: Vec<Stmt>,
    span: Span,
) -> Vec<Stmt> {
    for (i, d) in indices.iter().zip(dims) {
        let bound = |e: &Option<Expr>| e.clone().unwrap_or_else(|| Expr::int(1, span));
        let ends = [bound(&d.lower), bound(&d.upper)];
        body = vec![Stmt::count(*i, ends, None, body, span)];
    }
    body
}

/// Returns the loop variable for dimension `k`, shared by all such loops of the unit.
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
