//! The adapter with the drop-in, and with a real Tapenade. These tests report on standard error if
//! they did not run with the latter because TAPENADE_HOME is not set.

use crate::support::{self, CHECKED, FAST, compare, run};
use crate::tapenade;
use crate::tapenade::program::{Source, read};
use crate::tapenade::tool::{real, tools};
use farfel_lang::ir::{AdMode, Request};
use farfel_tools::tapenade::Options;

/// The paper's example: five chained runs.
#[test]
fn the_equilibrium_of_the_paper() {
    let text = support::paper();
    let Some(tool) = real(Options::default()) else {
        return;
    };
    let mut source = read(&text);
    let requests = source.lowered();
    let (fortran, warnings) = source
        .differentiated(&tool, &requests)
        .unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(warnings, "");
    compare(&run(&fortran, FAST), 2e-2 / 50.0, &fortran);
    let double = run(&fortran, &[FAST, &["-fdefault-real-8"]].concat());
    compare(&double, 1e-6 / 50.0, &fortran);
}

/// Differentiates and runs a program; every line that it prints is `name value expected`. Returns
/// the output of a real Tapenade, if there is one.
fn check(text: &str, wanted: &dyn Fn(&Source) -> Vec<Request>, tolerance: f64) -> Option<String> {
    let source = read(text);
    let requests = wanted(&source);
    let mut made = Vec::new();
    for tool in tools() {
        let (fortran, _) = source
            .differentiated(&tool, &requests)
            .unwrap_or_else(|e| panic!("{e}"));
        for flags in [CHECKED, FAST] {
            let out = tapenade::support::run(&fortran, flags);
            compare(&out, tolerance, &fortran);
        }
        made.push(fortran);
    }
    made.into_iter().nth(1)
}

/// Compares the gradient of HEAD(X, N, Y) with finite differences.
const AGAINST_DIFFERENCES: &str = "
      PROGRAM MAIN
      EXTERNAL HEAD_G1
      DOUBLE PRECISION X(5), XB(5), Y, YB, P, M, H, Z(5)
      DATA X /0.7D0, -1.3D0, 0.4D0, 1.1D0, -0.6D0/
      DO 10 I = 1, 5
   10 XB(I) = 0
      YB = 1
      DO 15 I = 1, 5
   15 Z(I) = X(I)
      CALL HEAD_G1(Z, XB, 5, Y, YB)
      H = 1D-5
      DO 20 I = 1, 5
      DO 16 J = 1, 5
   16 Z(J) = X(J)
      Z(I) = X(I) + H
      CALL HEAD(Z, 5, P)
      DO 17 J = 1, 5
   17 Z(J) = X(J)
      Z(I) = X(I) - H
      CALL HEAD(Z, 5, M)
   20 PRINT *, 'g', XB(I), (P - M)/(2*H)
      END
";

#[test]
fn the_gradient_of_a_function_with_loops_and_branches() {
    let text = format!(
        "{AGAINST_DIFFERENCES}
      SUBROUTINE HEAD(X, N, Y)
      DOUBLE PRECISION X(N), Y, P, F
      P = 1
      DO 10 I = 1, N
      IF (X(I) .GT. 1D3) STOP 'too large'
      IF (X(I) .GT. 0) THEN
        P = P*SIN(X(I)) + F(X, N)
      ELSE IF (X(I) .LT. -1) THEN
        P = P*X(I)
        X(I) = P
      ELSE
        CALL LOG(P, X(I))
      END IF
   10 CONTINUE
      Y = P*P
      WRITE(*, *) 'y', Y, Y
      END
      SUBROUTINE LOG(P, X)
      DOUBLE PRECISION P, X
      PRINT *, 'p', P, P
      P = P*EXP(X)
      END
      DOUBLE PRECISION FUNCTION F(X, N)
      DOUBLE PRECISION X(N)
      F = 0
      I = 0
   10 I = I + 1
      IF (I .GT. N) RETURN
      F = F + X(I)**2
      GOTO 10
      END
"
    );
    let fortran = check(
        &text,
        &|s| vec![s.request(1, AdMode::Reverse, "HEAD", &["X"], &["Y"])],
        1e-6,
    );
    // Otherwise this test covers less than it claims.
    assert!(fortran.is_none_or(|f| f.contains("CALL PUSHREAL8") && f.contains("CALL LOG_G1_P(")));
}

