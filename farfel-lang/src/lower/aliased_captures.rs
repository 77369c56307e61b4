//! Merges a captured variable with another argument when a call passes the same variable for both.
//!
//! `CALL STEP(X)`, where the nested STEP uses X itself, is `CALL OUTER_STEP(X, X)` after lifting:
//! two names for one variable. If one of them is assigned, Fortran forbids this, and compilers may
//! keep the other in a register. So such calls use a copy of STEP in which both names are one. If
//! the variable is passed only in part, or the argument is only a part of it, no copy is made and a
//! warning is given. The same holds for an argument in a COMMON block that is visible to the nested
//! subprogram.
//!
//! If an AD block of the subprogram differentiates with respect to the COMMON variable, the two
//! must not be merged: for the block, the argument is only a value. The call then passes a value,
//! `CALL STEP((X))`.

use super::calls::{for_each_call_mut, global};
use super::compact::{ChangedUnits, renumber};
use super::import::Import;
use super::naming::{Families, taken_names};
use super::outline::{independents, is_independent};
use super::saved_variables::{keeps_values, share};
use crate::callgraph::{CallGraph, UnitIndex};
use crate::diagnostic::{Diagnostic, rules};
use crate::effects::Assigned;
use crate::ir::{
    Arg, Class, Dim, Expr, ExprKind, Name, Program, StmtKind, StorageClass, SymId, Symbol, Type,
    Unit, overwritten_items, walk_block, walk_block_mut,
};
use crate::source::Span;
use crate::storage::{Constants, UnitStorage, common_blocks};
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

/// The arguments of a call to remove, by position, each with the variable of the callee that
/// replaces it.
type Merge = Vec<(usize, MergedWith)>;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum MergedWith {
    /// A variable of the called unit.
    Own(SymId),
    /// The bytes of a COMMON block from the first number up to the second. The called unit does not
    /// declare the block, but something that it calls does.
    Common(Name, i64, i64),
}

/// The COMMON blocks that calls reach, and whether the units reached may assign variables in them.
struct ReachedCommons {
    graph: CallGraph,
    /// By index in the call graph.
    own: Vec<HashMap<Name, bool>>,
    /// The originals of copies, since copies are not in the call graph.
    origin: HashMap<Name, Name>,
    known: HashMap<Name, HashMap<Name, bool>>,
}

impl ReachedCommons {
    fn of(program: &Program, assigned: &Assigned) -> Self {
        let own = |u: &Unit| {
            let blocks = common_blocks(u);
            if blocks.is_empty() {
                return HashMap::new();
            }
            // A block that differentiates with respect to a variable sets it.
            let mut changed = assigned.in_unit(u);
            changed.extend(independents(u));
            let storage = UnitStorage::of(u);
            let any = |b: &Name| {
                let area = storage.block(b);
                area.is_some_and(|a| a.members.iter().any(|m| changed.contains(&m.sym)))
            };
            blocks.into_iter().map(|b| (b.clone(), any(&b))).collect()
        };
        ReachedCommons {
            graph: CallGraph::of(program),
            own: program.units.iter().map(own).collect(),
            origin: HashMap::new(),
            known: HashMap::new(),
        }
    }

    /// Returns whether a block may be assigned; `None` if calls of this unit do not reach the
    /// block.
    fn block(&mut self, unit: &Name, block: &Name) -> Option<bool> {
        let mut origin = unit;
        while let Some(of) = self.origin.get(origin) {
            origin = of;
        }
        if !self.known.contains_key(origin) {
            let mut all: HashMap<Name, bool> = HashMap::new();
            for u in self.graph.reached(self.graph.index(origin)) {
                for (block, changed) in self.own.get(u).into_iter().flatten() {
                    *all.entry(block.clone()).or_default() |= changed;
                }
            }
            self.known.insert(origin.clone(), all);
        }
        self.known.get(origin)?.get(block).copied()
    }
}

