//! `farfel verify`, from outside.

use farfel_tests::{farfel, fixed, sandbox, write};
use snapbox::cmd::OutputAssert;

/// Blocks of all kinds: a correct one with output and COMMON, one with a wrong derivative (an IF on the value
/// of the variable, with a branch whose derivative is not that of the function), kinks, a domain boundary, a
/// jump, input, and one that is never reached.
const BLOCKS: &str = "\
PROGRAM MAIN
DOUBLE PRECISION X, Y, D, P(3), Z(3), G(3)
COMPLEX*16 C, CD
COMMON /COUNT/ N
N = 0
P(1) = 1
P(2) = 2
P(3) = -1
ADF(TANGENT(P) = 1D0)
CALL CURVE(P, Z)
END ADF((G(I) = TANGENT(Z(I)), I = 1, 3))
DO I = 1, 3
X = I
ADF(X)
IF (X .EQ. 2D0) THEN
Y = 4D0
ELSE
Y = X**2
END IF
END ADF(D = TANGENT(Y))
END DO
X = 0
ADF(X)
Y = ABS(X)
END ADF(D = TANGENT(Y))
ADF(X)
Y = SQRT(X)
END ADF(D = TANGENT(Y))
ADF(X)
Y = 1
IF (X .GT. 0) Y = 2 + X
END ADF(D = TANGENT(Y))
ADF(X)
READ *, Z(1)
Y = X*Z(1)
END ADF(D = TANGENT(Y))
C = (1D0, 2D0)
ADF(TANGENT(C) = (1D0, 0D0))
C = C*C + EXP(C)
END ADF(CD = TANGENT(C))
IF (Y .GT. 1D9) THEN
ADF(X)
Y = X
END ADF(D = TANGENT(Y))
END IF
PRINT *, 'CURVE RAN', N, ' TIMES'
END
SUBROUTINE CURVE(P, Z)
DOUBLE PRECISION P(3), Z(3)
COMMON /COUNT/ N
N = N + 1
WRITE (*, *) 'IN CURVE'
WRITE (9, *) 'IN CURVE'
IF (N .GT. 1) STOP 7
DO I = 1, 3
Z(I) = P(I)*P(1 + MOD(I, 3)) + COS(P(I))
END DO
END
";

fn stdout(output: &OutputAssert) -> String {
    String::from_utf8_lossy(&output.get_output().stdout).into_owned()
}

fn stderr(output: &OutputAssert) -> String {
    String::from_utf8_lossy(&output.get_output().stderr).into_owned()
}

/// Returns the verdict of each block, by its line.
fn verdicts(table: &str) -> Vec<(String, String)> {
    let rows = table.lines().skip(1).take_while(|l| !l.is_empty());
    let row = |l: &str| {
        let place = l.split_whitespace().next().unwrap_or_default();
        let line = place.rsplit(':').next().unwrap_or_default();
        let verdict = l.rsplit("  ").next().unwrap_or_default();
        (line.to_owned(), verdict.to_owned())
    };
    rows.map(row).collect()
}

#[test]
fn right_wrong_and_not_smooth_are_told_apart() {
    let dir = sandbox();
    write(dir.path(), "blocks.ff", fixed(BLOCKS));
    let output = farfel(dir.path())
        .args(["verify", "blocks.ff"])
        .stdin("2.0")
        .assert()
        .code(1);
    let table = stdout(&output);
    let expected = [
        ("9", "right"),
        ("14", "WRONG"),
        ("23", "not smooth"),
        ("26", "not smooth"),
        ("29", "not smooth"),
        ("33", "not checked"),
        ("38", "right"),
        ("42", "not run"),
    ];
    let expected: Vec<_> = expected.map(|(l, v)| (l.to_owned(), v.to_owned())).into();
    assert_eq!(verdicts(&table), expected, "{table}");
    for said in [
        "point 2 (X = 2), Y along the program's direction: the derivative is 0.000000e0, differences give 4.000000e0",
        "a kink: -1.000000e0 on one side, 1.000000e0 on the other",
        "the function ends here",
        "the function jumps",
        "it reads input (blocks.ff:34)",
    ] {
        assert!(table.contains(said), "no `{said}` in\n{table}");
    }
    // The program ran as if nothing had been checked.
    let said = stderr(&output);
    assert_eq!(said.matches("IN CURVE").count(), 1, "{said}");
    assert!(said.contains("CURVE RAN           1  TIMES"), "{said}");
    let unit = std::fs::read_to_string(dir.path().join("fort.9")).unwrap();
    assert_eq!(unit.matches("IN CURVE").count(), 1, "{unit}");
}

