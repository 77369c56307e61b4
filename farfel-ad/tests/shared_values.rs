//! Values that a statement and its derivative use more than once.

use crate::support::{check, expand};

/// The integrand of an elliptic integral of the third kind, as in quadratures of it.
#[test]
fn the_same_call_is_made_once() {
    let source = "
      PROGRAM MAIN
      DOUBLE PRECISION T, C, H, F, D, GT, GC, GH, S, P, Q, DP, DQ
      T = 0.7D0
      C = 0.4D0
      H = 0.6D0
      S = SIN(T)
      P = 1 - C*S**2
      Q = SQRT(1 - H**2*S**2)
C     With respect to T.
      DP = -2*C*S*COS(T)
      DQ = -H**2*S*COS(T)/Q
      ADF(T)
      CALL INTEG(T, C, H, F)
      END ADF(D = TANGENT(F))
      PRINT *, 'tangent', D, -(DP*Q + P*DQ)/(P*Q)**2
      ADR(F)
      CALL INTEG(T, C, H, F)
      END ADR(GT = COTANGENT(T), GC = COTANGENT(C), GH = COTANGENT(H))
      PRINT *, 'T', GT, D
      PRINT *, 'C', GC, S**2/(P**2*Q)
      PRINT *, 'H', GH, H*S**2/(P*Q**3)
      END
      SUBROUTINE INTEG(T, C, H, F)
      DOUBLE PRECISION T, C, H, F
      F = 1.0D0/((1.0D0 - C*SIN(T)*SIN(T))*
     +    SQRT(1.0D0 - H*H*SIN(T)*SIN(T)))
      END
";
    check(source, 1e-13);
    let fortran = expand(source).unwrap();
    for name in ["INTEG_G1(", "INTEG_G2("] {
        let begin = fortran.find(&format!("SUBROUTINE {name}")).unwrap();
        let unit = fortran[begin..].split("      END\n").next().unwrap();
        // Once in the derivative; and no division but that of the statement and that of SQRT.
        assert_eq!(unit.matches(" = SIN(T)").count(), 1, "{unit}");
        assert_eq!(unit.matches('/').count(), 2, "{unit}");
    }
}

/// A value that a call may change has a variable of its own.
#[test]
fn arguments_that_are_assigned_are_not_shared() {
    check(
        "
      PROGRAM MAIN
      DOUBLE PRECISION X, Y, R, D, G
      X = 0.7D0
      Y = 1.3D0
      ADF(X)
      CALL TWICE(X/Y, X/Y, Y/X, R)
      R = R + X/Y
      END ADF(D = TANGENT(R))
      PRINT *, 'R', R, (X/Y)**3*Y/X + X/Y
      PRINT *, 'D', D, 2*X/Y**2 + 1/Y
      ADR(R)
      CALL TWICE(X/Y, X/Y, Y/X, R)
      R = R + X/Y
      END ADR(G = COTANGENT(Y))
      PRINT *, 'G', G, -2*X**2/Y**3 - X/Y**2
      END
      SUBROUTINE TWICE(A, B, C, R)
      DOUBLE PRECISION A, B, C, R
      A = A*A
      R = A*B*C
      B = 7
      C = 0
      END
",
        1e-13,
    );
}

/// The derivative of 1/X is finite wherever it can be represented.
#[test]
fn reciprocals_of_large_and_small_numbers() {
    check(
        "
      PROGRAM MAIN
      DOUBLE PRECISION X, Y, D
      X = 1.0D-150
      ADF(TANGENT(X) = 1.0D-160)
      Y = 1.0D0/X
      END ADF(D = TANGENT(Y))
      PRINT *, 'small', D/1.0D140, -1.0D0
      X = 1.0D200
      ADF(TANGENT(X) = 1.0D200)
      Y = 1/X
      END ADF(D = TANGENT(Y))
      PRINT *, 'large', D/1.0D-200, -1.0D0
      END
",
        1e-13,
    );
}
