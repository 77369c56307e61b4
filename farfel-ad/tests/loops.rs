//! Inner loops of derivatives: how they are rewritten, and that they compute the same.

use farfel_ad::simplify::loops::rewrite_inner_loops;
use farfel_lang::ir::{SymId, Unit};
use farfel_lang::{Sources, print, resolve::resolve, syntax};
use std::collections::HashSet;
use std::process::Command;

/// A subroutine with these statements. Names that end in `_G` are derivatives.
fn subroutine(name: &str, body: &str) -> Unit {
    let mut source = format!(
        "      SUBROUTINE {name}(M, N, T, T_G, S, S_G, A, A_G, B, B_G, I)\n      \
         INTEGER M, N, I, J, IX\n      \
         DOUBLE PRECISION T, T_G, S, S_G, A(200, 3), A_G(200, 3)\n      \
         DOUBLE PRECISION B(200), B_G(200)\n"
    );
    for line in body.lines().map(str::trim).filter(|l| !l.is_empty()) {
        match line.strip_prefix('!') {
            Some(comment) => source.push_str(&format!("C{comment}\n")),
            None => match line.split_once(": ") {
                Some((label, rest)) => source.push_str(&format!("{label:>5} {rest}\n")),
                None => source.push_str(&format!("      {line}\n")),
            },
        }
    }
    source.push_str("      END\n");
    let mut sources = Sources::new();
    let file = sources.add("test.f", source);
    let mut parsed = syntax::parse(&mut sources, file, None, &mut syntax::NoIncludes);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    let found = resolve(&mut parsed.program);
    assert!(!farfel_lang::diagnostic::any_errors(&found), "{found:?}");
    parsed.program.units.remove(0)
}

fn rewritten(mut unit: Unit) -> Unit {
    let derivatives: HashSet<SymId> = unit
        .symbols
        .iter()
        .filter(|(_, s)| s.name.ends_with("_G"))
        .map(|(id, _)| id)
        .collect();
    rewrite_inner_loops(&mut unit, &derivatives);
    unit
}

fn text(unit: &Unit) -> String {
    print::print_unit(unit, &print::Options::default())
}

/// The rewritten statements, without the declarations.
fn shown(body: &str) -> String {
    let text = text(&rewritten(subroutine("LOOPS", body)));
    let statements = text.lines().skip_while(|l| {
        ["SUBROUTINE", "INTEGER", "DOUBLE", "+"]
            .iter()
            .any(|w| l.trim_start().starts_with(w))
    });
    statements
        .take_while(|l| l.trim() != "END")
        .map(|l| format!("{l}\n"))
        .collect()
}

/// Checks that loops stay as they are.
fn unchanged(body: &str) {
    assert_eq!(shown(body), shown_as_is(body));
}

fn shown_as_is(body: &str) -> String {
    let mut unit = subroutine("LOOPS", body);
    // Without derivatives, nothing is rewritten.
    rewrite_inner_loops(&mut unit, &HashSet::new());
    let text = text(&unit);
    text.lines()
        .skip(3)
        .skip_while(|l| l.trim_start().starts_with("DOUBLE") || l.trim_start().starts_with('+'))
        .take_while(|l| l.trim() != "END")
        .map(|l| format!("{l}\n"))
        .collect()
}

