//! `farfel tapenade -b`: adjoints with the names, the argument lists and the meaning that they have
//! from Tapenade 3.16, which is asked itself where `TAPENADE_HOME` names it.

#![allow(clippy::print_stderr)] // says what was skipped

use std::fs;
use std::path::Path;
use std::process::Command;

use farfel_tests::tapenade::{
    CALLBACKS, DIVIDED, MODEL, close, files_made, headers, numbers, read, real_tapenade, sizes,
    statements, tapenade,
};
use farfel_tests::{farfel_path, sandbox, tree, write};

/// What else is differentiated: values that are overwritten, functions with side effects, arrays of
/// assumed size, complex numbers, procedures without text, input and STOP.
const MORE: &str = "      SUBROUTINE ACC(X, Y)
      DOUBLE PRECISION X, Y
      Y = Y + X*X
      END
      SUBROUTINE SQ(V, W)
      DOUBLE PRECISION V, W
      V = V*V*W
      W = SIN(V)
      V = EXP(W)
      END
      SUBROUTINE TOP(X, Y, Z)
      DOUBLE PRECISION X, Y, Z
      Z = X
      CALL SQ(X, Z)
      Y = X*Z
      END
      SUBROUTINE ASZ(X, Y, N)
      DOUBLE PRECISION X(*), Y
      Y = 1
      DO 10 I = 1, N
   10 Y = Y*X(I)
      END
      SUBROUTINE LB(X, Y)
      DOUBLE PRECISION X, Y, T, U
      EXTERNAL U
      N = 3
      CALL LIB(N, X, T)
      Y = T*U(X, N)
      END
      DOUBLE PRECISION FUNCTION FF(A, B)
      DOUBLE PRECISION A, B, C
      COMMON /Q/ C
      FF = A*A*EXP(B)*C
      A = FF*2
      END
      SUBROUTINE CPL(Z, R)
      COMPLEX*16 Z(2), W
      DOUBLE PRECISION R
      W = Z(1)*CONJG(Z(2)) + EXP(Z(1))
      R = ABS(W)**2 + AIMAG(Z(2))
      END
      SUBROUTINE IO(X, Y)
      DOUBLE PRECISION X, Y, A
      IF (X .LT. 0) STOP 'NEGATIVE'
      READ *, A
      Y = A*X*X
      Y = Y*Y
      END
      SUBROUTINE SV(X, Y)
      DOUBLE PRECISION X, Y, T(3), C
      SAVE
      DATA C /4D0/
      DO 10 I = 1, 3
   10 T(I) = X**I
      DO 20 I = 2, 3
   20 T(I) = T(I)*T(I-1)
      Y = T(3)*C
      END
      SUBROUTINE NEWTON(A, X, K)
      DOUBLE PRECISION A, X, D
      X = A
      K = 0
   10 D = (X*X*X - A)/(3*X*X)
      X = X - D
      K = K + 1
      IF (K .GT. 50) RETURN
      IF (ABS(D) .GT. 1D-13) GOTO 10
      END
";

