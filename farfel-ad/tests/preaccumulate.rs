//! Simplifies derivative units that are as the product rule leaves them.

use farfel_ad::simplify::preaccumulate::preaccumulate;
use farfel_ad::{Builtin, differentiate_all};
use farfel_lang::ir::{BinOp, ExprKind, SymId, Unit};
use farfel_lang::lower::{Stage, lower};
use farfel_lang::{Sources, print, resolve::resolve, syntax};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use std::collections::HashSet;
use std::process::Command;

/// The number of random programs that are compiled together.
const PROGRAMS: usize = 60;

/// Parses one unit and simplifies it; `tangents` are the names of its tangents.
fn simplified(source: &str, tangents: &[&str]) -> String {
    let (mut unit, symbols) = unit(source, tangents);
    preaccumulate(&mut unit, &symbols);
    let once = text(&unit);
    preaccumulate(&mut unit, &symbols);
    assert_eq!(once, text(&unit), "a second run changes something");
    once
}

fn text(unit: &Unit) -> String {
    print::print_unit(unit, &print::Options::default())
}

fn unit(source: &str, tangents: &[&str]) -> (Unit, HashSet<SymId>) {
    let mut sources = Sources::new();
    let file = sources.add("test.f", source);
    let mut parsed = syntax::parse(&mut sources, file, None, &mut syntax::NoIncludes);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    let found = resolve(&mut parsed.program);
    assert!(!farfel_lang::diagnostic::any_errors(&found), "{found:?}");
    let unit = parsed.program.units.remove(0);
    let symbols = tangents
        .iter()
        .map(|t| unit.symbols.find(t).unwrap_or_else(|| panic!("no {t}")))
        .collect();
    (unit, symbols)
}

/// Simplifies the statements of a subroutine S and compares them with what is expected.
///
/// Labels are written before a colon; the frame of the subroutine and declarations are not shown.
fn check(args: &str, declarations: &str, tangents: &str, body: &str, expected: &str) {
    let lines = |s: &str| -> Vec<String> {
        s.lines()
            .map(|l| l.trim().to_owned())
            .filter(|l| !l.is_empty())
            .collect()
    };
    let mut source = format!("      SUBROUTINE S({args})\n");
    for line in lines(declarations).iter().chain(&lines(body)) {
        match line.split_once(": ") {
            Some((label, rest)) => source.push_str(&format!("{label:>5} {rest}\n")),
            None if line.starts_with('!') => source.push_str(&format!("{line}\n")),
            None => source.push_str(&format!("      {line}\n")),
        }
    }
    source.push_str("      END\n");
    let tangents: Vec<&str> = tangents.split_whitespace().collect();
    let shown = simplified(&source, &tangents);
    let declared = simplified(
        &format!(
            "{}      END\n",
            &source[..source.find("END").map_or(0, |_| {
                source
                    .match_indices('\n')
                    .nth(lines(declarations).len())
                    .unwrap()
                    .0
                    + 1
            })]
        ),
        &[],
    );
    let shown: Vec<String> = shown
        .lines()
        .filter(|l| l.trim() == "END IF" || !declared.lines().any(|d| d == *l))
        .map(|l| match l.split_at_checked(6) {
            Some((label, rest)) if label.trim().parse::<u32>().is_ok() => {
                format!("{}: {}", label.trim(), rest.trim())
            }
            _ => l.trim().to_owned(),
        })
        .collect();
    let expected = lines(expected);
    assert_eq!(
        shown,
        expected,
        "\nshown:\n{}\nexpected:\n{}\n",
        shown.join("\n"),
        expected.join("\n")
    );
}

#[test]
fn the_example_of_the_paper() {
    check(
        "A, B, B_G2, R, R_G2",
        "",
        "B_G2 R_G2 PRICE_G2 COSTS_G2",
        "
         PRICE_G2 = -0.1*B_G2
         PRICE = 20-0.1*B-0.0999*A
         COSTS_G2 = B_G2*(10.005-0.05*B) - B*0.05*B_G2
         COSTS = B*(10.005-0.05*B)
         R_G2 = B_G2*PRICE + B*PRICE_G2 - COSTS_G2
         R = B*PRICE - COSTS
        ",
        "
         PRICE = 20 - 0.1*B - 0.0999*A
         COSTS = B*(10.005 - 0.05*B)
         R_G2 = B_G2*((9.995 - 0.0999*A) - 0.1*B)
         R = B*PRICE - COSTS
        ",
    );
}

#[test]
fn its_second_derivative() {
    check(
        "A, B, B_G4, B_G2, R, R_G2, R_G2_G4",
        "",
        "B_G4 R_G2_G4 PRICE_G4 COSTS_G2_G4",
        "
         PRICE_G4 = -0.1*B_G4
         PRICE_G2 = -0.1*B_G2
         PRICE = 20-0.1*B-0.0999*A
         COSTS_G2_G4 = B_G2*(-0.05*B_G4) - B_G4*0.05*B_G2
         COSTS_G2 = B_G2*(10.005-0.05*B) - B*0.05*B_G2
         R_G2_G4 = B_G2*PRICE_G4 + B_G4*PRICE_G2 - COSTS_G2_G4
         R_G2 = B_G2*PRICE + B*PRICE_G2 - COSTS_G2
        ",
        "
         PRICE_G2 = -0.1*B_G2
         PRICE = 20 - 0.1*B - 0.0999*A
         COSTS_G2 = B_G2*(10.005 - 0.05*B) - B*0.05*B_G2
         R_G2_G4 = PRICE_G2*B_G4
         R_G2 = B_G2*PRICE + B*PRICE_G2 - COSTS_G2
        ",
    );
}

