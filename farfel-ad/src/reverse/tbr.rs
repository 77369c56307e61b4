//! Finds which values the reverse sweep will read ("to be recorded" analysis).
//!
//! A value is *needed* from the point where a linear statement reads it in a factor or subscript to the point
//! where the variable gets another value. There it must be saved, so that the reverse sweep finds it again.
//! Of arrays, ranges of elements are needed, as far as subscripts tell.

use super::elements::{Elements, Range};
use super::tbr_sections::SavedSections;
use crate::affine::{Affine, LoopRange};
use crate::locations::Set;
use farfel_lang::ir::SymId;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The maximum number of ranges of one array; with more of them, the whole array or the slice that
/// contains them counts as needed.
const MOST_RANGES: usize = 8;

/// The elements that are needed of one array. States are cloned at each branch and joined after it, mostly as they were:
/// equal lists are shared.
type Needed = Arc<Vec<Elements>>;

/// Flags and the values that they have, in order.
pub(super) type Condition = Vec<(SymId, bool)>;

/// What is needed at a point of a unit, by location.
///
/// Callers need thousands of variables in COMMON as a whole: these are bits of a set.
#[derive(Debug, Clone, Default)]
pub(super) struct Needs {
    /// The locations that are needed as a whole.
    whole: Set,
    /// Those of which some elements are needed.
    some: BTreeMap<usize, Needed>,
    /// The locations that the reverse sweep of the unit itself reads. The others are needed by callers only,
    /// with their values from before the call.
    own: Set,
    /// The sections of these locations that are not needed.
    saved: SavedSections,
    /// Locations that are needed as a whole only if a condition did not hold at an earlier statement.
    unless: BTreeMap<usize, Condition>,
}

impl PartialEq for Needs {
    fn eq(&self, other: &Self) -> bool {
        same(&self.whole, &other.whole)
            && same(&self.own, &other.own)
            && self.some == other.some
            && self.saved == other.saved
            && self.unless == other.unless
    }
}

/// Whether sets have the same elements; they may have room for different numbers of them.
fn same(a: &Set, b: &Set) -> bool {
    a.is_subset(b) && b.is_subset(a)
}

/// The slice that contains all of these elements, if they have a subscript in common.
fn common_slice(list: &[Elements]) -> Option<Elements> {
    let mut slice = list.first()?.clone();
    for e in list {
        let same = e.array == slice.array && e.ranges.len() == slice.ranges.len();
        same.then_some(())?;
        for (own, other) in slice.ranges.iter_mut().zip(&e.ranges) {
            if own != other || own.low != own.high {
                *own = Range::default();
            }
        }
    }
    (slice.ranges.iter().any(|r| r.low.is_some())).then_some(slice)
}

impl Needs {
    /// Adds a whole location that callers need.
    pub fn add_for_callers(&mut self, loc: usize) {
        self.add_whole(loc);
    }

    /// Adds a whole location that is needed only if a condition does not hold now.
    pub fn add_all_unless(&mut self, loc: usize, condition: &Condition) {
        match self.has(loc) {
            true if self.unless.get(&loc) == Some(condition) => {}
            true => self.add_all(loc),
            false => {
                self.add_all(loc);
                self.unless.insert(loc, condition.clone());
            }
        }
    }

    /// Whether a location is needed only if a condition did not hold at an earlier statement.
    pub fn has_unless(&self, loc: usize, condition: &Condition) -> bool {
        self.unless.get(&loc) == Some(condition)
    }

    fn add_whole(&mut self, loc: usize) {
        self.unless.remove(&loc);
        self.whole.grow_and_insert(loc);
        self.some.remove(&loc);
    }

    /// Adds a whole location.
    pub fn add_all(&mut self, loc: usize) {
        self.own.grow_and_insert(loc);
        self.saved.remove(loc);
        self.add_whole(loc);
    }

    /// Adds some elements of a location, in some loops.
    pub fn add(&mut self, loc: usize, elements: Elements, around: &[LoopRange]) {
        self.own.grow_and_insert(loc);
        self.unless.remove(&loc);
        self.saved.read(loc, &elements, around);
        self.add_some(loc, elements);
    }

