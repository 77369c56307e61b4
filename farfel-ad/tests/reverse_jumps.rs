//! Gradients of subprograms with jumps: reverse mode against forward mode and differences.

use crate::support::check;
use std::fmt::Write;

/// Bodies of `SUBROUTINE Fi(X, Y, N)` with X of three elements.
const CASES: &[&str] = &[
    // RETURN, and a jump over statements.
    "      Y = X(1)*X(2)
      IF (N .LT. 0) RETURN
      IF (N .EQ. 2) GOTO 10
      Y = Y*SIN(X(3))
   10 Y = Y*Y + X(1)
",
    // Out of loops: a search, RETURN inside, both loops at once.
    "      Y = 1
      DO 10 I = 1, 3
      IF (I .GT. N) GOTO 20
   10 Y = Y*X(I)
   20 Y = Y + I*X(1)
      DO J = 1, 3
        DO 30 K = 1, 3
          Y = Y + X(J)*X(K)**2
          IF (J*K .GT. N + 3) GOTO 40
   30   CONTINUE
      END DO
   40 DO 50 L = 3, 1, -1
        IF (L .EQ. N) RETURN
   50 Y = Y*COS(X(L))
      Y = Y + X(2)
",
    // Iterations: Heron's method, Newton's with two ends, a loop tested first.
    "      Y = X(1)
   10 OLD = Y
      Y = 0.5D0*(Y + X(1)/Y)
      IF (ABS(Y - OLD) .GT. 1D-12) GOTO 10
      IT = 0
      Z = X(2)
   20 IT = IT + 1
      STEP = (Z**3 - X(3))/(3*Z**2)
      IF (IT .GT. 40) GOTO 40
      Z = Z - STEP
      IF (ABS(STEP) .GT. 1D-13) GOTO 20
      Y = Y*Z
   30 IF (Y .GT. 10) GOTO 40
      Y = Y*Y + X(2)
      GOTO 30
   40 Y = Y*X(3)
",
    // CYCLE and EXIT of an outer loop; overwritten elements.
    "      DIMENSION W(4)
      W(1) = X(1)
      Y = 0
      OUTER: DO I = 1, 4
        DO J = 1, 3
          W(1) = W(1)*0.9D0 + X(J)*0.1D0
          IF (MOD(I + J, 3) .EQ. N) CYCLE OUTER
          IF (I*J .GT. 7) EXIT OUTER
          W(I) = W(1)*X(J)
          Y = Y + W(I)**2
        END DO
        Y = Y*X(2)
      END DO OUTER
",
    // Arithmetic IF, computed and assigned GOTO.
    "      IF (X(1)*(N - 1)) 10, 20, 30
   10 Y = EXP(X(1))
      GOTO 40
   20 Y = X(2)**3
   30 Y = X(2)*X(3)
   40 GOTO (50, 60, 50), N
      Y = Y*X(1)
   50 Y = Y*X(2)
   60 ASSIGN 70 TO L
      IF (N .GT. 1) ASSIGN 80 TO L
      GOTO L
   70 Y = Y*Y
   80 Y = Y + X(3)
",
    // A loop with two entries, and a function that is called once in each iteration.
    "      I = 0
      Y = X(1)
      IF (N .EQ. 1) GOTO 20
   10 Y = Y*X(2)
   20 Y = Y + X(3)**2
      I = I + 1
      IF (MOD(I, 2) .EQ. 0) GOTO 10
      IF (I .LT. 5) GOTO 20
      DO WHILE (HALF(Y) .GT. 0.3D0)
        Y = Y*X(3)/4
        I = I + 1
        IF (I .GT. 60) RETURN
      END DO
",
    // Alternate returns.
    "      CALL THREE(X, *10, Y, *20, N)
      Y = Y*X(1)
      RETURN
   10 Y = Y*X(2)
   20 Y = Y*X(3)
",
    // Loops with a real variable, and with another step.
    "      Y = 0
      DO 10 T = 0.25D0, 1.1D0, 0.25D0
      Y = Y + SIN(T*X(1))*X(2)
      IF (T .GT. 0.3D0*N) GOTO 20
   10 CONTINUE
   20 Y = Y*T
      M = N + 4
      DO 30 I = M, 1, -2
      M = 0
      Y = Y + X(3)**I
      IF (Y .GT. 30) GOTO 40
   30 CONTINUE
   40 Y = Y*I
",
];

const HELPERS: &str = "
      FUNCTION HALF(Y)
      IMPLICIT DOUBLE PRECISION (A-H,O-Z)
      IF (Y .LT. 0) GOTO 10
      HALF = Y/2
      RETURN
   10 HALF = -Y/2
      END

      SUBROUTINE THREE(X, *, Y, *, N)
      IMPLICIT DOUBLE PRECISION (A-H,O-Z)
      DIMENSION X(3)
      Y = X(1)*X(2)
      IF (N .EQ. 1) RETURN 1
      Y = Y*X(3)
      RETURN N
      END
