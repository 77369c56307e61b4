//! Decides which units are compiled together.
//!
//! gfortran inlines calls whose callee it can see, so a subprogram should be in one file with its callees;
//! but a change should not recompile everything, and files are compiled in parallel. Therefore each exported
//! subprogram has an object file of its own, with everything that only it reaches. A unit that several of
//! them reach is copied into each if it is short and keeps no state; otherwise it is in an object file that
//! they share. A small library is one object.
//!
//! Derivatives are generated separately for each object: they belong to whoever requests them.

use crate::facts::keeps_state;
use crate::staged::References;
use farfel_lang::ir::{Name, Program, Request, SpecKind, Unit, UnitKind, walk_block};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Libraries with fewer statements are one object: splitting them gains nothing.
pub(crate) const SMALL_LIBRARY: usize = 400;

/// Subprograms with at most this many statements are copied to their callers.
pub(crate) const SMALL_UNIT: usize = 40;

/// The contents of one object file. All units are given by their positions in the program, in ascending
/// order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group {
    /// A name that is unique among the groups and usable as a file name: that of the first exported
    /// subprogram or else, after `shared-`, that of the first unit.
    pub name: String,
    /// The subprograms in this object that Rust calls.
    pub exports: Vec<Name>,
    /// The units that may be compiled into it, including units that only the AD tool reads.
    pub units: Vec<usize>,
    /// Those of `units` that are called by other objects or by C.
    pub shared: Vec<usize>,
    /// The derivatives that it needs, as positions in the list of requests.
    pub requests: Vec<usize>,
    /// All units whose text determines the object: `units`, and the units from which the derivatives are
    /// made.
    pub reads: Vec<usize>,
    /// The units of other objects that it calls. Only their interface matters, not their text.
    pub calls: Vec<usize>,
    /// Whether this is the only object.
    pub alone: bool,
}

/// The name of the object that contains everything.
pub(super) const WHOLE: &str = "farfel";

/// Returns one object that contains everything.
pub(crate) fn whole(program: &Program, requests: &[Request], exports: &[Name]) -> Group {
    let all: Vec<usize> = (0..program.units.len()).collect();
    Group {
        name: WHOLE.into(),
        exports: exports.to_vec(),
        units: all.clone(),
        shared: Vec::new(),
        requests: (0..requests.len()).collect(),
        reads: all,
        calls: Vec::new(),
        alone: true,
    }
}

/// Divides a library into objects. `exports` are the subprograms that Rust calls, `by_name` those that C
/// calls. `part` means that this is a part of a larger library, which is not small.
pub(crate) fn groups(
    program: &Program,
    requests: &[Request],
    references: &References,
    exports: &[Name],
    by_name: &BTreeSet<Name>,
    part: bool,
) -> Vec<Group> {
    let units = &program.units;
    let place: HashMap<&Name, usize> = units
        .iter()
        .enumerate()
        .map(|(i, u)| (&u.name, i))
        .collect();
    let called_by_name: BTreeSet<usize> = by_name
        .iter()
        .filter_map(|n| place.get(n).copied())
        .collect();
    let mut roots: Vec<usize> = Vec::new();
    // An ENTRY point is in the same object as its unit.
    let points = units.iter().enumerate();
    let points = points.flat_map(|(i, u)| u.entry_points().map(move |e| (e.name, i)));
    let points: HashMap<&Name, usize> = points.collect();
    for i in exports.iter().filter_map(|n| points.get(n).copied()) {
        if !roots.contains(&i) {
            roots.push(i);
        }
    }
    let more = called_by_name.iter().filter(|i| !roots.contains(i));
    let more: Vec<usize> = more.copied().collect();
    roots.extend(more);
    let initialised = initialised(program);
    let size: usize = units.iter().map(statements).sum();
    if size <= SMALL_LIBRARY && !part {
        let mut all = whole(program, requests, exports);
        all.shared.extend(called_by_name);
        return vec![all];
    }

    // The roots that reach each unit.
    let mut reaching: Vec<Vec<usize>> = vec![Vec::new(); units.len()];
    for (r, root) in roots.iter().enumerate() {
        for unit in references.reached([*root]) {
            reaching[unit].push(r);
        }
    }
    let copied = |i: usize| {
        reaching[i].len() > 1
            && !called_by_name.contains(&i)
            && statements(&units[i]) <= SMALL_UNIT
            && !keeps_state(&units[i])
            && commons(&units[i]).all(|c| !initialised.contains_key(c))
    };
    let alone: Vec<usize> = (0..roots.len()).collect();
    // Units reached from the same roots are together. A unit reached from only one root is with that root.
    let mut clusters: BTreeMap<&[usize], Vec<usize>> = BTreeMap::new();
    for (i, roots) in reaching.iter().enumerate() {
        if !roots.is_empty() && !copied(i) {
            clusters.entry(roots).or_default().push(i);
        }
    }
    for (r, root) in roots.iter().enumerate() {
        if copied(*root) {
            // Rust needs its own copy.
            clusters.entry(&alone[r..=r]).or_default();
        }
    }

    // A BLOCK DATA unit is linked only together with something that is called, so it is put where its COMMON
    // is used, and all users of that COMMON stay together.
    let keys: Vec<&[usize]> = clusters.keys().copied().collect();
    let mut together = UnionFind::new(keys.len());
    let mut first_user: HashMap<usize, usize> = HashMap::new();
    for (c, members) in clusters.values().enumerate() {
        for name in members.iter().flat_map(|i| commons(&units[*i])) {
            if let Some(block) = initialised.get(name) {
                together.join(c, *first_user.entry(*block).or_insert(c));
            }
        }
    }
    let mut sets: BTreeMap<usize, Vec<&[usize]>> = BTreeMap::new();
    for (c, roots) in keys.iter().enumerate() {
        sets.entry(together.first(c)).or_default().push(roots);
    }

    let mut groups: Vec<Group> = sets
        .into_values()
        .map(|set| {
            let mut own: BTreeSet<usize> = set
                .iter()
                .flat_map(|r| clusters[r].iter().copied())
                .collect();
            let data: Vec<usize> = own
                .iter()
                .flat_map(|i| commons(&units[*i]))
                .filter_map(|c| initialised.get(c).copied())
                .collect();
            own.extend(data);
            // Roots that are copied into other objects have their own copy here.
            let only: BTreeSet<usize> = set.iter().filter(|r| r.len() == 1).map(|r| r[0]).collect();
            own.extend(only.iter().map(|r| roots[*r]).filter(|i| copied(*i)));
            group(own, &roots, units, references, &copied)
        })
        .collect();
    groups.sort_by(|a, b| a.units.cmp(&b.units));
    // The units that other objects call.
    let wanted: BTreeSet<usize> = groups
        .iter()
        .flat_map(|g| g.calls.iter().copied())
        .collect();
    for g in &mut groups {
        g.shared = g
            .units
            .iter()
            .copied()
            .filter(|i| (wanted.contains(i) || called_by_name.contains(i)) && !copied(*i))
            .collect();
        let names = g.exports.iter().filter_map(|n| place.get(n));
        let points = names.flat_map(|i| units[*i].entry_points().map(|e| e.name.clone()));
        g.exports = points.filter(|n| exports.contains(n)).collect();
    }
    groups
}

