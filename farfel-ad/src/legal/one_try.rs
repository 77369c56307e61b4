//! Adjoints that are differentiated again, in their simple form.
//!
//! An adjoint whose tape has no known size tries a small one first, and carries its forward sweep out
//! again where that is full (`reverse/retry.rs`). Its derivatives do not try: their tapes have the
//! largest size, and what does not fit stops the program.

use farfel_lang::Span;
use farfel_lang::ir::build::binary;
use farfel_lang::ir::{
    BinOp, Block, DoControl, Expr, ExprKind, Program, Stmt, StmtKind, SymId, Symbol, Unit,
};

/// Is there an adjoint with a tape?
pub(crate) fn has_tapes(program: &Program) -> bool {
    program.units.iter().any(has_tape)
}

fn has_tape(unit: &Unit) -> bool {
    unit.symbols.iter().any(|(_, s)| s.tape)
}

/// Takes the repetition out of all units.
pub(crate) fn once(program: &mut Program) {
    for u in program.units.iter_mut().filter(|u| has_tape(u)) {
        let mut body = std::mem::take(&mut u.body);
        simplify(u, &mut body);
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
    }
}

/// Is it a variable that only the repetition has? Tapes are arrays.
fn is_mark(s: &Symbol) -> bool {
    s.tape && s.dims.is_empty()
}

fn simplify(unit: &Unit, block: &mut Block) {
    let marked = |e: &Expr| {
        let mut found = false;
        e.for_each_symbol(&mut |s| found |= is_mark(&unit.symbols[s]));
        found
    };
    let mut out: Block = Vec::with_capacity(block.len());
    for mut s in std::mem::take(block) {
        for b in s.blocks_mut() {
            simplify(unit, b);
        }
        // A backward sweep that allocates the tape again knows no variable.
        if let StmtKind::Allocation(a) = &mut s.kind {
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
        match s.kind {
            StmtKind::Assign(ref target, _) if marked(target) => {}
            StmtKind::If(ref b) if b.arms.iter().any(|(c, _)| marked(c)) => {}
            StmtKind::Do(d) if matches!(&d.control, DoControl::While(c) if marked(c)) => {
                out.extend(d.body);
            }
            StmtKind::If(b) if unit.stmt_ids.counts_on(s.id) => {
                for (fits, kept) in b.arms {
                    let full = match fits.kind {
                        ExprKind::Binary(BinOp::Le, top, most) => binary(BinOp::Gt, *top, *most),
                        _ => Expr::not(fits, s.span),
                    };
                    let stop = full_tape(s.span);
                    out.push(Stmt::branches(vec![(full, vec![stop])], None, s.span));
                    out.extend(kept);
                }
            }
            kind => out.push(Stmt { kind, ..s }),
        }
    }
    *block = out;
}

/// What a program ends with when a tape is full.
pub(crate) fn full_tape(span: Span) -> Stmt {
    let text = "Farfel: the tape of an ADR block is full";
    Stmt::stop(Expr::text(text, span), span)
}