#[test]
fn its_third_derivative() {
    check(
        "A, A_G5, B, B_G5, B_G4, B_G2, R_G2, R_G2_G4, R_G2_G5",
        "",
        "A_G5 B_G5 R_G2_G5 PRICE_G5 TEMP_G5 COSTS_G2_G5",
        "
         PRICE_G5 = -0.1*B_G5 - 0.0999*A_G5
         TEMP_G5 = -0.05*B_G5
         TEMP = (10.005-0.05*B)
         COSTS_G2_G5 = B_G2*TEMP_G5 - B_G5*(0.05*B_G2)
         R_G2_G4 = (-0.1)*B_G2*B_G4
         R_G2_G5 = B_G2*PRICE_G5 + B_G5*(-0.1*B_G2) - COSTS_G2_G5
        ",
        "
         TEMP = (10.005 - 0.05*B)
         R_G2_G4 = (-0.1)*B_G2*B_G4
         R_G2_G5 = B_G2*((-0.1)*B_G5 - 0.0999*A_G5)
        ",
    );
}

#[test]
fn a_temporary_with_the_value_of_a_parenthesis() {
    check(
        "A, A_G, R, R_G",
        "",
        "A_G R_G",
        "
         T = (10 - 0.5*A)
         R_G = A_G*T - A*(0.5*A_G)
        ",
        "
         T = (10 - 0.5*A)
         R_G = A_G*(10.0 - A)
        ",
    );
}

#[test]
fn the_variable_of_the_tangent_goes_last() {
    check(
        "A, B, A_G, B_G, R_G, S_G",
        "",
        "A_G B_G R_G S_G",
        "
         R_G = B_G*(20.0 - 0.1*B - 0.5*A - 0.2*C)
         S_G = A_G*(20.0 - 0.1*B - 0.5*A - 0.2*C)
        ",
        "
         R_G = B_G*((20.0 - 0.2*C - 0.5*A) - 0.1*B)
         S_G = A_G*((20.0 - 0.2*C - 0.1*B) - 0.5*A)
        ",
    );
}

#[test]
fn no_minus_in_front_of_a_product() {
    check(
        "X_G, Y_G, R_G, S_G, T_G, U_G",
        "",
        "X_G Y_G R_G S_G T_G U_G",
        "
         R_G = -0.1*X_G - 0.2*Y_G
         S_G = -X_G + Y_G
         T_G = -(0.5*X_G)
         U_G = -X_G - Y_G
        ",
        "
         R_G = (-0.1)*X_G - 0.2*Y_G
         S_G = Y_G - X_G
         T_G = (-0.5)*X_G
         U_G = -X_G - Y_G
        ",
    );
}

#[test]
fn like_terms() {
    check(
        "A, B, X_G, Y_G, R_G, S_G, T_G, U_G",
        "",
        "X_G Y_G R_G S_G T_G U_G",
        "
         R_G = X_G + X_G
         S_G = A*B*X_G + X_G*(B*A)
         T_G = X_G*A - A*X_G + Y_G
         U_G = X_G - X_G
        ",
        "
         R_G = X_G + X_G
         S_G = 2.0*A*B*X_G
         T_G = Y_G
         U_G = 0.0
        ",
    );
}

#[test]
fn sums_are_not_multiplied_out() {
    check(
        "A, B, X_G, Y_G, R_G, S_G",
        "",
        "X_G Y_G R_G S_G",
        "
         R_G = (A + B)*((A - B)*X_G)
         S_G = (A + B)*(X_G + Y_G) + (A + B)*X_G
        ",
        "
         R_G = (A + B)*((A - B)*X_G)
         S_G = (A + B)*(2.0*X_G + Y_G)
        ",
    );
}

#[test]
fn a_common_factor_is_written_once() {
    check(
        "A, X_G, Y_G, Z_G, R_G",
        "",
        "X_G Y_G Z_G R_G T_G",
        "
         T_G = A*X_G - A*Y_G
         R_G = T_G + A*Z_G
        ",
        "
         R_G = A*(X_G - Y_G + Z_G)
        ",
    );
}

#[test]
fn exact_differences_are_not_torn_apart() {
    check(
        "X, X0, EPS, X_G, Y_G, R_G, S_G, T_G",
        "",
        "X_G Y_G R_G S_G T_G",
        "
         R_G = X_G*(X - X0 + EPS)
         S_G = X_G*((X - X0) + EPS) + Y_G*EPS
         T_G = EPS*X_G + (X_G - Y_G)
        ",
        "
         R_G = X_G*(X - X0 + EPS)
         S_G = X_G*((X - X0) + EPS) + Y_G*EPS
         T_G = EPS*X_G + (X_G - Y_G)
        ",
    );
}

