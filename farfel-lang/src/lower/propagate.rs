//! Replaces dummy procedures that always stand for the same procedure by that procedure.
//!
//! After `specialize`, this applies to all dummy procedures that any call reaches. They remain
//! until this pass so that every earlier stage shows the subprograms with the arguments that the
//! user gave them.

use super::calls::{
    CallerView, KnownProcedure, caller_view_of, check_calls, check_intrinsic, for_each_call_mut,
    global,
};
use super::compact::ChangedUnits;
use super::companions::rebind_constants;
use super::passed_procedures::PassedProcedures;
use super::unfit_calls::{Callable, fit_calls};
use crate::callgraph::UnitIndex;
use crate::diagnostic::Diagnostic;
use crate::effects::procedure_dummies;
use crate::ir::{Expr, ExprKind, Name, Program, StorageClass, SymId, Unit};
use crate::source::Span;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Replaces the dummy procedures. Adds the names of the units that it changes to `changed`.
pub(super) fn propagate(
    program: &mut Program,
    roots: &HashSet<Name>,
    changed: &mut ChangedUnits,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let constants = constants(program, roots);
    if constants.is_empty() {
        return;
    }
    // Substitute within the units that have the dummy procedures.
    let mut kinds: HashMap<Name, CallerView> = HashMap::new();
    let mut targets: HashMap<Name, Callable> = HashMap::new();
    let index = UnitIndex::of(program);
    for unit in &program.units {
        for (position, dummy) in procedure_dummies(unit) {
            match constants.get(&(unit.name.clone(), position)) {
                Some(KnownProcedure::Global(name)) => {
                    if let Some(target) = index.unit(program, name) {
                        kinds.insert(name.clone(), caller_view_of(target));
                        targets.insert(name.clone(), Callable::of(target, 0));
                        check_calls(unit, dummy, target, 0, diagnostics);
                    }
                }
                Some(KnownProcedure::Intrinsic(name)) => {
                    check_intrinsic(unit, dummy, name, Span::NONE, diagnostics);
                }
                _ => {}
            }
        }
    }
    let mut of_others: HashMap<(Name, Name), &KnownProcedure> = HashMap::new();
    for unit in &program.units {
        for (position, s) in procedure_dummies(unit) {
            if let Some(constant) = constants.get(&(unit.name.clone(), position)) {
                let name = unit.symbols[s].name.clone();
                of_others.insert((unit.name.clone(), name), constant);
            }
        }
    }
    for unit in &mut program.units {
        let dummies: Vec<(usize, SymId)> = procedure_dummies(unit).collect();
        let names: Vec<(usize, Name)> = (dummies.iter())
            .map(|(position, s)| (*position, unit.symbols[*s].name.clone()))
            .collect();
        let mut bound: Vec<(Name, &KnownProcedure, bool)> = (names.into_iter())
            .filter_map(|(position, name)| {
                let constant = constants.get(&(unit.name.clone(), position))?;
                Some((name, constant, false))
            })
            .collect();
        // The subroutine of an AD block has the directives of its unit, and not all arguments of it.
        for given in &unit.directives {
            for derivative in given.tangent.iter().chain(&given.adjoint) {
                let own = unit.symbols.find(derivative);
                if own.is_none_or(|s| unit.symbols[s].storage_class != StorageClass::Dummy)
                    && let Some(of) = &given.dummy_of
                    && let Some(constant) = of_others.get(&(of.clone(), derivative.clone()))
                {
                    bound.push((derivative.clone(), constant, false));
                }
            }
        }
        rebind_constants(unit, bound.into_iter());
        for (position, dummy) in dummies {
            if let Some(constant) = constants.get(&(unit.name.clone(), position)) {
                if let KnownProcedure::Global(name) = constant
                    && let Some(target) = targets.get(name)
                {
                    fit_calls(unit, dummy, target);
                }
                substitute(unit, dummy, constant, &kinds);
            }
        }
    }
    // Remove the arguments, here and in the calls.
    let mut dropped: HashMap<Name, Vec<usize>> = HashMap::new();
    for (unit, position) in constants.into_keys() {
        dropped.entry(unit).or_default().push(position);
    }
    for unit in &mut program.units {
        let mut any = false;
        if let Some(positions) = dropped.get(&unit.name) {
            drop_at(&mut unit.args, positions);
            any = true;
        }
        let Unit { symbols, body, .. } = unit;
        for_each_call_mut(body, &mut |callee, args| {
            if let Some(positions) = global(symbols, *callee).and_then(|c| dropped.get(c)) {
                drop_at(args, positions);
                any = true;
            }
        });
        if any {
            changed.insert(unit.name.clone());
        }
    }
}

fn drop_at<T>(list: &mut Vec<T>, positions: &[usize]) {
    let mut position = 0;
    list.retain(|_| {
        position += 1;
        !positions.contains(&(position - 1))
    });
}

/// Returns the dummy procedures that stand for a single procedure, with that procedure.
fn constants(program: &Program, roots: &HashSet<Name>) -> BTreeMap<(Name, usize), KnownProcedure> {
    PassedProcedures::of(program, &vec![true; program.units.len()])
        .values(roots)
        .into_iter()
        .filter(|(_, v)| v.len() == 1 && !v.contains(&KnownProcedure::Outside))
        .filter_map(|(k, v)| Some((k, v.into_iter().next()?)))
        .collect()
}

fn substitute(
    unit: &mut Unit,
    dummy: SymId,
    constant: &KnownProcedure,
    kinds: &HashMap<Name, CallerView>,
) {
    let seen = unit.symbols[dummy].clone();
    let known = match constant {
        KnownProcedure::Global(name) => kinds.get(name).cloned(),
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
