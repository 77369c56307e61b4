//! Arguments in derivatives of `farfel tapenade`: procedures, functions and arrays as values, and one array
//! passed twice.

use farfel_tests::tapenade::{
    CALLBACKS, agree, close, numbers, pairs, read, sizes, tapenade, whole,
};
use farfel_tests::{sandbox, write};

/// Procedures are passed together with their adjoints, and subprograms below a head get no garbage from
/// arrays that only provide their size.
#[test]
fn procedures_as_arguments_come_with_their_adjoints() {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "all.f", CALLBACKS);
    let heads = "sum2(y)/(x) cube(cube)/(x) wave(wave)/(x)";
    tapenade(dir, &["-b", "-head", heads, "all.f"]).success();
    let text = read(dir, "all_b.f");
    let found = whole(&text);
    // The passed procedures change none of their arguments, so no tape is needed.
    let wanted = [
        "SUM2_B(X,XB,N,W,WB,Y,YB)",
        "APPLY_B(FUN,FUN_B,X,XB,N,W,WB,Y,YB)",
        "FILL_B(G,G_B,X,XB,W,WB,N)",
        "CUBE_B(X,XB,K,CUBEB)",
        "WAVE_B(X,XB,K,WAVEB)",
    ];
    assert_eq!(found, wanted);
    write(
        dir,
        "main.f",
        "      DOUBLE PRECISION X, XB, W(3), WB(3), Y, YB, YP, YM
      X = 0.7D0
      XB = 99
      DO 10 I = 1, 3
   10 WB(I) = 99
      YB = 2
      CALL SUM2_B(X, XB, 3, W, WB, Y, YB)
      CALL SUM2(X + 1D-6, 3, W, YP)
      CALL SUM2(X - 1D-6, 3, W, YM)
      PRINT *, XB, (YP - YM)/1D-6
      END
",
    );
    let found = numbers(dir, &["main.f", "all.f", "all_b.f"], "");
    close(&found[..1], &found[1..], 1e-8);
    assert!(found[0].abs() > 1.0);
    // Without these heads the list of messages says which are missing.
    tapenade(dir, &["-b", "-head", "sum2(y)/(x)", "all.f"]).success();
    assert!(read(dir, "all_b.msg").contains("provide cube_b"));
}

/// A call that passes parts of one array twice, only to be read: the adjoint that gets the cotangent of the
/// whole array once exists beside the one with Tapenade's arguments. One cotangent and several.
#[test]
fn one_array_twice_as_argument_gets_both_contributions() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "all.f",
        "      SUBROUTINE NORM(N, A, LDA, Y)
      INTEGER N, LDA, J
      DOUBLE PRECISION A(LDA,N), Y, S
      Y = 0
      DO 10 J = 1, N
        CALL PROD(N, A(J,1), LDA, A(J,1), LDA, S)
        Y = Y + J*S
        CALL PROD(2, A(1,1), 1, A(2,1), 1, S)
   10   Y = Y + S*S
      END
      SUBROUTINE PROD(N, X, INCX, Z, INCZ, S)
      INTEGER N, INCX, INCZ, I
      DOUBLE PRECISION X(*), Z(*), S
      S = 0
      DO 10 I = 1, N
   10 S = S + X(1+(I-1)*INCX)*Z(1+(I-1)*INCZ)**2
      END
",
    );
    sizes(dir, &[("NBDIRSMAX", 2)]);
    tapenade(dir, &["-b", "-head", "norm(y)/(a)", "-o", "one", "all.f"]).success();
    let many = [
        "-b",
        "-multi",
        "-head",
        "norm(y)/(a)",
        "-o",
        "many",
        "all.f",
    ];
    tapenade(dir, &many).success();
    let text = read(dir, "one_b.f");
    assert!(text.contains("WHOLEB(PLACE + "), "{text}");
    write(
        dir,
        "main.f",
        "      INTEGER I, J
      DOUBLE PRECISION A(3,3), AB(3,3), AV(2,3,3), YV(2), Y, YB, P, M
      DO 10 J = 1, 3
      DO 10 I = 1, 3
   10 A(I,J) = COS(I + 0.7D0*J)
      AB = 0
      YB = 1
      CALL NORM_B(3, A, AB, 3, Y, YB)
      YV(1) = 1
      YV(2) = -3
      CALL NORM_BV(3, A, AV, 3, Y, YV, 2)
      DO 20 J = 1, 3
      DO 20 I = 1, 3
      A(I,J) = A(I,J) + 1D-5
      CALL NORM(3, A, 3, P)
      A(I,J) = A(I,J) - 2D-5
      CALL NORM(3, A, 3, M)
      A(I,J) = A(I,J) + 1D-5
      PRINT *, AB(I,J), (P - M)/2D-5
      PRINT *, AV(1,I,J), AB(I,J)
   20 PRINT *, AV(2,I,J), -3*AB(I,J)
      END
",
    );
    let sources = ["main.f", "all.f", "one_b.f", "many_bv.f"];
    let found = agree(dir, &sources, 27, 1e-8);
    assert!(found.iter().all(|x| *x != 0.0));
}

