//! Ensures that actual arguments which are expressions are passed by value: if the callee assigns
//! its dummy argument, only a copy changes.
//!
//! Compilers make the copy themselves, except for two kinds of expression. They keep constants in
//! read-only memory, so that a program crashes if a subprogram assigns a dummy argument that is the
//! constant 1; and gfortran treats `(C)` as C if C is of type CHARACTER. So `CALL S(1, (C))`
//! becomes `CALL S((VALUE), C//'')` if S assigns the first argument, with VALUE set to 1 on entry.

use super::calls::{for_each_call_mut, global};
use super::naming::taken_names;
use crate::effects::{Assigned, is_constant};
use crate::ir::{
    BinOp, Class, Expr, ExprKind, Name, Program, Stmt, StmtKind, SymId, Symbol, Type, Unit,
};
use crate::storage::{Constants, Value};
use crate::types::{rank, type_of};
use std::collections::HashSet;

/// Passes actual arguments that are expressions by value where compilers do not.
pub fn pass_values(program: &mut Program) {
    let mut assigned: Option<Assigned> = None;
    let mut taken: Option<HashSet<Name>> = None;
    for at in 0..program.units.len() {
        let found = ArgumentKinds::of(&program.units[at]);
        if found.texts {
            strings(&mut program.units[at]);
        }
        if !found.constants {
            continue;
        }
        let assigned = assigned.get_or_insert_with(|| Assigned::of(program));
        let taken = taken.get_or_insert_with(|| taken_names(program));
        constants(&mut program.units[at], assigned, taken);
    }
}

/// The kinds of arguments that the calls of a unit pass.
#[derive(Default)]
struct ArgumentKinds {
    texts: bool,
    constants: bool,
}

impl ArgumentKinds {
    fn of(unit: &Unit) -> Self {
        let mut found = ArgumentKinds::default();
        let mut look = |callee: SymId, args: &[Expr]| {
            if !is_procedure(unit, callee) {
                return;
            }
            for a in args {
                found.texts |= text_in_parentheses(unit, a).is_some();
                found.constants |= is_constant(unit, a);
            }
        };
        super::calls::for_each_call(&unit.body, &mut look);
        for (_, s) in unit.symbols.iter() {
            if let Class::StatementFunction(_, value) = &s.class {
                value.walk(&mut |e| {
                    if let ExprKind::Call(callee, args) = &e.kind {
                        look(*callee, args);
                    }
                });
            }
        }
        found
    }
}

fn is_procedure(unit: &Unit, callee: SymId) -> bool {
    let class = &unit.symbols[callee].class;
    !matches!(class, Class::Intrinsic(_) | Class::StatementFunction(..))
}

/// Calls `f` with the procedure and the actual arguments of every call, including those in
/// statement functions.
fn each_call(unit: &mut Unit, f: &mut dyn FnMut(&mut Unit, SymId, &mut Vec<Expr>)) {
    let mut body = std::mem::take(&mut unit.body);
    for_each_call_mut(&mut body, &mut |callee, args| {
        if is_procedure(unit, *callee) {
            f(unit, *callee, args);
        }
    });
    unit.body = body;
    for id in unit.symbols.ids().collect::<Vec<_>>() {
        let Class::StatementFunction(dummies, mut value) = unit.symbols[id].class.clone() else {
            continue;
        };
        value.rewrite(&mut |e| {
            if let ExprKind::Call(callee, args) = &mut e.kind
                && is_procedure(unit, *callee)
            {
                f(unit, *callee, args);
            }
        });
        unit.symbols[id].class = Class::StatementFunction(dummies, value);
    }
}

/// Returns C in `(C)` if it is a CHARACTER variable.
fn text_in_parentheses<'e>(unit: &Unit, e: &'e Expr) -> Option<&'e Expr> {
    let mut inner = e;
    while let ExprKind::Paren(a) = &inner.kind {
        inner = a;
    }
    let inside = matches!(e.kind, ExprKind::Paren(_)) && inner.base().is_some();
    (inside && type_of(unit, inner) == Some(Type::Character)).then_some(inner)
}

/// Replaces `(C)` by `C//''`.
fn strings(unit: &mut Unit) {
    each_call(unit, &mut |unit, _, args| {
        for a in args {
            if let Some(text) = text_in_parentheses(unit, a) {
                let nothing = Expr::text(String::new(), a.span);
                *a = Expr::binary(BinOp::Concat, text.clone(), nothing);
            }
        }
    });
}

/// Replaces constants that a callee assigns by the values of variables.
fn constants(unit: &mut Unit, assigned: &Assigned, taken: &HashSet<Name>) {
    let mut kept: Vec<(SymId, Expr)> = Vec::new();
    each_call(unit, &mut |unit, callee, args| {
        let Some(name) = global(&unit.symbols, callee).cloned() else {
            return;
        };
        for (i, a) in args.iter_mut().enumerate() {
            // The effects of a procedure without source are unknown; most only read their
            // arguments.
            let set = assigned.knows(&name) && assigned.argument(&name, i);
            if !set || !is_constant(unit, a) || rank(unit, a) > 0 {
                continue;
            }
            let known = kept
                .iter()
                .find(|(_, value)| value.equals_ignoring_spans(a));
            let variable = known.map(|(s, _)| *s).or_else(|| variable(unit, a, taken));
            let Some(variable) = variable else { continue };
            let span = a.span;
            let value = Expr::var(variable, span);
            let passed = match unit.symbols[variable].ty {
                Some(Type::Character) => {
                    Expr::binary(BinOp::Concat, value, Expr::text(String::new(), span))
                }
                _ => Expr::parens(value, span),
            };
            let constant = std::mem::replace(a, passed);
            if kept.iter().all(|(s, _)| *s != variable) {
                kept.push((variable, constant));
            }
        }
    });
    if kept.is_empty() {
        return;
    }
    let set: Vec<Stmt> = kept
        .into_iter()
        .map(|(s, value)| Stmt::assign(Expr::var(s, value.span), value.clone(), value.span))
        .collect();
    let body = std::mem::take(&mut unit.body);
    unit.body = set.clone();
    for s in body {
        let entry = matches!(s.kind, StmtKind::Entry(_));
        unit.body.push(s);
        if entry {
            unit.body.extend(set.iter().cloned());
        }
    }
}

/// Adds a variable for a constant.
fn variable(unit: &mut Unit, constant: &Expr, taken: &HashSet<Name>) -> Option<SymId> {
    let span = constant.span;
    let ty = type_of(unit, constant)?;
    let length = match ty {
        Type::Character => match Constants::of(unit).value(constant)? {
            Value::Character(text) => {
                let length = i64::try_from(text.chars().count()).ok()?;
                Some(Expr::int(length, span))
            }
            _ => return None,
        },
        _ => None,
    };
    let name = unit.symbols.unused("VALUE", &|n| taken.contains(n));
    let id = unit.symbols.add(Symbol {
        length,
        ..Symbol::variable(name, ty, span)
    });
    unit.declare(id);
    Some(id)
}
