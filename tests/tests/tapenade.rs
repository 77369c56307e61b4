//! `farfel tapenade`: the files that it creates, their contents, and the output of programs that are linked
//! with them.

#![allow(clippy::print_stderr)] // says what was skipped

use std::fs;
use std::path::Path;
use std::process::Command;

use farfel_tests::tapenade::{
    CALLBACKS, DIVIDED, MODEL, agree, close, files_made, headers, numbers, read, real_tapenade,
    sizes, statements, tapenade,
};
use farfel_tests::{farfel, farfel_path, paper, sandbox, tree, write};

#[test]
fn names_of_files_follow_the_options() {
    assert_eq!(files_made(&[]), ["a_d.f", "a_d.msg", "b_d.f"]);
    assert_eq!(files_made(&["-o", "all"]), ["all_d.f", "all_d.msg"]);
    assert_eq!(
        files_made(&["-o", "elsewhere/all"]),
        ["all_d.f", "all_d.msg"]
    );
    assert_eq!(
        files_made(&["-o", "all", "-tgtfuncname", "_g2"]),
        ["all_g2.f", "all_g2.msg"]
    );
    assert_eq!(
        files_made(&["-output", "all", "-difffuncname", "_G"]),
        ["all_G.f", "all_G.msg"]
    );
    assert_eq!(
        files_made(&["-o", "all", "-tgtfuncname", "g_%"]),
        ["g_all.f", "g_all.msg"]
    );
    assert_eq!(
        files_made(&["-multi", "-o", "all"]),
        ["all_dv.f", "all_dv.msg"]
    );
    assert_eq!(
        files_made(&["-vector", "-o", "all", "-tgtfuncname", "_g"]),
        ["all_gv.f", "all_gv.msg"]
    );
    assert_eq!(
        files_made(&["-splitoutputfiles"]),
        ["a_d.f", "a_d.msg", "b_d.f"]
    );
    assert_eq!(files_made(&["-p"]), ["a_p.f", "a_p.msg", "b_p.f"]);
}

#[test]
fn arguments_stand_in_tapenade_s_order() {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "model.f", MODEL);
    let cases: &[(&[&str], &[&str])] = &[
        (
            &["-head", "model(y)/(x)"],
            &[
                "SUBROUTINEMODEL_D(X,XD,N,Y,YD,K)",
                "DOUBLEPRECISIONFUNCTIONF_D(A,AD,I,F)",
                "SUBROUTINESCALE_D(V,VD)",
            ],
        ),
        (
            &[
                "-head",
                "model(x)\\(y)",
                "-tgtfuncname",
                "T_%",
                "-tgtvarname",
                "%_t",
            ],
            &[
                "SUBROUTINET_MODEL(X,X_T,N,Y,Y_T,K)",
                "DOUBLEPRECISIONFUNCTIONT_F(A,A_T,I,F)",
                "SUBROUTINET_SCALE(V,V_T)",
            ],
        ),
        (
            &["-multi", "-head", "model(x)>(y)"],
            &[
                "SUBROUTINEMODEL_DV(X,XD,N,Y,YD,K,NBDIRS)",
                "SUBROUTINEF_DV(A,AD,I,F,FD,NBDIRS)",
                "SUBROUTINESCALE_DV(V,VD,NBDIRS)",
            ],
        ),
        (
            &["-root", "f", "-vars", "s", "-outvars", "f"],
            &["DOUBLEPRECISIONFUNCTIONF_D(A,I,F)"],
        ),
        (
            &["-head", "f(f)/(a) scale(v)/(v)"],
            &[
                "DOUBLEPRECISIONFUNCTIONF_D(A,AD,I,F)",
                "SUBROUTINESCALE_D(V,VD)",
            ],
        ),
    ];
    for (options, wanted) in cases {
        tapenade(dir, &[options, &["-o", "out", "model.f"][..]].concat()).success();
        let name = tree(dir)
            .into_iter()
            .find(|n| n.contains("out") && n.ends_with(".f"));
        let name = name.expect("a file");
        assert_eq!(headers(&read(dir, &name)), *wanted, "{options:?}");
        fs::remove_file(dir.join(name)).unwrap();
    }
}

/// An argument without influence has no derivative, unless it is requested.
#[test]
fn only_what_matters_has_a_derivative() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "s.f",
        "      SUBROUTINE S(X, Y, Z)\n      REAL X, Y, Z\n      Z = X\n      Y = 1.0\n      END\n",
    );
    for (head, more, wanted) in [
        ("s(z)/(x y)", None, "SUBROUTINES_D(X,XD,Y,Z,ZD)"),
        ("s(z y)/(x y)", None, "SUBROUTINES_D(X,XD,Y,YD,Z,ZD)"),
        ("s", None, "SUBROUTINES_D(X,XD,Y,YD,Z,ZD)"),
        ("s(z)", None, "SUBROUTINES_D(X,XD,Y,Z,ZD)"),
        (
            "s(z)/(x y)",
            Some("-fixinterface"),
            "SUBROUTINES_D(X,XD,Y,YD,Z,ZD)",
        ),
    ] {
        let mut line = vec!["-head", head, "s.f"];
        line.extend(more);
        tapenade(dir, &line).success();
        assert_eq!(headers(&read(dir, "s_d.f")), [wanted], "{head}");
    }
}

