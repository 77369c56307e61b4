//! Orders the requests so that the derivatives can be generated.

use crate::callgraph::CallGraph;
use crate::diagnostic::{Diagnostic, any_errors, rules};
use crate::ir::{Program, Request};
use crate::lower::outline::OutlinedBlocks;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Puts the requests in an order in which each can be carried out: a derivative is made before its
/// callers are differentiated. Among the requests that are ready, the first block comes first. So
/// new blocks do not change the order of the others.
///
/// `propagated` says that units may name procedures which they no longer pass on. Calls of heads
/// that have become calls of derivatives do not matter, as derivatives refer to the heads.
pub(in crate::lower) fn order(
    program: &Program,
    blocks: &OutlinedBlocks,
    mut requests: Vec<Request>,
    propagated: bool,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Request> {
    if any_errors(diagnostics) {
        return Vec::new();
    }
    requests.sort_by_key(|r| blocks.get(&r.head).map(|b| b.rank));
    // A request needs all derivatives that the head, or its callees, call in turn; also through
    // other derivatives, which contain what their heads contain.
    let graph = match propagated {
        true => CallGraph::staged(program, &requests),
        false => CallGraph::of_names(program, &requests),
    };
    let mut missing = vec![0usize; requests.len()];
    let mut needed_by = vec![Vec::new(); requests.len()];
    for (r, request) in requests.iter().enumerate() {
        let mut needs: Vec<usize> = graph
            .reached(graph.index(&request.head))
            .into_iter()
            .flat_map(|unit| graph.requests(unit))
            .copied()
            .collect();
        needs.sort_unstable();
        needs.dedup();
        missing[r] = needs.len();
        for need in needs {
            needed_by[need].push(r);
        }
    }
    let mut ready: BinaryHeap<Reverse<usize>> = (0..requests.len())
        .filter(|r| missing[*r] == 0)
        .map(Reverse)
        .collect();
    let mut open: Vec<Option<Request>> = requests.into_iter().map(Some).collect();
    let mut done: Vec<Request> = Vec::with_capacity(open.len());
    while let Some(Reverse(r)) = ready.pop() {
        done.extend(open[r].take());
        for other in &needed_by[r] {
            missing[*other] -= 1;
            if missing[*other] == 0 {
                ready.push(Reverse(*other));
            }
        }
    }
    for request in open.into_iter().flatten() {
        diagnostics.push(
            Diagnostic::error(
                &rules::AD_RECURSION,
                request.span,
                "the derivative of this block would be needed to generate it",
            )
            .help("a subprogram that calls itself cannot ask for derivatives of the call"),
        );
    }
    done
}
