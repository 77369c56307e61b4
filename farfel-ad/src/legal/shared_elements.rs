//! Scalars that share storage with an element of an array by EQUIVALENCE.
//!
//! gfortran 12 may treat the two as different variables when it vectorises a loop that uses both:
//! the adjoint of
//!
//! ```fortran
//!       EQUIVALENCE (Q(2), E)
//!       DO 10 I = 1, 3
//!    10 Q(I) = COS(I*E**2)
//! ```
//!
//! adds to the adjoint of E what it clears as the adjoint of Q(2), and is wrong from -O2 on. So
//! derivatives refer to Q(2) where the source refers to E, if a unit uses both.

use farfel_lang::ir::{Expr, ExprKind, Program, SymId, Unit, rewrite_exprs, walk_exprs};
use farfel_lang::storage::UnitStorage;
use farfel_lang::storage::constant::{Constants, extents};
use std::collections::{HashMap, HashSet};

/// Whether there are such scalars.
pub(crate) fn has_shared_elements(program: &Program) -> bool {
    program.units.iter().any(|u| !scalars(u).is_empty())
}

/// Replaces the scalars by the elements.
pub(crate) fn by_element(program: &mut Program) {
    for unit in &mut program.units {
        let elements = scalars(unit);
        if elements.is_empty() {
            continue;
        }
        rewrite_exprs(&mut unit.body, &mut |e| {
            if let ExprKind::Var(s) = e.kind
                && let Some((array, subscripts)) = elements.get(&s)
            {
                let subscripts = subscripts.iter().map(|n| Expr::int(*n, e.span));
                *e = Expr::element(*array, subscripts.collect(), e.span);
            }
        });
    }
}

/// Returns the scalars of a unit that share storage with an element of an array which the unit
/// uses, too, with the array and the subscripts.
fn scalars(unit: &Unit) -> HashMap<SymId, (SymId, Vec<i64>)> {
    let storage = UnitStorage::of(unit);
    let mut found = HashMap::new();
    if !storage.areas().iter().any(|a| a.has_overlaps) {
        return found;
    }
    let constants = Constants::of(unit);
    let mut used = HashSet::new();
    walk_exprs(&unit.body, &mut |e| {
        if let ExprKind::Var(s) | ExprKind::Element(s, _) = e.kind {
            used.insert(s);
        }
    });
    for area in storage.areas().iter().filter(|a| a.has_overlaps) {
        let used = || area.members.iter().filter(|m| used.contains(&m.sym));
        for scalar in used().filter(|m| !unit.symbols[m.sym].is_array()) {
            let ty = unit.symbols[scalar.sym].ty;
            let over = used().find_map(|array| {
                let of = &unit.symbols[array.sym];
                let element = constants.element_size(array.sym)?;
                let before = scalar.start - array.start;
                let same = of.is_array() && of.ty == ty && scalar.size == element;
                let within = (0..array.size).contains(&before) && before % element == 0;
                (same && within)
                    .then_some((array.sym, subscripts(unit, array.sym, before / element)?))
            });
            found.extend(over.map(|at| (scalar.sym, at)));
        }
    }
    found
}

/// Returns the subscripts of an element, given the number of elements before it.
fn subscripts(unit: &Unit, array: SymId, before: i64) -> Option<Vec<i64>> {
    let dims = &unit.symbols[array].dims;
    let constants = Constants::of(unit);
    let mut before = before;
    let mut found = Vec::new();
    for (dim, extent) in dims.iter().zip(extents(unit, dims)?) {
        let low = match &dim.lower {
            Some(e) => constants.integer(e)?,
            None => 1,
        };
        found.push(low + before.checked_rem(extent)?);
        before = before.checked_div(extent)?;
    }
    Some(found)
}
