//! Input in ADR blocks.
//!
//! The statements run once, as plain code, and read their files then. The derivative runs
//! after them and reads nothing. What it needs of the input must be there when it starts.

use super::entry::{Entry, has_jumps};
use crate::diagnostic::{Diagnostic, rules};
use crate::effects::{Assigned, io_targets};
use crate::ir::{Expr, ExprKind, Io, IoKind, Stmt, StmtKind, SymId, Type, Unit, walk_block};
use crate::source::Span;
use std::collections::HashSet;

/// The positions of the arguments of a head that input statements in it assign, and nothing
/// else: their values after the head are those that were read. Other input is a fault.
pub(super) fn read_by_head<'p>(
    head: &'p Unit,
    block: Span,
    assigned: &Assigned,
    entry: &mut Entry<'p>,
    faults: &mut Vec<Diagnostic>,
) -> Vec<usize> {
    let is_input = |s: &Stmt| !targets(head, s).is_empty();
    let mut statements: Vec<&Stmt> = Vec::new();
    let mut looped: Vec<*const Stmt> = Vec::new();
    walk_block(&head.body, &mut |s| {
        match &s.kind {
            StmtKind::LogicalIf(..) => {}
            StmtKind::Do(d) => {
                walk_block(&d.body, &mut |s| looped.push(std::ptr::from_ref(s)));
            }
            _ if is_input(s) => statements.push(s),
            _ => {}
        };
    });
    if statements.is_empty() {
        return Vec::new();
    }
    let others = assigned.in_block(head, &without(&head.body, &is_input));
    let bounds = bounds(head);
    let jumps = has_jumps(head);
    let mut read = Vec::new();
    for stmt in &statements {
        let mut got = targets(head, stmt);
        for v in implied_loops(stmt) {
            if entry.matters_without(head, v, &is_input) {
                got.insert(v);
            }
        }
        let times = |s: SymId| {
            let all = statements.iter();
            all.filter(|x| targets(head, x).contains(&s)).count()
        };
        let simple = |s: SymId| {
            head.arg_position(s).is_some()
                && times(s) == 1
                && !others.contains(&s)
                && !bounds.contains(&s)
                && !named_before(head, s, stmt)
        };
        let fine = !jumps
            && !looped.contains(&std::ptr::from_ref(*stmt))
            && got.iter().all(|s| simple(*s));
        if fine {
            read.extend(got.iter().filter_map(|s| head.arg_position(*s)));
        } else {
            faults.push(fault(stmt.span, block));
        }
    }
    read
}

/// The statements of a unit that get something from outside of the program.
pub(super) fn statements(unit: &Unit) -> Vec<Span> {
    let mut found = Vec::new();
    walk_block(&unit.body, &mut |s| {
        if !targets(unit, s).is_empty() {
            found.push(s.span);
        }
    });
    found
}

/// A statement gets what the derivative of a block cannot get.
pub(super) fn fault(at: Span, block: Span) -> Diagnostic {
    Diagnostic::error(
        &rules::AD_UNSUPPORTED,
        at,
        "the derivative of an ADR block cannot read again what this statement gets",
    )
    .related(block, "for the derivative of this block")
    .help("read it before the block; or in the block itself, once, into variables that nothing else assigns")
}

/// The variables that a statement, not those in it, assigns from outside of the program.
/// The status of output is none: a derivative may take it that all went well.
fn targets(unit: &Unit, stmt: &Stmt) -> HashSet<SymId> {
    let mut found = HashSet::new();
    if let StmtKind::Io(io) = &stmt.kind
        && matches!(io.kind, IoKind::Read | IoKind::Inquire)
        && !is_internal(unit, io)
    {
        io_targets(unit, io, &mut found);
    }
    found
}

/// Is it input from, or output to, a CHARACTER variable?
fn is_internal(unit: &Unit, io: &Io) -> bool {
    let text = |e: &Expr| {
        let base = e.base();
        base.is_some_and(|s| unit.symbols[s].ty == Some(Type::Character))
    };
    io.parens
        && matches!(io.kind, IoKind::Read | IoKind::Write)
        && io.control.iter().enumerate().any(|(i, c)| match &c.kind {
            ExprKind::Keyword(name, e) => name == "UNIT" && text(e),
            _ => i == 0 && text(c),
        })
}

/// What the bounds and lengths of a unit depend on.
fn bounds(unit: &Unit) -> HashSet<SymId> {
    let mut found = HashSet::new();
    for (_, s) in unit.symbols.iter() {
        let exprs = s.dims.iter().flat_map(|d| d.lower.iter().chain(&d.upper));
        for e in exprs.chain(&s.length) {
            e.for_each_symbol(&mut |s| found.extend([s]));
        }
    }
    found
}

/// The variables of implied DOs in a statement.
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

/// A block without some of its statements.
fn without(block: &[Stmt], left_out: &dyn Fn(&Stmt) -> bool) -> Vec<Stmt> {
    let keep = |s: &&Stmt| match &s.kind {
        StmtKind::LogicalIf(_, inner) => !left_out(inner),
        _ => !left_out(s),
    };
    let mut rest: Vec<Stmt> = block.iter().filter(keep).cloned().collect();
    for s in &mut rest {
        for inner in s.blocks_mut() {
            *inner = without(inner, left_out);
        }
    }
    rest
}

/// Does a statement that stands before `stmt` name the variable?
fn named_before(unit: &Unit, s: SymId, stmt: &Stmt) -> bool {
    let (mut named, mut there) = (false, false);
    walk_block(&unit.body, &mut |x| {
        there |= std::ptr::eq(x, stmt);
        if !there {
            x.for_each_own_symbol(&mut |x| named |= x == s);
            x.for_each_own_expr(&mut |e| e.for_each_symbol(&mut |x| named |= x == s));
        }
    });
    named
}
