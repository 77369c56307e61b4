//! Both sweeps in one subprogram, for heads that end with a call.

use crate::support::{CHECKED, FAST, compare, expand_with, run};
use farfel_ad::Builtin;
use insta::assert_snapshot;

const CALLS: &str = "
      PROGRAM MAIN
      DOUBLE PRECISION X(4)
      INTEGER K
      EXTERNAL CHAIN, BEHIND, SCALED, SQUARE, RESET, TWICE, LOST, SHARED,
     +    PARTS, PAIRS
      DO K = 1, 4
        X(K) = 0.3D0*K + 0.1D0
      END DO
      CALL CHECK('chain', CHAIN, X)
      CALL CHECK('behind', BEHIND, X)
      CALL CHECK('scaled', SCALED, X)
      CALL CHECK('square', SQUARE, X)
      CALL CHECK('reset', RESET, X)
      CALL CHECK('twice', TWICE, X)
      CALL CHECK('lost', LOST, X)
      CALL CHECK('shared', SHARED, X)
      CALL CHECK('parts', PARTS, X)
      CALL CHECK('pairs', PAIRS, X)
      END
C     The gradient against tangents.
      SUBROUTINE CHECK(NAME, F, X)
      CHARACTER*(*) NAME
      DOUBLE PRECISION X(4), Z(4), V(4), Y(3), U(3), G(4), D(3), E
      INTEGER K, L
      EXTERNAL F
      DO L = 1, 3
        U(L) = 2 - 0.7D0*L
      END DO
      DO L = 1, 4
        Z(L) = X(L)
      END DO
      ADR(COTANGENT(Y) = U)
        CALL F(Z, Y)
      END ADR(G = COTANGENT(Z))
      DO K = 1, 4
        DO L = 1, 4
          Z(L) = X(L)
          V(L) = 0
        END DO
        V(K) = 1
        ADF(TANGENT(Z) = V)
          CALL F(Z, Y)
        END ADF(D = TANGENT(Y))
        E = 0
        DO L = 1, 3
          E = E + U(L)*D(L)
        END DO
        PRINT *, NAME, G(K), E
      END DO
      END
      SUBROUTINE CHAIN(X, Y)
      DOUBLE PRECISION X(4), Y(3)
      CALL MIDDLE(X(1), X(2), X, Y)
      END
      SUBROUTINE MIDDLE(A, B, X, Y)
      DOUBLE PRECISION A, B, C, X(4), Y(3)
      C = A*B
      CALL WORK(C, X, Y)
      END
      SUBROUTINE WORK(C, X, Y)
      DOUBLE PRECISION C, S, X(4), Y(3)
      INTEGER K
      S = C
      DO K = 1, 4
        IF (S .LT. 1) THEN
          S = S*X(K) + EXP(X(K))
        ELSE
          S = S - X(K)**3
        END IF
      END DO
      Y(1) = S
      Y(2) = S*C
      Y(3) = SIN(S)
      END
C     What is behind the call is linear.
      SUBROUTINE BEHIND(X, Y)
      DOUBLE PRECISION X(4), Y(3), P(3)
      CALL WORK(X(4), X, P)
      Y(1) = P(3)
      Y(2) = P(1) - 2*P(2)
      Y(3) = X(1)
      END
C     It has factors from before the call.
      SUBROUTINE SCALED(X, Y)
      DOUBLE PRECISION X(4), Y(3), P(3), C
      INTEGER K
      C = 1.5D0
      CALL WORK(X(4), X, P)
      DO K = 1, 3
        IF (K .LT. 3) THEN
          Y(K) = C*P(K)
        ELSE
          Y(K) = P(K)/K
        END IF
      END DO
      END
C     It has factors from the call.
      SUBROUTINE SQUARE(X, Y)
      DOUBLE PRECISION X(4), Y(3), P(3), C
      INTEGER K
      CALL WORK(X(4), X, P)
      C = P(1)
      DO K = 1, 3
        Y(K) = C*P(K)
      END DO
      END
C     The call reads what is set behind it, and sets what is needed before it.
      SUBROUTINE RESET(X, Y)
      DOUBLE PRECISION X(4), Y(3), C, Q(3)
      INTEGER K
      K = 2
      Y(1) = X(1)*X(2)
      C = Y(1)**2
      CALL ADDS(C, X, K, Y)
      K = 3
      Q(K) = X(K)
      Y(3) = Y(3) + X(K)*Q(K)
      END
      SUBROUTINE ADDS(C, X, K, Y)
      DOUBLE PRECISION C, X(4), Y(3)
      INTEGER K
      Y(2) = X(K)*C + Y(1)
      Y(1) = Y(1)*C
      Y(3) = SQRT(X(K))
      X(3) = X(3)*X(4)
      END
      SUBROUTINE TWICE(X, Y)
      DOUBLE PRECISION X(4), Y(3), P(3)
      CALL WORK(X(1), X, P)
      CALL WORK(P(2), X, Y)
      END
