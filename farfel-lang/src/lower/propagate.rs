//! Replaces dummy procedures that always stand for the same procedure by it.
//!
//! After `specialize`, that is all of them that any call reaches. They stay until here so
//! that every stage before shows the subprograms with the arguments the user gave them.

use super::calls::{Constant, check_calls, for_each_call_mut, global};
use super::specialize::{class_and_type, procedure_values};
use crate::diagnostic::Diagnostic;
use crate::effects::procedure_dummies;
use crate::ir::{Class, Expr, ExprKind, Name, Program, SymId, Type, Unit};
use std::collections::{BTreeMap, HashMap, HashSet};

pub(super) fn propagate(
    program: &mut Program,
    roots: &HashSet<Name>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let constants = constants(program, roots);
    // Substitute inside the units that have the dummy procedures.
    let kinds: HashMap<Name, (Class, Option<Type>)> = program
        .units
        .iter()
        .map(|u| (u.name.clone(), class_and_type(u)))
        .collect();
    for unit in &program.units {
        for (position, dummy) in procedure_dummies(unit) {
            if let Some(Constant::Global(name)) = constants.get(&(unit.name.clone(), position))
                && let Some(target) = program.unit(name)
            {
                check_calls(unit, dummy, target, 0, diagnostics);
            }
        }
    }
    for unit in &mut program.units {
        let dummies: Vec<(usize, SymId)> = procedure_dummies(unit).collect();
        for (position, dummy) in dummies {
            if let Some(constant) = constants.get(&(unit.name.clone(), position)) {
                substitute(unit, dummy, constant, &kinds);
            }
        }
    }
    // Drop the arguments, here and in the calls.
    let dropped = |unit: &Name, position: usize| constants.contains_key(&(unit.clone(), position));
    for unit in &mut program.units {
        let name = unit.name.clone();
        let mut position = 0;
        unit.args.retain(|_| {
            position += 1;
            !dropped(&name, position - 1)
        });
        let Unit { symbols, body, .. } = unit;
        for_each_call_mut(body, &mut |callee, args| {
            let Some(callee) = global(symbols, *callee) else {
                return;
            };
            let mut position = 0;
            args.retain(|_| {
                position += 1;
                !dropped(callee, position - 1)
            });
        });
    }
}

/// The dummy procedures that stand for one procedure only, and which.
fn constants(program: &Program, roots: &HashSet<Name>) -> BTreeMap<(Name, usize), Constant> {
    let all: HashSet<Name> = program.units.iter().map(|u| u.name.clone()).collect();
    procedure_values(program, &all, roots)
        .into_iter()
        .filter(|(_, v)| v.len() == 1 && !v.contains(&Constant::Outside))
        .filter_map(|(k, v)| Some((k, v.into_iter().next()?)))
        .collect()
}

fn substitute(
    unit: &mut Unit,
    dummy: SymId,
    constant: &Constant,
    kinds: &HashMap<Name, (Class, Option<Type>)>,
) {
    let seen = unit.symbols[dummy].clone();
    let known = match constant {
        Constant::Global(name) => kinds.get(name).cloned(),
        _ => None,
    };
    unit.undeclare(dummy);
    let new = constant.symbol(unit, known, (dummy, &seen));
    crate::ir::rewrite_exprs(&mut unit.body, &mut |e| {
        if e.kind == ExprKind::Var(dummy) {
            *e = Expr::var(new, e.span);
        }
    });
    for_each_call_mut(&mut unit.body, &mut |callee, _| {
        if *callee == dummy {
            *callee = new;
        }
    });
}