/// A function that is an argument and whose value is used only in conditions: its derivative is a subroutine,
/// wherever it is called or passed on.
#[test]
fn passed_functions_whose_value_only_decides() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "all.f",
        "      SUBROUTINE U(F, Y)
      DOUBLE PRECISION F, Y
      EXTERNAL F
      IF (F(Y) .GT. 0.6D0) RETURN
      Y = 2*Y
      END
      SUBROUTINE P(F, X, Y)
      DOUBLE PRECISION F, X, Y
      EXTERNAL F
      Y = X
      CALL U(F, Y)
      CALL U(F, Y)
      END
      SUBROUTINE E(X, Y)
      DOUBLE PRECISION Q, X, Y
      Y = X
      IF (Q(Y) .LT. 0.6D0) Y = 3*Y
      END
",
    );
    let heads = "p(y)/(x) e(y)/(x)";
    for mode in ["-d", "-b"] {
        tapenade(dir, &[mode, "-head", heads, "-o", "out", "all.f"]).success();
    }
    write(
        dir,
        "main.f",
        "      PROGRAM MAIN
      DOUBLE PRECISION X, XD, XB, Y, YD, YB, Q
      EXTERNAL Q, Q_D, Q_B
      X = 0.2D0
      XD = 1
      CALL P_D(Q, Q_D, X, XD, Y, YD)
      PRINT *, YD, 8.0
      XB = 0
      YB = 1
      CALL P_B(Q, Q_B, X, XB, Y, YB)
      PRINT *, XB, 8.0
      CALL E_D(X, XD, Y, YD)
      PRINT *, YD, 6.0
      XB = 0
      YB = 1
      CALL E_B(X, XB, Y, YB)
      PRINT *, XB, 6.0
      END
      DOUBLE PRECISION FUNCTION Q(X)
      DOUBLE PRECISION X
      Q = X
      X = X*2
      END
      SUBROUTINE Q_D(X, XD, Q)
      DOUBLE PRECISION X, XD, Q
      Q = X
      XD = XD*2
      X = X*2
      END
      SUBROUTINE Q_B(X, XB)
      DOUBLE PRECISION X, XB
      XB = XB*2
      END
",
    );
    let text = read(dir, "out_d.f");
    assert!(text.contains("CALL F_D(Y, YD, "), "{text}");
    assert!(!text.contains("DOUBLE PRECISION F_D"), "{text}");
    let (found, wanted) = pairs(&numbers(
        dir,
        &["main.f", "all.f", "out_d.f", "out_b.f"],
        "",
    ));
    close(&found, &wanted, 1e-12);
}

/// The same if the source contains all functions that are passed.
#[test]
fn known_functions_whose_value_only_decides() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "all.f",
        "      SUBROUTINE H(X, Y)
      DOUBLE PRECISION X, Y, V
      EXTERNAL V
      CALL U(V, X, Y)
      END
      SUBROUTINE U(G, X, Y)
      DOUBLE PRECISION G, X, Y
      Y = X*X
      IF (G(X) .GT. 0.5D0) Y = 3*X
      END
      DOUBLE PRECISION FUNCTION V(X)
      DOUBLE PRECISION X
      V = 0.5D0*X
      END
",
    );
    for mode in ["-d", "-b"] {
        tapenade(dir, &[mode, "-head", "h(y)/(x)", "-o", "out", "all.f"]).success();
    }
    write(
        dir,
        "main.f",
        "      PROGRAM MAIN
      DOUBLE PRECISION X, XD, XB, Y, YD, YB
      DO 10 I = 1, 2
      X = I*0.8D0
      XD = 1
      CALL H_D(X, XD, Y, YD)
      XB = 0
      YB = 1
      CALL H_B(X, XB, Y, YB)
      PRINT *, YD, MAX(1.6D0*(2 - I), 3D0*(I - 1))
      PRINT *, XB, YD
   10 CONTINUE
      END
      SUBROUTINE V_D(X, XD, V)
      DOUBLE PRECISION X, XD, V
      V = 0.5D0*X
      END
      SUBROUTINE V_B(X, XB)
      DOUBLE PRECISION X, XB
      END
",
    );
    let files = ["main.f", "all.f", "out_d.f", "out_b.f"];
    let (found, wanted) = pairs(&numbers(dir, &files, ""));
    close(&found, &wanted, 1e-12);
}

/// A function that is first passed and then called also gets the number of directions.
#[test]
fn passed_and_called_in_several_directions() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "all.f",
        "      SUBROUTINE H(X, Y)
      DOUBLE PRECISION X, Y, F, G
      EXTERNAL F
      Y = G(F, X)
      Y = Y*F(X)
      END
      DOUBLE PRECISION FUNCTION G(F, X)
      DOUBLE PRECISION F, X
      G = F(X)
      END
      DOUBLE PRECISION FUNCTION F(X)
      DOUBLE PRECISION X
      F = X*X
      END
