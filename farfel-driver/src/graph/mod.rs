//! The plan and the call graph, to be looked at.
//!
//! A [`Graph`] is data; [`tree`], [`mermaid`] and [`dot`] write it as text, and the command
//! draws it; [`groups`] says what a page of a large one shows as one box. The texts depend on the graph alone: the same graph gives the same bytes
//! everywhere.
//!
//! ```
//! use farfel_driver::graph::{Edge, EdgeKind, Graph, Node, NodeKind, tree};
//!
//! let node = |id: &str, kind| Node {
//!     id: id.into(),
//!     label: id.into(),
//!     kind,
//!     notes: Vec::new(),
//!     place: None,
//! };
//! let graph = Graph {
//!     title: "calls".into(),
//!     nodes: vec![
//!         node("MAIN", NodeKind::MainProgram),
//!         node("F", NodeKind::Subprogram),
//!     ],
//!     edges: vec![Edge {
//!         from: 0,
//!         to: 1,
//!         kind: EdgeKind::Calls,
//!     }],
//! };
//! assert_eq!(tree::render(&graph), "MAIN  (main program)\n└── F\n");
//! ```

pub(crate) mod calls;
pub mod dot;
pub mod groups;
pub mod mermaid;
pub mod text;
pub mod tree;

#[cfg(test)]
mod tests;

use farfel_lang::{Sources, Span};
use std::collections::{BTreeSet, HashMap};

/// Things and what they need of each other.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Graph {
    /// What it is a graph of.
    pub title: String,
    /// The things, in an order that is the same on every machine.
    pub nodes: Vec<Node>,
    /// What they need: from the one that needs to the one that is needed, in the order in
    /// which they are shown.
    pub edges: Vec<Edge>,
}

/// A subprogram, or a step of the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its name among the nodes: no other one has it, and it stays from build to build.
    pub id: String,
    /// What people read.
    pub label: String,
    /// What it is.
    pub kind: NodeKind,
    /// What there is to know besides: `run 3 of 5`, the short hash of a step.
    pub notes: Vec<String>,
    /// Where it stands in the sources; nothing for what no line stands for.
    pub place: Option<Place>,
}

/// A line of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file, as it is shown to people.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The file as a link from where the graph is written: see [`Graph::link`].
    pub link: Option<String>,
}

impl Place {
    /// Where a span begins; nothing for [`Span::NONE`].
    pub(crate) fn of(span: Span, sources: &Sources) -> Option<Place> {
        let file = sources.get(span.file)?;
        Some(Place {
            file: file.name.clone(),
            line: file.line_column(span.start).line,
            link: None,
        })
    }

    /// The link, with the line: browsers of repositories go there, others to the file.
    pub fn address(&self) -> Option<String> {
        let link = self.link.as_ref()?;
        Some(format!("{link}#L{}", self.line))
    }
}

/// What one node needs of another. Edges that point at no node are not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Edge {
    /// The position of the one that needs.
    pub from: usize,
    /// The position of the one that is needed.
    pub to: usize,
    /// What for.
    pub kind: EdgeKind,
}

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NodeKind {
    /// A main program.
    MainProgram,
    /// A function or subroutine of the program.
    Subprogram,
    /// A procedure that the program calls and does not have.
    External,
    /// What an AD tool makes.
    Derivative,
    /// Step: a source file becomes a part of the program.
    Parse,
    /// Step: the program is lowered, which finds the derivatives that are needed.
    Lower,
    /// Step: the AD tool makes one derivative.
    Request,
    /// Step: Fortran is written.
    Generate,
    /// Step: gfortran compiles.
    Compile,
    /// Step: object files become the library.
    Archive,
    /// Step: the functions for Rust are written.
    Bind,
}

impl NodeKind {
    /// All kinds.
    pub const ALL: [NodeKind; 11] = [
        NodeKind::MainProgram,
        NodeKind::Subprogram,
        NodeKind::External,
        NodeKind::Derivative,
        NodeKind::Parse,
        NodeKind::Lower,
        NodeKind::Request,
        NodeKind::Generate,
        NodeKind::Compile,
        NodeKind::Archive,
        NodeKind::Bind,
    ];

