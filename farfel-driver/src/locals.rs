//! Allocates large local arrays of derivatives.
//!
//! gfortran puts variables that are too large for the stack into static memory, which all threads share. A
//! subprogram with such an array is known and takes the lock; but its derivative, which does not exist yet
//! when locks are assigned, may have larger arrays than the original, for example tangents in all directions.
//! Therefore, in libraries, these arrays are allocated in each call.

use crate::facts::is_large;
use crate::support::{END, Ending, intrinsic};
use farfel_lang::ir::{
    Allocation, Attribute, BinOp, Block, Class, Dim, Expr, Name, Origin, Program, SaveItem,
    SpecKind, Stmt, StmtKind, StorageClass, SymId, Symbol, Type, Unit,
};
use farfel_lang::storage::{UnitStorage, constant};
use std::collections::HashSet;

/// Allocates the large arrays in the units of a program that are not `known`.
pub(crate) fn allocate(program: &mut Program, known: &HashSet<&Name>) {
    for unit in &mut program.units {
        if !known.contains(&unit.name) {
            of_unit(unit);
        }
    }
}

fn of_unit(unit: &mut Unit) {
    let arrays = large(unit);
    if arrays.is_empty() {
        return;
    }
    let span = unit.span;
    // Execution from the first entry passes ENTRY points.
    let has_entries = unit.entry_points().nth(1).is_some();
    let allocated = match has_entries {
        true => match intrinsic(unit, "ALLOCATED") {
            None => return,
            function => function,
        },
        false => None,
    };
    let status = unit.symbols.unused("FARFEL_S", &|_| false);
    let status = Symbol::variable(status, Type::INTEGER, span);
    let status = unit.symbols.add(status);
    unit.declare(status);
    let end = unit.symbols.find(END).unwrap_or_else(|| {
        unit.symbols.add(Symbol {
            class: Class::Subroutine,
            storage_class: StorageClass::Global,
            origin: Origin::Generated,
            ..Symbol::new(END.into(), span)
        })
    });
    let mut made = Block::new();
    for id in arrays {
        let name = unit.symbols[id].name.clone();
        let open = |_: &Dim| Dim {
            lower: None,
            upper: None,
        };
        let bounds: Vec<Dim> = unit.symbols[id].dims.clone();
        unit.undeclare(id);
        let symbol = &mut unit.symbols[id];
        symbol.dims = bounds.iter().map(open).collect();
        symbol.attributes.insert(Attribute::Allocatable);
        unit.declare(id);
        let subscripts = bounds.into_iter().map(|d| match (d.lower, d.upper) {
            (None, Some(upper)) => upper,
            (lower, upper) => Expr::range(lower, upper, None, span),
        });
        let room = Expr::element(id, subscripts.collect(), span);
        let state = Expr::var(status, span);
        let allocation = Stmt::new(
            StmtKind::Allocation(Box::new(Allocation {
                free: false,
                objects: vec![room],
                control: vec![Expr::keyword("STAT", state.clone(), span)],
            })),
            span,
        );
        made.push(match allocated {
            Some(function) => {
                let is_there = Expr::call(function, vec![Expr::var(id, span)], span);
                Stmt::logical_if(Expr::not(is_there, span), allocation, span)
            }
            None => allocation,
        });
        let failed = Expr::binary(BinOp::Ne, state.clone(), Expr::int(0, span));
        let shown = format!("making room for {name}");
        let args = vec![
            Expr::int(Ending::Memory as i64, span),
            state,
            Expr::text(shown, span),
            Expr::text(unit.name.to_string(), span),
        ];
        made.push(Stmt::logical_if(failed, Stmt::call(end, args, span), span));
    }
    let none = Stmt::assign(Expr::var(status, span), Expr::int(0, span), span);
    made.insert(0, none);
    let entries = unit.body.iter().enumerate().rev();
    let entries = entries.filter(|(_, s)| matches!(s.kind, StmtKind::Entry(_)));
    let entries: Vec<usize> = entries.map(|(i, _)| i + 1).collect();
    for at in entries.into_iter().chain([0]) {
        unit.body.splice(at..at, made.iter().cloned());
    }
}

/// Returns the local arrays of a unit that would be static only because of their size.
fn large(unit: &Unit) -> Vec<SymId> {
    let mut kept = HashSet::new();
    for spec in &unit.specs {
        match &spec.kind {
            SpecKind::Save(items) if items.is_empty() => return Vec::new(),
            SpecKind::Save(items) => kept.extend(items.iter().filter_map(|i| match i {
                SaveItem::Var(s) => Some(*s),
                SaveItem::Common(_) => None,
            })),
            SpecKind::Data(sets) => {
                let targets = sets.iter().flat_map(|s| &s.targets);
                kept.extend(targets.flat_map(crate::facts::initialised));
            }
            _ => {}
        }
    }
    let storage = UnitStorage::of(unit);
    let wanted = |(id, s): (SymId, &Symbol)| {
        let own = s.storage_class == StorageClass::Local && s.is_variable() && s.is_array();
        let plain = s.attributes == Default::default() && !s.saved && s.init.is_none();
        let constant = constant::extents(unit, &s.dims).is_some();
        let alone = storage.range(id).is_none() && !kept.contains(&id);
        (own && plain && constant && alone && is_large(unit, s)).then_some(id)
    };
    unit.symbols.iter().filter_map(wanted).collect()
}
