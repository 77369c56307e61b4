//! Arrays that time steps overwrite before they read them: adjoints by `farfel tapenade` do not save them, as far as it is certain,
//! or turns out at run time, that all of an array is overwritten.

use farfel_tests::tapenade::tapenade;
use farfel_tests::{sandbox, write};
use std::process::Command;

/// What the steps of a model do.
struct Steps<'a> {
    /// In the subroutine PREPARE(ME, K), which each step calls first.
    prepare: &'a str,
    /// In the subroutine STEP, before that call.
    before: &'a str,
    /// In the loop over the steps.
    outside: &'a str,
}

/// Clears and fills the tiles that belong to ME.
const TILES: &str = "      DO J = FIRST(ME), LAST(ME)
        DO I = 1, M
          T(I, J) = 0
        END DO
        CALL FILL(J)
      END DO
";

const NORMAL: Steps = Steps {
    prepare: TILES,
    before: "",
    outside: "",
};

const DECLARED: &str = "      IMPLICIT NONE
      INTEGER N, M, I, J, K, L, ME
      PARAMETER (N = 80000, M = 20000)
      DOUBLE PRECISION U(N), T(M, 4)
      INTEGER FIRST(3), LAST(3)
      COMMON /STATE/ U
      COMMON /WORK/ T
      COMMON /TILES/ FIRST, LAST
";

/// A model with 120 steps that would record more than 256 MB. Steps read T, and change its last tile at their end.
fn model(steps: &Steps) -> String {
    let Steps {
        prepare,
        before,
        outside,
    } = steps;
    format!(
        "      SUBROUTINE MODEL(X, Y)
{DECLARED}      DOUBLE PRECISION X(2), Y
      DO I = 1, N
        U(I) = X(1)*I/N
      END DO
      DO J = 1, 4
        DO I = 1, M
          T(I, J) = 0.5D0*X(2)
        END DO
      END DO
      DO K = 1, 120
{outside}        CALL STEP(X(2), K)
      END DO
      Y = 0
      DO I = 1, N
        Y = Y + U(I)*U(I)
      END DO
      END
      SUBROUTINE STEP(A, K)
{DECLARED}      DOUBLE PRECISION A, W(N), P(N)
{before}      CALL PREPARE(2, K)
      DO I = 1, N
        J = (I - 1)/M + 1
        P(I) = T(I - (J - 1)*M, J)*A
        W(I) = P(I)*P(I)
        P(I) = 1 + W(I)*P(I)*1D-2
        W(I) = 1/P(I)
        P(I) = W(I)*W(I)*0.9999D0
      END DO
      DO I = 1, N
        U(I) = U(I)*P(I) + 1D-3*W(I)
      END DO
      DO I = 1, M
        T(I, 4) = T(I, 4) + 0.05D0*U(I)
      END DO
      END
      SUBROUTINE PREPARE(ME, K)
{DECLARED}{prepare}      END
      SUBROUTINE FILL(J)
{DECLARED}      DO I = 1, M
        T(I, J) = T(I, J) + 0.7D0*U(I)*U(I + (J - 1)*M)
      END DO
      END
"
    )
}

const MAIN: &str = "      PROGRAM MAIN
      DOUBLE PRECISION X(2), XB(2), Y, YB, YP, YM, H
      INTEGER FIRST(3), LAST(3), I
      COMMON /TILES/ FIRST, LAST
      X(1) = 0.9D0
      X(2) = 0.8D0
      YB = 1
      CALL SET
      CALL MODEL_B(X, XB, Y, YB)
      PRINT *, XB
      H = 1D-5
      DO 10 I = 1, 2
        X(I) = X(I) + H
        CALL SET
        CALL MODEL(X, YP)
        X(I) = X(I) - 2*H
        CALL SET
        CALL MODEL(X, YM)
        X(I) = X(I) + H
   10 PRINT *, (YP - YM)/(2*H)
      END
      SUBROUTINE SET
      INTEGER FIRST(3), LAST(3), I
      COMMON /TILES/ FIRST, LAST
      DO 10 I = 1, 3
        FIRST(I) = 1
   10   LAST(I) = 4
      END
";

/// The text of the adjoint of the model; its gradient is that of differences.
#[track_caller]
fn adjoint(steps: &Steps) -> String {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "s.f", model(steps));
    write(dir, "main.f", MAIN);
    tapenade(dir, &["-b", "-head", "model(y)/(x)", "s.f"]).success();
    let mut gfortran = Command::new("gfortran");
    gfortran.current_dir(dir).args(["-O1", "-fcheck=bounds"]);
    let made = gfortran.args(["main.f", "s.f", "s_b.f"]).output().unwrap();
    let errors = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "{errors}");
    let run = Command::new("./a.out").current_dir(dir).output().unwrap();
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{errors}");
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    let numbers: Vec<f64> = (text.split_whitespace().map(|n| n.parse().unwrap())).collect();
    for (g, d) in numbers[..2].iter().zip(&numbers[2..]) {
        assert!((g - d).abs() <= 1e-6 * d.abs(), "{numbers:?}");
    }
    std::fs::read_to_string(dir.join("s_b.f")).unwrap()
}

