//! The values that adjoints of heads leave in COMMON and SAVE variables.
//!
//! A subprogram may find values there that its previous call has left: tables that the first call fills, a
//! counter, the previous step. Reverse sweeps restore only some of the values that forward sweeps have
//! overwritten: without further care, the next call might find a flag that says that a table is filled when
//! the table is gone. So a head leaves the values that its forward sweep has left, which are those that the
//! subprogram itself leaves. Such values are computed even if the derivative does not need them, and those
//! that the reverse sweep changes are restored at the end:
//!
//! ```fortran
//!       ... the forward sweep ...
//!       A_COPY = A
//!       ... the reverse sweep ...
//!       A = A_COPY
//! ```
//!
//! AD blocks handle this themselves: they do not call the same subprograms as the program.

use super::AdjointEngine;
use super::effects::{Effects, StatementEffects};
use super::generated::GeneratedUnit;
use super::unit_builder::UnitBuilder;
use crate::locations::{Commons, Set, Space, common_members};
use farfel_lang::Span;
use farfel_lang::dataflow::procedures;
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::ir::{Expr, Name, Program, Stmt, StorageClass, SymId, Symbol, Type, Unit};
use farfel_lang::storage::UnitStorage;
use farfel_lang::storage::constant::{extents, integer};
use std::collections::{HashMap, HashSet};

/// For each of the given heads, the COMMON variables, by number, that it changes, and reads before setting
/// them. `real` is the size of a default REAL in bytes.
pub(super) fn of(
    program: &Program,
    heads: &[&str],
    commons: &Commons,
    real: u8,
) -> HashMap<Name, Set> {
    if commons.vars.is_empty() {
        return HashMap::new();
    }
    let all = procedures(program, real);
    let own = all
        .iter()
        .filter(|p| p.within.is_none() && p.entry.is_none());
    let own = own.filter(|p| heads.contains(&p.unit.name.as_str()));
    let state = own.map(|p| {
        let mut found = Set::with_capacity(commons.vars.len());
        for used in &p.commons {
            let Some(declared) = program.unit(&used.declared_in) else {
                continue;
            };
            let members = common_members(declared);
            let position = |name: &Name| {
                let members = members.get(&used.block)?;
                let is = |s: &SymId| declared.symbols[*s].name == *name;
                members.iter().position(is)
            };
            for (name, _) in used.variables.iter().filter(|(_, u)| u.reads && u.assigned) {
                let k = position(name).and_then(|at| commons.find(&used.block, at));
                found.extend(k);
            }
        }
        (p.unit.name.clone(), found)
    });
    state.collect()
}

/// Restores at the end of heads the state that their reverse sweeps change. `effects` are those of the
/// generated units. Returns warnings for variables that cannot be restored.
pub(super) fn restore(
    engine: &AdjointEngine,
    closure: &Program,
    made: &mut [GeneratedUnit],
    effects: &Effects,
) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    for m in made {
        let Some(reverse_start) = m.reverse_start.filter(|_| engine.goal.heads) else {
            continue;
        };
        let space = Space::of(&m.unit, &engine.commons);
        let mut touched = StatementEffects::nothing(space.len);
        for s in m.unit.body.iter().skip(reverse_start) {
            s.walk(&mut |s| effects.own(&m.unit, &space, s, &mut touched));
        }
        let (suffix, derivatives) = (engine.goal.suffix.clone(), m.derivatives.clone());
        let mut builder = UnitBuilder::new(m.unit.clone(), suffix, derivatives);
        let mut vars: Vec<SymId> = Vec::new();
        for (id, s) in builder.unit.symbols.iter() {
            let loc = space.loc(id);
            let own = s.is_variable()
                && s.storage_class == StorageClass::Local
                && !builder.derivatives.contains(&id);
            if own && !s.tape && space.saved.contains(loc) && touched.assigned.contains(loc) {
                vars.push(id);
            }
        }
        let state = engine.state.get(&m.of);
        for k in state.into_iter().flat_map(Set::ones) {
            if touched.assigned.contains(space.common(k)) {
                vars.extend(shared(engine, closure, &mut builder, k));
            }
        }
        vars.sort_unstable();
        vars.dedup();
        let mut keep = Vec::new();
        for s in vars {
            let (unit, symbol) = (&builder.unit, &builder.unit.symbols[s]);
            if !can_be_kept(unit, symbol) || extents(unit, &symbol.dims).is_none() {
                warnings.push(left(unit, &symbol.name));
                continue;
            }
            let copied = Copied::of(&mut builder, s);
            keep.push(copied.keep);
            builder.unit.body.push(copied.restore);
        }
        builder.unit.body.splice(reverse_start..reverse_start, keep);
        m.unit = builder.unit;
    }
    warnings
}

