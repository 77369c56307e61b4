//! Bit matrices: a set for each of many rows, in one allocation.

use crate::locations::Set;
use farfel_lang::solve::Fact;

/// An assignment, as seen by the dependence analysis.
#[derive(Debug, Clone)]
pub struct Move {
    /// The location that is assigned.
    pub target: usize,
    /// Whether the whole target gets a new value.
    pub strong: bool,
    /// The locations on which the new value depends.
    pub from: Set,
}

/// Assignments that happen simultaneously.
#[derive(Debug, Clone)]
pub struct Moves {
    /// The assignments.
    pub group: Vec<Move>,
    /// Whether the statement itself makes them, and not a procedure that it calls.
    pub own: bool,
}

/// A set of slots for each location.
#[derive(Debug, Clone)]
pub(crate) struct Matrix {
    bits: Vec<u64>,
    /// The number of words in a row.
    width: usize,
}

impl Matrix {
    pub(crate) fn new(rows: usize, columns: usize) -> Self {
        let width = columns.div_ceil(64);
        Matrix {
            bits: vec![0; rows * width],
            width,
        }
    }

    pub(crate) fn insert(&mut self, row: usize, column: usize) {
        self.bits[row * self.width + column / 64] |= 1 << (column % 64);
    }

    pub(crate) fn row(&self, row: usize) -> impl Iterator<Item = usize> {
        let words = &self.bits[row * self.width..(row + 1) * self.width];
        words.iter().enumerate().flat_map(|(i, w)| {
            (0..64)
                .filter(move |b| w >> b & 1 == 1)
                .map(move |b| i * 64 + b)
        })
    }

    pub(crate) fn union_row(&mut self, row: usize, other: &Matrix) -> bool {
        let mut changed = false;
        for i in row * self.width..(row + 1) * self.width {
            changed |= other.bits[i] & !self.bits[i] != 0;
            self.bits[i] |= other.bits[i];
        }
        changed
    }

    /// Executes a group of simultaneous assignments.
    pub(crate) fn assign(&mut self, group: &[Move]) {
        let w = self.width;
        let mut new = vec![0u64; group.len() * w];
        for (value, m) in new.chunks_exact_mut(w.max(1)).zip(group) {
            for f in m.from.ones() {
                for (a, b) in value.iter_mut().zip(&self.bits[f * w..(f + 1) * w]) {
                    *a |= b;
                }
            }
        }
        for m in group {
            // Several assignments to one location (an array passed twice) are all kept.
            if m.strong && group.iter().filter(|x| x.target == m.target).count() == 1 {
                self.bits[m.target * w..(m.target + 1) * w].fill(0);
            }
        }
        for (value, m) in new.chunks_exact(w.max(1)).zip(group) {
            let row = &mut self.bits[m.target * w..(m.target + 1) * w];
            for (a, b) in row.iter_mut().zip(value) {
                *a |= b;
            }
        }
    }
}

impl Fact for Matrix {
    fn join(&mut self, other: &Matrix) -> bool {
        let mut changed = false;
        for (a, b) in self.bits.iter_mut().zip(&other.bits) {
            changed |= *b & !*a != 0;
            *a |= b;
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locations::Set;

    #[test]
    fn assignments_of_a_group_happen_at_once() {
        let mut m = Matrix::new(3, 70);
        m.insert(0, 1);
        m.insert(1, 69);
        let set = |loc: usize| Set::from_iter([loc]);
        let swap = |target, from| Move {
            target,
            strong: true,
            from: set(from),
        };
        m.assign(&[swap(0, 1), swap(1, 0)]);
        assert_eq!(m.row(0).collect::<Vec<_>>(), [69]);
        assert_eq!(m.row(1).collect::<Vec<_>>(), [1]);
        // A weak assignment keeps the previous contents; so do two to one location.
        m.assign(&[Move {
            target: 0,
            strong: false,
            from: set(1),
        }]);
        assert_eq!(m.row(0).collect::<Vec<_>>(), [1, 69]);
        m.assign(&[swap(2, 0), swap(2, 1)]);
        assert_eq!(m.row(2).collect::<Vec<_>>(), [1, 69]);
    }
}
