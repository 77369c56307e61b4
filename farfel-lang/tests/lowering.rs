//! Tests of every stage of lowering: what it prints, and that the result computes the same.

use crate::common::{self, lowered, printed, run};
use farfel_lang::lower::Stage;

const PAPER: &str = include_str!("lowering/paper.ff");

#[test]
fn paper_stages() {
    for (name, stage) in [
        ("lift", Stage::Lift),
        ("specialize", Stage::Specialize),
        ("prune", Stage::Prune),
        ("outline", Stage::Outline),
        ("stage", Stage::Stage),
    ] {
        insta::assert_snapshot!(format!("paper-{name}"), printed(PAPER, stage));
    }
}

/// A procedure that is passed on need not be part of the program to get copies of its own.
#[test]
fn each_intrinsic_function_has_its_copy() {
    let lowered = lowered(
        "      PROGRAM P
      INTRINSIC SIN, COS
      PRINT *, APPLY(SIN, 1.0) - APPLY(COS, 1.0)
      END
      FUNCTION APPLY(F, X)
      EXTERNAL F
      APPLY = F(X)
      END
",
        Stage::Stage,
    );
    let units: Vec<&str> = lowered
        .program
        .units
        .iter()
        .map(|u| u.name.as_str())
        .collect();
    assert_eq!(units, ["P", "APPLY_1SIN", "APPLY_1COS"]);
}

/// A nested subprogram that needs nothing from its host is passed to a procedure without source
/// like any other procedure.
#[test]
fn nested_subprograms_reach_what_is_not_in_the_program() {
    let text = printed(
        "      PROGRAM P
      EXTERNAL TWICE
        FUNCTION CUBE(X)
          CUBE = X**3
        END
      CALL TWICE(CUBE, 2.0)
      END
",
        Stage::Stage,
    );
    let library = "      SUBROUTINE TWICE(F, X)
      PRINT *, INT(F(F(X)))
      END
";
    assert_eq!(run(&(text + library)).unwrap().trim(), "512");
}

