//! Adjoints by `farfel tapenade` that would have long tapes: calls that record much are executed again in the
//! reverse sweep instead.

use farfel_tests::tapenade::tapenade;
use farfel_tests::{sandbox, write};
use std::path::Path;
use std::process::{Command, Output};

/// The limit for the memory of adjoints, in kB: less than the tapes of split calls.
const LIMIT: u64 = 250_000;

/// A model with 120 steps, whose subroutine STEP records 5 arrays of 80,000 values, 384 MB in all.
fn model(step: &str) -> String {
    format!(
        "      SUBROUTINE MODEL(X, Y)
      INTEGER N
      PARAMETER (N = 80000)
      DOUBLE PRECISION X(2), Y, U(N), V(N), COUNTED
      COMMON /STATE/ U, V
      COMMON /CALLS/ COUNTED, L
      DO I = 1, N
        U(I) = X(1)*I/N
        V(I) = 0
      END DO
      DO K = 1, 120
        CALL STEP(X(2), K)
        U(7) = U(7)*X(1)
      END DO
      Y = 0
      DO I = 1, N
        Y = Y + U(I)*U(I) + V(I)
      END DO
      END
      SUBROUTINE STEP(A, K)
      INTEGER N
      PARAMETER (N = 80000)
      DOUBLE PRECISION A, U(N), V(N), W(N), P(N), Q(N), COUNTED
      COMMON /STATE/ U, V
      COMMON /CALLS/ COUNTED, L
{step}      DO I = 2, N - 1
        P(I) = U(I-1) - 2*U(I) + U(I+1)
      END DO
      P(1) = 0
      P(N) = 0
      DO I = 1, N
        W(I) = SIN(P(I))*A
        Q(I) = W(I)*W(I) + U(I)
        P(I) = Q(I)*0.1D0*W(I)
        W(I) = EXP(-P(I)*P(I))
        Q(I) = W(I)*P(I)*(1 + 0.01D0*K)
      END DO
      DO I = 1, N
        U(I) = U(I) + Q(I)
      END DO
      V(K) = V(K) + U(K)*A
      END
"
    )
}

const MAIN: &str = "      PROGRAM MAIN
      DOUBLE PRECISION X(2), XB(2), Y, YB, YP, YM, H, COUNTED
      COMMON /CALLS/ COUNTED, L
      COUNTED = 0
      L = 0
      X(1) = 0.9D0
      X(2) = 0.8D0
      YB = 1
      CALL MODEL_B(X, XB, Y, YB)
      PRINT *, XB
      PRINT *, NINT(COUNTED), L
      H = 1D-5
      DO 10 I = 1, 2
        X(I) = X(I) + H
        CALL MODEL(X, YP)
        X(I) = X(I) - 2*H
        CALL MODEL(X, YM)
        X(I) = X(I) + H
   10 PRINT *, (YP - YM)/(2*H)
      END
";

fn compiled(dir: &Path, name: &str, options: &[&str]) {
    let mut all = vec!["-b", "-head", "model(y)/(x)", "s.f"];
    all.extend(options);
    tapenade(dir, &all).success();
    let mut gfortran = Command::new("gfortran");
    gfortran
        .current_dir(dir)
        .args(["-O1", "-fcheck=bounds", "-o", name]);
    let made = gfortran.args(["main.f", "s.f", "s_b.f"]).output().unwrap();
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
}

/// Runs a program with the limit, or without one.
fn run(dir: &Path, name: &str, limited: bool) -> Output {
    let limit = match limited {
        true => LIMIT.to_string(),
        false => "unlimited".to_owned(),
    };
    run_within(dir, name, &limit)
}

/// Runs a program with a limit in kB.
fn run_within(dir: &Path, name: &str, limit: &str) -> Output {
    let mut shell = Command::new("sh");
    shell
        .current_dir(dir)
        .args(["-c", &format!("ulimit -v {limit}; exec ./{name}")]);
    shell.output().unwrap()
}

