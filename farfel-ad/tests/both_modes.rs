//! Constructs of Fortran in both modes: Jacobians by columns, by rows, and by differences.

mod support;
use insta::assert_snapshot;
use support::jacobian::{Case, check_cases};
use support::{check, expand_warning};

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

/// Where functions have no derivative, both modes take what the README says, without NaN.
#[test]
fn kinks_and_edges() {
    // The row of the Jacobian, the column, and what stands there; elsewhere zero.
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

/// Values that are read back have derivative zero: what is written is said.
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
      Y = Y*Z
      END
"
        )
    };
    let warnings = |text: &str| expand_warning(text).unwrap_or_else(|e| panic!("{e}")).1;
    assert_snapshot!(warnings(&of("ADF(X)", "END ADF(D = TANGENT(Y))")), @r"
    F0311 17:20 this value carries a derivative, and is written without it
    F0311 18:24 this value carries a derivative, and is written without it
    ");
    assert_snapshot!(warnings(&of("ADR(Y)", "END ADR(D = COTANGENT(X))")), @r"
    F0311 17:20 this value carries a derivative, and is written without it
    F0311 18:24 this value carries a derivative, and is written without it
    ");
}

/// What is read has derivative zero, whatever the variable had before.
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
