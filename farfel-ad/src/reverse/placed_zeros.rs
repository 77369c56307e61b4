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
use std::collections::{BTreeMap, HashMap, HashSet};

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
    let mut first = Vec::new();
    let mut own = Vec::new();
    for zero in zeros {
        let variable = match &zero.kind {
            StmtKind::Assign(target, _) => target.base(),
            _ => None,
        };
        match variable.filter(|v| storage.is_own(*v)) {
            Some(v) => own.push((v, zero)),
            None => first.push(zero),
        }
    }
    own.reverse();
    place(own, &mut block);
    first.append(&mut block);
    first
}

/// Where the statements of a block name a variable.
struct Uses {
    /// The index of the first statement.
    first: usize,
    /// The index of the next one.
    next: Option<usize>,
}

/// Puts the zeros of some variables into a block.
fn place(zeros: Vec<(SymId, Stmt)>, block: &mut Block) {
    if zeros.is_empty() {
        return;
    }
    let uses = uses(&zeros, block);
    let mut in_arms: BTreeMap<usize, InArms> = BTreeMap::new();
    let mut inner: BTreeMap<(usize, usize), Vec<(SymId, Stmt)>> = BTreeMap::new();
    let mut before: BTreeMap<usize, Vec<Stmt>> = BTreeMap::new();
    for (v, zero) in zeros {
        let Some(used) = uses.get(&v) else {
            before.entry(0).or_default().insert(0, zero);
            continue;
        };
        // What follows may assign it anew, in particular the zero that it is given at the end.
        let only = used.next.is_none_or(|i| is_set(v, &block[i]));
        let choice = &block[used.first];
        if only && matches!(choice.kind, StmtKind::If(_) | StmtKind::Select(_)) {
            let arms = in_arms.entry(used.first);
            if let Some(arm) = arms.or_insert_with(|| InArms::of(choice)).only(v) {
                inner.entry((used.first, arm)).or_default().push((v, zero));
                continue;
            }
        }
        // Remarks belong to what follows them, and directives must stay in front of their loops.
        let remarks = block[..used.first].iter().rev();
        let remarks = remarks.take_while(|s| matches!(s.kind, StmtKind::Comment(_)));
        let at = used.first - remarks.count();
        before.entry(at).or_default().push(zero);
    }
    for ((at, arm), zeros) in inner {
        if let Some(arm) = block[at].blocks_mut().into_iter().nth(arm) {
            place(zeros, arm);
        }
    }
    let old = std::mem::take(block);
    for (i, s) in old.into_iter().enumerate() {
        block.extend(before.remove(&i).into_iter().flatten());
        block.push(s);
    }
    block.extend(before.into_values().flatten());
}

/// Finds the statements of a block that name the variables of some zeros.
fn uses(zeros: &[(SymId, Stmt)], block: &[Stmt]) -> HashMap<SymId, Uses> {
    let wanted: HashSet<SymId> = zeros.iter().map(|(v, _)| *v).collect();
    let mut uses: HashMap<SymId, Uses> = HashMap::new();
    for (i, s) in block.iter().enumerate() {
        for_each_symbol(std::slice::from_ref(s), &mut |v| {
            if !wanted.contains(&v) {
                return;
            }
            let used = uses.entry(v).or_insert(Uses {
                first: i,
                next: None,
            });
            if used.next.is_none() && used.first != i {
                used.next = Some(i);
            }
        });
    }
    uses
}

/// Whether a statement gives a variable a value that does not depend on the one before.
fn is_set(variable: SymId, s: &Stmt) -> bool {
    let StmtKind::Assign(target, value) = &s.kind else {
        return false;
    };
    let mut reads = false;
    value.for_each_symbol(&mut |s| reads |= s == variable);
    target.kind == ExprKind::Var(variable) && !reads
}

/// The arms of an IF or SELECT CASE that name variables.
struct InArms {
    /// The arm, if it is the only one.
    arms: HashMap<SymId, Option<usize>>,
    conditions: HashSet<SymId>,
}

impl InArms {
    fn of(choice: &Stmt) -> Self {
        let mut arms: HashMap<SymId, Option<usize>> = HashMap::new();
        for (i, arm) in choice.blocks().into_iter().enumerate() {
            for_each_symbol(arm, &mut |v| {
                let only = arms.entry(v).or_insert(Some(i));
                if *only != Some(i) {
                    *only = None;
                }
            });
        }
        let mut conditions = HashSet::new();
        choice.for_each_own_expr(&mut |e| {
            e.for_each_symbol(&mut |v| {
                conditions.insert(v);
            });
        });
        InArms { arms, conditions }
    }

    /// The only arm that names a variable, if the conditions do not.
    fn only(&self, v: SymId) -> Option<usize> {
        match self.conditions.contains(&v) {
            true => None,
            false => self.arms.get(&v).copied().flatten(),
        }
    }
}