#[track_caller]
fn numbers(output: &Output) -> Vec<f64> {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let numbers = text.split_whitespace().map(|n| n.parse().unwrap());
    numbers.collect()
}

/// The gradient, which is compared with differences; then what the program counts.
#[track_caller]
fn checked(output: &Output) -> (Vec<f64>, Vec<f64>) {
    let all = numbers(output);
    let (gradient, counts, differences) = (&all[..2], &all[2..4], &all[4..]);
    for (g, d) in gradient.iter().zip(differences) {
        assert!((g - d).abs() <= 1e-6 * d.abs(), "{all:?}");
    }
    (gradient.to_vec(), counts.to_vec())
}

/// The gradient is the same bit for bit, in less memory. `-defaultnocheckpoint`, and `-nocheckpoint` with the name
/// of the subprogram, turn that off.
#[test]
fn calls_are_executed_again_instead_of_being_recorded() {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "s.f", model(""));
    write(dir, "main.f", MAIN);
    compiled(dir, "repeated", &[]);
    let (gradient, _) = checked(&run(dir, "repeated", true));
    for options in [
        &["-defaultnocheckpoint"][..],
        &["-nocheckpoint", "other step"],
    ] {
        compiled(dir, "split", options);
        assert!(!run(dir, "split", true).status.success(), "{options:?}");
        assert_eq!(checked(&run(dir, "split", false)).0, gradient);
    }
}

/// A model with 60 steps that record 96 MB with split calls: too little to execute anything again unless that is asked
/// for. `begin` and `end` are around the statements of a step, and around the last loop of it, within these.
fn marked(begin: &str, end: &str) -> String {
    format!(
        "      SUBROUTINE MODEL(X, Y)
      INTEGER N
      PARAMETER (N = 50000)
      DOUBLE PRECISION X(2), Y, U(N), V(N), W(N), S, COUNTED
      COMMON /CALLS/ COUNTED, L
      DO I = 1, N
        U(I) = X(1)*I/N
        V(I) = 0
      END DO
      DO K = 1, 60
{begin}        CALL TICK(1)
        L = L + 1
        DO 10 I = 1, N
          IF (MOD(I, 3) .NE. 0) GOTO 10
          V(I) = V(I)*0.9D0
   10   CONTINUE
        DO I = 1, N
          W(I) = SIN(U(I))*X(2)
          W(I) = W(I)*W(I) + U(I)
          V(I) = V(I) + EXP(-W(I)*W(I))
          W(I) = SIN(W(I))*V(I)
        END DO
{begin}        S = W(K)
        CALL TICK(2)
        DO I = 1, N
          W(I) = W(I)*COS(W(I))
          U(I) = U(I) + 0.001D0*W(I)*S
        END DO
{end}{end}      END DO
      Y = 0
      DO I = 1, N
        Y = Y + U(I)*U(I) + V(I)
      END DO
      END
"
    )
}

/// Statements between directives are executed again, those between inner ones twice, whatever memory that saves.
/// The gradient is the same but for rounding, and COMMON is as after one execution.
#[test]
fn marked_statements_are_executed_again() {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "ext", DESCRIBED);
    let ticks = MAIN.replace("\n      PRINT *, XB\n", COUNT);
    let run_marked = |begin: &str, end: &str, main: &str, limit: &str| {
        write(dir, "s.f", marked(begin, end));
        write(dir, "main.f", format!("{main}{TICK}"));
        compiled(dir, "marked", &["-ext", "ext"]);
        run_within(dir, "marked", limit)
    };
    assert!(!run_marked("", "", MAIN, "110000").status.success());
    let gradient = checked(&run_marked("", "", MAIN, "unlimited")).0;
    for (begin, end) in [
        ("C$AD CHECKPOINT-START\n", "C$AD CHECKPOINT-END\n"),
        ("!farfel: checkpoint begin\n", "!farfel: checkpoint end\n"),
    ] {
        let (again, counts) = checked(&run_marked(begin, end, MAIN, "110000"));
        for (a, g) in again.iter().zip(&gradient) {
            assert!((a - g).abs() <= 1e-13 * g.abs(), "{again:?} {gradient:?}");
        }
        assert_eq!(counts, [0.0, 60.0]);
        let counts = checked(&run_marked(begin, end, &ticks, "110000")).1;
        assert_eq!(counts, [120.0, 180.0]);
        // A tangent has nothing to execute again.
        tapenade(dir, &["-d", "-head", "model(y)/(x)", "-ext", "ext", "s.f"]).success();
        let tangent = std::fs::read_to_string(dir.join("s_d.f")).unwrap();
        assert!(!tangent.contains("CHECKPOINT"), "{tangent}");
    }
}

