//! The labels and names that statements define and mention: the second version of a loop gets new ones.

use farfel_lang::ir::{Block, DoEnd, ExprKind, IfBlock, Name, Stmt, StmtKind, Unit};
/// Returns the largest label of a unit.
pub(super) fn last_label(unit: &Unit, body: &Block) -> u32 {
    let mut last = 0;
    let mut copy = body.clone();
    for s in &mut copy {
        for_each_defined(s, &mut |label| last = last.max(*label));
    }
    for spec in &unit.specs {
        if let farfel_lang::ir::SpecKind::Format(label, _) = &spec.kind {
            last = last.max(*label);
        }
    }
    last
}

/// Returns the name of a construct.
pub(super) fn construct(s: &mut Stmt) -> Option<&mut Name> {
    match &mut s.kind {
        StmtKind::Do(d) => d.name.as_mut(),
        StmtKind::If(b) => b.name.as_mut(),
        StmtKind::Where(w) => w.block.name.as_mut(),
        StmtKind::Select(s) => s.name.as_mut(),
        _ => None,
    }
}

/// Calls `f` with every label that is defined by a statement or within it.
pub(super) fn for_each_defined(s: &mut Stmt, f: &mut dyn FnMut(&mut u32)) {
    s.walk_mut(&mut |s| {
        s.label.iter_mut().for_each(&mut *f);
        let mut block = |b: &mut IfBlock| {
            b.end_label.iter_mut().for_each(&mut *f);
            b.marks
                .iter_mut()
                .flat_map(|m| &mut m.label)
                .for_each(&mut *f);
        };
        match &mut s.kind {
            StmtKind::If(b) => block(b),
            StmtKind::Where(w) => block(&mut w.block),
            StmtKind::Select(select) => {
                let marks = select.cases.iter_mut().map(|c| &mut c.mark);
                for mark in marks.chain([&mut select.end]) {
                    mark.label.iter_mut().for_each(&mut *f);
                }
            }
            StmtKind::Do(d) => {
                if let DoEnd::EndDo(Some(label)) = &mut d.end {
                    f(label);
                }
            }
            _ => {}
        }
    });
}

/// Calls `f` with every label to which the statement itself may jump.
pub(super) fn for_each_jump(s: &mut Stmt, f: &mut dyn FnMut(&mut u32)) {
    match &mut s.kind {
        StmtKind::Goto(label) => f(label),
        StmtKind::ArithmeticIf(_, labels) => labels.iter_mut().for_each(f),
        StmtKind::ComputedGoto(labels, _) | StmtKind::AssignedGoto(_, labels) => {
            labels.iter_mut().for_each(f);
        }
        StmtKind::AssignLabel(label, _) => f(label),
        StmtKind::Call(_, args) => {
            for a in args {
                if let ExprKind::AltReturn(label) = &mut a.kind {
                    f(label);
                }
            }
        }
        StmtKind::Io(io) => {
            for c in &mut io.control {
                if let ExprKind::Keyword(name, e) = &mut c.kind
                    && matches!(name.as_str(), "END" | "ERR" | "EOR")
                    && let ExprKind::Int(label) = &mut e.kind
                    && let Ok(mut number) = u32::try_from(*label)
                {
                    f(&mut number);
                    *label = number.into();
                }
            }
        }
        _ => {}
    }
}
