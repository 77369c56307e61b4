//! Name resolution: determines scopes, types and which names are procedures.
//!
//! Three steps, each over all units:
//!
//! 1. `names` decides where each name lives: local, in the host, or global. It applies Farfel's
//!    rule that an undeclared variable belongs to the *top-level* subprogram.
//! 2. `procedures` finds the names that stand for procedures although nothing in their own unit
//!    shows it, because they are only passed on.
//! 3. `check` reports errors between units and in AD blocks; [`storage`](crate::storage) those in
//!    COMMON, EQUIVALENCE and DATA.
//!
//! Afterwards, a program without errors contains no [`Class::Unknown`](crate::ir::Class) and no
//! [`ExprKind::Apply`](crate::ir::ExprKind).

mod arrays;
mod check;
mod interfaces;
mod jumps;
mod names;
mod procedures;
mod warnings;

use crate::diagnostic::{Diagnostic, Rule, rules};
use crate::ir::{
    Arg, EntryPoint, Expr, ExprKind, Name, Program, StmtKind, SymId, Symbols, Type, Unit,
};
use crate::lints::Lints;
use crate::source::{FileId, Span};
use crate::targets::CallTargets;
pub(crate) use check::{EntryPoints, entry_points_of};
use std::collections::{HashMap, HashSet};

/// Resolves the names of a parsed program and reports all errors and warnings.
///
/// ```
/// use farfel_lang::{Sources, resolve::resolve, syntax};
/// let mut sources = Sources::new();
/// let file = sources.add("a.ff", "      Y = SQRT(2.0)\n      PRINT *, Y\n      END\n");
/// let mut parsed = syntax::parse(&mut sources, file, None, &mut syntax::NoIncludes);
/// assert!(resolve(&mut parsed.program).is_empty());
/// ```
pub fn resolve(program: &mut Program) -> Vec<Diagnostic> {
    resolve_with(program, &Lints::default())
}

/// Like [`resolve`], with lint levels. Comments in the program may set them, too.
pub fn resolve_with(program: &mut Program, lints: &Lints) -> Vec<Diagnostic> {
    let mut diagnostics = duplicate_units(program);
    let (lints, errors) = lints.within(program);
    diagnostics.extend(errors);
    let globals = names::Globals::of(program);
    let mut faulty = names::resolve(program, &globals, &mut diagnostics);
    procedures::resolve(program, &mut faulty, &mut diagnostics);
    program.number();
    let targets = CallTargets::of(program);
    check::check(program, &faulty, &targets, lints.real(), &mut diagnostics);
    // Faulty units get no warnings: an unknown name would only cause more of them where it is used.
    warnings::warn(program, &faulty, &lints, &mut diagnostics);
    crate::procedure_directives::attach_to_callers(program, &mut diagnostics);
    warnings::recursion(program, &targets, &mut diagnostics);
    diagnostics.extend(crate::storage::check(program, lints.real(), &|i| {
        !faulty.contains(&i)
    }));
    // An error suppresses the warnings at the same span.
    let wrong: HashSet<Span> = diagnostics
        .iter()
        .filter(|d| d.is_error())
        .map(|d| d.span)
        .collect();
    diagnostics.retain(|d| d.is_error() || !wrong.contains(&d.span));
    lints.apply(&mut diagnostics);
    diagnostics.sort_by_key(|d| (d.span.file, d.span.start));
    once_per_name(&mut diagnostics);
    diagnostics
}

/// Returns the errors in the statements and calls of one top-level unit of a resolved program,
/// whether written or generated: types, shapes, jumps into loops, and arguments that do not match.
/// `callable` holds the program's entry points.
pub(crate) fn errors_of<'p>(unit: &'p Unit, callable: &EntryPoints<'p>) -> Vec<Diagnostic> {
    check::unit(unit, callable)
}

/// Returns the errors in one actual argument of a call.
pub(crate) fn errors_of_argument(
    unit: &Unit,
    actual: &Expr,
    callee: EntryPoint,
    dummy: Arg,
) -> Vec<Diagnostic> {
    check::argument(unit, actual, callee, dummy)
}

/// Reports each unknown procedure only at its first place, with the number of other program units
/// that use it.
fn once_per_name(diagnostics: &mut Vec<Diagnostic>) {
    let unknown = |d: &Diagnostic| d.rule == &rules::UNKNOWN_PROCEDURE;
    let mut places: HashMap<(String, bool), usize> = HashMap::new();
    diagnostics.retain(|d| {
        if !unknown(d) {
            return true;
        }
        let count = places.entry((d.message.clone(), d.is_error())).or_default();
        *count += 1;
        *count == 1
    });
    for d in diagnostics.iter_mut().filter(|d| unknown(d)) {
        match places.get(&(d.message.clone(), d.is_error())) {
            Some(1) | None => {}
            Some(2) => d.label = "not known here, nor in one more program unit".into(),
            Some(n) => d.label = format!("not known here, nor in {} more program units", n - 1),
        }
    }
}

