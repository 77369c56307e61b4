//! CHARACTER values that adjoints of `farfel tapenade` need: file names and names of cases.

use farfel_tests::tapenade::{agree, read, sizes, tapenade};
use farfel_tests::{sandbox, write};

/// Names of files that a procedure without source reads, constructed by WRITE in a subprogram that is called
/// in a loop; and cases that are distinguished by texts of any length.
const ALL: &str = "      SUBROUTINE G(X, Y, N)
      DOUBLE PRECISION X(3), Y
      INTEGER N, I
      CHARACTER*(80) NAME, LIST(3)
      COMMON /NAMES/ LIST, NAME
      NAME = 'start'
      LIST(1) = NAME
      Y = 1
      DO I = 1, N
        LIST(MOD(I, 3) + 1) = NAME
        CALL READS(X(MOD(I, 3) + 1), Y, I)
        NAME(I:I) = LIST(1)(2:2)
        Y = Y + 0.01D0*ICHAR(NAME(2:2))*X(1)*SIN(Y)
      END DO
      END
      SUBROUTINE READS(X, Y, I)
      DOUBLE PRECISION X, Y, T
      INTEGER I
      CHARACTER*(80) NAME, LIST(3)
      COMMON /NAMES/ LIST, NAME
      CHARACTER*20 FILE
      IF (I .LT. 0) RETURN
      WRITE (FILE, '(A,I4.4)') 'xx_', I
      CALL FIELD(FILE, T, X)
      WRITE (NAME, '(A,I2)') 'file', I
      CALL FIELD((NAME), T, X*T)
      Y = SIN(Y)*T
      FILE = 'none'
      END
      SUBROUTINE F(X, Y)
      DOUBLE PRECISION X(3), Y
      CHARACTER*12 CASE
      CHARACTER*4 OLD(2)
      INTEGER I
      CASE = 'abcdefghijkl'
      OLD(1) = CASE
      Y = X(2)
      I = 0
      DO WHILE (CASE(1:1) .NE. 'g' .AND. I .LT. 100)
        I = I + 1
        CALL STEP(CASE, OLD, X, Y, I)
        CASE = CASE(2:12)
        OLD(MOD(I, 2) + 1)(2:3) = CASE
      END DO
      END
      SUBROUTINE STEP(S, OLD, X, Y, I)
      CHARACTER*(*) S, OLD(2)
      INTEGER I
      DOUBLE PRECISION X(3), Y
      CHARACTER*(LEN(S) + I) LONG
      LONG = OLD(1) // S
      Y = Y*COS(0.01D0*ICHAR(LONG(I:I))*X(1)) + X(2)*X(3)
      IF (S .EQ. 'cdefghijkl') Y = Y*X(3)
      LONG(I:) = S
      OLD(1)(4:4) = LONG(I:I)
      Y = Y*COS(0.01D0*ICHAR(LONG(I:I))*X(1)) + Y*ICHAR(OLD(1)(4:4))*0.01D0
      LONG = ' '
      END
";

/// The procedures that the user provides.
const FIELD: &str = "      SUBROUTINE FIELD(NAME, T, X)
      DOUBLE PRECISION T, X, FACTOR
      CHARACTER*(*) NAME
      T = SIN(X*FACTOR(NAME))
      END
      SUBROUTINE FIELD_B(NAME, T, TB, X, XB)
      DOUBLE PRECISION T, TB, X, XB, FACTOR
      CHARACTER*(*) NAME
      XB = XB + COS(X*FACTOR(NAME))*FACTOR(NAME)*TB
      TB = 0
      END
      SUBROUTINE FIELD_BV(NAME, T, TB, X, XB, NBDIRS)
      INCLUDE 'DIFFSIZES.inc'
      INTEGER NBDIRS
      DOUBLE PRECISION T, TB(NBDIRSMAX), X, XB(NBDIRSMAX), FACTOR
      CHARACTER*(*) NAME
      DO I = 1, NBDIRS
        CALL FIELD_B(NAME, T, TB(I), X, XB(I))
      END DO
      END
      DOUBLE PRECISION FUNCTION FACTOR(NAME)
      CHARACTER*(*) NAME
      INTEGER I
      IF (NAME(1:3) .EQ. 'xx_') THEN
        READ (NAME(4:7), '(I4)') I
        FACTOR = I*0.3D0
      ELSE IF (NAME(1:4) .EQ. 'file') THEN
        READ (NAME(5:6), '(I2)') I
        FACTOR = 2 - I*0.1D0
      ELSE
        STOP 'no such file'
      END IF
      END
";