/// Command lines, and the headers that they leave; what has a tape follows none.
const LINES: &[(&[&str], &[&str])] = &[
    (
        &["-b", "-head", "model(y)/(x)"],
        &["MODEL_B(X,XB,N,Y,YB,K)", "SCALE_B(V,VB)"],
    ),
    (
        &[
            "-backward",
            "-root",
            "model",
            "-vars",
            "x s",
            "-outvars",
            "y",
        ],
        &["MODEL_B(X,XB,N,Y,YB,K)", "SCALE_B(V,VB)"],
    ),
    (
        &[
            "-reverse",
            "-head",
            "model(x)\\(y)",
            "-adjfuncname",
            "A_%",
            "-adjvarname",
            "%_a",
        ],
        &["A_MODEL(X,X_A,N,Y,Y_A,K)", "A_SCALE(V,V_A)"],
    ),
    (
        &[
            "-b",
            "-difffuncname",
            "_g",
            "-diffvarname",
            "_g",
            "-head",
            "f(f)/(a)",
        ],
        &["F_G0(A,A_G,I,F_G)"],
    ),
    (&["-b", "-head", "f"], &["F_B(A,AB,I,FB)"]),
    (
        &["-b", "-head", "scale f(f)/(s)"],
        &["F_B(A,I,FB)", "SCALE_B(V,VB)"],
    ),
    (&["-b", "-head", "acc(y)/(x)"], &["ACC_B(X,XB,Y,YB)"]),
    (&["-b", "-head", "top(y)/(x)"], &["TOP_B(X,XB,Y,YB,Z)"]),
    (&["-b", "-head", "top"], &["TOP_B(X,XB,Y,YB,Z,ZB)"]),
    // A head that another one calls.
    (
        &["-b", "-head", "top(y)/(x) sq(v)/(w)"],
        &["SQ_B(V,VB,W,WB)", "TOP_B(X,XB,Y,YB,Z)"],
    ),
    (
        &["-b", "-head", "top(y)/(x z)", "-fixinterface"],
        &["TOP_B(X,XB,Y,YB,Z,ZB)"],
    ),
    (&["-b", "-head", "asz(y)/(x)"], &["ASZ_B(X,XB,Y,YB,N)"]),
    (&["-b", "-head", "lb(y)/(x)"], &["LB_B(X,XB,Y,YB)"]),
    (&["-b", "-head", "ff(ff)/(b)"], &["FF_B(A,B,BB,FFB)"]),
    (&["-b", "-head", "ff"], &["FF_B(A,AB,B,BB,FFB)"]),
    (&["-b", "-head", "cpl(r)/(z)"], &["CPL_B(Z,ZB,R,RB)"]),
    (&["-b", "-head", "io(y)/(x)"], &["IO_B(X,XB,Y,YB)"]),
    (
        &["-b", "-head", "newton(x)/(a)"],
        &["NEWTON_B(A,AB,X,XB,K)"],
    ),
    (
        &["-b", "-multi", "-head", "model(y)/(x)"],
        &["MODEL_BV(X,XB,N,Y,YB,K,NBDIRS)", "SCALE_BV(V,VB,NBDIRS)"],
    ),
    (
        &["-b", "-multi", "-head", "ff(ff)/(b)"],
        &["FF_BV(A,B,BB,FFB,NBDIRS)"],
    ),
    (
        &["-b", "-d", "-head", "acc(y)/(x)"],
        &["ACC_D(X,XD,Y,YD)", "ACC_B(X,XB,Y,YB)"],
    ),
];

/// Headers without the keyword, but for the sweeps of subprograms below the heads.
fn whole(text: &str) -> Vec<String> {
    let strip = |h: String| {
        let at = h.find("SUBROUTINE").map(|i| i + 10);
        let at = at.or_else(|| h.find("FUNCTION").map(|i| i + 8));
        h[at.unwrap_or(0)..].to_owned()
    };
    let sweep = |h: &String| h.contains("_FWD(") || h.contains("_BWD(");
    headers(text)
        .into_iter()
        .map(strip)
        .filter(|h| !sweep(h))
        .collect()
}

#[test]
fn files_and_argument_lists_are_tapenade_s() {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "all.f", format!("{MODEL}{MORE}"));
    for (line, wanted) in LINES {
        tapenade(dir, &[line, &["-o", "out", "all.f"][..]].concat()).success();
        let made: Vec<String> = tree(dir).into_iter().filter(|n| n != "all.f").collect();
        let [file, messages] = made.as_slice() else {
            panic!("{line:?}: {made:?}");
        };
        assert_eq!(&file.replace(".f", ".msg"), messages);
        assert_eq!(whole(&read(dir, file)), *wanted, "{line:?}");
        for f in &made {
            fs::remove_file(dir.join(f)).unwrap();
        }
    }
}

