//! Checks that tangents and variables correspond one to one.
//!
//! Each variable has a derivative of its own. A derivative shared by two variables would hold the
//! value for one when the value for the other is needed, and of two derivatives of one variable
//! only one would be updated.

use super::Primals;
use crate::ir::{Class, ExprKind, SymId, Unit, for_each_reference, for_each_symbol};
use crate::resolve::EntryPoints;
use crate::storage::UnitStorage;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Checks one derivative. `primals` covers the unit and the units that it calls.
pub(super) fn check(
    unit: &Unit,
    primals: &Primals,
    callable: &EntryPoints,
    errors: &mut Vec<String>,
) {
    let Some(pairs) = primals.get(&unit.name) else {
        return;
    };
    let mut named: HashSet<SymId> = unit.args.iter().filter_map(|a| a.sym()).collect();
    for_each_symbol(&unit.body, &mut |s| {
        named.insert(s);
    });
    // A derivative that the unit does not mention has been replaced by another one.
    let pairs: BTreeSet<(SymId, SymId)> = pairs.iter().copied().collect();
    let pairs: Vec<(SymId, SymId)> = pairs.into_iter().filter(|p| named.contains(&p.0)).collect();
    let own = DerivativePairs {
        unit,
        storage: UnitStorage::of(unit),
        of: pairs.iter().copied().collect(),
        by: pairs.iter().map(|(d, p)| (*p, *d)).collect(),
    };
    own.one_to_one(&pairs, errors);
    own.storage(&pairs, errors);
    own.calls(primals, callable, errors);
}

/// The derivatives of a unit and their variables.
struct DerivativePairs<'u> {
    unit: &'u Unit,
    storage: UnitStorage,
    /// The variable of each derivative.
    of: HashMap<SymId, SymId>,
    /// The derivative of each variable.
    by: HashMap<SymId, SymId>,
}

impl DerivativePairs<'_> {
    fn name(&self, s: SymId) -> &str {
        &self.unit.symbols[s].name
    }

    fn say(&self, what: String, errors: &mut Vec<String>) {
        errors.push(format!("{}: {what}", self.unit.name));
    }

    /// Reports derivatives that belong to two variables, and variables with two derivatives.
    fn one_to_one(&self, pairs: &[(SymId, SymId)], errors: &mut Vec<String>) {
        for (d, p) in pairs {
            if let Some(last) = self.of.get(d)
                && last != p
            {
                let (a, b) = (self.name(*p), self.name(*last));
                self.say(
                    format!("{} holds the derivatives of {a} and {b}", self.name(*d)),
                    errors,
                );
            }
            if let Some(last) = self.by.get(p)
                && last != d
            {
                let (a, b) = (self.name(*d), self.name(*last));
                self.say(
                    format!("{a} and {b} are both the derivative of {}", self.name(*p)),
                    errors,
                );
            }
        }
    }

    /// Reports derivatives that share storage although their variables do not, and vice versa.
    fn storage(&self, pairs: &[(SymId, SymId)], errors: &mut Vec<String>) {
        // For some arrays, only the user knows the number of directions.
        let exact = |s: SymId| {
            let area = self.storage.range(s).map(|x| x.area);
            area.is_none_or(|a| self.storage.areas()[a].exact)
        };
        let mut differ = |(a, b): (SymId, SymId), (x, y): (SymId, SymId)| {
            // Each pair once.
            if a < b && !self.storage.overlap(x, y) && [a, x, y].into_iter().all(exact) {
                let (a, b, x, y) = (self.name(a), self.name(b), self.name(x), self.name(y));
                self.say(
                    format!("{a} and {b} share storage, but {x} and {y} do not"),
                    errors,
                );
            }
        };
        for (d, p) in pairs {
            for e in self.storage.overlapping(*d) {
                if let Some(q) = self.of.get(&e) {
                    differ((*d, e), (*p, *q));
                }
            }
            for q in self.storage.overlapping(*p) {
                if let Some(e) = self.by.get(&q) {
                    differ((*p, q), (*d, *e));
                }
            }
        }
    }

    /// Reports calls that pass a variable together with the derivative of another one.
    fn calls(&self, primals: &Primals, callable: &EntryPoints, errors: &mut Vec<String>) {
        for_each_reference(&self.unit.body, &mut |r| {
            let args = r.args;
            let callee = &self.unit.symbols[r.procedure];
            if !matches!(callee.class, Class::Subroutine | Class::Function) {
                return;
            }
            let (Some(pairs), Some(called)) =
                (primals.get(&callee.name), callable.get(&callee.name))
            else {
                return;
            };
            let actual = |dummy: SymId| {
                let position = called.args.iter().position(|a| a.sym() == Some(dummy))?;
                match &args.get(position)?.kind {
                    ExprKind::Var(s) | ExprKind::Element(s, _) => Some(*s),
                    _ => None,
                }
            };
            for (d, p) in pairs {
                let (Some(d), Some(p)) = (actual(*d), actual(*p)) else {
                    continue;
                };
                if let Some(of) = self.of.get(&d)
                    && *of != p
                    && self.by.contains_key(&p)
                    && !self.storage.overlap(*of, p)
                {
                    let what = format!(
                        "the call of {} passes {} for the derivative of {}",
                        callee.name,
                        self.name(d),
                        self.name(p)
                    );
                    self.say(what, errors);
                }
            }
        });
    }
}
