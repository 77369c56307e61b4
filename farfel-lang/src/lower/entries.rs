//! Splits ENTRY points into subprograms of their own.
//!
//! A copy of a subprogram for a closure, and a nested subprogram that moves to the top level, would
//! need other arguments at each of their ENTRY points. So a subprogram that is nested, or that
//! receives procedures as arguments, is split first: each ENTRY becomes a subprogram of that name,
//! with the statements that can be reached from it. Variables whose values are saved between calls
//! move to COMMON, so that all parts share them.

use super::naming::taken_names;
use super::saved_variables;
use crate::diagnostic::{Diagnostic, rules};
use crate::flow::FlowGraph;
use crate::ir::{
    Arg, Attributes, Class, Dim, Entry, Expr, ExprKind, Label, Name, Program, SpecKind, Stmt,
    StmtId, StmtKind, StorageClass, SymId, Unit, UnitKind, walk_exprs,
};
use crate::source::Span;
use std::collections::{BTreeSet, HashSet};

/// Splits the subprograms that require it.
pub(super) fn split(program: &mut Program, diagnostics: &mut Vec<Diagnostic>) {
    let concerned = |u: &Unit| nested_entries(u) || takes_procedures(u) && !entries(u).is_empty();
    if program.units.iter().any(concerned) {
        split_units(program, &takes_procedures, diagnostics);
    }
}

/// Splits the units with ENTRY points that `which` selects, and all nested ones, into a unit for
/// each entry point. Variables whose values are saved between calls move to COMMON.
pub fn split_units(
    program: &mut Program,
    which: &dyn Fn(&Unit) -> bool,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let mut taken = taken_names(program);
    let mut data = Vec::new();
    for unit in std::mem::take(&mut program.units) {
        let top = which(&unit);
        program
            .units
            .extend(parts(unit, top, &mut taken, &mut data, diagnostics));
    }
    program.units.extend(data);
}

fn nested_entries(unit: &Unit) -> bool {
    let own = |n: &Unit| !entries(n).is_empty() || nested_entries(n);
    unit.nested.iter().any(own)
}

/// Returns the ENTRY statements of a unit. They are never within a block.
fn entries(unit: &Unit) -> Vec<(StmtId, Span, Entry)> {
    let all = unit.body.iter();
    all.filter_map(|s| match &s.kind {
        StmtKind::Entry(e) => Some((s.id, s.span, (**e).clone())),
        _ => None,
    })
    .collect()
}

fn takes_procedures(unit: &Unit) -> bool {
    let mut symbols = unit.symbols.iter();
    symbols.any(|(_, s)| s.class.is_procedure() && s.storage_class == StorageClass::Dummy)
}

