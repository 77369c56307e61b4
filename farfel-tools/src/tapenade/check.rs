//! Problems that the tool does not report.

use super::Options;
use super::input::Prepared;
use super::stack;
use super::units::called;
use farfel_ad::calls::calls;
use farfel_ad::path::with_path;
use farfel_ad::{AdTool, Builtin};
use farfel_lang::Span;
use farfel_lang::diagnostic::{Diagnostic, Severity, rules};
use farfel_lang::effects::Assigned;
use farfel_lang::ir::{
    AdMode, Expr, ExprKind, Name, Program, Request, StmtKind, StorageClass, Type, Unit, walk_block,
};
use std::collections::HashSet;

/// Checks the closure for problems that the tool would not report, or too late.
pub(super) fn check(
    p: &Prepared,
    request: &Request,
    options: &Options,
    found: &mut Vec<Diagnostic>,
) {
    let program = Program {
        units: p.units.clone(),
    };
    let assigned = Assigned::of(&program);
    for u in &p.units {
        let mut refused = crate::refuse::refuse_for_tool(u, options.allocates);
        if request.mode == AdMode::Reverse {
            refused.extend(crate::refuse::refuse_two_names(u, &assigned));
        }
        let refused = refused.into_iter();
        found.extend(refused.map(|d| d.related(request.span, "for this AD block")));
    }
    unknown_procedures(p, request, options, found);
    side_effects(p, request, options, found);
    lost_derivatives(p, request, options, found);
    if request.mode == AdMode::Reverse
        && let Some(stub) = p.stubs.first()
    {
        let inner = p
            .units
            .iter()
            .find(|u| stack::calls(u).contains(stub))
            .map_or(Span::NONE, |u| u.name_span);
        let d = Diagnostic::error(
            &rules::AD_OTHER_TOOL,
            request.span,
            "Tapenade cannot differentiate its own adjoints in reverse mode",
        )
        .label("ADR around ADR")
        .help("write one of the two blocks with ADF, or use the built-in engine");
        found.push(if inner.is_none() || inner == request.span {
            d
        } else {
            d.related(inner, "an adjoint that it would go through")
        });
    }
}

fn allowed(options: &Options, name: &str) -> bool {
    options
        .allow_unknown
        .iter()
        .any(|a| a.eq_ignore_ascii_case(name))
}

/// Reports calls with real arguments or results of procedures that are missing. The tool assumes
/// that they access nothing but their arguments.
fn unknown_procedures(
    p: &Prepared,
    request: &Request,
    options: &Options,
    found: &mut Vec<Diagnostic>,
) {
    let known = |name: &str| {
        p.unit(name).is_some()
            || p.helpers.iter().any(|h| h.seen.name == name)
            || stack::is_support(name)
            || p.placeholders.iter().any(|x| x.name == name)
    };
    for u in &p.units {
        let mut named: Vec<farfel_lang::ir::SymId> = Vec::new();
        walk_block(&u.body, &mut |s| {
            for (call, _) in calls(u, s) {
                let callee = &u.symbols[call.callee];
                if named.contains(&call.callee)
                    || !matches!(
                        callee.storage_class,
                        StorageClass::Global | StorageClass::Dummy
                    )
                    || known(&callee.name)
                {
                    continue;
                }
                let real = callee.ty.is_some_and(Type::is_differentiable)
                    || call.args.iter().any(|a| {
                        a.base()
                            .and_then(|s| u.symbols[s].ty)
                            .is_some_and(Type::is_differentiable)
                    });
                if !real {
                    continue;
                }
                named.push(call.callee);
                let text = format!(
                    "derivatives may go through {}, whose text is not known",
                    callee.name
                );
                let d = if allowed(options, &callee.name) {
                    Diagnostic::warning(&rules::AD_UNKNOWN_PROCEDURE, s.span, text)
                        .help("its derivative must be linked to the program")
                } else {
                    Diagnostic::error(&rules::AD_UNKNOWN_PROCEDURE, s.span, text)
                        .help(format!("add the source of {} to the project", callee.name))
                };
                let d = d.related(request.span, "for this AD block");
                let find = |name: &str| p.unit(name);
                let own = &u.name;
                found.push(with_path(d, &find, &request.head, own, call.callee));
            }
        });
    }
}

