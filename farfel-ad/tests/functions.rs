//! Intrinsic functions of whole arrays, and declarations of Fortran 90: their derivatives against central
//! differences, and errors at the right place.

use crate::support::jacobian::{Case, check_cases};
use crate::support::{self, CHECKED, check, expand, run};
use insta::assert_snapshot;
use std::borrow::Cow;

const ARRAYS: &[Case] = &[
    Case {
        name: "sums",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A(2, 3), B(3), C(2)
      DO 10 J = 1, 3
      A(1, J) = X(J)**2
   10 A(2, J) = J*X(1)
      Y(1) = SUM(X*X) + SUM(X, MASK=X .GT. 0) + SIZE(X)*X(2)
      B = SUM(A, 1)
      C = SUM(A, DIM=2)
      Y(2) = B(1)*B(3) + SUM(B(1:2))*MAXLOC(B, 1)
      Y(3) = C(1)*C(2)
      END
",
        ),
    },
    Case {
        name: "products",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A(3, 3), W(3), V(3), B(3, 3)
      DO 10 J = 1, 3
      DO 10 I = 1, 3
   10 A(I, J) = X(I)*X(J) + I
      W = 2*X + 1
      V = MATMUL(A, W)
      B = MATMUL(TRANSPOSE(A), A)
      Y(1) = DOT_PRODUCT(X, W)
      Y(2) = DOT_PRODUCT(V, W)*X(1)
      Y(3) = B(1, 2) + B(3, 3)*COUNT(A .GT. 2)
      END
",
        ),
    },
    Case {
        name: "places",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A(2, 3), C(3), W(6), S(3, 2)
      A(1, :) = X
      A(2, :) = X**2
      W = RESHAPE(A, SHAPE(W))
      C = CSHIFT(X, 1) + EOSHIFT(X*X, -1)
      S = SPREAD(X, 2, 2)
      S(:, 2) = S(:, 2)*X(1)
      Y(1) = W(4)*W(5) + C(1)*C(3)
      Y(2) = SUM(PACK(A, A .GT. -99)) + SCALE(X(3)*X(1), 3)
      Y(3) = SUM(MERGE(X, X*X, X .GT. 0)) + S(2, 2)
      IF (X(1) .GT. 0) Y(3) = Y(3) + MERGE(X(1)**2, 3D0, X(2) .GT. X(1))
      END
",
        ),
    },
    Case {
        name: "declarations",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      IMPLICIT NONE
      DOUBLE PRECISION, INTENT(IN) :: X(3)
      DOUBLE PRECISION, INTENT(OUT) :: Y(3)
      INTEGER, PARAMETER :: DP = KIND(1.0D0), N = 3
      REAL(KIND=DP), DIMENSION(N) :: A
      REAL(KIND=DP), VOLATILE :: V
      REAL(DP), TARGET :: T = 4
      INTEGER, ALLOCATABLE :: K(:)
      REAL(DP), ALLOCATABLE :: W(:)
      INTEGER I, IERR
      ALLOCATE (K(N), W(2*N), STAT=IERR)
      DO I = 1, N
        K(I) = N + 1 - I
        W(I) = I*0.5D0
      END DO
      A = X*W(1:3)
      V = A(K(1))*X(2)
      T = 4
      T = T + V
      Y(1) = V
      Y(2) = T*A(2) + EPSILON(T)
      Y(3) = A(K(3))**2
      DEALLOCATE (K, W)
      END
",
        ),
    },
    Case {
        name: "allocation",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3)
      DOUBLE PRECISION, ALLOCATABLE :: W(:), A(:, :)
      INTEGER ST
      ALLOCATE (W(0_8:2_8))
      DO 10 I = 1, 2
      IF (I .EQ. 2) ALLOCATE (A(2, 3), STAT=ST)
   10 W(I) = X(I)*X(3)
      A(2, 3) = X(1)*W(1)
      W = W*X(2)
      W(0) = 1
      CALL G@(W, SIZE(W))
      Y(1) = W(0) + SUM(W)
      DEALLOCATE (W)
      Y(2) = A(2, 3)**2
      ALLOCATE (W(3))
      W(1) = 2
      W(2:3) = X(2:3)
      Y(3) = W(1)*W(3) + A(2, 3)
      DEALLOCATE (A, W, STAT=ST)
      END
      SUBROUTINE G@(W, N)
      DOUBLE PRECISION W(N)
      W(1) = W(1) + W(2)*W(3)
      END
