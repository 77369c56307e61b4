//! The page of `farfel graph --format html`: a graph in groups that can be opened, searched and followed.
//!
//! The page contains nodes, edges and groups as JSON; a script draws the groups that are open. So a program
//! with thousands of subprograms is a page that opens at once, and shows only what the user asks for.

use std::collections::BTreeMap;

use farfel_driver::graph::groups::{self, Member};
use farfel_driver::graph::text::shown;
use farfel_driver::graph::{Edge, EdgeKind, Graph, NodeKind, SourceLine};
use minijinja::{Value, context};
use serde::Serialize;

use super::describe_kind;
use crate::error::Result;
use crate::pages;

/// The data for the script. Field names match `page.js`.
#[derive(Serialize)]
struct Data {
    /// Whether it is a build plan, whose edges are dependencies of steps, not calls.
    plan: bool,
    /// The name of each kind as a class, and as displayed text.
    kinds: Vec<(&'static str, &'static str)>,
    /// The name of each file, and its URL.
    files: Vec<(String, Option<String>)>,
    nodes: Vec<Node>,
    /// Edges (from, to): calls, or dependencies of steps.
    edges: Vec<(usize, usize)>,
    /// Edges from derivatives to the subprograms that they differentiate.
    derivatives: Vec<(usize, usize)>,
    members: Vec<Entry>,
}

#[derive(Serialize)]
struct Node {
    label: String,
    kind: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
}

/// A member of a group: the index of a node, or a group.
#[derive(Serialize)]
#[serde(untagged)]
enum Entry {
    Node(usize),
    Group {
        label: String,
        kind: &'static str,
        members: Vec<Entry>,
    },
}

/// Returns the graph as a self-contained page.
///
/// # Errors
///
/// None that depend on the contents.
pub fn page(graph: &Graph) -> Result<String> {
    let title = shown(&graph.title);
    let values = context! {
        style => Value::from_safe_string(include_str!("page.css").into()),
        layout => Value::from_safe_string(include_str!("layout.js").into()),
        script => Value::from_safe_string(include_str!("page.js").into()),
        data => Value::from_safe_string(pages::json(&Data::of(graph))?),
    };
    pages::page(&title, include_str!("page.html"), values)
}

impl Data {
    fn of(graph: &Graph) -> Data {
        let mut files = Files::default();
        let nodes: Vec<Node> = graph
            .nodes
            .iter()
            .map(|node| Node {
                label: shown(&node.label),
                kind: position(node.kind),
                notes: node.notes.iter().map(|note| shown(note)).collect(),
                file: node.place.as_ref().map(|place| files.number(place)),
                line: node.place.as_ref().map(|place| place.line),
            })
            .collect();
        let all = graph.sound_edges();
        let ends = |is_derivative: bool| {
            let of_kind = |e: &&Edge| (e.kind == EdgeKind::Differentiates) == is_derivative;
            all.iter().filter(of_kind).map(|e| (e.from, e.to)).collect()
        };
        Data {
            plan: all.iter().any(|e| e.kind.points_at_user()),
            kinds: NodeKind::ALL.map(|k| (k.name(), describe_kind(k))).to_vec(),
            files: files.all,
            nodes,
            edges: ends(false),
            derivatives: ends(true),
            members: entries(groups::members(graph)),
        }
    }
}

/// The files named so far, without duplicates.
#[derive(Default)]
struct Files {
    all: Vec<(String, Option<String>)>,
    numbers: BTreeMap<String, usize>,
}

impl Files {
    fn number(&mut self, place: &SourceLine) -> usize {
        if let Some(number) = self.numbers.get(&place.file) {
            return *number;
        }
        let number = self.all.len();
        self.all.push((shown(&place.file), place.link.clone()));
        self.numbers.insert(place.file.clone(), number);
        number
    }
}

fn position(kind: NodeKind) -> usize {
    let is_it = |k: &NodeKind| *k == kind;
    NodeKind::ALL.iter().position(is_it).unwrap_or_default()
}

fn entries(members: Vec<Member>) -> Vec<Entry> {
    let entry = |member| match member {
        Member::Node(i) => Entry::Node(i),
        Member::Group(group) => Entry::Group {
            label: shown(&group.label),
            kind: group.kind.name(),
            members: entries(group.members),
        },
    };
    members.into_iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfel_driver::graph::Node;

    #[test]
    fn hostile_names_stay_text() {
        let names = [
            "</script><script>alert(1)</script>",
            "<!--<script>",
            "{{ 7*7 }}",
            "a\u{1b}[2J\u{202e}\u{2028}\"\\",
        ];
        let node = |name: &&str| Node {
            id: (*name).to_owned(),
            label: (*name).to_owned(),
            kind: NodeKind::Subprogram,
            notes: vec![(*name).to_owned()],
            place: Some(SourceLine {
                file: (*name).to_owned(),
                line: 1,
                link: None,
            }),
        };
        let graph = Graph {
            title: names.join(" "),
            nodes: names.iter().map(node).collect(),
            edges: Vec::new(),
        };
        let page = page(&graph).unwrap();
        assert_eq!(page.matches("<script").count(), 2);
        assert_eq!(page.matches("</script>").count(), 2);
        assert!(!page.contains("<!--"));
        assert!(!page.contains(['\u{1b}', '\u{202e}', '\u{2028}']));
        assert!(page.contains("{{ 7*7 }}"), "it is no template");
        let (_, data) = page.split_once("id=\"data\">").unwrap();
        let (data, _) = data.split_once("</script>").unwrap();
        let data: serde_json::Value = serde_json::from_str(data).unwrap();
        for (i, name) in names.iter().enumerate() {
            let shown = shown(name);
            assert_eq!(data["nodes"][i]["label"], shown);
            assert_eq!(data["nodes"][i]["notes"][0], shown);
            assert_eq!(data["files"][i][0], shown);
        }
    }

    #[test]
    fn no_node_at_all() {
        let page = page(&Graph::default()).unwrap();
        assert!(page.contains("\"nodes\":[]"), "{page}");
    }
}
