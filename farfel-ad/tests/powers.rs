//! Derivatives of powers with real exponents, which divide the power by its base, even where it has no digits
//! left to divide.

use crate::support::{CHECKED, FAST, compare_by, expand, run};

/// First and second derivatives against formulas, in forward and reverse mode: where the power underflows, at
/// bases of all sizes, in single precision, and at zero.
#[test]
fn of_all_sizes() {
    let source = "
      PROGRAM MAIN
      DOUBLE PRECISION X(7), A(4), P, D, G, E
      REAL S, T, TP
      DATA X /1D-181, 3D-150, 1D-5, 0.7D0, 2D0, 1D90, 1D150/
      DATA A /1.9D0, 0.3D0, -0.6D0, 1.2D0/
      DO 10 I = 1, 7
      DO 10 J = 1, 4
      ADF(TANGENT(X(I)) = 1)
      P = X(I)**A(J)
      END ADF(D = TANGENT(P))
      ADR(P)
      P = X(I)**A(J)
      END ADR(G = COTANGENT(X(I)))
      E = A(J)*X(I)**(A(J) - 1)
      PRINT '(A, 2ES26.17E3)', 'A', D, E
      PRINT '(A, 2ES26.17E3)', 'B', G, E
      ADF(TANGENT(X(I)) = 1)
      P = X(I)**1.7D0 + X(I)**(-0.3D0)
      END ADF(D = TANGENT(P))
      E = 1.7D0*X(I)**0.7D0 - 0.3D0*X(I)**(-1.3D0)
      PRINT '(A, 2ES26.17E3)', 'C', D, E
   10 CONTINUE
C     By both, and again.
      DO 20 I = 3, 5
      DO 20 J = 1, 4
      ADF(X(I))
      ADF(X(I), A(J))
      P = X(I)**A(J)
      END ADF(D = TANGENT(P))
      END ADF(G = TANGENT(D))
      E = X(I)**A(J)*(A(J)/X(I) + LOG(X(I)))
      PRINT '(A, 2ES26.17E3)', 'D', D, E
      E = E*A(J)/X(I) + X(I)**A(J)*(1/X(I) - A(J)/X(I)**2)
      PRINT '(A, 2ES26.17E3)', 'E', G, E
   20 CONTINUE
      S = 1E-25
      ADF(S)
      T = S**1.6
      END ADF(TP = TANGENT(T))
      PRINT '(A, 2ES26.17E3)', 'F', DBLE(TP)*1D15, 1.6D15*DBLE(S)**0.6D0
      E = 0
      DO 30 I = 1, 3
      A(1) = (I - 1)*1.25D0
      IF (I .EQ. 2) A(1) = 1
      ADF(E)
      P = E**A(1)
      END ADF(D = TANGENT(P))
      PRINT '(A, 2ES26.17E3)', 'G', D, DBLE(MOD(I, 3)/2)
   30 CONTINUE
      END
";
    let fortran = expand(source).unwrap_or_else(|e| panic!("{e}"));
    for flags in [CHECKED, FAST] {
        let out = run(&fortran, flags);
        compare_by(&out, &fortran, |name, v, x| {
            let tolerance = if name == "F" { 1e-5 } else { 1e-12 };
            (v - x).abs() <= tolerance * x.abs()
        });
    }
}