/// The names that Tapenade 3.16 chooses when its first choice is taken.
#[test]
fn taken_names_get_a_number_from_zero() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "h.f",
        "      SUBROUTINE H(X, Y)\n      XD = 1.0\n      Y = X*XD + X*X\n      END\n\
         \x20     SUBROUTINE USER(X, Y)\n      CALL H_D(X, 1.0, Y, Z)\n      END\n",
    );
    tapenade(dir, &["-head", "h(y)/(x)", "h.f"]).success();
    assert_eq!(headers(&read(dir, "h_d.f")), ["SUBROUTINEH_D0(X,XD0,Y,YD)"]);
    // Older releases, which only have the old option, do not change callers.
    tapenade(dir, &["-head", "h(y)/(x)", "-difffuncname", "_d", "h.f"]).success();
    assert_eq!(headers(&read(dir, "h_d.f")), ["SUBROUTINEH_D(X,XD0,Y,YD)"]);
}

#[test]
fn derivatives_are_right_when_called_by_hand() {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "model.f", MODEL);
    tapenade(dir, &["-d", "-head", "model(y)/(x s)", "model.f"]).success();
    // The COMMON block of derivatives is declared as users of Tapenade declare it: S and T, since T goes from
    // MODEL to F.
    write(
        dir,
        "main.f",
        "      PROGRAM MAIN
      DOUBLE PRECISION X(3), XD(3), Y, YD, S, T, SD, TD, F, F_D, H, YP
      COMMON /PAR/ S, T
      COMMON /PAR_D/ SD, TD
      DO 10 J = 1, 4
      DO 20 I = 1, 3
      X(I) = 0.3D0*I
 20   XD(I) = 0
      S = 2
      SD = 0
      IF (J .LE. 3) XD(J) = 1
      IF (J .EQ. 4) SD = 1
      CALL MODEL_D(X, XD, 3, Y, YD, 2)
      PRINT *, YD
      H = 1D-6
      DO 30 I = 1, 3
 30   X(I) = X(I) + H*XD(I)
      S = 2 + H*SD
      CALL MODEL(X, 3, YP, 2)
      DO 40 I = 1, 3
 40   X(I) = X(I) - 2*H*XD(I)
      S = 2 - H*SD
      CALL MODEL(X, 3, Y, 2)
 10   PRINT *, (YP - Y)/(2*H)
      END
",
    );
    let found = numbers(dir, &["main.f", "model.f", "model_d.f"], "");
    let (derivatives, differences): (Vec<f64>, Vec<f64>) =
        found.chunks(2).map(|p| (p[0], p[1])).unzip();
    close(&derivatives, &differences, 1e-7);
    assert!(derivatives.iter().any(|d| d.abs() > 0.1), "{derivatives:?}");
}

/// Several directions at once give the same as single directions, even if the arrays have room for more
/// directions than are used.
#[test]
fn several_directions_give_what_single_ones_give() {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "model.f", MODEL);
    sizes(dir, &[("NBDIRSMAX", 5)]);
    tapenade(dir, &["-d", "-head", "model(y)/(x)", "model.f"]).success();
    tapenade(dir, &["-multi", "-head", "model(y)/(x)", "model.f"]).success();
    write(
        dir,
        "main.f",
        "      PROGRAM MAIN
      INCLUDE 'DIFFSIZES.inc'
      DOUBLE PRECISION X(3), XD(3), XDV(NBDIRSMAX,3), Y, YD
      DOUBLE PRECISION YDV(NBDIRSMAX), S, T
      COMMON /PAR/ S, T
      S = 2
      DO 20 I = 1, 3
      X(I) = 0.3D0*I
      DO 20 J = 1, 3
 20   XDV(J, I) = I + J**2 - 2*I*J
      CALL MODEL_DV(X, XDV, 3, Y, YDV, 2, 3)
      DO 30 J = 1, 3
      DO 40 I = 1, 3
 40   XD(I) = XDV(J, I)
      CALL MODEL_D(X, XD, 3, Y, YD, 2)
 30   PRINT *, YDV(J), YD
      END
",
    );
    let found = numbers(dir, &["main.f", "model.f", "model_d.f", "model_dv.f"], "");
    let (several, single): (Vec<f64>, Vec<f64>) = found.chunks(2).map(|p| (p[0], p[1])).unzip();
    close(&several, &single, 1e-14);
}

