//! Derivatives through dummy procedures that code outside of the program passes, together with their
//! derivatives.

use crate::support::{CHECKED, expand_exports, run};
use farfel_ad::Builtin;
use insta::assert_snapshot;

/// Expands a program with exports, and runs it with code that calls them. Every line of the output has a name
/// and two equal values.
fn check(source: &str, exports: &[&str], outside: &str, tolerance: f64) -> String {
    let source = source.trim_start_matches('\n');
    let (fortran, _) =
        expand_exports(source, &Builtin, Some(exports)).unwrap_or_else(|e| panic!("{e}"));
    let whole = format!("{fortran}{}", outside.trim_start_matches('\n'));
    for flags in [CHECKED, &["-O2"]] {
        let out = run(&whole, flags);
        let mut lines = 0;
        for line in out.lines() {
            let mut words = line.split_whitespace().rev();
            let mut number = || words.next().unwrap().parse::<f64>().unwrap();
            let (expected, got) = (number(), number());
            let error = (got - expected).abs();
            assert!(
                error <= tolerance * expected.abs().max(1.0),
                "{line}\n{fortran}"
            );
            lines += 1;
        }
        assert!(lines > 0, "{out}");
    }
    fortran
}

fn errors(source: &str, exports: &[&str]) -> String {
    match expand_exports(source.trim_start_matches('\n'), &Builtin, Some(exports)) {
        Ok((text, _)) => format!("no errors\n{text}"),
        Err(e) => e,
    }
}

/// Newton's method: exported, and also called with procedures of the program.
const NEWTON: &str = "
      SUBROUTINE NEWTON(F, FD, X, TOL, ITER)
      DOUBLE PRECISION F, X, TOL, Y, YPRIME
      EXTERNAL F, FD
!farfel: derivative(F(X), tangent = FD, in = X)
      DO 10 ITER = 1, 50
      ADF(X)
      Y = F(X)
      END ADF(YPRIME = TANGENT(Y))
      IF (ABS(Y) .LT. TOL) RETURN
   10 X = X - Y/YPRIME
      END
      DOUBLE PRECISION FUNCTION ROOTS()
      DOUBLE PRECISION X, CUBE
      EXTERNAL CUBE, CUBE_D, SQUARE, SQU_D
        DOUBLE PRECISION FUNCTION SHIFT(T)
        DOUBLE PRECISION T
        SHIFT = T*T - C
        END
        SUBROUTINE SHIF_D(T, TD, Y, YD)
        DOUBLE PRECISION T, TD, Y, YD
        Y = T*T - C
        YD = 2*T*TD
        END
      C = 9
      X = 2
      CALL NEWTON(CUBE, CUBE_D, X, 1D-12, I)
      ROOTS = X
      CALL NEWTON(SHIFT, SHIF_D, X, 1D-12, I)
      ROOTS = ROOTS + 10*X
      END
      DOUBLE PRECISION FUNCTION CUBE(T)
      DOUBLE PRECISION T
      CUBE = T**3 - 8
      END
      SUBROUTINE CUBE_D(T, TD, Y, YD)
      DOUBLE PRECISION T, TD, Y, YD
      Y = T**3 - 8
      YD = 3*T**2*TD
      END
";

const TWO: &str = "
      PROGRAM MAIN
      DOUBLE PRECISION X, ROOTS, G
      EXTERNAL G, G_D
      X = 1
      CALL NEWTON(G, G_D, X, 1D-13, I)
      PRINT *, 'newton', X, SQRT(2D0)
      PRINT *, 'roots', ROOTS(), 32D0
      END
      DOUBLE PRECISION FUNCTION G(X)
      DOUBLE PRECISION X
      G = X*X - 2
      END
      SUBROUTINE G_D(X, XD, Y, YD)
      DOUBLE PRECISION X, XD, Y, YD
      Y = X*X - 2
      YD = 2*X*XD
      END
";

#[test]
fn newton() {
    let made = check(NEWTON, &["NEWTON", "ROOTS"], TWO, 1e-10);
    assert!(made.contains("CALL NEWTON_FD(X, "), "{made}");
}

