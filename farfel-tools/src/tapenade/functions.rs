//! Statement functions.
//!
//! The tool expands references to statement functions by replacing one dummy argument after the
//! other: if an actual argument has the name of a later dummy argument, it is replaced again. So in
//! the copy that the tool reads, the dummy arguments have unique names.

use farfel_lang::ir::{Class, SymId, Symbol, Unit};
use std::collections::HashMap;

/// Gives the dummy arguments of a unit's statement functions unique names.
pub(super) fn rename_dummies(unit: &mut Unit) {
    let functions: Vec<SymId> = unit
        .symbols
        .iter()
        .filter(|(_, s)| matches!(s.class, Class::StatementFunction(..)))
        .map(|(id, _)| id)
        .collect();
    for f in functions {
        let Class::StatementFunction(dummies, value) = unit.symbols[f].class.clone() else {
            continue;
        };
        let new: HashMap<SymId, SymId> = dummies
            .iter()
            .map(|old| {
                let s = &unit.symbols[*old];
                let wanted = format!("FARFEL_{}", s.name);
                let name = unit.symbols.unused(&wanted, &|_| false);
                let id = unit.symbols.add(Symbol {
                    typed: true,
                    length: s.length.clone(),
                    ..Symbol::variable(name, s.ty.unwrap_or(farfel_lang::ir::Type::REAL), s.span)
                });
                unit.declare(id);
                (*old, id)
            })
            .collect();
        let renamed = |s: &SymId| new.get(s).copied().unwrap_or(*s);
        let mut value = value;
        value.for_each_symbol_mut(&mut |s| *s = renamed(s));
        let dummies = dummies.iter().map(renamed).collect();
        unit.symbols[f].class = Class::StatementFunction(dummies, value);
    }
}
