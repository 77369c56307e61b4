//! Bundled Fortran source: functions that rules need, and the derivatives of library procedures.
//!
//! All names begin with `FARFEL_`. The units are added to a program only if something in it calls
//! them; from then on they are ordinary units, and can be differentiated.

use super::mpi;
use crate::spans::place_unit;
use farfel_lang::callgraph::references;
use farfel_lang::ir::{Name, ProcedureDirective, Program, StorageClass, Symbol, Unit};
use farfel_lang::resolve::resolve;
use farfel_lang::syntax::{Form, NoIncludes, parse};
use farfel_lang::{Sources, Span};
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// The prefix of the names of all bundled units.
pub const PREFIX: &str = "FARFEL_";

const TEXTS: &[&str] = &[
    include_str!("text/special.f"),
    include_str!("text/letters.f"),
];

/// Source for both precisions: `@` is replaced by the letter of the type, `TYPE` by its name.
const FOR_EACH_TYPE: &[&str] = &[
    include_str!("text/real1.f"),
    include_str!("text/real2.f"),
    include_str!("text/real3.f"),
    include_str!("text/lapack.f"),
];

fn text() -> String {
    let mut text = TEXTS.concat() + &mpi::text();
    for (letter, ty) in [("S", "REAL"), ("D", "REAL*8")] {
        let of_type = FOR_EACH_TYPE.concat();
        text += &of_type
            .replace('@', letter)
            .replace("TYPE ", &format!("{ty} "));
    }
    text
}

/// The units, and the rules that directives in the source specify for procedures; the flag is true
/// for functions.
struct Bundled {
    units: HashMap<Name, Unit>,
    rules: HashMap<Name, (ProcedureDirective, bool)>,
}

static BUNDLED: LazyLock<Bundled> = LazyLock::new(|| {
    let (program, rules, _) = read(&text());
    let units: HashMap<Name, Unit> = program
        .units
        .into_iter()
        .map(|u| (u.name.clone(), u))
        .collect();
    let with_kind = rules.into_iter().map(|g| {
        let function = is_function(&g, &units);
        (g.procedure.clone(), (g, function))
    });
    Bundled {
        rules: with_kind.collect(),
        units,
    }
});

/// The tangent of a function has two arguments in addition to its arguments and their tangents.
fn is_function(given: &ProcedureDirective, units: &HashMap<Name, Unit>) -> bool {
    let tangent = given.tangent.as_ref().and_then(|t| units.get(t));
    let arguments = given.arguments.as_deref().unwrap_or_default();
    let active = arguments.iter().filter(|a| given.is_active(a)).count();
    tangent.is_some_and(|t| t.args.len() > arguments.len() + active)
}

/// Parses bundled source. Its units have no position in any of the user's files.
fn read(
    text: &str,
) -> (
    Program,
    Vec<ProcedureDirective>,
    Vec<farfel_lang::Diagnostic>,
) {
    let mut sources = Sources::new();
    let file = sources.add("shipped", text);
    let parsed = parse(&mut sources, file, Some(Form::Fixed), &mut NoIncludes);
    let mut program = parsed.program;
    let mut diagnostics = parsed.diagnostics;
    let mut rules = Vec::new();
    for unit in &mut program.units {
        rules.append(&mut unit.directives);
        unit.comments.retain(|c| !c.contains("farfel:"));
    }
    for rule in &mut rules {
        rule.span = Span::NONE;
    }
    diagnostics.extend(resolve(&mut program));
    for unit in &mut program.units {
        place_unit(unit, Span::NONE);
    }
    (program, rules, diagnostics)
}

/// Whether a procedure is one of the run-time library for MPI, which is not Fortran.
pub fn is_of_runtime(name: &str) -> bool {
    name.starts_with(mpi::PREFIX)
}

/// What the names of procedures of the run-time library for states in files begin with.
pub const CHECKPOINT_PREFIX: &str = "FARFEL_CHECKPOINT_";

/// Whether a procedure is one of the run-time library for states in files, which is C.
pub fn writes_checkpoints(symbol: &Symbol) -> bool {
    symbol.storage_class == StorageClass::Global && symbol.name.starts_with(CHECKPOINT_PREFIX)
}

/// Returns the bundled unit with this name.
pub fn unit(name: &str) -> Option<&'static Unit> {
    BUNDLED.units.get(name)
}

/// Returns the bundled rule for a library procedure; the flag is true for a function.
pub fn rule(procedure: &str) -> Option<&'static (ProcedureDirective, bool)> {
    BUNDLED.rules.get(procedure)
}

/// All bundled units, sorted by name.
pub fn units() -> impl Iterator<Item = &'static Unit> {
    let mut units: Vec<&Unit> = BUNDLED.units.values().collect();
    units.sort_by(|a, b| a.name.cmp(&b.name));
    units.into_iter()
}

/// All bundled rules for library procedures, sorted by name; the flag is true for functions.
pub fn rules() -> impl Iterator<Item = &'static (ProcedureDirective, bool)> {
    let mut rules: Vec<&(ProcedureDirective, bool)> = BUNDLED.rules.values().collect();
    rules.sort_by(|a, b| a.0.procedure.cmp(&b.0.procedure));
    rules.into_iter()
}

/// Returns the bundled units that `made` calls, directly or indirectly, and that are neither in the
/// program nor in `made`.
pub fn needed(program: &Program, made: &[Unit]) -> Vec<Unit> {
    let there = program.units.iter().chain(made);
    let mut seen: HashSet<Name> = there
        .map(|u| u.name.clone())
        .filter(|n| n.starts_with(PREFIX))
        .collect();
    let mut found: Vec<Unit> = Vec::new();
    let look = |u: &Unit, seen: &mut HashSet<Name>| -> Vec<Unit> {
        let names = references(u).into_iter();
        let names = names.filter(|n| n.starts_with(PREFIX) && seen.insert(n.clone()));
        names.filter_map(|n| unit(&n).cloned()).collect()
    };
    for u in made {
        found.extend(look(u, &mut seen));
    }
    let mut next = 0;
    while let Some(u) = found.get(next) {
        let more = look(u, &mut seen);
        found.extend(more);
        next += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfel_lang::ir::{Level, verify};

    #[test]
    fn texts_are_in_order() {
        let (program, _, diagnostics) = read(&text());
        // The procedures of the libraries themselves are missing here.
        let diagnostics: Vec<_> = diagnostics
            .iter()
            .filter(|d| d.rule != &farfel_lang::diagnostic::rules::UNKNOWN_PROCEDURE)
            .map(|d| (&d.message, d.span.start))
            .collect();
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        assert!(verify(&program, Level::Staged).is_empty());
        for u in &program.units {
            assert!(u.name.starts_with(PREFIX), "{}", u.name);
            for called in references(u) {
                let known = !called.starts_with(PREFIX) || unit(&called).is_some();
                assert!(known, "{} calls {called}", u.name);
            }
        }
    }
}
