//! Whole programs: control flow, calls, storage. Each case is a subroutine
//! `F@(X, Y)` of three numbers, with what it calls; its Jacobian by AD is compared with
//! central differences, and its values with those of the plain subroutine.

use crate::support;
use crate::support::jacobian::{Case, check_cases};
use std::borrow::Cow;

const CONTROL: &[Case] = &[
    Case {
        name: "branches",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A
      IF (X(1) .GT. X(2)) THEN
        A = X(1)*X(3)
      ELSE IF (X(1) .GT. 0) THEN
        A = X(2)*X(3) + X(1)
        IF (A .LT. 100) A = A*A + X(1)
      ELSE
        A = 1
      END IF
      Y(1) = A
      IF (X(2) .GT. 0) A = 3
      Y(2) = A*X(1)
      IF (X(2) .LT. 0) A = X(2)
      Y(3) = A + X(3)
      END
",
        ),
    },
    Case {
        name: "shared_terminal",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), S
      S = 0
      DO 10 I = 1, 3
      DO 10 J = 1, 3
      IF (I .EQ. J) GOTO 10
      S = S + X(I)*X(J)**2
   10 S = S*1.25D0 + X(J)/(2 + X(I))
      Y(1) = S
      DO 30 I = 1, 2
      Y(2) = S*I
   30 IF (I .EQ. 1) S = S*X(1)
      Y(3) = S
      DO 40 I = 1, 3
   40 Y(3) = Y(3)*X(2) + I
      END
",
        ),
    },
    Case {
        name: "jumps",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A
      INTEGER L
      A = X(1)
      K = 0
  100 K = K + 1
      GOTO (110, 120, 130), K
      GOTO 200
  110 A = A*X(2)
      GOTO 100
  120 A = A + X(3)**2
      GOTO 100
  130 A = SIN(A)
      GOTO 100
  200 Y(1) = A
      IF (X(1) - X(2)) 210, 220, 230
  210 A = A*X(1)
      GOTO 240
  220 A = 0
      GOTO 240
  230 A = A - X(1)
  240 Y(2) = A
      ASSIGN 260 TO L
      GOTO L, (250, 260)
  250 A = 0
  260 Y(3) = A*X(3)
      END
",
        ),
    },
    Case {
        name: "loops",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A, T
      A = X(1)
      K = 0
      DO WHILE (K .LT. 4)
        K = K + 1
        A = A*X(2) + K
      END DO
      Y(1) = A
      I = 0
      DO
        I = I + 1
        IF (I .EQ. 2) CYCLE
        IF (I .GT. 4) EXIT
        A = A/(1 + X(1)*X(1))
      END DO
      Y(2) = A
      DO 10 T = 0.25D0, 1D0, 0.25D0
   10 A = A + T*X(3)
      DO 20 I = 3, 1, -1
        A = A*X(I)
        IF (A .GT. 1D6) RETURN
   20 CONTINUE
      IF (A .GT. 1D5) STOP 'LARGE'
      Y(3) = A
      END
",
        ),
    },
    Case {
        name: "newton",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), Z, G
      Z = 1
      DO 10 I = 1, 20
      G = Z**3 + X(1)*Z - X(2)
   10 Z = Z - G/(3*Z*Z + X(1))
      Y(1) = Z
      Y(2) = 0
      Y(3) = Z*X(3)
      END
