//! COMMON and SAVE in derivatives of `farfel tapenade`, between heads and between calls.

use farfel_tests::tapenade::{DIVIDED, agree, read, sizes, tapenade};
use farfel_tests::{sandbox, write};

/// Adjoints through COMMON blocks that units divide differently: checked by finite differences, and for
/// several cotangents at once.
#[test]
fn blocks_that_units_divide_differently() {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "all.f", DIVIDED);
    sizes(dir, &[("NBDIRSMAX", 5)]);
    tapenade(dir, &["-b", "-head", "head(y)/(x)", "all.f"]).success();
    tapenade(dir, &["-b", "-multi", "-head", "head(y)/(x)", "all.f"]).success();
    write(
        dir,
        "main.f",
        "      PROGRAM MAIN
      INCLUDE 'DIFFSIZES.inc'
      DOUBLE PRECISION X(3), XB(3), XV(NBDIRSMAX,3), Y, YB, YP, YM, H
      DOUBLE PRECISION YV(NBDIRSMAX), P(3), M(3)
      H = 1D-6
      DO 10 I = 1, 3
      X(I) = I + 0.3D0
   10 YV(I) = I - 1.5D0
      CALL HEAD_BV(X, XV, Y, YV, 3)
      YB = 1
      CALL HEAD_B(X, XB, Y, YB)
      DO 30 I = 1, 3
      DO 20 J = 1, 3
      P(J) = X(J)
      M(J) = X(J)
   20 PRINT *, XV(J, I), XB(I)*(J - 1.5D0)
      P(I) = P(I) + H
      M(I) = M(I) - H
      CALL HEAD(P, YP)
      CALL HEAD(M, YM)
   30 PRINT *, XB(I), (YP - YM)/(2*H)
      END
",
    );
    let sources = ["main.f", "all.f", "all_b.f", "all_bv.f"];
    agree(dir, &sources, 12, 1e-8);
}

/// An adjoint leaves in COMMON the values that one call of the subprogram leaves for the next: tables with a
/// flag that says that they are filled, a counter, and a value that the derivative does not need.
#[test]
fn adjoints_leave_what_the_next_call_finds() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "all.f",
        "      SUBROUTINE G(X, Y)
      DOUBLE PRECISION X, Y, A, LAST
      LOGICAL FIRST
      COMMON /S/ A, FIRST, K, LAST
      IF (FIRST) THEN
        A = 2
        FIRST = .FALSE.
      END IF
      K = K + 1
      Y = A*K*X*X
      END
      SUBROUTINE H(X, Y)
      DOUBLE PRECISION X, Y, A, LAST
      LOGICAL FIRST
      COMMON /S/ A, FIRST, K, LAST
      CALL G(X, Y)
      CALL G(Y, Y)
      Y = Y*LAST
      LAST = LAST + 1
      END
      BLOCK DATA
      DOUBLE PRECISION A, LAST
      LOGICAL FIRST
      COMMON /S/ A, FIRST, K, LAST
      DATA A, FIRST, K, LAST /-1D0, .TRUE., 0, 1D0/
      END
",
    );
    tapenade(dir, &["-b", "-head", "h(y)/(x)", "all.f"]).success();
    write(
        dir,
        "main.f",
        "      PROGRAM MAIN
      DOUBLE PRECISION X, XB, Y, YB, A, LAST
      LOGICAL FIRST
      COMMON /S/ A, FIRST, K, LAST
      X = 0.5D0
      DO I = 1, 3
        XB = 0
        YB = 1
        CALL H_B(X, XB, Y, YB)
C       Y = 8 (2I - 1)**2 2I I X**4
        PRINT *, XB, 4*8*(2*I - 1)**2*(2*I)*I*X**3
        PRINT *, A, 2.0, 1.0*K, 2.0*I, LAST, 1.0 + I
      END DO
      END
",
    );
    agree(dir, &["main.f", "all.f", "all_b.f"], 12, 1e-12);
}