/// Reports derivatives that are lost in an INTEGER. Our own engine knows where.
fn lost_derivatives(
    p: &Prepared,
    request: &Request,
    options: &Options,
    found: &mut Vec<Diagnostic>,
) {
    let forward = Request {
        mode: AdMode::Forward,
        vector: false,
        ..request.clone()
    };
    let program = everything(p);
    let mut warnings = Vec::new();
    // Whatever the engine cannot differentiate does not matter here.
    let _ = Builtin.differentiate_warning(&program, &forward, &mut warnings);
    for mut w in warnings {
        if w.rule == &rules::AD_LOST_DERIVATIVE
            && !found.iter().any(|x| x.rule == w.rule && x.span == w.span)
        {
            if !within(p, w.span).is_some_and(|u| allowed(options, &u.name)) {
                w.severity = Severity::Error;
            }
            found.push(w);
        }
    }
}

/// Returns everything that the tool reads, except stubs.
fn everything(p: &Prepared) -> Program {
    let helpers = p.helpers.iter().map(|h| &h.seen);
    Program {
        units: p.units.iter().chain(helpers).cloned().collect(),
    }
}

/// Returns the unit that contains a position.
fn within(p: &Prepared, span: Span) -> Option<&Unit> {
    p.units.iter().find(|u| {
        u.span.file == span.file && u.span.start <= span.start && span.start <= u.end_span.end
    })
}

/// Reports functions that change real variables in conditions and loop bounds, where the tool
/// ignores the change.
fn side_effects(p: &Prepared, request: &Request, options: &Options, found: &mut Vec<Diagnostic>) {
    let program = everything(p);
    let assigned = Assigned::of(&program);
    let commons = assign_common(&p.units);
    let real = |u: &Unit, e: &Expr| {
        e.base()
            .and_then(|s| u.symbols[s].ty)
            .is_some_and(Type::is_differentiable)
    };
    for u in &p.units {
        walk_block(&u.body, &mut |s| {
            // In these the call precedes the statement, with derivatives.
            if matches!(s.kind, StmtKind::Assign(..) | StmtKind::Call(..)) {
                return;
            }
            s.for_each_own_expr(&mut |outer| {
                outer.walk(&mut |e| {
                    let ExprKind::Call(callee, args) = &e.kind else {
                        return;
                    };
                    let name = &u.symbols[*callee].name;
                    if u.symbols[*callee].storage_class != StorageClass::Global
                        || p.unit(name).is_none()
                    {
                        return;
                    }
                    let changes =
                        (0..args.len()).any(|i| assigned.argument(name, i) && real(u, &args[i]));
                    if !changes && !commons.contains(name) {
                        return;
                    }
                    let text = format!(
                        "{name} changes variables, and Tapenade would not follow that here"
                    );
                    let d = if allowed(options, name) {
                        Diagnostic::warning(&rules::AD_OTHER_TOOL, s.span, text)
                    } else {
                        Diagnostic::error(&rules::AD_OTHER_TOOL, s.span, text)
                            .help(format!("assign the result of {name} to a variable first"))
                    };
                    found.push(d.related(request.span, "for this AD block"));
                });
            });
        });
    }
}

/// Returns the units that assign real variables in COMMON, directly or through callees.
fn assign_common(units: &[Unit]) -> HashSet<Name> {
    let mut found = HashSet::new();
    // Each unit comes after its callees, except for recursion, which the tool does not support.
    for u in units {
        let mut changes = called(u).iter().any(|n| found.contains(n));
        walk_block(&u.body, &mut |s| {
            if let StmtKind::Assign(target, _) = &s.kind
                && let Some(s) = target.base()
            {
                let s = &u.symbols[s];
                changes |= matches!(s.storage_class, StorageClass::Common(_))
                    && s.ty.is_some_and(Type::is_differentiable);
            }
        });
        if changes {
            found.insert(u.name.clone());
        }
    }
    found
}
