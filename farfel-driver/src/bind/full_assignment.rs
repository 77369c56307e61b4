//! Finds arrays whose elements need no values when a subprogram is called: results, of which it sets every
//! element, and work arrays.

use super::flows::Flows;
use farfel_lang::effects::Assigned;
use farfel_lang::flow::FlowGraph;
use farfel_lang::ir::{
    Class, Dim, Do, DoControl, Expr, ExprKind, Name, Program, Stmt, StmtKind, StorageClass, SymId,
    Unit, walk_block,
};
use farfel_lang::print::print_expr;
use farfel_lang::storage::constant::integer;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// Which array arguments of a program's units are fully assigned, as far as that was asked.
pub(super) struct FullAssignments<'p> {
    program: &'p Program,
    assigned: &'p Assigned,
    flows: &'p Flows<'p>,
    /// The answers, by unit and position.
    known: RefCell<HashMap<(Name, usize), bool>>,
    /// The same for the question whether no value on entry is used.
    unneeded: RefCell<HashMap<(Name, usize), bool>>,
}

impl<'p> FullAssignments<'p> {
    pub(super) fn new(program: &'p Program, assigned: &'p Assigned, flows: &'p Flows<'p>) -> Self {
        FullAssignments {
            program,
            assigned,
            flows,
            known: RefCell::default(),
            unneeded: RefCell::default(),
        }
    }

    /// Checks whether every path through a unit sets all of a dummy array before using it in any other
    /// way, and its bounds are at the end what they were at the beginning. The unit may set it by an
    /// assignment to the whole array, by loops over the declared bounds, by assignments to each
    /// element of an array of constant size, or by a call of something that does.
    pub(super) fn is_fully_assigned(&self, unit: &Unit, array: SymId) -> bool {
        answer(&self.known, unit, array, &|| {
            let Some(flow) = self.flow(unit, array) else {
                return false;
            };
            let mut found = self.setting(unit, &flow, array).into_iter();
            found.any(|node| is_first(&flow, node, array)) || sets_each(unit, &flow, array)
        })
    }

    /// Checks whether a unit uses no value that an element of a dummy array has on entry. Every path sets all
    /// of the array before using it in any other way, as for [`Self::is_fully_assigned`], ends before, or
    /// only passes the array or pieces of it, such as `W(N + 1)`, to subprograms of which the same holds.
    pub(super) fn needs_no_values(&self, unit: &Unit, array: SymId) -> bool {
        answer(&self.unneeded, unit, array, &|| {
            let Some(flow) = self.flow(unit, array) else {
                return false;
            };
            let setting = self.setting(unit, &flow, array);
            let within = |at: usize| {
                let inside = |node: &usize| flow.nodes_within(*node).contains(&at);
                setting.iter().any(inside)
            };
            all_paths(
                &flow,
                vec![flow.entry],
                &mut |at| match flow.stmts.get(at) {
                    _ if setting.contains(&at) => Step::End,
                    Some(_) if within(at) => Step::Fail,
                    Some(s) if touches(s, array) && !self.only_passes(unit, s, array) => Step::Fail,
                    _ => Step::GoOn,
                },
            )
        })
    }

    /// Checks whether a statement is a call that gets the array or pieces of it, all of them for arrays that
    /// need no values, and does not use the array otherwise.
    fn only_passes(&self, unit: &Unit, stmt: &Stmt, array: SymId) -> bool {
        let StmtKind::Call(callee, args) = &stmt.kind else {
            return false;
        };
        let target = &unit.symbols[*callee];
        let Some(called) = self.program.unit(&target.name) else {
            return false;
        };
        let mut having = args.iter().enumerate().filter(|(_, a)| mentions(a, array));
        target.storage_class == StorageClass::Global
            && called.args.len() == args.len()
            && !has_otherwise(stmt, array)
            && having.all(|(position, actual)| {
                let piece = match &actual.kind {
                    ExprKind::Var(s) => *s == array,
                    ExprKind::Element(s, subscripts) => {
                        *s == array && !subscripts.iter().any(|e| mentions(e, array))
                    }
                    _ => false,
                };
                let dummy = called.args[position].sym();
                piece
                    && dummy.is_some_and(|dummy| {
                        let there = &called.symbols[dummy];
                        there.is_array()
                            && there.ty == unit.symbols[array].ty
                            && self.needs_no_values(called, dummy)
                    })
            })
    }

    /// Returns the nodes of statements that set all of an array.
    fn setting(&self, unit: &Unit, flow: &FlowGraph, array: SymId) -> Vec<usize> {
        let sets = |node: &usize| !flow.masked[*node] && self.sets_all(unit, flow, *node, array);
        (0..flow.stmts.len()).filter(sets).collect()
    }