/// Tangents through COMMON blocks that units divide differently: checked by finite differences, and in
/// several directions at once.
#[test]
fn blocks_that_units_divide_differently() {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "all.f", DIVIDED);
    sizes(dir, &[("NBDIRSMAX", 5)]);
    tapenade(dir, &["-d", "-head", "head(y)/(x)", "all.f"]).success();
    tapenade(dir, &["-multi", "-head", "head(y)/(x)", "all.f"]).success();
    write(
        dir,
        "main.f",
        "      PROGRAM MAIN
      INCLUDE 'DIFFSIZES.inc'
      DOUBLE PRECISION X(3), XD(3), XV(NBDIRSMAX,3), Y, YD, YP, YM, H
      DOUBLE PRECISION YV(NBDIRSMAX), P(3), M(3)
      H = 1D-6
      DO 10 I = 1, 3
      X(I) = I + 0.3D0
      DO 10 J = 1, 3
   10 XV(J, I) = (I + J**2 - 2*I*J)/10D0
      CALL HEAD_DV(X, XV, Y, YV, 3)
      DO 30 J = 1, 3
      DO 20 I = 1, 3
      XD(I) = XV(J, I)
      P(I) = X(I) + H*XD(I)
   20 M(I) = X(I) - H*XD(I)
      CALL HEAD_D(X, XD, Y, YD)
      CALL HEAD(P, YP)
      CALL HEAD(M, YM)
      PRINT *, YV(J), YD
   30 PRINT *, YD, (YP - YM)/(2*H)
      END
",
    );
    let found = numbers(dir, &["main.f", "all.f", "all_d.f", "all_dv.f"], "");
    let (derivatives, wanted): (Vec<f64>, Vec<f64>) = found.chunks(2).map(|p| (p[0], p[1])).unzip();
    assert_eq!(derivatives.len(), 6);
    close(&derivatives, &wanted, 1e-8);
}

/// A derivative in several directions, differentiated again: NBDIRSMAX remains the user's.
#[test]
fn derivatives_are_differentiated_again() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "cube.f",
        "      DOUBLE PRECISION FUNCTION CUBE(X)\n      DOUBLE PRECISION X\n      CUBE = X**3\n      END\n",
    );
    sizes(dir, &[("NBDIRSMAX", 2)]);
    tapenade(dir, &["-head", "cube(cube)/(x)", "cube.f"]).success();
    tapenade(dir, &["-head", "cube_d(cube_d)/(x)", "cube_d.f"]).success();
    tapenade(
        dir,
        &["-multi", "-head", "cube_d_d(cube_d_d)/(x)", "cube_d_d.f"],
    )
    .success();
    let text = read(dir, "cube_d_d_dv.f");
    assert_eq!(
        headers(&text),
        ["SUBROUTINECUBE_D_D_DV(X,XD1,XD0,XD,CUBE,CUBE_D,CUBE_D_D,CUBE_D_DD,NBDIRS)"],
    );
    tapenade(
        dir,
        &[
            "-head",
            "cube_d_d_dv(cube_d_dd)/(xd1)",
            "-o",
            "last",
            "cube_d_d_dv.f",
        ],
    )
    .success();
    assert!(read(dir, "last_d.f").contains("INCLUDE 'DIFFSIZES.inc'"));
    write(
        dir,
        "main.f",
        "      DOUBLE PRECISION X, C(5), XV(2), CV(2)
      DOUBLE PRECISION CUBE_D, CUBE_D_D
      X = 2
      PRINT *, CUBE_D(X, 1D0, C(1)), C(1)
      PRINT *, CUBE_D_D(X, 1D0, 1D0, C(1), C(2)), C(2)
      XV(1) = 1
      XV(2) = 10
      CALL CUBE_D_D_DV(X, XV, 1D0, 1D0, C(1), C(2), C(3), CV, 2)
      PRINT *, C(3), CV
      END
",
    );
    let found = numbers(
        dir,
        &["main.f", "cube_d.f", "cube_d_d.f", "cube_d_d_dv.f"],
        "",
    );
    close(&found, &[12.0, 8.0, 12.0, 12.0, 12.0, 6.0, 60.0], 1e-14);
}

/// The five command lines of the paper, section 3.2, as printed.
const PAPER_LINES: [&str; 5] = [
    "-root deriv1_2_adf2 -d -o eqlbrm42 -diffvarname _g2 -difffuncname _g2 eqlbrm42.f",
    "-root deriv2_1_2_adf4 -d -o eqlbrm42 -diffvarname _g4 -difffuncname _g4 eqlbrm42.f eqlbrm42_g2.f",
    "-root deriv1_1_adf1 -d -o eqlbrm42 -diffvarname _g1 -difffuncname _g1 eqlbrm42.f eqlbrm42_g2.f eqlbrm42_g4.f",
    "-root deriv2_1_1_adf3 -d -o eqlbrm42 -diffvarname _g3 -difffuncname _g3 eqlbrm42.f eqlbrm42_g2.f eqlbrm42_g4.f eqlbrm42_g1.f",
    "-root deriv2_2_adf5 -d -o eqlbrm42 -diffvarname _g5 -difffuncname _g5 eqlbrm42.f eqlbrm42_g2.f eqlbrm42_g4.f eqlbrm42_g1.f eqlbrm42_g3.f",
];

/// Writes the paper's program as it is before differentiation.
fn lowered_paper(dir: &Path) -> String {
    let output = farfel(dir)
        .args(["expand", "-q", "--stage", "stage"])
        .arg(paper())
        .assert()
        .success();
    let text = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    write(dir, "eqlbrm42.f", &text);
    text
}

/// The equilibrium is (50, 50); single precision is good to about 2e-2 there.
fn reaches_equilibrium(dir: &Path, sources: &[&str]) {
    let found = numbers(dir, sources, "10\n3\n20\n");
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.iter().all(|x| (x - 50.0).abs() < 5e-2), "{found:?}");
}

