//! Tangents of expressions in one variable, as a factor times a tangent, and of quotients.

use crate::support::{self, check, expand, run};

const FLAGS: &[&str] = support::CHECKED;

/// Expressions in X, and in elements of Z that are X, alone and as parts of others.
const EXPRESSIONS: [&str; 16] = [
    "((0.25D0*X + 0.5D0)*X - 1.5D0)*X + 2D0",
    "X/(1D0 + X)",
    "1D0/(X*X)",
    "(X*X + 1D0)/(X**3 - 5D0*X)/X",
    "SQRT(X*X + X)*EXP(-X*X)",
    "LOG(X)*X**2.5D0 - X**X",
    "SIN(X)*COS(X)/ATAN(X) - X",
    "X + X",
    "1.05D0*X + X*1.05D0",
    "-(X - 3D0*X)*(-X)",
    "SINH(X)/COSH(X) - TANH(X)*X",
    "Z(2)*Z(2)/(Z(2) + W)",
    "Z(2)*Z(3)/(Z(2) + Z(3)*Z(3))",
    "SF(X)*X + SF(X*X)",
    "W*(1D0/X) + (X*W)*(1.0/(X + W*X))",
    "((C*X + W)*X + W)*W",
];

/// The text of a subroutine with all of them; with `complex`, of complex variables.
fn subroutine(name: &str, complex: bool) -> String {
    let ty = if complex {
        "COMPLEX*16"
    } else {
        "DOUBLE PRECISION"
    };
    let n = EXPRESSIONS.len();
    let mut text = format!(
        "      SUBROUTINE {name}(X, W, Y)
      {ty} X, W, Y({n}), Z(3), C, SF, S
      SF(S) = (S*0.5D0 + C)*S/(S + 2D0)
      C = 0.75D0
      Z(1) = 0
      Z(2) = X
      Z(3) = W
"
    );
    for (i, e) in EXPRESSIONS.iter().enumerate() {
        text += &format!("      Y({}) = {e}\n", i + 1);
    }
    text + "      END\n"
}

/// Tangents agree with the complex step.
#[test]
fn agree_with_the_complex_step() {
    let n = EXPRESSIONS.len();
    let source = format!(
        "      PROGRAM MAIN
      DOUBLE PRECISION X, W, Y({n}), D({n}), H
      COMPLEX*16 CX, CW, CY({n})
      PARAMETER (H = 1D-40)
      DO 10 K = 1, 3
      X = 0.5D0 + 0.4D0*K
      W = 1.25D0
      ADF(TANGENT(X) = 0.75D0, TANGENT(W) = -0.5D0)
      CALL ALL(X, W, Y)
      END ADF((D(I) = TANGENT(Y(I)), I = 1, {n}))
      CX = DCMPLX(X, 0.75D0*H)
      CW = DCMPLX(W, -0.5D0*H)
      CALL CALL_IT(CX, CW, CY)
      DO 10 I = 1, {n}
   10 PRINT '(A, 2ES26.17)', 'D', D(I), DIMAG(CY(I))/H
      END
{}",
        subroutine("ALL", false)
    );
    let complex = subroutine("ALLC", true).replace("ATAN(X)", "ATANC(X)");
    let bridge = format!(
        "      SUBROUTINE CALL_IT(X, W, Y)
      COMPLEX*16 X, W, Y({n})
      CALL ALLC(X, W, Y)
      END
      COMPLEX*16 FUNCTION ATANC(X)
      COMPLEX*16 X
      ATANC = DCMPLX(ATAN(DBLE(X)), DIMAG(X)/(1 + DBLE(X)**2))
      END
"
    );
    let complex = complex.replace("      SF(S)", "      COMPLEX*16 ATANC\n      SF(S)");
    check(&format!("{source}{complex}{bridge}"), 1e-13);
}

/// Second derivatives: of the reciprocals and factors that tangents are made of.
#[test]
fn can_be_differentiated_again() {
    let source = "
      PROGRAM MAIN
      DOUBLE PRECISION X, Y, YP, YPP, G, B
      X = 1.5D0
      B = 0.75D0
      ADF(X)
      ADF(X)
      Y = EXP(X)/(X*X + B*X)
      END ADF(YP = TANGENT(Y))
      END ADF(YPP = TANGENT(YP))
      PRINT '(A, 2ES26.17)', 'F', YP,
     +  EXP(X)*(1/(X*X + B*X) - (2*X + B)/(X*X + B*X)**2)
      PRINT '(A, 2ES26.17)', 'FF', YPP,
     +  EXP(X)*(1/(X*X + B*X) - 2*(2*X + B)/(X*X + B*X)**2
     +  - 2/(X*X + B*X)**2 + 2*(2*X + B)**2/(X*X + B*X)**3)
      ADR(G)
      ADF(X)
      Y = EXP(X)/(X*X + B*X)
      END ADF(G = TANGENT(Y))
      END ADR(YPP = COTANGENT(X))
      PRINT '(A, 2ES26.17)', 'RF', YPP,
     +  EXP(X)*(1/(X*X + B*X) - 2*(2*X + B)/(X*X + B*X)**2
     +  - 2/(X*X + B*X)**2 + 2*(2*X + B)**2/(X*X + B*X)**3)
      ADF(X)
      ADR(Y)
      Y = EXP(X)/(X*X + B*X)
      END ADR(G = COTANGENT(X))
      END ADF(YPP = TANGENT(G))
      PRINT '(A, 2ES26.17)', 'FR', YPP,
     +  EXP(X)*(1/(X*X + B*X) - 2*(2*X + B)/(X*X + B*X)**2
     +  - 2/(X*X + B*X)**2 + 2*(2*X + B)**2/(X*X + B*X)**3)
      END
";
    check(source, 1e-13);
}