C     Nobody wants what comes last.
      SUBROUTINE LOST(X, Y)
      DOUBLE PRECISION X(4), Y(3), P(3)
      INTEGER K
      CALL WORK(X(2), X, Y)
      DO K = 1, 3
        P(K) = Y(K)*X(1)
        IF (P(K) .GT. 2) P(K) = 0
      END DO
      END
C     The call and what is behind it share COMMON.
      SUBROUTINE SHARED(X, Y)
      DOUBLE PRECISION X(4), Y(3), FACTOR
      COMMON /SHARE/ FACTOR
      FACTOR = X(1)
      CALL COMMONS(X, Y)
      Y(3) = FACTOR*X(2)
      END
      SUBROUTINE COMMONS(X, Y)
      DOUBLE PRECISION X(4), Y(3), FACTOR
      COMMON /SHARE/ FACTOR
      Y(1) = FACTOR*X(3)
      FACTOR = X(4)*FACTOR
      Y(2) = FACTOR
      END
C     The call assigns two parts of one array, and reads a third.
      SUBROUTINE PARTS(X, Y)
      DOUBLE PRECISION X(4), Y(3), P(7)
      INTEGER K
      DO K = 1, 7
        P(K) = X(MOD(K, 4) + 1)*K
      END DO
      CALL STEPS(P, P(4), P(6))
      DO K = 1, 3
        Y(K) = P(K) - 2*P(K + 2)
      END DO
      END
      SUBROUTINE STEPS(D, E, F)
      DOUBLE PRECISION D(3), E(2), F(2), S
      INTEGER K
      S = D(1)
      DO K = 1, 2
        IF (S .GT. 1) S = SQRT(S)
        E(K) = S*E(K)/D(K)
        D(K + 1) = D(K + 1) - E(K)*S + F(K)**2
        S = D(K + 1)*S
      END DO
      END
C     It reads two parts of one array that overlap.
      SUBROUTINE PAIRS(X, Y)
      DOUBLE PRECISION X(4), Y(3)
      CALL PAIR(X, X(2), Y)
      END
      SUBROUTINE PAIR(A, B, Y)
      DOUBLE PRECISION A(3), B(3), Y(3), S
      INTEGER K
      S = A(1)
      DO K = 1, 3
        S = S*A(K)*B(K) + SIN(S)
        Y(K) = S
      END DO
      END
";

#[test]
fn derivatives_are_those_of_apart_sweeps() {
    let (fortran, _) = expand_with(CALLS, &Builtin).unwrap_or_else(|e| panic!("{e}"));
    for flags in [CHECKED, FAST] {
        let out = run(&fortran, flags);
        assert_eq!(out.lines().count(), 40, "{out}");
        compare(&out, 1e-12, &fortran);
    }
}

#[test]
fn heads_that_end_with_a_call() {
    let (fortran, _) = expand_with(CALLS, &Builtin).unwrap_or_else(|e| panic!("{e}"));
    // Squares of results, a variable that the call reads, two calls, COMMON that it sets, and an array that
    // it reads under two names.
    let mut apart: Vec<&str> = fortran
        .lines()
        .filter_map(|l| {
            l.split_once("CALL ")?
                .1
                .split_once('(')?
                .0
                .split_once("_F_")
        })
        .map(|(name, _)| name)
        .collect();
    apart.sort_unstable();
    assert_eq!(apart.join(" "), "ADDS COMMONS PAIR WORK WORK WORK");
    // The suffix tells which block it belongs to.
    let at = fortran.find("C Adjoint of MIDDLE").unwrap_or_default();
    let text = fortran[at..].lines().skip(1);
    let text: Vec<&str> = text.take_while(|l| l.trim() != "END").collect();
    let text = text.join("\n");
    let suffix = text.split(['_', '(']).nth(1).unwrap_or_default();
    assert_snapshot!(text.replace(suffix, "G1"), @r"
          SUBROUTINE MIDDLE_G1(A, A_G1, B, B_G1, X, X_G1, Y,
         +    Y_G1)
          DOUBLE PRECISION A, B, C, X(4), Y(3), A_G1, B_G1,
         +    X_G1(4), Y_G1(3), C_G1
          C = A*B
          C_G1 = 0.0D0
          CALL WORK_G1(C, C_G1, X, X_G1, Y, Y_G1)
          A_G1 = A_G1 + B*C_G1
          B_G1 = B_G1 + A*C_G1
    ");
}