#[test]
fn names_are_found_again() {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "all.f", ALL);
    write(dir, "field.f", FIELD);
    sizes(dir, &[("NBDIRSMAX", 4)]);
    for multi in [&["-b"][..], &["-b", "-multi"]] {
        let options = ["-head", "g(y)/(x) f(y)/(x)", "all.f"];
        tapenade(dir, &[multi, &options].concat()).success();
    }
    // The size of its tape of characters is known for G, but not for F.
    let text = read(dir, "all_b.f");
    assert!(text.contains("TYPE (FARFEL_CH)"), "{text}");
    write(
        dir,
        "main.f",
        "      PROGRAM MAIN
      INCLUDE 'DIFFSIZES.inc'
      DOUBLE PRECISION X(3), XB(3), XV(NBDIRSMAX,3), Y, YB, YP, YM, H
      DOUBLE PRECISION YV(NBDIRSMAX), P(3), M(3)
      H = 1D-6
      DO 40 K = 1, 2
      DO 10 I = 1, 3
      X(I) = I*0.2D0 + 0.3D0
   10 YV(I) = I - 1.5D0
      YB = 1
      IF (K .EQ. 1) CALL G_BV(X, XV, Y, YV, 6, 3)
      IF (K .EQ. 1) CALL G_B(X, XB, Y, YB, 6)
      IF (K .EQ. 2) CALL F_BV(X, XV, Y, YV, 3)
      IF (K .EQ. 2) CALL F_B(X, XB, Y, YB)
      DO 30 I = 1, 3
      DO 20 J = 1, 3
      P(J) = X(J)
      M(J) = X(J)
   20 PRINT *, XV(J, I), XB(I)*(J - 1.5D0)
      P(I) = P(I) + H
      M(I) = M(I) - H
      IF (K .EQ. 1) CALL G(P, YP, 6)
      IF (K .EQ. 1) CALL G(M, YM, 6)
      IF (K .EQ. 2) CALL F(P, YP)
      IF (K .EQ. 2) CALL F(M, YM)
   30 PRINT *, XB(I), (YP - YM)/(2*H)
   40 CONTINUE
      END
",
    );
    let sources = ["main.f", "all.f", "field.f", "all_b.f", "all_bv.f"];
    agree(dir, &sources, 24, 1e-8);
}

/// Derivatives of such adjoints by a second command line.
#[test]
fn adjoints_with_names_are_differentiated_again() {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "all.f", ALL);
    write(dir, "field.f", FIELD);
    tapenade(dir, &["-b", "-head", "f(y)/(x)", "all.f"]).success();
    sizes(dir, &[("NBDIRSMAX", 2)]);
    for mode in [&["-d"][..], &["-b"], &["-d", "-multi"]] {
        let options = ["-head", "f_b(xb)/(x)", "-o", "out", "all.f", "all_b.f"];
        tapenade(dir, &[mode, &options].concat()).success();
    }
    write(
        dir,
        "main.f",
        "      PROGRAM MAIN
      DOUBLE PRECISION X(3), XD(3), XB(3), XBD(3), P(3), M(3), Y, YB, H
      DOUBLE PRECISION XV(2, 3), XBV(2, 3), XB1(3), XB2(3)
      DO 10 I = 1, 3
        X(I) = 0.4D0 + 0.3D0*I
        XD(I) = SIN(1D0*I)
        XV(1, I) = XD(I)
        XV(2, I) = -2*XD(I)
        XB1(I) = 0
   10   XB2(I) = XD(I)
      YB = 1
      CALL F_B_D(X, XD, XB, XBD, Y, YB)
      H = 1D-5
      YB = 1
      P = X + H*XD
      M = X - H*XD
      CALL F_B(P, XB, Y, YB)
      P = XB
      YB = 1
      CALL F_B(M, XB, Y, YB)
      M = XB
      PRINT *, DOT_PRODUCT(XBD, XD), DOT_PRODUCT(P - M, XD)/(2*H)
      YB = 1
      CALL F_B_B(X, XB1, XB, XB2, Y, YB)
      PRINT *, DOT_PRODUCT(XB1, XD), DOT_PRODUCT(XBD, XD)
      YB = 1
      CALL F_B_DV(X, XV, XB, XBV, Y, YB, 2)
      PRINT *, DOT_PRODUCT(XBV(2, :), XD), -2*DOT_PRODUCT(XBD, XD)
      END
",
    );
    let sources = [
        "main.f", "all.f", "field.f", "all_b.f", "out_d.f", "out_b.f", "out_dv.f",
    ];
    agree(dir, &sources, 3, 1e-7);
}
