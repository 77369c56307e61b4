//! The order of compilation: modules before the files that use them.

use super::PassThroughFile;
use super::scan::ModuleReference;
use crate::gfortran;
use farfel_lang::diagnostic::rules;
use farfel_lang::{Diagnostic, Sources, Span};
use std::collections::HashMap;

/// Returns for each file the other files whose modules it uses, each with one place where it does.
pub(crate) fn needs(files: &[PassThroughFile]) -> Vec<Vec<(usize, &ModuleReference)>> {
    let owners = owners(files);
    let of = |(at, file): (usize, &'_ PassThroughFile)| {
        let mut needs: Vec<(usize, &ModuleReference)> = Vec::new();
        for used in files[at].scan.uses.iter().chain(&files[at].scan.parents) {
            let owner = owners.get(used.name.as_str()).copied();
            // Within a file, gfortran uses the order as written.
            let own = file.scan.defines.iter().any(|d| d.name == used.name);
            if let Some(owner) = owner.filter(|_| !own)
                && needs.iter().all(|(n, _)| *n != owner)
            {
                needs.push((owner, used));
            }
        }
        needs
    };
    files.iter().enumerate().map(of).collect()
}

/// Returns the file of each module.
fn owners(files: &[PassThroughFile]) -> HashMap<&str, usize> {
    let mut owners = HashMap::new();
    for (at, file) in files.iter().enumerate() {
        for module in &file.scan.defines {
            owners.entry(module.name.as_str()).or_insert(at);
        }
    }
    owners
}

/// Reports modules and subprograms that two files define, and files that use each other's modules in a cycle.
pub(super) fn errors(files: &[PassThroughFile], sources: &Sources) -> Vec<Diagnostic> {
    let span =
        |named: &ModuleReference| gfortran::span(&named.place, sources).unwrap_or(Span::NONE);
    let mut errors = Vec::new();
    let mut first: HashMap<&str, (usize, &ModuleReference)> = HashMap::new();
    for (at, file) in files.iter().enumerate() {
        for module in &file.scan.defines {
            let (owner, before) = *first.entry(&module.name).or_insert((at, module));
            if owner != at {
                errors.push(
                    Diagnostic::error(
                        &rules::COMPILER,
                        span(module),
                        format!("two files have a module {}", module.name),
                    )
                    .related(span(before), "the other one")
                    .help("leave one of the files out with the setting `exclude`"),
                );
            }
        }
    }
    let mut first: HashMap<&str, &ModuleReference> = HashMap::new();
    for external in files.iter().flat_map(|f| &f.scan.externals) {
        let before = *first.entry(&external.name).or_insert(external);
        if before != external {
            let message = format!("two subprograms are called {}", external.name);
            let error = Diagnostic::error(&rules::DUPLICATE_UNIT, span(external), message);
            errors.push(error.related(span(before), "the other one"));
        }
    }
    if errors.is_empty() {
        errors.extend(circle(&needs(files)).map(|circle| {
            let uses = |(at, used): &(usize, &ModuleReference)| {
                format!("{} uses {}", files[*at].name, used.name)
            };
            let all: Vec<String> = circle.iter().map(uses).collect();
            let message = format!("modules use each other in a circle: {}", all.join(", "));
            let error = Diagnostic::error(&rules::COMPILER, span(circle[0].1), message)
                .help("move what both need into a module of its own");
            let others = circle[1..].iter();
            others.fold(error, |d, (_, used)| d.related(span(used), "and here"))
        }));
    }
    errors
}

/// Finds a cycle of files, each of which needs the next.
fn circle<'f>(
    needs: &[Vec<(usize, &'f ModuleReference)>],
) -> Option<Vec<(usize, &'f ModuleReference)>> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut state = vec![State::New; needs.len()];
    for start in 0..needs.len() {
        // The path from `start`: files, each with the number of its needs that have been examined.
        let mut way: Vec<(usize, usize)> = Vec::new();
        if state[start] == State::New {
            way.push((start, 0));
        }
        while let Some((at, next)) = way.last_mut() {
            state[*at] = State::Open;
            let Some((need, _)) = needs[*at].get(*next) else {
                state[*at] = State::Done;
                way.pop();
                continue;
            };
            *next += 1;
            match state[*need] {
                State::New => way.push((*need, 0)),
                State::Done => {}
                State::Open => {
                    let from = way.iter().position(|(at, _)| at == need)?;
                    let step = |(at, next): &(usize, usize)| (*at, needs[*at][next - 1].1);
                    return Some(way[from..].iter().map(step).collect());
                }
            }
        }
    }
    None
}
