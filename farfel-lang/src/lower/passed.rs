//! Determines which procedures are passed to which dummy procedures.

use super::calls::{Constant, for_each_call, global};
use crate::callgraph::UnitIndex;
use crate::effects::procedure_dummies;
use crate::ir::{Expr, ExprKind, Name, Program, SymId, Unit};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// A dummy procedure: the index of its unit in the program, and its position among the arguments.
type Dummy = (usize, usize);

/// The procedures that calls pass to dummy procedures.
pub(super) struct Passed<'p> {
    program: &'p Program,
    /// The index of each unit with dummy procedures, and their positions.
    takers: HashMap<&'p Name, (usize, Vec<usize>)>,
    /// The procedures, and the dummy procedures passed on, that each dummy procedure receives.
    to: BTreeMap<Dummy, Sources>,
    /// The arguments in calls of dummy procedures; the procedures called are not known yet.
    through: Vec<Through>,
    /// The units with dummy procedures that are passed to code outside of the program.
    leaving: BTreeSet<usize>,
    /// The dummy procedures that receive a closure, which only copies specialized for it can pass.
    follow: BTreeSet<Dummy>,
}

#[derive(Default)]
struct Sources {
    constants: BTreeSet<Constant>,
    dummies: BTreeSet<Dummy>,
}

/// An argument in a call of a dummy procedure.
struct Through {
    called: Dummy,
    position: usize,
    source: Source,
}

enum Source {
    Constant(Constant),
    Dummy(Dummy),
}

impl<'p> Passed<'p> {
    /// Collects the calls in the units for which `look` is set.
    pub fn of(program: &'p Program, look: &[bool]) -> Self {
        let mut takers: HashMap<&Name, (usize, Vec<usize>)> = HashMap::new();
        for (i, u) in program.units.iter().enumerate() {
            let positions: Vec<usize> = procedure_dummies(u).map(|(p, _)| p).collect();
            if !positions.is_empty() {
                takers.insert(&u.name, (i, positions));
            }
        }
        let mut found = Passed {
            program,
            takers,
            to: BTreeMap::new(),
            through: Vec::new(),
            leaving: BTreeSet::new(),
            follow: BTreeSet::new(),
        };
        if !found.takers.is_empty() {
            let index = UnitIndex::of(program);
            for (i, unit) in program.units.iter().enumerate().filter(|(i, _)| look[*i]) {
                for_each_call(&unit.body, &mut |callee, args| {
                    found.call(&index, (i, unit), callee, args);
                });
            }
        }
        found
    }

    fn call(&mut self, index: &UnitIndex, (i, unit): (usize, &Unit), callee: SymId, args: &[Expr]) {
        let source = |a: &Expr| {
            let ExprKind::Var(s) = a.kind else {
                return None;
            };
            match Constant::of(&unit.symbols, s) {
                Some(c) => Some(Source::Constant(c)),
                None => unit.arg_position(s).map(|own| Source::Dummy((i, own))),
            }
        };
        if let Some(own) = unit.arg_position(callee) {
            let called = (i, own);
            for (position, a) in args.iter().enumerate() {
                if matches!(a.kind, ExprKind::Closure(..)) {
                    self.follow.insert(called);
                }
                self.through.extend(source(a).map(|source| Through {
                    called,
                    position,
                    source,
                }));
            }
            return;
        }
        let Some(name) = global(&unit.symbols, callee) else {
            return;
        };
        let Some((target, positions)) = self.takers.get(name) else {
            if index.unit(self.program, name).is_none() {
                let passed = args.iter().filter_map(source);
                let leaving = passed.filter_map(|s| match s {
                    Source::Constant(c) => self.taker(&c).map(|(unit, _)| *unit),
                    Source::Dummy(_) => None,
                });
                self.leaving.extend(leaving.collect::<Vec<_>>());
            }
            return;
        };
        for p in positions {
            let Some(source) = args.get(*p).and_then(source) else {
                continue;
            };
            let sources = self.to.entry((*target, *p)).or_default();
            match source {
                Source::Constant(c) => sources.constants.insert(c),
                Source::Dummy(d) => sources.dummies.insert(d),
            };
        }
    }

    /// Returns the index and the dummy procedures of a procedure, if it is a unit that has some.
    fn taker(&self, procedure: &Constant) -> Option<&(usize, Vec<usize>)> {
        match procedure {
            Constant::Global(name) => self.takers.get(name),
            _ => None,
        }
    }

