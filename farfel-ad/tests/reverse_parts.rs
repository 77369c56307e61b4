//! Adjoints of calls that pass parts of one array as several arguments.

use crate::support::jacobian::{Case, check_cases};
use crate::support::{self, check};

/// Subroutines that read parts of one array through several arguments.
fn cases() -> Vec<Case> {
    [
        ("overlapping_windows", WINDOWS),
        ("columns_and_rows", COLUMNS),
        ("passed_on", PASSED_ON),
        ("bounds_and_sections", BOUNDS),
        ("two_arrays_and_scalars", TWO),
        ("factorisation", FACTORISATION),
        ("complex_parts", COMPLEX),
        ("elements_apart", APART),
    ]
    .map(|(name, text)| Case {
        name,
        text: text.into(),
    })
    .into()
}

const WINDOWS: &str = "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), W(7)
      DO I = 1, 7
        W(I) = X(1 + MOD(I, 3))*I + X(2)**2
      END DO
      CALL S@(W, 5, Y)
      END
      SUBROUTINE S@(W, N, Y)
      DOUBLE PRECISION W(*), Y(3), P@
      Y(1) = P@(N, W, 1, W(2), 1)
      Y(2) = P@(N, W(3), 1, W, 1)
      Y(3) = P@(2, W(2), 2, W(2), 2)*Y(1)
      END
      DOUBLE PRECISION FUNCTION P@(N, A, INCA, B, INCB)
      DOUBLE PRECISION A(*), B(*)
      P@ = 0
      DO I = 1, N
        P@ = P@ + A(1 + (I - 1)*INCA)*B(1 + (I - 1)*INCB)**2
      END DO
      END
";

const COLUMNS: &str = "
      SUBROUTINE F@(X, Y)
      PARAMETER (LD = 4)
      DOUBLE PRECISION X(3), Y(3), A(LD, 3)
      DO J = 1, 3
        DO I = 1, LD
          A(I, J) = X(J)*I - X(1 + MOD(I, 3))**2
        END DO
      END DO
      CALL S@(A, LD, 3, Y)
      END
      SUBROUTINE S@(A, LD, N, Y)
      DOUBLE PRECISION A(LD, *), Y(3)
      DO J = 1, N
        Y(J) = 0
        CALL T@(LD, A(1, J), 1, A(J, 1), LD, A(2, 1), Y(J))
      END DO
      CALL T@(LD, A(1, 2), 1, A(1, 3), 1, A, Y(2))
      END
      SUBROUTINE T@(LD, A, INCA, B, INCB, C, R)
      DOUBLE PRECISION A(*), B(*), C(LD, *), R
      DO I = 1, 3
        R = R + A(1 + (I - 1)*INCA)*B(1 + (I - 1)*INCB)*C(2, I)
      END DO
      END
";

const PASSED_ON: &str = "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A(3, 3)
      DO J = 1, 3
        DO I = 1, 3
          A(I, J) = X(J)*I - X(I)
        END DO
      END DO
      CALL S@(A, A(1, 1), A(2, 1), Y)
      END
      SUBROUTINE S@(A, B, C, Y)
      DOUBLE PRECISION A(3, 3), B(3, *), C(*), Y(3), E@
      DO I = 1, 3
        CALL U@(A(1, I), B(1, I), C, Y(I))
        Y(I) = Y(I)*E@(A(I, 1), B, C(2))
      END DO
      END
      SUBROUTINE U@(A, B, C, R)
      DOUBLE PRECISION A(*), B(*), C(*), R
      R = 0
      DO I = 1, 3
        R = R + A(I)*B(I)*C(I)
      END DO
      IF (R .GT. -100) R = SIN(R)
      END
      DOUBLE PRECISION FUNCTION E@(A, B, C)
      DOUBLE PRECISION A, B(*), C
      E@ = A*B(2) + C*B(1) + EXP(C/10)
      END
";

const BOUNDS: &str = "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A(0:3, -1:1, 2)
      DO K = 1, 2
        DO J = -1, 1
          DO I = 0, 3
            A(I, J, K) = X(J + 2)*(I + 1) - X(1 + MOD(I, 3))*K
          END DO
        END DO
      END DO
      CALL S@(A, A(1, -1, 1), -2, 1, 1, Y)
      END
      SUBROUTINE S@(A, B, L, M, K, Y)
      DOUBLE PRECISION A(0:3, -1:1, 2), B(L:M, K:2, *), Y(3)
      Y(1) = A(2, 0, 1)*B(-1, 1, 2) + B(L, K, 1)**2
      Y(2) = SUM(A(0:3, 0, 1)*B(-2:1, 1, 1))
      Y(3) = SUM(A(1, -1:1, 2)*B(0, 1, 1:3)) + SUM(B(-2:1, 2, 1))
      DO I = L, M
        Y(3) = Y(3) + B(I, 2, 1)**2*A(I + 2, 1, 2)
      END DO
      END