#[test]
fn names_of_files_follow_the_options() {
    assert_eq!(files_made(&["-b"]), ["a_b.f", "a_b.msg", "b_b.f"]);
    assert_eq!(files_made(&["-b", "-o", "all"]), ["all_b.f", "all_b.msg"]);
    assert_eq!(
        files_made(&["-b", "-o", "all", "-adjfuncname", "_r"]),
        ["all_r.f", "all_r.msg"]
    );
    assert_eq!(
        files_made(&["-b", "-d", "-o", "all", "-adjfuncname", "_r"]),
        ["all_db.f", "all_db.msg"]
    );
    assert_eq!(files_made(&["-b", "-d"]), ["a_db.f", "a_db.msg", "b_db.f"]);
    assert_eq!(
        files_made(&["-b", "-multi", "-o", "all"]),
        ["all_bv.f", "all_bv.msg"]
    );
    assert_eq!(
        files_made(&["-b", "-splitoutputfiles"]),
        ["a_b.f", "a_b.msg", "b_b.f"]
    );
}

/// Procedures whose text is missing, and their adjoints as from a user of Tapenade.
const LIBRARY: &str = "      SUBROUTINE LIB(N, X, T)
      DOUBLE PRECISION X, T
      T = N*X**3
      X = 2*X
      N = N + 1
      END
      SUBROUTINE LIB_B(N, X, XB, T, TB)
      DOUBLE PRECISION X, XB, T, TB
      XB = 2*XB + 3*N*X*X*TB
      TB = 0
      END
      DOUBLE PRECISION FUNCTION U(X, N)
      DOUBLE PRECISION X
      U = X**N
      END
      SUBROUTINE U_B(X, XB, N, UB)
      DOUBLE PRECISION X, XB, UB
      XB = XB + N*X**(N-1)*UB
      UB = 0
      END
";

/// Calls adjoints as users do, and prints each number with what it must be. What is no input of an
/// adjoint holds rubbish: Tapenade's adjoints set it.
const DRIVER: &str = "      PROGRAM MAIN
      DOUBLE PRECISION X(3), XB(3), G(3), Y, YB, S, T, SB, TB, V, W, VB
      DOUBLE PRECISION WB, Z, A, AB, B, BB, C, CB, FFB, R, RB, H, P, Q
      DOUBLE PRECISION E
      COMPLEX*16 ZC(2), ZB(2), D(2)
      COMMON /PAR/ S, T
      COMMON /PAR_B/ SB, TB
      COMMON /Q/ C
      COMMON /Q_B/ CB
      EXTERNAL FF
      DOUBLE PRECISION FF
C     MODEL: Y = 3*sum(S*sin(x) + T**i)*T but for i = 2, T = x(1)
      X(1) = 0.7D0
      X(2) = -0.4D0
      X(3) = 1.3D0
      S = 2
      DO 10 I = 1, 3
   10 XB(I) = 99
      SB = 99
      YB = 0.5D0
      CALL MODEL_B(X, XB, 3, Y, YB, 2)
      T = X(1)
      E = S*SIN(X(1)) + T + S*SIN(X(3)) + T**3
      G(1) = 1.5D0*(S*COS(X(1))*T + E + T*(1 + 3*T**2))
      PRINT *, XB(1), G(1)
      PRINT *, XB(2), 0D0
      PRINT *, XB(3), 1.5D0*S*COS(X(3))*T
      PRINT *, SB, 1.5D0*(SIN(X(1)) + SIN(X(3)))*T
      PRINT *, YB, 0D0
C     ACC: the cotangent of Y goes on
      A = 3
      YB = 2
      AB = 99
      CALL ACC_B(A, AB, Y, YB)
      PRINT *, AB, 12D0
      PRINT *, YB, 2D0
