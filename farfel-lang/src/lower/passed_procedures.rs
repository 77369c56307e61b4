//! Determines which procedures are passed to which dummy procedures.

use super::calls::{KnownProcedure, for_each_call, global};
use crate::callgraph::UnitIndex;
use crate::effects::procedure_dummies;
use crate::ir::{Expr, ExprKind, Name, Program, SymId, Unit};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// A dummy procedure: the index of its unit in the program, and its position among the arguments.
type Dummy = (usize, usize);

/// The procedures that calls pass to dummy procedures.
pub(super) struct PassedProcedures<'p> {
    program: &'p Program,
    /// The index of each unit with dummy procedures, and their positions.
    receivers: HashMap<&'p Name, (usize, Vec<usize>)>,
    /// The procedures, and the dummy procedures passed on, that each dummy procedure receives.
    to: BTreeMap<Dummy, Sources>,
    /// The arguments in calls of dummy procedures; the procedures called are not known yet.
    indirect: Vec<IndirectArgument>,
    /// The units with dummy procedures that are passed to code outside of the program.
    escaping: BTreeSet<usize>,
    /// The dummy procedures that receive a closure, which only copies specialized for it can pass.
    with_closures: BTreeSet<Dummy>,
}

#[derive(Default)]
struct Sources {
    constants: BTreeSet<KnownProcedure>,
    dummies: BTreeSet<Dummy>,
}

/// An argument in a call of a dummy procedure.
struct IndirectArgument {
    called: Dummy,
    position: usize,
    source: Source,
}

enum Source {
    Constant(KnownProcedure),
    Dummy(Dummy),
}