/// The five requests, in the order of section 3.2 of the paper, with their independent variables.
#[test]
fn paper_requests() {
    let lowered = lowered(PAPER, Stage::Stage);
    let shown: Vec<String> = lowered
        .requests
        .iter()
        .map(|r| {
            let head = lowered.program.unit(&r.head).unwrap();
            let names = |list: &[usize]| {
                let all: Vec<&str> = list
                    .iter()
                    .map(|p| head.symbols[head.args[*p].sym().unwrap()].name.as_str())
                    .collect();
                all.join(",")
            };
            format!(
                "{} {} d({})/d({}) pairs {}",
                r.derivative,
                r.suffix,
                names(&r.dependents),
                names(&r.independents),
                names(&r.paired)
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            "DERIV1_2_ADF2_G2 _G2 d(Y)/d(X) pairs X,ASTAR,Y",
            "DERIV2_1_2_ADF4_G4 _G4 d(Y)/d(X) pairs X,ASTAR,Y",
            "DERIV1_1_ADF1_G1 _G1 d(Y)/d(X) pairs X,ASTAR,BSTAR,Y",
            "DERIV2_1_1_ADF3_G3 _G3 d(Y)/d(X) pairs X,ASTAR,BSTAR,Y",
            "DERIV2_2_ADF5_G5 _G5 d(Y)/d(X) pairs X,BSTAR,Y",
        ]
    );
}

/// Programs without AD blocks: compares the output of the lowered program with the meaning of the
/// nested one.
#[test]
fn lowered_programs_compute_the_same() {
    let cases: &[(&str, &str, &str)] = &[
        (
            "reads and assigns the surroundings' variables",
            "
      PROGRAM P
        SUBROUTINE BUMP(K)
          TOTAL = TOTAL + K
        END
      TOTAL = 1
      CALL BUMP(2)
      CALL BUMP(3)
      PRINT *, NINT(TOTAL)
      END",
            "6",
        ),
        (
            "implicit variables belong to the top level, dummies and declared ones do not",
            "
      PROGRAM P
        FUNCTION F(X)
          REAL LOC
          LOC = X*10
          GLOB = LOC
          F = LOC + 1
        END
      LOC = 5
      X = 7
      Y = F(2.0)
      PRINT *, LOC, NINT(GLOB), NINT(Y), NINT(X)
      END",
            "5 20 21 7",
        ),
        (
            "passed on through two levels, with and without closure",
            "
      PROGRAM P
        FUNCTION H(X)
          H = X + C
        END
      C = 100
      PRINT *, NINT(TWICE(H, 1.0)), NINT(TWICE(SQR, 3.0))
      END
      FUNCTION TWICE(F, X)
      EXTERNAL F
      TWICE = APPLY(F, APPLY(F, X))
      END
      FUNCTION APPLY(F, X)
      EXTERNAL F
      APPLY = F(X)
      END
      FUNCTION SQR(X)
      SQR = X*X
      END",
            "201 81",
        ),
        (
            "two nested subprograms to one callee, sharing a variable",
            "
      PROGRAM P
        FUNCTION F(X)
          F = X + C
        END
        FUNCTION G(X)
          G = X * C
        END
      C = 3
      PRINT *, NINT(BOTH(F, G, 2.0))
      END
      FUNCTION BOTH(F, G, X)
      EXTERNAL F, G
      BOTH = 100*F(X) + G(X)
      END",
            "506",
        ),
        (
            "arrays with bounds of the surroundings",
            "
      PROGRAM P
      DIMENSION V(3)
      DO 10 I = 1, 3
   10 V(I) = I
      PRINT *, NINT(TOTAL(V, 3))
      END
      FUNCTION TOTAL(V, N)
      DIMENSION V(N)
        FUNCTION ELEM(K)
          ELEM = V(K)**2
        END
      TOTAL = 0
      DO 20 J = 1, N
   20 TOTAL = TOTAL + ELEM(J)
      END",
            "14",
        ),
        (
            "constants, statement functions and COMMON of the surroundings",
            "
      PROGRAM P
      COMMON /STATE/ A, K
      PARAMETER (M = 2, M2 = M*M)
      SQ(T) = T*T + M
        SUBROUTINE WORK
          A = SQ(3.0) + M2
          K = K + M
        END
      K = 1
      CALL WORK
      CALL SHOW
      END
      SUBROUTINE SHOW
      COMMON /STATE/ Q, L
      PRINT *, NINT(Q), L
      END",
            "15 3",
        ),
        (
            "siblings call each other and their closures follow",
            "
      PROGRAM P
        SUBROUTINE A1
          N = N + 1
          CALL B1
        END
        SUBROUTINE B1
          M = M + 10
        END
      N = 0
      M = 0
      CALL A1
      CALL A1
      PRINT *, N, M
      END",
            "2 20",
        ),
        (
            "reentrancy by copies: the same solver inside itself",
            "
      PROGRAM P
        FUNCTION OUTER(X)
          FUNCTION DEEP(Y)
            DEEP = X*Y
          END
          OUTER = SUM3(DEEP)
        END
      PRINT *, NINT(SUM3(OUTER))
      END
      FUNCTION SUM3(F)
      EXTERNAL F
      SUM3 = 0
      DO 10 I = 1, 3
   10 SUM3 = SUM3 + F(REAL(I))
      END",
            "36",
        ),
        (
            "a captured variable that is also an ordinary, assigned argument is one variable",
            "
      PROGRAM P
        FUNCTION F(X)
          F = X + S
        END
      S = 1
      CALL STEP(F, S)
      PRINT *, NINT(S)
      END
      SUBROUTINE STEP(F, Z)
      EXTERNAL F
      Z = Z + 1
      Z = F(10.0)
      END",
            "12",
        ),
        (
            "shadowing at every level",
            "
      PROGRAM P
      REAL K
        FUNCTION F(K)
          INTEGER K
          FUNCTION G(J)
            G = K*J
          END
          F = G(2) + K
        END
      K = 0.5
      PRINT *, NINT(F(3)), NINT(2*K)
      END",
            "9 1",
        ),
        (
            "a subroutine passed as an argument",
            "
      PROGRAM P
        SUBROUTINE ADD(K)
          NSUM = NSUM + K
        END
      NSUM = 0
      CALL EACH(ADD, 4)
      PRINT *, NSUM
      END
      SUBROUTINE EACH(S, N)
      DO 10 I = 1, N
   10 CALL S(I)
      END",
            "10",
        ),
        (
            "an INTEGER function by its letter, under a name that means REAL",
            "
      PROGRAM P
        FUNCTION KOUNT(I)
          KOUNT = I/2
        END
      PRINT *, KOUNT(7), L(KOUNT)
      END
      FUNCTION L(KF)
      L = KF(9)
      END",
            "3 4",
        ),
        (
            "a function that calls itself, nested, with a closure",
            "
      PROGRAM P
        RECURSIVE FUNCTION FACT(K)
          NCALLS = NCALLS + 1
          IF (K .LE. 1) THEN
            FACT = 1
          ELSE
            FACT = K*FACT(K-1)
          END IF
        END
      NCALLS = 0
      PRINT *, NINT(FACT(5)), NCALLS
      END",
            "120 5",
        ),
        (
            "a dummy procedure called only from a nested subprogram",
            "
      PROGRAM P
      PRINT *, NINT(AREA(SQ, 3.0)), NINT(AREA(CUBE, 3.0))
      END
      FUNCTION AREA(F, X)
        FUNCTION BOTH(Y)
          BOTH = F(Y) + F(X)
        END
      AREA = BOTH(2.0)
      END
      FUNCTION SQ(T)
      SQ = T*T
      END
      FUNCTION CUBE(T)
      CUBE = T**3
      END",
            "13 35",
        ),
        (
            "local names in the way of a procedure that is passed in",
            "
      PROGRAM P
      PRINT *, NINT(EVAL(X, 2.0)), NINT(EVAL(Y, 2.0))
      END
      FUNCTION EVAL(F, A)
      EXTERNAL F
      X = 3*A
      Y = X + 1
      EVAL = F(A) + X + Y
      END
      FUNCTION X(T)
      X = 100*T
      END
      FUNCTION Y(T)
      Y = 1000*T
      END",
            "213 2013",
        ),
        (
            "a nested subprogram that gets another nested one",
            "
      PROGRAM P
        FUNCTION APPLY(F, X)
        EXTERNAL F
          APPLY = F(X) + OFF
        END
        FUNCTION DBL(X)
          DBL = SCALE*X
        END
      OFF = 1
      SCALE = 2
      PRINT *, NINT(APPLY(DBL, 5.0))
      END",
            "11",
        ),
        (
            "intrinsic functions are passed on, alone and beside others",
            "
      PROGRAM P
      INTRINSIC SIN, SQRT, MAX
      EXTERNAL HALF
      PRINT *, NINT(10*APPLY(SQRT, 9.0)), NINT(APPLY(HALF, 9.0)*10)
      PRINT *, NINT(ONLY(SQRT, 16.0))
      END
      FUNCTION APPLY(F, X)
      EXTERNAL F
      APPLY = F(X)
      END
      FUNCTION ONLY(F, X)
      EXTERNAL F
      SQRT = 2
      ONLY = F(X)*SQRT
      END
      FUNCTION HALF(X)
      HALF = X/2
      END",
            "30 45 8",
        ),
        (
            "ENTRY points are reached and keep their unit",
            "
      PROGRAM P
      CALL LATER(X)
      CALL FIRST(Y)
      PRINT *, NINT(X), NINT(Y), NINT(F2(1.0))
      END
      SUBROUTINE FIRST(A)
      A = 1
      RETURN
      ENTRY LATER(A)
      A = 2
      END
      FUNCTION F1(X)
      F1 = X
      RETURN
      ENTRY F2(X)
      F2 = 5*X
      END",
            "2 1 5",
        ),
        (
            "RESULT and the function's own type",
            "
      PROGRAM P
      INTEGER FACT
      PRINT *, FACT(5)
      END
      RECURSIVE INTEGER FUNCTION FACT(N) RESULT(R)
      IF (N .LE. 1) THEN
        R = 1
      ELSE
        R = N*FACT(N - 1)
      END IF
      END",
            "120",
        ),
        (
            "a function of the surroundings assigned through a nested subroutine",
            "
      PROGRAM P
      PRINT *, NINT(TOP(2.0))
      END
      FUNCTION TOP(X)
        SUBROUTINE SET
          TOP = X + 1
        END
      CALL SET
      END",
            "3",
        ),
    ];
    let mut failures = Vec::new();
    for (what, source, expected) in cases {
        let text = printed(source, Stage::Stage);
        match run(&text) {
            Ok(out) if normal(&out) == *expected => {}
            Ok(out) => failures.push(format!(
                "{what}: printed {:?}, not {expected:?}\n{text}",
                normal(&out)
            )),
            Err(e) => failures.push(format!("{what}: {e}\n{text}")),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// Returns the numbers separated by single blanks, with `5.00000000` as `5`.
fn normal(out: &str) -> String {
    let words = out.split_whitespace().map(|w| match w.split_once('.') {
        Some((whole, rest)) if rest.chars().all(|c| c == '0') => whole.to_owned(),
        _ => w.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Directives and comments move with their statements.
#[test]
fn directives_move_with_their_statements() {
    let text = "      SUBROUTINE OUTER(X, N)
      DIMENSION X(N)
        SUBROUTINE INNER(K)
C$OMP PARALLEL DO
C$OMP+ PRIVATE(I)
        DO I = 1, N ! all
CDIR$ IVDEP
          X(I) = K
        END DO
C$OMP END PARALLEL DO
        END
      ADF(TANGENT(X) = 1)
C$OMP SIMD
      DO I = 1, N
        X(I) = X(I)**2
      END DO
      END ADF(D = TANGENT(X(1)))
!$    CALL INNER(3)
      CALL INNER(2)
      END
";
    for stage in [Stage::Lift, Stage::Prune, Stage::Outline, Stage::Stage] {
        let text = printed(text, stage);
        let inner = "C$OMP PARALLEL DO PRIVATE(I)
      DO I = 1, N ! all
CDIR$ IVDEP
        X(I) = K
      END DO
C$OMP END PARALLEL DO
";
        assert!(text.contains(inner), "{text}");
        assert!(text.contains("C$OMP SIMD\n"), "{text}");
        let (_, after) = text.split_once("C$OMP SIMD\n").unwrap();
        assert!(after.trim_start().starts_with("DO I = 1, N\n"), "{text}");
        assert!(text.contains("C$    CALL INNER(3)\n"), "{text}");
    }
}

/// Copies of copies, as many as there are ways to pass ten procedures at three places, end at a
/// limit, with an error at the call that exceeds it.
#[test]
fn copies_end_at_a_limit() {
    let mut text = String::from("      PROGRAM P\n");
    for i in 0..10 {
        text += &format!("        FUNCTION F{i}(X)\n        F{i} = {i}*X\n        END\n");
    }
    for (i, j, k) in (0..1000).map(|n| (n / 100, n / 10 % 10, n % 10)) {
        text += &format!("      CALL S(F{i}, F{j}, F{k})\n");
    }
    text += "      END\n      SUBROUTINE S(F, G, H)\n      EXTERNAL F, G, H\n      \
             PRINT *, F(G(H(1.0)))\n      END\n";
    let lower = |most_copies| {
        let options = farfel_lang::lower::Options {
            most_copies,
            ..Default::default()
        };
        farfel_lang::lower::lower_with(common::resolved(&text), Stage::Prune, &options)
    };
    let enough = lower(Some(1000));
    assert!(enough.diagnostics.is_empty());
    assert_eq!(enough.copies.len(), 1000);
    let said = lower(None).diagnostics;
    let messages: Vec<&str> = said.iter().map(|d| d.message.as_str()).collect();
    assert_eq!(messages, ["S would need more than 500 copies"]);
    // The 501st call: that of F5, F0, F0.
    let first = text.find("CALL S(F5, F0, F0)").unwrap();
    assert_eq!(said[0].span.start as usize, first);
}

/// Copies wait on an explicit stack, not on the call stack.
#[test]
fn procedures_are_passed_down_long_chains() {
    let mut text = String::from(
        "      PROGRAM P
        FUNCTION SQ(X)
        SQ = X*Y
        END
      Y = 2
      PRINT *, C1(SQ, 3.0)
      END
",
    );
    const LENGTH: usize = 3000;
    for i in 1..=LENGTH {
        let value = match i {
            LENGTH => "F(X)".to_owned(),
            _ => format!("C{}(F, X)", i + 1),
        };
        text += &format!(
            "      FUNCTION C{i}(F, X)\n      EXTERNAL F\n      C{i} = {value}\n      END\n"
        );
    }
    let lowered = lowered(&text, Stage::Prune);
    assert_eq!(lowered.copies.len(), LENGTH);
}
