//! Constructs of Fortran in both modes: Jacobians by columns, by rows, and by differences.

use crate::support::jacobian::{Case, check_cases, check_cases_with};
use crate::support::{CHECKED, FAST, check, expand_warning};
use insta::assert_snapshot;

const CASES: &[(&str, &str)] = &[
    (
        "entries",
        "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), FA@, FB@, C
      COMMON /K@/ C
      CALL E1@(X, Y(1))
      CALL E2@(X(2), Y(2), X(3))
      Y(3) = FA@(X(1)) + FB@(X(2), X(3))
      CALL E2@(2D0, C, 3D0)
      Y(3) = Y(3)*C
      END
      SUBROUTINE E1@(A, B)
      DOUBLE PRECISION A, B, C
      B = A*A
      GOTO 10
      ENTRY E2@(A, B, C)
      B = A*C
   10 B = B*A + 1
      END
      DOUBLE PRECISION FUNCTION FA@(U)
      DOUBLE PRECISION U, V, FB@
      FA@ = SIN(U)
      RETURN
      ENTRY FB@(U, V)
      FB@ = U*V*V
      END
",
    ),
    (
        "absolute_values",
        "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A, B
      A = X(1)*X(2)
      B = X(3) - A
      Y(1) = ABS(DCMPLX(A, B)*DCMPLX(B, 2*A)*X(1))
      Y(2) = ABS(DCMPLX(A*B, SIN(B)))*CABS(CMPLX(1.0, 2.0))
      Y(3) = HYPOT(A*B, SIN(A)*B) + ATAN2(A*B + 1, B - A/X(2))
      END
",
    ),
    (
        "common_of_two_shapes",
        "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A, B, C(2)
      COMMON /BL@/ A, B, C
      A = X(1)
      B = X(2)*A
      C(1) = X(3)
      C(2) = A*B
      CALL G@(Y(2))
      Y(1) = A*C(1)
      Y(3) = B + C(2)
      END
      SUBROUTINE G@(R)
      DOUBLE PRECISION V(4), R
      COMMON /BL@/ V
      DO I = 2, 4
        V(I) = V(I)*V(I-1)
      END DO
      R = V(4) + V(3)
      END
",
    ),
    (
        "common_of_many_types",
        "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3)
      Y(3) = X(1)*X(3)
      CALL G@(X)
      CALL H@(Y(1), Y(2))
      CALL G@(Y)
      CALL H@(Y(3), Y(2))
      CALL Q@(Y(1))
      END
      SUBROUTINE G@(X)
      DOUBLE PRECISION X(3), A, B
      LOGICAL L, M
      COMPLEX*16 Z
      COMMON /BL@/ A, K, L, Z, B
      K = 3
      L = .TRUE.
      A = X(1)*X(2)
      Z = DCMPLX(X(3), A)
      B = 2
      END
      SUBROUTINE H@(R, S)
      DOUBLE PRECISION A, R, S, P(3)
      INTEGER KL(2)
      COMMON /BL@/ A, KL, P
      R = P(1)*A + P(2)
      P(3) = P(3)*P(1)
      A = R
      S = P(3)**2*KL(1)
      END
      SUBROUTINE Q@(R)
      DOUBLE PRECISION R, W(5)
      COMMON /BL@/ W
      R = R*W(1) + W(5)
      W(2) = R
      W(2) = W(2)*W(2)
      R = R + W(2)
      END
",
    ),
    (
        "tied_by_an_integer",
        "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A(3), B(2)
      INTEGER K(12)
      EQUIVALENCE (A(1), K(1)), (K(5), B(1))
      A(1) = X(1)
      A(2) = X(2)
      A(3) = X(3)
      B(2) = A(1) - A(2)
      B(1) = A(1)*A(3)
      Y(1) = A(3)*B(2)
      Y(2) = A(2)*B(1)*A(1)
      Y(3) = B(1)*B(2) + A(2)
      END
",
    ),
    (
        "equivalence_and_shapes",
        "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A, B, C(2), D, E(3), T(4)
      COMMON /P@/ A, B
      COMMON /R@/ C, D
      EQUIVALENCE (E(1), C(1)), (T(3), U)
      REAL U
      A = X(1)
      B = X(2)
      E(1) = A*B
      E(2) = X(3)
      D = C(1)*E(2)
      U = 2
      E(3) = E(3)*E(1)
      CALL G@
      Y(1) = A*D
      Y(2) = B + C(1)
      Y(3) = C(2)*E(3)
      END
      SUBROUTINE G@
      COMPLEX*16 Z
      COMMON /P@/ Z
      DOUBLE PRECISION V(3)
      COMMON /R@/ V
      Z = Z*Z + V(1)
      V(2) = V(2)*DIMAG(Z) + V(3)
      END
",
    ),
    (
        "equivalence_over_common",
        "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A, B, C(2)
      COMMON /BL@/ A, B, C
      DOUBLE PRECISION E(4)
      EQUIVALENCE (E(1), A)
      A = X(1)
      B = X(2)*A
      E(3) = X(3)
      C(2) = A*B
      E(2) = E(2)*E(1)
      Y(1) = A*C(1)
      Y(2) = E(4)
      Y(3) = B + C(2)
      END
",
    ),
    (
        "common_of_two_sizes",
        "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A, B, D(4)
      COMMON /BL@/ A, B
      COMMON /EX@/ C
      EQUIVALENCE (C, D(1))
      DOUBLE PRECISION C
      A = X(1)
      B = X(2)*A
      C = X(3)
      D(3) = X(1)*X(3)
      CALL G@(Y(1))
      Y(2) = A*B + C
      CALL H@(Y(3))
      END
      SUBROUTINE G@(R)
      DOUBLE PRECISION V(4), R, E(4)
      COMMON /BL@/ V
      COMMON /EX@/ E
      V(3) = V(1)*V(2)
      V(2) = V(2)*V(3)
      V(4) = SIN(V(3))*E(3)
      E(1) = E(1)*E(3)
      R = V(4) + V(2)
      END
      SUBROUTINE H@(R)
      DOUBLE PRECISION R
      COMPLEX*16 U, Z
      COMMON /BL@/ U, Z
      R = DBLE(Z)*DIMAG(U) + DIMAG(Z)**2
      END
",
    ),
    (
        "active_loop_control",
        "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), T, S
      LOGICAL MORE@
      S = 0
      DO 10 T = X(3), X(1) + 1, X(2)/5 + 0.033D0
        DO 10 I = 1, 3
          IF (I .EQ. 2) GOTO 10
          S = S + T*T*I
   10 CONTINUE
      Y(1) = S*T
      DO T = 1D0, X(1) + 1, 0.3D0*X(2)
        IF (T .GT. 1.2D0 .AND. T .LT. 1.7D0) CYCLE
        S = S*T
        IF (S .GT. 20) EXIT
      END DO
      Y(2) = S*T
      DO T = X(1), X(3), 0.5D0
        S = 0
      END DO
      Y(2) = Y(2) + T
      Y(3) = X(1)
      DO WHILE (MORE@(Y(3), X))
        IF (Y(3) .GT. 4.6D0) CYCLE
        Y(3) = Y(3) + X(3)**2
      END DO
      Y(3) = Y(3)*X(1)
      END
      LOGICAL FUNCTION MORE@(Y, X)
      DOUBLE PRECISION X(3), Y
      Y = Y*X(2)
      MORE@ = Y .LT. 6
      END
",
    ),
    (
        "equivalence_with_common_in_a_callee",
        "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), C(2)
      COMMON /Q@/ C
      C(1) = X(1)
      C(2) = X(2)*X(3)
      CALL G@(Y(3))
      Y(1) = C(1)*X(3)
      Y(2) = C(1)*C(2)
      END
      SUBROUTINE G@(R)
      DOUBLE PRECISION C(2), E, R
      COMMON /Q@/ C
      EQUIVALENCE (C(2), E)
      R = E*C(1)
      C(1) = C(1)*E
      END
",
    ),
    (
        "equivalence_and_save",
        "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), T(2), U, V
      REAL R
      EQUIVALENCE (T(1), U), (T(2), V)
      SAVE T
      U = X(1)
      V = X(2)*U
      T(1) = T(2)*X(3)
      Y(1) = U
      Y(2) = V*U
      Y(3) = T(1) + T(2)
      END
",
    ),
];

