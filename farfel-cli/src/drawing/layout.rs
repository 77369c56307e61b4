//! Placement of the nodes of a graph: in columns, with edges from left to right; or in rows, with edges
//! downwards, which is the same algorithm with the axes swapped.
//!
//! The method is that of Sugiyama, Tagawa and Toda, "Methods for Visual Understanding of Hierarchical System
//! Structures", IEEE Trans. SMC 11(2), 1981, in the order of its steps:
//!
//! 1. Edges that close a cycle are reversed (those that a depth-first search finds).
//! 2. Each node is in the column after the last of its predecessors (longest path).
//! 3. Edges over several columns get a bend in each column between.
//! 4. The order in the columns: each node moves to the mean position of its neighbours (barycentre), in
//!    sweeps back and forth; the order with the fewest crossings is kept. Crossings are counted as in Barth,
//!    Mutzel and Jünger, "Simple and Efficient Bilayer Cross Counting", Graph Drawing 2002.
//! 5. The heights: as close to the neighbours as the order allows. This is isotonic regression, which pooling
//!    adjacent violators solves exactly (Ayer and others, "An Empirical Distribution Function for Sampling
//!    with Incomplete Information", 1955).
//!
//! Connected components are placed one below the other.
//!
//! This is implemented here instead of using a crate, because the result must be the same on every machine
//! and take only a moment for thousands of nodes.

/// The gap between two columns.
const GAP_ALONG: f64 = 48.0;
/// The gap between two nodes of a column.
const GAP_ACROSS: f64 = 16.0;
/// The gap between a bend of an edge and its neighbours above and below.
const BEND_GAP: f64 = 7.0;
/// The number of sweeps that improve the order.
const SWEEPS: usize = 12;
/// The maximum number of bends; with more of them, edges are straight, to save time.
const MOST_BENDS: usize = 20_000;

/// The maximum width of a drawing whose edges go to the right; most screens show it whole. With callers on
/// the left and callees on the right, a drawing reads like text, and since names are wide and low, columns of
/// them take less room than rows. Only a wider drawing goes downwards, if it is narrower that way, because
/// pages are scrolled down.
const WIDE: f64 = 1600.0;

/// The positions of nodes and edges.
pub struct Layout {
    /// Whether edges go downwards, not to the right.
    pub downwards: bool,
    /// The upper left corner of each node.
    pub nodes: Vec<(f64, f64)>,
    /// For each edge, the points on its way from tail to head; in pairs between which it is level: the sides
    /// of a node or of a column.
    pub edges: Vec<Vec<(f64, f64)>>,
    /// The total size.
    pub size: (f64, f64),
}

/// Places nodes of these sizes (width, height) with these edges (tail, head), to the right, or downwards if
/// that would be too wide. Edges from a node to itself have no points.
pub fn layout(sizes: &[(f64, f64)], edges: &[(usize, usize)]) -> Layout {
    let right = to_the_right(sizes, edges);
    if right.size.0 <= WIDE {
        return right;
    }
    let swap = |(x, y): (f64, f64)| (y, x);
    let turned: Vec<(f64, f64)> = sizes.iter().copied().map(swap).collect();
    let down = to_the_right(&turned, edges);
    if right.size.0 <= down.size.1 {
        return right;
    }
    Layout {
        downwards: true,
        nodes: down.nodes.into_iter().map(swap).collect(),
        edges: down
            .edges
            .into_iter()
            .map(|path| path.into_iter().map(swap).collect())
            .collect(),
        size: swap(down.size),
    }
}

