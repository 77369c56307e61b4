//! Adjoints of fixed-point loops by `farfel tapenade`: where Tapenade's directive says by how much changes must be reduced, the
//! function ADFIXEDPOINT_NOTREDUCED decides when they end, as in adjoints by Tapenade.

use farfel_tests::tapenade::tapenade;
use farfel_tests::{farfel, sandbox, write};
use std::path::Path;
use std::process::Command;

/// Decides as the function in Tapenade's library does, and prints what it is asked.
const DECIDES: &str = "      INTEGER FUNCTION ADFIXEDPOINT_NOTREDUCED(C, R)
      DOUBLE PRECISION C, FIRST
      REAL R
      SAVE FIRST
      ADFIXEDPOINT_NOTREDUCED = 1
      IF (C .LT. 0) THEN
        FIRST = -1
      ELSE IF (FIRST .LT. 0) THEN
        FIRST = C
        IF (C .LE. 1D-10) ADFIXEDPOINT_NOTREDUCED = 0
      ELSE IF (C .LE. R*FIRST) THEN
        ADFIXEDPOINT_NOTREDUCED = 0
      END IF
      END
";

/// The gradient by the adjoint and by differences.
const MAIN: &str = "      PROGRAM MAIN
      DOUBLE PRECISION X(3), XB(3), Y, YB, YP, YM
      DO I = 1, 3
        XB(I) = 0
        X(I) = 0.2D0*I
      END DO
      YB = 1
      CALL HEAD_B(X, XB, Y, YB)
      DO I = 1, 3
        X(I) = X(I) + 1D-5
        CALL HEAD(X, YP)
        X(I) = X(I) - 2D-5
        CALL HEAD(X, YM)
        X(I) = X(I) + 1D-5
        PRINT *, XB(I), (YP - YM)/2D-5
      END DO
      END
";

/// Compiles files and returns the numbers that the program prints.
fn printed(dir: &Path, files: &[&str]) -> Vec<f64> {
    let mut gfortran = Command::new("gfortran");
    gfortran
        .current_dir(dir)
        .args(["-O1", "-fcheck=bounds", "-w"]);
    let made = gfortran.args(files).output().unwrap();
    let errors = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "{errors}");
    let run = Command::new("./a.out").current_dir(dir).output().unwrap();
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{errors}");
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    (text.split_whitespace().map(|n| n.parse().unwrap())).collect()
}

/// The text of the adjoint of HEAD; its gradient is that of differences.
#[track_caller]
fn adjoint(source: &str) -> String {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "s.f", source);
    write(dir, "main.f", MAIN);
    write(dir, "decides.f", DECIDES);
    tapenade(dir, &["-b", "-head", "head(y)/(x)", "s.f"]).success();
    let numbers = printed(dir, &["main.f", "decides.f", "s.f", "s_b.f"]);
    for pair in numbers.chunks(2) {
        let [g, d] = [pair[0], pair[1]];
        assert!((g - d).abs() <= 1e-7 * (1.0 + d.abs()), "{numbers:?}");
    }
    assert_eq!(numbers.len(), 6);
    std::fs::read_to_string(dir.join("s_b.f")).unwrap()
}

/// Prints the gradient of [`LINEAR`].
const LINEAR_MAIN: &str = "      REAL*8 A, X, XB, Z, ZB
      A = 0.5D0
      X = 0.5D0
      Z = 0.3D0
      XB = 0
      ZB = 1
      CALL HEAD_B(A, X, XB, Z, ZB)
      PRINT *, XB, ZB
      END
";

const FUNCTION: &str = "= ADFIXEDPOINT_NOTREDUCED(";

