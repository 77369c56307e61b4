//! What procedures do with their arguments and COMMON, and reads of variables that have no value.

use farfel_analysis::dataflow::{Intents, VariableUse, procedures};
use farfel_ir::Sources;
use farfel_ir::ir::Program;
use farfel_lang::syntax::{NoIncludes, parse};

fn read(text: &str) -> Program {
    let mut sources = Sources::new();
    let file = sources.add("a.f", text);
    let mut program = parse(&mut sources, file, None, &mut NoIncludes).program;
    let errors = farfel_lang::resolve::resolve(&mut program);
    assert!(!farfel_ir::diagnostic::any_errors(&errors), "{errors:?}");
    program
}

fn shown(u: VariableUse) -> String {
    let always = if u.always && u.writes { "!" } else { "" };
    format!("{}{always}", u.intent())
}

/// Returns `in`, `out`, `inout` or `unused` for each argument of S, with `!` if it is set on every
/// path.
fn intents(text: &str) -> String {
    let program = read(text);
    let intents = Intents::of(&program);
    let uses = intents.get("S").unwrap().iter().map(|u| shown(*u));
    uses.collect::<Vec<_>>().join(" ")
}

/// Returns what all procedures do: `NAME X:in Y:out! /B/ Z:inout`.
fn all(text: &str) -> String {
    let program = read(text);
    let mut out = String::new();
    for p in procedures(&program, 4) {
        out += p.entry.as_ref().unwrap_or(&p.unit.name);
        for a in &p.args {
            let name = &p.unit.symbols[a.sym].name;
            let used = if a.procedure {
                "procedure".into()
            } else {
                shown(a.used)
            };
            out += &format!(" {name}:{used}");
        }
        for c in &p.commons {
            out += &format!(" /{}/", c.block);
            for (name, used) in &c.variables {
                out += &format!(" {name}:{}", shown(*used));
            }
        }
        for name in &p.unknown {
            out += &format!(" ?{name}");
        }
        out.push('\n');
    }
    out
}

#[test]
fn what_procedures_do_with_their_arguments() {
    for (body, expected) in [
        ("A = B", "out! in unused"),
        ("A = A + B", "inout! in unused"),
        ("IF (B .GT. 0) A = 1", "out in unused"),
        (
            "IF (B .GT. 0) THEN\n      A = 1\n      ELSE\n      A = C\n      END IF",
            "out! in in",
        ),
        // Not if the loop may have zero iterations.
        ("DO 10 I = 1, 3\n   10 A = B", "out in unused"),
        ("READ *, A, B", "out! out! unused"),
        (
            "READ (*, *, END = 10) A\n   10 CONTINUE",
            "out unused unused",
        ),
        ("IF (B .GT. 0) RETURN\n      A = 1", "out in unused"),
        ("IF (B .GT. 0) STOP\n      A = 1", "out! in unused"),
        ("A = 1\n      B = A", "out! out! unused"),
        (
            "GOTO 20\n   10 A = B\n      RETURN\n   20 B = 1\n      GOTO 10",
            "out! out! unused",
        ),
        // Calls: known procedures exactly, others conservatively.
        ("CALL T(A, B)", "out! inout unused"),
        ("CALL T(A + 1, B)", "in inout unused"),
        ("CALL UNKNOWN(A)", "inout unused unused"),
        ("A = F(B)", "out! in unused"),
        // Recursive calls: what follows from the rest; this procedure never returns.
        ("CALL S(A, B, C)", "unused unused unused"),
        ("IF (B .GT. 0) CALL S(A, C, B)\n      A = 1", "out! in in"),
    ] {
        let text = format!(
            "      SUBROUTINE S(A, B, C)
      EXTERNAL UNKNOWN
      {body}
      END
      SUBROUTINE T(X, Y)
      X = Y
      IF (X .GT. 0) Y = 1
      END
      FUNCTION F(X)
      F = X
      END
"
        );
        assert_eq!(intents(&text), expected, "{body}");
    }
}

#[test]
fn common_blocks_are_followed_through_calls() {
    let text = "      PROGRAM P
      COMMON /B/ X, Y(2), N
      CALL SET(2.0)
      PRINT *, X
      CALL SHIFT
      END
      SUBROUTINE SET(V)
      COMMON /B/ X, Y1, Y2, N
      X = V
      Y1 = V
      CALL COUNT
      END
      SUBROUTINE COUNT
      COMMON /B/ DUMMY(3), K
      K = K + 1
      END
      SUBROUTINE SHIFT
      CALL COUNT
      CALL OTHER
      END
      BLOCK DATA
      COMMON /B/ X, Y(2), N
      DATA N /0/
      END
";
    assert_eq!(
        all(text),
        "\
P /B/ X:out! Y:out N:inout!
SET V:in /B/ X:out! Y1:out! Y2:unused N:inout!
COUNT /B/ DUMMY:unused K:inout!
SHIFT /B/ X:unused Y:unused N:inout! ?OTHER
"
    );
}

