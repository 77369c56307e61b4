//! Calls in a program: callers, callees and arguments.

use farfel_lang::ir::{
    Class, Expr, ExprKind, Name, Program, Stmt, StmtKind, StorageClass, SymId, Symbol, Unit,
    walk_block, walk_exprs,
};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// Adds all direct and indirect callers of procedures in the set.
pub(crate) fn spread(callees: &HashMap<Name, HashSet<Name>>, set: &mut HashSet<Name>) {
    loop {
        let before = set.len();
        for (unit, called) in callees {
            if !called.is_disjoint(set) {
                set.insert(unit.clone());
            }
        }
        if set.len() == before {
            return;
        }
    }
}

/// Returns every name by which the program's units can be called, including ENTRY names, with the unit that
/// it belongs to.
pub(crate) fn entries(program: &Program) -> HashMap<Name, Name> {
    let mut entries = HashMap::new();
    for unit in &program.units {
        let points = unit.entry_points();
        entries.extend(points.map(|e| (e.name.clone(), unit.name.clone())));
    }
    entries
}

/// Returns the callees of each unit of a program.
pub(crate) fn callees(program: &Program) -> HashMap<Name, HashSet<Name>> {
    let own = entries(program);
    let of = |unit: &Unit| {
        procedures(unit)
            .filter(|(_, s)| s.storage_class == StorageClass::Global)
            .filter_map(|(_, s)| own.get(&s.name).cloned())
            .collect()
    };
    program
        .units
        .iter()
        .map(|u| (u.name.clone(), of(u)))
        .collect()
}

/// Returns the procedures that a unit calls or passes on, except intrinsic ones.
pub(crate) fn procedures(unit: &Unit) -> impl Iterator<Item = (SymId, &Symbol)> {
    unit.symbols
        .iter()
        .filter(|(_, s)| s.class.is_procedure() && s.name != unit.name)
}

/// Returns a unit as seen by callers that use this name: for an ENTRY point, with its name, arguments and
/// result.
pub(crate) fn entered<'p>(program: &'p Program, name: &str) -> Option<Cow<'p, Unit>> {
    match program.unit(name) {
        Some(unit) => Some(Cow::Borrowed(unit)),
        None => program.units.iter().find_map(|u| entered_at(u, name)),
    }
}

/// Like [`entered`], for one unit, if this is one of its names.
pub(crate) fn entered_at<'u>(unit: &'u Unit, name: &str) -> Option<Cow<'u, Unit>> {
    let point = unit.entry_points().find(|e| e.name == name)?;
    let Some(entry) = point.statement else {
        return Some(Cow::Borrowed(unit));
    };
    // The comments that describe an ENTRY point precede it.
    let here = |s: &Stmt| matches!(&s.kind, StmtKind::Entry(e) if e.name == entry.name);
    let place = unit.body.iter().position(here).unwrap_or(0);
    let before = unit.body[..place].iter().rev();
    let mut comments: Vec<String> = before
        .map_while(|s| match &s.kind {
            StmtKind::Comment(text) => Some(text.to_string()),
            _ => None,
        })
        .collect();
    comments.reverse();
    Some(Cow::Owned(Unit {
        name: point.name.clone(),
        span: point.span,
        name_span: point.span,
        args: entry.args.clone(),
        result: point.result,
        typed_header: false,
        comments,
        ..unit.clone()
    }))
}

/// Calls `f` with every call in a unit: the procedure and its actual arguments.
pub(crate) fn for_each_call<'a>(unit: &'a Unit, f: &mut dyn FnMut(SymId, &'a [Expr])) {
    walk_block(&unit.body, &mut |s| {
        if let StmtKind::Call(callee, args) = &s.kind {
            f(*callee, args);
        }
    });
    let mut function = |e: &'a Expr| {
        if let ExprKind::Call(callee, args) = &e.kind
            && unit.symbols[*callee].class.is_procedure()
        {
            f(*callee, args);
        }
    };
    walk_exprs(&unit.body, &mut function);
    for (_, symbol) in unit.symbols.iter() {
        if let Class::StatementFunction(_, value) = &symbol.class {
            value.walk(&mut function);
        }
    }
}

/// Calls `f` with the names of procedures that are passed on as arguments.
pub(crate) fn for_each_passed(unit: &Unit, f: &mut dyn FnMut(&Name)) {
    for_each_call(unit, &mut |_, args| {
        for a in args {
            if let ExprKind::Var(s) = a.kind {
                let symbol = &unit.symbols[s];
                if symbol.class.is_procedure() && symbol.storage_class == StorageClass::Global {
                    f(&symbol.name);
                }
            }
        }
    });
}