#[test]
fn constructs() {
    let cases: Vec<Case> = CASES
        .iter()
        .map(|(name, text)| Case {
            name,
            text: (*text).into(),
        })
        .collect();
    check_cases(&cases, 1e-7);
}

/// At -O2, gfortran 12 vectorises loops over Q as if Q(2) could not be E: derivatives name it Q(2).
#[test]
fn scalars_over_elements() {
    let texts = [
        (
            "in_common",
            "
      SUBROUTINE F@(X, Y)
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      DIMENSION X(3), Y(3), D(3)
      COMMON /KE@/ P, Q(3)
      EQUIVALENCE (Q(2), E)
      P = 0.7D0*X(1)
      DO 5 I = 1, 3
    5 D(I) = 0.57D0 + 0.117D0*I
      E = 0.85D0 + 0.7D0*X(3)
      DO 10 I = 1, 3
   10 Q(I) = COS(D(I)*(0.015D0 + 0.25D0*E**2))
      DO 20 I = 1, 3
   20 Y(I) = X(2)*X(I)
      Y(3) = Y(3) + Q(3)/(1.5D0 + ABS(P - 0.0171D0))
      END
",
        ),
        (
            "of_a_matrix",
            "
      SUBROUTINE F@(X, Y)
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      DIMENSION X(3), Y(3), A(0:1, -1:1), V(6), C(2)
      EQUIVALENCE (A(0, -1), V(1)), (A(1, 0), S), (V(5), T, C(1))
      DO 10 J = -1, 1
      DO 10 I = 0, 1
   10 A(I, J) = X(J + 2)*(I + 1.3D0) + X(1)*J
      S = S*T + C(2)
      T = SIN(S)*C(1)
      DO 20 I = 1, 6
      V(I) = V(I)*S
   20 S = S - V(7 - I)*T
      Y(1) = S + A(0, 1)
      Y(2) = T*V(2)
      Y(3) = C(2) + V(4)
      END
",
        ),
    ];
    let cases = texts.map(|(name, text)| Case {
        name,
        text: text.into(),
    });
    check_cases_with(&cases, 1e-7, &[CHECKED, FAST, &["-O2"]]);
}

