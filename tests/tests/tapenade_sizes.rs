//! `farfel tapenade`: adjoints that need sizes which only the user knows, as `ISIZE1OFX` in DIFFSIZES.inc.

use farfel_tests::tapenade::{agree, headers, read, sizes, tapenade};
use farfel_tests::{sandbox, write};
use std::process::Command;

/// Arrays of any size are passed to a procedure without source, which may overwrite them. Types are implicit,
/// constants and statement functions included, and a dummy procedure has no use in the reverse sweep.
const ITERATION: &str = "      SUBROUTINE NEWT(FCN, N, X, F, W, Y)
      IMPLICIT DOUBLE PRECISION (A-H,O-Z)
      DIMENSION X(*), F(*), W(0:*)
      PARAMETER (HALF = 0.5D0)
      EXTERNAL FCN
      SQ(T) = T*T
      DO 20 K = 1, 3
      CALL STEP(FCN, N, X, F, K)
      DO 10 I = 1, N
      W(I - 1) = W(I - 1) + SQ(F(I))
   10 X(I) = X(I) - HALF*F(I)*W(I - 1)
      CALL SPOIL(W(1))
   20 CONTINUE
      Y = 0
      DO 30 I = 1, N
   30 Y = Y + SQ(X(I)) + W(I - 1)
      END
      SUBROUTINE STEP(FCN, N, X, F, K)
      IMPLICIT DOUBLE PRECISION (A-H,O-Z)
      DIMENSION X(*), F(*)
      EXTERNAL FCN
      IF (K .EQ. 2) X(1) = X(1)*X(2)
      CALL FCN(N, X, F)
      END
";

/// What has no source above, with its adjoints, and a program that compares the adjoint with differences.
const REST: &str = "      SUBROUTINE CUBES(N, X, F)
      DOUBLE PRECISION X(N), F(N)
      DO 10 I = 1, N
   10 F(I) = X(I)**3*X(1) - 0.1D0*I + 0.2D0*F(I)**2
      END
      SUBROUTINE CUBES_B(N, X, XB, F, FB)
      DOUBLE PRECISION X(N), F(N), XB(N), FB(N)
      DO 10 I = N, 1, -1
      XB(I) = XB(I) + 3*X(I)**2*X(1)*FB(I)
      XB(1) = XB(1) + X(I)**3*FB(I)
   10 FB(I) = 0.4D0*F(I)*FB(I)
      END
      SUBROUTINE SPOIL(W)
      DOUBLE PRECISION W(2)
      W(1) = W(1)*W(2)
      END
      SUBROUTINE SPOIL_B(W, WB)
      DOUBLE PRECISION W(2), WB(2)
      WB(2) = WB(2) + W(1)*WB(1)
      WB(1) = W(2)*WB(1)
      END
      SUBROUTINE VALUE(X, Y)
      DOUBLE PRECISION X(3), Y, F(3), W(0:2)
      EXTERNAL CUBES
      F = 0.5D0
      W = 0.3D0
      N = 3
      CALL NEWT(CUBES, N, X, F, W, Y)
      END
      PROGRAM MAIN
      DOUBLE PRECISION X(3), P(3), Y, YB, F(3), W(0:2), HIGH, LOW
      DOUBLE PRECISION XB(3), FB(3), WB(0:2), H
      EXTERNAL CUBES, CUBES_B
      H = 1D-5
      X = (/ 0.9D0, 0.7D0, 1.1D0 /)
      F = 0.5D0
      W = 0.3D0
      FB = 0
      WB = 0
      XB = 0
      YB = 1
      P = X
      N = 3
      CALL NEWT_B(CUBES, CUBES_B, N, P, XB, F, FB, W, WB, Y, YB)
      DO 10 I = 1, 3
      P = X
      P(I) = X(I) + H
      CALL VALUE(P, HIGH)
      P = X
      P(I) = X(I) - H
      CALL VALUE(P, LOW)
   10 PRINT *, XB(I), (HIGH - LOW)/(2*H)
      END
";

const ADJOINT: [&str; 5] = ["-b", "-head", "newt(y)/(x)", "-o", "out"];

#[test]
fn arrays_of_any_size_are_saved_before_calls_without_source() {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "newt.f", ITERATION);
    write(dir, "rest.f", REST);
    let ran = tapenade(dir, &[&ADJOINT[..], &["newt.f"]].concat()).success();
    let said = String::from_utf8_lossy(&ran.get_output().stderr).into_owned();
    for name in ["ISIZE1OFX", "ISIZE1OFF", "ISIZE1OFW"] {
        let wanted = format!("define {name} in DIFFSIZES.inc: the last subscript of ");
        assert!(said.contains(&wanted), "{said}");
    }
    let made = headers(&read(dir, "out_b.f"));
    let wanted = "SUBROUTINENEWT_B(FCN,FCN_B,N,X,XB,F,FB,W,WB,Y,YB)";
    assert!(made.iter().any(|h| h == wanted), "{made:?}");
    sizes(dir, &[("ISIZE1OFX", 3), ("ISIZE1OFF", 3), ("ISIZE1OFW", 2)]);
    agree(dir, &["rest.f", "newt.f", "out_b.f"], 3, 1e-8);
}

/// A constant that is not defined is an error of the compiler, not a variable without a value.
#[test]
fn sizes_must_be_defined() {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "newt.f", ITERATION);
    tapenade(dir, &[&ADJOINT[..], &["newt.f"]].concat()).success();
    sizes(dir, &[("ISIZE1OFX", 3), ("ISIZE1OFW", 2)]);
    let compiled = Command::new("gfortran")
        .args(["-std=legacy", "-c", "out_b.f"])
        .current_dir(dir)
        .output()
        .expect("gfortran");
    let said = String::from_utf8_lossy(&compiled.stderr).into_owned();
    assert!(
        said.contains("isize1off") && !compiled.status.success(),
        "{said}"
    );
}
