//! Sparse Jacobians, computed with as few tangents as possible.
//!
//! Columns that have no row in common can share a direction of forward mode: their sum contains
//! every element of each. [`Pattern::groups`] finds groups of such columns, a block of the form
//!
//! ```fortran
//!       ADF(DIRECTIONS = NG, (TANGENT(X(J), GROUP(J)) = 1, J = 1, N))
//!       …
//!       END ADF(((B(K,I) = TANGENT(F(I), K), K = 1, NG), I = 1, M))
//! ```
//!
//! computes the sums, and [`Pattern::recover`] extracts the elements from them.
//!
//! ```
//! use farfel_runtime::sparse::Pattern;
//!
//! // A matrix of 4 rows and 4 columns with three diagonals.
//! let near = |i: usize| (i.saturating_sub(1)..=i + 1).filter(|j| *j < 4);
//! let pattern = Pattern::new(4, 4, (0..4).flat_map(|i| near(i).map(move |j| (i, j))))?;
//! let groups = pattern.groups();
//! assert_eq!(groups.of, [1, 2, 3, 1]);
//! assert_eq!(groups.count, 3);
//! // What the block above gives for the matrix with 10*i + j in row i and column j.
//! let sums = [0., 1., 0., 10., 11., 12., 23., 21., 22., 33., 0., 32.];
//! let elements = pattern.recover(&groups, &sums)?;
//! assert_eq!(elements, [0., 1., 10., 11., 12., 21., 22., 23., 32., 33.]);
//! # Ok::<(), farfel_runtime::sparse::SparseError>(())
//! ```
//!
//! The groups are those of Curtis, Powell and Reid (1974): each column goes into the first group
//! that it fits into. The number of groups depends on the order of the columns; as Coleman and Moré
//! (1983) found, no order is best for all matrices. So three orders are tried: the given order,
//! largest degree first, and smallest degree last. The degree of a column is the number of columns
//! with which it shares a row; for the last order it counts only the columns not yet placed.

/// An error in a pattern or in the numbers for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SparseError {
    /// An element lies outside the matrix.
    Outside {
        /// Row and column of the element, from 0.
        at: (usize, usize),
        /// The numbers of rows and columns.
        size: (usize, usize),
    },
    /// The number of values is wrong.
    Numbers {
        /// The number of values given.
        given: usize,
        /// The number of values required.
        needed: usize,
    },
    /// The groups belong to another pattern.
    Groups,
}

impl std::fmt::Display for SparseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SparseError::Outside { at, size } => write!(
                f,
                "there is no row {} and column {} in a matrix of {} rows and {} columns",
                at.0, at.1, size.0, size.1
            ),
            SparseError::Numbers { given, needed } => {
                write!(f, "{given} numbers in the place of {needed}")
            }
            SparseError::Groups => f.write_str("the groups are not those of this pattern"),
        }
    }
}

impl std::error::Error for SparseError {}

/// The sparsity pattern of a matrix in compressed row form (CSR), each row in ascending order of
/// columns. Rows and columns count from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    columns: usize,
    /// Row i is `column_indices[row_starts[i]..row_starts[i + 1]]`.
    row_starts: Vec<usize>,
    column_indices: Vec<usize>,
}

/// Groups of columns that can share a direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Groups {
    /// The group of each column, from 1, as Fortran expects it.
    pub of: Vec<i32>,
    /// The number of groups.
    pub count: usize,
}

impl Pattern {
    /// Creates the pattern of a matrix with elements in these rows and columns, in any order;
    /// duplicates are merged.
    ///
    /// # Errors
    ///
    /// [`SparseError::Outside`] if an element lies outside the matrix.
    pub fn new(
        rows: usize,
        columns: usize,
        elements: impl IntoIterator<Item = (usize, usize)>,
    ) -> Result<Self, SparseError> {
        let mut all: Vec<(usize, usize)> = elements.into_iter().collect();
        if let Some(at) = all.iter().find(|(i, j)| *i >= rows || *j >= columns) {
            return Err(SparseError::Outside {
                at: *at,
                size: (rows, columns),
            });
        }
        all.sort_unstable();
        all.dedup();
        let mut row_starts = vec![0; rows + 1];
        for (i, _) in &all {
            row_starts[i + 1] += 1;
        }
        for i in 0..rows {
            row_starts[i + 1] += row_starts[i];
        }
        Ok(Pattern {
            columns,
            row_starts,
            column_indices: all.into_iter().map(|(_, j)| j).collect(),
        })
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.row_starts.len() - 1
    }

    /// Returns the number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Returns the index in [`Pattern::column_indices`] at which each row begins, and at the end
    /// that at which the last one ends.
    pub fn row_starts(&self) -> &[usize] {
        &self.row_starts
    }

    /// Returns the columns of the elements, row by row.
    pub fn column_indices(&self) -> &[usize] {
        &self.column_indices
    }