#[test]
fn code_that_is_not_affine_stays() {
    check(
        "X, Y, Z, X_G, Y_G, Z_G, R_G, S_G, U_G, V_G",
        "",
        "X_G Y_G Z_G R_G S_G U_G V_G",
        "
         R_G = COS(X)*X_G*Y + SIN(X)*Y_G
         S_G = (X_G*Y - X*Y_G)/Y**2
         U_G = (X_G - (X/Y)*Y_G)/Y
         V_G = X_G*Y_G + MAX(X_G, Y_G)
        ",
        "
         R_G = COS(X)*X_G*Y + SIN(X)*Y_G
         S_G = (X_G*Y - X*Y_G)/Y**2
         U_G = (X_G - (X/Y)*Y_G)/Y
         V_G = X_G*Y_G + MAX(X_G, Y_G)
        ",
    );
}

#[test]
fn quotients() {
    check(
        "Y, X_G, Y_G, R_G, S_G, T_G",
        "",
        "X_G Y_G R_G S_G T_G",
        "
         R_G = X_G - Y_G/Y
         S_G = X_G/Y + 2.0*X_G/Y
         T_G = X_G/4.0 + X_G/4
        ",
        "
         R_G = X_G - Y_G/Y
         S_G = 3.0*X_G/Y
         T_G = 0.5*X_G
        ",
    );
}

#[test]
fn copies_and_zeros() {
    check(
        "X_G, Y_G, R_G, S_G",
        "",
        "X_G Y_G R_G S_G T_G Z_G",
        "
         T_G = X_G
         Z_G = 0.0
         R_G = T_G*2.0 + Z_G*Y
         S_G = Z_G
        ",
        "
         R_G = 2.0*X_G
         S_G = 0.0
        ",
    );
}

#[test]
fn seeds_that_are_literals() {
    check(
        "X, Y, R_G",
        "",
        "X_G R_G T_G",
        "
         X_G = 1.0
         T_G = X*X_G + X*X_G
         R_G = Y*T_G + 3.0*X_G
        ",
        "
         T_G = 2.0*X
         R_G = 3.0 + Y*T_G
        ",
    );
}

#[test]
fn a_value_that_is_assigned_before_it_is_used_is_not_needed() {
    check(
        "X_G, R_G",
        "",
        "X_G R_G",
        "
         R_G = 0.0
         R_G = 2.0*X_G
         R_G = R_G + X_G
        ",
        "
         R_G = 3.0*X_G
        ",
    );
}

#[test]
fn variables_that_are_assigned_in_between() {
    check(
        "A, B, X_G, R_G, S_G",
        "",
        "X_G R_G S_G T_G U_G",
        "
         T_G = A*X_G
         U_G = 2.0*X_G
         P = 1.0 + A
         A = B
         R_G = T_G + A*X_G
         X_G = 5.0*X_G
         S_G = U_G + 3.0*X_G + X_G*(P - 1.0)
        ",
        "
         T_G = A*X_G
         U_G = 2.0*X_G
         P = 1.0 + A
         A = B
         R_G = T_G + A*X_G
         X_G = 5.0*X_G
         S_G = U_G + X_G*(2.0 + P)
        ",
    );
}

#[test]
fn a_name_with_two_values() {
    check(
        "A, X_G, R_G, S_G",
        "",
        "X_G R_G S_G T_G",
        "
         T_G = 2.0*X_G
         R_G = T_G + X_G
         T_G = 3.0*X_G
         S_G = T_G + X_G
        ",
        "
         R_G = 3.0*X_G
         S_G = 4.0*X_G
        ",
    );
}

#[test]
fn tangents_that_are_updated() {
    check(
        "X_G, Y_G",
        "",
        "X_G Y_G",
        "
         X_G = X_G + 2.0*X_G
         Y_G = Y_G + X_G
         Y_G = Y_G + X_G
        ",
        "
         X_G = 3.0*X_G
         Y_G = Y_G + X_G
         Y_G = Y_G + X_G
        ",
    );
}

#[test]
fn several_readers() {
    check(
        "A, B, X_G, Y_G, R_G, S_G",
        "",
        "X_G Y_G R_G S_G T_G",
        "
         T_G = A*X_G + B*Y_G
         R_G = T_G*A
         S_G = T_G*B
        ",
        "
         T_G = A*X_G + B*Y_G
         R_G = T_G*A
         S_G = T_G*B
        ",
    );
}

#[test]
fn several_readers_that_merge() {
    check(
        "A, B, X_G, Y_G, R_G, S_G",
        "",
        "X_G R_G S_G T_G",
        "
         T_G = -0.5*X_G
         R_G = A*T_G + X_G*(1.0 - A)
         S_G = B*T_G + X_G*(2.0 - B)
        ",
        "
         R_G = X_G*(1.0 - 1.5*A)
         S_G = X_G*(2.0 - 1.5*B)
        ",
    );
}