/// Several directions and patterns; those of SLOPE are wrong in the second column, because its function is
/// constant on the path that it takes at X(2) = 2, but not around it.
const COLUMNS: &str = "\
PROGRAM MAIN
PARAMETER (N = 3)
DOUBLE PRECISION X(N), F(2), A(2,N), Y, D(4)
COMPLEX*16 C, CD(2)
LOGICAL P(2,N), Q(2)
DO J = 1, N
X(J) = J
END DO
ADF(DIRECTIONS = N, (TANGENT(X(J), J) = 1D0, J = 1, N))
CALL CURVE(N, X, F)
END ADF(((A(I,J) = TANGENT(F(I), J), I = 1, 2), J = 1, N))
ADF(PATTERN = N, (TANGENT(X(J), J) = .TRUE., J = 1, N))
CALL CURVE(N, X, F)
END ADF(((P(I,J) = TANGENT(F(I), J), I = 1, 2), J = 1, N))
ADF(DIRECTIONS = N, (TANGENT(X(J), J) = 1D0, J = 1, N))
CALL SLOPE(N, X, F)
END ADF(((A(I,J) = TANGENT(F(I), J), I = 1, 2), J = 1, N))
ADF(PATTERN = N, (TANGENT(X(J), J) = .TRUE., J = 1, N))
CALL SLOPE(N, X, F)
END ADF(((P(I,J) = TANGENT(F(I), J), I = 1, 2), J = 1, N))
C = (1D0, 2D0)
ADF(DIRECTIONS = 2, (TANGENT(C, K) = (1D0, 3D0)*K, K = 1, 2))
C = C*C + EXP(C)
END ADF(CD(1) = TANGENT(C, 1), CD(2) = TANGENT(C, 2))
C = (1D0, 2D0)
ADF(PATTERN = 2, TANGENT(C,1) = .TRUE., TANGENT(X(1),2) = .TRUE.)
C = C*C*X(2)
F(1) = X(1)
END ADF(Q(1) = TANGENT(C, 1), Q(2) = TANGENT(F(1), 2))
Y = 2D0
ADF(DIRECTIONS = 4, (TANGENT(Y, K) = 1D0*K, K = 1, 4))
Y = Y**3
END ADF((D(K) = TANGENT(Y, K), K = 1, 4))
ADR(DIRECTIONS = 2, (COTANGENT(F(I), I) = 1D0*I, I = 1, 2))
CALL CURVE(N, X, F)
END ADR(((A(I,J) = COTANGENT(X(J), I), I = 1, 2), J = 1, N))
ADR(DIRECTIONS = 2, (COTANGENT(F(I), I) = 1D0, I = 1, 2))
CALL SLOPE(N, X, F)
END ADR(((A(I,J) = COTANGENT(X(J), I), I = 1, 2), J = 1, N))
ADR(DIRECTIONS = 9, (COTANGENT(C, K) = (1D0, 3D0)*K, K = 1, 9))
C = C*C + EXP(C)*Y
END ADR(CD(1) = COTANGENT(C, 9), D(1) = COTANGENT(Y, 4))
PRINT *, A, P, CD, Q, D
END
SUBROUTINE CURVE(N, X, F)
DOUBLE PRECISION X(N), F(2)
F(1) = X(1)*X(2)
F(2) = SIN(X(3)) + 0*X(1)
END
SUBROUTINE SLOPE(N, X, F)
DOUBLE PRECISION X(N), F(2)
F(1) = X(1)
IF (X(2) .EQ. 2D0) THEN
F(2) = 4D0*X(3)
ELSE
F(2) = X(2)**2*X(3)
END IF
END
";

