//! Makes a unit declare everything, so that a compiler finds names that nothing declares.

use super::compact::{SharedStorage, used};
use crate::ir::{
    Class, Entity, Implicit, SaveItem, Spec, SpecKind, SymId, Symbol, Type, Unit, UnitKind,
};
use std::collections::HashSet;

/// Adds IMPLICIT NONE, and declares the types that the implicit rules gave so far. `elsewhere` tells the
/// names that the text of INCLUDE files declares.
pub fn declare_all(unit: &mut Unit, elsewhere: &dyn Fn(&Symbol) -> bool) {
    let mut names = used(unit, SharedStorage::Kept);
    let (mut typed, mut external) = (HashSet::new(), HashSet::new());
    for spec in &unit.specs {
        let mut name = |s: SymId| names[s.0 as usize] = true;
        match &spec.kind {
            SpecKind::External(list) => external.extend(list.iter().copied()),
            SpecKind::Type(_, list) => typed.extend(list.iter().map(|e| e.sym)),
            SpecKind::Attribute(_, list) => list.iter().for_each(|e| name(e.sym)),
            SpecKind::Dimension(list) | SpecKind::Parameter(list) => {
                list.iter().for_each(|s| name(*s));
            }
            SpecKind::Save(items) => items.iter().for_each(|i| {
                if let SaveItem::Var(s) = i {
                    name(*s);
                }
            }),
            _ => {}
        }
    }
    if unit.kind == UnitKind::Function && unit.typed_header {
        typed.extend(unit.result);
    }
    let mut types: Vec<(Type, Vec<Entity>)> = Vec::new();
    for (sym, s) in unit.symbols.iter() {
        let has_type = matches!(
            s.class,
            Class::Variable | Class::Parameter(_) | Class::StatementFunction(..) | Class::Function
        );
        let Some(ty) = s.ty.filter(|_| has_type && names[sym.0 as usize]) else {
            continue;
        };
        if typed.contains(&sym) || s.is_component() || elsewhere(s) {
            continue;
        }
        let entity = Entity { sym, dims: false };
        match types.iter_mut().find(|(t, _)| *t == ty) {
            Some((_, list)) => list.push(entity),
            None => types.push((ty, vec![entity])),
        }
    }
    unit.implicit = Implicit {
        none: true,
        ..Implicit::default()
    };
    unit.specs.retain(|s| s.kind != SpecKind::Implicit);
    // A dummy procedure that the unit neither calls nor passes on has no use that would tell what it is.
    let dummies = unit.args.iter().filter_map(|a| a.sym());
    let procedures: Vec<SymId> = dummies
        .filter(|s| unit.symbols[*s].class.is_procedure() && !external.contains(s))
        .collect();
    if !procedures.is_empty() {
        unit.add_spec(SpecKind::External(procedures), unit.span);
    }
    // PARAMETER needs the types of its constants, so they are declared first.
    let declared = types.into_iter().map(|(ty, list)| Spec {
        kind: SpecKind::Type(ty, list),
        span: unit.span,
    });
    unit.specs.splice(..0, declared);
}