",
    );
    let mut options = vec!["-d", "-multi", "-nbdirsmax", "2", "-fixinterface"];
    options.extend(["-noisize", "-head", "h(y)/(x)", "-o", "out", "all.f"]);
    tapenade(dir, &options).success();
    write(
        dir,
        "main.f",
        "      PROGRAM MAIN
      DOUBLE PRECISION X, XD(2), Y, YD(2)
      X = 1.5D0
      XD(1) = 1
      XD(2) = -2
      CALL H_DV(X, XD, Y, YD, 2)
      PRINT *, YD(1), 4*X**3
      PRINT *, YD(2), -8*X**3
      END
",
    );
    let (found, wanted) = pairs(&numbers(dir, &["main.f", "all.f", "out_dv.f"], ""));
    close(&found, &wanted, 1e-12);
}

/// Variables that an ENTRY point keeps without derivatives do not create a COMMON block without variables.
#[test]
fn entry_points_that_keep_what_has_no_derivative() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "all.f",
        "      DOUBLE PRECISION FUNCTION F()
      DOUBLE PRECISION X, G, T, E(3)
      SAVE
      DATA K /1/
      ENTRY G(X)
      T = 0.8D0
      E(3) = 0.3D0
      T = E(3)/X
      E = T
      F = SIN(T)**K
      END
      SUBROUTINE H(X, Y)
      DOUBLE PRECISION X, Y, G
      Y = X
      Y = X + NINT(SIN(G(Y)))
      END
",
    );
    for mode in ["-d", "-b"] {
        tapenade(dir, &[mode, "-head", "h(y)/(x)", "-o", "out", "all.f"]).success();
        let text = read(dir, if mode == "-d" { "out_d.f" } else { "out_b.f" });
        let empty = |l: &str| l.contains("COMMON") && l.trim_end().ends_with('/');
        assert!(!text.lines().any(empty), "{text}");
    }
}

/// A size that a passed procedure gets and does not change; COMMON that one uses; REAL and DOUBLE PRECISION
/// as one type.
const PASSED: &str = "      SUBROUTINE EVAL(X, F)
      DOUBLE PRECISION X(2), F
      EXTERNAL SQ
      CALL APPLY(2, X, F, SQ)
      END
      SUBROUTINE APPLY(N, X, F, G)
      INTEGER N
      DOUBLE PRECISION X(N), F
      EXTERNAL G
      CALL G(N, X, F)
      END
      SUBROUTINE SQ(N, X, F)
      INTEGER N
      DOUBLE PRECISION X(N), F
      F = X(1)*X(N)
      END
      SUBROUTINE CEVAL(X, F)
      DOUBLE PRECISION X(2), F, P
      EXTERNAL CSQ
      COMMON /C/ P
      P = X(2)
      CALL APPLY(2, X, F, CSQ)
      END
      SUBROUTINE CSQ(N, X, F)
      INTEGER N
      DOUBLE PRECISION X(N), F, P
      COMMON /C/ P
      F = P*X(1)
      END
      SUBROUTINE REVAL(X, F)
      DOUBLE PRECISION X, F
      CALL RSUB(X, F)
      END
      SUBROUTINE RSUB(X, F)
      REAL X, F
      F = X*X
      END
";

#[test]
fn a_passed_procedure_changes_what_its_text_says() {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "all.f", PASSED);
    write(
        dir,
        "main.f",
        "      PROGRAM MAIN
      DOUBLE PRECISION X(2), XB(2), F, FB
      X(1) = 3
      X(2) = 5
      FB = 1
      CALL EVAL_B(X, XB, F, FB)
      PRINT *, XB
      END
",
    );
    let heads = "eval(f)/(x) sq(f)/(x)";
    tapenade(dir, &["-b", "-head", heads, "-o", "out", "all.f"]).success();
    close(
        &numbers(dir, &["main.f", "all.f", "out_b.f"], ""),
        &[5.0, 3.0],
        0.0,
    );
}