/// Passed on through two levels, by a nested function that uses it, and in reverse mode.
const PASSED: &str = "
      SUBROUTINE SLOPES(F, FD, FB, X, C, D, E, H)
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      EXTERNAL F, FD, FB
!farfel: derivative(F(T, K), tangent = FD, adjoint = FB, in = T)
        FUNCTION SHIFTED(T)
        SHIFTED = C*F(T + C, 2)*T
        END
      ADF(X)
      Y = G(F, X) + OUTER(SHIFTED, X)
      END ADF(D = TANGENT(Y))
      ADR(Y)
      Y = G(F, X) + OUTER(SHIFTED, X)
      END ADR(E = COTANGENT(X), H = COTANGENT(C))
      END
      DOUBLE PRECISION FUNCTION G(H, X)
      DOUBLE PRECISION H, X, OTHER
      G = OTHER(H, X*X)
      DO I = 1, 3
        G = G*H(X*I, I)
      END DO
      END
      DOUBLE PRECISION FUNCTION OTHER(P, X)
      DOUBLE PRECISION P, X
      OTHER = P(X, 1)*X
      END
      DOUBLE PRECISION FUNCTION OUTER(Q, X)
      DOUBLE PRECISION Q, X
      OUTER = Q(X)**2 + Q(2*X)
      END
C     G with a procedure whose text is here.
      SUBROUTINE KNOWN(X, D)
      DOUBLE PRECISION X, Y, D, G, OWN
      EXTERNAL OWN
      ADF(X)
      Y = G(OWN, X)
      END ADF(D = TANGENT(Y))
      END
      DOUBLE PRECISION FUNCTION OWN(X, I)
      DOUBLE PRECISION X
      OWN = X
      END
";

const PASSES: &str = "
      PROGRAM MAIN
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      EXTERNAL P, P_D, P_B
      COMMON /BOTH/ C
      X = 0.6D0
      C = 0.3D0
      CALL SLOPES(P, P_D, P_B, X, C, D, E, H)
      S = 1D-3
      Q = (8*(VALUE(X + S, C) - VALUE(X - S, C)) -
     +  (VALUE(X + 2*S, C) - VALUE(X - 2*S, C)))/(12*S)
      PRINT *, 'tangent', D, Q
      PRINT *, 'adjoint', E, Q
      Q = (8*(VALUE(X, C + S) - VALUE(X, C - S)) -
     +  (VALUE(X, C + 2*S) - VALUE(X, C - 2*S)))/(12*S)
      PRINT *, 'captured', H, Q
      CALL KNOWN(X, D)
      PRINT *, 'known', D, 42*X**6
      END
      FUNCTION P(T, K)
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      P = SIN(K*T) + T
      END
      SUBROUTINE P_D(T, TD, K, Y, YD)
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      Y = SIN(K*T) + T
      YD = (K*COS(K*T) + 1)*TD
      END
      SUBROUTINE P_B(T, TB, K, Y, YB)
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      TB = TB + (K*COS(K*T) + 1)*YB
      YB = 0
      END
      FUNCTION VALUE(X, C)
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      VALUE = P(X*X, 1)*X*X
      DO 10 I = 1, 3
   10 VALUE = VALUE*P(X*I, I)
      VALUE = VALUE + (C*P(X + C, 2)*X)**2 + C*P(2*X + C, 2)*2*X
      END
";

#[test]
fn passed_on() {
    check(PASSED, &["SLOPES", "KNOWN"], PASSES, 1e-9);
}

/// A right-hand side under Euler's method: gradients with respect to the initial state and a parameter.
const EULER: &str = "
      SUBROUTINE EULER(RHS, RHS_D, RHS_B, N, P, Y, H, M, G, GP, D)
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      DIMENSION Y(N), P(2), G(N), GP(2), Y0(N)
      EXTERNAL RHS, RHS_D, RHS_B
!farfel: derivative(RHS(N, T, Y, P, DY), tangent = RHS_D, adjoint = RHS_B, in = (Y, P), out = DY)
      Y0 = Y
      ADR(S)
      CALL STEPS(RHS, N, P, Y, H, M)
      S = 0
      DO I = 1, N
        S = S + Y(I)**2
      END DO
      END ADR(G = COTANGENT(Y), GP = COTANGENT(P))
      ADF(TANGENT(Y0) = 1, TANGENT(P) = 2)
      CALL STEPS(RHS, N, P, Y0, H, M)
      S = 0
      DO I = 1, N
        S = S + Y0(I)**2
      END DO
      END ADF(D = TANGENT(S))
      END
      SUBROUTINE STEPS(F, N, P, Y, H, M)
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      DIMENSION Y(N), P(2), DY(N)
      EXTERNAL F
      DO K = 1, M
        CALL F(N, (K - 1)*H, Y, P, DY)
        DO I = 1, N
          Y(I) = Y(I) + H*DY(I)
        END DO
      END DO
      END
