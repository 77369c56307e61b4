//! The call graph of parsed and of lowered programs.

use farfel_ir::callgraph::{CallGraph, ReachableUnits};
use farfel_ir::ir::Program;
use farfel_ir::{Sources, diagnostic};
use farfel_lang::lower::{Stage, lower};
use farfel_lang::resolve::resolve;
use farfel_lang::syntax::{NoIncludes, parse};

fn program(text: &str) -> Program {
    let mut sources = Sources::new();
    let file = sources.add("a.f", text);
    let mut program = parse(&mut sources, file, None, &mut NoIncludes).program;
    let errors = resolve(&mut program);
    assert!(!diagnostic::any_errors(&errors), "{errors:?}");
    program
}

const CHAIN: &str = "      SUBROUTINE A(X)
      EXTERNAL H, EXT
      X = F(G(X)) + E(X)
      CALL D(X, H, EXT)
      END
      FUNCTION G(X)
      G = F(X)
      END
      FUNCTION F(X)
      F = X
      ENTRY E(X)
      E = G(X)
      END
      SUBROUTINE D(X, P, Q)
      EXTERNAL P, Q
      S(Y) = H(Y)
      CALL D2(X, P, Q)
      END
      SUBROUTINE D2(X, P, Q)
      EXTERNAL P, Q
      CALL D(X, P, Q)
      END
      FUNCTION H(X)
      H = X
      END
      SUBROUTINE ALONE
      END
";

#[test]
fn references_are_in_order_of_evaluation() {
    let program = program(CHAIN);
    let graph = CallGraph::of(&program);
    let names =
        |list: &[usize]| -> Vec<&str> { list.iter().map(|i| graph.name(*i).as_str()).collect() };
    let a = graph.index("A").unwrap();
    assert_eq!(graph.references(a), ["G", "F", "E", "H", "EXT", "D"]);
    // E is an entry of F, and EXT is not in the program.
    assert_eq!(names(graph.callees(a)), ["G", "F", "H", "D"]);
    // A statement function calls H.
    let d = graph.index("D").unwrap();
    assert_eq!(graph.references(d), ["D2", "H"]);
    assert_eq!(graph.callers()[graph.index("H").unwrap()], [a, d]);
    // F and G call each other, as do D and D2.
    assert_eq!(
        names(&graph.callees_first([a])),
        ["F", "G", "H", "D2", "D", "A"]
    );
    assert_eq!(names(&graph.reached([d])), ["D", "D2", "H"]);

    let below = ReachableUnits::of(&program, ["A"]);
    let order: Vec<&str> = below.units.iter().map(|u| u.name.as_str()).collect();
    // Below does not know entries: E is looked up as a unit.
    assert_eq!(order, ["F", "G", "H", "D2", "D", "A"]);
    assert_eq!(below.callers[2], [4, 5]);
}

#[test]
fn a_derivative_refers_to_the_head_it_contains() {
    let lowered = lower(
        program(
            "      SUBROUTINE T(X, DY)
      ADF(TANGENT(X) = 1)
      ADF(TANGENT(X) = 1)
      Y = F(X)
      END ADF(DZ = TANGENT(Y))
      END ADF(DY = TANGENT(DZ))
      END
      FUNCTION F(X)
      F = X*X
      END
",
        ),
        Stage::Stage,
    );
    assert_eq!(lowered.diagnostics, []);
    let graph = CallGraph::staged(&lowered.program, &lowered.requests);
    let at = |n: &str| graph.index(n).unwrap();
    let inner = at(&lowered.requests[0].head);
    let outer = at(&lowered.requests[1].head);
    // The program calls the derivative of the outer head, which contains that of the inner one.
    assert_eq!(graph.requests(at("T")), [1]);
    assert_eq!(graph.callees(at("T")), [outer]);
    assert_eq!(graph.requests(outer), [0]);
    assert_eq!(graph.callees(outer), [inner]);
    assert_eq!(graph.requests(inner), [0; 0]);
    assert_eq!(
        graph.callees_first([at("T")]),
        [at("F"), inner, outer, at("T")]
    );
    // Without the requests a derivative is just a missing procedure.
    let bare = CallGraph::of(&lowered.program);
    assert_eq!(bare.callees(outer), [0; 0]);
    assert_eq!(
        bare.references(outer),
        [lowered.requests[0].derivative.clone()]
    );
}