#[test]
fn array_elements() {
    check(
        "X, X_G, Y_G, N, I",
        "REAL X(N), X_G(N), Y_G(N)",
        "X_G Y_G T_G",
        "
         T_G = 2.0*X_G(I) + X(I)*X_G(I + 1)
         Y_G(I) = T_G + X_G(I)
         Y_G(I) = Y_G(I) + X(I)*X_G(I + 1)
         I = I + 1
         Y_G(I) = T_G
        ",
        "
         T_G = 2.0*X_G(I) + X(I)*X_G(I + 1)
         Y_G(I) = T_G + X_G(I)
         Y_G(I) = Y_G(I) + X(I)*X_G(I + 1)
         I = I + 1
         Y_G(I) = T_G
        ",
    );
}

#[test]
fn whole_arrays_stay() {
    check(
        "X_G, Y_G, N",
        "REAL X_G(N), Y_G(N)",
        "X_G Y_G T_G",
        "
         Y_G = X_G + X_G
         Y_G(1:2) = X_G(1:2) + X_G(1:2)
         T_G = X_G(1) + X_G(1)
        ",
        "
         Y_G = X_G + X_G
         Y_G(1:2) = X_G(1:2) + X_G(1:2)
        ",
    );
}

#[test]
fn loops() {
    check(
        "X, X_G, Y_G, N",
        "",
        "X_G Y_G T_G",
        "
         T_G = 0.0
         DO I = 1, N
         T_G = 2.0*X_G
         Y_G = Y_G + T_G + X_G
         END DO
        ",
        "
         DO I = 1, N
         Y_G = Y_G + 3.0*X_G
         END DO
        ",
    );
}

#[test]
fn values_that_go_around_a_loop() {
    check(
        "X_G, Y_G, N",
        "",
        "X_G Y_G T_G",
        "
         T_G = X_G
         DO I = 1, N
         Y_G = Y_G + T_G
         T_G = 2.0*X_G
         END DO
        ",
        "
         T_G = X_G
         DO I = 1, N
         Y_G = Y_G + T_G
         T_G = 2.0*X_G
         END DO
        ",
    );
}

#[test]
fn a_labelled_loop_end() {
    check(
        "X_G, Y_G, N",
        "",
        "X_G Y_G",
        "
         DO 10 I = 1, N
         X_G = X_G + X_G
         10: Y_G = Y_G + X_G + X_G
        ",
        "
         DO 10 I = 1, N
         X_G = X_G + X_G
         10: Y_G = Y_G + X_G + X_G
        ",
    );
}

#[test]
fn branches() {
    check(
        "X, X_G, Y_G",
        "",
        "X_G Y_G T_G",
        "
         T_G = X_G + X_G
         IF (X .GT. 0.0) THEN
         T_G = 3.0*X_G
         Y_G = T_G + X_G
         ELSE
         Y_G = T_G
         END IF
         IF (X .LT. 1.0) Y_G = Y_G + Y_G
        ",
        "
         T_G = X_G + X_G
         IF (X .GT. 0.0) THEN
         T_G = 3.0*X_G
         Y_G = 4.0*X_G
         ELSE
         Y_G = T_G
         END IF
         IF (X .LT. 1.0) Y_G = Y_G + Y_G
        ",
    );
}

#[test]
fn a_stretch_ends_at_a_branch() {
    check(
        "X, X_G, Y_G",
        "",
        "X_G Y_G T_G",
        "
         T_G = 2.0*X_G
         IF (X .GT. 0.0) X_G = 0.0
         Y_G = T_G + X_G
        ",
        "
         T_G = 2.0*X_G
         IF (X .GT. 0.0) X_G = 0.0
         Y_G = T_G + X_G
        ",
    );
}

#[test]
fn jumps() {
    check(
        "X, X_G, Y_G",
        "",
        "X_G Y_G T_G",
        "
         T_G = X_G + X_G
         10: T_G = T_G + T_G
         Y_G = T_G + X_G
         IF (Y .LT. 1.0) GOTO 10
         20: Y_G = Y_G - X_G
         GOTO 30
         Y_G = 0.0
         30: Y_G = Y_G + X_G
        ",
        "
         T_G = X_G + X_G
         10: T_G = T_G + T_G
         Y_G = T_G + X_G
         IF (Y .LT. 1.0) GOTO 10
         20: Y_G = Y_G - X_G
         GOTO 30
         Y_G = 0.0
         30: Y_G = Y_G + X_G
        ",
    );
}

#[test]
fn calls() {
    check(
        "X, X_G, Y_G",
        "EXTERNAL FOO, BAR",
        "X_G Y_G T_G U_G",
        "
         T_G = 2.0*X_G
         U_G = 3.0*X_G
         CALL FOO(X_G, U_G)
         Y_G = T_G + X_G + U_G
         Y_G = Y_G*BAR(X) + X_G
         Y_G = Y_G + X_G
        ",
        "
         T_G = 2.0*X_G
         U_G = 3.0*X_G
         CALL FOO(X_G, U_G)
         Y_G = T_G + X_G + U_G
         Y_G = Y_G*BAR(X) + X_G
         Y_G = Y_G + X_G
        ",
    );
}