",
        ),
    },
    Case {
        name: "work_arrays",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), S, H@
      DOUBLE PRECISION, ALLOCATABLE :: W(:), A(:, :), B(:)
      INTEGER ST, N
      COMMON /K@/ S
      N = 2
      ALLOCATE (W(0:N), STAT=ST)
      IF (ST .NE. 0) N = 7
      DO 10 I = 0, N
   10 W(I) = X(I + 1)*X(3)
      N = 3
      S = W(1)*X(1)
      ALLOCATE (A(N - 1, N))
      A(1, :) = W
      A(2, :) = W*W
      N = 4
      CALL G@(W, SIZE(W))
      Y(1) = W(0) + SUM(W)
      IF (ALLOCATED(W)) DEALLOCATE (W)
      Y(2) = A(2, 3)**2
      Y(3) = SUM(A(:, 2)*A(:, 1))*S
      DEALLOCATE (A)
      DO I = 1, 3
        IF (I .NE. 2) THEN
          ALLOCATE (W(I))
          W = X(I)
          W = SIN(W*Y(1))
          Y(1) = SUM(W)*W(I) + I
          DEALLOCATE (W)
        END IF
      END DO
      ALLOCATE (W(3), B(3))
      W = Y + X
      B = W*X(1)
      Y(2) = B(2)*W(3) + H@(X, 3)
      END
      SUBROUTINE G@(W, N)
      DOUBLE PRECISION W(N)
      W(1) = W(1) + W(2)*W(3)
      END
      DOUBLE PRECISION FUNCTION H@(X, N)
      DOUBLE PRECISION X(N)
      DOUBLE PRECISION, ALLOCATABLE :: T(:)
      ALLOCATE (T(N))
      H@ = 2
      T(1) = X(1)
      DO I = 2, N
        T(I) = T(I - 1)*X(I)
        H@ = H@*T(I) + COS(T(I - 1))
      END DO
      END
",
        ),
    },
    Case {
        name: "initial_values",
        text: Cow::Borrowed(
            "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3)
      CALL G@(X, Y, 1)
      CALL G@(X, Y, 2)
      END
      SUBROUTINE G@(X, Y, I)
      DOUBLE PRECISION X(3), Y(3)
      DOUBLE PRECISION :: S = 3, T(2) = 1
      IF (I .EQ. 1) S = X(1)
      IF (I .EQ. 1) T = X(2)
      S = S*X(3) + T(2)
      T(1) = T(1)*S
      Y(1) = S
      Y(2) = T(1)
      Y(3) = T(2)
      END
",
        ),
    },
];

#[test]
fn derivatives() {
    check_cases(ARRAYS, 1e-6);
}

/// The errors of a program whose subroutine F is differentiated.
fn errors(f: &str) -> String {
    let text = format!(
        "      SUBROUTINE MAIN(X, Y, D)
      DOUBLE PRECISION X(3), Y, D
      ADF((TANGENT(X(I)) = 1, I = 1, 3))
      CALL F(X, Y)
      END ADF(D = TANGENT(Y))
      END
      SUBROUTINE F(X, Y)
      DOUBLE PRECISION X(3), Y
{}      END
",
        f.trim_start_matches('\n')
    );
    match expand(&text) {
        Ok(t) => format!("no errors\n{t}"),
        Err(e) => e,
    }
}

/// A sum over an array to which a scalar was added counts the scalar once for each element.
#[test]
fn scalars_that_are_spread_over_arrays() {
    support::check(
        "      PROGRAM MAIN
      DOUBLE PRECISION X(3), S, Y, G, D
      X = 2
      S = 3
      ADF(S)
      Y = SUM(X + S*S)
      END ADF(G = TANGENT(Y))
      ADR(Y)
      Y = SUM(X + S*S)
      END ADR(D = COTANGENT(S))
      PRINT *, 'forward', G, 18
      PRINT *, 'reverse', D, 18
      END
",
        1e-14,
    );
}

