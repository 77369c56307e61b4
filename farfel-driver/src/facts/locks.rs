//! Assigns locks to subprograms: those that share state, directly or through their callees, take the same
//! lock.
//!
//! Subprograms with different COMMON blocks and saved variables can run at the same time. All files are one
//! state, since a unit number says nothing about the file behind it; and if code without source is called,
//! all state is one.
//!
//! A closure may take another lock while its caller holds one. Therefore all subprograms that call closures
//! have one lock, so that there can be no deadlock.

use super::{MemoryModel, state};
use farfel_lang::ir::{Name, Origin, Program, Unit};
use farfel_lang::storage::common_blocks;
use std::collections::{HashMap, HashSet};

/// State that threads cannot use at the same time.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum State {
    /// Files for input and output.
    Files,
    /// The lock that is held while closures run.
    Closures,
    /// Variables of derivatives. Which these are is unknown until the derivatives are computed.
    Derivatives,
    /// A COMMON block.
    Block(Name),
    /// A unit's own variables, and those it is joined to because of others.
    Unit(Name),
}

/// What the units of a program do that concerns others, apart from their variables.
#[derive(Default)]
pub(super) struct SharedUses {
    /// Units with input or output.
    pub files: HashSet<Name>,
    /// Units that call closures, themselves or in their callees.
    pub closures: HashSet<Name>,
    /// Whether some unit calls a procedure that is not in the program.
    pub unknown: bool,
}

/// Returns the numbers of the locks, from 0 on, of all units that share state.
pub(super) fn locks(
    program: &Program,
    shares: &HashSet<Name>,
    callees: &HashMap<Name, HashSet<Name>>,
    shared: &SharedUses,
    memory: MemoryModel,
) -> HashMap<Name, usize> {
    let sharing = || program.units.iter().filter(|u| shares.contains(&u.name));
    let one = memory.part
        || memory.all_static
        || shared.unknown
        || program.units.iter().any(state::is_opaque);
    if one {
        return sharing().map(|u| (u.name.clone(), 0)).collect();
    }
    let mut sets = LockSets::default();
    for unit in sharing() {
        let own = State::Unit(unit.name.clone());
        for other in uses(unit, shared) {
            sets.join(&own, &other);
        }
        let called = callees.get(&unit.name).into_iter().flatten();
        for callee in called.filter(|c| shares.contains(*c)) {
            sets.join(&own, &State::Unit(callee.clone()));
        }
    }
    // Numbered in the order of the program, so that the same program has the same locks.
    let mut numbers: HashMap<State, usize> = HashMap::new();
    let mut found = HashMap::new();
    for unit in sharing() {
        let root = sets.root(&State::Unit(unit.name.clone()));
        let next = numbers.len();
        let number = *numbers.entry(root).or_insert(next);
        found.insert(unit.name.clone(), number);
    }
    found
}

/// Returns the state that a unit itself shares with others.
fn uses(unit: &Unit, shared: &SharedUses) -> Vec<State> {
    let blocks = common_blocks(unit).into_iter();
    let mut found: Vec<State> = blocks.map(State::Block).collect();
    if shared.files.contains(&unit.name) {
        found.push(State::Files);
    }
    if shared.closures.contains(&unit.name) {
        found.push(State::Closures);
    }
    if unit.origin == Origin::Derivative {
        found.push(State::Derivatives);
    }
    found
}

/// Disjoint sets, each with a root.
#[derive(Default)]
struct LockSets {
    above: HashMap<State, State>,
}

impl LockSets {
    fn root(&self, of: &State) -> State {
        let mut at = of;
        while let Some(above) = self.above.get(at) {
            at = above;
        }
        at.clone()
    }

    fn join(&mut self, a: &State, b: &State) {
        let (a, b) = (self.root(a), self.root(b));
        if a != b {
            self.above.insert(a, b);
        }
    }
}
