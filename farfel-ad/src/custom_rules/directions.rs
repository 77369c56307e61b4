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

use super::rules::Rule;
use farfel_lang::Span;
use farfel_lang::ir::{Block, Expr, ExprKind, Stmt, SymId, Symbols};

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
    /// Whether derivatives that are elements have a subscript for the direction already.
    pub subscripted: bool,
}

/// Returns the statements that call the derivative `callee` once for each direction. `copy` returns the
/// variable for a copy of a variable; of a derivative, if the flag is set, for one direction.
///
/// # Errors
///
/// An array whose bounds are not known.
pub(crate) fn one_by_one(
    callee: SymId,
    args: &[Expr],
    rule: &Rule,
    to: &Directions,
    symbols: &Symbols,
    span: Span,
    copy: &mut dyn FnMut(SymId, bool) -> SymId,
) -> Result<Block, SymId> {
    let mut saved: Vec<(SymId, SymId)> = Vec::new();
    let mut copied: Vec<(SymId, SymId)> = Vec::new();
    let known = |s: SymId| {
        let open = |e: &Option<Expr>| e.as_ref().is_none_or(|u| u.kind == ExprKind::Star);
        match symbols[s].dims.iter().any(|d| open(&d.upper)) {
            true => Err(s),
            false => Ok(()),
        }
    };
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
            known(s)?;
            saved.push((s, copy(s, false)));
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
            continue;
        }
        let own = match copied.iter().find(|(known, _)| *known == s) {
            Some((_, own)) => *own,
            None => {
                known(s)?;
                let own = copy(s, true);
                copied.push((s, own));
                own
            }
        };
        actuals.push(match subscripts.is_empty() {
            true => Expr::var(own, span),
            false => Expr::element(own, subscripts, span),
        });
    }
    // The number of directions is not for the procedure.
    let slice = |s: SymId| {
        let all = (1..symbols[s].dims.len()).map(|_| Expr::range(None, None, None, span));
        Expr::element(s, [direction()].into_iter().chain(all).collect(), span)
    };
    let assign =
        |to: SymId, from: SymId| Stmt::assign(Expr::var(to, span), Expr::var(from, span), span);
    let mut body: Block = saved.iter().map(|(s, own)| assign(*s, *own)).collect();
    body.extend(
        (copied.iter()).map(|(s, own)| Stmt::assign(Expr::var(*own, span), slice(*s), span)),
    );
    body.push(Stmt::call(callee, actuals, span));
    body.extend(
        (copied.iter()).map(|(s, own)| Stmt::assign(slice(*s), Expr::var(*own, span), span)),
    );
    let mut out: Block = saved.iter().map(|(s, own)| assign(*own, *s)).collect();
    let ends = [Expr::int(1, span), to.last.clone()];
    out.push(Stmt::count(to.direction, ends, None, body, span));
    Ok(out)
}