",
        ),
    },
    Case {
        name: "overwritten",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A, B(3)
      A = X(1)*X(2)
      Y(1) = A
      A = 2
      Y(2) = A*A
      DO 10 I = 1, 3
      B(I) = I
      IF (I .EQ. 2) B(I) = X(I)*A
   10 A = A + B(I)
      B(2) = 0
      Y(3) = A + B(1) + B(2)*X(1) + B(3)
      Y(3) = Y(3)*Y(3) - Y(2)
      END
",
        ),
    },
    Case {
        name: "recurrence_in_place",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A(0:4), B(2, 2)
      DO 10 I = 0, 4
   10 A(I) = X(MOD(I, 3) + 1)
      DO 20 I = 1, 4
   20 A(I) = A(I)*A(I - 1) + A(I)/(A(I)*A(I) + 1)
      A(2) = A(2)*A(2)*A(2)
      B(1, 1) = A(4)
      B(2, 1) = B(1, 1)*X(1)
      B(1, 2) = B(2, 1) - B(1, 1)
      B(2, 2) = B(1, 2)*B(2, 1)
      Y(1) = A(4)
      Y(2) = B(2, 2)
      K = 1
      K = K + 1
      A(K) = A(K)*X(K)
      Y(3) = A(2)
      END
",
        ),
    },
    Case {
        name: "names_in_the_way",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      IMPLICIT NONE
      DOUBLE PRECISION X(3), Y(3), COS, SIGN, TEMP, LOG, X_G1, Y_G1
      DOUBLE PRECISION MIN
      INTEGER ABS
      COS = SIN(X(1))
      SIGN = X(2)
      ABS = 2
      MIN = X(1)
      LOG = MIN*3
      TEMP = SQRT(X(2))*EXP(COS)
      X_G1 = TEMP/(COS + 2)
      Y_G1 = X_G1**ABS*X(1)**X(2)
      Y(1) = COS*SIGN
      Y(2) = Y_G1 + LOG
      Y(3) = TEMP
      END
",
        ),
    },
];

#[test]
fn control_flow() {
    check_cases(CONTROL, 1e-8);
}

const CALLS: &[Case] = &[
    Case {
        name: "functions",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), G@, H@, A
      A = G@(H@(X(1), X(2))*2, X(3)) + G@(X(1), 2D0)*X(2)
      Y(1) = A
      IF (G@(A, A) .GT. 0) THEN
        Y(2) = H@(A, A)
      ELSE IF (H@(1D0, A) .LT. 0) THEN
        Y(2) = H@(2D0, 3D0)*A
      ELSE
        Y(2) = X(1)
      END IF
      IF (X(2) .GT. 0) Y(3) = G@(X(1) + 1, X(2)*X(3))/H@(X(2), 0.5D0)
      END
      DOUBLE PRECISION FUNCTION G@(A, B)
      DOUBLE PRECISION A, B, H@
      G@ = A*B + H@(B, A)
      G@ = G@*G@
      END
      FUNCTION H@(A, B)
      DOUBLE PRECISION H@, A, B
      H@ = EXP(-A)*(B + 1)
      END
",
        ),
    },
    Case {
        name: "actuals",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A(2, 3), W(6)
      DO 10 J = 1, 3
      DO 10 I = 1, 2
   10 A(I, J) = X(J)*I
      CALL G@(X(1)*X(2) + 1, A(2, 1), A, 2, 3)
      CALL H@(W, 6)
      CALL K@(W, A(1, 2), 2)
      Y(1) = A(1, 1)
      Y(2) = A(2, 1) + W(3)
      CALL G@(2D0, Y(3), A, 2, 3)
      Y(3) = Y(3) + A(2, 2)
      END
      SUBROUTINE G@(S, T, A, M, N)
      DOUBLE PRECISION S, T, A(M, N), L(2, 2)
      DO 10 J = 1, N
      DO 10 I = 1, M
   10 A(I, J) = A(I, J)*S
      T = A(1, 1) + A(2, 3)
      L(1, 1) = T
      L(2, 1) = 1
      A(1, 1) = L(1, 1)*L(2, 1)
      END
      SUBROUTINE H@(W, N)
      DOUBLE PRECISION W(*)
      DO 10 I = 1, N
   10 W(I) = I
      END
      SUBROUTINE K@(W, A, N)
      DOUBLE PRECISION W(*), A(*)
      DO 10 I = 1, N
   10 W(I + 1) = W(I)*A(I)
      END
",
        ),
    },
    Case {
        name: "contexts",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A, B, C
      CALL G@(X(1), 2D0, A, B)
      CALL G@(3D0, X(2), B, C)
      CALL G@(X(1), X(2), C, A)
      CALL G@(3D0, 4D0, A, B)
      Y(1) = A + B*X(3)
      Y(2) = C
      CALL G@(A, X(3), Y(3), B)
      END
      SUBROUTINE G@(P, Q, R, S)
      DOUBLE PRECISION P, Q, R, S
      R = P*Q
      S = P/Q
      IF (P .GT. Q) S = R
      END
",
        ),
    },
    Case {
        name: "side_effects",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), G@, A, B
      A = X(1)
      B = G@(A)
      IF (G@(A) .GT. 1D6) B = 0
      K = 2*G@(B)*0 + 1
      Y(1) = A
      Y(2) = B
      Y(3) = G@(A) + X(MOD(INT(G@(B)*0), 2) + K)*G@(B)
      END
      FUNCTION G@(A)
      DOUBLE PRECISION G@, A
      G@ = A*A
      A = A + G@/3
      END
