//! Fortran text that comes along with derivatives: functions that rules need, and the
//! derivatives of library procedures.
//!
//! All names begin with `FARFEL_`. The units join a program only where something in it calls
//! them; from then on they are units like any other, and can be differentiated.

use crate::spans::place_unit;
use farfel_lang::callgraph::references;
use farfel_lang::ir::{Name, Program, Unit};
use farfel_lang::resolve::resolve;
use farfel_lang::syntax::{Form, NoIncludes, parse};
use farfel_lang::{Sources, Span};
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// How the names of all shipped units begin.
pub const PREFIX: &str = "FARFEL_";

const TEXTS: &[&str] = &[include_str!("text/special.f")];

static UNITS: LazyLock<HashMap<Name, Unit>> = LazyLock::new(|| {
    let (program, _) = read(&TEXTS.concat());
    let units = program.units.into_iter();
    units.map(|u| (u.name.clone(), u)).collect()
});

/// Reads a text of ours. Its units have no place in any file of the user's.
fn read(text: &str) -> (Program, Vec<farfel_lang::Diagnostic>) {
    let mut sources = Sources::new();
    let file = sources.add("shipped", text);
    let parsed = parse(&mut sources, file, Some(Form::Fixed), &mut NoIncludes);
    let mut program = parsed.program;
    let mut said = parsed.diagnostics;
    said.extend(resolve(&mut program));
    for unit in &mut program.units {
        place_unit(unit, Span::NONE);
    }
    (program, said)
}

/// The shipped unit of a name.
pub fn unit(name: &str) -> Option<&'static Unit> {
    UNITS.get(name)
}

/// The shipped units that `made` calls, directly or through each other, and that are neither
/// in the program nor in `made`.
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
        let (program, said) = read(&TEXTS.concat());
        assert!(said.is_empty(), "{said:?}");
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
