//! The derivatives of local arrays are set to zero on entry only if something may be read that no statement has set.

use crate::support::{check, expand};

/// A function of X with a local array A of three elements.
fn program(body: &str) -> String {
    format!(
        "
      PROGRAM MAIN
      DOUBLE PRECISION X, Y, D, U, V
C     Leaves something on the stack.
      CALL DIRTY
      X = 0.75D0
      ADF(X)
      CALL F(X, Y)
      END ADF(D = TANGENT(Y))
      CALL DIRTY
      CALL F(X + 1D-5, U)
      CALL DIRTY
      CALL F(X - 1D-5, V)
      PRINT '(A, 2ES26.17)', 'D', D, (U - V)/2D-5
      END
      SUBROUTINE DIRTY
      DOUBLE PRECISION S(2000)
      DO 10 I = 1, 2000
   10   S(I) = 1D3*I
      CALL USE(S)
      END
      SUBROUTINE USE(S)
      DOUBLE PRECISION S(2000)
      IF (S(7) .LT. 0) PRINT *, S
      END
      SUBROUTINE CHANGE(A)
      DOUBLE PRECISION A(3)
      A(2) = 3
      END
      DOUBLE PRECISION FUNCTION G(A)
      DOUBLE PRECISION A(3)
      A(2) = 4
      G = 1
      END
C     Assigns constants first.
      SUBROUTINE FILL(X, B)
      DOUBLE PRECISION X, B(3)
      DO 10 I = 1, 3
   10   B(I) = I
      B(2) = X*B(1)
      END
C     May leave an element as it is.
      SUBROUTINE PART(X, B, N)
      DOUBLE PRECISION X, B(*)
      IF (N .EQ. 0) RETURN
      CALL FILL(X, B)
      DO 10 I = 1, N
   10   CALL ONE(B(3), X)
      END
      SUBROUTINE ONE(C, X)
      DOUBLE PRECISION C, X
      IF (X .GT. 0) THEN
        C = 7
      ELSE
        C = X
      END IF
      END
      SUBROUTINE READS(X, B)
      DOUBLE PRECISION X, B(3)
      CHARACTER*8 T
      T = '   2.500'
      B(1) = X
      READ (T, '(F8.3)') B(2)
      END
C     Calls something without a derivative.
      SUBROUTINE LEAVES(X, B)
      DOUBLE PRECISION X, B(3)
      CALL CHANGE(B)
      B(1) = X
      END
      SUBROUTINE F(X, Y)
      DOUBLE PRECISION X, Y, A(3), G
{body}
      END
"
    )
}

fn sets_to_zero(body: &str) -> bool {
    let fortran = check(&program(body), 1e-8);
    let zero = |l: &&str| {
        let l = l.trim();
        l.starts_with("A_G") && !l.contains('(') && l.ends_with("= 0.0D0")
    };
    fortran.lines().any(|l| zero(&l))
}

#[test]
fn no_statement_leaves_a_zero_out() {
    for body in [
        "      DO 10 I = 1, 3
   10 A(I) = X**I
      Y = A(1)*A(3)",
        "      A(1) = X
      DO 10 I = 2, 3
   10 A(I) = A(I - 1)*X
      A(1) = 2
      Y = A(1)*A(3) + A(2)",
        "      DO 10 J = 1, 2
      IF (J .EQ. 1) THEN
        A(1) = X
        A(2) = SIN(X)
      ELSE
        A(3) = A(2)*A(1)
      END IF
   10 CONTINUE
      Y = A(3)*A(1)",
        // Assigned by other units, which assign the tangent as well.
        "      A(1) = X
      A(3) = 2*X
      CALL CHANGE(A)
      Y = A(1)*A(2) + A(3)",
        "      CALL FILL(X, A)
      Y = A(1)*A(2) + A(3)**2*X",
        "      CALL PART(X, A, 2)
      Y = A(1)*A(2) + A(3)**2*X",
        "      DO 10 J = 1, 3
      IF (J .EQ. 2) CALL PART(X*J, A, 0)
      IF (J .EQ. 1) CALL PART(SIN(X), A, 1)
   10 IF (J .GT. 1) CALL ONE(A(J), X - J + 1.5D0)
      Y = A(1)*A(2) + A(3)**2",
    ] {
        assert!(!sets_to_zero(body), "{body}");
    }
}

#[test]
fn some_statement_relies_on_zero() {
    for body in [
        // Nothing varies yet.
        "      A(1) = 2
      A(3) = 1
      A(2) = X
      Y = A(1)*A(2) + A(3)",
        // Read from a text.
        "      CHARACTER*8 T
      T = '   2.500'
      READ (T, '(F8.3)') A(1)
      A(2) = X
      Y = A(1)*A(2)",
        // Assigned by other units.
        "      CALL CHANGE(A)
      A(1) = X
      Y = A(1)*A(2)",
        "      A(3) = X*G(A)
      A(1) = X
      Y = A(1)*A(2) + A(3)",
        "      CALL READS(X, A)
      Y = A(1)*A(2)",
        // The callee has no tangent for it there.
        "      CALL CHANGE(A)
      CALL ONE(A(1), -X)
      Y = A(1)*A(2)",
        // Under another name.
        "      DOUBLE PRECISION B
      EQUIVALENCE (B, A(2))
      B = 3
      A(1) = X
      Y = A(1)*A(2)",
    ] {
        assert!(sets_to_zero(body), "{body}");
    }
}

/// Values from the previous call.
#[test]
fn saved_arrays_begin_with_zero() {
    let body = "      SAVE A
      DATA A /3*2D0/
      A(1) = X
      Y = A(1)*A(2)";
    let fortran = expand(&program(body)).unwrap_or_else(|e| panic!("{e}"));
    assert!(fortran.contains("A_G"));
    check(&program(body), 1e-8);
}
