//! What cannot be differentiated is reported at its place.

use crate::support::{self, expand};
use insta::assert_snapshot;

/// The errors of a program whose subroutine F is differentiated.
fn errors(f: &str) -> String {
    let text = format!(
        "      SUBROUTINE MAIN(X, Y, D)
      DOUBLE PRECISION X(3), Y, D
      ADF((TANGENT(X(I)) = 1, I = 1, 3))
      CALL F(X, Y)
      END ADF(D = TANGENT(Y))
      END
{}",
        f.trim_start_matches('\n')
    );
    match expand(&text) {
        Ok(t) => format!("no errors\n{t}"),
        Err(e) => e,
    }
}

#[test]
fn unknown_procedures() {
    assert_snapshot!(errors("
      SUBROUTINE F(X, Y)
      DOUBLE PRECISION X(3), Y, G, W
      EXTERNAL G, LOGIT, SCALE
      CALL LOGIT(3)
      W = 2
      CALL SCALE(W, 1)
      Y = G(X(1), 2)*W
      CALL SCALE(Y, 2)
      END
"), @r"
    F0304 13:11 derivatives would go through G, whose text is not known
    F0304 14:7 derivatives would go through SCALE, whose text is not known
    ");
}

#[test]
fn dummy_procedures() {
    assert_snapshot!(errors("
      SUBROUTINE F(X, Y)
      DOUBLE PRECISION X(3), Y
      EXTERNAL G
      CALL H(G, X, Y)
      END
      SUBROUTINE H(P, X, Y)
      DOUBLE PRECISION X(3), Y
      EXTERNAL P
      CALL P(X, Y)
      END
"), @"F0304 15:7 derivatives would go through G, whose text is not known");
}

#[test]
fn functions_without_a_rule() {
    assert_snapshot!(errors("
      SUBROUTINE F(X, Y)
      DOUBLE PRECISION X(3), Y
      Y = X(1) + FRACTION(2D0)
      Y = Y + FRACTION(X(1))*
     +  TRANSFER(X(2), Y)
      END
"), @r"
    F0305 10:15 the derivative of FRACTION is not known to the built-in engine
    F0305 11:9 the derivative of TRANSFER is not known to the built-in engine
    ");
}

#[test]
fn shared_storage() {
    let units = "
      SUBROUTINE F(X, Y)
      DOUBLE PRECISION X(3), Y, A, B
      CHARACTER*8 W
      COMMON /C/ A, B, W
      A = X(1)
      B = X(2)
      CALL G(Y)
      END
      SUBROUTINE G(Y)
      DOUBLE PRECISION Y, A(4)
      COMMON /C/ A
      Y = A(1)*A(2)
      END
";
    assert!(errors(units).starts_with("no errors"));
    let block = |opening: &str, closing: &str, units: &str| {
        let text = format!(
            "      SUBROUTINE MAIN(X, Y, D)
      DOUBLE PRECISION X(3), Y, D
      {opening}
      CALL F(X, Y)
      {closing}
      END
{}",
            units.trim_start_matches('\n')
        );
        expand(&text).map_or_else(|e| e, |_| "no errors".to_owned())
    };
    let gradient = block("ADR(Y)", "END ADR(D = COTANGENT(X(1)))", units);
    assert_snapshot!(gradient, @"F0323 8:33 derivatives would go through A, which shares its storage with other variables");
    // CHARACTER, and complex numbers over real ones.
    let units = units.replace("Y, A(4)", "Y\n      COMPLEX*16 A(2)");
    let units = units.replace("A(1)*A(2)", "DBLE(A(1)**2)");
    assert_snapshot!(errors(&units), @"F0323 8:33 derivatives would go through A, which shares its storage with other variables");
}

#[test]
fn active_side_effects_in_an_implied_do() {
    assert_snapshot!(errors("
      SUBROUTINE F(X, Y)
      DOUBLE PRECISION X(3), Y, G
      Y = X(1)
      WRITE (*, *) (G(Y, X(I)), I = 1, 3)
      END
      FUNCTION G(Y, X)
      DOUBLE PRECISION G, X, Y
      Y = Y*X
      G = Y
      END
"), @"F0305 10:20 derivatives would go through a function call in an implied DO");
}

/// All errors of a run, sorted by place, each once.
#[test]
fn all_errors_at_once() {
    assert_snapshot!(errors("
      SUBROUTINE F(X, Y)
      DOUBLE PRECISION X(3), Y
      EXTERNAL P
      Y = TRANSFER(X(1), Y) + P(X(2))
      CALL G(X, Y)
      CALL G(Y, Y)
      END
      SUBROUTINE G(X, Y)
      DOUBLE PRECISION X, Y
      Y = Y + TRANSFER(X, Y)
      END
"), @r"
    F0305 10:11 the derivative of TRANSFER is not known to the built-in engine
    F0304 10:31 derivatives would go through P, whose text is not known
    F0305 16:15 the derivative of TRANSFER is not known to the built-in engine
    ");
}

/// A derivative that ends in an INTEGER by an implicit conversion causes one warning.
#[test]
fn lost_derivatives() {
    let text = "
      SUBROUTINE MAIN(X, D, E)
      DOUBLE PRECISION X, Y, D, E, F
      ADF(X)
      Y = F(X) + F(2*X)
      END ADF(D = TANGENT(Y))
      ADF(X)
      Y = F(X)
      END ADF(E = TANGENT(Y))
      END
      FUNCTION F(X)
      DOUBLE PRECISION F, X
      K = X*10
      L = INT(X)
      F = K*X + L + NEXT(X)
      END
      FUNCTION NEXT(X)
      DOUBLE PRECISION X
      IF (X .GT. 3) THEN
        NEXT = INT(X)
      ELSE
        NEXT = X + 1
      END IF
      END
";
    let (_, warnings) = support::expand_warning(text.trim_start_matches('\n')).unwrap();
    assert_snapshot!(warnings, @r"
    F0307 12:7 the derivative ends here: K is an INTEGER
    F0307 21:9 the derivative ends here: NEXT is an INTEGER
    ");
}

/// Only the input determines which variables NAMELIST input assigns.
#[test]
fn namelist_input() {
    let text = "
      SUBROUTINE MAIN(X, D)
      NAMELIST /GROUP/ X, Z
      ADF(X)
      READ (5, NML=GROUP)
      Y = X*Z
      END ADF(D = TANGENT(Y))
      END
";
    let errors = support::expand(text.trim_start_matches('\n')).unwrap_err();
    assert_snapshot!(errors, @"F0317 4:7 X keeps its derivative or loses it, as the input decides");
}

/// The errors of a block with several directions.
fn several(opening: &str, block: &str, units: &str) -> String {
    let text = format!(
        "      SUBROUTINE MAIN(N, X, Y, D)
      DOUBLE PRECISION X(3), Y(3), D, C
      LOGICAL L
      COMMON /COM/ C
      ADF({opening})
      {block}
      END ADF
      END
{}",
        units.trim_start_matches('\n')
    );
    match expand(&text) {
        Ok(_) => "no errors".to_owned(),
        Err(e) => e,
    }
}

#[test]
fn derivatives_of_no_constant_number() {
    let common = "
      SUBROUTINE F(X, Y)
      DOUBLE PRECISION X(3), Y(3), C
      COMMON /COM/ C
      C = X(1)
      CALL G(Y(1))
      END
      SUBROUTINE G(Y)
      DOUBLE PRECISION Y, C
      COMMON /COM/ C
      Y = C
      END
";
    let call = "CALL F(X, Y)";
    let closing =
        "CALL F(X, Y)\n      CALL F(X, Y)\n      END ADF(D = TANGENT(Y(1), 1))\n      ADF(X)";
    assert_eq!(
        several("DIRECTIONS = 2, TANGENT(X, 1) = 1", closing, common),
        "no errors"
    );
    assert_eq!(
        several("DIRECTIONS = N, TANGENT(X, 1) = 1", call, common),
        "no errors"
    );
    assert_snapshot!(several("DIRECTIONS = N, TANGENT(X, 1) = 1", closing, common), @r"
    F0318 13:36 derivatives in several directions would go through C, which is in COMMON or EQUIVALENCE or keeps its value between calls
    F0318 19:27 derivatives in several directions would go through C, which is in COMMON or EQUIVALENCE or keeps its value between calls
    ");
    let saved = "
      SUBROUTINE F(X, Y)
      DOUBLE PRECISION X(3), Y(3), T
      SAVE T
      Y(1) = T
      T = X(1)
      END
";
    assert_eq!(
        several("DIRECTIONS = 2, TANGENT(X, 1) = 1", closing, saved),
        "no errors"
    );
    assert_snapshot!(several("DIRECTIONS = N, TANGENT(X, 1) = 1", closing, saved), @"F0318 13:36 derivatives in several directions would go through T, which is in COMMON or EQUIVALENCE or keeps its value between calls");
    let mixed = "
      SUBROUTINE F(X, Y)
      DOUBLE PRECISION X(3), Y(3), T(2)
      COMPLEX*16 Z
      EQUIVALENCE (Z, T)
      T(1) = X(1)
      T(2) = X(2)
      Z = Z*Z
      Y(1) = T(2)
      END
";
    let said = "F0323 13:36 derivatives in several directions would go through T, which shares its storage with other variables";
    let opening = "DIRECTIONS = 2, TANGENT(X, 1) = 1";
    assert_eq!(several(opening, closing, mixed).trim_end(), said);
    let closing = closing.replace("D = TANGENT(Y(1), 1)", "L = TANGENT(Y(1), 1)");
    let opening = "PATTERN = 2, TANGENT(X, 1) = .TRUE.";
    assert_eq!(several(opening, &closing, mixed).trim_end(), said);
    // In one direction, complex numbers may overlap real ones.
    let closing = closing.replace("L = TANGENT(Y(1), 1)", "D = TANGENT(Y(1))");
    assert_eq!(several("X", &closing, mixed), "no errors");
    // Even if these are declared in another unit only.
    let mixed = "
      SUBROUTINE F(X, Y)
      DOUBLE PRECISION X(3), Y(3), T(2)
      COMMON /CX/ T
      T(1) = X(1)
      CALL G(Y)
      END
      SUBROUTINE G(Y)
      DOUBLE PRECISION Y(3)
      COMPLEX*16 Z
      COMMON /CX/ Z
      Z = Z*Z
      Y(1) = DBLE(Z)
      END
";
    let opening = "DIRECTIONS = 2, TANGENT(X, 1) = 1";
    let closing = closing.replace("TANGENT(Y(1))", "TANGENT(Y(1), 1)");
    assert_eq!(several(opening, &closing, mixed).trim_end(), said);
    let closing = closing.replace("TANGENT(Y(1), 1)", "TANGENT(Y(1))");
    assert_eq!(several("X", &closing, mixed), "no errors");
}

#[test]
fn whole_arrays_in_several_directions() {
    let tangent = |statements: &str| {
        let block = format!("{statements}\n      END ADF(D = TANGENT(Y(1), 1))\n      ADF(X)");
        let units = "
      SUBROUTINE F(X, Y)
      DOUBLE PRECISION X(3), Y(3)
      Y(1) = X(1)
      END
";
        several("DIRECTIONS = 2, TANGENT(X, 1) = 1", &block, units)
    };
    // Functions that shift elements would shift directions, so this goes element by element.
    assert_eq!(tangent("CALL F(CSHIFT(X, 1), Y)"), "no errors");
    assert_eq!(tangent("WHERE (X .GT. 0) Y = X**2"), "no errors");
    let pattern = |statements: &str| {
        let block = format!("{statements}\n      END ADF(L = TANGENT(Y(1), 1))\n      ADF(X)");
        several("PATTERN = 2, TANGENT(X, 1) = .TRUE.", &block, "")
    };
    assert_eq!(pattern("Y(1) = SUM(X) + MAXVAL(MAX(X, 2*X))"), "no errors");
    assert_eq!(pattern("Y = CSHIFT(X, 1)"), "no errors");
    assert_eq!(pattern("Y = (/ X(2:3), X(1)**2 /)"), "no errors");
    assert_eq!(pattern("WHERE (X .GT. 0) Y = X**2"), "no errors");
}

/// A subroutine for it would get one variable as two arguments.
#[test]
fn temporaries_of_what_has_two_names() {
    let text = "
      SUBROUTINE F(X, Y, K)
      DOUBLE PRECISION X(3), Y, B(3), E(2)
      EQUIVALENCE (E(1), B(1))
      ADR(Y)
      B = X*X
      L = K
      Y = MINVAL(-(-(B(1:L)*E(1))))
      END ADR(X = COTANGENT(X))
      END
";
    assert_snapshot!(expand(text).unwrap_err(), @"F0315 8:7 reverse mode cannot follow this: it has, or needs, an array whose size is known at run time");
}

/// An AD tool that gives the derivative for each request the same name.
struct SameName;

impl farfel_ad::AdTool for SameName {
    fn name(&self) -> &str {
        "same-name"
    }

    fn differentiate_warning(
        &self,
        program: &farfel_lang::ir::Program,
        request: &farfel_lang::ir::Request,
        warnings: &mut Vec<farfel_lang::Diagnostic>,
    ) -> Result<Vec<farfel_lang::ir::Unit>, Vec<farfel_lang::Diagnostic>> {
        let mut units = farfel_ad::Builtin.differentiate_warning(program, request, warnings)?;
        let mut another = units[0].clone();
        another.name = "SAME".into();
        units.push(another);
        Ok(units)
    }
}

#[test]
fn units_of_one_name_from_two_requests_are_an_internal_error() {
    let text = "
      PROGRAM P
      X = 1
      ADF(X)
      Y = SIN(X)
      END ADF(S = TANGENT(Y))
      ADF(X)
      Y = COS(X)
      END ADF(C = TANGENT(Y))
      PRINT *, S, C
      END
";
    let said = support::expand_with(text, &SameName).unwrap_err();
    assert!(said.contains("F0901"), "{said}");
    assert!(said.contains("two requests made a SAME each"), "{said}");
}

/// One array is passed by two arguments that are both assigned, and used as a whole: values that are
/// overwritten under one name would be saved under that name only.
#[test]
fn arrays_that_a_call_assigns_by_two_arguments() {
    let errors = |call: &str| {
        let text = format!(
            "      SUBROUTINE MAIN(X, K, D)
      DOUBLE PRECISION X, Y, D, W(20)
      ADR(Y)
      W(K) = X
      {call}
      END ADR(D = COTANGENT(X))
      END
      SUBROUTINE F(A, B, Y)
      DOUBLE PRECISION A(2, *), B(*), Y
      Y = A(2, 1)**2 + SUM(B(1:3))
      A(2, 2) = Y*A(1, 2)
      B(1) = SIN(B(1))
      END
"
        );
        expand(&text).err().unwrap_or_default()
    };
    let two = "F0320 5:20 the call assigns this array by two arguments\n";
    assert_eq!(errors("CALL F(W(K), W(K), Y)"), two);
    let two = "F0320 5:17 the call assigns this array by two arguments\n";
    assert_eq!(errors("CALL F(W, W(1), Y)"), two);
    assert_eq!(errors("CALL F(W(1), W(5), Y)"), "");
    // Subscripts are needed again, too.
    let text = "      SUBROUTINE MAIN(X, K, D)
      DOUBLE PRECISION X(3), Y, D(3)
      INTEGER K(6)
      ADR(Y)
      CALL F(X, K, K, Y)
      END ADR(D = COTANGENT(X))
      END
      SUBROUTINE F(X, K, L, Y)
      DOUBLE PRECISION X(3), Y
      INTEGER K(2, *), L(*)
      L(1) = 1
      Y = X(K(1, 1))**2
      K(1, 2) = SUM(L(1:2))
      L(1) = 2
      Y = Y*X(L(1))
      END
";
    let two = "F0320 5:20 the call assigns this array by two arguments\n";
    assert_eq!(expand(text).err().unwrap_or_default(), two);
}
