//! Computed and assigned GOTO.
//!
//! The tool loses labels in large ones. A sequence of IF statements has the same effect; an
//! assigned label can be represented by any number.

use farfel_lang::ir::{
    BinOp, Block, Expr, ExprKind, Label, Stmt, StmtKind, SymId, Unit, walk_block,
};
use std::collections::{BTreeSet, HashMap, HashSet};

/// The labels that each variable can hold.
type Labels = HashMap<SymId, BTreeSet<Label>>;

/// Replaces every computed GOTO of a unit whose index can be evaluated several times, and every
/// assigned GOTO together with its variables.
pub(super) fn spell_out(unit: &mut Unit) {
    let mut labels = Labels::new();
    let mut formats: HashSet<SymId> = HashSet::new();
    walk_block(&unit.body, &mut |s| match &s.kind {
        StmtKind::AssignLabel(label, var) => {
            labels.entry(*var).or_default().insert(*label);
        }
        // The label of a FORMAT must remain a label.
        StmtKind::Io(io) => {
            for e in &io.control {
                e.for_each_symbol(&mut |s| {
                    formats.insert(s);
                });
            }
        }
        _ => {}
    });
    labels.retain(|s, _| !formats.contains(s));
    in_block(&mut unit.body, &labels);
}

fn in_block(block: &mut Block, assigned: &Labels) {
    for mut s in std::mem::take(block) {
        for b in s.blocks_mut() {
            in_block(b, assigned);
        }
        let tests = match &s.kind {
            StmtKind::ComputedGoto(labels, number) if is_plain(number) => {
                tests((1i64..).zip(labels.iter().copied()), number)
            }
            StmtKind::AssignedGoto(var, _) if assigned.contains_key(var) => {
                let labels = assigned[var].iter().map(|l| (i64::from(*l), *l));
                tests(labels, &Expr::var(*var, s.span))
            }
            StmtKind::AssignLabel(label, var) if assigned.contains_key(var) => {
                let number = Expr::int(i64::from(*label), s.span);
                s.kind = Stmt::assign(Expr::var(*var, s.span), number, s.span).kind;
                block.push(s);
                continue;
            }
            _ => {
                block.push(s);
                continue;
            }
        };
        let mut label = s.label.take();
        block.extend(tests.into_iter().map(|mut t| {
            t.label = label.take();
            t
        }));
    }
}

/// Whether no function is called.
fn is_plain(e: &Expr) -> bool {
    let mut plain = true;
    e.walk(&mut |e| plain &= !matches!(e.kind, ExprKind::Call(..)));
    plain
}

/// Returns `IF (number .EQ. 1) GOTO …` and so on.
fn tests(labels: impl Iterator<Item = (i64, Label)>, number: &Expr) -> Vec<Stmt> {
    let span = number.span;
    let mut out: Vec<Stmt> = labels
        .map(|(i, label)| {
            let is = Expr::binary(BinOp::Eq, number.clone(), Expr::int(i, span));
            Stmt::logical_if(is, Stmt::goto(label, span), span)
        })
        .collect();
    if out.is_empty() {
        out.push(Stmt::continues(span));
    }
    out
}