#[test]
fn the_paper_s_command_lines_make_its_program() {
    let dir = sandbox();
    let dir = dir.path();
    lowered_paper(dir);
    for line in PAPER_LINES {
        let words: Vec<&str> = line.split_whitespace().collect();
        tapenade(dir, &words).success();
    }
    let names = ["", "_g1", "_g2", "_g3", "_g4", "_g5"].map(|s| format!("eqlbrm42{s}.f"));
    let third = headers(&read(dir, "eqlbrm42_g5.f"));
    let wanted = "SUBROUTINEGMBIGB_G2_G4_G1_G3_G5(";
    assert!(third.iter().any(|h| h.starts_with(wanted)), "{third:?}");
    reaches_equilibrium(dir, &names.each_ref().map(String::as_str));
}

/// With current options, each run gets only the subprograms below its head, and none that call the result, as
/// Tapenade 3.16 requires.
#[test]
fn today_s_spelling_makes_the_paper_s_program_too() {
    let dir = sandbox();
    let dir = dir.path();
    lowered_paper(dir);
    run_closures(dir, &mut |line| {
        tapenade(dir, line).success();
    });
    let names = ["", "_g1", "_g2", "_g3", "_g4", "_g5"].map(|s| format!("eqlbrm42{s}.f"));
    reaches_equilibrium(dir, &names.each_ref().map(String::as_str));
}

/// Runs the paper's five differentiations, each on the closure of its head.
fn run_closures(dir: &Path, run: &mut dyn FnMut(&[&str])) {
    let runs = [
        ("DERIV1_2_ADF2", "_g2"),
        ("DERIV2_1_2_ADF4", "_g4"),
        ("DERIV1_1_ADF1", "_g1"),
        ("DERIV2_1_1_ADF3", "_g3"),
        ("DERIV2_2_ADF5", "_g5"),
    ];
    let mut all = read(dir, "eqlbrm42.f");
    for (head, suffix) in runs {
        write(dir, "closure.f", closure(&all, head));
        run(&[
            "-head",
            head,
            "-d",
            "-o",
            "eqlbrm42",
            "-tgtvarname",
            suffix,
            "-tgtfuncname",
            suffix,
            "closure.f",
        ]);
        let made = read(dir, &format!("eqlbrm42{suffix}.f"));
        all.push_str(&made);
    }
    fs::remove_file(dir.join("closure.f")).unwrap();
}

/// Returns a subprogram and everything that it calls.
fn closure(text: &str, head: &str) -> String {
    let mut units: Vec<(String, String)> = Vec::new();
    let mut unit = String::new();
    for line in text.lines() {
        unit.push_str(line);
        unit.push('\n');
        if line.trim() == "END" {
            let header = statements(&unit).remove(0);
            let header = header.split('(').next().unwrap_or_default().to_owned();
            let name = ["SUBROUTINE", "FUNCTION", "PROGRAM"]
                .iter()
                .find_map(|k| header.split_once(k))
                .map(|(_, name)| name.to_owned());
            units.push((name.unwrap_or_default(), std::mem::take(&mut unit)));
        }
    }
    let mut wanted = vec![head.to_uppercase()];
    let mut found = String::new();
    let mut at = 0;
    while at < wanted.len() {
        if let Some((name, text)) = units.iter().find(|(n, _)| *n == wanted[at]) {
            found.push_str(text);
            for (other, _) in &units {
                let mentioned = statements(text).iter().any(|s| {
                    s.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                        .any(|w| w == other || w == format!("CALL{other}"))
                });
                if mentioned && other != name && !wanted.contains(other) {
                    wanted.push(other.clone());
                }
            }
        }
        at += 1;
    }
    found
}

/// A typical makefile, which has a variable for the tool.
#[test]
fn a_makefile_that_calls_tapenade_works_unchanged() {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "model.f", MODEL);
    write(
        dir,
        "driver.f",
        "      PROGRAM DRIVER
      DOUBLE PRECISION X(2), XD(2), Y, YD, S, T
      COMMON /PAR/ S, T
      S = 1
      X(1) = 1
      X(2) = 0
      XD(1) = 0
      XD(2) = 1
      CALL MODEL_D(X, XD, 2, Y, YD, 1)
      PRINT *, Y, YD
      END
",
    );
    write(
        dir,
        "Makefile",
        "TAPENADE = tapenade\n\
         FC = gfortran\n\
         \n\
         program: driver.o model.o model_d.o\n\
         \t$(FC) -o $@ $^\n\
         \n\
         model_d.f: model.f\n\
         \t$(TAPENADE) -d -head \"model(y)/(x)\" -msglevel 5 -o model $<\n\
         \n\
         %.o: %.f\n\
         \t$(FC) -std=legacy -c -o $@ $<\n",
    );
    let make = |target: &str| {
        Command::new("make")
            .arg(format!("TAPENADE={} tapenade", farfel_path().display()))
            .arg(target)
            .current_dir(dir)
            .output()
    };
    let Ok(output) = make("program") else {
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
    // Y = 3*(S*SIN(X(2)) + T**2)*T with T = X(1) = 1
    close(&found, &[3.0, 3.0], 1e-14);
    // An error stops make, and leaves nothing that looks up to date.
    fs::remove_file(dir.join("model_d.f")).unwrap();
    write(
        dir,
        "model.f",
        "      SUBROUTINE MODEL(X, Y)\n      Y = (X\n      END\n",
    );
    let output = make("model_d.f").unwrap();
    assert!(!output.status.success());
    assert!(!dir.join("model_d.f").exists());
}

