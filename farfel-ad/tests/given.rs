//! Derivatives that the user provides, constant procedures, and rules for libraries in programs.

use crate::support::{self, check, compare, expand, run_with_lapack};
use insta::assert_snapshot;

/// A procedure with a fixed-point iteration, its derivatives, and other uses of directives.
const SOLVE: &str = "
!     farfel: derivative(tangent = SOLVE_D, adjoint = SOLVE_B, in = A, out = X)
      SUBROUTINE SOLVE(A, N, X)
      DOUBLE PRECISION A, X
C     X = COS(A*X), with few steps, so that the derivative of the code is another one
      X = 0.5D0
      DO 10 I = 1, N
   10 X = COS(A*X)
      END
      SUBROUTINE SOLVE_D(A, AD, N, X, XD)
      DOUBLE PRECISION A, X, AD, XD
      CALL SOLVE(A, N, X)
      XD = -SIN(A*X)*X*AD/(1 + A*SIN(A*X))
      END
      SUBROUTINE SOLVE_B(A, AB, N, X, XB)
      DOUBLE PRECISION A, X, AB, XB, Y
      CALL SOLVE(A, N, Y)
      AB = AB - SIN(A*Y)*Y*XB/(1 + A*SIN(A*Y))
      XB = 0
      END
";

/// The tangent is called, whatever calls the procedure, and is differentiated in turn.
#[test]
fn given_tangents() {
    let text = format!(
        "      PROGRAM MAIN
      DOUBLE PRECISION T, Y, D, E, H, X, S, G, DG
      DOUBLE PRECISION D2, HALF
      T = 0.6D0
      ADF(T)
      CALL SOLVE(T*T, 3, X)
      Y = X*T
      END ADF(D = TANGENT(Y))
      CALL SOLVE(T*T, 3, X)
      S = T*T
      E = -SIN(S*X)*X*2*T/(1 + S*SIN(S*X))
      PRINT *, 'value', Y, X*T
      PRINT *, 'tangent', D, E*T + X
C     Of a function without text here: its derivative is called with the result last.
      ADF(T)
      G = HALF(T)*T
      END ADF(DG = TANGENT(G))
      PRINT *, 'function', DG, T
C     The second derivative, by differences of the first.
      ADF(T)
      CALL FIRST(T, D)
      END ADF(D2 = TANGENT(D))
      H = 1D-3
      CALL FIRST(T + H, D)
      CALL FIRST(T - H, E)
      S = D - E
      CALL FIRST(T + 2*H, D)
      CALL FIRST(T - 2*H, E)
      PRINT *, 'second', D2, (8*S - (D - E))/(12*H)
      END
      SUBROUTINE FIRST(T, D)
      DOUBLE PRECISION T, D, X
      ADF(T)
      CALL SOLVE(T, 60, X)
      X = X*X*T
      END ADF(D = TANGENT(X))
      END
C     farfel: derivative(HALF, tangent = HALF_D)
      DOUBLE PRECISION FUNCTION HALF(X)
      DOUBLE PRECISION X
      HALF = INT(1000*X)/2000D0
      END
      SUBROUTINE HALF_D(X, XD, R, RD)
      DOUBLE PRECISION X, XD, R, RD, HALF
      R = HALF(X)
      RD = XD/2
      END
{}",
        SOLVE.trim_start_matches('\n')
    );
    check(&text, 1e-9);
}

/// What is constant has derivative zero, and its code is not analysed.
#[test]
fn constants() {
    check(
        "      PROGRAM MAIN
      DOUBLE PRECISION T, Y, D, A(3), X, C, P, E, SCALE1
C     farfel: constant(C)
      T = 0.5D0
      ADF(T)
      X = T*T
      A = X
      C = X
      CALL TABLE(X, A, P)
      Y = A(1) + X*P + C*T + SCALE1(X)*T
      END ADF(D = TANGENT(Y), E = TANGENT(A(2)))
C     X is 0.25, A(1) and P constants with the values 0.5 and 0.75
      PRINT *, 'y', Y, 0.5D0 + 0.1875D0 + 0.125D0 + 0.5D0
      PRINT *, 'd', D, 2*T*0.75D0 + 0.25D0 + 1
      PRINT *, 'e', E, 0D0
      END
C     farfel: constant
      SUBROUTINE TABLE(X, A, P)
      DOUBLE PRECISION X, A(3), P
      A(1) = 2*X
      P = 3*X
      END
C     farfel: constant(SCALE1)
      DOUBLE PRECISION FUNCTION SCALE1(X)
      DOUBLE PRECISION X
      EQUIVALENCE (I, Y)
      Y = 1
      SCALE1 = 4*X
      END
",
        1e-14,
    );
}

