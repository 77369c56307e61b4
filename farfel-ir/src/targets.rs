//! Which procedures a dummy procedure can be, and who calls whom through them.

use crate::ir::{Arg, Expr, ExprKind, Name, Place, Program, SymId, Unit, for_each_reference};
use crate::source::Span;
use std::collections::HashMap;

/// A procedure that a dummy procedure can be, and where it is passed first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Its name.
    pub name: Name,
    /// The actual argument that names it.
    pub passed: Span,
}

/// The calls of a program, those of dummy procedures included: found by following actual
/// procedures through all calls. What code outside of the program passes is not known.
#[derive(Debug, Default)]
pub struct Targets {
    units: HashMap<Name, usize>,
    /// For each unit, by the positions of its arguments.
    dummies: Vec<Vec<Vec<Target>>>,
    callees: Vec<Vec<usize>>,
    direct: Vec<Vec<usize>>,
}

/// What a unit, with all that is nested in it, calls and passes.
#[derive(Default)]
struct Found {
    called: Vec<Name>,
    called_dummies: Vec<usize>,
    /// A named procedure that is passed: to whom, as which argument.
    passed: Vec<(Target, Name, usize)>,
    /// A dummy argument, by position, that is passed on.
    passed_on: Vec<(usize, Name, usize)>,
    /// What calls of dummy arguments, by position, pass.
    passed_through: Vec<(usize, Passed, usize)>,
}

/// A procedure that is passed.
enum Passed {
    Named(Target),
    Dummy(usize),
}

impl Targets {
    /// Of a program whose names are resolved.
    pub fn of(program: &Program) -> Self {
        let mut units = HashMap::new();
        for (i, u) in program.units.iter().enumerate() {
            units.entry(u.name.clone()).or_insert(i);
        }
        let found: Vec<Found> = program
            .units
            .iter()
            .map(|unit| {
                let mut found = Found::default();
                let links = unit.symbols.ids().map(Some).collect();
                collect(unit, unit, links, &mut found);
                found
            })
            .collect();
        let mut dummies: Vec<Vec<Vec<Target>>> = program
            .units
            .iter()
            .map(|u| vec![Vec::new(); u.args.len()])
            .collect();
        let mut open: Vec<(usize, usize, Target)> = Vec::new();
        for f in &found {
            for (target, callee, position) in &f.passed {
                if let Some(u) = units.get(callee) {
                    open.push((*u, *position, target.clone()));
                }
            }
        }
        // What comes first is passed first.
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
                // What it calls now gets what is passed, and what was called gets it.
                if *called == position
                    && let Some(u) = units.get(&target.name)
                {
                    let all = match passed {
                        Passed::Named(t) => std::slice::from_ref(t),
                        Passed::Dummy(d) => dummies[unit].get(*d).map_or(&[][..], Vec::as_slice),
                    };
                    open.extend(all.iter().map(|t| (*u, *at, t.clone())));
                }
                if matches!(passed, Passed::Dummy(d) if *d == position) {
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
        Targets {
            units,
            dummies,
            callees,
            direct,
        }
    }

    /// What the dummy procedure at a position of a unit can be, in the order of passing.
    pub fn of_dummy(&self, unit: &str, position: usize) -> &[Target] {
        let unit = self.units.get(unit).and_then(|u| self.dummies.get(*u));
        unit.and_then(|u| u.get(position))
            .map_or(&[], Vec::as_slice)
    }

    /// For each unit the units that it calls by their names, ascending.
    pub fn direct(&self) -> &[Vec<usize>] {
        &self.direct
    }

    /// For each unit the units that it may call, ascending.
    pub fn callees(&self) -> &[Vec<usize>] {
        &self.callees
    }
}

/// `links`: for each symbol of `unit` that of `top` that it means, if it means one.
fn collect(top: &Unit, unit: &Unit, links: Vec<Option<SymId>>, found: &mut Found) {
    let position = |s: SymId| {
        let s = links.get(s.0 as usize).copied().flatten()?;
        top.args.iter().position(|a| *a == Arg::Dummy(s))
    };
    let mut call = |callee: SymId, args: &[Expr]| {
        let s = &unit.symbols[callee];
        // A function that calls itself names its result.
        let global = match s.place {
            Place::Global => Some(&s.name),
            Place::Result => Some(&unit.name),
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
            let named = || Target {
                name: actual.name.clone(),
                passed: a.span,
            };
            let passed = match actual.place {
                Place::Global => Passed::Named(named()),
                _ => Passed::Dummy(position(v)?),
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
                Passed::Named(t) => found.passed.push((t, name.clone(), i)),
                Passed::Dummy(p) => found.passed_on.push((p, name.clone(), i)),
            }
        }
    };
    for_each_reference(&unit.body, &mut |r| {
        let s = &unit.symbols[r.procedure];
        if !r.function || s.class.is_procedure() || s.place == Place::Result {
            call(r.procedure, r.args);
        }
    });
    for nested in &unit.nested {
        let inner = nested
            .symbols
            .iter()
            .map(|(_, s)| match s.place {
                Place::Host(outer) => links.get(outer.0 as usize).copied().flatten(),
                _ => None,
            })
            .collect();
        collect(top, nested, inner, found);
    }
}
