//! The last call of a head: both sweeps of the callee in one subprogram.
//!
//! If a forward sweep ends with a call, the reverse sweep of that call follows immediately. So both can be
//! one subprogram: its local variables and the course of its conditions and loops need not be recorded on a
//! tape, compilers keep values in registers, and it has its own tape. If that subprogram ends with a call in
//! turn, the same is done there. AD blocks are often one call of a subroutine that is itself one call.
//!
//! Statements may follow the call if only linear ones among them matter, and if these do not read what the
//! call assigns: adjoints need not return primal values. The order of the reverse sweep stays: first the
//! transposes of the statements after the call, then both sweeps of the call.

use super::aliased_arguments::AdjointArguments;
use super::effects::{SideEffects, StatementEffects};
use super::transpose::is_derivative;
use super::{AdjointEngine, Part};
use crate::locations::Set;
use farfel_lang::ir::{
    Block, Class, DoControl, Expr, ExprKind, Program, Stmt, StmtKind, walk_block,
};

/// Combines both sweeps of the last calls of heads into one subprogram.
pub(super) fn join_last_calls(engine: &mut AdjointEngine, closure: &Program) {
    if engine.goal.heads {
        // Subprograms below heads are called by several of them.
        return;
    }
    let heads: Vec<usize> = (0..engine.parts.len())
        .filter(|i| engine.parts[*i].root)
        .collect();
    for head in heads {
        let mut at = head;
        while let Some((part, body)) = last_call(engine, closure, at) {
            engine.parts[at].body = body;
            let p = &mut engine.parts[part];
            (p.root, p.is_last_call) = (true, true);
            at = part;
        }
    }
}

/// The part that a part calls last, and its statements without unneeded ones after the call.
fn last_call(engine: &AdjointEngine, closure: &Program, at: usize) -> Option<(usize, Block)> {
    let p = &engine.parts[at];
    let is_call = |s: &Stmt| {
        let mut found = false;
        s.walk(&mut |s| {
            if let StmtKind::Call(f, _) = &s.kind {
                found |= engine.part_of(&p.builder.unit.symbols[*f].name).is_some();
            }
        });
        found
    };
    let place = p.body.iter().rposition(is_call)?;
    let call = &p.body[place];
    let StmtKind::Call(f, args) = &call.kind else {
        return None;
    };
    let part = engine.part_of(&p.builder.unit.symbols[*f].name)?;
    let callee = &engine.parts[part];
    // Marked subprograms are executed again, as the user has asked.
    let marked = closure.unit(&callee.of).is_some_and(|u| u.joint);
    if marked
        || callee.root
        || uses(engine, part) != 1
        || passes_one_array_twice(engine, p, callee, args)
    {
        return None;
    }
    let touched = engine.touched_in(&p.builder.unit, &p.space, std::slice::from_ref(call));
    let mut busy = touched.read.clone();
    busy.union_with(&touched.assigned);
    for a in args {
        a.for_each_symbol(&mut |s| busy.insert(p.space.loc(s)));
    }
    let behind = StatementsAfterCall {
        engine,
        part: p,
        values: Set::with_capacity(p.space.len + p.builder.unit.symbols.len()),
    };
    let kept = behind.kept(&p.body[place + 1..], &touched, &busy)?;
    let mut body = p.body[..=place].to_vec();
    body.extend(kept);
    Some((part, body))
}

/// The number of places that name a part.
fn uses(engine: &AdjointEngine, part: usize) -> usize {
    let name = &engine.parts[part].name;
    let mut found = 0;
    for p in &engine.parts {
        let Some(s) = p.builder.unit.symbols.find(name) else {
            continue;
        };
        walk_block(&p.body, &mut |x| {
            found += usize::from(matches!(x.kind, StmtKind::Call(f, _) if f == s));
            x.for_each_own_expr(&mut |e| e.for_each_symbol(&mut |x| found += usize::from(x == s)));
        });
    }
    found
}

impl AdjointEngine {
    /// The only call of a part: the index of the caller, and the arguments.
    pub(super) fn only_call_of(&self, part: usize) -> Option<(usize, &[Expr])> {
        let name = &self.parts[part].name;
        self.parts.iter().enumerate().find_map(|(i, p)| {
            let own = p.builder.unit.symbols.find(name)?;
            p.body.iter().find_map(|s| match &s.kind {
                StmtKind::Call(f, args) if *f == own => Some((i, args.as_slice())),
                _ => None,
            })
        })
    }
}

/// Whether a call passes the cotangent of one array by two arguments that may overlap, so that it would go to a
/// copy of the reverse sweep (`aliased_arguments`). An argument that the callee assigns overlaps no other.
fn passes_one_array_twice(
    engine: &AdjointEngine,
    caller: &Part,
    callee: &Part,
    args: &[Expr],
) -> bool {
    let passed = AdjointArguments {
        engine,
        part: callee,
    };
    let mut seen = Set::with_capacity(caller.space.len + caller.builder.unit.symbols.len());
    for (i, a) in args.iter().enumerate() {
        if let Some(base) = a.base()
            && passed.is_only_added_to(i)
            && !passed.is_scalar(i)
            && caller.builder.derivatives.contains(&base)
        {
            let loc = caller.space.loc(base);
            if seen.contains(loc) {
                return true;
            }
            seen.insert(loc);
        }
    }
    false
}

