//! The steps of a build that makes one object file.

use super::calls::derivative_of;
use super::{Edge, EdgeKind, Graph, Node, NodeKind};
use farfel_lang::ir::{Program, Request};

/// The steps that turn files into a library, or into a program where `is_program`.
/// `program` and `requests` are what lowering gives.
pub(crate) fn of_pipeline(
    files: &[String],
    program: &Program,
    requests: &[Request],
    is_program: bool,
) -> Graph {
    let mut graph = Graph::default();
    let mut add = |id: String, label: String, kind, notes: Vec<String>, needs: &[usize]| {
        let from = graph.nodes.len();
        graph.nodes.push(Node {
            id,
            label,
            kind,
            notes,
        });
        let needs = needs.iter().map(|to| Edge {
            from,
            to: *to,
            kind: EdgeKind::Needs,
        });
        graph.edges.extend(needs);
        from
    };
    let parsed: Vec<usize> = files
        .iter()
        .map(|f| {
            add(
                format!("parse {f}"),
                format!("parse {f}"),
                NodeKind::Parse,
                Vec::new(),
                &[],
            )
        })
        .collect();
    let lowered = add(
        "lower".into(),
        "lower".into(),
        NodeKind::Lower,
        Vec::new(),
        &parsed,
    );
    let mut before = lowered;
    let mut made = vec![lowered];
    for (i, request) in requests.iter().enumerate() {
        let notes = vec![
            format!("run {} of {}", i + 1, requests.len()),
            derivative_of(program, request),
        ];
        let name = request.derivative.to_string();
        // Each sees what the earlier ones have made.
        before = add(
            format!("request {name}"),
            format!("differentiate {name}"),
            NodeKind::Request,
            notes,
            &[before],
        );
        made = vec![before];
    }
    let text = add(
        "generate".into(),
        "write Fortran".into(),
        NodeKind::Generate,
        Vec::new(),
        &made,
    );
    let object = add(
        "compile".into(),
        "compile".into(),
        NodeKind::Compile,
        Vec::new(),
        &[text],
    );
    if !is_program {
        let library = "make the library";
        add(
            "archive".into(),
            library.into(),
            NodeKind::Archive,
            Vec::new(),
            &[object],
        );
        add(
            "bind".into(),
            "write the functions for Rust".into(),
            NodeKind::Bind,
            Vec::new(),
            &made,
        );
    }
    graph
}
