//! Ranges of elements of arrays, as far as subscripts tell them.

use crate::affine::{Affine, LoopRange, is_positive};
use farfel_lang::ir::{Expr, ExprKind, SymId, Unit};

/// The bounds of a range, where known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Range {
    pub(super) low: Option<Affine>,
    pub(super) high: Option<Affine>,
}

/// A range of elements of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Elements {
    pub(super) array: SymId,
    pub(super) ranges: Vec<Range>,
}

impl Elements {
    /// The elements that an element or section denotes; `None` for a whole variable.
    pub(super) fn of(unit: &Unit, e: &Expr) -> Option<Self> {
        let ExprKind::Element(array, subscripts) = &e.kind else {
            return None;
        };
        let ranges = subscripts
            .iter()
            .map(|s| match &s.kind {
                ExprKind::Range(low, high, None) => {
                    let bound = |e: &Option<Box<Expr>>| Affine::of(unit, e.as_ref()?);
                    Range {
                        low: bound(low),
                        high: bound(high),
                    }
                }
                // With a negative step the bounds are swapped.
                ExprKind::Range(..) => Range {
                    low: None,
                    high: None,
                },
                _ => {
                    let at = Affine::of(unit, s);
                    Range {
                        low: at.clone(),
                        high: at,
                    }
                }
            })
            .collect();
        Some(Elements {
            array: *array,
            ranges,
        })
    }

    /// Whether both are the same single element.
    pub(super) fn is_same_element(&self, other: &Self) -> bool {
        self == other
            && self
                .ranges
                .iter()
                .all(|r| r.low.is_some() && r.low == r.high)
    }

    pub(super) fn is_within(&self, other: &Self) -> bool {
        // An unknown bound may be anywhere.
        let inside = |own: &Option<Affine>, limit: &Option<Affine>, sign: i64| match (own, limit) {
            (_, None) => true,
            (Some(own), Some(limit)) => {
                let d = own.clone().plus(limit, -1).and_then(|d| d.value());
                d.is_some_and(|d| d.signum() != -sign)
            }
            (None, Some(_)) => false,
        };
        self.has_shape_of(other)
            && (self.ranges.iter().zip(&other.ranges))
                .all(|(a, b)| inside(&a.low, &b.low, 1) && inside(&a.high, &b.high, -1))
    }

    pub(super) fn are_disjoint(&self, other: &Self, around: &[LoopRange]) -> bool {
        let before = |a: &Range, b: &Range| match (&a.high, &b.low) {
            (Some(a), Some(b)) => b
                .clone()
                .plus(a, -1)
                .is_some_and(|d| is_positive(d, around)),
            _ => false,
        };
        self.has_shape_of(other)
            && (self.ranges.iter().zip(&other.ranges)).any(|(a, b)| before(a, b) || before(b, a))
    }

    /// Whether both are of the same array, with as many subscripts.
    fn has_shape_of(&self, other: &Self) -> bool {
        self.array == other.array && self.ranges.len() == other.ranges.len()
    }

    pub(super) fn for_each_bound(&mut self, f: &mut dyn FnMut(&mut Option<Affine>, bool)) {
        for r in &mut self.ranges {
            f(&mut r.low, true);
            f(&mut r.high, false);
        }
    }
}