#[test]
fn several_directions_and_patterns_are_checked_column_by_column() {
    let dir = sandbox();
    write(dir.path(), "columns.ff", fixed(COLUMNS));
    let output = farfel(dir.path())
        .args(["verify", "columns.ff"])
        .assert()
        .code(1);
    let table = stdout(&output);
    let expected = [
        ("9", "right"),
        ("12", "right"),
        ("15", "WRONG"),
        ("18", "WRONG"),
        ("22", "right"),
        ("26", "right"),
        ("31", "right"),
        ("34", "right"),
        ("37", "WRONG"),
        ("40", "right"),
    ];
    let expected: Vec<_> = expected.map(|(l, v)| (l.to_owned(), v.to_owned())).into();
    assert_eq!(verdicts(&table), expected, "{table}");
    for said in [
        "F along direction 2 of the program: the derivative is 0.000000e0, differences give",
        "the program's cotangents in direction 2: the derivative is",
        "F and column 2 of the pattern: by the pattern it does not depend on it, differences give",
    ] {
        assert!(table.contains(said), "no `{said}` in\n{table}");
    }
}

#[test]
fn derivatives_in_derivatives_are_checked_where_they_are_made() {
    let dir = sandbox();
    let program = "\
PROGRAM MAIN
DOUBLE PRECISION SECOND
PRINT *, SECOND(0.5D0)
END
DOUBLE PRECISION FUNCTION SECOND(X)
DOUBLE PRECISION X, Y, FIRST
ADF(X)
Y = FIRST(X)
END ADF(SECOND = TANGENT(Y))
END
DOUBLE PRECISION FUNCTION FIRST(X)
DOUBLE PRECISION X, Y
ADF(X)
Y = EXP(X*X)
END ADF(FIRST = TANGENT(Y))
END
";
    write(dir.path(), "nested.ff", fixed(program));
    let output = farfel(dir.path())
        .args(["verify", "nested.ff", "--points", "2", "--format", "json"])
        .assert()
        .success();
    let json = stdout(&output);
    assert_eq!(json.matches("\"verdict\": \"right\"").count(), 2, "{json}");
    // The inner one is checked while the outer one is.
    assert!(json.contains("\"block\": \"nested.ff:13\""), "{json}");
    assert_eq!(json.matches("\"points\": 0").count(), 0, "{json}");
}

#[test]
fn tests_of_a_project_without_rust_are_where_blocks_are_checked() {
    let dir = sandbox();
    let manifest = "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    write(dir.path(), "Cargo.toml", manifest);
    let slope = "\
FUNCTION SLOPE(X)
ADF(X)
Y = X**3
END ADF(SLOPE = TANGENT(Y))
END
";
    write(dir.path(), "src/slope.ff", fixed(slope));
    for (name, at) in [("one", "1.0"), ("two", "2.0")] {
        let test = format!("PROGRAM MAIN\nIF (SLOPE({at}) .LT. 0) STOP 1\nEND\n");
        write(dir.path(), &format!("tests/{name}.ff"), fixed(&test));
    }
    let output = farfel(dir.path()).arg("verify").assert().success();
    let table = stdout(&output);
    assert_eq!(table.matches("right").count(), 2, "{table}");
    // Single precision, for which finite differences are adjusted.
    let output = farfel(dir.path()).args(["verify", "--double"]).assert();
    let table = stdout(&output.success());
    assert_eq!(table.matches("right").count(), 2, "{table}");
}