/// The symbols of a unit for a COMMON variable. The unit declares the block if it does not yet.
fn shared(
    engine: &AdjointEngine,
    closure: &Program,
    builder: &mut UnitBuilder,
    k: usize,
) -> Vec<SymId> {
    let v = &engine.commons.vars[k];
    let irregular = engine.commons.irregular.contains(&v.block);
    let at = |mut members: Vec<SymId>| match irregular {
        // The block is one location: all of its members.
        true => members,
        false if v.position < members.len() => vec![members.swap_remove(v.position)],
        false => Vec::new(),
    };
    if let Some(own) = common_members(&builder.unit).remove(&v.block) {
        return at(own);
    }
    match declaration(engine, closure, &v.block) {
        Some((from, members)) => at(builder.import(from, &v.block, &members)),
        None => Vec::new(),
    }
}

/// The unit that declares the largest part of a COMMON block, and the members there; `None` if other units
/// could not declare them.
pub(super) fn declaration<'a>(
    engine: &'a AdjointEngine,
    closure: &'a Program,
    block: &Name,
) -> Option<(&'a Unit, Vec<SymId>)> {
    let tangents = engine.parts.iter().map(|p| &p.builder.unit);
    let declares = |u: &&Unit| common_members(u).contains_key(block);
    let units = closure.units.iter().chain(tangents).filter(declares);
    let from = units.max_by_key(|u| (size(u, block), std::cmp::Reverse(&u.name)))?;
    let members = common_members(from).remove(block)?;
    let known = |s: &SymId| {
        let s = &from.symbols[*s];
        can_be_kept(from, s) && extents(from, &s.dims).is_some()
    };
    members.iter().all(known).then_some((from, members))
}

/// The size of a COMMON block in bytes, as a unit declares it.
fn size(unit: &Unit, block: &Name) -> i64 {
    let storage = UnitStorage::of_block(unit, block);
    storage.block(block).map_or(0, |a| a.size)
}

fn left(unit: &Unit, name: &Name) -> Diagnostic {
    let message = format!(
        "{} keeps {name} from call to call, and its adjoint leaves another value there",
        unit.name
    );
    Diagnostic::warning(&rules::AD_STORAGE, unit.name_span, message)
        .help("set it again before the next call")
}

/// Whether a variable can be copied to another one of its type.
fn can_be_kept(unit: &Unit, s: &Symbol) -> bool {
    let known = |l: &Expr| integer(unit, l).is_some();
    s.attributes.iter().count() == 0 && s.ty.is_some() && s.length.as_ref().is_none_or(known)
}

/// The statements that save a variable in another one and restore it.
struct Copied {
    /// Saves the value.
    keep: Stmt,
    /// Restores it.
    restore: Stmt,
}

impl Copied {
    /// Declares the variable that takes the copy.
    fn of(builder: &mut UnitBuilder, s: SymId) -> Self {
        let of = &builder.unit.symbols[s];
        let copy = Symbol {
            dims: of.dims.clone(),
            length: of.length.clone(),
            tape: of.dims.is_empty(),
            ..Symbol::variable(
                builder.unused(&format!("{}_COPY", of.name)),
                of.ty.unwrap_or(Type::REAL),
                Span::NONE,
            )
        };
        let copy = builder.declare(copy);
        Copied {
            keep: Stmt::assign(
                Expr::var(copy, Span::NONE),
                Expr::var(s, Span::NONE),
                Span::NONE,
            ),
            restore: Stmt::assign(
                Expr::var(s, Span::NONE),
                Expr::var(copy, Span::NONE),
                Span::NONE,
            ),
        }
    }
}

/// The units that assign local variables which are saved between calls, and those that may call them.
pub(super) fn keep_state(engine: &AdjointEngine, units: &[&Unit]) -> HashSet<Name> {
    let own = |u: &Unit| {
        let space = Space::of(u, &engine.commons);
        if space.saved.is_clear() {
            return false;
        }
        let touched = engine.touched_in(u, &space, &u.body);
        let saved = |(id, s): (SymId, &Symbol)| {
            let loc = space.loc(id);
            s.storage_class == StorageClass::Local
                && space.saved.contains(loc)
                && touched.assigned.contains(loc)
        };
        u.symbols.iter().any(saved)
    };
    let own: Vec<&Unit> = units.iter().copied().filter(|u| own(u)).collect();
    let mut found: HashSet<Name> = own.into_iter().map(|u| u.name.clone()).collect();
    if found.is_empty() {
        return found;
    }
    loop {
        let known = found.len();
        for u in units {
            // A dummy procedure may be any of them.
            let calls = |s: &Symbol| {
                let dummy = s.storage_class == StorageClass::Dummy;
                s.class.is_procedure() && (dummy || found.contains(&s.name))
            };
            if u.symbols.iter().any(|(_, s)| calls(s)) {
                found.insert(u.name.clone());
            }
        }
        if found.len() == known {
            return found;
        }
    }
}
