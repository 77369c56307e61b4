//! `farfel tapenade`: descriptions of procedures without source (`-ext`), Tapenade's directives, and unused
//! modules.

use farfel_tests::tapenade::{agree, numbers, read, statements, tapenade};
use farfel_tests::{sandbox, write};

/// The description of the procedures in [`LIBRARY`] for Tapenade's command line.
const DESCRIPTIONS: &str = "subroutine wrap:
  external:
  shape: (param 1, param 2, param 3)
  type: (none(), none(), none())
  ReadNotWritten:     (0, 1, 1)
  NotReadThenWritten: (0, 0, 0)
  ReadThenWritten:    (1, 0, 0)

subroutine fetch:
  external:
  shape: (param 1, param 2, param 3)
  ReadNotWritten:     (1, 0, 1)
  NotReadThenWritten: (0, 1, 0)
  ReadThenWritten:    (0, 0, 0)

subroutine keep:
  external:
  shape: (param 1, param 2)
  ReadNotWritten:     (1, 1)
  ReadThenWritten:    (0, 0)
  NotReadThenWritten: (0, 0)

function scale:
  external:
  shape: (param 1, param 2, result)
  ReadNotWritten:     (1, 1, 0)
  ReadThenWritten:    (0, 0, 0)
  NotReadThenWritten: (0, 0, 1)
";

/// Two levels of arrays with bounds that are passed on; a file name; external values that overwrite variables
/// with derivatives.
const MODEL: &str = "      SUBROUTINE HEAD(X, Y, N)
      INTEGER N, I, K
      DOUBLE PRECISION X(3), Y, P(0:7, N), Q(0:7, N)
      DO 20 K = 1, N
      DO 10 I = 0, 7
      P(I, K) = X(1)*I + X(2)**K
      IF (I .EQ. 0) P(I, K) = X(3)
   10 Q(I, K) = I
   20 CONTINUE
      DO 30 I = 1, 2
      CALL STEP(P, Q, N, 7)
   30 CONTINUE
      Y = 0
      DO 50 K = 1, N
      DO 40 I = 0, 7
   40 Y = Y + P(I, K)*Q(7 - I, K)
   50 CONTINUE
      END
      SUBROUTINE STEP(P, Q, N, M)
      INTEGER N, M, I
      DOUBLE PRECISION P(0:M, N), Q(0:M, N), T(3), SCALE, Y
      CHARACTER*8 NAME
      EXTERNAL SCALE
      T(1) = P(1, 1)**2
      T(2) = P(2, 1)
      T(3) = 2
      CALL BOTH(P, Q, N, M)
      WRITE (NAME, '(A, I1)') 'file', N
      Y = T(1)
      CALL FETCH(NAME, T, 3)
C$AD DO-NOT-DIFF
      CALL WRITEIT(NAME, P(2, 1), T)
C$AD END-DO-NOT-DIFF
      DO 10 I = 1, 3
   10 P(I, N) = P(I, N)*T(I)*SCALE(P(2, N), I) + Y
      END
      SUBROUTINE BOTH(P, Q, N, M)
      INTEGER N, M
      DOUBLE PRECISION P(0:M, N), Q(0:M, N)
      P(3, N) = SIN(P(3, N))
      CALL WRAP(P, M, N)
      CALL WRAP(Q, M, N)
      P(4, 1) = P(4, 1)*P(5, N)
      CALL KEEP(P, N)
      END
";

