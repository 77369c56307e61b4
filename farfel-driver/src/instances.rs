//! State by instance: COMMON and saved variables are kept in memory that is passed to each call.
//!
//! This is a pass over the final program of a library, after [`bounds_checks`](crate::bounds_checks) and
//! [`ends`](crate::ends), if the settings ask for it. Every subprogram that has state, or calls one that has,
//! receives the memory as its first argument; each variable becomes a Cray pointee into it. Nothing else
//! changes: EQUIVALENCE, COMMON blocks that subprograms divide differently, and loop variables in COMMON all
//! work as before, and gfortran's code is as good as that for COMMON.
//!
//! ```text
//! SUBROUTINE STEP(DT)                 SUBROUTINE STEP(FARFEL_STATE, DT)
//! COMMON /FLOW/ U(100), T             INTEGER*1 FARFEL_STATE(*)
//!                                     POINTER (P_U, U), (P_T, T)
//!                                     P_U = LOC(FARFEL_STATE(1))
//!                                     P_T = LOC(FARFEL_STATE(401))
//! T = T + DT                          T = T + DT
//! ```
//!
//! COMMON blocks come first, then the variables of each unit. Initial values stay static, in a subroutine for
//! each unit that has some; [`START`] calls these for new memory. Variables that nothing assigns, such as
//! tables in DATA, stay static, too.

#[cfg(test)]
mod tests;

use crate::calls::{callees, entries, for_each_passed, spread};
use crate::facts::{initialised, is_opaque, kept};
use crate::support::{Support, has_another, intrinsic};
use farfel_lang::Span;
use farfel_lang::effects::{Assigned, DummyAssumptions};
use farfel_lang::ir::{
    Arg, Attribute, Block, Class, Dim, Entity, Expr, ExprKind, Name, Origin, Program, Spec,
    SpecKind, Stmt, StmtKind, StorageClass, SymId, Symbol, Type, Unit, UnitKind, for_each_symbol,
    walk_block_mut,
};
use farfel_lang::storage::{Constants, UnitStorage, common_blocks};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// The subroutine that returns the size of the state in bytes.
pub(crate) const BYTES: &str = "FARFEL_STATE_BYTES";

/// The subroutine that stores the initial values in zeroed memory.
pub(crate) const START: &str = "FARFEL_STATE_START";

/// The name of the argument with the memory.
const STATE: &str = "FARFEL_STATE";

/// The alignment of blocks, which suits the types of all processors.
const ALIGNMENT: i64 = 64;

/// Returns the reason why a program cannot have instances, with the subprogram responsible. `by_name` are the
/// names that C knows.
pub(crate) fn obstacle(program: &Program, by_name: &BTreeSet<Name>) -> Option<(Name, String)> {
    let own = entries(program);
    let state = StateLayout::of(program, by_name, 4);
    for unit in &program.units {
        let because = |why: String| Some((unit.name.clone(), why));
        let mut passed = None;
        for_each_passed(unit, &mut |name| {
            let owner = own.get(name);
            if owner.is_some_and(|o| state.takes.contains(o)) {
                passed.get_or_insert_with(|| name.clone());
            }
        });
        if let Some(name) = passed {
            return because(format!(
                "it passes {name}, which has state, to code whose text is not there"
            ));
        }
        if by_name.contains(&unit.name) && state.takes.contains(&unit.name) {
            return because("C calls it, and it has state".into());
        }
        let Some(members) = state.members.get(&unit.name) else {
            continue;
        };
        let (sizes, unclear) = named_in_sizes(unit, members);
        for (name, needed) in [("LOC", true), ("TRANSFER", sizes)] {
            if needed && has_another(unit, name) {
                return because(format!("{name}, which is needed there, is the program's"));
            }
        }
        if let Some(name) = unclear {
            return because(format!(
                "the size of {name} depends on a variable in COMMON that is not an INTEGER, or an array"
            ));
        }
        let points = |id: SymId| {
            let symbols = unit.symbols.iter();
            let mut places = symbols.map(|(_, s)| &s.storage_class);
            places.any(|p| *p == StorageClass::Pointee(id))
        };
        if let Some(m) = members.iter().find(|m| points(m.sym)) {
            let name = &unit.symbols[m.sym].name;
            return because(format!("{name} is a Cray pointer, and kept between calls"));
        }
        let grows = |s: &&Symbol| s.has(Attribute::Allocatable) || s.has(Attribute::Growing);
        let mut variables = members.iter().map(|m| &unit.symbols[m.sym]);
        if let Some(s) = variables.find(grows) {
            return because(format!("{} is allocated, and kept between calls", s.name));
        }
    }
    let (unit, variable) = state.unknown?;
    Some((unit, format!("{variable} has no constant size")))
}

