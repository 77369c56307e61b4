//! The call graph of a lowered program with the derivatives that it asks for.

use super::{Edge, EdgeKind, Graph, Node, NodeKind};
use farfel_lang::ir::{
    AdMode, Class, Name, Place, Program, Request, StmtKind, Unit, UnitKind, for_each_symbol,
    walk_block,
};
use std::collections::{HashMap, HashSet};

impl Graph {
    /// Who calls whom in a program after [`farfel_lang::lower::Stage::Stage`], and which
    /// derivatives it calls: those are not in the program yet, but each is a node with an
    /// edge to the subroutine that it is the derivative of. `requests` are in the order in
    /// which the AD tool carries them out.
    ///
    /// Nodes are in the order of the program, then derivatives in that of the requests, then
    /// what the program calls and does not have.
    pub fn of_calls(program: &Program, requests: &[Request]) -> Graph {
        let mut graph = Graph::default();
        let mut places: HashMap<Name, usize> = HashMap::new();
        for unit in &program.units {
            let at = graph.nodes.len();
            places.insert(unit.name.clone(), at);
            for name in entries(unit) {
                places.insert(name, at);
            }
            graph.nodes.push(node(
                &unit.name,
                match unit.kind {
                    UnitKind::Program => NodeKind::MainProgram,
                    _ => NodeKind::Subprogram,
                },
                match unit.kind {
                    UnitKind::BlockData => vec!["block data".to_owned()],
                    _ => Vec::new(),
                },
            ));
        }
        for (i, request) in requests.iter().enumerate() {
            places.insert(request.derivative.clone(), graph.nodes.len());
            let notes = vec![
                format!("run {} of {}", i + 1, requests.len()),
                derivative_of(program, request),
            ];
            graph
                .nodes
                .push(node(&request.derivative, NodeKind::Derivative, notes));
        }
        for (from, unit) in program.units.iter().enumerate() {
            for name in references(unit) {
                let to = *places.entry(name.clone()).or_insert_with(|| {
                    graph
                        .nodes
                        .push(node(&name, NodeKind::External, Vec::new()));
                    graph.nodes.len() - 1
                });
                let kind = EdgeKind::Calls;
                graph.edges.push(Edge { from, to, kind });
            }
        }
        for request in requests {
            if let (Some(&from), Some(&to)) =
                (places.get(&request.derivative), places.get(&request.head))
            {
                let kind = EdgeKind::Differentiates;
                graph.edges.push(Edge { from, to, kind });
            }
        }
        graph
    }
}

fn node(name: &Name, kind: NodeKind, notes: Vec<String>) -> Node {
    Node {
        id: name.to_string(),
        label: name.to_string(),
        kind,
        notes,
    }
}

/// `tangent of Y by X`.
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

/// The names of a unit's ENTRY points.
fn entries(unit: &Unit) -> Vec<Name> {
    let mut names = Vec::new();
    walk_block(&unit.body, &mut |s| {
        if let StmtKind::Entry(e) = &s.kind {
            names.push(unit.symbols[e.name].name.clone());
        }
    });
    names
}

/// The top-level and external procedures that a unit calls or passes on, in the order of
/// their first mention.
fn references(unit: &Unit) -> Vec<Name> {
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    let mut look = |s| {
        let s = &unit.symbols[s];
        if s.class.is_procedure() && s.place == Place::Global && seen.insert(s.name.clone()) {
            found.push(s.name.clone());
        }
    };
    for_each_symbol(&unit.body, &mut look);
    for (_, s) in unit.symbols.iter() {
        if let Class::StatementFunction(_, value) = &s.class {
            value.for_each_symbol(&mut look);
        }
    }
    found
}
