//! Finds arrays of which a subprogram sets every element before it reads any, so that callers need
//! not initialize them.

use farfel_lang::flow::FlowGraph;
use farfel_lang::ir::{
    Class, Do, DoControl, Expr, ExprKind, Stmt, StmtKind, SymId, Unit, walk_block,
};
use farfel_lang::storage::constant::integer;

/// Checks whether every path through a unit sets all elements of a dummy array before using it in any other
/// way: by an assignment to the whole array, or by loops over the declared bounds. Nothing in the unit may
/// assign the variables in these bounds.
pub(super) fn is_fully_assigned(unit: &Unit, array: SymId) -> bool {
    let mut entries = false;
    walk_block(&unit.body, &mut |s| {
        entries |= matches!(s.kind, StmtKind::Entry(_))
    });
    // A statement function reads the array wherever it is referenced.
    let hidden = unit.symbols.iter().any(|(_, s)| match &s.class {
        Class::StatementFunction(_, value) => mentions(value, array),
        _ => false,
    });
    if entries || hidden || !unit.nested.is_empty() {
        return false;
    }
    let flow = FlowGraph::of(unit);
    let sets = |node: usize| !flow.masked[node] && sets_all(unit, flow.stmts[node], array);
    let mut found = (0..flow.stmts.len()).filter(|node| sets(*node));
    found.any(|node| is_first(&flow, node, array))
}

/// Checks whether every path to the end of a unit enters a statement at its start, and does not use the array
/// before.
fn is_first(flow: &FlowGraph, node: usize, array: SymId) -> bool {
    let within = flow.nodes_within(node);
    let mut seen = vec![false; flow.len()];
    let mut open = vec![flow.entry];
    while let Some(at) = open.pop() {
        if at == node || std::mem::replace(&mut seen[at], true) {
            continue;
        }
        let touched = flow.stmts.get(at).is_some_and(|s| touches(s, array));
        if at == flow.exit || within.contains(&at) || touched {
            return false;
        }
        open.extend(&flow.successors[at]);
    }
    true
}

/// Checks whether a statement itself, without the statements nested in it, mentions the array.
fn touches(stmt: &Stmt, array: SymId) -> bool {
    let mut found = false;
    stmt.for_each_own_symbol(&mut |s| found |= s == array);
    stmt.for_each_own_expr(&mut |e| found |= mentions(e, array));
    found
}

fn mentions(e: &Expr, array: SymId) -> bool {
    let mut found = false;
    e.for_each_symbol(&mut |s| found |= s == array);
    found
}

/// Checks whether a statement, including the statements nested in it, mentions the array.
fn has(stmt: &Stmt, array: SymId) -> bool {
    let mut found = false;
    stmt.walk(&mut |s| found |= touches(s, array));
    found
}

/// Checks whether a statement sets all elements of the array without reading any before.
fn sets_all(unit: &Unit, stmt: &Stmt, array: SymId) -> bool {
    match &stmt.kind {
        StmtKind::Assign(to, value) => {
            matches!(to.kind, ExprKind::Var(s) if s == array) && !mentions(value, array)
        }
        StmtKind::Do(d) => goes_through(d) && fills(unit, d, array, &mut Vec::new()),
        _ => false,
    }
}

/// Checks whether a loop has no exit other than its regular end, apart from statements that end the
/// whole call.
fn goes_through(d: &Do) -> bool {
    let mut through = true;
    walk_block(&d.body, &mut |s| {
        through &= match &s.kind {
            StmtKind::Comment(_)
            | StmtKind::Assign(..)
            | StmtKind::If(_)
            | StmtKind::LogicalIf(..)
            | StmtKind::Do(_)
            | StmtKind::Continue
            | StmtKind::Stop(_) => true,
            StmtKind::Call(_, args) => {
                let alternate = |a: &Expr| matches!(a.kind, ExprKind::AltReturn(_));
                !args.iter().any(alternate)
            }
            _ => false,
        };
    });
    through
}