/// Where functions have no derivative, both modes use the values that the README gives, without NaN.
#[test]
fn kinks_and_edges() {
    // The row of the Jacobian, the column, and the value; all others are zero.
    let known = "
      DATA R /24*0D0, 24*0D0, 24*0D0, 24*0D0, 24*0D0, 24*0D0/
      R(1, 1) = 1
      R(2, 1) = 1
      R(3, 1) = 1
      R(4, 3) = 1
      R(5, 1) = -1
      R(7, 1) = 1
      R(15, 3) = 1
      R(18, 1) = 1
      R(19, 1) = 1
      R(20, 3) = -2
      R(20, 5) = 1
      R(21, 6) = 3
      R(22, 1) = 1
      R(24, 1) = 2
";
    let functions = "
      SUBROUTINE F(X, Y)
      DOUBLE PRECISION X(6), Y(24)
      INTEGER N
      Y(1) = MAX(X(1), X(2))
      Y(2) = MIN(X(1), X(2))
      Y(3) = ABS(X(1))
      Y(4) = SIGN(X(3), X(1))
      Y(5) = SIGN(X(1), X(6))
      N = 0
      Y(6) = X(1)**N
      N = 1
      Y(7) = X(1)**N
      N = 2
      Y(8) = X(1)**N
      Y(9) = X(1)**X(5)
      Y(10) = X(1)**2
      Y(11) = SQRT(X(1))
      Y(12) = X(1)**1.5D0
      Y(13) = X(3)**X(1)
      Y(14) = DIM(X(1), X(2))
      Y(15) = MAX(X(3), X(4), X(5) - 1)
      Y(16) = HYPOT(X(1), X(2))
      Y(17) = ABS(DCMPLX(X(1), X(2)))
      Y(18) = ABS(MAX(X(1), X(2))) + SQRT(X(1)*X(2))
      Y(19) = X(1)**1
      Y(20) = MOD(X(5), X(3))
      N = 3
      Y(21) = X(6)**N
      Y(22) = MAX(X(1), 0D0) + MIN(0D0, X(1))
      Y(23) = SQRT(X(1)**2 + X(2)**2)
      Y(24) = X(1)**1D0 + X(1)**X(3)
      END
";
    let text = format!(
        "
      PROGRAM MAIN
      DOUBLE PRECISION X(6), Y(24), D(24), G(6), W(24), V(6), R(24, 6)
{}
      DATA X /0D0, 0D0, 1D0, 1D0, 2D0, -1D0/
{}
      DO J = 1, 6
        DO I = 1, 6
          V(I) = 0
        END DO
        V(J) = 1
        ADF(TANGENT(X) = V)
          CALL F(X, Y)
        END ADF(D = TANGENT(Y))
        DO K = 1, 24
          DO I = 1, 24
            W(I) = 0
          END DO
          W(K) = 1
          ADR(COTANGENT(Y) = W)
            CALL F(X, Y)
          END ADR(G = COTANGENT(X))
          PRINT *, K*10 + J, D(K), R(K, J)
          PRINT *, -K*10 - J, G(J), R(K, J)
        END DO
      END DO
      END{functions}",
        known.lines().nth(1).unwrap(),
        known.lines().skip(2).collect::<Vec<_>>().join("\n"),
    );
    check(text.trim_start_matches('\n'), 1e-15);
}

