//! The equilibrium of a two-player game, found by nested derivatives in `fortran/game.ff`.

mod fortran {
    farfel_runtime::include_bindings!();
}

/// The strategies of both players in equilibrium, by `n` Newton steps at each level.
fn equilibrium(a0: f64, b0: f64, n: i32) -> (f64, f64) {
    let (mut a, mut b) = (a0, b0);
    fortran::gameeq(&mut a, &mut b, n);
    (a, b)
}

fn main() {
    let (a, b) = equilibrium(10.0, 10.0, 10);
    println!("equilibrium: a = {a:.6}, b = {b:.6}");
    let (earns_a, earns_b) = (fortran::gmbiga(a, b), fortran::gmbigb(a, b));
    println!("payoffs:     A = {earns_a:.6}, B = {earns_b:.6}");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// dB/db = 9.995 - 0.1 b - 0.0999 a = 0 and dA/da = 10 - 0.1 a - 0.1 b = 0 in
    /// a = b = 50.
    #[test]
    fn the_equilibrium_is_the_analytic_one() {
        for guess in [1.0, 10.0, 80.0] {
            let (a, b) = equilibrium(guess, guess, 10);
            assert!(
                (a - 50.0).abs() < 1e-8 && (b - 50.0).abs() < 1e-8,
                "({a}, {b})"
            );
        }
    }
}