/// Makes the copies. Adds the names of the units that it changes or creates to `changed`.
pub(super) fn merge_arguments(
    program: &mut Program,
    families: &mut Families,
    changed: &mut ChangedUnits,
    diagnostics: &mut Vec<Diagnostic>,
) {
    if !program.units.iter().any(|u| passes_twice(u, families)) {
        return;
    }
    let mut taken: Option<HashSet<Name>> = None;
    let mut assigned = Assigned::of(program);
    let mut reached = ReachedCommons::of(program, &assigned);
    let mut copies: HashMap<(Name, Merge), Name> = HashMap::new();
    let mut at = 0;
    while at < program.units.len() {
        if !passes_twice(&program.units[at], families) {
            at += 1;
            continue;
        }
        let mut caller = program.units[at].clone();
        let mut body = std::mem::take(&mut caller.body);
        let index = UnitIndex::of(program);
        let storage = UnitStorage::of(&caller);
        // A copy shares its state with its original.
        let mut keep: HashSet<Name> = HashSet::new();
        for_each_call_mut(&mut body.clone(), &mut |callee, args| {
            if let Some(name) = global(&caller.symbols, *callee)
                && let Some(target) = index.unit(program, name)
                && keeps_values(target)
            {
                let quiet = &mut Vec::new();
                let merge = merge(&caller, &storage, target, args, families, &assigned, quiet);
                let below = families.is_member(name) && args.len() == target.args.len();
                if below || !merge.is_empty() {
                    keep.insert(name.clone());
                }
            }
        });
        if !keep.is_empty() {
            let which: Vec<bool> = program
                .units
                .iter()
                .map(|u| keep.contains(&u.name))
                .collect();
            share(program, &which, changed);
            taken = None;
            continue;
        }
        let mut new: Vec<Unit> = Vec::new();
        let mut any = false;
        for_each_call_mut(&mut body, &mut |callee, args| {
            let Some(name) = global(&caller.symbols, *callee).cloned() else {
                return;
            };
            let made = new.iter().find(|u| u.name == name);
            let Some(target) = index.unit(program, &name).or(made) else {
                return;
            };
            let mut merge = merge(
                &caller,
                &storage,
                target,
                args,
                families,
                &assigned,
                diagnostics,
            );
            if families.is_member(&name) && args.len() == target.args.len() {
                below(
                    &caller,
                    &storage,
                    target,
                    args,
                    &mut reached,
                    &assigned,
                    &mut merge,
                );
            }
            for i in by_value(&storage, target, args, &assigned, &merge) {
                let value = args[i].clone();
                args[i] = Expr::new(ExprKind::Paren(Box::new(value)), args[i].span);
                any = true;
            }
            if merge.is_empty() {
                return;
            }
            let key = (name.clone(), merge);
            let copy = match copies.get(&key) {
                Some(c) => c.clone(),
                None => {
                    let taken = taken.get_or_insert_with(|| taken_names(program));
                    let copy = copy(target, &key.1, &caller, &storage, taken);
                    reached.origin.insert(copy.name.clone(), name.clone());
                    let (own, family) = (copy.name.clone(), families.of(&name).clone());
                    families.insert(own.clone(), family);
                    let gone = key
                        .1
                        .iter()
                        .filter(|(i, _)| is_captured(target, *i, families));
                    let left = families.captured(&name).saturating_sub(gone.count());
                    if families.is_lifted(&name) {
                        families.set_captured(own.clone(), left);
                    }
                    assigned.add(&copy);
                    changed.insert(own.clone());
                    new.push(copy);
                    copies.insert(key.clone(), own.clone());
                    own
                }
            };
            let mut position = 0;
            args.retain(|_| {
                position += 1;
                key.1.iter().all(|(i, _)| i + 1 != position)
            });
            let symbol = &caller.symbols[*callee];
            let (class, ty, span) = (symbol.class.clone(), symbol.ty, symbol.span);
            let length = symbol.length.clone();
            *callee = caller.symbols.find(&copy).unwrap_or_else(|| {
                let id = caller.symbols.add(Symbol {
                    class: class.clone(),
                    ty,
                    length,
                    storage_class: StorageClass::Global,
                    ..Symbol::new(copy, span)
                });
                if class == Class::Function {
                    caller.declare(id);
                }
                id
            });
            any = true;
        });
        caller.body = body;
        if any {
            changed.insert(caller.name.clone());
            program.units[at] = caller;
        }
        // Appended to the others, so that the loop visits them, too.
        program.units.extend(new);
        at += 1;
    }
}

/// Whether lifting has added argument `i`.
fn is_captured(target: &Unit, i: usize, families: &Families) -> bool {
    i + families.captured(&target.name) >= target.args.len()
}