    /// Returns the columns in which a row has elements.
    pub fn row(&self, i: usize) -> &[usize] {
        let ends = (self.row_starts.get(i), self.row_starts.get(i + 1));
        match ends {
            (Some(from), Some(to)) => &self.column_indices[*from..*to],
            _ => &[],
        }
    }

    /// Returns groups of columns that have no row in common: the fewest that any of three column
    /// orders gives.
    pub fn groups(&self) -> Groups {
        let by_column = self.transposed();
        let fewest = (0..self.rows()).map(|i| self.row(i).len()).max();
        let mut best: Option<Groups> = None;
        let orders: [&dyn Fn() -> Vec<usize>; 3] = [
            &|| (0..self.columns).collect(),
            &|| self.largest_first(&by_column),
            &|| self.smallest_last(&by_column),
        ];
        for order in orders {
            let found = self.greedy(&by_column, &order());
            // The longest row is a lower bound on the number of groups.
            let least = Some(found.count) == fewest;
            if best.as_ref().is_none_or(|b| found.count < b.count) {
                best = Some(found);
            }
            if least {
                break;
            }
        }
        best.unwrap_or(Groups {
            of: Vec::new(),
            count: 0,
        })
    }

    /// Extracts the elements, row by row, from the sums of the columns of each group. `sums` has
    /// the sums of the first row, one for each group, then those of the second and so on, as a
    /// Fortran array B(NG,M) is stored.
    ///
    /// # Errors
    ///
    /// [`SparseError::Numbers`] if `sums` has the wrong length, [`SparseError::Groups`] if the
    /// groups belong to another pattern.
    pub fn recover(&self, groups: &Groups, sums: &[f64]) -> Result<Vec<f64>, SparseError> {
        let needed = groups.count * self.rows();
        if sums.len() != needed {
            return Err(SparseError::Numbers {
                given: sums.len(),
                needed,
            });
        }
        if groups.of.len() != self.columns {
            return Err(SparseError::Groups);
        }
        let mut elements = Vec::with_capacity(self.column_indices.len());
        for i in 0..self.rows() {
            let sums = &sums[i * groups.count..(i + 1) * groups.count];
            let mut seen = vec![false; groups.count];
            for j in self.row(i) {
                let group = usize::try_from(groups.of[*j] - 1).ok();
                let group = group.filter(|g| *g < groups.count && !seen[*g]);
                let Some(group) = group else {
                    return Err(SparseError::Groups);
                };
                seen[group] = true;
                elements.push(sums[group]);
            }
        }
        Ok(elements)
    }

    /// Returns the rows of each column.
    fn transposed(&self) -> Vec<Vec<usize>> {
        let mut rows = vec![Vec::new(); self.columns];
        for i in 0..self.rows() {
            for j in self.row(i) {
                rows[*j].push(i);
            }
        }
        rows
    }

    /// Calls `f` on every other column that shares a row with column `j`, each once.
    fn neighbours(
        &self,
        by_column: &[Vec<usize>],
        j: usize,
        seen: &mut [usize],
        f: &mut dyn FnMut(usize),
    ) {
        seen[j] = j;
        for i in &by_column[j] {
            for k in self.row(*i) {
                if seen[*k] != j {
                    seen[*k] = j;
                    f(*k);
                }
            }
        }
    }

    fn degrees(&self, by_column: &[Vec<usize>]) -> Vec<usize> {
        let mut seen = vec![usize::MAX; self.columns];
        let degree = |j| {
            let mut count = 0;
            self.neighbours(by_column, j, &mut seen, &mut |_| count += 1);
            count
        };
        (0..self.columns).map(degree).collect()
    }

    fn largest_first(&self, by_column: &[Vec<usize>]) -> Vec<usize> {
        let degrees = self.degrees(by_column);
        let mut order: Vec<usize> = (0..self.columns).collect();
        order.sort_by_key(|j| std::cmp::Reverse(degrees[*j]));
        order
    }

    /// Returns the smallest-last order. From the last position to the first, each gets the column
    /// that shares rows with the fewest of those that are left.
    fn smallest_last(&self, by_column: &[Vec<usize>]) -> Vec<usize> {
        let mut degrees = self.degrees(by_column);
        let most = degrees.iter().copied().max().unwrap_or(0);
        // Columns by degree. A column stays in the buckets of its former degrees; only its last
        // entry counts.
        let mut buckets: Vec<Vec<usize>> = vec![Vec::new(); most + 1];
        for (j, d) in degrees.iter().enumerate() {
            buckets[*d].push(j);
        }
        let mut taken = vec![false; self.columns];
        let mut seen = vec![usize::MAX; self.columns];
        let mut order = Vec::with_capacity(self.columns);
        let mut at = 0;
        while at <= most {
            let Some(j) = buckets[at].pop() else {
                at += 1;
                continue;
            };
            if taken[j] || degrees[j] != at {
                continue;
            }
            taken[j] = true;
            order.push(j);
            self.neighbours(by_column, j, &mut seen, &mut |k| {
                if !taken[k] {
                    degrees[k] -= 1;
                    buckets[degrees[k]].push(k);
                }
            });
            at = at.saturating_sub(1);
        }
        order.reverse();
        order
    }

