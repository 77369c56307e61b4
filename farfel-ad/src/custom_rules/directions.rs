//! Calls of given derivatives in blocks with several directions.
//!
//! A given derivative has one direction, so it is called in a loop over the directions. The derivative of an
//! array is copied to and from an array of one direction; arguments that the procedure reads and assigns get
//! their values from before the first call again:
//!
//! ```fortran
//!       DO ND = 1, NBDIRS
//!         XD1 = XD(ND,:)
//!         CALL SOLVE_D(X, XD1, Y, YD(ND))
//!         XD(ND,:) = XD1
//!       END DO
//! ```
//!
//! The size of an array may be that of all that follows its first element in a larger one (`argument_sizes`). Then
//! copying back would give the arguments behind it their old values: only one such array can get results, before arrays
//! of known sizes get theirs, and no scalar can.

use super::rules::Rule;
use crate::subscripts::is_open;
use farfel_lang::Span;
use farfel_lang::ir::{Block, Dim, Expr, ExprKind, Stmt, SymId, Symbols};
use std::collections::BTreeSet;

/// The environment of a call.
pub(crate) struct Directions<'a> {
    /// The loop variable.
    pub direction: SymId,
    /// The number of directions.
    pub last: Expr,
    /// Whether an expression is a derivative with a dimension for the directions.
    pub is_derivative: &'a dyn Fn(&Expr) -> bool,
    /// Whether the procedure's argument at a position is no array.
    pub is_scalar: &'a dyn Fn(usize) -> bool,
    /// Whether the procedure may change an argument that it also reads.
    pub changes: &'a dyn Fn(usize) -> bool,
    /// Whether the procedure may change the derivative of an argument.
    pub changes_derivative: &'a dyn Fn(usize) -> bool,
    /// Whether derivatives that are elements have a subscript for the direction already.
    pub subscripted: bool,
}

/// Returns the statements that call the derivative `callee` once for each direction. `copy` returns the
/// variable with the given dimensions for a copy of a variable; of a derivative, if the flag is set.
///
/// # Errors
///
/// The arrays whose bounds are not known.
pub(crate) fn one_by_one(
    callee: SymId,
    args: &[Expr],
    rule: &Rule,
    to: &Directions,
    symbols: &Symbols,
    span: Span,
    copy: &mut dyn FnMut(SymId, Vec<Dim>, bool) -> SymId,
) -> Result<Block, BTreeSet<SymId>> {
    let mut saved: Vec<(SymId, SymId)> = Vec::new();
    let mut copied: Vec<Copied> = Vec::new();
    let mut open = BTreeSet::new();
    let mut has_scalar_results = false;
    let direction = || Expr::var(to.direction, span);
    let mut actuals = Vec::new();
    let mut rest = args.iter();
    for i in 0..=rule.args {
        let Some(primal) = rest.next() else { break };
        actuals.push(primal.clone());
        if let Some(s) = primal.base().filter(|s| symbols[*s].is_variable())
            && (to.changes)(i)
            && !saved.iter().any(|(known, _)| *known == s)
        {
            if is_open(&symbols[s]) {
                open.insert(s);
            }
            saved.push((s, copy(s, symbols[s].dims.clone(), false)));
        }
        if !rule.is_active(i) {
            continue;
        }
        let Some(derivative) = rest.next() else { break };
        let base = derivative.base().filter(|_| (to.is_derivative)(derivative));
        let Some(s) = base else {
            actuals.push(derivative.clone());
            continue;
        };
        let subscripts: Vec<Expr> = match &derivative.kind {
            ExprKind::Element(_, all) => all[usize::from(to.subscripted)..].to_vec(),
            _ => Vec::new(),
        };
        let is_array = symbols[s].dims.len() > 1;
        let range = |e: &Expr| matches!(e.kind, ExprKind::Range(..));
        let element = !subscripts.is_empty() && !subscripts.iter().any(range);
        if !is_array || element && (to.is_scalar)(i) {
            let all = [direction()].into_iter().chain(subscripts);
            actuals.push(Expr::element(s, all.collect(), span));
            has_scalar_results |= i < rule.args && (to.changes_derivative)(i);
            continue;
        }
        let at = copied.iter().position(|c| c.of == s).unwrap_or_else(|| {
            // Callers may have passed the size of the variable.
            let variable = primal.base().unwrap_or(s);
            let is_sized = is_open(&symbols[s]);
            let dims = match is_sized {
                true => symbols[variable].dims.clone(),
                false => symbols[s].dims[1..].to_vec(),
            };
            if is_sized && is_open(&symbols[variable]) {
                open.insert(variable);
            }
            copied.push(Copied {
                of: s,
                variable,
                own: copy(s, dims.clone(), true),
                dims: if is_sized { dims } else { Vec::new() },
                has_results: false,
            });
            copied.len() - 1
        });
        copied[at].has_results |= (to.changes_derivative)(i);
        let own = copied[at].own;
        actuals.push(match subscripts.is_empty() {
            true => Expr::var(own, span),
            false => Expr::element(own, subscripts, span),
        });
    }
    let with_results = |sized: bool| {
        let of_kind = move |c: &&Copied| c.has_results && c.dims.is_empty() != sized;
        copied.iter().filter(of_kind)
    };
    if with_results(true).count() + usize::from(has_scalar_results) > 1 {
        open.extend(with_results(true).map(|c| c.variable));
    }
    if !open.is_empty() {
        return Err(open);
    }
    // The number of directions is not for the procedure.
    let slice = |c: &Copied| {
        let mut all: Vec<Expr> = (1..symbols[c.of].dims.len())
            .map(|_| Expr::range(None, None, None, span))
            .collect();
        if let (Some(last), Some(dim)) = (all.last_mut(), c.dims.last()) {
            *last = Expr::range(dim.lower.clone(), dim.upper.clone(), None, span);
        }
        Expr::element(c.of, [direction()].into_iter().chain(all).collect(), span)
    };
    let assign =
        |to: SymId, from: SymId| Stmt::assign(Expr::var(to, span), Expr::var(from, span), span);
    let mut body: Block = saved.iter().map(|(s, own)| assign(*s, *own)).collect();
    body.extend((copied.iter()).map(|c| Stmt::assign(Expr::var(c.own, span), slice(c), span)));
    body.push(Stmt::call(callee, actuals, span));
    let results = with_results(true).chain(with_results(false));
    body.extend(results.map(|c| Stmt::assign(slice(c), Expr::var(c.own, span), span)));
    let mut out: Block = saved.iter().map(|(s, own)| assign(*own, *s)).collect();
    let ends = [Expr::int(1, span), to.last.clone()];
    out.push(Stmt::count(to.direction, ends, None, body, span));
    Ok(out)
}

/// What to say of an array whose bounds are not known: a message and a help.
pub(crate) fn unknown_bounds(array: &str) -> (String, &'static str) {
    let message = format!(
        "a given derivative has one direction, and the bounds of {array} are not known, so that it cannot be called for each direction"
    );
    let help = "declare the last bound of the array, X(N) instead of X(*) or X(1), or compute one direction after the other, in a loop or by `jvp` and `vjp`";
    (message, help)
}

/// The derivative of an array, and its copy for one direction.
struct Copied {
    of: SymId,
    variable: SymId,
    own: SymId,
    /// The dimensions of the copy, if the last bound of the derivative is open.
    dims: Vec<Dim>,
    has_results: bool,
}
