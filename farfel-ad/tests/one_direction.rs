//! Loops whose tangents are all multiples of one, which are multiplied by it once.

mod support;

use support::{FAST, check, run};

/// A loop between `C = W` and `Y = R + S*T`; and which variables are differentiated without the
/// tangent in it. X varies, N is 6, M is 0.
const LOOPS: &[(&str, &[&str])] = &[
    // A polynomial, and a series.
    (
        "
      S = 0
      DO 10 I = 1, N
   10 S = S*X + C/I",
        &["S_BY_X"],
    ),
    (
        "
      R = X
      S = X
      DO I = 1, N
        R = R*X/(I + 0.5D0)
        S = S + R
      END DO",
        &["R_BY_X", "S_BY_X"],
    ),
    // From a value that varies, and with one that is assigned before each loop.
    (
        "
      Z = SIN(X)
      R = Z*W
      S = R
      DO I = 1, N
        R = -R*Z*C
        S = S - R/I
      END DO",
        &["R_BY_Z", "S_BY_Z"],
    ),
    (
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
        &["R_BY_Z"],
    ),
    // No iteration at all.
    (
        "
      S = X*W
      R = S
      DO I = 1, M
        S = S*X
        R = R + S
      END DO",
        &["S_BY_X", "R_BY_X"],
    ),
    // Zero on both ways to the loop, and on one way only.
    (
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
        &["S_BY_X"],
    ),
    (
        "
      S = 2
      IF (DBLE(W) .LT. 1) THEN
        S = X*X
      END IF
      DO I = 1, N
        S = S*X + C
      END DO",
        &[],
    ),
    // Ways out of the loop: to what follows, by EXIT, and elsewhere.
    (
        "
      S = 0
      R = 1
      DO 10 I = 1, N
        R = R*X
        IF (I .EQ. 4) GOTO 20
   10 S = S + R
   20 T = T + S",
        &["R_BY_X", "S_BY_X"],
    ),
    (
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
        &["R_BY_X", "S_BY_X"],
    ),
    (
        "
      IF (DBLE(W) .LT. -1) GOTO 20
      S = 0
      R = 1
      DO 10 I = 1, N
        R = R*X
        IF (I .EQ. 4) GOTO 20
   10 S = S + R
   20 T = T + S",
        &[],
    ),
    (
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
        &[],
    ),
    (
        "
      S = 0
      DO 10 I = 1, N
        S = S*X + C
        IF (I .EQ. 4) RETURN
   10 CONTINUE",
        &["S_BY_X"],
    ),
    (
        "
      Y = 0
      DO 10 I = 1, N
        Y = Y*X + C
        IF (I .EQ. 4) RETURN
   10 CONTINUE",
        &[],
    ),
    // Loops in loops, with one last statement, and a jump to the end of the outer one.
    (
        "
      S = 0
      DO 10 J = 1, 3
      DO 10 I = 1, J
   10 S = S*X + I",
        &["S_BY_X"],
    ),
    (
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
        &["S_BY_Z"],
    ),
    (
        "
      T = 0
      DO 10 J = 1, 3
      Z = X + J
      S = 0
      DO 10 I = 1, N
        S = S*Z + C
   10 V(I) = S",
        &["S_BY_Z"],
    ),
    // Branches, DO WHILE, and a loop without end.
    (
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
        &["R_BY_X", "S_BY_X"],
    ),
    (
        "
      S = 1
      I = 0
      DO
        S = S*X + X
        I = I + 1
        IF (I .GT. N) EXIT
      END DO
      R = S",
        &["S_BY_X"],
    ),
    // Others in the loop: an array, what was there before, another variable, a call.
    (
        "
      S = 0
      DO I = 1, N
        S = S*X + C*X*X
        S = S*X - C
        V(I) = S
      END DO
      R = V(3)*V(5)",
        &["S_BY_X"],
    ),
    (
        "
      T = X*W
      S = X
      DO I = 1, N
        S = S*X*C + (S*X + X)*X
        T = T*S
      END DO",
        &["S_BY_X", "T_BY_X"],
    ),
    (
        "
      Z = X*X
      S = 0
      R = 0
      DO I = 1, N
        S = S*X + C
        R = R*Z + S
      END DO",
        &["R_BY_X", "S_BY_X"],
    ),
    (
        "
      S = 0
      DO I = 1, N
        S = S*X + C
        CALL TWICE(S)
      END DO",
        &[],
    ),
    (
        "
      S = 0
      Z = X
      DO I = 1, N
        S = S*Z + C
        CALL TWICE(Z)
      END DO",
        &[],
    ),
    (
        "
      S = X*W
      CALL TWICE(S)
      DO I = 1, N
        S = S*X + C
      END DO",
        &[],
    ),
    // The loop begins at a label, and the value does not hold when it begins.
    (
        "
      K = 0
      S = 0
   10 DO 20 I = 1, N
   20 S = S*X + C
      K = K + 1
      IF (K .LT. 3) GOTO 10",
        &[],
    ),
    (
        "
      Z = W*X
      S = Z*C
      C = 3
      DO I = 1, N
        S = S*X + C
      END DO",
        &[],
    ),
    // In storage with two names.
    (
        "
      E = 0
      DO I = 1, N
        E = E*X + C
      END DO
      S = F*X",
        &[],
    ),
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

/// Tangents in one direction and in several, and second ones, are those of the complex step; the
/// rule is applied where it holds only.
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
    for i in 0..LOOPS.len() {
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
    for (i, (body, _)) in LOOPS.iter().enumerate() {
        source += &subroutine(&format!("F{i}"), false, body);
        source += &subroutine(&format!("C{i}"), true, body);
    }
    let fortran = check(&source, 1e-12);
    let out = run(&fortran, FAST);
    assert_eq!(out.lines().count(), 3 * LOOPS.len());
    for (i, (body, by)) in LOOPS.iter().enumerate() {
        let mut units = fortran.split("Tangent of ");
        let unit = units
            .find(|u| u.starts_with(&format!("F{i}:")))
            .unwrap_or_else(|| panic!("no tangent of F{i}"));
        let text = unit.split("\n      END\n").next().unwrap_or_default();
        let found: Vec<&str> = ["R", "S", "T", "Y", "E"]
            .into_iter()
            .flat_map(|v| ["X", "Z"].map(|by| (v, by)))
            .filter(|(v, by)| text.contains(&format!("{v}_BY_{by}")))
            .map(|(v, _)| v)
            .collect();
        let mut wanted: Vec<&str> = by.iter().filter_map(|b| b.split("_BY").next()).collect();
        wanted.sort_unstable();
        assert_eq!(found, wanted, "{body}\n{text}");
    }
}