/// Regions that reverse sweeps execute again: in the block itself, in a function, one in another, with a constant one,
/// and in derivatives of derivatives. `W` and `S` are local, and `S` is kept from before the region.
#[test]
fn checkpoint_regions() {
    check(
        "      PROGRAM MAIN
      DOUBLE PRECISION X, Y, D, G, A(3), S, H, F
      X = 1.5D0
      ADR(Y)
      Y = F(X, 2)
      END ADR(G = COTANGENT(X))
      PRINT *, 'g', G, 4*X**3 + 2*X + 3
      ADF(X)
      ADR(Y)
      Y = F(X, 2)
      END ADR(G = COTANGENT(X))
      END ADF(H = TANGENT(G))
      PRINT *, 'h', H, 12*X**2 + 2
C     The block itself, in a loop
      S = 3
      ADR(Y)
      Y = X
      DO I = 1, 3
C       farfel: checkpoint begin
        A(I) = Y*S
        S = S + I
        Y = A(I)*Y
C       farfel: checkpoint end
      END DO
      END ADR(G = COTANGENT(X))
      PRINT *, 'in', G, 8*X**7*3**4*4**2*6D0
      PRINT *, 's', S, 9D0
      ADF(X)
      Y = F(X, 2)
      END ADF(D = TANGENT(Y))
      PRINT *, 'd', D, 4*X**3 + 2*X + 3
      END
      DOUBLE PRECISION FUNCTION F(X, N)
      DOUBLE PRECISION X, W(4), C
C     farfel: checkpoint begin
      DO 10 I = 1, N
   10 W(I) = X**I
C$AD CHECKPOINT-START
      F = W(N)*W(N)
C     farfel: constant begin
      C = F
C     farfel: constant end
      W(1) = W(1)*W(1)
C$AD CHECKPOINT-END
      F = F + W(1) + 0*C
C     farfel: checkpoint end
      F = F + 3*X
      END
",
        1e-13,
    );
}

/// Constant regions: in units below a block, in the block itself, in derivatives of derivatives.
#[test]
fn constant_regions() {
    check(
        "      PROGRAM MAIN
      DOUBLE PRECISION X, Y, D, G, A(3), E, H
      X = 3
      ADF(X)
      CALL F(X, Y, 1)
      END ADF(D = TANGENT(Y))
      ADR(Y)
      CALL F(X, Y, 1)
      END ADR(G = COTANGENT(X))
      PRINT *, 'd', D, 23D0
      PRINT *, 'g', G, 23D0
      ADF(X)
      CALL DF(X, H)
      END ADF(E = TANGENT(H))
      ADR(H)
      CALL DR(X, H)
      END ADR(G = COTANGENT(X))
      PRINT *, 'df', E, 18D0
      PRINT *, 'dr', G, 18D0
C     The block itself
      ADF(X)
      Y = X*X
      A(1) = X
C     farfel: constant begin
      DO I = 1, 3
        A(I) = SIN(Y)
      END DO
      E = X
C     farfel: constant end
      Y = Y + A(1)*X + E
      END ADF(D = TANGENT(Y))
      PRINT *, 'in', D, 2*X + SIN(X*X)
      END
      SUBROUTINE DF(X, D)
      DOUBLE PRECISION X, D, Y
      ADF(X)
      CALL F(X, Y, 1)
      END ADF(D = TANGENT(Y))
      END
      SUBROUTINE DR(X, D)
      DOUBLE PRECISION X, D, Y
      ADR(Y)
      CALL F(X, Y, 1)
      END ADR(D = COTANGENT(X))
      END
      SUBROUTINE F(X, Y, K)
      DOUBLE PRECISION X, Y, C, E, V, Z, SQ, T
      CHARACTER*3 L
      COMMON /CM/ C
      SQ(T) = T*T
C     farfel: constant begin
      E = X + 1
C     farfel: constant end
      C = X
      V = X
      Z = V*V*V
      IF (K .EQ. 1) THEN
C       farfel: constant begin
        IF (X .GT. 100) GOTO 10
        C = SQ(X)
        V = 1
        WRITE (L, 20) 1
   10   CONTINUE
C       farfel: constant end
      END IF
   20 FORMAT (I3)
      Y = C + X*E*1.5D0 + Z*V - X*3
      Y = Y*1 + V*X - 12*X - 1*X + 5*X/1
      END
",
        1e-14,
    );
}

/// What a constant procedure assigns in COMMON has derivative zero, too.
#[test]
fn constants_in_common() {
    check(
        "      PROGRAM MAIN
      DOUBLE PRECISION X, Y, D, G
      X = 3
      ADF(X)
      CALL F(X, Y, 1)
      END ADF(D = TANGENT(Y))
      ADR(Y)
      CALL F(X, Y, 1)
      END ADR(G = COTANGENT(X))
      PRINT *, 'd', D, 6D0
      PRINT *, 'g', G, 6D0
      END
      SUBROUTINE F(X, Y, K)
      DOUBLE PRECISION X, Y, C, E
      COMMON /CM/ C
      C = X
      E = 1
      IF (K .EQ. 1) CALL SETC
      Y = C*E + X*X
      END
C     farfel: constant
      SUBROUTINE SETC
      DOUBLE PRECISION C
      COMMON /CM/ C
      C = 5
      END
",
        1e-14,
    );
}

fn errors(text: &str) -> String {
    match expand(text.trim_start_matches('\n')) {
        Ok(t) => format!("no errors\n{t}"),
        Err(e) => e,
    }
}

