//! Terms in one derivative that adjoints propagate back as one term.

use crate::support::{CHECKED, FAST, compare, expand, run};

/// Computes the gradient of `Y`, which `body` computes, with respect to X and Z, by an adjoint and by differences.
fn program(ty: &str, body: &str) -> String {
    format!(
        "
      PROGRAM P
      {ty} X, Z, Y, XB, ZB, H, ABOVE, BELOW, C(4)
      COMMON /C/ C
      DO I = 1, 4
        C(I) = 0.3D0*I - 0.8D0
      END DO
      X = 0.7D0
      Z = 1.3D0
      Y = 0
      ADR(COTANGENT(Y) = 1)
      CALL F(X, Z, Y)
      END ADR(XB = COTANGENT(X), ZB = COTANGENT(Z))
      H = 2D0**(-13)
      CALL F(X + H, Z, ABOVE)
      CALL F(X - H, Z, BELOW)
      PRINT *, 'X', XB, (ABOVE - BELOW)/(2*H)
      CALL F(X, Z + H, ABOVE)
      CALL F(X, Z - H, BELOW)
      PRINT *, 'Z', ZB, (ABOVE - BELOW)/(2*H)
      END
      SUBROUTINE F(X, Z, Y)
      {ty} X, Z, Y, C(4), S, T, U, W
      REAL R
      COMMON /C/ C
{body}      END
"
    )
}

/// Returns the text of the adjoint, after checking its results.
fn adjoint(ty: &str, body: &str) -> String {
    let text = expand(&program(ty, body)).unwrap_or_else(|e| panic!("{e}"));
    for flags in [CHECKED, FAST] {
        compare(&run(&text, flags), 1e-6, &text);
    }
    let at = text
        .find("SUBROUTINE F_G")
        .unwrap_or_else(|| panic!("{text}"));
    let lines = text[at..].lines();
    let unit = lines.take_while(|l| l.trim() != "END");
    unit.map(|l| format!("{}\n", l.trim())).collect()
}

/// How many terms are added to the cotangent of a variable.
fn additions(text: &str, variable: &str) -> usize {
    let start = format!("{variable}_G");
    let terms = |l: &str| {
        let (to, value) = l.split_once(" = ")?;
        let added = value.strip_prefix(to).filter(|_| to.starts_with(&start))?;
        // Terms that the pass `increments` has joined are outside of parentheses.
        let mut depth = 0;
        let mut found = 0;
        for c in added.chars() {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                '+' | '-' if depth == 0 => found += 1,
                _ => {}
            }
        }
        Some(found)
    };
    text.lines().filter_map(terms).sum()
}

#[test]
fn terms_in_one_derivative_are_one() {
    let cases = [
        // A polynomial, and a quotient of two.
        ("      Y = ((C(1)*X + C(2))*X + C(3))*X + C(4)*Z\n", 1, 1),
        (
            "      Y = ((C(1)*X + C(2))*X + C(3))/((X + C(2))*X*X + 2.0D0) - Z*Z*Z\n",
            1,
            1,
        ),
        // What is added besides is a separate term.
        (
            "      Y = (C(1)*X + C(2))*X - (Z + C(3))*(C(2)*Z - C(1))*Z\n",
            1,
            1,
        ),
        ("      Y = -((X + C(2))*X - C(3))*(X*X) - Z\n", 1, 1),
        ("      Y = 3/(EXP(X)*X + (C(1) - X)*X) + Z\n", 1, 1),
        // One factor in each variable.
        ("      Y = Z*((C(1)*X + C(2))*X + C(3))\n", 1, 1),
        // If a variable occurs in both factors together with another one, there is nothing to gather.
        ("      Y = (X*X + Z)*(X + Z)\n", 2, 2),
        // In a loop.
        (
            "      S = X
      DO I = 1, 5
        S = (C(1)*S + C(2))*S + Z
      END DO
      Y = S\n",
            1,
            1,
        ),
    ];
    for (body, x, z) in cases {
        let text = adjoint("DOUBLE PRECISION", body);
        let found = (additions(&text, "X"), additions(&text, "Z"));
        assert_eq!(found, (x, z), "{body}{text}");
    }
}

/// The factor is computed in the forward sweep, beside the value.
#[test]
fn a_polynomial() {
    let text = adjoint(
        "DOUBLE PRECISION",
        "      Y = ((C(1)*X + C(2))*X + C(3))*X + C(4)*Z\n",
    );
    insta::assert_snapshot!(text);
}

#[test]
fn what_is_no_number_of_the_same_type_stays() {
    for body in [
        // Sums of integers, and of numbers in single precision, would differ.
        "      I = 3
      R = 1E-3
      Y = (X*R + C(1)*Z)*I - X*R*I + (I*X + Z)*R\n",
        "      R = 1/3E0
      Y = (R*X + R)*X + Z\n",
        // The target's earlier value is read.
        "      Y = X*X + Z
      Y = (C(1)*Y + C(2))*Y + X
      Y = Y + Y*X*Y*Z + Y*C(1)\n",
    ] {
        adjoint("DOUBLE PRECISION", body);
    }
}

/// Compilers compute both in one call if they are next to each other.
#[test]
fn sine_and_cosine_are_computed_together() {
    let kept = |body: &str| {
        let text = adjoint("DOUBLE PRECISION", body);
        let computed = |l: &&str| {
            let value = l.split_once(" = ").map(|(_, value)| value);
            let argument = value.and_then(|v| v.strip_prefix("SIN(").or(v.strip_prefix("COS(")));
            // Nothing is multiplied with it.
            argument.is_some_and(|a| a.find(')') == Some(a.len() - 1))
        };
        text.lines().filter(computed).count()
    };
    for (body, expected) in [
        ("      Y = EXP(X)*SIN(Z*X)\n", 2),
        ("      Y = EXP(X)*COS(Z*X)\n", 2),
        ("      Y = SIN(Z)*X*SIN(X)\n", 4),
        ("      Y = SIN(Z)*COS(X)\n", 4),
        // The sine itself is not needed.
        ("      Y = SIN(Z*X)\n", 0),
        // The reverse sweep computes both again: neither is recorded.
        (
            "      S = X
      DO I = 1, 3
        S = S*SIN(Z*S)
      END DO
      Y = S\n",
            2,
        ),
    ] {
        assert_eq!(kept(body), expected, "{body}");
    }
}
