//! Sections of needed arrays that are not needed themselves: they were saved before they got their present
//! values, and no derivative has read these since.
//!
//! ```fortran
//!       DO I = 1, N
//!         F(I) = 0               ! saved here, if something before needs F
//!       END DO
//!       DO I = 1, N
//!         F(I) = F(I) + A(I)     ! not saved: no derivative reads the zeros
//!       END DO
//! ```
//!
//! Unlike what is needed, which may be more than is true, these sections may only be less: bounds are known
//! exactly, and wherever ways meet, only what holds on all of them remains.

use super::elements::{Elements, Range};
use crate::affine::{Affine, LoopRange, is_positive};
use farfel_lang::ir::SymId;
use std::collections::BTreeMap;

/// The maximum number of sections of one array.
const MOST_SECTIONS: usize = 8;

/// See the [module](self). Locations without sections have no entry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct SavedSections(BTreeMap<usize, Vec<Elements>>);

/// `a - b`, if that is a number.
fn apart(a: &Affine, b: &Affine) -> Option<i64> {
    a.clone().plus(b, -1)?.value()
}

/// Both bounds of a range.
fn bounds(r: &Range) -> Option<(&Affine, &Affine)> {
    Some((r.low.as_ref()?, r.high.as_ref()?))
}

fn range(low: Affine, high: Affine) -> Range {
    Range {
        low: Some(low),
        high: Some(high),
    }
}

/// Whether a range lies in another one, in some loops.
fn is_in(a: &Range, b: &Range, around: &[LoopRange]) -> bool {
    let (Some((low, high)), Some((least, most))) = (bounds(a), bounds(b)) else {
        return false;
    };
    // `b - a + 1` is positive.
    let not_above = |a: &Affine, b: &Affine| {
        let d = b
            .clone()
            .plus(a, -1)
            .and_then(|d| d.plus(&Affine::number(1), 1));
        d.is_some_and(|d| is_positive(d, around))
    };
    not_above(least, low) && not_above(high, most)
}

/// Whether a section lies in another one, in some loops.
fn is_inside(a: &Elements, b: &Elements, around: &[LoopRange]) -> bool {
    let mut ranges = a.ranges.iter().zip(&b.ranges);
    a.array == b.array
        && a.ranges.len() == b.ranges.len()
        && ranges.all(|(a, b)| is_in(a, b, around))
}

/// Two sections as one, if they are together one.
fn joined(a: &Elements, b: &Elements) -> Option<Elements> {
    if is_inside(a, b, &[]) {
        return Some(b.clone());
    }
    if is_inside(b, a, &[]) {
        return Some(a.clone());
    }
    if a.array != b.array || a.ranges.len() != b.ranges.len() {
        return None;
    }
    let mut different = (0..a.ranges.len()).filter(|d| a.ranges[*d] != b.ranges[*d]);
    let (Some(d), None) = (different.next(), different.next()) else {
        return None;
    };
    let ((a_low, a_high), (b_low, b_high)) = (bounds(&a.ranges[d])?, bounds(&b.ranges[d])?);
    let mut whole = a.clone();
    if apart(b_low, a_high) == Some(1) {
        whole.ranges[d] = range(a_low.clone(), b_high.clone());
    } else if apart(a_low, b_high) == Some(1) {
        whole.ranges[d] = range(b_low.clone(), a_high.clone());
    } else {
        return None;
    }
    Some(whole)
}

/// Whether the bounds of a range contain a variable.
fn has(r: &Range, s: SymId) -> bool {
    let has = |a: &Option<Affine>| a.as_ref().is_some_and(|a| a.factor(s) != 0);
    has(&r.low) || has(&r.high)
}

fn mentions(e: &Elements, s: SymId) -> bool {
    e.ranges.iter().any(|r| has(r, s))
}

/// A section with another value for a variable in its bounds.
fn with(e: &Elements, s: SymId, value: &Affine) -> Option<Elements> {
    let mut e = e.clone();
    for bound in e.ranges.iter_mut().flat_map(|r| [&mut r.low, &mut r.high]) {
        *bound = Some(bound.take()?.with(s, value)?);
    }
    Some(e)
}

/// The only dimension whose bounds contain a variable, if its value before the loop is known.
fn dimension(e: &Elements, var: SymId, from: &Option<Affine>) -> Option<(usize, Affine)> {
    let from = from.clone().filter(|f| f.factor(var) == 0)?;
    let mut varying = (0..e.ranges.len()).filter(|d| has(&e.ranges[*d], var));
    match (varying.next(), varying.next()) {
        (Some(d), None) => Some((d, from)),
        _ => None,
    }
}

impl SavedSections {
    /// Adds a section.
    pub fn add(&mut self, loc: usize, mut e: Elements) {
        if e.ranges.iter().any(|r| bounds(r).is_none()) {
            return;
        }
        let list = self.0.entry(loc).or_default();
        while let Some((i, whole)) = list
            .iter()
            .enumerate()
            .find_map(|(i, other)| Some((i, joined(other, &e)?)))
        {
            list.remove(i);
            e = whole;
        }
        if list.len() < MOST_SECTIONS {
            list.push(e);
        }
    }

    /// Removes all sections of a location.
    pub fn remove(&mut self, loc: usize) {
        self.0.remove(&loc);
    }

    /// A derivative reads some elements.
    pub fn read(&mut self, loc: usize, elements: &Elements, around: &[LoopRange]) {
        self.retain(|l, e| l != loc || e.are_disjoint(elements, around));
    }

