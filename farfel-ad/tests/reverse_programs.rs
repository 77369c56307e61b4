//! Whole programs with ADR blocks. Their adjoints are made from tangents (see `support/by_columns.rs`), so
//! that everything around the adjoints is tested.

use crate::support::by_columns::ByColumns;
use crate::support::{self, CHECKED, FAST, compare, expand_with, run};
use farfel_ad::{AdTool, Builtin};

fn check(source: &str, flags: &[&str], tolerance: f64) {
    for tool in [&ByColumns as &dyn AdTool, &Builtin] {
        let (fortran, _) = expand_with(source, tool).unwrap_or_else(|e| panic!("{e}\n{source}"));
        for kind in [CHECKED, FAST] {
            compare(&run(&fortran, &[kind, flags].concat()), tolerance, &fortran);
        }
    }
}

/// The equilibrium of the paper with ADR instead of ADF: in the outer derivatives, in the inner ones, and in both.
#[test]
fn the_equilibrium_of_the_paper() {
    let paper = support::paper();
    let reverse = |text: &str, unit: &str| {
        let (before, after) = text.split_at(text.find(unit).unwrap());
        let after = after
            .replacen("ADF(X)", "ADR(Y)", 1)
            .replacen("END ADF(", "END ADR(", 1)
            .replacen("TANGENT(Y)", "COTANGENT(X)", 1);
        format!("{before}{after}")
    };
    let (one, two) = ("FUNCTION DERIV1(F", "SUBROUTINE DERIV2(F");
    for text in [
        reverse(&paper, one),
        reverse(&paper, two),
        reverse(&reverse(&paper, one), two),
    ] {
        assert_eq!(
            text.matches("COTANGENT").count(),
            text.matches("ADR(").count() / 2
        );
        check(&text, &["-fdefault-real-8"], 1e-6 / 50.0);
    }
}

/// Second derivatives in a direction, by all four ways to nest, through nested subprograms
/// and a procedure that is passed.
#[test]
fn second_derivatives() {
    for (outer, inner) in [("F", "F"), ("F", "R"), ("R", "F"), ("R", "R")] {
        let block = |mode: &str, y: &str, d: &str, body: &str| match mode {
            "F" => format!(
                "      ADF((TANGENT(X(I)) = V(I), I = 0, N))\n{body}      END ADF({d} = TANGENT({y}))\n"
            ),
            _ => format!(
                "      ADR({y})\n{body}      END ADR(G = COTANGENT(X))\n      {d} = DOT(G, V, N)\n"
            ),
        };
        let text = format!(
            "
      PROGRAM P
      PARAMETER (N = 3)
      DOUBLE PRECISION X(0:N), V(0:N), D, W, C
        DOUBLE PRECISION FUNCTION F(X)
          DOUBLE PRECISION X(0:N)
          F = 0
          DO I = 0, N
            F = F + C*X(I)**3
          END DO
          IF (X(1) .GT. 0) CALL TIMES(X(1), F)
        END
        SUBROUTINE TIMES(A, B)
          DOUBLE PRECISION A, B
          B = B*A
        END
      C = 2
      S = 0
      T = 0
      U = 0
      DO I = 0, N
        X(I) = 0.5D0*(I + 1)
        V(I) = 1D0/(I + 2)
      END DO
      CALL OUTER(F, X, V, N, D)
      DO I = 0, N
        S = S + 2*X(I)**3
        T = T + 6*X(I)**2*V(I)
        U = U + 12*X(I)*V(I)**2
      END DO
      W = U*X(1) + 2*T*V(1)
      PRINT *, 'd', D, W
      END
      DOUBLE PRECISION FUNCTION DOT(A, B, N)
      DOUBLE PRECISION A(0:N), B(0:N)
      DOT = 0
      DO I = 0, N
        DOT = DOT + A(I)*B(I)
      END DO
      END
      SUBROUTINE OUTER(F, X, V, N, D)
      EXTERNAL F
      DOUBLE PRECISION X(0:N), V(0:N), G(N + 1), E, D, DOT
{}      END
      SUBROUTINE INNER(F, X, V, N, E)
      EXTERNAL F
      DOUBLE PRECISION X(0:N), V(0:N), G(0:N), E, Y, DOT, F
{}      END
",
            block(outer, "E", "D", "      CALL INNER(F, X, V, N, E)\n"),
            block(inner, "Y", "E", "      Y = F(X)\n"),
        );
        // S, T and U are in single precision.
        check(&text, &[], 1e-5);
    }
}

