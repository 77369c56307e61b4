//! The final text of libraries: what gfortran gets.

use farfel_driver::{Config, ExpandStage, Session};
use std::fs;
use std::process::Command;

/// The final text of a library, which gfortran accepts.
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

/// The part between CONTAINS and the border.
fn inside(text: &str) -> &str {
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
      MODULE FARFEL_DEMO_1_0_0
      PRIVATE
      PUBLIC FARFEL_EXPORT_NORM
      PUBLIC FARFEL_EXPORT_DOT
      CONTAINS

C     Norm.
      DOUBLE PRECISION FUNCTION NORM(N, X)
      DOUBLE PRECISION X(N)
      COMMON /FARFEL_DEMO_1_0_0_LIMITS/ XMAX
      SAVE /FARFEL_DEMO_1_0_0_LIMITS/
      NORM = SQRT(DOT(N, X, X))
      IF (NORM .GT. XMAX) CALL FARFEL_STOP_V1(0, 'TOO LARGE')
      END

      DOUBLE PRECISION FUNCTION DOT(N, X, Y)
      DOUBLE PRECISION X(N), Y(N)
      DOT = 0
      DO 10 I = 1, N
   10   DOT = DOT + X(I)*Y(I)
      END
      SUBROUTINE FARFEL_EXPORT_NORM(FARFEL_1, FARFEL_2,
     +FARFEL_RESULT) BIND(C, NAME='farfel_demo_1_0_0__norm')
      IMPLICIT NONE
      INTEGER FARFEL_1
      DOUBLE PRECISION FARFEL_2(*)
      DOUBLE PRECISION FARFEL_RESULT
      FARFEL_RESULT = NORM(FARFEL_1, FARFEL_2)
      END SUBROUTINE
      SUBROUTINE FARFEL_EXPORT_DOT(FARFEL_1, FARFEL_2, FARFEL_3,
     +FARFEL_RESULT) BIND(C, NAME='farfel_demo_1_0_0__dot')
      IMPLICIT NONE
      INTEGER FARFEL_1
      DOUBLE PRECISION FARFEL_2(*)
      DOUBLE PRECISION FARFEL_3(*)
      DOUBLE PRECISION FARFEL_RESULT
      FARFEL_RESULT = DOT(FARFEL_1, FARFEL_2, FARFEL_3)
      END SUBROUTINE
      END MODULE

      BLOCK DATA FARFEL_DEMO_1_0_0_
      COMMON /FARFEL_DEMO_1_0_0_LIMITS/ XMAX
      DATA XMAX /1E6/
      END
");
}

#[test]
fn names_mean_what_they_meant() {
    // Each variable, statement function and intrinsic bears the name of a subprogram.
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
    assert!(text.contains("COMMON /FARFEL_DEMO_1_0_0_A/ A, B"), "{text}");
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
    let (module, after) = text.split_once("      END MODULE\n").unwrap();
    for unit in ["SUBROUTINE A(X)", "SUBROUTINE GOOD(X)", "SUBROUTINE LAST"] {
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