    /// Returns the control flow of a unit, unless there are uses of the array that it does not show.
    fn flow<'u>(&self, unit: &'u Unit, array: SymId) -> Option<Rc<FlowGraph<'u>>>
    where
        'p: 'u,
    {
        let flow = self.flows.of(unit);
        let blocks = flow.stmts.iter().any(|s| matches!(s.kind, StmtKind::Ad(_)));
        // A statement function reads the array wherever it is referenced.
        let hidden = unit.symbols.iter().any(|(_, s)| match &s.class {
            Class::StatementFunction(_, value) => mentions(value, array),
            _ => false,
        });
        if blocks || hidden || !unit.nested.is_empty() || !self.has_firm_bounds(unit, array) {
            return None;
        }
        Some(flow)
    }

    /// Checks whether nothing assigns the variables in the bounds of an array.
    fn has_firm_bounds(&self, unit: &Unit, array: SymId) -> bool {
        let mut firm = true;
        let dims = unit.symbols[array].dims.iter();
        for bound in dims.flat_map(|d| [&d.lower, &d.upper]).flatten() {
            bound.for_each_symbol(&mut |s| {
                firm &= match unit.arg_position(s) {
                    Some(position) => !self.assigned.argument(&unit.name, position),
                    None => !unit.symbols[s].is_variable(),
                };
            });
        }
        firm
    }

    fn sets_all(&self, unit: &Unit, flow: &FlowGraph, node: usize, array: SymId) -> bool {
        match &flow.stmts[node].kind {
            StmtKind::Assign(to, value) => {
                matches!(to.kind, ExprKind::Var(s) if s == array) && !mentions(value, array)
            }
            StmtKind::Do(d) => fills(unit, flow, node, d, array, &mut Vec::new()),
            StmtKind::Call(callee, args) => self.is_set_by_call(unit, *callee, args, array),
            _ => false,
        }
    }

    /// Checks whether a call gets the whole array, with the bounds that it has here, and sets all of it.
    fn is_set_by_call(&self, unit: &Unit, callee: SymId, args: &[Expr], array: SymId) -> bool {
        let target = &unit.symbols[callee];
        let mut having = args.iter().enumerate().filter(|(_, a)| mentions(a, array));
        let (Some((position, actual)), None) = (having.next(), having.next()) else {
            return false;
        };
        let Some(called) = self.program.unit(&target.name) else {
            return false;
        };
        if target.storage_class != StorageClass::Global
            || called.args.len() != args.len()
            || actual.kind != ExprKind::Var(array)
        {
            return false;
        }
        let Some(dummy) = called.args[position].sym() else {
            return false;
        };
        let (here, there) = (&unit.symbols[array], &called.symbols[dummy]);
        let equal = |there: &Expr, here: &Expr| match &there.kind {
            ExprKind::Var(s) if called.symbols[*s].storage_class == StorageClass::Dummy => {
                let given = called.arg_position(*s).and_then(|p| args.get(p));
                given.is_some_and(|given| same(unit, given, here))
            }
            _ => {
                let value = integer(called, there);
                value.is_some() && value == integer(unit, here)
            }
        };
        let matching = |(there, here): (&Dim, &Dim)| {
            let lower = match (&there.lower, &here.lower) {
                (None, None) => true,
                (Some(there), Some(here)) => equal(there, here),
                (Some(lower), None) => integer(called, lower) == Some(1),
                (None, Some(lower)) => integer(unit, lower) == Some(1),
            };
            let upper = there.upper.as_ref().zip(here.upper.as_ref());
            lower && upper.is_some_and(|(there, here)| equal(there, here))
        };
        here.ty == there.ty
            && here.dims.len() == there.dims.len()
            && there.dims.iter().zip(&here.dims).all(matching)
            && self.is_fully_assigned(called, dummy)
    }
}

/// Looks up what is known about a dummy array, or finds out.
pub(super) fn answer(
    known: &RefCell<HashMap<(Name, usize), bool>>,
    unit: &Unit,
    array: SymId,
    find: &dyn Fn() -> bool,
) -> bool {
    let Some(position) = unit.arg_position(array) else {
        return false;
    };
    let key = (unit.name.clone(), position);
    if let Some(known) = known.borrow().get(&key) {
        return *known;
    }
    // For the calls of a recursive unit to itself.
    known.borrow_mut().insert(key.clone(), false);
    let found = find();
    known.borrow_mut().insert(key, found);
    found
}