/// Whether a unit may pass something twice to a lifted subprogram.
fn passes_twice(unit: &Unit, families: &Families) -> bool {
    let mut found = false;
    // With EQUIVALENCE, comparing names is not enough.
    let ties = super::equivalenced::groups(unit).next().is_some();
    let storage = OnceCell::new();
    super::calls::for_each_call(&unit.body, &mut |callee, args| {
        let Some(name) = global(&unit.symbols, callee).filter(|n| families.is_member(n)) else {
            return;
        };
        let common = |a: &Expr| match a.kind {
            ExprKind::Var(s) => {
                let plain = matches!(unit.symbols[s].storage_class, StorageClass::Common(_));
                plain
                    || ties
                        && storage
                            .get_or_init(|| UnitStorage::of(unit))
                            .is_in_common(s)
            }
            _ => false,
        };
        found |= args.iter().any(common);
        let captured = families.captured(name);
        if captured == 0 || found {
            return;
        }
        let first = args.len().saturating_sub(captured);
        found = args[first..].iter().enumerate().any(|(k, c)| {
            let Some(c) = c.base() else { return false };
            let others = args[..first + k].iter().filter_map(Expr::base);
            others.into_iter().any(|o| o == c) || first > 0 && ties
        });
    });
    found
}

/// Returns the arguments that a copy does not receive, each with the argument that is the same
/// variable. Warns of other overlaps.
fn merge(
    caller: &Unit,
    storage: &UnitStorage,
    target: &Unit,
    args: &[Expr],
    families: &Families,
    assigned: &Assigned,
    diagnostics: &mut Vec<Diagnostic>,
) -> Merge {
    let captured = families.captured(&target.name);
    let mut found: Merge = Vec::new();
    if !families.is_lifted(&target.name) || args.len() != target.args.len() {
        return found;
    }
    for j in args.len().saturating_sub(captured)..args.len() {
        let Some(c) = args[j].base() else { continue };
        for i in 0..j {
            let given = match &args[i].kind {
                ExprKind::Var(s) | ExprKind::Element(s, _) => *s,
                ExprKind::Substring(..) => match args[i].base() {
                    Some(s) => s,
                    None => continue,
                },
                _ => continue,
            };
            let same = given == c;
            if !same && !storage.overlap(given, c)
                || found.iter().any(|(gone, _)| *gone == i)
                || !assigned.argument(&target.name, i) && !assigned.argument(&target.name, j)
                || !caller.symbols[c].is_variable()
            {
                continue;
            }
            // EQUIVALENCE may give the same bytes two names.
            let one =
                same || storage.range(given).is_some() && storage.range(given) == storage.range(c);
            let variable = |e: &Expr| matches!(e.kind, ExprKind::Var(_));
            let whole = one && variable(&args[i]) && variable(&args[j]);
            match (target.args[i].sym(), target.args[j].sym()) {
                (Some(a), Some(b))
                    if whole && alike(target, a, b) && !independent(target, [a, b]) =>
                {
                    found.push((i, MergedWith::Own(b)));
                }
                (Some(a), Some(b)) => {
                    let d = warning(caller, target, &args[i], c, (a, b));
                    if !diagnostics.contains(&d) {
                        diagnostics.push(d);
                    }
                }
                _ => {}
            }
        }
    }
    in_common(storage, target, args, assigned, &mut found);
    found
}

/// Adds the arguments in COMMON blocks that the called unit declares.
fn in_common(
    storage: &UnitStorage,
    target: &Unit,
    args: &[Expr],
    assigned: &Assigned,
    found: &mut Merge,
) {
    let mut theirs: Option<(UnitStorage, HashSet<SymId>, bool)> = None;
    for (i, a) in args.iter().enumerate() {
        let ExprKind::Var(given) = a.kind else {
            continue;
        };
        let (Some(block), Some(dummy)) = (storage.common_block(given), target.args[i].sym()) else {
            continue;
        };
        let (ours, changed, calls) = theirs.get_or_insert_with(|| {
            let mut calls = false;
            super::calls::for_each_call(&target.body, &mut |_, _| calls = true);
            (UnitStorage::of(target), assigned.in_unit(target), calls)
        });
        let (Some(spot), Some(area)) = (storage.range(given), ours.block(block)) else {
            continue;
        };
        let same = area.members.iter().find(|m| {
            (m.start, m.start + m.size) == (spot.start, spot.end) && alike(target, dummy, m.sym)
        });
        if let Some(m) = same
            && (*calls
                || changed.contains(&dummy)
                || changed.contains(&m.sym)
                || ours.overlapping(m.sym).any(|s| changed.contains(&s)))
            && found.iter().all(|(gone, _)| *gone != i)
            && !independent(target, [dummy, m.sym])
        {
            found.push((i, MergedWith::Own(m.sym)));
        }
    }
}