/// The procedures that the model calls, with hand-written derivatives.
const LIBRARY: &str = "      SUBROUTINE WRAP(P, M, N)
      DOUBLE PRECISION P(0:M, N)
      DO 10 K = 1, N
      P(0, K) = P(M - 1, K)
   10 P(M, K) = P(1, K)
      END
      SUBROUTINE WRAP_D(P, PD, M, N)
      DOUBLE PRECISION P(0:M, N), PD(0:M, N)
      CALL WRAP(P, M, N)
      CALL WRAP(PD, M, N)
      END
      SUBROUTINE WRAP_B(P, PB, M, N)
      DOUBLE PRECISION P(0:M, N), PB(0:M, N)
      DO 10 K = 1, N
      PB(1, K) = PB(1, K) + PB(M, K)
      PB(M, K) = 0
      PB(M - 1, K) = PB(M - 1, K) + PB(0, K)
   10 PB(0, K) = 0
      END
      SUBROUTINE FETCH(NAME, T, N)
      CHARACTER*(*) NAME
      DOUBLE PRECISION T(N)
      DO 10 I = 1, N
   10 T(I) = 0.5D0 + I + ICHAR(NAME(5:5)) - ICHAR('0')
      END
      SUBROUTINE KEEP(P, N)
      DOUBLE PRECISION P(*)
      END
      SUBROUTINE WRITEIT(NAME, P, T)
      CHARACTER*(*) NAME
      DOUBLE PRECISION P, T(3)
      IF (NAME .EQ. 'none') PRINT *, P, T
      END
      DOUBLE PRECISION FUNCTION SCALE(P, I)
      DOUBLE PRECISION P
      SCALE = EXP(-P)/I
      END
      DOUBLE PRECISION FUNCTION SCALE_D(P, PD, I, S)
      DOUBLE PRECISION P, PD, S
      S = EXP(-P)/I
      SCALE_D = -S*PD
      END
      SUBROUTINE SCALE_B(P, PB, I, SB)
      DOUBLE PRECISION P, PB, SB
      PB = PB - EXP(-P)/I*SB
      SB = 0
      END
";

const MAIN: &str = "      PROGRAM MAIN
      DOUBLE PRECISION X(3), XD(3), XB(3), Y, YD, YB, YP, YM, H, P(3)
      H = 1D-6
      DO 10 I = 1, 3
   10 X(I) = 0.2D0*I
      YB = 1
      CALL HEAD_B(X, XB, Y, YB, 2)
      DO 30 I = 1, 3
      DO 20 J = 1, 3
      XD(J) = 0
   20 P(J) = X(J)
      XD(I) = 1
      CALL HEAD_D(P, XD, Y, YD, 2)
      P(I) = X(I) + H
      CALL HEAD(P, YP, 2)
      P(I) = X(I) - H
      CALL HEAD(P, YM, 2)
      PRINT *, XB(I), (YP - YM)/(2*H)
   30 PRINT *, YD, (YP - YM)/(2*H)
      END
";

/// Tangents and adjoints through described procedures, checked by finite differences: bounds of arrays are
/// known not to change, a value that is read from outside no longer has a derivative, the file name need not
/// be saved, and nothing excluded from differentiation is.
#[test]
fn procedures_do_what_is_said_of_them() {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "model.f", MODEL);
    write(dir, "library.f", LIBRARY);
    write(dir, "main.f", MAIN);
    write(dir, "descriptions", DESCRIPTIONS);
    write(
        dir,
        "modules.f90",
        "MODULE DIFFSIZES\n  IMPLICIT NONE\n  INTEGER, PARAMETER :: NBDIRSMAX = 16\nEND MODULE DIFFSIZES\n",
    );
    for mode in ["-d", "-b"] {
        let files = ["model.f", "modules.f90"];
        let options = [mode, "-ext", "descriptions", "-head", "head(y)/(x)"];
        let ran = tapenade(dir, &[&options[..], &files].concat()).success();
        let said = String::from_utf8_lossy(&ran.get_output().stderr).into_owned();
        assert!(
            !said.contains("writeit") && !said.contains("keep"),
            "{said}"
        );
    }
    let adjoint = statements(&read(dir, "model_b.f"));
    // The bounds do not change, so no subprogram is split.
    assert!(!adjoint.iter().any(|s| s.contains("_E_B")), "{adjoint:#?}");
    let sources = ["main.f", "model.f", "model_d.f", "model_b.f", "library.f"];
    agree(dir, &sources, 6, 1e-7);
}

