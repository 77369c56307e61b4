//! Finds names that stand for procedures although nothing in their own unit shows it.
//!
//! `FUNCTION ARGMAX(F, X0, N)` only passes F on, and `CALL EQLBRM(GMBIGA, …)` names a function of
//! the program without EXTERNAL. Both become clear from the procedures that receive them: a fixed
//! point over the arguments of all calls, in both directions. A call of a dummy procedure counts as
//! a call of all procedures for which it may stand.

use crate::diagnostic::{Diagnostic, any_errors, rules};
use crate::ir::{
    Class, ExprKind, Name, Program, StorageClass, SymId, Type, Unit, UnitKind, for_each_reference,
};
use std::collections::{BTreeSet, HashMap, HashSet};

/// A symbol of one unit, as (index of the unit in textual order, symbol).
type Root = (usize, SymId);

/// The facts about a unit that the fixed point requires.
struct UnitFacts {
    parent: Option<usize>,
    /// The dummy arguments of each of its entry points.
    args: Vec<Vec<Option<SymId>>>,
    /// Its links to its hosts.
    host: HashMap<SymId, SymId>,
    nested: HashMap<Name, EntryIndex>,
    calls: Vec<Call>,
    procedures: Vec<(SymId, Class)>,
    /// Its arrays, which never become procedures, whatever is passed for them.
    arrays: Vec<SymId>,
}

/// An entry point: the index of its unit, and its index within the unit.
type EntryIndex = (usize, usize);

struct Call {
    callee: Named,
    /// Actual arguments that are plain names.
    actuals: Vec<Option<Named>>,
}

/// A name in a unit.
struct Named {
    sym: SymId,
    name: Name,
    storage_class: StorageClass,
}

impl Named {
    fn of(unit: &Unit, sym: SymId) -> Self {
        let symbol = &unit.symbols[sym];
        Named {
            sym,
            name: symbol.name.clone(),
            storage_class: symbol.storage_class.clone(),
        }
    }

    /// Whether it may be a dummy argument, here or in a host.
    fn is_dummy(&self) -> bool {
        let class = &self.storage_class;
        matches!(class, StorageClass::Dummy | StorageClass::Host(_))
    }
}

/// Marks the names that are found to stand for procedures as procedures. Adds the indices of
/// top-level units with errors to `faulty`.
pub(super) fn resolve(
    program: &mut Program,
    faulty: &mut HashSet<usize>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let mut facts = Vec::new();
    let mut globals = HashMap::new();
    for unit in &program.units {
        let index = collect(unit, None, &mut facts);
        let points = unit.entry_points().enumerate();
        globals.extend(points.map(|(i, e)| (e.name.clone(), (index, i))));
    }
    let found = fixed_point(&facts, &globals);
    let signatures: HashMap<Name, (UnitKind, Option<Type>)> = program
        .units
        .iter()
        .map(|u| {
            (
                u.name.clone(),
                (u.kind, u.result.and_then(|r| u.symbols[r].ty)),
            )
        })
        .collect();
    let mut next = 0;
    for (i, unit) in program.units.iter_mut().enumerate() {
        let before = diagnostics.len();
        apply(unit, &mut next, &facts, &found, &signatures, diagnostics);
        if any_errors(&diagnostics[before..]) {
            faulty.insert(i);
        }
    }
}