";

const STEPPED: &str = "
      PROGRAM MAIN
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      DIMENSION Y(2), P(2), G(2), GP(2)
      EXTERNAL R, R_D, R_B
      Y(1) = 1
      Y(2) = 0.5D0
      P(1) = 0.7D0
      P(2) = 1.3D0
      CALL EULER(R, R_D, R_B, 2, P, Y, 0.1D0, 7, G, GP, D)
      S = 1D-3
      PRINT *, 'y1', G(1), DIFF(S, 0D0, 0D0, 0D0)
      PRINT *, 'y2', G(2), DIFF(0D0, S, 0D0, 0D0)
      PRINT *, 'p1', GP(1), DIFF(0D0, 0D0, S, 0D0)
      PRINT *, 'p2', GP(2), DIFF(0D0, 0D0, 0D0, S)
      PRINT *, 'both', D, G(1) + G(2) + 2*GP(1) + 2*GP(2)
      END
      FUNCTION DIFF(A, B, C, D)
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      S = A + B + C + D
      DIFF = (8*(AT(A, B, C, D) - AT(-A, -B, -C, -D)) -
     +  (AT(2*A, 2*B, 2*C, 2*D) - AT(-2*A, -2*B, -2*C, -2*D)))/(12*S)
      END
      FUNCTION AT(A, B, C, D)
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      DIMENSION Y(2), P(2), DY(2)
      Y(1) = 1 + A
      Y(2) = 0.5D0 + B
      P(1) = 0.7D0 + C
      P(2) = 1.3D0 + D
      DO 10 K = 1, 7
      CALL R(2, (K - 1)*0.1D0, Y, P, DY)
      Y(1) = Y(1) + 0.1D0*DY(1)
   10 Y(2) = Y(2) + 0.1D0*DY(2)
      AT = Y(1)**2 + Y(2)**2
      END
      SUBROUTINE R(N, T, Y, P, DY)
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      DIMENSION Y(N), P(2), DY(N)
      DY(1) = P(1)*Y(1)*Y(2) + T
      DY(2) = -P(2)*Y(1) + SIN(Y(2))
      END
      SUBROUTINE R_D(N, T, Y, YD, P, PD, DY, DYD)
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      DIMENSION Y(N), P(2), DY(N), YD(N), PD(2), DYD(N)
      CALL R(N, T, Y, P, DY)
      DYD(1) = PD(1)*Y(1)*Y(2) + P(1)*(YD(1)*Y(2) + Y(1)*YD(2))
      DYD(2) = -PD(2)*Y(1) - P(2)*YD(1) + COS(Y(2))*YD(2)
      END
      SUBROUTINE R_B(N, T, Y, YB, P, PB, DY, DYB)
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      DIMENSION Y(N), P(2), DY(N), YB(N), PB(2), DYB(N)
      PB(1) = PB(1) + Y(1)*Y(2)*DYB(1)
      PB(2) = PB(2) - Y(1)*DYB(2)
      YB(1) = YB(1) + P(1)*Y(2)*DYB(1) - P(2)*DYB(2)
      YB(2) = YB(2) + P(1)*Y(1)*DYB(1) + COS(Y(2))*DYB(2)
      DYB(1) = 0
      DYB(2) = 0
      END
";

#[test]
fn subroutines_with_arrays() {
    check(EULER, &["EULER"], STEPPED, 1e-9);
}

/// The derivative of a derivative needs the derivative of what computes the first one.
const NESTED: &str = "
      SUBROUTINE TWICE(F, FD, FDD, X, D, E)
      DOUBLE PRECISION X, Y, D, E, F
      EXTERNAL F, FD, FDD
!farfel: derivative(F(X), tangent = FD, in = X)
!farfel: derivative(FD(X, XD, Y, YD), tangent = FDD, in = (X, XD), out = (Y, YD))
      ADF(X)
      ADF(X)
      Y = F(X)*X
      END ADF(D = TANGENT(Y))
      END ADF(E = TANGENT(D))
      END
";

