//! Renders graphs as a tree in text, like `cargo tree`.

use super::text::shown;
use super::{EdgeKind, Graph, Node};

/// Renders the graph as a tree, with the nodes that a node needs below it.
///
/// At the top are the nodes that nothing needs. The nodes that a node needs are shown at its first
/// occurrence; later, `(*)` stands for them. `(cycle)` marks a node that is shown above itself.
pub fn render(graph: &Graph) -> String {
    let needs = graph.needs();
    let mut needed = vec![false; graph.nodes.len()];
    for (from, to) in needs
        .iter()
        .enumerate()
        .flat_map(|(i, l)| l.iter().map(move |(to, _)| (i, *to)))
    {
        // A node that only calls itself is nevertheless at the top.
        needed[to] |= from != to;
    }
    let mut walk = Walk {
        graph,
        needs: &needs,
        shown: vec![false; graph.nodes.len()],
        open: vec![false; graph.nodes.len()],
        text: String::new(),
    };
    for (i, needed) in needed.iter().enumerate() {
        if !needed {
            walk.top(i);
        }
    }
    // The remaining nodes are in cycles that nothing outside needs.
    for i in 0..graph.nodes.len() {
        if !walk.shown[i] {
            walk.top(i);
        }
    }
    walk.text
}

struct Walk<'a> {
    graph: &'a Graph,
    needs: &'a [Vec<(usize, EdgeKind)>],
    /// Whether the nodes that a node needs have been shown.
    shown: Vec<bool>,
    /// Whether a node is above the current one.
    open: Vec<bool>,
    text: String,
}

impl Walk<'_> {
    fn top(&mut self, root: usize) {
        if !self.line(root, EdgeKind::Calls) {
            return;
        }
        // Without recursion, because a chain of calls may be longer than the stack. Each entry has a node and
        // the number of its needs that are written.
        let mut path = vec![(root, 0)];
        let mut prefix = String::new();
        while let Some((node, next)) = path.last_mut() {
            let needs = &self.needs[*node];
            let Some(&(to, kind)) = needs.get(*next) else {
                self.open[*node] = false;
                path.pop();
                let shorter = prefix.char_indices().rev().nth(3).map_or(0, |(at, _)| at);
                prefix.truncate(shorter);
                continue;
            };
            *next += 1;
            let last = *next == needs.len();
            self.text += &prefix;
            self.text += if last { "└── " } else { "├── " };
            if self.line(to, kind) {
                prefix += if last { "    " } else { "│   " };
                path.push((to, 0));
            }
        }
    }

    /// Writes the line of a node. Returns whether the nodes that it needs must follow.
    fn line(&mut self, i: usize, kind: EdgeKind) -> bool {
        let node = &self.graph.nodes[i];
        if !kind.label().is_empty() {
            self.text += kind.label();
            self.text.push(' ');
        }
        self.text += &shown(&node.label);
        let first = !self.shown[i];
        if first {
            self.text += &remarks(node);
        }
        let follow = first && !self.needs[i].is_empty();
        if self.open[i] {
            self.text += " (cycle)";
        } else if !first && !self.needs[i].is_empty() {
            self.text += " (*)";
        }
        self.text.push('\n');
        self.shown[i] = true;
        self.open[i] |= follow;
        follow
    }
}

/// Returns the remarks after a node's label.
fn remarks(node: &Node) -> String {
    let mut all: Vec<String> = node.kind.remark().map(str::to_owned).into_iter().collect();
    all.extend(node.notes.iter().map(|note| shown(note)));
    if all.is_empty() {
        String::new()
    } else {
        format!("  ({})", all.join("; "))
    }
}