fn collect(unit: &Unit, parent: Option<usize>, facts: &mut Vec<UnitFacts>) -> usize {
    let index = facts.len();
    let mut calls = Vec::new();
    let mut call = |callee: SymId, args: &[crate::ir::Expr]| {
        let s = &unit.symbols[callee];
        if s.class.is_procedure() || s.storage_class == StorageClass::Result {
            let actuals = args
                .iter()
                .map(|a| match a.kind {
                    ExprKind::Var(v) => Some(Named::of(unit, v)),
                    _ => None,
                })
                .collect();
            calls.push(Call {
                callee: Named::of(unit, callee),
                actuals,
            });
        }
    };
    for_each_reference(&unit.body, &mut |r| call(r.procedure, r.args));
    let host = unit
        .symbols
        .iter()
        .filter_map(|(id, s)| match s.storage_class {
            StorageClass::Host(h) => Some((id, h)),
            _ => None,
        })
        .collect();
    let procedures = unit
        .symbols
        .iter()
        .filter(|(_, s)| s.class.is_procedure())
        .map(|(id, s)| (id, s.class.clone()))
        .collect();
    let arrays = unit
        .symbols
        .iter()
        .filter(|(_, s)| s.class == Class::Variable && s.is_array())
        .map(|(id, _)| id)
        .collect();
    facts.push(UnitFacts {
        parent,
        arrays,
        args: unit
            .entry_points()
            .map(|e| e.args.iter().map(|a| a.sym()).collect())
            .collect(),
        host,
        nested: HashMap::new(),
        calls,
        procedures,
    });
    for n in &unit.nested {
        let child = collect(n, Some(index), facts);
        let points = n.entry_points().enumerate();
        let points = points.map(|(i, e)| (e.name.clone(), (child, i)));
        facts[index].nested.extend(points);
    }
    index
}

/// Returns the symbol at the end of a chain of links.
fn root(facts: &[UnitFacts], mut at: Root) -> Root {
    while let (Some(h), Some(p)) = (facts[at.0].host.get(&at.1), facts[at.0].parent) {
        at = (p, *h);
    }
    at
}

/// The procedures for which the names of a program may stand.
struct PossibleProcedures<'a> {
    facts: &'a [UnitFacts],
    globals: &'a HashMap<Name, EntryIndex>,
    /// The procedures for which each dummy procedure may stand.
    dummies: HashMap<Root, BTreeSet<EntryIndex>>,
}

impl PossibleProcedures<'_> {
    /// Returns the entry points for which a name in a unit may stand, as far as the text shows.
    fn of(&self, unit: usize, named: &Named) -> Vec<EntryIndex> {
        let one = |found: Option<&EntryIndex>| found.copied().into_iter().collect();
        let global = self.globals.get(&named.name);
        match named.storage_class {
            StorageClass::Global => one(global),
            // A name that is passed as a procedure may not be known to be global yet.
            StorageClass::Local => one(self.facts[unit].nested.get(&named.name).or(global)),
            // A function that calls itself.
            StorageClass::Result => vec![(unit, 0)],
            StorageClass::Dummy | StorageClass::Host(_) => {
                let at = root(self.facts, (unit, named.sym));
                match self.dummies.get(&at) {
                    Some(all) => all.iter().copied().collect(),
                    None => one(self.facts[at.0].nested.get(&named.name)),
                }
            }
            StorageClass::Common(_) | StorageClass::Pointee(_) => Vec::new(),
        }
    }

    /// Adds the procedures for which an actual argument may stand to those of a dummy procedure.
    /// Returns whether any is new.
    fn passed(&mut self, dummy: Root, unit: usize, actual: &Named) -> bool {
        let targets = self.of(unit, actual);
        if targets.is_empty() {
            return false;
        }
        let known = self.dummies.entry(dummy).or_default();
        let before = known.len();
        known.extend(targets);
        known.len() > before
    }
}

