//! Functions whose result is converted by the assignment.
//!
//! Of `Y = F(X)` the tool makes a call that puts the result of F straight into Y, of
//! whatever type Y is. So where the types differ, the copy that it gets says
//! `T = F(X)` and `Y = T`.

use farfel_lang::ir::{
    Block, Class, DoEnd, Expr, ExprKind, IfBlock, Label, Stmt, StmtKind, Symbol, Type, Unit,
};
use farfel_lang::types::type_of;
use std::collections::HashSet;

/// Separates calls and conversions in a unit.
pub(super) fn separate(unit: &mut Unit) {
    let mut body = std::mem::take(&mut unit.body);
    let mut ends = HashSet::new();
    loop_ends(&body, &mut ends);
    in_block(unit, &mut body, &ends);
    unit.body = body;
}

/// The labels on which loops end.
fn loop_ends(block: &Block, ends: &mut HashSet<Label>) {
    for s in block {
        if let StmtKind::Do(d) = &s.kind
            && let DoEnd::Label(l) = d.end
        {
            ends.insert(l);
        }
        s.blocks().into_iter().for_each(|b| loop_ends(b, ends));
    }
}

fn in_block(unit: &mut Unit, block: &mut Block, ends: &HashSet<Label>) {
    for mut s in std::mem::take(block) {
        if s.label.is_some_and(|l| ends.contains(&l)) && !matches!(s.kind, StmtKind::Do(_)) {
            block.push(s);
            continue;
        }
        if let StmtKind::LogicalIf(c, inner) = &s.kind
            && converts(unit, inner).is_some()
        {
            s.kind = StmtKind::If(IfBlock {
                arms: vec![(c.clone(), vec![(**inner).clone()])],
                otherwise: None,
                end_label: None,
            });
        }
        for b in s.blocks_mut() {
            in_block(unit, b, ends);
        }
        if let Some(ty) = converts(unit, &s)
            && let StmtKind::Assign(target, value) = s.kind
        {
            let name = unit.symbols.unused("FARFEL_T", &|_| false);
            let t = unit.symbols.add(Symbol {
                typed: true,
                ..Symbol::variable(name, ty, s.span)
            });
            unit.declare(t);
            let t = Expr::var(t, s.span);
            block.push(Stmt {
                label: s.label.take(),
                ..Stmt::assign(t.clone(), value, s.span)
            });
            block.push(Stmt::assign(target, t, s.span));
        } else {
            block.push(s);
        }
    }
}

/// The type of the function whose result the statement converts.
fn converts(unit: &Unit, s: &Stmt) -> Option<Type> {
    let StmtKind::Assign(target, value) = &s.kind else {
        return None;
    };
    let ExprKind::Call(callee, _) = &value.kind else {
        return None;
    };
    let (to, from) = (type_of(unit, target)?, type_of(unit, value)?);
    (unit.symbols[*callee].class == Class::Function
        && from.is_differentiable()
        && to.is_differentiable()
        && from != to)
        .then_some(from)
}