#[test]
fn statement_functions() {
    check(
        "X, X_G, Y_G, A",
        "SF(Z) = A*Z",
        "X_G Y_G",
        "
         Y_G = X_G*SF(X) + X_G*SF(X)
         A = 1.0
        ",
        "
         Y_G = X_G*SF(X) + X_G*SF(X)
         A = 1.0
        ",
    );
}

#[test]
fn dummies_that_are_assigned() {
    check(
        "A, B, X_G, Y_G",
        "",
        "X_G Y_G T_G",
        "
         T_G = 2.0*X_G
         Y_G = T_G + X_G
         B = A
         X_G = Y_G + T_G
        ",
        "
         Y_G = 3.0*X_G
         B = A
         X_G = 5.0*X_G
        ",
    );
}

#[test]
fn saved_tangents_stay() {
    check(
        "X_G, Y_G",
        "SAVE T_G\nCOMMON /C/ U_G\nEQUIVALENCE (V_G, Q)",
        "X_G Y_G T_G U_G V_G W_G",
        "
         T_G = 2.0*X_G
         U_G = 2.0*X_G
         V_G = 2.0*X_G
         W_G = 2.0*X_G
         Y_G = T_G + U_G + V_G + W_G
        ",
        "
         T_G = 2.0*X_G
         U_G = 2.0*X_G
         V_G = 2.0*X_G
         Y_G = 8.0*X_G
        ",
    );
}

#[test]
fn a_save_without_names() {
    check(
        "X_G, Y_G",
        "SAVE",
        "X_G Y_G T_G",
        "
         T_G = 2.0*X_G
         Y_G = T_G
        ",
        "
         T_G = 2.0*X_G
         Y_G = T_G
        ",
    );
}

#[test]
fn shared_storage() {
    check(
        "X_G, Y_G, Q",
        "EQUIVALENCE (U_G, P)",
        "X_G Y_G T_G U_G",
        "
         T_G = 2.0*U_G
         P = 0.0
         Y_G = T_G + U_G
        ",
        "
         T_G = 2.0*U_G
         P = 0.0
         Y_G = T_G + U_G
        ",
    );
}

#[test]
fn shared_storage_of_arrays() {
    check(
        "X_G, Y_G",
        "REAL W(2)\nEQUIVALENCE (V_G, W(1))",
        "X_G Y_G V_G",
        "
         V_G = X_G
         W(1) = 3.0
         Y_G = V_G + V_G
        ",
        "
         V_G = X_G
         W(1) = 3.0
         Y_G = V_G + V_G
        ",
    );
}

#[test]
fn double_precision() {
    check(
        "A, B, B_G, R_G",
        "DOUBLE PRECISION A, B, B_G, R_G, T_G, P",
        "B_G R_G T_G",
        "
         P = 20 - 0.1D0*B
         T_G = B_G*P - 0.5D0*B*B_G
         R_G = T_G - 0.5*B_G*(2 + B)
        ",
        "
         DOUBLE PRECISION A, B, B_G, R_G, P
         P = 20 - 0.1D0*B
         R_G = B_G*(19.0D0 - 1.1D0*B)
        ",
    );
}

#[test]
fn literals_of_another_kind_are_not_folded() {
    check(
        "B, X_G, R_G, S_G",
        "DOUBLE PRECISION B, X_G, R_G, S_G",
        "X_G R_G S_G",
        "
         R_G = 0.1*X_G + 0.1D0*X_G + 0.1*X_G
         S_G = X_G*(0.3 - 0.1)*B
        ",
        "
         R_G = 2.0D0*(0.1*X_G) + 0.1D0*X_G
         S_G = X_G*(0.3 - 0.1)*B
        ",
    );
}

#[test]
fn single_precision_in_double() {
    check(
        "A, C, B, X_G, R_G, S_G, T_G",
        "DOUBLE PRECISION B, X_G, R_G, S_G, T_G",
        "X_G R_G S_G T_G",
        "
         R_G = A*C*X_G + C*A*X_G
         S_G = B*X_G*A + X_G*B*A
         T_G = X_G*(A + C) + X_G
        ",
        "
         R_G = A*C*X_G + C*A*X_G
         S_G = B*X_G*A + X_G*B*A
         T_G = X_G*(A + C) + X_G
        ",
    );
}

#[test]
fn conversions_stay() {
    check(
        "X_G, Y_G, D_G, S_G",
        "DOUBLE PRECISION D_G, S_G",
        "X_G Y_G D_G S_G T_G",
        "
         T_G = X_G + X_G
         D_G = T_G
         S_G = D_G + D_G + T_G
         D_G = 0.1
        ",
        "
         T_G = X_G + X_G
         D_G = T_G
         S_G = D_G + D_G + T_G
         D_G = 0.1
        ",
    );
}

