//! ENTRY points: each has its own arguments, and those of the others do not exist if the unit is entered
//! there.

use super::arrays::is_allocated_here;
use farfel_lang::Span;
use farfel_lang::flow::FlowGraph;
use farfel_lang::ir::{
    Block, Class, Expr, ExprKind, StmtKind, StorageClass, SymId, Symbol, Unit, walk_block,
};
use farfel_lang::storage::Constants;
use std::collections::HashSet;

/// Leaves the last bound of arrays open if it is a variable, in a unit with ENTRY points, since the variable
/// may be an argument of another one. The bound does not matter where each subscript is compared with the
/// actual length. An array whose shape is needed stays as it is.
pub(super) fn leave_open(unit: &mut Unit, body: &Block) {
    if !body.iter().any(|s| matches!(s.kind, StmtKind::Entry(_))) {
        return;
    }
    let constants = Constants::of(unit);
    let constant = |e: &Option<Expr>| e.as_ref().is_none_or(|e| constants.integer(e).is_some());
    let is_open = |s: &Symbol| {
        let Some((last, leading)) = s.dims.split_last() else {
            return false;
        };
        let known = leading
            .iter()
            .all(|d| constant(&d.lower) && constant(&d.upper));
        let star = last.upper.as_ref().is_none_or(|e| e.kind == ExprKind::Star);
        known && constant(&last.lower) && !star && !constant(&last.upper)
    };
    let arrays = unit.symbols.iter();
    let arrays = arrays
        .filter(|(_, s)| s.storage_class == StorageClass::Dummy && s.is_variable() && is_open(s));
    let mut arrays: HashSet<SymId> = arrays.map(|(id, _)| id).collect();
    for s in whole(unit, body) {
        arrays.remove(&s);
    }
    for id in arrays {
        if let Some(last) = unit.symbols[id].dims.last_mut() {
            last.upper = Some(Expr::star(Span::NONE));
        }
    }
}

/// Returns the arrays whose shape is needed.
fn whole(unit: &Unit, body: &Block) -> HashSet<SymId> {
    let mut found = HashSet::new();
    fn collect_whole_arrays(unit: &Unit, e: &Expr, found: &mut HashSet<SymId>) {
        match &e.kind {
            ExprKind::Var(s) => {
                found.insert(*s);
            }
            ExprKind::Element(s, subscripts) => {
                let open = |e: &Expr| matches!(e.kind, ExprKind::Range(_, None, _));
                if subscripts.iter().any(open) {
                    found.insert(*s);
                }
                subscripts
                    .iter()
                    .for_each(|e| collect_whole_arrays(unit, e, found));
            }
            ExprKind::Call(f, args) if unit.symbols[*f].class.is_procedure() => {
                args.iter().for_each(|a| argument(unit, a, found));
            }
            _ => e
                .children()
                .into_iter()
                .for_each(|e| collect_whole_arrays(unit, e, found)),
        }
    }
    fn argument(unit: &Unit, e: &Expr, found: &mut HashSet<SymId>) {
        if !matches!(e.kind, ExprKind::Var(_)) {
            collect_whole_arrays(unit, e, found);
        }
    }
    walk_block(body, &mut |s| match &s.kind {
        StmtKind::Call(_, args) => args.iter().for_each(|a| argument(unit, a, &mut found)),
        _ => s.for_each_own_expr(&mut |e| collect_whole_arrays(unit, e, &mut found)),
    });
    for (_, s) in unit.symbols.iter() {
        match &s.class {
            Class::Namelist(members) => found.extend(members),
            Class::StatementFunction(_, value) => collect_whole_arrays(unit, value, &mut found),
            _ => {}
        }
    }
    found
}

/// Returns the reason why the checks do not cover a unit with ENTRY points, if there is one. Its body has
/// been taken out.
pub(super) fn obstacle(unit: &Unit, body: &Block) -> Option<String> {
    if !body.iter().any(|s| matches!(s.kind, StmtKind::Entry(_))) {
        return None;
    }
    let mut unit = unit.clone();
    unit.body = body.clone();
    unit.number();
    let unit = unit;
    // Compilers evaluate bounds wherever the unit is entered.
    let constants = Constants::of(&unit);
    let constant = |e: &Expr| e.kind == ExprKind::Star || constants.integer(e).is_some();
    for (_, s) in unit.symbols.iter().filter(|(_, s)| s.is_variable()) {
        let bounds = s.dims.iter().flat_map(|d| [&d.lower, &d.upper]);
        let allocated = is_allocated_here(s);
        if allocated || !bounds.chain([&s.length]).flatten().all(constant) {
            return Some(format!(
                "it has ENTRY points, and the size of {} is variable",
                s.name
            ));
        }
    }
    let points: Vec<(Option<SymId>, HashSet<SymId>, String)> = unit
        .entry_points()
        .map(|e| {
            let args = e.args.iter().filter_map(|a| a.sym());
            (
                e.statement.map(|s| s.name),
                args.collect(),
                e.name.to_string(),
            )
        })
        .collect();
    for (at, args, name) in points {
        let mut flow = FlowGraph::of(&unit);
        flow.enter_at(at);
        if let Some(missing) = missing(&unit, &flow, &args) {
            let missing = &unit.symbols[missing].name;
            return Some(format!(
                "{missing} is used behind {name}, whose argument it is not"
            ));
        }
    }
    None
}

/// Returns an argument of another ENTRY point that is used on some path from the one at which the unit is
/// entered.
fn missing(unit: &Unit, flow: &FlowGraph, args: &HashSet<SymId>) -> Option<SymId> {
    let mut used: Vec<SymId> = Vec::new();
    for s in flow.reached() {
        // An ENTRY statement names arguments but uses none.
        if !matches!(s.kind, StmtKind::Entry(_)) {
            s.for_each_own_symbol(&mut |s| used.push(s));
            s.for_each_own_expr(&mut |e| e.for_each_symbol(&mut |s| used.push(s)));
        }
    }
    let mut seen: HashSet<SymId> = HashSet::new();
    while let Some(s) = used.pop() {
        if !seen.insert(s) {
            continue;
        }
        let symbol = &unit.symbols[s];
        match &symbol.class {
            Class::StatementFunction(_, value) => value.for_each_symbol(&mut |s| used.push(s)),
            Class::Namelist(members) => used.extend(members),
            _ if symbol.storage_class == StorageClass::Dummy && !args.contains(&s) => {
                return Some(s);
            }
            _ => {}
        }
    }
    None
}