/// So are the calls of marked subprograms.
#[test]
fn marked_subprograms_are_executed_again() {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "main.f", MAIN);
    let text = model("").replace("DO K = 1, 120", "DO K = 1, 40");
    let mut gradients = Vec::new();
    for (mark, enough) in [("", false), ("!farfel: checkpoint\n", true)] {
        write(
            dir,
            "s.f",
            text.replace(
                "      SUBROUTINE STEP",
                &format!("{mark}      SUBROUTINE STEP"),
            ),
        );
        compiled(dir, "marked", &[]);
        gradients.push(numbers(&run(dir, "marked", false))[..2].to_vec());
        assert_eq!(run_within(dir, "marked", "100000").status.success(), enough);
    }
    assert_eq!(gradients[0], gradients[1]);
}

/// Statements that cannot be executed again are executed once, with a warning at the directive.
#[test]
fn marked_statements_that_read_files_are_executed_once() {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "main.f", MAIN);
    let begin = "C$AD CHECKPOINT-START\n";
    let text =
        marked(begin, "C$AD CHECKPOINT-END\n").replacen("CALL TICK(1)", "READ (7, *) X(2)", 1);
    let text = text.replace("        CALL TICK(2)\n", "");
    let text = text.replacen(
        "      DO I = 1, N\n",
        "      REWIND 7\n      DO I = 1, N\n",
        1,
    );
    write(dir, "s.f", text);
    write(dir, "fort.7", "0.8\n".repeat(60));
    let command = ["-b", "-head", "model(y)/(x)", "s.f"];
    let said = tapenade(dir, &command).success();
    let said = String::from_utf8_lossy(&said.get_output().stderr).into_owned();
    assert!(
        said.contains("this region cannot be executed again"),
        "{said}"
    );
    assert!(said.contains("s.f:12:1"), "{said}");
    compiled(dir, "once", &[]);
    let all = numbers(&run(dir, "once", false));
    let (gradient, difference) = (all[0], all[4]);
    assert!(
        (gradient - difference).abs() <= 1e-6 * difference.abs(),
        "{all:?}"
    );
    assert_eq!((all[1], all[3]), (0.0, 60.0), "{all:?}");
}

/// What calls change in COMMON besides is as after one execution, and so is what they keep from call to call:
/// such calls are not executed again.
#[test]
fn executing_again_leaves_the_state_of_one_execution() {
    let dir = sandbox();
    let dir = dir.path();
    write(dir, "main.f", MAIN);
    let counted = "      COUNTED = COUNTED + 1\n      IF (COUNTED .GT. 119.5D0) L = L + K\n";
    write(dir, "s.f", model(counted));
    compiled(dir, "counted", &[]);
    let (gradient, counts) = checked(&run(dir, "counted", true));
    assert_eq!(counts, [120.0, 120.0]);
    let saved = "      SAVE M\n      DATA M /0/\n      M = M + 1\n      L = M\n";
    write(dir, "s.f", model(saved));
    compiled(dir, "saved", &[]);
    let saved = run(dir, "saved", false);
    let (other, counts) = checked(&saved);
    assert_eq!(counts, [0.0, 120.0]);
    assert_eq!(other, gradient);
}

