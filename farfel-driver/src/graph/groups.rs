//! Groups of nodes that a page shows as one box until it is opened: folders, files, names with a common
//! prefix.

use super::text::shown;
use super::{EdgeKind, Graph, NodeKind, SourceLine};
use std::collections::BTreeMap;

/// Graphs with at most this many nodes are shown whole.
pub const WHOLE: usize = 60;
/// The maximum number of boxes on one level: what fits on a screen and can be surveyed.
pub const MOST: usize = 40;
/// Groups of names of at most this size stay open if there is room: another box to click would hide more than
/// it tidies up.
const SMALL: usize = 3;
/// Names are divided by prefixes to this depth, and then by their order: each level costs a click.
const DEEPEST: usize = 12;

/// A box on one level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Member {
    /// The index of a node.
    Node(usize),
    /// A group that can be opened.
    Group(Group),
}

/// A group of nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The text shown to people.
    pub label: String,
    /// What its members have in common.
    pub kind: GroupKind,
    /// At least two members.
    pub members: Vec<Member>,
}

/// The common property of a group's members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupKind {
    /// The folder of their sources.
    Folder,
    /// Their source file.
    File,
    /// A common prefix of their names, or a range of the alphabet.
    Names,
    /// The kind of node.
    Kind,
}

impl GroupKind {
    /// Returns the kind's name: one word in lower case.
    pub fn name(self) -> &'static str {
        match self {
            GroupKind::Folder => "folder",
            GroupKind::File => "file",
            GroupKind::Names => "names",
            GroupKind::Kind => "kind",
        }
    }
}

/// Groups the nodes of a graph so that no level has more than [`MOST`] boxes: by kind of step, folder, file,
/// and prefixes of names. A derivative is beside the subprogram that it is the derivative of. Graphs of up to
/// [`WHOLE`] nodes have no groups.
pub fn members(graph: &Graph) -> Vec<Member> {
    if graph.nodes.len() <= WHOLE {
        return (0..graph.nodes.len()).map(Member::Node).collect();
    }
    let mut sections: BTreeMap<NodeKind, Vec<Part>> = BTreeMap::new();
    for part in families(graph) {
        let section = section(graph.nodes[part.first].kind);
        sections.entry(section).or_default().push(part);
    }
    let mut top = Vec::new();
    for (kind, parts) in sections {
        let of_calls = kind == NodeKind::Subprogram;
        let parts = by_place(graph, parts, 0);
        match parts.len() {
            0 | 1 => top.extend(parts),
            _ if of_calls => top.extend(parts),
            _ => top.push(Part::group(heading(kind), GroupKind::Kind, parts)),
        }
    }
    let mut members = flat(few(top, MOST, 0));
    // A level with a single group would cost a click for nothing.
    while let [Member::Group(group)] = members.as_mut_slice() {
        members = std::mem::take(&mut group.members);
    }
    members
}

/// Returns a representative of the kinds that are divided by folders together.
fn section(kind: NodeKind) -> NodeKind {
    match kind {
        NodeKind::MainProgram | NodeKind::Derivative => NodeKind::Subprogram,
        kind => kind,
    }
}

fn heading(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::External => "external procedures",
        NodeKind::Request => "differentiate",
        NodeKind::Generate => "write Fortran",
        kind => kind.name(),
    }
}

/// Members that stay together on a level.
struct Part {
    /// The label.
    label: String,
    /// The index of its first node.
    first: usize,
    members: Vec<Member>,
}

impl Part {
    fn group(label: impl Into<String>, kind: GroupKind, parts: Vec<Part>) -> Part {
        let label = label.into();
        Part {
            first: parts.first().map_or(0, |p| p.first),
            members: vec![Member::Group(Group {
                label: label.clone(),
                kind,
                members: flat(few(parts, MOST, 0)),
            })],
            label,
        }
    }

    fn is_folder(&self) -> bool {
        matches!(self.members.as_slice(), [Member::Group(g)] if g.kind == GroupKind::Folder)
    }
}

fn flat(parts: Vec<Part>) -> Vec<Member> {
    parts.into_iter().flat_map(|p| p.members).collect()
}

fn boxes(parts: &[Part]) -> usize {
    parts.iter().map(|p| p.members.len()).sum()
}

