//! The equilibrium of a two-player game with continuous strategies.
//!
//! Each player chooses a number to earn as much as possible: the first one `a` to make
//! *A(a, b)* large, the second one `b` to make *B(a, b)* large. In equilibrium neither
//! gains by choosing differently. Finding it takes derivatives of a function that itself
//! finds a maximum by derivatives, and so on, three levels deep. `fortran/game.ff` asks
//! for each of them where it is needed, and Farfel nests them.

#![forbid(unsafe_code)]

mod fortran {
    farfel_runtime::include_bindings!();
}

/// What the first player earns with `a` when the second one plays `b`.
pub fn payoff_a(a: f64, b: f64) -> f64 {
    fortran::gmbiga(a, b)
}

/// What the second player earns with `b` when the first one plays `a`.
pub fn payoff_b(a: f64, b: f64) -> f64 {
    fortran::gmbigb(a, b)
}

/// The strategies of both players in equilibrium, from the guesses `a0` and `b0` by `n`
/// Newton steps at each level.
///
/// The second strategy is the answer to the first one as the last but one step left it,
/// so `n` should be 2 at least.
pub fn eqlbrm(a0: f64, b0: f64, n: i32) -> (f64, f64) {
    let (mut a, mut b) = (a0, b0);
    fortran::gameeq(&mut a, &mut b, n);
    (a, b)
}
