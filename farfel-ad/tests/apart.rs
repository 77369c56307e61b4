//! Loops without directives whose iterations are executed again instead of using a tape.

use crate::support::{CHECKED, FAST, expand, run};

/// A main program around F(N, X, Y). It compares the derivatives by the adjoint and by the tangent, which
/// need not agree bit for bit.
fn program(body: &str) -> String {
    format!(
        "
      PROGRAM P
      DOUBLE PRECISION X(30), Y(30), G(30), D(30), S, T
      INTEGER I, L, N
      DO L = 1, 3
        N = 12*L - 8
        DO I = 1, 30
          X(I) = 0.4D0 + SIN(1D0*I)
          Y(I) = 0
        END DO
        ADR((COTANGENT(Y(I)) = COS(1D0*I), I = 1, N))
        CALL F(N, X, Y)
        END ADR((G(I) = COTANGENT(X(I)), I = 1, N))
        DO I = 1, 30
          X(I) = 0.4D0 + SIN(1D0*I)
          Y(I) = 0
        END DO
        ADF((TANGENT(X(I)) = I, I = 1, N))
        CALL F(N, X, Y)
        END ADF((D(I) = TANGENT(Y(I)), I = 1, N))
        S = 0
        T = 0
        DO I = 1, N
          S = S + G(I)*I
          T = T + D(I)*COS(1D0*I)
        END DO
        IF (ABS(S - T) .GT. 1D-12*(1 + ABS(S))) PRINT *, 'wrong', S, T
        PRINT *, 'done'
      END DO
      END
      SUBROUTINE F(N, X, Y)
      INTEGER N, I, J, K
      DOUBLE PRECISION X(N), Y(N), S, T, W(3), C, A(5), Q
      COMMON /Q/ Q
{body}      END
"
    )
}

/// Whether a loop records values on a tape in each iteration.
fn keeps(body: &str) -> bool {
    let text = expand(&program(body)).unwrap_or_else(|e| panic!("{e}"));
    for flags in [CHECKED, FAST] {
        let said = run(&text, flags);
        assert_eq!(
            said.split_whitespace().collect::<Vec<_>>(),
            ["done"; 3],
            "{body}"
        );
    }
    // The size of the tape then depends on N.
    text.contains("ALLOCATE (TAPE") && text.contains("MAX(N")
}

#[test]
fn cheap_iterations_are_carried_out_again() {
    for body in [
        "      DO I = 1, N
        T = EXP(-X(I))
        Y(I) = T*T*X(I)
      END DO
",
        "      DO I = 1, N
        W(1) = X(I)*0.3D0
        W(2) = W(1)*X(I)
        W(3) = W(2)/W(1)
        Y(I) = W(1)*W(2)*W(3)
      END DO
      Y(N) = Y(N)*W(2)
",
        // In another loop, together with what that one changes.
        "      T = 1
      DO J = 1, 3
        T = T*X(J)
        DO I = 1, N
          S = SIN(X(I)*T)
          Y(I) = S*S*T
        END DO
      END DO
",
    ] {
        assert!(!keeps(body), "{body}");
    }
}

#[test]
fn other_loops_keep_what_they_need() {
    for body in [
        // An iteration reads what another one computes.
        "      S = 1
      DO I = 1, N
        S = S*X(I)
        IF (S .GT. 0.5D0) S = S*S
        Y(I) = S*S
      END DO
",
        "      T = X(1)
      DO I = 1, N
        IF (X(I) .GT. 0.5D0) T = X(I)*0.9D0
        IF (X(I) .LT. 0D0) T = T*T
        Y(I) = T*T*X(I)
      END DO
",
        "      DO K = 1, 5
        A(K) = X(1)
      END DO
      DO I = 1, N
        K = MOD(I, 5) + 1
        A(K) = A(K)*X(I)
        IF (X(I) .GT. 0.5D0) A(K) = A(K)**2
        Y(I) = A(K)*A(MOD(I+1, 5) + 1)
      END DO
",
        // In place.
        "      DO I = 1, N
        X(I) = X(I)**2
        IF (X(I) .GT. 0.5D0) X(I) = X(I)**2
        Y(I) = X(I)**2
      END DO
",
        // A single iteration needs a tape, too.
        "      DO I = 1, N
        S = 0
        DO K = 1, 8
          S = S*X(I) + K
        END DO
        Y(I) = S*S
      END DO
",
        // Expensive iterations.
        "      DO I = 1, N
        T = 1.5D0
        DO K = 1, 3
          T = EXP(-SIN(T*X(I)))*EXP(COS(T))**1.1D0
        END DO
        Y(I) = T*T
      END DO
",
    ] {
        assert!(keeps(body), "{body}");
    }
}
