//! Forward mode.
//!
//! Block number 3 in UNIT, whose statements are the subroutine UNIT_ADF3, becomes
//!
//! ```fortran
//!       X_G3 = 1.0
//!       ASTAR_G3 = 0.0
//!       CALL UNIT_ADF3_G3(X, X_G3, ASTAR, ASTAR_G3, BIGB, Y, YPRIME)
//! ```
//!
//! Tangents are set to zero where the opening does not give them. Where the closing assigns
//! a tangent to a plain variable that has no other part in the call, that variable is
//! passed itself.

use super::{HeadCall, Stager, zero};
use crate::ir::{AdItem, Arg, ExprKind, Stmt, StmtKind, SymId, Unit};
use std::collections::BTreeMap;

impl Stager<'_> {
    pub(super) fn forward(&mut self, call: &HeadCall) -> Vec<Stmt> {
        let HeadCall {
            head,
            block,
            symbols,
            request,
            ..
        } = call;
        let span = request.span;
        // Which destinations can be passed themselves.
        let direct = self.direct_destinations(call);
        let mut tangents: BTreeMap<usize, SymId> = BTreeMap::new();
        let mut out = Vec::new();
        for p in &request.paired {
            let tangent = match direct.get(p) {
                Some(dest) => *dest,
                None => self.tangent(symbols[*p], call),
            };
            tangents.insert(*p, tangent);
            let given: Vec<&AdItem> = block
                .opening
                .iter()
                .filter(|i| names(i, symbols[*p]))
                .collect();
            // Elements that the opening does not name have tangent zero, too.
            let whole = given.iter().any(
                |i| matches!(i, AdItem::Assign(a) if a.var.kind == ExprKind::Var(symbols[*p])),
            );
            let output_only = given.is_empty()
                && request.dependents.contains(p)
                && assigned_before_use(head, &head.args, *p);
            if !whole && !output_only {
                out.extend(self.set_all(
                    tangent,
                    symbols[*p],
                    &zero(self.unit.symbols[tangent].ty, span),
                    span,
                ));
            }
            for item in given {
                if let AdItem::Assign(a) = item {
                    out.extend(self.open(a, tangent, span));
                }
            }
        }
        // Implied DO may name several variables: once all are zero.
        for item in &block.opening {
            if let AdItem::ImpliedDo(_) = item {
                let tangents = |s: SymId| call.position(s).and_then(|p| tangents.get(&p).copied());
                out.extend(self.loops(item, true, &tangents, span));
            }
        }
        out.push(self.call_derivative(call, &tangents, &BTreeMap::new()));
        out.extend(self.close(call, &tangents, &direct));
        out
    }
}

/// Is this variable named in the item directly, not under an implied DO?
fn names(item: &AdItem, s: SymId) -> bool {
    matches!(item, AdItem::Assign(a) if a.var.base() == Some(s))
}

/// Is the head's argument at `position` certainly assigned before anything reads it?
fn assigned_before_use(head: &Unit, args: &[Arg], position: usize) -> bool {
    let Some(s) = args[position].sym() else {
        return false;
    };
    if head.symbols[s].is_array() {
        return false;
    }
    for stmt in &head.body {
        if let StmtKind::Assign(target, value) = &stmt.kind
            && target.kind == ExprKind::Var(s)
        {
            let mut read = false;
            value.for_each_symbol(&mut |x| read |= x == s);
            return !read;
        }
        let mut mentioned = false;
        crate::ir::for_each_symbol(std::slice::from_ref(stmt), &mut |x| mentioned |= x == s);
        // A jump could go round the assignment.
        let jumps = !stmt.blocks().is_empty()
            || matches!(
                stmt.kind,
                StmtKind::Goto(_)
                    | StmtKind::LogicalIf(..)
                    | StmtKind::ArithmeticIf(..)
                    | StmtKind::ComputedGoto(..)
                    | StmtKind::AssignedGoto(..)
            );
        if mentioned || jumps {
            return false;
        }
    }
    false
}