/// Products and powers, with a value that is overwritten in a loop, so that adjoints use the stack;
/// the first pushed value has no derivative.
const PRODUCT: &str = "
      SUBROUTINE HEAD(X, N, Y)
      DOUBLE PRECISION X(N), Y, P, Q(3)
      P = 2
      DO 5 I = 1, 3
    5 Q(I) = I
      DO 10 I = 1, N
      CALL STEP(P, X(I), Q)
   10 CONTINUE
      Y = P*P*Q(2)
      END
      SUBROUTINE STEP(P, X, Q)
      DOUBLE PRECISION P, X, Q(3), W
      W = 3
      DO 10 I = 1, 2
      W = W*W/5
      P = P*P*W/9
   10 CONTINUE
      IF (X .GT. 0) THEN
        P = P*SIN(X) + W*X
        Q(2) = Q(2)*Q(1) + X
      ELSE
        P = P + X*X*X
      END IF
      END
";

/// Gradients by finite differences of gradients: Hessian-vector products.
#[test]
fn forward_over_reverse() {
    let text = format!(
        "
      PROGRAM MAIN
      EXTERNAL TOP_G2
      DOUBLE PRECISION X(4), V(4), Y, G(4), GD(4), A(4), B(4), H, Z(4)
      DATA X /0.7D0, -1.3D0, 0.4D0, 1.1D0/, V /1D0, 0.5D0, -2D0, 0.25D0/
      DO 5 I = 1, 4
    5 GD(I) = 0
      CALL TOP_G2(X, V, 4, G, GD)
      H = 1D-5
      DO 10 I = 1, 4
   10 Z(I) = X(I) + H*V(I)
      CALL TOP(Z, 4, A)
      DO 20 I = 1, 4
   20 Z(I) = X(I) - H*V(I)
      CALL TOP(Z, 4, B)
      DO 30 I = 1, 4
   30 PRINT *, 'h', GD(I), (A(I) - B(I))/(2*H)
      END
      SUBROUTINE TOP(X, N, G)
      EXTERNAL HEAD_G1
      DOUBLE PRECISION X(N), G(N), Y, YB, XC(4)
      DO 10 I = 1, N
      XC(I) = X(I)
   10 G(I) = 0
      CALL HEAD(XC, N, Y)
      YB = Y
      CALL HEAD_G1(XC, G, N, Y, YB)
      END
{PRODUCT}"
    );
    let fortran = check(
        &text,
        &|s| {
            vec![
                s.request(1, AdMode::Reverse, "HEAD", &["X"], &["Y"]),
                s.request(2, AdMode::Forward, "TOP", &["X"], &["G"]),
            ]
        },
        1e-6,
    );
    // Otherwise this test covers nothing.
    assert!(fortran.is_none_or(|f| f.contains("CALL POPREAL8_G2")));
}

/// The gradient of a directional derivative, compared with finite differences.
#[test]
fn reverse_over_forward() {
    let text = format!(
        "
      PROGRAM MAIN
      EXTERNAL TOP_G2
      DOUBLE PRECISION X(4), V(4), D, DB, XB(4), A, B, H, Z(4), VB(4)
      DATA X /0.7D0, -1.3D0, 0.4D0, 1.1D0/, V /1D0, 0.5D0, -2D0, 0.25D0/
      DO 5 I = 1, 4
      VB(I) = 0
    5 XB(I) = 0
      DB = 1
      CALL TOP_G2(X, XB, V, VB, 4, D, DB)
      H = 1D-5
      DO 20 I = 1, 4
      DO 10 J = 1, 4
   10 Z(J) = X(J)
      Z(I) = X(I) + H
      CALL TOP(Z, V, 4, A)
      Z(I) = X(I) - H
      CALL TOP(Z, V, 4, B)
   20 PRINT *, 'h', XB(I), (A - B)/(2*H)
      END
      SUBROUTINE TOP(X, V, N, D)
      EXTERNAL HEAD_G1
      DOUBLE PRECISION X(N), V(N), D, Y
      CALL HEAD_G1(X, V, N, Y, D)
      END
{PRODUCT}"
    );
    check(
        &text,
        &|s| {
            vec![
                s.request(1, AdMode::Forward, "HEAD", &["X"], &["Y"]),
                s.request(2, AdMode::Reverse, "TOP", &["X"], &["D"]),
            ]
        },
        1e-6,
    );
}

