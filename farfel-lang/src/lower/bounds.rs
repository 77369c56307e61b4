//! Array bounds and character lengths that depend on variables which change.
//!
//! An array keeps the bounds that it has on entry to its unit. Code that declares it again or loops
//! over its elements must see the same bounds, so the values on which they depend are saved.

use super::calls::{for_each_call, has_ad_blocks};
use crate::effects::Assigned;
use crate::ir::{
    Arg, Attributes, Class, Dim, Expr, ExprKind, Name, Program, SpecKind, Stmt, StmtKind,
    StorageClass, SymId, Symbol, Type, Unit,
};
use crate::types::type_of;
use std::collections::{HashMap, HashSet};

/// Returns, for units with AD blocks, the variables on which array bounds depend and which the unit
/// may change, directly or through calls.
pub(super) fn changing(program: &Program) -> HashMap<Name, HashSet<SymId>> {
    let with_blocks = program.units.iter().filter(|u| has_ad_blocks(&u.body));
    let concerned: Vec<(&Unit, HashSet<SymId>)> = with_blocks
        .map(|u| (u, bound_variables(u)))
        .filter(|(_, bounds)| !bounds.is_empty())
        .collect();
    if concerned.is_empty() {
        return HashMap::new();
    }
    let assigned = Assigned::of(program);
    concerned
        .into_iter()
        .map(|(unit, mut bounds)| {
            let changed = may_change(unit, &assigned);
            bounds.retain(|s| changed.contains(s));
            (unit.name.clone(), bounds)
        })
        .collect()
}

/// Returns, for every unit of a program whose units are still nested, each before those nested in
/// it, the variables on which the bounds of its arrays depend and which may change while the unit
/// executes. The set is empty for units without nested ones, as nothing else sees their arrays.
pub(super) fn changing_around(program: &Program) -> Vec<HashSet<SymId>> {
    fn count(unit: &Unit) -> usize {
        1 + unit.nested.iter().map(count).sum::<usize>()
    }
    fn concerned(unit: &Unit) -> bool {
        let own = || !bound_variables(unit).is_empty();
        !unit.nested.is_empty() && (own() || unit.nested.iter().any(concerned))
    }
    let mut found = Vec::new();
    let mut analysed = None;
    for unit in &program.units {
        if concerned(unit) {
            let (assigned, closures) = analysed.get_or_insert_with(|| {
                let assigned = Assigned::of(program);
                let closures = closures_may_assign(program, &assigned);
                (assigned, closures)
            });
            visit_nest(unit, &HashSet::new(), assigned, *closures, &mut found);
        } else {
            found.resize(found.len() + count(unit), HashSet::new());
        }
    }
    found
}

fn visit_nest(
    unit: &Unit,
    changing_outside: &HashSet<SymId>,
    assigned: &Assigned,
    closures: bool,
    found: &mut Vec<HashSet<SymId>>,
) {
    let mut changing = may_change(unit, assigned);
    let gets_closures = closures && mentions_dummy_procedure(unit);
    for (id, s) in unit.symbols.iter() {
        let changes = match s.storage_class {
            StorageClass::Host(outer) => changing_outside.contains(&outer),
            StorageClass::Dummy => gets_closures && s.class == Class::Variable,
            _ => false,
        };
        if changes {
            changing.insert(id);
        }
    }
    let mut own = bound_variables(unit);
    own.retain(|s| changing.contains(s));
    found.push(own);
    for n in &unit.nested {
        visit_nest(n, &changing, assigned, closures, found);
    }
}

