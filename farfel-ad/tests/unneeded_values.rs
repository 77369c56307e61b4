//! Values that no derivative needs are not computed in adjoints, so that what they would overwrite is not recorded.

use crate::support::differences::program;
use crate::support::{CHECKED, FAST, compare, expand, run};

#[test]
fn elements_that_are_not_read_later_are_not_recorded() {
    let cases = [
        // Each element is read before it is assigned.
        ("DO I = 1, 5\n V(I) = A*V(I)*V(I)\n END DO\n", false),
        // The next iteration reads an element that is not assigned yet.
        ("DO I = 1, 4\n V(I) = A*V(I)*V(I + 1)\n END DO\n", false),
        ("DO I = 5, 2, -1\n V(I) = A*V(I)*V(I - 1)\n END DO\n", false),
        // It reads what this one has assigned.
        ("DO I = 2, 5\n V(I) = A*V(I)*V(I - 1)\n END DO\n", true),
        ("DO I = 4, 1, -1\n V(I) = A*V(I)*V(I + 1)\n END DO\n", true),
        // So does the next iteration of the outer loop.
        (
            "DO J = 1, 2\n DO I = 1, 5\n V(I) = A*V(I)*V(I)\n END DO\n END DO\n",
            true,
        ),
        // Another loop does.
        (
            "DO I = 1, 5\n V(I) = A*V(I)*V(I)\n END DO\n DO I = 1, 5\n V(I) = V(I)*V(I)\n END DO\n",
            true,
        ),
        // The other arm is not executed.
        (
            "IF (A .GT. 0.5D0) THEN\n DO I = 1, 5\n V(I) = A*V(I)*V(I)\n END DO\n ELSE\n \
             DO I = 1, 5\n V(I) = V(I)*V(I)\n END DO\n END IF\n",
            false,
        ),
    ];
    for (body, recorded) in cases {
        let body = body.replace('\n', "\n      ");
        let text = expand(&program(&format!("      {}\n", body.trim_end())));
        let text = text.unwrap_or_else(|e| panic!("{e}"));
        for flags in [CHECKED, FAST] {
            compare(&run(&text, flags), 1e-6, &text);
        }
        let at = text.find("SUBROUTINE F_G").unwrap_or_default();
        assert_eq!(text[at..].contains("TAPE"), recorded, "{body}\n{text}");
    }
}

/// The original subprogram cannot be called as the forward sweep if the reverse sweep counts on what it would
/// overwrite.
#[test]
fn forward_sweeps_compute_no_more_than_adjoints_expect() {
    let text = program(
        "      CALL G(V(1), V(2), A)
      CALL G(V(3), V(4), V(5))
      END
      SUBROUTINE G(B, C, D)
      DOUBLE PRECISION B, C, D
      C = B*D
      C = C*B + 1
",
    );
    let text = expand(&text).unwrap_or_else(|e| panic!("{e}"));
    for flags in [CHECKED, FAST] {
        compare(&run(&text, flags), 1e-6, &text);
    }
}

/// The reverse sweep executes each iteration of an independent loop again. Nothing of its forward sweep is left if only
/// derivatives are wanted, also if functions hand on the results of others.
#[test]
fn independent_loops_are_not_executed_for_unneeded_values() {
    let program = program(
        "      DOUBLE PRECISION S, PP
      S = 0
!farfel: independent
      DO I = 1, 5
        S = S + PP(A, V(I))
      END DO
      V(1) = S
      END
      DOUBLE PRECISION FUNCTION PP(A, X)
      DOUBLE PRECISION A, X, T, R
      T = SIN(A*X)
      T = T*COS(T)
      PP = R(T)
      END
      DOUBLE PRECISION FUNCTION R(T)
      DOUBLE PRECISION T
      R = LOG(2 + T)
",
    );
    let text = expand(&program).unwrap_or_else(|e| panic!("{e}"));
    for flags in [CHECKED, FAST] {
        compare(&run(&text, flags), 1e-6, &text);
    }
    let at = text.find("SUBROUTINE F_G").unwrap_or_default();
    let adjoint = &text[at..at + text[at..].find("\n      END\n").unwrap_or_default()];
    let loops = adjoint.matches("DO I = ").count();
    assert_eq!(loops, 1, "{text}");
}