/// The function gets the sum of the squares of the changes, and the factor. When it says that this is enough, the last values
/// of the cotangents still contribute to the others.
#[test]
fn the_function_decides_when_the_adjoint_ends() {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "s.f", LINEAR);
    write(
        dir,
        "main.f",
        "      PROGRAM MAIN
      DOUBLE PRECISION X, XB, Z, ZB
      X = 0.5D0
      Z = 0.3D0
      XB = 0
      ZB = 1
      CALL HEAD_B(0.5D0, X, XB, Z, ZB)
      PRINT *, XB, ZB
      END
      INTEGER FUNCTION ADFIXEDPOINT_NOTREDUCED(C, R)
      DOUBLE PRECISION C
      REAL R
      INTEGER K
      SAVE K
      DATA K /0/
      K = K + 1
      PRINT *, C, NINT(1/R)
      ADFIXEDPOINT_NOTREDUCED = MAX(0, 4 - K)
      END
",
    );
    tapenade(dir, &["-b", "-head", "head(z)/(x z)", "s.f"]).success();
    let messages = std::fs::read_to_string(dir.join("s_b.msg")).unwrap();
    assert!(
        messages.contains("(AD09) function adfixedpoint_notreduced is in adFixedPoint.c"),
        "{messages}"
    );
    let numbers = printed(dir, &["main.f", "s.f", "s_b.f"]);
    let factor = 1e6;
    // 1 + A + A**2 + A**3, and nothing for the first Z.
    let expected = [
        -1.0, factor, 0.25, factor, 0.0625, factor, 0.015625, factor, 1.875, 0.0,
    ];
    assert_eq!(numbers, expected);
}

/// Iterates Z = A*Z + X.
const LINEAR: &str = "      SUBROUTINE HEAD(A, X, Z)
      REAL*8 A, X, Z, OLD
      OLD = Z + 1
!$AD FP-LOOP \"Z\" adj_reduction=1.e-6
      DO WHILE (ABS(Z - OLD) .GT. 1D-15)
        OLD = Z
        Z = A*Z + X
      END DO
      END
";

/// The function may be in C, where its arguments have the sizes of Tapenade's library, whatever the sizes of REAL and INTEGER are.
#[test]
fn the_function_may_be_in_c() {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "s.f", LINEAR);
    write(dir, "main.f", LINEAR_MAIN);
    write(
        dir,
        "decides.c",
        "#include <stdio.h>
#include <stdlib.h>
static int asked;
int adfixedpoint_notreduced_(double *changes, float *factor) {
  if (asked++ == 20) {
    fprintf(stderr, \"%g %g\\n\", *changes, *factor);
    exit(1);
  }
  return *changes < 0 || *changes > 1e-4 * (*factor * 1e6);
}
",
    );
    for sizes in [&[][..], &["-r8"], &["-i8"], &["-r8", "-i8"]] {
        let mut options = sizes.to_vec();
        options.extend(["-b", "-head", "head(z)/(x z)", "s.f"]);
        tapenade(dir, &options).success();
        let mut files = vec!["main.f", "decides.c", "s.f", "s_b.f"];
        if sizes.contains(&"-r8") {
            files.push("-fdefault-real-8");
        }
        if sizes.contains(&"-i8") {
            files.push("-fdefault-integer-8");
        }
        // The sum of A**K up to A**7, whose square is less than 1E-4, and nothing for the first Z.
        assert_eq!(printed(dir, &files), [1.9921875, 0.0], "{sizes:?}");
    }
}

/// There is nothing to link if the function is among the sources. It may declare the factor with another size, and with `-r8`
/// REAL is another one itself.
#[test]
fn a_function_among_the_sources_is_called() {
    for (size, factor, passed) in [
        (None, "REAL R", "1.E-6"),
        (None, "REAL*4 R", "1.E-6"),
        (None, "DOUBLE PRECISION R", "1.D-6"),
        (Some("-r8"), "REAL R", "1.E-6"),
        (Some("-r8"), "REAL*8 R", "1.E-6"),
        (Some("-r8"), "REAL*4 R", "1.E-6_4"),
        (Some("-r8"), "DOUBLE PRECISION R", "1.D-6"),
    ] {
        let dir = sandbox();
        let dir = dir.path();
        write(dir, "s.f", LINEAR);
        write(dir, "decides.f", DECIDES.replace("REAL R", factor));
        write(dir, "main.f", LINEAR_MAIN);
        let line = ["-b", "-head", "head(z)/(x z)", "s.f", "decides.f"];
        let line: Vec<&str> = size.into_iter().chain(line).collect();
        tapenade(dir, &line).success();
        let messages = std::fs::read_to_string(dir.join("s_b.msg")).unwrap_or_default();
        assert!(!messages.contains("AD09"), "{messages}");
        let made = std::fs::read_to_string(dir.join("s_b.f")).unwrap();
        let call = format!("{FUNCTION}CUMUL, {passed})");
        assert!(made.contains(&call), "{made}");
        let sizes = ["-fdefault-real-8", "-fdefault-double-8"];
        let sizes = sizes.iter().filter(|_| size.is_some()).copied();
        let files: Vec<&str> = ["main.f", "decides.f", "s.f", "s_b.f"]
            .into_iter()
            .chain(sizes)
            .collect();
        // The sum of A**K up to A**11.
        let found = printed(dir, &files);
        assert_eq!(found, [1.99951171875, 0.0], "{size:?} {factor}");
    }
}