/// Returns the blocks that an instance lends to Rust, in the order in which [`BYTES`] reports their places.
pub(crate) fn lent_blocks(program: &Program, by_name: &BTreeSet<Name>) -> Vec<Name> {
    let blocks: BTreeSet<Name> = program.units.iter().flat_map(common_blocks).collect();
    blocks.difference(by_name).cloned().collect()
}

/// Decisions that were made before derivatives existed: which subprograms get the state whether they need it
/// or not, because Rust calls them with it, and which do not get it.
#[derive(Debug, Default)]
pub(crate) struct StateSignatures<'a> {
    pub with: HashSet<&'a Name>,
    pub without: HashSet<&'a Name>,
}

/// Adds the state as an argument to the subprograms of a program. `lent` are the blocks that Rust asks for,
/// `real` is the size of a default REAL in bytes.
pub(crate) fn convert(
    program: &mut Program,
    signatures: &StateSignatures,
    lent: &[Name],
    by_name: &BTreeSet<Name>,
    real: u8,
) {
    let mut state = StateLayout::of(program, by_name, real);
    state.takes.retain(|n| !signatures.without.contains(n));
    state
        .takes
        .extend(signatures.with.iter().map(|n| (*n).clone()));
    let own = entries(program);
    let takes = |name: &str| own.get(name).is_some_and(|o| state.takes.contains(o));
    let mut made = Vec::new();
    for unit in &mut program.units {
        let members = state.members.get(&unit.name).map_or(&[][..], Vec::as_slice);
        if unit.kind == UnitKind::BlockData {
            let blocks = state.blocks_of(unit, real);
            made.extend(initial(unit, blocks, made.len()));
            continue;
        }
        let with_values = with_initial_values(unit, members);
        if !with_values.is_empty() {
            made.extend(initial(unit, with_values, made.len()));
        }
        if state.takes.contains(&unit.name) {
            rewrite(unit, members, &takes);
        }
    }
    let starts: Vec<Name> = made.iter().map(|u| u.name.clone()).collect();
    program.units.append(&mut made);
    program.units.push(size_unit(&state, lent));
    program.units.push(start_unit(&starts));
}

/// A variable that belongs to the state.
#[derive(Debug, Clone, Copy)]
struct StateVariable {
    sym: SymId,
    /// The offset of its first byte.
    start: i64,
    size: i64,
}

/// The layout of the state.
#[derive(Debug, Default)]
struct StateLayout {
    /// The state variables of each unit.
    members: HashMap<Name, Vec<StateVariable>>,
    /// The units that receive the memory.
    takes: HashSet<Name>,
    /// The offsets of COMMON blocks.
    blocks: BTreeMap<Name, i64>,
    /// The size in bytes.
    bytes: i64,
    /// A unit and its variable whose size is unknown.
    unknown: Option<(Name, Name)>,
}

impl StateLayout {
    fn of(program: &Program, by_name: &BTreeSet<Name>, real: u8) -> StateLayout {
        let mut state = StateLayout::default();
        let mut sizes: BTreeMap<Name, i64> = BTreeMap::new();
        let storages: Vec<UnitStorage> = program
            .units
            .iter()
            .map(|u| UnitStorage::within(&Constants::of(u).with_real(real)))
            .collect();
        for (unit, storage) in program.units.iter().zip(&storages) {
            for area in storage.areas() {
                let Some(block) = &area.block else { continue };
                if by_name.contains(block) {
                    continue;
                }
                let size = sizes.entry(block.clone()).or_default();
                *size = area.size.max(*size);
                if !area.exact {
                    state.does_not_know(unit, area.members.iter().map(|m| m.sym));
                }
            }
        }
        for (block, size) in sizes {
            let start = state.allocate(size);
            state.blocks.insert(block, start);
        }
        let assigned = Assigned::with(program, DummyAssumptions::Closures);
        // In such a program, variables may be assigned by other means.
        let opaque = program.units.iter().any(is_opaque);
        for (unit, storage) in program.units.iter().zip(&storages) {
            let mut members = Vec::new();
            for area in storage.areas() {
                let Some(start) = area.block.as_ref().and_then(|b| state.blocks.get(b)) else {
                    continue;
                };
                members.extend(area.members.iter().map(|m| StateVariable {
                    sym: m.sym,
                    start: start + m.start,
                    size: m.size,
                }));
            }
            if unit.kind != UnitKind::BlockData {
                let assigned = (!opaque).then(|| assigned.in_unit(unit));
                state.add_own_variables(unit, storage, assigned.as_ref(), real, &mut members);
            }
            if !members.is_empty() {
                state.members.insert(unit.name.clone(), members);
            }
        }
        state.takes = state.members.keys().cloned().collect();
        spread(&callees(program), &mut state.takes);
        let data = |u: &&Unit| u.kind == UnitKind::BlockData;
        for unit in program.units.iter().filter(data) {
            state.takes.remove(&unit.name);
        }
        state
    }

