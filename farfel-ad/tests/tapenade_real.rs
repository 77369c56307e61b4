//! The adapter with a real Tapenade. These tests say on standard error when they did not
//! run because TAPENADE_HOME is not set.

mod support;
#[path = "tapenade/mod.rs"]
mod tapenade;

use farfel_ad::tapenade::Options;
use support::{FAST, compare, run};
use tapenade::program::read;
use tapenade::tool::real;

const PAPER: &str = include_str!("../../example-project/fortran-main/paper.ff");

/// The paper's example: five chained runs.
#[test]
fn the_equilibrium_of_the_paper() {
    let Some(tool) = real(Options::default()) else {
        return;
    };
    let text = PAPER
        .replace("      READ *, ASTAR\n", "      ASTAR = 0\n")
        .replace("      READ *, BSTAR\n", "      BSTAR = 0\n")
        .replace("      READ *, N\n", "      N = 20\n")
        .replace(
            "      PRINT *, ASTAR, BSTAR\n",
            "      PRINT *, 'A', ASTAR, 50.0\n      PRINT *, 'B', BSTAR, 50.0\n",
        );
    let mut source = read(&text);
    let requests = source.lowered();
    let (fortran, warnings) = source
        .differentiated(&tool, &requests)
        .unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(warnings, "");
    compare(&run(&fortran, FAST), 2e-2 / 50.0, &fortran);
    let double = run(&fortran, &[FAST, &["-fdefault-real-8"]].concat());
    compare(&double, 1e-6 / 50.0, &fortran);
}