/// Returns the arguments in COMMON variables with respect to which blocks of the called unit
/// differentiate: a block sets such a variable, though only to the value that it has.
fn by_value(
    storage: &UnitStorage,
    target: &Unit,
    args: &[Expr],
    assigned: &Assigned,
    merge: &Merge,
) -> Vec<usize> {
    let set = independents(target);
    if set.is_empty() || args.len() != target.args.len() {
        return Vec::new();
    }
    let theirs = UnitStorage::of(target);
    let is_set = |i: &usize| {
        let (ExprKind::Var(given), Some(dummy)) = (&args[*i].kind, target.args[*i].sym()) else {
            return false;
        };
        let (Some(block), Some(spot)) = (storage.common_block(*given), storage.range(*given))
        else {
            return false;
        };
        let Some(area) = theirs.block(block) else {
            return false;
        };
        let meets = |from: i64, size: i64| from < spot.end && spot.start < from + size;
        let mut members = area.members.iter();
        members.any(|m| set.contains(&m.sym) && meets(m.start, m.size))
            && !set.contains(&dummy)
            && !assigned.argument(&target.name, *i)
            && merge.iter().all(|(gone, _)| gone != i)
    };
    (0..args.len()).filter(is_set).collect()
}

/// Adds the arguments in COMMON blocks that only the callees of the called unit declare.
fn below(
    caller: &Unit,
    storage: &UnitStorage,
    target: &Unit,
    args: &[Expr],
    reached: &mut ReachedCommons,
    assigned: &Assigned,
    found: &mut Merge,
) {
    for (i, a) in args.iter().enumerate() {
        let ExprKind::Var(given) = a.kind else {
            continue;
        };
        let (Some(block), Some(dummy)) = (storage.common_block(given), target.args[i].sym()) else {
            continue;
        };
        let Some(changed) = reached.block(&target.name, block) else {
            continue;
        };
        let Some(spot) = storage.range(given) else {
            continue;
        };
        let (ours, theirs) = (Constants::of(caller), Constants::of(target));
        let (g, d) = (&caller.symbols[given], &target.symbols[dummy]);
        let known = |b: (Option<i64>, Option<i64>)| b.0.is_some() && b.1.is_some();
        let same = d.is_variable()
            && g.ty == d.ty
            && g.dims.len() == d.dims.len()
            && (0..g.dims.len()).all(|k| {
                let bounds = ours.bounds(given, k);
                known(bounds) && bounds == theirs.bounds(dummy, k)
            })
            && (g.ty != Some(Type::Character)
                || ours.element_size(given) == theirs.element_size(dummy));
        if same
            && named(storage, block, spot.start, spot.end).is_some()
            && (changed || assigned.argument(&target.name, i))
            && !common_blocks(target).contains(block)
            && found.iter().all(|(gone, _)| *gone != i)
            && !independent(target, [dummy, dummy])
        {
            found.push((i, MergedWith::Common(block.clone(), spot.start, spot.end)));
        }
    }
}

/// Returns the variable that a COMMON statement names and that extends over a range of bytes in the
/// block.
fn named(storage: &UnitStorage, block: &Name, start: i64, end: i64) -> Option<SymId> {
    let mut members = storage.block(block)?.members.iter();
    let found = members.find(|m| m.named && (m.start, m.start + m.size) == (start, end));
    found.map(|m| m.sym)
}

fn warning(
    caller: &Unit,
    target: &Unit,
    given: &Expr,
    captured: SymId,
    (dummy, own): (SymId, SymId),
) -> Diagnostic {
    let (dummy, own) = (&target.symbols[dummy].name, &target.symbols[own].name);
    let captured = &caller.symbols[captured].name;
    let span = match given.span {
        Span::NONE => caller.name_span,
        span => span,
    };
    Diagnostic::warning(
        &rules::SHARED_ARGUMENT,
        span,
        format!(
            "{} gets here as {dummy} what it has as {own}, too, and assigns one of them",
            target.name
        ),
    )
    .label(format!("shares storage with {captured}"))
    .related(target.name_span, "this subprogram")
    .help("the compiler may take them for two variables: pass a copy, or use one name only")
}