fn to_the_right(sizes: &[(f64, f64)], edges: &[(usize, usize)]) -> Layout {
    let turned = turned(sizes.len(), edges);
    let forward: Vec<(usize, usize)> = edges
        .iter()
        .zip(&turned)
        .map(|(&(a, b), turned)| if *turned { (b, a) } else { (a, b) })
        .collect();
    let column = columns(sizes.len(), &forward);
    let count = column.iter().max().map_or(0, |last| last + 1);
    let mut width = vec![0.0_f64; count];
    for (node, c) in column.iter().enumerate() {
        width[*c] = width[*c].max(sizes[node].0);
    }
    let mut x = vec![0.0; count];
    for c in 1..count {
        x[c] = x[c - 1] + width[c - 1] + GAP_ALONG;
    }

    let mut points = Points::new(sizes, &column);
    let straight = points.bends(&forward, &column);
    let mut bottom = 0.0;
    for part in points.parts() {
        let mut layers = points.layers(&part, count);
        points.order(&mut layers);
        points.settle(&layers);
        bottom = points.below(&part, bottom) + 2.0 * GAP_ACROSS;
    }

    let y = |p: usize| points.y[p];
    let mut paths = Vec::new();
    for (edge, chain) in points.chains.iter().enumerate() {
        let mut path: Vec<(f64, f64)> = Vec::new();
        let (a, b) = forward[edge];
        if a != b {
            path.push((x[column[a]] + sizes[a].0, y(a)));
            if !straight {
                for (i, bend) in chain.iter().enumerate() {
                    let c = column[a] + 1 + i;
                    path.extend([(x[c], y(*bend)), (x[c] + width[c], y(*bend))]);
                }
            }
            path.push((x[column[b]], y(b)));
        }
        if turned[edge] {
            path.reverse();
        }
        paths.push(path);
    }
    Layout {
        downwards: false,
        nodes: (0..sizes.len())
            .map(|i| (x[column[i]], y(i) - sizes[i].1 / 2.0))
            .collect(),
        edges: paths,
        size: (
            x.last().copied().unwrap_or_default() + width.last().copied().unwrap_or_default(),
            (bottom - 2.0 * GAP_ACROSS).max(0.0),
        ),
    }
}

/// Returns, for each edge, whether it closes a cycle in a depth-first search in the order of the nodes.
fn turned(nodes: usize, edges: &[(usize, usize)]) -> Vec<bool> {
    let mut out = vec![Vec::new(); nodes];
    let mut is_needed = vec![false; nodes];
    for (e, (a, b)) in edges.iter().enumerate() {
        out[*a].push(e);
        is_needed[*b] |= a != b;
    }
    let mut turned = vec![false; edges.len()];
    // 0: never visited, 1: on the path, 2: done.
    let mut state = vec![0_u8; nodes];
    let tops = (0..nodes).filter(|i| !is_needed[*i]);
    for root in tops.chain(0..nodes) {
        if state[root] != 0 {
            continue;
        }
        state[root] = 1;
        let mut path = vec![(root, 0)];
        while let Some((node, next)) = path.last_mut() {
            let Some(&e) = out[*node].get(*next) else {
                state[*node] = 2;
                path.pop();
                continue;
            };
            *next += 1;
            let to = edges[e].1;
            match state[to] {
                0 => {
                    state[to] = 1;
                    path.push((to, 0));
                }
                1 => turned[e] = edges[e].0 != to,
                _ => {}
            }
        }
    }
    turned
}

/// Returns the column of each node. The edges have no cycles except from nodes to themselves.
fn columns(nodes: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut out = vec![Vec::new(); nodes];
    let mut missing = vec![0; nodes];
    for &(a, b) in edges.iter().filter(|(a, b)| a != b) {
        out[a].push(b);
        missing[b] += 1;
    }
    let is_first: Vec<bool> = missing.iter().map(|m| *m == 0).collect();
    let mut column = vec![0; nodes];
    let mut ready: Vec<usize> = (0..nodes).filter(|i| is_first[*i]).collect();
    while let Some(a) = ready.pop() {
        for &b in &out[a] {
            column[b] = column[b].max(column[a] + 1);
            missing[b] -= 1;
            if missing[b] == 0 {
                ready.push(b);
            }
        }
    }
    // A node without predecessors is just before its successors.
    for a in (0..nodes).filter(|i| is_first[*i]) {
        if let Some(nearest) = out[a].iter().map(|b| column[*b]).min() {
            column[a] = nearest - 1;
        }
    }
    column
}

