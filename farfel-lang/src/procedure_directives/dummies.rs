//! Directives about dummy procedures: which procedures, usually further dummy procedures of the
//! same unit, compute their derivatives.
//!
//! ```fortran
//!       SUBROUTINE NEWTON(F, FD, X)
//! !farfel: derivative(F(X), tangent = FD, in = X)
//! ```

use super::{Wanted, arguments, error, wanted};
use crate::diagnostic::Diagnostic;
use crate::ir::{
    Class, Expr, ExprKind, Name, ProcedureDirective, Program, StorageClass, SymId, Type, Unit,
    for_each_reference,
};
use crate::types::type_of;

/// Returns the dummy procedure that a directive in a unit is about.
pub(super) fn dummy(unit: &Unit, given: &ProcedureDirective) -> Option<SymId> {
    if given.is_constant() || given.usage.is_some() || given.procedure == unit.name {
        return None;
    }
    let named = unit.symbols.find(&given.procedure)?;
    (unit.symbols[named].storage_class == StorageClass::Dummy).then_some(named)
}

/// Takes directives about dummy procedures of `host` out of a unit nested in it: what stands before a
/// nested subprogram belongs to that.
pub(super) fn of_host(host: &Unit, unit: &mut Unit, found: &mut Vec<ProcedureDirective>) {
    let symbols = &unit.symbols;
    let is_theirs = |g: &mut ProcedureDirective| {
        let own = symbols
            .find(&g.procedure)
            .map(|s| &symbols[s].storage_class);
        dummy(host, g).is_some() && own.is_none_or(|p| matches!(p, StorageClass::Host(_)))
    };
    found.extend(unit.directives.extract_if(.., is_theirs));
    for nested in &mut unit.nested {
        of_host(host, nested, found);
    }
}

/// Checks the directives of a unit about its dummy procedures and completes them.
pub(super) fn settle(
    unit: &mut Unit,
    written: Vec<(SymId, ProcedureDirective)>,
    program: &Program,
    errors: &mut Vec<Diagnostic>,
) {
    for (dummy, given) in written {
        let same = |g: &&ProcedureDirective| g.procedure == given.procedure;
        if let Some(other) = unit.directives.iter().find(same) {
            let message = format!("the derivative of {} is given twice", given.procedure);
            errors.push(error(given.span, message).related(other.span, "here, too"));
        } else if let Some(given) = complete(unit, dummy, given, program, errors) {
            unit.directives.push(given);
        }
    }
}

fn complete(
    unit: &mut Unit,
    dummy: SymId,
    mut given: ProcedureDirective,
    program: &Program,
    errors: &mut Vec<Diagnostic>,
) -> Option<ProcedureDirective> {
    let (name, span) = (given.procedure.clone(), given.span);
    let before = errors.len();
    let symbol = &unit.symbols[dummy];
    if !symbol.class.is_procedure() {
        let message = format!("{name} is not a procedure");
        let d = error(span, message).related(symbol.span, "an argument");
        errors.push(d.help(format!("declare it: `EXTERNAL {name}`")));
        return None;
    }
    let function = symbol.class == Class::Function
        || symbol.class == Class::Procedure && given.outputs.is_none();
    if function && given.outputs.is_none() {
        given.outputs = Some(Vec::new());
    }
    if given.arguments.is_none() || given.inputs.is_none() || given.outputs.is_none() {
        let message = format!("the text of {name} is not known, so its arguments must be given");
        errors.push(error(span, message).help(super::DERIVATIVE_FORM));
        return None;
    }
    super::check_names(&given, errors);
    let mut calls: Vec<(&[Expr], crate::Span)> = Vec::new();
    for_each_reference(&unit.body, &mut |r| {
        if r.procedure == dummy {
            calls.push((r.args, r.span));
        }
    });
    let count = given.arguments.iter().flatten().count();
    for (args, at) in calls.iter().filter(|(args, _)| args.len() != count) {
        let message = format!(
            "{name} has {} here, and {count} in the directive that describes it",
            arguments(args.len())
        );
        errors.push(error(*at, message).related(span, "the directive"));
    }
    let types: Vec<Option<Option<Type>>> = match calls.first() {
        Some((args, _)) => args.iter().map(|a| type_of(unit, a).map(Some)).collect(),
        None => Vec::new(),
    };
    let result = function.then(|| unit.symbols[dummy].ty.map(Some));
    let wanted = wanted(&given, &|i| types.get(i).copied().flatten(), result);
    if errors.len() > before {
        return None;
    }
    for (derivative, kind) in [
        (given.tangent.clone(), "tangent"),
        (given.adjoint.clone(), "adjoint"),
    ] {
        let Some(derivative) = derivative else {
            continue;
        };
        companion(unit, &given, (&derivative, kind), &wanted, program, errors);
    }
    given.dummy_of = Some(unit.name.clone());
    (!errors[before..].iter().any(Diagnostic::is_error)).then_some(given)
}