/// A subprogram with saved variables is called with and without derivatives, also through an ENTRY:
/// everything that derivatives call shares one state, which is separate from that of the sources.
#[test]
fn what_derivatives_call_has_one_state() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "all.f",
        "      SUBROUTINE G(X)
      DOUBLE PRECISION X, SV
      SAVE SV
      DATA SV /2D0/
      X = SV*X
      SV = SV + 1
      RETURN
      ENTRY ADD(X)
      SV = SV + X
      END
      SUBROUTINE P(*)
      DOUBLE PRECISION T, Q
      T = 0
      CALL G(T)
      IF (T .EQ. 0D0) RETURN 1
      ENTRY PE
      T = 0
      CALL G(T)
      END
      DOUBLE PRECISION FUNCTION F(X)
      DOUBLE PRECISION X, CALLS
      SAVE CALLS
      DATA CALLS /0D0/
      CALLS = CALLS + 1
      F = CALLS*X
      END
      SUBROUTINE H(X, Y)
      DOUBLE PRECISION X, Y, F
      Y = X*F(1D0)
      CALL G(Y)
      CALL ADD(5D0)
      CALL P(*10)
   10 CALL G(Y)
      CALL PE
      Y = F(Y*Y)
      END
",
    );
    sizes(dir, &[("NBDIRSMAX", 2)]);
    for mode in ["-d", "-b", "-multi"] {
        let line = [
            mode,
            "-head",
            "h(y)/(x)",
            "-fixinterface",
            "-o",
            "out",
            "all.f",
        ];
        tapenade(dir, &line).success();
    }
    let told = read(dir, "out_d.msg");
    assert!(
        told.contains(
            "(AD14) derivatives have copies of their own of what g keeps from call to call: sv"
        ),
        "{told}"
    );
    write(
        dir,
        "main.f",
        "      PROGRAM MAIN
      DOUBLE PRECISION X, XB, XD, XV(2), Y, YB, YD, YV(2), SV, C, D
      X = 0.5D0
      SV = 2
      DO I = 1, 3
        XB = 0
        YB = 1
        CALL H_B(X, XB, Y, YB)
        XD = 1
        CALL H_D(X, XD, Y, YD)
        XV(1) = 1
        XV(2) = -1
        CALL H_DV(X, XV, Y, YV, 2)
C       Y = 2I ((2I - 1) SV (SV + 7) X)**2
        C = 2*I*((2*I - 1)*SV*(SV + 7))**2
        D = 2*C*X
        PRINT *, XB, D, Y, C*X**2, YD, D, YV(1), D, -YV(2), D
        SV = SV + 9
      END DO
C     Nobody has called the subprograms of the sources.
      CALL H(X, Y)
      PRINT *, Y, 2*(2*9*X)**2
      END
",
    );
    let files = ["main.f", "all.f", "out_b.f", "out_d.f", "out_dv.f"];
    agree(dir, &files, 16, 1e-12);
}

/// Several heads: one derivative of G serves its own head, which has all of COMMON as independents, and calls
/// that do not need that. The latter must not change the derivatives in COMMON.
#[test]
fn heads_share_what_they_call() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "all.f",
        "      SUBROUTINE G(X, Y, Z)
      DOUBLE PRECISION X, Y, Z, C, D
      COMMON /S/ C, D
      Y = X*X
      Z = D*X
      END
      SUBROUTINE M(X, T, U)
      DOUBLE PRECISION X(3), T, U, S
      CALL G(X(1), S, U)
      CALL G(S, T, U)
      END
      SUBROUTINE H(X, Y)
      DOUBLE PRECISION X(3), Y, C, D, T, U
      COMMON /S/ C, D
      C = X(3)**2
      D = X(2)
      CALL M(X, T, U)
      Y = T*C*D
      END
      SUBROUTINE P(X, Y)
      DOUBLE PRECISION X(3), Y, T
      CALL M(X, T, Y)
      END