    /// Reserves memory for a unit's own variables that keep their values. `assigned` are those that may be
    /// assigned; if `None`, all.
    fn add_own_variables(
        &mut self,
        unit: &Unit,
        storage: &UnitStorage,
        assigned: Option<&HashSet<SymId>>,
        real: u8,
        members: &mut Vec<StateVariable>,
    ) {
        let constants = Constants::of(unit).with_real(real);
        let kept = kept(unit, storage);
        let changes = |s: &SymId| assigned.is_none_or(|a| a.contains(s));
        let formal: HashSet<SymId> = unit
            .symbols
            .iter()
            .filter_map(|(_, s)| match &s.class {
                Class::StatementFunction(args, _) => Some(args),
                _ => None,
            })
            .flatten()
            .copied()
            .collect();
        let wanted: HashSet<SymId> = storage_groups(unit, storage, &kept)
            .into_iter()
            .filter(|group| group.iter().any(changes))
            .flatten()
            .collect();
        let mut areas: HashMap<usize, i64> = HashMap::new();
        let names = unit.symbols.ids();
        for sym in names.filter(|s| wanted.contains(s) && !formal.contains(s)) {
            // Generated for a single call, in spite of SAVE.
            let s = &unit.symbols[sym];
            let lasts =
                s.saved || s.init.is_some() || (s.is_array() && !s.has(Attribute::Allocatable));
            if s.origin == Origin::Generated && !lasts && storage.range(sym).is_none() {
                continue;
            }
            let member = match storage.range(sym) {
                Some(spot) => {
                    let area = &storage.areas()[spot.area];
                    if !area.exact {
                        self.does_not_know(unit, area.members.iter().map(|m| m.sym));
                    }
                    let start = *areas
                        .entry(spot.area)
                        .or_insert_with(|| self.allocate(area.size));
                    StateVariable {
                        sym,
                        start: start + spot.start,
                        size: spot.end - spot.start,
                    }
                }
                None => {
                    let size = constants.size(sym).unwrap_or_else(|| {
                        self.does_not_know(unit, std::iter::once(sym));
                        0
                    });
                    let start = self.allocate(size);
                    StateVariable { sym, start, size }
                }
            };
            members.push(member);
        }
    }

    /// Reserves this many bytes, and returns their offset.
    fn allocate(&mut self, bytes: i64) -> i64 {
        let start = self.bytes;
        let end = start.saturating_add(bytes.max(0));
        self.bytes = end.saturating_add((ALIGNMENT - end % ALIGNMENT) % ALIGNMENT);
        start
    }

    fn does_not_know(&mut self, unit: &Unit, mut variables: impl Iterator<Item = SymId>) {
        let is_open = |s: &SymId| Constants::of(unit).size(*s).is_none();
        let variable = variables.find(is_open).map(|s| &unit.symbols[s].name);
        if let Some(variable) = variable {
            self.unknown
                .get_or_insert_with(|| (unit.name.clone(), variable.clone()));
        }
    }

    /// Returns the blocks that a BLOCK DATA unit initializes, represented by their first variables.
    fn blocks_of(&self, unit: &Unit, real: u8) -> Vec<StateVariable> {
        let storage = UnitStorage::within(&Constants::of(unit).with_real(real));
        let areas = storage.areas().iter();
        areas
            .filter_map(|a| {
                let start = *self.blocks.get(a.block.as_ref()?)?;
                let first = a.members.first()?;
                Some(StateVariable {
                    sym: first.sym,
                    start,
                    size: a.size,
                })
            })
            .collect()
    }
}