/// A procedure that only changes variables that depend on nothing has no derivative.
#[test]
fn identities_are_called_as_they_are() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "s.f",
        "      SUBROUTINE S(X, Y)\n      DOUBLE PRECISION X, Y\n      Y = X*X\n      CALL LOOK(X, Y)\n      Y = Y*Y\n      END\n",
    );
    write(
        dir,
        "lib",
        "subroutine look:\nexternal:\nshape: (param 1, param 2)\nReadNotWritten: (1, 0)\nReadThenWritten: (0, 1)\nNotReadThenWritten: (0, 0)\ndeps: (id,\n id)\n",
    );
    tapenade(dir, &["-ext", "lib", "-head", "s(y)/(x)", "s.f"]).success();
    let text = statements(&read(dir, "s_d.f"));
    assert!(text.contains(&"CALLLOOK(X,Y)".to_owned()), "{text:#?}");
}

/// A description with fewer arguments than a call has does not apply: the callee may change all of them.
#[test]
fn descriptions_of_others_are_not_used() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "s.f",
        "      SUBROUTINE S(X, Y)
      DOUBLE PRECISION X, Y
      Y = X*X
      CALL LOOK(X, N, Y)
      Y = Y*Y*N
      END
",
    );
    write(
        dir,
        "lib",
        "subroutine look:\nexternal:\nshape: (param 1, param 2)\nReadNotWritten: (1, 1)\n",
    );
    let ran = tapenade(dir, &["-b", "-ext", "lib", "-head", "s(y)/(x)", "s.f"]).success();
    let said = String::from_utf8_lossy(&ran.get_output().stderr).into_owned();
    assert!(
        said.contains("LOOK has 3 arguments here, and 2 in its description"),
        "{said}"
    );
    // Y has another value after the call, and LOOK_B gets it.
    let text = statements(&read(dir, "s_b.f"));
    let calls = |s: &String| s.starts_with("CALLLOOK_B(X,XB,N,Y,YB)");
    assert!(text.iter().any(calls), "{text:#?}");
}

/// A procedure without source assigns a flag in COMMON, which its description, if it has one, does not name, as MITgcm's
/// TURNOFF_MODEL_IO does: the reverse sweep takes the arms that the forward sweep took.
#[test]
fn flags_may_change_without_being_described() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "s.f",
        "      SUBROUTINE S(X, Y)
      DOUBLE PRECISION X, Y, T
      T = X*X
      CALL STEP(X, T)
      CALL STEP(X, T)
      Y = T*X
      CALL SILENT(1)
      END
      SUBROUTINE STEP(X, T)
      DOUBLE PRECISION X, T
      LOGICAL LOUD
      INTEGER LEVEL
      COMMON /FLAGS/ LOUD, LEVEL
      IF (LOUD) T = T*SIN(X)
      SELECT CASE (LEVEL)
      CASE (2)
        T = T*T
      CASE DEFAULT
        T = EXP(T)
      END SELECT
      END
",
    );
    write(
        dir,
        "main.f",
        "      PROGRAM MAIN
      DOUBLE PRECISION X, XB, Y, YB, YP, YM
      X = 0.7D0
      XB = 0
      YB = 1
      CALL SPEAK
      CALL S_B(X, XB, Y, YB)
      CALL SPEAK
      CALL S(X + 1D-6, YP)
      CALL SPEAK
      CALL S(X - 1D-6, YM)
      PRINT *, XB, (YP - YM)/2D-6
      END
      SUBROUTINE SPEAK
      LOGICAL LOUD
      COMMON /FLAGS/ LOUD, LEVEL
      LOUD = .TRUE.
      LEVEL = 2
      END
      SUBROUTINE SILENT(N)
      LOGICAL LOUD
      COMMON /FLAGS/ LOUD, LEVEL
      LOUD = .FALSE.
      LEVEL = 0
      END
",
    );
    write(
        dir,
        "lib",
        "subroutine silent:\nexternal:\nshape: (param 1)\nReadNotWritten: (1)\nReadThenWritten: (0)\nNotReadThenWritten: (0)\n",
    );
    for described in [&["-ext", "lib"][..], &[]] {
        tapenade(
            dir,
            &[&["-b", "-head", "s(y)/(x)", "s.f"], described].concat(),
        )
        .success();
        agree(dir, &["main.f", "s.f", "s_b.f"], 1, 1e-7);
    }
}

