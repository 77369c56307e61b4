//! AD of AD.

use crate::support::{self, FAST, check, expand, expand_exports};
use farfel_ad::Builtin;

/// The example of the paper: an equilibrium, by Newton's method on derivatives of
/// derivatives. Single precision is good to about 0.02 here, double precision to 1e-9.
#[test]
fn the_equilibrium_of_the_paper() {
    let paper = support::paper();
    check(&paper, 1e-3);
    let fortran = expand(&paper).unwrap();
    let out = support::run(&fortran, &[FAST, &["-fdefault-real-8"]].concat());
    support::compare(&out, 1e-9, &fortran);
    // Payoffs are quadratic: third derivatives vanish, and nothing computes them.
    assert!(!fortran.contains("GMBIGB_G2_1_G4_G5"), "{fortran}");
    assert!(fortran.contains("GMBIGB_G2_1_G4"), "{fortran}");
}

/// d/dx (x * d/dy (x + y)) = 1, which engines that confuse perturbations get wrong.
#[test]
fn perturbations_are_not_confused() {
    check(
        "
      PROGRAM MAIN
      DOUBLE PRECISION X, Y, Z, W, DZ, DW
      X = 3
      ADF(X)
      Y = 4
      ADF(Y)
      Z = X + Y
      END ADF(DZ = TANGENT(Z))
      W = X*DZ
      END ADF(DW = TANGENT(W))
      PRINT *, 'one', DW, 1.0
      ADF(X)
      Y = 4
      ADF(Y)
      Z = X*Y*Y
      END ADF(DZ = TANGENT(Z))
      W = X*DZ
      END ADF(DW = TANGENT(W))
      PRINT *, 'sixteen_x', DW, 16*X
      END
",
        0.0,
    );
}

/// Third and fourth derivatives against closed forms.
#[test]
fn higher_derivatives() {
    check(
        "
      PROGRAM MAIN
      DOUBLE PRECISION X, D(4), E
      X = 0.7D0
      CALL DERIV(X, D)
      E = EXP(SIN(X))
      PRINT *, 'first', D(1), E*COS(X) + 4*X**3
      PRINT *, 'second', D(2), E*(COS(X)**2 - SIN(X)) + 12*X**2
      PRINT *, 'third', D(3), E*(COS(X)**3 - 3*SIN(X)*COS(X)
     +  - COS(X)) + 24*X
      PRINT *, 'fourth', D(4), E*(COS(X)**4 - 6*SIN(X)*COS(X)**2
     +  - 4*COS(X)**2 + 3*SIN(X)**2 + SIN(X)) + 24
      END
      FUNCTION F(X)
      DOUBLE PRECISION F, X
      F = EXP(SIN(X)) + X**4
      END
      SUBROUTINE DERIV(X, D)
      DOUBLE PRECISION X, D(4), Y, Y1, Y2, Y3, F
      ADF(X)
        ADF(X)
          ADF(X)
            ADF(X)
              Y = F(X)
            END ADF(Y1 = TANGENT(Y))
          END ADF(Y2 = TANGENT(Y1))
        END ADF(Y3 = TANGENT(Y2))
      END ADF(D(4) = TANGENT(Y3))
      D(1) = Y1
      D(2) = Y2
      D(3) = Y3
      END
",
        1e-12,
    );
}

/// A minimum inside a function whose derivative is wanted: AD through Newton's method on
/// an AD derivative, with an argument that both levels share.
#[test]
fn derivative_of_an_argument_of_the_minimum() {
    check(
        "
      PROGRAM MAIN
      DOUBLE PRECISION A, T, DT, ARGMIN
      A = 2
      ADF(A)
      T = ARGMIN(A)
      END ADF(DT = TANGENT(T))
C     G(A, T) = (T**2 - A)**2/4 + T has a minimum where T**3 - A*T + 1 = 0
      PRINT *, 'zero', T**3 - A*T + 1, 0.0
      PRINT *, 'implicit', DT, T/(3*T**2 - A)
      END
      FUNCTION G(A, T)
      DOUBLE PRECISION G, A, T
      G = (T**2 - A)**2/4 + T
      END
      SUBROUTINE SLOPE(A, T, D)
      DOUBLE PRECISION A, T, D, V, G
      ADF(T)
      V = G(A, T)
      END ADF(D = TANGENT(V))
      END
      FUNCTION ARGMIN(A)
      DOUBLE PRECISION ARGMIN, A, T, D, DD
      T = -2
      DO 10 I = 1, 30
      ADF(T)
      CALL SLOPE(A, T, D)
      END ADF(DD = TANGENT(D))
   10 T = T - D/DD
      ARGMIN = T
      END
",
        1e-13,
    );
}

