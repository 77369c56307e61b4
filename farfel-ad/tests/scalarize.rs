//! Array statements whose derivatives go element by element: both modes against differences,
//! each other, and themselves.

use crate::support::jacobian::{Case, check_cases};
use crate::support::{self, check, expand};
use insta::assert_snapshot;
use std::borrow::Cow;

macro_rules! cases {
    ($($name:literal: $text:literal,)*) => {
        &[$(Case { name: $name, text: Cow::Borrowed($text) }),*]
    };
}

const CASES: &[Case] = cases![
    "reductions_with_dim_and_mask": "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A(2, 0:2), B(3), C(2), S
      A(1, :) = X*X + 1
      A(2, :) = X(3:1:-1)*X(1)
      B = PRODUCT(A, 1) + MAXVAL(A, DIM=1)
      C = MINVAL(A, 2) + SUM(A, 2, A .GT. 1.1D0)
      C = C*PRODUCT(A, DIM=2, MASK=A .LT. 2)
      S = MAXVAL(X, MASK=X .LT. 1) + MINVAL(X, X .GT. 0)
      Y(1) = SUM(B)*S + SUM(A*X(2) + X(1), MASK=A .GT. 1)
      Y(2) = C(1)*C(2) + SUM(X, 1) + PRODUCT(2*A, A .GT. 0.6D0)
      Y(3) = SUM(X + X(1)) + SUM(MAXVAL(A, 2)) + NORM2(X*X)
      Y(3) = Y(3) + MAXVAL(X, X .GT. 100)*0 + SUM(NORM2(A, 1))
      END
",
    "vector_subscripts": "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A(5), B(2, 3)
      INTEGER K(5), L(3)
      K = (/ 3, 1, 3, 2, 3 /)
      L = (/ 5, 1, 4 /)
      A = X(K)*X(1)
      A(L) = A(L)*X + SIN(A(L))
      B(1, :) = A(L + 0)
      B(2, L(2:1:-1) - 2*L(2:1:-1)/5*2 + 0) = X(K(1:2))
      B(2, 2:3) = A(K(1:2))
      Y = A(K(1:3)) + B(1, :)
      Y(1) = Y(1)*B(2, 3) + SUM(A(K))
      Y(2) = Y(2) + B(2, 1)
      END
",
    "parts_of_itself": "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A(6), B(3, 3), E(3), G(4)
      EQUIVALENCE (E(1), G(2))
      A(1:3) = X
      A(4:6) = X*X(2)
      A(2:6) = A(1:5)*A(6:2:-1)
      A = A*A(3) + A(1)
      A(1:5:2) = A(2:6:2)/(2 + A(5:1:-2)**2)
      DO 10 J = 1, 3
   10 B(:, J) = A(J:J + 2)
      B = TRANSPOSE(B)*B(2, 2)
      B(2:3, :) = B(1:2, :) + MATMUL(B(1:2, :), B)
      B = MATMUL(B, B)*0.01D0
      G = 1
      E = X
      G(1:3) = E*E(2) + G(2:4)
      A(1:3) = CSHIFT(A(1:3), 1)*A(2)
      A = (/ A(6), A(1:5) /)
      Y = A(1:3) + MATMUL(B, A(4:6)) + E
      END
",
    "bounds_left_out": "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A(2:7), C(2, 3)
      INTEGER M
      M = -2
C     Whatever the step is, they are the lower and the upper bound: two elements, one, and none.
      A = (/ X, X*X(1) /)
      Y(1:2) = (/ A(7:6:-1)*X(3) /)
      Y(3) = SUM(SPREAD(A(7::-1), 1, 2)*X(1)) + PRODUCT(A(:2:M))
      A(6:7) = (/ A(:2:M)*X(2), A(7::M) /)
      A(2:4) = (/ X(::-1), A(:4)*X /)
      C = SPREAD(A(6:2:-2) + X(2), 1, 2)
      C(2::-1, 3) = (/ X(3::2)*A(4), A(::-1) /)
      Y = Y + SUM(C, 1) + A(2:4)*SUM(A) + PRODUCT(X(3::-1) + X(2::2))
      END
",
    "rearranged": "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A(2, 3), B(3, 2), C(4, 2)
      DOUBLE PRECISION V(6), D(2, 3)
      LOGICAL M(2, 3)
      A = RESHAPE((/ X, X*X(1) /), (/ 2, 3 /))
      B = RESHAPE(A, (/ 3, 2 /), ORDER=(/ 2, 1 /))
      C = RESHAPE(A*2, SHAPE(C), PAD=(/ X(1), 3D0*X(2) /))
      V = PACK(A, A .GT. 0.2D0, SPREAD(X(3), 1, 6))
      M = A .GT. B(2, 1)
      D = UNPACK(V, M, A*A)
      A = EOSHIFT(A, 1, X(1:2), 2) + CSHIFT(A, -1, DIM=2)
      A = A + EOSHIFT(A, -1)*SPREAD(X, 1, 2) + SPREAD(X(1:2), 2, 3)
      Y = MATMUL((/ X(1), 2D0 /), A) + MATMUL(B, C(2:3, 1))
      Y(1) = Y(1) + SUM(D)*SUM(C(:, 2)) + DOT_PRODUCT(V, V*X(2))
      Y(2) = Y(2)*SUM(PACK(X, X .GT. 0)) + SUM(MATMUL(A, B))
      Y(3) = Y(3) + SUM(MERGE(FSOURCE=A, TSOURCE=D, MASK=M))
      END
",
    "where_of_many_kinds": "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A(4), B(4), C(2, 2), G@
      A = (/ X, X(1)*X(2) /)
      B = 1
      WHERE (A .GT. 0.5D0)
        B = A*A(2)
        A(1:4) = B(4:1:-1) + G@(X(1))
      ELSEWHERE (A .GT. SUM(A)/9)
        A = A/SUM(A)
        B = A + X(3)
      ELSEWHERE
        A = X(1)
      END WHERE
      WHERE (B(2:4) .GT. B(1:3)) B(1:3) = B(2:4)*X
      WHERE (MATMUL(RESHAPE(A, (/2, 2/)), B(1:2)) .GT. 0)
        A(1:2) = A(3:4)*B(2:3)
      END WHERE
      C = RESHAPE(A, (/ 2, 2 /))
      WHERE (C .GT. SPREAD(X(1:2), 1, 2)) C = GAMMA(C + 2)*X(2)
      WHERE (X .GT. 0) Y = SQRT(X)*B(1:3)
      WHERE (.NOT. X .GT. 0) Y = LOG(1 - X)*X
      Y(1) = Y(1) + SUM(A*B)
      Y(2) = Y(2) + SUM(C(1, :))*C(2, 2)
      END
      DOUBLE PRECISION FUNCTION G@(X)
      DOUBLE PRECISION X
      G@ = X*X
      END
",
    "where_with_functions_that_read_more": "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A(3), B(3), C(3), D(3)
      DOUBLE PRECISION SF1, SF2, T, G@
      COMMON /B@/ D
      SF1(T) = B(2)*T
      SF2(T) = SF1(T) + 1
      A = X
      B = X*X(1)
      C = X
      D = X
      WHERE (X .GT. 0.1D0)
        B = 0.5D0
        A = SF2(X(1))
      END WHERE
      WHERE (X .GT. 0.1D0)
        D = D*X(2)
        C = C*G@(X(1)) + A
      ELSEWHERE
        D = SF1(X(3))
      END WHERE
      B = SF1(X(1))*B(2) + X
      D = D*G@(X(3))
      Y = A + 2*B + 3*C + 4*D
      END
      DOUBLE PRECISION FUNCTION G@(T)
      DOUBLE PRECISION T, D(3)
      COMMON /B@/ D
      G@ = D(2)*T
      END
",
    "sizes_known_at_run_time": "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A(12), C(3)
      Y = 0
      C = X*0.3D0
      A = 1
      CALL G@(X, Y, 3, A)
      A(1:3) = A(1:3)*X
      CALL G@(A, Y, 3, C)
      Y = Y*C
      END
      SUBROUTINE G@(X, Y, N, A)
      DOUBLE PRECISION X(N), Y(N), B(N, 0:N), C(N + 1), S, H@, A(*)
      B(:, 0) = X
      M = N
      DO K = 1, M
        B(:, K) = (/ B(2:N, K - 1), X(K) /)*0.9D0
        B(2:, K) = B(:N - 1, K) + B(2:, K)*X(1)
      END DO
      N2 = M - 1
      C = MATMUL(X, B)
      S = H@(B*X(2), SIZE(B))
      S = S + H@((/ (X(I)*I, I = N, 1, -1), X /), 2*N)
      WHERE (C .GT. 1) C = C/SUM(C**2)
      Y = Y + C(2:)*S
      Y = Y + SUM(MATMUL(B(:, :N - 1), B(:, 1:)), 2)
      Y(N2:N) = Y(N2 - 1:N2)*S
      Y(1:N:2) = Y(N:1:-2) + PACK(X, (/ .TRUE., .FALSE., .TRUE. /))
      A(1:N) = A(1:N) + C(1:N)
      END
      DOUBLE PRECISION FUNCTION H@(A, N)
      DOUBLE PRECISION A(N)
      H@ = 0
      DO I = 1, N
        H@ = H@*0.5D0 + A(I)*I
      END DO
      END
",
    "complex_and_single": "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3)
      COMPLEX*16 Z(3), W(2, 2), U, V(2)
      Z = CMPLX(X, X(3:1:-1)*X, KIND=8)
      W = RESHAPE((/ Z(1), Z(2)*Z(3), (Z(I)*I, I = 2, 3) /),
     + (/ 2, 2 /))
      V = MATMUL(W, CONJG(Z(2:3)))*(0D0, 2D0)
      U = DOT_PRODUCT(Z(1:2), V) + SUM(W*Z(1), MASK=ABS(W) .GT. 0.1D0)
      WHERE (DBLE(Z) .GT. 0) Z = Z*U
      Y(1) = DBLE(U*Z(1))
      Y(2) = ABS(SUM(Z + U)) + DIMAG(PRODUCT(Z(1:2)))
      Y(3) = SUM(DBLE(V)*DIMAG(V)) + SUM(DBLE(MATMUL(W, W)))
      END
",
    "bounds_that_are_assigned": "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A(3)
      INTEGER L(3)
      A = X*X + 1
      A(INT(A(1)):INT(A(3) + 0.5D0) + 1) = A(2:1:-1)*X(1:2) + 1.6D0
      L = (/ 1, 3, 2 /)
      A(L(INT(A(3))):3) = A(1:4 - L(INT(A(3))))*A(1)
      Y = A
      END
",
    "functions_of_elements": "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A(3), SQ, T
      SQ(T) = T*T*X(1)
      A = GAMMA(X + 2) + HYPOT(X, X(1)) + SQRT(ABS(X))
      A(1) = A(1) + SUM(SQRT(A*SQ(X(2)))) + SUM(LOG_GAMMA(A + 3))
      Y = A*MAX(X, X(2)) + MERGE(A, X, X .GT. 0)**2
      CALL S@(A*X, MATMUL(RESHAPE((/ 1D0, X, 2D0*X(1:2) /),
     + (/ 2, 3 /)), X), Y, SUM(X*X(2) + X(3)))
      END
      SUBROUTINE S@(P, Q, Y, R)
      DOUBLE PRECISION P(3), Q(2), Y(3), R
      Y(1) = Y(1) + P(2)*Q(1)*R
      Y(2) = Y(2) + P(3)*Q(2)
      END
",
];

