//! SELECT CASE, named constructs and array statements: derivatives against differences, and errors.

use crate::support::jacobian::{Case, check_cases};
use crate::support::{check, expand};
use insta::assert_snapshot;
use std::borrow::Cow;

const CASES: &[Case] = &[
    Case {
        name: "select",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A, T, G@
      CHARACTER*3 W
      W = 'b'
      A = 1
      DO 10 I = -1, 4
C       every case at least once, and one twice
      CHOICE: SELECT CASE (I)
        CASE (:-1) CHOICE
          A = A*X(1)
        CASE (0, 3)
          IF (I .EQ. 3) EXIT CHOICE
          A = A + X(2)*X(3)
        CASE DEFAULT
          T = A
          A = SIN(A) + G@(T)
        CASE (4:) CHOICE
          A = A*X(3)
          IF (A .GT. 1D6) GOTO 20
        END SELECT CHOICE
   10 Y(2) = A
   20 Y(1) = A
      SELECT CASE (W(1:1))
      CASE ('a')
        Y(3) = 0
      CASE ('b':'c')
        Y(3) = X(1)**2*A
      END SELECT
      A = X(2)
      SELECT CASE (INT(G@(A)) .GT. 100)
      CASE (.TRUE.)
        A = 3
      END SELECT
      Y(3) = Y(3) + A
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
        name: "names",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A
      A = X(1)
      OUTER: DO I = 1, 4
        INNER: DO J = 1, 4
          TEST: IF (J .EQ. 2) THEN
            A = A*X(2)
            IF (I .EQ. 2) EXIT TEST
            IF (I .EQ. 3) CYCLE OUTER
            A = A + X(3)
          ELSE IF (J .EQ. 3) THEN TEST
            IF (I .EQ. 4) EXIT OUTER
            A = A/(2 + X(1))
          ELSE TEST
            A = A - X(3)*J
          END IF TEST
          A = A*A*0.1D0 + 1
        END DO INNER
        Y(2) = A
      END DO OUTER
      Y(1) = A
      Y(3) = A*X(1)
      END
",
        ),
    },
    Case {
        name: "whole_arrays_and_sections",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A(6), B(2, 3), C(3)
      A = 0
      A(1:3) = X
      A(6:4:-1) = X*X(2)
      A(2:6:2) = A(1:5:2)*2 + SIN(X)
      A(2:6) = A(1:5)/(2 + A(2:6)**2)
      B(1, :) = EXP(X) - A(4:6)
      B(2, :) = SQRT(ABS(B(1, 3:1:-1))) + MAX(X(1), 0.5D0)
      C = -(B(1, :)*B(2, :))**2 + X
      C(2:3) = C(1:2)
      Y = C + B(2, :)*A(::2)
      Y(3) = Y(3)*X(3)
      CALL G@(Y(1:3:2), X(2:3), 2)
      C = 4
      Y(2) = Y(2) + C(2)
      END
      SUBROUTINE G@(P, Q, N)
      DOUBLE PRECISION P(N), Q(N)
      P = P*Q + 1
      END
",
        ),
    },
    Case {
        name: "constructors",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A(6), B(3)
      INTEGER K(2)
      K = (/ 3, 1 /)
      A = (/ X(1), X(2)*X(3), 1D0, (X(I)*I, I = 1, 3) /)
      B = (/ SIN(A(1)), A(2:3)*2 /) + (/ (X(I)*X(I), I = 3, 1, -1) /)
      Y = B*[A(5), A(6), 2D0] + (/ (1D0, I = 1, 3) /)
      A(2:6) = (/ A(6), (/ 2D0, 3D0 /), A(1:2) /)
      B = 3
      Y = Y*(/ X(1), B(2:3) /)
      Y(K) = Y(K) + (/ DOUBLE PRECISION :: 1, X(1) /)
      Y(2) = Y(2)*A(4)
      END
",
        ),
    },
    Case {
        name: "reductions",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A(2,2), B(3), S
      COMPLEX*16 Z(2)
      A(1,:) = X(1:2)
      A(2,:) = X(2:3)*X(1)
      Y(1) = PRODUCT(X) + MAXVAL(A)*MINVAL(X(2:3))
      Y(2) = NORM2(X) + MAXVAL(X*X + 1)*PRODUCT((/ X(3), 2D0, X(1) /))
      B = 0
      B(3) = X(2)
C     A factor that is zero.
      S = PRODUCT(B(2:3)) + PRODUCT(COS(B))
      Z = DCMPLX(X(1:2), X(2:3))
      Y(3) = S + DBLE(PRODUCT(Z)*(0D0,1D0))
      B = MAX(X, 1D0, X(3:1:-1)**2) - MIN(1D-1*X, X*X)
      Y = Y*B + DIM(X, X(1)) + (X*X + 1)**X
      CALL G@(X*X(2), (/ 1D0, X(3) /), B + 1, Y)
      END
      SUBROUTINE G@(P, Q, R, Y)
      DOUBLE PRECISION P(3), Q(2), R(3), Y(3)
      Y = Y + P*R
      Y(1) = Y(1)*Q(1)*Q(2)
      END
",
        ),
    },
    Case {
        name: "masks",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A(3), B(3)
      A = X
      B = 2
      WHERE (A .LT. 0) A = -A*X(1)
      WHERE (X .GT. 1)
        B = A*A
        A = B + X
      ELSEWHERE (X .LT. 0)
        B = EXP(A)
      ELSEWHERE
C       the third
        B = A/(1 + X(3)**2)
        A = 3
      END WHERE
      Y = A*B
      WHERE (X .GT. 100) Y = 0
      WHERE (X .LT. 100) B = 0
      Y(2) = Y(2) + B(1)*X(2)
      IF (X(1) .GT. 0) WHERE (X .LT. 0) Y = Y*X
      END
",
        ),
    },
];

