//! Adjoints that are differentiated again, with tapes that do not grow.
//!
//! A tape of unknown size begins small and grows (`reverse/growing.rs`). Its derivatives do not: they have the
//! largest size, and what does not fit stops the program.

use farfel_lang::Span;
use farfel_lang::ir::{
    Attribute, Block, Expr, ExprKind, Name, Program, Stmt, StmtKind, SymId, Symbol, Unit,
    walk_block,
};
use std::collections::HashSet;

/// Is there a tape that grows?
pub(crate) fn grows(program: &Program) -> bool {
    program.units.iter().any(has_growing)
}

fn has_growing(unit: &Unit) -> bool {
    let grows = |s: &Symbol| s.has(Attribute::Growing);
    unit.symbols.iter().any(|(_, s)| grows(s))
}

/// Gives all tapes their largest size.
pub(crate) fn fix(program: &mut Program) {
    let growers = program.units.iter().filter(|u| is_grower(u));
    let growers: HashSet<Name> = growers.map(|u| u.name.clone()).collect();
    program.units.retain(|u| !growers.contains(&u.name));
    for u in program.units.iter_mut().filter(|u| has_growing(u)) {
        let mut body = std::mem::take(&mut u.body);
        in_block(u, &growers, &mut body);
        u.body = body;
        let gone: Vec<SymId> = u
            .symbols
            .iter()
            .filter(|(_, s)| is_mark(s))
            .map(|(i, _)| i)
            .collect();
        for s in gone {
            u.undeclare(s);
            let s = &mut u.symbols[s];
            (s.tape, s.saved, s.init) = (false, false, None);
        }
        let symbols = u.symbols.iter().map(|(i, _)| i).collect::<Vec<_>>();
        for s in symbols {
            u.symbols[s].attributes.remove(Attribute::Growing);
        }
    }
}

/// Does a unit make a tape larger, which is its argument?
fn is_grower(unit: &Unit) -> bool {
    let mut found = false;
    walk_block(&unit.body, &mut |s| {
        if let StmtKind::Allocation(a) = &s.kind {
            let tape = a.objects.iter().filter_map(Expr::base);
            found |= tape
                .map(|t| &unit.symbols[t])
                .any(|t| t.has(Attribute::Growing) && !t.has(Attribute::Allocatable));
        }
    });
    found
}

/// Is it the size of a tape at the end of the last call? Tapes are arrays.
fn is_mark(s: &Symbol) -> bool {
    s.tape && s.dims.is_empty()
}

fn in_block(unit: &Unit, growers: &HashSet<Name>, block: &mut Block) {
    let marked = |e: &Expr| {
        let mut found = false;
        e.for_each_symbol(&mut |s| found |= is_mark(&unit.symbols[s]));
        found
    };
    let is_grower = |s: SymId| growers.contains(&unit.symbols[s].name);
    let mut out: Block = Vec::with_capacity(block.len());
    for mut s in std::mem::take(block) {
        for b in s.blocks_mut() {
            in_block(unit, growers, b);
        }
        match &mut s.kind {
            StmtKind::Assign(target, _) if marked(target) => continue,
            // `MIN(LAST, limit)`
            StmtKind::Assign(_, value) if marked(value) => {
                if let ExprKind::Call(_, args) = &mut value.kind
                    && let Some(limit) = args.pop()
                {
                    *value = limit;
                }
            }
            StmtKind::LogicalIf(_, action) => {
                if matches!(&action.kind, StmtKind::Call(f, _) if is_grower(*f)) {
                    **action = full_tape(action.span);
                }
            }
            // A backward sweep that allocates the tape again knows no variable.
            StmtKind::Allocation(a) => {
                let sizes = a.objects.iter_mut().flat_map(|o| match &mut o.kind {
                    ExprKind::Element(t, sizes) if unit.symbols[*t].tape => sizes.as_mut_slice(),
                    _ => &mut [],
                });
                for size in sizes {
                    let given = |x: &Stmt| match &x.kind {
                        StmtKind::Assign(target, n) if target == size => Some(n.clone()),
                        _ => None,
                    };
                    if let Some(n) = out.iter().rev().find_map(given) {
                        *size = n;
                    }
                }
            }
            _ => {}
        }
        out.push(s);
    }
    *block = out;
}

/// What a program ends with when a tape is full.
pub(crate) fn full_tape(span: Span) -> Stmt {
    let text = "Farfel: the tape of an ADR block is full";
    Stmt::stop(Expr::text(text, span), span)
}
