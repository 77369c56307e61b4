//! Where the adjoints of local variables are set to zero.
//!
//! A reverse sweep adds to them. Most of them are used by one part of it: they are set to zero just before that
//! part, so that a branch that does not use an array does not pay for it, and the first assignment may be joined
//! with the zero:
//!
//! ```fortran
//!       IF (KIND .EQ. 3) THEN
//!         H_B = 0.0
//!         DO I = N, 1, -1
//!           H_B(J) = H_B(J) + Y_B(I)
//! ```

use farfel_lang::ir::{Block, ExprKind, Stmt, StmtKind, SymId, Unit, for_each_symbol, walk_block};
use farfel_lang::storage::UnitStorage;

/// Puts assignments of zero to local variables into the block that follows them. Variables that share storage
/// with others stay in front.
pub(super) fn place_zeros(unit: &Unit, zeros: Block, mut block: Block) -> Block {
    let storage = UnitStorage::of(unit);
    let mut jumps = false;
    walk_block(&block, &mut |s| {
        jumps |= s.label.is_some() || matches!(s.kind, StmtKind::Goto(_));
    });
    if jumps {
        return zeros.into_iter().chain(block).collect();
    }
    // The last first: those for the same place keep their order.
    for zero in zeros.into_iter().rev() {
        let variable = match &zero.kind {
            StmtKind::Assign(target, _) => target.base(),
            _ => None,
        };
        match variable.filter(|v| storage.is_own(*v)) {
            Some(v) => place(zero, v, &mut block),
            None => block.insert(0, zero),
        }
    }
    block
}

fn place(zero: Stmt, variable: SymId, block: &mut Block) {
    let named = |b: &[Stmt]| {
        let mut found = false;
        for_each_symbol(b, &mut |s| found |= s == variable);
        found
    };
    let uses = |i: &usize| named(&block[*i..*i + 1]);
    let Some(first) = (0..block.len()).find(uses) else {
        return block.insert(0, zero);
    };
    // What follows may assign it anew, in particular the zero that it is given at the end.
    let next = block[first + 1..]
        .iter()
        .find(|s| named(std::slice::from_ref(s)));
    let only = next.is_none_or(|s| match &s.kind {
        StmtKind::Assign(target, value) => {
            let mut reads = false;
            value.for_each_symbol(&mut |s| reads |= s == variable);
            target.kind == ExprKind::Var(variable) && !reads
        }
        _ => false,
    });
    let chooses = matches!(block[first].kind, StmtKind::If(_) | StmtKind::Select(_));
    if only && chooses {
        let mut in_conditions = false;
        block[first].for_each_own_expr(&mut |e| {
            e.for_each_symbol(&mut |s| in_conditions |= s == variable);
        });
        let mut arms = block[first].blocks_mut();
        arms.retain(|b| named(b));
        if !in_conditions && let [arm] = arms.as_mut_slice() {
            place(zero, variable, arm);
            return;
        }
    }
    // Remarks belong to what follows them, and directives must stay in front of their loops.
    let mut at = first;
    while at > 0 && matches!(block[at - 1].kind, StmtKind::Comment(_)) {
        at -= 1;
    }
    block.insert(at, zero);
}
