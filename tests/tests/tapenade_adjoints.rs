//! `farfel tapenade -b`: adjoints with the names, the argument lists and the meaning of Tapenade 3.16's,
//! compared with the tool itself if `TAPENADE_HOME` names it.

#![allow(clippy::print_stderr)] // says what was skipped

use std::fs;
use std::path::Path;
use std::process::Command;

use farfel_tests::tapenade::{
    CALLBACKS, MODEL, agree, close, files_made, numbers, pairs, read, real_tapenade, sizes,
    statements, tapenade, whole,
};
use farfel_tests::{farfel, farfel_path, sandbox, tree, write};

/// Further constructs to differentiate: overwritten values, functions with side effects, assumed-size arrays,
/// complex numbers, procedures without source, input and STOP.
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

/// Command lines, and the headers that they generate, except those with a tape, which have no counterpart.
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
        &["NEWTON_B(A,AB,X,XB,K)", "NEWTON_B_GROW_R8(TAPE_R8,NEED)"],
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

/// Procedures without source, and their adjoints as a user of Tapenade would write them.
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

/// Calls adjoints as users do, and prints each number with its expected value. Variables that are not inputs
/// of an adjoint contain garbage: Tapenade's adjoints set them.
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
    // Tapenade's derivative of ABS of a complex number is 0: the four numbers of CPL.
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

/// Several cotangents at once give the same as single ones, even if there is room for more.
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

/// The forward sweep's part of a derivative is the same for all cotangents, and independent of their number.
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
    agree(dir, &["main.f", "all.f", "all_bv.f"], 2, 1e-12);
}

/// A typical makefile: it compiles and links Tapenade's stack, which is not needed here.
#[test]
fn a_makefile_for_adjoints_works_unchanged() {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "model.f", MODEL);
    // A stack that the user provides, instead of Tapenade's.
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

/// Programs and command lines for which names of files and subprograms, argument lists and COMMON blocks of
/// derivatives must be those of the real tool, except for the sweeps of subprograms below the heads, which it
/// combines in one, and for what enlarges tapes, which it has in a library.
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
        let missing = ours
            .iter()
            .filter(|f| !theirs.contains(f) && !f.contains("_GROW_"));
        let missing: Vec<&String> = missing.collect();
        assert!(
            missing.is_empty(),
            "{line:?}: {missing:?} not in {theirs:?}"
        );
        // Its additional ones are below the heads.
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

/// Whether it is the header of the derivative of a head that a word of a command line names.
fn mentions_head(word: &str, header: &str) -> bool {
    let base = header.split('(').next().unwrap_or_default();
    let base = base.trim_start_matches("A_");
    let base = base.split('_').next().unwrap_or_default();
    let names = word.split(|c: char| !c.is_ascii_alphanumeric());
    !base.is_empty() && names.into_iter().any(|n| n.eq_ignore_ascii_case(base))
}

/// Returns names of files, headers, and COMMON blocks of derivatives.
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

/// Derivatives of adjoints by a second command line, with growing tapes that are parsed from text.
#[test]
fn adjoints_with_tapes_that_grow_are_differentiated_again() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "all.f",
        "      SUBROUTINE F(N, X, Y)
      INTEGER N
      DOUBLE PRECISION X(N), Y
      CALL G(N, X, Y)
      Y = Y*Y
      END
      SUBROUTINE G(N, X, Y)
      INTEGER N, I, CALLS
      DOUBLE PRECISION X(N), Y
      SAVE CALLS
      DATA CALLS /0/
      IF (N .LT. 0) WRITE (*, *) N
      CALLS = CALLS + 1
      Y = 1
      I = 1
   10 Y = Y*(1 + 1D-2*SIN(Y + X(I)))
      I = I + 1
      IF (I .LE. N) GOTO 10
      END
