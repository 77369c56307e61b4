//! The calls by which an AD block reaches code that cannot be differentiated.

use farfel_lang::Span;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::ir::{
    Arg, Class, Expr, ExprKind, Name, Program, StorageClass, SymId, Symbol, Unit,
    for_each_reference,
};
use farfel_lang::lower::Threaded;
use std::collections::{HashMap, VecDeque};

/// A call on the path.
struct Step<'p> {
    caller: &'p Unit,
    args: &'p [Expr],
    span: Span,
}

/// Adds to an error in a unit the calls on the shortest path to it from `head`. For an error with a
/// dummy procedure, also adds where that procedure comes from.
pub fn with_path<'p>(
    error: Diagnostic,
    find: &dyn Fn(&str) -> Option<&'p Unit>,
    head: &Name,
    unit: &Name,
    procedure: SymId,
) -> Diagnostic {
    let Some(head) = find(head) else {
        return error;
    };
    let mut from: HashMap<&Name, Step> = HashMap::new();
    let mut open = VecDeque::from([head]);
    while let Some(caller) = open.pop_front() {
        if caller.name == *unit {
            break;
        }
        each_call(caller, &mut |callee, args, span| {
            let s = &caller.symbols[callee];
            if s.storage_class == StorageClass::Global
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
    let mut error = error;
    for (span, text) in steps.into_iter().rev() {
        error = error.related(span, text);
    }
    match dummy {
        Some((u, d))
            if u.name == head.name && u.symbols[d].storage_class == StorageClass::Dummy =>
        {
            let s = &u.symbols[d];
            if let Some(inner) = find(unit) {
                help_for(&mut error, &inner.symbols[procedure].name, &s.name);
            }
            error.related(
                s.span,
                format!("code outside of the program passes {}", s.name),
            )
        }
        _ => error,
    }
}

/// Replaces the names of dummy procedures whose derivatives are given by those in the source. The
/// engine takes them for external procedures.
pub(crate) fn with_shown_names(d: &mut Diagnostic, threaded: &Threaded) {
    for (name, shown) in threaded.names() {
        if !has_word(&d.message, name) {
            continue;
        }
        let unknown = format!("derivatives would go through {name}, whose text is not known");
        if d.message == unknown {
            d.message = format!("derivatives would go through the dummy procedure {shown}");
            let of = ["_TANGENT", "_ADJOINT"]
                .iter()
                .find_map(|w| shown.strip_suffix(w));
            d.help = Some(match of {
                // The compiler has added it.
                Some(f) => format!(
                    "a derivative is differentiated again here: add {f}D and {f}DD to the arguments, and say what they are: `!farfel: derivative({f}(…), tangent = {f}D, in = …, out = …)` and `!farfel: derivative({f}D(…), tangent = {f}DD, in = …, out = …)`"
                ),
                None => format!(
                    "{shown} computes a derivative that is differentiated again here: give its derivative, too, with `!farfel: derivative({shown}(…), tangent = …, adjoint = …, in = …, out = …)`"
                ),
            });
        } else {
            d.message = d.message.replace(name.as_str(), shown);
        }
    }
}

fn has_word(text: &str, word: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.any(|w| w == word)
}

/// Corrects an error which says that a dummy procedure comes from outside of the program: if
/// another subprogram receives the procedure from outside and passes it on, names that one, and
/// adds the calls that pass it on. The tool sees only what a block reaches; `program` is the whole
/// program.
pub fn with_way_in(error: Diagnostic, program: &Program) -> Diagnostic {
    if error.rule.code != rules::AD_UNKNOWN_PROCEDURE.code {
        return error;
    }
    let mut error = error;
    let mut way = None;
    let mut names = None;
    for related in &mut error.related {
        let dummies = program.units.iter().flat_map(|u| u.symbols.iter());
        let mut dummies = dummies
            .map(|(_, s)| s)
            .filter(|s| s.storage_class == StorageClass::Dummy);
        let dummy = dummies.find(|s| s.class.is_procedure() && s.span == related.0);
        if let Some(dummy) = dummy {
            let (outer, steps) = way_in(&program.units, dummy);
            related.0 = outer.span;
            related.1 = format!("code outside of the program passes {}", outer.name);
            way = Some(steps);
            names = Some((&dummy.name, &outer.name));
        }
    }
    if let Some((from, to)) = names {
        help_for(&mut error, from, to);
    }
    for (span, text) in way.into_iter().flatten() {
        error = error.related(span, text);
    }
    error
}

/// Lets the directive in the help for a dummy procedure be about another one, for which it stands.
fn help_for(error: &mut Diagnostic, from: &Name, to: &Name) {
    for (before, after) in [("EXTERNAL ", ""), ("derivative(", "("), (" = ", ",")] {
        for letter in ["D", "B", ""] {
            let is_companion = after != "(";
            if let Some(help) = &mut error.help
                && is_companion != letter.is_empty()
            {
                let old = format!("{before}{from}{letter}{after}");
                *help = help.replace(&old, &format!("{before}{to}{letter}{after}"));
            }
        }
    }
}

/// Returns the dummy procedure that code outside of the program determines, and the calls that pass
/// it on to another one, in order.
fn way_in<'p>(all: &'p [Unit], dummy: &'p Symbol) -> (&'p Symbol, Vec<(Span, String)>) {
    let mut steps = Vec::new();
    let mut dummy = dummy;
    let mut seen = Vec::new();
    while !seen.contains(&dummy.span) {
        seen.push(dummy.span);
        // Code outlined from a block has the names of the enclosing unit.
        let owners: Vec<(&Name, usize)> = all
            .iter()
            .filter_map(|u| {
                let position = u.args.iter().position(|a| {
                    let s = a.sym().map(|s| &u.symbols[s]);
                    s.is_some_and(|s| (&s.name, s.span) == (&dummy.name, dummy.span))
                })?;
                Some((&u.name, position))
            })
            .collect();
        let mut next = None;
        for caller in all {
            each_call(caller, &mut |callee, args, span| {
                let name = &caller.symbols[callee].name;
                let taken = owners.iter().find(|(n, _)| *n == name);
                if let Some((_, position)) = taken
                    && let Some(ExprKind::Var(s)) = args.get(*position).map(|a| &a.kind)
                    && caller.symbols[*s].storage_class == StorageClass::Dummy
                    && !seen.contains(&caller.symbols[*s].span)
                {
                    next = next.or(Some((&caller.symbols[*s], span, name)));
                }
            });
        }
        let Some((handed, span, name)) = next else {
            break;
        };
        steps.push((span, format!("{name} gets {} here", handed.name)));
        dummy = handed;
    }
    steps.reverse();
    (dummy, steps)
}

fn each_call<'p>(unit: &'p Unit, f: &mut dyn FnMut(SymId, &'p [Expr], Span)) {
    for_each_reference(&unit.body, &mut |r| {
        if !r.function || !matches!(unit.symbols[r.procedure].class, Class::Intrinsic(_)) {
            f(r.procedure, r.args, r.span);
        }
    });
}