#[test]
fn recursion_is_a_fixed_point() {
    let text = "      RECURSIVE SUBROUTINE A(N, X, Y, Z)
      IF (N .LE. 0) THEN
      Y = X
      RETURN
      END IF
      CALL B(N - 1, X, Y, Z)
      END
      RECURSIVE SUBROUTINE B(M, P, Q, R)
      COMMON /T/ TURNS
      TURNS = TURNS + 1
      CALL A(M, P, Q, R)
      END
      RECURSIVE FUNCTION FACT(N) RESULT(F)
      F = 1
      IF (N .GT. 1) F = N*FACT(N - 1)
      END
      RECURSIVE SUBROUTINE FOREVER(X)
      CALL FOREVER(X)
      END
";
    assert_eq!(
        all(text),
        "\
A N:in X:in Y:out! Z:unused /T/ TURNS:inout
B M:in P:in Q:out! R:unused /T/ TURNS:inout!
FACT N:in
FOREVER X:unused
"
    );
}

#[test]
fn entries_and_dummy_procedures_and_statement_functions() {
    let text = "      SUBROUTINE S(A, B)
      COMMON C
      F(T) = T + C
      A = F(1.0)
      RETURN
      ENTRY E(B, D)
      B = D
      END
      SUBROUTINE USES(G, X, Y)
      CALL G(X, Y)
      END
      SUBROUTINE BOTH(X, Y)
      EXTERNAL E, S
      CALL USES(E, X, Y)
      CALL USES(S, X, Y)
      CALL E(X, Y)
      END
      SUBROUTINE LOST(H, X)
      CALL H(X)
      END
      SUBROUTINE LIST(X, Y)
      NAMELIST /N/ X
      WRITE (6, N)
      END
";
    assert_eq!(
        all(text),
        "\
S A:out! B:unused // C:in
E B:out! D:in // C:unused
USES G:procedure X:out! Y:in // C:in
BOTH X:out! Y:in // C:in
LOST H:procedure X:inout ?H
LIST X:in Y:unused
"
    );
}

#[test]
fn nested_procedures_and_derivatives() {
    let text = "      SUBROUTINE S(A, B, C, D, E)
        SUBROUTINE INNER(X)
        X = A
        B = 2
        CALL FAR
        END
      CALL INNER(C)
      ADF(A)
      Y = A*D
      END ADF(E = TANGENT(Y))
      END
      SUBROUTINE FAR
      COMMON /F/ Z
      Z = 1
      END
";
    assert_eq!(
        all(text),
        "\
S A:in B:out C:inout D:in E:out! /F/ Z:out
INNER X:out! /F/ Z:out!
FAR /F/ Z:out!
"
    );
}

#[test]
fn bounds_are_read_at_entry_and_by_allocate() {
    // Independent of whether the array is used, and of what happens to N afterwards.
    let text = "      SUBROUTINE S(A, N)
      DIMENSION A(N)
      N = 5
      END
";
    assert_eq!(intents(text), "unused inout!");
    let text = "      SUBROUTINE S(N, K)
      REAL, ALLOCATABLE :: B(:)
      ALLOCATE (B(N), STAT=K)
      END
";
    assert_eq!(intents(text), "in out!");
}

#[test]
fn a_function_that_may_not_be_called_sets_nothing_for_certain() {
    let functions = "      LOGICAL FUNCTION T(X)
      X = 1
      T = .TRUE.
      END
";
    let all = |condition: &str, other: &str| {
        let text = format!(
            "      SUBROUTINE S(X, L)
      LOGICAL L, T
      EXTERNAL T
      IF ({condition}) THEN
        Y = 1
{other}      END IF
      END
{functions}"
        );
        intents(&text)
    };
    assert_eq!(all("T(X)", ""), "out! unused");
    assert_eq!(all("L .OR. T(X)", ""), "out in");
    assert_eq!(all("L", "      ELSE IF (T(X)) THEN\n"), "out in");
}

#[test]
fn a_statement_function_reads_what_its_value_names() {
    let text = "      SUBROUTINE S(X, Y, Z)
      F(A) = A + X
      Y = F(Z)
      X = 2
      END
";
    assert_eq!(intents(text), "inout! out! in");
}

#[test]
fn an_answer_comes_last_and_always() {
    let text = "      SUBROUTINE S(X, K, T)
      CHARACTER*(*) T
      WRITE (T, '(I3)', IOSTAT=K) K
      READ (T, *, IOSTAT=K) X
      END
";
    assert_eq!(intents(text), "out inout! inout");
}