/// Like [`resolve_with`], for a program in which the parser found the errors `syntax`. Reports what
/// else is wrong, so that one run shows all errors of a file. Diagnostics that may merely follow
/// from an unreadable statement are dropped: all of them in a unit whose declarations have errors,
/// and those not in `CERTAIN` in a unit where other statements have errors.
pub fn resolve_readable(
    program: &mut Program,
    syntax: &[Diagnostic],
    lints: &Lints,
) -> Vec<Diagnostic> {
    let within = |d: Span, from: Span, to: Span| {
        d.file == from.file && d.start >= from.start && d.start <= to.end
    };
    let of_unit = |u: &Unit| -> Vec<Span> {
        let spans = syntax.iter().map(|d| d.span);
        spans.filter(|s| within(*s, u.span, u.end_span)).collect()
    };
    // The extent of each unit with errors, and whether its declarations are intact.
    let unreadable: Vec<(Span, Span, bool)> = program
        .units
        .iter()
        .map(|u| (u, of_unit(u)))
        .filter(|(_, errors)| !errors.is_empty())
        .map(|(u, errors)| {
            let whole = u.nested.is_empty()
                && u.body
                    .iter()
                    .find(|s| !matches!(s.kind, StmtKind::Comment(_)))
                    .is_some_and(|first| {
                        let follows =
                            |f: &Span| f.file == first.span.file && f.start > first.span.start;
                        errors.iter().all(follows)
                    });
            (u.span, u.end_span, whole)
        })
        .collect();
    let found = resolve_with(program, lints);
    // Text outside of any unit, or a unit with an unreadable header, may define a name.
    let stray = syntax.iter().any(|d| {
        let unit = program
            .units
            .iter()
            .find(|u| within(d.span, u.span, u.end_span));
        unit.is_none_or(|u| within(d.span, u.span, u.span))
    });
    let hidden = |s: Span, certain: bool| {
        unreadable
            .iter()
            .any(|(from, to, whole)| within(s, *from, *to) && !(*whole && certain))
    };
    // A name in a statement that could not be read may not be what it looks like.
    let understood: HashMap<usize, Vec<(FileId, u32, u32)>> = program
        .units
        .iter()
        .enumerate()
        .filter(|(_, u)| unreadable.iter().any(|(from, ..)| *from == u.span))
        .map(|(i, u)| (i, statements(u)))
        .collect();
    let named_there_only = |d: &Diagnostic| {
        let name = [&rules::UNDECLARED, &rules::UNKNOWN_PROCEDURE].contains(&d.rule);
        let mut units = program.units.iter().enumerate();
        let unit = match name {
            true => units.find(|(_, u)| within(d.span, u.span, u.end_span)),
            false => None,
        };
        unit.and_then(|(i, _)| understood.get(&i)).is_some_and(|s| {
            // The last statement that begins at or before this place.
            let at = (d.span.file, d.span.start);
            let next = s.partition_point(|(file, from, _)| (*file, *from) <= at);
            let inside = |(file, _, to): &(FileId, u32, u32)| *file == at.0 && at.1 < *to;
            !next.checked_sub(1).is_some_and(|n| inside(&s[n]))
        })
    };
    let mut found = found;
    found.retain(|d| {
        if named_there_only(d) {
            return false;
        }
        let certain = CERTAIN.contains(&d.rule);
        let follows = hidden(d.span, certain) || d.related.iter().any(|(s, _)| hidden(*s, certain));
        let unknown = stray && d.rule == &rules::UNKNOWN_PROCEDURE;
        !follows && !unknown
    });
    found
}

/// Returns the extents of the statements of a unit that could be read, in source order. A block
/// counts with its first statement only.
fn statements(unit: &Unit) -> Vec<(FileId, u32, u32)> {
    let mut found = Vec::new();
    let mut units = vec![unit];
    while let Some(u) = units.pop() {
        let mut add = |s: Span| found.push((s.file, s.start, s.end));
        add(u.span);
        u.specs.iter().for_each(|s| add(s.span));
        crate::ir::walk_block(&u.body, &mut |s| add(s.span));
        units.extend(&u.nested);
    }
    found.sort_unstable();
    found
}

/// Rules whose violations do not depend on other statements, apart from declarations.
const CERTAIN: &[&Rule] = &[
    &rules::UNDECLARED,
    &rules::CONFLICTING_DECLARATION,
    &rules::ARGUMENT_MISMATCH,
    &rules::TYPE_MISMATCH,
    &rules::NOT_ASSIGNABLE,
    &rules::NOT_A_PROCEDURE,
    &rules::RANK_MISMATCH,
    &rules::NOT_A_VALUE,
    &rules::AD_NOT_DIFFERENTIABLE,
];

/// Returns the help for `NAME(…)` where the name has no bounds.
fn help_for_subscripts(symbols: &Symbols, s: SymId, args: &[Expr]) -> String {
    let symbol = &symbols[s];
    let name = &symbol.name;
    let place = match args {
        [a] if symbol.ty == Some(Type::Character) => match &a.kind {
            ExprKind::Int(n) => Some(n.to_string()),
            ExprKind::Var(v) => Some(symbols[*v].name.to_string()),
            _ => Some("I".to_owned()),
        },
        _ => None,
    };
    match place {
        Some(i) => format!(
            "one character of {name} is {name}({i}:{i}); if it is an array, declare its bounds, for instance `DIMENSION {name}(10)`"
        ),
        None => {
            format!("declare its bounds if it is an array, for instance `DIMENSION {name}(10)`")
        }
    }
}

fn duplicate_units(program: &Program) -> Vec<Diagnostic> {
    let mut seen: HashMap<&Name, &crate::ir::Unit> = HashMap::new();
    let mut diagnostics = Vec::new();
    for unit in &program.units {
        if let Some(first) = seen.get(&unit.name) {
            diagnostics.push(
                Diagnostic::error(
                    &rules::DUPLICATE_UNIT,
                    unit.name_span,
                    format!("there are two program units named {}", unit.name),
                )
                .related(first.name_span, "the first is here")
                .help("rename one of them, or leave one of the files out of the sources"),
            );
        } else {
            seen.insert(&unit.name, unit);
        }
    }
    diagnostics
}
