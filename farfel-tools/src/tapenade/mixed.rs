//! Numbers of different types in one statement.
//!
//! The main case is a function whose result is converted by the assignment.
//!
//! For `Y = F(X)` the tool generates a call that stores the result of F directly in Y, whatever the
//! type of Y is, and even if Y is X. So if the types differ, or Y is among the arguments, the copy
//! that it reads has `T = F(X)` and `Y = T`.

use farfel_lang::ir::{
    Block, Class, DoEnd, Expr, ExprKind, Label, Stmt, StmtKind, Symbol, Type, Unit, walk_block_mut,
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

/// Collects the labels at which loops end.
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
            let arms = vec![(c.clone(), vec![(**inner).clone()])];
            s.kind = Stmt::branches(arms, None, s.span).kind;
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

/// Returns the type of a function whose result is converted by the statement, or assigned to one of
/// its arguments.
fn converts(unit: &Unit, s: &Stmt) -> Option<Type> {
    let StmtKind::Assign(target, value) = &s.kind else {
        return None;
    };
    let ExprKind::Call(callee, args) = &value.kind else {
        return None;
    };
    let (to, from) = (type_of(unit, target)?, type_of(unit, value)?);
    let mut both = false;
    for a in args {
        a.for_each_symbol(&mut |s| both |= Some(s) == target.base());
    }
    (unit.symbols[*callee].class == Class::Function
        && from.is_differentiable()
        && to.is_differentiable()
        && (from != to || both))
        .then_some(from)
}

/// Removes single precision from double-precision code that the tool has written: it converts
/// derivatives by CMPLX and SNGL whatever their type. Such calls in the user's code have been
/// removed from the input: see [`super::intrinsics`].
pub(super) fn keep_precision(unit: &mut Unit) {
    let mut body = std::mem::take(&mut unit.body);
    walk_block_mut(&mut body, &mut |s| {
        s.for_each_own_expr_mut(&mut |e| e.rewrite(&mut |e| widen(unit, e)));
        if let StmtKind::Assign(target, value) = &mut s.kind
            && matches!(
                type_of(unit, target),
                Some(Type::Real(8) | Type::Complex(8))
            )
        {
            value.rewrite(&mut |e| {
                if let ExprKind::Call(f, args) = &mut e.kind
                    && unit.symbols[*f].name == "SNGL"
                    && args.len() == 1
                    && let Some(inner) = args.pop()
                {
                    *e = Expr::parens(inner, e.span);
                }
            });
        }
    });
    unit.body = body;
}

/// Replaces CMPLX of double-precision numbers by DCMPLX.
fn widen(unit: &mut Unit, e: &mut Expr) {
    if let ExprKind::Call(f, args) = &e.kind
        && unit.symbols[*f].name == "CMPLX"
        && matches!(unit.symbols[*f].class, Class::Intrinsic(_))
        && args.iter().any(|a| type_of(unit, a) == Some(Type::DOUBLE))
        && let Some(new) = super::intrinsics::intrinsic(unit, "DCMPLX", e.span)
        && let ExprKind::Call(f, _) = &mut e.kind
    {
        *f = new;
    }
}
