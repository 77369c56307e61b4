//! ADR blocks through lowering and the adapter, with the drop-in and with a real Tapenade. These
//! tests report on standard error if they did not run with the latter because TAPENADE_HOME is not
//! set.

#![allow(clippy::print_stderr)] // says what was skipped

use crate::support::{self, CHECKED, FAST, compare};
use crate::tapenade;
use crate::tapenade::program::read;
use crate::tapenade::tool::tools;

/// Differentiates and runs a program; every line that it prints is `name value expected`.
fn check(text: &str, flags: &[&str], tolerance: f64) {
    let mut source = read(text);
    let requests = source.lowered();
    for tool in tools() {
        let (fortran, _) = source
            .differentiated(&tool, &requests)
            .unwrap_or_else(|e| panic!("{e}"));
        for kind in [CHECKED, FAST] {
            let out = tapenade::support::run(&fortran, &[kind, flags].concat());
            compare(&out, tolerance, &fortran);
        }
    }
}

/// The equilibrium of the paper with ADR in the outer and in the inner derivatives: all five
/// requests are for adjoints, some of them adjoints of adjoints.
#[test]
fn the_equilibrium_of_the_paper() {
    let text = support::paper()
        .replace(
            "END ADF(YPRIME = TANGENT(Y))",
            "END ADR(YPRIME = COTANGENT(X))",
        )
        .replace(
            "END ADF(DERIV1 = TANGENT(Y))",
            "END ADR(DERIV1 = COTANGENT(X))",
        )
        .replace("ADF(X)", "ADR(Y)");
    assert!(!text.contains("ADF("), "{text}");
    check(&text, &["-fdefault-real-8"], 1e-6 / 50.0);
}

/// The second derivative in one direction, with COMMON that counts the calls, COMMON with values
/// that depend on X, and a string that changes.
fn second_derivative(outer: &str, inner: &str) {
    let block = |mode: &str, y: &str, d: &str, body: &str| match mode {
        "ADF" => {
            format!("      ADF(TANGENT(X) = V)\n{body}      END ADF({d} = TANGENT({y}))\n")
        }
        _ => format!(
            "      ADR({y})\n{body}      END ADR(G = COTANGENT(X))\n      {d} = DOT(G, V, N)\n"
        ),
    };
    let text = format!(
        "
      PROGRAM P
      PARAMETER (N = 3)
      DOUBLE PRECISION X(N), V(N), D, W, S, Q, T
      COMMON /COUNT/ K
      CHARACTER*4 C
      DO I = 1, N
        X(I) = 0.5D0*I
        V(I) = 1D0/I
      END DO
      K = 0
      C = 'ABCD'
      CALL OUTER(X, V, N, D, C)
C     The function is (sum x)**2*x(1)**2 + sum x**3
      S = 0
      Q = 0
      T = 0
      DO I = 1, N
        S = S + X(I)
        Q = Q + V(I)
        T = T + 6*X(I)*V(I)**2
      END DO
      W = 2*Q*Q*X(1)**2 + 8*S*Q*X(1)*V(1) + 2*S**2*V(1)**2 + T
      PRINT *, 'd', D, W
      PRINT *, 'k', K, 1
      PRINT *, 'c', ICHAR(C(1:1)), ICHAR('Z')
      END
      DOUBLE PRECISION FUNCTION DOT(A, B, N)
      DOUBLE PRECISION A(N), B(N)
      DOT = 0
      DO I = 1, N
        DOT = DOT + A(I)*B(I)
      END DO
      END
      SUBROUTINE OUTER(X, V, N, D, C)
      DOUBLE PRECISION X(N), V(N), G(N), E, D, DOT
      CHARACTER*(*) C
{}      END
      SUBROUTINE INNER(X, V, N, E, C)
      DOUBLE PRECISION X(N), V(N), G(N), E, Y, DOT
      CHARACTER*(*) C
{}      END
      SUBROUTINE F(X, N, Y, C)
      DOUBLE PRECISION X(N), Y, S
      CHARACTER*(*) C
      COMMON /COUNT/ K
      COMMON /SUM/ S
      K = K + 1
      S = 0
      DO I = 1, N
        S = S + X(I)
      END DO
      Y = 0
      IF (C(1:1) .EQ. 'A') CALL SQUARE(X(1))
      C(1:1) = 'Z'
      DO I = 1, N
        Y = Y + X(I)**3
      END DO
      Y = Y + S*K
      END
      SUBROUTINE SQUARE(X)
      DOUBLE PRECISION X, S
      COMMON /SUM/ S
      S = S**2*X**2
      END
",
        block(outer, "E", "D", "      CALL INNER(X, V, N, E, C)\n"),
        block(inner, "Y", "E", "      CALL F(X, N, Y, C)\n"),
    );
    check(&text, &[], 1e-9);
}

#[test]
fn forward_over_reverse() {
    second_derivative("ADF", "ADR");
}

#[test]
fn reverse_over_forward() {
    second_derivative("ADR", "ADF");
}

/// Values that the block reads are available to the adjoint, which reads nothing itself.
#[test]
fn input_happens_once() {
    check(
        include_str!("../../farfel-ad/tests/support/reads_once.ff"),
        &[],
        1e-6,
    );
}

#[test]
fn every_form_of_adr() {
    check(
        include_str!("../../farfel-ad/tests/blocks/adr_forms.ff"),
        &[],
        1e-5,
    );
}
