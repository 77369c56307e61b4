//! Stretches of statements whose tangents are all multiples of one tangent, by which they are multiplied once.

use crate::support::{FAST, check, run};

/// The statements between `C = W` and `Y = R + S*T`. X varies, N is 6, M is 0.
const STRETCHES: &[&str] = &[
    // A polynomial, and a series.
    "
      S = 0
      DO 10 I = 1, N
   10 S = S*X + C/I",
    "
      R = X
      S = X
      DO I = 1, N
        R = R*X/(I + 0.5D0)
        S = S + R
      END DO",
    // From a varying value, and with one that is assigned before each loop.
    "
      Z = SIN(X)
      R = Z*W
      S = R
      DO I = 1, N
        R = -R*Z*C
        S = S - R/I
      END DO",
    "
      S = 0
      DO J = 1, 3
        Z = X*J
        R = 1
        DO I = 1, N
          R = R*Z*C
        END DO
        S = S + R
      END DO",
    // No iterations at all.
    "
      S = X*W
      R = S
      DO I = 1, M
        S = S*X
        R = R + S
      END DO",
    // Zero on both paths to the loop, and on one path only.
    "
      S = 2
      IF (DBLE(W) .GT. 1) THEN
        S = 3
      END IF
      IF (DBLE(X) .GT. 0) THEN
        DO I = 1, N
          S = S*X + C
        END DO
      END IF",
    "
      S = 2
      IF (DBLE(W) .LT. 1) THEN
        S = X*X
      END IF
      DO I = 1, N
        S = S*X + C
      END DO",
    // Exits from the loop: to what follows, by EXIT, and elsewhere.
    "
      S = 0
      R = 1
      DO 10 I = 1, N
        R = R*X
        IF (I .EQ. 4) GOTO 20
   10 S = S + R
   20 T = T + S",
    "
      S = 0
      R = 1
      DO I = 1, N
        R = R*X
        IF (I .EQ. 4) EXIT
        IF (I .EQ. 2) CYCLE
        S = S + R
      END DO
C     A comment behind it.
      T = T*S",
    "
      IF (DBLE(W) .LT. -1) GOTO 20
      S = 0
      R = 1
      DO 10 I = 1, N
        R = R*X
        IF (I .EQ. 4) GOTO 20
   10 S = S + R
   20 T = T + S",
    "
      S = 0
      DO 10 I = 1, N
        S = S*X + C
        IF (I .EQ. 4) GOTO 20
   10 CONTINUE
      R = W
      GOTO 30
   20 R = S*S
   30 T = T + S",
    "
      S = 0
      DO 10 I = 1, N
        S = S*X + C
        IF (I .EQ. 4) RETURN
   10 CONTINUE",
    "
      Y = 0
      DO 10 I = 1, N
        Y = Y*X + C
        IF (I .EQ. 4) RETURN
   10 CONTINUE",
    // Nested loops with the same last statement, and a jump to the end of the outer one.
    "
      S = 0
      DO 10 J = 1, 3
      DO 10 I = 1, J
   10 S = S*X + I",
    "
      R = 0
      DO 10 J = 1, 3
      Z = X + J
      S = 0
      DO 20 I = 1, N
        S = S*Z + C
        R = R + 1
        IF (I .EQ. J + 1) GOTO 10
   20 CONTINUE
   10 T = S + T",
    "
      T = 0
      DO 10 J = 1, 3
      Z = X + J
      S = 0
      DO 10 I = 1, N
        S = S*Z + C
   10 V(I) = S",
    // Branches, DO WHILE, and a loop without end.
    "
      S = 0
      R = X
      I = 0
      DO WHILE (I .LT. N)
        I = I + 1
        IF (MOD(I, 2) .EQ. 0) THEN
          S = S + R
        ELSE IF (MOD(I, 3) .EQ. 0) THEN
          S = S - 2*R*X
        ELSE
          R = R*X
        END IF
      END DO",
    "
      S = 1
      I = 0
      DO
        S = S*X + X
        I = I + 1
        IF (I .GT. N) EXIT
      END DO
      R = S",
    // Other values in the loop: an array, earlier values, another variable, a call.
    "
      S = 0
      DO I = 1, N
        S = S*X + C*X*X
        S = S*X - C
        V(I) = S
      END DO
      R = V(3)*V(5)",
    "
      T = X*W
      S = X
      DO I = 1, N
        S = S*X*C + (S*X + X)*X
        T = T*S
      END DO",
    "
      Z = X*X
      S = 0
      R = 0
      DO I = 1, N
        S = S*X + C
        R = R*Z + S
      END DO",
    "
      S = 0
      DO I = 1, N
        S = S*X + C
        CALL TWICE(S)
      END DO",
    "
      S = 0
      Z = X
      DO I = 1, N
        S = S*Z + C
        CALL TWICE(Z)
      END DO",
    "
      S = X*W
      CALL TWICE(S)
      DO I = 1, N
        S = S*X + C
      END DO",
    // The loop begins at a label, and the value does not hold when it begins.
    "
      K = 0
      S = 0
   10 DO 20 I = 1, N
   20 S = S*X + C
      K = K + 1
      IF (K .LT. 3) GOTO 10",
    "
      Z = W*X
      S = Z*C
      C = 3
      DO I = 1, N
        S = S*X + C
      END DO",
    // In storage with two names.
    "
      E = 0
      DO I = 1, N
        E = E*X + C
      END DO
      S = F*X",
    // Straight-line code: branches, and exits from them.
    "
      Z = SIN(X*W)
      R = Z*C + Z*Z
      IF (DBLE(R) .GT. 0.1D0) THEN
        S = R*Z - Z
        T = S*C + R*Z
      ELSE
        S = Z
      END IF",
    "
      Z = X*X - W
      Y = Z*Z*C + Z
      IF (N .GT. 3) RETURN
      S = Y*Z",
    "
      Z = X*X - W
      Y = Z*Z*C + Z
      IF (N .LT. 3) THEN
        Y = Y*Z + Z
        RETURN
      ELSE IF (M .EQ. 0) THEN
        Y = Z*C - Y*Z
        GOTO 10
      END IF
      Y = 0
   10 RETURN",
    "
      IF (N .GT. 1) THEN
        Z = SIN(X)
        R = Z*C + Z*Z
        IF (N .EQ. 6) GOTO 30
        R = R*Z + Z
   30 END IF
      S = R",
    "
      DO J = 1, 3
        Z = SIN(X*J)
        R = Z*Z + Z*C
        IF (J .EQ. 2) CYCLE
        T = R*Z + Z
        S = S + T*R*Z
      END DO",
    "
      OUTER: DO J = 1, 3
        Z = SIN(X*J)
        R = Z*Z + Z*C
        INNER: DO I = 1, 3
          R = R*Z + Z
          IF (I + J .EQ. 3) CYCLE OUTER
          IF (I*J .EQ. 6) EXIT INNER
          IF (I*J .GT. 6) EXIT OUTER
        END DO INNER
        T = R*Z + Z
        S = S + T*R*Z
      END DO OUTER",
    "
      I = 0
   10 R = R*X*C + X
      S = S*X + R
      I = I + 1
      IF (I .LT. N) GOTO 10
      T = R*X*C",
    "
      R = X*W
      S = R*X*C + X
      IF (N - 6) 10, 20, 10
   10 S = S*X
      GOTO (20, 30), N - 5
   20 S = S*X*W + X
   30 T = S*X + R",
    // Several varying variables.
    "
      Z = X*X
      E = COS(X)
      DO I = 1, N
        R = R*Z + C
        T = T*E*C + E
      END DO
      S = Z*E",
];