";

const TWO: &str = "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A(5), B(6), D
      DO I = 1, 5
        A(I) = X(1)*I + X(2)
        B(I) = X(3)/I + X(2)
      END DO
      B(6) = X(1)
      D = X(3)
      CALL S@(A, A(2), B(1), B(3), A(3), D, D, Y)
      END
      SUBROUTINE S@(A, B, C, D, E, P, Q, Y)
      DOUBLE PRECISION A(*), B(*), C(*), D(*), E, P, Q, Y(3)
      DO I = 1, 3
        Y(I) = A(I)*B(I)*C(I)*D(I) + E*P + Q
        IF (I .EQ. 2) Y(I) = Y(I)*B(1)
      END DO
      END
";

/// A factorisation without pivoting, by dot products and matrix-vector products, as in LAPACK.
const FACTORISATION: &str = "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A(5, 4)
      DO J = 1, 4
        DO I = 1, 4
          A(I, J) = X(1 + MOD(I*J, 3))/(I + J)
        END DO
        A(J, J) = 5 + J + X(1 + MOD(J, 3))
      END DO
      CALL C@(4, A, 5)
      CALL L@(4, A, 5)
      Y(1) = A(4, 4)
      Y(2) = A(3, 2)*A(2, 3)
      Y(3) = A(1, 1) + A(4, 1)*A(2, 4)
      END
      SUBROUTINE C@(N, A, LDA)
      DOUBLE PRECISION A(LDA, *), P@
      DO J = 1, N
        A(J, J) = SQRT(A(J, J) - P@(J - 1, A(J, 1), LDA, A(J, 1), LDA))
        IF (J .LT. N) THEN
          CALL V@(N - J, J - 1, A(J+1, 1), LDA, A(J, 1), LDA, A(J+1, J))
          DO I = J + 1, N
            A(I, J) = A(I, J)/A(J, J)
          END DO
        END IF
      END DO
      END
      SUBROUTINE L@(N, A, LDA)
      DOUBLE PRECISION A(LDA, *), P@
      DO J = 1, N
        DO I = 2, J
          A(I, J) = A(I, J) - P@(I - 1, A(I, 1), LDA, A(1, J), 1)
        END DO
        DO I = J + 1, N
          A(I, J) = A(I, J) - P@(J - 1, A(I, 1), LDA, A(1, J), 1)
          A(I, J) = A(I, J)/A(J, J)
        END DO
      END DO
      END
      DOUBLE PRECISION FUNCTION P@(N, A, INCA, B, INCB)
      DOUBLE PRECISION A(*), B(*)
      P@ = 0
      IA = 1
      IB = 1
      DO I = 1, N
        P@ = P@ + A(IA)*B(IB)
        IA = IA + INCA
        IB = IB + INCB
      END DO
      END
      SUBROUTINE V@(M, N, A, LDA, X, INCX, Y)
      DOUBLE PRECISION A(LDA, *), X(*), Y(*), T
      JX = 1
      DO J = 1, N
        T = X(JX)
        DO I = 1, M
          Y(I) = Y(I) - T*A(I, J)
        END DO
        JX = JX + INCX
      END DO
      END
";

const COMPLEX: &str = "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3)
      COMPLEX*16 Z(4), R, P@
      DO I = 1, 4
        Z(I) = DCMPLX(X(1)*I, X(2) - I*X(3))
      END DO
      R = P@(Z(1), Z(2))
      Y(1) = DBLE(R)
      Y(2) = DIMAG(R)
      Y(3) = ABS(P@(Z, Z))
      END
      COMPLEX*16 FUNCTION P@(A, B)
      COMPLEX*16 A(*), B(*)
      P@ = 0
      DO I = 1, 3
        P@ = P@ + A(I)*CONJG(B(I))/(2 + I)
      END DO
      END
";

/// Elements that are passed beside other parts of their array, in it or apart from it.
const APART: &str = "
      SUBROUTINE F@(X, Y)
      DOUBLE PRECISION X(3), Y(3), A(2, 3), P@, Q@
      INTEGER J
      DO J = 1, 3
        A(1, J) = X(J)**2
        A(2, J) = X(J) + J
      END DO
      J = 2
      Y(1) = P@(X(1), X(2), X(2))*P@(X(3), X(2), X(1))
      Y(2) = Q@(X(1), X(2)) - Q@(X(2), X(2)) + Q@(X(3), X(2))
     +  + Q@(X(1), X)
      Y(3) = P@(A(1, J), A(2, J), A(1, 3)) + Q@(A(1, J), A(2, J))
     +  + Q@(A(2, 1), A(1, J)) + Q@(A(2, J), A(1, J))
     +  + P@(A(J, 1), A(J, 1), A(2, 1))
      END
      DOUBLE PRECISION FUNCTION P@(A, B, C)
      DOUBLE PRECISION A, B, C
      P@ = A*B**2
      P@ = P@ + SIN(P@)*C*A
      END
      DOUBLE PRECISION FUNCTION Q@(A, B)
      DOUBLE PRECISION A, B(2)
      Q@ = A*B(1)
      DO I = 1, 2
        Q@ = Q@*B(I)*A + SIN(A*B(2))
      END DO
      END