";

/// ENTRY points, in reverse mode.
const ENTRIES: &str = "
      PROGRAM P
      IMPLICIT DOUBLE PRECISION (A-H,O-Z)
      DIMENSION X(3), G(3)
      DO N = 1, 3
        X(1) = 1.3D0
        X(2) = 0.8D0
        X(3) = 1.1D0
        ADR(Y)
        CALL F(X, Y, N)
        END ADR(G = COTANGENT(X))
        IF (N .EQ. 2) THEN
          Z = X(1)**2*X(2) + 1
          DZ = X(2)
        ELSE
          Z = X(1)**2*X(2)**2 + 1
          DZ = X(2)**2
        END IF
        E = EXP(X(3))
        PRINT *, 'Y', Y, Z + E*X(1) + Z*X(2)
        PRINT *, 'G1', G(1), 2*X(1)*DZ*(1 + X(2)) + E
        D = 2*X(1)**2*X(2)
        IF (N .EQ. 2) D = X(1)**2
        PRINT *, 'G2', G(2), D*(1 + X(2)) + Z
        PRINT *, 'G3', G(3), E*X(1)
      END DO
      Z = 5
      CALL MORE(X(1), Z, 2)
      PRINT *, 'Z', Z, 5*X(1) + 1
      END

      SUBROUTINE F(X, Y, N)
      IMPLICIT DOUBLE PRECISION (A-H,O-Z)
      DIMENSION X(3)
      CALL FIRST(X(1), Y, N)
      CALL MORE(X(2), Y, N)
      Y = Y + THIRD(X(3))*X(1) + FOURTH(Y, X(2))
      END

      SUBROUTINE FIRST(A, Y, N)
      IMPLICIT DOUBLE PRECISION (A-H,O-Z)
      Y = A*A
      RETURN
      ENTRY MORE(B, Y, N)
      IF (N .EQ. 2) GOTO 10
      Y = Y*B
   10 Y = Y*B + 1
      END

      FUNCTION THIRD(A)
      IMPLICIT DOUBLE PRECISION (A-H,O-Z)
      THIRD = EXP(A)
      RETURN
      ENTRY FOURTH(A, B)
      FOURTH = A*B
      END
";

fn program() -> String {
    let mut text = String::from(
        "      PROGRAM P
      IMPLICIT DOUBLE PRECISION (A-H,O-Z)
      DIMENSION X(3)
",
    );
    for i in 0..CASES.len() {
        writeln!(text, "      EXTERNAL F{i}").unwrap();
    }
    text += "      DO N = -1, 4\n";
    text += "      X(1) = 1.3D0\n      X(2) = 0.8D0 + 0.1D0*N\n      X(3) = 1.1D0\n";
    for i in 0..CASES.len() {
        writeln!(text, "      CALL CHECK(F{i}, X, N, {i})").unwrap();
    }
    text += "      END DO
      END

      SUBROUTINE CHECK(F, X, N, K)
      IMPLICIT DOUBLE PRECISION (A-H,O-Z)
      EXTERNAL F
      DIMENSION X(3), G(3), Z(3)
      Z = X
      ADR(Y)
      CALL F(Z, Y, N)
      END ADR(G = COTANGENT(Z))
      H = 1D-5
      DO I = 1, 3
        Z = X
        ADF(TANGENT(Z(I)) = 1)
        CALL F(Z, Y, N)
        END ADF(D = TANGENT(Y))
        PRINT 90, 'AD', K, N, I, G(I), D
        Z(I) = X(I) + H
        CALL F(Z, A, N)
        Z(I) = X(I) - H
        CALL F(Z, B, N)
        D = (A - B)/(2*H)
        IF (ABS(G(I) - D) .GT. 1D-7*(1 + ABS(D)))
     +    PRINT 90, 'DIFF', K, N, I, G(I), D
      END DO
   90 FORMAT (A,I0,'(',I0,')',I0,2ES25.15)
      END
";
    for (i, body) in CASES.iter().enumerate() {
        write!(
            text,
            "      SUBROUTINE F{i}(X, Y, N)
      IMPLICIT DOUBLE PRECISION (A-H,O-Z)
      DIMENSION X(3)
{body}      END
"
        )
        .unwrap();
    }
    text + HELPERS
}

#[test]
fn gradients_of_programs_that_jump() {
    check(&program(), 1e-11);
}

#[test]
fn gradients_through_entries() {
    check(ENTRIES, 1e-13);
}