/// All kinds of variables may be in the loop, named in the directive or not.
#[test]
fn gradients_are_those_of_differences() {
    let declared = "      SUBROUTINE HEAD(X, Y)
      DOUBLE PRECISION X(3), Y, Z(0:4), U(3), V(3), T, ERR, OLD
      COMMON /C/ U, V
      DO I = 0, 4
        Z(I) = 0
      END DO
      DO I = 1, 3
        U(I) = 0
        V(I) = X(I)
      END DO
      T = 0
      ERR = 1
      OLD = 0
";
    let step = "      DO I = 1, 3
          OLD = U(I)
          U(I) = 0.5D0*SIN(U(I)) + X(I)*U(MOD(I, 3) + 1)*0.25D0 + X(I)
          ERR = MAX(ERR, ABS(U(I) - OLD))
        END DO
";
    let named = |list: &str| {
        format!(
            "!$AD FP-LOOP \"{list}\" adj_reduction=1.e-22\n      DO WHILE (ERR .GT. 1D-14)\n        ERR = 0\n"
        )
    };
    let end = "      END DO\n";
    for (what, body) in [
        (
            "one array",
            format!("{}{step}{end}      Y = U(1) + 2*U(2)*U(3)\n", named("U")),
        ),
        (
            "elements that the loop reads and keeps",
            format!(
                "      Z(0) = X(1)*X(2)
      Z(4) = SIN(X(3))
{}        DO I = 1, 3
          OLD = Z(I)
          Z(I) = 0.45D0*(Z(I - 1) + Z(I + 1))
          ERR = MAX(ERR, ABS(Z(I) - OLD))
        END DO
{end}      Y = Z(2)**2 + Z(0)*Z(4)\n",
                named("Z")
            ),
        ),
        (
            "a variable that is not named",
            format!(
                "{}        DO I = 1, 3
          V(I) = 0.3D0*COS(V(I)*X(I)) + 0.2D0*U(I)
          OLD = U(I)
          U(I) = 0.5D0*SIN(U(I)) + X(I)*V(MOD(I, 3) + 1)*0.25D0 + X(I)
          ERR = MAX(ERR, ABS(U(I) - OLD))
        END DO
{end}      Y = U(1)*V(3) + U(2)*V(1)\n",
                named("U")
            ),
        ),
        (
            "a value of the last iteration",
            format!(
                "{}{step}        T = SIN(U(1))*U(2)\n{end}      Y = T*T + U(3)\n",
                named("U")
            ),
        ),
        (
            "a value from before that the loop changes in part",
            format!(
                "{}{step}        V(2) = U(1)*X(1)\n{end}      Y = V(1)*V(2) + V(3)\n",
                named("U, V")
            ),
        ),
        (
            "an array that is not named, and of which the loop changes a part",
            format!(
                "{}{step}        V(2) = 0.3D0*COS(V(2)*X(1)) + 0.2D0*U(1)
        ERR = MAX(ERR, ABS(V(2) - T))
        T = V(2)
{end}      Y = V(1)*V(2) + V(3) + U(3)\n",
                named("U")
            ),
        ),
        (
            "an iteration in a subroutine, with variables in COMMON",
            format!(
                "{}      CALL STEP(X, ERR)\n{end}      CALL LAST(Y)\n",
                named("U,V")
            ) + "      END
      SUBROUTINE STEP(X, ERR)
      DOUBLE PRECISION X(3), ERR, A(3), B(3), OLD
      COMMON /C/ A, B
      DO I = 1, 3
        OLD = A(I)
        A(I) = 0.4D0*SIN(A(I)) + X(I)*B(MOD(I, 3) + 1)*0.25D0 + X(I)
        B(I) = 0.3D0*A(MOD(I, 3) + 1)*X(I)
        ERR = MAX(ERR, ABS(A(I) - OLD))
      END DO
      END
      SUBROUTINE LAST(Y)
      DOUBLE PRECISION Y, A(3), B(3)
      COMMON /C/ A, B
      Y = A(1)*B(2) + B(3)
",
        ),
        (
            "time steps",
            format!(
                "      DO K = 1, 4
      ERR = 1
{}{step}{end}      DO I = 1, 3
        V(I) = V(I)*U(I) + 0.1D0*X(I)
        U(I) = 0.1D0*V(I)
      END DO
      END DO
      Y = V(1) + V(2)*V(3)\n",
                named("U")
            ),
        ),
        (
            "a loop that is left",
            format!(
                "!$AD FP-LOOP \"U\" adj_reduction=1.e-22
      DO K = 1, 500
        ERR = 0
{step}        IF (ERR .LT. 1D-14) EXIT
{end}      Y = U(1) + 2*U(2)*U(3)\n"
            ),
        ),
    ] {
        let made = adjoint(&format!("{declared}{body}      END\n"));
        assert!(made.contains(FUNCTION), "{what}: {made}");
    }
}

