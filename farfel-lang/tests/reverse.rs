//! Tests of the staging of ADR blocks.

use crate::common::{lowered, printed};
use farfel_lang::lower::Stage;

/// A description and a program.
const CASES: &[(&str, &str)] = &[
    (
        "cotangents see the primal results",
        "
      SUBROUTINE S(X, YOBS, Y, G)
      ADR(COTANGENT(Y) = Y - YOBS)
      Y = X**2
      END ADR(G = COTANGENT(X))
      END",
    ),
    (
        "independent and dependent at once",
        "
      SUBROUTINE S(X, G)
      ADR(COTANGENT(X) = 1)
      X = X*X
      END ADR(G = COTANGENT(X))
      END",
    ),
    (
        "in-out arguments, and one that is assigned before it is read",
        "
      SUBROUTINE S(X, Z, N, C, G)
      CHARACTER*8 C
      ADR(Z)
      T = 2*X
      Z = Z*X*T
      N = N + 1
      DO I = 1, N
        Z = Z + X*I
      END DO
      C = 'DONE'
      END ADR(G = COTANGENT(X))
      END",
    ),
    (
        "adjustable arrays with bounds",
        "
      SUBROUTINE S(A, M, N, L, U, Y, G)
      DOUBLE PRECISION A(M, N), L, U(0:N), Y, G(M, N)
      ADR(Y)
      DO J = 1, N
        U(J) = U(J - 1)*A(1, J)
      END DO
      Y = U(N)*L
      END ADR(G = COTANGENT(A))
      END",
    ),
    (
        "elements, implied DO and whole arrays",
        "
      SUBROUTINE S(X, N, Y, Z, G, H, W)
      REAL X(N), Y(N), Z(N), G(N), H(0:N - 1), W(N)
      ADR(COTANGENT(Y(2)) = Y(1), (COTANGENT(Z(I)) = W(I), I = 1, N, 2))
      DO I = 1, N
        Y(I) = X(I)**2
        Z(I) = X(I)*Y(I)
      END DO
      END ADR((G(I) = COTANGENT(X(I)), I = 1, N))
      ADR(COTANGENT(Y) = W, COTANGENT(Z) = 1)
      DO I = 1, N
        Y(I) = X(I)**2
        Z(I) = X(I)*Y(I)
      END DO
      END ADR(H = COTANGENT(X))
      END",
    ),
    (
        "an element after the implied DO that covers it",
        "
      SUBROUTINE S(X, N, Y, G)
      REAL X, Y(N), G
      ADR((COTANGENT(Y(I)) = 1, I = 1, N), COTANGENT(Y(1)) = 5)
      DO I = 1, N
        Y(I) = X**I
      END DO
      END ADR(G = COTANGENT(X))
      END",
    ),
    (
        "a loop variable that is the block's, too",
        "
      SUBROUTINE S(X, N, Y, G)
      REAL X(N), Y(N), G(N)
      ADR((COTANGENT(Y(I)) = I, I = 1, N))
      DO I = 1, N
        IF (X(I) .LT. 0) EXIT
        Y(I) = X(I)**2
      END DO
      END ADR((G(J) = COTANGENT(X(J)), J = 1, I - 1))
      END",
    ),
    (
        "destinations with another part",
        "
      SUBROUTINE S(X, Z, Y, G, H, D)
      REAL X(3), G(3), H(3)
C     The block has it
      ADR(Y)
      Y = X(1)*X(2)
      END ADR(X = COTANGENT(X))
C     The opening reads it
      ADR(COTANGENT(Y) = G(1))
      Y = X(1)*X(2)
      END ADR(G = COTANGENT(X))
C     A subscript of the closing reads it
      ADR(Y)
      Y = X(1)*Z
      END ADR(G(INT(D)) = COTANGENT(Z), D = COTANGENT(Z),
     +        H = COTANGENT(X))
      END",
    ),
    (
        "a function's result",
        "
      DOUBLE PRECISION FUNCTION SLOPE(X)
      DOUBLE PRECISION X, Y
      ADR(Y)
      Y = SIN(X)
      END ADR(SLOPE = COTANGENT(X))
      END",
    ),
    (
        "loops and branches around",
        "
      SUBROUTINE S(X, N, G)
      REAL X(N), G(N)
      DO 10 I = 1, N
      IF (X(I) .GT. 0) THEN
      ADR(Y)
      Y = SQRT(X(I))
      END ADR(G(I) = COTANGENT(X(I)))
      ELSE
      G(I) = 0
      END IF
   10 CONTINUE
      END",
    ),
    (
        "nested subprograms",
        "
      PROGRAM P
        FUNCTION F(X)
          F = A*X**2
        END
        SUBROUTINE COUNT
          K = K + 1
        END
      A = 3
      K = 0
      ADR(Y)
      CALL COUNT
      Y = F(X)
      END ADR(G = COTANGENT(X))
      PRINT *, G, K
      END",
    ),
    (
        "input and output, STOP",
        "
      SUBROUTINE S(X, Y, G)
      ADR(Y)
      IF (X .LT. 0) STOP 'NEGATIVE'
      Y = SQRT(X)
      WRITE (*, 10) Y
   10 FORMAT (F8.3)
      END ADR(G = COTANGENT(X))
      END",
    ),
    (
        "character of the caller's length",
        "
      SUBROUTINE S(X, C, Y, G)
      CHARACTER*(*) C
      ADR(Y)
      IF (C .EQ. 'TWICE') Y = 2*X
      IF (C .NE. 'TWICE') Y = X
      C(1:1) = 'X'
      END ADR(G = COTANGENT(X))
      END",
    ),
    (
        "COMMON that the caller declares",
        "
      SUBROUTINE S(X, Y, G)
      COMMON /WORK/ A, B(3), K
      ADR(Y)
      A = A + 1
      K = K + 1
      Y = A*B(1)*X
      END ADR(G = COTANGENT(X))
      END",
    ),
    (
        "COMMON below, blank and named, with bounds",
        "
      SUBROUTINE S(X, Y, G)
      DATA Q /1.0/
      ADR(Y)
      CALL T(X, Y)
      END ADR(G = COTANGENT(X))
      G = G*Q
      END
      SUBROUTINE T(X, Y)
      PARAMETER (N = 4)
      COMMON W(0:N), I
      COMMON /STATE/ A, C
      CHARACTER*5 C
      W(1) = X
      A = A + X
      C = 'HELLO'
      CALL U(Y)
      END
      SUBROUTINE U(Y)
      COMMON W(5), M
      COMMON /STATE/ S, C
      CHARACTER*5 C
      COMMON /CONST/ Z
      Y = S*W(2)*Z
      END",
    ),
    (
        "COMMON with other layouts and EQUIVALENCE",
        "
      SUBROUTINE S(X, Y, G)
      COMMON /C/ A(4)
      ADR(Y)
      CALL T(X, Y)
      END ADR(G = COTANGENT(X))
      END
      SUBROUTINE T(X, Y)
      COMMON /C/ P, Q, R, S
      COMMON /D/ D1, D2
      EQUIVALENCE (D1, E)
      P = P + X
      E = X
      Y = P*D2
      END",
    ),
    (
        "COMMON for two blocks of a unit that does not declare it",
        "
      SUBROUTINE S(X, Y, G)
      ADR(Y)
      CALL U(X, Y)
      END ADR(G = COTANGENT(X))
      ADR(Y)
      CALL T(X, Y)
      CALL U(X, Y)
      END ADR(G = COTANGENT(X))
      END
      SUBROUTINE T(X, Y)
      COMMON N, P(3), Q
      Q = X
      END
      SUBROUTINE U(X, Y)
      COMMON N
      N = N + 1
      Y = X**N
      END",
    ),
    (
        "an empty closing",
        "
      SUBROUTINE S(X, Y)
      ADR(Y)
      Y = X**2
      END ADR
      END",
    ),
    (
        "SAVE and DATA",
        "
      SUBROUTINE S(X, Y, G)
      ADR(Y)
      Y = F(X)
      END ADR(G = COTANGENT(X))
      END
      FUNCTION F(X)
      SAVE N
      DATA N /0/, C /2.0/
      N = N + 1
      F = X*N*C
      END",
    ),
    (
        "COMMON that a passed procedure assigns",
        "
      SUBROUTINE S(X, G)
      EXTERNAL F
      CALL GRAD(F, X, G)
      END
      SUBROUTINE GRAD(F, X, G)
      EXTERNAL F
      ADR(Y)
      Y = F(X)
      END ADR(G = COTANGENT(X))
      END
      FUNCTION F(X)
      COMMON /COUNT/ N
      N = N + 1
      F = X**N
      END",
    ),
    (
        "bounds that the block changes",
        "
      SUBROUTINE S(X, N, Y, G)
      COMMON /SIZE/ M
      REAL X(N), Y(M:N), G(N)
      ADR(COTANGENT(Y) = Y)
      DO I = M, N
        Y(I) = X(I)**2
      END DO
      N = N - 1
      M = M + 1
      END ADR(G = COTANGENT(X))
      END",
    ),
    (
        "a function of the program in the value for a whole array",
        "
      SUBROUTINE S(X, Y, W, G)
      REAL X(3), Y(3), W(0:2), G(3)
      ADR(COTANGENT(Y) = SIN(W)*ANORM(W))
      DO I = 1, 3
        Y(I) = X(I)**2
      END DO
      END ADR(G = COTANGENT(X))
      END
      FUNCTION ANORM(W)
      REAL W(3)
      ANORM = W(1) + W(2) + W(3)
      END",
    ),
    (
        "input in the block",
        "
      SUBROUTINE S(X, Y, G)
      CHARACTER*10 C
      REAL A(2)
      ADR(Y)
      READ (*, '(A)') C
      READ (C, *) B
      IF (B .GT. 0) READ *, N, (A(I), I = 1, 2)
      Y = B*X
      DO I = 1, N
        Y = Y + A(1)*X
      END DO
      END ADR(G = COTANGENT(X))
      END",
    ),
    (
        "assigned before it is read, by what the block calls",
        "
      SUBROUTINE S(X, A, B, C, D, E, G)
      ADR(E)
      CALL T(X, A, B)
      CALL T(X, C, C)
      CALL U(X, D, E)
      END ADR(G = COTANGENT(X))
      END
      SUBROUTINE T(X, A, B)
      IF (X .GT. 0) THEN
        A = X
      ELSE
        A = -X
      END IF
      B = B + A
      RETURN
      END
      SUBROUTINE U(X, D, E)
      IF (X .GT. 0) RETURN
      D = X
      E = X
      END",
    ),
    (
        "blocks in blocks",
        "
      SUBROUTINE S(X, A, B, C, D)
      ADR(D)
        ADF(X)
        Y = A*X**3
        END ADF(D = TANGENT(Y))
      END ADR(B = COTANGENT(X))
      ADF(X)
        ADR(Y)
        Y = A*X**3
        END ADR(D = COTANGENT(X))
      END ADF(C = TANGENT(D))
      ADR(D)
        ADR(Y)
        Y = A*X**3
        END ADR(D = COTANGENT(X))
      END ADR(B = COTANGENT(X))
      END",
    ),
    (
        "blocks that call blocks",
        "
      SUBROUTINE A(X, N, P, G)
      COMMON /COUNT/ K
      REAL X(N), P(N), G(N)
      ADR(S)
      CALL B(X, N, P, S)
      END ADR(G = COTANGENT(X))
      END
      SUBROUTINE B(X, N, P, S)
      REAL X(N), P(N), H(100)
      ADR(Y)
      Y = C(X, N)
      END ADR(H = COTANGENT(X))
      S = 0
      DO I = 1, N
        S = S + H(I)*P(I)
      END DO
      END
      FUNCTION C(X, N)
      COMMON /COUNT/ K
      REAL X(N)
      K = K + 1
      C = 0
      DO I = 1, N
        C = C + X(I)**3
      END DO
      END",
    ),
    (
        "SAVE in a passed procedure, forward too",
        "
      SUBROUTINE S(X, G)
      EXTERNAL F
      CALL GRAD(F, X, G)
      END
      SUBROUTINE GRAD(F, X, G)
      EXTERNAL F
      ADR(Y)
      Y = F(X)
      END ADR(G = COTANGENT(X))
      ADF(X)
      Y = F(X)
      END ADF(G = TANGENT(Y))
      END
      FUNCTION F(X)
      SAVE N
      N = N + 1
      F = X**N
      END",
    ),
    (
        "an array of assumed size that is only read",
        "
      SUBROUTINE S(X, P, Y, G)
      REAL P(*)
      ADR(Y)
      Y = P(1)*X
      END ADR(G = COTANGENT(X))
      END",
    ),
];