",
    );
    tapenade(dir, &["-b", "-head", "f(y)/(x)", "all.f"]).success();
    assert!(read(dir, "all_b.f").contains("TYPE (FARFEL_R8)"));
    sizes(dir, &[("NBDIRSMAX", 2)]);
    for mode in [&["-d"][..], &["-b"], &["-d", "-multi"]] {
        let options = ["-head", "f_b(xb)/(x)", "-o", "out", "all.f", "all_b.f"];
        tapenade(dir, &[mode, &options].concat()).success();
    }
    write(
        dir,
        "main.f",
        "      PROGRAM MAIN
      INTEGER N, I
      PARAMETER (N = 300)
      DOUBLE PRECISION X(N), XD(N), XB(N), XBD(N), P(N), M(N), Y, YB, H
      DOUBLE PRECISION XV(2, N), XBV(2, N), XB1(N), XB2(N)
      DO 10 I = 1, N
        X(I) = 0.4D0 + 0.003D0*I
        XD(I) = SIN(1D0*I)
        XB(I) = 0
        XV(1, I) = XD(I)
        XV(2, I) = -2*XD(I)
        XB1(I) = 0
   10   XB2(I) = XD(I)
      YB = 1
      CALL F_B_D(N, X, XD, XB, XBD, Y, YB)
      H = 1D-5
      YB = 1
      P = X + H*XD
      M = X - H*XD
      CALL F_B(N, P, XB, Y, YB)
      P = XB
      YB = 1
      CALL F_B(N, M, XB, Y, YB)
      M = XB
      PRINT *, DOT_PRODUCT(XBD, XD), DOT_PRODUCT(P - M, XD)/(2*H)
      YB = 1
      CALL F_B_B(N, X, XB1, XB, XB2, Y, YB)
      PRINT *, DOT_PRODUCT(XB1, XD), DOT_PRODUCT(XBD, XD)
      YB = 1
      CALL F_B_DV(N, X, XV, XB, XBV, Y, YB, 2)
      PRINT *, DOT_PRODUCT(XBV(2, :), XD), -2*DOT_PRODUCT(XBD, XD)
      END
",
    );
    let sources = [
        "main.f", "all.f", "all_b.f", "out_d.f", "out_b.f", "out_dv.f",
    ];
    agree(dir, &sources, 3, 1e-7);
    // AD blocks around parsed adjoints.
    write(
        dir,
        "blocks.ff",
        "      PROGRAM MAIN
      INTEGER N
      PARAMETER (N = 200)
      DOUBLE PRECISION X(N), XB(N), Y, YB, G(N), H(N), D(N), P(N), M(N)
      DOUBLE PRECISION T
      DO I = 1, N
        X(I) = 0.4D0 + 0.003D0*I
        XB(I) = 0
      END DO
      YB = 1
      ADF(TANGENT(X(3)) = 1)
      CALL F_B(N, X, XB, Y, YB)
      END ADF((G(I) = TANGENT(XB(I)), I = 1, N))
      YB = 1
      ADR(COTANGENT(XB(3)) = 1)
      CALL F_B(N, X, XB, Y, YB)
      END ADR((H(I) = COTANGENT(X(I)), I = 1, N))
      YB = 1
      ADF(DIRECTIONS = 2, TANGENT(X(3), 2) = 1)
      CALL F_B(N, X, XB, Y, YB)
      END ADF((D(I) = TANGENT(XB(I), 2), I = 1, N))
      T = X(3)
      YB = 1
      X(3) = T + 1D-5
      CALL F_B(N, X, P, Y, YB)
      YB = 1
      X(3) = T - 1D-5
      CALL F_B(N, X, M, Y, YB)
      PRINT *, G(7), (P(7) - M(7))/2D-5
      PRINT *, H(7), (P(7) - M(7))/2D-5
      PRINT *, D(7), (P(7) - M(7))/2D-5
      END
",
    );
    let line = ["expand", "blocks.ff", "all.f", "all_b.f"];
    let expanded = farfel(dir).args(line).assert().success();
    let text = String::from_utf8_lossy(&expanded.get_output().stdout).into_owned();
    write(dir, "blocks.f", text);
    agree(dir, &["blocks.f"], 3, 1e-6);
}

