//! Tests of programs with errors: each line of the snapshot is `line:column code message | help`.

use crate::common;

/// A description and a program.
const CASES: &[(&str, &str)] = &[
    (
        "unknown function",
        "
      PROGRAM P
      X = SQRRT(2.0)
      Y = HELPER(X)
      END",
    ),
    (
        "unknown subroutine",
        "
      PROGRAM P
      CALL WROK(1)
      END
      SUBROUTINE WORK(I)
      END",
    ),
    (
        "undeclared",
        "
      PROGRAM P
      IMPLICIT NONE
      REAL TOTAL
      TOTL = 1
      TOTAL = TOTL + OTHER
      END",
    ),
    (
        "undeclared in a nested subprogram",
        "
      SUBROUTINE S(X)
      IMPLICIT NONE
      REAL X
        SUBROUTINE T
          X = Z
        END
      CALL T
      END",
    ),
    (
        "argument counts",
        "
      PROGRAM P
        FUNCTION F(X)
          F = X
        END
      X = F(1.0, 2.0) + G(1.0)
      CALL S
      Y = SIN(X, X) + MAX(X)
      END
      FUNCTION G(A, B)
      G = A + B
      END
      SUBROUTINE S(I)
      END",
    ),
    (
        "argument types and kinds",
        "
      PROGRAM P
      DOUBLE PRECISION D
      CALL S(1, D, 2.0)
      CALL S(1.0, 2.0, P2)
      CALL T(X, S)
      CALL U(X)
      END
      SUBROUTINE S(A, D, I)
      DOUBLE PRECISION D
      END
      SUBROUTINE T(A, X)
      EXTERNAL A
      CALL A
      END
      SUBROUTINE U(V)
      DIMENSION V(3)
      V(1) = 0
      END",
    ),
    (
        "function types",
        "
      PROGRAM P
      X = F(1.0)
      CALL F(1.0)
      Y = S(1.0)
      END
      DOUBLE PRECISION FUNCTION F(X)
      F = X
      END
      SUBROUTINE S(X)
      END",
    ),
    (
        "assignments that cannot be",
        "
      PROGRAM P
      PARAMETER (C = 1.0)
      C = 2.0
      G = 1.0
      X = G(1.0)
      SIN(1) = 2
      END
      FUNCTION G(X)
      G = X
      END",
    ),
    (
        "types that do not go together",
        "
      PROGRAM P
      LOGICAL L
      CHARACTER*4 S
      L = 1.5
      X = S
      X = 1.0 + L
      IF (X) Y = 1
      IF (I) THEN
      END IF
      END",
    ),
    (
        "labels",
        "
      PROGRAM P
      GOTO 10
   20 X = 1
   20 X = 2
      IF (X) 20, 30, 40
   30 CONTINUE
      END",
    ),
    (
        "ranks",
        "
      PROGRAM P
      DIMENSION A(2,3)
      X = A(1)
      B(2) = 1
      X(3) = 4
      END",
    ),
    (
        "two of one name",
        "
      SUBROUTINE A
      END
      FUNCTION B(X)
        FUNCTION C(Y)
          C = Y
        END
        FUNCTION C(Y)
          C = Y
        END
      B = C(X)
      END
      SUBROUTINE A
      END",
    ),
    (
        "tangents of what has none",
        "
      SUBROUTINE S(X, Y, K)
      PARAMETER (C = 1.0)
      ADF(TANGENT(K) = 1, TANGENT(C) = 1)
      Y = X*K
      END ADF(D = TANGENT(Y), C = TANGENT(Y))
      END",
    ),
    (
        "a dependent that is not computed",
        "
      SUBROUTINE S(X, Y)
      ADF(X)
      Y = X**2
      END ADF(D = TANGENT(Z))
      END",
    ),
    (
        "into and out of a block",
        "
      SUBROUTINE S(X, Y)
      IF (X .LT. 0) GOTO 10
      ADF(X)
      Y = X
   10 Y = Y + X
      IF (Y .GT. 0) GOTO 20
      IF (Y .GT. 1) RETURN
      END ADF(D = TANGENT(Y))
   20 CONTINUE
      END",
    ),
    (
        "ADR: what the block does not compute, unless it is independent",
        "
      SUBROUTINE S(X, Y, Z, G)
      ADR(COTANGENT(X) = 1, COTANGENT(Y) = 1, COTANGENT(Z) = 1)
      Y = X**2
      END ADR(G = COTANGENT(X))
      END",
    ),
    (
        "ADR: assumed size, independent or assigned",
        "
      SUBROUTINE S(X, W, Y, G, IW)
      REAL X(*), W(*), G(*)
      INTEGER IW(2, *)
      ADR(Y)
      W(1) = X(1)
      IW(1, 2) = 3
      Y = W(1)**2
      END ADR(G(1) = COTANGENT(X(1)))
      END",
    ),
    (
        "two names for one storage in a block",
        "
      SUBROUTINE S(X, Y, D)
      REAL A(2), C(2)
      EQUIVALENCE (A(1), B), (A(2), C(1))
      ADF(X)
      A(1) = X
      Y = B
      END ADF(D = TANGENT(Y))
C     These lie apart
      ADF(X)
      C(2) = X
      Y = C(2)*B
      END ADF(D = TANGENT(Y))
C     Nobody assigns them
      ADR(Y)
      Y = X*C(1)*A(2)
      END ADR(D = COTANGENT(X))
      END",
    ),
    (
        "ADR: input that cannot be had again",
        "
      SUBROUTINE S(X, Y, G)
      REAL A(9)
      COMMON C
      ADR(Y)
      READ *, B
      B = B + 1
      DO I = 1, 3
        READ (*, *, IOSTAT=K) A(I)
      END DO
      IF (B .GT. 0) READ *, C
      READ *, (A(J), J = 1, N)
      Y = X*J
      CALL T(Y)
      END ADR(G = COTANGENT(X))
      END
      SUBROUTINE T(Y)
      LOGICAL THERE
      INQUIRE (FILE='F', EXIST=THERE)
      IF (THERE) Y = Y**2
      WRITE (*, *, IOSTAT=K) Y
      END",
    ),
    (
        "ADR: state that cannot be put back",
        "
      SUBROUTINE S(X, Y, G)
      COMMON A
      ADR(Y)
      CALL T(X, Y)
      END ADR(G = COTANGENT(X))
      ADR(Y)
      CALL U(X, Y)
      END ADR(G = COTANGENT(X))
      END
      SUBROUTINE T(X, Y)
      SAVE N
      EQUIVALENCE (N, M)
      COMMON P, Q
      M = M + 1
      Q = N
      Y = X*P
      END
      SUBROUTINE U(X, Y)
      COMMON /C/ P
      DIMENSION Q(10)
      EQUIVALENCE (P, Q(1))
      Q(10) = X
      Y = Q(10)
      END",
    ),
    (
        "independents whose derivatives have no place",
        "
      SUBROUTINE S(N, D, Z)
      DIMENSION V(4), W(4)
      REAL, ALLOCATABLE :: L(:)
      COMMON /C/ P, Q(2)
      EQUIVALENCE (V(2), W(1)), (Q, R)
      ADF(TANGENT(V) = 1, TANGENT(W) = 2)
      Y = V(2)*W(2)
      END ADF(D = TANGENT(Y))
      ADF(R, TANGENT(Q) = 1)
      Y = R*Q(1)
      END ADF(D = TANGENT(Y))
      ALLOCATE (L(N))
      ADF(Z)
      L(1) = Z
      Y = L(1)
      END ADF(D = TANGENT(Y))
      END",
    ),
    (
        "an independent without an end",
        "
      SUBROUTINE S(X, N, D)
      DIMENSION X(*)
      ADF((TANGENT(X(I)) = 1, I = 1, N))
      Y = X(1)*X(2)
      END ADF(D = TANGENT(Y))
      END",
    ),
    (
        "a closure to an unknown procedure",
        "
      SUBROUTINE S(X)
      EXTERNAL QUAD
        FUNCTION F(T)
          F = T*X
        END
      CALL QUAD(F)
      END",
    ),
    (
        "a nested subprogram that passes itself on without end",
        "
      SUBROUTINE S(X)
        SUBROUTINE T(F)
          FUNCTION G(Y)
            G = F(Y) + X
          END
          CALL T(G)
        END
      CALL T(SQ)
      END
      FUNCTION SQ(X)
      SQ = X
      END",
    ),
    (
        "errors of syntax and of names in one run",
        "
      SUBROUTINE A(X)
        FUNCTION F(Y)
        F = Y +* X
        END
      Z = F(1.0, 2
      CALL NOWHERE
      END
      PROGRAM P
      CALL A(1.0, 2.0)
      CALL B(1)
      END",
    ),
    (
        "a header that is not understood",
        "
      SUBROUTINE B(X
      X = 1
      END
      PROGRAM P
      CALL B(1)
      I = .TRUE. + 1
      END",
    ),
    (
        "recursive derivatives",
        "
      FUNCTION F(X)
      ADF(X)
      Y = F(X)
      END ADF(D = TANGENT(Y))
      F = D
      END",
    ),
];

#[test]
fn errors() {
    let shown: Vec<String> = CASES
        .iter()
        .map(|(what, source)| format!("== {what}\n{}\n", common::errors(source)))
        .collect();
    insta::assert_snapshot!(shown.join("\n"));
}
