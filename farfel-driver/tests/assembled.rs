//! The final text of libraries, which gfortran compiles.

use farfel_driver::{Config, ExpandStage, Session};
use std::fs;
use std::process::Command;

/// Returns the final text of a library, and checks that gfortran accepts it.
#[track_caller]
fn check(source: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.f");
    fs::write(&file, source).unwrap();
    let config = Config {
        root: dir.path().to_owned(),
        name: "demo".into(),
        version: "1.0.0".into(),
        ..Config::default()
    };
    let text = match Session::of_files(&[file], &config).and_then(|s| s.expand(ExpandStage::Final))
    {
        Ok((text, _)) => text,
        Err(e) => panic!("{e}"),
    };
    assert!(text.lines().all(|l| l.len() <= 72), "{text}");
    fs::write(dir.path().join("final.f"), &text).unwrap();
    let output = Command::new("gfortran")
        .args(["-std=legacy", "-c", "final.f"])
        .current_dir(dir.path())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

/// Returns the part between CONTAINS and the border.
fn inside(text: &str) -> &str {
    // A module with the functions that checks call may precede it.
    let text = text.split_once("      PRIVATE\n").unwrap().1;
    let text = text.split_once("      CONTAINS\n").unwrap().1;
    text.split_once("      SUBROUTINE FARFEL_EXPORT").unwrap().0
}

#[test]
fn a_whole_library() {
    insta::assert_snapshot!(check("\
C     Norm.
      DOUBLE PRECISION FUNCTION NORM(N, X)
      DOUBLE PRECISION X(N), DOT
      EXTERNAL DOT
      COMMON /LIMITS/ XMAX
      SAVE /LIMITS/
      NORM = SQRT(DOT(N, X, X))
      IF (NORM .GT. XMAX) STOP 'TOO LARGE'
      END
      DOUBLE PRECISION FUNCTION DOT(N, X, Y)
      DOUBLE PRECISION X(N), Y(N)
      DOT = 0
      DO 10 I = 1, N
   10 DOT = DOT + X(I)*Y(I)
      END
      BLOCK DATA
      COMMON /LIMITS/ XMAX
      DATA XMAX /1E6/
      END
"), @r"
          MODULE FARFEL_DEMO_1_0_0_0_FARFEL_DEMO_1_0_0
          CONTAINS
          INTEGER*8 FUNCTION FARFEL_AT1(I1, L, N, WHAT)
          INTEGER*8, VALUE :: I1, L, N
          CHARACTER(LEN=*) :: WHAT
          IF (BGE(I1 - L, N)) CALL FARFEL_BOUNDS_V1(1, 1, [I1], I1 - L + 1,
         +N, WHAT)
          FARFEL_AT1 = I1
          END FUNCTION
          END MODULE

          MODULE FARFEL_DEMO_1_0_0
          USE FARFEL_DEMO_1_0_0_0_FARFEL_DEMO_1_0_0
          PRIVATE
          PUBLIC FARFEL_EXPORT_NORM
          PUBLIC FARFEL_EXPORT_DOT
          CONTAINS

    C     Norm.
          DOUBLE PRECISION FUNCTION NORM(N, X, X_N)
          DOUBLE PRECISION X(N)
          COMMON /FARFEL_DEMO_1_0_0_1LIMITS/ XMAX
          SAVE /FARFEL_DEMO_1_0_0_1LIMITS/
          INTEGER*8 X_N
          NORM = SQRT(DOT(N, X, X, X_N, X_N))
          IF (NORM .GT. XMAX) CALL FARFEL_END_V1(1, 0, 'TOO LARGE', 'a.f:8')
          END

          DOUBLE PRECISION FUNCTION DOT(N, X, Y, X_N, Y_N)
          DOUBLE PRECISION X(N), Y(N)
          INTEGER*8 X_N, Y_N, FARFEL_V, I_W
          DOT = 0
          FARFEL_V = 0_8 + N
          IF (X_N - FARFEL_V .GE. 0_8 .AND. Y_N - FARFEL_V .GE. 0_8) THEN
            DO I_W = 1_8, FARFEL_V
              I = I_W
       10     DOT = DOT + X(I_W)*Y(I_W)
            END DO
            I = I_W
          ELSE
            DO I = 1, N
       11     DOT = DOT + X(FARFEL_AT1(0_8 + I, 1_8, X_N, 'X(I) at a.f:14'))
         +        *Y(FARFEL_AT1(0_8 + I, 1_8, Y_N, 'Y(I) at a.f:14'))
            END DO
          END IF
          END
          SUBROUTINE FARFEL_EXPORT_NORM(FARFEL_1, FARFEL_2, FARFEL_3,
         +FARFEL_RESULT) BIND(C, NAME='farfel_demo_1_0_0__norm')
          IMPLICIT NONE
          INTEGER FARFEL_1
          DOUBLE PRECISION FARFEL_2(*)
          INTEGER*8 FARFEL_3
          DOUBLE PRECISION FARFEL_RESULT
          FARFEL_RESULT = NORM(FARFEL_1, FARFEL_2, FARFEL_3)
          END SUBROUTINE
          SUBROUTINE FARFEL_EXPORT_DOT(FARFEL_1, FARFEL_2, FARFEL_3,
         +FARFEL_4, FARFEL_5, FARFEL_RESULT) BIND(C,
         +NAME='farfel_demo_1_0_0__dot')
          IMPLICIT NONE
          INTEGER FARFEL_1
          DOUBLE PRECISION FARFEL_2(*)
          DOUBLE PRECISION FARFEL_3(*)
          INTEGER*8 FARFEL_4
          INTEGER*8 FARFEL_5
          DOUBLE PRECISION FARFEL_RESULT
          FARFEL_RESULT = DOT(FARFEL_1, FARFEL_2, FARFEL_3, FARFEL_4,
         +FARFEL_5)
          END SUBROUTINE
          END MODULE

          BLOCK DATA FARFEL_DEMO_1_0_0_
          COMMON /FARFEL_DEMO_1_0_0_1LIMITS/ XMAX
          DATA XMAX /1E6/
          END
");
}

#[test]
fn names_mean_what_they_meant() {
    // Each variable, statement function and intrinsic has the name of a subprogram.
    let text = check(
        "\
C
      SUBROUTINE A(X)
      DIMENSION C(3)
      D(Y) = Y + 1
      B = 1
      C(1) = MAX(B, X)
      X = D(X) + C(1)
      END
      SUBROUTINE B(X)
      X = MIN(X, 1.0)
      END
      SUBROUTINE C(X, A)
      X = A
      END
      REAL FUNCTION D(X)
      D = X
      END
      SUBROUTINE E
      COMMON /A/ A, B
      PARAMETER (C = 2.0)
      A = C
      END
",
    );
    let first = inside(&text).split("      END\n").next().unwrap();
    assert!(first.contains("      REAL D, B\n"), "{first}");
    assert!(
        text.contains("COMMON /FARFEL_DEMO_1_0_0_1A/ A, B"),
        "{text}"
    );
}

#[test]
fn entries_recursion_and_unknown_procedures() {
    let text = check(
        "\
C
      SUBROUTINE SET(X)
      SAVE Y
      Y = X
      RETURN
      ENTRY GET(X)
      X = Y
      END
      SUBROUTINE USE(X)
      EXTERNAL GET, ELSEWH, FARAWY
      CALL SET(1.0)
      CALL GET(X)
      CALL ELSEWH(X)
      X = X + FARAWY(X)
      END
      SUBROUTINE PASS(X)
      EXTERNAL FARAWY, USE, ELSEWH
      CALL ELSEWH(FARAWY)
      CALL ELSEWH(USE)
      END
",
    );
    assert!(
        !text.contains("EXTERNAL GET") && !text.contains("EXTERNAL USE"),
        "{text}"
    );
    assert!(!text.contains(", USE\n"), "{text}");
    assert!(text.contains("EXTERNAL FARAWY"), "{text}");
}

#[test]
fn what_is_called_wrongly_stays_external() {
    let text = check(
        "\
C
      SUBROUTINE A(X)
      REAL X(3)
      CALL B(X)
      CALL GOOD(X)
      END
      SUBROUTINE B(X)
      X = ICOUNT(X) + HALF(X)
      END
      INTEGER FUNCTION ICOUNT(X)
      ICOUNT = X
      END
      FUNCTION HALF(X)
      HALF = X/2
      END
      SUBROUTINE GOOD(X)
      REAL X(*)
      X(1) = 0
      END
      BLOCK DATA INIT
      COMMON /C/ I
      DATA I /1/
      END
      SUBROUTINE LAST
      EXTERNAL INIT
      COMMON /C/ I
      I = 2
      END
",
    );
    let (module, after) = text.rsplit_once("      END MODULE\n").unwrap();
    for unit in [
        "SUBROUTINE A(X, X_N)",
        "SUBROUTINE GOOD(X, X_N)",
        "SUBROUTINE LAST",
    ] {
        assert!(module.contains(unit), "{text}");
    }
    for unit in [
        "SUBROUTINE FARFEL_DEMO_1_0_0_B(X)",
        "FUNCTION FARFEL_DEMO_1_0_0_ICOUNT(X)",
        "BLOCK DATA FARFEL_DEMO_1_0_0_INIT",
    ] {
        assert!(after.contains(unit), "{text}");
    }
    // Implicit types are those of the old names.
    assert!(after.contains("REAL FARFEL_DEMO_1_0_0_HALF"), "{text}");
    assert!(!text.contains("EXTERNAL INIT"), "{text}");
}
