//! By which calls an AD block reaches what cannot be differentiated.

use farfel_lang::Span;
use farfel_lang::diagnostic::Diagnostic;
use farfel_lang::ir::{Arg, Class, Expr, ExprKind, Name, Place, StmtKind, SymId, Unit, walk_block};
use std::collections::{HashMap, VecDeque};

/// A call on the way.
struct Step<'p> {
    caller: &'p Unit,
    args: &'p [Expr],
    span: Span,
}

/// Adds to a fault in a unit the calls on the shortest way to it from `head`. For a fault
/// with a dummy procedure also where that one comes from.
pub fn with_path<'p>(
    fault: Diagnostic,
    find: &dyn Fn(&str) -> Option<&'p Unit>,
    head: &Name,
    unit: &Name,
    procedure: SymId,
) -> Diagnostic {
    let Some(head) = find(head) else {
        return fault;
    };
    let mut from: HashMap<&Name, Step> = HashMap::new();
    let mut open = VecDeque::from([head]);
    while let Some(caller) = open.pop_front() {
        if caller.name == *unit {
            break;
        }
        each_call(caller, &mut |callee, args, span| {
            let s = &caller.symbols[callee];
            if s.place == Place::Global
                && s.name != head.name
                && let Some(to) = find(&s.name)
                && !from.contains_key(&to.name)
            {
                from.insert(&to.name, Step { caller, args, span });
                open.push_back(to);
            }
        });
    }
    let mut steps = Vec::new();
    let mut at = unit;
    let mut dummy = find(unit).map(|u| (u, procedure));
    while let Some(step) = from.get(at) {
        steps.push((step.span, format!("{at} is called here")));
        dummy = dummy.and_then(|(u, d)| {
            let position = u.args.iter().position(|a| *a == Arg::Dummy(d))?;
            match step.args.get(position)?.kind {
                ExprKind::Var(s) => Some((step.caller, s)),
                _ => None,
            }
        });
        at = &step.caller.name;
    }
    let mut fault = fault;
    for (span, text) in steps.into_iter().rev() {
        fault = fault.related(span, text);
    }
    match dummy {
        Some((u, d)) if u.name == head.name && u.symbols[d].place == Place::Dummy => {
            let s = &u.symbols[d];
            fault.related(
                s.span,
                format!("code outside of the program passes {}", s.name),
            )
        }
        _ => fault,
    }
}

fn each_call<'p>(unit: &'p Unit, f: &mut dyn FnMut(SymId, &'p [Expr], Span)) {
    walk_block(&unit.body, &mut |s| {
        if let StmtKind::Call(callee, args) = &s.kind {
            f(*callee, args, s.span);
        }
        s.for_each_own_expr(&mut |e| {
            e.walk(&mut |e| {
                if let ExprKind::Call(callee, args) = &e.kind
                    && !matches!(unit.symbols[*callee].class, Class::Intrinsic(_))
                {
                    f(*callee, args, e.span);
                }
            });
        });
    });
}