/// An array that steps change only under a flag is saved only while the flag holds. A later step may change it although an
/// earlier one did not, and so did not save what it is executed again with.
#[test]
fn flags_may_change_between_calls_that_are_executed_again() {
    let declared = "      LOGICAL ICE
      DOUBLE PRECISION H(N)
      COMMON /PACKAGES/ ICE
      COMMON /ICES/ H
";
    let step = format!(
        "{declared}      IF (ICE) THEN
        DO I = 1, N
          H(I) = H(I)*0.99D0 + 0.01D0*U(I)
        END DO
      END IF
      DO I = 1, N
        U(I) = U(I)*(1 + 1D-3*H(I)*H(I))
      END DO
"
    );
    for (first, then) in [(false, true), (true, true), (true, false), (false, false)] {
        let flag = |on: bool| format!(".{on}.").to_uppercase();
        let start = format!(
            "      ICE = {}
      DO I = 1, N
        H(I) = 0.3D0*X(2)
      END DO
      DO K = 1, 120
        IF (K .EQ. 60) ICE = {}
",
            flag(first),
            flag(then)
        );
        let calls = "      COMMON /CALLS/ COUNTED, L\n";
        let text = model(&step).replacen(calls, &format!("{calls}{declared}"), 1);
        let text = text.replacen("      DO K = 1, 120\n", &start, 1);
        let dir = sandbox();
        let dir = dir.path();
        write(dir, "s.f", text);
        write(dir, "main.f", MAIN);
        compiled(dir, "flags", &[]);
        checked(&run(dir, "flags", false));
        let made = std::fs::read_to_string(dir.join("s_b.f")).unwrap();
        // The step is executed again, and no need is certain.
        assert!(made.contains("IF (.NOT. ICE) RELIED = .TRUE."), "{made}");
        assert!(made.contains("IF (ICE .AND. RELIED) THEN"), "{made}");
    }
}

/// Counts calls of two kinds.
const TICK: &str = "      SUBROUTINE TICK(I)
      INTEGER TICKS(2)
      SAVE TICKS
      DATA TICKS /0, 0/
      TICKS(I) = TICKS(I) + 1
      RETURN
      ENTRY TOTALS(J, K)
      J = TICKS(1)
      K = TICKS(2)
      END
";

/// Gets the counts, in the main program.
const COUNT: &str =
    "\n      CALL TOTALS(J, K)\n      COUNTED = J\n      L = K\n      PRINT *, XB\n";

const DESCRIBED: &str = "subroutine tick:
  external:
  shape: (param 1)
  type: (integer())
  ReadNotWritten:     (1)
  NotReadThenWritten: (0)
  ReadThenWritten:    (0)
";

/// Calls below a call that is executed again are executed once more, not twice: in a program with two levels of
/// subprograms that record much, each is executed 240 times for 120 steps.
#[test]
fn nothing_is_executed_more_than_twice() {
    let dir = sandbox();
    let dir = dir.path();
    let split = "      CALL TICK(1)\n      CALL SMOOTH(A)\n";
    let smooth = "      SUBROUTINE SMOOTH(A)
      INTEGER N
      PARAMETER (N = 80000)
      DOUBLE PRECISION A, U(N), V(N), W(N)
      COMMON /STATE/ U, V
      CALL TICK(2)
      DO L = 1, 2
        DO I = 2, N
          W(I) = U(I-1)*A
        END DO
        DO I = 2, N
          U(I) = U(I) + 1D-3*W(I)*W(I)
        END DO
      END DO
      END
";
    write(dir, "s.f", format!("{}{smooth}", model(split)));
    let main = MAIN.replace("\n      PRINT *, XB\n", COUNT);
    write(dir, "main.f", format!("{main}{TICK}"));
    write(dir, "ext", DESCRIBED);
    compiled(dir, "twice", &["-ext", "ext"]);
    assert_eq!(checked(&run(dir, "twice", true)).1, [240.0, 240.0]);
    compiled(dir, "once", &["-ext", "ext", "-defaultnocheckpoint"]);
    assert_eq!(checked(&run(dir, "once", false)).1, [120.0, 120.0]);
    // Without a description, only if it cannot return a result: not in a local variable.
    compiled(dir, "constant", &[]);
    assert_eq!(checked(&run(dir, "constant", true)).1, [240.0, 240.0]);
    let split = "      M = 1\n      CALL TICK(M)\n      CALL SMOOTH(A)\n";
    write(dir, "s.f", format!("{}{smooth}", model(split)));
    compiled(dir, "local", &[]);
    assert_eq!(checked(&run(dir, "local", false)).1[0], 120.0);
}

