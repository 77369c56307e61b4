//! Removes names that a unit no longer uses.

use crate::ir::{
    Attributes, Class, Entity, Expr, ExprKind, Name, Origin, SaveItem, Spec, SpecKind,
    StorageClass, SymId, Symbols, Type, Unit, for_each_symbol, for_each_symbol_mut,
};
use crate::print::print_expr;
use std::collections::HashSet;

/// The names of the units that a pass has changed or added. In all others, [`compact`] finds
/// nothing to remove, provided that it ran before.
pub(super) type ChangedUnits = HashSet<Name>;

/// Removes the symbols that nothing in the unit needs, with their declarations.
///
/// Passes leave names behind, such as a dummy procedure that was specialized away. These would
/// otherwise stay reserved and declared.
pub fn compact(unit: &mut Unit) {
    let used = used(unit, SharedStorage::Kept);
    if used.iter().all(|u| *u) {
        return;
    }
    undeclare(unit, &used);
    let old = std::mem::take(&mut unit.symbols);
    let mut map = Vec::with_capacity(old.len());
    let mut symbols = Symbols::default();
    for (s, used) in old.into_iter().zip(&used) {
        map.push(if *used { symbols.add(s) } else { SymId(0) });
    }
    unit.symbols = symbols;
    renumber(unit, &map);
}

/// Removes the declarations of everything that a unit does not need, and the comments among them. A
/// COMMON block of which the unit uses no variable is removed if `may_go` allows it. The symbols
/// stay.
///
/// This is for derivatives, as their sources declare everything that INCLUDE files contain.
pub fn without_unused(unit: &mut Unit, may_go: &dyn Fn(&Name) -> bool) {
    let is_comment = |s: &Spec| matches!(s.kind, SpecKind::Comment(_));
    unit.specs.retain(|s| !is_comment(s));
    let used = used(unit, SharedStorage::MayGo(may_go));
    let goes = |s: SymId| !used[s.0 as usize];
    for spec in &mut unit.specs {
        if let SpecKind::Common(blocks) = &mut spec.kind {
            blocks.retain(|(_, members)| !members.iter().any(|e| goes(e.sym)));
        }
    }
    unit.specs
        .retain(|s| !matches!(&s.kind, SpecKind::Common(blocks) if blocks.is_empty()));
    unit.without_undeclared_thread_private();
    for id in unit.symbols.ids().filter(|s| goes(*s)) {
        let s = &mut unit.symbols[id];
        if matches!(s.storage_class, StorageClass::Common(_)) {
            s.storage_class = StorageClass::Local;
        }
    }
    undeclare(unit, &used);
}

/// The maximum number of names and bounds in one statement, as compilers limit its number of lines: at least 19 after the first are
/// allowed.
const MOST_NAMES: usize = 90;

/// The number of characters that names and their values may have in one statement, for the same reason.
const MOST_TEXT: usize = 900;

/// The number of characters of the list in a COMMON statement of one line.
const LINE: usize = 72 - 6 - "COMMON ".len();

/// Joins declarations of the same type into one statement: those that follow each other, and those that need nothing that
/// is declared between them.
pub fn join_declarations(unit: &mut Unit) {
    let mut specs: Vec<Spec> = Vec::with_capacity(unit.specs.len());
    for spec in std::mem::take(&mut unit.specs) {
        let SpecKind::Type(ty, names) = &spec.kind else {
            if !joins_others(unit, &spec, &mut specs) {
                specs.push(spec);
            }
            continue;
        };
        let last = specs.len().checked_sub(1);
        // `INTEGER, ALLOCATABLE :: A(:)` is one statement for all of its names.
        let alike = |a: &[Entity], b: &[Entity]| {
            let mut kinds = (a.iter().chain(b)).map(|e| &unit.symbols[e.sym].attributes);
            let first = kinds.next();
            kinds.all(|k| Some(k) == first)
        };
        let size = |list: &[Entity]| {
            let bounds = |e: &Entity| usize::from(e.dims) * 2 * unit.symbols[e.sym].dims.len();
            list.iter().map(|e| 1 + bounds(e)).sum::<usize>()
        };
        let begins = names.iter().all(|e| begins_with_number(unit, e.sym));
        let same = |(i, s): (usize, &mut Spec)| match &mut s.kind {
            SpecKind::Type(other, list)
                if *other == *ty
                    && alike(list, names)
                    && *ty != Type::Character
                    && size(list) + size(names) <= MOST_NAMES
                    && (Some(i) == last
                        || can_move(unit, names, list)
                        || begins && list.iter().all(|e| begins_with_number(unit, e.sym))) =>
            {
                list.extend(names);
                Some(())
            }
            _ => None,
        };
        if specs.iter_mut().enumerate().rev().find_map(same).is_none() {
            specs.push(spec);
        }
    }
    unit.specs = specs;
}

