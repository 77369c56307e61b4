//! Computed GOTO.
//!
//! In large ones the tool loses labels. A row of IF means the same.

use farfel_lang::ir::{BinOp, Block, Expr, ExprKind, Label, Stmt, StmtKind, Unit};

/// Replaces every computed GOTO of a unit whose number can be looked at several times.
pub(super) fn spell_out(unit: &mut Unit) {
    in_block(&mut unit.body);
}

fn in_block(block: &mut Block) {
    for mut s in std::mem::take(block) {
        s.blocks_mut().into_iter().for_each(in_block);
        match &s.kind {
            StmtKind::ComputedGoto(labels, number) if is_plain(number) => {
                let tests = tests(labels, number);
                let mut label = s.label.take();
                block.extend(tests.into_iter().map(|mut t| {
                    t.label = label.take();
                    t
                }));
            }
            _ => block.push(s),
        }
    }
}

/// No function is called.
fn is_plain(e: &Expr) -> bool {
    let mut plain = true;
    e.walk(&mut |e| plain &= !matches!(e.kind, ExprKind::Call(..)));
    plain
}

/// `IF (number .EQ. 1) GOTO …` and so on.
fn tests(labels: &[Label], number: &Expr) -> Vec<Stmt> {
    let span = number.span;
    let mut out: Vec<Stmt> = (1i64..)
        .zip(labels)
        .map(|(i, label)| {
            let is = Expr::binary(BinOp::Eq, number.clone(), Expr::int(i, span));
            let jump = Stmt::new(StmtKind::Goto(*label), span);
            Stmt::new(StmtKind::LogicalIf(is, Box::new(jump)), span)
        })
        .collect();
    if out.is_empty() {
        out.push(Stmt::new(StmtKind::Continue, span));
    }
    out
}