#[test]
fn errors_end_with_a_message_and_an_exit_code() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "s.f",
        "      SUBROUTINE S(X, Y)\n      Y = X*X\n      END\n",
    );
    write(
        dir,
        "gamma.f",
        "      SUBROUTINE S(X, Y)\n      Y = GAMMA(X)\n      END\n",
    );
    write(
        dir,
        "block.ff",
        "      SUBROUTINE S(X, D)\n      ADF(X)\n      Y = X*X\n      END ADF(D = TANGENT(Y))\n      END\n",
    );
    for (line, code, message) in [
        (&["-foo", "s.f"][..], 2, "unknown option `-foo`"),
        (&["-d"], 2, "no input files"),
        (&["-head", "s(y", "s.f"], 2, "a parenthesis is not closed"),
        (
            &["-inputlanguage", "fortran90", "s.f"],
            2,
            "only Fortran 77",
        ),
        (&["-b", "-head", "s(y)/(x)", "gamma.f"], 1, "GAMMA"),
        (&["missing.f"], 1, "missing.f"),
        (
            &["-head", "t(y)/(x)", "s.f"],
            1,
            "the head T is not in the sources",
        ),
        (
            &["-head", "s(z)/(x)", "s.f"],
            1,
            "no COMMON variable named Z",
        ),
        (
            &["-head", "s(x)/(y)", "s.f"],
            1,
            "nothing was differentiated",
        ),
        (&["-head", "s(y)/(x)", "gamma.f"], 1, "GAMMA"),
        (&["block.ff"], 1, "AD blocks are Farfel"),
        (&["-tgtfuncname", "", "s.f"], 2, "no Fortran names"),
    ] {
        let output = tapenade(dir, line).code(code);
        let text = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
        assert!(text.contains(message), "{line:?}: {text}");
        let made: Vec<String> = tree(dir)
            .into_iter()
            .filter(|n| n.contains("_d.f"))
            .collect();
        assert!(made.is_empty(), "{line:?}: {made:?}");
    }
    // The list of messages always exists, as with Tapenade.
    assert!(read(dir, "gamma_d.msg").starts_with("1 gamma.f:2: (F0305) "));
    assert!(read(dir, "s_d.msg").contains("(AD06)"));
}

#[test]
fn help_and_version_are_those_of_the_drop_in() {
    let dir = sandbox();
    for line in ["-help", "--help", "-h"] {
        let output = tapenade(dir.path(), &[line]).success();
        let text = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
        assert!(text.contains("-tgtfuncname"), "{text}");
    }
    let output = tapenade(dir.path(), &["-version"]).success();
    let text = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    assert!(
        text.starts_with("Tapenade 3.16 (compatible: farfel "),
        "{text}"
    );
    // These are not the command's own -v and -q.
    write(
        dir.path(),
        "s.f",
        "      SUBROUTINE S(X, Y)\n      Y = X*X\n      END\n",
    );
    tapenade(dir.path(), &["-vector", "-vars", "x", "s.f"]).success();
}

/// A procedure without source is called by the name that its derivative would have, and the list of messages
/// says so.
#[test]
fn procedures_without_text_are_left_to_the_user() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "s.f",
        "      SUBROUTINE S(X, Y)
      REAL X, Y, T, U
      EXTERNAL U
      CALL LIB(3, X, T, 2.0)
      Y = T*U(X, 1)
      END
",
    );
    tapenade(dir, &["-head", "s(y)/(x)", "s.f"]).success();
    let text = statements(&read(dir, "s_d.f"));
    let has = |s: &str| assert!(text.iter().any(|x| x == s), "{s}: {text:#?}");
    has("CALLLIB_D(3,X,XD,T,TD,2.0)");
    has("TEMPD=U_D(X,XD,1,TEMP)");
    let messages = read(dir, "s_d.msg");
    assert!(
        messages.contains("(AD09)") && messages.contains("provide lib_d"),
        "{messages}"
    );
}

/// Returns the interface of derivatives: names of files, headers, COMMON blocks of derivatives.
fn interface(dir: &Path) -> Vec<String> {
    let mut facts = Vec::new();
    for name in tree(dir) {
        facts.push(name.clone());
        if name.ends_with(".f") {
            let text = read(dir, &name);
            let mut headers = headers(&text);
            headers.sort();
            facts.extend(headers);
            let mut blocks: Vec<String> = statements(&text)
                .into_iter()
                .filter(|s| s.starts_with("COMMON/") && s.contains("_D"))
                .collect();
            blocks.sort();
            blocks.dedup();
            facts.extend(blocks);
        }
    }
    facts
}