    /// Returns the procedures for which each dummy procedure, given as (unit, position), may stand.
    /// Those of the roots may stand for anything.
    pub fn values(&self, roots: &HashSet<Name>) -> BTreeMap<(Name, usize), BTreeSet<Constant>> {
        self.found(roots)
            .into_iter()
            .map(|(dummy, values)| (self.named(dummy), values))
            .collect()
    }

    /// Returns the dummy procedures that receive different procedures from different calls, those
    /// that receive closures, and those that pass theirs on to such dummy procedures.
    pub fn crowded(&self, roots: &HashSet<Name>) -> HashSet<(Name, usize)> {
        let found = self.found(roots);
        let mut open: Vec<Dummy> = found
            .iter()
            .filter(|(dummy, values)| values.len() > 1 || self.follow.contains(dummy))
            .map(|(dummy, _)| *dummy)
            .collect();
        let mut through: HashMap<Dummy, Vec<Dummy>> = HashMap::new();
        for t in &self.through {
            let Source::Dummy(from) = t.source else {
                continue;
            };
            for target in found.get(&t.called).into_iter().flatten() {
                if let Some((unit, _)) = self.taker(target) {
                    through.entry((*unit, t.position)).or_default().push(from);
                }
            }
        }
        let mut crowded: BTreeSet<Dummy> = BTreeSet::new();
        while let Some(dummy) = open.pop() {
            if crowded.insert(dummy) {
                open.extend(self.to.get(&dummy).iter().flat_map(|s| &s.dummies));
                open.extend(through.get(&dummy).into_iter().flatten());
            }
        }
        crowded.into_iter().map(|d| self.named(d)).collect()
    }

    fn named(&self, (unit, position): Dummy) -> (Name, usize) {
        (self.program.units[unit].name.clone(), position)
    }

    fn found(&self, roots: &HashSet<Name>) -> BTreeMap<Dummy, BTreeSet<Constant>> {
        let mut found = Found::default();
        for (i, unit) in self.program.units.iter().enumerate() {
            if roots.contains(&unit.name) || self.leaving.contains(&i) {
                for (p, _) in procedure_dummies(unit) {
                    found.add((i, p), [Constant::Outside]);
                }
            }
        }
        let mut handed_on: HashMap<Dummy, Vec<Dummy>> = HashMap::new();
        for (to, sources) in &self.to {
            found.add(*to, sources.constants.iter().cloned());
            for from in &sources.dummies {
                handed_on.entry(*from).or_default().push(*to);
            }
        }
        // The calls of each dummy procedure, and those that pass it on.
        let mut through: HashMap<Dummy, Vec<&Through>> = HashMap::new();
        for t in &self.through {
            through.entry(t.called).or_default().push(t);
            if let Source::Dummy(from) = t.source {
                through.entry(from).or_default().push(t);
            }
        }
        while let Some(from) = found.open.pop() {
            let new = found.values.get(&from).cloned().unwrap_or_default();
            for to in handed_on.get(&from).into_iter().flatten() {
                found.add(*to, new.iter().cloned());
            }
            for t in through.get(&from).into_iter().flatten() {
                self.pass_through(t, &mut found);
            }
        }
        found.values
    }

    /// Adds the argument in a call of a dummy procedure to all procedures for which that may stand.
    fn pass_through(&self, t: &Through, found: &mut Found) {
        let values = |d: &Dummy| found.values.get(d).cloned().unwrap_or_default();
        let passed = match &t.source {
            Source::Constant(c) => BTreeSet::from([c.clone()]),
            Source::Dummy(d) => values(d),
        };
        for called in values(&t.called) {
            match self.taker(&called) {
                Some((unit, positions)) if positions.contains(&t.position) => {
                    found.add((*unit, t.position), passed.iter().cloned());
                }
                _ if called == Constant::Outside => {
                    for (unit, positions) in passed.iter().filter_map(|c| self.taker(c)) {
                        let dummies = positions.iter().map(|p| (*unit, *p));
                        dummies.for_each(|d| found.add(d, [Constant::Outside]));
                    }
                }
                _ => {}
            }
        }
    }
}

/// The procedures for which dummy procedures may stand, as far as is known yet.
#[derive(Default)]
struct Found {
    values: BTreeMap<Dummy, BTreeSet<Constant>>,
    /// The dummy procedures with new entries that have not been propagated.
    open: Vec<Dummy>,
}

impl Found {
    fn add(&mut self, dummy: Dummy, new: impl IntoIterator<Item = Constant>) {
        let known = self.values.entry(dummy).or_default();
        let before = known.len();
        known.extend(new);
        if known.len() > before {
            self.open.push(dummy);
        }
    }
}