";

#[test]
fn elements_apart_need_no_copies() {
    let calls = |call: &str| {
        let text = format!(
            "
      SUBROUTINE TOP(X, G)
      DOUBLE PRECISION X(4), G(4), Y
      ADR(Y)
      CALL F(X, Y)
      END ADR(G = COTANGENT(X))
      END
      SUBROUTINE F(X, Y)
      DOUBLE PRECISION X(4), Y
      {call}
      END
      SUBROUTINE S(A, B, C, Y)
      DOUBLE PRECISION A, B, C(2), Y
      Y = A*B*C(1)*C(2)
      END
"
        );
        support::expand(&text).unwrap_or_else(|e| panic!("{e}"))
    };
    let copies = |call: &str| {
        let text = calls(call);
        let adjoint = text.split("C Adjoint of ").find(|t| t.starts_with("F:"));
        adjoint.is_some_and(|t| t.contains("TEMPB"))
    };
    assert!(!copies("CALL S(X(1), X(2), X(3), Y)"));
    assert!(copies("CALL S(X(1), X(1), X(3), Y)"));
    assert!(copies("CALL S(X(1), X(4), X(3), Y)"));
    assert!(copies("CALL S(X(1), X(3), X(3), Y)"));
    assert!(copies("CALL S(X(1), X(2), X, Y)"));
}

#[test]
fn parts_of_one_array_as_arguments() {
    check_cases(&cases(), 1e-7);
}

/// One of them, differentiated once more.
#[test]
fn parts_of_one_array_in_second_derivatives() {
    let cases: Vec<Case> = cases()
        .into_iter()
        .filter(|c| c.name == "factorisation")
        .collect();
    let mut text = String::from(
        "
      PROGRAM MAIN
      DOUBLE PRECISION X(3), V(3), G(3), H(3), E, R(3), S
      DATA X /0.7D0, 1.3D0, -0.4D0/, V /1D0, -0.5D0, 0.75D0/
",
    );
    for (i, c) in cases.iter().enumerate() {
        let i = i + 1;
        let name = c.name;
        text += &format!(
            "      CALL FR{i}(X, V, R)
      CALL RF{i}(X, V, G)
      CALL RR{i}(X, V, H)
      DO {i}0 I = 1, 3
      PRINT *, '{name}_rf', G(I), R(I)
{i:>4}0 PRINT *, '{name}_rr', H(I), R(I)
"
        );
    }
    text += "      END\n";
    for (i, c) in cases.iter().enumerate() {
        let i = i + 1;
        text += &c.text.trim_start_matches('\n').replace('@', &i.to_string());
        text += &format!(
            "      SUBROUTINE GR{i}(X, G)
      DOUBLE PRECISION X(3), G(3), Y(3), W(3)
      DATA W /1D0, -2D0, 1D0/
      ADR(COTANGENT(Y) = W)
      CALL F{i}(X, Y)
      END ADR(G = COTANGENT(X))
      END
      SUBROUTINE GF{i}(X, V, E)
      DOUBLE PRECISION X(3), V(3), E, Y(3), D(3)
      ADF(TANGENT(X) = V)
      CALL F{i}(X, Y)
      END ADF(D = TANGENT(Y))
      E = D(1) - 2*D(2) + D(3)
      END
      SUBROUTINE FR{i}(X, V, R)
      DOUBLE PRECISION X(3), V(3), R(3), G(3)
      ADF(TANGENT(X) = V)
      CALL GR{i}(X, G)
      END ADF(R = TANGENT(G))
      END
      SUBROUTINE RF{i}(X, V, R)
      DOUBLE PRECISION X(3), V(3), R(3), E
      ADR(E)
      CALL GF{i}(X, V, E)
      END ADR(R = COTANGENT(X))
      END
      SUBROUTINE RR{i}(X, V, R)
      DOUBLE PRECISION X(3), V(3), R(3), G(3)
      ADR(COTANGENT(G) = V)
      CALL GR{i}(X, G)
      END ADR(R = COTANGENT(X))
      END
"
        );
    }
    check(&text, 1e-10);
}
