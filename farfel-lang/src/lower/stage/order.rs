//! The order in which derivatives can be generated.

use crate::diagnostic::{Diagnostic, any_errors, rules};
use crate::ir::{Name, Program, Request};
use crate::lower::prune::CallGraph;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Puts the requests in an order in which each can be carried out: a derivative is made
/// before what calls it is differentiated. Among those that are ready, the lowest number
/// goes first.
pub(in crate::lower) fn order(
    program: &Program,
    requests: Vec<Request>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Request> {
    if any_errors(diagnostics) {
        return Vec::new();
    }
    let heads: HashMap<Name, Name> = requests
        .iter()
        .map(|r| (r.derivative.clone(), r.head.clone()))
        .collect();
    let graph = CallGraph::of(program);
    let mut open: BTreeMap<u32, (Request, BTreeSet<Name>)> = requests
        .into_iter()
        .map(|r| {
            let needs = derivatives_below(&graph, &r.head, &heads);
            (r.id, (r, needs))
        })
        .collect();
    let mut done: Vec<Request> = Vec::new();
    let mut made: BTreeSet<Name> = BTreeSet::new();
    while !open.is_empty() {
        let ready = open
            .iter()
            .find(|(_, (_, needs))| needs.is_subset(&made))
            .map(|(id, _)| *id);
        let Some((request, _)) = ready.and_then(|id| open.remove(&id)) else {
            for (request, _) in open.into_values() {
                diagnostics.push(
                    Diagnostic::error(
                        &rules::AD_RECURSION,
                        request.span,
                        "the derivative of this block would be needed to generate it",
                    )
                    .help("a subprogram that calls itself cannot ask for derivatives of the call"),
                );
            }
            return done;
        };
        made.insert(request.derivative.clone());
        done.push(request);
    }
    done
}

/// The derivatives that the head, or what it calls, calls in turn; also through other
/// derivatives, which contain what their heads contain.
fn derivatives_below(
    graph: &CallGraph,
    head: &Name,
    heads: &HashMap<Name, Name>,
) -> BTreeSet<Name> {
    let mut found = BTreeSet::new();
    let mut roots: HashSet<Name> = HashSet::from([head.clone()]);
    loop {
        let before = roots.len();
        for name in graph.reached(&roots) {
            for callee in graph.references(&name) {
                if let Some(h) = heads.get(callee) {
                    found.insert(callee.clone());
                    roots.insert(h.clone());
                }
            }
        }
        if roots.len() == before {
            return found;
        }
    }
}
