//! AD of AD.

mod support;
use support::check;

/// The example of the paper: an equilibrium, by Newton's method on derivatives of
/// derivatives.
#[test]
fn the_paper() {
    let f = support::expand(include_str!("../../example-project/fortran-main/paper.ff")).unwrap();
    println!("{f}");
}
