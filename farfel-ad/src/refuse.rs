//! Code that cannot be differentiated, whether or not it is active: values that have several names,
//! or that calls pass in ways that derivatives cannot follow.

use crate::locations::differentiable;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::ir::{
    Attribute, Class, Expr, ExprKind, SpecKind, StmtKind, StorageClass, SymId, Unit, walk_block,
    walk_exprs,
};

/// Reports everything in a unit through which derivatives could be lost silently, whether or not it
/// is active.
pub fn refuse(unit: &Unit) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut error = |span, what: String, why: &str, help: &str| {
        found.push(
            Diagnostic::error(&rules::AD_POINTER, span, what)
                .label(why)
                .help(help),
        );
    };
    for (_, s) in unit.symbols.iter() {
        if !differentiable(s) {
            continue;
        }
        if matches!(s.storage_class, StorageClass::Pointee(_)) {
            error(
                s.span,
                format!("derivatives cannot follow the Cray pointer to {}", s.name),
                "lies where a pointer points",
                "pass the array as an argument",
            );
        }
    }
    let base = |e: &Expr| {
        let mut bases = e.base().into_iter();
        bases.any(|s| differentiable(&unit.symbols[s]))
    };
    walk_exprs(&unit.body, &mut |e| {
        let (handed, how) = match &e.kind {
            ExprKind::Percent(how, a) => (&**a, format!("%{}", how.word())),
            ExprKind::Call(s, args) => match (&unit.symbols[*s].class, args.first()) {
                (Class::Intrinsic(i), Some(a)) if i.name == "LOC" => (a, "LOC".to_owned()),
                _ => return,
            },
            _ => return,
        };
        if base(handed) {
            error(
                e.span,
                format!("derivatives cannot follow what {how} hands over"),
                "gives away a value or a place outside of Fortran's rules",
                "pass the variable itself",
            );
        }
    });
    found
}

/// Reports dummy arguments of an active unit for which there can be no derivative argument.
pub fn refuse_arguments(unit: &Unit) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut error = |span, what: String, why: &str, help: &str| {
        found.push(
            Diagnostic::error(&rules::AD_ALLOCATION, span, what)
                .label(why)
                .help(help),
        );
    };
    let everything = unit
        .specs
        .iter()
        .any(|s| matches!(&s.kind, SpecKind::Save(l) if l.is_empty()));
    for (_, s) in unit.symbols.iter() {
        if s.has(Attribute::Allocatable)
            && s.storage_class == StorageClass::Local
            && (s.saved || everything)
        {
            error(
                s.span,
                format!(
                    "{} is kept from call to call, where its derivative could not be",
                    s.name
                ),
                "ALLOCATABLE, with SAVE",
                "allocate it in the caller, and pass it as an argument",
            );
        }
        if !differentiable(s) {
            continue;
        }
        if s.has(Attribute::Optional) {
            error(
                s.span,
                format!(
                    "derivatives by the optional argument {} are not known",
                    s.name
                ),
                "may be left out by callers",
                "write a subprogram for each list of arguments",
            );
        } else if s.is_assumed_shape() {
            error(
                s.span,
                format!(
                    "derivatives by {}, an array of assumed shape, are not known",
                    s.name
                ),
                "its bounds come from the caller",
                "pass the bounds as arguments, and declare the array with them",
            );
        }
    }
    found
}

/// Reports ALLOCATE and DEALLOCATE of arrays with derivatives.
pub fn refuse_allocations(unit: &Unit, active: &dyn Fn(SymId) -> bool) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    walk_block(&unit.body, &mut |s| {
        let StmtKind::Allocation(a) = &s.kind else {
            return;
        };
        let copies = a
            .control
            .iter()
            .any(|c| matches!(&c.kind, ExprKind::Keyword(k, _) if k == "SOURCE" || k == "MOLD"));
        for o in &a.objects {
            if let Some(base) = o.base()
                && (active(base) || copies && differentiable(&unit.symbols[base]))
            {
                let name = &unit.symbols[base].name;
                found.push(
                    Diagnostic::error(
                        &rules::AD_ALLOCATION,
                        o.span,
                        format!("{name} has a derivative, and cannot be allocated here"),
                    )
                    .label("the derivative would have to be allocated with it")
                    .help(format!(
                        "allocate {name} in the caller, and pass it as an argument"
                    )),
                );
            }
        }
    });
    found
}