/// The statements after a call.
struct StatementsAfterCall<'w> {
    engine: &'w AdjointEngine,
    part: &'w Part,
    /// The locations that are read by statements that matter.
    values: Set,
}

impl StatementsAfterCall<'_> {
    /// Returns the statements that matter, if they can be executed before the call.
    fn kept(mut self, block: &[Stmt], call: &StatementEffects, busy: &Set) -> Option<Block> {
        let unit = &self.part.builder.unit;
        let touched = self.engine.touched_in(unit, &self.part.space, block);
        let keeps = !touched.assigned.is_disjoint(&self.part.space.saved);
        if touched.side_effects != SideEffects::Nothing
            || keeps
            || !block.iter().all(|s| self.is_plain(s))
        {
            return None;
        }
        // Values may be computed from other values.
        loop {
            let before = self.values.clone();
            block.iter().for_each(|s| self.add_reads(s));
            if before == self.values {
                break;
            }
        }
        let tangled = &self.part.space.tangled;
        let kept = self.filtered(block);
        let set = self.engine.touched_in(unit, &self.part.space, &kept);
        let derivative = |loc: usize| {
            let derivatives = self.part.builder.derivatives.iter();
            derivatives
                .into_iter()
                .any(|d| self.part.space.loc(*d) == loc)
        };
        let values = |set: &Set| -> Set {
            let mut out = Set::with_capacity(self.values.len());
            out.extend(set.ones().filter(|l| !derivative(*l)));
            out
        };
        let set = values(&set.assigned);
        let apart = self.values.is_disjoint(&call.assigned)
            && set.is_disjoint(busy)
            && self.values.is_disjoint(tangled)
            && set.is_disjoint(tangled);
        apart.then_some(kept)
    }

    /// Whether a statement consists of assignments, loops and conditions without calls.
    fn is_plain(&self, s: &Stmt) -> bool {
        let mut plain = true;
        let symbols = &self.part.builder.unit.symbols;
        s.walk(&mut |s| {
            plain &= match &s.kind {
                StmtKind::Assign(..)
                | StmtKind::If(_)
                | StmtKind::LogicalIf(..)
                | StmtKind::Comment(_) => true,
                StmtKind::Continue => s.label.is_none(),
                StmtKind::Do(d) => {
                    matches!(d.control, DoControl::Count { .. }) && d.directive.is_none()
                }
                _ => false,
            };
            s.for_each_own_expr(&mut |e| {
                e.walk(&mut |e| {
                    if let ExprKind::Call(f, _) = &e.kind {
                        plain &= matches!(symbols[*f].class, Class::Intrinsic(_));
                    }
                });
            });
        });
        plain
    }

    /// Whether a statement matters: it assigns a derivative, or a value that matters.
    fn matters(&self, s: &Stmt) -> bool {
        let p = self.part;
        let mut found = false;
        s.walk(&mut |s| {
            if let StmtKind::Assign(target, _) = &s.kind {
                found |= is_derivative(&p.builder.derivatives, target)
                    || target
                        .base()
                        .is_some_and(|b| self.values.contains(p.space.loc(b)));
            }
        });
        found
    }

    /// Adds the locations that a statement reads, if it matters.
    fn add_reads(&mut self, s: &Stmt) {
        if !self.matters(s) {
            return;
        }
        let part = self.part;
        let mut read = |e: &Expr| {
            e.for_each_symbol(&mut |s| {
                if part.builder.unit.symbols[s].is_variable()
                    && !part.builder.derivatives.contains(&s)
                {
                    self.values.insert(part.space.loc(s));
                }
            });
        };
        match &s.kind {
            // A scalar target is assigned, not read.
            StmtKind::Assign(target, value) => {
                read(value);
                target.children().into_iter().for_each(read);
            }
            StmtKind::Do(d) => {
                if let DoControl::Count { from, to, step, .. } = &d.control {
                    [from, to].into_iter().chain(step).for_each(&mut read);
                }
                d.body.iter().for_each(|s| self.add_reads(s));
            }
            StmtKind::LogicalIf(condition, inner) => {
                read(condition);
                self.add_reads(inner);
            }
            _ => {
                s.for_each_own_expr(&mut read);
                for b in s.blocks() {
                    b.iter().for_each(|s| self.add_reads(s));
                }
            }
        }
    }

    /// The statements that matter.
    fn filtered(&self, block: &[Stmt]) -> Block {
        let mut out = Vec::new();
        for s in block.iter().filter(|s| self.matters(s)) {
            let mut s = s.clone();
            for b in s.blocks_mut() {
                *b = self.filtered(b);
            }
            out.push(s);
        }
        out
    }
}