#[test]
fn adjoints_are_checked_by_differences_and_by_their_tangents() {
    let dir = sandbox();
    let program = "\
PROGRAM MAIN
DOUBLE PRECISION X(3), Y(2), G(3), D
DO I = 1, 3
X(I) = I
END DO
ADR(COTANGENT(Y(1)) = 1)
Y(1) = X(1)*X(2) + SIN(X(3))
Y(2) = X(1)**2
DO I = 1, 3
Y(2) = Y(2)*X(I)
END DO
END ADR((G(I) = COTANGENT(X(I)), I = 1, 3))
ADR(Y(1))
IF (X(2) .EQ. 2D0) THEN
Y(1) = 4D0
ELSE
Y(1) = X(2)**2
END IF
END ADR(D = COTANGENT(X(2)))
PRINT *, G, D
END
";
    write(dir.path(), "adjoints.ff", fixed(program));
    let output = farfel(dir.path())
        .args(["verify", "adjoints.ff"])
        .assert()
        .code(1);
    let table = stdout(&output);
    let expected = [("6", "right"), ("13", "WRONG")];
    let expected: Vec<_> = expected.map(|(l, v)| (l.to_owned(), v.to_owned())).into();
    assert_eq!(verdicts(&table), expected, "{table}");
    assert!(table.contains("differences, dot product"), "{table}");
}

/// Finite differences vary the variables that a directive declares constant, so they do not check the
/// derivative. The tangent checks the adjoint.
#[test]
fn what_is_constant_by_a_directive_is_not_called_wrong() {
    let dir = sandbox();
    let program = "\
PROGRAM MAIN
DOUBLE PRECISION X, Y, D, T, G
!farfel: constant(TABLE)
X = 3
ADF(X)
CALL TABLE(X, T)
Y = X*T
END ADF(D = TANGENT(Y))
ADR(Y)
CALL TABLE(X, T)
Y = X*T
END ADR(G = COTANGENT(X))
ADF(X)
Y = X*X
END ADF(D = TANGENT(Y))
ADF(X)
CALL TABLE(3D0, T)
Y = X*T
END ADF(D = TANGENT(Y))
PRINT *, G
END
SUBROUTINE TABLE(X, T)
DOUBLE PRECISION X, T
T = X*X
END
";
    write(dir.path(), "constant.ff", fixed(program));
    let output = farfel(dir.path()).args(["verify", "constant.ff"]).assert();
    let table = stdout(&output);
    let expected = [
        ("5", "unclear"),
        ("9", "unclear"),
        ("13", "right"),
        ("16", "right"),
    ];
    let expected: Vec<_> = expected.map(|(l, v)| (l.to_owned(), v.to_owned())).into();
    assert_eq!(verdicts(&table), expected, "{table}");
    for said in [
        "the derivative is 9.000000e0, differences, which vary what is constant, give 2.700000e1",
        "by a directive or a setting, constant is TABLE (constant.ff:3)",
    ] {
        assert!(table.contains(said), "no `{said}` in\n{table}");
    }
}

/// A directive that gives only an adjoint: there is no tangent to compare it with, but differences.
#[test]
fn an_adjoint_without_a_tangent_is_checked_by_differences() {
    let program = "      PROGRAM MAIN
      DOUBLE PRECISION X, Y, G
      X = 1.3D0
      ADR(Y)
      CALL CURVE(X, Y)
      END ADR(G = COTANGENT(X))
      PRINT *, Y, G
      END
!farfel: derivative(adjoint = CURVEB, in = X, out = Y)
      SUBROUTINE CURVE(X, Y)
      DOUBLE PRECISION X, Y
      Y = X**3
      END
      SUBROUTINE CURVEB(X, XB, Y, YB)
      DOUBLE PRECISION X, XB, Y, YB
      XB = XB + 3*X**2*YB
      YB = 0
      END
";
    let dir = sandbox();
    write(dir.path(), "adjoint.ff", program);
    let output = farfel(dir.path()).args(["verify", "adjoint.ff"]).assert();
    let table = stdout(&output.success());
    let expected = vec![("4".to_owned(), "right".to_owned())];
    assert_eq!(verdicts(&table), expected, "{table}");
    write(
        dir.path(),
        "adjoint.ff",
        program.replace("3*X**2*YB", "2*X**2*YB"),
    );
    let output = farfel(dir.path()).args(["verify", "adjoint.ff"]).assert();
    let table = stdout(&output.failure());
    let expected = vec![("4".to_owned(), "WRONG".to_owned())];
    assert_eq!(verdicts(&table), expected, "{table}");
}