/// Nodes, followed by the bends of edges.
struct Points {
    column: Vec<usize>,
    height: Vec<f64>,
    y: Vec<f64>,
    nodes: usize,
    before: Vec<Vec<usize>>,
    after: Vec<Vec<usize>>,
    /// The bends of each edge.
    chains: Vec<Vec<usize>>,
}

impl Points {
    fn new(sizes: &[(f64, f64)], column: &[usize]) -> Self {
        Points {
            column: column.to_vec(),
            height: sizes.iter().map(|s| s.1).collect(),
            y: vec![0.0; sizes.len()],
            nodes: sizes.len(),
            before: vec![Vec::new(); sizes.len()],
            after: vec![Vec::new(); sizes.len()],
            chains: Vec::new(),
        }
    }

    /// Adds the bends. Returns true if there are none because there would be too many.
    fn bends(&mut self, edges: &[(usize, usize)], column: &[usize]) -> bool {
        let bends = |(a, b): &(usize, usize)| (column[*b] - column[*a]).saturating_sub(1);
        let straight = edges.iter().map(bends).sum::<usize>() > MOST_BENDS;
        for edge @ (a, b) in edges {
            let mut chain = Vec::new();
            let mut last = *a;
            for i in 0..if straight { 0 } else { bends(edge) } {
                let bend = self.column.len();
                self.column.push(column[*a] + 1 + i);
                self.height.push(0.0);
                self.y.push(0.0);
                self.before.push(vec![last]);
                self.after.push(Vec::new());
                self.after[last].push(bend);
                chain.push(bend);
                last = bend;
            }
            if a != b {
                self.after[last].push(*b);
                self.before[*b].push(last);
            }
            self.chains.push(chain);
        }
        straight
    }

    /// Returns the connected components, in the order of their first nodes.
    fn parts(&self) -> Vec<Vec<usize>> {
        let mut seen = vec![false; self.column.len()];
        let mut parts = Vec::new();
        for first in 0..self.nodes {
            if seen[first] {
                continue;
            }
            seen[first] = true;
            let mut part = Vec::new();
            let mut open = vec![first];
            while let Some(p) = open.pop() {
                part.push(p);
                // The first neighbour must be popped first.
                for q in self.before[p].iter().chain(&self.after[p]).rev() {
                    if !std::mem::replace(&mut seen[*q], true) {
                        open.push(*q);
                    }
                }
            }
            parts.push(part);
        }
        parts
    }

    fn layers(&self, part: &[usize], count: usize) -> Vec<Vec<usize>> {
        let mut layers = vec![Vec::new(); count];
        for p in part {
            layers[self.column[*p]].push(*p);
        }
        layers
    }

    /// Sorts the layers so that few edges cross.
    fn order(&self, layers: &mut Vec<Vec<usize>>) {
        let mut place = vec![0; self.column.len()];
        let number = |layer: &[usize], place: &mut [usize]| {
            for (i, p) in layer.iter().enumerate() {
                place[*p] = i;
            }
        };
        layers.iter().for_each(|l| number(l, &mut place));
        let mut best = layers.clone();
        let mut fewest = self.crossings(layers, &place);
        for sweep in 0..SWEEPS {
            if fewest == 0 {
                break;
            }
            let forth = sweep % 2 == 0;
            for i in 0..layers.len() {
                let c = if forth { i } else { layers.len() - 1 - i };
                let near = if forth { &self.before } else { &self.after };
                let mut keyed: Vec<(f64, usize)> = layers[c]
                    .iter()
                    .map(|p| {
                        let of = &near[*p];
                        let sum: usize = of.iter().map(|q| place[*q]).sum();
                        let mean = match of.len() {
                            0 => place[*p] as f64,
                            n => sum as f64 / n as f64,
                        };
                        (mean, *p)
                    })
                    .collect();
                // A stable sort, so that equal elements keep their order.
                keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
                layers[c] = keyed.into_iter().map(|(_, p)| p).collect();
                number(&layers[c], &mut place);
            }
            let now = self.crossings(layers, &place);
            if now < fewest {
                fewest = now;
                best.clone_from(layers);
            }
        }
        *layers = best;
    }