/// All directions in one sweep, compared with one at a time.
#[test]
fn several_directions() {
    let text = format!(
        "
      PROGRAM MAIN
      EXTERNAL HEAD_G1, HEAD_G2
      DOUBLE PRECISION X(4), Y, XM(4, 4), YM(4), V(4), D
      DATA X /0.7D0, -1.3D0, 0.4D0, 1.1D0/
      DO 10 I = 1, 4
      DO 10 J = 1, 4
   10 XM(I, J) = 1D0/(I + 2*J)
      CALL HEAD_G2(X, XM, 4, Y, YM, 4)
      DO 30 I = 1, 4
      DO 20 J = 1, 4
   20 V(J) = XM(I, J)
      CALL HEAD_G1(X, V, 4, Y, D)
   30 PRINT *, 'v', YM(I), D
      END
{PRODUCT}"
    );
    check(
        &text,
        &|s| {
            let one = s.request(1, AdMode::Forward, "HEAD", &["X"], &["Y"]);
            let mut all = s.request(2, AdMode::Forward, "HEAD", &["X"], &["Y"]);
            all.vector = true;
            vec![one, all]
        },
        1e-12,
    );
}

/// Lowers a Farfel program, differentiates and runs it, and compares what it prints.
fn check_farfel(text: &str, tolerance: f64) {
    let mut source = read(text);
    let requests = source.lowered();
    for tool in tools() {
        let (fortran, _) = source
            .differentiated(&tool, &requests)
            .unwrap_or_else(|e| panic!("{e}"));
        let out = tapenade::support::run(&fortran, FAST);
        compare(&out, tolerance, &fortran);
    }
}

