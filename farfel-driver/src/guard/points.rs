//! ENTRY points: each has arguments of its own, and those of the others are nowhere when the unit is entered
//! there.

use farfel_lang::flow::Flow;
use farfel_lang::ir::{Block, Class, Expr, ExprKind, Place, StmtKind, SymId, Unit};
use farfel_lang::storage::Constants;
use std::collections::HashSet;

/// Why the checks do not cover a unit with ENTRY points. Its body has been taken out.
pub(super) fn bar(unit: &Unit, body: &Block) -> Option<String> {
    if !body.iter().any(|s| matches!(s.kind, StmtKind::Entry(_))) {
        return None;
    }
    let mut unit = unit.clone();
    unit.body = body.clone();
    unit.number();
    let unit = unit;
    // Compilers compute bounds wherever the unit is entered.
    let constants = Constants::of(&unit);
    let constant = |e: &Expr| e.kind == ExprKind::Star || constants.integer(e).is_some();
    for (_, s) in unit.symbols.iter().filter(|(_, s)| s.is_variable()) {
        let bounds = s.dims.iter().flat_map(|d| [&d.lower, &d.upper]);
        if !bounds.chain([&s.length]).flatten().all(constant) {
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
        let mut flow = Flow::of(&unit);
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

/// An argument of another ENTRY point that is used on some way from the one at which the unit is entered.
fn missing(unit: &Unit, flow: &Flow, args: &HashSet<SymId>) -> Option<SymId> {
    let mut used: Vec<SymId> = Vec::new();
    let mut reached = vec![false; flow.len()];
    let mut open = flow.successors[flow.entry].clone();
    while let Some(node) = open.pop() {
        if std::mem::replace(&mut reached[node], true) {
            continue;
        }
        open.extend(&flow.successors[node]);
        let Some(s) = flow.stmts.get(node) else {
            continue;
        };
        // It names arguments and uses none.
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
            _ if symbol.place == Place::Dummy && !args.contains(&s) => return Some(s),
            _ => {}
        }
    }
    None
}