    /// Whether elements lie in one of the sections.
    pub fn contains(&self, loc: usize, elements: &Elements, around: &[LoopRange]) -> bool {
        let list = self.0.get(&loc);
        list.is_some_and(|l| l.iter().any(|e| is_inside(elements, e, around)))
    }

    /// The locations with a section for which `is_all` holds.
    pub fn whole(&self, is_all: &dyn Fn(&Elements) -> bool) -> Vec<usize> {
        let whole = self.0.iter().filter(|(_, list)| list.iter().any(is_all));
        whole.map(|(loc, _)| *loc).collect()
    }

    /// Accounts for a new value of a variable.
    pub fn changed(&mut self, s: SymId) {
        self.retain(|_, e| !mentions(e, s));
    }

    /// Goes on from the end of an iteration to the beginning of the next one.
    pub fn next_iteration(&mut self, var: SymId, step: Option<i64>) {
        let Some(step) = step else {
            return self.changed(var);
        };
        let last = Affine::var(var).plus(&Affine::number(step), -1);
        for (loc, list) in std::mem::take(&mut self.0) {
            for e in list {
                if let Some(e) = last.as_ref().and_then(|last| with(&e, var, last)) {
                    self.add(loc, e);
                }
            }
        }
    }

    /// What earlier iterations of a loop may have saved: if this one has saved the element at `I`, those from
    /// the first value of `I` to `I - 1`.
    pub fn before(
        &self,
        var: SymId,
        from: &Option<Affine>,
        step: Option<i64>,
    ) -> Vec<(usize, Elements)> {
        let of = |e: &Elements| {
            let (d, from) = dimension(e, var, from)?;
            let (low, high) = bounds(&e.ranges[d])?;
            if low != high {
                return None;
            }
            let first = low.clone().with(var, &from)?;
            let last = low.clone().plus(&Affine::number(step?), -1)?;
            let mut before = e.clone();
            before.ranges[d] = match (low.factor(var), step?) {
                (1, 1) => range(first, last),
                (1, -1) => range(last, first),
                _ => return None,
            };
            Some(before)
        };
        self.filter_map(&of)
    }

    /// What a whole loop has saved, if this is the end of its last iteration: the sections from the first value
    /// of the variable to the last one. They are empty if the loop has no iterations.
    pub fn by_loop(
        &self,
        var: SymId,
        from: &Option<Affine>,
        to: &Option<Affine>,
        step: Option<i64>,
    ) -> Vec<(usize, Elements)> {
        let of = |e: &Elements| {
            let (d, from) = dimension(e, var, from)?;
            let to = to.as_ref().filter(|t| t.factor(var) == 0)?;
            let (low, high) = bounds(&e.ranges[d])?;
            let (begin, end) = match step? {
                1 => (low, high),
                -1 => (high, low),
                _ => return None,
            };
            // `begin` is the element of the first iteration, `end` that of the last.
            let is_first = end.factor(var) == 1 && end.clone().with(var, &from)? == *begin;
            is_first.then(|| with(e, var, to)).flatten()
        };
        self.filter_map(&of)
    }

    /// Keeps what is saved on both of two ways. `is_new` tells whether a location is needed on the second way
    /// only, `is_other` whether it is needed there at all.
    pub fn keep_common(
        &mut self,
        other: &SavedSections,
        is_new: &dyn Fn(usize) -> bool,
        is_other: &dyn Fn(usize) -> bool,
    ) {
        let mine = std::mem::take(&mut self.0);
        let none = Vec::new();
        let locs = mine.keys().chain(other.0.keys());
        let locs: std::collections::BTreeSet<usize> = locs.copied().collect();
        for loc in locs {
            let (a, b) = (
                mine.get(&loc).unwrap_or(&none),
                other.0.get(&loc).unwrap_or(&none),
            );
            let common = |a: &[Elements], b: &[Elements]| -> Vec<Elements> {
                let inside = |e: &&Elements| b.iter().any(|o| is_inside(e, o, &[]));
                a.iter().filter(inside).cloned().collect()
            };
            let kept = match (is_new(loc), is_other(loc)) {
                (true, _) => b.clone(),
                (false, false) => a.clone(),
                (false, true) => [common(a, b), common(b, a)].concat(),
            };
            kept.into_iter().for_each(|e| self.add(loc, e));
        }
    }

    /// Whether everything that is saved in `other` is also saved here, of the locations that are needed here.
    pub fn include(&self, other: &SavedSections, is_needed: &dyn Fn(usize) -> bool) -> bool {
        let needed = other.0.iter().filter(|(loc, _)| is_needed(**loc));
        needed.into_iter().all(|(loc, list)| {
            let own = self.0.get(loc).map_or(&[][..], Vec::as_slice);
            list.iter()
                .all(|e| own.iter().any(|o| is_inside(e, o, &[])))
        })
    }

    /// The sections that `f` makes of these.
    fn filter_map(&self, f: &dyn Fn(&Elements) -> Option<Elements>) -> Vec<(usize, Elements)> {
        let all = self.0.iter();
        let all = all.flat_map(|(loc, list)| list.iter().map(|e| (*loc, e)));
        all.filter_map(|(loc, e)| Some((loc, f(e)?))).collect()
    }

    fn retain(&mut self, keep: impl Fn(usize, &Elements) -> bool) {
        self.0.retain(|loc, list| {
            list.retain(|e| keep(*loc, e));
            !list.is_empty()
        });
    }
}
