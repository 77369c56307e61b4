//! COMMON blocks that units divide into different variables.

mod support;

use support::check;

/// Values that are needed after a loop whose counter is in the same block.
const COUNTED: &str = "
      PROGRAM MAIN
      DOUBLE PRECISION X, Y, G
      X = 0.7D0
      CALL GRAD(X, Y, G)
      PRINT *, 'gradient', G, 8*COS(X**2)*X**7 - 2*SIN(X**2)*X**9
      PRINT *, 'value', Y, COS(X**2)*X**8
      END
      SUBROUTINE GRAD(X, Y, G)
      DOUBLE PRECISION X, Y, G
      ADR(Y)
      CALL HEAD(X, Y)
      END ADR(G = COTANGENT(X))
      END
      SUBROUTINE HEAD(X, Y)
      DOUBLE PRECISION X, Y, UNUSED(40), H
      COMMON /S/ UNUSED, H, N
      H = X
      DO 10 N = 1, 3
   10 CALL STEP
      N = 0
      CALL LAST
      Y = H
      END
      SUBROUTINE STEP
      DOUBLE PRECISION RATE, EL(39), H
      COMMON /S/ RATE, EL, H, N
      RATE = H
      EL(N) = RATE*H
      H = EL(N)
      END
      SUBROUTINE LAST
      DOUBLE PRECISION UNUSED(38), A, B, H
      COMMON /S/ UNUSED, A, B, H, N
      A = H
      B = A**0.25D0
      IF (N .EQ. 0) H = COS(B)*A
      END
";

#[test]
fn what_shares_a_block_with_a_counter_is_needed_after_the_loop() {
    // A and B are in the same place as elements of EL.
    check(COUNTED, 1e-10);
}

#[test]
fn what_shares_storage_with_a_counter_is_needed_in_the_loop() {
    check(
        "
      PROGRAM MAIN
      DOUBLE PRECISION X, Y, G
      X = 0.7D0
      CALL GRAD(X, Y, G)
      PRINT *, 'gradient', G, 7*X**6 + 13*X**12 + 3*X**2
      PRINT *, 'value', Y, X**7 + X**13 + X**3
      END
      SUBROUTINE GRAD(X, Y, G)
      DOUBLE PRECISION X, Y, G
      ADR(Y)
      CALL F(X, Y)
      END ADR(G = COTANGENT(X))
      END
      SUBROUTINE F(X, Y)
      DOUBLE PRECISION X, Y, A(4), B(4), Z
      INTEGER K(8)
      EQUIVALENCE (A, K), (K(7), I), (K(8), J), (A(2), Z), (B(2), A)
      Z = X**2
      Y = X
      DO 10 I = 1, 3
        J = 2*I
        Y = Y*Z
        IF (K(7) .EQ. 3) THEN
          Z = Y*X**(J - K(7))
          Y = Y + Z*X**(K(8) - 3)
        END IF
        J = 1
   10 CONTINUE
      Y = Y + X**J*Z*0 + X**(J + 2)
      END
",
        1e-10,
    );
}
