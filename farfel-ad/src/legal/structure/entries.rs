//! Creates a separate subprogram for each ENTRY point.

use super::taken_names;
use crate::locations::differentiable;
use farfel_lang::callgraph::CallGraph;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::ir::{Name, Program, SpecKind, StorageClass, SymId, Unit, UnitKind, unused_name};
use farfel_lang::lower::split_entries;
use std::collections::{HashMap, HashSet};

/// Splits the units with ENTRY points below some heads. The parts for entries get new names that
/// end in `suffix`, because code that is not below a head still calls the entries. Returns the new
/// name of each entry.
pub(crate) fn split(
    program: &mut Program,
    heads: &[&str],
    suffix: &str,
    errors: &mut Vec<Diagnostic>,
) -> HashMap<Name, Name> {
    if !has_entries(program) {
        return HashMap::new();
    }
    let graph = CallGraph::of(program);
    let mut reached: HashSet<Name> = graph
        .reached(heads.iter().flat_map(|h| graph.index(h)))
        .into_iter()
        .map(|u| graph.name(u).clone())
        .collect();
    let is_program = |u: &Unit| u.kind == UnitKind::Program;
    let all_is_below = heads
        .iter()
        .any(|h| program.unit(h).is_some_and(is_program));
    let mut ways: Vec<Name> = Vec::new();
    for u in program.units.iter().filter(|u| reached.contains(&u.name)) {
        let names = entries(u);
        if names.is_empty() {
            continue;
        }
        // Lowering has moved saved variables to COMMON where possible.
        if let (false, Some(s)) = (all_is_below, kept(u)) {
            let (unit, name) = (&u.name, &u.symbols[s].name);
            let message = format!("{unit}, which has ENTRY points, keeps {name} from call to call");
            errors.push(
                Diagnostic::error(&rules::AD_STORAGE, u.symbols[s].span, message)
                    .label("each ENTRY gets a derivative of its own, which would keep another one")
                    .help(format!("put {name} into a COMMON block")),
            );
        }
        ways.extend(names);
    }
    let mut found = Vec::new();
    let which = |u: &Unit| reached.contains(&u.name) && !entries(u).is_empty();
    split_entries(program, &which, &mut found);
    errors.extend(found.into_iter().filter(Diagnostic::is_error));
    let mut taken = taken_names(program);
    for u in &program.units {
        taken.extend(u.symbols.iter().map(|(_, s)| s.name.clone()));
    }
    let mut new: HashMap<Name, Name> = HashMap::new();
    for way in ways {
        let name = unused_name(&format!("{way}_E{suffix}"), &|n| taken.contains(n));
        taken.insert(name.clone());
        reached.insert(way.clone());
        new.insert(way, name);
    }
    for u in &mut program.units {
        if !reached.contains(&u.name) {
            continue;
        }
        let calls = u.symbols.iter().filter_map(|(id, s)| {
            let procedure = s.storage_class == StorageClass::Global && s.class.is_procedure();
            Some((id, new.get(&s.name).filter(|_| procedure)?.clone()))
        });
        let mut renamed: Vec<(SymId, Name)> = calls.collect();
        if let Some(name) = new.get(&u.name) {
            let own = u.result.filter(|r| u.symbols[*r].name == u.name);
            renamed.extend(own.map(|r| (r, name.clone())));
            u.name = name.clone();
        }
        for (id, name) in renamed {
            u.symbols.rename(id, name);
            u.declare(id);
        }
    }
    new
}

/// Whether code below some heads calls, or passes as an argument, an ENTRY point through which
/// derivatives may propagate.
pub(crate) fn are_called(program: &Program, heads: &[&str]) -> bool {
    if program.units.iter().all(|u| entries(u).is_empty()) {
        return false;
    }
    let graph = CallGraph::of(program);
    // Through the unit's own variables, or those of its callees.
    let concerned = |u: &usize| {
        let below = graph.reached([*u]).into_iter();
        let mut all = below.flat_map(|u| program.units[u].symbols.iter());
        all.any(|(_, s)| differentiable(s) && (s.storage_class != StorageClass::Local || s.saved))
    };
    let with_entries = (0..program.units.len()).filter(|u| !entries(&program.units[*u]).is_empty());
    let names: HashSet<Name> = with_entries
        .filter(concerned)
        .flat_map(|u| entries(&program.units[u]))
        .collect();
    let reached = graph.reached(heads.iter().filter_map(|h| graph.index(h)));
    let called = |u: usize| graph.references(u).iter().any(|n| names.contains(n));
    reached.into_iter().any(called)
}

/// Returns the units with ENTRY points that are reachable from some heads, keep variables from call
/// to call, and will be split: for adjoints, and where such entry points are called.
pub fn kept_by_divided(program: &Program, heads: &[&str], adjoint: bool) -> HashSet<Name> {
    if !adjoint && !are_called(program, heads) {
        return HashSet::new();
    }
    let graph = CallGraph::of(program);
    let reached = graph.reached(heads.iter().filter_map(|h| graph.index(h)));
    let units = reached.into_iter().map(|u| &program.units[u]);
    let keeping = units.filter(|u| !entries(u).is_empty() && kept(u).is_some());
    keeping.map(|u| u.name.clone()).collect()
}

/// Whether the program has ENTRY statements.
pub(crate) fn has_entries(program: &Program) -> bool {
    program.units.iter().any(|u| !entries(u).is_empty())
}

/// Returns the names of a unit's ENTRY points.
fn entries(unit: &Unit) -> Vec<Name> {
    let others = unit.entry_points().skip(1);
    others.map(|e| e.name.clone()).collect()
}

/// Returns a local variable that keeps its value, if there is one.
fn kept(unit: &Unit) -> Option<SymId> {
    let everything = unit
        .specs
        .iter()
        .any(|s| matches!(&s.kind, SpecKind::Save(l) if l.is_empty()));
    let mut all = unit.symbols.iter();
    all.find(|(_, s)| {
        s.is_variable() && s.storage_class == StorageClass::Local && (s.saved || everything)
    })
    .map(|(id, _)| id)
}
