//! Array arguments whose declarations leave their sizes open: adjoints must save all of what calls overwrite.

use crate::support::{FAST, check, compare, expand, run};
use insta::assert_snapshot;

/// A procedure whose derivatives are given. It is not known which elements of DY it gives values to.
const RATE: &str = "
C     farfel: derivative(tangent = RATE_D, adjoint = RATE_B, in = Y, out = DY)
      SUBROUTINE RATE(N, Y, DY)
      DOUBLE PRECISION Y(N), DY(N)
      DO 10 I = 1, N
   10 DY(I) = Y(I)*Y(N + 1 - I) - 0.3D0*I
      END
      SUBROUTINE RATE_D(N, Y, YD, DY, DYD)
      DOUBLE PRECISION Y(N), YD(N), DY(N), DYD(N)
      DO 10 I = 1, N
      J = N + 1 - I
      DYD(I) = YD(I)*Y(J) + Y(I)*YD(J)
   10 DY(I) = Y(I)*Y(J) - 0.3D0*I
      END
      SUBROUTINE RATE_B(N, Y, YB, DY, DYB)
      DOUBLE PRECISION Y(N), YB(N), DY(N), DYB(N)
      DO 10 I = 1, N
      J = N + 1 - I
      YB(I) = YB(I) + DYB(I)*Y(J)
   10 YB(J) = YB(J) + DYB(I)*Y(I)
      DO 20 I = 1, N
   20 DYB(I) = 0
      END
";

/// Compares the gradient of `TOP(X, S)` with differences, and with its tangent.
fn check_top(units: &str, tolerance: f64) {
    check(&top(units), tolerance);
}

fn top(units: &str) -> String {
    format!(
        "      PROGRAM MAIN
      DOUBLE PRECISION X(3), G(3), V(3), S, T, H, A, B, C, D
      DATA V /0.4D0, -0.7D0, 1.1D0/
      CALL START(X)
      ADR(COTANGENT(S) = 1)
      CALL TOP(X, S)
      END ADR(G = COTANGENT(X))
      CALL START(X)
      ADF(TANGENT(X) = V)
      CALL TOP(X, T)
      END ADF(D = TANGENT(T))
      PRINT *, 'value', S, T
      PRINT *, 'product', G(1)*V(1) + G(2)*V(2) + G(3)*V(3), D
      H = 1D-3
      DO 20 I = 1, 3
      CALL START(X)
      X(I) = X(I) + H
      CALL TOP(X, A)
      X(I) = X(I) - 2*H
      CALL TOP(X, B)
      X(I) = X(I) + 3*H
      CALL TOP(X, C)
      X(I) = X(I) - 4*H
      CALL TOP(X, D)
   20 PRINT *, 'gradient', G(I), (8*(A - B) - (C - D))/(12*H)
      END
      SUBROUTINE START(X)
      DOUBLE PRECISION X(3)
      X(1) = 0.6D0
      X(2) = -0.4D0
      X(3) = 0.9D0
      END
{}{}",
        units.trim_start_matches('\n'),
        RATE.trim_start_matches('\n')
    )
}

/// Pieces of a work array, as in ODEPACK: their rest belongs to other arguments, their places are in COMMON, and change
/// during the call. One is passed on.
#[test]
fn pieces_of_a_work_array() {
    check_top(
        "
      SUBROUTINE TOP(X, S)
      DOUBLE PRECISION X(3), S, W(15)
      CALL SOLVE(3, X, W, 15, S)
      END
      SUBROUTINE SOLVE(N, X, W, LW, S)
      DOUBLE PRECISION X(3), W(LW), S
      COMMON /PLACES/ KY, KF, KA
      KY = 2
      KF = KY + N
      KA = KF + N
      DO 10 I = 1, N
   10 W(KY + I - 1) = X(I)
      DO 20 K = 1, 2
   20 CALL STEPS(N, W(KY), W(KF), W(KA))
      KY = KY - 1
      S = 0
      DO 30 I = 1, N
   30 S = S + W(KY + I)*I
      END
      SUBROUTINE STEPS(N, Y, F, A)
      DOUBLE PRECISION Y(*), F(*), A(*)
      COMMON /PLACES/ KY, KF, KA
      DO 10 K = 1, 3
      CALL RATE(N, Y, F)
      DO 20 I = 1, N
   20 A(I) = F(I)*Y(I)
      CALL RATE(N, A, F)
      DO 30 I = 1, N
   30 Y(I) = Y(I) + 0.1D0*SIN(F(I)*A(I))
      CALL ADD(N, Y, A, K)
   10 CONTINUE
      KF = KF + 1
      KF = KF - 1
      KA = KY + 2*N
      END
      SUBROUTINE ADD(N, Y, A, K)
      DOUBLE PRECISION Y(3), A(*), T
      T = A(2)*A(N)
      CALL RATE(N, Y, A)
      Y(K) = Y(K) + 0.05D0*A(2)*A(N)*T
      END
",
        1e-9,
    );
}

