//! Subroutines of three numbers: Jacobians by AD and by differences.

use super::{CHECKED, FAST, compare, expand, run};

/// Cases that reverse mode still refuses, with a message: ALLOCATE and DEALLOCATE at different levels of IF and DO.
pub const NO_ADJOINTS: &[&str] = &["allocation"];

/// A subroutine `F@(X, Y)` of three numbers, and what it calls.
pub struct Case {
    /// Its name in messages.
    pub name: &'static str,
    /// `@` stands for the number of the case.
    pub text: std::borrow::Cow<'static, str>,
}

/// Compares the Jacobians of all cases by AD with those by differences, and the values with
/// those of the plain subroutines; in one program.
pub fn check_cases(cases: &[Case], tolerance: f64) -> String {
    check_cases_with(cases, tolerance, &[CHECKED, FAST])
}

/// Like [`check_cases`], with compiler flags for each run.
pub fn check_cases_with(cases: &[Case], tolerance: f64, runs: &[&[&str]]) -> String {
    let mut text = String::from(
        "      PROGRAM MAIN
      DOUBLE PRECISION X(3), V(3), Y(3), D(3), P(3), R(3)
      X(1) = 0.7D0
      X(2) = 1.3D0
      X(3) = -0.4D0
      DO 10 J = 1, 3
      DO 20 I = 1, 3
   20 V(I) = 0
      V(J) = 1
",
    );
    for (i, c) in cases.iter().enumerate() {
        let i = i + 1;
        let name = c.name;
        text += &format!(
            "      CALL F{i}(X, P)
      CALL D{i}(X, V, Y, D)
      CALL N{i}(X, V, R)
      DO {i}0{i} I = 1, 3
      PRINT *, '{name}', D(I), R(I)
{i:>2}0{i:<2} PRINT *, '{name}_value', Y(I), P(I)
"
        );
    }
    text += "   10 CONTINUE\n      END\n";
    for (i, c) in cases.iter().enumerate() {
        let i = i + 1;
        text += &c.text.trim_start_matches('\n').replace('@', &i.to_string());
        text += &format!(
            "      SUBROUTINE D{i}(X, V, Y, D)
      DOUBLE PRECISION X(3), V(3), Y(3), D(3)
      ADF(TANGENT(X) = V)
      CALL F{i}(X, Y)
      END ADF(D = TANGENT(Y))
      END
      SUBROUTINE N{i}(X, V, R)
      DOUBLE PRECISION X(3), V(3), R(3), D(3, 3), H, A(3), B(3)
      DOUBLE PRECISION S(3)
      DO 10 K = 1, 3
      H = 0.01D0/2**(K - 1)
      DO 5 I = 1, 3
    5 S(I) = X(I) + H*V(I)
      CALL F{i}(S, A)
      DO 6 I = 1, 3
    6 S(I) = X(I) - H*V(I)
      CALL F{i}(S, B)
      DO 10 I = 1, 3
   10 D(I, K) = (A(I) - B(I))/(2*H)
      DO 20 I = 1, 3
      D(I, 1) = (4*D(I, 2) - D(I, 1))/3
      D(I, 2) = (4*D(I, 3) - D(I, 2))/3
   20 R(I) = (16*D(I, 2) - D(I, 1))/15
      END
"
        );
    }
    let fortran = expand(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    for flags in runs {
        compare(&run(&fortran, flags), tolerance, &fortran);
    }
    let known = |c: &&Case| !NO_ADJOINTS.contains(&c.name);
    let cases: Vec<Case> = cases
        .iter()
        .filter(known)
        .map(|c| Case {
            name: c.name,
            text: c.text.clone(),
        })
        .collect();
    if !cases.is_empty() {
        check_adjoints(&cases, 1e-10, runs);
    }
    fortran
}

/// Compares gradients by ADR blocks with derivatives by ADF blocks: each row of the Jacobian
/// with its columns; in one program.
pub fn check_adjoints(cases: &[Case], tolerance: f64, runs: &[&[&str]]) -> String {
    let mut text = String::from(
        "      PROGRAM MAIN
      DOUBLE PRECISION X(3), V(3), Y(3), D(3), W(3), G(3)
      X(1) = 0.7D0
      X(2) = 1.3D0
      X(3) = -0.4D0
      DO 10 J = 1, 3
      DO 20 I = 1, 3
   20 V(I) = 0
      V(J) = 1
      DO 10 K = 1, 3
      DO 30 I = 1, 3
   30 W(I) = 0
      W(K) = 1
",
    );
    for (i, c) in cases.iter().enumerate() {
        let i = i + 1;
        let name = c.name;
        text += &format!(
            "      CALL D{i}(X, V, Y, D)
      CALL RR{i}(X, W, G)
      PRINT *, '{name}', G(J), D(K)
"
        );
    }
    text += "   10 CONTINUE\n      END\n";
    for (i, c) in cases.iter().enumerate() {
        let i = i + 1;
        text += &c.text.trim_start_matches('\n').replace('@', &i.to_string());
        text += &format!(
            "      SUBROUTINE D{i}(X, V, Y, D)
      DOUBLE PRECISION X(3), V(3), Y(3), D(3)
      ADF(TANGENT(X) = V)
      CALL F{i}(X, Y)
      END ADF(D = TANGENT(Y))
      END
      SUBROUTINE RR{i}(X, W, G)
      DOUBLE PRECISION X(3), W(3), Y(3), G(3)
      ADR(COTANGENT(Y) = W)
      CALL F{i}(X, Y)
      END ADR(G = COTANGENT(X))
      END
"
        );
    }
    let fortran = expand(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    for flags in runs {
        compare(&run(&fortran, flags), tolerance, &fortran);
    }
    fortran
}

/// Compares second derivatives in one direction, by AD of AD, with differences of first
/// derivatives by AD; in one program.
pub fn check_second(cases: &[Case], tolerance: f64) {
    let mut text = String::from(
        "      PROGRAM MAIN
      DOUBLE PRECISION X(3), V(3), Y(3), D(3), E(3), A(3), B(3), S(3)
      DOUBLE PRECISION R(3, 3), H
      DATA X /0.7D0, 1.3D0, -0.4D0/, V /1D0, -0.5D0, 0.75D0/
",
    );
    for (i, c) in cases.iter().enumerate() {
        let i = i + 1;
        text += &format!(
            "      CALL E{i}(X, V, Y, D, E)
      DO {i}1 K = 1, 3
      H = 0.01D0/2**(K - 1)
      DO {i}2 I = 1, 3
{i:>4}2 S(I) = X(I) + H*V(I)
      CALL D{i}(S, V, Y, A)
      DO {i}3 I = 1, 3
{i:>4}3 S(I) = X(I) - H*V(I)
      CALL D{i}(S, V, Y, B)
      DO {i}1 I = 1, 3
{i:>4}1 R(I, K) = (A(I) - B(I))/(2*H)
      DO {i}4 I = 1, 3
      R(I, 1) = (4*R(I, 2) - R(I, 1))/3
      R(I, 2) = (4*R(I, 3) - R(I, 2))/3
{i:>4}4 PRINT *, '{}', E(I), (16*R(I, 2) - R(I, 1))/15
",
            c.name
        );
    }
    text += "      END\n";
    for (i, c) in cases.iter().enumerate() {
        let i = i + 1;
        text += &c.text.trim_start_matches('\n').replace('@', &i.to_string());
        text += &format!(
            "      SUBROUTINE D{i}(X, V, Y, D)
      DOUBLE PRECISION X(3), V(3), Y(3), D(3)
      ADF(TANGENT(X) = V)
      CALL F{i}(X, Y)
      END ADF(D = TANGENT(Y))
      END
      SUBROUTINE E{i}(X, V, Y, D, E)
      DOUBLE PRECISION X(3), V(3), Y(3), D(3), E(3)
      ADF(TANGENT(X) = V)
      CALL D{i}(X, V, Y, D)
      END ADF(E = TANGENT(D))
      END
"
        );
    }
    let fortran = expand(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    for flags in [CHECKED, FAST] {
        compare(&run(&fortran, flags), tolerance, &fortran);
    }
}
