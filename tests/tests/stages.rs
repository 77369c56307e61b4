//! The paper's example after every stage of the compiler, against what the paper and its
//! authors' worked example print.

use farfel_tests::{farfel, paper, sandbox};

fn expand(stage: &str) -> String {
    let dir = sandbox();
    let output = farfel(dir.path())
        .args(["expand", "--stage", stage])
        .arg(paper())
        .assert()
        .success()
        .stderr_eq("");
    String::from_utf8(output.get_output().stdout.clone()).unwrap()
}

#[test]
fn every_stage_of_the_paper_s_example() {
    for stage in [
        "parse",
        "lift",
        "specialize",
        "prune",
        "outline",
        "stage",
        "final",
    ] {
        insta::assert_snapshot!(stage, expand(stage));
    }
}