/// Returns the variables of a unit that keep their values, in groups: those joined by EQUIVALENCE, and those
/// that share a list of values in DATA.
fn storage_groups(
    unit: &Unit,
    storage: &UnitStorage,
    kept: &HashSet<SymId>,
) -> Vec<HashSet<SymId>> {
    let mut groups: Vec<HashSet<SymId>> = Vec::new();
    let mut join = |group: HashSet<SymId>| {
        let (mut joined, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut groups)
            .into_iter()
            .partition(|g| !g.is_disjoint(&group));
        groups = rest;
        joined.push(group);
        groups.push(joined.into_iter().flatten().collect());
    };
    for s in kept {
        join(HashSet::from([*s]));
    }
    for area in storage.areas().iter().filter(|a| a.block.is_none()) {
        let group: HashSet<SymId> = area.members.iter().map(|m| m.sym).collect();
        if !group.is_disjoint(kept) {
            join(group);
        }
    }
    for spec in &unit.specs {
        let SpecKind::Data(sets) = &spec.kind else {
            continue;
        };
        for set in sets {
            let named = set.targets.iter().flat_map(initialised);
            let group: HashSet<SymId> = named.filter(|s| kept.contains(s)).collect();
            if group.len() > 1 {
                join(group);
            }
        }
    }
    groups
}

/// Returns the state variables of a unit that have initial values.
fn with_initial_values(unit: &Unit, members: &[StateVariable]) -> Vec<StateVariable> {
    let sets = unit.specs.iter().filter_map(|s| match &s.kind {
        SpecKind::Data(sets) => Some(sets),
        _ => None,
    });
    let declared: HashSet<SymId> = sets
        .flatten()
        .flat_map(|s| &s.targets)
        .flat_map(initialised)
        .collect();
    let has = |m: &&StateVariable| {
        let symbol = &unit.symbols[m.sym];
        symbol.init.is_some() || declared.contains(&m.sym)
    };
    members.iter().filter(has).copied().collect()
}

/// Returns a subroutine that stores the initial values of a unit's variables, or blocks, in the memory. It
/// contains the unit's declarations that these need.
fn initial(unit: &Unit, members: Vec<StateVariable>, number: usize) -> Option<Unit> {
    if members.is_empty() {
        return None;
    }
    let span = unit.span;
    let data = unit.kind == UnitKind::BlockData;
    let mut made = Unit {
        origin: Origin::Generated,
        kind: UnitKind::Subroutine,
        name: format!("FARFEL_INITIAL_{}", number + 1).into(),
        comments: Vec::new(),
        remarks: Default::default(),
        args: Vec::new(),
        result: None,
        typed_header: false,
        recursive: false,
        body: Vec::new(),
        ..unit.clone()
    };
    let storage = UnitStorage::of(unit);
    let wanted: HashSet<SymId> = members.iter().map(|m| m.sym).collect();
    let near = |s: SymId| match storage.range(s) {
        Some(spot) => {
            let area = &storage.areas()[spot.area];
            area.members.iter().any(|m| wanted.contains(&m.sym))
        }
        None => wanted.contains(&s),
    };
    // Everything in a BLOCK DATA unit except the values, which remain there.
    let stays = |s: SymId| {
        let symbol = &unit.symbols[s];
        let constant = matches!(symbol.class, Class::Parameter(_));
        data || constant || near(s)
    };
    // The loop variable of an implied DO in DATA needs a type.
    let mut counts = HashSet::new();
    for spec in &unit.specs {
        if let SpecKind::Data(sets) = &spec.kind {
            let targets = sets.iter().flat_map(|s| &s.targets);
            targets.for_each(|t| {
                t.for_each_symbol(&mut |s| {
                    counts.insert(s);
                });
            });
        }
    }
    made.undeclare_all(&|s| !stays(s) && !counts.contains(&s));
    made.specs.retain_mut(|spec| match &mut spec.kind {
        SpecKind::Data(sets) => {
            let named = |e: &Expr| initialised(e).into_iter().any(near);
            sets.retain(|s| s.targets.iter().any(named));
            !data && !sets.is_empty()
        }
        SpecKind::Equivalence(groups) => {
            groups.retain(|g| g.iter().filter_map(Expr::base).any(stays));
            !groups.is_empty()
        }
        SpecKind::Common(blocks) => {
            blocks.retain(|(_, l)| l.iter().any(|e| stays(e.sym)));
            !blocks.is_empty()
        }
        SpecKind::Implicit
        | SpecKind::Type(..)
        | SpecKind::Dimension(_)
        | SpecKind::Parameter(_) => true,
        _ => false,
    });
    for id in made.symbols.ids() {
        if data || !stays(id) {
            made.symbols[id].init = None;
        }
    }
    let state = state_argument(&mut made, span);
    let loc = intrinsic(&mut made, "LOC")?;
    let copy = Support::Copy;
    let callee = made.symbols.unused(&copy.name(), &|_| false);
    let callee = Symbol {
        class: Class::Subroutine,
        storage_class: StorageClass::Global,
        origin: Origin::Generated,
        ..Symbol::new(callee, span)
    };
    let callee = made.symbols.add(callee);
    for m in members {
        let from = Expr::call(loc, vec![Expr::var(m.sym, span)], span);
        let to = Expr::call(loc, vec![state_address(state, m.start, span)], span);
        let bytes = Expr::long(m.size, span);
        made.body
            .push(Stmt::call(callee, vec![from, to, bytes], span));
    }
    Some(made)
}