/// The arguments of functions, those with a lower bound, rows of a matrix, and a call that is not always executed.
#[test]
fn functions_and_bounds() {
    check_top(
        "
      SUBROUTINE TOP(X, S)
      DOUBLE PRECISION X(3), S, A(4, 5), PART
      DOUBLE PRECISION W(0:9)
      COMMON /ALL/ W
      DO 5 I = 0, 9
    5 W(I) = 1 - 0.1D0*I
      DO 10 I = 1, 4
      DO 10 J = 1, 5
   10 A(I, J) = 0.1D0*I*J
      S = 0
      DO 20 K = 1, 3
      S = S + PART(3, X, A(2, K), K)*A(3, K)*0.3D0
      W(4 + K) = S*A(2, 3)
      S = S + PART(3, X, W(4), K - 1)
   20 IF (K .NE. 2) S = S + PART(3, X, W, 3 - K)*W(2)
      END
      DOUBLE PRECISION FUNCTION PART(N, X, F, K)
      DOUBLE PRECISION X(3), F(-1:*), T
      PART = F(0)*X(2)
      IF (K .EQ. 1) RETURN
      T = SIN(F(1)*F(-1))
      CALL RATE(N, X, F)
      PART = PART + F(1)*F(0)*F(-1)*T
      END
",
        1e-9,
    );
}

/// A subprogram whose text is there, called without derivatives, may overwrite more than the one element that an old
/// declaration has.
#[test]
fn size_one_is_any_size() {
    // The compiler would take the 1 literally if it checked bounds.
    let text = expand(&top("
      SUBROUTINE TOP(X, S)
      DOUBLE PRECISION X(3), S, W(10)
      DO 10 I = 1, 10
   10 W(I) = 2 - 0.1D0*I
      S = 0.1D0
      CALL MIDDLE(X, W(5), 3, S)
      END
      SUBROUTINE MIDDLE(X, W, N, S)
      DOUBLE PRECISION X(1), W(1), S
      CALL RATE(3, X, W)
      DO 10 K = 1, 3
      DO 20 I = 1, N
   20 S = S + 0.1D0*(W(I)*X(I)*S + W(I)*X(I)**2)
      IF (K .EQ. 2) CALL RATE(3, X, W)
      CALL FILL(W, N, K)
      DO 30 I = 1, N
   30 S = S + SIN(W(I)*X(I))*S
   10 CONTINUE
      END
      SUBROUTINE FILL(W, N, K)
      DOUBLE PRECISION W(1)
      DO 10 I = 1, N
   10 W(I) = 0.1D0*I*K
      END
"));
    let text = text.unwrap();
    compare(&run(&text, FAST), 1e-9, &text);
}

/// The size stays unknown if the arrays of a head are open, if bounds have changed, and if it is not an array that is passed.
#[test]
fn unknown_sizes() {
    let messages = |body: &str| {
        let text = format!(
            "      SUBROUTINE HEAD(X, Y, W, V, N, S)
      DOUBLE PRECISION X(3), Y, W(N), V(*), S(3)
      ADR(COTANGENT(Y) = 1)
{body}      END ADR(S = COTANGENT(X))
      END
      SUBROUTINE STEP(X, F, Y)
      DOUBLE PRECISION X(3), F(*), Y
      DO 10 I = 1, 3
      CALL RATE(3, X, F)
   10 Y = Y*F(2)*F(3)
      END
      SUBROUTINE OLD(X, F, Y)
      DOUBLE PRECISION X(3), F(1), Y
      DO 10 I = 1, 3
      CALL RATE(3, X, F)
   10 Y = Y*F(2)*F(3)
      END
{}",
            RATE.trim_start_matches('\n')
        );
        match expand(&text) {
            Ok(_) => "none".to_owned(),
            Err(e) => e,
        }
    };
    assert_snapshot!(
        [
            messages("      CALL STEP(X, W, Y)\n"),
            messages("      CALL STEP(X, W(N - 3), Y)\n"),
            messages("      CALL STEP(X, V(4), Y)\n"),
            messages("      N = 3\n      CALL STEP(X, W, Y)\n"),
            messages("      CALL STEP(X, Y, Y)\n"),
            messages("      CALL OLD(X, Y, Y)\n"),
        ]
        .join("\n")
    );
}