/// Whether some nested subprogram assigns an integer of its host, and some nested subprogram is
/// passed as an argument. If so, a unit that receives one may find a dummy argument changed by
/// calling it.
fn closures_may_assign(program: &Program, assigned: &Assigned) -> bool {
    fn any(unit: &Unit, of: &dyn Fn(&Unit) -> bool) -> bool {
        of(unit) || unit.nested.iter().any(|n| any(n, of))
    }
    let assigns = |u: &Unit| {
        let targets = assigned.in_unit(u);
        targets.iter().map(|s| &u.symbols[*s]).any(|s| {
            matches!(s.storage_class, StorageClass::Host(_))
                && matches!(s.ty, Some(Type::Integer(_)))
        })
    };
    let passes = |u: &Unit| {
        let mut found = false;
        for_each_call(&u.body, &mut |_, args| {
            for a in args {
                if let ExprKind::Var(s) = a.kind {
                    let s = &u.symbols[s];
                    let nested =
                        matches!(s.storage_class, StorageClass::Local | StorageClass::Host(_));
                    found |= s.class.is_procedure() && nested;
                }
            }
        });
        found
    };
    let nests = || program.units.iter().filter(|u| !u.nested.is_empty());
    nests().any(|u| any(u, &passes)) && nests().any(|u| any(u, &assigns))
}

/// Whether a unit, or one nested in it, calls a dummy procedure or passes it on.
fn mentions_dummy_procedure(unit: &Unit) -> bool {
    let mut symbols = unit.symbols.iter();
    symbols.any(|(_, s)| s.class.is_procedure() && s.storage_class == StorageClass::Dummy)
        || unit.nested.iter().any(mentions_dummy_procedure)
}

/// Returns the variables of a unit that may change after its entry: in the unit, in those nested in
/// it, and through calls.
fn may_change(unit: &Unit, assigned: &Assigned) -> HashSet<SymId> {
    let mut found = assigned.in_unit(unit);
    for spec in &unit.specs {
        if let SpecKind::Equivalence(groups) = &spec.kind {
            found.extend(groups.iter().flatten().filter_map(Expr::base));
        }
    }
    // Callees may change COMMON variables.
    let common = |s: &Symbol| matches!(s.storage_class, StorageClass::Common(_));
    found.extend(
        unit.symbols
            .iter()
            .filter(|(_, s)| common(s))
            .map(|(id, _)| id),
    );
    found
}

/// Returns the variables on which the bounds and lengths of a unit's own declarations depend.
pub(super) fn bound_variables(unit: &Unit) -> HashSet<SymId> {
    let mut found = HashSet::new();
    let host = |s: &Symbol| matches!(s.storage_class, StorageClass::Host(_));
    for (_, s) in unit.symbols.iter().filter(|(_, s)| !host(s)) {
        for e in bounds(s) {
            e.for_each_symbol(&mut |s| {
                if unit.symbols[s].class == Class::Variable {
                    found.insert(s);
                }
            });
        }
    }
    found
}

/// Returns the bounds of a variable, and its length.
pub(super) fn bounds(s: &Symbol) -> impl Iterator<Item = &Expr> {
    let dims = s.dims.iter().flat_map(|d| d.lower.iter().chain(&d.upper));
    dims.chain(&s.length)
}

/// Like [`bounds`], but mutable.
pub(super) fn bounds_mut<'s>(
    dims: &'s mut [Dim],
    length: &'s mut Option<Expr>,
) -> impl Iterator<Item = &'s mut Expr> {
    let dims = dims.iter_mut();
    dims.flat_map(|d| d.lower.iter_mut().chain(&mut d.upper))
        .chain(length)
}

/// The values on entry to a unit on which the bounds of its arrays depend.
#[derive(Debug, Clone, Default)]
pub(super) struct EntryBounds {
    /// The variables that may change.
    changing: HashSet<SymId>,
    /// Parts of bounds, with the variables that save their values on entry.
    saved: Vec<(Expr, SymId)>,
}

impl EntryBounds {
    /// Creates an empty table for a unit in which these variables may change.
    pub fn of(changing: HashSet<SymId>) -> Self {
        let saved = Vec::new();
        EntryBounds { changing, saved }
    }