#[test]
fn derivatives() {
    check_cases(CASES, 1e-8);
}

/// The errors of a subroutine F that is differentiated.
fn errors(f: &str) -> String {
    let text = format!(
        "      SUBROUTINE MAIN(X, Y, D)
      DOUBLE PRECISION X(3), Y(3), D(3)
      ADF((TANGENT(X(I)) = 1, I = 1, 3))
      CALL F(X, Y)
      END ADF(D = TANGENT(Y))
      END
{}",
        f.trim_start_matches('\n')
    );
    match expand(&text) {
        Ok(t) => format!("no errors\n{t}"),
        Err(e) => e,
    }
}

#[test]
fn refused() {
    assert_snapshot!(errors("
      SUBROUTINE F(X, Y)
      DOUBLE PRECISION X(3), Y(3), B(3)
      B = 1
      WHERE (X .GT. 0)
        Y = X*G(X(1))
        Y = Y/(1 + Y(1)**2)
      ELSEWHERE
        Y = GAMMA(X + 3)
      END WHERE
      Y(2) = MAXVAL(X, MASK=X .GT. 1) + TRANSFER(X(1), Y(2))
      Y = Y + (/ X(1), B(2:3) /)
      Y = Y + (/ (X(I)**X(2)*SIN(X(I)), I = 1, 2), 1D0 /)
      END
      FUNCTION G(X)
      DOUBLE PRECISION X
      G = X
      END
"), @r"
    F0305 16:41 the derivative of TRANSFER is not known to the built-in engine
    ");
}

/// Arguments that have another type in the callee carry no derivatives.
#[test]
fn arguments_of_other_types() {
    assert_snapshot!(errors("
      SUBROUTINE F(X, Y)
      DOUBLE PRECISION X(4), Y(3), D(2)
      COMPLEX*16 Z
      REAL W(4)
      D(1) = 1
      CALL QUIET(D, W)
      CALL PAIR(X, Y)
      Z = X(1)
      CALL PAIR2(Z, Y)
      CALL WORK(X, Y(2))
      END
      SUBROUTINE PAIR(Z, Y)
      COMPLEX*16 Z(2)
      DOUBLE PRECISION Y(3)
      Y = REAL(Z(1)*Z(2))
      END
      SUBROUTINE PAIR2(V, Y)
      DOUBLE PRECISION V(2), Y(3)
      Y = Y + V(1)*V(2)
      END
      SUBROUTINE WORK(I, Y)
      INTEGER I(4)
      DOUBLE PRECISION Y
      Y = Y + I(1)
      END
      SUBROUTINE QUIET(I, W)
      INTEGER I(4)
      REAL W(4)
      W = I(1)
      END
"), @r"
    F0314 13:17 derivatives would go through this argument, which is DOUBLE PRECISION here and COMPLEX*16 in PAIR
    F0314 15:18 derivatives would go through this argument, which is COMPLEX*16 here and DOUBLE PRECISION in PAIR2
    F0314 16:17 derivatives would go through this argument, which is DOUBLE PRECISION here and INTEGER in WORK
    ");
}

/// The statements are in the AD block itself, and in a nested subprogram that uses variables of its host.
#[test]
fn in_the_block_itself() {
    check(
        "      PROGRAM MAIN
      DOUBLE PRECISION X(3), Y(3), D(3), S, V, W
      INTEGER K
      DOUBLE PRECISION FUNCTION PICK(I)
      INTEGER I
      NAMED: SELECT CASE (I - K)
      CASE (1)
        WHERE (X .GT. 1) Y = Y*S
      CASE (2:3) NAMED
        IF (I .EQ. 3) EXIT NAMED
        Y = Y + (/ S, X(1:2) /)
      CASE DEFAULT
        PICK = S
        RETURN
      END SELECT NAMED
      PICK = Y(1)*S
      END
      K = 0
      S = 3
      X = (/ 0.5D0, 2D0, 4D0 /)
      ADF(TANGENT(S) = 1)
      Y = X*S
      LOOP: DO I = 1, 4
        CHOICE: SELECT CASE (I)
        CASE (:2) CHOICE
          V = PICK(I)
          Y(I) = Y(I) + V
        CASE (4)
          EXIT LOOP
        CASE DEFAULT CHOICE
          WHERE (Y .GT. 20)
            Y = Y*Y
          ELSEWHERE
            Y = (/ (S*J, J = 1, 3) /)
          END WHERE
        END SELECT CHOICE
      END DO LOOP
      V = PICK(3)
      W = PICK(7)
      Y(1) = V + W*W
      END ADF(D = TANGENT(Y))
C     Worked out by hand, step by step.
      PRINT *, 'y1', Y(1), 18D0
      PRINT *, 'd1', D(1), 12D0
      PRINT *, 'y2', Y(2), 2070.25D0
      PRINT *, 'd2', D(2), 3139.5D0
      PRINT *, 'y3', Y(3), 1444D0
      PRINT *, 'd3', D(3), 1824D0
      END
",
        1e-10,
    );
}

/// Elements of a constructor are the sum of an array of known numbers and a number that varies: their
/// derivatives are one number, repeated.
#[test]
fn arrays_in_constructors_with_one_derivative() {
    check(
        "
      PROGRAM MAIN
      DOUBLE PRECISION A(2), B(4), X, D(4), S, DS
      A = (/ 3D0, 5D0 /)
      X = 2
      ADF(X)
      B = (/ X, A + X*X, 1D0 /)
      S = DOT_PRODUCT((/ X, A - X /), (/ 1D0, 2D0, 3D0 /))
      END ADF(D = TANGENT(B), DS = TANGENT(S))
      PRINT *, 'first', D(1), 1D0
      PRINT *, 'second', D(2), 4D0
      PRINT *, 'third', D(3), 4D0
      PRINT *, 'last', D(4), 0D0
      PRINT *, 'product', DS, 1D0 - 2D0 - 3D0
      END
",
        1e-12,
    );
}

/// A function in an array expression prints only once, as in the statement that is differentiated.
#[test]
fn functions_in_array_expressions_are_called_once() {
    let text = "
      PROGRAM MAIN
      DOUBLE PRECISION B(3), X, G, D(3)
      COMMON /CALLS/ N
      N = 0
      X = 0.5D0
      B = 1
      ADF(TANGENT(B) = 1)
      B = SIN(G(X) + B)
      WHERE (B .GT. 0) B = EXP(G(X) + B)
      B(1:2) = (B(3:2:-1)*G(X) + G(B(1)))**2
      B = MIN(MAX(B, G(X - 9), G(X)*1D-9), G(1D9))
      END ADF(D = TANGENT(B))
      PRINT *, 'calls', N, 7D0
      PRINT *, 'd1', D(1),
     +  4.5D0*EXP(0.5D0 + SIN(1.5D0))**2*COS(1.5D0)
      END
      DOUBLE PRECISION FUNCTION G(X)
      DOUBLE PRECISION X
      COMMON /CALLS/ N
      N = N + 1
      G = X
      END
";
    check(text, 1e-12);
}

/// What has no tangent in its present form goes element by element: this includes NORM2 with a keyword, which
/// has a tangent with a positional argument.
#[test]
fn keywords_do_not_keep_norms_from_tangents() {
    let text = "
      PROGRAM MAIN
      DOUBLE PRECISION X(3), A(3), B(3), D(3), E(3)
      X(1) = 1
      X(2) = 2
      X(3) = 2
      ADF(X(2))
      A = X/NORM2(X=X)
      B = X/NORM2(X)
      END ADF(D = TANGENT(A), E = TANGENT(B))
      PRINT *, 'd1', D(1), -2D0/27
      PRINT *, 'd2', D(2), 5D0/27
      PRINT *, 'd3', D(3), -4D0/27
      PRINT *, 'e3', E(3), -4D0/27
      END
";
    check(text, 1e-12);
}

/// The number of elements of an assumed-size array, where a block needs it: that of the section that is passed.
#[test]
fn sections_for_arrays_of_assumed_size() {
    check(
        "
      PROGRAM MAIN
      DOUBLE PRECISION A(6), H(0:2, 3), D
      INTEGER N
      DATA A /1D0, 2D0, 3D0, 4D0, 5D0, 6D0/
      N = 4
      CALL SQUARE(A(1:5:2), 3, D)
      PRINT *, 'steps', D, 2*(1 + 3 + 5D0)
      PRINT *, 'assigned', A(5), 25D0
      CALL SQUARE(A(N:2:-2), 2, D)
      PRINT *, 'computed', D, 2*(4 + 2D0)
      CALL SQUARE(A(:N - 3), 1, D)
      PRINT *, 'open', D, 2D0
      H = 3
      CALL SQUARE(H(:1, 2:3), 4, D)
      PRINT *, 'matrix', D, 24D0
      CALL SQUARE(H(2, :), 3, D)
      PRINT *, 'row', D, 18D0
      PRINT *, 'all', SUM(H), 7*9 + 2*3D0
      END
      SUBROUTINE SQUARE(X, N, D)
      DOUBLE PRECISION X(*), D, S
      INTEGER N
      ADF((TANGENT(X(I)) = 1, I = 1, N))
      S = 0
      DO 10 I = 1, N
      X(I) = X(I)**2
   10 S = S + X(I)
      END ADF(D = TANGENT(S))
      END
",
        1e-12,
    );
}
