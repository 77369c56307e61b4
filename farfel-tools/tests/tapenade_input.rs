//! The jobs of the Tapenade adapter: command lines and input, without a Tapenade.

use crate::tapenade::program::read;
use farfel_ad::{Builtin, differentiate_all};
use farfel_lang::ir::AdMode;
use farfel_tools::external::Job;
use farfel_tools::tapenade::{Options, Version, job};

const PAPER: &str = include_str!("../../example-project/fortran-main/paper.ff");
const OLD: Version = Version { major: 3, minor: 6 };
const NEW: Version = Version {
    major: 3,
    minor: 16,
};

/// Returns the command lines for the paper's example.
fn paper(version: Version) -> Vec<String> {
    let mut source = read(PAPER);
    let requests = source.lowered();
    let mut program = source.program.clone();
    requests
        .iter()
        .map(|r| {
            let job = job(&program, r, version, &Options::default()).unwrap();
            // Any derivatives will do as the input of the next request.
            program = differentiate_all(
                &Builtin,
                std::mem::take(&mut program),
                std::slice::from_ref(r),
            )
            .unwrap();
            job.args.join(" ")
        })
        .collect()
}

/// Section 3.2 of the paper: roots and suffixes in this order. The differences: heads specify
/// independents and dependents; the file is named after the head, and contains what the head
/// reaches instead of everything, as newer versions require.
#[test]
fn the_command_lines_of_the_paper() {
    let printed = [
        ("deriv1_2_adf2", "_g2"),
        ("deriv2_1_2_adf4", "_g4"),
        ("deriv1_1_adf1", "_g1"),
        ("deriv2_1_1_adf3", "_g3"),
        ("deriv2_2_adf5", "_g5"),
    ];
    let expected: Vec<String> = printed
        .iter()
        .map(|(root, s)| {
            format!("-head {root}(y)/(x) -d -o {root} -diffvarname {s} -difffuncname {s} {root}.f")
        })
        .collect();
    assert_eq!(paper(OLD), expected);
    let newer: Vec<String> = expected
        .iter()
        .map(|l| l.replace("-diff", "-tgt"))
        .collect();
    assert_eq!(paper(NEW), newer);
}

const SMALL: &str = "
      PROGRAM MAIN
      CALL HEAD(X, Y)
      END
C     What this is about
      SUBROUTINE HEAD(X, Y)
C     and how
      Y = F(X)
      IF (Y .GT. 100) STOP 'too large'
      WRITE (*, *, IOSTAT=I) Y
      END
      FUNCTION F(X)
      F = X*X
      END
      SUBROUTINE OTHER
      END
";

fn small(text: &str, mode: AdMode, options: &Options) -> Result<Job, String> {
    let source = read(text);
    let r = source.request(1, mode, "HEAD", &["X"], &["Y"]);
    job(&source.program, &r, NEW, options).map_err(|d| source.show(&d))
}

#[test]
fn options_modes_and_files() {
    let options = Options {
        extra: vec!["-r8".into(), "-nooptim".into(), "tbr".into()],
        java: vec!["-mx1g".into(), "-ea".into()],
        allow_unknown: vec!["G".into()],
        ..Options::default()
    };
    let j = small(SMALL, AdMode::Reverse, &options).unwrap();
    assert_eq!(
        j.args,
        [
            "-java",
            "-mx1g -ea",
            "-head",
            "head(y)/(x)",
            "-b",
            "-o",
            "head",
            "-adjvarname",
            "_g1",
            "-adjfuncname",
            "_g1",
            "-r8",
            "-nooptim",
            "tbr",
            "head.f"
        ]
    );
    assert_eq!(j.outputs, ["head_g1.f"]);
    assert_eq!(j.inputs.len(), 1);
    assert_eq!(j.inputs[0].0, "head.f");

    let source = read(SMALL);
    let mut r = source.request(2, AdMode::Forward, "HEAD", &["X"], &["Y"]);
    r.vector = true;
    let j = job(&source.program, &r, NEW, &Options::default()).unwrap();
    assert!(j.args.contains(&"-multi".to_owned()), "{:?}", j.args);
    assert_eq!(j.outputs, ["head_g2v.f"]);
}

/// The job depends only on the closure.
#[test]
fn equal_closures_have_equal_jobs() {
    let of = |text: &str| small(text, AdMode::Forward, &Options::default()).unwrap();
    let job = of(SMALL);
    for same in [
        SMALL.replace("What this is about", "Something else"),
        SMALL.replace("C     and how\n", ""),
        SMALL.replace("SUBROUTINE OTHER\n", "SUBROUTINE OTHER\n      Z = 1\n"),
        SMALL.replace("CALL HEAD(X, Y)\n", "X = 1\n      CALL HEAD(X, Y)\n"),
    ] {
        assert_eq!(of(&same), job, "{same}");
    }
    assert_ne!(of(&SMALL.replace("X*X", "X*X*X")), job);
    let reordered = SMALL.replace("      SUBROUTINE OTHER\n      END\n", "");
    assert_eq!(
        of(&format!("      SUBROUTINE OTHER\n      END\n{reordered}")),
        job
    );
}