/// The second command line calls sweeps of the first unchanged, because Y is independent of G. They get tapes
/// that do not grow.
#[test]
fn sweeps_that_stay_as_they_are_are_copied() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "all.f",
        "      SUBROUTINE F(X, Y, A, T, R)
      DOUBLE PRECISION X, Y, A, R, S, T, V
      CALL G(A, T, S)
      CALL G(A, T, V)
      R = X*SIN(X*Y) + S*V
      END
      SUBROUTINE G(X, T, Z)
      DOUBLE PRECISION X, T, Z, A
      Z = 2*X
      A = 0
      DO WHILE (A .LT. T)
        Z = SIN(Z)*X
        A = A + 1
      END DO
      END
",
    );
    tapenade(dir, &["-b", "-head", "f(r)/(x a)", "all.f"]).success();
    sizes(dir, &[("NBDIRSMAX", 2)]);
    for mode in [&["-d"][..], &["-b"], &["-d", "-multi"]] {
        let options = ["-head", "f_b(xb)/(y)", "-o", "out", "all.f", "all_b.f"];
        tapenade(dir, &[mode, &options].concat()).success();
    }
    write(
        dir,
        "main.f",
        "      PROGRAM MAIN
      DOUBLE PRECISION X, Y, A, T, R, RB, XB, AB, XBD, XB1, YB, YV(2), D
      DOUBLE PRECISION XBV(2)
      X = 0.7D0
      Y = 0.4D0
      A = 0.9D0
      T = 100
      D = 2*X*COS(X*Y) - X**2*Y*SIN(X*Y)
      RB = 1
      AB = 0
      XB = 0
      CALL F_B_D(X, XB, XBD, Y, 1D0, A, AB, T, R, RB)
      PRINT *, XBD, D
      RB = 1
      AB = 0
      XB = 0
      XB1 = 1
      YB = 0
      CALL F_B_B(X, XB, XB1, Y, YB, A, AB, T, R, RB)
      PRINT *, YB, D
      RB = 1
      AB = 0
      XB = 0
      YV(1) = 1
      YV(2) = -3
      CALL F_B_DV(X, XB, XBV, Y, YV, A, AB, T, R, RB, 2)
      PRINT *, XBV(2), -3*D
      END
",
    );
    let sources = [
        "main.f", "all.f", "all_b.f", "out_d.f", "out_b.f", "out_dv.f",
    ];
    agree(dir, &sources, 3, 1e-10);
}

/// Procedures without source may change their arguments, but not the variable of an enclosing loop: nothing
/// may assign or restore that.
#[test]
fn calls_without_text_leave_variables_of_loops() {
    let dir = sandbox();
    let dir = dir.path();
    let head = "      SUBROUTINE HEAD(X, Y, N)
      DOUBLE PRECISION X(N), Y
      INTEGER I, K, N, M
      Y = 0
      DO K = 1, N
        DO I = 1, 2
          M = I
          IF (I .GT. 1) CALL NOTE(I, K, M)
          Y = Y + X(K)*X(K)*I*M
        END DO
      END DO
      END
";
    write(dir, "all.f", head);
    tapenade(dir, &["-b", "-head", "head(y)/(x)", "all.f"]).success();
    write(
        dir,
        "main.f",
        "      PROGRAM MAIN
      DOUBLE PRECISION X(3), XB(3), Y, YB
      DO K = 1, 3
        X(K) = K
      END DO
      YB = 1
      CALL HEAD_B(X, XB, Y, YB, 3)
      DO K = 1, 3
        PRINT *, XB(K), 2D0*K*(1 + 2*7)
      END DO
      END
      SUBROUTINE NOTE(I, K, M)
      M = I + 5
      END
",
    );
    agree(dir, &["main.f", "all.f", "all_b.f"], 3, 1e-12);
}

/// A function that is called, with a tape, and passed as an argument: the adjoint of the receiver calls one
/// with both sweeps.
#[test]
fn what_is_called_may_be_passed_besides() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "s.f",
        "      DOUBLE PRECISION FUNCTION TWICE(G, X)
      DOUBLE PRECISION G, X
      EXTERNAL G
      TWICE = G(G(X))
      END
      DOUBLE PRECISION FUNCTION F(X)
      DOUBLE PRECISION X, T
      T = X
      DO 10 I = 1, 3
   10 T = T*COS(T) + 0.1D0*X
      F = T
      END
      SUBROUTINE HEAD(X, Y)
      DOUBLE PRECISION X(2), Y, T, TWICE, F
      EXTERNAL F
      T = X(1)
      DO 10 I = 1, 2
      T = SIN(F(T)*X(2))
   10 IF (T .GT. 0.01D0) T = T*TWICE(F, T)
      Y = T
      END