/// A procedure without source must not change other values in COMMON that sweeps need. If it does, and the reverse
/// sweep takes another course, the program ends instead of going on with a wrong adjoint.
#[test]
fn other_values_that_change_end_the_program() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "s.f",
        "      SUBROUTINE S(X, Y)
      DOUBLE PRECISION X, Y
      Y = X
      CALL STEPS(Y)
      CALL SILENT
      END
      SUBROUTINE STEPS(Y)
      DOUBLE PRECISION Y
      COMMON /COUNTS/ N
      DO 10 I = 1, N
   10   Y = SIN(Y)
      END
",
    );
    let main = |n: u32| {
        format!(
            "      PROGRAM MAIN
      DOUBLE PRECISION X, XB, Y, YB
      COMMON /COUNTS/ N
      X = 0.7D0
      XB = 0
      Y = 0
      YB = 1
      N = 3
      CALL S_B(X, XB, Y, YB)
      PRINT *, XB
      END
      SUBROUTINE SILENT
      COMMON /COUNTS/ N
      N = {n}
      END
"
        )
    };
    tapenade(dir, &["-b", "-head", "s(y)/(x)", "s.f"]).success();
    write(dir, "main.f", main(3));
    let xb = numbers(dir, &["main.f", "s.f", "s_b.f"], "");
    let y = 0.7f64.sin();
    let right = y.sin().cos() * y.cos() * 0.7f64.cos();
    assert!((xb[0] - right).abs() < 1e-14, "{xb:?} {right}");
    for n in [2, 4] {
        write(dir, "main.f", main(n));
        let line = "gfortran -std=legacy -o test main.f s.f s_b.f && ./test";
        let mut shell = std::process::Command::new("sh");
        let ran = shell.args(["-c", line]).current_dir(dir).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(said.contains("Farfel: tape is out of order"), "{said}");
        assert!(ran.stdout.is_empty());
    }
}

/// The derivative of a procedure without source reads arrays in COMMON that its description does not name, as that of
/// MITgcm's CG2D reads its matrix, of which the model computes a preconditioner: the reverse sweep calls it with the values of the forward sweep. No unit with
/// derivatives declares the COMMON block.
#[test]
fn derivatives_read_what_the_forward_sweep_left_in_common() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "s.f",
        "      SUBROUTINE S(X, Y)
      DOUBLE PRECISION X, Y, P(3)
      DO 10 I = 1, 3
   10 P(I) = X*I
      DO 20 K = 1, 4
      CALL STEP(P, K)
   20 CONTINUE
      Y = P(1) + P(2)*P(3)
      CALL MATRIX(0)
      END
      SUBROUTINE STEP(P, K)
      DOUBLE PRECISION P(3)
      CALL MATRIX(K)
      CALL SOLVE(P)
      DO 10 I = 1, 3
   10 P(I) = SIN(P(I)) + P(1)
      IF (K .EQ. 2) CALL SOLVE(P)
      IF (K .EQ. 3) CALL MATRIX(7)
      END
      SUBROUTINE MATRIX(K)
      DOUBLE PRECISION A, D
      COMMON /SOLVER/ A(3), D(3), N
      N = MAX(1, MIN(3, K))
      DO 10 I = 1, 3
      A(I) = 1 + 0.3D0*I*K
   10 D(I) = 1/A(I)
      END
