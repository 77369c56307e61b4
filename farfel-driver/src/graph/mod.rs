//! The plan and the call graph, for display.
//!
//! A [`Graph`] is data; [`tree`], [`mermaid`] and [`dot`] render it as text, and the command draws it;
//! [`groups`] decides which nodes of a large graph a page shows as one box. The texts depend only on the
//! graph: the same graph gives the same bytes everywhere.
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

/// A graph of things and their dependencies.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Graph {
    /// What it is a graph of.
    pub title: String,
    /// The nodes, in an order that is the same on every machine.
    pub nodes: Vec<Node>,
    /// The dependencies, each from a node to another one that it needs, in the order in which they are shown.
    pub edges: Vec<Edge>,
}

/// A subprogram, or a step of the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its unique name among the nodes, which stays the same from build to build.
    pub id: String,
    /// The text shown to people.
    pub label: String,
    /// The kind of node.
    pub kind: NodeKind,
    /// Further information: `run 3 of 5`, the short hash of a step.
    pub notes: Vec<String>,
    /// Its place in the sources; `None` if there is no corresponding line.
    pub place: Option<SourceLine>,
}

/// A line of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceLine {
    /// The file's name as shown to people.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The file as a link relative to the place where the graph is written: see [`Graph::link`].
    pub link: Option<String>,
}

impl SourceLine {
    /// Returns the beginning of a span; `None` for [`Span::NONE`].
    pub(crate) fn of(span: Span, sources: &Sources) -> Option<SourceLine> {
        let file = sources.get(span.file)?;
        Some(SourceLine {
            file: file.name.clone(),
            line: file.line_column(span.start).line,
            link: None,
        })
    }

    /// Returns the link with the line number: repository browsers go to the line, other programs to the file.
    pub fn address(&self) -> Option<String> {
        let link = self.link.as_ref()?;
        Some(format!("{link}#L{}", self.line))
    }
}

/// A dependency between two nodes. Edges to or from nodes that do not exist are not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Edge {
    /// The index of the node that needs the other one.
    pub from: usize,
    /// The index of the node that is needed.
    pub to: usize,
    /// The kind of dependency.
    pub kind: EdgeKind,
}

/// The kind of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NodeKind {
    /// A main program.
    MainProgram,
    /// A function or subroutine of the program.
    Subprogram,
    /// A procedure that the program calls but does not define.
    External,
    /// The result of an AD tool.
    Derivative,
    /// Step: parse a source file.
    Parse,
    /// Step: lower the program, which determines the derivatives that are needed.
    Lower,
    /// Step: run the AD tool for one derivative.
    Request,
    /// Step: write Fortran.
    Generate,
    /// Step: compile with gfortran.
    Compile,
    /// Step: archive object files as a library.
    Archive,
    /// Step: write the Rust functions.
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

    /// Returns the kind's name: one word in lower case, which is also the name of its class in drawings.
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

    /// Returns the remark after the label in output without colours; `None` for the most common kinds.
    fn remark(self) -> Option<&'static str> {
        match self {
            NodeKind::MainProgram => Some("main program"),
            NodeKind::External => Some("external"),
            // Derivatives are recognizable by their notes, steps by their labels.
            _ => None,
        }
    }
}

/// The kind of a dependency between nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EdgeKind {
    /// The node calls the other one, or passes it on.
    Calls,
    /// The node is the derivative of the other one.
    Differentiates,
    /// The node is a step that reads the result of the other one.
    Needs,
}

impl EdgeKind {
    /// Returns the label of the edge; empty if it is obvious.
    pub fn label(self) -> &'static str {
        match self {
            EdgeKind::Differentiates => "differentiates",
            EdgeKind::Calls | EdgeKind::Needs => "",
        }
    }

    /// Whether an arrow in a drawing points at the node that needs the other one. A call points at what is
    /// called, but data flow to the step that reads them.
    pub fn points_at_user(self) -> bool {
        self == EdgeKind::Needs
    }
}

impl Graph {
    /// Links the places to their files. `address` is called once for each file; it returns `None` for a file
    /// that a reader cannot open.
    pub fn link(&mut self, mut address: impl FnMut(&str) -> Option<String>) {
        let mut known: HashMap<String, Option<String>> = HashMap::new();
        for place in self.nodes.iter_mut().filter_map(|n| n.place.as_mut()) {
            let link = known.entry(place.file.clone());
            place.link = link.or_insert_with(|| address(&place.file)).clone();
        }
    }

    /// Returns the edges between existing nodes, without duplicates, in order.
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

    /// Returns for each node the nodes that it needs, in order.
    fn needs(&self) -> Vec<Vec<(usize, EdgeKind)>> {
        let mut needs = vec![Vec::new(); self.nodes.len()];
        for e in self.sound_edges() {
            needs[e.from].push((e.to, e.kind));
        }
        needs
    }

    /// Returns the part of the graph needed by the nodes with these labels or ids, in upper or lower case.
    ///
    /// # Errors
    ///
    /// The first name that is not in the graph.
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
