//! Which procedures are passed to which dummy procedures.

use super::calls::{Constant, for_each_call, global};
use crate::effects::procedure_dummies;
use crate::ir::{ExprKind, Name, Program};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// A dummy procedure: the position of its unit in the program, and its own.
type Dummy = (usize, usize);

/// What calls pass to dummy procedures.
pub(super) struct Passed<'p> {
    program: &'p Program,
    /// To each dummy procedure: procedures, and those dummy procedures that are handed on.
    to: BTreeMap<Dummy, Sources>,
    /// Those that get a closure as an argument, which only copies that know them can pass.
    follow: BTreeSet<Dummy>,
}

#[derive(Default)]
struct Sources {
    constants: BTreeSet<Constant>,
    dummies: BTreeSet<Dummy>,
}

impl<'p> Passed<'p> {
    /// Looks at the calls of those units for which `look` holds.
    pub fn of(program: &'p Program, look: &[bool]) -> Self {
        let mut takers: HashMap<&Name, (usize, Vec<usize>)> = HashMap::new();
        for (i, u) in program.units.iter().enumerate() {
            let positions: Vec<usize> = procedure_dummies(u).map(|(p, _)| p).collect();
            if !positions.is_empty() {
                takers.insert(&u.name, (i, positions));
            }
        }
        let mut to: BTreeMap<Dummy, Sources> = BTreeMap::new();
        let mut follow = BTreeSet::new();
        if takers.is_empty() {
            return Passed {
                program,
                to,
                follow,
            };
        }
        for (i, unit) in program.units.iter().enumerate().filter(|(i, _)| look[*i]) {
            for_each_call(&unit.body, &mut |callee, args| {
                if let Some(own) = unit.arg_position(callee)
                    && args.iter().any(|a| matches!(a.kind, ExprKind::Closure(..)))
                {
                    follow.insert((i, own));
                }
                let target = global(&unit.symbols, callee).and_then(|n| takers.get(n));
                let Some((target, positions)) = target else {
                    return;
                };
                for p in positions {
                    let Some(ExprKind::Var(s)) = args.get(*p).map(|a| &a.kind) else {
                        continue;
                    };
                    let sources = to.entry((*target, *p)).or_default();
                    if let Some(c) = Constant::of(&unit.symbols, *s) {
                        sources.constants.insert(c);
                    } else if let Some(own) = unit.arg_position(*s) {
                        sources.dummies.insert((i, own));
                    }
                }
            });
        }
        Passed {
            program,
            to,
            follow,
        }
    }

    /// For every dummy procedure, as (unit, position), the procedures that it may stand
    /// for. Those of the roots may be anything.
    pub fn values(&self, roots: &HashSet<Name>) -> BTreeMap<(Name, usize), BTreeSet<Constant>> {
        self.found(roots)
            .into_iter()
            .map(|(dummy, values)| (self.named(dummy), values))
            .collect()
    }

    /// The dummy procedures that get different procedures from different calls, those that get
    /// closures, and those that hand theirs on to such.
    pub fn crowded(&self, roots: &HashSet<Name>) -> HashSet<(Name, usize)> {
        let mut open: Vec<Dummy> = self
            .found(roots)
            .into_iter()
            .filter(|(dummy, values)| values.len() > 1 || self.follow.contains(dummy))
            .map(|(dummy, _)| dummy)
            .collect();
        let mut crowded: BTreeSet<Dummy> = BTreeSet::new();
        while let Some(dummy) = open.pop() {
            if crowded.insert(dummy) {
                open.extend(self.to.get(&dummy).iter().flat_map(|s| &s.dummies));
            }
        }
        crowded.into_iter().map(|d| self.named(d)).collect()
    }

    fn named(&self, (unit, position): Dummy) -> (Name, usize) {
        (self.program.units[unit].name.clone(), position)
    }

    fn found(&self, roots: &HashSet<Name>) -> BTreeMap<Dummy, BTreeSet<Constant>> {
        let mut values: BTreeMap<Dummy, BTreeSet<Constant>> = BTreeMap::new();
        for (i, unit) in self.program.units.iter().enumerate() {
            if roots.contains(&unit.name) {
                for (p, _) in procedure_dummies(unit) {
                    values.entry((i, p)).or_default().insert(Constant::Outside);
                }
            }
        }
        let mut handed_on: HashMap<Dummy, Vec<Dummy>> = HashMap::new();
        for (to, sources) in &self.to {
            values
                .entry(*to)
                .or_default()
                .extend(sources.constants.iter().cloned());
            for from in &sources.dummies {
                handed_on.entry(*from).or_default().push(*to);
            }
        }
        let mut open: Vec<Dummy> = values.keys().copied().collect();
        while let Some(from) = open.pop() {
            let Some(targets) = handed_on.get(&from) else {
                continue;
            };
            let new = values.get(&from).cloned().unwrap_or_default();
            for to in targets {
                let known = values.entry(*to).or_default();
                let before = known.len();
                known.extend(new.iter().cloned());
                if known.len() > before {
                    open.push(*to);
                }
            }
        }
        values
    }
}