C     TOP and SQ
      A = 0.9D0
      AB = 99
      YB = 1
      CALL TOP_B(A, AB, Y, YB, Z)
      H = 1D-6
      V = 0.9D0 + H
      CALL TOP(V, P, Z)
      V = 0.9D0 - H
      CALL TOP(V, Q, Z)
      PRINT *, AB, (P - Q)/(2*H)
      V = 0.8D0
      W = 1.1D0
      VB = 1
      WB = 0
      CALL SQ_B(V, VB, W, WB)
      P = 0.8D0*0.8D0*1.1D0
      E = EXP(SIN(P))*COS(P)
      PRINT *, WB, E*0.64D0
      PRINT *, VB, E*2*0.8D0*1.1D0
C     LB: T = 3*x**3, then x = 2*x and n = 4
      A = 1.2D0
      AB = 99
      YB = 1
      CALL LB_B(A, AB, Y, YB)
      PRINT *, AB, 48*7*1.2D0**6
C     FF, which changes A, so that the cotangent of A comes in, too
      A = 0.5D0
      B = 0.3D0
      C = 1.5D0
      AB = 2
      BB = 3
      CB = 4
      FFB = 1
      CALL FF_B(A, AB, B, BB, FFB)
      E = EXP(B)
      PRINT *, AB, 5*2*0.5D0*E*1.5D0
      PRINT *, BB, 5*0.25D0*E*1.5D0
      PRINT *, CB, 5*0.25D0*E
C     CPL, by the real inner product
      ZC(1) = (0.4D0, -0.7D0)
      ZC(2) = (1.1D0, 0.6D0)
      ZB(1) = 99
      ZB(2) = 99
      RB = 1
      CALL CPL_B(ZC, ZB, R, RB)
      DO 20 I = 1, 2
      DO 20 J = 1, 2
      D(1) = ZC(1)
      D(2) = ZC(2)
      D(I) = ZC(I) + H*(1, 0)
      IF (J .EQ. 2) D(I) = ZC(I) + H*(0, 1)
      CALL CPL(D, P)
      D(I) = 2*ZC(I) - D(I)
      CALL CPL(D, Q)
      E = DBLE(ZB(I))
      IF (J .EQ. 2) E = DIMAG(ZB(I))
   20 PRINT *, E, (P - Q)/(2*H)
C     IO reads 2
      A = 3
      AB = 99
      YB = 1
      CALL IO_B(A, AB, Y, YB)
      PRINT *, AB, 4D0*4*27
C     NEWTON: the cubic root
      A = 5
      AB = 99
      YB = 1
      Y = 0
      CALL NEWTON_B(A, AB, Y, YB, K)
      PRINT *, AB, 1/(3*5D0**(2D0/3))
C     SV: Y = 4*x**6, twice, since it keeps its variables
      DO 30 I = 1, 2
      A = I
      AB = 99
      YB = 1
      CALL SV_B(A, AB, Y, YB)
   30 PRINT *, AB, 24*A**5
      END
";

/// The heads of [`DRIVER`], as one command line.
const DRIVEN: &str = "model(y)/(x s) acc(y)/(x) top(y)/(x) sq(v)/(v w) lb(y)/(x) \
    ff(ff a)/(a b c) cpl(r)/(z) io(y)/(x) newton(x)/(a) sv(y)/(x)";

/// The numbers and what they must be.
fn pairs(found: &[f64]) -> (Vec<f64>, Vec<f64>) {
    found.chunks(2).map(|p| (p[0], p[1])).unzip()
}

