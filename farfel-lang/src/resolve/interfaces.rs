//! Checks where attributes may appear, and reports calls that would require an explicit interface,
//! which Fortran 77 cannot provide.

use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{
    Attribute, Class, EntryPoint, Expr, ExprKind, Name, SpecKind, StmtKind, StorageClass, SymId,
    Type, Unit, UnitKind, walk_block,
};
use crate::source::Span;

fn report(diagnostics: &mut Vec<Diagnostic>, d: Diagnostic) {
    if !diagnostics.contains(&d) {
        diagnostics.push(d);
    }
}

/// Reports keyword arguments. Only intrinsic procedures accept them, as callers do not know the
/// argument names of others.
pub(super) fn keywords(name: &Name, args: &[Expr], diagnostics: &mut Vec<Diagnostic>) {
    if crate::intrinsics::is_vendor_procedure(name) {
        return;
    }
    for a in args {
        if let ExprKind::Keyword(keyword, _) = &a.kind {
            report(
                diagnostics,
                Diagnostic::error(
                    &rules::ARGUMENT_MISMATCH,
                    a.span,
                    format!("{name} cannot be called with the keyword {keyword}"),
                )
                .label("only intrinsic procedures have keywords")
                .help("pass the arguments by their order"),
            );
        }
    }
}

/// Reports a call of a unit whose dummy arguments or result require an explicit interface.
pub(super) fn explicit(
    caller: &Unit,
    callee: EntryPoint,
    span: Span,
    diagnostics: &mut Vec<Diagnostic>,
) {
    // A unit that calls itself needs no interface.
    if caller.name_span == callee.unit.name_span {
        return;
    }
    let dummy = |s: SymId| -> Option<(&'static str, &'static str)> {
        let s = &callee.unit.symbols[s];
        if s.is_assumed_shape() {
            return Some((
                "an array of assumed shape",
                "pass the bounds, and declare the array with them, for instance `A(N)`",
            ));
        }
        [
            (Attribute::Optional, "OPTIONAL", "always pass all arguments"),
            (
                Attribute::Allocatable,
                "ALLOCATABLE",
                "allocate the array in the caller, and pass its bounds",
            ),
            (Attribute::Target, "a TARGET", "leave TARGET out"),
            (
                Attribute::Volatile,
                "VOLATILE",
                "copy it to a VOLATILE variable",
            ),
        ]
        .into_iter()
        .find(|(a, ..)| s.has(*a))
        .map(|(_, what, help)| (what, help))
    };
    let found = callee
        .args
        .iter()
        .filter_map(|a| a.sym())
        .find_map(|s| dummy(s).map(|why| (s, why)));
    let result = callee
        .result
        .filter(|_| callee.unit.kind == UnitKind::Function);
    let found = found.or_else(|| {
        let r = result?;
        callee.unit.symbols[r].is_array().then_some((
            r,
            (
                "an array, and the result of the function",
                "make it a subroutine that gets the array as an argument",
            ),
        ))
    });
    let Some((s, (what, help))) = found else {
        return;
    };
    let s = &callee.unit.symbols[s];
    report(
        diagnostics,
        Diagnostic::error(
            &rules::ARGUMENT_MISMATCH,
            span,
            format!(
                "{} cannot be called without an explicit interface: {} is {what}",
                callee.name, s.name
            ),
        )
        .related(s.span, format!("{} of {}", s.name, callee.name))
        .help(help),
    );
}

