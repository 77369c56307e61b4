//! Subprograms with more statements, branches and loops than the limits of some passes, against differences.

use crate::support::check;
use std::fmt::Write as _;

/// The number of statements: several limits are at 300 and 1000.
const STATEMENTS: usize = 1300;

/// A program that prints the gradient of F, which has the given declarations and statements, beside differences.
fn gradient(declarations: &str, statements: &str) -> String {
    format!(
        "      PROGRAM MAIN
      DOUBLE PRECISION X(10), G(10), Y, A, B, D
      D = 1D-6
      DO 10 I = 1, 10
   10 X(I) = COS(1D0*I)
      ADR(Y)
      CALL F(X, Y)
      END ADR((G(I) = COTANGENT(X(I)), I = 1, 10))
      DO 20 I = 1, 10
        X(I) = X(I) + D
        CALL F(X, A)
        X(I) = X(I) - 2*D
        CALL F(X, B)
        X(I) = X(I) + D
   20 PRINT *, 'derivative', 10*G(I), 10*(A - B)/(2*D)
      END
      SUBROUTINE F(X, Y)
      DOUBLE PRECISION X(10), Y
{declarations}{statements}      END
"
    )
}

/// Values that are kept from the first statements to the last: a product, and a sine beside which the cosine is needed.
const FIRST: &str = "      P = X(1)*X(2)
      S = SIN(X(3)*X(4))
";
const LAST: &str = "      Y = A(3) + P*A(5) + 2*P + S*A(7)*COS(X(3)*X(4)) + S
";

#[test]
fn elements_of_an_array() {
    let mut text = format!(
        "{FIRST}      DO 1 I = 1, 10
    1 A(I) = X(I)
"
    );
    for i in 0..STATEMENTS {
        let [a, b, c] = [3, 7, 9].map(|k| (i * k + i / 10) % 10 + 1);
        let _ = match i % 40 {
            20 => writeln!(text, "      IF (A({a}) .GT. 0.2D0) A({b}) = A({b})*A({c})"),
            _ => writeln!(
                text,
                "      A({a}) = 0.99D0*A({a}) + 0.02D0*SIN(A({b})*A({c}))"
            ),
        };
    }
    // Reads in a loop that also assigns elements.
    text += "      DO 2 I = 1, 9
        A(I) = A(I)*A(I + 1) + A(3)
    2 A(I + 1) = 0.5D0*A(I)
";
    check(
        &gradient("      DOUBLE PRECISION A(10), P, S\n", &(text + LAST)),
        1e-6,
    );
}

#[test]
fn scalars() {
    let mut text = FIRST.to_owned();
    for i in 1..=10 {
        let _ = writeln!(text, "      V{i} = X({i})");
    }
    for i in 0..STATEMENTS {
        let [a, b, c] = [3, 7, 9].map(|k| (i * k + i / 10) % 10 + 1);
        let _ = writeln!(
            text,
            "      V{a} = 0.99D0*V{a} + 0.02D0*V{b}*(V{c} + COS(V{a}))/(1 + V{b}**2)"
        );
    }
    for i in [3, 5, 7] {
        let _ = writeln!(text, "      A({i}) = V{i}");
    }
    let declarations = "      DOUBLE PRECISION A(10), P, S, V1, V2, V3, V4, V5
      DOUBLE PRECISION V6, V7, V8, V9, V10
";
    check(&gradient(declarations, &(text + LAST)), 1e-6);
}

#[test]
fn loops_and_branches() {
    let mut text = format!(
        "{FIRST}      DO 1 I = 1, 10
    1 A(I) = X(I)
"
    );
    for i in 0..STATEMENTS / 10 {
        let [a, b] = [3, 7].map(|k| (i * k + i / 10) % 10 + 1);
        let _ = write!(
            text,
            "      DO I = 2, 10
        A(I) = 0.9D0*A(I) + 0.1D0*A(I-1)*A({a})
      END DO
      IF (A({a}) .GT. A({b})) THEN
        A({a}) = A({a}) + 0.1D0*SIN(A({b}))
      ELSE
        A({b}) = A({b})*(1 - 0.1D0*A({a}))
      END IF
"
        );
    }
    check(
        &gradient("      DOUBLE PRECISION A(10), P, S\n", &(text + LAST)),
        1e-6,
    );
}
