//! Scopes, types and who is a procedure.
//!
//! Three steps, each over all units:
//!
//! 1. `names` gives every name its place: local, of the surroundings, global. Applies
//!    Farfel's rule that an undeclared variable belongs to the *top-level* subprogram.
//! 2. `procedures` finds out which names stand for procedures that nothing in their own
//!    unit shows to be such, because they are only passed on.
//! 3. `check` reports what is wrong between units and in AD blocks;
//!    [`storage`](crate::storage) what is wrong with COMMON, EQUIVALENCE and DATA.
//!
//! After it, no [`Class::Unknown`](crate::ir::Class) and no
//! [`ExprKind::Apply`](crate::ir::ExprKind) is left in a program without errors.

mod arrays;
mod check;
mod interfaces;
mod jumps;
mod names;
mod procedures;
mod suspicious;

use crate::diagnostic::{Diagnostic, Rule, rules};
use crate::ir::{
    Arg, EntryPoint, Expr, ExprKind, Name, Program, StmtKind, SymId, Symbols, Type, Unit,
};
use crate::lints::Lints;
use crate::source::{FileId, Span};
use crate::targets::Targets;
pub(crate) use check::{Callable, callable};
use std::collections::{HashMap, HashSet};

/// Resolves the names of a parsed program and reports everything that is wrong with it.
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

/// The same, with settings for the warnings. Comments in the program may set them, too.
pub fn resolve_with(program: &mut Program, lints: &Lints) -> Vec<Diagnostic> {
    let mut diagnostics = duplicate_units(program);
    let (lints, faults) = lints.within(program);
    diagnostics.extend(faults);
    let globals = names::Globals::of(program);
    let mut faulty = names::resolve(program, &globals, &mut diagnostics);
    procedures::resolve(program, &mut faulty, &mut diagnostics);
    program.number();
    let targets = Targets::of(program);
    check::check(program, &faulty, &targets, lints.real(), &mut diagnostics);
    // A name that is not known would only make more faults where it is used.
    suspicious::warn(program, &faulty, &lints, &mut diagnostics);
    crate::given::settle(program, &mut diagnostics);
    suspicious::recursion(program, &targets, &mut diagnostics);
    diagnostics.extend(crate::storage::check(program, lints.real(), &|i| {
        !faulty.contains(&i)
    }));
    // Where something is wrong, that is enough.
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

/// What is wrong with the statements and calls of one top-level unit of a resolved program, however
/// it came to be: types, shapes, jumps into loops, and arguments that do not fit. `callable`:
/// the program's entry points.
pub(crate) fn faults_of<'p>(unit: &'p Unit, callable: &Callable<'p>) -> Vec<Diagnostic> {
    check::unit(unit, callable)
}

/// What is wrong with one actual argument in a call.
pub(crate) fn faults_of_argument(
    unit: &Unit,
    actual: &Expr,
    callee: EntryPoint,
    dummy: Arg,
) -> Vec<Diagnostic> {
    check::argument(unit, actual, callee, dummy)
}

/// What is missing is missing everywhere: its first place is enough, with the number of
/// program units besides.
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

/// Like [`resolve_with`], for a program in which the parser found the faults `syntax`: reports
/// what else is wrong, so that one run shows all faults of a file. What may only follow from
/// a statement that was not understood is left out: everything in a unit whose declarations
/// have faults, and what is not `CERTAIN` where other statements of the unit have.
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
    // From where to where a unit with faults reaches, and whether its declarations are whole.
    let unreadable: Vec<(Span, Span, bool)> = program
        .units
        .iter()
        .map(|u| (u, of_unit(u)))
        .filter(|(_, faults)| !faults.is_empty())
        .map(|(u, faults)| {
            let whole = u.nested.is_empty()
                && u.body
                    .iter()
                    .find(|s| !matches!(s.kind, StmtKind::Comment(_)))
                    .is_some_and(|first| {
                        let follows =
                            |f: &Span| f.file == first.span.file && f.start > first.span.start;
                        faults.iter().all(follows)
                    });
            (u.span, u.end_span, whole)
        })
        .collect();
    let found = resolve_with(program, lints);
    // Something that is no unit, or whose header is not understood, may define a name.
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
    // What a statement that is not understood names may not be what it looks like.
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
            // The last statement that begins before it or with it.
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

/// From where to where the statements of a unit reach that were understood, in their order. Of
/// blocks it is the first statement.
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

/// What is wrong with a statement whatever other statements, apart from declarations, say.
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

/// What to do about `NAME(…)` where the name has no bounds.
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