#[test]
fn derivatives() {
    check_cases(CASES, 1e-6);
}

/// The same statements in adjoints and tangents of adjoints.
#[test]
fn of_adjoints() {
    let source = "      PROGRAM MAIN
      DOUBLE PRECISION X(3), V(3), H(3), H2(3), T(3), Y, G(3), YD
      DATA X /0.7D0, 1.3D0, -0.4D0/, V /1D0, -0.5D0, 0.75D0/
C     Forward over reverse, reverse over reverse, reverse over forward,
C     forward over forward.
      ADF(TANGENT(X) = V)
        CALL GRAD(X, G)
      END ADF(H = TANGENT(G))
      ADR(COTANGENT(G) = V)
        CALL GRAD(X, G)
      END ADR(H2 = COTANGENT(X))
      ADR(YD)
        CALL ALONG(X, V, YD)
      END ADR(T = COTANGENT(X))
      CALL TWICE(X, V, YD)
      DO I = 1, 3
        PRINT *, 'reverse_reverse', H2(I), H(I)
        PRINT *, 'reverse_forward', T(I), H(I)
      END DO
      PRINT *, 'forward_forward', DOT_PRODUCT(H, V), YD
      END
      SUBROUTINE GRAD(X, G)
      DOUBLE PRECISION X(3), G(3), Y
      ADR(Y)
        CALL F(X, Y, 3)
      END ADR(G = COTANGENT(X))
      END
      SUBROUTINE ALONG(X, V, D)
      DOUBLE PRECISION X(3), V(3), Y, D
      ADF(TANGENT(X) = V)
        CALL F(X, Y, 3)
      END ADF(D = TANGENT(Y))
      END
      SUBROUTINE TWICE(X, V, E)
      DOUBLE PRECISION X(3), V(3), D, E
      ADF(TANGENT(X) = V)
        CALL ALONG(X, V, D)
      END ADF(E = TANGENT(D))
      END
      SUBROUTINE F(X, Y, N)
      DOUBLE PRECISION X(N), Y, A(N, N), B(N), C(2*N)
      DOUBLE PRECISION, ALLOCATABLE :: W(:)
      INTEGER K(4)
      K = (/ 2, 1, 2, 3 /)
      A = SPREAD(X, 2, N)*SPREAD(SIN(X), 1, N)
      A(2:, :) = A(:N - 1, :) + A(2:, :)
      B = MATMUL(A, X*X) + SUM(A, 1)
      WHERE (B .GT. 0)
        B = B*SQRT(B)
      ELSEWHERE
        B = B*B + SUM(B*X(1))
      END WHERE
      C = (/ B, (X(I)*B(I), I = N, 1, -1) /)
      ALLOCATE (W(N + 1))
      W = C(K)*X(2)
      Y = SUM(W*X(1) + X(3)) + MAXVAL(C, MASK=C .LT. 2)
      W = CSHIFT(W, 1)*W
      Y = Y + PRODUCT(W + X(1), W .GT. 0.1D0)
      DEALLOCATE (W)
      Y = Y + SUM(PACK(C, C .GT. 0)) + SUM(GAMMA(X + 2))
      END
";
    let fortran = expand(source).unwrap_or_else(|e| panic!("{e}"));
    // Third-order code is long: use the lowest optimisation that finds other errors than the checks do.
    for flags in [support::CHECKED, &["-O1"]] {
        support::compare(&support::run(&fortran, flags), 1e-9, &fortran);
    }
}