    fn crossings(&self, layers: &[Vec<usize>], place: &[usize]) -> usize {
        let mut crossings = 0;
        for pair in layers.windows(2) {
            // The number of heads at or before each place, as a binary indexed tree.
            let mut tree = vec![0_usize; pair[1].len() + 1];
            let mut heads = 0;
            for tail in &pair[0] {
                let mut to: Vec<usize> = self.after[*tail]
                    .iter()
                    .filter(|q| self.column[**q] == self.column[*tail] + 1)
                    .map(|q| place[*q])
                    .collect();
                to.sort_unstable();
                for head in &to {
                    let mut i = head + 1;
                    let mut before = 0;
                    while i > 0 {
                        before += tree[i];
                        i &= i - 1;
                    }
                    crossings += heads - before;
                }
                for head in to {
                    heads += 1;
                    let mut i = head + 1;
                    while i < tree.len() {
                        tree[i] += 1;
                        i += i & i.wrapping_neg();
                    }
                }
            }
        }
        crossings
    }

    /// Returns the minimum distance of two neighbours in a layer.
    fn distance(&self, a: usize, b: usize) -> f64 {
        let is_bend = |p: usize| p >= self.nodes;
        let gap = if is_bend(a) && is_bend(b) {
            BEND_GAP
        } else {
            GAP_ACROSS
        };
        (self.height[a] + self.height[b]) / 2.0 + gap
    }

    /// Determines the heights of the points, in the order of the layers.
    fn settle(&mut self, layers: &[Vec<usize>]) {
        for layer in layers {
            let wanted = vec![0.0; layer.len()];
            self.place(layer, &wanted);
        }
        for sweep in 0..8 {
            let (forth, both) = (sweep % 2 == 0, sweep >= 4);
            for i in 0..layers.len() {
                let c = if forth { i } else { layers.len() - 1 - i };
                let layer = &layers[c];
                let wanted: Vec<f64> = layer
                    .iter()
                    .map(|p| {
                        let first = both || forth;
                        let last = both || !forth;
                        let before = self.before[*p].iter().filter(|_| first);
                        let near = before.chain(self.after[*p].iter().filter(|_| last));
                        let (sum, n) = near.fold((0.0, 0), |(s, n), q| (s + self.y[*q], n + 1));
                        if n == 0 {
                            self.y[*p]
                        } else {
                            sum / f64::from(n)
                        }
                    })
                    .collect();
                self.place(layer, &wanted);
            }
        }
    }

    /// Places the points of a layer as close to the wanted positions as their order and distances allow, by
    /// least squares.
    fn place(&mut self, layer: &[usize], wanted: &[f64]) {
        // After subtracting the distances, the positions only have to be ascending.
        let mut offset = 0.0;
        let mut offsets = Vec::with_capacity(layer.len());
        // Blocks of adjacent points: the sum of their wanted positions, and their number.
        let mut blocks: Vec<(f64, usize)> = Vec::new();
        for (i, p) in layer.iter().enumerate() {
            if i > 0 {
                offset += self.distance(layer[i - 1], *p);
            }
            offsets.push(offset);
            let mut block = (wanted[i] - offset, 1);
            while let Some(last) = blocks.last() {
                if last.0 / (last.1 as f64) < block.0 / (block.1 as f64) {
                    break;
                }
                block = (block.0 + last.0, block.1 + last.1);
                blocks.pop();
            }
            blocks.push(block);
        }
        let mut points = layer.iter().zip(offsets);
        for (sum, count) in blocks {
            for (p, offset) in points.by_ref().take(count) {
                self.y[*p] = sum / count as f64 + offset;
            }
        }
    }