#[test]
fn adjoints_mean_what_tapenade_s_do() {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "all.f", format!("{MODEL}{MORE}"));
    write(dir, "lib.f", LIBRARY);
    write(dir, "main.f", DRIVER);
    tapenade(dir, &["-b", "-head", DRIVEN, "-o", "out", "all.f"]).success();
    let messages = read(dir, "out_b.msg");
    assert!(
        messages.contains("(AD09) function lib has no text here: provide lib_b"),
        "{messages}"
    );
    let sources = ["main.f", "all.f", "lib.f", "out_b.f"];
    let (found, wanted) = pairs(&numbers(dir, &sources, "2\n"));
    close(&found, &wanted, 2e-8);
    let Some(real) = real_tapenade() else {
        eprintln!("skipped: TAPENADE_HOME is not set, so nothing was compared with Tapenade");
        return;
    };
    let line = ["-b", "-head", DRIVEN, "-o", "theirs", "all.f"];
    let ran = Command::new(&real).args(line).current_dir(dir).output();
    assert!(ran.expect("the real tool").status.success());
    compile_kit(dir, &real.with_file_name("../ADFirstAidKit"));
    let sources = [
        "main.f",
        "all.f",
        "lib.f",
        "theirs_b.f",
        "adStack.o",
        "adBuffer.o",
    ];
    let (mut theirs, mut wanted) = pairs(&numbers(dir, &sources, "2\n"));
    // Of ABS of a complex number it has the derivative 0: the four numbers of CPL.
    theirs.drain(14..18);
    wanted.drain(14..18);
    close(&theirs, &wanted, 2e-8);
}

/// The run-time support of Tapenade's adjoints.
fn compile_kit(dir: &Path, kit: &Path) {
    let compiled = Command::new("gfortran")
        .args(["-c", "-O1", "-w", "-std=legacy"])
        .args([kit.join("adStack.c"), kit.join("adBuffer.f")])
        .current_dir(dir)
        .output()
        .expect("gfortran");
    let said = String::from_utf8_lossy(&compiled.stderr);
    assert!(compiled.status.success(), "{said}");
}

/// Several cotangents at once give what single ones give, also where there is room for more.
#[test]
fn several_cotangents_give_what_single_ones_give() {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "all.f", format!("{MODEL}{MORE}"));
    write(dir, "lib.f", LIBRARY);
    sizes(dir, &[("NBDIRSMAX", 4), ("ISIZE1OFX", 3)]);
    let heads = "model(y)/(x s) top(y z)/(x) asz(y)/(x)";
    tapenade(dir, &["-b", "-head", heads, "-o", "one", "all.f"]).success();
    tapenade(
        dir,
        &["-b", "-multi", "-head", heads, "-o", "many", "all.f"],
    )
    .success();
    write(
        dir,
        "main.f",
        "      PROGRAM MAIN
      INCLUDE 'DIFFSIZES.inc'
      DOUBLE PRECISION X(3), XB(3), XV(NBDIRSMAX,3), YV(NBDIRSMAX)
      DOUBLE PRECISION Y, YB, S, T, SB, TB, SV(NBDIRSMAX), A, AB, ZB
      DOUBLE PRECISION TV(NBDIRSMAX), AV(NBDIRSMAX), ZV(NBDIRSMAX), Z
      COMMON /PAR/ S, T
      COMMON /PAR_B/ SB, TB
      COMMON /PAR_BV/ SV, TV
      S = 2
      DO 10 J = 1, 3
      X(J) = 0.3D0*J
   10 YV(J) = J**2 - 2.5D0
      CALL MODEL_BV(X, XV, 3, Y, YV, 2, 3)
      DO 20 J = 1, 3
      YB = J**2 - 2.5D0
      CALL MODEL_B(X, XB, 3, Y, YB, 2)
      PRINT *, SV(J), SB
      DO 20 I = 1, 3
   20 PRINT *, XV(J,I), XB(I)
      DO 30 J = 1, 3
      YV(J) = J
   30 ZV(J) = 1 - J
      A = 0.9D0
      CALL TOP_BV(A, AV, Y, YV, Z, ZV, 3)
      DO 40 J = 1, 3
      A = 0.9D0
      YB = J
      ZB = 1 - J
      CALL TOP_B(A, AB, Y, YB, Z, ZB)
   40 PRINT *, AV(J), AB
      DO 50 J = 1, 3
   50 YV(J) = J
      CALL ASZ_BV(X, XV, Y, YV, 3, 3)
      DO 60 J = 1, 3
      YB = J
      CALL ASZ_B(X, XB, Y, YB, 3)
      DO 60 I = 1, 3
   60 PRINT *, XV(J,I), XB(I)
      END
",
    );
    let sources = ["main.f", "all.f", "lib.f", "one_b.f", "many_bv.f"];
    let (several, single) = pairs(&numbers(dir, &sources, ""));
    close(&several, &single, 1e-14);
    assert!(single.iter().filter(|s| **s != 0.0).count() > single.len() / 2);
}