/// Derivatives pass through COMMON that a passed procedure reads or sets, whoever calls it.
#[test]
fn derivatives_go_through_common_of_passed_procedures() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "all.f",
        format!(
            "{PASSED}      SUBROUTINE EVAL2(X, F)
      DOUBLE PRECISION X, F, P, Q, TOTAL, AREA, LINE, SLOPE
      EXTERNAL LINE, SLOPE, PUT
      COMMON /C2/ P, Q
      P = X*X
      Q = 1
      TOTAL = AREA(LINE, 0D0, X)
      P = SIN(X)
      CALL TWICE(PUT, X)
      F = TOTAL + Q + AREA(SLOPE, X, 2*X) + AREA(LINE, X, 1D0)
      END
      DOUBLE PRECISION FUNCTION AREA(G, A, B)
      DOUBLE PRECISION G, A, B, RULE
      EXTERNAL G
      AREA = RULE(G, A, (A + B)/2) + RULE(G, (A + B)/2, B)
      END
      DOUBLE PRECISION FUNCTION RULE(G, A, B)
      DOUBLE PRECISION G, A, B
      EXTERNAL G
      RULE = (B - A)*(G(A) + G(B))/2
      END
      DOUBLE PRECISION FUNCTION LINE(X)
      DOUBLE PRECISION X, P, Q
      COMMON /C2/ P, Q
      LINE = P*X + Q
      END
      DOUBLE PRECISION FUNCTION SLOPE(X)
      DOUBLE PRECISION X
      SLOPE = X**3
      END
      SUBROUTINE TWICE(S, X)
      DOUBLE PRECISION X
      EXTERNAL S
      CALL S(X)
      CALL S(2*X)
      END
      SUBROUTINE PUT(X)
      DOUBLE PRECISION X, P, Q
      COMMON /C2/ P, Q
      Q = Q + P*X**2
      END
"
        ),
    );
    sizes(dir, &[("NBDIRSMAX", 2)]);
    let heads = "ceval(f)/(x) csq(f)/(x) eval2(f)/(x)";
    for mode in ["-d", "-b", "-multi"] {
        tapenade(
            dir,
            &[mode, "-head", heads, "-fixinterface", "-o", "out", "all.f"],
        )
        .success();
    }
    write(
        dir,
        "main.f",
        "      PROGRAM MAIN
      DOUBLE PRECISION X(2), XD(2), XB(2), XV(2, 2), F, FB, FD, FV(2)
      DOUBLE PRECISION Y, YD, YB, YV(2), FP, FM, E
      PARAMETER (E = 1D-5)
      X(1) = 3
      X(2) = 5
      XB(1) = 0
      XB(2) = 0
      FB = 1
      CALL CEVAL_B(X, XB, F, FB)
      PRINT *, XB
      XD(1) = 1
      XD(2) = 10
      CALL CEVAL_D(X, XD, F, FD)
      PRINT *, FD
      XV(1, 1) = 1
      XV(2, 1) = 0
      XV(1, 2) = 0
      XV(2, 2) = 1
      CALL CEVAL_DV(X, XV, F, FV, 2)
      PRINT *, FV
      Y = 0.7D0
      YB = 0
      FB = 1
      CALL EVAL2_B(Y, YB, F, FB)
      YD = 1
      CALL EVAL2_D(Y, YD, F, FD)
      YV(1) = 1
      YV(2) = -1
      CALL EVAL2_DV(Y, YV, F, FV, 2)
      CALL EVAL2(Y + E, FP)
      CALL EVAL2(Y - E, FM)
      PRINT *, YB, FD, FV(1), -FV(2), (FP - FM)/(2*E)
      END
",
    );
    let files = ["main.f", "all.f", "out_b.f", "out_d.f", "out_dv.f"];
    let found = numbers(dir, &files, "");
    close(&found[..5], &[5.0, 3.0, 35.0, 5.0, 3.0], 0.0);
    close(&found[5..9], &[found[9]; 4], 1e-8);
    // Saved variables exist once, whatever is passed.
    let kept = PASSED.replacen("      EXTERNAL G\n", "      EXTERNAL G\n      SAVE L\n", 1);
    let kept = kept.replacen("      CALL G(", "      L = L + 1\n      CALL G(", 1);
    write(dir, "all.f", kept);
    for mode in ["-d", "-b"] {
        tapenade(dir, &[mode, "-head", "ceval(f)/(x)", "-o", "out", "all.f"]).success();
    }
    write(
        dir,
        "main.f",
        "      PROGRAM MAIN
      DOUBLE PRECISION X(2), XD(2), XB(2), F, FB, FD
      X(1) = 3
      X(2) = 5
      XB(1) = 0
      XB(2) = 0
      FB = 1
      CALL CEVAL_B(X, XB, F, FB)
      XD(1) = 1
      XD(2) = 10
      CALL CEVAL_D(X, XD, F, FD)
      PRINT *, XB, FD
      END
",
    );
    let found = numbers(dir, &["main.f", "all.f", "out_b.f", "out_d.f"], "");
    close(&found, &[5.0, 3.0, 35.0], 0.0);
}

#[test]
fn real_and_double_precision_are_one_type_with_r8() {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "all.f", PASSED);
    let line = ["-head", "reval(f)/(x)", "-o", "out", "all.f"];
    for mode in ["-d", "-b"] {
        tapenade(dir, &[&[mode, "-r8"], &line[..]].concat()).success();
        tapenade(dir, &[&[mode], &line[..]].concat()).failure();
    }
}