/// Makes the memory an argument of a unit and its state variables parts of the memory.
fn rewrite(unit: &mut Unit, members: &[StateVariable], takes: &dyn Fn(&str) -> bool) {
    let span = unit.span;
    let state = state_argument(unit, span);
    for s in &mut unit.body {
        if let StmtKind::Entry(e) = &mut s.kind {
            e.args.insert(0, Arg::Dummy(state));
        }
    }
    let places: HashMap<SymId, StateVariable> = members.iter().map(|m| (m.sym, *m)).collect();
    sizes(unit, state, &places);
    let used = used_symbols(unit);
    let moved = |s: SymId| places.contains_key(&s);
    for id in unit.symbols.ids().filter(|s| moved(*s)) {
        let symbol = &mut unit.symbols[id];
        symbol.saved = false;
        symbol.init = None;
        symbol.storage_class = StorageClass::Local;
    }
    unit.specs.retain_mut(|spec| match &mut spec.kind {
        SpecKind::Common(blocks) => {
            blocks.retain(|(_, l)| !l.iter().any(|e| moved(e.sym)));
            !blocks.is_empty()
        }
        SpecKind::Equivalence(groups) => {
            groups.retain(|g| !g.iter().filter_map(Expr::base).any(moved));
            !groups.is_empty()
        }
        SpecKind::Data(sets) => {
            let named = |e: &Expr| initialised(e).into_iter().any(moved);
            sets.retain(|s| !s.targets.iter().any(named));
            !sets.is_empty()
        }
        // Saved variables are in the state, or constant.
        SpecKind::Save(_) => false,
        _ => true,
    });
    unit.undeclare_all(&|s| moved(s) && !used.contains(&s));
    // These must follow the declarations of the variables that they name.
    let is_group = |s: &Spec| matches!(s.kind, SpecKind::Namelist(_));
    let groups: Vec<Spec> = unit.specs.iter().filter(|s| is_group(s)).cloned().collect();
    unit.specs.retain(|s| !is_group(s));
    let mut pointers = Block::new();
    let mut shown: Vec<&StateVariable> = members.iter().filter(|m| used.contains(&m.sym)).collect();
    shown.sort_by_key(|m| m.sym);
    for m in shown {
        let name = format!("P_{}", unit.symbols[m.sym].name);
        let name = unit.symbols.unused(&name, &|_| false);
        let pointer = Symbol {
            typed: true,
            ..Symbol::variable(name, Type::Integer(8), span)
        };
        let pointer = unit.symbols.add(pointer);
        unit.declare(pointer);
        unit.symbols[m.sym].storage_class = StorageClass::Pointee(pointer);
        unit.declare(m.sym);
        let Some(loc) = intrinsic(unit, "LOC") else {
            continue;
        };
        let place = Expr::call(loc, vec![state_address(state, m.start, span)], span);
        pointers.push(Stmt::assign(Expr::var(pointer, span), place, span));
    }
    for group in groups {
        unit.add_spec(group.kind, group.span);
    }
    let mut body = std::mem::take(&mut unit.body);
    for id in unit.symbols.ids() {
        if let Class::StatementFunction(args, value) = unit.symbols[id].class.clone() {
            let mut value = *value;
            value.rewrite(&mut |e| pass_state(unit, e, state, takes));
            unit.symbols[id].class = Class::StatementFunction(args, Box::new(value));
        }
    }
    walk_block_mut(&mut body, &mut |s| {
        if let StmtKind::Call(callee, args) = &mut s.kind
            && is_taken(unit, *callee, takes)
        {
            args.insert(0, Expr::var(state, s.span));
        }
        s.for_each_own_expr_mut(&mut |e| e.rewrite(&mut |e| pass_state(unit, e, state, takes)));
    });
    let entries = body.iter().enumerate().rev();
    let entries = entries.filter(|(_, s)| matches!(s.kind, StmtKind::Entry(_)));
    let entries: Vec<usize> = entries.map(|(i, _)| i + 1).collect();
    for i in entries.into_iter().chain([0]) {
        body.splice(i..i, pointers.iter().cloned());
    }
    unit.body = body;
}