/// Values that are read back have derivative zero: there is a warning where they are written.
#[test]
fn output_of_active_values() {
    let of = |mode: &str, end: &str| {
        format!(
            "      SUBROUTINE MAIN(X, D)
      DOUBLE PRECISION X, Y, D
      {mode}
      CALL F(X, Y)
      {end}
      END
      SUBROUTINE F(X, Y)
      DOUBLE PRECISION X, Y, Z
      CHARACTER*30 LINE
      NAMELIST /ALL/ Z, Y
      NAMELIST /PART/ Z
      Y = X*X
      PRINT *, Y
      WRITE (*, *) Y, X
      WRITE (6, 10) Y
   10 FORMAT (E20.10)
      Z = 3
      WRITE (9) Z, 4D0
      WRITE (9) Z, (Y*I, I = 1, 2)
      WRITE (LINE, 10) Y
      READ (LINE, 10) Z
      WRITE (9, NML=PART)
      WRITE (*, ALL)
      WRITE (9, ALL)
      Y = Y*Z
      END
"
        )
    };
    let warnings = |text: &str| expand_warning(text).unwrap_or_else(|e| panic!("{e}")).1;
    assert_snapshot!(warnings(&of("ADF(X)", "END ADF(D = TANGENT(Y))")), @r"
    F0311 19:20 this value carries a derivative, and is written without it
    F0311 20:24 this value carries a derivative, and is written without it
    F0311 24:17 this value carries a derivative, and is written without it
    ");
    assert_snapshot!(warnings(&of("ADR(Y)", "END ADR(D = COTANGENT(X))")), @r"
    F0311 19:20 this value carries a derivative, and is written without it
    F0311 20:24 this value carries a derivative, and is written without it
    F0311 24:17 this value carries a derivative, and is written without it
    ");
}

/// Values that are read have derivative zero, whatever the variable had before.
#[test]
fn input_into_active_variables() {
    check(
        "
      PROGRAM MAIN
      DOUBLE PRECISION X, Y, D, G, E
      X = 2
      ADF(X)
      CALL F(X, Y)
      END ADF(D = TANGENT(Y))
      ADR(Y)
      CALL F(X, Y)
      END ADR(G = COTANGENT(X))
      E = 3*X**2 + 2*(4 + 3)
      PRINT *, 'y', Y, X**3 + 2*(X*7 + 3)
      PRINT *, 'd', D, E
      PRINT *, 'g', G, E
      END
      SUBROUTINE F(X, Y)
      DOUBLE PRECISION X, Y, Z, A(3), B
      CHARACTER*60 LINE
      Z = X*X
      DO I = 1, 3
        A(I) = X*I
      END DO
      B = X
      WRITE (LINE, '(3F20.10)') 3D0, 4D0, 2D0
      READ (LINE, '(2F20.10)') Z, (A(I), I = 2, 2)
C     Two and four are constants now, A(1) and A(3) are not.
      Y = X*X*X + (A(1)*A(2) + A(3))*2 + (Z - 3)*B*X + 6
      END
",
        1e-12,
    );
}

/// EQUIVALENCE, and a SAVE for everything: variables that EQUIVALENCE places in COMMON, and variables that
/// keep their values by SAVE.
#[test]
fn everything_saved_with_equivalence() {
    for (declared, before) in [
        ("COMMON /Q/ A", "A(1) = 1\n      A(3) = 3"),
        ("DATA A /1D0, 2D0, 3D0, 4D0/", "CONTINUE"),
    ] {
        let common = match declared.contains("COMMON") {
            true => "      COMMON /Q/ A\n",
            false => "",
        };
        check(
            &format!(
                "      PROGRAM MAIN
      DOUBLE PRECISION X, Y, D, G, R, A(4)
{common}      X = 0.7D0
      {before}
      ADF(TANGENT(X) = 1)
      CALL F(X, Y)
      END ADF(D = TANGENT(Y))
      R = 3*(3*X**2 + 1)**2 + 36*X**2*(3*X**2 + 1)
      PRINT *, 'tangent', D, R
      ADR(COTANGENT(Y) = 1)
      CALL F(X, Y)
      END ADR(G = COTANGENT(X))
      PRINT *, 'adjoint', G, R
      CALL F(X, Y)
      PRINT *, 'value', Y, 3*X*(3*X**2 + 1)**2
      END
      SUBROUTINE F(X, Y)
      DOUBLE PRECISION X, Y, A(4), B(2), C
      {declared}
      EQUIVALENCE (A(2), B(1)), (A(4), C)
      SAVE
      A(2) = A(3)*X
      C = B(1)*X + A(1)
      B(2) = B(1)*C
      Y = A(3)*A(4)
      A(3) = 3
      END
"
            ),
            1e-13,
        );
    }
}

/// A subprogram only calls another one that assigns a constant to a COMMON variable: no derivative comes from
/// before, wherever the call is.
#[test]
fn constants_that_calls_put_into_common() {
    for declared in ["", "      DOUBLE PRECISION P, Q\n      COMMON P, Q\n"] {
        let block = |n: usize, open: &str, close: &str| {
            format!(
                "      SUBROUTINE T{n}
      DOUBLE PRECISION P, Q, X, G
      COMMON P, Q
      P = 2
      Q = 3
      {open}
      DO I = 1, 3
        X = P*Q
        IF (Q .GT. 1) CALL RESET
      END DO
      X = X + P*P*5 + Q*Q
      {close}
      PRINT *, 'T{n}', G, 0D0
      END
"
            )
        };
        let text = format!(
            "      PROGRAM MAIN
      CALL T1
      CALL T2
      END
{}{}      SUBROUTINE RESET
{declared}      CALL CONST
      END
      SUBROUTINE CONST
      DOUBLE PRECISION P, Q
      COMMON P, Q
      P = 1
      END
",
            block(1, "ADF(P)", "END ADF(G = TANGENT(X))"),
            block(2, "ADR(X)", "END ADR(G = COTANGENT(P))"),
        );
        check(&text, 1e-12);
    }
}