/// Derivatives of derivatives through COMMON, arrays and all the rules that need
/// statements of their own.
#[test]
fn second_derivatives_of_everything() {
    check(
        "
      PROGRAM MAIN
      DOUBLE PRECISION X, Y, D, DD, H, A, B, C
      X = 0.6D0
      H = 1D-3
      CALL FIRST(X + H, Y, A)
      CALL FIRST(X - H, Y, B)
      D = (A - B)/(2*H)
      H = H/2
      CALL FIRST(X + H, Y, A)
      CALL FIRST(X - H, Y, B)
      C = (A - B)/(2*H)
      ADF(X)
      CALL FIRST(X, Y, D)
      END ADF(DD = TANGENT(D))
      CALL FIRST(X + 2*H, Y, A)
      CALL FIRST(X - 2*H, Y, B)
      PRINT *, 'second', DD, (4*C - (A - B)/(4*H))/3
      END
      SUBROUTINE FIRST(X, Y, D)
      DOUBLE PRECISION X, Y, D
      ADF(X)
      CALL F(X, Y)
      END ADF(D = TANGENT(Y))
      END
      SUBROUTINE F(X, Y)
      DOUBLE PRECISION X, Y, W(3), A
      COMPLEX*16 Z
      COMMON /C/ W, A
      A = X
      CALL G(3)
      Y = W(1)*W(2) + MAX(W(3), X*X, 0.5D0*A)
      Y = Y + SQRT(X)*ABS(X - 1)/DIM(X, 0.1D0) + X**(X + 1)
      Z = DCMPLX(X, A*X)
      Y = Y + ABS(Z*Z) + DIMAG(EXP(Z)) + ATAN2(X, A*A) + MOD(3*X, A)
      Y = Y*SIGN(X, -A) + TAN(X) + TANH(X) + ERF(X) + ASIN(X)
      DO 10 I = 0, 3
   10 Y = Y + X**I/(1 + X**2)
      END
      SUBROUTINE G(N)
      DOUBLE PRECISION W(3), A
      COMMON /C/ W, A
      DO 10 I = 1, N
      W(I) = A**I
   10 A = A*W(I)
      A = A + 1
      END
",
        1e-7,
    );
}

/// Saved variables keep their values from call to call, in the original and in its
/// derivatives alike; their tangents are zero where an AD block begins.
#[test]
fn saved_state_is_shared() {
    check(
        "
      PROGRAM MAIN
      DOUBLE PRECISION X, Y, D
      X = 2
      CALL ADD(X, Y)
      PRINT *, 'first', Y, 12.0
      ADF(X)
      CALL ADD(X, Y)
      CALL ADD(X, Y)
      END ADF(D = TANGENT(Y))
      PRINT *, 'third', Y, 16.0
      PRINT *, 'two_of_three', D, 2.0
      CALL ADD(X, Y)
      PRINT *, 'fourth', Y, 18.0
      ADF(X)
      CALL ADD(X, Y)
      END ADF(D = TANGENT(Y))
      PRINT *, 'one_of_five', D, 1.0
      PRINT *, 'fifth', Y, 20.0
      END
      SUBROUTINE ADD(X, Y)
      DOUBLE PRECISION X, Y, SUM
      LOGICAL FIRST
      SAVE SUM, FIRST
      DATA SUM /0D0/, FIRST /.TRUE./
      IF (FIRST) SUM = SUM + 10
      FIRST = .FALSE.
      SUM = SUM + X
      Y = SUM
      END
",
        0.0,
    );
}