/// A gradient by ADR, with a seed that depends on the result; ADF around it and inside it. The
/// function keeps a value in COMMON, and the primal results are correct afterwards.
#[test]
fn blocks_in_blocks() {
    check_farfel(
        "
      PROGRAM MAIN
      DOUBLE PRECISION X(4), G(4), H(4), A(4), B(4), Z(4), S, V(4), Y, P
      COMMON /WRK/ P
      DATA X /0.7D0, -1.3D0, 0.4D0, 1.1D0/, V /1D0, 0.5D0, -2D0, 0.25D0/
      CALL GRAD(X, G, Y)
      CALL F(X, A(1))
      PRINT *, 'y', Y, A(1)
      S = 1D-5
      DO 10 I = 1, 4
      DO 5 J = 1, 4
    5 Z(J) = X(J)
      Z(I) = X(I) + S
      CALL F(Z, A(1))
      Z(I) = X(I) - S
      CALL F(Z, B(1))
   10 PRINT *, 'gradient', G(I), (A(1)**2 - B(1)**2)/(4*S)
      CALL HESS(X, V, H)
      DO 20 I = 1, 4
   20 Z(I) = X(I) + S*V(I)
      CALL GRAD(Z, A, Y)
      DO 30 I = 1, 4
   30 Z(I) = X(I) - S*V(I)
      CALL GRAD(Z, B, Y)
      DO 40 I = 1, 4
   40 PRINT *, 'forward_over_reverse', H(I), (A(I) - B(I))/(2*S)
      CALL HESSR(X, V, H)
      DO 50 I = 1, 4
   50 PRINT *, 'reverse_over_forward', H(I), (A(I) - B(I))/(2*S)
      END
      SUBROUTINE GRAD(X, G, Y)
      DOUBLE PRECISION X(4), G(4), Y
      ADR(COTANGENT(Y) = Y)
      CALL F(X, Y)
      END ADR((G(I) = COTANGENT(X(I)), I = 1, 4))
      END
      SUBROUTINE HESS(X, V, H)
      DOUBLE PRECISION X(4), V(4), H(4), G(4), Y
      ADF((TANGENT(X(I)) = V(I), I = 1, 4))
      CALL GRAD(X, G, Y)
      END ADF((H(I) = TANGENT(G(I)), I = 1, 4))
      END
      SUBROUTINE HESSR(X, V, H)
      DOUBLE PRECISION X(4), V(4), H(4), D, Y
      ADR(D)
      ADF((TANGENT(X(I)) = V(I), I = 1, 4))
      CALL F(X, Y)
      Y = Y*Y/2
      END ADF(D = TANGENT(Y))
      END ADR((H(I) = COTANGENT(X(I)), I = 1, 4))
      END
      SUBROUTINE F(X, Y)
      DOUBLE PRECISION X(4), Y, P, T(3)
      COMMON /WRK/ P
      P = 0.1D0
      DO 10 I = 1, 4
      T(MOD(I,3)+1) = P*X(I)
      IF (X(I) .GT. 0.5D0) THEN
        P = P*SIN(X(I)) + T(MOD(I,3)+1)**2
      ELSE
        P = P*P + COS(X(I))
      ENDIF
   10 CONTINUE
      Y = P*T(1)*T(2)
      END
",
        1e-7,
    );
}

/// Tapenade by itself does not know the size of such arrays, or assumes a wrong one.
#[test]
fn arrays_of_assumed_size() {
    check_farfel(
        "
      PROGRAM MAIN
      DOUBLE PRECISION X(6), G(6), A, B, Z(6), S, D, Y
      DATA X /0.7D0, -1.3D0, 0.4D0, 1.1D0, 0.3D0, 0.9D0/
      S = 1D-5
      CALL GRAD(X, G, Y)
      DO 10 I = 1, 6
      DO 5 J = 1, 6
    5 Z(J) = X(J)
      Z(I) = X(I) + S
      CALL F(Z, A)
      Z(I) = X(I) - S
      CALL F(Z, B)
      CALL DIR(X, I, D)
      PRINT *, 'forward', D, (A - B)/(2*S)
   10 PRINT *, 'reverse', G(I), (A - B)/(2*S)
      END
      SUBROUTINE GRAD(X, G, Y)
      DOUBLE PRECISION X(6), G(6), Y
      ADR(Y)
      CALL F(X, Y)
      END ADR((G(I) = COTANGENT(X(I)), I = 1, 6))
      END
      SUBROUTINE DIR(X, K, D)
      DOUBLE PRECISION X(6), W, D
      ADF(TANGENT(X(K)) = 1)
      CALL F(X, W)
      END ADF(D = TANGENT(W))
      END
      SUBROUTINE F(X, Y)
      DOUBLE PRECISION X(6), Y, W(2,3), V(0:4), NRM
      DO 5 I = 0, 4
    5 V(I) = X(I+1)**2
      CALL SCAL(3, X(2), V(1))
      CALL MAT(W, 2, X, 3)
      CALL SCAL(6, X(1), W)
      Y = NRM(W(1,2), 4)*V(1) + V(4) + NRM(X, 6)
      END
      SUBROUTINE SCAL(N, A, X)
      DOUBLE PRECISION A, X(*)
      DO 10 I = 1, N
   10 CALL ONE(X(I), A)
      END
      SUBROUTINE ONE(X, B)
      DOUBLE PRECISION X(1), B
      X(1) = X(1)*B*SIN(X(1))
      END
      SUBROUTINE MAT(W, LD, X, N)
      DOUBLE PRECISION W(LD,*), X(*)
      DO 10 J = 1, N
      DO 10 I = 1, LD
   10 W(I,J) = X(I)*X(J)
      END
      DOUBLE PRECISION FUNCTION NRM(X, N)
      DOUBLE PRECISION X(1)
      NRM = 0
      DO 10 I = 1, N
   10 NRM = NRM + X(I)**2
      END
",
        1e-7,
    );
}