/// Adjoints through COMMON blocks that units divide differently: by differences, and for several
/// cotangents at once.
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
    let (derivatives, wanted) = pairs(&numbers(dir, &sources, ""));
    assert_eq!(derivatives.len(), 12);
    close(&derivatives, &wanted, 1e-8);
}

/// Procedures that are passed come with their adjoints, and what is below a head gets no rubbish
/// from arrays that only lend their size.
#[test]
fn procedures_as_arguments_come_with_their_adjoints() {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "all.f", CALLBACKS);
    let heads = "sum2(y)/(x) cube(cube)/(x) wave(wave)/(x)";
    tapenade(dir, &["-b", "-head", heads, "all.f"]).success();
    let text = read(dir, "all_b.f");
    let found = whole(&text);
    // What is passed changes none of its arguments, so that nothing needs a tape.
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
    // Without these heads the list of messages says what is missing.
    tapenade(dir, &["-b", "-head", "sum2(y)/(x)", "all.f"]).success();
    assert!(read(dir, "all_b.msg").contains("provide cube_b"));
}

/// A call that passes parts of one array twice, of which each is only read: the adjoint that gets the
/// cotangent of the whole array once stands beside that with Tapenade's arguments. One cotangent
/// and several.
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
    let (found, wanted) = pairs(&numbers(dir, &sources, ""));
    close(&found, &wanted, 1e-8);
    assert_eq!(found.len(), 27);
    assert!(found.iter().all(|x| *x != 0.0));
}

/// What one call of a subprogram leaves to the next in COMMON, its adjoint leaves there too: tables
/// with a flag that says that they are filled, a counter, and a value that the derivative does not need.
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
    let (found, wanted) = pairs(&numbers(dir, &["main.f", "all.f", "all_b.f"], ""));
    close(&found, &wanted, 1e-12);
    assert_eq!(found.len(), 12);
}

/// A subprogram that keeps something is called with derivatives and without, also through an ENTRY:
/// all that derivatives call has one state, which is none of the sources'.
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
    let (found, wanted) = pairs(&numbers(dir, &files, ""));
    close(&found, &wanted, 1e-12);
    assert_eq!(found.len(), 16);
}

/// Several heads: one derivative of G serves its own head, which has all of COMMON as independents, and
/// calls in which nobody cares for that. These must leave the derivatives in COMMON alone.
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
    let (found, wanted) = pairs(&numbers(dir, &files, ""));
    close(&found, &wanted, 1e-12);
    assert_eq!(found.len(), 6);
}

/// A function that is an argument and whose value only decides: its derivative is a subroutine,
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

/// What the forward sweep computes of a derivative is the same for all cotangents: it knows nothing of
/// how many there are.
#[test]
fn forward_sweeps_know_no_cotangents() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "all.f",
        "      DOUBLE PRECISION FUNCTION G(U)
      DOUBLE PRECISION U, K
      G = ASIN(SIN(U/(1 + U*U)))*K(U)
      END
      DOUBLE PRECISION FUNCTION K(U)
      DOUBLE PRECISION U
      K = 2
      IF (U .GT. 0.1D0) K = 3
      END
      SUBROUTINE H(X, Y)
      DOUBLE PRECISION X, Y, G, Z
      Z = X
      Y = G(Z)
      END
