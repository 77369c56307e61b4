//! Whether the value that an argument has on entry can matter.

use crate::ir::{DoControl, ExprKind, Stmt, StmtKind, SymId, Unit, walk_block};

/// Can anything in the head depend on what the argument at `position` holds on entry?
///
/// False only where the statements, in whatever order the branches are taken, assign it
/// before anything reads it.
pub(super) fn entry_matters(head: &Unit, position: usize) -> bool {
    let Some(s) = head.args[position].sym() else {
        return false;
    };
    if head.symbols[s].is_array() {
        return true;
    }
    // Bounds and lengths are evaluated on entry.
    let mut bound = false;
    for (_, other) in head.symbols.iter() {
        let exprs = other
            .dims
            .iter()
            .flat_map(|d| d.lower.iter().chain(&d.upper));
        for e in exprs.chain(&other.length) {
            e.for_each_symbol(&mut |x| bound |= x == s);
        }
    }
    let mut jumps = false;
    walk_block(&head.body, &mut |stmt| {
        jumps |= matches!(
            stmt.kind,
            StmtKind::Goto(_)
                | StmtKind::ArithmeticIf(..)
                | StmtKind::ComputedGoto(..)
                | StmtKind::AssignedGoto(..)
                | StmtKind::Io(_)
        );
    });
    bound || jumps || block(&head.body, s) == First::Read
}

/// What happens first to a variable.
#[derive(Clone, Copy, PartialEq, Eq)]
enum First {
    /// It is not mentioned, or assigned on some ways only.
    Nothing,
    /// It is assigned.
    Assigned,
    /// It may be read.
    Read,
}

fn block(stmts: &[Stmt], s: SymId) -> First {
    stmts
        .iter()
        .map(|stmt| statement(stmt, s))
        .find(|f| *f != First::Nothing)
        .unwrap_or(First::Nothing)
}

fn statement(stmt: &Stmt, s: SymId) -> First {
    let mut named = false;
    let mut own = |e: &crate::ir::Expr| e.for_each_symbol(&mut |x| named |= x == s);
    match &stmt.kind {
        StmtKind::Assign(target, value) => {
            own(value);
            if target.kind == ExprKind::Var(s) && !named {
                return First::Assigned;
            }
            target.for_each_symbol(&mut |x| named |= x == s);
        }
        StmtKind::If(b) => {
            b.arms.iter().for_each(|(c, _)| own(c));
            let arms = b.arms.iter().map(|(_, b)| b).chain(&b.otherwise);
            let firsts: Vec<First> = arms.map(|b| block(b, s)).collect();
            if named || firsts.contains(&First::Read) {
                return First::Read;
            }
            let all = b.otherwise.is_some() && firsts.iter().all(|f| *f == First::Assigned);
            return if all { First::Assigned } else { First::Nothing };
        }
        StmtKind::LogicalIf(c, inner) => {
            own(c);
            named |= statement(inner, s) == First::Read;
        }
        StmtKind::Do(d) => {
            if let DoControl::Count { var, .. } = d.control {
                stmt.for_each_own_expr(&mut own);
                if var == s && !named {
                    return First::Assigned;
                }
            } else {
                stmt.for_each_own_expr(&mut own);
            }
            // The body may run not at all.
            named |= block(&d.body, s) == First::Read;
        }
        _ => {
            crate::ir::for_each_symbol(std::slice::from_ref(stmt), &mut |x| named |= x == s);
        }
    }
    if named { First::Read } else { First::Nothing }
}