",
    );
    write(
        dir,
        "main.f",
        "      PROGRAM MAIN
      DOUBLE PRECISION X, XB, Y, YB, YP, YM
      X = 0.7D0
      XB = 0
      YB = 1
      CALL S_B(X, XB, Y, YB)
      CALL S(X + 1D-6, YP)
      CALL S(X - 1D-6, YM)
      PRINT *, XB, (YP - YM)/2D-6
      END
      SUBROUTINE SOLVE(P)
      DOUBLE PRECISION A, D, P(3)
      COMMON /SOLVER/ A(3), D(3), N
      DO 10 I = 1, N
   10 P(I) = P(I)/(A(I) + D(I))
      END
      SUBROUTINE SOLVE_B(P, PB)
      DOUBLE PRECISION A, D, P(3), PB(3)
      COMMON /SOLVER/ A(3), D(3), N
      DO 10 I = 1, N
   10 PB(I) = PB(I)/(A(I) + D(I))
      END
",
    );
    write(
        dir,
        "lib",
        "subroutine solve:\nexternal:\nshape: (param 1)\nReadNotWritten: (0)\nReadThenWritten: (1)\nNotReadThenWritten: (0)\n",
    );
    for options in [
        &["-ext", "lib"][..],
        &[],
        &["-ext", "lib", "-defaultnocheckpoint"],
    ] {
        tapenade(
            dir,
            &[&["-b", "-head", "s(y)/(x)", "s.f"], options].concat(),
        )
        .success();
        agree(dir, &["main.f", "s.f", "s_b.f"], 1, 1e-7);
    }
}

/// Errors in a file of descriptions are reported at their place, and so is the use of a module.
#[test]
fn errors_have_places() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "s.f",
        "      SUBROUTINE S(X, Y)\n      Y = X*X\n      END\n",
    );
    write(dir, "lib", "subroutine look:\nshape: (param 1\n");
    let fails = |options: &[&str]| {
        let ran = tapenade(dir, options).failure();
        String::from_utf8_lossy(&ran.get_output().stderr).into_owned()
    };
    let said = fails(&["-ext", "lib", "-head", "s", "s.f"]);
    assert!(said.contains("this parenthesis is not closed"), "{said}");
    assert!(said.contains("lib:2:8"), "{said}");
    let said = fails(&["-ext", "none", "-head", "s", "s.f"]);
    assert!(
        said.contains("the descriptions in none cannot be read"),
        "{said}"
    );
    write(
        dir,
        "m.f90",
        "module m\n real x\nend module\nsubroutine t(y)\n use m\n y = x\nend\n",
    );
    let said = fails(&["-head", "s", "s.f", "m.f90"]);
    assert!(said.contains("the module M is not known"), "{said}");
}

/// Loops with Tapenade's directives have the same adjoints as with Farfel's own directives.
#[test]
fn loops_have_the_marks_of_tapenade() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "s.f",
        "      SUBROUTINE S(X, Z)
      DOUBLE PRECISION X, Z, OLD
      OLD = -1
!$AD FP-LOOP \"Z,OLD\"
      DO WHILE (ABS(Z - OLD) .GT. 1D-13)
        OLD = Z
        Z = COS(Z*X)/2
      END DO
      END
      SUBROUTINE T(X, Y, N)
      DOUBLE PRECISION X, Y
C$AD BINOMIAL-CKP 100 3 1
      DO I = 1, N
        Y = Y*SIN(X) + X*Y**2/I
      END DO
      END
",
    );
    write(
        dir,
        "main.f",
        "      PROGRAM MAIN
      DOUBLE PRECISION X, Z, XB, ZB, ZP, ZM
      X = 0.7D0
      Z = 1
      XB = 0
      ZB = 1
      CALL S_B(X, XB, Z, ZB)
      ZP = 1
      ZM = 1
      CALL S(X + 1D-6, ZP)
      CALL S(X - 1D-6, ZM)
      PRINT *, XB, (ZP - ZM)/2D-6
      Z = 0.5D0
      XB = 0
      ZB = 1
      CALL T_B(X, XB, Z, ZB, 40)
      ZP = 0.5D0
      ZM = 0.5D0
      CALL T(X + 1D-6, ZP, 40)
      CALL T(X - 1D-6, ZM, 40)
      PRINT *, XB, (ZP - ZM)/2D-6
      END
",
    );
    tapenade(dir, &["-b", "-head", "s(z)/(x) t(y)/(x y)", "s.f"]).success();
    let text = read(dir, "s_b.f");
    assert!(text.contains("*LARGEST"), "{text}");
    agree(dir, &["main.f", "s.f", "s_b.f"], 2, 1e-7);
}
