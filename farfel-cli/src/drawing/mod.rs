//! Graphs as SVG, without external programs.

mod layout;
pub mod page;

use std::fmt::Write as _;

use farfel_driver::graph::text::{shown, xml};
use farfel_driver::graph::{EdgeKind, Graph, Node, NodeKind, SourceLine};

/// The width of a character, which is that of any monospaced font of this size.
const LETTER: f64 = 7.8;
const SMALL_LETTER: f64 = 6.6;
const MARGIN: f64 = 24.0;
/// The maximum length of a label; longer ones are cut, with the full text in the tooltip.
const MOST_LETTERS: usize = 72;

/// Returns the graph as a drawing with arrows to the right, or downwards if that would be too wide. The text
/// is the same on every machine, and follows the light or dark mode of the page in which it is shown.
pub fn svg(graph: &Graph) -> String {
    let sizes: Vec<(f64, f64)> = graph.nodes.iter().map(size).collect();
    let edges = graph.sound_edges();
    let ends: Vec<(usize, usize)> = edges
        .iter()
        .map(|e| match e.kind.points_at_user() {
            true => (e.to, e.from),
            false => (e.from, e.to),
        })
        .collect();
    let layout = layout::layout(&sizes, &ends);
    let kinds: Vec<NodeKind> = NodeKind::ALL
        .into_iter()
        .filter(|kind| graph.nodes.iter().any(|node| node.kind == *kind))
        .collect();

    let top = MARGIN + 28.0;
    let legend = kinds
        .iter()
        .map(|k| legend_width(*k))
        .sum::<f64>()
        .max(letters(&graph.title) * 9.0);
    let width = layout.size.0.max(legend) + 2.0 * MARGIN;
    let height = top + layout.size.1 + 56.0;
    let title = xml(&graph.title);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" aria-label=\"{title}\">\n\
         <title>{title}</title>\n{STYLE}\
         <rect class=\"page\" width=\"100%\" height=\"100%\"/>\n\
         <text class=\"title\" x=\"{MARGIN:.0}\" y=\"{MARGIN:.0}\" dy=\"6\">{title}</text>\n\
         <g transform=\"translate({MARGIN:.0} {top:.0})\">\n"
    );
    for ((edge, (tail, head)), path) in edges.iter().zip(&ends).zip(&layout.edges) {
        let d = match path.as_slice() {
            [] => round_about(layout.nodes[*tail], sizes[*tail]),
            path => curve(path, layout.downwards),
        };
        let class = match edge.kind {
            EdgeKind::Calls => "edge",
            EdgeKind::Differentiates => "edge differentiates",
            EdgeKind::Needs => "edge needs",
        };
        let names = [*tail, *head].map(|i| xml(&graph.nodes[i].label));
        let _ = writeln!(
            out,
            "<path class=\"{class}\" d=\"{d}\" marker-end=\"url(#arrow)\">\
             <title>{} → {}</title></path>",
            names[0], names[1]
        );
    }
    for ((node, place), size) in graph.nodes.iter().zip(&layout.nodes).zip(&sizes) {
        box_of(&mut out, node, *place, *size);
    }
    out += "</g>\n";
    key(&mut out, &kinds, &edges, top + layout.size.1 + 30.0);
    out + "</svg>\n"
}

