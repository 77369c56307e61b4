//! A program whose subroutine F is differentiated by an adjoint and by differences.

use super::{CHECKED, FAST, compare, expand, run};

/// Checks the derivatives of F with this body, which further subprograms without the last END may follow. Returns the
/// text of its adjoint.
pub fn adjoint(body: &str) -> String {
    let text = expand(&program(body)).unwrap_or_else(|e| panic!("{e}"));
    for flags in [CHECKED, FAST] {
        compare(&run(&text, flags), 1e-6, &text);
    }
    let at = text.find("SUBROUTINE F_G").expect("an adjoint");
    let adjoint = &text[at..];
    let end = adjoint.find("\n      END\n").expect("its end");
    adjoint[..end].to_owned()
}

/// Returns a program that computes the gradient of the sum of I*V(I) by an adjoint and by differences.
pub fn program(body: &str) -> String {
    format!(
        "
      PROGRAM P
      DOUBLE PRECISION A, V(5), W(5), U(5), AB, VB(5), H, D(2), S
      A = 0.7D0
      DO I = 1, 5
        V(I) = 0.3D0 + 0.2D0*I
        W(I) = V(I)
        U(I) = I
      END DO
      ADR(COTANGENT(V) = U)
      CALL F(A, V)
      END ADR(AB = COTANGENT(A), VB = COTANGENT(V))
      H = 2D0**(-13)
      DO J = 0, 5
        DO K = 1, 2
          S = H*(3 - 2*K)
          DO I = 1, 5
            V(I) = W(I)
          END DO
          IF (J .GT. 0) V(J) = V(J) + S
          IF (J .EQ. 0) A = A + S
          CALL F(A, V)
          IF (J .EQ. 0) A = A - S
          D(K) = 0
          DO I = 1, 5
            D(K) = D(K) + I*V(I)
          END DO
        END DO
        IF (J .EQ. 0) PRINT *, 'A', AB, (D(1) - D(2))/(2*H)
        IF (J .GT. 0) PRINT *, 'V', VB(J), (D(1) - D(2))/(2*H)
      END DO
      END
      SUBROUTINE F(A, V)
      DOUBLE PRECISION A, V(5)
{body}      END
"
    )
}
