//! COMMON blocks that units divide into different variables.

use crate::support::check;
use farfel_ad::passes::{Form, Forms, Goal, legalise};
use farfel_lang::Sources;
use farfel_lang::print::{Options, print_program};
use farfel_lang::resolve::resolve;
use farfel_lang::syntax::{self, NoIncludes, parse};
use std::borrow::Cow;

/// The COMMON statements of a program below HEAD after its blocks have been divided in the same way.
fn commons(text: &str, named: &[&str]) -> Vec<String> {
    let mut sources = Sources::new();
    let file = sources.add("test.f", text);
    let form = Some(syntax::Form::Fixed);
    let mut program = parse(&mut sources, file, form, &mut NoIncludes).program;
    let errors = resolve(&mut program);
    assert!(!errors.iter().any(|d| d.is_error()), "{errors:#?}");
    let goal = Goal {
        heads: &["HEAD"],
        request: None,
        named,
        tag: "",
    };
    let forms = Forms::of(&[Form::EqualBlocks]);
    let made = legalise(Cow::Borrowed(&program), forms, &goal).unwrap();
    let text = print_program(&made.program, &Options::default());
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|l| l.starts_with("COMMON"));
    lines.map(str::to_owned).collect()
}

#[test]
fn units_get_the_variables_that_others_use() {
    let source = "
      SUBROUTINE HEAD(X, Y)
      DOUBLE PRECISION X, Y, UNUSED(5), H
      COMMON /S/ UNUSED, H, N(3), L(2)
      H = X
      L(2) = 1
      CALL A
      Y = H
      END
      SUBROUTINE A
      DOUBLE PRECISION RATE, EL(0:2), HU, H
      COMMON /S/ RATE, EL, HU, H
      COMMON /S/ NST, MOST
      MOST = 2
      RATE = H
      EL(0) = RATE*H
      H = EL(0)
      END
      SUBROUTINE ELSEWHERE
      REAL ALL(17)
      COMMON /S/ ALL
      ALL(1) = 0
      END
";
    let new = "COMMON /S/ RATE, EL(0:2), UNUSED1(1), H, N1(1), MOST, N2(1), L(2)";
    let found = commons(source, &[]);
    assert_eq!(found.len(), 3, "{found:#?}");
    assert_eq!(found[0], new);
    assert_eq!(
        found[1],
        "COMMON /S/ RATE, EL, UNUSED(1), H, N(1), MOST, N1(1), L(2)"
    );
    assert_eq!(found[2], "COMMON /S/ ALL");
    // A variable that the caller refers to counts as used.
    let found = commons(source, &["UNUSED"]);
    assert_eq!(found[0], "COMMON /S/ UNUSED, H, N(3), L(2)");
}

#[test]
fn blocks_stay_as_they_are_otherwise() {
    let program = |first: &str, second: &str| {
        format!(
            "
      SUBROUTINE HEAD(X, Y)
      DOUBLE PRECISION X, Y, H
{first}
      H = X
      CALL A
      Y = H
      END
      SUBROUTINE A
{second}
      END
"
        )
    };
    for (first, second) in [
        // The same bytes are used as different variables.
        (
            "      COMMON /S/ H, K(2)\n      K(1) = 1",
            "      DOUBLE PRECISION H\n      COMMON /S/ H, K, L\n      L = K",
        ),
        // EQUIVALENCE puts a variable into the block.
        (
            "      COMMON /S/ H, K(2)\n      EQUIVALENCE (K(2), M)\n      M = 1",
            "      DOUBLE PRECISION H\n      COMMON /S/ H, K, L\n      K = 1",
        ),
        // With a default REAL of 8 bytes, H would move.
        (
            "      REAL R\n      COMMON /S/ I, R, H",
            "      DOUBLE PRECISION D, H\n      COMMON /S/ D, H\n      H = 2*H",
        ),
    ] {
        let source = program(first, second);
        let before: Vec<&str> = source.lines().map(str::trim).collect();
        for line in commons(&source, &[]) {
            assert!(before.contains(&line.as_str()), "{line}\n{source}");
        }
    }
}

/// Values that are needed after a loop whose counter is in the same block.
const COUNTED: &str = "
      PROGRAM MAIN
      DOUBLE PRECISION X, Y, G
      X = 0.7D0
      CALL GRAD(X, Y, G)
      PRINT *, 'gradient', G, 8*COS(X**2)*X**7 - 2*SIN(X**2)*X**9
      PRINT *, 'value', Y, COS(X**2)*X**8
      END
      SUBROUTINE GRAD(X, Y, G)
      DOUBLE PRECISION X, Y, G
      ADR(Y)
      CALL HEAD(X, Y)
      END ADR(G = COTANGENT(X))
      END
      SUBROUTINE HEAD(X, Y)
      DOUBLE PRECISION X, Y, UNUSED(40), H
      COMMON /S/ UNUSED, H, N
      H = X
      DO 10 N = 1, 3
   10 CALL STEP
      N = 0
      CALL LAST
      Y = H
      END
      SUBROUTINE STEP
      DOUBLE PRECISION RATE, EL(39), H
      COMMON /S/ RATE, EL, H, N
      RATE = H
      EL(N) = RATE*H
      H = EL(N)
      END
      SUBROUTINE LAST
      DOUBLE PRECISION UNUSED(38), A, B, H
      COMMON /S/ UNUSED, A, B, H, N
      A = H
      B = A**0.25D0
      IF (N .EQ. 0) H = COS(B)*A
      END
";

#[test]
fn what_shares_a_block_with_a_counter_is_needed_after_the_loop() {
    // A and B are in the same place as elements of EL.
    check(COUNTED, 1e-10);
    // The same with a block that can be divided in one way.
    let own = COUNTED.replace("RATE, EL(39)", "RATE, EL(37), AT(2)");
    let own = own.replace("RATE, EL, H", "RATE, EL, AT, H");
    let text = check(&own, 1e-10);
    // HEAD and LAST declare them in their adjoints, STEP in both of its sweeps.
    let declared = text.matches("COMMON /S/ RATE, EL").count();
    assert!(
        declared > own.matches("COMMON /S/ RATE, EL").count() + 2,
        "{text}"
    );
    assert!(!text.contains("COMMON /S_G1/ UNUSED"), "{text}");
}

#[test]
fn what_shares_storage_with_a_counter_is_needed_in_the_loop() {
    check(
        "
      PROGRAM MAIN
      DOUBLE PRECISION X, Y, G
      X = 0.7D0
      CALL GRAD(X, Y, G)
      PRINT *, 'gradient', G, 7*X**6 + 13*X**12 + 3*X**2
      PRINT *, 'value', Y, X**7 + X**13 + X**3
      END
      SUBROUTINE GRAD(X, Y, G)
      DOUBLE PRECISION X, Y, G
      ADR(Y)
      CALL F(X, Y)
      END ADR(G = COTANGENT(X))
      END
      SUBROUTINE F(X, Y)
      DOUBLE PRECISION X, Y, A(4), B(4), Z
      INTEGER K(8)
      EQUIVALENCE (A, K), (K(7), I), (K(8), J), (A(2), Z), (B(2), A)
      Z = X**2
      Y = X
      DO 10 I = 1, 3
        J = 2*I
        Y = Y*Z
        IF (K(7) .EQ. 3) THEN
          Z = Y*X**(J - K(7))
          Y = Y + Z*X**(K(8) - 3)
        END IF
        J = 1
   10 CONTINUE
      Y = Y + X**J*Z*0 + X**(J + 2)
      END
",
        1e-10,
    );
}