/// Fixed colours with enough contrast in light and dark mode; a viewer without media queries shows the light
/// ones.
const STYLE: &str = "<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" \
markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path class=\"head\" \
d=\"M0 0.5L8 4L0 7.5Z\"/></marker></defs>
<style>
.page{fill:#fff}
text{font:13px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#111}
.title{font-size:15px;font-weight:600}
.note{font-size:11px;fill:#444}
.box{stroke-width:1.2;fill:#eef2f7;stroke:#64748b}
.main .box,.archive .box{fill:#fdf0cf;stroke:#a16207}
.external .box{fill:#fff;stroke:#777;stroke-dasharray:4 3}
.derivative .box,.request .box{fill:#ddf3de;stroke:#2e7d32}
.lower .box{fill:#dfeaff;stroke:#1e60c9}
.generate .box{fill:#ede4fa;stroke:#7b4fb5}
.compile .box{fill:#ffe4d6;stroke:#c2410c}
.bind .box{fill:#fbe0e9;stroke:#b0305f}
.edge{fill:none;stroke:#64748b;stroke-width:1.2}
.differentiates{stroke:#2e7d32;stroke-dasharray:6 3}
a:hover .box{stroke-width:2.5}
.edge:hover{stroke:#d00;stroke-width:2.5}
.head{fill:#475569}
@media (prefers-color-scheme:dark){
.page{fill:#16181d}
text{fill:#eee}
.note{fill:#bbb}
.box{fill:#2a2f3a;stroke:#8b98ad}
.main .box,.archive .box{fill:#4a3a10;stroke:#e0b64f}
.external .box{fill:#16181d;stroke:#999}
.derivative .box,.request .box{fill:#1d3d22;stroke:#7cc685}
.lower .box{fill:#1b3158;stroke:#7aa7f5}
.generate .box{fill:#3a2a55;stroke:#b996e8}
.compile .box{fill:#55290f;stroke:#f5935c}
.bind .box{fill:#4d1c30;stroke:#ef87ad}
.edge{stroke:#8b98ad}
.differentiates{stroke:#7cc685}
.head{fill:#a9b4c6}
}
</style>
";

/// Returns the width of a text in characters: East Asian ones count twice.
fn letters(text: &str) -> f64 {
    text.chars()
        .map(|c| if c >= '\u{1100}' { 2.0 } else { 1.0 })
        .sum()
}

fn cut(text: &str) -> String {
    let text = shown(text);
    if text.chars().count() <= MOST_LETTERS {
        return text;
    }
    let kept: String = text.chars().take(MOST_LETTERS - 1).collect();
    kept + "…"
}

fn size(node: &Node) -> (f64, f64) {
    let label = letters(&cut(&node.label)) * LETTER;
    let notes = node
        .notes
        .iter()
        .map(|note| letters(&cut(note)) * SMALL_LETTER);
    let width = notes.fold(label, f64::max) + 20.0;
    (width.ceil(), 26.0 + 14.0 * node.notes.len() as f64)
}

fn box_of(out: &mut String, node: &Node, (x, y): (f64, f64), (w, h): (f64, f64)) {
    let round = match node.kind {
        NodeKind::Derivative | NodeKind::Request => 10,
        NodeKind::MainProgram | NodeKind::Archive | NodeKind::Bind => 6,
        _ => 2,
    };
    let whole: Vec<&str> = std::iter::once(&node.label)
        .chain(&node.notes)
        .map(String::as_str)
        .collect();
    let link = node.place.as_ref().and_then(SourceLine::address);
    if let Some(link) = &link {
        let _ = write!(out, "<a href=\"{}\">", xml(link));
    }
    let _ = write!(
        out,
        "<g class=\"{}\"><title>{}</title>\
         <rect class=\"box\" x=\"{x:.0}\" y=\"{y:.0}\" width=\"{w:.0}\" height=\"{h:.0}\" \
         rx=\"{round}\"/><text x=\"{:.0}\" y=\"{:.0}\">{}</text>",
        node.kind.name(),
        xml(&whole.join("; ")),
        x + 10.0,
        y + 17.0,
        xml(&cut(&node.label)),
    );
    for (i, note) in node.notes.iter().enumerate() {
        let _ = write!(
            out,
            "<text class=\"note\" x=\"{:.0}\" y=\"{:.0}\">{}</text>",
            x + 10.0,
            y + 32.0 + 14.0 * i as f64,
            xml(&cut(note))
        );
    }
    *out += match link {
        Some(_) => "</g></a>\n",
        None => "</g>\n",
    };
}

/// Returns a curve that has the direction of the edges at every point, so that it leaves and reaches nodes at
/// a right angle.
fn curve(path: &[(f64, f64)], downwards: bool) -> String {
    let mut d = String::new();
    for (i, (x, y)) in path.iter().enumerate() {
        let _ = match i {
            0 => write!(d, "M{x:.0} {y:.0}"),
            // Straight across a column.
            i if i % 2 == 0 => write!(d, "L{x:.0} {y:.0}"),
            _ => {
                let (u, v) = path[i - 1];
                if downwards {
                    let middle = (v + y) / 2.0;
                    write!(d, "C{u:.0} {middle:.0} {x:.0} {middle:.0} {x:.0} {y:.0}")
                } else {
                    let middle = (u + x) / 2.0;
                    write!(d, "C{middle:.0} {v:.0} {middle:.0} {y:.0} {x:.0} {y:.0}")
                }
            }
        };
    }
    d
}

/// Returns a loop from a node to itself: out on the right, over it, and in on the left.
fn round_about((x, y): (f64, f64), (w, h): (f64, f64)) -> String {
    let (right, middle, over) = (x + w, y + h / 2.0, y - 9.0);
    format!(
        "M{right:.0} {middle:.0}C{:.0} {middle:.0} {:.0} {over:.0} {:.0} {over:.0}\
         L{:.0} {over:.0}C{:.0} {over:.0} {:.0} {middle:.0} {x:.0} {middle:.0}",
        right + 18.0,
        right + 18.0,
        right - 4.0,
        x + 4.0,
        x - 18.0,
        x - 18.0
    )
}

fn legend_width(kind: NodeKind) -> f64 {
    letters(describe_kind(kind)) * SMALL_LETTER + 40.0
}

/// Returns the text for the legend.
fn describe_kind(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::MainProgram => "main program",
        NodeKind::Subprogram => "subprogram",
        NodeKind::External => "external procedure",
        NodeKind::Derivative => "derivative",
        NodeKind::Request => "differentiate",
        step => step.name(),
    }
}

fn key(out: &mut String, kinds: &[NodeKind], edges: &[farfel_driver::graph::Edge], y: f64) {
    let mut x = MARGIN;
    for kind in kinds {
        let _ = writeln!(
            out,
            "<g class=\"{}\"><rect class=\"box\" x=\"{x:.0}\" y=\"{:.0}\" width=\"16\" height=\"12\" \
             rx=\"2\"/><text class=\"note\" x=\"{:.0}\" y=\"{:.0}\">{}</text></g>",
            kind.name(),
            y - 10.0,
            x + 22.0,
            y,
            describe_kind(*kind)
        );
        x += legend_width(*kind);
    }
    if edges.iter().any(|e| e.kind == EdgeKind::Differentiates) {
        let _ = writeln!(
            out,
            "<path class=\"edge differentiates\" d=\"M{MARGIN:.0} {:.0}h30\"/>\
             <text class=\"note\" x=\"{:.0}\" y=\"{:.0}\">is the derivative of</text>",
            y + 12.0,
            MARGIN + 36.0,
            y + 16.0
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfel_driver::graph::Edge;

    fn graph(labels: &[&str], edges: &[(usize, usize)]) -> Graph {
        Graph {
            title: labels.first().unwrap_or(&"nothing").to_string(),
            nodes: labels
                .iter()
                .enumerate()
                .map(|(i, label)| Node {
                    id: format!("{i}"),
                    label: (*label).to_owned(),
                    kind: NodeKind::ALL[i % NodeKind::ALL.len()],
                    notes: vec![(*label).to_owned()],
                    place: None,
                })
                .collect(),
            edges: edges
                .iter()
                .map(|(from, to)| Edge {
                    from: *from,
                    to: *to,
                    kind: EdgeKind::Calls,
                })
                .collect(),
        }
    }

    /// Returns every text of the drawing, as an XML parser reads it.
    fn texts(svg: &str) -> Vec<String> {
        let document = roxmltree::Document::parse(svg).unwrap();
        let all = document.descendants().filter(|n| n.has_tag_name("text"));
        all.map(|n| n.text().unwrap_or_default().to_owned())
            .collect()
    }

    #[test]
    fn hostile_names_stay_text() {
        let long = "x".repeat(500);
        let names = [
            "</text><script>alert(1)</script>",
            "\"><a href='x'>&amp;",
            "]]>\u{0}\u{1b}[2J\u{fffe}\u{202e}\r\n",
            "",
            "größe 数",
            &long,
        ];
        let graph = graph(&names, &[(0, 1), (1, 1), (2, 0), (0, 2)]);
        let svg = svg(&graph);
        let found = texts(&svg);
        assert!(found.contains(&names[0].to_owned()));
        assert!(found.contains(&names[1].to_owned()));
        assert!(found.contains(&"]]>\\u{0}\\u{1b}[2J\\u{fffe}\\u{202e}\\u{d}\\u{a}".to_owned()));
        assert!(!svg.contains("<script"), "{svg}");
        assert!(
            found
                .iter()
                .all(|text| text.chars().count() <= MOST_LETTERS)
        );
        let whole = roxmltree::Document::parse(&svg).unwrap();
        let titles = whole.descendants().filter(|n| n.has_tag_name("title"));
        assert!(titles.filter_map(|t| t.text()).any(|t| t.contains(&long)));
    }

    #[test]
    fn every_node_and_edge_is_drawn_inside() {
        let graph = graph(
            &["A", "B", "C", "D"],
            &[(0, 1), (1, 2), (2, 0), (3, 3), (0, 2)],
        );
        let svg = svg(&graph);
        let document = roxmltree::Document::parse(&svg).unwrap();
        let number = |n: roxmltree::Node, name: &str| -> f64 {
            n.attribute(name).and_then(|v| v.parse().ok()).unwrap()
        };
        let root = document.root_element();
        let size = (number(root, "width"), number(root, "height"));
        let boxes: Vec<_> = root
            .descendants()
            .filter(|n| n.attribute("class") == Some("box") && n.attribute("x").is_some())
            .collect();
        // Four nodes, and the four kinds in the legend.
        assert_eq!(boxes.len(), 8);
        for b in boxes {
            assert!(number(b, "x") + number(b, "width") <= size.0);
            assert!(number(b, "y") + number(b, "height") <= size.1);
        }
        let edges = root
            .descendants()
            .filter(|n| n.attribute("marker-end").is_some());
        assert_eq!(edges.count(), 5);
        assert_eq!(svg, super::svg(&graph));
    }

    #[test]
    fn no_node_at_all() {
        assert_eq!(texts(&svg(&graph(&[], &[]))), ["nothing"]);
    }

    /// A thousand nodes, each of which calls three: well below the limit of two seconds, even without
    /// optimisation.
    #[test]
    fn a_thousand_nodes() {
        let labels: Vec<String> = (0..1000).map(|i| format!("SUBROUTINE_{i}")).collect();
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        let edges: Vec<(usize, usize)> = (0..1000)
            .flat_map(|i| [1, 7, 61].map(|k| (i, (i * k + k) % 1000)))
            .collect();
        let graph = graph(&labels, &edges);
        let since = std::time::Instant::now();
        let svg = svg(&graph);
        assert!(since.elapsed().as_secs_f64() < 2.0, "{:?}", since.elapsed());
        assert_eq!(svg.matches("marker-end").count(), graph.sound_edges().len());
    }
}