/// Where Tapenade's iteration is not possible, the adjoint ends by itself.
#[test]
fn other_adjoints_end_by_themselves() {
    for source in [
        // There is no factor.
        "      SUBROUTINE HEAD(X, Y)
      DOUBLE PRECISION X(3), Y, Z, OLD
      Z = 0
      OLD = 1
!$AD FP-LOOP \"Z\"
      DO WHILE (ABS(Z - OLD) .GT. 1D-15)
        OLD = Z
        Z = COS(Z*X(1))*X(2) + X(3)
      END DO
      Y = Z
      END
",
        // The size of the array whose derivative each iteration adds to is not known.
        "      SUBROUTINE HEAD(X, Y)
      DOUBLE PRECISION X(3), Y
      CALL SOLVE(X, Y)
      END
      SUBROUTINE SOLVE(X, Y)
      DOUBLE PRECISION X(*), Y, Z, OLD
      Z = 0
      OLD = 1
!$AD FP-LOOP \"Z\" adj_reduction=1.e-22
      DO WHILE (ABS(Z - OLD) .GT. 1D-15)
        OLD = Z
        Z = COS(Z*X(1))*X(2) + X(3)
      END DO
      Y = Z
      END
",
        // The variable has two names.
        "      SUBROUTINE HEAD(X, Y)
      DOUBLE PRECISION X(3), Y, Z, OLD, A
      EQUIVALENCE (Z, A)
      Z = 0
      OLD = 1
!$AD FP-LOOP \"Z\" adj_reduction=1.e-11
      DO WHILE (ABS(Z - OLD) .GT. 1D-15)
        OLD = A
        A = COS(Z*X(1))*X(2) + X(3)
      END DO
      Y = Z
      END
",
    ] {
        let made = adjoint(source);
        assert!(!made.contains(FUNCTION), "{made}");
    }
}

/// Programs of Farfel's own have no library of Tapenade's.
#[test]
fn blocks_do_not_call_the_function() {
    let dir = sandbox();
    write(
        dir.path(),
        "a.ff",
        "      PROGRAM MAIN
      DOUBLE PRECISION X, Z, OLD, G
      X = 0.7D0
      ADR(COTANGENT(Z) = 1)
      Z = 1
      OLD = 0
!$AD FP-LOOP \"Z\" adj_reduction=1.e-10
      DO WHILE (ABS(Z - OLD) .GT. 1D-13)
        OLD = Z
        Z = COS(Z*X)/2
      END DO
      END ADR(G = COTANGENT(X))
      PRINT *, G
      END
",
    );
    let made = farfel(dir.path())
        .args(["expand", "a.ff"])
        .assert()
        .success();
    let text = String::from_utf8_lossy(&made.get_output().stdout).into_owned();
    assert!(text.contains("1.D-10*LARGEST"), "{text}");
    assert!(!text.contains("ADFIXEDPOINT"), "{text}");
}