/// REAL*4 and INTEGER*4 are not REAL and INTEGER where these take eight bytes: in arguments, COMMON, constants and kinds.
#[test]
fn sizes_are_those_of_the_program_whatever_the_default_sizes_are() {
    let source = "      SUBROUTINE F(X, Y, W, Z, N, L)
      REAL*8 X, Y, Z
      REAL*4 W(3), Q
      INTEGER*4 N(2)
      LOGICAL*4 L(2)
      COMPLEX*8 C
      INTEGER*8 BIG
      COMMON /DATA/ Q(2), C, N2, K
      INTEGER*4 N2, K
      REAL(KIND=4) A
      REAL(8) B
      A = W(2)*0.1_4
      BIG = N(1)
      B = X*X*A + N(2)*X*1.1_8
      IF (L(2)) B = B*(Q(2) + REAL(C) + AIMAG(C) + N2)
      CALL G(B, W, 0.3_4, 0.7_8, 7_4, K, Y)
      Y = Y*Z + BIG*X
      W(1) = 9
      CALL H(REAL(X*X, 4), REAL(X, KIND=8), REAL(KIND(A), KIND(A)), Y)
      END
      SUBROUTINE H(A, B, C, Y)
      REAL*4 A, C
      REAL*8 B, Y
      Y = Y + A*B*C
      END
      SUBROUTINE G(B, W, P, R, I, K, Y)
      REAL*8 B, R, Y
      REAL*4 W(*), P
      INTEGER*4 I, K
      DO 10 J = 1, K
        Y = Y + B*W(J)*P*R*I
        W(J) = W(J) + SIN(Y)
   10 CONTINUE
      END
";
    let main = "      REAL*8 X, XD, Y, YD, Z, ZERO, YP, YM, XB, YB
      REAL*4 W(3), Q
      INTEGER*4 N(2), N2, K
      LOGICAL*4 L(2)
      COMPLEX*8 C
      COMMON /DATA/ Q(2), C, N2, K
      Q(1) = 100
      Q(2) = 0.3_4
      C = (0.2_4, 0.4_4)
      N2 = 3
      K = 3
      N(1) = 5
      N(2) = 2
      L(1) = .FALSE.
      L(2) = .TRUE.
      Z = 1.5
      X = 0.7_8
      CALL VALUES(W, Y)
      CALL F(X, Y, W, Z, N, L)
      PRINT *, Y
      XD = 1
      YD = 0
      CALL VALUES(W, Y)
      CALL F_D(X, XD, Y, YD, W, Z, N, L)
      PRINT *, Y, YD
      XB = 0
      YB = 1
      CALL VALUES(W, Y)
      CALL F_B(X, XB, Y, YB, W, Z, N, L)
      PRINT *, XB
      X = X + 0.001_8
      CALL VALUES(W, YP)
      CALL F(X, YP, W, Z, N, L)
      X = X - 0.002_8
      CALL VALUES(W, YM)
      CALL F(X, YM, W, Z, N, L)
      PRINT *, (YP - YM)/0.002_8
      END
      SUBROUTINE VALUES(W, Y)
      REAL*4 W(3)
      REAL*8 Y
      W(1) = 1.1_4
      W(2) = 1.2_4
      W(3) = 1.3_4
      Y = 0.5
      END
";
    let (real, double, integer) = (
        "-fdefault-real-8",
        "-fdefault-double-8",
        "-fdefault-integer-8",
    );
    let mut first = None;
    for (options, flags) in [
        (&[][..], &[][..]),
        (&["-r8"], &[real]),
        (&["-r8"], &[real, double]),
        (&["-i8"], &[integer]),
        (&["-r8", "-i8"], &[real, integer]),
    ] {
        let dir = sandbox();
        let dir = dir.path();
        write(dir, "all.f", source);
        write(dir, "main.f", main);
        for mode in ["-d", "-b"] {
            let line = [mode, "-head", "f(y)/(x)", "all.f"];
            tapenade(dir, &[options, &line[..]].concat()).success();
        }
        let files = ["main.f", "all.f", "all_d.f", "all_b.f"];
        let found = numbers(dir, &[&files, flags].concat(), "");
        let [primal, again, tangent, adjoint, difference] = found[..] else {
            panic!("{found:?}");
        };
        assert_eq!(primal, again, "{options:?} {flags:?}");
        close(&[adjoint], &[tangent], 1e-6);
        close(&[tangent], &[difference], 1e-3);
        assert!(tangent.abs() > 1.0, "{found:?}");
        // Numbers of four bytes and of eight have the same values in all ways.
        first.get_or_insert(primal);
        close(&[primal], &[first.unwrap_or_default()], 1e-12);
    }
}