",
    );
    let line = [
        "-b",
        "-multi",
        "-nbdirsmax",
        "2",
        "-head",
        "h(y)/(x)",
        "all.f",
    ];
    tapenade(dir, &line).success();
    write(
        dir,
        "main.f",
        "      PROGRAM MAIN
      DOUBLE PRECISION X, XV(2), Y, YV(2)
      X = 0.4D0
      YV(1) = 1
      YV(2) = -2
      XV(1) = 0
      XV(2) = 0
      CALL H_BV(X, XV, Y, YV, 2)
      PRINT *, XV(1), 3*(1 - X*X)/(1 + X*X)**2, XV(2), -2*XV(1)
      END
",
    );
    let (found, wanted) = pairs(&numbers(dir, &["main.f", "all.f", "all_bv.f"], ""));
    close(&found, &wanted, 1e-12);
}

/// A head with ENTRY points that nobody calls, and with SAVE.
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
    let (found, wanted) = pairs(&numbers(dir, &files, ""));
    close(&found, &wanted, 1e-12);
    assert_eq!(found.len(), 6);
}

/// In a condition nothing can be assigned to an array before.
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
        said.contains("F0305") && said.contains("assign it to an array first"),
        "{said}"
    );
}

/// What callers leave in the derivatives of COMMON is not set to zero, by whatever name.
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
    let (found, wanted) = pairs(&numbers(dir, &["main.f", "all.f", "out_b.f"], ""));
    close(&found, &wanted, 1e-12);
    assert_eq!(found.len(), 3);
    // Which of the names comes first is the same in every run.
    let first = read(dir, "out_b.f");
    for _ in 0..5 {
        tapenade(dir, &["-b", "-head", "h", "-o", "out", "all.f"]).success();
        assert_eq!(read(dir, "out_b.f"), first);
    }
}

/// A function in an argument of a call: what it gets has a derivative, zero if need be.
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
    let (found, wanted) = pairs(&numbers(
        dir,
        &["main.f", "all.f", "out_d.f", "out_b.f"],
        "",
    ));
    close(&found, &wanted, 1e-12);
    assert_eq!(found.len(), 2);
}

/// The callee writes to an array that is a value, and whose derivative is zero: compilers keep arrays of
/// constants where nobody can write.
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
    let (found, wanted) = pairs(&numbers(dir, &files, ""));
    close(&found, &wanted, 1e-12);
}

/// A makefile as people write it: it compiles and links Tapenade's stack, which nobody needs here.
#[test]
fn a_makefile_for_adjoints_works_unchanged() {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "model.f", MODEL);
    // A stack of the user's, in place of Tapenade's.
    write(
        dir,
        "adBuffer.f",
        "      SUBROUTINE PUSHREAL8(X)\n      DOUBLE PRECISION X\n      END\n\
         \x20     SUBROUTINE POPREAL8(X)\n      DOUBLE PRECISION X\n      END\n",
    );
    write(
        dir,
        "driver.f",
        "      PROGRAM DRIVER
      DOUBLE PRECISION X(2), XB(2), Y, YB, S, T
      COMMON /PAR/ S, T
      S = 1
      X(1) = 1
      X(2) = 0
      YB = 1
      CALL MODEL_B(X, XB, 2, Y, YB, 1)
      PRINT *, XB
      END
",
    );
    write(
        dir,
        "Makefile",
        "TAPENADE = tapenade\n\
         FC = gfortran\n\
         \n\
         program: driver.o model.o model_b.o adBuffer.o\n\
         \t$(FC) -o $@ $^\n\
         \n\
         model_b.f: model.f\n\
         \t$(TAPENADE) -b -head \"model(y)/(x)\" -nocheckpoint \"f\" -msglevel 5 -o model $<\n\
         \n\
         %.o: %.f\n\
         \t$(FC) -std=legacy -c -o $@ $<\n",
    );
    let output = Command::new("make")
        .arg(format!("TAPENADE={} tapenade", farfel_path().display()))
        .current_dir(dir)
        .output();
    let Ok(output) = output else {
        eprintln!("skipped: there is no make here");
        return;
    };
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let output = Command::new(dir.join("program")).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let found: Vec<f64> = text
        .split_whitespace()
        .map(|w| w.parse().unwrap())
        .collect();
    // Y = 3*(SIN(X(2)) + T**2)*T with T = X(1) = 1
    close(&found, &[9.0, 3.0], 1e-14);
}