const CURVED: &str = "
      PROGRAM MAIN
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      EXTERNAL F, F_D, F_DD
      X = 0.7D0
      CALL TWICE(F, F_D, F_DD, X, D, E)
      PRINT *, 'first', D, X*COS(X) + SIN(X)
      PRINT *, 'second', E, 2*COS(X) - X*SIN(X)
      END
      FUNCTION F(X)
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      F = SIN(X)
      END
      SUBROUTINE F_D(X, XD, Y, YD)
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      Y = SIN(X)
      YD = COS(X)*XD
      END
      SUBROUTINE F_DD(X, XE, XD, XDE, Y, YE, YD, YDE)
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      Y = SIN(X)
      YE = COS(X)*XE
      YD = COS(X)*XD
      YDE = COS(X)*XDE - SIN(X)*XD*XE
      END
";

#[test]
fn nested_blocks() {
    check(NESTED, &["TWICE"], CURVED, 1e-12);
    let line = NESTED.lines().find(|l| l.contains("FDD, in")).unwrap();
    let without = NESTED.replace(line, "C");
    let said = errors(&without, &["TWICE"]);
    assert_snapshot!(said, @"F0304 8:7 derivatives would go through the dummy procedure FD");
}

#[test]
fn wrong_directives() {
    let told = "!farfel: derivative(F(X), tangent = FD, in = X)";
    let with = |text: &str| errors(&NEWTON.replace(told, text), &["NEWTON", "ROOTS"]);
    let mut all = String::new();
    for text in [
        "C",
        "!farfel: derivative(F, tangent = FD, in = X)",
        "!farfel: derivative(F(X), tangent = FX, in = X)",
        "!farfel: derivative(F(X), tangent = FD, in = Y)",
        "!farfel: derivative(F(X, Y), tangent = FD, in = X)",
        "!farfel: derivative(F(X), tangent = TOL, in = X)",
        "!farfel: derivative(F(X), adjoint = FD, in = X)",
        "!farfel: derivative(TOL(X), tangent = FD, in = X)",
        "!farfel: derivative(F(X), tangent = FD, in = ())",
    ] {
        all += &format!("{text}\n{}", with(text));
    }
    all += &with(&format!("{told}\n      CALL FD(X, TOL, Y)"));
    all += &with(&format!("{told}\n      CALL FD(X, TOL, Y, ITER)"));
    all += &with(&format!("{told}\n{told}"));
    assert_snapshot!(all, @r"
    C
    F0304 7:11 derivatives would go through the dummy procedure F
    !farfel: derivative(F, tangent = FD, in = X)
    F0310 4:1 the text of F is not known, so its arguments must be given
    !farfel: derivative(F(X), tangent = FX, in = X)
    F0310 4:1 FX, the tangent of F, is neither an argument of NEWTON nor in the program
    !farfel: derivative(F(X), tangent = FD, in = Y)
    F0310 4:1 Y is not an argument of F
    !farfel: derivative(F(X, Y), tangent = FD, in = X)
    F0310 7:11 F has 1 argument here, and 2 in the directive that describes it
    !farfel: derivative(F(X), tangent = TOL, in = X)
    F0310 4:1 TOL, the tangent of F, is not a procedure
    !farfel: derivative(F(X), adjoint = FD, in = X)
    F0322 7:7 derivatives would go through F, of which only the adjoint is given
    !farfel: derivative(TOL(X), tangent = FD, in = X)
    F0310 4:1 TOL is not a procedure
    !farfel: derivative(F(X), tangent = FD, in = ())
    F0310 4:1 CUBE_D, the tangent of CUBE, has 4 arguments where 3 are needed
    F0310 5:7 FD, the tangent of F, has 3 arguments here, where 4 are needed
    F0310 5:26 this is INTEGER, and corresponds to the derivative of the result in the tangent of F
    F0310 5:1 the derivative of F is given twice
    ");
}

#[test]
fn a_procedure_has_one_derivative() {
    let source = NEWTON.replace(
        "      CALL NEWTON(SHIFT, ",
        "      CALL NEWTON(CUBE, SQU_D, X, 1D-12, I)\n      CALL NEWTON(SHIFT, ",
    ) + "      SUBROUTINE SQU_D(T, TD, Y, YD)
      DOUBLE PRECISION T, TD, Y, YD
      Y = T**2
      YD = 2*T*TD
      END
";
    assert_snapshot!(errors(&source, &["NEWTON", "ROOTS"]), @"F0310 4:1 CUBE is passed with the tangent SQU_D, and elsewhere with CUBE_D");
}