/// Several directions at once, each like one alone.
#[test]
fn in_several_directions() {
    check(
        "      PROGRAM MAIN
      DOUBLE PRECISION X(3), S(3, 2), Y(3), D(3, 2), E(3)
      DATA X /0.7D0, 1.3D0, -0.4D0/
      DATA S /1D0, 0D0, 2D0, -1D0, 3D0, 0.5D0/
      ADF(DIRECTIONS = 2, (TANGENT(X, K) = S(:, K), K = 1, 2))
        CALL F(X, Y)
      END ADF(((D(I, K) = TANGENT(Y(I), K), I = 1, 3), K = 1, 2))
      DO K = 1, 2
        ADF(TANGENT(X) = S(:, K))
          CALL F(X, Y)
        END ADF(E = TANGENT(Y))
        DO I = 1, 3
          PRINT *, 'direction', D(I, K), E(I)
        END DO
      END DO
      END
      SUBROUTINE F(X, Y)
      DOUBLE PRECISION X(3), Y(3), A(3, 2)
      WHERE (X .GT. 0) Y = X**2
      WHERE (.NOT. X .GT. 0) Y = SQRT(X*X + 1)
      CALL G(CSHIFT(X, 1), Y)
      A = SPREAD(Y, 2, 2)
      Y = MATMUL(A, (/ X(1), X(2)*X(3) /)) + MAXVAL(A, 2)
      END
      SUBROUTINE G(P, Y)
      DOUBLE PRECISION P(3), Y(3)
      Y = Y*P + SUM(P*Y(1) + Y(2))
      END
",
        1e-14,
    );
}