/// Completes a group from the units that are certain to be in it.
fn group(
    own: BTreeSet<usize>,
    roots: &[usize],
    units: &[Unit],
    references: &References,
    copied: &dyn Fn(usize) -> bool,
) -> Group {
    // Calls add short units.
    let mut members = own.clone();
    let mut calls = BTreeSet::new();
    let mut requests = BTreeSet::new();
    let mut reads = BTreeSet::new();
    let mut open: Vec<usize> = members.iter().copied().collect();
    while let Some(i) = open.pop() {
        for r in references.requests(i) {
            if requests.insert(*r) {
                // The derivatives are made from all of these units and are private to this object. The units
                // that they call may be elsewhere.
                for below in references.reached([references.heads[*r]]) {
                    reads.insert(below);
                    requests.extend(references.requests(below));
                    if members.contains(&below) {
                        continue;
                    }
                    if copied(below) {
                        members.insert(below);
                        open.push(below);
                    } else {
                        calls.insert(below);
                    }
                }
            }
        }
        for callee in references.callees(i) {
            if members.contains(callee) {
                continue;
            }
            if copied(*callee) {
                members.insert(*callee);
                open.push(*callee);
            } else {
                calls.insert(*callee);
            }
        }
    }
    reads.extend(&members);
    let exported: Vec<usize> = roots.iter().copied().filter(|r| own.contains(r)).collect();
    let first = exported.first().or(members.first()).copied();
    let first = first.map_or_else(String::new, |i| units[i].name.to_ascii_lowercase());
    Group {
        name: match exported.is_empty() {
            true => format!("shared-{first}"),
            false => first,
        },
        exports: exported.iter().map(|i| units[*i].name.clone()).collect(),
        units: members.into_iter().collect(),
        shared: Vec::new(),
        requests: requests.into_iter().collect(),
        reads: reads.into_iter().collect(),
        calls: calls.into_iter().collect(),
        alone: false,
    }
}

/// A partition of several things into those that belong together (union-find).
pub(crate) struct UnionFind(Vec<usize>);

impl UnionFind {
    /// Each thing is on its own.
    pub(crate) fn new(count: usize) -> UnionFind {
        UnionFind((0..count).collect())
    }

    /// Returns the first of those that belong together with this one.
    pub(crate) fn first(&self, mut one: usize) -> usize {
        while self.0[one] != one {
            one = self.0[one];
        }
        one
    }

    pub(crate) fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.first(one), self.first(other));
        self.0[one.max(other)] = one.min(other);
    }
}

/// Returns the number of statements in a unit.
fn statements(unit: &Unit) -> usize {
    let mut count = 0;
    walk_block(&unit.body, &mut |_| count += 1);
    count
}

/// Returns the COMMON blocks of a unit.
fn commons(unit: &Unit) -> impl Iterator<Item = &Name> {
    unit.specs.iter().flat_map(|s| match &s.kind {
        SpecKind::Common(blocks) => blocks.iter().map(|(name, _)| name).collect(),
        _ => Vec::new(),
    })
}

/// Returns the COMMON blocks in BLOCK DATA units, each with its unit.
fn initialised(program: &Program) -> HashMap<&Name, usize> {
    let mut found = HashMap::new();
    for (i, unit) in program.units.iter().enumerate() {
        if unit.kind == UnitKind::BlockData {
            found.extend(commons(unit).map(|c| (c, i)));
        }
    }
    found
}