/// Each step of this model records 384 MB, so that it does not suffice to execute steps again; and in 10 steps, what calls in
/// them start from takes 512 MB. Both are executed again, so that the subroutines in a step are executed three times.
#[test]
fn long_steps_and_calls_in_them_are_executed_again() {
    let dir = sandbox();
    let dir = dir.path();
    let turn = |name: &str| {
        format!(
            "      SUBROUTINE {name}(A)
      INTEGER N
      PARAMETER (N = 800000)
      DOUBLE PRECISION A, U(N), V(N), W(N)
      COMMON /STATE/ U, V
      CALL TICK(2)
      DO I = 1, N
        W(I) = 0.3D0 + 0.1D0*U(I)
      END DO
      DO M = 1, 12
        DO I = 1, N
          W(I) = W(I) + 1D-3*W(I)*W(I)*A
        END DO
      END DO
      DO I = 1, N
        V(I) = V(I)*0.99D0 + W(I)*U(I)
        U(I) = U(I)*COS(0.01D0*V(I)) + 1D-3*W(I)
      END DO
      END
"
        )
    };
    let names = ["TURN1", "TURN2", "TURN3", "TURN4"];
    let calls: String = names.map(|n| format!("        CALL {n}(A)\n")).concat();
    let subroutines = names.map(turn).concat();
    let text = format!(
        "      SUBROUTINE MODEL(X, Y)
      INTEGER N
      PARAMETER (N = 800000)
      DOUBLE PRECISION X(2), Y, U(N), V(N)
      COMMON /STATE/ U, V
      DO I = 1, N
        U(I) = X(1)*I/N
        V(I) = 0
      END DO
      DO K = 1, 10
        CALL STEP(X(2))
      END DO
      Y = 0
      DO I = 1, N
        Y = Y + U(I)*U(I) + V(I)
      END DO
      END
      SUBROUTINE STEP(A)
      INTEGER N
      PARAMETER (N = 800000)
      DOUBLE PRECISION A, U(N), V(N)
      COMMON /STATE/ U, V
      CALL TICK(1)
{calls}      END
{subroutines}"
    );
    write(dir, "s.f", text);
    let main = MAIN.replace("\n      PRINT *, XB\n", COUNT);
    write(dir, "main.f", format!("{main}{TICK}"));
    write(dir, "ext", DESCRIBED);
    compiled(dir, "thrice", &["-ext", "ext"]);
    let (gradient, counts) = checked(&run_within(dir, "thrice", "450000"));
    assert_eq!(counts, [20.0, 120.0]);
    compiled(dir, "twice", &["-ext", "ext", "-nocheckpoint", "step"]);
    assert!(!run_within(dir, "twice", "450000").status.success());
    let (same, counts) = checked(&run(dir, "twice", false));
    assert_eq!(counts, [10.0, 80.0]);
    assert_eq!(same, gradient);
    let turns = names.map(str::to_lowercase).join(" ");
    compiled(dir, "steps", &["-ext", "ext", "-nocheckpoint", &turns]);
    assert!(!run_within(dir, "steps", "450000").status.success());
    assert_eq!(checked(&run(dir, "steps", false)).1, [20.0, 80.0]);
}