/// A function in an argument of a call: its own argument has a derivative, zero if necessary.
#[test]
fn functions_in_arguments_get_derivatives_that_are_set() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "all.f",
        "      SUBROUTINE H(X, Y)
      DOUBLE PRECISION X, Y, T, U, Z, R
      COMMON /B/ R
      R = X
      T = 0.5D0
      CALL G((U(T)), Y)
      Z = U(X)
      Y = Y*Z
      END
      DOUBLE PRECISION FUNCTION U(A)
      DOUBLE PRECISION A, R
      COMMON /B/ R
      U = A**2*R
      END
      SUBROUTINE G(A, Y)
      DOUBLE PRECISION A, Y
      Y = A*3
      END
",
    );
    for mode in ["-d", "-b"] {
        tapenade(dir, &[mode, "-head", "h(y)/(x)", "-o", "out", "all.f"]).success();
    }
    write(
        dir,
        "main.f",
        "      PROGRAM MAIN
      DOUBLE PRECISION X, Y, XD, YD
      X = 1.5D0
      XD = 1
      CALL H_D(X, XD, Y, YD)
      PRINT *, YD, 3*X**3
      XD = 0
      YD = 1
      CALL H_B(X, XD, Y, YD)
      PRINT *, XD, 3*X**3
      END
",
    );
    agree(dir, &["main.f", "all.f", "out_d.f", "out_b.f"], 2, 1e-12);
}

/// Nothing can be assigned to an array before it is used in a condition.
#[test]
fn array_values_in_conditions_are_refused() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "all.f",
        "      DOUBLE PRECISION FUNCTION G(B)
      DOUBLE PRECISION B(3), E(3)
      COMMON /K/ E
      E = B
      G = 1
      END
      SUBROUTINE H(X)
      DOUBLE PRECISION X(3), G
      IF (G(SIN(X)) .GT. 0.5D0) X(1) = 2*X(1)
      END
",
    );
    let ran = tapenade(dir, &["-b", "-head", "h", "-fixinterface", "all.f"]).failure();
    let said = String::from_utf8_lossy(&ran.get_output().stderr).into_owned();
    assert!(
        said.contains("F0314") && said.contains("assign it to an array first"),
        "{said}"
    );
}

/// The callee writes to an array that is passed by value, and whose derivative is zero: compilers put
/// constant arrays into read-only memory.
#[test]
fn array_values_without_derivative_may_be_changed() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "all.f",
        "      SUBROUTINE G(X, B, Y)
      DOUBLE PRECISION X, B(3), Y
      B(2) = X*B(2)
      Y = X*B(1) + B(2)
      END
      SUBROUTINE H(X, Y)
      DOUBLE PRECISION X(3), Y, E(3), T
      E = 0.5D0
      CALL G(X(1), 2*E, Y)
      CALL G(X(2), 2*X, T)
      Y = Y + T
      END
",
    );
    for mode in ["-d", "-b"] {
        tapenade(dir, &[mode, "-head", "h(y)/(x)", "-o", "out", "all.f"]).success();
    }
    write(
        dir,
        "main.f",
        "      PROGRAM MAIN
      DOUBLE PRECISION X(3), XD(3), XB(3), Y, YD, YB
      X = (/ 0.5D0, 3D0, 2D0 /)
      XD = (/ 1D0, 10D0, 100D0 /)
C     Y = 2 X(1) + 2 X(1) X(2) + 2 X(2)**2
      CALL H_D(X, XD, Y, YD)
      PRINT *, YD, 2 + 2*X(2) + 10*(2*X(1) + 4*X(2))
      XB = 0
      YB = 1
      CALL H_B(X, XB, Y, YB)
      PRINT *, XB(1), 2 + 2*X(2), XB(2), 2*X(1) + 4*X(2), XB(3), 0.0
      END
",
    );
    let files = ["main.f", "all.f", "out_d.f", "out_b.f"];
    agree(dir, &files, 4, 1e-12);
}

/// Only the COMMON block of a passed function connects X with Y: in the head, and below it. The subprogram
/// that takes the function has constants from DATA, which its copy has as well, and an ENTRY; so does the
/// subprogram that the function calls.
#[test]
fn common_of_passed_procedures_is_the_only_way() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "all.f",
        "      SUBROUTINE HEAD(X, Z, Y)
      DOUBLE PRECISION X, Z, Y, A, G
      EXTERNAL G
      COMMON /P/ A
      A = X
      CALL QUAD(G, 2D0, Y)
      Y = Y + Z
      END
      SUBROUTINE TOP(X, Y)
      DOUBLE PRECISION X, Y, T
      T = 3*X
      CALL BELOW(T, Y)
      Y = Y + X
      END
      SUBROUTINE BELOW(T, Y)
      DOUBLE PRECISION T, Y, A, G
      EXTERNAL G
      COMMON /P/ A
      A = T
      CALL QUAD(G, 2D0, Y)
      END
      SUBROUTINE ONLY(X, Y)
      DOUBLE PRECISION X, Y
      CALL BELOW(X, Y)
      END
      DOUBLE PRECISION FUNCTION G(T)
      DOUBLE PRECISION T, A, SAME
      COMMON /P/ A
      G = A*A*SAME(T)
      END
      DOUBLE PRECISION FUNCTION TWICE(T)
      DOUBLE PRECISION T, SAME
      TWICE = 2*T
      RETURN
      ENTRY SAME(T)
      SAME = T
      END