#[test]
fn integers() {
    check(
        "I, J, X_G, R_G, S_G, T_G, U_G",
        "",
        "X_G R_G S_G T_G U_G",
        "
         R_G = X_G*I/2*J
         S_G = X_G*(I/2)*4
         T_G = 1/2*X_G + X_G/2
         U_G = 16777217*X_G + X_G
        ",
        "
         R_G = X_G*I/2*J
         S_G = X_G*(I/2)*4
         T_G = 1/2*X_G + 0.5*X_G
         U_G = 16777217*X_G + X_G
        ",
    );
}

#[test]
fn complex_numbers_stay() {
    check(
        "X_G, R_G",
        "COMPLEX X_G, R_G",
        "X_G R_G",
        "
         R_G = X_G + X_G
        ",
        "
         R_G = X_G + X_G
        ",
    );
}

#[test]
fn literals_out_of_range_stay() {
    check(
        "X_G, R_G, S_G",
        "",
        "X_G R_G S_G T_G",
        "
         T_G = 1.0E30*X_G
         R_G = 1.0E30*T_G
         S_G = 0.333333333333333333*(0.333333333333333333*X_G)
        ",
        "
         T_G = 1.0E30*X_G
         R_G = 1.0E30*T_G
         S_G = 0.333333333333333333*(0.333333333333333333*X_G)
        ",
    );
}

#[test]
fn comments_stay() {
    check(
        "X_G, R_G",
        "",
        "X_G R_G T_G",
        "
         T_G = X_G + X_G
         ! between
         R_G = T_G + X_G
        ",
        "
         C between
         R_G = 3.0*X_G
        ",
    );
}

#[test]
fn two_parentheses_that_merge() {
    check(
        "B, P, B_G, R_G",
        "",
        "B_G R_G",
        "
         R_G = B_G*(20.0 - 0.6*B) - 0.5*B_G*(2.0 + B)
        ",
        "
         R_G = B_G*(19.0 - 1.1*B)
        ",
    );
}

#[test]
fn two_values_that_merge() {
    check(
        "A, B, B_G, R_G, P, Q",
        "",
        "B_G R_G T_G",
        "
         P = 20.0 - 0.1*A*B
         Q = 5.0 + B
         T_G = 0.5*B*B_G
         R_G = B_G*P - B_G*Q + T_G + B_G*B*0.5
        ",
        "
         P = 20.0 - 0.1*A*B
         Q = 5.0 + B
         R_G = B_G*(15.0 - 0.1*A*B)
        ",
    );
}

#[test]
fn products_keep_their_order() {
    check(
        "A, B, C, X_G, Y_G, R_G, S_G",
        "",
        "X_G Y_G R_G S_G",
        "
         R_G = X_G*A*B + X_G*A*B
         S_G = A*(X_G*B)*C + A*(B*X_G)*C
        ",
        "
         R_G = 2.0*B*(A*X_G)
         S_G = 2.0*C*(A*(B*X_G))
        ",
    );
}

#[test]
fn a_value_read_under_another_name() {
    check(
        "X_G, Y_G",
        "EQUIVALENCE (V_G, Q)",
        "X_G Y_G V_G",
        "
         V_G = 2.0*X_G
         Y_G = Q
         V_G = V_G + X_G
         Q = V_G
        ",
        "
         V_G = 2.0*X_G
         Y_G = Q
         V_G = 3.0*X_G
         Q = V_G
        ",
    );
}

#[test]
fn products_that_the_program_does_not_form() {
    check(
        "A, B, X_G, Y_G, R_G, S_G",
        "",
        "X_G Y_G R_G S_G T_G",
        "
         T_G = A*X_G
         R_G = B*T_G + B*X_G
         S_G = A*(B*(X_G + Y_G) + B*Y_G)
        ",
        "
         R_G = B*(A*X_G + X_G)
         S_G = A*(B*(X_G + 2.0*Y_G))
        ",
    );
}

/// The innermost derivative of the paper's example, through the whole engine: what the innermost loop
/// computes must be as short as handwritten code.
#[test]
fn the_innermost_derivative_of_the_paper() {
    let source = include_str!("../../farfel-lang/tests/lowering/paper.ff");
    assert_eq!(
        lines_of(source, "GMBIGB_G2_G4_G5", "GMBIGB_G2"),
        [
            "GMBIGB_G2_1_G4 = (-0.1)*B_G2*B_G4",
            "GMBIGB_G2_1_G5 = B_G2*((-0.0999)*A_G5 - 0.1*B_G5)",
            "GMBIGB_G2_1 = B_G2*((9.995 - 0.0999*A) - 0.1*B)",
        ]
    );
}

/// The lines of a derivative that begin with a word, through the whole engine.
fn lines_of(source: &str, unit: &str, word: &str) -> Vec<String> {
    let mut sources = Sources::new();
    let file = sources.add("test.ff", source);
    let mut parsed = syntax::parse(&mut sources, file, None, &mut syntax::NoIncludes);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    assert!(resolve(&mut parsed.program).is_empty());
    let lowered = lower(parsed.program, Stage::Stage);
    let program = differentiate_all(&Builtin, lowered.program, &lowered.requests).unwrap();
    let text = text(program.unit(unit).unwrap());
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|l| l.starts_with(word)).map(str::to_owned);
    lines.collect()
}

