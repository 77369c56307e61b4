//! Which procedures a dummy procedure can be, and the calls that result.

use crate::ir::{
    Arg, Expr, ExprKind, Name, Program, StorageClass, SymId, Unit, for_each_reference,
};
use crate::source::Span;
use std::collections::HashMap;

/// A procedure that a dummy procedure can be, and where it is first passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PossibleCallee {
    /// Its name.
    pub name: Name,
    /// The actual argument that passes it.
    pub passed: Span,
}

/// The calls of a program, including those of dummy procedures: found by following procedures as
/// actual arguments through all calls. Procedures passed by code outside of the program are not
/// known.
#[derive(Debug, Default)]
pub struct CallTargets {
    units: HashMap<Name, usize>,
    /// For each unit the possible procedures of each of its arguments, by position.
    dummies: Vec<Vec<Vec<PossibleCallee>>>,
    callees: Vec<Vec<usize>>,
    direct: Vec<Vec<usize>>,
}

/// What a unit, including everything nested in it, calls and passes.
#[derive(Default)]
struct UnitCalls {
    called: Vec<Name>,
    called_dummies: Vec<usize>,
    /// Named procedures passed to named procedures: the target, the callee, and the argument
    /// position.
    passed: Vec<(PossibleCallee, Name, usize)>,
    /// Dummy arguments passed on: the position of the dummy, the callee, and the argument position.
    passed_on: Vec<(usize, Name, usize)>,
    /// Procedures passed to dummy procedures: the position of the dummy, what is passed, and the
    /// argument position.
    passed_through: Vec<(usize, ProcedureArgument, usize)>,
}

/// A procedure as an actual argument.
enum ProcedureArgument {
    Named(PossibleCallee),
    Dummy(usize),
}

impl CallTargets {
    /// Follows procedures through the calls of a program whose names are resolved.
    pub fn of(program: &Program) -> Self {
        let mut units = HashMap::new();
        for (i, u) in program.units.iter().enumerate() {
            units.entry(u.name.clone()).or_insert(i);
        }
        let found: Vec<UnitCalls> = program
            .units
            .iter()
            .map(|unit| {
                let mut found = UnitCalls::default();
                let links = unit.symbols.ids().map(Some).collect();
                collect(unit, unit, links, &mut found);
                found
            })
            .collect();
        let mut dummies: Vec<Vec<Vec<PossibleCallee>>> = program
            .units
            .iter()
            .map(|u| vec![Vec::new(); u.args.len()])
            .collect();
        let mut open: Vec<(usize, usize, PossibleCallee)> = Vec::new();
        for f in &found {
            for (target, callee, position) in &f.passed {
                if let Some(u) = units.get(callee) {
                    open.push((*u, *position, target.clone()));
                }
            }
        }
        // Process in order, so that what comes first is passed first.
        open.reverse();
        while let Some((unit, position, target)) = open.pop() {
            let Some(known) = dummies[unit].get_mut(position) else {
                continue;
            };
            if known.iter().any(|k| k.name == target.name) {
                continue;
            }
            known.push(target.clone());
            for (dummy, callee, at) in &found[unit].passed_on {
                if *dummy == position
                    && let Some(u) = units.get(callee)
                {
                    open.push((*u, *at, target.clone()));
                }
            }
            for (called, passed, at) in &found[unit].passed_through {
                // The new target receives the procedures passed in this call, and what was called
                // before receives the new target if that is what is passed.
                if *called == position
                    && let Some(u) = units.get(&target.name)
                {
                    let all = match passed {
                        ProcedureArgument::Named(t) => std::slice::from_ref(t),
                        ProcedureArgument::Dummy(d) => {
                            dummies[unit].get(*d).map_or(&[][..], Vec::as_slice)
                        }
                    };
                    open.extend(all.iter().map(|t| (*u, *at, t.clone())));
                }
                if matches!(passed, ProcedureArgument::Dummy(d) if *d == position) {
                    let called = dummies[unit].get(*called).into_iter().flatten();
                    let called = called.filter_map(|c| units.get(&c.name));
                    open.extend(called.map(|u| (*u, *at, target.clone())));
                }
            }
        }
        let positions = |names: &mut dyn Iterator<Item = &Name>| {
            let mut list: Vec<usize> = names.filter_map(|n| units.get(n).copied()).collect();
            list.sort_unstable();
            list.dedup();
            list
        };
        let direct = found.iter().map(|f| positions(&mut f.called.iter()));
        let direct = direct.collect();
        let all = found.iter().enumerate().map(|(i, f)| {
            let dummies = f.called_dummies.iter().filter_map(|d| dummies[i].get(*d));
            let through = dummies.flatten().map(|t| &t.name);
            positions(&mut f.called.iter().chain(through))
        });
        let callees = all.collect();
        CallTargets {
            units,
            dummies,
            callees,
            direct,
        }
    }

