//! Checks that a growing tape is passed as a growing tape, and its components with it.

use crate::ir::{Attribute, ExprKind, SpecKind, SymId, Symbol, Unit, for_each_reference};
use crate::resolve::EntryPoints;

/// Checks the arguments of a unit, and of its calls.
pub(super) fn check(unit: &Unit, callable: &EntryPoints, errors: &mut Vec<String>) {
    let grows = |s: &Symbol| s.has(Attribute::Growing);
    let dummies: Vec<_> = unit.args.iter().map(|a| a.sym()).collect();
    without_components(unit, &dummies, &unit.name, errors);
    for spec in &unit.specs {
        if let SpecKind::Type(_, list) = &spec.kind {
            let declared = list.iter().map(|e| &unit.symbols[e.sym]);
            let wrong = declared.filter(|s| s.is_component());
            errors.extend(wrong.map(|s| format!("{}: {} is declared", unit.name, s.name)));
        }
    }
    for (_, s) in unit.symbols.iter().filter(|(_, s)| s.is_component()) {
        let tape = s.name.split('%').next().and_then(|t| unit.symbols.find(t));
        if !tape.is_some_and(|t| grows(&unit.symbols[t])) {
            errors.push(format!("{}: {} belongs to no tape", unit.name, s.name));
        }
    }
    for_each_reference(&unit.body, &mut |call| {
        let callee = &unit.symbols[call.procedure].name;
        let actuals = call.args.iter().map(|e| match e.kind {
            ExprKind::Var(s) => Some(s),
            _ => None,
        });
        let actuals: Vec<_> = actuals.collect();
        without_components(unit, &actuals, callee, errors);
        let Some(point) = callable.get(callee) else {
            return;
        };
        for (actual, dummy) in actuals.iter().zip(point.args) {
            let (Some(s), Some(d)) = (actual, dummy.sym()) else {
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

/// Reports components that are not arguments beside their tape. Tapes of tangents have none of their own.
fn without_components(
    unit: &Unit,
    args: &[Option<SymId>],
    procedure: &str,
    errors: &mut Vec<String>,
) {
    let tapes = args.iter().flatten().map(|t| &unit.symbols[*t]);
    for tape in tapes.filter(|t| t.has(Attribute::Growing)) {
        let names = tape.component_names();
        let mut own = names.iter().filter_map(|n| unit.symbols.find(n));
        if !own.all(|s| args.contains(&Some(s))) {
            errors.push(format!(
                "{}: {procedure} gets {} without its components",
                unit.name, tape.name
            ));
        }
    }
}