/// The product rule for elements that a loop updates has no parentheses; for a sum that it adds up, it has.
#[test]
fn increments_in_loops() {
    let source = "      SUBROUTINE UPDATE(A, X, Y, S, D, E)
      DOUBLE PRECISION A, X(9), Y(9), S, D, E
      ADF(TANGENT(A) = 1, (TANGENT(X(I)) = 2, I = 1, 9))
      DO I = 1, 9
        Y(I) = Y(I) + A*X(I)
        S = S - A*X(I)
      END DO
      END ADF(D = TANGENT(S), E = TANGENT(Y(3)))
      END
";
    let unit = "UPDATE_ADF1_G1";
    assert_eq!(
        lines_of(source, unit, "Y_G1(I)"),
        ["Y_G1(I) = Y_G1(I) + A_G1*X(I) + A*X_G1(I)"]
    );
    assert_eq!(
        lines_of(source, unit, "S_G1 = S_G1"),
        ["S_G1 = S_G1 - (A_G1*X(I) + A*X_G1(I))"]
    );
}

/// Random statements: texts of expressions without and with tangents.
mod random {
    use proptest::prelude::*;

    /// Variables that may be assigned. D, which is used as a divisor, may not.
    const VARIABLES: [&str; 6] = ["A", "B", "C", "P", "X(1)", "X(2)"];
    const TANGENTS: [&str; 6] = ["A_G", "B_G", "T_G", "U_G", "X_G(1)", "X_G(2)"];

    fn literal() -> impl Strategy<Value = String> {
        prop::sample::select(vec![
            "0.5D0", "0.1D0", "2.0D0", "1.5D0", "0.25D0", "2", "0.5", "0.1", "1.0D0",
        ])
        .prop_map(str::to_owned)
    }

    fn variable() -> impl Strategy<Value = String> {
        prop::sample::select(VARIABLES.to_vec()).prop_map(str::to_owned)
    }

    /// `a op b`, each in parentheses where it could be a sum.
    fn joined(a: String, op: &str, b: String) -> String {
        match op {
            "*" | "/" => format!("({a}){op}({b})"),
            " - " => format!("{a}{op}({b})"),
            _ => format!("{a}{op}{b}"),
        }
    }

    fn coefficient() -> impl Strategy<Value = String> {
        // S is in single precision, L an INTEGER.
        let other = prop::sample::select(vec!["D", "S", "L"]).prop_map(str::to_owned);
        let leaf = prop_oneof![4 => variable(), 3 => literal(), 1 => other];
        leaf.prop_recursive(3, 8, 2, |c| {
            prop_oneof![
                (
                    c.clone(),
                    prop::sample::select(vec![" + ", " - ", "*"]),
                    c.clone()
                )
                    .prop_map(|(a, op, b)| joined(a, op, b)),
                c.clone().prop_map(|a| format!("({a})/D")),
                c.prop_map(|a| format!("({a})")),
            ]
        })
    }

    fn tangent() -> impl Strategy<Value = String> {
        let leaf = prop::sample::select(TANGENTS.to_vec()).prop_map(str::to_owned);
        leaf.prop_recursive(4, 16, 2, |t| {
            prop_oneof![
                3 => (t.clone(), prop::sample::select(vec![" + ", " - "]), t.clone())
                    .prop_map(|(a, op, b)| joined(a, op, b)),
                3 => (coefficient(), t.clone()).prop_map(|(c, t)| joined(c, "*", t)),
                2 => (coefficient(), t.clone()).prop_map(|(c, t)| joined(t, "*", c)),
                1 => t.clone().prop_map(|t| format!("({t})/D")),
                1 => t.clone().prop_map(|t| format!("({t})/4.0D0")),
                1 => t.prop_map(|t| format!("-({t})")),
            ]
        })
    }

    fn assignment() -> impl Strategy<Value = String> {
        prop_oneof![
            5 => (prop::sample::select(TANGENTS.to_vec()), tangent())
                .prop_map(|(t, e)| format!("{t} = {e}")),
            2 => (variable(), coefficient()).prop_map(|(v, e)| format!("{v} = {e}")),
        ]
    }

    /// The statements of a subroutine with some branches and loops.
    pub fn body() -> impl Strategy<Value = Vec<String>> {
        let stretch = prop::collection::vec(assignment(), 1..8).boxed();
        let part = prop_oneof![
            4 => stretch.clone(),
            1 => stretch.clone().prop_map(|s| wrapped("IF (K .EQ. 1) THEN", s, "END IF")),
            1 => stretch.prop_map(|s| wrapped("DO I = 1, 2", s, "END DO")),
        ];
        prop::collection::vec(part, 1..4).prop_map(|parts| parts.concat())
    }

    fn wrapped(open: &str, mut body: Vec<String>, close: &str) -> Vec<String> {
        body.insert(0, open.to_owned());
        body.push(close.to_owned());
        body
    }
}

