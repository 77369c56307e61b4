//! Parts of arrays as arguments.
//!
//! The tool lets the called subprogram set a derivative to zero, and assumes that this covers the
//! caller's whole array. But in FORTRAN 77 a subprogram may receive a part: starting from an
//! element, or with another size. Seen with 3.16: derivatives that are used without ever having
//! been set, in both modes. If that can happen, the tool is told to set every derivative to zero in
//! the unit that declares it.

use farfel_ad::calls::calls;
use farfel_lang::ir::{Arg, Dim, Expr, ExprKind, Type, Unit, walk_block};
use farfel_lang::storage::constant::integer as constant;

/// Whether one of `units` passes another one what may be less than a whole array.
pub(super) fn are_passed(units: &[Unit]) -> bool {
    units.iter().any(|u| {
        let mut found = false;
        walk_block(&u.body, &mut |s| {
            for (call, _) in calls(u, s) {
                let name = &u.symbols[call.callee].name;
                if let Some(callee) = units.iter().find(|c| c.name == *name) {
                    found |= !whole(u, callee, call.args);
                }
            }
        });
        found
    })
}

/// Whether each array that `callee` receives has the shape that it has there.
fn whole(unit: &Unit, callee: &Unit, actuals: &[Expr]) -> bool {
    actuals.iter().zip(&callee.args).all(|(actual, dummy)| {
        let Some(dummy) = dummy.sym().map(|s| &callee.symbols[s]) else {
            return true;
        };
        if !dummy.is_array() || !dummy.ty.is_some_and(Type::is_differentiable) {
            return true;
        }
        let ExprKind::Var(array) = actual.kind else {
            return false;
        };
        let array = &unit.symbols[array];
        array.dims.len() == dummy.dims.len()
            && array.dims.iter().zip(&dummy.dims).all(|(here, there)| {
                let Dim { lower, upper } = there;
                same(unit, here.lower.as_ref(), callee, lower.as_ref(), actuals)
                    && here.upper.is_some()
                    && same(unit, here.upper.as_ref(), callee, upper.as_ref(), actuals)
            })
    })
}

/// Whether a bound in the caller is the same as one in the callee.
fn same(
    unit: &Unit,
    here: Option<&Expr>,
    callee: &Unit,
    there: Option<&Expr>,
    actuals: &[Expr],
) -> bool {
    let (here, there) = match (here, there) {
        (None, None) => return true,
        (Some(here), Some(there)) => (here, there),
        _ => return false,
    };
    if let (Some(a), Some(b)) = (constant(unit, here), constant(callee, there)) {
        return a == b;
    }
    // A dummy argument represents the actual one.
    let ExprKind::Var(bound) = there.kind else {
        return false;
    };
    let position = callee.args.iter().position(|a| *a == Arg::Dummy(bound));
    match position.and_then(|p| actuals.get(p)) {
        Some(actual) => match (constant(unit, here), constant(unit, actual)) {
            (Some(a), Some(b)) => a == b,
            _ => matches!(
                (&here.kind, &actual.kind),
                (ExprKind::Var(a), ExprKind::Var(b)) if a == b
            ),
        },
        None => false,
    }
}
