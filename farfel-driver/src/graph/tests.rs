//! The graphs of small programs in every format, and hostile texts.

use super::*;
use crate::{Config, Error, Report, Session};
use insta::assert_snapshot;
use std::path::PathBuf;

fn look(
    file: PathBuf,
    config: &Config,
    view: fn(&Session) -> Result<(Graph, Report), Error>,
) -> Graph {
    let session = Session::of_files(&[file], config).unwrap();
    view(&session).unwrap().0
}

fn graph_of(name: &str, lines: &str) -> Graph {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    let text: String = lines
        .lines()
        .map(|l| format!("      {}\n", l.trim()))
        .collect();
    std::fs::write(&path, text).unwrap();
    let config = Config {
        root: dir.path().to_owned(),
        ..Config::default()
    };
    look(path, &config, Session::call_graph)
}

fn node(label: &str, kind: NodeKind, notes: &[&str]) -> Node {
    Node {
        id: label.into(),
        label: label.into(),
        kind,
        notes: notes.iter().map(|n| (*n).to_owned()).collect(),
        place: None,
    }
}

fn calls(names: &[&str], edges: &[(usize, usize)]) -> Graph {
    Graph {
        title: "t".into(),
        nodes: names
            .iter()
            .map(|n| node(n, NodeKind::Subprogram, &[]))
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

const SLOPES: &str = "PROGRAM MAIN
    EXTERNAL OUTSIDE
    CALL SLOPES(1.0, D, DD)
    CALL OUTSIDE(D, DD)
    END
    SUBROUTINE SLOPES(X, D, DD)
    ADF(X)
      D = SLOPE(X)
    END ADF(DD = TANGENT(D))
    END
    FUNCTION SLOPE(X)
    ADF(X)
      Y = CUBE(X)
    END ADF(SLOPE = TANGENT(Y))
    END
    FUNCTION CUBE(X)
    CUBE = X*SQUARE(X)
    END
    FUNCTION SQUARE(X)
    SQUARE = X*X
    END";

/// A derivative of a derivative: the inner one is computed first, and the outer one is the derivative of a
/// subroutine that calls it.
#[test]
fn nested_derivatives_in_every_format() {
    let graph = graph_of("slopes.f", SLOPES);
    assert_snapshot!(
        "nested_derivatives_in_every_format_tree",
        tree::render(&graph)
    );
    assert_snapshot!(
        "nested_derivatives_in_every_format_mermaid",
        mermaid::render(&graph)
    );
    assert_snapshot!(
        "nested_derivatives_in_every_format_dot",
        dot::render(&graph)
    );
}

#[test]
fn the_steps_of_a_build() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("slopes.f");
    let text: String = SLOPES
        .lines()
        .map(|l| format!("      {}\n", l.trim()))
        .collect();
    std::fs::write(&path, text.replace("PROGRAM MAIN", "SUBROUTINE TOP")).unwrap();
    let config = Config {
        root: dir.path().to_owned(),
        ..Config::default()
    };
    let plan = look(path, &config, Session::plan);
    assert_snapshot!("the_steps_of_a_build_tree", tree::render(&plan));
}

#[test]
fn an_entry_is_its_unit() {
    let graph = graph_of(
        "entry.f",
        "PROGRAM MAIN
        PRINT *, SECOND(2.0)
        END
        FUNCTION FIRST(X)
        FIRST = X
        RETURN
        ENTRY SECOND(X)
        SECOND = -X
        END",
    );
    assert_snapshot!("an_entry_is_its_unit_tree", tree::render(&graph));
}

#[test]
fn shared_parts_are_shown_once_and_cycles_are_marked() {
    let graph = calls(
        &["A", "B", "C", "D", "SELF", "P", "Q"],
        &[
            (0, 1),
            (0, 2),
            (1, 3),
            (2, 1),
            (2, 3),
            (3, 0),
            (4, 4),
            (5, 6),
            (6, 5),
        ],
    );
    assert_snapshot!(
        "shared_parts_are_shown_once_and_cycles_are_marked_tree",
        tree::render(&graph)
    );
}

#[test]
fn what_some_nodes_need() {
    let graph = calls(&["A", "B", "C", "D"], &[(0, 1), (1, 2), (3, 2)]);
    let below = graph.below(&["b".into()]).unwrap();
    assert_snapshot!("what_some_nodes_need_tree", tree::render(&below));
    assert_eq!(graph.below(&["B".into(), "E".into()]), Err("E".into()));
}

/// The depth of a graph does not consume stack.
#[test]
fn a_chain_of_calls_may_be_long() {
    let names: Vec<String> = (0..3000).map(|i| format!("F{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let edges: Vec<(usize, usize)> = (1..3000).map(|i| (i - 1, i)).collect();
    let text = tree::render(&calls(&names, &edges));
    assert_eq!(text.lines().count(), 3000);
    assert!(text.ends_with("    └── F2999\n"));
}

#[test]
fn edges_to_nowhere_and_twice_are_left_out() {
    let mut graph = calls(&["A", "B"], &[(0, 1), (0, 1), (0, 7), (9, 0)]);
    assert_eq!(tree::render(&graph), "A\n└── B\n");
    assert_eq!(dot::render(&graph).matches("->").count(), 1);
    graph.nodes.clear();
    assert_eq!(tree::render(&graph), "");
    assert_eq!(mermaid::render(&graph).matches("-->").count(), 0);
}

/// No name ends a string, begins a directive, or reaches the terminal as anything but text.
#[test]
fn hostile_names() {
    let names = [
        "\"]; click n0 \"javascript:alert(1)\"",
        "%%{init: {\"theme\": \"dark\"}}%%",
        "a\\",
        "<script>&amp;#35;`x`",
        "line\nbreak\u{1b}[2J\u{202e}",
        "",
        "end",
        "größe 数",
    ];
    let mut graph = calls(&names, &[(0, 1)]);
    graph.title = "--- \"t\" \\ \n%%{init}%% <b>&".into();
    assert_snapshot!("hostile_names_tree", tree::render(&graph));
    assert_snapshot!("hostile_names_mermaid", mermaid::render(&graph));
    assert_snapshot!("hostile_names_dot", dot::render(&graph));
}

#[test]
fn the_paper_s_example() {
    let paper =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../example-project/fortran-main/paper.ff");
    let graph = look(paper, &Config::default(), Session::call_graph);
    assert_snapshot!("the_paper_s_example_tree", tree::render(&graph));
}