/// Real loop variables, functions in conditions, and COMMON of two sizes, two and three deep.
#[test]
fn loops_and_blocks_of_adjoints() {
    check(
        "      PROGRAM MAIN
      DOUBLE PRECISION X(3), V(3), G(3), H(3), H2(3), D, E
      DATA X /0.7D0, 1.3D0, -0.4D0/, V /1D0, -0.5D0, 0.75D0/
      ADF(TANGENT(X) = V)
        CALL GRAD(X, G)
      END ADF(H = TANGENT(G))
      ADR(COTANGENT(G) = V)
        CALL GRAD(X, G)
      END ADR(H2 = COTANGENT(X))
      ADF(TANGENT(X) = V)
        CALL ALONG(X, V, D)
      END ADF(E = TANGENT(D))
      DO I = 1, 3
        PRINT *, 'reverse_reverse', H2(I), H(I)
      END DO
      PRINT *, 'forward_forward', E, DOT_PRODUCT(H, V)
      END
      SUBROUTINE GRAD(X, G)
      DOUBLE PRECISION X(3), G(3), Y
      ADR(Y)
        CALL F(X, Y)
      END ADR(G = COTANGENT(X))
      END
      SUBROUTINE ALONG(X, V, D)
      DOUBLE PRECISION X(3), V(3), Y, D
      ADF(TANGENT(X) = V)
        CALL F(X, Y)
      END ADF(D = TANGENT(Y))
      END
      SUBROUTINE F(X, Y)
      DOUBLE PRECISION X(3), Y, T, A, B
      LOGICAL MORE
      COMMON /BL/ A, B
      A = 1
      B = X(3)
      DO T = X(1), X(2) + 0.1D0, 0.2D0 + X(1)*0.1D0
        A = A + T*T*X(2)
        IF (A .GT. 3) A = A*0.5D0
      END DO
      Y = X(2)*T
      DO WHILE (MORE(Y, X))
        Y = Y + A*B
      END DO
      CALL G(X(1))
      Y = Y*A*SIN(B)
      END
      LOGICAL FUNCTION MORE(Y, X)
      DOUBLE PRECISION Y, X(3)
      Y = Y*X(2)*(1 + X(1)**2)
      MORE = Y .LT. 20
      END
      SUBROUTINE G(X)
      DOUBLE PRECISION C(4), X
      COMMON /BL/ C
      C(3) = C(1)*X
      C(4) = C(3)*C(2)
      C(1) = C(1) + C(4)
      END
",
        1e-10,
    );
}

/// The cotangent of an inner tape is set to zero only as far as the tape is used, not up to its maximum size,
/// which may be a gigabyte.
#[test]
fn cotangents_of_tapes_are_zero_as_far_as_they_are_used() {
    let text = "
      PROGRAM MAIN
      DOUBLE PRECISION B(3), D, W, Y, A(3), E, UNTIL
      B(1) = 0.3D0
      B(2) = 0.5D0
      B(3) = 0.7D0
      N = 5
      ADR(Y)
      ADR(D)
      D = SIN(UNTIL(B, N))
      END ADR(W = COTANGENT(B(1)))
      Y = W
      END ADR(A = COTANGENT(B))
      ADF(B(2))
      ADR(D)
      D = SIN(UNTIL(B, N))
      END ADR(W = COTANGENT(B(1)))
      END ADF(E = TANGENT(W))
      PRINT *, 'as_forward_over_reverse', A(2), E
      END

      DOUBLE PRECISION FUNCTION UNTIL(B, N)
      DOUBLE PRECISION B(3), S
      S = 0
      I = 0
   10 I = I + 1
      S = S + B(MOD(I,3)+1)**2
      S = S*COS(S)
      IF (I .LT. N) GOTO 10
      UNTIL = S
      END
";
    check(text, 1e-12);
    let fortran = expand(text).unwrap();
    assert!(fortran.contains("(1:USED) = 0.0D0"), "{fortran}");
}

/// `U*SIN(U)`, four times, and its third derivative by Faà di Bruno's formula. The first derivative comes
/// from an adjoint that passes its tape to other subroutines.
const SINES: &str = "
      PROGRAM MAIN
      DOUBLE PRECISION X, H, T, T1, T2, T3, F1, F2, F3
      X = 0.7D0
      T = X
      T1 = 1
      T2 = 0
      T3 = 0
      DO 10 I = 1, 4
        F1 = SIN(T) + T*COS(T)
        F2 = 2*COS(T) - T*SIN(T)
        F3 = -3*SIN(T) - T*COS(T)
        T3 = F3*T1**3 + 3*F2*T1*T2 + F1*T3
        T2 = F2*T1**2 + F1*T2
        T1 = F1*T1
   10   T = T*SIN(T)
      CALL FIRST(X, H)
      PRINT *, 'third', H, T3
      CALL SEVERAL(X, H)
      PRINT *, 'several', H, 4*T2*T3
      END
      SUBROUTINE S(T)
      DOUBLE PRECISION T
      DO 10 I = 1, 2
   10 T = SIN(T)*T
      END
      DOUBLE PRECISION FUNCTION GRAD(U)
      DOUBLE PRECISION U, D
      ADR(D)
      D = U
      CALL S(D)
      CALL S(D)
      END ADR(GRAD = COTANGENT(U))
      END
      SUBROUTINE FIRST(X, H)
      DOUBLE PRECISION X, A, P, H, GRAD
      ADR(A)
      ADF(X)
      P = GRAD(X)
      END ADF(A = TANGENT(P))
      END ADR(H = COTANGENT(X))
      END
      SUBROUTINE SEVERAL(X, H)
      DOUBLE PRECISION X, A, B, C, P, H, GRAD
      ADR(C)
      ADF(DIRECTIONS = 2, TANGENT(X, 1) = 1, TANGENT(X, 2) = 2)
      P = GRAD(X)
      END ADF(A = TANGENT(P, 1), B = TANGENT(P, 2))
      C = A*B
      END ADR(H = COTANGENT(X))
      END