/// Programs and command lines for which the drop-in must create the same interfaces as Tapenade. Types in
/// headers of functions differ (implicit types are written explicitly), so they are excluded from the
/// comparison.
#[test]
fn interfaces_are_those_of_the_real_tool() {
    let Some(real) = real_tapenade() else {
        eprintln!("skipped: TAPENADE_HOME is not set, so nothing was compared with Tapenade");
        return;
    };
    let flow = "      SUBROUTINE FLOW(X, N, F, G, TOL, IER)
      IMPLICIT DOUBLE PRECISION (A-H, O-Z)
      DIMENSION X(N), W(50)
      COMMON /WORK/ W, SCALE, ITS
      DATA EPS /1.0D-10/
      SQ(A) = A*A + SCALE
      IER = 0
      DO 10 I = 1, N
      DO 10 J = 1, 3
      IF (X(I) .LT. 0.0D0) GO TO 10
      W(I) = SQ(X(I)) / DBLE(J)
 10   W(I) = W(I) + MAX(X(I), EPS)
      F = 0
      DO 20 I = N, 1, -1
 20   F = F + W(I)*DSQRT(ABS(W(I)))
      GOTO (30, 40), ITS
 30   G = F**2
      RETURN
 40   G = F**TOL
      IF (F .GT. 3) G = G + DOT(X, W, N)
      END
      DOUBLE PRECISION FUNCTION DOT(A, B, N)
      INTEGER N
      DOUBLE PRECISION A(*), B(*)
      DOT = 0
      DO I = 1, N
        DOT = DOT + A(I)*B(I)
      ENDDO
      END
      SUBROUTINE DRIVE(X, Y, Z, T)
      DOUBLE PRECISION X(4), Y, Z(2), T, S, SC, W(50)
      INTEGER ITS
      COMMON /WORK/ W, SC, ITS
      SC = X(4)
      ITS = 2
      CALL FLOW(X, 3, S, Y, 1.5D0, IE)
      CALL SCALEV(W, 3, S)
      Y = Y + W(1) + S
      Z(1) = Y*T
      T = 1
      CALL LIB(Y, Z, 3)
      END
      SUBROUTINE SCALEV(V, N, S)
      DOUBLE PRECISION V(*), S
      DO 5 I=1,N
      V(I) = V(I)*S
    5 CONTINUE
      END
";
    let heads = [
        "model(y)/(x)",
        "model(x)\\(y)",
        "model",
        "model(y x)/(x s)",
        "f",
        "f(f)/(s t)",
        "scale f(f)/(a)",
        "flow",
        "flow(f)/(x)",
        "flow(g)/(tol)",
        "drive",
        "drive(y)/(x)",
        "drive(z)/(t)",
        "drive(t)/(t)",
        "dot(dot)/(a) scalev(v)/(s)",
        "sum2(y)/(x)",
        "apply(y)/(x)",
        "fill",
    ];
    let mut compared = 0;
    for head in heads {
        let mut lines = vec![&["-d"][..], &["-multi"]];
        if head.starts_with("model") {
            lines.push(&["-tgtfuncname", "_g", "-tgtvarname", "_g"]);
        }
        for more in lines {
            let (ours, theirs) = (sandbox(), sandbox());
            let line = [&["-head", head, "-o", "out", "all.f"], more].concat();
            let source = format!("{MODEL}{flow}{CALLBACKS}");
            write(ours.path(), "all.f", &source);
            write(theirs.path(), "all.f", &source);
            tapenade(ours.path(), &line).success();
            let ran = Command::new(&real)
                .args(&line)
                .current_dir(theirs.path())
                .output()
                .expect("the real tool");
            assert!(ran.status.success(), "{head}");
            let facts = |dir: &Path| -> Vec<String> {
                let strip = |f: String| match f.split_once("FUNCTION") {
                    Some((_, rest)) if !f.starts_with("SUBROUTINE") => format!("FUNCTION{rest}"),
                    _ => f,
                };
                interface(dir).into_iter().map(strip).collect()
            };
            assert_eq!(facts(ours.path()), facts(theirs.path()), "{head} {more:?}");
            compared += 1;
        }
    }
    eprintln!("{compared} command lines compared with Tapenade");
}

/// The paper's chain of five runs, which ends in the fifth derivative of a function: the same argument lists
/// as from the real tool.
#[test]
fn nested_interfaces_are_those_of_the_real_tool() {
    let Some(real) = real_tapenade() else {
        eprintln!("skipped: TAPENADE_HOME is not set, so nothing was compared with Tapenade");
        return;
    };
    let (ours, theirs) = (sandbox(), sandbox());
    lowered_paper(ours.path());
    lowered_paper(theirs.path());
    run_closures(ours.path(), &mut |line| {
        tapenade(ours.path(), line).success();
    });
    run_closures(theirs.path(), &mut |line| {
        let ran = Command::new(&real)
            .args(line)
            .current_dir(theirs.path())
            .output();
        assert!(ran.expect("the real tool").status.success(), "{line:?}");
    });
    for suffix in ["_g2", "_g4", "_g1", "_g3", "_g5"] {
        let name = format!("eqlbrm42{suffix}.f");
        let sorted = |dir: &Path| {
            let mut list: Vec<String> = headers(&read(dir, &name))
                .into_iter()
                .map(|h| h.trim_start_matches("REAL").to_owned())
                .collect();
            list.sort();
            list
        };
        assert_eq!(sorted(ours.path()), sorted(theirs.path()), "{suffix}");
    }
}