    /// Its name: one word in small letters, also that of a class in drawings.
    pub fn name(self) -> &'static str {
        match self {
            NodeKind::MainProgram => "main",
            NodeKind::Subprogram => "subprogram",
            NodeKind::External => "external",
            NodeKind::Derivative => "derivative",
            NodeKind::Parse => "parse",
            NodeKind::Lower => "lower",
            NodeKind::Request => "request",
            NodeKind::Generate => "generate",
            NodeKind::Compile => "compile",
            NodeKind::Archive => "archive",
            NodeKind::Bind => "bind",
        }
    }

    /// What stands behind the label where colours cannot tell; nothing for the commonest.
    fn remark(self) -> Option<&'static str> {
        match self {
            NodeKind::MainProgram => Some("main program"),
            NodeKind::External => Some("external"),
            // Derivatives say so in their notes, steps in their labels.
            _ => None,
        }
    }
}

/// What a node needs another one for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EdgeKind {
    /// It calls it, or passes it on.
    Calls,
    /// It is the derivative of it.
    Differentiates,
    /// It is a step that reads what the other one makes.
    Needs,
}

impl EdgeKind {
    /// What is said along the edge; nothing where it goes without saying.
    pub fn label(self) -> &'static str {
        match self {
            EdgeKind::Differentiates => "differentiates",
            EdgeKind::Calls | EdgeKind::Needs => "",
        }
    }

    /// Which end an arrow points at in a drawing: that of a call is what is called, that of
    /// data is the step that reads them.
    pub fn points_at_user(self) -> bool {
        self == EdgeKind::Needs
    }
}

impl Graph {
    /// Links the places to their files. `address` is asked once for each file; it returns nothing for what is no
    /// file that a reader could open.
    pub fn link(&mut self, mut address: impl FnMut(&str) -> Option<String>) {
        let mut known: HashMap<String, Option<String>> = HashMap::new();
        for place in self.nodes.iter_mut().filter_map(|n| n.place.as_mut()) {
            let link = known.entry(place.file.clone());
            place.link = link.or_insert_with(|| address(&place.file)).clone();
        }
    }

    /// The edges that point at nodes, each once, in order.
    pub fn sound_edges(&self) -> Vec<Edge> {
        let mut seen = std::collections::HashSet::new();
        let inside = |e: &&Edge| e.from < self.nodes.len() && e.to < self.nodes.len();
        self.edges
            .iter()
            .filter(inside)
            .filter(|e| seen.insert(**e))
            .copied()
            .collect()
    }

    /// For each node what it needs, in order.
    fn needs(&self) -> Vec<Vec<(usize, EdgeKind)>> {
        let mut needs = vec![Vec::new(); self.nodes.len()];
        for e in self.sound_edges() {
            needs[e.from].push((e.to, e.kind));
        }
        needs
    }

    /// The part of the graph that nodes with these labels need, or ids, in any case. `Err`
    /// has the first name that no node has.
    ///
    /// # Errors
    ///
    /// A name is not in the graph.
    pub fn below(&self, names: &[String]) -> Result<Graph, String> {
        let mut open = Vec::new();
        for name in names {
            let of_that_name = |node: &Node| {
                node.label.eq_ignore_ascii_case(name) || node.id.eq_ignore_ascii_case(name)
            };
            let found: Vec<usize> = (0..self.nodes.len())
                .filter(|i| of_that_name(&self.nodes[*i]))
                .collect();
            if found.is_empty() {
                return Err(name.clone());
            }
            open.extend(found);
        }
        let needs = self.needs();
        let mut kept = BTreeSet::new();
        while let Some(i) = open.pop() {
            if kept.insert(i) {
                open.extend(needs[i].iter().map(|(to, _)| *to));
            }
        }
        let place: HashMap<usize, usize> = kept.iter().enumerate().map(|(k, i)| (*i, k)).collect();
        let edges = self.sound_edges().into_iter().filter_map(|e| {
            Some(Edge {
                from: *place.get(&e.from)?,
                to: *place.get(&e.to)?,
                kind: e.kind,
            })
        });
        Ok(Graph {
            title: self.title.clone(),
            edges: edges.collect(),
            nodes: kept.iter().map(|i| self.nodes[*i].clone()).collect(),
        })
    }
}