    /// Returns the procedures that the dummy procedure at a position of a unit can be, in the order
    /// in which they are passed.
    pub fn of_dummy(&self, unit: &str, position: usize) -> &[PossibleCallee] {
        let unit = self.units.get(unit).and_then(|u| self.dummies.get(*u));
        unit.and_then(|u| u.get(position))
            .map_or(&[], Vec::as_slice)
    }

    /// Returns, for each unit, the units that it calls by name, ascending.
    pub fn direct(&self) -> &[Vec<usize>] {
        &self.direct
    }

    /// Returns, for each unit, the units that it may call, ascending.
    pub fn callees(&self) -> &[Vec<usize>] {
        &self.callees
    }
}

/// Collects the calls of a unit. `links`: for each symbol of `unit`, the symbol of `top` that it
/// refers to, if any.
fn collect(top: &Unit, unit: &Unit, links: Vec<Option<SymId>>, found: &mut UnitCalls) {
    let position = |s: SymId| {
        let s = links.get(s.0 as usize).copied().flatten()?;
        top.args.iter().position(|a| *a == Arg::Dummy(s))
    };
    let mut call = |callee: SymId, args: &[Expr]| {
        let s = &unit.symbols[callee];
        // A function that calls itself refers to its result.
        let global = match s.storage_class {
            StorageClass::Global => Some(&s.name),
            StorageClass::Result => Some(&unit.name),
            _ => None,
        };
        let passed = args.iter().enumerate().filter_map(|(i, a)| {
            let ExprKind::Var(v) = a.kind else {
                return None;
            };
            let actual = &unit.symbols[v];
            if !actual.class.is_procedure() {
                return None;
            }
            let named = || PossibleCallee {
                name: actual.name.clone(),
                passed: a.span,
            };
            let passed = match actual.storage_class {
                StorageClass::Global => ProcedureArgument::Named(named()),
                _ => ProcedureArgument::Dummy(position(v)?),
            };
            Some((passed, i))
        });
        let Some(name) = global else {
            if let Some(dummy) = position(callee) {
                found.called_dummies.push(dummy);
                found
                    .passed_through
                    .extend(passed.map(|(p, i)| (dummy, p, i)));
            }
            return;
        };
        found.called.push(name.clone());
        for (passed, i) in passed {
            match passed {
                ProcedureArgument::Named(t) => found.passed.push((t, name.clone(), i)),
                ProcedureArgument::Dummy(p) => found.passed_on.push((p, name.clone(), i)),
            }
        }
    };
    for_each_reference(&unit.body, &mut |r| {
        let s = &unit.symbols[r.procedure];
        if !r.function || s.class.is_procedure() || s.storage_class == StorageClass::Result {
            call(r.procedure, r.args);
        }
    });
    for nested in &unit.nested {
        let inner = nested
            .symbols
            .iter()
            .map(|(_, s)| match s.storage_class {
                StorageClass::Host(outer) => links.get(outer.0 as usize).copied().flatten(),
                _ => None,
            })
            .collect();
        collect(top, nested, inner, found);
    }
}