/// Returns each node that is not a derivative, followed by its derivatives.
fn families(graph: &Graph) -> Vec<Part> {
    let mut head: Vec<usize> = (0..graph.nodes.len()).collect();
    for e in graph.sound_edges() {
        // Otherwise two nodes that claim to be derivatives of each other would be in no family.
        let is_of_another = graph.nodes[e.to].kind != NodeKind::Derivative;
        if e.kind == EdgeKind::Differentiates && is_of_another {
            head[e.from] = e.to;
        }
    }
    let mut derivatives: BTreeMap<usize, Vec<Member>> = BTreeMap::new();
    for (i, head) in head.iter().enumerate().filter(|(i, head)| i != *head) {
        derivatives.entry(*head).or_default().push(Member::Node(i));
    }
    let heads = (0..graph.nodes.len()).filter(|i| head[*i] == *i);
    heads
        .map(|first| {
            let mut members = vec![Member::Node(first)];
            members.extend(derivatives.remove(&first).unwrap_or_default());
            Part {
                label: shown(&graph.nodes[first].label),
                first,
                members,
            }
        })
        .collect()
}

/// Groups parts by folders, then by files, followed by parts that are alone in their files or have no file.
/// All parts are below the same folder, given by the first `depth` components of their paths.
fn by_place(graph: &Graph, parts: Vec<Part>, depth: usize) -> Vec<Part> {
    let mut folders: BTreeMap<String, Vec<Part>> = BTreeMap::new();
    let mut files: BTreeMap<String, Vec<Part>> = BTreeMap::new();
    let mut alone = Vec::new();
    for part in parts {
        let place: Option<&SourceLine> = graph.nodes[part.first].place.as_ref();
        let mut names = place.map_or("", |p| &p.file).split('/').skip(depth);
        match (names.next(), names.next()) {
            (Some(folder), Some(_)) => folders.entry(folder.into()).or_default().push(part),
            (Some(file), None) if place.is_some() => {
                files.entry(file.into()).or_default().push(part);
            }
            _ => alone.push(part),
        }
    }
    let folders = folders.into_iter().map(|(name, parts)| {
        let inside = by_place(graph, parts, depth + 1);
        named(&shown(&name), GroupKind::Folder, inside)
    });
    let files = files.into_iter().map(|(name, parts)| match parts.len() {
        1 => parts,
        _ => vec![Part::group(shown(&name), GroupKind::File, parts)],
    });
    let mut all: Vec<Part> = folders.chain(files).flatten().collect();
    all.extend(alone);
    all
}

/// Groups parts under a name. If there is only a single group, it is merged with the new one.
fn named(name: &str, kind: GroupKind, mut parts: Vec<Part>) -> Vec<Part> {
    let [only] = parts.as_mut_slice() else {
        return vec![Part::group(format!("{name}/"), kind, parts)];
    };
    if let [Member::Group(group)] = only.members.as_mut_slice() {
        group.label = format!("{name}/{}", group.label);
        only.label.clone_from(&group.label);
    }
    parts
}

/// Groups parts into at most `most` boxes.
fn few(parts: Vec<Part>, most: usize, depth: usize) -> Vec<Part> {
    if boxes(&parts) <= most {
        return parts;
    }
    // Folders say more than prefixes, as long as there are not too many.
    let (folders, rest): (Vec<Part>, Vec<Part>) = parts.into_iter().partition(Part::is_folder);
    if folders.is_empty() || folders.len() > most / 2 {
        let all = folders.into_iter().chain(rest).collect();
        return by_names(all, most, depth);
    }
    let room = most - folders.len();
    folders
        .into_iter()
        .chain(by_names(rest, room, depth))
        .collect()
}

/// Groups parts by prefixes of their names.
fn by_names(mut parts: Vec<Part>, most: usize, depth: usize) -> Vec<Part> {
    let key = |part: &Part| part.label.to_ascii_uppercase();
    parts.sort_by_cached_key(key);
    let alike = match (parts.first(), parts.last()) {
        (Some(first), Some(last)) => begins_alike(&key(first), &key(last)),
        _ => 0,
    };
    let next = |part: &Part| key(part).chars().nth(alike);
    let mut divided: Vec<Vec<Part>> = Vec::new();
    for part in parts {
        match divided.last_mut() {
            Some(last) if next(&last[0]) == next(&part) => last.push(part),
            _ => divided.push(vec![part]),
        }
    }
    if divided.len() < 2 || depth == DEEPEST {
        return by_order(divided.into_iter().flatten().collect(), most);
    }
    let left_open = small(&divided, most);
    let mut all = Vec::new();
    for (parts, open) in divided.into_iter().zip(left_open) {
        if open {
            all.extend(parts);
            continue;
        }
        let label = match parts.as_slice() {
            [only] => only.label.clone(),
            _ => {
                let begins: String = parts[0].label.chars().take(alike + 1).collect();
                begins + "…"
            }
        };
        let inside = few(parts, MOST, depth + 1);
        all.push(Part::group(label, GroupKind::Names, inside));
    }
    by_order(all, most)
}