",
        ),
    },
    Case {
        name: "functions_of_other_types",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A, B
      LOGICAL MORE@
      INTEGER NEXT@
      A = X(1)
      B = X(3)
      IF (MORE@(A, X(2))) A = A*X(3)
      IF (X(1) .LT. 0) THEN
        A = 0
      ELSE IF (MORE@(A, X(3)) .OR. X(2) .GT. 0) THEN
        A = A + X(1)
      END IF
      Y(1) = A
      DO 10 I = 1, NEXT@(A, X(1))
   10 Y(NEXT@(B, X(2)) - 1) = A*I
      GOTO (20, 30) NEXT@(A, X(2))
   20 A = 0
   30 Y(3) = A + B
      END
      LOGICAL FUNCTION MORE@(A, B)
      DOUBLE PRECISION A, B
      A = A*B + 1
      MORE@ = A .GT. 0
      END
      INTEGER FUNCTION NEXT@(A, B)
      DOUBLE PRECISION A, B
      A = A - B/3
      NEXT@ = 3
      END
",
        ),
    },
    Case {
        name: "statement_functions",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A, B, SF, SG, W, G@
      REAL R, SR
      SF(A, B) = A*B + W*A
      SG(A) = SF(A, A)/(1 + A*A)
      SR(R) = R*2
      W = X(3)
      Y(1) = SF(X(1) + X(2), X(2)) + SF(X(1), 1D0)
      W = 2
      Y(2) = SG(X(1)*X(1)) + SR(2.0)
      Y(3) = SF(G@(X(1)), SF(X(2), X(1)))
      IF (SF(X(1), X(2)) .LT. -1) Y(3) = 0
      END
      FUNCTION G@(A)
      DOUBLE PRECISION G@, A
      G@ = SIN(A)
      END
",
        ),
    },
    Case {
        name: "recursion",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3)
      CALL R@(3, X(1), Y(1))
      CALL R@(4, X(2), Y(2))
      Y(3) = Y(1)*Y(2)*X(3)
      END
      RECURSIVE SUBROUTINE R@(N, A, B)
      DOUBLE PRECISION A, B, C
      IF (N .EQ. 0) THEN
        B = 1
      ELSE
        CALL R@(N - 1, A*A, C)
        B = A*C + N
      END IF
      END