impl<'p> PassedProcedures<'p> {
    /// Collects the calls in the units for which `included` is set.
    pub fn of(program: &'p Program, included: &[bool]) -> Self {
        let mut receivers: HashMap<&Name, (usize, Vec<usize>)> = HashMap::new();
        for (i, u) in program.units.iter().enumerate() {
            let positions: Vec<usize> = procedure_dummies(u).map(|(p, _)| p).collect();
            if !positions.is_empty() {
                receivers.insert(&u.name, (i, positions));
            }
        }
        let mut found = PassedProcedures {
            program,
            receivers,
            to: BTreeMap::new(),
            indirect: Vec::new(),
            escaping: BTreeSet::new(),
            with_closures: BTreeSet::new(),
        };
        if !found.receivers.is_empty() {
            let index = UnitIndex::of(program);
            for (i, unit) in program
                .units
                .iter()
                .enumerate()
                .filter(|(i, _)| included[*i])
            {
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
            match KnownProcedure::of(&unit.symbols, s) {
                Some(c) => Some(Source::Constant(c)),
                None => unit.arg_position(s).map(|own| Source::Dummy((i, own))),
            }
        };
        if let Some(own) = unit.arg_position(callee) {
            let called = (i, own);
            for (position, a) in args.iter().enumerate() {
                if matches!(a.kind, ExprKind::Closure(..)) {
                    self.with_closures.insert(called);
                }
                self.indirect
                    .extend(source(a).map(|source| IndirectArgument {
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
        let Some((target, positions)) = self.receivers.get(name) else {
            if index.unit(self.program, name).is_none() {
                let passed = args.iter().filter_map(source);
                let escaping = passed.filter_map(|s| match s {
                    Source::Constant(c) => self.receiver(&c).map(|(unit, _)| *unit),
                    Source::Dummy(_) => None,
                });
                self.escaping.extend(escaping.collect::<Vec<_>>());
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
    fn receiver(&self, procedure: &KnownProcedure) -> Option<&(usize, Vec<usize>)> {
        match procedure {
            KnownProcedure::Global(name) => self.receivers.get(name),
            _ => None,
        }
    }

    /// Returns the procedures for which each dummy procedure, given as (unit, position), may stand.
    /// Those of the roots may stand for anything.
    pub fn values(
        &self,
        roots: &HashSet<Name>,
    ) -> BTreeMap<(Name, usize), BTreeSet<KnownProcedure>> {
        self.solve(roots)
            .into_iter()
            .map(|(dummy, values)| (self.named(dummy), values))
            .collect()
    }

    /// Returns the dummy procedures that receive different procedures from different calls, those
    /// that receive closures, those that pass theirs on to such dummy procedures, and those that stand for a
    /// procedure with such a dummy procedure.
    pub fn need_copies(&self, roots: &HashSet<Name>) -> HashSet<(Name, usize)> {
        let found = self.solve(roots);
        let mut open: Vec<Dummy> = found
            .iter()
            .filter(|(dummy, values)| values.len() > 1 || self.with_closures.contains(dummy))
            .map(|(dummy, _)| *dummy)
            .collect();
        let mut indirect: HashMap<Dummy, Vec<Dummy>> = HashMap::new();
        for t in &self.indirect {
            for target in found.get(&t.called).into_iter().flatten() {
                if let Some((unit, _)) = self.receiver(target) {
                    let sources = indirect.entry((*unit, t.position)).or_default();
                    // Only a call of a procedure that is known can call a copy of it.
                    sources.push(t.called);
                    if let Source::Dummy(from) = t.source {
                        sources.push(from);
                    }
                }
            }
        }
        let mut need_copies: BTreeSet<Dummy> = BTreeSet::new();
        while let Some(dummy) = open.pop() {
            if need_copies.insert(dummy) {
                open.extend(self.to.get(&dummy).iter().flat_map(|s| &s.dummies));
                open.extend(indirect.get(&dummy).into_iter().flatten());
            }
        }
        need_copies.into_iter().map(|d| self.named(d)).collect()
    }

    fn named(&self, (unit, position): Dummy) -> (Name, usize) {
        (self.program.units[unit].name.clone(), position)
    }

    fn solve(&self, roots: &HashSet<Name>) -> BTreeMap<Dummy, BTreeSet<KnownProcedure>> {
        let mut found = PossibleValues::default();
        for (i, unit) in self.program.units.iter().enumerate() {
            if roots.contains(&unit.name) || self.escaping.contains(&i) {
                for (p, _) in procedure_dummies(unit) {
                    found.add((i, p), [KnownProcedure::Outside]);
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
        let mut indirect: HashMap<Dummy, Vec<&IndirectArgument>> = HashMap::new();
        for t in &self.indirect {
            indirect.entry(t.called).or_default().push(t);
            if let Source::Dummy(from) = t.source {
                indirect.entry(from).or_default().push(t);
            }
        }
        while let Some(from) = found.open.pop() {
            let new = found.values.get(&from).cloned().unwrap_or_default();
            for to in handed_on.get(&from).into_iter().flatten() {
                found.add(*to, new.iter().cloned());
            }
            for t in indirect.get(&from).into_iter().flatten() {
                self.pass_through(t, &mut found);
            }
        }
        found.values
    }

    /// Adds the argument in a call of a dummy procedure to all procedures for which that may stand.
    fn pass_through(&self, t: &IndirectArgument, found: &mut PossibleValues) {
        let values = |d: &Dummy| found.values.get(d).cloned().unwrap_or_default();
        let passed = match &t.source {
            Source::Constant(c) => BTreeSet::from([c.clone()]),
            Source::Dummy(d) => values(d),
        };
        for called in values(&t.called) {
            match self.receiver(&called) {
                Some((unit, positions)) if positions.contains(&t.position) => {
                    found.add((*unit, t.position), passed.iter().cloned());
                }
                _ if called == KnownProcedure::Outside => {
                    for (unit, positions) in passed.iter().filter_map(|c| self.receiver(c)) {
                        let dummies = positions.iter().map(|p| (*unit, *p));
                        dummies.for_each(|d| found.add(d, [KnownProcedure::Outside]));
                    }
                }
                _ => {}
            }
        }
    }
}

/// The procedures for which dummy procedures may stand, as far as is known yet.
#[derive(Default)]
struct PossibleValues {
    values: BTreeMap<Dummy, BTreeSet<KnownProcedure>>,
    /// The dummy procedures with new entries that have not been propagated.
    open: Vec<Dummy>,
}

impl PossibleValues {
    fn add(&mut self, dummy: Dummy, new: impl IntoIterator<Item = KnownProcedure>) {
        let known = self.values.entry(dummy).or_default();
        let before = known.len();
        known.extend(new);
        if known.len() > before {
            self.open.push(dummy);
        }
    }
}
