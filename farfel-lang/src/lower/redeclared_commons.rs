//! COMMON blocks that both a nested subprogram and a host declare.
//!
//! In the nested subprogram, the names of both refer to the same storage. A name of the host is
//! replaced by one of the nested subprogram's own names at the same place, if there is one;
//! otherwise EQUIVALENCE ties it to its place.

use super::compact::renumber;
use super::entries::merge;
use crate::diagnostic::{Diagnostic, rules};
use crate::ir::{
    Class, Dim, Expr, ExprKind, Name, Program, SpecKind, StorageClass, SymId, Type, Unit,
};
use crate::storage::{Constants, UnitStorage};
use std::collections::HashMap;

/// A variable in COMMON.
#[derive(Clone, PartialEq)]
struct CommonVariable {
    block: Name,
    /// Its first byte in the block, for a default REAL of 4 and of 8 bytes.
    start: [i64; 2],
    size: [i64; 2],
    element: [i64; 2],
    ty: Option<Type>,
    bounds: Vec<(i64, i64)>,
}

/// Leaves a single declaration of each block in every nested subprogram.
pub(super) fn merge_declarations(program: &mut Program, diagnostics: &mut Vec<Diagnostic>) {
    for unit in &mut program.units {
        if !unit.nested.is_empty() && any_common(unit) && unit.nested.iter().any(any_common) {
            visit(unit, None, &HashMap::new(), diagnostics);
        }
    }
}

fn any_common(unit: &Unit) -> bool {
    let common = |k: &SpecKind| matches!(k, SpecKind::Common(_));
    unit.specs.iter().any(|s| common(&s.kind)) || unit.nested.iter().any(any_common)
}

fn visit(
    unit: &mut Unit,
    around: Option<[&Constants; 2]>,
    above: &HashMap<SymId, CommonVariable>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let own = infos(unit, around);
    let mut all = own.clone();
    for id in unit.symbols.ids() {
        let StorageClass::Host(outer) = unit.symbols[id].storage_class else {
            continue;
        };
        let Some(info) = above.get(&outer) else {
            continue;
        };
        if !own.values().any(|i| i.block == info.block) {
            all.insert(id, info.clone());
        } else if let Some(e) = place(info, &own) {
            settle_one(unit, id, e, info);
            all.insert(id, info.clone());
        } else {
            let s = &unit.symbols[id];
            let shown = match info.block.as_str() {
                "" => "blank COMMON".into(),
                block => format!("COMMON /{block}/"),
            };
            diagnostics.push(
                Diagnostic::error(
                    &rules::UNSUPPORTED,
                    s.span,
                    format!(
                        "{shown} is declared in {} and in its surroundings, and nothing in {} lies where {} begins",
                        unit.name, unit.name, s.name
                    ),
                )
                .help("leave the inner declaration out: the names of the outer one are visible"),
            );
        }
    }
    let mut nested = std::mem::take(&mut unit.nested);
    let inner = constants(unit, around);
    for n in &mut nested {
        visit(n, Some([&inner[0], &inner[1]]), &all, diagnostics);
    }
    unit.nested = nested;
}

fn constants<'a>(unit: &'a Unit, around: Option<[&'a Constants<'a>; 2]>) -> [Constants<'a>; 2] {
    match around {
        Some([a, b]) => [a.nested(unit), b.nested(unit)],
        None => [4, 8].map(|real| Constants::of(unit).with_real(real)),
    }
}

/// Returns the variables of a unit that are in COMMON and have constant sizes.
fn infos(unit: &Unit, around: Option<[&Constants; 2]>) -> HashMap<SymId, CommonVariable> {
    let both = constants(unit, around);
    let storage = both.each_ref().map(UnitStorage::within);
    let mut found = HashMap::new();
    for area in storage[0].areas() {
        let Some(block) = &area.block else { continue };
        for m in &area.members {
            let s = &unit.symbols[m.sym];
            let bounds = (0..s.dims.len()).map(|k| match both[0].bounds(m.sym, k) {
                (Some(low), Some(high)) => Some((low, high)),
                _ => None,
            });
            let spots = storage.each_ref().map(|s| s.range(m.sym));
            let elements = both.each_ref().map(|c| c.element_size(m.sym));
            if let (Some(bounds), [Some(a), Some(b)], [Some(x), Some(y)]) =
                (bounds.collect::<Option<Vec<_>>>(), spots, elements)
            {
                let info = CommonVariable {
                    block: block.clone(),
                    start: [a.start, b.start],
                    size: [a.end - a.start, b.end - b.start],
                    element: [x, y],
                    ty: s.ty,
                    bounds,
                };
                found.insert(m.sym, info);
            }
        }
    }
    found
}

/// Returns the variable or element among `own` that begins at the place of another variable, and
/// whether the two agree in all respects.
fn place(info: &CommonVariable, own: &HashMap<SymId, CommonVariable>) -> Option<(Expr, bool)> {
    let mut ids: Vec<&SymId> = own.keys().filter(|s| own[s].block == info.block).collect();
    ids.sort();
    // An identical variable is preferred.
    ids.sort_by_key(|s| (&own[s] != info) as u8);
    ids.into_iter().find_map(|id| {
        let m = &own[id];
        let element = |k: usize| {
            let bytes = info.start[k] - m.start[k];
            let inside = bytes >= 0 && bytes < m.size[k].max(1) && m.element[k] > 0;
            (inside && bytes % m.element[k] == 0).then(|| bytes / m.element[k])
        };
        let (mut at, same) = (element(0)?, element(1)?);
        if at != same {
            return None;
        }
        if m.bounds.is_empty() || m == info {
            return Some((Expr::var(*id, crate::Span::NONE), m == info));
        }
        let subscripts = m.bounds.iter().map(|(low, high)| {
            let extent = (high - low + 1).max(1);
            let e = Expr::int(low + at % extent, crate::Span::NONE);
            at /= extent;
            e
        });
        let kind = ExprKind::Element(*id, subscripts.collect());
        Some((Expr::new(kind, crate::Span::NONE), false))
    })
}

/// Replaces the link `id` by `e`, which is at the same place; `same` says whether the two agree in
/// all respects.
fn settle_one(unit: &mut Unit, id: SymId, (e, same): (Expr, bool), info: &CommonVariable) {
    if let (true, Some(own)) = (same, e.base()) {
        let map: Vec<SymId> = unit
            .symbols
            .ids()
            .map(|s| if s == id { own } else { s })
            .collect();
        renumber(unit, &map);
        merge(unit, id, own);
        // Nothing refers to it any more.
        unit.symbols[id].storage_class = StorageClass::Local;
        unit.symbols[id].class = Class::Variable;
        unit.symbols[id].dims = Vec::new();
        unit.symbols[id].length = None;
        return;
    }
    let span = unit.symbols[id].span;
    let s = &mut unit.symbols[id];
    s.storage_class = StorageClass::Local;
    s.class = Class::Variable;
    s.dims = info
        .bounds
        .iter()
        .map(|(low, high)| Dim {
            lower: Some(Expr::int(*low, span)),
            upper: Some(Expr::int(*high, span)),
        })
        .collect();
    if info.ty == Some(Type::Character) {
        s.length = Some(Expr::int(info.element[0], span));
    }
    s.typed = true;
    unit.declare(id);
    let tie = vec![vec![Expr::var(id, span), e]];
    unit.add_spec(SpecKind::Equivalence(tie), span);
}