/// Returns which groups can be left open, the smallest first.
fn small(divided: &[Vec<Part>], most: usize) -> Vec<bool> {
    let mut open = vec![false; divided.len()];
    let mut total = divided.len();
    for size in 1..=SMALL {
        for (parts, open) in divided.iter().zip(&mut open) {
            if boxes(parts) == size && (size == 1 || total + size - 1 <= most) {
                total += size - 1;
                *open = true;
            }
        }
    }
    open
}

/// Returns the length of the common prefix of two texts, in characters.
fn begins_alike(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}

/// Groups parts that are neighbours in the order of names.
fn by_order(parts: Vec<Part>, most: usize) -> Vec<Part> {
    if boxes(&parts) <= most {
        return parts;
    }
    let most = most.max(2);
    if let [only] = parts.as_slice()
        && only.members.len() > 1
    {
        return by_order(singles(parts), most);
    }
    let count = parts.len().div_ceil(MOST).clamp(2, most);
    let size = parts.len().div_ceil(count);
    let mut rest = parts.into_iter().peekable();
    let mut all = Vec::new();
    while rest.peek().is_some() {
        let parts = by_order(rest.by_ref().take(size).collect(), MOST);
        let label = match parts.as_slice() {
            [first, .., last] => format!("{} – {}", first.label, last.label),
            parts => parts.first().map_or_else(String::new, |p| p.label.clone()),
        };
        match boxes(&parts) {
            1 => all.extend(parts),
            _ => all.push(Part::group(label, GroupKind::Names, parts)),
        }
    }
    all
}