",
        ),
    },
    Case {
        name: "function_in_statement_function",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A, B, SF, SG, G@
      SF(A) = G@(A, 2D0)*A
      SG(A, B) = SF(B)*2 + G@(X(3), SF(A))
      Y(1) = SF(X(1))
      Y(2) = SG(1D0, X(2)*X(1))
      Y(3) = SG(X(1), 1D0) + SF(2D0)
      END
      FUNCTION G@(A, B)
      DOUBLE PRECISION G@, A, B
      G@ = SIN(A)*B
      END
",
        ),
    },
    Case {
        name: "many_contexts",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A, B, C, D, E(2), U, V, W
      A = X(1)
      B = X(2)
      C = X(3)
      D = X(1)*X(2)
      U = 0.5D0
      V = 1.5D0
      W = 2.5D0
      Y(1) = 0
      CALL G@(A, 1D0, 2D0, 3D0, Y(2), Y(1))
      CALL G@(1D0, B, 2D0, 3D0, Y(2), Y(1))
      CALL G@(U, V, C, W, Y(2), Y(1))
      CALL G@(U + 1, V, W, D, Y(2), Y(1))
      CALL G@(A, B, 2D0, 3D0, Y(2), Y(1))
      CALL G@(A, U, C, 3D0, Y(2), Y(1))
      CALL G@(A, V, W, D, Y(2), Y(1))
      CALL G@(1D0, B, C, W, Y(2), Y(1))
      CALL G@(1D0, B, U, D, Y(2), Y(1))
      CALL G@(V, W, C, D, Y(2), Y(1))
      CALL H@(Y)
      CALL G@(A, B, C, 3D0, Y(2), Y(1))
      E(1) = Y(1) + Y(2)
      CALL G@(U, V, W, 1D0, E(2), Y(1))
      CALL G@(A*B, B + 1, C, 3D0, E(2), Y(1))
      CALL H@(Y)
      CALL G@(A, B, 1D0, D, U, Y(1))
      CALL G@(A, 1D0, C, D, V, Y(1))
      CALL G@(1D0, B, C, D, W, Y(1))
      CALL G@(A, B, C, D, Y(2), U)
      Y(3) = E(1) + E(2) + U*V*W
      END
      SUBROUTINE G@(P, Q, R, S, T, Z)
      DOUBLE PRECISION P, Q, R, S, T, Z
      T = (P*Q + R*S)/8
      Z = Z + SIN((P + 2*Q - R*S)/16)
      IF (P .LT. -1D6) Q = 0
      END
      SUBROUTINE H@(Y)
      DOUBLE PRECISION Y(3), E
      E = Y(1)
      CALL G@(E, 1D0, 2D0, 3D0, Y(2), Y(1))
      CALL G@(E, E, 2D0, 3D0, Y(2), Y(1))
      CALL G@(1D0, E, E, E, Y(2), Y(1))
      END
",
        ),
    },
    Case {
        name: "alternate_returns",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A
      CALL G@(X(1), A, *10, *20)
      Y(1) = A
      GOTO 30
   10 Y(1) = 2*A
      GOTO 30
   20 Y(1) = 3*A*X(2)
   30 Y(2) = Y(1)*X(3)
      Y(3) = 0
      END
      SUBROUTINE G@(P, Q, *, *)
      DOUBLE PRECISION P, Q
      Q = P*P
      IF (P .GT. 0) RETURN 2
      IF (P .LT. -1) RETURN 1
      END
",
        ),
    },
    Case {
        name: "entries",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3)
      CALL G@(X(1), Y(1))
      Y(2) = X(2)
      Y(3) = X(3)
      END
      SUBROUTINE G@(P, Q)
      DOUBLE PRECISION P, Q
      P = P + 1
      ENTRY H@(P, Q)
      Q = P*P*P
      P = P - 1
      END
",
        ),
    },
    Case {
        name: "precision",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), D
      COMPLEX*16 Z, W, G@
      Z = DCMPLX(X(1), X(2))
      W = Z*Z/(1 + Z) + (0D0,1D0)*CONJG(Z)
      Y(1) = ABS(W)
      W = G@(W, 2)
      Y(2) = DBLE(W)
      D = DIMAG(EXP(W))
      Y(3) = D*X(3) + DBLE(W**2)
      N = INT(Y(3))
      Y(3) = Y(3) + N - N
      END
      FUNCTION G@(Z, N)
      COMPLEX*16 G@, Z
      G@ = Z**N + SQRT(Z)*DBLE(N)
      END
",
        ),
    },
];

#[test]
fn calls() {
    check_cases(CALLS, 1e-8);
}

const STORAGE: &[Case] = &[
    Case {
        name: "bounds_reused",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A(3, 3)
      L = 3
      CALL G@(L, X, A)
      L = 1
      Y(1) = A(1, 1)*A(2, 3)
      Y(2) = A(3, 2)
      Y(3) = A(1, 3)*L
      END
      SUBROUTINE G@(L, X, A)
      DOUBLE PRECISION X(3), A(L, *)
      DO 10 J = 1, 3
      DO 10 I = 1, 3
   10 A(I, J) = X(I)*X(J)*J
      END
",
        ),
    },
    Case {
        name: "common",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3)
      CALL PUT@(X)
      CALL WORK@
      CALL GET@(Y)
      END
      SUBROUTINE PUT@(X)
      DOUBLE PRECISION X(3), A(3), B, C
      COMMON /BLK@/ A, N, B
      COMMON /OTH@/ C
      DO 10 I = 1, 3
   10 A(I) = X(I)*I
      B = 1
      C = X(1)
      N = 3
      END
      SUBROUTINE WORK@
      DOUBLE PRECISION A(3), B, C
      COMMON /BLK@/ A, N, B /OTH@/ C
      DO 10 I = 1, N
   10 B = B*A(I)
      C = C*C*B
      END
      SUBROUTINE GET@(Y)
      DOUBLE PRECISION Y(3), A(3), B, C
      COMMON /OTH@/ C
      COMMON /BLK@/ A, N, B
      Y(1) = B
      Y(2) = C
      Y(3) = A(2)
      END