",
    );
    sizes(dir, &[("NBDIRSMAX", 2)]);
    let heads = "h(y)/(x) p(y)/(x) g";
    for mode in ["-d", "-b", "-multi"] {
        let line = [mode, "-head", heads, "-fixinterface", "-o", "out", "all.f"];
        tapenade(dir, &line).success();
    }
    write(
        dir,
        "main.f",
        "      PROGRAM MAIN
      DOUBLE PRECISION X(3), XD(3), XB(3), XV(2,3), Y, YD, YB, YV(2)
      DOUBLE PRECISION W(3)
      DO I = 1, 3
        X(I) = 1 + 0.3D0*I
        XD(I) = I
        XB(I) = 0
        XV(1,I) = I
        XV(2,I) = -I
      END DO
      W(1) = 4*X(1)**3*X(3)**2*X(2)
      W(2) = X(1)**4*X(3)**2
      W(3) = 2*X(1)**4*X(3)*X(2)
      YB = 1
      CALL H_B(X, XB, Y, YB)
      PRINT *, (XB(I), W(I), I = 1, 3)
      CALL H_D(X, XD, Y, YD)
      PRINT *, YD, W(1) + 2*W(2) + 3*W(3)
      CALL H_DV(X, XV, Y, YV, 2)
      PRINT *, YV(1), YD, -YV(2), YD
      END
",
    );
    let files = ["main.f", "all.f", "out_b.f", "out_d.f", "out_dv.f"];
    agree(dir, &files, 6, 1e-12);
}

/// A head with ENTRY points that nothing calls, and with SAVE.
#[test]
fn adjoints_of_heads_with_entries_and_save() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "all.f",
        "      SUBROUTINE G(X, Y)
      DOUBLE PRECISION X, Y, S
      SAVE S
      DATA S /2D0/
      Y = S*X*X
      S = S + 1
      RETURN
      ENTRY RESET
      S = 2
      END
",
    );
    for mode in ["-d", "-b"] {
        tapenade(dir, &[mode, "-head", "g(y)/(x)", "-o", "out", "all.f"]).success();
    }
    write(
        dir,
        "main.f",
        "      PROGRAM MAIN
      DOUBLE PRECISION X, XD, XB, Y, YD, YB
      X = 0.5D0
      DO I = 0, 2
        XB = 0
        YB = 1
        CALL G_B(X, XB, Y, YB)
        XD = 1
        CALL G_D(X, XD, Y, YD)
        PRINT *, XB, 2.0 + I, YD, 2.0 + I
      END DO
      END
",
    );
    let files = ["main.f", "all.f", "out_b.f", "out_d.f"];
    agree(dir, &files, 6, 1e-12);
}

/// Values that callers leave in the derivatives of COMMON are not set to zero, under any name.
#[test]
fn heads_keep_cotangents_of_common_with_equivalence() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "all.f",
        "      SUBROUTINE H(X, Y)
      DOUBLE PRECISION X, Y, S, T, U(2), V
      COMMON /ST/ S, T
      EQUIVALENCE (U(1), S), (V, U(2))
      V = X*U(1)
      Y = S*U(2)
      END
",
    );
    write(
        dir,
        "main.f",
        "      PROGRAM MAIN
      DOUBLE PRECISION X, Y, S, T, XB, YB, SB, TB
      COMMON /ST/ S, T
      COMMON /ST_B/ SB, TB
      X = 1.5D0
      S = 0.75D0
      XB = 0
      SB = 0.5D0
      TB = 2
      YB = 3
      CALL H_B(X, XB, Y, YB)
      PRINT *, XB, 2*S + 3*S**2
      PRINT *, SB, 0.5D0 + 2*X + 6*X*S
      PRINT *, TB, 0D0
      END
",
    );
    tapenade(dir, &["-b", "-head", "h", "-o", "out", "all.f"]).success();
    agree(dir, &["main.f", "all.f", "out_b.f"], 3, 1e-12);
    // The name that comes first is the same in every run.
    let first = read(dir, "out_b.f");
    for _ in 0..5 {
        tapenade(dir, &["-b", "-head", "h", "-o", "out", "all.f"]).success();
        assert_eq!(read(dir, "out_b.f"), first);
    }
}

