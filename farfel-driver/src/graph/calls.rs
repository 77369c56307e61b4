//! The call graph of a lowered program with the derivatives that it requests.

use super::{Edge, EdgeKind, Graph, Node, NodeKind, SourceLine};
use farfel_lang::Sources;
use farfel_lang::callgraph::CallGraph;
use farfel_lang::ir::{AdMode, Name, Program, Request, UnitKind};
use std::collections::HashMap;

impl Graph {
    /// Creates the call graph of a program after [`farfel_lang::lower::Stage::Stage`], including the
    /// derivatives that it calls: these are not in the program yet, but each is a node with an edge to the
    /// subroutine that it is the derivative of. `requests` are in the order in which the AD tool processes
    /// them. The place of a unit is its beginning in the `sources`, that of a derivative the AD block that
    /// requests it.
    ///
    /// The nodes are in the order of the program, followed by the derivatives in the order of the requests,
    /// and the procedures that the program calls but does not define.
    pub fn of_calls(program: &Program, requests: &[Request], sources: &Sources) -> Graph {
        let mut graph = Graph::default();
        // Units have the same numbers in both graphs.
        let calls = CallGraph::of(program);
        let mut places: HashMap<Name, usize> = HashMap::new();
        for unit in &program.units {
            graph.nodes.push(node(
                &unit.name,
                match unit.kind {
                    UnitKind::Program => NodeKind::MainProgram,
                    _ => NodeKind::Subprogram,
                },
                match unit.kind {
                    UnitKind::BlockData if !unit.name.is_empty() => vec!["block data".to_owned()],
                    _ => Vec::new(),
                },
                SourceLine::of(unit.span, sources),
            ));
        }
        for (i, request) in requests.iter().enumerate() {
            places.insert(request.derivative.clone(), graph.nodes.len());
            let notes = vec![
                format!("run {} of {}", i + 1, requests.len()),
                derivative_of(program, request),
            ];
            let place = SourceLine::of(request.span, sources);
            graph.nodes.push(node(
                &request.derivative,
                NodeKind::Derivative,
                notes,
                place,
            ));
        }
        for from in 0..calls.len() {
            for name in calls.references(from) {
                let to = calls.index(name).unwrap_or_else(|| {
                    *places.entry(name.clone()).or_insert_with(|| {
                        let external = node(name, NodeKind::External, Vec::new(), None);
                        graph.nodes.push(external);
                        graph.nodes.len() - 1
                    })
                });
                let kind = EdgeKind::Calls;
                graph.edges.push(Edge { from, to, kind });
            }
        }
        for request in requests {
            if let (Some(&from), Some(to)) =
                (places.get(&request.derivative), calls.index(&request.head))
            {
                let kind = EdgeKind::Differentiates;
                graph.edges.push(Edge { from, to, kind });
            }
        }
        graph
    }
}

fn node(name: &Name, kind: NodeKind, notes: Vec<String>, place: Option<SourceLine>) -> Node {
    Node {
        id: name.to_string(),
        // Only BLOCK DATA may have no name.
        label: match name.as_str() {
            "" => "BLOCK DATA".to_owned(),
            name => name.to_owned(),
        },
        kind,
        notes,
        place,
    }
}

/// Describes a derivative, such as `tangent of Y by X`.
pub(crate) fn derivative_of(program: &Program, request: &Request) -> String {
    let what = match (request.mode, request.vector) {
        (AdMode::Forward, false) => "tangent",
        (AdMode::Forward, true) => "tangents in several directions",
        (AdMode::Reverse, false) => "adjoint",
        (AdMode::Reverse, true) => "adjoints in several directions",
    };
    let head = program.unit(&request.head);
    let names = |positions: &[usize]| -> String {
        let names: Vec<String> = positions
            .iter()
            .map(|p| {
                head.and_then(|u| Some(u.symbols[u.args.get(*p)?.sym()?].name.to_string()))
                    .unwrap_or_else(|| format!("argument {}", p + 1))
            })
            .collect();
        names.join(", ")
    };
    format!(
        "{what} of {} by {}",
        names(&request.dependents),
        names(&request.independents)
    )
}