C     Simpson's rule
      SUBROUTINE QUAD(F, B, S)
      DOUBLE PRECISION F, B, S, W(3)
      DATA W /1D0, 4D0, 1D0/
      ENTRY QUAD2(F, B, S)
      S = 0
      DO 10 I = 1, 3
   10 S = S + W(I)*F(B*(I - 1)/2)*B/6
      END
",
    );
    let heads = "head(y)/(x z) top(y)/(x) only(y)/(x)";
    for mode in ["-d", "-b"] {
        tapenade(dir, &[mode, "-head", heads, "-o", "out", "all.f"]).success();
    }
    // The integral of G is 2 A**2.
    write(
        dir,
        "main.f",
        "      PROGRAM MAIN
      DOUBLE PRECISION X, XD, XB, Z, ZD, ZB, Y, YD, YB
      X = 5
      Z = 7
      XD = 1
      ZD = 100
      CALL HEAD_D(X, XD, Z, ZD, Y, YD)
      PRINT *, Y, 2*X**2 + Z, YD, 4*X + 100
      YB = 1
      CALL HEAD_B(X, XB, Z, ZB, Y, YB)
      PRINT *, XB, 4*X, ZB, 1.0
      CALL TOP_D(X, XD, Y, YD)
      PRINT *, Y, 18*X**2 + X, YD, 36*X + 1
      YB = 1
      CALL TOP_B(X, XB, Y, YB)
      PRINT *, XB, 36*X + 1
      CALL ONLY_D(X, XD, Y, YD)
      PRINT *, YD, 4*X
      YB = 1
      CALL ONLY_B(X, XB, Y, YB)
      PRINT *, XB, 4*X
      END
",
    );
    let files = ["main.f", "all.f", "out_d.f", "out_b.f"];
    agree(dir, &files, 9, 1e-12);
}

/// A subprogram with a second ENTRY that nothing calls is not copied for its function argument.
#[test]
fn common_of_passed_procedures_is_not_lost_silently() {
    let dir = sandbox();
    let dir = dir.path();
    let text = "      SUBROUTINE HEAD(X, Y)
      DOUBLE PRECISION X, Y
      CALL BELOW(X, Y)
      Y = Y + X
      END
      SUBROUTINE BELOW(X, Y)
      DOUBLE PRECISION X, Y, A, G
      EXTERNAL G
      COMMON /P/ A
      A = X
      CALL QUAD(G, Y)
      END
      DOUBLE PRECISION FUNCTION G(T)
      DOUBLE PRECISION T, A
      COMMON /P/ A
      G = A*T
      END
      SUBROUTINE QUAD(F, S)
      DOUBLE PRECISION F, S
      S = F(1D0)
      ENTRY SUM(F, S)
      S = S + F(2D0)
      END
";
    write(dir, "all.f", text);
    let ran = tapenade(dir, &["-d", "-head", "head(y)/(x)", "all.f"]).success();
    let said = String::from_utf8_lossy(&ran.get_output().stderr).into_owned();
    let wanted =
        "derivatives that go through COMMON /P/ are left out where G is called as an argument";
    assert!(said.contains("F0313") && said.contains(wanted), "{said}");
    // Nothing changes the variables that G reads.
    write(dir, "all.f", text.replacen("      A = X\n", "", 1));
    let ran = tapenade(dir, &["-d", "-head", "head(y)/(x)", "all.f"]).success();
    let said = String::from_utf8_lossy(&ran.get_output().stderr).into_owned();
    assert!(!said.contains("F0313"), "{said}");
}

/// A procedure gets an element of an array, which it reads, and the array, which it assigns.
#[test]
fn an_element_beside_its_array() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "all.f",
        "      SUBROUTINE HEAD(N, X, Y)
      INTEGER N
      DOUBLE PRECISION X(N), Y
      DO 10 K = 2, N
      CALL APPEND(K, X(K), X)
   10 CALL APPEND(K, X(K), X(1))
      Y = X(1)*X(N)
      END
      SUBROUTINE APPEND(K, XK, X)
      DOUBLE PRECISION XK, X(*)
      X(1) = X(1) + XK**2
      X(K) = 3*XK
      END