";

/// When a call that pops values from a tape is differentiated, the derivative of the tape, for one direction
/// or several, comes before the tape's counters.
#[test]
fn cotangents_of_tapes_and_of_their_tangents_begin_with_zero() {
    check(SINES, 1e-12);
    let (_, warnings) = support::expand_warning(SINES).unwrap();
    assert_eq!(warnings, "");
}

/// Only COMMON shows that the derivative goes through ENTRY points, or ends there.
#[test]
fn entry_points_that_change_common() {
    check(
        "
      PROGRAM MAIN
      DOUBLE PRECISION X, Q, Y, Z
      COMMON /C/ Q
      Q = 0.7D0
      ADF(Q)
      CALL ETWICE(Z)
      Y = Q
      END ADF(X = TANGENT(Y))
      PRINT *, 'changed', X, 2*0.7D0
      Q = 0.7D0
      ADF(Q)
      CALL ESET(Z)
      Y = Q*2
      END ADF(X = TANGENT(Y))
      PRINT *, 'set', X, 0D0
      END
      SUBROUTINE TWICE(V)
      DOUBLE PRECISION V, R
      COMMON /C/ R
      ENTRY ETWICE(V)
      V = 1
      R = R**2
      END
      SUBROUTINE SET(V)
      DOUBLE PRECISION V, R
      COMMON /C/ R
      ENTRY ESET(V)
      V = 1
      R = 3
      END
",
        1e-12,
    );
}

/// A nested subprogram that keeps a value is called with an array in COMMON as its argument, for which there
/// is a copy of it, and with a section: both have the same state.
#[test]
fn copies_have_one_state() {
    check(
        "
      PROGRAM MAIN
      CALL C5197
      END
      SUBROUTINE C5197
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      DIMENSION A(3), B(0:2), D(6)
      COMMON /BC5197/ P, Q(3)
      DIMENSION HM(0:2, 3)
      SUBROUTINE S1(NLEN, Y, A)
      INTEGER NLEN
      DIMENSION A(3)
      DOUBLE PRECISION SA1(3)
      DATA SA1 /2*0.41D0, -0.23D0/
      P = SA1(1)
      ADF(TANGENT(B(2)) = 1)
      SA1(1) = 1.0231D0/(2 + (TANH(SA1(2))*Y)**2)
      END ADF
      END
      Q(1) = -0.6930D0
      Q(2) = -0.5760D0
      Q(3) = -0.4590D0
      X = 0.5900D0
      A(1) = 0.1070D0
      ADF(W)
      I3 = 1
      DO WHILE (I3 .LT. 3)
      CALL S1(3, X, Q)
      I3 = I3 + 1
      END DO
      CALL S1(3, A(1), Q(:3))
      END ADF(HM(0, 1) = TANGENT(P))
      PRINT *, 'kept', P, 1.0231D0/(2 + (TANH(0.41D0)*0.59D0)**2)
      END
",
        1e-15,
    );
}