/// As with Tapenade, the derivative of a procedure that is only passed on is generated if it is a head.
#[test]
fn procedures_as_arguments_come_with_their_derivatives() {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "callbacks.f", CALLBACKS);
    let heads = "sum2(y)/(x) cube(cube)/(x) wave(wave)/(x)";
    tapenade(dir, &["-head", heads, "callbacks.f"]).success();
    assert_eq!(
        headers(&read(dir, "callbacks_d.f")),
        [
            "SUBROUTINESUM2_D(X,XD,N,W,WD,Y,YD)",
            "SUBROUTINEAPPLY_D(FUN,FUN_D,X,XD,N,W,WD,Y,YD)",
            "SUBROUTINEFILL_D(G,G_D,X,XD,W,WD,N)",
            "DOUBLEPRECISIONFUNCTIONCUBE_D(X,XD,K,CUBE)",
            "DOUBLEPRECISIONFUNCTIONWAVE_D(X,XD,K,WAVE)",
        ]
    );
    write(
        dir,
        "main.f",
        "      DOUBLE PRECISION X, W(3), WD(3), Y, YD, YP, YM
      X = 0.7D0
      CALL SUM2_D(X, 1D0, 3, W, WD, Y, YD)
      CALL SUM2(X + 1D-6, 3, W, YP)
      CALL SUM2(X - 1D-6, 3, W, YM)
      PRINT *, YD, (YP - YM)/2D-6
      END
",
    );
    let found = numbers(dir, &["main.f", "callbacks.f", "callbacks_d.f"], "");
    close(&found[..1], &found[1..], 1e-8);
    assert!(found[0].abs() > 1.0);
    // Without these heads the list of messages says which are missing.
    tapenade(dir, &["-head", "sum2(y)/(x)", "callbacks.f"]).success();
    assert!(read(dir, "callbacks_d.msg").contains("provide cube_d"));
}

#[test]
fn copies_of_what_entries_share_are_told_of() {
    let dir = sandbox();
    let dir = dir.path();
    let text = "      SUBROUTINE GETF(X, F)
      DOUBLE PRECISION A, X, F, K, C
      SAVE K
      DATA C /2D0/
      F = C*K*X
      RETURN
      ENTRY SETK(A)
      K = A
      END
";
    write(dir, "a.f", text);
    tapenade(dir, &["-d", "-head", "getf(f)/(x)", "-o", "out", "a.f"]).success();
    let said = read(dir, "out_d.msg");
    let wanted = "getf_d has copies of its own of what getf keeps for its entries: k\n";
    assert!(said.contains(wanted), "{said}");
    // Whichever statement sets them; D is known to be never set.
    let text = "      SUBROUTINE GETF(X, F)
      DOUBLE PRECISION X, F, B, D
      SAVE B, D, K, IS
      NAMELIST /NL/ B
      F = B*X + K + D + IS
      RETURN
      ENTRY SETK
      READ (5, NL, IOSTAT=IS)
      DO 10 K = 1, 3
   10 CALL LOOK(D)
      END
      SUBROUTINE LOOK(D)
      DOUBLE PRECISION D
      PRINT *, D
      END
";
    write(dir, "a.f", text);
    tapenade(dir, &["-d", "-head", "getf(f)/(x)", "-o", "out", "a.f"]).success();
    let said = read(dir, "out_d.msg");
    assert!(said.contains("for its entries: b, k, is\n"), "{said}");
}

/// ENTRY points below two heads: with arguments, as functions, and ones that set COMMON, which only they do.
#[test]
fn derivatives_go_through_entries() {
    let dir = sandbox();
    let dir = dir.path();
    let text = "      SUBROUTINE G(Y, X)
      DOUBLE PRECISION X, Y, C, P
      COMMON /STATE/ C, P
      X = 2*Y
      ENTRY EG(X)
      X = X*X
      RETURN
      ENTRY SETC(X)
      C = SIN(X)
      RETURN
      ENTRY RESETP
      P = 0.5D0
      END
      DOUBLE PRECISION FUNCTION F(X)
      DOUBLE PRECISION X, EF, C, P
      COMMON /STATE/ C, P
      F = X
      RETURN
      ENTRY EF(X)
      EF = C*X + P
      END
      SUBROUTINE LATER(X, Y)
      DOUBLE PRECISION X, Y, EF
      Y = 3*X
      CALL EG(Y)
      Y = Y + EF(X)
      END
      SUBROUTINE H(X, Y)
      DOUBLE PRECISION X, Y, Z, C, P
      COMMON /STATE/ C, P
      P = X*X
      CALL SETC(X)
      CALL LATER(X, Y)
      CALL RESETP
      CALL LATER(Y, Z)
      CALL G(Z, Y)
      Y = Y/100 + P*X
      END
      SUBROUTINE K(X, Y)
      DOUBLE PRECISION X, Y, EF
      CALL SETC(2*X)
      CALL RESETP
      CALL EG(X)
      Y = EF(X)
      END
";
    write(dir, "s.f", text);
    sizes(dir, &[("NBDIRSMAX", 2)]);
    let heads = ["-head", "h(y)/(x) k(y)/(x)", "-fixinterface", "s.f"];
    for mode in ["-d", "-b", "-multi"] {
        tapenade(dir, &[&[mode], &heads[..]].concat()).success();
    }
    write(
        dir,
        "main.f",
        "      DOUBLE PRECISION X, XD, XB, XV(2), Y, YD, YB, YV(2), YP, YM, E
      PARAMETER (E = 1D-5)
      X = 0.3D0
      XD = 1
      CALL H_D(X, XD, Y, YD)
      X = 0.3D0
      XB = 0
      YB = 1
      CALL H_B(X, XB, Y, YB)
      X = 0.3D0
      XV(1) = 1
      XV(2) = -2
      CALL H_DV(X, XV, Y, YV, 2)
      CALL H(0.3D0 + E, YP)
      CALL H(0.3D0 - E, YM)
      PRINT *, YD, XB, YV(1), -YV(2)/2, (YP - YM)/(2*E)
      X = 0.3D0
      XD = 1
      CALL K_D(X, XD, Y, YD)
      X = 0.3D0
      XB = 0
      YB = 1
      CALL K_B(X, XB, Y, YB)
      X = 0.3D0
      XV(1) = 1
      XV(2) = -2
      CALL K_DV(X, XV, Y, YV, 2)
      X = 0.3D0 + E
      CALL K(X, YP)
      X = 0.3D0 - E
      CALL K(X, YM)
      PRINT *, YD, XB, YV(1), -YV(2)/2, (YP - YM)/(2*E)
      END
",
    );
    let files = ["main.f", "s.f", "s_d.f", "s_b.f", "s_dv.f"];
    let found = numbers(dir, &files, "");
    for of_head in found.chunks(5) {
        close(&of_head[..4], &[of_head[4]; 4], 1e-7);
    }
    // The result is Y = SIN(2*X)*X**2 + 0.5.
    let slope = 2.0 * 0.6f64.cos() * 0.09 + 0.6f64.sin() * 0.6;
    close(&found[5..6], &[slope], 1e-9);
}

