//! Libraries of several objects mean the same as libraries of a single one.

use crate::support::Project;
use std::fmt::Write as _;
use std::fs;

/// Everything that can be shared between objects: short and long subprograms that several exported ones
/// reach, COMMON with initial values, ENTRY, STOP, saved state, derivatives through shared code, and calls
/// that do not match the called subprograms.
const LIBRARY: &str = "
      DOUBLE PRECISION FUNCTION FIRST(X)
      DOUBLE PRECISION X, Y, SLOPE, SHORT, LONG
      EXTERNAL LONG
      ADF(X)
        Y = SHORT(X)*LONG(X)
      END ADF(SLOPE = TANGENT(Y))
      CALL COUNT
      FIRST = SLOPE
      END

      DOUBLE PRECISION FUNCTION SECOND(X)
      DOUBLE PRECISION X, SHORT, LONG, OTHER, SLOPE, Y
      ADF(X)
        Y = SHORT(X) + LONG(X)
      END ADF(SLOPE = TANGENT(Y))
      SECOND = SHORT(X) + LONG(X) + OTHER(X) + 10*SLOPE
      CALL COUNT
      END

      INTEGER FUNCTION CALLS()
      COMMON /TALLY/ N
      CALLS = N
      END

      SUBROUTINE COUNT
      COMMON /TALLY/ N
      N = N + 1
      END

      DOUBLE PRECISION FUNCTION SHORT(X)
      DOUBLE PRECISION X, FACTOR, SHIFT
      COMMON /SCALE/ FACTOR, SHIFT
      SHORT = FACTOR*X + SHIFT
      END

      BLOCK DATA
      DOUBLE PRECISION FACTOR, SHIFT
      COMMON /SCALE/ FACTOR, SHIFT
      COMMON /TALLY/ N
      DATA FACTOR, SHIFT, N /3.0D0, 0.5D0, 100/
      END

      DOUBLE PRECISION FUNCTION LONG(X)
      DOUBLE PRECISION X, OTHER
      LONG = X*X
BODY
      RETURN
      ENTRY OTHER(X)
      OTHER = 7*X
      END
";

/// Plain Fortran, in which calls need not match.
const OLD: &str = "
      DOUBLE PRECISION FUNCTION THIRD(X)
      DOUBLE PRECISION X, LONG, W(3)
      COMMON /SCALE/ FACTOR, SHIFT
      DOUBLE PRECISION FACTOR, SHIFT
      IF (X .LT. 0) STOP 'NEGATIVE'
C     An element where an array is wanted, and a scalar: legal enough.
      W(1) = 1
      W(2) = 2
      W(3) = X
      CALL TOTAL(3, W(1), THIRD)
      CALL TOTAL(1, X, W(2))
      THIRD = THIRD + W(2) + FACTOR + LONG(X)
      END

      DOUBLE PRECISION FUNCTION FOURTH(X)
      DOUBLE PRECISION X, T
      CALL TOTAL(1, X, T)
      FOURTH = T
      END

      SUBROUTINE TOTAL(N, X, T)
      DOUBLE PRECISION X(N), T
      T = 0
      DO 10 I = 1, N
   10 T = T + X(I)
      END
";

/// LONG has an ENTRY point, so its callers are not checked.
const CALLER: &str = r#"farfel_runtime::include_bindings!();
fn main() {
    println!("{} {} {}", unsafe { first(2.0) }, unsafe { second(2.0) }, unsafe { third(2.0) }.unwrap());
    println!("{} {} {}", fourth(4.0).unwrap(), unsafe { long(3.0) }, calls());
    println!("{:?}", unsafe { third(-1.0) }.unwrap_err().to_string());
}
"#;

/// Returns statements without effect that make a unit too long to be copied.
fn body(count: usize) -> String {
    (0..count).fold(String::new(), |mut t, i| {
        let _ = writeln!(t, "      IF (X .EQ. {i}.25D0) LONG = LONG + 1");
        t
    })
}

#[test]
fn several_objects_are_one_library() {
    let p = Project::new("objects", "objects");
    p.file("src/main.rs", CALLER);
    let one = LIBRARY.replace("BODY", &body(50));
    p.file("src/library.ff", &one).file("src/old.f", OLD);
    let expected = p.run();
    // d/dx (3x + 0.5)x² = 9x² + x; 7x + 2x.
    assert!(expected.starts_with("38 "), "{expected}");
    let objects = || {
        let mut names: Vec<String> = fs::read_dir(p.out().join("farfel"))
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .filter(|n| n.ends_with(".f"))
            .collect();
        names.sort();
        names
    };
    assert_eq!(objects(), ["farfel.f"]);

    p.file("src/library.ff", LIBRARY.replace("BODY", &body(450)));
    assert_eq!(p.run(), expected);
    let several = objects();
    assert!(
        several.len() > 2 && !several.contains(&"farfel.f".into()),
        "{several:?}"
    );

    // Without debug information, and with all checks.
    let ran = p.cargo(&["run", "-q", "--release"]);
    assert_eq!(ran.stdout, expected, "{}", ran.stderr);
    let ran = p.cargo_with(&["run", "-q"], &[("FARFEL_FFLAGS", "-fcheck=all")]);
    assert_eq!(ran.stdout, expected, "{}", ran.stderr);
}