/// The reverse sweep pops a value that a call has pushed, but not its tangent, which is not needed: the
/// cotangent of the tangent begins with zero nevertheless. With COMPLEX, the tape has no other values.
#[test]
fn cotangents_of_what_calls_put_on_tapes_begin_with_zero() {
    for (ty, sine) in [
        ("DOUBLE PRECISION", "SIN(Y)"),
        ("COMPLEX*16", "SIN(DBLE(Y))"),
    ] {
        let text = format!(
            "
      PROGRAM MAIN
      DOUBLE PRECISION P, Q(3), D, G(3)
      COMMON /C/ P, Q
      P = 0.25D0
      DO I = 1, 3
        Q(I) = 0.5D0 + 0.1D0*I
      END DO
      ADR(D)
      CALL INNER((Q))
      D = Q(1) + P
      END ADR((G(I) = COTANGENT(Q(I)), I = 1, 3))
      PRINT *, 'first', G(1), COS(0.6D0)
      PRINT *, 'second', G(2), 0D0
      PRINT *, 'third', G(3), 0.4D0*COS(0.32D0)*COS(SIN(0.32D0))
      END
      SUBROUTINE INNER(B)
      DOUBLE PRECISION B(0:2), R(4), T, E, Z
      {ty} Y
      COMMON /C/ R
      T = 0.4D0
      ADF(T)
      ADR(R)
      ADR()
      Y = B(2)*T
      Y = {sine}
      END ADR
      R(1) = Y
      R = SIN(R)
      END ADR(Z = COTANGENT(R(2)), B(1) = COTANGENT(T))
      END ADF(E = TANGENT(Z))
      END
"
        );
        check(&text, 1e-12);
    }
}

/// What the second adjoint takes from the places of W does not contribute to R, but what it takes from those
/// of V does: in the third adjoint the cotangents of both begin with zero.
#[test]
fn cotangents_of_places_on_tapes_that_do_not_count_begin_with_zero() {
    let adjoints = "
      ADR(R)
      ADR(Y)
      V(1) = C*B
      V(2) = C
      V(3) = B
      ADR(X)
      BODY
      END ADR(Y = COTANGENT(Z))
      END ADR(P = COTANGENT(A), R = COTANGENT(C))
      END ADR(Q = COTANGENT(B))
";
    let tangents = "
      ADF(B)
      ADF(C)
      V(1) = C*B
      V(2) = C
      V(3) = B
      ADF(Z)
      BODY
      END ADF(Y = TANGENT(X))
      END ADF(R = TANGENT(Y))
      END ADF(Q1 = TANGENT(R))
";
    let body = "DO J = 3, 2, -1
        W(J) = 0.6D0*SIN(W(J-1)*W(J)) + 0.2D0*B*TANH(Z)*A
      END DO
      DO J = 3, 2, -1
        V(J) = SIN(V(J-1)*V(J)*Z)
      END DO
      X = SIN(Z)*V(1)*V(2)*V(3) + SIN(W(1) + 2*W(2) + W(3))";
    let text = format!(
        "
      PROGRAM MAIN
      DOUBLE PRECISION A, B, C, Z, Y, P, Q, Q1, R, W(3), V(3), X
      A = 0.3D0
      B = 0.7D0
      C = 0.2D0
      Z = 0.4D0
      W(1) = 0.7292D0
      W(2) = 0.5122D0
      W(3) = 0.2952D0
{adjoints}{tangents}
      PRINT *, 'as_forward_mode', Q, Q1
      END
"
    );
    check(&text.replace("BODY", body), 1e-12);
}

/// The tangent of an adjoint pops the tangent of W from its tape. It does not contribute to R: in the adjoint
/// around it, its cotangent is zero nevertheless.
#[test]
fn cotangents_of_tangents_on_tapes_that_do_not_count_are_zero() {
    let text = "
      PROGRAM MAIN
      DOUBLE PRECISION A, B, W, X, Z, D, R, Q, Q1
      A = 1.044D0
      B = 0.5D0
      ADR(R)
      W = B
      ADF(A)
      ADR(W)
      W = A/W
      W = SIN(W)
      END ADR(W = COTANGENT(W))
      Z = W
      END ADF(D = TANGENT(Z))
      R = Z**3
      END ADR(Q = COTANGENT(B))
      ADF(B)
      W = B
      ADF(W)
      X = SIN(A/W)
      END ADF(Z = TANGENT(X))
      R = Z**3
      END ADF(Q1 = TANGENT(R))
      PRINT *, 'as_forward_mode', Q, Q1
      END
";
    check(text, 1e-12);
}