/// The statements of the tangent of one statement.
fn tangent_of(statement: &str) -> String {
    let source = format!(
        "      SUBROUTINE S(X, B, P, Q, Y, YP)
      DOUBLE PRECISION X, B, P(3), Q, Y, YP
      ADF(TANGENT(X) = 1D0, TANGENT(B) = Q)
      {statement}
      END ADF(YP = TANGENT(Y))
      END
"
    );
    let text = expand(&source).unwrap();
    let tangent = text.split_once("C Tangent of").unwrap().1;
    let lines = tangent.lines().filter(|l| l.contains(" = "));
    lines.map(|l| l.trim().to_owned() + "\n").collect()
}

/// The tangents of a polynomial, of quotients and of expressions in several variables.
#[test]
fn texts() {
    let mut all = String::new();
    for statement in [
        "Y = ((P(1)*X + P(2))*X + P(3))*X + 1D0",
        "Y = X/(1D0 + X)",
        "Y = X/B",
        "Y = X/Q",
        "Y = X/3D0",
        "Y = 1D0/B",
        "Y = B*(1D0/X)",
        "Y = ((P(1)*X + B)*X + P(3))*X + B*B*B",
        "Y = X + X",
        "Y = SQRT(X*X + X)",
    ] {
        all += &format!("{statement}\n{}\n", tangent_of(statement));
    }
    insta::assert_snapshot!(all);
}

/// The quotients of the program itself stay: as products they would differ in the last digits.
#[test]
fn values_stay() {
    let source = "
      PROGRAM MAIN
      REAL A, B, Q, D
      LOGICAL SAME
      SAME = .TRUE.
      DO 10 I = 1, 200
      A = 1 + I*0.37
      B = 3 + I*0.11
      ADF(TANGENT(A) = 1.0, TANGENT(B) = 2.0)
      Q = A/B/3.0
      END ADF(D = TANGENT(Q))
   10 SAME = SAME .AND. Q .EQ. A/B/3.0
      PRINT *, SAME
      END
";
    assert_eq!(run(&expand(source).unwrap(), FLAGS).trim(), "T");
}

/// Quotients with a leading minus: the operands of differences in their tangents are swapped, for all
/// combinations of signs.
#[test]
fn differences_in_place_of_signs() {
    let values = [
        "-X*W/(X + W)",
        "-(X - 2*W)*X*W/W",
        "W - X*W/(X*W + 1)",
        "-(-X*W - W)/(X - 4*W)",
        "-X*X/W + (-W/X)",
        "-(X*W + W*W)*X",
    ];
    let mut source = String::from(
        "      PROGRAM MAIN
      DOUBLE PRECISION X, W, Y, D, E
      COMPLEX*16 CX, CW, CY
      X = 0.7D0
      W = 1.3D0
      CX = DCMPLX(X, 1D-60)
      CW = DCMPLX(W, -2D-60)
",
    );
    for (i, v) in values.iter().enumerate() {
        let complex = v.replace('X', "CX").replace('W', "CW");
        source += &format!(
            "      ADF(TANGENT(X) = 1, TANGENT(W) = -2)
      Y = {v}
      END ADF(D = TANGENT(Y))
      CY = {complex}
      E = DIMAG(CY)*1D60
      PRINT '(A, 2E25.16)', 'V{i}', D, E
"
        );
    }
    let fortran = check(&(source + "      END\n"), 1e-13);
    let tangents: Vec<&str> = fortran
        .lines()
        .filter(|l| l.contains("Y_G") && l.contains(" = "))
        .collect();
    assert_eq!(tangents.len(), values.len(), "{fortran}");
    let signs: Vec<bool> = tangents.iter().map(|l| l.contains("= -")).collect();
    // Nothing is subtracted in the first, the second and the last one.
    assert_eq!(
        signs,
        [true, true, false, false, false, true],
        "{tangents:#?}"
    );
}