fn fixed_point(facts: &[UnitFacts], globals: &HashMap<Name, EntryIndex>) -> HashMap<Root, Class> {
    let mut found: HashMap<Root, Class> = HashMap::new();
    for (i, f) in facts.iter().enumerate() {
        for (s, class) in &f.procedures {
            found.insert(root(facts, (i, *s)), class.clone());
        }
    }
    let arrays: HashSet<Root> = (0..facts.len())
        .flat_map(|i| facts[i].arrays.iter().map(move |s| (i, *s)))
        .map(|at| root(facts, at))
        .collect();
    let mut possible = PossibleProcedures {
        facts,
        globals,
        dummies: HashMap::new(),
    };
    loop {
        let before = found.len();
        let mut more = false;
        for (i, f) in facts.iter().enumerate() {
            for call in &f.calls {
                for target in possible.of(i, &call.callee) {
                    let dummies = &facts[target.0].args[target.1];
                    // A solver calls what it gets in several ways, of which the user chooses one: DDASPK calls
                    // JAC with seven arguments or with fourteen, of which the first is a procedure. Calls of
                    // others with another number of arguments say nothing about this procedure's.
                    if call.callee.is_dummy() && call.actuals.len() != dummies.len() {
                        continue;
                    }
                    for (actual, dummy) in call.actuals.iter().zip(dummies) {
                        let (Some(actual), Some(dummy)) = (actual, dummy) else {
                            continue;
                        };
                        let a = root(facts, (i, actual.sym));
                        let d = root(facts, (target.0, *dummy));
                        // One wrong argument would turn everything ever passed along with it into
                        // procedures.
                        if arrays.contains(&a) || arrays.contains(&d) {
                            continue;
                        }
                        if let Some(class) = found.get(&d).cloned() {
                            found.entry(a).or_insert(class);
                        } else if let Some(class) = found.get(&a).cloned() {
                            found.insert(d, class);
                        } else {
                            continue;
                        }
                        more |= possible.passed(d, i, actual);
                    }
                }
            }
        }
        if found.len() == before && !more {
            return found;
        }
    }
}

fn apply(
    unit: &mut Unit,
    next: &mut usize,
    facts: &[UnitFacts],
    found: &HashMap<Root, Class>,
    signatures: &HashMap<Name, (UnitKind, Option<Type>)>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let index = *next;
    *next += 1;
    let ids: Vec<SymId> = unit.symbols.ids().collect();
    for id in ids {
        let s = &unit.symbols[id];
        let at = root(facts, (index, id));
        let Some(class) = found.get(&at) else {
            continue;
        };
        if s.class != Class::Variable
            || s.is_array()
            || matches!(
                s.storage_class,
                StorageClass::Result | StorageClass::Common(_) | StorageClass::Pointee(_)
            )
        {
            continue;
        }
        let of_dummy = facts[at.0].args.iter().flatten().any(|a| *a == Some(at.1));
        let s = &mut unit.symbols[id];
        if of_dummy {
            s.class = class.clone();
            continue;
        }
        // An undeclared name that is passed as a procedure.
        s.storage_class = StorageClass::Global;
        match signatures.get(&s.name) {
            Some((kind, ty)) => {
                s.class = if *kind == UnitKind::Function {
                    Class::Function
                } else {
                    Class::Subroutine
                };
                s.ty = *ty;
            }
            None if at.0 == index => {
                s.class = class.clone();
                let callable =
                    |k: &UnitKind| matches!(k, UnitKind::Function | UnitKind::Subroutine);
                let known = signatures
                    .iter()
                    .filter(|(_, (k, _))| callable(k))
                    .map(|(n, _)| n.as_str());
                let help = match crate::spelling::closest(&s.name, known) {
                    _ if crate::intrinsics::Intrinsic::find(&s.name).is_some() => {
                        format!("write INTRINSIC {0} for the intrinsic function", s.name)
                    }
                    Some(k) => format!("did you mean {k}?"),
                    None => format!(
                        "define {0}, or write EXTERNAL {0} if a library provides it",
                        s.name
                    ),
                };
                diagnostics.push(
                    Diagnostic::warning(
                        &rules::UNKNOWN_PROCEDURE,
                        s.span,
                        format!(
                            "{} is passed as a procedure, but no subprogram has this name",
                            s.name
                        ),
                    )
                    .help(help),
                );
            }
            None => s.class = class.clone(),
        }
    }
    for n in &mut unit.nested {
        apply(n, next, facts, found, signatures, diagnostics);
    }
}