",
        ),
    },
    Case {
        name: "common_overwritten",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A
      COMMON /ONE@/ A
      A = X(1)
      CALL G@
      Y(1) = A
      A = 2
      CALL G@
      Y(2) = A
      IF (X(3) .GT. 0) A = X(3)
      CALL H@(X(2))
      Y(3) = A
      END
      SUBROUTINE G@
      DOUBLE PRECISION A
      COMMON /ONE@/ A
      A = A*A
      END
      SUBROUTINE H@(B)
      DOUBLE PRECISION A, B
      COMMON /ONE@/ A
      A = A*B
      CALL G@
      END
",
        ),
    },
    Case {
        name: "tables",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), C(3), E
      PARAMETER (E = 2.5D0, N = 3)
      LOGICAL FIRST
      SAVE FIRST, K
      DATA C /1D0, 2D0, 3D0/, FIRST /.TRUE./
      IF (FIRST) THEN
        K = 1
        FIRST = .FALSE.
      END IF
      DO 10 I = 1, N
   10 Y(I) = C(I)*X(I)**2 + E*X(K)
      END
",
        ),
    },
    Case {
        name: "saved_workspace",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3)
      CALL G@(X(1), Y(1))
      CALL G@(X(2), Y(2))
      Y(3) = X(3)*Y(2)
      END
      SUBROUTINE G@(A, B)
      DOUBLE PRECISION A, B, W(2)
      SAVE
      W(1) = A*A
      W(2) = W(1) + A
      B = W(1)*W(2)
      END
",
        ),
    },
    Case {
        name: "input_and_output",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A, B(3)
      CHARACTER*200 LINE
      A = X(1)*X(2)
      DO 5 I = 1, 3
    5 B(I) = X(I)
      Y(1) = A + B(1)*B(2)
      WRITE (LINE, 10) 1.5D0, 2.5D0
   10 FORMAT (2F10.4)
      READ (LINE, *, END = 20) A, B(2)
   20 Y(2) = A*X(3) + B(2)
      READ (LINE, '(2F10.4)') (B(I), I = 2, 3)
      Y(3) = B(1)*B(2) + B(3)
      WRITE (LINE, *) A, X(1)*2, (B(I), I = 1, 3)
      END
",
        ),
    },
    Case {
        name: "end_of_file",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A, B
      CHARACTER*8 LINE
      LINE = '2.5'
      A = X(1)*X(2)
      B = A
      READ (LINE, *, END = 10) A
   10 Y(1) = A*B
      READ (LINE, *, IOSTAT = K) B
      Y(2) = B + X(2)
      Y(3) = A + B
      END
",
        ),
    },
    Case {
        name: "equivalence",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A(4), B, C(2), P(2), D
      COMPLEX*16 Z
      INTEGER K, M(2)
      EQUIVALENCE (A(2), B), (C(1), A(3), M(1)), (Z, P), (K, M(2))
      EQUIVALENCE (D, A(1))
      DO 10 I = 1, 4
   10 A(I) = I
      A(1) = X(1)
      B = A(2)*X(2)
      C(2) = D*B
      Y(1) = A(1)*A(2) + A(4)
      K = 7
      C(1) = 3
      Y(2) = A(3)*A(1)
      Z = DCMPLX(X(1), X(2))
      Z = Z*Z
      Y(3) = P(1) + 2*P(2)
      P(2) = 0
      Y(3) = Y(3)*ABS(Z)
      IF (X(1) .GT. 10) P(1) = X(1)
      END
",
        ),
    },
    Case {
        name: "passive_equivalence",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A(4), B, C
      EQUIVALENCE (A(2), B), (C, A(3))
      DO 10 I = 1, 4
   10 A(I) = I
      Y(1) = X(1)*B
      Y(2) = X(2)*C
      A(1) = X(1)
      Y(3) = X(3)
      END
",
        ),
    },
    Case {
        name: "implicit_none",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      IMPLICIT NONE
      DOUBLE PRECISION X(3), Y(3), G@
      EXTERNAL G@
      INTEGER I
      DO 10 I = 1, 3
        Y(I) = G@(X, I)*X(1)
   10 CONTINUE
      END
      DOUBLE PRECISION FUNCTION G@(X, N)
      IMPLICIT LOGICAL (A-Z)
      INTEGER N
      DOUBLE PRECISION X(N), W(3)
      INTEGER I
      G@ = 0
      DO 10 I = 1, N
        W(I) = MAX(X(I), 0.5D0, X(1)*X(I))
        G@ = G@ + W(I)*SQRT(ABS(X(I)) + 1)
   10 CONTINUE
      END
",
        ),
    },
];

