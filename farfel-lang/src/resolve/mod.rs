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
mod habits;
mod interfaces;
mod jumps;
mod names;
mod procedures;

pub(crate) use names::closest;

use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{Name, Program};
use crate::lints::Lints;
use crate::source::Span;
use crate::targets::Targets;
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
    // A name that is not known would only make more faults where it is used.
    let targets = Targets::of(program);
    check::check(program, &faulty, &targets, &mut diagnostics);
    habits::warn(program, &faulty, &lints, &mut diagnostics);
    habits::recursion(program, &targets, &mut diagnostics);
    diagnostics.extend(crate::storage::check(program, &|i| !faulty.contains(&i)));
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
/// what is wrong in the units that could be read, so that one run shows all faults of a
/// file. What may only follow from a statement that was not understood is left out.
pub fn resolve_readable(
    program: &mut Program,
    syntax: &[Diagnostic],
    lints: &Lints,
) -> Vec<Diagnostic> {
    let within = |d: Span, from: Span, to: Span| {
        d.file == from.file && d.start >= from.start && d.start <= to.end
    };
    let unreadable: Vec<(Span, Span)> = program
        .units
        .iter()
        .map(|u| (u.span, u.end_span))
        .filter(|(from, to)| syntax.iter().any(|d| within(d.span, *from, *to)))
        .collect();
    // Something that is no unit, or whose header is not understood, may define a name.
    let stray = syntax.iter().any(|d| {
        let unit = program
            .units
            .iter()
            .find(|u| within(d.span, u.span, u.end_span));
        unit.is_none_or(|u| within(d.span, u.span, u.span))
    });
    let hidden = |s: Span| unreadable.iter().any(|(from, to)| within(s, *from, *to));
    let mut found = resolve_with(program, lints);
    found.retain(|d| {
        let follows = hidden(d.span) || d.related.iter().any(|(s, _)| hidden(*s));
        let unknown = stray && d.rule == &rules::UNKNOWN_PROCEDURE;
        !follows && !unknown
    });
    found
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