/// A caller saves the variables in COMMON that a call changes if it does not declare the block, uses the
/// names of its members for other variables, or declares less of it.
#[test]
fn blocks_that_callers_do_not_declare_are_kept() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "all.f",
        "      SUBROUTINE HEAD(X, Y)
      DOUBLE PRECISION X, Y
      INTEGER I, A, NA
      A = 1
      NA = 2
      Y = X
      DO I = 1, 3
        CALL LOADALL(I)
        CALL USEIT(X, Y)
        CALL SHORT(X, Y)
        A = A*NA
      END DO
      Y = Y*A
      END
      SUBROUTINE LOADALL(I)
      INTEGER I
      CALL LOAD(I)
      END
      SUBROUTINE LOAD(I)
      INTEGER I, K, NA
      PARAMETER (NA = 3)
      DOUBLE PRECISION A, C
      CHARACTER*(2*NA) NAME
      COMMON /B/ A(NA, 0:NA - 1), C, K, NAME
      CALL READIT(A, C, K, NAME, I)
      END
      SUBROUTINE USEIT(X, Y)
      DOUBLE PRECISION X, Y, A, C, FACTOR
      CHARACTER*3 NAME(2)
      COMMON /B/ A(9), C, K, NAME
      Y = SIN(Y*A(5))*C + X*K*FACTOR(NAME(2))
      END
      SUBROUTINE SHORT(X, Y)
      DOUBLE PRECISION X, Y, A
      COMMON /B/ A(3)
      Y = COS(Y*A(1))
      CALL LOAD(4)
      Y = Y + COS(Y*A(3))*X
      END
      DOUBLE PRECISION FUNCTION FACTOR(NAME)
      CHARACTER*(*) NAME
      FACTOR = ICHAR(NAME(1:1))*0.01D0
      END
",
    );
    tapenade(dir, &["-b", "-head", "head(y)/(x)", "all.f"]).success();
    write(
        dir,
        "main.f",
        "      PROGRAM MAIN
      DOUBLE PRECISION X, XB, Y, YB, P, M
      DO I = 1, 3
        X = 0.3D0*I
        YB = 1
        CALL HEAD_B(X, XB, Y, YB)
        CALL HEAD(X + 1D-6, P)
        CALL HEAD(X - 1D-6, M)
        PRINT *, XB, (P - M)/2D-6
      END DO
      END
      SUBROUTINE READIT(A, C, K, NAME, I)
      DOUBLE PRECISION A(9), C
      INTEGER K, I, J
      CHARACTER*6 NAME
      DO J = 1, 9
        A(J) = SIN(1D0*I*J)
      END DO
      C = 1 + 0.1D0*I
      K = 2*I
      WRITE (NAME, '(A,I1,A)') 'abc', I, 'de'
      END
",
    );
    agree(dir, &["main.f", "all.f", "all_b.f"], 3, 1e-7);
}

/// As in large models, where INCLUDE files declare everything everywhere: sweeps declare what they use. A
/// block that a unit does not name stays if its calls change it, because its sweep has to save it.
#[test]
fn sweeps_declare_what_they_use() {
    let dir = sandbox();
    let dir = dir.path();
    let common = "C     What is declared everywhere.
      INTEGER MANY, NOBODYS
      PARAMETER (MANY = 4, NOBODYS = 7)
      DOUBLE PRECISION A(MANY), B, OTHER(NOBODYS)
      COMMON /USED/ A, B
      COMMON /UNUSED/ OTHER
";
    let text = format!(
        "      SUBROUTINE HEAD(X, Y)
      DOUBLE PRECISION X, Y
{common}      INTEGER I
      Y = 0
      DO 10 I = 1, 3
        CALL LOAD(I)
        CALL USE(X, Y)
   10 CONTINUE
      END
      SUBROUTINE LOAD(I)
      INTEGER I, NOTHING
{common}      B = 2*I
      END
      SUBROUTINE USE(X, Y)
      DOUBLE PRECISION X, Y
{common}      Y = Y + SIN(X*B)
      CALL TWICE(Y)
      END
      SUBROUTINE TWICE(Y)
      DOUBLE PRECISION Y
{common}      Y = Y*Y
      END
"
    );
    write(dir, "all.f", &text);
    tapenade(dir, &["-b", "-head", "head(y)/(x)", "all.f"]).success();
    let made = read(dir, "all_b.f");
    for gone in ["NOBODYS", "UNUSED", "OTHER", "NOTHING", "everywhere"] {
        assert!(!made.contains(gone), "{gone}:\n{made}");
    }
    assert!(made.contains("COMMON /USED/"), "{made}");
    let twice = made.split("SUBROUTINE TWICE_B_BWD").nth(1);
    let twice = twice.and_then(|t| t.split("      END\n").next());
    let declares = |t: &str| t.contains("COMMON");
    assert_eq!(twice.map(declares), Some(false), "{made}");
    write(
        dir,
        "main.f",
        "      PROGRAM MAIN
      DOUBLE PRECISION X, XB, Y, YB, T, D
      X = 0.3D0
      XB = 0
      YB = 1
      CALL HEAD_B(X, XB, Y, YB)
      T = 0
      D = 0
      DO 10 I = 1, 3
      D = 2*(T + SIN(2*I*X))*(D + 2*I*COS(2*I*X))
   10 T = (T + SIN(2*I*X))**2
      PRINT *, XB, D
      END
",
    );
    agree(dir, &["main.f", "all.f", "all_b.f"], 1, 1e-12);
}