#[test]
fn blocks() {
    for (what, source) in CASES {
        let name: String = what
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || *c == ' ')
            .map(|c| if c == ' ' { '-' } else { c })
            .collect();
        insta::assert_snapshot!(name, printed(source, Stage::Stage));
    }
}

/// Inner derivatives are made first, in both directions of nesting.
#[test]
fn order_of_requests() {
    let order = |what: &str| -> Vec<String> {
        let (_, source) = CASES.iter().find(|(w, _)| *w == what).unwrap();
        let requests = lowered(source, Stage::Stage).requests;
        let shown = requests.iter().map(|r| {
            format!(
                "{} {:?} d{:?}/d{:?} pairs {:?}",
                r.derivative, r.mode, r.dependents, r.independents, r.paired
            )
        });
        shown.collect()
    };
    insta::assert_debug_snapshot!(order("blocks in blocks"), @r#"
    [
        "S_ADR1_ADF4_G4 Forward d[2]/d[0] pairs [0, 1, 2]",
        "S_ADR1_G1 Reverse d[3]/d[0] pairs [0, 1, 2, 3]",
        "S_ADF2_ADR5_G5 Reverse d[2]/d[0] pairs [0, 1, 2]",
        "S_ADF2_G2 Forward d[3]/d[0] pairs [0, 1, 2, 3]",
        "S_ADR3_ADR6_G6 Reverse d[2]/d[0] pairs [0, 1, 2]",
        "S_ADR3_G3 Reverse d[3]/d[0] pairs [0, 1, 2, 3]",
    ]
    "#);
    insta::assert_debug_snapshot!(order("blocks that call blocks"), @r#"
    [
        "B_ADR1_G1B Reverse d[2]/d[0] pairs [0, 2]",
        "A_ADR1_G1A Reverse d[3]/d[0] pairs [0, 2, 3]",
    ]
    "#);
}

/// A destination that a statement function of the opening reads keeps its value until then.
#[test]
fn destination_read_by_a_statement_function() {
    let text = "
      SUBROUTINE GRAD(X, W)
      G(T) = T + W
      F(T) = G(T) + 1
      ADR(COTANGENT(Y) = F(1.0))
      Y = X
      END ADR(W = COTANGENT(X))
      END
";
    let staged = printed(text, Stage::Stage);
    let at = |what: &str| staged.find(what).unwrap_or(usize::MAX);
    assert!(at("W = ") > at("F(1.0)"), "{staged}");
}

/// The statements of a block run before its derivative only if something observes their effects.
#[test]
fn statements_that_nobody_sees_do_not_run() {
    let block = |inside: &str, after: &str| {
        format!(
            "
      SUBROUTINE S(X, N, G, R)
      COMMON /C/ C
      EXTERNAL UNKNOWN
      REAL X(N), V(9)
    5 ADR(Y)
      CALL F(X, N, Y)
{inside}      END ADR(G = COTANGENT(X(1)))
{after}      END
      SUBROUTINE F(X, N, Y)
      REAL X(N)
      Y = 0
      DO 10 I = 1, N
   10 Y = Y + X(I)**2
      END"
        )
    };
    let runs = |source: &str| printed(source, Stage::Stage).contains("CALL S_ADR1(");
    for (inside, after) in [
        ("", ""),
        ("      Y = Y*SIN(Y)\n", "      R = G\n"),
        ("      V(1) = Y\n      Y = V(1)*V(1)\n", ""),
        // V has no value before the block, and a jump after it does not lead back.
        (
            "      V(1) = V(1) + Y\n",
            "      IF (G .GT. 1) GOTO 20\n   20 CONTINUE\n",
        ),
    ] {
        assert!(!runs(&block(inside, after)), "{inside}{after}");
    }
    for (inside, after) in [
        // A variable of the block is used after it, is an argument, or is in COMMON.
        ("", "      R = Y\n"),
        ("      R = Y\n", ""),
        ("      C = Y\n", ""),
        // An effect that is observable.
        ("      PRINT *, Y\n", ""),
        ("      IF (Y .GT. 1E9) STOP\n", ""),
        ("      CALL UNKNOWN(N)\n", ""),
        // The next execution may find what one execution leaves in V.
        ("      V(1) = V(1) + Y\n", "      IF (G .GT. 1) GOTO 5\n"),
    ] {
        assert!(runs(&block(inside, after)), "{inside}{after}");
    }
    let again = "
      SUBROUTINE S(X, N, G)
      REAL X(N), G(N), V(2)
      DO 10 I = 1, N
      ADR(Y)
      V(1) = X(I)*V(2)
      V(2) = V(1)
      Y = V(2)
      END ADR(G(I) = COTANGENT(X(I)))
   10 CONTINUE
      END";
    assert!(runs(again), "{again}");
}
