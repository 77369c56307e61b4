//! Checks that a growing tape is passed as a growing tape.

use crate::ir::{Attribute, ExprKind, Symbol, Unit, for_each_reference};
use crate::resolve::EntryPoints;

/// Checks the calls of one derivative.
pub(super) fn check(unit: &Unit, callable: &EntryPoints, errors: &mut Vec<String>) {
    let grows = |s: &Symbol| s.has(Attribute::Growing);
    for_each_reference(&unit.body, &mut |call| {
        let callee = &unit.symbols[call.procedure].name;
        let Some(point) = callable.get(callee) else {
            return;
        };
        for (actual, dummy) in call.args.iter().zip(point.args) {
            let (ExprKind::Var(s), Some(d)) = (&actual.kind, dummy.sym()) else {
                continue;
            };
            let (actual, dummy) = (&unit.symbols[*s], &point.unit.symbols[d]);
            if grows(actual) != grows(dummy) {
                errors.push(format!(
                    "{}: {callee} gets {} for {}, of which only one grows",
                    unit.name, actual.name, dummy.name
                ));
            }
        }
    });
}
