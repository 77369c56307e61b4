//! Statement functions that refer to procedures which lowering changes.
//!
//! A statement function may call a nested subprogram or a dummy procedure, or pass procedures on.
//! Passes only look at calls in statements, so such a statement function becomes an equivalent
//! nested function of the same name.

use crate::ir::{
    Arg, Class, Expr, ExprKind, Origin, Program, SpecKind, Stmt, StorageClass, SymId, Symbol,
    Symbols, Unit, UnitKind,
};

/// Turns these statement functions into functions.
pub(super) fn to_functions(program: &mut Program) {
    for unit in &mut program.units {
        visit(unit);
    }
}

fn visit(unit: &mut Unit) {
    // Converting one may make it necessary to convert another one that refers to it.
    while let Some(id) = unit.symbols.ids().find(|id| concerned(unit, *id)) {
        convert(unit, id);
    }
    unit.nested.iter_mut().for_each(visit);
}

fn concerned(unit: &Unit, id: SymId) -> bool {
    let s = &unit.symbols[id];
    let Class::StatementFunction(_, e) = &s.class else {
        return false;
    };
    // The class of a link is determined by its host.
    if matches!(s.storage_class, StorageClass::Host(_)) {
        return false;
    }
    let procedure = |s: &Symbol| s.class.is_procedure() && s.storage_class != StorageClass::Global;
    let mut found = false;
    e.walk(&mut |e| {
        if let ExprKind::Call(callee, args) = &e.kind {
            let passes = |a: &Expr| {
                matches!(a.kind, ExprKind::Var(s) if unit.symbols[s].class.is_procedure())
            };
            found |= procedure(&unit.symbols[*callee]) || args.iter().any(passes);
        }
    });
    found
}

fn convert(unit: &mut Unit, id: SymId) {
    let seen = unit.symbols[id].clone();
    let Class::StatementFunction(dummies, value) = &seen.class else {
        return;
    };
    let mut function = Unit::new(UnitKind::Function, seen.name.clone(), seen.span);
    function.directives.clone_from(&unit.directives);
    function.origin = Origin::Generated;
    function.sizes = unit.sizes;
    let variable = |s: &Symbol, place: StorageClass| Symbol {
        ty: s.ty,
        typed: true,
        length: s.length.clone(),
        class: Class::Variable,
        storage_class: place,
        ..Symbol::new(s.name.clone(), s.span)
    };
    let result = function.symbols.add(variable(&seen, StorageClass::Result));
    function.result = Some(result);
    let mut map: Vec<(SymId, SymId)> = Vec::new();
    for d in dummies {
        let ours = function
            .symbols
            .add(variable(&unit.symbols[*d], StorageClass::Dummy));
        function.args.push(Arg::Dummy(ours));
        map.push((*d, ours));
    }
    let mut value = (**value).clone();
    value.for_each_symbol_mut(&mut |s| {
        *s = symbol(&unit.symbols, &mut function.symbols, *s, &mut map)
    });
    let target = Expr::var(result, seen.span);
    function.body = vec![Stmt::assign(target, value, seen.span)];
    for id in function.symbols.ids() {
        if !matches!(
            function.symbols[id].storage_class,
            StorageClass::Host(_) | StorageClass::Global
        ) {
            function.declare(id);
        }
    }
    unit.specs
        .retain(|s| s.kind != SpecKind::StatementFunction(id));
    unit.symbols[id].class = Class::Function;
    unit.symbols[id].storage_class = StorageClass::Local;
    unit.nested.iter_mut().for_each(|n| link_to_function(n, id));
    unit.nested.push(function);
}

/// Returns the symbol of the function for a symbol of the unit around it.
fn symbol(outer: &Symbols, inner: &mut Symbols, id: SymId, map: &mut Vec<(SymId, SymId)>) -> SymId {
    if let Some((_, ours)) = map.iter().find(|(theirs, _)| *theirs == id) {
        return *ours;
    }
    let seen = &outer[id];
    let place = match &seen.storage_class {
        StorageClass::Global => StorageClass::Global,
        _ if matches!(seen.class, Class::Intrinsic(_)) => StorageClass::Local,
        _ => StorageClass::Host(id),
    };
    let ours = inner.add(Symbol {
        name: inner.unused(&seen.name, &|_| false),
        storage_class: place,
        saved: false,
        init: None,
        ..seen.clone()
    });
    map.push((id, ours));
    ours
}

/// Links to the statement function are now links to a function.
fn link_to_function(unit: &mut Unit, outer: SymId) {
    for id in unit.symbols.ids() {
        if unit.symbols[id].storage_class == StorageClass::Host(outer) {
            unit.symbols[id].class = Class::Function;
            unit.nested.iter_mut().for_each(|n| link_to_function(n, id));
        }
    }
}