    /// Moves a component so that it begins at `top`, and returns where it ends.
    fn below(&mut self, part: &[usize], top: f64) -> f64 {
        let upper = |p: &usize| self.y[*p] - self.height[*p] / 2.0;
        let first = part.iter().map(upper).fold(f64::INFINITY, f64::min);
        let mut end = top;
        for p in part {
            // Whole numbers are precise enough for a drawing with text, and shorter.
            self.y[*p] = (self.y[*p] - first + top).round();
            end = end.max(self.y[*p] + self.height[*p] / 2.0);
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(n: usize, edges: &[(usize, usize)]) -> Layout {
        to_the_right(&vec![(80.0, 20.0); n], edges)
    }

    #[test]
    fn it_goes_sideways_unless_that_is_too_wide() {
        let chain: Vec<(usize, usize)> = (1..20).map(|i| (i - 1, i)).collect();
        let sizes = [(80.0, 20.0); 20];
        let deep = layout(&sizes, &chain);
        assert!(deep.downwards);
        assert_eq!(deep.size.0, 80.0);
        assert!(deep.edges[0][0].1 < deep.edges[0][1].1);
        none_overlap(&sizes, &deep);
        let short = layout(&sizes[..5], &chain[..4]);
        assert!(!short.downwards);
        assert!(short.nodes[0].0 < short.nodes[4].0);
        let star: Vec<(usize, usize)> = (1..20).map(|i| (0, i)).collect();
        let wide = layout(&sizes, &star);
        assert!(!wide.downwards);
        assert_eq!(wide.size.0, 2.0 * 80.0 + GAP_ALONG);
    }

    fn none_overlap(sizes: &[(f64, f64)], layout: &Layout) {
        for i in 0..sizes.len() {
            for j in 0..i {
                let ((x, y), (w, h)) = (layout.nodes[i], sizes[i]);
                let ((u, v), (a, b)) = (layout.nodes[j], sizes[j]);
                let apart = x + w <= u || u + a <= x || y + h <= v || v + b <= y;
                assert!(apart, "{i} and {j}: {:?} {:?}", (x, y), (u, v));
            }
        }
    }

    #[test]
    fn edges_go_right_and_nothing_overlaps() {
        let edges = [(0, 1), (0, 2), (1, 3), (2, 3), (0, 3), (4, 3), (5, 6)];
        let done = placed(7, &edges);
        none_overlap(&[(80.0, 20.0); 7], &done);
        for (a, b) in edges {
            assert!(done.nodes[a].0 < done.nodes[b].0, "{a} -> {b}");
        }
        // The edge over a column bends around the nodes there.
        assert_eq!(done.edges[4].len(), 4);
        // A node without predecessors is just before the node that needs it.
        assert_eq!(done.nodes[4].0, done.nodes[1].0);
    }

    #[test]
    fn cycles_are_drawn_too() {
        let done = placed(3, &[(0, 1), (1, 2), (2, 0), (1, 1)]);
        assert!(done.nodes[0].0 < done.nodes[2].0);
        // From the tail to the head, even if that is to the left.
        let back = &done.edges[2];
        assert!(back[0].0 > back[back.len() - 1].0);
        assert!(done.edges[3].is_empty());
    }

    /// Two pairs of nodes that cross in the given order.
    #[test]
    fn crossings_are_avoided() {
        let done = placed(5, &[(4, 0), (4, 1), (0, 3), (1, 2)]);
        assert_eq!(
            done.nodes[0].1 < done.nodes[1].1,
            done.nodes[3].1 < done.nodes[2].1
        );
    }

    #[test]
    fn the_heights_are_those_of_least_squares() {
        let mut points = Points::new(&[(1.0, 10.0 - GAP_ACROSS); 3], &[0; 3]);
        // With distances of 10. Wanted: two at the same height, one far away.
        points.place(&[0, 1, 2], &[50.0, 50.0, 100.0]);
        assert_eq!(points.y, [45.0, 55.0, 100.0]);
        points.place(&[0, 1, 2], &[0.0, 0.0, 0.0]);
        assert_eq!(points.y, [-10.0, 0.0, 10.0]);
    }

    #[test]
    fn nothing_at_all() {
        let done = placed(0, &[]);
        assert_eq!(done.size, (0.0, 0.0));
    }

    /// Every node calls all later ones: the maximum number of bends.
    #[test]
    fn many_edges_take_no_time() {
        let edges: Vec<(usize, usize)> = (0..300)
            .flat_map(|a| (a + 1..300).map(move |b| (a, b)))
            .collect();
        let done = placed(300, &edges);
        assert_eq!(done.edges[0].len(), 2);
    }
}