/// Checks whether a loop, within the loops around it, sets the element of the array for each combination
/// of the loop variables. All loop variables must be subscripts of the array. In each iteration, other
/// statements may use only that element, and only after it was set.
fn fills<'a>(unit: &Unit, d: &'a Do, array: SymId, around: &mut Vec<&'a Do>) -> bool {
    around.push(d);
    let mut rest = d.body.iter();
    let filled = rest.by_ref().find_map(|s| match &s.kind {
        StmtKind::Assign(to, value) if to.base() == Some(array) => {
            let good = is_element(unit, to, array, around) && !mentions(value, array);
            Some(good.then_some(Some(to)))
        }
        StmtKind::Do(inner) if has(s, array) => {
            Some(fills(unit, inner, array, around).then_some(None))
        }
        _ if has(s, array) => Some(None),
        _ => None,
    });
    around.pop();
    let Some(Some(element)) = filled else {
        return false;
    };
    rest.all(|s| match element {
        Some(element) => only_has(s, array, element),
        None => !has(s, array),
    })
}

/// Checks whether an expression is an element such as `Y(I, J)` in loops over the full extent of each
/// dimension.
fn is_element(unit: &Unit, e: &Expr, array: SymId, around: &[&Do]) -> bool {
    let ExprKind::Element(_, subscripts) = &e.kind else {
        return false;
    };
    let dims = &unit.symbols[array].dims;
    // A further loop with zero iterations would keep the loops over the dimensions from running.
    if dims.len() != subscripts.len() || around.len() != dims.len() {
        return false;
    }
    let mut used = Vec::new();
    dims.iter().zip(subscripts).all(|(dim, subscript)| {
        let ExprKind::Var(counter) = subscript.kind else {
            return false;
        };
        let over = around.iter().any(|d| match &d.control {
            DoControl::Count {
                var,
                from,
                to,
                step,
            } => {
                let step = step.as_ref().map_or(Some(1), |s| integer(unit, s));
                let lower = match &dim.lower {
                    Some(lower) => same(unit, from, lower),
                    None => integer(unit, from) == Some(1),
                };
                let upper = dim.upper.as_ref();
                *var == counter
                    && step == Some(1)
                    && lower
                    && upper.is_some_and(|u| same(unit, to, u))
            }
            _ => false,
        });
        let fresh = !used.contains(&counter);
        used.push(counter);
        over && fresh
    })
}

/// Checks whether two bounds are the same variable or the same constant.
fn same(unit: &Unit, a: &Expr, b: &Expr) -> bool {
    match (&a.kind, &b.kind) {
        (ExprKind::Var(a), ExprKind::Var(b)) if a == b => true,
        _ => {
            let value = integer(unit, a);
            value.is_some() && value == integer(unit, b)
        }
    }
}

/// Checks whether a statement, including the statements nested in it, uses no part of the array except one
/// element, with the same variables as subscripts.
fn only_has(stmt: &Stmt, array: SymId, element: &Expr) -> bool {
    let subscripts = |e: &Expr| -> Option<Vec<SymId>> {
        let ExprKind::Element(_, list) = &e.kind else {
            return None;
        };
        let one = |e: &Expr| match e.kind {
            ExprKind::Var(s) => Some(s),
            _ => None,
        };
        list.iter().map(one).collect()
    };
    let wanted = subscripts(element);
    let mut only = true;
    stmt.walk(&mut |s| {
        // A callee that is passed the element can access the rest of the array as well.
        only &= !(matches!(s.kind, StmtKind::Call(..)) && touches(s, array));
        s.for_each_own_expr(&mut |e| {
            e.walk(&mut |e| match &e.kind {
                ExprKind::Element(s, _) if *s == array => only &= subscripts(e) == wanted,
                ExprKind::Var(s) if *s == array => only = false,
                ExprKind::Call(_, args) => only &= !args.iter().any(|a| a.base() == Some(array)),
                _ => {}
            });
        });
    });
    only
}