/// Passes the memory to a function.
fn pass_state(unit: &Unit, e: &mut Expr, state: SymId, takes: &dyn Fn(&str) -> bool) {
    let span = e.span;
    if let ExprKind::Call(callee, args) = &mut e.kind
        && is_taken(unit, *callee, takes)
    {
        args.insert(0, Expr::var(state, span));
    }
}

fn is_taken(unit: &Unit, callee: SymId, takes: &dyn Fn(&str) -> bool) -> bool {
    let symbol = &unit.symbols[callee];
    let global = symbol.storage_class == StorageClass::Global || symbol.name == unit.name;
    symbol.class.is_procedure() && global && takes(&symbol.name)
}

/// Adds the argument with the memory as the first of a unit.
fn state_argument(unit: &mut Unit, span: Span) -> SymId {
    let name = unit.symbols.unused(STATE, &|_| false);
    let open = Dim {
        lower: None,
        upper: Some(Expr::star(span)),
    };
    let state = unit.symbols.add(Symbol {
        typed: true,
        storage_class: StorageClass::Dummy,
        dims: vec![open],
        ..Symbol::variable(name, Type::Integer(1), span)
    });
    unit.args.insert(0, Arg::Dummy(state));
    // Bounds refer to it.
    let first = |s: &Spec| matches!(s.kind, SpecKind::Use(_) | SpecKind::Implicit);
    let place = unit.specs.iter().rposition(first).map_or(0, |i| i + 1);
    let entity = Entity {
        sym: state,
        dims: true,
    };
    let kind = SpecKind::Type(Type::Integer(1), vec![entity]);
    unit.specs.insert(place, Spec { kind, span });
    state
}

/// Returns a byte of the memory.
fn state_address(state: SymId, start: i64, span: Span) -> Expr {
    let number = start + 1;
    let place = match i32::try_from(number) {
        Ok(_) => Expr::int(number, span),
        Err(_) => Expr::long(number, span),
    };
    Expr::element(state, vec![place], span)
}

/// Returns whether bounds or lengths refer to state variables, and the name of a variable whose bounds refer
/// to one that is not a scalar INTEGER, which [`sizes`] cannot read from the memory.
fn named_in_sizes(unit: &Unit, members: &[StateVariable]) -> (bool, Option<Name>) {
    let mut named = false;
    for (_, symbol) in unit.symbols.iter() {
        let mut unclear = false;
        let bounds = symbol.dims.iter().flat_map(|d| [&d.lower, &d.upper]);
        for e in bounds.flatten().chain(&symbol.length) {
            e.walk(&mut |e| {
                let used = match &e.kind {
                    ExprKind::Var(s) | ExprKind::Element(s, _) => *s,
                    _ => return,
                };
                if members.iter().any(|m| m.sym == used) {
                    named = true;
                    let symbol = &unit.symbols[used];
                    let plain = matches!(symbol.ty, Some(Type::Integer(_))) && !symbol.is_array();
                    unclear |= !plain;
                }
            });
        }
        if unclear {
            return (named, Some(symbol.name.clone()));
        }
    }
    (named, None)
}

