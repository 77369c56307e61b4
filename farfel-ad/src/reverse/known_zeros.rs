//! Adjoints that are known to be zero.
//!
//! A reverse sweep adds to an adjoint and sets it to zero where its variable was assigned:
//!
//! ```fortran
//!       F_B = 0.0
//!       DO I = N, 1, -1
//!         F_B = F_B + X(I)*H_B(I)
//!         ...
//!         F_B = 0.0
//!       END DO
//! ```
//!
//! Here `F_B` is zero whenever an iteration begins, so the first statement of the iteration can assign the
//! term. The assignments of zero are dead then, and the iterations do not wait for each other.

use super::effects::{Effects, StatementEffects};
use super::generated::GeneratedUnit;
use crate::flow::FlowGraph;
use crate::locations::{Commons, Set, Space};
use crate::simplify::increments::{is_zero, with_first_term};
use farfel_lang::ir::{
    Block, Expr, ExprKind, Stmt, StmtId, StmtKind, StorageClass, SymId, Unit, walk_block,
    walk_block_mut,
};
use farfel_lang::solve::{Graph, Must, forward_each};
use std::collections::{HashMap, HashSet};

/// Lets adjoints that are known to be zero be assigned, not added to. `effects` are those of the generated
/// units.
pub(super) fn use_known_zeros(made: &mut GeneratedUnit, commons: &Commons, effects: &Effects) {
    let unit = &mut made.unit;
    let mut parallel = false;
    walk_block(&unit.body, &mut |s| {
        parallel |= matches!(&s.kind, StmtKind::Do(d) if d.parallel().is_some());
    });
    if parallel {
        return;
    }
    unit.number();
    let space = Space::of(unit, commons);
    let candidates = candidates(unit, &space, &made.derivatives);
    let changes = changes(unit, &space, &candidates, effects);
    if changes.is_empty() {
        return;
    }
    let mut body = std::mem::take(&mut unit.body);
    walk_block_mut(&mut body, &mut |s| {
        if let StmtKind::Assign(_, value) = &mut s.kind
            && let Some(Change::Value(new)) = changes.get(&s.id)
        {
            *value = new.clone();
        }
    });
    remove(&mut body, &|s| {
        matches!(changes.get(&s.id), Some(Change::Gone))
    });
    unit.body = body;
}

/// What becomes of an assignment.
enum Change {
    /// It assigns this.
    Value(Expr),
    /// It assigns the zero that is there already.
    Gone,
}

/// The scalar adjoints with a storage of their own, by location.
fn candidates(unit: &Unit, space: &Space, derivatives: &HashSet<SymId>) -> HashMap<usize, SymId> {
    let scalar = |s: &SymId| {
        let symbol = &unit.symbols[*s];
        let here = matches!(
            symbol.storage_class,
            StorageClass::Local | StorageClass::Dummy
        );
        here && symbol.is_variable() && !symbol.is_array() && !space.tangled.contains(space.loc(*s))
    };
    let found = derivatives.iter().copied().filter(|s| scalar(s));
    found.map(|s| (space.loc(s), s)).collect()
}

fn changes(
    unit: &Unit,
    space: &Space,
    candidates: &HashMap<usize, SymId>,
    effects: &Effects,
) -> HashMap<StmtId, Change> {
    let flow = FlowGraph::of(unit);
    let mut found = HashMap::new();
    let start = Must(Set::with_capacity(space.len));
    let mut after = |i: usize, zero: &mut Must| {
        let Some(s) = flow.stmts.get(i) else { return };
        let mut touched = StatementEffects::nothing(space.len);
        effects.own(unit, space, s, &mut touched);
        for loc in touched.assigned.ones().filter(|l| *l < space.len) {
            zero.0.set(loc, false);
        }
        if let Some((loc, value)) = assigned(s, space, candidates)
            && is_zero(value)
        {
            zero.0.insert(loc);
        }
    };
    let mut look = |i: usize, zero: &Must| {
        let Some(s) = flow.stmts.get(i) else { return };
        let Some((loc, value)) =
            assigned(s, space, candidates).filter(|(l, _)| zero.0.contains(*l))
        else {
            return;
        };
        let own = candidates.get(&loc).copied();
        let mut named = 0;
        value.for_each_symbol(&mut |x| named += usize::from(Some(x) == own));
        if is_zero(value) && s.label.is_none() {
            found.insert(s.id, Change::Gone);
        } else if named == 1 && first_is(value, own) {
            let none = Expr::real("0.0", value.span);
            found.extend(with_first_term(value, &none).map(|v| (s.id, Change::Value(v))));
        }
    };
    forward_each(&Graph::of(&flow), flow.entry, start, &mut after, &mut look);
    found
}

/// The location of a candidate that a statement assigns, and the value.
fn assigned<'s>(
    s: &'s Stmt,
    space: &Space,
    candidates: &HashMap<usize, SymId>,
) -> Option<(usize, &'s Expr)> {
    match &s.kind {
        StmtKind::Assign(target, value) => match target.kind {
            ExprKind::Var(v) if candidates.contains_key(&space.loc(v)) => {
                Some((space.loc(v), value))
            }
            _ => None,
        },
        _ => None,
    }
}

/// Whether a sum begins with a variable.
fn first_is(e: &Expr, variable: Option<SymId>) -> bool {
    let first = crate::simplify::increments::first_term(e);
    matches!(first.map(|f| &f.kind), Some(ExprKind::Var(v)) if Some(*v) == variable)
}

/// Removes statements, except those of logical IFs.
fn remove(block: &mut Block, gone: &dyn Fn(&Stmt) -> bool) {
    block.retain(|s| !gone(s));
    for s in block {
        s.blocks_mut().into_iter().for_each(|b| remove(b, gone));
    }
}