/// Programs and command lines for which names of files and subprograms, argument lists and COMMON
/// blocks of derivatives must be those of the real tool, but for the sweeps of what is below the
/// heads, which that has in one.
#[test]
fn interfaces_are_those_of_the_real_tool() {
    let Some(real) = real_tapenade() else {
        eprintln!("skipped: TAPENADE_HOME is not set, so nothing was compared with Tapenade");
        return;
    };
    let heads = [
        "fill",
        "apply(y)/(x)",
        "model(y x)/(x s)",
        "f(f)/(s t)",
        "sq(w)/(v)",
        "ff(ff)/(c)",
    ];
    let more = heads.iter().map(|h| vec!["-b", "-head", *h]);
    let lines = LINES.iter().map(|(line, _)| line.to_vec()).chain(more);
    let mut compared = 0;
    for line in lines {
        let (ours, theirs) = (sandbox(), sandbox());
        let line = [&line[..], &["-o", "out", "all.f"]].concat();
        for dir in [&ours, &theirs] {
            write(dir.path(), "all.f", format!("{MODEL}{MORE}{CALLBACKS}"));
        }
        tapenade(ours.path(), &line).success();
        let ran = Command::new(&real)
            .args(&line)
            .current_dir(theirs.path())
            .output();
        assert!(ran.expect("the real tool").status.success(), "{line:?}");
        let (ours, theirs) = (facts(ours.path()), facts(theirs.path()));
        let missing: Vec<&String> = ours.iter().filter(|f| !theirs.contains(f)).collect();
        assert!(
            missing.is_empty(),
            "{line:?}: {missing:?} not in {theirs:?}"
        );
        // What it has besides is below the heads.
        let words = || line.iter().filter(|w| !w.ends_with(".f"));
        let named = |f: &&String| words().any(|w| mentions_head(w, f));
        let missing: Vec<&String> = theirs
            .iter()
            .filter(|f| !ours.contains(f))
            .filter(named)
            .collect();
        assert!(missing.is_empty(), "{line:?}: {missing:?} not in {ours:?}");
        compared += 1;
    }
    eprintln!("{compared} command lines compared with Tapenade");
}

/// Is it the header of the derivative of a head that a word of a command line names?
fn mentions_head(word: &str, header: &str) -> bool {
    let base = header.split('(').next().unwrap_or_default();
    let base = base.trim_start_matches("A_");
    let base = base.split('_').next().unwrap_or_default();
    let names = word.split(|c: char| !c.is_ascii_alphanumeric());
    !base.is_empty() && names.into_iter().any(|n| n.eq_ignore_ascii_case(base))
}

/// Names of files, headers, and COMMON blocks of derivatives.
fn facts(dir: &Path) -> Vec<String> {
    let mut facts = Vec::new();
    for name in tree(dir) {
        if name.ends_with(".f") && name != "all.f" {
            let text = read(dir, &name);
            facts.extend(whole(&text));
            let blocks = statements(&text).into_iter();
            facts.extend(blocks.filter(|s| {
                let block = s.strip_prefix("COMMON/").and_then(|s| s.split('/').next());
                block.is_some_and(|b| b.ends_with("_B") || b.ends_with("_BV"))
            }));
        }
        facts.push(name);
    }
    facts.sort();
    facts.dedup();
    facts
}

/// A size that a passed procedure gets, and does not change; COMMON that one uses; REAL and DOUBLE
/// PRECISION as one type.
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

/// Derivatives go through COMMON that a passed procedure reads or sets, whoever calls it.
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
    // What is kept from call to call is there once, whatever is passed.
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