#[test]
fn functions_without_a_rule() {
    assert_snapshot!(errors("
      Y = PRODUCT(X, 1) + MAXVAL(X, MASK=X .GT. 0)
      Y = Y + FRACTION(X(1)) + TRANSFER(X(2), 1D0) + ASINH(2D0)
      Y = Y + MOD(P=X(3), A=3D0) + FRACTION(X(2))
      Y = Y + SUM(EOSHIFT(X, 1, X(2)))
"), @r"
    F0305 10:15 the derivative of FRACTION is not known to the built-in engine
    F0305 10:32 the derivative of TRANSFER is not known to the built-in engine
    F0305 11:36 the derivative of FRACTION is not known to the built-in engine
    ");
}

#[test]
fn what_derivatives_cannot_follow() {
    assert_snapshot!(errors("
      DOUBLE PRECISION A
      POINTER (P, A)
      P = LOC(X(2))
      Y = X(1) + A
"), @r"
    F0316 9:24 derivatives cannot follow the Cray pointer to A
    F0316 11:11 derivatives cannot follow what LOC hands over
    ");
    assert_snapshot!(errors("
      EXTERNAL G
      CALL G(%VAL(X(1)), %REF(Y))
"), @r"
    F0316 10:14 derivatives cannot follow what %VAL hands over
    F0316 10:26 derivatives cannot follow what %REF hands over
    ");
    assert_snapshot!(errors("
      DOUBLE PRECISION, ALLOCATABLE, SAVE :: W(:)
      ALLOCATE (W(3))
      W = X
      Y = W(2)
"), @"F0321 9:46 W is kept from call to call, where its derivative could not be");
}

#[test]
fn what_would_need_an_explicit_interface() {
    let text = "      SUBROUTINE MAIN(X, D)
      DOUBLE PRECISION X, D, Y
      DOUBLE PRECISION, ALLOCATABLE :: W(:)
      ALLOCATE (W(3))
      ADF(X)
      W = X
      Y = W(2)
      END ADF(D = TANGENT(Y))
      END
";
    assert_snapshot!(expand(text).unwrap_err(), @"F0321 5:7 W is ALLOCATABLE, and cannot be used in an AD block");
}

#[test]
fn nested_subprograms_share_what_their_surroundings_declare() {
    let source = "
      PROGRAM NEST
      IMPLICIT CHARACTER*3 (C)
      REAL Z(3), X
      INTEGER :: K = 5
      REAL, TARGET :: T = 0.5
      POINTER (IP, X(3))
        SUBROUTINE INNER(N)
        REAL :: S = 1.5
        REAL W(SIZE(Z))
        S = S + X(2)
        K = K + N
        W = Z*T
        C1 = 'abcdef'
        PRINT *, 'S', S, 1.5 + 7*N
        PRINT *, 'K', K, 4 + N*(N + 1)/2 + 1
        PRINT *, 'W', W(2), 3.5
        PRINT *, 'LEN', LEN(C1), 3
        END
        FUNCTION SUM(U, V)
        SUM = U*V
        END
      Z(2) = 7
      IP = LOC(Z)
      CALL INNER(1)
      CALL INNER(2)
      PRINT *, 'SUM', SUM(3.0, 4.0), 12
      PRINT *, C1(1:0), 'CODE', ICHAR(C1(3:3)), ICHAR('c')
      END
";
    let fortran = expand(source.trim_start_matches('\n')).unwrap_or_else(|e| panic!("{e}"));
    let out = support::run(&fortran, &["-fcray-pointer"]);
    support::compare(&out, 1e-6, &fortran);
}

#[test]
fn nested_subprograms_cannot_get_what_would_need_an_explicit_interface() {
    let text = "      SUBROUTINE MAIN(N)
      REAL, ALLOCATABLE :: W(:)
      LOGICAL, VOLATILE :: L
        SUBROUTINE INNER
        IF (L) W(1) = 2
        END
      ALLOCATE (W(N))
      CALL INNER
      END
";
    assert_snapshot!(expand(text).unwrap_err(), @r"
    F0008 5:13 L is VOLATILE, and cannot be used in a nested subprogram
    F0008 5:16 W is ALLOCATABLE, and cannot be used in a nested subprogram
    ");
}

/// Two blocks go through the same ENTRY point, one of them without output: each gets its own function for it.
#[test]
fn blocks_do_not_share_what_stands_for_entry_points() {
    let text = "
      PROGRAM MAIN
      DOUBLE PRECISION X, G, T, E2, Y
      X = 0.5D0
      ADR(Y)
      Y = X*E2(X)
      END ADR(G = COTANGENT(X))
      ADF(X)
      Y = X*E2(X)
      END ADF(T = TANGENT(Y))
      PRINT *, 'three', G, T
      END
      FUNCTION E1(X)
      DOUBLE PRECISION X, E1, E2
      E1 = 1
      RETURN
      ENTRY E2(X)
      CALL SAY
      E2 = 3
      END
      SUBROUTINE SAY
      PRINT *, 'called', 1D0, 1D0
      END
";
    let out = run(&check(text, 1e-12), &[]);
    assert_eq!(out.matches("called").count(), 2, "{out}");
}

/// The operand of a reduction is evaluated once for each element, even though its size is needed as well.
#[test]
fn functions_in_reductions_are_called_once() {
    let text = "
      PROGRAM MAIN
      DOUBLE PRECISION X(3), D(3), F, G, Y, Z
      COMMON /CNT/ N
      DO 5 I = 1, 3
    5 X(I) = 0.2D0 + 0.1D0*I
      N = 0
      ADF(TANGENT(X(2)) = 1)
      Y = PRODUCT((/ F(X(1)), (F(X(2))*X(K), K = 1, 3) /))
      Y = Y + MAXVAL(X(1:2)*F(X(2)))
      END ADF(D(1) = TANGENT(Y))
      PRINT *, N
      N = 0
      ADR(Z)
      Z = PRODUCT((/ F(X(1)), (F(X(2))*X(K), K = 1, 3) /))
      Z = Z + MAXVAL(X(1:2)*F(X(2)))
      END ADR(D(2:3) = COTANGENT(X(2:3)))
      PRINT *, N
      PRINT *, D(1) - D(2), Y - Z
      END
      DOUBLE PRECISION FUNCTION F(X)
      DOUBLE PRECISION X
      COMMON /CNT/ N
      N = N + 1
      F = X*X
      END
";
    let said = run(&expand(text).unwrap(), CHECKED);
    let numbers: Vec<f64> = said
        .split_whitespace()
        .map(|n| n.parse().unwrap())
        .collect();
    assert_eq!(numbers[..2], [5.0, 5.0], "{said}");
    assert!(numbers[2..].iter().all(|n| n.abs() < 1e-12), "{said}");
}