fn text(source: &str, mode: AdMode) -> String {
    let j = small(source, mode, &Options::default()).unwrap();
    assert!(j.inputs[0].1.lines().all(|l| l.len() <= 72));
    j.inputs[0].1.clone()
}

/// The code of STOP would be lost, so a placeholder is substituted.
#[test]
fn tangents_keep_input_and_output() {
    insta::assert_snapshot!(text(SMALL, AdMode::Forward));
}

/// The primal run has done all input and output.
#[test]
fn adjoints_do_no_input_and_output() {
    insta::assert_snapshot!(text(SMALL, AdMode::Reverse));
    let reads = SMALL.replace("F = X*X\n", "READ *, Y\n      F = X*X*Y\n");
    insta::assert_snapshot!(small(&reads, AdMode::Reverse, &Options::default()).unwrap_err());
    assert!(small(&reads, AdMode::Forward, &Options::default()).is_ok());
    // A CHARACTER variable is not a file.
    let internal = SMALL
        .replace(
            "WRITE (*, *, IOSTAT=I) Y",
            "WRITE (S, '(F9.3)') Y\n      READ (S, *) Y",
        )
        .replace("C     and how\n", "      CHARACTER*9 S\n");
    let kept = text(&internal, AdMode::Reverse);
    assert!(
        kept.contains("READ (S, *) Y") && kept.contains("WRITE (S,"),
        "{kept}"
    );
}

/// Intrinsic functions that the tool would handle incorrectly.
#[test]
fn intrinsics_that_the_tool_does_not_know() {
    let source = "
      SUBROUTINE HEAD(X, Y)
      DOUBLE PRECISION X, Y
      COMPLEX*16 Z
      REAL R
      Z = DCMPLX(X, 2D0)*(0D0, 1D0)
      R = DMOD(X, 2D0)
      Y = CDABS(Z) + DDIM(X, 1D0) + DMAX1(X, 2D0, 3D0) + 2**X
      END
";
    insta::assert_snapshot!(text(source, AdMode::Forward));
}

/// Adjoints that are differentiated again call the stack, which the tool does not know.
#[test]
fn stubs_for_the_stack() {
    let source = "
      SUBROUTINE HEAD(X, Y)
      EXTERNAL PUSHREAL8ARRAY, POPREAL8ARRAY
      EXTERNAL PUSHCONTROL1B, POPCONTROL1B
      DOUBLE PRECISION X(3), Y
      CALL PUSHREAL8ARRAY(X, 3)
      CALL PUSHCONTROL1B(0)
      CALL POPCONTROL1B(I)
      CALL POPREAL8ARRAY(X, 3)
      Y = X(1)
      END
";
    insta::assert_snapshot!(text(source, AdMode::Forward));
}

/// The size is passed down with the calls.
#[test]
fn arrays_of_assumed_size_get_one() {
    let source = "
      SUBROUTINE HEAD(X, Y)
      DOUBLE PRECISION X(6), Y, W(2, 3), V(0:4), NRM
      V(0) = X(1)
      CALL SCAL(X(2), V(1))
      CALL MAT(W, 2, X, 3)
      Y = NRM(W(1, 2), 4) + NRM(V, 5)
      END
      SUBROUTINE SCAL(A, X)
      IMPLICIT DOUBLE PRECISION (A-Z)
      DIMENSION X(*)
      INTEGER I
      DO 10 I = 1, 3
   10 CALL ONE(X(I), A)
      END
      SUBROUTINE ONE(X, B)
      DOUBLE PRECISION X(1), B
      X(1) = X(1)*B
      END
      SUBROUTINE MAT(W, LD, X, N)
      DOUBLE PRECISION W(LD,0:*), X(*)
      W(1,N-1) = X(1)*X(2)
      END
      DOUBLE PRECISION FUNCTION NRM(X, N)
      DOUBLE PRECISION X(1)
      NRM = X(N)
      END
";
    insta::assert_snapshot!(text(source, AdMode::Reverse));
    // A size that the head does not know cannot be passed on.
    let open = source.replace("X(6), Y", "X(*), Y");
    let kept = text(&open, AdMode::Reverse);
    assert!(
        kept.contains("W(LD, 0:*), X(*)") && kept.contains("CALL MAT(W, 2, X, 3)"),
        "{kept}"
    );
    assert!(kept.contains("NRM(W(1, 2), 4, 4)"), "{kept}");
}

