//! Renders graphs in Mermaid, which GitHub and others draw inside Markdown.

use super::text::shown;
use super::{EdgeKind, Graph, NodeKind};

/// Renders the graph as a Mermaid flowchart.
pub fn render(graph: &Graph) -> String {
    let title = yaml(&graph.title);
    let mut text = format!("---\ntitle: \"{title}\"\n---\nflowchart LR\n");
    for (i, node) in graph.nodes.iter().enumerate() {
        let lines: Vec<String> = std::iter::once(&node.label)
            .chain(&node.notes)
            .map(|line| escaped(line))
            .collect();
        let (open, close) = shape(node.kind);
        text += &format!(
            "  n{i}{open}\"{}\"{close}:::{}\n",
            lines.join("<br>"),
            node.kind.name()
        );
    }
    for e in graph.sound_edges() {
        let (tail, head) = if e.kind.points_at_user() {
            (e.to, e.from)
        } else {
            (e.from, e.to)
        };
        let arrow = match e.kind {
            EdgeKind::Differentiates => "-. differentiates .->",
            EdgeKind::Calls | EdgeKind::Needs => "-->",
        };
        text += &format!("  n{tail} {arrow} n{head}\n");
    }
    for kind in NodeKind::ALL {
        if graph.nodes.iter().any(|node| node.kind == kind) {
            text += &format!("  classDef {} {}\n", kind.name(), style(kind));
        }
    }
    text
}

fn shape(kind: NodeKind) -> (&'static str, &'static str) {
    match kind {
        NodeKind::MainProgram | NodeKind::Archive | NodeKind::Bind => ("([", "])"),
        NodeKind::Derivative | NodeKind::Request => ("(", ")"),
        _ => ("[", "]"),
    }
}

/// Returns the colours of a node. Text colours are given together with fills because pages may be light or
/// dark.
fn style(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::MainProgram | NodeKind::Archive => "fill:#f7d794,stroke:#b8860b,color:#000",
        NodeKind::Subprogram | NodeKind::Parse => "fill:#dfe6ee,stroke:#64748b,color:#000",
        NodeKind::External => "fill:#f5f5f5,stroke:#999,color:#000,stroke-dasharray:4",
        NodeKind::Derivative | NodeKind::Request => "fill:#c8e6c9,stroke:#2e7d32,color:#000",
        NodeKind::Lower => "fill:#d1e3ff,stroke:#1e60c9,color:#000",
        NodeKind::Generate => "fill:#e4d7f5,stroke:#7b4fb5,color:#000",
        NodeKind::Compile => "fill:#ffd6c2,stroke:#c2410c,color:#000",
        NodeKind::Bind => "fill:#f6c9d8,stroke:#b0305f,color:#000",
    }
}

/// Escapes text between double quotes. Mermaid interprets quotes, entities, Markdown, HTML and even
/// directives (`%%{…}%%`) in labels, so everything but letters, digits and harmless characters is written as
/// the numbers that it understands.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in shown(text).chars() {
        let plain = c.is_alphanumeric() || " .,:_-+=/()".contains(c);
        if plain {
            out.push(c);
        } else {
            out += &format!("#{};", u32::from(c));
        }
    }
    out
}

/// Escapes text between the double quotes of YAML, which knows these escapes; also avoids directives. Mermaid
/// reads titles as HTML, but without entities.
fn yaml(text: &str) -> String {
    let mut out = String::new();
    let harmless = text.replace(['<', '>', '&'], "_");
    for c in shown(&harmless).chars() {
        match c {
            '\\' | '"' | '%' | '{' | '}' => out += &format!("\\x{:02x}", u32::from(c)),
            c => out.push(c),
        }
    }
    out
}