/// The adjoint of an adjoint does not track the capacity of its tape, since it does not stop. It pushes
/// values after popping some, and in the third adjoint all cotangents of the tape begin with zero.
#[test]
fn tapes_without_an_end_are_cleared_whole() {
    let text = "
      PROGRAM MAIN
      DOUBLE PRECISION R, S
      R = 1
      S = 1
      CALL OUTER(R, S)
      PRINT *, 'zero', R, 0D0
      PRINT *, 'zero', S, 0D0
      END
      SUBROUTINE OUTER(R, S)
      DOUBLE PRECISION R, S, D
        DOUBLE PRECISION FUNCTION F(FLAG)
        LOGICAL FLAG
        DOUBLE PRECISION G, T
        ADR()
        D = G(0.5D0)
        END ADR(T = COTANGENT(R))
        F = 0.5D0
        S = T
        END
      ADR()
      D = F(.TRUE.)
      END ADR(R = COTANGENT(R))
      END
      DOUBLE PRECISION FUNCTION G(X)
      DOUBLE PRECISION X, T, E(3)
      T = 0.2538D0
      ADR(T)
      ADR(T)
      ADR(COTANGENT(E) = E**2)
      E = SIN(X)
      END ADR(E(3) = COTANGENT(X))
   50 E = 0.5D0
      J = 11
      IF (J .LT. 4) GOTO 50
      T = E(3)*T
      END ADR(T = COTANGENT(E(2)))
      END ADR(T = COTANGENT(T))
      G = 0.5D0
      END
";
    check(text, 1e-12);
}

/// Blocks whose statements only their derivatives need, a procedure that is passed on, one that is called by an
/// ENTRY, and initial values.
const WITH_DEAD_BLOCKS: &str = "
      PROGRAM MAIN
      DOUBLE PRECISION X, Y, T1, T2, G
      COMMON /SCALE/ G
      EXTERNAL CUBE
      X = 2
      ADF(X)
      ADF(X)
      CALL EVAL(CUBE, X, Y)
      END ADF(T1 = TANGENT(Y))
      END ADF(T2 = TANGENT(T1))
      PRINT *, 'second', T2, 12*X*G/2
      CALL INIT(X)
      CALL EVAL(CUBE, X, Y)
      PRINT *, 'cube', Y, 0.0D0
      END
      SUBROUTINE EVAL(F, X, Y)
      DOUBLE PRECISION F, X, Y
      EXTERNAL F
      Y = F(X)
      END
      DOUBLE PRECISION FUNCTION CUBE(X)
      DOUBLE PRECISION X, G
      COMMON /SCALE/ G
      CUBE = G*X**3
      END
      SUBROUTINE SET(X)
      DOUBLE PRECISION X
      X = 1
      RETURN
      ENTRY INIT(X)
      X = 0
      END
      BLOCK DATA
      DOUBLE PRECISION G
      COMMON /SCALE/ G
      DATA G /2.0D0/
      END
";

fn units(fortran: &str) -> Vec<&str> {
    let lines = fortran.lines().filter(|l| !l.starts_with('C'));
    let words = lines.flat_map(|l| {
        let mut words = l.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let kind =
            words.find(|w| ["PROGRAM", "SUBROUTINE", "FUNCTION", "ENTRY", "DATA"].contains(w));
        kind.and_then(|kind| match kind {
            "DATA" => (l.trim_start() == "BLOCK DATA").then_some("BLOCK DATA"),
            _ => words.next(),
        })
    });
    words.collect()
}

/// Inner derivatives are made for outer ones: nothing calls them afterwards, nor the blocks that called them.
#[test]
fn nothing_is_left_that_nobody_calls() {
    check(WITH_DEAD_BLOCKS, 1e-12);
    let fortran = expand(WITH_DEAD_BLOCKS).unwrap();
    let found = units(&fortran);
    assert_eq!(
        found,
        [
            "MAIN",
            "EVAL",
            "CUBE",
            "SET",
            "INIT",
            "BLOCK DATA",
            "MAIN_ADF1_G1",
            "MAIN_ADF1_ADF2_G2_G1",
            "EVAL_G2_G1",
            "CUBE_G2_G1",
        ],
        "{fortran}"
    );
    // What other code may call stays, whoever calls it here.
    let library = WITH_DEAD_BLOCKS.replace("PROGRAM MAIN", "SUBROUTINE MAIN");
    let exports = Some(&["MAIN", "CUBE"][..]);
    let (fortran, _) = expand_exports(&library, &Builtin, exports).unwrap();
    assert_eq!(units(&fortran), found, "{fortran}");
    let library = library.replace("      CALL EVAL(CUBE, X, Y)\n      PRINT", "      PRINT");
    for (exports, kept) in [(&["MAIN", "CUBE"][..], true), (&["MAIN"][..], false)] {
        let (fortran, _) = expand_exports(&library, &Builtin, Some(exports)).unwrap();
        assert_eq!(units(&fortran).contains(&"CUBE"), kept, "{fortran}");
        assert!(!units(&fortran).contains(&"EVAL"), "{fortran}");
    }
}