/// Checks the attributes of a unit's names, and its ALLOCATE statements.
pub(super) fn declarations(unit: &Unit, diagnostics: &mut Vec<Diagnostic>) {
    for spec in &unit.specs {
        match &spec.kind {
            SpecKind::Attribute(attribute, list) => {
                for e in list {
                    attribute_of(unit, *attribute, e.sym, spec.span, diagnostics);
                }
            }
            SpecKind::Intent(_, list) => {
                for s in list {
                    not_a_dummy(unit, "INTENT", *s, spec.span, diagnostics);
                }
            }
            _ => {}
        }
    }
    for (_, s) in unit.symbols.iter() {
        let open = s.dims.iter().any(|d| d.upper.is_none());
        let constant = matches!(s.class, Class::Parameter(_));
        let wrong = match s.storage_class {
            StorageClass::Host(_) => false,
            _ if s.has(Attribute::Allocatable) => s.dims.iter().any(|d| d.upper.is_some()),
            StorageClass::Dummy => false,
            _ => open && !constant,
        };
        if wrong {
            let (what, help) = match s.has(Attribute::Allocatable) {
                true => (
                    format!(
                        "{} is ALLOCATABLE, so that ALLOCATE gives its bounds",
                        s.name
                    ),
                    "write `:` for each dimension",
                ),
                false => (
                    format!("the bounds of {} are missing", s.name),
                    "only dummy arguments and ALLOCATABLE arrays may have `:` for bounds",
                ),
            };
            report(
                diagnostics,
                Diagnostic::error(&rules::CONFLICTING_DECLARATION, s.span, what).help(help),
            );
        }
    }
    walk_block(&unit.body, &mut |s| {
        let StmtKind::Allocation(a) = &s.kind else {
            return;
        };
        for o in &a.objects {
            allocated(unit, a.free, o, diagnostics);
        }
        for c in &a.control {
            if let ExprKind::Keyword(name, value) = &c.kind
                && name == "STAT"
                && !matches!(crate::types::type_of(unit, value), Some(Type::Integer(_)))
            {
                report(
                    diagnostics,
                    Diagnostic::error(
                        &rules::TYPE_MISMATCH,
                        value.span,
                        "STAT= wants an INTEGER variable",
                    ),
                );
            }
        }
    });
}

fn not_a_dummy(unit: &Unit, word: &str, s: SymId, span: Span, diagnostics: &mut Vec<Diagnostic>) {
    let s = &unit.symbols[s];
    if matches!(s.storage_class, StorageClass::Dummy | StorageClass::Host(_)) {
        return;
    }
    report(
        diagnostics,
        Diagnostic::error(
            &rules::CONFLICTING_DECLARATION,
            span,
            format!("{} has {word}, but is not a dummy argument", s.name),
        )
        .related(s.span, "first mentioned here"),
    );
}

fn attribute_of(
    unit: &Unit,
    attribute: Attribute,
    id: SymId,
    span: Span,
    diagnostics: &mut Vec<Diagnostic>,
) {
    if attribute == Attribute::Optional {
        return not_a_dummy(unit, "OPTIONAL", id, span, diagnostics);
    }
    let s = &unit.symbols[id];
    let word = attribute.word();
    let why = match (&s.class, &s.storage_class) {
        (
            Class::Variable,
            StorageClass::Local
            | StorageClass::Dummy
            | StorageClass::Host(_)
            | StorageClass::Result,
        ) => match attribute {
            Attribute::Automatic if s.saved => "keeps its value by SAVE, DATA or its declaration",
            Attribute::Automatic if s.storage_class != StorageClass::Local => {
                "is not a local variable"
            }
            Attribute::Allocatable if !s.is_array() => "is not an array",
            _ => return,
        },
        (Class::Variable, StorageClass::Common(_)) => match attribute {
            Attribute::Volatile | Attribute::Target => return,
            _ => "is in a COMMON block",
        },
        (Class::Variable, _) => "lies where a pointer points",
        _ => "is not a variable",
    };
    report(
        diagnostics,
        Diagnostic::error(
            &rules::CONFLICTING_DECLARATION,
            span,
            format!("{} cannot be {word}: it {why}", s.name),
        )
        .related(s.span, "first mentioned here"),
    );
}

/// Checks an object of ALLOCATE or DEALLOCATE.
fn allocated(unit: &Unit, free: bool, object: &Expr, diagnostics: &mut Vec<Diagnostic>) {
    let word = if free { "DEALLOCATE" } else { "ALLOCATE" };
    let Some(base) = object.base() else {
        return;
    };
    let s = &unit.symbols[base];
    let d = if !s.has(Attribute::Allocatable) && !s.has(Attribute::Growing) {
        Diagnostic::error(
            &rules::CONFLICTING_DECLARATION,
            object.span,
            format!("{} is not ALLOCATABLE", s.name),
        )
        .related(s.span, "declared here")
        .help(format!(
            "declare it with `:` for each dimension, for instance `ALLOCATABLE {}(:)`",
            s.name
        ))
    } else {
        match (&object.kind, free) {
            (ExprKind::Element(..), false) | (ExprKind::Var(_), true) => return,
            (_, true) => Diagnostic::error(
                &rules::SYNTAX,
                object.span,
                format!("{word} takes whole arrays"),
            ),
            (_, false) => Diagnostic::error(
                &rules::SYNTAX,
                object.span,
                format!("{word} needs the bounds of {}", s.name),
            )
            .help(format!(
                "write them in parentheses, for instance `{}(N)`",
                s.name
            )),
        }
    };
    report(diagnostics, d);
}