/// Joins a statement that lists names with an earlier one of its kind. Returns false if it must stay.
fn joins_others(unit: &Unit, spec: &Spec, earlier: &mut [Spec]) -> bool {
    let text = |s: &SymId| {
        let symbol = &unit.symbols[*s];
        let value = match &symbol.class {
            Class::Parameter(value) => " = ".len() + print_expr(unit, value).len(),
            _ => 0,
        };
        symbol.name.len() + value + ", ".len()
    };
    let fits = |a: &[SymId], b: &[SymId]| a.iter().chain(b).map(text).sum::<usize>() <= MOST_TEXT;
    // Blocks with a few variables, where one line has room for them.
    let common_text = |blocks: &[(Name, Vec<Entity>)]| {
        let block = |(name, members): &(Name, Vec<Entity>)| {
            let plain = members.iter().all(|e| !e.dims);
            let members = members.iter().map(|e| text(&e.sym)).sum::<usize>();
            name.len() + members + "// ".len() + if plain { 0 } else { LINE }
        };
        blocks.iter().map(block).sum::<usize>()
    };
    let joined = |s: &mut Spec| match (&mut s.kind, &spec.kind) {
        (SpecKind::External(list), SpecKind::External(names))
        | (SpecKind::Intrinsic(list), SpecKind::Intrinsic(names))
        | (SpecKind::Parameter(list), SpecKind::Parameter(names))
            if fits(list, names) =>
        {
            list.extend(names);
            true
        }
        (SpecKind::Common(list), SpecKind::Common(blocks))
            if common_text(list) + common_text(blocks) <= LINE =>
        {
            list.extend(blocks.iter().cloned());
            true
        }
        _ => false,
    };
    match spec.kind {
        SpecKind::External(_) | SpecKind::Intrinsic(_) => earlier.iter_mut().any(joined),
        // Values may depend on what is declared between.
        _ => earlier.last_mut().is_some_and(joined),
    }
}

/// Whether names may be declared together with others in an earlier statement: their bounds name nothing else than the bounds
/// there.
fn can_move(unit: &Unit, names: &[Entity], to: &[Entity]) -> bool {
    let of_bounds = |e: &Entity, f: &mut dyn FnMut(SymId)| {
        for d in unit.symbols[e.sym].dims.iter().filter(|_| e.dims) {
            for bound in d.lower.iter().chain(&d.upper) {
                bound.for_each_symbol(f);
            }
        }
    };
    let mut known = HashSet::new();
    for e in to {
        of_bounds(e, &mut |s| {
            known.insert(s);
        });
    }
    names.iter().all(|e| {
        let symbol = &unit.symbols[e.sym];
        let mut moves = symbol.init.is_none()
            && !symbol.tape
            && symbol.attributes == Attributes::default()
            && (symbol.dims.iter()).all(|d| d.upper.is_some());
        of_bounds(e, &mut |s| moves &= known.contains(&s));
        moves
    })
}

/// Whether a generated saved variable begins as a number, so that its declaration depends on no other.
fn begins_with_number(unit: &Unit, s: SymId) -> bool {
    let symbol = &unit.symbols[s];
    let number = |e: &Expr| matches!(e.kind, ExprKind::Int(_));
    symbol.origin == Origin::Generated
        && symbol.saved
        && !symbol.is_array()
        && symbol.init.as_deref().is_some_and(number)
}

/// Removes the declarations of all unused symbols.
fn undeclare(unit: &mut Unit, used: &[bool]) {
    let is_used = |s: SymId| used[s.0 as usize];
    let unused = unit.symbols.iter().filter(|(id, _)| !is_used(*id));
    let pointers: Vec<SymId> = unused
        .filter_map(|(_, s)| match s.storage_class {
            StorageClass::Pointee(pointer) if is_used(pointer) => Some(pointer),
            _ => None,
        })
        .collect();
    unit.undeclare_all(&|s| !is_used(s));
    // Without a POINTER statement its type must be declared.
    pointers.into_iter().for_each(|p| unit.declare(p));
}