    /// Whether no bound changes.
    pub fn is_steady(&self) -> bool {
        self.changing.is_empty()
    }

    /// Returns the variables that hold saved values.
    pub fn variables(&self) -> impl Iterator<Item = SymId> + '_ {
        self.saved.iter().map(|(_, s)| *s)
    }

    /// Returns a variable of the unit with the bounds and the length that it had on entry to the
    /// unit. Adds variables for saved values to the unit where needed.
    pub fn seen(&mut self, unit: &mut Unit, s: SymId, taken: &HashSet<Name>) -> Symbol {
        let mut seen = unit.symbols[s].clone();
        if !self.is_steady() {
            for e in bounds_mut(&mut seen.dims, &mut seen.length) {
                self.save(unit, e, taken);
            }
        }
        seen
    }

    /// Replaces the parts of a bound that may change.
    fn save(&mut self, unit: &mut Unit, bound: &mut Expr, taken: &HashSet<Name>) {
        match &mut bound.kind {
            ExprKind::Unary(_, a) | ExprKind::Paren(a) => return self.save(unit, a, taken),
            ExprKind::Binary(_, a, b) => {
                self.save(unit, a, taken);
                return self.save(unit, b, taken);
            }
            _ => {}
        }
        let Some(of) = first_changing(unit, bound, &self.changing) else {
            return;
        };
        let saved = match self
            .saved
            .iter()
            .find(|(e, _)| e.equals_ignoring_spans(bound))
        {
            Some((_, saved)) => *saved,
            None => {
                let of = &unit.symbols[of];
                let wanted = format!("{}_B", of.name);
                let name = unit.symbols.unused(&wanted, &|n| taken.contains(n));
                let ty = type_of(unit, bound).unwrap_or(Type::INTEGER);
                let saved = Symbol::variable(name, ty, of.span);
                let saved = unit.symbols.add(Symbol {
                    attributes: Attributes::default(),
                    ..saved
                });
                unit.declare(saved);
                self.saved.push((bound.clone(), saved));
                saved
            }
        };
        bound.kind = ExprKind::Var(saved);
    }

    /// Adds the statements that save the values to the statements of the unit: at the beginning,
    /// and after each ENTRY.
    pub fn save_at_entries(&self, unit: &Unit, body: Vec<Stmt>) -> Vec<Stmt> {
        if self.saved.is_empty() {
            return body;
        }
        let save = |args: &[Arg]| -> Vec<Stmt> {
            let known = |e: &Expr| {
                let mut known = true;
                e.for_each_symbol(&mut |s| {
                    let dummy = unit.symbols[s].storage_class == StorageClass::Dummy;
                    known &= !dummy || args.iter().any(|a| a.sym() == Some(s));
                });
                known
            };
            let saved = self.saved.iter().filter(|(e, _)| known(e));
            saved
                .map(|(e, saved)| {
                    let span = unit.symbols[*saved].span;
                    Stmt::assign(Expr::var(*saved, span), e.clone(), span)
                })
                .collect()
        };
        let mut out = save(&unit.args);
        for s in body {
            let entry = match &s.kind {
                StmtKind::Entry(e) => save(&e.args),
                _ => Vec::new(),
            };
            out.push(s);
            out.extend(entry);
        }
        out
    }
}

/// Returns the first of these variables on whose value an expression depends.
fn first_changing(unit: &Unit, e: &Expr, changing: &HashSet<SymId>) -> Option<SymId> {
    let found = |s: SymId| changing.contains(&s).then_some(s);
    match &e.kind {
        ExprKind::Var(s) => found(*s),
        ExprKind::Call(s, _) if unit.symbols[*s].class.is_inquiry() => None,
        ExprKind::Element(s, _) if changing.contains(s) => Some(*s),
        _ => {
            let mut children = e.children().into_iter();
            children.find_map(|c| first_changing(unit, c, changing))
        }
    }
}
