//! Subprograms of a legalised program that derivatives call.

use farfel_lang::ir::{Name, Program, StorageClass, SymId, Unit, UnitKind, for_each_symbol};
use std::collections::{BTreeSet, HashSet};

/// The subprograms of a legalised program that differ from those of the original program.
pub struct CalledSubprograms<'a> {
    /// The legalised program.
    pub legal: &'a Program,
    /// Whether the original program does not have a subprogram of this name.
    pub added: &'a dyn Fn(&Name) -> bool,
    /// Whether the original program has a different subprogram of this name. Derivatives then call
    /// a copy.
    pub changed: &'a dyn Fn(&Name) -> bool,
}

impl CalledSubprograms<'_> {
    /// Adds the subprograms that derivatives call; the names of copies end in the suffix.
    pub fn add_to(&self, made: &mut Vec<Unit>, suffix: &str) {
        let copied = |of: &str| Name::from(format!("{of}_S{suffix}"));
        let mut done: HashSet<Name> = HashSet::new();
        let mut i = 0;
        while let Some(unit) = made.get(i) {
            let mut wanted = Vec::new();
            let mut added = Vec::new();
            for name in called(unit).collect::<Vec<_>>() {
                if (self.added)(&name) {
                    if made.iter().all(|u| u.name != name) {
                        added.push(name);
                    }
                    continue;
                }
                let Some(unit) = made.get_mut(i) else { break };
                // Generated units have names of their own.
                if (self.changed)(&name)
                    && let Some(s) = unit.symbols.find(&name)
                {
                    unit.symbols.rename(s, copied(&name));
                    wanted.push(name);
                }
            }
            for name in wanted {
                if let (true, Some(u)) = (done.insert(name.clone()), self.legal.unit(&name)) {
                    let mut copy = u.clone();
                    copy.name = copied(&name);
                    if let (UnitKind::Function, Some(result)) = (copy.kind, copy.result)
                        && copy.symbols[result].name == name
                    {
                        copy.symbols.rename(result, copied(&name));
                    }
                    made.push(copy);
                }
            }
            let added = added.into_iter().filter_map(|n| self.legal.unit(&n));
            made.extend(added.cloned());
            i += 1;
        }
    }
}

/// Returns the top-level procedures that a unit refers to.
pub(crate) fn called(unit: &Unit) -> impl Iterator<Item = Name> + '_ {
    let mut used: BTreeSet<SymId> = BTreeSet::new();
    for_each_symbol(&unit.body, &mut |s| {
        used.insert(s);
    });
    used.into_iter().filter_map(|s| {
        let s = &unit.symbols[s];
        (s.storage_class == StorageClass::Global && s.class.is_procedure()).then(|| s.name.clone())
    })
}