#[test]
fn what_a_call_needs_must_be_told() {
    assert_snapshot!(errors("
      SUBROUTINE MAIN(T, D, E)
      DOUBLE PRECISION T, Y, Z, D, E, W(3)
      REAL S
!     farfel: derivative(EXT(A, N, B), tangent = EXT_D, in = (A), out = (B))
!     farfel: derivative(BACK(A, B), adjoint = BACK_B, in = (A), out = (B))
      EXTERNAL EXT, BACK
      ADF(T)
      S = T
      CALL EXT(S, 3, Y)
      CALL EXT(T, 3, W(2))
      Z = T
      CALL COUNTS(T, Z)
      CALL BACK(T, Z)
      END ADF(D = TANGENT(Y), E = TANGENT(Z))
      END
      SUBROUTINE EXT_D(A, AD, N, B, BD)
      DOUBLE PRECISION A, AD, B, BD
      BD = AD
      END
      SUBROUTINE BACK_B(A, AB, B, BB)
      DOUBLE PRECISION A, AB, B, BB
      END
C     farfel: derivative(tangent = COUNTS_D, in = A, out = ())
      SUBROUTINE COUNTS(A, B)
      DOUBLE PRECISION A, B
      B = A
      END
      SUBROUTINE COUNTS_D(A, AD, B)
      DOUBLE PRECISION A, AD, B
      B = A
      END
"), @r"
    F0314 9:16 derivatives would go through this argument, which is REAL here and DOUBLE PRECISION in EXT
    F0322 12:7 derivatives would go through B of COUNTS, and the derivative that is given does not tell of it
    F0322 13:7 derivatives would go through BACK, of which only the adjoint is given
    ");
}

/// A directive says what a procedure without source text does with its arguments: bounds stay, what it
/// assigns without reading anything that varies has derivative zero, and what it only reads keeps its
/// derivative.
#[test]
fn procedures_without_text() {
    let text = "      PROGRAM MAIN
      DOUBLE PRECISION X, Y, D, G, T(3), S
!     farfel: external(LOOKUP(K, N, T), reads = (K, N), writes = T)
!     farfel: external(WATCH(X, N), reads = (X, N))
      EXTERNAL LOOKUP, WATCH
      X = 0.7D0
      N = 3
      ADF(X)
      T(2) = X
      S = X*X
      CALL LOOKUP(2, 3, T)
      CALL WATCH(S, 1)
      Y = T(2)*S
      END ADF(D = TANGENT(Y))
      PRINT *, 'tangent', D, 2*T(2)*X
      ADR(Y)
      CALL WORK(X, N, Y)
      END ADR(G = COTANGENT(X))
      PRINT *, 'adjoint', G, 5*X**4
      END
      SUBROUTINE WORK(X, N, Y)
      DOUBLE PRECISION X, Y, W(N, 2)
!     farfel: external(WATCH(X, N), reads = (X, N))
      EXTERNAL WATCH
      DO I = 1, N
        W(I, 1) = X**I
      END DO
      CALL WATCH(W, N)
      Y = W(2, 1)*W(N, 1)
      END
";
    let library = "      SUBROUTINE LOOKUP(K, N, T)
      DOUBLE PRECISION T(N)
      DO 10 I = 1, N
   10 T(I) = I + 0.25D0*K
      END
      SUBROUTINE WATCH(X, N)
      DOUBLE PRECISION X(N)
      IF (X(1) .LT. 0) PRINT *, X
      END
";
    // Two directives describe it.
    let twice = errors(text);
    assert!(
        twice.contains("two directives say what WATCH does"),
        "{twice}"
    );
    let first = text.find("!     farfel: external(WATCH").unwrap();
    let line = text[first..].find('\n').unwrap();
    let text = format!("{}{}", &text[..first], &text[first + line + 1..]);
    let fortran = expand(&text).unwrap_or_else(|e| panic!("{e}"));
    let out = support::run(&format!("{fortran}{library}"), support::CHECKED);
    compare(&out, 1e-14, &fortran);
    // A function has no place to set the derivative of what it assigns to zero.
    let said = errors(
        "      SUBROUTINE S(X, Y, D)
      DOUBLE PRECISION X, Y, D, T, NEXT
!     farfel: external(NEXT(K, T), reads = K, writes = T)
      EXTERNAL NEXT
      ADF(X)
      T = X
      Y = NEXT(1, T)
      Y = Y + T
      END ADF(D = TANGENT(Y))
      END
",
    );
    assert!(
        said.contains("NEXT, which has no text, gives a value to a variable with a derivative"),
        "{said}"
    );
    // Nothing is known of arguments that the directive does not mention.
    for other in ["CALL LOOKUP(2, 3, T, S)", "CALL LOOKUP(2, 3)"] {
        let said = errors(&text.replace("CALL LOOKUP(2, 3, T)", other));
        assert!(
            said.contains("in the directive that describes it"),
            "{said}"
        );
    }
    // Without the directive, derivatives would go through LOOKUP.
    let said = errors(&text.replace("external(LOOKUP", "other(LOOKUP"));
    assert!(said.contains("LOOKUP"), "{said}");
}

/// A description of a procedure without source completes what a directive says about its derivative:
/// `MIX` assigns two variables, one of them without derivatives, and leaves everything else alone.
#[test]
fn descriptions_complete_given_derivatives() {
    let text = "      PROGRAM MAIN
      DOUBLE PRECISION X, Y, G, W(3), S
      COMMON /STATE/ W
!     farfel: external(MIX(A, B, N, K), reads = (A, N), writes = (B, K))
!     farfel: derivative(MIX, adjoint = MIX_B)
      EXTERNAL MIX, MIX_B
      X = 0.7D0
      ADR(Y)
      W(2) = X*X
      CALL MIX(W(2), S, 2, K)
      Y = W(2)*S + K*X
      END ADR(G = COTANGENT(X))
      PRINT *, 'adjoint', G, 6*X**5 + 5
      END
";
    let library = "      SUBROUTINE MIX(A, B, N, K)
      DOUBLE PRECISION A, B
      B = A*A*(N - 1)
      K = 2*N + 1
      END
      SUBROUTINE MIX_B(A, AB, B, BB, N, K)
      DOUBLE PRECISION A, AB, B, BB
      AB = AB + 2*A*(N - 1)*BB
      BB = 0
      K = 2*N + 1
      END
";
    let fortran = expand(text).unwrap_or_else(|e| panic!("{e}"));
    let out = support::run(&format!("{fortran}{library}"), support::CHECKED);
    compare(&out, 1e-14, &fortran);
}

/// Linear systems, factored and solved by LAPACK, together with their surroundings, to second order.
const SYSTEM: &str = "
      SUBROUTINE LINEAR(T, Y)
      PARAMETER (N = 5)
      DOUBLE PRECISION T, Y(4), A(N,N), B(N,2), C(N,N), DDOT, DNRM2
      INTEGER IPIV(N)
      EXTERNAL DGESV, DGETRF, DGETRS, DPOSV, DGEMM, DSYRK, DAXPY
      EXTERNAL DDOT, DNRM2, DGEMV
      DO J = 1, N
        DO I = 1, N
          A(I,J) = SIN(I*T + J*J*0.3D0)
          C(I,J) = 0
        END DO
        A(MOD(J,N)+1,J) = 4 + T*T
        B(J,1) = COS(J*T)
        B(J,2) = 1/(J + T)
      END DO
      CALL DSYRK('L', 'T', N, N, T, A, N, 0D0, C, N)
      CALL DGETRF(N, N, A, N, IPIV, INFO)
C     The determinant, from the factors.
      Y(1) = 1
      DO I = 1, N
        Y(1) = Y(1)*A(I,I)
        IF (IPIV(I) .NE. I) Y(1) = -Y(1)
      END DO
      CALL DGETRS('N', N, 2, A, N, IPIV, B, N, INFO)
      Y(2) = DDOT(N, B, 1, B(1,2), 1) + DNRM2(N, B, 1)
      DO I = 1, N
        C(I,I) = C(I,I) + 3
      END DO
      CALL DPOSV('L', N, 2, C, N, B, N, INFO)
      Y(3) = B(1,1) + B(N,2)*T
      CALL DAXPY(N, T, B(1,2), 1, B, 1)
      CALL DGEMV('N', N, N, 1D0, A, N, B, 1, 2D0, B(1,2), 1)
      CALL DGEMM('N', 'T', N, N, 2, 1D0, B, N, B, N, T, A, N)
      CALL DGESV(N, 1, A, N, IPIV, B, N, INFO)
      Y(4) = B(2,1)
      END
";

#[test]
fn libraries() {
    let text = format!(
        "      PROGRAM MAIN
      DOUBLE PRECISION T, Y(4), D(4), D2(4), H, S
      DOUBLE PRECISION E(4), F(4), G(4), K(4)
      T = 0.7D0
      ADF(T)
      CALL FIRST(T, D)
      END ADF(D2 = TANGENT(D))
      H = 1D-3
      CALL LINEAR(T + H, E)
      CALL LINEAR(T - H, F)
      CALL LINEAR(T + 2*H, G)
      CALL LINEAR(T - 2*H, K)
      DO I = 1, 4
        S = 8*(E(I) - F(I)) - (G(I) - K(I))
        PRINT *, 'first', D(I), S/(12*H)
      END DO
      CALL FIRST(T + H, E)
      CALL FIRST(T - H, F)
      CALL FIRST(T + 2*H, G)
      CALL FIRST(T - 2*H, K)
      DO I = 1, 4
        S = 8*(E(I) - F(I)) - (G(I) - K(I))
        PRINT *, 'second', D2(I), S/(12*H)
      END DO
      END
      SUBROUTINE FIRST(T, D)
      DOUBLE PRECISION T, Y(4), D(4)
      ADF(T)
      CALL LINEAR(T, Y)
      END ADF(D = TANGENT(Y))
      END
{}",
        SYSTEM.trim_start_matches('\n')
    );
    let fortran = expand(&text).unwrap_or_else(|e| panic!("{e}"));
    for flags in [&["-O0", "-fcheck=all", "-finit-real=nan"][..], &["-O2"]] {
        if let Some(out) = run_with_lapack(&fortran, flags) {
            compare(&out, 1e-7, &fortran);
        }
    }
}

/// Given adjoints, against tangents, and in every nesting.
#[test]
fn given_adjoints() {
    let text = format!(
        "      PROGRAM MAIN
      DOUBLE PRECISION T(3), Y, D, G(3), V(3), H(3), E, W(2), X, Z
      INTEGER K
      DO 10 I = 1, 3
      T(I) = 0.4D0 + 0.2D0*I
   10 V(I) = COS(1D0*I)
      K = 2
      ADF(TANGENT(T) = V)
      CALL CHAIN(T, K, Y)
      END ADF(D = TANGENT(Y))
      ADR(Y)
      CALL CHAIN(T, K, Y)
      END ADR(G = COTANGENT(T))
      PRINT *, 'adjoint', G(1)*V(1) + G(2)*V(2) + G(3)*V(3), D
C     Forward over reverse against forward over forward, and reverse over both.
      ADF(TANGENT(T) = V)
      CALL GRAD(T, K, G)
      END ADF(H = TANGENT(G))
      ADF(TANGENT(T) = V)
      CALL DIRECT(T, K, V, D)
      END ADF(E = TANGENT(D))
      PRINT *, 'second', H(1)*V(1) + H(2)*V(2) + H(3)*V(3), E
      ADR(D)
      CALL DIRECT(T, K, V, D)
      END ADR(G = COTANGENT(T))
      DO 20 I = 1, 3
   20 PRINT *, 'reverse', G(I), H(I)
      ADR(COTANGENT(G) = V)
      CALL GRAD(T, K, G)
      END ADR(V = COTANGENT(T))
      DO 30 I = 1, 3
   30 PRINT *, 'twice', V(I), H(I)
C     In a loop, where the results of a call are its next arguments.
      W(1) = 0.3D0
      W(2) = 0.9D0
      ADF(TANGENT(W(1)) = 1)
      CALL TURNS(W, X)
      END ADF(D = TANGENT(X))
      W(1) = 0.3D0
      W(2) = 0.9D0
      ADR(X)
      CALL TURNS(W, X)
      END ADR(Z = COTANGENT(W(1)))
      PRINT *, 'turns', Z, D
      END
      SUBROUTINE GRAD(T, K, G)
      DOUBLE PRECISION T(3), Y, G(3)
      ADR(Y)
      CALL CHAIN(T, K, Y)
      END ADR(G = COTANGENT(T))
      END
      SUBROUTINE DIRECT(T, K, V, D)
      DOUBLE PRECISION T(3), Y, D, V(3)
      ADF(TANGENT(T) = V)
      CALL CHAIN(T, K, Y)
      END ADF(D = TANGENT(Y))
      END
      SUBROUTINE CHAIN(T, K, Y)
      DOUBLE PRECISION T(3), Y, X, S, TWICE
      S = 0
      DO 10 I = 1, 3
      CALL SOLVE(T(I)*T(1), 50, X)
      X = X*X
C     X is overwritten each time.
   10 S = S + X*T(K) + TWICE(X, T(I))
      Y = S*T(3)
      END
C     farfel: derivative(tangent = TWICE_D, adjoint = TWICE_B)
      DOUBLE PRECISION FUNCTION TWICE(A, B)
      DOUBLE PRECISION A, B
      TWICE = 2*A*B
      END
      SUBROUTINE TWICE_D(A, AD, B, BD, R, RD)
      DOUBLE PRECISION A, AD, B, BD, R, RD, TWICE
      R = TWICE(A, B)
      RD = 2*A*BD + 2*B*AD
      END
      SUBROUTINE TWICE_B(A, AB, B, BB, R, RB)
      DOUBLE PRECISION A, AB, B, BB, R, RB
      AB = AB + 2*B*RB
      BB = BB + 2*A*RB
      RB = 0
      END
      SUBROUTINE TURNS(W, X)
      DOUBLE PRECISION W(2), X
      X = 0
      DO 10 I = 1, 4
      CALL TURN(W)
   10 X = X + SIN(W(1))*I + TWO(W(1), W(1))
      END
      DOUBLE PRECISION FUNCTION TWO(A, B)
      DOUBLE PRECISION A, B, TWICE
      TWO = TWICE(A, A) + TWICE(A, B)
      END
C     farfel: derivative(tangent = TURN_D, adjoint = TURN_B)
      SUBROUTINE TURN(W)
      DOUBLE PRECISION W(2), T
      T = W(1)*W(2)
      W(2) = W(1) + W(2)**2
      W(1) = T
      END
      SUBROUTINE TURN_D(W, WD)
      DOUBLE PRECISION W(2), WD(2), T
      T = W(1)*WD(2) + WD(1)*W(2)
      WD(2) = WD(1) + 2*W(2)*WD(2)
      WD(1) = T
      CALL TURN(W)
      END
C     It leaves nothing of use in its argument.
      SUBROUTINE TURN_B(W, WB)
      DOUBLE PRECISION W(2), WB(2), T
      T = W(2)*WB(1) + WB(2)
      WB(2) = W(1)*WB(1) + 2*W(2)*WB(2)
      WB(1) = T
      W(1) = 77
      W(2) = -77
      END
{}",
        SOLVE.trim_start_matches('\n')
    )
    .replace(
        "DOUBLE PRECISION W(2), X\n",
        "DOUBLE PRECISION W(2), X, TWO\n",
    );
    check(&text, 1e-9);
}

/// LAPACK's solvers in reverse: against forward mode, and forward over reverse.
#[test]
fn adjoints_of_libraries() {
    let text = format!(
        "      PROGRAM MAIN
      DOUBLE PRECISION T, Y(4), D(4), G, H, C(4), E(4), S, D2(4), GD
      T = 0.7D0
      DO I = 1, 4
        C(I) = SIN(2D0*I)
      END DO
      ADF(T)
      CALL LINEAR(T, Y)
      END ADF(D = TANGENT(Y))
      ADR(COTANGENT(Y) = C)
      CALL LINEAR(T, Y)
      END ADR(G = COTANGENT(T))
      S = C(1)*D(1) + C(2)*D(2) + C(3)*D(3) + C(4)*D(4)
      PRINT *, 'adjoint', G, S
      ADF(T)
      CALL BACK(T, C, G)
      END ADF(GD = TANGENT(G))
      ADF(T)
      CALL FIRST(T, D)
      END ADF(D2 = TANGENT(D))
      S = C(1)*D2(1) + C(2)*D2(2) + C(3)*D2(3) + C(4)*D2(4)
      PRINT *, 'second', GD, S
      END
      SUBROUTINE FIRST(T, D)
      DOUBLE PRECISION T, Y(4), D(4)
      ADF(T)
      CALL LINEAR(T, Y)
      END ADF(D = TANGENT(Y))
      END
      SUBROUTINE BACK(T, C, G)
      DOUBLE PRECISION T, Y(4), C(4), G
      ADR(COTANGENT(Y) = C)
      CALL LINEAR(T, Y)
      END ADR(G = COTANGENT(T))
      END
{}",
        SYSTEM.trim_start_matches('\n')
    );
    let fortran = expand(&text).unwrap_or_else(|e| panic!("{e}"));
    for flags in [&["-O0", "-fcheck=all"][..], &["-O2"]] {
        if let Some(out) = run_with_lapack(&fortran, flags) {
            compare(&out, 1e-9, &fortran);
        }
    }
}

/// A procedure whose source text is present, and whose rule is requested nevertheless.
#[test]
fn library_rules_on_request() {
    let text = "      SUBROUTINE MAIN(X, Y, N, D)
      DOUBLE PRECISION X(N), Y(N), D(N)
C     farfel: library(DAXPY)
      ADF(TANGENT(X) = 1)
      CALL DAXPY(N, 2D0, X, 1, Y, 1)
      END ADF(D = TANGENT(Y))
      END
      SUBROUTINE DAXPY(N, A, X, INCX, Y, INCY)
      DOUBLE PRECISION A, X(N), Y(N)
      Y = Y + A*X
      END
";
    let made = expand(text).unwrap();
    assert!(made.contains("CALL FARFEL_DAXPY_D(N, 2D0, "), "{made}");
    let made = expand(&text.replace("DAXPY", "MYAXPY"));
    assert_snapshot!(made.unwrap_err(), @"F0322 5:7 no derivative of MYAXPY comes along");
}

/// What an adjoint does not read need not be recorded.
#[test]
fn adjoints_that_read_no_values() {
    let text = |values: &str| {
        format!(
            "      SUBROUTINE MAIN(X, N, D)
      INTEGER N, I
      DOUBLE PRECISION X(N), D(N), S
      EXTERNAL ADDTO, ADDTOD, ADDTOB
!farfel: derivative(ADDTO(A, S), tangent = ADDTOD, adjoint = ADDTOB, in = (A, S), out = (S){values})
      S = 1
      ADR(COTANGENT(S) = 1)
      DO I = 1, N
        CALL ADDTO(X(I), S)
      END DO
      END ADR(D = COTANGENT(X))
      END
"
        )
    };
    assert!(expand(&text("")).unwrap().contains("TAPE"));
    assert!(!expand(&text(", values = ()")).unwrap().contains("TAPE"));
    let wrong = expand(&text(", values = (B)")).unwrap_err();
    assert_eq!(wrong, "F0310 5:1 B is not an argument of ADDTO\n");
}

/// The main program and the blocks of the tests with several directions: each row is compared with differences.
const SEVERAL: &str = "      PROGRAM MAIN
      INTEGER N
      PARAMETER (N = 3)
      DOUBLE PRECISION A(N,N), B(N), J(N,N), R(N,N), E(N), U(N), V(N)
      DOUBLE PRECISION T(N)
      A = 0
      DO I = 1, N
        DO K = 1, N
          A(I,K) = 1D0/(I + K) + I*I*0.1D0
        END DO
        A(I,I) = A(I,I) + 3
        B(I) = I + 0.5D0
      END DO
      CALL FWD(N, A, B, J)
      CALL REV(N, A, B, R)
      DO I = 1, N
        U = B
        U(I) = U(I) + 1D-3
        CALL MODEL(N, A, U, E)
        U(I) = U(I) - 2D-3
        CALL MODEL(N, A, U, V)
        DO K = 1, N
          T(K) = 8*(E(K) - V(K))
        END DO
        U(I) = U(I) + 3D-3
        CALL MODEL(N, A, U, E)
        U(I) = U(I) - 4D-3
        CALL MODEL(N, A, U, V)
        DO K = 1, N
          T(K) = (T(K) - E(K) + V(K))/12D-3
          PRINT *, 'forward', J(K,I), T(K)
          PRINT *, 'reverse', R(K,I), T(K)
        END DO
      END DO
      END
      SUBROUTINE FWD(N, A, B, J)
      DOUBLE PRECISION A(N,N), B(N), J(N,N), X(N)
      ADF(DIRECTIONS = N, (TANGENT(B(I), I) = 1, I = 1, N))
      CALL MODEL(N, A, B, X)
      END ADF(((J(I,K) = TANGENT(X(I), K), I = 1, N), K = 1, N))
      END
      SUBROUTINE REV(N, A, B, J)
      DOUBLE PRECISION A(N,N), B(N), J(N,N), X(N)
      ADR(DIRECTIONS = N, (COTANGENT(X(I), I) = 1, I = 1, N))
      CALL MODEL(N, A, B, X)
      END ADR(((J(I,K) = COTANGENT(B(K), I), I = 1, N), K = 1, N))
      END
";

/// A given derivative has one direction, and is called once for each. The arguments that it changes have their
/// values from before each time; an adjoint may leave anything in them.
#[test]
fn given_derivatives_in_several_directions() {
    let text = format!(
        "{SEVERAL}{}",
        "      SUBROUTINE MODEL(N, A, B, X)
      DOUBLE PRECISION A(N,N), B(N), X(N), W(2*N), S, CUBE
      X = B
      W(1:N) = B*B
      DO I = 1, N
        W(N+I) = CUBE(B(I))
      END DO
      CALL TWIST(N, W(N+1), X, S)
      DO I = 1, N
        CALL TWIST(1, W(I), X(I), S)
        X(I) = X(I)*S
      END DO
      END
!farfel: derivative(tangent = CUBE_D, adjoint = CUBE_B)
      DOUBLE PRECISION FUNCTION CUBE(X)
      DOUBLE PRECISION X
      CUBE = X**3
      END
      SUBROUTINE CUBE_D(X, XD, Y, YD)
      DOUBLE PRECISION X, XD, Y, YD
      Y = X**3
      YD = 3*X**2*XD
      END
      SUBROUTINE CUBE_B(X, XB, Y, YB)
      DOUBLE PRECISION X, XB, Y, YB
      XB = XB + 3*X**2*YB
      YB = 0
      END
!farfel: derivative(tangent = TWIST_D, adjoint = TWIST_B, in = (W, X), out = (X, S))
      SUBROUTINE TWIST(N, W, X, S)
      DOUBLE PRECISION W(N), X(N), S
      S = 0
      DO I = 1, N
        X(I) = X(I)*W(I) + SIN(W(I))
        S = S + X(I)
      END DO
      END
      SUBROUTINE TWIST_D(N, W, WD, X, XD, S, SD)
      DOUBLE PRECISION W(N), X(N), S, WD(N), XD(N), SD
      S = 0
      SD = 0
      DO I = 1, N
        XD(I) = XD(I)*W(I) + X(I)*WD(I) + COS(W(I))*WD(I)
        X(I) = X(I)*W(I) + SIN(W(I))
        S = S + X(I)
        SD = SD + XD(I)
      END DO
      END
      SUBROUTINE TWIST_B(N, W, WB, X, XB, S, SB)
      DOUBLE PRECISION W(N), X(N), S, WB(N), XB(N), SB
      DO I = 1, N
        XB(I) = XB(I) + SB
        WB(I) = WB(I) + (X(I) + COS(W(I)))*XB(I)
        XB(I) = XB(I)*W(I)
        X(I) = 99
      END DO
      S = 77
      SB = 0
      END
"
    );
    check(&text, 1e-8);
}

/// Callers pass the sizes of arrays that are declared as `X(*)` or `X(1)`. The rest of a work array belongs to other
/// arguments, which keep their values and their derivatives.
#[test]
fn open_arrays_in_several_directions() {
    let (main, _) = SEVERAL.split_once("      CALL REV").unwrap();
    let (_, rest) = SEVERAL.split_once("R)\n").unwrap();
    let rest = rest.replace("          PRINT *, 'reverse', R(K,I), T(K)\n", "");
    let (rest, _) = rest.split_once("      SUBROUTINE REV").unwrap();
    let model = "      SUBROUTINE MODEL(N, A, B, X)
      DOUBLE PRECISION A(N,N), B(N), X(N), W(50), V(4)
      DO I = 1, 50
        W(I) = I*B(1)
      END DO
      DO I = 1, N
        W(I+2) = B(I)
        W(I+12) = 1 + B(I)**2
        W(I+22) = B(I)*B(1)
      END DO
      V = B(2)
      CALL OUTER(N, W, V)
      DO I = 1, N
        X(I) = W(I+2) + W(I+12)*W(I+22) + W(I+32)*V(4) + V(I)
      END DO
      END
      SUBROUTINE OUTER(N, W, V)
      DOUBLE PRECISION W(*), V(4)
      CALL INNER(N, W(3), W(13), W(23), V(2))
      END
      SUBROUTINE INNER(N, P, X, Q, S)
      DOUBLE PRECISION P(*), X(1), Q(N), S(2)
      CALL TWIST(N, P, X, S, Q)
      END
!farfel: derivative(tangent = TWIST_D, in = (W, X, Q), out = (X, S))
      SUBROUTINE TWIST(N, W, X, S, Q)
      DOUBLE PRECISION W(N), X(N), S(2), Q(N)
      S = 0
      DO I = 1, N
        X(I) = X(I)*W(I) + SIN(Q(I))
        S(2) = S(2) + X(I)
      END DO
      END
      SUBROUTINE TWIST_D(N, W, WD, X, XD, S, SD, Q, QD)
      DOUBLE PRECISION W(N), X(N), S(2), WD(N), XD(N), SD(2), Q(N)
      DOUBLE PRECISION QD(N)
      S = 0
      SD = 0
      DO I = 1, N
        XD(I) = XD(I)*W(I) + X(I)*WD(I) + COS(Q(I))*QD(I)
        X(I) = X(I)*W(I) + SIN(Q(I))
        S(2) = S(2) + X(I)
        SD(2) = SD(2) + XD(I)
      END DO
      END
";
    let text = format!("{main}{rest}{model}");
    check(&text, 1e-8);
    // One of two results would get its old values back with the other one.
    for (from, to) in [
        ("out = (X, S))", "out = (X, S, W))"),
        ("Q(N), S(2)", "Q(N), S"),
    ] {
        let error = expand(&text.replace(from, to)).unwrap_err();
        assert!(
            error.contains("are not known, so that it cannot be called"),
            "{error}"
        );
    }
}

/// The same for LAPACK.
#[test]
fn libraries_in_several_directions() {
    let text = format!(
        "{SEVERAL}{}",
        "      SUBROUTINE MODEL(N, A, B, X)
      DOUBLE PRECISION A(N,N), B(N), X(N), C(N,N), DDOT
      EXTERNAL DGESV, DDOT
      INTEGER IPIV(N), INFO
      DO I = 1, N
        DO K = 1, N
          C(I,K) = A(I,K) + B(I)*B(K)**2*0.1D0
        END DO
        X(I) = B(I)**2
      END DO
      CALL DGESV(N, 1, C, N, IPIV, X, N, INFO)
      X(1) = X(1) + DDOT(N, X, 1, B, 1)
      END
"
    );
    let fortran = expand(&text).unwrap_or_else(|e| panic!("{e}"));
    if let Some(out) = run_with_lapack(&fortran, support::CHECKED) {
        compare(&out, 1e-8, &fortran);
    }
}

/// One directive gives the tangent of a procedure, and another one its adjoint.
#[test]
fn tangent_and_adjoint_may_be_given_in_different_places() {
    check(
        "      PROGRAM MAIN
      DOUBLE PRECISION X, FWD, REV, SIDE
      EXTERNAL CUBE, CUBED, CUBEB
      X = 1.3D0
      PRINT *, 'forward', FWD(CUBE, CUBED, X), 3*X**2
      PRINT *, 'reverse', REV(CUBE, CUBEB, X), 3*X**2
      END
      DOUBLE PRECISION FUNCTION FWD(F, FD, X)
      DOUBLE PRECISION F, X, Y
      EXTERNAL F, FD
!farfel: derivative(F(X), tangent = FD, in = X)
      ADF(X)
      Y = F(X)
      END ADF(FWD = TANGENT(Y))
      END
      DOUBLE PRECISION FUNCTION REV(F, FB, X)
      DOUBLE PRECISION F, X, Y
      EXTERNAL F, FB
!farfel: derivative(F(X), adjoint = FB, in = X)
      ADR(Y)
      Y = F(X)
      END ADR(REV = COTANGENT(X))
      END
      DOUBLE PRECISION FUNCTION CUBE(X)
      DOUBLE PRECISION X
      CUBE = X**3
      END
      SUBROUTINE CUBED(X, XD, Y, YD)
      DOUBLE PRECISION X, XD, Y, YD
      Y = X**3
      YD = 3*X**2*XD
      END
      SUBROUTINE CUBEB(X, XB, Y, YB)
      DOUBLE PRECISION X, XB, Y, YB
      XB = XB + 3*X**2*YB
      YB = 0
      END
",
        1e-14,
    );
}

/// Both must say the same about the arguments.
#[test]
fn directives_about_one_procedure_agree() {
    let text = "      PROGRAM MAIN
      DOUBLE PRECISION X, FWD, REV, SIDE
      EXTERNAL CUBE, CUBED, CUBEB
      X = 1.3D0
      PRINT *, 'forward', FWD(CUBE, CUBED, X), 3*X**2
      PRINT *, 'reverse', REV(CUBE, CUBEB, X), 3*X**2
      END
      DOUBLE PRECISION FUNCTION FWD(F, FD, X)
      DOUBLE PRECISION F, X, Y
      EXTERNAL F, FD
!farfel: derivative(F(X), tangent = FD, in = X)
      ADF(X)
      Y = F(X)
      END ADF(FWD = TANGENT(Y))
      END
      DOUBLE PRECISION FUNCTION REV(F, FB, X)
      DOUBLE PRECISION F, X, Y
      EXTERNAL F, FB
!farfel: derivative(F(X), adjoint = FB, in = ())
      ADR(Y)
      Y = F(X)
      END ADR(REV = COTANGENT(X))
      END
      DOUBLE PRECISION FUNCTION CUBE(X)
      DOUBLE PRECISION X
      CUBE = X**3
      END
      SUBROUTINE CUBED(X, XD, Y, YD)
      DOUBLE PRECISION X, XD, Y, YD
      Y = X**3
      YD = 3*X**2*XD
      END
      SUBROUTINE CUBEB(X, XB, Y, YB)
      DOUBLE PRECISION X, XB, Y, YB
      XB = XB + 3*X**2*YB
      YB = 0
      END
";
    let error = expand(text).unwrap_err();
    assert!(
        error.contains("this lists other arguments of CUBE than another directive about it"),
        "{error}"
    );
}