/// Everything that 3.16 by itself handles incorrectly, does not know, or fails on; both modes.
#[test]
fn functions_that_tapenade_gets_wrong() {
    // X and W are DOUBLE PRECISION, W without a derivative; Z is COMPLEX*16, R is REAL.
    let cases = [
        "DIMAG(DCMPLX(X, W)**2)",
        "DREAL(DCMPLX(W, X)**3)",
        "CDABS(Z*X)",
        "DIMAG(CDSQRT(Z))",
        "DREAL(EXP(SIN(Z)/2))",
        "DIMAG(LOG(COS(Z*Z)))",
        "DREAL((0.5D0,-2D0)*Z)",
        "DLOG10(X)",
        "DDIM(X, W) + DDIM(W, X)",
        "DSIGN(X, -W)",
        "DMOD(7*X, W)",
        "DMAX1(X, W, 0.1D0)*DMIN1(X, W)",
        "DINT(3*X)*X + DNINT(3*X)*X",
        "IDNINT(7*X)*X",
        "2**X + 3**(X*W)",
        "AMAX1(R, 0.1)*X",
        "SIGN(R, -1.0)*X + AIMAG(CMPLX(R, 3.0)**2)",
        "DPROD(R, 2.5)",
        "G(R)*X",
        "DBLE(CONJG(Z)*Z)",
    ];
    let n = cases.len();
    let mut text = format!(
        "
      PROGRAM MAIN
      DOUBLE PRECISION X, H, Y({n}), A({n}), B({n}), D({n}), R({n})
      X = 0.8D0
      CALL ALL(X, Y)
      CALL DIR(X, D)
      CALL GRADS(X, R)
      H = 1D-3
      CALL ALL(X + H, A)
      CALL ALL(X - H, B)
      DO 10 I = 1, {n}
   10 A(I) = (A(I) - B(I))/(2*H)
      CALL ALL(X + 2*H, Y)
      CALL ALL(X - 2*H, B)
      DO 20 I = 1, {n}
      A(I) = (4*A(I) - (Y(I) - B(I))/(4*H))/3
      PRINT *, 'forward', D(I), A(I)
   20 PRINT *, 'reverse', R(I), A(I)
      END
      SUBROUTINE DIR(X, D)
      DOUBLE PRECISION X, D({n}), Y({n})
      ADF(X)
      CALL ALL(X, Y)
      END ADF(D = TANGENT(Y))
      END
      SUBROUTINE GRADS(X, R)
      DOUBLE PRECISION X, R({n}), Y({n}), V({n})
      DO 10 I = 1, {n}
   10 V(I) = 0
      DO 20 I = 1, {n}
      V(I) = 1
      ADR(COTANGENT(Y) = V)
      CALL ALL(X, Y)
      END ADR(R(I) = COTANGENT(X))
   20 V(I) = 0
      END
      REAL FUNCTION G(R)
      G = R*R
      END
      SUBROUTINE ALL(X, Y)
      DOUBLE PRECISION X, Y({n})
"
    );
    for i in 1..=n {
        text += &format!("      CALL S{i}(X, Y({i}))\n");
    }
    text += "      END\n";
    for (i, case) in cases.iter().enumerate() {
        text += &format!(
            "      SUBROUTINE S{}(X, Y)
      DOUBLE PRECISION X, W, Y
      COMPLEX*16 Z
      REAL R
      W = 0.625D0
      R = X
      Z = DCMPLX(X*X, 2*X)
      Y = {case}
      END
",
            i + 1
        );
    }
    // If there is a REAL in it, differences are only accurate to single precision.
    check_farfel(&text, 1e-3);
}