/// The tool loses labels in large ones.
#[test]
fn computed_goto_is_spelled_out() {
    let source = "
      SUBROUTINE HEAD(X, Y)
      K = 2
      GOTO 5
    5 GOTO (10, 20, 10), K
   10 Y = X
   20 Y = X*X
      END
";
    let text = text(source, AdMode::Forward);
    assert!(
        text.contains(
            "    5 IF (K .EQ. 1) GOTO 10
      IF (K .EQ. 2) GOTO 20
      IF (K .EQ. 3) GOTO 10
"
        ),
        "{text}"
    );
}

/// If a subprogram may receive less than a whole array, the unit that has the whole array sets its
/// derivative to zero.
#[test]
fn parts_of_arrays_need_more_zeros() {
    let source = |actual: &str, dummy: &str| {
        format!(
            "
      SUBROUTINE HEAD(X, Y, N)
      PARAMETER (M = 6)
      DIMENSION X(N), W(6), V(2, 3), Z(N), U(0:5)
      CALL SUB({actual})
      Y = W(1)*Z(1)*V(1, 1)*U(1)*X(1)
      END
      SUBROUTINE SUB(A, N)
      PARAMETER (M = 6)
      DIMENSION A({dummy})
      A(1) = 2
      END
"
        )
    };
    for (actual, dummy, part) in [
        ("W, 6", "N", false),
        ("W, M", "N", false),
        ("W, 5", "M", false),
        ("Z, N", "N", false),
        ("X, N", "N", false),
        ("W, N", "N", true),
        ("W, 6", "*", true),
        ("W(1), 6", "N", true),
        ("W(2), 3", "N", true),
        ("W, 4", "N", true),
        ("V, 6", "N", true),
        ("U, 6", "N", true),
        ("U, 5", "0:N", false),
        ("U, 4", "0:N", true),
    ] {
        let text = source(actual, dummy);
        let j = small(&text, AdMode::Reverse, &Options::default()).unwrap();
        let told = j.args.join(" ").contains(" -nooptim spareinit ");
        assert_eq!(told, part, "{actual} for {dummy}");
    }
}

/// The tool neither saves nor zeroes what a caller does not declare.
#[test]
fn common_blocks_are_declared_by_callers() {
    let source = "
      SUBROUTINE HEAD(X, Y)
      CALL STEP(X, Y)
      CALL STEP(X, Y)
      END
      SUBROUTINE STEP(X, Y)
      PARAMETER (N = 2)
      DOUBLE PRECISION W(0:2*N)
      COMMON /STATE/ W, K /OTHER/ Y2
      Y = W(0)*X
      W(0) = Y
      END
";
    insta::assert_snapshot!(text(source, AdMode::Reverse));
}

/// Adjoints increment the derivatives of both.
#[test]
fn one_variable_as_two_arguments_is_copied_for_adjoints() {
    let source = "
      SUBROUTINE HEAD(X, Y)
      DOUBLE PRECISION X(3), Y, DOT, Z(2, 2), E
      E = X(1)
      Y = DOT(X, X)
      GOTO 10
   10 CALL G(E, E, Y)
      CALL G(X(1), X(2), Y)
      CALL G(X(I), X(J), Y)
      Y = DOT(Z(1, 1), Z(1, 2))
      END
      DOUBLE PRECISION FUNCTION DOT(A, B)
      DOUBLE PRECISION A(3), B(3)
      DOT = A(1)*B(1) + A(2)*B(2) + A(3)*B(3)
      END
      SUBROUTINE G(P, Q, R)
      DOUBLE PRECISION P, Q, R
      R = P*Q
      END
";
    let adjoint = text(source, AdMode::Reverse);
    insta::assert_snapshot!(adjoint.split("\n\n").next().unwrap());
    let tangent = text(source, AdMode::Forward);
    assert!(
        tangent.contains("DOT(X, X)") && tangent.contains("G(E, E, Y)"),
        "{tangent}"
    );
    // Without a size, no copy can be made.
    let open = source.replace("X(3), Y", "X(*), Y");
    insta::assert_snapshot!(small(&open, AdMode::Reverse, &Options::default()).unwrap_err());
}

/// The tool replaces the dummy arguments of statement functions one after the other, and stores
/// results of functions directly in the target of the assignment.
#[test]
fn results_and_statement_functions() {
    let source = "
      SUBROUTINE HEAD(X, Y)
      DOUBLE PRECISION D
      F(A, B) = A*B + C
      A = X
      D = G(X)
      A = G(A)
      IF (A .GT. 1) A = G(A)
      Y = F(B, A) + D
      END
      FUNCTION G(X)
      G = X
      END
";
    let text = text(source, AdMode::Forward);
    insta::assert_snapshot!(text.split("\n\n").next().unwrap());
}