fn singles(parts: Vec<Part>) -> Vec<Part> {
    let single = |part: Part| {
        let Part { label, first, .. } = part;
        part.members.into_iter().map(move |member| Part {
            label: label.clone(),
            first,
            members: vec![member],
        })
    };
    parts.into_iter().flat_map(single).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Edge, Node};

    /// Returns a graph of nodes with these names and files; nodes with an empty file have no place.
    fn graph(nodes: &[(String, String)]) -> Graph {
        let node = |(label, file): &(String, String)| Node {
            id: label.clone(),
            label: label.clone(),
            kind: NodeKind::Subprogram,
            notes: Vec::new(),
            place: (!file.is_empty()).then(|| SourceLine {
                file: file.clone(),
                line: 1,
                link: None,
            }),
        };
        Graph {
            nodes: nodes.iter().map(node).collect(),
            ..Graph::default()
        }
    }

    fn named(names: impl IntoIterator<Item = String>) -> Graph {
        let nodes: Vec<_> = names.into_iter().map(|n| (n, String::new())).collect();
        graph(&nodes)
    }

    /// Returns lines like a table of contents, with the number of members for each group of nodes only.
    fn described(members: &[Member]) -> Vec<String> {
        let mut lines = Vec::new();
        for member in members {
            if let Member::Group(g) = member {
                let kind = g.kind.name();
                lines.push(format!("{} ({kind}, {})", g.label, g.members.len()));
                lines.extend(described(&g.members).into_iter().map(|l| format!("  {l}")));
            }
        }
        lines
    }

    /// Checks that each node occurs once, that no level is too large, and that no group has a single member.
    /// Returns the depth.
    fn depth_of_sound(graph: &Graph) -> usize {
        fn walk(members: &[Member], seen: &mut Vec<usize>) -> usize {
            assert!(members.len() <= MOST, "{} on one level", members.len());
            let deeper = members.iter().map(|member| match member {
                Member::Node(i) => {
                    seen.push(*i);
                    0
                }
                Member::Group(g) => {
                    assert!(g.members.len() > 1, "{}", g.label);
                    walk(&g.members, seen)
                }
            });
            1 + deeper.max().unwrap_or_default()
        }
        let mut seen = Vec::new();
        let depth = walk(&members(graph), &mut seen);
        seen.sort_unstable();
        let all: Vec<usize> = (0..graph.nodes.len()).collect();
        assert_eq!(seen, all);
        depth
    }

    #[test]
    fn small_graphs_are_whole() {
        let graph = named((0..WHOLE).map(|i| format!("F{i}")));
        let all: Vec<Member> = (0..WHOLE).map(Member::Node).collect();
        assert_eq!(members(&graph), all);
    }

    #[test]
    fn folders_then_files_then_names() {
        let mut nodes = Vec::new();
        for i in 0..30 {
            // A folder that is alone in another one; two subprograms in each file.
            nodes.push((format!("A{i}"), format!("src/deep/f{}.f", i / 2)));
            nodes.push((format!("B{i}"), "src/all.f".to_owned()));
            nodes.push((format!("C{i}"), format!("lib/c{i}.f")));
        }
        for i in 0..50 {
            nodes.push((format!("D{i}"), "lib/many.f".to_owned()));
        }
        let graph = graph(&nodes);
        depth_of_sound(&graph);
        let lines = described(&members(&graph));
        assert_eq!(lines[0], "lib/ (folder, 31)");
        assert_eq!(lines[1], "  many.f (file, 10)");
        assert_eq!(lines[2], "    D1… (names, 11)");
        assert!(lines.contains(&"src/ (folder, 2)".to_owned()), "{lines:#?}");
        assert!(lines.contains(&"  deep/ (folder, 15)".to_owned()));
        assert!(lines.contains(&"    f7.f (file, 2)".to_owned()));
        assert!(lines.contains(&"  all.f (file, 30)".to_owned()));
    }

    #[test]
    fn folders_in_folders_are_one() {
        let in_file = |i: usize| (format!("A{i}"), format!("a/b/c/{}.f", i / 40));
        let mut nodes: Vec<_> = (0..80).map(in_file).collect();
        nodes.push(("X".into(), "x.f".into()));
        let lines = described(&members(&graph(&nodes)));
        assert_eq!(lines[0], "a/b/c/ (folder, 2)");
    }

    #[test]
    fn names_that_begin_alike() {
        let mut names = Vec::new();
        for precision in ["S", "D", "C", "Z"] {
            for matrix in ["GE", "SY", "TR", "PO"] {
                names.extend((0..30).map(|i| format!("{precision}{matrix}{i:02}")));
            }
        }
        names.push("ILAENV".into());
        names.push("ILAVER".into());
        names.push("XERBLA".into());
        let graph = named(names);
        depth_of_sound(&graph);
        let lines = described(&members(&graph));
        assert_eq!(lines[0], "C… (names, 4)");
        assert_eq!(lines[1], "  CG… (names, 30)");
        // Two names that begin with I are left open.
        assert_eq!(members(&graph).len(), 7);
    }

    #[test]
    fn derivatives_are_beside_what_they_are_of() {
        let mut nodes = Vec::new();
        for i in 0..70 {
            nodes.push((format!("F{i}"), format!("{}.f", i / 35)));
        }
        nodes.push(("DERIVATIVE".into(), "elsewhere.f".into()));
        let mut graph = graph(&nodes);
        graph.nodes[70].kind = NodeKind::Derivative;
        graph.edges.push(Edge {
            from: 70,
            to: 3,
            kind: EdgeKind::Differentiates,
        });
        depth_of_sound(&graph);
        let members = members(&graph);
        let Member::Group(first) = &members[0] else {
            panic!("{members:?}");
        };
        assert_eq!(first.label, "0.f");
        assert_eq!(first.members[3..5], [Member::Node(3), Member::Node(70)]);
    }

    #[test]
    fn steps_are_grouped_by_kind() {
        let mut graph = named((0..100).map(|i| format!("parse f{i:03}.f")));
        graph
            .nodes
            .iter_mut()
            .for_each(|n| n.kind = NodeKind::Parse);
        graph.nodes[99].kind = NodeKind::Lower;
        let members = members(&graph);
        assert_eq!(members.len(), 2);
        assert_eq!(described(&members)[0], "parse (kind, 10)");
    }

    /// Names that prefixes do not divide well.
    #[test]
    fn no_names_go_deep() {
        let same = named((0..3000).map(|_| "SAME".to_owned()));
        assert!(depth_of_sound(&same) <= 3);
        let longer = named((1..3000).map(|i| "A".repeat(i)));
        assert!(depth_of_sound(&longer) <= DEEPEST + 3);
        let numbers = named((0..5000).map(|i| format!("SUBROUTINE_{i}")));
        assert!(depth_of_sound(&numbers) <= 5);
        let wide = named(
            (0..3000_u32)
                .filter_map(|i| char::from_u32(0x4e00 + i))
                .map(String::from),
        );
        assert!(depth_of_sound(&wide) <= 3);
    }

    /// A subprogram with more derivatives than fit on a level.
    #[test]
    fn many_derivatives() {
        let mut graph = named((0..200).map(|i| format!("F{i}")));
        for from in 1..200 {
            graph.nodes[from].kind = NodeKind::Derivative;
            let (to, kind) = (0, EdgeKind::Differentiates);
            graph.edges.push(Edge { from, to, kind });
        }
        depth_of_sound(&graph);
    }
}