/// Checks whether a unit passes pieces of an array to other subprograms: `CALL SUB(W, W(N + 1))`.
pub(super) fn is_divided(unit: &Unit, array: SymId) -> bool {
    let mut found = false;
    walk_block(&unit.body, &mut |s| {
        if let StmtKind::Call(_, args) = &s.kind {
            let is_piece = |a: &Expr| matches!(&a.kind, ExprKind::Element(s, _) if *s == array);
            found |= args.iter().any(is_piece);
        }
    });
    found
}

/// What a walk along the paths of a unit does at a node.
pub(super) enum Step {
    GoOn,
    /// The path is good, whatever follows.
    End,
    /// The path shows that the answer is no.
    Fail,
}

/// Walks along all paths from some nodes and returns whether `step` fails at none of the nodes.
pub(super) fn all_paths(
    flow: &FlowGraph,
    from: Vec<usize>,
    step: &mut dyn FnMut(usize) -> Step,
) -> bool {
    let mut seen = vec![false; flow.len()];
    let mut open = from;
    while let Some(at) = open.pop() {
        if std::mem::replace(&mut seen[at], true) {
            continue;
        }
        match step(at) {
            Step::GoOn => open.extend(&flow.successors[at]),
            Step::End => {}
            Step::Fail => return false,
        }
    }
    true
}

/// Checks whether every path to the end of a unit enters a statement at its start, and does not use the array
/// before.
fn is_first(flow: &FlowGraph, node: usize, array: SymId) -> bool {
    let within = flow.nodes_within(node);
    all_paths(flow, vec![flow.entry], &mut |at| {
        let touched = flow.stmts.get(at).is_some_and(|s| touches(s, array));
        match at {
            at if at == node => Step::End,
            at if at == flow.exit || within.contains(&at) || touched => Step::Fail,
            _ => Step::GoOn,
        }
    })
}

/// Checks whether a statement itself, without the statements nested in it, mentions the array.
pub(super) fn touches(stmt: &Stmt, array: SymId) -> bool {
    let mut found = has_otherwise(stmt, array);
    stmt.for_each_own_expr(&mut |e| found |= mentions(e, array));
    found
}

pub(super) fn mentions(e: &Expr, array: SymId) -> bool {
    let mut found = false;
    e.for_each_symbol(&mut |s| found |= s == array);
    found
}

/// Checks whether every path assigns each element of an array of constant size before using it.
fn sets_each(unit: &Unit, flow: &FlowGraph, array: SymId) -> bool {
    const MOST: i64 = 64;
    let mut elements: Vec<Vec<i64>> = vec![Vec::new()];
    for dim in &unit.symbols[array].dims {
        let lower = match &dim.lower {
            Some(lower) => integer(unit, lower),
            None => Some(1),
        };
        let upper = dim.upper.as_ref().and_then(|u| integer(unit, u));
        let (Some(lower), Some(upper)) = (lower, upper) else {
            return false;
        };
        let extent = upper.checked_sub(lower).filter(|d| (0..MOST).contains(d));
        if extent.is_none_or(|d| (d + 1) * elements.len() as i64 > MOST) {
            return false;
        }
        let longer = |e: &Vec<i64>| (lower..=upper).map(|i| [&e[..], &[i]].concat()).collect();
        elements = elements
            .iter()
            .flat_map(|e| -> Vec<_> { longer(e) })
            .collect();
    }
    elements.iter().all(|element| {
        all_paths(flow, vec![flow.entry], &mut |at| {
            if at == flow.exit {
                return Step::Fail;
            }
            let Some(stmt) = flow.stmts.get(at) else {
                return Step::GoOn;
            };
            let good = match &stmt.kind {
                StmtKind::Assign(to, value) if to.base() == Some(array) => {
                    let set = subscript_values(unit, to);
                    let good = set.is_some() && avoids(unit, value, array, element);
                    if good && !flow.masked[at] && set.as_ref() == Some(element) {
                        return Step::End;
                    }
                    good && !flow.masked[at]
                }
                _ => stmt_avoids(unit, stmt, array, element),
            };
            if good { Step::GoOn } else { Step::Fail }
        })
    })
}

/// Returns the values of constant subscripts.
fn subscript_values(unit: &Unit, e: &Expr) -> Option<Vec<i64>> {
    let ExprKind::Element(_, subscripts) = &e.kind else {
        return None;
    };
    subscripts.iter().map(|s| integer(unit, s)).collect()
}