",
    );
    for mode in ["-d", "-b"] {
        tapenade(dir, &[mode, "-head", "head(y)/(x)", "-o", "out", "all.f"]).success();
    }
    // X(1) becomes X(1) + 10 X(2)**2 + 10 X(3)**2, X(3) becomes 9 X(3).
    write(
        dir,
        "main.f",
        "      PROGRAM MAIN
      DOUBLE PRECISION X(3), XD(3), XB(3), Y, YD, YB, S
      DATA XD /1D0, 10D0, 100D0/
      X = (/ 2D0, 3D0, 5D0 /)
      S = 2D0 + 90D0 + 250D0
      CALL HEAD_D(3, X, XD, Y, YD)
      PRINT *, Y, 45*S, YD, 45*(1D0 + 600 + 10000) + 900*S
      X = (/ 2D0, 3D0, 5D0 /)
      YB = 1
      CALL HEAD_B(3, X, XB, Y, YB)
      PRINT *, XB(1), 45D0, XB(2), 45*60D0, XB(3), 45*100D0 + 9*S
      END
",
    );
    agree(dir, &["main.f", "all.f", "out_d.f", "out_b.f"], 5, 1e-12);
}

/// A work array is passed as a whole, through its beginning, and in parts: the adjoint increments the
/// cotangents of two parts, and sets that of the whole.
#[test]
fn parts_of_a_work_array() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "all.f",
        "      SUBROUTINE HEAD(N, X, W, Y)
      INTEGER N
      DOUBLE PRECISION X(N), W(3*N), Y
      DO 10 I = 1, N
      W(N + I) = X(I)**2
   10 W(2*N + I) = 3*X(I)
      CALL MULT(N, W, W(N + 1), W(2*N + 1))
      Y = 0
      DO 20 I = 1, N
   20 Y = Y + W(I)
      END
      SUBROUTINE MULT(N, Z, A, B)
      INTEGER N
      DOUBLE PRECISION Z(N), A(N), B(N)
      DO 10 I = 1, N
   10 Z(I) = A(I)*B(N + 1 - I)
      END
",
    );
    for mode in ["-d", "-b"] {
        tapenade(dir, &[mode, "-head", "head(y)/(x)", "-o", "out", "all.f"]).success();
    }
    // Y = 3 X(1)**2 X(2) + 3 X(1) X(2)**2
    write(
        dir,
        "main.f",
        "      PROGRAM MAIN
      DOUBLE PRECISION X(2), XD(2), XB(2), W(6), WD(6), WB(6)
      DOUBLE PRECISION Y, YD, YB
      X = (/ 2D0, 5D0 /)
      XD = (/ 1D0, 100D0 /)
      WD = 0
      WB = 0
      CALL HEAD_D(2, X, XD, W, WD, Y, YD)
      PRINT *, Y, 210.0, YD, 135D0 + 7200
      YB = 1
      CALL HEAD_B(2, X, XB, W, WB, Y, YB)
      PRINT *, XB(1), 135.0, XB(2), 72.0
      END
",
    );
    agree(dir, &["main.f", "all.f", "out_d.f", "out_b.f"], 4, 1e-12);
}

/// The value of a function is the last argument of its derivative: it could be mistaken for a missing
/// argument.
#[test]
fn calls_with_other_numbers_of_arguments_are_refused() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "all.f",
        "      SUBROUTINE HEAD(X, Y)
      DOUBLE PRECISION X, Y, F
      IF (X .GT. 1) THEN
      Y = F(X)
      ELSE
      Y = F(X, 2)
      END IF
      END
      DOUBLE PRECISION FUNCTION F(X, N)
      DOUBLE PRECISION X
      F = X
      IF (X .GT. 0) F = N*X
      END
",
    );
    for mode in ["-d", "-b"] {
        let ran = tapenade(dir, &[mode, "-head", "head(y)/(x)", "all.f"]).failure();
        let said = String::from_utf8_lossy(&ran.get_output().stderr).into_owned();
        assert!(
            said.contains("F0314") && said.contains("passes 1 of the 2 arguments of F"),
            "{said}"
        );
        assert!(!said.contains("F0901"), "{said}");
    }
}

/// The same source gives the same text in every run, also if two arrays are each passed twice.
#[test]
fn the_text_of_derivatives_is_always_the_same() {
    let dir = sandbox();
    let dir = dir.path();
    let source = "      SUBROUTINE TWICE(X, N, Y)
      DOUBLE PRECISION X(N), U(9), V(9), Y
      DO I = 1, 9
        U(I) = X(1)*I
        V(I) = X(2) + I
      END DO
      CALL STEP(U, V, U, V, N)
      Y = U(2)*V(3)
      END
      SUBROUTINE STEP(A, B, C, D, N)
      DOUBLE PRECISION A(*), B(*), C(*), D(*)
      DO I = 2, N
        C(I) = A(I-1)*B(I) + C(I)
        D(I) = B(I-1)*SIN(A(I))*D(I)
      END DO
      END
";
    write(dir, "all.f", source);
    let text = || {
        tapenade(dir, &["-b", "-head", "twice(y)/(x)", "all.f"]).success();
        read(dir, "all_b.f")
    };
    let first = text();
    assert!(first.contains("STEP_1"), "{first}");
    for _ in 0..12 {
        assert_eq!(text(), first);
    }
}