/// A subroutine of random statements. With `size`, all signs are plus: for positive arguments, its results
/// are bounds for everything that is added up on the way.
fn subroutine(name: &str, body: &[String], size: bool) -> String {
    let mut text = format!(
        "      SUBROUTINE {name}(A, A_G, B, B_G, X, X_G, D, K)
      DOUBLE PRECISION A, A_G, B, B_G, D, C, P, T_G, U_G, X(2), X_G(2)
      REAL S
      INTEGER K, I, L
      S = 0.3
      L = 3
      C = 0.75D0
      P = 1.25D0
      T_G = 0.5D0*A_G
      U_G = 0.0D0
"
    );
    let statements = body
        .iter()
        .map(String::as_str)
        .chain(["A_G = A_G + T_G", "B_G = B_G - U_G*P"]);
    for s in statements {
        let s = if size {
            s.replace('-', "+")
        } else {
            s.to_owned()
        };
        // Continuation lines.
        let letters: Vec<char> = s.chars().collect();
        for (i, line) in letters.chunks(60).enumerate() {
            let mark = if i == 0 { "      " } else { "     +" };
            text.push_str(mark);
            text.extend(line);
            text.push('\n');
        }
    }
    text.push_str("      END\n");
    text
}

fn operations(unit: &Unit) -> usize {
    let mut count = 0;
    farfel_lang::ir::walk_exprs(&unit.body, &mut |e| {
        count += match &e.kind {
            ExprKind::Binary(BinOp::Add | BinOp::Sub | BinOp::Mul, ..) => 1,
            ExprKind::Binary(..) => 10,
            ExprKind::Unary(_, a) => match a.kind {
                ExprKind::Real(_) | ExprKind::Int(_) => 0,
                _ => 1,
            },
            _ => 0,
        };
    });
    count
}

#[test]
fn random_programs_keep_their_values() {
    const TANGENTS: [&str; 5] = ["A_G", "B_G", "T_G", "U_G", "X_G"];
    let mut runner = TestRunner::deterministic();
    let mut text = String::new();
    let mut calls = String::new();
    let mut fewer = 0;
    for n in 0..PROGRAMS {
        let body = random::body().new_tree(&mut runner).unwrap().current();
        let source = subroutine(&format!("P{n}"), &body, false);
        let (before, _) = unit(&source, &TANGENTS);
        let simple = subroutine(&format!("Q{n}"), &body, false);
        let (mut after, symbols) = unit(&simple, &TANGENTS);
        preaccumulate(&mut after, &symbols);
        assert!(operations(&after) <= operations(&before), "{source}");
        fewer += usize::from(operations(&after) < operations(&before));
        let simple = simplified(&simple, &TANGENTS);
        text.push_str(&source);
        text.push_str(&simple);
        text.push_str(&subroutine(&format!("M{n}"), &body, true));
        calls.push_str(&format!("      CALL COMPARE(P{n}, Q{n}, M{n}, {n})\n"));
    }
    // The pass finds something to simplify in them.
    assert!(fewer > PROGRAMS / 2, "{fewer}");
    let externals: String = (0..PROGRAMS)
        .map(|n| format!("      EXTERNAL P{n}, Q{n}, M{n}\n"))
        .collect();
    let main = format!(
        "      PROGRAM MAIN
{externals}{calls}      END

      SUBROUTINE COMPARE(P, Q, M, N)
      EXTERNAL P, Q, M
      INTEGER N, K, J
      DOUBLE PRECISION U(8), V(8), W(8)
      DO K = 1, 2
        DO J = 1, 8
          U(J) = 0.3D0 + 0.17D0*J - 0.05D0*K
        END DO
        V = U
        W = U
        CALL P(U(1), U(2), U(3), U(4), U(5), U(7), 1.5D0, K)
        CALL Q(V(1), V(2), V(3), V(4), V(5), V(7), 1.5D0, K)
        CALL M(W(1), W(2), W(3), W(4), W(5), W(7), 1.5D0, K)
        IF (ANY(U((/1, 3, 5, 6/)) .NE. V((/1, 3, 5, 6/)))) THEN
          PRINT *, 'P', N, ' VALUES CHANGE'
        END IF
        DO J = 1, 8
          IF (.NOT. ABS(U(J) - V(J)) .LE. 1D-12*MAX(1D0, W(J))) THEN
            PRINT *, 'P', N, J, U(J), V(J), W(J)
          END IF
        END DO
      END DO
      END
"
    );
    let found = run(&format!("{main}\n{text}"));
    assert_eq!(found.trim(), "", "{text}");
}

/// Compiles and runs a program, and returns its output.
fn run(fortran: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let (source, program) = (dir.path().join("p.f"), dir.path().join("p"));
    std::fs::write(&source, fortran).unwrap();
    let compiled = Command::new("gfortran")
        .args(["-std=legacy", "-O1", "-o"])
        .args([&program, &source])
        .output()
        .expect("the tests need gfortran");
    let messages = String::from_utf8_lossy(&compiled.stderr);
    assert!(compiled.status.success(), "{messages}\n{fortran}");
    let ran = Command::new(&program).output().unwrap();
    String::from_utf8(ran.stdout).unwrap()
}