#[test]
fn storage() {
    check_cases(STORAGE, 1e-8);
}

/// Idioms of old numerical libraries.
const LIBRARIES: &[Case] = &[
    Case {
        name: "test_functions",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3)
      INTEGER KIND(3)
      DATA KIND /3, 1, 2/
      DO 10 I = 1, 3
   10 CALL OBJ@(3, X, Y(I), KIND(I))
      END
      SUBROUTINE OBJ@(N, X, F, NPROB)
      INTEGER N, NPROB
      DOUBLE PRECISION F, X(N), S1, S2, T, ZERO, ONE, TEN, FVEC(50)
      DOUBLE PRECISION CVMGT@, CP, Y(5)
      DATA ZERO, ONE, TEN, CP /0D0, 1D0, 1D1, 1D-1/
      DATA Y(1), Y(2), (Y(I), I = 3, 5) /9D-4, 4.4D-3, 3*1.75D-2/
      CVMGT@(T, S1, S2) = T*S1 - S2
      GO TO (100, 200, 300), NPROB
C     A valley.
  100 CONTINUE
      S1 = ZERO
      DO 110 J = 1, N - 1
        S1 = S1 + (ONE - X(J))**2 + TEN*(X(J + 1) - X(J)**2)**2
  110   CONTINUE
      F = S1
      GO TO 400
C     A helix.
  200 CONTINUE
      T = DSIGN(0.25D0, X(2))
      IF (X(1) .GT. ZERO) T = DATAN(X(2)/X(1))/(8*DATAN(ONE))
      IF (X(1) .LT. ZERO) T = DATAN(X(2)/X(1))/(8*DATAN(ONE)) + .5D0
      FVEC(1) = TEN*(X(3) - TEN*T)
      FVEC(2) = TEN*(DSQRT(X(1)**2 + X(2)**2) - ONE)
      FVEC(3) = X(3)
      F = ZERO
      DO 210 I = 1, 3
  210   F = F + FVEC(I)**2
      GO TO 400
C     Residuals of a bell.
  300 F = ZERO
      DO 330 I = 1, 5
        S2 = (8 - I)/2D0
        S1 = X(1)*DEXP(-X(2)*(S2 - X(3))**2/2)
        IF (I .LT. 4) THEN
          T = S1 - Y(I)
        ELSE
          T = CVMGT@(S1, CP, Y(I))
        END IF
        F = F + T*T
  330 CONTINUE
  400 RETURN
      END
",
        ),
    },
    Case {
        name: "integrator",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), W(20), P(2)
      EXTERNAL RATE@
      COMMON /PAR@/ P
      P(1) = X(3)
      P(2) = X(1)*X(2)
      Y(1) = X(1)
      Y(2) = X(2)
      CALL RK4@(RATE@, 2, Y, 0D0, 1D0, 10, W)
      Y(3) = W(1) + P(2)
      END
      SUBROUTINE RATE@(N, T, Y, D)
      DOUBLE PRECISION T, Y(*), D(*), P(2)
      COMMON /PAR@/ P
      D(1) = Y(2) + P(1)*T
      D(2) = -SIN(Y(1))*P(2)
      END
      SUBROUTINE RK4@(F, N, Y, T0, T1, M, W)
      EXTERNAL F
      DOUBLE PRECISION Y(N), T0, T1, W(N, *), H, T
      H = (T1 - T0)/M
      T = T0
      DO 50 K = 1, M
      CALL F(N, T, Y, W(1, 1))
      DO 10 I = 1, N
   10 W(I, 5) = Y(I) + H/2*W(I, 1)
      CALL F(N, T + H/2, W(1, 5), W(1, 2))
      DO 20 I = 1, N
   20 W(I, 5) = Y(I) + H/2*W(I, 2)
      CALL F(N, T + H/2, W(1, 5), W(1, 3))
      DO 30 I = 1, N
   30 W(I, 5) = Y(I) + H*W(I, 3)
      CALL F(N, T + H, W(1, 5), W(1, 4))
      DO 40 I = 1, N
   40 Y(I) = Y(I) + H/6*(W(I, 1) + 2*(W(I, 2) + W(I, 3)) + W(I, 4))
   50 T = T + H
      END