fn subroutine(name: &str, complex: bool, body: &str) -> String {
    let ty = match complex {
        true => "COMPLEX*16",
        false => "DOUBLE PRECISION",
    };
    let body = match complex {
        true => body.replace("CALL TWICE", "CALL TWICEC"),
        false => body.to_owned(),
    };
    format!(
        "      SUBROUTINE {name}(X, W, Y, N, M)
      IMPLICIT {ty} (A-H, O-Z)
      DIMENSION V(6)
      EQUIVALENCE (E, F)
      DO 1 I = 1, 6
    1 V(I) = I
      C = W
      R = 1
      S = 2
      T = X
      Y = X + W{body}
      Y = R + S*T
      END
"
    )
}

const TWICE: &str = "      SUBROUTINE TWICE(A)
      DOUBLE PRECISION A
      A = A*A*0.5D0 + 1
      END
      SUBROUTINE TWICEC(A)
      COMPLEX*16 A
      A = A*A*0.5D0 + 1
      END
";

/// Tangents in one direction and in several, and second ones, agree with the complex step. The rule is
/// applied only where it holds.
#[test]
fn agree_with_the_complex_step() {
    let mut source = String::from(
        "      PROGRAM MAIN
      DOUBLE PRECISION X, W, Y, D, D2, G, B(2), E(2), S(2), H
      COMPLEX*16 CX, CW, CY
      H = 1D-60
      S(1) = 1
      S(2) = -0.5D0
      X = 0.7D0
      W = 1.3D0
      CX = DCMPLX(X, H)
      CW = W
",
    );
    for i in 0..STRETCHES.len() {
        source += &format!(
            "      ADF(TANGENT(X) = 1)
      CALL F{i}(X, W, Y, 6, 0)
      END ADF(D = TANGENT(Y))
      ADF((TANGENT(X) = S(K), K = 1, 2))
      CALL F{i}(X, W, Y, 6, 0)
      END ADF((B(K) = TANGENT(Y), K = 1, 2))
      ADR(COTANGENT(Y) = 1)
      CALL F{i}(X, W, Y, 6, 0)
      END ADR(G = COTANGENT(X))
      CALL C{i}(CX, CW, CY, 6, 0)
      E(1) = DIMAG(CY)/H
      E(2) = -0.5D0*E(1)
      PRINT '(A, 2E25.16)', 'L{i}', D, E(1)
      PRINT '(A, 2E25.16)', 'A{i}', G, E(1)
      PRINT '(A, 2E25.16)', 'V{i}', B(2), E(2)
"
        );
    }
    source += "      END\n";
    source += TWICE;
    for (i, body) in STRETCHES.iter().enumerate() {
        source += &subroutine(&format!("F{i}"), false, body);
        source += &subroutine(&format!("C{i}"), true, body);
    }
    let fortran = check(&source, 1e-12);
    let out = run(&fortran, FAST);
    assert_eq!(out.lines().count(), 3 * STRETCHES.len());
    let mut texts = String::new();
    for i in 0..STRETCHES.len() {
        let of = format!("C Tangent of F{i}:");
        let unit = fortran
            .split_once(&of)
            .unwrap_or_else(|| panic!("no tangent of F{i}"));
        let text = unit.1.split("\n      END\n").next().unwrap_or_default();
        let from = text.find("      C = W").unwrap_or_default();
        texts += &format!("F{i}\n{}\n\n", &text[from..]);
    }
    insta::assert_snapshot!(texts);
}