const TEST: &str = "IF (.NOT. (FIRST(2) .LE. 1 .AND. LAST(2) .GE. 4)) THEN";
const SAVED: &str = "= T(1:M, II2)";

/// An array whose tiles are all cleared at the beginning of a step is saved only for steps that do not clear all of them.
#[test]
fn arrays_are_saved_where_not_all_tiles_are_overwritten() {
    for outside in [
        "",
        "        IF (K .EQ. 60) LAST(2) = 3\n",
        "        FIRST(2) = MOD(K, 3) + 1\n",
        "        LAST(2) = 3\n        IF (K .GE. 80) LAST(2) = 4\n",
    ] {
        let made = adjoint(&Steps { outside, ..NORMAL });
        assert!(made.contains(TEST), "{made}");
    }
}

/// With constant bounds, the array is never saved.
#[test]
fn arrays_that_are_certainly_overwritten_are_not_saved() {
    for prepare in [
        TILES.replace("FIRST(ME), LAST(ME)", "1, 4"),
        TILES.replace("FIRST(ME), LAST(ME)", "4, 1, -1"),
        "      IF (K .GT. 7) THEN\n        T = 1D-3*K\n      ELSE\n        CALL CLEAR(T, M)\n      END IF
      END
      SUBROUTINE CLEAR(A, L)
      INTEGER L
      DOUBLE PRECISION A(L, 4)
      INTEGER I, J
      DO J = 1, 4
        DO I = 1, L
          A(I, J) = 0.1D0
        END DO
      END DO
"
        .to_owned(),
    ] {
        let prepare = &prepare;
        let made = adjoint(&Steps { prepare, ..NORMAL });
        assert!(!made.contains(SAVED), "{made}");
    }
}

/// Nothing is left out where some elements keep the values that they have before a step, or may do so.
#[test]
fn arrays_are_saved_if_they_may_be_read_first() {
    let changed = |from: &str, to: &str| {
        assert!(TILES.contains(from));
        TILES.replace(from, to)
    };
    for prepare in [
        changed("DO I = 1, M", "DO I = 1, M - 1"),
        changed("DO I = 1, M", "DO I = 1, M, 2"),
        changed("FIRST(ME), LAST(ME)", "1, 4, 2"),
        changed("FIRST(ME), LAST(ME)", "2, 4"),
        changed("FIRST(ME), LAST(ME)", "1, 3"),
        changed("FIRST(ME), LAST(ME)", "1, MOD(K, 4) + 1"),
        changed("          T(I, J) = 0", "          IF (U(I) .GT. 0.3D0) T(I, J) = 0"),
        changed("          T(I, J) = 0", "          T(I, J) = T(I, J)*0.1D0"),
        changed("          T(I, J) = 0", "          T(I, J) = T(I, MOD(J, 4) + 1)*0.1D0"),
        changed("          T(I, J) = 0", "          T(I, I/(M/4 + 1) + 1) = 0"),
        format!("      IF (MOD(K, 3) .EQ. 0) RETURN\n{TILES}"),
        format!("      IF (MOD(K, 3) .NE. 0) THEN\n{TILES}      END IF\n"),
        // The tile that is filled is not the one that was cleared.
        changed("        CALL FILL(J)", "        CALL FILL(5 - J)"),
        changed("        CALL FILL(J)", "        L = 5 - J\n        CALL FILL(L)"),
        "      DO J = 1, 4\n        L = J\n        DO I = 1, M\n          T(I, L) = 0\n          L = 1\n        END DO\n      END DO\n".to_owned(),
    ] {
        let prepare = &prepare;
        let made = adjoint(&Steps { prepare, ..NORMAL });
        assert!(made.contains(SAVED), "{prepare}{made}");
        assert!(!made.contains(TEST), "{prepare}{made}");
    }
}

/// What the bounds of the loops are when a step begins does not matter if the step changes them first.
#[test]
fn bounds_that_change_before_the_loop_are_not_tested() {
    for before in [
        "      LAST(2) = MOD(K, 4) + 1\n",
        "      FIRST(2) = FIRST(3) + MOD(K, 2)\n",
        "      T(5, 2) = T(5, 2)*U(6)\n      U(7) = U(7) + T(5, 2)\n",
    ] {
        let made = adjoint(&Steps { before, ..NORMAL });
        assert!(made.contains(SAVED), "{before}{made}");
        assert!(!made.contains(TEST), "{before}{made}");
    }
    // In the subroutine with the loop.
    let prepare = &format!("      LAST(ME) = MOD(K, 4) + 1\n{TILES}");
    let made = adjoint(&Steps { prepare, ..NORMAL });
    assert!(made.contains(SAVED), "{made}");
    assert!(!made.contains(TEST), "{made}");
}

/// A loop that may have no iteration overwrites nothing, even if each iteration would overwrite all of an array.
#[test]
fn loops_without_iterations_overwrite_nothing() {
    let prepare = "      DO J = FIRST(ME), LAST(ME)\n        T = 1D-3*K + U(J)\n      END DO\n";
    let outside = "        LAST(2) = MOD(K, 2)\n";
    let made = adjoint(&Steps {
        prepare,
        outside,
        ..NORMAL
    });
    assert!(made.contains(SAVED), "{made}");
    assert!(!made.contains(TEST), "{made}");
}