/// What is still refused, at its place.
#[test]
fn refused() {
    let errors = |mode: &str, end: &str, f: &str| {
        let text = format!(
            "      SUBROUTINE MAIN(X, Y, D)
      DOUBLE PRECISION X(3), Y(3), D(3)
      {mode}
      CALL F(X, Y)
      {end}
      END
      SUBROUTINE F(X, Y)
      DOUBLE PRECISION X(3), Y(3), A(2, 2)
      DOUBLE PRECISION, ALLOCATABLE :: W(:)
{}      END
",
            f.trim_start_matches('\n')
        );
        match expand(&text) {
            Ok(t) => format!("no errors\n{t}"),
            Err(e) => e,
        }
    };
    let reverse = |f: &str| errors("ADR(COTANGENT(Y) = D)", "END ADR(D = COTANGENT(X))", f);
    let forward = |f: &str| errors("ADF(TANGENT(X) = D)", "END ADF(D = TANGENT(Y))", f);
    // The dimension is not a known number.
    let text = "
      K = 2
      A = SPREAD(X(1:2), 1, 2)
      Y(1:2) = SUM(CSHIFT(A, 1, K), K)
      Y(3) = 0
";
    assert_snapshot!(reverse(text), @"F0305 12:16 the adjoint of this expression is not known to the built-in engine");
    // ALLOCATE and DEALLOCATE are not at one level.
    let text = "
      IF (X(1) .GT. 0) ALLOCATE (W(3))
      IF (X(1) .GT. 0) W = X
      Y = X
      IF (X(1) .GT. 0) Y = W*X
      IF (ALLOCATED(W)) DEALLOCATE (W)
";
    assert_snapshot!(reverse(text), @r"
    F0315 10:24 reverse mode cannot follow this: it has, or needs, an array whose size is known at run time
    F0315 14:25 reverse mode cannot follow this: it has, or needs, an array whose size is known at run time
    ");
    // Allocated by the assignment.
    let text = "
      W = X*X
      Y = W*X
";
    assert_snapshot!(reverse(text), @"F0321 10:7 reverse mode cannot follow W, which is allocated by assignments");
    let text = "
      Y = TRANSFER(X*X, Y)
";
    let place = "F0305 10:11 the derivative of TRANSFER is not known to the built-in engine\n";
    assert_eq!(reverse(text), place);
    assert_eq!(forward(text), place);
}
