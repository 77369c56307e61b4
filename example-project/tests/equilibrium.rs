//! The equilibrium against algebra.
//!
//! A(a, b) = a (20 - 0.1 a - 0.1 b) - a (10 - 0.05 a)
//!         = 10 a - 0.05 a² - 0.1 a b
//! B(a, b) = b (20 - 0.1 b - 0.0999 a) - b (10.005 - 0.05 b)
//!         = 9.995 b - 0.05 b² - 0.0999 a b
//!
//! The second player's best answer to a' is where dB/db = 9.995 - 0.1 b - 0.0999 a' = 0:
//!
//!     b*(a') = 99.95 - 0.999 a'
//!
//! The first player's best answer to that, b* held, is where dA/da = 10 - 0.1 a - 0.1 b* = 0:
//!
//!     a = 100 - b*(a') = 0.05 + 0.999 a'
//!
//! The equilibrium has a = a' = a*: 0.001 a* = 0.05, so a* = 50 and b* = 99.95 - 49.95 = 50.
//!
//! The function whose root is a*, F(a') = 0.05 - 0.001 a', has the slope -0.001: what
//! rounding does to F is a thousand times as much in a*. That, not the method, sets the
//! tolerance.

use example_project::{eqlbrm, payoff_a, payoff_b};

const TOLERANCE: f64 = 1e-8;

#[test]
fn every_starting_point_leads_to_the_analytic_equilibrium() {
    for (a0, b0) in [
        (1.0, 1.0),
        (10.0, 10.0),
        (40.0, 70.0),
        (99.0, 1.0),
        (0.0, 0.0),
        (-30.0, 200.0),
    ] {
        let (a, b) = eqlbrm(a0, b0, 10);
        assert!((a - 50.0).abs() < TOLERANCE, "a = {a} from ({a0}, {b0})");
        assert!((b - 50.0).abs() < TOLERANCE, "b = {b} from ({a0}, {b0})");
    }
}

/// All functions are quadratic, so that Newton's method is there in one step; b belongs to
/// the a of the step before.
#[test]
fn one_step_suffices_for_a_and_answers_the_guess_with_b() {
    let (a, b) = eqlbrm(10.0, 3.0, 1);
    assert!((a - 50.0).abs() < TOLERANCE, "{a}");
    assert!((b - (99.95 - 0.999 * 10.0)).abs() < TOLERANCE, "{b}");
}

#[test]
fn no_steps_leave_the_guesses() {
    assert_eq!(eqlbrm(12.0, 34.0, 0), (12.0, 34.0));
}

#[test]
fn neither_player_gains_by_another_choice() {
    let (a, b) = eqlbrm(10.0, 10.0, 10);
    for step in [-1.0, -0.1, 0.1, 1.0] {
        assert!(payoff_a(a + step, b) < payoff_a(a, b));
        assert!(payoff_b(a, b + step) < payoff_b(a, b));
    }
}

#[test]
fn payoffs_are_what_the_algebra_says() {
    assert!((payoff_a(30.0, 20.0) - 195.0).abs() < 1e-12);
    assert!((payoff_b(30.0, 20.0) - 119.96).abs() < 1e-12);
}

#[test]
fn calls_do_not_disturb_each_other() {
    std::thread::scope(|scope| {
        for guess in 0..8 {
            scope.spawn(move || {
                let (a, b) = eqlbrm(f64::from(guess), 10.0, 10);
                assert!((a - 50.0).abs() < TOLERANCE && (b - 50.0).abs() < TOLERANCE);
            });
        }
    });
}
