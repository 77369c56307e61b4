//! Stages blocks in forward mode.
//!
//! Block number 3 in UNIT, whose statements have become the subroutine UNIT_ADF3, turns into
//!
//! ```fortran
//!       X_G3 = 1.0
//!       ASTAR_G3 = 0.0
//!       CALL UNIT_ADF3_G3(X, X_G3, ASTAR, ASTAR_G3, BIGB, Y, YPRIME)
//! ```
//!
//! Tangents are set to zero where the opening does not seed them. Seeds are assigned in textual
//! order: if two assignments set the tangent of the same element, the later one counts. If the
//! closing assigns a tangent to a plain variable that plays no other part in the call, that
//! variable itself is passed.

use super::{HeadCall, Stager};
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
        // The destinations that can be passed directly.
        let direct = self.direct_destinations(call);
        let mut tangents: BTreeMap<usize, SymId> = BTreeMap::new();
        for p in &request.paired {
            let tangent = match direct.get(p) {
                Some(dest) => *dest,
                None => self.tangent(symbols[*p], call),
            };
            tangents.insert(*p, tangent);
        }
        let mut out = Vec::new();
        // Elements that the opening does not name also have a zero tangent.
        for p in call.in_opening.iter().filter(|p| tangents.contains_key(p)) {
            let whole = |i: &AdItem| matches!(i, AdItem::Assign(a) if a.direction.is_none() && a.var.kind == ExprKind::Var(symbols[*p]));
            if !block.opening.iter().any(whole) {
                out.extend(self.set_zero(tangents[p], symbols[*p], span));
            }
        }
        for item in &block.opening {
            let tangents = |s: SymId| call.position(s).and_then(|p| tangents.get(&p).copied());
            out.extend(self.loops(item, true, &tangents, span));
        }
        for (p, tangent) in &tangents {
            let output_only =
                request.dependents.contains(p) && assigned_before_use(head, &head.args, *p);
            if !call.in_opening.contains(p) && !output_only {
                out.extend(self.set_zero(*tangent, symbols[*p], span));
            }
        }
        out.push(self.call_derivative(call, &tangents, &BTreeMap::new()));
        out.extend(self.close(call, &tangents, &direct));
        out
    }
}

/// Whether the head's argument at `position` is certainly assigned before anything reads it.
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
        // A jump could bypass the assignment, including one by END= or an alternate return.
        let jumps = !stmt.blocks().is_empty()
            || matches!(&stmt.kind, StmtKind::Call(_, args)
                if args.iter().any(|a| matches!(a.kind, ExprKind::AltReturn(_))))
            || matches!(
                stmt.kind,
                StmtKind::Goto(_)
                    | StmtKind::Io(_)
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
