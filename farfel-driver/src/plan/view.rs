//! The steps of a build as a graph for people.

use super::digests::digests;
use super::groups::{groups, whole};
use crate::graph::calls::derivative_of;
use crate::graph::{Edge, EdgeKind, Graph, Node, NodeKind, SourceLine};
use crate::pass_through::{PassThroughFiles, order};
use crate::staged::Staged;
use farfel_lang::ir::Name;
use std::collections::BTreeSet;

/// Returns the steps that make a library with these exports, or without exports a program; `passed` are the
/// pass-through files.
///
/// The note of a step has the beginning of a hash of the sources that the step depends on. Compiler and flags
/// are not part of it, so that it is the same on every machine and in every profile.
pub(crate) fn graph(staged: &Staged, exports: Option<&[Name]>, passed: &PassThroughFiles) -> Graph {
    let Staged {
        program,
        requests,
        references,
        report,
        ..
    } = staged;
    let digests = digests(program, &report.sources);
    let text_of = |units: &mut dyn Iterator<Item = usize>| {
        let mut hasher = blake3::Hasher::new();
        for i in units {
            hasher.update(program.units[i].name.as_bytes());
            hasher.update(digests[i].text.as_bytes());
        }
        hasher
    };
    let mut steps = Steps::default();

    let mut all = blake3::Hasher::new();
    let mut parsed = Vec::new();
    let mut seen = BTreeSet::new();
    // An INCLUDE file may have been read more than once.
    for (_, file) in report.sources.iter().filter(|(_, f)| seen.insert(&f.name)) {
        let hash = blake3::hash(file.text.as_bytes());
        all.update(hash.as_bytes());
        let label = format!("parse {}", file.name);
        let step = steps.add(NodeKind::Parse, label, vec![short(&hash)], &[]);
        steps.stands_at(step, beginning(&file.name));
        parsed.push(step);
    }
    let notes = vec![short(&all.finalize())];
    let lowered = steps.add(NodeKind::Lower, "lower".into(), notes, &parsed);

    let mut made: Vec<usize> = Vec::new();
    // All requests that each request needs, directly or indirectly.
    let mut below: Vec<BTreeSet<usize>> = Vec::new();
    for (i, (request, head)) in requests.iter().zip(&references.heads).enumerate() {
        let reached = references.reached([*head]);
        let earlier: BTreeSet<usize> = reached
            .iter()
            .flat_map(|u| references.requests(*u))
            .copied()
            .collect();
        let needs = nearest(&earlier, &below, &made, lowered);
        below.push(earlier);
        let mut hasher = text_of(&mut reached.iter().copied());
        let what = derivative_of(program, request);
        hasher.update(what.as_bytes());
        let notes = vec![
            format!("run {} of {}", i + 1, requests.len()),
            what,
            short(&hasher.finalize()),
        ];
        let label = format!("differentiate {}", request.derivative);
        let step = steps.add(NodeKind::Request, label, notes, &needs);
        steps.stands_at(step, SourceLine::of(request.span, &report.sources));
        made.push(step);
    }

    let groups = match exports {
        Some(exports) => groups(
            program,
            requests,
            references,
            exports,
            &staged.by_name,
            false,
        ),
        None => vec![whole(program, requests, &[])],
    };
    let mut objects = Vec::new();
    for group in &groups {
        let wanted = group.requests.iter().copied().collect();
        let needs = nearest(&wanted, &below, &made, lowered);
        let mut hasher = text_of(&mut group.reads.iter().copied());
        for i in &group.calls {
            hasher.update(digests[*i].interface.as_bytes());
        }
        let hash = short(&hasher.finalize());
        let name = &group.name;
        let mut notes = vec![count(group.units.len(), "subprogram")];
        if !group.requests.is_empty() {
            notes.push(count(group.requests.len(), "derivative"));
        }
        notes.push(hash.clone());
        let label = format!("write {name}.f");
        let text = steps.add(NodeKind::Generate, label, notes, &needs);
        let label = format!("compile {name}.f");
        objects.push(steps.add(NodeKind::Compile, label, vec![hash], &[text]));
    }
    objects.extend(pass_through_steps(passed, &mut steps));
    if exports.is_some() {
        let notes = vec![count(objects.len(), "object")];
        steps.add(
            NodeKind::Archive,
            "make the library".into(),
            notes,
            &objects,
        );
        let label = "write the functions for Rust";
        steps.add(NodeKind::Bind, label.into(), Vec::new(), &[lowered]);
    }
    steps.0
}

/// Adds the pass-through files, each after those whose modules it uses.
fn pass_through_steps(passed: &PassThroughFiles, steps: &mut Steps) -> Vec<usize> {
    let needs = order::needs(&passed.files);
    let first = steps.0.nodes.len();
    let mut added = Vec::new();
    for file in &passed.files {
        let hash = short(&blake3::hash(file.text.as_bytes()));
        let notes = vec!["as it is".into(), hash];
        let label = format!("compile {}", file.name);
        let step = steps.add(NodeKind::Compile, label, notes, &[]);
        steps.stands_at(step, beginning(&file.name));
        added.push(step);
    }
    for (at, needs) in needs.iter().enumerate() {
        steps.0.edges.extend(needs.iter().map(|(to, _)| Edge {
            from: first + at,
            to: first + to,
            kind: EdgeKind::Needs,
        }));
    }
    added
}

/// Returns the steps of those requests that no other one of them needs; if there are no requests, lowering.
fn nearest(
    requests: &BTreeSet<usize>,
    below: &[BTreeSet<usize>],
    made: &[usize],
    lowered: usize,
) -> Vec<usize> {
    let implied: BTreeSet<usize> = requests
        .iter()
        .filter_map(|r| below.get(*r))
        .flatten()
        .copied()
        .collect();
    let mut steps: Vec<usize> = requests
        .difference(&implied)
        .filter_map(|r| made.get(*r).copied())
        .collect();
    if steps.is_empty() {
        steps.push(lowered);
    }
    steps
}

#[derive(Default)]
struct Steps(Graph);

impl Steps {
    fn add(&mut self, kind: NodeKind, label: String, notes: Vec<String>, needs: &[usize]) -> usize {
        let from = self.0.nodes.len();
        self.0.nodes.push(Node {
            // Labels contain the names of the results, which are unique.
            id: label.clone(),
            label,
            kind,
            notes,
            place: None,
        });
        self.0.edges.extend(needs.iter().map(|to| Edge {
            from,
            to: *to,
            kind: EdgeKind::Needs,
        }));
        from
    }

    fn stands_at(&mut self, step: usize, place: Option<SourceLine>) {
        self.0.nodes[step].place = place;
    }
}

fn beginning(file: &str) -> Option<SourceLine> {
    Some(SourceLine {
        file: file.to_owned(),
        line: 1,
        link: None,
    })
}

fn short(hash: &blake3::Hash) -> String {
    hash.to_hex()[..8].to_owned()
}

fn count(n: usize, what: &str) -> String {
    match n {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    }
}