",
    );
    write(
        dir,
        "main.f",
        "      PROGRAM MAIN
      DOUBLE PRECISION X(2), XB(2), P(2), Y, YB, YP, YM
      X(1) = 0.7D0
      X(2) = 1.3D0
      DO 20 K = 1, 2
      YB = 1
      CALL HEAD_B(X, XB, Y, YB)
      DO 10 I = 1, 2
      P(1) = X(1)
      P(2) = X(2)
      P(I) = X(I) + 1D-6
      CALL HEAD(P, YP)
      P(I) = X(I) - 1D-6
      CALL HEAD(P, YM)
   10 PRINT *, XB(I), (YP - YM)/2D-6
   20 CONTINUE
      END
",
    );
    let ran = tapenade(dir, &["-b", "-head", "head(y)/(x)", "s.f"]).success();
    let said = String::from_utf8_lossy(&ran.get_output().stderr).into_owned();
    assert!(!said.contains("AD09"), "{said}");
    agree(dir, &["main.f", "s.f", "s_b.f"], 4, 1e-7);
}

/// Work arrays `W(*)` that subroutines without derivatives overwrite: these save the old values themselves,
/// at several levels, also if one is passed as an argument, and with several cotangents.
#[test]
fn work_arrays_that_passive_subroutines_overwrite() {
    let dir = sandbox();
    let dir = dir.path();
    let source = "      SUBROUTINE HEAD(X, N, Y, W)
      DOUBLE PRECISION X(N), Y, W(*)
      Y = 0
      DO I = 1, 3
        CALL SETUP(W(2), I, N)
        DO J = 1, N
          Y = SIN(Y) + X(J)**2*W(J + 1)
        END DO
      END DO
      END
      SUBROUTINE SETUP(W, K, N)
      EXTERNAL FILL
      DOUBLE PRECISION W(*)
      IF (K .EQ. 1) CALL FIRST(FILL, W, N)
      DO J = K, N
        W(J) = W(J)*(1 + 0.1D0*J)
      END DO
      END
      SUBROUTINE FIRST(F, W, N)
      DOUBLE PRECISION W(*)
      CALL F(W, N)
      END
      SUBROUTINE FILL(W, N)
      DOUBLE PRECISION W(*)
      J = 1
   10 W(J) = 1D0/J
      J = J + 1
      IF (J .LE. N) GOTO 10
      END
";
    write(dir, "all.f", source);
    sizes(dir, &[("NBDIRSMAX", 2)]);
    tapenade(dir, &["-b", "-head", "head(y)/(x)", "all.f"]).success();
    tapenade(dir, &["-b", "-multi", "-head", "head(y)/(x)", "all.f"]).success();
    write(
        dir,
        "main.f",
        "      PROGRAM MAIN
      INCLUDE 'DIFFSIZES.inc'
      DOUBLE PRECISION X(4), XB(4), XV(NBDIRSMAX,4), Y, YB
      DOUBLE PRECISION YV(NBDIRSMAX), W(5), YP, YM, H
      H = 1D-5
      DO I = 1, 4
        X(I) = 0.3D0 + 0.1D0*I
      END DO
      YB = 1
      CALL HEAD_B(X, XB, 4, Y, YB, W)
      YV(1) = 1
      YV(2) = -2
      CALL HEAD_BV(X, XV, 4, Y, YV, W, 2)
      DO I = 1, 4
        X(I) = X(I) + H
        CALL HEAD(X, 4, YP, W)
        X(I) = X(I) - 2*H
        CALL HEAD(X, 4, YM, W)
        X(I) = X(I) + H
        PRINT *, XB(I), (YP - YM)/(2*H)
        PRINT *, XV(1, I), XB(I)
        PRINT *, XV(2, I), -2*XB(I)
      END DO
      END
",
    );
    agree(dir, &["main.f", "all.f", "all_b.f", "all_bv.f"], 12, 1e-8);
}