/// A call that executes a fixed-point loop is not executed again: the loop iterates until it has converged, but only
/// one of its iterations is recorded.
#[test]
fn calls_with_fixed_point_loops_are_executed_once() {
    let dir = sandbox();
    let dir = dir.path();
    let calls = "      CALL RELAX(A, V(N))\n";
    let relax = "      SUBROUTINE RELAX(A, Z)
      DOUBLE PRECISION A, Z, OLD
      Z = 1
C$AD FP-LOOP \"z\"
      DO L = 1, 500
        OLD = Z
        CALL TICK(1)
        Z = COS(A*Z)
        IF (ABS(Z - OLD) .LT. 1D-15) EXIT
      END DO
      END
";
    write(dir, "s.f", format!("{}{relax}", model(calls)));
    let main = MAIN.replace("\n      PRINT *, XB\n", COUNT);
    write(dir, "main.f", format!("{main}{TICK}"));
    write(dir, "ext", DESCRIBED);
    let ticks = |options: &[&str], name: &str| {
        compiled(dir, name, &[&["-ext", "ext"], options].concat());
        checked(&run(dir, name, false)).1[0]
    };
    let once = ticks(&["-defaultnocheckpoint"], "once");
    assert!(once > 120.0 * 20.0, "{once}");
    assert_eq!(ticks(&[], "default"), once);
}

/// Values that a call starts from, and that are needed from before it, stay on the tape while it is executed again: only the
/// number of values on it is put back, after subprograms have popped them.
#[test]
fn values_that_stay_on_a_tape_that_grows() {
    let dir = sandbox();
    let dir = dir.path();
    let arm = |k: i32| {
        format!(
            "        IF (U({0}) .GT. 0.{1}D-6) U({0}) = 0.9D0*U({0})*X(1)
        M = MOD(M + {1}, 9)
        U({2}) = U({2})*(1 + 0.001D0*M*U({0}))
",
            k + 10,
            k + 1,
            k + 20
        )
    };
    let arms: String = (0..4).map(arm).collect();
    let text = format!(
        "      SUBROUTINE MODEL(X, Y)
      INTEGER N
      PARAMETER (N = 1200000)
      DOUBLE PRECISION X(2), Y, U(N)
      COMMON /STATE/ U
      COMMON /COUNTS/ L, M
      DO I = 1, N
        U(I) = X(1)*I/N
      END DO
      L = 1
      M = 1
      Y = 0
      DO K = 1, 4 + NINT(X(2))
        CALL STEP(X(2), K, Y)
        U(7) = U(7)*X(1)*(1 + 0.01D0*L*M)
{arms}      END DO
      END
      SUBROUTINE STEP(A, K, Y)
      INTEGER N
      PARAMETER (N = 1200000)
      DOUBLE PRECISION A, U(N), W(N), P(N), Q(N), Y
      COMMON /STATE/ U
      COMMON /COUNTS/ L, M
      L = MOD(3*L + K, 5)
      M = MOD(M + L, 7)
      DO I = 2, N
        P(I) = U(I-1) - 2*U(I)
      END DO
      P(1) = 0
      DO I = 1, N
        W(I) = SIN(P(I))*A
        Q(I) = W(I)*W(I) + U(I)
        P(I) = Q(I)*0.1D0*W(I)
        W(I) = EXP(-P(I)*P(I))
        Q(I) = W(I)*P(I)*(1 + 0.01D0*M)
      END DO
      DO I = 1, N
        Y = Y + Q(I)*Q(I)*L
      END DO
      END
"
    );
    write(dir, "s.f", text);
    write(dir, "main.f", MAIN);
    compiled(dir, "kept", &[]);
    let made = std::fs::read_to_string(dir.join("s_b.f")).unwrap();
    assert!(made.contains("TAPE_I4%TOP = KEPT"), "{made}");
    checked(&run(dir, "kept", false));
}