/// Whether storage that is shared with other units, or kept until the next call, counts as used.
#[derive(Clone, Copy)]
pub(super) enum SharedStorage<'a> {
    /// COMMON and SAVE count as used.
    Kept,
    /// COMMON blocks with these names count as used only if one of their variables is; saved
    /// variables likewise.
    MayGo(&'a dyn Fn(&Name) -> bool),
    /// Variables in COMMON count as used only if they are themselves.
    ByVariable,
}

/// Returns, for each symbol of a unit, whether anything in the unit needs it. That a variable is in COMMON is no
/// need.
pub fn used_in(unit: &Unit) -> Vec<bool> {
    used(unit, SharedStorage::ByVariable)
}

/// Returns, for each symbol of a unit, whether anything needs it.
pub(super) fn used(unit: &Unit, shared: SharedStorage) -> Vec<bool> {
    let mut used = UsedSymbols {
        marks: vec![false; unit.symbols.len()],
        open: Vec::new(),
    };
    used.extend(unit.args.iter().filter_map(|a| a.sym()));
    used.extend(unit.result);
    for_each_symbol(&unit.body, &mut |s| used.insert(s));
    for spec in &unit.specs {
        match &spec.kind {
            SpecKind::Common(blocks) => {
                let stays = |block: &Name| match shared {
                    SharedStorage::Kept => true,
                    SharedStorage::MayGo(may_go) => !may_go(block),
                    SharedStorage::ByVariable => false,
                };
                let blocks = blocks.iter().filter(|(block, _)| stays(block));
                used.extend(blocks.flat_map(|(_, l)| l.iter().map(|e| e.sym)));
            }
            SpecKind::Equivalence(groups) => {
                groups.iter().flatten().for_each(|e| add(e, &mut used))
            }
            SpecKind::Data(sets) => {
                for set in sets {
                    set.targets.iter().for_each(|e| add(e, &mut used));
                    for (repeat, value) in &set.values {
                        repeat.iter().for_each(|e| add(e, &mut used));
                        add(value, &mut used);
                    }
                }
            }
            SpecKind::Save(items) => {
                for item in items {
                    match (item, shared) {
                        (SaveItem::Var(s), SharedStorage::Kept) => used.insert(*s),
                        (SaveItem::Common(block), SharedStorage::MayGo(_)) => {
                            members(unit, block, &mut |l| used.extend(l.iter().map(|e| e.sym)));
                        }
                        _ => {}
                    }
                }
            }
            SpecKind::Namelist(s) => {
                used.insert(*s);
            }
            SpecKind::Comment(_)
            | SpecKind::ThreadPrivate(_)
            | SpecKind::Implicit
            | SpecKind::Type(..)
            | SpecKind::Attribute(..)
            | SpecKind::Pointer(_)
            | SpecKind::Dimension(_)
            | SpecKind::External(_)
            | SpecKind::Intrinsic(_)
            | SpecKind::Parameter(_)
            | SpecKind::StatementFunction(_)
            | SpecKind::Format(..)
            | SpecKind::Include(_)
            | SpecKind::Use(_)
            | SpecKind::Intent(..) => {}
        }
    }
    // A COMMON block is declared completely or not at all.
    let whole = !matches!(shared, SharedStorage::ByVariable);
    let mut blocks: HashSet<Name> = HashSet::new();
    // Whatever the facts about used symbols mention is used, too.
    while let Some(id) = used.open.pop() {
        let s = &unit.symbols[id];
        if matches!(s.storage_class, StorageClass::Host(_)) {
            continue;
        }
        match &s.class {
            Class::Parameter(e) => add(e, &mut used),
            Class::StatementFunction(dummies, e) => {
                used.extend(dummies.iter().copied());
                add(e, &mut used);
            }
            Class::Namelist(members) => used.extend(members.iter().copied()),
            _ => {}
        }
        for d in &s.dims {
            d.lower
                .iter()
                .chain(&d.upper)
                .for_each(|e| add(e, &mut used));
        }
        s.length.iter().for_each(|e| add(e, &mut used));
        s.init.iter().for_each(|e| add(e, &mut used));
        match &s.storage_class {
            StorageClass::Pointee(pointer) => used.insert(*pointer),
            StorageClass::Common(block) if whole && blocks.insert(block.clone()) => {
                members(unit, block, &mut |l| used.extend(l.iter().map(|e| e.sym)));
            }
            _ => {}
        }
    }
    used.marks
}