/// One array as two arguments that are both assigned, as ODEPACK passes its history: the adjoint has one name
/// for it, and equals that of the same program with one argument. A subprogram that uses the array as a whole
/// is rejected.
#[test]
fn one_array_by_two_arguments() {
    let dir = sandbox();
    let dir = dir.path();
    let source = |call: &str| {
        format!(
            "      SUBROUTINE HEAD(X, Y)
      DOUBLE PRECISION X, Y, W(20)
      DO I = 1, 7
        W(I) = X*I
      END DO
      L = 2
      CALL {call}
      Y = W(3)*W(4) + W(6)
      END
"
        )
    };
    let twice = source("STEP(W(L), W(L), 2, L)")
        + "      SUBROUTINE STEP(YH, YH1, NYH, L)
      DOUBLE PRECISION YH(NYH,*), YH1(*)
      DO J = 1, 2
        YH(2,J) = YH(2,J)*YH1(3)
        CALL SCALE(YH1(J), YH, NYH, 2)
        YH1(4) = SIN(YH1(4))
        L = NYH
        NYH = 2
      END DO
      END
      SUBROUTINE SCALE(A, YH, N, M)
      DOUBLE PRECISION A, YH(N,M)
      YH(1,M) = YH(1,1) + YH(1,M)**2
      END
";
    write(dir, "all.f", &twice);
    let made = tapenade(dir, &["-b", "-head", "head(y)/(x)", "all.f"]).success();
    let said = String::from_utf8_lossy(&made.get_output().stderr).into_owned();
    assert!(said.contains("STEP gets this array twice"), "{said}");
    let once = source("STEP1(W(L), 2, L)").replace("HEAD", "ONCE")
        + "      SUBROUTINE STEP1(A, NYH, L)
      DOUBLE PRECISION A(*)
      DO J = 1, 2
        A(2*J) = A(2*J)*A(3)
        A(3) = A(1) + A(3)**2
        A(4) = SIN(A(4))
        L = NYH
      END DO
      END
";
    write(dir, "once.f", &once);
    write(
        dir,
        "main.f",
        "      PROGRAM MAIN
      DOUBLE PRECISION X, XB, YB, YP, YM, H
      X = 0.3D0
      H = 1D-5
      YB = 1
      CALL HEAD_B(X, XB, YP, YB)
      CALL ONCE(X + H, YP)
      CALL ONCE(X - H, YM)
      PRINT *, XB, (YP - YM)/(2*H)
      END
",
    );
    agree(dir, &["main.f", "once.f", "all_b.f"], 1, 1e-8);
    let sum = "YH(1,1) = SUM(YH1(1:3))";
    let whole = twice.replace("YH1(4) = SIN(YH1(4))", sum);
    let whole = whole.replace("        NYH = 2\n", "");
    write(dir, "all.f", &whole);
    let refused = tapenade(dir, &["-b", "-head", "head(y)/(x)", "all.f"]).failure();
    let said = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(said.contains("all.f:7:23"), "{said}");
    let why = "reads this array by one argument and assigns it by another";
    assert!(said.contains(why), "{said}");
}

/// The adjoint of a subroutine that is only called with two parts of one array exists in this form alone.
#[test]
fn only_adjoints_that_are_called_are_written() {
    let dir = sandbox();
    write(
        dir.path(),
        "f.f",
        "      SUBROUTINE F(X, Y)
      DOUBLE PRECISION X(4), Y
      CALL G(X(1), X(2), Y)
      Y = Y*Y
      END
      SUBROUTINE G(P, Q, R)
      DOUBLE PRECISION P(2), Q(2), R
      R = R*P(1)*Q(2)
      R = R*R
      END
",
    );
    tapenade(dir.path(), &["-b", "-head", "F", "-o", "out", "f.f"]).success();
    let text = read(dir.path(), "out_b.f");
    let units = text.lines().filter(|l| l.starts_with("      SUBROUTINE "));
    let names: Vec<&str> = units.filter_map(|l| l[17..].split('(').next()).collect();
    assert_eq!(names, ["F_B", "G_B_FWD", "G_M_B_BWD"], "{text}");
}
