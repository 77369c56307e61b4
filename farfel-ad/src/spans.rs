//! Setting the source positions of whole units.

use farfel_lang::Span;
use farfel_lang::ir::{
    AdItem, Arg, Class, Expr, SpecKind, Stmt, StmtKind, Symbol, Unit, walk_block_mut,
};

/// Sets the position of everything in a unit to `span`.
pub fn place_unit(unit: &mut Unit, span: Span) {
    unit.span = span;
    unit.name_span = span;
    unit.end_span = span;
    for a in &mut unit.args {
        if let Arg::AltReturn(s) = a {
            *s = span;
        }
    }
    let ids: Vec<_> = unit.symbols.ids().collect();
    for id in ids {
        place_symbol(&mut unit.symbols[id], span);
    }
    for s in &mut unit.specs {
        s.span = span;
        place_spec(&mut s.kind, span);
    }
    walk_block_mut(&mut unit.body, &mut |s| place_stmt(s, span));
}

/// Sets the position of an expression and everything in it to `span`.
pub fn place_expr(e: &mut Expr, span: Span) {
    e.rewrite(&mut |e| e.span = span);
}

fn place_stmt(s: &mut Stmt, span: Span) {
    s.span = span;
    s.for_each_own_expr_mut(&mut |e| place_expr(e, span));
    if let StmtKind::Ad(b) = &mut s.kind {
        b.end_span = span;
        for i in b.opening.iter_mut().chain(&mut b.closing) {
            place_item(i, span);
        }
    }
}

fn place_item(i: &mut AdItem, span: Span) {
    match i {
        AdItem::Assign(a) => a.span = span,
        AdItem::ImpliedDo(d) => d.items.iter_mut().for_each(|i| place_item(i, span)),
    }
}

fn place_symbol(s: &mut Symbol, span: Span) {
    s.span = span;
    for d in &mut s.dims {
        d.lower
            .iter_mut()
            .chain(&mut d.upper)
            .for_each(|e| place_expr(e, span));
    }
    s.length.iter_mut().for_each(|e| place_expr(e, span));
    match &mut s.class {
        Class::Parameter(e) | Class::StatementFunction(_, e) => place_expr(e, span),
        _ => {}
    }
}

fn place_spec(s: &mut SpecKind, span: Span) {
    match s {
        SpecKind::Equivalence(groups) => {
            for e in groups.iter_mut().flatten() {
                place_expr(e, span);
            }
        }
        SpecKind::Data(sets) => {
            for set in sets {
                set.targets.iter_mut().for_each(|e| place_expr(e, span));
                for (repeat, value) in &mut set.values {
                    repeat.iter_mut().for_each(|e| place_expr(e, span));
                    place_expr(value, span);
                }
            }
        }
        _ => {}
    }
}