/// Checks a procedure that computes the derivative of a dummy procedure.
fn companion(
    unit: &mut Unit,
    given: &ProcedureDirective,
    (derivative, kind): (&Name, &str),
    wanted: &[Wanted],
    program: &Program,
    errors: &mut Vec<Diagnostic>,
) {
    let span = given.span;
    let name = &given.procedure;
    let found = unit.symbols.find(derivative);
    let own = found.filter(|s| unit.symbols[*s].storage_class == StorageClass::Dummy);
    let Some(own) = own else {
        match program.unit(derivative) {
            Some(text) => super::fits_list(given, text, kind, wanted, errors),
            None => {
                let message = format!(
                    "{derivative}, the {kind} of {name}, is neither an argument of {} nor in the program",
                    unit.name
                );
                let help = format!("add it to the arguments of {}", unit.name);
                errors.push(error(span, message).help(help));
            }
        }
        return;
    };
    let symbol = &unit.symbols[own];
    let place = |d: Diagnostic| d.related(symbol.span, "an argument");
    if !symbol.class.is_procedure() {
        let message = format!("{derivative}, the {kind} of {name}, is not a procedure");
        let help = format!("declare it: `EXTERNAL {derivative}`");
        return errors.push(place(error(span, message)).help(help));
    }
    let mut called = false;
    for_each_reference(&unit.body, &mut |r| {
        if r.procedure != own {
            return;
        }
        called = true;
        if r.function {
            let message = format!("{derivative}, the {kind} of {name}, is not a subroutine");
            errors.push(error(r.span, message).related(span, "the directive"));
        } else if r.args.len() != wanted.len() {
            let list: Vec<&str> = wanted.iter().map(|w| w.name.as_str()).collect();
            let message = format!(
                "{derivative}, the {kind} of {name}, has {} here, where {} are needed",
                arguments(r.args.len()),
                wanted.len()
            );
            let d = error(r.span, message).related(span, "the directive");
            errors.push(d.help(format!("they are {}", list.join(", "))));
        } else {
            for (a, w) in r.args.iter().zip(wanted) {
                let procedure =
                    matches!(a.kind, ExprKind::Var(s) if unit.symbols[s].class.is_procedure());
                let ty = type_of(unit, a);
                if procedure || !w.allows(ty) {
                    let found = ty.map_or("a procedure".to_owned(), |t| t.to_string());
                    let message = format!(
                        "this is {found}, and corresponds to {} in the {kind} of {name}",
                        w.name
                    );
                    let d = error(a.span.or(r.span), message).related(span, "the directive");
                    errors.push(match w.ty {
                        Some(Some(ty)) => d.help(format!("pass {ty}")),
                        _ => d,
                    });
                }
            }
        }
    });
    if !called {
        // Nothing else says that it is one.
        unit.symbols[own].class = Class::Subroutine;
    }
}
