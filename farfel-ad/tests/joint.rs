//! Joint calls: the derivatives are the same as for split calls, and tapes are shorter.

use crate::support::{CHECKED, expand, expand_with, run};
use farfel_ad::analysis::{Analysis, analyse};
use farfel_ad::{Bounded, Builtin};
use farfel_lang::Sources;
use farfel_lang::lower::{Stage, lower};
use farfel_lang::resolve::resolve;
use farfel_lang::syntax::{Form, NoIncludes, parse};

const TEXT: &str = include_str!("joint.ff");

fn bounded(text: &str, tape: u64) -> String {
    match expand_with(text, &Bounded { tape }) {
        Ok((text, _)) => text,
        Err(e) => panic!("{e}"),
    }
}

fn analysed(text: &str, most: Option<u64>) -> Analysis {
    let mut sources = Sources::new();
    let file = sources.add("test.ff", text);
    let mut parsed = parse(&mut sources, file, Some(Form::Fixed), &mut NoIncludes);
    assert!(resolve(&mut parsed.program).iter().all(|d| !d.is_error()));
    let lowered = lower(parsed.program, Stage::Stage);
    analyse(&lowered.program, &lowered.requests[0], most).unwrap()
}

/// Adds the directive to subprograms.
fn marked(text: &str, names: &[&str]) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let of = |n: &&str| {
            line.contains("SUBROUTINE ") && line.contains(&format!(" {n}("))
                || line.contains(&format!("FUNCTION {n}("))
        };
        out += &format!("{line}\n");
        if names.iter().any(of) {
            out += "!farfel: checkpoint\n";
        }
    }
    out
}

#[test]
fn joint_calls_have_the_same_derivatives() {
    let split = run(&expand(TEXT).unwrap(), CHECKED);
    for names in [
        &["STEP", "AREA"][..],
        &["STEP", "BACK", "AREA"],
        &["BACK", "STATES"],
    ] {
        let text = expand(&marked(TEXT, names)).unwrap();
        // Bit for bit, without optimisation.
        assert_eq!(run(&text, CHECKED), split, "{names:?}");
    }
}

/// A chain of 50 calls, and nested calls.
const CHAIN: &str = "
      PROGRAM P
      DOUBLE PRECISION U(400), G(400), Y
      INTEGER I
      DO I = 1, 400
        U(I) = 1D-3*I
      END DO
      ADR(Y)
      CALL MODEL(U, Y)
      END ADR((G(I) = COTANGENT(U(I)), I = 1, 400))
      PRINT *, Y, G
      END
      SUBROUTINE MODEL(U, Y)
      DOUBLE PRECISION U(400), Y
      DO K = 1, 50
        CALL STEP(U)
      END DO
      Y = U(1) + U(200)*U(400)
      END
      SUBROUTINE STEP(U)
      DOUBLE PRECISION U(400)
      DO J = 1, 20
        CALL RELAX(U)
      END DO
      END
      SUBROUTINE RELAX(U)
      DOUBLE PRECISION U(400)
      DO I = 2, 400
        U(I) = 0.9D0*U(I) + 0.1D0*SIN(U(I)*U(I-1))
      END DO
      END
";

#[test]
fn calls_are_joint_where_tapes_are_too_long() {
    let values = |a: &Analysis| -> u64 { a.tapes.iter().map(|t| t.number.unwrap()).sum() };
    let free = analysed(CHAIN, None);
    assert!(free.joint.is_empty());
    assert!(values(&free) >= 50 * 20 * 399, "{free:?}");
    // 256 kB have room for the states before 50 steps, and for the tape of one step.
    let tape = 256 << 10;
    let found = analysed(CHAIN, Some(tape));
    let joint: Vec<&str> = found.joint.iter().map(|j| j.unit.as_str()).collect();
    assert_eq!(joint, ["STEP"], "{:?}", found.joint);
    assert!(values(&found) * 8 <= tape, "{:?}", found.tapes);
    assert_eq!(
        found.joint[0].why,
        "tapes would take about 3 MB, and take 1 MB with such calls"
    );
    // It runs with that much room.
    let text = bounded(CHAIN, tape);
    assert!(text.contains("CALL STEP("), "{text}");
    assert_eq!(run(&text, CHECKED), run(&expand(CHAIN).unwrap(), CHECKED));
}

#[test]
fn joint_calls_are_joint_in_states_and_refused_in_adjoints_of_adjoints() {
    let at = TEXT.find("      D(1) = 0.5D0").unwrap();
    let end = TEXT[at..].find("      END\n").unwrap() + at;
    let text = marked(
        &format!("{}{}", &TEXT[..at], &TEXT[end..]),
        &["TWO", "CUBE"],
    );
    let other = expand(&text.replace("!farfel", "!")).unwrap();
    assert_eq!(run(&expand(&text).unwrap(), CHECKED), run(&other, CHECKED));
    let errors = expand_with(&marked(TEXT, &["TWO"]), &Builtin).unwrap_err();
    assert!(
        errors
            .contains("the adjoint of the adjoint of what is carried out again here is not known"),
        "{errors}"
    );
}

