//! Renders graphs in DOT, for Graphviz.

use super::text::shown;
use super::{EdgeKind, Graph, NodeKind, SourceLine};

/// Renders the graph in the language of Graphviz: `farfel graph --format dot | dot -Tpdf`.
pub fn render(graph: &Graph) -> String {
    let mut text = format!(
        "digraph farfel {{\n  label={}; labelloc=t; rankdir=LR;\n  \
         node [shape=box, style=\"rounded,filled\", fontname=\"monospace\", \
         color=\"#00000055\"];\n  edge [fontname=\"monospace\", fontsize=10, \
         color=\"#555555\"];\n",
        quoted(&graph.title)
    );
    for (i, node) in graph.nodes.iter().enumerate() {
        let lines: Vec<&str> = std::iter::once(&node.label)
            .chain(&node.notes)
            .map(String::as_str)
            .collect();
        let link = node.place.as_ref().and_then(SourceLine::address);
        let link = link.map(|link| format!(", URL={}", quoted(&link)));
        text += &format!(
            "  n{i} [label={}, fillcolor=\"{}\"{}];\n",
            joined(&lines),
            colour(node.kind),
            link.unwrap_or_default()
        );
    }
    for e in graph.sound_edges() {
        let (tail, head) = if e.kind.points_at_user() {
            (e.to, e.from)
        } else {
            (e.from, e.to)
        };
        let style = match e.kind {
            EdgeKind::Differentiates => " [style=dashed, label=\"differentiates\"]",
            EdgeKind::Calls | EdgeKind::Needs => "",
        };
        text += &format!("  n{tail} -> n{head}{style};\n");
    }
    text + "}\n"
}

fn colour(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::MainProgram => "#f7d794",
        NodeKind::Subprogram | NodeKind::Parse => "#dfe6ee",
        NodeKind::External => "#f5f5f5",
        NodeKind::Derivative | NodeKind::Request => "#c8e6c9",
        NodeKind::Lower => "#d1e3ff",
        NodeKind::Generate => "#e4d7f5",
        NodeKind::Compile => "#ffd6c2",
        NodeKind::Archive => "#f7d794",
        NodeKind::Bind => "#f6c9d8",
    }
}

fn quoted(text: &str) -> String {
    joined(&[text])
}

/// Joins lines to one DOT string.
fn joined(lines: &[&str]) -> String {
    let lines: Vec<String> = lines.iter().map(|line| escaped(line)).collect();
    format!("\"{}\"", lines.join("\\n"))
}

/// Escapes a label: Graphviz interprets `\` and, as in HTML, `&`.
fn escaped(text: &str) -> String {
    shown(text)
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('&', "&amp;")
}