    fn add_some(&mut self, loc: usize, elements: Elements) {
        if self.whole.contains(loc) {
            return;
        }
        let list = self.some.entry(loc).or_default();
        if list.iter().any(|e| elements.is_within(e)) {
            return;
        }
        let list = Arc::make_mut(list);
        list.retain(|e| !e.is_within(&elements));
        list.push(elements);
        if list.len() > MOST_RANGES {
            match common_slice(list) {
                Some(slice) => *list = vec![slice],
                None => self.add_whole(loc),
            }
        }
    }

    /// The elements that are needed of a location, if that is not the whole.
    pub fn elements(&self, loc: usize) -> Option<&[Elements]> {
        self.some.get(&loc).map(|list| list.as_slice())
    }

    /// Whether any part of a location is needed.
    pub fn has(&self, loc: usize) -> bool {
        self.whole.contains(loc) || self.some.contains_key(&loc)
    }

    /// Whether the reverse sweep of the unit itself reads any part of a location.
    pub fn is_own(&self, loc: usize) -> bool {
        self.own.contains(loc)
    }

    /// Whether all of a location is needed.
    pub fn has_all(&self, loc: usize) -> bool {
        self.whole.contains(loc)
    }

    /// Whether some of these elements may be needed.
    pub fn has_some(&self, loc: usize, elements: Option<&Elements>, around: &[LoopRange]) -> bool {
        if elements.is_some_and(|e| self.saved.contains(loc, e, around)) {
            return false;
        }
        if self.whole.contains(loc) {
            return true;
        }
        match (self.some.get(&loc), elements) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(list), Some(e)) => list.iter().any(|needed| !needed.are_disjoint(e, around)),
        }
    }

    /// Everything that is needed of an array, as one section whose bounds contain only variables for which
    /// `is` holds.
    pub fn section(
        &self,
        loc: usize,
        array: SymId,
        is: &dyn Fn(SymId) -> bool,
    ) -> Option<Vec<(Affine, Affine)>> {
        let [one] = self.some.get(&loc)?.as_slice() else {
            return None;
        };
        if one.array != array {
            return None;
        }
        let ends = |r: &Range| Some((r.low.clone()?, r.high.clone()?));
        let ends: Option<Vec<(Affine, Affine)>> = one.ranges.iter().map(ends).collect();
        ends.filter(|e| e.iter().all(|(a, b)| a.all_vars(is) && b.all_vars(is)))
    }

    /// Removes a location.
    pub fn remove(&mut self, loc: usize) {
        self.some.remove(&loc);
        self.unless.remove(&loc);
        for set in [&mut self.whole, &mut self.own] {
            if set.contains(loc) {
                set.set(loc, false);
            }
        }
        self.saved.remove(loc);
    }

    /// Removes the locations of which all elements are saved. `is_all` tells whether a section is the whole
    /// array.
    pub fn remove_saved(&mut self, is_all: &dyn Fn(&Elements) -> bool) {
        for loc in self.saved.whole(is_all) {
            self.remove(loc);
        }
    }

    /// Removes one element, which is saved before it gets another value.
    pub fn remove_element(&mut self, loc: usize, element: &Elements) {
        self.saved.add(loc, element.clone());
        if let Some(list) = self.some.get_mut(&loc) {
            if list.iter().any(|e| e.is_same_element(element)) {
                Arc::make_mut(list).retain(|e| !e.is_same_element(element));
            }
            if list.is_empty() {
                self.remove(loc);
            }
        }
    }

    /// Accounts for a new value of a variable: subscripts that contain it no longer tell which elements they
    /// meant.
    pub fn changed(&mut self, s: SymId) {
        self.saved.changed(s);
        self.for_each_bound_with(s, &mut |b, _| *b = None);
    }

    /// Calls `f` for every bound that depends on a variable, and whether it is a lower one. Removes ranges that lie within
    /// others then.
    fn for_each_bound_with(&mut self, var: SymId, f: &mut dyn FnMut(&mut Option<Affine>, bool)) {
        let depends = |b: &Option<Affine>| b.as_ref().is_some_and(|b| b.factor(var) != 0);
        let of = |e: &Elements| e.ranges.iter().any(|r| depends(&r.low) || depends(&r.high));
        for list in self.some.values_mut() {
            if !list.iter().any(of) {
                continue;
            }
            let list = Arc::make_mut(list);
            for e in list.iter_mut() {
                e.for_each_bound(&mut |b, low| {
                    if depends(b) {
                        f(b, low);
                    }
                });
            }
            let mut kept: Vec<Elements> = Vec::with_capacity(list.len());
            for e in list.drain(..) {
                if !kept.iter().any(|k| e.is_within(k)) {
                    kept.retain(|k| !k.is_within(&e));
                    kept.push(e);
                }
            }
            *list = kept;
        }
    }

    /// The sections that are saved.
    pub fn saved(&self) -> &SavedSections {
        &self.saved
    }

    /// Adds sections that are saved.
    pub fn add_saved(&mut self, sections: &[(usize, Elements)]) {
        for (loc, e) in sections {
            if self.has(*loc) {
                self.saved.add(*loc, e.clone());
            }
        }
    }

    /// Goes on to the next iteration of a loop: what was needed at one value of its variable was needed at
    /// any value up to the one before. `step` is 1, -1 or unknown (`None`).
    pub fn next_iteration(&mut self, var: SymId, from: &Option<Affine>, step: Option<i64>) {
        self.saved.next_iteration(var, step);
        let last = step.map(|s| Affine::var(var).plus(&Affine::number(s), -1));
        self.executed(var, from, &last.flatten(), step);
    }

    /// Goes on to the point after a loop.
    pub fn after_loop(
        &mut self,
        var: SymId,
        from: &Option<Affine>,
        to: &Option<Affine>,
        step: Option<i64>,
    ) {
        self.executed(var, from, to, step);
    }

    fn executed(
        &mut self,
        var: SymId,
        first: &Option<Affine>,
        last: &Option<Affine>,
        step: Option<i64>,
    ) {
        self.for_each_bound_with(var, &mut |bound, low| {
            let Some(b) = bound else { return };
            let factor = b.factor(var);
            let upward = step.map(|s| (s > 0) == (factor > 0));
            let end = match upward {
                None => &None,
                // The bound is reached in the first iteration.
                Some(up) if up == low => first,
                Some(_) => last,
            };
            *bound = match end {
                Some(end) => b.clone().with(var, end),
                None => None,
            };
        });
    }

    /// Adds everything that is needed in `other`.
    pub fn union_with(&mut self, other: &Needs) {
        let is_new = |loc: usize| !self.whole.contains(loc) && !self.some.contains_key(&loc);
        self.saved
            .keep_common(&other.saved, &is_new, &|loc| other.has(loc));
        let new = other.unless.iter().filter(|(loc, _)| is_new(**loc));
        let mut unless: BTreeMap<usize, Condition> = new.map(|(l, c)| (*l, c.clone())).collect();
        let same = |loc: usize, c: &Condition| !other.has(loc) || other.has_unless(loc, c);
        let own = std::mem::take(&mut self.unless).into_iter();
        unless.extend(own.filter(|(loc, c)| same(*loc, c)));
        self.unless = unless;
        self.own.union_with(&other.own);
        self.whole.union_with(&other.whole);
        self.some.retain(|loc, _| !other.whole.contains(*loc));
        for (loc, list) in &other.some {
            match self.some.get(loc) {
                Some(own) if Arc::ptr_eq(own, list) => {}
                Some(_) => list.iter().for_each(|e| self.add_some(*loc, e.clone())),
                None if self.whole.contains(*loc) => {}
                None => {
                    self.some.insert(*loc, list.clone());
                }
            }
        }
    }

    /// Whether everything that is needed here is also needed in `other`.
    pub fn is_within(&self, other: &Needs) -> bool {
        let is_within = |loc: &usize, mine: &Needed| {
            let theirs = other.some.get(loc);
            other.whole.contains(*loc)
                || theirs.is_some_and(|theirs| {
                    Arc::ptr_eq(mine, theirs)
                        || mine.iter().all(|e| theirs.iter().any(|t| e.is_within(t)))
                })
        };
        let conditions = other.unless.iter();
        let mut fewer = conditions.filter(|(loc, c)| self.has(**loc) && !self.has_unless(**loc, c));
        fewer.next().is_none()
            && self.own.is_subset(&other.own)
            && self.whole.is_subset(&other.whole)
            && self.saved.include(&other.saved, &|loc| self.has(loc))
            && self.some.iter().all(|(loc, mine)| is_within(loc, mine))
    }

    /// Extends all needs to whole locations.
    pub fn coarsen(&mut self) {
        self.saved = SavedSections::default();
        for loc in std::mem::take(&mut self.some).into_keys() {
            self.whole.grow_and_insert(loc);
        }
    }
}
