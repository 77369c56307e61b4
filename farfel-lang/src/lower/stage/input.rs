//! Input in ADR blocks.
//!
//! The statements run once, as ordinary code, and read their files then. The derivative runs after
//! them and reads nothing, so the input that it needs must be available when it starts.

use crate::access::{self, Access, Role};
use crate::dataflow::Intents;
use crate::diagnostic::{Diagnostic, rules};
use crate::effects::Assigned;
use crate::flow::FlowGraph;
use crate::ir::{ExprKind, IoKind, Stmt, StmtKind, SymId, Unit, walk_block, walk_block_mut};
use crate::lower::bounds::bound_variables;
use crate::source::Span;
use std::collections::HashSet;

/// Returns the positions of the arguments of a head that input statements in it assign and nothing
/// else does: their values after the head are those that were read. Other input is an error.
pub(super) fn read_by_head(
    head: &Unit,
    block: Span,
    assigned: &Assigned,
    intents: &Intents,
    errors: &mut Vec<Diagnostic>,
) -> Vec<usize> {
    let is_input = |s: &Stmt| !targets(head, s).is_empty();
    let flow = FlowGraph::of(head);
    let stmts = flow.stmts.iter().enumerate();
    let statements: Vec<(usize, &Stmt)> = stmts
        .filter(|(_, s)| is_input(s))
        .map(|(i, s)| (i, *s))
        .collect();
    if statements.is_empty() {
        return Vec::new();
    }
    let rest = Unit {
        body: without(&head.body, &is_input),
        ..head.clone()
    };
    let others = assigned.in_block(head, &rest.body);
    let bounds = bound_variables(head);
    let mut read = Vec::new();
    for (node, stmt) in &statements {
        let mut got = targets(head, stmt);
        for v in implied_loops(stmt) {
            if intents.reads_first(&rest, v) {
                got.insert(v);
            }
        }
        let times = |s: SymId| {
            let all = statements.iter();
            all.filter(|(_, x)| targets(head, x).contains(&s)).count()
        };
        let before = flow.before(*node);
        let simple = |s: SymId| {
            head.arg_position(s).is_some()
                && times(s) == 1
                && !others.contains(&s)
                && !bounds.contains(&s)
                && !named_in(&flow, &before, s)
        };
        // The derivative reads nothing, and continues as if there was no error.
        let fine = !before[*node] && !jumps(stmt) && got.iter().all(|s| simple(*s));
        if fine {
            read.extend(got.iter().filter_map(|s| head.arg_position(*s)));
        } else {
            errors.push(error(stmt.span, block));
        }
    }
    read
}

/// Whether input may continue elsewhere than at the next statement.
fn jumps(stmt: &Stmt) -> bool {
    let StmtKind::Io(io) = &stmt.kind else {
        return false;
    };
    io.control.iter().any(
        |c| matches!(&c.kind, ExprKind::Keyword(k, _) if matches!(k.as_str(), "END" | "ERR" | "EOR")),
    )
}

/// Returns the statements of a unit that receive values from outside of the program.
pub(super) fn statements(unit: &Unit) -> Vec<Span> {
    let mut found = Vec::new();
    walk_block(&unit.body, &mut |s| {
        if !targets(unit, s).is_empty() {
            found.push(s.span);
        }
    });
    found
}

/// Returns the error for a statement that receives values which the derivative of a block cannot
/// receive.
pub(super) fn error(at: Span, block: Span) -> Diagnostic {
    Diagnostic::error(
        &rules::AD_INPUT,
        at,
        "the derivative of an ADR block cannot read again what this statement gets",
    )
    .related(block, "for the derivative of this block")
    .help("read it before the block; or in the block itself, once, into variables that nothing else assigns")
}

/// Returns the variables that a statement, excluding those within it, sets from outside of the
/// program. The status of output is not included: a derivative may assume that it succeeded.
fn targets(unit: &Unit, stmt: &Stmt) -> HashSet<SymId> {
    let mut found = HashSet::new();
    if let StmtKind::Io(io) = &stmt.kind
        && matches!(io.kind, IoKind::Read | IoKind::Inquire)
        && !io.is_internal(unit)
    {
        access::statement(unit, stmt, false, &mut |a| {
            if let Access::Variable {
                sym, kind, role, ..
            } = a
                && kind.changes()
                && role != Role::Counter
            {
                found.insert(sym);
            }
        });
    }
    found
}

/// Returns the variables of implied DOs in a statement.
fn implied_loops(stmt: &Stmt) -> Vec<SymId> {
    let mut found = Vec::new();
    stmt.for_each_own_expr(&mut |e| {
        e.walk(&mut |e| {
            if let ExprKind::ImpliedDo(d) = &e.kind {
                found.push(d.var);
            }
        });
    });
    found
}

/// Returns a block with some of its statements replaced by CONTINUE.
fn without(block: &[Stmt], left_out: &dyn Fn(&Stmt) -> bool) -> Vec<Stmt> {
    let mut rest = block.to_vec();
    walk_block_mut(&mut rest, &mut |s| {
        if left_out(s) {
            s.kind = StmtKind::Continue;
        }
    });
    rest
}

/// Whether one of these statements names the variable.
fn named_in(flow: &FlowGraph, nodes: &[bool], s: SymId) -> bool {
    let mut named = false;
    for (stmt, _) in flow.stmts.iter().zip(nodes).filter(|(_, in_it)| **in_it) {
        stmt.for_each_own_symbol(&mut |x| named |= x == s);
        stmt.for_each_own_expr(&mut |e| e.for_each_symbol(&mut |x| named |= x == s));
    }
    named
}
