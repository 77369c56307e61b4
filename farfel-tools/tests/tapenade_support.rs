//! The run-time support of adjoints, compiled and driven from Fortran.

use crate::tapenade::support::run;

/// Compiles and runs a program; it prints `T` for each condition that holds.
fn all_true(fortran: &str, lines: usize) {
    let out = run(fortran, &["-O1"]);
    let found: Vec<&str> = out.lines().map(str::trim).collect();
    assert_eq!(found, vec!["T"; lines], "{fortran}");
}

#[test]
fn every_type_comes_back() {
    let scalars = [
        ("INTEGER4", "INTEGER", "7", "-9"),
        ("INTEGER8", "INTEGER*8", "5000000000_8", "-1_8"),
        ("REAL4", "REAL", "1.5", "-2.25"),
        ("REAL8", "DOUBLE PRECISION", "1.1D0", "3.3D300"),
        ("COMPLEX8", "COMPLEX", "(1.0,2.0)", "(-3.0,4.0)"),
        ("COMPLEX16", "COMPLEX*16", "(1D0,2D0)", "(-3D0,1D-200)"),
        ("POINTER8", "INTEGER*8", "123456789012_8", "0_8"),
        ("CONTROL1B", "INTEGER", "1", "0"),
        ("CONTROL2B", "INTEGER", "3", "2"),
        ("CONTROL3B", "INTEGER", "7", "4"),
        ("CONTROL4B", "INTEGER", "15", "8"),
        ("CONTROL5B", "INTEGER", "31", "16"),
        ("CONTROL6B", "INTEGER", "63", "32"),
        ("CONTROL7B", "INTEGER", "127", "64"),
        ("CONTROL8B", "INTEGER", "255", "128"),
    ];
    let (mut pushes, mut pops, mut units) = (String::new(), String::new(), String::new());
    for (i, (kind, ty, a, b)) in scalars.iter().enumerate() {
        pushes += &format!("      CALL A{i}\n");
        pops = format!("      CALL B{i}\n{pops}");
        units += &format!(
            "      SUBROUTINE A{i}
      {ty} X(3)
      X(1) = {a}
      X(2) = {b}
      CALL PUSH{kind}(X(1))
      CALL PUSH{kind}(X(2))
"
        );
        let arrays = !kind.starts_with("CONTROL");
        if arrays {
            units += &format!("      X(3) = {a}\n      CALL PUSH{kind}ARRAY(X, 3)\n");
        }
        units += &format!("      END\n      SUBROUTINE B{i}\n      {ty} X(3)\n");
        if arrays {
            units += &format!(
                "      CALL POP{kind}ARRAY(X, 3)
      PRINT *, X(1) .EQ. {a}
     + .AND. X(2) .EQ. {b}
     + .AND. X(3) .EQ. {a}
"
            );
        } else {
            units += "      PRINT *, .TRUE.\n";
        }
        units += &format!(
            "      CALL POP{kind}(X(3))
      CALL POP{kind}(X(1))
      PRINT *, X(1) .EQ. {a} .AND. X(3) .EQ. {b}
      END
"
        );
    }
    let program = format!(
        "      PROGRAM MAIN
      INTEGER*8 S
      LOGICAL L, M
      CHARACTER*5 C
      CHARACTER D
{pushes}      CALL PUSHBOOLEAN(.TRUE.)
      CALL PUSHBOOLEAN(.FALSE.)
      C = 'hello'
      CALL PUSHCHARACTER(C(2:2))
      CALL PUSHCHARACTERARRAY(C, 5)
      C = ' '
      CALL POPCHARACTERARRAY(C, 5)
      CALL POPCHARACTER(D)
      PRINT *, C .EQ. 'hello' .AND. D .EQ. 'e'
      CALL POPBOOLEAN(L)
      CALL POPBOOLEAN(M)
      PRINT *, M .AND. .NOT. L
{pops}      CALL ADSTACK_SIZE(S)
      PRINT *, S .EQ. 0
      END
{units}"
    );
    all_true(&program, 2 * scalars.len() + 3);
}

/// Far more than any segment of the stack holds, in odd sizes, so that values cross the boundaries
/// of segments; twice, so that segments are reused.
#[test]
fn the_stack_grows_without_limit() {
    all_true(
        "
      PROGRAM MAIN
      PARAMETER (N = 300000)
      DOUBLE PRECISION X(1001), Y(1001)
      INTEGER*8 S
      LOGICAL OK
      DO 50 K = 1, 2
      OK = .TRUE.
      DO 10 I = 1, N
      CALL PUSHCONTROL3B(MOD(I, 8))
      CALL PUSHREAL8(DBLE(I))
   10 CONTINUE
      DO 20 J = 1, 1001
   20 X(J) = J*1.5D0
      DO 25 I = 1, 20
   25 CALL PUSHREAL8ARRAY(X, 1001)
      CALL PUSHREAL8ARRAY(X, 0)
      CALL ADSTACK_SIZE(S)
      OK = OK .AND. S .EQ. 9*N + 20*1001*8
      DO 35 I = 1, 20
      CALL POPREAL8ARRAY(Y, 1001)
      DO 30 J = 1, 1001
   30 OK = OK .AND. Y(J) .EQ. X(J)
   35 CONTINUE
      DO 40 I = N, 1, -1
      CALL POPREAL8(Y(1))
      CALL POPCONTROL3B(J)
      OK = OK .AND. Y(1) .EQ. I .AND. J .EQ. MOD(I, 8)
   40 CONTINUE
      CALL ADSTACK_SIZE(S)
      PRINT *, OK .AND. S .EQ. 0
   50 CONTINUE
      END
",
        2,
    );
}

/// What is popped after a mark can be popped again; values that are pushed in between do no harm,
/// and marks nest.
#[test]
fn repetition() {
    all_true(
        "
      PROGRAM MAIN
      INTEGER*8 S
      LOGICAL OK
      DOUBLE PRECISION X
      OK = .TRUE.
      DO 10 I = 1, 5
   10 CALL PUSHINTEGER4(I)
      CALL ADSTACK_STARTREPEAT()
      DO 30 K = 1, 3
      CALL POPINTEGER4(J)
      OK = OK .AND. J .EQ. 5
C     Below the mark: this must not overwrite 5.
      CALL PUSHINTEGER4(100 + K)
      CALL PUSHREAL8(2.5D0)
      CALL POPREAL8(X)
      CALL POPINTEGER4(J)
      OK = OK .AND. J .EQ. 100 + K
      CALL POPINTEGER4(J)
      OK = OK .AND. J .EQ. 4
      CALL ADSTACK_STARTREPEAT()
      CALL POPINTEGER4(J)
      CALL PUSHINTEGER4(7)
      CALL POPINTEGER4(I)
      OK = OK .AND. J .EQ. 3 .AND. I .EQ. 7
      CALL ADSTACK_RESETREPEAT()
      CALL POPINTEGER4(J)
      OK = OK .AND. J .EQ. 3
      CALL ADSTACK_RESETREPEAT()
      CALL ADSTACK_ENDREPEAT()
      CALL POPINTEGER4(J)
      CALL POPINTEGER4(I)
      OK = OK .AND. J .EQ. 3 .AND. I .EQ. 2
   30 CALL ADSTACK_RESETREPEAT()
      CALL ADSTACK_ENDREPEAT()
      DO 40 I = 5, 1, -1
      CALL POPINTEGER4(J)
   40 OK = OK .AND. J .EQ. I
      CALL ADSTACK_SIZE(S)
      PRINT *, OK .AND. S .EQ. 0
      END
",
        1,
    );
}