/// Returns a unit with its parts, and those of the units nested in it.
fn parts(
    mut unit: Unit,
    apart: bool,
    taken: &mut HashSet<Name>,
    data: &mut Vec<Unit>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Unit> {
    for n in std::mem::take(&mut unit.nested) {
        unit.nested.extend(parts(n, true, taken, data, diagnostics));
    }
    let entries = entries(&unit);
    if entries.is_empty() || !apart {
        return vec![unit];
    }
    let block = saved_variables::share_unit(&mut unit, taken);
    let outer = |u: &Unit| {
        let mut all = u.symbols.iter();
        all.any(|(_, s)| matches!(s.storage_class, StorageClass::Host(_)))
    };
    let everything = unit
        .specs
        .iter()
        .any(|s| matches!(&s.kind, SpecKind::Save(l) if l.is_empty()));
    let left = unit.symbols.iter().find(|(_, s)| {
        s.class == Class::Variable
            && s.storage_class == StorageClass::Local
            && (s.saved || everything)
    });
    if left.is_some() || block.as_ref().is_some_and(outer) {
        diagnostics.push(
            Diagnostic::error(
                &rules::UNSUPPORTED,
                unit.name_span,
                format!(
                    "{} has ENTRY points, and saves what depends on its surroundings",
                    unit.name
                ),
            )
            .help("declare what it saves with plain numbers, or in the surroundings"),
        );
    }
    data.extend(block);
    let unit = &unit;
    let results: Vec<SymId> = match unit.kind {
        UnitKind::Function => unit
            .result
            .into_iter()
            .chain(entries.iter().map(|(_, _, e)| e.name))
            .collect(),
        _ => Vec::new(),
    };
    if let Some(span) = calls_itself(unit, &results) {
        diagnostics.push(
            Diagnostic::error(
                &rules::UNSUPPORTED,
                span,
                format!("{} calls itself, and has ENTRY points", unit.name),
            )
            .help("write the ENTRY points as subprograms of their own"),
        );
    }
    let mut all = vec![part(unit, None, &results, diagnostics)];
    for entry in &entries {
        all.push(part(unit, Some(entry), &results, diagnostics));
    }
    all
}

fn calls_itself(unit: &Unit, results: &[SymId]) -> Option<Span> {
    let mut found = None;
    walk_exprs(&unit.body, &mut |e| {
        if let ExprKind::Call(s, _) = e.kind
            && results.contains(&s)
        {
            found = Some(e.span);
        }
    });
    found
}

/// Returns a unit with what a call of the unit, or of one of its ENTRY points, executes.
fn part(
    unit: &Unit,
    entry: Option<&(StmtId, Span, Entry)>,
    results: &[SymId],
    diagnostics: &mut Vec<Diagnostic>,
) -> Unit {
    let mut part = unit.clone();
    part.body = body(unit, entry.map(|(id, ..)| *id));
    let mut result = unit.result;
    if let Some((_, span, e)) = entry {
        let symbol = &unit.symbols[e.name];
        part.name = symbol.name.clone();
        part.name_span = symbol.span;
        part.span = *span;
        part.comments = Vec::new();
        part.remarks = Default::default();
        part.args = e.args.clone();
        if unit.kind == UnitKind::Function {
            result = Some(e.name);
            part.typed_header = false;
        }
    }
    part.result = result;
    for other in results.iter().filter(|r| result != Some(**r)) {
        let Some(own) = result else { continue };
        let (a, b) = (&unit.symbols[*other], &unit.symbols[own]);
        let length = |e: &Option<Expr>| e.as_ref().map(|e| e.kind.clone());
        if a.ty == b.ty && length(&a.length) == length(&b.length) {
            // All results share their storage.
            crate::ir::for_each_symbol_mut(&mut part.body, &mut |s| {
                if *s == *other {
                    *s = own;
                }
            });
            merge(&mut part, *other, own);
            part.undeclare(*other);
        }
        part.symbols[*other].storage_class = StorageClass::Local;
        part.symbols[*other].class = Class::Variable;
    }
    if let Some(own) = result {
        part.declare(own);
    }
    let ours: Vec<SymId> = part.args.iter().filter_map(|a| a.sym()).collect();
    let foreign: Vec<SymId> = part
        .symbols
        .iter()
        .filter(|(id, s)| s.storage_class == StorageClass::Dummy && !ours.contains(id))
        .map(|(id, _)| id)
        .collect();
    let mut used = BTreeSet::new();
    mentioned(&part, &mut used);
    for id in &foreign {
        let s = &part.symbols[*id];
        if s.class.is_procedure() && used.contains(id) {
            diagnostics.push(
                Diagnostic::error(
                    &rules::UNSUPPORTED,
                    part.name_span,
                    format!(
                        "{} does not get the procedure {}, which it can reach a call of",
                        part.name, s.name
                    ),
                )
                .help("write the ENTRY point as a subprogram of its own"),
            );
        }
        if !used.contains(id) {
            part.undeclare(*id);
        }
        let s = &mut part.symbols[*id];
        s.storage_class = StorageClass::Local;
        s.attributes = Attributes::default();
    }
    // An array whose bound is not available in this part has none. The standard forbids its use
    // there.
    let unknown = |e: &Expr| {
        let mut any = matches!(e.kind, ExprKind::Star);
        e.for_each_symbol(&mut |s| any |= foreign.contains(&s));
        any
    };
    for id in part.symbols.ids() {
        let s = &mut part.symbols[id];
        if matches!(
            s.storage_class,
            StorageClass::Host(_) | StorageClass::Dummy | StorageClass::Result
        ) {
            continue;
        }
        for Dim { lower, upper } in &mut s.dims {
            if lower.iter().chain(upper.as_ref()).any(unknown) {
                *lower = None;
                *upper = Some(Expr::int(1, s.span));
            }
        }
        if s.length.as_ref().is_some_and(unknown) {
            s.length = Some(Expr::int(1, s.span));
        }
    }
    part
}

/// Returns the statements that can be reached from the beginning, or from an ENTRY.
fn body(unit: &Unit, from: Option<StmtId>) -> Vec<Stmt> {
    let flow = FlowGraph::of(unit);
    let labels: Vec<(Label, usize)> = flow
        .stmts
        .iter()
        .enumerate()
        .filter_map(|(i, s)| Some((s.label?, i)))
        .collect();
    let mut reached = vec![false; flow.len()];
    let mut open = vec![from.map_or(0, |id| flow.node(id))];
    while let Some(at) = open.pop() {
        if std::mem::replace(&mut reached[at], true) {
            continue;
        }
        open.extend(&flow.successors[at]);
        if let Some(StmtKind::AssignLabel(l, _)) = flow.stmts.get(at).map(|s| &s.kind) {
            open.extend(labels.iter().filter(|(n, _)| n == l).map(|(_, i)| *i));
        }
    }
    let label = (1..=99999)
        .rev()
        .find(|l| labels.iter().all(|(n, _)| n != l))
        .unwrap_or(99999);
    let mut found = Vec::new();
    let mut before = false;
    for s in &unit.body {
        let mut nodes = flow.nodes_within(flow.node(s.id));
        let kept = matches!(s.kind, StmtKind::Format(_)) || nodes.any(|n| reached[n]);
        if !kept {
            continue;
        }
        if Some(s.id) == from && before {
            let goto = Stmt::goto(label, s.span);
            found.insert(0, goto);
            found.push(Stmt::labelled(Some(label), StmtKind::Continue, s.span));
        } else if !matches!(s.kind, StmtKind::Entry(_)) {
            before |= !matches!(s.kind, StmtKind::Format(_));
            found.push(s.clone());
        }
    }
    found
}

/// In nested units, links to `from` of the unit become links to `to`.
pub(super) fn merge(unit: &mut Unit, from: SymId, to: SymId) {
    for n in &mut unit.nested {
        let link = |place: SymId| {
            let mut all = n.symbols.iter();
            all.find(|(_, s)| s.storage_class == StorageClass::Host(place))
                .map(|(id, _)| id)
        };
        match (link(from), link(to)) {
            (Some(old), Some(new)) => {
                crate::ir::for_each_symbol_mut(&mut n.body, &mut |s| {
                    if *s == old {
                        *s = new;
                    }
                });
                merge(n, old, new);
            }
            (Some(old), None) => n.symbols[old].storage_class = StorageClass::Host(to),
            _ => {}
        }
    }
}

/// Collects the symbols of a unit that its statements, or those of nested units, mention.
fn mentioned(unit: &Unit, found: &mut BTreeSet<SymId>) {
    crate::ir::for_each_symbol(&unit.body, &mut |s| {
        found.insert(s);
    });
    for n in &unit.nested {
        let mut inner = BTreeSet::new();
        mentioned(n, &mut inner);
        found.extend(
            inner
                .iter()
                .filter_map(|s| match n.symbols[*s].storage_class {
                    StorageClass::Host(outer) => Some(outer),
                    _ => None,
                }),
        );
    }
    let args = unit.args.iter().filter_map(|a: &Arg| a.sym());
    found.extend(args);
}