/// Rewrites bounds and lengths that refer to COMMON variables. They are evaluated before the pointers are
/// set, so they read the values directly from the memory.
fn sizes(unit: &mut Unit, state: SymId, places: &HashMap<SymId, StateVariable>) {
    let named = |e: &Expr| {
        let mut found = false;
        e.for_each_symbol(&mut |s| found |= places.contains_key(&s));
        found
    };
    for id in unit.symbols.ids() {
        let symbol = &unit.symbols[id];
        let bounds = symbol.dims.iter().flat_map(|d| [&d.lower, &d.upper]);
        if !bounds.flatten().chain(&symbol.length).any(named) {
            continue;
        }
        let Some(transfer) = intrinsic(unit, "TRANSFER") else {
            continue;
        };
        let mut symbol = unit.symbols[id].clone();
        let bounds = symbol
            .dims
            .iter_mut()
            .flat_map(|d| [&mut d.lower, &mut d.upper]);
        for e in bounds.flatten().chain(&mut symbol.length) {
            e.rewrite(&mut |e| {
                let ExprKind::Var(s) = e.kind else { return };
                let (Some(m), Some(Type::Integer(bytes))) = (places.get(&s), unit.symbols[s].ty)
                else {
                    return;
                };
                let first = Expr::long(m.start + 1, e.span);
                let last = Expr::long(m.start + m.size, e.span);
                let range = Expr::range(Some(first), Some(last), None, e.span);
                let value = Expr::element(state, vec![range], e.span);
                let kind = Expr::of_size(Expr::int(0, e.span), bytes, e.span);
                *e = Expr::call(transfer, vec![value, kind], e.span);
            });
        }
        unit.symbols[id] = symbol;
    }
}

/// Returns the symbols that a unit's statements refer to, including those in statement functions and NAMELIST
/// groups.
fn used_symbols(unit: &Unit) -> HashSet<SymId> {
    let mut used = HashSet::new();
    for_each_symbol(&unit.body, &mut |s| {
        used.insert(s);
    });
    for (_, s) in unit.symbols.iter() {
        match &s.class {
            Class::StatementFunction(_, value) => value.for_each_symbol(&mut |s| {
                used.insert(s);
            }),
            Class::Namelist(group) => used.extend(group),
            _ => {}
        }
    }
    used
}

/// Returns `SUBROUTINE FARFEL_STATE_BYTES(N, P)`, which reports the size in bytes and the offsets of blocks.
fn size_unit(state: &StateLayout, lent: &[Name]) -> Unit {
    let span = Span::NONE;
    let mut unit = Unit::new(UnitKind::Subroutine, BYTES.into(), span);
    unit.origin = Origin::Generated;
    let mut argument = |name: &str, dims: Vec<Dim>| {
        let id = unit.symbols.add(Symbol {
            typed: true,
            storage_class: StorageClass::Dummy,
            dims,
            ..Symbol::variable(name.into(), Type::Integer(8), span)
        });
        unit.args.push(Arg::Dummy(id));
        unit.declare(id);
        id
    };
    let open = Dim {
        lower: None,
        upper: Some(Expr::star(span)),
    };
    let bytes = argument("N", Vec::new());
    let places = argument("P", vec![open]);
    let set = |e: Expr, value: i64| Stmt::assign(e, Expr::long(value, span), span);
    unit.body.push(set(Expr::var(bytes, span), state.bytes));
    for (block, number) in lent.iter().zip(1..) {
        let place = Expr::element(places, vec![Expr::int(number, span)], span);
        let start = state.blocks.get(block).copied();
        unit.body.push(set(place, start.unwrap_or(0)));
    }
    unit
}

/// Returns `SUBROUTINE FARFEL_STATE_START(FARFEL_STATE)`.
fn start_unit(starts: &[Name]) -> Unit {
    let span = Span::NONE;
    let mut unit = Unit::new(UnitKind::Subroutine, START.into(), span);
    unit.origin = Origin::Generated;
    let state = state_argument(&mut unit, span);
    for name in starts {
        let callee = unit.symbols.add(Symbol {
            class: Class::Subroutine,
            storage_class: StorageClass::Global,
            origin: Origin::Generated,
            ..Symbol::new(name.clone(), span)
        });
        let call = Stmt::call(callee, vec![Expr::var(state, span)], span);
        unit.body.push(call);
    }
    unit
}
