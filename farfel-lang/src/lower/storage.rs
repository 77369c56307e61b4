//! Where variables lie that share storage: COMMON and EQUIVALENCE.

use crate::ir::{Expr, ExprKind, Name, SpecKind, SymId, Type, Unit};
use std::collections::HashMap;

/// The storage of the variables of a unit that stand in COMMON or EQUIVALENCE.
///
/// Sizes are those of the types as written.
pub(super) struct Storage {
    extents: HashMap<SymId, Extent>,
}

#[derive(Clone, Copy)]
struct Extent {
    /// Which stretch of storage it lies in. Stretches are apart from each other.
    stretch: usize,
    /// Its first byte, counted from somewhere in the stretch.
    start: i64,
    /// The byte after its last one.
    end: i64,
}

impl Storage {
    pub fn of(unit: &Unit) -> Self {
        // From one variable to another one that lies so many bytes behind.
        let mut steps: HashMap<SymId, Vec<(SymId, i64)>> = HashMap::new();
        let mut order: Vec<SymId> = Vec::new();
        let mut link = |a: SymId, b: SymId, distance: i64| {
            steps.entry(a).or_default().push((b, distance));
            steps
                .entry(b)
                .or_default()
                .push((a, 0i64.saturating_sub(distance)));
            order.extend([a, b]);
        };
        for block in common_blocks(unit) {
            let members = members(unit, &block);
            for pair in members.windows(2) {
                link(pair[0], pair[1], size(unit, pair[0]));
            }
            link(members[0], members[0], 0);
        }
        for spec in &unit.specs {
            let SpecKind::Equivalence(groups) = &spec.kind else {
                continue;
            };
            for group in groups {
                let named: Vec<(SymId, i64)> = group
                    .iter()
                    .filter_map(|e| Some((e.base()?, offset(unit, e))))
                    .collect();
                for pair in named.windows(2) {
                    let ((a, at_a), (b, at_b)) = (pair[0], pair[1]);
                    link(a, b, at_a.saturating_sub(at_b));
                }
            }
        }
        let mut extents: HashMap<SymId, Extent> = HashMap::new();
        for (stretch, first) in order.into_iter().enumerate() {
            let mut open = vec![(first, 0)];
            while let Some((s, start)) = open.pop() {
                if extents.contains_key(&s) {
                    continue;
                }
                let end = size(unit, s).saturating_add(start);
                extents.insert(
                    s,
                    Extent {
                        stretch,
                        start,
                        end,
                    },
                );
                for (next, distance) in steps.get(&s).into_iter().flatten() {
                    open.push((*next, distance.saturating_add(start)));
                }
            }
        }
        Storage { extents }
    }

    /// Do two different variables share storage?
    pub fn overlap(&self, a: SymId, b: SymId) -> bool {
        match (self.extents.get(&a), self.extents.get(&b)) {
            (Some(x), Some(y)) => {
                a != b && x.stretch == y.stretch && x.start < y.end && y.start < x.end
            }
            _ => false,
        }
    }

    /// How many bytes the storage goes on from the start of a variable.
    pub fn length_from(&self, first: SymId) -> i64 {
        let Some(x) = self.extents.get(&first) else {
            return 0;
        };
        let ends = self.extents.values().filter(|y| y.stretch == x.stretch);
        let end = ends.map(|y| y.end).max().unwrap_or(x.end);
        end.saturating_sub(x.start)
    }
}

/// The COMMON blocks that a unit declares.
pub(super) fn common_blocks(unit: &Unit) -> Vec<Name> {
    let mut found: Vec<Name> = Vec::new();
    for spec in &unit.specs {
        if let SpecKind::Common(blocks) = &spec.kind {
            for (name, list) in blocks {
                if !list.is_empty() && !found.contains(name) {
                    found.push(name.clone());
                }
            }
        }
    }
    found
}

/// The variables of a COMMON block, in order; none if the unit does not declare it.
pub(super) fn members(unit: &Unit, block: &Name) -> Vec<SymId> {
    let mut found = Vec::new();
    for spec in &unit.specs {
        if let SpecKind::Common(blocks) = &spec.kind {
            let these = blocks.iter().filter(|(n, _)| n == block);
            found.extend(these.flat_map(|(_, l)| l).map(|e| e.sym));
        }
    }
    found
}

/// Bytes of a variable.
pub(super) fn size(unit: &Unit, id: SymId) -> i64 {
    let (bytes, count) = extent(unit, id);
    bytes.saturating_mul(count)
}

/// Bytes of an element of a variable, and how many there are. What is not constant counts
/// as one.
pub(super) fn extent(unit: &Unit, id: SymId) -> (i64, i64) {
    let s = &unit.symbols[id];
    let bytes = match s.ty {
        Some(Type::Integer(n) | Type::Real(n) | Type::Logical(n)) => i64::from(n),
        Some(Type::Complex(n)) => 2 * i64::from(n),
        Some(Type::Character) => s
            .length
            .as_ref()
            .and_then(|l| constant(unit, l))
            .unwrap_or(1),
        None => 1,
    };
    let count = (0..s.dims.len())
        .map(|k| elements(bounds(unit, id, k)))
        .fold(1, i64::saturating_mul);
    (bytes, count)
}

/// Lower and upper bound of a dimension.
fn bounds(unit: &Unit, id: SymId, dimension: usize) -> (i64, i64) {
    let d = &unit.symbols[id].dims[dimension];
    let value = |e: &Option<Expr>| e.as_ref().and_then(|e| constant(unit, e));
    let lower = value(&d.lower).unwrap_or(1);
    (lower, value(&d.upper).unwrap_or(lower))
}

fn elements((lower, upper): (i64, i64)) -> i64 {
    upper.saturating_sub(lower).saturating_add(1).max(1)
}

/// Bytes from the start of a variable to the element that is named.
fn offset(unit: &Unit, e: &Expr) -> i64 {
    match &e.kind {
        ExprKind::Element(s, subscripts) => {
            let mut stride = extent(unit, *s).0;
            let mut at = 0i64;
            let dims = unit.symbols[*s].dims.len();
            for (k, e) in subscripts.iter().enumerate().take(dims) {
                let bounds = bounds(unit, *s, k);
                let index = constant(unit, e)
                    .unwrap_or(bounds.0)
                    .saturating_sub(bounds.0);
                at = stride.saturating_mul(index).saturating_add(at);
                stride = stride.saturating_mul(elements(bounds));
            }
            at
        }
        ExprKind::Substring(base, from, _) => {
            let from = from.as_ref().and_then(|e| constant(unit, e)).unwrap_or(1);
            offset(unit, base).saturating_add(from).saturating_sub(1)
        }
        _ => 0,
    }
}

fn constant(unit: &Unit, e: &Expr) -> Option<i64> {
    crate::constant::integer(&unit.symbols, e)
}