#[test]
fn what_joint_calls_keep_below_is_put_back() {
    let text = marked(CHAIN, &["RELAX"]).replace(
        "DO I = 2, 400",
        "SAVE S\n      S = S + U(1)\n      U(2) = S\n      DO I = 2, 400",
    );
    let other = expand(&text.replace("!farfel", "!")).unwrap();
    assert_eq!(run(&expand(&text).unwrap(), CHECKED), run(&other, CHECKED));
}

#[test]
fn joint_calls_keep_nothing_that_they_set_before_they_read_it() {
    // A result and three variables that are undefined before the calls, and T, which is defined. No subscript
    // tells that PART reads only those elements of W that it has set.
    let text = "
      PROGRAM P
      DOUBLE PRECISION X(3), G(3), Y, T
      COMMON /C/ T
      DO I = 1, 3
        X(I) = 0.3D0*I + 0.2D0
      END DO
      T = 1.5D0
      ADR(Y)
      CALL ALL(X, Y)
      END ADR((G(I) = COTANGENT(X(I)), I = 1, 3))
      PRINT *, Y, G
      END
      SUBROUTINE ALL(X, Y)
      DOUBLE PRECISION X(3), Y, PROD, S, T, W(2)
      INTEGER M
      COMMON /C/ T
      Y = PROD(X)*T
      CALL PART(X, M, S, W)
      Y = Y + S*M
      END
      FUNCTION PROD(A)
      DOUBLE PRECISION A(3), PROD
      PROD = 1
      DO I = 1, 3
        PROD = PROD*A(I)
      END DO
      END
      SUBROUTINE PART(A, M, S, W)
      DOUBLE PRECISION A(3), S, T, W(2)
      COMMON /C/ T
      M = 0
      S = 1
      W(1) = A(2)
      W(2) = A(1)*T
      DO I = 1, 3
        M = M + 1
        S = S*SIN(A(I)*T) + M*W(1 + MOD(I, 2))
      END DO
      T = T*S
      END
";
    let split = run(&expand(text).unwrap(), CHECKED);
    let joint = expand(&marked(text, &["PROD", "PART"])).unwrap();
    assert_eq!(run(&joint, CHECKED), split, "{joint}");
    let model = joint.split("SUBROUTINE ALL_G1(").nth(1).unwrap();
    let model = model.split("\n      END\n").next().unwrap();
    let kept: Vec<&str> = (model.lines())
        .filter_map(|l| l.trim().split_once(" = "))
        .filter(|(to, _)| to.starts_with("TAPE_") || to.starts_with("OLD_"))
        .map(|(_, value)| value)
        .collect();
    // Once, for what is before the call and for the call itself.
    assert_eq!(kept, ["T"], "{joint}");
}

/// A variable that only a declaration reads, and that the subprogram then changes, is saved nevertheless.
#[test]
fn joint_calls_keep_the_bounds_of_arrays() {
    let text = "
      PROGRAM P
      DOUBLE PRECISION X(4), G(4), Y
      DO I = 1, 4
        X(I) = 0.3D0*I + 0.2D0
      END DO
      ADR(Y)
      N = 4
      CALL PART(X, N, Y)
      CALL PART(X, N, Y)
      END ADR((G(I) = COTANGENT(X(I)), I = 1, 4))
      PRINT *, Y, G
      END
      SUBROUTINE PART(A, N, S)
      DOUBLE PRECISION A(N), S
      S = A(1)*A(N)
      N = 2
      S = S*SUM(A)
      END
";
    let split = run(&expand(text).unwrap(), CHECKED);
    let joint = expand(&marked(text, &["PART"])).unwrap();
    assert_eq!(run(&joint, CHECKED), split, "{joint}");
}

/// The reverse sweep of a fixed-point loop goes back over the tape of one iteration several times: calls in it,
/// directly and further below, stay split.
#[test]
fn calls_in_fixed_point_loops_are_split() {
    let text = "
      PROGRAM P
      DOUBLE PRECISION X(2), G(2), Y
      X(1) = 0.7D0
      X(2) = 1.3D0
      ADR(Y)
      CALL SOLVE(X, Y)
      END ADR((G(I) = COTANGENT(X(I)), I = 1, 2))
      PRINT *, Y, G
      END
      SUBROUTINE SOLVE(X, Y)
      DOUBLE PRECISION X(2), Y, Z(3), D
      Z = 0
      D = 1
!farfel: fixed-point
      DO WHILE (D .GT. 1D-15)
        D = Z(1)
        CALL PAIR(X, Z)
        CALL HALF(X(2), Z)
        D = ABS(Z(1) - D)
      END DO
      CALL HALF(X(1), Z)
      Y = Z(1)*Z(2) + Z(3)
      END
      SUBROUTINE PAIR(X, Z)
      DOUBLE PRECISION X(2), Z(3)
      CALL HALF(X(1), Z)
      CALL HALF(X(2), Z)
      END
      SUBROUTINE HALF(X, Z)
      DOUBLE PRECISION X, Z(3)
      DO K = 1, 3
        Z(K) = 0.4D0*COS(Z(K)*X + Z(MOD(K, 3) + 1))
        Z(K) = Z(K)*(1 + 0.1D0*Z(K)*X)
      END DO
      END
";
    let split = run(&expand(text).unwrap(), CHECKED);
    let joint = expand(&marked(text, &["HALF"])).unwrap();
    assert_eq!(run(&joint, CHECKED), split, "{joint}");
}