",
        ),
    },
    Case {
        name: "blas_and_elimination",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A(5, 4), DOT@
      INTEGER IP(3)
      DO 20 J = 1, 3
      DO 10 I = 1, 3
   10 A(I, J) = X(I)**J/(I + J)
   20 Y(J) = X(J) + J
      A(1, 1) = A(1, 1) - 2
      A(3, 2) = A(3, 2) + 4
      CALL SOLVE@(A, 5, 3, IP, Y)
      Y(3) = Y(3)*DOT@(3, X, 1, A, 5)
      END
      SUBROUTINE SOLVE@(A, LDA, N, IP, B)
      INTEGER LDA, N, IP(*)
      DOUBLE PRECISION A(LDA, *), B(*), T
      DO 60 K = 1, N - 1
      L = K
      DO 10 I = K + 1, N
      IF (ABS(A(I, K)) .GT. ABS(A(L, K))) L = I
   10 CONTINUE
      IP(K) = L
      IF (L .EQ. K) GO TO 30
      DO 20 J = 1, N
      T = A(L, J)
      A(L, J) = A(K, J)
   20 A(K, J) = T
      T = B(L)
      B(L) = B(K)
      B(K) = T
   30 DO 50 I = K + 1, N
      T = -A(I, K)/A(K, K)
      CALL AXPY@(N - K, T, A(K, K + 1), LDA, A(I, K + 1), LDA)
      CALL AXPY@(1, T, B(K), 1, B(I), 1)
   50 CONTINUE
   60 CONTINUE
      DO 80 I = N, 1, -1
      DO 70 J = I + 1, N
   70 B(I) = B(I) - A(I, J)*B(J)
   80 B(I) = B(I)/A(I, I)
      END
      SUBROUTINE AXPY@(N, DA, DX, INCX, DY, INCY)
      DOUBLE PRECISION DX(*), DY(*), DA
      INTEGER I, INCX, INCY, IX, IY, N
      IF (N .LE. 0) RETURN
      IF (DA .EQ. 0.0D0) RETURN
      IF (INCX .EQ. 1 .AND. INCY .EQ. 1) GO TO 20
      IX = 1
      IY = 1
      IF (INCX .LT. 0) IX = (-N + 1)*INCX + 1
      DO 10 I = 1, N
        DY(IY) = DY(IY) + DA*DX(IX)
        IX = IX + INCX
        IY = IY + INCY
   10 CONTINUE
      RETURN
   20 DO 30 I = 1, N
        DY(I) = DY(I) + DA*DX(I)
   30 CONTINUE
      END
      DOUBLE PRECISION FUNCTION DOT@(N, DX, INCX, DY, INCY)
      DOUBLE PRECISION DX(*), DY(*), DTEMP
      DTEMP = 0
      DO 10 I = 0, N - 1
   10 DTEMP = DTEMP + DX(1 + I*INCX)*DY(1 + I*INCY)
      DOT@ = DTEMP
      END
",
        ),
    },
];

#[test]
fn libraries() {
    check_cases(LIBRARIES, 1e-7);
    // The same, as libraries wrote it before FORTRAN 77. Bounds checks do not accept this.
    let old: Vec<Case> = LIBRARIES
        .iter()
        .map(|c| Case {
            name: c.name,
            text: c.text.replace("(*)", "(1)").replace(", *)", ", 1)").into(),
        })
        .collect();
    support::jacobian::check_cases_with(&old, 1e-7, &[support::FAST]);
}