/// Calls `f` with the variables of a COMMON block, statement by statement.
fn members(unit: &Unit, block: &Name, f: &mut dyn FnMut(&[Entity])) {
    for spec in &unit.specs {
        if let SpecKind::Common(blocks) = &spec.kind {
            let of_block = blocks.iter().filter(|(name, _)| name == block);
            of_block.for_each(|(_, list)| f(list));
        }
    }
}

struct UsedSymbols {
    marks: Vec<bool>,
    /// The symbols whose facts have not been visited yet.
    open: Vec<SymId>,
}

impl UsedSymbols {
    fn insert(&mut self, s: SymId) {
        if !std::mem::replace(&mut self.marks[s.0 as usize], true) {
            self.open.push(s);
        }
    }

    fn extend(&mut self, all: impl IntoIterator<Item = SymId>) {
        all.into_iter().for_each(|s| self.insert(s));
    }
}

fn add(e: &Expr, to: &mut UsedSymbols) {
    e.for_each_symbol(&mut |s| to.insert(s));
}

/// Replaces every symbol in the unit, except in nested units.
pub(super) fn renumber(unit: &mut Unit, map: &[SymId]) {
    let fix = &mut |s: &mut SymId| *s = map[s.0 as usize];
    for a in &mut unit.args {
        if let crate::ir::Arg::Dummy(s) = a {
            fix(s);
        }
    }
    unit.result.iter_mut().for_each(&mut *fix);
    for_each_symbol_mut(&mut unit.body, fix);
    for spec in &mut unit.specs {
        match &mut spec.kind {
            SpecKind::Type(_, l) | SpecKind::Attribute(_, l) => {
                l.iter_mut().for_each(|e| fix(&mut e.sym));
            }
            SpecKind::Pointer(l) => l.iter_mut().for_each(|(p, e)| {
                fix(p);
                fix(&mut e.sym);
            }),
            SpecKind::Common(blocks) => {
                blocks
                    .iter_mut()
                    .flat_map(|(_, l)| l)
                    .for_each(|e| fix(&mut e.sym));
            }
            SpecKind::Dimension(l)
            | SpecKind::External(l)
            | SpecKind::Intrinsic(l)
            | SpecKind::Parameter(l)
            | SpecKind::Intent(_, l) => l.iter_mut().for_each(&mut *fix),
            SpecKind::Equivalence(groups) => {
                groups
                    .iter_mut()
                    .flatten()
                    .for_each(|e| e.for_each_symbol_mut(fix));
            }
            SpecKind::Data(sets) => {
                for set in sets {
                    set.targets
                        .iter_mut()
                        .for_each(|e| e.for_each_symbol_mut(fix));
                    for (repeat, value) in &mut set.values {
                        repeat.iter_mut().for_each(|e| e.for_each_symbol_mut(fix));
                        value.for_each_symbol_mut(fix);
                    }
                }
            }
            SpecKind::Save(items) => {
                for i in items {
                    if let SaveItem::Var(s) = i {
                        fix(s);
                    }
                }
            }
            SpecKind::StatementFunction(s) | SpecKind::Namelist(s) => fix(s),
            SpecKind::Comment(_)
            | SpecKind::ThreadPrivate(_)
            | SpecKind::Implicit
            | SpecKind::Include(_)
            | SpecKind::Use(_)
            | SpecKind::Format(..) => {}
        }
    }
    let ids: Vec<SymId> = unit.symbols.ids().collect();
    for id in ids {
        let s = &mut unit.symbols[id];
        if matches!(s.storage_class, StorageClass::Host(_)) {
            continue;
        }
        match &mut s.class {
            Class::Parameter(e) => e.for_each_symbol_mut(fix),
            Class::StatementFunction(dummies, e) => {
                dummies.iter_mut().for_each(&mut *fix);
                e.for_each_symbol_mut(fix);
            }
            Class::Namelist(members) => members.iter_mut().for_each(&mut *fix),
            _ => {}
        }
        for d in &mut s.dims {
            d.lower
                .iter_mut()
                .chain(&mut d.upper)
                .for_each(|e| e.for_each_symbol_mut(fix));
        }
        s.length.iter_mut().for_each(|e| e.for_each_symbol_mut(fix));
        s.init.iter_mut().for_each(|e| e.for_each_symbol_mut(fix));
        if let StorageClass::Pointee(pointer) = &mut s.storage_class {
            fix(pointer);
        }
    }
}