/// A derivative saves its last result, and asks a procedure that the program calls, too, whether that is
/// still valid: a note says so.
#[test]
fn what_is_shared_with_the_program_is_told() {
    let dir = sandbox();
    let dir = dir.path();
    let text = "      SUBROUTINE HEAD(X, Y)
      DOUBLE PRECISION X, Y, LAST
      LOGICAL NEW
      SAVE LAST
      IF (NEW(X)) LAST = SIN(X)
      Y = X*LAST
      END
      LOGICAL FUNCTION NEW(X)
      DOUBLE PRECISION X, OLD
      SAVE OLD
      DATA OLD /0D0/
      NEW = X .NE. OLD
      OLD = X
      END
";
    let told = "(AD15) derivatives and the program share what new keeps from call to call";
    for (text, wanted) in [
        (text.to_owned(), true),
        (text.replace("      OLD = X\n", ""), false),
    ] {
        write(dir, "all.f", text);
        for mode in ["-d", "-b"] {
            let ran = tapenade(dir, &[mode, "-head", "head(y)/(x)", "all.f"]).success();
            let said = String::from_utf8_lossy(&ran.get_output().stderr).into_owned();
            assert_eq!(said.contains(told), wanted, "{said}");
        }
    }
}

/// A block that units declare with different lengths, and variables that an unused ENTRY keeps, do not affect
/// the variables of other blocks that the heads name, in either mode.
#[test]
fn heads_name_variables_of_common_beside_blocks_of_several_lengths() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "all.f",
        "      SUBROUTINE HEAD
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      COMMON /B/ P
      COMMON /C/ X, Y, Z
      P = X*X
      CALL G
      Y = P*Z
      END
      SUBROUTINE G
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      COMMON /B/ P, Q
      SAVE T, J
      T = 2
      J = J + 1
      Q = P*T
      P = SIN(Q)
      CALL AENTRY
      END
      SUBROUTINE A
      INTEGER K
      DATA K /1/
      ENTRY AENTRY
      END
",
    );
    for mode in ["-b", "-d"] {
        tapenade(dir, &[mode, "-head", "head(y)/(x)", "all.f"]).success();
    }
    write(
        dir,
        "main.f",
        "      PROGRAM MAIN
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      COMMON /C/ X, Y, Z
      COMMON /C_D/ XD, YD
      COMMON /C_B/ XB, YB
      X = 0.5D0
      Z = 3
      XD = 1
      CALL HEAD_D
      YB = 1
      XB = 0
      CALL HEAD_B
      PRINT *, XB, 2*X*2*COS(2*X*X)*Z
      PRINT *, YD, XB
      END
",
    );
    agree(dir, &["main.f", "all.f", "all_b.f", "all_d.f"], 2, 1e-12);
}
