//! Replaces dummy procedures that always stand for the same procedure by it.
//!
//! After `specialize`, that is all of them that any call reaches. They stay until here so
//! that every stage before shows the subprograms with the arguments the user gave them.

use super::calls::{Constant, check_calls, for_each_call_mut, global};
use super::specialize::{class_and_type, procedure_values};
use super::stage::{Slot, Staged};
use crate::diagnostic::Diagnostic;
use crate::effects::procedure_dummies;
use crate::ir::{Class, Expr, ExprKind, Name, Place, Program, SymId, Symbol, Type, Unit};
use crate::source::Span;
use std::collections::{BTreeMap, HashMap, HashSet};

pub(super) fn propagate(
    program: &mut Program,
    roots: &HashSet<Name>,
    staged: &mut [Staged],
    diagnostics: &mut Vec<Diagnostic>,
) {
    let constants = constants(program, roots, staged);
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
    let layouts: HashMap<Name, (Name, Vec<Slot>)> = staged
        .iter()
        .map(|s| {
            (
                s.request.derivative.clone(),
                (s.request.head.clone(), s.layout.clone()),
            )
        })
        .collect();
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
                match layouts.get(callee) {
                    None => !dropped(callee, position - 1),
                    Some((head, layout)) => {
                        !matches!(layout.get(position - 1), Some(Slot::Primal(p)) if dropped(head, *p))
                    }
                }
            });
        });
    }
    for s in staged {
        let head = s.request.head.clone();
        let new = |p: usize| p - (0..p).filter(|q| dropped(&head, *q)).count();
        s.layout
            .retain(|slot| !matches!(slot, Slot::Primal(p) if dropped(&head, *p)));
        for slot in &mut s.layout {
            *slot = match *slot {
                Slot::Primal(p) => Slot::Primal(new(p)),
                Slot::Derivative(p) => Slot::Derivative(new(p)),
            };
        }
        for list in [
            &mut s.request.independents,
            &mut s.request.dependents,
            &mut s.request.paired,
        ] {
            list.iter_mut().for_each(|p| *p = new(*p));
        }
    }
}

/// The dummy procedures that stand for one procedure only, and which.
fn constants(
    program: &Program,
    roots: &HashSet<Name>,
    staged: &[Staged],
) -> BTreeMap<(Name, usize), Constant> {
    // A call of a derivative hands the head its procedures.
    let mut seen_as_heads = program.clone();
    let layouts: HashMap<&Name, &Staged> =
        staged.iter().map(|s| (&s.request.derivative, s)).collect();
    for unit in &mut seen_as_heads.units {
        let mut heads: HashMap<SymId, (Name, Vec<Slot>)> = HashMap::new();
        for (id, s) in unit.symbols.iter() {
            if let Some(staged) = layouts.get(&s.name)
                && s.place == Place::Global
            {
                heads.insert(id, (staged.request.head.clone(), staged.layout.clone()));
            }
        }
        let Unit { symbols, body, .. } = unit;
        for_each_call_mut(body, &mut |callee, args| {
            if let Some((head, layout)) = heads.get(callee) {
                let mut slots = layout.iter();
                args.retain(|_| matches!(slots.next(), Some(Slot::Primal(_))));
                *callee = match symbols.find(head) {
                    Some(s) => s,
                    None => {
                        let class = Class::Subroutine;
                        symbols.add(Symbol {
                            class,
                            place: Place::Global,
                            ..Symbol::new(head.clone(), Span::NONE)
                        })
                    }
                };
            }
        });
    }
    let all: HashSet<Name> = program.units.iter().map(|u| u.name.clone()).collect();
    procedure_values(&seen_as_heads, &all, roots)
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