/// Checks whether an expression refers only to other elements of an array.
fn avoids(unit: &Unit, e: &Expr, array: SymId, element: &Vec<i64>) -> bool {
    let mut avoids = true;
    e.walk(&mut |e| match &e.kind {
        ExprKind::Element(s, _) if *s == array => {
            avoids &= subscript_values(unit, e).is_some_and(|v| v != *element);
        }
        ExprKind::Var(s) if *s == array => avoids = false,
        // A callee gets all that is left of the array.
        ExprKind::Call(_, args) => avoids &= !args.iter().any(|a| a.base() == Some(array)),
        _ => {}
    });
    avoids
}

/// Checks the same of a statement itself.
fn stmt_avoids(unit: &Unit, stmt: &Stmt, array: SymId, element: &Vec<i64>) -> bool {
    if matches!(stmt.kind, StmtKind::Call(..)) || has_otherwise(stmt, array) {
        return !touches(stmt, array);
    }
    let mut found = true;
    stmt.for_each_own_expr(&mut |e| found &= avoids(unit, e, array, element));
    found
}

/// Checks whether a statement itself mentions the array outside of expressions.
fn has_otherwise(stmt: &Stmt, array: SymId) -> bool {
    let mut found = false;
    // Whoever comes along at an ENTRY statement does nothing there.
    if !matches!(stmt.kind, StmtKind::Entry(_)) {
        stmt.for_each_own_symbol(&mut |s| found |= s == array);
    }
    found
}

/// Checks whether a loop, within the loops around it, sets the element of the array for each combination
/// of the loop variables, which are all subscripts of the array. Each iteration sets the element before it
/// uses the array in any other way, and uses only that element afterwards; the loop has no exit other than
/// its regular end.
fn fills<'a>(
    unit: &Unit,
    flow: &FlowGraph,
    node: usize,
    d: &'a Do,
    array: SymId,
    around: &mut Vec<&'a Do>,
) -> bool {
    around.push(d);
    let mut at = node + 1;
    let filled = d.body.iter().find_map(|s| {
        let first = at;
        at = flow.nodes_within(first).end;
        match &s.kind {
            StmtKind::Assign(to, value) if is_element(unit, to, array, around) => {
                (!mentions(value, array)).then_some((first, Some(to)))
            }
            StmtKind::Do(inner) => {
                fills(unit, flow, first, inner, array, around).then_some((first, None))
            }
            _ => None,
        }
    });
    around.pop();
    let Some((set, element)) = filled else {
        return false;
    };
    let inside = flow.nodes_within(node);
    let setting = flow.nodes_within(set);
    let in_body = |at: usize| at != node && inside.contains(&at);
    // In an iteration until the element is set, where all paths lead.
    let before = all_paths(flow, vec![node + 1], &mut |at| match at {
        at if at == set => Step::End,
        at if in_body(at) && !touches(flow.stmts[at], array) => Step::GoOn,
        _ => Step::Fail,
    });
    // And from then on to its end.
    let follow = flow.successors[set].iter().copied();
    let follow = follow.filter(|n| !setting.contains(n)).collect();
    let good = |at: usize| match element {
        Some(element) => only_has(flow.stmts[at], array, element),
        None => !touches(flow.stmts[at], array),
    };
    before
        && all_paths(flow, follow, &mut |at| match at {
            at if at == node || at == set => Step::End,
            at if in_body(at) && !setting.contains(&at) && good(at) => Step::GoOn,
            _ => Step::Fail,
        })
}

/// Checks whether an expression is an element such as `Y(I, J)` in loops over the full extent of each
/// dimension.
fn is_element(unit: &Unit, e: &Expr, array: SymId, around: &[&Do]) -> bool {
    let ExprKind::Element(base, subscripts) = &e.kind else {
        return false;
    };
    if *base != array {
        return false;
    }
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

/// Checks whether two bounds are the same expression, of variables that nothing assigns, or the same constant.
fn same(unit: &Unit, a: &Expr, b: &Expr) -> bool {
    let value = integer(unit, a);
    match value {
        Some(_) => value == integer(unit, b),
        None => print_expr(unit, a) == print_expr(unit, b),
    }
}

/// Checks whether a statement itself refers only to one element of the array, with these subscripts.
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
    // The element itself may be passed: its callee gets all that is left of the array.
    if matches!(stmt.kind, StmtKind::Call(..)) || has_otherwise(stmt, array) {
        return !touches(stmt, array);
    }
    let wanted = subscripts(element);
    let mut only = true;
    stmt.for_each_own_expr(&mut |e| {
        e.walk(&mut |e| match &e.kind {
            ExprKind::Element(s, _) if *s == array => only &= subscripts(e) == wanted,
            ExprKind::Var(s) if *s == array => only = false,
            ExprKind::Call(_, args) => only &= !args.iter().any(|a| a.base() == Some(array)),
            _ => {}
        });
    });
    only
}
