//! `combine-divisions`: derivatives of series with one division for each term.

use farfel_tests::tapenade::{agree, read, tapenade};
use farfel_tests::{farfel, sandbox, write};

/// The series of an Airy function, as SciPy has it, with divisors of three types.
const SERIES: &str = "      SUBROUTINE SERIES(X, Y)
      DOUBLE PRECISION X, Y, R
      Y = X
      R = X
      DO 10 K = 1, 40
      R = R*(3.0*K - 2.0D0)/(3.0*K + 1.0D0)*X/(3.0*K)*X/(3*K - 1)*X
      Y = Y + R
      IF (DABS(R) .LT. DABS(Y)*1D-15) RETURN
   10 CONTINUE
      END
";

/// Compares the tangent and the adjoint with differences, and the values with those of the program.
const CHECKS: &str = "      PROGRAM MAIN
      DOUBLE PRECISION X, XB, XD, Y, YB, YD, YP, YM
      X = 1.7D0
      XD = 1
      CALL SERIES(X, YP)
      CALL SERIES_D(X, XD, Y, YD)
      PRINT *, Y, YP
      CALL SERIES(X + 1D-6, YP)
      CALL SERIES(X - 1D-6, YM)
      PRINT *, YD, (YP - YM)/2D-6
      XB = 0
      YB = 1
      CALL SERIES_B(X, XB, Y, YB)
      PRINT *, XB, (YP - YM)/2D-6
      END
";

/// Returns how often a text divides, without comments.
fn divisions(text: &str) -> usize {
    let code = text.lines().filter(|l| l.starts_with(' '));
    code.map(|l| l.matches('/').count()).sum()
}

#[test]
fn derivatives_divide_once_if_asked() {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "series.f", SERIES);
    write(dir, "main.f", CHECKS);
    let mut divided = Vec::new();
    for options in [&[][..], &["-combinedivisions"]] {
        for mode in ["-d", "-b"] {
            let line = [&[mode, "-head", "series(y)/(x)", "series.f"], options].concat();
            tapenade(dir, &line).success();
        }
        agree(
            dir,
            &["main.f", "series.f", "series_d.f", "series_b.f"],
            3,
            1e-8,
        );
        divided.push(divisions(&read(dir, "series_d.f")));
    }
    // One of the term, and the reciprocal of the divisor for its tangent.
    assert!(divided[1] <= 2 && divided[0] >= 4, "{divided:?}");
}

/// The setting holds for whole programs, without derivatives as well.
#[test]
fn programs_divide_once_if_set() {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "src/series.f", SERIES);
    let shown = |settings: &str| {
        let manifest = format!(
            "[package]\nname = 'series'\nversion = '0.1.0'\n[package.metadata.farfel]\n{settings}"
        );
        write(dir, "Cargo.toml", manifest);
        let shown = farfel(dir)
            .args(["expand", "src/series.f"])
            .assert()
            .success();
        divisions(&String::from_utf8_lossy(&shown.get_output().stdout))
    };
    assert_eq!(shown(""), 3);
    assert_eq!(shown("combine-divisions = true\n"), 1);
}
