//! Source positions for units from a text that the user never sees.

use farfel_lang::Span;
use farfel_lang::ir::{Class, Expr, SpecKind, Stmt, StmtKind, Unit, walk_block_mut};

/// Sets the position of everything in a unit to `span`, and removes its comments.
pub(super) fn place(unit: &mut Unit, span: Span) {
    unit.comments.clear();
    unit.specs
        .retain(|s| !matches!(s.kind, SpecKind::Comment(_)));
    drop_comments(&mut unit.body);
    (unit.span, unit.name_span, unit.end_span) = (span, span, span);
    let at = |e: &mut Expr| e.rewrite(&mut |e| e.span = span);
    let ids: Vec<_> = unit.symbols.ids().collect();
    for id in ids {
        let s = &mut unit.symbols[id];
        s.span = span;
        s.length.iter_mut().for_each(at);
        for d in &mut s.dims {
            d.lower.iter_mut().chain(&mut d.upper).for_each(at);
        }
        if let Class::Parameter(e) | Class::StatementFunction(_, e) = &mut s.class {
            at(e);
        }
    }
    for spec in &mut unit.specs {
        spec.span = span;
        match &mut spec.kind {
            SpecKind::Equivalence(groups) => groups.iter_mut().flatten().for_each(at),
            SpecKind::Data(sets) => {
                for set in sets {
                    set.targets.iter_mut().for_each(at);
                    for (repeat, value) in &mut set.values {
                        repeat.iter_mut().for_each(at);
                        at(value);
                    }
                }
            }
            _ => {}
        }
    }
    walk_block_mut(&mut unit.body, &mut |s| {
        s.span = span;
        s.for_each_own_expr_mut(&mut |e| at(e));
    });
}

fn drop_comments(block: &mut Vec<Stmt>) {
    block.retain(|s| !matches!(s.kind, StmtKind::Comment(_)));
    for s in block {
        for b in s.blocks_mut() {
            drop_comments(b);
        }
    }
}
