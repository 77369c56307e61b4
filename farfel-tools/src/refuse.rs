//! Code that tools for FORTRAN 77 cannot differentiate.

use farfel_ad::locations::differentiable;
use farfel_ad::refuse::{refuse, refuse_allocations, refuse_arguments};
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::effects::Assigned;
use farfel_lang::intrinsics::Op;
use farfel_lang::ir::{
    Attribute, Class, ExprKind, StmtKind, SymId, Type, Unit, for_each_symbol, walk_block,
    walk_exprs,
};
use farfel_lang::storage::UnitStorage;
use farfel_lang::types::type_of;
use std::collections::HashSet;

/// Reports what other tools cannot be told: given derivatives, and constant statements.
fn refuse_given(unit: &Unit) -> Vec<Diagnostic> {
    if unit.constant {
        let message = "the AD tool does not know of statements that are constant";
        let d = Diagnostic::error(&rules::AD_OTHER_TOOL, unit.span, message);
        return vec![d.help("use the built-in engine, or take the directive out")];
    }
    let given = unit.directives.iter().map(|g| (g.span, &g.procedure));
    let constants = unit.symbols.iter().map(|(_, s)| s);
    let constants = constants.filter(|s| s.has(Attribute::Constant));
    let all = given.chain(constants.map(|s| (s.span, &s.name)));
    all.map(|(span, name)| {
        let message = format!("the AD tool does not know what is said of the derivative of {name}");
        Diagnostic::error(&rules::AD_OTHER_TOOL, span, message)
            .help("use the built-in engine, or take the directive out")
    })
    .collect()
}

/// Like [`refuse`], for tools that only read FORTRAN 77; `tapes`: whether they can also handle the
/// tapes of adjoints.
pub(crate) fn refuse_for_tool(unit: &Unit, tapes: bool) -> Vec<Diagnostic> {
    let mut found = refuse(unit);
    found.extend(refuse_given(unit));
    found.extend(refuse_arguments(unit));
    found.extend(refuse_allocations(unit, &|s| {
        differentiable(&unit.symbols[s]) && !(tapes && unit.symbols[s].tape)
    }));
    walk_exprs(&unit.body, &mut |e| {
        if let ExprKind::Call(s, _) = &e.kind
            && let Class::Intrinsic(i) = unit.symbols[*s].class
            && matches!(
                i.op,
                Op::Modulo | Op::Linear | Op::Bilinear | Op::Merge | Op::Opaque
            )
            && type_of(unit, e).is_some_and(Type::is_differentiable)
        {
            found.push(
                Diagnostic::error(
                    &rules::AD_OTHER_TOOL,
                    e.span,
                    format!("the derivative of {} is not known to the tool", i.name),
                )
                .help("use the built-in engine, or write the function in Fortran"),
            );
        }
    });
    let mut error = |span, what: &str, help: &str| {
        let message = format!("the AD tool reads FORTRAN 77, which has no {what}");
        found.push(Diagnostic::error(&rules::AD_OTHER_TOOL, span, message).help(help));
    };
    walk_block(&unit.body, &mut |s| match &s.kind {
        StmtKind::Select(_) => error(
            s.span,
            "SELECT CASE",
            "write IF (…) THEN and ELSE IF, or take the built-in engine",
        ),
        StmtKind::Where(_) => error(
            s.span,
            "WHERE",
            "write a DO loop over the elements, or take the built-in engine",
        ),
        _ => {}
    });
    walk_exprs(&unit.body, &mut |e| {
        if let ExprKind::Array(_) = e.kind {
            error(
                e.span,
                "array constructors",
                "assign the elements one by one, or take the built-in engine",
            );
        }
    });
    found
}

/// Reports differentiable COMMON variables that a unit assigns and uses under two names: adjoints
/// from other tools lose what is added to one of them.
pub(crate) fn refuse_two_names(unit: &Unit, assigned: &Assigned) -> Vec<Diagnostic> {
    let storage = UnitStorage::of(unit);
    let mut changed = assigned.in_unit(unit);
    let shared: Vec<SymId> = changed
        .iter()
        .flat_map(|s| storage.overlapping(*s))
        .collect();
    changed.extend(shared);
    let mut used: HashSet<SymId> = HashSet::new();
    for_each_symbol(&unit.body, &mut |s| {
        used.insert(s);
    });
    let counts = |s: &SymId| used.contains(s) && differentiable(&unit.symbols[*s]);
    let tied = storage.areas().iter().filter(|a| a.block.is_some());
    let members = tied.flat_map(|a| &a.members).map(|m| m.sym);
    let found = members
        .filter(|s| changed.contains(s) && counts(s))
        .filter_map(|s| Some((s, storage.overlapping(s).find(counts)?)));
    let error = |(a, b): (SymId, SymId)| {
        let (a, b) = (&unit.symbols[a], &unit.symbols[b]);
        Diagnostic::error(
            &rules::AD_OTHER_TOOL,
            a.span,
            format!(
                "{} is assigned, lies in COMMON and has the name {}, too, so that the AD tool cannot follow it",
                a.name, b.name
            ),
        )
        .help("use one name for it in each program unit, or take the built-in engine")
    };
    found.map(error).collect()
}