#[test]
fn loops_over_elements_side_by_side_get_a_directive() {
    insta::assert_snapshot!(shown("
        DO J = 1, M
          DO I = 1, N
            A_G(I, J) = A_G(I, J) + (T_G*B(I + 1) + T*B_G(I + 1))
            A(I, J) = A(I, J) + T*B(I + 1)
          END DO
        END DO
    "), @r"
          DO J = 1, M
    CGCC$ VECTOR
            DO I = 1, N
              A_G(I, J) = A_G(I, J) + (T_G*B(I + 1) + T*B_G(I + 1))
              A(I, J) = A(I, J) + T*B(I + 1)
            END DO
          END DO
    ");
}

#[test]
fn sums_of_derivatives_are_added_in_strips() {
    insta::assert_snapshot!(shown("
        DO 10 I = M + 1, N - 1
          S_G = S_G + A(I, 1)*B_G(I)
          A_G(I, 1) = A_G(I, 1) - T*B_G(I)
        10: CONTINUE
    "), @r"
          I = M + 1
          IF (N - 8 .GE. M + 1) THEN
            PART = 0.0D0
            DO I = M + 1, N - 8, 8
    CGCC$ UNROLL 8
              DO LANE = 0, 7
                PART(LANE) = PART(LANE) + A(I + LANE, 1)*B_G(I + LANE)
                A_G(I + LANE, 1) = A_G(I + LANE, 1) - T*B_G(I + LANE)
              END DO
            END DO
            S_G = S_G + (((PART(0) + PART(4)) + (PART(2) + PART(6)))
         +      + ((PART(1) + PART(5)) + (PART(3) + PART(7))))
          END IF
          DO 10 I = I, N - 1
            S_G = S_G + A(I, 1)*B_G(I)
            A_G(I, 1) = A_G(I, 1) - T*B_G(I)
       10 CONTINUE
    ");
}

#[test]
fn sums_of_the_program_keep_their_order() {
    insta::assert_snapshot!(shown("
        DO I = 1, N
          S_G = S_G + (A_G(I, 1)*B(I) + A(I, 1)*B_G(I))
          S = S + A(I, 1)*B(I)
        END DO
    "), @r"
          I = 1
          IF (N - 3 .GE. 1) THEN
            PART = 0.0D0
            DO I = 1, N - 3, 4
    CGCC$ UNROLL 4
              DO LANE = 0, 3
                PART(LANE) = PART(LANE) + (A_G(I + LANE, 1)*B(I + LANE)
         +          + A(I + LANE, 1)*B_G(I + LANE))
                S = S + A(I + LANE, 1)*B(I + LANE)
              END DO
            END DO
            S_G = S_G + ((PART(0) + PART(2)) + (PART(1) + PART(3)))
          END IF
          DO I = I, N
            S_G = S_G + (A_G(I, 1)*B(I) + A(I, 1)*B_G(I))
            S = S + A(I, 1)*B(I)
          END DO
    ");
}

#[test]
fn other_loops_stay() {
    // Iterations that need the sum of the previous one.
    unchanged("DO I = 1, N\nS_G = S_G + A(I, 1)*B_G(I)\nB_G(I) = S_G\nEND DO");
    unchanged("DO I = 1, N\nS_G = T*S_G + B_G(I)\nEND DO");
    unchanged("DO I = 1, N\nS_G = S_G + S_G*B_G(I)\nEND DO");
    unchanged("DO I = 1, N\nS_G = B_G(I) - S_G\nEND DO");
    // A sum in an element of an array of which the loop reads other elements.
    unchanged("DO I = 1, N\nB_G(M) = B_G(M) + A(I, 1)*B_G(I)\nEND DO");
    // Only sums of the program, and nothing of a derivative.
    unchanged("DO I = 1, N\nS = S + A(I, 1)*B(I)\nEND DO");
    unchanged("DO I = 1, N\nA(I, 1) = A(I, 1) + T*B(I)\nEND DO");
    // Elements that are far from each other.
    unchanged("DO I = 1, 3\nA_G(M, I) = A_G(M, I) + T*B_G(M)\nEND DO");
    unchanged("DO I = 1, N\nS_G = S_G + A_G(M, I)\nEND DO");
    // `I` is an argument: its final value matters.
    unchanged("DO I = N, 1, -1\nB_G(I) = T*B_G(I)\nEND DO");
    // Iterations that need the results of previous ones, or may need them.
    unchanged("DO J = N, 1, -1\nB_G(J) = T*B_G(J + 1)\nEND DO");
    unchanged("DO J = N, 1, -1\nB_G(J) = T*B_G(J + M)\nEND DO");
    unchanged("DO J = N, 1, -1\nB_G(J) = T*B_G(M)\nEND DO");
    unchanged("DO J = M, 1, -1\nB_G(J) = T*B_G(M)\nEND DO");
    unchanged("DO J = N, 1, -3\nB_G(J) = T*B_G(J)\nEND DO");
    unchanged("DO J = 2 + N*3, 2, -3\nB_G(J) = T*B_G(J + 3)\nEND DO");
    unchanged("DO J = 2 + N*2, 2, -3\nB_G(J) = T*B_G(J + 1)\nEND DO");
    unchanged("DO J = N, 1, -1\nS = S + B(J)\nB_G(J) = T*B_G(J)\nEND DO");
    unchanged("DO J = N, 1, -1\nS_G = S_G + B(J)\nB_G(J) = S_G\nEND DO");
    unchanged("DO J = N, 1, -1\nB_G(J) = T*B_G(J)\nEND DO\nIX = J");
    unchanged("DO I = 1, N\nS_G = S_G + B_G(N - I)\nEND DO");
    // The upper bound would be different when it is evaluated again.
    unchanged("DO I = 1, I\nS_G = S_G + B_G(I)\nEND DO");
    // Other statements than assignments to REAL variables.
    unchanged("DO I = 1, N\nB_G(IX) = T*B_G(IX)\nIX = IX + M\nEND DO");
    unchanged("DO I = 1, N\nIF (B(I) .GT. 0D0) B_G(I) = T*B_G(I)\nEND DO");
    unchanged("DO I = 1, N\nB_G(I) = B_G(I)*EXP(B(I))\nEND DO");
    unchanged("DO 10 I = 1, N\nIF (M .GT. I) GOTO 10\nB_G(I) = T*B_G(I)\n10: CONTINUE");
    // Too few iterations.
    unchanged("DO I = 1, 8\nS_G = S_G + B_G(I)\nEND DO");
    unchanged("IX = MOD(N, 4)\nDO I = 1, IX\nS_G = S_G + B_G(I)\nEND DO");
    // A directive of the user's.
    unchanged("!GCC$ NOVECTOR\nDO I = 1, N\nB_G(I) = T*B_G(I)\nEND DO");
}

#[test]
fn loops_count_up_where_iterations_have_nothing_to_do_with_each_other() {
    insta::assert_snapshot!(shown("
        DO J = M - 1, 1, -1
          B_G(J) = B_G(J) - T*B_G(M) + T_G*A_G(J, 2)
          A_G(J, 1) = A_G(J, 1) + T*A_G(J + 1, 2)
        END DO
        DO J = M - 1, 1, -1
          B_G(M) = B_G(M) + T*B_G(J)
        END DO
    "), @r"
    CGCC$ VECTOR
          DO J = 1, M - 1
            B_G(J) = B_G(J) - T*B_G(M) + T_G*A_G(J, 2)
            A_G(J, 1) = A_G(J, 1) + T*A_G(J + 1, 2)
          END DO
          J = 1
          IF (M - 8 .GE. 1) THEN
            PART = 0.0D0
            DO J = 1, M - 8, 8
    CGCC$ UNROLL 8
              DO LANE = 0, 7
                PART(LANE) = PART(LANE) + T*B_G(J + LANE)
              END DO
            END DO
            B_G(M) = B_G(M) + (((PART(0) + PART(4)) + (PART(2) + PART(6)))
         +      + ((PART(1) + PART(5)) + (PART(3) + PART(7))))
          END IF
          DO J = J, M - 1
            B_G(M) = B_G(M) + T*B_G(J)
          END DO
    ");
}

#[test]
fn a_loop_with_two_sums_becomes_two() {
    let body = "
        DO 10 I = 1, N
          ! a comment
          A_G(I, 1) = A_G(I, 1) + T*B(I)
          S_G = S_G + A(I, 1)*B(I)
          B_G(I) = B_G(I) - S*B(I)
          T_G = T_G - A(I, 2)*B(I)
        10: CONTINUE
    ";
    let text = shown(body);
    let loops: Vec<&str> = text.split("PART = 0.0D0").collect();
    assert_eq!(loops.len(), 3, "{text}");
    assert!(
        loops[1].contains("A_G(") && loops[1].contains("S_G = S_G +"),
        "{text}"
    );
    assert!(
        !loops[1].contains("B_G(") && !loops[1].contains("CONTINUE"),
        "{text}"
    );
    assert!(
        loops[2].contains("B_G(") && loops[2].contains("T_G = T_G +"),
        "{text}"
    );
    assert!(!loops[2].contains("A_G("), "{text}");
    // One sum needs the array that belongs to the other.
    let text = shown(&body.replace("S_G + A(I, 1)", "S_G + B_G(I)"));
    let together = |part: &str| part.contains("S_G = S_G +") && part.contains("B_G(I) = B_G(I) -");
    assert!(text.split("PART = 0.0D0").any(together), "{text}");
}

#[test]
fn sums_of_unrolled_loops_have_partial_sums() {
    insta::assert_snapshot!(shown("
        DO J = M + ((N - M + 3)/3 - 1)*3, M, -3
          S_G = S_G + B_G(J + 2)*A(J, 1)
          S_G = S_G - B_G(J + 1)*A(J, 2)
          S_G = S_G + B_G(J)
        END DO
    "), @r"
          PART = 0.0D0
          DO J = M, M + ((N - M + 3)/3 - 1)*3, 3
            PART(0) = PART(0) + B_G(J + 2)*A(J, 1)
            PART(1) = PART(1) - B_G(J + 1)*A(J, 2)
            PART(2) = PART(2) + B_G(J)
          END DO
          S_G = S_G + ((PART(0) + PART(2)) + PART(1))
    ");
}

#[test]
fn directives_that_no_loop_follows_go() {
    assert_eq!(
        shown("!GCC$ UNROLL 8\n! more\nS_G = 0D0\nDO I = 1, 3\nS_G = S_G + B_G(I)\nEND DO"),
        shown("! more\nS_G = 0D0\nDO I = 1, 3\nS_G = S_G + B_G(I)\nEND DO"),
    );
}

/// Bodies that are compiled both as they are and rewritten, and run with many bounds.
const BODIES: [&str; 12] = [
    "DO I = M, N\nA_G(I, 1) = A_G(I, 1) + T*B(I)\nS_G = S_G + A(I, 1)*B(I)\nB_G(I) = B_G(I) - S*B(I)\nT_G = T_G - A(I, 2)*B(I)\nEND DO",
    "DO 10 J = 1, 2\nDO 10 I = M, N\nT_G = T_G + A(I, 2)*B_G(I)\nA_G(I, 1) = A_G(I, 1) + T*B(I)\nS_G = S_G + A(I, 1)*B(I)\nA_G(3, 2) = A_G(3, 2) - A(I, 2)*B(I)\n10: CONTINUE",
    "DO J = M + ((N - M + 3)/3 - 1)*3, M, -(3)\nS_G = S_G + B_G(J + 2)*A(J, 1)\nB_G(J + 2) = T*B_G(J + 2)\nS_G = S_G - B_G(J + 1)*A(J, 2)\nB_G(J + 1) = T*B_G(J + 1)\nS_G = S_G + B_G(J)\nB_G(J) = T*B_G(J) + B(J)\nEND DO",
    "DO J = M + ((N - M + 3)/3 - 1)*3, M, -3\nB_G(J + 2) = T*B_G(J + 2) + A_G(J, 3)\nB_G(J) = T*B_G(J) + B(J)\nEND DO",
    "DO J = N, M, -1\nB_G(J) = B_G(J) - T*B_G(N + 1) + T_G*A_G(J, 2)\nA_G(J, 1) = A_G(J, 1) + T*A_G(J + 1, 2)\nEND DO",
    "DO J = N, 1, -1\nB_G(N + 1) = B_G(N + 1) + T*B_G(J)\nB_G(J) = B_G(J)*T\nEND DO",
    "DO I = M, N\nS_G = S_G + A(I, 1)*B_G(I)\nA_G(I, 1) = A_G(I, 1) - T*B_G(I)\nEND DO",
    "DO 10 J = 1, 3\nDO 10 I = M, N - 2\nS_G = S_G + A_G(I, J)*B(I + 2)\nS = S + A(I, J)*B(I + 2)\n10: CONTINUE",
    "DO I = M, N + 1\nB_G(I) = T_G*B(I) + T*B_G(I)\nB(I) = T*B(I)\nEND DO",
    "DO I = M, N\nT_G = T_G + A(I, 1)*B_G(I)\nS_G = S_G - A(I, 2)*B_G(I)\nA_G(3, 2) = B_G(I) + A_G(3, 2)\nEND DO",
    "DO J = 1, 2\nDO I = J, N + J\nA_G(I, J + 1) = A_G(I, J) + A(I, J + 1)\nS_G = S_G + A_G(I, J)*B(I)\nEND DO\nEND DO",
    "DO I = M, N, 2\nB_G(I) = B_G(I) + T*B_G(I + 1)\nB_G(I + 1) = B_G(I + 1) + T*A_G(I, 1)\nEND DO",
];

#[test]
fn rewritten_loops_compute_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let mut program = String::new();
    let mut calls = String::new();
    for (k, body) in BODIES.iter().enumerate() {
        let mut after = rewritten(subroutine("LOOPS", body));
        after.name = format!("NEW{k}").into();
        let after = text(&after);
        let before = text(&subroutine(&format!("OLD{k}"), body));
        assert_ne!(after.replace("NEW", "OLD"), before, "nothing to compare");
        program.push_str(&after);
        program.push_str(&before);
        calls.push_str(&format!(
            "        CALL FILL(V)\n        W = V\n        I = 0\n        K = 0\n        \
             CALL OLD{k}(M, N, V, V(2), V(3), V(4), V(11), V(611), V(1211), V(1411), I)\n        \
             CALL NEW{k}(M, N, W, W(2), W(3), W(4), W(11), W(611), W(1211), W(1411), K)\n        \
             IF (I .NE. K .OR. W(3) .NE. V(3)) STOP {0}\n        \
             IF (MAXVAL(ABS(V - W)) .GT. 1D-12) STOP {0}\n",
            k + 1
        ));
    }
    program.push_str(&format!(
        "      PROGRAM P\n      INTEGER M, N, I, K\n      DOUBLE PRECISION V(1620), W(1620)\n      \
         DO M = 1, 3\n      DO N = 0, 45\n{calls}      END DO\n      END DO\n      END\n      \
         SUBROUTINE FILL(V)\n      INTEGER I\n      DOUBLE PRECISION V(1620)\n      \
         DO I = 1, 1620\n      V(I) = MOD(I*37, 101)/50D0 - 1D0\n      END DO\n      END\n"
    ));
    let source = dir.path().join("p.f");
    std::fs::write(&source, &program).unwrap();
    for flags in [["-O2", "-fcheck=bounds"], ["-O3", "-march=native"]] {
        let exe = dir.path().join("p");
        let compiled = Command::new("gfortran")
            .args(flags)
            .args([
                "-ffp-contract=off",
                "-ffixed-line-length-none",
                "-fallow-argument-mismatch",
                "-o",
            ])
            .args([&exe, &source])
            .output()
            .unwrap();
        assert!(compiled.status.success(), "{compiled:?}\n{program}");
        let run = Command::new(&exe).output().unwrap();
        assert!(run.status.success(), "{flags:?}: {run:?}\n{program}");
    }
}