/// One head needs loops over the elements of arrays, the other one has arrays whose length is given where
/// they are used: both in one run.
#[test]
fn arrays_of_the_length_that_counts_now_have_derivatives() {
    let dir = sandbox();
    let dir = dir.path();
    let text = "      SUBROUTINE H(X, Y, K)
      DOUBLE PRECISION X(6), Y(6), B(0:2), D(6)
      INTEGER K
      B = X(1:3)
      D = X
      K = K + 1
      D(1:1 + 2*K - 2:2) = SIN(MIN(SIN(D(6 - K + 1:6)), 1.1D0,
     +  B(2 - K + 1:2) + 0.0213D0))
      IF (K .EQ. 2) THEN
        D(2:3) = 0.5D0
        D(1:1 + 2*K - 2:2) = 2*D(1:K)
      END IF
      K = K - 1
      WHERE (D(1:5:2) .LT. 0.0219D0) B(2:0:-1) = SIN(SIN((/ SQRT(0.3D0
     +  + X(2)**2), TANH(X(1))*B(2), 1D0 /)*D(:3)))
      Y = D
      Y(1:3) = Y(1:3)*B
      END
      SUBROUTINE P(X, Y, K)
      DOUBLE PRECISION X(6), Y(6), A
      ALLOCATABLE A(:)
      INTEGER K, I
      ALLOCATE (A(K))
      A = X(1:K)*X(1:K)
      Y(1) = A(1) + A(K)
      A = 1
      DO I = 1, K
        A(I) = A(I)*I
      END DO
      Y(2) = A(2)*X(1)
      DEALLOCATE (A)
      END
";
    write(dir, "s.f", text);
    tapenade(dir, &["-d", "-head", "h(y)/(x) p(y)/(x)", "s.f"]).success();
    write(
        dir,
        "main.f",
        "      DOUBLE PRECISION X(6), XD(6), Y(6), YD(6), YP(6), YM(6), E
      PARAMETER (E = 1D-6)
      DO I = 1, 6
        X(I) = 0.1D0*I - 0.25D0
        XD(I) = 1D0/I
      END DO
      DO K = 1, 2
        CALL H_D(X, XD, Y, YD, K)
        CALL H(X + E*XD, YP, K)
        CALL H(X - E*XD, YM, K)
        DO I = 1, 6
          PRINT *, YD(I), (YP(I) - YM(I))/(2*E)
        END DO
      END DO
      CALL P_D(X, XD, Y, YD, 3)
      PRINT *, YD(1), 2*X(1)*XD(1) + 2*X(3)*XD(3), YD(2), 2*XD(1)
      END
",
    );
    let found = numbers(dir, &["main.f", "s.f", "s_d.f"], "");
    for both in found.chunks(2) {
        close(&both[..1], &both[1..], 1e-8);
    }
}

/// Where the zeros of a local array are not needed, nothing is left of their loop. A directive that no loop
/// follows is an error to gfortran.
#[test]
fn directives_of_loops_go_with_them() {
    let dir = sandbox();
    let dir = dir.path();
    write(
        dir,
        "s.f",
        "      SUBROUTINE S(X, Y)
      DOUBLE PRECISION X, Y, W(20)
      CALL FILL(W, X)
      Y = W(1)*W(20)
      END
      SUBROUTINE FILL(W, X)
      DOUBLE PRECISION W(20), X
      DO 10 I = 1, 20
   10   W(I) = SIN(I*X)
      END
",
    );
    write(
        dir,
        "main.f",
        "      PROGRAM MAIN
      DOUBLE PRECISION X, Y, YD
      X = 0.7D0
      CALL S_D(X, 1D0, Y, YD)
      PRINT *, YD, COS(X)*SIN(20*X) + 20*SIN(X)*COS(20*X)
      END
",
    );
    tapenade(dir, &["-d", "-head", "s(y)/(x)", "s.f"]).success();
    agree(dir, &["main.f", "s.f", "s_d.f"], 1, 1e-13);
}