/// Whether one dummy argument can replace the other.
fn alike(target: &Unit, a: SymId, b: SymId) -> bool {
    let (a, b) = (&target.symbols[a], &target.symbols[b]);
    let same = |x: &Option<Expr>, y: &Option<Expr>| match (x, y) {
        (None, None) => true,
        (Some(x), Some(y)) => x.equals_ignoring_spans(y),
        _ => false,
    };
    let mut dims = a.dims.iter().zip(&b.dims);
    a.is_variable()
        && b.is_variable()
        && a.ty == b.ty
        && a.dims.len() == b.dims.len()
        && dims.all(|(x, y): (&Dim, &Dim)| same(&x.lower, &y.lower) && same(&x.upper, &y.upper))
        && (a.ty != Some(Type::Character) || same(&a.length, &b.length))
}

/// Whether a block of a unit differentiates with respect to one of these variables. In the block a
/// dummy argument is a variable of its own, so they cannot be merged. Nor can they if one would
/// receive two cotangents.
fn independent(target: &Unit, both: [SymId; 2]) -> bool {
    let mut seeded_twice = false;
    walk_block(&target.body, &mut |s| {
        if let StmtKind::Ad(block) = &s.kind {
            let mut seeded = HashSet::new();
            for item in &block.opening {
                item.for_each_assign(&mut |a| seeded.extend(a.var.base()));
            }
            seeded_twice |= both[0] != both[1] && both.iter().all(|s| seeded.contains(s));
        }
    });
    seeded_twice || both.into_iter().any(|s| is_independent(target, s))
}

/// Makes the copy with these arguments merged. COMMON blocks are imported from the caller.
fn copy(
    target: &Unit,
    merge: &Merge,
    caller: &Unit,
    storage: &UnitStorage,
    taken: &mut HashSet<Name>,
) -> Unit {
    let mut copy = target.clone();
    let mut wanted = target.name.to_string();
    let mut import = Import::new(caller);
    let kept: Vec<Option<SymId>> = merge
        .iter()
        .map(|(_, kept)| match kept {
            MergedWith::Own(s) => Some(*s),
            MergedWith::Common(block, start, end) => {
                let theirs = named(storage, block, *start, *end)?;
                Some(import.symbol(&mut copy, theirs))
            }
        })
        .collect();
    let mut map: Vec<SymId> = copy.symbols.ids().collect();
    for ((i, _), kept) in merge.iter().zip(kept) {
        if let (Some(gone), Some(kept)) = (target.args[*i].sym(), kept) {
            wanted = format!("{wanted}_{}", target.symbols[gone].name);
            copy.undeclare(gone);
            map[gone.0 as usize] = kept;
        }
    }
    // Follows replacements by variables that are replaced themselves.
    for k in 0..map.len() {
        while map[map[k].0 as usize] != map[k] {
            map[k] = map[map[k].0 as usize];
        }
    }
    let mut position = 0;
    copy.args.retain(|_: &Arg| {
        position += 1;
        merge.iter().all(|(i, _)| i + 1 != position)
    });
    renumber(&mut copy, &map);
    // If two destinations have become one, the later one keeps its value.
    walk_block_mut(&mut copy.body, &mut |s| {
        if let StmtKind::Ad(block) = &mut s.kind {
            while let Some((_, lost)) = overwritten_items(&block.closing, false).first() {
                block.closing.remove(*lost);
            }
        }
    });
    for (id, to) in copy.symbols.ids().zip(&map) {
        if id != *to {
            // Nothing refers to it any more.
            let s = &mut copy.symbols[id];
            s.storage_class = StorageClass::Local;
            s.dims = Vec::new();
            s.length = None;
        }
    }
    let name = crate::ir::unused_name(&wanted, &|n| taken.contains(n));
    taken.insert(name.clone());
    if let Some(r) = copy.result
        && copy.symbols[r].name == copy.name
    {
        copy.symbols.rename(r, name.clone());
    }
    copy.name = name;
    if let Some(r) = copy.result {
        copy.declare(r);
    }
    copy
}