    /// Puts each column into the first group that contains none of its neighbours.
    fn greedy(&self, by_column: &[Vec<usize>], order: &[usize]) -> Groups {
        let mut of = vec![0; self.columns];
        // For each group, from 1, the last column that could not go into it.
        let mut barred: Vec<usize> = vec![usize::MAX];
        for j in order {
            for i in &by_column[*j] {
                for k in self.row(*i) {
                    barred[of[*k]] = *j;
                }
            }
            let free = (1..barred.len()).find(|g| barred[*g] != *j);
            of[*j] = free.unwrap_or_else(|| {
                barred.push(usize::MAX);
                barred.len() - 1
            });
        }
        Groups {
            of: of
                .into_iter()
                .map(|g| i32::try_from(g).unwrap_or(i32::MAX))
                .collect(),
            count: barred.len() - 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The elements that `recover` must give for a matrix with its own number everywhere.
    fn compressed(p: &Pattern, groups: &Groups) -> (Vec<f64>, Vec<f64>) {
        let mut sums = vec![0.0; groups.count * p.rows()];
        let mut elements = Vec::new();
        for i in 0..p.rows() {
            for j in p.row(i) {
                let value = (1 + i * p.columns() + j) as f64;
                elements.push(value);
                sums[i * groups.count + groups.of[*j] as usize - 1] += value;
            }
        }
        (sums, elements)
    }

    fn check(p: &Pattern) -> usize {
        let groups = p.groups();
        let (sums, elements) = compressed(p, &groups);
        assert_eq!(p.recover(&groups, &sums).unwrap(), elements);
        groups.count
    }

    #[test]
    fn bands_need_as_many_groups_as_they_have_diagonals() {
        for width in 0..4 {
            let near = |i: usize| (i.saturating_sub(width)..=i + width).filter(|j| *j < 500);
            let all = (0..500).flat_map(|i| near(i).map(move |j| (i, j)));
            let p = Pattern::new(500, 500, all).unwrap();
            assert_eq!(check(&p), 2 * width + 1);
        }
    }

    #[test]
    fn a_grid_with_five_points_needs_little_more_than_five() {
        let n = 20usize;
        let mut all = Vec::new();
        for i in 0..n {
            for j in 0..n {
                let me = i * n + j;
                all.push((me, me));
                let near = [
                    (i, j + 1),
                    (i, j.wrapping_sub(1)),
                    (i + 1, j),
                    (i.wrapping_sub(1), j),
                ];
                let inside = near.iter().filter(|(a, b)| *a < n && *b < n);
                all.extend(inside.map(|(a, b)| (me, a * n + b)));
            }
        }
        assert!(check(&Pattern::new(n * n, n * n, all).unwrap()) <= 7);
    }

    #[test]
    fn an_arrow_needs_an_order() {
        // A full first row makes all columns neighbours: nothing can be shared.
        let n = 30;
        let row = (0..n).map(|j| (0, j));
        let full = Pattern::new(n, n, row.chain((1..n).map(|i| (i, i)))).unwrap();
        assert_eq!(check(&full), n);
        // A full column shares with nobody.
        let column = (0..n).map(|i| (i, n / 2));
        let slim = Pattern::new(n, n, column.chain((0..n).map(|i| (i, i)))).unwrap();
        assert_eq!(check(&slim), 2);
    }

    #[test]
    fn random_patterns_come_back() {
        let mut state = 7u64;
        let mut random = |n: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as usize % n
        };
        for _ in 0..50 {
            let (m, n) = (1 + random(40), 1 + random(40));
            let all: Vec<_> = (0..random(200)).map(|_| (random(m), random(n))).collect();
            let p = Pattern::new(m, n, all).unwrap();
            let count = check(&p);
            let longest = (0..m).map(|i| p.row(i).len()).max().unwrap_or(0);
            assert!(count >= longest && count <= n);
        }
    }

    #[test]
    fn odd_sizes_are_no_panic() {
        let empty = Pattern::new(0, 0, []).unwrap();
        assert_eq!(empty.groups().count, 0);
        assert_eq!(empty.recover(&empty.groups(), &[]).unwrap(), []);
        let outside = Pattern::new(2, 2, [(0, 2)]).unwrap_err();
        assert!(outside.to_string().contains("no row 0 and column 2"));
        let p = Pattern::new(2, 2, [(0, 0), (0, 1)]).unwrap();
        let groups = p.groups();
        assert!(p.recover(&groups, &[1.0]).is_err());
        let one = Groups {
            of: vec![1, 1],
            count: 1,
        };
        assert_eq!(p.recover(&one, &[1.0, 2.0]), Err(SparseError::Groups));
        assert_eq!(p.row(9), []);
    }
}