/// Whole arrays, elements, implied DOs, COMMON, EQUIVALENCE, all nestings.
#[test]
fn every_form_of_adr() {
    check(include_str!("blocks/adr_forms.ff"), &[], 1e-5);
}

/// Existing code does this, although Fortran does not allow it: AMOS, for one.
#[test]
fn variables_that_a_call_reads_and_assigns_by_two_arguments() {
    let text = "
      PROGRAM MAIN
      IMPLICIT DOUBLE PRECISION(A-H, O-Z)
      DIMENSION X(2), Y(2)
      X(1) = 1.2D0
      X(2) = 0.7D0
      ADR(COTANGENT(Y(1)) = 1, COTANGENT(Y(2)) = 2)
        CALL S(X, Y)
      END ADR(G1 = COTANGENT(X(1)), G2 = COTANGENT(X(2)))
      ADF(TANGENT(X(1)) = 1)
        CALL S(X, Y)
      END ADF(D1 = TANGENT(Y(1)), D2 = TANGENT(Y(2)))
      PRINT *, 'g1', G1, D1 + 2*D2
      ADF(TANGENT(X(2)) = 1)
        CALL S(X, Y)
      END ADF(D1 = TANGENT(Y(1)), D2 = TANGENT(Y(2)))
      PRINT *, 'g2', G2, D1 + 2*D2
      END
      SUBROUTINE S(X, Y)
      IMPLICIT DOUBLE PRECISION(A-H, O-Z)
      DIMENSION X(2), Y(2), S1(2)
      A = X(1)
      B = X(2)
      S1(1) = X(1)*X(2)
      S1(2) = X(2) - 3
      CALL ROOT(A, B, A, B)
      CALL PROD(A, B, S1(1), S1(2), A, B)
      CALL PROD(A, B, S1(1), S1(2), S1(1), S1(2))
      Y(1) = A + S1(2)
      Y(2) = B + S1(1)
      END
      SUBROUTINE PROD(AR, AI, BR, BI, CR, CI)
      DOUBLE PRECISION AR, AI, BR, BI, CR, CI, CA, CB
      CA = AR*BR - AI*BI
      CB = AR*BI + AI*BR
      CR = CA
      CI = CB
      END
      SUBROUTINE ROOT(AR, AI, BR, BI)
      DOUBLE PRECISION AR, AI, BR, BI, ZM, T
      ZM = SQRT(SQRT(AR**2 + AI**2))
      T = ATAN(AI/AR)/2
      BR = ZM*COS(T)
      BI = ZM*SIN(T)
      END
";
    check(text, &[], 1e-12);
}

/// A function F nested in S is named S_F; its adjoint is not the forward sweep of S.
#[test]
fn functions_that_are_called_like_forward_sweeps() {
    let text = "
      PROGRAM MAIN
      DOUBLE PRECISION X, Y, G
      X = 2
      ADR(Y)
        CALL S(X, Y)
      END ADR(G = COTANGENT(X))
      PRINT *, 'g', G, 160D0
      END
      SUBROUTINE S(X, Y)
      DOUBLE PRECISION X, Y
        DOUBLE PRECISION FUNCTION F(T)
        DOUBLE PRECISION T
        F = T*T
        IF (F .GT. 1) F = F*T*X
        END
      Y = F(X)
      Y = Y*F(1.5D0)/(1.5D0**3*X)
      IF (Y .GT. 0) Y = Y*Y/8
      Y = 5*Y*X/Y
      Y = Y*F(X)/X
      END
";
    // 5*X**4
    check(text, &[], 1e-12);
}
